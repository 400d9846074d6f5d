"""Clauses and lists: which entities of a sentence belong together, judged by the words between neighbours."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.domain.knowledge import NodeType

_LIST = re.compile(
    r"[\s,\"'()]*(?:(?:,|;)?\s*\b(?P<word>and/or|and|or|nor|as\s+well\s+as|along\s+with|together\s+with|plus|rather\s+than|"
    r"instead\s+of|but\s+not|and\s+not|not)\b|,|/|&|\+)[\s,]*(?:also\s+)?(?:of\s+|in\s+|with\s+|to\s+|for\s+|by\s+|against\s+)?(?:both\s+|either\s+)?"
    r"(?:the|that\s+of|those\s+of|a|an|its)?\s*(?:(?:gene|protein|drug|compound|pathway|disease|process|expression\s+of|"
    r"transcripts?\s+of|levels?\s+of|activity\s+of)s?\s+)?[\s\"'(]*"
)
_NOT_WORDS = frozenset({"rather than", "instead of", "but not", "and not", "not"})
_IDIOMS = re.compile(
    r"\b(?:rises?\s+and\s+falls?|up\s+and\s+down|safe\s+and\s+(?:well|effective)|tried\s+and\s+tested|first\s+and\s+foremost|"
    r"by\s+and\s+large|more\s+and\s+more|over\s+and\s+above|again\s+and\s+again|out\s+and\s+out|black\s+and\s+white|"
    r"clearly\s+and\s+\w+ly|\w+ly\s+and\s+\w+ly|time\s+and\s+again|here\s+and\s+there|to\s+and\s+fro)\b"
)
_SEAM = re.compile(
    r"(?:,|;|\u2013|\u2014)?\s*\b(?:and|but|while|whereas|whilst|yet|although|though|plus|as\s+well\s+as|in\s+addition\s+to|"
    r"besides|because|since|so|then|nor|however|nevertheless|nonetheless|conversely|in\s+contrast|by\s+contrast)\b|;|\s[\u2013\u2014-]\s|:|"
    r",\s*(?=(?:which|who|it|they|on\s+the\s+other|moreover|furthermore|in\s+addition|similarly|likewise|is|are|was|were|has|"
    r"have|does|can|cannot|may|(?!(?:as|thus|plus|perhaps|unless|besides|always|this|its|at|was|across|yes|across)\b)[a-z]+s)\s)"
)
_AFTER_SEAM = re.compile(
    r"\s*,?\s*(?:also|additionally|moreover|furthermore|likewise|similarly|equally|according|at\s+the\s+same\s+time|in\s+turn|"
    r"it|they|this|that|these|both|the|its|is|are|was|were|has|have|had|does|do|did|can|may|might|will|would|could|shows?|not|"
    r"never|n't|un\w+|[a-z]+(?:s|ed|es|ing)\b)"
)
_OWN_SUBJECT = re.compile(
    r"^[\s,;]*(?:and|but|while|whereas|whilst|yet|although|though|so|then|plus)?[\s,]*(?:[\w-]+\s+){0,5}?"
    r"(?:it|they|this|these|that|both|the\s+(?:same\s+)?(?:drug|compound|agent|gene|protein|disease|condition|disorder|tissue|"
    r"molecule|substance|medicine|latter|former))\b"
)
_FRONTED = re.compile(
    r"^\s*(?:besides|in\s+addition\s+to|apart\s+from|aside\s+from|beyond|on\s+top\s+of|as\s+well\s+as|along\s+with|not\s+only|"
    r"while|although|though|whereas|despite|even\s+though|when|by|through|after|other\s+than|far\s+from|rather\s+than|instead\s+of)\b"
)
_RELATIVE = re.compile(
    r"^\s*,?\s*\(?(?:which|who|that|whose|known\s+to|shown\s+to|a\s|an\s|the\s|itself|already|[a-z]+(?:ing|ed)\b)"
)


@dataclass(slots=True)
class Clause:
    """A stretch of a sentence with its entities in groups; `text` has entity `k` masked as `@{k}`."""

    groups: list[list[int]] = field(default_factory=list)
    text: str = ""
    elided: bool = False
    """True when the clause shares the subject of the one before without naming it (`... and does not bind X`)."""
    needs_subject: bool = False
    subject: int | None = None
    """The entity it borrowed, once it has."""
    negative_members: dict[int, int] = field(default_factory=dict)
    """Members that a list denies: `A but not B`."""

    def masked(self, one: int, two: int, *, inherited: int | None = None) -> str:
        """Return the words with `one` as `@1`, `two` as `@2`, others as `@x`; an inherited entity is put first."""

        def mark(match: re.Match[str]) -> str:
            number = int(match.group(1))
            return "@1" if number == one else "@2" if number == two else "@x"

        words = re.sub(r"@\{(\d+)\}", mark, self.text)
        return f"@1 {words}" if inherited is not None else words


def clauses_of(
    kinds: Sequence[set[NodeType]], lead: str, gaps: Sequence[str], end: str, opening: str = ""
) -> list[Clause]:
    """Return the clauses of a sentence with `len(kinds)` entities.

    `kinds` are the types each entity may have, `lead` the words before the first, `gaps` those between neighbours,
    `end` those after the last, `opening` all that stands before the first with its frame. Every clause has at least
    one entity.
    """
    several = len(kinds) > 2 and "respectively" not in "".join((*gaps, end))
    fronted = several and any(_FRONTED.match(part) for part in (lead, re.split(r"[:;,]", opening)[-1]))
    clauses = [Clause([[0]], lead + _mask(0))]
    relative = False
    for number, gap in enumerate(gaps, start=1):
        clause = clauses[-1]
        word = _list_word(gap, kinds[number - 1], kinds[number])
        following = gaps[number] if number < len(gaps) else ""
        if word is not None and _opens_clause(gap, clause, following, fronted=fronted):
            clauses.append(Clause([[number]], gap + _mask(number), needs_subject=True))
            fronted = relative = False
            continue
        if word is not None and not (len(clause.groups) == 1 and number == 1 and fronted and gap.strip() == ","):
            clause.groups[-1].append(number)
            clause.text += gap + _mask(number)
            if word in _NOT_WORDS:
                clause.negative_members[number] = 1
                clause.text = clause.text[: -len(gap + _mask(number))] + " , " + _mask(number)
            continue
        seam = _seam(gap, clause, fronted=fronted, relative=relative, last=number == len(gaps)) if several else None
        if seam is None:
            relative = relative or (
                several and _RELATIVE.match(gap) is not None and gap.lstrip().startswith((",", "("))
            )
            clause.groups.append([number])
            clause.text += gap + _mask(number)
            continue
        left, right = gap[:seam], gap[seam:]
        clause.text += left
        named = _NAMED.fullmatch(right) is not None
        own = named or _OWN_SUBJECT.match(right) is not None
        clauses.append(Clause([[number]], right + _mask(number), elided=not own, needs_subject=not named))
        fronted = relative = False
    clauses[-1].text += end
    return clauses


_NAMED = re.compile(
    r"(?:[\s,;:\u2013\u2014-]|\b(?:and|but|while|whereas|whilst|yet|although|though|however|nevertheless|nonetheless|conversely|"
    r"in\s+contrast|by\s+contrast|on\s+the\s+other\s+hand|the|a|an)\b)*(?:however|while|whereas|whilst|although|though|;|"
    r"in\s+contrast|by\s+contrast|conversely)(?:[\s,]|\b(?:the|a|an|neither|both)\b)*"
)
"""A seam that is followed at once by an entity, which is then the subject of what comes."""
_ECHO = re.compile(
    r"[\s,;]*(?:(?:and|but|while|whereas|whilst|although|though|however|yet|in\s+contrast|by\s+contrast)\b[\s,]*)*(?:the\s+)?@\{\d+\}\s*,?\s*"
    r"(?:(?:clearly|certainly|of\s+course|on\s+the\s+other\s+hand|in\s+contrast|by\s+contrast|however|though)\s*,?\s*)?(?:does|do|did|is|are|was|were|can|could|has|have|had|will|would)"
    r"(?P<no>\s*not|n't|not)?(?:\s+(?:so|too|as\s+well|at\s+all|either))?[\s.,;!]*"
)
_SO_DOES = re.compile(
    r"[\s,;]*(?:and\s+)?(?P<how>so|neither|nor)\s+(?:does|do|did|is|are|was|were|can|could|has|have|had|will|would)\s+(?:the\s+)?@\{\d+\}[\s.,;!]*"
)


def echoes(text: str) -> str | None:
    """Return what a clause without a verb of its own repeats: `not` (`B does not`), `yes` (`B does`), `same`, None."""
    match = _ECHO.fullmatch(text)
    if match is not None:
        return "not" if match.group("no") else "yes"
    match = _SO_DOES.fullmatch(text)
    return None if match is None else ("yes" if match.group("how") == "so" else "not")


_VERB_NEXT = re.compile(r"\s+(?:[a-z]+ly\s+)?(?:is|are|was|were|has|have|does|do|can|cannot|may|goes|[a-z]{2,}s)\b")


def _opens_clause(gap: str, clause: Clause, following: str, *, fronted: bool) -> bool:
    """Return True when what looks like a list is a new clause: `A binds B, and C treats D`."""
    if len(clause.groups) < 2 or not _VERB_NEXT.match(following):
        return False
    return re.fullmatch(r"\s*,\s*(?:and|but)\s*(?:the\s+)?", gap) is not None or (fronted and gap.strip(" the") == ",")


def _mask(number: int) -> str:
    return "@{" + str(number) + "}"


def _list_word(gap: str, before: set[NodeType], after: set[NodeType]) -> str | None:
    """Return the word that joins two members of a list (`,` when there is none), or None when this is no list."""
    if not before & after:
        return None
    match = _LIST.fullmatch(gap)
    if match is None:
        return None
    return re.sub(r"\s+", " ", match.group("word") or ",")


def _seam(gap: str, clause: Clause, *, fronted: bool, relative: bool, last: bool) -> int | None:
    """Return where in a gap one clause ends and the next begins, or None."""
    plain = _IDIOMS.sub(lambda m: "_" * len(m.group()), gap)
    if fronted and "," in plain:
        return plain.index(",") + 1
    if len(clause.groups) < 2 and not clause.needs_subject and not (len(clause.groups[0]) > 1 and last):
        # One entity so far: the clause is complete only if it has a subject of its own to borrow later.
        own = re.search(r",\s*(?:and|but|while|whereas)\s+", plain)
        return own.start() if own and not last else None
    closing = re.search(r"[,)]", plain)
    if relative and closing:
        return closing.end()
    found = [m for m in _SEAM.finditer(plain) if m.end() < len(plain)]
    if len(clause.groups) < 2 and not clause.needs_subject:  # a list so far: what it does must come first
        found = [m for m in found if plain[: m.start()].strip(" ,")]
    for match in found:
        if _AFTER_SEAM.match(plain[match.end() :]):
            return match.start()
    return found[-1].start() if found else None
