"""One engine for all browser tabs, and one place where errors become sentences.

Runs live in the engine's threads, not in a page's script, so a refresh or a second tab finds them. The
engine is opened after the page's title is drawn, because its imports take longer than the first paint may.
"""

from __future__ import annotations

import atexit
import logging
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import streamlit as st

from pages.parts.escape import plain

if TYPE_CHECKING:
    from engine.api import Engine

WAIT_SECONDS = 2.0
"""How often it is looked whether another process has left the workspace."""


def engine() -> Engine:
    """Return the engine of this process, opening it the first time.

    Raises:
        WorkspaceInUse: when another process holds the workspace.
        UserError: for a bad setting.
    """
    return _opened(os.environ.get("BIODESK_WORKSPACE", ""))


@st.cache_resource(show_spinner="Opening the workspace...", on_release=lambda opened: opened.close())
def _opened(workspace: str) -> Engine:
    from engine.api import open_engine

    opened = open_engine(workspace=workspace or None)
    atexit.register(opened.close)
    opened.warm_in_background()
    return opened


def reopen() -> None:
    """Close the engine, so that who asks next opens it with the settings as they are then."""
    _opened.clear(os.environ.get("BIODESK_WORKSPACE", ""))


def run_page(draw: Callable[[Engine], None]) -> None:
    """Open the engine, draw the page with it and show whatever goes wrong as a sentence."""
    try:
        opened = engine()
        if opened.read_only:
            show_read_only(opened)
        draw(opened)
    except Exception as err:  # noqa: BLE001 - the border: a page shows a sentence, never a traceback
        show_error(err)
        st.button("Try again", key="try_again", icon=":material/refresh:")
        if _in_use(err):
            st.fragment(_until_free, run_every=WAIT_SECONDS)()


def _in_use(err: Exception) -> bool:
    from engine.api import WorkspaceInUse

    return isinstance(err, WorkspaceInUse)


def _until_free() -> None:
    """Say that the page waits for the workspace, and draw it as soon as that is free."""
    try:
        engine()
    except Exception as err:  # noqa: BLE001 - the border: what else is wrong the page says when it is drawn
        if _in_use(err):
            st.caption(
                ":material/hourglass_empty: This page waits and goes on by itself. What you typed and uploaded is kept."
            )
            return
    st.rerun()


def show_read_only(opened: Engine) -> None:
    """Say at the top of a page what cannot be done here."""
    st.info(
        plain(f"The workspace {opened.settings.workspace} may only be read.")
        + " Runs can be looked at, verified and exported; nothing can be asked, changed or remembered.",
        icon=":material/lock:",
    )


def attempt(action: Callable[[], object]) -> bool:
    """Do what a button asks for; say False and show the reason when it cannot be done."""
    try:
        action()
    except Exception as err:  # noqa: BLE001 - the border: a page shows a sentence, never a traceback
        show_error(err)
        return False
    return True


def show_error(err: Exception) -> None:
    """Show an error as what was wrong and what to do next."""
    from engine.api import EngineError

    if isinstance(err, EngineError):
        message, advice = err.message, err.advice
    else:
        logging.getLogger(__name__).error("A page failed", exc_info=err)
        message = f"This page could not be shown ({type(err).__name__}: {err})."
        advice = "This is a defect of the program; runs and results are not affected. The server's log has the details."
    show_message(message, advice)


def show_message(message: str, advice: str = "") -> None:
    """Show one calm sentence, and what to do next below it."""
    text = plain(message)
    if advice:
        text += f"\n\n{plain(advice)}"
    st.warning(text, icon=":material/warning:")
