"""Where literature is asked for: that none is looked up here, and where nothing else is known, what there is at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from engine.knowledge.service import KnowledgeBase
from engine.strategies.react.lookup import Lookup, LookupQuestion, Nothing, Observation, Step
from engine.strategies.react.wording import asks_for_literature, is_of_own_data


@dataclass(frozen=True, slots=True)
class Literature:
    """Says what is not there; thought of last."""

    knowledge: KnowledgeBase
    is_asked: Callable[[LookupQuestion], bool]
    """Whether a question asks for what is known."""

    def __call__(self, asked: LookupQuestion) -> list[Lookup]:
        """Return the look-ups there are for a question."""
        return [
            Lookup("literature", "Publications: none can be searched here.", Nothing, _none, self._papers),
            Lookup("graph_contents", "What the knowledge graph holds at all.", Nothing, self._holds, self._if_nothing),
        ]

    def _papers(self, asked: LookupQuestion, steps: Sequence[Step]) -> Iterable[Nothing]:
        wanted = asks_for_literature(asked.question) and not is_of_own_data(asked.question)
        return [Nothing()] if wanted and self.is_asked(asked) else []

    def _if_nothing(self, asked: LookupQuestion, steps: Sequence[Step]) -> Iterable[Nothing]:
        told = any(step.found.lines for step in steps)
        return [] if told else self._papers(asked, steps)

    def _holds(self, _: Nothing) -> Observation:
        stats = self.knowledge.reading.stats()
        if not stats.nodes:
            return Observation(notes=["The knowledge graph is empty, and no fact or past analysis fits the question."])
        names = ", ".join(source.name for source in stats.sources[:3])
        graph = f"the knowledge graph ({stats.nodes:,} entities from {names})"
        return Observation(notes=[f"Nothing the question names is in {graph}, the facts or past analyses."])


def _none(_: Nothing) -> Observation:
    said = "This version searches no literature: it tells what its knowledge graph, facts and past analyses hold."
    return Observation(notes=[said])
