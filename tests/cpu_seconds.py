"""A plugin of pytest that tells where the processor's time goes, also on a machine that others use too.

`PYTHONPATH=tests python -m pytest -p cpu_seconds --cpu=cpu.tsv` writes one line a test, phase and fixture, as they end: seconds of
the processor (of the tests' process and of the programs it has waited for), what it was, and its name; the end of the
run prints the sum and the dearest tests, files and fixtures.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

SHOWN = 25
LEAST = 0.01
"""Seconds from which on something is shown."""


def spent() -> float:
    """Return the seconds that this process and the ended programs below it have had of the processor."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names the table to write."""
    parser.addoption("--cpu", metavar="FILE", help="write the processor's seconds of tests and fixtures to this table")


def pytest_configure(config: pytest.Config) -> None:
    """Measure in the process that runs tests, gather in the one that prints."""
    if config.getoption("--cpu"):
        config.pluginmanager.register(CpuSeconds(Path(config.getoption("--cpu"))), "cpu-seconds")


class CpuSeconds:
    """Seconds of the processor by phase of a test and by fixture, carried to where they are printed by the reports."""

    def __init__(self, table: Path) -> None:
        self.table = table
        self.fixtures: Counter[str] = Counter()  # set up since the last report
        self.before = spent()
        self.sums: dict[str, Counter[str]] = {kind: Counter() for kind in ("test", "file", "fixture")}

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Iterator[None]:
        """Measure one fixture; what it needs was set up before and counts for itself."""
        before = spent()
        try:
            return (yield)
        finally:
            self.fixtures[f"{fixturedef.baseid or 'pytest'}::{fixturedef.argname}"] += spent() - before

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Iterator[Any]:
        """Give the report of a phase what was spent since the report before."""
        report = yield
        now = spent()
        report.cpu = {"seconds": now - self.before, "fixtures": dict(self.fixtures)}
        self.before = now
        self.fixtures.clear()
        return report

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Add a report to the sums, in the process that has the terminal."""
        if os.environ.get("PYTEST_XDIST_WORKER"):
            return
        found = [("test", report.nodeid, report.cpu["seconds"])]
        found += [("fixture", name, seconds) for name, seconds in report.cpu["fixtures"].items()]
        with self.table.open("a", encoding="utf-8") as out:
            for kind, name, seconds in found:
                self.sums[kind][name] += seconds
                out.write(f"{seconds:.3f}\t{report.when if kind == 'test' else kind}\t{name}\n")
        self.sums["file"][report.nodeid.split("::")[0]] += report.cpu["seconds"]

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the sum and what was dearest."""
        terminalreporter.section(f"{self.sums['test'].total():.1f} seconds of the processor")
        for kind, sums in self.sums.items():
            terminalreporter.write_line(f"dearest of {len(sums)} {kind}s:")
            for name, seconds in sums.most_common(SHOWN):
                if seconds >= LEAST:
                    terminalreporter.write_line(f"{seconds:9.2f}  {name}")
