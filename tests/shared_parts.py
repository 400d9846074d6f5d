"""What the engines of one process of tests share: parts that keep nothing of a workspace and are slow to start."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from engine import bootstrap
from engine.adapters.process_profiler import ProcessProfiler
from engine.adapters.process_sandbox import ProcessSandbox
from engine.ports.sandbox import Sandbox
from engine.settings import Settings

IMPORTED = ("numpy.random", "pandas", "scipy.stats", "matplotlib.pyplot", "statsmodels.api", "sklearn", "lifelines")
"""What most steps of tests import; a step forked from a worker that has it starts in milliseconds, not seconds."""


class KeptProfiler(ProcessProfiler):
    """Outlives the engines it is given to; each file is read in a fork of its own as ever."""

    def close(self) -> None:
        """Do nothing: the tests end it with `end`."""

    def end(self) -> None:
        super().close()


class KeptSandbox(ProcessSandbox):
    """Outlives the engines it is given to; each step runs behind walls of its own as ever."""

    def close(self) -> None:
        """Do nothing: the tests end it with `end`."""

    def end(self) -> None:
        super().close()


@contextmanager
def one_of_each(folder: Path) -> Iterator[None]:
    """Give every engine that is opened meanwhile the same profiler and, by its name, the same embedder.

    Engines below `folder` that ask for no sandbox of their own kind share one, too, whose worker is warm. The others'
    warm workers import no more than that one: a quarter of a minute of a processor for each that is started or killed.
    """
    profiler = KeptProfiler("engine.data.service:answer", "engine.data.service:warm")
    shared, own = KeptSandbox(folder, preload=IMPORTED), bootstrap.make_sandbox

    def make_sandbox(settings: Settings, scratch: Path) -> Sandbox:
        usual = settings.sandbox == "auto" and not settings.warm_workers
        return shared if usual and scratch.resolve().is_relative_to(folder.resolve()) else own(settings, scratch)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bootstrap, "make_profiler", lambda: profiler)
        patch.setattr(bootstrap, "make_sandbox", make_sandbox)
        patch.setattr(bootstrap, "PRELOAD", IMPORTED)
        patch.setattr(bootstrap, "PRELOAD_SINGLE_CELL", ())
        patch.setattr(bootstrap, "load_embedder", cache(bootstrap.load_embedder))
        yield
    profiler.end()
    shared.end()
