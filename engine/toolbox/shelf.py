"""The shelf of written tools: which there are, what became of them, and which of them the catalogue has.

A tool goes up by what it does and by what people decide: it runs in the plan it was written for, worked well it may be
taken again, worked well in two runs it is proposed, and a person who has read its code puts it among the others.
"""

from __future__ import annotations

import threading

from engine.domain.toolspec import ToolSpec, WrittenRecord, WrittenState, WrittenTool
from engine.errors import NotFoundError, UserError
from engine.ports.system import Clock
from engine.ports.tools.written import WrittenStore
from engine.toolbox.registry import ToolRegistry
from engine.toolbox.written import spec_of

GOOD = 0.9
"""From this quality on a result counts as one that worked."""


class Shelf:
    """Written tools. Methods may be called from any thread."""

    def __init__(self, store: WrittenStore, registry: ToolRegistry, clock: Clock) -> None:
        """Take the shelf from where it is kept; the catalogue gets what is on it."""
        self._store, self._registry, self._clock = store, registry, clock
        self._lock = threading.RLock()
        self._records: dict[str, WrittenRecord] = {}
        for record in store.history():
            self._place(record)

    def keep(self, tool: WrittenTool, *, by: str = "") -> None:
        """Put a new tool on the shelf as a draft; one that is there stays as it is."""
        with self._lock:
            if tool.name not in self._records:
                self._move(tool, "draft", by)

    def worked(self, name: str, run_id: str, quality: float) -> None:
        """Note that a run had a result of a tool; what is no written tool, or was not good, changes nothing."""
        with self._lock:
            record = self._records.get(name)
            if record is None or quality < GOOD:
                return
            if record.state == "draft":
                self._move(record.tool, "worked", run_id)
            elif record.state == "worked" and record.by != run_id:
                self._move(record.tool, "proposed", run_id)

    def approve(self, name: str, *, by: str) -> WrittenRecord:
        """Put a tool among those that are planned.

        Raises:
            NotFoundError: when there is none of this name.
            UserError: for a draft, which nobody has seen work.
        """
        record = self.record(name)
        if record.state == "draft":
            raise UserError(f"{name} has not worked in any run yet.", advice="Run the plan that has it first.")
        return self._move(record.tool, "approved", by)

    def retire(self, name: str, *, by: str) -> WrittenRecord:
        """Take a tool from those that are planned or offered; runs that had it keep it.

        Raises:
            NotFoundError: when there is none of this name.
        """
        return self._move(self.record(name).tool, "retired", by)

    def record(self, name: str) -> WrittenRecord:
        """Return a tool with where it stands.

        Raises:
            NotFoundError: when there is none of this name.
        """
        with self._lock:
            if name not in self._records:
                message = f"There is no written tool called {name!r}."
                raise NotFoundError(message, advice="`biodesk tools written` lists them.")
            return self._records[name]

    def offered(self) -> list[ToolSpec]:
        """Return the tools that worked and are not in the catalogue: a reader may take them again."""
        with self._lock:
            return [spec_of(record.tool) for record in self._records.values() if record.state in ("worked", "proposed")]

    def has(self, name: str) -> bool:
        """Say whether a tool is one of these."""
        with self._lock:
            return name in self._records

    def records(self) -> list[WrittenRecord]:
        """Return all tools in their present state, the newest first."""
        with self._lock:
            return sorted(self._records.values(), key=lambda record: record.at, reverse=True)

    def _move(self, tool: WrittenTool, state: WrittenState, by: str) -> WrittenRecord:
        record = WrittenRecord(tool=tool, state=state, at=self._clock.now(), by=by)
        with self._lock:
            self._store.save(record)
            self._place(record)
        return record

    def _place(self, record: WrittenRecord) -> None:
        self._records[record.tool.name] = record
        spec = spec_of(record.tool)
        planned = any(known.name == spec.name for known in self._registry)
        if record.state == "approved" and not planned:
            self._registry.add(spec)
        elif record.state != "approved":
            self._registry.discard(spec.name)
            self._registry.keep_aside(spec)
