"""Text files line by line, plain or gzipped, with errors that name the file and the line.

Every reader here goes through `line_blocks`: it decodes some megabytes at once, which is what makes millions of
lines a second possible, and it turns what can be wrong with a file (cut short, binary, another encoding, a web
page saved under the file's name) into one `DataError`.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import suppress
from io import BufferedReader
from pathlib import Path

from engine.errors import DataError

BLOCK_BYTES = 4 * 1024 * 1024
MAX_LINE_BYTES = 64 * 1024 * 1024
"""A longer line is no table of nodes or edges; reading on would only fill the memory."""

LONGEST_ROW = 200_000
"""Characters of a line in formats that have an entry in each line; more is something else, or a fault of the file."""

_FOREIGN = (
    (b"PK\x03\x04", "a ZIP archive (or an Excel workbook)", "Unpack it, or export the sheet as CSV or TSV."),
    (b"BZh", "compressed with bzip2", "Unpack it with `bunzip2` first."),
    (b"\xfd7zXZ", "compressed with xz", "Unpack it with `unxz` first."),
    (b"%PDF", "a PDF document", "Choose the data file itself."),
    (b"\xff\xfe", "text in UTF-16", "Save it as UTF-8."),
    (b"\xfe\xff", "text in UTF-16", "Save it as UTF-8."),
    (b"version https://git-lfs", "a Git LFS pointer, not the data", "Download the file itself from its project."),
)
_NOT_TEXT = "Choose a text file in the format that was named; a single zero byte in one can be taken out."
_GZIP = b"\x1f\x8b"


def check_readable(path: Path) -> None:
    """Refuse what cannot be a data file, before anything is read of it.

    Raises:
        DataError: for a missing file, a folder, an empty file or a file without permission.
    """
    if path.is_dir():
        message = f"{path.name} is a folder; a file was expected."
        raise DataError(message, advice="Give the files in it one by one.")
    try:
        if path.stat().st_size == 0:
            message = f"{path.name} is empty."
            raise DataError(message, advice="Copy or download it again.")
        with path.open("rb"):
            pass
    except FileNotFoundError:
        message = f"There is no file {path}."
        raise DataError(message, advice="Check the path.") from None
    except OSError as error:
        message = f"{path.name} cannot be opened: {error.strerror or error}."
        raise DataError(message, advice="Check the file's permissions.") from error


def open_bytes(path: Path) -> gzip.GzipFile | BufferedReader:
    """Open a file for reading, unpacking gzip by its content whatever its name.

    Raises:
        DataError: see `check_readable`.
    """
    check_readable(path)
    with path.open("rb") as handle:
        packed = handle.read(2) == _GZIP
    return gzip.open(path, "rb") if packed else path.open("rb")


def damaged(path: Path, line: int, error: Exception) -> DataError:
    """Return the error for a file that could not be read on after a line."""
    where = f"after line {line:,}" if line else "at its beginning"
    if isinstance(error, (EOFError, gzip.BadGzipFile, zlib.error)):
        message = f"{path.name} is a gzip file that is damaged or cut short ({where})."
        advice = "Copy or download it again (`biodesk kg fetch NAME --again` for what was fetched)."
        return DataError(message, advice=advice)
    return DataError(f"{path.name} cannot be read on {where}: {error}.", advice="Check the disk it lies on.")


def line_blocks(path: Path, size: int = BLOCK_BYTES, longest: int | None = None) -> Iterator[tuple[int, list[str]]]:
    """Yield (number of the first line, lines without their ends), some megabytes at a time.

    Lines end with LF, CR LF or CR; a byte order mark is dropped. The last line needs no end.

    Args:
        path: the file.
        size: bytes to read at once.
        longest: characters a line may have; 64 MB of it when None.

    Raises:
        DataError: for a file that is no readable UTF-8 text, or a longer line; names the line.
    """
    line = 1
    rest = b""
    with open_bytes(path) as handle:
        while True:
            try:
                data = handle.read(size)
            except (OSError, EOFError, zlib.error) as error:
                raise damaged(path, max(line - 1, _sound_lines(path)), error) from error
            if line == 1 and not rest:
                data = data.removeprefix(b"\xef\xbb\xbf")
                _check_head(path, data)
            cut = data.rfind(b"\n") + 1 if data else 0
            block, rest = (rest + data[:cut], data[cut:]) if cut else (b"", rest + data)
            if not data:
                block, rest = rest, b""
            if len(rest) > MAX_LINE_BYTES:
                where = line + block.count(b"\n")
                message = f"{path.name}, line {where:,} is longer than {MAX_LINE_BYTES // 2**20} MB."
                raise DataError(message, advice="This is not a table of nodes or edges.")
            if block:
                lines = _decoded(path, line, block)
                if longest is not None and len(block) > longest:
                    _refuse_longer(path, line, lines, longest)
                yield line, lines
                line += len(lines)
            if not data:
                return


def _sound_lines(path: Path) -> int:
    """Return how many whole lines can be read of a gzip file before the place where it is damaged."""
    lines = 0
    # In small pieces: what was unpacked before the damage is lost with the piece that holds it.
    with suppress(OSError, EOFError, zlib.error), gzip.open(path, "rb") as handle:
        while piece := handle.read1(8192):
            lines += piece.count(b"\n")
    return lines


def _refuse_longer(path: Path, first: int, lines: list[str], longest: int) -> None:
    for number, line in enumerate(lines, first):
        if len(line) > longest:
            problem = f"{len(line):,} characters, where an entry has at most {longest:,}; it starts {shown(line[:40])}."
            raise bad_line(path, number, problem)


def numbered_lines(path: Path, longest: int | None = LONGEST_ROW) -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, line without its end); errors as in `line_blocks`."""
    for start, lines in line_blocks(path, longest=longest):
        yield from enumerate(lines, start)


def first_lines(path: Path, count: int = 50) -> list[str]:
    """Return up to `count` lines that are not blank; errors as in `line_blocks`."""
    found: list[str] = []
    for _, lines in line_blocks(path, 1 << 16):
        found.extend(line for line in lines if line.strip())
        if len(found) >= count:
            break
    return found[:count]


def _decoded(path: Path, line: int, block: bytes) -> list[str]:
    try:
        text = block.decode("utf-8")
    except UnicodeDecodeError as error:
        where = line + block.count(b"\n", 0, error.start)
        message = f"{path.name}, line {where:,} is not UTF-8 text (byte 0x{block[error.start]:02x})."
        raise DataError(message, advice="Save the file as UTF-8.") from error
    if "\x00" in text:
        where = line + text.count("\n", 0, text.index("\x00"))
        message = f"{path.name}, line {where:,} has a zero byte: this is binary data, not text."
        raise DataError(message, advice=_NOT_TEXT)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return lines


def _check_head(path: Path, data: bytes) -> None:
    if not data:
        raise DataError(f"{path.name} is empty.", advice="Copy or download it again.")
    for start, what, advice in _FOREIGN:
        if data.startswith(start):
            raise DataError(f"{path.name} is {what}; plain or gzipped text was expected.", advice=advice)
    zero = data.find(b"\x00", 0, 4096)
    if zero >= 0:
        where = data.count(b"\n", 0, zero) + 1
        message = (
            f"{path.name}, line {where:,} has a zero byte: this is binary data; plain or gzipped text was expected."
        )
        raise DataError(message, advice=_NOT_TEXT)
    head = data[:512].lstrip().lower()
    if head.startswith((b"<!doctype html", b"<html")):
        message = f"{path.name} is a web page (line 1 starts HTML), not the data: the download gave an error page."
        raise DataError(message, advice="Open it in a browser to see what the server said, then download again.")


def bad_line(path: Path, line: int, problem: str, advice: str = "") -> DataError:
    """Return a `DataError` whose sentence starts with the file and the line."""
    return DataError(f"{path.name}, line {line:,}: {problem}", advice=advice or "Correct the line and import again.")


def counted(count: int, what: str) -> str:
    """Return a number with what it counts: `1 field`, `2 fields`."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def shown(value: str, limit: int = 60) -> str:
    """Return a value as it is quoted in a message: printable and short."""
    text = repr(value)
    return text if len(text) <= limit else f"{text[: limit - 4]}...'"
