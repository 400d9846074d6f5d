"""Models of links, fitted when a relation is first asked for and kept as long as the graph stays as it is."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

import numpy as np

from engine.discovery.links.model import LEAST_LINKS, LinkModel, fit_links
from engine.discovery.links.typed import MetaStep, TypedEdges
from engine.domain.knowledge import EDGE_CODE, EDGE_TYPES, NODE_CODE, EdgeType, NodeType
from engine.errors import UserError
from engine.knowledge.candidates.typed_view import INNER, typed_edges
from engine.knowledge.graph.view import GraphView
from engine.knowledge.newest import NewestGraph

PREFERRED: tuple[EdgeType, ...] = (
    EdgeType.TREATS, EdgeType.ASSOCIATED_WITH, EdgeType.BINDS, EdgeType.TARGETS, EdgeType.CAUSES, EdgeType.INVOLVED_IN,
    EdgeType.PRESENTS, EdgeType.EXPRESSED_IN, EdgeType.MARKER_OF, EdgeType.INTERACTS_WITH,
)  # fmt: skip
"""What is meant where two types may be linked in several ways: the first of these that the graph has."""


@dataclass(frozen=True, slots=True)
class FittedGraph:
    """A version of the graph with a model of one relation of it."""

    view: GraphView
    edges: TypedEdges
    model: LinkModel


@dataclass(slots=True)
class FittedLinks:
    """Models of the newest graph's relations. Methods may be called from any thread; one fits at a time."""

    graph: NewestGraph
    _view: GraphView | None = None
    _edges: TypedEdges | None = None
    _models: dict[MetaStep, LinkModel | None] = field(default_factory=dict)
    _fitting: threading.Lock = field(default_factory=threading.Lock)

    def between(self, first: NodeType, last: NodeType, relation: EdgeType | None = None) -> FittedGraph:
        """Return the newest graph with the model of a relation between two types, turned so that `first` is first.

        Args:
            first: type of the nodes at one end.
            last: type at the other.
            relation: which relation; by default the first of `PREFERRED` that joins them, else the most frequent.

        Raises:
            UserError: when the graph states too few such links to learn from.
        """
        with self._fitting:
            view = self.graph.view()
            if self._view is not view or self._edges is None:
                self._view, self._edges, self._models = view, typed_edges(view), {}
            edges = self._edges
            asked = _step(edges, first, last, relation)
            few = int(edges.matrix(asked).nnz) if asked else 0
            # The end with fewer nodes is the last: paths are counted column by column.
            turn = asked is not None and len(edges.members(asked.start)) < len(edges.members(asked.end))
            step = MetaStep(asked.end, asked.edge, asked.start) if asked and turn else asked
            if step is not None and step not in self._models:
                self._models[step] = fit_links(edges, step, inner=INNER)
            model = self._models.get(step) if step is not None else None
        if model is None:
            kind = EDGE_TYPES[asked.edge] if asked else relation
            verb = kind.value.replace("_", " ") if kind else "any relation"
            ends = f"a {_words(first)} and a {_words(last)}"
            raise UserError(
                f"The graph states {few} links of the kind '{verb}' between {ends}; at least {LEAST_LINKS} are needed "
                "to learn what makes one probable.",
                advice="Import a larger graph (`biodesk kg fetch hetionet --import`).",
            )
        return FittedGraph(view, edges, model.turned(edges) if turn else model)


def _step(edges: TypedEdges, first: NodeType, last: NodeType, relation: EdgeType | None) -> MetaStep | None:
    """Return the step that is meant between two types, None when the graph has none."""
    ends = (NODE_CODE[first], NODE_CODE[last])
    there = [step for step in edges.steps if (step.start, step.end) == ends and not step.back]
    if relation is not None:
        there = [step for step in there if step.edge == EDGE_CODE[relation]]
    order = {EDGE_CODE[kind]: place for place, kind in enumerate(PREFERRED)}
    enough = [step for step in there if edges.matrix(step).nnz >= LEAST_LINKS] or there
    sizes = np.array([edges.matrix(step).nnz for step in enough])
    ranked = sorted(range(len(enough)), key=lambda place: (order.get(enough[place].edge, len(order)), -sizes[place]))
    return enough[ranked[0]] if ranked else None


def _words(kind: NodeType) -> str:
    return kind.value.replace("_", " ")
