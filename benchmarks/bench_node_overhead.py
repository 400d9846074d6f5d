"""What Biodesk adds to a step that does next to nothing, through the whole engine with a warm worker.

    python benchmarks/bench_node_overhead.py [--rounds 40]

Every round is a run of its own with one step, from an approved plan to the finished run; no result is reused. Shown are
- the sandbox: starting, isolating and ending the job;
- the node: all that is not the step's own code (copying inputs, sandbox, collecting outputs, checks, store);
- the run: the node plus plan, queue and report;
beside the same code as a script of its own in a fresh interpreter, without isolation, checks or record.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.measuring import arguments, report, summary, target  # noqa: E402
from engine.bootstrap import EngineParts, build  # noqa: E402
from engine.domain.datatypes import DataType  # noqa: E402
from engine.domain.plan import Dataset, TaskDag, TaskNode  # noqa: E402
from engine.settings import load_settings  # noqa: E402
from engine.toolbox.registry import tool  # noqa: E402
from engine.toolbox.script import StepInput, step_script  # noqa: E402

LIMIT_MS = 50
WARM_UP = 3


@tool(
    name="bench_count_rows",
    title="Count the rows of a table",
    description="Counts the rows of a table: as little work as a step can do.",
    domain="data handling",
    task_type="analysis",
    inputs={"table": "table"},
    outputs={"counted": "table"},
    checks=("tables_not_empty", "findings_match_tables"),
    packages=("pandas",),
)
def bench_count_rows(table):
    """Count the rows of a table."""
    import pandas as pd

    counted = pd.DataFrame({"what": ["rows"], "count": [len(table)]})
    finding = {
        "text": f"The table has {len(table)} rows.",
        "values": [{"name": "count", "value": len(table)}],
        "output": "counted",
        "row": {"what": "rows"},
    }
    return {"counted": counted, "findings": [finding]}


def one_run(parts: EngineParts, plan: TaskDag, waits: list[float]) -> dict[str, float]:
    """Run the plan once; return sandbox, node and run overhead in milliseconds."""
    began = time.perf_counter()
    run_id = parts.orchestrator.start_plan(plan, user="bench")
    parts.queue.wait(run_id)
    whole = time.perf_counter() - began
    result = parts.records.store.results(run_id)["n1"]
    if result.status != "succeeded":
        raise SystemExit(f"The step ended as {result.status}: {result.error}")
    return {
        "sandbox": result.overhead_seconds * 1000,
        "node": (waits.pop() - result.seconds) * 1000,
        "run": (whole - result.seconds) * 1000,
        "code": result.seconds * 1000,
    }


def timed_nodes(parts: EngineParts) -> list[float]:
    """Make the executor note how long each node takes, and return where."""
    waits: list[float] = []
    execute = type(parts.orchestrator.strategy.executor).run

    def run(executor: Any, *arguments: Any, **options: Any) -> Any:
        began = time.perf_counter()
        try:
            return execute(executor, *arguments, **options)
        finally:
            waits.append(time.perf_counter() - began)

    type(parts.orchestrator.strategy.executor).run = run  # the class has slots, so an instance cannot carry it
    return waits


def as_script(table: Path, folder: Path) -> float:
    """Run the same step as a script of its own; return milliseconds."""
    code = step_script(bench_count_rows.tool_spec, {"table": StepInput(path=str(table), type=DataType.TABLE)}, {})
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=True, capture_output=True)
    return (time.perf_counter() - began) * 1000


def main() -> None:
    """Measure, compare, report."""
    options = arguments(__doc__, rounds=40)
    with tempfile.TemporaryDirectory(prefix="biodesk-bench-") as place:
        folder = Path(place)
        table = folder / "table.csv"
        table.write_text("a,b\n" + "".join(f"{n},{n * n}\n" for n in range(100)), encoding="utf-8")
        settings, _ = load_settings(workspace=folder / "workspace", reuse_results=False)
        parts = build(settings)
        try:
            parts.registry.add(bench_count_rows.tool_spec)
            sha256 = parts.records.artifacts.put_file(table)
            dataset = Dataset(name="table.csv", path=str(table), sha256=sha256, type=DataType.TABLE)
            node = TaskNode(id="n1", name="Count rows", tool="bench_count_rows", inputs={"table": "data:table.csv"})
            plan = TaskDag(question="How many rows are there?", datasets=[dataset], nodes=[node])
            parts.sandbox.warm()
            waits = timed_nodes(parts)
            measured = []
            for number in range(WARM_UP + options.rounds):
                one = one_run(parts, plan, waits)
                # As between the steps of a real run, the sandbox may make the next worker ready.
                time.sleep(0.1)
                if number >= WARM_UP:
                    measured.append(one)
            sandbox = parts.sandbox.report()
        finally:
            parts.close()
        scripts = [as_script(table, folder) for _ in range(max(3, options.rounds // 8))]
    columns = {key: [one[key] for one in measured] for key in measured[0]}
    rows = [
        summary("sandbox: start, isolate, end", columns["sandbox"], unit="ms"),
        summary("node: all but the step's own code", columns["node"], unit="ms"),
        summary("run of one step: all but the step's own code", columns["run"], unit="ms"),
        summary("the step's own code", columns["code"], unit="ms"),
        summary("the same code as a script, fresh interpreter", scripts, unit="ms"),
    ]
    medians = {key: statistics.median(values) for key, values in columns.items()}
    targets = [target("sandbox overhead, median", medians["sandbox"], LIMIT_MS, unit=" ms")]
    report("node_overhead", rows, targets, list(sandbox.missing), sandbox=sandbox.kind, isolation=sandbox.isolation,
           processors=os.cpu_count())  # fmt: skip


if __name__ == "__main__":
    main()
