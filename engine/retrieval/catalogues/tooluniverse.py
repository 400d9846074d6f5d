"""Tool specifications of ToolUniverse (https://github.com/mims-harvard/ToolUniverse).

Read from JSON lists, as the project keeps them (one file or a folder of them), or from one object a line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine.domain.retrieval import CatalogueEntry
from engine.errors import DataError
from engine.retrieval.catalogues.text import distinct, json_document, json_lines, plain, read_text, refuse, words_of

EXPECTED = "Expected ToolUniverse's specifications: a JSON list, a folder of such files, or one JSON object a line."


def read(path: Path) -> Iterator[CatalogueEntry]:
    """Yield the tools of a file, plain or gzip, or of a folder of files.

    Raises:
        DataError: for something else, or a file in it that cannot be read.
    """
    return distinct(_entries(path))


def _entries(path: Path) -> Iterator[CatalogueEntry]:
    if not path.is_dir():
        yield from _file(path)
        return
    found = 0
    for file in sorted([*path.rglob("*.json"), *path.rglob("*.jsonl")]):
        for entry in _file(file, only_tools=True):
            found += 1
            yield entry
    if not found:
        raise refuse(path, "the folder holds no JSON file with tools", EXPECTED)


def _file(path: Path, *, only_tools: bool = False) -> Iterator[CatalogueEntry]:
    """Yield a file's tools; with `only_tools` a sound file of something else, as the project has some, gives none."""
    records = list(_records(path, read_text(path, EXPECTED), strict=not only_tools))
    if only_tools and not any(isinstance(record, dict) and record.get("name") for _, record in records):
        return
    for where, record in records:
        yield _entry(path, where, record)


def _records(path: Path, text: str, *, strict: bool) -> Iterator[tuple[str, Any]]:
    """Yield (where, record)."""
    if _is_lines(text):
        for number, record in json_lines(path, text, EXPECTED):
            yield f"line {number}", record
        return
    document = json_document(path, text, EXPECTED)
    records = [document] if isinstance(document, dict) else document
    if not isinstance(records, list):
        if not strict:
            return
        raise refuse(path, "line 1 does not begin a list of tools", EXPECTED)
    for number, record in enumerate(records, start=1):
        yield f"entry {number}", record


def _is_lines(text: str) -> bool:
    """Say whether the first line is an object by itself."""
    first = text.lstrip().split("\n", 1)[0]
    if not first.startswith("{"):
        return False
    try:
        return isinstance(json.loads(first), dict)
    except (ValueError, RecursionError):
        # Of several objects a line the first may be the broken one; a document has its brace or a key there.
        return len(first) > 1 and '"name"' in first and '"description"' in first


def _entry(path: Path, where: str, record: Any) -> CatalogueEntry:
    name = plain(record.get("name")) if isinstance(record, dict) else ""
    if not name:
        raise _no_name(path, where)
    parameter = record.get("parameter")
    properties = parameter.get("properties") if isinstance(parameter, dict) else None
    labels = [*words_of(record.get("label")), *words_of(record.get("category")), *words_of(record.get("tags"))]
    group = plain(record.get("file")) or path.name
    return CatalogueEntry(
        name=name,
        description=plain(record.get("description")) or name,
        catalogue="tooluniverse",
        keywords=list(dict.fromkeys(labels)),
        params=[plain(key) for key in properties] if isinstance(properties, dict) else [],
        suite=plain(record.get("type")) or group.split(".")[0],
        license="Apache-2.0",
    )


def _no_name(path: Path, where: str) -> DataError:
    return refuse(path, f"{where} has no 'name'", EXPECTED)
