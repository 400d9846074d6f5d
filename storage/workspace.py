"""The folder everything of a user's lies in, and the lock that keeps two programs from writing it at once.

The lock is the operating system's, on an open file: it ends with the process that holds it, however that
process ends, so no stale lock can ever keep a user out. The file's text only says who holds it.
"""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from engine.errors import IntegrityError, StorageError
from storage import faults

DATABASE = "biodesk.duckdb"
LOCK = "workspace.lock"
_BELONGS_TO = "database"
"""The file beside the results that says when their database was made."""
_MOMENT = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_FOLDERS = ("artifacts", "runs", "vectors")


class Workspace:
    """An open, locked workspace. Close it, or use it in a `with`."""

    def __init__(self, folder: Path, lock: _Lock, *, read_only: bool) -> None:
        self.folder = folder
        self.read_only = read_only
        self.db_path = folder / DATABASE
        self.artifacts = folder / "artifacts"
        self.runs = folder / "runs"
        self.vectors = folder / "vectors"
        self._lock = lock

    @classmethod
    def open(cls, folder: Path, *, read_only: bool = False) -> Workspace:
        """Open a workspace, making it unless `read_only`, and hold it until closed.

        Several readers may hold a workspace together; a writer holds it alone.

        Raises:
            WorkspaceInUse: when another process holds it; the message names the process and its host.
            StorageError: when the folder cannot be used.
        """
        folder = folder.expanduser().absolute()
        _require_plain_name(folder)
        if read_only:
            _require_workspace(folder)
        else:
            _make(folder)
        lock = _Lock(folder / LOCK, shared=read_only)
        if not read_only:
            try:
                _require_history(folder)
                for name in _FOLDERS:
                    (folder / name).mkdir(mode=0o700, exist_ok=True)
            except StorageError:
                lock.release()
                raise
            except OSError as error:
                lock.release()
                raise _unusable(folder, error) from error
        return cls(folder, lock, read_only=read_only)

    def close(self) -> None:
        """Let the workspace go. Safe to call twice."""
        self._lock.release()

    def require_history(self, made: str) -> None:
        """Make sure that the results belong to this database, and have them remember it when there are none yet.

        Args:
            made: when the database was made, which no other one has in common with it.

        Raises:
            IntegrityError: when there are results of another database.
            StorageError: when it cannot be remembered.
        """
        told = self.artifacts / _BELONGS_TO
        try:
            before = told.read_bytes() if told.is_file() else b""
            if before == made.encode():
                return
            # What is no whole moment was cut off while it was written, or was never one: it tells of no database.
            if _MOMENT.fullmatch(before) and _has_results(self.folder):
                raise _lost(self.folder, "another one")
            if not self.read_only:
                _write_whole(told, made.encode())
        except OSError as error:
            raise _unusable(self.folder, error) from error

    def __enter__(self) -> Workspace:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def is_only_readable(folder: Path) -> bool:
    """Say whether a workspace is there that may not be written: a backup, a mount, somebody else's."""
    folder = folder.expanduser().absolute()
    try:
        if not (folder / DATABASE).is_file():
            return False
        files = [folder / DATABASE, folder / f"{DATABASE}.wal", folder / LOCK]
        return not (os.access(folder, os.W_OK) and all(os.access(f, os.W_OK) for f in files if f.exists()))
    except (OSError, ValueError):  # no name for a file at all, or nothing that may even be looked at
        return False


class _Lock:
    """A held lock on a file; getting one either works at once or raises."""

    def __init__(self, path: Path, *, shared: bool) -> None:
        self._pid = os.getpid()
        self._descriptor: int | None = None
        self._shared = shared
        if shared and not path.exists():
            return  # a copy made without it; the database's own lock still keeps a writer and readers apart
        try:
            # Not inherited by programs started from here (PEP 446), so none of them can outlive us with it.
            # A reader may lack the right to write, and a lock does not need it.
            flags = os.O_RDONLY if shared else os.O_RDWR | os.O_CREAT
            descriptor = os.open(path, flags, 0o600)
        except OSError as error:
            raise _unusable(path.parent, error) from error
        try:
            _lock_or_raise(descriptor, path, shared=shared)
            if not shared:
                _write_holder(descriptor)
        except OSError as error:
            os.close(descriptor)
            raise _unusable(path.parent, error) from error
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor

    def release(self) -> None:
        """Give the lock back. A forked child only drops its copy: the lock stays with the parent."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is None:
            return
        if os.getpid() == self._pid:
            with suppress(OSError):
                if not self._shared:
                    os.ftruncate(descriptor, 0)
                _unlock(descriptor)
        os.close(descriptor)


def _make(folder: Path) -> None:
    """Make the folder, for its owner alone; one that exists keeps the rights it has."""
    try:
        if folder.exists() and not folder.is_dir():
            raise StorageError(
                f"The workspace {folder} is a file, but it must be a folder.",
                advice="Give a folder with --workspace; it is made when it does not exist.",
            )
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise _unusable(folder, error) from error


def _require_plain_name(folder: Path) -> None:
    """Refuse a folder whose database DuckDB would look for, or write its log, somewhere else."""
    name = str(folder)
    bad = next((sign for sign in ("?", "\\") if sign in name and os.name != "nt"), "")
    try:
        name.encode()
    except UnicodeEncodeError:
        bad, name = "a character that is not UTF-8", ascii(name)
    if bad:
        raise StorageError(
            f"The workspace {name} cannot be used: the database takes no path with {bad}.",
            advice="Give a folder of another name with --workspace.",
        )


def _require_workspace(folder: Path) -> None:
    """Refuse a folder that no Biodesk has written yet."""
    if not any((folder / name).is_file() for name in (DATABASE, LOCK)):
        raise StorageError(
            f"There is no workspace at {folder}.",
            advice="Run a question first, or give the right folder with --workspace.",
        )


def _require_history(folder: Path) -> None:
    """Refuse to begin an empty history beside results, or the latest records, of an earlier one.

    A process that dies while it makes the database leaves it empty or absent too, but stored nothing before that.
    """
    database, records = folder / DATABASE, folder / f"{DATABASE}.wal"
    if database.exists() and (database.is_dir() or database.stat().st_size > 0):
        return
    if _has_results(folder) or (records.is_file() and records.stat().st_size > 0):
        raise _lost(folder, "empty" if database.exists() else "not")


def _write_whole(path: Path, content: bytes) -> None:
    """Write a small file so that whoever reads it, even after the power failed, meets the old or the new one whole."""
    beside = path.with_name(f"{path.name}.new")
    with beside.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def _has_results(folder: Path) -> bool:
    content = folder / "artifacts" / "sha256"
    return content.is_dir() and any(place.is_file() for place in content.rglob("*"))


def _lost(folder: Path, what: str) -> IntegrityError:
    database = folder / DATABASE
    return IntegrityError(
        f"The results in {folder / 'artifacts'} are there and the database {database} they belong to is {what}.",
        advice=f"Put {DATABASE} back, from where it was moved to or from a backup, or give another folder with "
        "--workspace; a new history is not begun beside results of an old one.",
        details={"path": str(database)},
    )


def _unusable(folder: Path, error: OSError) -> StorageError:
    """Return the error for a folder the operating system will not let us use."""
    if error.errno in faults.DISK_FULL:
        return faults.disk_full(folder, "the workspace")
    reason = error.strerror or type(error).__name__
    return StorageError(
        f"The workspace {folder} cannot be used: {reason}.",
        advice="Give a folder you may write to with --workspace.",
    )


def _write_holder(descriptor: int) -> None:
    """Say in the lock file who holds it, for the next one who asks."""
    holder = {
        "pid": os.getpid(),
        "host": platform.node(),
        "started": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
    }
    os.ftruncate(descriptor, 0)
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, json.dumps(holder).encode())
    os.fsync(descriptor)


def _holder(path: Path) -> str:
    """Return who holds the lock as words, "" when the file does not say (a reader, or a moment's gap)."""
    try:
        told: Any = json.loads(path.read_text(encoding="utf-8"))
        return f"process {int(told['pid'])} on host {told['host']}"
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _lock_or_raise(descriptor: int, path: Path, *, shared: bool) -> None:
    try:
        _take(descriptor, shared=shared)
    except (BlockingIOError, PermissionError) as error:
        raise faults.in_use(_holder(path)) from error


_take: Callable[..., None]
_unlock: Callable[[int], None]

if os.name == "nt":
    import msvcrt

    # Windows locks ranges of bytes and hides them from readers, so the locked byte lies beyond the text.
    _LOCKED_BYTE = 1 << 20

    def _take_windows(descriptor: int, *, shared: bool) -> None:
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]

    def _unlock_windows(descriptor: int) -> None:
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)  # type: ignore[attr-defined]

    _take, _unlock = _take_windows, _unlock_windows
else:
    import fcntl

    def _take_posix(descriptor: int, *, shared: bool) -> None:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)

    def _unlock_posix(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)

    _take, _unlock = _take_posix, _unlock_posix
