"""Makes sure a page is never drawn without the app's frame.

Streamlit takes a folder called `pages` for its older kind of app until `desk.py` has called `st.navigation`
once. Whoever opens the address of a page right after the server has started would get that page alone, beside
a list of all files of this folder.
"""

from __future__ import annotations

import runpy
from pathlib import Path

import streamlit as st

FRAME = Path(__file__).resolve().parents[2] / "desk.py"


def inside_frame() -> bool:
    """Say whether `desk.py` draws this page; if it does not, run it, which draws this page within the frame."""
    if st.session_state.get("framed"):
        return True
    runpy.run_path(str(FRAME))
    return False
