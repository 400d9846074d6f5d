"""A built engine is taken apart whole, whatever one of its parts does."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from engine.bootstrap import Parts

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
    made["records"] = SimpleNamespace(log=made.pop("log"), store=made.pop("store"))
    rest = dict.fromkeys(set(Parts.__annotations__) - set(made))
    parts = Parts(**made, **rest)  # type: ignore[arg-type]
    if failing:
        with pytest.raises(OSError, match=f"{failing[-1]} cannot be closed"):
            parts.close()
    else:
        parts.close()
    assert closed == ORDER
