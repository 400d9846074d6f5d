"""Where the knowledge graph is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from engine.domain.knowledge import Edge, EdgeRows, GraphImport, GraphSource, NodeRows
from engine.ports.cancel import CancelToken

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphColumns:
    """The whole graph as columns, for building traversal arrays. Removed sources are left out.

    Node `i` is `ids[i]`; edges name nodes by these positions and types by their codes in `engine.domain.knowledge`.
    `edge_keys` are what `GraphStore.edges` takes.
    """

    version: int
    ids: list[str]
    names: list[str]
    node_types: np.ndarray
    """uint8."""
    aliases: dict[int, list[str]]
    """Only nodes that have some."""
    xrefs: dict[int, list[str]]
    sources: np.ndarray
    """int32."""
    targets: np.ndarray
    """int32."""
    edge_types: np.ndarray
    """uint8."""
    confidences: np.ndarray
    """float32."""
    edge_keys: np.ndarray
    """int64."""
    named_by: np.ndarray
    """int32: for each node the position in `origins` of the first source that named it; -1 when it is gone."""
    edge_relations: np.ndarray
    """int32: positions in `relations`."""
    edge_origins: np.ndarray
    """int32: positions in `origins`."""
    relations: list[str]
    origins: list[GraphSource]
    """The sources in force."""


class GraphStore(Protocol):
    """The knowledge graph's truth. All methods may be called from any thread."""

    def version(self) -> int:
        """Return a number that grows with every change."""
        ...

    def add(
        self,
        source: GraphSource,
        batches: Iterable[NodeRows | EdgeRows],
        *,
        progress: Callable[[int, int], None] | None = None,
        cancel: CancelToken | None = None,
    ) -> GraphImport:
        """Store everything of a source in one transaction; all of it is there afterwards, or nothing.

        The same source id with the same file hashes again is not read, and says `unchanged`, unless another source
        was added, replaced or removed since: then it is read again, as it may find nodes that were not there, and
        is `unchanged` when it states the same (the version stays too). With other hashes it replaces what that
        source had said. A node that exists gains aliases and xrefs and keeps its type and name, unless it had only
        its id for a name. Edges to ids that no node has are left out and counted in a warning. `progress` is called
        with (nodes read, edges read) so far; iterating `batches` may raise DataError, which undoes everything.
        """
        ...

    def remove_source(self, source_id: str) -> None:
        """Take back what a source stated: its edges, and nodes nobody else mentions.

        Raises:
            NotFoundError: when there is no such source.
        """
        ...

    def sources(self) -> list[GraphSource]:
        """Return the sources that are in force, oldest first."""
        ...

    def removed_sources(self) -> list[str]:
        """Return the ids of the sources that were taken back and not stored again since, in order of removal."""
        ...

    def mentioned_only_by(self, source_id: str) -> list[str]:
        """Return the ids of the nodes that no other source mentions, in no order; none for an unknown source."""
        ...

    def columns(self) -> GraphColumns:
        """Return the whole graph."""
        ...

    def edges(self, keys: Sequence[int]) -> list[Edge]:
        """Return edges by key, in the order given."""
        ...
