"""Tools that models wrote, on disk: a row a state."""

from __future__ import annotations

from pydantic import TypeAdapter

from engine.domain.toolspec import WrittenRecord
from storage.database import Database
from storage.tools.catalogues import decode, encode

WRITTEN, VERSION = "written_tool", 1
_RECORDS = TypeAdapter(list[WrittenRecord])


class DuckWritten:
    """The `WrittenStore` on disk."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def save(self, record: WrittenRecord) -> None:
        """Keep a tool in a new state."""
        payload = encode(record, f"tool {record.tool.name!r}")
        with self._db.writing() as connection:
            found = connection.execute("SELECT coalesce(max(number), 0) FROM written_tools").fetchall()
            row = [int(found[0][0]) + 1, record.tool.name, WRITTEN, VERSION, payload]
            connection.execute("INSERT INTO written_tools VALUES (?, ?, ?, ?, ?)", row)

    def history(self) -> list[WrittenRecord]:
        """Return every state of every tool, oldest first."""
        with self._db.reading() as connection:
            rows = connection.execute("SELECT version, payload FROM written_tools ORDER BY number").fetchall()
        return decode(WRITTEN, rows, _RECORDS)
