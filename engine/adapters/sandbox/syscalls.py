"""A filter of system calls around a job (seccomp), and a session keyring of its own.

Standard library only: the worker loads this file by its path. The filter is a list of what is refused, in the
kernel's classic BPF: what a step has no use for and what kernel holes were mostly found in. What is refused fails
with EPERM, so that a library that only tries something goes on; clone3 fails with ENOSYS, whereupon libc uses clone,
whose flags can be looked at.
"""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import struct
import sys
from collections.abc import Iterable

_libc = ctypes.CDLL(None, use_errno=True) if os.name == "posix" else None

REFUSED = {
    # name: number on (x86_64, aarch64), None where there is none
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282), "fanotify_init": (300, 262),
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431),
    "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442), "open_tree_attr": (467, 467),
    "unshare": (272, 97), "setns": (308, 268),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "reboot": (169, 142),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106),
    "swapon": (167, 224), "swapoff": (168, 225), "acct": (163, 89), "syslog": (103, 116), "vhangup": (153, 58),
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265), "quotactl": (179, 60), "quotactl_fd": (443, 443),
    "personality": (135, 92), "lookup_dcookie": (212, 18), "nfsservctl": (180, 42),
    "settimeofday": (164, 170), "clock_settime": (227, 112), "clock_adjtime": (305, 266), "adjtimex": (159, 171),
    "sethostname": (170, 161), "setdomainname": (171, 162),
    "iopl": (172, None), "ioperm": (173, None), "modify_ldt": (154, None), "uselib": (134, None),
    "_sysctl": (156, None), "create_module": (174, None),
}  # fmt: skip
SHARED = {
    "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195),
    "semget": (64, 190), "semop": (65, 193), "semctl": (66, 191), "semtimedop": (220, 192),
    "msgget": (68, 186), "msgsnd": (69, 189), "msgrcv": (70, 188), "msgctl": (71, 187),
    "mq_open": (240, 180), "mq_unlink": (241, 181),
}  # fmt: skip
"""What lies outside the file tree and outlives a step; who knows the number of such an object need not ask for it."""
LOOKED_AT = {
    "clone": (56, 220), "clone3": (435, 435), "socket": (41, 198), "socketpair": (53, 199), "ioctl": (16, 29),
}  # fmt: skip
NUMBER, CONVENTION, FIRST, SECOND = 0, 4, 16, 24
"""Where the filter finds the call's number, its convention and the low halves of its arguments."""
SELF = ((FIRST, 0),)
OTHERS = {
    "prlimit64": (302, 261, SELF), "sched_setaffinity": (203, 122, SELF), "sched_setparam": (142, 118, SELF),
    "sched_setscheduler": (144, 119, SELF), "sched_setattr": (314, 274, SELF),
    "setpriority": (141, 140, ((FIRST, 0), (SECOND, 0))), "ioprio_set": (251, 30, ((FIRST, 1), (SECOND, 0))),
}  # fmt: skip
"""What can be done to a process of the same user, and the arguments that mean this process and neither group nor user:
where each stands and what it must be."""
MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""The column of the tables above, and the kernel's name for the calling convention."""
FAMILIES = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6) if os.name == "posix" else ()
"""Sockets that lead nowhere for a job with namespaces of its own."""
PAIRS = (socket.SOCK_STREAM, socket.SOCK_SEQPACKET) if os.name == "posix" else ()
"""Sockets that stay connected to what they were made with; one for datagrams can send to any address."""
SOCKET_KIND = 0xF
NEW_NAMESPACES = 0x7E020000
TERMINAL_INPUT = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX: typing into the terminal somebody sits at."""
X32 = 0x40000000

PR_SET_SECCOMP, SECCOMP_MODE_FILTER, KEYCTL_JOIN_SESSION_KEYRING = 22, 2, 1
LOAD, EQUAL, AT_LEAST, ANY_BIT, KEEP_BITS, RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
ALLOW, REFUSE, ABSENT = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS

Instruction = tuple[int, int, int, int]


def _load(place: int) -> Instruction:
    return (LOAD, 0, 0, place)


def _when(test: int, value: int, then: list[Instruction]) -> list[Instruction]:
    """Do `then`, which must end in a return, where the test holds; go on behind it where not."""
    return [(test, 0, len(then), value), *then]


def _end(answer: int) -> list[Instruction]:
    return [(RETURN, 0, 0, answer)]


def _one_of(values: Iterable[int], answer: int) -> list[Instruction]:
    """End with the answer where what is loaded is one of the values; go on where not."""
    return [line for value in values for line in _when(EQUAL, value, _end(answer))]


def program(machine: str, *, alone: bool) -> list[Instruction]:
    """Return the filter for a machine.

    Args:
        machine: As `os.uname().machine` says.
        alone: Whether the job has namespaces of its own. Where not, it gets no sockets but connected pairs, nothing
            that is shared by number, and may change the limits and priorities of no process but itself.

    Raises:
        OSError: for a machine whose numbers are not known here.
    """
    if machine not in MACHINES:
        raise OSError(f"no filter of system calls is known for {machine}")
    column, convention = MACHINES[machine]
    lines = [_load(CONVENTION), (EQUAL, 1, 0, convention), *_end(REFUSE), _load(NUMBER)]
    if machine == "x86_64":
        lines += _when(AT_LEAST, X32, _end(REFUSE))
    refused = [numbers[column] for numbers in (REFUSED if alone else {**REFUSED, **SHARED}).values()]
    lines += _one_of((number for number in refused if number is not None), REFUSE)
    pairs = [_load(SECOND), (KEEP_BITS, 0, 0, SOCKET_KIND), *_one_of(PAIRS, ALLOW), *_end(REFUSE)]
    answers = {
        "clone": [_load(FIRST), *_when(ANY_BIT, NEW_NAMESPACES, _end(REFUSE)), *_end(ALLOW)],
        "clone3": _end(ABSENT),
        "socket": [_load(FIRST), *_one_of(FAMILIES if alone else (), ALLOW), *_end(REFUSE)],
        "socketpair": _end(ALLOW) if alone else [_load(FIRST), *_when(EQUAL, socket.AF_UNIX, pairs), *_end(REFUSE)],
        "ioctl": [_load(SECOND), *_one_of(TERMINAL_INPUT, REFUSE), *_end(ALLOW)],
    }
    for name, answer in answers.items():
        lines += _when(EQUAL, LOOKED_AT[name][column], answer)
    for *numbers, demanded in [] if alone else OTHERS.values():
        itself = _end(ALLOW)
        for place, value in demanded:
            itself = [_load(place), *_when(EQUAL, value, itself), *_end(REFUSE)]
        lines += _when(EQUAL, numbers[column], itself)
    return [*lines, *_end(ALLOW)]


def assembled(*, alone: bool) -> bytes:
    """Return the filter for this machine as the kernel reads it; see `program`.

    Raises:
        OSError: when there is none.
    """
    if not sys.platform.startswith("linux"):
        raise OSError("this system has no filter of system calls")
    return b"".join(struct.pack("=HBBI", *line) for line in program(os.uname().machine, alone=alone))


def install(text: bytes) -> None:
    """Put an assembled filter on this process and all it starts, for good; needs `confine.drop_privileges` first.

    Raises:
        OSError: when this system has no such filter.
    """
    lines = ctypes.create_string_buffer(text, len(text))
    header = struct.pack("@HP", len(text) // 8, ctypes.addressof(lines))
    zero = ctypes.c_ulong(0)
    mode = ctypes.c_ulong(SECCOMP_MODE_FILTER)
    if _libc.prctl(PR_SET_SECCOMP, mode, header, zero, zero) < 0:  # pyright: ignore[reportOptionalMemberAccess]
        raise OSError(ctypes.get_errno(), f"seccomp: {os.strerror(ctypes.get_errno())}")


def join_new_keyring() -> None:
    """Leave the session keyring of whoever started this; where that is refused, the filter forbids all keyrings."""
    if sys.platform.startswith("linux") and os.uname().machine in MACHINES:
        number = REFUSED["keyctl"][MACHINES[os.uname().machine][0]]
        join = ctypes.c_long(KEYCTL_JOIN_SESSION_KEYRING)
        _libc.syscall(ctypes.c_long(number or -1), join, None)  # pyright: ignore[reportOptionalMemberAccess]
