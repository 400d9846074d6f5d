"""Typical analyses of tables, from question to report, each beside a bare script of the same library calls.

    python benchmarks/bench_tables.py [--rounds 5]

The engine is open and warm, nothing is reused, every question is planned and run as the app does. What every run
costs whatever it computes (plan, sandbox, record, report) is measured on the smallest question, three columns
described, and taken off; the rest is set against the bare script in a fresh interpreter, its imports included. Both
must agree on a number. Planning alone is timed, too. The data are simulated.
"""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.measuring import arguments, report, summary, target  # noqa: E402

LIMIT, PLAN_MS = 1.3, 300.0


class Case(NamedTuple):
    """An analysis: the question, its file, the tool that answers, and where both ways' number stands in its tables."""

    question: str
    file: str
    tool: str
    output: str
    column: str
    row: dict[str, str | float]


CASES = {
    "compare_groups": Case(
        "Does weight_g differ between drug and control, by Welch's t-test?",
        "rats.csv",
        "compare_groups",
        "comparison",
        "p_value",
        {},
    ),
    "correlation": Case("Pearson correlation of age and weight_g", "rats.csv", "correlation", "correlations", "r", {}),
    "linear_regression": Case(
        "Linear regression of weight_g on age and arm",
        "rats.csv",
        "linear_regression",
        "coefficients",
        "p_value",
        {"term": "age"},
    ),
    "logistic_regression": Case(
        "Logistic regression of relapse on age and arm",
        "rats.csv",
        "logistic_regression",
        "coefficients",
        "p_value",
        {"term": "age"},
    ),
    "mixed_model": Case(
        "Does the growth in length over the weeks differ between the diets, mixed model with fish as random effect?",
        "fish.csv",
        "mixed_model",
        "variance",
        "value",
        {"component": "ICC"},
    ),
    "cox_regression": Case(
        "Cox regression of survival on arm and age",
        "rats.csv",
        "cox_regression",
        "cox_table",
        "p_value",
        {"term": "age"},
    ),
    "dose_response": Case(
        "What is the EC50 of the drug on viability?", "doses.csv", "dose_response", "doses", "dose", {"percent": 50.0}
    ),
}
SMALLEST = ("Describe this table", "small.csv")


def simulate(folder: Path) -> None:
    """Write the simulated tables."""
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(20261123)
    n = 200
    arm = np.array(["control", "drug"] * (n // 2))
    age = rng.normal(60, 10, n).round(1)
    days = rng.exponential(400 * np.exp(0.4 * (arm == "drug") - 0.02 * (age - 60))).round() + 1
    died = (days < 500).astype(int)
    relapse = np.where(rng.random(n) < 1 / (1 + np.exp(-(0.04 * (age - 60) - 0.7 * (arm == "drug")))), "yes", "no")
    weight = (300 + 1.2 * age + 12 * (arm == "drug") + rng.normal(0, 25, n)).round(1)
    rats = {
        "rat": range(1, n + 1),
        "arm": arm,
        "age": age,
        "weight_g": weight,
        "relapse": relapse,
        "days": np.minimum(days, 500),
        "died": died,
    }
    pd.DataFrame(rats).to_csv(folder / "rats.csv", index=False)
    pd.DataFrame(rats)[["arm", "age", "weight_g"]].to_csv(folder / "small.csv", index=False)
    fish = np.repeat(np.arange(40), 6)
    week, diet = np.tile(np.arange(6), 40), np.where(fish % 2, "B", "A")
    own = rng.normal(0, 3, 40)[fish]
    length = (50 + own + week * np.where(diet == "B", 2.4, 2.0) + rng.normal(0, 1, 240)).round(2)
    pd.DataFrame({"fish": [f"F{f:02d}" for f in fish], "diet": diet, "week": week, "length": length}).to_csv(
        folder / "fish.csv", index=False
    )
    dose = np.repeat([0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100], 4)
    viability = (5 + 95 / (1 + (dose / 1.7) ** 1.2) + rng.normal(0, 3, len(dose))).round(2)
    pd.DataFrame({"dose_uM": dose, "viability": viability}).to_csv(folder / "doses.csv", index=False)


def asked(engine: Any, question: str, path: Path) -> tuple[float, str]:
    """Ask, wait for the report; return seconds and the run's id."""
    began = time.perf_counter()
    run_id = engine.ask(question, [path], auto_approve=True)
    record = engine.wait(run_id)
    engine.report_html(run_id)
    seconds = time.perf_counter() - began
    if record.status != "succeeded":
        raise SystemExit(f"{question!r} ended as {record.status}: {record.error}")
    return seconds, run_id


def number(engine: Any, run_id: str, case: Case) -> float:
    """Return the number that the run's table holds."""
    import pandas as pd

    nodes = {node["id"]: node["tool"] for node in engine.run_json(run_id)["plan"]["nodes"]}
    results = engine.view(run_id).results
    node = next((results[key] for key, tool in nodes.items() if tool == case.tool), None)
    if node is None:
        raise SystemExit(f"{case.question!r} was planned as {', '.join(nodes.values())}, not {case.tool}.")
    table = pd.read_csv(engine.artifact(next(a for a in node.artifacts if a.output == case.output).sha256))
    for column, value in case.row.items():
        table = table[table[column] == value]
    return float(table[case.column].iloc[0])


def main() -> None:
    """Measure, compare, report."""
    from engine.api import open_engine

    options = arguments(__doc__, rounds=5)
    runs: dict[str, list[float]] = {name: [] for name in ("", *CASES)}
    bare: dict[str, list[float]] = {name: [] for name in CASES}
    plans: list[float] = []
    with tempfile.TemporaryDirectory(prefix="biodesk-bench-") as place:
        folder = Path(place)
        simulate(folder)
        with open_engine(workspace=folder / "workspace", reuse_results=False) as engine:
            engine.warm()
            for turn in range(options.rounds + 1):  # the first round warms up
                told = asked(engine, SMALLEST[0], folder / SMALLEST[1])[0]
                runs[""] += [told] * (turn > 0)
                for name, case in CASES.items():
                    began = time.perf_counter()
                    engine.plan(case.question, [folder / case.file])
                    plans += [(time.perf_counter() - began) * 1000] * (turn > 0)
                    seconds, run_id = asked(engine, case.question, folder / case.file)
                    runs[name] += [seconds] * (turn > 0)
                    command = [
                        sys.executable,
                        str(ROOT / "benchmarks" / "bare_tables.py"),
                        name,
                        str(folder / case.file),
                        str(folder / name),
                    ]
                    began = time.perf_counter()
                    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
                    bare[name] += [time.perf_counter() - began] * (turn > 0)
                    own, theirs = number(engine, run_id, case), json.loads(done.stdout.splitlines()[-1])["value"]
                    if not math.isclose(own, theirs, rel_tol=2e-3):
                        raise SystemExit(f"{name}: {own} here and {theirs} by the bare script, so times say nothing.")
    fixed = statistics.median(runs[""])
    rows = [summary("a run that only describes three columns", runs[""], unit="s", digits=2)]
    targets = []
    for name in CASES:
        rows += [
            summary(f"{name}: run", runs[name], unit="s", digits=2),
            summary(f"{name}: bare script", bare[name], unit="s", digits=2),
        ]
        beyond = max(0.0, statistics.median(runs[name]) - fixed) / statistics.median(bare[name])
        targets.append(target(f"{name}: run less the fixed cost / bare script", beyond, LIMIT, unit="x"))
    rows.append(summary("planning alone", plans, unit="ms"))
    targets.append(target("planning, 95th percentile", rows[-1]["p95"], PLAN_MS, unit=" ms"))
    report("tables", rows, targets, ["simulated data"])


if __name__ == "__main__":
    main()
