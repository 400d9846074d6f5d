"""What hostile code can do: each attempt is made, and the report must say what came of it."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from engine.adapters.process_sandbox import ProcessSandbox
from engine.adapters.sandbox.confine import landlock_version
from engine.adapters.sandbox.worker import find_bubblewrap
from engine.domain.results import ExecResult
from engine.ports import Job, Limits
from engine.runtime.cancel import CancelSource

ASPECTS = {"network", "filesystem", "home", "environment", "memory", "processes", "users"}
KINDS = {
    "bubblewrap": {"use_bubblewrap": True},
    "bubblewrap_with_landlock": {"use_bubblewrap": True, "isolations": ("landlock",)},
    "bubblewrap_around_each_job": {"use_bubblewrap": True, "isolations": ()},
    "namespaces_without_control_groups": {"use_bubblewrap": False, "control_groups": False},
    "landlock": {"use_bubblewrap": False, "isolations": ("landlock",), "control_groups": False},
    "plain": {"use_bubblewrap": False, "isolations": (), "control_groups": False},
}
SECRET = "sk-not-for-the-eyes-of-any-step-0123456789"


def run(sandbox: ProcessSandbox, code: str, name: str = "job", **limits: float) -> ExecResult:
    workdir = sandbox._places.scratch / "runs" / name
    workdir.mkdir(parents=True, exist_ok=True)
    job = Job(id=name, code=textwrap.dedent(code), workdir=workdir, limits=Limits(**{"seconds": 90.0, **limits}))
    return sandbox.run(job, on_output=lambda *_: None, cancel=CancelSource())


@pytest.fixture(scope="module", params=KINDS)
def hostile(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessSandbox]:
    if "bubblewrap" in request.param and find_bubblewrap() is None:
        pytest.skip("bubblewrap is not installed or cannot make namespaces on this machine")
    if "landlock" in request.param and landlock_version() < 6:
        pytest.skip("this kernel has no Landlock that scopes signals (version 6)")
    os.environ["BIODESK_TEST_KEY"] = SECRET
    sandbox = ProcessSandbox(tmp_path_factory.mktemp("scratch"), **{"preload": ("json",), **KINDS[request.param]})
    if "namespaces" in request.param and sandbox._found().isolation != "namespaces":
        sandbox.close()
        pytest.skip("this user may not make namespaces without bubblewrap")
    sandbox.warm()
    yield sandbox
    sandbox.close()
    del os.environ["BIODESK_TEST_KEY"]


def attempt(sandbox: ProcessSandbox, action: str, name: str = "job") -> bool:
    """Say whether the hostile action, a Python expression or statements ending in `got = ...`, succeeded."""
    body = action if "got =" in action else f"got = {action}"
    code = "try:\n" + textwrap.indent(textwrap.dedent(body), "    ") + "\nexcept BaseException as error:\n"
    code += "    print('refused', type(error).__name__, error)\nelse:\n    print('GOT' if got else 'refused')\n"
    result = run(sandbox, "import os, sys, socket, ctypes, signal, subprocess\n" + code, name)
    assert "refused" in result.stdout or "GOT" in result.stdout, f"the attempt itself is broken: {result}"
    return "GOT" in result.stdout


def test_the_report_names_every_aspect_and_what_is_missing(hostile: ProcessSandbox) -> None:
    report = hostile.report()
    assert set(report.isolation) == ASPECTS
    assert report.available
    assert len(report.missing) >= sum(1 for held in report.isolation.values() if not held)
    assert all(sentence.endswith(".") for sentence in report.missing)
    assert report.kind == ("process+bubblewrap" if hostile._found().bubblewrap else "process")


def test_bubblewrap_with_namespaces_holds_in_every_aspect(hostile: ProcessSandbox) -> None:
    if hostile._found().isolation not in ("namespaces", "bubblewrap"):
        pytest.skip("a weaker kind: the other tests compare its report with what happens")
    assert hostile.report().isolation == dict.fromkeys(ASPECTS, True)


def test_files_of_the_machine_and_the_home_folder(hostile: ProcessSandbox, tmp_path: Path) -> None:
    holds = hostile.report().isolation
    in_home = next((p for p in Path.home().iterdir() if p.is_file()), None)
    elsewhere = tmp_path / "patients.csv"
    elsewhere.write_text("name\n")
    if holds["filesystem"]:
        assert not attempt(hostile, "open('/etc/shadow').read()")
        assert not attempt(hostile, f"open({str(tmp_path / 'new')!r}, 'w')")
        assert not attempt(hostile, f"os.chmod({str(elsewhere)!r}, 0o777) is None")
        assert not attempt(hostile, "open('/usr/lib/x', 'w')")
        assert not attempt(hostile, "open('/x', 'w')")
    if holds["home"]:
        assert not attempt(hostile, f"open({str(in_home)!r}).read(1) is not None")
        assert not attempt(hostile, f"open({str(elsewhere)!r}).read()")
    else:
        assert attempt(hostile, f"open({str(elsewhere)!r}).read()"), "the report calls a wall missing that stands"


def test_folders_of_other_jobs_and_of_the_sandbox_itself(hostile: ProcessSandbox) -> None:
    run(hostile, "open('result.csv', 'w').write('secret')", "victim")
    victim = hostile._places.scratch / "runs" / "victim" / "result.csv"
    assert victim.read_text() == "secret"
    caches = [hostile._places.base / name for name in ("numba", "matplotlib")]
    got = attempt(hostile, f"open({str(victim)!r}).read()", "thief")
    assert got is not hostile.report().isolation["users"]
    if hostile.report().isolation["users"]:
        assert not attempt(hostile, f"open({str(victim)!r}, 'w')", "thief")
        assert not attempt(hostile, f"os.listdir({str(victim.parent)!r})", "thief")
        for cache in caches:
            assert not attempt(hostile, f"open({str(cache / 'evil')!r}, 'w')", "thief"), (
                "a cache is code others will run"
            )


def test_keys_in_the_environment(hostile: ProcessSandbox) -> None:
    assert SECRET not in run(hostile, "import os; print(dict(os.environ))").stdout
    parent = f"{SECRET!r} in open('/proc/{os.getpid()}/environ').read()"
    every = f"""
        got = False
        for name in os.listdir('/proc'):
            try:
                got = got or {SECRET!r} in open('/proc/' + name + '/environ').read()
            except OSError:
                pass
    """
    if hostile.report().isolation["environment"]:
        assert not attempt(hostile, parent)
        assert not attempt(hostile, every)


def test_the_environment_is_a_short_list(hostile: ProcessSandbox) -> None:
    names = set(json.loads(run(hostile, "import os, json; print(json.dumps(dict(os.environ)))").stdout))
    assert {"PATH", "HOME", "TMPDIR", "LANG", "MPLBACKEND", "PYTHONHASHSEED", "OMP_NUM_THREADS"} <= names
    assert not names & {"BIODESK_TEST_KEY", "PYTEST_CURRENT_TEST", "SSH_AUTH_SOCK", "VIRTUAL_ENV"}
    assert len(names) < 40


def test_the_network(hostile: ProcessSandbox) -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(1)
        connect = f"socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), timeout=2) is not None"
        reached = attempt(hostile, connect)
    if hostile.report().isolation["network"]:
        assert not reached
        route = "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(('192.0.2.1', 9)); got = True"
        assert not attempt(hostile, route)
    elif hostile._found().isolation == "none":
        assert reached


def test_other_processes(hostile: ProcessSandbox) -> None:
    bystander = subprocess.Popen(["sleep", "60"])
    try:
        killed = attempt(hostile, f"os.kill({bystander.pid}, signal.SIGTERM) is None")
        if hostile.report().isolation["processes"]:
            assert not killed
            assert bystander.poll() is None
            assert not attempt(hostile, f"open('/proc/{bystander.pid}/cmdline').read()")
            assert not attempt(hostile, f"open('/proc/{os.getpid()}/cmdline').read()")
            ptrace = f"ctypes.CDLL(None, use_errno=True).ptrace(16, {bystander.pid}, 0, 0) == 0"
            assert not attempt(hostile, ptrace)
    finally:
        bystander.kill()
        bystander.wait()


def test_killing_the_parent_or_everything_costs_nobody_else_anything(hostile: ProcessSandbox) -> None:
    if hostile._found().isolation == "none":
        pytest.skip("without walls a step can end its own keeper: `report` says so under processes")
    result = run(hostile, "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\nprint('still here')")
    assert result.status == ("killed" if hostile._found().isolation == "bubblewrap" else result.status)
    assert result.status in ("ok", "error", "killed")
    result = run(hostile, "import os, signal, time\nos.kill(-1, signal.SIGKILL)\ntime.sleep(0.1)")
    assert result.status in ("ok", "error", "killed")
    assert run(hostile, "print('next')").stdout == "next\n"


def test_mounting_and_new_namespaces(hostile: ProcessSandbox) -> None:
    libc = "libc = ctypes.CDLL(None, use_errno=True)\n"
    assert not attempt(hostile, libc + "got = libc.mount(b'tmpfs', b'/tmp', b'tmpfs', 0, None) == 0")
    assert not attempt(hostile, "os.setuid(0) is None and os.getuid() == 0 and os.geteuid() != int(os.environ['UID'])")
    if hostile._found().isolation == "namespaces":
        for flag in (0x10000000, 0x00020000, 0x40000000, 0x10020000):
            assert not attempt(hostile, libc + f"got = libc.unshare({flag}) == 0")
        assert not attempt(hostile, "open('/proc/sys/user/max_user_namespaces', 'w').write('100')")
        assert not attempt(hostile, "open('/proc/sys/kernel/core_pattern', 'w').write('|/x')")
        assert not attempt(hostile, libc + "got = libc.umount2(b'/tmp', 2) == 0")
        assert not attempt(hostile, "os.mknod('disk', 0o60600, os.makedev(8, 0)) is None")


def test_many_processes(hostile: ProcessSandbox) -> None:
    code = """
    import os, time
    made = 0
    try:
        for _ in range(400):
            if os.fork() == 0:
                time.sleep(15)
                os._exit(0)
            made += 1
    except OSError:
        pass
    open('made', 'w').write(str(made))
    time.sleep(0.6)
    """
    result = run(hostile, code, "bomb", processes=24)
    made = hostile._places.scratch / "runs" / "bomb" / "made"
    counted = int(made.read_text()) if made.exists() else 0
    assert result.status == "killed" or counted <= 24
    assert _eventually(lambda: not [p for p in _tree() if "sleep" in p.name()])


def test_memory_shared_by_many_processes_is_counted_together(hostile: ProcessSandbox) -> None:
    code = """
    import os, time
    for _ in range(8):
        if os.fork() == 0:
            held = bytearray(b'x') * (60 << 20)
            time.sleep(50)
            os._exit(0)
    for _ in range(400):  # it takes a moment until the memory is taken, and another until that is noticed
        time.sleep(0.1)
        if any(os.waitpid(-1, os.WNOHANG) != (0, 0) for _ in range(8)):
            raise SystemExit('a part of it was killed')
    """
    result = run(hostile, code, memory_mb=200, seconds=90)
    assert result.status == "memory", result


def test_a_gigabyte_of_output_costs_neither_memory_nor_the_run(hostile: ProcessSandbox) -> None:
    before = psutil.Process().memory_info().rss
    result = run(
        hostile,
        "import os\nb = b'x' * 65535 + b'\\n'\nfor _ in range(16384): os.write(1, b)\nprint('end')",
        seconds=300,
    )
    assert result.status == "ok"
    assert result.truncated
    assert len(result.stdout) < (1 << 20) + 200
    assert result.stdout.endswith("end\n")
    assert "bytes left out" in result.stdout
    assert psutil.Process().memory_info().rss - before < 60 << 20


def test_control_groups_are_removed(tmp_path: Path) -> None:
    # In a process of its own: groups are named by process, and other tests' sandboxes keep theirs in this one.
    script = f"""
import os
from pathlib import Path
from engine.adapters.process_sandbox import ProcessSandbox
from engine.ports import Job
from engine.runtime.cancel import CancelSource
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


def _tree() -> list[psutil.Process]:
    return psutil.Process().children(recursive=True)


def _eventually(condition, seconds: float = 60.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with contextlib.suppress(psutil.NoSuchProcess):
            if condition():
                return True
        time.sleep(0.02)
    return False
