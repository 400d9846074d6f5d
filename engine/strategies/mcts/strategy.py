"""The strategy `mcts`: candidates among all entities of the graph, or ways between two of them."""

from __future__ import annotations

from dataclasses import dataclass

from engine.domain.knowledge import Node
from engine.domain.report import Report
from engine.errors import NotFoundError, PlanError, UserError
from engine.knowledge.service import KnowledgeBase
from engine.strategies.mcts.asked import LinkAsked, link_asked
from engine.strategies.mcts.told_candidates import candidates_report, paths_report

TOP = 8
"""Candidates that an answer names."""
WAYS_NAMED = 5


@dataclass(frozen=True, slots=True)
class SearchStrategy:
    """Answers questions about what may be."""

    knowledge: KnowledgeBase

    def at_once(self, question: str) -> Report | None:
        """Return the answer where the words ask for a possible link and the graph knows its ends."""
        asked = link_asked(question)
        try:
            return self._answer(question, asked) if asked else None
        except (NotFoundError, UserError):
            return None

    def answer(self, question: str) -> Report | None:
        """Return the answer to a question about possible links, None for one that asks something else.

        Raises:
            PlanError: when an entity is unknown or may be several, or too little is known of such links; it says which.
        """
        asked = link_asked(question, surely=True)
        if asked is None:
            return None
        try:
            return self._answer(question, asked)
        except (NotFoundError, UserError) as err:
            raise PlanError(err.message, advice=err.advice, details=err.details) from err

    def _answer(self, question: str, asked: LinkAsked) -> Report:
        if asked.sought is not None:
            table = self.knowledge.candidates.rank(asked.sought, asked.last, top=TOP)
            return candidates_report(question, table, self.knowledge)
        first, last = self.knowledge.entities.node(asked.first), self.knowledge.entities.node(asked.last)
        return self._ways(question, first, last)

    def _ways(self, question: str, first: Node, last: Node) -> Report:
        reading = self.knowledge.reading
        names = {first.id: first.name, last.id: last.name}
        sources = {source.id: source.name for source in reading.stats().sources}
        stated = [
            f"Stated directly: {names[e.source]} {e.type.value.replace('_', ' ')} {names[e.target]} "
            f"({sources.get(e.origin, e.origin)})."
            for e in reading.edges_between(first.id, last.id)
        ]
        ways = [path for path in reading.paths(first.id, last.id, top=WAYS_NAMED + 1) if len(path.edges) > 1]
        return paths_report(question, (first, last), list(dict.fromkeys(stated)), ways[:WAYS_NAMED], self.knowledge)
