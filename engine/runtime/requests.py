"""Requests to the process that holds a workspace, left as files by one that cannot open it.

DuckDB admits one process, so `biodesk cancel` beside a running app has no other way in.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from pathlib import Path

from engine.errors import EngineError

_FOLDER = "requests"
_PREFIX = "cancel-"
_EVERY_SECONDS = 0.3


def request_cancel(workspace: Path, run_id: str) -> None:
    """Ask the process that holds the workspace to stop a run."""
    folder = workspace / _FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{_PREFIX}{Path(run_id).name}").touch()


class RequestWatcher:
    """Looks for requests a few times a second and carries them out."""

    def __init__(self, workspace: Path, cancel: Callable[[str], None]) -> None:
        self._folder = workspace / _FOLDER
        self._cancel = cancel
        self._stop = threading.Event()
        for stale in self._requests():
            stale.unlink(missing_ok=True)
        self._thread = threading.Thread(target=self._loop, name="requests", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop looking."""
        self._stop.set()
        self._thread.join(timeout=2)

    def _requests(self) -> list[Path]:
        return list(self._folder.glob(f"{_PREFIX}*")) if self._folder.is_dir() else []

    def _loop(self) -> None:
        while not self._stop.wait(_EVERY_SECONDS):
            for request in self._requests():
                request.unlink(missing_ok=True)
                # A run that is over or unknown needs no cancelling, and nobody waits here for an answer.
                with contextlib.suppress(EngineError):
                    self._cancel(request.name.removeprefix(_PREFIX))
