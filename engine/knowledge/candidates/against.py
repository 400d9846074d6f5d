"""What the graph states that speaks against a link, and what else it states of the two ends."""

from __future__ import annotations

from engine.domain.knowledge import EdgeType
from engine.knowledge.graph.view import GraphView
from engine.text.prose import listed

_DENIES = {
    EdgeType.CONTRAINDICATED_FOR: "is contraindicated for",
    EdgeType.ABSENT_IN: "is stated to be absent in",
}
_MOVES = ((EdgeType.UPREGULATES, "raises"), (EdgeType.DOWNREGULATES, "lowers"))
_NAMED = 5
"""Names of genes that a sentence gives."""


def against(view: GraphView, first: int, last: int, relation: EdgeType) -> list[str]:
    """Return sentences of what speaks against a link, each with its source.

    A stated contraindication or absence denies it. For a treatment it also counts when the drug moves the expression
    of a gene the way the disease does; how many it moves the other way is told beside.
    """
    told = [
        f"{_name(view, edge.source)} {_DENIES[edge.type]} {_name(view, edge.target)} ({_source(view, edge.origin)})."
        for edge in view.edges.full(view.rows_between(first, last))
        if edge.type in _DENIES
    ]
    return list(dict.fromkeys([*told, *(_same_way(view, first, last) if relation is EdgeType.TREATS else [])]))


def beside(view: GraphView, first: int, last: int, relation: EdgeType) -> list[str]:
    """Return sentences of what else is stated of the two, and of how many other links of the kind the first has."""
    edges = [
        edge
        for edge in view.edges.full(view.rows_between(first, last))
        if edge.type not in _DENIES and edge.type is not relation
    ]
    told = [
        f"Also stated: {_name(view, edge.source)} {edge.type.value.replace('_', ' ')} {_name(view, edge.target)} "
        f"({_source(view, edge.origin)})."
        for edge in edges
    ]
    others = len(set(view.adjacent(first, {relation}).numbers.tolist()))
    links = f"link{'s' if others > 1 else ''} '{relation.value.replace('_', ' ')}'"
    told += [f"{view.nodes.node(first).name} has {others} other {links} in the graph."] if others else []
    return list(dict.fromkeys(told))


def _same_way(view: GraphView, first: int, last: int) -> list[str]:
    """Return what is told where both ends raise or both lower genes."""
    moved = {
        (end, kind): set(view.adjacent(end, {kind}, "out").numbers.tolist())
        for end in (first, last)
        for kind, _ in _MOVES
    }
    (up, _), (down, _) = _MOVES
    other_way = (moved[first, up] & moved[last, down]) | (moved[first, down] & moved[last, up])
    told = []
    for kind, verb in _MOVES:
        same = sorted(moved[first, kind] & moved[last, kind], key=lambda gene: (view.nodes.degree(gene), gene))
        if same:
            names = [view.nodes.node(gene).name for gene in same[:_NAMED]]
            more = [f"{len(same) - _NAMED} more"] if len(same) > _NAMED else []
            told.append(f"It {verb} the expression of {listed([*names, *more])}, as the disease does.")
    if told and other_way:
        told.append(f"Of {len(other_way)} gene{'s' if len(other_way) > 1 else ''} it reverses what the disease does.")
    return told


def _name(view: GraphView, node_id: str) -> str:
    return view.nodes.node(view.nodes.number(node_id)).name


def _source(view: GraphView, origin: str) -> str:
    return view.edges.source_name(origin)
