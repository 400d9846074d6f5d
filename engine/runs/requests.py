"""Requests to the process that holds a workspace, left as files by one that cannot open it.

DuckDB admits one process, so `biodesk cancel` beside a running app has no other way in. The answer comes as a file too.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.errors import EngineError, StorageError

_FOLDER = "requests"
_REQUEST, _ANSWER = "cancel-", "answer-"
_EVERY_SECONDS = 0.3
_PATIENCE_SECONDS = 10.0


class _AnswerRefused(EngineError):
    """What the other process answered."""


def request_cancel(workspace: Path, run_id: str, *, patience: float = _PATIENCE_SECONDS) -> bool:
    """Ask the process that holds the workspace to stop a run; say whether it answered that it does so.

    False when it does not answer in `patience` seconds: it may be busy, and still will.

    Raises:
        EngineError: what the other process says against it, e.g. that there is no such run.
        StorageError: when the request cannot be written.
    """
    folder, name = workspace / _FOLDER, uuid.uuid4().hex
    answer = folder / f"{_ANSWER}{name}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write(folder / f"{_REQUEST}{name}", {"run_id": run_id})
    except OSError as err:
        message = f"The process that uses {workspace} cannot be asked: {err.strerror}."
        raise StorageError(message, advice="Stop the run where it was started.") from err
    until = time.monotonic() + patience
    while time.monotonic() < until:
        with contextlib.suppress(OSError):
            said = json.loads(answer.read_text(encoding="utf-8"))
            answer.unlink(missing_ok=True)
            if said["message"]:
                raise _refusal(said)
            return True
        time.sleep(0.05)
    return False


def _refusal(said: dict[str, Any]) -> EngineError:
    refused = _AnswerRefused(said["message"], advice=said["advice"])
    # The other process's code and exit code, as if the command had been carried out here.
    refused.code, refused.exit_code = said["code"], said["exit_code"]  # type: ignore[misc]
    return refused


def _write(path: Path, document: dict[str, Any]) -> None:
    """Write a file that is there whole or not at all."""
    unfinished = path.with_name(f"new-{path.name}")
    unfinished.write_text(json.dumps(document), encoding="utf-8")
    unfinished.replace(path)


class RequestWatcher:
    """Looks for requests a few times a second, carries them out and answers; without a workspace it does nothing."""

    def __init__(self, workspace: Path | None, cancel: Callable[[str], None]) -> None:
        self._cancel = cancel
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        if workspace is None:
            return
        self._folder = workspace / _FOLDER
        if self._folder.is_dir():
            for stale in self._folder.iterdir():
                stale.unlink(missing_ok=True)
        self._thread = threading.Thread(target=self._loop, name="requests", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop looking."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=2)

    def _loop(self) -> None:
        while not self._stop.wait(_EVERY_SECONDS):
            for request in self._folder.glob(f"{_REQUEST}*"):
                with contextlib.suppress(OSError):  # whoever asked may be gone, with the folder even
                    self._carry_out(request)

    def _carry_out(self, request: Path) -> None:
        try:
            run_id = str(json.loads(request.read_text(encoding="utf-8"))["run_id"])
        except (ValueError, KeyError, TypeError):
            request.unlink(missing_ok=True)
            return
        request.unlink(missing_ok=True)
        said: dict[str, Any] = {"message": ""}
        try:
            self._cancel(run_id)
        except EngineError as err:
            said = {"message": err.message, "advice": err.advice, "code": err.code, "exit_code": err.exit_code}
        _write(request.with_name(request.name.replace(_REQUEST, _ANSWER, 1)), said)
