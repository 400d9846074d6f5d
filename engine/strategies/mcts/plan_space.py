"""Plans of a question as a space of choices: analyses of what it asks for, then answers to what the plan asks.

A question of several parts has a choice for each: one of the analyses it may mean, or that it is left aside. Nothing
is planned here: every state is handed to the planner, so that the best of them is an ordinary plan that type-checks.
What the planner refuses is an end that is worth nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.discovery.tree.space import Choice
from engine.domain.plan import OpenQuestion, TaskDag
from engine.errors import EngineError
from engine.toolbox.analyses import APART, ASIDE, chosen_parts, load_analyses

MOST_ANALYSES, MOST_BOUND, MOST_CHOICES = 6, 4, 6
LEAST = 0.01
"""An analysis less probable than this share of the likeliest is not tried."""
_ASIDE = 0.1
"""Prior of leaving a part of the question aside, beside 1 for its likeliest analysis."""
_PROPOSED = 1.0
"""Prior of what the planner proposes itself, beside 0.5 shared by the other answers."""


@dataclass(frozen=True, slots=True)
class PartialPlan:
    """What was chosen so far."""

    analysis: str = ""
    """Of each part of the question in turn (see `chosen_parts`)."""
    chosen: tuple[tuple[str, str, str], ...] = ()
    """(question, tool.parameter, value as JSON), in the order in which they were settled."""

    def by_tool(self) -> dict[str, dict[str, Any]]:
        """Return tool -> parameter -> value, as the planner takes it; what stays as proposed is not in it."""
        found: dict[str, dict[str, Any]] = {}
        for _, place, value in self.chosen:
            if value:
                tool, _, param = place.partition(".")
                found.setdefault(tool, {})[param] = json.loads(value)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanWorth:
    """What a plan's value is made of; the shares are summed with these weights."""

    fit: float = 0.4
    """How probable the analysis is beside the likeliest, on average over the parts; one left aside is 0."""
    coverage: float = 0.25
    """Requests of the question that it answers."""
    settled: float = 0.15
    """One by the questions that keep it from running, and one more."""
    sound: float = 0.1
    """One by a quarter of its warnings, and one more."""
    past: float = 0.05
    """How well the tools did in the user's own finished runs that nobody doubts; a half where there were none."""
    cheap: float = 0.05
    """One by its seconds in minutes, and one more."""


def _called(analysis: str) -> str:
    known = load_analyses().get(analysis)
    return f"{analysis} ({known.name})" if known else analysis


@dataclass(slots=True)
class PlanSpace:
    """Plans of one question on its files. Planning is not for several threads at once."""

    asked: Sequence[Mapping[str, float]]
    """Of each part of the question analysis -> probability, as `Planner.asked` gives it."""
    plan: Callable[[str, Mapping[str, Mapping[str, Any]]], TaskDag]
    """The planner: from an analysis and what is chosen to a plan."""
    seconds: Callable[[TaskDag], float] = lambda plan: 5.0 * len(plan.nodes)
    past: Callable[[TaskDag], float] = lambda plan: 0.5
    worth: PlanWorth = field(default_factory=PlanWorth)
    planned: int = 0
    """Plans that were made."""
    _plans: dict[tuple[str, str], TaskDag | None] = field(default_factory=dict)

    def start(self) -> PartialPlan:
        """Return the state without an analysis."""
        return PartialPlan()

    def key(self, state: PartialPlan) -> str:
        """Return analysis and choices, in no order: what is settled first does not matter."""
        return json.dumps([state.analysis, sorted(state.chosen)])

    def is_end(self, state: PartialPlan) -> bool:
        """Say whether everything that the plan asks is settled, or it cannot be planned."""
        return not self._parts_left(state) and (self.made(state) is None or not self._open(state))

    def children(self, state: PartialPlan) -> Sequence[Choice[PartialPlan]]:
        """Return the analyses of the next part, or the answers to the first question that is open."""
        return self._choices(state, MOST_ANALYSES, MOST_CHOICES, LEAST)

    def offered(self, state: PartialPlan) -> Sequence[Choice[PartialPlan]]:
        """Return all analyses that can be bound to the data, or all answers, however unlikely."""
        return self._choices(state, None, None, 0.0)

    def holds(self, state: PartialPlan) -> bool:
        """Say whether the planner makes a plan of it that type-checks, with what is not chosen yet left aside."""
        rest = [ASIDE] * self._parts_left(state)
        analysis = APART.join([*chosen_parts(state.analysis), *rest])
        only_aside = all(key == ASIDE for key in chosen_parts(analysis))
        return only_aside or self.made(PartialPlan(analysis, state.chosen)) is not None

    def told(self, state: PartialPlan) -> str:
        """Return what was chosen so far, and the plan where everything is."""
        chosen = chosen_parts(state.analysis)
        lines = [f"Part {at}: {_called(key) if key != ASIDE else 'left aside'}" for at, key in enumerate(chosen, 1)]
        if len(chosen) < len(self.asked):
            return "\n".join([*lines, f"The analysis of part {len(chosen) + 1} of {len(self.asked)} is to be chosen."])
        plan = self.made(state)
        if plan is None:
            return "\n".join([*lines, "It cannot be planned."])
        lines += [f"Step {node.tool} {json.dumps(node.params, ensure_ascii=False)}" for node in plan.nodes]
        lines += [f"Not answered: {text}" for text in plan.not_answered] + [
            f"Warning: {text}" for text in plan.warnings
        ]
        lines += [f"To be chosen: {question.text}" for question in self._open(state)[:1]]
        return "\n".join(lines)

    def value(self, state: PartialPlan) -> float:
        """Return what a plan is worth, 0 for one that cannot be made."""
        plan = self.made(state)
        if plan is None:
            return 0.0
        worth, parts = self.worth, zip(chosen_parts(state.analysis), self.asked, strict=True)
        fit = sum(weighed.get(key, 0.0) / max(weighed.values(), default=1.0) for key, weighed in parts)
        answered = len(plan.analysis) or 1
        shares = (
            (worth.fit, fit / len(self.asked)),
            (worth.coverage, answered / (answered + len(plan.not_answered))),
            (worth.settled, 1 / (1 + len(plan.unanswered()))),
            (worth.sound, 1 / (1 + len(plan.warnings) / 4)),
            (worth.past, self.past(plan)),
            (worth.cheap, 1 / (1 + self.seconds(plan) / 60)),
        )
        return sum(weight * share for weight, share in shares)

    def made(self, state: PartialPlan) -> TaskDag | None:
        """Return the plan of a state, None when it cannot be made."""
        chosen = state.by_tool()
        key = (state.analysis, json.dumps(chosen, sort_keys=True))
        if key not in self._plans:
            self.planned += 1
            try:
                self._plans[key] = self.plan(state.analysis, chosen)
            except EngineError:
                self._plans[key] = None
        return self._plans[key]

    def _choices(
        self, state: PartialPlan, analyses: int | None, answers: int | None, least: float
    ) -> Sequence[Choice[PartialPlan]]:
        if self._parts_left(state):
            return self._analyses(chosen_parts(state.analysis), analyses, least)
        if self.is_end(state):
            return []
        asked = self._open(state)[0]
        plan = self.made(state)
        node = plan.node(asked.node) if plan else None
        place = f"{node.tool if node else ''}.{asked.param}"
        others = [value for value in asked.choices if value != asked.proposed][:answers]
        given = [("", _PROPOSED, f"{asked.param} = {asked.proposed}, as proposed", str(asked.proposed))]
        given += [(json.dumps(value), 0.5 / len(others), f"{asked.param} = {value}", str(value)) for value in others]
        return [
            Choice(PartialPlan(state.analysis, (*state.chosen, (asked.id, place, value))), prior, why, name)
            for value, prior, why, name in given
        ]

    def _parts_left(self, state: PartialPlan) -> int:
        return len(self.asked) - len(chosen_parts(state.analysis))

    def _analyses(self, before: list[str], most_told: int | None, least: float) -> list[Choice[PartialPlan]]:
        weighed = self.asked[len(before)]
        most = max(weighed.values(), default=0.0)
        likely = [(key, share) for key, share in weighed.items() if share > least * most][:most_told]
        found = [(key, share / most, f"as {_called(key)}") for key, share in likely]
        last = len(before) + 1 == len(self.asked)
        if len(self.asked) > 1 and not (last and all(key == ASIDE for key in before)):
            found.append((ASIDE, _ASIDE, "left aside"))
        part = f"part {len(before) + 1} " if len(self.asked) > 1 else ""
        return [Choice(PartialPlan(APART.join([*before, key])), prior, part + why, key) for key, prior, why in found]

    def _open(self, state: PartialPlan) -> list[OpenQuestion]:
        """Return the plan's questions about parameters that have several answers and were not settled yet."""
        plan, settled = self.made(state), {question for question, _, _ in state.chosen}
        if plan is None or len(state.chosen) >= MOST_BOUND:
            return []
        return [q for q in plan.open_questions if q.id not in settled and q.param and q.node and len(q.choices) > 1]
