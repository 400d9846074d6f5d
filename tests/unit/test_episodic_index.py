"""The inverted index and the vector search, each against a computation that takes no shortcut."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.memory import kernels, nearest
from engine.memory import postings as postings_module
from engine.memory.nearest import Nearest, dots
from engine.memory.postings import MOST_SEGMENTS, Postings

BATCHES = st.lists(
    st.lists(st.tuples(st.integers(0, 8), st.integers(0, 20), st.sampled_from([0.3, 0.7, 1.0])), max_size=12),
    max_size=12,
)


def added(postings: Postings, batch: list[tuple[int, int, float]]) -> None:
    postings.add(
        np.array([key for key, _, _ in batch], dtype=np.uint64),
        np.array([row for _, row, _ in batch], dtype=np.int32),
        np.array([weight for _, _, weight in batch], dtype=np.float32),
    )


def expected_sums(every: list[tuple[int, int, float]], factors: np.ndarray) -> np.ndarray:
    sums = np.zeros(30)
    for key, row, weight in every:
        sums[row] += factors[key] * weight
    return sums


@given(BATCHES, st.sampled_from([1, 3, 1_000]))
def test_postings_added_bit_by_bit_answer_like_a_dictionary(
    batches: list[list[tuple[int, int, float]]], column_from: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        # Small enough for the few rows here, so that keys with and without a column are both met.
        patch.setattr(postings_module, "COLUMN_FROM", column_from)
        postings = Postings()
        every: list[tuple[int, int, float]] = []
        for batch in batches:
            added(postings, batch)
            every += batch
    keys = np.arange(0, 10, dtype=np.uint64)
    found = postings.find(keys)
    assert postings.size == len(every)
    assert found.counts.tolist() == [sum(k == key for k, _, _ in every) for key in range(10)]
    factors = np.linspace(0.5, 2.0, 10)
    factors[3] = 0.0
    totals = found.totals(factors)
    expected = expected_sums(every, factors)
    assert sorted(totals.rows.tolist()) == np.flatnonzero(expected).tolist()
    assert totals.sums == pytest.approx(expected[totals.rows], rel=1e-5)
    rows = np.arange(0, 21, 2)[::-1]
    assert totals.at(rows) == pytest.approx(expected[rows], rel=1e-5)
    assert found.among(rows).sums(factors) == pytest.approx(expected[rows], rel=1e-5)
    some = np.isin(keys, [1, 5, 9])
    of_some = expected_sums(every, np.where(some, factors, 0.0))
    assert found.among(rows, some).sums(factors) == pytest.approx(of_some[rows], rel=1e-5)
    wanted = np.isin(keys, [2, 5])
    assert found.rows(wanted).tolist() == sorted({row for key, row, _ in every if key in (2, 5)})


def test_frequent_keys_have_columns_that_say_what_their_postings_say() -> None:
    draw = np.random.default_rng(4)
    size = 4_000
    every = [
        (int(key), row, 0.5)
        for row in range(100, size)
        for key in draw.choice(6, 3, p=[0.5, 0.2, 0.1, 0.1, 0.05, 0.05])
    ]
    postings = Postings()
    added(postings, every)
    added(postings, [(0, size + row, 1.0) for row in range(50)])
    assert postings._segments[0].columns
    assert not postings._segments[1].columns
    rows = np.sort(draw.choice(size + 60, 300, replace=False))
    hits = postings.find(np.array([0, 4, 77], dtype=np.uint64)).among(rows)
    got = np.zeros((3, len(rows)))
    np.add.at(got, (hits.keys, hits.places), hits.weights)
    for place, row in enumerate(rows.tolist()):
        many = sum(weight for key, there, weight in every if there == row and key == 0) + (size <= row < size + 50)
        assert got[0, place] == pytest.approx(many)
        assert got[1, place] == pytest.approx(sum(weight for key, there, weight in every if there == row and key == 4))
    assert not got[2].any()


def test_no_rows_and_no_keys_are_no_trouble() -> None:
    postings = Postings()
    none = np.empty(0, dtype=np.uint64)
    assert postings.find(none).totals(np.empty(0)).at(np.array([1, 2])).tolist() == [0.0, 0.0]
    assert postings.find(np.array([5], dtype=np.uint64)).among(np.array([0, 3])).sums(np.ones(1)).tolist() == [0.0, 0.0]
    added(postings, [(5, 0, 1.0)])
    assert postings.find(none).among(np.array([0])).sums(np.empty(0)).tolist() == [0.0]
    assert postings.find(np.array([5], dtype=np.uint64)).among(np.empty(0, dtype=int)).sums(np.ones(1)).tolist() == []


def test_segments_stay_few_however_rows_arrive() -> None:
    postings = Postings()
    for row in range(1_000):
        added(postings, [(row % 50, row, 1.0), (1_000 + row, row, 1.0)])
        assert len(postings._segments) <= MOST_SEGMENTS
    assert postings.find(np.array([7], dtype=np.uint64)).counts.tolist() == [20]


def unit_rows(count: int, seed: int, wide: int = 48) -> np.ndarray:
    draw = np.random.default_rng(seed)
    spread = 1 / np.sqrt(np.arange(1, wide + 1))
    rows = draw.standard_normal((count, wide)) * spread
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@settings(max_examples=40)
@given(st.integers(0, 400), st.integers(1, 500))
def test_products_in_slices_are_products(rows: int, wide: int) -> None:
    matrix = np.random.default_rng(rows).standard_normal((rows, wide)).astype(np.float32)
    vector = np.random.default_rng(wide).standard_normal(wide).astype(np.float32)
    assert dots(matrix, vector) == pytest.approx(matrix @ vector, abs=1e-3)


def test_few_rows_are_compared_exactly() -> None:
    rows = unit_rows(500, 1)
    index = Nearest()
    index.put(np.arange(500), rows * 3.0)  # any length: they are made unit vectors
    for query in unit_rows(5, 2):
        truth = rows @ query
        assert index.best(query, 20).tolist() == np.argsort(-truth, kind="stable")[:20].tolist()
        assert index.scores(query, np.array([3, 499])) == pytest.approx(truth[[3, 499]], abs=1e-5)
        assert index.mean_score(query) == pytest.approx(float(truth.mean()), abs=1e-5)


@pytest.fixture(params=["numpy", "numba"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Search with and without the compiled loops."""
    monkeypatch.setattr(nearest, "EXACT_ROWS", 1_000)
    monkeypatch.setattr(nearest, "LEAST_PROMISING", 300)
    monkeypatch.setattr(kernels, "load_soon", lambda: None)
    if request.param == "numpy":
        monkeypatch.setattr(kernels, "_loaded", None)
    else:
        assert kernels.load()
    return request.param


@pytest.mark.slow
def test_many_rows_are_compared_with_a_shortcut_that_keeps_the_best(way: str) -> None:
    rows = unit_rows(6_000, 3, wide=256)
    index = Nearest()
    index.put(np.arange(4_000), rows[:4_000])
    index.best(rows[0], 10)  # the directions are learned here, from the first part only
    index.put(np.arange(4_000, 6_000), rows[4_000:])
    kept = []
    for query in unit_rows(40, 4, wide=256):
        truth = np.argsort(-(rows @ query))[:10]
        found, cosines = index.search(query, 60)
        kept.append(np.isin(truth, found).mean())
        assert cosines == pytest.approx(rows[found] @ query, abs=1e-5)
        assert (np.diff(cosines) <= 0).all()
    assert np.mean(kept) >= 0.97


@pytest.mark.parametrize("wide", [64, 100, 384])
def test_compiled_loops_answer_as_numpy_does(wide: int, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = unit_rows(3_000, 8, wide=wide)
    index = Nearest()
    index.put(np.arange(3_000), rows)
    index.drop(17)
    asked = unit_rows(10, 9, wide=wide)
    here = [index.search(query, 25) for query in asked]
    monkeypatch.setattr(kernels, "_loaded", None)
    for query, (found, cosines) in zip(asked, here, strict=True):
        plain, their_cosines = index.search(query, 25)
        assert len(set(plain.tolist()) ^ set(found.tolist())) <= 2, "bytes tie now and then"
        assert cosines == pytest.approx(their_cosines, abs=1e-3)


def test_without_numba_recall_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> kernels.Kernels:
        raise ImportError("no such module")

    monkeypatch.setattr(kernels, "_loaded", None)
    monkeypatch.setattr(kernels, "_failed", False)
    monkeypatch.setattr(kernels, "_compile", refuse)
    assert not kernels.load()
    assert not kernels.load(), "a second try does not fail in another way"
    assert kernels.loaded() is None


def test_a_small_memory_loads_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []
    monkeypatch.setattr(kernels, "load_soon", lambda: asked.append(True))
    index = Nearest()
    index.put(np.arange(50), unit_rows(50, 7))
    assert asked == []
    index.prepare(nearest.EXACT_ROWS + 1)
    assert asked == [True]


def test_rows_without_a_vector_have_no_cosine() -> None:
    index = Nearest()
    index.put(np.array([0, 3]), unit_rows(2, 5))
    found, cosines = index.search(unit_rows(2, 5)[0], 4)
    assert found[0] == 0
    assert np.isnan(cosines).tolist() == [row in (1, 2) for row in found.tolist()]


def test_dropped_and_changed_rows() -> None:
    rows = unit_rows(10, 5)
    index = Nearest()
    index.put(np.arange(10), rows)
    index.drop(4)
    index.drop(4)
    assert index.known == 9
    assert index.mean_score(rows[0]) == pytest.approx(float((np.delete(rows, 4, axis=0) @ rows[0]).mean()), abs=1e-5)
    assert index.has(np.array([3, 4, 99])).tolist() == [True, False, False]
    assert np.isnan(index.scores(rows[0], np.array([4, 50]))).all()
    index.put(np.array([4]), rows[[0]])
    assert set(index.best(rows[0], 2).tolist()) == {0, 4}


def test_an_empty_index_has_nothing() -> None:
    index = Nearest()
    query = unit_rows(1, 6)[0]
    assert index.best(query, 5).tolist() == []
    assert index.mean_score(query) == 0.0
    assert np.isnan(index.scores(query, np.array([0]))).all()
    index.put(np.empty(0, dtype=int), np.empty((0, 48)))
    assert index.known == 0
