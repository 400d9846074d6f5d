"""Tools: find what serves a task, see how each stage of the search found it, keep the catalogues."""

from __future__ import annotations

import streamlit as st

from pages import tool_finder
from pages.parts.engine import run_page
from pages.parts.frame import draw_tabs, inside_frame

if inside_frame():
    st.title("Tools")
    st.caption("What can be done with data, here and elsewhere. Built-in tools run; those of catalogues are described.")
    run_page(lambda engine: draw_tabs(tool_finder, engine, key="tools_tabs"))
