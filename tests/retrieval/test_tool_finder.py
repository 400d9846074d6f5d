"""The tool finder under change: a search never waits for an import, and no failing part breaks it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from waiting import until

from engine.adapters.fakes import FrozenClock, HashEmbedder
from engine.domain.retrieval import CatalogueEntry, CatalogueInfo, ToolSearch
from engine.errors import ModelUnavailable, NotFoundError, StorageError
from engine.knowledge.graph.twin import GraphTwin
from engine.retrieval.indexes.embedding_cache import CachedEmbeddings
from engine.retrieval.indexes.index import ToolIndex, entry_text
from engine.retrieval.indexes.kept_index import EMBED_NOW, RETRY_SECONDS
from engine.retrieval.service import ToolFinder
from engine.retrieval.usage import KeptUsage, UsageHistory
from storage.tools.catalogues_twin import CataloguesTwin
from storage.vectors.twin import VectorsTwin

WAIT = 30.0
"""Seconds after which a test that hangs fails; nothing takes that long."""
OLD = ["sort_reads", "count_cells"]


class GatedEmbedder(HashEmbedder):
    """Holds every text with the word `held` until the gate is opened; `fault` is raised instead of an answer."""

    def __init__(self) -> None:
        super().__init__(32)
        self.gate, self.reached = threading.Event(), threading.Event()
        self.fault: Exception | None = None

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        if any("held" in text for text in texts):
            self.reached.set()
            assert self.gate.wait(WAIT)
        if self.fault is not None:
            raise self.fault
        return super().embed(texts)


class FaultyVectors(VectorsTwin):
    """Cannot store while `full`."""

    full = False

    def add(self, collection: str, ids: Sequence[str], vectors: np.ndarray, *, owner: str = "", kind: str = "") -> None:
        if self.full:
            raise StorageError("The disk is full.")
        super().add(collection, ids, vectors, owner=owner, kind=kind)


class FaultyCatalogues(CataloguesTwin):
    """Cannot be read while `broken`; `breaks` when it is written to."""

    broken = breaks = False

    def replace(self, info: CatalogueInfo, entries: Sequence[CatalogueEntry]) -> None:
        super().replace(info, entries)
        self.broken = self.breaks

    def entries(self) -> list[CatalogueEntry]:
        if self.broken:
            raise StorageError("The workspace cannot be read.")
        return super().entries()


class Desk:
    """A finder and its parts."""

    def __init__(self, **parts: Any) -> None:
        self.embedder, self.vectors, self.store = GatedEmbedder(), FaultyVectors(), FaultyCatalogues()
        self.clock = FrozenClock()
        self.finder = ToolFinder(
            specs=[],
            store=self.store,
            embeddings=CachedEmbeddings(self.embedder, self.vectors),
            clock=self.clock,
            **parts,
        )

    def put(self, names: Sequence[str], catalogue: str = "old", says: str = "a tool for cells and reads") -> None:
        """Store a catalogue without embedding it, as a process that was killed leaves it."""
        entries = [CatalogueEntry(name=name, description=f"{name}: {says}", catalogue=catalogue) for name in names]
        self.store.replace(
            CatalogueInfo(name=catalogue, kind="jsonl", entries=len(entries), sha256="0" * 64, at=self.clock.now()),
            entries,
        )

    def search(self, query: str = "tool for cells and reads") -> ToolSearch:
        return self.finder.search(query, top=2_000)

    def names(self) -> set[str]:
        return {tool.name for tool in self.search().tools}

    def texts(self) -> list[str]:
        return [entry_text(entry) for entry in self.store.entries()]

    def made(self, texts: Sequence[str]) -> list[int]:
        """Return how often each text was embedded."""
        return [self.embedder.embedded.count(text) for text in texts]


@pytest.fixture
def desk(request: pytest.FixtureRequest) -> Iterator[Desk]:
    """Return a desk with a catalogue; a test can give how many missing vectors are made at once."""
    made = Desk(embed_now=getattr(request, "param", EMBED_NOW))
    made.put(OLD)
    yield made
    made.embedder.gate.set()


class Builds:
    """Notes which threads build an index, and holds them while `go` is not set."""

    def __init__(self) -> None:
        self.by: list[threading.Thread] = []
        self.reached, self.go = threading.Event(), threading.Event()
        self.go.set()
        self.build = ToolIndex.build

    def __call__(self, *given: Any) -> ToolIndex:
        self.by.append(threading.current_thread())
        self.reached.set()
        assert self.go.wait(WAIT)
        return self.build(*given)


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> Builds:
    watching = Builds()
    monkeypatch.setattr(ToolIndex, "build", watching)
    return watching


def catalogue(folder: Path, names: Sequence[str], says: str = "a tool for cells and reads") -> Path:
    file = folder / "new.jsonl"
    file.write_text("".join(json.dumps({"name": n, "description": f"{n}: {says}"}) + "\n" for n in names))
    return file


def beside(work: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    """Start work in a thread; the list holds what it gave once it has ended."""
    given: list[Any] = []
    thread = threading.Thread(target=lambda: given.append(work()), daemon=True)
    thread.start()
    return thread, given


def ended(thread: threading.Thread) -> None:
    thread.join(WAIT)
    assert not thread.is_alive()


# ==== imports ====


def test_searches_go_on_while_an_import_embeds_and_each_text_is_embedded_once(desk: Desk, tmp_path: Path) -> None:
    assert desk.names() == set(OLD)
    path = catalogue(tmp_path, ["one", "two", "three"], "held tool for cells and reads")
    thread, given = beside(lambda: desk.finder.import_catalogue("jsonl", path))
    assert desk.embedder.reached.wait(WAIT)
    assert desk.names() == set(OLD)
    assert desk.search().method == "hybrid"
    assert [c.name for c in desk.finder.catalogues()] == ["old"]
    desk.embedder.gate.set()
    ended(thread)
    assert (given[0].added, given[0].embedded) == (3, 3)
    found = desk.search()
    assert {tool.name for tool in found.tools} == {*OLD, "one", "two", "three"}
    assert (found.method, found.notes) == ("hybrid", [])
    assert desk.made(desk.texts()) == [1] * 5


def test_searches_go_on_while_the_new_index_is_built_and_one_thread_builds_it(
    desk: Desk, tmp_path: Path, builds: Builds
) -> None:
    assert desk.names() == set(OLD)
    builds.by.clear()
    builds.reached.clear()
    builds.go.clear()
    path = catalogue(tmp_path, ["one"])
    thread, _ = beside(lambda: desk.finder.import_catalogue("jsonl", path))
    assert builds.reached.wait(WAIT)
    assert desk.names() == set(OLD)
    builds.go.set()
    ended(thread)
    assert desk.names() == {*OLD, "one"}
    assert builds.by == [thread]


def test_first_searches_at_once_build_one_index(desk: Desk, builds: Builds) -> None:
    barrier = threading.Barrier(6)

    def ask() -> set[str]:
        barrier.wait(WAIT)
        return desk.names()

    asked = [beside(ask) for _ in range(6)]
    for thread, _ in asked:
        ended(thread)
    assert [given for _, given in asked] == [[set(OLD)]] * 6
    assert len(builds.by) == 1


def test_an_import_that_nobody_searches_after_builds_no_index(desk: Desk, tmp_path: Path, builds: Builds) -> None:
    assert desk.finder.import_catalogue("jsonl", catalogue(tmp_path, ["one"])).embedded == 1
    desk.finder.remove_catalogue("new")
    assert builds.by == []


def test_an_import_counts_its_own_texts_whatever_others_embed_meanwhile(desk: Desk, tmp_path: Path) -> None:
    path = catalogue(tmp_path, ["one", "two"], "held tool")
    thread, given = beside(lambda: desk.finder.import_catalogue("jsonl", path))
    assert desk.embedder.reached.wait(WAIT)
    assert desk.finder.embeddings is not None
    desk.finder.embeddings.vectors_of([f"text {n}" for n in range(100)])
    desk.embedder.gate.set()
    ended(thread)
    assert given[0].embedded == 2


def test_importing_the_same_again_embeds_only_what_has_no_vector(desk: Desk, tmp_path: Path) -> None:
    path = catalogue(tmp_path, ["one", "two"])
    desk.vectors.full = True
    first = desk.finder.import_catalogue("jsonl", path)
    assert (first.added, first.embedded) == (2, 0)
    assert "disk is full" in first.warnings[0]
    desk.vectors.full = False
    second, third = (desk.finder.import_catalogue("jsonl", path) for _ in range(2))
    assert (second.unchanged, second.embedded, second.added, second.warnings) == (True, 2, 0, [])
    assert (third.unchanged, third.embedded) == (True, 0)
    assert third.catalogue == first.catalogue


def test_an_import_says_what_changed(desk: Desk, tmp_path: Path) -> None:
    desk.finder.import_catalogue("jsonl", catalogue(tmp_path, ["one", "two", "three"]))
    path = catalogue(tmp_path, ["one", "four"])
    path.write_text(path.read_text() + json.dumps({"name": "two", "description": "Another text."}) + "\n")
    done = desk.finder.import_catalogue("jsonl", path)
    assert (done.added, done.changed, done.removed, done.embedded) == (1, 1, 1, 2)


def test_what_is_removed_is_not_found_again_and_a_failed_removal_changes_nothing(desk: Desk) -> None:
    desk.put(["gone"], "other")
    assert desk.names() == {*OLD, "gone"}
    with pytest.raises(NotFoundError):
        desk.finder.remove_catalogue("never")
    assert desk.names() == {*OLD, "gone"}
    desk.finder.remove_catalogue("other")
    assert desk.names() == set(OLD)


def test_a_store_that_fails_after_an_import_is_read_again_by_the_next_search(desk: Desk, tmp_path: Path) -> None:
    assert desk.names() == set(OLD)
    desk.store.breaks = True
    assert desk.finder.import_catalogue("jsonl", catalogue(tmp_path, ["one"])).added == 1
    with pytest.raises(StorageError, match="cannot be read"):
        desk.search()
    desk.store.broken = False
    assert desk.names() == {*OLD, "one"}


# ==== vectors that are missing ====


def test_many_missing_vectors_are_made_beside_the_searches(desk: Desk) -> None:
    many = [f"tool_{n}" for n in range(EMBED_NOW)]
    desk.put(many, says="held tool for cells and reads", catalogue="killed")
    found = desk.search()
    assert found.method == "lexical"
    assert found.notes == ["Vectors of 1,002 tools are still being made; words and links only for now."]
    assert found.tools
    desk.embedder.gate.set()
    until(lambda: desk.search().method == "hybrid")
    assert desk.search().notes == []
    assert set(desk.made(desk.texts())) == {1}


def test_few_missing_vectors_are_made_at_once(desk: Desk) -> None:
    desk.put([f"tool_{n}" for n in range(EMBED_NOW - len(OLD))], "few")
    found = desk.search()
    assert (found.method, found.notes) == ("hybrid", [])


@pytest.mark.parametrize("desk", [3], indirect=True)
def test_an_import_while_vectors_are_made_loses_neither(desk: Desk, tmp_path: Path) -> None:
    desk.put(["a", "b", "c"], "killed", "held tool for cells and reads")
    assert desk.search().method == "lexical"
    assert desk.embedder.reached.wait(WAIT)
    desk.finder.import_catalogue("jsonl", catalogue(tmp_path, ["one", "two"]))
    found = desk.search()
    assert found.method == "lexical" or not found.notes
    assert {tool.name for tool in found.tools} >= {"one", "two"}
    desk.embedder.gate.set()
    until(lambda: desk.search().method == "hybrid")
    assert desk.names() == {*OLD, "a", "b", "c", "one", "two"}


@pytest.mark.parametrize("desk", [1_000, 0], ids=["few", "many"], indirect=True)
def test_a_full_disk_is_tried_again_after_a_minute(desk: Desk) -> None:
    desk.vectors.full = True
    until(lambda: any("disk is full" in note for note in desk.search().notes))
    assert desk.search().method == "lexical"
    desk.vectors.full = False
    desk.clock.advance(RETRY_SECONDS - 1)
    assert desk.search().method == "lexical"
    desk.clock.advance(1)
    until(lambda: desk.search().method == "hybrid")
    assert desk.search().notes == []


def test_a_disk_that_stays_full_does_not_build_the_index_of_words_again(desk: Desk, builds: Builds) -> None:
    desk.vectors.full = True
    desk.search()
    assert len(builds.by) == 1
    for _ in range(3):
        desk.clock.advance(RETRY_SECONDS)
        assert "disk is full" in desk.search().notes[0]
    assert len(builds.by) == 1


@pytest.mark.parametrize("desk", [0], indirect=True)
@pytest.mark.parametrize("fault", [ModelUnavailable("No model here."), RuntimeError("No model here.")])
def test_a_model_that_fails_beside_the_searches_is_said(desk: Desk, fault: Exception) -> None:
    desk.embedder.fault = fault
    until(lambda: any("No model here." in note for note in desk.search().notes))
    found = desk.search()
    assert (found.method, len(found.notes)) == ("lexical", 1)
    assert {tool.name for tool in found.tools} == set(OLD)


# ==== graph and usage ====


def test_a_graph_that_cannot_be_read_is_done_without() -> None:
    answers: list[Any] = [StorageError("Damaged."), OSError("Gone."), GraphTwin([], [])]

    def graph() -> Any:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    desk = Desk(graph=graph)
    desk.put(OLD)
    for said in ("Damaged.", "Gone."):
        found = desk.search()
        assert found.notes == [f"The knowledge graph could not be read, so it was not used: {said}"]
        assert len(found.tools) == 2
    assert desk.search().notes == []


def test_usage_is_read_once_and_again_when_it_was_forgotten() -> None:
    kept = {"count_cells": 4}
    reads: list[int] = []

    def usage() -> UsageHistory:
        reads.append(1)
        return UsageHistory(runs=dict(kept), successes=dict(kept))

    desk = Desk(usage=usage)
    desk.put(["count_cells", "count_cellz"], says="counts")

    def practised() -> list[str]:
        return [tool.name for tool in desk.search("counts").tools if tool.parts["success"]]

    assert practised() == ["count_cells"]
    kept.clear()
    kept["count_cellz"] = 4
    assert practised() == ["count_cells"]
    assert len(reads) == 1
    desk.finder.forget_usage()
    assert practised() == ["count_cellz"]
    assert len(reads) == 2


def test_usage_that_cannot_be_read_is_done_without_and_tried_again() -> None:
    faults: list[Exception] = [StorageError("Damaged.")]

    def usage() -> UsageHistory:
        if faults:
            raise faults.pop()
        return UsageHistory()

    desk = Desk(usage=usage)
    desk.put(OLD)
    found = desk.search()
    assert found.notes == ["What earlier runs say of tools could not be read, so it was not used: Damaged."]
    assert len(found.tools) == 2
    assert desk.search().notes == []


def test_usage_forgotten_while_it_is_read_is_read_again_and_others_take_the_one_before() -> None:
    reached, go = threading.Event(), threading.Event()
    answers = [UsageHistory(runs={"a": n}) for n in range(3)]
    reads: list[int] = []

    def read() -> UsageHistory:
        reads.append(1)
        if len(reads) == 2:
            reached.set()
            assert go.wait(WAIT)
        return answers[len(reads) - 1]

    usage = KeptUsage(read)
    assert usage.newest() is answers[0]
    usage.forget()
    thread, given = beside(usage.newest)
    assert reached.wait(WAIT)
    assert usage.newest() is answers[0]
    usage.forget()
    go.set()
    ended(thread)
    assert given == [answers[1]]
    assert usage.newest() is answers[2]
    assert len(reads) == 3


def test_a_description_cannot_be_called_and_says_why() -> None:
    from engine.errors import UserError

    desk = Desk()
    info = CatalogueInfo(name="lab", kind="jsonl", entries=1, sha256="0", at="2026-01-01T00:00:00Z")
    desk.store.replace(info, [CatalogueEntry(name="only_told", description="Cuts adapters.", catalogue="lab")])
    with pytest.raises(UserError, match="description only"):
        desk.finder.call("only_told", {})
    with pytest.raises(NotFoundError):
        desk.finder.call("nothing", {})
