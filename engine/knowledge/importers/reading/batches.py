"""What the readers share: batches that are handed on when they are full, warnings that count, and their input."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from engine.domain.knowledge import EdgeRows, NodeRows
from engine.knowledge.importers.reading.ids import Genes, Resolve

BATCH = 50_000
"""Rows of a batch at most."""

Rows = NodeRows | EdgeRows
Batches = Iterator[Rows]


@dataclass(kw_only=True)
class ImportReading:
    """The files of one import and what its reader needs to know and to tell.

    `warnings` is complete when the reader's last batch was taken.
    """

    paths: list[Path]
    organism: str = "human"
    resolve: Resolve | None = None
    warnings: list[str] = field(default_factory=list)
    _counts: dict[str, tuple[int, str]] = field(default_factory=dict)
    _genes: list[Genes] = field(default_factory=list)

    def genes(self) -> Genes:
        """Return what gives genes their ids."""
        self._genes.append(Genes(self.resolve, self.organism))
        return self._genes[-1]

    def count(self, what: str, example: str = "") -> None:
        """Count something that is passed over; the first example is kept."""
        number, first = self._counts.get(what, (0, example if len(example) <= 100 else f"{example[:97]}..."))
        self._counts[what] = (number + 1, first)

    def finish(self) -> None:
        """Turn the counts into warnings: `Obsolete terms were left out: 12 (the first: GO:0000005)`."""
        for what, (number, example) in self._counts.items():
            first = f" (the first: {example})" if example else ""
            self.warnings.append(f"{what[0].upper()}{what[1:]}: {number:,}{first}.")
        self._counts.clear()
        example = next((symbol for genes in self._genes if (symbol := genes.mouse_like())), "")
        if example:
            self.warnings.append(
                f"Most symbols are written as those of mouse or rat are ({example}), but they were taken for human "
                "genes. If they are not, take this import back and repeat it with the organism (`--organism mouse`)."
            )


def node_batches(nodes: NodeRows) -> Iterator[NodeRows]:
    """Yield nodes in batches."""
    for at in range(0, len(nodes), BATCH):
        part = slice(at, at + BATCH)
        yield NodeRows(nodes.ids[part], nodes.types[part], nodes.names[part], nodes.aliases[part], nodes.xrefs[part])


def edge_batches(edges: EdgeRows) -> Iterator[EdgeRows]:
    """Yield edges in batches."""
    for at in range(0, len(edges), BATCH):
        part = slice(at, at + BATCH)
        yield EdgeRows(
            edges.sources[part], edges.types[part], edges.targets[part], edges.relations[part], edges.confidences[part]
        )
