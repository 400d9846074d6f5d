"""The promises of `ModelCallStore`, kept by every implementation of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.domain.models import ModelCall, ModelTotals
from engine.ports.models.calls import ModelCallStore
from storage.database import Database
from storage.models.calls import DuckModelCalls
from storage.models.twin import ModelCallsTwin


@pytest.fixture(params=["memory", "duckdb"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ModelCallStore]:
    if request.param == "memory":
        yield ModelCallsTwin()
        return
    database = Database(tmp_path / "b.duckdb")
    yield DuckModelCalls(database)
    database.close()


def call(run_id: str = "r1", user: str = "ada", day: str = "2026-11-24", **more) -> ModelCall:
    facts = {"prompt_tokens": 10, "completion_tokens": 5, "usd": 0.25, "conversation": "c1", **more}
    return ModelCall(
        at=f"{day}T08:00:00.000Z", user=user, run_id=run_id, role="fast", model="lab/m", purpose="test", **facts
    )


def test_nothing_adds_up_to_nothing(store: ModelCallStore) -> None:
    assert store.totals("run", "r1") == ModelTotals()
    assert list(store.calls()) == []
    assert store.answer("k") is None


def test_calls_add_up_by_run_conversation_and_the_users_day(store: ModelCallStore) -> None:
    for one in (call(), call("r2"), call("r3", user="bob"), call("r4", day="2026-11-25", conversation="c2")):
        store.add(one)
    assert store.totals("run", "r1") == ModelTotals(calls=1, prompt_tokens=10, completion_tokens=5, usd=0.25)
    assert store.totals("conversation", "c1").calls == 3
    assert store.totals("day", "2026-11-24", user="ada") == ModelTotals(
        calls=2, prompt_tokens=20, completion_tokens=10, usd=0.5
    )


def test_what_reached_no_server_or_was_kept_is_no_call_and_an_unknown_price_is_none(store: ModelCallStore) -> None:
    store.add(call(reached=False, prompt_tokens=0, completion_tokens=0, usd=None))
    store.add(call(cached=True, prompt_tokens=0, completion_tokens=0, usd=0.0))
    store.add(call(usd=None))
    assert store.totals("run", "r1") == ModelTotals(calls=1, prompt_tokens=10, completion_tokens=5, usd=0.0)


def test_calls_come_newest_first_and_whole(store: ModelCallStore) -> None:
    made = [call(seconds=number) for number in range(3)]
    for one in [*made, call("r2")]:
        store.add(one)
    assert list(store.calls("r1")) == made[::-1]
    assert len(store.calls(limit=2)) == 2
    assert store.calls()[0].run_id == "r2"


def test_the_first_answer_under_a_key_stays_until_its_run_is_forgotten(store: ModelCallStore) -> None:
    store.keep_answer("k", {"text": "ß"}, run_id="r1")
    store.keep_answer("k", {"text": "other"}, run_id="r2")
    store.keep_answer("l", {"text": "stays"}, run_id="r2")
    assert store.answer("k") == {"text": "ß"}
    assert store.forget_answers("r1") == 1
    assert store.answer("k") is None
    assert store.answer("l") == {"text": "stays"}
    assert store.forget_answers() == 1
