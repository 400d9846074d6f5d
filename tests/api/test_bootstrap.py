"""A built engine is taken apart whole, whatever one of its parts does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from streamlit.components.v2 import manifest_scanner

from engine import bootstrap
from engine.api import without_workspace
from engine.bootstrap import Beside, build
from engine.settings import Settings

ORDER = ["suggestions", "imports", "requests", "models", "queue", "log", "sandbox",
         "profiler", "vectors", "warming", "store", "database", "workspace"]  # fmt: skip


class Part:
    def __init__(self, name: str, closed: list[str], *, fails: bool) -> None:
        self.name, self.closed, self.fails = name, closed, fails

    def close(self) -> None:
        self.closed.append(self.name)
        if self.fails:
            raise OSError(f"{self.name} cannot be closed")


@pytest.mark.parametrize("failing", [[], ["requests"], ["log", "store"], ORDER])
def test_every_part_is_closed_in_order(failing: list[str]) -> None:
    closed: list[str] = []
    made: dict[str, Any] = {name: Part(name, closed, fails=name in failing) for name in ORDER}
    rest = dict.fromkeys(set(Beside.__annotations__) - {"closing"})
    parts = Beside(closing=[made[name] for name in ORDER], **rest)  # type: ignore[arg-type]
    if failing:
        with pytest.raises(OSError, match=f"{failing[-1]} cannot be closed"):
            parts.close()
    else:
        parts.close()
    assert closed == ORDER


def test_threads_end_before_what_they_use_and_the_workspace_is_released_last(tmp_path: Path) -> None:
    # A sandbox of its own kind, since tests share the usual one.
    parts = build(Settings(workspace=tmp_path, embedding_model="none", warm_workers=False, sandbox="plain"))
    order = [type(part).__name__ for part in parts.beside.closing]
    warming = parts.beside.closing.index(parts.beside.errands)
    parts.beside.close()
    assert order[:3] == ["Suggestions", "ImportRunner", "RequestWatcher"]
    assert order.index("Errands") < order.index("RunQueue")  # what rewrites summaries
    assert order.index("RunQueue") < order.index("EventLog") < order.index("ProcessSandbox") < warming
    assert order[-3:] == ["DuckRunStore", "Database", "Workspace"]


def test_engines_of_tests_share_what_is_made_of_the_same_tools_and_names(open_engine: Any, tmp_path: Path) -> None:
    first, second = (open_engine(tmp_path / name, embedding_model="none") for name in ("first", "second"))
    parts = [engine._parts for engine in (first, second)]
    linkers = [part.knowledge.recognising.linker() for part in parts]
    lookups = [part.knowledge.recognising.lookup() for part in parts]
    indexes = [part.finder._kept.newest().index for part in parts]
    assert linkers[0] is linkers[1]
    assert lookups[0] is lookups[1]
    assert indexes[0] is indexes[1]
    (tmp_path / "more.jsonl").write_text('{"name": "otter_counter", "description": "counts otters"}\n')
    second.catalogue.import_catalogue("jsonl", tmp_path / "more.jsonl")
    assert parts[0].finder._kept.newest().index is indexes[0]
    assert parts[1].finder._kept.newest().index is not indexes[0]


def test_what_is_installed_is_searched_for_components_of_pages_once() -> None:
    assert manifest_scanner.scan_component_manifests() is manifest_scanner.scan_component_manifests()


def test_what_looks_at_files_without_a_workspace_takes_the_profiler_of_the_engines() -> None:
    assert without_workspace.make_profiler() is bootstrap.make_profiler()
