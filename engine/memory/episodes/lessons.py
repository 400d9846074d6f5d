"""From a finished run to the episode that is remembered of it, and to what it taught.

Pure functions of a run's values: nothing is read, nothing is asked of a model, and the same run always
gives the same episode.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from engine.domain.events import NodeRetried
from engine.domain.memory import Episode, EpisodeStep
from engine.domain.plan import TaskDag, TaskNode
from engine.domain.profile import Profile
from engine.domain.report import Report
from engine.domain.results import DONE, NodeResult, RunRecord
from engine.memory.episodes.reading import identifiers
from engine.text.prose import full_stop, listed

Changer = Literal["edit", "repair"]

MOST_ENTITIES = 40
MOST_CAVEATS = 3
RESULT_CHARACTERS = 700
_PLAIN = (str, int, float, bool)


def episode_of(
    record: RunRecord,
    plan: TaskDag,
    results: Mapping[str, NodeResult],
    report: Report | None,
    profiles: Sequence[Profile],
    *,
    domains: Sequence[str] = (),
    edits: Sequence[str] = (),
    repairs: Sequence[str] = (),
    changed: Mapping[tuple[str, str], Changer] | None = None,
    learned: Mapping[str, Sequence[str]] | None = None,
) -> Episode:
    """Return what is remembered of a run.

    Args:
        record: the finished run.
        plan: the version that ran.
        results: by node.
        report: None when none was written.
        profiles: of the files the run was given.
        domains: fields the question is about; those of the route and the steps by default.
        edits: what the user changed in the plan, a sentence each.
        repairs: what repairs changed, a sentence each (see `repair_sentences`).
        changed: (step, parameter) -> who changed it from what the planner had proposed.
        learned: step -> what a model took from its repairs; kept where the step then succeeded.
    """
    nodes = _in_order(plan)
    taken = {node: texts for node, texts in (learned or {}).items() if _done(results.get(node))}
    fields = [*domains] or [*(record.route.domains if record.route else []), *(n.domain for n in nodes)]
    return Episode(
        id=f"episode_{record.run_id}",
        at=record.finished_at or record.created_at,
        task=record.question,
        plan_summary=plan_summary(nodes),
        tools=_distinct(node.tool for node in nodes),
        domains=_distinct(fields),
        entities=entities_of(record, nodes, results, profiles),
        result_summary=result_summary(record, results, report),
        success=record.status == "succeeded",
        quality=quality(nodes, results, len(plan.not_answered)),
        lessons=" ".join(
            lessons(nodes, results, repairs=repairs, edits=edits, error=record.error, learned=taken.values())
        ),
        run_id=record.run_id,
        user=record.user,
        strategy=record.route.strategy if record.route else "",
        data_types=_distinct(dataset.type.value for dataset in plan.datasets),
        data_names=_distinct(dataset.name for dataset in plan.datasets),
        data_sha256=_distinct(dataset.sha256 for dataset in plan.datasets),
        data_columns=_distinct(profile.columns_sha256 for profile in profiles),
        steps=[_step(node, results.get(node.id), changed or {}, taken.get(node.id, ())) for node in nodes],
        repairs=list(repairs),
        edits=list(edits),
        source="run",
    )


def lessons(
    nodes: Sequence[TaskNode],
    results: Mapping[str, NodeResult],
    *,
    repairs: Sequence[str] = (),
    edits: Sequence[str] = (),
    error: str = "",
    learned: Iterable[Sequence[str]] = (),
) -> list[str]:
    """Return what a run taught, one sentence each: failures first, then repairs, what these taught, edits and caveats.

    A run in which everything went as planned teaches nothing, and the list is empty.
    """
    said: list[str] = []
    for node in nodes:
        result = results.get(node.id)
        if result is not None and result.status == "failed":
            said.append(
                f"{node.tool} failed{_on(node)}: {full_stop(_first_line(result.error) or 'no reason was given')}"
            )
            if result.verdict is not None and result.verdict.retry_guidance:
                said.append(f"Before {node.tool} is tried again: {full_stop(result.verdict.retry_guidance)}")
    skipped = [node.tool for node in nodes if (result := results.get(node.id)) and result.status == "skipped"]
    if skipped:
        said.append(f"Because of that, {listed(_distinct(skipped))} did not run.")
    if error and not said:
        said.append(f"The analysis stopped: {full_stop(_first_line(error))}")
    said += [full_stop(text) for text in repairs]
    said += [full_stop(text) for texts in learned for text in texts]
    said += [f"The user changed the plan: {full_stop(text)}" for text in edits]
    said += [full_stop(text) for text in _caveats(nodes, results)]
    return _distinct(said)


def repair_sentences(events: Iterable[NodeRetried], plan: TaskDag) -> list[str]:
    """Return what repairs changed, one sentence for each retry that changed a parameter."""
    said: list[str] = []
    for event in events:
        node = plan.node(event.node)
        if event.changed:
            changed = listed([f"{name} = {value}" for name, value in event.changed.items()])
            said.append(f"{node.tool if node else event.node} ran with {changed}: {full_stop(event.why)}")
    return _distinct(said)


def lessons_of(events: Iterable[NodeRetried]) -> dict[str, list[str]]:
    """Return for each step what a model took from its repairs, in their order."""
    found: dict[str, list[str]] = {}
    for event in events:
        if event.lesson:
            found.setdefault(event.node, []).append(event.lesson)
    return found


def plan_summary(nodes: Sequence[TaskNode]) -> str:
    """Return the steps in words, in the order they run."""
    if not nodes:
        return ""
    return "; ".join(f"{number}) {node.name or node.tool}" for number, node in enumerate(nodes, 1)) + "."


def quality(nodes: Sequence[TaskNode], results: Mapping[str, NodeResult], not_answered: int = 0) -> float:
    """Return the mean of the steps' verdicts times the share of what was asked that is answered; 0 to 1.

    A step that did not succeed counts 0. What is asked are the steps of the highest priority, and the `not_answered`
    requests that no step stands for: good preparations of an answer that never came make no good analysis.
    """
    if not nodes:
        return 0.0
    marks = [0.0] * len(nodes)
    for position, node in enumerate(nodes):
        result = results.get(node.id)
        if result is not None and result.status in DONE:
            marks[position] = result.verdict.quality if result.verdict is not None else 1.0
    top = max(node.priority for node in nodes)
    due = [mark for node, mark in zip(nodes, marks, strict=True) if node.priority == top]
    answered = sum(mark > 0 for mark in due) / (len(due) + not_answered)
    return round(answered * sum(marks) / len(marks), 3)


def result_summary(record: RunRecord, results: Mapping[str, NodeResult], report: Report | None) -> str:
    """Return what came out, in whole sentences of at most about `RESULT_CHARACTERS` characters."""
    sentences = list(report.summary) if report is not None and report.summary else []
    if not sentences:
        sentences = [finding.text for result in results.values() for finding in result.findings]
    if not sentences and record.error:
        sentences = [record.error]
    kept: list[str] = []
    for sentence in map(full_stop, sentences):
        if kept and sum(map(len, kept)) + len(sentence) > RESULT_CHARACTERS:
            break
        kept.append(sentence)
    return " ".join(kept)


def entities_of(
    record: RunRecord, nodes: Sequence[TaskNode], results: Mapping[str, NodeResult], profiles: Sequence[Profile]
) -> list[str]:
    """Return the names a later question may use for this run: identifiers, genes, columns, levels, files.

    Those of the question come first, then those of the findings; at most `MOST_ENTITIES`.
    """
    found = list(identifiers(record.question))
    for result in results.values():
        for finding in result.findings:
            found += [value for value in finding.row.values() if isinstance(value, str) and _is_name(value)]
            found += list(identifiers(finding.text))
    columns = {column.name: column for profile in profiles for column in profile.column_profiles}
    levels = {level for column in columns.values() for level in column.levels}
    for node in nodes:
        for value in node.params.values():
            for text in value if isinstance(value, list) else [value]:
                if isinstance(text, str) and (text in columns or text in levels) and _is_name(text):
                    found.append(text)
    found += [profile.name for profile in profiles]
    return _distinct(found)[:MOST_ENTITIES]


def _in_order(plan: TaskDag) -> list[TaskNode]:
    try:
        return plan.order()
    except ValueError:
        # A plan that waits for itself in a circle never ran; its steps are remembered as written.
        return list(plan.nodes)


def _done(result: NodeResult | None) -> bool:
    return result is not None and result.status in DONE


def _step(
    node: TaskNode, result: NodeResult | None, changed: Mapping[tuple[str, str], Changer], learned: Sequence[str]
) -> EpisodeStep:
    used = result.params if result is not None and result.params else node.params
    return EpisodeStep(
        tool=node.tool,
        params={name: _plain(value) for name, value in used.items()},
        inputs=dict(node.inputs),
        status=result.status if result is not None else "pending",
        error=_first_line(result.error) if result is not None else "",
        changed={name: who for (step, name), who in changed.items() if step == node.id},
        lessons=_distinct(learned),
    )


def _plain(value: Any) -> str | int | float | bool | list[str] | None:
    """Return a parameter in one of the forms an episode keeps."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, _PLAIN):
        return value
    if isinstance(value, list | tuple):
        return [str(part) for part in value]
    return str(value)


def _caveats(nodes: Sequence[TaskNode], results: Mapping[str, NodeResult]) -> list[str]:
    """Return the doubts that steps stated themselves or the critic had, at most `MOST_CAVEATS`."""
    said: list[str] = []
    for node in nodes:
        result = results.get(node.id)
        if result is None or result.status not in DONE or result.verdict is None:
            continue
        said += [issue.message for issue in result.verdict.issues if issue.severity != "info"]
    return _distinct(said)[:MOST_CAVEATS]


def _on(node: TaskNode) -> str:
    names = _distinct(ref.removeprefix("data:") for ref in node.inputs.values() if ref.startswith("data:"))
    return f" on {listed(names)}" if names else ""


def _is_name(text: str) -> bool:
    """Say whether a text can serve as a name: short, and not a number."""
    if not text.strip() or len(text) > 60 or not any(letter.isalpha() for letter in text):
        return False
    try:
        float(text)
    except ValueError:
        return True
    return False


def _first_line(text: str) -> str:
    return text.strip().splitlines()[0].strip() if text.strip() else ""


def _distinct(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(text for text in texts if text))
