"""Follows a run while it works, and shows afterwards what happened.

The engine's threads never draw. The page asks for new events twice a second, in a fragment that ends with
the run; the buttons stand outside it, because a widget inside would wait for the fragment's turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.parts.engine import attempt
from pages.parts.escape import plain
from pages.parts.words import duration, seconds_between
from pages.running.activity import Activity, headline

if TYPE_CHECKING:
    from engine.api import Engine, RunRecord

POLL_SECONDS = 0.5


def is_working(engine: Engine, run_id: str) -> bool:
    """Say whether the engine waits for or works on this run right now.

    Ask once for a page, and before reading what it shows of the run. The other way round a run that ends in between
    would be drawn as it was, with nothing to draw it again.
    """
    return run_id in engine.active()


def activity_of(engine: Engine, run_id: str) -> Activity:
    """Return what has happened in a run, reading only the events this session has not seen."""
    seen: dict[str, Activity] = st.session_state.setdefault("activities", {})
    activity = seen.setdefault(run_id, Activity())
    return activity.read(engine.events(run_id, after=activity.last_seq))


def follow(engine: Engine, record: RunRecord, *, working: bool) -> None:
    """Show a run's activity, live if it was at work; the whole page is drawn again when it ends."""
    if working:
        st.fragment(_live, run_every=POLL_SECONDS)(engine, record.run_id)
        return
    activity = activity_of(engine, record.run_id)
    if activity.lines:
        with st.expander("What was done", icon=":material/timeline:", key=f"done_{record.run_id}"):
            _lines(activity)


def _live(engine: Engine, run_id: str) -> None:
    if not is_working(engine, run_id):
        st.rerun()
    activity = activity_of(engine, run_id)
    if activity.total:
        st.progress(activity.share, text=f"{plain(headline(activity))} · {duration(activity.elapsed)}")
    else:
        st.caption(f":material/pending: {plain(headline(activity))} · {duration(activity.elapsed)}")
    _lines(activity)


def _lines(activity: Activity) -> None:
    for line in activity.lines.values():
        seconds = line.seconds if line.seconds is not None else seconds_between(line.started)
        label = plain(line.label) + (f" · {duration(seconds)}" if seconds else "")
        # Not in a `with`: leaving it would mark a running step as complete.
        status = st.status(label, state=line.state, type="step")
        for note in line.notes:
            status.caption(plain(note))
        if line.log:
            status.code(line.log, language=None, height=150)
        if not line.notes and not line.log:
            status.caption("Nothing to add.")


def stop_button(engine: Engine, record: RunRecord, *, key: str) -> None:
    """Draw the button that truly stops a run; what finished is kept."""
    stopping = activity_of(engine, record.run_id).stopping
    if st.button(
        "Stopping..." if stopping else "Stop run",
        key=f"stop_{key}_{record.run_id}",
        icon=":material/stop_circle:",
        disabled=stopping,
        help="Ends the running step within two seconds. Finished steps are kept, and the run can be resumed.",
    ):
        _act(lambda: engine.cancel(record.run_id))


def resume_button(engine: Engine, record: RunRecord, *, key: str) -> None:
    """Draw the button that goes on with a run; steps that succeeded are not repeated."""
    broken = record.status in ("failed", "partial")
    if st.button(
        "Try failed steps again" if broken else "Resume",
        key=f"resume_{key}_{record.run_id}",
        icon=":material/resume:",
        help="Runs what is left. Steps that succeeded are kept.",
    ):
        _act(lambda: engine.resume(record.run_id))


def _act(action: Any) -> None:
    if attempt(action):
        st.rerun()
