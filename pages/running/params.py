"""Draws a form field for each parameter of a tool, from what the tool says of it: kind, unit, bounds, choices.

Columns and levels come from the profiles of the data, so a name is chosen and not typed; a name that only
exists once a step has run can still be typed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.parts.escape import plain
from pages.parts.words import setting

if TYPE_CHECKING:
    from engine.api import Engine, Profile, TaskDag

NONE = ""
"""An empty text parameter means: leave it to the tool."""


def source_profile(engine: Engine, plan: TaskDag, ref: str, profiles: dict[str, Profile]) -> Profile | None:
    """Return the profile of the file that a reference leads back to through steps that hand data on."""
    for _ in range(len(plan.nodes) + 1):
        if ref.startswith("data:"):
            return profiles.get(ref.removeprefix("data:"))
        node_id, _, output = ref.partition(".")
        node = plan.node(node_id)
        spec = engine.tool(node.tool) if node else None
        port = spec.output(output) if spec else None
        same = [i.name for i in spec.inputs if port and i.type == port.type] if spec else []
        if node is None or not same or same[0] not in node.inputs:
            return None
        ref = node.inputs[same[0]]
    return None


def known_columns(
    engine: Engine, plan: TaskDag, node: Any, param: Any, profiles: dict[str, Profile], results: dict[str, Any]
) -> list[str]:
    """Return the columns a parameter may name: those of the file or, once it exists, of the step's output."""
    ref = node.inputs.get(param.of, "")
    node_id, _, output = ref.partition(".")
    if node_id in results:
        for artifact in results[node_id].artifacts:
            if artifact.output == output and artifact.columns:
                return list(artifact.columns)
    profile = source_profile(engine, plan, ref, profiles) if ref else None
    if profile is None:
        return []
    columns = sorted(profile.column_profiles, key=lambda c: -c.role(param.role)) if param.role else []
    return [column.name for column in columns or profile.column_profiles]


def known_levels(
    engine: Engine, plan: TaskDag, node: Any, spec: Any, param: Any, profiles: dict[str, Profile]
) -> list[str]:
    """Return the levels of the column that another parameter names."""
    named = spec.param(param.of)
    if named is None:
        return []
    column_name = node.params.get(named.name, named.default)
    profile = source_profile(engine, plan, node.inputs.get(named.of, ""), profiles)
    column = profile.column(str(column_name)) if profile else None
    return list(column.levels) if column else []


def field(
    param: Any,
    value: Any,
    *,
    key: str,
    options: list[str] | None = None,
    label: str = "",
    closed: bool = False,
    called: Mapping[str, str] | None = None,
) -> Any:
    """Draw the field of one parameter and return what it holds.

    Args:
        param: the parameter's description.
        value: what it is set to now.
        key: the widget's key.
        options: names to choose from, for columns, levels and lists.
        label: the label, when the parameter's own name is not to be shown.
        closed: True where the options are all there is, so that nothing else can be typed.
        called: option -> what it is called, where that is something else.
    """
    label = label or param.name.replace("_", " ") + (f" ({param.unit})" if param.unit else "")
    if param.required:
        label += " *"
    help_text = plain(param.description) + _bounds(param)
    if param.kind == "boolean":
        return st.toggle(label, value=bool(value), key=key, help=help_text)
    if param.kind in ("integer", "number"):
        return _number(param, value, label, key, help_text)
    if param.kind in ("columns", "texts"):
        chosen = [str(item) for item in value] if isinstance(value, list) else []
        names = list(dict.fromkeys([*(options or []), *chosen]))
        return st.multiselect(label, names, default=chosen, key=key, help=help_text, accept_new_options=not closed)
    if param.kind == "text" and not options:
        return st.text_input(label, value="" if value is None else str(value), key=key, help=help_text)
    return _one_of(param, value, label, key, help_text, options or [], closed=closed, called=called or {})


def _number(param: Any, value: Any, label: str, key: str, help_text: str) -> Any:
    whole = param.kind == "integer"
    cast = int if whole else float
    number = isinstance(value, int | float) and not isinstance(value, bool)
    entered = st.number_input(
        label,
        value=cast(value) if number else None,
        min_value=None if param.minimum is None else cast(param.minimum),
        max_value=None if param.maximum is None else cast(param.maximum),
        step=1 if whole else None,
        format="%d" if whole else "%.6g",
        key=key,
        help=help_text,
    )
    return cast(entered) if entered is not None else None


def _one_of(
    param: Any, value: Any, label: str, key: str, help_text: str, options: list[str], *, closed: bool,
    called: Mapping[str, str],
) -> str:  # fmt: skip
    names = [str(choice) for choice in param.choices] if param.kind == "choice" else list(options)
    current = "" if value is None else str(value)
    if current and current not in names:
        names.insert(0, current)
    if not param.required and param.kind != "choice" and NONE not in names:
        names.insert(0, NONE)
    chosen = st.selectbox(
        label,
        names,
        index=names.index(current) if current in names else None,
        key=key,
        help=help_text,
        format_func=lambda name: called.get(name, name) or "not set",
        accept_new_options=not closed and param.kind != "choice",
        placeholder="Choose" if closed else "Choose or type",
    )
    return chosen or ""


def _bounds(param: Any) -> str:
    low, high = param.minimum, param.maximum
    parts = []
    if low is not None and high is not None:
        parts.append(f"From {setting(low)} to {setting(high)}")
    elif low is not None:
        parts.append(f"At least {setting(low)}")
    elif high is not None:
        parts.append(f"At most {setting(high)}")
    if param.default not in (None, "", []):
        parts.append(f"default {plain(setting(param.default))}")
    return f" {', '.join(parts)}." if parts else ""


def with_value(params: dict[str, Any], param: Any, value: Any) -> dict[str, Any]:
    """Return the parameters with one set; what equals the tool's default and was never written stays unwritten."""
    default = param.default if param.default is not None else ([] if param.kind in ("columns", "texts") else "")
    if param.name not in params and (value == param.default or (value in (None, "", []) and default in ("", []))):
        return params
    if params.get(param.name) == value:
        return params
    if value is None:
        return {name: kept for name, kept in params.items() if name != param.name}
    return {**params, param.name: value}
