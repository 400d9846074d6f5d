"""Calls about tools that models wrote."""

from __future__ import annotations

from pathlib import Path

from engine.api.calls import Calls, passed_on
from engine.toolbox.shelf import Shelf
from engine.toolbox.written import as_module

_SHELF = "orchestrator.strategy.shelf"


class WrittenCalls(Calls):
    """The written tools of a workspace."""

    records = passed_on(Shelf.records, _SHELF)
    record = passed_on(Shelf.record, _SHELF)
    approve = passed_on(Shelf.approve, _SHELF)
    retire = passed_on(Shelf.retire, _SHELF)

    def export(self, name: str, path: Path | str) -> Path:
        """Write a tool as a module for a field's folder (docs/add-a-tool.md) and return the file.

        Raises:
            NotFoundError: when there is none of this name.
        """
        path = Path(path)
        path.write_text(as_module(self.record(name).tool), encoding="utf-8")
        return path
