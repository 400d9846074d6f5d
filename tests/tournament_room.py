"""A tournament with simulated roles that count how often they are asked, for the tests that play one."""

from __future__ import annotations

import itertools
import math
import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.domain.discovery.hypotheses import (
    CRITERIA,
    Aims,
    Bounds,
    Evolution,
    Hypothesis,
    HypothesisReview,
    Match,
    MetaReview,
    Method,
    Standing,
    Tournament,
)
from engine.domain.events import EngineEvent
from engine.ports.hypotheses import HypothesisStore
from engine.strategies.tournament.asking import RoundTable
from engine.strategies.tournament.cast import Cast
from engine.strategies.tournament.ledger import Ledger
from engine.strategies.tournament.loop import play
from engine.strategies.tournament.roles import Drafted, Guidance, ItemFailed
from storage.hypotheses.twin import HypothesesTwin

AIMS = Aims(goal="Why do airway cells resist the drug?")


class Killed(BaseException):
    """The process dies here: nothing of Biodesk may catch it."""


@dataclass
class Simulated:
    """All roles, each truth in the text: `Idea 3 is worth 1.25.`"""

    beta: float = 2.4
    """Log odds that one unit of worth adds."""
    method: Method = "debate"
    deterministic: bool = False
    together: bool = True
    seed: int = 0
    calls: list[str] = field(default_factory=list)
    """What was asked, each call once."""
    kill_at: int = 0
    """The call after which the process dies, 0 for none."""
    lock: Any = field(default_factory=threading.Lock)

    def count(self, what: str) -> None:
        with self.lock:
            if self.kill_at and len(self.calls) >= self.kill_at:
                raise Killed
            self.calls.append(what)

    def make(self, aims: Aims, guidance: Guidance, count: int, seed: int) -> Sequence[Drafted | ItemFailed]:
        draw = random.Random(seed)
        made: list[Drafted | ItemFailed] = []
        for number in range(count):
            self.count(f"make {seed} {number}")
            text = f"{WORDS[number % len(WORDS)]} number {seed}{number} is worth {draw.gauss(0, 1):.3f}"
            made.append(Drafted(hypothesis=idea(text, self.method), calls=1))
        return made

    def review(
        self, aims: Aims, guidance: Guidance, hypotheses: Sequence[Hypothesis]
    ) -> Sequence[HypothesisReview | ItemFailed]:
        self.count("review " + " ".join(one.id for one in hypotheses))
        return [
            HypothesisReview(hypothesis=one.id, scores=dict.fromkeys(CRITERIA, max(1, min(10, round(5 + worth(one))))))
            for one in hypotheses
        ]

    def judge(
        self, aims: Aims, guidance: Guidance, first: Hypothesis, second: Hypothesis, reviews: Sequence[HypothesisReview]
    ) -> Match:
        self.count(f"judge {first.id} {second.id} {len(self.calls)}")
        chance = 1 / (1 + math.exp(-self.beta * (worth(first) - worth(second))))
        drawn = random.Random(f"{self.seed} {first.id} {second.id} {len(self.calls)}").random()
        return Match(number=0, first=first.id, second=second.id, score=float(drawn < chance), by="simulated")

    def evolve(
        self, aims: Aims, guidance: Guidance, parents: Sequence[Hypothesis], how: Evolution, seed: int
    ) -> Drafted:
        self.count(f"evolve {how} {seed}")
        value = max(worth(one) for one in parents) + 0.5
        return Drafted(hypothesis=idea(f"Gene G{seed} changes {how} and is worth {value:.3f}", "evolved"), calls=1)

    def meta_review(
        self,
        aims: Aims,
        hypotheses: Sequence[Hypothesis],
        reviews: Sequence[HypothesisReview],
        matches: Sequence[Match],
        standings: Sequence[Standing],
        round_: int,
    ) -> MetaReview:
        self.count(f"meta {round_}")
        said = [f"{len(matches)} matches"]
        return MetaReview(
            round=round_, summary="Sum.", strengths=said, weaknesses=said, recurring_themes=said, gaps=said,
            recommendations=said,
        )  # fmt: skip

    def plan(self, aims: Aims) -> str:
        self.count("plan")
        return "First this, then that."


WORDS = ("Hypoxia", "Insulin", "Collagen", "Autophagy", "Melatonin", "Interferon", "Senescence", "Glycolysis")


def idea(text: str, method: Method = "graph") -> Hypothesis:
    """Return a hypothesis; the tournament gives it its id."""
    return Hypothesis(id="h", text=text, method=method)


def worth(one: Hypothesis) -> float:
    """Return what a simulated hypothesis is worth."""
    try:
        return float(one.text.split()[-1])
    except ValueError:
        return 0.0


class CountedClock:
    """A `Clock` that goes on by a millisecond each time."""

    def __init__(self) -> None:
        self._ticks = itertools.count()

    def now(self) -> str:
        return f"2026-01-01T00:00:00.{next(self._ticks):06d}Z"

    def monotonic(self) -> float:
        return float(next(self._ticks))


def cast_of(roles: Simulated, **other: Any) -> Cast:
    """Return a cast in which one object plays every role."""
    parts: dict[str, Any] = {
        "judge": roles, "reviewer": roles, "makers": [roles], "evolver": roles, "meta_reviewer": roles,
        "supervisor": roles,
    }  # fmt: skip
    return Cast(**{**parts, **other})


def table_of(
    cast: Cast,
    bounds: Bounds | None = None,
    *,
    aims: Aims = AIMS,
    store: HypothesisStore | None = None,
    emit: Callable[[EngineEvent], object] = lambda _: None,
    wish: Callable[[], str] = lambda: "",
) -> RoundTable:
    """Return the table of a tournament `t1` of ann, as it is kept in the store."""
    store = store if store is not None else HypothesesTwin()
    new = Tournament(id="t1", user="ann", aims=aims, bounds=bounds or Bounds(concurrency=1), status="queued")
    state = store.tournament("t1") or new
    return RoundTable(Ledger(store, state, CountedClock(), emit, cast.spent), cast, wish)


def played(cast: Cast, bounds: Bounds | None = None, **given: Any) -> RoundTable:
    """Return the table after a whole tournament."""
    table = table_of(cast, bounds, **given)
    play(table)
    return table
