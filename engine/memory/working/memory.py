"""The conversation as a model would see it: what is new as it was said, what is old in short.

Summaries form levels. When a conversation outgrows its budget the oldest messages become a summary of level 1;
when the summaries take too much room the oldest of them become one of level 2, and so on, so that what lies
further back is kept in fewer words but never falls out at once. Pinned messages stand as they are. The messages
themselves always stay in the store: only the view is short.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, Protocol
from weakref import WeakValueDictionary

from engine.domain.memory import Message, Summary, WorkingView
from engine.errors import ModelUnavailable, NotFoundError
from engine.memory.working.compress import Passage
from engine.memory.working.squeeze import NEWEST_AT_LEAST, REFILL, Squeeze
from engine.memory.working.tokens import TokenCounter, cut_middle, describe_budget, resolve_budget
from engine.ports.conversations import ConversationStore
from engine.ports.system import Clock
from engine.text.prose import quoted

SHORTER = 2 / 3
"""Part of the messages that a summary by a model may take: it keeps all names and numbers, where rules choose some."""


class TalkStore(ConversationStore, Protocol):
    """A store of conversations that can leave out what one run said and was asked."""

    def conversations_of(self, run_id: str) -> list[str]:
        """Return the conversations that have messages of a run, sorted."""
        ...

    def forget_run(self, conversation: str, run_id: str) -> int:
        """Remove a run's messages and every summary made of them; number the others anew from 1. Returns how many."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortText:
    """What was said in short, by a model; `problems` say why it is not to be taken."""

    text: str
    by: str
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Shortening:
    """Has summaries written by a model while nobody waits."""

    write: Callable[[Sequence[Passage], int, str], ShortText]
    """What was said, most tokens, conversation -> the same in short; raises `ModelUnavailable` without an answer."""
    later: Callable[[Callable[[], object]], object]
    """Takes up a piece of work, outside this thread."""


@dataclass(frozen=True, slots=True)
class Retold:
    """What came of a summary that a model was asked for."""

    first: int
    last: int
    by: str
    """The model, "" where the summary by rules stays."""
    problems: tuple[str, ...] = ()


class WorkingMemory:
    """Conversations, each within a budget of tokens. Thread-safe."""

    shortening: Shortening | None = None
    """None where no model is to write summaries."""

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
        self._asked = set[tuple[str, Summary]]()
        self._retold = dict[str, list[Retold]]()

    def add(
        self, conversation: str, role: Literal["user", "assistant", "system"], text: str, run_id: str = ""
    ) -> Message:
        """Store a message as the conversation's newest and return it numbered."""
        message = Message(
            number=0, role=role, text=text, at=self._clock.now(), run_id=run_id, tokens=self.counter.count(text)
        )
        with self._turn(conversation):
            stored = self.store.append(conversation, message)
            _, summaries = self._compressed(conversation)
        self._shorten_later(conversation, summaries)
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
            recent = [*recent[:-1], self._cut(recent[-1], max(room, self.budget // NEWEST_AT_LEAST))]
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

    def retold(self, conversation: str) -> list[Retold]:
        """Return what came of summaries that a model was asked for since this was asked last."""
        with self._guard:
            return self._retold.pop(conversation, [])

    def _shorten_later(self, conversation: str, summaries: Sequence[Summary]) -> None:
        """Have messages that were just summed up by rules summed up by a model, each once; no lock is held for it."""
        if self.shortening is None:
            return
        for summary in summaries:
            key = (conversation, summary)
            with self._guard:
                new = summary.level == 1 and not summary.by and key not in self._asked
                self._asked |= {key}
            if new:
                self.shortening.later(partial(self._shorten, self.shortening, conversation, summary))

    def _shorten(self, shortening: Shortening, conversation: str, summary: Summary) -> None:
        said = self._summed_up(conversation, summary)
        if not said:
            return
        try:
            passages = [Passage(m.role, m.text) for m in said]
            made = shortening.write(passages, int(SHORTER * summary.tokens_before), conversation)
        except ModelUnavailable as err:
            made = ShortText(text="", by="", problems=(err.message,))
        problems = made.problems
        with self._turn(conversation):
            stored = self.store.summaries(conversation)
            if summary not in stored or self._summed_up(conversation, summary) != said:
                return  # pinned, forgotten or summed up further meanwhile
            tokens = self.counter.count(made.text)
            new = summary.model_copy(update={"text": made.text, "tokens": tokens, "by": made.by})
            changed = [new if one == summary else one for one in stored]
            if (
                not problems
                and Squeeze(self._counted(conversation), changed, self.budget, self.counter).used() > self.budget
            ):
                problems = ("it is too long",)
            if not problems:
                self.store.save_summaries(conversation, changed)
        told = Retold(summary.first, summary.last, "" if problems else made.by, problems)
        with self._guard:
            self._retold.setdefault(conversation, []).append(told)

    def _summed_up(self, conversation: str, summary: Summary) -> list[Message]:
        return [m for m in self.store.messages(conversation)[summary.first - 1 : summary.last] if not m.pinned]

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

    def _counted(self, conversation: str) -> list[Message]:
        """Return the messages with tokens as they are counted here; the stored count may be another tokenizer's."""
        return [m.model_copy(update={"tokens": self.counter.count(m.text)}) for m in self.store.messages(conversation)]

    def _compressed(self, conversation: str) -> tuple[list[Message], list[Summary]]:
        """Return all messages and the summaries that bring them into the budget, stored if they are new."""
        messages = self._counted(conversation)
        stored = self.store.summaries(conversation)
        summaries = _sound(stored, len(messages))
        if sum(m.tokens for m in messages) <= int(REFILL * self.budget):
            summaries = []  # a larger budget than before: nothing needs to be short
        summaries = Squeeze(messages, summaries, self.budget, self.counter).run()
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
