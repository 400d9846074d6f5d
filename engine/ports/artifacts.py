"""Where the files of runs lie, each under the hash of its content."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol


class ArtifactStore(Protocol):
    """Immutable files named by the SHA-256 of their content."""

    def put_bytes(self, data: bytes) -> str:
        """Store `data` durably and return its SHA-256; storing the same bytes twice is one file."""
        ...

    def put_file(self, path: Path) -> str:
        """Store a copy of the file durably (written, synced, renamed) and return its SHA-256."""
        ...

    def path(self, sha256: str) -> Path:
        """Return where the content lies, read-only.

        Raises:
            NotFoundError: when it was never stored.
        """
        ...

    def has(self, sha256: str) -> bool:
        """Say whether the content is stored."""
        ...

    def verify(self, sha256: str) -> str:
        """Re-hash the stored file and return the hash found, or "" when the file is missing."""
        ...

    def size(self, sha256: str) -> int:
        """Return the bytes that the content takes, 0 when it is not stored."""
        ...

    def remove(self, sha256: str) -> int:
        """Remove the content for good and return the bytes that are free then, 0 when it was not there."""
        ...
