"""Opens text whatever its compression and encoding: half of the unreadable files are one of the two."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import re
import time
import zlib
from pathlib import Path
from typing import NamedTuple

from engine.data.source import UnusableFile

MAX_BYTES = 128 * 1024 * 1024
"""How much of a text is held at most; a longer one is cut at a line's end."""
COUNT_SECONDS = 4.0
"""How long the lines of what is not looked at are counted."""
_LINE = re.compile(r"\r\n|\r|\n")
_FAMILIAR = set("°µμ±²³¹–—‘’“”…€§½¼¾®©×·•«»¿¡ºª\u00a0£¥")


class Text(NamedTuple):
    """Decoded text and how it was decoded."""

    text: str
    encoding: str
    compressed: bool
    complete: bool
    more_lines: int = 0
    """Lines beyond the text, when it was cut: counted, or estimated where that would take long."""
    warning: str = ""

    def lines(self) -> list[str]:
        """Return the lines without their ends."""
        return split_lines(self.text)


def split_lines(text: str) -> list[str]:
    """Split at the line ends a CSV reader knows; `str.splitlines` splits at more."""
    lines = _LINE.split(text)
    return lines[:-1] if lines and not lines[-1] else lines


def read_bytes(path: Path, limit: int) -> tuple[bytes, bool, bool]:
    """Return (up to `limit` bytes decompressed, compressed, complete).

    Raises:
        UnusableFile: when a gzip file is damaged.
    """
    with path.open("rb") as handle:
        compressed = handle.read(2) == b"\x1f\x8b"
    try:
        if compressed:
            with gzip.open(path, "rb") as packed:
                data = packed.read(limit + 1)
        else:
            with path.open("rb") as plain:
                data = plain.read(limit + 1)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise _damaged(path, error) from error
    return data[:limit], compressed, len(data) <= limit


def is_binary(data: bytes) -> bool:
    """Say whether the bytes are no text in any usual encoding."""
    head = data[:8192]
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF8)):
        return False
    if b"\x00" in head:
        return _bare_utf16(head) is None
    control = sum(byte < 9 or 13 < byte < 32 for byte in head)
    return control > 0.02 * max(1, len(head))


def _bare_utf16(head: bytes) -> str | None:
    even, odd = head[0::2], head[1::2]
    if len(head) < 4:
        return None
    if odd.count(0) > 0.7 * len(odd) and even.count(0) < 0.05 * len(even) + 1:
        return "utf-16-le"
    if even.count(0) > 0.7 * len(even) and odd.count(0) < 0.05 * len(odd) + 1:
        return "utf-16-be"
    return None


def read_text(path: Path, limit: int = MAX_BYTES, patience: float = COUNT_SECONDS) -> Text:
    """Read and decode a text file.

    Args:
        limit: bytes of it that are read.
        patience: seconds after which the lines beyond are no longer counted but estimated.

    Raises:
        UnusableFile: when it is binary or cannot be decoded.
    """
    data, compressed, complete = read_bytes(path, limit)
    if is_binary(data):
        book = path.suffix.lower() in (".xlsx", ".xlsm", ".xls", ".ods")
        what = "is no workbook that can be opened: it is damaged or locked" if book else "is not text but binary data"
        message = f"{path.name} {what}; export it as CSV, TSV or Excel."
        raise UnusableFile(message)
    more = 0
    if not complete:
        cut = data.rfind(b"\n")
        data = data[: cut + 1] if cut > 0 else data
        more = _lines_beyond(path, data, patience, compressed=compressed)
    if data.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        message = f"{path.name} is text in UTF-32, which hardly a program reads; save it as UTF-8."
        raise UnusableFile(message)
    encoding, warning = _encoding(path.name, data)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        message = f"{path.name} has bytes that are no text ({error.reason} at byte {error.start:,}); save it as UTF-8."
        raise UnusableFile(message) from error
    if encoding in ("utf-16", "utf-8-sig"):
        text = text.lstrip("\ufeff")
    return Text(text, encoding, compressed, complete, more, warning)


def _lines_beyond(path: Path, data: bytes, patience: float, *, compressed: bool) -> int:
    """Count the lines after `data`; those that would take long are estimated from the share of the file that was read.

    Raises:
        UnusableFile: when a gzip file is damaged there.
    """
    size, until = path.stat().st_size, time.monotonic() + patience
    count, last = 0, b""
    try:
        with (
            path.open("rb") as raw,
            gzip.GzipFile(fileobj=raw) if compressed else contextlib.nullcontext(raw) as handle,
        ):
            handle.seek(len(data))
            while chunk := handle.read(1 << 22):
                count, last = count + chunk.count(b"\n"), chunk[-1:]
                if time.monotonic() > until:
                    before = data.count(b"\n")
                    return max(count, round((before + count) * size / max(1, raw.tell())) - before)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise _damaged(path, error) from error
    return count + (last not in (b"", b"\n"))


def _damaged(path: Path, error: Exception) -> UnusableFile:
    return UnusableFile(
        f"{path.name} is a gzip file that is damaged or cut short ({error}); copy or download it again."
    )


def _encoding(name: str, data: bytes) -> tuple[str, str]:
    if data.startswith(codecs.BOM_UTF8):
        return "utf-8-sig", ""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16", ""
    if b"\x00" in data[:8192] and (bare := _bare_utf16(data[:8192])):
        return bare, ""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        guess = _legacy_encoding(data)
        warning = (
            f"{name} is not UTF-8; it is read as {guess}: check that letters with accents look right, "
            "or save it as UTF-8."
        )
        return guess, warning
    return "utf-8", ""


def _legacy_encoding(data: bytes) -> str:
    """Choose a one-byte encoding from the lines that need one."""
    odd_lines = b"\n".join(line for line in data.splitlines() if not line.isascii())[:65536]
    western = "cp1252" if any(0x80 <= byte <= 0x9F for byte in odd_lines) else "latin-1"
    try:
        foreign = {char for char in odd_lines.decode(western) if ord(char) > 127}
        # A few accented letters are too little for statistics, and Western Europe is the usual case.
        if all(char.isalpha() or char in _FAMILIAR for char in foreign):
            return western
    except UnicodeDecodeError:
        pass
    from charset_normalizer import from_bytes

    best = from_bytes(odd_lines).best()
    if best is None:
        return "latin-1"
    try:
        data.decode(best.encoding)
    except (UnicodeDecodeError, LookupError):
        return "latin-1"
    return best.encoding
