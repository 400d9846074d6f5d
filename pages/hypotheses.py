"""Hypotheses: tournaments of ideas, one of them in the open, or one hypothesis with all that is known of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import streamlit as st

from pages.ideas.about import draw_about, draw_take_away
from pages.ideas.address import look_at, settle
from pages.ideas.compared import draw_matches
from pages.ideas.following import draw_controls, follow, is_at_work
from pages.ideas.leaderboard import draw_leaderboard
from pages.ideas.one_hypothesis import draw_hypothesis
from pages.ideas.over_time import draw_nearness, draw_over_time
from pages.ideas.overview import draw_overview
from pages.ideas.people import draw_add
from pages.parts.engine import run_page, show_error
from pages.parts.escape import plain
from pages.parts.frame import inside_frame

if TYPE_CHECKING:
    from engine.api import Engine
    from engine.domain.discovery.hypotheses import TournamentView


def draw(engine: Engine) -> None:
    """Draw the hypothesis or the tournament that the address asks for, or the list of tournaments."""
    from engine.api import NotFoundError

    tournament_id, hypothesis = settle(engine)
    if not tournament_id:
        draw_overview(engine)
        return
    try:
        working = is_at_work(engine, tournament_id)
        view = engine.hypotheses.show(tournament_id)
    except NotFoundError as err:
        show_error(err)
        _back("All tournaments", "")
        return
    one = next((idea for idea in view.hypotheses if idea.id == hypothesis), None)
    with st.container(horizontal=True, vertical_alignment="center", key="ideas_bar"):
        if one is None:
            _back("All tournaments", "")
        else:
            _back("Leaderboard", tournament_id)
        st.space("stretch")
        draw_take_away(engine, tournament_id)
        draw_controls(engine, view.tournament, working=working)
    _goal(view, ended=not working and one is None)
    if working:
        follow(engine, view.tournament)
    if one is not None:
        draw_hypothesis(engine, view, one)
        return
    if hypothesis:
        st.caption(plain(f"This tournament has no hypothesis {hypothesis}."))
    _tabs(engine, view, working=working)


def _back(label: str, tournament_id: str) -> None:
    st.button(label, key="ideas_back", icon=":material/arrow_back:", on_click=look_at, args=(tournament_id,))


def _goal(view: TournamentView, *, ended: bool) -> None:
    state = view.tournament
    st.markdown(f"**{plain(state.aims.goal)}**")
    if ended and state.stopped_by:
        st.caption(plain(f"{state.stopped_by} {state.calls:,} calls."))


def _tabs(engine: Engine, view: TournamentView, *, working: bool) -> None:
    def board() -> None:
        draw_leaderboard(engine, view.tournament.id, working=working)
        draw_add(engine, view, working=working)

    names: dict[str, Callable[[], None]] = {
        "Leaderboard": board,
        "Comparisons": lambda: draw_matches(view),
        "Over time": lambda: draw_over_time(engine, view),
        "Nearness": lambda: draw_nearness(view),
        "About": lambda: draw_about(view),
    }
    tabs = st.tabs(list(names), key="ideas_tabs", on_change="rerun", bind="query-params")
    for tab, draw_tab in zip(tabs, names.values(), strict=True):
        if tab.open:
            with tab:
                draw_tab()


if inside_frame():
    st.title("Hypotheses", help="Ideas that compete: made, reviewed, compared two by two, rewritten, tested.")
    run_page(draw)
