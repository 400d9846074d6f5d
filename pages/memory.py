"""Memory: past analyses, facts, the conversation, and what the planner would be told for a question."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages.parts.engine import run_page
from pages.parts.frame import inside_frame
from pages.remembering.conversation import draw_conversation
from pages.remembering.episodes import draw_context, draw_episodes
from pages.remembering.facts import draw_facts
from pages.remembering.files import draw_transfer

if TYPE_CHECKING:
    from engine.api import Engine


def draw(engine: Engine) -> None:
    """Draw the tabs."""
    names = {
        "Past analyses": draw_episodes,
        "Facts": draw_facts,
        "Conversation": draw_conversation,
        "What the planner sees": draw_context,
        "Export and import": draw_transfer,
    }
    for tab, draw_tab in zip(st.tabs(list(names), key="memory_tabs", on_change="rerun"), names.values(), strict=True):
        if tab.open:
            with tab:
                draw_tab(engine)


if inside_frame():
    st.title("Memory")
    st.caption("What earlier analyses taught. You can read, correct and delete all of it; nothing leaves this machine.")
    run_page(draw)
