"""Questions about some of the samples of a matrix: the list is cut first, and what comes after sees what is left."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from engine.data.profiler import profile_files
from engine.domain.brief import BriefPart, GoalBrief
from engine.errors import PlanError
from engine.planning.planner import Planner
from engine.planning.telling.brief import briefs
from engine.planning.told.goals import ToldColumn, ToldGoal, ToldPlan, ToldRows
from engine.toolbox.analyses import load_analyses
from engine.toolbox.registry import builtin_tools


@pytest.fixture(scope="module")
def planner():
    return Planner(builtin_tools())


@pytest.fixture(scope="module")
def spleens(tmp_path_factory):
    """24 mice, two of them without a second sample: genotype by drug, two days."""
    folder, chance = tmp_path_factory.mktemp("spleens"), np.random.default_rng(6)
    rows = [
        (
            f"L{at:02d}",
            f"mouse{at // 2:02d}",
            ("wt", "ko")[at // 2 % 2],
            ("vehicle", "rapamycin")[at // 4 % 2],
            f"d{1 + 6 * (at % 2)}",
        )
        for at in range(48)
        if at not in (5, 11)
    ]
    frame = pd.DataFrame(rows, columns=["library", "mouse", "genotype", "drug", "day"])
    frame.to_csv(folder / "libraries.csv", index=False)
    counts = pd.DataFrame(chance.negative_binomial(5, 0.05, (120, len(rows))), columns=frame["library"])
    counts.insert(0, "gene", [f"GENE{at}" for at in range(120)])
    counts.to_csv(folder / "counts.csv", index=False)
    return profile_files([folder / "counts.csv", folder / "libraries.csv"])


def steps(plan):
    return {node.tool: node for node in plan.nodes}


def test_the_list_and_the_matrix_are_cut_before_anything_else(planner, spleens):
    plan = planner.plan("Which genes change with rapamycin in the ko mice at d7?", spleens).plan
    own = steps(plan)
    assert own["filter_rows"].params["condition"] == "`genotype` in ['ko'] and `day` in ['d7']"
    kept = own["keep_samples"].id
    for tool in ("count_qc", "normalize_counts", "differential_expression"):
        assert own[tool].inputs["counts"] == f"{kept}.kept"
    answer = own["differential_expression"]
    assert (answer.params["condition"], answer.params["treated"], answer.params["control"]) == (
        "drug",
        "rapamycin",
        "vehicle",
    )
    assert not plan.not_answered


def test_mice_that_lost_a_sample_still_pair_the_others(planner, spleens):
    plan = planner.plan("Which genes change from d1 to d7 in wt?", spleens).plan
    assert steps(plan)["differential_expression"].params["covariates"] == ["mouse"]


def test_whether_an_effect_differs_between_groups_is_refused_by_name(planner, spleens):
    with pytest.raises(PlanError, match="effect of 'rapamycin' differs"):
        planner.plan("For which genes is the rapamycin response different in ko than in wt?", spleens)


def test_samples_of_which_one_group_is_left_are_refused(planner, spleens):
    params = {"condition": "drug", "treated": "rapamycin", "control": "vehicle"}
    goal = ToldGoal(tool="differential_expression", params=params, rows=[ToldRows(column="drug", values=["vehicle"])])
    with pytest.raises(PlanError, match="one group of 'drug'"):
        planner.plan_told("rapamycin against vehicle", spleens, ToldPlan(goals=[goal]))


def test_each_of_two_goals_takes_what_was_made_of_its_own_samples(planner, spleens):
    params = {"condition": "drug", "treated": "rapamycin", "control": "vehicle"}
    goals = [
        ToldGoal(tool="differential_expression", params=params, rows=[ToldRows(column="genotype", values=[one])])
        for one in ("wt", "ko")
    ]
    goals.append(ToldGoal(tool="differential_expression", params=params))
    plan = planner.plan_told("rapamycin in wt, in ko and in all", spleens, ToldPlan(goals=goals)).plan
    by_id = {node.id: node for node in plan.nodes}
    maps = [node for node in plan.nodes if node.tool == "expression_heatmap"]
    sources = [by_id[one.inputs["expression"].split(".")[0]].inputs["counts"] for one in maps]
    tested = [by_id[one.inputs["de_table"].split(".")[0]].inputs["counts"] for one in maps]
    assert sources == tested
    assert len(set(tested)) == 3
    assert tested[2] == "data:counts.csv"


@pytest.fixture(scope="module")
def plasma(tmp_path_factory):
    """Thirty persons at two visits, six proteins."""
    folder, chance = tmp_path_factory.mktemp("plasma"), np.random.default_rng(8)
    rows = [
        (f"PL{at:02d}", f"P{at // 2:02d}", ("drug", "placebo")[at // 2 % 2], ("V1", "V2")[at % 2], 30 + at // 2)
        for at in range(60)
    ]
    frame = pd.DataFrame(rows, columns=["SampleID", "person", "arm", "visit", "age"])
    frame.to_csv(folder / "samples.csv", index=False)
    names = ["IL6", "TNF", "CXCL9", "IFNG", "CCL2", "IL10"]
    values = pd.DataFrame(chance.normal(5, 1, (6, 60)).round(3), columns=frame["SampleID"])
    values.insert(0, "assay", names)
    values.to_csv(folder / "npx.csv", index=False)
    return profile_files([folder / "npx.csv", folder / "samples.csv"])


@pytest.mark.parametrize(
    ("question", "tool", "params"),
    [
        ("do IL6 and TNF go together at V1", "correlation", {"x": "IL6", "y": "TNF"}),
        ("mean IL6 by arm and visit", "pivot_table", {"values": "IL6", "rows": "arm", "columns": "visit"}),
        ("is IL6 at V2 higher with the drug than with placebo", "compare_groups", {"value": "IL6", "treated": "drug"}),
    ],
)
def test_what_is_asked_of_one_protein_is_asked_of_a_column_beside_its_samples(planner, plasma, question, tool, params):
    plan = planner.plan(question, plasma).plan
    first, answer = plan.order()[0], plan.order()[-1]
    assert (first.tool, answer.tool) == ("features_beside_samples", tool)
    assert first.params["sample"] == "SampleID"
    assert params.items() <= answer.params.items()
    assert not plan.open_questions


def test_which_proteins_differ_is_still_asked_of_the_matrix(planner, plasma):
    plan = planner.plan("which proteins differ between drug and placebo at V2, is IL6 among them", plasma).plan
    assert "differential_intensity" in steps(plan)


def test_features_are_told_as_columns_also_in_a_formula(planner, plasma):
    assert "npx.csv" in planner.told_together(plasma)
    goal = ToldGoal(tool="mixed_model", params={"outcome": "ratio", "fixed": ["arm", "visit"], "subject": "person"})
    other = ToldGoal(
        tool="correlation", params={"x": "age", "y": "TNF"}, rows=[ToldRows(column="visit", values=["V1"])]
    )
    ratio = ToldColumn(name="ratio", formula="IL6 - IL10")
    plan = planner.plan_told(
        "ratio by arm and visit; TNF and age at V1", plasma, ToldPlan(goals=[goal, other], columns=[ratio])
    ).plan
    tools = [node.tool for node in plan.order()]
    assert sorted(tools) == ["correlation", "derive_column", "features_beside_samples", "filter_rows", "mixed_model"]
    assert sorted(steps(plan)["features_beside_samples"].params["features"]) == ["IL10", "IL6", "TNF"]


def test_samples_of_one_person_are_no_members_of_a_cluster(planner, plasma):
    """What numbers the samples names nobody else: before and after are compared within the person."""
    plan = planner.plan("does IL6 change from V1 to V2", plasma).plan
    assert "compare_groups" not in steps(plan)
    goal = ToldGoal(tool="compare_groups", params={"value": "IL6", "group": "visit"})
    with pytest.raises(PlanError, match="independent"):
        planner.plan_told("IL6 by visit", plasma, ToldPlan(goals=[goal]))


def test_rows_of_the_features_of_a_matrix_are_refused_by_name(planner, spleens):
    params = {"condition": "drug", "treated": "rapamycin", "control": "vehicle"}
    goal = ToldGoal(tool="differential_expression", params=params, rows=[ToldRows(column="is_gene", values=["yes"])])
    kept = ToldColumn(name="is_gene", formula="if_else(startswith(gene, 'GENE'), 'yes', 'no')")
    with pytest.raises(PlanError):
        planner.plan_told("rapamycin without other features", spleens, ToldPlan(goals=[goal], columns=[kept]))


def test_the_card_counts_the_samples_that_are_left_and_tells_each_part_once(planner, spleens):
    plan = planner.plan("Which genes change with rapamycin against vehicle in the ko mice at d7?", spleens).plan
    (goal,) = briefs(plan, spleens, builtin_tools(), load_analyses())
    assert {part.label: part.words for part in goal.parts}["Groups"] == "drug: rapamycin (6) against vehicle (5)"
    drawn = [(p.part.node, p.part.param) for clause in goal.clauses() for p in clause if p.part is not None]
    assert len(drawn) == len(set(drawn))


def test_a_reference_beside_groups_of_unknown_number_is_told_once():
    """Where a table is made by a step whose rows cannot be known, the groups are told without their levels."""
    parts = [
        BriefPart(label="Groups", words="drug", param="condition"),
        BriefPart(label="Reference", words="mock", param="control"),
    ]
    goal = GoalBrief(
        analysis="a", title="A", node="n1", tool="t", method="a test", because="", choice=parts[0], parts=parts, why=[]
    )
    said = goal.sentence()
    assert "Groups: drug, against mock." in said
    assert "Reference:" not in said


def test_rows_that_a_person_drops_on_the_card_bring_the_other_samples_back(planner, spleens):
    question = "Which genes change with rapamycin against vehicle in the ko mice at d7?"
    rows = "`genotype` in ['ko'] and `day` in ['d7']"
    plan = planner.plan(question, spleens, chosen={"filter_rows": {"condition": {rows: "`genotype` in ['ko']"}}}).plan
    assert steps(plan)["filter_rows"].params["condition"] == "`genotype` in ['ko']"
    whole = planner.plan(question, spleens, chosen={"filter_rows": {"condition": {rows: ""}}}).plan
    assert "keep_samples" not in steps(whole)


def test_a_matrix_beside_a_table_of_something_else_makes_no_table_and_refuses_none(planner, plasma, tmp_path):
    """Whoever tells goals of the table alone has nothing to do with the matrix: the reading had failed."""
    frame = pd.DataFrame(
        {"calf": [f"FR{at}" for at in range(40)], "arm": ["a", "b"] * 20, "gain": np.linspace(1, 9, 40)}
    )
    frame.to_csv(tmp_path / "calves.csv", index=False)
    files = [plasma[0], *profile_files([tmp_path / "calves.csv"])]
    assert planner.told_together(files) == ""
    goal = ToldGoal(tool="compare_groups", params={"value": "lg", "group": "arm"})
    told = ToldPlan(goals=[goal], columns=[ToldColumn(name="lg", formula="log2(gain)")])
    assert "compare_groups" in steps(planner.plan_told("gain by arm", files, told).plan)
