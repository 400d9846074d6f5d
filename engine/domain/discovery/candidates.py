"""Candidates for a link that the knowledge graph does not state, with what speaks for and against each."""

from __future__ import annotations

from engine.domain.base import Value
from engine.domain.knowledge import EdgeType, GraphPath, Node, NodeType


class SupportingPath(Value):
    """A path that makes a candidate probable."""

    path: GraphPath
    share: float
    """What it gives of all that paths give this candidate, 0 to 1."""


class LinkCandidate(Value):
    """A node that may be linked."""

    node: Node
    probability: float
    """That the link is one the graph was not told of, at the density that known links have among all pairs."""
    prior: float
    """The same by the degrees of both ends alone, in a graph with shuffled edges."""
    without_best: float
    """The probability without the best path."""
    paths: list[SupportingPath] = []
    """The best ones, best first."""
    count: int = 0
    """All paths that count."""
    against: list[str] = []
    """Sentences: what the graph states that speaks against it."""
    beside: list[str] = []
    """Sentences: what else it states of the two, and of the candidate's other links of this kind."""


class LinkFit(Value):
    """How good the model is on known links that were hidden from it, fold by fold."""

    links: int
    auroc: float
    average_precision: float
    prior_auroc: float
    """The same for degrees alone."""
    prior_average_precision: float
    base_rate: float
    """Links among all pairs."""
    calibration: list[tuple[float, float, int]] = []
    """Bins of probability: mean predicted, share that were links, links in it."""


class CandidateTable(Value):
    """Candidates of one type for a link to one node, best joined by paths first, whatever the number of their links."""

    of: Node
    sought: NodeType
    relation: EdgeType
    candidates: list[LinkCandidate]
    known: list[Node]
    """Those that the graph states; none of them is a candidate."""
    scored: int
    """Nodes that were scored."""
    fit: LinkFit
    limits: list[str] = []
    graph_version: int = 0
    seconds: float = 0.0
