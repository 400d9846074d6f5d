"""What a mention is: words of a question that name a column or a level, and how surely."""

from __future__ import annotations

from typing import NamedTuple

SURE = 0.8
"""From this strength on a mention needs no confirmation."""
SURE_NAME = 0.97
"""From this strength on a name is a column's or level's own."""
LIKELY = 0.5
"""Below this a mention is not considered."""
LONGEST = 6
"""A name has at most so many words."""


class ColumnMention(NamedTuple):
    """Words of the question that name a column, or a level of one."""

    column: str
    level: str
    """"" for the column itself."""
    first: int
    last: int
    """Token positions, both included."""
    strength: float
    rivals: tuple[str, ...] = ()
    """Other columns (or levels) that these words name as well."""

    @property
    def width(self) -> int:
        """How many tokens it covers."""
        return self.last - self.first + 1


YES = frozenset("1 yes true y positive pos present ja oui si".split())
NO = frozenset("0 no false n negative neg absent nein non".split())
"""How the two levels of a column of yes and no are called."""
AT = frozenset("after at in on until by".split())
"""Words before a point in time."""
FAMILY = frozenset("mother father parent child baby infant newborn sibling".split())
"""Persons whose measurements stand beside each other in a row."""
PERSONS = frozenset(
    "patient subject animal person people individual participant volunteer donor mouse rat plant sample nr no number id".split()
)
"""Words that stand before the number of a row."""
