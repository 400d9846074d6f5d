"""The engine's side of a worker: starting it, talking to it, making sure it ends.

A worker is started with a clean environment and no descriptor but its own two, and it is never forked from the engine:
a fork would take the engine's open database and keys with it.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.adapters.sandbox.cgroup import ControlGroups
from engine.adapters.sandbox.lease import Lease, WorkerGone
from engine.adapters.sandbox.view import Places
from engine.errors import SandboxUnavailable

SCRIPT = Path(__file__).parent.parent / "sandbox_worker.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerPlan:
    """How to start a worker."""

    places: Places
    bubblewrap: bool
    isolations: tuple[str, ...]
    preload: tuple[str, ...] = ()
    spares: int = 0
    """How many attendants to keep ready."""
    writable: tuple[str, ...] = ()
    """Folders outside the scratch folder that jobs of this worker may be given to write."""
    view: dict[str, Any] | None = None
    """The one job's view, when bubblewrap itself is to build it (the worker then adds no wall of its own)."""


@dataclass(slots=True)
class Hello:
    """What a worker says once it is ready."""

    isolation: str
    problem: str
    preloaded: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    threads: int = 1
    landlock: int = 0


def find_bubblewrap() -> str | None:
    """Return the path of a bubblewrap that works here, or None."""
    program = shutil.which("bwrap") if sys.platform.startswith("linux") else None
    if program is None:
        return None
    command = [program, "--unshare-user", "--unshare-all", "--ro-bind", "/", "/", "/bin/true"]
    try:
        done = subprocess.run(command, env={}, capture_output=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return program if done.returncode == 0 else None


def _bubblewrap_around_worker(plan: WorkerPlan) -> list[str]:
    """The machine's files, read-only; each job's own small tree is made inside by the worker."""
    options = ["--ro-bind", "/", "/", "--dev", "/dev", "--chdir", "/"]
    # The kernel mounts /proc for a job's namespace only where a whole one is in sight already; bubblewrap's own is not.
    options += ["--bind", "/proc", "/proc"] if "namespaces" in plan.isolations else ["--proc", "/proc"]
    for path in (str(plan.places.scratch), str(plan.places.caches), *plan.writable):
        options += ["--bind", path, path]
    return options


def _bubblewrap_around_job(view: dict[str, Any]) -> list[str]:
    """One job's own small tree, made by bubblewrap."""
    # The job's own /tmp comes first: Python itself may lie under /tmp and must not be covered.
    options: list[str] = ["--cap-drop", "ALL", "--bind", view["tmp"], "/tmp"]  # noqa: S108
    for path in view["read"]:
        if Path(path).is_symlink():
            options += ["--symlink", str(Path(path).readlink()), path]
            path = str(Path(path).resolve())
        options += ["--ro-bind", path, path]
    options += ["--proc", "/proc", "--dev", "/dev"]
    if Path("/proc/keys").exists():
        options += ["--ro-bind", "/dev/null", "/proc/keys"]  # it names the keys of this user
    options += ["--ro-bind", str(SCRIPT.parent), str(SCRIPT.parent)]
    hidden = [path for path in view["hide"] if any((path + "/").startswith(top + "/") for top in view["read"])]
    for path in hidden:
        options += ["--tmpfs", path]
    for path in view["show"]:
        options += ["--ro-bind", path, path]
    for path in view["write"]:
        options += ["--bind", path, path]
    # Run by root, a job is still the machine's root to the files of /proc/sys.
    for path in ("/", "/proc", *hidden):
        options += ["--remount-ro", path]
    return [*options, "--chdir", "/"]


class Worker:
    """A running worker process."""

    def __init__(self, plan: WorkerPlan, groups: ControlGroups, *, threads: int) -> None:
        self.plan = plan
        self._groups = groups
        self._idle: deque[Lease] = deque()
        self._filling = threading.Lock()
        self._closed = False
        self.hello: Hello | None = None
        self.ready = threading.Event()
        self._lock = threading.Lock()
        self._hearing = threading.Lock()
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        lifeline_read, self._lifeline = os.pipe()
        status_read, status_write = os.pipe()
        try:
            self._process = self._start(plan, theirs, lifeline_read, status_write, threads)
        except OSError as error:
            os.close(self._lifeline)
            os.close(status_read)
            self._control.close()
            raise SandboxUnavailable(
                f"The process that runs steps could not be started: {error}.",
                advice="Run `biodesk doctor` to see what works on this machine.",
            ) from error
        finally:
            theirs.close()
            os.close(lifeline_read)
            os.close(status_write)
            os.close(self._log_descriptor)
        self._status = status_read
        self._inner_pid = 0

    def _start(
        self, plan: WorkerPlan, control: socket.socket, lifeline: int, status: int, threads: int
    ) -> subprocess.Popen[bytes]:
        settings = {
            "preload": list(plan.preload), "isolations": list(plan.isolations), "staging": str(plan.places.staging),
            "probe_view": plan.places.probe_view(), "own_walls": plan.view is not None,
        }  # fmt: skip
        command = [sys.executable, "-s", "-P", "-B", str(SCRIPT), str(control.fileno()), str(lifeline)]
        command.append(json.dumps(settings))
        if plan.bubblewrap:
            inside = _bubblewrap_around_job(plan.view) if plan.view else _bubblewrap_around_worker(plan)
            options = ["--unshare-user", "--unshare-all", "--new-session", "--json-status-fd", str(status)]
            command = ["bwrap", *options, *inside, "--", *command]
        return subprocess.Popen(
            command,
            env=plan.places.worker_environment(threads),
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._log(),
            pass_fds=(control.fileno(), lifeline, status),
            start_new_session=True,
        )

    def _log(self) -> int:
        path = self.plan.places.base / "worker.log"
        if path.exists() and path.stat().st_size > 1 << 20:
            path.unlink(missing_ok=True)
        # Not kept open: the child has its own copy once it is started.
        self._log_descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        return self._log_descriptor

    def wait_ready(self, seconds: float) -> Hello | None:
        """Wait for the worker's hello; None when it does not come."""
        if self.hello is None:
            with self._hearing:
                if self.hello is None:
                    self._read_hello(seconds)
        return self.hello

    def _read_hello(self, seconds: float) -> None:
        line = bytearray()
        with contextlib.suppress(OSError):
            self._control.settimeout(seconds)
            while not line.endswith(b"\n"):
                piece = self._control.recv(65536)
                if not piece:
                    break
                line += piece
        with contextlib.suppress(OSError):  # closed meanwhile: nobody needs it any more
            self._control.settimeout(10.0)
        if line.endswith(b"\n"):
            self.hello = Hello(**json.loads(line))
            self.ready.set()
            self.refill()

    @property
    def alive(self) -> bool:
        """True while the process runs."""
        return self._process.poll() is None

    def stays(self, seconds: float) -> bool:
        """Say whether the process still runs after a moment: one that was just killed takes it to be seen as dead."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return True
        return False

    @property
    def as_asked(self) -> bool:
        """True when the worker offers the isolation it was asked for: a job must never run behind less."""
        asked = self.plan.isolations
        return self.hello is not None and (not asked or self.hello.isolation in asked)

    def take(self) -> Lease:
        """Return an attendant that waits for a request: one kept ready, or a new one.

        Raises:
            WorkerGone: when there is no worker any more.
        """
        while True:
            try:
                lease = self._idle.popleft()
            except IndexError:
                return self._new_lease()
            if lease.alive():
                return lease
            lease.close()

    def refill(self) -> None:
        """Have attendants made ready in the background."""
        if self.plan.spares > len(self._idle) and not self._closed:
            threading.Thread(target=self._fill, name="sandbox-refill", daemon=True).start()

    def _fill(self) -> None:
        with self._filling:
            while len(self._idle) < self.plan.spares and not self._closed:
                try:
                    lease = self._new_lease()
                except WorkerGone:
                    return
                self._idle.append(lease)
                if self._closed:  # it was closed meanwhile, and may have been emptied before this one came
                    self._empty()

    def _new_lease(self) -> Lease:
        return Lease.ask(self._control, self._lock, self._groups)

    def _empty(self) -> None:
        with contextlib.suppress(IndexError):
            while True:
                self._idle.popleft().close()

    def close(self) -> None:
        """End the worker and everything in it; returns when it is gone."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._empty()
        with contextlib.suppress(OSError):
            os.close(self._lifeline)
        self._lifeline = -1
        self._control.close()
        try:
            self._process.wait(0.5)
        except subprocess.TimeoutExpired:
            self._kill()
        if self._status >= 0:
            os.close(self._status)
            self._status = -1

    def _kill(self) -> None:
        """The hard way. Bubblewrap's own first process is what holds the namespace: its end ends all in it."""
        for pid in (self._inner(), self._process.pid):
            if pid:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(2.0)

    def _inner(self) -> int:
        if not self.plan.bubblewrap or self._status < 0:
            return 0
        os.set_blocking(self._status, False)
        with contextlib.suppress(OSError, ValueError, KeyError):
            first = os.read(self._status, 65536).split(b"\n")[0]
            return int(json.loads(first)["child-pid"])
        return 0

    def log_tail(self) -> str:
        """Return the last lines the worker wrote about itself."""
        with contextlib.suppress(OSError):
            return "\n".join((self.plan.places.base / "worker.log").read_text(errors="replace").splitlines()[-5:])
        return ""


def isolation_order(allowed: Sequence[str] | None) -> tuple[str, ...]:
    """Return the isolations to try, strongest first."""
    every = ("namespaces", "landlock")
    return every if allowed is None else tuple(name for name in every if name in allowed)
