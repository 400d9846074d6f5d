"""Rows cut at a number or along an order: `older than 60`, `aged 65 or over`, `65+`, `40 to 60 years`, `since 1970`, `stage III and above`.

The column is the one named beside the number. Where none is, persons of so many years are of the only age, and a year is of the
only column of years.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from engine.domain.profile import ColumnProfile
from engine.planning.naming.lexicon import UNITS, synonyms
from engine.planning.naming.mention import ColumnMention
from engine.planning.naming.numbers import CUT_AFTER, DOWN, THEN, UNIT, UP
from engine.planning.reading.coded import Coded
from engine.planning.reading.reading import Restriction
from engine.planning.tables.sheets import is_id
from engine.text.names import name_parts, name_pieces
from engine.text.numbers import as_number
from engine.text.times import time_unit

Op = Literal[">", ">=", "<", "<=", "between"]
_ABOVE: dict[str, Op] = {">": ">", ">=": ">=", "≥": ">=", "above": ">", "over": ">", "more than": ">", "greater than": ">", "at least": ">=", "older than": ">",
          "after": ">", "later than": ">", "since": ">=", "from": ">=", "exceeding": ">", "higher than": ">", "larger than": ">", "longer than": ">",
          "heavier than": ">", "taller than": ">", "beyond": ">", "no less than": ">=", "not less than": ">="}  # fmt: skip
_BELOW: dict[str, Op] = {"<": "<", "<=": "<=", "≤": "<=", "below": "<", "under": "<", "less than": "<", "fewer than": "<", "at most": "<=", "younger than": "<",
          "before": "<", "earlier than": "<", "until": "<=", "up to": "<=", "lower than": "<", "smaller than": "<", "shorter than": "<",
          "lighter than": "<", "prior to": "<", "no more than": "<=", "not more than": "<=", "not above": "<=", "not over": "<="}  # fmt: skip
COMPARED: dict[str, Op] = {**_ABOVE, **_BELOW}
CUT_WORDS = "|".join(re.escape(word) for word in sorted(COMPARED, key=len, reverse=True))
_SIZES = r"(?:not|no) (?:more|less) than|(?:more|greater|higher|larger|less|fewer|lower|smaller) than|at (?:least|most)|above|over|below|under|exceeding"
"""Those that cut a size and no time."""
_DOWN = re.compile(r"^(?:young|light|short|small|low|less|few|thin|earl|cold|slow|under|below)", re.IGNORECASE)
_NUMBER = r"(?P<n>(?<![\w.,])-?\d+(?:[.,]\d+)?)"
_END = rf"(?<!over )(?<!above )(?<!than )(?<!under )(?<!below ){_NUMBER}"
"""A number that may be an end itself: in `over 65 and younger` it is none of `65 and younger`."""
_OTHER = r"(?P<m>-?\d+(?:[.,]\d+)?)"
_WITH = r"\b(?:with|having|have|had|has|of|whose)\s+"
_PERSONS = r"(?:patients?|people|persons?|subjects?|women|men|adults?|males?|females?|participants?|individuals?|those|volunteers?|donors?|children|boys|girls|ones)"
_YEAR = r"(?P<n>(?:1[89]|20)\d\d)"


def compared(coded: Coded, columns: Mapping[str, ColumnProfile]) -> list[Restriction]:
    """Return the restrictions of a column to numbers that a sentence names; none where the column has no such values."""
    named = (_of_age(item, coded, columns) for item in _beside_column(coded, columns))
    before = (_of_age(item, coded, columns) for item in _before_column(coded))
    found = [*named, *before, *_without_column(coded, columns)]
    kept: list[Restriction] = []
    for item in found:
        column = columns.get(item.column)
        again = any((r.column, r.op[:1], r.values) == (item.column, item.op[:1], item.values) for r in kept)
        # `less than 5 neurons` counts them, whatever their numbers are.
        counts = column is not None and is_id(column) and coded.words[item.first].number is not None
        if column is not None and _cuts(item, column) and not (again or counts or _of_a_time(item, column, coded)):
            kept.append(item)
    cut = {(item.column, value) for item in kept for value in item.values}
    kept += [r for r in _at_a_value(coded, columns) if not any((r.column, v) in cut for v in r.values)]
    return [item for item in kept if not any(_is_of(item, other, coded) for other in kept)]


_ASKS_MODEL = re.compile(
    r"\b(?:expect|predict|surviv|alive|hazard|chance|probab|risk|thresh|cut|sensitiv|specific|power|margin|would|change of|increase of|limit)",
    re.IGNORECASE,
)
"""Where a value is one that something is expected at, read off a curve or judged by, and keeps no rows."""


def _at_a_value(coded: Coded, columns: Mapping[str, ColumnProfile]) -> Iterator[Restriction]:
    """Yield rows of one value of a number of many: `at age 8 only` of ages in decimals; what has few values has levels."""
    if _ASKS_MODEL.search(coded.question):
        return
    alone = r"(?![\d.,]*\s*(?:%|to\b|-|–|or\b|and\s+-?\d|,\s*-?\d|\+|×|x\s*\d))"
    form = rf"\b(?:at|only|when|where|for|with|of)\s+(?:the\s+)?(?P<c><c\d+>)\s*(?:==?|is|was|of|equals)?\s*{_NUMBER}{alone}"
    for match in re.finditer(form, coded.text, re.IGNORECASE):
        item = _made(coded, match, "between", match["n"], match["n"])
        column = columns.get(item.column)
        if column is not None and not column.levels and _cuts(item, column):
            yield item
    ages = _ages(columns)
    years = rf"\bat\s+(?:the\s+age\s+of\s+)?{_NUMBER}\s*(?:years?|yrs?)(?:\s+(?:old|of age))?\b{alone}"
    for match in re.finditer(years, coded.question, re.IGNORECASE) if len(ages) == 1 else ():
        if (age := columns.get(ages[0])) is not None and not age.levels:
            yield from _of_words(coded, ages[0], "between", match, match["n"], match["n"])


def _of_a_time(item: Restriction, column: ColumnProfile, coded: Coded) -> bool:
    """Say whether a cut is of a moment and the column of something else: nothing died more than 4 in `died after 4 weeks`."""
    near = coded.question[coded.words[item.first].start :]
    said = _MOMENT.search(near, 0, coded.words[item.last].end - coded.words[item.first].start + _UNIT_BEHIND)
    timed = column.role("time") > 0 or bool(time_unit(column.unit.lower())) or column.scale == "date"
    return said is not None and bool(time_unit(said["unit"].lower())) and not timed and not _called_by_time(column)


def _called_by_time(column: ColumnProfile) -> bool:
    return any(time_unit(part) or part in _TIMES for part in name_parts(column.name))


_TIMES = frozenset(
    "age ages time times duration stay span onset interval delay latency survival follow followup".split()
)
_MOMENT = re.compile(
    r"\b(?:after|before|since|until|by|from|prior to)\s+-?\d+(?:[.,]\d+)?\s*(?P<unit>[A-Za-z]+)", re.IGNORECASE
)
_UNIT_BEHIND = 10


def _is_of(item: Restriction, other: Restriction, coded: Coded) -> bool:
    """Say whether the number of one cut is counted of another column behind it: `cells with more than 10 foci` cuts the foci."""
    shares = item.column != other.column and item.values == other.values and coded.words[other.first].number is not None
    return shares and item.first < other.first <= item.last <= other.last


def _of_age(item: Restriction, coded: Coded, columns: Mapping[str, ColumnProfile]) -> Restriction:
    """Return what is said of the animals or persons themselves (`old goats, 8 and up`) as said of the only age."""
    own, ages = columns.get(item.column), _ages(columns)
    if own is None or own.scale not in ("code", "identifier") or len(ages) != 1:
        return item
    beyond = CUT_AFTER.match(coded.question, coded.words[item.last].end)
    if beyond is not None and bool(beyond["down"]) != item.op.startswith("<"):
        beyond = None  # `over 65 and younger` are two sides
    last = max(
        n for n, word in enumerate(coded.words) if word.start < (beyond.end() if beyond else coded.words[item.last].end)
    )
    before = [m.first for m in coded.mentions if m.column == ages[0] and m.last == item.first - 1]
    return item._replace(column=ages[0], first=before[0] if before else item.first, last=last)


def _beside_column(coded: Coded, columns: Mapping[str, ColumnProfile]) -> Iterator[Restriction]:
    text, gap = coded.numbers, r"\)?(?:\s+(?!<)\w+){0,2}?\s*"
    column = r"(?P<c><c\d+>)"
    for match in re.finditer(rf"{column}{gap}(?P<w>{CUT_WORDS}|than)\s*{_NUMBER}", text, re.IGNORECASE):
        said = coded.words[coded.inside(match["c"])[0].first].text
        op: Op = COMPARED.get(match["w"].lower()) or ("<" if _DOWN.match(said) else ">")
        yield _made(coded, match, op, match["n"])
    for match in re.finditer(rf"{column}{gap}(?:between|from)\s+{_NUMBER}\s*(?:and|to|-|–)\s*{_OTHER}", text, re.IGNORECASE):  # fmt: skip
        yield _made(coded, match, "between", match["n"], match["m"])
    for match in re.finditer(rf"{column}(?:\s+(?:of|is|was|being|aged|>=?))?\s*[,(]?\s*{_END}{UNIT}{THEN}", text, re.IGNORECASE):  # fmt: skip
        yield _made(coded, match, "<=" if match["down"] else ">=", match["n"])
    for match in re.finditer(rf"(?:{column}\s+)?{_END}{UNIT}\s*(?:or|and)\s+(?P<d><c\d+>)(?!\s*(?:than|-?\d))", text, re.IGNORECASE):  # fmt: skip
        mention = coded.inside(match["d"])[0]
        said = coded.words[mention.first].text
        before = coded.inside(match["c"])[0].column if match["c"] else ""
        whom = before in columns and columns[before].scale in ("code", "identifier")
        if said.endswith(("er", "est")) and (not before or whom or before == mention.column):
            yield _made(coded, match, "<=" if _DOWN.match(said) else ">=", match["n"])
    for match in re.finditer(rf"{_WITH}(?P<w>{CUT_WORDS})\s+{_NUMBER}\s+(?:(?!<)\w+\s+){{0,1}}{column}", text, re.IGNORECASE):  # fmt: skip
        yield _made(coded, match, COMPARED[match["w"].lower()], match["n"])
    yield from _on_an_occasion(coded)
    for match in re.finditer(rf"{_WITH}{_NUMBER}{THEN}\s+(?:(?!<)\w+\s+){{0,1}}{column}", text, re.IGNORECASE):
        yield _made(coded, match, "<=" if match["down"] else ">=", match["n"])
    for match in re.finditer(rf"{column}\s+(?:of\s+)?{_NUMBER}\s*(?:to|-|–)\s*{_OTHER}{UNIT}", text, re.IGNORECASE):
        if re.search(r"old|of age|years", match[0]) or coded.words[coded.inside(match["c"])[0].first].text == "aged":
            yield _made(coded, match, "between", match["n"], match["m"])


def _on_an_occasion(coded: Coded) -> Iterator[Restriction]:
    """Yield cuts of which the column follows with its occasion: `have a count above 200 (x1000) on day 21`."""
    form = (
        rf"{_WITH}(?:an?\s+)?(?:(?!<)\w+\s+){{1,2}}(?P<w>{CUT_WORDS})\s+{_NUMBER}\s*"
        r"(?:\(\s*|(?:\([^()]*\)\s*)?(?:on|at)\s+)(?P<c><c\d+>)"
    )
    for match in re.finditer(form, coded.numbers, re.IGNORECASE):
        yield _made(coded, match, COMPARED[match["w"].lower()], match["n"])


def _before_column(coded: Coded) -> Iterator[Restriction]:
    """Yield cuts whose number stands before the name: `above 9 % HbA1c`, `within 5 days of onset`."""
    text, column = coded.numbers, r"(?P<c><c\d+>)"
    for match in re.finditer(rf"\bwithin\s+(?:the\s+)?(?:first\s+)?{_NUMBER}\s*(?:(?!<)\w+\s+)?(?:of\s+|from\s+|since\s+|after\s+)?{column}", text, re.IGNORECASE):  # fmt: skip
        yield _made(coded, match, "<=", match["n"])
    for match in re.finditer(rf"(?P<w>\b(?:{_SIZES})|(?<=\s)[<>≤≥]=?)\s*{_NUMBER}\s*(?:%|[A-Za-zµμ%]+(?:/[A-Za-z0-9.]+)?)?\s+(?:(?:of|in)\s+)?{column}", text, re.IGNORECASE):  # fmt: skip
        if not re.search(
            r"<c\d+>(?:\s+\w+)?\s*$", text[: match.start()]
        ):  # of `age over 60 sex` the number is the age's
            yield _made(coded, match, COMPARED[match["w"].lower()], match["n"])


def _without_column(coded: Coded, columns: Mapping[str, ColumnProfile]) -> Iterator[Restriction]:
    """Yield what is said of persons by their years, and of years by themselves."""
    yield from _of_persons(coded, _ages(columns))
    yield from _in_a_unit(coded, columns)
    yield from _of_calendar(coded, _years(columns))


_BRACKET = re.compile(rf"\s*\(\s*(?P<w>{CUT_WORDS})\s*{_NUMBER}[^()\d]*\)", re.IGNORECASE)


def in_brackets(
    question: str, at: int, mention: ColumnMention, columns: Mapping[str, ColumnProfile]
) -> Restriction | None:
    """Return the cut of a column in brackets at a place, whose tokens are the column's: `with bad viability (<70)`."""
    match, column = _BRACKET.match(question, at), columns.get(mention.column)
    if match is None or column is None:
        return None
    item = _restriction(column.name, COMPARED[match["w"].lower()], [match["n"]], mention.first, mention.last)
    return item if _cuts(item, column) else None


def _of_persons(coded: Coded, ages: Sequence[str]) -> Iterator[Restriction]:
    """Yield what is said of how old persons are: `patients over 65`, `aged 18 to 40`."""
    question = coded.question
    if len(ages) == 1:
        forms = (
            rf"\b{_PERSONS}\s+(?:aged\s+|who (?:are|were)\s+)?(?P<w>over|above|under|below|(?:older|younger)\s+than)\s+{_NUMBER}",
            rf"\b{_PERSONS}\s+(?:aged\s+|of\s+|who (?:are|were)\s+)?{_END}{UNIT}{THEN}",
            rf"\b(?:the\s+)?(?P<w>over|under)[\s-]+{_NUMBER}s\b",
            rf"{_NUMBER}(?:\s*\+|\s*(?:years?|yrs?)\s*(?:\+|or (?:(?P<up>older)|(?P<down>younger))))\s*{_PERSONS}?\b",
        )
        for match in (m for form in forms for m in re.finditer(form, question, re.IGNORECASE)):
            groups = match.groupdict()
            word = (groups.get("w") or "").lower()
            op: Op = ("<" if _DOWN.match(word) else ">") if word else "<=" if groups.get("down") else ">="
            yield from _of_words(coded, ages[0], op, match, match["n"])
        for match in re.finditer(rf"\b(?:aged|between|ages)\s+{_NUMBER}\s*(?:to|-|–|and)\s*{_OTHER}(?:\s*(?:years?|yrs?|y)\b)?", question, re.IGNORECASE):  # fmt: skip
            if re.search(r"age|years?|yrs?", match[0], re.IGNORECASE):
                yield from _of_words(coded, ages[0], "between", match, match["n"], match["m"])


def _in_a_unit(coded: Coded, columns: Mapping[str, ColumnProfile]) -> Iterator[Restriction]:
    """Yield what is said by a unit that one column has: `those who weigh more than 90 kg`."""
    question = coded.question
    for match in re.finditer(rf"\b(?:who|that|which|with|having|of|weigh\w*|\w+er)\s+(?:(?!<)\w+\s+){{0,2}}?(?P<w>{CUT_WORDS}|than)\s+{_NUMBER}\s*(?P<u>[A-Za-z/%]+[23]?)\b", question, re.IGNORECASE):  # fmt: skip
        able = [c.name for c in columns.values() if _has_unit(c, match["u"].lower())]
        if len(able) == 1:
            way: Op = COMPARED.get(match["w"].lower()) or ("<" if _DOWN.search(match[0]) else ">")
            yield from _of_words(coded, able[0], way, match, match["n"])


def _of_calendar(coded: Coded, years: Sequence[str]) -> Iterator[Restriction]:
    """Yield what is said by calendar years: `since 2015`, `between 1998 and 2004`."""
    question = coded.question
    if len(years) == 1:
        for match in re.finditer(rf"\b(?P<w>since|after|from|before|until|prior to|up to)\s+{_YEAR}(?P<on>\s+on\w*)?\b", question, re.IGNORECASE):  # fmt: skip
            yield from _of_words(coded, years[0], COMPARED[match["w"].lower()], match, match["n"])
        for match in re.finditer(rf"(?<![\w-]){_YEAR}{THEN}", question, re.IGNORECASE):
            yield from _of_words(coded, years[0], "<=" if match["down"] else ">=", match, match["n"])
        for match in re.finditer(rf"\b(?:between|from)\s+{_YEAR}\s+(?:and|to)\s+(?P<m>(?:1[89]|20)\d\d)\b", question, re.IGNORECASE):  # fmt: skip
            yield from _of_words(coded, years[0], "between", match, match["n"], match["m"])


def _ages(columns: Mapping[str, ColumnProfile]) -> list[str]:
    """Return the columns that hold how old somebody is."""
    alike = {word for group in synonyms().get("age", []) for word in group} | {"age"}
    able = [
        c for c in columns.values() if c.kind in ("integer", "number") and c.scale in ("number", "count", "ordered")
    ]
    return [c.name for c in able if alike & {part for part in name_parts(c.name) if part != "years"}]


def _has_unit(column: ColumnProfile, unit: str) -> bool:
    """Say whether a measurement is in a unit, as its name or the file says; spans of time stand in every study."""
    own = {column.unit.lower(), *name_pieces(column.name)[1:]}
    return column.scale in ("number", "count") and unit in UNITS and not time_unit(unit) and unit in own


def _years(columns: Mapping[str, ColumnProfile]) -> list[str]:
    """Return the columns that hold calendar years."""
    return [
        c.name
        for c in columns.values()
        if c.kind == "integer" and c.minimum is not None and c.minimum >= 1800 and (c.maximum or 0) <= 2100
    ]


def _made(coded: Coded, match: re.Match[str], op: Op, *values: str) -> Restriction:
    """Return the restriction of the column in a piece of the coded text; its tokens are those of the mentions in it."""
    inside = coded.inside(match[0])
    column = coded.inside(match.groupdict().get("c") or match.groupdict()["d"])[0].column
    own = [m for m in inside if m.column == column]
    last, ends = own[-1].last, {as_number(value.lstrip("-").replace(",", ".")) for value in values}
    near = range(last, min(last + 6, len(coded.words)))
    told = [next((at for at in near if coded.words[at].number == end), last) for end in ends]
    first = own[0].first
    ahead = [at for at in range(max(0, first - 4), first) if coded.words[at].number in ends]
    return _restriction(
        column, op, values, ahead[0] if ahead and told == [last] * len(told) else first, max([last, *told])
    )


def _of_words(coded: Coded, column: str, op: Op, match: re.Match[str], *values: str) -> Iterator[Restriction]:
    at = [n for n, word in enumerate(coded.words) if match.start() <= word.start < match.end()]
    if at:
        yield _restriction(column, op, values, at[0], at[-1])


def _restriction(column: str, op: Op, values: Sequence[str], first: int, last: int) -> Restriction:
    numbers = sorted(float(value.replace(",", ".")) for value in values)
    return Restriction(column, op, tuple(f"{number:.12g}" for number in numbers), first, last, sure=True)


def _cuts(item: Restriction, column: ColumnProfile) -> bool:
    """Say whether a column of numbers can be cut there: `hauls from 1977` are not those numbered 1977 and above."""
    if column.kind not in ("integer", "number") or column.scale in ("code", "identifier"):
        return False
    low, high = column.minimum, column.maximum
    return low is None or high is None or any(low <= float(value) <= high for value in item.values)


_LEVEL_ON = re.compile(
    rf"\bfrom\s+(?:<c\d+>\s*|\w+\s+)?(?P<l><l\d+>)\s+(?:on|onwards?)\b|(?P<m><l\d+>)(?:\s*\+|\s+(?:or|and)\s+(?:(?P<up>{UP})|(?P<down>{DOWN}))\b|\s+onwards?)",
    re.IGNORECASE,
)


def onwards(coded: Coded, columns: Mapping[str, ColumnProfile]) -> list[Restriction]:
    """Return `from day 2 on` and `stage III or higher`: a level of an order and all beyond it."""
    found: list[Restriction] = []
    for match in _LEVEL_ON.finditer(coded.text):
        mention = coded.inside(match["l"] or match["m"])[0]
        column = columns.get(mention.column)
        order = list(column.order) if column is not None else []
        if column is None or column.scale in ("code", "identifier"):
            continue
        if as_number(mention.level) is not None:
            op: Op = "<=" if match["down"] else ">="
            found.append(_restriction(mention.column, op, [mention.level], mention.first, mention.last))
        elif mention.level in order:
            at = order.index(mention.level)
            kept = order[: at + 1] if match["down"] else order[at:]
            found.append(Restriction(mention.column, "in", (*kept,), mention.first, mention.last, sure=True))
    return found
