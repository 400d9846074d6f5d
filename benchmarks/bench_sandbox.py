"""What a sandboxed step costs before and after its own code runs, beside the plain ways to start Python.

    python benchmarks/bench_sandbox.py [--rounds 25] [--json] [--real]

Writes benchmarks/results/sandbox.json. `--real` adds a real analysis (neighbours and UMAP of the 700 blood cells that
ship with scanpy) in a warm step and as a script of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from engine.adapters.process_sandbox import ProcessSandbox  # noqa: E402
from engine.ports.sandbox import Job, Limits  # noqa: E402
from engine.runs.cancel import CancelSource  # noqa: E402

SMALL = "print(1)"
IMPORTS = "import numpy, pandas, matplotlib.pyplot\nprint(1)"
HEAVY = "import scanpy\nprint(1)"
REAL = """
import time, warnings
warnings.filterwarnings("ignore")
import scanpy as sc
began = time.monotonic()
cells = sc.datasets.pbmc68k_reduced()
sc.pp.neighbors(cells, random_state=0)
sc.tl.umap(cells, random_state=0)
print(cells.obsm["X_umap"].shape, round(time.monotonic() - began, 2))
"""


def step(sandbox: ProcessSandbox, code: str) -> tuple[float, float]:
    """Run one step; return (overhead, whole time) in milliseconds, the overhead measured from outside."""
    sandbox._places.scratch.mkdir(exist_ok=True)  # made by the first job's workdir, as the executor does
    workdir = Path(tempfile.mkdtemp(dir=sandbox._places.scratch))
    began = time.perf_counter()
    job = Job(id="bench", code=code, workdir=workdir, limits=Limits(seconds=300))
    result = sandbox.run(job, on_output=lambda *_: None, cancel=CancelSource())
    whole = time.perf_counter() - began
    if not result.ok:
        raise SystemExit(f"the step failed: {result.error}\n{result.stderr[-2000:]}")
    return (whole - result.seconds) * 1000, whole * 1000


def script(code: str) -> tuple[float, float]:
    """Run the code as a script of its own; all of it counts as overhead, for the code itself is next to nothing."""
    began = time.perf_counter()
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, env=environment)
    whole = (time.perf_counter() - began) * 1000
    return whole, whole


def row(name: str, action: Callable[[], tuple[float, float]], rounds: int) -> dict[str, Any]:
    """Measure `rounds` times, with pauses in which the sandbox may make the next step ready, as in a real run."""
    times = []
    for _ in range(rounds):
        times.append(action())
        time.sleep(0.1)
    overhead = sorted(time[0] for time in times)
    return {
        "name": name,
        "rounds": rounds,
        "overhead_ms_p50": round(statistics.median(overhead), 1),
        "overhead_ms_min": round(overhead[0], 1),
        "overhead_ms_p95": round(overhead[min(len(overhead) - 1, int(len(overhead) * 0.95))], 1),
        "whole_ms_p50": round(statistics.median(time[1] for time in times), 1),
    }


def measure(rounds: int, *, real: bool) -> dict[str, Any]:
    """Measure everything."""
    few = max(3, rounds // 5)
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        sandbox = ProcessSandbox(Path(folder) / "scratch")
        cold = ProcessSandbox(Path(folder) / "cold", preload=())
        try:
            began = time.perf_counter()
            sandbox.warm()
            warm_seconds = time.perf_counter() - began
            report, hello = sandbox.report(), sandbox.hello
            time.sleep(0.5)
            rows.append(row("warm step", lambda: step(sandbox, SMALL), rounds))
            rows.append(row("warm step importing numpy, pandas, matplotlib", lambda: step(sandbox, IMPORTS), rounds))
            rows.append(row("warm step importing scanpy", lambda: step(sandbox, HEAVY), rounds))
            if real:
                rows.append(row("warm step: neighbours and UMAP of 700 cells", lambda: step(sandbox, REAL), 2))
            sandbox.close()
            rows.append(row(f"cold step in {report.kind}", lambda: step(cold, SMALL), few))
            rows.append(row("cold step importing numpy, pandas, matplotlib", lambda: step(cold, IMPORTS), few))
        finally:
            sandbox.close()
            cold.close()
    rows.append(row("python -c pass, no isolation", lambda: script("pass"), few))
    rows.append(row("python importing numpy, pandas, matplotlib, no isolation", lambda: script(IMPORTS), few))
    rows.append(row("python importing scanpy, no isolation", lambda: script(HEAVY), few))
    if real:
        rows.append(row("python script: neighbours and UMAP of 700 cells", lambda: script(REAL), 2))
    return {
        "machine": {"cores": os.cpu_count(), "python": platform.python_version(), "system": platform.platform(),
                    "load": os.getloadavg()[0]},
        "sandbox": {"kind": report.kind, "isolation": report.isolation, "missing": report.missing,
                    "preloaded": hello.preloaded if hello else []},
        "warm_up_seconds": round(warm_seconds, 2),
        "target_ms": 50,
        "rows": rows,
    }  # fmt: skip


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--real", action="store_true", help="add a real analysis")
    arguments = parser.parse_args()
    results = measure(arguments.rounds, real=arguments.real)
    place = ROOT / "benchmarks" / "results" / "sandbox.json"
    place.parent.mkdir(exist_ok=True)
    place.write_text(json.dumps(results, indent=1) + "\n")
    if arguments.json:
        print(json.dumps(results, indent=1))
        return
    print(f"{'':58}{'overhead ms p50':>16}{'min':>9}{'p95':>9}{'whole':>10}")
    for line in results["rows"]:
        numbers = (line["overhead_ms_p50"], line["overhead_ms_min"], line["overhead_ms_p95"], line["whole_ms_p50"])
        print(f"{line['name']:58}{numbers[0]:16.1f}{numbers[1]:9.1f}{numbers[2]:9.1f}{numbers[3]:10.1f}")
    print(f"Warming up took {results['warm_up_seconds']} s; target: a warm step's overhead at most 50 ms.")


if __name__ == "__main__":
    main()
