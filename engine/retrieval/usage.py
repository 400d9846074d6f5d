"""What finished runs say of tools: how often each did its work, and which were used together."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations

from engine.domain.memory import Episode

_MOST_TOOLS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageHistory:
    """Counts over finished runs."""

    runs: Mapping[str, int] = field(default_factory=dict)
    """Tool -> runs that used it."""
    successes: Mapping[str, int] = field(default_factory=dict)
    """Tool -> runs that used it and in which it succeeded."""
    together: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Tool -> tool -> successful runs that used both; symmetric."""

    def success(self, name: str) -> float:
        """Return how well a tool did, 0 to 1; 0 for one never used and for one that failed as often as not.

        The share of successes with one success and one failure added (Laplace's rule), from 0.5 to 1 mapped to 0 to 1.
        """
        return max(0.0, 2 * self._share(name) - 1)

    def share(self, names: Collection[str]) -> float:
        """Return the share of successes of tools on average, a half for one never used."""
        return sum(map(self._share, names)) / len(names) if names else 0.5

    def _share(self, name: str) -> float:
        return (self.successes.get(name, 0) + 1) / (self.runs.get(name, 0) + 2)

    @classmethod
    def from_episodes(cls, episodes: Iterable[Episode]) -> UsageHistory:
        """Count past analyses; a step that failed counts against its tool even in a run that succeeded."""
        used: Counter[str] = Counter()
        succeeded: Counter[str] = Counter()
        together: dict[str, Counter[str]] = {}
        for episode in episodes:
            tools, good = _tools_of(episode)
            used.update(tools)
            succeeded.update(good)
            if not episode.success:
                continue
            # A run of very many tools says little of any pair of them.
            for a, b in combinations(sorted(good)[:_MOST_TOOLS], 2):
                together.setdefault(a, Counter())[b] += 1
                together.setdefault(b, Counter())[a] += 1
        return cls(runs=used, successes=succeeded, together=together)


class KeptUsage:
    """A usage history that is read when first needed and again once it was forgotten. Thread-safe."""

    def __init__(self, read: Callable[[], UsageHistory]) -> None:
        """Take what reads the history; nothing is read yet."""
        self._read = read
        self._reading = threading.Lock()
        self._edition = 0
        self._kept: tuple[int, UsageHistory] | None = None
        """The edition that was asked for when it was read, and what was read."""

    def forget(self) -> None:
        """Read it again when it is next needed."""
        self._edition += 1

    def newest(self) -> UsageHistory:
        """Return the history; the one before while another thread reads the newer one.

        Raises:
            EngineError: what reading raises; it is tried again the next time.
        """
        kept = self._kept
        if kept is not None and kept[0] == self._edition:
            return kept[1]
        if not self._reading.acquire(blocking=kept is None) and kept is not None:
            return kept[1]
        try:
            if self._kept is None or self._kept[0] != self._edition:
                # Noted before reading: what is forgotten meanwhile makes this one old.
                edition = self._edition
                self._kept = edition, self._read()
            return self._kept[1]
        finally:
            self._reading.release()


def _tools_of(episode: Episode) -> tuple[set[str], set[str]]:
    """Return the tools of a past analysis, and those of them that did their work."""
    if not episode.steps:
        tools = set(episode.tools)
        return tools, tools if episode.success else set()
    tools = {step.tool for step in episode.steps} | set(episode.tools)
    bad = {step.tool for step in episode.steps if step.status not in ("succeeded", "cached", "reused")}
    return tools, tools - bad
