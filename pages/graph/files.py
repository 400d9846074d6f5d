"""Imports into the graph with a look before, and what the graph is made of."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.parts.engine import attempt, show_message
from pages.parts.escape import plain
from pages.parts.frame import Tab
from pages.parts.imports import begin, draw_import_state, saved, without_folders
from pages.parts.words import counted, when

if TYPE_CHECKING:
    from engine.api import Engine

TAUGHT = 1000
"""Rows shown of what a run taught."""
STARTER = "starter"
"""The id of the starter graph among the sources."""
ORGANISMS = ("human", "mouse", "rat")
_PREVIEW = "graph_preview"


def draw_import(engine: Engine) -> None:
    """Draw what is being imported, the upload, the preview and the button that imports."""
    from engine.api import graph_formats

    formats = graph_formats()
    busy = draw_import_state(engine, "graph", _outcome)
    st.caption(
        "Files stay on this machine. An import is stored whole or not at all, can be repeated without doubling "
        "anything, and can be taken back under Statistics."
    )
    uploads = st.file_uploader("Files", accept_multiple_files=True, key="graph_files")
    left, right = st.columns([3, 1])
    chosen = left.selectbox(
        "Format",
        ["auto", *formats],
        format_func=lambda name: "Recognise it" if name == "auto" else f"{name}: {formats[name]}",
        key="graph_format",
        persist_state="session",
    )
    organism = right.selectbox(
        "Organism",
        ORGANISMS,
        key="graph_organism",
        accept_new_options=True,
        persist_state="session",
        help="Whose genes they are where the files do not say.",
    )
    if not uploads:
        with st.expander("What can be imported", icon=":material/list:", key="graph_formats"):
            st.table(
                [{"Format": n, "What it is": plain(t)} for n, t in formats.items()],
                border="horizontal",
                hide_index=True,
            )
        return
    files = [saved(engine, file) for file in uploads]
    seen = _previewed(engine, chosen, organism or "human", files)
    if seen is None:
        return
    for text in [*_dangling(engine, seen), *seen.warnings]:
        st.caption(plain(text))
    if st.button("Import", key="graph_import", type="primary", icon=":material/upload:", disabled=busy):
        begin(engine, lambda: engine.imports.start_graph(chosen, files, organism=organism or "human"))
    _preview(seen)


def _previewed(engine: Engine, chosen: str, organism: str, files: list[Path]) -> Any:
    """Return the preview of files, or None after a sentence on what is wrong with them.

    They are read once for as long as files, format and graph are the same.
    """
    asked = (chosen, organism, *map(str, files), engine.knowledge.version())
    kept = st.session_state.get(_PREVIEW)
    if kept is not None and kept[0] == asked:
        return kept[1]
    found: list[Any] = []
    with st.spinner("Looking at the files..."):
        ok = attempt(
            lambda: without_folders(
                engine, lambda: found.append(engine.knowledge.preview(chosen, files, organism=organism))
            )
        )
    if not ok:
        return None
    st.session_state[_PREVIEW] = (asked, found[0])
    return found[0]


def _preview(seen: Any) -> None:
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("**First entities**")
        rows = [
            {"Id": plain(n.id), "Name": plain(n.name), "Type": n.type.value.replace("_", " ")} for n in seen.nodes[:8]
        ]
        st.table(rows, border="horizontal", hide_index=True) if rows else st.caption("None")
    with right:
        st.markdown("**First relations**")
        rows = [
            {"From": plain(e.source), "Relation": e.type.value.replace("_", " "), "To": plain(e.target)}
            for e in seen.edges[:8]
        ]
        st.table(rows, border="horizontal", hide_index=True) if rows else st.caption("None")


def _dangling(engine: Engine, seen: Any) -> list[str]:
    """Return a sentence on ids at the ends of the first relations that nothing has: such relations are left out."""
    if not seen.complete or seen.nodes_read > len(seen.nodes):
        return []  # the entity may stand in a part of the files that the preview does not hold
    ends = dict.fromkeys(end for edge in seen.edges for end in (edge.source, edge.target))
    known = {*engine.knowledge.names(ends), *(node.id for node in seen.nodes)}
    missing = [end for end in ends if end not in known]
    if not missing:
        return []
    some = ", ".join(missing[:5]) + (", ..." if len(missing) > 5 else "")
    sentence = (
        f"{counted(len(missing), 'id')} at the ends of these relations "
        f"{'belongs' if len(missing) == 1 else 'belong'} to no entity of the graph or of these files ({some}). "
        "Their relations will be left out."
    )
    hits = ((end, engine.knowledge.search(end, top=1)) for end in missing[:20])
    near = next(((end, found[0].node) for end, found in hits if found and found[0].node.name == end), None)
    advice = "Add a table of entities that has them to the files."
    if near is not None:
        advice = f"The tables need ids, not names: {near[0]} has the id {near[1].id} here. {advice}"
    return [f"{sentence} {advice}"]


def _outcome(outcome: Any) -> None:
    if outcome.unchanged:
        st.markdown("The same files were imported before and find nothing new, so nothing was done.")
    elif not outcome.nodes_added and not outcome.edges_added:
        read = f"{counted(outcome.nodes_read, 'entity', 'entities')} and {counted(outcome.edges_read, 'relation')}"
        show_message(
            f"Nothing new came into the graph: {read} were read, and none of them added anything.",
            "The notes below say what was left out and why; without a note, the graph had it already.",
        )
    else:
        st.markdown(
            f":green[:material/check_circle:] {counted(outcome.nodes_added, 'new entity', 'new entities')} and "
            f"{counted(outcome.edges_added, 'new relation')}."
        )
    for text in outcome.warnings:
        st.caption(plain(text))


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
    _starter(engine, {source.id for source in stats.sources})
    for source in stats.sources:
        with st.container(horizontal=True, vertical_alignment="center", key=f"source_{source.id}"):
            st.markdown(plain(source.name), width="content")
            license = f", {source.license}" if source.license else ""
            st.caption(
                plain(f"{_stated(source, ', ')}{license}, {when(source.at)}"),
                width="content",
            )
            _take_back(engine, source)
        if source.kind == "run":
            _taught(engine, source)


def _starter(engine: Engine, there: set[str]) -> None:
    """Offer the starter graph where it was taken back."""
    if STARTER in there:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="starter_gone"):
        st.caption("The starter graph, textbook facts to begin with, is not in this graph.", width="content")
        if st.button("Bring it back", key="starter_restore", type="tertiary", icon=":material/redo:"):
            with st.spinner("Loading the starter graph..."):
                back = attempt(engine.knowledge.restore_starter)
            if back:
                st.rerun()


def _stated(source: Any, between: str) -> str:
    return f"{counted(source.nodes, 'entity', 'entities')}{between}{counted(source.edges, 'relation')}"


def _take_back(engine: Engine, source: Any) -> None:
    with st.popover("Take back", key=f"remove_{source.id}", type="tertiary", icon=":material/undo:"):
        st.markdown(
            f"This takes everything out of the graph that **{plain(source.name)}** alone states: up to "
            f"{_stated(source, ' and ')}. What others state as well stays."
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
        # The ends of a relation may have been named by other sources.
        names = engine.knowledge.names(end for edge in found[0].edges for end in (edge.source, edge.target))
        nodes = [
            {"Entity": node.name, "Type": node.type.value.replace("_", " "), "Id": node.id} for node in found[0].nodes
        ]
        edges = [
            {
                "From": names.get(edge.source, edge.source),
                "Relation": edge.type.value.replace("_", " "),
                "To": names.get(edge.target, edge.target),
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


IMPORT = Tab("Import", draw_import, order=50)
STATISTICS = Tab("Statistics", draw_statistics, order=60)
