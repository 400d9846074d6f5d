"""What every sandbox must do, for each kind this machine offers."""

from __future__ import annotations

import fcntl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from waiting import until

from engine.adapters.fakes import EchoSandbox
from engine.adapters.process_sandbox import ProcessSandbox
from engine.adapters.sandbox import disk
from engine.adapters.sandbox.confine import landlock_version
from engine.adapters.sandbox.worker import find_bubblewrap
from engine.errors import SandboxUnavailable
from engine.ports.sandbox import Job, Limits, Sandbox
from engine.runs.cancel import CancelSource
from engine.trees import leftovers, remove_tree

PRELOAD = ("json", "decimal")
PATIENCE = 90.0
"""Seconds to wait for what should take a moment: only something that hangs takes this long."""
KINDS = {
    "bubblewrap": {"use_bubblewrap": True},
    "bubblewrap_around_each_job": {"use_bubblewrap": True, "isolations": ()},
    "bubblewrap_cold": {"use_bubblewrap": True, "preload": ()},
    "namespaces": {"use_bubblewrap": False, "isolations": ("namespaces",)},
    "landlock": {"use_bubblewrap": False, "isolations": ("landlock",)},
    "plain": {"use_bubblewrap": False, "isolations": (), "control_groups": False},
}


@pytest.fixture(scope="module", params=KINDS)
def real(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessSandbox]:
    """Every kind of process sandbox."""
    if "bubblewrap" in request.param and find_bubblewrap() is None:
        pytest.skip("bubblewrap is not installed or cannot make namespaces on this machine")
    if request.param == "landlock" and landlock_version() < 1:
        pytest.skip("this kernel has no Landlock")
    sandbox = ProcessSandbox(tmp_path_factory.mktemp("scratch"), **{"preload": PRELOAD, **KINDS[request.param]})
    if request.param == "namespaces" and sandbox._found().isolation != "namespaces":
        sandbox.close()
        pytest.skip("this user may not make namespaces without bubblewrap")
    sandbox.warm()
    yield sandbox
    sandbox.close()


@pytest.fixture
def workdir(real: ProcessSandbox, request: pytest.FixtureRequest) -> Path:
    folder = real._places.scratch / "runs" / request.node.name.replace("/", "_")[:80]
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class Ran:
    """A job's result with what was shown live; `shown` is told each text when it is shown."""

    def __init__(
        self,
        sandbox: Sandbox,
        workdir: Path,
        code: str,
        cancel: CancelSource | None = None,
        shown: Callable[[str], None] | None = None,
        **limits: float,
    ):
        self.live: list[tuple[str, str]] = []

        def show(name: str, text: str) -> None:
            self.live.append((name, text))
            if shown is not None:
                shown(text)

        job = Job(id="step", code=code, workdir=workdir, limits=Limits(**{"seconds": PATIENCE, **limits}))
        self.result = sandbox.run(job, on_output=show, cancel=cancel or CancelSource())


def test_code_runs_in_its_folder_and_its_output_and_files_come_back(real: ProcessSandbox, workdir: Path) -> None:
    (workdir / "counts.csv").write_text("gene,n\nTP53,4\n")
    code = (
        "import sys\nprint(open('counts.csv').read())\nprint('warned', file=sys.stderr)\nopen('out.txt','w').write('é')"
    )
    result = Ran(real, workdir, code).result
    assert (result.status, result.exit_code) == ("ok", 0)
    assert "TP53,4" in result.stdout
    assert result.stderr == "warned\n"
    assert (workdir / "out.txt").read_text(encoding="utf-8") == "é"
    assert not result.truncated


def test_an_exception_is_a_result_with_one_line_and_a_traceback_of_the_users_own_lines(
    real: ProcessSandbox, workdir: Path
) -> None:
    result = Ran(real, workdir, "x = 1\nraise ValueError('no column\\nnamed gene')").result
    assert (result.status, result.exit_code) == ("error", 1)
    assert result.error == "ValueError: no column named gene"
    assert "line 2" in result.stderr
    assert "raise ValueError" in result.stderr
    assert "sandbox_worker" not in result.stderr


def test_a_syntax_error_is_a_result(real: ProcessSandbox, workdir: Path) -> None:
    result = Ran(real, workdir, "def f(:\n").result
    assert result.status == "error"
    assert result.error.startswith("SyntaxError")


def test_exit_codes_come_back(real: ProcessSandbox, workdir: Path) -> None:
    assert Ran(real, workdir, "import sys; sys.exit(3)").result.exit_code == 3
    said = Ran(real, workdir, "import sys; sys.exit('no genes left')").result
    assert (said.status, said.exit_code, said.error) == ("error", 1, "SystemExit: no genes left")
    assert "no genes left" in said.stderr
    assert Ran(real, workdir, "import sys; sys.exit()").result.status == "ok"
    assert Ran(real, workdir, "import os; os._exit(7)").result.exit_code == 7


def test_a_crash_says_which_signal(real: ProcessSandbox, workdir: Path) -> None:
    aborted = Ran(real, workdir, "import os; os.abort()").result
    assert (aborted.status, aborted.exit_code) == ("killed", -6)
    assert "SIGABRT" in aborted.error
    crashed = Ran(real, workdir, "import ctypes; ctypes.string_at(0)").result
    assert crashed.status == "killed"
    assert "SIGSEGV" in crashed.error


def test_what_a_script_registers_for_its_end_happens(real: ProcessSandbox, workdir: Path) -> None:
    code = (
        "import atexit, threading, time\natexit.register(lambda: print('at exit'))\nsaid = threading.Event()\n"
        "threading.Thread(target=lambda: (said.wait(), time.sleep(0.2), print('thread'))).start()\n"
        "print('main')\nsaid.set()"
    )
    assert Ran(real, workdir, code).result.stdout.split("\n")[:3] == ["main", "thread", "at exit"]


def test_a_timeout_ends_the_job_and_says_so(real: ProcessSandbox, workdir: Path) -> None:
    for seconds in (0.6, 5.0, 40.0):  # on a busy machine it may take longer than a moment until the job begins
        result = Ran(real, workdir, "print('begun', flush=True)\nwhile True: pass", seconds=seconds).result
        assert result.status == "timeout"
        assert f"{seconds:g} s" in result.error
        if result.stdout:
            break
    assert result.stdout == "begun\n"


def test_memory_over_the_limit_ends_the_job_and_says_so(real: ProcessSandbox, workdir: Path) -> None:
    code = "held = []\nfor _ in range(40): held.append(bytearray(b'x') * (64 << 20))"
    result = Ran(real, workdir, code, memory_mb=300).result
    assert result.status == "memory"
    assert "300 MB" in result.error


def test_a_file_over_the_limit_is_refused(real: ProcessSandbox, workdir: Path) -> None:
    code = "f = open('big', 'wb', buffering=0)\nfor _ in range(8): f.write(b'x' * 2**20)"
    result = Ran(real, workdir, code, file_mb=2).result
    assert result.status == "error"
    assert "File too large" in result.error
    assert (workdir / "big").stat().st_size == 2 << 20


HELD = """
import fcntl, os, time
def live(name):
    held = open('held', 'a')
    fcntl.flock(held, fcntl.LOCK_SH)
    open(name, 'w').close()
    while True:
        time.sleep(1)
"""
"""A process that lives for ever, and holds a lock for as long."""


def nobody_lives(workdir: Path) -> bool:
    """Say whether every process that held the lock is gone: the kernel lets go of it with the last one."""
    with (workdir / "held").open("a") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def test_cancelling_kills_the_whole_tree(real: ProcessSandbox, workdir: Path) -> None:
    code = (
        HELD
        + """
import subprocess, sys
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid()
        live('grandchild')
    os._exit(0)
subprocess.Popen([sys.executable, '-c', HELD + "live('program')"], start_new_session=True)
print('ready', flush=True)
live('itself')
"""
    )
    code = f"HELD = {HELD!r}\n{code}"
    cancel = CancelSource()

    def once_all_live() -> None:
        until(lambda: all((workdir / name).exists() for name in ("grandchild", "program", "itself")))
        cancel.cancel()

    threading.Thread(target=once_all_live).start()
    ran = Ran(real, workdir, code, cancel, seconds=PATIENCE)
    assert ran.result.status == "cancelled"
    assert ran.result.stdout == "ready\n"
    assert nobody_lives(workdir)


def test_what_a_finished_job_left_behind_is_killed(real: ProcessSandbox, workdir: Path) -> None:
    code = (
        HELD
        + """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        live('grandchild')
    os._exit(0)
while not os.path.exists('grandchild'):
    time.sleep(0.01)
"""
    )
    assert Ran(real, workdir, code).result.status == "ok"
    assert nobody_lives(workdir)


@pytest.fixture
def looked_at_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have folders measured twenty times a second: each of these jobs would go on for ever."""
    monkeypatch.setattr(disk, "LOOK_SECONDS", 0.05)


WRITES = {
    "many bytes": "n = 0\nwhile True:\n    open(f'f{n}', 'wb').write(bytes(1 << 20)); n += 1; wait()",
    "many files": "n = 0\nwhile True:\n    open(f'f{n}', 'w').close(); n += 1",
    "a hole": "open('f', 'wb').truncate(50 << 20)\nwhile True: wait()",
    "deep folders": "while True:\n    os.mkdir('d'); os.chdir('d'); wait()",
    "in its home": "file = open(os.environ['HOME'] + '/f', 'wb')\nwhile True:\n    file.write(bytes(1 << 20)); wait()",
    "behind a closed door": "os.mkdir('d'); os.chdir('d'); os.chmod('.', 0o300)\n"
    "file = open('f', 'wb')\nwhile True:\n    file.write(bytes(1 << 20)); wait()",
}


@pytest.mark.usefixtures("looked_at_often")
@pytest.mark.parametrize("what", WRITES)
def test_a_job_that_writes_too_much_is_stopped_while_it_runs(real: ProcessSandbox, workdir: Path, what: str) -> None:
    (workdir / "input").write_bytes(bytes(30 << 20))  # what it is given does not count
    code = "import os, time\ndef wait(): time.sleep(0.001)\n" + WRITES[what]
    result = Ran(real, workdir, code, disk_mb=40, files=5_000).result
    assert result.status == "disk", result
    assert result.error
    assert remove_tree(workdir, real._places.leftover) == ""
    assert result.left == ""
    assert leftovers(real._places.leftover) == 0


@pytest.mark.usefixtures("looked_at_often")
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="open files are seen in /proc")
def test_files_without_a_name_count_too(real: ProcessSandbox, workdir: Path) -> None:
    code = """
import os, time
kept = []
while True:
    kept.append(open('f', 'wb'))
    os.unlink('f')
    kept[-1].write(bytes(1 << 20))
    kept[-1].flush()
    time.sleep(0.001)
"""
    result = Ran(real, workdir, code, disk_mb=40).result
    assert (result.status, result.error) == ("disk", "the files have more than 40 MB together")


@pytest.mark.usefixtures("looked_at_often")
def test_a_job_within_its_bounds_ends_by_itself(real: ProcessSandbox, workdir: Path) -> None:
    code = """
import time
for n in range(100):
    open(f'f{n}', 'wb').write(bytes(1 << 16))
until = time.monotonic() + 0.5
while time.monotonic() < until:
    time.sleep(0.05)
"""
    assert Ran(real, workdir, code, disk_mb=20, files=200).result.status == "ok"


def test_a_job_cancelled_beforehand_does_not_run(real: ProcessSandbox, workdir: Path) -> None:
    cancel = CancelSource()
    cancel.cancel()
    assert Ran(real, workdir, "open('ran', 'w')", cancel).result.status == "cancelled"
    assert not (workdir / "ran").exists()


def test_output_is_shown_live_in_small_chunks(real: ProcessSandbox, workdir: Path) -> None:
    # The job goes on only when what it printed first was shown.
    seen = workdir / "seen"
    seen.unlink(missing_ok=True)
    code = "import os, time\nprint('one')\nwhile not os.path.exists('seen'): time.sleep(0.01)\n"
    code += "print('two')\nprint('x' * 30000)"
    ran = Ran(real, workdir, code, shown=lambda _: seen.touch())
    assert ran.result.status == "ok"
    assert ran.live[0] == ("stdout", "one\n")
    assert max(len(text.encode()) for _, text in ran.live) <= 8 * 1024
    assert "".join(text for _, text in ran.live) == ran.result.stdout


def test_bytes_that_are_no_text_are_replaced(real: ProcessSandbox, workdir: Path) -> None:
    result = Ran(real, workdir, "import os; os.write(1, b'gene \\xff\\xfe end \\xc3\\xa9')").result
    assert result.stdout == "gene \ufffd\ufffd end é"


def test_jobs_run_side_by_side_and_keep_apart(real: ProcessSandbox, workdir: Path) -> None:
    results: dict[int, Ran] = {}
    together = threading.Barrier(4, timeout=PATIENCE)

    def one(number: int) -> None:
        folder = workdir / str(number)
        folder.mkdir(exist_ok=True)
        (folder / "all").unlink(missing_ok=True)

        def shown(text: str) -> None:
            if "in" in text:
                together.wait()  # each goes on only when all four are at work
                (folder / "all").touch()

        code = "import os, time, random\nprint('in', flush=True)\nwhile not os.path.exists('all'): time.sleep(0.01)\n"
        code += f"print({number}, random.random())\nopen('mine', 'w').write('{number}')"
        results[number] = Ran(real, folder, code, shown=shown, seconds=PATIENCE)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not together.broken
    assert [results[n].result.stdout.split()[1] for n in range(4)] == ["0", "1", "2", "3"]
    assert len({results[n].result.stdout.split()[2] for n in range(4)}) == 4, (
        "forks must not share their random numbers"
    )
    assert [(workdir / str(n) / "mine").read_text() for n in range(4)] == ["0", "1", "2", "3"]


def test_times_and_memory_are_measured(real: ProcessSandbox, workdir: Path) -> None:
    result = Ran(real, workdir, "import time\nheld = bytearray(b'x') * (120 << 20)\ntime.sleep(0.3)").result
    assert 0.3 <= result.seconds < PATIENCE
    assert 0.0 < result.overhead_seconds < PATIENCE
    assert result.peak_memory_mb is not None
    assert 120 <= result.peak_memory_mb < 400


def test_a_folder_that_is_not_there_is_the_machines_fault(real: ProcessSandbox, workdir: Path) -> None:
    with pytest.raises(SandboxUnavailable, match="cannot be used"):
        Ran(real, workdir / "missing", "pass")


def test_the_code_sees_itself_as_a_script(real: ProcessSandbox, workdir: Path) -> None:
    code = (
        "import sys, os, __main__\nassert __name__ == '__main__' and __main__.__dict__ is globals()\n"
        "assert os.path.isfile(__file__) and sys.argv == [__file__]\n"
        "assert sys.stdin.read() == ''\nimport tempfile\nopen(tempfile.mktemp(), 'w').write('x')\n"
        "assert os.listdir(os.path.expanduser('~')) == []\n"
    )
    result = Ran(real, workdir, code).result
    assert result.status == "ok", result.stderr


def test_further_paths_can_be_read_when_listed_and_not_be_written(
    real: ProcessSandbox, workdir: Path, tmp_path: Path
) -> None:
    data = tmp_path / "data.csv"
    data.write_text("gene\n")
    (workdir / "input.csv").unlink(missing_ok=True)
    (workdir / "input.csv").symlink_to(data)
    job = Job(id="step", code="print(open('input.csv').read())", workdir=workdir, readable=(data,))
    assert real.run(job, on_output=lambda *_: None, cancel=CancelSource()).stdout == "gene\n\n"
    job = Job(id="step", code=f"open({str(data)!r}, 'w').write('x')", workdir=workdir, readable=(data,))
    result = real.run(job, on_output=lambda *_: None, cancel=CancelSource())
    if real.report().isolation["filesystem"]:
        assert result.status == "error"
        assert data.read_text() == "gene\n"


def test_nothing_of_a_job_stays_in_the_sandboxs_own_folder(real: ProcessSandbox, workdir: Path) -> None:
    Ran(real, workdir, "import os, tempfile\nd = tempfile.mkdtemp()\nopen(d + '/x', 'w')\nos.chmod(d, 0)")
    assert list((real._places.base / "jobs").iterdir()) == []


def test_the_fake_sandbox_keeps_the_parts_of_the_contract_it_can(tmp_path: Path) -> None:
    sandbox = EchoSandbox()
    ran = Ran(sandbox, tmp_path, "print(1)")
    assert (ran.result.status, ran.result.stdout) == ("ok", "print(1)")
    assert ran.live[0] == ("stdout", "print(1)")
    with pytest.raises(SandboxUnavailable, match="cannot be used"):
        Ran(sandbox, tmp_path / "missing", "pass")
    cancel = CancelSource()
    cancel.cancel()
    assert Ran(sandbox, tmp_path, "pass", cancel).result.status == "cancelled"
    assert not any(sandbox.report().isolation.values())
    sandbox.close()
    with pytest.raises(SandboxUnavailable):
        Ran(sandbox, tmp_path, "pass")
