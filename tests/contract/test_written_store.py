"""The promises of `WrittenStore`, kept by every implementation of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.domain.toolspec import WrittenRecord, WrittenTool
from engine.errors import StorageError
from engine.ports.tools.written import WrittenStore
from storage.database import Database
from storage.tools.written import DuckWritten
from storage.tools.written_twin import WrittenTwin

TOOL = WrittenTool(
    name="written_0123456789",
    title="Slope",
    description="A slope.",
    source="def f(): ...",
    function="f",
    inputs=[],
    outputs=[],
)


@pytest.fixture(params=["memory", "duckdb"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[WrittenStore]:
    if request.param == "memory":
        yield WrittenTwin()
        return
    database = Database(tmp_path / "b.duckdb")
    yield DuckWritten(database)
    database.close()


def test_every_state_is_kept_in_order(store: WrittenStore) -> None:
    assert store.history() == []
    records = [
        WrittenRecord(tool=TOOL, state="draft", at="2026-01-01", by="a"),
        WrittenRecord(tool=TOOL, state="worked", at="2026-01-02", by="r1"),
        WrittenRecord(tool=TOOL.model_copy(update={"name": "written_9876543210"}), at="2026-01-03"),
    ]
    for record in records:
        store.save(record)
    assert store.history() == records


def test_half_a_character_is_refused(tmp_path: Path) -> None:
    database = Database(tmp_path / "b.duckdb")
    store = DuckWritten(database)
    with pytest.raises(StorageError):
        store.save(WrittenRecord(tool=TOOL.model_copy(update={"title": "\ud800"})))
    assert store.history() == []
    database.close()


def test_what_was_kept_is_there_after_a_restart(tmp_path: Path) -> None:
    database = Database(tmp_path / "b.duckdb")
    DuckWritten(database).save(WrittenRecord(tool=TOOL))
    database.close()
    database = Database(tmp_path / "b.duckdb")
    assert [record.tool for record in DuckWritten(database).history()] == [TOOL]
    database.close()
