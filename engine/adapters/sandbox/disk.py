"""Looks at what a job writes while it runs: nothing in the kernel bounds a folder, so a thread measures it."""

from __future__ import annotations

import contextlib
import os
import stat
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from engine.ports.sandbox import Limits
from engine.trees import excess, names_in, tree_size

LOOK_SECONDS = 1.0
_REST = 10
"""A look that took long is followed by this many times as long without one."""


class DiskWatch:
    """Measures a job's folders every second, from before it begins until it ended.

    Args:
        folders: all that the job may write.
        limits: what it may add to what lies there now.
        attendant: the process above all of the job's; 0 when it is not known.
        over: called once, from another thread, when a limit is passed; `problem` then says which.
    """

    def __init__(self, folders: Sequence[Path], limits: Limits, attendant: int, over: Callable[[], None]) -> None:
        self.problem = ""
        self._folders, self._attendant, self._over = folders, attendant, over
        self._most_bytes, self._most_files = (limits.disk_mb << 20) + tree_size(folders), limits.files
        self._disk = folders[0].stat().st_dev
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="sandbox-disk", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Look no more."""
        self._ended.set()

    def _watch(self) -> None:
        pause = LOOK_SECONDS
        while not self._ended.wait(pause):
            began = time.monotonic()
            hidden = _nameless_bytes(self._attendant, self._disk)
            problem = excess(self._folders, most_bytes=self._most_bytes, most_files=self._most_files, beside=hidden)
            if problem and not self._ended.is_set():
                self.problem = problem
                self._over()
                return
            pause = max(LOOK_SECONDS, _REST * (time.monotonic() - began))


def _nameless_bytes(attendant: int, disk: int) -> int:
    """Return what files take on this disk that were deleted and are still open: no folder shows them."""
    sizes: dict[int, int] = {}
    pending = [attendant] if attendant else []
    while pending:
        place = f"/proc/{pending.pop()}"
        for task in names_in(f"{place}/task"):
            with contextlib.suppress(OSError, ValueError):
                pending += map(int, Path(f"{place}/task/{task}/children").read_text().split())
        for number in names_in(f"{place}/fd"):
            with contextlib.suppress(OSError):
                found = os.stat(f"{place}/fd/{number}")  # noqa: PTH116
                if stat.S_ISREG(found.st_mode) and not found.st_nlink and found.st_dev == disk:
                    sizes[found.st_ino] = max(found.st_size, found.st_blocks * 512)
    return sum(sizes.values())
