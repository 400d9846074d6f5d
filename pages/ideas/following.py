"""A tournament at work: its stage, how far it is, for how long, and the buttons that pause, stop and go on.

As with runs (`pages/running/live.py`) only the fragment asks for news; the buttons stand outside it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import streamlit as st

from pages.ideas.said import stage_of, status_of
from pages.parts.engine import attempt
from pages.parts.escape import plain
from pages.parts.words import counted, duration, seconds_between

if TYPE_CHECKING:
    from engine.api import Engine
    from engine.domain.discovery.hypotheses import Tournament

POLL_SECONDS = 1.0
_STOPPING = "ideas_stopping"
_BEGUN = "ideas_begun"


def is_at_work(engine: Engine, tournament_id: str) -> bool:
    """Say whether a tournament waits or goes on; ask before reading what is shown of it."""
    return tournament_id in engine.hypotheses.active()


def draw_controls(engine: Engine, tournament: Tournament, *, working: bool) -> None:
    """Draw a tournament's status and what can be done about it."""
    stopping: dict[str, str] = st.session_state.setdefault(_STOPPING, {})
    calls, which = engine.hypotheses, tournament.id
    if working:
        word = stopping.get(which, "")
        _button("Pausing..." if word == "pause" else "Pause", "pause", which, word, lambda: calls.pause(which))
        _button("Stopping..." if word == "stop" else "Stop", "stop_circle", which, word, lambda: calls.cancel(which))
        return
    stopping.pop(which, None)
    shown = status_of(tournament)
    st.badge(shown.label, icon=shown.icon, color=shown.color)  # type: ignore[arg-type]
    over = tournament.status == "finished"
    about = (
        "Compares on, also what was added or taken back since."
        if over
        else "Goes on where it was; nothing is asked twice."
    )
    if st.button(
        "Compare on" if over else "Resume", key="ideas_resume", icon=":material/resume:", help=about
    ) and attempt(lambda: calls.resume(which)):
        st.rerun()


def _button(label: str, icon: str, which: str, word: str, act: Callable[[], object]) -> None:
    name = "pause" if icon == "pause" else "stop"
    about = {
        "pause": "What was begun comes to its end; it can be resumed.",
        "stop": "Ends it; what was found is kept.",
    }[name]
    if st.button(label, key=f"ideas_{name}", icon=f":material/{icon}:", disabled=bool(word), help=about) and attempt(
        act
    ):
        st.session_state[_STOPPING][which] = name
        st.rerun()


def follow(engine: Engine, tournament: Tournament) -> None:
    """Show how far a tournament is, again and again; the whole page is drawn once when it ends."""
    st.fragment(_live, run_every=POLL_SECONDS)(engine, tournament.id)


def _live(engine: Engine, tournament_id: str) -> None:
    if not is_at_work(engine, tournament_id):
        st.rerun()
    state = engine.hypotheses.state(tournament_id)
    took = duration(seconds_between(_begun(engine, tournament_id)))
    text = f"{stage_of(state)} · {counted(state.calls, 'call')} · {took}"
    st.progress(state.progress, text=plain(text))


def _begun(engine: Engine, tournament_id: str) -> str:
    """Return when it was begun, or gone on with, last; only events that this session has not seen are read."""
    seen: dict[str, tuple[int, str]] = st.session_state.setdefault(_BEGUN, {})
    after, begun = seen.get(tournament_id, (0, ""))
    for event in engine.hypotheses.events(tournament_id, after=after):
        after = event.seq
        begun = event.at if event.kind == "run_queued" else begun
    seen[tournament_id] = (after, begun)
    return begun
