"""Candidates for a link to one entity, ranked by a fitted model, with what speaks for and against each."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.discovery.links.calibration import LinkQuality
from engine.discovery.links.model import LinkModel
from engine.discovery.links.reasons import LinkReasons, reasons
from engine.discovery.links.typed import TypedEdges
from engine.domain.discovery.candidates import CandidateTable, LinkCandidate, LinkFit, SupportingPath
from engine.domain.knowledge import EDGE_TYPES, EdgeType, GraphPath, NodeType
from engine.knowledge.candidates.against import against, beside
from engine.knowledge.candidates.fitted import FittedGraph, FittedLinks
from engine.knowledge.entities import Entities
from engine.knowledge.graph.queries import hub_penalty
from engine.knowledge.graph.view import GraphView

PATHS = 3
"""Paths that are named of each candidate."""


@dataclass(frozen=True, slots=True)
class LinkRanking:
    """Links that the newest graph lacks. Methods may be called from any thread."""

    entities: Entities
    fitted: FittedLinks

    def rank(
        self, sought: NodeType, of: str, *, relation: EdgeType | None = None, top: int = 10, paths: int = PATHS
    ) -> CandidateTable:
        """Return the nodes of a type that paths join best to an entity they are not linked with.

        Args:
            sought: the type of the candidates.
            of: the entity, by id or name.
            relation: the link; by default the one that is usual between the two types.
            top: how many candidates.
            paths: how many paths of each are named.

        Raises:
            NotFoundError: when the entity is none, or may be several.
            UserError: when the graph states too few links of the kind to learn from.
        """
        began = time.perf_counter()
        node = self.entities.node(of)
        fitted = self.fitted.between(sought, node.type, relation)
        view, edges, model = fitted.view, fitted.edges, fitted.model
        number = view.nodes.number(node.id)
        ranked, chances, linked = _ranked(edges, model, number)
        kind = EDGE_TYPES[model.relation.edge]
        found = [_candidate(fitted, int(first), number, kind, paths) for first in ranked[:top]]
        limits = _limits(sought, kind, model)
        if not len(ranked):
            limits.insert(0, f"No path of the kinds that count joins {node.name} to anything it is not linked with.")
        return CandidateTable(
            of=view.nodes.node(number),
            sought=sought,
            relation=kind,
            candidates=found,
            known=[view.nodes.node(int(other)) for other in linked],
            scored=len(chances),
            fit=_fit(model.quality),
            limits=limits,
            graph_version=view.version,
            seconds=round(time.perf_counter() - began, 3),
        )


def _ranked(edges: TypedEdges, model: LinkModel, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the candidates' numbers, best first, the probabilities of all of their type, and those linked already.

    The order is that of the paths alone: many links raise a node's probability, which is shown, and not its rank. On
    Hetionet that finds hidden treatments nearly as well (`benchmarks/bench_links.py`). Without a path nobody is a
    candidate.
    """
    members = edges.members(model.relation.start)
    column = np.array([int(edges.places[number])])
    paths, degrees = (part[:, 0] for part in model.scores(edges, column))
    chances = model.probability(paths + degrees)
    linked = edges.matrix(model.relation)[:, column].toarray()[:, 0] > 0
    free = (paths > 0) & ~linked & (members != number)
    order = np.lexsort((members, -paths))
    return members[order[free[order]]], chances, members[linked]


def _candidate(fitted: FittedGraph, first: int, last: int, kind: EdgeType, most: int) -> LinkCandidate:
    view = fitted.view
    why: LinkReasons = reasons(fitted.edges, fitted.model, first, last, most)
    return LinkCandidate(
        node=view.nodes.node(first),
        probability=round(why.probability, 4),
        prior=round(why.prior, 4),
        without_best=round(why.without_best, 4),
        paths=[
            SupportingPath(path=_path(view, path.nodes, [s.edge for s in path.metapath]), share=round(path.share, 3))
            for path in why.paths
        ],
        count=why.count,
        against=against(view, first, last, kind),
        beside=beside(view, first, last, kind),
    )


def _path(view: GraphView, numbers: tuple[int, ...], codes: list[int]) -> GraphPath:
    """Return a path with the surest edge of each step's type."""
    rows: list[int] = []
    for a, b, code in zip(numbers, numbers[1:], codes, strict=False):
        between = view.rows_between(a, b)
        between = between[view.edges.codes[between] == code]
        rows.append(int(between[np.argmax(view.edges.confidences(between))]))
    degrees = view.nodes.degrees[np.array(numbers[1:-1], dtype=np.int64)]
    score = float(np.prod(view.edges.confidences(np.array(rows)))) * float(np.prod(hub_penalty(degrees)))
    return GraphPath(nodes=[view.nodes.node(n) for n in numbers], edges=view.edges.full(rows), score=round(score, 6))


def _fit(quality: LinkQuality) -> LinkFit:
    about: dict[str, Any] = {
        name: round(getattr(quality, name), 4)
        for name in ("auroc", "average_precision", "prior_auroc", "prior_average_precision", "base_rate")
    }
    bins = [(round(mean, 4), round(share, 4), links) for mean, share, links in quality.calibration]
    return LinkFit(links=quality.links, calibration=bins, **about)


def _limits(sought: NodeType, kind: EdgeType, model: LinkModel) -> list[str]:
    verb = kind.value.replace("_", " ")
    told = [
        f"A probability here is the share of hidden '{verb}' links among pairs with such a score, at the density the "
        f"graph has ({model.quality.base_rate:.2%} of all pairs): not the chance that it works.",
        f"Hidden from the model fold by fold, {model.quality.links} known links were told from other pairs with an "
        f"AUROC of {model.quality.auroc:.3f}; the degrees of both ends alone reach {model.quality.prior_auroc:.3f}.",
    ]
    if sought is NodeType.DRUG:
        told.append("The graph does not state which drugs are approved, nor doses, safety or trials.")
    return told
