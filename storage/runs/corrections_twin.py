"""What was said of columns, without a disk."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from storage.runs.corrections import require_utf8


class CorrectionsTwin:
    """The `CorrectionStore` in memory."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._said: dict[str, dict[str, str]] = {}

    def save(self, sha256: str, said: Mapping[str, str]) -> None:
        """Remember what columns of a file are; an empty text takes a correction back."""
        require_utf8(said)
        with self._lock:
            self._said.setdefault(sha256, {}).update(said)

    def of(self, sha256: str) -> dict[str, str]:
        """Return column -> what it was said to be; empty for an unknown file."""
        with self._lock:
            return {column: text for column, text in self._said.get(sha256, {}).items() if text}
