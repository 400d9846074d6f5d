"""Looks at files in processes of their own, so that a file that is damaged or made to do harm ends only these.

The reading itself is done by functions that are named and not imported: what runs here is the engine's side.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from engine.domain.profile import Profile
from engine.errors import DataError, EngineError, PlanError, SandboxUnavailable, UserError

SCRIPT = Path(__file__).parent / "answer_worker.py"
ROOT = Path(__file__).resolve().parents[2]
SECONDS = 20.0
MEMORY_MB = 2048
START_SECONDS = 120.0
_MOST_BYTES = 64 << 20
"""The longest answer that is taken: a profile is far below."""
_OUT_OF_MEMORY = 77
_ERRORS: dict[str, type[EngineError]] = {kind.code: kind for kind in (DataError, PlanError, UserError)}


class _Gone(Exception):
    """There is no worker, or it ended before it took the request."""


class ProcessProfiler:
    """The `Profiler` that reads each file in a fork of a warm process, within limits the kernel keeps.

    Args:
        answer: `module:name` of the function that answers a request, in lines (see `engine.data.service`).
        warm: `module:name` of the function that makes it fast.
        seconds: how long a look at one file may take, without the time its bytes take to be hashed.
        memory_mb: the memory it may use.
    """

    def __init__(self, answer: str, warm: str, *, seconds: float = SECONDS, memory_mb: int = MEMORY_MB) -> None:
        self._settings = {
            "answer": answer, "warm": warm, "seconds": seconds, "memory_mb": memory_mb, "path": str(ROOT),
        }  # fmt: skip
        self._seconds, self._memory_mb = seconds, memory_mb
        self._lock = threading.Lock()
        self._sending = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._closed = False

    # --- the port -------------------------------------------------------------------------------------------------

    def look(self, paths: Sequence[Path]) -> list[Profile]:
        """Profile files; see `Profiler.look`.

        Raises:
            DataError: for the first path that cannot be read.
        """
        return [self._look(Path(path).absolute()) for path in paths]  # the worker is in another folder

    def correct(self, profile: Profile, said: Mapping[str, str]) -> Profile:
        """Apply what was said of columns; see `Profiler.correct`.

        Raises:
            PlanError: for an unknown column, scale or role.
            DataError: when the file can no longer be read.
        """
        heard = self._ask({"correct": profile.model_dump(mode="json"), "said": dict(said)})
        if "profile" in heard:
            return heard["profile"]
        raise DataError(self._why(profile.name, heard["end"]), advice="Put the file back as it was, or add it again.")

    def warm(self) -> None:
        """Start the process and wait until it is ready.

        Raises:
            SandboxUnavailable: when it cannot be started.
        """
        self._worker()

    def close(self) -> None:
        """End the process and every look that is under way."""
        with self._lock:
            self._closed = True
            self._drop()

    # --- asking ---------------------------------------------------------------------------------------------------

    def _look(self, path: Path) -> Profile:
        try:
            text = str(path)
            text.encode()
        except UnicodeEncodeError as error:
            message = f"The name of {os.fsencode(path)[:200]!r} is no UTF-8 text."
            raise DataError(message, advice="Rename the file, or the folder it is in.") from error
        heard = self._ask({"look": text})
        if "profile" in heard:
            return heard["profile"]
        why = self._why(path.name, heard["end"])
        if "file" not in heard:
            raise DataError(why, advice="Check the file, or add another copy of it.")
        kind = path.suffix.lower().lstrip(".") or "unknown"
        return Profile(**heard["file"], format=kind, types=[], summary="Cannot be used as it is", warnings=[why])

    def _why(self, name: str, end: int) -> str:
        if end == -signal.SIGALRM:
            return (
                f"{name} was not understood within {self._seconds:.0f} seconds, so looking at it was stopped; "
                "export it again as a plain CSV, or take a part of it."
            )
        if end in (_OUT_OF_MEMORY, -signal.SIGKILL):
            return (
                f"{name} needs more than {self._memory_mb / 1024:.3g} GB of memory to be looked at; take a part of it, "
                "or export it again as a plain CSV."
            )
        how = f"signal {-end}" if end < 0 else f"code {end}"
        return f"{name} is damaged in a way that ended the reader ({how}); copy, download or export it again."

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return what was heard: `profile`, or how it ended (`end`), with `file` when its bytes could be read.

        Raises:
            EngineError: what the worker answered, or SandboxUnavailable when there is none.
        """
        line = json.dumps(request).encode() + b"\n"
        for _ in range(2):  # a worker that somebody killed is replaced once
            try:
                return self._heard(line)
            except _Gone:
                with self._lock:
                    self._drop()
        raise SandboxUnavailable(
            "The process that looks at files ended.", advice="Run `biodesk doctor` to see what works on this machine."
        )

    def _heard(self, request: bytes) -> dict[str, Any]:
        control = self._worker()
        channel, theirs = socket.socketpair()
        with channel:
            try:
                with theirs, self._sending:
                    socket.send_fds(control, [b"r"], [theirs.fileno()])
                channel.settimeout(self._seconds + 10.0)  # the alarm in the fork rings first
                channel.sendall(request)
            except OSError as error:
                raise _Gone from error
            found: dict[str, Any] = {}
            for line in _lines(channel):
                if line.startswith(b"end "):
                    return {**found, "end": int(line[4:])}
                _take(line, found)
                if "profile" in found:
                    return found  # what is left to do in the fork is to end
        raise _Gone

    # --- the worker -----------------------------------------------------------------------------------------------

    def _worker(self) -> socket.socket:
        with self._lock:
            if self._process is not None and self._process.poll() is not None:
                self._drop()
            if self._control is None:
                self._start()
            assert self._control is not None
            return self._control

    def _start(self) -> None:
        if self._closed:
            raise SandboxUnavailable("The process that looks at files was closed.", advice="Start Biodesk again.")
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-P", "-B", str(SCRIPT), str(theirs.fileno()), json.dumps(self._settings)]
        try:
            with theirs:
                self._process = subprocess.Popen(
                    command, env=_environment(), cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL, pass_fds=(theirs.fileno(),), start_new_session=True,
                )  # fmt: skip
            self._control = ours
            ours.settimeout(START_SECONDS)
            if ours.recv(6, socket.MSG_WAITALL) != b"ready\n":
                raise OSError("it ended before it was ready")
        except OSError as error:
            ours.close()
            self._drop()
            raise SandboxUnavailable(
                f"The process that looks at files could not be started: {error}.",
                advice="Run `biodesk doctor` to see what works on this machine.",
            ) from error

    def _drop(self) -> None:
        process, control = self._process, self._control
        self._process = self._control = None
        if control is not None:
            control.close()
        if process is not None:
            # Forks are of its session: a look that is under way ends with it.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _lines(channel: socket.socket) -> Iterator[bytes]:
    """Yield what comes in lines, until the channel ends or is silent; more than any profile is counts as an end."""
    rest, total = b"", 0
    with contextlib.suppress(OSError):
        while total < _MOST_BYTES and (piece := channel.recv(1 << 20)):
            total += len(piece)
            *lines, rest = (rest + piece).split(b"\n")
            yield from lines
        if total >= _MOST_BYTES:
            yield b"end 1"


def _take(line: bytes, found: dict[str, Any]) -> None:
    """Put a line of an answer where it belongs.

    Raises:
        EngineError: when the line is an error.
    """
    kind, _, payload = line.partition(b" ")
    if kind == b"profile":
        with contextlib.suppress(ValidationError):  # what is no profile counts as an end without one
            found["profile"] = Profile.model_validate_json(payload)
    elif kind == b"file":
        found["file"] = json.loads(payload)
    elif kind == b"error":
        told = json.loads(payload)
        error = _ERRORS.get(told["code"], DataError)
        raise error(told["message"], advice=told["advice"], details=told["details"])


def _environment() -> dict[str, str]:
    """Return what the worker needs of this process's environment; no key and no home is among it."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "TZ", "PYTHONPATH") if name in os.environ}
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    # A file may name a filter that HDF5 would load as a library from a folder: "::" is its word for never.
    return {**kept, **threads, "HDF5_PLUGIN_PRELOAD": "::", "PYTHONUTF8": "1"}
