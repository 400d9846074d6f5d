"""What the engines of one process of tests share: parts that keep nothing of a workspace and are slow to start."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from held_steps import IMPORTED
from streamlit.components.v2 import manifest_scanner

from engine import bootstrap
from engine.adapters.process_profiler import ProcessProfiler
from engine.adapters.process_sandbox import ProcessSandbox
from engine.api import without_workspace
from engine.knowledge.recognising import Recognising, _names_of
from engine.knowledge.service import KnowledgeBase
from engine.ports.sandbox import Sandbox
from engine.retrieval.indexes.index import ToolIndex
from engine.retrieval.indexes.kept_index import KeptIndex
from engine.retrieval.service import ToolFinder
from engine.settings import Settings


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


MOST = 12
"""Things that are kept of what was made last: most workspaces of tests have the same tools and the same graph."""
_MADE: dict[tuple[str, object], Any] = {}


def _made(kind: str, of: object, make: Callable[[], Any]) -> Any:
    """Return what was made of this before, or make it."""
    made = _MADE[kind, of] = _MADE.pop((kind, of), None) or make()
    while len(_MADE) > MOST:
        _MADE.pop(next(iter(_MADE)), None)
    return made


class SharedRecognising(Recognising):
    """Takes what another engine made of the very same names; linker and look-up hold no graph and never change."""

    __slots__ = ()

    def _linker_for(self, view: Any, kept: Any) -> Any:
        made = _made("linker", _names_of(view), partial(super()._linker_for, view, kept))
        return made._replace(version=view.version)

    def _lookup_for(self, view: Any, kept: Any) -> Any:
        made = _made("look-up", _names_of(view), partial(super()._lookup_for, view, kept))
        return made._replace(version=view.version)


class SharedIndex(KeptIndex):
    """Takes the index that another engine made of the very same tools and vectors; it never changes once built."""

    def _index_of(self, entries: Any, tools: Any, methods: Any) -> ToolIndex:
        told = [entry.model_dump_json() for entry in entries]
        told += [b"" if one is None else one.tobytes() for one in (tools, methods)]
        return _made("index", tuple(map(hash, told)), partial(super()._index_of, entries, tools, methods))


@contextmanager
def one_of_each(folder: Path) -> Iterator[None]:
    """Give every engine that is opened meanwhile the same profiler and, by its name, the same embedder.

    What looks at files without a workspace gets that profiler, too.

    What is made of the same tools, and of the same names of entities, is made once, not for each workspace. Streamlit
    looks once, not for each page, which of the installed packages bring components: half of what a page of a test took.

    Engines below `folder` that ask for no sandbox of their own kind share one, too, whose worker is warm. The others'
    warm workers import no more than that one: a quarter of a minute of a processor for each that is started or killed.
    """
    profiler = KeptProfiler("engine.data.service:answer", "engine.data.service:warm")
    shared, own = KeptSandbox(folder, preload=IMPORTED), bootstrap.make_sandbox

    def make_sandbox(settings: Settings, scratch: Path) -> Sandbox:
        usual = settings.sandbox == "auto" and not settings.warm_workers
        return shared if usual and scratch.resolve().is_relative_to(folder.resolve()) else own(settings, scratch)

    open_knowledge, tool_finder = bootstrap.open_knowledge, bootstrap.ToolFinder

    def with_known_names(**given: Any) -> KnowledgeBase:
        base = open_knowledge(**given)
        base.recognising.__class__ = SharedRecognising
        return base

    def with_known_tools(**given: Any) -> ToolFinder:
        finder = tool_finder(**given)
        finder._kept.__class__ = SharedIndex
        return finder

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bootstrap, "open_knowledge", with_known_names)
        patch.setattr(bootstrap, "ToolFinder", with_known_tools)
        for opening in (bootstrap, without_workspace):
            patch.setattr(opening, "make_profiler", lambda: profiler)
        patch.setattr(bootstrap, "make_sandbox", make_sandbox)
        patch.setattr(bootstrap, "PRELOAD", IMPORTED)
        patch.setattr(bootstrap, "PRELOAD_SINGLE_CELL", ())
        patch.setattr(bootstrap, "load_embedder", cache(bootstrap.load_embedder))
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        yield
    profiler.end()
    shared.end()
