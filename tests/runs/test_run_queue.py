"""Runs stand in a bounded line; each can be stopped, and one that goes wrong does not hold up the others."""

from __future__ import annotations

import threading

import pytest

from engine.errors import LimitExceeded
from engine.runs.queue import RunQueue


@pytest.fixture
def queue():
    made = RunQueue(workers=1, size=2)
    yield made
    made.close()


class Gate:
    """Work that says when it began and ends when told or cancelled."""

    def __init__(self) -> None:
        self.began, self.open = threading.Event(), threading.Event()
        self.cancelled = False

    def __call__(self, cancel) -> None:
        self.began.set()
        cancel.on_cancel(self.open.set)
        assert self.open.wait(60)
        self.cancelled = cancel.cancelled


def test_runs_are_worked_on_in_the_order_they_came(queue):
    gate, order = Gate(), []
    queue.submit("first", gate)
    assert gate.began.wait(60)
    assert queue.submit("second", lambda cancel: order.append("second")) == 0
    assert queue.submit("third", lambda cancel: order.append("third")) == 1
    assert queue.active() == ["first", "second", "third"]
    gate.open.set()
    assert queue.wait("third", 60)
    assert order == ["second", "third"]
    assert queue.active() == []


def test_one_run_more_than_the_line_holds_is_refused_with_the_limit(queue):
    gate = Gate()
    queue.submit("running", gate)
    assert gate.began.wait(60)
    queue.submit("a", lambda cancel: None)
    queue.submit("b", lambda cancel: None)
    with pytest.raises(LimitExceeded) as caught:
        queue.submit("c", lambda cancel: None)
    assert caught.value.details == {"kind": "queue", "value": 2, "limit": 2}
    assert "2 runs are already waiting" in caught.value.message
    assert "c" not in queue.active()
    gate.open.set()


def test_the_same_run_is_not_taken_twice(queue):
    gate = Gate()
    queue.submit("one", gate)
    with pytest.raises(LimitExceeded, match="already being worked on"):
        queue.submit("one", lambda cancel: None)
    gate.open.set()
    assert queue.wait("one", 60)
    queue.submit("one", lambda cancel: None)
    assert queue.wait("one", 60)


def test_cancelling_reaches_the_running_work_only(queue):
    gate, seen = Gate(), []
    queue.submit("running", gate)
    assert gate.began.wait(60)
    queue.submit("waiting", lambda cancel: seen.append(cancel.cancelled))
    assert queue.cancel("running")
    assert queue.wait("waiting", 60)
    assert gate.cancelled
    assert seen == [False]


def test_a_waiting_run_learns_of_its_cancellation_when_its_turn_comes(queue):
    gate, seen = Gate(), []
    queue.submit("running", gate)
    assert gate.began.wait(60)
    queue.submit("waiting", lambda cancel: seen.append(cancel.cancelled))
    assert queue.cancel("waiting")
    gate.open.set()
    assert queue.wait("waiting", 60)
    assert seen == [True]


def test_an_unknown_run_cannot_be_cancelled_and_need_not_be_waited_for(queue):
    assert queue.cancel("ghost") is False
    assert queue.wait("ghost", 0) is True


def test_waiting_gives_up_when_the_time_is_over(queue):
    gate = Gate()
    queue.submit("slow", gate)
    assert queue.wait("slow", 0.01) is False
    gate.open.set()
    assert queue.wait("slow", 60)


def test_work_that_raises_is_logged_and_the_next_run_is_still_worked_on(queue, caplog):
    done = threading.Event()
    queue.submit("bad", lambda cancel: 1 / 0)
    assert queue.wait("bad", 60)
    queue.submit("good", lambda cancel: done.set())
    assert queue.wait("good", 60)
    assert done.is_set()
    assert "The work on run bad ended with an error" in caplog.text


def test_as_many_runs_as_there_are_workers_are_at_work_together():
    queue, together = RunQueue(workers=3, size=5), threading.Barrier(3, timeout=60)
    for name in "abc":
        queue.submit(name, lambda cancel: together.wait())
    for name in "abc":
        assert queue.wait(name, 60)
    assert not together.broken
    queue.close()


def test_closing_cancels_what_runs_and_what_waits():
    queue, gate, seen = RunQueue(workers=1, size=5), Gate(), []
    queue.submit("running", gate)
    assert gate.began.wait(60)
    queue.submit("waiting", lambda cancel: seen.append(cancel.cancelled))
    queue.close()
    assert gate.cancelled
    assert seen == [True]
