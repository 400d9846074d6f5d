"""Where the words of people on columns are kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class CorrectionStore(Protocol):
    """What people said columns are, by the SHA-256 of the file. Durable when `save` returns."""

    def save(self, sha256: str, said: Mapping[str, str]) -> None:
        """Remember column -> what it is, all or none; an empty text takes a correction back."""
        ...

    def of(self, sha256: str) -> dict[str, str]:
        """Return column -> what it was said to be; empty for an unknown file."""
        ...
