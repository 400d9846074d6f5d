"""Looks at a file the way a colleague would before promising anything: what is it, and can it be used?

A file that cannot be used still gets a profile, with no types and one sentence that says why and what
to do; only a path that cannot be read at all is an error. Whatever is inside a file, nothing here may
end in a traceback, and never more is loaded than is needed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.data import formats
from engine.data.catalogue import BINARIES, KINDS, read_data
from engine.data.found import Found
from engine.data.kind import Look
from engine.data.reading.excel import read_sheets
from engine.data.reading.text_table import read_text_table
from engine.data.reading.textfile import Text, read_bytes, read_text
from engine.data.source import UnusableFile
from engine.data.structure.rows import look
from engine.data.tables import examine, head_of
from engine.domain.profile import Profile
from engine.errors import DataError

_START = 1024 * 1024
_WHOLE_TEXT = 64 * 1024 * 1024
"""Formats that are no tables are recognised from this much of a text."""
_BUSY = 256 * 1024 * 1024
"""A sign of life is given after so many bytes."""
_HOLE = 1024 * 1024 * 1024
"""Files that claim more than this must hold some of it."""
_NOT_WAITING = getattr(os, "O_NONBLOCK", 0)


def profile_files(paths: Iterable[Path | str]) -> list[Profile]:
    """Profile files, in the order given.

    Raises:
        DataError: for the first path that cannot be read.
    """
    return [profile_file(Path(path)) for path in paths]


def profile_file(path: Path | str) -> Profile:
    """Say what a file can serve as, how it is read, and what is wrong with it.

    Raises:
        DataError: when the path is missing, no ordinary file, or may not be read.
    """
    path = Path(path)
    identity: dict[str, Any] = {}
    for identity in identify_file(path):  # noqa: B007 - the last is the one
        pass
    return examine_file(path, identity)


def examine_file(path: Path, base: dict[str, Any]) -> Profile:
    """Look at the content of a file of which `base` (path, name, bytes, sha256) is known."""
    try:
        found = _look(path, base["bytes"])
        return Profile(**base, **found.facts(), others=[Profile(**base, **other.facts()) for other in found.others])
    except UnusableFile as reason:
        kind = path.suffix.lower().lstrip(".") or "unknown"
        return Profile(**base, format=kind, types=[], summary="Cannot be used as it is", warnings=[str(reason)])
    except MemoryError:
        message = f"{path.name} takes more memory to look at than there is; take a part of it, or add it as CSV."
        return Profile(**base, format="unknown", types=[], summary="Too large to look at", warnings=[message])
    except Exception as error:  # noqa: BLE001 - the border to files of any content: a user gets a sentence, not a traceback
        told = " ".join(str(error).split())[:160]
        message = (
            f"{path.name} could not be understood ({type(error).__name__}: {told}); "
            "open it, export it again as CSV and add that."
        )
        return Profile(**base, format="unknown", types=[], summary="Cannot be used as it is", warnings=[message])


def identify_file(path: Path) -> Iterator[dict[str, Any]]:
    """Yield an empty value now and then while the file is hashed, then its path, name, size and SHA-256.

    Raises:
        DataError: when the path is missing, no ordinary file, or may not be read.
    """
    _require_name(path)
    size, read, digest = _ordinary_size(path), 0, hashlib.sha256()
    try:
        # Between the look at it and this a file may become a pipe, which must not be waited for.
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | _NOT_WAITING)) as handle:
            while chunk := handle.read(1 << 20):
                digest.update(chunk)
                read += len(chunk)
                if read > size:
                    break
                if not read % _BUSY:
                    yield {}
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    if read != size:
        message = f"{_short(path)} changes while it is read: it has {read:,} bytes where {size:,} were told."
        raise DataError(message, advice="Wait until it is written, or copy it, and add that.")
    yield {"path": str(path), "name": path.name, "bytes": size, "sha256": digest.hexdigest()}


def _require_name(path: Path) -> None:
    """Refuse names that no plan and no report could repeat.

    Raises:
        DataError: when the name has control characters or the path is no text.
    """
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        message = f"The name of the file {os.fsencode(path)[-200:]!r} is no UTF-8 text."
        raise DataError(message, advice="Rename the file, or the folder it is in.") from error
    if any(unicodedata.category(char) in ("Cc", "Zl", "Zp") for char in path.name):
        message = f"The name of the file {_short(path)} has line ends or other control characters in it."
        raise DataError(message, advice="Rename the file.")


def _ordinary_size(path: Path) -> int:
    """Return the bytes of an ordinary file.

    Raises:
        DataError: when it is missing, a folder, a device, a pipe, a file of the system's own or nearly all hole.
    """
    try:
        found = path.stat()
        if stat.S_ISDIR(found.st_mode):
            raise _folder(path)
        real = path.resolve()
    except (OSError, ValueError, RuntimeError) as error:
        raise _unreadable(path, error) from error
    if not stat.S_ISREG(found.st_mode) or real.is_relative_to("/proc") or real.is_relative_to("/sys"):
        message = f"{_short(path)} is no ordinary file."
        raise DataError(message, advice="Copy its content into a file and add that.")
    held = getattr(found, "st_blocks", None)
    if found.st_size > _HOLE and held is not None and held * 512 < found.st_size / 50:
        message = f"{_short(path)} claims {found.st_size:,} bytes and holds {held * 512:,}: the rest was never written."
        raise DataError(message, advice="Copy or download it again.")
    return found.st_size


def _folder(path: Path) -> DataError:
    if any((path / name).exists() for name in ("matrix.mtx", "matrix.mtx.gz")):
        message = f"{_short(path)} is a 10x folder, which is not read directly yet."
        return DataError(message, advice="Save it as .h5ad (scanpy.read_10x_mtx, then write_h5ad) and add that file.")
    message = f"{_short(path)} is a folder; a file was expected."
    return DataError(message, advice="Name the files in it that you want to use.")


def _unreadable(path: Path, error: Exception) -> DataError:
    if isinstance(error, FileNotFoundError):
        return DataError(f"There is no file {_short(path)}.", advice="Check the name and the folder.")
    reason = getattr(error, "strerror", None) or str(error).split(":")[0]
    return DataError(f"{_short(path)} cannot be read ({reason}).", advice="Check that you may read the file.")


def _short(path: Path) -> str:
    text = str(path)
    return repr(text if len(text) <= 300 else f"{text[:120]}...{text[-120:]}")


def _look(path: Path, size: int) -> Found:
    name = path.name
    if size == 0:
        message = f"{name} is empty; export or download it again."
        raise UnusableFile(message)
    head, compressed, _ = read_bytes(path, 4096)
    for binary in BINARIES:
        if head.startswith(binary.magic) and not compressed:
            return binary.look(path)
        if head.startswith(binary.magic):
            message = f"{name} is a gzipped {binary.container} file; unpack it and add the .{binary.format} file."
            raise UnusableFile(message)
    if head.startswith(b"PK\x03\x04"):
        if compressed:
            message = f"{name} is a gzipped zip or Excel file; unpack it and add what is inside."
            raise UnusableFile(message)
        kind = formats.zip_kind(name, path)
        return _workbook(path) if kind == "xlsx" else formats.zip_profile(name, kind)
    unusable = formats.by_magic(name, head if not compressed else b"", head if compressed else b"")
    if unusable is not None:
        return unusable
    missing = next((binary for binary in BINARIES if path.suffix.lower() == f".{binary.format}"), None)
    if missing is not None:
        message = f"{name} ends in .{missing.format} but is no {missing.container} file; copy or download it again."
        raise UnusableFile(message)
    return _text(path)


def _workbook(path: Path) -> Found:
    first, *more = read_sheets(path)
    found = examine(path.name, first)
    for source in more:
        with contextlib.suppress(UnusableFile):
            found.others.append(examine(path.name, source))
    return found


def _text(path: Path) -> Found:
    text = read_text(path)
    if not text.text.strip():
        message = f"{path.name} holds nothing but blank lines; export or download it again."
        raise UnusableFile(message)
    # A look at the start tells tables from the rest; only the rest is then looked at as a whole.
    start = _beginning(text, _START)
    whole = text.text.lstrip().startswith(("(", "[", "{"))
    found = None if whole else formats.by_text(Look(path.name, start))
    looked = start
    if whole or (found is not None and start is not text):
        looked = _beginning(text, _WHOLE_TEXT)
        found = formats.by_text(Look(path.name, looked))
    if found is None:
        return examine(path.name, read_text_table(path, text))
    return _with_columns(path, found) if looked.complete else _of_a_part(path.name, found, looked)


def _with_columns(path: Path, found: Found) -> Found:
    """Add what the columns of records are that only their own kind can read."""
    if not found.types or not KINDS[found.types[0].type].records:
        return found
    frame = read_data(path, found.types[0].type, **found.types[0].read)
    columns, structure = look(frame)
    return replace(
        found,
        rows=len(frame),
        columns=frame.shape[1],
        column_profiles=columns,
        structure=structure,
        head=head_of(frame),
    )


def _beginning(text: Text, limit: int) -> Text:
    if len(text.text) <= limit:
        return text
    cut = text.text.rfind("\n", 0, limit)
    kept = text.text[: cut + 1] if cut > 0 else text.text[:limit]
    return text._replace(text=kept, complete=False, more_lines=text.more_lines + text.text.count("\n", len(kept)))


def _of_a_part(name: str, found: Found, looked: Text) -> Found:
    size = len(looked.text) / 1e6
    note = (
        f"{name} is large: the numbers above were counted or estimated from its first {size:,.0f} million characters."
    )
    about = "" if found.summary.startswith("About ") else " (from the beginning of the file)"
    return replace(found, rows_estimated=True, summary=found.summary + about, warnings=[*found.warnings, note])
