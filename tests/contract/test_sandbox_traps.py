"""Everything hostile code was seen to try, as two tables, and what must come of it with bubblewrap and without.

A probe asks for one thing it must not get. All of them run in one step, each in a process of its own, after a step of
somebody else that planted what it could. Those marked `works` are also made without any wall, where they must succeed:
a probe that fails for a fault of its own proves nothing. A trap is a whole step that misbehaves.

Where a weaker kind cannot hold a probe, its report must say so: the test is then an expected failure, by name.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import socket
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from waiting import comes_about

from engine.adapters.process_sandbox import ProcessSandbox
from engine.adapters.sandbox import syscalls
from engine.adapters.sandbox.confine import landlock_version
from engine.adapters.sandbox.selftest import MISSING
from engine.adapters.sandbox.view import PYTHON_PARTS, SYSTEM_PATHS
from engine.adapters.sandbox.worker import find_bubblewrap
from engine.domain.results import ExecResult
from engine.ports.sandbox import Job, Limits, SandboxReport
from engine.runs.cancel import CancelSource
from engine.steps.result_file import read_result

if not sys.platform.startswith("linux") or os.uname().machine not in syscalls.MACHINES:
    pytest.skip("the probes are those of Linux on the usual machines", allow_module_level=True)

ROOT = Path(__file__).resolve().parents[2]
SECRET = "sk-no-step-may-ever-read-this-0123456789"
PRELOAD = ("json", "numpy", "threadpoolctl")
KINDS = {
    "bubblewrap": {"use_bubblewrap": True},
    "bubblewrap_with_landlock": {"use_bubblewrap": True, "isolations": ("landlock",)},
    "bubblewrap_around_each_job": {"use_bubblewrap": True, "isolations": ()},
    "namespaces": {"use_bubblewrap": False, "isolations": ("namespaces",), "control_groups": False},
    "landlock": {"use_bubblewrap": False, "isolations": ("landlock",), "control_groups": False},
    "plain": {"use_bubblewrap": False, "isolations": (), "control_groups": False},
}
STRONG = ("bubblewrap", "bubblewrap_around_each_job", "namespaces")


@dataclass(frozen=True)
class Probe:
    name: str
    aspect: str
    code: str
    """An expression, or statements that set `got`; true when it got what it wanted."""
    works: bool = False
    """True when it succeeds for whoever runs the tests where nothing stops it."""


PROBES = [
    # --- secrets
    Probe("key in its own environment", "environment", "SECRET in repr(dict(os.environ))", works=True),
    Probe("key in the engine's environment", "environment", "SECRET.encode() in bytes_of(f'/proc/{ENGINE}/environ')"),
    Probe("key in anybody's environment", "environment", """
        got = False
        for pid in filter(str.isdigit, os.listdir('/proc')):
            with contextlib.suppress(OSError):
                got = got or SECRET.encode() in bytes_of(f'/proc/{pid}/environ')
    """),
    Probe("key in the keeper's environment", "environment", "SECRET.encode() in bytes_of(f'/proc/{KEEPER}/environ')"),
    Probe("memory of the engine", "environment", "os.close(os.open(f'/proc/{ENGINE}/mem', os.O_RDONLY)) is None"),
    Probe("memory of the keeper", "environment", "os.close(os.open(f'/proc/{KEEPER}/mem', os.O_RDWR)) is None"),
    Probe("descriptors of the engine", "environment", "'open.txt' in ' '.join(links(ENGINE))", works=True),
    Probe("descriptors of the keeper", "environment", "len(links(KEEPER)) > 0"),
    Probe("file left open by the engine", "environment", """
        links = [os.readlink(f'/proc/self/fd/{fd}') for fd in os.listdir('/proc/self/fd')
                 if os.path.lexists(f'/proc/self/fd/{fd}')]
        got = any(F['open'] in link for link in links)
    """, works=True),
    Probe("root folder of the engine", "environment", "len(os.listdir(f'/proc/{ENGINE}/root/')) > 0", works=True),
    Probe("root folder of the first process", "environment", "can_read('/proc/1/root/etc/shadow')"),
    # --- files
    Probe("key for ssh in a home folder", "home", "can_read(F['ssh'])", works=True),
    Probe("what lies in the home folder", "home", "any(can_read(path) for path in F['home'])"),
    Probe("source of the project", "home", "can_read(F['project'])", works=True),
    Probe("rest of Python's folder", "home", "any(os.path.lexists(path) and os.stat(path) and (os.listdir(path) or 1) "
          "for path in F['prefix'])"),
    Probe("file in another folder", "home", "can_read(F['outside'])", works=True),
    Probe("file in another folder by a link", "home", "os.symlink(F['outside'], 'l1') or can_read('l1')", works=True),
    Probe("file in another folder by a hard link", "home", "os.link(F['outside'], 'l2') or can_read('l2')", works=True),
    Probe("passwords of the machine", "filesystem", "can_read('/etc/shadow')"),
    Probe("database of the workspace", "workspace", "can_read(F['database'])", works=True),
    Probe("database by the way up", "workspace", "can_read('../../../biodesk.duckdb')", works=True),
    Probe("database by the folder of the process", "workspace", "can_read('/proc/self/cwd/../../../biodesk.duckdb')",
          works=True),
    Probe("database renamed", "workspace", "os.rename(F['database'], F['database']) is None", works=True),
    Probe("database opened to write", "workspace", "can_write(F['database'])", works=True),
    Probe("result of another step", "users", "can_read(F['sibling'])", works=True),
    Probe("result of another step changed", "users", "can_write(F['sibling'])", works=True),
    Probe("names of other runs", "users", "'other' in os.listdir(F['runs'])", works=True),
    Probe("result of another step moved here", "users", "os.rename(F['spare'], 'mine') is None", works=True),
    Probe("new file beside the folder", "filesystem", "leave(os.path.dirname(F['outside'])) and os.path.exists(F['outside'])",
          works=True),
    Probe("new file in the workspace", "filesystem", "leave(os.path.dirname(F['database'])) and os.path.exists(F['database'])",
          works=True),
    Probe("rights of another folder", "filesystem", "os.chmod(F['outside'], 0o600) is None", works=True),
    Probe("times of another file", "filesystem", "os.utime(F['outside']) is None", works=True),
    Probe("packages opened to write", "filesystem", "can_write(json.__file__) or can_write(os.__file__)"),
    Probe("sandbox's own program opened to write", "filesystem", "can_write(F['worker'])"),
    Probe("programs of the machine opened to write", "filesystem", "can_write('/bin/sh')"),
    Probe("accounts opened to write", "filesystem", """
        assert SECRET  # the step's own /etc/passwd is a made-up one
        got = can_write('/etc/passwd')
    """),
    Probe("folder in the root folder", "filesystem", "os.mkdir('/biodesk-probe') or os.rmdir('/biodesk-probe') is None"),
    Probe("compiled functions that others will run", "users", "any(leave(path) for path in F['caches'])", works=True),
    Probe("log of the sandbox", "users", "can_write(F['log'])", works=True),
    Probe("swapped program of the kernel", "filesystem", "can_write('/proc/sys/kernel/core_pattern')"),
    Probe("panic button", "filesystem", "can_write('/proc/sysrq-trigger')"),
    Probe("messages of the kernel", "kernel", "can_read('/dev/kmsg')"),
    Probe("memory of the machine", "kernel", "can_read('/dev/mem') or can_read('/proc/kcore')"),
    Probe("a disk", "kernel", "any(can_read(path) for path in F['disks'])"),
    Probe("a control group", "filesystem", "any(can_write(path) for path in F['groups'])"),
    # --- network
    Probe("engine by TCP", "network", "socket.create_connection(('127.0.0.1', F['tcp']), 2) is not None", works=True),
    Probe("engine by TCP, version 6", "network", "socket.create_connection(('::1', F['tcp6']), 2) is not None"),
    Probe("engine by a socket in a folder", "network", "knock(F['local'])", works=True),
    Probe("engine by a socket without a folder", "network", "knock('\\0' + F['abstract'])", works=True),
    Probe("engine by a datagram of a pair", "network", "thrown(F['silent'])", works=True),
    Probe("engine by a datagram without a folder", "network", "thrown('\\0' + F['unheard'])", works=True),
    Probe("a name looked up", "network", "socket.getaddrinfo('example.org', 80) is not None"),
    Probe("a way out", "network", "sock(2).connect(('192.0.2.1', 9)) is None"),
    Probe("a raw socket", "network", "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1) is not None"),
    Probe("netlink", "kernel", "sock(16, socket.SOCK_RAW) is not None", works=True),
    Probe("packets", "kernel", "sock(17, socket.SOCK_RAW) is not None"),
    Probe("vsock", "kernel", "sock(40, socket.SOCK_STREAM) is not None"),
    Probe("the kernel's ciphers", "kernel", "sock(38, socket.SOCK_SEQPACKET) is not None"),
    Probe("bluetooth", "kernel", "sock(31, socket.SOCK_RAW) is not None"),
    # --- processes
    Probe("signal to the engine", "processes", "os.kill(ENGINE, 0) is None", works=True),
    Probe("signal to a bystander", "processes", "os.kill(F['bystander'], 0) is None", works=True),
    Probe("command line of a bystander", "processes", "b'sleep' in bytes_of(f\"/proc/{F['bystander']}/cmdline\")",
          works=True),
    Probe("handle of the engine", "processes", "signal.pidfd_send_signal(os.pidfd_open(ENGINE), 0) is None", works=True),
    Probe("priority of the engine", "processes", "os.setpriority(0, ENGINE, os.getpriority(0, ENGINE)) is None",
          works=True),
    Probe("processors of the engine", "processes", "os.sched_setaffinity(ENGINE, os.sched_getaffinity(ENGINE)) is None",
          works=True),
    Probe("limits of the engine", "processes", "resource.prlimit(ENGINE, resource.RLIMIT_CORE) is not None", works=True),
    # Of a user's processes these meet those of the own process namespace only.
    Probe("priority of all of this user", "processes",
          "os.path.exists(f'/proc/{ENGINE}') and os.setpriority(2, 0, os.getpriority(0, 0)) is None", works=True),
    Probe("turn at the disk of all of this user", "processes",
          "os.path.exists(f'/proc/{ENGINE}') and call('ioprio_set', 3, 0, 2 << 13 | 4)", works=True),
    Probe("shared memory of the engine by its number", "users", "libc.shmctl(F['shmid'], 2, bytes(512)) == 0", works=True),
    Probe("shared memory of the engine used", "users", """
        libc.shmat.restype = ctypes.c_long
        got = libc.shmat(F['shmid'], None, 0) != -1
    """, works=True),
    Probe("higher priority", "processes", "os.nice(-5) < 0"),
    Probe("spared when memory is short", "processes", "wrote('/proc/self/oom_score_adj', '-1000')"),
    Probe("larger files than allowed", "processes", "resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1)) is None"),
    Probe("core files", "processes", "resource.setrlimit(resource.RLIMIT_CORE, (1 << 20, 1 << 20)) is None"),
    Probe("a stranger attached to", "kernel", "call('ptrace', 16, F['bystander'], 0, 0)"),
    Probe("itself traced", "kernel", "call('ptrace', 16, 1 << 22, 0, 0)", works=True),
    Probe("memory of a stranger", "kernel", "call('process_vm_readv', F['bystander'], 0, 0, 0, 0, 0)", works=True),
    Probe("memory of a stranger written", "kernel", "call('process_vm_writev', 1 << 22, 0, 0, 0, 0, 0)", works=True),
    Probe("a descriptor of a stranger", "kernel", "call('pidfd_getfd', -1, 0, 0)", works=True),
    # --- rights
    Probe("another user", "kernel", "os.setresuid(65534, 65534, 65534) is None"),
    Probe("root again", "kernel", "os.getuid() != 0 and os.setuid(0) is None"),
    Probe("other groups", "kernel", "os.setgroups([65534]) is None"),
    Probe("capabilities", "kernel", "int(open('/proc/self/status').read().split('CapEff:')[1].split()[0], 16) != 0"),
    Probe("rights by a program", "kernel", "'NoNewPrivs:\\t1' not in open('/proc/self/status').read()", works=True),
    Probe("no filter", "kernel", "len(TASKS) != 1 or 'Seccomp:\\t2\\n' not in min(TASKS)", works=True),
    Probe("a new root folder", "kernel", "os.chroot('.') is None"),
    Probe("mount", "kernel", "call('mount', 0, 0, 0, 0, 0)", works=True),
    Probe("mount in the new way", "kernel", "call('fsopen', 0, 0)"),
    Probe("tree opened", "kernel", "call('open_tree', -1, 0, 0)", works=True),
    Probe("tree moved", "kernel", "call('move_mount', -1, 0, -1, 0, 0)"),
    Probe("unmount", "kernel", "call('umount2', 0, 0)"),
    Probe("pivot", "kernel", "call('pivot_root', 0, 0)"),
    Probe("a disk's device made", "kernel", "os.mknod('disk', 0o60600, os.makedev(8, 0)) is None"),
    Probe("memory's device made", "kernel", "os.mknod('memory', 0o20600, os.makedev(1, 1)) is None"),
    Probe("namespaces left", "kernel", "call('unshare', 0x10000000 | 1)", works=True),
    Probe("namespaces of others", "kernel", "call('setns', -1, 0)", works=True),
    Probe("namespaces by clone", "kernel", "call('clone', 0x10000000 | 1 << 9, 0, 0, 0, 0)", works=True),
    Probe("namespaces by clone3", "kernel", "call('clone3', 0, 0)", works=True),
    Probe("a program in namespaces", "kernel", "subprocess.run(['unshare', '-r', 'true']).returncode == 0"),
    Probe("io_uring", "kernel", "call('io_uring_setup', 8, 0)"),
    Probe("programs in the kernel", "kernel", "call('bpf', 0, 0, 0)"),
    Probe("performance counters", "kernel", "call('perf_event_open', 0, 0, -1, -1, 0)"),
    Probe("faults handled by itself", "kernel", "call('userfaultfd', 0)"),
    Probe("session keyring", "kernel", "call('keyctl', 0, -3, 1)", works=True),
    Probe("a key added", "kernel", "call('add_key', 0, 0, 0, 0, 0)", works=True),
    Probe("a key requested", "kernel", "call('request_key', 0, 0, 0, 0)", works=True),
    Probe("keyring of the engine", "home", "os.path.exists('/proc/keys') and F['keyring'] in open('/proc/keys').read()"),
    Probe("another kernel's ways", "kernel", "call('personality', 0xFFFFFFFF)", works=True),
    Probe("another kernel", "kernel", "call('kexec_load', 0, 0, 0, 0)"),
    Probe("a module", "kernel", "call('init_module', 0, 0, 0) or call('finit_module', -1, 0, 0)"),
    Probe("swap", "kernel", "call('swapon', 0, 0) or call('swapoff', 0)"),
    Probe("reboot", "kernel", "call('reboot', 0, 0, 0, 0)"),
    Probe("quotas", "kernel", "call('quotactl', -1, 0, 0, 0)", works=True),
    Probe("a file by its number", "kernel", "call('open_by_handle_at', -1, 0, 0)"),
    Probe("the log of the kernel", "kernel", "call('syslog', 99, 0, 0)"),
    Probe("name of the machine", "kernel", "call('sethostname', 0, 1 << 20)"),
    Probe("the clock", "kernel", "call('clock_settime', 99, 0)", works=True),
    Probe("typing into the terminal", "kernel", "typed()", works=True),
    Probe("the other convention of calls", "kernel", "other_convention()"),
    # --- what another step planted
    Probe("shared memory left behind", "users", "can_read('/dev/shm/' + F['token'])"),
    Probe("shared memory by number left behind", "users", "ctypes.CDLL(None).shmget(F['shm'], 16, 0) >= 0"),
    Probe("temporary file left behind", "users", "can_read('/tmp/' + F['token'])"),
    Probe("modules changed by another step", "users", "hasattr(json, 'planted') or hasattr(sys, 'planted')"),
    Probe("numbers changed by another step", "users", "numpy.mean([1.0, 3.0]) != 2.0"),
    Probe("variable set by another step", "users", "'PLANTED' in os.environ"),
    Probe("function for the end set by another step", "users", "os.path.exists('planted')"),
    Probe("module planted for every start of Python", "users", """
        said = subprocess.run([sys.executable, '-c', 'import sys; print("planted" in dir(sys))'], capture_output=True)
        assert said.stdout in (b'True\\n', b'False\\n'), said
        got = said.stdout == b'True\\n'
    """),
    Probe("random numbers of another step", "users", "numpy.random.random() == F['drawn']"),
    Probe("process of another step", "users", "F['token'].encode() in b''.join(map(bytes_of, F_cmdlines()))"),
]  # fmt: skip

VICTIM = """
import atexit, builtins, ctypes, json, os, subprocess, sys, numpy
F = json.load(open("facts.json"))
os.umask(0)
def put(path, text):
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        open(path, "w").write(text)
    except OSError:
        pass
put("result.csv", "gene,n\\n"); put("spare.csv", "gene,n\\n")
put("/dev/shm/" + F["token"], "left"); put("/tmp/" + F["token"], "left")
ctypes.CDLL(None).shmget(F["shm"], 16, 0o1666)
site = "lib/python%d.%d/site-packages" % sys.version_info[:2]
for folder in (os.getcwd(), os.environ["HOME"] + "/.local/" + site, os.environ["TMPDIR"]):
    for name in ("sitecustomize.py", "usercustomize.py", "numpy.py", "planted.pth"):
        put(os.path.join(folder, name), "import sys; sys.planted = True")
json.planted = sys.planted = True
numpy.mean = lambda *_: 7.0
os.environ["PLANTED"] = "1"
atexit.register(lambda: put(os.getcwd() + "/planted", ""))
print(numpy.random.random())
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", F["token"]], start_new_session=True)
"""

DRIVER = """
import contextlib, ctypes, errno, fcntl, json, numpy, os, resource, signal, socket, subprocess, sys
F = json.load(open("facts.json"))
SECRET, ENGINE, KEEPER = F["secret"], F["engine"], os.getppid()

def bytes_of(path):
    with open(path, "rb") as file:
        return file.read()

def can_read(path):
    with open(path, "rb") as file:
        return len(file.read(1)) == 1

def can_write(path):
    os.close(os.open(path, os.O_WRONLY))
    return True

def wrote(path, text):
    with open(path, "w") as file:
        file.write(text)
    return True

def leave(folder):
    os.close(os.open(folder + "/probe", os.O_CREAT | os.O_EXCL))
    os.unlink(folder + "/probe")
    return True

def links(pid):
    return [os.readlink(f"/proc/{pid}/fd/{number}") for number in os.listdir(f"/proc/{pid}/fd")]

def sock(family, kind=socket.SOCK_DGRAM):
    return socket.socket(family, kind)

def knock(address):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(2)
    s.connect(address)
    return True

def thrown(address):
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b"x", socket.MSG_DONTWAIT, address) == 1

libc = ctypes.CDLL(None, use_errno=True)
# Before the first fork, which ends the threads of the libraries.
TASKS = {"".join(line for line in open(f"/proc/self/task/{task}/status") if line.startswith("Seccomp"))
         for task in os.listdir("/proc/self/task")}

def reached(number, arguments):
    if libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments)) != -1:
        return True
    return ctypes.get_errno() not in (errno.EPERM, errno.EACCES, errno.ENOSYS)

def call(name, *arguments):
    return reached(F["numbers"][name], arguments)

def typed():
    end, other = os.pipe()
    try:
        fcntl.ioctl(end, 0x5412, b"x")
    except OSError as error:
        return error.errno != errno.EPERM
    return True

def other_convention():
    return os.uname().machine == "x86_64" and reached(0x40000000 + 39, ())

def F_cmdlines():
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if int(pid) != os.getpid() and os.access(f"/proc/{pid}/cmdline", os.R_OK):
            yield f"/proc/{pid}/cmdline"

def answer(code):
    try:
        if "got =" in code:
            names = dict(globals())
            exec(code, names)
            got = names["got"]
        else:
            got = eval(code)
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) or "not allowed" in str(error):  # how a limit is refused
            return f"refused: {error}"
        return f"broken: {error!r}"
    except BaseException as error:
        return f"broken: {error!r}"
    return "GOT" if got else "refused"

found = {}
for name, code in F["probes"]:
    end, other = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.alarm(30)
        os.write(other, answer(code).encode())
        os._exit(0)
    os.close(other)
    with open(end, "rb") as file:
        found[name] = file.read().decode()
    _, status = os.waitpid(pid, 0)
    found[name] = found[name] or f"broken: it died with status {status}"
json.dump(found, open("found.json", "w"))
"""


@dataclass
class Ground:
    """A sandbox of one kind, in a workspace, with what the probes look for around it."""

    kind: str
    sandbox: ProcessSandbox
    workspace: Path
    report: SandboxReport
    outlived: set[str] = field(default_factory=set)
    shown: dict[str, int] = field(default_factory=dict)

    def folder(self, name: str) -> Path:
        place = self.workspace / "runs" / "run" / name
        place.mkdir(parents=True, exist_ok=True)
        return place

    def run(self, name: str, code: str, **limits: float) -> ExecResult:
        def show(_: str, text: str) -> None:
            self.shown[name] = self.shown.get(name, 0) + len(text)

        job = Job(
            id="step",
            code=textwrap.dedent(code),
            workdir=self.folder(name),
            limits=Limits(**{"seconds": 120.0, "memory_mb": 1024, "processes": 64, **limits}),
            threads=2,
        )
        return self.sandbox.run(job, on_output=show, cancel=CancelSource())


@pytest.fixture(scope="module", params=KINDS)
def ground(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    kind = request.param
    if "bubblewrap" in kind and find_bubblewrap() is None:
        pytest.skip("bubblewrap is not installed or cannot make namespaces on this machine")
    if "landlock" in kind and landlock_version() < 6:
        pytest.skip("this kernel has no Landlock that scopes signals (version 6)")
    workspace = tmp_path_factory.mktemp("workspace")
    (workspace / "biodesk.duckdb").write_text("all data")
    sandbox = ProcessSandbox(workspace / "runs", hidden=(workspace,), preload=PRELOAD, **KINDS[kind])
    try:
        if kind == "namespaces" and sandbox._found().isolation != "namespaces":
            pytest.skip("this user may not make namespaces without bubblewrap")
        sandbox.warm()
        yield Ground(kind, sandbox, workspace, sandbox.report())
    finally:
        sandbox.close()


@pytest.fixture(scope="module")
def around(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What lies around the sandbox: facts for the probes."""
    outside = tmp_path_factory.mktemp("outside")
    (outside / "home" / ".ssh").mkdir(parents=True)
    for path in (outside / "home" / ".ssh" / "id", outside / "patients.csv", outside / "open.txt"):
        path.write_text("private\n")
    token = f"biodesk-{os.getpid()}"
    os.environ["SOME_API_KEY"] = SECRET
    column = syscalls.MACHINES[os.uname().machine][0]
    numbers = {name: pair[column] for name, pair in (syscalls.REFUSED | syscalls.LOOKED_AT).items()}
    numbers["ioprio_set"] = syscalls.OTHERS["ioprio_set"][column]
    libc = ctypes.CDLL(None)
    prefix = {str(path) for top in (sys.prefix, sys.base_prefix) for path in Path(top).iterdir()}
    prefix -= {f"{top}/{part}" for top in (sys.prefix, sys.base_prefix) for part in PYTHON_PARTS}
    prefix = {path for path in prefix if not path.startswith(tuple(top + "/" for top in SYSTEM_PATHS))}
    with contextlib.ExitStack() as stack:
        opened = stack.enter_context((outside / "open.txt").open())
        os.set_inheritable(opened.fileno(), True)
        listeners = {}
        for name, family, address in (
            ("tcp", socket.AF_INET, ("127.0.0.1", 0)),
            ("tcp6", socket.AF_INET6, ("::1", 0)),
            ("local", socket.AF_UNIX, str(outside / "s")),
            ("abstract", socket.AF_UNIX, "\0" + token),
        ):
            with contextlib.suppress(OSError):  # a machine without version 6
                listeners[name] = stack.enter_context(socket.socket(family))
                listeners[name].bind(address)
                listeners[name].listen(64)
        for name, address in (("silent", str(outside / "d")), ("unheard", "\0" + token + "-d")):
            listeners[name] = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
            listeners[name].bind(address)
        shared = libc.shmget(0, 4096, 0o600)
        stack.callback(lambda: libc.shmctl(shared, 0, None))
        bystander = stack.enter_context(subprocess.Popen(["sleep", "600"]))
        stack.callback(bystander.kill)
        libc.syscall(numbers["keyctl"], 1, token.encode())  # a session keyring of this name
        ports = {name: listeners[name].getsockname()[1] for name in ("tcp", "tcp6") if name in listeners}
        yield {
            "tcp6": 9, **ports,
            "secret": SECRET, "engine": os.getpid(), "token": token, "shm": os.getpid(), "keyring": token,
            "numbers": numbers, "bystander": bystander.pid, "open": "open.txt",
            "local": str(outside / "s"), "abstract": token, "shmid": shared,
            "silent": str(outside / "d"), "unheard": token + "-d",
            "outside": str(outside / "patients.csv"), "ssh": str(outside / "home" / ".ssh" / "id"),
            "project": str(ROOT / "pyproject.toml"), "worker": str(ROOT / "engine/adapters/sandbox_worker.py"),
            "home": [str(path) for path in Path.home().iterdir() if path.is_file()], "prefix": sorted(prefix),
            "disks": [str(path) for path in Path("/dev").glob("[svn][dv]?*")],
            "groups": [str(path) for path in Path("/sys/fs/cgroup").glob("**/cgroup.procs")][:20],
        }  # fmt: skip
        for place in ("/dev/shm", "/tmp"):
            Path(place, token).unlink(missing_ok=True)
        libc.shmctl(libc.shmget(os.getpid(), 16, 0), 0, None)
    del os.environ["SOME_API_KEY"]


def _facts(ground: Ground, around: dict[str, Any], drawn: float) -> dict[str, Any]:
    base = ground.sandbox._places.base
    victim = ground.folder("victim")
    return {
        **around,
        "database": str(ground.workspace / "biodesk.duckdb"), "sibling": str(victim / "result.csv"),
        "spare": str(victim / "spare.csv"), "runs": str(ground.workspace / "runs"), "drawn": drawn,
        "caches": [str(base / name) for name in ("numba", "matplotlib")], "log": str(base / "worker.log"),
        "probes": [(probe.name, textwrap.dedent(probe.code).strip()) for probe in PROBES],
    }  # fmt: skip


@pytest.fixture(scope="module")
def answers(ground: Ground, around: dict[str, Any]) -> dict[str, str]:
    """What came of each probe."""
    (ground.folder("victim") / "facts.json").write_text(json.dumps(around))
    victim = ground.run("victim", VICTIM)
    assert victim.status == "ok", victim
    folder = ground.folder("prober")
    (ground.workspace / "runs" / "other").mkdir()
    (folder / "facts.json").write_text(json.dumps(_facts(ground, around, float(victim.stdout))))
    result = ground.run("prober", DRIVER)
    assert result.status == "ok", result
    return json.loads((folder / "found.json").read_text())


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.name)
def test_a_probe_gets_nothing_or_the_report_says_that_it_may(
    ground: Ground, answers: dict[str, str], probe: Probe
) -> None:
    answer = answers[probe.name]
    assert answer.startswith(("GOT", "refused")), answer
    if answer == "GOT":
        assert ground.kind not in STRONG
        assert not ground.report.isolation[probe.aspect], "the report calls a wall standing that does not"
        told = [text for text in ground.report.missing if text.startswith(MISSING[probe.aspect])]
        assert told
        pytest.xfail(f"{ground.kind} does not hold it, and says so: {told[0]}")


def test_the_report_names_every_aspect_and_what_is_missing(ground: Ground) -> None:
    report = ground.report
    assert set(report.isolation) == set(MISSING)
    assert report.available
    assert len(report.missing) >= sum(1 for held in report.isolation.values() if not held)
    assert all(sentence.endswith(".") for sentence in report.missing)
    assert report.kind == ("process+bubblewrap" if "bubblewrap" in ground.kind else "process")
    if ground.kind in STRONG:
        assert report.isolation == dict.fromkeys(MISSING, True)


def test_threads_that_libraries_start_ahead_of_the_code_are_filtered_as_the_code_is(ground: Ground) -> None:
    told = ground.run(
        "threads",
        """
        import os, numpy
        for task in os.listdir("/proc/self/task"):
            print([line.split()[1] for line in open(f"/proc/self/task/{task}/status") if line.startswith("Seccomp")])
    """,
    )
    lines = told.stdout.splitlines()
    assert len(lines) > 1, "a library for matrices that starts no threads shows nothing"
    assert len(set(lines)) == 1
    assert lines[0].startswith("['2'")


def test_the_environment_of_a_step_is_a_short_list(ground: Ground) -> None:
    names = set(json.loads(ground.run("names", "import os, json; print(json.dumps(dict(os.environ)))").stdout))
    assert {"PATH", "HOME", "TMPDIR", "LANG", "MPLBACKEND", "PYTHONHASHSEED", "OMP_NUM_THREADS"} <= names
    assert not names & {"SOME_API_KEY", "PYTEST_CURRENT_TEST", "SSH_AUTH_SOCK", "VIRTUAL_ENV"}
    assert len(names) < 40


def test_the_probes_work_where_nothing_stops_them(around: dict[str, Any], tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    folder = workspace / "runs" / "run" / "prober"
    victim = workspace / "runs" / "run" / "victim"
    caches = workspace / "runs" / ".sandbox"
    for place in (folder, victim, workspace / "runs" / "other", caches / "numba", caches / "matplotlib"):
        place.mkdir(parents=True)
    for path in (workspace / "biodesk.duckdb", victim / "result.csv", victim / "spare.csv", caches / "worker.log"):
        path.write_text("x")
    ground = Ground("none", ProcessSandbox(workspace / "runs", preload=()), workspace, SandboxReport)  # type: ignore[arg-type]
    facts = _facts(ground, around, 0.0)
    # In a container, or for a user who is not root, the kernel refuses some calls to the tests themselves.
    free = os.geteuid() == 0 and "Seccomp:\t0" in Path("/proc/self/status").read_text()
    wanted = [probe.name for probe in PROBES if probe.works and (free or probe.aspect != "kernel")]
    facts["probes"] = [(name, code) for name, code in facts["probes"] if name in wanted]
    (folder / "facts.json").write_text(json.dumps(facts))
    done = subprocess.run(
        [sys.executable, "-c", DRIVER], cwd=folder, close_fds=False, timeout=120, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    found = json.loads((folder / "found.json").read_text())
    assert {name: answer for name, answer in found.items() if answer != "GOT"} == {}


# --- traps --------------------------------------------------------------------------------------------------------

Must = Callable[[ExecResult, Path], bool]
FOREVER = "while True: time.sleep(60)\n"


@dataclass(frozen=True)
class Trap:
    name: str
    code: str
    status: str
    """How the step must end behind walls."""
    plain: str = ""
    """How it ends without them, where that differs; `-` where it would hurt others, as the report says."""
    must: Must = lambda result, folder: True
    limits: dict[str, float] = field(default_factory=dict)


SHORT = {"seconds": 1.5}
"""For what never ends."""
TRAPS = [
    # --- too much of something
    Trap("children without end", """
        try:
            for made in range(400):
                if os.fork() == 0:
                    time.sleep(600)
        except OSError:
            pass
        print(made)
        time.sleep(1.5)  # the plain kind counts ten times a second
    """, "ok", "killed", lambda result, _: result.status == "killed" or int(result.stdout) <= 24, {"processes": 24}),
    Trap("children of children without end", "while True:\n  try: os.fork()\n  except OSError: time.sleep(0.01)",
         "timeout", "-", limits={"processes": 24, "seconds": 1.5}),
    Trap("threads without end", """
        said = threading.Event()
        try:
            for made in range(200):
                threading.Thread(target=said.wait, daemon=True).start()
        except RuntimeError:
            pass
        print(made)
    """, "ok", must=lambda result, folder: int(result.stdout) <= (24 if "bubblewrap" in str(folder) else 200),
         limits={"processes": 24}),
    Trap("memory without end", "held = []\nwhile True: held.append(bytearray(b'x') * (32 << 20))", "memory",
         limits={"memory_mb": 200}),
    Trap("memory of many together", """
        for _ in range(4):
            if os.fork() == 0:
                held = bytearray(b'x') * (80 << 20)
                time.sleep(600)
        while True:
            time.sleep(0.02)
            if any(os.waitpid(-1, os.WNOHANG) != (0, 0) for _ in range(4)):
                raise SystemExit('a part of it was killed')
    """, "memory", limits={"memory_mb": 200}),
    Trap("memory as files", """
        try:
            with open("/dev/shm/x", "wb") as file:
                for _ in range(300): file.write(bytes(1 << 20))
        except OSError as error:
            print(error.errno)
    """, "ok", "-", lambda result, _: result.stdout == "28\n", {"memory_mb": 300}),
    Trap("a file without end", "with open('big', 'wb') as file:\n  while True: file.write(bytes(1 << 20))", "error",
         must=lambda _, folder: (folder / "big").stat().st_size <= 4 << 20, limits={"file_mb": 4}),
    Trap("descriptors without end", "held = []\nwhile True: held.append(os.open('/dev/null', 0))", "error",
         must=lambda result, _: "Too many open files" in result.error),
    Trap("many files and locked folders", """
        for top in (os.environ["TMPDIR"], os.environ["HOME"]):
            os.makedirs(top + "/a/b")
            for number in range(500): open(f"{top}/a/b/{number}", "w")
            os.chmod(top + "/a/b", 0); os.chmod(top + "/a", 0)
    """, "ok"),
    Trap("recursion without end", "def f(): f()\nf()", "error",
         must=lambda result, _: result.error.startswith("RecursionError")),
    # --- things that do not end
    Trap("signals to end ignored", """
        for number in range(1, signal.NSIG):
            try: signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError): pass
        while True: time.sleep(60)
    """, "timeout", limits=SHORT),
    Trap("every signal blocked", "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\n" + FOREVER, "timeout",
         limits=SHORT),
    Trap("stops itself", "os.kill(os.getpid(), signal.SIGSTOP)", "timeout", limits=SHORT),
    Trap("a function for the end that does not end", "import atexit\n@atexit.register\ndef _():\n  " + FOREVER,
         "timeout", limits=SHORT),
    Trap("a thread that does not end", "threading.Thread(target=time.sleep, args=(600,)).start()", "timeout",
         limits=SHORT),
    Trap("an error that does not end", """
        class Endless(Exception):
            def __str__(self):
                time.sleep(600)
        raise Endless
    """, "timeout", limits=SHORT),
    Trap("a destructor that does not end", """
        class Endless:
            def __del__(self):
                time.sleep(600)
        Endless()
    """, "timeout", limits=SHORT),
    # --- things that outlive the step
    Trap("a child left behind", "if os.fork() == 0: time.sleep(600)", "ok"),
    Trap("a grandchild in a session of its own", """
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0: time.sleep(600)
            os._exit(0)
        os.wait()
    """, "ok"),
    Trap("a child that stopped itself", """
        if (child := os.fork()) == 0: os.kill(os.getpid(), signal.SIGSTOP)
        os.waitpid(child, os.WUNTRACED)
    """, "ok"),
    Trap("a child that ignores signals", """
        end, other = os.pipe()
        if os.fork() == 0:
            signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
            os.write(other, b"x")
            time.sleep(600)
        os.read(end, 1)
    """, "ok"),
    Trap("a child made at the end", "import atexit\natexit.register(lambda: os.fork() or time.sleep(600))", "ok"),
    Trap("a child that keeps the output open", "if os.fork() == 0:\n  os.closerange(3, 99); time.sleep(600)\nprint(1)",
         "ok", must=lambda result, _: result.stdout == "1\n"),
    Trap("results that go on changing", """
        os.mkdir("outputs")
        if os.fork() == 0:
            os.setsid()
            for number in range(1 << 60):
                with open("outputs/result.json", "w") as file: file.write('{"warnings": ["%d"]}' % number)
        while not os.path.exists("outputs/result.json"): time.sleep(0.01)
    """, "ok"),
    # --- its keeper and its like
    Trap("stops its keeper", "os.kill(os.getppid(), signal.SIGSTOP)", "ok", "timeout", limits=SHORT),
    Trap("ends its keeper", "os.kill(os.getppid(), signal.SIGKILL)\nprint(1)\ntime.sleep(0.2)", "ok", "killed"),
    Trap("ends its keeper and lives on", """
        ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(600)
    """, "timeout", "killed", limits=SHORT),
    Trap("ends its keeper and leaves a tree", """
        if os.fork() == 0:
            os.setsid()
            os.fork()
            time.sleep(600)
        ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(600)
    """, "timeout", "killed", limits=SHORT),
    Trap("ends everything", "try: os.kill(-1, signal.SIGKILL)\nexcept ProcessLookupError: print(1)", "ok", "-"),
    Trap("ends its group", "os.killpg(0, signal.SIGKILL)", "killed"),
    Trap("takes the lowest priority", "os.nice(19)", "ok"),
    # --- what it says
    Trap("output without end", "for _ in range(640): os.write(1, b'x' * 65535 + b'\\n')\nprint('end')", "ok",
         must=lambda result, _: result.truncated and len(result.stdout) < (1 << 20) + 200
         and result.stdout.endswith("end\n")),
    Trap("errors without end", "for _ in range(640): os.write(2, b'x' * 65535 + b'\\n')", "ok",
         must=lambda result, _: result.truncated and len(result.stderr) < (1 << 20) + 200),
    Trap("bytes that are no text", "os.write(1, b'\\0\\x1b[2J\\xe2\\x82')", "ok",
         must=lambda result, _: result.stdout == "\0\x1b[2J\ufffd"),
    Trap("an error that cannot be told", """
        class Mute(Exception):
            def __str__(self):
                raise RuntimeError
        raise Mute
    """, "error", must=lambda result, _: "Mute" in result.error),
    Trap("an error of a megabyte", "raise ValueError('x' * (1 << 20))", "error",
         must=lambda result, _: len(result.error) <= 2000),
    Trap("an error of many lines", "raise ValueError('a\\nb\\r\\n\\tc')", "error",
         must=lambda result, _: result.error == "ValueError: a b c"),
    Trap("a code beyond the largest", "sys.exit(259)", "error", must=lambda result, _: result.exit_code == 3),
    Trap("reads what nobody typed", "assert sys.stdin.read() == ''", "ok"),
    # --- its own process
    Trap("a forged report", "os.write(3, b'{\"start\": -5.0, \"end\": 1e18}\\n[1]\\n{\"end\": \"x\"}\\n')", "ok",
         must=lambda result, _: 0 <= result.seconds <= 120),
    Trap("a flooded report", "for _ in range(80): os.write(3, b'x' * 65536)", "ok"),
    Trap("no descriptors left", "os.closerange(0, 4096)", "ok"),
    Trap("streams thrown away", "sys.stdout = sys.stderr = None", "error"),
    Trap("modules thrown away", "sys.modules.clear()", "ok"),
    Trap("the machinery's functions replaced", "json.dumps = os.read = None\nraise ValueError('x')", "error"),
    Trap("no way to end", "os._exit = lambda *_: None\nraise ValueError('x')", "error"),
    Trap("an error beyond errors", "raise BaseException('x')", "error"),
    Trap("its folder removed", "os.rename('.', '../gone') if os.getuid() < 0 else os.unlink('lock')", "ok"),
    # --- what it leaves as results
    Trap("results that are no results", """
        import pickle, socket
        def place(name):
            os.makedirs(name)
            return name + "/result.json"
        os.symlink("/etc/passwd", place("link"))
        os.mkfifo(place("pipe"))
        os.mkdir(place("folder"))
        socket.socketpair()
        open(place("huge"), "w").truncate(40 << 20)
        open(place("zeros"), "wb").write(bytes(99))
        open(place("bytes"), "wb").write(b'{"warnings": ["\\xff"]}')
        open(place("deep"), "w").write("[" * 200000)
        open(place("deep_inside"), "w").write('{"findings": ' + '{"row":' * 200000)
        open(place("pickle"), "wb").write(pickle.dumps({"outputs": {}}))
        open(place("wrong"), "w").write('{"outputs": [1]}')
        open(place("number"), "w").write("9" * 10000)
        os.mkdir("elsewhere"); open("elsewhere/result.json", "w").write("{}")
        os.symlink("elsewhere", "linked_folder")
        os.makedirs("loop"); os.symlink("result.json", "loop/result.json")
    """, "ok", must=lambda _, folder: all(
        isinstance(read_result(place), str) for place in folder.iterdir()
        if place.name not in ("elsewhere", "lock") and (place.is_symlink() or place.is_dir()))),
]  # fmt: skip
PRELUDE = """import ctypes, fcntl, json, os, signal, sys, threading, time
os.set_inheritable(lock := os.open("lock", os.O_CREAT | os.O_RDWR), True)
fcntl.flock(lock, fcntl.LOCK_EX)  # held until the last process that has it is gone
"""


def _locked(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@pytest.fixture(scope="module")
def trapped(ground: Ground) -> Iterator[dict[str, ExecResult]]:
    """How each trap ended. Several at a time: most of them wait."""

    def spring(trap: Trap) -> tuple[str, ExecResult | None]:
        if ground.kind == "plain" and trap.plain == "-":
            return trap.name, None
        name = f"{ground.kind} {trap.name}"
        result = ground.run(name, PRELUDE + textwrap.dedent(trap.code), **trap.limits)
        handle = os.open(ground.folder(name) / "lock", os.O_CREAT | os.O_RDWR)
        # Where a step can end its keeper, the worker ends what is left a moment later.
        if not comes_about(lambda: _locked(handle), 60 if ground.kind == "plain" else 0):
            ground.outlived.add(trap.name)
        os.close(handle)
        return trap.name, result

    with ThreadPoolExecutor(4) as pool:
        yield dict(pool.map(spring, TRAPS))  # type: ignore[arg-type]


@pytest.mark.parametrize("ground", ["bubblewrap", "plain"], indirect=True, scope="module")
@pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap.name)
def test_a_trap_ends_as_it_must_and_nothing_of_it_lives_on(
    ground: Ground, trapped: dict[str, ExecResult], trap: Trap
) -> None:
    if ground.kind == "plain" and trap.plain == "-":
        assert not ground.report.isolation["processes"]
        pytest.skip("without walls it would hurt others, which the report says under processes and filesystem")
    result, folder = trapped[trap.name], ground.folder(f"{ground.kind} {trap.name}")
    assert result.status == (trap.plain if ground.kind == "plain" and trap.plain else trap.status), result
    assert trap.must(result, folder), result
    assert trap.name not in ground.outlived, "a process of the step outlived it"
    assert ground.shown.get(folder.name, 0) < 2 << 20


@pytest.mark.parametrize("ground", ["bubblewrap", "plain"], indirect=True, scope="module")
def test_after_all_traps_the_sandbox_works_and_is_clean(ground: Ground, trapped: dict[str, ExecResult]) -> None:
    assert ground.run("after", "print('still here')").stdout == "still here\n"
    assert ground.sandbox.is_warm
    assert list((ground.sandbox._places.base / "jobs").iterdir()) == []
    for path in ground.workspace.iterdir():
        assert path.name in ("biodesk.duckdb", "runs")
