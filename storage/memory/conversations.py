"""Conversations in DuckDB: every message ever said, and the summaries that stand for the older ones.

A message's place in its conversation is given inside the write that stores it, so places have no gap and no
two messages share one, whoever writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.domain.memory import Message, Summary
from storage.database import Database
from storage.memory import remembered

if TYPE_CHECKING:
    import duckdb


class DuckConversations:
    """The `ConversationStore` on disk."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def append(self, conversation: str, message: Message) -> Message:
        """Store a message under the conversation's next number and return it numbered."""
        return self.extend(conversation, [message])[0]

    def extend(self, conversation: str, messages: Sequence[Message]) -> list[Message]:
        """Append many messages in one transaction and return them numbered."""
        if not messages:
            return []
        with self._db.writing() as connection:
            last = _last_place(connection, conversation)
            numbered = [m.model_copy(update={"number": last + i}) for i, m in enumerate(messages, start=1)]
            _insert(connection, conversation, numbered)
        return numbered

    def update(self, conversation: str, message: Message) -> None:
        """Store a newer state of a message (pinned or not).

        Raises:
            NotFoundError: when the conversation has no message of this number.
        """
        with self._db.writing() as connection:
            if not 1 <= message.number <= _last_place(connection, conversation):
                raise remembered.unknown_message(conversation, message.number)
            _insert(connection, conversation, [message])

    def messages(self, conversation: str) -> list[Message]:
        """Return them in order; empty for an unknown conversation."""
        with self._db.reading() as connection:
            return _messages(connection, conversation)

    def save_summaries(self, conversation: str, summaries: Sequence[Summary]) -> None:
        """Make these the conversation's summaries."""
        rows = [remembered.encode(summary, f"a summary of {conversation}") for summary in summaries]
        kind, version = remembered.FORMS[Summary]
        with self._db.writing() as connection:
            connection.execute("DELETE FROM summaries WHERE conversation = ?", [conversation])
            remembered.insert(
                connection,
                "summaries",
                {
                    "conversation": ("VARCHAR", [conversation] * len(rows)),
                    "place": ("INTEGER", range(len(rows))),
                    "kind": ("VARCHAR", [kind] * len(rows)),
                    "version": ("INTEGER", [version] * len(rows)),
                    "payload": ("JSON", rows),
                },
            )

    def summaries(self, conversation: str) -> list[Summary]:
        """Return the summaries, oldest first."""
        with self._db.reading() as connection:
            rows = connection.execute(
                "SELECT version, payload FROM summaries WHERE conversation = ? ORDER BY place", [conversation]
            ).fetchall()
        return [remembered.decode(Summary, *row) for row in rows]

    def conversations(self) -> list[tuple[str, str, int]]:
        """Return (id, time of the newest message, number of messages), newest first."""
        with self._db.reading() as connection:
            rows = connection.execute(
                """
                SELECT conversation, arg_max(happened_at, place) AS newest_at, max(place), min(number) AS begun
                FROM messages GROUP BY conversation ORDER BY newest_at DESC, begun DESC
                """
            ).fetchall()
        return [(str(conversation), str(at), int(count)) for conversation, at, count, _ in rows]

    def conversations_of(self, run_id: str) -> list[str]:
        """Return the conversations that have messages of a run, sorted."""
        with self._db.reading() as connection:
            rows = connection.execute(
                "SELECT DISTINCT conversation FROM messages WHERE json_extract_string(payload, '$.run_id') = ?",
                [run_id],
            ).fetchall()
        return sorted(str(row[0]) for row in rows)

    def forget_run(self, conversation: str, run_id: str) -> int:
        """Remove a run's messages and every summary made of them; number the others anew from 1. Returns how many."""
        with self._db.writing() as connection:
            messages = _messages(connection, conversation)
            places = [message.number for message in messages if message.run_id == run_id]
            if not places:
                return 0
            kept = [message for message in messages if message.run_id != run_id]
            connection.execute("DELETE FROM messages WHERE conversation = ?", [conversation])
            numbered = [message.model_copy(update={"number": i}) for i, message in enumerate(kept, start=1)]
            _insert(connection, conversation, numbered)
            # A summary stands for messages without a gap from the first; those before the first removed stay true.
            rows = connection.execute(
                "SELECT version, payload FROM summaries WHERE conversation = ? ORDER BY place", [conversation]
            ).fetchall()
            true = sum(remembered.decode(Summary, *row).last < places[0] for row in rows)
            connection.execute("DELETE FROM summaries WHERE conversation = ? AND place >= ?", [conversation, true])
        return len(places)

    def titles(self) -> dict[str, str]:
        """Return conversation -> what a person called it; those that nobody named are absent."""
        with self._db.reading() as connection:
            rows = connection.execute(
                "SELECT conversation, arg_max(title, number) FROM conversation_titles GROUP BY conversation"
            ).fetchall()
        return {str(conversation): str(title) for conversation, title in rows if title}

    def name(self, conversation: str, title: str) -> None:
        """Call a conversation so; an empty title takes the name back."""
        with self._db.writing() as connection:
            connection.execute(
                "INSERT INTO conversation_titles SELECT coalesce(max(number), 0) + 1, ?, ? FROM conversation_titles",
                [conversation, title],
            )

    def forget(self, conversation: str) -> bool:
        """Remove a conversation for good, its name too; False when it was not there."""
        with self._db.writing() as connection:
            connection.execute("DELETE FROM conversation_titles WHERE conversation = ?", [conversation])
            connection.execute("DELETE FROM summaries WHERE conversation = ?", [conversation])
            rows = connection.execute("DELETE FROM messages WHERE conversation = ? RETURNING 1", [conversation])
            return bool(rows.fetchall())


def _messages(connection: duckdb.DuckDBPyConnection, conversation: str) -> list[Message]:
    rows = connection.execute(
        "SELECT place, version, payload FROM messages WHERE conversation = ? ORDER BY number", [conversation]
    ).fetchall()
    newest = {int(place): (version, payload) for place, version, payload in rows}
    return [remembered.decode(Message, *newest[place]) for place in sorted(newest)]


def _last_place(connection: duckdb.DuckDBPyConnection, conversation: str) -> int:
    rows = connection.execute("SELECT coalesce(max(place), 0) FROM messages WHERE conversation = ?", [conversation])
    return int(rows.fetchall()[0][0])


def _insert(connection: duckdb.DuckDBPyConnection, conversation: str, messages: Sequence[Message]) -> None:
    if not messages:
        return
    found = connection.execute("SELECT coalesce(max(number), 0) FROM messages").fetchall()
    first = int(found[0][0]) + 1
    kind, version = remembered.FORMS[Message]
    rows = [remembered.encode(message, f"message {message.number} of {conversation}") for message in messages]
    remembered.insert(
        connection,
        "messages",
        {
            "number": ("BIGINT", range(first, first + len(rows))),
            "conversation": ("VARCHAR", [conversation] * len(rows)),
            "place": ("INTEGER", [message.number for message in messages]),
            "happened_at": ("VARCHAR", [message.at for message in messages]),
            "kind": ("VARCHAR", [kind] * len(rows)),
            "version": ("INTEGER", [version] * len(rows)),
            "payload": ("JSON", rows),
        },
    )
