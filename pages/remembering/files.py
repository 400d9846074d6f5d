"""Export and import of everything remembered, as one JSON object a line."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.parts.engine import attempt
from pages.parts.escape import plain
from pages.parts.frame import Tab
from pages.parts.imports import without_folders
from pages.parts.uploads import save_upload
from pages.parts.words import counted

if TYPE_CHECKING:
    from engine.api import Engine


def draw_transfer(engine: Engine) -> None:
    """Draw the download and the upload."""
    st.markdown("**Export**")
    st.caption("Episodes, facts and conversations as JSONL: to keep, to move to another workspace, to read elsewhere.")
    st.download_button(
        "Save memory.jsonl",
        data=lambda: _exported(engine),
        file_name="memory.jsonl",
        mime="application/jsonl",
        on_click="ignore",
        icon=":material/download:",
        key="memory_export",
    )
    st.markdown("**Import**")
    upload = st.file_uploader("A JSONL export", type=["jsonl", "json", "gz"], key="memory_import")
    if upload is not None and st.button("Import", key="memory_import_go", type="primary", icon=":material/upload:"):
        path = Path(save_upload(upload, upload.name, engine.settings.workspace / "uploads"))
        done: list[Any] = []
        with st.spinner("Reading and storing the records...", show_time=True):
            ok = attempt(lambda: done.append(without_folders(engine, lambda: engine.memory.import_file(path))))
        if ok:
            outcome = done[0]
            st.markdown(
                f":green[:material/check_circle:] Read: {counted(outcome.episodes, 'episode')}, "
                f"{counted(outcome.facts, 'fact')} and {counted(outcome.messages, 'message')}. "
                f"There already: {outcome.skipped:,}."
            )
            for text in outcome.warnings:
                st.caption(plain(text))


def _exported(engine: Engine) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.jsonl"
        engine.memory.export(path)
        return path.read_bytes()


TRANSFER = Tab("Export and import", draw_transfer, order=50)
