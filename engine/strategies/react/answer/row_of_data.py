"""What became of a row of the data: left out by a step, for a value it lacks, or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from engine.data.catalogue import read_data
from engine.domain.findings import Finding
from engine.domain.plan import Dataset, TaskDag, TaskNode, texts_of
from engine.domain.results import NodeResult
from engine.planning.telling.kept import kept_rows
from engine.ports.artifacts import ArtifactStore
from engine.reporting.compose import is_table
from engine.strategies.react.answer.stored_tables import ROWS_READ, rows_of
from engine.toolbox.registry import ToolRegistry

NAME_COLUMNS = 4
"""Names of rows stand in one of the first columns."""
_EMPTY = frozenset(["", "na", "nan", "n/a", "null", "none"])


class _RowsOfOne(NamedTuple):
    file: str
    column: str
    rows: list[dict[str, str]]


@dataclass(frozen=True, slots=True)
class RowsOfData:
    """Finds the rows of a subject, sample or animal in the files of a plan."""

    plan: TaskDag
    results: Mapping[str, NodeResult]
    artifacts: ArtifactStore
    registry: ToolRegistry

    def has(self, name: str) -> bool:
        """Say whether a name is that of rows, told by a number in it, of a file whose columns the plan takes."""
        return any(sign.isdigit() for sign in name) and self._found(name) is not None

    def told(self, name: str, number: int) -> Finding | None:
        """Return what became of the rows of a name, None where no file that the plan takes columns of has it."""
        if (found := self._found(name)) is None:
            return None
        where = f"{name} is in {found.file} ({found.column})"
        said = [*self._left_out(found), *self._lacking(found)]
        if said:
            text = f"{where}: {'; '.join(said)}."
        else:
            text = f"{where}, has a value in every column that the steps take, and no step left it out: "
            text += "it is part of the answer."
        return Finding(id=f"f{number}", node="", text=text)

    def _found(self, name: str) -> _RowsOfOne | None:
        for dataset in self.plan.datasets:
            if self.artifacts.has(dataset.sha256) and (found := self._in(dataset, name)):
                return found
        return None

    def _in(self, dataset: Dataset, name: str) -> _RowsOfOne | None:
        """Return the rows that have a name in one of the first columns of a file, which names no group of most rows."""
        try:
            table = read_data(self.artifacts.path(dataset.sha256), dataset.type, **dataset.read)
        except (OSError, ValueError, TypeError, KeyError):
            return None
        texts = table.head(ROWS_READ).astype(object) if hasattr(table, "columns") else None
        rows = [] if texts is None else [
            {str(name): "" if cell != cell or cell is None else str(cell) for name, cell in row.items()}
            for row in texts.to_dict("records")
        ]  # fmt: skip
        if not any(self._taken(rows[0])) if rows else True:
            return None
        for column in [*rows[0]][:NAME_COLUMNS]:
            own = [row for row in rows if (row[column] or "").strip().casefold() == name.casefold()]
            if own and len({row[column] for row in rows}) * 4 > len(rows):
                return _RowsOfOne(dataset.name, column, own)
        return None

    def _taken(self, row: Mapping[str, str]) -> Iterator[tuple[TaskNode, str]]:
        """Yield the columns of a file that the steps take."""
        for node in self.plan.nodes:
            for param in self.registry.get(node.tool).params if node.tool in self.registry else ():
                if param.kind in ("column", "columns"):
                    yield from ((node, name) for name in texts_of(node.params.get(param.name)) if name in row)

    def _left_out(self, found: _RowsOfOne) -> Iterator[str]:
        """Yield the steps that keep rows by a condition and whose tables have the name no more."""
        wanted = (found.rows[0][found.column] or "").strip().casefold()
        for node in self.plan.nodes:
            result, condition = self.results.get(node.id), node.params.get("condition")
            for artifact in result.artifacts if result is not None and condition else ():
                if is_table(artifact) and found.column in artifact.columns and self.artifacts.has(artifact.sha256):
                    kept = rows_of(self.artifacts.path(artifact.sha256))
                    if not any((row[found.column] or "").strip().casefold() == wanted for row in kept):
                        where = kept_rows(str(condition))
                        yield f"the step {node.name!r} left it out, which keeps the rows where {where}"

    def _lacking(self, found: _RowsOfOne) -> Iterator[str]:
        """Yield the columns without a value in its rows, with the step that takes them."""
        told: set[str] = set()
        for node, column in self._taken(found.rows[0]):
            empty = [row for row in found.rows if (row[column] or "").strip().casefold() in _EMPTY]
            if empty and column not in told:
                told.add(column)
                of = f" in {len(empty)} of its {len(found.rows)} rows" if len(found.rows) > 1 else ""
                yield f"its {column} is empty{of}, which the step {node.name!r} needs"
