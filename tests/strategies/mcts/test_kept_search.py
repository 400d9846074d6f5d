"""Searches that are kept: on disk as in memory, and killed at any moment, no end is looked at twice."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import comes_about, until

from engine.adapters.fakes import FrozenClock
from engine.discovery.tree.space import Choice, SearchBudget, SearchWays
from engine.domain.discovery.search_tree import SearchTree
from engine.strategies.mcts.kept_search import KeptSearches
from storage.database import Database
from storage.runs.search_trees import DuckSearchTrees
from storage.runs.search_trees_twin import SearchTreesTwin

BUDGET = SearchBudget(simulations=150)


class Logged:
    """Digits in a row; every look at an end is a line of a file, written before the value is known to anybody."""

    def __init__(self, log: Path, pause: float = 0.0):
        self.log = log
        self.pause = pause

    def start(self):
        return ""

    def is_end(self, state):
        return len(state) == 4

    def key(self, state):
        return state

    def children(self, state):
        return [] if self.is_end(state) else [Choice(state + digit, 1 + int(digit), digit) for digit in "01234"]

    def value(self, state):
        with self.log.open("a") as handle:
            handle.write(state + "\n")
        comes_about(lambda: False, self.pause)  # looking takes as long
        return random.Random(state).random()


@pytest.fixture(params=["disk", "memory"])
def trees(request, tmp_path):
    if request.param == "memory":
        yield SearchTreesTwin()
        return
    database = Database(tmp_path / "b.duckdb")
    yield DuckSearchTrees(database)
    database.close()


def test_what_is_kept_is_there_and_goes_with_its_run(trees):
    tree = SearchTree(id="tree_1", run_id="run_1", space="paths", goal="a to b", settings={"seed": 1})
    trees.save(tree)
    trees.save(tree.model_copy(update={"state": "complete", "best": "a>b"}))
    trees.save(tree.model_copy(update={"id": "tree_2", "run_id": "run_2"}))
    trees.looked_at("tree_1", {"a>b": 0.25, "a>c": 0.1})
    trees.looked_at("tree_2", {"x": 1.0})
    assert trees.tree("tree_1").best == "a>b"
    assert trees.tree("nothing") is None
    assert [one.state for one in trees.of_run("run_1")] == ["complete"]
    assert trees.values("tree_1") == {"a>b": 0.25, "a>c": 0.1}
    trees.forget("run_1")
    assert trees.tree("tree_1") is None
    assert trees.values("tree_1") == {}
    assert trees.values("tree_2") == {"x": 1.0}


def test_a_search_that_was_stopped_goes_on_and_ends_like_one_that_was_not(trees, tmp_path):
    kept = KeptSearches(trees, FrozenClock())
    whole = kept.run(
        "whole", Logged(tmp_path / "whole"), BUDGET, name="digits", goal="most", ways=SearchWays(parallel=3)
    )
    asked = iter([True] * 9 + [False])
    log = tmp_path / "parts"
    about = {"name": "digits", "goal": "most", "run_id": "run_1", "ways": SearchWays(parallel=3)}
    kept.run("parts", Logged(log), BUDGET, go_on=lambda: next(asked), **about)
    assert trees.tree("parts").state == "running"
    again = kept.run("parts", Logged(log), BUDGET, **about)
    stored = trees.tree("parts")
    assert (again.best, again.best_value) == (whole.best, whole.best_value)
    assert stored.view == trees.tree("whole").view
    assert stored.evaluations == trees.tree("whole").evaluations == len(log.read_text().split())
    assert stored.state == "complete"
    looked = log.read_text().split()
    assert len(looked) == len(set(looked))


def looked_at(log: Path) -> int:
    return len(log.read_text().split()) if log.exists() else 0


CHILD = """
import sys
from pathlib import Path
sys.path[:0] = sys.argv[5:]
from engine.adapters.fakes import FrozenClock
from engine.discovery.tree.space import SearchWays
from engine.strategies.mcts.kept_search import KeptSearches
from storage.database import Database
from storage.runs.search_trees import DuckSearchTrees
from strategies.mcts.test_kept_search import BUDGET, Logged
database = Database(Path(sys.argv[1]))
kept = KeptSearches(DuckSearchTrees(database), FrozenClock())
space, ways = Logged(Path(sys.argv[2]), float(sys.argv[3])), SearchWays(parallel=int(sys.argv[4]))
kept.run("tree", space, BUDGET, name="digits", goal="most", ways=ways)
database.close()
"""


@pytest.mark.parametrize(("pause", "parallel"), [pytest.param(0.0, 1, marks=pytest.mark.slow), (0.03, 8)])
def test_killed_at_random_moments_it_looks_at_no_end_twice(tmp_path, pause, parallel):
    """A look that the kill cut short before its value was stored is the one that was under way: at most one a kill.

    So it is in a batch, where a look takes long.
    """
    root = Path(__file__).parents[3]
    log = tmp_path / "looked"
    given = [str(tmp_path / "b.duckdb"), str(log), str(pause), str(parallel), str(root), str(root / "tests")]
    command = [sys.executable, "-c", CHILD, *given]
    chance, kills = random.Random(5), 0
    for wanted in sorted(chance.sample(range(5, 110), 3)):
        process = subprocess.Popen(command)
        until(lambda p=process, n=wanted: p.poll() is not None or looked_at(log) >= n, pause=0.001)
        kills += process.poll() is None
        process.kill()
        process.wait()
    subprocess.run(command, check=True)
    assert kills == 3
    looked = log.read_text().split()
    database = Database(tmp_path / "b.duckdb")
    trees = DuckSearchTrees(database)
    stored = trees.values("tree")
    assert trees.tree("tree").state == "complete"
    database.close()
    assert set(looked) == set(stored)
    assert len(looked) - len(set(looked)) <= kills
    straight = KeptSearches(SearchTreesTwin(), FrozenClock()).run(
        "tree",
        Logged(tmp_path / "straight"),
        BUDGET,
        name="digits",
        goal="most",
        ways=SearchWays(parallel=parallel),
    )
    assert sorted(stored) == sorted((tmp_path / "straight").read_text().split())
    assert straight.best_value == max(stored.values())
