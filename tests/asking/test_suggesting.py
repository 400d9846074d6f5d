"""Suggestions are made in the background, and what comes after them waits for nobody and stops with the engine."""

from __future__ import annotations

import threading

from waiting import until

from engine.asking.suggestions import Suggestions
from engine.errors import EngineError


def waited(suggesting: Suggestions, key: str, make, then=None) -> list[str]:
    found: list[list[str] | None] = []
    until(lambda: found.append(suggesting.of(key, make, then)) or found[-1] is not None)
    return found[-1] or []


def test_what_comes_after_begins_when_they_are_there() -> None:
    suggesting, go, seen = Suggestions(), threading.Event(), []

    def then() -> None:
        go.wait(20)
        seen.append("done")

    assert waited(suggesting, "a", lambda: ["one"], then) == ["one"]
    assert seen == []  # they are shown before it is done
    go.set()
    suggesting.close()  # waits for it
    assert seen == ["done"]


def test_the_next_suggestions_do_not_wait_for_what_comes_after() -> None:
    suggesting, go = Suggestions(), threading.Event()
    assert waited(suggesting, "a", lambda: ["one"], lambda: go.wait(20)) == ["one"]
    try:
        assert waited(suggesting, "b", lambda: ["two"]) == ["two"]
        assert not go.is_set()
    finally:
        go.set()
        suggesting.close()


def test_what_comes_after_may_fail_and_is_left_out_once_closed() -> None:
    suggesting = Suggestions()

    def fails() -> None:
        raise EngineError("no room left")

    assert waited(suggesting, "a", lambda: ["one"], fails) == ["one"]
    assert waited(suggesting, "b", lambda: ["two"]) == ["two"]
    suggesting.close()
    called: list[str] = []
    assert waited(suggesting, "c", lambda: ["three"], lambda: called.append("then")) == []
    assert called == []
