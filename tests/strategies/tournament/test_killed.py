"""A process that is killed with SIGKILL in the midst of a tournament, and the one that goes on after it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tournament_room import Simulated, cast_of, played, table_of

from engine.domain.discovery.hypotheses import Bounds
from engine.strategies.tournament.loop import play
from engine.strategies.tournament.running import complete
from storage.database import Database
from storage.hypotheses.store import DuckHypotheses

BOUNDS = Bounds(hypotheses=5, iterations=1, evolve=2, concurrency=1, stop_at=1.0)


class Logged(Simulated):
    """Writes each call to a file before it is answered, and at one of them kills its own process."""

    def __init__(self, log: Path, kill_at: int = 0) -> None:
        super().__init__(calls=log.read_text().splitlines() if log.exists() else [])
        self.log, self.last = log, kill_at

    def count(self, what: str) -> None:
        if self.last and len(self.calls) >= self.last:
            os.kill(os.getpid(), signal.SIGKILL)
        super().count(what)
        with self.log.open("a") as file:
            file.write(f"{what}\n")


def main(folder: Path, kill_at: int) -> None:
    """Play until killed."""
    store = DuckHypotheses(Database(folder / "b.duckdb"))
    played(cast_of(Logged(folder / "calls", kill_at)), BOUNDS, store=store)


@pytest.mark.parametrize("kills", [(2, 9, 17), (6, 26)])
def test_no_call_is_repeated_and_the_standings_are_the_same(kills: tuple[int, ...], tmp_path: Path) -> None:
    whole = Simulated()
    expected = complete(played(cast_of(whole), BOUNDS).ledger.view())
    for kill_at in kills:
        path = os.pathsep.join([str(Path(__file__).parents[3]), str(Path(__file__).parents[2])])
        given = [sys.executable, __file__, str(tmp_path), str(kill_at)]
        ended = subprocess.run(given, env={**os.environ, "PYTHONPATH": path}, timeout=120, check=False)
        assert ended.returncode == -signal.SIGKILL
    database = Database(tmp_path / "b.duckdb")
    roles = Logged(tmp_path / "calls")
    table = table_of(cast_of(roles), BOUNDS, store=DuckHypotheses(database))
    play(table)
    assert (tmp_path / "calls").read_text().splitlines() == whole.calls
    assert table.ledger.state.calls == len(whole.calls)
    assert complete(table.ledger.view()).standings == expected.standings
    database.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
