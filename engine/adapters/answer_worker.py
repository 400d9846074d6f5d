"""Answers requests in processes that may die of them: a warm process forks itself for each, within limits.

    python -P -B answer_worker.py CONTROL_FD SETTINGS_JSON

What the requests are about is not known here: SETTINGS names a function `module:name` that takes a request as bytes and
yields lines as bytes, and one that makes it fast. The engine sends one byte with a socket for each request; a fork,
made ahead, reads the request from that socket and writes its lines there, and when it is gone, this process adds one
line: `end` and the exit code, or minus the number of the signal that ended it. The kernel itself keeps the limits (an
alarm for each line, the size of the memory, no file may be written), so that no code that went astray need cooperate.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import resource
import select
import signal
import socket
import sys
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

Answer = Callable[[bytes], Iterable[bytes]]
SPARES = 2
"""Forks kept ready: people mostly bring a table and its samples."""
OUT_OF_MEMORY = 77
"""The exit code of a fork that noticed itself that it had no memory left."""


def main(arguments: list[str]) -> None:
    """Get ready, say so, then fork for each request until the engine is gone."""
    control = socket.socket(fileno=int(arguments[0]))
    settings: dict[str, Any] = json.loads(arguments[1])
    sys.path.insert(0, settings["path"])
    warm: Callable[[], None] = _named(settings["warm"])
    warm()
    gc.collect()
    gc.freeze()  # what is there now is never looked at again, so that forks share its memory
    waker, alarm = os.pipe()
    os.set_blocking(alarm, False)
    os.set_blocking(waker, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(alarm, warn_on_full_buffer=False)
    control.sendall(b"ready\n")
    _serve(control, waker, warm, settings)


def _named(name: str) -> Any:
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


def _serve(control: socket.socket, waker: int, warm: Callable[[], None], settings: dict[str, Any]) -> None:
    running: dict[int, socket.socket] = {}
    spares: deque[tuple[int, socket.socket]] = deque()
    try:
        while True:
            # Getting a spare ready must not take the processor from a request.
            busy = running or select.select([control], [], [], 0)[0]
            if len(spares) < (1 if busy else SPARES):
                spares.append(_fork(warm, settings, [control, *running.values(), *(door for _, door in spares)]))
                continue
            ready, _, _ = select.select([control, waker], [], [])
            if waker in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(waker, 4096)
                _tell_ends(running)
            if control in ready:
                channel = _next(control)
                if channel is None:
                    return
                pid, door = spares.popleft()
                running[pid] = channel
                with contextlib.suppress(OSError), door:
                    socket.send_fds(door, [b"r"], [channel.fileno()])
    finally:
        for pid in (*running, *(pid for pid, _ in spares)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _next(control: socket.socket) -> socket.socket | None:
    data, descriptors, _, _ = socket.recv_fds(control, 1, 1)
    return socket.socket(fileno=descriptors[0]) if data and descriptors else None


def _tell_ends(running: dict[int, socket.socket]) -> None:
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            channel = running.pop(pid, None)
            if channel is not None:
                with contextlib.suppress(OSError), channel:
                    channel.setblocking(False)
                    channel.sendall(b"end %d\n" % os.waitstatus_to_exitcode(status))


def _fork(warm: Callable[[], None], settings: dict[str, Any], others: list[socket.socket]) -> tuple[int, socket.socket]:
    """Return a fork that waits for a request, and the socket on which it takes it."""
    door, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        for other in (door, *others):
            other.close()
        _answer(theirs, warm, settings)
    theirs.close()
    return pid, door


def _answer(door: socket.socket, warm: Callable[[], None], settings: dict[str, Any]) -> NoReturn:
    """Answer one request in the fork, which ends here."""
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # ends the process whatever it is doing
        _limit(int(settings["memory_mb"]))
        answer: Answer = _named(settings["answer"])
        if not select.select([door], [], [], 0)[0]:
            warm()  # the memory that reading writes to is made this fork's own before anybody waits for it
        channel = _next(door)
        if channel is None:
            os._exit(0)
        seconds = float(settings["seconds"])
        signal.setitimer(signal.ITIMER_REAL, seconds)
        with channel.makefile("rb") as reader:
            request = reader.readline()
        for line in answer(request):
            channel.sendall(line + b"\n")
            signal.setitimer(signal.ITIMER_REAL, seconds)
        code = 0
    except MemoryError:
        code = OUT_OF_MEMORY
    except BaseException:  # noqa: BLE001 - the exit code tells; nobody reads a traceback here
        code = 1
    finally:
        os._exit(code)


def _limit(memory_mb: int) -> None:
    size = memory_mb << 20
    for kind, most in ((resource.RLIMIT_AS, size), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0)):
        with contextlib.suppress(ValueError, OSError):  # macOS has no limit of the address space
            resource.setrlimit(kind, (most, most))


if __name__ == "__main__":
    main(sys.argv[1:])
