"""Entities of the newest graph: found by what a person types, in texts, and by the symbols of genes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from engine.domain.knowledge import NODE_CODE, Mention, Node, NodeHit, NodeType
from engine.errors import NotFoundError
from engine.knowledge.graph import search
from engine.knowledge.graph.node_table import NamedNode
from engine.knowledge.lookup import identifier_keys, is_identifier
from engine.knowledge.newest import NewestGraph
from engine.knowledge.recognising import Recognising
from engine.knowledge.refusals import ambiguous, shown

_GENES = (NodeType.GENE, NodeType.PROTEIN)
_LONGEST_NAME = 2_000
"""Characters of what a person types as an entity; more is a text that was put in its place."""


@dataclass(frozen=True, slots=True)
class Entities:
    """The entities of a workspace's graph. Methods may be called from any thread."""

    graph: NewestGraph
    recognising: Recognising

    def search(self, text: str, *, types: Collection[NodeType] = (), top: int = 20) -> list[NodeHit]:
        """Return the nodes a text may mean, best first."""
        view = self.graph.view()
        hits = search.search(view, text, types=types, top=top)
        if hits or not identifier_keys(text[:_LONGEST_NAME]):
            return hits
        # An identifier may be written without its prefix or with a version, as no name is.
        known = self.recognising.lookup().identified(text, types=types)[:top]
        numbers = [number for named in known if (number := view.nodes.number(named.id)) >= 0]
        degrees, nodes = map(view.nodes.degree, numbers), map(view.nodes.node, numbers)
        return [NodeHit(node=n, score=1.0, matched=text.strip(), degree=d) for n, d in zip(nodes, degrees, strict=True)]

    def node(self, text: str) -> Node:
        """Return the one node that a text means: an id, an identifier elsewhere, a name or an alias in any spelling.

        Raises:
            NotFoundError: when nothing fits, the advice then names what is near, or when several nodes fit equally;
                then `details["choices"]` has their ids.
        """
        nodes = self.graph.view().nodes
        number = nodes.number(text.strip())
        if number >= 0:
            return nodes.node(number)
        if len(text) > _LONGEST_NAME:
            raise NotFoundError(
                f"{shown(text)} has {len(text):,} characters, so it is no entity of the knowledge graph.",
                advice="`biodesk kg search TEXT` finds what is there.",
            )
        found = self._fitting([text]).get(text, [])
        if len(found) > 1:
            raise ambiguous(text, found)
        meant = found[0].id if found else "" if is_identifier(text) else self._rephrased(text.strip())
        number = nodes.number(meant)
        if number >= 0:
            return nodes.node(number)
        near = ", ".join(f"{hit.node.name} ({hit.node.id})" for hit in self.search(text, top=3))
        advice = f"Near are: {near}." if near else "`biodesk kg search TEXT` finds what is there."
        raise NotFoundError(f"There is no entity {shown(text)} in the knowledge graph.", advice=advice)

    def link(self, text: str) -> list[Mention]:
        """Return the entities a text names."""
        return self.recognising.linker().link(text)

    def names(self, ids: Iterable[str]) -> dict[str, str]:
        """Return id -> name of those entities that are in the graph, in the order given."""
        nodes = self.graph.view().nodes
        numbers = {node_id: nodes.number(node_id) for node_id in ids}
        return {node_id: nodes.node(number).name for node_id, number in numbers.items() if number >= 0}

    def ids(self, texts: Collection[str]) -> dict[str, str]:
        """Return text -> id of the one entity it means, without the texts that mean none or several."""
        return {text: found[0].id for text, found in self._fitting(texts).items() if len(found) == 1}

    def gene_ids(self, genes: Sequence[str]) -> list[str]:
        """Return the ids of the genes that are in the graph, by symbol, alias or id."""
        found = self._genes(genes)
        return list(dict.fromkeys(found[gene] for gene in genes if gene in found))

    def unknown_genes(self, genes: Sequence[str]) -> list[str]:
        """Return those genes, as they were given, that are not in the graph."""
        found = self._genes(genes)
        return [gene for gene in dict.fromkeys(genes) if gene not in found]

    def _genes(self, genes: Sequence[str]) -> dict[str, str]:
        """Return text -> id of the genes that are known; those written otherwise are looked for in one pass."""
        lookup = self.recognising.lookup()
        asked = list(dict.fromkeys(genes))
        found = {gene: node for gene in asked if (node := lookup.gene(gene)) is not None}
        left = [gene for gene in asked if gene not in found and len(gene) <= _LONGEST_NAME]
        fits = lookup.fitting(left, types=_GENES)
        return found | {gene: nodes[0].id for gene, nodes in fits.items() if len(nodes) == 1}

    def _fitting(self, texts: Collection[str]) -> dict[str, list[NamedNode]]:
        nodes = self.graph.view().nodes
        datasets = np.flatnonzero(nodes.types == NODE_CODE[NodeType.DATASET]).tolist()
        return self.recognising.lookup().fitting(texts, beside=list(nodes.named(datasets)))

    def _rephrased(self, text: str) -> str:
        """Return the id of what the whole text is recognised as, in the plural or rephrased, unless it may be others.

        "" when there is no such.
        """
        mentions = self.link(text)
        if len(mentions) != 1 or (mentions[0].start, mentions[0].end) != (0, len(text)) or mentions[0].alternatives:
            return ""
        return mentions[0].node.id
