"""Samples that a sheet spells otherwise than its matrix: used, not said to be left out, and still so where the plan is run anew."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from engine.api import open_engine
from engine.api.runs import with_data


@pytest.fixture
def files(tmp_path):
    draw = np.random.default_rng(4)
    names = [f"K{k}_{side}" for k in range(1, 7) for side in ("a", "b")]
    counts = pd.DataFrame(draw.integers(20, 900, (300, 12)), columns=names)
    counts.insert(0, "gene", [f"GENE{k}" for k in range(300)])
    sheet = pd.DataFrame({"sample": names, "person": [n[:2] for n in names], "side": [n[-1] for n in names]})
    sheet.loc[3, "sample"] = sheet.loc[3, "sample"].replace("_", "-")
    paths = [tmp_path / "counts.tsv", tmp_path / "sheet.csv"]
    counts.to_csv(paths[0], sep="\t", index=False)
    sheet.to_csv(paths[1], index=False)
    return paths


def test_a_sample_of_another_spelling_is_used_and_not_said_to_be_left_out(files, tmp_path) -> None:
    with open_engine(workspace=tmp_path / "desk") as engine:
        plan = engine.plan("Which genes differ between side a and side b, paired by person?", files)
    sheet = next(data for data in plan.datasets if data.name == "sheet.csv")
    assert sheet.read["same"] == {"sample": {"K2-b": "K2_b"}}
    assert not [text for text in plan.warnings if "left out unless" in text]
    again = {data.name: data.read for data in with_data(plan, files).datasets}
    assert again["sheet.csv"] == sheet.read


def test_another_file_of_the_name_is_read_as_it_is(files, tmp_path) -> None:
    with open_engine(workspace=tmp_path / "desk") as engine:
        plan = engine.plan("Which genes differ between side a and side b, paired by person?", files)
    other = tmp_path / "other" / "sheet.csv"
    other.parent.mkdir()
    pd.read_csv(files[1]).assign(sample=lambda table: table["sample"].str.replace("-", "_")).to_csv(other, index=False)
    again = {data.name: data.read for data in with_data(plan, [other]).datasets}
    assert "same" not in again["sheet.csv"]
