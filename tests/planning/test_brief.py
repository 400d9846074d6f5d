"""What a plan says of itself before it runs, and that a part chosen by hand goes before the words of the question."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from engine.api import open_engine
from engine.asking.choices import goes_alone, set_for_goal
from engine.domain.plan import Chosen, TaskDag, TaskNode
from engine.planning.reading.contrast import why_reference
from engine.planning.telling import rows_used
from engine.planning.telling.kept import kept_rows
from engine.planning.telling.methods import method_told
from engine.toolbox.registry import builtin_tools
from engine.toolbox.statistics.groups import compare_groups

ROWS = "pid,sex,age,arm,days,status,ferritin\n" + "\n".join(
    f"{i},{'fm'[i % 2]},{40 + i * 7 % 31},{'drug' if i % 3 else 'placebo'},{30 + i * 37 % 400},{1 + (i * 5 % 3 > 0)},{20 + i * 13 % 90}.5"
    for i in range(1, 91)
)


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    with open_engine(workspace=tmp_path_factory.mktemp("w"), warm_workers=False, embedding_model="none") as opened:
        yield opened


@pytest.fixture
def table(tmp_path) -> Path:
    (tmp_path / "ward.csv").write_text(ROWS)
    return tmp_path / "ward.csv"


def told(engine, question: str, table: Path) -> dict[str, str]:
    (goal,) = engine.briefs(engine.plan(question, [table]))
    return {part.label: part.words for part in goal.parts}


def test_each_part_is_named_with_its_groups_counted(engine, table):
    parts = told(engine, "Does survival differ between drug and placebo?", table)
    assert parts["Time"] == "days"
    assert parts["Groups"] == "arm: drug (60) against placebo (30)"
    assert parts["Adjusted for"] == "nothing"
    assert parts["Event is"] == "not known yet"  # of 1 and 2 either may be it, and nothing in the file says so


def test_a_choice_of_rows_says_which(engine, table):
    assert told(engine, "Which patients have ferritin above 80?", table)["Rows"].startswith("ferritin > 80")


def test_a_setting_that_words_decided_can_be_picked(engine, table):
    (goal,) = engine.briefs(engine.plan("Is ferritin different between the arms, with Welch's test?", [table]))
    part = goal.choice
    assert (part.words, part.param, part.value, part.node) == ("Welch's t test", "test", "welch_t", goal.node)
    assert part.called["mann_whitney"] == "Mann-Whitney test"
    assert "paired_t" not in part.candidates  # nothing is paired


def test_a_refusal_names_columns_that_ask_again_with_a_click(engine, table):
    run_id = engine.ask("Show correlations", [table])
    record = engine.wait(run_id, 60)
    assert record.status == "failed"
    (way,) = record.ways_on
    assert (way.analysis, way.several) == ("correlation", True)
    assert {"age", "ferritin"} <= {*way.columns}
    again = engine.ask(
        record.question, [table], analysis=way.analysis, chosen={way.tool: {way.param: ["age", "ferritin"]}}
    )
    assert engine.wait(again, 60).status == "awaiting_approval"
    assert [node.params[way.param] for node in engine.view(again).plan.nodes] == [["age", "ferritin"]]


def test_the_event_of_ones_and_twos_is_asked_before_anything_runs(engine, table):
    plan = engine.plan("Does the share of status differ between drug and placebo?", [table])
    assert [(asked.choices, asked.blocking) for asked in plan.open_questions] == [(["2", "1"], True)]
    assert [issue.code for issue in engine.check_plan(plan)] == ["open_question"]


def test_counts_are_of_the_rows_that_are_kept_and_hold_a_value(engine, table):
    rows = pd.read_csv(table)
    rows.loc[[3, 4, 5, 9], "ferritin"] = None
    rows.to_csv(table, index=False)
    women = rows[rows["sex"] == "f"]
    n = women.dropna(subset=["ferritin"])["arm"].value_counts()
    parts = told(engine, "Is ferritin different between the arms in women only?", table)
    lacking = int(women["ferritin"].isna().sum())
    assert parts["Rows"] == f"sex is f; {n.sum()} ({lacking} more without a value in ferritin)"
    assert parts["Groups"] == f"arm: drug ({n['drug']}) against placebo ({n['placebo']})"
    assert parts["Outcome"] == "ferritin"


def test_of_a_large_file_no_rows_are_counted(engine, table, monkeypatch):
    monkeypatch.setattr(rows_used, "LARGEST", 10)
    parts = told(engine, "Is ferritin different between the arms in women only?", table)
    assert (parts["Rows"], parts["Groups"]) == ("sex is f", "arm: drug against placebo")


def test_pairs_are_counted_where_only_they_are_used(engine, tmp_path):
    rows = [f"m{i},{when},{20 + i * 7 % 5 + len(when)}.5" for i in range(12) for when in ("before", "after")]
    rows[5] = "m2,after,"
    path = tmp_path / "mice.csv"
    path.write_text("mouse,occasion,weight_g\n" + "\n".join(rows))
    (goal,) = engine.briefs(engine.plan("Compare weight_g before and after, paired by mouse", [path]))
    parts = {part.label: part.words for part in goal.parts}
    assert parts["Groups"] == "occasion: after (11) against before (11)"
    assert parts["Rows"].startswith("11 pairs, one for each mouse (1 more without a value in weight_g, 1 more without")
    assert goal.computed.startswith("Test: paired t test (Wilcoxon")
    assert goal.because == "each mouse is measured in both groups"


@pytest.mark.parametrize(
    ("question", "computed"),
    [
        ("Does survival differ between drug and placebo?", "Test: log-rank test, because times are censored."),
        ("Is ferritin different between the arms?", "Test: Welch's t test (Mann-Whitney if"),
        ("Compare ferritin between the arms with a Mann-Whitney test", "Test: Mann-Whitney test, because two"),
        ("Does ferritin depend on age and sex (linear regression)?", "Method: linear regression (least squares) with"),
    ],
)
def test_the_test_is_named_with_its_reason(engine, table, question, computed):
    (goal,) = engine.briefs(engine.plan(question, [table]))
    assert goal.sentence().endswith(goal.computed)
    assert goal.computed.startswith(computed)


def test_the_name_of_a_test_names_no_level(engine, tmp_path):
    path = tmp_path / "birds.csv"
    path.write_text(
        "sex,isle,mass_g\n"
        + "\n".join(f"{'fe' * (i % 2)}male,{'AB'[i % 3 > 0]},{300 + i * 7 % 31}.5" for i in range(40))
    )
    (goal,) = engine.briefs(engine.plan("Is mass different between the isles with a Mann-Whitney test?", [path]))
    assert goal.method == "Mann-Whitney test"
    assert next(part.words for part in goal.parts if part.label == "Rows") == "40"  # and not the males only


SAMPLES = {
    "a": [5.1, 4.8, 6.2, 5.5, 5.9, 6.1, 4.7, 5.0],
    "b": [6.1, 5.9, 7.4, 6.6, 6.8, 7.1, 5.7, 6.3],
    "c": [5.6, 5.2, 6.9, 6.1, 6.5, 6.4, 5.1, 5.8],
}


@pytest.mark.parametrize("levels", [["a", "b"], ["a", "b", "c"]])
@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("test", ["auto", "welch_t", "student_t", "mann_whitney", "paired_t", "wilcoxon", "ranks"])
def test_what_is_told_of_a_comparison_is_what_its_tool_computes(levels, paired, test):
    if test in ("paired_t", "wilcoxon") and not paired:
        return  # refused by the tool
    if paired and test in ("welch_t", "student_t", "mann_whitney"):
        return  # the tool says that the pairing is not used
    rows = [(i, level, x) for level in levels for i, x in enumerate(SAMPLES[level])]
    table = pd.DataFrame(rows, columns=["mouse", "arm", "weight"])
    params = {"value": "weight", "group": "arm", "pair": "mouse" if paired else "", "test": test}
    spec = builtin_tools().get("compare_groups")
    defaults = {param.name: param.default for param in spec.params}
    method = method_told(spec, defaults | params, lambda _: len(levels), lambda _: None)
    done = compare_groups(table, **params)["comparison"]["test"].iloc[0]
    short = {"Mann-Whitney U test": "Mann-Whitney", "Welch's t-test": "Welch's t test"}
    short |= {"Student's t-test": "Student's t test", "paired t-test": "paired t test"}
    short |= {"Wilcoxon signed-rank test": "Wilcoxon's signed-rank test"}
    assert method.name.startswith(short.get(done, done)), (method.name, done)


def test_the_reference_can_be_chosen_and_the_other_side_gives_way(engine, table):
    run_id = engine.ask("Is ferritin different between drug and placebo?", [table])
    assert engine.wait(run_id, 60).status == "awaiting_approval"
    (goal,) = engine.briefs(engine.view(run_id).plan)
    part = next(part for part in goal.parts if part.label == "Reference")
    assert (part.value, part.candidates) == ("placebo", ["drug", "placebo"])
    plan = engine.replan(run_id, chosen={goal.tool: {part.param: part.chosen("drug")}})
    (again,) = engine.briefs(plan)
    words = next(part.words for part in again.parts if part.label == "Groups")
    assert words == "arm: placebo (30) against drug (60)"
    assert again.why == ["'placebo' is compared with 'drug', as chosen."]
    engine.cancel(run_id)


def test_a_choice_for_one_goal_leaves_the_others_as_they_were(engine, table):
    question = "Is ferritin different between the arms? Does survival differ between drug and placebo?"
    run_id = engine.ask(question, [table])
    assert engine.wait(run_id, 60).status == "awaiting_approval"
    old = engine.view(run_id).plan
    goals = {goal.tool: goal for goal in engine.briefs(old)}
    assert {*goals} == {"compare_groups", "log_rank"}
    goal = goals["log_rank"]
    plan = engine.replan(run_id, chosen={"log_rank": {"group": "sex"}}, goal=goal.node)
    assert plan.node(goals["compare_groups"].node) == old.node(goals["compare_groups"].node)
    assert {node.params["group"] for node in plan.nodes if node.tool in ("log_rank", "kaplan_meier")} == {"sex"}
    plan = engine.replan(run_id, chosen={"compare_groups": {"control": "drug"}}, goal=goals["compare_groups"].node)
    params = plan.node(goals["compare_groups"].node).params
    assert (params["treated"], params["control"]) == ("placebo", "drug")
    assert {node.params["group"] for node in plan.nodes if node.tool in ("log_rank", "kaplan_meier")} == {"sex"}
    engine.cancel(run_id)


def test_a_choice_for_one_of_two_steps_of_a_tool_is_set_in_that_step_alone():
    def step(key, **params):
        return TaskNode(
            id=key, name=key, tool="compare_groups", inputs={"table": "data:t.csv"}, priority=1, params=params
        )

    first = step("n1", value="weight", group="occasion", pair="mouse", treated="after", control="before")
    second = step("n2", value="weight", group="arm", treated="a", control="b")
    second = second.model_copy(update={"reasons": ["'a' is compared with 'b', which comes first."]})
    analyses = [Chosen(id="compare_paired", probability=0.9), Chosen(id="compare_groups", probability=0.9)]
    plan = TaskDag(question="q", nodes=[first, second], analysis=analyses)
    tools = builtin_tools()
    assert goes_alone(plan, "n2", tools)
    made = set_for_goal(plan, "n2", {"control": "a"}, tools)
    assert made.node("n1") == first
    assert (made.node("n2").params["treated"], made.node("n2").params["control"]) == ("b", "a")
    assert made.node("n2").reasons == []
    other = set_for_goal(plan, "n2", {"group": "sex"}, tools).node("n2").params
    assert (other["group"], other["treated"], other["control"]) == ("sex", "", "")
    twins = plan.model_copy(update={"analysis": analyses[1:]})  # one request, a step for each sex
    assert not goes_alone(twins, "n2", tools)


def test_what_is_held_constant_can_be_emptied_and_the_plan_says_what_that_leaves(engine, tmp_path):
    rng = np.random.default_rng(1)
    names = [f"s{i}" for i in range(8)]
    counts = pd.DataFrame(rng.negative_binomial(5, 0.05, (120, 8)), columns=names)
    counts.index = pd.Index([f"ENSG{i:011d}" for i in range(120)], name="gene")
    counts.to_csv(tmp_path / "counts.csv")
    sheet = {"sample": names, "donor": [f"d{i // 2}" for i in range(8)], "treatment": ["drug", "vehicle"] * 4}
    pd.DataFrame(sheet).to_csv(tmp_path / "sheet.csv", index=False)
    files = [tmp_path / "counts.csv", tmp_path / "sheet.csv"]
    run_id = engine.ask("Which genes differ between drug and vehicle?", files)
    assert engine.wait(run_id, 60).status == "awaiting_approval"
    (goal,) = engine.briefs(engine.view(run_id).plan)
    assert "effects of donor are held constant" in goal.because
    plan = engine.replan(run_id, chosen={goal.tool: {"covariates": []}}, goal=goal.node)
    node = plan.node(goal.node)
    assert not node.params.get("covariates")
    assert not any("donor" in reason for reason in node.reasons)
    assert "'donor' is left out of the design, as chosen: its differences stay in the comparison." in plan.warnings
    engine.cancel(run_id)


def test_covariates_chosen_by_hand_bring_no_other_column_into_the_model(engine, table):
    rows = pd.read_csv(table)
    # A code, which a model would take as groups if it were among its covariates.
    rows["centre"] = np.random.default_rng(2).integers(1, 25, len(rows))
    rows.to_csv(table, index=False)
    run_id = engine.ask("Does sex affect survival, adjusted for age?", [table], analysis="cox_regression")
    assert engine.wait(run_id, 60).status == "awaiting_approval"
    plan = engine.replan(run_id, chosen={"cox_regression": {"covariates": ["sex", "age", "ferritin"]}})
    params = next(node.params for node in plan.nodes if node.tool == "cox_regression")
    assert params["covariates"] == ["sex", "age", "ferritin"]
    assert not params.get("categorical")
    assert not params.get("strata")
    engine.cancel(run_id)


def test_each_reference_of_a_model_is_told_and_can_be_chosen(engine, table):
    run_id = engine.ask("Does ferritin depend on age, sex and arm (linear regression)?", [table])
    assert engine.wait(run_id, 60).status == "awaiting_approval"
    (goal,) = engine.briefs(engine.view(run_id).plan)
    sides = {part.column: part for part in goal.parts if part.label == "Reference"}
    assert sides["arm"].words == "arm: drug (60) against placebo (30)"
    assert sides["sex"].words == "sex: m (45) against f (45)"
    plan = engine.replan(run_id, chosen={goal.tool: {"references": sides["sex"].chosen("m")}})
    (again,) = engine.briefs(plan)
    assert "sex: f (45) against m (45)" in [part.words for part in again.parts]
    assert next(n for n in plan.nodes if n.tool == goal.tool).params["references"] == ["sex=m"]
    engine.cancel(run_id)


@pytest.mark.parametrize(
    ("levels", "level", "why"),
    [
        (["1", "0"], "0", "as usual with codes from 0"),
        (["2", "1"], "1", "which comes first"),
        (["yes", "no"], "no", "which says that it is not so"),
        (["drug", "placebo"], "placebo", "which is named like a control"),
        (["after", "before"], "before", "which is the earlier"),
    ],
)
def test_a_code_is_no_control(levels, level, why):
    assert why_reference(level, levels) == why


def test_what_is_only_described_has_no_outcome(engine, table):
    assert told(engine, "Draw a histogram of ferritin", table)["Measured"] == "ferritin"


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("`sex` in ['f'] and `age` > 60", "sex is f and age > 60"),
        ("`arm` not in ['a', 'b']", "arm is not a or b"),
        ("(`arm (x)` not in ['a'] or is_missing(`arm (x)`))", "arm (x) is not a"),
        ("`two words` == 3", "two words == 3"),
    ],
)
def test_conditions_in_words(condition, words):
    assert kept_rows(condition) == words


def test_a_chosen_column_goes_before_the_words_and_stays_when_planned_again(engine, table):
    run_id = engine.ask("Is ferritin different between the arms?", [table])
    assert engine.wait(run_id, 60).status == "awaiting_approval"
    (goal,) = engine.briefs(engine.view(run_id).plan)
    group = next(part for part in goal.parts if part.label == "Groups")
    assert "sex" in group.candidates
    plan = engine.replan(run_id, chosen={goal.tool: {group.param: "sex"}})
    (again,) = engine.briefs(plan)
    part = next(part for part in again.parts if part.param == group.param)
    assert (part.words, part.by_hand) == ("sex: m (45) against f (45)", True)
    assert again.analysis == goal.analysis
    assert not any("drug" in str(value) for node in plan.nodes for value in node.params.values())
    assert not any("drug" in reason for node in plan.nodes for reason in node.reasons)
    plan = engine.replan(run_id, chosen={goal.tool: {"value": "age"}})
    node = next(node for node in plan.nodes if node.tool == goal.tool)
    assert (node.params["group"], node.params["value"]) == ("sex", "age")
    assert engine.record(run_id).chosen == {goal.tool: {"group": "sex", "value": "age"}}
    engine.cancel(run_id)


def test_a_setting_changed_by_hand_stays_when_a_column_is_chosen(engine, table):
    run_id = engine.ask("Is ferritin different between the arms?", [table])
    assert engine.wait(run_id, 60).status == "awaiting_approval"
    plan = engine.view(run_id).plan
    node = next(node for node in plan.nodes if node.tool == "compare_groups")
    changed = node.model_copy(update={"params": {**node.params, "test": "mann_whitney"}})
    engine.edit_plan(run_id, plan.model_copy(update={"nodes": [changed if n.id == node.id else n for n in plan.nodes]}))
    plan = engine.replan(run_id, chosen={"compare_groups": {"group": "sex"}})
    node = next(node for node in plan.nodes if node.tool == "compare_groups")
    assert (node.params["test"], node.params["group"]) == ("mann_whitney", "sex")
    assert node.settled["test"] == node.settled["group"] == "edit"
    engine.cancel(run_id)


def test_a_reason_that_speaks_of_what_was_changed_away_is_dropped(engine, table):
    run_id = engine.ask("Is ferritin different between the arms?", [table])
    assert engine.wait(run_id, 60).status == "awaiting_approval"
    plan = engine.view(run_id).plan
    node = next(node for node in plan.nodes if node.tool == "compare_groups")
    assert any("drug" in reason for reason in node.reasons)
    changed = node.model_copy(update={"params": {"value": "ferritin", "group": "sex"}})
    engine.edit_plan(run_id, plan.model_copy(update={"nodes": [changed if n.id == node.id else n for n in plan.nodes]}))
    edited = engine.view(run_id).plan.node(node.id)
    assert not any("drug" in reason for reason in edited.reasons)
    engine.cancel(run_id)
