"""Named arrays in one file that is mapped into memory, for what can always be made again.

A set of arrays is a folder with `arrays.bin` and `layout.json`. It is made under another name and renamed,
so it is there whole or not at all, and it is trusted only when size, layout and checksum agree: a disk that
was full, a power cut or a stray write costs a rebuild and never gives a wrong answer.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import mmap
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

_log = logging.getLogger(__name__)

_FORMAT = 1
_ALIGN = 64
_BLOCK = 1 << 16
"""Bytes that are summed up together; the checksum is a hash over these sums."""
_DATA, _LAYOUT = "arrays.bin", "layout.json"
_UNFINISHED = ".making-"

Arrays = dict[str, np.ndarray]


def load(folder: Path, about: Mapping[str, Any]) -> Arrays | None:
    """Return the arrays of a folder, mapped and read-only, or None when they are not there or not to be trusted.

    Args:
        folder: what `save` made.
        about: what the arrays must have been made of, as it was given to `save`.
    """
    try:
        layout = json.loads((folder / _LAYOUT).read_text(encoding="utf-8"))
        if layout["format"] != _FORMAT or layout["order"] != sys.byteorder or layout["about"] != dict(about):
            return None
        data, mapped = _map(folder / _DATA)
        if len(data) != layout["bytes"] or _checksum(data, layout) != layout["checksum"]:
            _log.warning("The graph's cache in %s is damaged and is made again.", folder)
            return None
        _let_go(mapped)
        return {name: _view(data, *place) for name, place in layout["arrays"].items()}
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        _log.warning("The graph's cache in %s cannot be used and is made again: %s", folder, error)
        return None


def save(folder: Path, arrays: Arrays, about: Mapping[str, Any]) -> None:
    """Write arrays so that `load` finds them; what the folder held before goes.

    Raises:
        OSError: when the disk will not have them; the folder is then as it was or is gone.
    """
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    making = folder.with_name(f"{_UNFINISHED}{os.getpid()}-{folder.name}")
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir(mode=0o700)
    try:
        places: dict[str, list[Any]] = {}
        end = 0
        with (making / _DATA).open("wb") as handle:
            for name, array in arrays.items():
                handle.write(b"\0" * (-end % _ALIGN))
                end += -end % _ALIGN
                places[name] = [array.dtype.str, list(array.shape), end]
                handle.write(np.ascontiguousarray(array).data.cast("B") if array.size else b"")
                end += array.nbytes
            handle.write(b"\0" * (-end % _ALIGN))
            end += -end % _ALIGN
        layout: dict[str, Any] = {
            "format": _FORMAT,
            "order": sys.byteorder,
            "about": dict(about),
            "arrays": places,
            "bytes": end,
        }
        layout["checksum"] = _checksum(_map(making / _DATA)[0], layout)
        (making / _LAYOUT).write_text(json.dumps(layout), encoding="utf-8")
        shutil.rmtree(folder, ignore_errors=True)
        making.rename(folder)
    except BaseException:
        shutil.rmtree(making, ignore_errors=True)
        raise


def remove_others(folder: Path) -> None:
    """Remove everything beside a folder: older versions, and what a killed process left half made.

    A version that is still mapped somewhere keeps its content until it is let go.
    """
    with contextlib.suppress(OSError):
        for other in folder.parent.iterdir():
            if other != folder and (other.name.isdigit() or other.name.startswith(_UNFINISHED)):
                shutil.rmtree(other, ignore_errors=True)


class Texts:
    """Many strings as one run of UTF-8 and the places where they end; decoded when asked for."""

    def __init__(self, data: np.ndarray, ends: np.ndarray) -> None:
        self._data = data.data
        self._ends = ends

    def __len__(self) -> int:
        """Return the number of strings."""
        return len(self._ends) - 1

    def __getitem__(self, number: int) -> str:
        """Return a string."""
        return self.encoded(number).decode("utf-8")

    def __iter__(self) -> Iterator[str]:
        """Yield all strings; much quicker than one by one."""
        data, ends = bytes(self._data), self._ends.tolist()
        for number in range(len(self)):
            yield data[ends[number] : ends[number + 1]].decode("utf-8")

    def encoded(self, number: int) -> bytes:
        """Return a string as it is stored."""
        return bytes(self._data[int(self._ends[number]) : int(self._ends[number + 1])])

    @staticmethod
    def pack(texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the two arrays that hold the strings."""
        encoded = [text.encode("utf-8") for text in texts]
        ends = np.zeros(len(encoded) + 1, dtype=np.int64)
        np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=ends[1:])
        return np.frombuffer(b"".join(encoded), dtype=np.uint8), ends


def _map(path: Path) -> tuple[np.ndarray, mmap.mmap | None]:
    """Return a file's bytes, mapped, and the mapping (none for an empty file)."""
    with path.open("rb") as handle:
        if not os.fstat(handle.fileno()).st_size:
            return np.empty(0, dtype=np.uint8), None
        mapped = mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ)
        return np.frombuffer(mapped, dtype=np.uint8), mapped


def _let_go(mapped: mmap.mmap | None) -> None:
    """Give back the pages that only the checksum has read; those that are used come again from the system's cache."""
    if mapped is not None and hasattr(mmap, "MADV_DONTNEED"):
        with contextlib.suppress(OSError):
            mapped.madvise(mmap.MADV_DONTNEED)


def _view(data: np.ndarray, dtype: str, shape: list[int], offset: int) -> np.ndarray:
    kind = np.dtype(dtype)
    count = int(np.prod(shape, dtype=np.int64))
    return data[offset : offset + count * kind.itemsize].view(kind).reshape(shape)


def _checksum(data: np.ndarray, layout: Mapping[str, Any]) -> str:
    """Return a hash over the sums of all blocks and the layout.

    Summing runs at the speed of memory, which a hash over every byte does not: 80 MB take 15 ms. Any single
    word that differs changes its block's sum.
    """
    words = data[: len(data) // 8 * 8].view(np.uint64)
    step = _BLOCK // 8
    whole = len(words) // step * step
    sums = words[:whole].reshape(-1, step).sum(axis=1, dtype=np.uint64)
    rest = words[whole:].sum(dtype=np.uint64)
    text = json.dumps({key: layout[key] for key in ("format", "order", "about", "arrays", "bytes")}, sort_keys=True)
    return hashlib.sha256(sums.tobytes() + rest.tobytes() + text.encode()).hexdigest()
