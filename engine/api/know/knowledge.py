"""Calls about the knowledge graph: search, neighbourhoods, paths, checking of texts, imports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from engine.api.calls import Calls, passed_on
from engine.knowledge.candidates.ranking import LinkRanking
from engine.knowledge.entities import Entities
from engine.knowledge.graph.view import GraphView
from engine.knowledge.grounding.checker import ClaimChecker
from engine.knowledge.importing import GraphSources
from engine.knowledge.reading import GraphReading
from engine.knowledge.sources import fetch

_ENTITIES, _READING, _SOURCES = "knowledge.entities", "knowledge.reading", "knowledge.sources"


class KnowledgeCalls(Calls):
    """The knowledge graph of a workspace."""

    search = passed_on(Entities.search, _ENTITIES)
    node = passed_on(Entities.node, _ENTITIES)
    names = passed_on(Entities.names, _ENTITIES)
    gene_ids = passed_on(Entities.gene_ids, _ENTITIES)
    unknown_genes = passed_on(Entities.unknown_genes, _ENTITIES)
    link = passed_on(Entities.link, _ENTITIES)
    stats = passed_on(GraphReading.stats, _READING)
    neighbours = passed_on(GraphReading.neighbours, _READING)
    relations_of = passed_on(GraphReading.relations_of, _READING)
    paths = passed_on(GraphReading.paths, _READING)
    shortest_path = passed_on(GraphReading.shortest_path, _READING)
    common_neighbours = passed_on(GraphReading.common_neighbours, _READING)
    edges_between = passed_on(GraphReading.edges_between, _READING)
    subgraph = passed_on(GraphReading.subgraph, _READING)
    candidates = passed_on(LinkRanking.rank, "knowledge.candidates")
    enrich = passed_on(GraphReading.enrich, _READING)
    check = passed_on(ClaimChecker.check, "knowledge.claims")
    preview = passed_on(GraphSources.preview, _SOURCES)
    import_files = passed_on(GraphSources.import_files, _SOURCES)
    import_fetched = passed_on(GraphSources.import_fetched, _SOURCES)
    restore_starter = passed_on(GraphSources.restore_starter, _SOURCES)
    taught = passed_on(GraphSources.taught, _SOURCES)
    remove = passed_on(GraphSources.remove, _SOURCES)

    def view(self) -> GraphView:
        """Return the newest version of the graph, opening it where it is not open yet; a view never changes."""
        return self._parts.knowledge.graph.view()

    def version(self) -> int:
        """Return the version of the graph that questions are answered from."""
        return self.view().version

    def fetch(self, name: str, folder: Path | None = None, **options: Any) -> list[Path]:
        """Download a public source, into the workspace unless a folder is given, and return its files.

        Args:
            name: as `public_sources` names it.
            folder: where the files go.
            options: see `engine.knowledge.sources.fetch.fetch`.
        """
        return fetch.fetch(name, folder or self._parts.workspace.folder / "downloads" / name, **options)
