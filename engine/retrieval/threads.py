"""One thread for small products of vectors.

A library that starts a thread per core for a product of one millisecond waits for them many times as long as soon as
the cores are busy with something else, such as the steps of a run: 1.2 ms with one thread, 1 to 17 ms with two, for
20,000 vectors of 384 numbers on two busy cores.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

_guard = threading.Lock()


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def one_thread() -> Iterator[None]:
    """Let NumPy's products use one thread within this block; blocks of several threads take turns.

    Taking turns also keeps two blocks from restoring each other's limit as if it were the ordinary one.
    """
    with _guard, _controller().limit(limits=1, user_api="blas"):
        yield
