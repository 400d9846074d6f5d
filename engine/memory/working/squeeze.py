"""Brings a conversation into its budget: the oldest messages become summaries, the oldest summaries shorter ones."""

from __future__ import annotations

from collections.abc import Sequence

from engine.domain.memory import Message, Summary
from engine.memory.working.compress import Passage, extract, passages_of
from engine.memory.working.tokens import TokenCounter

REFILL = 0.8
"""Compression goes on until this part of the free room is used, so that it does not happen at every message."""
_SUMMARY_SHARE = 0.4
"""Part of the free room that summaries may take before they are summed up themselves."""
_CHUNK_SHARE = 0.1
"""Part of the free room that one summary of messages stands for."""
_MESSAGE_SHRINK = 3
"""How many times shorter a summary is than the messages it sums up."""
_NEWEST_SHARE = 0.8
"""Part of the budget for a newest message that does not fit, so that what it is about is not lost with it."""
NEWEST_AT_LEAST = 4
"""A newest message that is cut gets a fourth of the budget even where pinned messages leave less."""
_FAN_IN = 3
"""Summaries of a level that become one of the next, as long as one of them: so each level holds three times as many
messages in the same room, and a conversation a thousand times its budget has about six levels."""


class Squeeze:
    """One compression: turns the oldest messages into summaries, and those into fewer, until all fits."""

    def __init__(
        self,
        messages: list[Message],
        summaries: list[Summary],
        budget: int,
        counter: TokenCounter,
    ) -> None:
        self._messages = messages
        self._summaries = list(summaries)
        self._budget = budget
        self._counter = counter
        # Pinned messages and the newest are not shortened; all else shares what they leave.
        pinned = sum(m.tokens for m in messages[:-1] if m.pinned)
        self._newest = _newest_tokens(messages, pinned, budget)
        self._fixed = pinned + self._newest
        self._free = max(budget - self._fixed, 0)

    def run(self) -> list[Summary]:
        """Return the summaries. Every step shortens what is left, so this ends."""
        if self.used() <= self._budget:
            return self._summaries
        goal = self._fixed + int(REFILL * self._free)
        while self.used() > goal:
            written = sum(s.tokens for s in self._summaries)
            if written > _SUMMARY_SHARE * self._free and len(self._summaries) > 1:
                self._merge()
            elif self._shortenable():
                self._sum_up_oldest()
            elif self.used() <= self._budget:
                break
            elif len(self._summaries) > 1:
                self._merge()
            elif written:
                self._shrink_last_resort()
            else:
                break
        return self._summaries

    def _through(self) -> int:
        return self._summaries[-1].last if self._summaries else 0

    def used(self) -> int:
        """Return the tokens of what a model would be shown."""
        through = self._through()
        before = sum(m.tokens for m in self._messages[:through] if m.pinned)
        recent = sum(m.tokens for m in self._messages[through:-1]) + self._newest
        return before + sum(s.tokens for s in self._summaries) + recent

    def _shortenable(self) -> bool:
        """Say whether any message but the newest could still be summed up."""
        return any(not m.pinned for m in self._messages[self._through() : -1])

    def _sum_up_oldest(self) -> None:
        """Replace the oldest messages, about a tenth of the free room, with a summary."""
        start = self._through()
        size = max(int(_CHUNK_SHARE * self._free), 1)
        taken, end = 0, start
        for message in self._messages[start:-1]:
            if taken >= size or (taken and taken + message.tokens > 2 * size):
                break
            taken += 0 if message.pinned else message.tokens
            end += 1
        end = max(end, start + 1)
        while end < len(self._messages) - 1 and all(m.pinned for m in self._messages[start:end]):
            end += 1
        chunk = [m for m in self._messages[start:end] if not m.pinned]
        before = sum(m.tokens for m in chunk)
        limit = min(before // _MESSAGE_SHRINK, max(size // _MESSAGE_SHRINK, 1))
        text = extract([Passage(m.role, m.text) for m in chunk], limit, self._counter)
        self._summaries.append(self._summary(1, start + 1, end, text, before))

    def _merge(self) -> None:
        """Replace the oldest of the summaries of a level that has many with one of the next, else join two."""
        group = _run_to_merge(self._summaries)
        members = self._summaries[group]
        levels = {s.level for s in members}
        level = max(levels) + (len(levels) == 1)
        limit = sum(s.tokens for s in members) // len(members)
        passages = [passage for s in members for passage in passages_of(s.text)]
        text = extract(passages, limit, self._counter)
        before = sum(s.tokens_before for s in members)
        self._summaries[group] = [self._summary(level, members[0].first, members[-1].last, text, before)]

    def _shrink_last_resort(self) -> None:
        """Halve the only summary: the pinned messages and the newest leave it too little room."""
        only = self._summaries[0]
        limit = min(only.tokens // 2, max(self._budget - self._fixed, 0))
        text = extract(passages_of(only.text), limit, self._counter)
        self._summaries = [self._summary(only.level + 1, only.first, only.last, text, only.tokens_before)]

    def _summary(self, level: int, first: int, last: int, text: str, before: int) -> Summary:
        return Summary(
            level=level, first=first, last=last, text=text, tokens=self._counter.count(text), tokens_before=before
        )


def _newest_tokens(messages: Sequence[Message], pinned: int, budget: int) -> int:
    """Return the room the newest message takes: all it needs where it fits, else a share of the budget."""
    if not messages:
        return 0
    newest = messages[-1]
    if newest.pinned or pinned + newest.tokens <= budget:
        return newest.tokens
    return min(newest.tokens, max(int(_NEWEST_SHARE * budget) - pinned, budget // NEWEST_AT_LEAST))


def _run_to_merge(summaries: Sequence[Summary]) -> slice:
    """Return which summaries to sum up next: three neighbours of one level, else the two oldest.

    Of such runs the lowest level is taken, and in it the oldest: what is summed up over and over loses most, so the
    high levels are left alone as long as there is another way.
    """
    runs = [
        (summaries[start].level, start)
        for start in range(len(summaries) - _FAN_IN + 1)
        if len({s.level for s in summaries[start : start + _FAN_IN]}) == 1
    ]
    if not runs:
        return slice(0, 2)
    _, start = min(runs)
    return slice(start, start + _FAN_IN)
