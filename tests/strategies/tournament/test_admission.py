"""What cannot be a tournament is said in one sentence before any work, and what it would cost at most."""

from __future__ import annotations

import pytest
from tournament_room import AIMS, Simulated, cast_of, played

from engine.domain.discovery.hypotheses import Aims, AssertedLink, Bounds
from engine.errors import UserError
from engine.strategies.tournament.admission import admitted, expected

CAST = cast_of(Simulated())
BAD: list[tuple[dict[str, object], str]] = [
    ({"goal": "   "}, "needs a goal"),
    ({"goal": "cancer"}, "is a word and no goal"),
    ({"goal": "a " * 3000}, "at most 5,000"),
    ({"constraints": ["use mice", "do not use mice"]}, "contradict each other"),
    ({"constraints": ["Avoid animal models", "must use animal models"]}, "contradict each other"),
    ({"seeds": ["One hypothesis is this"] * 1 + [f"Gene G{n} acts" for n in range(500)]}, "501 hypotheses"),
    ({"seeds": ["word " * 20_000]}, "99,999 signs; at most 4,000"),
    ({"seeds": ["p53"]}, "is no hypothesis"),
    ({"literature": ["x" * 2_000_001]}, "more than 2,000,000 signs"),
]


@pytest.mark.parametrize(("change", "why"), BAD)
def test_bad_aims_are_refused(change: dict[str, object], why: str) -> None:
    with pytest.raises(UserError, match=why):
        admitted(AIMS.model_copy(update=change), CAST)


@pytest.mark.parametrize(
    "constraints",
    [["use mice", "no human cells"], ["no mice", "without mice"], ["use mice", "use mice"], ["not", "no"]],
)
def test_constraints_that_agree_are_taken(constraints: list[str]) -> None:
    assert admitted(AIMS.model_copy(update={"constraints": constraints}), CAST).constraints


def test_blanks_and_repeats_are_taken_out() -> None:
    aims = Aims(goal=" why  is\nit ", seeds=["A is B", "A is B ", " "], attributes=["", "new"])
    found = admitted(aims, CAST)
    assert (found.goal, found.seeds, found.attributes) == ("why is it", ["A is B"], ["new"])


def test_without_makers_and_hypotheses_there_is_nothing_to_do() -> None:
    with pytest.raises(UserError, match="nothing that could make hypotheses"):
        admitted(AIMS, cast_of(Simulated(), makers=[]))
    assert admitted(AIMS.model_copy(update={"seeds": ["A is B"]}), cast_of(Simulated(), makers=[])).seeds == ["A is B"]


def test_what_asks_for_harm_is_refused_in_goal_seed_and_what_makers_give() -> None:
    def refuses(text: str) -> str:
        return "Biodesk does not help with that." if "worth" in text or "harm" in text else ""

    cast = cast_of(Simulated(), refuses=refuses)
    for change in ({"goal": "do harm to all"}, {"seeds": ["this does harm"]}):
        with pytest.raises(UserError, match="does not help with that"):
            admitted(AIMS.model_copy(update=change), cast)
    state = played(cast).ledger.state
    assert (state.status, state.stopped_by) == (
        "failed", "No hypothesis could be made. Biodesk does not help with that.",
    )  # fmt: skip


@pytest.mark.parametrize("hypotheses", [2, 5, 6, 9])
@pytest.mark.parametrize("iterations", [0, 2])
def test_no_tournament_takes_more_calls_than_was_said(hypotheses: int, iterations: int) -> None:
    roles = Simulated(method="graph")
    bounds = Bounds(hypotheses=hypotheses, iterations=iterations, evolve=2, concurrency=1)
    said = expected(AIMS, bounds, cast_of(roles))
    calls = played(cast_of(roles), bounds).ledger.state.calls
    assert calls <= said.total
    assert calls >= said.total - said.ranking


def test_what_models_are_asked_beside_the_roles_is_said_before_the_start() -> None:
    read: list[str] = []

    def reads(text: str) -> str:
        read.append(text)
        return ""

    def asserted(text: str) -> list[AssertedLink]:
        read.append(f"claims of {text}")
        return []

    roles = Simulated(method="graph")
    cast = cast_of(roles, refuses=reads, asserted=asserted, spent=lambda _: (len(roles.calls) + len(set(read)), 0.0))
    aims = AIMS.model_copy(update={"seeds": ["Hypoxia is worth 1", "Insulin is worth 2"]})
    bounds = Bounds(hypotheses=4, iterations=2, evolve=2, concurrency=1)
    said = expected(admitted(aims, cast), bounds, cast)
    calls = played(cast, bounds, aims=aims).ledger.state.calls
    assert said.total - said.ranking <= calls <= said.total
    assert len(set(read)) == said.checks
