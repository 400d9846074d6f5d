"""The inner loops of the vector search, compiled when Numba has had time to load.

Loading Numba takes half a second and the very first compilation some seconds, so it happens in the background, and only
for a memory large enough to gain by it; NumPy gives the same answers until then. Compiled code is cached on disk.
"""

from __future__ import annotations

import atexit
import logging
import threading
from typing import Any, NamedTuple

_log = logging.getLogger(__name__)


class Kernels(NamedTuple):
    """The compiled loops; see `engine.memory.compiled`."""

    promising: Any
    products: Any


_loaded: Kernels | None = None
_guard = threading.Lock()
_load_lock = threading.Lock()
_started: threading.Thread | None = None
_failed = False


def loaded() -> Kernels | None:
    """Return the kernels, or None while they are not ready (or never will be)."""
    return _loaded


def load_soon() -> None:
    """See to it that the kernels are loaded in the background. Returns at once; safe to call often."""
    global _started
    with _guard:
        if _started is not None or _loaded is not None:
            return
        _started = threading.Thread(target=load, name="memory-kernels", daemon=True)
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
                _log.info("Recall goes on without Numba: %s", error)
        return _loaded is not None


def _finish(thread: threading.Thread) -> None:
    """At the end of the program let a compilation under way come to its end, so that it is cached whole."""
    thread.join(20)


def _compile() -> Kernels:
    from engine.memory import compiled

    return Kernels(compiled.promising, compiled.products)
