"""The store of imported catalogues without a disk."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from engine.domain.retrieval import CatalogueEntry, CatalogueInfo
from storage.tools import catalogues


class CataloguesTwin:
    """The `CatalogueStore` in memory."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._catalogues: dict[str, tuple[str, list[tuple[str, str]]]] = {}
        """Name -> JSON of the catalogue, and (name, JSON) of its entries."""

    def replace(self, info: CatalogueInfo, entries: Sequence[CatalogueEntry]) -> None:
        """Make the catalogue of this name hold exactly these entries."""
        catalogues.check_entries(info, entries)
        stored = [(entry.name, catalogues.encode(entry, f"tool {entry.name!r}")) for entry in entries]
        about = catalogues.encode(info, f"catalogue {info.name!r}")
        with self._lock:
            self._catalogues[info.name] = about, sorted(stored)

    def catalogues(self) -> list[CatalogueInfo]:
        """Return the imported catalogues by name."""
        with self._lock:
            return [CatalogueInfo.model_validate_json(about) for _, (about, _) in sorted(self._catalogues.items())]

    def entries(self) -> list[CatalogueEntry]:
        """Return every imported entry, by catalogue and name."""
        with self._lock:
            found = [stored for _, (_, rows) in sorted(self._catalogues.items()) for _, stored in rows]
        return [CatalogueEntry.model_validate_json(stored) for stored in found]

    def remove(self, name: str) -> None:
        """Forget a catalogue.

        Raises:
            NotFoundError: when there is none of this name.
        """
        with self._lock:
            if self._catalogues.pop(name, None) is None:
                raise catalogues.unknown(name, sorted(self._catalogues))
