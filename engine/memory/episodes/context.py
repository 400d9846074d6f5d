"""Recalled episodes as a text for the planner, cut to a budget of tokens and never in the middle of a record.

What does not fit is given up in this order, each time from the least relevant record upwards: the plan, the
tools, the result cut to its first sentence, the lessons cut to their first sentence, the result altogether,
and at last the least relevant record as a whole. The task and its relevance are the last to go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.domain.memory import RecalledEpisode
from engine.text.sentences import first_sentence

HEADING = "Past analyses that bear on this question, most relevant first:"
CHARACTERS_PER_TOKEN = 3.5
"""An estimate on the safe side for English with gene names, which tokenizers cut into small pieces."""

_STEPS = ("plan", "tools", "short_result", "short_lessons", "result")

CountTokens = Callable[[str], "int | None"]


@dataclass(slots=True)
class _Record:
    item: RecalledEpisode
    given_up: int = 0
    """How many of `_STEPS` were taken."""

    def text(self, number: int) -> str:
        """Return the record's lines."""
        gone = set(_STEPS[: self.given_up])
        episode = self.item.episode
        outcome = "succeeded" if episode.success else "failed"
        lines = [f"{number}. {_line(episode.task)} [{episode.id}, relevance {self.item.score:.2f}, {outcome}]"]
        result = _line(episode.result_summary)
        lessons = _line(episode.lessons)
        if "short_result" in gone:
            result = first_sentence(result)
        if "short_lessons" in gone:
            lessons = first_sentence(lessons)
        if result and "result" not in gone:
            lines.append(f"   Result: {result}")
        if lessons:
            lines.append(f"   Lessons: {lessons}")
        if episode.tools and "tools" not in gone:
            lines.append(f"   Tools: {', '.join(episode.tools)}")
        if episode.plan_summary and "plan" not in gone:
            lines.append(f"   Plan: {_line(episode.plan_summary)}")
        return "\n".join(lines)


def build(episodes: Sequence[RecalledEpisode], budget: int, count: CountTokens | None = None) -> tuple[str, int]:
    """Return the text and its tokens, at most `budget`; an empty text when nothing was recalled or fits.

    Args:
        episodes: most relevant first.
        budget: in tokens.
        count: an exact tokenizer; where there is none, or it returns None, tokens are estimated.
    """
    records = [_Record(item) for item in episodes]
    while records:
        text = _render(records)
        tokens = count_tokens(text, count)
        if tokens <= budget:
            return text, tokens
        _give_up(records)
    return "", 0


def count_tokens(text: str, count: CountTokens | None = None) -> int:
    """Return the number of tokens, by the tokenizer or estimated from characters (never below the words)."""
    exact = count(text) if count is not None else None
    if exact is not None:
        return exact
    return max(len(text.split()), round(len(text) / CHARACTERS_PER_TOKEN + 0.5))


def _render(records: Sequence[_Record]) -> str:
    return "\n".join([HEADING, *(record.text(number) for number, record in enumerate(records, 1))])


def _give_up(records: list[_Record]) -> None:
    """Take the next step: on the last record that has taken fewest, or drop the last record."""
    fewest = min(record.given_up for record in records)
    if fewest == len(_STEPS):
        records.pop()
        return
    next(record for record in reversed(records) if record.given_up == fewest).given_up += 1


def _line(text: str) -> str:
    """Return a text on one line, so that no record can pass for two."""
    return " ".join(text.split())


def records_in(text: str) -> int:
    """Return how many records a context has: its first line is the heading, further lines of a record are indented."""
    return sum(not line.startswith(" ") for line in text.splitlines()[1:])
