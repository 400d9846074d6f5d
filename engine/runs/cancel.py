"""How a wish to stop travels from a button to whatever is waiting for a process or a socket."""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Callable

_log = logging.getLogger(__name__)


class CancelSource:
    """The `CancelToken` that is handed out, and the switch that turns it. Cancelling cannot be undone.

    May be used from any thread. Callbacks are called once, in the thread that cancels, without a lock held: one may
    register, unregister or cancel again.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cancelled = threading.Event()
        self._callbacks: dict[int, Callable[[], None]] = {}
        self._numbers = itertools.count()

    @property
    def cancelled(self) -> bool:
        """True once `cancel` was called."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """Tell everyone who waits. The first call counts; a failing callback keeps no other from being told."""
        with self._lock:
            if self._cancelled.is_set():
                return
            self._cancelled.set()
            callbacks = list(self._callbacks.values())
            self._callbacks.clear()
        for callback in callbacks:
            try:
                callback()
            except Exception:  # noqa: BLE001 - it is somebody else's code, and the others must still be told
                _log.exception("A callback for a cancellation failed")

    def on_cancel(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` once when cancelled, at once if it already is; return a function that unregisters it."""
        with self._lock:
            if not self._cancelled.is_set():
                number = next(self._numbers)
                self._callbacks[number] = callback
                return lambda: self._forget(number)
        callback()
        return lambda: None

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until cancelled or the time is over; return whether it is cancelled."""
        return self._cancelled.wait(seconds)

    def _forget(self, number: int) -> None:
        with self._lock:
            self._callbacks.pop(number, None)
