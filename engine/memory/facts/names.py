"""What names in facts are compared by: the node of the knowledge graph that a name means, else its own spelling."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from engine.memory.facts.contradictions import entity_key
from engine.memory.facts.quantities import parse_quantity


class EntityNames:
    """Names that were looked up, each once. Whoever uses it holds a lock."""

    def __init__(self) -> None:
        self.entities_of: Callable[[Collection[str]], Mapping[str, str]] = lambda names: {}
        """Gives the ids of the entities of the knowledge graph that names mean, without those that are unclear."""
        self.graph_version: Callable[[], int] = lambda: 0
        """Says which version of the graph `entities_of` answers from."""
        self._keys: dict[str, str] = {}

    def look_up(self, names: Collection[str], *, anew: bool = False) -> None:
        """Ask the graph, once for all of them, which entities names mean; `anew` forgets what it said before."""
        if anew:
            self._keys.clear()
        new = {name: entity_key(name) for name in names if name not in self._keys}
        found = self.entities_of([name for name, key in new.items() if parse_quantity(key) is None]) if new else {}
        self._keys |= {**new, **found}

    def key(self, name: str) -> str:
        """Return what a name is compared by."""
        return self._keys.get(name) or entity_key(name)
