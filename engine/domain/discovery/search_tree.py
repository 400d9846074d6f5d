"""Search trees as they are stored and shown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

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

    @property
    def told(self) -> str:
        """What is known of it, in words."""
        tried = f"{self.visits:,} {'visit' if self.visits == 1 else 'visits'}"
        more = f", {self.hidden:,} more choices not shown" if self.hidden else ""
        return f"{tried}, mean {self.value:.2f}, best {self.best:.2f}, prior {self.prior:.2f}{more}"


class TreeRow(NamedTuple):
    """A state of a tree that is read row by row."""

    place: str
    """`1.2`: the second choice after the first one; "" for the start."""
    state: TreeView
    leads: bool
    """Whether the best end lies below it."""

    @property
    def depth(self) -> int:
        """How many choices lead here."""
        return self.place.count(".") + bool(self.place)

    @property
    def choice(self) -> str:
        """The choice that led here, in words."""
        return self.state.why if self.place else "the start"


class SearchAdvice(Value):
    """What somebody said in a search when asked, or why nothing; kept before it is used, so that it is asked once."""

    asked: Literal["choices", "ends"]
    about: list[str]
    """Keys of the states: the one whose choices were wanted, or the ends that were to be judged."""
    ways: list[list[str]] = []
    """Names of choices, one after another."""
    scores: dict[str, float] = {}
    """Key of an end -> what it is held to be worth, 0 to 1."""
    reasons: dict[str, str] = {}
    by: str = ""
    """Provider and model."""
    failed: str = ""
    """Why there is no answer."""
    last: bool = False
    """Whether nobody is asked any more after it."""
    calls: int = 1
    usd: float = 0.0


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
    calls: int = 0
    """Calls of models."""
    usd: float = 0.0
    dropped: int = 0
    """Ways that were proposed and of which a choice is not there."""
    skipped: list[str] = []
    """Why questions to models had no answer."""

    @property
    def title(self) -> str:
        """What was searched, in words."""
        return {"paths": "Ways through the graph", "plans": "Plans of the question"}.get(self.space, self.space)

    @property
    def told(self) -> str:
        """How far it came, in a sentence."""
        end = "" if self.state == "complete" else " It did not come to its end."
        best = f"the best is worth {self.best_value:.2f} of 1" if self.best else "none was found"
        ends = f"{self.evaluations:,} {'end' if self.evaluations == 1 else 'ends'} looked at"
        return f"{self.simulations:,} simulations, {ends}; {best}.{end}{self._asked}"

    @property
    def _asked(self) -> str:
        """What models had to do with it."""
        if not self.calls and not self.skipped:
            return ""
        told = f" Models were called {'once' if self.calls == 1 else f'{self.calls:,} times'}."
        if self.dropped:
            told += f" {self.dropped:,} of their proposals named what is not there or cannot be, and were left out."
        failed = "; ".join(dict.fromkeys(text.rstrip(".") for text in self.skipped))
        return f"{told} Left out: {len(self.skipped):,} unanswered ({failed})." if failed else told

    def rows(self) -> Iterator[TreeRow]:
        """Yield every state that is kept, each before its choices."""
        return _rows(self.view, "", self.best_value) if self.view is not None else iter(())

    def in_short(self) -> SearchTree:
        """Return the tree with no choices but those along the way to the best end."""
        short = _in_short(self.view, self.best_value) if self.view is not None else None
        return self.model_copy(update={"view": short})


def _leading(state: TreeView, best: float) -> TreeView | None:
    return next((choice for choice in state.choices if choice.best >= best), None)


def _rows(state: TreeView, place: str, best: float, *, leads: bool = True) -> Iterator[TreeRow]:
    yield TreeRow(place, state, leads)
    leading = _leading(state, best) if leads else None
    for number, choice in enumerate(state.choices, 1):
        yield from _rows(choice, f"{place}.{number}".lstrip("."), best, leads=choice is leading)


def _in_short(state: TreeView, best: float) -> TreeView:
    leading = _leading(state, best)
    choices = [
        _in_short(one, best)
        if one is leading
        else one.model_copy(update={"choices": [], "hidden": one.hidden + len(one.choices)})
        for one in state.choices
    ]
    return state.model_copy(update={"choices": choices})
