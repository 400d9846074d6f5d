"""The conversation as a model would see it: what is new as it was said, what is old in short.

Summaries form levels. When a conversation outgrows its budget the oldest messages become a summary of level 1;
when the summaries take too much room the oldest of them become one of level 2, and so on, so that what lies
further back is kept in fewer words but never falls out at once. Pinned messages stand as they are. The messages
themselves always stay in the store: only the view is short.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Literal, Protocol
from weakref import WeakValueDictionary

from engine.domain.memory import Message, Summary, WorkingView
from engine.errors import NotFoundError
from engine.memory.working.compress import Passage, extract, passages_of
from engine.memory.working.tokens import TokenCounter, cut_middle, describe_budget, resolve_budget
from engine.ports.conversations import ConversationStore
from engine.ports.system import Clock
from engine.text.prose import quoted

_REFILL = 0.8
"""Compression goes on until this part of the free room is used, so that it does not happen at every message."""
_SUMMARY_SHARE = 0.4
"""Part of the free room that summaries may take before they are summed up themselves."""
_CHUNK_SHARE = 0.1
"""Part of the free room that one summary of messages stands for."""
_MESSAGE_SHRINK = 3
"""How many times shorter a summary is than the messages it sums up."""
_NEWEST_SHARE = 0.8
"""Part of the budget for a newest message that does not fit, so that what it is about is not lost with it."""
_NEWEST_AT_LEAST = 4
"""A newest message that is cut gets a fourth of the budget even where pinned messages leave less."""
_FAN_IN = 3
"""Summaries of a level that become one of the next, as long as one of them: so each level holds three times as many
messages in the same room, and a conversation a thousand times its budget has about six levels."""


class TalkStore(ConversationStore, Protocol):
    """A store of conversations that can leave out what one run said and was asked."""

    def conversations_of(self, run_id: str) -> list[str]:
        """Return the conversations that have messages of a run, sorted."""
        ...

    def forget_run(self, conversation: str, run_id: str) -> int:
        """Remove a run's messages and every summary made of them; number the others anew from 1. Returns how many."""
        ...


class WorkingMemory:
    """Conversations, each within a budget of tokens. Thread-safe."""

    def __init__(
        self,
        store: TalkStore,
        *,
        budget: int,
        clock: Clock,
        counter: TokenCounter | None = None,
    ) -> None:
        """Set up working memory.

        Args:
            store: where conversations are kept.
            budget: tokens a view may have, or -1 (see `resolve_budget`).
            clock: gives messages their time.
            counter: counts tokens; they are estimated when left out.

        Raises:
            UserError: for a budget that is neither -1 nor at least 1.
        """
        self.budget = resolve_budget(budget)
        self.counter = counter or TokenCounter()
        self.store = store
        self._setting = budget
        self._clock = clock
        # A lock lives as long as somebody holds or awaits it, so thousands of conversations leave nothing behind.
        self._locks: WeakValueDictionary[str, threading.RLock] = WeakValueDictionary()
        self._guard = threading.Lock()

    def add(
        self, conversation: str, role: Literal["user", "assistant", "system"], text: str, run_id: str = ""
    ) -> Message:
        """Store a message as the conversation's newest and return it numbered."""
        message = Message(
            number=0, role=role, text=text, at=self._clock.now(), run_id=run_id, tokens=self.counter.count(text)
        )
        with self._turn(conversation):
            stored = self.store.append(conversation, message)
            self._compressed(conversation)
        return stored

    def view(self, conversation: str) -> WorkingView:
        """Return what a model would be shown.

        The view is within the budget whenever the pinned messages and the newest one fit into it together. A
        newest message that does not fit has its middle replaced by a note of what was left out.
        """
        with self._turn(conversation):
            messages, summaries = self._compressed(conversation)
        through = summaries[-1].last if summaries else 0
        pinned = [m for m in messages[:through] if m.pinned]
        recent = messages[through:]
        taken = sum(m.tokens for m in pinned) + sum(s.tokens for s in summaries)
        if recent and not recent[-1].pinned and taken + sum(m.tokens for m in recent) > self.budget:
            room = self.budget - taken - sum(m.tokens for m in recent[:-1])
            recent = [*recent[:-1], self._cut(recent[-1], max(room, self.budget // _NEWEST_AT_LEAST))]
        return WorkingView(
            conversation=conversation,
            pinned=pinned,
            summaries=[s for s in summaries if s.text],
            messages=recent,
            tokens=taken + sum(m.tokens for m in recent),
            budget=self.budget,
            exact=self.counter.exact,
            compressed_messages=through - len(pinned),
        )

    def budget_in_words(self) -> str:
        """Return how large the budget of a conversation is and where that comes from."""
        return describe_budget(self._setting)

    def pin(self, conversation: str, number: int) -> Message:
        """Keep a message word for word however old it gets; returns it.

        Raises:
            NotFoundError: when the conversation has no such message.
        """
        return self._set_pinned(conversation, number, pinned=True)

    def unpin(self, conversation: str, number: int) -> Message:
        """Let a message be summed up again; returns it.

        Raises:
            NotFoundError: when the conversation has no such message.
        """
        return self._set_pinned(conversation, number, pinned=False)

    def forget(self, conversation: str) -> bool:
        """Remove a conversation for good; False when it was not there."""
        with self._turn(conversation):
            return self.store.forget(conversation)

    def forget_run(self, run_id: str) -> dict[str, int]:
        """Remove for good what was said in a run; returns how many messages went from which conversation."""
        gone: dict[str, int] = {}
        for conversation in self.store.conversations_of(run_id) if run_id else []:
            with self._turn(conversation):
                gone[conversation] = self.store.forget_run(conversation, run_id)
        return {conversation: count for conversation, count in gone.items() if count}

    def _set_pinned(self, conversation: str, number: int, *, pinned: bool) -> Message:
        with self._turn(conversation):
            messages = self.store.messages(conversation)
            if not 1 <= number <= len(messages):
                known = f"it has 1 to {len(messages)}" if messages else "it has none"
                raise NotFoundError(
                    f"Conversation {quoted(conversation)} has no message {number}: {known}.",
                    advice="Look at the conversation to see the numbers of its messages.",
                )
            message = messages[number - 1]
            if message.pinned == pinned:
                return message
            changed = message.model_copy(update={"pinned": pinned})
            self.store.update(conversation, changed)
            summaries = self.store.summaries(conversation)
            kept = [s for s in summaries if s.last < number]
            if len(kept) < len(summaries):
                # Its words move into a summary, or out of one: everything from there on is summed up again.
                self.store.save_summaries(conversation, kept)
            self._compressed(conversation)
            return changed

    def _turn(self, conversation: str) -> threading.RLock:
        """Return the lock of a conversation: a slow summary of one must not hold up the others."""
        with self._guard:
            lock = self._locks.get(conversation)
            if lock is None:
                lock = self._locks[conversation] = threading.RLock()
            return lock

    def _cut(self, message: Message, room: int) -> Message:
        text = cut_middle(message.text, room, self.counter)
        return message.model_copy(update={"text": text, "tokens": self.counter.count(text)})

    def _compressed(self, conversation: str) -> tuple[list[Message], list[Summary]]:
        """Return all messages and the summaries that bring them into the budget, stored if they are new."""
        messages = [
            # The stored count may be another tokenizer's.
            m.model_copy(update={"tokens": self.counter.count(m.text)})
            for m in self.store.messages(conversation)
        ]
        stored = self.store.summaries(conversation)
        summaries = _sound(stored, len(messages))
        if sum(m.tokens for m in messages) <= int(_REFILL * self.budget):
            summaries = []  # a larger budget than before: nothing needs to be short
        summaries = _Squeeze(messages, summaries, self.budget, self.counter).run()
        if summaries != stored:
            self.store.save_summaries(conversation, summaries)
        return messages, summaries


def _sound(summaries: Sequence[Summary], count: int) -> list[Summary]:
    """Return the summaries as long as they follow each other from message 1 and sum up messages that exist."""
    sound: list[Summary] = []
    through = 0
    for summary in summaries:
        if summary.first != through + 1 or not summary.first <= summary.last <= count:
            break
        sound.append(summary)
        through = summary.last
    return sound


class _Squeeze:
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
        if self._used() <= self._budget:
            return self._summaries
        goal = self._fixed + int(_REFILL * self._free)
        while self._used() > goal:
            written = sum(s.tokens for s in self._summaries)
            if written > _SUMMARY_SHARE * self._free and len(self._summaries) > 1:
                self._merge()
            elif self._shortenable():
                self._sum_up_oldest()
            elif self._used() <= self._budget:
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

    def _used(self) -> int:
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
    return min(newest.tokens, max(int(_NEWEST_SHARE * budget) - pinned, budget // _NEWEST_AT_LEAST))


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
