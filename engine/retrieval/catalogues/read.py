"""The readers by the kind of catalogue they read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from engine.domain.retrieval import CatalogueEntry
from engine.retrieval.catalogues import biomni, galaxy, jsonl, nfcore, tooluniverse

READERS: dict[str, Callable[[Path], Iterator[CatalogueEntry]]] = {
    "biomni": biomni.read,
    "galaxy": galaxy.read,
    "nf-core": nfcore.read,
    "tooluniverse": tooluniverse.read,
    "jsonl": jsonl.read,
}
"""Kind -> function of a path that yields descriptive entries with distinct names, or raises DataError.

A reader may raise after it has yielded: what it gave is to be used only once it has ended.
"""
