"""The two inner loops of graph traversal, compiled when Numba has had time to load.

Loading Numba takes half a second and the very first compilation some seconds, so it happens in the
background while NumPy and plain Python answer; the answers are the same. Compiled code is cached on disk.
"""

from __future__ import annotations

import atexit
import logging
import threading
from typing import Any, NamedTuple

_log = logging.getLogger(__name__)

_DELAY_SECONDS = 1.0
"""A command that asks one question and ends should not pay for loading what it will not use."""


class Kernels(NamedTuple):
    """The compiled loops; see `engine.knowledge.graph.compiled`."""

    walk: Any
    shortest: Any


_loaded: Kernels | None = None
_guard = threading.Lock()
_load_lock = threading.Lock()
_started: threading.Timer | None = None
_failed = False


def loaded() -> Kernels | None:
    """Return the kernels, or None while they are not ready (or never will be): the first walk has them loaded."""
    if _loaded is None:
        load_soon()
    return _loaded


def load_soon() -> None:
    """See to it that the kernels are loaded in the background. Returns at once; safe to call often.

    Not before something walks: most commands only look names up, and loading Numba is a third of what they would do.
    """
    global _started
    with _guard:
        if _started is not None or _loaded is not None:
            return
        _started = threading.Timer(_DELAY_SECONDS, load)
        _started.name = "graph-kernels"
        _started.daemon = True
        _started.start()
        atexit.register(_finish, _started)


def load() -> bool:
    """Load the kernels now and say whether they can be used."""
    global _loaded, _failed
    with _load_lock:
        if _loaded is None and not _failed:
            try:
                _loaded = _compile()
            except Exception as error:  # noqa: BLE001 - whatever Numba dislikes here, NumPy goes on answering
                _failed = True
                _log.info("Graph traversal goes on without Numba: %s", error)
        return _loaded is not None


def _finish(timer: threading.Timer) -> None:
    """At the end of the program: do not start, and let a compilation under way come to its end.

    Also a cancelled timer is waited for: its thread takes a moment to end, and one that lives when the interpreter is
    taken down keeps objects that a binding library then reports as leaked.
    """
    timer.cancel()
    timer.join(20)


def _compile() -> Kernels:
    from engine.knowledge.graph import compiled

    return Kernels(compiled.walk, compiled.shortest)
