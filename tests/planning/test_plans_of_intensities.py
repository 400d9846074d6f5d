"""Intensities are planned as intensities and counts as counts, whatever the words call them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from engine.data.profiler import profile_files
from engine.planning.planner import Planner
from engine.toolbox.registry import builtin_tools

CHANCE = np.random.default_rng(4)
SAMPLES = [f"Q{n:02d}" for n in range(12)]


@pytest.fixture(scope="module")
def planner() -> Planner:
    return Planner(builtin_tools())


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """Return what gives the files: whole values about 2**22, or counts, with a sheet that has two columns of groups."""

    def files(kind: str):
        folder = tmp_path_factory.mktemp(kind)
        values = (
            np.round(2 ** CHANCE.normal(22, 2, (80, 12)))
            if kind == "lfq"
            else CHANCE.negative_binomial(1, 0.01, (80, 12))
        )
        matrix = pd.DataFrame(values.astype("int64"), columns=[f"LFQ intensity {name}" for name in SAMPLES])
        if kind != "lfq":
            matrix.columns = SAMPLES
        matrix.insert(0, "Protein IDs" if kind == "lfq" else "gene", [f"P{20000 + n}" if kind == "lfq" else f"ENSG{n:011d}" for n in range(80)])  # fmt: skip
        matrix.to_csv(folder / "matrix.txt", sep="\t", index=False)
        sheet = pd.DataFrame({"Sample": SAMPLES, "sex": ["F", "M", "M"] * 4, "arm": ["ctrl", "drug"] * 6, "MS batch": ["B1"] * 5 + ["B2"] * 7})  # fmt: skip
        sheet.to_csv(folder / "sheet.csv", index=False)
        return profile_files([folder / "matrix.txt", folder / "sheet.csv"])

    return files


def tools(plan) -> list[str]:
    return [node.tool for node in plan.nodes]


def test_proteins_are_compared_by_their_intensities(planner, given) -> None:
    plan = planner.plan("which proteins change with drug, adjust for batch", given("lfq")).plan
    step = next(node for node in plan.nodes if node.tool == "differential_intensity")
    assert (step.params["condition"], step.params["treated"], step.params["control"]) == ("arm", "drug", "ctrl")
    assert step.params["covariates"] == ["MS batch"]
    assert {"sample_pca", "volcano_plot", "expression_heatmap"} <= set(tools(plan))
    assert not {"differential_expression", "normalize_counts", "count_qc"} & set(tools(plan))


def test_of_two_columns_the_one_with_a_control_is_compared(planner, given) -> None:
    plan = planner.plan("which proteins are up at FDR 5%", given("lfq")).plan
    step = next(node for node in plan.nodes if node.tool == "differential_intensity")
    assert (step.params["condition"], step.params["treated"]) == ("arm", "drug")


def test_counts_are_tested_as_counts_also_where_limma_is_named(planner, given) -> None:
    plan = planner.plan("limma: which genes change with drug", given("counts")).plan
    assert "differential_expression" in tools(plan)
    assert "differential_intensity" not in tools(plan)


def test_whether_a_batch_shows_and_is_confounded_is_answered_by_the_components(planner, given) -> None:
    question = "is there a batch effect and is it confounded with treatment"
    plan = planner.plan(question, given("lfq"), analysis="sample_pca").plan
    assert tools(plan) == ["sample_pca"]
