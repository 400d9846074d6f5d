"""What the tests themselves keep to: fakes at ports rather than patches, and no sleep of a fixed time."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MOST_PATCHES = 2.0
"""In 100 functions of tests, however many cases each has. Variables of the environment and folders are no patches."""
PATCHES = {"setattr", "delattr", "patch", "patch.object", "patch.dict", "mock.patch"}
SLEEPS = {"time.sleep", "asyncio.sleep", "sleep", "wait_for_timeout"}
WAITS = "tests/waiting.py"


@cache
def trees() -> dict[str, ast.Module]:
    """Return each file of tests, by its path from the root, as parsed."""
    files = [*(ROOT / "tests").rglob("*.py"), *(ROOT / "engine" / "toolbox").rglob("test_*.py")]
    return {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in files}


def called(tree: ast.AST, names: set[str]) -> Iterator[int]:
    """Yield the lines that call one of these names, or a method of such a name."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        if name in names or (isinstance(node.func, ast.Attribute) and node.func.attr in names):
            yield node.lineno


def test_few_tests_patch() -> None:
    functions = [node for tree in trees().values() for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    tests = sum(function.name.startswith("test_") for function in functions)
    patches = {file: len(lines) for file, tree in trees().items() if (lines := list(called(tree, PATCHES)))}
    most = sorted(patches.items(), key=lambda found: -found[1])[:5]
    assert sum(patches.values()) <= MOST_PATCHES * tests / 100, f"{sum(patches.values())} in {tests} tests: {most}"


def test_nobody_sleeps_for_a_fixed_time() -> None:
    """What comes about is waited for with `waiting.until`; code given to a sandbox to run is no code of the tests."""
    sleeping = [f"{file}:{line}" for file, tree in trees().items() if file != WAITS for line in called(tree, SLEEPS)]
    assert sleeping == []
