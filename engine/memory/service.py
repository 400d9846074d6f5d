"""The three tiers of memory behind one name, with what joins them: export, import and the door to the graph."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from engine.domain.knowledge import NodeType
from engine.domain.memory import (
    Episode,
    EpisodicContext,
    Fact,
    FactView,
    Forgotten,
    MemoryImport,
    Recall,
    WorkingView,
)
from engine.errors import NotFoundError
from engine.knowledge.service import KnowledgeBase
from engine.memory import merging, transfer
from engine.memory.episodes.memory import EpisodicMemory
from engine.memory.episodes.vectors import EMBED_NOW
from engine.memory.facts.graph_door import GraphSent, graph_source, resend, send_to_graph, stated_edges, take_from_graph
from engine.memory.facts.memory import SemanticMemory
from engine.memory.working.memory import WorkingMemory
from engine.memory.working.tokens import describe_budget
from engine.ports.conversations import ConversationStore
from engine.ports.memory import EpisodeStore, FactStore
from engine.settings import Settings
from engine.text.prose import quoted


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
    _door: threading.RLock = field(default_factory=threading.RLock, init=False, repr=False)
    """Held while facts and what the graph states of them change together; taken before the locks of the tiers."""

    def __post_init__(self) -> None:
        """Have the graph follow facts that are stated anew, and facts be joined by what the graph knows names of."""
        self.semantic.when_restated = self._restated
        self.semantic.entities_of = self.knowledge.entities.ids
        self.semantic.graph_version = self.knowledge.graph.store.version

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
        """Return the working memory of a conversation.

        Raises:
            NotFoundError: when there is no conversation of this id.
        """
        view = self.working.view(conversation)
        if not (view.messages or view.pinned or view.summaries):
            raise NotFoundError(
                f"There is no conversation {quoted(conversation)}.",
                advice="`biodesk memory working` lists those there are.",
            )
        return view

    def facts(self, entity: str = "", *, retracted: bool = False) -> list[FactView]:
        """Return the facts, or those about an entity; with `retracted` those taken back as well."""
        if entity.strip():
            return self.semantic.about(entity, retracted=retracted)
        return self.semantic.all(retracted=retracted)

    def pin(self, some_id: str) -> Episode | Fact:
        """Prefer an episode whenever it is relevant, or keep a fact in front. Returns it.

        Raises:
            NotFoundError: when there is no episode and no fact of this id.
        """
        return self._pin(some_id, pinned=True)

    def unpin(self, some_id: str) -> Episode | Fact:
        """Undo `pin`. Returns the episode or fact; raises NotFoundError when there is none of this id."""
        return self._pin(some_id, pinned=False)

    def doubt(self, some_id: str, *, wrong: bool = True) -> Episode:
        """Mark a past analysis as wrong, so that it is never recalled, or take the mark back. Returns its episode.

        Args:
            some_id: of the episode, or of the run it tells of.
            wrong: False to take the mark back.

        Raises:
            NotFoundError: when no analysis of this id is remembered.
        """
        found = self.episode_store.episode(some_id) or self.episode_of(some_id)
        if found is None:
            raise NotFoundError(
                f"No analysis {quoted(some_id)} is remembered.",
                advice="`biodesk memory episodes` lists those that are.",
            )
        return self.episodic.doubt(found.id) if wrong else self.episodic.trust(found.id)

    def episode_of(self, run_id: str) -> Episode | None:
        """Return what is remembered of a run, or None."""
        return next((e for e in self.episode_store.episodes() if e.run_id == run_id), None)

    def forget(self, some_id: str) -> str:
        """Remove an episode, a fact or a conversation for good and return which it was; see `remove`."""
        return self.remove(some_id).kind

    def remove(self, some_id: str) -> Forgotten:
        """Remove an episode, a fact or a conversation for good and return what went with it.

        With an episode go what its run taught the knowledge graph and what was said in it; with a fact goes what
        the graph states of it. The graph comes first and the thing itself last: when something fails on the way,
        forgetting can be tried again.

        Raises:
            NotFoundError: when there is nothing of this id.
        """
        with self._door:
            episode = self.episode_store.episode(some_id)
            if episode is not None:
                return self._remove_episode(episode)
            fact = self.fact_store.fact(some_id)
            if fact is not None:
                sources = [graph_source(fact)] if self._leave_graph(fact) else []
                self.semantic.forget(some_id)
                return Forgotten(id=some_id, kind="fact", sources=sources)
        messages = len(self.conversation_store.messages(some_id))
        if self.working.forget(some_id):
            return Forgotten(id=some_id, kind="conversation", messages=messages, conversations=[some_id])
        raise NotFoundError(
            f"Nothing with the id {quoted(some_id)} is remembered.",
            advice="`biodesk memory episodes`, `biodesk memory facts` and `biodesk memory working` list what is.",
        )

    def retract(self, fact_id: str) -> Fact:
        """Take a fact back, out of the knowledge graph too; it stays on record. Returns it.

        The graph comes first: when that fails, the fact is held as before and retracting can be tried again.

        Raises:
            NotFoundError: when there is none of this id.
        """
        with self._door:
            self._leave_graph(self.semantic.fact(fact_id))
            return self.semantic.retract(fact_id)

    def to_graph(self, fact_ids: Sequence[str] = ()) -> GraphSent:
        """Send facts to the knowledge graph: those given, or all that are held; say which of them it opposes.

        The door opens one way: the graph never changes a fact.
        """
        with self._door:
            ids = list(fact_ids) or [fact.id for fact in self.semantic.facts() if not fact.retracted]
            done = send_to_graph(self.semantic, self.knowledge.graph.store, self._link, ids, self.knowledge.graph.clock)
            self.knowledge.graph.outdate()
            sent = stated_edges([self.semantic.fact(fact_id) for fact_id in done.sent], self._link)
            return done._replace(opposed=self.knowledge.claims.opposed(sent))

    def _pin(self, some_id: str, *, pinned: bool) -> Episode | Fact:
        if self.episode_store.episode(some_id) is not None:
            return self.episodic.pin(some_id) if pinned else self.episodic.unpin(some_id)
        if self.fact_store.fact(some_id) is not None:
            return self.semantic.pin(some_id) if pinned else self.semantic.unpin(some_id)
        raise NotFoundError(
            f"There is no episode and no fact {quoted(some_id)}.",
            advice="`biodesk memory episodes` and `biodesk memory facts` list those there are.",
        )

    def _remove_episode(self, episode: Episode) -> Forgotten:
        run_id = episode.run_id or episode.id
        taught = self._unlearn(run_id)
        gone = self.working.forget_run(run_id)
        self.episodic.forget(episode.id)
        self.when_episodes_change()
        return Forgotten(
            id=episode.id,
            kind="episode",
            messages=sum(gone.values()),
            conversations=list(gone),
            sources=[run_id] if taught else [],
        )

    def _leave_graph(self, fact: Fact) -> bool:
        """Take a fact out of the graph and say whether it was there."""
        if fact.in_graph:
            take_from_graph(self.semantic, self.knowledge.graph.store, self._link, fact, self.knowledge.graph.clock)
            self.knowledge.graph.outdate()
        return fact.in_graph

    def _restated(self, *facts: Fact) -> None:
        """Have the graph state facts that changed as they are now."""
        with self._door:
            resend(self.semantic, self.knowledge.graph.store, self._link, facts, self.knowledge.graph.clock)
            self.knowledge.graph.outdate()

    def _unlearn(self, run_id: str) -> bool:
        """Take back what a run taught the graph and say whether it had taught it anything."""
        if any(source.id == run_id and source.kind == "run" for source in self.knowledge.graph.store.sources()):
            self.knowledge.sources.remove(run_id)
            return True
        return False

    def _link(self, name: str) -> tuple[str, NodeType] | None:
        mentions = self.knowledge.entities.link(name)
        whole = [m for m in mentions if m.end - m.start >= 0.8 * len(name.strip())]
        return (whole[0].node.id, whole[0].node.type) if whole else None

    # ==== export and import ====

    def export(self, path: Path) -> dict[str, int]:
        """Write all episodes, facts and conversations as JSONL and return how many of each."""
        return transfer.export_memory(path, self.episode_store, self.fact_store, self.conversation_store)

    def import_file(self, path: Path) -> MemoryImport:
        """Read a JSONL export (or records of the same form from elsewhere); what is there already is skipped.

        A fact that is in the graph and comes changed is changed there too; one that comes retracted leaves it.

        Raises:
            DataError: for a line that cannot be read; nothing is imported then.
        """
        records = transfer.read_memory(path)
        with self._door:
            sent = [fact for fact in self.semantic.facts() if fact.in_graph]
            done = self._merge(records)
            changed = [fact for fact in sent if self.fact_store.fact(fact.id) != fact]
            if changed:
                self._restated(*changed)
        if done.episodes:
            self.when_episodes_change()
        if 0 < done.episodes <= EMBED_NOW:
            self.episodic.warm()
        return done

    def _merge(self, records: transfer.MemoryRecords) -> MemoryImport:
        # Whoever pins or retracts meanwhile waits, or one of the two changes would be lost.
        with self.episodic.changing(), self.semantic.changing():
            try:
                return merging.merge_memory(records, self.episode_store, self.fact_store, self.conversation_store)
            finally:
                self.semantic.refresh()
                self.episodic.refresh()
