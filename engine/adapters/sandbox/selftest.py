"""Finds out what a job can do here by letting one try: the answer `doctor` shows and a run records.

A wall that is configured but does not hold must not be reported as one. Each attempt below is what hostile code would
do first; an aspect is isolated only when every attempt on it failed.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import secrets
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from engine.adapters.sandbox import syscalls
from engine.adapters.sandbox.foundation import Foundation, TriedSandbox
from engine.adapters.sandbox.view import Places, base_environment
from engine.errors import SandboxUnavailable
from engine.ports.sandbox import Job, Limits, SandboxReport
from engine.trees import remove_tree

ASPECTS = ("network", "filesystem", "home", "workspace", "environment", "memory", "processes", "users", "kernel")
MISSING = {
    "network": "Steps can use the network. On Linux, bubblewrap or user namespaces would prevent it.",
    "filesystem": "Steps can write, or change rights, outside their own folder. On Linux, bubblewrap prevents it.",
    "home": "Steps can read your home folder and other files of this machine. On Linux, bubblewrap or a kernel with "
    "Landlock prevents it.",
    "workspace": "Steps can read the workspace, with all data and results in it. On Linux, bubblewrap or a kernel with "
    "Landlock prevents it.",
    "environment": "Steps can read the environment, and with it the keys, of Biodesk's own process. "
    "On Linux, bubblewrap or a kernel with Landlock prevents it.",
    "memory": "The memory of steps is not limited. On Linux it is.",
    "processes": "Steps can see or end other processes, or start more than they may. On Linux, bubblewrap prevents it.",
    "users": "Steps can read the folders of other steps. On Linux, bubblewrap or a kernel with Landlock prevents it.",
    "kernel": "Steps can make system calls they have no use for. On Linux, a kernel with seccomp prevents it.",
}

POISON = """
import os, sys
os.environ["BIODESK_POISON"] = "1"
for module in list(sys.modules.values()):
    try:
        module.poisoned = True
    except Exception:
        pass
"""

CALLS: dict[str, tuple[int, ...]] = {
    "io_uring_setup": (8, 0), "keyctl": (0, -3, 1), "add_key": (0, 0, 0, 0, 0), "request_key": (0, 0, 0, 0),
    "ptrace": (16, 1 << 22), "process_vm_readv": (1 << 22, 0, 0, 0, 0, 0), "bpf": (0, 0, 0), "userfaultfd": (0,),
    "perf_event_open": (0, 0, -1, -1, 0), "unshare": (0x10000001,), "setns": (-1, 0), "mount": (0, 0, 0, 0, 0),
    "fsopen": (0, 0), "open_tree": (-1, 0, 0), "open_by_handle_at": (-1, 0, 0), "personality": (0xFFFFFFFF,),
}  # fmt: skip
"""Calls that change nothing whatever comes of them; one is made out unless the kernel does not know or permit it."""

ATTEMPTS = """
import ctypes, errno, json, os, socket, sys
facts = json.load(open("facts.json"))
done = {}

def attempt(name, action):
    try:
        done[name] = bool(action())
    except BaseException:
        done[name] = False

def write(path):
    with open(path, "w") as file:
        file.write("x")
    return True

def change_mode(path):
    os.chmod(path, 0o777)
    return True

def read(path):
    with open(path, "rb") as file:
        return len(file.read(16)) > 0

def can_open(path, how=os.O_RDONLY):
    try:
        os.close(os.open(path, how))
    except OSError:
        return False
    return True

def connect():
    with socket.create_connection(("127.0.0.1", facts["tcp"]), timeout=2):
        return True

def send_datagram():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(facts["token"].encode(), ("127.0.0.1", facts["udp"]))
    return False  # the receiver says whether it arrived

def outward_route():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
    return True

def bound(address):
    return "\\0" + address[1:] if address[0] == "@" else address

def reach_engine(address):
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(2)
        client.connect(bound(address))
    return True

def send_by_pair(address):
    for end in socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM):
        end.sendto(facts["token"].encode(), bound(address))
    return False  # the receiver says whether it arrived

def shared_object():
    return ctypes.CDLL(None).shmctl(facts["shared"], 2, ctypes.create_string_buffer(512)) == 0

def unfiltered_thread():
    told = set()
    for task in os.listdir("/proc/self/task"):
        with open("/proc/self/task/" + task + "/status") as file:
            told.add("".join(line for line in file if line.startswith("Seccomp")))
    return len(told) != 1 or "Seccomp:\\t2\\n" not in told.pop()

def make_socket(family):
    socket.socket(family, socket.SOCK_RAW if family == 17 else socket.SOCK_DGRAM).close()
    return True

def call(number, arguments):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments)) != -1:
        return True
    return ctypes.get_errno() not in (errno.EPERM, errno.EACCES, errno.ENOSYS)

def leave(folder):
    with open(folder + "/selftest", "w") as file:
        file.write("x")
    os.unlink(folder + "/selftest")
    return True

def environ_of_others():
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                if facts["canary"].encode() in open(f"/proc/{name}/environ", "rb").read():
                    return True
            except OSError:
                pass
    return False

def too_many_processes():
    children = []
    try:
        for _ in range(facts["processes"] * 2):
            pid = os.fork()
            if pid == 0:
                import time
                time.sleep(20)
                os._exit(0)
            children.append(pid)
        import time
        time.sleep(1.0)
        return True
    except OSError:
        return False
    finally:
        for pid in children:
            os.kill(pid, 9)
            os.waitpid(pid, 0)

attempt("network:tcp", connect)
attempt("network:udp", send_datagram)
attempt("network:route", outward_route)
for number, address in enumerate(facts["unix"]):
    attempt("network:unix%d" % number, lambda: reach_engine(address))
for address in facts["datagrams"]:
    attempt("network:datagram", lambda: send_by_pair(address))
attempt("kernel:threads", unfiltered_thread)
attempt("kernel:shared", shared_object)
for family in (16, 17, 38, 40):
    attempt("kernel:socket%d" % family, lambda: make_socket(family))
for name, (number, arguments) in facts["calls"].items():
    attempt("kernel:" + name, lambda: call(number, arguments))
modules = [module for name, module in list(sys.modules.items()) if name != "__main__"]
code = [path for path in (getattr(module, "__file__", None) for module in modules) if path]
attempt("filesystem:kernel", lambda: can_open("/proc/sys/kernel/core_pattern", os.O_WRONLY))
attempt("filesystem:packages", lambda: any(can_open(path, os.O_WRONLY) for path in code))
for place in facts["workspace"]:
    attempt("workspace:" + os.path.basename(place), lambda: read(place))
attempt("users:cache", lambda: any(leave(folder) for folder in facts["caches"] if os.path.isdir(folder)))
attempt("users:poison", lambda: any(hasattr(module, "poisoned") for module in modules)
        or "BIODESK_POISON" in os.environ)
done["warm"] = all(name in sys.modules for name in facts["preloaded"])
attempt("filesystem:write", lambda: write(facts["outside"] + "/written"))
attempt("filesystem:mode", lambda: change_mode(facts["outside"]))
attempt("filesystem:shadow", lambda: read("/etc/shadow"))
home_names = {os.path.basename(path) for path in facts["home"]}
attempt("home:list", lambda: home_names.intersection(os.listdir(os.path.dirname(facts["home"][0]))))
attempt("home:read", lambda: any(can_open(path) for path in facts["home"]))
attempt("environment:other", environ_of_others)
attempt("environment:engine", lambda: read("/proc/%d/environ" % facts["engine"]))
attempt("environment:own", lambda: facts["canary"] in repr(dict(os.environ)))
attempt("processes:signal", lambda: os.kill(facts["engine"], 0) is None)
attempt("processes:see", lambda: read("/proc/%d/status" % facts["engine"]))
attempt("users:read", lambda: read(facts["sibling"]))
attempt("users:list", lambda: len(os.listdir(os.path.dirname(facts["sibling"]))) > 0)
attempt("users:worker", lambda: os.kill(os.getppid(), 0) is None and read("/proc/%d/environ" % os.getppid()))
with open("found.json", "w") as file:
    json.dump(done, file)
attempt("processes:many", too_many_processes)
with open("found.json", "w") as file:
    json.dump(done, file)
"""

MEMORY_ATTEMPT = """
import time
held = []
for _ in range(48):
    held.append(bytearray(b"x") * (64 << 20))
    time.sleep(0.01)
time.sleep(0.5)
"""


class _NeverCancelled:
    cancelled = False

    def on_cancel(self, callback: object) -> object:
        return lambda: None


def _ignore(_: Literal["stdout", "stderr"], __: str) -> None: ...


def examine(sandbox: TriedSandbox, places: Places, found: Foundation, *, groups: bool) -> SandboxReport:
    """Let hostile code try, and report what held."""
    kind = "process+bubblewrap" if found.bubblewrap else "process"
    place = places.scratch / f".selftest-{secrets.token_hex(4)}"
    try:
        through, warm, tried = _got_through(sandbox, places, place)
    except (SandboxUnavailable, OSError) as error:
        nothing: dict[str, bool] = dict.fromkeys(ASPECTS, False)
        return SandboxReport(kind=kind, available=False, warm=False, isolation=nothing, missing=(f"{error}",))
    finally:
        remove_tree(place, places.leftover)
    isolation = {aspect: not through.get(aspect) for aspect in ASPECTS}
    missing = [f"{MISSING[aspect]} Got through: {', '.join(names)}." for aspect, names in through.items()]
    if not tried:
        isolation["workspace"] = False
        missing.append("It was not tried whether steps can read the workspace: no file of it could be looked for.")
    missing += _remarks(found, groups=groups)
    if not warm:
        missing.append("The self-test met a fresh interpreter: the warm worker was not ready in time.")
    return SandboxReport(
        kind=kind, available=True, warm=warm and sandbox.is_warm, isolation=isolation, missing=tuple(missing)
    )


def _remarks(found: Foundation, *, groups: bool) -> list[str]:
    remarks = []
    if not groups and sys.platform.startswith("linux"):
        remarks.append(
            "Memory and processes are counted ten times a second, not by the kernel, and threads not at all: no "
            "control group can be made here. Running Biodesk in a user session of systemd gives one."
        )
    if not found.bubblewrap and sys.platform.startswith("linux"):
        remarks.append("bubblewrap is not used: it is not installed or cannot make namespaces here.")
    if found.problem:
        remarks.append(f"Not offered here: {found.problem}.")
    if found.isolation == "bubblewrap":
        remarks.append("Steps start cold: neither nested namespaces nor Landlock keep steps of one worker apart here.")
    return remarks


def _got_through(sandbox: TriedSandbox, places: Places, place: Path) -> tuple[dict[str, list[str]], bool, bool]:
    """Try everything.

    Returns:
        Aspect -> names of the attempts that nothing stopped; whether the process was one as steps get; whether there
        was anything to try on the workspace.
    """
    workdir, sibling, outside = place / "work", place / "sibling", place / "outside"
    for folder in (workdir, sibling, outside):
        folder.mkdir(parents=True, mode=0o700)
    (sibling / "data.csv").write_text("gene,value\n")
    limits = Limits(seconds=30, memory_mb=2048, processes=48)
    canaries, made = _canaries(places, place.name)
    hello = sandbox.hello
    with _listeners(outside) as (tcp, local, silent), _shared_object() as shared:
        udp = silent[0]
        token = secrets.token_hex(8)
        facts = {
            "tcp": tcp.getsockname()[1],
            "udp": udp.getsockname()[1],
            "token": token,
            "outside": str(outside),
            "sibling": str(sibling / "data.csv"),
            "home": _hidden_in_home(places),
            "engine": os.getpid(),
            "canary": _canary(),
            "processes": limits.processes,
            "unix": local,
            "datagrams": [_told(end) for end in silent[1:]],
            "shared": shared,
            "calls": _calls(),
            "workspace": [str(path) for path in canaries],
            "caches": [str(places.caches / name) for name in ("numba", "matplotlib")],
            "preloaded": hello.preloaded if hello else [],
        }
        (workdir / "facts.json").write_text(json.dumps(facts))
        try:
            for code in (POISON, ATTEMPTS):
                job = Job(id="selftest", code=code, workdir=workdir, limits=limits, threads=2)
                result = sandbox.run(job, on_output=_ignore, cancel=_NeverCancelled())  # type: ignore[arg-type]
        finally:
            for path in canaries:
                if path.name == place.name:
                    path.unlink(missing_ok=True)
            for folder in made:
                with contextlib.suppress(OSError):  # somebody began to use it
                    folder.rmdir()
        arrived = [_received(end, token) for end in silent]
    try:
        done: dict[str, bool] = json.loads((workdir / "found.json").read_text())
    except (OSError, ValueError) as error:
        raise SandboxUnavailable(f"The self-test did not run: {result.error or result.stderr[-300:]}.") from error
    warm = done.pop("warm") and (hello is not None or not sandbox.should_be_warm)
    done["network:udp"], done["network:datagram"] = arrived[0], any(arrived[1:])
    done["kernel:unfiltered"] = not sys.platform.startswith("linux")
    hungry = Job(id="selftest-memory", code=MEMORY_ATTEMPT, workdir=workdir, limits=Limits(seconds=30, memory_mb=512))
    ended = sandbox.run(hungry, on_output=_ignore, cancel=_NeverCancelled())  # type: ignore[arg-type]
    done["memory:3 GB"] = ended.status != "memory"
    through: dict[str, list[str]] = {}
    for aspect in ASPECTS:
        names = [name.partition(":")[2] for name, on in done.items() if on and name.startswith(aspect + ":")]
        through |= {aspect: names} if names else {}
    return through, warm, bool(canaries)


def _canaries(places: Places, name: str) -> tuple[list[Path], list[Path]]:
    """Put a file into each hidden folder; where that is not allowed, take those it has.

    Returns:
        The files, and the folders that were made for them because there were none yet, the innermost first.
    """
    found: list[Path] = []
    made: list[Path] = []
    for folder in map(Path, places.hidden):
        missing = [path for path in (folder, *folder.parents) if not path.exists()]
        with contextlib.suppress(OSError):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            made += missing
        if folder.is_dir():
            try:
                (folder / name).write_text("for nobody's eyes")
                found.append(folder / name)
            except OSError:
                found += [path for path in folder.iterdir() if path.is_file()]
    return found, made


def _calls() -> dict[str, tuple[int | None, tuple[int, ...]]]:
    column, _ = syscalls.MACHINES.get(os.uname().machine, (0, 0))
    known = sys.platform.startswith("linux") and os.uname().machine in syscalls.MACHINES
    return {name: (syscalls.REFUSED[name][column], arguments) for name, arguments in CALLS.items() if known}


def _hidden_in_home(places: Places) -> list[str]:
    """Return what lies in the home folder, but for what leads to Python or to the workspace."""
    needed = [
        *places.read_paths(),
        *map(os.path.realpath, places.read_paths()),
        str(places.scratch),
        str(places.caches),
    ]
    try:
        entries = [str(path) for path in Path.home().iterdir()]
    except OSError:
        return []
    return [entry for entry in entries if not any((path + "/").startswith(entry + "/") for path in needed)]


def _canary() -> str:
    """Return a part of the engine's own environment that no other process's would hold by chance."""
    given = base_environment(1).values()  # what every job is given says nothing about the engine
    candidates = [value for value in os.environ.values() if len(value) > 24 and not any(value in own for own in given)]
    return max(candidates, key=len, default=f"HOME={Path.home()}")


@contextlib.contextmanager
def _listeners(folder: Path) -> Iterator[tuple[socket.socket, list[str], list[socket.socket]]]:
    """Yield a TCP listener, addresses of local listeners, and sockets that wait for datagrams, the first by UDP."""
    with contextlib.ExitStack() as stack:
        local: list[str] = []
        silent = [stack.enter_context(socket.socket(type=socket.SOCK_DGRAM))]
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            for address in (f"{folder}/{int(kind)}", f"@{secrets.token_hex(8)}"):
                if address.startswith("/") or sys.platform.startswith("linux"):
                    listener = stack.enter_context(socket.socket(socket.AF_UNIX, kind))
                    with contextlib.suppress(OSError):  # a path too long for a socket
                        listener.bind("\0" + address[1:] if address.startswith("@") else address)
                        if kind == socket.SOCK_STREAM:
                            listener.listen(4)
                            local.append(address)
                        else:
                            silent.append(listener)
        tcp = stack.enter_context(socket.socket())
        tcp.bind(("127.0.0.1", 0))
        tcp.listen(4)
        silent[0].bind(("127.0.0.1", 0))
        for listener in silent:
            listener.setblocking(False)
        yield tcp, local, silent


def _told(listener: socket.socket) -> str:
    """Return the address of a local socket as text; where it begins with @, no file has its name."""
    address = listener.getsockname()
    return f"@{address[1:].decode()}" if isinstance(address, bytes) else address


@contextlib.contextmanager
def _shared_object() -> Iterator[int]:
    """Yield the number of a piece of shared memory (System V) of this process; -1 where there is none."""
    libc = ctypes.CDLL(None)
    number = libc.shmget(0, 4096, 0o600) if sys.platform.startswith("linux") else -1
    try:
        yield number
    finally:
        if number >= 0:
            libc.shmctl(number, 0, None)


def _received(listener: socket.socket, token: str) -> bool:
    with contextlib.suppress(BlockingIOError):
        return listener.recv(64) == token.encode()
    return False
