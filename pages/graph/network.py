"""Draws a neighbourhood as a graph that can be clicked. The only place that names the drawing component."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.parts.escape import drawn, hint
from pages.parts.words import counted, shortened

if TYPE_CHECKING:
    from engine.api import Neighbourhood

MOST_DRAWN = 150
"""More nodes than this are slow to draw and impossible to read; the rest are counted beside the drawing."""
FEW = 60
"""Up to so many nodes are drawn large enough for small letters."""
LABELLED = {True: (16, 15), False: (8, 22)}
"""Few nodes or many -> how many of the best linked ones are drawn with their names, and how large the letters are.
More names would lie on top of each other: the rest say theirs under the pointer, and the table has them all."""
HUES: Mapping[str, str] = {
    "gene": "blue",
    "protein": "blue",
    "drug": "green",
    "drug_class": "green",
    "disease": "red",
    "phenotype": "red",
    "symptom": "red",
    "side_effect": "red",
    "pathway": "violet",
    "go_term": "violet",
    "cell_type": "orange",
    "anatomy": "orange",
}
"""Type of node -> colour; the same name is the colour of its mark in the page's text."""
LIGHT: Mapping[str, str] = {
    "blue": "#2b6cb0",
    "green": "#2f855a",
    "red": "#c53030",
    "violet": "#6b46c1",
    "orange": "#c05621",
    "gray": "#718096",
}
DARK: Mapping[str, str] = {
    "blue": "#63b3ed",
    "green": "#68d391",
    "red": "#fc8181",
    "violet": "#b794f4",
    "orange": "#f6ad55",
    "gray": "#a0aec0",
}
_TEXT = {"light": "#1b2528", "dark": "#e6ecee"}
_PAPER = {"light": "#ffffff", "dark": "#12191b"}
"""The page's background, around the letters so that no line runs through them."""
_LINE = {"light": "#b7c2c6", "dark": "#4a5a60"}


def draw_network(found: Neighbourhood, *, height: int) -> str:
    """Draw the nodes and edges and return the id of the node that was clicked, or "".

    The component reports only clicked nodes; edges are read from the table beside it. A relation that says the
    same in both directions has no arrow.
    """
    from streamlit_agraph import Config, Edge, Node, agraph

    from engine.domain.knowledge import SYMMETRIC

    theme = "dark" if st.context.theme.type == "dark" else "light"
    colors = DARK if theme == "dark" else LIGHT
    seeds = set(found.seeds)
    links = {node.id: counted(found.degrees.get(node.id, 0), "link") for node in found.nodes}
    labels, letters = LABELLED[len(found.nodes) <= FEW]
    named = seeds | {node.id for node in found.nodes[: labels + len(seeds)]}
    nodes = [
        Node(
            id=node.id,
            label=drawn(shortened(node.name, 22)) if node.id in named else " ",
            title=hint(f"{node.name} ({node.type.value.replace('_', ' ')}), {links[node.id]}"),
            size=20 if node.id in seeds else 11,
            color=colors[hue_of(node.type.value)],
            font={
                "color": _TEXT[theme],
                "size": letters + 3 if node.id in seeds else letters,
                "strokeWidth": 4,
                "strokeColor": _PAPER[theme],
            },
        )
        for node in found.nodes[:MOST_DRAWN]
    ]
    there = {node.id for node in nodes}
    edges = [
        Edge(
            source=edge.source,
            target=edge.target,
            title=edge.type.value.replace("_", " "),
            color=_LINE[theme],
            width=1,
            arrows="none" if edge.type in SYMMETRIC else "to",
        )
        for edge in found.edges
        if edge.source in there and edge.target in there
    ]
    # The component says numbers and booleans where its drawing library takes more.
    layout: dict[str, Any] = {
        "width": "100%",
        "physics": {
            "solver": "forceAtlas2Based",
            "forceAtlas2Based": {"gravitationalConstant": -70, "springLength": 90, "avoidOverlap": 0.7},
            "stabilization": {"iterations": 200},
        },
        "interaction": {"hover": True, "tooltipDelay": 120},
    }
    config = Config(height=height, directed=True, **layout)
    return str(agraph(nodes=nodes, edges=edges, config=config) or "")


def hue_of(kind: str) -> str:
    """Return the name of the colour a type of node is drawn in."""
    return HUES.get(kind, "gray")
