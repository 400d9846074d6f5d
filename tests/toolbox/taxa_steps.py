"""A table of taxa of invented mice in cages, and the step of a tool run on it as a run does."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import numpy as np
import pandas as pd

from engine.data.catalogue import write_data
from engine.toolbox.checks import CHECKS, StepOutputs
from engine.toolbox.script import step_script, stored_input


def mice(taxa: int = 12, cages: int = 8, each: int = 3, seed: int = 5):
    """Return counts (genera x mice) and the list of the mice: half the cages on oats, where G0 is eightfold and G1 an eighth."""
    chance = np.random.default_rng(seed)
    names = [f"m{n:02d}" for n in range(cages * each)]
    cage = np.repeat([f"cage{n}" for n in range(cages)], each)
    oats = np.repeat(np.arange(cages) < cages / 2, each)
    sheet = pd.DataFrame({"diet": np.where(oats, "oats", "hay"), "cage": cage}, index=pd.Index(names, name="mouse"))
    logs = chance.normal(5, 1, taxa)[:, None] + chance.normal(0, 0.3, (taxa, len(names)))
    logs += np.repeat(chance.normal(0, 0.4, (taxa, cages)), each, axis=1)
    logs[0] += np.log(8) * oats
    logs[1] -= np.log(8) * oats
    counts = pd.DataFrame(chance.poisson(np.exp(logs)), index=[f"G{n}" for n in range(taxa)], columns=names)
    counts.index.name = "Genus"
    return counts, sheet


def run_taxa(function, inputs: dict[str, pd.DataFrame], params: dict, folder: Path):
    """Run a step's own script in `folder`; return (record, tables by output, messages of its checks)."""
    spec = function.tool_spec
    with contextlib.chdir(folder):
        given = {
            port.name: stored_input(write_data(inputs[port.name], port.name, port.type.value), port.type)
            for port in spec.inputs
            if port.name in inputs
        }
        exec(compile(step_script(spec, given, params), spec.name, "exec", dont_inherit=True), {"__name__": "step"})
        record = json.loads(Path("outputs/result.json").read_text())
    files = {name: folder / "outputs" / entry["file"] for name, entry in record["outputs"].items()}
    types = {name: entry["type"] for name, entry in record["outputs"].items()}
    step = StepOutputs(params=params, files=files, types=types, findings=record["findings"])
    said = [issue.message for name in spec.checks for issue in CHECKS[name](step)]
    assert {port.name for port in spec.outputs if not port.optional} <= set(record["outputs"])
    return record, {name: pd.read_csv(path) for name, path in files.items() if path.suffix == ".csv"}, said
