"""Episodic memory: which past analyses bear on a question, and what they taught."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from engine.domain.memory import Episode, EpisodicContext, Recall
from engine.errors import NotFoundError, UserError
from engine.memory.episodes import context
from engine.memory.episodes.explain import PIN, Recalled, placed
from engine.memory.episodes.index import FAILED, SUCCEEDED, EpisodeIndex
from engine.memory.episodes.measures import measured
from engine.memory.episodes.reading import read
from engine.memory.episodes.relevance import models
from engine.memory.episodes.vectors import Embed, EpisodeVectors
from engine.ports.memory import EpisodeStore
from engine.ports.system import Clock
from engine.text.prose import quoted

if TYPE_CHECKING:
    import numpy as np

SHOWN_BELOW = 10
"""How many of those kept out `explain` shows."""
AGE, HALF_LIFE_DAYS = 0.02, 365.0
"""Most that age takes off, in the order of what passed only, and the age at which it takes off half of that."""


class EpisodicMemory:
    """Past analyses, recalled by words, names and meaning. Methods may be called from any thread.

    The index is built from the store at the first recall and follows every change made through this object.
    """

    def __init__(
        self,
        store: EpisodeStore,
        embed: Embed | None = None,
        embed_query: Embed | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Keep what is needed; nothing is read yet.

        Args:
            store: where episodes are kept.
            embed: gives unit vectors for texts, shape (texts, dimensions); None: recall goes without meaning.
            embed_query: the same for a question and words of it, which need not be kept; `embed` by default.
            clock: says what time it is, for the age of episodes; without one age counts for nothing.
        """
        self._store = store
        self._clock = clock
        # Store and index change together under the first; it is taken before the second, which guards the index
        # alone, so that a recall never waits for the disk.
        self._writing = threading.RLock()
        self._lock = threading.RLock()
        self._index: EpisodeIndex | None = None
        self._vectors = EpisodeVectors(embed, embed_query, self._lock, self._ready)

    # ==== keeping ====

    def add(self, episode: Episode) -> None:
        """Store an episode, or a newer state of one."""
        self.add_many([episode])

    def add_many(self, episodes: Sequence[Episode]) -> None:
        """Store episodes in one transaction; vectors are made at the next recall."""
        with self._writing:
            self._store.save(episodes)
            with self._lock:
                if self._index is not None:
                    self._index.add(episodes)

    def episode(self, episode_id: str) -> Episode:
        """Return an episode.

        Raises:
            NotFoundError: when there is none of this id.
        """
        found = self._store.episode(episode_id)
        if found is None:
            raise NotFoundError(
                f"There is no episode {quoted(episode_id)}.", advice="`biodesk memory episodes` lists those there are."
            )
        return found

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

    def pin(self, episode_id: str) -> Episode:
        """Prefer an episode whenever it is relevant."""
        return self._change(episode_id, pinned=True)

    def unpin(self, episode_id: str) -> Episode:
        """Take the pin off."""
        return self._change(episode_id, pinned=False)

    def doubt(self, episode_id: str) -> Episode:
        """Mark an analysis as wrong: it is kept, shown and never recalled."""
        return self._change(episode_id, doubted=True)

    def trust(self, episode_id: str) -> Episode:
        """Take that mark back."""
        return self._change(episode_id, doubted=False)

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
            if not self._store.forget(episode_id):
                raise NotFoundError(
                    f"There is no episode {quoted(episode_id)} to forget.",
                    advice="`biodesk memory episodes` lists those there are.",
                )
            with self._lock:
                if self._index is not None:
                    self._index.remove(episode_id)

    # ==== recalling ====

    def recall(
        self,
        query: str,
        *,
        top: int = 5,
        domains: Sequence[str] = (),
        tools: Sequence[str] = (),
        success: bool | None = None,
        min_relevance: float = 0.25,
        explain: bool = False,
        at: str | None = None,
    ) -> Recall:
        """Return the past analyses that fit a query, most relevant first; none when nothing fits.

        Args:
            query: a question, a description or bare identifiers.
            top: how many at most.
            domains: fields the query is about, as a hint.
            tools: tools likely to be used, as a hint.
            success: only analyses that succeeded (True) or failed (False).
            min_relevance: 0 to 1. When no episode reaches it by itself, nothing is recalled at all.
            explain: also return the best of those that were kept out.
            at: the time ages are counted from, ISO 8601; now by default.

        Raises:
            UserError: for a query without words or a number out of range.
        """
        started = time.perf_counter()
        _check(query, top, min_relevance)
        notes: list[str] = []
        with self._lock:
            asked = read(query, self._ready().known, tools=tools, domains=domains)
        vectors = self._vectors.of_question(query, asked, notes)
        kinds = (SUCCEEDED, FAILED) if success is None else (SUCCEEDED if success else FAILED,)
        with self._lock:
            index = self._ready()
            vector, new_words = vectors or (None, {})
            found = measured(index, asked, vector, new_words, kinds)
            relevance = models()["words" if vectors is None else "vectors"].relevance(found)
            passed, below = self._gate(index, found.rows, relevance, min_relevance, at)
            recalled = Recalled(index, asked, found, relevance)
            episodes = [recalled.item(place, order) for place, order in passed[:top]]
            kept_out = [recalled.item(place) for place in below[:SHOWN_BELOW]] if explain else []
        if not asked.words and vectors is None:
            notes.append("The query has no words to search by once common words are left out.")
        return Recall(
            query=query,
            episodes=placed(episodes),
            seconds=time.perf_counter() - started,
            considered=len(found.rows),
            below=kept_out,
            notes=notes,
        )

    def build_episodic_context(
        self,
        query: str,
        top_k: int = 5,
        token_budget: int = 2000,
        *,
        domains: Sequence[str] = (),
        min_relevance: float = 0.25,
        count_tokens: Callable[[str], int | None] | None = None,
    ) -> EpisodicContext:
        """Return what a planner should know of past analyses for a query, within a budget of tokens.

        Args:
            query: the question to plan for.
            top_k: how many analyses at most.
            token_budget: the text is never longer; records are shortened, then left out, whole.
            domains: fields the question is about, as a hint.
            min_relevance: see `recall`.
            count_tokens: an exact tokenizer; without one (or where it returns None) tokens are estimated.

        Raises:
            UserError: see `recall`; also for a budget below 1.
        """
        if token_budget < 1:
            raise UserError(f"The token budget is {token_budget}; it must be at least 1.")
        recall = self.recall(query, top=top_k, domains=domains, min_relevance=min_relevance)
        text, tokens = context.build(recall.episodes, token_budget, count_tokens)
        told = [item.episode.id for item in recall.episodes[: context.records_in(text)]]
        if len(told) < len(recall.episodes):
            note = (
                f"The budget of {token_budget:,} tokens has room for {len(told)} of the {len(recall.episodes)} past "
                "analyses that fit."
            )
            recall = recall.model_copy(update={"notes": [*recall.notes, note]})
        return EpisodicContext(text=text, tokens=tokens, recall=recall, told=told)

    def changing(self) -> AbstractContextManager[object]:
        """Keep other changes waiting while the store is changed by somebody else; recalls go on."""
        return self._writing

    def refresh(self) -> None:
        """Read the store again at the next recall: it was changed by someone else, an import for example."""
        with self._lock:
            self._index = None

    def warm(self) -> None:
        """Build the index and the vectors it lacks, so that the first recall does not wait for them."""
        with self._lock:
            self._ready()
        self._vectors.fill([])

    # ==== inside ====

    def _all(self) -> list[Episode]:
        with self._lock:
            if self._index is not None:
                return list(self._index.episodes.values())
        return self._store.episodes()

    def _change(self, episode_id: str, **fields: str | bool) -> Episode:
        with self._writing:
            before = self.episode(episode_id)
            after = before.model_copy(update=fields)
            if after != before:
                after = after.model_copy(update={"updated": self._clock.now() if self._clock else before.updated})
                self.add_many([after])
            return after

    def _ready(self) -> EpisodeIndex:
        """Return the index, built if need be; the lock is held."""
        if self._index is None:
            index = EpisodeIndex()
            index.add(self._store.episodes())
            self._index = index
        return self._index

    def _gate(
        self, index: EpisodeIndex, rows: np.ndarray, relevance: np.ndarray, least: float, at: str | None
    ) -> tuple[list[tuple[int, float]], list[int]]:
        """Return places of what is recalled, with what orders it, and of what is not, both best first."""
        import numpy as np

        passed = np.flatnonzero(relevance >= least).tolist()
        now = day(at) if at else day(self._clock.now()) if self._clock else float("nan")
        order = {}
        for place in passed:
            episode = index.at(int(rows[place]))
            age = AGE * age_share(now - day(episode.at))
            order[place] = float(relevance[place]) - age + PIN * episode.pinned
        passed.sort(key=lambda place: -order[place])
        kept_out = np.flatnonzero(relevance < least)
        return [(place, order[place]) for place in passed], kept_out[np.argsort(-relevance[kept_out])].tolist()


def _check(query: str, top: int, min_relevance: float) -> None:
    if not query.strip():
        raise UserError("The query is empty.", advice="Write what you want to know, or an identifier such as TP53.")
    if top < 1:
        raise UserError(f"`top` is {top}; it must be at least 1.")
    if not 0.0 <= min_relevance <= 1.0:
        raise UserError(f"The least relevance is {min_relevance}; it must be from 0 to 1.")


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


def age_share(days: float) -> float:
    """Return 0 for now to 1 for long ago: half at a year; 0 where the age is not known."""
    return 1.0 - 0.5 ** (max(days, 0.0) / HALF_LIFE_DAYS) if days == days else 0.0
