"""The tournaments of the workspace as a list, and the form for a new one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages.ideas.address import look_at
from pages.ideas.form import GOAL, draw_form
from pages.ideas.said import status_of
from pages.parts.escape import plain
from pages.parts.paging import first_shown
from pages.parts.words import counted, shortened, when

if TYPE_CHECKING:
    from engine.api import Engine
    from engine.domain.discovery.hypotheses import Tournament

SHOWN = 15


def draw_overview(engine: Engine) -> None:
    """Draw the list and the form; without a tournament the form alone, and what it is for."""
    known = engine.hypotheses.list()
    if not known:
        st.markdown(
            "Give a goal. Hypotheses are made, reviewed and compared two by two, the best are rewritten and compared "
            "again; the order comes with intervals, and each hypothesis with its evidence and what would contradict it."
        )
        draw_form(engine)
        return
    goal = st.session_state.get(GOAL, "")  # one that is under way, as from the page Ask
    with st.expander("New tournament", icon=":material/add:", key="idea_new", expanded=bool(goal)):
        draw_form(engine)
    start = first_shown(len(known), SHOWN, "ideas_page")
    for tournament in known[start : start + SHOWN]:
        _row(tournament)


def _row(tournament: Tournament) -> None:
    shown = status_of(tournament)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"idea_row_{tournament.id}"):
        with st.container(width=520):
            st.button(
                plain(shortened(tournament.aims.goal, 110)),
                key=f"idea_open_{tournament.id}",
                type="tertiary",
                help=plain(f"Open {tournament.id}"),
                on_click=look_at,
                args=(tournament.id,),
            )
        st.badge(shown.label, icon=shown.icon, color=shown.color)  # type: ignore[arg-type]
        told = [when(tournament.created_at), counted(tournament.calls, "call")]
        if tournament.status in ("running", "paused"):
            told.append(f"{tournament.progress:.0%}")
        st.caption(" · ".join(told), width="content")
