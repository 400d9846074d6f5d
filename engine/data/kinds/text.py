"""Running text."""

from __future__ import annotations

import re

from engine.data.found import Found, guess
from engine.data.kind import Kind, Look
from engine.data.source import plural
from engine.domain.datatypes import DataType


def read_text(path):
    """Read a text in UTF-8."""
    with open(path, encoding="utf-8") as handle:
        return handle.read()


def write_text(value, stem):
    """Write a text; return the file's name."""
    name = f"{stem}.txt"
    with open(name, "w", encoding="utf-8") as handle:
        handle.write(value)
    return name


def _prose(look: Look) -> Found | None:
    """Recognise running text: long lines of words, or a Markdown file."""
    body = [line for line in look.lines[:200] if line.strip()]
    wordy = sum(len(line.split()) >= 6 and re.search(r"[a-z]{3} [a-z]{2}", line) is not None for line in body)
    if look.suffix not in (".md", ".txt", ".rst", "") or look.is_json or not body:
        return None
    tabular = sum("\t" in line for line in body) > 0.5 * len(body)
    if look.suffix == ".md" or (wordy >= 0.5 * len(body) and not tabular):
        words = sum(len(line.split()) for line in look.lines)
        plain = look.text.encoding in ("utf-8", "utf-8-sig") and not look.text.compressed
        types = guess(DataType.TEXT, 0.8) if plain else []
        warnings = [] if types else [f"{look.name} is a text that is not plain UTF-8; save it as UTF-8 to use it."]
        return Found("text", types, f"A text of {plural(words, 'word')}", warnings)
    return None


TEXT = Kind(type=DataType.TEXT, edam="data_3671", general=2, read=read_text, write=write_text, in_text=_prose)
