"""Questions that could be asked next, found out in the background: each is planned before it is offered."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable

from engine.runs.errands import Errands

_log = logging.getLogger(__name__)
KEPT = 200
_PATIENCE = 60.0
"""Seconds that closing waits for those being made: a thread must not outlive the libraries it uses."""


class Suggestions:
    """Makes suggestions one after the other, as they take no more than one processor, and keeps the newest."""

    def __init__(self) -> None:
        self._made: OrderedDict[str, list[str] | None] = OrderedDict()
        self._guard = threading.Lock()
        self._errands = Errands("biodesk-suggest", patience=_PATIENCE)
        # What comes after a suggestion takes long, and the next suggestions do not wait for it.
        self._after = Errands("biodesk-after", patience=_PATIENCE)

    def of(self, key: str, make: Callable[[], list[str]], then: Callable[[], object] | None = None) -> list[str] | None:
        """Return what was made for a key, None while it is being made; the first who asks starts it.

        Args:
            key: what they are for.
            make: makes them.
            then: what is done when they are there, while nobody waits.
        """
        with self._guard:
            if key not in self._made:
                line = [lambda: self._make(key, make), *([lambda: self._after.add(then)] if then is not None else [])]
                self._made[key] = None if self._errands.add(*line) else []
                while len(self._made) > KEPT:
                    self._made.popitem(last=False)
            return self._made[key]

    def close(self) -> None:
        """Make no more, and wait for those being made."""
        self._errands.close()
        self._after.close()

    def _make(self, key: str, make: Callable[[], list[str]]) -> None:
        try:
            found = make()
        except Exception as err:  # noqa: BLE001 - a border: a page without suggestions is whole
            _log.warning("No questions could be suggested", exc_info=err)
            found = []
        with self._guard:
            self._made[key] = found
