"""Questions to the newest graph about entities that are given by id or name: what is around and between them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.domain.knowledge import (
    EDGE_TYPES,
    Edge,
    EdgeType,
    EnrichedNode,
    GraphPath,
    GraphStats,
    Neighbourhood,
    NodeHit,
    NodeType,
)
from engine.errors import NotFoundError
from engine.knowledge import enrichment
from engine.knowledge.entities import Entities
from engine.knowledge.graph import paths, queries
from engine.knowledge.newest import NewestGraph


@dataclass(frozen=True, slots=True)
class GraphReading:
    """What the graph states. Methods may be called from any thread."""

    graph: NewestGraph
    entities: Entities

    def stats(self) -> GraphStats:
        """Return how large the graph is and of what."""
        return queries.statistics(self.graph.view(), self.graph.store)

    def neighbours(
        self,
        seeds: str | Sequence[str],
        *,
        hops: int = 1,
        node_types: Collection[NodeType] = (),
        edge_types: Collection[EdgeType] = (),
        limit: int = 150,
    ) -> Neighbourhood:
        """Return what is around entities, given by id or name."""
        ids = [self.entities.node(seed).id for seed in ([seeds] if isinstance(seeds, str) else seeds)]
        return queries.neighbourhood(
            self.graph.view(), ids, hops=hops, edge_types=edge_types or None, node_types=node_types or None, limit=limit
        )

    def relations_of(self, text: str) -> list[str]:
        """Return the types of the relations at an entity, the most frequent first."""
        view = self.graph.view()
        near = view.adjacent(view.nodes.number(self.entities.node(text).id))
        kinds, counts = np.unique(near.types, return_counts=True)
        return [EDGE_TYPES[int(kinds[place])].value for place in np.argsort(-counts, kind="stable")]

    def paths(self, a: str, b: str, *, max_hops: int = 4, top: int = 5) -> list[GraphPath]:
        """Return the best supported paths between two entities; empty when there is none that short."""
        return paths.best_paths(self.graph.view(), *self._pair(a, b), max_hops=max_hops, top=top)

    def shortest_path(self, a: str, b: str, *, max_hops: int = 6) -> GraphPath | None:
        """Return a path with the fewest edges, or None."""
        return paths.shortest_path(self.graph.view(), *self._pair(a, b), max_hops=max_hops)

    def common_neighbours(self, a: str, b: str) -> list[NodeHit]:
        """Return the nodes linked to both."""
        return queries.common_neighbours(self.graph.view(), *self._pair(a, b))

    def edges_between(self, a: str, b: str) -> list[Edge]:
        """Return everything stated of two entities, with who states it."""
        view = self.graph.view()
        return view.edges.full(view.rows_between(*map(view.nodes.number, self._pair(a, b))))

    def subgraph(self, ids: Sequence[str]) -> Any:
        """Return the given nodes and the edges among them as a NetworkX multigraph."""
        return queries.subgraph(self.graph.view(), list(ids))

    def enrich(
        self, genes: Sequence[str], *, background: Sequence[str] | None = None, **options: Any
    ) -> list[EnrichedNode]:
        """Return the neighbourhoods that hold more of the genes than chance would; genes by symbol or id.

        Raises:
            NotFoundError: when none of the genes is in the graph; `Entities.unknown_genes` tells which are not.
        """
        found = self.entities.gene_ids(genes)
        if genes and not found:
            some = ", ".join(gene[:40] for gene in genes[:5]) + (", ..." if len(genes) > 5 else "")
            none = "The gene given is not" if len(genes) == 1 else f"None of the {len(genes):,} genes given is"
            message = f"{none} in the knowledge graph ({some})."
            raise NotFoundError(message, advice="Give symbols or ids of genes; `biodesk kg search TEXT` finds them.")
        against = self.entities.gene_ids(background) if background is not None else None
        return enrichment.enrichment(self.graph.view(), found, background=against, **options)

    def _pair(self, a: str, b: str) -> tuple[str, str]:
        return self.entities.node(a).id, self.entities.node(b).id
