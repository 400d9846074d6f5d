"""Data and tools as a model reads them: what a good analyst would want to know of them, and no row of data."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from engine.domain.datatypes import MATRICES
from engine.domain.profile import ColumnProfile, Profile, Structure, TypeGuess
from engine.domain.toolspec import ParamSpec, ToolSpec
from engine.planning.tables.sheets import is_id
from engine.toolbox.written import WRITTEN

MOST_COLUMNS = 120
"""So many columns of a file are described, those that are told together as one."""
ALIKE, ALIKE_NUMBERED = 12, 5
"""So many columns of one kind of numbers are told together; so many where only a number tells their names apart."""
SIMILAR = 4.0
"""Their largest values are at most so many times as large as that of the first of them."""
MOST_NAMES = 400
"""So many names of columns that are told together are listed."""
MOST_LEVELS = 15
"""So many values of a group are listed, the most frequent first."""
MEASURED = frozenset({"number", "count"})
"""Scales of which the range is told: their values are no names of groups but what was measured in single rows."""
FEW = 6
"""So many names of samples are listed, and remarks of a column that is empty else."""
MOST_FEATURES = 60
"""So many names of what a matrix measures are listed, where they are neither genes nor numbers with a letter."""
MOST_FORMS = 3
"""So many ways in which cells of a column are written are told."""
MOST_NOTES = 3
"""So many remarks on the values of a column are told."""
LONGEST = 60
"""Characters of a name or value that are shown."""
MOST_FOUND = 6
"""Remarks on a file as a whole that are told; what is said of its columns stands beside them."""
_MISSING = re.compile(r"with missing values|missing values in")
MOST_BESIDE, LONGEST_LINE = 25, 160
"""Lines of what explains a table, and characters of each."""


def quoted(text: object, longest: int = LONGEST) -> str:
    """Return a text of the user's data so that it cannot break its line."""
    shown = str(text)
    shown = shown if len(shown) <= longest else shown[: longest - 3] + "..."
    return json.dumps(shown, ensure_ascii=False)


def files_text(profiles: Iterable[Profile], *, levels: bool = True) -> str:
    """Return the files: shape, columns with kinds, ranges and levels, and what their rows are.

    Args:
        profiles: what was found by looking at them.
        levels: whether values of groups may be listed; False gives their number.
    """
    return "\n\n".join("\n".join(_file(profile, levels=levels)) for profile in profiles) or "No file was given."


def columns_text(profiles: Iterable[Profile], names: Collection[str], *, levels: bool = True) -> str:
    """Return those columns of the files that have one of these names, a line each."""
    found = [column for profile in profiles for column in profile.column_profiles if column.name in names]
    return "\n".join(f"- {quoted(column.name)}: {_column(column, levels=levels)}" for column in found)


def without_levels(text: str, profiles: Iterable[Profile], question: str) -> str:
    """Return a text with `...` for every value of a group that the question does not name itself."""
    columns = [column for profile in profiles for column in profile.column_profiles]
    named = {column.name for column in columns}
    hidden = {level for column in columns for level in column.levels if level not in named and level not in question}
    if not hidden:
        return text
    longest_first = "|".join(map(re.escape, sorted(hidden, key=len, reverse=True)))
    return re.sub(rf"(?<!\w)(?:{longest_first})(?!\w)", "...", text)


def _file(profile: Profile, *, levels: bool) -> Iterator[str]:
    kinds = ", ".join(map(_served, profile.types)) or "nothing that can be used"
    shape = f"{profile.rows_text or '?'} rows, {profile.columns or '?'} columns"
    sheet = f" sheet {_sheet(profile)}" if profile.others else ""
    yield f"File {quoted(profile.name)}{sheet}: {shape}; can serve as {kinds}."
    for other in profile.others:
        columns = ", ".join(quoted(column.name) for column in other.column_profiles[:MOST_LEVELS])
        yield f"Not read: sheet {_sheet(other)} ({columns})."
    if profile.sample_ids and len(profile.sample_ids) != profile.columns:
        # Of a matrix they are names of columns; of a list of samples they name its rows, which stay here.
        columns = profile.sample_ids[:FEW] if profile.types and profile.types[0].type in MATRICES else []
        named = f", in the columns {', '.join(map(quoted, columns))}" if columns else ""
        more = ", ..." if columns and len(profile.sample_ids) > FEW else ""
        yield f"{len(profile.sample_ids)} samples or cells{named}{more}."
    if profile.feature_kind or profile.organism:
        yield f"Features: {profile.feature_kind or 'unknown names'}, {profile.organism or 'organism unknown'}."
    if levels and profile.feature_ids and not profile.feature_kind:  # known genes need no list
        most = MOST_FEATURES if len({_written(name) for name in profile.feature_ids}) > 1 else FEW
        more = "" if len(profile.feature_ids) <= most else ", ..."
        yield f"Names of features: {', '.join(map(quoted, profile.feature_ids[:most]))}{more}."
    yield from (f"Rows: {line}" for line in _structure(profile.structure))
    if levels:  # they may quote cells
        found = [text.removeprefix(f"{profile.name}: ") for text in profile.warnings]
        told = [text for text in found if not (text.startswith("column ") or _MISSING.search(text))]
        yield from (f"Found: {quoted(text, LONGEST_LINE)}" for text in told[:MOST_FOUND])
    together = _together(profile.column_profiles, levels=levels)
    for alike in together[:MOST_COLUMNS]:
        names = ", ".join(quoted(column.name) for column in alike[:MOST_NAMES])
        more = f" and {left} more" if (left := len(alike) - MOST_NAMES) > 0 else ""
        count = f"{more}, {len(alike)} columns alike, over all of them" if len(alike) > 1 else ""
        column = _over_all(alike)
        yield f"- {names}{count}: {_column(column, levels=levels)}{_form(column, profile.head.get(column.name, ()))}"
    if more := sum(map(len, together[MOST_COLUMNS:])):
        yield f"- and {more} further columns"
    if levels and (rows := profile.details.get("beside")):
        yield "Written beside the table, on a sheet that explains it:"
        lines = (" | ".join(filter(None, map(str, row))) for row in rows)
        yield from (f"  {quoted(line, LONGEST_LINE)}" for line in [*filter(None, lines)][:MOST_BESIDE])


def _together(columns: Sequence[ColumnProfile], *, levels: bool) -> list[list[ColumnProfile]]:
    """Return the columns in order; with the first stand those of which the same is said but for a similar range."""
    groups = list[list[ColumnProfile]]()
    alike = dict[tuple[str, str], list[list[ColumnProfile]]]()
    for column in columns:
        ranges = column.minimum is not None and (column.scale in MEASURED or not column.levels)
        # What is said of a column beside range and missing cells is what has to be the same.
        said = _column(column.model_copy(update={"minimum": None, "missing": 0, "distinct": 0}), levels=levels)
        known = alike.setdefault((_pattern(column.name), said), []) if ranges else []
        if (group := next((one for one in known if _similar(one[0], column)), None)) is not None:
            group.append(column)
        else:
            groups.append([column])
            known.append(groups[-1])
    enough = [group for group in groups if len(group) >= (ALIKE_NUMBERED if _pattern(group[0].name) else ALIKE)]
    leads = {group[0].name: group for group in enough}
    inside = {column.name for group in enough for column in group[1:]}
    return [leads.get(column.name, [column]) for column in columns if column.name not in inside]


def _pattern(name: str) -> str:
    """Return what a name shares with others that a number tells apart (`A1`, `H12`; `day 3`, `day 21`), or ""."""
    pattern, numbers = re.subn(r"\d+(?:[.,]\d+)?", "9", name)
    return re.sub(r"^[^\W\d_](?=9$)", "A", pattern) if numbers else ""


def _similar(one: ColumnProfile, other: ColumnProfile) -> bool:
    low, high = sorted(max(abs(column.minimum or 0), abs(column.maximum or 0)) for column in (one, other))
    return high <= SIMILAR * low


def _over_all(alike: Sequence[ColumnProfile]) -> ColumnProfile:
    """Return the first of alike columns with range and missing cells of all."""
    if len(alike) == 1:
        return alike[0]
    least = min(column.minimum for column in alike if column.minimum is not None)
    most = max(column.maximum for column in alike if column.maximum is not None)
    missing = sum(column.missing for column in alike)
    return alike[0].model_copy(update={"minimum": least, "maximum": most, "missing": missing})


def _sheet(profile: Profile) -> str:
    return quoted(profile.types[0].read.get("sheet", "")) if profile.types else ""


def _served(guess: TypeGuess) -> str:
    """Return what a file can serve as, with the column that names its rows then."""
    index = guess.read.get("index_col")
    return guess.type.value + (f" ({quoted(index)} is its index then)" if isinstance(index, str) else "")


def _is_remark(column: ColumnProfile) -> bool:
    """Say whether a column is empty but for a few remarks, which no analysis uses and an analyst reads."""
    mostly_empty = column.missing > sum(column.levels.values())
    return 0 < len(column.levels) <= FEW and mostly_empty and column.kind not in ("integer", "number")


def _column(column: ColumnProfile, *, levels: bool) -> str:
    listed = column.order if set(column.order) == set(column.levels) else list(column.levels)
    parts: list[str] = [column.scale + (f" in {quoted(column.unit)}" if column.unit else "")]
    if column.levels and (_is_remark(column) or not is_id(column)) and column.scale not in MEASURED:
        shown = [
            f"{quoted(level)} ({n})" if (n := column.levels.get(level)) else quoted(level)
            for level in listed[:MOST_LEVELS]
        ]
        more = "" if len(column.levels) <= MOST_LEVELS else f" and {len(column.levels) - MOST_LEVELS} more"
        said = ", in order" if listed == column.order and len(listed) > 2 else ""
        parts.append(f"values{said} " + ", ".join(shown) + more if levels else f"{len(column.levels)} different values")
    elif column.minimum is not None and column.maximum is not None:
        parts.append(f"{column.minimum:g} to {column.maximum:g}")
    else:
        parts.append(f"{column.distinct:,} different values")
    parts += [f"{column.missing} missing"] if column.missing else []
    parts += [f"called {quoted(column.label)} by a legend"] if column.label else []
    if levels and column.codes:
        means = [f"{quoted(code)} for {quoted(words)}" for code, words in column.codes.items()]
        parts.append(f"by a legend {', '.join(means[:MOST_LEVELS])}")
    # How many cells lie below or above what could be measured is told without the cells, too.
    notes = column.notes if levels else [note.partition(" (")[0] for note in column.notes if " a limit (" in note]
    parts += [note.rstrip(".") for note in notes[:MOST_NOTES]]
    return "; ".join(parts)


def _form(column: ColumnProfile, cells: Sequence[str]) -> str:
    """Return how cells are written whose values are not listed (`9999-99-99`, `A99_A9`): digits are 9, letters A."""
    if column.levels or column.minimum is not None or column.scale in MEASURED:
        return ""
    forms = dict.fromkeys(_written(cell) for cell in cells if cell)
    shown = [form for form in forms if "9" in form and len(form) <= LONGEST][:MOST_FORMS]
    return f"; written as {', '.join(map(quoted, shown))}" if shown else ""


def _written(cell: str) -> str:
    return re.sub(r"[^\W\d_]", "A", re.sub(r"\d", "9", cell))


def _structure(structure: Structure) -> Iterator[str]:
    if structure.unit != "row":
        yield f"one row is {quoted(structure.unit)}"
    for item in structure.repeated[:2]:
        within = f", apart by {', '.join(map(quoted, item.within[:3]))}" if item.within else ""
        yield f"{item.subjects} of {quoted(item.subject)} have several rows each{within}, which are not independent"
    if survival := structure.survival:
        known = ", ".join(f"{part} {quoted(name)}" for part, name in survival.items())
        yield f"times to an event: {known}"
    for measure in structure.wide[:4]:
        yield f"{quoted(measure.name)} is measured in the columns {', '.join(map(quoted, measure.columns[:8]))}"
    yield from (f"every {quoted(inner)} lies within one {quoted(outer)}" for inner, outer in structure.nested[:4])
    yield from (
        f"{quoted(part)} counts a part of {quoted(whole)}" for part, whole in list(structure.part_of.items())[:4]
    )
    if structure.doses:
        yield f"doses: {', '.join(map(quoted, structure.doses[:4]))}"


def tool_text(spec: ToolSpec) -> str:
    """Return a tool with what it takes."""
    inputs = ", ".join(
        f"{port.name} ({port.type.value}{', optional' if port.optional else ''})" for port in spec.inputs
    )
    lines = [
        f"## {spec.name}: {spec.title}",
        f"Answers: {', '.join(spec.answers)}. Inputs: {inputs}.",
        spec.description,
    ]
    return "\n".join([*lines, *(f"- {_param(param)}" for param in spec.params)])


def _param(param: ParamSpec) -> str:
    kind = f"one of {', '.join(param.choices)}" if param.choices else param.kind
    if param.of:
        kind += f" of {param.of}"
    limits = [f"at least {param.minimum:g}"] if param.minimum is not None else []
    limits += [f"at most {param.maximum:g}"] if param.maximum is not None else []
    limits += [f"at least {param.least} of them"] if param.least else []
    limits += [f"at most {param.most} of them"] if param.most else []
    limits += [f"of at most {param.distinct} different values"] if param.distinct else []
    if param.required:
        limits.append("required")
    elif param.default not in (None, "", []):
        limits.append(f"default {json.dumps(param.default)}")
    unit = f" ({param.unit})" if param.unit else ""
    return f"{param.name}: {', '.join([kind, *limits])}. {param.description}{unit}"


def others_text(specs: Iterable[ToolSpec], near: Collection[ToolSpec]) -> str:
    """Return tools without what they take: those of the fields of near ones a line each, those of other fields by name.

    What a model wrote has no field, and its name says nothing; without a near tool every field is as likely.
    """
    fields = {spec.domain for spec in near}
    told, named = list[str](), dict[str, list[str]]()
    for spec in specs:
        if not fields or spec.domain in fields or WRITTEN in spec.answers:
            told.append(f"{spec.name}: {spec.title}")
        else:
            named.setdefault(spec.domain, []).append(spec.name)
    return "\n".join([*told, *(f"Of {field}: {', '.join(names)}" for field, names in named.items())])
