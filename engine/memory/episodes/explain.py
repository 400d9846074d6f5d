"""Recalled episodes with the reasons for their place: signal by signal, and in one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.domain.memory import Episode, EpisodeSignals, RecalledEpisode
from engine.memory.episodes.index import EpisodeIndex
from engine.memory.episodes.measures import Measured
from engine.memory.episodes.reading import ENTITY, TOOL, Question, name_key, words
from engine.text.prose import listed

if TYPE_CHECKING:
    import numpy as np

MOST_NAMED = 4
NEAR = 0.3
"""A cosine from which the meaning is called near."""
NEARLY = 0.5
"""Share of the question's words from which they are called nearly covered."""


class Recalled:
    """What was found for a question, to be shown."""

    def __init__(self, index: EpisodeIndex, asked: Question, found: Measured, relevance: np.ndarray) -> None:
        self._index = index
        self._asked = asked
        self._found = found
        self._relevance = relevance

    def item(self, place: int, order: float | None = None) -> RecalledEpisode:
        """Return the candidate at a place with its signals and a sentence on what it shares with the question.

        Args:
            place: among the candidates.
            order: what the recalled are sorted by; the relevance where it is left out.
        """
        episode = self._index.at(int(self._found.rows[place]))
        values = {name: _rounded(measure[place]) for name, measure in self._found.measures.items()}
        signals = EpisodeSignals(
            fingerprint=values["coverage"],
            near=values["near"],
            tools=values["tools"],
            domains=values["domains"],
            entities=values["entities"],
            semantic=values["cosine"],
        )
        score = _rounded(self._relevance[place])
        why = self._why(episode, signals)
        return RecalledEpisode(
            episode=episode, score=score, signals=signals, why=why, order=score if order is None else round(order, 4)
        )

    def _why(self, episode: Episode, signals: EpisodeSignals) -> str:
        entities = self._shared_entities(episode)
        shared = self._shared_words(episode, entities)
        tools = [name for name in episode.tools if name_key(name) in self._asked.names[TOOL]]
        parts = []
        if entities:
            parts.append(f"mentions {_few(entities)}")
        if shared:
            parts.append(f"shares the word{'s' if len(shared) > 1 else ''} {_few(shared)}")
        if signals.near - signals.fingerprint >= NEARLY:
            parts.append("says in other words what was asked")
        if tools:
            parts.append(f"used {_few(tools)}")
        if signals.semantic >= NEAR:
            nearness = "is close" if signals.semantic >= 2 * NEAR else "is related"
            parts.append(f"{nearness} in meaning (similarity {signals.semantic:.2f})")
        if signals.domains > 0 and len(parts) < 3:
            parts.append("is of the same field")
        sentence = listed(parts) or "weakly related: no word, name or meaning stands out"
        return f"{sentence[:1].upper()}{sentence[1:]}."

    def _shared_entities(self, episode: Episode) -> list[str]:
        """Return the question's entities and identifiers that the episode mentions, as the episode writes them."""
        asked = self._asked
        wanted = {*asked.names[ENTITY], *(word.form for word in asked.words.values() if word.is_identifier)}
        texts = (*episode.entities, episode.task, episode.result_summary, episode.lessons)
        found = {key: name for name in episode.entities if (key := name_key(name)) in wanted}
        for word in (word for text in texts for word in words(text)):
            if name_key(word.text) in wanted or word.form in wanted:
                found.setdefault(name_key(word.text), word.text)
        names = list(found.values())
        # `TREM2 R47H` says what `TREM2` and `R47H` would only repeat.
        return [name for name in names if not any(f" {name} " in f" {other} " for other in names if other != name)]

    def _shared_words(self, episode: Episode, but: list[str]) -> list[str]:
        """Return the question's words that the episode has too, as the question writes them."""
        texts = (episode.task, episode.result_summary, episode.lessons, *episode.entities)
        theirs = {word.form for text in texts for word in words(text)}
        left_out = {word.form for name in but for word in words(name)}
        return [word.text for form, word in self._asked.words.items() if form in theirs - left_out]


PIN = 0.05
"""What a pin adds, in the order of what passed only."""


def placed(recalled: list[RecalledEpisode]) -> list[RecalledEpisode]:
    """Say of each what its place is decided by, where the relevances alone would put them in another order."""
    scores = [item.score for item in recalled]
    if scores == sorted(scores, reverse=True):
        return recalled
    return [item.model_copy(update={"why": f"{item.why} {_place(item)}"}) for item in recalled]


def _place(item: RecalledEpisode) -> str:
    added = PIN if item.episode.pinned else 0.0
    pin = f" + {added:.4f} for its pin" if added else ""
    age = max(0.0, item.score + added - item.order)
    return f"Placed by {item.order:.4f}: relevance {item.score:.4f}{pin} - {age:.4f} for its age."


def _few(names: list[str]) -> str:
    more = len(names) - MOST_NAMED
    return listed([*names[:MOST_NAMED], f"{more} more"] if more > 0 else names)


def _rounded(value: float | np.floating) -> float:
    return round(min(1.0, max(0.0, float(value))), 4)
