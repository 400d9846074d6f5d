"""What the commands about knowledge and memory share: the engine, the answer on stdout, progress on stderr."""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any


def open_with(options: argparse.Namespace) -> Any:
    """Open the engine on the workspace that the command line names."""
    from engine.api import open_engine

    return open_engine(workspace=options.workspace, user=options.user, model=options.model)


def emit(options: argparse.Namespace, document: Any, text: str) -> int:
    """Print the answer; letters that the terminal or the pipe has no code for are written as escapes."""
    said = json.dumps(document, ensure_ascii=False, default=str) if options.json else text
    code = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        said.encode(code)
    except UnicodeEncodeError:
        plain = json.dumps(document, default=str) if options.json else text
        said = plain.encode(code, "backslashreplace").decode(code)
    print(said)
    return 0


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
            print("  " + self._what.format(first, second), file=sys.stderr, flush=True)
