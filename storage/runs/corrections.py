"""What people said columns of files are, on disk and without one.

Nothing is overwritten: the newest row of a file's column is what was said last, and an empty text takes it back.
"""

from __future__ import annotations

from collections.abc import Mapping

from engine.errors import StorageError
from storage.database import Database


class DuckCorrections:
    """The `CorrectionStore` on disk."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def save(self, sha256: str, said: Mapping[str, str]) -> None:
        """Remember what columns of a file are; an empty text takes a correction back."""
        require_utf8(said)
        with self._db.writing() as connection:
            found = connection.execute("SELECT coalesce(max(number), 0) FROM column_corrections").fetchall()
            for number, (column, text) in enumerate(said.items(), start=int(found[0][0]) + 1):
                connection.execute("INSERT INTO column_corrections VALUES (?, ?, ?, ?)", [number, sha256, column, text])

    def of(self, sha256: str) -> dict[str, str]:
        """Return column -> what it was said to be; empty for an unknown file."""
        with self._db.reading() as connection:
            rows = connection.execute(
                "SELECT column_name, said FROM column_corrections WHERE file_sha256 = ? ORDER BY number", [sha256]
            ).fetchall()
        return {column: text for column, text in dict(rows).items() if text}


def require_utf8(said: Mapping[str, str]) -> None:
    """Refuse texts that cannot be stored."""
    try:
        "".join([*said, *said.values()]).encode()
    except UnicodeEncodeError as error:
        raise StorageError(
            f"The correction of a column cannot be stored: it holds a half character ({error.reason}).",
            advice="Rename the column in the file, or correct it in plain text.",
        ) from error
