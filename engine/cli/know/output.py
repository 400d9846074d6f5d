"""What the commands about knowledge and memory share: the engine, the answer on stdout, progress on stderr."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

from engine.cli.say import say
from engine.errors import UserError, WorkspaceInUse

PATIENCE = 10.0
"""Seconds a short command waits for another one that holds the workspace."""
_PAUSE = 0.1
"""Seconds between two attempts."""


def open_with(options: argparse.Namespace) -> Any:
    """Open the engine on the workspace that the command line names.

    Commands about knowledge and memory take a moment each, so several at a time wait for one another.

    Raises:
        WorkspaceInUse: when another process still holds it after `PATIENCE` seconds.
    """
    from engine.api import open_engine

    until, told = time.monotonic() + PATIENCE, False
    while True:
        try:
            return open_engine(workspace=options.workspace, user=options.user, model=options.model)
        except WorkspaceInUse as busy:
            if time.monotonic() >= until:
                raise
            if not told and not options.quiet:
                say(f"{busy.message} Waiting up to {PATIENCE:g} seconds.", to=sys.stderr, flush=True)
            told = True
        time.sleep(_PAUSE)


def require_words(text: str, what: str) -> None:
    """Refuse a search for nothing.

    Raises:
        UserError: when the text has neither a letter nor a digit.
    """
    if not any(character.isalnum() for character in text):
        raise UserError(f"There is nothing to look for: the text is {text[:60]!r}.", advice=f"Give {what}.")


class Counter:
    """Progress on standard error: at most two lines a second, none when quiet."""

    def __init__(self, options: argparse.Namespace, what: str) -> None:
        self._quiet = options.quiet
        self._what = what
        self._last = 0.0

    def __call__(self, first: int | str, second: int) -> None:
        """Print how far it is, unless that was done a moment ago."""
        now = time.monotonic()
        if not self._quiet and now - self._last > 0.5:
            self._last = now
            say("  " + self._what.format(first, second), to=sys.stderr, flush=True)
