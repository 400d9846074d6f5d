"""Levels that a question takes together: `dialysis or death, whichever first`, `stage III or IV against I or II`, `who had CR or PR`.

No column says so. A step makes one, and the plan is made with it as if the file had it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from engine.domain.profile import ColumnProfile
from engine.planning.formulas.first_end import COMPETE
from engine.planning.formulas.sides import HAVE, SHARE, named_with
from engine.planning.formulas.views import view
from engine.planning.naming.mention import SURE, ColumnMention
from engine.planning.reading.read import reread
from engine.planning.reading.reading import Reading
from engine.planning.tables.sheets import Data, Made, Sheet, is_group, is_id
from engine.text.codes import in_words, told_beside
from engine.text.numbers import as_number
from engine.text.tokens import tokens

_OR = re.compile(r"\s*(?:,\s*)?(?:or|and/or|oder|ou|/|\+)\s*(?:the\s+|a\s+)?|\s*,\s*", re.IGNORECASE)
_ALSO = re.compile(r"\s*(?:,\s*)?(?:and|or|/|\+|&|-|–)\s*(?:the\s+)?|\s*,\s*", re.IGNORECASE)
_AGAINST = re.compile(
    r"[^.;?!]{0,25}?\b(?:vs\.?|versus|against|than|then(?= in| during| on| at)|compared (?:with|to)|from)\s*(?:the\s+|those\s+|in\s+|with\s+|grade\s+|stage\s+)*",
    re.IGNORECASE,
)
_REST = re.compile(
    r"\)?\s*(?:vs\.?|versus|against|than|and|compared (?:with|to))\s+(?:(?:in|on|at|for|with|from|among|of)\s+)?(?:the\s+|all\s+|those\s+)*(?:rest|others?|remaining|everyone else|(?<!and )non[\w-]*)\b",
    re.IGNORECASE,
)
_THAN_REST = re.compile(
    r"[^.;?!]{0,60}?\bthan\s+(?:(?:in|on|at|for|with|from|among|of)\s+)?(?:the\s+|all\s+|those\s+)*(?:rest|others?|remaining)\b",
    re.IGNORECASE,
)
"""Where more is said between: `do cavaliers live shorter than all the other breeds`."""
_NOT_ENDED = re.compile(
    r"\W*(?:(?:are|is|were|both|all|as|count\w*)\s+)*(?:censor|alive|no\b|not\b|free\b)", re.IGNORECASE
)
"""`0/2 censored` takes no ends together."""
_COUNTED = re.compile(rf"{SHARE.pattern}|\bhow many\b|\bodds\b|\bmore often\b|\blikel(?:y|ier|ihood)\b", re.IGNORECASE)


class _Stretch(NamedTuple):
    """Levels of one column that stand together."""

    column: str
    mentions: tuple[ColumnMention, ...]

    @property
    def levels(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(m.level for m in self.mentions))

    @property
    def place(self) -> tuple[int, int]:
        return self.mentions[0].first, self.mentions[-1].last


def with_merged(reading: Reading, data: Data) -> tuple[Reading, Data] | None:
    """Return question and data with levels taken together as the question says; None where it takes none together."""
    for sheet in data.sheets:
        if (deaths := _of_any_cause(reading, sheet)) is not None:
            return _seen(reading, data, sheet, (deaths,), happened=True)
        if (ends := _of_ends(reading, sheet)) is not None:
            return _seen(reading, data, sheet, (ends,), happened=True)
        if (pair := _set_apart(reading, sheet)) is not None:
            return _seen(reading, data, sheet, pair, happened=False)
        if (state := _counted(reading, data, sheet)) is not None:
            return _seen(reading, data, sheet, (state,), happened=True)
        if (one := _against_the_rest(reading, sheet)) is not None:
            return _seen(reading, data, sheet, (one,), happened=False)
    return None


_DEAD = re.compile(
    r"\b(?:dead|died|deaths?|deceased|tot|gestorben|verstorben|tod|exitus|fallecid\w+|muert\w+|d[ée]c[ée]d\w+)\b",
    re.IGNORECASE,
)
_DIES = re.compile(rf"{_DEAD.pattern}|\b(?:die|dies|dying|mortality|surviv\w+|alive|hazards?|lived?)\b", re.IGNORECASE)
_SPECIFIC = re.compile(r"\b(?:cause|cancer|disease|tumou?r)[\s-]+specific\b", re.IGNORECASE)
_ANY_CAUSE = re.compile(
    r"\b(?:any|all|every|whatever|both)[\s-]+(?:of the\s+)?causes?\b|\ball-?cause\b|\boverall\b", re.IGNORECASE
)


def _of_any_cause(reading: Reading, sheet: Sheet) -> _Stretch | None:
    """Return the deaths that a legend tells apart by cause, where the question asks for none of the causes: each is death."""
    event = sheet.column(sheet.structure.survival.get("event", ""))
    told = told_beside(event) if event is not None else {}
    dead = [level for level, said in told.items() if _DEAD.search(said)]
    said = _DIES.search(reading.question)
    apart = COMPETE.search(reading.question) or _SPECIFIC.search(reading.question)
    if event is None or said is None or not 1 < len(dead) < len(event.levels) or apart:
        return None
    own = [m for m in reading.mentions if m.column == event.name and m.level]
    if not _ANY_CAUSE.search(reading.question) and any(_names_cause(reading, m, told, dead) for m in own):
        return None
    at = [m.first for m in own if m.level in dead] or [
        n for n, w in enumerate(reading.words) if w.start == said.start()
    ]
    last = max((m.last for m in own if m.first == at[0]), default=at[0]) if at else 0
    return (
        _Stretch(event.name, tuple(ColumnMention(event.name, level, at[0], last, 1.0) for level in dead))
        if at
        else None
    )


def _names_cause(reading: Reading, mention: ColumnMention, told: Mapping[str, str], dead: Sequence[str]) -> bool:
    """Say whether the words for one way of dying are more than those for any: `died of colon cancer`."""
    words = {word.stem for word in reading.words[mention.first : mention.last + 1]}
    others = {t.stem for level in dead if level != mention.level for t in tokens(told[level])}
    own = {t.stem for t in tokens(told.get(mention.level, ""))} - others
    return mention.level not in dead or bool(words & own)


def _of_ends(reading: Reading, sheet: Sheet) -> _Stretch | None:
    """Return the ends of follow-up that are one event together: `dialysis or death`."""
    event = sheet.column(sheet.structure.survival.get("event", ""))
    for item in _stretches(reading, sheet, _OR) if event is not None else ():
        if not event or item.column != event.name or not 1 < len(item.levels) < len(event.levels):
            continue
        if not _NOT_ENDED.match(reading.question, reading.words[item.place[1]].end):
            return item
    return None


def _set_apart(reading: Reading, sheet: Sheet) -> tuple[_Stretch, _Stretch] | None:
    """Return two groups of levels of one column that are set against each other, at least one of several."""
    for one, other in pairwise(_stretches(reading, sheet, _ALSO)):
        between = reading.question[reading.words[one.place[1]].end : reading.words[other.place[0]].start]
        several = max(len(one.levels), len(other.levels)) > 1
        several &= min(len(one.levels), len(other.levels)) > 1 or not any(_each(reading, s) for s in (one, other))
        if (
            one.column == other.column
            and several
            and not {*one.levels} & {*other.levels}
            and _AGAINST.fullmatch(between)
        ):
            return one, other
    return None


def _each(reading: Reading, item: _Stretch) -> bool:
    """Say whether levels that an `and` joins are each meant: `in meadow and edge compared to mown`, with no `together`."""
    first, last = (reading.words[at] for at in item.place)
    joined = re.search(r"\band\b|&", reading.question[first.start : last.end], re.IGNORECASE)
    return bool(joined) and not re.match(
        r"\W*(?:\w+\s+)?(?:together|combined|pooled|taken|lumped|merged)\b", reading.question[last.end :], re.IGNORECASE
    )


def _counted(reading: Reading, data: Data, sheet: Sheet) -> _Stretch | None:
    """Return the levels of which it is asked how often a row has one: `what share had CR or PR, by arm`."""
    listed = [stretch.place for stretch in _stretches(reading, sheet, _ALSO)]
    for item in _stretches(reading, sheet, _OR):
        column = sheet.column(item.column)
        words = {word.text for word in reading.words[item.place[0] : item.place[1] + 1]}
        if item.place not in listed and not words & {"or", "oder", "ou"}:
            continue  # `never, former and current smokers` are each meant
        beside = named_with(reading, item.place[0])
        others = [c for n in beside if n != item.column and (c := data.column(n)) and not is_id(c)]
        apart = all(is_group(c) and not reading.is_a(c.name, "outcome") for c in others)
        before = reading.question[: reading.words[item.place[0]].start]
        asked = _COUNTED.search(reading.question) and HAVE.search(before)
        if (
            column
            and apart
            and 1 < len(item.levels) < len(column.levels)
            and (asked or (others and _the_rest(reading, item)))
        ):
            return item
    return None


def _against_the_rest(reading: Reading, sheet: Sheet) -> _Stretch | None:
    """Return the levels that are set against all others: `CEA in CR or PR versus the rest`."""
    for item in _stretches(reading, sheet, _ALSO):
        column = sheet.column(item.column)
        if column and len(item.levels) < len(column.levels) > 2 and _the_rest(reading, item):
            return item
    return None


def _stretches(reading: Reading, sheet: Sheet, joined: re.Pattern[str]) -> list[_Stretch]:
    """Return the levels of one column that are listed one after the other, the list of one level too."""
    found: list[list[ColumnMention]] = []
    out = {at for r in reading.restrictions if r.op == "not in" for at in range(r.first, r.last + 1)}
    for mention in reading.mentions:
        if not mention.level or mention.first in out or sheet.column(mention.column) is None:
            continue
        last = found[-1][-1] if found else None
        between = reading.question[reading.words[last.last].end : reading.words[mention.first].start] if last else ""
        numbers = last is not None and None not in (as_number(last.level), as_number(mention.level))
        whole = last is not None and not _FROM.search(reading.question[: reading.words[last.first].start])
        if last is not None and last.column == mention.column and numbers and whole and _SPAN.fullmatch(between):
            found[-1] += [*_between(sheet.column(mention.column), last, mention), mention]
        elif last is not None and last.column == mention.column and joined.fullmatch(between):
            found[-1].append(mention)
        else:
            found.append([mention])
    return [_Stretch(part[0].column, tuple(part)) for part in found]


_FROM = re.compile(r"\bfrom\s+(?:\w+\s+)?$", re.IGNORECASE)
"""`from 1 to 3` is a change."""
_SPAN = re.compile(r"\s*(?:-|–|to|through)\s*", re.IGNORECASE)


def _between(column: ColumnProfile | None, first: ColumnMention, last: ColumnMention) -> list[ColumnMention]:
    """Return the numbers of a column between two of its levels: `2000-2002` is 2001 too."""
    ends = sorted(number for level in (first.level, last.level) if (number := as_number(level)) is not None)
    inside = [
        level for level in (column.levels if column else ())
        if len(ends) == 2 and (number := as_number(level)) is not None and ends[0] < number < ends[1]
    ]  # fmt: skip
    return [first._replace(level=level) for level in sorted(inside, key=lambda level: as_number(level) or 0.0)]


def _the_rest(reading: Reading, item: _Stretch) -> tuple[int, int] | None:
    """Return the tokens of `versus the rest` behind levels, None where nothing of the kind stands there."""
    end = reading.words[item.place[1]].end
    said = _REST.match(reading.question, end)
    if said is None and {m.level for m in reading.mentions if m.column == item.column} <= {"", *item.levels}:
        said = _THAN_REST.match(reading.question, end)
        between = (end, said.end()) if said else (end, end)
        named = [m for m in reading.mentions if m.level and m.strength >= SURE]
        if any(between[0] <= reading.words[m.first].start < between[1] for m in named):
            said = None  # another level is nearer: `resistance higher in the ICU than on all other wards`
    at = [n for n, word in enumerate(reading.words) if said and end <= word.start < said.end()]
    own = [
        m.last for m in reading.mentions if at and m.first == at[-1] + 1 and (m.column, m.level) == (item.column, "")
    ]
    return (at[-1], max([at[-1], *own])) if at else None  # `the other wards`


def _called(group: _Stretch, known: Mapping[str, str], levels: Iterable[str]) -> str:
    """Return what levels are called together: `CR or PR`, `2000 to 2004`."""
    numbers = [as_number(level) for level in group.levels]
    run = len(numbers) > 2 and None not in numbers and numbers == sorted(numbers)  # type: ignore[type-var]
    ends = (numbers[0] or 0.0, numbers[-1] or 0.0)
    within = [number for level in levels if (number := as_number(level)) is not None and ends[0] <= number <= ends[1]]
    run &= len(within) == len(numbers)  # 1, 3 and 7 leave others out
    if run and not known:
        return f"{group.levels[0]} to {group.levels[-1]}"
    return " or ".join(known.get(level, level) for level in group.levels)


def _seen(
    reading: Reading, data: Data, sheet: Sheet, groups: tuple[_Stretch, ...], *, happened: bool
) -> tuple[Reading, Data] | None:
    column = sheet.column(groups[0].column)
    if column is None:
        return None
    known, pair = told_beside(column), len(groups) == 2
    called = [_called(group, known, column.levels) for group in groups]
    told = [" or ".join(in_words(level, known) for level in group.levels) for group in groups]
    rest = called[1] if pair else "neither" if happened and len(groups[0].levels) == 2 else "the rest"
    name = f"{column.name}: {called[0]} and {rest}" if pair else f"{column.name}: {called[0]}"
    # Rows of neither of two groups have no value: they are compared with nothing.
    other = f"if_else({_condition(column, groups[1])}, {rest!r}, '')" if pair else repr(rest)
    why = f"The question takes {told[0]} together" + (f", against {told[1]}." if pair else ".")
    counts = [sum(column.levels.get(level, 0) for level in group.levels) for group in groups]
    counts += [] if pair else [sum(column.levels.values()) - counts[0]]
    levels = dict(zip([called[0], rest], counts, strict=True))
    made = ColumnProfile(name=name, kind="category", scale="binary", distinct=2, levels=levels, order=[*levels][::-1])
    expression = f"if_else({_condition(column, groups[0])}, {called[0]!r}, {other})"
    shown = view(sheet, [*sheet.columns, made], sheet.structure.repeated, Made(name, expression, why, happened))
    survival = sheet.structure.survival
    if survival.get("event") == column.name:
        structure = shown.structure.model_copy(
            update={"survival": {**survival, "event": name, "event_value": called[0]}}
        )
        shown = Sheet(shown.profile.model_copy(update={"structure": structure}), made=shown.made)
    anew = data.seen(sheet, shown)
    places = [group.place for group in groups]
    places += [place] if not pair and not happened and (place := _the_rest(reading, groups[0])) else []
    mentions = [ColumnMention(name, text, *place, 1.0) for text, place in zip([called[0], rest], places, strict=False)]
    # `stage III or IV`: the name before them is said of the levels.
    lead = {
        m for m in reading.mentions for a, _ in places if m.column == column.name and not m.level and m.last == a - 1
    }
    kept = [m for m in reading.mentions if m not in lead and not any(a <= m.last and m.first <= b for a, b in places)]
    seen = reread(reading, [*kept, *mentions], anew)
    for m in lead:
        seen.mark(m.first, m.last, "column", column.name)
    taken = {level for group in groups for level in group.levels}
    seen.restrictions = [r for r in seen.restrictions if r.column != column.name or not {*r.values} <= taken]
    return seen, anew


def _condition(column: ColumnProfile, group: _Stretch) -> str:
    number = column.kind in ("integer", "number")
    return f"`{column.name}` in [{', '.join(level if number else repr(level) for level in group.levels)}]"
