"""The runs of this workspace as a list that can be searched, and the head of one run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import streamlit as st

from pages.parts.engine import attempt
from pages.parts.escape import plain
from pages.parts.words import STATES, ShownState, counted, duration, shortened, size, state, when
from pages.running.live import resume_button, stop_button

if TYPE_CHECKING:
    from engine.api import Engine, RunRecord

RUN_STATES = (
    "running", "awaiting_approval", "succeeded", "partial", "failed", "cancelled", "interrupted", "unplanned",
)  # fmt: skip
LISTED = 25
"""So many runs are drawn at first: each is a row of its own that can be pressed."""
RESUMABLE = ("interrupted", "cancelled", "failed", "partial")


def matching(records: list[RunRecord], text: str, status: str) -> list[RunRecord]:
    """Return the runs whose question, name or id holds the text and which are in the state."""
    wanted = text.strip().lower()
    alike = {"running": ("running", "queued", "planning")}.get(status, (status,))
    return [
        record
        for record in records
        if (not status or ("unplanned" if is_refused(record) else record.status) in alike)
        and (not wanted or wanted in f"{record.question} {record.name} {record.run_id} {' '.join(record.data)}".lower())
    ]


def draw_list(engine: Engine, *, key: str, on_open: Callable[[str], None]) -> None:
    """Draw the runs with search and filter; a click on a question, or Enter on it, opens that run."""
    left, right = st.columns([2, 3], vertical_alignment="bottom")
    text = left.text_input("Search", key=f"search_{key}", placeholder="Question, file or run id")
    status = right.pills(
        "State", RUN_STATES, format_func=lambda name: STATES[name].label, key=f"filter_{key}", wrap=True
    )
    for sentence in engine.damaged_runs().values():
        st.caption(f":red[:material/error:] {plain(sentence)}")
    every = engine.runs(limit=1000)
    records = matching(every, text or "", status or "")
    aside = [] if text or status else [record for record in records if is_refused(record)]
    records = [record for record in records if record not in aside]
    if not records:
        st.caption("No run matches.")
    shown = int(st.session_state.get(f"shown_{key}", LISTED))
    for record in records[:shown]:
        _row(engine, record, key, on_open)
    if len(records) > shown and st.button(
        f"Show more ({len(records) - shown:,})", key=f"more_{key}", icon=":material/expand_more:"
    ):
        st.session_state[f"shown_{key}"] = shown + LISTED
        st.rerun()
    if aside:
        label = STATES["unplanned"].label
        st.caption(f"{counted(len(aside), 'question')} that could not be planned: choose {label!r} above to see them.")


def _row(engine: Engine, record: RunRecord, key: str, on_open: Callable[[str], None]) -> None:
    """Draw one run; what can be pressed is its question."""
    shown, run_id = state_of(record), record.run_id
    files = ", ".join(path.replace("\\", "/").rsplit("/", 1)[-1] for path in record.data)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"row_{key}_{run_id}"):
        with st.container(width=460):
            opened = st.button(
                plain(shortened(record.question, 110)),
                key=f"open_{key}_{run_id}",
                type="tertiary",
                help=plain(f"Open {run_id}"),
            )
        st.badge(shown.label, icon=shown.icon, color=shown.color)  # type: ignore[arg-type]
        details = [when(record.created_at), _took(record), shortened(files, 40)]
        st.caption(plain(" · ".join(part for part in details if part)), width="content")
        if st.button(
            "", key=f"delete_{key}_{run_id}", type="tertiary", icon=":material/delete:", help="Delete this run"
        ):
            st.session_state["deleting_run"] = run_id
    if opened:
        on_open(run_id)
    if st.session_state.get("deleting_run") == run_id:
        with st.container(border=True, horizontal=True, vertical_alignment="center", key=f"sure_{key}_{run_id}"):
            space = size(engine.space([run_id]))
            sentence = f"Delete this run for good? It frees {space}; what other runs use as well stays."
            st.markdown(sentence, width="content")
            if st.button("Delete it", key=f"sure_delete_{run_id}", icon=":material/delete:") and attempt(
                lambda: engine.delete_runs([run_id])
            ):
                st.session_state.pop("deleting_run", None)
                st.rerun()
            if st.button("Keep it", key=f"sure_keep_{run_id}"):
                st.session_state.pop("deleting_run", None)
                st.rerun()


def _took(record: RunRecord) -> str:
    # From question to end would count how long the plan lay there to be read.
    return duration(record.usage.seconds) if record.finished_at and record.usage.seconds else ""


def draw_badge(record: RunRecord) -> None:
    """Draw a run's state."""
    shown = state_of(record)
    st.badge(shown.label, icon=shown.icon, color=shown.color)  # type: ignore[arg-type]


def draw_wrong() -> None:
    """Draw that a person marked a run as wrong."""
    st.badge("Marked as wrong", icon=":material/block:", color="red")


def state_of(record: RunRecord) -> ShownState:
    """Return how a run's state is shown; a question that cannot be planned did not fail."""
    return state("unplanned" if is_refused(record) else record.status)


def is_refused(record: RunRecord) -> bool:
    """Say whether a question cannot be answered as it stands: nothing broke, and it has to be asked differently."""
    return record.status == "failed" and not record.approved_version and record.error_code in REFUSALS


REFUSALS = ("bad_plan", "bad_data", "bad_input", "not_found")
"""Codes of errors that a question or its files are the reason of."""


def draw_state(engine: Engine, record: RunRecord, *, working: bool, key: str) -> None:
    """Draw a run's state and the button that stops it or lets it go on."""
    if working:
        stop_button(engine, record, key=key)
        return
    draw_badge(record)
    if record.run_id in engine.memory.doubted_runs():
        draw_wrong()
    if record.status in RESUMABLE and not is_refused(record):
        resume_button(engine, record, key=key)


def draw_question(record: RunRecord, marked: str = "") -> None:
    """Draw a run's question (`marked`: as Markdown with its words marked), when it was asked and its id."""
    st.markdown(marked or f"**{plain(shortened(record.question, 200))}**")
    details = [when(record.created_at), record.run_id, *([f"from {record.parent}"] if record.parent else [])]
    st.caption(plain(" · ".join(details)))


def draw_trust(engine: Engine, run_id: str, *, type: Literal["secondary", "tertiary"] = "secondary") -> bool:
    """Draw the button that marks a remembered run as wrong, or takes that back, and say whether it is marked so."""
    remembered = engine.memory.episode_of(run_id)
    if remembered is None:
        return False
    wrong = remembered.doubted
    if st.button(
        "It was right" if wrong else "Mark as wrong",
        key="trust_run" if wrong else "doubt_run",
        icon=":material/block:",
        type=type,
        help="What is marked as wrong is kept and never taken into account for another plan.",
    ) and attempt(lambda: engine.memory.doubt(remembered.id, wrong=not wrong)):
        st.rerun()
    return wrong


def say_wrong() -> None:
    """Say that a run is marked as wrong."""
    st.markdown(":red[:material/block:] This analysis is marked as wrong: no other plan takes anything from it.")
