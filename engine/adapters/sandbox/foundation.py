"""What a machine offers for keeping jobs apart, and what is asked of a sandbox on it in order to try that out."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Protocol

from engine.adapters.sandbox.worker import Hello
from engine.ports.sandbox import Sandbox


@dataclass(frozen=True, slots=True)
class Foundation:
    """What this machine offers, found out once."""

    bubblewrap: bool
    isolation: str
    """namespaces, landlock, bubblewrap (it builds each job's tree itself, no warm start) or none."""
    problem: str
    landlock: int

    @property
    def can_be_warm(self) -> bool:
        """True when jobs forked from one worker are kept apart at least as well as jobs started one by one."""
        return self.isolation != "bubblewrap" and sys.platform.startswith("linux")

    @property
    def asked_of_worker(self) -> tuple[str, ...]:
        """The isolation a worker itself is to provide; it must, or nothing runs in it."""
        return (self.isolation,) if self.isolation in ("namespaces", "landlock") else ()


class TriedSandbox(Sandbox, Protocol):
    """A sandbox that can be tried out."""

    @property
    def is_warm(self) -> bool:
        """True when a worker is ready now."""
        ...

    @property
    def should_be_warm(self) -> bool:
        """True where steps are forks of a warm worker once it has imported what it imports."""
        ...

    @property
    def hello(self) -> Hello | None:
        """What the warm worker said about itself, once it is ready."""
        ...
