"""What is measured next to its own control: wells of a plate, lanes of a blot, a stimulated sample and the unstimulated one of the mouse."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from plan_questions import profile_files, the_planner

from engine.toolbox.tables.expressions import evaluate_expression

DRAW = np.random.default_rng(21)
DOSES = [0, 0.01, 0.1, 1, 10]


def plates():
    rows = [
        (f"P{p}", line, f"W{k}{d}", dose)
        for p, line in enumerate(("A549", "HCT", "MCF") * 2)
        for k in range(3)
        for d, dose in enumerate(DOSES)
    ]
    table = pd.DataFrame(rows, columns=["plate", "line", "well", "drug_uM"])
    top = table["plate"].map({f"P{k}": 2e5 * (k + 1) for k in range(6)})
    return table.assign(lum=(top / (1 + table["drug_uM"]) * DRAW.lognormal(0, 0.05, len(table))).round().astype(int))


def blots():
    rows = [(f"blot{b}", lane, dose) for b in range(3) for lane, dose in enumerate(DOSES, 2)]
    table = pd.DataFrame(rows, columns=["blot", "lane", "MEKi_uM"])
    erk = DRAW.integers(30_000, 50_000, len(table))
    return table.assign(
        pERK_AU=(erk / (1 + 3 * table["MEKi_uM"]) * DRAW.lognormal(0, 0.1, len(table))).round(1),
        ERK_AU=erk.astype(float),
    )


def mice():
    rows = [
        (f"F{m:02d}", "mRNA" if m < 10 else "Alum", tissue, stim)
        for m in range(20)
        for tissue in ("lung", "spleen")
        for stim in ("unstim", "S pool", "PMA")
    ]
    table = pd.DataFrame(rows, columns=["mouse", "group", "tissue", "stim"])
    base = table["stim"].map({"unstim": 0.1, "S pool": 0.6, "PMA": 8.0}) + table["tissue"].map(
        {"lung": 0.05, "spleen": 0}
    )
    return table.assign(**{"CD8_IFNg_%": (base * DRAW.lognormal(0, 0.2, len(table))).round(3)})


def planned(folder, table, question):
    table.to_csv(folder / "t.csv", index=False)
    plan = the_planner().plan(question, profile_files([folder / "t.csv"])).plan
    made = [n for n in plan.nodes if n.tool == "derive_column"]
    return plan, made


@pytest.mark.parametrize(
    ("table", "question", "own"),
    [
        (plates(), "What is the IC50 of the drug for lum in each line? Please normalise every plate to its own DMSO wells (conc 0) first.",
         lambda t: t["lum"] / t["plate"].map(t[t["drug_uM"] == 0].groupby("plate")["lum"].mean())),
        (plates(), "What is the IC50 of the drug in each line, with lum in % of the untreated wells of the same plate?",
         lambda t: 100 * t["lum"] / t["plate"].map(t[t["drug_uM"] == 0].groupby("plate")["lum"].mean())),
        (blots(), "What is the IC50 of MEKi on pERK (normalised to total ERK, relative to DMSO = 0 on the same blot)?",
         lambda t: (t["pERK_AU"] / t["ERK_AU"]) / t["blot"].map((t["pERK_AU"] / t["ERK_AU"])[t["MEKi_uM"] == 0].groupby(t["blot"]).mean())),
    ],
)  # fmt: skip
def test_a_value_is_divided_by_that_of_its_own_control(tmp_path, table, question, own):
    plan, made = planned(tmp_path, table, question)
    (node,) = made
    np.testing.assert_allclose(evaluate_expression(node.params["expression"], table), own(table))
    curve = next(n for n in plan.nodes if n.tool == "dose_response")
    assert node.params["name"] in curve.params.values()


def test_the_unstimulated_sample_of_the_mouse_and_tissue_is_taken_off(tmp_path):
    table = mice()
    plan, made = planned(
        tmp_path, table, "Spleen, S pool minus unstim of the same mouse: do mRNA and Alum differ in CD8 IFNg?"
    )
    (node,) = made
    control = table[table["stim"] == "unstim"].set_index(["mouse", "tissue"])["CD8_IFNg_%"]
    own = table["CD8_IFNg_%"] - [control[key] for key in zip(table["mouse"], table["tissue"], strict=True)]
    np.testing.assert_allclose(evaluate_expression(node.params["expression"], table), own)
    kept = " ".join(n.params["condition"] for n in plan.nodes if n.tool == "filter_rows")
    assert "S pool" in kept
    assert "spleen" in kept
    compared = next(n for n in plan.nodes if n.tool == "compare_groups")
    assert (compared.params["value"], compared.params["group"]) == (node.params["name"], "group")


@pytest.mark.parametrize(
    "question",
    ["What is the fold change of lum at 1 uM relative to control?", "Does lum differ between the lines on each plate?",
     "Is lum lower at 10 uM than at 0 on the same plate?", "mean lum per plate, normalised counts are not needed"],
)  # fmt: skip
def test_nothing_is_divided_where_no_control_of_the_own_block_is_named(tmp_path, question):
    plates().to_csv(tmp_path / "t.csv", index=False)
    planner, files = the_planner(), profile_files([tmp_path / "t.csv"])
    reading, data, _ = planner._read(question, files, {})
    assert not any(sheet.made for sheet in data.sheets), reading.question


def test_a_plate_without_a_control_is_not_divided(tmp_path):
    table = plates()
    lacking = table[(table["plate"] != "P0") | (table["drug_uM"] != 0)]
    _, made = planned(
        tmp_path,
        lacking,
        "What is the IC50 of the drug for lum in each line? Normalise every plate to its own DMSO wells (0) first.",
    )
    assert not made
