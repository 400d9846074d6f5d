"""Words the commands share when they print for people."""

from __future__ import annotations

import textwrap

_WIDTH = 100


def counted(count: int, noun: str, many: str = "") -> str:
    """Return `3 tools` or `1 tool`; `many` is the plural of a noun that does not just take an s."""
    return f"{count:,} {noun if count == 1 else many or f'{noun}s'}"


def short(text: str, length: int = _WIDTH) -> str:
    """Return the text on one line, cut at a word when long."""
    return textwrap.shorten(" ".join(text.split()), width=length, placeholder="...")
