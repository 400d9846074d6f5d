"""Writes the report by rule: which findings lead, what limits them, what was assumed.

Nothing here computes or rephrases a number. A finding is repeated as the step wrote it, with codes in words where it is
known what they stand for (`engine.text.codes`) and bare levels with their column (`named`); everything that speaks
against a result (warnings, failed checks, missing steps) is carried over without choosing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.domain.plan import DATA_PREFIX, OpenQuestion, TaskNode
from engine.domain.report import Answer, Report, ReportFigure, RunView
from engine.domain.results import Artifact, NodeResult
from engine.reporting.answers import all_answered, answering, answers_of, behind, caveats, is_table
from engine.reporting.called import alone, as_called, as_spelt
from engine.reporting.checked import of_steps
from engine.reporting.methods import Bibliography, method_steps, spec_of, value_text
from engine.reporting.named import with_names
from engine.reporting.next_steps import next_steps
from engine.reporting.spoken import spoken
from engine.reporting.status import (
    done_nodes,
    is_complete,
    left_aside,
    planned,
    status_lines,
    unfinished,
    warnings_of_files,
)
from engine.reporting.verdict import verdict
from engine.text.codes import meanings, reworded
from engine.text.stopwords import STOP
from engine.text.tokens import tokens
from engine.toolbox.registry import ToolRegistry

TITLE_LENGTH = 120
_WEIGHT = {
    "analysis": 0,
    "reasoning": 0,
    "synthesis": 0,
    "annotation": 1,
    "retrieval": 2,
    "validation": 3,
    "preprocessing": 4,
    "visualization": 5,
}
"""How close a kind of step is to an answer: what was asked for first, what only prepares or draws it last."""


def compose(view: RunView, registry: ToolRegistry) -> Report:
    """Return the report of a run as far as it got."""
    bibliography = Bibliography()
    methods = method_steps(view, registry, bibliography)
    done = done_nodes(view)
    artifacts = [artifact for _, result in done for artifact in result.artifacts]
    columns = [c for profile in view.profiles for c in profile.column_profiles]
    known = meanings(columns, view.record.question)
    given = {node.id: result.params for node, result in done}

    courses = [wide.columns for profile in view.profiles for wide in profile.structure.wide if wide.ordered]

    def told(text: str) -> str:
        return reworded(text, known)

    def plain(answer: Answer) -> str:
        params = given.get(answer.node, {})
        text = alone(with_names(told(answer.text), view.plan, columns, params), known)
        understood = view.plan.understood if view.plan else []
        return as_called(as_spelt(text, understood), view.profiles, understood, view.record.question, params)

    def answered(answer: Answer) -> Answer:
        understood = view.plan.understood if view.plan else []
        said = verdict(view.record.question, understood, answer.text, courses)
        return answer.model_copy(update={"text": behind(said, plain(answer)), "verdict": said})

    answers = [answered(answer) for answer in _answers(view, registry)]
    found = [f.model_copy(update={"text": told(f.text)}) for _, result in done for f in result.findings]
    return Report(
        title=title_of(view.record.question),
        question=view.record.question,
        summary=_summary(view, answers, registry),
        findings=found,
        methods=methods,
        figures=[_figure(view, node, result, a, registry) for node, result in done for a in _figures(result)],
        tables=[artifact for artifact in artifacts if is_table(artifact)],
        limitations=[told(text) for text in limitations(view)],
        next_steps=next_steps(view, registry),
        checked=of_steps(view),
        citations=bibliography.entries,
        assumptions=_assumptions(view),
        answers=answers,
        caveats=[told(text) for text in caveats(view, answers)],
        spoken=spoken([answer.said for answer in answers]),
    )


def report_of(view: RunView, registry: ToolRegistry) -> Report:
    """Return the run's stored report when it has ended, else one of how far it got."""
    return view.report if view.report is not None else compose(view, registry)


def title_of(question: str) -> str:
    """Return the question as a title: one line, capitalised, cut at a word when long."""
    text = " ".join(question.split()).rstrip("?!.: ")
    if not text:
        return "Analysis"
    if len(text) > TITLE_LENGTH:
        text = text[:TITLE_LENGTH].rsplit(" ", 1)[0].rstrip(",;:- ") + "..."
    # Only a plain lower-case first word is capitalised: names such as miR-21 or p53 keep their spelling.
    first = text.split(" ", 1)[0]
    return text[0].upper() + text[1:] if re.fullmatch(r"[a-z]+['’]?[a-z]*,?", first) else text


def _answers(view: RunView, registry: ToolRegistry) -> list[Answer]:
    """Return what answers the question; of a plan that names no analysis, the step that comes nearest to it."""
    found = answering(view, registry)
    if not found and not (view.plan and view.plan.analysis):
        found = _ranked(view, registry)[:1]
    return answers_of(view, found, registry)


def _summary(view: RunView, answers: list[Answer], registry: ToolRegistry) -> list[str]:
    told = [answer.said for answer in answers]
    done = is_complete(view) or (bool(told) and all_answered(view, registry))
    opening: list[str] = [] if done else status_lines(view)[:3]
    sentences = list(dict.fromkeys([*opening, *told]))
    return sentences or ["No step that answers the question has anything to report."]


def _ranked(view: RunView, registry: ToolRegistry) -> list[tuple[TaskNode, NodeResult]]:
    """Return results with findings, those that answer the question first.

    Steps that only prepare, check or draw are left out when any other has something to say.
    """
    question = _stems(view.record.question)

    def key(pair: tuple[TaskNode, NodeResult]) -> tuple[int, int, bool]:
        spec = spec_of(registry, pair[0].tool)
        weight = _WEIGHT.get(spec.task_type if spec else pair[0].task_type, 2)
        told = _stems(" ".join([pair[0].name, *([spec.title, *spec.keywords] if spec else [])]))
        return -pair[0].priority, weight, not question & told

    found = sorted((pair for pair in done_nodes(view) if pair[1].findings), key=key)
    answers = [pair for pair in found if key(pair)[1] < _WEIGHT["validation"]]
    return answers or found


def _stems(text: str) -> set[str]:
    """Return the stems of a text's longer words that say something."""
    return {token.stem for token in tokens(text) if len(token.text) > 3 and token.text not in STOP} - {"sampl"}


def _figures(result: NodeResult) -> list[Artifact]:
    return [artifact for artifact in result.artifacts if artifact.type == "figure"]


def _figure(
    view: RunView, node: TaskNode, result: NodeResult, artifact: Artifact, registry: ToolRegistry
) -> ReportFigure:
    spec = spec_of(registry, node.tool)
    port = spec.output(artifact.output) if spec else None
    described = port.description.strip().rstrip(".") if port and port.description else ""
    described = described or artifact.output.replace("_", " ")
    caption = f"{node.name}: {described[0].lower() + described[1:] if described[:2].istitle() else described}."
    tables = [a.name for a in result.artifacts if is_table(a)] or _input_tables(view, node)
    stem = artifact.output.removesuffix("_plot")
    twin = next((a.name for a in result.artifacts if is_table(a) and a.output.startswith(stem)), "")
    return ReportFigure(artifact=artifact, caption=caption, table=twin or (tables[0] if tables else ""))


def _input_tables(view: RunView, node: TaskNode) -> list[str]:
    """Return the tables a step was given by others: what a step that only draws has drawn."""
    sources = [ref.partition(".") for ref in node.inputs.values() if not ref.startswith(DATA_PREFIX)]
    return [
        artifact.name
        for upstream, _, output in sources
        if upstream in view.results
        for artifact in view.results[upstream].artifacts
        if artifact.output == output and is_table(artifact)
    ]


def limitations(view: RunView) -> list[str]:
    """Return everything that speaks against the result, once each: what failed first, then data, then steps."""
    # A step's own caveats come below under its name; `view.warnings` has them too, without it.
    of_steps = {warning for result in view.results.values() for warning in result.warnings}
    general = [warning for warning in view.warnings if warning not in of_steps]
    left = [f"Not answered: {text}" for text in (view.plan.not_answered if view.plan else [])]
    sentences = [*unfinished(view), *left, *left_aside(view), *(view.plan.warnings if view.plan else []), *general]
    sentences += warnings_of_files(view)
    for node, result in planned(view):
        if result is not None:
            sentences += [f"{node.name}: {text}" for text in _step_caveats(result)]
    return deduplicate(sentences)


def _step_caveats(result: NodeResult) -> Iterator[str]:
    yield from result.warnings
    for issue in result.verdict.issues if result.verdict else []:
        where = f" ({issue.where})" if issue.where and issue.where not in issue.message else ""
        yield issue.message + where


def deduplicate(sentences: list[str]) -> list[str]:
    """Return the sentences without repeats; one that only puts `where: ` before a known one is a repeat."""
    kept: list[str] = []
    seen: set[str] = set()
    for sentence in sentences:
        text = " ".join(sentence.split())
        parts = text.split(": ")
        known = {_comparable(": ".join(parts[at:])) for at in range(len(parts))}
        if not text or known & seen:
            continue
        seen.add(_comparable(text))
        kept.append(text)
    return kept


def _comparable(text: str) -> str:
    return text.strip().rstrip(".").lower()


def _assumptions(view: RunView) -> list[str]:
    if view.plan is None:
        return []
    return deduplicate([*view.plan.notes, *(_answered(view, question) for question in view.plan.open_questions)])


def _answered(view: RunView, question: OpenQuestion) -> str:
    node = view.plan.node(question.node) if view.plan else None
    used = node.params.get(question.param, question.proposed) if node and question.param else question.proposed
    asked = question.text.strip()
    if used is None or used == "" or used == []:
        return f"{asked} Left open; {question.why}" if question.why else f"{asked} Left open."
    why = f" ({question.why.strip().rstrip('.')})" if question.why else ""
    origin = "by default" if used == question.proposed else "as chosen"
    return f"{asked} Taken {origin}: {value_text(used)}{why}."
