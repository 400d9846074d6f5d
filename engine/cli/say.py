"""The one place where commands print: what others wrote reaches a terminal as text, never as a command to it."""

from __future__ import annotations

import argparse
import sys
from typing import Any, TextIO

from engine.domain.encoding.escaping import visible
from engine.domain.encoding.plain_json import json_text


def say(text: str, *, to: TextIO | None = None, end: str = "\n", flush: bool = False) -> None:
    """Print text to standard output or another stream, control characters in it as their codes.

    A JSON document says the same with them written so.
    """
    print(visible(text), file=to or sys.stdout, end=end, flush=flush)


def emit(options: argparse.Namespace, document: Any, text: str) -> int:
    """Print the answer; letters that the terminal or the pipe has no code for are written as escapes."""
    said = json_text(document) if options.json else text
    code = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        said.encode(code)
    except UnicodeEncodeError:
        plain = json_text(document, ascii_only=True) if options.json else text
        said = plain.encode(code, "backslashreplace").decode(code)
    say(said)
    return 0
