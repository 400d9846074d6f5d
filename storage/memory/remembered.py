"""How facts, messages and summaries become rows and come back: JSON with its kind and the version of its form.

The same idea as `storage.runs.payloads`, for values that come in thousands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from engine.domain.base import Value
from engine.domain.memory import Fact, Message, Summary
from engine.errors import IntegrityError, NotFoundError, SchemaTooNew, StorageError

if TYPE_CHECKING:
    import duckdb

FORMS: dict[type[Value], tuple[str, int]] = {Fact: ("fact", 1), Message: ("message", 1), Summary: ("summary", 2)}
"""The kind of each value and the version of the form it is written in now."""

_BATCH = 20_000
"""Rows that go into the database in one statement."""

V = TypeVar("V", bound=Value)


def encode(value: Value, what: str) -> str:
    """Return a value as JSON, having made sure that it can be read again.

    Args:
        value: a value of one of `FORMS`.
        what: what it is, for the sentence when it cannot be stored.

    Raises:
        StorageError: when it holds a NaN, an infinite number or text that has no UTF-8 form.
    """
    try:
        payload = value.model_dump_json()
        type(value).model_validate_json(payload)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise StorageError(
            f"{what[:1].upper()}{what[1:]} cannot be stored: `{where}` holds a value that cannot be read back "
            f"({first['msg']}), most often a NaN or an infinite number.",
            advice="Give the field a finite number.",
        ) from error
    except ValueError as error:
        raise StorageError(
            f"{what[:1].upper()}{what[1:]} cannot be stored: it holds a value that has no JSON form ({error}).",
            advice="Use plain text without half characters.",
        ) from error
    return payload


def decode(kind: type[V], version: int, payload: str) -> V:
    """Return the value a row holds.

    Raises:
        SchemaTooNew: when a newer Biodesk wrote the row.
        IntegrityError: when the row cannot be read.
    """
    form, newest = FORMS[kind]
    if version > newest:
        raise SchemaTooNew(
            f"A stored {form} has form {version}, but this version of Biodesk reads forms up to {newest}.",
            advice="Update Biodesk, or give another folder with --workspace.",
        )
    try:
        return kind.model_validate_json(payload)
    except ValidationError as error:
        raise IntegrityError(
            f"A stored {form} cannot be read back ({error.error_count()} misfits); it begins with {payload[:80]!r}.",
            advice="Put back a copy of the workspace's database from a backup; the artifacts are intact.",
        ) from error


def insert(connection: duckdb.DuckDBPyConnection, table: str, columns: dict[str, tuple[str, Sequence[Any]]]) -> None:
    """Insert rows given as columns.

    Args:
        connection: a connection inside a transaction.
        table: one of the tables of this package; never a name from outside.
        columns: column -> (SQL type, its values), all of equal length.
    """
    length = len(next(iter(columns.values()))[1])
    places = ", ".join(f"unnest(?::{kind}[])" for kind, _ in columns.values())
    statement = f"INSERT INTO {table} ({', '.join(columns)}) SELECT {places}"
    for start in range(0, length, _BATCH):
        connection.execute(statement, [list(values[start : start + _BATCH]) for _, values in columns.values()])


def unknown_message(conversation: str, number: int) -> NotFoundError:
    """Return the error for a message that its conversation does not have."""
    return NotFoundError(
        f"Conversation {conversation[:60]!r} has no message {number}.",
        advice="Look at the conversation to see the numbers of its messages.",
    )
