"""What is noted at one visit only, who was not treated, how much of what was found, and the same at another day."""

from __future__ import annotations

import contextlib

import numpy as np
import pandas as pd
import pytest
from plan_questions import profile_files, the_planner, with_codes

from engine.errors import PlanError


def steps(plan):
    return {node.tool: node.params for node in plan.nodes}


@pytest.fixture(scope="module")
def visits(tmp_path_factory):
    """Forty people, three visits, a fever that is noted at the second."""
    draw, folder = np.random.default_rng(3), tmp_path_factory.mktemp("visits")
    rows = [
        {"subj": f"V{k:02d}", "arm": "AB"[k % 2], "visit": visit, "titre": draw.lognormal(4, 1).__round__(1),
         "fever": int(draw.random() < 0.4) if visit == "d28" else None}
        for k in range(40) for visit in ("d0", "d28", "d180")
    ]  # fmt: skip
    pd.DataFrame(rows).astype({"fever": "Int64"}).to_csv(folder / "trial.csv", index=False)
    return profile_files([folder / "trial.csv"])


def test_what_is_known_of_one_row_a_subject_is_of_independent_rows(visits):
    plan = the_planner().plan("is fever more common in B than in A?", visits).plan
    assert steps(plan)["proportion_test"]["group"] == "arm"
    assert not plan.open_questions, "people with several rows would need another model"
    assert "mixed_model" in steps(the_planner().plan("does titre differ between the arms over the visits", visits).plan)


@pytest.fixture(scope="module")
def mice(tmp_path_factory):
    draw, folder = np.random.default_rng(5), tmp_path_factory.mktemp("mice")
    start = draw.normal(20, 1, 36)
    table = pd.DataFrame({"mouse": [f"m{k}" for k in range(36)], "tx": ["veh", "cip10", "cip30"] * 12,
                          "wt_d0": start.round(1), "wt_d3": (start - draw.normal(1, 0.4, 36)).round(1)})  # fmt: skip
    table.to_csv(folder / "mice.csv", index=False)
    return profile_files([folder / "mice.csv"])


def test_untreated_is_who_got_the_vehicle_and_how_many_grams_is_no_second_request(mice):
    question = "did the untreated ones lose weight by day 3 compared to start, and how many grams"
    plan = the_planner().plan(question, mice).plan
    found = steps(plan)
    assert found["filter_rows"]["condition"] == "`tx` in ['veh']"
    assert {found["compare_columns_paired"][side] for side in ("first", "second")} == {"wt_d0", "wt_d3"}
    assert len(plan.nodes) == 2


@pytest.fixture(scope="module")
def maze(tmp_path_factory):
    draw, folder = np.random.default_rng(8), tmp_path_factory.mktemp("maze")
    rows = [{"rat": f"r{k}", "grp": ("enr", "ctl")[k % 2], "day": day, "lat_s": round(60 - 4 * day + draw.normal(0, 4), 1)}
            for k in range(20) for day in range(1, 6)]  # fmt: skip
    pd.DataFrame(rows).to_csv(folder / "maze.csv", index=False)
    return profile_files([folder / "maze.csv"])


@pytest.mark.parametrize(
    "question",
    [
        "at day 5 is lat_s lower in enr than in ctl, and at day 1 already?",
        "is lat_s of enr below ctl at day 5, and at day 1",
    ],
)
def test_the_same_at_another_day_is_a_step_of_its_own(question, maze):
    nodes = the_planner().plan(question, maze).plan.nodes
    assert [node.params["condition"] for node in nodes if node.tool == "filter_rows"] == [
        "`day` in [5]",
        "`day` in [1]",
    ]
    assert [node.params["group"] for node in nodes if node.tool == "compare_groups"] == ["grp", "grp"]


@pytest.fixture(scope="module")
def foci(tmp_path_factory):
    draw, folder = np.random.default_rng(9), tmp_path_factory.mktemp("foci")
    rows = [{"dish": f"{line}_{dish}", "genotype": line, "cell": k + 1, "foci": int(draw.poisson(8 + 4 * (line == "ko")))}
            for line in ("wt", "ko") for dish in range(4) for k in range(draw.integers(25, 40))]  # fmt: skip
    pd.DataFrame(rows).to_csv(folder / "foci.csv", index=False)
    return profile_files([folder / "foci.csv"])


def test_a_number_cuts_what_it_is_counted_of(foci):
    question = "what percentage of cells have more than 10 foci in ko and in wt"
    found = steps(the_planner().plan(question, foci).plan)
    assert found["derive_column"]["expression"].startswith("if_else(`foci` > 10,")
    assert found["proportion_test"]["group"] == "genotype"
    assert "filter_rows" not in found


@pytest.fixture(scope="module")
def fish(tmp_path_factory):
    draw, folder = np.random.default_rng(4), tmp_path_factory.mktemp("fish")
    size = draw.uniform(15, 58, 120)
    table = pd.DataFrame({"fish": range(1, 121), "sexo": draw.choice(["H", "M"], 120), "talla_cm": size.round(1),
                          "maduro": np.where(draw.random(120) < 1 / (1 + np.exp(-(size - 35) / 3)), "si", "no")})  # fmt: skip
    table.to_csv(folder / "fish.csv", index=False)
    return profile_files([folder / "fish.csv"])


def test_names_are_no_doses(fish):
    """Such a plan was offered, and failed when it ran: the letters of the sexes are no amounts."""
    with contextlib.suppress(PlanError):
        plan = the_planner().plan("at what size is the half of the females mature?", fish).plan
        assert all(node.params.get("dose") != "sexo" for node in plan.nodes)
    with pytest.raises(PlanError, match="no column for: column of doses"):
        the_planner().plan("what is the EC50 of sexo on talla_cm", fish)


@pytest.fixture(scope="module")
def admissions(tmp_path_factory):
    draw, folder = np.random.default_rng(2), tmp_path_factory.mktemp("admissions")
    rows = [{"district": place, "sex": sex, "yr": year, "cases": int(draw.poisson(2)), "pyrs": round(draw.uniform(200, 900), 1)}
            for place in ("Ash", "Brook", "Cole", "Dale") for sex in "FM" for year in range(2018, 2024)]  # fmt: skip
    pd.DataFrame(rows).to_csv(folder / "adm.csv", index=False)
    return profile_files([folder / "adm.csv"])


@pytest.mark.parametrize(
    "question", ["rate of cases per pyrs by district", "which district has the highest cases per pyrs"]
)
def test_counts_per_exposure_are_counts_with_their_exposure(question, admissions):
    """The rate had become a column, and then a cause of the cases that it is computed of."""
    (node,) = the_planner().plan(question, admissions).plan.nodes
    assert {key: node.params[key] for key in ("count", "predictors", "exposure")} == {
        "count": "cases", "predictors": ["district"], "exposure": "pyrs",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("question", "condition"),
    [
        ("is growth higher with cip after 1 h?", "`min` in [60]"),
        ("is growth higher with cip? forget the 15 min ones", "`min` not in [15]"),
    ],
)
def test_times_in_another_unit_and_the_ones_of_a_time(question, condition, tmp_path):
    draw = np.random.default_rng(1)
    table = pd.DataFrame({"sample": [f"s{k}" for k in range(24)], "treat": ["ctl", "cip"] * 12,
                          "min": [15] * 12 + [60] * 12, "growth": draw.normal(5, 1, 24).round(2)})  # fmt: skip
    table.to_csv(tmp_path / "growth.csv", index=False)
    plan = the_planner().plan(question, profile_files([tmp_path / "growth.csv"])).plan
    assert steps(plan)["filter_rows"]["condition"] == condition


@pytest.fixture(scope="module")
def eaten(tmp_path_factory):
    draw, folder = np.random.default_rng(13), tmp_path_factory.mktemp("eaten")
    table = pd.DataFrame({"IDNO": range(1001, 1121), "CaCo": draw.integers(0, 2, 120), "age": draw.integers(3, 83, 120),
                          "sex": draw.choice(["m", "f"], 120), "rawmilk": draw.choice([0, 1, 9], 120, p=[0.7, 0.2, 0.1]),
                          "bbq": draw.integers(0, 2, 120)})  # fmt: skip
    codes = [["CaCo", 0, "control"], ["CaCo", 1, "case"], ["rawmilk", 0, "no"], ["rawmilk", 1, "yes"], ["rawmilk", 9, "do not know"],
             ["bbq", 0, "no"], ["bbq", 1, "yes"]]  # fmt: skip
    return with_codes(table, codes, folder / "cases.xlsx")


def test_cases_and_controls_by_a_legend_are_what_happened(eaten):
    question = "OR for raw milk in cases vs controls, adj for age and sex, leave out the dont knows"
    (model,) = the_planner().plan(question, eaten).plan.nodes
    assert (model.tool, model.params["outcome"], model.params["event_value"]) == ("logistic_regression", "CaCo", "1")
    assert (model.params["predictors"], model.params["adjusted"]) == (["rawmilk", "age", "sex"], ["age", "sex"])
    told = (
        the_planner().plan("logistic regression: do rawmilk, bbq and sex go with being a case?", eaten).plan.nodes[-1]
    )
    assert told.params["outcome"] == "CaCo"
    with pytest.raises(PlanError, match="vegetarians"):
        the_planner().plan(question.replace("dont knows", "vegetarians"), eaten)


@pytest.fixture(scope="module")
def rehab(tmp_path_factory):
    draw, folder = np.random.default_rng(14), tmp_path_factory.mktemp("rehab")
    first = draw.integers(50, 90, 80)
    table = pd.DataFrame({"pat": [f"P{k:02d}" for k in range(80)], "arm": draw.integers(1, 3, 80), "sex": draw.integers(1, 3, 80),
                          "age": draw.integers(30, 70, 80), "dropout": draw.choice([0, 1], 80, p=[0.8, 0.2]), "VAS_0": first,
                          "VAS_6": first - draw.integers(5, 20, 80), "VAS_12": first - draw.integers(15, 45, 80),
                          "fu_d": draw.integers(14, 180, 80), "died": draw.integers(0, 2, 80)})  # fmt: skip
    codes = [["arm", 1, "home exercise"], ["arm", 2, "supervised physio"], ["sex", 1, "male"], ["sex", 2, "female"],
             ["dropout", 0, "stayed"], ["dropout", 1, "dropped out"]]  # fmt: skip
    return with_codes(table, codes, folder / "rehab.xlsx")


def test_nothing_is_divided_by_a_code_and_who_is_left_out_is_no_group(rehab):
    question = "table 1 please: mean age, how many women and pain at start per arm, without the dropouts"
    found = steps(the_planner().plan(question, rehab).plan)
    assert found["filter_rows"]["condition"] == "`dropout` in [0]"
    assert found["table_one"]["group"] == "arm"
    assert "derive_column" not in found


def test_a_week_without_a_unit_in_its_column_is_found(rehab):
    found = steps(the_planner().plan("is pain at 12 weeks lower with supervised physio", rehab).plan)
    assert found["compare_groups"]["value"] == "VAS_12"


@pytest.mark.parametrize(
    ("question", "tool", "picked"),
    [
        ("Is VAS_12 lower than VAS_0 in the same patients?", "compare_columns_paired", {"second": "VAS_6"}),
        ("is VAS_12 lower with the supervised physio?", "compare_groups", {"group": "sex"}),
    ],
)
def test_a_choice_changes_no_other_column_and_no_rows(question, tool, picked, rehab):
    before = the_planner().plan(question, rehab).plan
    after = the_planner().plan(question, rehab, chosen={tool: picked}).plan
    was, now = steps(before)[tool], steps(after)[tool]
    columns = {"first", "second", "subject", "value", "group", "pair"} & was.keys()
    assert {name: now[name] for name in columns} == {name: was[name] for name in columns} | picked
    assert [n.tool for n in after.nodes] == [n.tool for n in before.nodes], "a group no longer compared keeps no rows"


def test_two_is_no_month_and_a_pot_of_one_isolate_pairs_nothing(tmp_path):
    draw = np.random.default_rng(15)
    months = [f"2024-{month:02d}" for month in range(1, 13)] * 4
    table = pd.DataFrame({"ward": np.repeat(["a", "b", "c", "d"], 12), "month": months, "lab": draw.normal(9, 2, 48).round(2),
                          "meter": draw.normal(9, 2, 48).round(2)})  # fmt: skip
    table.to_csv(tmp_path / "use.csv", index=False)
    plan = the_planner().plan("do the two readings lab and meter agree?", profile_files([tmp_path / "use.csv"])).plan
    assert "2024-02" not in str([node.params for node in plan.nodes])
    rows = [{"pot": f"p{pot}", "isolate": "AB"[pot % 2], "plant": f"p{pot}_{k}", "lesion": round(draw.normal(90, 10), 1)}
            for pot in range(12) for k in range(4)]  # fmt: skip
    pd.DataFrame(rows).to_csv(tmp_path / "leaves.csv", index=False)
    question = "is lesion larger in A than in B, plants from the same pot belong together"
    for node in the_planner().plan(question, profile_files([tmp_path / "leaves.csv"])).plan.nodes:
        assert node.params.get("pair") != "pot"


def test_a_dose_is_what_a_curve_runs_along(tmp_path):
    rows = [{"well": f"{strain}{dose}_{k}", "strain": strain, "drug_uM": dose, "time_h": hour, "OD600": round(0.05 * hour / (1 + dose), 3)}
            for strain in ("WT", "mut") for dose in (0, 0.1, 0.3, 1, 3, 10) for k in range(3) for hour in range(0, 13, 2)]  # fmt: skip
    pd.DataFrame(rows).to_csv(tmp_path / "plate.csv", index=False)
    question = "at what drug conc is growth halved, for the wild type and for mut?"
    found = steps(the_planner().plan(question, profile_files([tmp_path / "plate.csv"])).plan)
    assert (found["dose_response"]["dose"], found["dose_response"]["response"]) == ("drug_uM", "OD600")
