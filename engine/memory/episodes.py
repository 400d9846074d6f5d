"""Episodic memory: which past analyses bear on a question, and what they taught."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from engine.domain.memory import Episode, EpisodeSignals, EpisodicContext, Recall, RecalledEpisode
from engine.errors import EngineError, ModelUnavailable, NotFoundError, UserError
from engine.memory import context
from engine.memory.cues import Cues, understand
from engine.memory.explain import why
from engine.memory.index import EpisodeIndex, day
from engine.memory.relevance import WEIGHTS, age_share
from engine.memory.signals import Ranked, rank
from engine.ports import Clock, EpisodeStore

if TYPE_CHECKING:
    import numpy as np

EmbedMany = Callable[[Sequence[str]], "np.ndarray"]
EmbedOne = Callable[[str], "np.ndarray"]

EMBED_NOW = 2000
"""Episodes without a vector that a recall waits for: some ten seconds of work, once."""
EMBED_BATCH = 256
EMBED_WAIT_SECONDS = 5.0
SHOWN_BELOW = 10
"""How many of those kept out `explain` shows."""


class EpisodicMemory:
    """Past analyses, recalled by words, names and meaning. Methods may be called from any thread.

    The index is built from the store at the first recall and follows every change made through this object.
    """

    def __init__(
        self,
        store: EpisodeStore,
        embed: EmbedMany | None = None,
        embed_query: EmbedOne | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Keep what is needed; nothing is read yet.

        Args:
            store: where episodes are kept.
            embed: gives unit vectors for texts, shape (texts, dimensions); None: recall goes without meaning.
            embed_query: the same for one query; `embed` by default.
            clock: says what time it is, for the age of episodes; without one age counts for nothing.
        """
        self._store = store
        self._embed = embed
        self._embed_query = embed_query
        self._clock = clock
        self._lock = threading.RLock()
        self._embedding = threading.Lock()
        self._index: EpisodeIndex | None = None
        self._no_vectors = "" if embed is not None else "No embedding model is set up."

    # ==== keeping ====

    def add(self, episode: Episode) -> None:
        """Store an episode, or a newer state of one."""
        self.add_many([episode])

    def add_many(self, episodes: Sequence[Episode]) -> None:
        """Store episodes in one transaction; vectors are made at the next recall."""
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
                f"There is no episode {episode_id!r}.", advice="`biodesk memory episodes` lists those there are."
            )
        return found

    def episodes(self, search: str = "", limit: int = 200) -> list[Episode]:
        """Return episodes, newest first; with `search` those whose text has every one of its words."""
        parts = search.lower().split()
        found = [e for e in self._all() if all(part in _searchable(e) for part in parts)] if parts else self._all()
        found.sort(key=lambda episode: episode.at, reverse=True)
        return found[: max(0, limit)]

    def pin(self, episode_id: str) -> Episode:
        """Prefer an episode whenever it is relevant."""
        return self._change(episode_id, pinned=True)

    def unpin(self, episode_id: str) -> Episode:
        """Take the pin off."""
        return self._change(episode_id, pinned=False)

    def edit(self, episode_id: str, lessons: str | None = None, result_summary: str | None = None) -> Episode:
        """Correct what an episode says it taught or found; earlier states stay in the record."""
        given = {"lessons": lessons, "result_summary": result_summary}
        return self._change(episode_id, **{name: text.strip() for name, text in given.items() if text is not None})

    def forget(self, episode_id: str) -> None:
        """Remove an episode for good.

        Raises:
            NotFoundError: when there is none of this id.
        """
        if not self._store.forget(episode_id):
            raise NotFoundError(
                f"There is no episode {episode_id!r} to forget.",
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
        vector = self._query_vector(query, notes)
        with self._lock:
            index = self._ready()
            cues = understand(query, index.known, tools=tools, domains=domains)
            ranked = rank(index, cues, vector, success=success)
            passed, below = self._gate(index, ranked, min_relevance, top, at)
            episodes = [self._recalled(index, cues, ranked, position) for position in passed]
            kept_out = [self._recalled(index, cues, ranked, position) for position in below] if explain else []
        if not len(cues.unigrams) and vector is None:
            notes.append("The query has no words to search by once common words are left out.")
        return Recall(
            query=query,
            episodes=episodes,
            seconds=time.perf_counter() - started,
            considered=len(ranked.rows),
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
        return EpisodicContext(text=text, tokens=tokens, recall=recall)

    def refresh(self) -> None:
        """Read the store again at the next recall: it was changed by someone else, an import for example."""
        with self._lock:
            self._index = None

    def warm(self) -> None:
        """Build the index and the vectors it lacks, so that the first recall does not wait for them."""
        with self._lock:
            self._ready()
        self._fill_vectors([])

    # ==== inside ====

    def _all(self) -> list[Episode]:
        with self._lock:
            if self._index is not None:
                return [episode for episode in self._index.episodes if episode is not None]
        return self._store.episodes()

    def _change(self, episode_id: str, **fields: str | bool) -> Episode:
        with self._lock:
            before = self.episode(episode_id)
            after = before.model_copy(update=fields)
            if after != before:
                self.add_many([after])
            return after

    def _ready(self) -> EpisodeIndex:
        """Return the index, built if need be; the lock is held."""
        if self._index is None:
            index = EpisodeIndex()
            index.add(self._store.episodes())
            self._index = index
        elif self._index.wasteful:
            self._index = self._index.compacted()
        return self._index

    def _query_vector(self, query: str, notes: list[str]) -> np.ndarray | None:
        """Return the query's unit vector, with every episode's vector in place; None with a note where that fails."""
        import numpy as np

        with self._lock:
            self._ready()
        if not self._vectors_ready(notes):
            return None
        try:
            if self._embed_query is not None:
                found = self._embed_query(query)
            else:
                assert self._embed is not None
                found = self._embed([query])[0]
        except EngineError as error:
            notes.append(_without_vectors(error.message))
            return None
        vector = np.asarray(found, dtype=np.float32).reshape(-1)
        length = float(np.linalg.norm(vector))
        return vector / length if length > 0 and np.isfinite(length) else None

    def _vectors_ready(self, notes: list[str]) -> bool:
        """Make missing vectors now when they are few; make many beside the recall, which then says so."""
        with self._lock:
            many = len(self._ready().lacking_vectors(EMBED_NOW + 1)) > EMBED_NOW
        if not many or self._no_vectors:
            return self._fill_vectors(notes)
        if not self._embedding.locked():
            threading.Thread(target=self._fill_vectors, args=([],), name="episode-vectors", daemon=True).start()
        notes.append("Vectors of many episodes are being made, so paraphrases may be missed for now.")
        return True

    def _fill_vectors(self, notes: list[str]) -> bool:
        """Make the vectors that episodes lack and say whether meanings can be compared."""
        if self._no_vectors:
            notes.append(_without_vectors(self._no_vectors))
            return False
        # One thread makes them; others wait a moment and then go on with those that are there.
        if not self._embedding.acquire(timeout=EMBED_WAIT_SECONDS):
            notes.append("Vectors of some episodes are still being made, so paraphrases may be missed.")
            return True
        try:
            while self._fill_batch():
                pass
        except EngineError as error:
            if isinstance(error, ModelUnavailable):
                # A model that is not here does not come by itself; a full disk passes, so that is tried again.
                self._no_vectors = error.message
            notes.append(_without_vectors(error.message))
            return False
        finally:
            self._embedding.release()
        return True

    def _fill_batch(self) -> bool:
        """Make the vectors of a batch, outside the lock so that others can go on recalling; False when none lacks."""
        import numpy as np

        assert self._embed is not None
        with self._lock:
            index = self._ready()
            batch = [index.at(row) for row in index.lacking_vectors(EMBED_BATCH).tolist()]
        if not batch:
            return False
        texts = [text for episode in batch for text in meaning_texts(episode)]
        made = np.asarray(self._embed(texts), dtype=np.float32)
        if made.ndim != 2 or len(made) != len(texts) or not np.isfinite(made).all():
            raise ModelUnavailable(
                f"The embedding model gave vectors of shape {made.shape} for {len(texts)} texts, or numbers that "
                "are not finite.",
                advice="Choose another model with the setting embedding_model.",
            )
        with self._lock:
            if index is self._index:
                index.put_vectors(batch, made[0::2] + made[1::2])
        return True

    def _gate(
        self, index: EpisodeIndex, ranked: Ranked, min_relevance: float, top: int, at: str | None
    ) -> tuple[list[int], list[int]]:
        """Return positions in `ranked` of what is recalled and of the best of what is not."""
        import numpy as np

        if not len(ranked.rows):
            return [], []
        opened = float(ranked.alone.max()) >= min_relevance
        fits = (ranked.relevance >= min_relevance) if opened else np.zeros(len(ranked.rows), dtype=bool)
        passed = np.flatnonzero(fits)
        now = day(at) if at else day(self._clock.now()) if self._clock else float("nan")
        order = ranked.relevance[passed] - WEIGHTS.age * age_share(now - index.days[ranked.rows[passed]])
        pinned = [index.at(row).pinned for row in ranked.rows[passed].tolist()]
        order = order + WEIGHTS.pin * np.asarray(pinned, dtype=np.float64)
        chosen = passed[np.argsort(-order, kind="stable")][:top]
        return chosen.tolist(), np.flatnonzero(~fits)[:SHOWN_BELOW].tolist()

    def _recalled(self, index: EpisodeIndex, cues: Cues, ranked: Ranked, position: int) -> RecalledEpisode:
        episode = index.at(int(ranked.rows[position]))
        semantic = float(ranked.semantic[position])
        signals = EpisodeSignals(
            fingerprint=_rounded(ranked.fingerprint[position]),
            tools=_rounded(ranked.tools[position]),
            domains=_rounded(ranked.domains[position]),
            entities=_rounded(ranked.entities[position]),
            semantic=_rounded(semantic) if semantic == semantic else 0.0,
        )
        score = _rounded(ranked.relevance[position])
        # The best hit owes its place to itself, whatever its kin among the others add.
        raised = float(ranked.relevance[position] - ranked.alone[position]) if position else 0.0
        return RecalledEpisode(
            episode=episode, score=score, signals=signals, why=why(episode, cues, signals, raised=raised)
        )


def meaning_texts(episode: Episode) -> tuple[str, str]:
    """Return the two texts whose vectors together stand for an episode: what happened, and what it was about."""
    domains = ", ".join(name.replace("_", " ") for name in episode.domains)
    entities = ", ".join(episode.entities)
    tools = " ".join(name.replace("_", " ") for name in episode.tools)
    whole = f"{episode.task}. {entities}. {episode.result_summary} {episode.lessons} {domains}"
    subject = f"{domains}: {episode.task}. {entities}. {tools}"
    return whole, subject


def _searchable(episode: Episode) -> str:
    lists = (episode.tools, episode.domains, episode.entities, episode.data_names)
    texts = (episode.id, episode.task, episode.result_summary, episode.lessons, episode.plan_summary)
    return " ".join([*texts, *(name for names in lists for name in names)]).lower()


def _check(query: str, top: int, min_relevance: float) -> None:
    if not query.strip():
        raise UserError("The query is empty.", advice="Write what you want to know, or an identifier such as TP53.")
    if top < 1:
        raise UserError(f"`top` is {top}; it must be at least 1.")
    if not 0.0 <= min_relevance <= 1.0:
        raise UserError(f"The least relevance is {min_relevance}; it must be from 0 to 1.")


def _without_vectors(reason: str) -> str:
    return f"Recalled without comparing meanings, so paraphrases may be missed: {reason}"


def _rounded(value: float | np.floating) -> float:
    return round(min(1.0, max(0.0, float(value))), 4)
