"""Shows a stored table without loading it: its first rows, and every row a finding points to.

Read in one pass, because a result table may have millions of rows and a report needs fifty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from engine.domain.base import Scalar
from engine.domain.findings import Finding
from engine.domain.results import Artifact
from engine.errors import EngineError
from engine.ports.artifacts import ArtifactStore
from engine.reporting.numbers import holds_numbers
from engine.toolbox.large_tables import scan

FIRST_ROWS = 20
MATRIX_ROWS = 8
MOST_COLUMNS = 24
MATRICES = frozenset({"count_matrix", "expression_matrix", "abundance_table"})


@dataclass(slots=True)
class Excerpt:
    """What is shown of a table."""

    artifact: Artifact
    columns: list[str] = field(default_factory=list)
    rows: dict[int, list[str]] = field(default_factory=dict)
    """Row number (from 1, header not counted) -> cells, in row order."""
    total: int = 0
    more_columns: int = 0
    numeric: list[bool] = field(default_factory=list)
    located: dict[str, int] = field(default_factory=dict)
    """Finding id -> number of the row that shows it."""
    problem: str = ""
    """Why the table cannot be shown, when it cannot."""

    def cells(self, finding_id: str) -> dict[str, str]:
        """Return column -> cell of the row a finding points to; empty when it points to none."""
        row = self.rows.get(self.located.get(finding_id, 0))
        return dict(zip(self.columns, row, strict=False)) if row else {}


def excerpts(tables: Sequence[Artifact], findings: Sequence[Finding], artifacts: ArtifactStore) -> dict[str, Excerpt]:
    """Return artifact name -> what is shown of it, for every table of a report."""
    shown: dict[str, Excerpt] = {}
    for table in tables:
        pointing = {f.id: f.row for f in findings if f.artifact == table.name and f.row}
        count = min(FIRST_ROWS, MATRIX_ROWS) if table.type in MATRICES else FIRST_ROWS
        shown[table.name] = excerpt(table, pointing, artifacts, first=count)
    return shown


def excerpt(
    table: Artifact, pointing: Mapping[str, Mapping[str, Scalar]], artifacts: ArtifactStore, *, first: int
) -> Excerpt:
    """Read the first rows of a table and the rows that `pointing` (finding id -> row) selects."""
    result = Excerpt(artifact=table)
    try:
        found = scan(artifacts.path(table.sha256), pointing, first=first)
    except (OSError, EngineError, ValueError) as err:
        result.problem = f"{table.name} cannot be read from the workspace ({err})."
        return result
    result.columns, result.total = found.header, found.total
    result.located = {finding: hit.number for finding, hit in found.hits.items() if hit.count}
    rows = dict(enumerate(found.first, start=1)) | {hit.number: hit.cells for hit in found.hits.values() if hit.count}
    result.rows = dict(sorted(rows.items()))
    _narrow(result)
    return result


def _narrow(table: Excerpt) -> None:
    table.more_columns = max(0, len(table.columns) - MOST_COLUMNS)
    table.columns = table.columns[:MOST_COLUMNS]
    table.rows = {number: cells[:MOST_COLUMNS] for number, cells in table.rows.items()}
    for position in range(len(table.columns)):
        table.numeric.append(holds_numbers(c[position] for c in table.rows.values() if position < len(c)))
