"""Changes a plan before it runs: settings, wiring, steps. What does not fit is said at once, not at the start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.parts.engine import attempt, show_message
from pages.parts.escape import plain
from pages.parts.words import counted, setting
from pages.running.params import field, known_columns, known_levels, with_value
from pages.running.plan import (
    Picked,
    draw_problems,
    draw_run,
    not_in_plan,
    ordered,
    read_from,
    step_name,
    to_answer,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.api import Engine, RunView, TaskDag

UNCONNECTED = ""


@dataclass(slots=True)
class Draft:
    """A plan being changed: the version it started from, how it stands, and a number that renews its fields."""

    base: int
    plan: TaskDag
    start: TaskDag
    """The plan without the changes that are not kept yet."""
    round: int = 0

    @property
    def unsaved(self) -> bool:
        """True while there are changes that are not kept yet."""
        return self.plan != self.start


def draft_of(view: RunView) -> Draft:
    """Return this session's draft of a run's plan; a newer version replaces it unless changes would be lost by that."""
    assert view.plan is not None
    drafts: dict[str, Draft] = st.session_state.setdefault("drafts", {})
    draft = drafts.get(view.record.run_id)
    if draft is None or (draft.base != view.plan.version and not draft.unsaved):
        draft = Draft(view.plan.version, view.plan, view.plan, (draft.round + 1) if draft else 0)
        drafts[view.record.run_id] = draft
    return draft


def draw_editor(
    engine: Engine, view: RunView, draft: Draft, selected: str, buttons: Any, waiting: Sequence[Picked] = ()
) -> None:
    """Draw the fields of the chosen step and, in the container `buttons`, what keeps, drops or runs the plan.

    Args:
        engine: checks, keeps and runs the plan.
        view: the run, whose plan may be newer than the draft.
        draft: the plan as it is being changed.
        selected: the chosen step.
        buttons: the container above.
        waiting: what was picked in the plan's sentences and is in neither.
    """
    assert view.plan is not None
    newest, before = view.plan.version, draft.plan
    meanwhile = draft.base != newest  # saved in another tab or by somebody else
    _open_questions(draft.plan)
    if draft.plan.node(selected) is not None:
        _step_form(engine, view, draft, selected)
    runnable = draw_problems(engine, draft.plan)
    if meanwhile:
        show_message(
            f"Version {newest} of this plan was saved elsewhere while you were changing version {draft.base}.",
            f"Your changes are not kept: with Drop changes you get version {newest} and can make them there.",
        )
    changed = draft.plan != view.plan
    run_id = view.record.run_id
    with buttons:
        run_now = draw_run(waiting, key="editor_run", disabled=meanwhile or not runnable, unsaved=draft.unsaved)
        if run_now and attempt(lambda: _run(engine, run_id, draft)):
            st.rerun()
        if st.button(
            f"Save as version {newest + 1}",
            key="editor_save",
            icon=":material/save:",
            disabled=meanwhile or not changed,
        ) and attempt(lambda: _save(engine, run_id, draft)):
            st.rerun()
        if st.button("Drop changes", key="editor_drop", icon=":material/undo:", disabled=not changed):
            draft.base, draft.plan, draft.start, draft.round = newest, view.plan, view.plan, draft.round + 1
            st.rerun()
        _add_step(engine, draft)
        told = not_in_plan(waiting, "Changes are not kept yet." if changed else f"Version {newest}")
        st.caption(plain(told), width="content")
    if draft.plan != before:
        st.rerun()  # the graph and the checks above were drawn from the plan as it was


def _save(engine: Engine, run_id: str, draft: Draft) -> None:
    engine.edit_plan(run_id, draft.plan)
    draft.start = draft.plan


def _run(engine: Engine, run_id: str, draft: Draft) -> None:
    if draft.unsaved:
        _save(engine, run_id, draft)
    engine.approve(run_id)


def _open_questions(plan: TaskDag) -> None:
    for question in to_answer(plan):
        if plan.answers(question):
            continue
        node = plan.node(question.node)
        value = node.params.get(question.param, question.proposed) if node else question.proposed
        place = f" In step {node.name}, {question.param.replace('_', ' ')} = {setting(value)}." if node else ""
        st.markdown(f":orange[:material/help:] {plain(question.text)} {plain(question.why + place)}")


def _step_form(engine: Engine, view: RunView, draft: Draft, node_id: str) -> None:
    plan = draft.plan
    node = plan.node(node_id)
    assert node is not None
    spec = engine.tool(node.tool)
    profiles = {profile.name: profile for profile in view.profiles}
    prefix = f"edit_{view.record.run_id}_{draft.round}_{node_id}"
    with st.container(border=True, key="step_form"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{plain(node.name)}**", width="content")
            st.caption(plain(node.tool if node.name == spec.title else f"{spec.title} ({node.tool})"), width="stretch")
            if st.button("Remove step", key=f"remove_{prefix}", icon=":material/delete:", type="tertiary"):
                draft.plan = plan.model_copy(update={"nodes": [n for n in plan.nodes if n.id != node_id]})
                st.rerun()
        st.caption(plain(" ".join(node.reasons) or spec.description))
        inputs, params = dict(node.inputs), dict(node.params)
        columns = st.columns(3)
        for position, port in enumerate(spec.inputs):
            with columns[position % 3]:
                inputs = _wire(engine, plan, node, port, inputs, prefix)
        offset = len(spec.inputs)
        for position, param in enumerate(spec.params):
            options = _options(engine, view, plan, node, spec, param, profiles)
            value = params.get(param.name, param.default)
            with columns[(position + offset) % 3]:
                entered = field(param, value, key=f"{prefix}_{param.name}", options=options)
            params = with_value(params, param, entered)
    changed = node.model_copy(update={"inputs": inputs, "params": params})
    draft.plan = plan.model_copy(update={"nodes": [changed if n.id == node_id else n for n in plan.nodes]})


def _options(
    engine: Engine, view: RunView, plan: TaskDag, node: Any, spec: Any, param: Any, profiles: dict[str, Any]
) -> list[str]:
    if param.kind in ("column", "columns"):
        return known_columns(engine, plan, node, param, profiles, view.results)
    if param.kind == "level":
        return known_levels(engine, plan, node, spec, param, profiles)
    return []


def _wire(engine: Engine, plan: TaskDag, node: Any, port: Any, inputs: dict[str, str], prefix: str) -> dict[str, str]:
    current = inputs.get(port.name, UNCONNECTED)
    sources = engine.sources(plan, node.id, port.name)
    names = list(dict.fromkeys([*([UNCONNECTED] if port.optional or not current else []), *sources, current]))
    chosen = st.selectbox(
        f"{port.name.replace('_', ' ')} comes from" + ("" if port.optional else " *"),
        names,
        index=names.index(current),
        format_func=lambda ref: read_from(plan, ref) if ref else "not connected",
        key=f"{prefix}_input_{port.name}",
        help=plain(f"{port.description} Takes {port.type.value.replace('_', ' ')}.".strip()),
    )
    rest = {name: ref for name, ref in inputs.items() if name != port.name}
    return {**rest, str(port.name): str(chosen)} if chosen else rest


def _add_step(engine: Engine, draft: Draft) -> None:
    with st.popover("Add a step", icon=":material/add:", key="add_step"):
        tools = sorted((tool for tool in engine.tools() if tool.runnable), key=lambda t: (t.domain, t.title))
        chosen = st.selectbox(
            "Tool",
            tools,
            index=None,
            format_func=lambda tool: f"{tool.title} ({tool.domain})",
            key=f"add_tool_{draft.round}",
            placeholder="Type to search",
        )
        if chosen is None:
            return
        st.caption(plain(chosen.description))
        if st.button("Add", key="add_step_now", type="primary"):
            draft.plan = engine.add_step(draft.plan, chosen.name)
            draft.round += 1
            st.session_state["step_wanted"] = draft.plan.nodes[-1].id
            st.rerun()


def draw_versions(engine: Engine, view: RunView) -> None:
    """Draw the versions of the plan with what changed in each."""
    rows = []
    for event in engine.events(view.record.run_id):
        if event.kind == "plan_proposed" or event.kind == "plan_edited":
            changes = event.changes if event.kind == "plan_edited" else ["As proposed."]
            rows.append(
                {
                    "Version": event.plan.version,
                    "Steps": len(event.plan.nodes),
                    "What changed": plain(" ".join(changes)),
                }
            )
    if len(rows) > 1:
        with st.expander(counted(len(rows), "version"), icon=":material/history:", key="plan_versions"):
            st.table(rows, border="horizontal", hide_index=True)


def chosen_step(plan: TaskDag, *, key: str, first: str = "") -> str:
    """Return the chosen step; while none was chosen `first`, or the first there is."""
    ids = [node.id for node in ordered(plan)]
    wanted = st.session_state.pop("step_wanted", None)
    if wanted in ids:
        st.session_state[key] = wanted
    if st.session_state.get(key) not in ids and ids:
        st.session_state[key] = first if first in ids else ids[0]
    return str(st.session_state.get(key) or "")


def step_choice(plan: TaskDag, clicked: str, *, key: str) -> str:
    """Draw the steps as buttons to choose from and return the chosen one; a click in the graph chooses too."""
    ids = [node.id for node in ordered(plan)]
    seen = f"{key}_clicked"
    if clicked in ids and st.session_state.get(seen) != clicked:
        st.session_state[key] = clicked
    st.session_state[seen] = clicked
    called = step_name(plan)
    chosen = st.pills("Step", ids, format_func=lambda i: plain(called(i)), key=key, label_visibility="collapsed")
    return chosen or (ids[0] if ids else "")
