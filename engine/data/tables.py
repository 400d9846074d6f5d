"""Decides what a table can serve as: the matrix in it, or the kinds of records that recognise themselves."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from engine.data.catalogue import KINDS
from engine.data.columns.cells import NOT_DONE, TITRE, tidy
from engine.data.columns.column import MAX_COLUMNS, NOT_YET, Cleaned, clean, profile_column, row_numbers, whole_again
from engine.data.columns.genes import identify
from engine.data.columns.legend import MOST_CELLS, MOST_ROWS, called_missing, spelled_out, with_legend, with_occasions
from engine.data.found import TableFound
from engine.data.kinds.matrix import find_matrix
from engine.data.source import Frame, TableSource, UnusableFile, plural, some
from engine.data.structure.problems import LEFT_OUT, column_problems, none_problems, slips_of
from engine.data.structure.rows import look
from engine.data.structure.scales import two_states
from engine.data.structure.unit_columns import unit_problems
from engine.domain.datatypes import DataType
from engine.domain.profile import ColumnProfile, Structure, TypeGuess


def examine(name: str, source: TableSource) -> TableFound:
    """Decide what the table is.

    Raises:
        UnusableFile: when nothing in it can be used.
    """
    table = TableFound(name, source)
    cleaned = _cleaned(table)
    frame = cleaned.frame
    _keep_marks(table, cleaned, frame)
    table.warnings += cleaned.warnings
    _header_warnings(table)
    table.warnings += none_problems(name, table.details.pop("none_words", {}))
    if frame.shape[1] == 0 or len(frame) == 0:
        message = f"{name} has a header but no rows; export it again with its data."
        raise UnusableFile(message)
    table.head = head_of(frame)
    table.rows, table.columns = source.rows, frame.shape[1]
    before = [*table.warnings]
    annotation = find_matrix(table, frame)
    as_records = look(frame) if annotation is not None and _doubtful(table, frame) else None
    if as_records is not None and as_records[1].survival:  # weights of mice beside their death
        annotation, table.warnings = None, before
    if annotation is not None:
        _use_matrix(table, annotation, frame, cleaned.mixed, as_records)
    else:
        _use_records(table, frame, cleaned.units)
    _tell_cells(table, cleaned)
    _keep_legend(table, frame)
    table.rows_estimated = source.sampled
    if source.sampled:
        table.looked_at = len(source.frame)
        table.warnings.append(
            f"{name} is large: values were checked in the first {len(frame):,} of about {source.rows:,} rows."
        )
    return table


def head_of(frame: Frame, rows: int = 6) -> dict[str, list[str]]:
    """Return the first rows of the first columns as texts."""

    def text(cell: Any) -> str:
        whole = isinstance(cell, float) and cell.is_integer()  # read as 1.0 because others in the column are missing
        return "" if cell is None or cell != cell else str(int(cell) if whole else cell)[:60]

    columns = {str(name): frame.iloc[:rows, place] for place, name in enumerate(frame.columns[:30])}
    return {name: [text(cell) for cell in column.astype(object).where(column.notna(), None)]
            for name, column in columns.items()}  # fmt: skip


def rows_of(name: str, source: TableSource) -> Frame:
    """Return the rows of a table as its profile was made from: rows named, marks of missing values read."""
    return _cleaned(TableFound(name, source)).frame


def _cleaned(table: TableFound) -> Cleaned:
    frame = _named_rows(table, table.source.frame)
    decimal = table.read.get("decimal", ".")
    marks_count = table.source.format != "json"
    legend = table.details.get("legend", []) if marks_count else []
    told, same = called_missing(legend, frame), spelled_out(legend, frame)
    cleaned = clean(frame, table.name, decimal=decimal, marks_count=marks_count, told=told, spelled_out=same)
    if marks_count:
        _without_not_done(table.name, cleaned)
    return cleaned


def _named_rows(table: TableFound, frame: Frame) -> Frame:
    """Give unnamed row names a name, leave out what a spreadsheet or a plain row number added."""
    import pandas as pd

    short_header = not isinstance(frame.index, pd.RangeIndex)
    if isinstance(frame.index, pd.MultiIndex):
        message = f"{table.name}: the header has fewer names than the rows have fields; give every column a name."
        raise UnusableFile(message)
    frame = frame.copy(deep=False)
    frame.columns = [str(column).strip() for column in frame.columns]
    if not short_header:
        frame = _without_blank_rows(table, frame)
    frame = _without_empty_columns(table, frame)
    texts = table.source.first_column
    if texts and len(texts) == len(frame) and any(re.match(r"0\d+$", text) for text in texts[:1000]):
        frame.isetitem(0, texts)  # 001 is a name, not the number 1
    if short_header or (len(frame.columns) and frame.columns[0] == "Unnamed: 0"):
        frame = _rows_called(table, frame, short_header=short_header)
    return frame


def _without_blank_rows(table: TableFound, frame: Frame) -> Frame:
    blank, texts = frame.isna().all(axis=1), table.source.first_column
    if not blank.any():
        return frame
    table.source.rows -= int(blank.sum())
    table.source.first_column = (
        [text for text, skip in zip(texts, blank, strict=True) if not skip]
        if texts and len(texts) == len(blank)
        else None
    )
    return whole_again(frame[~blank].reset_index(drop=True))


def _without_empty_columns(table: TableFound, frame: Frame) -> Frame:
    """Leave out the columns without a name and a value that a spreadsheet added."""
    empty = [c for c in frame.columns if (c.startswith("Unnamed: ") or c == "empty") and frame[c].isna().all()]
    if empty:
        table.read["drop"] = list(dict.fromkeys([*table.read.get("drop", []), *empty]))
        if frame.columns[0] in empty:
            table.source.first_column = None
        frame = frame.drop(columns=empty)
    return frame


def _rows_called(table: TableFound, frame: Frame, *, short_header: bool) -> Frame:
    """Name the column of row names, or leave it out where it only counts the rows.

    Args:
        table: what is found of the table; gets how it is to be read.
        frame: its rows.
        short_header: whether the row names are the index, since the header has no name for them.
    """
    ids = frame.index.astype(str).str.strip() if short_header else frame.iloc[:, 0]
    if row_numbers(ids):
        table.source.first_column = None
        if short_header:
            return frame.reset_index(drop=True)
        table.read["drop"] = [*table.read.get("drop", []), "Unnamed: 0"]
        return frame.iloc[:, 1:]
    label = "gene" if identify([str(i) for i in ids]).feature_like else "row"
    while label in frame.columns:
        label += "_name"
    table.read["row_names"] = label
    if not short_header:
        return frame.rename(columns={"Unnamed: 0": label})
    frame = frame.reset_index(drop=True)
    frame.insert(0, label, list(ids))
    return frame


def _without_not_done(name: str, cleaned: Cleaned) -> None:
    """Read `nd` beside two states of a test as missing: what nobody looked for is neither positive nor negative."""
    for column in _unique(cleaned.frame):
        cells = cleaned.frame[column]
        if cells.dtype != object or cells.nunique() > MOST_STATES:
            continue
        levels = [str(level) for level in cells.value_counts().index]
        marks = [level for level in levels if tidy(level).lower() in NOT_DONE]
        rest = [level for level in levels if level not in marks]
        if marks and (two_states(rest) or two_states(rest[:2])):  # `pos` may stand a few times for one of the two
            without = int(cells.isin(marks).sum())
            cleaned.frame[column] = cells.where(~cells.isin(marks))
            cleaned.marks[column] = sorted({tidy(mark) for mark in marks})
            told = f"{plural(without, 'cell')} ({some(marks)}) in column {column!r}"
            cleaned.warnings.append(f"{name}: {told} are read as missing values: not done is neither of the two.")


MOST_STATES = 6
"""Two states of a test, and so many words at most that it was not done, or how they are written."""


def _keep_marks(table: TableFound, cleaned: Cleaned, frame: Frame) -> None:
    """Put the marks of missing values into the read options, for their columns only where others use them."""
    if cleaned.numbers:
        table.read["numbers"] = cleaned.numbers
    if cleaned.same:
        table.read["same"] = cleaned.same
    if not any(cleaned.marks.values()):
        return
    every = sorted({mark for marks in cleaned.marks.values() for mark in marks})
    elsewhere = [c for c in frame.columns if frame[c].dtype == object]
    shared = bool(cleaned.coded) or any(frame[c].astype(str).str.strip().isin(every).any() for c in elsewhere)
    raw = {str(c).strip(): str(c) for c in table.source.frame.columns}
    table.read["na"] = {raw.get(c, c): marks for c, marks in cleaned.marks.items()} if shared else every


def _tell_cells(table: TableFound, cleaned: Cleaned) -> None:
    """Put what was found in the cells, and the units of the row below the header, into the columns' profiles."""
    units = table.details.pop("units", {}) | cleaned.units
    table.column_profiles = [
        column.model_copy(
            update={
                "notes": [*cleaned.notes.get(column.name, []), *column.notes],
                "unit": units.get(column.name) or column.unit,
                # With few distinct values the words may be levels: a dose of 0 called `control`.
                **(_AMONG_NUMBERS if column.name in cleaned.mixed and column.scale == "identifier" else {}),
            }
        )
        for column in table.column_profiles
    ]
    slips = [(c.name, note) for c in table.column_profiles if c.kind == "date" for note in c.notes if NOT_YET in note]
    table.warnings += [f"{table.name}: column {name!r}: {note}" for name, note in slips]


def _keep_legend(table: TableFound, frame: Frame) -> None:
    """Put what is said of columns around the table into their profiles, and keep the rows of what may be a legend."""
    table.column_profiles = with_legend(table.column_profiles, table.details.pop("legend", []))
    texts = [column for column in table.column_profiles if column.scale in ("text", "identifier", "category", "binary")]
    if len(frame) <= MOST_ROWS and 2 <= frame.shape[1] <= MOST_CELLS and 2 * len(texts) > frame.shape[1]:
        columns = head_of(frame, MOST_ROWS).values()
        table.details["legend"] = [list(map(str, frame.columns)), *map(list, zip(*columns, strict=True))]


_AMONG_NUMBERS = {"words_among_numbers": True, "kind": "text", "scale": "text"}


def _header_warnings(table: TableFound) -> None:
    headers = [h for h in table.source.headers if h and not h.startswith("Unnamed: ")]
    twice = sorted({h for h in headers if headers.count(h) > 1}) if len(headers) < 5000 else []
    if twice:
        table.warnings.append(
            f"{table.name}: {plural(len(twice), 'column name')} used more than once ({some(twice)}); the later ones "
            f"are read as {twice[0] + '.1'!r}: give each column its own name."
        )


def _doubtful(table: TableFound, frame: Frame) -> bool:
    """Say whether what is taken for a matrix may as well be a table of records."""
    return table.types[0].confidence < 0.7 and frame.shape[1] <= 30


def _use_matrix(
    table: TableFound,
    annotation: list[str],
    frame: Frame,
    mixed: list[str],
    as_records: tuple[list[ColumnProfile], Structure] | None,
) -> None:
    """Fill in what is known of a matrix: its columns `as_records` where it may be such, else what stands beside it."""
    lost = [column for column in annotation if column in mixed]
    if lost:
        # A sample that vanishes unseen changes every result; the file is doubtful until it is repaired.
        table.types = [g.model_copy(update={"confidence": min(g.confidence, 0.5)}) for g in table.types]
        table.warnings.append(
            f"{table.name}: {plural(len(lost), 'column')} ({some(lost)}) left out of the matrix because of "
            "cells that are no numbers; repair the cells if these are samples."
        )
    best = table.types[0]
    table.column_profiles, table.structure = as_records or look(frame[annotation[:MAX_COLUMNS]])
    as_sheet = KINDS[DataType.SAMPLE_SHEET].in_table
    if best.read.get("transpose") and as_sheet is not None:  # what stands beside the samples describes them
        table.types += as_sheet(table, frame[[c for c in frame.columns[:1] if c not in annotation] + annotation])
    table.types.append(TypeGuess(type=DataType.TABLE, confidence=0.3, read=table.read))


def _use_records(table: TableFound, frame: Frame, units: Mapping[str, str]) -> None:
    _look_at(table, frame, units)
    apart = {name for repeated in table.structure.repeated for name in (repeated.subject, *repeated.within)}
    slips = None if table.source.sampled else slips_of(table.column_profiles, apart, frame)
    told = []
    if slips is not None:
        told = [f"{table.name}: {plural(int(slips.sum()), 'row')} {LEFT_OUT}"]
        texts = table.first_column(frame)
        table.source.first_column = texts and [text for text, out in zip(texts, slips, strict=True) if not out]
        frame = frame[~slips].reset_index(drop=True)
        table.read["once"], table.rows = True, len(frame)
        table.source.rows = len(frame)
        _look_at(table, frame, units)
    _remember_ids(table, frame)
    found = [guess for kind in KINDS.values() if kind.in_table for guess in kind.in_table(table, frame)]
    table.types = sorted(found, key=lambda guess: -guess.confidence)
    table.warnings += told + column_problems(table.name, table.column_profiles, frame)
    table.warnings += unit_problems(table.name, table.structure, frame)
    kinds = (KINDS[guess.type] for guess in table.types)
    table.summary = next(kind.summary(table) for kind in kinds if kind.summary)


def _look_at(table: TableFound, frame: Frame, units: Mapping[str, str]) -> None:
    """Fill in what the columns of records are, and how their rows belong together."""
    shown = frame.iloc[:, :MAX_COLUMNS]
    columns = [
        profile_column(c, shown[c]).model_copy(update={"unit": TITRE, "levels": {}})
        if units.get(c) == TITRE
        else profile_column(c, shown[c])
        for c in _unique(shown)
    ]
    # What codes stand for says which column is an end: `exitus` 1 is died.
    legend = table.details.get("legend", [])
    table.column_profiles, structure = look(shown, with_legend(columns, legend))
    table.structure = with_occasions(structure, legend, columns)


def _unique(frame: Frame) -> list[str]:
    return list(dict.fromkeys(frame.columns[~frame.columns.duplicated(keep=False)]))


def _remember_ids(table: TableFound, frame: Frame) -> None:
    """Keep the values of the columns that could name samples, to be matched with a matrix."""
    ids: dict[str, list[str]] = {}
    first = table.first_column(frame)
    for column in table.column_profiles:
        if column.role("id") and len(ids) < 6:
            texts = (
                first
                if column.name == frame.columns[0] and first
                else frame[column.name].astype(str).str.strip().tolist()
            )
            ids[column.name] = texts[:5000]
    if ids:
        table.details["ids"] = ids
