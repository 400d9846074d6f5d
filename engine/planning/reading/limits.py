"""What a question says of values below a detection limit: that they count, and as what."""

from __future__ import annotations

import re

from engine.planning.reading.reading import Reading
from engine.planning.tables.limits import Counted, of_limits, with_limits
from engine.planning.tables.sheets import Data

_LIMIT = r"(?:(?:detection|quantification|reporting|assay|lower)\s+)?(?:limit|LOD|LOQ|LLOD|LLOQ)s?(?:\s+of\s+(?:detection|quantification))?"
_BELOW = (
    rf"(?:(?:below|under|less than|beyond|at|<)\s*(?:the\s+)?(?:{_LIMIT}|detection)|non.?detects?|undetect\w+|BDL|BLQ)"
)
_KEPT = re.compile(
    rf"(?:\b(?:do\s+not|don.?t|never|without|not)\s+(?:\w+\s+){{0,2}}?(?:throw\w*|drop\w*|leav\w*|exclud\w*|remov\w*|discard\w*|ignor\w*|los\w*)\s+(?:\w+\s+){{0,4}}?{_BELOW}"
    rf"|\b(?:keep\w*|includ\w*|count\w*|us(?:e|ing)|with)\s+(?:\w+\s+){{0,4}}?{_BELOW})(?:\s+limit)?",
    re.IGNORECASE,
)
_AS = re.compile(
    rf"(?:{_BELOW}(?:\s+\w+){{0,3}}?\s*(?:=|as|to|at|by|with)\s+(?:the\s+)?)?(?P<half>half\s+(?:of\s+)?(?:the\s+)?{_LIMIT}|{_LIMIT}\s*/\s*2)"
    rf"|{_BELOW}(?:\s+\w+){{0,3}}?\s*(?:=|as|to|at|by|with)\s+(?:the\s+)?(?P<limit>{_LIMIT})",
    re.IGNORECASE,
)


def with_limits_said(reading: Reading, data: Data) -> Data:
    """Return the data with values below a limit counted as the question says, as half the limit where it says no more.

    It is said of the columns that the question names, else of all that have such cells.
    """
    said = next(_AS.finditer(reading.question), None)
    able = of_limits(data) if said or _KEPT.search(reading.question) else []
    if not able:
        return data
    how: Counted = "limit" if said and said["limit"] else "half"
    named = [name for name in able if name in reading.columns()]
    counted: dict[str, Counted] = dict.fromkeys(named or able, how)
    return with_limits(data, counted)


def mark_limits(reading: Reading) -> None:
    """Take the words that say so for used: they ask nothing and leave nothing out."""
    for form in (_AS, _KEPT):
        for match in form.finditer(reading.question):
            reading.asides.append(match.span())
            reading.mark_text(*match.span(), "method", "values below a limit count")
        reading.masked = form.sub("", reading.masked)
