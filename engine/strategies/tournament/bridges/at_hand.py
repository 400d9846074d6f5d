"""What a user's own data say and could test: genes that finished runs found changed, and files that measure a gene."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.domain.datatypes import DataType
from engine.domain.profile import Profile
from engine.domain.results import DONE, Artifact, RunRecord
from engine.errors import EngineError
from engine.ports.artifacts import ArtifactStore
from engine.ports.runs import RunStore

SIGNIFICANT = 0.05
"""Adjusted p-value below which a gene counts as changed."""
MOST_GENES, _MOST_RUNS = 200, 50
_MATRICES = (DataType.EXPRESSION_MATRIX, DataType.COUNT_MATRIX)
_SURE = 0.5
_FEWEST_LEVELS, _MOST_LEVELS = 2, 6


@dataclass(frozen=True, slots=True)
class ChangedGene:
    """A gene whose expression a finished run found changed."""

    name: str
    up: bool
    p: float
    """Adjusted."""
    change: float
    """log2 fold change."""
    source: str
    """`run:ID#table`."""

    @property
    def says(self) -> str:
        """What the run found, in a sentence."""
        way = "higher" if self.up else "lower"
        return f"{self.name} is {way} in your data (log2 fold change {self.change:.2f}, adjusted p = {self.p:.2g})."


def changed_genes(
    runs: RunStore, artifacts: ArtifactStore, files: Sequence[str] = (), user: str | None = None
) -> list[ChangedGene]:
    """Return the genes that finished runs found changed, the surest first, each as the newest run has it.

    Args:
        runs: where runs are kept.
        artifacts: where their tables lie.
        files: names of data; only runs on one of them count, all runs when empty.
        user: whose runs; everybody's when None.
    """
    found: dict[str, ChangedGene] = {}
    for run in runs.runs(user=user, limit=_MOST_RUNS):
        if run.status in ("succeeded", "partial") and _is_on(run, files):
            for table in _tables(runs, run):
                for gene in _rows(table, artifacts, run.run_id):
                    found.setdefault(gene.name, gene)
    return sorted(found.values(), key=lambda gene: (gene.p, gene.name))[:MOST_GENES]


@dataclass(frozen=True, slots=True)
class DataAtHand:
    """Files that predictions may be tested on."""

    profiles: Sequence[Profile] = ()
    described: str = ""
    """What a model is told of them."""

    def test_of(self, genes: Sequence[str]) -> tuple[str, list[str]] | None:
        """Return a question on one of some genes that a file can answer, and the files; None when there is none."""
        for profile in self.profiles:
            group = _group(profile)
            columns = {column.name.casefold(): column.name for column in profile.column_profiles}
            for gene in genes if group else ():
                if gene.casefold() in columns and columns[gene.casefold()] != group:
                    return f"Does {columns[gene.casefold()]} differ by {group}?", [profile.name]
        return self._by_matrix(genes)

    def _by_matrix(self, genes: Sequence[str]) -> tuple[str, list[str]] | None:
        sheets = [(profile, _group(profile)) for profile in self.profiles if profile.serves_as(DataType.SAMPLE_SHEET)]
        for profile in self.profiles:
            if any(profile.serves_as(kind) for kind in _MATRICES) and profile.feature_kind == "symbol":
                for sheet, group in sheets:
                    if group and sheet.name != profile.name and set(sheet.sample_ids) & set(profile.sample_ids):
                        return f"Does {genes[0]} differ by {group}?", [profile.name, sheet.name]
        return None


def _group(profile: Profile) -> str:
    """Return the column that best divides the rows into a few groups, "" when there is none."""
    able = [
        column
        for column in profile.column_profiles
        if column.role("group") >= _SURE and _FEWEST_LEVELS <= column.distinct <= _MOST_LEVELS
    ]
    return max(able, key=lambda column: column.role("group")).name if able else ""


def _is_on(run: RunRecord, files: Sequence[str]) -> bool:
    names = {path.replace("\\", "/").rpartition("/")[2] for path in run.data}
    return not files or bool(names & {path.replace("\\", "/").rpartition("/")[2] for path in files})


def _tables(runs: RunStore, run: RunRecord) -> Iterator[Artifact]:
    try:
        results = runs.results(run.run_id)
    except EngineError:  # a damaged run is told of elsewhere
        return
    for result in results.values():
        if result.status in DONE:
            yield from (artifact for artifact in result.artifacts if artifact.type == DataType.DE_TABLE)


def _rows(table: Artifact, artifacts: ArtifactStore, run_id: str) -> Iterator[ChangedGene]:
    if not artifacts.has(table.sha256):
        return
    with artifacts.path(table.sha256).open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            try:
                p, change = float(row["p_adj"]), float(row["log2_fold_change"])
            except (KeyError, TypeError, ValueError):  # a cell that is empty, or a table of another form
                continue
            if p < SIGNIFICANT and change != 0:
                name = row.get("gene_name") or row.get("feature") or ""
                if name:
                    yield ChangedGene(name, change > 0, p, change, f"run:{run_id}#{table.name}")
