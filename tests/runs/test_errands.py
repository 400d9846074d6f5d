"""Work in the background: in order, whatever one piece does, and none after the end."""

from __future__ import annotations

import threading

from engine.errors import EngineError
from engine.runs.errands import Errands


def test_pieces_are_done_in_order_whatever_one_of_them_raises() -> None:
    done, finished = [], threading.Event()

    def fails() -> None:
        done.append("fails")
        raise EngineError("no room left")

    errands = Errands("errands", patience=20)
    assert errands.add(lambda: done.append("first"), fails, lambda: 1 / 0)
    assert errands.add(lambda: done.append("last"), finished.set)
    assert finished.wait(20)
    assert errands.close()
    assert done == ["first", "fails", "last"]


def test_a_line_that_came_to_its_end_takes_up_work_again() -> None:
    errands = Errands("errands", patience=20)
    for _ in range(50):
        finished = threading.Event()
        errands.add(finished.set)
        assert finished.wait(20)
    assert errands.close()


def test_closing_says_when_the_piece_under_way_does_not_end() -> None:
    go, begun = threading.Event(), threading.Event()
    errands = Errands("errands", patience=0.01)

    def lasts() -> None:
        begun.set()
        go.wait(20)

    errands.add(lasts)
    assert begun.wait(20)
    assert not errands.close()
    go.set()
