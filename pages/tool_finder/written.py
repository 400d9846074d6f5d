"""Tools that models wrote: their code, what became of them, and whether they are planned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.parts.engine import attempt
from pages.parts.escape import plain
from pages.parts.frame import Tab
from pages.parts.words import when

if TYPE_CHECKING:
    from engine.api import Engine

STATES = {
    "draft": "Has run in no plan yet, or not well",
    "worked": "Worked well in one run",
    "proposed": "Worked well in two runs: look at its code and decide",
    "approved": "Planned like any other tool",
    "retired": "Not planned any more",
}


def draw_written(engine: Engine) -> None:
    """Draw the written tools, newest first."""
    records = engine.written.records()
    if not records:
        st.markdown(
            "No model has written a tool here. That happens where a model is configured and no tool answers a question."
        )
    for record in records:
        _one(engine, record)


def _one(engine: Engine, record: Any) -> None:
    tool = record.tool
    with st.container(border=True, key=f"written_{tool.name}"):
        st.markdown(f"**{plain(tool.title)}**")
        st.caption(plain(f"{STATES[record.state]} · {when(record.at)} · {tool.name} · by {tool.model or 'a person'}"))
        st.markdown(plain(tool.description))
        if tool.question:
            st.caption(plain(f"Written for: {tool.question}"))
        with st.expander("Code", icon=":material/code:", key=f"written_code_{tool.name}"):
            st.code(tool.source, language="python")
        with st.container(horizontal=True, key=f"written_do_{tool.name}"):
            if record.state in ("worked", "proposed", "retired") and st.button("Approve", key=f"approve_{tool.name}"):
                _done(attempt(lambda: engine.written.approve(tool.name, by=engine.settings.user)))
            if record.state == "approved" and st.button("Retire", key=f"retire_{tool.name}"):
                _done(attempt(lambda: engine.written.retire(tool.name, by=engine.settings.user)))


def _done(changed: object) -> None:
    if changed:
        st.rerun()


WRITTEN = Tab("Written", draw_written, order=30)
