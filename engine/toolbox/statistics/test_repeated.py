"""Repeated measures against Winer (1991), Hollander and Wolfe (1973), Box's epsilon and a paired t-test."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from table_steps import check_issues, run_step

from engine.toolbox.statistics.repeated import repeated_measures

# Winer, Brown & Michels (1991), Statistical principles in experimental design, table 4.3: five people, four drugs
WINER = pd.DataFrame(
    [[30, 28, 16, 34], [14, 18, 10, 22], [24, 20, 18, 30], [38, 34, 20, 44], [26, 28, 14, 30]],
    columns=["drug.1", "drug.2", "drug.3", "drug.4"],
)
# Hollander & Wolfe (1973) p. 140 (?friedman.test): seconds to round first base, three methods
BASES = np.array(
    [[5.40, 5.50, 5.55], [5.85, 5.70, 5.75], [5.20, 5.60, 5.50], [5.55, 5.50, 5.40], [5.90, 5.85, 5.70],
     [5.45, 5.55, 5.60], [5.40, 5.40, 5.35], [5.45, 5.50, 5.35], [5.25, 5.15, 5.00], [5.85, 5.80, 5.70],
     [5.25, 5.20, 5.10], [5.65, 5.55, 5.45], [5.60, 5.35, 5.45], [5.05, 5.00, 4.95], [5.50, 5.50, 5.40],
     [5.45, 5.55, 5.50], [5.55, 5.55, 5.35], [5.45, 5.50, 5.55], [5.50, 5.45, 5.25], [5.65, 5.60, 5.40],
     [5.70, 5.65, 5.55], [6.30, 6.30, 6.25]]
)  # fmt: skip


def long_form(wide, names=None):
    wide = np.asarray(wide, dtype=float)
    names = names or [f"t{j + 1}" for j in range(wide.shape[1])]
    rows = [(f"s{i + 1}", names[j], wide[i, j]) for i in range(wide.shape[0]) for j in range(wide.shape[1])]
    return pd.DataFrame(rows, columns=["animal", "week", "mass (g)"])


LONG = {"value": "mass (g)", "within": "week", "subject": "animal"}


def box_epsilon(wide):
    """Return Box's epsilon by its own formula of the covariance matrix (Box 1954)."""
    s = np.cov(wide, rowvar=False)
    k = len(s)
    top = k**2 * (np.diag(s).mean() - s.mean()) ** 2
    return top / ((k - 1) * ((s**2).sum() - 2 * k * (s.mean(axis=1) ** 2).sum() + k**2 * s.mean() ** 2))


def test_winers_drugs_match_the_published_table(tmp_path):
    # Winer and others: F = 24.76 (3, 12), sums of squares 698.2 (drugs), 680.8 (people), 112.8 (residual).
    # Stata's manual of anova, the same data: Greenhouse-Geisser epsilon 0.6049, p = 0.0006
    record, tables, issues = run_step(repeated_measures, {"table": WINER}, {"columns": list(WINER)}, tmp_path)
    row = tables["tests"].iloc[0]
    assert not issues
    assert row["statistic"] == pytest.approx(24.76, abs=5e-3)
    assert (row["df"], row["df_2"], row["n"]) == (3, 12, 5)
    assert row["epsilon"] == pytest.approx(0.6049, abs=5e-5)
    assert row["epsilon"] == pytest.approx(box_epsilon(WINER))
    assert row["p_value"] == pytest.approx(0.0006, abs=5e-5)
    assert row["effect_size"] == pytest.approx(698.2 / (698.2 + 680.8 + 112.8), abs=1e-5)
    assert row["partial_eta_squared"] == pytest.approx(698.2 / (698.2 + 112.8), abs=1e-5)
    assert len(tables["comparison"]) == 6
    assert record["findings"][0]["text"].startswith("drug differs between the 4 levels")
    told = "): mean 26.4 at drug.1, 25.6 at drug.2, 15.6 at drug.3 and 32.0 at drug.4; "
    assert told in record["findings"][0]["text"]


def test_long_and_wide_form_agree():
    wide = repeated_measures(WINER, columns=list(WINER))
    long = repeated_measures(long_form(WINER).sample(frac=1, random_state=3), **LONG)
    assert long["tests"].loc[0, "statistic"] == pytest.approx(wide["tests"].loc[0, "statistic"])
    assert long["means"]["mean"].tolist() == pytest.approx(wide["means"]["mean"].tolist())


def test_two_levels_are_a_paired_comparison_later_minus_earlier():
    result = repeated_measures(long_form(WINER), **LONG, levels=["t4", "t2"], method="anova")
    reference = stats.ttest_rel(WINER["drug.2"], WINER["drug.4"])
    row, test = result["comparison"].iloc[0], result["tests"].iloc[0]
    assert (row["group_1"], row["group_2"]) == ("t2", "t4")
    assert row["statistic"] == pytest.approx(reference.statistic)
    assert row["p_value"] == row["p_adj"] == pytest.approx(reference.pvalue)
    assert test["statistic"] == pytest.approx(reference.statistic**2)
    assert (test["epsilon"], test["p_value"]) == pytest.approx((1, reference.pvalue))
    assert len(result["findings"]) == 1
    assert any("left out: t1, t3" in text for text in result["warnings"])


def test_friedman_matches_hollander_and_wolfe(tmp_path):
    # R 4: Friedman chi-squared = 11.143, df = 2, p-value = 0.003805; W = chi-squared / (n (k - 1))
    params = {**LONG, "method": "friedman"}
    record, tables, issues = run_step(repeated_measures, {"table": long_form(BASES)}, params, tmp_path)
    row = tables["tests"].iloc[0]
    assert not issues
    assert (row["statistic"], row["p_value"]) == pytest.approx((11.143, 0.003805), rel=1e-4)
    assert row["effect_size"] == pytest.approx(11.143 / 44, rel=1e-4)
    assert set(tables["comparison"]["test"]) == {"Wilcoxon signed-rank test (Holm)"}
    assert "Kendall W" in record["findings"][0]["text"]


def test_within_subject_intervals_follow_morey():
    # Morey (2008): normalise each subject to the grand mean, widen by k / (k - 1)
    means = repeated_measures(WINER, columns=list(WINER))["means"]
    x = WINER.to_numpy(dtype=float)
    y = x - x.mean(axis=1)[:, None] + x.mean()
    half = stats.t.ppf(0.975, 4) * np.sqrt(y.var(axis=0, ddof=1) * 4 / 3 / 5)
    assert (means["upper_95"] - means["mean"]).tolist() == pytest.approx(half.tolist())


def test_holm_is_over_all_pairs():
    table = repeated_measures(WINER, columns=list(WINER), method="anova")["comparison"]
    p = table["p_value"].to_numpy()
    raw = [stats.ttest_rel(WINER[b], WINER[a]).pvalue for a, b in zip(table["group_2"], table["group_1"], strict=True)]
    assert p.tolist() == pytest.approx(raw)
    assert table["p_adj"].tolist() == pytest.approx(np.maximum.accumulate(np.minimum(1, p * np.arange(6, 0, -1))))


def test_incomplete_subjects_and_duplicates_are_counted(tmp_path):
    data = long_form(WINER)
    data.loc[2, "mass (g)"] = None
    twice = data.iloc[[7]].assign(**{"mass (g)": 26.0})
    table = pd.concat([data, twice])
    record, tables, issues = run_step(repeated_measures, {"table": table}, LONG, tmp_path)
    assert not issues
    assert (tables["tests"].loc[0, "n"], tables["tests"].loc[0, "n_left_out"]) == (4, 1)
    assert tables["means"].set_index("occasion").loc["t4", "mean"] == pytest.approx((24 + 30 + 44 + 30) / 4)
    said = " ".join(record["warnings"])
    assert "1 of 5 subjects lack an occasion and were left out: s1" in said
    assert "1 repeated measurements" in said


@pytest.mark.parametrize(("subject", "named"), [("", "row 3"), ("who", "c")])
def test_incomplete_rows_of_the_wide_form_are_named(subject, named):
    data = WINER.astype(float).assign(who=list("abcde"))
    data.loc[2, "drug.2"] = None
    result = repeated_measures(data, columns=list(WINER), subject=subject)
    assert result["tests"].loc[0, "n"] == 4
    assert any(f"1 of 5 subjects lack an occasion and were left out: {named}." in text for text in result["warnings"])


def test_baseline_comes_first_and_numbers_in_their_order():
    data = long_form(WINER, ["week 10", "week 2", "baseline", "week 1"])
    names = repeated_measures(data, **LONG)["means"]["occasion"].tolist()
    assert names == ["baseline", "week 1", "week 2", "week 10"]


def test_auto_takes_ranks_for_a_far_outlier_and_says_so():
    wide = np.random.default_rng(2).normal(size=(12, 3))
    wide[0, 1] = 60
    result = repeated_measures(long_form(wide), **LONG)
    assert result["tests"].loc[0, "test"] == "Friedman test"
    assert any("Ranks were used" in text for text in result["warnings"])


@pytest.mark.parametrize("k", [2, 3])
def test_constant_changes_need_ranks(k):
    wide = np.arange(8.0)[:, None] + 0.1 * np.arange(k)
    with pytest.raises(ValueError, match="no spread to use"):
        repeated_measures(long_form(wide), **LONG, method="anova")
    result = repeated_measures(long_form(wide), **LONG)
    assert result["tests"].loc[0, "effect_size"] == pytest.approx(1)
    assert result["comparison"]["p_value"].between(0, 0.05).all()


@pytest.mark.parametrize(
    ("data", "params", "message"),
    [
        (long_form(WINER), {"value": "mass (g)", "within": "week"}, "Name the columns"),
        (long_form(WINER), {**LONG, "columns": ["week", "animal"]}, "expected one form"),
        (long_form(WINER), {**LONG, "subject": "week"}, "three different columns"),
        (long_form(WINER), {**LONG, "levels": ["t1"]}, "1 level"),
        (long_form(WINER), {**LONG, "levels": ["t1", "t9"]}, "no level 't9'"),
        (long_form(WINER[:2]), LONG, "Only 2 of 2 subjects"),
        (long_form(WINER).assign(animal=range(20)), LONG, "occurs once"),
        (long_form(WINER).assign(**{"mass (g)": "heavy"}), LONG, "not numbers"),
        (long_form(WINER * 0), LONG, "no difference to test"),
        (WINER, {"columns": ["drug.1"]}, "Only one column"),
        (WINER.assign(**{"drug.1": None}), {"columns": list(WINER)}, "no values at all"),
    ],
)
def test_bad_input_is_refused_in_words(data, params, message):
    with pytest.raises(ValueError, match=message):
        repeated_measures(data, **params)


def test_check_finds_an_impossible_epsilon(tmp_path):
    made = pd.DataFrame({"levels": [3, 3], "epsilon": [0.4, 0.8]})
    assert check_issues(["sphericity_correction_in_bounds"], {"tests": made}, tmp_path) == ["epsilon_out_of_bounds"]


@settings(max_examples=10, deadline=None)
@given(arrays(float, st.tuples(st.integers(5, 9), st.integers(3, 5)), elements=st.integers(-30, 30)), st.data())
def test_subject_offsets_and_units_change_no_test(wide, data):
    assume(len(np.unique(np.diff(wide, axis=1), axis=0)) > 1)
    offsets = np.array(data.draw(st.lists(st.integers(-50, 50), min_size=len(wide), max_size=len(wide))))[:, None]
    one = repeated_measures(long_form(wide), **LONG, method="anova")["tests"].iloc[0]
    two = repeated_measures(long_form(2.5 * wide + offsets), **LONG, method="anova")["tests"].iloc[0]
    for key in ("statistic", "epsilon", "p_value", "partial_eta_squared"):
        assert two[key] == pytest.approx(one[key], rel=1e-6, abs=1e-9)
    assert one["epsilon"] == pytest.approx(box_epsilon(wide), rel=1e-6)
