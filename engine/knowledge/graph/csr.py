"""The knowledge graph as memory-mapped arrays: made from the store once per version and kept in a folder beside it."""

from __future__ import annotations

import hashlib
import logging
from pathlib import Path
from typing import Any

from engine.knowledge.graph import arrays
from engine.knowledge.graph.arrays import Arrays
from engine.knowledge.graph.csr_build import build
from engine.knowledge.graph.view import GraphView
from engine.ports.graph import GraphStore

_log = logging.getLogger(__name__)

_FORM = 1
"""Counted up whenever the arrays mean something else, so that old caches are made again."""


def open_graph(store: GraphStore, folder: Path) -> GraphView:
    """Return the newest version of a graph: from the arrays kept in `folder`, or made anew and kept there.

    A cache is used only when it belongs to this version of these sources and is undamaged. When it cannot be
    written, the graph works from memory, and the next start makes it again.

    Args:
        store: the graph's truth.
        folder: holds one folder per version; older versions are removed.
    """
    version = store.version()
    about = _about(store, version)
    kept = arrays.load(folder / str(version), about)
    if kept is None:
        columns = store.columns()
        if columns.version != version:  # it was changed in between; what was read is what counts
            version = columns.version
            about = _about(store, version)
        made = build(columns)
        del columns
        kept = _keep(folder / str(version), made, about) or made
    arrays.remove_others(folder / str(version))
    return GraphView(kept, version)


def _about(store: GraphStore, version: int) -> dict[str, Any]:
    """Return what a cache must have been made of: another database may have reached the same version."""
    made_of = [source.model_dump_json() for source in store.sources()]
    return {"form": _FORM, "version": version, "sources": hashlib.sha256("\n".join(made_of).encode()).hexdigest()}


def _keep(folder: Path, made: Arrays, about: dict[str, Any]) -> Arrays | None:
    """Write the arrays and return them mapped, or None when that cannot be done."""
    try:
        arrays.save(folder, made, about)
    except OSError as error:
        _log.warning("The graph's arrays cannot be kept in %s (%s); they are made again at each start.", folder, error)
        return None
    return arrays.load(folder, about)
