"""The artifact store in a temporary folder that goes when the store does."""

from __future__ import annotations

import shutil
import tempfile
import threading
import weakref
from pathlib import Path

from engine.domain.encoding.hashing import sha256_bytes
from engine.errors import DataError, NotFoundError


class ArtifactsTwin:
    """The `ArtifactStore` in a temporary folder that goes when the store does."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="biodesk-artifacts-"))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._lock = threading.Lock()
        self._known: set[str] = set()

    def put_bytes(self, data: bytes) -> str:
        """Store `data` and return its SHA-256; storing the same bytes twice is one file."""
        sha256 = sha256_bytes(data)
        with self._lock:
            place = self._place(sha256)
            if sha256 not in self._known or self._hash(sha256) != sha256:
                place.unlink(missing_ok=True)
                place.write_bytes(data)
                place.chmod(0o444)
                self._known.add(sha256)
        return sha256

    def put_file(self, path: Path) -> str:
        """Store a copy of the file and return its SHA-256."""
        try:
            return self.put_bytes(path.read_bytes())
        except FileNotFoundError as error:
            raise NotFoundError(f"There is no file {path} to store.", advice="Check the path.") from error
        except OSError as error:
            raise DataError(f"The file {path} cannot be read: {error.strerror}.") from error

    def path(self, sha256: str) -> Path:
        """Return where the content lies, read-only."""
        if not self.has(sha256):
            raise NotFoundError(f"There is no artifact with the SHA-256 {sha256!r}.")
        return self._place(sha256)

    def has(self, sha256: str) -> bool:
        """Say whether the content is stored."""
        return sha256 in self._known and self._place(sha256).is_file()

    def size(self, sha256: str) -> int:
        """Return the bytes that the content takes, 0 when it is not stored."""
        return self._place(sha256).stat().st_size if self.has(sha256) else 0

    def remove(self, sha256: str) -> int:
        """Remove the content for good and return the bytes that are free then, 0 when it was not there."""
        with self._lock:
            freed = self.size(sha256)
            if self.has(sha256):
                self._place(sha256).unlink()
            self._known.discard(sha256)
        return freed

    def verify(self, sha256: str) -> str:
        """Re-hash the stored file and return the hash found, or "" when the file is missing."""
        return self._hash(sha256) if self.has(sha256) else ""

    def _place(self, sha256: str) -> Path:
        return self._folder / sha256

    def _hash(self, sha256: str) -> str:
        place = self._place(sha256)
        return sha256_bytes(place.read_bytes()) if place.is_file() else ""
