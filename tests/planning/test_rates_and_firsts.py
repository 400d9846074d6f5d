"""Amounts for each hour or micrometre, only the first of each subject, one group against all others, and states as nouns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from plan_questions import profile_files, the_planner, with_codes

from engine.errors import PlanError
from engine.toolbox.tables.expressions import evaluate_expression


def steps(plan):
    return {node.tool: node.params for node in plan.nodes}


def written(path, table):
    table.to_csv(path, index=False)
    return profile_files([path])


@pytest.fixture(scope="module")
def hauls(tmp_path_factory):
    draw = np.random.default_rng(4)
    table = pd.DataFrame({
        "lance": range(1, 61), "gear": ["GOC", "BAKA"] * 30, "depth_m": draw.integers(80, 400, 60),
        "min_arrastre": draw.choice([28, 30, 31, 45, 60], 60), "hake_kg": draw.lognormal(2, 0.5, 60).round(2),
        "ok": ["V"] * 55 + ["I"] * 5,
    })  # fmt: skip
    codes = [("lance", "", "haul number"), ("ok", "V", "valid"), ("ok", "I", "invalid haul"), ("hake_kg", "", "hake")]
    return with_codes(table, codes, tmp_path_factory.mktemp("hauls") / "hauls.xlsx")


def test_per_hour_divides_by_the_minutes_of_effort(hauls):
    plan = (
        the_planner()
        .plan("does the GOC catch more hake per hour than the BAKA? only the valid hauls please", hauls)
        .plan
    )
    found = steps(plan)
    assert found["derive_column"]["expression"] == "`hake_kg` / (`min_arrastre` / 60)"
    assert found["filter_rows"]["condition"] == "`ok` in ['V']", "hauls are what the rows are, not the invalid ones"
    assert found["compare_groups"] | {"treated": "GOC", "control": "BAKA"} == found["compare_groups"]
    assert found["compare_groups"]["value"] == "hake_kg per hour"
    assert not plan.open_questions


def test_the_rows_with_the_most_per_hour_are_listed(hauls):
    plan = the_planner().plan("Which five valid hauls had the most hake per hour (give me lance, depth)", hauls).plan
    last = plan.nodes[-1]
    assert (last.tool, last.params["top_n"], last.params["sort_by"]) == ("filter_rows", 5, "hake_kg per hour")


def test_growth_per_hour_is_no_division(tmp_path):
    draw = np.random.default_rng(5)
    table = pd.DataFrame({"dish": np.repeat(range(1, 13), 5), "medium": np.repeat(["A", "B"], 30),
                          "time_min": [0, 30, 60, 90, 120] * 12, "area": draw.normal(50, 4, 60).round(1)})  # fmt: skip
    plan = the_planner().plan("does area per hour differ between A and B", written(tmp_path / "g.csv", table)).plan
    assert "derive_column" not in steps(plan), "a time that rows were taken at is no effort"
    profiles = written(tmp_path / "days.csv", table.rename(columns={"time_min": "study_day"}))
    assert "derive_column" not in steps(the_planner().plan("mean area per day in A and B", profiles).plan)


@pytest.fixture(scope="module")
def spines(tmp_path_factory):
    draw = np.random.default_rng(6)
    rows = [
        {"animal": f"{geno.upper()}-{mouse}", "geno": geno, "neuron": cell, "length_um": round(draw.uniform(20, 60), 1),
         "n_spines": int(draw.integers(18, 90))}
        for geno in ("wt", "ko") for mouse in range(1, 7) for cell in range(1, 7)
    ]  # fmt: skip
    return written(tmp_path_factory.mktemp("spines") / "spines.csv", pd.DataFrame(rows))


def test_density_is_by_the_only_size_and_numbers_of_neurons_explain_nothing(spines):
    question = "Is spine density lower in KO than WT? neurons are nested in animals"
    found = steps(the_planner().plan(question, spines).plan)
    assert found["derive_column"]["expression"] == "`n_spines` / `length_um`"
    model = found["mixed_model"]
    assert (model["outcome"], model["fixed"], model["subject"]) == ("n_spines per um", ["geno"], "animal")
    assert model["references"] == ["geno=wt"], "KO is the ko of the column, not the animal KO-6"


@pytest.fixture(scope="module")
def isolates(tmp_path_factory):
    """Isolates of a laboratory: some patients twice, one species written in two ways."""
    draw = np.random.default_rng(7)
    table = pd.DataFrame({
        "lab": [f"23M{n:04d}" for n in range(160)], "Date": pd.date_range("2023-01-02", periods=160, freq="2D"),
        "Pat_ID": [f"P{n:03d}" for n in draw.integers(0, 120, 160)], "Ward": draw.choice(["ICU", "ED", "MED1", "SURG"], 160),
        "Organism": ["Escherichia coli", "E. coli", "Klebsiella pneumoniae", "Escherichia coli"] * 40,
        "CIP": draw.choice(["S", "R", "I"], 160, p=[0.6, 0.35, 0.05]), "GEN": draw.choice(["S", "R"], 160),
    })  # fmt: skip
    codes = [("CIP", "", "ciprofloxacin, EUCAST S<=0.25 R>0.5"), ("GEN", "", "gentamicin")]
    return with_codes(table, codes, tmp_path_factory.mktemp("isolates") / "isolates.xlsx")


def test_short_names_of_species_are_one_level_and_end_no_sentence(isolates):
    (profile,) = isolates
    assert set(profile.column("Organism").levels) == {"Escherichia coli", "Klebsiella pneumoniae"}
    assert any("short names of species" in warning for warning in profile.warnings)
    plan = the_planner().plan("how many % of E. coli are cipro resistant per ward", isolates).plan
    assert steps(plan)["filter_rows"]["condition"] == "`Organism` in ['Escherichia coli']"
    assert "E. coli" in plan.question


def test_resistance_in_one_ward_against_the_others_in_the_first_isolates(isolates):
    plan = the_planner().plan(
        "Is cipro resistance in E. coli higher in the ICU than on all other wards taken together? First isolate per patient only "
        "please, some patients are in there several times.", isolates,
    ).plan  # fmt: skip
    derived = {node.params["name"]: node.params["expression"] for node in plan.nodes if node.tool == "derive_column"}
    assert derived["Ward: ICU"] == "if_else(`Ward` in ['ICU'], 'ICU', 'the rest')"
    first = "is_first(`Date`, `Organism` in ['Escherichia coli'], `Pat_ID`)"
    assert derived["first of each Pat_ID"] == f"if_else({first}, 'first of each Pat_ID', 'later')"
    kept = "`Organism` in ['Escherichia coli'] and `first of each Pat_ID` in ['first of each Pat_ID']"
    assert steps(plan)["filter_rows"]["condition"] == kept
    test = steps(plan)["proportion_test"]
    assert (test["event"], test["event_value"], test["treated"], test["control"]) == ("CIP", "R", "ICU", "the rest")
    assert not plan.open_questions


@pytest.fixture(scope="module")
def trees(tmp_path_factory):
    """Trees with German letters that a title line explains, one of them also spelled out."""
    draw = np.random.default_rng(9)
    table = pd.DataFrame({
        "Parzelle": [f"{b}{p}" for b in range(1, 6) for p in "abc" for _ in range(8)], "Block": np.repeat(range(1, 6), 24),
        "Behandlung": ["D"] * 8 + ["K"] * 8 + ["M"] * 8, "Baumart": ["Bu", "Fi", "Bu", "Fichte", "Fi", "Bu", "Fi", "Bu"] * 15,
        "H0_cm": draw.integers(26, 82, 120), "H3_cm": draw.integers(90, 170, 120), "Zustand": (["l"] * 7 + ["t"]) * 15,
        "Bemerkung": (["Verbiss"] + [None] * 23) * 5,
    } | {"Behandlung": (["D"] * 8 + ["K"] * 8 + ["M"] * 8) * 5})  # fmt: skip
    path = tmp_path_factory.mktemp("trees") / "trees.csv"
    title = "Versuch (K = Kontrolle, D = gedüngt, M = gemulcht; Bu = Buche, Fi = Fichte; l = lebend, t = tot)\n"
    path.write_text(title + table.to_csv(sep=";", index=False), "utf-8")
    return profile_files([path])


def test_a_legend_spells_out_a_level_and_a_species_on_both_sides_is_kept(trees):
    (profile,) = trees
    assert set(profile.column("Baumart").levels) == {"Bu", "Fi"}
    assert profile.column("Zustand").codes == {"l": "lebend", "t": "tot"}
    plan = the_planner().plan(
        "Did the fertilised (D) spruce grow more in height than the control spruce (K) over the 3 years (H3_cm minus H0_cm)? Only "
        "living trees and leave out the browsed ones (Verbiss). Treatments were applied to whole plots (Parzelle) within 5 "
        "blocks, so please don't treat every tree as independent.", trees,
    ).plan  # fmt: skip
    found = steps(plan)
    assert found["derive_column"]["expression"] == "`H3_cm` - `H0_cm`"
    kept = "`Baumart` in ['Fi'] and `Zustand` in ['l'] and (`Bemerkung` not in ['Verbiss'] or is_missing(`Bemerkung`))"
    assert found["filter_rows"]["condition"] == kept
    model = found["mixed_model"]
    assert (model["outcome"], model["subject"]) == ("H3_cm - H0_cm", "Parzelle")
    assert "Behandlung" in model["fixed"]
    assert not {"Baumart", "Zustand"} & {*model["fixed"]}


@pytest.fixture(scope="module")
def cohort(tmp_path_factory):
    draw = np.random.default_rng(10)
    table = pd.DataFrame({
        "pid": range(1001, 1201), "sex": draw.integers(1, 3, 200), "age_y": draw.integers(38, 82, 200),
        "smoker": draw.choice([0, 1, 2, 9], 200, p=[0.45, 0.35, 0.17, 0.03]), "vitD_nmolL": draw.integers(10, 110, 200),
        "fu_months": draw.uniform(1, 120, 200).round(1), "event": draw.choice([0, 1], 200, p=[0.7, 0.3]),
    })  # fmt: skip
    codes = [("sex", 1, "man"), ("sex", 2, "woman"), ("smoker", 0, "never"), ("smoker", 1, "former"),
             ("smoker", 2, "current"), ("smoker", 9, "unknown"), ("event", 1, "first CVD event"), ("event", 0, "censored")]  # fmt: skip
    return with_codes(table, codes, tmp_path_factory.mktemp("cohort") / "cohort.xlsx")


def test_what_is_adjusted_for_in_a_sentence_of_its_own_is_no_second_request(cohort):
    plan = the_planner().plan(
        "Is vitamin D (vitD_nmolL) related to the risk of the CVD event? Adjust for age, sex and smoking. HR per 10 nmol/l "
        "would be nice.", cohort,
    ).plan  # fmt: skip
    model = steps(plan)["cox_regression"]
    assert model["covariates"] == ["vitD_nmolL", "age_y", "sex", "smoker"]
    assert (model["per"], model["categorical"]) == (10.0, ["smoker"]), "codes enter no model as numbers"
    assert not {"mixed_model", "linear_regression"} & {*steps(plan)}
    assert not plan.open_questions, "CVD is what the legend says that the event was"


def test_a_code_that_no_row_has_names_no_column(cohort):
    (profile,) = cohort
    assert profile.column("smoker").label == ""


def test_a_list_of_levels_takes_none_together(cohort):
    plan = the_planner().plan("how many % had the event among never, former and current smokers?", cohort).plan
    assert "derive_column" not in steps(plan), "never and former are two groups"


@pytest.fixture(scope="module")
def audits(tmp_path_factory):
    """Hand hygiene by ward, month and profession: performed of opportunities."""
    draw = np.random.default_rng(11)
    rows = [
        {"Ward": ward, "Month": f"2023-{month:02d}", "Profession": who, "Opportunities": int(draw.integers(20, 70))}
        for ward in ("ICU", "ED", "URO", "MED1") for month in range(1, 13) for who in ("nurse", "doctor")
    ]  # fmt: skip
    table = pd.DataFrame(rows)
    return written(tmp_path_factory.mktemp("audits") / "audits.csv",
                   table.assign(Performed=draw.binomial(table["Opportunities"], 0.6)))  # fmt: skip


@pytest.mark.parametrize(
    ("question", "group"),
    [
        ("Which ward had the lowest compliance over the whole year", "Ward"),
        ("compliance per ward", "Ward"),
        ("is compliance lower in doctors than nurses", "Profession"),
    ],
)
def test_compliance_is_the_share_performed_of_opportunities(audits, question, group):
    test = steps(the_planner().plan(question, audits).plan)["proportion_test"]
    assert (test["events"], test["total"], test["group"]) == ("Performed", "Opportunities", group)


def test_wards_are_compared_though_each_has_many_rows(audits):
    plan = the_planner().plan("which ward had the lowest compliance", audits).plan
    assert not plan.open_questions, "whose rows belong together are what is compared"


def test_a_part_of_a_cohort_is_linked_and_what_both_files_have_is_used(tmp_path, cohort):
    draw = np.random.default_rng(12)
    (profile,) = cohort
    asked = pd.DataFrame({"pid": sorted(draw.choice(range(1001, 1201), 80, replace=False)),
                          "vis_pw": draw.choice([0.5, 1, 2, 3], 80), "fibre_FFQ_g": draw.normal(22, 5, 80).round(1)})  # fmt: skip
    plan = the_planner().plan(
        "Does eating more fish (vis_pw, servings per week in the FFQ) go with higher vitamin D in the cohort file? link by "
        "pid. Age adjusted too", [*written(tmp_path / "FFQ_2012.csv", asked), profile],
    ).plan  # fmt: skip
    found = steps(plan)
    assert (found["join_tables"]["left_on"], found["join_tables"]["right_on"]) == ("pid", "pid")
    model = found["linear_regression"]
    assert (model["outcome"], model["predictors"]) == ("vitD_nmolL", ["vis_pw", "age_y"]), "the FFQ is a file, no fibre"


def test_columns_of_different_things_are_no_occasions(cohort):
    plan = the_planner().plan("is the event related to vitD_nmolL over time, adjusted for age", cohort).plan
    assert all(not {"event", "vitD_nmolL"} <= {*(node.params.get("columns") or [])} for node in plan.nodes)


def test_where_something_was_measured_is_not_what_is_asked(tmp_path):
    draw = np.random.default_rng(13)
    rows = [{"mouse": f"m{n:02d}", "genotype": "KO" if n % 2 else "WT", "day": day, "latency_s": round(draw.normal(40, 8), 1)}
            for n in range(24) for day in range(1, 6)]  # fmt: skip
    question = (
        "Do the KO learn slower than the WT in the water maze over the 5 days? 3 trials per day per mouse, same mice every "
        "day of course. Latency in latency_s."
    )
    plan = the_planner().plan(question, written(tmp_path / "maze.csv", pd.DataFrame(rows))).plan
    assert "mixed_model" in steps(plan)
    assert not any(question.blocking for question in plan.open_questions)


@pytest.fixture(scope="module")
def crossover(tmp_path_factory):
    draw = np.random.default_rng(14)
    start = draw.normal(5, 0.3, 40).round(1)
    table = pd.DataFrame({
        "subj": [f"S{n:02d}" for n in range(1, 21) for _ in "12"], "period": [1, 2] * 20, "treat": ["A", "B", "B", "A"] * 10,
        "gluc_0_mmol": start, "gluc_30": (start + draw.normal(3, 0.4, 40)).round(1),
        "gluc_60": (start + draw.normal(2, 0.4, 40)).round(1), "gluc_120": (start + draw.normal(1, 0.3, 40)).round(1),
    })  # fmt: skip
    return written(tmp_path_factory.mktemp("crossover") / "crossover.csv", table)


def test_the_incremental_area_under_a_course_in_columns(crossover):
    plan = the_planner().plan(
        "Crossover, A = placebo B = fibre. Does B lower the glucose incremental AUC 0-120 min (trapezoid, above the 0 min "
        "value)? Take period into account pls.", crossover,
    ).plan  # fmt: skip
    found = steps(plan)
    area = found["derive_column"]["expression"]
    (row,) = pd.DataFrame({"gluc_0_mmol": [5.0], "gluc_30": [8.0], "gluc_60": [7.0], "gluc_120": [6.0]}).pipe(
        lambda table: evaluate_expression(area, table)
    )
    # By hand: 30 (5 + 8) / 2 + 30 (8 + 7) / 2 + 60 (7 + 6) / 2 - 120 * 5
    assert row == pytest.approx(195 + 225 + 390 - 600)
    model = found["mixed_model"]
    assert (model["fixed"], model["subject"], model["references"]) == (["treat", "period"], "subj", ["treat=A"])


def test_the_auc_of_a_marker_is_no_area_of_columns(cohort):
    plan = the_planner().plan("what is the AUC of vitD_nmolL for the event", cohort).plan
    assert "derive_column" not in steps(plan)


def test_how_many_doses_somebody_had_chooses_rows(tmp_path):
    draw = np.random.default_rng(15)
    table = pd.DataFrame({"pid": [f"P{n:03d}" for n in range(150)], "sex": draw.choice(["m", "f"], 150),
                          "doses": draw.integers(0, 3, 150), "person_days": draw.integers(100, 300, 150),
                          "infected": draw.choice([0, 1], 150, p=[0.8, 0.2])})  # fmt: skip
    profiles = written(tmp_path / "cohort.csv", table)
    plan = (
        the_planner()
        .plan("compare infected between two doses and no doses. Ignore people with one dose", profiles)
        .plan
    )
    assert steps(plan)["filter_rows"]["condition"] == "`doses` not in [1]"
    reading = the_planner().read("compare infected between two doses and no doses", profiles)
    assert reading is not None
    assert reading.levels("doses") == ["2", "0"]
    reading = the_planner().read("are three doses enough", profiles)
    assert reading is not None
    assert not reading.levels("doses"), "a number of things is no level"


def test_one_breed_lives_shorter_than_all_the_others(tmp_path):
    draw = np.random.default_rng(16)
    table = pd.DataFrame({"Case": [f"K{n:03d}" for n in range(120)], "breed": draw.choice(["CKCS", "Mix", "Chihuahua"], 120),
                          "age_dx": draw.normal(9, 2, 120).round(1), "days_fu": draw.integers(10, 900, 120),
                          "status": draw.choice(["dead", "alive"], 120)})  # fmt: skip
    question = (
        "Do cavaliers live shorter after diagnosis than all the other breeds together? median survival for both please"
    )
    plan = the_planner().plan(question, written(tmp_path / "dogs.csv", table)).plan
    assert steps(plan)["derive_column"]["expression"] == "if_else(`breed` in ['CKCS'], 'CKCS', 'the rest')"
    assert steps(plan)["kaplan_meier"]["group"] == "breed: CKCS"
    assert not any("age_dx" in said for said in plan.not_answered), "the follow-up began then"


def test_words_of_the_field_for_short_levels(tmp_path):
    draw = np.random.default_rng(17)
    rows = [{"pot": pot, "treatment": "DR" if pot % 2 else "WW", "day": day, "A_umol_m2_s": round(draw.normal(15, 2), 2),
             "gs_mol_m2_s": round(draw.normal(0.3, 0.05), 3)} for pot in range(1, 25) for day in (0, 3, 6, 9)]  # fmt: skip
    question = "does photosynthesis fall faster over the days in droughted pots than in the watered ones?"
    model = steps(the_planner().plan(question, written(tmp_path / "licor.csv", pd.DataFrame(rows))).plan)["mixed_model"]
    assert (model["outcome"], model["subject"]) == ("A_umol_m2_s", "pot")
    assert {*model["fixed"]} == {"day", "treatment"}
    assert model["interaction"] is True


def test_a_leading_clause_chooses_rows_and_lists_need_no_commas(tmp_path, cohort):
    draw = np.random.default_rng(18)
    table = pd.DataFrame({"pid": [f"P{n}" for n in range(120)], "diab": draw.choice(["yes", "no"], 120), "BMI": draw.normal(26, 3, 120).round(1),
                          "CRP": draw.lognormal(0.5, 0.6, 120).round(2), "age": draw.integers(30, 80, 120)})  # fmt: skip
    profiles = written(tmp_path / "people.csv", table)
    plan = the_planner().plan("In people WITHOUT diab: is CRP related to BMI, adjusted for age", profiles).plan
    assert steps(plan)["filter_rows"]["condition"] == "`diab` in ['no']"
    reading = the_planner().read("is vitD_nmolL related to fu_months, adjusted for age_y sex smoker", cohort)
    assert reading is not None
    assert {name for name, parts in reading.parts.items() if parts == {"adjust"}} == {"age_y", "sex", "smoker"}


def test_where_nothing_says_what_comes_first_it_is_not_passed_over(tmp_path):
    draw = np.random.default_rng(19)
    table = pd.DataFrame({"Pat_ID": [f"P{n:03d}" for n in draw.integers(0, 60, 90)], "Ward": draw.choice(["ICU", "ED"], 90),
                          "CIP": draw.choice(["S", "R"], 90), "value": draw.normal(5, 1, 90).round(1)})  # fmt: skip
    with pytest.raises(PlanError, match="no column says which comes first"):
        the_planner().plan(
            "is value higher in ICU than in ED? First isolate per Pat_ID only", written(tmp_path / "i.csv", table)
        )


def test_a_measured_density_is_divided_by_nothing(tmp_path):
    draw = np.random.default_rng(20)
    table = pd.DataFrame({"pid": [f"P{n:03d}" for n in range(80)], "sex": draw.choice(["m", "f"], 80),
                          "bone_density": draw.normal(1.1, 0.1, 80).round(3), "height_cm": draw.normal(170, 9, 80).round()})  # fmt: skip
    profiles = written(tmp_path / "bones.csv", table)
    assert "derive_column" not in steps(the_planner().plan("is bone density lower in f than in m", profiles).plan)


def test_the_auc_of_a_marker_at_one_of_several_times_is_no_area(crossover):
    plan = the_planner().plan("how well does gluc_30 predict treat: AUC and cut-off", crossover).plan
    assert "derive_column" not in steps(plan)
