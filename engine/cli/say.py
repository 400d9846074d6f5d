"""The one place where commands print: what others wrote reaches a terminal as text, never as a command to it."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from typing import Any, TextIO

from engine.domain.escaping import visible


def say(text: str, *, to: TextIO | None = None, end: str = "\n", flush: bool = False) -> None:
    """Print text to standard output or another stream, control characters in it as their codes.

    A JSON document says the same with them written so.
    """
    print(visible(text), file=to or sys.stdout, end=end, flush=flush)


def json_text(document: Any, *, ascii_only: bool = False, indent: int | None = None) -> str:
    """Return a document as JSON: NaN and infinity, which JSON lacks, are null; paths and dates are text."""
    return json.dumps(_plain(document), ensure_ascii=ascii_only, allow_nan=False, default=str, indent=indent)


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
