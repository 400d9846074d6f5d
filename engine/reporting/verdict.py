"""Whether a question that can be answered by yes or no is: the direction asked about against the direction found.

A yes or no is said only where three things are certain: the question asks one, the step's own sentence states a clear
result, and both speak of the same groups in the same direction. Otherwise the sentence stands as its step wrote it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from engine.domain.plan import Span

_UP = (
    "more (?:common|frequent|often|likely)|commoner|higher|greater|larger|bigger|longer|heavier|taller|older|thicker|"
    "wider|broader|deeper|warmer|hotter|more|increased?|rais(?:e|es|ed)|elevat(?:e|es|ed)|ris(?:e|es)|rose|"
    "go(?:es)? up|went up|gain"
)
_DOWN = (
    "less (?:common|frequent|often|likely)|rarer|lower|smaller|shorter|lighter|younger|thinner|narrower|shallower|"
    "cooler|colder|less|fewer|decreased?|reduc(?:e|es|ed)|lowers|fall|falls|fell|declin(?:e|es|ed)|drop|drops|dropped|"
    "go(?:es)? down|went down|shrink|shrinks"
)
_WAY = re.compile(rf"\b(?:(?P<up>{_UP})|(?P<down>{_DOWN}))\b", re.IGNORECASE)
_OF_A_NOUN = frozenset({"more", "less", "fewer", "gain"})
"""What says a direction of a quantity only where that stands right behind it: `fewer seeds`, not `less tolerant`."""
_OTHER_WAYS = re.compile(
    r"\b(?:fast|slow|quick|strong|weak|health|poor|easi|hard|dark|bright|sick|fitt|mild|earli|lat|soon|saf|clos|near|tight|steep|flatt)"
    r"(?:i?er)\b|\b(?:better|worse)\b",
    re.IGNORECASE,
)
"""What may be more or less of what was measured: a faster animal has the shorter latency."""
_PACE = re.compile(r"\b(faster|quicker|slower)\b", re.IGNORECASE)
_ASKS = re.compile(
    r"(?:(?:^|[.?!;:,()]\s*|\b(?:and|or|but|so|whether|if)\s+)"
    r"(?:is|are|was|were|do|does|did|has|have)\b(?! not\b|n't))",
    re.IGNORECASE,
)
_OPEN = re.compile(r"\b(?:which|what|how|who|where|when|why)\b", re.IGNORECASE)
"""What makes of a question one that yes does not answer, where it stands before the verb."""
_EITHER = re.compile(r"\bor\b(?! not\b)", re.IGNORECASE)
_WHETHER = re.compile(
    r"\b(?:differ(?:s|ent|ently|ence|ences)?|affects?|affected|influences?|influenced|associat(?:ed|ion)|related|linked|"
    r"correlat(?:e|es|ed|ion)|depends?|matters?|predicts?|an? effect|relationship|link)\b",
    re.IGNORECASE,
)
_CLEAR = re.compile(
    r"\A[^:;,]*?\b(?:differs?(?! from)|(?:is|are|was|were) (?:[\d.,]+ %? ?)?(?P<way>higher|lower)|"
    r"(?P<along>rises|falls) (?:as|over)|is associated with|(?:rises|falls) in both)\b"
)
"""How a sentence of a step begins that states a clear result; what is not shown is said as such."""
_CHANCES = re.compile(r"\A(?:The )?(?:hazard|odds|rate)s?\b", re.IGNORECASE)
_OF_CHANCES = re.compile(r"\b(?:hazards?|odds|risks?|likel\w+|rates?|numbers?|counts?)\b", re.IGNORECASE)
"""A hazard that is lower is a longer time: only who asks of chances is answered by them."""
_PER = re.compile(r"\s+per\b")
_THAN = re.compile(
    r"\s*(?:in|at|with|for) (?P<first>[^:;]*?) (?:than(?: in| at| with| for)?|instead of) (?P<second>[^:;,]*)"
)
_UNCLEAR = re.compile(r"\bnot shown\b|\bdescription, not a test\b")
_SENTENCE = re.compile(r"(?<=[.?!])\s+(?=\S)")


class _Group(NamedTuple):
    column: str
    level: str
    at: int


def verdict(question: str, understood: Sequence[Span], text: str, courses: Sequence[Sequence[str]] = ()) -> str:
    """Return `Yes` or `No`, what a step's sentence says to a question that asks for either, "" where it is not certain.

    Args:
        question: the question.
        understood: what its words were taken for.
        text: the sentence as the step wrote it, its levels as in the data.
        courses: columns of one measurement at its occasions, in their order.
    """
    found = _CLEAR.match(text)
    if found is None or _UNCLEAR.search(text) or (_CHANCES.match(text) and not _OF_CHANCES.search(question)):
        return ""
    for start, asked in _asked(question):
        spans = [span for span in understood if start <= span.start < start + len(asked)]
        answer = _over_time(asked, text, courses)
        answer = _answer(asked, start, spans, text, found) if answer is None else answer
        if answer is not None:
            return "Yes" if answer else "No"
    return ""


def _asked(question: str) -> Iterator[tuple[int, str]]:
    """Yield the parts of a question that ask for a yes or no, each with where it begins."""
    at = 0
    for sentence in _SENTENCE.split(question):
        start = question.index(sentence, at)
        at = start + len(sentence)
        begins = _ASKS.search(sentence)
        if begins and not _OPEN.search(sentence[: begins.start()]) and not _EITHER.search(sentence):
            yield start + begins.start(), sentence[begins.start() :]


_CHANGES = re.compile(
    r"\b(?:(?P<up>gain(?:s|ed)?|increas(?:e|es|ed)|ris(?:e|es|en)|rose|go(?:es)? up|went up|grow|grew)|"
    r"(?P<down>lose|loses|lost|decreas(?:e|es|ed)|falls?|fell|fallen|drop|drops|dropped|declin(?:e|es|ed)|"
    r"go(?:es)? down|went down))\b",
    re.IGNORECASE,
)
_LATER = re.compile(r"\A(?P<one>.+?) is (?P<way>higher|lower) than (?P<other>.+?)(?= in the same|[:,;(])")


def _over_time(asked: str, text: str, courses: Sequence[Sequence[str]]) -> bool | None:
    """Return whether what is asked to have risen or fallen has, by the sentence on two occasions of one measurement."""
    told, ways = _LATER.match(text), [*_CHANGES.finditer(asked)]
    own = next((c for c in courses if told and {told["one"], told["other"]} <= {*c}), None)
    if told is None or own is None or len(ways) != 1 or _OTHER_WAYS.search(asked) or re.search(r"\bthan\b", asked):
        return None
    rises = (told["way"] == "higher") == (own.index(told["one"]) > own.index(told["other"]))
    return rises == bool(ways[0]["up"])


def _answer(asked: str, start: int, spans: Sequence[Span], text: str, found: re.Match[str]) -> bool | None:
    """Return whether what is found is what is asked, None where that cannot be told."""
    ways = [way for way in _WAY.finditer(asked) if _says_a_way(way, asked, start, spans)]
    measured = [s for s in spans if s.taken_as == "column" and _names(text[: found.end()], s.value)]
    named = [(span.value.partition(" = "), span.start - start) for span in spans if span.taken_as == "level"]
    groups = [_Group(column, level, at) for (column, sign, level), at in named if sign]
    if not groups:  # `the smoking mothers` of a column of yes and no
        groups = [_Group(s.value, "yes", s.start - start) for s in spans
                  if s.taken_as == "column" and s not in measured and f"in {s.value} = yes " in text]  # fmt: skip
    if _OTHER_WAYS.search(asked):
        return _at_a_pace(asked, groups, text)
    of = text[found.end() :].partition(":")[0]
    others = [s.value for s in spans if s.taken_as == "column" and s not in measured] + [g.level for g in groups]
    if not (measured or found["along"]) or not any(_names(of, name) for name in [*others, *(g.column for g in groups)]):
        return None  # what it goes with is not what is asked about
    if _OF_A_LEVEL.search(asked):
        return None
    if not ways:
        return True if _WHETHER.search(asked) and not _WAY.search(asked) else None
    rises = found["along"] or (
        _PER.match(text, found.end()) and {"higher": "rises", "lower": "falls"}.get(found["way"])
    )
    if rises and len(ways) in (1, 2):  # `do bigger nuclei have more foci`
        together = bool(ways[0]["up"]) == bool(ways[-1]["up"]) if len(ways) > 1 else bool(ways[0]["up"])
        return (rises == "rises") == together
    if found["way"] is None or len(ways) != 1:
        return None
    same = _same_way(_claim(groups, asked), _told(groups, text[found.end() :]))
    return None if same is None else same == ((found["way"] == "higher") == bool(ways[0]["up"]))


_OF_A_LEVEL = re.compile(
    r"\b(?:more|less|fewer)\s+(?:(?:very|often)\s+)?(?:low|high|small|large|big|short|long|light|heavy|old|young|early|late)\b",
    re.IGNORECASE,
)
"""`More low birth weight` is not more of the weight."""


def _at_a_pace(asked: str, groups: Sequence[_Group], text: str) -> bool | None:
    """Return whether the group that is said to be faster is, where the sentence says that of both in so many words."""
    said, found = _PACE.findall(asked), re.search(r"\b(faster|slower)(?= in )", text)
    if len(_OTHER_WAYS.findall(asked)) != 1 or len(said) != 1 or found is None:
        return None
    same = _same_way(_claim(groups, asked), _told(groups, text[found.end() :]))
    return None if same is None else same == ((found[1] == "faster") == (said[0].lower() != "slower"))


def _says_a_way(way: re.Match[str], asked: str, start: int, spans: Iterable[Span]) -> bool:
    """Say whether a word gives a direction of a quantity: `less tolerant` may be more of what was measured."""
    if way[0].lower() not in _OF_A_NOUN:
        return True
    behind = re.match(r"\s*(?:\w+\s+)?", asked[way.end() :])
    reach = start + way.end() + (behind.end() if behind else 0)
    return any(span.taken_as == "column" and start + way.end() <= span.start <= reach for span in spans)


def _names(text: str, column: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(column)}(?!\w)", text) is not None


def _claim(groups: Sequence[_Group], asked: str) -> tuple[str, str] | None:
    """Return the two groups of a question, the one that would have more or less first; the other is "" where unsaid."""
    if len({group.column for group in groups}) != 1:
        return None
    than = re.search(r"\b(?:than|then|compared (?:with|to)|versus|vs\.?|relative to|against)\b", asked, re.IGNORECASE)
    other = next((group for group in groups if than and group.at >= than.end()), None)
    levels = list(dict.fromkeys(group.level for group in groups if other is None or group.level != other.level))
    if len(levels) != 1 or (than and other is None):
        return None
    return levels[0], other.level if other else ""


def _told(groups: Sequence[_Group], rest: str) -> tuple[str, str] | None:
    """Return the two groups of the sentence behind its verb, `higher in A than in B`; "" for one that is not named."""
    match = _THAN.match(rest)
    if match is None:
        return None
    named = {group.level for group in groups}
    first, second = (next((level for level in named if _is_level(match[side], level, groups)), "")
                     for side in ("first", "second"))  # fmt: skip
    return (first, second) if (first or second) and first != second else None


def _is_level(told: str, level: str, groups: Sequence[_Group]) -> bool:
    """Say whether what the sentence names is this level, alone or behind its column."""
    own = told.partition(" (95 %")[0].removesuffix(", others held equal").strip()
    return own in {level, *(f"{group.column}{sign}{level}" for group in groups for sign in (" ", " = "))}


def _same_way(claim: tuple[str, str] | None, told: tuple[str, str] | None) -> bool | None:
    """Say whether both name their groups in the same order, None where they are not the same two."""
    if claim is None or told is None:
        return None
    if claim[0] == told[0] and claim[1] in ("", told[1]):
        return True
    if claim[0] == told[1] and claim[1] in ("", told[0]):
        return False
    return None
