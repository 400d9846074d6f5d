"""Tools: find what serves a task, see how each stage of the search found it, keep the catalogues."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages.parts.engine import run_page
from pages.parts.frame import inside_frame
from pages.tool_finder.catalogues import draw_catalogues
from pages.tool_finder.search import draw_search
from pages.tool_finder.written import draw_written

if TYPE_CHECKING:
    from engine.api import Engine


def draw(engine: Engine) -> None:
    """Draw the tabs."""
    names = {"Find": draw_search, "Catalogues": draw_catalogues, "Written": draw_written}
    tabs = st.tabs(list(names), key="tools_tabs", on_change="rerun", bind="query-params")
    for tab, draw_tab in zip(tabs, names.values(), strict=True):
        if tab.open:
            with tab:
                draw_tab(engine)


if inside_frame():
    st.title("Tools")
    st.caption("What can be done with data, here and elsewhere. Built-in tools run; those of catalogues are described.")
    run_page(draw)
