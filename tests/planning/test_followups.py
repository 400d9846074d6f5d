"""Questions that go on from the plan before: what they change, what they take over, and what is asked instead of guessed.

The data are invented; expected is what a person reads from the two questions together.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from engine.asking.edits import kept_by_hand
from engine.data.profiler import profile_files
from engine.domain.plan import OpenQuestion, TaskDag
from engine.errors import PlanError
from engine.planning.planner import Planner
from engine.toolbox.registry import builtin_tools
from engine.toolbox.tables.handling import filter_rows
from engine.toolbox.typecheck import check_plan

RNG = np.random.default_rng(11)
FIRST = "Does weight differ between the diets?"


@pytest.fixture(scope="module")
def planner() -> Planner:
    return Planner(builtin_tools())


@pytest.fixture(scope="module")
def goats(tmp_path_factory):
    n = 120
    table = pd.DataFrame(
        {
            "goat": range(1, n + 1),
            "diet": ["hay", "mixed", "silage"] * (n // 3),
            "sex": ["female", "male"] * (n // 2),
            "farm": ["Alm", "Berg", "Tal", "Alm"] * (n // 4),
            "age": RNG.integers(2, 11, n),
            "weight": RNG.normal(60, 8, n).round(1),
            "height": RNG.normal(70, 5, n).round(1),
        }
    )
    path = tmp_path_factory.mktemp("goats") / "goats.csv"
    table.to_csv(path, index=False)
    return profile_files([path])


@pytest.fixture(scope="module")
def first(planner, goats) -> TaskDag:
    return planner.plan(FIRST, goats).plan


def step(plan: TaskDag, tool: str) -> dict:
    return next(node.params for node in plan.nodes if node.tool == tool)


def tools(plan: TaskDag) -> list[str]:
    return [node.tool for node in plan.nodes]


@pytest.mark.parametrize(
    ("question", "condition"),
    [
        ("and in the males", "`sex` in ['male']"),
        ("only females please", "`sex` in ['female']"),
        ("ok now without Berg", "`farm` not in ['Berg']"),
        ("repeat, only age over 5", "`age` > 5"),
        ("without goat 12", "`goat` not in [12]"),
        ("the ones older than 5 years", "`age` > 5"),
        ("can you also test the females", "`sex` in ['female']"),
        ("in the goats of Alm and Tal", "`farm` in ['Alm', 'Tal']"),  # the same rows
    ],
)
def test_rows_are_kept_or_left_out_of_the_analysis_before(planner, goats, first, question, condition):
    plan = planner.plan(question, goats, previous=first).plan
    assert step(plan, "filter_rows")["condition"] == condition
    assert (step(plan, "compare_groups")["value"], step(plan, "compare_groups")["group"]) == ("weight", "diet")
    assert FIRST in plan.follows
    assert plan.not_answered == []


def test_rows_of_the_same_column_take_the_place_of_those_before(planner, goats, first):
    females = planner.plan("only females", goats, previous=first).plan
    males = planner.plan("and in the males", goats, previous=females).plan
    assert step(males, "filter_rows")["condition"] == "`sex` in ['male']"


def test_rows_of_another_column_are_added(planner, goats, first):
    females = planner.plan("only females", goats, previous=first).plan
    both = planner.plan("and without Berg", goats, previous=females).plan
    condition = step(both, "filter_rows")["condition"]
    assert "`sex` in ['female']" in condition
    assert "`farm` not in ['Berg']" in condition


def test_a_setting_is_changed_and_nothing_else(planner, goats, first):
    plan = planner.plan("with welch instead", goats, previous=first).plan
    before, after = step(first, "compare_groups"), step(plan, "compare_groups")
    assert after == {**before, "test": after["test"]}
    assert "welch" in str(after["test"])


def test_another_measure_takes_the_place_of_the_one_before(planner, goats, first):
    plan = planner.plan("the same for height instead of weight", goats, previous=first).plan
    assert step(plan, "compare_groups")["value"] == "height"
    assert plan.question == "Does height differ between the diets?"


def test_what_is_held_constant_leads_to_an_analysis_that_can(planner, goats, first):
    plan = planner.plan("same but adjusted for age", goats, previous=first).plan
    node = next(node for node in plan.nodes if "age" in str(node.params))
    assert {"diet", "age"} <= {*node.params["predictors"]}
    assert node.params["outcome"] == "weight"


def test_a_picture_points_to_what_was_measured(planner, goats, first):
    plan = planner.plan("plot that by sex", goats, previous=first).plan
    params = plan.nodes[-1].params
    assert {"weight", "sex"} <= {*params.values()}
    assert "diet" not in params.values()
    assert builtin_tools().get(plan.nodes[-1].tool).task_type == "visualization"


@pytest.mark.parametrize("question", ["and for the toddlers only", "use FDR 1 %", "without the adjustment for sex"])
def test_what_is_not_found_is_refused_and_the_analysis_not_repeated(planner, goats, first, question):
    with pytest.raises(PlanError) as refused:
        planner.plan(question, goats, previous=first)
    assert refused.value.advice


@pytest.mark.parametrize("question", ["Is height correlated with age?", "Does height differ between the sexes?"])
def test_a_question_that_says_all_it_needs_takes_over_nothing(planner, goats, first, question):
    alone = planner.plan(question, goats).plan
    plan = planner.plan(question, goats, previous=first).plan
    assert plan.nodes == alone.nodes
    assert plan.follows == ""


def test_what_a_person_set_before_stays_set(planner, goats, first):
    def by_hand(node):
        if node.tool != "compare_groups":
            return node
        return node.model_copy(update={"params": {**node.params, "test": "kruskal"}, "settled": {"test": "edit"}})

    edited = first.model_copy(update={"nodes": [by_hand(node) for node in first.nodes]})
    plan = planner.plan("only females", goats, previous=edited).plan
    assert step(plan, "compare_groups")["test"] == "kruskal"
    told = planner.plan("only females, with welch", goats, previous=edited).plan
    assert "welch" in str(step(told, "compare_groups")["test"])


def test_the_analysis_that_a_person_chooses_is_planned_with_what_was_asked_before(planner, goats, first):
    plan = planner.plan("only females", goats, previous=first, analysis="group_plot").plan
    assert step(plan, "filter_rows")["condition"] == "`sex` in ['female']"
    assert [chosen.id for chosen in plan.analysis] == ["group_plot"]


# ==== the analysis before stays what it was ====


def test_an_adjusted_model_is_kept_with_these_rows_and_drops_what_has_one_value_in_them(planner, goats, first):
    model = planner.plan("same but adjusted for age and sex", goats, previous=first).plan
    plan = planner.plan("and for the females only", goats, previous=model).plan
    assert step(plan, "filter_rows")["condition"] == "`sex` in ['female']"
    assert step(plan, "linear_regression")["outcome"] == "weight"
    assert {*step(plan, "linear_regression")["predictors"]} == {"diet", "age"}
    assert "sex has one value there" in plan.follows


def test_columns_that_a_person_chose_are_kept_although_no_word_names_them(planner, goats):
    chosen = {"linear_regression": {"outcome": "weight", "predictors": ["diet", "age"]}}
    before = planner.plan("what makes them heavy", goats, analysis="linear_regression", chosen=chosen).plan
    plan = planner.plan("and for the females only", goats, previous=before).plan
    assert step(plan, "filter_rows")["condition"] == "`sex` in ['female']"
    params = step(plan, "linear_regression")
    assert (params["outcome"], params["predictors"]) == ("weight", ["diet", "age"])


def test_a_level_of_a_chosen_column_restricts_no_rows(planner, goats):
    chosen = {"linear_regression": {"outcome": "weight", "predictors": ["sex", "age"]}}
    plan = planner.plan("Is the weight lower in females?", goats, analysis="linear_regression", chosen=chosen).plan
    assert "filter_rows" not in tools(plan)


def test_what_the_plan_before_still_asks_is_asked_again(planner, goats, first):
    question = OpenQuestion(
        id="analysis",
        text="Is it meant?",
        why="-",
        choices=["compare_groups"],
        proposed="compare_groups",
        blocking=True,
    )
    unsure = first.model_copy(update={"question": "weight something diets?", "open_questions": [question]})
    plan = planner.plan("only females", goats, previous=unsure).plan
    assert any(q.id == "analysis" and q.blocking for q in plan.open_questions)


def test_a_rank_test_that_cannot_adjust_is_refused_by_name_and_what_can_be_said_is_planned(planner, goats):
    before = planner.plan("Does weight differ between the sexes, adjusted for age?", goats).plan
    with pytest.raises(PlanError, match="non-parametric") as refused:
        planner.plan("use a non-parametric test", goats, previous=before)
    said = "without the adjustment for age, use a non-parametric test"
    assert f"'{said}'" in refused.value.advice
    plan = planner.plan(said, goats, previous=before).plan
    assert step(plan, "compare_groups")["test"] == "ranks"


def test_outliers_to_be_dropped_lead_to_the_question_that_finds_them(planner, goats, first):
    with pytest.raises(PlanError) as refused:
        planner.plan("drop the outliers", goats, previous=first)
    assert "'Are there outliers in weight?'" in refused.value.advice
    assert tools(planner.plan("Are there outliers in weight?", goats).plan) == ["find_outliers"]


# ==== comparisons: turned round, with another group, of all groups ====


@pytest.fixture(scope="module")
def pair(planner, goats) -> TaskDag:
    return planner.plan("Is height higher with hay than with silage?", goats).plan


def ends(plan: TaskDag) -> tuple[str, str]:
    params = step(plan, "compare_groups")
    return params["treated"], params["control"]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("the other way round", ("silage", "hay")),
        ("use hay as the reference", ("silage", "hay")),
        ("compare with mixed instead", ("hay", "mixed")),
        ("mixed instead of hay", ("mixed", "silage")),
    ],
)
def test_a_comparison_is_turned_or_gets_another_group(planner, goats, pair, question, expected):
    assert ends(pair) == ("hay", "silage")
    plan = planner.plan(question, goats, previous=pair).plan
    assert ends(plan) == expected
    assert f"{expected[0]} against {expected[1]} (diet)" in plan.follows
    back = planner.plan("undo that", goats, previous=plan, earlier=[pair]).plan
    assert back.nodes == pair.nodes
    assert back.follows.startswith("Taken back")


def test_the_reference_of_a_model_is_turned_too(planner, goats):
    before = planner.plan("Does weight differ between the sexes, adjusted for age?", goats).plan
    plan = planner.plan("swap the reference", goats, previous=before).plan
    params = step(plan, "linear_regression")
    assert params["references"] == ["sex=male"]
    assert params["predictors"] == step(before, "linear_regression")["predictors"]
    assert "female against male (sex)" in plan.follows


def test_which_of_two_groups_is_replaced_is_asked_and_a_reference_is_not_set_twice(planner, goats, pair):
    with pytest.raises(PlanError) as refused:
        planner.plan("mixed instead", goats, previous=pair)
    assert "'mixed instead of silage'" in refused.value.advice
    with pytest.raises(PlanError, match="silage is the reference"):
        planner.plan("use silage as the reference", goats, previous=pair)


def test_all_groups_are_compared_of_the_same_rows(planner, goats):
    before = planner.plan("Is height higher with hay than with silage, only females?", goats).plan
    plan = planner.plan("all three diets now", goats, previous=before).plan
    assert step(plan, "filter_rows")["condition"] == "`sex` in ['female']"
    params = step(plan, "compare_groups")
    assert (params["value"], params["group"]) == ("height", "diet")
    assert not params.get("levels")


def test_groups_are_not_made_one(planner, goats, pair):
    with pytest.raises(PlanError, match="one group of hay and mixed"):
        planner.plan("combine hay and mixed", goats, previous=pair)


# ==== rows taken apart, together again, a step back ====


@pytest.mark.parametrize("question", ["per farm", "same for every farm seperately", "at each farm"])
def test_a_step_for_each_level(planner, goats, first, question):
    plan = planner.plan(question, goats, previous=first).plan
    conditions = [node.params["condition"] for node in plan.nodes if node.tool == "filter_rows"]
    assert sorted(conditions) == [f"`farm` in ['{farm}']" for farm in ("Alm", "Berg", "Tal")]
    whole = planner.plan("pool the farms", goats, previous=plan).plan
    assert tools(whole) == ["compare_groups"]


def test_all_rows_again(planner, goats, first):
    females = planner.plan("only females", goats, previous=first).plan
    plan = planner.plan("back to all goats", goats, previous=females).plan
    assert "filter_rows" not in tools(plan)
    assert step(plan, "compare_groups") == step(first, "compare_groups")


def test_steps_back_one_after_the_other(planner, goats, first):
    plans = [first]
    for question in ("only females", "and without Berg", "undo that", "undo that please"):
        plans.append(planner.plan(question, goats, previous=plans[-1], earlier=plans[-2::-1]).plan)
    assert plans[3].nodes == plans[1].nodes
    assert plans[4].nodes == first.nodes
    with pytest.raises(PlanError, match="Nothing stands before"):
        planner.plan("undo that", goats, previous=plans[4], earlier=plans[3::-1])


def test_a_slip_of_the_pen_is_put_right_where_no_column_is_meant(planner, counts):
    before = planner.plan("Which genes change between drug and control?", counts).plan
    plan = planner.plan("show a hetamap of the top 5", counts, previous=before).plan
    assert "expression_heatmap" in tools(plan)


@pytest.mark.parametrize(
    ("question", "condition"),
    [
        ("without 2021 data", "`born` not in [2021]"),
        ("only the over 7s", "`age` > 7"),
        ("only 2022", "`born` in [2022]"),
    ],
)
def test_a_number_alone_is_a_value_where_one_column_has_it_or_an_age(planner, goats, tmp_path, question, condition):
    table = pd.read_csv(goats[0].path).assign(born=[2020, 2021, 2022] * 40)
    table.to_csv(tmp_path / "born.csv", index=False)
    born = profile_files([tmp_path / "born.csv"])
    before = planner.plan(FIRST, born).plan
    assert step(planner.plan(question, born, previous=before).plan, "filter_rows")["condition"] == condition


@pytest.mark.parametrize("question", ["adjust it for age", "and take account of age"])
def test_what_is_held_constant_is_said_in_other_words(planner, goats, first, question):
    plan = planner.plan(question, goats, previous=first).plan
    assert "age" in step(plan, "linear_regression")["predictors"]
    assert "held constant: age" in plan.follows


def test_a_correlation_held_constant_is_a_partial_one(planner, goats):
    before = planner.plan("Is height correlated with age?", goats).plan
    plan = planner.plan("also adjust it for weight", goats, previous=before).plan
    params = step(plan, "partial_correlation")
    assert ({params["x"], params["y"]}, params["held"]) == ({"height", "age"}, ["weight"])


def test_a_word_of_leaving_out_asks_for_no_other_analysis_and_no_row_step_is_set(planner, goats, first):
    plan = planner.plan("skip silage", goats, previous=first).plan
    assert [chosen.id for chosen in plan.analysis] == ["compare_groups"]
    assert "only" in plan.follows or "without" in plan.follows
    females = planner.plan("only females", goats, previous=first).plan
    with pytest.raises(PlanError):
        planner.plan("which group is the lowest?", goats, previous=females)


def test_the_logarithm_of_another_column_is_not_that_of_the_measure(planner, goats, first):
    with pytest.raises(PlanError):
        planner.plan("with log height", goats, previous=first)


def test_every_analysis_before_stays_or_the_follow_up_is_refused(planner, goats):
    both = planner.plan("Does height differ between the diets? And is height correlated with age?", goats).plan
    assert len({*tools(both)}) == 2
    try:
        plan = planner.plan("split by sex please", goats, previous=both).plan
    except PlanError:
        return
    assert {*tools(both)} <= {*tools(plan)} or any(q.blocking for q in plan.open_questions)


@pytest.mark.parametrize("question", ["and height?", "height?", "what about height"])
def test_a_column_named_barely_takes_the_place_of_the_measure(planner, goats, first, question):
    plan = planner.plan(question, goats, previous=first).plan
    assert (step(plan, "compare_groups")["value"], step(plan, "compare_groups")["group"]) == ("height", "diet")


def test_a_question_about_a_column_puts_it_in_no_place(planner, goats, first):
    plan = planner.plan("is there a trend with age too?", goats, previous=first).plan
    assert "in place of" not in plan.follows


def test_a_picture_along_a_column_takes_all_its_values(planner, tmp_path):
    table = pd.DataFrame({"animal": [f"a{k}" for k in range(30)] * 3, "day": np.repeat([7, 14, 21], 30)})
    table["arm"] = ["drug", "control"] * 45
    table["volume"] = (table.day * 20 + RNG.normal(0, 9, 90)).round(1)
    table.to_csv(tmp_path / "mice.csv", index=False)
    mice = profile_files([tmp_path / "mice.csv"])
    before = planner.plan("Is volume on day 14 smaller with drug than with control?", mice).plan
    assert "`day` in [14]" in step(before, "filter_rows")["condition"]
    plan = planner.plan("plot that over time", mice, previous=before).plan
    assert tools(plan) == ["line_plot"]
    assert {"value": "volume", "x": "day", "group": "arm"}.items() <= step(plan, "line_plot").items()
    assert "all values of day" in plan.follows


@pytest.mark.parametrize("question", ["hmm undo", "blah blah instead", "please zebra that"])
def test_words_that_ask_for_nothing_plan_no_neighbour(planner, goats, first, question):
    with pytest.raises(PlanError):
        planner.plan(question, goats, previous=first)


@pytest.fixture(scope="module")
def counts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("counts")
    samples = [f"S{k}" for k in range(1, 9)]
    genes = pd.Index([f"GENE{k}" for k in range(60)], name="gene")
    pd.DataFrame(RNG.poisson(50, (60, 8)), index=genes, columns=pd.Index(samples)).to_csv(folder / "counts.csv")
    arms = pd.DataFrame({"sample": samples, "arm": ["drug", "control"] * 4})
    arms.to_csv(folder / "samples.csv", index=False)
    return profile_files([folder / "counts.csv", folder / "samples.csv"])


def test_a_step_of_the_plan_before_is_changed_and_the_others_stay(planner, counts):
    before = planner.plan("Which genes change between drug and control?", counts).plan
    plan = planner.plan("only top 10 genes in the heatmap", counts, previous=before).plan
    assert tools(plan) == tools(before)
    assert step(plan, "expression_heatmap")["top_n"] == 10
    strict = planner.plan("please with threshold 0.01 instead of 0.05", counts, previous=before).plan
    assert tools(strict) == tools(before)
    assert step(strict, "differential_expression")["alpha"] == 0.01


def test_rows_that_no_step_can_keep_are_refused(planner, counts):
    before = planner.plan("Which genes change between drug and control?", counts).plan
    with pytest.raises(PlanError):
        planner.plan("repeat with only the control samples", counts, previous=before)


def test_samples_of_a_matrix_are_left_out_by_name_or_refused(planner, counts):
    before = planner.plan("Which genes change between drug and control?", counts).plan
    plan = planner.plan("leave out S3, it is an outlier", counts, previous=before).plan
    assert plan.nodes[0].params["condition"].endswith("not in ['S3']")
    with pytest.raises(PlanError, match="S33"):
        planner.plan("leave out S33, it is an outlier", counts, previous=before)


def test_samples_are_not_left_out_where_one_group_would_be_left(planner, counts):
    before = planner.plan("Which genes change between drug and control?", counts).plan
    with pytest.raises(PlanError, match=r"one group of 'arm' \('drug'\)"):
        planner.plan("without the control samples", counts, previous=before)


def test_a_reference_is_refused_where_no_step_has_one(planner, tmp_path):
    rows = "".join(f"p{k},{'abc'[k % 3]},{10 + k * 37 % 900},{int(k % 4 > 0)}\n" for k in range(90))
    (tmp_path / "trial.csv").write_text("patient,stage,time,death\n" + rows)
    trial = profile_files([tmp_path / "trial.csv"])
    before = planner.plan("Does survival differ between the stages?", trial).plan
    with pytest.raises(PlanError, match="has a reference"):
        planner.plan("use stage a as the reference", trial, previous=before)


# ==== what could be asked ====


def test_suggestions_plan_as_they_stand(planner, goats):
    offered = planner.suggest(goats)
    assert len(offered) == 3
    for question in offered:
        plan = planner.plan(question, goats).plan
        assert not any(q.required or q.blocking for q in plan.open_questions)
        assert plan.not_answered == []


def test_suggestions_after_an_answer_go_on_from_it(planner, goats, first):
    offered = planner.suggest(goats, first)
    assert len(offered) == 3
    for question in offered:
        plan = planner.plan(question, goats, previous=first).plan
        assert plan.follows
        assert not any(q.required or q.blocking for q in plan.open_questions)


SMALL = {
    "one measure": {"length": RNG.normal(5, 1, 40).round(2)},
    "two measures": {"length": RNG.normal(5, 1, 40).round(2), "width": RNG.normal(3, 1, 40).round(2)},
    "a group and a measure": {"strain": ["Ler", "Col"] * 20, "yield": RNG.normal(5, 1, 40).round(2)},
    "ends": {"months": RNG.integers(1, 60, 40), "dead": [0, 1] * 20, "arm": ["a"] * 20 + ["b"] * 20},
    "animals over time": {
        "goat": [f"g{n // 5}" for n in range(40)], "day": [0, 1, 2, 3, 4] * 8, "weight": RNG.normal(60, 8, 40).round(1)
    },
}  # fmt: skip
"""Tables as small as they come."""


@pytest.mark.parametrize("columns", SMALL.values(), ids=SMALL)
def test_three_questions_are_offered_for_a_simple_table_and_after_its_answer(planner, tmp_path, columns):
    pd.DataFrame(columns).to_csv(tmp_path / "table.csv", index=False)
    profiles = profile_files([tmp_path / "table.csv"])
    offered = planner.suggest(profiles)
    assert len({*offered}) == 3
    before = planner.plan(offered[0], profiles).plan
    onward = planner.suggest(profiles, before)
    assert len({*onward}) == 3
    assert offered[0] not in onward
    for question in onward:
        plan = planner.plan(question, profiles, previous=before).plan
        assert not any(q.required or q.blocking for q in plan.open_questions)


ALONG = {
    "doses": {"agent": ["A"] * 24 + ["B"] * 24, "conc_uM": [0, 1, 3, 10, 30, 100] * 8},
    "few doses": {"strain": ["Ler", "Col"] * 24, "dose_mg": [1, 1, 2, 2, 4, 4] * 8},
    "weeks of animals": {
        "mouse": [f"no{n // 6}" for n in range(48)], "diet": ["hay"] * 24 + ["oats"] * 24, "week": [*range(6)] * 8
    },
}  # fmt: skip
"""What an outcome may run along, with groups beside it."""


@pytest.mark.parametrize("columns", ALONG.values(), ids=ALONG)
def test_groups_are_not_compared_over_all_doses_or_times(planner, tmp_path, columns):
    path = tmp_path / "table.csv"
    pd.DataFrame({**columns, "weight": RNG.normal(50, 6, 48).round(1)}).to_csv(path, index=False)
    profiles = profile_files([path])
    offered = planner.suggest(profiles)
    group, along = (name for name in columns if name != "mouse")
    assert any(along in question for question in offered), offered
    assert not any(group in question and "weight" in question and along not in question for question in offered)
    assert not any("EC50" in question for question in offered) or len({*columns[along]}) >= 5


def test_nothing_is_suggested_for_files_that_cannot_be_used(planner, tmp_path):
    (tmp_path / "note.bin").write_bytes(bytes(range(256)))
    assert planner.suggest(profile_files([tmp_path / "note.bin"])) == []


# ==== a reference that a person had set ====


def with_reference(planner, goats, level: str) -> TaskDag:
    """Return the plan of a comparison whose reference a person chose after seeing it."""
    registry, chosen = builtin_tools(), {"compare_groups": {"control": level}}
    question = "Is the weight of males higher than that of females?"
    again = planner.plan(question, goats, chosen=chosen).plan
    return kept_by_hand(planner.plan(question, goats).plan, again, chosen, registry)


@pytest.mark.parametrize(
    ("question", "treated", "control"),
    [
        ("and by farm?", "female", "male"),
        ("only the Alm", "female", "male"),
        ("the same for height", "female", "male"),
        ("the other way round", "male", "female"),
    ],
)
def test_a_reference_set_by_hand_is_carried_with_its_other_side(planner, goats, question, treated, control):
    before = with_reference(planner, goats, "male")
    plan = planner.plan(question, goats, previous=before).plan
    compared = [node for node in plan.nodes if node.tool == "compare_groups"]
    assert compared
    for node in compared:
        assert (node.params["treated"], node.params["control"]) == (treated, control)
        assert not any("'male' with 'female'" in reason for reason in node.reasons) or treated == "male"
        assert node.name.endswith(f"{treated} against {control}")


def test_a_level_set_against_itself_is_no_plan_to_run(planner, goats):
    plan = planner.plan("Is the weight of males higher than that of females?", goats).plan
    nodes = [n.model_copy(update={"params": {**n.params, "treated": n.params["control"]}}) for n in plan.nodes]
    assert "same_level" in {i.code for i in check_plan(plan.model_copy(update={"nodes": nodes}), builtin_tools())}


# ==== a remark that few rows have ====


@pytest.mark.parametrize(
    ("question", "rows"),
    [("without the lame ones", 36), ("leave out lame samples", 36), ("only the lame ones", 4)],
)
def test_rows_of_the_one_value_of_a_column_are_told_from_those_without(planner, tmp_path, question, rows):
    n = 40
    table = pd.DataFrame(
        {
            "goat": range(1, n + 1),
            "diet": ["hay", "silage"] * (n // 2),
            "weight": RNG.normal(60, 8, n).round(1),
            "note": ["lame" if at % 10 == at // 10 else "" for at in range(n)],
        }
    )
    table.to_csv(tmp_path / "goats.csv", index=False)
    files = profile_files([tmp_path / "goats.csv"])
    before = planner.plan("Is the weight higher with hay than with silage?", files).plan
    plan = planner.plan(question, files, previous=before).plan
    assert plan.not_answered == []
    condition = step(plan, "filter_rows")["condition"]
    kept = filter_rows(pd.read_csv(tmp_path / "goats.csv"), condition=condition)["filtered"]
    lame = table["note"] == "lame"
    assert sorted(kept["goat"]) == sorted(table["goat"][lame if question.startswith("only") else ~lame])
    assert len(kept) == rows
    assert step(plan, "compare_groups")["value"] == "weight"


# ==== the genes a fold is relative to ====


@pytest.fixture(scope="module")
def plate(tmp_path_factory):
    rows = [(f"A{s + 1}", f"S{s}", ("milk", "hay")[s % 2], gene, 20 + RNG.normal())
            for s in range(8) for gene in ("GAPDH", "ACTB", "IL6", "TNF")]  # fmt: skip
    path = tmp_path_factory.mktemp("plate") / "plate.csv"
    pd.DataFrame(rows, columns=["Well", "Sample", "feed", "Target", "Ct"]).to_csv(path, index=False)
    return profile_files([path])


@pytest.mark.parametrize(
    ("question", "references"),
    [
        ("use actb as well as reference", ["GAPDH", "ACTB"]),
        ("take ACTB as an additional reference gene", ["GAPDH", "ACTB"]),
        ("use ACTB as the reference gene", ["ACTB"]),
    ],
)
def test_reference_genes_are_added_or_changed(planner, plate, question, references):
    before = planner.plan("ddCt: fold change of hay vs milk, relative to GAPDH", plate).plan
    assert step(before, "qpcr_relative")["references"] == ["GAPDH"]
    plan = planner.plan(question, plate, previous=before).plan
    assert tools(plan) == tools(before)
    assert step(plan, "qpcr_relative") == step(before, "qpcr_relative") | {"references": references}


def test_to_references_that_a_step_recognises_nothing_is_added_unseen(planner, plate):
    before = planner.plan("ddCt: fold change of hay vs milk", plate).plan
    assert "references" not in step(before, "qpcr_relative")
    with pytest.raises(PlanError):
        planner.plan("use ACTB as well as reference", plate, previous=before)


def test_as_well_names_no_column(planner, plate):
    before = planner.plan("ddCt: fold change of hay vs milk, relative to GAPDH", plate).plan
    plan = planner.plan("leave out well A1 as well", plate, previous=before).plan
    assert step(plan, "filter_rows")["condition"] == "`Well` not in ['A1']"
    with pytest.raises(PlanError, match="TNF"):
        planner.plan("and TNF as well", plate, previous=before)


# ==== what the question before asked and nothing answers ====


def test_a_request_that_was_refused_is_not_lost_by_going_on(planner, goats, first):
    refused = "Regression of counts: The question names no column for the counted outcome."
    column = "'age' is named in the question and has no part in this plan."
    before = first.model_copy(update={"not_answered": [refused, column]})
    plan = planner.plan("and for females only", goats, previous=before).plan
    assert refused in plan.not_answered
    assert column not in plan.not_answered  # of columns each plan says itself
    again = planner.plan("only older than 4", goats, previous=plan).plan
    assert again.not_answered.count(refused) == 1
    fresh = planner.plan("Does height correlate with weight?", goats, previous=before).plan
    assert refused not in fresh.not_answered


def test_a_rank_test_can_be_asked_for_in_these_words(planner, tmp_path):
    rows = "".join(f"d{k},{20 + k * 37 % 90},{30 + k * 53 % 120},{'ab'[k % 2]}\n" for k in range(24))
    (tmp_path / "il6.csv").write_text("donor,IL6_unstim,IL6_LPS,arm\n" + rows)
    profiles = profile_files([tmp_path / "il6.csv"])
    for question, test in (
        ("does IL6_LPS differ from IL6_unstim in the same donors?", "wilcoxon"),
        ("is IL6_LPS different between the arms?", "ranks"),
    ):
        before = planner.plan(question, profiles).plan
        plan = planner.plan("use a rank test instead", profiles, previous=before).plan
        assert ([node.tool for node in plan.nodes], plan.nodes[-1].params["test"]) == (
            [node.tool for node in before.nodes],
            test,
        )
