"""The one DuckDB file of a workspace, made safe for a program of many threads.

A DuckDB connection answers one thread at a time; shared, it gives one thread another's rows. So every
read borrows a connection that nobody else has, and writes stand in line and are transactions. A commit
is synced to disk before it returns, which is what lets a killed process lose nothing it acknowledged.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb

from engine.errors import EngineError, IntegrityError, StorageError
from storage import faults, migrations

_IDLE_KEPT = 16
"""Connections kept open for the next reader."""

_REOPEN_WAIT_SECONDS = 5.0
"""How long a reopening waits for calls under way, all of which are about to fail."""

_CLOSE_WAIT_SECONDS = 10.0
_INTERRUPT_EVERY_SECONDS = 0.05
"""How long closing waits for readings under way, and how often it interrupts them: one may ask several things."""

_CTRL_C = "Query interrupted"
"""What DuckDB says, as a bare RuntimeError, when Ctrl-C ends a query."""

_CONFIG: dict[str, str] = {
    # A local tool that works without a network must not fetch code from one.
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "enable_external_access": "false",
    "allow_persistent_secrets": "false",
    # The analyses need the memory and the processors; the records are small.
    "memory_limit": "1GB",
    "threads": "2",
}


class Database:
    """An open database file at the newest schema."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        """Open the file, making it and bringing its tables up to date unless `read_only`.

        Raises:
            IntegrityError: when the file is damaged or is not Biodesk's.
            SchemaTooNew: when a newer Biodesk wrote it.
            WorkspaceInUse: when another process has it open.
            StorageError: when it cannot be opened or written for another reason.
        """
        self.path = path
        self.read_only = read_only
        self._pid = os.getpid()
        self._closed = False
        self._stopped = False
        """True once DuckDB refuses all work on the open file, as it does when a checkpoint finds no room."""
        self._idle: list[duckdb.DuckDBPyConnection] = []
        self._lent: list[duckdb.DuckDBPyConnection] = []
        self._pool = threading.Condition()
        self._write_lock = threading.RLock()
        self._root = _connect(path, read_only=read_only)
        self._identity = _identity(path)
        """What told this file from others when it was opened."""
        try:
            self._bring_up_to_date()
        except BaseException:
            self._root.close()
            raise

    @contextmanager
    def reading(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Lend a connection for reading. Rows must be fetched before it is given back."""
        connection = self._take()
        sound = False
        try:
            yield connection
            sound = True
        except duckdb.Error as error:
            if isinstance(error, duckdb.InterruptException) and self._closed:
                raise self._is_closed() from error
            if faults.is_stopped(error):
                self._stopped = True
            raise faults.from_duckdb(error, self.path) from error
        except RuntimeError as error:
            if str(error) == _CTRL_C:
                raise KeyboardInterrupt from error
            raise
        finally:
            # An interrupted fetch leaves an open result behind, which would hold back checkpoints.
            self._give_back(connection, keep=sound)

    @contextmanager
    def writing(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Lend a connection inside a transaction, one writer at a time; all of it is stored or nothing.

        `duckdb.ConstraintException` passes through unchanged: only the caller knows what it means.
        """
        if self.read_only:
            raise StorageError(
                f"The database {self.path} is open for reading only, so nothing can be stored in it.",
                advice="Give the right to write it, or another folder with --workspace.",
            )
        with self._write_lock, self._reading_or_conflict() as connection:
            connection.begin()
            try:
                yield connection
                connection.commit()
                self._require_file()
            except BaseException:
                with suppress(duckdb.Error):
                    connection.rollback()
                raise

    def made(self) -> str:
        """Return when the database was made, to the millisecond: what copies of it share and no other has."""
        with self.reading() as connection:
            return str(connection.execute("SELECT min(applied_at) FROM migrations").fetchall()[0][0])

    def close(self) -> None:
        """Close the file once a write under way has finished; what is being read is interrupted. Safe to call twice.

        DuckDB refuses to close a connection that another thread uses, and a thread inside it when the interpreter ends
        takes the process down. So readings are interrupted and waited for.
        """
        if os.getpid() != self._pid:
            return  # a forked child must not touch the parent's file
        with self._write_lock, self._pool:
            if self._closed:
                return
            self._closed = True
            until = time.monotonic() + _CLOSE_WAIT_SECONDS
            while self._lent and time.monotonic() < until:
                for connection in self._lent:
                    connection.interrupt()
                self._pool.wait(_INTERRUPT_EVERY_SECONDS)
            for connection in [*self._idle, self._root]:
                _shut(connection)
            self._idle.clear()

    @contextmanager
    def _reading_or_conflict(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Like `reading`, but let a violated constraint through to the caller."""
        conflict: duckdb.ConstraintException | None = None
        with self.reading() as connection:
            try:
                yield connection
            except duckdb.ConstraintException as error:
                conflict = error
        if conflict is not None:
            raise conflict

    def _take(self) -> duckdb.DuckDBPyConnection:
        """Return a connection that is nobody else's until it is given back."""
        if os.getpid() != self._pid:
            raise StorageError(
                f"The database {self.path} was opened by process {self._pid} and cannot be used in its child "
                f"{os.getpid()}.",
                advice="Start the child with a new interpreter instead of a fork.",
            )
        with self._pool:
            if self._closed:
                raise self._is_closed()
            self._require_file()
            if self._stopped:
                self._reopen()
            connection = self._idle.pop() if self._idle else self._new()
            self._lent.append(connection)
            return connection

    def _require_file(self) -> None:
        """Notice that the file was taken away while it is open: what is stored now would be lost without a word.

        Raises:
            IntegrityError: when the file is gone, another one or cut off.
        """
        found = _identity(self.path)
        if found == self._identity:
            return
        what = "is no longer there" if found is None else "was replaced or cut off"
        raise IntegrityError(
            f"The database {self.path} {what} while Biodesk had it open; what was done since then is not stored.",
            advice=f"Close Biodesk and put {self.path.name} back from where it was moved to or from a backup; the "
            f"files in {self.path.parent / 'artifacts'} are stored apart from it.",
            details={"path": str(self.path)},
        )

    def _is_closed(self) -> StorageError:
        return StorageError(f"The database {self.path} was closed, so it cannot be read or written.")

    def _new(self) -> duckdb.DuckDBPyConnection:
        try:
            return self._root.cursor()
        except duckdb.Error as error:
            raise faults.from_duckdb(error, self.path) from error

    def _give_back(self, connection: duckdb.DuckDBPyConnection, *, keep: bool) -> None:
        with self._pool:
            self._lent = [other for other in self._lent if other is not connection]
            if keep and not (self._closed or self._stopped) and len(self._idle) < _IDLE_KEPT:
                self._idle.append(connection)
            else:
                _shut(connection)
            self._pool.notify_all()

    def _reopen(self) -> None:
        """Open the file anew after DuckDB gave it up; everything committed is still in it.

        Without this a disk that was full for a moment would cost the whole session.
        """
        if not self._pool.wait_for(lambda: not self._lent, timeout=_REOPEN_WAIT_SECONDS):
            raise StorageError(
                f"The database {self.path} stopped after a fault and is still being read, so it cannot be reopened.",
                advice="Try again in a moment; if that does not help, close Biodesk and start it again.",
            )
        if self._closed:
            raise self._is_closed()
        if not self._stopped:
            return  # another thread did it while this one waited
        for connection in [*self._idle, self._root]:
            _shut(connection)
        self._idle.clear()
        self._root = _connect(self.path, read_only=self.read_only)
        self._stopped = False

    def _bring_up_to_date(self) -> None:
        try:
            if not self.read_only:
                migrations.migrate(self._root)
                return
            found = migrations.level(self._root)
        except duckdb.Error as error:
            raise faults.from_duckdb(error, self.path) from error
        if found < migrations.newest():
            raise StorageError(
                f"The workspace was last used by an older Biodesk (tables at step {found}, this version needs "
                f"{migrations.newest()}) and must be opened once for writing.",
                advice="Start Biodesk on it once, or run any command that writes, and try again.",
            )


_HEADER_BYTES = 12_288
"""Three headers of 4 KiB begin every DuckDB file. One cut off behind them DuckDB itself finds by its checksums."""


def _identity(path: Path) -> tuple[int, int, bool] | None:
    """Return what tells this file from another of its name, and whether it is long enough for one; None for no file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size >= _HEADER_BYTES


def _shut(connection: duckdb.DuckDBPyConnection) -> None:
    """Close a connection; one that cannot be closed goes with the file, and must not keep the others open."""
    with suppress(duckdb.Error):
        connection.close()


def _connect(path: Path, *, read_only: bool) -> duckdb.DuckDBPyConnection:
    """Open the file, or say in one sentence why that cannot be done."""
    try:
        if not read_only:
            _drop_empty_file(path)
        connection = duckdb.connect(str(path), read_only=read_only, config=dict(_CONFIG))
    except duckdb.Error as error:
        raise _opening_failed(error, path) from error
    except OSError as error:
        raise faults.from_os(error, path, "the database") from error
    if not read_only:
        with suppress(OSError):
            path.chmod(0o600)
    return connection


def _drop_empty_file(path: Path) -> None:
    """Remove a file of no bytes: what a process leaves that died while making the database.

    With a write-ahead log beside it the empty file is damage instead, and stays for DuckDB to refuse.
    """
    log = path.with_name(path.name + ".wal")
    if path.is_file() and path.stat().st_size == 0 and not (log.exists() and log.stat().st_size > 0):
        path.unlink()


def _opening_failed(error: duckdb.Error, path: Path) -> EngineError:
    """Return the error for a file that does not open."""
    text = str(error)
    if path.is_dir():
        return StorageError(
            f"{path} is a folder, but the database file should be there.",
            advice="Move the folder away, or give another workspace with --workspace.",
        )
    if "does not exist" in text:
        return StorageError(
            f"There is no workspace at {path.parent}: the database file {path.name} is missing.",
            advice="Run a question first, or give the right folder with --workspace.",
        )
    if "Permission denied" in text:
        return StorageError(
            f"You may not open the database {path}: permission denied.",
            advice="Ask the owner of the folder, or give another with --workspace.",
        )
    return faults.from_duckdb(error, path)
