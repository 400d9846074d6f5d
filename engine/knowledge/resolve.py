"""Finds the node that a symbol or an identifier means exactly, so that imports attach to what is there."""

from __future__ import annotations

from engine.domain.knowledge import NodeType
from engine.knowledge.view import GraphView

_SAME = {NodeType.PROTEIN: NodeType.GENE}
"""Types that are looked up as another."""
_SHARED = ("umls:", "mesh:")
"""Authorities whose one identifier can be a disease, a symptom and a side effect: the type must be the same."""


class Resolver:
    """Exact lookup by id, cross-reference, name or alias. Built in one pass over the nodes."""

    def __init__(self, view: GraphView) -> None:
        self._view = view
        self._ids: dict[str, str] = {}
        self._names: dict[tuple[NodeType, str], str] = {}
        self._aliases: dict[tuple[NodeType, str], str] = {}
        self._unclear: set[tuple[NodeType, str]] = set()
        for node in view.named_nodes():
            kind = _SAME.get(node.type, node.type)
            self._ids.setdefault(node.id.casefold(), node.id)
            for xref in node.xrefs:
                key = xref.casefold()
                self._ids.setdefault(f"{kind.value} {key}" if key.startswith(_SHARED) else key, node.id)
            self._names.setdefault((kind, node.name.casefold()), node.id)
            for alias in node.aliases:
                key = (kind, alias.casefold())
                if self._aliases.setdefault(key, node.id) != node.id:
                    self._unclear.add(key)

    def __call__(self, text: str, kind: NodeType) -> str | None:
        """Return the id of the one node of a type that a text names, or None.

        An identifier finds its node whatever the type. A name goes before an alias; an alias of several nodes
        finds none, because attaching to the wrong gene is worse than adding a node.
        """
        key = text.strip().casefold()
        found = self._ids.get(f"{_SAME.get(kind, kind).value} {key}" if key.startswith(_SHARED) else key)
        if found is not None:
            return found
        named = (_SAME.get(kind, kind), key)
        if named in self._names:
            return self._names[named]
        return None if named in self._unclear else self._aliases.get(named)
