"""Cancelling tells everyone exactly once, from any thread, in any order."""

from __future__ import annotations

import threading

import pytest

from engine.runs.cancel import CancelSource


def test_a_callback_is_called_once_however_often_it_is_cancelled() -> None:
    source, calls = CancelSource(), []
    source.on_cancel(lambda: calls.append(1))
    assert not source.cancelled
    source.cancel()
    source.cancel()
    assert source.cancelled
    assert calls == [1]


def test_a_callback_that_comes_late_is_called_at_once() -> None:
    source, calls = CancelSource(), []
    source.cancel()
    source.on_cancel(lambda: calls.append(1))()
    assert calls == [1]


def test_an_unregistered_callback_is_not_called_and_the_same_one_registered_twice_is_two() -> None:
    source, calls = CancelSource(), []

    def callback() -> None:
        calls.append(1)

    forget = source.on_cancel(callback)
    source.on_cancel(callback)
    forget()
    forget()
    source.cancel()
    forget()
    assert calls == [1]


def test_a_failing_callback_does_not_keep_the_others_from_being_told(caplog: pytest.LogCaptureFixture) -> None:
    source, calls = CancelSource(), []
    source.on_cancel(lambda: 1 / 0)
    source.on_cancel(lambda: calls.append(1))
    source.cancel()
    assert calls == [1]
    assert "division by zero" in caplog.text


def test_a_callback_may_use_the_source() -> None:
    source, calls = CancelSource(), []

    def callback() -> None:
        source.cancel()
        source.on_cancel(lambda: calls.append("inner"))
        calls.append("outer")

    source.on_cancel(callback)
    source.cancel()
    assert calls == ["inner", "outer"]


def test_waiting_ends_with_the_cancellation() -> None:
    source = CancelSource()
    assert source.wait(0.01) is False
    threading.Timer(0.05, source.cancel).start()
    assert source.wait(5.0) is True


def test_registering_while_another_thread_cancels_calls_each_callback_once() -> None:
    for _ in range(50):
        source, calls, start = CancelSource(), [], threading.Barrier(3)

        def register(number: int, source=source, calls=calls, start=start) -> None:
            start.wait()
            for step in range(20):
                source.on_cancel(lambda key=(number, step): calls.append(key))

        threads = [threading.Thread(target=register, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        start.wait()
        source.cancel()
        for thread in threads:
            thread.join()
        assert sorted(calls) == [(number, step) for number in range(2) for step in range(20)]
