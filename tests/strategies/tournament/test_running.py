"""Tournaments of a workspace: in the background, watched and changed by people, stopped and gone on with."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from tournament_room import AIMS, CountedClock, Simulated, cast_of, idea

from engine.domain.discovery.hypotheses import Aims, Bounds
from engine.domain.events import EngineEvent
from engine.errors import EngineError, NotFoundError, UserError
from engine.runs.queue import RunQueue
from engine.strategies.tournament.running import Tournaments
from storage.hypotheses.twin import HypothesesTwin

BOUNDS = Bounds(hypotheses=4, iterations=0, concurrency=1)


class Counted:
    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def new(self, prefix: str) -> str:
        return f"{prefix}_{next(self._numbers)}"


class Held(Simulated):
    """A judge that waits until it is let go on."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.go_on = threading.Event(), threading.Event()

    def judge(self, *given: Any) -> Any:
        self.asked.set()
        assert self.go_on.wait(10)
        return super().judge(*given)


class Room:
    """Tournaments with what they told."""

    def __init__(self, roles: Simulated) -> None:
        self.told: list[EngineEvent] = []
        self.store = HypothesesTwin()
        self.queue = RunQueue(workers=1, size=3)
        self.all = self.again(roles)

    def again(self, roles: Simulated) -> Tournaments:
        def cast(*_: object) -> Any:
            return cast_of(roles, evolver=None)

        return Tournaments(self.store, cast, CountedClock(), Counted(), self.told.append, self.queue, "ann")


@pytest.fixture
def room(request: pytest.FixtureRequest) -> Iterator[Room]:
    made = Room(getattr(request, "param", Simulated)())
    yield made
    made.queue.close()


def test_it_runs_in_the_background_to_its_end(room: Room) -> None:
    found = room.all.run(AIMS, BOUNDS)
    assert room.all.wait(found, 10).status == "finished"
    view = room.all.show(found)
    assert len(view.standings) == 4
    assert view.says
    kinds = [event.kind for event in room.told]
    assert (kinds[0], kinds[-1]) == ("run_queued", "run_finished")
    assert {event.run_id for event in room.told} == {found}
    assert [one.id for one in room.all.list()] == [found]


@pytest.mark.parametrize("room", [Held], indirect=True)
@pytest.mark.parametrize("stop", ["pause", "cancel"])
def test_it_is_stopped_and_gone_on_with(room: Room, stop: str) -> None:
    roles = Held()
    room.all = room.again(roles)
    found = room.all.run(AIMS, BOUNDS)
    assert roles.asked.wait(10)
    with pytest.raises(UserError, match="nothing to resume"):
        room.all.resume(found)
    getattr(room.all, stop)(found)
    roles.go_on.set()
    assert room.all.wait(found, 10).status == {"pause": "paused", "cancel": "cancelled"}[stop]
    assert len(room.all.show(found).matches) == 1
    with pytest.raises(UserError, match="is not going on"):
        room.all.pause(found)
    room.all.resume(found)
    assert room.all.wait(found, 10).status == "finished"
    assert len(roles.calls) == len(set(roles.calls)) == room.all.state(found).calls


def test_what_a_killed_process_left_is_paused_at_the_next_opening(room: Room) -> None:
    found = room.all.run(AIMS, BOUNDS)
    room.all.wait(found, 10)
    state = room.all.state(found)
    room.store.keep(state.model_copy(update={"status": "running"}))
    room.all.mark_left()
    assert room.all.state(found).status == "paused"
    assert "Biodesk stopped" in room.all.state(found).stopped_by


def test_more_can_be_compared_after_its_end(room: Room) -> None:
    found = room.all.run(AIMS, BOUNDS.model_copy(update={"stop_at": 1.0}))
    room.all.wait(found, 10)
    assert len(room.all.show(found).matches) == 12
    room.all.add(found, "My own idea is worth 9")
    room.all.resume(found, bounds={"matches_each": 4})
    room.all.wait(found, 10)
    view = room.all.show(found)
    assert len(view.matches) == 20
    assert view.hypotheses[-1].id == view.standings[0].hypothesis
    assert {one.hypothesis for one in view.reviews} >= {view.hypotheses[-1].id}
    with pytest.raises(UserError, match="bounds do not fit"):
        room.all.resume(found, bounds={"stop_at": 7})


def test_people_vote_pin_veto_and_merge_by_the_beginning_of_an_id(room: Room) -> None:
    found = room.all.run(AIMS, BOUNDS)
    room.all.wait(found, 10)
    best, second, third, _ = (one.hypothesis for one in room.all.show(found).standings)
    room.all.veto(found, best[:6])
    assert room.all.show(found).standings[-1].hypothesis == best
    room.all.veto(found, best, on=False)
    room.all.merge(found, third, second)
    assert len(room.all.show(found).standings) == 3
    room.all.merge(found, third, "")
    room.all.pin(found, third)
    room.all.vote(found, third, -1)
    assert [(m.kind, m.by) for m in room.all.show(found).marks[-2:]] == [("pin", "ann"), ("vote", "ann")]
    for act, why in (
        (lambda: room.all.vote(found, best, 3), "1, -1 or 0"),
        (lambda: room.all.vote(found, "h"), "More than one"),
        (lambda: room.all.vote(found, "zzz"), "There is no hypothesis 'zzz'"),
        (lambda: room.all.vote(found, ""), "There is no hypothesis"),
        (lambda: room.all.merge(found, best, best), "into itself"),
        (lambda: room.all.add(found, "x"), "is no hypothesis"),
        (lambda: room.all.add(found, room.all.show(found).hypotheses[0].text), "says that already"),
        (lambda: room.all.test(found, best, 0), "has no prediction 1"),
    ):
        with pytest.raises(UserError, match=why):
            act()


def test_nobody_reaches_the_tournament_of_another(room: Room) -> None:
    found = room.all.run(AIMS, BOUNDS)
    room.all.wait(found, 10)
    name = room.all.show(found).hypotheses[0].id
    assert room.all.list(user="bob") == []
    for act in (
        lambda: room.all.show(found, user="bob"), lambda: room.all.vote(found, name, user="bob"),
        lambda: room.all.add(found, "This is mine", user="bob"), lambda: room.all.resume(found, user="bob"),
        lambda: room.all.cancel(found, user="bob"), lambda: room.all.show("tournament_99"),
    ):  # fmt: skip
        with pytest.raises(NotFoundError):
            act()


def test_whatever_a_model_is_asked_counts_for_the_tournament_it_is_for(room: Room) -> None:
    asked: list[str] = []

    def cast(tournament_id: str, _: object) -> Any:
        def refuses(text: str) -> str:
            asked.append(tournament_id)
            return ""

        return cast_of(Simulated(), evolver=None, refuses=refuses, spent=lambda _: (asked.count(tournament_id), 0.0))

    room.all.cast_of = cast
    found = room.all.run(AIMS, BOUNDS)
    room.all.wait(found, 10)
    assert set(asked) == {found}
    assert room.all.state(found).calls == len(asked) == 5  # the goal, and what was made
    room.all.add(found, "My own idea is worth 9")
    assert room.all.state(found).calls == len(asked) == 6


def test_what_goes_wrong_outside_a_role_ends_in_the_state(room: Room) -> None:
    for failure, status in ((EngineError("No room."), "paused"), (ValueError("odd"), "failed")):

        def cast(_: str, cancel: object, failure: Exception = failure) -> Any:
            if cancel is not None:  # at work, not at its admission
                raise failure
            return cast_of(Simulated())

        room.all.cast_of = cast
        found = room.all.run(Aims(goal="one more goal"), BOUNDS)
        state = room.all.wait(found, 10)
        assert (state.status, str(failure) in state.stopped_by) == (status, True)
        assert room.told[-1].kind == "error"


def test_ideas_are_shown_in_order_of_what_is_expected(room: Room) -> None:
    said = room.all.expected(AIMS, BOUNDS)
    assert said.total == said.making + said.review + said.ranking + said.meta_review + said.evolution + 1
    assert idea("x y").text == "x y"
