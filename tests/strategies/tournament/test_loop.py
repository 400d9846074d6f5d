"""A whole tournament on simulated roles: what is asked, kept, resumed, and what a bad judge does to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tournament_room import AIMS, Killed, Simulated, cast_of, idea, played, table_of, worth

from engine.domain.discovery.hypotheses import Bounds, ExecutedTest, Match
from engine.domain.events import EngineEvent
from engine.errors import BudgetSpent, ModelTimedOut
from engine.strategies.tournament.exporting import markdown
from engine.strategies.tournament.loop import play
from engine.strategies.tournament.roles import ItemFailed
from engine.strategies.tournament.running import complete
from storage.database import Database
from storage.hypotheses.store import DuckHypotheses
from storage.hypotheses.twin import HypothesesTwin

SMALL = Bounds(hypotheses=6, iterations=1, evolve=2, concurrency=1, stop_at=1.0)


def test_a_whole_tournament_finds_better_ideas_than_it_began_with() -> None:
    told: list[EngineEvent] = []
    roles = Simulated()
    view = complete(
        played(cast_of(roles), Bounds(hypotheses=8, iterations=2, concurrency=1), emit=told.append).ledger.view()
    )
    assert view.tournament.status == "finished"
    assert view.tournament.plan == "First this, then that."
    assert len(view.hypotheses) == 8 + 2 * 3
    assert len(view.meta_reviews) == 2
    by_id = {one.id: one for one in view.hypotheses}
    assert by_id[view.standings[0].hypothesis].evolution is not None
    worths = [worth(by_id[one.hypothesis]) for one in view.standings]
    assert sum(worths[:4]) / 4 > max(worth(one) for one in view.hypotheses if not one.round)
    assert all(set(one.parents) <= set(by_id) for one in view.hypotheses)
    assert {one.hypothesis for one in view.reviews} == set(by_id)
    assert [one.number for one in view.matches] == list(range(len(view.matches)))
    progress = [event.progress for event in told if hasattr(event, "progress")]
    assert progress == sorted(progress)
    assert view.tournament.progress == 1.0
    assert {event.kind for event in told} == {"hypothesis_created", "reviews_scored", "match_judged", "ratings_updated"}


def test_every_call_is_counted() -> None:
    roles = Simulated()
    table = played(cast_of(roles), SMALL)
    assert table.ledger.state.calls == len(roles.calls) == sum(one.calls for one in table.ledger.view().asked)


def test_what_models_used_is_what_their_meter_says() -> None:
    table = played(cast_of(Simulated(), spent=lambda _: (77, 1.25)), SMALL)
    assert (table.ledger.state.calls, table.ledger.state.usd) == (77, 1.25)


def test_what_the_runs_of_tests_asked_is_counted_too() -> None:
    table = played(cast_of(Simulated(), spent=lambda runs: (70 + 11 * len(runs), 0.0)), SMALL)
    name = table.ledger.view().hypotheses[0].id
    table.ledger.keep(ExecutedTest(hypothesis=name, prediction=0, run="r1", p=0.5), asked="test r1")
    assert table.ledger.state.calls == 81
    table.ledger.keep(asked="another")
    assert table.ledger.state.calls == 81


@pytest.fixture(scope="module")
def unkilled() -> tuple[list[str], Any]:
    """Return the calls of a small tournament that nobody stops, and what it left."""
    whole = Simulated()
    return whole.calls, complete(played(cast_of(whole), SMALL).ledger.view())


@pytest.mark.parametrize(
    "kill_at", [1, 8, 13, 28, 40, *(pytest.param(at, marks=pytest.mark.slow) for at in (3, 7, 9, 20, 30, 33))]
)
def test_a_kill_at_any_call_repeats_none_and_changes_nothing(kill_at: int, unkilled: Any, tmp_path: Path) -> None:
    """The process dies between two calls; what is played on is what would have been played without it."""
    calls, expected = unkilled
    database = Database(tmp_path / "b.duckdb")
    first = Simulated(kill_at=kill_at)
    with pytest.raises(Killed):
        played(cast_of(first), SMALL, store=DuckHypotheses(database))
    database.close()
    database = Database(tmp_path / "b.duckdb")
    # The simulated judge draws by how many calls there were, so it goes on with those of the first process.
    second = Simulated(calls=list(first.calls))
    table = table_of(cast_of(second), SMALL, store=DuckHypotheses(database))
    play(table)
    view = complete(table.ledger.view())
    assert len(set(second.calls)) == len(second.calls) == view.tournament.calls
    assert second.calls == calls
    assert view.standings == expected.standings
    assert [(m.number, m.first, m.second, m.score) for m in view.matches] == [
        (m.number, m.first, m.second, m.score) for m in expected.matches
    ]
    database.close()


def test_side_by_side_it_keeps_and_counts_the_same() -> None:
    roles = Simulated()
    view = played(cast_of(roles), SMALL.model_copy(update={"concurrency": 4})).ledger.view()
    assert len(view.matches) == 3 * len(view.hypotheses)
    assert sorted(one.number for one in view.matches) == list(range(len(view.matches)))
    assert view.tournament.calls == len(roles.calls)


def test_a_budget_of_calls_is_kept() -> None:
    roles = Simulated()
    bounds = SMALL.model_copy(update={"calls": 15})
    state = played(cast_of(roles), bounds).ledger.state
    assert state.calls == len(roles.calls) == 15
    assert (state.status, state.stopped_by) == ("finished", "The budget of 15 calls is spent.")


def test_a_spent_budget_of_a_model_ends_it_with_what_it_has() -> None:
    class Poor(Simulated):
        def judge(self, aims, guidance, first, second, reviews):
            if sum(call.startswith("judge") for call in self.calls) == 4:
                raise BudgetSpent("The run may use 1 dollar.")
            return super().judge(aims, guidance, first, second, reviews)

    view = played(cast_of(Poor()), SMALL).ledger.view()
    assert (view.tournament.status, view.tournament.stopped_by) == ("finished", "The run may use 1 dollar.")
    assert len(view.matches) == 4


@pytest.mark.parametrize("wish", ["paused", "cancelled"])
def test_it_stops_when_it_is_told_and_goes_on(wish: str) -> None:
    store, roles = HypothesesTwin(), Simulated()
    table = table_of(cast_of(roles), SMALL, store=store, wish=lambda: wish if len(roles.calls) >= 12 else "")
    play(table)
    assert table.ledger.state.status == wish
    assert len(roles.calls) == 12
    again = table_of(cast_of(roles), SMALL, store=store)
    play(again)
    assert again.ledger.state.status == "finished"
    assert len(set(roles.calls)) == len(roles.calls) == again.ledger.state.calls


@pytest.mark.parametrize("kill_at", [0, 40])
def test_a_judge_is_told_how_often_it_was_asked_the_same_before(kill_at: int) -> None:
    class Told(Simulated):
        def judge(self, aims, guidance, first, second, reviews):
            match = super().judge(aims, guidance, first, second, reviews)
            told.append((first.id, second.id, guidance.again))
            return match

    told: list[tuple[str, str, int]] = []
    store = HypothesesTwin()
    if kill_at:
        with pytest.raises(Killed):
            played(cast_of(Told(kill_at=kill_at)), SMALL, store=store)
    play(table_of(cast_of(Told()), SMALL, store=store))
    assert len(set(told)) == len(told)
    assert max(again for _, _, again in told) > 0


class AlwaysFirst(Simulated):
    def judge(self, aims, guidance, first, second, reviews):
        return super().judge(aims, guidance, first, second, reviews).model_copy(update={"score": 1.0})


class AlwaysFails(Simulated):
    def judge(self, aims, guidance, first, second, reviews):
        self.count("judge " + str(len(self.calls)))
        raise ModelTimedOut("No answer came.")


class Nonsense(Simulated):
    def judge(self, aims, guidance, first, second, reviews):
        self.count("judge " + str(len(self.calls)))
        return Match(number=0, first="the", second="cat", score=0.2)


class Broken(Simulated):
    def judge(self, aims, guidance, first, second, reviews):
        self.count("judge " + str(len(self.calls)))
        raise ZeroDivisionError("by zero")


def test_a_judge_that_always_says_first_is_named_and_ranks_nothing() -> None:
    # Without reviews that know the truth, nothing but the order is left to it.
    class Blind(AlwaysFirst):
        def review(self, aims, guidance, hypotheses):
            return [ItemFailed("No review.") for _ in hypotheses]

    view = complete(played(cast_of(Blind()), Bounds(hypotheses=8, iterations=0, matches_each=6)).ledger.view())
    assert any("prefers what it is shown first" in sentence for sentence in view.says)
    assert "cannot be told apart yet" in view.says[0]
    assert len({one.group for one in view.standings}) == 1
    assert max(one.chance_best for one in view.standings) < 0.6


@pytest.mark.parametrize(
    ("judge", "why"),
    [(AlwaysFails, "No answer came."), (Nonsense, "spoke of other hypotheses"), (Broken, "ZeroDivisionError")],
)
def test_a_judge_that_fails_costs_no_tournament(judge: type[Simulated], why: str) -> None:
    roles = judge()
    view = complete(played(cast_of(roles), SMALL).ledger.view())
    assert view.tournament.status == "finished"
    assert "The judge failed 10 times one after another" in view.tournament.stopped_by
    assert why in view.tournament.stopped_by
    assert view.says[0].startswith("Nothing was compared yet")
    assert view.tournament.calls == len(roles.calls)
    assert not view.matches
    left_out = [one for one in view.skipped if one.stage == "ranking"]
    assert len(left_out) == len([call for call in roles.calls if call.startswith("judge")])
    assert all(why in one.why and " against " in one.what for one in left_out)
    # The order is that of the reviews.
    by_id = {one.id: one for one in view.hypotheses}
    first, last = view.standings[0], view.standings[-1]
    assert worth(by_id[first.hypothesis]) > worth(by_id[last.hypothesis])


def test_a_pair_that_failed_is_not_at_once_asked_again() -> None:
    view = played(cast_of(AlwaysFails()), SMALL).ledger.view()
    pairs = [frozenset(pair) for batch in view.drawn for pair in batch.pairs][:6]
    assert len(set(pairs)) == len(pairs) == 6


def test_a_comparison_that_failed_is_left_out_and_made_up_for() -> None:
    class Sometimes(Simulated):
        def judge(self, aims, guidance, first, second, reviews):
            if len(self.calls) % 3 == 0:
                self.count("judge " + str(len(self.calls)))
                raise ModelTimedOut("No answer came.")
            return super().judge(aims, guidance, first, second, reviews)

    told: list[EngineEvent] = []
    table = played(cast_of(Sometimes()), SMALL.model_copy(update={"iterations": 0}), emit=told.append)
    view = complete(table.ledger.view())
    failed = [one for one in view.skipped if one.stage == "ranking"]
    assert failed
    assert len(view.matches) == 18  # three for each of six, those that failed not counted among them
    assert view.tournament.stopped_by == "All 18 comparisons were made that its bounds allow."
    assert sum(one.matches for one in view.standings) == 2 * 18
    assert sum(bool(getattr(event, "skipped", "")) for event in told) == len(failed)
    assert f"- ranking: {failed[0].what}: No answer came." in markdown(view)
    assert f"{len(failed)} items could not be made" in view.says[-1]


def test_every_role_may_fail() -> None:
    class Fails(Simulated):
        def fail(self, *_: object) -> None:
            raise ModelTimedOut("No answer.")

        plan = review = evolve = meta_review = fail

    view = played(cast_of(Fails()), SMALL).ledger.view()
    assert view.tournament.status == "finished"
    assert {one.stage for one in view.skipped} == {"planning", "review", "meta-review", "evolution"}
    assert len(view.matches) == 18


def test_without_any_hypothesis_it_says_why() -> None:
    class Empty(Simulated):
        def make(self, aims, guidance, count, seed):
            return [ItemFailed("The graph names nothing of this goal.") for _ in range(count)]

    state = played(cast_of(Empty()), SMALL).ledger.state
    assert state.status == "failed"
    assert state.stopped_by.startswith("No hypothesis could be made. The graph names nothing")


def test_hypotheses_of_the_user_compete_from_the_start_without_any_maker() -> None:
    aims = AIMS.model_copy(update={"seeds": ["Hypoxia is worth 1", "Insulin is worth 2", "Collagen is worth -1"]})
    view = complete(played(cast_of(Simulated(), makers=[], evolver=None), SMALL, aims=aims).ledger.view())
    assert [one.method for one in view.hypotheses] == ["user"] * 3
    assert all(one.by == "ann" for one in view.hypotheses)
    assert len(view.matches) == 9
    assert view.standings[0].hypothesis == next(one.id for one in view.hypotheses if one.text.endswith(" 2"))


def test_a_deterministic_judge_is_asked_about_no_pair_twice() -> None:
    view = played(cast_of(Simulated(deterministic=True)), SMALL.model_copy(update={"matches_each": 20})).ledger.view()
    pairs = [frozenset((one.first, one.second)) for one in view.matches]
    assert len(set(pairs)) == len(pairs) == 8 * 7 // 2
    assert view.tournament.stopped_by == "No pair is left to compare."


def test_what_is_added_while_it_runs_is_reviewed_and_compared() -> None:
    store = HypothesesTwin()
    roles = Simulated()
    mine = idea("Own idea is worth 9").model_copy(update={"id": "hmine", "method": "user"})

    def wish() -> str:
        if len(roles.calls) == 12:
            store.add("t1", "ann", [mine])
        return ""

    view = complete(played(cast_of(roles, evolver=None), SMALL, store=store, wish=wish).ledger.view())
    assert view.standings[0].hypothesis == "hmine"
    assert any(one.hypothesis == "hmine" for one in view.reviews)


def test_what_makers_are_asked_depends_neither_on_who_was_quicker_nor_on_a_kill() -> None:
    told: list[list[str]] = []

    class Listening(Simulated):
        def make(self, aims, guidance, count, seed):
            told.append(list(guidance.avoid))
            return super().make(aims, guidance, count, seed)

    played(cast_of(Listening()), SMALL, aims=AIMS.model_copy(update={"seeds": ["Heat is worth 1.0"]}))
    assert told == [["Heat is worth 1.0"]] * SMALL.hypotheses
