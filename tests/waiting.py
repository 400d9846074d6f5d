"""Waiting for what comes about, as long as it takes: a fixed sleep is too long on one machine and too short on another."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
PATIENCE = 120.0
"""Seconds that only something that hangs takes, also on a machine with much else to do."""


def comes_about(true: Callable[[], T], seconds: float = PATIENCE, pause: float = 0.01) -> T:
    """Ask again and again until the answer is true or the time is over; return the last answer."""
    ends = time.monotonic() + seconds
    while not (found := true()) and time.monotonic() < ends:
        time.sleep(pause)
    return found


def until(true: Callable[[], T], seconds: float = PATIENCE, pause: float = 0.01) -> T:
    """Wait until the answer is true and return it; fail where the time is over."""
    found = comes_about(true, seconds, pause)
    assert found, f"It did not come about within {seconds:g} seconds."
    return found
