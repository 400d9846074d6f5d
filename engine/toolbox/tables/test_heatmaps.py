"""Clustered heat maps against trees by hand, scipy's own, and clusters that were planted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from plan_questions import profile_files, the_planner
from scipy.cluster.hierarchy import linkage as scipy_linkage
from scipy.spatial.distance import pdist
from table_steps import check_issues, run_step

from engine.toolbox.tables.heatmaps import clustered_heatmap, neighbour_share, standardise, tree_of


def blocks(n=24, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.normal(0, 1, (n, 6))
    values[: n // 2, :3] += 4
    table = pd.DataFrame(values, columns=["alanine", "glycine", "lactate", "citrate", "leucine", "valine"])
    table.insert(0, "sample", [f"S{k:02d}" for k in range(n)])
    return table.assign(diet=["low"] * (n // 2) + ["high"] * (n - n // 2)).sample(frac=1, random_state=seed)


def test_heights_of_a_small_tree_are_those_by_hand():
    # Points 0, 1, 5, 9: average linkage joins at 1, then 4 (5 and 9), then at the mean of 5, 4, 9 and 8, which is 6.5.
    points = np.array([[0.0], [1], [5], [9]])
    assert tree_of(points, "average", "euclidean")[0][:, 2].tolist() == pytest.approx([1, 4, 6.5])
    assert tree_of(points, "single", "euclidean")[0][:, 2].tolist() == pytest.approx([1, 4, 4])
    assert tree_of(points, "complete", "euclidean")[0][:, 2].tolist() == pytest.approx([1, 4, 9])


@pytest.mark.parametrize("linkage", ["average", "complete", "ward", "single"])
def test_the_tree_has_the_heights_of_scipy(linkage):
    values = blocks().iloc[:, 1:7].to_numpy()
    own = tree_of(values, linkage, "euclidean")[0][:, 2]
    assert own.tolist() == pytest.approx(scipy_linkage(pdist(values), linkage)[:, 2].tolist())


def test_the_cophenetic_correlation_is_that_by_hand():
    # Merge heights of 0, 1, 5, 9 under average linkage against their distances, pair by pair.
    merged = [1, 6.5, 6.5, 6.5, 6.5, 4]
    apart = [1, 5, 9, 4, 8, 4]
    found = tree_of(np.array([[0.0], [1], [5], [9]]), "average", "euclidean")[2]
    assert found == pytest.approx(np.corrcoef(merged, apart)[0, 1])


def test_z_scores_have_mean_0_and_sd_1():
    numbers = pd.DataFrame({"a": [1.0, 2, 3], "b": [10.0, 10, 40]})
    z = standardise(numbers, "column")
    assert z.mean().tolist() == pytest.approx([0, 0])
    assert z.std(ddof=1).tolist() == pytest.approx([1, 1])
    assert standardise(pd.DataFrame({"a": [1.0, 5], "b": [1.0, 7], "c": [1.0, 9]}), "row").iloc[0].tolist() == [0, 0, 0]
    assert standardise(numbers, "none") is numbers


def test_two_blocks_of_rows_come_to_lie_together():
    result = clustered_heatmap(blocks(), annotate="diet")
    groups = result["row_order"]["group"].tolist()
    assert groups in (["low"] * 12 + ["high"] * 12, ["high"] * 12 + ["low"] * 12)
    assert "24 of 24 rows the most similar other row is of the same diet" in result["findings"][0]["text"]
    order = result["column_order"]["column"].tolist()
    assert {"alanine", "glycine", "lactate"} in (set(order[:3]), set(order[3:]))


def test_nearest_neighbours_of_one_group_are_counted_against_chance():
    gaps = pdist(np.array([[0.0], [1], [10], [11.5], [20], [22]]))
    # by hand: every row's nearest is its pair; a a b b a b: two pairs of one group, the last mixed
    same, chance, n = neighbour_share(gaps, list("aabbab"))
    assert (same, n) == (4, 6)
    assert chance == pytest.approx((3 * 2 + 3 * 2) / 5)
    assert neighbour_share(gaps, ["a", None, "b", "b", None, "b"])[2] == 4


def test_units_of_columns_and_order_of_rows_do_not_matter():
    table = blocks()
    other = table.assign(alanine=1000 * table["alanine"] + 5).sample(frac=1, random_state=9)
    first, second = (clustered_heatmap(t)["heatmap_table"].set_index("name") for t in (table, other))
    pd.testing.assert_frame_equal(
        first.sort_index(axis=0).sort_index(axis=1), second.sort_index(axis=0).sort_index(axis=1)
    )


def test_gaps_and_flat_columns_are_left_out_and_said():
    table = blocks().reset_index(drop=True).assign(flat=1.0, sparse=np.nan)
    table.loc[:3, "sparse"] = [1.0, 2, 3, 4]
    table.loc[5, "valine"] = np.nan
    result = clustered_heatmap(table)
    assert len(result["row_order"]) == 23
    text = " ".join(result["warnings"])
    assert "sparse" in text
    assert "flat" in text
    assert "1 of 24 rows were left out because a value is missing: valine (1)" in text


@pytest.mark.parametrize(
    ("params", "words"),
    [({"columns": ["alanine"]}, "at least 3 rows and 2 columns"), ({"columns": ["sample", "valine"]}, "not numbers"),
     ({"linkage": "ward", "distance": "correlation"}, "Ward's linkage"), ({"linkage": "median"}, "no linkage"),
     ({"annotate": "sample"}, "at most 20 groups"), ({"annotate": "diets"}, "did you mean 'diet'"),
     ({"scale": "z"}, "no scale")],
)  # fmt: skip
def test_bad_input_gives_one_clear_sentence(params, words):
    with pytest.raises(ValueError, match=words):
        clustered_heatmap(blocks(), **params)


def test_too_large_a_table_is_refused():
    with pytest.raises(ValueError, match="too many to draw"):
        clustered_heatmap(pd.DataFrame(np.random.default_rng(0).normal(size=(2001, 2)), columns=["a", "b"]))


@pytest.mark.parametrize(
    "params",
    [
        {"annotate": "diet"},
        {"linkage": "ward", "scale": "row"},
        {"distance": "correlation"},
        {"scale": "none", "label": "sample"},
    ],
)
def test_step_runs_from_its_own_source_and_passes_its_checks(params, tmp_path):
    record, _, issues = run_step(clustered_heatmap, {"table": blocks()}, params, tmp_path)
    assert issues == []
    assert params.get("linkage", "average") in " ".join(finding["text"] for finding in record["findings"])


def test_orders_that_differ_are_caught(tmp_path):
    result = clustered_heatmap(blocks())
    tables = {name: result[name] for name in ("row_order", "column_order", "heatmap_table")}
    assert check_issues(["heatmap_orders_complete"], tables, tmp_path) == []
    wrong = tables | {"column_order": tables["column_order"].iloc[::-1]}
    assert check_issues(["heatmap_orders_complete"], wrong, tmp_path) == ["order_differs"]
    wrong = tables | {"row_order": tables["row_order"].iloc[::-1]}
    assert check_issues(["heatmap_orders_complete"], wrong, tmp_path) == ["positions_broken"]


def test_a_plain_question_plans_the_strip_and_the_linkage(tmp_path):
    path = tmp_path / "metabolites.csv"
    blocks().to_csv(path, index=False)
    planner = the_planner()
    plan = planner.plan("clustered heatmap of everything with Ward linkage, bar for diet", profile_files([path])).plan
    step = next(node for node in plan.nodes if node.tool == "clustered_heatmap")
    assert (step.params["annotate"], step.params["linkage"]) == ("diet", "ward")


def test_two_columns_have_no_cophenetic_correlation_and_none_is_said(tmp_path):
    table = pd.DataFrame(np.random.default_rng(2).normal(size=(12, 2)), columns=["a", "b"])
    record, _, issues = run_step(clustered_heatmap, {"table": table}, {}, tmp_path)
    assert not issues
    assert not any("nan" in finding["text"] for finding in record["findings"])
