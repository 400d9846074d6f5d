"""What every benchmark needs, so that their figures can be compared: medians, the machine, one table, one JSON file."""

from __future__ import annotations

import argparse
import os
import platform
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.domain.encoding.plain_json import json_text

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"


def arguments(text: str, *, rounds: int, draws: bool = False) -> argparse.Namespace:
    """Read the command line that all benchmarks share; with `draws` also the seed of what is drawn."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=rounds, help=f"repeats of each measurement (default {rounds})")
    if draws:
        parser.add_argument("--seed", type=int, default=0, help="other worlds of the same kind (default 0)")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error(f"--rounds must be at least 1, not {options.rounds}")
    return options


def machine() -> dict[str, Any]:
    """Return what a reader must know to compare these figures with others."""
    return {
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "system": platform.platform(),
        "load": round(os.getloadavg()[0], 2),
    }


def summary(name: str, values: Sequence[float], *, unit: str, digits: int = 1) -> dict[str, Any]:
    """Return a row: median, 95th percentile and smallest of the values, and how many there are."""
    ordered = sorted(values)
    return {
        "name": name,
        "unit": unit,
        "n": len(ordered),
        "p50": round(statistics.median(ordered), digits),
        "p95": round(ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))], digits),
        "min": round(ordered[0], digits),
    }


def target(name: str, value: float, limit: float, *, unit: str = "") -> dict[str, Any]:
    """Return a target that is met when the value is at most the limit."""
    return {"name": name, "value": round(value, 3), "limit": limit, "unit": unit, "met": value <= limit}


def at_least(name: str, value: float, limit: float, *, unit: str = "") -> dict[str, Any]:
    """Return a target that is met when the value is at least the limit."""
    return {**target(name, value, limit, unit=unit), "at_least": True, "met": value >= limit}


def report(
    name: str, rows: list[dict[str, Any]], targets: list[dict[str, Any]], notes: Sequence[str] = (), **facts: Any
) -> None:
    """Print the table and write `results/NAME.json`."""
    document = {"name": name, "machine": machine(), **facts, "targets": targets, "notes": list(notes), "rows": rows}
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json_text(document, indent=1) + "\n", encoding="utf-8")
    wide = max(len(row["name"]) for row in rows) + 2
    print(f"{'':{wide}}{'p50':>11}{'p95':>11}{'min':>11}  {'n':>4}")
    for row in rows:
        numbers = "".join(f"{row[key]:>11,.{_digits(row[key])}f}" for key in ("p50", "p95", "min"))
        print(f"{row['name']:{wide}}{numbers}  {row['n']:>4} {row['unit']}")
    for goal in targets:
        met = "met" if goal["met"] else "MISSED"
        side = "at least" if goal.get("at_least") else "at most"
        print(f"Target {met}: {goal['name']} {goal['value']:g}{goal['unit']}, {side} {goal['limit']:g}{goal['unit']}")
    for note in notes:
        print(f"Note: {note}")


def not_measured(name: str, why: str) -> None:
    """Say why nothing was measured, also in `results/NAME.json`, so that no older figure is taken for a new one."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    document = {"name": name, "machine": machine(), "not_measured": why}
    (RESULTS / f"{name}.json").write_text(json_text(document, indent=1) + "\n", encoding="utf-8")
    print(f"Not measured: {why}")


def _digits(number: float) -> int:
    return 3 if abs(number) < 1 else 1 if abs(number) < 1000 else 0
