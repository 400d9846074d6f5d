"""The whole airway analysis, from question to report, beside a bare script that makes the same calls.

    python benchmarks/bench_airway.py [--rounds 3]

Three ways, one after the other in every round (in changing order), each with nothing reused from before:
- the engine's API as the app uses it: open and warm; from the question to the report and the exported folder;
- the command line in a fresh process: `biodesk ask ... --yes --out DIR`;
- benchmarks/bare_airway.py in a fresh process, its imports included.
The engine also checks the counts, normalises, draws six figures, judges every step and writes report, PDF, notebook and
provenance. That the three find the same number of genes, to 3 in 100, is checked: a fast wrong answer would be none.
"""

from __future__ import annotations

import json
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

from benchmarks.airway_data import QUESTION, Airway, airway  # noqa: E402
from benchmarks.measuring import arguments, report, summary, target  # noqa: E402

API, CLI, BARE = "engine API, open and warm", "biodesk ask, fresh process", "bare script, fresh process"
LIMIT = 1.3


def through_api(data: Airway, folder: Path) -> dict[str, Any]:
    """Ask through the API of an open, warm engine on a new workspace."""
    from engine.api import open_engine

    with open_engine(workspace=folder / "workspace") as engine:
        engine.warm()
        began = time.perf_counter()
        run_id = engine.ask(QUESTION, data[:3], auto_approve=True)
        record = engine.wait(run_id)
        engine.bundle(run_id, folder / "out")
        seconds = time.perf_counter() - began
        if record.status != "succeeded":
            raise SystemExit(f"The run ended as {record.status}: {record.error}")
        results = engine.view(run_id).results
    steps = {f"{node} {result.tool}": round(result.seconds, 2) for node, result in results.items()}
    return {"seconds": seconds, "steps": steps, **numbers(folder / "out")}


def through_cli(data: Airway, folder: Path) -> dict[str, Any]:
    """Ask through the command line on a new workspace."""
    places = ["--workspace", str(folder / "workspace"), "--out", str(folder / "out")]
    files = [str(path) for path in data[:3]]
    command = [sys.executable, "-m", "engine", "ask", QUESTION, "--data", *files, "--yes", "--json", "--quiet", *places]
    began = time.perf_counter()
    finished(command)
    return {"seconds": time.perf_counter() - began, **numbers(folder / "out")}


def bare(data: Airway, folder: Path) -> dict[str, Any]:
    """Run the bare script."""
    command = [sys.executable, str(ROOT / "benchmarks" / "bare_airway.py"), *map(str, data[:3]), str(folder / "out")]
    began = time.perf_counter()
    output = finished(command)
    return {"seconds": time.perf_counter() - began, **json.loads(output.splitlines()[-1])}


def finished(command: list[str]) -> str:
    """Run a command to its end and return what it printed."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "MPLBACKEND": "Agg"})
    if done.returncode:
        raise SystemExit(f"{' '.join(command[:4])} ... failed with exit code {done.returncode}:\n{done.stderr[-3000:]}")
    return done.stdout


def numbers(out: Path) -> dict[str, Any]:
    """Return the gene and gene set counts of a run's findings."""
    document = json.loads((out / "run.json").read_text(encoding="utf-8"))
    tools = {node["id"]: node["tool"] for node in document["plan"]["nodes"]}
    found: dict[str, Any] = {}
    for finding in document["findings"]:
        values = {value["name"]: value["value"] for value in finding["values"]}
        if tools[finding["node"]] == "differential_expression" and "n_significant" in values:
            found.update(n_significant=values["n_significant"], n_up=values["n_up"])
        if tools[finding["node"]] == "gsea_preranked" and "n_significant" in values:
            found["n_gsea"] = values["n_significant"]
    return found


def main() -> None:
    """Measure, compare, report."""
    options = arguments(__doc__, rounds=3)
    ways = [(API, through_api), (CLI, through_cli), (BARE, bare)]
    measured: dict[str, list[dict[str, Any]]] = {name: [] for name, _ in ways}
    with tempfile.TemporaryDirectory(prefix="biodesk-bench-") as place:
        data = airway(Path(place))
        for number in range(options.rounds):
            turn = number % len(ways)
            for position, (name, measure) in enumerate(ways[turn:] + ways[:turn]):
                folder = Path(place) / f"round{number}_{position}"
                folder.mkdir()
                measured[name].append(measure(data, folder))
                print(f"  {name}: {measured[name][-1]['seconds']:.1f} s", file=sys.stderr, flush=True)
    found = {name: {k: v for k, v in runs[-1].items() if k.startswith("n_")} for name, runs in measured.items()}
    # The bare script's optimisers stop by rounding, the product's at the optimum: some 1 in 100 genes are others.
    counts = {key: [found[name].get(key) or 0 for name in found] for key in ("n_significant", "n_up")}
    differing = [key for key, values in counts.items() if not min(values) or max(values) > 1.03 * min(values)]
    if differing:
        raise SystemExit(f"The ways disagree on {', '.join(differing)}, so their times cannot be compared: {found}")
    seconds = {name: [run["seconds"] for run in runs] for name, runs in measured.items()}
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    rows = [summary(name, values, unit="s", digits=2) for name, values in seconds.items()]
    targets = [target(f"{name} / bare script", medians[name] / medians[BARE], LIMIT, unit="x") for name in (API, CLI)]
    notes = [data.note] if data.note else []
    report("airway", rows, targets, notes, question=QUESTION, found=found, steps=measured[API][-1]["steps"],
           data="simulated" if data.note else "airway (GSE52778)")  # fmt: skip


if __name__ == "__main__":
    main()
