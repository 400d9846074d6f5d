"""A question in other words than typed, where each place keeps where it came from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from engine.domain.plan import Span


class Reworded(NamedTuple):
    """A question in other words, and where each stretch of it stood."""

    text: str
    places: tuple[tuple[int, int, int, int], ...]
    """(from, to) of the text, (from, to) of the question as typed, for each stretch that was put; the rest is as typed."""

    def typed(self, span: Span, question: str) -> Span:
        """Return words of the text as they stand in the question as typed."""
        start, end = self._place(span.start, last=False), self._place(span.end, last=True)
        return span.model_copy(update={"text": question[start:end], "start": start, "end": end})

    def _place(self, at: int, *, last: bool) -> int:
        moved = 0
        for first, stop, was_first, was_stop in self.places:
            if first <= at <= stop and not (at == stop and not last) and not (at == first and last):
                return was_stop if last else was_first
            if stop <= at:
                moved = was_stop - stop
        return at + moved


def put_in(question: str, stretches: Iterable[tuple[int, int, str]]) -> Reworded:
    """Return a question with other words in place of some stretches (from, to, words), which are given in order."""
    pieces, places = list[str](), list[tuple[int, int, int, int]]()
    done, length = 0, 0
    for start, end, words in stretches:
        pieces += [question[done:start], words]
        length += start - done
        places.append((length, length + len(words), start, end))
        length, done = length + len(words), end
    return Reworded("".join([*pieces, question[done:]]), tuple(places))
