"""Corrections by name: Dunnett's against R and a double integral, others against scipy, statsmodels and closed forms."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats
from table_steps import run_step

from engine.toolbox.statistics.anova import anova
from engine.toolbox.statistics.groups import compare_groups
from engine.toolbox.statistics.post_hoc import many_to_one

# R's `PlantGrowth` (Dobson 1983).
PLANTS = pd.DataFrame(
    {
        "weight": [4.17, 5.58, 5.18, 6.11, 4.50, 4.61, 5.17, 4.53, 5.33, 5.14, 4.81, 4.17, 4.41, 3.59, 5.87, 3.83, 6.03,
                   4.89, 4.32, 4.69, 6.31, 5.12, 5.54, 5.50, 5.37, 5.29, 4.92, 6.15, 5.80, 5.26],
        "group": ["ctrl"] * 10 + ["trt1"] * 10 + ["trt2"] * 10,
    }
)  # fmt: skip
# Dunnett (1955): blood counts of animals given two drugs, and the strength of fabric after three processes. P-values and
# intervals are those of R's multcomp::glht, as they stand in scipy/stats/tests/test_multicomp.py; R integrates by
# random points, so its last digits are not exact (0.036407 is 0.036622 by the double integral below).
BLOOD = {"control": [7.40, 8.50, 7.20, 8.24, 9.84, 8.32], "A": [9.76, 8.80, 7.68, 9.36],
         "B": [12.80, 9.68, 12.16, 9.20, 10.55]}  # fmt: skip
FABRIC = {"control": [55, 47, 48], "A": [55, 64, 64], "B": [55, 49, 52], "C": [50, 44, 41]}


def long(samples):
    return pd.DataFrame([(g, x) for g, values in samples.items() for x in values], columns=["group", "y"])


def pairs(result):
    return result["comparison"].dropna(subset=["group_1"]).query("group_1 != ''").set_index("comparison")


def compared(data, value="y", **params):
    return pairs(compare_groups(data, value=value, group="group", **params))


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        (BLOOD, {"A": (0.6201020, -1.2564116, 2.5564116), "B": (0.0058254, 0.8396274, 4.4163726)}),
        (FABRIC, {"A": (0.036407, 0.7529028, 21.2470972), "B": (0.896539, None, None), "C": (0.409295, None, None)}),
    ],
)
def test_dunnetts_own_examples_match_r(samples, expected):
    rows = compared(long(samples), post_hoc="dunnett")
    assert set(rows["test"]) == {"Dunnett's test"}
    assert set(rows["group_2"]) == {"control"}
    reference = stats.dunnett(*(samples[name] for name in expected), control=samples["control"], rng=1)
    for (name, (p, low, high)), other in zip(expected.items(), reference.pvalue, strict=True):
        row = rows.loc[f"{name} vs control"]
        assert row["p_adj"] == pytest.approx(p, abs=3e-4)
        assert row["p_adj"] == pytest.approx(other, abs=5e-4)
        if low is not None:
            assert (row["lower_95"], row["upper_95"]) == pytest.approx((low, high), abs=5e-3)


def one_factor_integral(c, shares, df):
    """Return P(all |T| <= c) for correlations that are products of shares: a double integral over two variables."""

    def given_spread(s):
        def given_control(z):
            scale = np.sqrt(1 - shares**2)
            upper, lower = (c * s + shares * z) / scale, (-c * s + shares * z) / scale
            return np.exp(-z * z / 2) / np.sqrt(2 * np.pi) * np.prod(special.ndtr(upper) - special.ndtr(lower))

        return integrate.quad(given_control, -8, 8, epsabs=1e-9)[0] * stats.chi.pdf(s * np.sqrt(df), df) * np.sqrt(df)

    return integrate.quad(given_spread, 0, 4, epsabs=1e-8)[0]


@pytest.mark.parametrize(
    ("sizes", "control", "df"),
    [
        ((4, 5), 6, 12),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in (((3, 8, 20), 5, 32), ((6, 6, 6, 6), 12, 31))),
    ],
)
def test_dunnetts_distribution_is_the_double_integral(sizes, control, df):
    shares = np.sqrt(np.array(sizes) / (np.array(sizes) + control))
    correlation = np.outer(shares, shares)
    np.fill_diagonal(correlation, 1)
    t = np.linspace(1.2, 3.0, len(sizes))
    p, critical = many_to_one(t, correlation, df)
    assert p == pytest.approx([1 - one_factor_integral(c, shares, df) for c in t], abs=3e-5)
    assert one_factor_integral(critical, shares, df) == pytest.approx(0.95, abs=2e-4)
    again, _ = many_to_one(-t, correlation, df)
    assert again.tolist() == p.tolist()  # seeded: the same numbers each time


def test_far_tails_take_the_bound_of_bonferroni():
    correlation = np.array([[1.0, 0.5], [0.5, 1.0]])
    p, _ = many_to_one([12.0, 0.0], correlation, 20)
    assert p[0] == pytest.approx(2 * 2 * stats.t.sf(12, 20))
    assert p[1] == 1


def test_one_comparison_with_the_control_is_a_plain_t_test():
    p, critical = many_to_one([2.0], np.eye(1), 7)
    assert p[0] == pytest.approx(2 * stats.t.sf(2, 7))
    assert critical == pytest.approx(stats.t.ppf(0.975, 7))


def test_tukey_of_plantgrowth_matches_r():
    # R 4: TukeyHSD(aov(weight ~ group, PlantGrowth)): trt1-ctrl -0.371 (-1.0622161, 0.3202161) 0.3908711; trt2-trt1
    # 0.865, 0.0120064
    rows = compared(PLANTS, "weight", post_hoc="tukey")
    one = rows.loc["trt1 vs ctrl"]
    assert one[["difference", "lower_95", "upper_95"]].tolist() == pytest.approx([-0.371, -1.0622161, 0.3202161])
    assert one["p_adj"] == pytest.approx(0.3908711, rel=1e-5)
    assert rows.loc["trt2 vs trt1", "p_adj"] == pytest.approx(0.0120064, rel=1e-4)
    assert set(rows["test"]) == {"Tukey HSD"}


def test_a_critical_value_is_looked_for_once_where_all_pairs_have_one_spread(monkeypatch):
    asked, search = [], stats.studentized_range.ppf
    monkeypatch.setattr(stats.studentized_range, "ppf", lambda *at: asked.append(at) or search(*at))
    compared(PLANTS, "weight", post_hoc="tukey")
    anova(PLANTS, value="weight", factors=["group"], post_hoc="tukey")
    assert asked == [(0.95, 3, 27), (0.95, 3, 27)]
    compared(PLANTS, "weight", post_hoc="games_howell")
    assert len(asked) == 5


@pytest.mark.parametrize(("post_hoc", "equal"), [("tukey", True), ("games_howell", False)])
def test_tukey_kramer_and_games_howell_agree_with_scipy_on_unequal_groups(post_hoc, equal):
    rng = np.random.default_rng(2)
    samples = {name: rng.normal(m, sd, n) for name, m, sd, n in (("a", 0, 1, 6), ("b", 1, 3, 11), ("c", 3, 2, 19))}
    reference = stats.tukey_hsd(*samples.values(), equal_var=equal)
    interval = reference.confidence_interval(0.95)
    rows = compared(long(samples), post_hoc=post_hoc)
    for i, j in ((1, 0), (2, 0), (2, 1)):
        row = rows.loc[f"{'abc'[i]} vs {'abc'[j]}"]
        assert row["p_adj"] == pytest.approx(reference.pvalue[i, j], rel=1e-4)
        assert row["lower_95"] == pytest.approx(interval.low[i, j], rel=1e-4)
        assert row["upper_95"] == pytest.approx(interval.high[i, j], rel=1e-4)


@pytest.mark.parametrize("test", ["anova", "welch_anova", "kruskal"])
@pytest.mark.parametrize("post_hoc", ["holm", "bonferroni"])
def test_holm_and_bonferroni_correct_the_raw_p_values_of_the_test_named(test, post_hoc):
    from statsmodels.stats.multitest import multipletests

    rows = compared(PLANTS, "weight", post_hoc=post_hoc, test=test)
    assert rows["p_adj"].tolist() == pytest.approx(multipletests(rows["p_value"], method=post_hoc)[1].tolist())
    name = {"anova": "pooled t-test", "welch_anova": "Welch's t-test", "kruskal": "Dunn's test"}[test]
    assert set(rows["test"]) == {f"{name} ({post_hoc.capitalize()})"}
    samples = {name: part["weight"].to_numpy() for name, part in PLANTS.groupby("group")}
    if test == "anova":
        mse = np.mean([x.var(ddof=1) for x in samples.values()])
        t = (samples["trt2"].mean() - samples["trt1"].mean()) / np.sqrt(mse / 5)
        assert rows.loc["trt2 vs trt1", "p_value"] == pytest.approx(2 * stats.t.sf(abs(t), 27))
        level = 0.025 / 3 if post_hoc == "bonferroni" else 0.025
        half = stats.t.isf(level, 27) * np.sqrt(mse / 5)
        assert rows.loc["trt2 vs trt1", "upper_95"] == pytest.approx(0.865 + half)
    if test == "welch_anova":
        welch = stats.ttest_ind(samples["trt2"], samples["trt1"], equal_var=False)
        assert rows.loc["trt2 vs trt1", "p_value"] == pytest.approx(welch.pvalue)


def test_dunns_test_is_asked_for_by_name():
    rows = compared(PLANTS, "weight", post_hoc="dunn")
    # No ties but one pair: z of mean ranks with the variance of ranks, by hand
    ranks = PLANTS["weight"].rank()
    means = ranks.groupby(PLANTS["group"]).mean()
    z = (means["trt2"] - means["trt1"]) / np.sqrt(ranks.var(ddof=1) * 2 / 10)
    assert rows.loc["trt2 vs trt1", "p_value"] == pytest.approx(2 * stats.norm.sf(abs(z)), rel=1e-6)
    assert set(rows["test"]) == {"Dunn's test (Holm)"}


def test_auto_is_what_it_was():
    assert set(compared(PLANTS, "weight")["test"]) == {"Tukey HSD"}
    assert set(compared(PLANTS, "weight", control="ctrl")["test"]) == {"pooled t-test (Holm)"}


def test_two_of_three_groups_keep_the_family_of_all():
    whole = compared(PLANTS, "weight", post_hoc="tukey")
    two = compared(PLANTS, "weight", post_hoc="tukey", treated="trt2", control="trt1")
    assert two.index.tolist() == ["trt2 vs trt1"]
    assert two["p_adj"].iloc[0] == pytest.approx(whole.loc["trt2 vs trt1", "p_adj"])
    result = compare_groups(PLANTS, value="weight", group="group", post_hoc="dunnett", treated="trt2", control="trt1")
    assert set(pairs(result)["group_2"]) == {"trt1"}
    assert any("compares all groups with trt1, not trt2 alone" in text for text in result["warnings"])


def test_what_corrections_cannot_do_is_said():
    with pytest.raises(ValueError, match="name the control"):
        compared(long({"a": [1, 2, 4], "b": [2, 3, 7], "c": [1, 5, 6]}), post_hoc="dunnett")
    with pytest.raises(ValueError, match="are of means, and the test 'kruskal' is not") as error:
        compared(PLANTS, "weight", post_hoc="tukey", test="kruskal")
    (repair,) = compare_groups.tool_spec.repairs
    assert re.search(repair.pattern, str(error.value))
    paired = PLANTS.assign(plot=list(range(10)) * 3)
    with pytest.raises(ValueError, match="take independent groups") as error:
        compared(paired, "weight", post_hoc="tukey", pair="plot")
    assert re.search(repair.pattern, str(error.value))
    with pytest.raises(ValueError, match="no correction post_hoc 'scheffe'"):
        compared(PLANTS, "weight", post_hoc="scheffe")
    welch = compare_groups(PLANTS, value="weight", group="group", post_hoc="tukey", test="welch_anova")
    assert any("share one spread" in text for text in welch["warnings"])
    two = PLANTS[PLANTS["group"] != "trt1"]
    one = compare_groups(two, value="weight", group="group", post_hoc="dunnett")
    assert any("nothing to correct for" in text for text in one["warnings"])
    rows = compared(paired, "weight", post_hoc="bonferroni", pair="plot")
    assert rows["p_adj"].tolist() == pytest.approx(np.minimum(1, 3 * rows["p_value"]).tolist())


@pytest.mark.parametrize("post_hoc", ["tukey", "games_howell", "dunnett", "holm", "bonferroni", "dunn"])
def test_steps_run_from_their_source_and_say_their_correction(tmp_path, post_hoc):
    params = {"value": "weight", "group": "group", "post_hoc": post_hoc}
    record, tables, issues = run_step(compare_groups, {"table": PLANTS}, params, tmp_path)
    assert not issues
    name = tables["comparison"]["test"].iloc[-1]
    assert post_hoc.split("_")[0] in name.lower()
    assert name in record["findings"][0]["text"]
    assert name in record["findings"][1]["text"]


@settings(max_examples=5, deadline=None)
@given(st.floats(0.01, 100), st.floats(-50, 50), st.integers(0, 10**6))
def test_units_row_order_and_names_change_no_p_value_of_dunnett(scale, shift, seed):
    shuffled = PLANTS.sample(frac=1, random_state=seed)
    other = shuffled.assign(
        weight=shuffled["weight"] * scale + shift, group=shuffled["group"].replace({"trt1": "zz", "trt2": "aa"})
    )
    one, two = (compared(data, "weight", post_hoc="dunnett") for data in (PLANTS, other))
    assert two.loc["zz vs ctrl", "p_adj"] == pytest.approx(one.loc["trt1 vs ctrl", "p_adj"], abs=2e-5)
    assert two.loc["aa vs ctrl", "difference"] == pytest.approx(one.loc["trt2 vs ctrl", "difference"] * scale)


# ==== the same words for factors of an analysis of variance ====


def test_dunnett_of_one_factor_is_that_of_groups():
    factor = anova(PLANTS, value="weight", factors=["group"], post_hoc="dunnett")["post_hoc"].set_index("comparison")
    rows = compared(PLANTS, "weight", post_hoc="dunnett")
    for name in ("trt1", "trt2"):
        one, other = factor.loc[f"group: {name} vs ctrl"], rows.loc[f"{name} vs ctrl"]
        for column in ("p_adj", "lower_95", "upper_95"):
            assert one[column] == pytest.approx(other[column], abs=2e-4)
    assert set(factor["test"]) == {"Dunnett (2 comparisons)"}


def test_dunnett_of_adjusted_means_takes_their_correlations():
    # An unbalanced design, whose correlations are no products: the maximum of |t| simulated from the design itself
    rng = np.random.default_rng(4)
    data = pd.DataFrame({"drug": rng.choice(["control", "a", "b"], 34, p=[0.2, 0.5, 0.3]),
                         "age": rng.normal(50, 9, 34), "site": rng.choice(list("xyz"), 34, p=[0.6, 0.3, 0.1])})  # fmt: skip
    data["y"] = rng.normal(size=34) + 0.9 * (data["drug"] == "a") + 0.02 * data["age"]
    params = {"value": "y", "factors": ["drug", "site", "age"], "continuous": ["age"], "interaction": False}
    result = anova(data, **params, post_hoc="dunnett")
    x = np.column_stack([np.ones(34), data["drug"] == "a", data["drug"] == "b", data["site"] == "y",
                         data["site"] == "z", data["age"]]).astype(float)  # fmt: skip
    inverse = np.linalg.inv(x.T @ x)
    noise = rng.normal(size=(100_000, 34))
    beta = noise @ x @ inverse
    spread = ((noise - beta @ x.T) ** 2).sum(axis=1) / 28
    largest = np.abs(beta[:, 1:3] / np.sqrt(np.outer(spread, np.diag(inverse)[1:3]))).max(axis=1)
    rows = result["post_hoc"].query("factor == 'drug'")
    for _, row in rows.iterrows():
        assert row["p_adj"] == pytest.approx((largest >= abs(row["statistic"])).mean(), abs=0.006)
    assert set(result["post_hoc"].query("factor == 'site'")["test"]) == {"Tukey (3 levels)"}
    assert any("site is called like a control" in text for text in result["warnings"])


def test_factors_take_holm_bonferroni_and_a_named_control(tmp_path):
    from statsmodels.stats.multitest import multipletests

    for name in ("holm", "bonferroni"):
        rows = anova(PLANTS, value="weight", factors=["group"], post_hoc=name)["post_hoc"]
        assert rows["p_adj"].tolist() == pytest.approx(multipletests(rows["p_value"], method=name)[1].tolist())
        assert set(rows["test"]) == {f"{name.capitalize()} (3 comparisons)"}
    params = {"value": "weight", "factors": ["group"], "post_hoc": "dunnett", "control": "trt2"}
    record, tables, issues = run_step(anova, {"table": PLANTS}, params, tmp_path)
    assert not issues
    assert set(tables["post_hoc"]["group_2"]) == {"trt2"}
    assert any("Dunnett-adjusted" in finding["text"] for finding in record["findings"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"post_hoc": "games_howell"}, "no correction post_hoc 'games_howell'"),
        ({"post_hoc": "dunnett", "control": "water"}, "has a level 'water'"),
        ({"post_hoc": "dunnett", "value": "weight", "factors": ["other"]}, "name the control"),
    ],
)
def test_corrections_that_factors_cannot_have_are_refused(change, message):
    data = PLANTS.assign(other=PLANTS["group"].replace({"ctrl": "trt0"}))
    with pytest.raises(ValueError, match=message):
        anova(data, **({"value": "weight", "factors": ["group"]} | change))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("with Tukey's HSD", "tukey"),
        ("Dunnett against the control", "dunnett"),
        ("use dunnet's test", "dunnett"),
        ("Bonferroni corrected", "bonferroni"),
        ("Holm-Bonferroni", "holm"),
        ("Bonferroni-Holm correction", "holm"),
        ("Dunn's test", "dunn"),
        ("Games-Howell", "games_howell"),
        ("Holm-Sidak", None),
    ],
)
def test_what_people_say_names_the_correction(text, value):
    (param,) = [p for p in compare_groups.tool_spec.params if p.name == "post_hoc"]
    said = [line.partition(":")[::2] for line in param.words]
    found = [name for name, pattern in said if re.search(rf"\b(?:{pattern.strip()})", text, re.IGNORECASE)]
    assert (found[0] if found else None) == value
