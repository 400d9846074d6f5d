"""The promises of `EpisodeStore`, kept by every implementation of it; and what only the one on disk must survive."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from engine.domain.memory import Episode, EpisodeStep
from engine.errors import IntegrityError, SchemaTooNew, StorageError
from engine.ports.memory import EpisodeStore
from storage.database import Database
from storage.memory.episodes import DuckEpisodes
from storage.memory.episodes_twin import EpisodesTwin

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(params=["memory", "duckdb"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EpisodeStore]:
    if request.param == "memory":
        yield EpisodesTwin()
        return
    database = Database(tmp_path / "biodesk.duckdb")
    yield DuckEpisodes(database)
    database.close()


def episode(number: int = 1, **fields: object) -> Episode:
    given = {"id": f"ep{number}", "at": "2026-01-02T03:04:05Z", "task": f"Question {number} on α-synuclein 🧬"}
    return Episode.model_validate({**given, **fields})


FULL = episode(
    7,
    plan_summary="1) look; 2) fit.",
    tools=["deseq2"],
    domains=["transcriptomics"],
    entities=["TP53", "naïve"],
    result_summary="Two\nlines, \"quotes\" and 'more'; NULL",
    success=False,
    quality=0.25,
    lessons="Check the release first.",
    run_id="run_1",
    user="ana",
    strategy="dag",
    data_types=["count_matrix"],
    data_names=["counts.csv"],
    steps=[EpisodeStep(tool="deseq2", params={"alpha": 0.05, "levels": ["a", "b"], "on": True, "n": 3, "x": None})],
    repairs=["r"],
    edits=["e"],
    pinned=True,
    source="run",
)


def test_what_was_stored_comes_back_whole(store: EpisodeStore) -> None:
    store.save([FULL])
    assert store.episode("ep7") == FULL
    assert store.episodes() == [FULL]


def test_an_empty_store_and_an_unknown_id(store: EpisodeStore) -> None:
    assert store.episodes() == []
    assert store.episode("nobody") is None
    assert store.forget("nobody") is False
    store.save([])
    assert store.episodes() == []


def test_the_newest_state_holds_and_keeps_its_place(store: EpisodeStore) -> None:
    store.save([episode(1), episode(2), episode(3)])
    changed = episode(1, lessons="Another word.", pinned=True)
    store.save([changed])
    assert store.episode("ep1") == changed
    assert [e.id for e in store.episodes()] == ["ep1", "ep2", "ep3"]
    assert store.episodes()[0] == changed


def test_two_states_in_one_call_leave_the_later(store: EpisodeStore) -> None:
    store.save([episode(1), episode(1, lessons="Later.")])
    assert [e.lessons for e in store.episodes()] == ["Later."]


def test_forgetting_removes_every_state(store: EpisodeStore) -> None:
    store.save([episode(1), episode(2)])
    store.save([episode(1, lessons="newer")])
    assert store.forget("ep1") is True
    assert store.episode("ep1") is None
    assert [e.id for e in store.episodes()] == ["ep2"]
    assert store.forget("ep1") is False
    store.save([episode(1)])
    assert [e.id for e in store.episodes()] == ["ep2", "ep1"]


def test_a_number_that_is_not_finite_is_refused_and_nothing_is_stored(store: EpisodeStore) -> None:
    with pytest.raises(StorageError, match=r"quality.*nan"):
        store.save([episode(1), episode(2, quality=float("nan"))])
    steps = [EpisodeStep(tool="t", params={"alpha": float("inf")})]
    with pytest.raises(StorageError, match="step 1, alpha"):
        store.save([episode(3, steps=steps)])
    assert store.episodes() == []


def test_text_with_half_a_character_is_refused_with_a_sentence(store: EpisodeStore) -> None:
    with pytest.raises(StorageError, match="Episode ep1 cannot be stored"):
        store.save([Episode.model_construct(**{**episode(1).model_dump(), "task": "bad \ud800 half"})])
    assert store.episodes() == []


def test_writers_and_readers_side_by_side_lose_nothing(store: EpisodeStore) -> None:
    def write(start: int) -> int:
        for number in range(start, start + 10):
            store.save([episode(number)])
            assert store.episode(f"ep{number}") is not None
            store.episodes()
        return 10

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(write, [0, 100, 200, 300])) == 40
    assert len({e.id for e in store.episodes()}) == 40


@pytest.mark.slow
def test_many_thousands_at_once(store: EpisodeStore) -> None:
    many = [episode(number, lessons="x" * 50) for number in range(25_000)]
    store.save(many)
    assert store.episodes() == many


def test_rows_survive_closing_and_read_only_opening(tmp_path: Path) -> None:
    database = Database(tmp_path / "b.duckdb")
    DuckEpisodes(database).save([FULL, episode(1)])
    database.close()
    again = Database(tmp_path / "b.duckdb", read_only=True)
    assert DuckEpisodes(again).episodes() == [FULL, episode(1)]
    with pytest.raises(StorageError, match="reading only"):
        DuckEpisodes(again).save([episode(2)])
    again.close()


def test_a_newer_form_and_a_damaged_row_are_told_apart(tmp_path: Path) -> None:
    database = Database(tmp_path / "b.duckdb")
    store = DuckEpisodes(database)
    with database.writing() as connection:
        connection.execute("INSERT INTO episodes (episode_id, kind, version, payload) VALUES ('a', 'episode', 9, '{}')")
    with pytest.raises(SchemaTooNew, match="form 9"):
        store.episode("a")
    with database.writing() as connection:
        connection.execute("INSERT INTO episodes (episode_id, kind, version, payload) VALUES ('b', 'episode', 1, '{}')")
    with pytest.raises(IntegrityError, match="cannot be read back"):
        store.episode("b")
    database.close()


_WRITER = """
import sys
from pathlib import Path
from engine.domain.memory import Episode
from storage.database import Database
from storage.memory.episodes import DuckEpisodes
store = DuckEpisodes(Database(Path(sys.argv[1])))
number = 0
while True:
    batch = [Episode(id=f"ep{number + n}", at="2026-01-01T00:00:00Z", task="t") for n in range(7)]
    store.save(batch)
    number += 7
    print(number, flush=True)
"""


def test_killed_in_the_middle_of_writing_every_acknowledged_batch_is_there(tmp_path: Path) -> None:
    path = tmp_path / "b.duckdb"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(path)], stdout=subprocess.PIPE, text=True, env=environment
    ) as writer:
        assert writer.stdout is not None
        acknowledged = [int(writer.stdout.readline()) for _ in range(20)]
        writer.send_signal(signal.SIGKILL)
        acknowledged += [int(line) for line in writer.stdout.read().split()]
    database = Database(path)
    found = [int(e.id.removeprefix("ep")) for e in DuckEpisodes(database).episodes()]
    database.close()
    assert found == list(range(len(found)))
    assert len(found) >= acknowledged[-1]
    assert len(found) % 7 == 0  # a batch is there whole or not at all
