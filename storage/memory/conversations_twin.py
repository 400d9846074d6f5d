"""Conversations without a disk, as JSON rows in dictionaries."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from engine.domain.memory import Message, Summary
from storage.memory import remembered


class ConversationsTwin:
    """The `ConversationStore` in memory."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._messages: dict[str, list[str]] = {}
        self._summaries: dict[str, list[str]] = {}
        self._titles: dict[str, str] = {}

    def append(self, conversation: str, message: Message) -> Message:
        """Store a message under the conversation's next number and return it numbered."""
        return self.extend(conversation, [message])[0]

    def extend(self, conversation: str, messages: Sequence[Message]) -> list[Message]:
        """Append many messages, all or none, and return them numbered."""
        if not messages:
            return []
        with self._lock:
            last = len(self._messages.get(conversation, []))
            numbered = [m.model_copy(update={"number": last + i}) for i, m in enumerate(messages, start=1)]
            rows = [remembered.encode(m, f"message {m.number} of {conversation}") for m in numbered]
            self._messages.setdefault(conversation, []).extend(rows)
        return numbered

    def update(self, conversation: str, message: Message) -> None:
        """Store a newer state of a message (pinned or not).

        Raises:
            NotFoundError: when the conversation has no message of this number.
        """
        row = remembered.encode(message, f"message {message.number} of {conversation}")
        with self._lock:
            if not 1 <= message.number <= len(self._messages.get(conversation, [])):
                raise remembered.unknown_message(conversation, message.number)
            self._messages[conversation][message.number - 1] = row

    def messages(self, conversation: str) -> list[Message]:
        """Return them in order; empty for an unknown conversation."""
        with self._lock:
            rows = list(self._messages.get(conversation, []))
        return [remembered.decode(Message, 1, row) for row in rows]

    def save_summaries(self, conversation: str, summaries: Sequence[Summary]) -> None:
        """Make these the conversation's summaries."""
        rows = [remembered.encode(summary, f"a summary of {conversation}") for summary in summaries]
        with self._lock:
            self._summaries[conversation] = rows

    def summaries(self, conversation: str) -> list[Summary]:
        """Return the summaries, oldest first."""
        with self._lock:
            rows = list(self._summaries.get(conversation, []))
        return [remembered.decode(Summary, 1, row) for row in rows]

    def conversations(self) -> list[tuple[str, str, int]]:
        """Return (id, time of the newest message, number of messages), newest first."""
        with self._lock:
            newest = [
                (conversation, remembered.decode(Message, 1, rows[-1]).at, len(rows))
                for conversation, rows in reversed(self._messages.items())
            ]
        return sorted(newest, key=lambda entry: entry[1], reverse=True)

    def conversations_of(self, run_id: str) -> list[str]:
        """Return the conversations that have messages of a run, sorted."""
        with self._lock:
            return sorted(name for name in self._messages if any(m.run_id == run_id for m in self.messages(name)))

    def forget_run(self, conversation: str, run_id: str) -> int:
        """Remove a run's messages and every summary made of them; number the others anew from 1. Returns how many."""
        with self._lock:
            messages = self.messages(conversation)
            places = [message.number for message in messages if message.run_id == run_id]
            if not places:
                return 0
            kept = [message for message in messages if message.run_id != run_id]
            summaries = [summary for summary in self.summaries(conversation) if summary.last < places[0]]
            self._summaries.pop(conversation, None)
            self._messages.pop(conversation)
            self.extend(conversation, kept)
            if kept:
                self.save_summaries(conversation, summaries)
            return len(places)

    def titles(self) -> dict[str, str]:
        """Return conversation -> what a person called it; those that nobody named are absent."""
        with self._lock:
            return {conversation: title for conversation, title in self._titles.items() if title}

    def name(self, conversation: str, title: str) -> None:
        """Call a conversation so; an empty title takes the name back."""
        with self._lock:
            self._titles[conversation] = title

    def forget(self, conversation: str) -> bool:
        """Remove a conversation for good, its name too; False when it was not there."""
        with self._lock:
            self._titles.pop(conversation, None)
            self._summaries.pop(conversation, None)
            return self._messages.pop(conversation, None) is not None
