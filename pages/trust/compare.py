"""What differs between two runs, and which findings that changed. Only values are compared; nothing runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pages.parts.words import number, setting

if TYPE_CHECKING:
    from engine.api import RunView

Row = dict[str, str]


def differences(first: RunView, second: RunView) -> list[Row]:
    """Return what was put in differently: question, data, steps, settings, wiring, code, versions, machine."""
    rows: list[Row] = []
    if first.record.question != second.record.question:
        rows.append(_row("Question", "", first.record.question, second.record.question))
    rows += _changed("Data", _datasets(first), _datasets(second))
    before, after = _nodes(first), _nodes(second)
    for node_id in dict.fromkeys([*before, *after]):
        old, new = before.get(node_id), after.get(node_id)
        if old is None or new is None:
            name = (old or new).name  # type: ignore[union-attr] - one of the two is there
            rows.append(_row("Step", name, "present" if old else "absent", "present" if new else "absent"))
            continue
        if old.tool != new.tool:
            rows.append(_row("Tool", new.name, old.tool, new.tool))
        rows += _changed("Setting", _texts(old.params), _texts(new.params), of=new.name)
        rows += _changed("Input", dict(old.inputs), dict(new.inputs), of=new.name)
    rows += _changed("Code", _code(first), _code(second))
    rows += _changed("Version", _versions(first), _versions(second))
    rows += _changed("Machine", dict(first.record.environment), dict(second.record.environment))
    return rows


def changed_findings(first: RunView, second: RunView) -> list[Row]:
    """Return each number of a finding that is not the same in both runs."""
    before, after = _numbers(first), _numbers(second)
    rows: list[Row] = []
    for key in dict.fromkeys([*before, *after]):
        old, new = before.get(key), after.get(key)
        if old is not None and new is not None and _same(old[0], new[0]):
            continue
        step, _, name = key
        text = (new or old)[1]  # type: ignore[index] - one of the two is there
        rows.append(
            {
                "Step": step,
                "Number": name.replace("_", " "),
                "First run": number(old[0]) if old else "absent",
                "Second run": number(new[0]) if new else "absent",
                "Finding": text,
            }
        )
    return rows


def _row(kind: str, name: str, old: str, new: str) -> Row:
    return {"What": kind, "Of": name, "First run": old, "Second run": new}


def _changed(kind: str, old: dict[str, str], new: dict[str, str], *, of: str = "") -> list[Row]:
    names = dict.fromkeys([*old, *new])
    return [
        _row(kind, f"{of}: {name}" if of else name, old.get(name, "absent"), new.get(name, "absent"))
        for name in names
        if old.get(name) != new.get(name)
    ]


def _datasets(view: RunView) -> dict[str, str]:
    return {d.name: d.sha256 for d in view.plan.datasets} if view.plan else {}


def _nodes(view: RunView) -> dict[str, Any]:
    return {node.id: node for node in view.plan.nodes} if view.plan else {}


def _texts(params: dict[str, Any]) -> dict[str, str]:
    return {name: setting(value) for name, value in params.items()}


def _code(view: RunView) -> dict[str, str]:
    return {result.tool: result.code_sha256[:16] for result in view.results.values() if result.code_sha256}


def _versions(view: RunView) -> dict[str, str]:
    return {name: version for result in view.results.values() for name, version in result.versions.items()}


def _numbers(view: RunView) -> dict[tuple[str, str, str], tuple[Any, str]]:
    names = {node.id: node.name for node in view.plan.nodes} if view.plan else {}
    found: dict[tuple[str, str, str], tuple[Any, str]] = {}
    for result in view.results.values():
        for position, finding in enumerate(result.findings):
            # A finding about a row is the same finding wherever that row stands; others go by their order.
            place = json.dumps(finding.row, sort_keys=True, default=str) if finding.row else str(position)
            for value in finding.values:
                found[(names.get(result.node, result.node), place, value.name)] = (value.value, finding.text)
    return found


def _same(old: Any, new: Any) -> bool:
    if isinstance(old, int | float) and isinstance(new, int | float):
        return old == new or abs(old - new) <= 1e-9 * max(abs(old), abs(new))
    return old == new
