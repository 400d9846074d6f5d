"""Asking a role: a failure is an item that is skipped with its reason, and what no budget is left for is not asked.

What stops a whole tournament is only: a wish of a person, a budget that is spent, a store that cannot be written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from engine.domain.discovery.hypotheses import Skipped
from engine.errors import BudgetSpent, EngineError, Interrupted, ModelCancelled, StorageError
from engine.strategies.tournament.cast import Cast
from engine.strategies.tournament.ledger import Ledger

R = TypeVar("R")
T = TypeVar("T")


class StoppedEarly(Exception):
    """The tournament stops here, with what it has."""

    def __init__(self, why: str, *, wish: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.wish = wish
        """`paused` or `cancelled` where a person or the end of the program wished it, else ""."""


class RoundTable:
    """Where a tournament's roles are asked: what is kept, who there is, and when to stop."""

    def __init__(self, ledger: Ledger, cast: Cast, wish: Callable[[], str]) -> None:
        """Set the table.

        Args:
            ledger: what is kept.
            cast: the roles.
            wish: returns `paused` or `cancelled` once a person wishes it, else "".
        """
        self.ledger = ledger
        self.cast = cast
        self._wish = wish

    def require_going_on(self) -> None:
        """Stop where somebody wished it or a budget is spent.

        Raises:
            StoppedEarly: then.
        """
        if wish := self._wish():
            raise StoppedEarly("You paused it." if wish == "paused" else "You stopped it.", wish=wish)
        if self.left() <= 0:
            raise StoppedEarly(f"The budget of {self.ledger.state.bounds.calls:,} calls is spent.")
        state = self.ledger.state
        if state.bounds.usd and state.usd >= state.bounds.usd:
            raise StoppedEarly(f"The budget of {state.bounds.usd:g} dollars is spent.")

    def left(self) -> int:
        """Return how many calls the budget still allows."""
        state = self.ledger.state
        return state.bounds.calls - state.calls if state.bounds.calls else 1_000_000

    def ask(self, stage: str, what: str, call: Callable[[], R]) -> R | Skipped:
        """Return what a role answers, or what is skipped and why.

        Raises:
            StoppedEarly: when a wish or a budget ends the tournament.
            StorageError: when nothing can be kept any more.
        """
        self.require_going_on()
        try:
            return self.finish(call)
        except (StoppedEarly, StorageError):
            raise
        except EngineError as err:
            return Skipped(stage=stage, what=what, why=err.message[:500])
        except Exception as err:  # noqa: BLE001 - a role is somebody else's code; the others go on
            return Skipped(stage=stage, what=what, why=f"It failed ({type(err).__name__}: {err})."[:500])

    def finish(self, call: Callable[[], R]) -> R:
        """Return what a call gives that belongs to what was begun, whatever is wished meanwhile.

        Raises:
            StoppedEarly: when a budget of models or a wish ends it.
        """
        try:
            return call()
        except BudgetSpent as err:
            raise StoppedEarly(err.message) from err
        except (ModelCancelled, Interrupted) as err:
            raise StoppedEarly(err.message, wish=self._wish() or "paused") from err

    def side_by_side(self, work: Callable[[T], object], items: Iterable[T]) -> None:
        """Do something for each item, as many at once as the bounds allow; what stops one stops those not begun.

        Raises:
            StoppedEarly: when one of them says so, after those that were begun have come to their end.
        """
        self.require_going_on()
        waiting: Sequence[T] = list(items)
        at_once = min(self.ledger.state.bounds.concurrency, len(waiting))
        if at_once <= 1:
            for item in waiting:
                work(item)
            return
        with ThreadPoolExecutor(at_once, thread_name_prefix="tournament") as pool:
            asked = [pool.submit(work, item) for item in waiting]
            try:
                for one in asked:
                    one.result()
            finally:
                for one in asked:
                    one.cancel()
