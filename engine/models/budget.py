"""Limits of tokens and dollars, for a call, a run, a conversation and a user's day.

What a call may cost at most is taken before it is made and settled by what it did cost, so that many calls at once
cannot together pass a limit that each of them saw as free.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.domain.models import ModelCall, ModelTotals
from engine.errors import BudgetSpent
from engine.ports.models.calls import ModelCallStore, Whose
from engine.settings import Settings

_WORDS = {"call": "one call", "run": "this run", "conversation": "this conversation", "day": "this user's day"}


@dataclass(frozen=True, slots=True)
class Limit:
    """Most tokens and dollars; 0 is no limit."""

    tokens: int = 0
    usd: float = 0.0


def limits_of(settings: Settings) -> dict[str, Limit]:
    """Return the limits that the settings give."""
    return {
        kind: Limit(getattr(settings, f"budget_{kind}_tokens"), getattr(settings, f"budget_{kind}_usd"))
        for kind in _WORDS
    }


@dataclass(slots=True)
class Held:
    """What was taken for a call that is not settled yet."""

    keys: tuple[tuple[Whose, str, str], ...]
    tokens: int
    usd: float


@dataclass(slots=True)
class Budget:
    """Gives out tokens and dollars. Thread-safe."""

    limits: Mapping[str, Limit]
    store: ModelCallStore
    _spent: dict[tuple[Whose, str, str], ModelTotals] = field(default_factory=dict, init=False)
    _held: list[Held] = field(default_factory=list, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def take(self, call: ModelCall, tokens: int, usd: float | None) -> Held:
        """Take what a call may cost at most.

        Args:
            call: whose it is.
            tokens: that it may read and write.
            usd: that this may cost; None where the price is not known, and then only tokens are limited.

        Raises:
            BudgetSpent: when that would pass a limit.
        """
        held = Held(_keys(call), tokens, usd or 0.0)
        with self._lock:
            self._require("call", ModelTotals(), held)
            for key in held.keys:
                waiting = [other for other in self._held if key in other.keys]
                before = self._totals(key)
                taken = ModelTotals(
                    prompt_tokens=before.tokens + sum(other.tokens for other in waiting),
                    usd=before.usd + sum(other.usd for other in waiting),
                )
                self._require(key[0], taken, held)
            self._held.append(held)
        return held

    def settle(self, held: Held, call: ModelCall) -> None:
        """Give back what was taken and count what the call did cost."""
        with self._lock:
            self._held = [other for other in self._held if other is not held]
        self.count(call)

    def count(self, call: ModelCall) -> None:
        """Keep a call and count it."""
        with self._lock:
            for key in _keys(call):
                self._spent[key] = self._totals(key).plus(call)
            self.store.add(call)

    def _totals(self, key: tuple[Whose, str, str]) -> ModelTotals:
        found = self._spent.get(key)
        if found is None:
            whose, name, user = key
            found = self._spent[key] = self.store.totals(whose, name, user=user)
        return found

    def _require(self, kind: str, taken: ModelTotals, held: Held) -> None:
        limit = self.limits.get(kind, Limit())
        tokens, usd = taken.tokens + held.tokens, taken.usd + held.usd
        for unit, value, most, says in (
            ("tokens", tokens, limit.tokens, f"{limit.tokens:,} tokens; this call could bring it to {tokens:,}"),
            ("usd", usd, limit.usd, f"{limit.usd:,.2f} dollars; this call could bring it to {usd:,.2f}"),
        ):
            if most and value > most:
                details = {"kind": f"{kind}_{unit}", "value": value, "limit": most}
                raise BudgetSpent(f"The budget of {_WORDS[kind]} is {says}.", details=details, reached=False)


def _keys(call: ModelCall) -> tuple[tuple[Whose, str, str], ...]:
    found: tuple[tuple[Whose, str, str], ...] = (
        ("day", call.at[:10], call.user),
        ("run", call.run_id, ""),
        ("conversation", call.conversation, ""),
    )
    return tuple(key for key in found if key[1])
