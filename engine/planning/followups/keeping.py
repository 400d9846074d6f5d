"""What stays of the plan before: what a person set by hand, levels with the level they are set against, a step back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.domain.plan import TaskDag, TaskNode, texts_of
from engine.domain.profile import Profile
from engine.errors import PlanError
from engine.planning.followups.anew import Try
from engine.planning.followups.follow import FollowUp
from engine.planning.followups.words import short
from engine.toolbox.registry import ToolRegistry


def back_to(before: TaskDag, earlier: Sequence[TaskDag], profiles: Sequence[Profile]) -> TaskDag:
    """Return the plan that stood before the last change of a conversation.

    Args:
        before: the last plan.
        earlier: the plans of the conversation before it, newest first.
        profiles: the files there are now.

    Raises:
        PlanError: when nothing stands before it, or its files are not there any more.
    """
    stood: list[TaskDag] = []
    for plan in [*reversed(earlier), before]:
        if plan.follows.startswith(TAKEN_BACK) and len(stood) > 1:
            stood.pop()
        else:
            stood.append(plan)
    if len(stood) < 2:
        raise PlanError(
            "Nothing stands before the last plan to go back to.", advice=f"It answers {short(before.question)}."
        )
    plan = stood[-2]
    if not {d.sha256 for d in plan.datasets} <= {p.sha256 for p in profiles}:
        raise PlanError(
            f"The files of {short(plan.question)} are not the files of this question.", advice="Ask it anew."
        )
    gone, stays = _new_in(before), _new_in(plan)
    follows = f"{TAKEN_BACK}: {gone or short(before.question)}. As before it: {short(plan.question)}"
    follows += f" ({stays})." if stays else "."
    return plan.model_copy(update={"follows": follows, "version": 1, "base": 0})


def _new_in(plan: TaskDag) -> str:
    """Return what a follow-up's plan had that was new: the questions before and after it may begin alike."""
    return plan.follows.partition(" New: ")[2].removesuffix(".")


TAKEN_BACK = "Taken back"


def with_what_was_set(plan: TaskDag, before: TaskDag, said: FollowUp, registry: ToolRegistry) -> TaskDag:
    """Return the plan with what the follow-up says of settings, and what a person had set in the plan before.

    Which level is set against which is not touched: see `sides_set`.
    """
    kept = _set_by_hand(before)
    nodes: list[TaskNode] = []
    for node in plan.nodes:
        params, settled, reasons = dict(node.params), dict(node.settled), list(node.reasons)
        for (tool, name), value in said.settings.items():
            if tool == node.tool and params.get(name) != value:
                params[name], settled[name] = value, "plan"
        for name, value in kept.get(node.tool, {}).items():
            named = isinstance(value, str | list) and bool({*texts_of(params.get(name))} & said.named)
            named = named or registry.get(node.tool).other_side(name) is not None
            if (node.tool, name) not in said.settings and params.get(name) != value and not named:
                params[name], settled[name] = value, "set"
                reasons.append(f"{name} = {value!r} as it was set in the plan before.")
        nodes.append(node.model_copy(update={"params": params, "settled": settled, "reasons": reasons}))
    return plan.model_copy(update={"nodes": nodes})


def sides_set(plan: TaskDag, before: TaskDag, said: FollowUp, one: Try, registry: ToolRegistry) -> Try | None:
    """Return a try with the sides that a person had set in the plan before, None where its plan has them so.

    A side goes with its other side, and with its column: of another column, or one that the follow-up itself speaks
    of, nothing is taken.
    """
    sides: dict[str, dict[str, Any]] = {}
    for tool, set_ in _set_by_hand(before).items():
        spec, node = registry.get(tool), next(node for node in before.nodes if node.tool == tool)
        for param in (p for name in set_ if (p := spec.param(name)) is not None):
            other, column = spec.other_side(param.name), node.params.get(param.of)
            same = [now for now in plan.nodes if now.tool == tool and now.params.get(param.of) == column]
            if other is None or column in said.named or not same:
                continue
            own = {name: value for name in (param.name, other.name) if (value := node.params.get(name))}
            own = {name: value for name, value in own.items() if name not in one.chosen.get(tool, {})}
            if any(now.params.get(name) != value for now in same for name, value in own.items()):
                sides[tool] = {**sides.get(tool, {}), **own}
    return one._replace(chosen=choices(Try("", "", "", "", chosen=sides), one.chosen)) if sides else None


def _set_by_hand(before: TaskDag) -> dict[str, dict[str, Any]]:
    """Return tool -> what a person set in it, of tools whose steps all have it so."""
    steps: dict[str, list[TaskNode]] = {}
    for node in before.nodes:
        steps.setdefault(node.tool, []).append(node)
    return {
        tool: {
            name: node.params.get(name)
            for name, who in node.settled.items()
            if who in ("set", "edit") and all(other.params.get(name) == node.params.get(name) for other in others)
        }
        for tool, (node, *others) in steps.items()
    }


def choices(one: Try, chosen: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return what was taken over together with what a person chose now, which goes before it."""
    tools = {*one.chosen, *chosen}
    return {tool: {**one.chosen.get(tool, {}), **chosen.get(tool, {})} for tool in tools}
