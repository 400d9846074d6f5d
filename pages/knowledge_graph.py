"""Knowledge Graph: look up an entity, walk from it, see who states what, check a text, enrich, import."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages import graph
from pages.parts.engine import run_page
from pages.parts.focus import settle_focus
from pages.parts.frame import draw_tabs, inside_frame

if TYPE_CHECKING:
    from engine.api import Engine


def draw(engine: Engine) -> None:
    """Draw the tabs; the graph is opened with the first of them."""
    with st.spinner("Opening the knowledge graph..."):
        engine.knowledge.version()
    draw_tabs(graph, engine, key="graph_tabs")


if inside_frame():
    settle_focus()
    st.title("Knowledge Graph", help="What is known of genes, drugs, diseases, pathways and cells, and who states it.")
    run_page(draw)
