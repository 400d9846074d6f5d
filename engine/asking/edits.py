"""Changes to a plan: by `NODE.PARAM=VALUE` texts and by hand, each making a new version with a list of what changed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from engine.domain.plan import Settler, TaskDag, TaskNode, texts_of
from engine.domain.profile import Profile
from engine.domain.toolspec import ParamSpec, ToolSpec
from engine.errors import PlanError
from engine.toolbox.registry import ToolRegistry
from engine.toolbox.typecheck import param_problem


def set_params(plan: TaskDag, changes: Mapping[str, str], registry: ToolRegistry) -> TaskDag:
    """Return a new version with parameters set from texts.

    Args:
        plan: the plan to change.
        changes: `NODE.PARAM` -> value as text; NODE is a step's id or the name of its tool.
        registry: knows the parameters' kinds.

    Raises:
        PlanError: for a step or parameter that is not there, or a value that does not fit.
    """
    if not changes:
        return plan
    nodes = {node.id: node for node in plan.nodes}
    answered: set[tuple[str, str]] = set()
    for key, text in changes.items():
        target, dot, name = key.rpartition(".")
        shared = {other for q in plan.open_questions if (q.node, q.param) == (target, name) for other in q.also}
        matching = [node for node in nodes.values() if target in (node.id, node.tool) or node.id in shared]
        if not dot or not matching:
            steps = ", ".join(f"{node.id} ({node.tool})" for node in plan.nodes)
            message = f"{key!r} does not name a parameter of a step."
            raise PlanError(message, advice=f"Write NODE.PARAM=VALUE, where NODE is one of: {steps}.")
        for node in matching:
            param = registry.get(node.tool).param(name)
            if param is None:
                known = ", ".join(p.name for p in registry.get(node.tool).params) or "none"
                message = f"Step {node.id} ({node.tool}) has no parameter {name!r}."
                raise PlanError(message, advice=f"Its parameters are: {known}.")
            value = parse_value(param, text)
            problem = param_problem(param, value) if value not in (None, "", []) else ""
            if problem:
                raise PlanError(f"Step {node.id}: {problem}")
            before = nodes[node.id]
            given = before.model_copy(update={"params": {**before.params, name: value}})
            changed = _apart(before, given, registry.get(node.tool))
            names = different_params(before, changed)
            nodes[node.id] = _without_past(before, _decided(changed, [name], "set"), names)
            answered.add((node.id, name))
    left = [q for q in plan.open_questions if (q.node, q.param) not in answered]
    made = [nodes[node.id] for node in plan.nodes]
    base = plan.base or plan.version
    update = {"version": plan.version + 1, "base": base, "nodes": made, "open_questions": left}
    return plan.model_copy(update=update)


def sides_apart(old: TaskDag, new: TaskDag, registry: ToolRegistry) -> TaskDag:
    """Return a changed plan in which no level is set against itself: a side gives way to the other that took its."""
    nodes = [
        _apart(before, node, registry.get(node.tool))
        if node.tool in registry and (before := old.node(node.id)) and before.tool == node.tool
        else node
        for node in new.nodes
    ]
    return new.model_copy(update={"nodes": nodes})


def _apart(old: TaskNode, new: TaskNode, spec: ToolSpec) -> TaskNode:
    for one in (param for param in spec.params if param.role == "interest"):
        other = spec.other_side(one.name)
        if other is None or not new.params.get(one.name) or new.params[one.name] != new.params.get(other.name):
            continue
        changed = [p.name for p in (one, other) if new.params[p.name] != old.params.get(p.name)]
        if len(changed) == 1:
            left = other.name if changed[0] == one.name else one.name
            return new.model_copy(update={"params": {**new.params, left: old.params.get(changed[0], "")}})
    return _with_its_bases(old, new, spec)


def _with_its_bases(old: TaskNode, new: TaskNode, spec: ToolSpec) -> TaskNode:
    """Return a changed model without levels to compare with of what it no longer has.

    One level can be said in two ways: what was changed last holds.
    """
    several, alone = (next((p.name for p in spec.params if p.role == role), "") for role in ("references", "base"))
    if not several or not alone:
        return new
    columns = {name for p in spec.params if p.kind == "columns" for name in texts_of(new.params.get(p.name))}
    told = [text for text in texts_of(new.params.get(several)) if text.partition("=")[0] in columns]
    base, levels = str(new.params.get(alone) or ""), {text.partition("=")[2] for text in told}
    before = {text.partition("=")[2] for text in texts_of(old.params.get(several))}
    if base != str(old.params.get(alone) or ""):  # it is said anew: what it was before is no longer said
        told = [text for text in told if base in levels or text.partition("=")[2] != old.params.get(alone)]
    elif base in before and base not in levels:
        base = ""
    said = {name: value for name, value in ((several, told), (alone, base)) if value or name in new.params}
    return new if all(new.params.get(name) == value for name, value in said.items()) else new.model_copy(
        update={"params": {**new.params, **said}}
    )  # fmt: skip


def settled_by_hand(old: TaskDag, new: TaskDag) -> TaskDag:
    """Return `new` with every parameter that differs from `old` marked as changed by hand.

    A step that is new or has another tool is taken as it is: none of its values was proposed.
    """
    nodes = []
    for node in new.nodes:
        before = old.node(node.id)
        names = different_params(before, node) if before and before.tool == node.tool else []
        decided = _decided(node, names, "edit")
        nodes.append(_without_past(before, decided, names) if before and names else decided)
    return new.model_copy(update={"nodes": nodes})


def _without_past(old: TaskNode, new: TaskNode, names: Sequence[str]) -> TaskNode:
    """Return a changed step without the reasons that speak of what was changed away: a covariate, a group, a level.

    Also of two that changed their places: a reason that quotes both said which is set against which.
    """
    quoted = {repr(text) for name in names for text in texts_of(old.params.get(name))}
    now = {text for value in new.params.values() for text in texts_of(value)}
    gone = {text for name in names for text in texts_of(old.params.get(name))} - now
    speaks = [re.compile(rf"(?<!\w){re.escape(text)}(?!\w)") for text in gone]
    reasons = [reason for reason in new.reasons if not any(pattern.search(reason) for pattern in speaks)]
    reasons = [reason for reason in reasons if sum(text in reason for text in quoted) < _BOTH]
    return new.model_copy(update={"reasons": reasons, "name": _name_now(old, new)})


def _name_now(old: TaskNode, new: TaskNode) -> str:
    """Return a step's name with the levels that are set against each other now, where it tells them."""
    told = re.fullmatch(r"(?P<what>.+): (?P<first>.+) against (?P<second>.+)", new.name)
    if told is None:
        return new.name
    sides = [
        next((key for key, value in old.params.items() if value == told[side]), "") for side in ("first", "second")
    ]
    if not all(sides):
        return new.name
    first, second = (new.params.get(side) for side in sides)
    return f"{told['what']}: {first} against {second}" if first and second else told["what"]


_BOTH = 2


def chosen_now(
    before: Mapping[str, Mapping[str, Any]], new: Mapping[str, Mapping[str, Any]], registry: ToolRegistry
) -> dict[str, dict[str, Any]]:
    """Return what people chose, tool -> parameter -> value; levels of a column that is chosen anew are forgotten."""
    picked: dict[str, dict[str, Any]] = {}
    for tool in sorted({*before, *new}):
        fresh, spec = new.get(tool, {}), registry.get(tool)
        old = {n: v for n, v in before.get(tool, {}).items() if (param := spec.param(n)) and param.of not in fresh}
        taken = {(p.of, fresh[p.name]) for p in spec.params if p.kind == "level" and p.name in fresh}
        old = {
            n: v for n, v in old.items() if (p := spec.param(n)) and (p.kind != "level" or (p.of, v) not in taken)
        }  # the other side now
        # Of conditions on rows each choice is in place of another one, the ones before stay.
        both = {
            n: {**old[n], **v} for n, v in fresh.items() if isinstance(v, Mapping) and isinstance(old.get(n), Mapping)
        }
        picked[tool] = {**old, **fresh, **both}
    return picked


def of_rows(chosen: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return what people chose of rows, which holds for every analysis: condition -> the one in its place."""
    found = {tool: {n: v for n, v in values.items() if isinstance(v, Mapping)} for tool, values in chosen.items()}
    return {tool: values for tool, values in found.items() if values}


def kept_by_hand(
    old: TaskDag, new: TaskDag, chosen: Mapping[str, Mapping[str, Any]], registry: ToolRegistry
) -> TaskDag:
    """Return a plan that was made again, with what people had settled in the version before.

    Args:
        old: the version before.
        new: the plan, made with `chosen`.
        chosen: tool -> parameter -> value that a person chose; marked as such.
        registry: knows the kinds of parameters: columns and levels of before may not be those of now.
    """
    nodes = []
    for node in new.nodes:
        before = old.node(node.id)
        params, settled = dict(node.params), dict(node.settled)
        if before is not None and before.tool == node.tool:
            for name in (name for name, who in before.settled.items() if who in ("edit", "set")):
                param = registry.get(node.tool).param(name)
                if param is not None and param.kind not in ("column", "columns", "level") and name in before.params:
                    params[name], settled[name] = before.params[name], before.settled[name]
        picked = chosen.get(node.tool, {})
        settled |= {name: "edit" for name, value in picked.items() if params.get(name) in _values(value)}
        nodes.append(node.model_copy(update={"params": params, "settled": settled}))
    left = [
        q for q in new.open_questions if not any(n.id == q.node and n.settled.get(q.param) == "edit" for n in nodes)
    ]
    return new.model_copy(update={"nodes": nodes, "open_questions": left})


def _values(chosen: Any) -> list[Any]:
    """Return what a parameter may be by a choice: the value itself, or one of those that stand in place of others."""
    return list(chosen.values()) if isinstance(chosen, Mapping) else [chosen]


def different_params(old: TaskNode, new: TaskNode) -> list[str]:
    """Return the names of the parameters in which two versions of a step differ, in alphabetical order."""
    return [name for name in sorted({*old.params, *new.params}) if old.params.get(name) != new.params.get(name)]


def memory_reason(name: str, value: Any) -> str:
    """Return how the reason begins for a value that was taken from memory."""
    return f"{name} = {value} from memory: "


def _decided(node: TaskNode, names: Sequence[str], who: Settler) -> TaskNode:
    """Return the step with parameters marked as decided by a user; what memory said of them no longer holds."""
    if not names:
        return node
    past = tuple(f"{name} = " for name in names)
    reasons = [text for text in node.reasons if not (text.startswith(past) and " from memory: " in text)]
    return node.model_copy(update={"settled": {**node.settled, **dict.fromkeys(names, who)}, "reasons": reasons})


def parse_value(param: ParamSpec, text: str) -> Any:
    """Read a parameter's value from text; what cannot be read is returned as text, for the check to refuse."""
    text = text.strip()
    if param.kind in ("columns", "texts"):
        if text.startswith("["):
            try:
                return json.loads(text)
            except ValueError:
                return text
        return [part.strip() for part in text.split(",") if part.strip()]
    if param.kind == "boolean":
        return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}.get(text.lower(), text)
    if param.kind in ("integer", "number"):
        try:
            number = float(text)
        except ValueError:
            return text
        return int(number) if param.kind == "integer" and number.is_integer() else number
    return text


def parts_chosen(analysis: str, parts: Mapping[str, str], registry: ToolRegistry) -> dict[str, dict[str, Any]]:
    """Return what `PART=COLUMN` says for an analysis: tool -> parameter -> value, for each tool that has them.

    Raises:
        PlanError: when no tool of the analysis has all these parameters, or a value does not fit.
    """
    able = [spec for spec in registry if spec.runnable and analysis in spec.answers]
    found = dict[str, dict[str, Any]]()
    for spec in able:
        params = [param for name in parts if (param := spec.param(name)) is not None]
        if len(params) == len(parts):
            found[spec.name] = {param.name: parse_value(param, parts[param.name]) for param in params}
            if problem := next((told for p in params if (told := param_problem(p, found[spec.name][p.name]))), ""):
                raise PlanError(f"{analysis}: {problem}")
    if not found:
        known = dict.fromkeys(p.name for spec in able for p in spec.params)
        advice = f"Its parts are {', '.join(known)}." if known else "`biodesk analyses list` names all analyses."
        raise PlanError(f"{analysis!r} has no tool with {', '.join(parts)}.", advice=advice)
    return found


def require_columns(
    plan: TaskDag, parts: Mapping[str, str], profiles: Sequence[Profile], registry: ToolRegistry
) -> None:
    """Refuse columns that were set for parts of an analysis and that neither a file nor a step has.

    Raises:
        PlanError: for one that is not there.
    """
    every = [one for profile in profiles for one in (profile, *profile.others)]
    known = dict.fromkeys(column.name for one in every for column in one.column_profiles)
    made = {node.params.get("name") for node in plan.nodes}
    params = [(node, param) for node in plan.nodes for param in registry.get(node.tool).params if param.name in parts]
    names = [
        name for node, p in params if p.kind in ("column", "columns") for name in texts_of(node.params.get(p.name))
    ]
    if none := next((name for name in names if name not in known and name not in made), ""):
        raise PlanError(f"No column is called {none!r}.", advice=f"There are {', '.join(known)}.")


def changes_between(old: TaskDag, new: TaskDag) -> list[str]:
    """Return one sentence for each difference between two versions of a plan."""
    before = {node.id: node for node in old.nodes}
    after = {node.id: node for node in new.nodes}
    sentences = [f"Step {node} ({before[node].tool}) was removed." for node in before if node not in after]
    sentences += [f"Step {node} ({after[node].tool}) was added." for node in after if node not in before]
    for node_id in before:
        if node_id in after:
            sentences += _node_changes(before[node_id], after[node_id])
    return sentences


def _node_changes(old: TaskNode, new: TaskNode) -> list[str]:
    sentences: list[str] = []
    if old.tool != new.tool:
        sentences.append(f"Step {new.id} uses {new.tool} instead of {old.tool}.")
    different = different_params(old, new)
    for name in different:
        sentences.append(f"Step {new.id}: {name} is {new.params.get(name)!r} instead of {old.params.get(name)!r}.")
    kept = [
        name for name in new.settled if new.settled[name] == "edit" != old.settled.get(name) and name not in different
    ]
    sentences += [f"Step {new.id}: {name} is {new.params.get(name)!r}, as proposed." for name in kept]
    for name in sorted({*old.inputs, *new.inputs}):
        if old.inputs.get(name) != new.inputs.get(name):
            was, now = old.inputs.get(name, "nothing"), new.inputs.get(name, "nothing")
            sentences.append(f"Step {new.id}: {name} comes from {now} instead of {was}.")
    return sentences
