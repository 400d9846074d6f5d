"""A table as it was found in a file, whatever the file's format, with the options that read it again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Frame = Any
"""A pandas DataFrame. Its annotations name every type a call might return at once, which helps nobody here."""
Column = Any
"""A pandas Series."""
MAX_ROWS = 200_000
MAX_CELLS = 20_000_000
"""More than this of a file is counted but not looked at."""


class UnusableFile(Exception):
    """The file cannot be used; the message is the one sentence the user sees."""


@dataclass(kw_only=True)
class TableSource:
    """Rows and columns from a file."""

    frame: Frame
    """As `read_table(path, **read)` gives it, at most `MAX_ROWS` rows."""
    read: dict[str, Any]
    rows: int
    format: str
    headers: list[str] = field(default_factory=list)
    """The column names as written, before pandas tells equal ones apart."""
    warnings: list[str] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)
    first_column: list[str] | None = None
    """The first column as text, exactly as written; None when the format keeps types itself."""
    headerless: bool = False

    @property
    def sampled(self) -> bool:
        """True when the file has more rows than were looked at."""
        return self.rows > len(self.frame)


def some(values: list[str], limit: int = 3) -> str:
    """Return the first values as `'a', 'b', ...`."""
    shown = ", ".join(repr(value) for value in values[:limit])
    return f"{shown}, ..." if len(values) > limit else shown


def plural(count: int, noun: str) -> str:
    """Return `1 row`, `1,200 rows`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
