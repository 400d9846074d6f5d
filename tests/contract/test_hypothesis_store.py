"""The promises of `HypothesisStore`, kept by every implementation of it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from engine.domain.discovery.hypotheses import (
    Aims,
    Asked,
    Bounds,
    Clusters,
    Drawn,
    ExecutedTest,
    Hypothesis,
    HypothesisReview,
    Item,
    MakingPass,
    Mark,
    Match,
    MetaReview,
    Skipped,
    Tournament,
    key_of,
)
from engine.errors import NotFoundError, StorageError
from engine.ports.hypotheses import HypothesisStore
from storage.database import Database
from storage.hypotheses.forms import KINDS
from storage.hypotheses.store import DuckHypotheses
from storage.hypotheses.twin import HypothesesTwin

HELD = Tournament(id="t1", user="ann", aims=Aims(goal="a b"), bounds=Bounds(), status="queued")
EVERY: list[Item] = [
    Hypothesis(id="h1", text="A regulates B.", method="graph"),
    HypothesisReview(hypothesis="h1", scores={"novelty": 3}),
    Match(number=0, first="h1", second="h2", score=0.5),
    Mark(hypothesis="h1", kind="vote", by="ann", at="1"),
    ExecutedTest(hypothesis="h1", prediction=0, run="r"),
    MetaReview(round=1, summary="s", strengths=[], weaknesses=[], recurring_themes=[], gaps=[], recommendations=[]),
    Skipped(stage="ranking", what="h1 and h2", why="no answer"),
    Asked(key="plan", calls=1),
    Drawn(number=0, pairs=[("h1", "h2")]),
    Clusters(number=0, of={"h1": 1}),
    MakingPass(number=0, missing=2, known=["h1"]),
]


@pytest.fixture(params=["memory", "duckdb"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[HypothesisStore]:
    if request.param == "memory":
        yield HypothesesTwin()
        return
    database = Database(tmp_path / "b.duckdb")
    yield DuckHypotheses(database)
    database.close()


def test_every_kind_of_item_comes_back_in_order(store: HypothesisStore) -> None:
    assert {type(item) for item in EVERY} == set(KINDS.values())
    assert store.keep(HELD, EVERY) == EVERY
    assert store.items("t1") == list(enumerate(EVERY, start=1))
    assert store.items("t1", after=8) == list(enumerate(EVERY, start=1))[8:]
    assert store.items("elsewhere") == []


def test_the_first_item_under_a_key_stays(store: HypothesisStore) -> None:
    first = Match(number=3, first="h1", second="h2", score=1)
    other = first.model_copy(update={"score": 0.0})
    assert store.keep(HELD, [first, other]) == [first]
    assert store.add("t1", "ann", [other, EVERY[0]]) == [EVERY[0]]
    assert [item for _, item in store.items("t1")] == [first, EVERY[0]]
    assert key_of(Asked(key="3")) == key_of(first)
    assert store.add("t1", "ann", [Asked(key="3")]) == [Asked(key="3")]


def test_how_far_it_is_is_replaced(store: HypothesisStore) -> None:
    assert store.tournament("t1") is None
    store.keep(HELD)
    later = HELD.model_copy(update={"status": "running", "progress": 0.5})
    store.keep(later)
    store.keep(HELD.model_copy(update={"id": "t2"}))
    assert store.tournament("t1") == later
    assert [one.id for one in store.tournaments()] == ["t2", "t1"]


def test_nobody_reaches_what_belongs_to_another(store: HypothesisStore) -> None:
    store.keep(HELD)
    assert store.tournament("t1", "bob") is None
    assert store.tournaments("bob") == []
    assert [one.id for one in store.tournaments("ann")] == ["t1"]
    with pytest.raises(NotFoundError):
        store.add("t1", "bob", EVERY)
    with pytest.raises(NotFoundError):
        store.keep(HELD.model_copy(update={"user": "bob"}), EVERY)
    with pytest.raises(NotFoundError):
        store.add("t9", "ann", EVERY)
    assert store.items("t1") == []


def test_what_cannot_be_read_again_is_refused_whole(store: HypothesisStore) -> None:
    store.keep(HELD)
    broken = Hypothesis(id="h2", text="\ud800", method="user")
    with pytest.raises(StorageError, match="cannot be stored"):
        store.keep(HELD.model_copy(update={"progress": 1.0}), [EVERY[0], broken])
    assert store.items("t1") == []
    assert store.tournament("t1") == HELD


def test_many_threads_share_the_keys(store: HypothesisStore) -> None:
    store.keep(HELD)
    ask = [Asked(key=str(k % 10)) for k in range(40)]
    with ThreadPoolExecutor(8) as pool:
        new = list(pool.map(lambda item: len(store.add("t1", "ann", [item])), ask))
    assert sum(new) == 10
    assert [number for number, _ in store.items("t1")] == list(range(1, 11))


def test_what_was_kept_is_there_after_a_restart(tmp_path: Path) -> None:
    database = Database(tmp_path / "b.duckdb")
    DuckHypotheses(database).keep(HELD, EVERY)
    database.close()
    database = Database(tmp_path / "b.duckdb")
    assert [item for _, item in DuckHypotheses(database).items("t1")] == EVERY
    assert DuckHypotheses(database).tournament("t1") == HELD
    database.close()
