"""Hands out a run as files. Each is made when it is asked for, outside the page's script."""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

if TYPE_CHECKING:
    from engine.api import Engine

FORMATS = {
    "html": ("Report (HTML)", "report.html", "text/html", ":material/article:"),
    "pdf": ("Report (PDF)", "report.pdf", "application/pdf", ":material/picture_as_pdf:"),
    "md": ("Report (Markdown)", "report.md", "text/markdown", ":material/notes:"),
    "notebook": ("Notebook", "notebook.ipynb", "application/x-ipynb+json", ":material/code_blocks:"),
    "json": ("Provenance (JSON)", "provenance.json", "application/json", ":material/fact_check:"),
    "bundle": ("Everything (ZIP)", "bundle.zip", "application/zip", ":material/folder_zip:"),
}


def draw_downloads(engine: Engine, run_id: str, formats: tuple[str, ...], *, key: str) -> None:
    """Draw a row of buttons that save the run in the given formats."""
    with st.container(horizontal=True, gap="small", key=f"downloads_{key}_{run_id}"):
        for name in formats:
            label, file_name, mime, icon = FORMATS[name]
            st.download_button(
                label,
                data=_maker(engine, run_id, name),
                file_name=f"{run_id}_{file_name}",
                mime=mime,
                icon=icon,
                on_click="ignore",
                key=f"download_{key}_{name}_{run_id}",
            )


def draw_download_menu(engine: Engine, run_id: str, formats: tuple[str, ...], *, key: str) -> None:
    """Draw one button that opens the choice of formats."""
    with st.popover("Download", icon=":material/download:", key=f"download_menu_{key}_{run_id}"):
        draw_downloads(engine, run_id, formats, key=key)


def _maker(engine: Engine, run_id: str, name: str) -> Callable[[], bytes]:
    return lambda: bundle_zip(engine, run_id) if name == "bundle" else exported(engine, run_id, name)


def exported(engine: Engine, run_id: str, name: str) -> bytes:
    """Return a run in one format."""
    with tempfile.TemporaryDirectory(prefix="biodesk-export-") as folder:
        return engine.export(run_id, name, Path(folder) / FORMATS[name][1]).read_bytes()


def bundle_zip(engine: Engine, run_id: str) -> bytes:
    """Return everything of a run as one archive."""
    with tempfile.TemporaryDirectory(prefix="biodesk-bundle-") as folder:
        root = Path(folder) / run_id
        engine.bundle(run_id, root)
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(root.rglob("*")):
                if path.is_file():
                    archive.write(path, path.relative_to(folder))
        return packed.getvalue()
