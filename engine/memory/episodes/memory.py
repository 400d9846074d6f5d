"""Episodic memory: the past analyses of a workspace, and the index they are recalled by."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime

from engine.domain.memory import Episode
from engine.errors import NotFoundError
from engine.memory.episodes.index import EpisodeIndex
from engine.ports.memory import EpisodeStore
from engine.ports.system import Clock
from engine.text.prose import quoted


class EpisodicMemory:
    """Keeps past analyses. Methods may be called from any thread.

    The index is built from the store when it is first asked for and follows every change made through this object.
    """

    def __init__(self, store: EpisodeStore, clock: Clock | None = None) -> None:
        """Keep what is needed; nothing is read yet.

        Args:
            store: where episodes are kept.
            clock: says when an episode was changed; without one that is not noted.
        """
        self.store = store
        self._clock = clock
        # Store and index change together under the first; it is taken before the second, which guards the index
        # alone, so that a recall never waits for the disk.
        self._writing = threading.RLock()
        self._lock = threading.RLock()
        self._index: EpisodeIndex | None = None

    def add(self, *episodes: Episode) -> None:
        """Store episodes, or newer states of them, in one transaction; vectors are made at the next recall."""
        with self._writing:
            self.store.save(episodes)
            with self._lock:
                if self._index is not None:
                    self._index.add(episodes)

    def episode(self, episode_id: str) -> Episode:
        """Return an episode.

        Raises:
            NotFoundError: when there is none of this id.
        """
        found = self.store.episode(episode_id)
        if found is None:
            raise NotFoundError(
                f"There is no episode {quoted(episode_id)}.", advice="`biodesk memory episodes` lists those there are."
            )
        return found

    def episode_of(self, run_id: str) -> Episode | None:
        """Return what is remembered of a run, or None."""
        return next((episode for episode in self._all() if episode.run_id == run_id), None)

    def doubted_runs(self) -> set[str]:
        """Return the runs that are marked as wrong."""
        return {episode.run_id for episode in self._all() if episode.doubted}

    def lessons_on(self, tool: str, most: int = 5) -> list[str]:
        """Return what repairs of steps of a tool taught, the newest first; not of analyses that are marked as wrong."""
        known = sorted((e for e in self._all() if not e.doubted), key=newest_first)
        said = (text for e in known for step in e.steps if step.tool == tool for text in step.lessons)
        return list(dict.fromkeys(said))[:most]

    def episodes(self, search: str = "", limit: int = 200, offset: int = 0) -> list[Episode]:
        """Return episodes, pinned ones first, then newest first; an unreadable time counts as the oldest.

        Args:
            search: only those whose text has every one of these words.
            limit: how many at most.
            offset: how many to leave out at the beginning, to go through them page by page.
        """
        parts = search.lower().split()
        found = [e for e in self._all() if all(part in searchable(e) for part in parts)] if parts else self._all()
        found.sort(key=newest_first)
        start = max(0, offset)
        return found[start : start + max(0, limit)]

    def count(self) -> int:
        """Return how many episodes there are."""
        return len(self._all())

    def pin(self, episode_id: str, *, pinned: bool = True) -> Episode:
        """Prefer an episode whenever it is relevant, or no longer. Returns it."""
        return self._change(episode_id, pinned=pinned)

    def doubt(self, some_id: str, *, wrong: bool = True) -> Episode:
        """Mark an analysis as wrong, so that it is kept, shown and never recalled, or take the mark back.

        Args:
            some_id: of the episode, or of the run it tells of.
            wrong: False to take the mark back.

        Raises:
            NotFoundError: when no analysis of this id is remembered.
        """
        found = self.store.episode(some_id) or self.episode_of(some_id)
        if found is None:
            raise NotFoundError(
                f"No analysis {quoted(some_id)} is remembered.",
                advice="`biodesk memory episodes` lists those that are.",
            )
        return self._change(found.id, doubted=wrong)

    def edit(self, episode_id: str, lessons: str | None = None, result_summary: str | None = None) -> Episode:
        """Correct what an episode says it taught or found; earlier states stay in the record."""
        given = {"lessons": lessons, "result_summary": result_summary}
        return self._change(episode_id, **{name: text.strip() for name, text in given.items() if text is not None})

    def forget(self, episode_id: str) -> None:
        """Remove an episode for good.

        Raises:
            NotFoundError: when there is none of this id.
        """
        with self._writing:
            if not self.store.forget(episode_id):
                raise NotFoundError(
                    f"There is no episode {quoted(episode_id)} to forget.",
                    advice="`biodesk memory episodes` lists those there are.",
                )
            with self._lock:
                if self._index is not None:
                    self._index.remove(episode_id)

    def changing(self) -> AbstractContextManager[object]:
        """Keep other changes waiting while the store is changed by somebody else; recalls go on."""
        return self._writing

    def refresh(self) -> None:
        """Read the store again at the next recall: it was changed by someone else, an import for example."""
        with self._lock:
            self._index = None

    @contextmanager
    def indexed(self) -> Iterator[EpisodeIndex]:
        """Give the index of the episodes, which nobody changes meanwhile."""
        with self._lock:
            yield self._ready()

    def _all(self) -> list[Episode]:
        with self._lock:
            if self._index is not None:
                return list(self._index.episodes.values())
        return self.store.episodes()

    def _change(self, episode_id: str, **fields: str | bool) -> Episode:
        with self._writing:
            before = self.episode(episode_id)
            after = before.model_copy(update=fields)
            if after != before:
                after = after.model_copy(update={"updated": self._clock.now() if self._clock else before.updated})
                self.add(after)
            return after

    def _ready(self) -> EpisodeIndex:
        """Return the index, built if need be; the lock is held."""
        if self._index is None:
            index = EpisodeIndex()
            index.add(self.store.episodes())
            self._index = index
        return self._index


def searchable(episode: Episode) -> str:
    """Return the text that a list of episodes is searched in, in lower case."""
    lists = (episode.tools, episode.domains, episode.entities, episode.data_names)
    texts = (episode.id, episode.task, episode.result_summary, episode.lessons, episode.plan_summary)
    return " ".join([*texts, *(name for names in lists for name in names)]).lower()


def newest_first(episode: Episode) -> tuple[bool, bool, float]:
    """Return what episodes are listed by: pinned ones first, then the newest; an unreadable time is the oldest."""
    moment = day(episode.at)
    readable = moment == moment
    return not episode.pinned, not readable, -moment if readable else 0.0


def day(at: str) -> float:
    """Return a UTC time in ISO 8601 as days since 1970; NaN when it cannot be read."""
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        return float("nan")
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() / 86_400
