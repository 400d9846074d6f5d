"""A question with the kinds of its data in place of the words that name them, as the chooser reads it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from engine.domain.profile import ColumnProfile
from engine.planning.naming.mention import ColumnMention
from engine.planning.reading.leaving_out import AFTER_ROWS, BEFORE_ROWS
from engine.planning.reading.reading import Reading
from engine.planning.tables.sheets import Sheet

NO_ROLES: Mapping[str, str] = MappingProxyType({})
BY_ROLE = {"END": ("BIN",), "PART": ("NUM", "CNT"), "NUM": ("TIME",)}
"""Kinds that the structure gives -> the kinds by values that they take the place of."""


LASTED = 20
"""A time of so many different values was measured of each row, where nothing is followed over it."""


def durations(sheets: Iterable[Sheet]) -> dict[str, str]:
    """Return the times that are measurements: how long a first attempt took, in a table without repeats or ends."""
    tables = [s for s in sheets if not (s.structure.survival or s.structure.repeated or s.structure.dated)]
    return {c.name: "NUM" for sheet in tables for c in sheet.columns
            if c.scale == "number" and c.distinct > LASTED and c.role("time") >= 0.5}  # fmt: skip


FEW_GROUPS = 6
"""A column of no more codes than these holds groups; single things are more."""


def kind_of(column: ColumnProfile) -> str:
    """Return the kind a column is masked by; see `engine.planning.choosing.wording.KINDS`."""
    if column.role("dose") >= 0.5:
        return "DOSE"
    if column.role("time") >= 0.5 or column.scale == "date":
        return "TIME"
    kinds = {
        "number": "NUM",
        "count": "CNT",
        "share": "NUM",
        "binary": "BIN",
        "category": "CAT",
        "ordered": "CAT",
        "code": "UNIT",
    }
    if column.scale == "code" and (column.codes or column.distinct <= FEW_GROUPS):
        return (
            "CAT"  # few codes, or such of which a legend says what each stands for, name groups and not single things
        )
    return kinds.get(column.scale, "UNIT")


def masked(
    reading: Reading, columns: dict[str, ColumnProfile], first: int = 0, last: int | None = None, *, least: float = 0.85,
    roles: Mapping[str, str] = NO_ROLES,
) -> str:  # fmt: skip
    """Return the question, or some of its tokens, with kinds in place of the words that name data at least so surely.

    What the structure makes of a column (`roles`) is a kind of its own: how the watching of a subject ended (END), how many of a
    total that stands beside it (PART).
    """
    words = reading.words
    last = len(words) - 1 if last is None else last
    if not words:
        return ""
    pieces: list[str] = []
    at = 0 if first == 0 else words[first].start
    stop = len(reading.question) if last == len(words) - 1 else words[last].end
    inside = [mention for mention in reading.mentions if first <= mention.first and mention.last <= last]
    gone = [span for span in leaving_words(reading) if at <= span[0] and span[1] <= stop]
    left = [m for m in inside if not any(a <= words[m.first].start < b for a, b in gone)]
    if len({m.column for m in left}) < ENOUGH:  # little is asked beside it: leaving out is what is asked
        gone, left = [], inside
    spans = [(*span, "") for span in gone]
    for mention in left:
        column = columns.get(mention.column)
        if (state := _state_of(mention, left, reading)) is not None:
            spans.append((words[mention.first].start, words[state.first].start, ""))
            continue
        if mention.strength < least and not mention.level:
            continue  # a vague match: the word itself says more than the kind
        kind = "NUM" if column is None else _level_kind(column, reading) if mention.level else kind_of(column)
        if kind in BY_ROLE.get(roles.get(mention.column, ""), ()):
            kind = roles[mention.column]
        spans.append((words[mention.first].start, words[mention.last].end, kind))
    for start, end, kind in sorted(spans):
        pieces += [reading.question[at:start], kind]
        at = end
    text = "".join([*pieces, reading.question[at:stop]])
    for gene, _, _ in reading.genes:
        text = re.sub(rf"(?<!\w){re.escape(gene)}(?!\w)", "GENE", text)
    text = _IN_THE_MODEL.sub(r", adjusted for \1", _WITHIN.sub("", _OF_OURS.sub(r"\1 ", text)))
    text = _NO_EFFECT.sub("the NOEC and LOEC by Dunnett's test", text)
    return text if _DRAWS.search(text) else _BOX.sub("units", text)


_NO_EFFECT = re.compile(
    r"\b(?:the )?(?:last|highest|largest|biggest|lowest|smallest|first) (?:DOSE|dose|concentration|level) (?:with|that has|having|where)(?:out| no)?"
    r"(?: an?| any)?(?: significant| clear)? (?:effect|difference)\b|"
    r"\bfrom (?:what|which) (?:DOSE|dose|concentration)(?: on)?\b(?=[^.?!]{0,60}\b(?:than|differ\w*|below|above|from)\b[^.?!]{0,30}\b(?:control|LEV|untreated|zero)\b)",
    re.IGNORECASE,
)
"""`the last dose without effect` is what toxicologists call the NOEC."""
_BOX = re.compile(r"\bbox(?:es)?\b", re.IGNORECASE)
_DRAWS = re.compile(
    r"\bbox(?:es)?[ -]?(?:plots?|and|&|whisker|chart)|\b(?:plots?|draw\w*|graphs?|figures?|show\w*|charts?|whiskers?)\b",
    re.IGNORECASE,
)
"""Where nothing is to be drawn a box is where animals are kept."""


_IN_THE_MODEL = re.compile(
    r",?\s*\bwith ([^,.;?!()]{1,60}?) (?:also )?(?:in(?:to)? (?:the|a|one) (?:same )?(?:model|regression)|as (?:covariates?|confounders?))\b",
    re.IGNORECASE,
)
_OF_OURS = re.compile(
    r"\b(how many|how much|which|what share|what percentage|what proportion) of (?:our|my|these|those) ", re.IGNORECASE
)
_WITHIN = re.compile(
    r" (?:with)?in (?:the )?(?:first|last) \d+ ?(?:h|hrs?|hours?|days?|d|weeks?|months?|years?)\b", re.IGNORECASE
)
"""Whose the rows are and when a yes was so say nothing of what is asked: `how many of our patients needed it in the first 24 h`."""


def _state_of(mention: ColumnMention, others: Sequence[ColumnMention], reading: Reading) -> ColumnMention | None:
    """Return the level behind the name of its column where both are one thing: `cipro resistance`."""
    if mention.level or mention.column not in reading.shares:
        return None
    return next((m for m in others if m.level and (m.column, m.first) == (mention.column, mention.last + 1)), None)


def _level_kind(column: ColumnProfile, reading: Reading) -> str:
    if column.role("time") >= 0.5:
        return "TIME"
    states = column.scale == "binary" or column.name in reading.shares
    # `is mortality higher in men` asks of what happened, not of one group.
    return "BIN" if states and happened(column.name, reading) else "LEV"


def happened(name: str, reading: Reading) -> bool:
    """Say whether a column of two states is what the sentence asks the share or odds of."""
    return reading.parts.get(name) == {"outcome"} and not any(c.column == name for c in reading.contrasts)


ENOUGH = 2
"""So many columns are named beside the rows that are left out for the wording to be judged without these."""


def leaving_words(reading: Reading) -> list[tuple[int, int]]:
    """Return the characters that only say which rows are left out: they do not tell what is asked of the others."""
    found: list[tuple[int, int]] = [match.span() for match in _SAME_IN_BOTH.finditer(reading.question)]
    for item in reading.restrictions:
        start, end = reading.words[item.first].start, reading.words[item.last].end
        if item.why:
            found.append((start, end))
        elif item.sure and (item.op == "not in" or item.out):
            before, after = BEFORE_ROWS.search(reading.question[:start]), AFTER_ROWS.match(reading.question, end)
            if found and found[-1][1] <= start and _ALSO.fullmatch(reading.question[found[-1][1] : start]):
                found.append((found[-1][1], after.end() if after else end))  # `below 70 or less than 10`
            elif before or after:
                found.append((before.start() if before else start, after.end() if after else end))
    return found


_SAME_IN_BOTH = re.compile(
    r"[,;(]?\s*\b[\w ]{1,30}?\s(?:is|are)\s(?:the\s)?(?:same|key|identical)\s(?:in|of|for|across)\s(?:both|the two|all)\b"
    r"(?:\s(?:files?|sheets?|tables?|of them))?\s*[.;)]?",
    re.IGNORECASE,
)
"""Tells how two files belong together, and asks nothing."""
_ALSO = re.compile(r"[^.;:?!]{0,20}?\b(?:or|and)\b[^.;:?!]{0,40}", re.IGNORECASE)
"""What stands between two reasons for which rows go."""
