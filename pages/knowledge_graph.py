"""Knowledge Graph: look up an entity, walk from it, see who states what, check a text, import."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages._engine import run_page
from pages._entity import draw_explorer
from pages._frame import inside_frame
from pages._graph_files import draw_import, draw_statistics
from pages._paths import draw_paths
from pages._text_check import draw_text_check

if TYPE_CHECKING:
    from engine.api import Engine


def draw(engine: Engine) -> None:
    """Draw the tabs; the graph is opened with the first of them."""
    with st.spinner("Opening the knowledge graph..."):
        engine.knowledge.view()
    explore, paths, check, bring, size = st.tabs(
        ["Explore", "Paths", "Check a text", "Import", "Statistics"], key="graph_tabs"
    )
    with explore:
        draw_explorer(engine)
    with paths:
        draw_paths(engine)
    with check:
        draw_text_check(engine)
    with bring:
        draw_import(engine)
    with size:
        draw_statistics(engine)


if inside_frame():
    st.title("Knowledge Graph")
    st.caption("What is known of genes, drugs, diseases, pathways and cells, and who states it.")
    run_page(draw)
