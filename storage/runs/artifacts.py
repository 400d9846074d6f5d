"""Files by the SHA-256 of their content: what a run made can neither change nor be lost unnoticed.

A file is written under a temporary name on the same disk, synced, made read-only and renamed, so under its
final name there is always the whole content. The name is what `sha256sum` prints, which lets anybody check
an artifact without Biodesk.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from engine.domain.encoding.hashing import sha256_bytes
from engine.errors import DataError, NotFoundError, StorageError
from storage import faults

_CHUNK = 1 << 20
_LEFTOVER_SECONDS = 3600.0
"""Older temporary files belong to a write that was killed; younger ones may be under way."""

_HASH = re.compile(r"[0-9a-f]{64}")


class FileArtifacts:
    """The `ArtifactStore` on disk: `FOLDER/sha256/ab/abcdef...`."""

    def __init__(self, folder: Path, *, read_only: bool = False) -> None:
        """Open the store, making its folder and removing what killed writes left behind unless `read_only`.

        Raises:
            StorageError: when the folder cannot be made or written.
        """
        self.folder = folder
        self._content = folder / "sha256"
        self._unfinished = folder / "unfinished"
        self._sound: dict[str, tuple[int, int]] = {}
        """Hash -> (size, modification time) of files this process has seen to be what their name says."""
        if read_only:  # what is to be stored then fails with the system's reason
            return
        try:
            for place in (folder, self._content, self._unfinished):
                place.mkdir(mode=0o700, parents=True, exist_ok=True)
            _sync_folder(folder)
            self._remove_leftovers()
        except OSError as error:
            raise faults.from_os(error, folder, "the folder for artifacts") from error

    def put_bytes(self, data: bytes) -> str:
        """Store `data` durably and return its SHA-256; storing the same bytes twice is one file."""
        sha256 = sha256_bytes(data)
        if not self._is_sound(sha256):
            self._store(iter((data,)), f"an artifact of {len(data):,} bytes")
        return sha256

    def put_file(self, path: Path) -> str:
        """Store a copy of the file durably (written, synced, renamed) and return its SHA-256.

        The file is read piece by piece, so its size does not matter. What counts is what was copied: if
        another program changes the file meanwhile, the hash is that of the copy.
        """
        try:
            with path.open("rb") as source:
                sha256 = hashlib.file_digest(source, "sha256").hexdigest()
                if self._is_sound(sha256):
                    return sha256
                source.seek(0)
                return self._store(_pieces(source, path), f"a copy of {path.name}")
        except FileNotFoundError as error:
            raise NotFoundError(f"There is no file {path} to store.", advice="Check the path.") from error
        except OSError as error:
            raise _unreadable(path, error) from error

    def path(self, sha256: str) -> Path:
        """Return where the content lies, read-only.

        Raises:
            NotFoundError: when it was never stored.
        """
        if not self.has(sha256):
            raise NotFoundError(
                f"There is no artifact with the SHA-256 {sha256!r} in {self.folder}.",
                advice="Run the step that makes it again, or put the file back from a backup.",
            )
        return self._place(sha256)

    def has(self, sha256: str) -> bool:
        """Say whether the content is stored."""
        return _HASH.fullmatch(sha256) is not None and self._place(sha256).is_file()

    def verify(self, sha256: str) -> str:
        """Re-hash the stored file and return the hash found, or "" when the file is missing."""
        if not self.has(sha256):
            return ""
        try:
            with self._place(sha256).open("rb") as stored:
                return hashlib.file_digest(stored, "sha256").hexdigest()
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise StorageError(
                f"The artifact {self._place(sha256)} cannot be read: {error.strerror}.",
                advice="Check the disk; a copy from a backup can be put in its place.",
            ) from error

    def _place(self, sha256: str) -> Path:
        return self._content / sha256[:2] / sha256

    def _is_sound(self, sha256: str) -> bool:
        """Say whether the content is stored and unharmed.

        A damaged file is worth writing again, so an existing one is re-hashed the first time it is met and
        again whenever its size or time has changed.
        """
        try:
            state = self._place(sha256).stat()
        except OSError:
            return False
        seen = (state.st_size, state.st_mtime_ns)
        if self._sound.get(sha256) != seen:
            if self.verify(sha256) != sha256:
                return False
            self._sound[sha256] = seen
        return True

    def size(self, sha256: str) -> int:
        """Return the bytes that the content takes, 0 when it is not stored."""
        return self._place(sha256).stat().st_size if self.has(sha256) else 0

    def remove(self, sha256: str) -> int:
        """Remove the content for good and return the bytes that are free then, 0 when it was not there.

        Raises:
            StorageError: when it cannot be removed.
        """
        freed = self.size(sha256)
        if not self.has(sha256):
            return 0
        try:
            place = self._place(sha256)
            if os.name == "nt":
                place.chmod(0o666)  # what is read-only cannot be removed there
            place.unlink(missing_ok=True)
            _sync_folder(place.parent)
        except OSError as error:
            raise faults.from_os(error, self.folder, "the removal of an artifact") from error
        self._sound.pop(sha256, None)
        return freed

    def _store(self, pieces: Iterator[bytes], what: str) -> str:
        """Write the pieces to their place and return the hash of what was written."""
        unfinished = self._unfinished / f"{uuid.uuid4().hex}.part"
        digest = hashlib.sha256()
        try:
            with unfinished.open("xb") as target:
                for piece in pieces:
                    digest.update(piece)
                    target.write(piece)
                target.flush()
                os.fsync(target.fileno())
            unfinished.chmod(0o444)
            sha256 = digest.hexdigest()
            self._move(unfinished, self._place(sha256))
        except OSError as error:
            raise faults.from_os(error, self.folder, what) from error
        finally:
            with suppress(OSError):
                unfinished.unlink(missing_ok=True)
        return sha256

    def _move(self, unfinished: Path, place: Path) -> None:
        """Give the finished file its name and make the name itself survive a power cut."""
        if not place.parent.is_dir():
            place.parent.mkdir(mode=0o700, exist_ok=True)
            _sync_folder(self._content)
        try:
            unfinished.replace(place)
        except PermissionError:
            # Windows does not replace a file that is read-only or open; the same content may be there already.
            if os.name != "nt":
                raise
            if self.verify(place.name) != place.name:
                place.chmod(0o666)
                unfinished.replace(place)
        _sync_folder(place.parent)

    def _remove_leftovers(self) -> None:
        oldest = time.time() - _LEFTOVER_SECONDS
        for leftover in self._unfinished.glob("*.part"):
            with suppress(OSError):
                if leftover.stat().st_mtime < oldest:
                    leftover.unlink()


def _pieces(source: BinaryIO, path: Path) -> Iterator[bytes]:
    """Yield a file's content; what goes wrong here is the source's fault, not the store's."""
    while True:
        try:
            piece = source.read(_CHUNK)
        except OSError as error:
            raise _unreadable(path, error) from error
        if not piece:
            return
        yield piece


def _unreadable(path: Path, error: OSError) -> DataError:
    return DataError(
        f"The file {path} cannot be read: {error.strerror or type(error).__name__}.",
        advice="Give a file, not a folder, that you may read.",
    )


def _sync_folder(folder: Path) -> None:
    """Make a folder's list of names durable, where the system can do that."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
