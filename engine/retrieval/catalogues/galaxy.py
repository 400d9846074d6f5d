"""The Galaxy Codex table of tools (https://github.com/galaxyproject/galaxy_codex): one row a suite, with tabs.

A suite's row lists the ids of its tools; each becomes an entry with what is said of the suite.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

from engine.domain.retrieval import CatalogueEntry
from engine.retrieval.catalogues.text import distinct, plain, read_text, refuse, words_of
from engine.text.prose import full_stop

EXPECTED = "Expected the tools table of the Galaxy Codex: tab-separated, with the columns Suite ID and Tool IDs."
_COLUMNS: dict[str, tuple[str, ...]] = {
    "suite": ("Suite ID", "Galaxy wrapper id"),
    "tools": ("Tool IDs", "Galaxy tool ids"),
    "description": ("Description",),
    "more": ("bio.tool description",),
    "title": ("bio.tool name",),
    "categories": ("ToolShed categories",),
    "operations": ("EDAM operations", "EDAM operation"),
    "topics": ("EDAM topics", "EDAM topic"),
    "outputs": ("Tool output formats",),
    "home": ("Homepage",),
    "source": ("Suite source", "Galaxy wrapper source"),
}
"""What is read -> the names its column has had."""
_REQUIRED = ("suite", "tools")
_LONGEST_FIELD = 10_000_000
_TOPIC_END = re.compile(r",\s*(?![a-z\s])")


def read(path: Path) -> Iterator[CatalogueEntry]:
    """Yield the tools of a table, plain or gzip.

    Raises:
        DataError: for a file or line that is not of such a table.
    """
    return distinct(_entries(path))


def _entries(path: Path) -> Iterator[CatalogueEntry]:
    # The lists of workflows in this table are longer than the csv module reads by itself.
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_FIELD))
    text = read_text(path, EXPECTED)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter="\t")
    places: dict[str, int] = {}
    width = 0
    try:
        for row in rows:
            if not places:
                places, width = _places(path, row), len(row)
            elif row and len(row) != width:
                what = f"line {rows.line_num} has {len(row)} columns instead of {width}"
                raise refuse(path, what, EXPECTED)
            elif row:
                yield from _suite({key: row[place] for key, place in places.items()})
    except csv.Error as error:
        raise refuse(path, f"line {rows.line_num} is not tab-separated text ({error})", EXPECTED) from error


def _places(path: Path, header: list[str]) -> dict[str, int]:
    """Return which column holds what."""
    named = {name.strip(): place for place, name in enumerate(header)}
    places: dict[str, int] = {}
    for key, names in _COLUMNS.items():
        found = next((named[name] for name in names if name in named), None)
        if found is not None:
            places[key] = found
        elif key in _REQUIRED:
            raise refuse(path, f"line 1 has no column {names[0]!r}", EXPECTED)
    return places


def _suite(row: dict[str, str]) -> Iterator[CatalogueEntry]:
    suite = plain(row["suite"])
    categories, topics = words_of(row.get("categories", "")), _topics(row.get("topics", ""))
    texts = [plain(row.get(key, "")) for key in ("description", "more")]
    described = " ".join(full_stop(text) for text in dict.fromkeys(texts) if text)
    # An id that is listed twice is two tools of the suite whose ids are filled in only at Galaxy.
    for tool in (plain(item) for item in row["tools"].split(",")):
        if tool:
            yield CatalogueEntry(
                name=tool,
                title=plain(row.get("title", "")),
                description=described or f"Galaxy tool {tool} of the suite {suite}.",
                catalogue="galaxy",
                domain=(topics or categories or [""])[0],
                keywords=list(dict.fromkeys([*categories, *topics])),
                operations=words_of(row.get("operations", "")),
                outputs=words_of(row.get("outputs", "")),
                suite=suite,
                url=plain(row.get("home", "")) or plain(row.get("source", "")),
                license="MIT",
            )


def _topics(text: str) -> list[str]:
    """Split a list of EDAM topics; a topic's name begins with a capital, so `Sequence sites, features` is one."""
    return list(dict.fromkeys(topic for part in _TOPIC_END.split(text) if (topic := plain(part))))
