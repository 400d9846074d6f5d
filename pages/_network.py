"""Draws a neighbourhood as a graph that can be clicked. The only place that names the drawing component."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import streamlit as st

from pages._words import shortened

if TYPE_CHECKING:
    from engine.api import Neighbourhood

MOST_DRAWN = 150
"""More nodes than this are slow to draw and impossible to read; the rest are counted beside the drawing."""
LIGHT: Mapping[str, str] = {
    "gene": "#2b6cb0",
    "protein": "#2b6cb0",
    "drug": "#2f855a",
    "drug_class": "#276749",
    "disease": "#c53030",
    "phenotype": "#b83280",
    "symptom": "#b83280",
    "side_effect": "#97266d",
    "pathway": "#6b46c1",
    "go_term": "#805ad5",
    "cell_type": "#b7791f",
    "anatomy": "#975a16",
    "tool": "#2c7a7b",
    "dataset": "#4a5568",
}
DARK: Mapping[str, str] = {
    "gene": "#63b3ed",
    "protein": "#63b3ed",
    "drug": "#68d391",
    "drug_class": "#48bb78",
    "disease": "#fc8181",
    "phenotype": "#f687b3",
    "symptom": "#f687b3",
    "side_effect": "#ed64a6",
    "pathway": "#b794f4",
    "go_term": "#9f7aea",
    "cell_type": "#f6e05e",
    "anatomy": "#d69e2e",
    "tool": "#4fd1c5",
    "dataset": "#a0aec0",
}
_OTHER = {"light": "#718096", "dark": "#a0aec0"}
_TEXT = {"light": "#1b2528", "dark": "#e6ecee"}
_LINE = {"light": "#b7c2c6", "dark": "#4a5a60"}


def draw_network(found: Neighbourhood, *, height: int) -> str:
    """Draw the nodes and edges and return the id of the node that was clicked, or "".

    The component reports only clicked nodes; edges are read from the table beside it.
    """
    from streamlit_agraph import Config, Edge, Node, agraph

    theme = "dark" if st.context.theme.type == "dark" else "light"
    colors = DARK if theme == "dark" else LIGHT
    seeds = set(found.seeds)
    nodes = [
        Node(
            id=node.id,
            label=shortened(node.name, 26),
            title=f"{node.name} ({node.type.value.replace('_', ' ')}), {found.degrees.get(node.id, 0):,} links",
            size=22 if node.id in seeds else 13,
            color=colors.get(node.type.value, _OTHER[theme]),
            font={"color": _TEXT[theme], "size": 15 if node.id in seeds else 12},
        )
        for node in found.nodes[:MOST_DRAWN]
    ]
    drawn = {node.id for node in nodes}
    edges = [
        Edge(
            source=edge.source, target=edge.target, title=edge.type.value.replace("_", " "), color=_LINE[theme], width=1
        )
        for edge in found.edges
        if edge.source in drawn and edge.target in drawn
    ]
    config = Config(
        height=height,
        width="100%",
        directed=True,
        physics={
            "solver": "forceAtlas2Based",
            "forceAtlas2Based": {"gravitationalConstant": -45, "springLength": 70},
            "stabilization": {"iterations": 120},
        },
        interaction={"hover": True, "tooltipDelay": 120},
    )
    return str(agraph(nodes=nodes, edges=edges, config=config) or "")


def color_of(kind: str) -> str:
    """Return the colour a type of node is drawn in, with the theme in use."""
    theme = "dark" if st.context.theme.type == "dark" else "light"
    return (DARK if theme == "dark" else LIGHT).get(kind, _OTHER[theme])
