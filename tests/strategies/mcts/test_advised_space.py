"""An adviser in a search: what it names must be there, its scores weigh, and every answer is asked for once."""

from __future__ import annotations

import json

import pytest
from model_server import fails, says, serving

from engine.adapters.fakes import FrozenClock
from engine.agents.asks import ModelAnswer
from engine.discovery.tree.search import TreeSearch
from engine.discovery.tree.space import Choice, SearchBudget, SearchWays, Spent
from engine.domain.discovery.search_tree import SearchAdvice
from engine.domain.plan import Chosen, TaskDag, TaskNode
from engine.errors import AnswerInvalid, BudgetSpent, ModelCancelled, PlanError
from engine.strategies.mcts.advised_space import AdvisedSpace
from engine.strategies.mcts.by_model import ModelAdviser
from engine.strategies.mcts.kept_search import KeptSearches
from engine.strategies.mcts.plan_space import PlanSpace
from storage.database import Database
from storage.runs.search_trees import DuckSearchTrees
from storage.runs.search_trees_twin import SearchTreesTwin

BUDGET = SearchBudget(simulations=60, calls=8)
WAYS = SearchWays(parallel=4)


class Letters:
    """Three letters in a row; `z` is offered but unlikely, and a way with two of it cannot be. The goal is known to nobody."""

    def start(self):
        return ""

    def is_end(self, state):
        return len(state) == 3

    def key(self, state):
        return state

    def children(self, state):
        return [choice for choice in self.offered(state) if choice.name != "z"]

    def offered(self, state):
        if self.is_end(state):
            return []
        return [
            Choice(state + name, prior, f"letter {name}", name)
            for name, prior in zip("abz", (0.6, 0.4, 0.01), strict=True)
        ]

    def holds(self, state):
        return state.count("z") < 2

    def told(self, state):
        return f"so far {state or 'nothing'}"

    def value(self, state):
        return 0.0 if state == "aaa" else 0.5


class Told:
    """Proposes ways from a state as it was told, and keeps what it was asked."""

    def __init__(self, ways=(), *, scores=None, later=None, fails_at=""):
        self.ways, self.scores, self.fails_at = {"nothing": list(ways), **(later or {})}, scores or {}, fails_at
        self.asked = []

    def propose(self, state, choices):
        self.asked.append((state, list(choices)))
        where = state.split()[-1]
        if where == self.fails_at:
            return SearchAdvice(asked="choices", about=[], failed="It did not fit.")
        return SearchAdvice(asked="choices", about=[], ways=self.ways.get(where, []), by="m/one")

    def judge(self, ends):
        self.asked.append(list(ends))
        numbered = {
            str(at): self.scores[end.split()[-1]] for at, end in enumerate(ends, 1) if end.split()[-1] in self.scores
        }
        return SearchAdvice(asked="ends", about=[], scores=numbered, reasons=dict.fromkeys(numbered, "so"), by="m/two")


@pytest.fixture(params=["disk", "memory"])
def trees(request, tmp_path):
    if request.param == "memory":
        yield SearchTreesTwin()
        return
    database = Database(tmp_path / "b.duckdb")
    yield DuckSearchTrees(database)
    database.close()


def run(trees, adviser, name="tree", go_on=lambda: True, budget=BUDGET):
    space = AdvisedSpace(Letters(), adviser)
    kept = KeptSearches(trees, FrozenClock())
    return kept.run(name, space, budget, name="letters", goal="g", run_id="run_1", ways=WAYS, go_on=go_on), space


def test_what_is_proposed_is_tried_first_also_where_rules_leave_it_out_and_says_by_whom(trees):
    search, _ = run(trees, Told([["Z", "b"], ["b"]]))
    tree = trees.tree("tree")
    (first,) = [row for row in tree.rows() if row.choice == "letter z (proposed by m/one)"]
    assert first.depth == 1
    assert first.state.prior > 0.6
    assert "zb" in {key[:2] for _, key in search.ends(100)}
    assert any(row.choice.startswith("letter b (proposed by m/one)") and row.depth == 2 for row in tree.rows())
    assert "Models were called 8 times." in tree.told


@pytest.mark.parametrize("way", [["q"], ["a", "b", "nobody"], ["z", "z"]])
def test_a_way_with_a_choice_that_is_not_there_or_cannot_be_is_dropped_as_a_whole_and_counted(trees, way):
    plain = TreeSearch(Letters(), WAYS)
    plain.run(SearchBudget(simulations=60))
    search, space = run(trees, Told([way]))
    assert space.dropped == trees.tree("tree").dropped == 1
    assert {key for _, key in search.ends(100)} == {key for _, key in plain.ends(100)}
    assert not any("proposed" in row.choice for row in trees.tree("tree").rows())
    assert "1 of their proposals named what is not there" in trees.tree("tree").told


def test_ends_are_judged_together_and_a_score_weighs_but_makes_nothing_of_what_is_worth_nothing(trees):
    adviser = Told([["a", "a"]], scores={"bab": 1.0, "aab": 0.0, "aaa": 1.0})
    search, _ = run(trees, adviser, budget=SearchBudget(simulations=60, calls=40))
    values = {key: value for value, key in search.ends(100)}
    assert search.best == "bab"
    assert (values["bab"], values["aab"], values["bbb"], values["aaa"]) == (0.5, 0.25, 0.375, 0.0)
    judged = [ends for ends in adviser.asked if isinstance(ends, list)]
    assert max(map(len, judged)) > 1
    assert sum(map(len, judged)) == len({end for ends in judged for end in ends}) == len(values) - 1
    assert any(row.choice.endswith("m/two gives it 1.00: so") for row in trees.tree("tree").rows())


@pytest.mark.parametrize("calls", [0, 1, 3])
def test_what_the_budget_has_no_call_for_goes_on_without(trees, calls):
    adviser = Told()
    search, space = run(trees, adviser, budget=SearchBudget(simulations=60, calls=calls))
    assert len(adviser.asked) == space.spent.calls == calls
    assert len(search.ends(100)) == 8
    dear = AdvisedSpace(
        Letters(), adviser, SearchBudget(dollars=1.0), heard=[SearchAdvice(asked="ends", about=[], usd=1.0)]
    )
    dear.children("")
    assert len(adviser.asked) == calls


def test_a_search_that_was_stopped_goes_on_without_a_question_put_twice(trees):
    scores = {"bab": 1.0, "abb": 0.7, "aab": 0.2}

    def told():
        return Told([["z", "b"]], later={"b": [["a"]]}, scores=scores, fails_at="a")

    whole, _ = run(trees, told(), "whole")
    for moment in range(1, 8):
        name, asked = f"tree {moment}", iter([True] * moment + [False])
        first, later = told(), told()
        run(trees, first, name, go_on=lambda asked=asked: next(asked))
        again, space = run(trees, later, name)
        questions = list(map(str, [*first.asked, *later.asked]))
        assert len(questions) == len(set(questions)) == space.spent.calls
        assert again.ends(100) == whole.ends(100)
        assert trees.tree(name).view == trees.tree("whole").view
    assert trees.tree("tree 7").skipped == ["It did not fit."]
    trees.forget("run_1")
    assert trees.advice("tree 7") == []


# With models


class Scripted:
    """Models that say what they are told, in turn; an error is raised."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []

    def ask(self, role, system, user, answer, *, purpose, run_id=""):
        self.asked.append((role, user))
        given = self.answers.pop(0)
        if isinstance(given, Exception):
            raise given
        return ModelAnswer(value=answer.model_validate(given), model="lab/m")


def test_a_failed_answer_is_left_out_and_a_spent_budget_ends_the_asking_but_not_the_search():
    trees = SearchTreesTwin()
    models = Scripted({"ways": [["b", "b"]]}, AnswerInvalid("Nothing fits."), BudgetSpent("It is spent."))
    search, space = run(trees, ModelAdviser(models, "goal"))
    assert len(models.asked) == 3
    assert len(search.ends(100)) == 8
    assert [one.failed for one in space.heard] == ["", "Nothing fits.", "It is spent."]
    assert "2 unanswered (Nothing fits; It is spent)" in trees.tree("tree").told
    run(trees, ModelAdviser(models, "goal"))
    assert len(models.asked) == 3


def test_somebody_who_stops_the_run_stops_the_search():
    with pytest.raises(ModelCancelled):
        run(SearchTreesTwin(), ModelAdviser(Scripted(ModelCancelled("You stopped it.")), "goal"))


def test_calls_and_dollars_are_those_that_the_run_was_counted():
    spent = iter([Spent(4, 1.0), Spent(7, 1.5)])
    said = ModelAdviser(Scripted({"ways": []}), "goal", spent=lambda: next(spent)).propose("state", ["a: b"])
    assert (said.calls, said.usd) == (3, 0.5)


def test_a_proposed_plan_must_type_check():
    def planned(analysis, chosen):
        if "refused" in analysis:
            raise PlanError("It does not fit.")
        names = [name for name in analysis.split("+") if name != "-"]
        nodes = [TaskNode(id=f"n{at}", name=name, tool=name) for at, name in enumerate(names)]
        return TaskDag(question="q", nodes=nodes, analysis=[Chosen(id=name, probability=1.0) for name in names])

    parts = [{"a": 0.9, "rare": 0.001, "refused": 0.0005}, {"b": 0.9, "c": 0.5}]
    adviser = ModelAdviser(Scripted({"ways": [["rare", "c"], ["refused", "b"], ["made up"]]}), "goal")
    space = AdvisedSpace(PlanSpace(parts, planned), adviser)
    first, *rest = space.children(space.start())
    assert (first.state.analysis, first.why) == ("rare", "part 1 as rare (proposed by lab/m)")
    assert "refused" not in {choice.state.analysis for choice in rest}
    assert space.dropped == 2
    assert space.children(first.state)[0].state.analysis == "rare+c"


QUESTION = "Why might imatinib affect EGFR?"


def answered(handler):
    """Answer as a model would that reads what it is shown."""
    user = handler.body["messages"][-1]["content"]
    if "Number 1:" in user:
        count = user.count("Number ")
        said = {
            "ends": [{"number": n, "score": 0.9 if n == 1 else 0.1, "why": "It acts."} for n in range(1, count + 1)]
        }
    elif "Where the search stands" in user:
        said = {"ways": [["PDGFRA", "glioblastoma", "EGFR"], ["nothing that is known", "EGFR"]]}
    else:
        return says("no")(handler)
    return says(json.dumps(said))(handler)


@pytest.fixture
def lab(open_engine):
    with serving() as server:
        server.otherwise = answered

        def opened(**more):
            address = {"lab": {"base_url": server.url}}
            return open_engine(model="lab/m", model_servers=address, model_report=False, embedding_model="none", **more)

        yield server, opened


def asked_of(server):
    users = [one["body"]["messages"][-1]["content"] for one in server.asked]
    return [user for user in users if "Where the search stands" in user or "What was found" in user]


def test_over_http_a_search_asked_for_by_name_is_advised_counted_and_told(lab):
    server, opened = lab
    engine = opened(model_search=5)
    run_id = engine.ask(QUESTION, strategy="mcts")
    engine.wait(run_id)
    (tree,) = engine.search_trees(run_id)
    assert len(asked_of(server)) == tree.calls == engine.record(run_id).usage.model_calls
    assert 2 <= tree.calls <= 5
    assert tree.dropped >= 1
    assert any("PDGFRA (proposed by lab/m)" in row.choice for row in tree.rows())
    assert any("lab/m gives it 0.90: It acts." in row.choice for row in tree.rows())
    assert any("lab/m proposed and judged some" in text for text in engine.view(run_id).report.limitations)
    before = len(server.asked)
    engine.wait(engine.ask(QUESTION))  # answered at once, by the graph alone
    assert len(asked_of(server)) == tree.calls
    assert len(server.asked) == before


def test_over_http_no_search_asks_where_it_is_switched_off_or_nobody_answers(lab):
    server, opened = lab
    engine = opened(model_search=0)
    run_id = engine.ask(QUESTION, strategy="mcts")
    engine.wait(run_id)
    plain = engine.search_trees(run_id)[0]
    assert asked_of(server) == []
    engine.close()
    server.otherwise = fails(401, "no")
    engine = opened(model_search=5)
    run_id = engine.ask(QUESTION, strategy="mcts")
    engine.wait(run_id)
    tree = engine.search_trees(run_id)[0]
    assert (tree.best, len(asked_of(server))) == (plain.best, 1)
    assert len(tree.skipped) == 1
