"""What looks at files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from engine.domain.profile import Profile


class Profiler(Protocol):
    """Looks at files, which may hold anything: damaged, bottomless, made to do harm. Thread-safe."""

    def look(self, paths: Sequence[Path]) -> list[Profile]:
        """Profile files in the order given; one that cannot be used has no types and one sentence on why.

        Raises:
            DataError: for the first path that leads to nothing that can be read.
            SandboxUnavailable: when the machinery broke, whatever the files hold.
        """
        ...

    def correct(self, profile: Profile, said: Mapping[str, str]) -> Profile:
        """Return the profile of a file with columns as a person says they are (column -> words).

        Raises:
            PlanError: for an unknown column, scale or role.
            DataError: when the file can no longer be read.
            SandboxUnavailable: when the machinery broke.
        """
        ...

    def warm(self) -> None:
        """Start what makes the first look fast; returns when it is ready. Safe to call twice."""
        ...

    def close(self) -> None:
        """End everything this profiler started."""
        ...
