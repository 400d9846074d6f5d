"""A kill after each commit of a run: no event is lost, the numbers have no gap, and what is resumed verifies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from growth_data import write_growth

ROOT = Path(__file__).parents[2]
PATIENCE = 240.0
MOST = 60
"""More commits than a run of two steps can have."""

PROGRAM = """
import os, signal, sys
from pathlib import Path

last, workspace, table = int(sys.argv[1]), sys.argv[2], sys.argv[3]

from storage.runs.store import DuckRunStore

real, done = DuckRunStore._once, 0

def counted(self, *args):
    global done
    made = real(self, *args)
    done += 1
    if done == last:
        os.kill(os.getpid(), signal.SIGKILL)
    return made

DuckRunStore._once = counted

from engine.api import open_engine
from growth_data import table_plan

engine = open_engine(workspace=Path(workspace), warm_workers=False, embedding_model="none")
if os.path.exists(os.path.join(workspace, "resume")):
    (record,) = engine.runs()
    run_id = record.run_id
    engine.resume(run_id)
else:
    plan = table_plan(Path(table))
    run_id = engine.run_plan(plan.model_copy(update={"nodes": plan.nodes[3:]}))
engine.wait(run_id)
sys.exit(7)
"""


def run_until(commit: int, workspace: Path, table: Path) -> int:
    """Run (or, where the file `resume` lies, resume) a plan of two steps, killed after a commit; return the exit code."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("BIODESK_")}
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(commit), str(workspace), str(table)],
        capture_output=True, text=True, cwd=ROOT, timeout=PATIENCE, env={**kept, "PYTHONPATH": path},
    )  # fmt: skip
    assert done.returncode in (7, -signal.SIGKILL), done.stderr
    return done.returncode


def comes_to_its_end(engine, run_id: str) -> None:
    """Check what was kept, go on where that is possible, and check the whole."""
    kept = engine.events(run_id)
    said = {event.node for event in kept if event.kind == "node_finished"}
    assert {node for node, result in engine.view(run_id).results.items() if result.status == "succeeded"} == said
    assert engine.verify(run_id).differences == []
    if engine.record(run_id).status != "succeeded":
        assert engine.record(run_id).status == "interrupted"
        engine.resume(run_id)
        assert engine.wait(run_id, PATIENCE).status == "succeeded"
    events = engine.events(run_id)
    assert events[: len(kept)] == kept
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    kinds = [event.kind for event in events]
    assert sorted(event.node for event in events if event.kind == "node_finished") == ["n4", "n5"]
    for kind in ("plan_proposed", "plan_approved", "run_finished"):
        assert kinds.count(kind) == 1, kinds
    assert {"run_queued", "run_started", "report_ready", "artifact_saved", "node_verdict"} <= set(kinds)
    assert kinds[-1] == "run_finished"
    assert engine.verify(run_id).differences == []


def killed_after(commit: int, folder: Path, open_engine) -> int:
    """Kill a run after a commit, check it and go on with it; return how the process ended."""
    workspace = folder / f"ws{commit}"
    ended = run_until(commit, workspace, write_growth(folder / "growth.csv"))
    with open_engine(workspace, embedding_model="none") as engine:
        for record in engine.runs():
            comes_to_its_end(engine, record.run_id)
        assert commit == 1 or engine.runs()  # after the first commit only the plan is there, and nobody has an id
    return ended


def killed_twice(commit: int, folder: Path, open_engine) -> int:
    """Kill a run in its middle and again after a commit of what is resumed; return how the second process ended."""
    workspace, table = folder / f"ws{commit}", write_growth(folder / "growth.csv")
    assert run_until(5, workspace, table) == -signal.SIGKILL
    (workspace / "resume").touch()
    ended = run_until(commit, workspace, table)
    with open_engine(workspace, embedding_model="none") as engine:
        (record,) = engine.runs()
        comes_to_its_end(engine, record.run_id)
    return ended


@pytest.mark.parametrize("commit", [1, 3, 6])
@pytest.mark.slow
def test_killed_early_half_way_and_late_a_run_loses_no_event(commit, tmp_path, open_engine):
    assert killed_after(commit, tmp_path, open_engine) == -signal.SIGKILL


def test_killed_once_more_while_it_is_resumed_a_run_loses_no_event(tmp_path, open_engine):
    assert killed_twice(2, tmp_path, open_engine) == -signal.SIGKILL


@pytest.mark.slow
def test_killed_after_each_commit_a_run_loses_no_event(tmp_path, open_engine):
    ended = 0
    for commit in range(1, MOST):
        ended = killed_after(commit, tmp_path, open_engine)
        if ended == 7:
            break
    assert (ended, commit >= 6) == (7, True)


@pytest.mark.slow
def test_killed_again_after_each_commit_of_what_is_resumed_a_run_loses_no_event(tmp_path, open_engine):
    ended = 0
    for commit in range(1, MOST):
        ended = killed_twice(commit, tmp_path, open_engine)
        if ended == 7:
            break
    assert (ended, commit >= 4) == (7, True)
