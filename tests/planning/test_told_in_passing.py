"""What a question tells of its data in passing: what ends a waiting, who is called ill, what is counted for, which codes are missing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from plan_questions import profile_files, the_planner

from engine.planning.telling.rows_used import as_read

DRAW = np.random.default_rng(5)
N = 90


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("told")
    cows = pd.DataFrame({
        "Kuh": range(1001, 1001 + N), "Laktation": DRAW.integers(1, 6, N), "BHB_Hand": DRAW.uniform(0.2, 2.4, N).round(1),
        "Guesttage": DRAW.integers(40, 320, N), "Status": DRAW.choice(["tragend", "offen", "Abgang"], N, p=[0.7, 0.2, 0.1]),
    })  # fmt: skip
    weights = {f"Gew_W{week}_kg": (40 + 4 * week + DRAW.normal(0, 3, N)).round(1) for week in (0, 2, 4, 8)}
    calves = pd.DataFrame(
        {
            "Kalb": [f"K{k}" for k in range(N)],
            "milk_L": DRAW.choice([2, 4], N),
            "IgG_g_L": DRAW.uniform(5, 30, N).round(1),
            **weights,
        }
    )
    mouse = np.repeat([f"m{k}" for k in range(18)], 5)
    cells = pd.DataFrame({
        "mouse": mouse, "geno": np.where(np.isin(mouse, [f"m{k}" for k in range(9)]), "KO", "WT"),
        "cell": [f"c{k}" for k in range(1, 6)] * 18, "Ra": DRAW.uniform(8, 30, N).round(1), "rheobase_pA": DRAW.integers(60, 200, N),
    })  # fmt: skip
    diets = pd.DataFrame({
        "person": np.repeat([f"P{k:02d}" for k in range(N // 2)], 2), "period": [1, 2] * (N // 2), "diet": ["Nordic", "control", "control", "Nordic"] * (N // 4) + ["Nordic", "control"],
        "LDL": DRAW.normal(3.3, 0.7, N).round(2), "TG": DRAW.normal(1.5, 0.4, N).round(2),
    })  # fmt: skip
    soil = pd.DataFrame({
        "plot": np.repeat(np.arange(1, N // 3 + 1), 3), "block": np.repeat(np.arange(N // 3) % 6 + 1, 3), "treat": np.repeat([["CT", "NT", "RT"][k % 3] for k in range(N // 3)], 3),
        "depth_cm": ["0-10", "10-20", "20-40"] * (N // 3), "SOC_g_kg": DRAW.normal(12, 2, N).round(1), "BD_g_cm3": DRAW.normal(1.4, 0.1, N).round(2),
    })  # fmt: skip
    assay = pd.DataFrame(
        {
            "sample": [f"V{k}" for k in range(N)],
            "immuno_nmolL": DRAW.normal(60, 15, N).round(1),
            "LCMS_nmolL": DRAW.normal(55, 15, N).round(1),
        }
    )
    tables = {"cows": cows, "calves": calves, "cells": cells, "diets": diets, "soil": soil, "assay": assay}
    paths = {}
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False)
        paths[name] = profile_files([folder / f"{name}.csv"])
    cohort = pd.DataFrame({
        "id": range(N), "smoke": DRAW.choice([0, 1, 2, 9], N, p=[0.4, 0.3, 0.2, 0.1]), "MDS": np.r_[[9, 9], DRAW.integers(0, 10, N - 2)],
        "age": DRAW.integers(45, 70, N), "T2D_incident": DRAW.integers(0, 2, N), "fu_years": DRAW.uniform(1, 12, N).round(2),
    })  # fmt: skip
    legend = pd.DataFrame(
        {
            "variable": ["smoke", "MDS", "T2D_incident"],
            "coding": [
                "0 = never, 1 = former, 2 = current, 9 = missing",
                "diet score 0-9",
                "1 = type 2 diabetes, 0 = censored",
            ],
        }
    )
    with pd.ExcelWriter(folder / "cohort.xlsx") as book:
        cohort.to_excel(book, sheet_name="data", index=False)
        legend.to_excel(book, sheet_name="codebook", index=False)
    return paths | {"cohort": profile_files([folder / "cohort.xlsx"])}


def _plan(files, name, question):
    return the_planner().plan(question, files[name]).plan


def _answering(plan):
    top = max(node.priority for node in plan.nodes)
    return [node for node in plan.nodes if node.priority == top]


ENDS = "Status tragend is pregnant, offen and Abgang were not when last seen."


@pytest.mark.parametrize(
    "question",
    [
        f"Do cows with BHB_Hand 1.2 or more take longer until pregnant (Guesttage) than the others? {ENDS} Correct for Laktation.",
        f"Cows with BHB_Hand 1.2 or more = ketosis. Do these cows need longer until they are pregnant (Guesttage)? {ENDS} Correct for Laktation.",
    ],
)
def test_what_ends_a_waiting_and_who_is_ill_is_told_by_the_question(files, question):
    plan = _plan(files, "cows", question)
    (node,) = _answering(plan)
    assert node.tool == "cox_regression"
    assert (node.params["time"], node.params["event"], node.params["event_value"]) == ("Guesttage", "Status", "tragend")
    assert node.params["covariates"] == ["BHB_Hand cut at 1.2", "Laktation"]
    assert not any("BHB_Hand" in str(other.params.get("condition", "")) for other in plan.nodes)  # nobody is left out


def test_without_words_of_waiting_a_state_is_no_end(files):
    plan = _plan(files, "cows", "Does Guesttage differ between Status tragend and offen?")
    assert _answering(plan)[0].tool != "cox_regression"


@pytest.mark.parametrize(
    ("question", "kept"),
    [
        ("After removing Ra > 25, is rheobase_pA lower in KO than in WT? several cells from each mouse", "`Ra` <= 25"),
        ("rheobase_pA KO vs WT once Ra > 25 is removed, several cells per mouse", "`Ra` <= 25"),
        ("Is rheobase_pA lower in KO than in WT where Ra > 25? several cells per mouse", "`Ra` > 25"),
    ],
)
def test_a_cut_after_removing_leaves_those_rows_out(files, question, kept):
    conditions = [str(node.params.get("condition", "")) for node in _plan(files, "cells", question).nodes]
    assert [text for text in conditions if text] == [kept]


def test_numbered_cells_of_a_mouse_are_no_groups(files):
    question = (
        "Is rheobase_pA lower in KO than in WT? There are several cells from each mouse, they are not independent."
    )
    (node,) = _answering(_plan(files, "cells", question))
    assert (node.tool, node.params["fixed"], node.params["subject"]) == ("mixed_model", ["geno"], "mouse")


def test_a_gain_in_each_day_is_computed_from_first_to_last_weighing(files):
    plan = _plan(
        files,
        "calves",
        "Do calves with 4 L milk grow faster than those with 2 L? Daily gain from birth to week 8 in g per day.",
    )
    made = next(node for node in plan.nodes if node.tool == "derive_column")
    assert made.params["expression"] == "(`Gew_W8_kg` - `Gew_W0_kg`) / 0.056"
    assert _answering(plan)[0].tool == "compare_groups"
    plan = _plan(files, "calves", "does the weekly gain until week 4 go with IgG?")
    made = next(node for node in plan.nodes if node.tool == "derive_column")
    assert made.params["expression"] == "(`Gew_W4_kg` - `Gew_W0_kg`) / 4"


def test_two_outcomes_of_one_effect_do_not_explain_each_other(files):
    nodes = _answering(_plan(files, "diets", "effect of the diet on LDL and on TG, each person got both diets"))
    assert [node.params.get("outcome", node.params.get("value")) for node in nodes] == ["LDL", "TG"]
    assert not any("TG" in str(node.params) for node in nodes[:1])


def test_who_is_so_out_is_left_out(files):
    plan = _plan(files, "diets", "effect of the diet on LDL, each person got both. P13 stopped after period 1 so out.")
    assert any("'P13'" in str(node.params.get("condition", "")) for node in plan.nodes)


def test_a_block_design_is_no_bulk_density_and_a_layer_in_brackets_keeps_rows(files):
    question = ("In the top layer (0-10 cm), does SOC differ among the treatments? The trial is a randomised block design so take the block "
                "into account, and tell me which treatments differ from CT.")  # fmt: skip
    plan = _plan(files, "soil", question)
    node = _answering(plan)[0]
    assert "block" in str(node.params)
    assert "BD_g_cm3" not in str(node.params)
    assert node.params["references"] == ["treat=CT"]
    assert [n.params["condition"] for n in plan.nodes if n.params.get("condition")] == ["`depth_cm` in ['0-10']"]


def test_brackets_behind_an_agreement_say_which_is_taken_from_which(files):
    question = "how well does immuno agree with LCMS? bias and limits of agreement in nmol/L (immuno minus LCMS)"
    plan = _plan(files, "assay", question)
    assert [node.tool for node in plan.nodes if node.tool == "derive_column"] == []
    assert {"immuno_nmolL", "LCMS_nmolL"} <= {str(value) for value in _answering(plan)[0].params.values()}


def test_a_code_that_a_legend_calls_missing_is_missing_there_only(files):
    plan = _plan(
        files,
        "cohort",
        "Cox model of T2D_incident over fu_years: HR per 2 points of MDS, adjusted for age and smoking (9 = missing smoking)",
    )
    (node,) = _answering(plan)
    assert node.params["per"] == 2
    read = next(dataset.read for dataset in plan.datasets)
    assert "MDS" not in dict(read.get("na", {}))
    assert dict(read["na"])["smoke"] == ["9"]


def test_no_growth_is_a_level_and_count_is_no_no(tmp_path):
    n = 60
    table = pd.DataFrame({
        "cow": range(n), "pathogen": ["CNS", "no growth", "E. coli"] * 20, "tx": ["imm3", "imm5"] * 30, "cured": ["y", "n", "y"] * 20,
        "SCC_d0_x1000": DRAW.integers(200, 900, n), "SCC_d21_x1000": DRAW.integers(20, 900, n),
    })  # fmt: skip
    table.to_csv(tmp_path / "cases.csv", index=False)
    files = {"cases": profile_files([tmp_path / "cases.csv"])}
    plan = _plan(
        files, "cases", "Which CNS cases still have a cell count above 200 (x1000) on day 21? Give me cow and tx"
    )
    (node,) = _answering(plan)
    assert node.params["condition"] == "`pathogen` in ['CNS'] and `SCC_d21_x1000` > 200"
    plan = _plan(
        files,
        "cases",
        "is the share cured different between imm5 and imm3? leave out the cases that had no growth on day 0",
    )
    assert not any(node.tool == "derive_column" for node in plan.nodes)


@pytest.mark.parametrize(
    "question",
    [
        "did the knock-outs hold their rheobase better than the wild types",  # one of two is named, by its letters nobody
        "is rheobase_pA lower in the mutants than in WT? several cells per mouse",
    ],
)
def test_those_that_others_are_compared_with_are_not_the_only_ones(files, question):
    plan = _plan(files, "cells", question)
    assert not any("'WT'" in str(node.params.get("condition", "")) for node in plan.nodes)
    assert "geno" in str(_answering(plan)[0].params)


def test_two_states_are_left_once_a_third_is_left_out(tmp_path):
    n = 120
    table = pd.DataFrame({
        "case": range(n), "pathogen": DRAW.choice(["CNS", "no growth", "E. coli"], n), "tx": DRAW.choice(["imm3", "imm5"], n),
        "cure_d21": DRAW.choice(["y", "n", "lost"], n, p=[0.5, 0.4, 0.1]), "SCC_d0": DRAW.integers(200, 900, n), "SCC_d21": DRAW.integers(20, 900, n),
    })  # fmt: skip
    table.to_csv(tmp_path / "cases.csv", index=False)
    files = {"cases": profile_files([tmp_path / "cases.csv"])}
    question = ("Is the share with a cure at day 21 higher with imm5 than with imm3? Leave out the cases that had no growth on day 0 "
                "and the ones we lost.")  # fmt: skip
    plan = _plan(files, "cases", question)
    nodes = _answering(plan)
    assert {node.tool for node in nodes} & {"proportion_test", "contingency_table"}, [node.tool for node in nodes]
    assert all("cure_d21" in node.params.values() and "SCC" not in str(node.params) for node in nodes)
    assert any(
        node.params.get("condition") == "`pathogen` not in ['no growth'] and `cure_d21` not in ['lost']"
        for node in plan.nodes
    )


@pytest.mark.parametrize("told", ["'NaCl 0,9%' is NaCl", "NaCl and NaCl 0,9% are the same.", "NaCl 0,9% = NaCl"])
def test_groups_that_the_question_calls_one_are_one_in_plan_card_and_run(tmp_path, told):
    n = 90
    table = pd.DataFrame({
        "Pat": range(n), "Infusion": ["NaCl", "balanciert", "NaCl 0,9%"] * 30, "Dialyse": DRAW.integers(0, 2, n),
        "Tage_bis_Dialyse": DRAW.integers(1, 30, n),
    })  # fmt: skip
    table.to_csv(tmp_path / "aki.csv", index=False)
    profiles = profile_files([tmp_path / "aki.csv"])
    question = f"time until dialysis, NaCl against balanciert, is there a difference? Dialyse = 1 is the event. {told}"
    plan = _plan({"aki": profiles}, "aki", question)
    assert plan.datasets[0].read["same"] == {"Infusion": {"NaCl 0,9%": "NaCl"}}
    assert {node.tool for node in _answering(plan)} & {"log_rank"}
    assert as_read(profiles, plan.datasets)[0].column("Infusion").levels == {"NaCl": 60, "balanciert": 30}


def test_what_is_compared_is_not_called_one(files):
    plan = _plan(files, "cows", "Is Guesttage of tragend and offen the same? Adjust for Laktation")
    assert "same" not in plan.datasets[0].read
