"""The thread of a conversation: turns in short, what a question took over, what could be asked next, its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from pages.asking.by_hand import Use, draw_by_hand
from pages.parts.engine import attempt
from pages.parts.escape import plain
from pages.parts.session import focus
from pages.parts.words import counted, shortened, size, when
from pages.running.runs import draw_wrong, is_refused, state_of

if TYPE_CHECKING:
    from engine.api import Conversation, Engine, RunRecord, RunView, WayOn

POLL_SECONDS = 0.7
DELETING = "deleting"
"""Session key: what is asked about before it is deleted."""


# ==== turns in short ====


@st.cache_data(show_spinner=False, max_entries=500)
def _first_sentence(run_id: str, stamp: str, _engine: Engine) -> str:
    """Return the first sentence of a run's answer; `stamp` tells its states apart."""
    report = _engine.view(run_id).report
    return report.summary[0] if report is not None and report.summary else ""


def answer_in_short(engine: Engine, record: RunRecord) -> str:
    """Return what came of a turn, in a sentence."""
    if is_refused(record):
        return record.error
    told: list[str] = []
    if record.report_sha256:
        attempt(lambda: told.append(_first_sentence(record.run_id, record.report_sha256, engine)))
    return (told or [""])[0] or record.error


def draw_turns(engine: Engine, turns: Sequence[RunRecord]) -> None:
    """Draw turns in short, oldest first: the question, the first sentence of the answer, and a way to open it whole."""
    wrong = engine.memory.doubted_runs() if turns else ()
    for record in turns:
        shown = state_of(record)
        with st.container(border=True, key=f"turn_{record.run_id}", gap="small"):
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                if st.button(
                    plain(shortened(record.question, 160)),
                    key=f"turn_open_{record.run_id}",
                    type="tertiary",
                    icon=":material/open_in_full:",
                    help="Open this turn whole",
                ):
                    focus(record.run_id)
                    st.rerun()
                st.badge(shown.label, icon=shown.icon, color=shown.color)  # type: ignore[arg-type]
                if record.run_id in wrong:
                    draw_wrong()
            if text := answer_in_short(engine, record):
                st.markdown(plain(shortened(text, 300)))


def draw_taken_over(engine: Engine, view: RunView, ask: Callable[[str, list[str]], None]) -> None:
    """Draw what a question took over from the turn before, and the way to undo that."""
    record, plan = view.record, view.plan
    if plan is None or not plan.follows:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="taken_over"):
        st.markdown(f":material/subdirectory_arrow_right: :gray[{plain(plan.follows)}]", width="content")
        if st.button("Ask it as a new question", key="ask_alone", type="tertiary", icon=":material/undo:"):
            if record.status == "awaiting_approval":
                with st.spinner("Planning again..."):
                    done = attempt(lambda: engine.replan(record.run_id, alone=True))
                if done:
                    st.rerun()
            else:
                ask(record.question, record.data)


def draw_reused(view: RunView) -> None:
    """Say how many finished steps were taken over instead of being computed again."""
    reused = sum(result.status == "cached" for result in view.results.values())
    if reused and view.plan is not None:
        steps = counted(len(view.plan.nodes), "step")
        were = "was" if reused == 1 else "were"
        st.caption(f":material/history: {reused} of {steps} had not changed and {were} reused, not computed again.")


# ==== what could be asked ====


def draw_suggestions(
    engine: Engine, ask: Callable[[str], None], *, key: str, run_id: str = "", data: Sequence[str] = (), title: str
) -> None:
    """Draw up to three questions that plan as they stand; while they are being found, look again and again."""
    found = engine.suggestions(data, run_id=run_id)
    if found is None:
        st.fragment(_wait, run_every=POLL_SECONDS)(engine, run_id, list(data))
        return
    if not found:
        return
    st.markdown(f"**{title}**")
    with st.container(horizontal=True, gap="small", key=f"suggestions_{key}"):
        for number, question in enumerate(found):
            if st.button(plain(question), key=f"suggested_{key}_{number}", icon=":material/help_center:"):
                ask(question)


def _wait(engine: Engine, run_id: str, data: list[str]) -> None:
    if engine.suggestions(data, run_id=run_id) is not None:
        st.rerun()
    st.caption(":material/pending: Looking for questions that can be asked...")


# ==== not answerable ====


def draw_refusal(
    engine: Engine,
    record: RunRecord,
    advice: str,
    ask: Callable[[str, list[str]], None],
    again: Callable[[WayOn, list[str]], None],
    by_hand: Use,
    *,
    follows: bool,
) -> None:
    """Draw a question that cannot be answered as it stands: what is missing, and what can be asked instead.

    Args:
        engine: finds questions that can be asked.
        record: the run of the question.
        advice: what to do.
        ask: asks a question by itself.
        again: asks this question once more in one of the ways it could be meant, with the columns chosen for that.
        by_hand: asks it once more as an analysis with columns that were chosen from lists.
        follows: True where the question goes on from another one.
    """
    with st.container(border=True, key="refusal"):
        st.markdown(":material/help: **This cannot be answered as it stands**")
        st.markdown(plain(record.error))
        if advice:
            st.caption(plain(advice))
        if follows and st.button("Ask it as a new question", key="refused_alone", icon=":material/undo:"):
            ask(record.question, record.data)
        for number, way in enumerate(record.ways_on):
            key = f"{record.run_id}_{number}"
            if named := _columns_said(way, key) if way.said else _chosen_way(way, key):
                again(way, named)
        files = [path for path in record.data if Path(path).is_file()]
        if files:
            draw_by_hand(engine, record.run_id, by_hand, shown=not record.ways_on)
            draw_suggestions(
                engine,
                lambda question: ask(question, files),
                key=f"refused_{record.run_id}",
                data=files,
                title="These questions work on your files",
            )
        else:
            st.caption('"New question" leads to examples on real data.')


def _columns_said(way: WayOn, key: str) -> list[str]:
    """Draw what columns could be said to be, and return one for each once they are chosen."""
    st.markdown(plain(way.says))
    with st.container(horizontal=True, vertical_alignment="bottom", key=f"way_{key}"):
        names = [
            st.selectbox(
                plain(way.meant[role].capitalize()), able, index=None, key=f"way_{key}_{role}", placeholder="Column"
            )
            for role, able in way.said.items()
        ]
        chosen = [name for name in names if name]
        ready = len({*chosen}) == len(names)
        clicked = st.button("Ask with these", key=f"way_use_{key}", type="primary", disabled=not ready)
    return chosen if clicked else []


def _chosen_way(way: WayOn, key: str) -> list[str]:
    """Draw one way to ask again and return the columns chosen for it (a blank where none is needed) once it is."""
    if not way.columns:
        label = plain(shortened(way.says, 150))
        return [""] if st.button(label, key=f"way_{key}", icon=":material/alt_route:") else []
    with st.container(key=f"way_{key}"):
        if way.several:
            with st.container(horizontal=True, vertical_alignment="bottom"):
                names = st.multiselect(plain(way.says), way.columns, key=f"way_columns_{key}", placeholder="Columns")
                clicked = st.button("Ask with these", key=f"way_use_{key}", type="primary", disabled=not names)
            return names if clicked else []
        name = st.pills(plain(way.says), way.columns, key=f"way_column_{key}")
        return [name] if name else []


# ==== name, delete ====


def draw_name_tools(engine: Engine, talk: Conversation) -> None:
    """Draw the ways to rename and to delete a conversation."""
    with st.popover("Rename", icon=":material/edit:", type="tertiary", key="rename_conversation"):
        with st.form("name_conversation", border=False):  # Enter in the field keeps the name, too
            name = st.text_input("Name of this conversation", value=talk.title, max_chars=200, key=f"name_{talk.id}")
            kept = st.form_submit_button("Keep this name", key="keep_name")
        if kept and attempt(lambda: engine.rename_conversation(talk.id, name)):
            st.rerun()
    if st.button("Delete", key="delete_conversation", icon=":material/delete:", type="tertiary"):
        st.session_state[DELETING] = talk.id


def draw_name(engine: Engine, talk: Conversation, run_id: str, gone: Callable[[], None]) -> None:
    """Draw what a conversation is called, and what deleting it or its open turn would take where that is asked for."""
    if talk.named or len(talk.runs) > 1:  # else the question below says the same
        st.markdown(f"**{plain(shortened(talk.title, 120))}**")
    if st.session_state.get(DELETING) != talk.id:
        return
    turns = [record.run_id for record in talk.runs]
    with st.container(border=True, key="deleting"):
        st.markdown(
            "Delete for good, with plans, results and what was remembered? What other runs use as well stays, and "
            "so do your files outside Biodesk."
        )
        with st.container(horizontal=True, gap="small"):
            whole = f"The whole conversation ({counted(len(turns), 'question')}, {size(engine.space(turns))})"
            if st.button(whole, key="delete_whole", icon=":material/delete:") and attempt(
                lambda: engine.delete_conversation(talk.id)
            ):
                gone()
            only = f"This question only ({size(engine.space([run_id]))})"
            if (
                len(turns) > 1
                and st.button(only, key="delete_turn", icon=":material/delete:")
                and attempt(lambda: engine.delete_runs([run_id]))
            ):
                gone()
            if st.button("Keep it", key="delete_nothing"):
                st.session_state.pop(DELETING, None)
                st.rerun()


# ==== earlier conversations ====


def draw_past(engine: Engine, *, shown: int) -> None:
    """Draw the conversations of before, newest first, to be searched; refused ones only when they are asked for."""
    every = engine.conversations()
    if not every:
        st.caption("Questions you ask are kept here, with their plans and results.")
        return
    st.markdown("**Earlier questions**")
    answered = [talk for talk in every if not all(map(is_refused, talk.runs))]
    left = len(every) - len(answered)
    text = ""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if len(every) > shown:
            text = st.text_input(
                "Find a conversation", key="find_conversation", placeholder="Find by name, question or file",
                label_visibility="collapsed", width=360,
            )  # fmt: skip
        label = f"Also {counted(left, 'question')} that could not be answered"
        also = bool(left) and st.toggle(label, key="also_refused")
    listed = engine.conversations(text) if text else every
    listed = listed if also else [talk for talk in listed if not all(map(is_refused, talk.runs))]
    key = "conversations_shown"
    most = int(st.session_state.get(key, shown))
    for talk in listed[:most]:
        _talk(talk)
    if not listed and text:
        st.caption("No conversation matches.")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if len(listed) > most and st.button("Show more", key="more_conversations", icon=":material/expand_more:"):
            st.session_state[key] = most + 20
            st.rerun()
        st.page_link("pages/plan_run.py", label="All runs", icon=":material/list:")


def _talk(talk: Conversation) -> None:
    turns = [record for record in talk.runs if not is_refused(record)] or talk.runs
    last = turns[-1]
    shown = state_of(last)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if st.button(
            plain(shortened(talk.title, 100)),
            key=f"past_{talk.id}",
            type="tertiary",
            icon=":material/forum:",
            help="Open this conversation",
        ):
            focus(last.run_id)
            st.rerun()
        st.badge(shown.label, color=shown.color)  # type: ignore[arg-type]
        count = f" · {counted(len(talk.runs), 'question')}" if len(talk.runs) > 1 else ""
        st.caption(when(last.created_at) + count, width="content")
