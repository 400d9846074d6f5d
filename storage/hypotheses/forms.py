"""How a tournament and its items become rows and come back: JSON with its kind and the version of its form."""

from __future__ import annotations

from typing import TypeVar

from pydantic import ValidationError

from engine.domain.base import Value
from engine.domain.discovery.hypotheses import (
    Asked,
    Clusters,
    Drawn,
    ExecutedTest,
    Hypothesis,
    HypothesisReview,
    Item,
    MakingPass,
    Mark,
    Match,
    MetaReview,
    Skipped,
)
from engine.errors import IntegrityError, NotFoundError, SchemaTooNew, StorageError

TOURNAMENT, VERSION = "tournament", 1
KINDS: dict[str, type[Item]] = {
    "hypothesis": Hypothesis,
    "review": HypothesisReview,
    "match": Match,
    "mark": Mark,
    "test": ExecutedTest,
    "meta_review": MetaReview,
    "skipped": Skipped,
    "asked": Asked,
    "drawn": Drawn,
    "clusters": Clusters,
    "making_pass": MakingPass,
}
"""The kind of each row and what it holds."""
NAMES = {form: name for name, form in KINDS.items()}

V = TypeVar("V", bound=Value)


def encode(value: Value, what: str) -> str:
    """Return a value as JSON that can be read again.

    Raises:
        StorageError: when it holds a NaN, an infinite number or text that has no UTF-8 form.
    """
    try:
        payload = value.model_dump_json()
        type(value).model_validate_json(payload)
    except ValueError as error:
        first = error.errors(include_url=False)[0]["msg"] if isinstance(error, ValidationError) else str(error)
        raise StorageError(
            f"{what[:1].upper()}{what[1:]} cannot be stored: it holds a value that cannot be read back ({first}).",
            advice="Use finite numbers and plain text without half characters.",
        ) from error
    return payload


def decode(form: type[V], version: int, payload: str, what: str) -> V:
    """Return the value that a row holds.

    Raises:
        SchemaTooNew: when a newer Biodesk wrote the row.
        IntegrityError: when the row cannot be read.
    """
    if version > VERSION:
        raise SchemaTooNew(
            f"A stored {what} has form {version}, but this version of Biodesk reads forms up to {VERSION}.",
            advice="Update Biodesk, or give another folder with --workspace.",
        )
    try:
        return form.model_validate_json(payload)
    except ValidationError as error:
        raise IntegrityError(
            f"A stored {what} cannot be read back ({error.error_count()} misfits); it begins with {payload[:80]!r}.",
            advice="Put back a copy of the workspace's database from a backup.",
        ) from error


def unknown(tournament_id: str) -> NotFoundError:
    """Return the error for a tournament that is not there for this user."""
    return NotFoundError(
        f"There is no tournament {tournament_id[:60]!r}.", advice="`biodesk hypotheses list` names those there are."
    )
