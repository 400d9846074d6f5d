"""Postconditions: what must be true of a step's outputs whatever the data were.

The critic runs them on the stored files, outside the sandbox, so code that lies about its result is
found out. A tool names the checks that apply to it.
"""

# pyright: reportArgumentType=false, reportCallIssue=false, reportAttributeAccessIssue=false
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.domain.results import Issue
from engine.toolbox.large_tables import SIZES, Sizes, close_enough, columns_of, scan, stream_rows

if TYPE_CHECKING:
    import pandas as pd


class TooLarge(Exception):
    """A check asks for a table that is not held in memory."""


@dataclass(slots=True, kw_only=True)
class StepOutputs:
    """What a check may look at: the stored files, the parameters and the findings as the step wrote them."""

    params: Mapping[str, Any]
    files: Mapping[str, Path]
    """Output name -> file."""
    types: Mapping[str, str]
    """Output name -> DataType value."""
    findings: list[dict[str, Any]] = field(default_factory=list)
    sizes: Sizes = SIZES
    """From which size on a table is read in pieces only, and in which."""
    _tables: dict[str, pd.DataFrame] = field(default_factory=dict)

    def is_large(self, output: str) -> bool:
        """Say whether a table is read in pieces only."""
        return self.files[output].stat().st_size > self.sizes.whole

    def names(self) -> list[str]:
        """Return the outputs that are CSV files."""
        return [output for output, path in self.files.items() if path.suffix == ".csv"]

    def tables(self) -> Iterator[tuple[str, pd.DataFrame]]:
        """Yield (output name, table) for every output that is a CSV file.

        Raises:
            TooLarge: as `table`.
        """
        for output in self.names():
            yield output, self.table(output)

    def table(self, output: str) -> pd.DataFrame:
        """Return a CSV output, read once.

        Raises:
            TooLarge: for one that is not held in memory; it is met by `scan` and `columns_of`.
        """
        import pandas as pd

        if self.is_large(output):
            raise TooLarge(output)
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
    for output in step.names():
        records = stream_rows(step.files[output])
        if next(records, None) is None or next(records, None) is None:
            yield Issue(code="empty_table", severity="error", message=f"{output} has no rows.", where=output)


@check("p_values_valid")
def p_values_valid(step: StepOutputs) -> Iterator[Issue]:
    """P-values lie between 0 and 1, and an adjusted one is never smaller than its raw one."""
    for output in step.names():
        outside, smaller = {"p_value": 0, "p_adj": 0}, 0
        file, names = step.files[output], tuple(outside)
        pieces = columns_of(file, names, step.sizes.piece) if step.is_large(output) else [step.table(output)]
        for piece in pieces:
            for column in outside:
                if column in piece:
                    outside[column] += int(((piece[column] < 0) | (piece[column] > 1)).sum())
            if "p_value" in piece and "p_adj" in piece:  # a comparison with a missing value is false
                smaller += int((piece["p_adj"] < piece["p_value"] * (1 - 1e-9) - 1e-300).sum())
        for column, count in outside.items():
            if count:
                message = f"{count} values of {column} in {output} lie outside 0 to 1."
                yield Issue(code="p_out_of_range", severity="error", message=message, where=output)
        if smaller:
            message = f"{smaller} adjusted p-values in {output} are smaller than their raw p-value."
            yield Issue(code="p_adj_below_p", severity="error", message=message, where=output)


@check("findings_match_tables")
def findings_match_tables(step: StepOutputs) -> Iterator[Issue]:
    """Every row a finding points to exists, once, and the numbers it names are those of that row."""
    pointing: dict[str, dict[str, dict[str, Any]]] = {}
    for number, finding in enumerate(step.findings):
        output = finding.get("output")
        if output in step.files and finding.get("row") and step.files[output].suffix == ".csv":
            pointing.setdefault(output, {})[str(number)] = finding
    for output, findings in pointing.items():
        found = scan(step.files[output], {name: finding["row"] for name, finding in findings.items()}, sizes=step.sizes)
        for name, finding in findings.items():
            hit, row = found.hits[name], finding["row"]
            missing = [column for column in row if column not in found.header]
            if missing:
                message = f"A finding points to column {missing[0]!r}, which {output} does not have."
                yield Issue(code="finding_without_row", severity="error", message=message, where=output)
            elif hit.count != 1:
                message = f"A finding points to {row} in {output}, which selects {hit.words} instead of one."
                yield Issue(code="finding_without_row", severity="error", message=message, where=output)
            else:
                yield from _differing_values(finding, dict(zip(found.header, hit.cells, strict=False)), output)


def _differing_values(finding: dict[str, Any], row: dict[str, str], output: str) -> Iterator[Issue]:
    for value in finding.get("values", []):
        name, number = value.get("name"), value.get("value")
        if name not in row or isinstance(number, bool) or not isinstance(number, int | float):
            continue
        if not close_enough(row[name], number):
            message = f"A finding says {name} = {number}, but its row in {output} says {row[name] or 'nothing'}."
            yield Issue(code="finding_differs", severity="error", message=message, where=output)
