"""Calls about tournaments of hypotheses."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from engine.api.calls import Calls, passed_on
from engine.domain.discovery.hypotheses import Standing
from engine.domain.events import EngineEvent
from engine.errors import UserError
from engine.strategies.tournament.exporting import FORMS
from engine.strategies.tournament.history import over_comparisons
from engine.strategies.tournament.running import Tournaments

_ALL = "tournaments"


class HypothesesCalls(Calls):
    """The tournaments of a workspace; a user reaches only his own."""

    expected = passed_on(Tournaments.expected, _ALL)
    run = passed_on(Tournaments.run, _ALL)
    resume = passed_on(Tournaments.resume, _ALL)
    pause = passed_on(Tournaments.pause, _ALL)
    cancel = passed_on(Tournaments.cancel, _ALL)
    wait = passed_on(Tournaments.wait, _ALL)
    active = passed_on(Tournaments.active, _ALL)
    state = passed_on(Tournaments.state, _ALL)
    list = passed_on(Tournaments.list, _ALL)
    show = passed_on(Tournaments.show, _ALL)
    vote = passed_on(Tournaments.vote, _ALL)
    pin = passed_on(Tournaments.pin, _ALL)
    veto = passed_on(Tournaments.veto, _ALL)
    merge = passed_on(Tournaments.merge, _ALL)
    add = passed_on(Tournaments.add, _ALL)
    tests = passed_on(Tournaments.tests, _ALL)
    test = passed_on(Tournaments.test, _ALL)

    def events(self, tournament_id: str, *, after: int = 0, user: str = "") -> Sequence[EngineEvent]:
        """Return a tournament's events with `seq` greater than `after`."""
        self.state(tournament_id, user=user)
        return self._parts.records.store.events(tournament_id, after=after)

    def history(self, tournament_id: str, *, user: str = "") -> Sequence[tuple[int, Sequence[Standing]]]:
        """Return how the standings moved: number of comparisons and the standings then."""
        return over_comparisons(self.show(tournament_id, user=user))

    def document(self, tournament_id: str, form: str = "md", *, user: str = "") -> str:
        """Return a tournament as a text: `md`, `json` or `aims`, a page of specific aims.

        Raises:
            UserError: for another form.
        """
        if form not in FORMS:
            raise UserError(f"A tournament has no form {form!r}.", advice=f"There are: {', '.join(FORMS)}.")
        return FORMS[form](self.show(tournament_id, user=user))

    def export(self, tournament_id: str, path: Path | str, form: str = "md", *, user: str = "") -> Path:
        """Write a tournament as a file and return it; see `document`."""
        path = Path(path).expanduser()
        path.write_text(self.document(tournament_id, form, user=user), encoding="utf-8")
        return path
