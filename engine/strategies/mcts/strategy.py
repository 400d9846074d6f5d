"""The strategy `mcts`: candidates among all entities of the graph, ways between two of them, or the best of plans."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from engine.discovery.tree.search import TreeSearch
from engine.discovery.tree.space import SearchBudget, SearchWays, State, ToldSpace
from engine.domain.knowledge import Node
from engine.domain.profile import Profile
from engine.domain.report import Report
from engine.domain.results import RunRecord
from engine.errors import EngineError, NotFoundError, PlanError, UserError
from engine.knowledge.service import KnowledgeBase
from engine.planning.planner import Planner
from engine.strategies.mcts.advised_space import AdvisedSpace, Adviser
from engine.strategies.mcts.asked import LinkAsked, link_asked
from engine.strategies.mcts.kept_search import KeptSearches
from engine.strategies.mcts.path_space import PathSpace
from engine.strategies.mcts.plan_space import PlanSpace
from engine.strategies.mcts.told_candidates import candidates_report, paths_report

TOP = 8
"""Candidates that an answer names."""
WAYS_NAMED = 5
WAYS_BUDGET = SearchBudget(simulations=2000, seconds=10)
ADVISED_SECONDS = 6
"""So many times longer a search may take that asks models."""
PLANS_BUDGET = SearchBudget(simulations=200, evaluations=40, seconds=20)

AdviserOf = Callable[[str, Sequence[Profile], str], Adviser]
"""Goal, files and run -> who proposes and judges in a search for it."""


@dataclass(frozen=True, slots=True)
class ChosenPlan:
    """What a search among plans chose: as a person could have chosen it."""

    analysis: str
    chosen: dict[str, dict[str, Any]]
    note: str


@dataclass(frozen=True, slots=True)
class SearchStrategy:
    """Answers questions about what may be."""

    knowledge: KnowledgeBase
    kept: KeptSearches
    planner: Planner
    seconds: Callable[[str], float] = lambda tool: 5.0
    """A rough duration of a tool."""
    past: Callable[[str], Callable[[Collection[str]], float]] = lambda user: lambda tools: 0.5
    """Returns for a user how well his past runs did with tools, 0 to 1; a half where there were none."""
    adviser: AdviserOf | None = None
    """Who proposes and judges where a search was asked for by name; None where nobody does."""
    most_calls: int = 0
    """Most calls of models in one search."""

    def at_once(self, question: str, run_id: str = "") -> Report | None:
        """Return the answer where the words ask for a possible link and the graph knows its ends; no model is asked."""
        asked = link_asked(question)
        try:
            return self._answer(question, asked, run_id, None) if asked else None
        except (NotFoundError, UserError):
            return None

    def answer(self, question: str, run_id: str = "") -> Report | None:
        """Return the answer to a question about possible links, None for one that asks something else.

        Raises:
            PlanError: when an entity is unknown or may be several, or too little is known of such links; it says which.
        """
        asked = link_asked(question, surely=True)
        if asked is None:
            return None
        try:
            return self._answer(question, asked, run_id, self.adviser)
        except (NotFoundError, UserError) as err:
            raise PlanError(err.message, advice=err.advice, details=err.details) from err

    def best_plan(self, record: RunRecord, profiles: Sequence[Profile]) -> ChosenPlan | None:
        """Return the best of many plans of a question on its files, None where none can be made or chosen so."""
        question, files = record.question, list(profiles)
        if not files:
            return None
        try:
            asked = self.planner.asked(question, files)
        except EngineError:
            return None
        if not asked:
            return None
        past = self.past(record.user)
        space = PlanSpace(
            asked,
            lambda analysis, chosen: self.planner.plan(question, files, analysis=analysis, chosen=chosen).plan,
            seconds=lambda plan: sum(self.seconds(node.tool) for node in plan.nodes),
            past=lambda plan: past({node.tool for node in plan.nodes}),
        )
        run_id = record.run_id
        adviser = self.adviser(question, files, run_id) if self.adviser is not None else None
        # Ends that are judged in one question are chosen before any of them is known.
        ways = SearchWays(parallel=8) if adviser is not None else None
        search = self._search(f"{run_id}/plans", space, PLANS_BUDGET, "plans", question, run_id, ways, adviser)
        if search.best is None or search.best_value <= 0:
            return None
        return ChosenPlan(
            analysis=search.best.analysis,
            chosen=search.best.by_tool(),
            note=f"Of {space.planned} plans that were made, this one is worth most ({search.best_value:.2f} of 1)."
            + _advised_by(search),
        )

    def _search(
        self,
        tree_id: str,
        space: ToldSpace[State],
        budget: SearchBudget,
        name: str,
        goal: str,
        run_id: str,
        ways: SearchWays | None,
        adviser: Adviser | None,
    ) -> TreeSearch[State]:
        if adviser is None:
            return self.kept.run(tree_id, space, budget, name=name, goal=goal, run_id=run_id, ways=ways)
        advised = AdvisedSpace(space, adviser)
        longer = replace(budget, calls=self.most_calls, seconds=ADVISED_SECONDS * (budget.seconds or 0))
        return self.kept.run(tree_id, advised, longer, name=name, goal=goal, run_id=run_id, ways=ways)

    def _answer(self, question: str, asked: LinkAsked, run_id: str, adviser_of: AdviserOf | None) -> Report:
        if asked.sought is not None:
            table = self.knowledge.candidates.rank(asked.sought, asked.last, top=TOP)
            return candidates_report(question, table, self.knowledge)
        first, last = self.knowledge.entities.node(asked.first), self.knowledge.entities.node(asked.last)
        return self._ways(question, first, last, run_id, adviser_of)

    def _ways(self, question: str, first: Node, last: Node, run_id: str, adviser_of: AdviserOf | None) -> Report:
        reading = self.knowledge.reading
        names = {first.id: first.name, last.id: last.name}
        sources = {source.id: source.name for source in reading.stats().sources}
        stated = [
            f"Stated directly: {names[e.source]} {e.type.value.replace('_', ' ')} {names[e.target]} "
            f"({sources.get(e.origin, e.origin)})."
            for e in reading.edges_between(first.id, last.id)
        ]
        view = self.knowledge.graph.view()
        ends = view.nodes.number(first.id), view.nodes.number(last.id)
        if ends[0] == ends[1]:
            raise UserError(f"Both names mean {first.name}.", advice="Name two different entities.")
        space = PathSpace(view, ends[0], frozenset({ends[1]}))
        search = self._search(
            f"{run_id}/{first.id} to {last.id}",
            space,
            WAYS_BUDGET,
            "paths",
            f"{first.id} to {last.id}",
            run_id,
            SearchWays(parallel=16),
            adviser_of(question, (), run_id) if adviser_of is not None else None,
        )
        ways = [space.path(state) for _, state in search.ends(WAYS_NAMED)]
        report = paths_report(question, (first, last), list(dict.fromkeys(stated)), ways, self.knowledge)
        everything = "all there are of at most 4 steps" if search.root.done else "not all there may be"
        seen = f"{search.evaluations:,} ways were looked at, {everything}.{_advised_by(search)}"
        return report.model_copy(update={"limitations": [seen, *report.limitations]})


def _advised_by(search: TreeSearch[State]) -> str:
    """Say who had a say in a search, "" for nobody."""
    heard = search.space.heard if isinstance(search.space, AdvisedSpace) else []
    names = " and ".join(dict.fromkeys(one.by for one in heard if one.by))
    return f" {names} proposed and judged some; what was proposed was held against graph or planner." if names else ""
