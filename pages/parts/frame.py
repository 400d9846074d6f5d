"""Makes sure a page is never drawn without the app's frame, and draws the tabs of a page.

Streamlit takes a folder called `pages` for its older kind of app until `desk.py` has called `st.navigation`
once. Whoever opens the address of a page right after the server has started would get that page alone, beside
a list of all files of this folder.
"""

from __future__ import annotations

import importlib
import pkgutil
import runpy
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import streamlit as st

if TYPE_CHECKING:
    from engine.api import Engine

FRAME = Path(__file__).resolve().parents[2] / "desk.py"


def inside_frame() -> bool:
    """Say whether `desk.py` draws this page; if it does not, run it, which draws this page within the frame."""
    if st.session_state.get("framed"):
        return True
    runpy.run_path(str(FRAME))
    return False


@dataclass(frozen=True)
class Tab:
    """A tab of a page, declared in a file of the page's folder."""

    title: str
    draw: Callable[[Engine], None]
    order: int
    """The lower, the further left."""


def draw_tabs(folder: ModuleType, engine: Engine, *, key: str) -> None:
    """Draw the tabs that the files of a folder declare; only the one that is open is computed."""
    names = [module.name for module in pkgutil.iter_modules(folder.__path__, f"{folder.__name__}.")]
    values = [value for name in names for value in vars(importlib.import_module(name)).values()]
    parts = sorted((value for value in values if isinstance(value, Tab)), key=lambda part: part.order)
    drawn = st.tabs([part.title for part in parts], key=key, on_change="rerun", bind="query-params")
    for tab, part in zip(drawn, parts, strict=True):
        if tab.open:
            with tab:
                part.draw(engine)
