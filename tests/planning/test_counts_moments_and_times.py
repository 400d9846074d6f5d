"""Counts out of totals, several moments of a curve, years in names, and what an effect is asked on. The data are invented."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from plan_questions import profile_files, the_planner

from engine.errors import PlanError
from engine.planning.telling.brief import briefs
from engine.toolbox.analyses import load_analyses
from engine.toolbox.registry import builtin_tools

DRAW = np.random.default_rng(44)
N = 80


@pytest.fixture(scope="module")
def planner():
    return the_planner()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("counts")
    seeds = DRAW.integers(12, 30, N)
    trays = pd.DataFrame({
        "bench": [f"b{k % 16}" for k in range(N)], "substrate": np.tile(["peat", "bark"], N // 2),
        "depth_cm": DRAW.normal(4, 1, N).round(1), "seeds_total": seeds, "n_sprouted": DRAW.binomial(seeds, 0.6),
    })  # fmt: skip
    nests = pd.DataFrame(
        {
            "treatment": np.tile(["smoke", "clean"], 20),
            "height_m": DRAW.normal(3, 1, 40).round(1),
            "eggs_total": DRAW.integers(4, 9, 40),
        }
    )
    nests["hatched"] = DRAW.binomial(nests["eggs_total"], np.where(nests["treatment"] == "smoke", 0.5, 0.8))
    hips = pd.DataFrame({
        "cemented": DRAW.choice(["yes", "no"], N), "age_at_op": DRAW.integers(40, 90, N), "stem": np.tile(["short", "long"], N // 2), "days": DRAW.exponential(400, N).round() + 1,
        "died": DRAW.integers(0, 2, N), "frailty": DRAW.normal(50, 10, N).round(),
    })  # fmt: skip
    cones = pd.DataFrame({"cone_mm_11": DRAW.normal(40, 5, N).round(1), "scale_11": DRAW.normal(3, 0.4, N).round(2),
                          "cone_mm_12": DRAW.normal(42, 5, N).round(1), "scale_12": DRAW.normal(3, 0.4, N).round(2),
                          "weevil_12": DRAW.choice(["y", "n"], N)})  # fmt: skip
    doses = pd.DataFrame({"dose_ug": np.repeat([0, 1, 3, 10, 30], 8), "mass": DRAW.normal(50, 5, 40).round(1)})
    moths = pd.DataFrame({"reared": np.tile(["alone", "crowded"], N // 2), "sex": DRAW.choice(["f", "m"], N),
                          "lifespan": DRAW.normal(12, 2, N).round(1), "wing": DRAW.normal(20, 2, N).round(1)})  # fmt: skip
    jabs = pd.DataFrame({"jab": DRAW.choice(["real", "sham"], 30), "result": DRAW.choice(["sick", "not sick"], 30)})
    plots = pd.DataFrame({"clone": np.tile(["k1", "k2"], 30), "plant_date": np.repeat(["d05", "d12", "d19"], 20),
                          "sugar": DRAW.normal(15, 2, 60).round(1)})  # fmt: skip
    girls = pd.DataFrame({"child": np.repeat([f"c{k}" for k in range(24)], 4), "age": [6, 8, 10, 12] * 24,
                          "sex": np.repeat(DRAW.choice(["boy", "girl"], 24), 4), "grip": DRAW.normal(15, 3, 96).round(1)})  # fmt: skip
    hares = pd.DataFrame({"hare": range(1, 121), "site": [1 + k % 6 for k in range(120)],
                          "race": ["north" if k % 6 < 2 else "south" for k in range(120)], "sex": DRAW.choice(["f", "m"], 120),
                          "ear_len": DRAW.normal(10, 1, 120).round(1), "foot_len": DRAW.normal(14, 1, 120).round(1),
                          "tail_len": DRAW.normal(5, 1, 120).round(1), "girth": DRAW.normal(40, 3, 120).round(1),
                          "age": DRAW.integers(1, 6, 120)})  # fmt: skip
    ticks = pd.DataFrame({"borrelia": DRAW.choice([0, 1], N, p=[0.85, 0.15]), "length_mm": DRAW.normal(3, 0.5, N).round(2),
                          "altitude": DRAW.normal(600, 90, N).round()})  # fmt: skip
    frames = {
        "ticks": ticks,"trays": trays, "nests": nests, "hips": hips, "cones": cones, "doses": doses, "moths": moths, "jabs": jabs,
              "plots": plots, "girls": girls, "hares": hares}  # fmt: skip
    found = {}
    for name, frame in frames.items():
        found[name] = folder / f"{name}.csv"
        frame.to_csv(found[name], index=False)
    return found


def steps(planner, question, path):
    plan = planner.plan(question, profile_files([path])).plan
    return {node.tool: node.params for node in plan.nodes}, plan


# ==== counts out of totals ====


def test_a_model_of_a_count_out_of_a_total_is_of_each_of_the_counted(planner, files):
    made, plan = steps(planner, "does substrate change n_sprouted out of seeds_total, depth_cm held constant, benches are "
                       "random? mixed model", files["trays"])  # fmt: skip
    assert made["one_row_each"]["part"] == "n_sprouted"
    assert made["one_row_each"]["total"] == "seeds_total"
    model = made["mixed_model"]
    assert (model["outcome"], model["event_value"], model["subject"]) == ("n_sprouted", "yes", "bench")
    assert "seeds_total" not in model["fixed"]
    assert plan.nodes[1].inputs["table"].startswith(plan.nodes[0].id)


def test_eggs_of_a_nest_belong_together(planner, files):
    made, _ = steps(planner, "does treatment change hatched, adjusted for height_m?", files["nests"])
    assert made["one_row_each"]["part"] == "hatched"
    assert made["mixed_model"]["subject"] == "table_row"


def test_what_takes_counts_with_their_totals_takes_them_as_they_are(planner, files):
    made, _ = steps(planner, "share of n_sprouted of seeds_total by substrate", files["trays"])
    assert "one_row_each" not in made


# ==== several moments ====


@pytest.mark.parametrize(
    ("question", "moments", "unit"),
    [
        ("share still alive at 90 and 365 days, short and long stem", ["90", "365"], None),
        ("survival at 3 months and 12 months per stem", ["3 months", "12 months"], "days"),
        ("what percentage are still alive by 1, 2 and 3 years with each stem", ["1 years", "2 years", "3 years"], "days"),
    ],
)  # fmt: skip
def test_several_moments_are_read_off_one_curve_and_keep_no_rows(planner, files, question, moments, unit):
    made, _ = steps(planner, question, files["hips"])
    assert made["kaplan_meier"]["at_times"] == moments
    assert "at" not in made["kaplan_meier"]
    assert "filter_rows" not in made
    if unit:
        assert made["kaplan_meier"]["time_unit"] == unit


def test_the_card_says_at_which_moments(planner, files):
    profiles = profile_files([files["hips"]])
    plan = planner.plan("survival at 3 months and 12 months per stem", profiles).plan
    (brief,) = briefs(plan, profiles, builtin_tools(), load_analyses())
    assert "Read at: 3 months, 12 months." in brief.sentence()


def test_whether_a_stem_makes_a_difference_is_tested(planner, files):
    made, plan = steps(
        planner, "did the long stem make any difference to how long they lived? died 1 = yes", files["hips"]
    )
    assert "log_rank" in made
    assert not [q for q in plan.open_questions if q.blocking]


# ==== years and times in names ====


def test_a_year_names_the_columns_of_its_two_digits(planner, files):
    made, _ = steps(planner, "is the 2012 scale bigger with a weevil than without?", files["cones"])
    found = made["compare_groups"]
    assert (found["value"], found["group"], found["treated"], found["control"]) == ("scale_12", "weevil_12", "y", "n")


def test_a_measurement_of_several_years_is_of_the_year_spoken_of(planner, files):
    made, _ = steps(planner, "Are the scales with a weevil bigger than the ones without one?", files["cones"])
    assert made["compare_groups"]["value"] == "scale_12"


def test_a_year_is_no_number_of_units(planner, files):
    made, _ = steps(
        planner, "how does the chance of a weevil go with the size of a 2012 cone? logistic regression", files["cones"]
    )
    assert made["logistic_regression"].get("per", 1.0) == 1.0


# ==== what an effect is asked on ====


def test_an_effect_without_an_outcome_is_on_the_only_one(planner, files):
    made, plan = steps(planner, "For our seminar: thirty volunteers got a real or a sham jab in a cold winter. Does the real jab work?",
                       files["jabs"])  # fmt: skip
    assert (made["proportion_test"]["event"], made["proportion_test"]["group"]) == ("result", "jab")
    assert not [q for q in plan.open_questions if q.blocking and "leaves" not in q.text]


def test_what_nothing_in_the_data_is_called_is_still_refused(planner, files):
    with pytest.raises(PlanError):
        steps(planner, "does the jab cost more than an aspirin?", files["jabs"])


def test_who_lives_longer_is_asked_of_a_length_of_life(planner, files):
    made, _ = steps(planner, "do moths reared alone live longer than crowded ones?", files["moths"])
    assert (made["compare_groups"]["value"], made["compare_groups"]["group"]) == ("lifespan", "reared")


def test_who_asks_is_no_level(planner, files):
    made, _ = steps(planner, "As a young man I bred them. Is the wing longer in moths reared alone than in crowded ones?",
                    files["moths"])  # fmt: skip
    assert "filter_rows" not in made


def test_a_date_of_planting_numbers_no_plants(planner, files):
    for question in ("effect of clone and plant date on sugar", "which clone and which date give more sugar"):
        made, _ = steps(planner, question, files["plots"])
        assert sorted(made["anova"]["factors"]) == ["clone", "plant_date"]


# ==== differences at times, and whether they are the same ====


def test_a_difference_is_asked_at_each_of_the_times_named(planner, files):
    _, plan = steps(planner, "what is the sex difference in grip at age 6 and at age 12?", files["girls"])
    kept = [n.params["condition"] for n in plan.nodes if n.tool == "filter_rows"]
    tests = [n.params for n in plan.nodes if n.tool == "compare_groups"]
    assert kept == ["`age` in [6]", "`age` in [12]"]
    assert [(t["value"], t["group"]) for t in tests] == [("grip", "sex")] * 2


def test_a_pace_is_asked_of_the_whole_course(planner, files):
    made, _ = steps(
        planner,
        "grip was measured every two years from age 6 to age 12. does grip grow faster in boys?",
        files["girls"],
    )
    assert "filter_rows" not in made


@pytest.mark.parametrize(
    "question",
    [
        "adjusted for age, does girth differ between f and m, and is that difference the same in the two races?",
        "is the difference in girth between f and m the same in both races, adjusted for age",
    ],
)
def test_whether_a_difference_is_the_same_elsewhere_is_an_interaction(planner, files, question):
    made, _ = steps(planner, question, files["hares"])
    model = made["linear_regression"]
    assert (model["interaction"], model["predictors"]) == (True, ["sex", "race", "age"])


# ==== clusters, lists and corrections ====


def test_few_large_clusters_of_a_group_leave_its_comparison_as_it_is(planner, files):
    made, plan = steps(
        planner, "which of ear, foot and tail length differ between the races? Holm correction", files["hares"]
    )
    assert made["compare_columns"]["columns"] == ["ear_len", "foot_len", "tail_len"]
    assert made["compare_columns"]["correction"] == "holm"
    assert any("site" in text for text in plan.warnings)


def test_a_range_of_columns_is_in_the_order_of_the_file(planner, files):
    made, _ = steps(
        planner, "which measurements (ear length through girth) differ between north and south race?", files["hares"]
    )
    assert sorted(made["compare_columns"]["columns"]) == ["ear_len", "foot_len", "girth", "tail_len"]


def test_folds_do_not_keep_clusters_together_that_a_label_has_too_few_of(planner, files):
    made, plan = steps(planner, "how well can the race be predicted from ear, foot and tail length?", files["hares"])
    assert not made["classify"].get("subject")
    assert any("site" in text and "folds" in text for text in plan.warnings)


def test_the_last_dose_without_effect_is_the_noec(planner, files):
    for question in (
        "what is the highest dose without an effect on mass?",
        "From what dose on is the mass lower than in the control?",
    ):
        made, _ = steps(planner, question, files["doses"])
        assert (made["compare_groups"]["post_hoc"], made["compare_groups"]["group"]) == ("dunnett", "dose_ug")


@pytest.mark.parametrize(
    "words", ["be careful with Wald tests, few carry it", "by Firth's method", "with likelihood ratio tests"]
)
def test_wald_tests_are_left_where_they_are_not_wanted(planner, files, words):
    made, _ = steps(planner, f"logistic regression of borrelia on length_mm and altitude, {words}", files["ticks"])
    assert made["logistic_regression"]["penalised"] is True


# ==== words that were taken for something else ====


def test_an_age_is_the_column_that_begins_so_and_not_the_years_of_watching(planner, files, tmp_path):
    pd.read_csv(files["hips"]).rename(columns={"days": "years"}).to_csv(tmp_path / "hips.csv", index=False)
    made, _ = steps(
        planner,
        "hazard ratio of the long against the short stem, adjusted for age. died 1 = yes",
        tmp_path / "hips.csv",
    )
    assert made["cox_regression"]["time"] == "years"
    assert "age_at_op" in made["cox_regression"]["covariates"]


def test_a_state_against_not_is_compared_and_keeps_no_rows(planner, files):
    made, _ = steps(planner, "HR for dying, cemented vs not, adjusted for frailty. died 1 = yes", files["hips"])
    assert "filter_rows" not in made
    assert "cemented" in made["cox_regression"]["covariates"]


@pytest.mark.parametrize(
    "question",
    ["survival of patients aged between 50 and 70 years by stem", "survival by stem in patients 50 to 70 years old"],
)
def test_ages_are_no_moments(planner, files, question):
    made, _ = steps(planner, question, files["hips"])
    assert not made["kaplan_meier"].get("at_times")


def test_a_number_that_cuts_one_column_names_no_level_of_another(planner, files, tmp_path):
    table = pd.read_csv(files["hips"]).assign(score=DRAW.choice([50, 60, 70], N))
    table.to_csv(tmp_path / "hips.csv", index=False)
    made, _ = steps(planner, "survival of patients with age_at_op between 50 and 70 by stem", tmp_path / "hips.csv")
    assert "score" not in made["filter_rows"]["condition"]


def test_what_a_person_expects_is_no_value(planner, files):
    made, _ = steps(
        planner,
        "grip at age 6, 8, 10 and 12: does it differ between the sexes? I expect a sex by age term",
        files["girls"],
    )
    assert not any(params.get("at") for params in made.values())
