"""Parts that words name in their own way or not at all: what is asked then, and what is taken from the data."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from plan_questions import the_planner

from engine.data.catalogue import read_data
from engine.data.profiler import profile_files
from engine.planning.planner import Planner
from engine.toolbox.enrichment.sets import over_representation
from engine.toolbox.registry import builtin_tools
from engine.toolbox.tables.handling import derive_column

RNG = np.random.default_rng(17)
N = 120


@pytest.fixture(scope="module")
def planner() -> Planner:
    return Planner(builtin_tools())


def saved(table: pd.DataFrame, folder, name: str = "table.csv"):
    path = folder / name
    table.to_csv(path, index=False)
    return profile_files([path])


@pytest.fixture(scope="module")
def births(tmp_path_factory):
    yes_no = lambda: RNG.choice(["Yes", "No"], N)  # noqa: E731 - five columns alike
    table = pd.DataFrame(
        {
            "Group": RNG.choice(["T", "C"], N),
            "Region": RNG.choice(["SP", "SW", "NL"], N),
            **{name: yes_no() for name in ("Preterm", "Diabetes", "Anaemia", "Asthma", "Smoking", "Oedema", "Twins", "Fever")},
            "weight reported (kg)": RNG.normal(70, 9, N).round(),
            "weight measured (kg)": RNG.normal(70, 9, N).round(),
            "height measured (cm)": RNG.normal(168, 9, N).round(),
            "Sp. gravity": RNG.normal(1.02, 0.005, N).round(3),
            "calcium": RNG.normal(4, 1, N).round(2),
            "dist_m": RNG.integers(50, 9000, N),
        }
    )  # fmt: skip
    return saved(table, tmp_path_factory.mktemp("births"))


def params(plan, tool: str) -> dict:
    return next(node.params for node in plan.nodes if node.tool == tool)


def test_the_treatment_is_the_column_called_as_what_was_given_is(planner, births) -> None:
    plan = planner.plan("Did the treatment lower the risk of preterm birth?", births).plan
    found = params(plan, "risk_measures")
    assert {found["exposure"], found["outcome"]} == {"Group", "Preterm"}
    assert not any(question.blocking for question in plan.open_questions)


def test_a_long_list_of_columns_loses_none(planner, births) -> None:
    listed = ["Preterm", "Diabetes", "Anaemia", "Asthma", "Smoking", "Oedema", "Twins", "Fever", "calcium"]
    plan = planner.plan(f"Table 1 by Group with {', '.join(listed)}", births).plan
    assert set(listed) <= {*params(plan, "table_one")["columns"]}


def test_a_word_of_statistics_is_no_part_of_a_name(planner, births) -> None:
    plan = planner.plan("ROC of calcium for preterm, with sensitivity and specificity", births).plan
    assert "Sp. gravity" not in str([node.params for node in plan.nodes])


def test_a_height_is_no_further_reading_of_a_weight(planner, births) -> None:
    plan = planner.plan("Bland-Altman of reported against measured weight. In one row weight and height are swapped, leave that row out.", births).plan  # fmt: skip
    found = params(plan, "agreement")
    assert (found["first"], found["second"]) == ("weight reported (kg)", "weight measured (kg)")
    assert not found.get("further")
    assert any("leave that row out" in text for text in plan.not_answered)


@pytest.mark.parametrize(("words", "per"), [("with each km", 1000.0), ("per 100 m", 100.0), ("for every 10 m", 10.0)])
def test_effects_are_of_the_unit_that_is_said(planner, births, words: str, per: float) -> None:
    plan = planner.plan(f"How do the odds of preterm change {words} of dist_m?", births).plan
    assert params(plan, "logistic_regression")["per"] == per


def test_a_group_nothing_is_called_is_asked_for_where_another_is_set_against_it(planner, births) -> None:
    plan = planner.plan("Do SP births have more calcium than the Dutch ones?", births).plan
    (asked,) = [
        question for question in plan.open_questions if "'Dutch'" in question.text and question.choices != ["yes"]
    ]
    assert asked.blocking
    assert {*asked.choices} == {"SW", "NL"}
    plan = planner.plan("Do the Swedish births have more calcium than those of NL?", births).plan
    assert [value for value in params(plan, "compare_groups").values() if value in ("SW", "NL")] == ["SW", "NL"]


def test_a_number_that_no_word_gives_is_asked(planner, births) -> None:
    plan = planner.plan("Is calcium equivalent in T and C?", births, analysis="equivalence_test").plan
    (asked,) = [question for question in plan.open_questions if question.param == "margin"]
    assert asked.blocking
    assert not plan.answers(asked)


@pytest.mark.parametrize(
    ("words", "asked"), [("channel conductance differ", True), ("differ in lung cancer patients", False)]
)
def test_a_thing_that_no_column_is_blocks_the_run(planner, births, words: str, asked: bool) -> None:
    plan = planner.plan(f"Does calcium {words} between T and C?", births).plan
    assert any(question.id == "analysis" for question in plan.open_questions) is asked


def test_please_is_no_partial_least_squares(planner, births) -> None:
    question = "Can preterm be predicted from calcium, dist_m and Smoking? accuracy on unseen births pls"
    assert params(planner.plan(question, births).plan, "classify").get("model") != "pls"


@pytest.fixture(scope="module")
def experiment(tmp_path_factory):
    """A matrix of counts with its sample sheet and a list of genes that go up."""
    folder = tmp_path_factory.mktemp("experiment")
    genes = ["IFIT1", "MX1", "OAS1", "ISG15", "STAT1", *(f"GENE{k}" for k in range(195))]
    counts = pd.DataFrame(RNG.negative_binomial(20, 0.1, (200, 6)), index=pd.Index(genes, name="gene"))
    counts.columns = [f"s{k}" for k in range(6)]
    counts.iloc[:5, 3:] *= 8
    counts.to_csv(folder / "counts.csv")
    sheet = {"sample": counts.columns, "treatment": ["control"] * 3 + ["ifn"] * 3, "batch": ["b1", "b2", "b1"] * 2}
    pd.DataFrame({**sheet, "rin": [9.1, 8.9, 9.0, 8.7, 9.2, 8.8]}).to_csv(folder / "samples.csv", index=False)
    (folder / "my_genes.txt").write_text("\n".join(genes[:4]) + "\n")
    return [folder / name for name in ("counts.csv", "samples.csv", "my_genes.txt")]


def test_a_list_beside_an_experiment_is_the_set_that_is_looked_for(planner, experiment) -> None:
    plan = planner.plan("Is my gene list over-represented among the genes up with ifn?", profile_files(experiment)).plan
    step = next(node for node in plan.nodes if node.tool == "over_representation")
    dataset = plan.dataset(step.inputs["gene_sets"].removeprefix("data:"))
    assert (dataset.name, dataset.read["one"]) == ("my_genes.txt", "my_genes")
    sets = read_data(dataset.path, "gene_set_library", **dataset.read)
    assert sets == {"my_genes": ["IFIT1", "MX1", "OAS1", "ISG15"]}
    assert over_representation(["IFIT1", "MX1"], sets, min_size=2)["enrichment"]["overlap"].tolist() == [2]


def test_numbered_batches_are_no_units(experiment) -> None:
    assert profile_files(experiment[1:2])[0].structure.units == {}


def test_whether_a_gene_is_up_is_tested(planner, experiment) -> None:
    plan = planner.plan("Is MX1 up with ifn against control?", profile_files(experiment[:2])).plan
    assert params(plan, "differential_expression")["genes_of_interest"] == ["MX1"]
    assert not any(question.blocking for question in plan.open_questions)
    plan = planner.plan("Draw the expression of MX1 by treatment", profile_files(experiment[:2])).plan
    assert params(plan, "gene_expression")["genes"] == ["MX1"]


def test_one_of_two_values_is_written_where_a_condition_holds() -> None:
    table = pd.DataFrame({"age": [30.0, 65.0, None, 80.0]})
    made = derive_column(table, name="old", expression="if_else(age >= 65, 'yes', 'no')")["derived"]["old"]
    assert made.tolist()[:2] + made.tolist()[3:] == ["no", "yes", "yes"]
    assert pd.isna(made[2])


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    """A trial with a score before and after, a score named after its week, and rows to be cut by a covariate."""
    table = pd.DataFrame(
        {
            "patient": [f"P{k:03}" for k in range(N)],
            "arm": RNG.choice(["drug", "placebo"], N),
            "sex": RNG.choice(["F", "M"], N),
            "age": RNG.integers(30, 90, N),
            "ldh": RNG.lognormal(5, 0.4, N).round(1),
            "itch_before": RNG.normal(6, 1, N).round(1),
            "itch_after": RNG.normal(4, 1, N).round(1),
            "pain_week12": RNG.normal(5, 2, N).round(1),
            "time_months": RNG.exponential(12, N).round(1) + 0.1,
            "status": RNG.integers(0, 2, N),
        }
    )
    return saved(table, tmp_path_factory.mktemp("clinic"), "clinic.csv")


def test_a_covariate_that_also_cuts_the_rows_is_held_constant(planner, clinic) -> None:
    question = "Hazard ratio of drug against placebo in women over 60, adjusted for age and ldh"
    plan = planner.plan(question, clinic, analysis="cox_regression").plan
    assert {"arm", "age", "ldh"} == {*params(plan, "cox_regression")["covariates"]}
    assert "`age` > 60" in params(plan, "filter_rows")["condition"]


def test_a_chosen_analysis_keeps_the_measure_that_is_computed_first(planner, clinic) -> None:
    question = "Is log10 ldh different between drug and placebo, adjusted for age?"
    plan = planner.plan(question, clinic, analysis="linear_regression").plan
    made = params(plan, "derive_column")
    assert made["expression"] == "log10(`ldh`)"
    assert params(plan, "linear_regression")["outcome"] == made["name"]


def test_who_got_better_more_is_a_change_compared(clinic) -> None:
    plan = the_planner().plan("Did itch get better more with drug than with placebo?", clinic).plan
    assert params(plan, "derive_column")["expression"] == "`itch_after` - `itch_before`"
    assert params(plan, "compare_groups")["value"] == params(plan, "derive_column")["name"]


def test_a_measure_at_an_occasion_is_no_clock(planner, clinic) -> None:
    assert clinic[0].structure.survival["time"] == "time_months"
    plan = planner.plan("Does pain_week12 differ between the arms?", clinic).plan
    assert params(plan, "compare_groups")["value"] == "pain_week12"


def test_before_treatment_is_when_and_no_arm(planner, clinic) -> None:
    plan = planner.plan("Is itch before treatment related to age?", clinic).plan
    assert not any("'arm'" in text for text in plan.not_answered)


@pytest.fixture(scope="module")
def mice(tmp_path_factory):
    days = (0, 7, 14, 21)
    rows = [(f"m{k}", ("combo", "vehicle")[k % 2], d, 100 + d * (5 + 5 * (k % 2)) + RNG.normal(0, 5)) for k in range(20) for d in days]  # fmt: skip
    table = pd.DataFrame(rows, columns=["mouse", "treatment", "day", "volume_mm3"]).round(1)
    return saved(table, tmp_path_factory.mktemp("mice"), "mice.csv")


@pytest.mark.parametrize(
    "question",
    [
        "Does combo slow the growth of the volume against vehicle?",
        "Is the rise of the volume per day steeper with vehicle than with combo? mixed model",
        "Does combo lower the volume over time more than vehicle?",
    ],
)
def test_how_fast_groups_change_is_a_model_of_the_time(planner, mice, question: str) -> None:
    found = params(planner.plan(question, mice, analysis="mixed_model").plan, "mixed_model")
    assert {"treatment", "day"} <= {*found["fixed"]}
    assert found["interaction"] is True


def test_whose_rows_belong_together_is_offered_as_no_group(planner, mice) -> None:
    plan = planner.plan("Which group has the biggest volume at day 21?", mice).plan
    assert "mouse" not in str([node.params for node in plan.nodes])
    assert not any("mouse" in question.choices for question in plan.open_questions)


def test_a_gene_that_others_are_relative_to_is_the_reference(planner, tmp_path) -> None:
    rows = [(f"s{k}", ("ctrl", "LPS")[k % 2], gene, 20 + RNG.normal(0, 0.3)) for k in range(8) for gene in ("GAPDH", "ACTB", "IL6")]  # fmt: skip
    profiles = saved(pd.DataFrame(rows, columns=["sample", "group", "gene", "Ct"]), tmp_path, "qpcr.csv")
    plan = planner.plan("Fold change of IL6 with LPS relative to GAPDH", profiles, analysis="qpcr_relative").plan
    assert plan.nodes[-1].params["references"] == ["GAPDH"]


def test_what_is_meant_where_the_data_do_not_meet_a_model_is_planned_at_once(births) -> None:
    plan = the_planner().plan("Are smokers less diabetic, yes or no?", births).plan
    assert next(chosen.id for chosen in plan.analysis) in ("proportion_test", "contingency", "risk_measures")
    assert not any(question.id == "analysis" for question in plan.open_questions)


@pytest.fixture(scope="module")
def physio(tmp_path_factory):
    """Two measures at several occasions, and two numbers that are called low and high."""
    table = pd.DataFrame(
        {
            "patient": [f"P{k:03}" for k in range(N)],
            "arm": RNG.choice(["exercise", "usual"], N),
            "nitrogen": RNG.choice([2, 9], N),
            "Pain week 0": RNG.normal(6, 1.5, N).round(1),
            "Pain week 6": RNG.normal(5, 1.5, N).round(1),
            "Pain week 12": RNG.normal(4, 1.5, N).round(1),
            "Grip before (kg)": RNG.normal(27, 4, N).round(1),
            "Grip after (kg)": RNG.normal(28, 4, N).round(1),
        }
    )
    return saved(table, tmp_path_factory.mktemp("physio"), "physio.csv")


def test_of_several_measures_the_baseline_is_of_the_one_beside_it(planner, physio) -> None:
    question = "Exercise versus usual: pain at 12 weeks, adjusted for baseline pain"
    found = params(planner.plan(question, physio).plan, "linear_regression")
    assert found["outcome"] == "Pain week 12"
    assert {"arm", "Pain week 0"} == {*found["predictors"]}


def test_a_range_of_occasions_fits_a_part_that_takes_two(planner, physio) -> None:
    question = "How many improved by 2 points or more in pain from week 0 to week 12, per arm?"
    plan = planner.plan(question, physio, analysis="describe_table").plan
    assert any("2 points or more" in text for text in plan.not_answered)


def test_of_two_numbers_one_is_low(planner, physio) -> None:
    plan = planner.plan("Does Grip after differ between the arms at low nitrogen?", physio).plan
    assert params(plan, "filter_rows")["condition"] == "`nitrogen` in [2]"


@pytest.mark.parametrize(("per_pond", "exposure"), [(True, None), (False, "area_m2")])
def test_a_trait_of_a_pond_is_no_effort_of_its_hauls(tmp_path, per_pond, exposure):
    draw = np.random.default_rng(9)
    area = np.repeat(draw.integers(600, 2400, 12), 6) if per_pond else draw.integers(2, 9, 72)
    hauls = pd.DataFrame({"pond": np.repeat([f"P{k:02d}" for k in range(12)], 6), "fish": np.repeat(["F", "N"] * 6, 6),
                          "haul": list("abcdef") * 12, "area_m2": area, "Daphnia": draw.poisson(5, 72)})  # fmt: skip
    hauls.to_csv(tmp_path / "hauls.csv", index=False)
    profiles = profile_files([tmp_path / "hauls.csv"])
    plan = the_planner().plan("model the count of Daphnia by fish, counts overdispersed", profiles).plan
    assert plan.nodes[-1].tool == "count_regression"
    assert plan.nodes[-1].params.get("exposure") == exposure
