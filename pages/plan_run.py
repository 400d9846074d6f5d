"""Plan & Run: every run of the workspace, and one run in the open: its graph, its plan, its steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages.asking.approval import draw_goals, draw_not_answered, load_style
from pages.asking.understood import draw_alternatives, draw_understood, with_legend
from pages.parts.drawing import task_graph
from pages.parts.engine import attempt, run_page, show_message
from pages.parts.escape import plain
from pages.parts.frame import inside_frame
from pages.parts.session import focus, run_in_focus, unfocus
from pages.parts.words import duration, setting, state
from pages.running.activity import headline
from pages.running.editor import chosen_step, draft_of, draw_editor, draw_versions, step_choice
from pages.running.live import activity_of, follow, is_working
from pages.running.plan import answering_step, ordered, read_from, step_name
from pages.running.runs import draw_list, draw_question, draw_state, draw_trust, say_wrong
from pages.running.search_tree import draw_searches
from pages.running.step import draw_step
from pages.trust.downloads import draw_download_menu

if TYPE_CHECKING:
    from engine.api import Engine, RunView, TaskDag

ALL_FORMATS = ("html", "pdf", "md", "notebook", "bundle")
POLL_SECONDS = 1.0


def draw(engine: Engine) -> None:
    """Draw the run in focus, or the list of all runs."""
    if run_id:
        _one(engine, run_id)
    elif engine.runs(limit=1):
        draw_list(engine, key="plan_run", on_open=_open)
    else:
        st.caption("Every question becomes a run and is kept here with its plan, steps and results.")
        st.page_link("pages/ask.py", label="Ask the first question", icon=":material/forum:")


def _open(chosen: str) -> None:
    focus(chosen)
    st.rerun()


def _one(engine: Engine, run_id: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key="run_bar"):
        if st.button("All runs", key="all_runs", icon=":material/arrow_back:"):
            unfocus()
            st.rerun()
        link = {"run": run_id}
        st.page_link("pages/ask.py", label="Open in Ask", icon=":material/forum:", query_params=link)
        st.page_link("pages/provenance.py", label="Provenance", icon=":material/fact_check:", query_params=link)
        st.space("stretch")
        working = is_working(engine, run_id)
        view = engine.view(run_id)
        draw_state(engine, view.record, working=working, key="plan_run")
    plan = view.plan if view.record.status == "awaiting_approval" else None
    draw_question(view.record, with_legend(plan) if plan and plan.understood else "")
    if view.record.error:
        show_message(view.record.error, activity_of(engine, run_id).advice)
    if view.plan is None:
        follow(engine, view.record, working=working)
        if not working:
            st.caption("This run has no plan.")
    elif view.record.status == "awaiting_approval":
        _edit(engine, view)
    elif working:
        st.fragment(_watch, run_every=POLL_SECONDS)(engine, run_id, live=True)
    else:
        _actions(engine, view)
        st.fragment(_watch)(engine, run_id, live=False)
        draw_versions(engine, view)
    if not working:
        draw_searches(engine, run_id, opened=view.plan is None)


def _edit(engine: Engine, view: RunView) -> None:
    draft = draft_of(view)
    run_id = view.record.run_id
    draw_not_answered(draft.start)
    # Before what they depend on, so that a keyboard is there in a few steps.
    buttons = st.container(horizontal=True, vertical_alignment="center", key="editor_buttons")
    key = f"{run_id}_{draft.start.version}"
    choices = draw_goals(engine, run_id, draft.start, view.profiles, key=key, unsaved=draft.unsaved)
    if draw_alternatives(engine, run_id, draft.start, unsaved=draft.unsaved) or choices.planned:
        st.rerun()
    draw_understood(engine, draft.start, key=run_id, question=False)
    key = f"step_{view.record.run_id}"
    chosen = chosen_step(draft.plan, key=key, first=answering_step(engine, draft.plan))
    clicked = task_graph(draft.plan, {}, key=f"graph_{view.record.run_id}", selected=chosen)
    _table_twin(draft.plan, view)
    selected = step_choice(draft.plan, clicked, key=key)
    draw_editor(engine, view, draft, selected, buttons, choices.waiting)
    draw_versions(engine, view)


def _watch(engine: Engine, run_id: str, *, live: bool) -> None:
    """Draw graph and chosen step; while the run works this is drawn again and again, then once the whole page."""
    working = is_working(engine, run_id)
    if live and not working:
        st.rerun()
    view = engine.view(run_id)
    assert view.plan is not None
    activity = activity_of(engine, run_id)
    statuses = {node_id: result.status for node_id, result in view.results.items()}
    if working:
        statuses |= activity.statuses()
        text = f"{plain(headline(activity))} · {duration(activity.elapsed)}"
        st.progress(activity.share, text=text)
    key = f"step_{run_id}"
    chosen = chosen_step(view.plan, key=key, first=answering_step(engine, view.plan))
    clicked = task_graph(view.plan, statuses, key=f"graph_{run_id}", selected=chosen)
    _table_twin(view.plan, view, statuses)
    selected = step_choice(view.plan, clicked, key=key)
    if selected:
        draw_step(engine, view, selected)


def _table_twin(plan: TaskDag, view: RunView, statuses: dict[str, str] | None = None) -> None:
    """Draw what the graph shows as a table: for screen readers and for copying."""
    import pandas as pd

    rows = []
    for number, node in enumerate(ordered(plan), start=1):
        result = view.results.get(node.id)
        status = (statuses or {}).get(node.id, result.status if result else "pending")
        rows.append(
            {
                "#": number,
                "Step": node.name,
                "State": state(status).label,
                "Took (s)": round(result.seconds, 2) if result else None,
                "Attempts": result.attempts if result else None,
                "Quality (0-1)": result.verdict.quality if result and result.verdict else None,
                "Reads": ", ".join(read_from(plan, ref) for ref in node.inputs.values()),
                "Settings": "; ".join(f"{name} = {setting(value)}" for name, value in node.params.items()),
            }
        )
    with st.expander("The graph as a table", icon=":material/table:", type="compact", key="graph_table"):
        st.dataframe(pd.DataFrame(rows), hide_index=True, height="content", key="graph_rows", alt="Steps of the plan")


def _actions(engine: Engine, view: RunView) -> None:
    assert view.plan is not None
    plan, run = view.plan, view.record.run_id
    with st.container(horizontal=True, key="run_actions"):
        reused = "The same plan as a new run. Results of the same code, data and settings are reused."
        if st.button("Rerun", key="rerun", icon=":material/replay:", help=reused):
            _start(lambda: engine.rerun(run))
        anew = "The same plan as a new run in which every step runs again: nothing is taken from earlier results."
        if st.button("Compute anew", key="rerun_fresh", icon=":material/restart_alt:", help=anew):
            _start(lambda: engine.rerun(run, fresh=True))
        with st.popover("Rerun from a step", icon=":material/start:", key="rerun_from"):
            ids = [node.id for node in ordered(plan)]
            node_id = st.selectbox("First step to run again", ids, format_func=step_name(plan), key="rerun_node")
            st.caption("Steps before it are taken from this run where nothing has changed.")
            if st.button("Rerun", key="rerun_from_now", type="primary") and node_id:
                _start(lambda: engine.rerun(run, from_node=node_id))
        if st.button(
            "Duplicate and edit",
            key="duplicate",
            icon=":material/content_copy:",
            help="A new run whose plan you change.",
        ):
            _start(lambda: engine.edit_plan(run, plan)[0])
        if view.report is not None:
            draw_download_menu(engine, run, ALL_FORMATS, key="plan_run")
        wrong = draw_trust(engine, run)
    if wrong:
        say_wrong()


def _start(action) -> None:
    started: list[str] = []
    if attempt(lambda: started.append(action())):
        _open(started[0])


if inside_frame():
    run_id = run_in_focus()
    st.title("Plan & Run")
    load_style()
    run_page(draw)
