"""Memory: past analyses, facts, the conversation, and what the planner would be told for a question."""

from __future__ import annotations

import streamlit as st

from pages import remembering
from pages.parts.engine import run_page
from pages.parts.frame import draw_tabs, inside_frame

if inside_frame():
    st.title("Memory")
    st.caption("What earlier analyses taught. You can read, correct and delete all of it; nothing leaves this machine.")
    run_page(lambda engine: draw_tabs(remembering, engine, key="memory_tabs"))
