"""What words mean by the structure of the data alone: `dose`, `over time`, `the patients`, `the third brood`, `at 2 h`.

A word of general language names the one column that plays its part; a label names the column of a wide measure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from engine.data.structure.scales import hint
from engine.domain.profile import Structure, WideMeasure
from engine.planning.naming.lexicon import UNITS
from engine.planning.naming.mention import SURE, SURE_NAME, ColumnMention
from engine.planning.naming.names import QUANTITIES
from engine.planning.naming.numbers import DOWN, UP
from engine.planning.tables.sheets import Sheet, is_group
from engine.text.names import name_parts, name_pieces
from engine.text.numbers import as_number
from engine.text.stems import stem
from engine.text.times import time_unit, timed
from engine.text.tokens import Token

WHOM = frozenset(
    "patients patient subjects subject animals animal persons person people individuals individual participants volunteers "
    "volunteer".split()
)
"""Words of general language for those whom the rows are about; where no column names them, they say nothing more."""
LIVING = frozenset(
    "birds bird fish mice rats dogs dog cats cat pigs pig sheep goats goat horses horse chicks chick trees tree mothers mother "
    "babies baby infants infant newborns newborn children kids".split()
)
"""Whom rows are often about; columns and levels may be called so."""


def names_only_whom(mention: ColumnMention, words: Sequence[Token]) -> bool:
    """Say whether a mention is only a plural for those whom the rows are about: `the ill people`."""
    word = words[mention.first].text
    return mention.width == 1 and word in WHOM and (word.endswith("s") or word == "people")


_MEANT: tuple[tuple[frozenset[str], Callable[[Sheet], list[str]]], ...] = (
    (frozenset({"dose", "doses", "dosage", "concentration", "concentrations", "conc", "concs"}), lambda s: s.structure.doses),
    (frozenset({"time", "times", "timepoint", "timepoints", "visits", "occasions", "longitudinal"}), lambda s: s.structure.times),
    (frozenset({"days", "daily", "day"}), lambda s: _with(s.structure.times, "day")),
    (frozenset({"weeks", "weekly", "week"}), lambda s: _with(s.structure.times, "week")),
    (frozenset({"months", "monthly", "month"}), lambda s: _with(s.structure.times, "month")),
    (frozenset({"years", "year", "yearly"}), lambda s: [n for n in s.structure.times if {*name_parts(n)} & _YEAR]),
    (WHOM,
     lambda s: [item.subject for item in s.structure.repeated[:1] if not hint(item.subject, "cluster", "batch")]),
    (frozenset({"groups", "treatments", "arms", "drugs", "conditions", "compounds", "inhibitors"}), lambda s: _groups(s)),
)  # fmt: skip
_YEAR = frozenset("year jahr annee ano anno season yr".split())
_ONE = frozenset("group treatment arm drug condition compound inhibitor".split())
"""One of the groups, where a word before it means all of them."""
_ALL_OF = frozenset("each every per which".split())


def _groups(sheet: Sheet) -> list[str]:
    apart = {*sheet.structure.times, *(r.subject for r in sheet.structure.repeated)}
    return [c.name for c in sheet.columns
            if is_group(c) and c.scale in ("category", "binary", "code", "ordered") and c.name not in apart]  # fmt: skip


def _each_group(words: Sequence[Token], sheet: Sheet) -> list[ColumnMention]:
    """Return `each group` and `which drug` as a mention of the only column of groups; doses are none."""
    here = [at for at, token in enumerate(words) if at and token.text in _ONE and words[at - 1].text in _ALL_OF]
    names = [name for name in _groups(sheet) if name not in sheet.structure.doses] if here else []
    return [ColumnMention(names[0], "", at, at, 0.62) for at in here] if len(names) == 1 else []


def _measured_in(words: Sequence[Token], sheet: Sheet) -> list[ColumnMention]:
    """Return `temperature` as a mention of `storage_C`, where one column alone has a unit of that quantity."""
    found: list[ColumnMention] = []
    for at, token in enumerate(words):
        names, sure = _of_quantity(token.text, sheet), token.text in MEASURED_AS
        if said := SAID_UNITS.get(token.text):  # `most kilos`, also of so many on a hectare
            names = [
                c.name
                for c in sheet.columns
                if c.scale in ("number", "count") and said in (c.unit, *name_pieces(c.name)[1:])
            ]
        if len(names) == 1:
            found.append(ColumnMention(names[0], "", at, at, SURE if sure else 0.62))
        elif _BIGGER.fullmatch(token.text) and at + 1 < len(words) and not _NO_SIZE.match(words[at + 1].text):
            sizes = (_of_quantity(quantity, sheet) for quantity in _SIZES)
            first = next((names for names in sizes if names), list[str]())
            found += [ColumnMention(name, "", at, at, SURE) for name in first[:1] if len(first) == 1]
    return found


def _of_quantity(word: str, sheet: Sheet) -> list[str]:
    units = QUANTITIES.get(word, "").split()
    return [c.name for c in sheet.columns if (c.unit.lower() or _unit(c.name)) in units] if units else []


_SIZES = ("area", "volume", "length", "weight")
"""What is bigger than another has more of the first of these that was measured: `bigger ulcers`."""
MEASURED_AS = frozenset(("weight", "mass", "length", "height", "temperature", "temperatures"))
"""Quantities whose words mean nothing else, as an area, a pressure and hours may."""
_BIGGER = re.compile(r"(?:bigg|larg|small)er")
_NO_SIZE = re.compile(
    r"(?:than|in|on|with|at|for|and|or|if|when|effect|differen|change|increase|decrease|rise|drop|gain|loss|share|part|proportion|"
    r"percent|number|amount|dose|sample|group|area|volume|size|length|weight|value|score|variation|spread|risk|odds|response)"
)
"""What has no size of its own, or names what was measured."""


def _what_is_counted(words: Sequence[Token], sheet: Sheet) -> list[ColumnMention]:
    """Return `the most insects` as a mention of the only column that is called `count`, which says not of what."""
    names = [c.name for c in sheet.columns if c.scale == "count" and "".join(name_parts(c.name)) in COUNT]
    return [
        ColumnMention(names[0], "", at, at, 0.62)
        for at, token in enumerate(words)
        if len(names) == 1
        and at
        and (words[at - 1].text in _SO_MANY or [w.text for w in words[max(0, at - 2) : at]] == ["number", "of"])
        and token.text.endswith("s")
        and token.text not in ROWS | WHOM
        and not time_unit(token.text)
    ]


COUNT = frozenset("count counts number numbers abundance abundances anzahl nombre conteo".split())
"""What a column is called that says not of what it is the number."""
_SO_MANY = frozenset("most fewest more fewer many mean average total least".split())
ROWS = frozenset(
    "rows samples values observations records measurements replicates groups levels columns plots sites entries repeats times "
    "units cases differences effects counts numbers pairs comparisons tests".split()
)
"""What may be many and is not what such a column counts."""
SAID_UNITS = {
    word: unit
    for unit, words in {"kg": "kilo kilos kilograms kilogrammes", "g": "grams grammes gramos", "l": "litres liters litros", "t": "tonnes tons toneladas",
                        "cm": "centimetres centimeters", "mm": "millimetres millimeters"}.items()
    for word in words.split()
}  # fmt: skip
"""What people say for a unit, by which they mean what is measured in it."""


def _unit(name: str) -> str:
    """Return the unit at the end of a name of two pieces (`storage_C`); one of three is of a ratio (`N_kg_ha`)."""
    pieces = name_pieces(name)
    return pieces[1] if len(pieces) == 2 and pieces[0] not in UNITS else ""


_ALLOCATED = frozenset(
    "group arm treatment trt tx rx therapy allocation allocated randomisation randomization intervention treatmentgroup studyarm".split()
)
"""What the column is conventionally called that says what somebody was given."""
_GIVEN = frozenset("treatment treated treating therapy intervention allocation untreated".split())


def _given(words: Sequence[Token], sheet: Sheet) -> list[ColumnMention]:
    """Return `the treatment` as a mention of the only column that is called as what was given is: Group, arm."""
    names = [c.name for c in sheet.columns if is_group(c) and "".join(name_parts(c.name)) in _ALLOCATED]
    here = [at for at, token in enumerate(words) if token.text in _GIVEN]
    return [ColumnMention(names[0], "", at, at, 0.8) for at in here] if len(names) == 1 else []


_WHEN = frozenset("before after during pre post prior until since".split())


def only_when(mention: ColumnMention, words: Sequence[Token]) -> bool:
    """Say whether a mention only tells when: `pain before treatment` names no arm, `after adjusting for age` no occasion."""
    word, before = words[mention.first].text, words[mention.first - 1].text if mention.first else ""
    if (
        mention.width == 1
        and word in _WHEN
        and _HELD.match(words[mention.last + 1].text if mention.last + 1 < len(words) else "")
    ):
        return True
    after = " ".join(token.text for token in words[mention.last + 1 : mention.last + 3])
    if mention.width == 1 and word in _WHEN and re.fullmatch(DONE_NEXT, after):
        return True
    vague = mention.width == 1 and not mention.level and mention.strength < 1
    if vague and before in ("this", "that") and time_unit(word):
        return True  # `pregnant at this day` points back
    return vague and ((word in _GIVEN and before in _WHEN) or (word in _BEGUN and before in (*_WHEN, "from", "to")))


_BEGUN = frozenset(
    "diagnosis enrolment enrollment randomisation randomization surgery operation admission discharge inclusion".split()
)
"""What a follow-up begins with: `survival after diagnosis` is not asked of the age at diagnosis."""
DONE_NEXT = (
    r"(?:i|we) (?:send|submit|go|continue|publish|report|analy[sz]e|share|hand|upload|present|use|make|do|fit|compare|plot)|"
    r"(?:the|my|our|any) (?:stats|statistics|analys[ei]s|fits?)|(?:fitting|analy[sz]ing) \w+"
)
"""What a person is about to do with the data is no occasion: `before I send this list`, `before the stats`."""

_HELD = re.compile(
    r"(?:adjust|correct|control|account|allow|exclud|remov|leav|dropp|filter|normali)\w*(?:ing|ment|tion|ion)$"
)
"""What is done to data before they are asked, not to subjects."""


def _with(names: list[str], unit: str) -> list[str]:
    return [name for name in names if any(stem(part) == unit for part in name_parts(name))] or names


def generic_mentions(words: Sequence[Token], sheet: Sheet) -> list[ColumnMention]:
    """Return words such as `dose` or `patients` as mentions of the only column of that part, weaker than a name."""
    found: list[ColumnMention] = []
    for meant, columns in _MEANT:
        here = [
            at
            for at, token in enumerate(words)
            if token.text in meant
            and not (
                token.text == "times" and at and (words[at - 1].number is not None or words[at - 1].text in _OFTEN)
            )
            and not (
                at and time_unit(token.text) and (words[at - 1].number is not None or words[at - 1].text in _WATCHED)
            )
        ]  # `within 30 days` is a stretch, no column of days, and `per person year` another's
        if here and len(names := columns(sheet)) == 1:
            here = [at for at in here if not _of_another_rate(words, at, names[0])]
            found += [ColumnMention(names[0], "", at, at, 0.62) for at in here]
    return (
        found
        + _measured_in(words, sheet)
        + _what_is_counted(words, sheet)
        + _given(words, sheet)
        + _each_group(words, sheet)
    )


def of_a_course(words: Sequence[Token], at: int, sheet: Sheet) -> bool:
    """Say whether `over the days` is of the columns of a course: how long each was watched is no time of its rows."""
    before = [word.text for word in words[max(0, at - 2) : at] if word.text != "the"]
    course = any(wide.ordered and len(wide.columns) > 2 for wide in sheet.structure.wide)
    return course and not sheet.structure.repeated and bool(time_unit(words[at].text)) and before[-1:] == ["over"]


def of_an_age(words: Sequence[Token], at: int) -> bool:
    """Say whether a unit of time tells an age: the year of `a 5 year old`."""
    return (
        0 < at < len(words) - 1
        and words[at + 1].text == "old"
        and bool(time_unit(words[at].text))
        and words[at - 1].number is not None
    )


def of_a_span(mention: ColumnMention, words: Sequence[Token]) -> bool:
    """Say whether a unit of time is that of a number, and only sounds like a column: the year of `5-year risk` is no age."""
    unit = mention.width == 1 and not mention.level and mention.strength < SURE and time_unit(words[mention.first].text)
    return bool(unit) and mention.first > 0 and words[mention.first - 1].number is not None


def _of_another_rate(words: Sequence[Token], at: int, name: str) -> bool:
    """Say whether a unit of time tells how something else is counted: the week of `servings per week` is no month of follow-up."""
    unit = time_unit(words[at].text)
    own = {time_unit(part) for part in name_parts(name)} - {""}
    return bool(unit) and at > 0 and words[at - 1].text in ("per", "a") and bool(own) and unit not in own


_OFTEN = frozenset("several many few multiple more some".split())
"""`several times` says how often, and `3 times` how much."""
_WATCHED = frozenset("person persons patient patients woman women animal animals light last first".split())
_START = frozenset("baseline start started beginning entry outset initially before".split())
_END = frozenset("end finally last".split())


def wide_mentions(words: Sequence[Token], structure: Structure) -> list[ColumnMention]:
    """Return labels of wide measures (`at 2 h`, `week 4`, `pre`, `the third brood`, `broods 1, 2 and 3`) as their columns."""
    found: list[ColumnMention] = []
    for wide in (w for w in structure.wide if w.ordered):
        own = {stem(part) for part in name_parts(wide.name) if len(part) > 1}
        ends = {_START: wide.columns[0], _END: wide.columns[-1]}
        found += [
            ColumnMention(name, "", at, at, 0.7)
            for words_, name in ends.items()
            for at, t in enumerate(words)
            # Of several measures the one that is named beside it: `the baseline pain`, `grip before`.
            if t.text in words_ and (len(structure.wide) == 1 or own & {w.stem for w in words[max(0, at - 2) : at + 3]})
        ]
    for wide in structure.wide:
        common = {stem(part) for part in name_parts(wide.name) if len(part) > 1}
        visits = _as_months(wide)
        for column, label in zip(wide.columns, wide.labels, strict=True):
            parts = name_parts(label)
            number = next((as_number(part) for part in parts if as_number(part) is not None), None)
            for at, token in enumerate(words):
                pair = [token.text, words[at + 1].text] if at + 1 < len(words) else []
                if len(pair) == 2 and (_a_span(words, at) or _an_end(words, at)):
                    continue
                if len(pair) == 2 and (
                    (timed(pair) and timed(pair) in (timed(parts), visits.get(column))) or pair == parts
                ):
                    found.append(ColumnMention(column, "", at, at + 1, 0.9))
                elif (
                    number is not None
                    and token.number == number
                    and len(parts) == 1
                    and time_unit(pair[-1] if pair else "")
                ):
                    found.append(ColumnMention(column, "", at, at + 1, 0.85))  # `VAS_12` says no unit
                elif len(parts) == 1 and token.text == parts[0] and len(token.text) > 2 and token.number is None:
                    found.append(ColumnMention(column, "", at, at, 0.85))
                elif (
                    number is not None
                    and token.number == number
                    and (_near(words, at, common) or _listed(words, at, parts))
                ):
                    found.append(ColumnMention(column, "", at, at, 0.9))
    return found


def _as_months(wide: WideMeasure) -> dict[str, str]:
    """Return column -> the month it is of, where visits are numbered by months: V0, V6, V12, V24."""
    numbers = {
        column: timed(name_parts(label)).removeprefix("visit")
        for column, label in zip(wide.columns, wide.labels, strict=True)
    }
    values = [int(number) for number in numbers.values() if number.isdigit()]
    spaced = len(values) == len(numbers) > 1 and all(b - a > 1 for a, b in pairwise(values))
    return {column: f"month{number}" for column, number in numbers.items()} if spaced else {}


def _a_span(words: Sequence[Token], at: int) -> bool:
    """Say whether `the three months` begins here: a stretch of time and no point in it."""
    before = words[at - 1].text if at else ""
    return (
        words[at].number is not None and words[at + 1].text.endswith("s") and before in ("the", "all", "these", "whole")
    )


def _an_end(words: Sequence[Token], at: int) -> bool:
    """Say whether a number is an end of values and no occasion: `score 3 or more`."""
    after = [word.text for word in words[at + 1 : at + 3]]
    return (
        words[at].number is not None and len(after) == 2 and after[0] in ("or", "and") and _BEYOND(after[1]) is not None
    )


_BEYOND = re.compile(rf"{UP}|{DOWN}").fullmatch


def _listed(words: Sequence[Token], at: int, parts: Sequence[str]) -> bool:
    """Say whether a number stands in a row with the unit of a label: `weeks 0, 4 and 8` or `0, 4 and 8 weeks` and `wk4`."""
    units = {time_unit(part) or (part if part in ("h", "d", "w", "m") else "") for part in parts} - {""}
    units = {timed([unit, "1"])[:-1] or unit for unit in units}
    for step in (-1, 1):
        near = at + step
        while 0 <= near < len(words) and (words[near].number is not None or words[near].text in ("and", "or", "to")):
            near += step
        if 0 <= near < len(words) and abs(near - at) > 1 and time_unit(words[near].text) in units:
            return True
    return False


def _near(words: Sequence[Token], at: int, common: set[str]) -> bool:
    """Say whether the name of the measure stands just after a number, or before it with only numbers between."""
    if at + 1 < len(words) and words[at + 1].stem in common:
        return True
    back = at - 1
    while back >= 0 and (words[back].number is not None or words[back].text in ("and", "or", "to", "vs", "versus")):
        back -= 1
    return back >= 0 and words[back].stem in common


def of_one_measure(mentions: list[ColumnMention], structure: Structure, words: Sequence[Token]) -> list[ColumnMention]:
    """Return the mentions with `self esteem ... in the third month` as one column where a measure is named apart from its occasion.

    The name of the measure fits all its columns, the occasion fits that of each measure: together they name one.
    """
    for wide in structure.wide:  # `number of polyps` is of each of number3m and number12m, whichever it was taken for
        mentions = [
            m._replace(rivals=tuple(name for name in wide.columns if name != m.column))
            if m.column in wide.columns
            and not (m.level or m.strength >= SURE_NAME or m.rivals)
            and not any(_tells_when(w, wide) for w in words[m.first : m.last + 1])
            else m
            for m in mentions
        ]
    for own in [*({*wide.columns} for wide in structure.wide), *map(set, structure.same_quantity)]:
        whole = [m for m in mentions if m.width > 1 and m.column in own and not m.level and m.strength >= SURE]
        columns = {at: w.column for w in whole for at in range(w.first, w.last + 1)}
        mentions = [  # the measure alone is no other occasion of it: `adjusted for the PANSS before`
            m for m in mentions if m.width > 1 or m.column not in own or columns.get(m.first, m.column) == m.column
        ]
        base = [m for m in mentions if not m.level and m.column in own and len(own & {m.column, *m.rivals}) > 1]
        # `SBP ... from pre to 3 mo`: of the columns that `pre` may be it is the one of this measure.
        other = {m: next(iter(hit)) for m in mentions
                 if base and not m.level and m.column not in own and len(hit := own & {*m.rivals}) == 1}  # fmt: skip
        mentions = [m._replace(column=other[m], rivals=()) if m in other else m for m in mentions]
        told = [m for m in mentions if not m.level and m.column in own and not own & set(m.rivals)]
        if not base or not told:
            continue
        places = {(m.first, m.last) for m in told}
        nearest = {m: min((abs(t.first - m.first), t.column) for t in told)[1] for m in base}
        mentions = [
            m._replace(column=nearest[m], rivals=())
            if m in nearest
            else m._replace(strength=min(1.0, m.strength + APART))
            if m in told
            else m._replace(strength=m.strength - APART)
            if (m.first, m.last) in places and not m.level
            else m
            for m in mentions
        ]
    return mentions


def _tells_when(word: Token, wide: WideMeasure) -> bool:
    """Say whether a word tells an occasion: a number, the start, `October` of a column of Oct."""
    labels = {part for label in wide.labels for part in name_parts(label)}
    begun = any(len(part) > 2 and word.text.startswith(part) for part in labels)
    return word.number is not None or word.text in _START | _END | labels or begun


APART = 0.05
"""What an occasion gains for the measure that is named beside it, and loses for another."""
