"""Running a table tool the way a step does: its own source on saved inputs, and its checks on what it wrote."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

import pandas as pd
import pytest

from engine.domain.datatypes import DataType
from engine.toolbox.checks import CHECKS, StepOutputs
from engine.toolbox.script import StepInput, step_script


def run_step(function, inputs: dict[str, pd.DataFrame], params: dict, folder: Path):
    """Execute the step's stand-alone script in `folder`; return (record, tables by output, issues of its checks)."""
    spec = function.tool_spec
    given = {}
    for name, frame in inputs.items():
        frame.to_csv(folder / f"{name}.csv", index=False)
        given[name] = StepInput(path=f"{name}.csv", type=DataType.TABLE)
    code = step_script(spec, given, params)
    with contextlib.chdir(folder):
        exec(compile(code, "step.py", "exec", dont_inherit=True), {"__name__": "step"})
    out = folder / "outputs"
    record = json.loads((out / "result.json").read_text())
    files = {name: out / entry["file"] for name, entry in record["outputs"].items()}
    types = {name: entry["type"] for name, entry in record["outputs"].items()}
    step = StepOutputs(params=params, files=files, types=types, findings=record["findings"])
    issues = [issue for name in spec.checks for issue in CHECKS[name](step)]
    tables = {name: pd.read_csv(path) for name, path in files.items() if path.suffix == ".csv"}
    required = {port.name for port in spec.outputs if not port.optional}
    assert required <= set(record["outputs"]), f"missing outputs: {required - set(record['outputs'])}"
    assert record["findings"], "a tool has at least one finding"
    assert all(os.path.getsize(path) > 0 for path in files.values())
    return record, tables, issues


def check_issues(checks, outputs: dict[str, pd.DataFrame], folder: Path, *, findings=(), params=None):
    """Write tables and return what the named checks say of them."""
    files = {}
    for name, frame in outputs.items():
        files[name] = folder / f"{name}.csv"
        frame.to_csv(files[name], index=False)
    step = StepOutputs(params=params or {}, files=files, types=dict.fromkeys(files, "table"), findings=list(findings))
    return [issue.code for name in checks for issue in CHECKS[name](step)]


def classic(name: str) -> pd.DataFrame:
    """Read development data that lies beside the project (or where BIODESK_DEV_DATA says); skip when it is absent."""
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    path = Path(os.environ.get("BIODESK_DEV_DATA", beside)) / "classic" / name
    if not path.exists():
        pytest.skip(f"no classic/{name} in the development data; set BIODESK_DEV_DATA to their folder")
    return pd.read_csv(path)
