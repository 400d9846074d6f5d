"""The neighbourhood explorer: an entity, what is linked to it as a drawing and as a table, and who states each link."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.graph.network import MOST_DRAWN, draw_network, hue_of
from pages.parts.drawing import wide_only
from pages.parts.engine import attempt, show_message
from pages.parts.escape import plain
from pages.parts.focus import asked_entity, go_to, search_text, shown_entity, way_here
from pages.parts.frame import Tab
from pages.parts.words import counted, number, shortened

if TYPE_CHECKING:
    from engine.api import Engine, Neighbourhood

STARTS = ("EGFR", "TP53", "imatinib", "breast cancer", "T cell")
_HITS = 12
HEIGHT = 390
"""Of drawing and table, in pixels: both are whole on a screen of 1280x800."""


def draw_explorer(engine: Engine) -> None:
    """Draw the search and the entity in focus."""
    from engine.api import NotFoundError

    _search(engine)
    asked = asked_entity()
    if not asked:
        _starts(engine)
        return
    try:
        node = engine.knowledge.node(asked)
    except NotFoundError as err:
        _missing(engine, asked, several="choices" in err.details)
        return
    shown_entity(node.id)
    _entity(engine, node)


def _search(engine: Engine) -> None:
    text = search_text(
        "Find a gene, drug, disease, pathway, cell type or identifier, e.g. HER2, imatinib, GO:0006915",
    )
    if not text.strip():
        return
    with st.spinner("Searching the graph..."):
        hits = engine.knowledge.search(text, top=_HITS)
    if not hits:
        st.caption(f"Nothing called {plain(text)} is in the graph. Import a source that has it, or try another name.")
        return
    _hits(hits, "hit")


def _hits(hits: list[Any], key: str) -> None:
    with st.container(horizontal=True, gap="small", key=f"entity_{key}s"):
        for hit in hits:
            kind = hit.node.type.value.replace("_", " ")
            matched = f" (matched {hit.matched})" if hit.matched not in (hit.node.name, hit.node.id) else ""
            st.button(
                plain(shortened(hit.node.name, 40)),
                key=f"{key}_{hit.node.id}",
                help=plain(f"{kind}, {counted(hit.degree, 'link')}{matched}, {hit.node.id}"),
                on_click=go_to,
                args=(hit.node.id,),
            )


def _missing(engine: Engine, asked: str, *, several: bool) -> None:
    near = engine.knowledge.search(asked, top=5)
    show_message(
        f"{asked!r} can be several entities." if several else f"There is no entity {asked!r} in the knowledge graph.",
        "Choose one below, search for another name above, or import a source that has it."
        if near
        else "Search for another name above, or import a source that has it.",
    )
    if near:
        _hits(near, "near_hit")
    _starts(engine)


def _starts(engine: Engine) -> None:
    with st.spinner("Counting what is in the graph..."):
        stats = engine.knowledge.stats()
        starts = {name: engine.knowledge.search(name, top=1) for name in STARTS}
    st.markdown(
        f"{counted(stats.nodes, 'entity', 'entities')} and {counted(stats.edges, 'relation')} are in the graph. "
        "Start from one of these:"
    )
    with st.container(horizontal=True, gap="small", key="entity_starts"):
        for name, hits in starts.items():
            if hits:
                st.button(
                    plain(hits[0].node.name),
                    key=f"start_{name}",
                    icon=":material/hub:",
                    on_click=go_to,
                    args=(hits[0].node.id,),
                )


def _entity(engine: Engine, node: Any) -> None:
    _trail(engine)
    head, relations, steps = st.columns([6, 3, 2], vertical_alignment="center")
    with head, st.container(horizontal=True, vertical_alignment="center", key="entity_head"):
        _head(node)
    found = _filtered(engine, node, relations, steps)
    if found is None:
        return
    left, right = st.columns(2, gap="small")
    with left, wide_only("network"):
        clicked = draw_network(found, height=HEIGHT)
        rest = found.reached - len(found.nodes)
        more = f" {counted(rest, 'more entity', 'more entities')} left out: {_types(found)}." if rest > 0 else ""
        drawn = counted(len(found.nodes), "entity", "entities")
        st.caption(f"{drawn} drawn, best linked first.{plain(more)} Click one to go there.")
    with right:
        chosen = _table(found, node)
    target = chosen or clicked
    if target and target != node.id and target != st.session_state.get("network_seen"):
        st.session_state["network_seen"] = target
        go_to(target)
        st.rerun()
    st.session_state["network_seen"] = clicked
    _evidence(engine, found, node)


def _head(node: Any) -> None:
    st.subheader(plain(node.name), width="content")
    st.badge(node.type.value.replace("_", " "), color="blue")
    also = "Also called " + ", ".join(node.aliases[:12]) if node.aliases else ""
    elsewhere = "Elsewhere " + ", ".join(node.xrefs[:8]) if node.xrefs else ""
    told = "\n\n".join(plain(text) for text in (also, elsewhere) if text)
    st.caption(plain(node.id), width="content", help=told or None)


def _trail(engine: Engine) -> None:
    way = way_here()[-5:]
    if not way:
        return
    names = engine.knowledge.names(way)
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="entity_trail_bar"):
        for place, entity in enumerate(way):
            st.button(
                plain(shortened(names.get(entity, entity), 24)),
                key=f"trail_{place}",
                type="tertiary",
                icon=":material/arrow_back:",
                on_click=go_to,
                args=(entity,),
            )


def _types(found: Neighbourhood) -> str:
    shown: dict[str, int] = {}
    for node in found.nodes:
        shown[node.type.value] = shown.get(node.type.value, 0) + 1
    rest = {kind: count - shown.get(kind, 0) for kind, count in found.reached_by_type.items()}
    return ", ".join(
        f"{count:,} {kind.replace('_', ' ')}" for kind, count in sorted(rest.items(), key=lambda i: -i[1]) if count > 0
    )


def _filtered(engine: Engine, node: Any, relations: Any, steps: Any) -> Neighbourhood | None:
    from engine.api import EdgeType, NodeType

    hops = int(st.session_state.get(f"hops_{node.id}") or 1)
    around = _around(engine.knowledge.neighbours(node.id, hops=hops, limit=1))
    kinds = sorted(around, key=lambda kind: -around[kind])
    if not kinds:
        st.caption("Nothing is linked to this entity.")
        return None
    with relations:
        edges = st.multiselect(
            "Relations",
            engine.knowledge.relations_of(node.id),
            format_func=lambda kind: kind.replace("_", " "),
            key=f"edges_{node.id}",
            placeholder="All relations",
            label_visibility="collapsed",
            persist_state="session",
        )
    with steps:
        st.segmented_control(
            "Steps",
            [1, 2],
            default=1,
            required=True,
            key=f"hops_{node.id}",
            format_func=lambda count: counted(count, "step"),
            label_visibility="collapsed",
            persist_state="session",
        )
    picked = st.pills(
        "Show",
        kinds,
        selection_mode="multi",
        format_func=lambda kind: _kind_label(kind, around[kind]),
        key=f"kinds_{node.id}",
        label_visibility="collapsed",
        persist_state="session",
    )
    found: list[Neighbourhood] = []
    asked = {
        "hops": hops,
        "node_types": [NodeType(kind) for kind in picked],
        "edge_types": [EdgeType(kind) for kind in edges],
        "limit": MOST_DRAWN if hops > 1 else 60,
    }
    attempt(lambda: found.append(engine.knowledge.neighbours(node.id, **asked)))
    return found[0] if found else None


def _around(found: Neighbourhood) -> dict[str, int]:
    """Return how many entities of each type there are around the seeds, which the neighbourhood counts too."""
    seeds = [node.type.value for node in found.nodes if node.id in found.seeds]
    counts = {kind: count - seeds.count(kind) for kind, count in found.reached_by_type.items()}
    return {kind: count for kind, count in counts.items() if count > 0}


def _kind_label(kind: str, count: int) -> str:
    """Return a type with the mark that says which colour it is drawn in."""
    return f":{hue_of(kind)}[●] {kind.replace('_', ' ')} {count:,}"


def _table(found: Neighbourhood, node: Any) -> str:
    """Draw the table twin and return the id of the entity whose row was chosen, or ""."""
    import pandas as pd

    near = sorted(
        (other for other in found.nodes if other.id != node.id),
        key=lambda other: (found.hops.get(other.id, 9), -found.degrees.get(other.id, 0)),
    )
    relations = _relations(found, node.id)
    far = max(found.hops.values(), default=0) > 1  # with one step there is nothing to tell
    frame = pd.DataFrame(
        [
            {
                "Entity": other.name,
                "Type": other.type.value.replace("_", " "),
                "Relation": relations.get(other.id, ""),
                **({"Steps": found.hops.get(other.id, 0)} if far else {}),
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
        # Together as wide as the table on a screen of 1280 pixels, so that no column is out of sight.
        column_config={
            "Entity": st.column_config.TextColumn(width=112 if far else 136),
            "Type": st.column_config.TextColumn(width=70 if far else 80),
            "Relation": st.column_config.TextColumn(width=118 if far else 128),
            "Steps": st.column_config.NumberColumn(width=44),
            "Links": st.column_config.NumberColumn(format="localized", width=46),
        },
        alt=f"Entities linked to {node.name}",
    )
    rows = event.selection.rows
    st.caption("Choose a row to go to that entity.")
    return near[rows[0]].id if rows and rows[0] < len(near) else ""


def _relations(found: Neighbourhood, node_id: str) -> dict[str, str]:
    """Return for each entity how it is linked to the one in focus, an arrow showing the direction if there is one."""
    from engine.domain.knowledge import SYMMETRIC

    words: dict[str, list[str]] = {}
    for edge in found.edges:
        name = edge.type.value.replace("_", " ")
        if edge.type in SYMMETRIC and node_id in (edge.source, edge.target):
            words.setdefault(edge.target if edge.source == node_id else edge.source, []).append(name)
        elif edge.source == node_id:
            words.setdefault(edge.target, []).append(f"{name} \u2192")
        elif edge.target == node_id:
            words.setdefault(edge.source, []).append(f"\u2190 {name}")
    return {other: ", ".join(dict.fromkeys(said)) for other, said in words.items()}


def _evidence(engine: Engine, found: Neighbourhood, node: Any) -> None:
    import pandas as pd

    names = {other.id: other.name for other in found.nodes}
    # What is stated of the entity in focus comes first.
    stated = sorted(found.edges, key=lambda edge: (node.id not in (edge.source, edge.target), -edge.confidence))
    sources = {source.id: source.name for source in engine.knowledge.stats().sources}
    with st.expander(
        f"Who states this ({counted(len(found.edges), 'relation')})", icon=":material/fact_check:", key="evidence"
    ):
        rows = [
            {
                "From": names.get(edge.source, edge.source),
                "Relation": edge.type.value.replace("_", " "),
                "To": names.get(edge.target, edge.target),
                "Source": sources.get(edge.origin, edge.origin),
                "As the source calls it": edge.relation,
                "Confidence": number(float(edge.confidence)),
            }
            for edge in stated[:1000]
        ]
        st.dataframe(
            pd.DataFrame(rows), hide_index=True, height=300, key=f"evidence_{node.id}", alt="Relations and sources"
        )
        if len(found.edges) > 1000:
            st.caption(f"The first 1,000 of {len(found.edges):,} relations.")


EXPLORE = Tab("Explore", draw_explorer, order=10)
