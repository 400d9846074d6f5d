"""The foot of the sidebar: where everything is kept, what plans, and what is running."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages._engine import engine
from pages._words import plain, shortened

if TYPE_CHECKING:
    from engine.api import Engine

POLL_SECONDS = 2


def draw_foot() -> None:
    """Draw the foot; a page that could not open the engine has said so, and then there is nothing to add."""
    try:
        opened = engine()
    except Exception:  # noqa: BLE001 - the page has shown why
        return
    with st.sidebar:
        st.space("small")
        workspace = opened.settings.workspace
        st.caption(f":material/folder_open: {plain(workspace.name)}", help=plain(f"Everything is kept in {workspace}"))
        st.caption(":material/memory: Built-in planner, no model")
        if opened.active():
            st.fragment(_running, run_every=POLL_SECONDS)(opened)


def _running(opened: Engine) -> None:
    active = opened.active()
    if not active:
        st.rerun()  # draws the page without this fragment, which ends the polling
    for run_id in active[:5]:
        question = shortened(opened.record(run_id).question, 40)
        st.page_link(
            "pages/plan_run.py",
            label=plain(question),
            icon=":material/progress_activity:",
            query_params={"run": run_id},
        )
    if len(active) > 5:
        st.caption(f"and {len(active) - 5} more")
