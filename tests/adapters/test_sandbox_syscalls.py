"""The filter of system calls, run by a small interpreter of the kernel's language, for both machines on either."""

from __future__ import annotations

import errno
import re
import socket
from pathlib import Path

import pytest

from engine.adapters.sandbox import syscalls

MACHINES = sorted(syscalls.MACHINES)
HEADERS = {
    "x86_64": ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"),
    "aarch64": ("/usr/include/asm-generic/unistd.h",),
}
TABLES = syscalls.REFUSED | syscalls.SHARED | syscalls.LOOKED_AT | syscalls.OTHERS


def verdict(machine: str, number: int, *arguments: int, alone: bool = True, convention: int | None = None) -> str:
    """Return what becomes of a call: allowed, or the name of the error (semantics: linux/filter.h, seccomp(2))."""
    lines = syscalls.program(machine, alone=alone)
    data = {0: number, 4: syscalls.MACHINES[machine][1] if convention is None else convention}
    data |= {16 + 8 * place: value & 0xFFFFFFFF for place, value in enumerate([*arguments, 0, 0, 0, 0, 0, 0][:6])}
    held, at = 0, 0
    while True:
        code, then, other, value = lines[at]
        at += 1
        if code == 0x20:  # BPF_LD | BPF_W | BPF_ABS
            held = data[value]
        elif code == 0x06:  # BPF_RET | BPF_K
            return {0x7FFF0000: "allowed"}.get(value) or errno.errorcode[value & 0xFFFF]
        elif code == 0x54:  # BPF_ALU | BPF_AND | BPF_K
            held &= value
        else:
            holds = {0x15: held == value, 0x35: held >= value, 0x45: bool(held & value)}[code]
            at += then if holds else other


def number_of(machine: str, name: str) -> int:
    number = TABLES[name][syscalls.MACHINES[machine][0]]
    assert isinstance(number, int)
    return number


@pytest.mark.parametrize("machine", MACHINES)
def test_every_call_of_the_list_is_refused_and_ordinary_ones_are_not(machine: str) -> None:
    for name, numbers in syscalls.REFUSED.items():
        if numbers[syscalls.MACHINES[machine][0]] is not None:
            assert verdict(machine, number_of(machine, name)) == "EPERM", name
    # read, openat, mmap, futex, execve, exit_group, sendmsg, wait4
    ordinary = {"x86_64": (0, 257, 9, 202, 59, 231, 46, 61), "aarch64": (63, 56, 222, 98, 221, 94, 211, 260)}
    for number in ordinary[machine]:
        assert verdict(machine, number) == "allowed"
        assert verdict(machine, number, alone=False) == "allowed"


@pytest.mark.parametrize("machine", MACHINES)
def test_new_processes_are_allowed_and_new_namespaces_are_not(machine: str) -> None:
    clone = number_of(machine, "clone")
    assert verdict(machine, clone, 0x3D0F00) == "allowed"  # the flags of a thread in glibc
    assert verdict(machine, clone, 0x1200011) == "allowed"  # of fork
    for flag in (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000):
        assert verdict(machine, clone, flag | 17) == "EPERM"
    assert verdict(machine, number_of(machine, "clone3")) == "ENOSYS", "libc falls back to clone on no other error"


@pytest.mark.parametrize("machine", MACHINES)
def test_sockets_are_those_that_lead_nowhere(machine: str) -> None:
    make = number_of(machine, "socket")
    own = {int(socket.AF_UNIX), int(socket.AF_INET), int(socket.AF_INET6)}
    for family in range(50):
        assert verdict(machine, make, family) == ("allowed" if family in own else "EPERM")
        assert verdict(machine, make, family, alone=False) == "EPERM"


@pytest.mark.parametrize("machine", MACHINES)
def test_without_namespaces_a_step_changes_only_itself(machine: str) -> None:
    limit, priority = number_of(machine, "prlimit64"), number_of(machine, "setpriority")
    assert verdict(machine, limit, 4711) == verdict(machine, priority, 0, 4711) == "allowed"
    assert verdict(machine, limit, 4711, alone=False) == verdict(machine, priority, 0, 4711, alone=False) == "EPERM"
    assert verdict(machine, limit, 0, 7, alone=False) == verdict(machine, priority, 0, 0, 9, alone=False) == "allowed"
    turn = number_of(machine, "ioprio_set")
    for group_or_user in (1, 2):  # PRIO_PGRP and PRIO_USER; IOPRIO_WHO_PGRP and IOPRIO_WHO_USER are one more
        assert verdict(machine, priority, group_or_user, 0, alone=False) == "EPERM"
        assert verdict(machine, turn, group_or_user + 1, 0, alone=False) == "EPERM"
    assert verdict(machine, turn, 1, 0, alone=False) == "allowed"
    assert verdict(machine, turn, 1, 4711, alone=False) == "EPERM"


@pytest.mark.parametrize("machine", MACHINES)
def test_without_namespaces_what_is_shared_by_number_is_out_of_reach(machine: str) -> None:
    for name in syscalls.SHARED:
        assert verdict(machine, number_of(machine, name)) == "allowed", name
        assert verdict(machine, number_of(machine, name), alone=False) == "EPERM", name


@pytest.mark.parametrize("machine", MACHINES)
def test_without_namespaces_pairs_of_sockets_stay_connected(machine: str) -> None:
    pair = number_of(machine, "socketpair")
    flags = socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
    for kind in range(16):
        stays = kind in (1, 5)  # SOCK_STREAM and SOCK_SEQPACKET
        for more in (0, int(flags)):
            assert verdict(machine, pair, 1, kind | more, alone=False) == ("allowed" if stays else "EPERM")
            assert verdict(machine, pair, 2, kind | more, alone=False) == "EPERM"
        assert verdict(machine, pair, 1, kind) == "allowed"


@pytest.mark.parametrize("machine", MACHINES)
def test_no_other_convention_and_no_typing(machine: str) -> None:
    assert verdict(machine, 0, convention=0x40000003) == "EPERM"  # i386
    assert verdict(machine, 63, convention=0x40000028) == "EPERM"  # 32-bit ARM
    if machine == "x86_64":
        assert verdict(machine, 0x40000000) == "EPERM"
        assert verdict(machine, 0xFFFFFFFF) == "EPERM"
    control = number_of(machine, "ioctl")
    assert verdict(machine, control, 0, 0x5401) == "allowed"  # TCGETS: is it a terminal?
    assert verdict(machine, control, 0, 0x5412) == verdict(machine, control, 0, 0x541C) == "EPERM"


@pytest.mark.parametrize("machine", MACHINES)
def test_the_numbers_are_those_of_the_kernels_headers(machine: str) -> None:
    header = next((Path(path) for path in HEADERS[machine] if Path(path).exists()), None)
    if header is None:
        pytest.skip("the kernel's headers are not installed")
    lines = re.finditer(r"#define __NR(?:3264)?_(\w+)\s+(\d+)\b", header.read_text())
    known = {line[1]: int(line[2]) for line in lines}
    column = syscalls.MACHINES[machine][0]
    ours = {name: numbers[column] for name, numbers in TABLES.items() if name in known}
    assert ours == {name: known[name] for name in ours}
    assert len(ours) > 60


def test_a_machine_that_is_not_known_is_said() -> None:
    with pytest.raises(OSError, match="riscv64"):
        syscalls.program("riscv64", alone=True)
