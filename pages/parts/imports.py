"""An import while it goes on and after it: named steps, time, a way to stop it, and what became of it.

The import itself is the engine's (`engine.imports`), so leaving the tab, touching a field or closing the window does
nothing to it, and whoever comes back finds how far it is or what became of it.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.parts.engine import attempt, show_message
from pages.parts.escape import plain
from pages.parts.uploads import save_upload
from pages.parts.words import counted, duration

if TYPE_CHECKING:
    from engine.api import Engine, EngineError, ImportState

POLL_SECONDS = 1
PLACES = {"graph": "Knowledge Graph, under Import", "catalogue": "Tools, under Catalogues"}
_SAVED = "saved_uploads"


def saved(engine: Engine, upload: Any) -> Path:
    """Store an uploaded file once for as long as it is on the page, and return where it is."""
    kept: dict[str, Path] = st.session_state.setdefault(_SAVED, {})
    path = kept.get(upload.file_id)
    if path is None or not path.is_file():
        path = kept[upload.file_id] = save_upload(upload, upload.name, engine.settings.workspace / "uploads")
    return path


def begin(engine: Engine, start: Callable[[], object]) -> None:
    """Start an import and draw the page anew, or say why it cannot be started."""
    if attempt(lambda: without_folders(engine, start)):
        st.rerun()


def without_folders(engine: Engine, action: Callable[[], object]) -> object:
    """Do something with uploaded files; an error names them as their user does, not where the server keeps them."""
    from engine.api import EngineError

    try:
        return action()
    except EngineError as err:
        raise _as_named(engine, err) from err


def _as_named(engine: Engine, err: EngineError) -> EngineError:
    folder = re.compile(re.escape(str(engine.settings.workspace / "uploads")) + r"[/\\][0-9a-f]{16}[/\\]")
    return type(err)(folder.sub("", err.message), advice=folder.sub("", err.advice), details=err.details)


def draw_import_state(engine: Engine, kind: str, outcome: Callable[[Any], None]) -> bool:
    """Draw the import that is going on or the last one of a kind; return whether one is going on.

    Args:
        engine: the engine.
        kind: `graph` or `catalogue`; an import of the other kind is named with its place.
        outcome: draws what a finished import returned.
    """
    state = engine.imports.state()
    if state is None:
        return False
    if state.active:
        _going_on(engine, state, kind)
        return True
    if state.kind == kind:
        _ended(engine, state, outcome)
    return False


def _going_on(engine: Engine, state: ImportState, kind: str) -> None:
    with st.container(border=True, key="import_going_on"):
        with st.container(horizontal=True, vertical_alignment="center", key="import_head"):
            here = "" if state.kind == kind else f" ({PLACES[state.kind]})"
            st.markdown(f"Importing **{plain(state.title)}**{plain(here)}", width="stretch")
            st.button(
                "Stopping..." if state.status == "stopping" else "Stop",
                key=f"import_stop_{state.id}",
                icon=":material/stop_circle:",
                disabled=state.status == "stopping",
                on_click=_stop,
                args=(engine, state.id),
                help="Nothing of it is kept then; what was there before stays as it is.",
            )
        # The button stays outside, so that a click cannot fall between two drawings of it.
        st.fragment(_progress, run_every=POLL_SECONDS)(engine, state.id)
        st.caption("It goes on when you leave this tab or close the window. One import runs at a time.")


def _stop(engine: Engine, import_id: str) -> None:
    from engine.api import NotFoundError

    # When it ended meanwhile and another tab dismissed it, there is nothing left to stop.
    with contextlib.suppress(NotFoundError):
        engine.imports.stop(import_id)


def _progress(engine: Engine, import_id: str) -> None:
    state = engine.imports.state()
    if state is None or state.id != import_id or not state.active:
        st.rerun()  # draws the page with the outcome and without this fragment, which ends the polling
        return
    text = f"{step_text(state)} · {duration(state.seconds) if state.seconds >= 1 else 'just started'}"
    done, total = state.counts
    if state.step == "embedding" and total:
        st.progress(min(1.0, done / total), text=text)
    else:
        st.markdown(f":material/progress_activity: {text}")


def step_text(state: ImportState) -> str:
    """Return what an import is doing now."""
    first, second = state.counts
    if state.status == "stopping":
        return "Stopping; what was begun is undone"
    if state.step == "embedding":
        return f"Making the descriptions searchable: {first:,} of {second:,} done"
    if state.step == "opening":
        return "Stored; making the new graph ready for questions"
    if first or second:
        read = f"{counted(first, 'entity', 'entities')} and {counted(second, 'relation')}"
        return f"Reading and storing: {read} so far"
    return "Reading"


def _ended(engine: Engine, state: ImportState, outcome: Callable[[Any], None]) -> None:
    with st.container(border=True, key="import_ended"):
        with st.container(horizontal=True, vertical_alignment="center", key="import_ended_head"):
            st.markdown(
                f"Import of **{plain(state.title)}**: {_ENDS[state.status]} after {duration(state.seconds)}",
                width="stretch",
            )
            st.button(
                "Dismiss",
                key=f"import_dismiss_{state.id}",
                type="tertiary",
                icon=":material/close:",
                on_click=engine.imports.dismiss,
                args=(state.id,),
            )
        if state.error is not None:
            err = _as_named(engine, state.error)
            show_message(err.message, err.advice)
        elif state.status == "stopped":
            st.caption("Nothing of it was stored; everything is as it was before.")
        else:
            outcome(state.outcome)
            if state.asked_to_stop:
                st.caption(f"All was stored before it could be stopped. {_UNDO[state.kind]}")


_UNDO = {"graph": "It can be taken back under Statistics.", "catalogue": "It can be removed in the list below."}
_ENDS = {"done": "finished", "stopped": "stopped", "failed": "did not work"}
