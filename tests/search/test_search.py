"""The shared search: words, names and vectors against plain arithmetic, and what adding and removing leaves."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.search.confidence import Confidence
from engine.search.index import Document, FieldWeight, Query, ScoreWeights, SearchIndex
from engine.search.postings import Postings
from engine.search.spelling import Spelling
from engine.search.vectors import Vectors, best, dots, spread

FIELDS = {"text": FieldWeight(1.0, 0.75)}
letters = st.lists(st.sampled_from("abcdefg"), max_size=12)


def reference(documents: list[list[str]], query: list[str]) -> list[float]:
    """BM25 with k1 1.2 and b 0.75, written out."""
    average = max(1.0, sum(map(len, documents)) / len(documents))
    scores = []
    for document in documents:
        total = 0.0
        for word in query:
            frequency = sum(word in other for other in documents)
            if not frequency:
                continue
            idf = math.log(1 + (len(documents) - frequency + 0.5) / (frequency + 0.5))
            tf = document.count(word) / (1 - 0.75 + 0.75 * len(document) / average)
            total += idf * tf * 2.2 / (tf + 1.2)
        scores.append(total)
    return scores


def built(documents: list[list[str]]) -> SearchIndex:
    index = SearchIndex(FIELDS)
    index.add(Document(id=f"d{place}", words={"text": words}) for place, words in enumerate(documents))
    return index


@given(st.lists(letters, min_size=1, max_size=8), st.lists(st.sampled_from("abcdefgh"), max_size=5, unique=True))
def test_scores_are_those_of_bm25(documents: list[list[str]], query: list[str]) -> None:
    found = built(documents).bm25(dict.fromkeys(query, 1.0))
    assert found.tolist() == pytest.approx(reference(documents, query), rel=1e-4, abs=1e-5)


def test_a_field_of_more_weight_counts_more() -> None:
    index = SearchIndex({"name": FieldWeight(3.0, 0.0), "text": FieldWeight(1.0, 0.0)})
    index.add(
        [
            Document(id="named", words={"name": ["map"], "text": []}),
            Document(id="told", words={"text": ["map"], "unknown field": ["map"]}),
            Document(id="neither", words={"text": ["x"]}),
        ]
    )
    scores = index.bm25({"map": 1.0})
    assert scores[0] > scores[1] > scores[2] == 0
    assert index.words.rows("map").tolist() == [0, 1]
    assert index.idf("y") == 0 < index.idf("map") < index.rarest


def test_parts_are_shares_and_add_up_to_the_score() -> None:
    index = SearchIndex(FIELDS)
    index.add(
        [
            Document(id="both", words={"text": ["cell", "death"]}, names={"tool": ["opencfu"], "entity": ["TP53"]}),
            Document(id="half", words={"text": ["cell", "wall"]}, names={"tool": ["other"]}),
        ]
    )
    index.put_vectors(["half", "both", "never heard of"], np.array([[0.0, 2.0], [3.0, 4.0], [1.0, 0.0]]))
    query = Query(
        words={"cell": 1.0, "death": 1.0, "unheard": 0.5},
        names={"tool": {"opencfu": 1.0, "circos": 3.0}},
        vector=np.array([0.0, 1.0], np.float32),
    )
    weights = ScoreWeights(words=0.3, vector=0.5, names={"tool": 0.2})
    first, second = index.search(query, top=5, weights=weights)
    assert (first.id, second.id) == ("both", "half")
    assert first.parts["tool"] == pytest.approx(0.25)
    assert first.parts["cosine"] == pytest.approx(0.8)
    assert second.parts["cosine"] == pytest.approx(1.0)
    for hit in (first, second):
        expected = 0.3 * hit.parts["words"] + 0.5 * hit.parts["cosine"] + 0.2 * hit.parts["tool"]
        assert hit.score == pytest.approx(expected, abs=1e-6)
    rare = index.rarest
    whole = index.idf("cell") + index.idf("death") + 0.5 * rare
    assert second.parts["coverage"] == pytest.approx(index.idf("cell") / whole)


def test_filters_by_owner_and_kind_leave_only_those() -> None:
    index = SearchIndex(FIELDS)
    for owner in ("ann", "bo"):
        for kind in ("tool", "episode"):
            index.add([Document(id=f"{owner} {kind}", words={"text": ["x"]}, owner=owner, kind=kind)])

    def ids(owners: Sequence[str] = (), kinds: Sequence[str] = ()) -> list[str]:
        return [hit.id for hit in index.search(Query(words={"x": 1.0}, owners=owners, kinds=kinds), top=9)]

    assert ids() == ["ann tool", "ann episode", "bo tool", "bo episode"]
    assert ids(owners=["bo"]) == ["bo tool", "bo episode"]
    assert ids(kinds=["tool"]) == ["ann tool", "bo tool"]
    assert ids(owners=["ann"], kinds=["episode", "fact"]) == ["ann episode"]
    assert ids(owners=["nobody"]) == []


steps = st.lists(st.tuples(st.booleans(), st.integers(0, 30), letters), max_size=60)


@settings(deadline=None)
@given(steps, st.integers(0, 3))
def test_an_index_that_changed_finds_what_is_there(steps: list[tuple[bool, int, list[str]]], waste: int) -> None:
    index, there = SearchIndex({"text": FieldWeight(1.0, 0.0)}), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("engine.search.index._LEAST_WASTE", waste)
        for adds, number, words in steps:
            name = f"d{number}"
            if adds:
                index.add([Document(id=name, words={"text": words}, owner="odd" if number % 2 else "even")])
                index.put_vectors([name], np.array([[1.0, number]]))
                there[name] = words
            else:
                assert index.remove(name) == (there.pop(name, None) is not None)
    assert len(index) == len(there)
    for letter in "abcdefg":
        hits = index.search(Query(words={letter: 1.0}, owners=["odd"]), top=100)
        assert {hit.id for hit in hits} == {n for n, words in there.items() if letter in words and int(n[1:]) % 2}
    for name in there:
        assert index.vectors.of(np.array([index.row(name)]))[0] == pytest.approx(
            np.array([1.0, int(name[1:])]) / math.hypot(1, int(name[1:])), abs=1e-5
        )
    assert index.without_vector(5) == []


def test_a_document_that_came_anew_has_lost_its_vector() -> None:
    index = built([["a"], ["b"]])
    index.put_vectors(["d0", "d1"], np.eye(2))
    index.add([Document(id="d0", words={"text": ["c"]})])
    assert index.without_vector(5) == ["d0"]
    cosine = index.parts(Query(vector=np.array([1.0, 0.0], np.float32))).cosine
    assert cosine is not None
    assert np.isnan(cosine[index.row("d0")])


def test_an_empty_index_and_an_empty_query_find_nothing() -> None:
    assert SearchIndex(FIELDS).search(Query(words={"a": 1.0}, vector=np.ones(3, np.float32)), top=5) == []
    assert built([["a"]]).search(Query(), top=5) == []
    assert built([["a"]]).search(Query(words={"a": 1.0}), top=0) == []


@given(st.lists(st.floats(-1, 1, width=32), max_size=40), st.integers(0, 45))
def test_the_best_are_those_of_sorting_everything(scores: list[float], count: int) -> None:
    expected = sorted(range(len(scores)), key=lambda place: (-scores[place], place))[:count]
    assert best(np.array(scores, np.float32), count).tolist() == expected


@pytest.mark.parametrize("rows", [0, 1, 19, 20, 21, 500])
def test_products_on_one_thread_are_the_products(rows: int) -> None:
    draw = np.random.default_rng(rows)
    matrix, vector = draw.standard_normal((rows, 384), np.float32), draw.standard_normal(384, np.float32)
    assert dots(matrix, vector) == pytest.approx(matrix @ vector, abs=1e-4)
    assert dots(matrix, matrix[:7].T) == pytest.approx(matrix @ matrix[:7].T, abs=1e-3)


def test_vectors_of_another_width_are_refused() -> None:
    vectors = Vectors()
    vectors.put(np.array([3]), np.ones((1, 4)))
    assert vectors.has(np.array([0, 3, 9])).tolist() == [False, True, False]
    with pytest.raises(ValueError, match="among those of 4"):
        vectors.put(np.array([0]), np.ones((1, 5)))
    assert spread(np.array([0.1, 0.2, 0.9], np.float32)).tolist() == pytest.approx([0, 0, 1])


def test_postings_know_their_rows_by_word() -> None:
    postings = Postings()
    for row in range(5):
        postings.add(row, {"all": 1.0, f"only {row}": 2.0})
    assert postings.has(3, "only 3")
    assert not postings.has(2, "only 3")
    assert not postings.has(2, "never")
    fewer = postings.renumbered(np.array([-1, 0, -1, 1, -1]))
    assert sorted(fewer) == ["all", "only 1", "only 3"]
    assert fewer.sums({"all": 1.0, "only 3": 0.5}, 2).tolist() == [1.0, 2.0]


def test_near_words_come_by_distance_and_then_frequency() -> None:
    spelling = Spelling({"expression": 9, "expulsion": 2, "gene": 50, "gens": 1, "genome": 7})
    assert spelling.near("expresion", 2)[0] == ("expression", 1)
    assert spelling.near("gnee", 1) == [("gene", 1)]
    assert spelling.near("genf", 1) == [("gene", 1), ("gens", 1)]
    assert spelling.near("xene", 1, start="x") == []
    assert "gene" in spelling
    assert "xene" not in spelling


def test_a_fitted_model_tells_apart_what_can_be_told() -> None:
    draw = np.random.default_rng(3)
    good = draw.random(400) < 0.8
    rows = [{"near": float(draw.normal(1.0 if yes else 0.0, 0.5)), "noise": float(draw.normal())} for yes in good]
    model = Confidence.fit(rows, good.tolist())
    found = np.array([model.probability(row) for row in rows])
    assert found[good].mean() > 0.7 > 0.3 > found[~good].mean()
    assert abs(model.weights["noise"]) < 0.2 * model.weights["near"]
