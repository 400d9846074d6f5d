"""Recall: which past analyses bear on a question, and what a planner is told of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.domain.memory import EpisodicContext, Recall
from engine.errors import UserError
from engine.memory.episodes import context
from engine.memory.episodes.explain import PIN, Recalled, placed
from engine.memory.episodes.index import FAILED, SUCCEEDED, EpisodeIndex
from engine.memory.episodes.measures import measured
from engine.memory.episodes.memory import EpisodicMemory, day
from engine.memory.episodes.reading import read
from engine.memory.episodes.relevance import models
from engine.memory.episodes.vectors import Embed, EpisodeVectors
from engine.ports.system import Clock

if TYPE_CHECKING:
    import numpy as np

SHOWN_BELOW = 10
"""How many of those kept out `explain` shows."""
AGE, HALF_LIFE_DAYS = 0.02, 365.0
"""Most that age takes off, in the order of what passed only, and the age at which it takes off half of that."""


@dataclass(frozen=True, slots=True)
class Usual:
    """What holds for a recall that does not say otherwise."""

    top: int = 5
    least: float = 0.25
    tokens: int = 2000


class Recalling:
    """Recalls by words, names and meaning. Methods may be called from any thread."""

    def __init__(
        self,
        memory: EpisodicMemory,
        embed: Embed | None = None,
        embed_query: Embed | None = None,
        clock: Clock | None = None,
        usual: Usual | None = None,
    ) -> None:
        """Keep what is needed; nothing is read yet.

        Args:
            memory: the episodes.
            embed: gives unit vectors for texts, shape (texts, dimensions); None: recall goes without meaning.
            embed_query: the same for a question and words of it, which need not be kept; `embed` by default.
            clock: says what time it is, for the age of episodes; without one age counts for nothing.
            usual: what holds where a call does not say otherwise.
        """
        self.memory = memory
        self._clock = clock
        self._usual = usual or Usual()
        self._vectors = EpisodeVectors(embed, embed_query, memory.indexed)

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
        at: str | None = None,
    ) -> Recall:
        """Return the past analyses that fit a query, most relevant first; none when nothing fits.

        Args:
            query: a question, a description or bare identifiers.
            top: how many at most; as usual when left out.
            domains: fields the query is about, as a hint.
            tools: tools likely to be used, as a hint.
            success: only analyses that succeeded (True) or failed (False).
            min_relevance: 0 to 1; as usual when left out. When no episode reaches it by itself, nothing is recalled.
            explain: also return the best of those that were kept out.
            at: the time ages are counted from, ISO 8601; now by default.

        Raises:
            UserError: for a query without words or a number out of range.
        """
        started = time.perf_counter()
        top = self._usual.top if top is None else top
        least = self._usual.least if min_relevance is None else min_relevance
        _check(query, top, least)
        notes: list[str] = []
        with self.memory.indexed() as index:
            asked = read(query, index.known, tools=tools, domains=domains)
        vectors = self._vectors.of_question(query, asked, notes)
        kinds = (SUCCEEDED, FAILED) if success is None else (SUCCEEDED if success else FAILED,)
        with self.memory.indexed() as index:
            vector, new_words = vectors or (None, {})
            found = measured(index, asked, vector, new_words, kinds)
            relevance = models()["words" if vectors is None else "vectors"].relevance(found)
            passed, below = self._gate(index, found.rows, relevance, least, at)
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

    def context(
        self,
        query: str,
        *,
        top: int | None = None,
        budget: int | None = None,
        domains: Sequence[str] = (),
        count_tokens: Callable[[str], int | None] | None = None,
    ) -> EpisodicContext:
        """Return what a planner should know of past analyses for a question, within a budget of tokens.

        Args:
            query: the question to plan for.
            top: how many analyses at most; as usual when left out.
            budget: tokens that the text is never longer than; records are shortened, then left out, whole.
            domains: fields the question is about, as a hint.
            count_tokens: an exact tokenizer; without one (or where it returns None) tokens are estimated.

        Raises:
            UserError: see `recall`; also for a budget below 1.
        """
        budget = self._usual.tokens if budget is None else budget
        if budget < 1:
            raise UserError(f"The token budget is {budget}; it must be at least 1.")
        recall = self.recall(query, top=top, domains=domains)
        text, tokens = context.build(recall.episodes, budget, count_tokens)
        told = [item.episode.id for item in recall.episodes[: context.records_in(text)]]
        if len(told) < len(recall.episodes):
            note = (
                f"The budget of {budget:,} tokens has room for {len(told)} of the {len(recall.episodes)} past "
                "analyses that fit."
            )
            recall = recall.model_copy(update={"notes": [*recall.notes, note]})
        return EpisodicContext(text=text, tokens=tokens, recall=recall, told=told)

    def warm(self) -> None:
        """Build the index and the vectors it lacks, so that the first recall does not wait for them."""
        with self.memory.indexed():
            pass
        self._vectors.fill([])

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


def age_share(days: float) -> float:
    """Return 0 for now to 1 for long ago: half at a year; 0 where the age is not known."""
    return 1.0 - 0.5 ** (max(days, 0.0) / HALF_LIFE_DAYS) if days == days else 0.0
