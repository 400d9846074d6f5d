"""Goals that somebody else read from a question: what fits becomes the plan that rules would bind, what does not is named."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from growth_data import write_growth

from engine.data.profiler import profile_file
from engine.errors import PlanError
from engine.planning.planner import Planner
from engine.planning.told.goals import ToldColumn, ToldGoal, ToldPlan, ToldRows, ToldWords
from engine.toolbox.registry import builtin_tools

QUESTION = "Wachsen die behandelten Pflanzen unter 55 cm schneller?"
GOAL = ToldGoal(
    analysis="compare_groups",
    tool="compare_groups",
    params={"value": "growth", "group": "treatment", "treated": "treated", "control": "control"},
    rows=[ToldRows(column="height", op="<", values=[55])],
)


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    profile = profile_file(write_growth(tmp_path_factory.mktemp("told") / "growth.csv"))
    planner = Planner(builtin_tools())
    return lambda told, question=QUESTION: planner.plan_told(question, [profile], told).plan


def changed(**values):
    return ToldPlan(goals=[GOAL.model_copy(update=values)])


def test_told_goals_are_bound_with_rows_first(planned):
    plan = planned(ToldPlan(goals=[GOAL]))
    rows, answer = (
        next(n for n in plan.nodes if n.tool == "filter_rows"),
        next(n for n in plan.nodes if n.priority == 2),
    )
    assert rows.params["condition"] == "`height` < 55"
    assert answer.inputs == {"table": f"{rows.id}.filtered"}
    assert {key: answer.params[key] for key in GOAL.params} == GOAL.params
    assert [chosen.id for chosen in plan.analysis] == ["compare_groups"]
    assert not plan.unanswered()


def test_words_that_no_goal_quotes_are_shown_as_left_aside(planned):
    quoted = [ToldWords(words="unter 55 cm", means="restriction", value="height < 55")]
    plan = planned(ToldPlan(goals=[GOAL], words=quoted))
    taken = {span.text: span.taken_as for span in plan.understood}
    assert taken["unter 55 cm"] == "restriction"
    assert taken["Pflanzen"] == "unused"
    (asked,) = [question for question in plan.open_questions if question.id == "unused_words"]
    assert "'Pflanzen'" in asked.text
    assert "'cm'" not in asked.text


def test_a_column_that_is_computed_is_made_before_it_is_used(planned):
    tall = ToldColumn(name="tall", formula="if_else(`height` > 50, 'tall', 'short')")
    goal = ToldGoal(
        analysis="compare_groups",
        tool="compare_groups",
        params={"value": "growth", "group": "tall", "treated": "tall", "control": "short"},
    )
    plan = planned(ToldPlan(goals=[goal], columns=[tall]))
    made, answer = plan.order()[0], next(n for n in plan.nodes if n.priority == 2)
    assert made.params == {"name": "tall", "expression": tall.formula}
    assert answer.inputs["table"] == f"{made.id}.derived"


def test_a_column_computed_from_a_computed_column_stands_on_its_own(planned):
    rate = ToldColumn(name="rate", formula="growth / `height`")
    fast = ToldColumn(name="fast", formula="if_else(rate > 0.2, 'rate', 'no') ")
    goal = ToldGoal(
        analysis="compare_groups",
        tool="compare_groups",
        params={"value": "growth", "group": "fast", "treated": "rate", "control": "no"},
    )
    plan = planned(ToldPlan(goals=[goal], columns=[rate, fast]))
    (made,) = [node for node in plan.nodes if node.tool == "derive_column"]
    assert made.params["expression"] == "if_else((growth / `height`) > 0.2, 'rate', 'no') "


@pytest.mark.parametrize(
    ("told", "says"),
    [
        (changed(analysis="compare_survival"), "There is no analysis 'compare_survival'"),
        (changed(tool="t_test"), "There is no tool 't_test'"),
        (changed(tool="correlation"), "correlation does not answer 'compare_groups'; "),
        (changed(params={"outcome": "growth"}), "has no parameter 'outcome'"),
        (changed(params={"value": "grwth"}), "there is no column 'grwth'. Is one of these meant: 'growth'"),
        (changed(params={**GOAL.params, "treated": "Treated"}), "has no value 'Treated'; it has "),
        (changed(params={**GOAL.params, "test": "anova2"}), "must be one of auto"),
        (changed(params={**GOAL.params, "value": ["growth"]}), "must be a text"),
        (changed(rows=[ToldRows(column="site", values=["a"])]), "Rows: there is no column 'site'"),
        (changed(rows=[ToldRows(column="treatment", values=["mock"])]), "has no value 'mock'"),
        (changed(rows=[ToldRows(column="height", op="<", values=["tall"])]), "takes one number"),
        (changed(rows=[ToldRows(column="height", op="between", values=[3])]), "takes two numbers"),
        (ToldPlan(goals=[GOAL], words=[ToldWords(words="Blumen", means="filler")]), "do not stand in the question"),
        (ToldPlan(goals=[GOAL], columns=[ToldColumn(name="x", formula="growth +")]), "cannot be computed"),
        (ToldPlan(goals=[GOAL], columns=[ToldColumn(name="x", formula="__import__('os') + growth")]), "cannot be computed"),
        (ToldPlan(), "There is no goal"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(planned, told, says):
    with pytest.raises(PlanError) as raised:
        planned(told)
    assert any(says in issue for issue in raised.value.details["issues"])


def test_an_analysis_that_the_data_do_not_meet_is_sent_back(tmp_path):
    rows = "\n".join(f"{rat},{day},{rat % 2},{rat + day}" for rat in range(1, 11) for day in range(4))
    path = tmp_path / "rats.csv"
    path.write_text(f"rat,day,drug,weight\n{rows}\n")
    told = ToldPlan(
        goals=[ToldGoal(analysis="compare_groups", tool="compare_groups", params={"value": "weight", "group": "drug"})]
    )
    with pytest.raises(PlanError) as raised:
        Planner(builtin_tools()).plan_told("Does the drug change weight?", [profile_file(path)], told)
    (issue,) = raised.value.details["issues"]
    assert "independent" in issue
    assert "mixed_model" in issue


def test_nothing_to_answer_is_said_in_the_words_that_were_told(planned):
    with pytest.raises(PlanError, match="No file holds sequences"):
        planned(ToldPlan(not_answered=["No file holds sequences."]))


def test_goals_that_differ_by_their_rows_or_settings_only_are_all_planned(planned):
    tall = GOAL.model_copy(update={"rows": [ToldRows(column="height", op=">=", values=[55])]})
    turned = GOAL.model_copy(update={"params": {**GOAL.params, "test": "welch_t"}})
    plan = planned(ToldPlan(goals=[GOAL, tall, turned, GOAL]))
    conditions = {f"{n.id}.filtered": n.params["condition"] for n in plan.nodes if n.tool == "filter_rows"}
    answers = [n for n in plan.nodes if n.priority == 2]
    assert [conditions[n.inputs["table"]] for n in answers] == ["`height` < 55", "`height` >= 55", "`height` < 55"]
    assert len({n.name for n in answers}) >= 2


def test_a_goal_about_all_rows_is_not_taken_for_one_about_some(planned):
    plan = planned(ToldPlan(goals=[GOAL, GOAL.model_copy(update={"rows": []})]))
    answers = [n for n in plan.nodes if n.priority == 2]
    assert [n.inputs["table"].startswith("data:") for n in answers] == [False, True]


@pytest.mark.parametrize(
    "params",
    [
        {"sort_by": "growth", "order": "descending", "top_n": 5},
        {"condition": "`height` > 50", "sort_by": "growth", "top_n": 5},
        {"condition": "`height` > 50"},
    ],
)
def test_rows_that_are_told_by_order_or_condition_need_no_words(planned, params):
    plan = planned(ToldPlan(goals=[ToldGoal(analysis="filter_rows", tool="filter_rows", params=params)]))
    (node,) = plan.nodes
    assert params.items() <= node.params.items()


def two_files(tmp_path, *, same="sample"):
    wells = [f"s{n % 8},{gene},{20 + n % 3 + 0.1 * n}" for n in range(16) for gene in ("IL6", "ACTB")]
    (tmp_path / "wells.csv").write_text("sample,target,signal\n" + "\n".join(wells) + "\n")
    listed = [f"s{n},{'lps' if n % 2 else 'none'}" for n in range(8)]
    (tmp_path / "samples.csv").write_text(f"{same},drug\n" + "\n".join(listed) + "\n")
    return [profile_file(tmp_path / name) for name in ("wells.csv", "samples.csv")]


BOTH = ToldGoal(
    analysis="compare_groups",
    tool="compare_groups",
    params={"value": "log_signal", "group": "drug", "treated": "lps", "control": "none"},
    rows=[ToldRows(column="target", values=["IL6"])],
)
LOG = ToldColumn(name="log_signal", formula="log2(signal)")


def test_a_goal_about_columns_of_two_files_joins_them_and_others_keep_theirs(tmp_path):
    counted = ToldGoal(analysis="describe_table", tool="summarize_table", params={"columns": ["drug"]})
    plan = (
        Planner(builtin_tools())
        .plan_told("Does lps raise IL6?", two_files(tmp_path), ToldPlan(goals=[BOTH, counted], columns=[LOG]))
        .plan
    )
    (join,) = [n for n in plan.nodes if n.tool == "join_tables"]
    answer, beside = (next(n for n in plan.nodes if n.tool == name) for name in ("compare_groups", "summarize_table"))
    assert sorted(join.inputs.values()) == ["data:samples.csv", "data:wells.csv"]
    assert answer.id in plan.descendants(join.id)
    assert beside.inputs == {"table": "data:samples.csv"}


def test_files_that_do_not_belong_together_are_not_joined_and_it_is_said(tmp_path):
    with pytest.raises(PlanError) as raised:
        Planner(builtin_tools()).plan_told(
            "Does lps raise IL6?", two_files(tmp_path, same="name"), ToldPlan(goals=[BOTH], columns=[LOG])
        )
    (issue,) = raised.value.details["issues"]
    assert "'signal', 'target' of wells.csv and 'drug' of samples.csv" in issue
    assert "cannot be joined" in issue


def test_at_last_a_setting_that_does_not_fit_is_left_out_and_said(planned, tmp_path_factory):
    profile = profile_file(write_growth(tmp_path_factory.mktemp("last") / "growth.csv"))
    told = changed(params={**GOAL.params, "top_n": 3, "test": "anova2"})
    with pytest.raises(PlanError, match="has no parameter 'top_n'"):
        planned(told)
    plan = Planner(builtin_tools()).plan_told(QUESTION, [profile], told, last=True).plan
    assert [text for text in plan.warnings if "top_n = 3" in text]
    assert [text for text in plan.warnings if "test = 'anova2'" in text]
    named = changed(params={"outcome": "growth", "group": "treatment"})  # what is measured is no setting to give up
    with pytest.raises(PlanError, match="has no parameter 'outcome'"):
        Planner(builtin_tools()).plan_told(QUESTION, [profile], named, last=True)


def test_every_formula_that_cannot_be_computed_is_named(planned):
    columns = [ToldColumn(name="x", formula="growth + sort(height)"), ToldColumn(name="y", formula="log2(treatment)")]
    with pytest.raises(PlanError) as raised:
        planned(ToldPlan(goals=[GOAL], columns=columns))
    assert len(raised.value.details["issues"]) == 2


def test_the_same_rows_are_kept_of_the_table_that_has_the_columns_of_each_goal(planned):
    tall = ToldColumn(name="tall", formula="if_else(`height` > 50, 'tall', 'short')")
    second = {"value": "growth", "group": "tall", "treated": "tall", "control": "short"}
    plan = planned(ToldPlan(goals=[GOAL, GOAL.model_copy(update={"params": second})], columns=[tall]))
    (made,) = [n for n in plan.nodes if n.tool == "derive_column"]
    answers = {n.params["group"]: n.id for n in plan.nodes if n.priority == 2}
    assert answers["tall"] in plan.descendants(made.id)
    assert answers["treatment"] not in plan.descendants(made.id)


def wells(folder):
    """Write 20 samples measured twice for each of two analytes, of which one is low more often."""
    rows = [(f"S{at}", name, at + by) for at in range(20) for name, by in (("BAFF", 0), ("IL6", 10)) for _ in "ab"]
    pd.DataFrame(rows, columns=["sample", "analyte", "conc"]).to_csv(folder / "wells.csv", index=False)
    return [profile_file(folder / "wells.csv")]


def kept_by(plan, folder):
    """Run the steps of a plan that keep rows or add a column; return answering step -> how many rows it keeps."""
    from engine.toolbox.tables.handling import derive_column, filter_rows

    run = {"filter_rows": (filter_rows, "filtered"), "derive_column": (derive_column, "derived")}
    made, kept = {"data:wells.csv": pd.read_csv(folder / "wells.csv")}, {}
    for node in plan.nodes:
        function, output = run[node.tool]
        made[f"{node.id}.{output}"] = table = function(made[node.inputs["table"]], **node.params)[output]
        if node.priority == 2:
            kept[node.name.rpartition(": ")[2]] = len(table)
    return kept


LOW = ToldColumn(name="low", formula="if_else(conc < 15, 'yes', 'no')")
BOTH_LOW = {"by": "sample", "aggregate": "sum", "condition": "rows == 2"}


def test_goals_that_keep_rows_of_their_own_condition_keep_the_rows_they_are_about(tmp_path):
    """The rows were lost, and each of several such goals was one step on the whole table."""
    goals = [
        ToldGoal(tool="filter_rows", params=BOTH_LOW,
                 rows=[ToldRows(column="low", values=["yes"]), ToldRows(column="analyte", values=[name])])
        for name in ("BAFF", "IL6")
    ]  # fmt: skip
    plan = (
        Planner(builtin_tools())
        .plan_told("how many are low", wells(tmp_path), ToldPlan(goals=goals, columns=[LOW]))
        .plan
    )
    assert kept_by(plan, tmp_path) == {"low is yes and analyte is BAFF": 15, "low is yes and analyte is IL6": 5}
    assert not [text for text in plan.warnings if "p-values" in text], "keeping rows tests nothing"


def test_a_condition_beside_rows_is_held_on_these_rows_and_one_alone_is_one_step(tmp_path):
    rows = [ToldRows(column="analyte", values=["IL6"])]
    below = ToldGoal(tool="filter_rows", params={"condition": "low == 'yes'"}, rows=rows)
    alone = ToldGoal(tool="filter_rows", rows=rows)
    for goal, kept, tools in ((below, 10, 3), (alone, 40, 1)):
        told = ToldPlan(goals=[goal], columns=[LOW])
        plan = Planner(builtin_tools()).plan_told("how many are low", wells(tmp_path), told).plan
        assert len(plan.nodes) == tools
        assert [*kept_by(plan, tmp_path).values()] == [kept]


def test_a_condition_that_a_person_chose_stands_in_place_of_the_rows_that_were_told(tmp_path):
    goal = ToldGoal(tool="filter_rows", rows=[ToldRows(column="analyte", values=["IL6"])])
    chosen = {"filter_rows": {"condition": "analyte == 'BAFF' and conc < 3"}}
    planner = Planner(builtin_tools())
    plan = planner.plan_told("how many are low", wells(tmp_path), ToldPlan(goals=[goal]), chosen).plan
    assert [*kept_by(plan, tmp_path).values()] == [6]


@pytest.fixture(scope="module")
def trial(tmp_path_factory):
    """A field trial: plots in blocks, each of which has every variety."""
    path = tmp_path_factory.mktemp("trial") / "plots.csv"
    plots = [(block, (block + at) % 4, cut) for block in range(6) for at in range(4) for cut in range(3)]
    names = ("Alba", "Karo", "Rita", "Vilma")
    rows = [
        f"{at},{'ABCDEF'[block]},{names[variety]},{cut + 1},{70 + 2 * block + at * 7 % 9}"
        for at, (block, variety, cut) in enumerate(plots)
    ]
    path.write_text("plot,block,variety,cv,yield_kg\n" + "\n".join(rows) + "\n")
    return profile_file(path)


@pytest.mark.parametrize(
    ("analysis", "params"),
    [
        ("repeated_measures", {"value": "yield_kg", "within": "variety"}),
        ("mixed_model", {"outcome": "yield_kg", "fixed": ["variety"]}),
    ],
)
def test_a_block_that_holds_what_is_compared_may_be_told_as_the_subject(trial, analysis, params):
    goal = ToldGoal(analysis=analysis, tool=analysis, params={**params, "subject": "block"})
    plan = Planner(builtin_tools()).plan_told("which variety yields most", [trial], ToldPlan(goals=[goal])).plan
    assert plan.nodes[-1].params["subject"] == "block"


def test_what_has_one_row_each_is_not_told_as_the_subject(trial):
    params = {"value": "yield_kg", "within": "variety", "subject": "plot"}
    goal = ToldGoal(analysis="repeated_measures", tool="repeated_measures", params=params)
    with pytest.raises(PlanError, match="pairs exist"):
        Planner(builtin_tools()).plan_told("which yields most", [trial], ToldPlan(goals=[goal]))


def test_rows_that_are_told_of_a_step_on_a_matrix_are_kept_in_its_list_of_samples(tmp_path):
    chance = np.random.default_rng(2)
    samples = [f"S{n:02d}" for n in range(12)]
    values = pd.DataFrame(2 ** chance.normal(20, 2, (80, 12)), columns=samples).round()
    values.insert(0, "feature", [f"F{n:03d}" for n in range(80)])
    values.to_csv(tmp_path / "areas.csv", index=False)
    sheet = pd.DataFrame({"sample": samples, "arm": ["A", "B", "none"] * 4})
    sheet.to_csv(tmp_path / "sheet.csv", index=False)
    goal = ToldGoal(analysis="sample_pca", tool="sample_pca", rows=[ToldRows(column="arm", values=["A", "B"])])
    profiles = [profile_file(tmp_path / "areas.csv"), profile_file(tmp_path / "sheet.csv")]
    plan = Planner(builtin_tools()).plan_told("do A and B separate?", profiles, ToldPlan(goals=[goal])).plan
    assert [n.tool for n in plan.order()] == ["filter_rows", "keep_samples_of_intensities", "sample_pca"]
    assert plan.order()[0].params["condition"] == "`arm` in ['A', 'B']"


@pytest.mark.parametrize("rows", [[], [ToldRows(column="cohort", values=["c1"])]])
def test_times_to_an_event_that_is_computed_first_are_survival_data(tmp_path, rows):
    random = np.random.default_rng(1)
    frame = pd.DataFrame({
        "mouse": [f"m{at}" for at in range(60)], "cohort": ["c1", "c2"] * 30, "arm": ["veh", "TRX", "both"] * 20,
        "day_end": random.exponential(30, 60).round() + 5, "fate": random.choice(list("DEAX"), 60),
    })  # fmt: skip
    frame.to_csv(tmp_path / "mice.csv", index=False)
    profile, planner = profile_file(tmp_path / "mice.csv"), Planner(builtin_tools())
    assert planner.able([profile])(builtin_tools().get("log_rank")), "a reader may name the columns"
    goal = ToldGoal(tool="log_rank", params={"time": "day_end", "event": "died", "group": "arm"}, rows=rows)
    died = ToldColumn(name="died", formula="fate == 'D'")
    plan = planner.plan_told("Do mice on TRX live longer?", [profile], ToldPlan(goals=[goal], columns=[died])).plan
    made, *kept = [node for node in plan.order() if node.tool in ("derive_column", "filter_rows")]
    assert (made.tool, made.params["expression"], len(kept)) == ("derive_column", "fate == 'D'", len(rows))
    (answer,) = [node for node in plan.nodes if node.tool == "log_rank"]
    assert answer.inputs == {"survival": f"{kept[0].id}.filtered" if rows else f"{made.id}.derived"}
    nameless = goal.model_copy(update={"params": {"time": "day_end", "event": "no_such"}})
    with pytest.raises(PlanError):
        planner.plan_told("Do mice on TRX live longer?", [profile], ToldPlan(goals=[nameless]))


def test_a_change_from_a_subjects_first_visit_is_computed_of_all_rows_before_rows_are_kept(tmp_path):
    rows = [
        (f"m{m}_d{day}", "drug" if m % 2 else "veh", day, 20 + m + day / (3 + m % 2))
        for m in range(16)
        for day in (0, 7)
    ]
    pd.DataFrame(rows, columns=["id", "arm", "day", "weight"]).to_csv(tmp_path / "mice.csv", index=False)
    columns = [
        ToldColumn(name="mouse", formula="part(id, '_', 1)"),
        ToldColumn(name="gain", formula="weight - mean_of(weight, day == 0, mouse)"),
    ]
    params = {"value": "gain", "group": "arm", "treated": "drug", "control": "veh"}
    goal = ToldGoal(tool="compare_groups", params=params, rows=[ToldRows(column="day", values=[7])])
    told = ToldPlan(goals=[goal], columns=columns)
    plan = Planner(builtin_tools()).plan_told("Did they gain more?", [profile_file(tmp_path / "mice.csv")], told).plan
    assert [node.tool for node in plan.order()][:3] == ["derive_column", "filter_rows", "compare_groups"]
    assert plan.order()[0].params["expression"] == "weight - mean_of(weight, day == 0, (part(id, '_', 1)))"


def test_rows_of_one_visit_are_independent_though_not_everybody_came_to_all(tmp_path):
    random = np.random.default_rng(3)
    visits = [
        (f"P{p:02d}", visit, f"{1 + p % 28:02d}.0{1 + at}.2022")
        for p in range(40)
        for at, visit in enumerate(("V0", "V3", "V6"))
        if at == 0 or (p + at) % 5
    ]
    frame = pd.DataFrame(visits, columns=["patient", "visit", "date"]).assign(hba1c=random.normal(7, 1, len(visits)))
    frame.to_csv(tmp_path / "visits.csv", index=False)
    listed = pd.DataFrame(
        {
            "patient": [f"P{p:02d}" for p in range(40)],
            "type": [1 + p % 2 for p in range(40)],
            "age": random.integers(20, 80, 40),
        }
    )
    listed.to_csv(tmp_path / "patients.csv", index=False)
    profiles = [profile_file(tmp_path / "visits.csv"), profile_file(tmp_path / "patients.csv")]
    goal = ToldGoal(tool="linear_regression", params={"outcome": "hba1c", "predictors": ["type", "age"], "categorical": ["type"]},
                    rows=[ToldRows(column="visit", values=["V0"])])  # fmt: skip
    planner = Planner(builtin_tools())
    plan = planner.plan_told("Is it higher in type 1 at the beginning?", profiles, ToldPlan(goals=[goal])).plan
    assert [node.tool for node in plan.order()] == ["join_tables", "filter_rows", "linear_regression"]
    both = goal.model_copy(update={"rows": [ToldRows(column="visit", values=["V0", "V3"])]})
    with pytest.raises(PlanError, match="independent"):
        planner.plan_told("Is it higher in type 1 at the beginning?", profiles, ToldPlan(goals=[both]))


def test_the_samples_of_a_matrix_are_compared_by_a_column_that_is_computed_of_their_list(tmp_path):
    random, samples = np.random.default_rng(5), [f"S{at:02d}" for at in range(12)]
    counts = pd.DataFrame(random.poisson(80, (60, 12)), columns=samples, index=[f"GENE{at}" for at in range(60)])
    counts.to_csv(tmp_path / "counts.csv", index_label="gene")
    sheet = pd.DataFrame({"sample": samples, "arm": ["A", "B"] * 6, "visit": ["V1"] * 6 + ["V2"] * 6})
    sheet.to_csv(tmp_path / "samples.csv", index=False)
    profiles = [profile_file(tmp_path / "counts.csv"), profile_file(tmp_path / "samples.csv")]
    params = {"condition": "arm_visit", "treated": "A_V2", "control": "A_V1"}
    goal = ToldGoal(tool="differential_expression", params=params)
    both = ToldColumn(name="arm_visit", formula="join(arm, visit, '_')")
    told = ToldPlan(goals=[goal], columns=[both])
    plan = Planner(builtin_tools()).plan_told("Which genes change in A?", profiles, told).plan
    steps = {n.tool: n for n in plan.nodes}
    made, kept, answer = (steps[name] for name in ("derive_column", "keep_samples", "differential_expression"))
    assert kept.inputs["table"].startswith(f"{made.id}.")
    assert answer.inputs == {"counts": f"{kept.id}.kept", "samples": f"{kept.id}.samples"}
    assert {answer.params["treated"], answer.params["control"]} == {"A_V2", "A_V1"}
