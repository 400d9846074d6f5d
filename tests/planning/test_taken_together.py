"""Levels taken together, numbers cut, the same asked again of other rows: what is computed first, and of which rows. Invented data."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from engine.data.profiler import profile_files
from engine.planning.planner import Planner
from engine.toolbox.registry import builtin_tools

RNG = np.random.default_rng(1)
N = 160


@pytest.fixture(scope="module")
def planner() -> Planner:
    return Planner(builtin_tools())


@pytest.fixture(scope="module")
def trial(tmp_path_factory):
    path = tmp_path_factory.mktemp("together") / "trial.csv"
    frame = pd.DataFrame(
        {
            "pt": [f"P{i}" for i in range(N)],
            "arm": RNG.choice(["FOLFOX", "FOLFIRI"], N),
            "stage": RNG.choice(["I", "II", "III", "IV"], N),
            "best_resp": RNG.choice(["CR", "PR", "SD", "PD"], N),
            "CEA": RNG.lognormal(1, 1, N).round(2),
            "age": RNG.integers(30, 80, N),
            "grade": RNG.choice(["G1", "G2", "G3"], N),
        }
    )
    frame.to_csv(path, index=False)
    return profile_files([path])


@pytest.fixture(scope="module")
def kidneys(tmp_path_factory):
    """Follow-up that ends in dialysis or in death before it, in codes that the header explains, and two ways to measure filtration."""
    path = tmp_path_factory.mktemp("together") / "kidneys.csv"
    end = RNG.choice([0, 1, 2], N, p=[0.6, 0.3, 0.1])
    true = RNG.uniform(12, 70, N).round(1)
    frame = pd.DataFrame(
        {
            "Pat": range(1, N + 1),
            "Tx_vorher": RNG.choice(["nein", "ja"], N, p=[0.9, 0.1]),
            "RAASi": RNG.choice(["ja", "nein"], N),
            "eGFR_cys": (true + RNG.normal(0, 6, N)).round(1),
            "mGFR_iohexol": true,
            "UACR_mg_g": RNG.lognormal(6, 1, N).round(),
            "FU_months": RNG.uniform(1, 60, N).round(1),
            "event (0=censored 1=start of dialysis 2=death before dialysis)": end,
        }
    )
    frame.to_csv(path, index=False)
    return profile_files([path])


def steps(planner, profiles, question):
    plan = planner.plan(question, profiles).plan
    return plan, [(node.tool, node.params) for node in plan.nodes]


def made(found):
    return [params["expression"] for tool, params in found if tool == "derive_column"]


SHARE = "if_else(`best_resp` in ['CR', 'PR'], 'CR or PR', 'neither')"


@pytest.mark.parametrize(
    ("question", "expression", "tool", "group"),
    [
        ("what share had CR or PR in each arm, and is it different?", SHARE, "proportion_test", "arm"),
        ("how many patients reached CR or PR, by arm", SHARE, "proportion_test", "arm"),
        ("what share had CR or PR in each arm, and is CEA higher in FOLFOX?", SHARE, "proportion_test", "arm"),
        ("is CEA higher in stage III-IV than I-II?",
         "if_else(`stage` in ['III', 'IV'], 'III or IV', if_else(`stage` in ['I', 'II'], 'I or II', ''))",
         "compare_groups", "stage: III or IV and I or II"),
        ("does CEA differ between CR or PR and the rest?",
         "if_else(`best_resp` in ['CR', 'PR'], 'CR or PR', 'the rest')", "compare_groups", "best_resp: CR or PR"),
        ("Do G1 and G2 together have lower CEA than G3?",
         "if_else(`grade` in ['G1', 'G2'], 'G1 or G2', if_else(`grade` in ['G3'], 'G3', ''))",
         "compare_groups", "grade: G1 or G2 and G3"),
        ("how many pts have CEA over 5 per arm and is it different", "if_else(`CEA` > 5, 'above 5', 'up to 5')",
         "proportion_test", "arm"),
        ("CEA > 5 versus <= 5: is age different", "if_else(`CEA` > 5, 'above 5', 'up to 5')", "compare_groups", "CEA cut at 5"),
    ],
)  # fmt: skip
def test_what_is_taken_together_is_one_column_first(planner, trial, question, expression, tool, group):
    _, found = steps(planner, trial, question)
    assert made(found) == [expression]
    assert next(params["group"] for name, params in found if name == tool) == group
    assert not [name for name, _ in found if name == "filter_rows"]


@pytest.mark.parametrize(
    "question",
    [
        "CEA in G1 and G2 vs G3",
        "does CEA differ between stages I, II and III?",
        "is CEA higher in stage II than in III or stage I",
    ],
)
def test_levels_that_are_each_meant_stay_apart(planner, trial, question):
    """`in meadow and edge compared to mown` compares both with it."""
    assert not made(steps(planner, trial, question)[1])


def test_two_letters_are_no_initials_of_persons_or_of_a_comparison(planner, trial):
    """`patients different` is no PD, `pts reached` no PR."""
    _, found = steps(planner, trial, "is the age of stage I or II patients different between arms")
    assert [tool for tool, _ in found] == ["filter_rows", "compare_groups"]
    assert found[0][1]["condition"] == "`stage` in ['I', 'II']"


def test_what_is_not_adjusted_for_is_said(planner, trial):
    plan, found = steps(planner, trial, "does CEA differ between arms, adjusted for smoking and stage")
    assert found[-1][1]["predictors"] == ["arm", "stage"]
    assert any("'smoking'" in text and "does not adjust" in text for text in plan.not_answered)
    plan, found = steps(planner, trial, "compare CEA between stages, adjusted for multiple comparisons")
    assert (found[-1][0], plan.not_answered) == ("compare_groups", [])


def test_one_measure_by_groups_is_not_correlated(planner, trial):
    _, found = steps(planner, trial, "CEA in FOLFOX vs FOLFIRI controlling for age")
    assert (found[-1][0], found[-1][1]["predictors"]) == ("linear_regression", ["arm", "age"])
    assert steps(planner, trial, "correlation of CEA with age controlling for stage")[1][-1][0] == "partial_correlation"


def test_a_side_of_the_median_is_one_of_two(planner, trial):
    _, found = steps(planner, trial, "does age above the median mean a higher CEA?")
    assert made(found)[0].startswith("if_else(`age` > ")
    assert found[-1][1]["value"] == "CEA"


def test_ends_that_are_one_event(planner, kidneys):
    _, found = steps(planner, kidneys, "Kaplan-Meier of dialysis or death, whichever first, by RAASi")
    (expression,) = made(found)
    assert " in [1, 2], 'start of dialysis or death before dialysis', 'neither')" in expression
    assert next(p["event_value"] for tool, p in found if tool == "kaplan_meier").startswith("start of dialysis or")


def test_death_before_dialysis_is_no_dialysis(planner, kidneys):
    question = "how many are still dialysis free at 2 years if albuminuria > 300 vs not more than 300"
    _, found = steps(planner, kidneys, question)
    assert made(found) == ["if_else(`UACR_mg_g` > 300, 'above 300', 'up to 300')"]
    params = next(p for tool, p in found if tool == "kaplan_meier")
    assert (params["event_value"], params["group"]) == ("1", "UACR_mg_g cut at 300")


def test_the_truth_is_a_number_that_is_cut_and_so_is_the_test(planner, kidneys):
    question = "if we take cystatin eGFR <30 to find people with true GFR (iohexol) under 30, what is sensitivity and specificity?"
    _, found = steps(planner, kidneys, question)
    assert made(found) == ["if_else(`mGFR_iohexol` >= 30, '30 or above', 'below 30')"]
    params = found[-1][1]
    assert (params["test"], params["rule"], params["cut_point"]) == ("eGFR_cys", "<", 30.0)
    assert (params["outcome"], params["event_value"]) == ("mGFR_iohexol cut at 30", "below 30")
    assert not [tool for tool, _ in found if tool == "filter_rows"]


def test_who_has_had_a_transplant_is_left_out(planner, kidneys):
    _, found = steps(planner, kidneys, "is albuminuria different by RAASi? leave out pts with a previous transplant")
    assert (found[0][0], found[0][1]["condition"]) == ("filter_rows", "`Tx_vorher` not in ['ja']")


@pytest.fixture(scope="module")
def cycles(tmp_path_factory):
    rows = [
        (
            f"S{n}",
            line,
            treated,
            hours,
            rep,
            20 + RNG.normal(0, 0.2),
            27 - 3 * (treated == "flg22") + RNG.normal(0, 0.3),
        )
        for n, (line, treated, hours, rep) in enumerate(
            (a, b, h, r) for a in ("Col-0", "fls2") for b in ("mock", "flg22") for h in (1, 6) for r in (1, 2, 3, 4)
        )
    ]
    path = tmp_path_factory.mktemp("cycles") / "qpcr.csv"
    columns = ["sample", "geno", "trt", "hpt", "biorep", "Ct_UBQ10", "Ct_FRK1"]
    pd.DataFrame(rows, columns=columns).round(2).to_csv(path, index=False)
    return profile_files([path])


def test_the_same_asked_again_of_another_time_is_a_second_step(planner, cycles):
    question = "how much does flg22 induce FRK1 in wt at 1 h, fold change over mock with UBQ10 as reference, and is it still up at 6h?"
    _, found = steps(planner, cycles, question)
    assert [tool for tool, _ in found] == ["filter_rows", "qpcr_relative"] * 2
    assert [p["condition"].rpartition("and ")[2] for tool, p in found if tool == "filter_rows"] == [
        "`hpt` in [1]",
        "`hpt` in [6]",
    ]
    assert all({*p["cts"]} == {"Ct_FRK1", "Ct_UBQ10"} for tool, p in found if tool == "qpcr_relative")


def test_empty_cells_are_zero_where_the_question_says_so(planner, tmp_path):
    catch = RNG.poisson(3, 40).astype(float)
    frame = pd.DataFrame({"pond": [f"P{i}" for i in range(40)], "fish": ["yes", "no"] * 20, "newts": catch})
    frame.loc[frame.newts < 2, "newts"] = np.nan
    frame.to_csv(tmp_path / "ponds.csv", index=False)
    plan = planner.plan(
        "are there fewer newts in ponds with fish? empty = none found", profile_files([tmp_path / "ponds.csv"])
    ).plan
    assert "missing_values" not in [node.tool for node in plan.nodes]
    assert plan.datasets[0].read["zeros"] == ["newts"]
    assert any("read as 0, as the question says" in text for text in plan.warnings)


def test_a_score_of_so_much_is_no_score_of_that_day(planner, tmp_path):
    frame = pd.DataFrame({"plant": range(80), "line": ["Col", "eds1", "npr1", "sid2"] * 20,
                          "score 3dpi (0-5)": RNG.integers(0, 4, 80), "score 5dpi (0-5)": RNG.integers(0, 6, 80)})  # fmt: skip
    frame.to_csv(tmp_path / "scores.csv", index=False)
    question = "what share of plants per line reach score 3 or more at day 5, is it different between lines?"
    _, found = steps(planner, profile_files([tmp_path / "scores.csv"]), question)
    assert made(found) == ["if_else(`score 5dpi (0-5)` >= 3, '3 or above', 'below 3')"]
    assert [tool for tool, _ in found] == ["derive_column", "proportion_test"]


@pytest.mark.parametrize(("name", "unit"), [("FU_Mon", "months"), ("os_days", "days"), ("FU", "")])
def test_a_moment_in_years_needs_the_unit_of_the_times(planner, tmp_path, name, unit):
    """`at 2 years` had been read as 2 of whatever the column counts."""
    frame = pd.DataFrame({"pat": range(90), name: RNG.uniform(1, 60, 90).round(1), "died": RNG.integers(0, 2, 90),
                          "arm": ["new", "old"] * 45})  # fmt: skip
    frame.to_csv(tmp_path / "fu.csv", index=False)
    plan = planner.plan(
        "Kaplan-Meier by arm, how many are alive at 2 years?", profile_files([tmp_path / "fu.csv"])
    ).plan
    node = next(node for node in plan.nodes if node.tool == "kaplan_meier")
    assert node.params.get("time_unit", "") == unit
    asked = [q for q in plan.open_questions if q.param == "time_unit"]
    assert [q.blocking for q in asked] == ([] if unit else [True])


def test_a_request_of_what_is_not_there_is_not_planned_with_the_columns_of_another(planner, trial):
    plan, found = steps(planner, trial, "does CEA differ between the arms? and is it related to smoking?")
    assert [tool for tool, _ in found] == ["compare_groups"]
    assert plan.not_answered == [
        "'and is it related to smoking' is not planned: nothing in the data is called 'smoking'."
    ]


def test_how_big_an_effect_is_asks_for_no_analysis_of_its_own(planner, trial):
    plan, found = steps(planner, trial, "is CEA higher in FOLFOX than FOLFIRI, and how big is the effect?")
    assert ([tool for tool, _ in found], plan.not_answered) == (["compare_groups"], [])


@pytest.fixture(scope="module")
def visits(tmp_path_factory):
    path = tmp_path_factory.mktemp("visits") / "visits.csv"
    frame = pd.DataFrame({"PatNr": [f"P{n:03d}" for n in range(1, 61) for _ in range(3)], "sex": np.repeat(["m", "f"] * 30, 3),
                          "Arm": np.repeat(["new", "standard"] * 30, 3), "Woche": [0, 4, 12] * 60})  # fmt: skip
    frame["HbA1c_%"] = (8 - 0.05 * frame.Woche + RNG.normal(0, 0.8, len(frame))).round(1)
    frame["CRP_mg_l"] = RNG.lognormal(1, 0.6, len(frame)).round(1)
    frame.to_csv(path, index=False)
    return profile_files([path])


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("which patients are still above 9 % HbA1c at week 12", ["`HbA1c_%` > 9", "`Woche` in [12]"]),
        ("how many patients have an HbA1c over 9 at the last visit", ["`HbA1c_%` > 9", "`Woche` in [12]"]),
        ("does CRP go along with HbA1c at baseline? women only", ["`Woche` in [0]", "`sex` in ['f']"]),
    ],
)
def test_a_size_before_its_name_and_the_first_visit(planner, visits, question, parts):
    """`above 9 % HbA1c` had been dropped without a word."""
    _, found = steps(planner, visits, question)
    assert found[0] == ("filter_rows", {**found[0][1], "condition": " and ".join(parts)})


def test_so_many_days_of_an_onset(planner, tmp_path):
    frame = pd.DataFrame({"id": [f"T{n}" for n in range(120)], "days since onset": RNG.integers(0, 14, 120),
                          "PCR": RNG.choice(["pos", "neg"], 120), "rapid test": RNG.choice(["pos", "neg"], 120)})  # fmt: skip
    frame.to_csv(tmp_path / "tests.csv", index=False)
    question = "sens and spec of the rapid test against PCR, only those tested within 5 days of onset"
    plan, found = steps(planner, profile_files([tmp_path / "tests.csv"]), question)
    assert (found[0][1]["condition"], plan.open_questions) == ("`days since onset` <= 5", [])


def test_two_letters_that_are_set_apart(planner, tmp_path):
    frame = pd.DataFrame(
        {
            "mouse": range(40),
            "sex": ["m", "f"] * 20,
            "geno": ["WT", "WT", "KO", "KO"] * 10,
            "mass": RNG.normal(25, 2, 40),
        }
    )
    frame.to_csv(tmp_path / "mice.csv", index=False)
    _, found = steps(
        planner, profile_files([tmp_path / "mice.csv"]), "is mass different between m and f mice in the WT?"
    )
    assert [tool for tool, _ in found] == ["filter_rows", "compare_groups"]
    assert (found[0][1]["condition"], found[1][1]["group"]) == ("`geno` in ['WT']", "sex")


@pytest.mark.parametrize(
    ("question", "first"),
    [("does the bedside glucose meter agree with the lab, how far off can it be", "glucose POC"),
     ("agreement of lab and POC glucose", "glucose lab"), ("agreement of POC and lab glucose", "glucose POC")],
)  # fmt: skip
def test_what_is_judged_by_another_is_subtracted_from(planner, tmp_path, question, first):
    """A meter that reads high is told as high: meter minus lab."""
    lab = RNG.uniform(4, 12, 60).round(1)
    frame = pd.DataFrame(
        {
            "id": range(60),
            "glucose lab (mmol/l)": lab,
            "glucose POC (mmol/l)": (lab + 0.4 + RNG.normal(0, 0.2, 60)).round(1),
        }
    )
    frame.to_csv(tmp_path / "glucose.csv", index=False)
    _, found = steps(planner, profile_files([tmp_path / "glucose.csv"]), question)
    assert found[-1][1]["first"] == f"{first} (mmol/l)"


def test_with_and_without_are_both_meant(planner, tmp_path):
    """`with and without KX11` had left out what is with it."""
    rows = [
        (inhibitor, s, round(8 * s / (km + s), 3))
        for inhibitor, km in (("none", 42), ("KX11", 95))
        for s in (5, 10, 20, 40, 80, 160, 320)
        for _ in range(3)
    ]
    pd.DataFrame(rows, columns=["inhibitor", "S_uM", "v0_nmol_min"]).to_csv(tmp_path / "kinetics.csv", index=False)
    _, found = steps(planner, profile_files([tmp_path / "kinetics.csv"]), "Km and Vmax with and without KX11?")
    assert [(tool, params["group"]) for tool, params in found] == [("enzyme_kinetics", "inhibitor")]


def test_a_letter_of_a_name_before_its_number_and_each_behind_a_measure(planner, tmp_path):
    frame = pd.DataFrame({"bloque": np.repeat([1, 2, 3, 4], 24), "variedad": ["Klein", "Baguette", "Buck", "Nidera", "ACA", "Sursem"] * 16,
                          "dosis_N": [0] * 6 + [60] * 6 + [120] * 6 + [180] * 6 + ([0] * 6 + [60] * 6 + [120] * 6 + [180] * 6) * 3})  # fmt: skip
    frame["altura_cm"] = RNG.normal(84, 5, len(frame)).round(1)
    frame.to_csv(tmp_path / "trigo.csv", index=False)
    question = "give mean and SD of altura each variedad only at N 120"
    _, found = steps(planner, profile_files([tmp_path / "trigo.csv"]), question)
    assert found[0][1]["condition"] == "`dosis_N` in [120]"
    assert (found[-1][1]["columns"], found[-1][1]["group_by"]) == (["altura_cm"], "variedad")


def test_curves_beside_an_adjusted_model_are_of_what_is_asked(planner, tmp_path):
    frame = pd.DataFrame({"pid": range(200), "mo": RNG.exponential(20, 200).round(1) + 0.5, "dead": RNG.integers(0, 2, 200),
                          "tx": ["surgery only", "surgery+chemo"] * 100, "age": RNG.integers(40, 80, 200), "stage": ["I", "II", "III", "IV"] * 50})  # fmt: skip
    frame.to_csv(tmp_path / "cohort.csv", index=False)
    question = "Cox regression: do patients with surgery+chemo live longer, adjusted for age and stage?"
    _, found = steps(planner, profile_files([tmp_path / "cohort.csv"]), question)
    assert {params["group"] for tool, params in found if tool in ("kaplan_meier", "log_rank")} <= {"tx"}
    assert next(params["adjusted"] for tool, params in found if tool == "cox_regression") == ["age", "stage"]


@pytest.mark.parametrize(
    "question", ["does IL6_LPS differ from IL6_unstim in the same donors?", "is IL6_LPS higher than IL6_unstim"]
)
def test_two_columns_set_against_each_other_are_not_compared_by_a_group_nobody_named(planner, tmp_path, question):
    unstim = RNG.lognormal(3, 0.5, 24).round(1)
    frame = pd.DataFrame({"donor": [f"d{k}" for k in range(24)], "IL6_unstim": unstim,
                          "IL6_LPS": (RNG.lognormal(6, 0.8, 24)).round(1), "arm": ["a", "b"] * 12})  # fmt: skip
    frame.to_csv(tmp_path / "il6.csv", index=False)
    _, found = steps(planner, profile_files([tmp_path / "il6.csv"]), question)
    assert [(tool, params["first"], params["second"]) for tool, params in found] == [
        ("compare_columns_paired", "IL6_LPS", "IL6_unstim")
    ]
