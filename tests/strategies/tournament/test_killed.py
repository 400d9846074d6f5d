"""A process that is killed in the midst of a tournament, and the one that goes on after it: also within a role."""

from __future__ import annotations

import hashlib
import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from bridges_graph import made_knowledge
from model_room import scripted
from tournament_room import Killed, Simulated, cast_of, idea, played, table_of

from engine.adapters.fakes import ScriptedModel
from engine.agents.by_models import ByModels
from engine.domain.discovery.hypotheses import CRITERIA, Aims, Bounds
from engine.knowledge.service import KnowledgeBase
from engine.models.scope import Scope
from engine.ports.models.chat import ChatMessage
from engine.strategies.tournament.asking import RoundTable
from engine.strategies.tournament.by_models.role_set import roles_by_models
from engine.strategies.tournament.loop import play
from engine.strategies.tournament.roles import Drafted, ItemFailed
from engine.strategies.tournament.running import complete
from storage.database import Database
from storage.hypotheses.store import DuckHypotheses
from storage.hypotheses.twin import HypothesesTwin
from storage.models.twin import ModelCallsTwin

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


@pytest.mark.parametrize("kills", [(2, 9, 17), pytest.param((6, 26), marks=pytest.mark.slow)])
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


class Scanty(Simulated):
    """Makes nothing at some askings, so that later passes make up for it, and keeps what it was told with each."""

    def make(self, aims, guidance, count, seed):
        made: list[Drafted | ItemFailed] = []
        for number in range(count):
            self.count(f"make {self.method} {seed} {number} {guidance.avoid}")
            same = f"Idea number {self.method} {(seed + number) % 3} is worth {(seed % 7) / 7:.3f}"
            missing = ItemFailed("Nothing comes to mind.", details={"calls": 1})
            made.append(missing if (seed + number) % 4 == 1 else Drafted(hypothesis=idea(same, self.method), calls=1))
        return made

    def evolve(self, aims, guidance, parents, how, seed):
        self.count(f"evolve {how} {seed} {[one.id for one in parents]} {guidance.avoid}")
        return Drafted(hypothesis=idea(f"Gene G{seed} changes {how} and is worth 0.5", "evolved"), calls=1)


SCANTY_BOUNDS = Bounds(hypotheses=9, iterations=2, evolve=3, concurrency=1, stop_at=1.0, matches_each=1)


def scanty(calls: Sequence[str] = (), kill_at: int = 0) -> tuple[Scanty, Any]:
    roles = Scanty(calls=list(calls), kill_at=kill_at)
    other = Scanty(calls=roles.calls, kill_at=kill_at, method="literature")
    return roles, cast_of(roles, makers=[roles, other])


@pytest.fixture(scope="module")
def whole() -> list[str]:
    """Return the calls of a tournament of scanty makers that nobody stops."""
    roles, cast = scanty()
    played(cast, SCANTY_BOUNDS)
    assert any(call.startswith("make literature 2") for call in roles.calls)
    return roles.calls


@pytest.mark.parametrize("draw", range(12))
def test_later_passes_and_rewritings_are_asked_as_without_a_kill(draw: int, whole: list[str]) -> None:
    store, calls, random_ = HypothesesTwin(), list[str](), random.Random(draw)
    for kill_at in sorted(random_.sample(range(1, len(whole)), 3)):
        roles, cast = scanty(calls, kill_at)
        with pytest.raises(Killed):
            played(cast, SCANTY_BOUNDS, store=store)
        calls = roles.calls
    roles, cast = scanty(calls)
    played(cast, SCANTY_BOUNDS, store=store)
    assert roles.calls == whole


GOAL = Aims(goal="find drugs for psoriasis", seeds=["Aspirin could perhaps also help in psoriasis."])
MODEL_BOUNDS = Bounds(hypotheses=6, iterations=1, evolve=3, debate_turns=3, concurrency=1, stop_at=1.0, matches_each=1)


class Script:
    """What a model answers to each question: always the same, and now and then what is there already."""

    def __init__(self, kill_at: int = 0) -> None:
        self.answered: list[str] = []
        self.kill_at = kill_at

    def __call__(self, messages: Sequence[ChatMessage]) -> Any:
        if self.kill_at and len(self.answered) >= self.kill_at:
            raise Killed
        system, user = messages[0].content, messages[1].content
        self.answered.append(f"{system}\n{user}")
        drawn = int(hashlib.sha256(user.encode()).hexdigest()[:8], 16)
        return next(answer for start, answer in self._answers(user, drawn) if system.startswith(start))

    def _answers(self, user: str, drawn: int) -> list[tuple[str, Any]]:
        one = {
            "text": "Metformin helps by KRT16." if drawn % 2 else f"Idea {drawn} is that drug D{drawn} helps.",
            "predictions": [{"says": "Less.", "contradicted_by": "As much."}],
        }
        scores = {name: {"score": 1 + drawn % 10} for name in CRITERIA}
        count = max(map(int, re.findall(r"^Number (\d+):", user, re.MULTILINE)), default=0)
        lessons = dict.fromkeys(("strengths", "weaknesses", "recurring_themes", "gaps", "recommendations"), ("Well.",))
        return [
            ("You plan", {"plan": "This, then that."}),
            ("You write hypotheses", {"hypotheses": [one]}),
            ("You make a new", {**one, "text": f"Rewritten {drawn} is new."}),
            ("You review", {"reviews": [{"number": n, **scores} for n in range(1, count + 1)]}),
            ("You compare", {"winner": "first", "chance": 0.6 + drawn % 3 / 10, "reason": "It is."}),
            ("You decide whether", {"harmful": False}),
            ("You read what", {"claims": []}),
            ("You read all", {"summary": "So far.", **lessons}),
            ("You gather", {"tool": "statements_of" if drawn % 2 else "", "first": "psoriasis"}),
            ("", {"text": f"I say {drawn}."}),
        ]


def by_script(
    script: Script, knowledge: KnowledgeBase, hypotheses: HypothesesTwin, calls: ModelCallsTwin
) -> RoundTable:
    """Play a tournament with every role asked of a scripted model, through the layer that counts and keeps answers."""
    models = scripted(ScriptedModel([script] * 1_000), store=calls)
    made = roles_by_models(
        ByModels(models, lambda _: Scope(run_id="t1", user="ann")), knowledge, run_id="t1",
        turns=MODEL_BOUNDS.debate_turns,
    )  # fmt: skip
    roles = made.roles
    cast = cast_of(
        Simulated(), judge=roles.judge, reviewer=roles.reviewer, makers=roles.makers, evolver=roles.evolver,
        meta_reviewer=roles.meta_reviewer, supervisor=roles.supervisor, refuses=made.refuses, asserted=made.asserted,
        spent=lambda _: (models.totals("t1").calls, models.totals("t1").usd),
    )  # fmt: skip
    return played(cast, MODEL_BOUNDS, aims=GOAL, store=hypotheses)


@pytest.fixture(scope="module")
def knowledge(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return made_knowledge(tmp_path_factory.mktemp("graph"))


@pytest.fixture(scope="module")
def unkilled(knowledge: KnowledgeBase) -> list[str]:
    """Return the questions of a tournament that nobody stops."""
    script = Script()
    table = by_script(script, knowledge, HypothesesTwin(), ModelCallsTwin())
    assert table.ledger.state.status == "finished"
    assert table.ledger.state.calls == len(script.answered)  # all that was asked is told: claims and harm, too
    assert {kind for kind in ("You read what", "You decide whether") if any(kind in q for q in script.answered)} == {
        "You read what", "You decide whether"
    }  # fmt: skip
    assert any(one.missing and one.number for one in table.ledger.view().passes)
    return script.answered


@pytest.mark.parametrize("draw", range(5))
def test_killed_at_any_question_a_model_is_asked_the_same_none_twice_and_none_missing(
    draw: int, knowledge: KnowledgeBase, unkilled: list[str]
) -> None:
    hypotheses, calls, answered = HypothesesTwin(), ModelCallsTwin(), list[str]()
    whole, random_ = len(unkilled), random.Random(draw)
    for at in sorted(random_.sample(range(1, whole), 3)):
        script = Script(kill_at=at - len(answered))
        with pytest.raises(Killed):
            by_script(script, knowledge, hypotheses, calls)
        answered += script.answered
    script = Script()
    table = by_script(script, knowledge, hypotheses, calls)
    answered += script.answered
    assert sorted(answered) == sorted(unkilled)
    assert len(set(answered)) == len(answered)
    assert table.ledger.state.calls == whole + 3  # each kill left a question that had reached the model unanswered


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
