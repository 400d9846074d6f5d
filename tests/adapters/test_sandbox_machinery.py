"""What happens when the machinery that runs steps dies, is closed or lacks a part: nothing outlives it or hangs."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest
from waiting import until

from engine.adapters.process_sandbox import ProcessSandbox
from engine.adapters.sandbox.cgroup import ControlGroups
from engine.adapters.sandbox.worker import find_bubblewrap
from engine.domain.results import ExecResult
from engine.errors import SandboxUnavailable
from engine.ports.sandbox import Job, Limits
from engine.runs.cancel import CancelSource

ROOT = Path(__file__).resolve().parents[2]
MACHINERY = {
    "bubblewrap": {"use_bubblewrap": True},
    "namespaces_without_control_groups": {"use_bubblewrap": False, "control_groups": False},
    "plain": {"use_bubblewrap": False, "isolations": (), "control_groups": False},
}


def run(sandbox: ProcessSandbox, code: str, name: str = "job", **limits: float) -> ExecResult:
    workdir = sandbox._places.scratch / "runs" / name
    workdir.mkdir(parents=True, exist_ok=True)
    job = Job(id=name, code=textwrap.dedent(code), workdir=workdir, limits=Limits(**{"seconds": 90.0, **limits}))
    return sandbox.run(job, on_output=lambda *_: None, cancel=CancelSource())


def _tree(before: Sequence[psutil.Process] = ()) -> list[psutil.Process]:
    """Return the processes below this one, but for those that were there before and belong to other tests."""
    return [process for process in psutil.Process().children(recursive=True) if process not in before]


def _kill(processes: list[psutil.Process]) -> None:
    for process in processes:
        # Killing one ends those that depend on it: some are gone before their turn.
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()


def _workers(before: Sequence[psutil.Process] = ()) -> list[psutil.Process]:
    found = []
    for process in _tree(before):
        with contextlib.suppress(psutil.NoSuchProcess):
            if process.status() != "zombie" and "sandbox_worker" in " ".join(process.cmdline()):
                found.append(process)
    return found


def _gone(processes: list[psutil.Process]) -> bool:
    """Say whether none of these runs; one that ends while it is looked at is asked again."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return not any(process.is_running() and process.status() != "zombie" for process in processes)
    return False


@pytest.fixture(params=MACHINERY)
def options(request: pytest.FixtureRequest) -> dict:
    if "bubblewrap" in request.param and find_bubblewrap() is None:
        pytest.skip("bubblewrap is not installed or cannot make namespaces on this machine")
    return {"preload": ("json",), **MACHINERY[request.param]}


def test_a_worker_that_dies_between_jobs_is_replaced_unnoticed(options: dict, tmp_path: Path) -> None:
    before = _tree()
    sandbox = ProcessSandbox(tmp_path, **options)
    try:
        sandbox.warm()
        _kill(_workers(before))
        assert run(sandbox, "print('alive')").stdout == "alive\n"
        assert run(sandbox, "print('again')").stdout == "again\n"
        sandbox.warm()
        assert sandbox.is_warm
    finally:
        sandbox.close()


def test_a_job_lost_with_its_worker_is_the_machines_fault_and_the_next_one_runs(options: dict, tmp_path: Path) -> None:
    before = _tree()
    sandbox = ProcessSandbox(tmp_path, **options)
    try:
        sandbox.warm()
        workdir = tmp_path / "w"
        workdir.mkdir()
        shown = []

        def sink(_: str, text: str) -> None:
            shown.append(text)
            _kill(_tree(before))

        job = Job(id="lost", code="import time; print('on', flush=True); time.sleep(600)", workdir=workdir)
        with pytest.raises(SandboxUnavailable, match="not judged") as raised:
            sandbox.run(job, on_output=sink, cancel=CancelSource())
        assert raised.value.retryable
        assert shown == ["on\n"]
        assert run(sandbox, "print('next')").stdout == "next\n"
    finally:
        sandbox.close()


def test_nothing_outlives_an_engine_that_is_killed(options: dict, tmp_path: Path) -> None:
    owner = f"""
import sys, threading
sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
from engine.adapters.process_sandbox import ProcessSandbox
from engine.ports.sandbox import Job
from engine.runs.cancel import CancelSource
root = Path({str(tmp_path)!r})
sandbox = ProcessSandbox(root, **{options!r})
(root / "w").mkdir()
code = '''
import fcntl, os, time
child = os.fork() == 0
if child:
    os.setsid()
held = open("held", "a")
fcntl.flock(held, fcntl.LOCK_SH)
open("child" if child else "parent", "w").close()
while True:
    time.sleep(1)
'''
sandbox.run(Job(id="j", code=code, workdir=root / "w"), on_output=print, cancel=CancelSource())
"""
    process = subprocess.Popen([sys.executable, "-c", owner])
    work = tmp_path / "w"
    try:
        until(lambda: (work / "child").exists() and (work / "parent").exists())
        started = psutil.Process(process.pid).children(recursive=True)
        assert started
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    until(lambda: _gone(started))
    with (work / "held").open("a") as held:  # whoever still lived would hold it
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_an_engine_killed_while_its_worker_imports_leaves_nothing(tmp_path: Path) -> None:
    slow = tmp_path / "lib"
    slow.mkdir()
    begun = tmp_path / "scratch" / "begun"
    text = f"import time\nopen({str(begun)!r}, 'w').close()\nt = time.time()\nwhile time.time() < t + 600: pass\n"
    (slow / "slow_module.py").write_text(text)
    owner = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
from engine.adapters.sandbox import view
view.package_paths = lambda: [{str(slow)!r}]
from engine.adapters.process_sandbox import ProcessSandbox
sandbox = ProcessSandbox(Path({str(tmp_path / "scratch")!r}), preload=("slow_module",))
sandbox._ensure_warm()
print("started", flush=True)
import time; time.sleep(600)
"""
    process = subprocess.Popen([sys.executable, "-c", owner], stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == b"started\n"
        until(begun.exists)
        started = psutil.Process(process.pid).children(recursive=True)
        assert started
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    until(lambda: _gone(started))


def test_a_bubblewrap_that_cannot_make_namespaces_is_not_used_and_the_report_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "bin" / "bwrap"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{broken.parent}:{os.environ['PATH']}")
    sandbox = ProcessSandbox(tmp_path / "scratch", preload=())
    try:
        report = sandbox.report()
        assert report.kind == "process"
        assert any("bubblewrap is not used" in sentence for sentence in report.missing)
        assert run(sandbox, "print(1)").status == "ok"
    finally:
        sandbox.close()


def test_a_job_does_not_wait_for_ever_for_a_worker_that_is_still_importing(tmp_path: Path) -> None:
    sandbox = ProcessSandbox(tmp_path, preload=("scanpy",), warm_wait=0.0)
    try:
        assert run(sandbox, "import sys; print('scanpy' in sys.modules)").stdout == "False\n"
    finally:
        sandbox.close()


def test_a_folder_outside_the_scratch_folder_can_be_worked_in(tmp_path: Path) -> None:
    sandbox = ProcessSandbox(tmp_path / "scratch", preload=("json",))
    try:
        workdir = tmp_path / "elsewhere"
        workdir.mkdir()
        job = Job(id="j", code="open('out', 'w').write('here')", workdir=workdir)
        assert sandbox.run(job, on_output=lambda *_: None, cancel=CancelSource()).status == "ok"
        assert (workdir / "out").read_text() == "here"
    finally:
        sandbox.close()


def test_closing_ends_running_jobs_and_refuses_new_ones(tmp_path: Path) -> None:
    sandbox = ProcessSandbox(tmp_path, preload=("json",))
    sandbox.warm()
    sandbox.close()
    until(lambda: not _workers())
    assert [(p.pid, p.name()) for p in psutil.Process().children() if p.status() == "zombie"] == []
    with pytest.raises(SandboxUnavailable, match="closed"):
        run(sandbox, "pass")


def test_a_gigabyte_of_output_costs_neither_memory_nor_the_run(tmp_path: Path) -> None:
    sandbox = ProcessSandbox(tmp_path, preload=("json",))
    sandbox.warm()
    before = psutil.Process().memory_info().rss
    result = run(
        sandbox,
        "import os\nb = b'x' * 65535 + b'\\n'\nfor _ in range(16384): os.write(1, b)\nprint('end')",
        seconds=300,
    )
    assert result.status == "ok"
    assert result.truncated
    assert len(result.stdout) < (1 << 20) + 200
    assert result.stdout.endswith("end\n")
    assert "bytes left out" in result.stdout
    assert psutil.Process().memory_info().rss - before < 60 << 20
    sandbox.close()


def test_control_groups_are_removed(tmp_path: Path) -> None:
    # In a process of its own: groups are named by process, and other tests' sandboxes keep theirs in this one.
    script = f"""
import os
from pathlib import Path
from engine.adapters.process_sandbox import ProcessSandbox
from engine.ports.sandbox import Job
from engine.runs.cancel import CancelSource
sandbox = ProcessSandbox(Path({str(tmp_path)!r}), preload=("json",))
folder = Path({str(tmp_path)!r}) / "job"
folder.mkdir()
sandbox.warm()
assert sandbox.run(Job(id="one", code="pass", workdir=folder), on_output=lambda *_: None, cancel=CancelSource()).ok
groups = sandbox._control_groups()
sandbox.close()
homes = set((groups._homes or {{}}).values())
left = [str(found) for home in homes for found in home.glob(f"biodesk-{{os.getpid()}}-*")]
print("no groups here" if not groups.available else left)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    if done.stdout.strip() == "no groups here":
        pytest.skip("this machine has no control groups")
    assert done.stdout.strip() == "[]"


def test_control_groups_count_only_where_they_can_be_made() -> None:
    assert ControlGroups(allowed=False).make() is None
    assert not ControlGroups(allowed=False).available


@pytest.mark.parametrize("threads", [1, 2])
def test_libraries_imported_before_the_fork_use_the_threads_the_job_was_given(tmp_path: Path, threads: int) -> None:
    sandbox = ProcessSandbox(tmp_path, preload=("numpy", "numba", "numba.np.ufunc.parallel", "threadpoolctl"))
    code = """
    import numba, numpy, threadpoolctl
    blas = {pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"}
    print(numba.get_num_threads(), blas)
    """
    try:
        sandbox.warm()
        assert sandbox.hello is not None
        assert sandbox.hello.threads == 1, "a process with threads must not be forked"
        workdir = tmp_path / "w"
        workdir.mkdir()
        job = Job(id="j", code=textwrap.dedent(code), workdir=workdir, threads=threads)
        result = sandbox.run(job, on_output=lambda *_: None, cancel=CancelSource())
        assert result.stdout == f"{threads} {{{threads}}}\n", result.stderr
    finally:
        sandbox.close()
