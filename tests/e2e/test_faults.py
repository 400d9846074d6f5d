"""What breaks from outside - a kill, a full disk, a second process, a broken sandbox - costs time, never results."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from companions import made_orchestrator
from growth_data import table_plan, write_growth
from waiting import until

ROOT = Path(__file__).parents[2]
HELD_STEPS = ROOT / "tests" / "held_steps.py"
PATIENCE = 120.0
"""Seconds to wait for what should take one or two: only something that hangs takes this long."""


def environment() -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("BIODESK_")}
    return {**kept, "BIODESK_WARM_WORKERS": "false", "PYTHONPATH": str(ROOT)}


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "engine", *map(str, words)]


def start(*words: object, held: Path | None = None) -> subprocess.Popen[str]:
    """Start a command in a process of its own; `held` is the file that names the steps to be held, if any are."""
    program = [sys.executable, str(HELD_STEPS), str(held), "biodesk", *map(str, words)] if held else command(*words)
    return subprocess.Popen(
        program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(), cwd=ROOT
    )


def call(*words: object) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        command(*words), capture_output=True, text=True, env=environment(), cwd=ROOT, timeout=PATIENCE
    )


def hold(folder: Path, steps: str) -> Path:
    """Return a file that names the steps to be held."""
    switch = folder / "held"
    switch.write_text(steps, encoding="utf-8")
    return switch


def read_until(process: subprocess.Popen[str], words: str) -> str:
    """Read a command's progress until a line holds these words; return the line."""
    assert process.stderr is not None
    for line in process.stderr:
        if words in line:
            return line
    pytest.fail(f"The command ended before it said {words!r}.")


def family(process: subprocess.Popen[str]) -> list[psutil.Process]:
    return psutil.Process(process.pid).children(recursive=True)


def gone(processes: list[psutil.Process], seconds: float) -> bool:
    _, alive = psutil.wait_procs(processes, timeout=seconds)
    return not [process for process in alive if process.is_running() and process.status() != psutil.STATUS_ZOMBIE]


def newest(workspace: Path):
    """Return the newest run's record, events and results, read from the workspace."""
    from storage.runs.store import DuckRunStore

    store = DuckRunStore(workspace / "biodesk.duckdb")
    try:
        record = store.runs(limit=1)[0]
        return record, store.events(record.run_id), store.results(record.run_id)
    finally:
        store.close()


@pytest.fixture
def plan_file(tmp_path: Path, growth_csv: Path) -> Path:
    path = tmp_path / "plan.json"
    path.write_text(table_plan(growth_csv).model_dump_json(), encoding="utf-8")
    return path


# ==== a killed process ====

MOMENTS = ["running", "n1 started", "n2 started", "done in"]
"""Words of the progress after which the process is killed."""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """What the plan gives when nothing is killed."""
    from engine.api import open_engine

    folder = tmp_path_factory.mktemp("calm")
    with open_engine(workspace=folder / "ws", warm_workers=False) as engine:
        run_id = engine.run_plan(table_plan(write_growth(folder / "growth.csv")))
        assert engine.wait(run_id, PATIENCE).status == "succeeded"
        return fingerprint(engine.view(run_id).results)


def fingerprint(results) -> dict[str, tuple[str, dict[str, str], list[str]]]:
    return {
        node: (
            result.status,
            {a.output: a.sha256 for a in result.artifacts if a.type != "figure"},
            [finding.text for finding in result.findings],
        )
        for node, result in results.items()
    }


@pytest.mark.parametrize("moment", [MOMENTS[0], *(pytest.param(m, marks=pytest.mark.slow) for m in MOMENTS[1:])])
def test_a_run_that_was_killed_goes_on_without_repeating_what_finished(moment, plan_file, tmp_path, undisturbed):
    workspace = tmp_path / "ws"
    process = start("run", plan_file, "--workspace", workspace, held=hold(tmp_path, "n3"))  # so that it cannot be over
    read_until(process, moment)
    children = family(process)
    process.kill()
    process.communicate(timeout=PATIENCE)
    assert gone(children, PATIENCE), "A killed process left others behind."

    before, _, finished = newest(workspace)
    done = {node for node, result in finished.items() if result.status == "succeeded"}
    resumed = call("resume", before.run_id, "--workspace", workspace, "--json")
    assert resumed.returncode == 0, resumed.stderr
    assert json.loads(resumed.stdout)["status"] == "succeeded"

    record, events, results = newest(workspace)
    assert record.status == "succeeded"
    assert fingerprint(results) == undisturbed
    kinds = [event.kind for event in events]
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert kinds[-1] == "run_finished"
    assert "run_interrupted" in kinds
    after = events[kinds.index("run_resumed") :]
    assert sorted(after[0].kept) == sorted(done)
    assert not done & {event.node for event in after if event.kind == "node_started"}
    assert call("verify", before.run_id, "--workspace", workspace).returncode == 0
    for node in done:
        assert results[node].finished_at == finished[node].finished_at
    assert not list((workspace / "runs").glob("run_*"))


def test_a_killed_run_is_listed_as_interrupted_and_its_scratch_is_cleared(plan_file, tmp_path):
    workspace = tmp_path / "ws"
    process = start("run", plan_file, "--workspace", workspace, held=hold(tmp_path, "n1"))
    read_until(process, "n1 started")
    process.kill()
    process.communicate(timeout=PATIENCE)
    listed = json.loads(call("runs", "--workspace", workspace, "--json").stdout)
    assert listed[0]["status"] == "interrupted"
    assert "Steps that finished are kept" in listed[0]["error"]
    assert not list((workspace / "runs").glob("run_*")), "Copies of data were left in the scratch folder."


def kill_workers() -> None:
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            process.kill()


@pytest.mark.parametrize("resumed", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_step_whose_warm_worker_is_killed_runs_again_and_the_record_holds(resumed, open_engine, growth_csv, held):
    engine = open_engine(warm_workers=True)
    engine.warm()
    held.write_text("n2")
    run_id = engine.run_plan(table_plan(growth_csv))
    until(lambda: computing(engine, run_id, "n2"))
    until(lambda: {"n1", "n4", "n5"} <= set(engine.view(run_id).results))
    if resumed:
        engine.cancel(run_id)
        assert engine.wait(run_id, PATIENCE).status == "cancelled"
        assert engine.verify(run_id).differences == []
        begun = len(engine.events(run_id))
        engine.resume(run_id)
        until(lambda: computing(engine, run_id, "n2", after=begun))
    held.unlink()  # a second attempt is not held
    kill_workers()
    assert engine.wait(run_id, PATIENCE).status == "succeeded"
    tried = [e.message for e in engine.events(run_id) if e.kind == "node_progress" and e.node == "n2"]
    assert any("trying once more" in message for message in tried)
    assert engine.verify(run_id).differences == []
    assert not list((engine.settings.workspace / "runs").glob("run_*"))


# ==== a wish to stop ====


@pytest.mark.parametrize(
    "signal_number",
    [signal.SIGTERM, *(pytest.param(number, marks=pytest.mark.slow) for number in (signal.SIGINT, signal.SIGHUP))],
)
def test_an_interrupted_command_ends_with_4_and_can_be_resumed(signal_number, plan_file, tmp_path):
    workspace = tmp_path / "ws"
    process = start("run", plan_file, "--workspace", workspace, held=hold(tmp_path, "n2"))
    read_until(process, "n1 done")
    children = family(process)
    process.send_signal(signal_number)
    _, stderr = process.communicate(timeout=PATIENCE)
    assert process.returncode == 4
    assert "Traceback" not in stderr
    assert gone(children, PATIENCE)
    record, _, results = newest(workspace)
    assert f"biodesk resume {record.run_id}" in stderr
    assert record.status == "cancelled"
    assert results["n1"].status == "succeeded"
    if signal_number != signal.SIGINT:
        return  # what follows is the same for all
    resumed = call("resume", record.run_id, "--workspace", workspace, "--json")
    assert resumed.returncode == 0, resumed.stderr
    assert call("verify", record.run_id, "--workspace", workspace).returncode == 0
    _, events, _ = newest(workspace)
    after = [event.kind for event in events].index("run_resumed")
    assert "n1" not in {event.node for event in events[after:] if event.kind == "node_started"}


@pytest.mark.slow
def test_an_interrupted_command_with_json_prints_one_error_document(plan_file, tmp_path):
    process = start("run", plan_file, "--workspace", tmp_path / "ws", "--json", held=hold(tmp_path, "n1"))
    read_until(process, "n1 started")
    process.send_signal(signal.SIGINT)
    stdout, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 4
    error = json.loads(stdout)["error"]
    assert error["code"] == "interrupted"
    assert error["details"]["run_id"] in error["advice"]


def test_cancelling_stops_a_running_step_and_keeps_what_finished(engine, growth_csv, held):
    held.write_text("n2")
    run_id = engine.run_plan(table_plan(growth_csv))
    until(lambda: computing(engine, run_id, "n2"))
    until(lambda: {"n1", "n4", "n5"} <= set(engine.view(run_id).results))
    before = {node for node, result in engine.view(run_id).results.items() if result.status == "succeeded"}
    engine.cancel(run_id)
    assert engine.wait(run_id, PATIENCE).status == "cancelled"
    results = engine.view(run_id).results
    assert before == {"n1", "n4", "n5"}
    assert all(results[node].status == "succeeded" for node in before)
    assert engine.events(run_id)[-1].kind == "run_finished"
    held.unlink()
    engine.resume(run_id)
    assert engine.wait(run_id, PATIENCE).status == "succeeded"
    assert engine.verify(run_id).differences == []
    later = [e for e in engine.events(run_id) if e.kind in ("run_resumed", "node_started")]
    after = next(number for number, event in enumerate(later) if event.kind == "run_resumed")
    assert not before & {event.node for event in later[after + 1 :]}


def computing(engine, run_id: str, step: str, after: int = 0) -> bool:
    """Say whether a held step is at work in its sandbox: it says so itself, in an event after the one of this number."""
    events = engine.events(run_id)[after:]
    return any(e.kind == "node_output" and e.node == step and "held" in e.text for e in events)


# ==== two processes, one workspace ====


def test_a_second_process_is_refused_with_3_and_a_sentence(engine):
    workspace = engine.settings.workspace
    second = call("runs", "--workspace", workspace)
    assert second.returncode == 3
    assert second.stdout == ""
    assert f"process {os.getpid()}" in second.stderr
    assert len(second.stderr.strip().splitlines()) == 1
    as_json = call("runs", "--workspace", workspace, "--json")
    assert as_json.returncode == 3
    assert json.loads(as_json.stdout)["error"]["code"] == "workspace_in_use"


@pytest.mark.slow
def test_a_run_is_cancelled_from_a_second_process(engine, growth_csv, held):
    held.write_text("n1")  # the second process takes seconds to start; the run must not be over by then
    run_id = engine.run_plan(table_plan(growth_csv))
    workspace = engine.settings.workspace
    done = call("cancel", run_id, "--workspace", workspace, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"run_id": run_id, "status": "cancel requested"}
    assert engine.wait(run_id, PATIENCE).status == "cancelled"
    until(lambda: not list((workspace / "requests").iterdir()))


def test_a_request_from_a_second_process_stops_a_step_at_work(engine, growth_csv, held):
    from engine.api import request_cancel

    held.write_text("n1")
    run_id = engine.run_plan(table_plan(growth_csv))
    until(lambda: computing(engine, run_id, "n1"))
    request_cancel(engine.settings.workspace, run_id)
    assert engine.wait(run_id, PATIENCE).status == "cancelled"
    assert any(e.kind == "run_cancelled" and e.by == "another process" for e in engine.events(run_id))


@pytest.mark.slow
def test_a_request_left_over_from_an_earlier_time_does_not_stop_a_later_run(open_engine, tmp_path, growth_csv):
    from engine.api import request_cancel

    with open_engine() as first:
        run_id = first.run_plan(table_plan(growth_csv))
        first.cancel(run_id)
        first.wait(run_id, PATIENCE)
        workspace = first.settings.workspace
    request_cancel(workspace, run_id, patience=0)
    second = open_engine(workspace)
    second.resume(run_id)
    assert second.wait(run_id, PATIENCE).status == "succeeded"


# ==== a full disk ====


@pytest.fixture
def tiny_disk(tmp_path):
    """A file system of 24 MB of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("mounting a small file system needs root")
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", folder], capture_output=True, text=True)
    if made.returncode != 0:
        pytest.skip(f"a small file system cannot be mounted here: {made.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def fill(folder: Path, leave: int) -> Path:
    """Fill a disk up to a few bytes."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as handle, contextlib.suppress(OSError):  # others may write meanwhile
        while (free := shutil.disk_usage(folder).free - leave) > 0:
            handle.write(b"\0" * free)
    return ballast


@pytest.mark.slow
def test_a_disk_that_fills_up_is_told_in_a_sentence_and_the_run_goes_on_afterwards(tiny_disk, plan_file):
    workspace = tiny_disk / "ws"
    held = hold(plan_file.parent, "n2:later")
    process = start("run", plan_file, "--workspace", workspace, held=held)
    read_until(process, "n2 started")
    ballast = fill(tiny_disk, 0)
    held.unlink()
    _, stderr = process.communicate(timeout=PATIENCE)
    ballast.unlink()
    assert "Traceback" not in stderr
    assert process.returncode == 4, stderr
    assert "no room left on the disk" in stderr or "No space left" in stderr, stderr
    record, _, _ = newest(workspace)
    resumed = call("resume", record.run_id, "--workspace", workspace, "--json")
    assert resumed.returncode == 0, resumed.stderr
    assert json.loads(resumed.stdout)["status"] == "succeeded"
    assert call("verify", record.run_id, "--workspace", workspace).returncode == 0


def test_a_disk_that_is_full_from_the_start_is_told_in_a_sentence(tiny_disk, plan_file):
    fill(tiny_disk, 0)
    done = call("run", plan_file, "--workspace", tiny_disk / "ws")
    assert done.returncode in (1, 4)
    assert "Traceback" not in done.stderr
    assert "no room left on the disk" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


# ==== a broken sandbox, a broken database ====


def broken_orchestrator(tmp_path: Path, breaks: int):
    """An orchestrator whose sandbox cannot run anything the first `breaks` times, then as the real one does."""
    from engine.adapters.fakes import EchoSandbox
    from engine.adapters.process_sandbox import ProcessSandbox
    from engine.errors import SandboxUnavailable
    from storage.runs.artifacts_twin import ArtifactsTwin
    from storage.runs.twin import RunStoreTwin

    real = ProcessSandbox(tmp_path / "runs", preload=())

    class Broken(EchoSandbox):
        left = breaks

        def run(self, job, *, on_output, cancel):
            if Broken.left > 0:
                Broken.left -= 1
                raise SandboxUnavailable(
                    "The process that runs steps cannot be started.", advice="Run `biodesk doctor`."
                )
            return real.run(job, on_output=on_output, cancel=cancel)

    return made_orchestrator(tmp_path, Broken(), RunStoreTwin(), ArtifactsTwin()), real


def test_a_broken_sandbox_is_the_machines_fault_and_the_run_goes_on_when_it_works_again(tmp_path, growth_csv):
    orchestrator, real = broken_orchestrator(tmp_path, breaks=2)
    run_id = orchestrator.start_plan(table_plan(growth_csv), user="me")
    assert orchestrator.queue.wait(run_id, PATIENCE)
    record = orchestrator.records.newest(run_id)
    assert (record.status, record.error_code) == ("interrupted", "sandbox_unavailable")
    assert record.error == "The process that runs steps cannot be started."
    assert record.advice == "Run `biodesk doctor`."
    results = orchestrator.records.store.results(run_id)
    assert "failed" not in {result.status for result in results.values()}
    kinds = [event.kind for event in orchestrator.records.store.events(run_id)]
    assert "run_interrupted" in kinds
    assert "node_failed" not in kinds
    orchestrator.resume(run_id)
    assert orchestrator.queue.wait(run_id, PATIENCE)
    assert orchestrator.records.newest(run_id).status == "succeeded"
    orchestrator.queue.close()
    orchestrator.records.log.close()
    real.close()


def test_a_report_that_cannot_be_made_ends_the_run_visibly_and_the_next_run_works(tmp_path, growth_csv):
    orchestrator, real = broken_orchestrator(tmp_path, breaks=0)

    class Refusing(type(orchestrator.records.artifacts)):
        refuse = True

        def put_bytes(self, data: bytes) -> str:
            if self.refuse and b'"next_steps"' in data:
                raise RuntimeError("cannot be written")
            return super().put_bytes(data)

    orchestrator.records.artifacts.__class__ = Refusing
    run_id = orchestrator.start_plan(table_plan(growth_csv), user="me")
    assert orchestrator.queue.wait(run_id, PATIENCE)
    record = orchestrator.records.newest(run_id)
    assert record.status == "failed"
    assert "cannot be written" in record.error
    assert orchestrator.records.store.events(run_id)[-1].kind == "run_finished"
    Refusing.refuse = False
    again = orchestrator.start_plan(table_plan(growth_csv), user="me")
    assert orchestrator.queue.wait(again, PATIENCE)
    assert orchestrator.records.newest(again).status == "succeeded"
    orchestrator.queue.close()
    orchestrator.records.log.close()
    real.close()


def test_a_damaged_database_is_told_in_one_sentence_that_says_what_to_do(tmp_path, open_engine):
    with open_engine() as engine:
        workspace = engine.settings.workspace
    database = workspace / "biodesk.duckdb"
    content = bytearray(database.read_bytes())
    content[: len(content) // 2] = random.Random(1).randbytes(len(content) // 2)
    database.write_bytes(bytes(content))
    done = call("runs", "--workspace", workspace)
    assert done.returncode == 1
    assert done.stdout == ""
    assert "is damaged" in done.stderr
    assert "backup" in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_workspace_that_is_a_file_is_told_in_one_sentence(tmp_path):
    (tmp_path / "ws").write_text("not a folder")
    done = call("runs", "--workspace", tmp_path / "ws")
    assert done.returncode == 1
    assert "is a file, but it must be a folder" in done.stderr


def test_starting_and_stopping_many_threads_leaves_none_behind(open_engine, tmp_path):
    def ours() -> set[str]:
        return {t.name for t in threading.enumerate() if t.name in ("event-log", "requests") or "run-worker" in t.name}

    before = ours()
    for number in range(3):
        open_engine(tmp_path / f"ws{number}").close()
    until(lambda: ours() <= before)
    assert write_growth(tmp_path / "g.csv").exists()


@pytest.mark.slow
def test_closing_biodesk_leaves_a_run_interrupted_and_resumable(open_engine, growth_csv, tmp_path, held):
    held.write_text("n2")
    first = open_engine(tmp_path / "closed")
    run_id = first.run_plan(table_plan(growth_csv))
    until(lambda: computing(first, run_id, "n2"))
    first.close()
    held.unlink()
    again = open_engine(tmp_path / "closed")
    assert again.record(run_id).status == "interrupted"
    again.resume(run_id)
    assert again.wait(run_id, PATIENCE).status == "succeeded"
    assert again.verify(run_id).differences == []
