"""Which rows, groups and roles a sentence makes of what it names: what must not be kept, cut, compared or left aside."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from engine.data.profiler import profile_files
from engine.domain.plan import texts_of
from engine.planning.binding.bind import bind
from engine.planning.planner import Planner
from engine.planning.reading.read import read
from engine.planning.reading.reading import Contrast, Restriction
from engine.planning.reading.rows import compared_alone
from engine.planning.tables.sheets import Data
from engine.toolbox.registry import builtin_tools

RNG = np.random.default_rng(7)


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Data:
    folder = tmp_path_factory.mktemp("rows")
    n = 96
    pd.DataFrame(
        {
            "case": range(1, n + 1),
            "race": ["white", "black", "other", "white"] * (n // 4),
            "smoker": ["no", "no", "yes"] * (n // 3),
            "year": [95, 96, 97, 97] * (n // 4),
            "diet": ["a", "b", "c", "c", "a", "b"] * (n // 6),
            "weight_g": RNG.normal(3000, 300, n).round(),
            "length": RNG.normal(50, 3, n).round(1),
            "falls": RNG.poisson(3, n),
            "remark": ["checked twice, ask the trial office about it"] + [""] * (n - 1),
        }
    ).to_csv(folder / "babies.csv", index=False)
    return Data.of(profile_files([folder / "babies.csv"]))


@pytest.fixture(scope="module")
def fish(tmp_path_factory) -> Data:
    folder = tmp_path_factory.mktemp("fish")
    rows = [(f"F{k:02d}", "AB"[k % 2], week, 50 + 2 * week + RNG.normal()) for k in range(20) for week in range(5)]
    pd.DataFrame(rows, columns=["fish", "diet", "week", "length"]).to_csv(folder / "fish.csv", index=False)
    return Data.of(profile_files([folder / "fish.csv"]))


def kept(question: str, data: Data) -> set[tuple[str, str, tuple[str, ...]]]:
    return {(r.column, r.op, r.values) for r in read(question, data).restrictions if r.sure}


def test_a_second_condition_on_the_rows_is_kept_too(data):
    question = "Only white mothers that did not smoke: mean weight_g"
    assert kept(question, data) == {("race", "in", ("white",)), ("smoker", "in", ("no",))}


def test_a_level_set_against_another_is_not_the_only_one_kept():
    alone = Restriction("arm", "in", ("patch",), 3, 3, sure=True)
    assert compared_alone(alone, [Contrast("arm", ("both", "patch"), explicit=True)])
    assert not compared_alone(alone, [Contrast("arm", ("both", "patch"), explicit=False)])
    assert not compared_alone(alone, [Contrast("site", ("A", "B"), explicit=True)])


def test_levels_beside_a_cut_that_none_of_them_passes_are_not_kept(fish):
    reading = read("Weeks 0 and 1 were only training. Does length rise from week 2 on?", fish)
    assert [(r.op, r.values) for r in reading.restrictions if r.column == "week"] == [(">=", ("2",))]
    assert reading.levels("week") == []


def test_one_word_of_a_remark_is_no_level(data):
    assert not any(m.column == "remark" for m in read("how heterogeneous are these trials", data).mentions)


def test_numbers_are_cut_only_where_they_lie(data):
    assert kept("length above 50", data) == {("length", ">", ("50",))}
    assert kept("cases from 1977 to 1989: is weight_g higher", data) == set()


def test_a_spelled_number_after_a_comma_counts_something_else(data):
    assert not any(m.level for m in read("ninety-six cases, thirteen values each", data).mentions)


def test_an_article_never_ends_a_phrase(data):
    assert read("are those on diet c heavier than those on a?", data).levels("diet") == ["c", "a"]
    assert read("is there a difference for diet c", data).levels("diet") == ["c"]


def test_years_set_apart_are_groups_of_a_regression(data):
    spec = builtin_tools().get("count_regression")
    apart = bind(spec, read("do falls differ between 95, 96 and 97", data), data).params
    assert (apart["predictors"], apart["categorical"]) == (["year"], ["year"])
    assert "categorical" not in bind(spec, read("do falls rise with year", data), data).params


def test_what_is_followed_over_time_is_the_outcome_and_not_the_time(fish):
    reading = read("Does the growth in length over the weeks differ between the diets?", fish)
    assert (reading.parts["length"], reading.parts["week"]) == ({"outcome"}, {"over"})
    turned = read("Do the diets differ in length?", fish)
    assert not turned.is_a("diet", "outcome")


def test_a_column_inside_a_keyword_of_small_words_is_still_named(fish, tmp_path):
    """`over the weeks` is a keyword of a tool; the weeks stay a column."""
    table = tmp_path / "fish.csv"
    rows = [(f"F{k:02d}", "AB"[k % 2], week, 50 + 2 * week + RNG.normal()) for k in range(20) for week in range(5)]
    pd.DataFrame(rows, columns=["fish", "diet", "week", "length"]).to_csv(table, index=False)
    question = (
        "Does the growth in length over the weeks differ between the diets, mixed model with fish as random effect?"
    )
    plan = Planner(builtin_tools()).plan(question, profile_files([table])).plan
    params = next(node.params for node in plan.nodes if node.tool == "mixed_model")
    assert set(params["fixed"]) == {"week", "diet"}


def test_a_unit_beside_a_number_is_no_name(tmp_path):
    """With a column `days`, `3-month` had lost its month: a landmark of 3 days."""
    table = tmp_path / "stay.csv"
    pd.DataFrame({"months": RNG.integers(1, 60, 60), "died": [0, 1] * 30, "arm": ["a", "b", "b"] * 20}).to_csv(table)
    data = Data.of(profile_files([table]))
    spec = builtin_tools().get("restricted_mean_survival")
    params = bind(spec, read("restricted mean survival up to 12 months by arm", data), data).params
    assert params["tau"] == 12


def test_what_others_are_set_against_is_the_reference(data):
    spec = builtin_tools().get("compare_groups")
    assert bind(spec, read("weight_g by diet, Dunnett against b", data), data).params.get("control") == "b"
    assert "control" not in bind(spec, read("weight_g by diet in b", data), data).params


def test_a_state_that_began_while_subjects_were_watched_is_split(tmp_path):
    followed = RNG.integers(30, 900, 80)
    got = np.arange(80) % 3 == 0
    pd.DataFrame(
        {"pt": range(80), "organ": np.where(got, "Y", "N"), "wait_days": np.where(got, followed // 3, np.nan),
         "fu_days": followed, "vital": np.where(RNG.random(80) < 0.6, "D", "A")}
    ).to_csv(tmp_path / "list.csv", index=False)  # fmt: skip
    question = "Do those with an organ live longer? hazard ratio"
    plan = Planner(builtin_tools()).plan(question, profile_files([tmp_path / "list.csv"])).plan
    assert [node.tool for node in plan.nodes] == ["cox_regression"]
    assert (plan.nodes[0].params["covariates"], plan.nodes[0].params["since"]) == (["organ"], "wait_days")


def test_rows_of_start_stop_data_keep_their_start_and_subject(tmp_path):
    rows = [
        (k, 40 * part, 40 * part + 40, int(part == 2 and k % 2), k % 3 == 0) for k in range(40) for part in range(3)
    ]
    pd.DataFrame(rows, columns=["id", "start", "stop", "died", "drug"]).to_csv(tmp_path / "spans.csv", index=False)
    data = Data.of(profile_files([tmp_path / "spans.csv"]))
    params = bind(builtin_tools().get("cox_regression"), read("hazard ratio of the drug", data), data).params
    assert (params["start"], params["time"], params["subject"]) == ("start", "stop", "id")


def test_where_nothing_is_compared_one_state_named_is_where_it_is_asked_of(tmp_path):
    rows = [
        (line, a, b, 90 - 3 * a - 2 * b + RNG.normal())
        for line in ("HCT", "A549")
        for a in (0, 1, 4, 16)
        for b in (0, 2, 8)
    ]
    pd.DataFrame(rows, columns=["line", "drugA_uM", "drugB_uM", "viability"]).to_csv(tmp_path / "grid.csv", index=False)
    data = Data.of(profile_files([tmp_path / "grid.csv"]))
    spec = builtin_tools().get("drug_synergy")
    there = bind(spec, read("are drugA and drugB synergistic in HCT", data), data)
    assert "group" not in there.params
    assert [(r.column, r.values) for r in there.rows] == [("line", ("HCT",))]
    assert bind(spec, read("are drugA and drugB more synergistic in HCT", data), data).params["group"] == "line"


@pytest.mark.parametrize(
    ("question", "per"),
    [
        ("linear regression of weight_g on age, per 10 years", 10.0),
        ("linear regression of weight_g on depth_m, per 1000 m", 1000.0),
        ("linear regression of weight_g on age, cases per 1000 beds", None),
        ("linear regression of weight_g on age", None),
    ],
)
def test_effects_are_given_for_as_many_units_as_are_said(question, per, tmp_path):
    frame = pd.DataFrame(
        {"age": RNG.integers(30, 80, 60), "depth_m": RNG.normal(900, 90, 60), "weight_g": RNG.normal(3000, 99, 60)}
    )
    frame.to_csv(tmp_path / "fish.csv", index=False)
    data = Data.of(profile_files([tmp_path / "fish.csv"]))
    assert bind(builtin_tools().get("linear_regression"), read(question, data), data).params.get("per") == per


def families(tmp_path) -> Data:
    frame = pd.DataFrame(RNG.normal(0, 1, (40, 12)), columns=[f"gene{n}" for n in range(1, 13)]).assign(
        **{f"x{n}": RNG.normal(0, 1, 40) for n in range(1, 7)}, relapse=["yes", "no"] * 20
    )
    frame.to_csv(tmp_path / "genes.csv", index=False)
    return Data.of(profile_files([tmp_path / "genes.csv"]))


def test_a_plural_names_a_family_and_a_range_what_lies_between(tmp_path):
    data, spec = families(tmp_path), builtin_tools().get("classify")
    every = bind(spec, read("can relapse be predicted from the genes", data), data).params
    assert every["predictors"] == [f"gene{n}" for n in range(1, 13)]
    between = bind(spec, read("predict relapse from x2 to x5", data), data).params
    assert sorted(between["predictors"]) == ["x2", "x3", "x4", "x5"]


def test_a_column_called_the_exposure_is_no_predictor(tmp_path):
    rows = {
        "type": ["a", "b", "c"] * 12,
        "year": [60, 65, 70, 75] * 9,
        "months": RNG.integers(50, 900, 36),
        "incidents": RNG.poisson(6, 36),
    }
    pd.DataFrame(rows).to_csv(tmp_path / "ships.csv", index=False)
    data = Data.of(profile_files([tmp_path / "ships.csv"]))
    question = "does the rate of incidents depend on type and year, with months as exposure"
    params = bind(builtin_tools().get("count_regression"), read(question, data), data).params
    assert (params["exposure"], sorted(params["predictors"])) == ("months", ["type", "year"])


def test_the_standards_of_a_standard_curve_are_no_rows_to_keep(tmp_path):
    rows = [("standard", 2.0**n, 0.1 * n, "S") for n in range(8)] + [("sample", None, 0.35, f"P{n}") for n in range(6)]
    frame = pd.DataFrame(rows, columns=["well_type", "conc_ng_ml", "OD", "sample_id"])
    frame.to_csv(tmp_path / "elisa.csv", index=False)
    data = Data.of(profile_files([tmp_path / "elisa.csv"]))
    spec = builtin_tools().get("standard_curve")
    assert bind(spec, read("concentrations of the samples from the standard curve", data), data).rows == []


@pytest.mark.parametrize(
    ("question", "levels", "event"),
    [
        ("relapse: 1 = still without recurrence when last seen, 0 = it came back. What is free at three years?", ["0", "1"], "0"),
        ("relapse 1 died, 0 alive: who lives longer", ["0", "1"], "1"),
        ("hazard of dying of the melanoma itself (relapse 1; 2 is living, 3 other causes)", ["1", "2", "3"], "1"),
    ],
)  # fmt: skip
def test_the_question_says_which_code_is_the_event(question, levels, event, tmp_path):
    rows = {
        "days": RNG.integers(10, 900, 60),
        "relapse": [levels[n % len(levels)] for n in range(60)],
        "arm": ["a", "b"] * 30,
    }
    pd.DataFrame(rows).to_csv(tmp_path / "rfs.csv", index=False)
    data = Data.of(profile_files([tmp_path / "rfs.csv"]))
    params = bind(builtin_tools().get("kaplan_meier"), read(question, data), data).params
    assert (params["event"], params["event_value"]) == ("relapse", event)


def test_numbers_in_words_are_settings_too(tmp_path):
    rows = {"days": RNG.integers(10, 2900, 60), "died": [0, 1] * 30, "arm": ["a", "b", "b"] * 20}
    pd.DataFrame(rows).to_csv(tmp_path / "long.csv", index=False)
    data = Data.of(profile_files([tmp_path / "long.csv"]))
    params = bind(builtin_tools().get("kaplan_meier"), read("what share lives at three years", data), data).params
    assert (params["at"], params["at_unit"]) == (3, "years")


def test_a_test_is_judged_against_the_truth(tmp_path):
    rows = {"test": ["positive", "negative"] * 30, "truth": ["disease", "healthy", "disease"] * 20}
    pd.DataFrame(rows).to_csv(tmp_path / "dx.csv", index=False)
    plan = Planner(builtin_tools()).plan(
        "Sensitivity and specificity of test against truth, PPV and NPV at a prevalence of 2%",
        profile_files([tmp_path / "dx.csv"]),
    )
    params = plan.plan.nodes[-1].params
    assert (params["test"], params["outcome"], params["prevalence"]) == ("test", "truth", 0.02)


def test_confidence_limits_are_no_standard_errors(tmp_path):
    rows = {
        "study": [f"T{n}" for n in range(8)],
        "risk_ratio": RNG.uniform(0.3, 1.2, 8),
        "ci_low": RNG.uniform(0.1, 0.3, 8),
        "ci_high": RNG.uniform(1.3, 3, 8),
    }
    pd.DataFrame(rows).to_csv(tmp_path / "meta.csv", index=False)
    data = Data.of(profile_files([tmp_path / "meta.csv"]))
    question = "random-effects meta-analysis of risk_ratio with ci_low and ci_high across study"
    params = bind(builtin_tools().get("meta_analysis"), read(question, data), data).params
    assert (params["effect"], params["lower"], params["upper"], params.get("error")) == (
        "risk_ratio",
        "ci_low",
        "ci_high",
        None,
    )


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("non-inferiority of new versus standard in pain with a margin of 5; lower pain is better", "not_higher"),
        ("is new non-inferior to standard in pain, margin 5", "not_lower"),
    ],
)
def test_which_side_of_a_margin_matters_is_read(question, kind, tmp_path):
    pd.DataFrame({"arm": ["new", "standard"] * 30, "pain": RNG.normal(40, 8, 60)}).to_csv(
        tmp_path / "ni.csv", index=False
    )
    data = Data.of(profile_files([tmp_path / "ni.csv"]))
    assert bind(builtin_tools().get("equivalence_test"), read(question, data), data).params["kind"] == kind


def test_a_case_control_study_is_one_though_a_column_is_called_case(tmp_path):
    pd.DataFrame({"case": [0, 1] * 40, "smoker": [0, 1, 1, 0] * 20}).to_csv(tmp_path / "cc.csv", index=False)
    plan = Planner(builtin_tools()).plan(
        "Risk ratio and number needed to harm of smoker for case, case-control study",
        profile_files([tmp_path / "cc.csv"]),
    )
    assert plan.plan.nodes[-1].params["design"] == "case_control"


def test_a_code_held_constant_is_a_group(tmp_path):
    rows = {"ldh": RNG.normal(200, 20, 80), "crp": RNG.normal(5, 1, 80), "site": [1, 2, 3, 4] * 20}
    pd.DataFrame(rows).to_csv(tmp_path / "labs.csv", index=False)
    data = Data.of(profile_files([tmp_path / "labs.csv"]))
    question = "partial correlation of ldh and crp controlling for site (site is a category code)"
    params = bind(builtin_tools().get("partial_correlation"), read(question, data), data).params
    assert (params["held"], params["categorical"]) == (["site"], ["site"])


@pytest.mark.parametrize(
    "clause", ["only Species (lat.) = Carabus auratus", "where Species (lat.) is Carabus auratus",
               "for Species (lat.) = Carabus auratus", "(Species (lat.) = Carabus auratus)"],
)  # fmt: skip
def test_a_column_and_its_level_said_as_a_condition_keep_rows(tmp_path, clause):
    rng = np.random.default_rng(1)
    kinds = ["Abax ater", "Carabus auratus", "Nebria brevicollis"]
    rows = [
        (f"s{site}", ("wood", "field")[site % 2], kind, int(rng.poisson(4))) for site in range(12) for kind in kinds * 2
    ]
    path = tmp_path / "beetles.csv"
    pd.DataFrame(rows, columns=["site", "Habitat", "Species (lat.)", "individuals"]).to_csv(path, index=False)
    plan = Planner(builtin_tools()).plan(f"Do individuals differ by Habitat, {clause}", profile_files([path])).plan
    conditions = [node.params.get("condition") for node in plan.nodes]
    assert "`Species (lat.)` in ['Carabus auratus']" in conditions
    assert not any("Species (lat.)" in texts_of(value) for node in plan.nodes for value in node.params.values())


def conditions(question: str, folder, table: pd.DataFrame) -> tuple[list[str], dict]:
    table.to_csv(folder / "t.csv", index=False)
    plan = Planner(builtin_tools()).plan(question, profile_files([folder / "t.csv"])).plan
    kept = [str(node.params["condition"]) for node in plan.nodes if node.tool == "filter_rows"]
    return kept, max(plan.nodes, key=lambda node: node.priority).params


def ward() -> pd.DataFrame:
    rng, n = np.random.default_rng(1), 80
    return pd.DataFrame(
        {"pid": range(n), "arm": ["old", "drug"] * 40, "age": rng.integers(30, 80, n), "sex": rng.choice(["m", "f"], n),
         "hour": np.repeat([6, 24], 40), "pain": rng.normal(5, 1, n).round(1)}
    )  # fmt: skip


@pytest.mark.parametrize(
    ("question", "kept"),
    [
        ("does pain depend on age in the women", ["`sex` in ['f']"]),
        ("does pain depend on age in women?", ["`sex` in ['f']"]),
        ("does pain depend on age and sex", []),
        ("is pain lower in the women", []),
        ("is pain lower with the drug at 24 h", ["`hour` in [24]"]),
    ],
)
def test_a_relation_is_asked_of_those_it_is_asked_among(tmp_path, question: str, kept: list[str]):
    found, params = conditions(question, tmp_path, ward())
    assert found == kept
    if not kept and "age" not in question:
        assert params["group"] == "sex"
    if "24" in question:
        assert (params["group"], params["treated"]) == ("arm", "drug")
