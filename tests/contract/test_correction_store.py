"""The promises of `CorrectionStore`, kept by every implementation of it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.errors import StorageError
from engine.ports.corrections import CorrectionStore
from storage.database import Database
from storage.runs.corrections import DuckCorrections
from storage.runs.corrections_twin import CorrectionsTwin

ROOT = Path(__file__).parents[2]
FILE, OTHER = "a" * 64, "b" * 64
SAID = st.dictionaries(
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=8), st.sampled_from(["", "batch", "number"]), max_size=4
)


@pytest.fixture(params=["memory", "duckdb"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[CorrectionStore]:
    if request.param == "memory":
        yield CorrectionsTwin()
        return
    database = Database(tmp_path / "b.duckdb")
    yield DuckCorrections(database)
    database.close()


def test_a_file_that_nobody_corrected_has_no_corrections(store: CorrectionStore) -> None:
    assert store.of(FILE) == {}
    store.save(FILE, {})
    assert store.of(FILE) == {}


def test_what_was_said_belongs_to_one_file(store: CorrectionStore) -> None:
    store.save(FILE, {"centre": "batch", "age": "number, unit:years"})
    assert store.of(FILE) == {"centre": "batch", "age": "number, unit:years"}
    assert store.of(OTHER) == {}


def test_the_newest_word_counts_and_an_empty_one_takes_it_back(store: CorrectionStore) -> None:
    store.save(FILE, {"centre": "batch", "age": "number"})
    store.save(FILE, {"centre": "group"})
    assert store.of(FILE) == {"centre": "group", "age": "number"}
    store.save(FILE, {"centre": ""})
    assert store.of(FILE) == {"age": "number"}
    store.save(FILE, {"centre": "code"})
    assert store.of(FILE)["centre"] == "code"


def test_half_a_character_is_refused_and_nothing_of_it_is_kept(store: CorrectionStore) -> None:
    with pytest.raises(StorageError, match="half character"):
        store.save(FILE, {"age": "number", "\ud800": "batch"})
    assert store.of(FILE) == {}


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(SAID, max_size=4))
def test_any_sequence_of_corrections_reads_as_a_dictionary_would(store: CorrectionStore, steps: list) -> None:
    store.save(FILE, dict.fromkeys(store.of(FILE), ""))  # the store outlives an example
    expected: dict[str, str] = {}
    for said in steps:
        store.save(FILE, said)
        expected |= said
    assert store.of(FILE) == {column: text for column, text in expected.items() if text}


def test_what_was_acknowledged_outlives_a_killed_process(tmp_path: Path) -> None:
    code = (
        "import os, sys; from storage.runs.corrections import DuckCorrections; from storage.database import Database;"
        "from pathlib import Path; store = DuckCorrections(Database(Path(sys.argv[1])));"
        f"store.save({FILE!r}, {{'age': 'number'}}); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "b.duckdb")], cwd=ROOT, check=False)
    database = Database(tmp_path / "b.duckdb")
    assert DuckCorrections(database).of(FILE) == {"age": "number"}
    database.close()
