"""What a search needs to know of the choices there are: a space of states, and when to stop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

State = TypeVar("State")


@dataclass(frozen=True, slots=True)
class Choice(Generic[State]):
    """A state that one choice leads to."""

    state: State
    prior: float
    """How promising it is before anything was tried, above 0; those of one state need not sum to 1."""
    why: str = ""
    """The choice in words."""
    name: str = ""
    """What somebody who proposes it calls it."""


class Space(Protocol[State]):
    """Choices from a start, one after another, to ends that are worth something; answers depend on the state only."""

    def start(self) -> State:
        """Return where the search begins."""
        ...

    def children(self, state: State) -> Sequence[Choice[State]]:
        """Return the choices at a state; none at an end, and none where no end can be reached any more."""
        ...

    def is_end(self, state: State) -> bool:
        """Say whether a state is an end."""
        ...

    def key(self, state: State) -> str:
        """Return what tells a state from others; states reached by choices in another order may be one."""
        ...

    def value(self, state: State) -> float:
        """Return what an end is worth, 0 to 1. This is what costs."""
        ...


class ToldSpace(Space[State], Protocol[State]):
    """A space that can be put in words, so that somebody may propose choices by their names and judge ends."""

    def told(self, state: State) -> str:
        """Return a state in words."""
        ...

    def offered(self, state: State) -> Sequence[Choice[State]]:
        """Return all choices at a state that a proposal may name, also those that `children` leaves out as unlikely."""
        ...

    def holds(self, state: State) -> bool:
        """Say whether a state that was proposed can be; what `children` gives need not be asked about."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchBudget:
    """When a search stops: at whatever comes first; None is no limit."""

    simulations: int | None = 1000
    evaluations: int | None = None
    """Ends that are looked at; one that was looked at before, in this search or the one it goes on from, is none."""
    seconds: float | None = None
    calls: int | None = None
    """Calls of models. A search whose space can do without them goes on by it instead (see `AdvisedSpace`)."""
    dollars: float | None = None


@dataclass(frozen=True, slots=True)
class Spent:
    """What models were asked and cost, where they propose choices or judge ends."""

    calls: int = 0
    dollars: float = 0.0


Spending = Callable[[], Spent]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchWays:
    """How a search weighs what it knows against what it does not; the numbers are stored with its tree."""

    exploration: float = 1.0
    """Weight of priors and rare visits in PUCT."""
    widening: tuple[float, float] = (4.0, 0.5)
    """Of a state visited n times the `a * n ^ b` choices with the largest priors are open (progressive widening)."""
    best_share: float = 0.5
    """A state counts as this share of the best end below it and the rest of the mean."""
    straight: float = 0.8
    """How often a way from a new state to an end takes the largest prior; else a choice is drawn."""
    parallel: int = 1
    """Ends that are looked at together. Choices under way count as visits worth nothing (virtual loss)."""
    seed: int = 0
