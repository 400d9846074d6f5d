"""Imports into the graph with a look before, and what the graph is made of."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages._engine import attempt
from pages._uploads import save_upload
from pages._words import counted, duration, plain, when

if TYPE_CHECKING:
    from engine.api import Engine

TAUGHT = 1000
"""Rows shown of what a run taught."""


def draw_import(engine: Engine) -> None:
    """Draw the upload, the preview and the button that imports."""
    from engine.api import graph_formats

    formats = graph_formats()
    st.caption(
        "Files stay on this machine. An import is stored whole or not at all, can be repeated without doubling "
        "anything, and can be taken back under Statistics."
    )
    uploads = st.file_uploader("Files", accept_multiple_files=True, key="graph_files")
    chosen = st.selectbox(
        "Format",
        ["auto", *formats],
        format_func=lambda name: "Recognise it" if name == "auto" else f"{name}: {formats[name]}",
        key="graph_format",
    )
    if not uploads:
        with st.expander("What can be imported", icon=":material/list:", key="graph_formats"):
            st.table(
                [{"Format": n, "What it is": plain(t)} for n, t in formats.items()],
                border="horizontal",
                hide_index=True,
            )
        return
    files = [Path(save_upload(file, file.name, engine.settings.workspace / "uploads")) for file in uploads]
    seen: list[Any] = []
    with st.spinner("Looking at the files..."):
        ok = attempt(lambda: seen.append(engine.knowledge.preview(chosen, files)))
    if not ok:
        return
    _preview(seen[0])
    if st.button("Import", key="graph_import", type="primary", icon=":material/upload:"):
        _import(engine, chosen, files)


def _preview(seen: Any) -> None:
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("**First entities**")
        rows = [{"Id": n.id, "Name": plain(n.name), "Type": n.type.value.replace("_", " ")} for n in seen.nodes[:8]]
        st.table(rows, border="horizontal", hide_index=True) if rows else st.caption("None")
    with right:
        st.markdown("**First relations**")
        rows = [{"From": e.source, "Relation": e.type.value.replace("_", " "), "To": e.target} for e in seen.edges[:8]]
        st.table(rows, border="horizontal", hide_index=True) if rows else st.caption("None")
    for text in seen.warnings:
        st.caption(plain(text))


def _import(engine: Engine, chosen: str, files: list[Path]) -> None:
    done: list[Any] = []
    bar = st.progress(0.0, text="Reading...")

    def progress(nodes: int, edges: int) -> None:
        bar.progress(
            min(0.95, (nodes + edges) / (nodes + edges + 50_000)),
            text=f"{nodes:,} entities and {edges:,} relations read",
        )

    if attempt(lambda: done.append(engine.knowledge.import_files(chosen, files, progress=progress))):
        bar.empty()
        outcome = done[0]
        if outcome.unchanged:
            st.markdown("The same files were imported before, so nothing was done.")
        else:
            st.markdown(
                f":green[:material/check_circle:] {outcome.nodes_added:,} new entities and {outcome.edges_added:,} "
                f"new relations in {duration(outcome.seconds)}."
            )
        for text in outcome.warnings:
            st.caption(plain(text))
    else:
        bar.empty()


def draw_statistics(engine: Engine) -> None:
    """Draw how large the graph is, of what, and who stated it."""
    with st.spinner("Counting what is in the graph..."):
        stats = engine.knowledge.stats()
    with st.container(horizontal=True, key="graph_size"):
        st.metric("Entities", f"{stats.nodes:,}", width="content")
        st.metric("Relations", f"{stats.edges:,}", width="content")
        st.metric("Sources", f"{len(stats.sources):,}", width="content")
    left, right = st.columns(2, gap="medium")
    for column, title, counts in (
        (left, "Entities", stats.nodes_by_type),
        (right, "Relations", stats.edges_by_type),
    ):
        with column:
            rows = [
                {"Type": kind.replace("_", " "), title: f"{count:,}"}
                for kind, count in sorted(counts.items(), key=lambda item: -item[1])
            ]
            st.table(rows, border="horizontal", hide_index=True)
    st.markdown("**Sources**")
    for source in stats.sources:
        with st.container(horizontal=True, vertical_alignment="center", key=f"source_{source.id}"):
            st.markdown(plain(source.name), width="content")
            license = f", {source.license}" if source.license else ""
            st.caption(
                plain(f"{source.nodes:,} entities, {counted(source.edges, 'relation')}{license}, {when(source.at)}"),
                width="content",
            )
            _take_back(engine, source)
        if source.kind == "run":
            _taught(engine, source)


def _take_back(engine: Engine, source: Any) -> None:
    with st.popover("Take back", key=f"remove_{source.id}", type="tertiary", icon=":material/undo:"):
        st.markdown(
            f"This takes everything out of the graph that **{plain(source.name)}** alone states: up to "
            f"{source.nodes:,} entities and {counted(source.edges, 'relation')}. What others state as well stays."
        )
        if st.button("Take it back", key=f"remove_now_{source.id}", type="primary"):
            with st.spinner("Taking it out of the graph...", show_time=True):
                gone = attempt(lambda: engine.knowledge.remove(source.id))
            if gone:
                st.rerun()


def _taught(engine: Engine, source: Any) -> None:
    """Draw what a run put into the graph; it is looked up only when it is opened."""
    import pandas as pd

    opened = st.expander("What this run taught", icon=":material/school:", key=f"taught_{source.id}", on_change="rerun")
    if not opened.open:
        return
    found: list[Any] = []
    with opened:
        with st.spinner("Looking it up..."):
            ok = attempt(lambda: found.append(engine.knowledge.taught(source.id)))
        if not ok:
            return
        names = {node.id: node.name for node in found[0].nodes}
        view = engine.knowledge.view()
        nodes = [
            {"Entity": node.name, "Type": node.type.value.replace("_", " "), "Id": node.id} for node in found[0].nodes
        ]
        edges = [
            {
                "From": _name(view, names, edge.source),
                "Relation": edge.type.value.replace("_", " "),
                "To": _name(view, names, edge.target),
                "Confidence": round(float(edge.confidence), 3),
            }
            for edge in found[0].edges
        ]
        for title, rows in (("Entities it was the first to name", nodes), ("Relations it states", edges)):
            st.caption(f"{title}: {len(rows):,}" + (f", the first {TAUGHT:,} shown" if len(rows) > TAUGHT else ""))
            if rows:
                st.dataframe(
                    pd.DataFrame(rows[:TAUGHT]),
                    hide_index=True,
                    height="content" if len(rows) <= 10 else 320,
                    key=f"taught_{'nodes' if rows is nodes else 'edges'}_{source.id}",
                    alt=title,
                )


def _name(view: Any, names: dict[str, str], node_id: str) -> str:
    """Return what a node is called; the ends of a relation may have been named by other sources."""
    if node_id not in names:
        number = view.number(node_id)
        names[node_id] = view.node(number).name if number >= 0 else node_id
    return names[node_id]
