"""What a careful colleague would do next, given what was done and what came out.

What follows from an analysis is declared at its tool (`ToolSpec.next_steps`) and said only where it applies: with the
genes, groups and settings of this run. Advice that would suit any analysis is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from engine.domain.findings import Finding
from engine.domain.plan import TaskNode
from engine.domain.report import RunView
from engine.domain.results import DONE, NodeResult
from engine.domain.toolspec import NextStep
from engine.reporting.methods import effective_params, spec_of, value_text
from engine.reporting.status import done_nodes, planned
from engine.text.prose import listed
from engine.toolbox.registry import ToolRegistry

PLACEHOLDER = re.compile(r"\{(name|rows|param:(\w+))\}")
_ROWS_NAMED = 3
USUAL_ALPHA = 0.05
_NAME_COLUMNS = ("symbol", "term_name", "gene", "feature", "term_id", "term")


def next_steps(view: RunView, registry: ToolRegistry) -> list[str]:
    """Return what to do next, most urgent first: what failed, then what would make the result firmer."""
    advice = list(_after_failure(view))
    done = done_nodes(view)
    tools = {node.tool for node, _ in planned(view)}
    for node, result in done:
        spec = spec_of(registry, node.tool)
        params = effective_params(spec, node, result)
        steps = spec.next_steps if spec else []
        advice += [
            text
            for step in steps
            if _applies(step, params, tools) and step.after in ("", _came_out(result, params))
            if (text := _said(step, node, result, params))
        ]
    if done and not advice:
        advice.append("Repeat the analysis on an independent data set before relying on the result.")
    return list(dict.fromkeys(advice))


def _after_failure(view: RunView) -> Iterator[str]:
    for node, result in planned(view):
        if result is not None and result.status == "failed":
            yield (
                f"Correct what stopped step {node.name!r} (its message is under Limitations), change the plan or the "
                "file, and run again: steps that finished are not repeated."
            )
    waiting = [node for node, result in planned(view) if result is None or result.status not in {*DONE, "failed"}]
    if waiting and view.record.status in ("cancelled", "interrupted"):
        yield f"Resume run {view.record.run_id} to do the {len(waiting)} remaining steps; finished ones are kept."


def _applies(step: NextStep, params: Mapping[str, Any], tools: set[str]) -> bool:
    """Say whether the plan lacks what makes the advice idle and has what it speaks of; 0 and "" are not set."""
    return not (
        step.unless_tool in tools
        or (step.unless_param and params.get(step.unless_param))
        or (step.needs_param and not params.get(step.needs_param))
    )


def _came_out(result: NodeResult, params: Mapping[str, Any]) -> str:
    """Say whether the step's first finding is of an effect (`found`) or shows none (`nothing`), by its numbers."""
    numbers = {value.name: value.value for value in result.findings[0].values} if result.findings else {}
    count = numbers.get("n_significant")
    if isinstance(count, int | float):
        return "found" if count > 0 else "nothing"
    p = numbers.get("p_adj", numbers.get("p_value"))
    alpha = params.get("alpha")
    limit = alpha if isinstance(alpha, float) else USUAL_ALPHA
    return ("found" if p < limit else "nothing") if isinstance(p, int | float) else "unknown"


def _said(step: NextStep, node: TaskNode, result: NodeResult, params: Mapping[str, Any]) -> str:
    """Return the advice with its placeholders filled, or "" when this run has nothing to put into one of them."""
    rows = _labels(result)
    values = {"name": repr(node.name), "rows": listed(rows)}
    values |= {f"param:{key}": value_text(value) for key, value in params.items() if value}
    wanted = [match[1] for match in PLACEHOLDER.finditer(step.text)]
    if not all(values.get(key) for key in wanted):
        return ""
    return PLACEHOLDER.sub(lambda match: values[match[1]], step.text)


def _labels(result: NodeResult) -> list[str]:
    """Return readable names of the rows the findings point to, first ones first."""
    names = [name for finding in result.findings if (name := _row_name(finding))]
    return list(dict.fromkeys(names))[:_ROWS_NAMED]


def _row_name(finding: Finding) -> str:
    """Return the symbol the sentence gives beside an identifier, else what selects the row."""
    keys = [key for key in _NAME_COLUMNS if isinstance(finding.row.get(key), str)]
    if not keys:
        return ""
    name = str(finding.row[keys[0]])
    quoted = re.escape(name)
    beside = re.search(rf"([A-Za-z][\w.-]*) \({quoted}\)|{quoted} \(([A-Za-z][\w.-]*)\)", finding.text)
    return (beside.group(1) or beside.group(2)) if beside else name
