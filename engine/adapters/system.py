"""The real time, real identifiers, and what this machine is."""

from __future__ import annotations

import os
import platform
import secrets
import sys
import threading
import time
from datetime import UTC, datetime


class SystemClock:
    """The machine's clock."""

    def now(self) -> str:
        """Return the UTC time as ISO 8601 with milliseconds."""
        return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def monotonic(self) -> float:
        """Return seconds from an arbitrary start, never going back."""
        return time.monotonic()


class RandomIds:
    """Identifiers that sort by time: `run_20261121_080000_a1b2c3`.

    Two given within the same second get an ascending last part, so that they too sort in the order they were given; a
    clock that is set back does not undo that. The part begins at random, so that two processes do not give the same.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._second = ""
        self._number = 0

    def new(self, prefix: str) -> str:
        """Return a new identifier."""
        with self._lock:
            second = f"{datetime.now(UTC):%Y%m%d_%H%M%S}"
            if second > self._second:
                self._second = second
                self._number = secrets.randbelow(0xE00000)  # room above for the rest of this second
            else:
                self._number += 1 + secrets.randbelow(16)
            return f"{prefix}_{self._second}_{self._number:06x}"


def environment() -> dict[str, str]:
    """Return what describes this machine in a provenance record. Nothing that names its user."""
    return {
        "python": platform.python_version(),
        "implementation": sys.implementation.name,
        "platform": platform.platform(),
        "machine": platform.machine(),
        "cpu_count": str(os.cpu_count() or 1),
    }
