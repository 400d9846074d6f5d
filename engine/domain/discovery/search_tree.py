"""Search trees as they are stored and shown."""

from __future__ import annotations

from typing import Literal

from engine.domain.base import Value


class TreeView(Value):
    """A state of a search tree with the choices that were tried most."""

    key: str
    why: str = ""
    """The choice that led here, in words."""
    visits: int
    value: float
    """Mean of the values that simulations through it came to, 0 to 1."""
    best: float
    """The best end below it."""
    prior: float
    """How promising it was before anything was tried."""
    end: bool = False
    choices: list[TreeView] = []
    hidden: int = 0
    """Choices that are not shown."""


class SearchTree(Value):
    """A search, with what it takes to go on or to do it again."""

    id: str
    run_id: str = ""
    space: str
    """Which kind of choices: `paths`, `plans`."""
    goal: str
    """What it looks for, as the space is made from."""
    settings: dict[str, float | int | list[float]]
    """The numbers of the search, its seed among them."""
    state: Literal["running", "complete"] = "running"
    at: str = ""
    simulations: int = 0
    evaluations: int = 0
    """Ends that were looked at, over all its beginnings."""
    best: str = ""
    """Key of the best end."""
    best_value: float = 0.0
    view: TreeView | None = None
