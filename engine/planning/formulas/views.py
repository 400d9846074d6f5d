"""Columns that a step would make, planned with as if the file had them: a computed measure, subjects numbered anew in each centre.

`does the error, reported minus measured, differ between the sexes` compares a column that is not there yet. The view of the file has
it, under the name of its formula; a step that uses it gets the step that makes it put before.
"""

# Most methods of pandas carry no types of what they return, which is all that these rules would find here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from engine.data.structure.rows import look
from engine.domain.datatypes import DataType
from engine.domain.profile import ColumnProfile, Repeated, RoleGuess, TypeGuess
from engine.planning.formulas.changed import GAIN, GROWS, change_asked, gain_asked
from engine.planning.formulas.formula import propose
from engine.planning.naming.mention import ColumnMention
from engine.planning.reading.grammar import HOLDS
from engine.planning.reading.read import reread
from engine.planning.reading.reading import Reading
from engine.planning.tables.sheets import Data, Made, Sheet


def with_subjects(data: Data) -> Data:
    """Return the data with one column for subjects whose numbers start anew in each centre, in place of the numbers."""
    return Data([_with_subject(sheet) for sheet in data.sheets])


def _with_subject(sheet: Sheet) -> Sheet:
    found = next((item for item in sheet.structure.repeated if item.restarts_in), None)
    inner = sheet.column(found.subject) if found else None
    if found is None or inner is None:
        return sheet
    name = f"{found.restarts_in} / {found.subject}"
    made = Made(name, f"join(`{found.restarts_in}`, `{found.subject}`)", found.why[0].upper() + found.why[1:] + ".")
    column = inner.model_copy(
        update={
            "name": name,
            "kind": "category",
            "scale": "code",
            "distinct": found.subjects,
            "levels": {},
            "order": [],
        }
    )
    columns = [column if c.name == inner.name else c for c in sheet.columns]
    repeated = [_renamed(item, inner.name, name) for item in sheet.structure.repeated]
    return view(sheet, columns, repeated, made)


def _renamed(item: Repeated, old: str, new: str) -> Repeated:
    return item.model_copy(update={"subject": new, "restarts_in": ""}) if item.subject == old else item


def with_spans(data: Data) -> Data:
    """Return the data with the days between two dates as the time of survival, where subjects were watched between them."""
    return Data([_with_span(sheet) for sheet in data.sheets])


def _with_span(sheet: Sheet) -> Sheet:
    found = sheet.structure.dated
    if not found:
        return sheet
    came = found.get("came", "")
    made, columns = [_watched(found)], list(sheet.columns)
    role = RoleGuess(role="time", confidence=0.95, why="the days between two dates")
    number = {"kind": "number", "scale": "number", "distinct": MANY, "roles": [role], "unit": "days", "minimum": 0}
    columns.append(ColumnProfile.model_validate({"name": made[0].column, **number}))
    survival = {"time": made[0].column, "event": found.get("event", ""), "event_value": found.get("event_value", "")}
    if came:
        survival |= {"event": f"{came} given", "event_value": "yes"}
        why = f"Where {came!r} is given it happened; the others had not come to it when they were last seen."
        made.append(Made(survival["event"], f"if_else(is_missing(`{came}`), 'no', 'yes')", why, happened=True))
        without = next((column.missing for column in columns if column.name == came), 0)
        levels = {"no": without, "yes": (sheet.profile.rows or 0) - without}
        event = ColumnProfile(name=survival["event"], kind="category", scale="binary", distinct=2, levels=levels)
        columns.append(event)
    guess = TypeGuess(type=DataType.SURVIVAL_TABLE, confidence=0.9, read=sheet.profile.types[0].read)
    structure = sheet.structure.model_copy(update={"survival": survival})
    update = {"types": [guess, *sheet.profile.types], "structure": structure, "column_profiles": columns}
    return Sheet(sheet.profile.model_copy(update=update), (*sheet.made, *made))


def _watched(found: Mapping[str, str]) -> Made:
    """Return the column of how long each row was watched, from what `Structure.dated` says."""
    came, until, entry, end = (found.get(part, "") for part in ("came", "until", "entry", "exit"))
    if until:
        why = f"Who has no {came!r} was watched until the last of the measurements beside it, {until}."
        return Made(f"{came} or {until}", f"if_else(is_missing(`{came}`), {until}, `{came}`)", why)
    days = f"days_between(`{entry}`, `{end}`)"
    if came:
        days, end = f"if_else(is_missing(`{came}`), {days}, days_between(`{entry}`, `{came}`))", f"{came} or {end}"
    why = f"Each row was watched from {entry!r} to {end!r}: the time is the days between."
    return Made(f"days from {entry} to {end}", days, why)


def with_list_as_set(data: Data) -> Data:
    """Return the data with a list of genes as the one set to look for, where genes come from an experiment beside it.

    A list of half the genes or more is what was tested, and one beside sets is what they are looked for in.
    """
    lists = [sheet for sheet in data.sheets if sheet.profile.types[0].type is DataType.GENE_LIST]
    tested = [sheet for kind in (DataType.COUNT_MATRIX, DataType.DE_TABLE) for sheet in data.serving(kind)]
    if len(lists) != 1 or not tested or data.serving(DataType.GENE_SET_LIBRARY):
        return data
    own, guess = lists[0], lists[0].profile.types[0]
    if _TESTED.search(own.name) or 2 * (own.profile.rows or 0) >= (tested[0].profile.rows or 0):
        return data
    read = {**guess.read, "one": own.name.rpartition(".")[0] or own.name}
    kinds = [guess.model_copy(update={"type": DataType.GENE_SET_LIBRARY, "read": read})]
    shown = Sheet(own.profile.model_copy(update={"types": kinds}), own.made)
    return Data([shown if sheet is own else sheet for sheet in data.sheets])


_TESTED = re.compile(r"back.?ground|universe|tested|expressed|detected|measured|all.?genes|reference", re.IGNORECASE)


def with_measure(reading: Reading, data: Data) -> tuple[Reading, Data] | None:
    """Return question and data with the measure that the question computes from columns; None when it computes none."""
    trial = replace(reading, used={})
    formula, _ = propose(trial, data)
    if formula is None:
        formula = gain_asked(trial, data) or change_asked(trial, data)
    if formula is None or not trial.used:
        return None
    name, expression = formula
    last = reading.words[max(trial.used)].start
    if any(match.start("which") <= last < match.end() for match in _WHICH_FIRST.finditer(reading.question)):
        return None
    used = [column.name for column in data.columns() if stands_in(column.name, expression)]
    sheet = data.home(used)
    if sheet is None or (len(used) < 2 and not _OF_ONE.match(expression)):
        return None
    by = re.search(r"/ `([^`]+)`", expression)
    if by and (divisor := sheet.column(by[1])) is not None and divisor.scale in ("binary", "category", "code"):
        return None  # `pain per arm` is of each arm
    if re.fullmatch(r"`[^`]+` - `[^`]+`", expression) and sheet.structure.of_several_measures(used):
        return None  # from one occasion to another, of different measurements
    if "/" in expression and set(used) & {*sheet.structure.times, *sheet.structure.doses}:
        return None  # `OD over hours` is a curve
    of_course = f" {GAIN}" in name
    if name not in trial.question and len(expression) < MOST and not of_course:
        name = expression.replace("`", "")
    parts = [c for w in sheet.structure.wide if of_course and {*used} <= {*w.columns} for c in w.columns] or used
    column = ColumnProfile(name=name, kind="number", scale="number", distinct=MANY)
    made = Made(name, expression, "The question is about a measure that is computed first.")
    shown = view(sheet, [*sheet.columns, column], sheet.structure.repeated, made, taken=used)
    data = data.seen(sheet, shown)
    mention = ColumnMention(name, "", min(trial.used), _said_until(max(trial.used), used, reading), 1.0)
    apart = [m for m in reading.mentions if m.last < mention.first or m.first > mention.last]
    rest = [m for m in apart if m.column not in parts or _held(m, reading)]
    return reread(reading, [*rest, *_compared(reading, name, of_course=of_course), mention], data), data


def _said_until(last: int, used: Sequence[str], reading: Reading) -> int:
    """Return the last word that says what is computed: the occasions of `the change in pain from week 0 to week 6`."""
    for m in sorted(reading.mentions):
        if m.first > last and m.column in used and {w.text for w in reading.words[last + 1 : m.first]} <= _FROM_TO:
            last = m.last
    return last


_FROM_TO = frozenset("from to and between until the at since".split())


def _compared(reading: Reading, name: str, *, of_course: bool) -> list[ColumnMention]:
    """Return where a gain that is told is compared in other words: `do they grow faster`."""
    said = GROWS.search(reading.question) if of_course else None
    at = [n for n, word in enumerate(reading.words) if said and said.start() <= word.start < said.start("way")]
    return [ColumnMention(name, "", at[0], at[-1], 1.0)] if at else []


_WHICH_FIRST = re.compile(
    r"\b(?:agree\w*|bias|bland|limits of agreement)\b[^().?!]*(?:[.?!][^().?!]*)?(?P<which>\([^()]*\))", re.IGNORECASE
)
"""Brackets behind an agreement say which of two is taken from which: `bias and limits of agreement (new minus old)`."""
_HOLDS_IT = re.compile(rf"\b{HOLDS}\s+(?:(?:it|this|that)\s+)?(?:for|by|on)\s+(?:[\w-]+\s+){{0,2}}$", re.IGNORECASE)


def _held(mention: ColumnMention, reading: Reading) -> bool:
    """Say whether a part of what is computed is held constant as well: a change `adjusted for the baseline`."""
    return _HOLDS_IT.search(reading.question[: reading.words[mention.first].start]) is not None


def with_joined(data: Data, keys: Sequence[str], step: str) -> Data:
    """Return the one table that a step makes of two files, so that what is asked next may name columns of both.

    Args:
        data: the files, the first two of which are joined.
        keys: the column of each that they are joined on.
        step: the output of the step that joins them.
    """
    left, right = data.sheets[:2]
    marks = [
        sheet.frame().assign(**{_KEY: sheet.frame()[key].astype(str).str.strip()})
        for sheet, key in zip((left, right), keys, strict=True)
    ]
    second = marks[1].drop(columns=keys[1]) if keys[0] == keys[1] else marks[1]
    frame = marks[0].merge(second, on=_KEY, suffixes=("", "_right")).drop(columns=_KEY)
    known = {column.name: column for sheet in (right, left) for column in sheet.columns}
    columns, structure = look(frame)
    columns = [known.get(column.name, column).seen_anew(column) for column in columns]
    types = [TypeGuess(type=DataType.TABLE, confidence=1.0)]
    update = {"column_profiles": columns, "structure": structure, "types": types, "rows": len(frame)}
    return Data([Sheet(left.profile.model_copy(update=update), step=step, rows=frame, files=(right.name,))])


_KEY = "__key"


def data_made(data: Data) -> str:
    """Return the last column that a step would make."""
    return next(sheet.made[-1].column for sheet in reversed(data.sheets) if sheet.made)


_OF_ONE = re.compile(r"(?:log\w*|sqrt)\(")
"""What is computed of one column and is then compared or related as it is."""
MANY = 99
MOST = 60
"""A formula of at most so many characters is the name of what it gives."""


def stands_in(column: str, expression: str) -> bool:
    """Say whether an expression names a column."""
    return f"`{column}`" in expression or re.search(rf"(?<!\w){re.escape(column)}(?!\w)", expression) is not None


def view(
    sheet: Sheet, columns: Sequence[ColumnProfile], repeated: Sequence[Repeated], made: Made, taken: Sequence[str] = ()
) -> Sheet:
    """Return a file with a column that a step would make, which stands for the occasions that it is `taken` of."""
    wide = [measure for measure in sheet.structure.wide if not taken or not {*taken} <= {*measure.columns}]
    structure = sheet.structure.model_copy(update={"repeated": list(repeated), "wide": wide})
    profile = sheet.profile.model_copy(update={"column_profiles": list(columns), "structure": structure})
    return Sheet(profile, made=(*sheet.made, made))
