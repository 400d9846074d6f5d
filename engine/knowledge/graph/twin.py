"""The same graph made of nodes and edges in memory: for tests, small graphs and graphs without a store."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from engine.domain.knowledge import EDGE_CODE, NODE_CODE, Edge, GraphSource, Node
from engine.errors import DataError
from engine.knowledge.graph.csr_build import build
from engine.knowledge.graph.view import GraphView
from engine.ports.graph import GraphColumns


class GraphTwin(GraphView):
    """A `GraphView` of lists of nodes and edges. The first node of an id is the one that is kept."""

    def __init__(
        self, nodes: Iterable[Node], edges: Iterable[Edge], sources: Iterable[GraphSource] = (), *, version: int = 1
    ) -> None:
        """Build the graph; what a source states has its time and licence, as in a stored graph.

        Raises:
            DataError: when an edge names a node that is not among the nodes.
        """
        known: dict[str, Node] = {}
        for node in nodes:
            known.setdefault(node.id, node)
        super().__init__(build(_columns(list(known.values()), list(edges), sources, version)), version)


def _columns(nodes: list[Node], edges: list[Edge], sources: Iterable[GraphSource], version: int) -> GraphColumns:
    numbers = {node.id: number for number, node in enumerate(nodes)}
    for edge in edges:
        for end in (edge.source, edge.target):
            if end not in numbers:
                message = f"The edge {edge.source} -[{edge.type}]- {edge.target} names {end}, which is not a node."
                raise DataError(message, advice="Add the node, or leave the edge out.")
    origins = {source.id: source for source in sources}
    for edge in edges:
        source = GraphSource.model_construct(
            id=edge.origin, name=edge.origin, kind="generic", at=edge.at, license=edge.license
        )
        origins.setdefault(edge.origin, source)
    for node in nodes:
        if node.source:
            origins.setdefault(node.source, GraphSource(id=node.source, name=node.source, kind="generic"))
    places = {origin: place for place, origin in enumerate(origins)}
    relations = {relation: code for code, relation in enumerate(dict.fromkeys(edge.relation for edge in edges))}
    return GraphColumns(
        version=version,
        ids=[node.id for node in nodes],
        names=[node.name for node in nodes],
        node_types=np.array([NODE_CODE[node.type] for node in nodes], dtype=np.uint8),
        aliases={number: list(node.aliases) for number, node in enumerate(nodes) if node.aliases},
        xrefs={number: list(node.xrefs) for number, node in enumerate(nodes) if node.xrefs},
        sources=np.array([numbers[edge.source] for edge in edges], dtype=np.int32),
        targets=np.array([numbers[edge.target] for edge in edges], dtype=np.int32),
        edge_types=np.array([EDGE_CODE[edge.type] for edge in edges], dtype=np.uint8),
        confidences=np.array([edge.confidence for edge in edges], dtype=np.float32),
        edge_keys=np.arange(len(edges), dtype=np.int64),
        named_by=np.array([places.get(node.source, -1) if node.source else -1 for node in nodes], dtype=np.int32),
        edge_relations=np.array([relations[edge.relation] for edge in edges], dtype=np.int32),
        edge_origins=np.array([places[edge.origin] for edge in edges], dtype=np.int32),
        relations=list(relations),
        origins=list(origins.values()),
    )
