"""The one event loop that talks to model servers, in a thread of its own.

Callers are ordinary threads that wait. A read that hangs in a thread cannot be stopped from outside; a task of an
event loop can, at once and with its connection closed. There is one loop for good, since clients that are shared
between loops break (LiteLLM keeps some in global places).
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from engine.errors import ModelCancelled, ModelTimedOut
from engine.ports.cancel import CancelToken
from engine.ports.models.chat import ChatReply, TextPiece

GRACE_SECONDS = 1.0
"""How long after its time a request may take to end by itself before its caller goes on without it."""

Hear = Callable[[TextPiece | ChatReply], None]
Work = Callable[[Hear], Awaitable[None]]
"""Makes a request; hands every piece, and at the end the answer, to what it is given."""

_OVER = object()


class LoopThread:
    """Runs requests in its event loop and yields what they hand over to the thread that asked."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._at_end: list[Callable[[], Awaitable[Any]]] = []
        self._closed = False

    def stream(
        self, work: Work, *, name: str, seconds: float, cancel: CancelToken | None
    ) -> Iterator[TextPiece | ChatReply]:
        """Yield what `work` hands over. It ends when the iterator is left, after `seconds`, or when cancelled.

        Raises:
            ModelTimedOut: after `seconds`.
            ModelCancelled: when `cancel` was called; what was yielded before is not repeated in it.
            ModelUnavailable: what `work` raises.
        """
        heard: queue.SimpleQueue[Any] = queue.SimpleQueue()
        loop = self._running()
        future = asyncio.run_coroutine_threadsafe(_bounded(work, heard, name, seconds), loop)

        def stop() -> None:
            heard.put(ModelCancelled(f"The request to {name} was stopped."))
            future.cancel()

        unregister = cancel.on_cancel(stop) if cancel is not None else lambda: None
        try:
            until = time.monotonic() + seconds + GRACE_SECONDS
            while (item := _next(heard, name, until)) is not _OVER:
                if isinstance(item, BaseException):
                    raise item
                yield from item
        finally:
            unregister()
            future.cancel()

    def close_with(self, close: Callable[[], Awaitable[Any]]) -> None:
        """Await `close` in the loop before it ends."""
        self._at_end.append(close)

    def close(self) -> None:
        """End the requests under way and the thread. Safe to call twice, and when nothing was ever asked."""
        with self._lock:
            self._closed = True
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is None or thread is None:
            return
        with contextlib.suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(self._end(), loop).result(timeout=2 * GRACE_SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(timeout=2 * GRACE_SECONDS)

    async def _end(self) -> None:
        await _end_tasks()
        for close in self._at_end:
            with contextlib.suppress(Exception):  # a connection that does not close goes with the process
                await close()

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._closed:
                raise ModelCancelled("Biodesk is closing, so no model is asked any more.", reached=False)
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._run, args=(self._loop,), name="models", daemon=True)
                self._thread.start()
            return self._loop

    @staticmethod
    def _run(loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
            # A request may have come between the closing and the stop, and a busy machine takes its time.
            loop.run_until_complete(_end_tasks(5 * GRACE_SECONDS))
        finally:
            loop.close()


async def _end_tasks(seconds: float = GRACE_SECONDS) -> None:
    """Cancel every other task of this loop, also those that a cancelled one still began, and wait a little for them.

    A task that outlives its loop ends when it is collected, and what it then does to the closed loop fails unseen.
    """
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while tasks := asyncio.all_tasks() - {asyncio.current_task()}:
                for task in tasks:
                    task.cancel()
                await asyncio.wait(tasks)


async def _bounded(work: Work, heard: queue.SimpleQueue[Any], name: str, seconds: float) -> None:
    """Run the request within its time; put what it brings, and its end, good or bad, into the queue.

    All that one reading of the connection brought goes over together: to wake the other thread for each token would
    cost more than the rest of the call.
    """
    loop, brought = asyncio.get_running_loop(), []

    def hand_over() -> None:
        if brought:
            heard.put(tuple(brought))
            brought.clear()

    def hear(item: TextPiece | ChatReply) -> None:
        if not brought:
            loop.call_soon(hand_over)
        brought.append(item)

    try:
        async with asyncio.timeout(seconds):
            try:
                await work(hear)
            finally:
                hand_over()
        heard.put(_OVER)
    except TimeoutError:
        heard.put(ModelTimedOut(f"{name} gave no whole answer within {seconds:.0f} s."))
    except asyncio.CancelledError:
        heard.put(ModelCancelled(f"The request to {name} was stopped."))
        raise
    except Exception as err:  # noqa: BLE001 - a border: whatever it is belongs to the thread that asked
        heard.put(err)


def _next(heard: queue.SimpleQueue[Any], name: str, until: float) -> Any:
    """Return the next item; the loop itself may be held up by a library that blocks, and nobody waits for it then."""
    try:
        return heard.get(timeout=max(0.0, until - time.monotonic()))
    except queue.Empty:
        return ModelTimedOut(f"{name} does not answer and could not be stopped.")
