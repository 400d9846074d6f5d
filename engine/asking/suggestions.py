"""Questions that could be asked next, found out in the background: each is planned before it is offered."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from engine.errors import EngineError

_log = logging.getLogger(__name__)
KEPT = 200


@dataclass(slots=True)
class Suggestions:
    """Makes suggestions one after the other in a thread of its own and keeps the newest."""

    _made: OrderedDict[str, list[str] | None] = field(default_factory=OrderedDict)
    _guard: threading.Lock = field(default_factory=threading.Lock)
    _one: threading.Lock = field(default_factory=threading.Lock)
    """Held while some are made: they are a courtesy and take no more than one processor."""
    _closed: bool = False

    def of(self, key: str, make: Callable[[], list[str]], then: Callable[[], object] | None = None) -> list[str] | None:
        """Return what was made for a key, None while it is being made; the first who asks starts it.

        Args:
            key: what they are for.
            make: makes them.
            then: what is done when they are there, while nobody waits.
        """
        with self._guard:
            if key in self._made:
                return self._made[key]
            self._made[key] = None
            while len(self._made) > KEPT:
                self._made.popitem(last=False)
        threading.Thread(target=self._make, args=[key, make, then], name="biodesk-suggest", daemon=True).start()
        return None

    def _make(self, key: str, make: Callable[[], list[str]], then: Callable[[], object] | None) -> None:
        try:
            with self._one:
                found = [] if self._closed else make()
        except Exception as err:  # noqa: BLE001 - a border: a page without suggestions is whole
            _log.warning("No questions could be suggested", exc_info=err)
            found = []
        with self._guard:
            self._made[key] = found
        with self._one, contextlib.suppress(EngineError):
            if then is not None and not self._closed:
                then()

    def close(self) -> None:
        """Make no more, and wait for those being made: a thread must not outlive the libraries it uses."""
        self._closed = True
        with self._one:
            pass
