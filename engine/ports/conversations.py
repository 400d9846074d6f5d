"""Where conversations are kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from engine.domain.memory import Message, Summary


class ConversationStore(Protocol):
    """Conversations: messages, and the summaries that working memory made of the older ones."""

    def append(self, conversation: str, message: Message) -> Message:
        """Store a message under the conversation's next number and return it numbered."""
        ...

    def extend(self, conversation: str, messages: Sequence[Message]) -> list[Message]:
        """Append many messages in one transaction and return them numbered."""
        ...

    def update(self, conversation: str, message: Message) -> None:
        """Store a newer state of a message (pinned or not).

        Raises:
            NotFoundError: when the conversation has no message of this number.
        """
        ...

    def messages(self, conversation: str) -> list[Message]:
        """Return them in order; empty for an unknown conversation."""
        ...

    def save_summaries(self, conversation: str, summaries: Sequence[Summary]) -> None:
        """Make these the conversation's summaries."""
        ...

    def summaries(self, conversation: str) -> list[Summary]:
        """Return the summaries, oldest first."""
        ...

    def conversations(self) -> list[tuple[str, str, int]]:
        """Return (id, time of the newest message, number of messages), newest first."""
        ...

    def titles(self) -> dict[str, str]:
        """Return conversation -> what a person called it; those that nobody named are absent."""
        ...

    def name(self, conversation: str, title: str) -> None:
        """Call a conversation so; an empty title takes the name back."""
        ...

    def forget(self, conversation: str) -> bool:
        """Remove a conversation for good, its name too; False when it was not there."""
        ...
