"""Cells below and above what could be measured: missing to tools of the catalogue, told apart by written code."""

from __future__ import annotations

import pandas as pd
import pytest

from engine.agents.describe import files_text
from engine.data.profiler import profile_file
from engine.domain.datatypes import DataType
from engine.domain.plan import Dataset
from engine.toolbox.registry import builtin_tools
from engine.toolbox.script import file_input, step_script
from engine.toolbox.written import spec_of, written_tool

CODE = """def beyond(table):
    table.to_csv("seen.csv", index=False)
    return {"seen": table, "findings": []}
"""
SPEC = spec_of(
    written_tool(
        title="Cells beyond a limit",
        description="Which cells lie beyond a limit.",
        source=CODE,
        inputs={"table": DataType.TABLE},
        outputs={"seen": DataType.TABLE},
    )
)


def number(at, comma):
    """Return a measured value, every seventh below and every eleventh above what can be measured."""
    if at % 7 == 0:
        return "<0,5" if comma else "<0.5"
    return ">100" if at % 11 == 0 else (str(3 + at * 1.5).replace(".", ",") if comma else 3 + at * 1.5)


@pytest.fixture(params=["a.csv", "comma.csv", "remarks.csv", "words.csv", "a.xlsx"])
def assay(request, tmp_path):
    comma = request.param == "comma.csv"
    frame = pd.DataFrame({"sample": [f"s{at}" for at in range(40)], "il6": [number(at, comma) for at in range(40)]})
    frame["day"] = "d1"
    if request.param == "remarks.csv":
        frame.loc[3, "il6"] = "ca. 8"
    if request.param == "words.csv":
        frame.loc[[4, 9], "il6"] = "np"
        frame.loc[5, "il6"] = "n.a."
    path = tmp_path / request.param
    frame.to_excel(path, index=False) if path.suffix == ".xlsx" else frame.to_csv(
        path, index=False, sep=";" if comma else ","
    )
    profile = profile_file(path)
    guess = profile.serves_as(DataType.TABLE)
    data = Dataset(name=path.name, path=str(path), sha256=profile.sha256, type=guess.type, read=guess.read)
    return profile, data, frame


def test_written_code_sees_which_cells_lie_below_and_above(assay, tmp_path, monkeypatch):
    _, data, frame = assay
    monkeypatch.chdir(tmp_path)
    (tmp_path / "outputs").mkdir()
    exec(step_script(SPEC, {"table": file_input(data.path, data, SPEC)}, {}), {"__name__": "step"})
    table = pd.read_csv(tmp_path / "seen.csv")
    cells = frame["il6"].astype(str)
    beyond = frame["il6"].where(cells.str[0].isin(["<", ">"]) | (cells == "np"))
    assert table["il6 as written"].dropna().tolist() == beyond.dropna().tolist()
    assert table["il6"].isna().tolist() == (table["il6 as written"].notna() | (cells == "n.a.")).tolist()
    assert "day as written" not in table


def test_tools_of_the_catalogue_read_as_before(assay):
    _, data, _ = assay
    assert file_input(data.path, data, builtin_tools().get("compare_groups")).read == data.read


def test_how_many_cells_lie_below_and_above_is_told_and_which_only_with_consent(assay):
    profile, _, _ = assay
    told = files_text([profile])
    assert "6 cells below a limit (" in told
    assert "3 cells above a limit ('>100'" in told
    alone = files_text([profile], levels=False)
    assert "6 cells below a limit; 3 cells above a limit" in alone
    assert ">100" not in alone
