"""What finished runs say of tools: how often each did its work, and which were used together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
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
        """Return how well a tool did, 0 to 1; 0.5 for one never used (a prior of one success and one failure)."""
        return (self.successes.get(name, 0) + 1) / (self.runs.get(name, 0) + 2)

    @classmethod
    def from_runs(cls, runs: Iterable[tuple[Sequence[str], bool]]) -> UsageHistory:
        """Count runs, each the tools it used and whether it succeeded as a whole."""
        return cls._count((set(tools), set(tools) if success else set(), success) for tools, success in runs)

    @classmethod
    def from_episodes(cls, episodes: Iterable[Episode]) -> UsageHistory:
        """Count past analyses; a step that failed counts against its tool even in a run that succeeded."""
        return cls._count(_tools_of(episode) for episode in episodes)

    @classmethod
    def _count(cls, runs: Iterable[tuple[set[str], set[str], bool]]) -> UsageHistory:
        used: Counter[str] = Counter()
        succeeded: Counter[str] = Counter()
        together: dict[str, Counter[str]] = {}
        for tools, good, success in runs:
            used.update(tools)
            succeeded.update(good)
            if not success:
                continue
            # A run of very many tools says little of any pair of them.
            for a, b in combinations(sorted(good)[:_MOST_TOOLS], 2):
                together.setdefault(a, Counter())[b] += 1
                together.setdefault(b, Counter())[a] += 1
        return cls(runs=used, successes=succeeded, together=together)


def _tools_of(episode: Episode) -> tuple[set[str], set[str], bool]:
    if not episode.steps:
        tools = set(episode.tools)
        return tools, tools if episode.success else set(), episode.success
    tools = {step.tool for step in episode.steps} | set(episode.tools)
    bad = {step.tool for step in episode.steps if step.status not in ("succeeded", "cached", "reused")}
    return tools, tools - bad, episode.success
