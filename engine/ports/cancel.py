"""How work learns that it is to stop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class CancelToken(Protocol):
    """Says whether a job is to stop, and tells those that wait for it."""

    @property
    def cancelled(self) -> bool:
        """True once `cancel` was called."""
        ...

    def on_cancel(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` once when cancelled (at once if it already is); return a function that unregisters."""
        ...
