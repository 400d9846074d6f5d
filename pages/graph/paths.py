"""How two entities are connected: the shortest way and the best supported ones, each edge with who states it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.parts.engine import attempt
from pages.parts.escape import plain
from pages.parts.frame import Tab
from pages.parts.words import counted, number

if TYPE_CHECKING:
    from engine.api import Engine


def draw_paths(engine: Engine) -> None:
    """Draw the two fields and what was found."""
    left, right, longest = st.columns([4, 4, 2], vertical_alignment="bottom")
    with left:
        a = st.text_input("From", key="path_from", value=_start(engine), placeholder="EGFR", persist_state="session")
    with right:
        b = st.text_input("To", key="path_to", placeholder="lung cancer", persist_state="session")
    with longest:
        hops = st.number_input(
            "Longest path, in steps", min_value=1, max_value=6, value=3, key="path_hops", persist_state="session"
        )
    if not (a.strip() and b.strip()):
        st.caption("Name two entities to see how they are connected.")
        return
    found: list[Any] = []
    with st.spinner("Looking for paths..."):
        ok = attempt(
            lambda: found.extend(
                [
                    engine.knowledge.shortest_path(a, b, max_hops=int(hops)),
                    engine.knowledge.paths(a, b, max_hops=int(hops), top=8),
                ]
            )
        )
    if not ok:
        return
    shortest, supported = found
    if shortest is None:
        st.caption(f"No path of at most {counted(int(hops), 'step')} joins them.")
        return
    if not shortest.edges:
        st.caption(f"Both fields name the same entity, {plain(shortest.nodes[0].name)}: give two that differ.")
        return
    st.markdown("**Fewest steps**")
    st.markdown(_line(shortest))
    st.markdown("**Best supported**")
    st.caption(
        "Confident and specific links count for a path; passing a hub that is linked to everything counts against it."
    )
    sources = {source.id: source.name for source in engine.knowledge.stats().sources}
    rows = [_row(path, sources) for path in supported]
    st.table(rows, border="horizontal", hide_index=True) if rows else st.caption("None besides the shortest.")


def _start(engine: Engine) -> str:
    """Return the entity in focus by name where that finds it again, else by its id."""
    entity = str(st.session_state.get("entity", ""))
    name = engine.knowledge.names([entity]).get(entity, "")
    if not name:
        return ""
    hits = engine.knowledge.search(name, top=1)
    return name if hits and hits[0].node.id == entity else entity


def _row(path: Any, sources: dict[str, str]) -> dict[str, str]:
    stated = dict.fromkeys(str(sources.get(edge.origin, edge.origin)) for edge in path.edges)
    return {"Support": number(float(path.score)), "Path": _line(path), "Stated by": plain(", ".join(stated))}


def _line(path: Any) -> str:
    """Return a path on one line, with an arrow at each relation that has a direction."""
    from engine.domain.knowledge import SYMMETRIC

    parts = [f"**{plain(path.nodes[0].name)}**"]
    for place, edge in enumerate(path.edges):
        name = plain(edge.type.value.replace("_", " "))
        forward = edge.source == path.nodes[place].id
        pointed = f"{name} \u2192" if forward else f"\u2190 {name}"
        parts.append(name if edge.type in SYMMETRIC else pointed)
        parts.append(f"**{plain(path.nodes[place + 1].name)}**")
    return " ".join(parts)


PATHS = Tab("Paths", draw_paths, order=20)
