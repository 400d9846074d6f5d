"""How things are called on the screen: states, times, sizes and numbers, the same on every page."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from typing import NamedTuple


class ShownState(NamedTuple):
    """How a state is shown."""

    label: str
    icon: str
    color: str


STATES: dict[str, ShownState] = {
    "queued": ShownState("Waiting in line", ":material/hourglass_empty:", "gray"),
    "planning": ShownState("Making the plan", ":material/pending:", "blue"),
    "awaiting_approval": ShownState("Plan waits for you", ":material/rate_review:", "orange"),
    "running": ShownState("Running", ":material/pending:", "blue"),
    "succeeded": ShownState("Done", ":material/check_circle:", "green"),
    "partial": ShownState("Partly done", ":material/rule:", "orange"),
    "failed": ShownState("Failed", ":material/cancel:", "red"),
    "unplanned": ShownState("Not planned", ":material/help:", "gray"),
    "cancelled": ShownState("Stopped", ":material/stop_circle:", "gray"),
    "interrupted": ShownState("Interrupted", ":material/pause_circle:", "orange"),
    "pending": ShownState("Not started", ":material/radio_button_unchecked:", "gray"),
    "cached": ShownState("Reused", ":material/history:", "green"),
    "skipped": ShownState("Skipped", ":material/skip_next:", "gray"),
}
"""Run and step states alike."""

STRATEGIES = {
    "dag": "Plan of steps",
    "react": "Direct look-up",
    "mcts": "Guided search",
    "panel": "Panel of specialists",
    "tournament": "Hypothesis tournament",
}


def state(name: str) -> ShownState:
    """Return how a state is shown."""
    return STATES.get(name, ShownState(name, ":material/help:", "gray"))


def shortened(text: str, length: int = 90) -> str:
    """Return the text on one line, cut at a word when long."""
    text = " ".join(text.split())
    return text if len(text) <= length else text[:length].rsplit(" ", 1)[0].rstrip(",;: ") + "..."


def parse_time(text: str) -> datetime | None:
    """Read an ISO 8601 time, or None."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def seconds_between(start: str, end: str = "") -> float:
    """Return the seconds from one ISO time to another (or to now), 0 when either is not known."""
    first, last = parse_time(start), parse_time(end) if end else datetime.now(UTC)
    return max(0.0, (last - first).total_seconds()) if first and last else 0.0


def duration(seconds: float) -> str:
    """Return a length of time in the unit a person would use."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms" if seconds >= 0.001 else "0 s"
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min"


def when(text: str) -> str:
    """Return an ISO time as local date and time without seconds."""
    at = parse_time(text)
    return at.astimezone().strftime("%Y-%m-%d %H:%M") if at else ""


def size(count: int) -> str:
    """Return a number of bytes in the unit a person would use."""
    value = float(count)
    for unit in ("bytes", "kB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            return f"{value:.0f} {unit}" if unit == "bytes" or value >= 100 else f"{value:.1f} {unit}"
        value /= 1000
    return ""


def number(value: object) -> str:
    """Return a value with sensible digits: counts whole, small ones as 1.2e-8."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return "" if value is None else str(value)
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        if not math.isfinite(value):
            return str(value)
        if value.is_integer() and abs(value) < 1e15:
            return f"{int(value):,}"
        if 1000 <= abs(value) < 1e15:
            return f"{value:,.1f}"
        return re.sub(r"e([+-])0*(\d)", r"e\1\2", f"{value:.4g}").replace("e+", "e")
    return str(value)


def p_text(value: float) -> str:
    """Return a p-value: 0.0496, 1.2e-8, and below what a number can hold `< 1e-300`; `n/a` where there is none."""
    if math.isnan(value):
        return "n/a"
    if value < 1e-300:
        return "< 1e-300"
    return number(float(f"{value:.2g}")) if value < 0.001 else f"{value:.3g}"


def setting(value: object) -> str:
    """Return a parameter's value as text."""
    if isinstance(value, list | tuple):
        return ", ".join(setting(item) for item in value) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value) or "not set"


def counted(count: int, noun: str, many: str = "") -> str:
    """Return `3 steps` or `1 step`; `many` is the plural of a noun that does not just take an s."""
    return f"{count:,} {noun if count == 1 else many or f'{noun}s'}"


# ==== what was understood ====

TAKEN = {
    "column": ("a column", "blue"),
    "level": ("a group or value", "blue"),
    "gene": ("a gene", "blue"),
    "file": ("a file", "blue"),
    "number": ("a number", "orange"),
    "threshold": ("a threshold", "orange"),
    "direction": ("a direction", "green"),
    "restriction": ("a restriction", "green"),
    "pairing": ("a pairing", "green"),
    "adjustment": ("an adjustment", "green"),
    "asked": ("what is asked", "violet"),
    "method": ("a method", "violet"),
    "output": ("an output", "violet"),
    "unused": ("not used", "red"),
}
"""What words of a question can be taken for, in words, and the colour they are marked with."""

MARKS = {
    "violet": "what is asked",
    "blue": "your data",
    "green": "how it is compared",
    "orange": "numbers",
    "red": "not used",
}
"""Colour -> what it stands for."""

IS = {
    "number": "a measurement",
    "count": "a count",
    "share": "a share or percentage",
    "binary": "two states or groups",
    "category": "names without an order",
    "ordered": "levels with an order",
    "code": "numbers that only name something",
    "identifier": "an identifier of the row",
    "date": "a date",
    "text": "free text",
    "group": "the groups to compare",
    "outcome": "the outcome",
    "measure": "a measured quantity",
    "covariate": "something to adjust for",
    "pair": "the subject or pair of a row",
    "batch": "a technical batch",
    "time": "a time",
    "event": "whether an event happened",
    "dose": "a dose",
    "gene": "gene names",
    "p_value": "p-values",
    "ignore": "nothing to use",
}
"""What a column can be: scales and roles, in words. `id` is the same to a person as `identifier`."""


SHORT = {
    "number": "measurement",
    "binary": "two states",
    "ordered": "ordered levels",
    "identifier": "id",
    "text": "free text",
}
"""Scale -> what heads a narrow column; the others are short enough."""


def said_as(text: str) -> str:
    """Return what a person said of a column (`batch, unit:mg`) in words."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    return ", ".join(
        f"in {part[5:].strip()}" if part.lower().startswith("unit:") else IS.get(part, part) for part in parts
    )
