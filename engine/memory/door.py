"""Between memory and the knowledge graph: facts are sent and taken back, and what a run taught is unlearned."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from engine.domain.knowledge import NodeType
from engine.domain.memory import Fact
from engine.knowledge.service import KnowledgeBase
from engine.memory.facts.graph_door import GraphDoor, GraphSent, graph_source
from engine.memory.facts.memory import SemanticMemory


class MemoryDoor:
    """Opens one way: the graph follows the facts and never changes one. Methods may be called from any thread."""

    def __init__(self, facts: SemanticMemory, knowledge: KnowledgeBase) -> None:
        """Have the graph follow facts that are stated anew, and facts be joined by what the graph knows names of."""
        self._facts = facts
        self.knowledge = knowledge
        self._door = GraphDoor(facts, knowledge.graph.store, self._link, knowledge.graph.clock)
        self.moving = threading.RLock()
        """Held while facts and what the graph states of them change together; taken before the locks of the tiers."""
        facts.when_restated = self.resend
        facts.names.entities_of = knowledge.entities.ids
        facts.names.graph_version = knowledge.graph.store.version

    def to_graph(self, fact_ids: Sequence[str] = ()) -> GraphSent:
        """Send facts to the knowledge graph: those given, or all that are held; say which of them it opposes."""
        with self.moving:
            ids = list(fact_ids) or [fact.id for fact in self._facts.facts() if not fact.retracted]
            done = self._door.send(ids)
            self.knowledge.graph.outdate()
            return done._replace(opposed=self.knowledge.claims.opposed(self._door.stated_edges(done.sent)))

    def retract(self, fact_id: str) -> Fact:
        """Take a fact back, out of the knowledge graph too; it stays on record. Returns it.

        The graph comes first: when that fails, the fact is held as before and retracting can be tried again.

        Raises:
            NotFoundError: when there is none of this id.
        """
        with self.moving:
            self._leave(self._facts.fact(fact_id))
            return self._facts.retract(fact_id)

    def forget(self, fact: Fact) -> list[str]:
        """Remove a fact for good, from the graph first; return the source of the graph that it left, if any."""
        with self.moving:
            left = [graph_source(fact)] if self._leave(fact) else []
            self._facts.forget(fact.id)
            return left

    def resend(self, *facts: Fact) -> None:
        """Have the graph state facts that changed as they are now."""
        with self.moving:
            self._door.resend(facts)
            self.knowledge.graph.outdate()

    def unlearn(self, run_id: str) -> bool:
        """Take back what a run taught the graph and say whether it had taught it anything."""
        if any(source.id == run_id and source.kind == "run" for source in self.knowledge.graph.store.sources()):
            self.knowledge.sources.remove(run_id)
            return True
        return False

    def _leave(self, fact: Fact) -> bool:
        """Take a fact out of the graph and say whether it was there."""
        if fact.in_graph:
            self._door.take(fact)
            self.knowledge.graph.outdate()
        return fact.in_graph

    def _link(self, name: str) -> tuple[str, NodeType] | None:
        mentions = self.knowledge.entities.link(name)
        whole = [m for m in mentions if m.end - m.start >= 0.8 * len(name.strip())]
        return (whole[0].node.id, whole[0].node.type) if whole else None
