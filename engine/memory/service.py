"""The three tiers of memory behind one name, with what is done across them: pin, forget, export and import."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from engine.domain.memory import Episode, Fact, Forgotten, MemoryImport
from engine.errors import NotFoundError
from engine.memory import merging, reading, transfer
from engine.memory.door import MemoryDoor
from engine.memory.episodes.memory import EpisodicMemory
from engine.memory.episodes.recalling import Recalling
from engine.memory.episodes.vectors import EMBED_NOW
from engine.memory.facts.memory import SemanticMemory
from engine.memory.facts.statements import Statements
from engine.memory.working.memory import WorkingMemory
from engine.text.prose import quoted


@dataclass(slots=True)
class Memory:
    """What a workspace remembers. Methods may be called from any thread."""

    episodic: EpisodicMemory
    recalling: Recalling
    semantic: SemanticMemory
    statements: Statements
    working: WorkingMemory
    door: MemoryDoor
    when_episodes_change: Callable[[], None] = lambda: None
    """Called after episodes were forgotten or imported, for those who keep counts of them."""

    def pin(self, some_id: str, *, pinned: bool = True) -> Episode | Fact:
        """Prefer an episode whenever it is relevant, or keep a fact in front; or no longer. Returns it.

        Raises:
            NotFoundError: when there is no episode and no fact of this id.
        """
        if self.episodic.store.episode(some_id) is not None:
            return self.episodic.pin(some_id, pinned=pinned)
        if self.semantic.store.fact(some_id) is not None:
            return self.semantic.pin(some_id, pinned=pinned)
        raise NotFoundError(
            f"There is no episode and no fact {quoted(some_id)}.",
            advice="`biodesk memory episodes` and `biodesk memory facts` list those there are.",
        )

    def remove(self, some_id: str) -> Forgotten:
        """Remove an episode, a fact or a conversation for good and return what went with it.

        With an episode go what its run taught the knowledge graph and what was said in it; with a fact goes what
        the graph states of it. The graph comes first and the thing itself last: when something fails on the way,
        forgetting can be tried again.

        Raises:
            NotFoundError: when there is nothing of this id.
        """
        with self.door.moving:
            episode = self.episodic.store.episode(some_id)
            if episode is not None:
                return self._remove_episode(episode)
            fact = self.semantic.store.fact(some_id)
            if fact is not None:
                return Forgotten(id=some_id, kind="fact", sources=self.door.forget(fact))
        messages = len(self.working.store.messages(some_id))
        if self.working.forget(some_id):
            return Forgotten(id=some_id, kind="conversation", messages=messages, conversations=[some_id])
        raise NotFoundError(
            f"Nothing with the id {quoted(some_id)} is remembered.",
            advice="`biodesk memory episodes`, `biodesk memory facts` and `biodesk memory working` list what is.",
        )

    def export(self, path: Path) -> dict[str, int]:
        """Write all episodes, facts and conversations as JSONL and return how many of each."""
        return transfer.export_memory(path, self.episodic.store, self.semantic.store, self.working.store)

    def import_file(self, path: Path) -> MemoryImport:
        """Read a JSONL export (or records of the same form from elsewhere); what is there already is skipped.

        A fact that is in the graph and comes changed is changed there too; one that comes retracted leaves it.

        Raises:
            DataError: for a line that cannot be read; nothing is imported then.
        """
        records = reading.read_memory(path)
        with self.door.moving:
            sent = [fact for fact in self.semantic.facts() if fact.in_graph]
            done = self._merge(records)
            changed = [fact for fact in sent if self.semantic.store.fact(fact.id) != fact]
            if changed:
                self.door.resend(*changed)
        if done.episodes:
            self.when_episodes_change()
        if 0 < done.episodes <= EMBED_NOW:
            self.recalling.warm()
        return done

    def _remove_episode(self, episode: Episode) -> Forgotten:
        run_id = episode.run_id or episode.id
        taught = self.door.unlearn(run_id)
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

    def _merge(self, records: reading.MemoryRecords) -> MemoryImport:
        # Whoever pins or retracts meanwhile waits, or one of the two changes would be lost.
        with self.episodic.changing(), self.semantic.changing():
            try:
                return merging.merge_memory(records, self.episodic.store, self.semantic.store, self.working.store)
            finally:
                self.semantic.refresh()
                self.episodic.refresh()
