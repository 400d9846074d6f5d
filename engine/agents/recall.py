"""What a plan takes from past analyses of the same user, each thing with its reason in the plan.

Three things can be taken. A pipeline: when an analysis of the same columns of the same data ran through the same steps,
a note says so.
A parameter: one that a user changed in a similar plan that then succeeded is proposed again. An avoided failure: a
parameter that a repair had to change is set from the start, and what failed on the same data without a repair is a
warning. What the question, the data or the user settled (`TaskNode.settled`), and what the planner asks, is never
touched. Each reason names the run it comes from; what came out of it is never told.

The same data are the same file (by hash) or a file of the same columns. Of other data, only an analysis that changed a
parameter here is mentioned: what is merely alike says nothing of this one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.agents.edits import memory_reason
from engine.domain.memory import Episode, EpisodeStep, Recall, RecalledEpisode
from engine.domain.plan import TaskDag, TaskNode
from engine.domain.profile import Profile
from engine.toolbox.registry import ToolRegistry
from engine.toolbox.typecheck import param_problem

ALIKE = 0.45
"""Relevance from which on a parameter is taken over; below it an episode is only mentioned."""
_PIPELINE = 0.6
"""Share of a plan's tools that an episode must have used for its pipeline to count as the same."""


def apply_recall(
    plan: TaskDag, recall: Recall, registry: ToolRegistry, profiles: Sequence[Profile] = (), *, user: str = ""
) -> TaskDag:
    """Return the plan with what it takes from past analyses, and the reasons.

    Args:
        plan: as made from the question and the data.
        recall: the episodes that fit, most relevant first.
        registry: says what values a parameter can have.
        profiles: of the plan's files, which say what columns they have.
        user: whose analyses count; those of others settle nothing here. Empty for everybody's.
    """
    data = {dataset.sha256 for dataset in plan.datasets}
    forms = {profile.columns_sha256 for profile in profiles} - {""}
    told: set[tuple[str, ...]] = set()
    for item in _newest_of_the_same_first(recall.episodes):  # what the most relevant set, no other changes
        # The same question asked five times teaches once, and once more for each thing that was changed.
        changed = (f"{step.tool}.{name}" for step in item.episode.steps for name in sorted(step.changed))
        content = (*_same(item.episode), str(item.episode.success), *changed)
        if content not in told and (not user or item.episode.user == user):
            told.add(content)
            episode = item.episode
            known = bool(data & set(episode.data_sha256) or forms & set(episode.data_columns))
            plan = _apply(plan, item, registry, same_data=known)
    return plan


def _newest_of_the_same_first(items: list[RecalledEpisode]) -> list[RecalledEpisode]:
    """Return the episodes in their order, those of one question among themselves the newest first.

    Whoever set a parameter back, after memory had proposed another value, must not be told the old one again.
    """
    newest = sorted(items, key=lambda item: item.episode.at, reverse=True)
    waiting: dict[tuple[str, ...], list[RecalledEpisode]] = {}
    for item in newest:
        waiting.setdefault(_same(item.episode), []).append(item)
    return [waiting[_same(item.episode)].pop(0) for item in items]


def _same(episode: Episode) -> tuple[str, ...]:
    """Return what two analyses of one question have in common: its words and the tools."""
    return (" ".join(episode.task.lower().split()), *episode.tools)


def _apply(plan: TaskDag, item: RecalledEpisode, registry: ToolRegistry, *, same_data: bool) -> TaskDag:
    episode = item.episode
    if not _same_kind(plan, episode):
        return plan
    if not episode.success:
        return _warned(plan, episode) if same_data else plan
    shared = [node.tool for node in plan.nodes if node.tool in episode.tools]
    same = same_data and len(shared) >= _PIPELINE * len(plan.nodes) and _same_columns(plan, episode, registry)
    changes = {node.id: _changed(node, item, plan, registry) for node in plan.nodes}
    if not same and not any(changes.values()):
        return plan
    nodes = [_with(node, changes[node.id], item) for node in plan.nodes]
    # What came out is not told: numbers of another day beside this question would be taken for its answer.
    notes = [f"You ran these steps on these data on {_named(episode)}."] if same else []
    return plan.model_copy(update={"nodes": nodes, "notes": [*plan.notes, *notes]})


def _same_kind(plan: TaskDag, episode: Episode) -> bool:
    """Say whether the episode was about data of a kind this plan uses; one that does not say counts as such."""
    kinds = {dataset.type.value for dataset in plan.datasets}
    return not episode.data_types or bool(kinds & set(episode.data_types))


def _same_columns(plan: TaskDag, episode: Episode, registry: ToolRegistry) -> bool:
    """Say whether the steps are about the same columns, levels and rows: else another thing was asked."""
    for node in plan.nodes:
        if node.tool not in registry:
            continue
        before = [step.params for step in episode.steps if step.tool == node.tool]
        own = _about(node.params, node.tool, registry)
        if own and not any(_about(params, node.tool, registry) == own for params in before):
            return False
    return True


def _about(params: Mapping[str, Any], tool: str, registry: ToolRegistry) -> dict[str, Any]:
    """Return the parameters of a step that name columns, levels, rows or genes."""
    names = [p.name for p in registry.get(tool).params if p.kind in _NAMING or p.role in ("rows", "formula")]
    return {name: params[name] for name in names if params.get(name) not in (None, "", [])}


_NAMING = ("column", "columns", "level", "texts")


def _changed(
    node: TaskNode, item: RecalledEpisode, plan: TaskDag, registry: ToolRegistry
) -> dict[str, tuple[Any, str]]:
    """Return parameter -> (value, who changed it then) that this step takes over."""
    if item.score < ALIKE or node.tool not in registry:
        return {}
    spec = registry.get(node.tool)
    asked = {question.param for question in plan.open_questions if node.id in (question.node, *question.also)}
    taken: dict[str, tuple[Any, str]] = {}
    for step in item.episode.steps:
        if step.tool != node.tool or step.status not in ("succeeded", "cached"):
            continue
        for name, who in step.changed.items():
            param, value = spec.param(name), step.params.get(name)
            # Names of columns and groups belong to the data of then; only settings carry over.
            carries = param is not None and param.kind in ("integer", "number", "boolean", "choice")
            free = name not in node.settled and name not in asked
            if param and carries and free and value is not None and not param_problem(param, value):
                taken[name] = (value, who)
    return taken


def _with(node: TaskNode, changes: dict[str, tuple[Any, str]], item: RecalledEpisode) -> TaskNode:
    episode = item.episode
    reasons = []
    for name, (value, who) in changes.items():
        if value == node.params.get(name):
            continue  # it stands so already, and stays so whatever less relevant episodes say
        how = "you set it" if who == "edit" else "a repair had to set it after a failure"
        reasons.append(f"{memory_reason(name, value)}{how} on {_named(episode)}.")
    update = {
        "params": {**node.params, **{name: value for name, (value, _) in changes.items()}},
        "settled": {**node.settled, **dict.fromkeys(changes, "memory")},
        "reasons": [*node.reasons, *reasons],
    }
    return node.model_copy(update=update)


def _warned(plan: TaskDag, episode: Episode) -> TaskDag:
    """Warn of a step that failed in a similar analysis."""
    here = {node.tool: node for node in plan.nodes}
    failed = [step for step in episode.steps if step.status == "failed" and step.tool in here]
    if not failed:
        return plan
    step: EpisodeStep = failed[0]
    failure = _cut(step.error or episode.lessons)
    warning = f"The step {here[step.tool].name} failed on {_named(episode)}: {failure}"
    nodes = [
        node.model_copy(update={"reasons": [*node.reasons, f"Watch this step: it failed on {_named(episode)}."]})
        if node.tool == step.tool
        else node
        for node in plan.nodes
    ]
    return plan.model_copy(update={"nodes": nodes, "warnings": list(dict.fromkeys([*plan.warnings, warning]))})


def _named(episode: Episode) -> str:
    return f'{episode.at[:10]} in "{_cut(episode.task, 60)}" ({episode.run_id or episode.id})'


def _cut(text: str, length: int = 160) -> str:
    text = " ".join(text.split())
    return text if len(text) <= length else text[:length].rsplit(" ", 1)[0].rstrip(",;: ") + "..."
