"""Which tournament and which of its hypotheses are looked at: kept in the address, so that a refresh finds both."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages.parts.focus import ARRIVED

if TYPE_CHECKING:
    from engine.api import Engine

TOURNAMENT, HYPOTHESIS = "tournament", "hypothesis"
"""The query parameters."""
_KEPT = "ideas_address"
_SEARCHED = 30
"""So many tournaments are looked through for a hypothesis that a link names alone."""


def settle(engine: Engine) -> tuple[str, str]:
    """Bring address and session in line and return the tournament and the hypothesis it asks for, "" for none.

    As with entities (`pages/parts/focus.py`), what the session remembers fills in only an address that comes from
    another page and names nothing.
    """
    arrived = st.session_state.pop(ARRIVED, False)
    asked = (st.query_params.get(TOURNAMENT, ""), st.query_params.get(HYPOTHESIS, ""))
    if asked == ("", "") and arrived:
        asked = st.session_state.get(_KEPT, asked)
    if asked[1] and not asked[0]:
        asked = (_holding(engine, asked[1]), asked[1])
    look_at(*asked)
    return asked


def look_at(tournament: str, hypothesis: str = "") -> None:
    """Point session and address to a tournament, and to a hypothesis in it; for a callback, or before a rerun."""
    st.session_state[_KEPT] = (tournament, hypothesis)
    for name, value in ((TOURNAMENT, tournament), (HYPOTHESIS, hypothesis)):
        if not value:
            st.query_params.pop(name, None)
        elif st.query_params.get(name) != value:
            st.query_params[name] = value


def _holding(engine: Engine, hypothesis: str) -> str:
    """Return the newest tournament that has a hypothesis."""
    for state in engine.hypotheses.list()[:_SEARCHED]:
        if any(one.id == hypothesis for one in engine.hypotheses.show(state.id).hypotheses):
            return state.id
    return ""
