"""Ways of saying things that people outside used: who the replicate is, what a bracket defines, deaths of any cause, marks."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from plan_questions import profile_files, the_planner, with_codes

from engine.errors import PlanError

DRAW = np.random.default_rng(11)


def planned(tmp_path, table, question):
    table.to_csv(tmp_path / "t.csv", index=False)
    return the_planner().plan(question, profile_files([tmp_path / "t.csv"])).plan


def wings():
    n = 240
    return pd.DataFrame({
        "colony": [f"H{k // 20 + 1}" for k in range(n)], "cell_mm": np.where(np.arange(n) < n // 2, 4.9, 5.4),
        "worker": [k % 20 + 1 for k in range(n)], "FWL_right_mm": DRAW.normal(9.2, 0.1, n).round(3),
    })  # fmt: skip


@pytest.mark.parametrize("said", ["Colony is the replicate!", "The experimental unit is the colony."])
def test_what_the_question_calls_the_replicate_is_compared_with_nothing(tmp_path, said):
    question = (
        f"Is the right forewing longer in bees from 5.4 mm cells than from 4.9 mm cells, 20 bees per colony? {said}"
    )
    (node,) = planned(tmp_path, wings(), question).nodes
    assert node.tool == "mixed_model"
    assert (node.params["outcome"], node.params["fixed"]) == ("FWL_right_mm", ["cell_mm"])
    assert node.params["subject"] == "colony"


def colonies():
    n = 90
    return pd.DataFrame({
        "colony": [f"C{k}" for k in range(n)], "treatment": ["OA", "thymol", "control"] * (n // 3),
        "mites_Oct": DRAW.poisson(8, n), "alive_spring": DRAW.choice(["yes", "yes", "yes", "no"], n),
        "notes": ["", "", "united with C24"] + [""] * (n - 3),
    })  # fmt: skip


def test_a_bracket_defines_what_is_counted_and_dead_is_the_no_of_alive(tmp_path):
    plan = planned(tmp_path, colonies(), "How many colonies died over winter per treatment (alive_spring = no)?")
    assert not any(node.tool == "filter_rows" for node in plan.nodes), "the bracket keeps no rows"
    (node,) = [n for n in plan.nodes if "alive_spring" in n.params.values()]
    assert "treatment" in node.params.values()
    question = "does the october mite count predict which colony is dead in spring, and what cut-off, with sensitivity?"
    (roc,) = planned(tmp_path, colonies(), question).nodes
    assert (roc.tool, roc.params["marker"], roc.params["event_value"]) == ("roc_curve", "mites_Oct", "no")


def test_a_remark_on_a_few_rows_explains_nothing(tmp_path):
    question = "do the mites in October depend on treatment (see notes)? negative binomial"
    plan = planned(tmp_path, colonies(), question)
    assert not any("notes" in (value if isinstance(value, list) else [value]) for n in plan.nodes for value in n.params.values())  # fmt: skip


def cohort(tmp_path):
    n = 200
    table = pd.DataFrame({
        "pat_no": [f"P{k}" for k in range(n)], "hosp": DRAW.choice(["A", "B"], n), "age": DRAW.integers(40, 90, n),
        "days": DRAW.integers(10, 2000, n), "vital": DRAW.choice([0, 1, 2], n, p=[0.5, 0.35, 0.15]),
    })  # fmt: skip
    codes = [("vital", 0, "alive at last visit"), ("vital", 1, "dead, colon cancer"), ("vital", 2, "dead, other cause"),
             ("hosp", None, "hospital")]  # fmt: skip
    return with_codes(table, codes, tmp_path / "cohort.xlsx")


@pytest.mark.parametrize("question", ["Does survival differ between the hospitals?", "Do patients in hospital B die earlier? (death from any cause)"])  # fmt: skip
def test_deaths_of_all_causes_count_where_none_is_asked_for(tmp_path, question):
    plan = the_planner().plan(question, cohort(tmp_path)).plan
    (made,) = [n for n in plan.nodes if n.tool == "derive_column"]
    assert "`vital` in [1, 2]" in made.params["expression"]
    assert any(n.params.get("event") == made.params["name"] for n in plan.nodes)


def test_deaths_of_the_cause_that_is_asked_for_count_alone(tmp_path):
    plan = the_planner().plan("is the hazard of dying of colon cancer higher in B than in A?", cohort(tmp_path)).plan
    (node,) = [n for n in plan.nodes if n.params.get("event") == "vital"]
    assert node.params["event_value"] == "1"


def test_codes_that_a_legend_tells_are_counted_and_not_averaged(tmp_path):
    plan = the_planner().plan("How many died, and what is the median age?", cohort(tmp_path)).plan
    described = [n for n in plan.nodes if n.tool == "summarize_table"]
    assert all("vital" in n.params["categorical"] for n in described if "vital" in n.params.get("columns", []))


def fit():
    n = 200
    return pd.DataFrame({
        "id": [f"S{k}" for k in range(n)], "FIT_ug_g": DRAW.lognormal(2, 1, n).round(1),
        "biopsy": ["no adv. neoplasia"] * 140 + ["adv. neoplasia"] * 56 + ["pos"] * 2 + ["not done"] * 2,
    })  # fmt: skip


def test_what_a_number_defines_is_no_level_and_a_rare_pos_is_asked_about(tmp_path):
    question = "FIT with cut-off 20 ug/g (positive = 20 or more) against biopsy: sensitivity and specificity. Not-done biopsies can't be used."
    plan = planned(tmp_path, fit(), question)
    (node,) = [n for n in plan.nodes if n.tool == "diagnostic_accuracy"]
    assert node.params["cut_point"] == 20
    asked = [q for q in plan.open_questions if q.param == "event_value"]
    assert asked[0].blocking
    assert asked[0].proposed == "adv. neoplasia"
    assert asked[0].choices == ["no adv. neoplasia", "adv. neoplasia", "pos"], "not done is missing"


def shops():
    n = 64
    total = DRAW.integers(5, 16, n)
    part = [str(k) for k in DRAW.binomial(total, 0.1)]
    part[3] = "pending"
    return pd.DataFrame({
        "shop_no": [f"{k:03d}" for k in range(n)], "type": DRAW.choice(["supermarket", "butcher", "fish shop"], n),
        "area": DRAW.choice(["North", "South"], n), "n_samples": total, "n_Lm_pos": part, "HACCP": DRAW.choice(["y", "n"], n),
    })  # fmt: skip


@pytest.mark.parametrize(
    ("question", "group"),
    [
        (
            "Share of Listeria positive samples by type of shop? and does it differ between types. the pending one leave out",
            "type",
        ),
        ("what % of samples was positive in each area", "area"),
    ],
)
def test_the_share_of_a_total_is_of_the_count_out_of_it(tmp_path, question, group):
    (node,) = planned(tmp_path, shops(), question).nodes
    assert node.tool == "proportion_test"
    assert (node.params["events"], node.params["total"], node.params["group"]) == ("n_Lm_pos", "n_samples", group)


def test_only_marks_that_are_there_may_be_left_out(tmp_path):
    with pytest.raises(PlanError, match="leaves out part of the data"):
        planned(tmp_path, shops(), "Share of positive samples by area, the frozen one leave out")


def test_several_groups_set_against_each_other_are_the_only_ones_of_a_model(tmp_path):
    n = 50
    table = pd.DataFrame({"Mouse": [f"M{k:02d}" for k in range(n)], "Cage": [f"C{k // 5}" for k in range(n)],
                          "Grp": [f"G{k // 10 + 1}" for k in range(n)], "IgG_d28": DRAW.lognormal(9, 1, n).round()})  # fmt: skip
    codes = [("Grp", "G1", "PBS"), ("Grp", "G2", "S protein 5 ug + Alum"), ("Grp", "G3", "S protein 5 ug + AddaVax"),
             ("Grp", "G4", "mRNA-LNP 1 ug"), ("Grp", "G5", "mRNA-LNP 5 ug"), ("IgG_d28", None, "antibody titre")]  # fmt: skip
    question = (
        "Day 28 IgG: is the 5 ug mRNA group higher than the 1 ug mRNA group, and are both of them higher than protein + Alum? "
        "Please leave out M34, it was misinjected."
    )
    plan = the_planner().plan(question, with_codes(table, codes, tmp_path / "titres.xlsx")).plan
    kept = [n.params["condition"] for n in plan.nodes if n.tool == "filter_rows"]
    assert len(kept) == 1
    assert "'G5'" in kept[0]
    assert "'G1'" not in kept[0]
    assert "`Mouse` not in ['M34']" in kept[0]
    (model,) = [n for n in plan.nodes if n.tool == "mixed_model"]
    assert model.params["references"] == ["Grp=G2"]


def test_what_is_told_before_the_question_is_not_asked_about(tmp_path):
    n = 90
    table = colonies().drop(columns="mites_Oct").assign(
        apiary=[f"A{k // 15}" for k in range(n)],
        **{f"mites300_{month}": DRAW.poisson(8, n) for month in ("Jun", "Jul", "Aug", "Oct")},
        bee_frames_Oct=DRAW.normal(8, 1, n).round(1),
    )  # fmt: skip
    question = (
        "3 treatments in 6 apiaries (5 colonies of each in each apiary), varroa washed per 300 bees in June, July, August (before "
        "treatment) and October (after). Do OA and thymol lower the October mite load against control? Take the August count and "
        "the apiary into account."
    )
    (node,) = planned(tmp_path, table, question).nodes
    assert "mites300_Oct" in (node.params.get("count"), node.params.get("outcome"))
    assert {*node.params["predictors"]} == {"treatment", "apiary", "mites300_Aug"}


def test_what_is_nested_groups_rows_and_a_remark_is_not_named_by_after(tmp_path):
    n = 240
    depth = DRAW.integers(4, 8, n)
    table = pd.DataFrame({"pat_id": [f"P{k // 8:02d}" for k in range(n)], "site": ["B", "L", "M", "D"] * (n // 4), "PPD_BL_mm": depth,
                          "PPD_6m_mm": np.clip(depth - DRAW.integers(0, 3, n), 1, 8), "arm": [["gel", "placebo"][k // 8 % 2] for k in range(n)],
                          "remarks": ["moved away after 3m" if k < 8 else "" for k in range(n)]})  # fmt: skip
    question = (
        "RCT, gel vs placebo after SRP. Sites are nested in teeth and in patients. Is PPD at 6 months lower with the gel than with "
        "placebo, taking the baseline PPD into account? Leave out patient P17, she got amoxicillin."
    )
    plan = planned(tmp_path, table, question)
    (rows,) = [n.params["condition"] for n in plan.nodes if n.tool == "filter_rows"]
    assert rows == "`pat_id` not in ['P17']"
    (model,) = [n for n in plan.nodes if n.tool == "mixed_model"]
    assert (model.params["outcome"], model.params["subject"]) == ("PPD_6m_mm", "pat_id")
    assert {*model.params["fixed"]} == {"arm", "PPD_BL_mm"}


def weights():
    n = 48
    table = pd.DataFrame({"ID": [f"P{k}" for k in range(n)], "vacc": ["PBS", "Alum", "mRNA1", "mRNA5"] * (n // 4)})
    start = DRAW.normal(20, 1, n)
    for day in range(0, 15, 2):
        table[f"wt_d{day}_g"] = (start * (1 - 0.01 * day * (day < 8)) + DRAW.normal(0, 0.3, n)).round(1)
    return table


@pytest.mark.parametrize(
    ("question", "expression"),
    [
        ("is the max weight loss (in % of day 0) different between the mRNA1 and mRNA5 mice?", "100 * (`wt_d0_g` - min_across({})) / `wt_d0_g`"),
        ("what was the largest gain of weight in each group?", "max_across({}) - `wt_d0_g`"),
        ("is the nadir of the weight lower in PBS than in Alum?", "min_across({})"),
    ],
)  # fmt: skip
def test_the_largest_loss_and_the_lowest_value_of_a_course_in_columns(tmp_path, question, expression):
    plan = planned(tmp_path, weights(), question)
    (made,) = [n for n in plan.nodes if n.tool == "derive_column"]
    assert made.params["expression"] == expression.format(", ".join(f"`wt_d{day}_g`" for day in range(0, 15, 2)))
    others = [n.params for n in plan.nodes if n is not made]
    assert any(made.params["name"] in (*n.values(), *n.get("columns", [])) for n in others)
    assert any("vacc" in n.values() for n in others)


def larvae():
    n = 240
    genotype = DRAW.choice(["+/+", "+/-", "-/-"], n, p=[0.25, 0.5, 0.25])
    return pd.DataFrame({
        "larva": [f"L{k:03d}" for k in range(n)], "clutch": [f"C{k % 5}" for k in range(n)], "genotype": genotype,
        "SL_mm_5dpf": (DRAW.exponential(0.3, n) + 3.6).round(2), "last_dpf": DRAW.choice([5, 7, 9, 14], n, p=[0.1, 0.1, 0.1, 0.7]),
        "fate": DRAW.choice(["alive", "dead"], n, p=[0.7, 0.3]),
    })  # fmt: skip


def test_a_length_at_an_age_is_no_time_to_death(tmp_path):
    (node,) = planned(tmp_path, larvae(), "is SL_mm_5dpf different between the genotypes?").nodes
    assert (node.tool, node.params["value"], node.params["group"]) == ("compare_groups", "SL_mm_5dpf", "genotype")


def test_genotypes_of_signs_are_called_as_people_call_them(tmp_path):
    plan = planned(tmp_path, larvae(), "is SL_mm_5dpf lower in homozygous mutants than in wt? leave out the hets")
    (node,) = [n for n in plan.nodes if n.tool == "compare_groups"]
    assert {node.params["treated"], node.params["control"]} == {"+/+", "-/-"}


def clinic():
    n = 120
    before = DRAW.normal(144, 15, n).round()
    return pd.DataFrame({
        "pat_id": range(n), "CPAP h/night M1": DRAW.normal(5, 1, n).round(1), "CPAP h/night M3": DRAW.normal(5, 1, n).round(1),
        "SBP pre (mmHg)": before, "SBP 3 mo (mmHg)": before - DRAW.normal(6, 5, n).round(),
        "DBP pre (mmHg)": DRAW.normal(85, 8, n).round(), "DBP 3 mo (mmHg)": DRAW.normal(83, 8, n).round(),
    })  # fmt: skip


@pytest.mark.parametrize(
    "question",
    ["did the systolic pressure come down after 3 months on cpap, same pts before and after", "does SBP change from pre to 3 mo, paired"],
)  # fmt: skip
def test_a_pressure_is_never_set_against_hours(tmp_path, question):
    plan = planned(tmp_path, clinic(), question)
    used = {
        name
        for n in plan.nodes
        for value in n.params.values()
        for name in (value if isinstance(value, list) else [value])
    }
    assert {"SBP pre (mmHg)", "SBP 3 mo (mmHg)"} <= used
    assert not any("CPAP" in str(name) for name in used)


def test_what_is_said_behind_a_name_that_is_adjusted_for_is_not_missed(tmp_path):
    n = 64
    table = pd.DataFrame({"variety": ["Arvika", "Bolero", "Cresta", "Dakota"] * (n // 4), "block": [f"b{k // 16}" for k in range(n)],
                          "N_kg_ha": [0, 60, 120, 180] * (n // 4), "yield_t_ha": DRAW.normal(7, 1, n).round(2)})  # fmt: skip
    table["N_kg_ha"] = np.repeat([0, 60, 120, 180], 4).tolist() * 4
    plan = planned(tmp_path, table, "does yield differ between the varieties? account for the blocks and the N rate")
    assert not any("adjusts for" in text for text in plan.not_answered)


def test_which_shops_are_rows_and_positive_is_no_yes_of_another_column(tmp_path):
    try:
        plan = planned(tmp_path, shops(), "Which shops had more than 20% of their samples positive?")
    except PlanError:
        return  # not understood is no wrong answer
    assert not any("fish shop" in str(n.params) or "HACCP" in str(n.params) for n in plan.nodes)


def test_roman_numerals_behind_a_name_are_its_numbers(tmp_path):
    n = 120
    table = pd.DataFrame({"pat": [f"P{k}" for k in range(n)], "hosp": ["A", "B", "C"] * (n // 3), "stage": DRAW.integers(1, 5, n),
                          "age": DRAW.integers(40, 90, n)})  # fmt: skip
    plan = planned(tmp_path, table, "does age differ between the hospitals in stage IV only?")
    assert [n.params["condition"] for n in plan.nodes if n.tool == "filter_rows"] == ["`stage` in [4]"]


def test_bleeding_at_six_months_is_that_column(tmp_path):
    n = 240
    table = pd.DataFrame({"pat_id": [f"P{k // 8:02d}" for k in range(n)], "arm": [["gel", "placebo"][k // 8 % 2] for k in range(n)],
                          **{f"BOP_{when}": DRAW.choice([0, 1], n) for when in ("BL", "3m", "6m")},
                          **{f"PPD_{when}_mm": DRAW.integers(2, 8, n) for when in ("BL", "3m", "6m")}})  # fmt: skip
    plan = planned(
        tmp_path, table, "is BOP at 6 mo less frequent in the gel group? sites of one patient are not independent"
    )
    assert any("BOP_6m" in (n.params.get("outcome"), n.params.get("event")) for n in plan.nodes)
    assert not any("BOP_BL" in str(n.params) for n in plan.nodes)


def test_a_column_of_which_rows_only_go_is_not_held_constant(tmp_path):
    n = 120
    table = pd.DataFrame({"pat": [f"P{k}" for k in range(n)], "apnoea_type": DRAW.choice(["obstructive", "mixed", "central"], n),
                          "AHI": DRAW.normal(30, 10, n).round(1), "ESS": DRAW.integers(2, 20, n)})  # fmt: skip
    question = "are the sleepier ones also the worse apnoeas (ESS vs AHI)? leave out the central apnoea pts"
    plan = planned(tmp_path, table, question)
    assert [n.params["condition"] for n in plan.nodes if n.tool == "filter_rows"] == [
        "`apnoea_type` not in ['central']"
    ]
    assert not any("apnoea_type" in str(n.params) for n in plan.nodes if n.tool != "filter_rows")


def test_the_ten_highest_are_listed(tmp_path):
    n = 64
    table = pd.DataFrame(
        {
            "plot": range(101, 101 + n),
            "variety": ["Arvika", "Bolero"] * (n // 2),
            "yield_t_ha": DRAW.normal(7, 1, n).round(2),
        }
    )
    (node,) = planned(tmp_path, table, "the ten highest yielding plots").nodes
    assert (node.tool, node.params["sort_by"], node.params["top_n"]) == ("filter_rows", "yield_t_ha", 10)


def test_a_cause_that_is_asked_for_in_a_word_counts_alone(tmp_path):
    plan = the_planner().plan("cancer-specific survival by hospital", cohort(tmp_path)).plan
    assert not any("[1, 2]" in str(n.params) for n in plan.nodes)
