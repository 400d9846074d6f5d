"""What a function is written as, with the functions and numbers it uses: the text that runs, is hashed and is shown.

What a step ships follows from its code, so that nothing has to be listed beside it and nothing more than is used is
shipped. A function may use other functions of the project and, by names in capitals, numbers of its module.
"""

from __future__ import annotations

import ast
import dis
import inspect
import linecache
import textwrap
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from types import CodeType, FunctionType
from typing import Any


@cache
def function_source(function: Callable[..., Any]) -> str:
    """Return a function's source without its decorators, dedented; some are shipped with thirty tools."""
    code = function.__code__
    lines = linecache.getlines(code.co_filename)
    start = next(
        (n for n in range(code.co_firstlineno - 1, len(lines)) if lines[n].startswith(f"def {function.__name__}(")),
        None,
    )
    if start is None:  # not at the outermost level of a file: a notebook, a test
        lines = textwrap.dedent(inspect.getsource(function)).splitlines()
        node = ast.parse("\n".join(lines)).body[0]
        assert isinstance(node, ast.FunctionDef)
        return textwrap.dedent("\n".join(lines[node.lineno - 1 : node.end_lineno])) + "\n"
    return "".join(lines[start : _last_line(code)]).rstrip("\n") + "\n"


def _last_line(code: CodeType) -> int:
    """Return the last line of a function, from what its instructions say of themselves.

    Parsing the files of all tools for this would take half of the time that the catalogue takes to load.
    """
    own = (end for _, end, _, _ in code.co_positions() if end is not None)
    return max([*own, *(_last_line(part) for part in code.co_consts if isinstance(part, CodeType))])


def _names(code: CodeType) -> Iterator[str]:
    """Yield the names that a function, or one inside it, looks up: of its module, and attributes."""
    yield from (name for name in code.co_names if name not in code.co_varnames and name not in code.co_cellvars)
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _names(part)


def with_called(functions: Iterable[Callable[..., Any]]) -> dict[str, str]:
    """Return name -> source of functions and of all they call, each after those that it calls.

    Raises:
        ValueError: when two functions have one name.
    """
    found: dict[str, FunctionType] = {}
    for function in functions:
        for each in _all_called(function):
            if found.setdefault(each.__name__, each) is not each:
                raise ValueError(f"Two functions of one step are called {each.__name__!r}")
    return {name: function_source(function) for name, function in found.items()}


def numbers_used(function: Callable[..., Any]) -> list[str]:
    """Return the numbers that a function and those it calls use by their names, a line of code each.

    Raises:
        ValueError: when a name stands for two numbers.
    """
    found: dict[str, float] = {}
    for each in _all_called(function):
        for name, value in _looked_up(each):
            if type(value) in (int, float) and found.setdefault(name, value) != value:
                raise ValueError(f"{name} is {found[name]} for one function and {value} for {each.__name__!r}")
    return [f"{name} = {value!r}\n" for name, value in found.items()]


@cache
def _all_called(function: FunctionType) -> tuple[FunctionType, ...]:
    """Return a function behind all that it calls, in the order of first use."""
    found: dict[FunctionType, None] = {}

    def visit(one: FunctionType, waiting: frozenset[FunctionType]) -> None:
        for _, value in _looked_up(one):
            if isinstance(value, FunctionType) and value not in waiting and value not in found:
                visit(value, waiting | {value})
        found[one] = None

    visit(function, frozenset({function}))
    return tuple(found)


@cache
def _looked_up(function: FunctionType) -> tuple[tuple[str, Any], ...]:
    """Return the functions and numbers of its module that a function uses by their names."""
    known = function.__globals__
    called = {name: known.get(name) for name in _names(function.__code__)}
    called = {name: value for name, value in called.items() if type(value) in (FunctionType, int, float)}
    # Attributes stand among the names, too. Instructions tell them apart; to take all of them apart would take as long
    # as all else that loads a catalogue.
    text = function_source(function) if called else ""
    doubtful = {name for name in called if f".{name}" in text or f"{name} as " in text}
    sure = {*called} - (doubtful - {*global_names(function.__code__)} if doubtful else set())
    return tuple((name, value) for name, value in called.items() if name in sure)


def global_names(code: CodeType) -> Iterator[str]:
    """Yield the names that a function, or one inside it, looks up outside of itself."""
    yield from (step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL")
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from global_names(part)
