"""The inverted index and the vector search, each against a computation that takes no shortcut."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.memory import nearest
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


@given(BATCHES)
def test_postings_added_bit_by_bit_answer_like_a_dictionary(batches: list[list[tuple[int, int, float]]]) -> None:
    postings = Postings()
    every: list[tuple[int, int, float]] = []
    for batch in batches:
        added(postings, batch)
        every += batch
    keys = np.arange(0, 10, dtype=np.uint64)
    assert postings.size == len(every)
    assert postings.counts(keys).tolist() == [sum(k == key for k, _, _ in every) for key in range(10)]
    factors = np.linspace(0.5, 2.0, 10)
    sums = np.zeros(21, dtype=np.float32)
    postings.add_up(keys, factors, sums)
    expected = np.zeros(21)
    for key, row, weight in every:
        expected[row] += factors[key] * weight
    assert sums == pytest.approx(expected, rel=1e-4)
    wanted = np.array([2, 5], dtype=np.uint64)
    assert postings.rows(wanted).tolist() == sorted({row for key, row, _ in every if key in (2, 5)})


def test_segments_stay_few_however_rows_arrive() -> None:
    postings = Postings()
    for row in range(1_000):
        added(postings, [(row % 50, row, 1.0), (1_000 + row, row, 1.0)])
        assert len(postings._segments) <= MOST_SEGMENTS
    assert postings.counts(np.array([7], dtype=np.uint64)).tolist() == [20]


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


def test_many_rows_are_compared_with_a_shortcut_that_keeps_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest, "EXACT_ROWS", 1_000)
    rows = unit_rows(6_000, 3, wide=256)
    index = Nearest()
    index.put(np.arange(4_000), rows[:4_000])
    index.best(rows[0], 10)  # the directions are learned here, from the first part only
    index.put(np.arange(4_000, 6_000), rows[4_000:])
    kept = []
    for query in unit_rows(40, 4, wide=256):
        truth = np.argsort(-(rows @ query))[:10]
        kept.append(np.isin(truth, index.best(query, 60)).mean())
    assert np.mean(kept) >= 0.97


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
