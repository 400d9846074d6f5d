"""The promises of `CatalogueStore`, kept by every implementation of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.domain.retrieval import CatalogueEntry, CatalogueInfo
from engine.errors import IntegrityError, NotFoundError, SchemaTooNew, StorageError
from engine.ports.tools.catalogues import CatalogueStore
from storage.database import Database
from storage.tools.catalogues import DuckCatalogues
from storage.tools.catalogues_twin import CataloguesTwin

ROOT = Path(__file__).parents[2]


@pytest.fixture(params=["memory", "duckdb"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[CatalogueStore]:
    if request.param == "memory":
        yield CataloguesTwin()
        return
    database = Database(tmp_path / "biodesk.duckdb")
    yield DuckCatalogues(database)
    database.close()


def info(name: str, entries: int = 1, **more: str) -> CatalogueInfo:
    return CatalogueInfo(
        name=name, kind="jsonl", entries=entries, sha256="0" * 64, at="2026-11-21T08:00:00.000Z", **more
    )


def entry(name: str, catalogue: str = "mine", **more) -> CatalogueEntry:
    return CatalogueEntry(name=name, description=f"Does {name}.", catalogue=catalogue, **more)


FULL = entry(
    "bwa/mem",
    title="BWA-MEM “fast” aligner",
    domain="Genomics",
    keywords=["größe", "遺伝子", 'quote "x"', "it's"],
    operations=["Sequence alignment"],
    inputs=["reads *.{fq,fastq}"],
    outputs=["bam"],
    params=["threads"],
    suite="bwa",
    requires_tool=["bwa/index"],
    produces_for=["samtools/sort"],
    url="https://example.org",
    license="GPL-3.0",
    runnable=False,
    call="biomni.tool.genomics:align",
)


def test_what_is_stored_comes_back_unchanged(store: CatalogueStore) -> None:
    odd = [FULL, entry("a\nb\t\0c"), entry(""), entry("{'json': [1]}"), entry("x" * 5_000)]
    store.replace(info("mine", 5, license="MIT"), odd)
    assert {e.name: e for e in store.entries()} == {e.name: e for e in odd}
    assert store.catalogues() == [info("mine", 5, license="MIT")]


def test_entries_come_by_catalogue_and_name_and_catalogues_by_name(store: CatalogueStore) -> None:
    store.replace(info("zeta", 2), [entry("b", "zeta"), entry("B", "zeta")])
    store.replace(info("alpha", 3), [entry("z", "alpha"), entry("é", "alpha"), entry("a", "alpha")])
    assert [(e.catalogue, e.name) for e in store.entries()] == [
        ("alpha", "a"), ("alpha", "z"), ("alpha", "é"), ("zeta", "B"), ("zeta", "b"),
    ]  # fmt: skip
    assert [c.name for c in store.catalogues()] == ["alpha", "zeta"]


def test_an_empty_store_has_nothing(store: CatalogueStore) -> None:
    assert store.entries() == []
    assert store.catalogues() == []


def test_replacing_leaves_exactly_the_new_entries(store: CatalogueStore) -> None:
    store.replace(info("other"), [entry("keep", "other")])
    for names in (["a", "b"], ["b", "c"], []):
        store.replace(info("mine", len(names)), [entry(name) for name in names])
        assert [e.name for e in store.entries() if e.catalogue == "mine"] == names
        assert [c.entries for c in store.catalogues() if c.name == "mine"] == [len(names)]
    assert [e.name for e in store.entries()] == ["keep"]


def test_the_same_name_may_be_in_two_catalogues(store: CatalogueStore) -> None:
    store.replace(info("one"), [entry("quast", "one")])
    store.replace(info("two"), [entry("quast", "two")])
    assert len(store.entries()) == 2
    store.remove("one")
    assert [e.catalogue for e in store.entries()] == ["two"]


def test_removing_what_is_not_there_is_said_with_what_is(store: CatalogueStore) -> None:
    with pytest.raises(NotFoundError, match="no imported catalogue 'galaxy'"):
        store.remove("galaxy")
    store.replace(info("mine"), [entry("a")])
    with pytest.raises(NotFoundError) as caught:
        store.remove("MINE")
    assert "mine" in caught.value.advice
    store.remove("mine")
    assert store.catalogues() == []
    assert store.entries() == []


@pytest.mark.parametrize(
    "entries",
    [[entry("a"), entry("a")], [entry("a", "other")], [entry("half \ud83e pair")]],
    ids=["a name twice", "another catalogue", "not Unicode"],
)
def test_entries_that_cannot_be_stored_are_refused_and_the_old_ones_stay(store: CatalogueStore, entries) -> None:
    store.replace(info("mine"), [entry("old")])
    with pytest.raises(StorageError):
        store.replace(info("mine"), entries)
    assert [e.name for e in store.entries()] == ["old"]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), unique=True, max_size=20))
def test_any_names_come_back_in_the_order_of_their_characters(
    tmp_path_factory: pytest.TempPathFactory, names: list[str]
) -> None:
    store = CataloguesTwin()
    store.replace(info("mine", len(names)), [entry(name) for name in names])
    assert [e.name for e in store.entries()] == sorted(names)
    database = Database(tmp_path_factory.mktemp("names") / "b.duckdb")
    try:
        on_disk = DuckCatalogues(database)
        on_disk.replace(info("mine", len(names)), [entry(name) for name in names])
        assert on_disk.entries() == store.entries()
    finally:
        database.close()


def test_readers_see_a_catalogue_whole_while_it_is_replaced(store: CatalogueStore) -> None:
    versions = [[entry(f"{letter}{n}") for n in range(200)] for letter in "ab"]
    store.replace(info("mine", 200), versions[0])
    seen: list[set[str]] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            seen.append({e.name[0] for e in store.entries()} | {str(len(store.entries()))})

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for number in range(20):
        store.replace(info("mine", 200), versions[number % 2])
    done.set()
    for reader in readers:
        reader.join()
    assert seen
    assert all(names in ({"a", "200"}, {"b", "200"}) for names in seen)


def test_what_was_stored_is_there_after_reopening_with_twenty_thousand_entries(tmp_path: Path) -> None:
    database = Database(tmp_path / "b.duckdb")
    many = [entry(f"tool {n:05d}", keywords=["a", str(n)]) for n in range(20_000)]
    DuckCatalogues(database).replace(info("mine", 20_000), many)
    database.close()
    again = Database(tmp_path / "b.duckdb")
    assert DuckCatalogues(again).entries() == many
    again.close()


def test_a_process_killed_while_replacing_leaves_one_whole_version(tmp_path: Path) -> None:
    path = tmp_path / "b.duckdb"
    code = (
        "from pathlib import Path; from storage.tools.catalogues import DuckCatalogues; from storage.database import Database\n"
        "from engine.domain.retrieval import CatalogueEntry, CatalogueInfo\n"
        f"store = DuckCatalogues(Database(Path({str(path)!r})))\n"
        "for n in range(100_000):\n"
        "    info = CatalogueInfo(name='mine', kind='jsonl', entries=500, sha256=str(n), at='')\n"
        "    store.replace(info, [CatalogueEntry(name=f'{n}-{k}', description='d', catalogue='mine') for k in range(500)])\n"
        "    print(n, flush=True)\n"
    )
    for stop in (3, 6, 9):
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=ROOT) as child:
            assert child.stdout is not None
            said = [child.stdout.readline() for _ in range(stop)]
            os.kill(child.pid, signal.SIGKILL)
            said += child.stdout.read().split("\n")[:-1]
        database = Database(path)
        store = DuckCatalogues(database)
        (found,) = store.catalogues()
        names = [e.name for e in store.entries()]
        assert len(names) == 500
        assert {name.split("-")[0] for name in names} == {found.sha256}
        assert int(found.sha256) >= max(int(line) for line in said if line.strip())
        database.close()


def test_rows_of_a_newer_form_or_damaged_rows_are_said(tmp_path: Path) -> None:
    database = Database(tmp_path / "b.duckdb")
    store = DuckCatalogues(database)
    store.replace(info("mine"), [entry("a")])
    with database.writing() as connection:
        connection.execute("""UPDATE catalogue_entries SET payload = '{"name": 1}'""")
    with pytest.raises(IntegrityError, match="cannot be read back"):
        store.entries()
    with database.writing() as connection:
        connection.execute("UPDATE catalogue_entries SET version = 99")
    with pytest.raises(SchemaTooNew, match="form 99"):
        store.entries()
    store.replace(info("mine"), [entry("a")])
    assert [e.name for e in store.entries()] == ["a"]
    database.close()
