"""Events reach the store in order, in batches and before anyone sees them; a failing disk is told, not hidden."""

from __future__ import annotations

import threading
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from waiting import until

from engine.adapters.fakes import FrozenClock
from engine.domain.events import NodeProgress, RunCancelled, RunFinished
from engine.domain.results import NodeResult, Usage
from engine.errors import StorageError
from engine.runs import event_log
from engine.runs.event_log import EventLog
from storage.runs.twin import RunStoreTwin


class FlakyStore(RunStoreTwin):
    """A store that writes down its batches and fails when told; `blocked` holds every write back."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[int] = []
        self.error: Exception | None = None
        self.free = threading.Event()
        self.free.set()

    def append_events(self, events):
        self.free.wait(10)
        if self.error is not None:
            raise self.error
        self.batches.append(len(events))
        return super().append_events(events)


@pytest.fixture
def store():
    return FlakyStore()


@pytest.fixture
def log(store):
    made = EventLog(store, FrozenClock())
    yield made
    made.close()


def say(number: int, run: str = "r1") -> NodeProgress:
    return NodeProgress(run_id=run, node="n1", message=str(number))


def said(store, run: str = "r1") -> list[int]:
    return [int(event.message) for event in store.events(run)]


def test_events_keep_their_order_and_get_the_time_and_numbers_without_gap(log, store):
    for number in range(1200):
        log.emit(say(number))
    log.flush()
    events = store.events("r1")
    assert said(store) == list(range(1200))
    assert [event.seq for event in events] == list(range(1, 1201))
    assert {event.at for event in events} == {"2026-11-21T08:00:00.000Z"}


def test_many_events_are_few_commits(log, store):
    for number in range(1000):
        log.emit(say(number))
    log.flush()
    assert len(store.batches) <= 20


def test_an_event_is_committed_soon_without_a_flush(log, store):
    log.emit(say(1))
    until(lambda: store.events("r1"))
    assert said(store) == [1]


def test_nothing_is_readable_before_it_is_committed(log, store):
    store.free.clear()
    log.emit(say(1))
    assert store.events("r1") == []
    store.free.set()
    log.flush()
    assert said(store) == [1]


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(1, 60), min_size=2, max_size=5))
def test_the_events_of_each_thread_keep_their_order_among_those_of_others(counts):
    store = RunStoreTwin()
    log = EventLog(store, FrozenClock())

    def emit(name: int, count: int) -> None:
        for number in range(count):
            log.emit(NodeProgress(run_id="r1", node=f"t{name}", message=str(number)))

    threads = [threading.Thread(target=emit, args=pair) for pair in enumerate(counts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log.close()
    events = store.events("r1")
    assert [event.seq for event in events] == list(range(1, sum(counts) + 1))
    for name, count in enumerate(counts):
        assert [int(e.message) for e in events if e.node == f"t{name}"] == list(range(count))


def test_closing_commits_what_waits_and_may_be_done_twice(store):
    log = EventLog(store, FrozenClock())
    for number in range(50):
        log.emit(say(number))
    log.close()
    log.close()
    assert said(store) == list(range(50))


def test_a_store_that_fails_is_told_to_the_one_who_flushes(log, store):
    store.error = StorageError("no room")
    log.emit(say(1))
    with pytest.raises(StorageError, match="no room"):
        log.flush()


def test_a_failure_in_the_background_is_told_to_the_next_one_who_emits(log, store):
    store.error = StorageError("no room")
    log.emit(say(1))

    def told() -> StorageError | None:
        try:
            log.emit(say(2))
        except StorageError as err:
            return err
        return None

    assert until(told).message == "no room"


def test_an_error_that_is_not_ours_becomes_a_storage_error(log, store):
    store.error = RuntimeError("odd")
    log.emit(say(1))
    with pytest.raises(StorageError, match="Events could not be stored: odd"):
        log.flush()


def test_the_log_works_again_once_the_disk_does(log, store):
    store.error = StorageError("no room")
    log.emit(say(1))
    with pytest.raises(StorageError):
        log.flush()
    store.error = None
    log.emit(RunCancelled(run_id="r1", by="me"))
    log.flush()
    assert [event.kind for event in store.events("r1")] == ["node_progress", "run_cancelled"]


class RefusingStore(FlakyStore):
    """A store that refuses the events of one run."""

    refused = "r1"

    def append_events(self, events):
        if any(event.run_id == self.refused for event in events):
            raise StorageError("no room")
        return super().append_events(events)


def test_a_run_whose_events_are_refused_costs_no_other_run_an_event():
    store = RefusingStore()
    log = EventLog(store, FrozenClock())
    for number in range(20):
        with suppress(StorageError):
            log.emit(say(number, "r1"))
        log.emit(say(number, "r2"))  # never told of what happened to r1
    log.flush("r2")
    assert said(store, "r2") == list(range(20))
    assert store.events("r1") == []
    with pytest.raises(StorageError, match="no room"):
        log.flush("r1")
    store.refused = ""
    log.flush()
    assert said(store, "r1") == list(range(20))
    log.close()


def test_an_event_that_can_never_be_stored_is_said_to_be_lost_and_the_rest_is_kept(log, store):
    log.emit(say(1))
    broken = RunFinished.model_construct(run_id="r1", kind="run_finished", status="nonsense", usage=Usage())
    log.emit(broken)
    log.emit(say(2))
    log.flush()
    events = store.events("r1")
    assert sorted(event.kind for event in events) == ["node_progress", "node_progress", "warning"]
    assert any("1 event of this run could not be stored" in event.message for event in events)


def test_a_result_and_the_events_before_and_of_it_are_one_transaction(log, store):
    log.emit(say(1))
    result = NodeResult(node="n1", tool="t", status="succeeded")
    log.with_result("r1", result, RunCancelled(run_id="r1", by="me"))
    assert [event.kind for event in store.events("r1")] == ["node_progress", "run_cancelled"]
    assert store.results("r1") == {"n1": result}


def test_one_who_talks_faster_than_the_disk_writes_is_made_to_wait(log, store, monkeypatch):
    monkeypatch.setattr(event_log, "MOST_WAITING", 10)
    store.free.clear()
    finished = threading.Event()

    def talk() -> None:
        for number in range(100):
            log.emit(say(number))
        finished.set()

    threading.Thread(target=talk, daemon=True).start()
    assert not finished.wait(0.3)
    store.free.set()
    assert finished.wait(5)
    log.flush()
    assert said(store) == list(range(100))
