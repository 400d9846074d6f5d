"""What is meant of groups and measures: `each group`, `which of them declined`, one total of genes, two measures."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from engine.data.profiler import profile_files
from engine.domain.plan import TaskDag
from engine.planning.planner import Planner
from engine.toolbox.registry import builtin_tools


@pytest.fixture(scope="module")
def planner():
    return Planner(builtin_tools())


@pytest.fixture(scope="module")
def kinase(tmp_path_factory):
    rng = np.random.default_rng(2)
    doses = np.tile([0, 2, 6, 20, 60, 200, 600, 2000], 6)
    agent = np.repeat(["AB-1", "AB-2", "AB-3"], 16)
    activity = 100 / (1 + doses / np.repeat([15.0, 90.0, 400.0], 16)) + rng.normal(0, 2, len(doses))
    path = tmp_path_factory.mktemp("plate") / "kinase.csv"
    pd.DataFrame({"agent": agent, "conc_nM": doses, "activity": activity.round(2)}).to_csv(path, index=False)
    return profile_files([path])


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    rng = np.random.default_rng(4)
    genes = [f"GENE{n}" for n in range(300)]
    table = {"gene": genes, "log2FoldChange": rng.normal(0, 1.5, 300), "pvalue": rng.uniform(0, 1, 300)}
    path = tmp_path_factory.mktemp("genes") / "de.csv"
    pd.DataFrame({**table, "padj": table["pvalue"]}).to_csv(path, index=False)
    return profile_files([path])


def only_step(plan: TaskDag, tool: str) -> dict:
    (node,) = [node for node in plan.nodes if node.tool == tool]
    return node.params


@pytest.mark.parametrize("question", ["What is the IC50 of each group?", "IC50 for every compound"])
def test_each_group_is_the_only_column_of_groups_and_no_dose(planner, kinase, question):
    assert only_step(planner.plan(question, kinase).plan, "dose_response")["group"] == "agent"


def test_how_many_is_one_total(planner, results):
    plan = planner.plan("how many genes are up or down", results).plan
    assert only_step(plan, "select_genes")["direction"] == "both"
    plan = planner.plan("which genes are up and which are down", results).plan
    assert [node.params["direction"] for node in plan.nodes if node.tool == "select_genes"] == ["up", "down"]


@pytest.mark.parametrize(
    "question",
    [
        "how many genes are up or down with padj below 0.05 and 2-fold",
        "how many genes pass an adjusted p of 0.05 and a log2FoldChange of 1, up or down",
    ],
)
def test_columns_named_by_their_cut_have_their_part(planner, results, question):
    plan = planner.plan(question, results).plan
    params = only_step(plan, "select_genes")
    assert (params["alpha"], params["min_abs_lfc"]) == (0.05, 1.0)
    assert plan.not_answered == []
    assert all(node.tool != "filter_rows" for node in plan.nodes)


@pytest.fixture(scope="module")
def owls(tmp_path_factory):
    rng = np.random.default_rng(6)
    rows = [(owl, year, int(rng.poisson(40 * change ** (year - 2010)))) for year in range(2010, 2022)
            for owl, change in (("barn", 0.9), ("little", 1.0), ("tawny", 1.05)) for _ in range(3)]  # fmt: skip
    path = tmp_path_factory.mktemp("owls") / "owls.csv"
    pd.DataFrame(rows, columns=["owl", "year", "pairs"]).to_csv(path, index=False)
    return profile_files([path])


def test_which_of_them_declined_is_asked_of_each(planner, owls):
    plan = planner.plan("which owls declined over the years in pairs?", owls).plan
    kept = [node.params["condition"] for node in plan.nodes if node.tool == "filter_rows"]
    assert kept == [f"`owl` in ['{name}']" for name in ("barn", "little", "tawny")]
    asked = [node for node in plan.nodes if node.tool != "filter_rows"]
    assert len(asked) == 3
    assert all("year" in str(node.params) and "pairs" in str(node.params) for node in asked)
    assert any("not adjusted" in warning for warning in plan.warnings)


@pytest.mark.parametrize("question", ["which owl declined?", "do the pairs decline from owl to owl?"])
def test_a_trend_over_names_without_an_order_does_not_run_unasked(planner, owls, question):
    plan = planner.plan(question, owls).plan
    over_names = any(node.params.get("group") == "owl" for node in plan.nodes if node.tool == "trend_test")
    assert not over_names or any(asked.required for asked in plan.open_questions)


def test_two_measures_are_not_reduced_to_dimensions_unless_that_is_said(planner, tmp_path):
    rng = np.random.default_rng(8)
    table = pd.DataFrame({"cough_early": rng.normal(5, 1, 60), "cough_late": rng.normal(4, 1, 60)}).round(2)
    table.to_csv(tmp_path / "cough.csv", index=False)
    profiles = profile_files([tmp_path / "cough.csv"])
    plan = planner.plan("does the gargle reduce cough early and cough late", profiles).plan
    assert all(node.tool != "principal_component_analysis" for node in plan.nodes)
    plan = planner.plan("PCA of cough early and cough late", profiles).plan
    assert [node.tool for node in plan.nodes] == ["principal_component_analysis"]
