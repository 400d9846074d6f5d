"""The neighbourhood explorer: an entity, what is linked to it as a drawing and as a table, and who states each link."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from pages._engine import attempt
from pages._network import MOST_DRAWN, draw_network, hue_of
from pages._words import counted, number, plain, shortened

if TYPE_CHECKING:
    from engine.api import Engine, Neighbourhood

ENTITY = "entity"
TRAIL = "entity_trail"
STARTS = ("EGFR", "TP53", "imatinib", "breast cancer", "T cell")
_HITS = 12
HEIGHT = 390
"""Of drawing and table, in pixels: both are whole on a screen of 1280x800."""


def entity_in_focus() -> str:
    """Return the entity the address or this session points to, or ""."""
    entity = st.query_params.get(ENTITY, "") or st.session_state.get(ENTITY, "")
    if entity:
        focus_entity(entity)
    return entity


def focus_entity(entity: str) -> None:
    """Point this session and its address to an entity."""
    st.session_state[ENTITY] = entity
    if st.query_params.get(ENTITY) != entity:
        st.query_params[ENTITY] = entity
    trail: list[str] = st.session_state.setdefault(TRAIL, [])
    if not trail or trail[-1] != entity:
        trail.append(entity)
        del trail[:-8]


def draw_explorer(engine: Engine) -> None:
    """Draw the search and the entity in focus."""
    _search(engine)
    entity = entity_in_focus()
    if not entity:
        _empty(engine)
        return
    found: list[Any] = []
    if attempt(lambda: found.append(engine.knowledge.node(entity))):
        _entity(engine, found[0])


def _search(engine: Engine) -> None:
    text = st.text_input(
        "Find an entity",
        key="entity_search",
        label_visibility="collapsed",
        icon=":material/search:",
        placeholder="Find a gene, drug, disease, pathway, cell type or identifier, e.g. HER2, imatinib, GO:0006915",
    )
    if not text.strip():
        return
    with st.spinner("Searching the graph..."):
        hits = engine.knowledge.search(text, top=_HITS)
    if not hits:
        st.caption(f"Nothing called {plain(text)} is in the graph. Import a source that has it, or try another name.")
        return
    with st.container(horizontal=True, gap="small", key="entity_hits"):
        for hit in hits:
            kind = hit.node.type.value.replace("_", " ")
            matched = f" (matched {hit.matched})" if hit.matched not in (hit.node.name, hit.node.id) else ""
            if st.button(
                plain(shortened(hit.node.name, 40)),
                key=f"hit_{hit.node.id}",
                help=plain(f"{kind}, {counted(hit.degree, 'link')}{matched}, {hit.node.id}"),
            ):
                _open(hit.node.id)


def _open(node_id: str) -> None:
    st.session_state.pop("entity_search", None)
    focus_entity(node_id)
    st.rerun()


def _empty(engine: Engine) -> None:
    with st.spinner("Counting what is in the graph..."):
        stats = engine.knowledge.stats()
        starts = {name: engine.knowledge.search(name, top=1) for name in STARTS}
    st.markdown(f"{stats.nodes:,} entities and {stats.edges:,} relations are in the graph. Start from one of these:")
    with st.container(horizontal=True, gap="small", key="entity_starts"):
        for name, hits in starts.items():
            if hits and st.button(plain(hits[0].node.name), key=f"start_{name}", icon=":material/hub:"):
                _open(hits[0].node.id)


def _entity(engine: Engine, node: Any) -> None:
    _trail(engine)
    with st.container(horizontal=True, vertical_alignment="center", key="entity_head"):
        st.subheader(plain(node.name), width="content")
        st.badge(node.type.value.replace("_", " "), color="blue")
        st.caption(plain(node.id), width="content")
        if node.aliases:
            elsewhere = f"Elsewhere: {', '.join(node.xrefs[:8])}" if node.xrefs else None
            named = shortened("also " + ", ".join(node.aliases[:12]), 90)
            st.caption(plain(named), width="content", help=plain(elsewhere) if elsewhere else None)
    found = _filtered(engine, node)
    if found is None:
        return
    left, right = st.columns([3, 2], gap="medium")
    with left:
        clicked = draw_network(found, height=HEIGHT)
        rest = found.reached - len(found.nodes)
        more = (
            f" {counted(rest, 'more entity').replace('entitys', 'entities')} left out: {_types(found)}."
            if rest > 0
            else ""
        )
        st.caption(f"{len(found.nodes):,} entities drawn, best linked first.{plain(more)} Click one to go there.")
    with right:
        chosen = _table(found, node)
    target = chosen or clicked
    if target and target != node.id and target != st.session_state.get("network_seen"):
        st.session_state["network_seen"] = target
        _open(target)
    st.session_state["network_seen"] = clicked
    _evidence(engine, found, node)


def _trail(engine: Engine) -> None:
    trail = st.session_state.get(TRAIL, [])[:-1]
    if not trail:
        return
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="entity_trail_bar"):
        for place, entity in enumerate(trail[-5:]):
            name = engine.knowledge.node(entity).name if _known(engine, entity) else entity
            if st.button(
                plain(shortened(name, 24)), key=f"trail_{place}", type="tertiary", icon=":material/arrow_back:"
            ):
                _open(entity)


def _known(engine: Engine, entity: str) -> bool:
    view = engine.knowledge.view()
    return view.number(entity) >= 0


def _types(found: Neighbourhood) -> str:
    shown: dict[str, int] = {}
    for node in found.nodes:
        shown[node.type.value] = shown.get(node.type.value, 0) + 1
    rest = {kind: count - shown.get(kind, 0) for kind, count in found.reached_by_type.items()}
    return ", ".join(
        f"{count:,} {kind.replace('_', ' ')}" for kind, count in sorted(rest.items(), key=lambda i: -i[1]) if count > 0
    )


def _filtered(engine: Engine, node: Any) -> Neighbourhood | None:
    from engine.api import EdgeType, NodeType

    whole = engine.knowledge.neighbours(node.id, hops=1, limit=1)
    kinds = sorted(whole.reached_by_type, key=lambda kind: -whole.reached_by_type[kind])
    if not kinds:
        st.caption("Nothing is linked to this entity.")
        return None
    left, middle, right = st.columns([6, 3, 2], vertical_alignment="center")
    with left:
        picked = st.pills(
            "Show",
            kinds,
            selection_mode="multi",
            format_func=lambda kind: _kind_label(kind, whole.reached_by_type[kind]),
            key=f"kinds_{node.id}",
            label_visibility="collapsed",
        )
    with middle:
        edges = st.multiselect(
            "Relations",
            _edge_kinds(engine, node),
            format_func=lambda kind: kind.replace("_", " "),
            key=f"edges_{node.id}",
            placeholder="All relations",
            label_visibility="collapsed",
        )
    with right:
        hops = st.segmented_control(
            "Steps",
            [1, 2],
            default=1,
            key=f"hops_{node.id}",
            format_func=lambda count: counted(count, "step"),
            label_visibility="collapsed",
        )
    found: list[Neighbourhood] = []
    asked = {
        "hops": hops or 1,
        "node_types": [NodeType(kind) for kind in picked],
        "edge_types": [EdgeType(kind) for kind in edges],
        "limit": MOST_DRAWN if (hops or 1) > 1 else 60,
    }
    attempt(lambda: found.append(engine.knowledge.neighbours(node.id, **asked)))
    return found[0] if found else None


def _kind_label(kind: str, count: int) -> str:
    """Return a type with the mark that says which colour it is drawn in."""
    return f":{hue_of(kind)}[●] {kind.replace('_', ' ')} {count:,}"


def _edge_kinds(engine: Engine, node: Any) -> list[str]:
    view = engine.knowledge.view()
    from engine.api import edge_type_names

    return edge_type_names(view.adjacent(view.number(node.id)).types)


def _table(found: Neighbourhood, node: Any) -> str:
    """Draw the table twin and return the id of the entity whose row was chosen, or ""."""
    import pandas as pd

    near = sorted(
        (other for other in found.nodes if other.id != node.id),
        key=lambda other: (found.hops.get(other.id, 9), -found.degrees.get(other.id, 0)),
    )
    relations = _relations(found, node.id)
    frame = pd.DataFrame(
        [
            {
                "Entity": other.name,
                "Type": other.type.value.replace("_", " "),
                "Relation": relations.get(other.id, ""),
                "Steps": found.hops.get(other.id, 0),
                "Links": found.degrees.get(other.id, 0),
            }
            for other in near
        ]
    )
    event = st.dataframe(
        frame,
        hide_index=True,
        height=HEIGHT,
        key=f"near_{node.id}",
        on_select="rerun",
        selection_mode="single-row",
        column_config={"Links": st.column_config.NumberColumn(format="localized")},
        alt=f"Entities linked to {node.name}",
    )
    rows = event.selection.rows
    st.caption("Choose a row to go to that entity.")
    return near[rows[0]].id if rows and rows[0] < len(near) else ""


def _relations(found: Neighbourhood, node_id: str) -> dict[str, str]:
    """Return for each entity how it is linked to the one in focus, an arrow showing the direction."""
    words: dict[str, list[str]] = {}
    for edge in found.edges:
        name = edge.type.value.replace("_", " ")
        if edge.source == node_id:
            words.setdefault(edge.target, []).append(f"{name} \u2192")
        elif edge.target == node_id:
            words.setdefault(edge.source, []).append(f"\u2190 {name}")
    return {other: ", ".join(dict.fromkeys(said)) for other, said in words.items()}


def _evidence(engine: Engine, found: Neighbourhood, node: Any) -> None:
    import pandas as pd

    names = {other.id: other.name for other in found.nodes}
    sources = {source.id: source.name for source in engine.knowledge.stats().sources}
    with st.expander(f"Who states this ({len(found.edges):,} relations)", icon=":material/fact_check:", key="evidence"):
        rows = [
            {
                "From": names.get(edge.source, edge.source),
                "Relation": edge.type.value.replace("_", " "),
                "To": names.get(edge.target, edge.target),
                "Source": sources.get(edge.origin, edge.origin),
                "As the source calls it": edge.relation,
                "Confidence": number(float(edge.confidence)),
            }
            for edge in found.edges[:1000]
        ]
        st.dataframe(
            pd.DataFrame(rows), hide_index=True, height=300, key=f"evidence_{node.id}", alt="Relations and sources"
        )
        if len(found.edges) > 1000:
            st.caption(f"The first 1,000 of {len(found.edges):,} relations.")
