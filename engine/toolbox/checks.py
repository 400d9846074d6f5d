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

if TYPE_CHECKING:
    import pandas as pd


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

    def tables(self) -> Iterator[tuple[str, pd.DataFrame]]:
        """Yield (output name, table) for every output that is a CSV file."""
        for output, path in self.files.items():
            if path.suffix == ".csv":
                yield output, self.table(output)

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


@check("p_values_valid")
def p_values_valid(step: StepOutputs) -> Iterator[Issue]:
    """P-values lie between 0 and 1, and an adjusted one is never smaller than its raw one."""
    for output, table in step.tables():
        for column in ("p_value", "p_adj"):
            if column in table:
                values = table[column].dropna()
                outside = int(((values < 0) | (values > 1)).sum())
                if outside:
                    message = f"{outside} values of {column} in {output} lie outside 0 to 1."
                    yield Issue(code="p_out_of_range", severity="error", message=message, where=output)
        if {"p_value", "p_adj"} <= set(table.columns):
            both = table[["p_value", "p_adj"]].dropna()
            smaller = int((both["p_adj"] < both["p_value"] * (1 - 1e-9) - 1e-300).sum())
            if smaller:
                message = f"{smaller} adjusted p-values in {output} are smaller than their raw p-value."
                yield Issue(code="p_adj_below_p", severity="error", message=message, where=output)


@check("findings_match_tables")
def findings_match_tables(step: StepOutputs) -> Iterator[Issue]:
    """Every row a finding points to exists, once, and the numbers it names are those of that row."""
    for finding in step.findings:
        output, row = finding.get("output"), finding.get("row") or {}
        if not output or not row or output not in step.files or step.files[output].suffix != ".csv":
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


def _differing_values(finding: dict[str, Any], row: pd.Series, output: str) -> Iterator[Issue]:
    for value in finding.get("values", []):
        name, number = value.get("name"), value.get("value")
        if name not in row.index or isinstance(number, bool) or not isinstance(number, int | float):
            continue
        stored = row[name]
        if isinstance(stored, str) or abs(float(stored) - number) > 1e-6 * max(1.0, abs(number)):
            message = f"A finding says {name} = {number}, but its row in {output} says {stored}."
            yield Issue(code="finding_differs", severity="error", message=message, where=output)
