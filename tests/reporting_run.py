"""A small real run for the tests of reports, notebook and provenance: two tools, three steps, really executed.

The numbers are simulated (seed 7) and have nothing to do with any experiment.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from engine.data.catalogue import KINDS
from engine.domain.datatypes import DataType
from engine.domain.findings import Finding, FindingValue
from engine.domain.plan import Dataset, OpenQuestion, TaskDag, TaskNode
from engine.domain.report import RunView
from engine.domain.results import Artifact, Issue, NodeResult, Route, RunRecord, Verdict
from engine.domain.toolspec import Citation
from engine.errors import NotFoundError
from engine.steps.synthesizer import synthesize
from engine.toolbox.registry import ToolRegistry, param, tool
from engine.toolbox.script import StepInput, step_script


def _describe(mean: float) -> str:
    return f"{mean:.2f}"


@tool(
    name="group_means",
    title="Group means",
    description="Mean and standard deviation of a measure in each group.",
    domain="statistics",
    task_type="analysis",
    inputs={"table": "table: one record a row"},
    outputs={"means": "table: mean of each group", "means_plot": "figure: Group means with standard deviation"},
    params={
        "value": param("The measure", kind="column", of="table", role="measure"),
        "group": param("The groups", kind="column", of="table", role="group"),
        "level": param("Confidence level", unit="of 1", minimum=0.5, maximum=0.999),
    },
    citations=(
        Citation(title="The probable error of a mean", authors="Student", year=1908, doi="10.1093/biomet/6.1.1"),
    ),
    packages=("pandas", "scipy"),
)
def group_means(table, *, value: str, group: str, level: float = 0.95):
    """Give mean, interval and n of each group."""
    from matplotlib.figure import Figure
    from scipy import stats

    rows = []
    for name, part in table.groupby(group)[value]:
        half = stats.t.ppf((1 + level) / 2, len(part) - 1) * part.sem()
        p_value = stats.ttest_1samp(part, 0).pvalue
        rows.append((name, len(part), part.mean(), part.mean() - half, part.mean() + half, p_value))
    import pandas as pd

    means = pd.DataFrame(rows, columns=["group", "n", "mean", "lower_95", "upper_95", "p_value"])
    figure = Figure(figsize=(4, 3))
    axes = figure.subplots()
    axes.errorbar(means["group"], means["mean"], yerr=means["upper_95"] - means["mean"], fmt="o")
    axes.set_ylabel(value)
    findings = [
        {
            "text": f"{value} was measured in {len(table)} records of {len(means)} groups.",
            "values": [{"name": "records", "value": len(table)}, {"name": "groups", "value": len(means)}],
            "output": "means",
        }
    ]
    for row in means.itertuples():
        interval = f"95 % interval {row.lower_95:.2f} to {row.upper_95:.2f}"
        text = f"Mean {value} in {row.group} is {_describe(row.mean)} ({interval})"
        findings.append(
            {
                "text": f"{text}, p = {row.p_value:.1e}, n = {row.n}.",
                "values": [
                    {"name": "mean", "value": row.mean, "low": row.lower_95, "high": row.upper_95, "n": row.n},
                    {"name": "p_value", "value": row.p_value},
                ],
                "output": "means",
                "row": {"group": row.group},
            }
        )
    return {"means": means, "means_plot": figure, "findings": findings, "warnings": ["Normality was not tested."]}


@tool(
    name="log_counts",
    title="Log counts",
    description="Base-2 logarithm of counts plus one.",
    domain="transcriptomics",
    task_type="preprocessing",
    inputs={"counts": "count_matrix"},
    outputs={"expression": "expression_matrix: log2 of counts plus 1"},
    packages=("numpy", "pandas"),
)
def log_counts(counts):
    """Take logarithms."""
    import numpy as np

    text = f"{counts.shape[0]} features of {counts.shape[1]} samples were transformed."
    values = [{"name": "features", "value": counts.shape[0]}, {"name": "samples", "value": counts.shape[1]}]
    return {"expression": np.log2(counts + 1), "findings": [{"text": text, "values": values, "output": "expression"}]}


@tool(
    name="top_features",
    title="Most variable features",
    description="Features with the largest variance over samples.",
    domain="transcriptomics",
    task_type="analysis",
    inputs={"expression": "expression_matrix"},
    outputs={"top": "table: most variable features"},
    params={"number": param("How many", minimum=1)},
    packages=("pandas",),
)
def top_features(expression, *, number: int = 5):
    """Rank by variance."""
    top = expression.var(axis=1).sort_values(ascending=False).head(number).rename("variance").reset_index()
    first = top.iloc[0]
    return {
        "top": top,
        "findings": [
            {
                "text": f"{first['feature']} varies most (variance {first['variance']:.3g} log2 units squared).",
                "values": [{"name": "variance", "value": float(first["variance"])}],
                "output": "top",
                "row": {"feature": first["feature"]},
            }
        ],
    }


def small_registry() -> ToolRegistry:
    return ToolRegistry(function.tool_spec for function in (group_means, log_counts, top_features))


class FolderStore:
    """Artifacts in a folder, by hash."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def put_bytes(self, data: bytes) -> str:
        sha256 = hashlib.sha256(data).hexdigest()
        (self.folder / sha256).write_bytes(data)
        return sha256

    def put_file(self, path: Path) -> str:
        return self.put_bytes(path.read_bytes())

    def path(self, sha256: str) -> Path:
        if not self.has(sha256):
            raise NotFoundError(f"Nothing is stored under {sha256}.")
        return self.folder / sha256

    def has(self, sha256: str) -> bool:
        return (self.folder / sha256).is_file()

    def verify(self, sha256: str) -> str:
        return hashlib.sha256((self.folder / sha256).read_bytes()).hexdigest() if self.has(sha256) else ""

    def copy(self, folder: Path) -> FolderStore:
        shutil.copytree(self.folder, folder)
        return FolderStore(folder)


def write_data(folder: Path) -> tuple[Path, Path]:
    """Simulate a table of two groups and a count matrix."""
    random = np.random.default_rng(7)
    table = pd.DataFrame({"dose group": ["low"] * 20 + ["high"] * 20, "growth": random.normal(0, 1, 40)})
    table.loc[20:, "growth"] += 3
    counts = pd.DataFrame(
        random.poisson(random.gamma(2, 40, size=(60, 1)), size=(60, 6)),
        index=[f"gene{i}" for i in range(60)],
        columns=[f"s{i}" for i in range(6)],
    )
    folder.mkdir(parents=True, exist_ok=True)
    table.to_csv(folder / "growth.csv", index=False)
    counts.to_csv(folder / "counts.csv", index_label="feature")
    return folder / "growth.csv", folder / "counts.csv"


def dataset(name: str, path: Path, kind: DataType, read: dict) -> Dataset:
    data = path.read_bytes()
    return Dataset(
        name=name, path=str(path), sha256=hashlib.sha256(data).hexdigest(), bytes=len(data), type=kind, read=read
    )


def small_plan(folder: Path) -> TaskDag:
    growth, counts = write_data(folder)
    return TaskDag(
        question="does the dose change growth, and which genes vary?",
        datasets=[
            dataset("growth.csv", growth, DataType.TABLE, {}),
            dataset("counts.csv", counts, DataType.COUNT_MATRIX, {"index_col": 0}),
        ],
        nodes=[
            TaskNode(id="n1", name="Growth by dose", tool="group_means", inputs={"table": "data:growth.csv"},
                     params={"value": "growth", "group": "dose group"}, reasons=["The question compares doses."]),
            TaskNode(id="n2", name="Logarithm", tool="log_counts", inputs={"counts": "data:counts.csv"}),
            TaskNode(id="n3", name="Variable genes", tool="top_features", inputs={"expression": "n2.expression"},
                     params={"number": 25}),
        ],
        open_questions=[OpenQuestion(id="q1", text="How many genes?", why="the question does not say", node="n3",
                                     param="number", proposed=25)],
        warnings=["The plate was not recorded."],
        notes=["'Dose' was taken to mean the column dose group."],
    )  # fmt: skip


def run_step(plan: TaskDag, node: TaskNode, results: dict, registry: ToolRegistry, store: FolderStore, work: Path):
    """Run a step as a script in its own process and return its NodeResult."""
    spec = registry.get(node.tool)
    folder = work / node.id
    (folder / "inputs").mkdir(parents=True)
    inputs, hashes = {}, {}
    for name, ref in node.inputs.items():
        if ref.startswith("data:"):
            data = plan.dataset(ref[5:])
            kind, read, file, hashes[name] = data.type, data.read, Path(data.path).name, data.sha256
        else:
            upstream, _, output = ref.partition(".")
            made = next(a for a in results[upstream].artifacts if a.output == output)
            kind = DataType(made.type)
            read, file, hashes[name] = KINDS[kind].stored, made.name, made.sha256
        shutil.copyfile(store.path(hashes[name]), folder / "inputs" / file)
        inputs[name] = StepInput(path=f"inputs/{file}", type=kind, read=read)
    code = step_script(spec, inputs, node.params)
    (folder / "step.py").write_text(code)
    done = subprocess.run([sys.executable, "step.py"], cwd=folder, capture_output=True, text=True,
                          env={**os.environ, "MPLBACKEND": "Agg"})  # fmt: skip
    assert done.returncode == 0, done.stderr
    written = json.loads((folder / "outputs" / "result.json").read_text())
    artifacts = [
        Artifact(name=f"{node.id}_{facts['file']}", output=output, type=facts["type"], node=node.id, rows=facts["rows"],
                 columns=facts["columns"], sha256=store.put_file(folder / "outputs" / facts["file"]),
                 bytes=(folder / "outputs" / facts["file"]).stat().st_size)
        for output, facts in written["outputs"].items()
    ]  # fmt: skip
    names = {a.output: a.name for a in artifacts}
    findings = [
        Finding(id=f"{node.id}_f{number}", node=node.id, text=f["text"], artifact=names.get(f.get("output", ""), ""),
                values=[FindingValue(**v) for v in f.get("values", [])], row=f.get("row", {}))
        for number, f in enumerate(written["findings"], start=1)
    ]  # fmt: skip
    import importlib.metadata as metadata

    return NodeResult(
        node=node.id, tool=node.tool, status="succeeded", seconds=0.5, started_at="2026-11-21T08:00:00.000Z",
        finished_at="2026-11-21T08:00:01.000Z", findings=findings, warnings=written["warnings"], artifacts=artifacts,
        verdict=Verdict(passed=True, quality=0.9, issues=[
            Issue(code="caveat", severity="warning", message=text) for text in written["warnings"]]),
        code_sha256=store.put_bytes(code.encode()), params=node.params, inputs=hashes, cache_key="k",
        versions={name: metadata.version(name) for name in spec.packages},
    )  # fmt: skip


def execute(plan: TaskDag, registry: ToolRegistry, store: FolderStore, work: Path) -> RunView:
    """Run a plan step by step and return the finished run with its report."""
    for data in plan.datasets:
        store.put_file(Path(data.path))
    results: dict[str, NodeResult] = {}
    for node in plan.order():
        results[node.id] = run_step(plan, node, results, registry, store, work)
    view = RunView(
        record=RunRecord(
            run_id="run_20261121_080000_a1b2c3", user="ada", question=plan.question, status="succeeded",
            created_at="2026-11-21T08:00:00.000Z", finished_at="2026-11-21T08:00:05.000Z",
            environment={"python": "3.11", "platform": "Linux", "cpus": "2"},
        ),
        route=Route(strategy="dag", confidence=0.9, method="heuristic"),
        plan=plan, plan_versions=[1], results=results, sandbox={"kind": "process"},
    )  # fmt: skip
    return view.model_copy(update={"report": synthesize(view, registry)})


def with_failure(view: RunView, registry: ToolRegistry) -> RunView:
    """Return the run as it would be had the second step failed and the third been skipped."""
    failed = view.results["n2"].model_copy(
        update={"status": "failed", "error": "Counts must not be negative, found -3.", "artifacts": [], "findings": []}
    )
    skipped = NodeResult(node="n3", tool="top_features", status="skipped")
    record = view.record.model_copy(update={"status": "partial"})
    results = {**view.results, "n2": failed, "n3": skipped}
    broken = view.model_copy(update={"record": record, "results": results, "report": None})
    return broken.model_copy(update={"report": synthesize(broken, registry)})
