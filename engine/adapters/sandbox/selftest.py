"""Finds out what a job can do here by letting one try: the answer `doctor` shows and a run records.

A wall that is configured but does not hold must not be reported as one. Each attempt below is what hostile code would
do first; an aspect is isolated only when every attempt on it failed.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from engine.adapters.sandbox.view import Places, base_environment
from engine.errors import SandboxUnavailable
from engine.ports import Job, Limits, SandboxReport
from engine.trees import remove_tree

if TYPE_CHECKING:
    from engine.adapters.process_sandbox import Foundation, ProcessSandbox

ASPECTS = ("network", "filesystem", "home", "environment", "memory", "processes", "users")
MISSING = {
    "network": "Steps can use the network. On Linux, bubblewrap or user namespaces would prevent it.",
    "filesystem": "Steps can write, or change rights, outside their own folder. On Linux, bubblewrap prevents it.",
    "home": "Steps can read your home folder. On Linux, bubblewrap or a kernel with Landlock prevents it.",
    "environment": "Steps can read the environment, and with it the keys, of Biodesk's own process. "
    "On Linux, bubblewrap or a kernel with Landlock prevents it.",
    "memory": "The memory of steps is not limited. On Linux it is.",
    "processes": "Steps can see or end other processes, or start more than they may. On Linux, bubblewrap prevents it.",
    "users": "Steps can read the folders of other steps. On Linux, bubblewrap or a kernel with Landlock prevents it.",
}

ATTEMPTS = """
import json, os, socket, sys
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

def can_open(path):
    try:
        os.close(os.open(path, os.O_RDONLY))
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


def examine(sandbox: ProcessSandbox, places: Places, found: Foundation, *, groups: bool) -> SandboxReport:
    """Let hostile code try, and report what held."""
    kind = "process+bubblewrap" if found.bubblewrap else "process"
    place = places.scratch / f".selftest-{secrets.token_hex(4)}"
    try:
        isolation = _isolation(sandbox, places, place)
    except (SandboxUnavailable, OSError) as error:
        nothing: dict[str, bool] = dict.fromkeys(ASPECTS, False)
        return SandboxReport(kind=kind, available=False, warm=False, isolation=nothing, missing=(f"{error}",))
    finally:
        remove_tree(place, places.leftover)
    missing = [MISSING[aspect] for aspect in ASPECTS if not isolation[aspect]]
    missing += _remarks(found, groups=groups)
    return SandboxReport(kind=kind, available=True, warm=sandbox.is_warm, isolation=isolation, missing=tuple(missing))


def _remarks(found: Foundation, *, groups: bool) -> list[str]:
    remarks = []
    if not groups and sys.platform.startswith("linux"):
        remarks.append(
            "Memory and processes are counted ten times a second, not by the kernel: no control group can be made "
            "here. Running Biodesk in a user session of systemd gives one."
        )
    if not found.bubblewrap and sys.platform.startswith("linux"):
        remarks.append("bubblewrap is not used: it is not installed or cannot make namespaces here.")
    if found.problem:
        remarks.append(f"Not offered here: {found.problem}.")
    if found.isolation == "bubblewrap":
        remarks.append("Steps start cold: neither nested namespaces nor Landlock keep steps of one worker apart here.")
    return remarks


def _isolation(sandbox: ProcessSandbox, places: Places, place: Path) -> dict[str, bool]:
    workdir, sibling, outside = place / "work", place / "sibling", place / "outside"
    for folder in (workdir, sibling, outside):
        folder.mkdir(parents=True, mode=0o700)
    (sibling / "data.csv").write_text("gene,value\n")
    limits = Limits(seconds=30, memory_mb=2048, processes=48)
    with _listeners() as (tcp, udp):
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
        }
        (workdir / "facts.json").write_text(json.dumps(facts))
        job = Job(id="selftest", code=ATTEMPTS, workdir=workdir, limits=limits)
        result = sandbox.run(job, on_output=_ignore, cancel=_NeverCancelled())  # type: ignore[arg-type]
        arrived = _received(udp, token)
    try:
        done: dict[str, bool] = json.loads((workdir / "found.json").read_text())
    except (OSError, ValueError) as error:
        raise SandboxUnavailable(f"The self-test did not run: {result.error or result.stderr[-300:]}.") from error
    done["network:udp"] = arrived
    isolation = {
        aspect: not any(on for name, on in done.items() if name.startswith(aspect + ":")) for aspect in ASPECTS
    }
    hungry = Job(id="selftest-memory", code=MEMORY_ATTEMPT, workdir=workdir, limits=Limits(seconds=30, memory_mb=512))
    isolation["memory"] = (
        sandbox.run(hungry, on_output=_ignore, cancel=_NeverCancelled()).status == "memory"  # type: ignore[arg-type]
    )
    return isolation


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
def _listeners():
    with socket.socket() as tcp, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        tcp.bind(("127.0.0.1", 0))
        tcp.listen(4)
        udp.bind(("127.0.0.1", 0))
        udp.setblocking(False)
        yield tcp, udp


def _received(udp: socket.socket, token: str) -> bool:
    with contextlib.suppress(BlockingIOError):
        return udp.recv(64) == token.encode()
    return False
