"""Words of questions that more than one tool answers with a finding of its own (`leads`)."""

from __future__ import annotations

_WHO = r"\b(?:which|wich|witch|what|where|who)\b[^.?!]*\b"
_GOOD = r"\b(?:wins?|(?:is|are|means?|=) (?:the )?(?:best|better|good)|the better)\b"
ASKS_LOWEST = (
    _WHO
    + r"(?:lowest|least|fewest|smallest|shortest|lightest|slowest|thinnest|youngest|earliest|weakest|poorest|lower|"
    r"fewer|smaller|shorter|lighter|slower|thinner)\b"
    rf"|{_WHO}(?:best|wins?)\b.*\b(?:fewest|lowest|least|smallest|shortest|fewer|less|lower|the less)\b[^.?!]*{_GOOD}"
)
"""Asks for the name of the group with the least of something; `best` says a direction only where that is told."""
ASKS_HIGHEST = (
    _WHO
    + r"(?:highest|most|biggest|largest|greatest|longest|heaviest|fastest|thickest|tallest|oldest|latest|strongest|"
    r"richest|higher|more|bigger|larger|greater|longer|heavier|faster|thicker|taller)\b"
    rf"|{_WHO}(?:best|wins?)\b.*\b(?:most|highest|largest|biggest|longest|more|higher)\b[^.?!]*{_GOOD}"
)
"""Asks for the name of the group with the most of something."""
_AND = r"\b[^.?!]{0,30}\b(?:and|vs\.?|versus|against|than)\s+(?:(?:in|the|with|of)\s+)*"
_NO_DOSE = r"\b(?!\s*(?:doses?|conc\w*|times?|days?|weeks?|values?))"
ASKS_ENDS = (
    rf"\b(?:best|highest|largest|greatest){_AND}(?:worst|lowest|smallest|least){_NO_DOSE}|"
    rf"\b(?:worst|lowest|smallest|least){_AND}(?:best|highest|largest|greatest){_NO_DOSE}"
)
"""Asks for the two groups at the ends, which are known only once the data were looked at."""
