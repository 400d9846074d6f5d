"""The foot of the sidebar: where everything is kept, what plans, and what is running."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.parts.engine import engine
from pages.parts.escape import plain
from pages.parts.words import shortened

if TYPE_CHECKING:
    from engine.api import Engine

POLL_SECONDS = 2


_IMPORTS = {
    "graph": ("pages/knowledge_graph.py", {"graph_tabs": "Import"}),
    "catalogue": ("pages/tools.py", {"tools_tabs": "Catalogues"}),
}
"""Kind of import -> the page and the tab that shows it."""


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
        st.caption(f":material/memory: {plain(model_words(opened.models.describe()))}")
        if _at_work(opened):
            st.fragment(_running, run_every=POLL_SECONDS)(opened)


def model_words(models: dict[str, list[dict[str, Any]]]) -> str:
    """Return which model is in use: one that all roles share, else how many; or that there is none."""
    first = list(dict.fromkeys(chain[0]["model"] for chain in models.values() if chain))
    if not first:
        return "Built-in planner, no model"
    return first[0] if len(first) == 1 else f"{first[0]} and {len(first) - 1} more"


def _running(opened: Engine) -> None:
    active, competing = opened.active(), opened.hypotheses.active()
    importing = opened.imports.state()
    if not _at_work(opened):
        st.rerun()  # draws the page without this fragment, which ends the polling
    if importing is not None and importing.active:
        st.page_link(
            _IMPORTS[importing.kind][0],
            label=plain(shortened(f"Importing {importing.title}", 40)),
            icon=":material/progress_activity:",
            query_params=_IMPORTS[importing.kind][1],
        )
    for run_id in active[:5]:
        question = shortened(opened.record(run_id).question, 40)
        st.page_link(
            "pages/plan_run.py",
            label=plain(question),
            icon=":material/progress_activity:",
            query_params={"run": run_id},
        )
    for state in (one for one in opened.hypotheses.list() if one.id in competing[:5]):
        st.page_link(
            "pages/hypotheses.py",
            label=plain(shortened(state.aims.goal, 40)),
            icon=":material/progress_activity:",
            query_params={"tournament": state.id},
        )
    more = max(0, len(active) - 5) + max(0, len(competing) - 5)
    if more:
        st.caption(f"and {more} more")


def _at_work(opened: Engine) -> bool:
    importing = opened.imports.state()
    return bool(opened.active() or opened.hypotheses.active()) or (importing is not None and importing.active)
