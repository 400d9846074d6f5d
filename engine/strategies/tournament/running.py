"""Tournaments of a workspace: begun, watched, changed while they run, stopped, gone on with."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from engine.domain.discovery.hypotheses import Aims, Bounds, Hypothesis, Mark, Tournament, TournamentView
from engine.domain.events import EngineEvent, ErrorRaised, RunFinished, RunInterrupted, RunQueued
from engine.domain.plan import TaskDag
from engine.domain.results import RunStatus, Usage
from engine.errors import EngineError, LimitExceeded, NotFoundError, UserError
from engine.ports.cancel import CancelToken
from engine.ports.hypotheses import HypothesisStore
from engine.ports.system import Clock, IdSource
from engine.runs.queue import RunQueue
from engine.strategies.tournament.admission import CallsExpected, admitted, expected, require_hypothesis
from engine.strategies.tournament.asking import RoundTable
from engine.strategies.tournament.cast import Cast
from engine.strategies.tournament.ledger import Ledger
from engine.strategies.tournament.loop import play
from engine.strategies.tournament.saying import leading, sentences
from engine.strategies.tournament.stages.making import own
from engine.strategies.tournament.stages.testing import open_tests, plan_of, run_test
from engine.strategies.tournament.standings import rated, standings

CastOf = Callable[[str, CancelToken | None], Cast]
"""Tournament's id and what says that it is to stop -> its roles; "" where none runs yet."""
_ENDS: dict[str, RunStatus] = {"finished": "succeeded", "failed": "failed", "cancelled": "cancelled"}
_log = logging.getLogger(__name__)


def complete(view: TournamentView) -> TournamentView:
    """Return a view with its standings and what can be said of them."""
    known = rated(view)
    order = standings(view, known)
    told = {"answer": leading(view, order), "says": sentences(view, order, known)}
    return view.model_copy(update={"standings": order, **told})


@dataclass(slots=True)
class Tournaments:
    """All tournaments. Methods may be called from any thread; a user reaches only his own."""

    store: HypothesisStore
    cast_of: CastOf
    clock: Clock
    ids: IdSource
    emit: Callable[[EngineEvent], object]
    queue: RunQueue
    user: str = ""
    """Whose they are unless told otherwise."""
    _wishes: dict[str, str] = field(default_factory=dict, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    # ==== begun and ended ====

    def expected(self, aims: Aims, bounds: Bounds | None = None) -> CallsExpected:
        """Return about how many calls a tournament would take at most.

        Raises:
            UserError: when it could not be begun.
        """
        cast = self.cast_of("", None)
        return expected(admitted(aims, cast), bounds or Bounds(), cast)

    def run(self, aims: Aims, bounds: Bounds | None = None, *, user: str = "") -> str:
        """Begin a tournament in the background and return its id.

        Raises:
            UserError: when nothing can be made of the aims.
            LimitExceeded: when too many wait already.
        """
        new = self.ids.new("tournament")
        aims = admitted(aims, self.cast_of(new, None))  # what a model is asked about the goal counts for it
        now = self.clock.now()
        made = Tournament(
            id=new,
            user=user or self.user,
            aims=aims,
            bounds=bounds or Bounds(),
            status="queued",
            created_at=now,
            updated_at=now,
        )
        self.store.keep(made)
        self._begin(made)
        return made.id

    def resume(self, tournament_id: str, *, user: str = "", bounds: dict[str, Any] | None = None) -> None:
        """Go on with a tournament that was stopped, or with one that is over and has more to compare now.

        Args:
            tournament_id: which.
            user: whose.
            bounds: names of `Bounds` -> new values, for a budget that was spent.

        Raises:
            NotFoundError: when there is none.
            UserError: when it is going on, or a bound does not fit.
        """
        state = self.state(tournament_id, user=user)
        if tournament_id in self.queue.active():
            raise UserError(f"Tournament {tournament_id} is going on; there is nothing to resume.")
        try:
            known = Bounds.model_validate({**state.bounds.model_dump(), **(bounds or {})})
        except ValidationError as err:
            raise UserError(f"The new bounds do not fit: {err.errors(include_url=False)[0]['msg']}.") from err
        state = state.model_copy(update={"status": "queued", "stopped_by": "", "bounds": known})
        self.store.keep(state)
        self._begin(state)

    def pause(self, tournament_id: str, *, user: str = "") -> None:
        """Let what was begun come to its end and stop; `resume` goes on."""
        self._stop(tournament_id, "paused", user)

    def cancel(self, tournament_id: str, *, user: str = "") -> None:
        """Stop for good; what was found so far is kept."""
        self._stop(tournament_id, "cancelled", user)

    def wait(self, tournament_id: str, timeout: float | None = None) -> Tournament:
        """Wait until nobody works on it, or the seconds are over; return how far it is."""
        self.queue.wait(tournament_id, timeout)
        return self.state(tournament_id, user=None)

    def active(self) -> list[str]:
        """Return the tournaments that wait or are going on."""
        return self.queue.active()

    def mark_left(self) -> None:
        """Mark what a killed process left as paused; called once, at the opening."""
        for state in self.store.tournaments():
            if state.status in ("queued", "running"):
                why = "Biodesk stopped while this went on; what was found is kept."
                self.store.keep(state.model_copy(update={"status": "paused", "stopped_by": why}))

    def close(self) -> None:
        """Pause what goes on."""
        self.queue.close()

    # ==== looked at ====

    def state(self, tournament_id: str, *, user: str | None = "") -> Tournament:
        """Return how far a tournament is; of any user for None.

        Raises:
            NotFoundError: when this user has none of this id.
        """
        found = self.store.tournament(tournament_id, None if user is None else user or self.user)
        if found is None:
            raise NotFoundError(
                f"There is no tournament {tournament_id[:60]!r}.",
                advice="`biodesk hypotheses list` names those there are.",
            )
        return found

    def list(self, *, user: str = "") -> Sequence[Tournament]:
        """Return a user's tournaments, newest first."""
        return self.store.tournaments(user or self.user)

    def show(self, tournament_id: str, *, user: str = "") -> TournamentView:
        """Return everything of a tournament, with its standings as they are now."""
        return complete(self._ledger(self.state(tournament_id, user=user)).view())

    # ==== changed by people ====

    def vote(self, tournament_id: str, hypothesis: str, value: int = 1, *, user: str = "") -> None:
        """Vote for (1) or against (-1) a hypothesis; 0 takes the vote back. It counts as one comparison."""
        if value not in (-1, 0, 1):
            raise UserError(f"A vote is 1, -1 or 0, not {value}.")
        self._mark(tournament_id, hypothesis, user, kind="vote", value=value)

    def pin(self, tournament_id: str, hypothesis: str, *, on: bool = True, user: str = "") -> None:
        """Keep a hypothesis among those that are rewritten and never merge it; or no longer."""
        self._mark(tournament_id, hypothesis, user, kind="pin", value=int(on))

    def veto(self, tournament_id: str, hypothesis: str, *, on: bool = True, user: str = "") -> None:
        """Take a hypothesis out of the competition; or let it compete again."""
        self._mark(tournament_id, hypothesis, user, kind="veto", value=int(on))

    def merge(self, tournament_id: str, hypothesis: str, into: str, *, user: str = "") -> None:
        """Let a hypothesis count for another that says the same; `into` empty takes that back."""
        other = self._one(tournament_id, into, user).id if into else ""
        if other == self._one(tournament_id, hypothesis, user).id:
            raise UserError("A hypothesis cannot be merged into itself.")
        self._mark(tournament_id, hypothesis, user, kind="merge", into=other)

    def add(self, tournament_id: str, text: str, *, user: str = "") -> Hypothesis:
        """Let a hypothesis of a person compete; in a tournament that is over it is compared after `resume`.

        Raises:
            UserError: when it is no sentence, too long, or there already.
        """
        state = self.state(tournament_id, user=user)
        cast = self.cast_of(state.id, None)
        made = own(require_hypothesis(text, cast), cast, by=state.user, at=self.clock.now(), round_=state.round)
        if not self.store.add(state.id, state.user, [made]):
            raise UserError(f"{made.id} says that already, word for word.")
        if state.id not in self.queue.active():  # else it counts with what is kept next
            self._ledger(self.state(state.id, user=user), cast).keep()
        return made

    # ==== tests ====

    def tests(self, tournament_id: str, *, user: str = "") -> Sequence[tuple[str, int, TaskDag | None]]:
        """Return hypothesis, place of the prediction and plan of each test that waits; None where there is no plan."""
        table = self._table(self.state(tournament_id, user=user))
        return [(one.id, number, plan_of(table, one, number)) for one, number in open_tests(table.ledger.view())]

    def test(self, tournament_id: str, hypothesis: str, prediction: int, *, user: str = "") -> TournamentView:
        """Run the test of a prediction now and return the tournament with what came of it.

        Raises:
            UserError: when there is no such prediction, or it was tested already.
        """
        state = self.state(tournament_id, user=user)
        table = self._table(state)
        known = self._one(tournament_id, hypothesis, user).id
        waiting = {(one.id, number): one for one, number in open_tests(table.ledger.view())}
        if (known, prediction) not in waiting:
            raise UserError(
                f"{known} has no prediction {prediction + 1} that waits for a test.",
                advice="`biodesk hypotheses show` lists the predictions.",
            )
        run_test(table, waiting[known, prediction], prediction)
        return self.show(tournament_id, user=user)

    # ==== inside ====

    def _ledger(self, state: Tournament, cast: Cast | None = None) -> Ledger:
        return Ledger(self.store, state, self.clock, self.emit, cast.spent if cast else None)

    def _table(self, state: Tournament) -> RoundTable:
        cast = self.cast_of(state.id, None)
        return RoundTable(self._ledger(state, cast), cast, lambda: "")

    def _begin(self, state: Tournament) -> None:
        with self._lock:
            self._wishes.pop(state.id, None)
        self.emit(RunQueued(run_id=state.id, question=state.aims.goal, position=len(self.queue.active())))
        try:
            self.queue.submit(state.id, lambda cancel: self._work(state, cancel))
        except LimitExceeded as err:
            self.store.keep(state.model_copy(update={"status": "paused", "stopped_by": err.message}))
            raise

    def _work(self, state: Tournament, cancel: CancelToken) -> None:
        """Play; the border where whatever goes wrong becomes the tournament's state."""

        def wish() -> str:
            return self._wishes.get(state.id, "paused") if cancel.cancelled else ""

        ledger: Ledger | None = None
        try:
            cast = self.cast_of(state.id, cancel)
            ledger = self._ledger(state, cast)
            play(RoundTable(ledger, cast, wish))
            self._tell_end(ledger.state)
        except Exception as err:  # noqa: BLE001 - a border: a tournament must come to an end whatever happened
            ours = isinstance(err, EngineError)
            message = err.message if isinstance(err, EngineError) else f"Biodesk failed ({type(err).__name__}: {err})."
            if not ours:
                _log.exception("Tournament %s failed", state.id)
            last = ledger.state if ledger is not None else state
            # What was kept stays, and can be gone on with once the reason is gone.
            self.store.keep(last.model_copy(update={"status": "paused" if ours else "failed", "stopped_by": message}))
            self.emit(
                ErrorRaised(run_id=state.id, code=err.code if isinstance(err, EngineError) else "", message=message)
            )

    def _tell_end(self, state: Tournament) -> None:
        if state.status in _ENDS:
            usage = Usage(model_calls=state.calls, usd=state.usd)
            self.emit(RunFinished(run_id=state.id, status=_ENDS[state.status], usage=usage))
        else:
            self.emit(RunInterrupted(run_id=state.id, message=state.stopped_by))

    def _stop(self, tournament_id: str, wish: str, user: str) -> None:
        state = self.state(tournament_id, user=user)
        with self._lock:
            self._wishes[state.id] = wish
        if not self.queue.cancel(state.id):
            raise UserError(f"Tournament {state.id} is not going on ({state.status}).")

    def _one(self, tournament_id: str, hypothesis: str, user: str) -> Hypothesis:
        """Return a hypothesis by its id or the beginning of it that no other has."""
        view = self._ledger(self.state(tournament_id, user=user)).view()
        found = [one for one in view.hypotheses if hypothesis and one.id.startswith(hypothesis)]
        exact = [one for one in found if one.id == hypothesis]
        if len(exact or found) != 1:
            what = "There is no hypothesis" if not found else "More than one hypothesis begins with"
            raise NotFoundError(f"{what} {hypothesis[:40]!r} in tournament {tournament_id}.")
        return (exact or found)[0]

    def _mark(self, tournament_id: str, hypothesis: str, user: str, **what: Any) -> None:
        one = self._one(tournament_id, hypothesis, user)
        by = user or self.user
        self.store.add(tournament_id, by, [Mark(hypothesis=one.id, by=by, at=self.clock.now(), **what)])
