"""Which steps of a plan answer its question, and which what."""

from __future__ import annotations

from collections.abc import Mapping

from engine.domain.plan import TaskDag, TaskNode
from engine.toolbox.analyses import Analysis
from engine.toolbox.registry import ToolRegistry


def goals_of(plan: TaskDag, registry: ToolRegistry, analyses: Mapping[str, Analysis]) -> list[tuple[str, TaskNode]]:
    """Return the steps that answer, each with the analysis that it answers, in the order of the question."""
    wanted = [chosen.id for chosen in plan.analysis]
    top = max((node.priority for node in plan.nodes), default=0)
    found: list[tuple[str, TaskNode]] = []
    for node in plan.nodes:
        spec = registry.get(node.tool)
        set_roles = {param.role for param in spec.params if node.params.get(param.name)}
        own = [key for key in wanted if key in spec.answers]
        # Of two analyses of one tool a step answers the one whose needs it has bound: in pairs where there are pairs.
        own.sort(key=lambda key: -len(needs) if (needs := needs_of(key, analyses)) <= set_roles else len(needs))
        if own and (node.priority == top or not any(key in _answered_above(plan, registry, top) for key in own)):
            found.append((own[0], node))
    if not found:  # planned as what a person chose, by a step that is not declared for it
        return [("".join(wanted[:1]), node) for node in plan.nodes if node.priority == top]
    return sorted(found, key=lambda pair: wanted.index(pair[0]))


def needs_of(key: str, analyses: Mapping[str, Analysis]) -> set[str]:
    """Return the roles that must be bound for an analysis."""
    return {*analyses[key].needs} if key in analyses else set()


def _answered_above(plan: TaskDag, registry: ToolRegistry, top: int) -> set[str]:
    """Return the analyses that the steps of the highest priority answer: others of their kind are only on the way."""
    return {key for node in plan.nodes if node.priority == top for key in registry.get(node.tool).answers}
