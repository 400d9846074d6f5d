"""Look-ups in the graph that a model may make for hypotheses, and what each gives in sentences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import zip_longest

from engine.domain.knowledge import NodeType
from engine.errors import UserError
from engine.strategies.tournament.bridges.placing import Placing
from engine.strategies.tournament.bridges.wording import chain, edges_of, opened, statement

TOOLS = {
    "statements_of": "what is stated of one entity (first: its name)",
    "paths_between": "the best supported paths between two entities (first, second: their names)",
    "candidates_for": "entities of a type that paths lead to and no statement links yet (first: a name, second: a type "
    "such as drug, gene, disease, pathway)",
}
_SHOWN = 15


@dataclass(frozen=True, slots=True)
class GraphTools:
    """Carries look-ups out."""

    placing: Placing

    def look_up(self, tool: str, first: str, second: str) -> str:
        """Return what a look-up finds, or in a sentence why it finds nothing."""
        ways: dict[str, Callable[[str, str], list[str]]] = {
            "statements_of": self._statements,
            "paths_between": self._paths,
            "candidates_for": self._candidates,
        }
        if tool not in ways:
            return f"There is no look-up of that name; there are {', '.join(ways)}."
        try:
            return "\n".join(ways[tool](first, second)) or "Nothing was found."
        except UserError as refused:
            return f"{refused.message} {refused.advice}".strip()

    def _statements(self, first: str, second: str) -> list[str]:
        view = self.placing.finder().view
        around = self.placing.knowledge.reading.neighbours(first, hops=1, limit=60)
        seed = around.seeds[0]
        by_relation: dict[str, list[str]] = {}
        for edge in around.edges:
            if seed in (edge.source, edge.target):
                by_relation.setdefault(edge.type.value, []).append(f"{opened(statement(view, edge))}.")
        # One of each relation in turn: a disease's many symptoms leave room for its few drugs and genes.
        in_turn = (said for together in zip_longest(*by_relation.values()) for said in together if said)
        return list(dict.fromkeys(in_turn))[: 2 * _SHOWN]

    def _paths(self, first: str, second: str) -> list[str]:
        view = self.placing.finder().view
        found = self.placing.knowledge.reading.paths(first, second, max_hops=3, top=_SHOWN // 2)
        return [f"{opened(chain(view, path.edges))}." for path in found]

    def _candidates(self, first: str, second: str) -> list[str]:
        finder = self.placing.finder()
        view = finder.view
        anchor = view.nodes.number(self.placing.knowledge.entities.node(first).id)
        kinds = {kind.value: kind for kind in NodeType}
        kind = kinds.get(second.strip().casefold().replace(" ", "_"))
        if kind is None:
            return [f"{second!r} is no type; there are {', '.join(kinds)}."]
        found = finder.for_anchor(anchor, kind)[:_SHOWN]
        return [f"{opened(chain(view, edges_of(view, one.lead.nodes, one.lead.pattern.edges)))}." for one in found]
