"""Says whether a figure that a step drew can be shown: it comes from code that is not trusted, and reports embed it.

A PNG is read chunk by chunk and inflated piece by piece, so that neither a size that is only claimed nor one that is
real costs memory. An SVG is a program's source as well as a picture: only what draws is let through.
Sources: PNG specification, third edition (W3C 2025); SVG 2 (W3C 2018), chapters on linking and scripting.
"""

from __future__ import annotations

import re
import struct
import zlib
from pathlib import Path
from typing import Any
from xml.parsers import expat

MOST_PIXELS = 40_000_000
LONGEST_SIDE = 20_000
MOST_BYTES = 64 << 20
MOST_ELEMENTS = 500_000
_PIECE = 1 << 20
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
"""PNG colour type -> samples per pixel."""
_BITS = {0: (1, 2, 4, 8, 16), 3: (1, 2, 4, 8)}
"""PNG colour type -> bits a sample may have; the others have 8 or 16."""
_MOST_BESIDE = 1 << 20
"""Bytes that all chunks of a PNG other than the picture may have together."""
_ACTIVE = frozenset(
    "script foreignobject iframe embed object audio video canvas link meta base handler listener set".split()
)
_DRAWN = "http://www.w3.org/2000/svg"
_DESCRIBING = frozenset((
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#", "http://purl.org/dc/elements/1.1/",
    "http://creativecommons.org/ns#", "http://web.resource.org/cc/",
))  # fmt: skip
"""Namespaces of the metadata that drawing programs write; no browser shows anything for them."""
_ELSEWHERE = re.compile(
    r"url\(\s*['\"]?\s*(?!['\"]?#)|@import|image(-set)?\(|\bsrc\(|expression\(|javascript:|\\", re.IGNORECASE
)
_INLINE = re.compile(r"(#|data:image/(png|jpeg|gif);base64,)")


def figure_problem(data: bytes) -> str:
    """Return "" for a PNG or SVG that can be shown, else in a few words why not; never raises for what it holds."""
    if len(data) > MOST_BYTES:
        return f"it has more than {MOST_BYTES >> 20} MB"
    if data.startswith(_SIGNATURE):
        return _png_problem(data)
    if is_svg(data):
        return _svg_problem(data)
    return "it is neither a PNG nor an SVG"


def read_figure(path: Path) -> tuple[bytes, str]:
    """Return a file's bytes, of too many only the first, and what `figure_problem` says of them."""
    with path.open("rb") as handle:
        data = handle.read(MOST_BYTES + 1)
    return data, figure_problem(data)


def is_svg(data: bytes) -> bool:
    """Say whether the bytes begin as an SVG does."""
    return re.match(rb"(\xef\xbb\xbf)?\s*<", data[:200]) is not None and b"<svg" in data[:4096]


def _png_problem(data: bytes) -> str:
    place, beside, number = len(_SIGNATURE), 0, 0
    inflater, left, ended, palette = zlib.decompressobj(), 0, False, False
    while place + 12 <= len(data):
        length, kind = struct.unpack_from(">I4s", data, place)
        body = memoryview(data)[place + 8 : place + 8 + length]
        place += 12 + length
        if place > len(data) or zlib.crc32(body, zlib.crc32(kind)) != struct.unpack_from(">I", data, place - 4)[0]:
            return "it is a damaged PNG"
        if number == 0:
            left = _scanline_bytes(bytes(body)) if kind == b"IHDR" else "it is a damaged PNG"
            if isinstance(left, str):
                return left
        elif kind == b"PLTE":
            palette = True
        elif kind == b"IDAT":
            without_palette = data[25] == 3 and not palette
            left = -1 if without_palette else _inflated(inflater, bytes(body), left)
            if left < 0:
                return "it is a damaged PNG"
        elif kind == b"IEND":
            ended = True
            break
        else:
            beside += length
            if kind in (b"acTL", b"fcTL", b"fdAT", b"IHDR") or beside > _MOST_BESIDE:
                return "it holds more than one picture"
        number += 1
    left -= len(inflater.flush())  # at most the copy of one match that the last piece had no room for
    return "" if ended and left == 0 and inflater.eof else "it is a damaged PNG"


def _scanline_bytes(header: bytes) -> int | str:
    """Return how many bytes the picture inflates to, or why it cannot be shown."""
    if len(header) != 13:
        return "it is a damaged PNG"
    width, height, bits, colour, _, _, interlaced = struct.unpack(">IIBBBBB", header)
    if not width or not height or colour not in _CHANNELS or interlaced:
        return "it is a PNG of a kind that is not drawn here"
    if bits not in _BITS.get(colour, (8, 16)):
        return "it is a PNG of a kind that is not drawn here"
    problem = _size_problem(width, height)
    return problem or height * (1 + (width * bits * _CHANNELS[colour] + 7) // 8)


def _inflated(inflater: Any, body: bytes, left: int) -> int:
    """Return how many bytes are still to come after this piece; -1 when it is damaged or more than it should be."""
    try:
        while body and left >= 0:
            left -= len(inflater.decompress(body, _PIECE))
            body = inflater.unconsumed_tail
    except zlib.error:
        return -1
    return left


def _size_problem(width: float, height: float) -> str:
    if max(width, height) > LONGEST_SIDE or width * height > MOST_PIXELS:
        return f"it has {width:,.0f} x {height:,.0f} pixels, more than can be shown"
    return ""


class _SvgRefused(Exception):
    """What was met in an SVG."""


class _SvgParts:
    """Judges each part of an SVG as it is read."""

    def __init__(self) -> None:
        self.elements = 0
        self.style: list[str] | None = None
        """The text of the style sheet that is being read: what matters in it may be cut anywhere."""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.elements += 1
        space, _, element = name.rpartition(" ")
        element = element.lower()
        if self.elements == 1:
            if element != "svg":
                raise _SvgRefused("it is neither a PNG nor an SVG")
            _check_svg_size(attributes)
        if self.elements > MOST_ELEMENTS:
            raise _SvgRefused(f"it has more than {MOST_ELEMENTS:,} parts")
        if element in _ACTIVE or (space != _DRAWN and space not in _DESCRIBING):
            raise _SvgRefused(f"it holds an element {element!r}")
        if self.style is not None:
            raise _SvgRefused("it holds a style sheet with parts")
        if element == "style":
            self.style = []
        for attribute, value in attributes.items():
            _check_attribute(attribute.rpartition(" ")[2].lower(), value)

    def end(self, _: str) -> None:
        if self.style is not None:
            whole, self.style = "".join(self.style), None
            self.text(whole)

    def text(self, content: str) -> None:
        if self.style is not None:
            self.style.append(content)
        if _ELSEWHERE.search(content):
            raise _SvgRefused("it refers to something outside itself")


def _svg_problem(data: bytes) -> str:
    def refuse(*_: object) -> None:
        raise _SvgRefused("it declares entities or a style sheet")

    parts = _SvgParts()
    parser = expat.ParserCreate("utf-8", " ")
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = parts.start, parts.end
    parser.CharacterDataHandler = parts.text
    parser.XmlDeclHandler = lambda _version, encoding, _alone: _check_encoding(encoding)
    parser.EntityDeclHandler = parser.ProcessingInstructionHandler = refuse
    # matplotlib writes the plain DOCTYPE of SVG 1.1; nothing is fetched for it, and an internal subset is refused.
    parser.StartDoctypeDeclHandler = lambda _name, _system, _public, internal: refuse() if internal else None
    try:
        parser.Parse(data, True)
    except _SvgRefused as refused:
        return str(refused)
    except (expat.ExpatError, ValueError):
        return "it is a damaged SVG"
    return ""


def _check_encoding(encoding: str | None) -> None:
    # What is looked at here is UTF-8: a browser that is told another encoding would see another text.
    if encoding and encoding.lower() not in ("utf-8", "us-ascii", "ascii"):
        raise _SvgRefused("it is not written in UTF-8")


def _check_attribute(name: str, value: str) -> None:
    if name.startswith("on") or name == "base":
        raise _SvgRefused("it holds a script")
    if name in ("href", "src") and not _INLINE.match(value.strip()):
        raise _SvgRefused("it refers to something outside itself")
    if name == "attributename" and value.rpartition(":")[2].strip().lower() == "href":
        raise _SvgRefused("it refers to something outside itself")
    if not name.startswith("xmlns") and name not in ("href", "src") and _ELSEWHERE.search(value):
        raise _SvgRefused("it refers to something outside itself")


def _check_svg_size(attributes: dict[str, str]) -> None:
    sides = [re.match(r"\s*([0-9.]+)", attributes.get(name, "")) for name in ("width", "height")]
    try:
        width, height = (float(side[1]) if side else 1.0 for side in sides)
    except ValueError as error:
        raise _SvgRefused("it is a damaged SVG") from error
    problem = _size_problem(width, height)
    if problem:
        raise _SvgRefused(problem)
