"""What the tests themselves keep to: fakes at ports rather than patches, and no sleep of a fixed time."""

from __future__ import annotations

import ast
import gc
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from threadpoolctl import threadpool_info

ROOT = Path(__file__).resolve().parents[2]
MOST_PATCHES = 2.0
"""In 100 functions of tests, however many cases each has. Variables of the environment and folders are no patches."""
PATCHES = {".setattr", ".delattr", "patch", ".patch", "patch.object", "patch.dict"}
SLEEPS = {"sleep", ".sleep", ".wait_for_timeout"}
WAITS = "tests/waiting.py"


@cache
def texts() -> dict[str, str]:
    """Return the text of each file of tests, by its path from the root."""
    files = [*(ROOT / "tests").rglob("*.py"), *(ROOT / "engine" / "toolbox").rglob("test_*.py")]
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in files}


def called(text: str, names: set[str]) -> Iterator[int]:
    """Yield the lines that call a function of one of these names, or a method where the name begins with a dot."""
    if not any(name.rpartition(".")[2] in text for name in names):
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and not names.isdisjoint(_names(node.func)):
            yield node.lineno


def _names(function: ast.expr) -> set[str]:
    if isinstance(function, ast.Name):
        return {function.id}
    if not isinstance(function, ast.Attribute):
        return set()
    owner = function.value.attr if isinstance(function.value, ast.Attribute) else getattr(function.value, "id", "")
    return {f".{function.attr}", f"{owner}.{function.attr}"}


def test_few_tests_patch() -> None:
    tests = sum(len(re.findall(r"^\s*def test_", text, re.MULTILINE)) for text in texts().values())
    patches = {file: len(lines) for file, text in texts().items() if (lines := list(called(text, PATCHES)))}
    most = sorted(patches.items(), key=lambda found: -found[1])[:5]
    assert sum(patches.values()) <= MOST_PATCHES * tests / 100, f"{sum(patches.values())} in {tests} tests: {most}"


def test_nobody_sleeps_for_a_fixed_time() -> None:
    """What comes about is waited for with `waiting.until`; code given to a sandbox to run is no code of the tests."""
    sleeping = [f"{file}:{line}" for file, text in texts().items() if file != WAITS for line in called(text, SLEEPS)]
    assert sleeping == []


def test_patches_and_sleeps_are_seen_in_every_form() -> None:
    written = (
        'patch("a.b")\nmock.patch("a.b")\npatch.object(a, "b")\nmock.patch.object(a, "b")\nmonkeypatch.setattr(a, "b", 1)\n'
        'setattr(a, "b", 1)\nmonkeypatch.setenv("A", "1")\ntime.sleep(1)\nsleep(1)\npage.wait_for_timeout(5)\nasleep(1)\n'
    )
    assert list(called(written, PATCHES)) == [1, 2, 3, 4, 5]
    assert list(called(written, SLEEPS)) == [8, 9, 10]


def test_garbage_is_looked_for_in_tests_but_not_among_what_was_collected() -> None:
    assert gc.isenabled()
    assert gc.get_freeze_count() > 10_000
    assert gc.get_threshold()[0] == 20_000


def test_matrices_of_tests_are_computed_by_one_thread() -> None:
    import numpy.linalg  # noqa: F401 - the library is looked for among those that are loaded

    assert {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"} == {1}


def test_tests_are_run_in_the_order_of_their_files(request: pytest.FixtureRequest) -> None:
    files = [item.path for item in request.session.items]
    assert files == sorted(files)
