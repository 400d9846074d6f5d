"""A table of tools of one's own: one JSON object a line.

`name` and `description` must be there; every other field of `CatalogueEntry` may be, and what is not one of
them is passed over. The entries are descriptions, whatever the file says of `runnable`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine.domain.retrieval import CatalogueEntry
from engine.retrieval.catalogues.text import distinct, json_lines, plain, read_text, refuse, shown, words_of

EXPECTED = 'Expected one JSON object a line, like {"name": "bwa", "description": "Aligns reads to a genome."}.'
_TEXTS = ("title", "catalogue", "domain", "suite", "url", "license", "call")
_LISTS = ("keywords", "operations", "inputs", "outputs", "params", "requires_tool", "produces_for")


def read(path: Path) -> Iterator[CatalogueEntry]:
    """Yield the tools of a JSONL file, plain or gzip.

    Raises:
        DataError: for a file or line that is not such a table.
    """
    catalogue = path.name.split(".")[0] or "jsonl"
    lines = json_lines(path, read_text(path, EXPECTED), EXPECTED)
    return distinct(_entry(path, number, record, catalogue) for number, record in lines)


def _entry(path: Path, number: int, record: dict[str, Any], catalogue: str) -> CatalogueEntry:
    for key in ("name", "description"):
        if key not in record:
            raise refuse(path, f"line {number} has no {key!r}", EXPECTED)
        if not isinstance(record[key], str | None):
            raise refuse(path, f"line {number} has {shown(record[key])} as its {key!r}, which is not a text", EXPECTED)
    name = plain(record["name"])
    if not name:
        raise refuse(path, f"line {number} has an empty name", EXPECTED)
    texts = {key: plain(record[key]) for key in _TEXTS if isinstance(record.get(key), str)}
    # Empty lists are given too: copying the defaults takes longer than all the rest.
    lists = {key: words_of(record.get(key)) for key in _LISTS}
    values: dict[str, Any] = {"catalogue": catalogue, **{key: text for key, text in texts.items() if text}, **lists}
    return CatalogueEntry(name=name, description=plain(record["description"]) or name, **values)
