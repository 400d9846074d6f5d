"""The promises of `FactStore`, kept by every implementation of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from waiting import comes_about

from engine.domain.memory import Fact
from engine.errors import IntegrityError, SchemaTooNew, StorageError
from engine.ports.memory import FactStore
from storage.database import Database
from storage.memory.facts import DuckFacts
from storage.memory.facts_twin import FactsTwin

ROOT = Path(__file__).parents[2]


@pytest.fixture(params=["memory", "duckdb"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FactStore]:
    if request.param == "memory":
        yield FactsTwin()
        return
    database = Database(tmp_path / "b.duckdb")
    yield DuckFacts(database)
    database.close()


def a_fact(fact_id: str = "fact_1", **changes) -> Fact:
    values = {
        "subject": "TP53",
        "predicate": "regulates",
        "object": "CDKN1A",
        "source": "PMID:8242752",
        "confidence": 0.8,
        "at": "2026-11-21T08:00:00.000Z",
    }
    return Fact(id=fact_id, **(values | changes))


def test_an_empty_store_knows_nothing(store: FactStore) -> None:
    assert store.facts() == []
    assert store.fact("fact_1") is None
    assert store.forget("fact_1") is False
    store.save([])
    assert store.facts() == []


def test_facts_come_back_equal_and_in_the_order_they_were_stored(store: FactStore) -> None:
    facts = [a_fact(f"fact_{n}", object=f"G{n}") for n in (3, 1, 2)]
    store.save(facts)
    assert store.facts() == facts
    assert store.fact("fact_1") == facts[1]


def test_the_newest_state_wins_and_keeps_its_place(store: FactStore) -> None:
    store.save([a_fact("a"), a_fact("b")])
    store.save([a_fact("a", retracted=True)])
    store.save([a_fact("a", retracted=True, pinned=True, in_graph=True)])
    assert store.facts() == [a_fact("a", retracted=True, pinned=True, in_graph=True), a_fact("b")]
    assert store.fact("a") == a_fact("a", retracted=True, pinned=True, in_graph=True)


def test_of_two_states_in_one_batch_the_later_wins(store: FactStore) -> None:
    store.save([a_fact("a", confidence=0.1), a_fact("a", confidence=0.9)])
    assert store.facts() == [a_fact("a", confidence=0.9)]
    assert store.fact("a") == a_fact("a", confidence=0.9)


def test_forgetting_removes_every_state_and_only_that_fact(store: FactStore) -> None:
    store.save([a_fact("a"), a_fact("b")])
    store.save([a_fact("a", pinned=True)])
    assert store.forget("a") is True
    assert store.forget("a") is False
    assert store.fact("a") is None
    assert store.facts() == [a_fact("b")]
    store.save([a_fact("a", confidence=0.2)])
    assert store.facts() == [a_fact("b"), a_fact("a", confidence=0.2)]


def test_a_batch_with_one_fact_that_cannot_be_stored_stores_none_of_it(store: FactStore) -> None:
    with pytest.raises(StorageError, match=r"Fact bad cannot be stored: `confidence`"):
        store.save([a_fact("good"), a_fact("bad", confidence=float("nan"))])
    with pytest.raises(StorageError, match="no JSON form"):
        store.save([a_fact("good"), a_fact("bad", subject="\ud800")])
    assert store.facts() == []


TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)


@settings(max_examples=40, deadline=None, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.builds(
            Fact,
            id=st.sampled_from(["f1", "f2", "f3", "'; DROP TABLE facts; --", "\x00"]),
            subject=TEXT,
            predicate=TEXT,
            object=TEXT,
            source=TEXT,
            confidence=st.floats(0, 1),
            at=TEXT,
            retracted=st.booleans(),
            pinned=st.booleans(),
            run_id=TEXT,
        ),
        max_size=6,
    )
)
def test_whatever_the_words_are_the_newest_states_come_back_equal(store: FactStore, facts: list[Fact]) -> None:
    for known in store.facts():
        store.forget(known.id)
    for fact in facts:
        store.save([fact])
    newest = {fact.id: fact for fact in facts}
    assert store.facts() == list(newest.values())


def test_many_threads_saving_lose_nothing(store: FactStore) -> None:
    start = threading.Barrier(6)

    def work(number: int) -> None:
        start.wait()
        for turn in range(10):
            store.save([a_fact(f"f{number}_{turn}"), a_fact("shared", confidence=number / 10)])
            assert store.fact(f"f{number}_{turn}") is not None

    with ThreadPoolExecutor(6) as pool:
        for done in [pool.submit(work, number) for number in range(6)]:
            done.result(timeout=300)
    assert len(store.facts()) == 61


@pytest.mark.slow
def test_more_facts_than_go_in_at_once_keep_their_order(store: FactStore) -> None:
    facts = [a_fact(f"fact_{n:06d}") for n in range(45_000)]
    store.save(facts)
    assert store.facts() == facts


def test_facts_are_there_after_the_database_was_closed(tmp_path: Path) -> None:
    database = Database(tmp_path / "b.duckdb")
    DuckFacts(database).save([a_fact("a"), a_fact("a", pinned=True)])
    database.close()
    with pytest.raises(StorageError, match="closed"):
        DuckFacts(database).facts()
    again = Database(tmp_path / "b.duckdb")
    assert DuckFacts(again).facts() == [a_fact("a", pinned=True)]
    again.close()


def test_a_row_of_a_newer_form_or_a_damaged_one_is_named(tmp_path: Path) -> None:
    path = tmp_path / "b.duckdb"
    database = Database(path)
    DuckFacts(database).save([a_fact("a")])
    database.close()
    for change, error in (("version = 9", SchemaTooNew), ("version = 1, payload = '{}'", IntegrityError)):
        with duckdb.connect(str(path)) as connection:
            connection.execute(f"UPDATE facts SET {change}")
        database = Database(path)
        with pytest.raises(error, match="fact"):
            DuckFacts(database).facts()
        database.close()


WRITER = """
import sys
from pathlib import Path
from engine.domain.memory import Fact, Message
from storage.memory.conversations import DuckConversations
from storage.database import Database
from storage.memory.facts import DuckFacts
database = Database(Path(sys.argv[1]))
facts, talk = DuckFacts(database), DuckConversations(database)
for n in range(100_000):
    facts.save([Fact(id=f"f{n}_{i}", subject="s", predicate="p", object=str(n), source="x", confidence=0.5, at="2026")
                for i in range(3)])
    message = talk.append("c", Message(number=0, role="user", text=f"message {n}", at="2026"))
    print(n, message.number, flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="kills a process the POSIX way")
def test_a_killed_writer_loses_nothing_it_acknowledged_and_leaves_no_half_batch(tmp_path: Path) -> None:
    from storage.memory.conversations import DuckConversations

    path = tmp_path / "b.duckdb"
    acks = tmp_path / "acks"
    command = [sys.executable, "-c", WRITER, str(path)]
    with acks.open("w") as out, subprocess.Popen(command, stdout=out, cwd=ROOT) as writer:
        comes_about(lambda: acks.read_text().count("\n") >= 25)
        writer.send_signal(signal.SIGKILL)
    said = [line.split() for line in acks.read_text().splitlines() if line.count(" ") == 1]
    assert len(said) >= 25
    database = Database(path)
    ids = {fact.id for fact in DuckFacts(database).facts()}
    messages = DuckConversations(database).messages("c")
    for n, number in said:
        assert {f"f{n}_0", f"f{n}_1", f"f{n}_2"} <= ids
        assert messages[int(number) - 1].text == f"message {n}"
    assert len(ids) % 3 == 0
    assert [m.number for m in messages] == list(range(1, len(messages) + 1))
    DuckConversations(database).append("c", messages[0])
    database.close()


def test_what_is_stored_is_json_with_a_kind_and_a_version(tmp_path: Path) -> None:
    path = tmp_path / "b.duckdb"
    database = Database(path)
    DuckFacts(database).save([a_fact("a")])
    database.close()
    with duckdb.connect(str(path)) as connection:
        rows = connection.execute("SELECT fact_id, kind, version, payload FROM facts").fetchall()
    assert [(row[0], row[1], row[2]) for row in rows] == [("a", "fact", 1)]
    assert json.loads(rows[0][3])["subject"] == "TP53"
