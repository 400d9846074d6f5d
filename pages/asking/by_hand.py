"""An analysis and its columns, chosen from lists: what is left where words are not understood."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import streamlit as st

from pages.parts.engine import attempt
from pages.parts.escape import plain

if TYPE_CHECKING:
    from engine.api import Engine, Setup, SetupPart

Use = Callable[["Setup", dict[str, list[str]]], None]
"""Plans the question as an analysis with the columns of its parts."""


def draw_by_hand(engine: Engine, run_id: str, use: Use, *, shown: bool = False) -> None:
    """Draw the analyses that the files of a question can serve, with a list of columns for each part of the chosen one.

    Args:
        engine: knows the analyses and the files.
        run_id: the run whose question it is.
        use: what is done with the choice.
        shown: True to show it from the start.
    """
    found: list[Setup] = []
    if shown and not (attempt(lambda: found.extend(_setups(run_id, engine))) and found):
        return  # of files that cannot be used nothing can be chosen
    wanted = st.toggle("Choose the analysis and its columns myself", value=shown, key=f"by_hand_{run_id}")
    if not wanted or not (found or attempt(lambda: found.extend(_setups(run_id, engine)))) or not found:
        return
    with st.container(border=True, key=f"by_hand_box_{run_id}"):
        st.caption("What the question says of rows still counts. You see the plan before anything runs.")
        at = st.selectbox(
            "What to find out", range(len(found)), key=f"by_hand_what_{run_id}",
            format_func=lambda n: f"{found[n].title[:1].upper()}{found[n].title[1:]}: {found[n].asks}",
        )  # fmt: skip
        setup = found[at]
        key = f"{run_id}_{setup.analysis}"
        needed = [part for part in setup.parts if part.needed]
        others = [part for part in setup.parts if not part.needed]
        named = {part.param: _columns(part, key) for part in needed}
        if others:
            with st.expander("More columns", type="compact", expanded=not needed, key=f"by_hand_more_{key}"):
                named |= {part.param: _columns(part, key) for part in others}
        ready = setup.ready(named)
        if st.button("Plan it so", key=f"by_hand_use_{key}", type="primary", disabled=not ready):
            use(setup, named)


@st.cache_data(show_spinner="Looking for what these files can serve...", max_entries=20)
def _setups(run_id: str, _engine: Engine) -> list[Setup]:
    return _engine.setups(run_id)


def _columns(part: SetupPart, key: str) -> list[str]:
    """Draw the list of columns for a part and return those that are chosen."""
    label, key = plain(part.label + ("" if part.needed else " (optional)")), f"by_hand_{key}_{part.param}"
    if part.several:
        return st.multiselect(label, part.columns, part.named, key=key, placeholder="Columns")
    index = part.columns.index(part.named[0]) if part.named else None
    name = st.selectbox(label, part.columns, index, key=key, placeholder="Column")
    return [name] if name else []
