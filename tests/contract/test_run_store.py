"""The promises of `RunStore`, kept by every implementation of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.domain.datatypes import DataType
from engine.domain.encoding.sealing import alterations
from engine.domain.events import (
    EngineEvent,
    NodeFinished,
    NodeOutput,
    NodeProgress,
    NodeStarted,
    PlanProposed,
    RunFinished,
    RunQueued,
    TextMessage,
)
from engine.domain.findings import Finding, FindingValue
from engine.domain.plan import Dataset, OpenQuestion, TaskDag, TaskNode
from engine.domain.results import Artifact, Issue, NodeResult, NodeStatus, RunRecord, Usage, Verdict
from engine.errors import NotFoundError, StorageError
from engine.ports.runs import RunStore
from storage.runs.store import DuckRunStore
from storage.runs.twin import RunStoreTwin

Make = Callable[[], RunStore]


@pytest.fixture(params=["memory", "duckdb"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    opened: list[RunStore] = []

    def new() -> RunStore:
        if request.param == "memory":
            store: RunStore = RunStoreTwin()
        else:
            store = DuckRunStore(tmp_path / f"store{len(opened)}.duckdb")
        opened.append(store)
        return store

    yield new
    for store in opened:
        store.close()


@pytest.fixture
def store(make: Make) -> RunStore:
    return make()


def a_run(run_id: str = "run_1", **changes) -> RunRecord:
    values = {
        "user": "ada",
        "question": "Which genes differ between dex and control?",
        "status": "queued",
        "created_at": "2026-11-21T08:00:00.000Z",
        "data": ["counts.csv", "größe \U0001f9ec.csv"],
        "usage": Usage(seconds=1.5),
    }
    return RunRecord(run_id=run_id, **(values | changes))


def a_plan(version: int = 1, question: str = "Which genes differ?") -> TaskDag:
    return TaskDag(
        version=version,
        question=question,
        datasets=[
            Dataset(name="counts.csv", path="counts.csv", sha256="ab" * 32, bytes=12, type=DataType.COUNT_MATRIX)
        ],
        nodes=[
            TaskNode(
                id="de",
                name="Differential expression",
                tool="differential_expression",
                inputs={"counts": "data:counts.csv"},
                params={"alpha": 0.05, "reference": "untrt", "shrink": None, "levels": ["trt", "untrt"]},
            )
        ],
        open_questions=[OpenQuestion(id="q1", text="Which is the control?", why="Two levels.", proposed="untrt")],
        warnings=["Three samples a group."],
    )


def a_result(node: str = "de", status: NodeStatus = "succeeded", key: str = "k1", **changes) -> NodeResult:
    values = {
        "verdict": Verdict(
            passed=True, quality=0.97, issues=[Issue(code="few", severity="info", message="Few samples.")]
        ),
        "findings": [
            Finding(
                id="f1",
                node=node,
                text="FKBP5 rises.",
                values=[FindingValue(name="log2fc", value=4.0000000000000036, low=3.6, high=4.4, n=8)],
                row={"gene": "FKBP5", "rank": 1, "kept": True, "note": None},
            )
        ],
        "artifacts": [Artifact(name="de.csv", output="table", type="de_table", sha256="cd" * 32, bytes=10)],
        "params": {"alpha": 0.05, "nested": {"a": [1, 2.5, None]}},
        "inputs": {"counts": "ab" * 32},
        "peak_memory_mb": 311.25,
    }
    return NodeResult(node=node, tool="differential_expression", status=status, cache_key=key, **(values | changes))


def said(run_id: str, number: int) -> NodeProgress:
    return NodeProgress(run_id=run_id, node="de", message=str(number), at="2026-11-21T08:00:00.000Z")


def test_a_stored_run_comes_back_equal(store: RunStore) -> None:
    store.create_run(a_run())
    assert store.run("run_1") == a_run()


def test_an_unknown_run_has_no_state_plan_result_or_event(store: RunStore) -> None:
    assert store.run("nobody") is None
    assert store.plan("nobody") is None
    assert store.plan_versions("nobody") == []
    assert store.results("nobody") == {}
    assert store.events("nobody") == []
    assert store.runs() == []


def test_the_newest_state_of_a_run_wins_and_the_run_is_listed_once(store: RunStore) -> None:
    store.create_run(a_run())
    for status in ("planning", "running", "succeeded"):
        store.update_run(a_run(status=status))
    assert store.run("run_1") == a_run(status="succeeded")
    assert store.runs() == [a_run(status="succeeded")]


def test_creating_a_run_twice_is_refused_and_keeps_the_first(store: RunStore) -> None:
    store.create_run(a_run())
    with pytest.raises(StorageError, match="run_1 is stored already"):
        store.create_run(a_run(question="another"))
    assert store.run("run_1") == a_run()


def test_updating_a_run_that_was_never_created_is_refused(store: RunStore) -> None:
    with pytest.raises(NotFoundError, match="no run run_9"):
        store.update_run(a_run("run_9"))
    assert store.run("run_9") is None


def test_runs_come_newest_first_and_can_be_limited_and_filtered_by_user(store: RunStore) -> None:
    for minute, user in enumerate(["ada", "ben", "ada", "ben", "ada"]):
        store.create_run(a_run(f"run_{minute}", user=user, created_at=f"2026-11-21T08:0{minute}:00.000Z"))
    store.update_run(a_run("run_0", status="failed", created_at="2026-11-21T08:00:00.000Z"))
    assert [run.run_id for run in store.runs()] == ["run_4", "run_3", "run_2", "run_1", "run_0"]
    assert [run.run_id for run in store.runs(user="ada")] == ["run_4", "run_2", "run_0"]
    assert [run.run_id for run in store.runs(user="ada", limit=2)] == ["run_4", "run_2"]
    assert store.runs(user="nobody") == []
    assert store.runs(limit=0) == []


def test_runs_made_in_the_same_millisecond_are_listed_in_reverse_order_of_making(store: RunStore) -> None:
    for number in range(5):
        store.create_run(a_run(f"run_{number}"))
    store.update_run(a_run("run_0", status="running"))
    assert [run.run_id for run in store.runs()] == ["run_4", "run_3", "run_2", "run_1", "run_0"]


def test_plan_versions_are_kept_side_by_side_and_the_newest_is_the_default(store: RunStore) -> None:
    for version in (1, 3, 2):
        store.save_plan("run_1", a_plan(version, f"question {version}"))
    store.save_plan("run_2", a_plan(7, "other run"))
    assert store.plan_versions("run_1") == [1, 2, 3]
    assert store.plan("run_1") == a_plan(3, "question 3")
    assert store.plan("run_1", 1) == a_plan(1, "question 1")
    assert store.plan("run_1", 4) is None
    assert store.plan("run_2") == a_plan(7, "other run")


def test_storing_a_plan_version_twice_is_refused_and_keeps_the_first(store: RunStore) -> None:
    store.save_plan("run_1", a_plan())
    with pytest.raises(StorageError, match="Version 1 of the plan of run run_1 is stored already"):
        store.save_plan("run_1", a_plan(question="changed"))
    assert store.plan("run_1") == a_plan()
    store.save_plan("run_1", a_plan(2))
    assert store.plan_versions("run_1") == [1, 2]


def test_the_newest_result_of_each_node_wins_and_runs_do_not_mix(store: RunStore) -> None:
    store.save_result("run_1", a_result("de", "running"))
    store.save_result("run_1", a_result("pca"))
    store.save_result("run_1", a_result("de", "failed", error="ValueError: no samples"))
    store.save_result("run_2", a_result("de", attempts=3))
    assert store.results("run_1") == {
        "de": a_result("de", "failed", error="ValueError: no samples"),
        "pca": a_result("pca"),
    }
    assert list(store.results("run_1")) == ["de", "pca"]
    assert store.results("run_2") == {"de": a_result("de", attempts=3)}


def test_the_newest_success_with_a_key_is_found_in_any_run(store: RunStore) -> None:
    store.save_result("run_1", a_result(attempts=1))
    store.save_result("run_2", a_result(attempts=2))
    store.save_result("run_3", a_result(status="failed", attempts=3))
    store.save_result("run_4", a_result(status="cached", attempts=4))
    store.save_result("run_5", a_result(key="k2", attempts=5))
    assert store.archive.cached_result("k1") == ("run_2", a_result(attempts=2))
    assert store.archive.cached_result("k2") == ("run_5", a_result(key="k2", attempts=5))
    assert store.archive.cached_result("k3") is None


def test_a_success_that_a_later_result_of_the_same_node_replaced_is_not_offered(store: RunStore) -> None:
    store.save_result("run_1", a_result(attempts=1))
    store.save_result("run_2", a_result(attempts=2))
    store.save_result("run_2", a_result(status="failed", error="the artifact was damaged"))
    assert store.archive.cached_result("k1") == ("run_1", a_result(attempts=1))
    store.save_result("run_1", a_result(key="another", attempts=9))
    assert store.archive.cached_result("k1") is None


def test_what_a_doubted_run_computed_or_took_over_is_not_offered_only_what_was_computed_since(store: RunStore) -> None:
    store.save_result("run_1", a_result(attempts=1))
    store.save_result("run_2", a_result(status="cached", attempts=2))
    store.save_result("run_1", a_result("pca", key="k2"))
    assert store.archive.cached_result("k1", {"another"}) == ("run_1", a_result(attempts=1))
    assert store.archive.cached_result("k1", {"run_1"}) is None
    assert store.archive.cached_result("k1", {"run_2"}) is None
    assert store.archive.cached_result("k2", {"run_2"}) == ("run_1", a_result("pca", key="k2"))
    store.save_result("run_3", a_result(attempts=3))
    assert store.archive.cached_result("k1", {"run_1", "run_2"}) == ("run_3", a_result(attempts=3))


def test_a_step_without_a_cache_key_is_never_reused(store: RunStore) -> None:
    store.save_result("run_1", a_result(key=""))
    assert store.archive.cached_result("") is None


def test_events_are_numbered_from_one_without_gaps_for_each_run(store: RunStore) -> None:
    first = store.append_events([said("a", 1), said("b", 1), said("a", 2)])
    second = store.append_events([said("b", 2), said("a", 3)])
    assert [(e.run_id, e.seq) for e in first + second] == [("a", 1), ("b", 1), ("a", 2), ("b", 2), ("a", 3)]
    assert store.events("a") == [e for e in first + second if e.run_id == "a"]
    assert store.events("b") == [e for e in first + second if e.run_id == "b"]


def test_events_of_every_shape_come_back_equal(store: RunStore) -> None:
    events: list[EngineEvent] = [
        RunQueued(run_id="r", question="Why?\n\ttabs, \"quotes\", 'more', \x00, \U0001f9ec"),
        PlanProposed(run_id="r", plan=a_plan()),
        NodeStarted(run_id="r", node="de", attempt=2),
        NodeOutput(run_id="r", node="de", stream="stderr", text="x" * 70_000),
        TextMessage(run_id="r", text=""),
        RunFinished(run_id="r", status="partial", usage=Usage(model_calls=3, usd=0.1)),
    ]
    numbered = store.append_events(events)
    assert [e.model_copy(update={"seq": 0}) for e in numbered] == events
    assert store.events("r") == numbered


def test_events_replay_from_any_number_and_in_pages(store: RunStore) -> None:
    store.append_events([said("a", n) for n in range(1, 31)])
    assert [e.seq for e in store.events("a", after=27)] == [28, 29, 30]
    assert store.events("a", after=30) == []
    assert [e.seq for e in store.events("a", after=10, limit=5)] == [11, 12, 13, 14, 15]
    assert store.events("a", limit=0) == []
    pages, after = [], 0
    while page := store.events("a", after=after, limit=7):
        pages += page
        after = page[-1].seq
    assert pages == store.events("a")


def test_appending_nothing_does_nothing(store: RunStore) -> None:
    assert store.append_events([]) == []


def test_a_number_an_event_came_with_is_replaced_by_its_place_in_the_log(store: RunStore) -> None:
    numbered = store.append_events([said("a", 1).model_copy(update={"seq": 99})])
    assert [e.seq for e in numbered] == [1]


def test_a_batch_with_one_event_that_cannot_be_stored_stores_none_of_it(store: RunStore) -> None:
    store.append_events([said("a", 1)])
    broken = NodeFinished(run_id="a", node="de", status="succeeded", seconds=float("nan"))
    with pytest.raises(StorageError, match="cannot be stored"):
        store.append_events([said("a", 2), said("b", 1), broken])
    assert [e.seq for e in store.events("a")] == [1]
    assert store.events("b") == []
    assert [e.seq for e in store.append_events([said("a", 2), said("b", 1)])] == [2, 1]


def test_a_result_that_could_not_be_read_back_is_refused_when_it_is_stored(store: RunStore) -> None:
    with pytest.raises(StorageError, match=r"`verdict\.quality` holds a value that cannot be read back"):
        store.save_result("run_1", a_result(verdict=Verdict(passed=True, quality=float("nan"))))
    with pytest.raises(StorageError, match="no JSON form"):
        store.save_result("run_1", a_result(params={"handle": object()}))
    assert store.results("run_1") == {}


def test_a_closed_store_says_so(make: Make) -> None:
    store = make()
    store.close()
    with pytest.raises(StorageError, match="closed"):
        store.run("run_1")
    with pytest.raises(StorageError, match="closed"):
        store.append_events([said("a", 1)])


@settings(max_examples=25, deadline=None, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    batches=st.lists(
        st.lists(st.tuples(st.sampled_from(["run_a", "run_b", "run_c"]), st.text(max_size=20)), max_size=12),
        max_size=8,
    ),
    after=st.integers(min_value=0, max_value=60),
)
def test_events_replay_gaplessly_and_in_order_however_they_were_batched(make, shared_stores, batches, after) -> None:
    store = shared_stores(make)
    expected: dict[str, list[str]] = {}
    renamed = {name: f"{name}_{len(shared_stores.used)}" for name in ("run_a", "run_b", "run_c")}
    shared_stores.used.append(1)
    for batch in batches:
        events = [TextMessage(run_id=renamed[name], text=text) for name, text in batch]
        for event, numbered in zip(events, store.append_events(events), strict=True):
            expected.setdefault(event.run_id, []).append(event.text)
            assert numbered == event.model_copy(update={"seq": len(expected[event.run_id])})
    for name in renamed.values():
        texts = expected.get(name, [])
        replayed = store.events(name)
        assert [e.seq for e in replayed] == list(range(1, len(texts) + 1))
        assert [e.text for e in replayed] == texts
        assert store.events(name, after=after) == replayed[after:]


class _Shared:
    """One store for all examples of a property, which would otherwise open a database each."""

    def __init__(self) -> None:
        self.store: RunStore | None = None
        self.used: list[int] = []

    def __call__(self, make: Make) -> RunStore:
        self.store = self.store or make()
        return self.store


@pytest.fixture
def shared_stores() -> _Shared:
    return _Shared()


def test_eight_threads_reading_and_writing_get_only_right_answers(store: RunStore) -> None:
    rounds, together = 12, 3
    start = threading.Barrier(8)

    def work(number: int) -> None:
        run_id = f"run_{number}"
        start.wait()
        store.create_run(a_run(run_id, user=f"user_{number}"))
        for step in range(1, rounds + 1):
            own = store.append_events([said(run_id, 2 * step - 1), said("shared", number), said(run_id, 2 * step)])
            assert [e.seq for e in own if e.run_id == run_id] == [2 * step - 1, 2 * step]
            store.save_result(run_id, a_result(attempts=step, key=f"key_{number}"))
            store.update_run(a_run(run_id, user=f"user_{number}", error=str(step)))
            assert store.run(run_id) == a_run(run_id, user=f"user_{number}", error=str(step))
            assert store.results(run_id) == {"de": a_result(attempts=step, key=f"key_{number}")}
            assert store.archive.cached_result(f"key_{number}") == (
                run_id,
                a_result(attempts=step, key=f"key_{number}"),
            )
            replayed = store.events(run_id, after=2 * (step - 1))
            assert [(e.run_id, e.message) for e in replayed] == [(run_id, str(2 * step - 1)), (run_id, str(2 * step))]
            seen = [e.seq for e in store.events("shared")]
            assert seen == list(range(1, len(seen) + 1))
            assert len(seen) >= step
            mine = store.runs(user=f"user_{number}", limit=together)
            assert [run.run_id for run in mine] == [run_id]

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(work, number) for number in range(8)]:
            done.result(timeout=300)
    shared = store.events("shared")
    assert [e.seq for e in shared] == list(range(1, 8 * rounds + 1))
    assert sorted(e.message for e in shared) == sorted(str(n) for n in range(8) for _ in range(rounds))
    assert len(store.runs()) == 8


def test_of_many_threads_creating_the_same_run_or_plan_exactly_one_succeeds(store: RunStore) -> None:
    for attempt in range(10):
        start = threading.Barrier(8)

        def create(number: int, attempt: int = attempt, start: threading.Barrier = start) -> list[int]:
            taken = []
            start.wait()
            for which, write in enumerate(
                [
                    lambda: store.create_run(a_run(f"run_{attempt}", error=str(number))),
                    lambda: store.save_plan(f"run_{attempt}", a_plan(1, str(number))),
                ]
            ):
                try:
                    write()
                    taken.append(which)
                except StorageError:
                    pass
            return taken

        with ThreadPoolExecutor(8) as pool:
            taken = [which for done in pool.map(create, range(8)) for which in done]
        assert sorted(taken) == [0, 1]
        assert len(store.runs()) == attempt + 1


def test_two_stores_on_one_database_number_a_run_without_gap_or_clash(tmp_path: Path) -> None:
    from storage.database import Database

    database = Database(tmp_path / "one.duckdb")
    first, second = DuckRunStore(database), DuckRunStore(database)
    numbers = []
    for turn in range(6):
        numbers += [e.seq for e in (first, second)[turn % 2].append_events([said("a", turn), said("a", turn)])]
    assert numbers == list(range(1, 13))
    assert [e.seq for e in first.events("a")] == numbers
    first.close()
    assert second.events("a")
    database.close()


SAVES = {
    "a new run": lambda store, events: store.create_run(a_run("run_2"), events),
    "a state": lambda store, events: store.update_run(a_run(status="running"), events),
    "a plan": lambda store, events: store.save_plan("run_1", a_plan(), events),
    "a result": lambda store, events: store.save_result("run_1", a_result(), events),
}


@pytest.mark.parametrize("what", SAVES)
def test_what_is_saved_and_its_events_are_stored_together_or_not_at_all(store: RunStore, what: str) -> None:
    store.create_run(a_run())
    before = store.archive.stored("run_1"), store.archive.stored("run_2")
    broken = RunFinished(run_id="run_1", status="succeeded", usage=Usage(seconds=float("nan")))
    with pytest.raises(StorageError):
        SAVES[what](store, [said("run_1", 1), broken])
    assert (store.archive.stored("run_1"), store.archive.stored("run_2")) == before
    numbered = SAVES[what](store, [said("run_1", 1), said("run_1", 2)])
    assert [event.seq for event in numbered] == [1, 2]
    assert store.events("run_1") == numbered


def test_a_run_is_sealed_whenever_it_comes_to_rest_and_each_seal_stays_true(store: RunStore) -> None:
    store.create_run(a_run())
    store.append_events([said("run_1", 1)])
    assert store.archive.seal("run_1") is None
    for number, status in enumerate(["awaiting_approval", "interrupted", "succeeded"], start=1):
        store.update_run(a_run(status="running"))
        assert alterations(store.archive.stored("run_1")) == []
        store.update_run(a_run(status=status), [said("run_1", number + 1)])
        head = store.archive.seal("run_1")
        assert head is not None
        assert (head.number, head.last_seq) == (number, number + 1)
        assert alterations(store.archive.stored("run_1")) == []
    store.append_events([said("run_1", 9)])
    assert alterations(store.archive.stored("run_1")) == []
    rows = store.archive.stored("run_1").rows
    assert [row.chain for row in rows if row.table == "event"][-1] == store.archive.seal("run_1").chain


# ==== deletion ====


def test_a_deleted_run_leaves_nothing_and_others_keep_their_seals(store: RunStore) -> None:
    for run_id in ("run_1", "run_2"):
        store.create_run(a_run(run_id), [RunQueued(run_id=run_id, question="?", position=0)])
        store.save_plan(run_id, TaskDag(question="?"))
        store.save_result(run_id, NodeResult(node="n1", tool="t", status="succeeded", cache_key=f"key {run_id}"))
        ended = RunFinished(run_id=run_id, status="succeeded", usage=Usage())
        store.update_run(a_run(run_id, status="succeeded"), [ended])
    seal, rows = store.archive.seal("run_2"), store.archive.stored("run_2")
    assert store.archive.delete_run("run_1") is True
    assert store.run("run_1") is None
    assert store.plan("run_1") is None
    assert store.events("run_1") == []
    assert store.results("run_1") == {}
    assert store.archive.cached_result("key run_1") is None
    assert store.archive.stored("run_1").rows == []
    assert store.archive.stored("run_1").seals == []
    assert [run.run_id for run in store.runs()] == ["run_2"]
    assert store.archive.seal("run_2") == seal
    assert alterations(store.archive.stored("run_2")) == alterations(rows) == []
    assert store.archive.delete_run("run_1") is False


def test_a_run_of_the_same_id_can_be_made_anew_after_deletion(store: RunStore) -> None:
    store.create_run(a_run(), [RunQueued(run_id="run_1", question="?", position=0)])
    store.archive.delete_run("run_1")
    numbered = store.create_run(a_run(), [RunQueued(run_id="run_1", question="?", position=0)])
    assert [event.seq for event in numbered] == [1]


def test_hashes_tell_what_only_these_runs_name(store: RunStore) -> None:
    own, shared, other = ("a" * 64, "b" * 64, "c" * 64)
    for run_id, named in (("run_1", (own, shared)), ("run_2", (shared, other))):
        store.create_run(a_run(run_id))
        held = [Artifact(name="t.csv", output="t", type="table", sha256=sha, bytes=1) for sha in named]
        store.save_result(run_id, NodeResult(node="n1", tool="t", status="succeeded", artifacts=held))
    assert store.archive.hashes(["run_1"]) == ({own, shared}, {shared, other})
    assert store.archive.hashes(["run_1", "run_2"]) == ({own, shared, other}, set())


def test_turns_are_the_newest_states_of_a_conversation_oldest_first(store: RunStore) -> None:
    for minute, (run_id, talk) in enumerate([("run_2", "run_2"), ("run_1", "run_2"), ("run_3", "run_3")]):
        store.create_run(a_run(run_id, conversation=talk, created_at=f"2026-11-21T08:0{minute}:00.000Z"))
    store.update_run(
        a_run("run_2", conversation="run_2", created_at="2026-11-21T08:00:00.000Z", status="planning")
    )  # fmt: skip
    assert [(run.run_id, run.status) for run in store.archive.turns("run_2")] == [
        ("run_2", "planning"),
        ("run_1", "queued"),
    ]
    assert store.archive.turns("run_never") == []
