"""What a running tournament has done so far: kept with each answer, before anything else is asked.

An answer, the key it was asked under and how far the tournament is are one transaction. So a tournament that is killed
at any moment goes on from its items alone, and asks nobody twice.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from engine.domain.discovery.hypotheses import (
    Asked,
    Clusters,
    Drawn,
    ExecutedTest,
    Hypothesis,
    HypothesisReview,
    Item,
    MakingPass,
    Mark,
    Match,
    MetaReview,
    Skipped,
    Tournament,
    TournamentView,
)
from engine.domain.events import EngineEvent, HypothesisCreated, MatchJudged, ReviewsScored
from engine.ports.hypotheses import HypothesisStore
from engine.ports.system import Clock

PLACES: dict[type[Item], str] = {
    Hypothesis: "hypotheses",
    HypothesisReview: "reviews",
    Match: "matches",
    Mark: "marks",
    ExecutedTest: "tests",
    MetaReview: "meta_reviews",
    Skipped: "skipped",
    Asked: "asked",
    Drawn: "drawn",
    Clusters: "clusters",
    MakingPass: "passes",
}
"""Where each kind of item stands in a `TournamentView`."""


class Ledger:
    """One tournament's items and state. Methods may be called from any thread."""

    def __init__(
        self,
        store: HypothesisStore,
        tournament: Tournament,
        clock: Clock,
        emit: Callable[[EngineEvent], object],
        spent: Callable[[Sequence[str]], tuple[int, float]] | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._emit = emit
        self._spent = spent
        self._lock = threading.RLock()
        self._last = 0
        self._items: dict[str, list[Item]] = {place: [] for place in PLACES.values()}
        self._keys: set[str] = set()
        self.state = tournament
        """How far it is."""

    def view(self) -> TournamentView:
        """Return everything that is kept, also what others added meanwhile; standings are not worked out."""
        with self._lock:
            for number, item in self._store.items(self.state.id, after=self._last):
                self._items[PLACES[type(item)]].append(item)
                self._last = number
                if isinstance(item, Asked):
                    self._keys.add(item.key)
            gathered: dict[str, Any] = {place: list(items) for place, items in self._items.items()}
            return TournamentView.model_construct(tournament=self.state, standings=[], says=[], **gathered)

    def has(self, key: str) -> bool:
        """Return whether something was asked under this key."""
        with self._lock:
            self.view()
            return key in self._keys

    def now(self) -> str:
        """Return the time."""
        return self._clock.now()

    def keep(self, *items: Item, asked: str = "", calls: int = 0, **changes: Any) -> None:
        """Store items with the key that they were asked under, and tell of those that are new.

        Args:
            items: what came of asking.
            asked: the key; empty when nobody was asked.
            calls: calls it took.
            changes: what else is different in the tournament now.
        """
        with self._lock:
            more = [Asked(key=asked, calls=calls, at=self.now())] if asked else []
            self.view()
            counted = sum(one.calls for one in self._items["asked"] if isinstance(one, Asked))
            new_calls = calls if asked and asked not in self._keys else 0
            tested = [
                item.run for item in (*self._items["tests"], *items) if isinstance(item, ExecutedTest) and item.run
            ]
            spent = self._spent(tested) if self._spent is not None else (counted + new_calls, 0.0)
            told = {"calls": spent[0], "usd": spent[1], "updated_at": self.now(), **changes}
            told["progress"] = max(self.state.progress, min(1.0, changes.get("progress", 0.0)))
            self.state = self.state.model_copy(update=told)
            for item in self._store.keep(self.state, [*items, *more]):
                if (event := told_of(item, self.state)) is not None:
                    self._emit(event)
            self.view()

    def tell(self, event: EngineEvent) -> None:
        """Put an event into the tournament's log."""
        self._emit(event)


def told_of(item: Item, state: Tournament) -> EngineEvent | None:
    """Return the event that tells of a new item, None for one that is not told."""
    base: dict[str, Any] = {"run_id": state.id, "progress": state.progress}
    if isinstance(item, Hypothesis):
        return HypothesisCreated(hypothesis=item.id, text=item.text, method=item.method, parents=item.parents, **base)
    if isinstance(item, HypothesisReview):
        return ReviewsScored(scores={item.hypothesis: round(item.overall, 3)}, **base)
    if isinstance(item, Match):
        told = item.model_dump(include={"number", "first", "second", "score", "by"})
        return MatchJudged(**told, **base)
    return None
