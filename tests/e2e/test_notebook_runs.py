"""Exported notebooks run where there is no Biodesk and give the recorded numbers again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "unit"))
from reporting_run import FolderStore, dataset, execute, small_plan, small_registry

from engine.domain.datatypes import DataType
from engine.domain.plan import TaskDag, TaskNode
from engine.provenance.verify import verify_path
from engine.reporting.forms.bundle import write_bundle
from engine.toolbox.registry import builtin_tools

RUN = """
import nbformat
from nbclient import NotebookClient
book = nbformat.read("notebook.ipynb", as_version=4)
blind = "import sys\\nfor name in ('engine', 'storage', 'pages', 'biodesk'):\\n    sys.modules[name] = None"
book.cells.insert(0, nbformat.v4.new_code_cell(blind, id="blind"))
NotebookClient(book, timeout=300, kernel_name="python3").execute()
nbformat.write(book, "executed.ipynb")
"""


def run_notebook(folder: Path) -> dict[str, str]:
    """Execute a bundle's notebook in its folder, without Biodesk; return cell id -> what it printed."""
    env = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "BIODESK_DATA")}
    (folder / "run.py").write_text(RUN)
    done = subprocess.run([sys.executable, "run.py"], cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    book = nbformat.read(folder / "executed.ipynb", as_version=4)
    return {
        cell.id: "".join(o.get("text", "") for o in cell.outputs if o.output_type == "stream")
        for cell in book.cells
        if cell.cell_type == "code"
    }


def test_notebook_gives_the_recorded_tables_again(tmp_path):
    store, registry = FolderStore(tmp_path / "store"), small_registry()
    view = execute(small_plan(tmp_path / "in"), registry, store, tmp_path / "work")
    out = tmp_path / "out"
    write_bundle(view, store, registry, out)
    for path in (tmp_path / "in").iterdir():
        path.unlink()  # the notebook must find the copies in data/
    printed = run_notebook(out)
    assert "growth.csv: data/growth.csv (same content as in the analysis)" in printed["data"]
    assert "4 of 4 outputs are the same as recorded (" in printed["compare"]
    assert "NOT the same" not in printed["compare"]
    for node, output in (("n1", "means"), ("n2", "expression"), ("n3", "top")):
        ours = (out / "results" / node / f"{output}.csv").read_bytes()
        assert ours == (out / "artifacts" / f"{node}_{output}.csv").read_bytes()
    book = json.loads((out / "executed.ipynb").read_text())
    images = [o for c in book["cells"] for o in c.get("outputs", []) if "image/png" in o.get("data", {})]
    assert len(images) == 1
    assert verify_path(out).ok


def test_notebook_on_other_data_says_so(tmp_path):
    store, registry = FolderStore(tmp_path / "store"), small_registry()
    view = execute(small_plan(tmp_path / "in"), registry, store, tmp_path / "work")
    out = tmp_path / "out"
    write_bundle(view, store, registry, out)
    for folder in (tmp_path / "in", out / "data"):
        table = pd.read_csv(folder / "growth.csv")
        table.loc[0, "growth"] += 0.5
        table.to_csv(folder / "growth.csv", index=False)
    printed = run_notebook(out)
    assert "DIFFERENT from the file the analysis used" in printed["data"]
    assert "results/n1/means.csv: DIFFERENT" in printed["compare"]
    assert "results/n3/top.csv: identical" in printed["compare"]
    assert "The data differ from those of the recorded analysis: growth.csv" in printed["compare"]


@pytest.mark.slow
def test_differential_expression_is_reproduced_by_its_notebook(tmp_path):
    registry = builtin_tools()
    random = np.random.default_rng(3)
    treated = np.array([0, 1] * 4)
    mean = random.gamma(2, 100, size=(200, 1)) * np.ones((1, 8))
    mean[:20, treated == 1] *= 6
    counts = random.negative_binomial(10, 10 / (10 + mean))
    samples = [f"s{i}" for i in range(8)]
    folder = tmp_path / "in"
    folder.mkdir()
    pd.DataFrame(counts, index=[f"G{i}" for i in range(200)], columns=samples).to_csv(
        folder / "counts.csv", index_label="gene"
    )
    pd.DataFrame({"sample": samples, "arm": np.where(treated, "drug", "vehicle")}).to_csv(
        folder / "sheet.csv", index=False
    )
    plan = TaskDag(
        question="Which genes change with the drug?",
        datasets=[
            dataset("counts", folder / "counts.csv", DataType.COUNT_MATRIX, {"index_col": 0}),
            dataset("sheet", folder / "sheet.csv", DataType.SAMPLE_SHEET, {"index_col": "sample"}),
        ],
        nodes=[
            TaskNode(id="de", name="Drug against vehicle", tool="differential_expression",
                     inputs={"counts": "data:counts", "samples": "data:sheet"},
                     params={"condition": "arm", "treated": "drug", "control": "vehicle"}),
            TaskNode(id="volcano", name="Volcano plot", tool="volcano_plot", inputs={"de_table": "de.de_table"}),
        ],
    )  # fmt: skip
    store = FolderStore(tmp_path / "store")
    view = execute(plan, registry, store, tmp_path / "work")
    write_bundle(view, store, registry, tmp_path / "out")
    printed = run_notebook(tmp_path / "out")
    outputs = sum(len(result.artifacts) for result in view.results.values())
    assert f"{outputs} of {outputs} outputs are the same as recorded (" in printed["compare"]
    ours = pd.read_csv(tmp_path / "out" / "results" / "de" / "de_table.csv").set_index("feature")
    found = set(ours.index[ours["p_adj"] < 0.05])
    assert len(found & {f"G{i}" for i in range(20)}) >= 18  # the genes simulated to change six-fold
    assert (ours.loc[[f"G{i}" for i in range(20)], "log2_fold_change"] > 1).all()
    assert verify_path(tmp_path / "out").ok
