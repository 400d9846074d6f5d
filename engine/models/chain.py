"""Asks one model after the other until one answers, within one deadline for all of them.

Every try is a call of its own to those who count, so the loop is here, not in a library: it knows what is left of the
time, which fault is worth another try, and that a model further down the chain must get its turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from engine.errors import BudgetSpent, ModelCancelled, ModelUnavailable
from engine.models.roster import Target
from engine.models.scope import Scope
from engine.ports.system import Clock

TRIES = 3
"""Times a model is asked again and again before the next one is."""
FIRST_PAUSE = 0.5
"""Seconds before the second try where the server names no time; doubled each time."""

T = TypeVar("T")


class AlreadyHeard(Exception):
    """Somebody has seen a part of the answer: another model must not go on as if it were the same."""

    def __init__(self, fault: ModelUnavailable) -> None:
        super().__init__()
        self.fault = fault


def ask_in_turn(
    targets: Sequence[Target], ask: Callable[[Target, float], T], *, seconds: float, clock: Clock, scope: Scope
) -> T:
    """Return the first answer.

    Args:
        targets: the models, first choice first.
        ask: asks one of them, given the seconds it may take.
        seconds: time for all of it.
        clock: tells how much of it is over.
        scope: whose it is; it is not asked again for work that was stopped.

    Raises:
        ModelUnavailable: of the kind of the last fault, when none answered; `details["tried"]` has every fault.
    """
    until = clock.monotonic() + seconds
    tried: list[ModelUnavailable] = []
    for place, target in enumerate(targets):
        # Each model gets an equal part of what is left, so that one that hangs leaves the others their time.
        now = clock.monotonic()
        turn = _Turn(target, now + (until - now) / (len(targets) - place), clock, scope, tried)
        answered, answer = turn.take(ask)
        if answered:
            return answer  # type: ignore[return-value]
    raise _all_failed(tried)


class _Turn:
    """What one model of the chain gets: some tries within its time."""

    def __init__(self, target: Target, until: float, clock: Clock, scope: Scope, tried: list[ModelUnavailable]) -> None:
        self._target = target
        self._until = until
        self._clock = clock
        self._scope = scope
        self._tried = tried

    def take(self, ask: Callable[[Target, float], T]) -> tuple[bool, T | None]:
        """Return whether it answered, and what."""
        for number in range(1, _MOST + 1):
            self._scope.require_wanted()
            try:
                return True, ask(self._target, max(0.0, self._until - self._clock.monotonic()))
            except AlreadyHeard as heard:
                raise heard.fault from None
            except (BudgetSpent, ModelCancelled):
                raise
            except ModelUnavailable as fault:
                self._tried.append(fault)
                pause = pause_after(fault, number)
            if pause is None or self._clock.monotonic() + pause >= self._until:
                break
            if pause:
                self._scope.pause(pause)
        return False, None


_MOST = 2 * TRIES
"""Tries with those that only leave out a field which the server does not take."""


def pause_after(fault: ModelUnavailable, tries: int) -> float | None:
    """Return the seconds after which a model is asked again, or None when the next one is to be asked."""
    if fault.wait == 0 and not fault.retryable:
        return 0.0
    if not fault.retryable or tries >= TRIES:
        return None
    return fault.wait if fault.wait is not None else FIRST_PAUSE * 2 ** (tries - 1)


def _all_failed(tried: Sequence[ModelUnavailable]) -> ModelUnavailable:
    """Return one error for all: the last, which tells of those before it too."""
    last = tried[-1]
    told = list(dict.fromkeys(fault.message for fault in tried))
    if len(told) == 1:
        return last
    return type(last)(
        "No model answered. " + " ".join(told),
        advice=last.advice,
        details={**last.details, "tried": [{"code": fault.code, "message": fault.message} for fault in tried]},
        wait=last.wait,
        partial=last.partial,
        reached=last.reached,
    )
