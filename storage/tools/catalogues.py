"""Imported catalogues of tools in DuckDB.

A catalogue is what its files said when they were imported, so an import replaces it as a whole, in one
transaction: a process killed in between leaves the old one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import duckdb
from pydantic import TypeAdapter, ValidationError

from engine.domain.base import Value
from engine.domain.retrieval import CatalogueEntry, CatalogueInfo
from engine.errors import IntegrityError, NotFoundError, SchemaTooNew, StorageError
from storage.database import Database

INFO, ENTRY = "catalogue", "catalogue_entry"
VERSION = 1
"""The form both kinds of record are written in now."""

V = TypeVar("V")

_INFOS = TypeAdapter(list[CatalogueInfo])
_ENTRIES = TypeAdapter(list[CatalogueEntry])

# Lists that are unnested go in several times faster than as many VALUES, and in one statement.
_INSERT = """
    INSERT INTO catalogue_entries
    SELECT ?, unnest(?::VARCHAR[]), ?, ?, unnest(?::VARCHAR[])
"""


class DuckCatalogues:
    """The `CatalogueStore` on disk."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def replace(self, info: CatalogueInfo, entries: Sequence[CatalogueEntry]) -> None:
        """Make the catalogue of this name hold exactly these entries, in one transaction.

        Raises:
            StorageError: when an entry is of another catalogue, a name comes twice, or a text cannot be stored.
        """
        check_entries(info, entries)
        payloads = [encode(entry, f"tool {entry.name!r}") for entry in entries]
        about = encode(info, f"catalogue {info.name!r}")
        with self._db.writing() as connection:
            _delete(connection, info.name)
            connection.execute("INSERT INTO catalogues VALUES (?, ?, ?, ?)", [info.name, INFO, VERSION, about])
            if payloads:
                connection.execute(_INSERT, [info.name, [entry.name for entry in entries], ENTRY, VERSION, payloads])

    def catalogues(self) -> list[CatalogueInfo]:
        """Return the imported catalogues by name."""
        rows = self._read("SELECT version, payload FROM catalogues ORDER BY name")
        return decode(INFO, rows, _INFOS)

    def entries(self) -> list[CatalogueEntry]:
        """Return every imported entry, by catalogue and name."""
        rows = self._read("SELECT version, payload FROM catalogue_entries ORDER BY catalogue, name")
        return decode(ENTRY, rows, _ENTRIES)

    def remove(self, name: str) -> None:
        """Forget a catalogue.

        Raises:
            NotFoundError: when there is none of this name.
        """
        with self._db.writing() as connection:
            if not _delete(connection, name):
                known = connection.execute("SELECT name FROM catalogues ORDER BY name").fetchall()
                raise unknown(name, [str(row[0]) for row in known])

    def _read(self, query: str) -> list[tuple[int, str]]:
        with self._db.reading() as connection:
            return connection.execute(query).fetchall()


def check_entries(info: CatalogueInfo, entries: Sequence[CatalogueEntry]) -> None:
    """Refuse entries that the catalogue could not give back.

    Raises:
        StorageError: when an entry is of another catalogue or a name comes twice.
    """
    names: set[str] = set()
    for entry in entries:
        if entry.catalogue != info.name:
            raise StorageError(
                f"The tool {entry.name!r} of the catalogue {entry.catalogue!r} cannot be stored in {info.name!r}.",
                advice="Give the entries the catalogue's name first.",
            )
        if entry.name in names:
            raise StorageError(
                f"The catalogue {info.name!r} cannot be stored: the tool {entry.name!r} is in it twice.",
                advice="Give every entry a name of its own.",
            )
        names.add(entry.name)


def encode(value: Value, what: str) -> str:
    """Return a value as JSON.

    Raises:
        StorageError: for a text that has no JSON form (half a surrogate pair).
    """
    try:
        return value.model_dump_json()
    except ValueError as error:
        raise StorageError(
            f"The {what} cannot be stored: it holds text that is not valid Unicode.", advice="Correct its description."
        ) from error


def unknown(name: str, known: list[str]) -> NotFoundError:
    """Return the error for a catalogue that is not there."""
    there = f"There are: {', '.join(known)}." if known else "None was imported yet."
    return NotFoundError(f"There is no imported catalogue {name!r}.", advice=there)


def _delete(connection: duckdb.DuckDBPyConnection, name: str) -> bool:
    """Remove a catalogue; False when it was not there."""
    connection.execute("DELETE FROM catalogue_entries WHERE catalogue = ?", [name])
    return bool(connection.execute("DELETE FROM catalogues WHERE name = ? RETURNING 1", [name]).fetchall())


def decode(form: str, rows: list[tuple[int, str]], adapter: TypeAdapter[list[V]]) -> list[V]:
    """Return the values of rows (version, JSON), parsed together because that is much faster."""
    newest = max((version for version, _ in rows), default=VERSION)
    if newest > VERSION:
        raise SchemaTooNew(
            f"A stored {form} has form {newest}, but this version of Biodesk reads forms up to {VERSION}.",
            advice="Update Biodesk, or give another folder with --workspace.",
        )
    try:
        return adapter.validate_json(f"[{','.join(payload for _, payload in rows)}]")
    except ValidationError as error:
        raise IntegrityError(
            f"A stored {form} cannot be read back ({error.error_count()} misfits).",
            advice="Import a catalogue again; if that does not help, put back a copy of the workspace's database.",
        ) from error
