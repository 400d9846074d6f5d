"""Control groups: the kernel's own count of a job's memory and processes, where this user may make them.

Version 1 (a folder per controller) and version 2 (one folder) are both in use. Where neither can be written, as on
macOS or in most containers, the worker's own watch and per-process limits stand in.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import signal
import threading
import time
from pathlib import Path

CONTROLLERS = ("memory", "pids")
PATIENCE = 10.0
"""Seconds that a group's killed processes get to disappear; on an idle machine it takes a few milliseconds."""


class ControlGroup:
    """The group of one job."""

    def __init__(self, folders: dict[str, Path]) -> None:
        self._folders = folders
        self._unified = len(set(folders.values())) == 1

    def limit(self, memory_mb: int, processes: int) -> None:
        """Set what the group may use."""
        size = str(memory_mb << 20)
        memory, pids = self._folders["memory"], self._folders["pids"]
        if self._unified:
            (memory / "memory.max").write_text(size)
            _try_write(memory / "memory.swap.max", "0")
        else:
            (memory / "memory.limit_in_bytes").write_text(size)
            _try_write(memory / "memory.memsw.limit_in_bytes", size)
        (pids / "pids.max").write_text(str(processes))

    def add(self, pid: int) -> None:
        """Put a process, and all it starts from now on, into the group."""
        for folder in set(self._folders.values()):
            (folder / "cgroup.procs").write_text(str(pid))

    def out_of_memory(self) -> bool:
        """Say whether the kernel ended a process of the group for its memory."""
        name = "memory.events" if self._unified else "memory.oom_control"
        with contextlib.suppress(OSError):
            found = re.search(r"^oom_kill (\d+)", (self._folders["memory"] / name).read_text(), re.MULTILINE)
            return found is not None and int(found[1]) > 0
        return False

    def kill(self) -> None:
        """End every process in the group."""
        for folder in set(self._folders.values()):
            with contextlib.suppress(OSError, ValueError):
                for pid in (folder / "cgroup.procs").read_text().split():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(int(pid), signal.SIGKILL)

    def remove(self) -> bool:
        """Delete the group if its last process is gone; say whether it is deleted."""
        gone = True
        for folder in set(self._folders.values()):
            try:
                folder.rmdir()
            except FileNotFoundError:
                continue
            except OSError:
                gone = False
        return gone


class ControlGroups:
    """Makes groups, if this user may."""

    def __init__(self, *, allowed: bool = True) -> None:
        self._homes = _writable_homes() if allowed else None
        self.available = self._homes is not None
        self._lock = threading.Lock()
        self._retired: list[ControlGroup] = []
        if self._homes:
            _remove_leftovers(set(self._homes.values()))

    def make(self) -> ControlGroup | None:
        """Return a new group without limits, or None where none can be made."""
        if self._homes is None:
            return None
        name = f"biodesk-{os.getpid()}-{secrets.token_hex(4)}"
        group = ControlGroup({controller: home / name for controller, home in self._homes.items()})
        try:
            for home in set(self._homes.values()):
                (home / name).mkdir()
        except OSError:
            group.remove()
            return None
        return group

    def retire(self, group: ControlGroup) -> None:
        """End what is left in a group and delete it, now or, while its processes are still going away, later."""
        group.kill()
        with self._lock:
            self._retired = [old for old in (*self._retired, group) if not old.remove()]

    def close(self) -> None:
        """Delete all that was retired; waits a moment for the last processes."""
        with self._lock:
            self._retired = [old for old in self._retired if not _removed(old)]


def _writable_homes() -> dict[str, Path] | None:
    """Return controller -> the folder in which groups can be made, proven by making one."""
    for homes in _candidates():
        trial = ControlGroup(
            {name: home / f"biodesk-{os.getpid()}-{secrets.token_hex(4)}" for name, home in homes.items()}
        )
        child = None
        try:
            for folder in set(trial._folders.values()):
                folder.mkdir()
            trial.limit(64, 8)
            child = _sleeping_child()
            trial.add(child[0])
        except OSError:
            continue
        else:
            return homes
        finally:
            if child:
                _end_child(*child)
            _removed(trial)
    return None


def _removed(group: ControlGroup) -> bool:
    """Delete a group whose processes were ended, waiting for the last of them; say whether it is deleted."""
    pause, until = 0.001, time.monotonic() + PATIENCE
    while not group.remove():
        if time.monotonic() > until:
            return False
        time.sleep(pause)
        pause = min(2 * pause, 0.1)
    return True


def _sleeping_child() -> tuple[int, int]:
    """Start a process that does nothing until its input closes; return (pid, the pipe's write end)."""
    read_end, write_end = os.pipe()
    try:
        pid = os.posix_spawn("/bin/cat", ["cat"], {}, file_actions=[
            (os.POSIX_SPAWN_DUP2, read_end, 0),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        ])  # fmt: skip
    except OSError:
        os.close(write_end)
        raise
    finally:
        os.close(read_end)
    return pid, write_end


def _end_child(pid: int, pipe: int) -> None:
    os.close(pipe)
    os.waitpid(pid, 0)


def _candidates() -> list[dict[str, Path]]:
    try:
        mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
        own = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
    except OSError:
        return []
    candidates: list[dict[str, Path]] = []
    unified_path = next((path for number, _, path in own if number == "0"), None)
    for fields in mounts:
        if fields[2] == "cgroup2" and unified_path is not None:
            here = Path(fields[1] + unified_path.rstrip("/"))
            # A group with processes of its own cannot have limited children: a sibling comes first.
            places = [place for place in (here.parent, here) if place != Path("/")]
            candidates += [{str(controller): place for controller in CONTROLLERS} for place in places]
    split: dict[str, Path] = {}
    for controller in CONTROLLERS:
        root = next((f[1] for f in mounts if f[2] == "cgroup" and controller in f[3].split(",")), None)
        path = next((path for _, names, path in own if controller in names.split(",")), None)
        if root is not None and path is not None:
            split[controller] = Path(root + path.rstrip("/"))
    if len(split) == len(CONTROLLERS):
        candidates.insert(0, split)
    return candidates


def _remove_leftovers(homes: set[Path]) -> None:
    """Delete the groups of engines that were killed."""
    for home in homes:
        for folder in home.glob("biodesk-*-*"):
            owner = folder.name.split("-")[1]
            if owner.isdigit() and not Path(f"/proc/{owner}").exists():
                with contextlib.suppress(OSError):
                    folder.rmdir()


def _try_write(path: Path, text: str) -> None:
    with contextlib.suppress(OSError):
        path.write_text(text)
