"""Calls about conversations: the runs that follow one another."""

from __future__ import annotations

from collections.abc import Mapping

from engine.api.runs import RunCalls
from engine.domain.report import Conversation
from engine.domain.results import RunRecord
from engine.errors import NotFoundError

LONGEST_TITLE = 200
"""Characters of a conversation's name."""


class ConversationCalls(RunCalls):
    """Conversations of a workspace."""

    def conversations(self, text: str = "", *, limit: int = 200) -> list[Conversation]:
        """Return the conversations of the newest runs, newest turn first; with a text those of all that hold it.

        It is looked for in names, questions and paths of files.
        """
        store, wanted = self._parts.records.store, text.strip().lower()
        turns: dict[str, list[RunRecord]] = {}
        for record in store.runs(limit=100_000 if wanted else limit):
            turns.setdefault(record.conversation or record.run_id, []).insert(0, record)
        titles = self._parts.memory.working.store.titles()
        found = [self._talk(key, runs, titles) for key, runs in turns.items()]
        searched = [" ".join([c.title, *(f"{r.question} {' '.join(r.data)}" for r in c.runs)]).lower() for c in found]
        return [one for one, words in zip(found, searched, strict=True) if wanted in words]

    def conversation(self, conversation: str) -> Conversation:
        """Return one conversation with all its turns, by its id or that of one of its runs.

        Raises:
            NotFoundError: when there is none.
        """
        store = self._parts.records.store
        record = store.run(conversation)
        key = (record.conversation or record.run_id) if record else conversation
        turns = store.archive.turns(key) or ([record] if record else [])
        if not turns:
            message = f"There is no conversation {conversation[:100]!r}."
            raise NotFoundError(message, advice="`biodesk conversations` lists them.")
        return self._talk(key, turns, self._parts.memory.working.store.titles())

    def _talk(self, key: str, turns: list[RunRecord], titles: Mapping[str, str]) -> Conversation:
        whole = turns[0].run_id == key  # the first run's id names it: where that is cut off, it is looked up
        first = turns[0] if whole else self._parts.records.store.run(key) or turns[0]
        return Conversation(id=key, title=titles.get(key) or first.question, named=key in titles, runs=turns)

    def rename_conversation(self, conversation: str, title: str) -> Conversation:
        """Call a conversation so, or by its first question again where the title is empty; return it.

        Raises:
            NotFoundError: when there is no such conversation.
        """
        found = self.conversation(conversation)
        self._parts.memory.working.store.name(found.id, " ".join(title.split())[:LONGEST_TITLE])
        return self.conversation(found.id)

    def delete_conversation(self, conversation: str) -> int:
        """Remove a conversation with its runs for good; return the bytes that are free then. See `delete_runs`."""
        found = self.conversation(conversation)
        freed = self.delete_runs([record.run_id for record in found.runs])
        self._parts.memory.working.forget(found.id)
        return freed
