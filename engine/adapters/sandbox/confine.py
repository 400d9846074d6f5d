"""The kernel's own walls around a job, reached through ctypes so that nothing has to be installed.

Standard library only: the worker (`engine/adapters/sandbox_worker.py`) loads this file by its path, in a process that
knows nothing of the engine. Two walls: private namespaces (a job sees a small read-only file tree, no network and no
other process) and, where those cannot be made, Landlock (a job may only open what is listed). A job's `view` is a
mapping with the lists `read` (paths shown read-only), `write` (folders it may write), `hide` (folders emptied before
`show` and `write` are put back), `show` (the job's own read-only paths), and the folder `tmp` put at /tmp.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import socket
import struct
import sys
from pathlib import Path
from typing import Any

LINUX = sys.platform.startswith("linux")
_libc = ctypes.CDLL(None, use_errno=True) if os.name == "posix" else None

CLONE_ALL = 0x00020000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
"""New mount, host name, IPC, user, process and network namespaces."""
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = (
    1,
    2,
    4,
    8,
    32,
    4096,
    16384,
    1 << 18,
)
MNT_DETACH = 2
SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
SYS_MOUNT_SETATTR, SYS_LANDLOCK_CREATE, SYS_LANDLOCK_ADD, SYS_LANDLOCK_RESTRICT = 442, 444, 445, 446
SYS_CAPSET = {"x86_64": 126, "aarch64": 91}
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_SUBREAPER, PR_NO_NEW_PRIVS, PR_CAP_AMBIENT = (
    1,
    4,
    24,
    36,
    38,
    47,
)
INNER_ID = 1000

FS_FILE_BITS = (1 << 0) | (1 << 1) | (1 << 2) | (1 << 14) | (1 << 15)
FS_READ_BITS = (1 << 0) | (1 << 2) | (1 << 3)


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def _syscall(number: int, what: str, *args: Any) -> int:
    return _checked(_libc.syscall(ctypes.c_long(number), *args), what)  # pyright: ignore[reportOptionalMemberAccess]


def _prctl(option: int, value: int = 0) -> int:
    zero = ctypes.c_ulong(0)
    return _libc.prctl(option, ctypes.c_ulong(value), zero, zero, zero)  # pyright: ignore[reportOptionalMemberAccess]


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ended, so that none escapes a kill."""
    if LINUX:
        _prctl(PR_SET_SUBREAPER, 1)


def die_with_parent(signal_number: int) -> None:
    """Be sent the signal when the parent ends."""
    if LINUX:
        _prctl(PR_SET_PDEATHSIG, signal_number)


def set_dumpable(*, allowed: bool) -> None:
    """Let (or forbid) processes of the same user look into this one."""
    if LINUX:
        _prctl(PR_SET_DUMPABLE, int(allowed))


def drop_privileges() -> None:
    """Give up every capability for good, here and in every program started from here."""
    if not LINUX:
        return
    _checked(_prctl(PR_NO_NEW_PRIVS, 1), "no_new_privs")
    _prctl(PR_CAP_AMBIENT, 4)
    for capability in range(64):
        if _prctl(PR_CAPBSET_DROP, capability) < 0:
            break  # without CAP_SETPCAP, or past the last one: no_new_privs keeps it from mattering
    header, nothing = struct.pack("Ii", 0x20080522, 0), bytes(24)
    _syscall(SYS_CAPSET[os.uname().machine], "capset", header, nothing)


# --- namespaces -----------------------------------------------------------------------------------------------------


def enter_namespaces() -> None:
    """Leave the caller's user, mount, network, IPC and host-name namespaces; children get a process namespace.

    Raises:
        OSError: when this system does not let this user do so.
    """
    if not LINUX or os.uname().machine not in SYS_PIVOT_ROOT:
        raise OSError("namespaces are not offered here")
    uid, gid = os.getuid(), os.getgid()
    _checked(_libc.unshare(CLONE_ALL), "unshare")  # pyright: ignore[reportOptionalMemberAccess]
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{INNER_ID} {uid} 1")
    _write("/proc/self/gid_map", f"{INNER_ID} {gid} 1")
    # From here on no program in this user namespace, whatever it does, can make another one and be root in it.
    _write("/proc/sys/user/max_user_namespaces", "0")
    socket.sethostname("biodesk")
    _loopback_up()
    _mount(None, "/", None, MS_REC | MS_PRIVATE)


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:  # noqa: PTH123 - procfs
        file.write(text)


def _loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        request = struct.pack("16sh14x", b"lo", 0x1 | 0x40)
        fcntl.ioctl(probe.fileno(), 0x8914, request)


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str = "") -> None:
    raw = [None if text is None else os.fsencode(text) for text in (source, target, kind)]
    result = _libc.mount(raw[0], raw[1], raw[2], ctypes.c_ulong(flags), os.fsencode(data) or None)  # pyright: ignore[reportOptionalMemberAccess]
    _checked(result, f"mount {target}")


def _read_only(target: str) -> None:
    attributes = struct.pack("QQQQ", 1 | 2, 0, 0, 0)
    _syscall(SYS_MOUNT_SETATTR, "mount_setattr", -100, os.fsencode(target), 0x8000, attributes, len(attributes))


class PrivateTree:
    """Builds the small file tree a job sees, then makes it the root."""

    def __init__(self, staging: str) -> None:
        self.root = staging
        self._shown: list[str] = []
        self._hidden: list[str] = []
        _mount("tmpfs", staging, "tmpfs", MS_NOSUID | MS_NODEV, "size=16m,mode=755")

    def inside(self, path: str) -> str:
        """Return where `path` lies in the tree that is being built."""
        return self.root + path

    def folder(self, path: str) -> None:
        """Make an empty folder."""
        os.makedirs(self.inside(path), exist_ok=True)  # noqa: PTH103

    def file(self, path: str, text: str) -> None:
        """Make a small file."""
        self.folder(os.path.dirname(path))  # noqa: PTH120
        Path(self.inside(path)).write_text(text)

    def bind(self, path: str, *, writable: bool = False, source: str = "") -> None:
        """Show a path of the outer tree; a symbolic link is copied and what it leads to is shown."""
        source = source or path
        if os.path.islink(source) and not writable:  # noqa: PTH114
            self._link(source)
            source = path = os.path.realpath(source)
        if not os.path.exists(source):  # noqa: PTH110
            return
        around = [top for top in (*self._shown, *self._hidden) if (path + "/").startswith(top + "/")]
        if not writable and max(around, key=len, default="") in self._shown:
            return
        target = self.inside(path)
        if os.path.isdir(source):  # noqa: PTH112
            self.folder(path)
        elif not os.path.exists(target):  # noqa: PTH110
            self.file(path, "")
        _mount(source, target, None, MS_BIND | MS_REC)
        if not writable:
            _read_only(target)
            self._shown.append(path)

    def _link(self, path: str) -> None:
        place = self.inside(path)
        self.folder(os.path.dirname(path))  # noqa: PTH120
        if not os.path.lexists(place):
            with contextlib.suppress(OSError):  # in a tree that is already shown the link is there
                Path(place).symlink_to(Path(path).readlink())

    def hide(self, path: str) -> None:
        """Empty a folder that came in with a larger one."""
        if os.path.isdir(self.inside(path)):  # noqa: PTH112
            _mount("tmpfs", self.inside(path), "tmpfs", MS_NOSUID | MS_NODEV, "size=4m,mode=755")
            self._shown = [top for top in self._shown if not (top + "/").startswith(path + "/")]
            self._hidden.append(path)

    def devices(self, shared_memory_mb: int) -> None:
        """Give the harmless devices, a private /dev/shm and the processes of this namespace, read-only."""
        for name in ("null", "zero", "full", "random", "urandom"):
            self.file(f"/dev/{name}", "")
            _mount(f"/dev/{name}", self.inside(f"/dev/{name}"), None, MS_BIND)
        for number, name in enumerate(("stdin", "stdout", "stderr")):
            Path(self.inside(f"/dev/{name}")).symlink_to(f"/proc/self/fd/{number}")
        Path(self.inside("/dev/fd")).symlink_to("/proc/self/fd")
        self.folder("/dev/shm")  # noqa: S108
        shared = self.inside("/dev/shm")  # noqa: S108
        _mount("tmpfs", shared, "tmpfs", MS_NOSUID | MS_NODEV, f"size={shared_memory_mb}m,mode=1777")
        self.folder("/proc")
        # Read-only: run by root, a job is still the machine's root to the files of /proc/sys.
        _mount("proc", self.inside("/proc"), "proc", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC)
        if os.path.exists(self.inside("/proc/keys")):  # noqa: PTH110
            _mount("/dev/null", self.inside("/proc/keys"), None, MS_BIND)  # it names the keys of this user

    def become_root(self) -> None:
        """Make the tree the root and let go of everything else."""
        for path in ("", *self._hidden):
            _mount(None, self.inside(path), None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV)
        os.chdir(self.root)
        _syscall(SYS_PIVOT_ROOT[os.uname().machine], "pivot_root", b".", b".")
        _checked(_libc.umount2(b".", MNT_DETACH), "umount the outer tree")  # pyright: ignore[reportOptionalMemberAccess]
        os.chdir("/")


def build_view(view: dict[str, Any], staging: str, shared_memory_mb: int) -> None:
    """Make the job's view the root of this mount namespace. Call as the first process of its namespace.

    Raises:
        OSError: when a part of it cannot be made; nothing may run then.
    """
    tree = PrivateTree(staging)
    # First: Python itself may lie under /tmp (a fresh clone there), and must not be covered by the job's own.
    tree.bind("/tmp", writable=True, source=view["tmp"])  # noqa: S108
    for path in view["read"]:
        tree.bind(path)
    for path in view["hide"]:
        tree.hide(path)
    tree.devices(shared_memory_mb)
    home = view["env"]["HOME"]
    tree.file("/etc/passwd", f"biodesk:x:{INNER_ID}:{INNER_ID}::{home}:/bin/sh\n")
    tree.file("/etc/group", f"biodesk:x:{INNER_ID}:\n")
    tree.file("/etc/hosts", "127.0.0.1 localhost biodesk\n")
    for path in view["show"]:
        if not os.path.exists(path):  # noqa: PTH110
            raise FileNotFoundError(f"a readable path of the job is not there: {path}")
        tree.bind(path)
    for path in view["write"]:
        tree.bind(path, writable=True)
    tree.become_root()


# --- Landlock -------------------------------------------------------------------------------------------------------


def landlock_version() -> int:
    """Return the version of Landlock this kernel offers, 0 for none."""
    if not LINUX:
        return 0
    return max(0, _libc.syscall(ctypes.c_long(SYS_LANDLOCK_CREATE), None, ctypes.c_size_t(0), 1))  # pyright: ignore[reportOptionalMemberAccess]


def restrict_with_landlock(view: dict[str, Any]) -> None:
    """Let this process and its children open only what the view lists; needs `drop_privileges` first.

    Raises:
        OSError: when the kernel refuses; nothing may run then.
    """
    version = landlock_version()
    bits = 13 + (version >= 2) + (version >= 3) + (version >= 5)
    every = (1 << bits) - 1 if version != 4 else (1 << 15) - 1
    network, scoped = (3 if version >= 4 else 0), (3 if version >= 6 else 0)
    attributes = struct.pack("QQQ", every, network, scoped)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    rules = _syscall(SYS_LANDLOCK_CREATE, "landlock", attributes, ctypes.c_size_t(size), 0)
    about_self = [os.path.realpath("/proc/self"), "/proc/cpuinfo", "/proc/meminfo", "/proc/stat"]
    devices = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"]
    readable = [place for top in view["read"] for place in _beside(os.path.realpath(top), view["hide"])]
    for path in [*readable, *view["show"], *about_self, "/sys/devices/system/cpu"]:
        _allow(rules, path, FS_READ_BITS & every)
    for path in [*view["write"], *devices]:
        _allow(rules, path, every)
    try:
        _syscall(SYS_LANDLOCK_RESTRICT, "landlock_restrict_self", rules, 0)
    finally:
        os.close(rules)


def _beside(top: str, hidden: list[str]) -> list[str]:
    """Return `top`, or what lies in it beside what is hidden: a rule holds for everything below its folder."""
    if any((top + "/").startswith(path + "/") for path in hidden):
        return []
    below = [path for path in hidden if path.startswith(top + "/")]
    if not below:
        return [top]
    # A link leads to what has a rule of its own or to what shall not be read.
    entries = [entry.path for entry in os.scandir(top) if not entry.is_symlink()]
    return [place for entry in entries for place in _beside(entry, below)]


def _allow(rules: int, path: str, access: int) -> None:
    try:
        place = os.open(path, getattr(os, "O_PATH", 0) | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not os.path.isdir(f"/proc/self/fd/{place}"):  # noqa: PTH112
            access &= FS_FILE_BITS
        rule = struct.pack("=Qi", access, place)
        _syscall(SYS_LANDLOCK_ADD, f"landlock rule for {path}", rules, 1, rule, 0)
    finally:
        os.close(place)
