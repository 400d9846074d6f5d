"""The card of a plan: a sentence whose parts can be chosen anew, with codes in words and rows counted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from engine.api import open_engine
from engine.asking.choices import goes_alone
from engine.domain.plan import Chosen, TaskDag, TaskNode
from engine.errors import PlanError
from engine.planning.binding.rows import rows_chosen
from engine.planning.telling.kept import kept_rows, led_by
from engine.toolbox.registry import builtin_tools

RNG = np.random.default_rng(4)


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    with open_engine(workspace=tmp_path_factory.mktemp("w"), warm_workers=False, embedding_model="none") as opened:
        yield opened


@pytest.fixture(scope="module")
def ward(tmp_path_factory) -> Path:
    """A table with a key of codes in a name, a state of 0 and 1, and times to an end coded 1 and 2."""
    n = 120
    table = pd.DataFrame({
        "pid": range(n), "sex (1=m 2=f)": RNG.choice([1, 2], n), "arm": RNG.choice(["drug", "placebo"], n),
        "age": RNG.integers(30, 80, n), "days": RNG.integers(5, 900, n), "status": RNG.choice([1, 2], n),
        "pain": RNG.normal(5, 1, n).round(2), "fall": RNG.choice([0, 1], n),
    })  # fmt: skip
    path = tmp_path_factory.mktemp("data") / "ward.csv"
    table.to_csv(path, index=False)
    return path


def goal_of(engine, question: str, path: Path, **more):
    (goal,) = engine.briefs(*engine.draft(question, [path], **more))
    return goal


def told(goal) -> dict[str, str]:
    return {part.label: part.words for part in goal.parts}


def waiting(engine, question: str, path: Path, **more) -> str:
    run_id = engine.ask(question, [path], **more)
    assert engine.wait(run_id, 60).status == "awaiting_approval"
    return run_id


def test_a_goal_reads_as_a_sentence_with_codes_in_words(engine, ward):
    table = pd.read_csv(ward)
    died, by_arm = int((table["status"] == 2).sum()), table["arm"].value_counts()
    goal = goal_of(engine, "Does survival differ between drug and placebo? status 2 = died", ward)
    assert goal.sentence() == (
        f"Comparison of survival curves. Outcome: status is died (2; {died} of {len(table)}) over days. Groups: arm: "
        f"drug ({by_arm['drug']}) against placebo ({by_arm['placebo']}). Adjusted for: nothing. Rows: {len(table)}. "
        "Test: log-rank test, because times are censored."
    )
    assert goal.sentence().endswith("".join(piece.words for clause in goal.clauses() for piece in clause)[-40:])


def test_groups_by_a_code_are_told_by_the_key_of_their_column(engine, ward):
    sex = pd.read_csv(ward)["sex (1=m 2=f)"].value_counts()
    words = told(goal_of(engine, "Is pain different between men and women?", ward))["Groups"]
    assert words in (
        f"sex: female (2; n = {sex[2]}) against male (1; n = {sex[1]})",
        f"sex: male (1; n = {sex[1]}) against female (2; n = {sex[2]})",
    )


def test_rows_can_be_all_rows_again_and_stay_so(engine, ward):
    women = int((pd.read_csv(ward)["sex (1=m 2=f)"] == 2).sum())
    run_id = waiting(engine, "Is pain different between the arms for women only?", ward)
    (goal,) = engine.briefs(engine.view(run_id).plan)
    (part,) = [part for part in goal.parts if part.label == "Rows"]
    assert part.words == f"sex is female (2); {women}"
    assert part.called[""] == "all rows"
    tool = engine.view(run_id).plan.node(part.node).tool
    plan = engine.replan(run_id, chosen={tool: {part.param: {part.value: ""}}})
    assert tool not in [node.tool for node in plan.nodes]
    assert not [q for q in plan.open_questions if "women" in q.text]
    plan = engine.replan(run_id, chosen={goal.tool: {"value": "age"}}, goal=goal.node)
    assert told(engine.briefs(plan)[0])["Rows"] == "120"
    plan = engine.replan(run_id, analysis="linear_regression")
    assert tool not in [node.tool for node in plan.nodes]  # all rows for another analysis, too
    ((words, again),) = engine.rows_dropped(run_id).items()
    assert words == "sex is female (2)"
    plan = engine.replan(run_id, chosen=again)
    assert [node.params[part.param] for node in plan.nodes if node.tool == tool] == [part.value]
    assert not engine.rows_dropped(run_id)
    engine.cancel(run_id)


def test_of_conditions_one_can_be_dropped(engine, ward):
    table = pd.read_csv(ward)
    run_id = waiting(engine, "Is pain different between the arms for women only with age above 50?", ward)
    (goal,) = engine.briefs(engine.view(run_id).plan)
    (part,) = [part for part in goal.parts if part.label == "Rows"]
    older = next(text for text, words in part.called.items() if words.startswith("age") and "sex" not in words)
    tool = engine.view(run_id).plan.node(part.node).tool
    plan = engine.replan(run_id, chosen={tool: {part.param: {part.value: older}}})
    (again,) = engine.briefs(plan)
    (rows,) = [part for part in again.parts if part.label == "Rows"]
    assert rows.words == f"{kept_rows(older)}; {int((table['age'] > 50).sum())}"
    assert rows.by_hand
    engine.cancel(run_id)


def test_one_choice_of_rows_after_another_is_followed():
    assert rows_chosen("a and b", {"a and b": "a", "a": ""}) == ""
    assert rows_chosen("c", {"a and b": "a"}) == "c"
    assert rows_chosen("a", {"a": "b", "b": "a"}) == "a"


def test_what_is_adjusted_for_nothing_can_be_adjusted(engine, ward):
    run_id = waiting(engine, "Is pain different between the arms?", ward)
    (goal,) = engine.briefs(engine.view(run_id).plan)
    (part,) = [part for part in goal.parts if part.label == "Adjusted for"]
    assert "age" in part.candidates
    other = next(other for other in goal.others if other.adjusting)
    plan = engine.replan(run_id, analysis=other.analysis, chosen={other.tool: other.adjusted(["age"])})
    node = next(node for node in plan.nodes if node.tool == other.tool)
    assert node.params["outcome"] == "pain"
    assert node.params[other.adjusting] == ["arm", "age"]
    engine.cancel(run_id)


def test_another_analysis_of_the_same_columns_is_offered(engine, ward):
    goal = goal_of(engine, "Does survival differ between drug and placebo? status 2 = died", ward)
    assert {"cox_regression", "restricted_mean_survival"} <= {other.analysis for other in goal.others}
    cox = next(other for other in goal.others if other.analysis == "cox_regression")
    assert cox.params == {"time": "days", "event": "status", "covariates": ["arm"]}


def test_cards_of_gene_lists_and_volcano_plots_say_their_thresholds(engine, tmp_path):
    n = 60
    p = np.sort(RNG.uniform(0, 1, n) ** 4)
    genes = pd.DataFrame({"gene": [f"GENE{i}" for i in range(n)], "baseMean": 100.0, "pvalue": p,
                          "log2FoldChange": RNG.normal(0, 1, n), "padj": np.minimum(1, 1.5 * p)})  # fmt: skip
    genes.to_csv(tmp_path / "de.csv", index=False)
    lists = engine.briefs(*engine.draft("List the significant genes, FDR 1 %", [tmp_path / "de.csv"]))
    assert {told(goal)["Adjusted p-value below"] for goal in lists} == {"0.01"}
    assert {told(goal)["Genes"] for goal in lists} == {"higher", "lower"}
    volcano = goal_of(engine, "Draw a volcano plot", tmp_path / "de.csv")
    assert told(volcano)["Adjusted p-value below"] == "0.05"
    assert told(volcano)["Fold change at least"] == "2-fold (log2 1)"
    assert {p.param for p in volcano.parts if p.node} == {"alpha", "min_abs_lfc"}


def test_a_missing_margin_is_asked_on_the_card(engine, ward):
    question = "Is the drug non-inferior to placebo for pain?"
    plan = engine.plan(question, [ward])
    (part,) = [part for part in engine.briefs(plan)[0].parts if part.label == "Margin"]
    assert (part.words, part.asked) == ("not known yet", True)
    assert [issue.code for issue in engine.check_plan(plan)] == ["open_question"]
    assert told(goal_of(engine, question, ward, changes={"equivalence_test.margin": "0.5"}))["Margin"] == "0.5"


def test_a_table_that_is_missing_can_be_made_by_saying_what_columns_are(engine, tmp_path, ward):
    path = tmp_path / "homes.csv"
    pd.read_csv(ward).drop(columns=["days", "status"]).to_csv(path, index=False)
    question = "Does survival differ between the arms?"
    with pytest.raises(PlanError) as refused:
        engine.plan(question, [path])
    way = refused.value.details["ways_on"][0]
    assert {*way["said"]} == {"time", "event"}
    assert "age" in way["said"]["time"]
    assert way["said"]["event"][0] == "fall"
    goal = goal_of(engine, question, path, analysis=way["analysis"], columns={"age": "time", "fall": "event"})
    assert goal.sentence().startswith("Comparison of survival curves. Outcome: fall is yes (1; ")


def test_tallied_rows_count_as_often_as_they_say(engine, tmp_path):
    path = tmp_path / "tally.csv"
    path.write_text("drug,response,n\nA,yes,30\nA,no,20\nB,yes,18\nB,no,32\n")
    question = "Is response associated with drug?"
    goal = goal_of(engine, question, path, analysis="contingency", changes={"contingency.count": "n"})
    assert told(goal)["Rows"] == "100 in 4 lines of counts"
    assert "(50)" in told(goal)["Groups"]


def test_curves_from_a_landmark_on_count_who_was_followed_then(engine, ward):
    table = pd.read_csv(ward)
    left = table[table["days"] > 300]
    question = "Survival curves by arm with a landmark at 300 days, status 2 = died"
    goal = goal_of(engine, question, ward, analysis="kaplan_meier")
    assert told(goal)["Rows"] == f"{len(left)}"
    assert told(goal)["Event is"] == f"died (2; {int((left['status'] == 2).sum())} of {len(left)})"


def test_agreement_and_competing_risks_count_their_rows(engine, tmp_path):
    table = pd.DataFrame({"months": RNG.integers(1, 60, 50), "status": RNG.choice([0, 1, 2], 50),
                          "arm": RNG.choice(["a", "b"], 50)})  # fmt: skip
    table.loc[3, "arm"] = None
    table.to_csv(tmp_path / "ends.csv", index=False)
    question = "Cumulative incidence of relapse by arm, death competes; status 0 = censored, 1 = relapse, 2 = death"
    goal = goal_of(engine, question, tmp_path / "ends.csv", analysis="competing_risks",
                   changes={"competing_risks.event_value": "1"})  # fmt: skip
    assert told(goal)["Rows"] == "49 (1 more without a value in arm)"
    relapsed = int((table.dropna()["status"] == 1).sum())
    assert told(goal)["Event is"] == f"relapse (1; {relapsed} of 49)"
    pair = pd.DataFrame({"reader1": RNG.normal(5, 1, 40).round(2), "reader2": RNG.normal(5, 1, 40).round(2)})
    pair.loc[7, "reader2"] = None
    pair.to_csv(tmp_path / "readers.csv", index=False)
    goal = goal_of(engine, "Do reader1 and reader2 agree?", tmp_path / "readers.csv", analysis="agreement")
    assert told(goal)["Rows"] == "39 (1 more without a value in reader2)"


def test_what_sets_two_steps_of_one_request_apart_is_chosen_for_one():
    steps = [
        TaskNode(id=f"n{k}", name="c", tool="compare_groups", inputs={"table": "data:t.csv"}, priority=1,
                 params={"value": value, "group": "arm"})
        for k, value in enumerate(("pain", "age"))
    ]  # fmt: skip
    plan = TaskDag(question="q", nodes=steps, analysis=[Chosen(id="compare_groups", probability=0.9)])
    tools = builtin_tools()
    assert goes_alone(plan, "n0", tools, {"value": "days"})
    assert not goes_alone(plan, "n0", tools, {"group": "sex"})


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("`sex (1=m 2=f)` in [2]", "sex is female (2)"),
        ("`sex (1=m 2=f)` in [1, 2] and `age` > 50", "sex is male (1) or female (2) and age > 50"),
        ("`fall` == 1", "fall == yes (1)"),
    ],
)
def test_conditions_say_codes_in_words(condition, words):
    known = {"sex (1=m 2=f)": {"1": "male", "2": "female"}, "fall": {"0": "no", "1": "yes"}}
    assert kept_rows(condition, known) == words


@pytest.mark.parametrize(
    ("condition", "lead"),
    [
        ("`group` in ['usual care']", "For group usual care: "),
        ("(`comment` not in ['hem'] or is_missing(`comment`))", "Without comment hem: "),
        ("`sex` in ['2'] and `age` > 60 and `site` != 4", "For sex female (2) and age above 60, without site 4: "),
        ("`drug` in ['drug A']", "For drug A: "),
        ("`tx` in ['cip30', 'veh'] and `cage` not in ['8']", "Without cage 8: "),  # the sentence names the two
        ("`tx` in ['cip30', 'cip10']", "For tx cip30 or cip10: "),
        ("`tx` in ['cip30', 'veh']", ""),
        ("`age` > 60 or `sex` in ['2']", "Where age > 60 or sex is female (2): "),
    ],
)
def test_a_sentence_on_some_rows_is_led_by_which(condition, lead):
    sentence = "Survival is longer with cip30 than with veh."
    assert led_by(condition, {"sex": {"1": "male", "2": "female"}}, sentence) == lead
