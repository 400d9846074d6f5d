"""Only some groups compared: the same as comparing a file that holds no others, and SciPy's tests on these groups."""

from __future__ import annotations

import pandas as pd
import pytest
from table_steps import run_step

from engine.toolbox.statistics.groups import compare_groups

# R's data set `InsectSprays` (Beall 1942, Biometrika 32:243): insects left on plots after one of six sprays.
SPRAYS = {"A": [10, 7, 20, 14, 14, 12, 10, 23, 17, 20, 14, 13], "B": [11, 17, 21, 11, 16, 14, 17, 17, 19, 21, 7, 13],
          "C": [0, 1, 7, 2, 3, 1, 2, 1, 3, 0, 1, 4], "D": [3, 5, 12, 6, 4, 3, 5, 5, 5, 5, 2, 4],
          "E": [3, 5, 3, 5, 3, 6, 1, 1, 3, 2, 6, 4], "F": [11, 9, 15, 22, 15, 16, 13, 10, 26, 26, 24, 13]}  # fmt: skip
TABLE = pd.DataFrame(
    [(spray, count) for spray, counts in SPRAYS.items() for count in counts], columns=["spray", "count"]
)


def compared(**params):
    return compare_groups(TABLE, value="count", group="spray", **params)


def test_three_sprays_of_six_are_those_of_a_file_without_the_others():
    found = compared(levels=["A", "B", "F"], test="anova")
    alone = compare_groups(TABLE[TABLE["spray"].isin(list("ABF"))], value="count", group="spray", test="anova")
    pd.testing.assert_frame_equal(found["comparison"], alone["comparison"])
    assert "Rows of other levels of spray were left out: C, D, E." in found["warnings"]
    assert not any("left out" in warning for warning in alone["warnings"])


def test_anova_and_tukey_of_three_sprays_are_scipys():
    from scipy.stats import f_oneway, tukey_hsd

    rows = compared(levels=["A", "B", "F"], test="anova")["comparison"].set_index("comparison")
    samples = [SPRAYS[spray] for spray in "ABF"]
    assert rows.loc["all groups", "p_value"] == pytest.approx(f_oneway(*samples).pvalue)
    tukey = tukey_hsd(*samples).pvalue
    for (i, first), (j, second) in [((0, "A"), (1, "B")), ((0, "A"), (2, "F")), ((1, "B"), (2, "F"))]:
        assert rows.loc[f"{second} vs {first}", "p_adj"] == pytest.approx(tukey[i, j], rel=1e-3)


def test_the_order_of_the_levels_decides_what_is_subtracted():
    for levels in (["A", "C"], ["C", "A"]):
        row = compared(levels=levels)["comparison"].iloc[0]
        assert (row["group_2"], row["group_1"]) == tuple(levels)
        mean = {spray: sum(counts) / 12 for spray, counts in SPRAYS.items()}
        assert row["difference"] == pytest.approx(mean[levels[1]] - mean[levels[0]])


def test_levels_and_a_control_go_together():
    pairs = compared(levels=["f", "A", "B"], control="A")["comparison"]["comparison"].tolist()
    assert sorted(pairs) == ["B vs A", "F vs A", "all groups"]


def test_more_than_forty_groups_are_no_hindrance_when_few_are_named():
    table = pd.DataFrame({"site": [f"s{i}" for i in range(50) for _ in range(3)], "x": range(150)})
    with pytest.raises(ValueError, match="at most 40"):
        compare_groups(table, value="x", group="site")
    rows = compare_groups(table, value="x", group="site", levels=["s1", "s7"])["comparison"]
    assert rows.iloc[0]["difference"] == pytest.approx(18)


def test_pairs_stay_together():
    table = pd.DataFrame({"who": list("abcd") * 3, "when": ["t0"] * 4 + ["t1"] * 4 + ["t2"] * 4,
                          "x": [1, 2, 3, 4, 9, 9, 1, 2, 3, 5, 5, 8.0]})  # fmt: skip
    row = compare_groups(table, value="x", group="when", pair="who", levels=["t0", "t2"])["comparison"].iloc[0]
    assert (row["comparison"], row["n"], row["difference"]) == ("t2 vs t0", 4, pytest.approx(2.75))


@pytest.mark.parametrize(
    ("levels", "words"), [(["A", "G"], "no level 'G'"), (["A"], "1 group"), (["A", "a"], "1 group")]
)
def test_levels_that_cannot_be_compared_are_refused(levels, words):
    with pytest.raises(ValueError, match=words):
        compared(levels=levels)


@pytest.mark.slow
def test_the_lowest_and_the_highest_group_are_named_with_what_they_differ_from():
    findings = compare_groups(TABLE, value="count", group="spray")["findings"]
    ends = {f["values"][0]["name"]: f for f in findings if f["row"].get("group")}
    means = TABLE.groupby("spray")["count"].mean()
    assert ends["lowest"]["row"] == {"group": means.idxmin()}
    assert ends["highest"]["values"][0]["value"] == pytest.approx(means.max())
    rest = ends["lowest"]["text"].partition(": ")[2]
    apart, alike = rest.split(" and not shown to differ from ")
    # Games and Howell's p-values by pingouin 0.5: C-A 6e-6, C-B 7e-7, C-F 3e-5, C-D 0.056, C-E 0.45
    assert all(f"{spray} (" in apart for spray in "ABF")
    assert all(f"{spray} (" in alike for spray in "DE")


@pytest.mark.slow
def test_no_group_is_called_lowest_where_none_is_shown_to_differ():
    same = TABLE.assign(count=[5, 6, 7, 8, 9, 10] * 12)
    findings = compare_groups(same, value="count", group="spray")["findings"]
    assert all("group" not in finding["row"] for finding in findings)


def test_step_runs_from_its_own_source_and_passes_its_checks(tmp_path):
    params = {"value": "count", "group": "spray", "levels": ["A", "B", "F"]}
    record, tables, issues = run_step(compare_groups, {"table": TABLE}, params, tmp_path)
    assert not issues
    assert set(tables["comparison"]["group_1"].dropna()) <= set("ABF")
    assert "the 3 groups of spray (one-way ANOVA of 36 values, p = " in record["findings"][0]["text"]
