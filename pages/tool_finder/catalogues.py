"""Catalogues of tools that others maintain: what was imported, one more, one less."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.parts.engine import attempt
from pages.parts.escape import plain
from pages.parts.frame import Tab
from pages.parts.imports import begin, draw_import_state, saved
from pages.parts.words import counted, when

if TYPE_CHECKING:
    from engine.api import Engine

KINDS = {
    "biomni": "Biomni: its description files, JSON or Python",
    "galaxy": "Galaxy: a table of tools, TSV",
    "nf-core": "nf-core: the modules as a tar archive, or one meta.yml",
    "tooluniverse": "ToolUniverse: specifications, JSON or JSONL",
    "jsonl": "Any other: one JSON object a line with name and description",
}


def draw_catalogues(engine: Engine) -> None:
    """Draw the imported catalogues and the import."""
    busy = draw_import_state(engine, "catalogue", _outcome)
    _list(engine)
    _import(engine, busy=busy)


def _list(engine: Engine) -> None:
    catalogues = engine.catalogue.catalogues()
    if not catalogues:
        st.markdown("No catalogue was imported yet; the built-in tools are always there.")
    for info in catalogues:
        with st.container(horizontal=True, vertical_alignment="center", key=f"catalogue_{info.name}"):
            st.markdown(plain(info.name), width="content")
            license = f", {info.license}" if info.license else ""
            st.caption(
                plain(f"{counted(info.entries, 'tool')}, {info.kind}{license}, {when(info.at)}"), width="content"
            )
            _remove(engine, info)


def _remove(engine: Engine, info: Any) -> None:
    with st.popover("Remove", key=f"catalogue_remove_{info.name}", type="tertiary", icon=":material/delete:"):
        st.markdown(
            f"**{plain(info.name)}** and its {counted(info.entries, 'tool')} will not be found any more. "
            "It can be imported again."
        )
        if st.button("Remove it", key=f"catalogue_remove_now_{info.name}", type="primary"):
            with st.spinner("Removing it..."):
                gone = attempt(lambda: engine.catalogue.remove_catalogue(info.name))
            if gone:
                st.rerun()


def _import(engine: Engine, *, busy: bool) -> None:
    st.markdown("**Import a catalogue**")
    st.caption(
        "Its tools are described, not run. A newer version under the same name replaces the older one. "
        "The file stays on this machine."
    )
    left, right = st.columns(2)
    kind = left.selectbox(
        "Kind", list(KINDS), format_func=KINDS.__getitem__, key="catalogue_kind", persist_state="session"
    )
    name = right.text_input(
        "Name",
        key="catalogue_name",
        placeholder="The kind's name, or the file's for JSONL",
        persist_state="session",
    )
    upload = st.file_uploader("File", key="catalogue_file")
    if upload is None:
        return
    if st.button("Import", key="catalogue_import", type="primary", icon=":material/upload:", disabled=busy):
        begin(engine, lambda: engine.imports.start_catalogue(kind, saved(engine, upload), name=name.strip()))


def _outcome(outcome: Any) -> None:
    if outcome.unchanged:
        st.markdown("The same catalogue was imported before, so nothing was done.")
    else:
        st.markdown(
            f":green[:material/check_circle:] {plain(outcome.catalogue.name)}: {counted(outcome.added, 'tool')} added, "
            f"{outcome.changed:,} changed, {outcome.removed:,} removed."
        )
    for text in outcome.warnings:
        st.caption(plain(text))


CATALOGUES = Tab("Catalogues", draw_catalogues, order=20)
