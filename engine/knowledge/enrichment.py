"""Which neighbourhoods of the graph hold more of a gene list than chance would put there.

A neighbourhood is a node that is not a gene (a pathway, a GO term, a disease, a drug...) with the genes linked
to it. Files, tools and papers are none: that genes come from one of them says nothing of what they do. The test
is the one-sided hypergeometric one, which is Fisher's exact test, with Benjamini and Hochberg's correction over
every neighbourhood of acceptable size, whether it holds a gene of the list or not.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from engine.domain.knowledge import EDGE_CODE, NODE_CODE, EdgeType, EnrichedNode, NodeType
from engine.errors import NotFoundError, UserError
from engine.knowledge.graph.queries import RECORDS, as_types
from engine.knowledge.graph.search import search
from engine.knowledge.graph.view import GraphView

MEMBERSHIP: tuple[EdgeType, ...] = (
    EdgeType.INVOLVED_IN,
    EdgeType.HAS_FUNCTION,
    EdgeType.LOCATED_IN,
    EdgeType.ASSOCIATED_WITH,
    EdgeType.MARKER_OF,
    EdgeType.EXPRESSED_IN,
    EdgeType.BINDS,
    EdgeType.TARGETS,
)
"""Edges that make a gene a member of a neighbourhood, unless others are asked for."""

NO_NEIGHBOURHOODS: frozenset[NodeType] = frozenset(RECORDS)
"""Types that are not tested unless they are asked for: that genes come from one file or paper is no biology.

A finished run links its significant genes to its own file, so testing the same genes again would find that file.
"""

_GENES = (NODE_CODE[NodeType.GENE], NODE_CODE[NodeType.PROTEIN])


def enrichment(
    view: GraphView,
    genes: Sequence[str],
    edge_types: Collection[EdgeType] | None = None,
    background: Sequence[str] | None = None,
    min_size: int = 3,
    max_size: int = 500,
    top: int = 100,
    node_types: Collection[NodeType] | None = None,
) -> list[EnrichedNode]:
    """Test a gene list against all neighbourhoods.

    Args:
        view: the graph.
        genes: ids of gene (or protein) nodes; ids that are not in the graph are passed over.
        edge_types: edges that make a gene a member; `MEMBERSHIP` when None.
        background: the genes that could have been in the list; when None, every gene that is a member of any
            neighbourhood. Genes outside it count neither in the list nor in a neighbourhood.
        min_size: a neighbourhood is tested when it has at least so many genes of the background,
        max_size: and at most so many.
        top: how many of those that share a gene with the list are returned.
        node_types: neighbourhoods of these types only; all but `NO_NEIGHBOURHOODS` when None.

    Returns:
        The neighbourhoods that share a gene with the list, smallest p-value first.

    Raises:
        NotFoundError: when none of the genes is in the graph.
        UserError: when none is in the background, or for sizes that cannot be.
    """
    from scipy.stats import false_discovery_control, hypergeom

    if not 1 <= min_size <= max_size:
        raise UserError(
            f"Neighbourhoods of {min_size} to {max_size} genes cannot be.",
            advice="Give a min_size of at least 1 and a max_size that is not smaller.",
        )
    kinds = as_types(edge_types, EdgeType) or set(MEMBERSHIP)
    wanted = as_types(node_types, NodeType) or set(NodeType) - NO_NEIGHBOURHOODS
    terms, members = _memberships(view, kinds, wanted)
    listed = _numbers(view, genes, "genes")
    inside = np.zeros(len(view.nodes), dtype=bool)
    inside[members if background is None else _numbers(view, background, "background genes")] = True
    query = listed[inside[listed]]
    if not len(query) and background is None:
        raise UserError(
            f"None of the genes given ({len(listed):,}) is linked to anything that is tested.",
            advice="Ask for other types of relations, or import a source that says what these genes do.",
        )
    if not len(query):
        raise UserError(
            f"None of the genes given ({len(listed):,}) is in the background ({int(inside.sum()):,}).",
            advice="Leave the background out, or give the genes the list was chosen from.",
        )
    keep = inside[members]
    terms, members = terms[keep], members[keep]
    in_query = np.zeros(len(view.nodes), dtype=bool)
    in_query[query] = True
    sizes = np.bincount(terms, minlength=len(view.nodes))
    overlaps = np.bincount(terms[in_query[members]], minlength=len(view.nodes))
    tested = np.flatnonzero((sizes >= min_size) & (sizes <= max_size))
    if not len(tested):
        return []
    every = int(inside.sum())
    p_values = np.minimum(hypergeom.sf(overlaps[tested] - 1, every, sizes[tested], len(query)), 1.0)
    p_adjusted = false_discovery_control(p_values, method="bh")
    order = np.lexsort((tested, -overlaps[tested] / sizes[tested], p_values))
    order = order[overlaps[tested][order] > 0][: max(top, 0)]
    found: list[EnrichedNode] = []
    for place in order.tolist():
        number = int(tested[place])
        overlap, size = int(overlaps[number]), int(sizes[number])
        shared = np.intersect1d(members[terms == number], query)
        found.append(
            EnrichedNode(
                node=view.nodes.node(number),
                overlap=overlap,
                size=size,
                query_size=len(query),
                background_size=every,
                fold_enrichment=overlap * every / (len(query) * size),
                p_value=float(p_values[place]),
                p_adj=float(p_adjusted[place]),
                members=sorted(view.nodes.node(int(gene)).name for gene in shared),
            )
        )
    return found


def _memberships(view: GraphView, kinds: set[EdgeType], node_types: set[NodeType]) -> tuple[np.ndarray, np.ndarray]:
    """Return (neighbourhood, gene) for every membership, each pair once."""
    rows = np.isin(view.edges.codes, [EDGE_CODE[kind] for kind in kinds])
    heads, tails = view.edges.heads[rows].astype(np.int64), view.edges.tails[rows].astype(np.int64)
    types = view.nodes.types
    from_gene, to_gene = np.isin(types[heads], _GENES), np.isin(types[tails], _GENES)
    ahead, back = from_gene & ~to_gene, to_gene & ~from_gene
    terms = np.concatenate([tails[ahead], heads[back]])
    genes = np.concatenate([heads[ahead], tails[back]])
    keep = np.isin(types[terms], [NODE_CODE[kind] for kind in node_types])
    terms, genes = terms[keep], genes[keep]
    pairs = np.unique(terms * len(view.nodes) + genes)
    return pairs // max(len(view.nodes), 1), pairs % max(len(view.nodes), 1)


def _numbers(view: GraphView, ids: Sequence[str], what: str) -> np.ndarray:
    """Return the numbers of those ids that are genes of the graph, each once."""
    types = view.nodes.types
    known = [number for number in map(view.nodes.number, dict.fromkeys(ids)) if number >= 0 and types[number] in _GENES]
    if not known:
        near = [hit for text in list(ids)[:1] for hit in search(view, text, types=(NodeType.GENE,), top=3)]
        if not ids:
            message = f"No {what} were given, or none of them is in the knowledge graph."
            raise NotFoundError(message, advice="`biodesk kg search NAME` shows what a gene is called there.")
        several = f"None of the {len(ids):,} {what} is in the knowledge graph (the first is {ids[0]!r})."
        raise NotFoundError(
            several if len(ids) > 1 else f"{ids[0]!r} is no gene of the knowledge graph.",
            advice="Near the first are: " + ", ".join(f"{hit.node.name} ({hit.node.id})" for hit in near) + "."
            if near
            else "Give the ids of gene nodes.",
        )
    return np.array(known, dtype=np.int64)
