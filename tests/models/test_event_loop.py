"""The loop of the model calls leaves nothing running behind."""

from __future__ import annotations

import asyncio
import threading

import pytest

from engine.adapters.models.loop import LoopThread
from engine.errors import ModelCancelled


def test_closing_ends_also_what_a_stopped_request_still_began():
    begun, ended = threading.Event(), list[str]()

    async def late() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            asyncio.get_running_loop().call_soon(lambda: None)  # fails where the loop is closed already
            ended.append("late")

    async def work(_: object) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            kept.append(asyncio.get_running_loop().create_task(late()))
            ended.append("first")

    kept = list[asyncio.Task[None]]()
    loop = LoopThread()
    asked = threading.Thread(target=_ask, args=(loop, work))
    asked.start()
    assert begun.wait(10)
    loop.close()
    asked.join(10)
    assert ended == ["first", "late"]
    with pytest.raises(ModelCancelled, match="closing"):
        next(loop.stream(work, name="a model", seconds=1, cancel=None))


def _ask(loop: LoopThread, work: object) -> None:
    with pytest.raises(ModelCancelled):
        list(loop.stream(work, name="a model", seconds=60, cancel=None))  # pyright: ignore[reportArgumentType]
