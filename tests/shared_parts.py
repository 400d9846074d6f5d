"""What the engines of one process of tests share: parts that keep nothing of a workspace and are slow to start."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import pytest

from engine import bootstrap
from engine.adapters.process_profiler import ProcessProfiler


class KeptProfiler(ProcessProfiler):
    """Outlives the engines it is given to; each file is read in a fork of its own as ever."""

    def close(self) -> None:
        """Do nothing: the tests end it with `end`."""

    def end(self) -> None:
        super().close()


@contextmanager
def one_of_each() -> Iterator[None]:
    """Give every engine that is opened meanwhile the same profiler and, by its name, the same embedder."""
    profiler = KeptProfiler("engine.data.service:answer", "engine.data.service:warm")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bootstrap, "make_profiler", lambda: profiler)
        patch.setattr(bootstrap, "load_embedder", cache(bootstrap.load_embedder))
        yield
    profiler.end()
