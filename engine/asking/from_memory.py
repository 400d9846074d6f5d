"""What a plan takes from past analyses of the same user, each thing with its reason in the plan.

Two things can be taken, both from analyses that ended well and only where the data have the same columns (the same
file by its hash, or another of these columns). A parameter: one that the user changed, or a repair had to, in a step
about the same columns, levels and rows is proposed again. A pipeline: a note says so when the same steps ran with the
same settings. What failed, or was done on other data, says nothing here and is not mentioned. What the question,
the data or the user settled (`TaskNode.settled`), and what the planner asks, is never touched. What came out is never
told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.asking.edits import memory_reason
from engine.domain.memory import Episode, Recall, RecalledEpisode
from engine.domain.plan import TaskDag, TaskNode
from engine.domain.profile import Profile
from engine.toolbox.registry import ToolRegistry
from engine.toolbox.typecheck import param_problem

ALIKE = 0.45
"""Relevance from which on a parameter is taken over; below it an episode is only mentioned."""


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
        content = (*_same(item.episode), *changed)
        if content not in told and item.episode.success and (not user or item.episode.user == user):
            told.add(content)
            episode = item.episode
            if data & set(episode.data_sha256) or forms & set(episode.data_columns):
                plan = _apply(plan, item, registry)
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


def _apply(plan: TaskDag, item: RecalledEpisode, registry: ToolRegistry) -> TaskDag:
    episode = item.episode
    if not _same_kind(plan, episode):
        return plan
    changes = {node.id: _changed(node, item, plan, registry) for node in plan.nodes}
    nodes = [_with(node, changes[node.id], item) for node in plan.nodes]
    plan = plan.model_copy(update={"nodes": nodes})
    told = any(note.startswith(RAN) for note in plan.notes)
    if told or not plan.nodes or not all(_ran(node, episode, registry) for node in plan.nodes):
        return plan
    # What came out is not told: numbers of another day beside this question would be taken for its answer.
    return plan.model_copy(update={"notes": [*plan.notes, f"{RAN} on {_named(episode)}."]})


RAN = "You ran these steps with these settings on these data"


def _same_kind(plan: TaskDag, episode: Episode) -> bool:
    """Say whether the episode was about data of a kind this plan uses; one that does not say counts as such."""
    kinds = {dataset.type.value for dataset in plan.datasets}
    return not episode.data_types or bool(kinds & set(episode.data_types))


def _ran(node: TaskNode, episode: Episode, registry: ToolRegistry) -> bool:
    """Say whether a past analysis had this step with all its settings; a tool's default is one as well."""
    if node.tool not in registry:
        return False
    usual = {p.name: p.default for p in registry.get(node.tool).params}

    def settings(params: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in {**usual, **params}.items() if value not in (None, "", [])}

    own = settings(node.params)
    return any(step.tool == node.tool and settings(step.params) == own for step in episode.steps)


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
        about = [_about(params, node.tool, registry) for params in (step.params, node.params)]
        if step.tool != node.tool or step.status not in ("succeeded", "cached") or about[0] != about[1]:
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


def _named(episode: Episode) -> str:
    return f'{episode.at[:10]} in "{_cut(episode.task, 60)}"'


def _cut(text: str, length: int = 160) -> str:
    text = " ".join(text.split())
    return text if len(text) <= length else text[:length].rsplit(" ", 1)[0].rstrip(",;: ") + "..."
