"""What is shown of episodes: recalled ones with the reasons for their place, and the order of a list of all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.domain.memory import Episode, EpisodeSignals, RecalledEpisode
from engine.memory.cues import Cues
from engine.memory.explain import why
from engine.memory.index import EpisodeIndex, day
from engine.memory.relevance import WEIGHTS
from engine.memory.signals import Ranked

if TYPE_CHECKING:
    import numpy as np


def recalled_of(
    index: EpisodeIndex, cues: Cues, ranked: Ranked, position: int, order: float | None = None
) -> RecalledEpisode:
    """Return an episode as recalled, with its signals and a sentence on what it shares with the query.

    Args:
        index: has the episode.
        cues: the query.
        ranked: the candidates.
        position: which of them.
        order: what the recalled are sorted by; the relevance where it is left out.
    """
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
        episode=episode,
        score=score,
        signals=signals,
        why=why(episode, cues, signals, raised=raised),
        order=score if order is None else round(order, 4),
    )


def placed(recalled: list[RecalledEpisode]) -> list[RecalledEpisode]:
    """Say of each what its place is decided by, where the relevances alone would put them in another order."""
    scores = [item.score for item in recalled]
    if scores == sorted(scores, reverse=True):
        return recalled
    return [item.model_copy(update={"why": f"{item.why} {_place(item)}"}) for item in recalled]


def _place(item: RecalledEpisode) -> str:
    age = item.score + (WEIGHTS.pin if item.episode.pinned else 0.0) - item.order
    pin = f" + {WEIGHTS.pin:.4f} for its pin" if item.episode.pinned else ""
    return f"Placed by {item.order:.4f}: relevance {item.score:.4f}{pin} - {max(0.0, age):.4f} for its age."


def records_in(text: str) -> int:
    """Return how many records a context has: its first line is the heading, further lines of a record are indented."""
    return sum(not line.startswith(" ") for line in text.splitlines()[1:])


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


def _rounded(value: float | np.floating) -> float:
    return round(min(1.0, max(0.0, float(value))), 4)
