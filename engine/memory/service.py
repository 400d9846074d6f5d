"""The three tiers of memory behind one name, with what joins them: export, import and the door to the graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.domain.knowledge import NodeType
from engine.domain.memory import EpisodicContext, Fact, FactView, MemoryImport, Recall, WorkingView
from engine.errors import NotFoundError
from engine.knowledge.service import KnowledgeBase
from engine.memory import merging, transfer
from engine.memory.episodes import EMBED_NOW, EpisodicMemory
from engine.memory.facts import SemanticMemory
from engine.memory.graph_door import GraphSent, send_to_graph, take_from_graph
from engine.memory.tokens import describe_budget
from engine.memory.working import WorkingMemory
from engine.ports import ConversationStore, EpisodeStore, FactStore
from engine.settings import Settings


@dataclass(slots=True)
class Memory:
    """What a workspace remembers. Methods may be called from any thread."""

    settings: Settings
    episodic: EpisodicMemory
    semantic: SemanticMemory
    working: WorkingMemory
    episode_store: EpisodeStore
    fact_store: FactStore
    conversation_store: ConversationStore
    knowledge: KnowledgeBase
    when_episodes_change: Callable[[], None] = lambda: None
    """Called after episodes were forgotten or imported, for those who keep counts of them."""

    def recall(
        self,
        query: str,
        *,
        top: int | None = None,
        domains: Sequence[str] = (),
        tools: Sequence[str] = (),
        success: bool | None = None,
        min_relevance: float | None = None,
        explain: bool = False,
    ) -> Recall:
        """Return the past analyses that fit a question; none when nothing relevant is remembered."""
        return self.episodic.recall(
            query,
            top=self.settings.recall_top if top is None else top,
            domains=domains,
            tools=tools,
            success=success,
            min_relevance=self.settings.recall_min_relevance if min_relevance is None else min_relevance,
            explain=explain,
        )

    def context(self, query: str, *, budget: int | None = None, domains: Sequence[str] = ()) -> EpisodicContext:
        """Return what the planner is told of past analyses for a question."""
        return self.episodic.build_episodic_context(
            query,
            self.settings.recall_top,
            self.settings.recall_tokens if budget is None else budget,
            domains=domains,
            min_relevance=self.settings.recall_min_relevance,
        )

    def budget_in_words(self) -> str:
        """Return how large the budget of a conversation is and where that comes from."""
        return describe_budget(self.settings.working_memory_tokens, None)

    def view(self, conversation: str) -> WorkingView:
        """Return the working memory of a conversation."""
        return self.working.view(conversation)

    def facts(self, entity: str = "") -> list[FactView]:
        """Return the facts, or those about an entity."""
        return self.semantic.about(entity) if entity.strip() else self.semantic.all()

    def forget(self, some_id: str) -> str:
        """Remove an episode, a fact or a conversation for good and return which it was.

        What a fact, or the run of an episode, had put into the knowledge graph is taken back there first: when
        that fails, nothing is forgotten and forgetting can be tried again.

        Raises:
            NotFoundError: when there is nothing of this id.
        """
        episode = self.episode_store.episode(some_id)
        if episode is not None:
            self._unlearn(episode.run_id or episode.id)
            self.episodic.forget(some_id)
            self.when_episodes_change()
            return "episode"
        fact = self.fact_store.fact(some_id)
        if fact is not None:
            self._leave_graph(fact)
            self.semantic.forget(some_id)
            return "fact"
        if self.conversation_store.forget(some_id):
            return "conversation"
        raise NotFoundError(
            f"Nothing with the id {some_id!r} is remembered.",
            advice="`biodesk memory episodes` and `biodesk memory facts` list what is.",
        )

    def retract(self, fact_id: str) -> Fact:
        """Take a fact back, out of the knowledge graph too; it stays on record. Returns it.

        The graph comes first: when that fails, the fact is held as before and retracting can be tried again.

        Raises:
            NotFoundError: when there is none of this id.
        """
        self._leave_graph(self.semantic.fact(fact_id))
        return self.semantic.retract(fact_id)

    def to_graph(self, fact_ids: Sequence[str] = ()) -> GraphSent:
        """Send facts to the knowledge graph: those given, or all that are held.

        The door opens one way: the graph never changes a fact.
        """
        ids = list(fact_ids) or [fact.id for fact in self.semantic.facts() if not fact.retracted]
        done = send_to_graph(self.semantic, self.knowledge.store, self._link, ids, self.knowledge.clock)
        self.knowledge.outdate()
        return done

    def _leave_graph(self, fact: Fact) -> None:
        if fact.in_graph:
            take_from_graph(self.semantic, self.knowledge.store, self._link, fact, self.knowledge.clock)
            self.knowledge.outdate()

    def _unlearn(self, run_id: str) -> None:
        """Take back what a run taught the graph, when it taught it anything."""
        if any(source.id == run_id and source.kind == "run" for source in self.knowledge.store.sources()):
            self.knowledge.remove(run_id)

    def _link(self, name: str) -> tuple[str, NodeType] | None:
        mentions = self.knowledge.link(name)
        whole = [m for m in mentions if m.end - m.start >= 0.8 * len(name.strip())]
        return (whole[0].node.id, whole[0].node.type) if whole else None

    # ==== export and import ====

    def export(self, path: Path) -> dict[str, int]:
        """Write all episodes, facts and conversations as JSONL and return how many of each."""
        return transfer.export_memory(path, self.episode_store, self.fact_store, self.conversation_store)

    def import_file(self, path: Path) -> MemoryImport:
        """Read a JSONL export (or records of the same form from elsewhere); what is there already is skipped.

        Raises:
            DataError: for a line that cannot be read; nothing is imported then.
        """
        done = merging.import_memory(path, self.episode_store, self.fact_store, self.conversation_store)
        self.semantic.refresh()
        self.episodic.refresh()
        if done.episodes:
            self.when_episodes_change()
        if 0 < done.episodes <= EMBED_NOW:
            self.episodic.warm()
        return done
