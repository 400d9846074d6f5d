"""Reads a question against the data: which columns, levels, numbers and genes it names, and what it makes of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from engine.domain.datatypes import DataType
from engine.domain.profile import ColumnProfile
from engine.planning.naming import numbers
from engine.planning.naming.coding import codings
from engine.planning.naming.columns import column_mentions
from engine.planning.naming.explained import (
    LETTERS,
    codes_explained,
    counted_among,
    letters_told,
    without_cuts_told,
    without_ends_told,
)
from engine.planning.naming.hints import (
    generic_mentions,
    of_a_course,
    of_a_span,
    of_an_age,
    of_one_measure,
    only_when,
    wide_mentions,
)
from engine.planning.naming.levels import beginnings, classes_meant, level_mentions
from engine.planning.naming.mention import SURE, SURE_NAME, ColumnMention
from engine.planning.naming.numbered import at_last, numbered_mentions
from engine.planning.naming.overlaps import at_its_own_time, beside_own, cover, in_one_row, of_neighbours
from engine.planning.naming.states import states_meant, undosed
from engine.planning.reading.coded import Coded
from engine.planning.reading.contrast import control_level, groups_meant
from engine.planning.reading.declared import CODE_DEFINED
from engine.planning.reading.grammar import (
    contrasts,
    defined,
    nested_in,
    only_counted_for,
    parts_of,
    ranges,
    shares_compared,
    shares_of,
    than_the_other,
)
from engine.planning.reading.leaving_out import WITH_AND, talked_of, without_pointers
from engine.planning.reading.masking import durations, masked
from engine.planning.reading.named_rows import marks_left_out, named_rows
from engine.planning.reading.reading import Contrast, Part, Reading, Request, Restriction
from engine.planning.reading.remarks import beside_remarks, named_by_remarks
from engine.planning.reading.requests import PAIRED, requests_of
from engine.planning.reading.rows import (
    among_whom,
    at_one_moment,
    claimed_of_one,
    compared_alone,
    different_in,
    more_in,
    restrictions,
    with_either,
)
from engine.planning.reading.terms import (
    PHRASE,
    is_phrase,
    is_statistic,
    only_sounds,
    part_of_term,
    terms_in,
    whole_terms,
)
from engine.planning.tables.sheets import Data, Sheet, cases_and_controls, is_group, is_id, is_number, numbers_things
from engine.text.names import name_parts
from engine.text.numbers import as_number
from engine.text.times import time_unit
from engine.text.tokens import Token, tokens

_UNPAIRED = re.compile(
    r"\b(unpaired|not paired|independent (?:samples|groups)|ignor\w* (?:the )?(?:pair\w*|donors?|cell lines?|batch\w*))\b",
    re.IGNORECASE,
)
_EVERY = re.compile(
    r"\b(?:which|what) (?:\w+ )?(?:factors?|variables?|features?|covariates?|characteristics|measurements|things|columns)\b|"
    r"\brisk factors?\b|\b(?:all|every|each) (?:the )?(?:other )?(?:numeric |baseline )?(?:variables|covariates|factors|measurements|columns|characteristics)\b|"
    r"\bprognostic factors?\b|\bwhat (?:affects?|influences?|determines?|drives?|predicts?)\b",
    re.IGNORECASE,
)
_EXPLAINED = re.compile(r"(?<![\w.])-?\d{1,2}\s*[=:]\s*[A-Za-z][^,;.()=]*")
"""`2 = death without relapse` says what a code stands for and leaves out no rows."""
_AS_ONESELF = re.compile(
    r"\b(?:as an?|I am an?|I'm an?|when I was an?)\s+(?:\w+ ){0,2}?(?:man|woman|boy|girl|mother|father|student|nurse|doctor|farmer)\b",
    re.IGNORECASE,
)
"""Who asks is no level of the data: `as a young man I worked ...`."""
_MOMENT_BEFORE = re.compile(r"\b(?:at|on|in|after|until|from)\s+(?!the\s)[A-Za-z]\w*\s+\Z", re.IGNORECASE)
"""What stands before a number that a colon explains nothing of: `at visit 3: dose, age and sex`."""


def read(question: str, data: Data, terms: frozenset[tuple[str, ...]] = frozenset()) -> Reading:
    """Return the reading of a question; see `Reading` for what is in it.

    Args:
        question: what is asked.
        data: the files.
        terms: stems of what methods are called in several words; a part of `relative risk` names no column `risk`.
    """
    words = tokens(question)
    inside = terms_in(words, terms)
    mentions = _not_genes(_mentions(question, words, data, inside), question, words, data)
    mentions = without_cuts_told(mentions, words, question)
    defined = [match.span("what") for match in CODE_DEFINED.finditer(question)]
    mentions = [m for m in mentions if m.level or not any(a <= words[m.first].start < b for a, b in defined)]
    spoken = [match.span() for match in _AS_ONESELF.finditer(question)]
    mentions = [m for m in mentions if not any(a <= words[m.first].start < b for a, b in spoken)]
    mentions = counted_among(mentions, words, question)
    mentions = _of_the_same_time(mentions, question, data.columns())
    mentions = _whole_course(mentions, words, question, data)
    mentions = _sharing_a_noun(mentions, words, question)
    mentions = _by_its_own_word(mentions, words, data.columns())
    coding, told = codings(question, words, mentions, data.columns())
    explained = {at for at, word in enumerate(words) if any(a <= word.start and word.end <= b for a, b in told)}
    mentions = [m for m in mentions if not m.level or not explained.intersection(range(m.first, m.last + 1))]
    reading = interpret(question, words, mentions, data)
    if told := _only_told(reading, data):
        reading = interpret(question, words, [m for m in mentions if m not in told], data)
        for m in told:
            reading.mark(m.first, m.last, "filler", m.column)
    reading.coding, reading.explained = coding, explained
    if len(coding) == 1 and not any("outcome" in parts for parts in reading.parts.values()):
        (only,) = coding  # whose yes and no is told is what happened, unless the sentence says otherwise
        if only not in reading.parts and len(reading.columns()) > 1:
            reading.parts[only] = {"outcome"}
    said = "; ".join(f"{name}: {codes.yes} = yes, {codes.no} = no" for name, codes in coding.items())
    for at in explained:
        reading.mark(at, at, "level", said)
    return reading


def _of_the_same_time(
    mentions: list[ColumnMention], question: str, columns: Iterable[ColumnProfile]
) -> list[ColumnMention]:
    """Return mentions that name a measurement of several times with that of the time that is spoken of, where it is one.

    That is the year that is told (`in 2003 only` of wall_03 and wall_04), or that of the only other column that is named:
    `are galls with a fly bigger` of gall_03, gall_04 and fly_04 is of 04.
    """
    names = {column.name for column in columns}
    years = {said[0][-2:] for said in _YEAR.finditer(question)} & {*map(_when, names)}
    alone = {_when(m.column) for m in mentions if not m.rivals or len({*map(_when, (m.column, *m.rivals))}) == 1} - {""}
    time = next(iter(years if len(years) == 1 else alone if len(alone) == 1 else ()), "")
    if not time or (years and years != {time}):
        return mentions
    found: list[ColumnMention] = []
    for m in mentions:
        own, other = [n for n in (m.column, *m.rivals) if _when(n) == time], _when(m.column)
        twin = m.column.removesuffix(other) + time if other else ""
        if own and (m.rivals or not other):
            found.append(m._replace(column=own[0], rivals=()) if len(own) == 1 else m)
        elif (
            years
            and other
            and other != time
            and other in {_when(n) for n in names if n.removesuffix(_when(n)) + time in names}
        ):
            found += [m._replace(column=twin, rivals=())] if twin in names else []
        else:
            found.append(m)
    return found


def _by_its_own_word(
    mentions: list[ColumnMention], words: list[Token], columns: Iterable[ColumnProfile]
) -> list[ColumnMention]:
    """Return mentions, those that only mean a column with the one that begins with their word: `age` is age_at_dx, not years."""
    begins: dict[str, list[str]] = {}
    for column in columns:
        begins.setdefault((name_parts(column.name) or [""])[0], []).append(column.name)
    found: list[ColumnMention] = []
    for m in mentions:
        word = words[m.first].text
        own = begins.get(word, [])
        meant = (
            m.width == 1 and not m.level and m.strength < SURE and word not in name_parts(m.column) and len(own) == 1
        )
        found.append(m._replace(column=own[0]) if meant else m)
    return found


def _sharing_a_noun(mentions: list[ColumnMention], words: list[Token], question: str) -> list[ColumnMention]:
    """Return mentions, those surely that leave their noun to the next: `ear, foot and tail length` of foot_len and tail_len."""
    found = list(mentions)
    for at in range(len(found) - 2, -1, -1):
        one, other = found[at], found[at + 1]
        gap = question[words[one.last].end : words[other.first].start]
        ends = {(name_parts(m.column) or [""])[-1] for m in (one, other)}
        alike = len(ends) == 1 and len(name_parts(one.column)) > 1 and one.column != other.column
        listed = re.fullmatch(r"\s*(?:,|and|or|&|,\s*and)\s*", gap) is not None
        if alike and listed and not one.level and not other.level and one.strength < SURE <= other.strength:
            found[at] = one._replace(strength=other.strength)
    return found


_PACE = re.compile(
    r"\b(?:(?:every|each) (?:day|week|month|hour|visit|few)|daily|weekly|monthly|hourly|speed|pace|slopes?|rates?|faster|slower|trajector\w*|curves?)\b",
    re.IGNORECASE,
)
"""What is asked of a whole course, not of its two ends."""


def _whole_course(mentions: list[ColumnMention], words: list[Token], question: str, data: Data) -> list[ColumnMention]:
    """Return first and last of the times as the times where a pace is asked: `weighed every week from day 1 to day 64`."""
    if not _PACE.search(question):
        return mentions
    columns = {column.name: column for column in data.columns()}
    found = list(mentions)
    levels = [(at, m) for at, m in enumerate(mentions) if m.level]
    for (at, one), (to, other) in pairwise(levels):
        column = columns[one.column]
        numbers = sorted(n for level in column.levels if (n := as_number(level)) is not None)
        gap = question[words[one.last].end : words[other.first].start]
        ends = {as_number(one.level), as_number(other.level)}
        if (
            one.column == other.column and len(numbers) > 2 and ends == {numbers[0], numbers[-1]}
            and re.fullmatch(r"\s*(?:to|until|till|through|up to|-|–)\s*(?:the\s+)?(?:[a-z]+\s+)?", gap, re.IGNORECASE)
        ):  # fmt: skip
            found[at], found[to] = one._replace(level=""), other._replace(level="")
    return found


_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")


def _when(name: str) -> str:
    """Return the digits that a name ends in, "" for none."""
    last = (name_parts(name) or [""])[-1]
    return last if last.isdigit() else ""


def _only_told(reading: Reading, data: Data) -> list[ColumnMention]:
    """Return measurements that only stand in what is told before the first request, where that names its own.

    `Mites were washed in June, July and October. Does OA lower the October mites?` asks nothing of June.
    """
    first = reading.requests[0].first
    own = {m.column for m in reading.mentions if m.first >= first}
    columns = {column.name: column for column in data.columns()}
    along = {name for sheet in data.sheets for name in (*sheet.structure.times, *sheet.structure.doses,
             *sheet.structure.survival.values(), *sheet.structure.part_of, *sheet.structure.part_of.values())}  # fmt: skip
    measured = {
        name for name, column in columns.items() if is_number(column) and not is_id(column) and name not in along
    }
    if first < BACKGROUND or not own & measured or not any(is_group(columns[name]) for name in own - measured):
        return []
    kept = {row.column for row in reading.restrictions}
    kept |= {name for name, parts in reading.parts.items() if parts & {"adjust", "subject", "exposure", "outcome"}}
    return [m for m in reading.mentions if m.first < first and not m.level and m.column in measured - own - kept]


BACKGROUND = 4
"""So many words before the first request tell something."""


_IN_A_FILE = re.compile(r"\b(?:in|from|of)\s+(?:the|my|our)\s+$", re.IGNORECASE)


_FILE = re.compile(r"\s+(?:file|sheet|table|data|list|workbook)\b", re.IGNORECASE)


def _is_a_file(mention: ColumnMention, words: list[Token], question: str, data: Data) -> bool:
    """Say whether a part of a column's name is what a file is called: `servings in the FFQ` of FFQ_2012.csv."""
    word = words[mention.first]
    if mention.width > 1 or mention.strength >= SURE_NAME:
        return False
    called = {part for name in data.called() for part in name_parts(name)}
    told = question[word.start : word.end].isupper() or _FILE.match(question, word.end) is not None
    topic = not question[: word.start].strip() and question[word.end :].lstrip().startswith(":")  # `GTT: is it lower`
    return told and word.text in called and (topic or _IN_A_FILE.search(question[: word.start]) is not None)


_BOTH = re.compile(rf"{WITH_AND}(?:without\s+)?(?:the\s+|any\s+)?$", re.IGNORECASE)


def _with_and_without(
    mentions: list[ColumnMention], words: list[Token], question: str, sheet: Sheet
) -> list[ColumnMention]:
    """Return a level that is named `with and without` as its column where that has no other level, else with its control beside it.

    A yes or no that rows are said to be with and without is surely named.
    """
    found: list[ColumnMention] = []
    for m in mentions:
        column = sheet.column(m.column) if _BOTH.search(question[: words[m.first].start]) else None
        if column is None or m.first == 0:
            found.append(m)
        elif not m.level:
            found.append(m._replace(strength=SURE_NAME) if column.scale == "binary" else m)
        elif len(column.levels) == 2:
            found.append(m._replace(level=""))
        else:
            control = control_level(list(column.levels))
            found += [m, ColumnMention(m.column, control, m.first - 1, m.first - 1, m.strength)] if control else [m]
    return found


def _in_other_words(mentions: list[ColumnMention], words: list[Token], question: str) -> list[ColumnMention]:
    """Return the mentions without those that only paraphrase a name in brackets: `the verified result (rec_ver_tat)`."""
    ends = {
        words[m.first].start - 1
        for m in mentions
        if not m.level
        and m.strength >= SURE_NAME
        and question[max(0, words[m.first].start - 1)] == "("
        and question[words[m.last].end :].lstrip().startswith(")")  # `by arm (status: 0 alive, 1 dead)` says more
    }
    around = [(end, [at for at, w in enumerate(words) if w.end <= end][-PHRASE:]) for end in ends]
    told = {at for end, before in around for at in before if not re.search(r"[.,;:?!]", question[words[at].end : end])}
    return [m for m in mentions if m.level or not {m.first, m.last} <= told]


def _one_part(found: dict[str, set[Part]], columns: Mapping[str, ColumnProfile]) -> dict[str, set[Part]]:
    """Return the parts with one of two that words may mean: `of the same ...` is a length held constant or a clutch of its own.

    What is held constant explains nothing beside: `longer in hospital, with age in the model`.
    """
    for name, parts in found.items():
        if parts >= {"adjust", "outcome"}:
            parts.discard("adjust")  # `hazard ratio for death, age adjusted`
        if "adjust" in parts:
            parts.discard("cause")
        if parts >= {"adjust", "subject"}:
            measured = is_number(columns[name]) and not is_id(columns[name])
            parts.discard("subject" if measured else "adjust")
    return found


def interpret(question: str, words: list[Token], mentions: list[ColumnMention], data: Data) -> Reading:
    """Return what the sentence makes of the columns and levels it names."""
    by_name = {column.name: column for column in data.columns()}
    mentions = _listed_with_columns(question, words, mentions)
    remarks = named_by_remarks(question, words, mentions, data)
    mentions = beside_remarks(remarks, question, words, mentions, data)
    coded = Coded(question, words, mentions)
    mentions = without_pointers(coded)
    reading = Reading(question=question, words=words, mentions=mentions)
    reading.parts = _one_part(parts_of(coded), by_name)
    reading.ranges, reading.nested = ranges(coded, by_name), nested_in(coded)
    reading.counted_for = only_counted_for(coded, _numberings(data))
    explained = [m.span() for m in _EXPLAINED.finditer(question) if not _MOMENT_BEFORE.search(question[: m.start()])]
    explained += [m.span() for m in CODE_DEFINED.finditer(question) if not _MOMENT_BEFORE.search(m[0])]
    if letters_told(question, [*by_name.values()]):
        explained += [match.span() for match in LETTERS.finditer(question)]
    kept = [
        r
        for r in restrictions(coded, by_name)
        if not any(start <= words[r.first].start and words[r.last].end <= end for start, end in explained)
    ]
    kept = _counted_as_defined(reading, kept, coded, by_name)
    for whom, what in shares_of(coded):
        counted = {m.column for m in what}
        kept = [r._replace(sure=r.sure or r.column == whom.column) for r in kept if r.column not in counted]
        reading.parts.get(whom.column, set[Part]()).discard("outcome")
        for column in counted:
            reading.parts.setdefault(column, set()).add("outcome")
    for what, groups in shares_compared(coded):
        sides = {m.column for m in groups}
        kept = [r for r in kept if r.op != "in" or (r.column != what.column and (r.sure or r.column not in sides))]
        whom = {r.column for r in kept if r.op == "in" and what.last < r.first < groups[0].first} - sides
        kept = [r._replace(sure=r.sure or r.column in whom) for r in kept]  # `resistance in E. coli higher in the ICU`
        for column in whom:
            reading.parts.pop(column, None)
        reading.parts[what.column] = {"outcome"}
        reading.shares.add(what.column)
        for column in sides:
            reading.parts[column] = {"cause"}
    gone = {(r.column, value) for r in kept if r.op == "not in" for value in r.values}
    against = contrasts(coded, {m for m in mentions if (m.column, m.level) in gone or m.column in reading.ranges})
    reading.contrasts = [_with_control(c, question, by_name.values()) for c in against]
    beyond = than_the_other(coded, by_name)
    reading.contrasts += [c for c in beyond if all(c.column != other.column for other in reading.contrasts)]
    kept = [
        r for r in kept if not any(r.column == c.column and r.op == "in" and r.values == c.levels[1:] for c in beyond)
    ]
    _odds_of_cases(reading, by_name)
    differs = different_in(question, words, mentions, reading.parts, by_name)
    more = more_in(question, words, mentions) | differs
    kept = [r._replace(sure=r.sure or bool(differs - {r.column})) for r in kept]  # `different in KO in males`
    kept = [r for r in kept if r.sure or not _contradicted(r, kept)]
    among = (
        {r.column for r in kept if among_whom(r, coded, reading.parts)} - more - {c.column for c in reading.contrasts}
    )
    among |= at_one_moment(kept, coded, {name for sheet in data.sheets for name in sheet.structure.times})
    kept = [r._replace(sure=r.sure or r.column in among) for r in kept]
    for column in more:
        reading.parts.setdefault(column, set()).add("cause")
    reading.restrictions = [
        r for r in kept
        if not compared_alone(r, reading.contrasts) and not claimed_of_one(r, reading.parts, mentions)
        and (r.sure or r.op != "in" or r.column not in more)
    ]  # fmt: skip
    reading.restrictions += [item.restriction for item in remarks] + named_rows(question, words, data)
    for start, end in marks_left_out(question, data):
        reading.mark_text(start, end, "restriction", "read as missing")
    happened = {made.column for sheet in data.sheets for made in sheet.made if made.happened}
    reading.restrictions = [r for r in reading.restrictions if r.column not in happened]
    clocks = {sheet.structure.survival.get("time") for sheet in data.sheets} - {None}
    followed = [
        r for r in reading.restrictions
        if clocks and _STILL_FREE.search(question) and _a_moment(r, by_name[r.column], words)
    ]  # fmt: skip
    reading.restrictions = [
        r for r in reading.restrictions
        if (r.column not in clocks or not _by_then(r, words, question))
        and r not in followed
    ]  # fmt: skip
    reading.mentions = [m for m in reading.mentions if not (m.level and m.column in {r.column for r in followed})]
    cut = [r for r in reading.restrictions if r.op not in ("in", "not in")]
    twice = [
        m for m in reading.mentions
        if m.level and any(c.column != m.column and c.first <= m.first and m.last <= c.last for c in cut)
    ]  # fmt: skip
    if twice:  # `aged between 40 and 60` is no score of 40 or 60 besides
        columns = {m.column for m in twice}
        reading.mentions = [m for m in reading.mentions if m not in twice]
        reading.contrasts = [c for c in reading.contrasts if c.column not in columns]
        reading.restrictions = [r for r in reading.restrictions if r.op != "in" or r.column not in columns]
    reading.parts |= {name: {"outcome"} for name in reading.columns() if name in happened}
    reading.restrictions = with_either(reading.restrictions, coded)
    reading.unclear = [item.doubt for item in remarks if item.doubt]
    reading.spared = talked_of(coded, [])
    reading.genes = _genes(question, data, mentions, words)
    reading.alpha = numbers.significance(question)
    reading.min_lfc = numbers.minimum_log2_fold_change(question)
    reading.top = numbers.top_n(question)
    reading.direction = numbers.direction(question)
    reading.paired = False if _UNPAIRED.search(question) else True if PAIRED.search(question) else None
    reading.every = bool(_EVERY.search(question))
    reading.requests = requests_of(question, words)
    reading.masked = masked(reading, by_name, roles=durations(data.sheets))
    _mark(reading)
    return reading


_STILL_FREE = re.compile(
    r"\b(?:surviv\w+|alive|still (?:\w+ )?free|free of|event[- ]free|relapse[- ]free)\b", re.IGNORECASE
)


def _a_moment(row: Restriction, column: ColumnProfile, words: Sequence[Token]) -> bool:
    """Say whether rows would be kept by a moment of being followed: `alive at 3 months` is not `3 months since diagnosis`."""
    unit = words[row.last + 1].text if row.last + 1 < len(words) else ""
    units = {time_unit(part) for part in (unit, words[row.last].text)} - {""}
    own = {time_unit(part.lower()) for part in name_parts(column.name)} - {""}
    since = any(word.text in ("since", "after", "before", "from") for word in words[row.last + 1 : row.last + 3])
    return row.op == "in" and is_number(column) and bool(units & own) and not since


def _by_then(row: Restriction, words: Sequence[Token], question: str) -> bool:
    """Say whether a time tells until when something may have happened: who is watched longer is not left out by it."""
    said = question[max(0, words[row.first].start - len("within ")) : words[row.last].end]
    return row.op in ("<", "<=") and re.search(r"\bwithin\b", said, re.IGNORECASE) is not None


def _counted_as_defined(
    reading: Reading, kept: list[Restriction], coded: Coded, by_name: Mapping[str, ColumnProfile]
) -> list[Restriction]:
    """Take what a bracket defines for what is counted, where nothing else is, and return the rows without it."""
    for what in defined(coded):
        others = [name for name, own in reading.parts.items() if "outcome" in own and name != what.column]
        if by_name[what.column].scale == "binary" and not others:
            kept = [r for r in kept if r.column != what.column]
            reading.parts[what.column] = {"outcome"}
            reading.shares.add(what.column)
    return kept


_ODDS = re.compile(r"\bodds\b|(?-i:\bORs?\b)", re.IGNORECASE)


def _odds_of_cases(reading: Reading, by_name: Mapping[str, ColumnProfile]) -> None:
    """Take being a case for what happened where odds are asked, or nothing but groups goes with it.

    `OR for raw milk in cases vs controls` is of the milk, and so is `which of the things they ate go with being a case`.
    """
    chosen = next((m.column for m in reading.mentions if m.level and cases_and_controls(by_name[m.column])), "")
    others = [by_name[name] for name in reading.named() if name != chosen]
    contrasted = any(c.column == chosen for c in reading.contrasts)
    if not chosen or not (_ODDS.search(reading.question) if contrasted else others and all(map(is_group, others))):
        return
    for name, parts in reading.parts.items():
        if parts == {"outcome"} and is_group(by_name[name]):
            reading.parts[name] = {"cause"}
    reading.parts[chosen] = {"outcome"}


def _with_control(found: Contrast, question: str, columns: Iterable[ColumnProfile]) -> Contrast:
    """Return a contrast of two levels with the one last that the question says is the control: `T = drug, C = control`."""
    told = letters_told(question, [*columns]).get(found.column, {})
    control = [level for level, said in told.items() if control_level([said])]
    if found.explicit or len(control) != 1 or {*found.levels} != {*told} or len(told) != 2:
        return found
    return Contrast(found.column, (*(level for level in told if level != control[0]), control[0]), explicit=True)


def reread(reading: Reading, mentions: Iterable[ColumnMention], data: Data) -> Reading:
    """Return what a question says where its words name other things; what it says of codes, and what was chosen, stays."""
    own = interpret(reading.question, reading.words, sorted(mentions, key=lambda m: m.first), data)
    own.coding, own.explained, own.chosen = reading.coding, reading.explained, reading.chosen
    return own


def _contradicted(item: Restriction, others: Sequence[Restriction]) -> bool:
    """Say whether another level of the column would be kept as well: `seeds with hay extract or with straw extract` are both."""
    return item.op == "in" and any(
        other.op == "in" and other.column == item.column and not {*other.values} & {*item.values} for other in others
    )


_PUT_OUT = re.compile(
    r"\b(?:leave|leaving|keep|take)(?:\s+[^\s.,;:?!]+){1,5}?\s+(?<!find )(?<!work )(?<!figure )(?<!carry )(?<!turn )(?<!turns )(?<!check )out\b",
    re.IGNORECASE,
)
_LEADS = re.compile(r"\W*(?:for|at|on|in|among)\b", re.IGNORECASE)


def within(reading: Reading, request: Request | Sequence[Request], data: Data) -> Reading:
    """Return what some of several requests say: what they name themselves, what stands in none, and what holds for all.

    For all hold the rows that are kept and the topic before a colon (`Smoking and birth weight: a plot, then a test`).
    """
    own_requests = [request] if isinstance(request, Request) else [*request]
    others = [r for r in reading.requests if r not in own_requests]
    topic = reading.question.find(":")
    leads = 3 if _LEADS.match(reading.question) else 0  # `At month 6 show ..., and which groups differ?`
    sure = [r for r in reading.restrictions if r.sure or r.first < leads]
    shared = {at for r in sure for at in range(r.first, r.last + 1)}
    shared |= {m.first for m in reading.mentions if (m.column, m.last + 1) in {(r.column, r.first) for r in sure}}
    shared |= {at for at, word in enumerate(reading.words) if word.end <= topic}
    mentions = [
        m for m in reading.mentions if m.first in shared or not any(r.first <= m.first <= r.last for r in others)
    ]
    own = reread(reading, mentions, data)
    own.requests, own.used = own_requests, reading.used
    return own


def _listed_with_columns(question: str, words: list[Token], mentions: Sequence[ColumnMention]) -> list[ColumnMention]:
    """Return mentions with a level in a list of columns as its column: the share of boys in `n, boys, age, weight`."""
    starts = {m: words[m.first].start for m in mentions}
    named = sorted((m for m in mentions if not m.level), key=lambda m: m.first)
    found: list[ColumnMention] = []
    for m in mentions:
        before, after = question[: starts[m]].rstrip(), question[words[m.last].end :].lstrip()
        inside = m.level and before.endswith((",", ":")) and after.startswith(",")
        near = [o for o in named if abs(o.first - m.last) <= 2 or abs(m.first - o.last) <= 2]
        items = [o for o in named if re.match(r"\s*(?:\([^)]*\)\s*)?,", question[words[o.last].end :])]
        found.append(m._replace(level="") if inside and near and len(items) > 1 else m)
    return found


def _is_a_mark(mention: ColumnMention, words: list[Token], question: str) -> bool:
    """Say whether a level is only the mark of an item in a list: `(ii) Cox model with stage` speaks of no stage II."""
    start, end = words[mention.first].start, words[mention.last].end
    said = question[max(0, start - 1) : end + 1]
    return (
        bool(mention.level)
        and mention.level != said[1:-1]
        and re.fullmatch(r"\((?:[a-f]|i{1,3}|iv|v)\)", said) is not None
    )


def _numberings(data: Data) -> set[str]:
    """Return the columns that number what each subject has several of: pods 1 to 6 of each plant."""
    return {
        column.name
        for sheet in data.sheets
        for column in sheet.columns
        if numbers_things(column) and any(column.name in item.within for item in sheet.structure.repeated)
    }


def _mentions(question: str, words: list[Token], data: Data, inside: list[tuple[int, int]]) -> list[ColumnMention]:
    found, classes = list[ColumnMention](), list[ColumnMention]()
    for sheet in data.sheets:
        named = column_mentions(words, sheet.columns, question)
        named += [*wide_mentions(words, sheet.structure), *generic_mentions(words, sheet), *groups_meant(words, sheet)]
        every = [*named, *level_mentions(words, sheet.columns, question)]
        classes += classes_meant(words, sheet.columns, named) + at_last(words, sheet.columns, named)
        every += beginnings(words, sheet.columns, question)
        every += numbered_mentions(words, sheet.columns, named, question)
        every += codes_explained(words, sheet.columns, named, question)
        states = states_meant(words, sheet.columns, named, question)
        every = [m for m in every if not any(m.column == s.column and s.first <= m.first <= s.last for s in states)]
        every += states
        every += undosed(every, words, sheet.columns)
        every = without_ends_told(every, words, question, sheet.structure)
        every = of_one_measure(every, sheet.structure, words)
        every = at_its_own_time(every, words)
        terms = [*inside, *whole_terms(every, words)]
        every = [m for m in every if not any(part_of_term(m, words, *term) for term in terms)]
        every = [m for m in every if not any(only_sounds(m, words[a : b + 1], a) for a, b in inside)]
        every = [m for m in every if not (is_statistic(m, words) or is_phrase(m, words) or only_when(m, words))]
        every = [m for m in every if not of_a_span(m, words)]
        every = _in_other_words(every, words, question)
        every = [m for m in every if not (_is_a_file(m, words, question, data) or _is_a_mark(m, words, question))]
        # No part of what is planned: `leave the dates out`.
        put_out = [match.span() for match in _PUT_OUT.finditer(question)]
        every = [
            m
            for m in every
            if m.level or m.strength >= SURE or not any(a <= words[m.first].start < b for a, b in put_out)
        ]
        every = [
            m for m in every if m.width > 1 or not (of_a_course(words, m.first, sheet) or of_an_age(words, m.first))
        ]
        every = _with_and_without(every, words, question, sheet)
        found += every
    strongest = sorted(found, key=lambda m: -m.strength)
    unique: dict[tuple[int, int, str, str], ColumnMention] = {}
    for mention in strongest:
        unique.setdefault((mention.first, mention.last, mention.column, mention.level), mention)
    rest = of_neighbours(beside_own(list(unique.values())), words)
    begun = {c.last for c in classes if c.level and c.first == c.last}  # the final of `final weight` is a time
    rest = [m._replace(first=m.first + 1) if m.first in begun and m.width > 1 else m for m in rest]
    own = [m for m in rest if not any(c.first <= m.first and m.last <= c.last for c in classes)]
    return in_one_row(cover([*classes, *own]), data.columns(), words)


def _known_features(data: Data) -> frozenset[str]:
    """Return what the rows of matrices are called; taxa also in small letters, which no other name is told from by them."""
    known = {name for sheet in data.sheets for name in sheet.profile.feature_ids}
    taxa = [s.profile for s in data.sheets if s.profile.best and s.profile.best.type is DataType.ABUNDANCE_TABLE]
    return frozenset(known | {name.lower() for profile in taxa for name in profile.feature_ids if len(name) > _SHORT})


_SHORT = 4
"""Names of so many letters may be words."""


def _not_genes(mentions: list[ColumnMention], question: str, words: list[Token], data: Data) -> list[ColumnMention]:
    """Leave out matches of what names the rows of the data: the word gene, and weak ones of genes as written there."""
    known = _known_features(data)
    spans = [match.span() for match in re.finditer(r"[\w.-]*\w", question) if match.group(0) in known]

    def is_gene(m: ColumnMention) -> bool:
        start, end = words[m.first].start, words[m.last].end
        column = data.column(m.column)
        rows = m.first == m.last and words[m.first].stem == "gene"
        if rows and not m.level and column is not None and column.role("gene") >= 0.5:
            return True
        return m.strength < SURE_NAME and ((rows and bool(known)) or any(a < end and start < b for a, b in spans))

    return [m for m in mentions if not is_gene(m)]


def _genes(question: str, data: Data, mentions: list[ColumnMention], words: list[Token]) -> list[tuple[str, int, int]]:
    genomic = any(sheet.profile.feature_kind or sheet.profile.feature_ids for sheet in data.sheets)
    if not genomic:
        return []
    known = _known_features(data)
    exclude = {word for sheet in data.sheets for word in (sheet.name.lower().split(".")[0],)}
    exclude |= {column.name.lower() for column in data.columns()}
    exclude |= {level.lower() for column in data.columns() for level in column.levels}
    taken = [(words[m.first].start, words[m.last].end) for m in mentions if m.level or m.strength >= 0.97]
    found = numbers.genes(question, exclude=frozenset(exclude), known=known)
    return [item for item in found if not any(start <= item[1] < end for start, end in taken)]


def _mark(reading: Reading) -> None:
    for mention in reading.mentions:
        value = f"{mention.column} = {mention.level}" if mention.level else mention.column
        reading.mark(mention.first, mention.last, "level" if mention.level else "column", value, mention.strength)
    for item in reading.restrictions:
        if item.why:
            reading.mark(item.first, item.last, "restriction", f"{item.column} {item.op} {', '.join(item.values)}")
    for gene, start, end in reading.genes:
        reading.mark_text(start, end, "gene", gene)
    for name, said in (("threshold", reading.alpha), ("threshold", reading.min_lfc), ("number", reading.top)):
        if said is not None:
            reading.mark_text(said.start, said.end, name, f"{said.value:g}")  # type: ignore[arg-type]
