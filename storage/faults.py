"""What the disk and the database say when something is wrong, turned into a sentence a person can act on.

DuckDB reports a full disk, a damaged file and a file of a newer release with the same few exception
classes, so the text decides; the texts are those of DuckDB 2.0 and `tests/storage/test_storage_faults.py`
provokes each of them for real.
"""

from __future__ import annotations

import errno
import re
from pathlib import Path

import duckdb

from engine.errors import EngineError, IntegrityError, SchemaTooNew, StorageError, WorkspaceInUse

DISK_FULL: frozenset[int] = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""No space, no quota, or the process may not write files this large."""

_FULL_TEXTS = ("no space left", "quota exceeded", "file too large", "not enough space")
_DAMAGED_TEXTS = ("not a valid duckdb database", "corrupt", "replaying wal", "deserialize", "read enough bytes")
_NEWER_TEXTS = ("newer version of duckdb", "we can only read storage versions")
_DAMAGED_CLASSES = (duckdb.SerializationException, duckdb.InternalException)

FREE_SPACE = (
    "Free some space there and give the same command again; of a run, finished steps are kept and are not run twice."
)


def disk_full(path: Path, what: str) -> StorageError:
    """Return the error for a write that found no room; `what` was to be written."""
    return StorageError(
        f"There is no room left on the disk that holds {path}, so {what} could not be stored; "
        "everything stored before is intact.",
        advice=FREE_SPACE,
    )


def from_os(error: OSError, path: Path, what: str) -> StorageError:
    """Return the error for an operating-system failure while storing `what` at `path`."""
    if error.errno in DISK_FULL:
        return disk_full(path, what)
    reason = error.strerror or type(error).__name__
    return StorageError(
        f"{what[:1].upper()}{what[1:]} could not be stored at {path}: {reason}.",
        advice="Check that the folder exists and that you may write to it, or give another with --workspace.",
    )


def in_use(holder: str) -> WorkspaceInUse:
    """Return the error for a workspace another process holds; `holder` says which, or is empty."""
    named = f" ({holder})" if holder else ""
    return WorkspaceInUse(
        f"Biodesk is already using this workspace{named}.",
        advice="Wait until it is done or close it, or give another folder with --workspace.",
    )


def from_duckdb(error: duckdb.Error, path: Path) -> EngineError:
    """Return the error for what DuckDB raised on the database at `path`."""
    text = str(error)
    folded = text.lower()
    if any(mark in folded for mark in _FULL_TEXTS):
        # The database holds runs, knowledge and memory alike, and does not know which of them was being written.
        return disk_full(path, "what was being written to it")
    if "Could not set lock" in text:
        pid = re.search(r"PID (\d+)", text)
        return in_use(f"process {pid.group(1)}" if pid else "")
    if any(mark in folded for mark in _NEWER_TEXTS):
        return SchemaTooNew(
            f"The database {path} was written by a newer release of DuckDB than the one installed.",
            advice="Update Biodesk and its packages, or give another folder with --workspace.",
        )
    if isinstance(error, _DAMAGED_CLASSES) or any(mark in folded for mark in _DAMAGED_TEXTS):
        return damaged(path, text)
    if isinstance(error, duckdb.FatalException):
        return StorageError(
            f"The database {path} stopped after an internal fault ({_first_line(text)}).",
            advice="Close Biodesk and start it again: what was stored before is kept.",
        )
    return StorageError(
        f"The database {path} could not do what was asked: {_first_line(text)}",
        advice="Try again; if it happens twice, run `biodesk doctor`.",
    )


def is_stopped(error: duckdb.Error) -> bool:
    """Say whether DuckDB will refuse all further work until the file is opened anew."""
    return isinstance(error, duckdb.FatalException) or "has been invalidated" in str(error)


def damaged(path: Path, why: str) -> IntegrityError:
    """Return the error for a database whose content is not what was written."""
    return IntegrityError(
        f"The database file {path} is damaged ({_first_line(why)}); the files in "
        f"{path.parent / 'artifacts'} are stored apart from it and are intact.",
        advice=f"Put back a copy of {path.name} and {path.name}.wal from a backup, or give another folder "
        "with --workspace; do not delete the artifacts.",
        details={"path": str(path)},
    )


def _first_line(text: str) -> str:
    """Return the first line of a message, short enough for a sentence."""
    line = text.strip().splitlines()[0] if text.strip() else "no reason given"
    return line if len(line) <= 200 else line[:197] + "..."
