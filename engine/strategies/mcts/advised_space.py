"""A space in which somebody may propose choices and judge ends, each asked once and held against what there is.

It is the same space: a way that was proposed is taken up only where every choice of it is there and can be, and a score
weighs an end but makes none. What the bounds allow no question for goes on by the space alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol

from engine.discovery.tree.space import Choice, SearchBudget, Spent, State, ToldSpace
from engine.domain.discovery.search_tree import SearchAdvice

MOST_LISTED, TOGETHER = 30, 16
"""Choices that somebody who proposes is shown, and ends that are judged in one question."""
MOST_STEPS = 8
_PROPOSING = 0.5
"""Share of the calls that may go into proposals; the rest is for judging."""
NOT_JUDGED = 0.5
"""The score of an end that nobody has judged."""


class Adviser(Protocol):
    """Somebody who proposes and judges. An answer that fails says why; one that must end the search is raised."""

    def propose(self, state: str, choices: Sequence[str]) -> SearchAdvice:
        """Return ways on from a state, each a list of names of choices; `choices` are those at hand, in words."""
        ...

    def judge(self, ends: Sequence[str]) -> SearchAdvice:
        """Return a score for each end, by its number from 1."""
        ...


@dataclass(slots=True)
class AdvisedSpace(Generic[State]):
    """A space with an adviser. Not for several threads at once."""

    space: ToldSpace[State]
    adviser: Adviser
    budget: SearchBudget = field(default_factory=SearchBudget)
    """Its calls and dollars bound what is asked."""
    keep: Callable[[SearchAdvice], object] = lambda advice: None
    """Told of each answer before anything is made of it."""
    heard: list[SearchAdvice] = field(default_factory=list)
    """All answers, first those that were kept of an earlier beginning."""
    dropped: int = 0
    """Ways that were proposed and do not hold."""
    _proposed: dict[str, dict[str, Choice[State]]] = field(default_factory=dict)
    """Key of a state -> key of a proposed choice's state -> the choice."""
    _near: set[str] = field(default_factory=set)
    """Keys of the states that proposals are asked for: a way begun wrongly is not mended by its later choices."""
    _asked: dict[str, SearchAdvice] = field(default_factory=dict)
    """Key of a state -> the answer on its choices."""
    _judged: dict[str, SearchAdvice] = field(default_factory=dict)
    """Key of an end -> the answer it was put into the question of."""

    def go_on_from(self, heard: Iterable[SearchAdvice]) -> None:
        """Take over what was said before; none of it is asked again."""
        for advice in heard:
            self._note(advice)

    @property
    def spent(self) -> Spent:
        """What was asked and what it cost, over all beginnings."""
        return Spent(sum(one.calls for one in self.heard), sum(one.usd for one in self.heard))

    def start(self) -> State:
        """Return where the search begins."""
        return self.space.start()

    def is_end(self, state: State) -> bool:
        """Say whether a state is an end."""
        return self.space.is_end(state)

    def key(self, state: State) -> str:
        """Return what tells a state from others."""
        return self.space.key(state)

    def children(self, state: State) -> Sequence[Choice[State]]:
        """Return the choices of the space; what was proposed and holds is the most promising, and says by whom."""
        own, key = self.space.children(state), self.space.key(state)
        if not own:
            return own
        first = key == self.space.key(self.space.start())
        if (first or key in self._near) and key not in self._proposed and len(self.space.offered(state)) > 1:
            self._ask_ways(state, key, own)
        if first:
            self._near |= {self.space.key(choice.state) for choice in own}
        proposed = self._proposed.get(key, {})
        top = max(choice.prior for choice in own)
        raised = [
            Choice(choice.state, top * (1 + 1 / place), choice.why, choice.name)
            for place, choice in enumerate(proposed.values(), 1)
        ]
        return [*raised, *(choice for choice in own if self.space.key(choice.state) not in proposed)]

    def value(self, state: State) -> float:
        """Return what an end is worth: half of it by the space alone, the other half as it is judged."""
        key = self.space.key(state)
        advice = self._judged.get(key)
        score = advice.scores.get(key, NOT_JUDGED) if advice is not None else NOT_JUDGED
        return self.space.value(state) * (1 + score) / 2

    def look_at_together(self, ends: Sequence[State]) -> None:
        """Have ends judged, those apart that are worth nothing anyway or were judged before."""
        new = {key: end for end in ends if (key := self.space.key(end)) not in self._judged and self.space.value(end)}
        keys = list(new)
        for part in (keys[at : at + TOGETHER] for at in range(0, len(keys), TOGETHER)):
            if self._may_ask(1.0):
                said = self.adviser.judge([self.space.told(new[key]) for key in part])
                named = {str(number): key for number, key in enumerate(part, 1)}
                scores = {named[number]: score for number, score in said.scores.items() if number in named}
                reasons = {named[number]: text for number, text in said.reasons.items() if number in named}
                told = {"about": part, "scores": scores, "reasons": reasons}
                self._keep(said.model_copy(update=told))

    def said(self, key: str) -> str:
        """Return how an end was judged, and by whom."""
        advice = self._judged.get(key)
        if advice is None or key not in advice.scores:
            return ""
        why = f": {advice.reasons[key]}" if advice.reasons.get(key) else ""
        return f"{advice.by} gives it {advice.scores[key]:.2f}{why}"

    def _ask_ways(self, state: State, key: str, own: Sequence[Choice[State]]) -> None:
        if key not in self._asked:
            if not self._may_ask(_PROPOSING):
                return
            rest = [choice for choice in self.space.offered(state) if choice.name]
            likeliest = sorted(own, key=lambda choice: -choice.prior)
            shown = {choice.name: choice.why for choice in [*likeliest, *rest]}
            lines = [f"{name}: {why}" for name, why in itertools.islice(shown.items(), MOST_LISTED)]
            self._keep(self.adviser.propose(self.space.told(state), lines).model_copy(update={"about": [key]}))
        advice = self._asked[key]
        self._proposed.setdefault(key, {})
        for way in advice.ways:
            self._take_up(state, way[:MOST_STEPS], advice.by)

    def _take_up(self, state: State, way: Sequence[str], by: str) -> None:
        """Keep each choice of a way as proposed where the whole of it is there and can be."""
        found: list[tuple[str, Choice[State]]] = []
        for name in way:
            named = {choice.name.casefold(): choice for choice in self.space.offered(state) if choice.name}
            choice = named.get(name.strip().casefold())
            if choice is None or not self.space.holds(choice.state):
                self.dropped += 1
                return
            why = f"{choice.why} (proposed by {by})"
            found.append((self.space.key(state), Choice(choice.state, choice.prior, why, choice.name)))
            state = choice.state
        for key, choice in found:
            self._proposed.setdefault(key, {}).setdefault(self.space.key(choice.state), choice)

    def _may_ask(self, share: float) -> bool:
        spent, calls, dollars = self.spent, self.budget.calls, self.budget.dollars
        if any(one.last for one in self.heard):
            return False
        return (calls is None or spent.calls < share * calls) and (dollars is None or spent.dollars < dollars)

    def _keep(self, advice: SearchAdvice) -> None:
        self.keep(advice)
        self._note(advice)

    def _note(self, advice: SearchAdvice) -> None:
        self.heard.append(advice)
        kept = self._asked if advice.asked == "choices" else self._judged
        kept.update(dict.fromkeys(advice.about, advice))
