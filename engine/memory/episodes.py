"""Episodic memory: which past analyses bear on a question, and what they taught."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from engine.domain.memory import Episode, EpisodicContext, Recall
from engine.errors import EngineError, ModelUnavailable, NotFoundError, UserError
from engine.memory import context
from engine.memory.cues import understand
from engine.memory.index import EpisodeIndex, day
from engine.memory.relevance import WEIGHTS, age_share
from engine.memory.showing import newest_first, placed, recalled_of, records_in, searchable
from engine.memory.signals import Ranked, rank
from engine.memory.wording import quoted
from engine.ports.memory import EpisodeStore
from engine.ports.system import Clock

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
        # Store and index change together under the first; it is taken before the second, which guards the index
        # alone, so that a recall never waits for the disk.
        self._writing = threading.RLock()
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
        vector = self._query_vector(query, notes)
        with self._lock:
            index = self._ready()
            cues = understand(query, index.known, tools=tools, domains=domains)
            ranked = rank(index, cues, vector, success=success)
            passed, below = self._gate(index, ranked, min_relevance, top, at)
            episodes = [recalled_of(index, cues, ranked, position, order) for position, order in passed]
            kept_out = [recalled_of(index, cues, ranked, position) for position in below] if explain else []
        if not len(cues.unigrams) and vector is None:
            notes.append("The query has no words to search by once common words are left out.")
        return Recall(
            query=query,
            episodes=placed(episodes),
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
        told = [item.episode.id for item in recall.episodes[: records_in(text)]]
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
        self._fill_vectors([])

    # ==== inside ====

    def _all(self) -> list[Episode]:
        with self._lock:
            if self._index is not None:
                return [episode for episode in self._index.episodes if episode is not None]
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
                found = _guarded(self._embed_query, query)
            else:
                assert self._embed is not None
                found = _guarded(self._embed, [query])[0]
        except EngineError as error:
            notes.append(_without_vectors(error.message))
            return None
        vector = found.reshape(-1)
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
        made = _guarded(self._embed, texts)
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
    ) -> tuple[list[tuple[int, float]], list[int]]:
        """Return positions in `ranked` of what is recalled, with what orders it, and of the best of what is not."""
        import numpy as np

        if not len(ranked.rows):
            return [], []
        held = np.array([not index.at(row).doubted for row in ranked.rows.tolist()], dtype=bool)
        opened = bool(held.any()) and float(ranked.alone[held].max()) >= min_relevance
        fits = held & (ranked.relevance >= min_relevance) if opened else np.zeros(len(ranked.rows), dtype=bool)
        passed = np.flatnonzero(fits)
        now = day(at) if at else day(self._clock.now()) if self._clock else float("nan")
        order = ranked.relevance[passed] - WEIGHTS.age * age_share(now - index.days[ranked.rows[passed]])
        pinned = [index.at(row).pinned for row in ranked.rows[passed].tolist()]
        order = order + WEIGHTS.pin * np.asarray(pinned, dtype=np.float64)
        best = np.argsort(-order, kind="stable")[:top]
        chosen = list(zip(passed[best].tolist(), order[best].tolist(), strict=True))
        return chosen, np.flatnonzero(~fits)[:SHOWN_BELOW].tolist()


def meaning_texts(episode: Episode) -> tuple[str, str]:
    """Return the two texts whose vectors together stand for an episode: what happened, and what it was about."""
    domains = ", ".join(name.replace("_", " ") for name in episode.domains)
    entities = ", ".join(episode.entities)
    tools = " ".join(name.replace("_", " ") for name in episode.tools)
    whole = f"{episode.task}. {entities}. {episode.result_summary} {episode.lessons} {domains}"
    subject = f"{domains}: {episode.task}. {entities}. {tools}"
    return whole, subject


def _guarded(embed: Callable[[Any], np.ndarray], given: Any) -> np.ndarray:
    """Return vectors, float32; whatever else goes wrong in a model becomes an error that recall can go on after."""
    import numpy as np

    try:
        return np.asarray(embed(given), dtype=np.float32)
    except EngineError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise EngineError(f"The embedding model failed ({type(error).__name__}: {reason}).") from error


def _check(query: str, top: int, min_relevance: float) -> None:
    if not query.strip():
        raise UserError("The query is empty.", advice="Write what you want to know, or an identifier such as TP53.")
    if top < 1:
        raise UserError(f"`top` is {top}; it must be at least 1.")
    if not 0.0 <= min_relevance <= 1.0:
        raise UserError(f"The least relevance is {min_relevance}; it must be from 0 to 1.")


def _without_vectors(reason: str) -> str:
    return f"Recalled without comparing meanings, so paraphrases may be missed: {reason}"
