"""A kill while a run comes to its end: its report, its memory and the word that it is over are all there afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from growth_data import table_plan

ROOT = Path(__file__).parents[2]
PATIENCE = 240.0
"""Seconds to wait for what should take a few: only something that hangs takes this long."""

PROGRAM = """
import os, signal, sys
from pathlib import Path

moment, workspace, table = sys.argv[1:]

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

def then_die(owner, name, when=lambda *_: True):
    real = getattr(owner, name)
    def done(self, *args, **more):
        made = real(self, *args, **more)
        if when(*args):
            die()
        return made
    setattr(owner, name, done)

import engine.steps.remember as remember
import engine.steps.ending as ending
from engine.domain.results import FINAL
from storage.runs.store import DuckRunStore

if moment == "as the report is written":
    ending.synthesize = die
elif moment == "as the run is learned from":
    remember.learn_run = die
elif moment == "when all is remembered":
    then_die(remember.Remembering, "remember")
elif moment == "before it is said to be over":
    then_die(DuckRunStore, "update_run", lambda run, *_: run.status in FINAL)

from engine.api import open_engine
from growth_data import table_plan

engine = open_engine(workspace=Path(workspace), warm_workers=False, embedding_model="none")
plan = table_plan(Path(table))
run_id = engine.run_plan(plan.model_copy(update={"nodes": plan.nodes[3:]}))
engine.wait(run_id)
sys.exit(7)
"""
MOMENTS = ["as the report is written", "as the run is learned from", "when all is remembered"]
LAST = "before it is said to be over"


def killed(moment: str, workspace: Path, table: Path) -> None:
    """Run a plan of two steps in a process that is killed at a moment of the run's end."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("BIODESK_")}
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, moment, str(workspace), str(table)],
        capture_output=True, text=True, cwd=ROOT, timeout=PATIENCE, env={**kept, "PYTHONPATH": path},
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL, done.stderr


def everything_is_there(engine, run_id: str) -> None:
    view = engine.view(run_id)
    assert view.record.status == "succeeded"
    assert view.report is not None
    assert view.report.summary
    assert engine.artifact(view.record.report_sha256).exists()
    events = engine.events(run_id)
    assert events[-1].kind == "run_finished"
    assert events[-1].status == "succeeded"
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    episodes = engine.memory.episodes()
    assert [(episode.run_id, episode.success) for episode in episodes] == [(run_id, True)]
    turns = engine.memory.messages(view.record.conversation)
    assert [turn.role for turn in turns] == ["assistant"]
    assert run_id in {source.id for source in engine.knowledge.stats().sources}


@pytest.mark.parametrize("moment", [*(pytest.param(m, marks=pytest.mark.slow) for m in MOMENTS[:2]), MOMENTS[2]])
def test_killed_on_the_way_to_its_end_a_run_is_resumed_to_it(moment, tmp_path, growth_csv, open_engine):
    workspace = tmp_path / "ws"
    killed(moment, workspace, growth_csv)
    engine = open_engine(workspace, embedding_model="none")
    (record,) = engine.runs()
    assert record.status == "interrupted"
    assert "Steps that finished are kept" in record.error
    finished = {node: result.finished_at for node, result in engine.view(record.run_id).results.items()}
    assert sorted(finished) == ["n4", "n5"]
    engine.resume(record.run_id)
    engine.wait(record.run_id, PATIENCE)
    everything_is_there(engine, record.run_id)
    assert {node: r.finished_at for node, r in engine.view(record.run_id).results.items()} == finished
    assert engine.record(record.run_id).error == ""
    assert engine.verify(record.run_id).differences == []


def test_killed_after_its_end_a_run_is_over_and_says_so(tmp_path, growth_csv, open_engine):
    workspace = tmp_path / "ws"
    killed(LAST, workspace, growth_csv)
    engine = open_engine(workspace, embedding_model="none")
    (record,) = engine.runs()
    everything_is_there(engine, record.run_id)
    assert engine.verify(record.run_id).differences == []


@pytest.mark.slow
def test_a_run_that_an_earlier_version_left_without_its_report_can_be_resumed(open_engine, growth_csv, tmp_path):
    workspace = tmp_path / "ws"
    with open_engine(workspace, embedding_model="none") as engine:
        plan = table_plan(growth_csv)
        run_id = engine.run_plan(plan.model_copy(update={"nodes": plan.nodes[3:]}))
        assert engine.wait(run_id, PATIENCE).status == "succeeded"
    as_it_was_left(workspace, run_id)
    again = open_engine(workspace, embedding_model="none")
    assert again.record(run_id).status == "interrupted"
    again.resume(run_id)
    again.wait(run_id, PATIENCE)
    everything_is_there(again, run_id)


def as_it_was_left(workspace: Path, run_id: str) -> None:
    """Take from a finished run what came after its state: the report and the last events."""
    import duckdb

    with duckdb.connect(str(workspace / "biodesk.duckdb")) as connection:
        connection.execute(
            'UPDATE runs SET payload = json_merge_patch(payload, \'{"report_sha256": ""}\') WHERE run_id = ?', [run_id]
        )
        connection.execute("DELETE FROM events WHERE run_id = ? AND kind IN ('report_ready', 'run_finished')", [run_id])
        left = connection.execute("SELECT count(*) FROM events WHERE run_id = ?", [run_id]).fetchone()
    assert left is not None
    assert left[0] > 0


def test_a_run_whose_report_could_not_be_written_stays_as_it_ended(open_engine, growth_csv, tmp_path, monkeypatch):
    import engine.steps.ending

    def refuse(*_, **__):
        raise RuntimeError("cannot be written")

    workspace = tmp_path / "ws"
    with monkeypatch.context() as patch, open_engine(workspace, embedding_model="none") as first:
        patch.setattr(engine.steps.ending, "synthesize", refuse)
        plan = table_plan(growth_csv)
        run_id = first.run_plan(plan.model_copy(update={"nodes": plan.nodes[3:]}))
        assert first.wait(run_id, PATIENCE).status == "failed"
        events = len(first.events(run_id))
    again = open_engine(workspace, embedding_model="none")
    assert again.record(run_id).status == "failed"
    assert len(again.events(run_id)) == events
