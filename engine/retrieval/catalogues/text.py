"""Reading a catalogue's files: plain or gzip, UTF-8, with the line at fault in every error."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from engine.domain.retrieval import CatalogueEntry
from engine.errors import DataError

MAX_BYTES = 1 << 30
"""More than any catalogue; a small compressed file must not fill the memory."""


def refuse(path: Path, what: str, expected: str) -> DataError:
    """Return the error for a catalogue that cannot be read.

    Args:
        path: the file at fault.
        what: what is wrong, with the line.
        expected: what should be there, as a sentence.
    """
    return DataError(f"The catalogue {path} cannot be read: {what}.", advice=expected)


def read_bytes(path: Path, expected: str) -> bytes:
    """Return a file's content, decompressed when it is gzip.

    Raises:
        DataError: when it is missing, a folder, not readable, damaged, too large or empty.
    """
    if path.is_dir():
        raise refuse(path, "it is a folder", expected)
    if not path.exists():
        raise refuse(path, "there is no such file", "Check the path.")
    try:
        with path.open("rb") as stream:
            compressed = stream.read(2) == b"\x1f\x8b"
        with gzip.open(path) if compressed else path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        what = f"it is damaged or was not downloaded to its end (gzip, after line {_sound_lines(path):,})"
        raise refuse(path, what, "Fetch the file again.") from error
    except OSError as error:
        raise refuse(path, error.strerror or type(error).__name__, "Check that you may read it.") from error
    if len(data) > MAX_BYTES:
        raise refuse(path, "it holds more than 1 GB", expected)
    if not data.strip():
        raise refuse(path, "it is empty", expected)
    return data


def _sound_lines(path: Path) -> int:
    """Return how many whole lines can be read of a gzip file before the place where it is damaged."""
    lines = 0
    # In small pieces: what was unpacked before the damage is lost with the piece that holds it.
    with suppress(OSError, EOFError, zlib.error), gzip.open(path) as stream:
        while piece := stream.read1(8192):
            lines += piece.count(b"\n")
    return lines


def read_text(path: Path, expected: str) -> str:
    """Return a file's text.

    Raises:
        DataError: as `read_bytes`, and for a file that is not text or not UTF-8.
    """
    return decode(path, read_bytes(path, expected), expected)


def decode(path: Path, data: bytes, expected: str) -> str:
    """Return bytes as text, or say which line is not UTF-8.

    Raises:
        DataError: for bytes that are not text in UTF-8.
    """
    zero = data.find(b"\0")
    if zero >= 0:
        line = data.count(b"\n", 0, zero) + 1
        raise refuse(path, f"line {line:,} has a zero byte, so it is a binary file, not text", expected)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise refuse(path, f"line {line} is not UTF-8 text", "Save it as UTF-8 and try again.") from error


def json_lines(path: Path, text: str, expected: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number from 1, object) of every line that is not empty.

    Raises:
        DataError: for a line that is not a JSON object.
    """
    # Not splitlines: U+2028 and its kind may stand inside a JSON string.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            why = f"{error.msg}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else str(error)
            raise refuse(path, f"line {number} is not JSON ({why})", expected) from error
        if not isinstance(value, dict):
            raise refuse(path, f"line {number} is {_kind(value)}, not a JSON object", expected)
        yield number, value


def json_document(path: Path, text: str, expected: str) -> Any:
    """Return a whole file's JSON value.

    Raises:
        DataError: when it is not JSON.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        what = f"line {error.lineno} is not JSON ({error.msg}, column {error.colno})"
        raise refuse(path, what, expected) from error
    except (ValueError, RecursionError) as error:
        raise refuse(path, f"it is not JSON ({error})", expected) from error


def shown(value: Any) -> str:
    """Return a value as a message quotes it: on one line and short."""
    text = repr(value[:100] if isinstance(value, str) else value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def words_of(value: Any) -> list[str]:
    """Return a list of texts from a list, a text with commas, or nothing; each once, in order."""
    if not value:
        return []
    items = value.split(",") if isinstance(value, str) else value if isinstance(value, list | tuple) else []
    cleaned = (plain(item) for item in items if not isinstance(item, dict | list))
    return list(dict.fromkeys(item for item in cleaned if item))


def plain(value: Any) -> str:
    """Return a value as one line of text: no line breaks, no halves of surrogate pairs, no other control marks."""
    if value is None:
        return ""
    text = " ".join(str(value).split())
    if text.isprintable():
        return text
    return "".join(
        mark for mark in text.encode("utf-8", "replace").decode("utf-8") if mark.isprintable() or mark == " "
    )


def distinct(entries: Iterable[CatalogueEntry]) -> Iterator[CatalogueEntry]:
    """Give every entry a name of its own: the second `quast` of a catalogue becomes `quast#2`."""
    times: dict[str, int] = {}
    for entry in entries:
        name = entry.name
        while name in times:
            times[entry.name] += 1
            name = f"{entry.name}#{times[entry.name]}"
        times.setdefault(name, 1)
        yield entry if name == entry.name else entry.model_copy(update={"name": name})


def _kind(value: Any) -> str:
    names = {list: "a list", str: "a text", bool: "a truth value", int: "a number", float: "a number"}
    return names.get(type(value), "null")
