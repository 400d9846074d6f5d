"""Postconditions: what must be true of a step's outputs whatever the data were.

The critic runs them on the stored files, outside the sandbox, so code that lies about its result is
found out. A tool names the checks that apply to it.
"""

# pyright: reportArgumentType=false, reportCallIssue=false, reportAttributeAccessIssue=false
from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.domain.results import Issue

if TYPE_CHECKING:
    import pandas as pd


WHOLE_BYTES = 16 << 20
"""A larger table is read as a stream, row by row: in memory it can take fifty times its size."""
ROW_BYTES = 16 << 20
"""The longest row of a table that is read."""


def stream_rows(path: Path) -> Iterator[list[str]]:
    """Yield the records of a CSV file, the header first, in the memory of one.

    Raises:
        ValueError: for a row, or a quoted cell, of more than `ROW_BYTES`.
    """
    csv.field_size_limit(max(csv.field_size_limit(), ROW_BYTES))
    held = 0

    def lines(handle: Any) -> Iterator[str]:
        nonlocal held
        while line := handle.readline(ROW_BYTES + 1):
            held += len(line)
            if held > ROW_BYTES:
                raise ValueError(f"a row has more than {ROW_BYTES >> 20} MB")
            yield line

    with path.open(encoding="utf-8", newline="") as handle:
        for cells in csv.reader(lines(handle)):
            held = 0
            if cells:
                yield cells


def longest_row_is_short(path: Path) -> bool:
    """Say whether no line of a file is longer than a row may be; quick, whatever the size of the file."""
    run = 0
    with path.open("rb") as handle:
        while piece := handle.read(1 << 20):
            first, last = piece.find(b"\n"), piece.rfind(b"\n")
            if run + (len(piece) if first < 0 else first) > ROW_BYTES:
                return False
            run = run + len(piece) if first < 0 else len(piece) - last
    return True


@dataclass(slots=True, kw_only=True)
class StepOutputs:
    """What a check may look at: the stored files, the parameters and the findings as the step wrote them."""

    params: Mapping[str, Any]
    files: Mapping[str, Path]
    """Output name -> file."""
    types: Mapping[str, str]
    """Output name -> DataType value."""
    findings: list[dict[str, Any]] = field(default_factory=list)
    _tables: dict[str, pd.DataFrame] = field(default_factory=dict)

    def is_large(self, output: str) -> bool:
        """Say whether a table is to be read with `stream_rows`."""
        return self.files[output].stat().st_size > WHOLE_BYTES

    def names(self) -> list[str]:
        """Return the outputs that are CSV files."""
        return [output for output, path in self.files.items() if path.suffix == ".csv"]

    def tables(self) -> Iterator[tuple[str, pd.DataFrame]]:
        """Yield (output name, table) for every output that is a CSV file and not too large to be held."""
        for output in self.names():
            if not self.is_large(output):
                yield output, self.table(output)

    def streams(self) -> Iterator[tuple[str, Iterator[list[str]]]]:
        """Yield (output name, records, the header first) for every CSV file that is too large to be held."""
        for output in self.names():
            if self.is_large(output):
                yield output, stream_rows(self.files[output])

    def table(self, output: str) -> pd.DataFrame:
        """Return a CSV output, read once."""
        import pandas as pd

        if output not in self._tables:
            self._tables[output] = pd.read_csv(self.files[output], low_memory=False)
        return self._tables[output]


Check = Callable[[StepOutputs], Iterator[Issue]]

CHECKS: dict[str, Check] = {}
"""Check name -> function. Filled by `check`; the function's docstring says what must hold."""


def check(name: str) -> Callable[[Check], Check]:
    """Register a postcondition under `name`."""

    def register(function: Check) -> Check:
        if name in CHECKS:
            message = f"Two checks are called {name!r}"
            raise ValueError(message)
        CHECKS[name] = function
        return function

    return register


@check("tables_not_empty")
def tables_not_empty(step: StepOutputs) -> Iterator[Issue]:
    """Every table has at least one row."""
    for output, table in step.tables():
        if len(table) == 0:
            yield Issue(code="empty_table", severity="error", message=f"{output} has no rows.", where=output)
    for output, records in step.streams():
        if next(records, None) is None or next(records, None) is None:
            yield Issue(code="empty_table", severity="error", message=f"{output} has no rows.", where=output)


@check("p_values_valid")
def p_values_valid(step: StepOutputs) -> Iterator[Issue]:
    """P-values lie between 0 and 1, and an adjusted one is never smaller than its raw one."""
    for output, table in step.tables():
        outside, smaller = {}, 0
        for column in ("p_value", "p_adj"):
            if column in table:
                values = table[column].dropna()
                outside[column] = int(((values < 0) | (values > 1)).sum())
        if {"p_value", "p_adj"} <= set(table.columns):
            both = table[["p_value", "p_adj"]].dropna()
            smaller = int((both["p_adj"] < both["p_value"] * (1 - 1e-9) - 1e-300).sum())
        yield from _p_value_issues(output, outside, smaller)
    for output, records in step.streams():
        yield from _p_value_issues(output, *_streamed_p_values(records))


def _p_value_issues(output: str, outside: Mapping[str, int], smaller: int) -> Iterator[Issue]:
    for column, count in outside.items():
        if count:
            message = f"{count} values of {column} in {output} lie outside 0 to 1."
            yield Issue(code="p_out_of_range", severity="error", message=message, where=output)
    if smaller:
        message = f"{smaller} adjusted p-values in {output} are smaller than their raw p-value."
        yield Issue(code="p_adj_below_p", severity="error", message=message, where=output)


def _streamed_p_values(records: Iterator[list[str]]) -> tuple[dict[str, int], int]:
    header = next(records, [])
    places = {column: header.index(column) for column in ("p_value", "p_adj") if column in header}
    outside, smaller = dict.fromkeys(places, 0), 0
    for cells in records if places else ():
        values = {column: _number(cells, place) for column, place in places.items()}
        for column, value in values.items():
            outside[column] += value < 0 or value > 1
        if len(values) == 2:  # a comparison with a missing value is false
            smaller += values["p_adj"] < values["p_value"] * (1 - 1e-9) - 1e-300
    return outside, smaller


def _number(cells: list[str], place: int) -> float:
    """Return a cell as a number; a missing one is NaN.

    Raises:
        ValueError: for a word.
    """
    text = cells[place].strip() if place < len(cells) else ""
    return float("nan") if text in ("", "NA", "NaN", "nan", "None") else float(text)


@check("findings_match_tables")
def findings_match_tables(step: StepOutputs) -> Iterator[Issue]:
    """Every row a finding points to exists, once, and the numbers it names are those of that row."""
    large: dict[str, list[dict[str, Any]]] = {}
    for finding in step.findings:
        output, row = finding.get("output"), finding.get("row") or {}
        if not output or not row or output not in step.files or step.files[output].suffix != ".csv":
            continue
        if step.is_large(output):
            large.setdefault(output, []).append(finding)
            continue
        table = step.table(output)
        missing = [column for column in row if column not in table]
        if missing:
            message = f"A finding points to column {missing[0]!r}, which {output} does not have."
            yield Issue(code="finding_without_row", severity="error", message=message, where=output)
            continue
        selected = table
        for column, value in row.items():
            selected = selected[selected[column].astype(str) == str(value)]
        if len(selected) != 1:
            message = f"A finding points to {row} in {output}, which selects {len(selected)} rows instead of one."
            yield Issue(code="finding_without_row", severity="error", message=message, where=output)
            continue
        yield from _differing_values(finding, selected.iloc[0], output)
    for output, findings in large.items():
        yield from _streamed_findings(output, findings, stream_rows(step.files[output]))


def _streamed_findings(output: str, findings: list[dict[str, Any]], records: Iterator[list[str]]) -> Iterator[Issue]:
    """Do the same in one pass: findings are looked up by the cells of the columns they name."""
    header = next(records, [])
    wanted: dict[tuple[str, ...], dict[tuple[str, ...], list[int]]] = {}
    hits = [0] * len(findings)
    rows: dict[int, dict[str, Any]] = {}
    for number, finding in enumerate(findings):
        columns = tuple(sorted(finding["row"]))
        missing = [column for column in columns if column not in header]
        if missing:
            message = f"A finding points to column {missing[0]!r}, which {output} does not have."
            yield Issue(code="finding_without_row", severity="error", message=message, where=output)
            hits[number] = 1
            continue
        key = tuple(_comparable(finding["row"][column]) for column in columns)
        wanted.setdefault(columns, {}).setdefault(key, []).append(number)
    lookups = [([header.index(column) for column in columns], keys) for columns, keys in wanted.items()]
    for cells in records:
        for places, keys in lookups:
            key = tuple(_comparable(cells[place]) if place < len(cells) else "" for place in places)
            for number in keys.get(key, ()):
                hits[number] += 1
                if number not in rows:
                    names = {value.get("name") for value in findings[number].get("values", [])}
                    rows[number] = {c: _cell(t) for c, t in zip(header, cells, strict=False) if c in names}
    for number, finding in enumerate(findings):
        if hits[number] != 1:
            message = (
                f"A finding points to {finding['row']} in {output}, which selects {hits[number]} rows instead of one."
            )
            yield Issue(code="finding_without_row", severity="error", message=message, where=output)
        elif number in rows:
            yield from _differing_values(finding, rows[number], output)


def _cell(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _comparable(value: object) -> str:
    """Return a text that is the same for `1`, `1.0` and "1": in one column a number is written in one way."""
    text = str(value)
    try:
        return repr(float(text))
    except ValueError:
        return text


def _differing_values(finding: dict[str, Any], row: Any, output: str) -> Iterator[Issue]:
    for value in finding.get("values", []):
        name, number = value.get("name"), value.get("value")
        if name not in row or isinstance(number, bool) or not isinstance(number, int | float):
            continue
        stored = row[name]
        if isinstance(stored, str) or abs(float(stored) - number) > 1e-6 * max(1.0, abs(number)):
            message = f"A finding says {name} = {number}, but its row in {output} says {stored}."
            yield Issue(code="finding_differs", severity="error", message=message, where=output)
