"""The one place where commands print: what others wrote reaches a terminal as text, never as a command to it."""

from __future__ import annotations

import sys
from typing import TextIO

from engine.domain.escaping import visible


def say(text: str, *, to: TextIO | None = None, end: str = "\n", flush: bool = False) -> None:
    """Print text to standard output or another stream, control characters in it as their codes.

    A JSON document says the same with them written so.
    """
    print(visible(text), file=to or sys.stdout, end=end, flush=flush)
