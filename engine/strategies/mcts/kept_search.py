"""A search whose ends are kept as they are looked at: it goes on where it was killed and can be done again."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, replace
from typing import Any

from engine.discovery.tree.search import TreeSearch
from engine.discovery.tree.shown import tree_view
from engine.discovery.tree.space import SearchBudget, SearchWays, Space, Spending, Spent, State
from engine.domain.discovery.search_tree import SearchTree
from engine.ports.search_trees import SearchTrees
from engine.ports.system import Clock
from engine.strategies.mcts.advised_space import AdvisedSpace


@dataclass(frozen=True, slots=True)
class KeptSearches:
    """Makes searches that are stored."""

    trees: SearchTrees
    clock: Clock

    def run(
        self,
        tree_id: str,
        space: Space[State],
        budget: SearchBudget,
        *,
        name: str,
        goal: str,
        run_id: str = "",
        ways: SearchWays | None = None,
        spending: Spending = Spent,
        workers: Executor | None = None,
        go_on: Callable[[], bool] = lambda: True,
    ) -> TreeSearch[State]:
        """Search, or go on with the search of this id, and return it with its tree stored.

        A search that was killed is walked again from its seed with the values it had stored, which costs no look at an
        end; its budget of simulations counts from its first beginning, that of ends what is not stored yet.

        Args:
            tree_id: the search; the same id with the same space, seed and budget is the same search.
            space: what is searched; what is said in an `AdvisedSpace` is kept and not asked again, and bounded by the
                budget's calls and dollars over all beginnings.
            budget: when it stops.
            name: the kind of space.
            goal: what it looks for.
            run_id: the run it is for.
            ways: how it searches.
            spending: what models were asked and cost.
            workers: look at ends side by side.
            go_on: asked between batches; False stops, and the search stays `running` to go on with later.
        """
        ways = ways or SearchWays()
        known = self.trees.values(tree_id)
        advised = space if isinstance(space, AdvisedSpace) else None
        if advised is not None:
            advised.budget, advised.keep = budget, lambda advice: self.trees.advised(tree_id, run_id, advice)
            advised.go_on_from(self.trees.advice(tree_id))
            budget = replace(budget, calls=None, dollars=None)  # it minds them itself, and goes on without
        numbers = {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(ways).items()}
        tree = self.trees.tree(tree_id) or SearchTree(
            id=tree_id, run_id=run_id, space=name, goal=goal, settings=numbers, at=self.clock.now()
        )
        if not known:
            self.trees.save(tree)
        search = TreeSearch(
            space,
            ways,
            known=known,
            looked_at=lambda values: self.trees.looked_at(tree_id, values),
            together=advised.look_at_together if advised is not None else None,
            spending=spending,
            workers=workers,
        )
        stopped = False

        def may() -> bool:
            nonlocal stopped
            stopped = not go_on()
            return not stopped

        best = search.run(budget, go_on=may)
        self.trees.save(
            tree.model_copy(
                update={
                    "state": "running" if stopped else "complete",
                    "simulations": search.simulations,
                    "evaluations": len(known) + search.evaluations,
                    "best": space.key(best) if best is not None else "",
                    "best_value": round(max(search.best_value, 0.0), 6),
                    "view": tree_view(search, said=advised.said) if advised is not None else tree_view(search),
                    **(_asked(advised) if advised is not None else {}),
                }
            )
        )
        return search


def _asked(space: AdvisedSpace[State]) -> dict[str, Any]:
    """Return what models had to do with a search, by the names of `SearchTree`."""
    return {
        "calls": space.spent.calls,
        "usd": round(space.spent.dollars, 6),
        "dropped": space.dropped,
        "skipped": [one.failed for one in space.heard if one.failed],
    }
