"""Which run is in focus: kept in the address, so that a refresh, a second tab or a shared link finds it."""

from __future__ import annotations

import streamlit as st

RUN = "run"
"""The query parameter and the session key."""


def run_in_focus() -> str:
    """Return the run the address or this session points to, or ""."""
    run_id = st.query_params.get(RUN, "") or st.session_state.get(RUN, "")
    if run_id:
        focus(run_id)
    return run_id


def focus(run_id: str) -> None:
    """Point this session and its address to a run."""
    st.session_state[RUN] = run_id
    if st.query_params.get(RUN) != run_id:
        st.query_params[RUN] = run_id


def unfocus() -> None:
    """Point to no run."""
    st.session_state.pop(RUN, None)
    st.query_params.pop(RUN, None)
