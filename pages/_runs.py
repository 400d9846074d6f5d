"""The runs of this workspace as a list that can be searched, and the head of one run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import streamlit as st

from pages._escape import plain
from pages._live import resume_button, stop_button
from pages._words import STATES, duration, seconds_between, shortened, state, when

if TYPE_CHECKING:
    from engine.api import Engine, RunRecord

RUN_STATES = ("running", "awaiting_approval", "succeeded", "partial", "failed", "cancelled", "interrupted")
RESUMABLE = ("interrupted", "cancelled", "failed", "partial")


def matching(records: list[RunRecord], text: str, status: str) -> list[RunRecord]:
    """Return the runs whose question, name or id holds the text and which are in the state."""
    wanted = text.strip().lower()
    alike = {"running": ("running", "queued", "planning")}.get(status, (status,))
    return [
        record
        for record in records
        if (not status or record.status in alike)
        and (not wanted or wanted in f"{record.question} {record.name} {record.run_id} {' '.join(record.data)}".lower())
    ]


def draw_list(engine: Engine, *, key: str, on_open: Callable[[str], None]) -> None:
    """Draw the runs as a table with search and filter; a click on a row opens that run."""
    import pandas as pd

    left, right = st.columns([2, 3], vertical_alignment="bottom")
    text = left.text_input("Search", key=f"search_{key}", placeholder="Question, file or run id")
    status = right.pills(
        "State", RUN_STATES, format_func=lambda name: STATES[name].label, key=f"filter_{key}", wrap=False
    )
    for sentence in engine.damaged_runs().values():
        st.caption(f":red[:material/error:] {plain(sentence)}")
    records = matching(engine.runs(limit=1000), text or "", status or "")
    if not records:
        st.caption("No run matches.")
        return
    rows = [
        {
            "Question": record.question,
            "State": state(record.status).label,
            "Asked": when(record.created_at),
            "Took": _took(record),
            "Files": ", ".join(path.replace("\\", "/").rsplit("/", 1)[-1] for path in record.data),
            "Run": record.run_id,
        }
        for record in records
    ]
    event = st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        height="content" if len(rows) <= 12 else 460,
        column_config={"Question": st.column_config.TextColumn(width="large")},
        on_select="rerun",
        selection_mode="single-row",
        key=f"list_{key}",
        alt="Runs of this workspace",
    )
    st.caption("Click the box before a row to open that run.")
    chosen = event["selection"]["rows"]
    if chosen and chosen[0] < len(records):
        on_open(records[chosen[0]].run_id)


def _took(record: RunRecord) -> str:
    if not record.finished_at:
        return ""
    return duration(record.usage.seconds or seconds_between(record.created_at, record.finished_at))


def draw_badge(record: RunRecord) -> None:
    """Draw a run's state."""
    shown = state("unplanned" if _unplanned(record) else record.status)
    st.badge(shown.label, icon=shown.icon, color=shown.color)  # type: ignore[arg-type]


def _unplanned(record: RunRecord) -> bool:
    """Say whether a question was refused: it has nothing to go on with and has to be asked differently."""
    return record.status == "failed" and not record.approved_version


def draw_state(engine: Engine, record: RunRecord, *, working: bool, key: str) -> None:
    """Draw a run's state and the button that stops it or lets it go on."""
    if working:
        stop_button(engine, record, key=key)
        return
    draw_badge(record)
    if record.status in RESUMABLE and not _unplanned(record):
        resume_button(engine, record, key=key)


def draw_question(record: RunRecord, marked: str = "") -> None:
    """Draw a run's question (`marked`: as Markdown with its words marked), when it was asked and its id."""
    st.markdown(marked or f"**{plain(shortened(record.question, 200))}**")
    details = [when(record.created_at), record.run_id, *([f"from {record.parent}"] if record.parent else [])]
    st.caption(plain(" · ".join(details)))
