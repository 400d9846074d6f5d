"""Finds the node that a symbol or an identifier means exactly, so that imports attach to what is there."""

from __future__ import annotations

from collections.abc import Callable, Collection

from engine.domain.knowledge import NodeType
from engine.knowledge.graph.view import GraphView
from engine.knowledge.importers.reading.ids import is_ensembl_gene, is_number, is_uniprot, without_version

_SAME = {NodeType.PROTEIN: NodeType.GENE}
"""Types that are looked up as another."""
_SHARED = ("umls:", "mesh:")
"""Authorities whose one identifier can be a disease, a symptom and a side effect: the type must be the same."""

_Key = tuple[NodeType, str]
_Candidate = tuple[int, str, str]
"""(rank, name as it is written, id); a lower rank goes first."""


def rank_of(node_id: str) -> int:
    """Say how well an id stands for what it names: an Entrez gene 0, any other id 1, a mere symbol 2.

    A symbol of another organism than human is 3: `symbol:mouse:Brca1` must not be taken for BRCA1.
    """
    if node_id.startswith("Gene::"):
        return 0
    if node_id.startswith("symbol:"):
        return 3 if node_id.count(":") > 1 else 2
    return 1


class Resolver:
    """Exact lookup by id, cross-reference, name or alias. Built in one pass over the nodes; keeps no view."""

    def __init__(self, view: GraphView, *, without: Collection[str] = ()) -> None:
        """Build the lookup.

        Args:
            view: the graph.
            without: ids of nodes that are not to be found.
        """
        self._ids: dict[str, tuple[int, str]] = {}
        self._names: dict[_Key, _Candidate] = {}
        self._aliases: dict[_Key, str] = {}
        self._namesakes: dict[_Key, list[_Candidate]] = {}
        """All candidates of the names that several nodes have."""
        self._unclear: set[_Key] = set()
        hidden = frozenset(without)
        for node in view.named_nodes():
            if node.id in hidden:
                continue
            kind = _SAME.get(node.type, node.type)
            rank = rank_of(node.id)
            self._identified(node.id.casefold(), rank, node.id)
            for xref in node.xrefs:
                key = xref.casefold()
                self._identified(f"{kind.value} {key}" if key.startswith(_SHARED) else key, rank, node.id)
            self._named((kind, node.name.casefold()), (rank, node.name, node.id))
            for alias in node.aliases:
                key = (kind, alias.casefold())
                if self._aliases.setdefault(key, node.id) != node.id:
                    self._unclear.add(key)

    def __call__(self, text: str, kind: NodeType) -> str | None:
        """Return the id of the one node of a type that a text names, or None.

        An identifier finds its node whatever the type. A name goes before an alias. Of several nodes of one name
        the one with the surest id is meant, and of those the one that is written just so; a name or an alias that
        is still several nodes' finds none, because attaching to the wrong gene is worse than adding a node.
        """
        key = text.strip().casefold()
        found = self._ids.get(f"{_SAME.get(kind, kind).value} {key}" if key.startswith(_SHARED) else key)
        if found is not None:
            return found[1]
        named = (_SAME.get(kind, kind), key)
        if named in self._namesakes:
            return _meant(self._namesakes[named], text.strip())
        if named in self._names:
            return self._names[named][2]
        return None if named in self._unclear else self._aliases.get(named)

    def gene(self, text: str) -> str | None:
        """Return the id of the gene that a symbol, a name or an identifier with or without its prefix means, or None.

        A bare number is an Entrez id and nothing else.
        """
        text = text.strip()
        if is_number(text):
            return self(f"Gene::{text}", NodeType.GENE) or self(f"ENTREZ:{text}", NodeType.GENE)
        found = self(text, NodeType.GENE)
        if found is None and is_ensembl_gene(text):
            found = self(f"ENSEMBL:{without_version(text)}", NodeType.GENE)
        if found is None and is_uniprot(text):
            found = self(f"UNIPROT:{text}", NodeType.GENE)
        return found

    def _identified(self, key: str, rank: int, node_id: str) -> None:
        known = self._ids.get(key)
        if known is None or rank < known[0]:
            self._ids[key] = (rank, node_id)

    def _named(self, key: _Key, candidate: _Candidate) -> None:
        first = self._names.setdefault(key, candidate)
        if first[2] != candidate[2]:
            self._namesakes.setdefault(key, [first]).append(candidate)


class LateResolver:
    """A `Resolver` that is made when it is first asked, by `make`, which may be set later than this is handed on."""

    def __init__(self) -> None:
        self.make: Callable[[], Resolver] | None = None
        self._made: Resolver | None = None

    def __call__(self, text: str, kind: NodeType) -> str | None:
        """Look up as `Resolver` does."""
        if self._made is None:
            assert self.make is not None
            self._made = self.make()
        return self._made(text, kind)


def _meant(candidates: list[_Candidate], text: str) -> str | None:
    surest = min(rank for rank, _, _ in candidates)
    left = [candidate for candidate in candidates if candidate[0] == surest]
    left = [candidate for candidate in left if candidate[1] == text] or left
    return left[0][2] if len(left) == 1 else None
