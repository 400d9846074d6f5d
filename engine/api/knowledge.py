"""Calls about the knowledge graph: search, neighbourhoods, paths, checking of texts, imports."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from engine.api.calls import Calls, passed_on
from engine.domain.knowledge import EDGE_TYPES
from engine.knowledge.service import KnowledgeBase

_GRAPH = "knowledge"


class KnowledgeCalls(Calls):
    """The knowledge graph of a workspace."""

    view = passed_on(KnowledgeBase.view, _GRAPH)
    stats = passed_on(KnowledgeBase.stats, _GRAPH)
    search = passed_on(KnowledgeBase.search, _GRAPH)
    node = passed_on(KnowledgeBase.node, _GRAPH)
    neighbours = passed_on(KnowledgeBase.neighbours, _GRAPH)
    paths = passed_on(KnowledgeBase.paths, _GRAPH)
    shortest_path = passed_on(KnowledgeBase.shortest_path, _GRAPH)
    common_neighbours = passed_on(KnowledgeBase.common_neighbours, _GRAPH)
    edges_between = passed_on(KnowledgeBase.edges_between, _GRAPH)
    subgraph = passed_on(KnowledgeBase.subgraph, _GRAPH)
    enrich = passed_on(KnowledgeBase.enrich, _GRAPH)
    gene_ids = passed_on(KnowledgeBase.gene_ids, _GRAPH)
    unknown_genes = passed_on(KnowledgeBase.unknown_genes, _GRAPH)
    link = passed_on(KnowledgeBase.link, _GRAPH)
    check = passed_on(KnowledgeBase.check, _GRAPH)
    preview = passed_on(KnowledgeBase.preview, _GRAPH)
    import_files = passed_on(KnowledgeBase.import_files, _GRAPH)
    import_fetched = passed_on(KnowledgeBase.import_fetched, _GRAPH)
    restore_starter = passed_on(KnowledgeBase.restore_starter, _GRAPH)
    taught = passed_on(KnowledgeBase.taught, _GRAPH)
    remove = passed_on(KnowledgeBase.remove, _GRAPH)

    def version(self) -> int:
        """Return the version of the graph that questions are answered from, opening it where it is not open yet."""
        return self.view().version

    def names(self, ids: Iterable[str]) -> dict[str, str]:
        """Return id -> name of those entities that are in the graph, in the order given."""
        view = self.view()
        numbers = {node_id: view.number(node_id) for node_id in ids}
        return {node_id: view.node(number).name for node_id, number in numbers.items() if number >= 0}

    def relations_of(self, node_id: str) -> list[str]:
        """Return the types of the relations at an entity, the most frequent first."""
        import numpy as np

        view = self.view()
        kinds, counts = np.unique(view.adjacent(view.number(node_id)).types, return_counts=True)
        return [EDGE_TYPES[int(kinds[place])].value for place in np.argsort(-counts, kind="stable")]

    def fetch(self, name: str, folder: Path | None = None, **options: Any) -> list[Path]:
        """Download a public source, into the workspace unless a folder is given, and return its files.

        Args:
            name: as `public_sources` names it.
            folder: where the files go.
            options: see `engine.knowledge.sources.fetch.fetch`.
        """
        folder = folder or self._parts.workspace.folder / "downloads" / name
        return self._parts.knowledge.fetch(name, folder, **options)
