"""How far a run got, in plain words: the first thing every report says.

A reader who sees only findings would take a half-finished analysis for a whole one.
"""

from __future__ import annotations

from collections.abc import Iterable

from engine.domain.datatypes import DataType
from engine.domain.plan import LEFT_ASIDE, TaskNode
from engine.domain.report import RunView
from engine.domain.results import DONE, NodeResult
from engine.text.prose import full_stop


def done_nodes(view: RunView) -> list[tuple[TaskNode, NodeResult]]:
    """Return the steps that have a result to report, in plan order."""
    return [(node, result) for node, result in planned(view) if result is not None and result.status in DONE]


def planned(view: RunView) -> Iterable[tuple[TaskNode, NodeResult | None]]:
    """Return every step of the plan with its result, in the order in which the plan lists them."""
    return [(node, view.results.get(node.id)) for node in (view.plan.nodes if view.plan else [])]


def is_complete(view: RunView) -> bool:
    """Say whether the run succeeded and every planned step has a result."""
    steps = list(planned(view))
    return view.record.status == "succeeded" and bool(steps) and len(done_nodes(view)) == len(steps)


def headline(view: RunView) -> str:
    """Return one sentence: how many steps finished, and how the run ended."""
    total, done = len(list(planned(view))), done_nodes(view)
    reused = sum(result.status == "cached" for _, result in done)
    progress = f"{len(done)} of {total} steps finished" if total else "no step was planned"
    if reused:
        progress += f" ({reused} reused from earlier identical work)"
    status = view.record.status
    if is_complete(view):
        text = "The only step finished" if total == 1 else f"All {total} steps finished"
        return text + (f" ({reused} reused from earlier identical work)." if reused else ".")
    openings = {
        "succeeded": "Incomplete result",
        "partial": "Partial result",
        "failed": "The analysis failed",
        "cancelled": "The run was cancelled before its end",
        "interrupted": "The run was interrupted and can be resumed",
        "awaiting_approval": "The plan waits for approval",
    }
    return f"{openings.get(status, f'The run has not ended (it is {status})')}: {progress}."


def unfinished(view: RunView) -> list[str]:
    """Return one sentence for each step that gave no result, saying why, and for the run's own error."""
    lines: list[str] = []
    failed: dict[str, str] = {}
    for node, result in planned(view):
        if result is not None and result.status in DONE:
            continue
        status = result.status if result else "pending"
        reason = (result.error if result else "").strip()
        if status in ("failed", "skipped", "cancelled"):
            failed[node.id] = node.name
        lines.append(_unfinished_line(view, node, status, reason, failed))
    error = view.record.error.strip()
    if error and not any(error.rstrip(".") in line for line in lines):
        lines.append(full_stop(error))
    return lines


def _unfinished_line(view: RunView, node: TaskNode, status: str, reason: str, failed: dict[str, str]) -> str:
    label = f"Step {node.name!r} ({node.id})"
    if status == "failed":
        return full_stop(f"{label} failed: {reason or 'no reason was recorded'}")
    if status == "skipped":
        if not reason:
            blocked = [failed[up] for up in node.upstream() if up in failed]
            reason = (
                f"it needs {' and '.join(repr(name) for name in blocked)}" if blocked else "a step before it failed"
            )
        return full_stop(f"{label} was not run: {reason}")
    if status == "cancelled" or view.record.status == "cancelled":
        return full_stop(f"{label} was cancelled" + (f": {reason}" if reason else ""))
    if status == "running" and view.record.status == "running":
        return f"{label} is still running."
    return full_stop(f"{label} has not been run" + (f": {reason}" if reason else ""))


def left_aside(view: RunView) -> list[str]:
    """Return a sentence where words of the question are left aside: who reads an answer may not have seen the plan."""
    asked = [question for question in (view.plan.open_questions if view.plan else []) if question.id == LEFT_ASIDE]
    return [full_stop(question.text.partition(":")[0]) for question in asked]


def status_lines(view: RunView) -> list[str]:
    """Return the headline followed by every step without a result and why."""
    return [headline(view), *unfinished(view)]


def warnings_of_files(view: RunView) -> list[str]:
    """Return what was found wrong with the files, under their names, as far as it holds for how they are read."""
    used = {profile.path: list[DataType]() for profile in view.profiles}
    anew = set[str]()
    for dataset in view.plan.datasets if view.plan else []:
        used.setdefault(dataset.path, []).append(dataset.type)
        if {"beyond", "once"} & {*dataset.read}:
            anew.add(dataset.path)  # what the plan says of a file that it reads otherwise stands in place of its own
    return [
        text if profile.name in text else f"{profile.name}: {text}"
        for profile in view.profiles
        if profile.path not in anew
        for text in (profile.warnings_as(used[profile.path]) if used[profile.path] else profile.warnings)
    ]
