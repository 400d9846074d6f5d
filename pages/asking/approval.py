"""What a plan is going to do, in words: each part is a button that offers what else it could be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.parts.engine import attempt
from pages.parts.escape import plain
from pages.running.params import field
from pages.running.plan import with_param

if TYPE_CHECKING:
    from engine.api import Engine, Profile, TaskDag


def draw_goals(
    engine: Engine, run_id: str, plan: TaskDag, profiles: list[Profile], *, key: str, unsaved: bool = False
) -> bool:
    """Draw each goal of a plan as a sentence whose parts can be changed, and say whether one was.

    Args:
        engine: plans again with what is chosen.
        run_id: the run that waits for approval.
        plan: its newest plan.
        profiles: of the files of the run.
        key: the widgets' key; renewed with the plan.
        unsaved: True while there are changes that planning again would lose.
    """
    changed = False
    for number, goal in enumerate(engine.briefs(plan, profiles)):
        with st.container(border=True, gap="small", key=f"goal_{key}_{number}"):
            st.markdown(f"**{plain(goal.title)}**")
            with st.container(horizontal=True, gap="small", vertical_alignment="center"):
                for part in goal.parts:
                    own = f"{key}_{number}_{part.param}{part.column}"
                    changed |= _part(engine, run_id, plan, goal, part, own, unsaved=unsaved)
            st.markdown(f":small[{plain(goal.computed)}]")
            if goal.why:
                st.caption(plain(" ".join(goal.why)))
    if plan.not_answered:
        left = "".join(f"\n- {plain(text)}" for text in plan.not_answered)
        st.markdown(f":orange[:material/warning:] **Not answered by this plan**{left}")
    return changed


def _part(engine: Engine, run_id: str, plan: TaskDag, goal: Any, part: Any, key: str, *, unsaved: bool) -> bool:
    """Draw a part of a goal and say whether another was chosen for it."""
    param = engine.tool(goal.tool).param(part.param) if part.param else None
    label = f"{part.label}: **{plain(part.words)}**"
    setting = param is not None and param.kind not in ("column", "columns", "level")
    if param is None or not (part.candidates or setting):
        st.markdown(f":small[{label}]", width="content")
        return False
    with st.popover(
        label,
        type="tertiary",
        icon=":material/help:" if part.asked else ":material/person:" if part.by_hand else None,
        key=f"part_{key}",
        disabled=unsaved,
        help="Keep or drop your changes first." if unsaved else plain(param.description),
    ):
        if part.column:  # one level of several that the parameter holds
            at = part.candidates.index(part.value) if part.value in part.candidates else None
            name = plain(f"{part.label}: {part.column}")
            value = st.selectbox(name, part.candidates, index=at, key=f"pick_{key}")
        else:
            label = plain(part.label)
            value = field(param, part.value, key=f"pick_{key}", options=part.candidates, label=label, closed=True)
        if param.kind == "columns" and not st.button("Use these", key=f"use_{key}", type="primary"):
            return False
    if value == part.value or (value in (None, "", []) and (setting or part.value in (None, "", []))):
        return False
    if setting:
        # Said once in the question, it holds for every step that took it from there.
        for node in plan.nodes:
            if node.params.get(param.name) == part.value:
                plan = with_param(plan, node.id, param.name, value)
        return attempt(lambda: engine.edit_plan(run_id, plan))
    with st.spinner("Planning again..."):
        chosen = {goal.tool: {part.param: part.chosen(value)}}
        return attempt(lambda: engine.replan(run_id, chosen=chosen, goal=goal.node))
