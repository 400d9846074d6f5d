"""Two sides of a number as groups: `younger than 60 against 60 and over`, `CRP above versus below the median`, `high or low ferritin`.

The sentence sets apart rows that no column tells apart. A step makes the column first, and the plan is made with it as if the file
had it.
"""

# Most methods of pandas carry no types of what they return, which is all that these rules would find here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

import re
from typing import NamedTuple

from engine.domain.profile import ColumnProfile
from engine.planning.formulas.views import view
from engine.planning.naming.mention import ColumnMention
from engine.planning.naming.numbers import CUT_AFTER, THEN, UNIT
from engine.planning.reading.coded import Coded
from engine.planning.reading.cuts import COMPARED, CUT_WORDS
from engine.planning.reading.read import reread
from engine.planning.reading.reading import Reading, Restriction
from engine.planning.tables.sheets import Data, Made, Sheet, is_group, is_id
from engine.text.stopwords import STOP
from engine.text.tokens import tokens

_THE_REST = re.compile(
    r"\b(?:than|versus|vs\.?|against|compared (?:to|with)|and|or)\s+(?:the\s+|in\s+|those\s+|with\s+)*"
    r"(?P<rest>rest|others?|remaining|younger|older|lower|higher|below|above|under|over|less|more|fewer|smaller|larger)\b(?:\s+ones?\b)?(?!\s+(?:than|<))",
    re.IGNORECASE,
)
_OTHER_SIDE = re.compile(
    rf"\s*\)?\s*(?:versus|vs\.?|against|compared (?:to|with)|or|and)\s+(?:the\s+|those\s+|with\s+|in\s+)*(?P<w>{CUT_WORDS})\s*(?P<n>-?\d+(?:[.,]\d+)?)",
    re.IGNORECASE,
)
"""`over 300 vs not more than 300`, where the other side does not name the column again."""
_C = r"(?P<c><c\d+>)"
_VS = r"\s*(?:versus|vs\.?|against|and|or|than|/|compared (?:to|with))\s*(?:the\s+|in\s+|those\s+|with\s+|a\s+|at\s+)*"
_HIGH, _LOW = r"(?:high|higher|above|over|upper|elevated|raised)", r"(?:low|lower|below|under)"
_ENDS = rf"(?:(?P<high>{_HIGH})|(?P<low>{_LOW}))"
_OTHER = rf"(?:(?P<high2>{_HIGH})|(?P<low2>{_LOW}))"
_MEDIAN = r"(?:the\s+|its\s+|their\s+)?median(?:\s+(?:of\s+)?(?:the\s+)?)?"
_AT_MEDIAN = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"\b{_ENDS}(?:[\s-]+{_C})?{_VS}{_OTHER}[\s-]+(?:{_MEDIAN})?{_C.replace('c>', 'd>', 1)}",
        rf"{_C}[\s-]*(?:is\s+)?{_ENDS}(?:\s+{_MEDIAN})?{_VS}(?:{_C.replace('c>', 'd>', 1)}[\s-]*)?{_OTHER}(?:\s+{_MEDIAN})?",
        rf"{_C}\s+{_ENDS}\s+{_MEDIAN}{_VS}{_OTHER}(?:\s+{_MEDIAN})?",
        rf"\b{_ENDS}(?:\s+or\s+\w+)?\s+(?:versus|vs\.?|and|or|against)\s+{_OTHER}\s+{_MEDIAN}{_C}",
    )
)
_ONE_SIDE = re.compile(rf"{_C}(?:\s+(?!<)\w+){{0,2}}?\s+{_ENDS}\s+{_MEDIAN}", re.IGNORECASE)
_SPLIT = (
    re.compile(rf"\bmedian[\s-]split\s+(?:of|on|by|for)?\s*(?:the\s+)?{_C}", re.IGNORECASE),
    re.compile(rf"{_C}(?:\s+(?!<)\w+){{0,3}}?\s+(?:at|by|on|around)\s+(?:the|its)\s+median\b", re.IGNORECASE),
    re.compile(
        rf"\b(?:split|dichotomi[sz]e\w*|cut|halve\w*)\s+(?:\w+\s+){{0,3}}?{_C}\s+(?:at|by|into)\b", re.IGNORECASE
    ),
)


class _Cut(NamedTuple):
    """Where a column is cut into two, and which words name the sides."""

    column: str
    at: float | None
    """None for the median."""
    including: bool
    """True where the number itself is on the upper side."""
    above: list[tuple[int, int]]
    """Stretches of the question (tokens from, to) that name the upper side."""
    below: list[tuple[int, int]]
    whole: list[tuple[int, int]]
    """Stretches that name the column so cut."""
    counted: bool = False
    """True where being on the side that is named is what happened: how many are is asked."""


def with_sides(reading: Reading, data: Data) -> tuple[Reading, Data] | None:
    """Return question and data with the two sides of a number as groups; None where the question sets none apart."""
    cut = (
        _of_two_cuts(reading)
        or _of_a_truth(reading)
        or _of_the_rest(reading, data)
        or _of_halves(reading, data)
        or _of_a_share(reading, data)
    )
    sheet = data.home([cut.column]) if cut else None
    column = sheet.column(cut.column) if cut and sheet else None
    if cut is None or sheet is None or column is None or not _is_measured(column):
        return None
    return _seen(cut, reading, data, sheet, column)


def _is_measured(column: ColumnProfile) -> bool:
    return column.kind in ("integer", "number") and column.scale in ("number", "count", "share", "ordered")


def _of_two_cuts(reading: Reading) -> _Cut | None:
    """Return the cut of two restrictions between which every row lies: below 60, and 60 and over."""
    cuts = [r for r in reading.restrictions if r.op in (">", ">=", "<", "<=")]
    for upper in (r for r in cuts if r.op in (">", ">=")):
        for lower in (r for r in cuts if r.op in ("<", "<=") and (r.column, r.values) == (upper.column, upper.values)):
            including = upper.op == ">=" or lower.op == "<"
            return _Cut(upper.column, float(upper.values[0]), including, [_place(upper)], [_place(lower)], [])
    return None


def _place(item: Restriction) -> tuple[int, int]:
    return item.first, item.last


_JUDGED = re.compile(
    r"\b(?:sensitiv\w*|specific(?:ity|ities)|predictive values?|ppv|npv|false (?:posi|nega)tives?)\b", re.IGNORECASE
)
_TRULY = re.compile(
    r"\b(?:true|truly|real|really|truth|gold|reference|to (?:find|detect|identify|predict|diagnose|catch|pick up|tell|spot))\b[^,;.?!]*$",
    re.IGNORECASE,
)


def _of_a_truth(reading: Reading) -> _Cut | None:
    """Return the cut of a number that is the truth, where a test is one too: `cystatin eGFR < 30 to find a true GFR under 30`."""
    cuts = [r for r in reading.restrictions if r.op in (">", ">=", "<", "<=")]
    if len(cuts) != 2 or cuts[0].column == cuts[1].column or not _JUDGED.search(reading.question):
        return None
    begins = [reading.words[item.first].start for item in cuts]
    ends = [0, reading.words[cuts[0].last].end]
    said = [bool(_TRULY.search(reading.question, end, begin)) for end, begin in zip(ends, begins, strict=True)]
    item = cuts[0] if said == [True, False] else cuts[1]
    return _counted(item)


def named_with(reading: Reading, at: int) -> list[str]:
    """Return the columns that the request names in which a token stands, all where it stands in none."""
    own = next((r for r in reading.requests if r.first <= at <= r.last), None)
    inside = [m.column for m in reading.mentions if own is None or own.first <= m.first <= own.last]
    return list(dict.fromkeys(inside))


_HOW_MANY = re.compile(r"\bhow many\b|\bnumber of\b", re.IGNORECASE)
_LOOSE = re.compile(
    rf"(?:\b(?P<w>{CUT_WORDS})\s*)?(?:\b1\s*:\s*)?(?P<n>(?<![\w.,:])\d+(?:\.\d+)?|(?<=1:)\d+|(?<=1: )\d+){UNIT}{THEN}?",
    re.IGNORECASE,
)


def _apart_from_column(reading: Reading, data: Data) -> list[Restriction]:
    """Return the cut of the only measurement that is named, where its number stands apart: `at D180 how many have 1:80 or more`."""
    measured = [name for name in reading.named() if (c := data.column(name)) and _is_measured(c) and not is_id(c)]
    found: list[Restriction] = []
    for match in _LOOSE.finditer(reading.question) if len(measured) == 1 else ():
        op = COMPARED.get((match["w"] or "").lower()) or (
            "<=" if match["down"] else ">=" if match["up"] or "+" in match[0] else ""
        )
        at = [n for n, word in enumerate(reading.words) if match.start() <= word.start < match.end()]
        if op and at and not any(m.first <= at[-1] and at[0] <= m.last for m in reading.mentions):
            found.append(Restriction(measured[0], op, (match["n"],), at[0], at[-1], sure=True))
    return found


def _counted(item: Restriction) -> _Cut:
    """Return a cut of which being on the named side is what happened."""
    up = item.op in (">", ">=")
    above, below = ([_place(item)], []) if up else ([], [_place(item)])
    return _Cut(item.column, float(item.values[0]), item.op in (">=", "<"), above, below, [], counted=True)


_MORE_IN = re.compile(
    r"\b(?:worse|better|more|less|fewer|increased|reduced|raised|(?!other|over|under|after|whether|number)\w{3,}er)\b[^.,;:?!]{0,40}"
    r"\b(?:in|with|among|for|of)\b[^.,;:?!]{0,25}$",
    re.IGNORECASE,
)


def _is_more_in(item: Restriction, reading: Reading, data: Data) -> bool:
    """Say whether something is asked to be more in these rows than in all others: `is pain worse over 65?`."""
    others = [c for name in reading.named() if name != item.column and (c := data.column(name)) and is_group(c)]
    apart = [c for c in others if not reading.is_a(c.name, "outcome", "adjust")]
    asked = reading.question[: reading.words[item.first].start]
    return not apart and not reading.contrasts and _MORE_IN.search(asked) is not None


_CALLED = re.compile(
    r"(?:\s+or\s+(?:more|higher|less|lower|above|below|over|under))?\s*\)?\s*(?:=|\b(?:is|are|means?|counts? as|(?:is|are) called|defines?)\b)"
    r"\s*['\"]?(?P<name>[A-Za-z][\w -]{2,40}?)['\"]?\s*[.;:]\s+(?P<rest>.+)",
    re.IGNORECASE | re.DOTALL,
)
_BACK = re.compile(r"\b(?:these|those|such)\s+\w+", re.IGNORECASE)


def _defined_before(item: Restriction, reading: Reading) -> tuple[int, int] | None:
    """Return the words that point back to those whom a cut only defines: `BHB 1.2 or more = ketosis. Do these cows ...`."""
    said = _CALLED.match(reading.question, reading.words[item.last].end)
    if said is None:
        return None
    heads = {token.stem for token in tokens(said["name"])} - STOP
    back = _BACK.search(reading.question, said.start("rest"))
    for at, word in enumerate(reading.words):
        if (back and word.start == back.start()) or (word.start >= said.start("rest") and word.stem in heads):
            return at, at
    return None


def _of_the_rest(reading: Reading, data: Data) -> _Cut | None:
    """Return the cut of a restriction that is set against all other rows: `over 65 versus younger`."""
    cuts = [r for r in reading.restrictions if r.op in (">", ">=", "<", "<=")]
    if len(cuts) != 1:
        return None
    item = cuts[0]
    end = reading.words[item.last].end
    up = item.op in (">", ">=")
    if (other := _OTHER_SIDE.match(reading.question, end)) and float(other["n"].replace(",", ".")) == float(
        item.values[0]
    ):
        way = COMPARED[other["w"].lower()]
        at = [n for n, word in enumerate(reading.words) if other.start("w") <= word.start < other.end()]
        if at and way[0] != item.op[0]:
            sides = [_place(item)], [(at[0], at[-1])]
            above, below = sides if up else sides[::-1]
            return _Cut(item.column, float(item.values[0]), ">=" in (item.op, way), above, below, [])
    own = CUT_AFTER.match(reading.question, end)  # `8 or older` is one side and sets nothing against it
    same = own is not None and bool(own["down"]) != up
    said = _THE_REST.search(reading.question, own.end() if own and same else end)
    if said is None:
        if (back := _defined_before(item, reading)) is not None:
            whole = [_place(item), *((m.first, m.last) for m in reading.mentions if m.column == item.column)]
            above, below = ([back], []) if up else ([], [back])
            return _Cut(item.column, float(item.values[0]), item.op in (">=", "<"), above, below, whole)
        place = [_place(item)] if _is_more_in(item, reading, data) else []
        above, below = (place, []) if up else ([], place)
        return _Cut(item.column, float(item.values[0]), item.op in (">=", "<"), above, below, []) if place else None
    rest = [n for n, word in enumerate(reading.words) if word.start == said.start("rest")]
    other = [(rest[0], rest[0])] if rest else []
    above, below = ([_place(item)], other) if up else (other, [_place(item)])
    return _Cut(item.column, float(item.values[0]), item.op in (">=", "<"), above, below, [])


SHARE = re.compile(r"(?<!\d)(?<!\d )%|\bper ?cent|\b(?:percentage|share|proportion|fraction)\b", re.IGNORECASE)
HAVE = re.compile(r"\b(?:has|have|had|having|with|is|are|was|were|reach\w*)\s+(?:[\w-]+\s+){0,3}$", re.IGNORECASE)


def _of_a_share(reading: Reading, data: Data) -> _Cut | None:
    """Return the cut of rows whose share is asked: `what percentage has a pressure over 140, by ward`.

    What else is named are groups of which each has its share; an outcome of its own leaves the cut rows that are kept.
    """
    cuts = [r for r in reading.restrictions if r.op in (">", ">=", "<", "<=")] or _apart_from_column(reading, data)
    counted = SHARE.search(reading.question) or (_HOW_MANY.search(reading.question) and reading.named())
    if len(cuts) != 1 or not counted:
        return None
    item = cuts[0]
    beside = named_with(reading, item.first)
    whom = {item.subject for sheet in data.sheets for item in sheet.structure.repeated}
    others = [c for n in beside if n not in (item.column, *whom) and (c := data.column(n)) and not is_id(c)]
    apart = all(is_group(c) and reading.parts.get(c.name) != {"outcome"} for c in others)
    if not SHARE.search(reading.question) and not any(is_group(c) and c.name in reading.named() for c in others):
        return None  # `how many are over 15` asks for rows, not for shares of groups
    if not apart or not HAVE.search(reading.question[: reading.words[item.first].start]):
        return None
    return _counted(item)


def _of_halves(reading: Reading, data: Data) -> _Cut | None:
    """Return the cut at the median, where high and low values of a measurement are set against each other."""
    coded = Coded(reading.question, reading.words, reading.mentions)
    for form in _AT_MEDIAN:
        for match in form.finditer(coded.text):
            groups = match.groupdict()
            named = coded.inside((groups.get("c") or "") + (groups.get("d") or ""))
            ends = {key: groups.get(key) for key in ("high", "low", "high2", "low2")}
            if len({m.column for m in named}) != 1 or bool(ends["high"]) == bool(ends["high2"]):
                continue
            column = data.column(named[0].column)
            if column is None or not _is_measured(column) or column.distinct <= FEW:
                continue
            places = {key: _token(coded, reading, match, key) for key, text in ends.items() if text}
            above = [(at, at) for key, at in places.items() if key.startswith("high") and at is not None]
            below = [(at, at) for key, at in places.items() if key.startswith("low") and at is not None]
            return _Cut(column.name, None, False, above, below, [(m.first, m.last) for m in named])
    for match in _ONE_SIDE.finditer(coded.text):
        mention, column = coded.inside(match["c"])[0], data.column(coded.inside(match["c"])[0].column)
        if (
            column is not None
            and _is_measured(column)
            and column.distinct > FEW
            and _asks_of_the_side(reading, mention)
        ):
            last = mention.last + len(re.findall(r"\w+", match[0][match[0].index(">") + 1 :]))
            place = [(mention.first, min(last, len(reading.words) - 1))]
            above, below = (place, []) if match["high"] else ([], place)
            return _Cut(column.name, None, False, above, below, [])
    for form in _SPLIT:
        for match in form.finditer(coded.text):
            mention = coded.inside(match["c"])[0]
            column = data.column(mention.column)
            if column is not None and column.distinct > FEW and "median" in match[0].lower():
                return _Cut(column.name, None, False, [], [], [(mention.first, mention.last)])
    return None


def _asks_of_the_side(reading: Reading, mention: ColumnMention) -> bool:
    """Say whether being on one side of the median is asked about and keeps no rows: `does a CRP above the median mean more deaths`."""
    before = reading.question[: reading.words[mention.first].start]
    return (
        re.search(
            r"\b(?:only|just|among|in (?:those|patients|people|animals)|for those)\b[^,;.?!]*$", before, re.IGNORECASE
        )
        is None
    )


FEW = 6
"""A column of fewer different numbers has levels of its own."""


def _token(coded: Coded, reading: Reading, match: re.Match[str], key: str) -> int | None:
    """Return the token of the question where a word of the coded text stands."""
    before = len(re.findall(r"[^\W_]+|<[cl]\d+>", coded.text[: match.start(key)]))
    at = 0
    for _ in range(before):
        inside = next((m for m in coded.mentions if m.first == at), None)
        at = inside.last + 1 if inside else at + 1
    return at if at < len(reading.words) else None


NEXT = 2
"""The cut column's own name stands so near before the cut: `BHB of 1.2 or more`."""


def _seen(cut: _Cut, reading: Reading, data: Data, sheet: Sheet, column: ColumnProfile) -> tuple[Reading, Data] | None:
    import pandas as pd

    values = pd.Series(pd.to_numeric(sheet.frame()[column.name], errors="coerce"))
    at = float(values.median()) if cut.at is None else cut.at
    upper = pd.Series(values >= at if cut.including else values > at)
    counts = [int((upper & values.notna()).sum()), int((~upper & values.notna()).sum())]
    if min(counts) < 1:
        return None
    said = f"{at:.12g}"
    above, below = (f"{said} or above", f"below {said}") if cut.including else (f"above {said}", f"up to {said}")
    name = f"{column.name} cut at {said}" if cut.at is not None else f"{column.name} cut at its median {said}"
    sign = ">=" if cut.including else ">"
    made = Made(
        name,
        f"if_else(`{column.name}` {sign} {said}, {above!r}, {below!r})",
        f"The question sets the rows on both sides of {said} against each other.",
        happened=cut.counted,
    )
    levels = dict(zip((above, below), counts, strict=True))
    profile = ColumnProfile(name=name, kind="category", scale="binary", distinct=2, levels=levels, order=[below, above])
    shown = view(sheet, [*sheet.columns, profile], sheet.structure.repeated, made)
    shown.rows = sheet.frame().assign(**{name: upper.map({True: above, False: below}).where(values.notna())})
    anew = data.seen(sheet, shown)
    mentions = [ColumnMention(name, above, *place, 1.0) for place in cut.above]
    mentions += [ColumnMention(name, below, *place, 1.0) for place in cut.below]
    taken = [*cut.above, *cut.below]
    mentions += [ColumnMention(name, "", *p, 1.0) for p in cut.whole if not any(a <= p[0] <= b for a, b in taken)]
    spans = [*taken, *cut.whole]
    rest = [
        m for m in reading.mentions
        if not any(a - (NEXT if m.column == column.name else 0) <= m.last and m.first <= b for a, b in spans)
    ]  # fmt: skip
    if cut.counted:  # its name elsewhere in the sentence says which column is cut: `reach score 3 or more at day 5`
        own = [r for r in reading.requests if any(r.first <= a <= r.last for a, _ in spans)]
        rest = [m for m in rest if m.column != column.name or not any(r.first <= m.first <= r.last for r in own)]
    seen = reread(reading, [*rest, *mentions], anew)
    # What a side is called by is no row to keep of the column that is cut.
    seen.restrictions = [r for r in seen.restrictions if r.column != column.name or r.op in ("in", "not in")]
    return seen, anew
