"""The edges of a graph by row: what they join, what they state, who states it and how surely."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.domain.knowledge import EDGE_TYPES, Edge
from engine.errors import NotFoundError
from engine.knowledge.graph.arrays import Arrays
from engine.knowledge.graph.node_table import NodeTable


class EdgeTable:
    """Edges, each in a row; parallel edges of different types or sources have one each. Thread-safe; never changes."""

    def __init__(self, kept: Arrays, nodes: NodeTable, relations: list[str], origins: list[dict[str, str]]) -> None:
        """Use the arrays of `engine.knowledge.graph.csr_build.build` and what they count places in."""
        self._nodes = nodes
        self._relations = relations
        self._origins = origins
        self._names = {origin["id"]: origin["name"] for origin in origins}
        self._columns = [kept[name] for name in ("heads", "edge_types", "tails", "relations", "confidences", "origins")]
        self.heads, self.codes, self.tails, _, self._confidences, self._stated_by = self._columns
        """Source (int32), type (uint8 code) and target (int32) of every edge, not to be written to."""

    def __len__(self) -> int:
        """Return the number of edges."""
        return len(self.codes)

    def confidences(self, rows: np.ndarray) -> np.ndarray:
        """Return the confidences of edges (float64)."""
        return self._confidences[rows].astype(np.float64)

    def full(self, rows: Sequence[int] | np.ndarray) -> list[Edge]:
        """Return edges in full: types, relation, origin, confidence.

        Raises:
            NotFoundError: for what is no row.
        """
        wanted = np.asarray(rows, dtype=np.int64)
        if len(wanted) and (wanted.min() < 0 or wanted.max() >= len(self)):
            raise NotFoundError(f"The graph has the edges 0 to {len(self) - 1:,}; one beyond was asked for.")
        columns = [column[wanted].tolist() for column in self._columns]
        ids = {number: self._nodes.id(number) for number in {*columns[0], *columns[2]}}
        found: list[Edge] = []
        for head, code, tail, relation, confidence, origin in zip(*columns, strict=True):
            stated_by = self._origins[origin]
            found.append(
                Edge(
                    source=ids[head],
                    type=EDGE_TYPES[code],
                    target=ids[tail],
                    relation=self._relations[relation],
                    origin=stated_by["id"],
                    confidence=round(confidence, 6),
                    at=stated_by["at"],
                    license=stated_by["license"],
                )
            )
        return found

    def of_origin(self, source_id: str) -> np.ndarray:
        """Return the rows (int64, ascending) of the edges that a source states; none for an unknown one."""
        places = [place for place, origin in enumerate(self._origins) if origin["id"] == source_id]
        return np.flatnonzero(np.isin(self._stated_by, places))

    def source_name(self, origin: str) -> str:
        """Return a source's name for people, or the id itself when it is not known."""
        return self._names.get(origin, origin)
