"""An attendant that is waiting for a job, with all that costs time done ahead: forked, counted, its pipes open."""

from __future__ import annotations

import array
import contextlib
import os
import select
import socket
import struct
import sys
import threading
import time
from dataclasses import dataclass

from engine.adapters.sandbox.cgroup import ControlGroup, ControlGroups

ACCEPT_SECONDS = 15.0


class WorkerGone(Exception):
    """The worker ended before the job began: nothing of it ran, it may be given to another."""


@dataclass(slots=True)
class Lease:
    """The engine's ends of one attendant. Serves one job; whoever took it closes it."""

    channel: socket.socket
    stdout: int
    stderr: int
    groups: ControlGroups
    pid: int = 0
    """The attendant's process number as this process sees it; 0 where the system does not tell."""
    group: ControlGroup | None = None

    @classmethod
    def ask(cls, control: socket.socket, lock: threading.Lock, groups: ControlGroups) -> Lease:
        """Have the nursery fork an attendant and wait until it is there.

        Raises:
            WorkerGone: when that does not happen.
        """
        channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        if sys.platform.startswith("linux"):
            channel.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        stdout_read, stdout_write = os.pipe()
        stderr_read, stderr_write = os.pipe()
        lease = cls(channel, stdout_read, stderr_read, groups)
        descriptors = array.array("i", [theirs.fileno(), stdout_write, stderr_write])
        try:
            with lock:
                control.sendmsg([b"j"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)])
        except OSError as error:
            lease.close()
            raise WorkerGone(f"it cannot be reached ({error})") from error
        finally:
            theirs.close()
            os.close(stdout_write)
            os.close(stderr_write)
        try:
            lease._wait_until_there()
        except OSError as error:
            lease.close()
            raise WorkerGone(f"it did not answer ({error})") from error
        except WorkerGone:
            lease.close()
            raise
        return lease

    def _wait_until_there(self) -> None:
        heard, deadline = b"", time.monotonic() + ACCEPT_SECONDS
        while not heard.endswith(b"\n"):
            self.channel.settimeout(max(0.01, deadline - time.monotonic()))
            data, ancillary, _, _ = self.channel.recvmsg(5 - len(heard), socket.CMSG_SPACE(12))
            if not data:
                raise WorkerGone("it ended before it took a job")
            heard += data
            for level, kind, payload in ancillary:
                if level == socket.SOL_SOCKET and kind == getattr(socket, "SCM_CREDENTIALS", 2):
                    self.pid = struct.unpack("3i", payload[:12])[0]
        self.channel.settimeout(ACCEPT_SECONDS)
        os.set_blocking(self.stdout, False)
        os.set_blocking(self.stderr, False)
        # Joining a group makes the kernel wait for every processor, which is why it is done now.
        self.group = self.groups.make() if self.pid else None
        if self.group:
            try:
                self.group.add(self.pid)
            except OSError:
                self.groups.retire(self.group)
                self.group = None

    def alive(self) -> bool:
        """True while the attendant waits: it says nothing before it gets a request."""
        readable, _, _ = select.select([self.channel], [], [], 0)
        return not readable

    def close(self) -> None:
        """Let go of the attendant: at the end of its channel it kills what is left of its job and ends."""
        with contextlib.suppress(OSError):
            self.channel.close()
        for descriptor in (self.stdout, self.stderr):
            if descriptor >= 0:
                os.close(descriptor)
        self.stdout = self.stderr = -1
        if self.group:
            self.groups.retire(self.group)
            self.group = None
