"""Past analyses in DuckDB: every state is a row, the highest number is the episode as it is now."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pydantic import ValidationError

from engine.domain.memory import Episode
from engine.errors import IntegrityError, SchemaTooNew, StorageError
from storage.database import Database

KIND = "episode"
VERSION = 1
"""The form episodes are written in now."""

_BATCH = 20_000
"""Rows in one statement: enough for speed, and the texts of a hundred thousand never stand in memory twice."""

_INSERT = """
    INSERT INTO episodes (kind, version, episode_id, payload)
    SELECT ?::VARCHAR, ?::INTEGER, unnest(?::VARCHAR[]), unnest(?::JSON[])
"""
_NEWEST = """
    SELECT version, payload FROM (
        SELECT version, payload, number,
               min(number) OVER (PARTITION BY episode_id) AS made,
               max(number) OVER (PARTITION BY episode_id) AS newest
        FROM episodes
    )
    WHERE number = newest ORDER BY made
"""


class DuckEpisodes:
    """The `EpisodeStore` on disk."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def save(self, episodes: Sequence[Episode]) -> None:
        """Store new episodes or newer states, in one transaction. Durable when this returns."""
        if not episodes:
            return
        rows = [encode(episode) for episode in episodes]
        ids = [episode.id for episode in episodes]
        with self._db.writing() as connection:
            for start in range(0, len(rows), _BATCH):
                end = start + _BATCH
                connection.execute(_INSERT, [KIND, VERSION, ids[start:end], rows[start:end]])

    def episode(self, episode_id: str) -> Episode | None:
        """Return the newest state, or None."""
        with self._db.reading() as connection:
            rows = connection.execute(
                "SELECT version, payload FROM episodes WHERE episode_id = ? ORDER BY number DESC LIMIT 1", [episode_id]
            ).fetchall()
        return decode(*rows[0]) if rows else None

    def episodes(self) -> list[Episode]:
        """Return all, in the order they were first stored."""
        with self._db.reading() as connection:
            rows = connection.execute(_NEWEST).fetchall()
        return [decode(*row) for row in rows]

    def forget(self, episode_id: str) -> bool:
        """Remove every state of it for good; False when it was not there."""
        with self._db.writing() as connection:
            gone = connection.execute("DELETE FROM episodes WHERE episode_id = ? RETURNING 1", [episode_id]).fetchall()
        return bool(gone)


def encode(episode: Episode) -> str:
    """Return an episode as JSON.

    Raises:
        StorageError: for a number that JSON cannot hold, which would be refused on every later reading.
    """
    numbers: dict[str, object] = {"quality": episode.quality}
    for position, step in enumerate(episode.steps, 1):
        numbers |= {f"step {position}, {name}": value for name, value in step.params.items()}
    for name, value in numbers.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise StorageError(
                f"Episode {episode.id} cannot be stored: `{name}` is {value}, which is not a finite number.",
                advice="Give the field a finite number, or leave it empty where that is allowed.",
            )
    try:
        return episode.model_dump_json()
    except ValueError as error:
        raise StorageError(
            f"Episode {episode.id} cannot be stored: it holds text that has no JSON form ({error}).",
            advice="Use plain text without lone surrogates.",
        ) from error


def decode(version: int, payload: str) -> Episode:
    """Return the episode a row holds.

    Raises:
        SchemaTooNew: when a newer version wrote it.
        IntegrityError: when it cannot be read.
    """
    if version > VERSION:
        raise SchemaTooNew(
            f"A stored {KIND} has form {version}, but this version of Biodesk reads forms up to {VERSION}.",
            advice="Update Biodesk, or give another folder with --workspace.",
        )
    try:
        return Episode.model_validate_json(payload)
    except ValidationError as error:
        raise IntegrityError(
            f"A stored {KIND} cannot be read back ({error.error_count()} misfits); it begins with {payload[:80]!r}.",
            advice="Put back a copy of the workspace's database from a backup; the artifacts are intact.",
        ) from error
