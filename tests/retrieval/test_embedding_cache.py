"""A text is embedded once in a workspace's life."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from engine.adapters.fakes import HashEmbedder
from engine.errors import IntegrityError, ModelUnavailable
from engine.ports.vectors import VectorIndex
from engine.retrieval.indexes.embedding_cache import CachedEmbeddings
from storage.vectors.store import LanceVectors
from storage.vectors.twin import VectorsTwin

TEXTS = [f"tool {n} aligns {'reads ' * (n % 7)}" for n in range(700)]


@pytest.fixture(params=["memory", "lance"])
def vectors(request: pytest.FixtureRequest, tmp_path: Path) -> VectorIndex:
    return VectorsTwin() if request.param == "memory" else LanceVectors(tmp_path / "vectors")


def test_rows_are_those_of_the_embedder_in_the_order_of_the_texts(vectors: VectorIndex) -> None:
    embedder = HashEmbedder()
    cached = CachedEmbeddings(embedder, vectors)
    mixed = [TEXTS[3], TEXTS[1], TEXTS[3], "", "half \ud83e pair", TEXTS[0]]
    for _ in range(2):
        rows = cached.vectors_of(mixed)
        assert rows.dtype == np.float32
        assert np.abs(rows - HashEmbedder().embed(mixed)).max() < 1e-6
    assert len(embedder.embedded) == 5
    assert cached.vectors_of([]).shape == (0, embedder.dimensions)


def test_only_new_texts_are_embedded_also_by_the_next_process(vectors: VectorIndex) -> None:
    CachedEmbeddings(HashEmbedder(), vectors).vectors_of(TEXTS[:600])
    embedder = HashEmbedder()
    calls: list[tuple[int, int]] = []
    again = CachedEmbeddings(embedder, vectors)
    rows = again.vectors_of(TEXTS, progress=lambda done, total: calls.append((done, total)))
    assert sorted(embedder.embedded) == sorted(TEXTS[600:])
    assert calls[0] == (0, 100)
    assert calls[-1] == (100, 100)
    assert np.abs(rows - HashEmbedder().embed(TEXTS)).max() < 1e-6
    calls.clear()
    again.vectors_of(TEXTS, progress=lambda done, total: calls.append((done, total)))
    assert calls == []


def test_texts_without_a_vector_are_counted_once_each_and_without_the_model(vectors: VectorIndex) -> None:
    embedder = HashEmbedder()
    cached = CachedEmbeddings(embedder, vectors)
    assert cached.missing([]) == 0
    assert cached.missing([TEXTS[1], TEXTS[1], TEXTS[0]]) == 2
    assert embedder.embedded == []
    cached.vectors_of(TEXTS[:600])
    assert cached.missing(TEXTS) == 100
    assert cached.missing(TEXTS[:600]) == 0


def test_two_callers_are_each_told_what_they_had_embedded(vectors: VectorIndex) -> None:
    cached = CachedEmbeddings(HashEmbedder(), vectors)
    told: list[tuple[int, int]] = []

    def other_caller(done: int, total: int) -> None:
        told.append((done, total))
        if len(told) == 2:
            cached.vectors_of(TEXTS[500:600])

    cached.vectors_of(TEXTS[:200], progress=other_caller)
    assert told[-1] == (200, 200)


def test_known_texts_need_no_model(vectors: VectorIndex) -> None:
    class Gone(HashEmbedder):
        def embed(self, texts):
            raise ModelUnavailable("The model is not on this machine.")

    CachedEmbeddings(HashEmbedder(), vectors).vectors_of(TEXTS[:10])
    gone = CachedEmbeddings(Gone(), vectors)
    assert len(gone.vectors_of(TEXTS[:10])) == 10
    with pytest.raises(ModelUnavailable):
        gone.vectors_of(TEXTS[:11])
    with pytest.raises(ModelUnavailable):
        gone.query("align")


def test_vectors_of_two_models_do_not_mix(vectors: VectorIndex) -> None:
    small, large = HashEmbedder(16), HashEmbedder(64)
    assert CachedEmbeddings(small, vectors).vectors_of(TEXTS[:5]).shape == (5, 16)
    assert CachedEmbeddings(large, vectors).vectors_of(TEXTS[:5]).shape == (5, 64)
    assert len(large.embedded) == 5


def test_a_question_is_embedded_once_and_not_stored(vectors: VectorIndex) -> None:
    embedder = HashEmbedder()
    cached = CachedEmbeddings(embedder, vectors)
    first, second = cached.query("align reads"), cached.query("align reads")
    assert first.shape == (256,)
    assert first is second
    assert len(embedder.embedded) == 1
    assert vectors.ids(cached.collection) == []
    with pytest.raises(ValueError):
        first[0] = 9.0
    for number in range(2_000):
        cached.query(f"question {number}")
    cached.query("align reads")
    assert embedder.embedded.count("align reads") == 2


def test_threads_that_ask_for_the_same_texts_agree(vectors: VectorIndex) -> None:
    cached = CachedEmbeddings(HashEmbedder(), vectors)
    expected = HashEmbedder().embed(TEXTS)
    wrong: list[float] = []

    def ask(offset: int) -> None:
        order = [(n + offset) % len(TEXTS) for n in range(len(TEXTS))]
        rows = cached.vectors_of([TEXTS[n] for n in order])
        wrong.append(float(np.abs(rows - expected[order]).max()))

    threads = [threading.Thread(target=ask, args=(offset,)) for offset in (0, 100, 350)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(wrong) == 3
    assert max(wrong) < 1e-6
    assert len(vectors.ids(cached.collection)) == len(TEXTS)


def test_a_damaged_collection_is_made_again(tmp_path: Path) -> None:
    CachedEmbeddings(HashEmbedder(), LanceVectors(tmp_path / "v")).vectors_of(TEXTS[:300])
    for file in (tmp_path / "v").rglob("*"):
        if file.is_file():
            file.write_bytes(b"damaged")
    with pytest.raises(IntegrityError):
        LanceVectors(tmp_path / "v").ids(CachedEmbeddings(HashEmbedder(), VectorsTwin()).collection)
    embedder = HashEmbedder()
    rows = CachedEmbeddings(embedder, LanceVectors(tmp_path / "v")).vectors_of(TEXTS[:300])
    assert np.abs(rows - HashEmbedder().embed(TEXTS[:300])).max() < 1e-6
    assert len(embedder.embedded) == 300


@pytest.mark.slow
def test_the_nearest_texts_are_those_of_an_exhaustive_comparison(vectors: VectorIndex) -> None:
    cached = CachedEmbeddings(HashEmbedder(), vectors, owner="ann")
    cached.vectors_of(["tool 1 aligns reads", *TEXTS[300:]], kind="tool")
    texts, question = TEXTS[:40], "tool 12 aligns reads"
    cosines = HashEmbedder().embed(texts) @ HashEmbedder().embed([question])[0]
    wanted = sorted(zip(texts, cosines.tolist(), strict=True), key=lambda hit: -hit[1])
    found = cached.nearest(question, texts, top=5, kind="fact")
    assert [score for _, score in found] == pytest.approx([score for _, score in wanted[:5]], abs=1e-5)
    assert {text for text, _ in found[:1]} <= {text for text, score in wanted if score > wanted[0][1] - 1e-5}
    assert cached.nearest(question, [], top=5, kind="fact") == []


def test_texts_that_are_no_longer_asked_about_take_no_place_among_the_nearest(vectors: VectorIndex) -> None:
    cached = CachedEmbeddings(HashEmbedder(), vectors)
    gone = [f"red blood cells {n}" for n in range(60)]
    cached.nearest("red blood cells", [*gone, "blood", "a tree"], top=3, kind="fact")
    found = cached.nearest("red blood cells", ["a tree", "blood"], top=3, kind="fact")
    assert [text for text, _ in found] == ["blood", "a tree"]


def test_the_nearest_are_found_when_the_collection_is_gone_or_damaged(tmp_path: Path) -> None:
    cached = CachedEmbeddings(HashEmbedder(), LanceVectors(tmp_path / "v"))
    found = cached.nearest("tool 12", TEXTS[:40], top=5, kind="fact")
    for file in (tmp_path / "v").glob("*.lance/data/*"):
        file.write_bytes(b"xx")
    assert cached.nearest("tool 12", TEXTS[:40], top=5, kind="fact") == found
    shutil.rmtree(tmp_path / "v")
    assert cached.nearest("tool 12", TEXTS[:40], top=5, kind="fact") == found


def test_vectors_are_marked_with_whose_and_what_they_are(vectors: VectorIndex) -> None:
    cached = CachedEmbeddings(HashEmbedder(), vectors, owner="ann")
    cached.vectors_of(TEXTS[:3], kind="tool")
    asked = cached.query(TEXTS[0]).tolist()
    assert len(vectors.search(cached.collection, asked, top=9, owners=["ann"], kinds=["tool"])) == 3
    assert vectors.search(cached.collection, asked, top=9, owners=["ben"]) == []


def test_a_killed_process_loses_at_most_the_batch_it_worked_on(tmp_path: Path) -> None:
    code = (
        "import time; from pathlib import Path\n"
        "from engine.adapters.fakes import HashEmbedder\n"
        "from engine.retrieval.indexes.embedding_cache import CachedEmbeddings; from storage.vectors.store import LanceVectors\n"
        f"cached = CachedEmbeddings(HashEmbedder(), LanceVectors(Path({str(tmp_path / 'v')!r})))\n"
        "def said(done, total):\n"
        "    print(done, flush=True)\n"
        "    time.sleep(0.05 if done < total / 2 else 600)\n"  # never done before it is killed
        "cached.vectors_of([f'text number {n}' for n in range(5_000)], progress=said)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
    ) as child:
        assert child.stdout is not None
        for _ in range(6):
            done = int(child.stdout.readline())
        os.kill(child.pid, signal.SIGKILL)
        done = max([done, *(int(line) for line in child.stdout.read().split("\n")[:-1] if line)])
    assert 0 < done < 5_000
    embedder = HashEmbedder()
    CachedEmbeddings(embedder, LanceVectors(tmp_path / "v")).vectors_of([f"text number {n}" for n in range(5_000)])
    assert len(embedder.embedded) <= 5_000 - done


def test_texts_that_ship_are_embedded_once_an_account_and_again_when_their_file_is_damaged(tmp_path: Path) -> None:
    from storage.vectors.shipped import ShippedVectors

    folder = tmp_path / "account"
    texts = TEXTS[:20]
    embedders = [HashEmbedder() for _ in range(3)]

    def rows_in_a_new_workspace(embedder: HashEmbedder) -> np.ndarray:
        return CachedEmbeddings(embedder, VectorsTwin(), ShippedVectors(folder)).shipped_vectors_of(texts)

    first = rows_in_a_new_workspace(embedders[0])
    assert np.array_equal(first, rows_in_a_new_workspace(embedders[1]))
    assert (len(embedders[0].embedded), len(embedders[1].embedded)) == (20, 0)
    (kept,) = folder.iterdir()
    kept.write_bytes(kept.read_bytes()[:100])
    assert np.array_equal(first, rows_in_a_new_workspace(embedders[2]))
    assert len(embedders[2].embedded) == 20
    assert CachedEmbeddings(HashEmbedder(), VectorsTwin(), ShippedVectors(folder)).shipped_vectors_of([]).shape[0] == 0


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(tmp_path: Path) -> None:
    from storage.vectors.shipped import ShippedVectors

    (tmp_path / "taken").write_text("a file where the folder should be")
    cached = CachedEmbeddings(HashEmbedder(), VectorsTwin(), ShippedVectors(tmp_path / "taken"))
    assert cached.shipped_vectors_of(TEXTS[:3]).shape[0] == 3
