"""Knowledge Graph: look up an entity, walk from it, see who states what, check a text, enrich, import."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages.graph.enrichment import draw_enrichment
from pages.graph.entity import draw_explorer
from pages.graph.files import draw_import, draw_statistics
from pages.graph.paths import draw_paths
from pages.graph.text_check import draw_text_check
from pages.parts.engine import run_page
from pages.parts.focus import settle_focus
from pages.parts.frame import inside_frame

if TYPE_CHECKING:
    from engine.api import Engine


def draw(engine: Engine) -> None:
    """Draw the tabs; the graph is opened with the first of them."""
    with st.spinner("Opening the knowledge graph..."):
        engine.knowledge.version()
    # Only the tab that is open is computed: statistics and paths cost time that a walk through the graph should not.
    names = {
        "Explore": draw_explorer,
        "Paths": draw_paths,
        "Check a text": draw_text_check,
        "Enrichment": draw_enrichment,
        "Import": draw_import,
        "Statistics": draw_statistics,
    }
    tabs = st.tabs(list(names), key="graph_tabs", on_change="rerun", bind="query-params")
    for tab, draw_tab in zip(tabs, names.values(), strict=True):
        if tab.open:
            with tab:
                draw_tab(engine)


if inside_frame():
    settle_focus()
    st.title("Knowledge Graph", help="What is known of genes, drugs, diseases, pathways and cells, and who states it.")
    run_page(draw)
