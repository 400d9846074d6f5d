"""Node-link JSON as `networkx.node_link_data` writes it: `nodes` with an `id`, `links` or `edges` with two ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from engine.errors import DataError
from engine.knowledge.importers.generic import Builder, edge_of, node_of
from engine.knowledge.importers.reading.batches import Batches, ImportReading
from engine.knowledge.importers.reading.format import FormatInfo
from engine.knowledge.importers.reading.text import line_blocks

MAX_CHARACTERS = 128 * 1024 * 1024
"""Read as one document, JSON takes some five times its length in memory: about 0.6 GB at this size."""


def read(reading: ImportReading) -> Batches:
    """Yield all nodes, then all edges.

    JSON has no lines to name once it is read, so an error inside names the position: node 3, edge 12.

    Raises:
        DataError: for text that is not JSON (with the line) or not of this form.
    """
    builder = Builder(reading)
    for path in reading.paths:
        document = _load(path)
        directed = document.get("directed", True) is not False
        nodes = _items(path, document, "nodes")
        edges = _items(path, document, "links" if "links" in document else "edges")
        for number, item in enumerate(nodes, 1):
            if not isinstance(item, dict) or item.get("id") in (None, ""):
                raise _bad(path, f"node {number:,}", "an object with an `id` was expected")
            attributes = {key: value for key, value in item.items() if key != "id"}
            node_of(builder, str(item["id"]), attributes)
            yield from builder.full()
        for number, item in enumerate(edges, 1):
            if not isinstance(item, dict) or any(item.get(end) in (None, "") for end in ("source", "target")):
                raise _bad(path, f"edge {number:,}", "an object with `source` and `target` was expected")
            ends = str(item["source"]), str(item["target"])
            try:
                own = {key: value for key, value in item.items() if key not in ("source", "target")}
                edge_of(builder, path, number, ends, own, directed=directed)
            except DataError as error:
                problem = error.message.partition(": ")[2]
                raise _bad(path, f"edge {number:,}", problem.removesuffix(".")) from error
            yield from builder.full()
    yield from builder.rest()


def _bad(path: Path, where: str, problem: str) -> DataError:
    return DataError(f"{path.name}, {where}: {problem}.", advice="Write it with networkx.node_link_data.")


def _load(path: Path) -> dict[str, Any]:
    parts: list[str] = []
    total = 0
    for _, lines in line_blocks(path):
        text = "\n".join(lines)
        total += len(text) + 1
        if total > MAX_CHARACTERS:
            message = (
                f"{path.name} is larger than {MAX_CHARACTERS // 2**20} MB, too large to be read as one JSON document."
            )
            raise DataError(message, advice="Save the graph as tables of nodes and edges.")
        parts.append(text)
    try:
        document = json.loads("\n".join(parts))
    except json.JSONDecodeError as error:
        message = f"{path.name}, line {error.lineno:,}: this is not JSON ({error.msg})."
        raise DataError(message, advice="The file may be cut short.") from error
    except RecursionError:
        message = f"{path.name} is nested too deeply to be a graph."
        raise DataError(message, advice="Write it with networkx.node_link_data.") from None
    if not isinstance(document, dict):
        raise _bad(path, "line 1", "an object with `nodes` and `links` was expected")
    return document


def _items(path: Path, document: dict[str, Any], name: str) -> list[Any]:
    items = document.get(name)
    if not isinstance(items, list):
        raise _bad(path, "line 1", f"there is no list `{name}`")
    return items


FORMAT = FormatInfo(
    name="node_link",
    title="Node-link JSON",
    description="A graph as networkx.node_link_data writes it.",
    extensions=(".json",),
    read=read,
    looks=lambda beginning: beginning.first.startswith("{"),
    order=5,
    also=("json",),
)
