"""One job, from the engine's side: hand it over, follow its output, end it, tell what happened.

The attendant in the worker enforces the limits; this side holds a second clock and a second way to kill, so that a
fault there cannot hang a run.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import struct
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from engine.adapters.sandbox.disk import DiskWatch
from engine.adapters.sandbox.lease import Lease, WorkerGone
from engine.adapters.sandbox.output import Capture, LiveOutput
from engine.adapters.sandbox.view import JobFolder
from engine.adapters.sandbox.worker import Worker
from engine.domain.results import ExecResult, ExecStatus
from engine.errors import SandboxUnavailable
from engine.ports.cancel import CancelToken
from engine.ports.sandbox import Job, OutputSink

BEGUN = b"begun\n"
GRACE_SECONDS = 5.0
KILL_SECONDS = 1.0
STATUSES: tuple[ExecStatus, ...] = ("ok", "error", "timeout", "memory", "disk", "killed", "cancelled")


class SetupFailed(Exception):
    """The walls around the job could not be made; its code did not run."""


@dataclass(slots=True)
class Stream:
    """One output of the job."""

    read_end: int
    capture: Capture
    live: LiveOutput


@dataclass(slots=True)
class Session:
    """Runs one job with one attendant. Use once."""

    job: Job
    folder: JobFolder
    worker: Worker
    on_output: OutputSink
    cancel: CancelToken
    _lease: Lease = field(init=False)
    _disk: DiskWatch = field(init=False)
    _streams: list[Stream] = field(default_factory=list)
    _said: bytearray = field(default_factory=bytearray)
    _begun: bool = False
    _kill_by: float | None = None
    _reason: str = ""
    _deadline: float = 0.0

    def execute(self, started: float) -> ExecResult:
        """Run to the end.

        Raises:
            WorkerGone: the worker ended before the job began.
            SetupFailed: the walls could not be made.
            SandboxUnavailable: the worker ended while the job ran.
        """
        self._lease = self.worker.take()
        wake = Wake()
        written = (self.job.workdir, self.folder.path)
        self._disk = DiskWatch(written, self.job.limits, self._lease.pid, wake.poke)
        forget = self.cancel.on_cancel(wake.poke)
        try:
            self._streams = [
                Stream(self._lease.stdout, Capture(), LiveOutput("stdout", self.on_output)),
                Stream(self._lease.stderr, Capture(), LiveOutput("stderr", self.on_output)),
            ]
            self._send_request()
            self._follow(wake.read_end)
            return self._result(started)
        finally:
            forget()
            self._disk.close()
            wake.close()
            self._lease.close()

    def _follow(self, wake: int) -> None:
        """Pass output on until the attendant reported and the outputs are at their end."""
        channel = self._lease.channel
        self._deadline = time.monotonic() + self.job.limits.seconds + GRACE_SECONDS
        outputs_by: float | None = None  # once the attendant reported: how long its outputs are waited for
        with selectors.DefaultSelector() as selector:
            selector.register(channel, selectors.EVENT_READ)
            selector.register(wake, selectors.EVENT_READ)
            for stream in self._streams:
                selector.register(stream.read_end, selectors.EVENT_READ, stream)
            open_streams = len(self._streams)
            while outputs_by is None or (open_streams and time.monotonic() < outputs_by):
                for key, _ in selector.select(self._pause(time.monotonic(), outputs_by)):
                    if isinstance(key.data, Stream):
                        if not self._read(key.data):
                            selector.unregister(key.fd)
                            open_streams -= 1
                    elif key.fd == wake:
                        selector.unregister(wake)
                        self._stop("disk" if self._disk.problem else "cancelled")
                    elif not self._hear():
                        selector.unregister(channel)
                        outputs_by = time.monotonic() + KILL_SECONDS
                if outputs_by is None:
                    self._enforce(time.monotonic())
                self._show()
        self._show(everything=True)

    def _show(self, *, everything: bool = False) -> None:
        """Show what came of the outputs and is due, or all of it."""
        now = time.monotonic()
        for stream in self._streams:
            stream.live.flush(now, everything=everything)

    def _enforce(self, now: float) -> None:
        """End what the attendant should have ended."""
        if now > self._deadline and not self._reason:
            self._stop("timeout")
        if self._kill_by is not None and now > self._kill_by:
            self._kill()
            self._kill_by = now + KILL_SECONDS

    def _pause(self, now: float, outputs_by: float | None) -> float:
        pauses = [1.0]
        pauses += [wait for stream in self._streams if (wait := stream.live.due(now)) is not None]
        moments = (None if self._reason else self._deadline, self._kill_by, outputs_by)
        pauses += [moment - now for moment in moments if moment is not None]
        return max(0.0, min(pauses))

    def _read(self, stream: Stream) -> bool:
        try:
            data = os.read(stream.read_end, 65536)
        except BlockingIOError:
            return True
        stream.capture.add(data)
        stream.live.add(data)
        return bool(data)

    def _hear(self) -> bool:
        """Take what the attendant says; False when it has said all, or is gone."""
        try:
            data = self._lease.channel.recv(65536)
        except ConnectionResetError:
            return False
        self._said += data
        if not self._begun and self._said.startswith(BEGUN):
            del self._said[: len(BEGUN)]
            self._begun = True
        return bool(data) and not (self._said.endswith(b"\n") and self._said != BEGUN)

    def _send_request(self) -> None:
        limits, group = self.job.limits, self._lease.group
        if group:
            try:
                group.limit(limits.memory_mb, limits.processes + 1)  # the attendant is in the group too
            except OSError:
                group = None
        request = {
            "code": self.job.code,
            "script": str(self.folder.script),
            "workdir": str(self.job.workdir),
            "seconds": limits.seconds,
            "memory_mb": limits.memory_mb,
            "file_mb": limits.file_mb,
            "processes": limits.processes,
            "process_limit": 0 if group else self._process_limit(),
            "data_limit": 0 if group else limits.memory_mb << 20,
            "watch": group is None,
            "threads": self.job.threads,
            "view": self.folder.view(),
        }
        data = json.dumps(request).encode()
        try:
            self._lease.channel.sendall(struct.pack(">I", len(data)) + data)
        except OSError as error:
            raise WorkerGone(f"its attendant is gone ({error})") from error

    def _process_limit(self) -> int:
        """Return the limit for RLIMIT_NPROC, 0 for none.

        In a user namespace of its own a job is counted alone. Elsewhere it is counted with all else this user runs,
        so that the limit would depend on the desktop: there the attendant's watch counts instead.
        """
        hello = self.worker.hello
        alone = hello is not None and hello.isolation == "namespaces"
        return self.job.limits.processes + 1 if alone else 0

    def _stop(self, reason: str) -> None:
        self._reason = self._reason or reason
        self._kill_by = time.monotonic() + KILL_SECONDS
        with contextlib.suppress(OSError):
            self._lease.channel.sendall(b"k")

    def _kill(self) -> None:
        """The second way, for an attendant that does not answer: its end ends all in its namespace."""
        if self._lease.group:
            self._lease.group.kill()
        if self._lease.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._lease.pid, signal.SIGKILL)

    def _could_end_its_keeper(self) -> bool:
        """True where no wall keeps a job from ending its attendant, and nothing else ended."""
        hello = self.worker.hello
        if hello is None or hello.isolation != "none":
            return False
        return self.worker.plan.view is not None or self.worker.stays(0.1)

    def _reply(self) -> dict[str, Any] | None:
        with contextlib.suppress(ValueError):
            reply = json.loads(bytes(self._said))
            return reply if isinstance(reply, dict) else None
        return None

    def _result(self, started: float) -> ExecResult:
        group = self._lease.group
        reply: dict[str, Any] | None = self._reply()
        if reply is not None and reply.get("status") == "setup":
            raise SetupFailed(str(reply.get("error")))
        out_of_memory = group is not None and group.out_of_memory()
        if reply is None:
            if not self._begun and not self._reason:
                raise WorkerGone("it ended before the job began")
            reply = {"status": self._reason or ("memory" if out_of_memory else ""), "error": ""}
            if not reply["status"] and self._could_end_its_keeper():
                reply = {
                    "status": "killed",
                    "error": "the process that watched it was ended, most likely by the step itself",
                }
        if reply["status"] not in STATUSES:
            raise SandboxUnavailable(
                f"The process that ran step {self.job.id} ended before it could report. Its code was not judged.",
                advice="Run the step again; the process is started anew. If it happens again, run `biodesk doctor`.",
                details={"job": self.job.id, "log": self.worker.log_tail()},
            )
        status: ExecStatus = reply["status"]
        error = reply.get("error", "")
        if self._reason == "disk" and status in ("disk", "cancelled"):
            status, error = "disk", self._disk.problem
        if out_of_memory and status in ("error", "killed", "memory"):
            status = "memory"
            error = f"it used more than its limit of {self.job.limits.memory_mb} MB of memory"
        total, seconds = time.monotonic() - started, float(reply.get("code_seconds", 0.0))
        stdout, stderr = self._streams
        peak = reply.get("peak_bytes") or None
        return ExecResult(
            status=status,
            exit_code=reply.get("exit_code"),
            stdout=stdout.capture.text(),
            stderr=stderr.capture.text(),
            truncated=stdout.capture.truncated or stderr.capture.truncated,
            error=error or {"cancelled": "it was cancelled", "timeout": "it ran longer than its limit"}.get(status, ""),
            seconds=round(seconds, 6),
            overhead_seconds=round(max(0.0, total - seconds), 6),
            peak_memory_mb=round(peak / (1 << 20), 1) if peak else None,
        )


class Wake:
    """Wakes a selector from another thread; poking it after it was closed touches no one else's descriptor."""

    def __init__(self) -> None:
        self.read_end, self._write_end = os.pipe()
        os.set_blocking(self._write_end, False)
        self._lock = threading.Lock()
        self._open = True

    def poke(self) -> None:
        """Make the read end readable."""
        with self._lock, contextlib.suppress(BlockingIOError):
            if self._open:
                os.write(self._write_end, b"c")

    def close(self) -> None:
        """Close both ends."""
        with self._lock:
            self._open = False
            os.close(self.read_end)
            os.close(self._write_end)
