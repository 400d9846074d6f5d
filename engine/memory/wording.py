"""How ids and names stand in a sentence: quoted, and cut when somebody gave a whole text for one."""

from __future__ import annotations

_LONGEST = 60


def quoted(name: str) -> str:
    """Return a name in quotes; of a long one the beginning and how long it is."""
    return repr(name) if len(name) <= _LONGEST else f"{name[:_LONGEST]!r}... ({len(name):,} signs)"
