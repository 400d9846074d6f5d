"""Runs jobs for the process sandbox: started by path, on its own, so that a job never shares a process with the engine.

    python -s -P -B sandbox_worker.py CONTROL_FD LIFELINE_FD SETTINGS_JSON

Three kinds of process, each a fork of the one before:

- the *nursery* imports the heavy libraries once and holds nothing else: no key, no database, no data of a user;
- an *attendant* waits for one job, forked ahead of it so that the job need not wait. Where the system allows it is the
  first process of a process namespace of its own,
  so that nothing a job starts outlives it. It sets up the walls, starts the job, enforces the limits, ends the job's
  whole process tree and reports;
- the *job* runs the code.

The engine sends, over the control socket, one byte with three descriptors: a channel, and the write ends of a stdout
and a stderr. The nursery forks an attendant that says "here" on the channel and waits for a request (a length, then
JSON). It says "begun" when the walls stand, and answers with one JSON line when nothing of the job is left. Any further
byte, or the end of the channel, means: kill it now.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import fcntl
import gc
import importlib
import importlib.util
import json
import linecache
import os
import random
import resource
import select
import signal
import socket
import struct
import sys
import threading
import time
import traceback
import types
from pathlib import Path
from typing import Any

if __name__ == "__main__":

    def _beside(name: str) -> types.ModuleType:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).parent / "sandbox" / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    confine, syscalls = _beside("confine"), _beside("syscalls")
else:
    from engine.adapters.sandbox import confine, syscalls

WATCH_SECONDS = 0.1
REPORT_BYTES = 64 * 1024
JOB_FD = 3


# --- the nursery ----------------------------------------------------------------------------------------------------


def main(arguments: list[str]) -> None:
    """Probe what can be isolated, import, then start attendants until the engine is gone."""
    control = socket.socket(fileno=int(arguments[0]))
    lifeline = int(arguments[1])
    settings: dict[str, Any] = json.loads(arguments[2])
    _end_when_closed(lifeline)
    confine.adopt_orphans()
    mode, problem = _best_isolation(settings)
    alone = mode == "namespaces" or settings["own_walls"]
    calls, unfiltered = _call_filter(alone=alone)
    if unfiltered:
        problem = "; ".join(filter(None, (problem, f"filter of system calls: {unfiltered}")))
    preloaded, failed = _preload(settings["preload"])
    _say(control, {"isolation": mode, "problem": problem, "preloaded": preloaded, "failed": failed,
                   "threads": _thread_count(), "landlock": confine.landlock_version()})  # fmt: skip
    _serve(control, lifeline, {**settings, "isolation": mode, "calls": calls})


def _end_when_closed(lifeline: int) -> None:
    """Ask the kernel to end this process the moment the engine's end of the pipe closes, whatever it is doing."""
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC | os.O_NONBLOCK)
    with contextlib.suppress(BlockingIOError):
        if os.read(lifeline, 1) == b"":
            os._exit(0)


def _best_isolation(settings: dict[str, Any]) -> tuple[str, str]:
    """Try the allowed isolations in a throw-away child, strongest first; return what works and why others do not."""
    problems = []
    for mode in settings["isolations"]:
        error = _try_isolation(mode, settings)
        if not error:
            return mode, "; ".join(problems)
        problems.append(f"{mode}: {error}")
    return "none", "; ".join(problems)


def _try_isolation(mode: str, settings: dict[str, Any]) -> str:
    view = {**settings["probe_view"], "env": {"HOME": "/"}}
    if mode == "none":
        return ""

    def attempt() -> None:
        if mode == "landlock":
            if confine.landlock_version() < 1:
                raise OSError("this kernel has no Landlock")
            confine.drop_privileges()
            confine.restrict_with_landlock(view)
            return
        confine.enter_namespaces()
        _in_child(lambda: confine.build_view(view, settings["staging"], 16))

    return _outcome_in_child(attempt)


def _call_filter(*, alone: bool) -> tuple[bytes, str]:
    """Return the filter of system calls once it was tried, or nothing and why there is none."""
    calls = b""

    def attempt() -> None:
        confine.drop_privileges()
        syscalls.install(calls)

    try:
        calls = syscalls.assembled(alone=alone)
        problem = _outcome_in_child(attempt)
    except OSError as error:
        problem = str(error)
    return (b"", problem) if problem else (calls, "")


def _in_child(action: Any) -> None:
    problem = _outcome_in_child(action)
    if problem:
        raise OSError(problem)


def _outcome_in_child(action: Any) -> str:
    """Run `action` in a forked child; return the text of the error it ended in, or ""."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        text = ""
        try:
            action()
        except BaseException as error:  # noqa: BLE001 - it crosses a process border as text
            text = f"{error}" or type(error).__name__
        os.write(write_end, text.encode()[:4000])
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as file:
        text = file.read().decode(errors="replace")
    _, status = os.waitpid(child, 0)
    return text if status == 0 else text or f"the probe ended with status {status}"


def _preload(modules: list[str]) -> tuple[list[str], dict[str, str]]:
    preloaded, failed = [], {}
    for name in modules:
        try:
            importlib.import_module(name)
        except BaseException as error:  # noqa: BLE001 - it crosses a process border as text
            failed[name] = f"{type(error).__name__}: {error}"[:300]
        else:
            preloaded.append(name)
    gc.collect()
    gc.freeze()
    return preloaded, failed


def _thread_count() -> int:
    with contextlib.suppress(OSError):
        return len(os.listdir("/proc/self/task"))  # noqa: PTH208
    return 1


def _say(channel: socket.socket, message: dict[str, Any]) -> None:
    channel.sendall(json.dumps(message).encode() + b"\n")


def _serve(control: socket.socket, lifeline: int, settings: dict[str, Any]) -> None:
    """Fork an attendant for each set of descriptors that arrives; ends when the engine closes its end."""
    wake = _wake_on_child_end()
    attendants: set[int] = set()
    while True:
        ready, _, _ = select.select([control, wake], [], [])
        if wake in ready:
            os.read(wake, 4096)
            ended = {pid: status for pid, status, _ in _reap()}
            # In a process namespace nothing outlives its attendant. Elsewhere a job can end it, and live on.
            amiss = any(ended.values()) or ended.keys() - attendants
            attendants -= ended.keys()
            if settings["isolation"] != "namespaces" and amiss:
                _end_strays(attendants)
        if control in ready:
            descriptors = _descriptors(control)
            attendants.add(_start_attendant((control.fileno(), lifeline, wake), descriptors, settings))
            for descriptor in descriptors:
                os.close(descriptor)


def _descriptors(control: socket.socket) -> tuple[int, int, int]:
    data, ancillary, _, _ = control.recvmsg(1, socket.CMSG_SPACE(array.array("i").itemsize * 3))
    if not data:
        os._exit(0)
    numbers = array.array("i")
    for level, kind, payload in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            numbers.frombytes(payload[: len(payload) - len(payload) % numbers.itemsize])
    channel, stdout, stderr = numbers
    return channel, stdout, stderr


def _wake_on_child_end() -> int:
    """Return a descriptor that becomes readable when a child ended."""
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return wake_read


def _reap() -> list[tuple[int, int, Any]]:
    ended = []
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status, usage = os.wait4(-1, os.WNOHANG)
            if pid == 0:
                break
            ended.append((pid, status, usage))
    return ended


def _end_strays(attendants: set[int]) -> None:
    """End what came to the nursery when its attendant was killed; each end is heard of, and leads here again."""
    for pid, parent in _parents():
        if parent == os.getpid() and pid not in attendants:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _start_attendant(unneeded: tuple[int, ...], own: tuple[int, int, int], settings: dict[str, Any]) -> int:
    attendant = os.fork()
    if attendant != 0:
        return attendant
    try:
        signal.set_wakeup_fd(-1)
        for descriptor in unneeded:
            os.close(descriptor)
        if settings["isolation"] == "namespaces":
            confine.enter_namespaces()
            if os.fork() != 0:
                os._exit(0)  # only a child is inside the new process namespace; the nursery adopts it
        os.setsid()
        Attendant(settings).attend(*own)
    except BaseException:  # noqa: BLE001 - a forked child must never run on into its parent's code
        with contextlib.suppress(BaseException):
            traceback.print_exc()
    finally:
        os._exit(1)


# --- an attendant ---------------------------------------------------------------------------------------------------


class Attendant:
    """Sees one job through from its request to the last of its processes."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.isolation: str = settings["isolation"]
        self.staging: str = settings["staging"]
        self.calls: bytes = settings["calls"]
        self.first_process = os.getpid() == 1
        self.report = bytearray()
        self.peak_bytes = 0

    def attend(self, channel_number: int, stdout: int, stderr: int) -> None:
        """Wait for the request, run the job, report, end."""
        channel = socket.socket(fileno=channel_number)
        channel.sendall(b"here\n")
        request = self._request(channel)
        try:
            if self.isolation == "namespaces":
                confine.build_view(request["view"], self.staging, max(16, request["memory_mb"] // 2))
            confine.adopt_orphans()
            confine.drop_privileges()
        except OSError as error:
            _say(channel, {"status": "setup", "error": str(error)})
            os._exit(0)
        channel.sendall(b"begun\n")
        result = self._run(channel, request, stdout, stderr)
        with contextlib.suppress(OSError):
            _say(channel, result)
        os._exit(0)

    def _request(self, channel: socket.socket) -> dict[str, Any]:
        with channel.makefile("rb", buffering=0) as file:
            size = struct.unpack(">I", _read_exactly(file, 4))[0]
            return json.loads(_read_exactly(file, size))

    def _run(self, channel: socket.socket, request: dict[str, Any], stdout: int, stderr: int) -> dict[str, Any]:
        report_read, report_write = os.pipe()
        wake = _wake_on_child_end()
        started = time.monotonic()
        confine.set_dumpable(allowed=False)  # before the fork: the job never gets a moment to look in here
        job = os.fork()
        if job == 0:
            run_job({**request, "calls": self.calls}, self.isolation, stdout, stderr, report_write)
        for descriptor in (stdout, stderr, report_write):
            os.close(descriptor)
        os.set_blocking(report_read, False)
        stopped, status, usage = self._watch(channel, request, job, (report_read, wake), started)
        ended = time.monotonic()
        self._kill_everything()
        self._read_report(report_read)
        return self._result(stopped, status, usage, request, (started, ended))

    def _watch(
        self, channel: socket.socket, request: dict[str, Any], job: int, wakers: tuple[int, int], started: float
    ) -> tuple[str, int | None, Any]:
        """Wait for the job's end or for a reason to end it."""
        report_read, wake = wakers
        deadline = started + request["seconds"]
        poll = select.poll()
        for descriptor in (channel.fileno(), report_read, wake):
            poll.register(descriptor, select.POLLIN)
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                return "timeout", None, None
            pause = min(left, WATCH_SECONDS) if request["watch"] else left
            for descriptor, _ in poll.poll(max(1, int(pause * 1000))):
                if descriptor == channel.fileno():
                    return "cancelled", None, None
                if descriptor == report_read and not self._read_report(report_read):
                    poll.unregister(report_read)
                if descriptor == wake:
                    os.read(wake, 4096)
            ended = next(((status, usage) for pid, status, usage in _reap() if pid == job), None)
            if ended is not None:
                return "", *ended
            excess = self._excess(request) if request["watch"] else ""
            if excess:
                return excess, None, None

    def _read_report(self, report_read: int) -> bool:
        """Take what the job reported; return False at its end. More than is sensible is thrown away."""
        with contextlib.suppress(BlockingIOError):
            while True:
                piece = os.read(report_read, 65536)
                if not piece:
                    return False
                self.report += piece[: REPORT_BYTES - len(self.report)]
        return True

    def _result(
        self, stopped: str, status: int | None, usage: Any, request: dict[str, Any], times: tuple[float, float]
    ) -> dict[str, Any]:
        notes: dict[str, Any] = {}
        for line in bytes(self.report).split(b"\n"):
            with contextlib.suppress(ValueError):
                note = json.loads(line)
                if isinstance(note, dict):
                    notes.update(note)
        began, ended = notes.get("start"), notes.get("end")
        began = began if isinstance(began, float) and times[0] <= began <= times[1] else times[0]
        ended = ended if isinstance(ended, float) and began <= ended <= times[1] else times[1]
        peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024) if usage else 0
        result: dict[str, Any] = {"code_seconds": ended - began, "peak_bytes": max(peak, self.peak_bytes)}
        if stopped:
            return {**result, **_why_stopped(stopped, request)}
        assert status is not None
        return {
            **result,
            **_how_it_ended(status, str(notes.get("error", "")), request, memory=notes.get("memory") is True),
        }

    def _excess(self, request: dict[str, Any]) -> str:
        """Say which limit the job's processes together are over: where no control group counts, this does."""
        pids = self._descendants()
        if len(pids) > request["processes"]:
            return "processes"
        limit = request["memory_mb"] << 20
        rough = sum(_own_bytes(pid) for pid in pids)
        self.peak_bytes = max(self.peak_bytes, rough if len(pids) == 1 else 0)
        # Pages shared with the nursery count for each process; the exact share is dearer, so only when it matters.
        if rough > limit and sum(_fair_share_bytes(pid) for pid in pids) > limit:
            return "memory"
        return ""

    def _descendants(self) -> list[int]:
        me = os.getpid()
        if self.first_process:
            return [pid for pid in _all_pids() if pid != me]
        children: dict[int, list[int]] = {}
        for pid, parent in _parents():
            children.setdefault(parent, []).append(pid)
        found, pending = [], list(children.get(me, []))
        while pending:
            pid = pending.pop()
            found.append(pid)
            pending += children.get(pid, [])
        return found

    def _kill_everything(self) -> None:
        """End every process the job left and wait until they are gone, so that nothing holds its pipes."""
        give_up = time.monotonic() + 5.0
        while time.monotonic() < give_up:
            if self.first_process:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(-1, signal.SIGKILL)
            else:
                for pid in self._descendants():
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        os.kill(pid, signal.SIGKILL)
            try:
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            except ChildProcessError:
                return
            time.sleep(0.002)


def _read_exactly(file: Any, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        piece = file.read(size - len(data))
        if not piece:
            os._exit(0)  # the engine went away or changed its mind before the job began
        data += piece
    return bytes(data)


def _why_stopped(reason: str, request: dict[str, Any]) -> dict[str, Any]:
    if reason == "timeout":
        return {"status": "timeout", "error": f"it ran longer than its limit of {request['seconds']:g} s"}
    if reason == "memory":
        return {"status": "memory", "error": f"it used more than its limit of {request['memory_mb']} MB of memory"}
    if reason == "processes":
        return {"status": "killed", "error": f"it ran more than its limit of {request['processes']} processes"}
    return {"status": "cancelled", "error": "it was cancelled"}


def _how_it_ended(status: int, error: str, request: dict[str, Any], *, memory: bool) -> dict[str, Any]:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        try:
            name = signal.Signals(number).name
        except ValueError:
            name = f"signal {number}"
        return {"status": "killed", "exit_code": -number, "error": f"it was ended by {name}"}
    code = os.WEXITSTATUS(status)
    if code == 0:
        return {"status": "ok", "exit_code": 0}
    if memory:
        return {"status": "memory", "exit_code": code,
                "error": f"it needed more than its limit of {request['memory_mb']} MB of memory ({error})"}  # fmt: skip
    return {"status": "error", "exit_code": code, "error": error or f"it ended with exit code {code}"}


def _all_pids() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208
    except OSError:
        return []


def _parents() -> list[tuple[int, int]]:
    """Return (process, parent) for every process there is."""
    if not confine.LINUX:
        import subprocess

        listing = subprocess.run(["/bin/ps", "-axo", "pid=,ppid="], capture_output=True, text=True, check=False)
        return [(int(pid), int(parent)) for pid, parent in (line.split() for line in listing.stdout.splitlines())]
    pairs = []
    for pid in _all_pids():
        with contextlib.suppress(OSError, ValueError, IndexError):
            pairs.append((pid, int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])))
    return pairs


def _own_bytes(pid: int) -> int:
    with contextlib.suppress(OSError, ValueError, IndexError):
        fields = Path(f"/proc/{pid}/statm").read_text().split()
        return (int(fields[1]) - int(fields[2])) * resource.getpagesize()
    return 0


def _fair_share_bytes(pid: int) -> int:
    with contextlib.suppress(OSError, ValueError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return _own_bytes(pid)


# --- the job --------------------------------------------------------------------------------------------------------


def run_job(request: dict[str, Any], isolation: str, stdout: int, stderr: int, report: int) -> None:
    """Become the job: descriptors, limits, environment, then its code. Never returns."""
    code = 1
    try:
        report = _own_descriptors(stdout, stderr, report)
        _prepare(request, isolation)
        note(report, {"start": time.monotonic()})
        code = _execute(request, report)
        note(report, {"end": time.monotonic()})
    except BaseException as error:  # noqa: BLE001 - the last line of the process
        with contextlib.suppress(BaseException):
            os.write(2, traceback.format_exc().encode())
            note(report, {"error": f"{type(error).__name__}: {error}"[:2000]})
    finally:
        os._exit(code)


def _own_descriptors(stdout: int, stderr: int, report: int) -> int:
    """Keep stdin (empty), stdout, stderr and the report pipe; close everything else."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGIO, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    high = [fcntl.fcntl(number, fcntl.F_DUPFD, 16) for number in (stdout, stderr, report)]
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (high[0], 1), (high[1], 2)):
        os.dup2(source, target, inheritable=True)
    os.dup2(high[2], JOB_FD, inheritable=False)
    os.closerange(JOB_FD + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    for name, number in (("stdout", 1), ("stderr", 2)):
        stream = open(number, "w", encoding="utf-8", errors="replace", buffering=1, closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    sys.stdin = sys.__stdin__ = open(0, closefd=False)  # noqa: SIM115
    return JOB_FD


def _prepare(request: dict[str, Any], isolation: str) -> None:
    os.setsid()
    confine.set_dumpable(allowed=True)
    confine.die_with_parent(signal.SIGKILL)
    _limit(request)
    if isolation == "landlock":
        confine.restrict_with_landlock(request["view"])
    os.environ.clear()
    os.environ.update(request["view"]["env"])
    os.umask(0o022)
    os.chdir(request["workdir"])
    time.tzset()
    syscalls.join_new_keyring()
    if request["calls"]:  # it worked when the worker started
        syscalls.install(request["calls"])
    # Only now: libraries start threads, and keyring, filter and Landlock cover the threads started after them.
    _settle_libraries(request["threads"])


def _limit(request: dict[str, Any]) -> None:
    file_bytes = request["file_mb"] << 20
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if request["process_limit"]:
        resource.setrlimit(resource.RLIMIT_NPROC, (request["process_limit"], request["process_limit"]))
    if request["data_limit"]:
        # What the libraries hold already, and room for the stacks of threads, which count though nobody touches them.
        allowed = request["data_limit"] + _data_bytes() + (512 << 20)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_DATA, (allowed, allowed))


def _data_bytes() -> int:
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmData:"):
                return int(line.split()[1]) * 1024
    return 0


def _settle_libraries(threads: int) -> None:
    """Give libraries imported before the fork what they would have read from this job's environment."""
    random.seed()
    loaded = sys.modules
    if "numpy.random" in loaded:
        # Two jobs forked from the same parent must not draw the same "random" numbers.
        loaded["numpy.random"].seed()
    if "matplotlib" in loaded:
        for name in ("get_configdir", "get_cachedir", "_get_config_or_cache_dir"):
            clear = getattr(getattr(loaded["matplotlib"], name, None), "cache_clear", None)
            if clear:
                clear()
    if "numba.core.config" in loaded:
        config = loaded["numba.core.config"]
        setattr(config, "NUMBA_NUM_THREADS", threads)  # noqa: B010 - a module found by name has no declared attributes
        if "numba.np.ufunc.parallel" in loaded:
            setattr(loaded["numba.np.ufunc.parallel"], "NUM_THREADS", threads)  # noqa: B010
        setattr(config, "CACHE_DIR", os.environ["NUMBA_CACHE_DIR"])  # noqa: B010
        _tolerate_read_only_cache()
    if threads > 1 and "threadpoolctl" in loaded:
        loaded["threadpoolctl"].threadpool_limits(threads)


def _tolerate_read_only_cache() -> None:
    """Let compiled functions be read from the nursery's cache, and a job's own stay in its memory."""
    caching = sys.modules.get("numba.core.caching")
    if caching is None:
        return
    save = caching.Cache.save_overload

    def save_if_possible(self: Any, signature: Any, data: Any) -> None:
        with contextlib.suppress(OSError):
            save(self, signature, data)

    caching.Cache.save_overload = save_if_possible


def _execute(request: dict[str, Any], report: int) -> int:
    """Run the code as `__main__`, with what a script of its own would have at its end; return its exit code."""
    path, code = request["script"], request["code"]
    module = types.ModuleType("__main__")
    module.__file__ = path
    module.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = module
    sys.argv = [path]
    sys.path.insert(0, request["workdir"])
    linecache.cache[path] = (len(code), None, code.splitlines(keepends=True), path)
    exit_code = 0
    try:
        exec(compile(code, path, "exec", dont_inherit=True), module.__dict__)  # noqa: S102 - what it is for
    except SystemExit as leaving:
        exit_code = _exit_code(leaving, report)
    except BaseException as error:  # noqa: BLE001 - the last line of the process
        exit_code = 1
        _explain(error, path, report)
    return _finish(exit_code)


def _exit_code(leaving: SystemExit, report: int) -> int:
    if leaving.code is None:
        return 0
    if isinstance(leaving.code, int):
        exit_code = leaving.code & 0xFF
        if exit_code:
            note(report, {"error": f"SystemExit: {leaving.code}"})
        return exit_code
    sys.stderr.write(f"{leaving.code}\n")
    note(report, {"error": f"SystemExit: {leaving.code}"[:2000]})
    return 1


def _explain(error: BaseException, path: str, report: int) -> None:
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != path:
        trace = trace.tb_next
    # The kernel's refusal may leave no room for a traceback: the one line goes first.
    try:
        line = " ".join(f"{type(error).__name__}: {error}".split())
    except BaseException:  # noqa: BLE001 - a forked child must never run on into its parent's code
        line = type(error).__name__
    note(report, {"error": line[:2000], "memory": isinstance(error, MemoryError)})
    traceback.print_exception(type(error), error, trace)


def _finish(exit_code: int) -> int:
    """Wait for threads, call what was registered for the end, and flush: what an interpreter does when it ends."""
    with contextlib.suppress(BaseException):
        threading._shutdown()  # type: ignore[attr-defined]
    with contextlib.suppress(BaseException):
        atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:  # noqa: BLE001 - e.g. the disk behind a redirected stream is full
            exit_code = exit_code or 120
    return exit_code


def note(report: int, message: dict[str, Any]) -> None:
    """Report to the attendant; a full pipe or a closed end is the attendant's worry."""
    with contextlib.suppress(OSError):
        os.write(report, json.dumps(message).encode() + b"\n")


if __name__ == "__main__":
    main(sys.argv[1:])
