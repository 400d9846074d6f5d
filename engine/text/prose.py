"""Names and clauses put into a sentence."""

from __future__ import annotations

from collections.abc import Sequence


def listed(items: Sequence[str], *, last: str = "and") -> str:
    """Return items as a sentence names them: `a`, `a and b`, `a, b and c`; "" for none."""
    return f" {last} ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)


def one_line(text: str) -> str:
    """Return a text on one line, each run of blanks as one."""
    return " ".join(text.split())


def full_stop(text: str) -> str:
    """Return a text on one line that ends as a sentence does; "" stays empty."""
    text = one_line(text)
    return text if not text or text[-1] in ".!?" else f"{text}."


_LONGEST_NAME = 60


def quoted(name: str) -> str:
    """Return an id or a name in quotes; of a whole text given for one the beginning and how long it is."""
    return repr(name) if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]!r}... ({len(name):,} signs)"
