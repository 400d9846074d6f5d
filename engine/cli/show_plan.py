"""What the command line prints of plans and of what can be asked."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

from engine.domain.plan import WayOn

_WIDTH = 100


def route_text(route: Any) -> str:
    """Return which strategy answers a task, with the reasons."""
    lines = [f"{route.strategy}  (confidence {route.confidence:.2f}, {route.method})"]
    lines += textwrap.wrap(" ".join(route.reasons), _WIDTH, initial_indent="  ", subsequent_indent="  ")
    lines.append(f"  complexity {route.complexity:g}, about {route.estimated_steps} step(s)")
    return "\n".join([*lines, *([f"  fields: {', '.join(route.domains)}"] if route.domains else [])])


def plan_text(plan: Any, goals: Sequence[Any] = (), estimate: Any = None) -> str:
    """Return a plan: its goals in words, what was understood, steps with reasons, warnings and open questions."""
    lines = [f"Plan {plan.version} for: {plan.question}", *filter(None, [plan.follows]), ""]
    for goal in goals:
        lines += textwrap.wrap(goal.sentence(), _WIDTH, initial_indent="  ", subsequent_indent="    ")
    lines += ["", *_understood(plan)] if goals else _understood(plan)
    for dataset in plan.datasets:
        lines.append(f"  data {dataset.name}: {dataset.summary or dataset.type.value}")
    for node in plan.nodes:
        source = ", ".join(f"{name}={ref}" for name, ref in node.inputs.items())
        lines += ["", f"  {node.id}  {node.name}  [{node.tool}]", f"      from   {source}"]
        if node.params:
            lines.append("      with   " + ", ".join(f"{name}={value!r}" for name, value in node.params.items()))
        lines += [f"      why    {reason}" for reason in node.reasons]
    if plan.not_answered:
        lines += ["", "Not answered by this plan:"] + [f"  - {text}" for text in plan.not_answered]
    if plan.warnings:
        lines += ["", "Know before you believe the result:"] + [f"  - {warning}" for warning in plan.warnings]
    if plan.open_questions:
        lines += ["", "Open questions (change with --set):"]
        for question in plan.open_questions:
            need = "needs an answer" if question.blocking else f"default {question.proposed!r}"
            target = f"{question.node}.{question.param}" if question.param else question.id
            lines.append(f"  - {question.text} [{target}; {need}] {question.why}")
    if plan.alternatives:
        lines += ["", "Did you mean something else? Plan again with:"]
        lines += [f"  --as {other.id}  {other.says}" for other in plan.alternatives]
    lines += ["", *textwrap.wrap(estimate.says, _WIDTH)] if estimate is not None else []
    return "\n".join(lines)


def ways_told(ways: list[dict[str, Any]]) -> str:
    """Return in a sentence how a question that was refused can be asked again: as what, or with which columns."""
    told: list[str] = []
    for way in map(WayOn.model_validate, ways[:_MOST_WAYS]):
        what = way.says.partition(": ")[0].rstrip(".")
        if way.said:
            told.append(" ".join(f"--column {names[0]}={role}" for role, names in way.said.items() if names))
        elif way.columns:
            told.append(f"{what}: name one of {', '.join(way.columns[:_MOST_COLUMNS])}")
        else:
            told.append(f"--as {way.analysis} ({what})")
    return f"Ways on: {'; '.join(told)}." if told else ""


_MOST_WAYS = 3
_MOST_COLUMNS = 8


def _understood(plan: Any) -> list[str]:
    """Return what the question's words were taken for, those that nothing answers to at the end."""
    used = [span for span in plan.understood if span.taken_as not in ("filler", "unused")]
    unused = [f'"{span.text}"' for span in plan.understood if span.taken_as == "unused"]
    if not (plan.analysis or used or unused):
        return []
    lines = ["Understood"]
    lines += [f"  asked for {chosen.id}" for chosen in plan.analysis]
    width = min(30, max((len(span.text) for span in used), default=0) + 2)
    for span in used:
        value = f" {span.value}" if span.value and span.value != span.text else ""
        quoted = f'"{span.text}"'
        lines.append(f"  {quoted:<{width}}  {span.taken_as}{value}")
    if unused:
        lines.append(f"  not used: {', '.join(unused)}")
    return [*lines, ""]


def analyses_text(documents: list[dict[str, Any]]) -> str:
    """Return what can be asked, by field, and by which tools it is answered."""
    lines: list[str] = []
    for field in dict.fromkeys(document["field"] for document in documents):
        lines.append(field)
        own = [document for document in documents if document["field"] == field]
        lines += [f"  {d['id']:<28} {d['asks']}{'' if d['tools'] else '  (no tool yet)'}" for d in own]
    return "\n".join(lines)


def analysis_text(document: dict[str, Any]) -> str:
    """Return an analysis: what is asked, what of the data it needs, who answers it and how people ask."""
    tools = ", ".join(document["tools"]) or "none yet: a question for it is refused by this name"
    lines = [
        f"{document['id']}: {document['title']}",
        "",
        f"Asks     {document['asks']}",
        f"Field    {document['field']}",
        f"Data     {', '.join(document['data'])}",
        f"Slots    {', '.join(document['slots'])}",
        f"Tools    {tools}",
    ]
    if document["parts"]:
        lines += ["", f"Columns  --as {document['id']} --set PART=COLUMN, where PART is"]
        lines += [f"  {name:<14} {text}" for name, text in document["parts"].items()]
    if document["examples"]:
        lines += ["", "For example"]
        for text in document["examples"]:
            lines += textwrap.wrap(text, _WIDTH, initial_indent="  - ", subsequent_indent="    ")
    return "\n".join(lines)
