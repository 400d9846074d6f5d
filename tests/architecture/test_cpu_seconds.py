"""The table of the processor's seconds: every phase is written, and sums are by test, file and fixture."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from cpu_seconds import CpuSeconds


def test_reports_are_written_and_summed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    measured = CpuSeconds(tmp_path / "cpu.tsv")
    for phase, seconds, fixtures in (("setup", 2.0, {"a.py::desk": 1.5}), ("call", 0.25, {}), ("teardown", 0.0, {})):
        cpu = {"seconds": seconds, "fixtures": fixtures}
        measured.pytest_runtest_logreport(SimpleNamespace(nodeid="a.py::test_b", when=phase, cpu=cpu))
    assert {kind: dict(sums) for kind, sums in measured.sums.items()} == {
        "test": {"a.py::test_b": 2.25}, "file": {"a.py": 2.25}, "fixture": {"a.py::desk": 1.5}
    }  # fmt: skip
    assert (tmp_path / "cpu.tsv").read_text().splitlines() == [
        "2.000\tsetup\ta.py::test_b", "1.500\tfixture\ta.py::desk", "0.250\tcall\ta.py::test_b",
        "0.000\tteardown\ta.py::test_b",
    ]  # fmt: skip
