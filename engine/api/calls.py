"""What all calls on an open engine share: its parts, and passing a call on to the part that answers it with a value."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

from engine.bootstrap import EngineParts

P = ParamSpec("P")
R = TypeVar("R")


class Calls:
    """Calls on an open engine. They may come from any thread and return values, never a part of the engine."""

    def __init__(self, parts: EngineParts) -> None:
        self._parts = parts


def passed_on(method: Callable[Concatenate[Any, P], R], part: str) -> Callable[Concatenate[Any, P], R]:
    """Return a call that a part of the engine answers, with the method's own signature and documentation.

    Args:
        method: of the part's class.
        part: where the part lies in `EngineParts`, e.g. `memory.semantic`.
    """
    part_of = operator.attrgetter(part)

    @functools.wraps(method)
    def call(self: Calls, *args: P.args, **kwargs: P.kwargs) -> R:
        return getattr(part_of(self._parts), method.__name__)(*args, **kwargs)

    return call
