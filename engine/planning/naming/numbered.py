"""Which levels numbers name: a bare one only beside its column's name or unit, or in a row that only one column has."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import pairwise

from engine.data.structure.scales import date_like
from engine.domain.profile import ColumnProfile
from engine.planning.naming.lexicon import UNITS
from engine.planning.naming.mention import AT, LIKELY, PERSONS, SURE, ColumnMention
from engine.planning.naming.numbers import CUT_AFTER
from engine.text.names import name_parts
from engine.text.numbers import CARDINALS, as_number
from engine.text.stopwords import STOP
from engine.text.times import DAYS, time_unit
from engine.text.tokens import Token


def numbered_mentions(
    words: Sequence[Token], columns: Sequence[ColumnProfile], named: Sequence[ColumnMention], text: str
) -> list[ColumnMention]:
    """Return numbers and letters that are levels because their column's name, unit or kind stands beside them.

    `month 4`, `group 1 vs group 2`, `stages I and IV`, `day 664 and day 1004`, `patient 9`, `the fourth period`.
    """
    by_name = {column.name: column for column in columns}
    heads = {m.first for m in named if not m.level and m.strength >= SURE}
    ends = [*_ends(words, by_name, named, text), *_starts(words, columns, text), *_lettered(words, columns, text)]
    found = [*_before(words, by_name, named, text), *_runs(words, columns, heads, text), *_measured(words, columns)]
    found = [m for m in found if not any(e.first <= m.first <= e.last for e in ends)]
    found += [*ends, *_at_a_time(words, columns), *_in_a_year(words, columns, text), *_at_a_step(words, columns, text)]
    for start, able in _beside(words, columns, named).items():
        for name, strength in able:
            column = by_name.get(name)
            if column is not None and (column.levels or column.scale in ("number", "count", "ordered", "code")):
                found += _numbers_from(words, start, column, strength, text, heads - {start})
    numbered = {c.name for c in columns if c.scale in ("code", "identifier")}  # `patients 65 and over` is no patient 65
    ratios = [match.span() for match in _RATIO.finditer(text)]
    found = [m for m in found if not any(a <= words[m.last].start < b for a, b in ratios)]
    return [m for m in found if m.column not in numbered or not CUT_AFTER.match(text[words[m.last].end :])]


_RATIO = re.compile(r"(?<![\d:])\d+\s?:\s?\d+(?![\d:])")
"""`diluted 1:5` names no column 1 and no column 5."""


def _beside(
    words: Sequence[Token], columns: Sequence[ColumnProfile], named: Sequence[ColumnMention]
) -> dict[int, list[tuple[str, float]]]:
    """Return token -> (column, how surely) where a number would be a level: behind its name, its unit or whom it counts."""
    places: dict[int, list[tuple[str, float]]] = {}
    for mention in named:
        for name in (mention.column, *mention.rivals) if not mention.level else ():
            places.setdefault(mention.last + 1, []).append((name, mention.strength))
    for at, token in enumerate(words):
        unit = time_unit(token.text)
        for column in columns if unit else ():
            if unit in (time_unit(part) for part in name_parts(column.name + " " + column.unit)):
                places.setdefault(at + 1, []).append((column.name, 0.75))
    for at, token in enumerate(words[:-1]):
        if token.text in PERSONS and words[at + 1].number is not None and len(ids := _ids(columns)) == 1:
            places.setdefault(at + 1, []).append((ids[0], 0.8))
    return places


def _ids(columns: Sequence[ColumnProfile]) -> list[str]:
    return [c.name for c in columns if c.scale in ("code", "identifier") and c.distinct > FEW_CODES]


FEW_CODES = 6


def _at_a_time(words: Sequence[Token], columns: Sequence[ColumnProfile]) -> list[ColumnMention]:
    """Return `at nine months`, `only 24 h` and `the 15 min ones` as the level of the only column that has it.

    In its unit or another one (`after 1 h` where `min` is 60); where no column states that unit, of the only column of
    times that states none: `time`.
    """
    found: list[ColumnMention] = []
    for at, token in enumerate(words[:-1]):
        unit = time_unit(words[at + 1].text) or {"h": "hour", "d": "day"}.get(words[at + 1].text, "")
        before = [word.text for word in words[max(0, at - 2) : at] if word.text != "the"][-1:]
        after = words[at + 2].text if at + 2 < len(words) else ""
        if token.number is None or not unit or not (AT | _ALONE) & {*before} | (_ALONE | _SUCH) & {after}:
            continue
        having = {c.name: v for c in columns for v in c.levels if as_number(v) == token.number}
        units = {c.name: _times_in(c) for c in columns if c.name in having}
        plain = [c.name for c in columns if c.name in having and not units[c.name] and c.role("time") >= LIKELY]
        able = {name: having[name] for name in [n for n in having if unit in units[n]] or plain}
        able = able or _in_another_unit(token.number, unit, columns)
        if len(able) == 1:
            (name, level), *_ = able.items()
            found.append(ColumnMention(name, level, at, at + 1, 0.9))
    return found + _at_one_word(words, columns)


_LETTERS = {"d": "day", "w": "week", "m": "month", "h": "hour"}


def _at_one_word(words: Sequence[Token], columns: Sequence[ColumnProfile]) -> list[ColumnMention]:
    """Return `d21` and `wk4` as the level of the only column of times that has it, where no column is called so."""
    times = [c for c in columns if c.levels and c.role("time") >= LIKELY]
    called = {piece for c in columns for piece in re.split(r"[\W_]+", c.name.lower())}
    own = {c.name: _times_in(c) for c in times}
    found: list[ColumnMention] = []
    for at, (unit, number) in enumerate(pairwise(words)):
        said = _LETTERS.get(unit.text) or time_unit(unit.text)
        glued = said and unit.end == number.start and number.number is not None
        if not glued or f"{unit.text}{number.text}" in called:
            continue
        having = {c.name: v for c in times for v in c.levels if as_number(v) == number.number}
        able = [(name, level) for name, level in having.items() if not own[name] or said in own[name]]
        found += [ColumnMention(name, level, at, at + 1, 0.9) for name, level in able if len(able) == 1]
    return found


def _in_another_unit(number: float, unit: str, columns: Sequence[ColumnProfile]) -> dict[str, str]:
    """Return column -> the level that is so long in the one unit of time that the column states."""
    found: dict[str, str] = {}
    for column in columns:
        own = [one for one in _times_in(column) if one in DAYS and unit in DAYS and one != unit]
        wanted = number * DAYS[unit] / DAYS[own[0]] if len(own) == 1 else None
        level = next(
            (v for v in column.levels if wanted and (n := as_number(v)) and abs(n - wanted) < 1e-6 * wanted), ""
        )
        if level:
            found[column.name] = level
    return found


def _at_a_step(words: Sequence[Token], columns: Sequence[ColumnProfile], text: str) -> list[ColumnMention]:
    """Return the bare number of `is the gel better at 0.5` as the level of the only dose or time that has it."""
    steps = [c for c in columns if c.levels and max(c.role("dose"), c.role("time")) >= LIKELY]
    found: list[ColumnMention] = []
    for at, token in enumerate(words):
        if token.number is None or at == 0 or words[at - 1].text != "at" or not _NOTHING_MORE.match(text[token.end :]):
            continue
        having = [(c.name, level) for c in steps for level in c.levels if as_number(level) == token.number]
        found += [ColumnMention(name, level, at, at, 0.9) for name, level in having if len(having) == 1]
    return found


_NOTHING_MORE = re.compile(
    r"\s*(?:[,;:?!)]|\.(?!\d)|\Z|(?:and|or|only|in|with|for|than|is|are|does|do)\b)", re.IGNORECASE
)


def _in_a_year(words: Sequence[Token], columns: Sequence[ColumnProfile], text: str) -> list[ColumnMention]:
    """Return `in 2019` and `(2018)` as the level of the only column of calendar years that has it."""
    years = [c for c in columns if date_like(c.minimum, c.maximum, whole=c.kind == "integer")]
    found: list[ColumnMention] = []
    for at, token in enumerate(words if years else ()):
        near = [n for n in range(max(0, at - _SO_FAR), at) if words[n].text in ("in", "during", "for", "only", "from")]
        told = bool(near) and not re.search(r"[.,;:?!()]", text[words[near[-1]].end : token.start])
        if token.number is None or not (told or text[token.start - 1 : token.end + 1] == f"({token.text})"):
            continue
        having = [(c.name, level) for c in years for level in c.levels if as_number(level) == token.number]
        found += [ColumnMention(name, level, at, at, 0.9) for name, level in having if len(having) == 1]
    return found


_SO_FAR = 3
"""`in the topsoil 2023` has its year so many words behind."""
_ALONE = frozenset("only just alone without except excluding".split())
_SUCH = frozenset("ones samples rows data points timepoint timepoints time libraries wells".split())
"""What stands behind a time that says of which rows: `forget the 15 min ones`."""


def _times_in(column: ColumnProfile) -> set[str]:
    """Return the units of time that the name and unit of a column state."""
    parts = name_parts(f"{column.name} {column.unit}")
    short = {"hour"} if name_parts(column.name)[-1:] == ["h"] else set[str]()
    return {*map(time_unit, parts)} - {""} | short


def _measured(words: Sequence[Token], columns: Sequence[ColumnProfile]) -> list[ColumnMention]:
    """Return numbers with a unit that only one column has, as its level: `at 2 mg only`, `100 mM salt`."""
    units = {c.name: {piece.lower() for piece in re.split(r"[_\s()\[\]./,]+", f"{c.name} {c.unit}")} for c in columns}
    found: list[ColumnMention] = []
    for at, token in enumerate(words[:-1]):
        unit = words[at + 1].text
        if token.number is None or unit not in UNITS or time_unit(unit) or (at and words[at - 1].text == "per"):
            continue
        # Of a measurement few values would have to come again and again: 15 s is no time in a quadrant.
        few = [c for c in columns if c.scale != "number" or 3 * c.distinct <= sum(c.levels.values())]
        able = {c.name: v for c in few if unit in units[c.name] for v in c.levels if as_number(v) == token.number}
        if len(able) == 1:
            (name, level), *_ = able.items()
            found.append(ColumnMention(name, level, at, at + 1, 0.9))
    return found


def _before(
    words: Sequence[Token], by_name: dict[str, ColumnProfile], named: Sequence[ColumnMention], text: str
) -> list[ColumnMention]:
    """Return numbers that stand before their column: `fourth period`, `second drug`, `after 4 weeks of exposure`."""
    found: list[ColumnMention] = []
    for mention in named:
        before = words[mention.first - 1] if mention.first else None
        if before is None or mention.level:
            continue
        number = 2.0 if before.text == "second" else 0.0 if before.text in ("no", "zero") else before.number
        # `after 4 weeks of exposure`, but not `at four monthly visits`
        unit = time_unit(words[mention.first].text) and mention.first > 1 and words[mention.first - 2].text in AT
        for name in (mention.column, *mention.rivals):
            column = by_name.get(name)
            level = (
                next((v for v in column.levels if as_number(v) == number), None)
                if column and number is not None
                else None
            )
            said = text[before.start : before.end].lower()
            # `two flowcells` are both, and `no dose effect` is none; who had no doses had 0.
            plain = not (said.isdigit() or said in CARDINALS or number == 0)
            if level is not None and (unit or plain or (column and _had(words, mention.first, column))):
                found.append(ColumnMention(name, level, mention.first - 1, mention.first - 1, 0.85))
    return found


def _had(words: Sequence[Token], at: int, column: ColumnProfile) -> bool:
    """Say whether a number before a column of how many is how many somebody had: `people with one dose`."""
    counts = column.scale in ("ordered", "count") and column.kind == "integer" and (column.minimum or 0) in (0, 1)
    return counts and column.role("time") < LIKELY and at > 1 and words[at - 2].text in _HAD


_HAD = frozenset("with had having has have received got versus vs against than between and or only who".split())
_HIGHEST, _LOWEST = (
    frozenset("highest top maximum maximal largest biggest strongest".split()),
    frozenset("lowest smallest minimum".split()),
)
_LAST, _FIRST = frozenset("last final latest".split()), frozenset("first 1 earliest initial".split())
_AT_THE = re.compile(
    r"(?:^|\b(?:at|on|in|with|for|by|from|to|than|of|and|between|versus|vs\.?|against|minus|only))\s*(?:the\s+|its\s+|their\s+)?$",
    re.IGNORECASE,
)
_SOUGHT = re.compile(
    r"\s*(?:that|which|where|at which|still|not|without|with (?:an?|no)|to (?:have|show|give))\b", re.IGNORECASE
)
"""What follows a dose that is looked for: `the lowest dose that works` names no rows."""


def _of_two(column: ColumnProfile, said: Token) -> str:
    """Return the level of two numbers that is called low or high: `low nutrient plants` where nutrient is 1 or 8."""
    values = sorted((number, level) for level in column.levels if (number := as_number(level)) is not None)
    two = len(values) == len(column.levels) == 2 and {number for number, _ in values} != {0.0, 1.0}
    return {"low": values[0][1], "high": values[-1][1]}.get(said.text, "") if two else ""


def _ends(
    words: Sequence[Token], by_name: dict[str, ColumnProfile], named: Sequence[ColumnMention], text: str
) -> list[ColumnMention]:
    """Return `at the highest dose` and `on the last day` as the level at that end of a column of doses or times."""
    found: list[ColumnMention] = []
    for mention in (m for m in named if not m.level and m.first and m.first == m.last):
        column, said = by_name.get(mention.column), words[mention.first - 1]
        if column is not None and (level := _of_two(column, said)):
            found.append(ColumnMention(column.name, level, mention.first - 1, mention.last, 0.9))
        if text[said.end : words[mention.first].start] == "-":
            continue  # `the first-year birds` are young ones
        if column is None or not _AT_THE.search(text[: said.start]) or _SOUGHT.match(text[words[mention.last].end :]):
            continue
        dosed, timed = column.role("dose") >= LIKELY, column.role("time") >= LIKELY
        values = sorted((number, level) for level in column.levels if (number := as_number(level)) is not None)
        given = [level for number, level in values if number > 0] if dosed else [level for _, level in values]
        top, bottom = (_HIGHEST, _LOWEST) if dosed else (_LAST, _FIRST)
        if len(values) < len(column.levels) or len(given) < 2 or not (dosed or timed):
            continue
        if said.text in top | bottom:
            level = given[-1] if said.text in top else given[0]
            found.append(ColumnMention(column.name, level, mention.first - 1, mention.last, 0.9))
    return found


def at_last(
    words: Sequence[Token], columns: Sequence[ColumnProfile], named: Sequence[ColumnMention]
) -> list[ColumnMention]:
    """Return the final of `final weight` as the last of the times at which it was measured, where most were still measured then."""
    by_name = {column.name: column for column in columns}
    times = [c for c in columns if c.role("time") >= LIKELY and len(c.levels) > 2]
    order = sorted((number, level) for c in times for level in c.levels if (number := as_number(level)) is not None)
    if len(times) != 1 or len(order) < len(times[0].levels):
        return []
    (time,), last = times, order[-1][1]
    still = time.levels[last] >= max(time.levels.values()) / 2
    said = {m: [at for at in (m.first - 1, m.first) if at >= 0 and words[at].text == "final"] for m in named}
    return [
        ColumnMention(time.name, last, at, at, 0.85)
        for m in named
        for at in said[m]
        if still and not m.level
        if (column := by_name.get(m.column)) and column.scale in ("number", "count") and column is not time
    ]


_AT_START = re.compile(
    r"\b(?:at|from|since|to|than|versus|vs\.?)\s+(?P<first>(?:the\s+)?(?:baseline|beginning|enrolment|enrollment|inclusion)(?:\s+visit)?)\b"
    r"|\bat\s+(?P<start>(?:the\s+)?start)\b|\bat\s+(?P<last>the\s+(?:very\s+)?end|(?:the\s+)?(?:last|final)\s+(?:visit|time ?point|measurement))\b",
    re.IGNORECASE,
)


def _starts(words: Sequence[Token], columns: Sequence[ColumnProfile], text: str) -> list[ColumnMention]:
    """Return `at baseline` and `at the last visit` as the first and last level of the only column of times."""
    called = {part for column in columns for part in (*name_parts(column.name), *map(str.lower, column.levels))}
    able = [c for c in columns if c.role("time") >= LIKELY and 2 <= len(c.levels) <= MOST_TIMES
            and all(as_number(level) is not None for level in c.levels)]  # fmt: skip
    found: list[ColumnMention] = []
    for said in _AT_START.finditer(text) if len(able) == 1 else ():
        part = next(key for key in ("first", "start", "last") if said[key])
        at = [n for n, word in enumerate(words) if said.start(part) <= word.start < said.end(part)]
        if at and not {words[n].text for n in at} & (called - {"the"}):
            levels = sorted(able[0].levels, key=lambda level: as_number(level) or 0.0)
            level = levels[-1] if part == "last" else levels[0]
            found.append(ColumnMention(able[0].name, level, at[0], at[-1], 0.85))
    return found


def _lettered(words: Sequence[Token], columns: Sequence[ColumnProfile], text: str) -> list[ColumnMention]:
    """Return `at N 120` as that level of the only column that has the letter in its name and the number among its levels: `dose_N`."""
    found: list[ColumnMention] = []
    for at, (letter, number) in enumerate(pairwise(words)):
        written = text[letter.start : letter.end]
        if len(written) != 1 or not written.isupper() or number.number is None or number.start == letter.end:
            continue
        able = [(c.name, level) for c in columns if letter.text in name_parts(c.name)
                for level in c.levels if as_number(level) == number.number]  # fmt: skip
        found += [ColumnMention(*able[0], at, at + 1, 0.85)] if len(able) == 1 else []
    return found


MOST_TIMES = 12
"""A column of more times has no visits."""


_BETWEEN = frozenset(
    ["and", "or", "vs", "versus", "to", "against", "than", "with", "the", "from", "until", "nr", "no", "number"]
)


_ROMAN: dict[str, float] = {level: at for at, level in enumerate("i ii iii iv v vi vii viii ix x".split(), start=1)}


def _by_number(column: ColumnProfile) -> dict[float | None, str]:
    """Return number -> the level that it is, of Roman numerals what they count: `stage 3 and 4` of III and IV."""
    levels = [level.strip().lower() for level in column.levels]
    if len(levels) > 1 and {*levels} <= _ROMAN.keys():
        return {_ROMAN[level.strip().lower()]: level for level in column.levels}
    return {as_number(level): level for level in column.levels if as_number(level) is not None}


def _roman(token: Token, column: ColumnProfile, text: str, *, first: bool) -> float | None:
    """Return what a Roman numeral counts behind the name of a column of few numbers: IV of `stage IV` where stages are 1 to 4."""
    if (
        not text[token.start : token.end].isupper()
        or column.kind != "integer"
        or not 1 < column.distinct <= MOST_STAGES
    ):
        return None
    alone = first and token.text == "i" and not {*name_parts(column.name)} & _STAGED  # `which group I take`
    return None if alone else _ROMAN.get(token.text)


MOST_STAGES = 10
_STAGED = frozenset("stage stages grade grades class phase type nyha asa".split())


def _is_one_of(words: Sequence[Token], levels: Collection[str]) -> bool:
    """Say whether two words set a column equal to a level: `where flood is y`."""
    return len(words) > 1 and words[0].text == "is" and words[1].text in levels


def _numbers_from(
    words: Sequence[Token], start: int, column: ColumnProfile, strength: float, text: str, heads: set[int]
) -> list[ColumnMention]:
    found: list[ColumnMention] = []
    spelled = 0 < start < len(words) and text[words[start].start : words[start].end].isalpha()
    if spelled and "," in text[words[start - 1].end : words[start].start]:
        return []  # `178 bottles, thirteen values each`: so many of something else
    levels = {level.strip().lower(): level for level in column.levels}
    numeric = _by_number(column)
    at = start
    while at < len(words) and at < start + 9:
        token = words[at]
        number = token.number if token.number is not None else _roman(token, column, text, first=not found)
        if number is not None and found and at + 1 < len(words) and at + 1 in heads:
            break  # `(d21), 4 diets`: so many of another column
        level = numeric.get(number) if number is not None else None
        if level is None and (len(token.text) <= 4 and token.text in levels):
            written = text[token.start : token.end]
            level = levels[token.text] if written == levels[token.text] or len(token.text) > 1 else None
        if level is None and number is not None and not column.levels and column.scale in ("code", "identifier"):
            known = column.minimum is None or column.minimum <= number <= (column.maximum or number)
            level = f"{number:.12g}" if known else None
        if level is not None:
            found.append(ColumnMention(column.name, level, at, at, min(0.95, max(0.8, strength))))
        elif token.text not in _BETWEEN and not (at == start and _is_one_of(words[at : at + 2], levels)):
            if found or at > start + 1:
                break
            return []
        at += 1
    return found


def _is_first(token: Token) -> bool:
    """Say whether a number is written as first or second: `the first 24 h` is no row of numbers."""
    return (token.text, token.end - token.start) in {("1", len("first")), ("2", len("second"))}


def _counts_things(words: Sequence[Token], run: Sequence[int], text: str) -> bool:
    """Say whether numbers in letters count what follows them: the `two or three axes` are no blocks 2 and 3."""
    after = words[run[-1] + 1] if run[-1] + 1 < len(words) else None
    spelled = all(text[words[at].start : words[at].end].isalpha() for at in run)
    return spelled and after is not None and after.text.isalpha() and after.text not in STOP


def _runs(words: Sequence[Token], columns: Sequence[ColumnProfile], heads: set[int], text: str) -> list[ColumnMention]:
    """Return numbers in a row (`95, 96 and 97`, `1 vs 2`) that are levels of one column and of no other.

    A number before the name of a column is no part of a row: `(d21), 4 diets`.
    """
    found: list[ColumnMention] = []
    run: list[int] = []
    for at in range(len(words) + 1):
        token = words[at] if at < len(words) else None
        if token is not None and token.number is not None and at + 1 not in heads and not _is_first(token):
            run.append(at)
        elif run and (token is None or token.text not in ("and", "or", "vs", "versus", "to", "against")):
            if len(run) > 1 and run[-1] - run[0] <= 2 * len(run) and not _counts_things(words, run, text):
                values = [words[n].number for n in run]
                able = [
                    c for c in columns if c.levels and all(any(as_number(v) == x for v in c.levels) for x in values)
                ]
                if len(able) == 1 and len(set(values)) > 1:
                    level = {as_number(v): v for v in able[0].levels}
                    found += [ColumnMention(able[0].name, level[words[n].number], n, n, 0.8) for n in run]
            run = []
    return found
