"""What a clause says a drug does to a protein's activity: raise it, lower it; and whether it is the drug that acts.

Clauses are in lower case with the two entities masked as `@1` and `@2`, other entities as `@x`.
"""

from __future__ import annotations

import re

_LOWERS = r"\binhibit\w*|\bblock(?:s|ed|ing|ers?|ades?)?\b|\bantagoni\w*|\binverse\s+agonis\w*|\b(?:in|de)activat\w*"
_RAISES = r"\bactivat\w*|\bagonis\w*"
_SIGNED = re.compile(rf"(?P<lowers>{_LOWERS})|(?P<raises>{_RAISES})")
_EITHER = re.compile(rf"(?:{_LOWERS})\s+(?:or|and/or)\s+(?:{_RAISES})|(?:{_RAISES})\s+(?:or|and/or)\s+(?:{_LOWERS})")
_NOT_THAT = re.compile(
    rf"(?:\b(?:rather\s+than|instead\s+of|as\s+opposed\s+to)|,\s*not)\s+(?:an?\s+)?(?:{_LOWERS}|{_RAISES})"
)
_UNDONE = re.compile(
    r"\b(?:reduc|lower|decreas|prevent|suppress|impair|abolish|abrogat|reliev|revers|diminish|counteract)\w*\s+"
    r"(?:the\s+)?(?:@\w\s+)?(?=(?:activation|inhibition)\b)"
)
_AGENT = r"(?:inhibitors?|blockers?|(?:inverse\s+)?agonists?|antagonists?|activators?)"
_VERB = r"(?:inhibit|block|antagoni[sz]e|activate|inactivate|deactivate)(?:s|d|ed)?"
_PAST = r"(?:inhibited|blocked|antagoni[sz]ed|activated|inactivated|deactivated)"
_NOUN = r"(?:inhibition|activation|inactivation|blockade|antagonism|agonism)"
_AIDS = r"(?:(?:does|do|did|can|cannot|may|might|will|would|could|not|never|also|\w+ly)\s+){0,3}"
_IS = r"(?:is|are|was|were|be|been|being|gets?)\s+(?:not\s+)?(?:\w+ly\s+)?"
_MORE = r"(?:\s*(?:,|and|or)\s*@x)*"


def activity(words: str, gene: str, *, physical: bool) -> int:
    """Return 1 when the activity of `gene` (`@1` or `@2`) is said to be raised, -1 lowered, 0 for neither or either.

    `physical` says that the clause also speaks of binding; then `X, a kinase inhibitor, binds Y` is no claim of
    inhibition, as the inhibitor is not said to be one of Y.
    """
    plain = _NOT_THAT.sub(" ", words)
    if _EITHER.search(plain):
        return 0
    if physical:
        plain = re.sub(rf"(?<!{gene} )(?<!{gene}-)\b{_AGENT}\b(?!\s+(?:of|for|at)\b)", " ", plain)
    match = _SIGNED.search(plain)
    if match is None:
        return 0
    sign = 1 if match.group("raises") else -1
    return -sign if _UNDONE.search(plain[: match.end()]) else sign


def acted_on(words: str, drug: str, gene: str) -> bool:
    """Return True when the clause has the gene act on the drug: `ABL1 inhibits imatinib`."""
    patterns = (
        rf"{gene}{_MORE}\s+{_AIDS}{_VERB}\s+(?:the\s+)?(?:(?:drug|compound|agent)\s+)?{drug}",
        rf"{drug}{_MORE}\s+{_AIDS}{_IS}{_PAST}\s+by\s+(?:the\s+)?{gene}",
        rf"\b{_NOUN}\s+of\s+(?:the\s+)?{drug}\s+by\s+(?:the\s+)?{gene}|{drug}\s+{_NOUN}\s+by\s+(?:the\s+)?{gene}",
        rf"{gene}{_MORE}\s+(?:is|acts\s+as|was)\s+(?:not\s+)?(?:an?|the)\s+(?:\w+\s+)?{_AGENT}\s+of\s+{drug}",
    )
    return any(re.search(pattern, words) for pattern in patterns)
