"""Where imported catalogues of tools are kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from engine.domain.retrieval import CatalogueEntry, CatalogueInfo


class CatalogueStore(Protocol):
    """Imported catalogues of tools."""

    def replace(self, info: CatalogueInfo, entries: Sequence[CatalogueEntry]) -> None:
        """Make the catalogue of this name hold exactly these entries, in one transaction."""
        ...

    def catalogues(self) -> list[CatalogueInfo]:
        """Return the imported catalogues by name."""
        ...

    def entries(self) -> list[CatalogueEntry]:
        """Return every imported entry, by catalogue and name."""
        ...

    def remove(self, name: str) -> None:
        """Forget a catalogue.

        Raises:
            NotFoundError: when there is none of this name.
        """
        ...
