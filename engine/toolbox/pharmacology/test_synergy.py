"""Two drugs together against grids that are additive by construction, formulas by hand, and another root search."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plan_questions import profile_files, the_planner
from scipy import stats
from scipy.optimize import brentq, curve_fit
from table_steps import check_issues, run_step

from engine.toolbox.pharmacology.synergy import drug_synergy
from engine.toolbox.pharmacology.synergy_models import fit_single, loewe_effect

A, B = np.array([0, 1, 3, 10, 30, 100.0]), np.array([0, 0.1, 0.3, 1, 3, 10.0])
NAMES = {"dose_a": "drugA", "dose_b": "drugB", "response": "viability"}
FEW = {"resamples": 100}


def hill(dose, half, slope=1.0, top=1.0):
    dose = np.asarray(dose, dtype=float)
    return top * dose**slope / (dose**slope + half**slope)


def alone(a, b):
    return hill(a, 20, 1.2), hill(b, 1.5, 1.0, 0.9)


def bliss(a, b):
    fa, fb = alone(a, b)
    return fa + fb - fa * fb


def wells(effect=bliss, noise=0.0, plates=1, seed=0, boost=0.0, doses=(A, B)):
    """Return wells of every dose pair in percent viability; `boost` is the share of what is left that is lost too."""
    a, b = (x.ravel() for x in np.meshgrid(*doses))
    f = effect(a, b)
    f = np.where((a > 0) & (b > 0), f + boost * (1 - f), f)
    rng = np.random.default_rng(seed)
    parts = [
        pd.DataFrame({"drugA": a, "drugB": b, "viability": 100 * (1 - f) + noise * rng.normal(size=len(a)), "plate": k})
        for k in range(plates)
    ]
    return pd.concat(parts, ignore_index=True)


def summary(result, curve="all"):
    table = result["summary"]
    return table[table["curve"] == curve].set_index("model")


# ==== additive by construction ====


def test_drugs_that_ignore_each_other_have_no_bliss_excess():
    result = drug_synergy(wells(), **NAMES, **FEW)
    assert result["pairs"]["bliss_excess"].tolist() == pytest.approx([0.0] * 25, abs=1e-9)
    assert result["pairs"]["bliss_p_adj"].min() > 0.5
    assert not summary(result).loc["Bliss", "p_value"] < 0.99


@pytest.mark.parametrize("top", [1.0, 0.8])
def test_a_drug_with_itself_is_loewe_additive(top):
    doses = np.array([0, 1, 2, 4, 8, 16, 32.0])
    table = wells(lambda a, b: hill(a + b, 6, 1.7, top), doses=(doses, doses))
    result = drug_synergy(table, **NAMES, **FEW)
    assert result["pairs"]["loewe_excess"].tolist() == pytest.approx([0.0] * 36, abs=1e-3)
    assert result["pairs"]["combination_index"].tolist() == pytest.approx([1.0] * 36, abs=2e-3)
    row = summary(result).loc["Loewe"]
    assert row[["pairs", "pairs_above", "pairs_below"]].tolist() == [36, 0, 0]
    assert row["combination_index"] == pytest.approx(1, abs=1e-3)


def test_a_drug_with_its_own_dilution_is_loewe_additive():
    table = wells(lambda a, b: hill(a + 12 * b, 15, 0.8, 0.95))
    result = drug_synergy(table, **NAMES, **FEW)
    assert result["pairs"]["loewe_excess"].tolist() == pytest.approx([0.0] * 25, abs=1e-5)


def test_loewe_effect_is_that_of_another_root_search():
    first, second = (0.95, np.log(20), np.log(1.4)), (0.7, np.log(1.5), np.log(0.8))
    a, b = (x.ravel() for x in np.meshgrid([1, 5, 10.0], [0.1, 0.5, 1]))

    def dose(theta, f):
        return np.exp(theta[1]) * (f / (theta[0] - f)) ** (1 / np.exp(theta[2]))

    expected = [
        brentq(lambda f, x=x, z=z: x / dose(first, f) + z / dose(second, f) - 1, 1e-9, 0.7 - 1e-12)
        for x, z in zip(a, b, strict=True)
    ]
    assert loewe_effect(first, second, a, b).tolist() == pytest.approx(expected, abs=1e-9)
    assert np.isnan(loewe_effect(first, second, np.array([500.0]), np.array([1.0])))[0]


def test_single_agent_curves_are_scipys():
    rng, dose = np.random.default_rng(1), np.array([1, 3, 10, 30, 100, 300.0])
    f, n = hill(dose, 20, 1.3, 0.8) + rng.normal(0, 0.03, 6), np.array([3, 3, 3, 2, 3, 1])
    theta, sse = fit_single(dose, f, n)
    best, _ = curve_fit(hill, dose, f, p0=[20, 1, 0.9], sigma=n**-0.5)
    assert [theta[0], *np.exp(theta[1:])] == pytest.approx(best[[2, 0, 1]].tolist(), rel=1e-4)
    assert sse == pytest.approx((n * (f - hill(dose, *best)) ** 2).sum(), rel=1e-6)


# ==== formulas and intervals ====


@pytest.mark.slow
def test_bliss_and_hsa_are_their_formulas_on_means():
    table = wells(noise=5, plates=2, boost=0.2).drop(columns="plate")
    result = drug_synergy(table, **NAMES, **FEW)
    means = table.groupby(["drugA", "drugB"])["viability"].mean()
    left = means / means[(0, 0)]
    for row in result["pairs"].to_dict("records"):
        both = 100 * (1 - left[(row["dose_a"], row["dose_b"])])
        one, other = left[(row["dose_a"], 0)], left[(0, row["dose_b"])]
        assert row["bliss_excess"] == pytest.approx(both - 100 * (1 - one * other))
        assert row["hsa_excess"] == pytest.approx(both - 100 * (1 - min(one, other)))
    assert summary(result).loc["Bliss", "mean_excess"] == pytest.approx(result["pairs"]["bliss_excess"].mean())


def test_colbys_expectation_is_bliss():
    # Colby (1967): E = X + Y - X Y / 100 percent; 40 and 60 percent alone are 76 together
    table = pd.DataFrame({"a": [0, 1, 0, 1], "b": [0, 0, 1, 1], "inhibition": [0, 40, 60, 90.0]})
    result = drug_synergy(table, dose_a="a", dose_b="b", response="inhibition")
    row = result["pairs"].iloc[0]
    assert row[["bliss_expected", "bliss_excess", "hsa_excess"]].tolist() == pytest.approx([76, 14, 30])
    assert any("no interval can be given" in text for text in result["warnings"])
    assert any("Loewe additivity is not defined" in text for text in result["warnings"])


def test_three_plates_give_a_t_interval_over_plates():
    table = wells(noise=4, plates=4, boost=0.3, seed=2)
    result = drug_synergy(table, **NAMES, replicate="plate")
    found = []
    for _, plate in table.groupby("plate"):
        grid = plate.set_index(["drugA", "drugB"])["viability"]
        left = (grid / grid[(0, 0)]).unstack()
        expected = np.outer(left[0.0].iloc[1:], left.loc[0.0].iloc[1:])
        found.append(100 * (expected - left.iloc[1:, 1:].to_numpy()).mean())
    limits = stats.t.interval(0.95, 3, np.mean(found), stats.sem(found))
    row = summary(result).loc["Bliss"]
    assert row[["mean_excess", "lower_95", "upper_95"]].tolist() == pytest.approx([np.mean(found), *limits])
    assert row["p_value"] == pytest.approx(stats.ttest_1samp(found, 0).pvalue)
    assert row["interval_from"] == "plates"


@pytest.mark.slow
def test_resampled_intervals_are_as_wide_as_the_delta_method_says():
    table = wells(noise=4, plates=3, seed=3).drop(columns="plate")
    row = summary(drug_synergy(table, **NAMES, resamples=800)).loc["Bliss"]
    means = table.groupby(["drugA", "drugB"])["viability"].mean()
    pooled = table.groupby(["drugA", "drugB"])["viability"].var().mean()

    def mean_excess(values):
        left = (values / values[(0, 0)]).unstack()
        return 100 * (np.outer(left[0.0].iloc[1:], left.loc[0.0].iloc[1:]) - left.iloc[1:, 1:].to_numpy()).mean()

    slopes = [(mean_excess(means + 1e-4 * (means.index == key)) - mean_excess(means)) / 1e-4 for key in means.index]
    half = stats.t.ppf(0.975, 72) * np.sqrt(np.square(slopes).sum() * pooled / 3)
    assert (row["upper_95"] - row["lower_95"]) / 2 == pytest.approx(half, rel=0.1)
    assert row["interval_from"] == "wells"


def test_without_repeats_intervals_rest_on_the_curves():
    result = drug_synergy(wells(noise=3, boost=0.35, seed=1).drop(columns="plate"), **NAMES, **FEW)
    assert set(result["summary"]["interval_from"]) == {"curves"}
    assert any("no dose pair was repeated" in text for text in result["warnings"])
    assert summary(result).loc["Bliss", "p_value"] < 0.05


# ==== what is said ====


def test_the_sentence_has_direction_size_and_the_other_references():
    more = drug_synergy(wells(noise=2, plates=4, boost=0.4), **NAMES)["findings"]
    assert more[0]["text"].startswith(
        "Synergy by Bliss independence, which assumes that the drugs act independently of each other: drugA with drugB does "
    )
    assert "more than the better of the two alone" in more[0]["text"]
    assert "more than what Loewe additivity expects" in more[0]["text"]
    assert "furthest above Bliss" in more[-1]["text"]
    less = drug_synergy(wells(noise=2, plates=4, boost=-0.4), **NAMES)["findings"]
    assert less[0]["text"].startswith("Antagonism by Bliss independence")
    assert "points of effect less" in less[0]["text"]
    assert "furthest below Bliss" in less[-1]["text"]
    same = drug_synergy(wells(noise=4, plates=4, seed=5), **NAMES)["findings"]
    assert "neither synergy nor antagonism is shown by Bliss independence" in same[0]["text"]
    assert "but synergy against Loewe additivity" in same[0]["text"]


@pytest.mark.slow
def test_a_drug_without_effect_has_no_loewe_additivity():
    def effect(a, b):
        return hill(a, 20 / (1 + b), 1.2)  # the second drug only makes the first stronger

    result = drug_synergy(wells(effect, noise=2, plates=3), **NAMES, **FEW)
    assert "Loewe" not in set(result["summary"]["model"])
    assert any("not defined for drugB: alone it shows no effect" in text for text in result["warnings"])
    assert summary(result).loc["Bliss", "mean_excess"] > 10
    partial = drug_synergy(wells(lambda a, b: np.maximum(hill(a, 5), hill(b, 1, 1, 0.5))), **NAMES, **FEW)
    assert any("50 % that the weaker drug reaches alone" in text for text in partial["warnings"])
    assert partial["pairs"]["loewe_excess"].isna().any()


@pytest.mark.slow
def test_doses_not_given_alone_and_odd_scales_are_said():
    table = wells(noise=2, plates=2).query("not (drugA == 10 and drugB == 0)")
    result = drug_synergy(table, **NAMES, **FEW)
    assert any("5 of 25 dose pairs have a dose that was not given alone" in text for text in result["warnings"])
    assert result["pairs"]["bliss_excess"].isna().sum() == 5
    assert result["pairs"]["loewe_excess"].notna().sum() > 15
    logs = wells(noise=2, plates=2).rename(columns={"viability": "log_CFU"})
    assert any("logarithms" in w for w in drug_synergy(logs, **(NAMES | {"response": "log_CFU"}), **FEW)["warnings"])
    odd = wells().assign(viability=lambda t: 150 - t["viability"])
    assert any("rises with the doses but was read as survival" in w for w in drug_synergy(odd, **NAMES)["warnings"])


@pytest.mark.slow
def test_cell_lines_are_judged_apart_and_a_hidden_one_is_said():
    both = pd.concat([wells(noise=3, plates=3, boost=0.4).assign(line="x"), wells(noise=3, plates=3).assign(line="y")])
    result = drug_synergy(both, **NAMES, group="line", **FEW)
    apart = drug_synergy(both.query("line == 'x'"), **NAMES, **FEW)
    assert summary(result, "x")["mean_excess"].tolist() == pytest.approx(summary(apart)["mean_excess"].tolist())
    assert summary(result, "y").loc["Bliss", "mean_excess"] < summary(result, "x").loc["Bliss", "mean_excess"] - 5
    assert any("by line" in text for text in drug_synergy(both, **NAMES, **FEW)["warnings"])


# ==== properties ====


@pytest.mark.slow
@pytest.mark.parametrize("form", ["fraction", "signal", "inhibition", "inhibition share"])
def test_the_scale_of_the_response_does_not_matter(form):
    table = wells(noise=3, plates=3, boost=0.3)
    table["viability"] *= 100 / table.groupby("plate")["viability"].transform("first")
    plain = drug_synergy(table, **NAMES)
    forms = {
        "fraction": ("viability", table["viability"] / 100),
        "signal": ("luminescence", table["viability"] * 431.7),
        "inhibition": ("inhibition", 100 - table["viability"]),
        "inhibition share": ("inhibition", 1 - table["viability"] / 100),
    }
    name, values = forms[form]
    other = drug_synergy(table.assign(**{name: values}), **(NAMES | {"response": name}))
    for key in ("mean_excess", "lower_95", "p_value"):
        assert other["summary"][key].tolist() == pytest.approx(plain["summary"][key].tolist(), rel=1e-5, abs=1e-8)


@pytest.mark.slow
@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 10**6), factors=st.tuples(st.floats(1e-4, 1e4), st.floats(1e-4, 1e4)))
def test_units_order_and_names_of_the_drugs_do_not_matter(seed, factors):
    table = wells(noise=4, plates=3, boost=0.2, seed=seed)
    plain = summary(drug_synergy(table, **NAMES))
    mixed = table.sample(frac=1, random_state=seed % 997)
    mixed["drugA"], mixed["drugB"] = mixed["drugA"] * factors[0], mixed["drugB"] * factors[1]
    swapped = NAMES | {"dose_a": "drugB", "dose_b": "drugA"}
    for given_names in (NAMES, swapped):
        other = summary(drug_synergy(mixed, **given_names))
        assert other["mean_excess"].tolist() == pytest.approx(plain["mean_excess"].tolist(), rel=1e-3, abs=1e-3)
        assert other["upper_95"].tolist() == pytest.approx(plain["upper_95"].tolist(), rel=1e-2, abs=1e-2)


@pytest.mark.slow
def test_row_order_does_not_change_resampled_intervals_and_the_seed_fixes_them():
    table = wells(noise=4, plates=2, seed=8).drop(columns="plate")
    one = summary(drug_synergy(table, **NAMES, **FEW))
    two = summary(drug_synergy(table, **NAMES, **FEW))
    pd.testing.assert_frame_equal(one, two)
    other = summary(drug_synergy(table.sample(frac=1, random_state=1), **NAMES, resamples=300))
    width = one["upper_95"] - one["lower_95"]
    assert ((other["upper_95"] - other["lower_95"]) / width).tolist() == pytest.approx([1, 1, 1], abs=0.25)


# ==== bad input, the step, the plan ====

BAD = {
    "no single A": ("drugB > 0 or drugA == 0", {}, "no row gives drugA alone"),
    "no single B": ("drugA > 0 or drugB == 0", {}, "no row gives drugB alone"),
    "one drug": ("drugB == 0", {}, "only one drug"),
    "never both": ("drugA == 0 or drugB == 0", {}, "together"),
    "negative": ("index >= 0", {"dose_a": "below"}, "negative values"),
    "words": ("index >= 0", {"dose_b": "word"}, "not numbers"),
    "same": ("index >= 0", {"dose_b": "drugA"}, "serves twice"),
    "absent": ("index >= 0", {"response": "viabilty"}, "did you mean 'viability'"),
    "scale": ("drugA + drugB > 0", {"response": "signal"}, "neither percent nor a share"),
    "dead": ("index >= 0", {"response": "nothing"}, "show no nothing at all or full effect"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gives_one_clear_sentence(case):
    rows, params, words = BAD[case]
    table = wells().assign(below=lambda t: t["drugA"] - 1, word="high", signal=lambda t: t["viability"] * 300)
    table["nothing"] = (table["drugA"] > 5) * 1.0
    given_names = NAMES | params
    if case == "dead":
        given_names["reading"] = "survival"
    with pytest.raises(ValueError, match=r".") as error:
        drug_synergy(table.query(rows), **given_names)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["plates", "wells", "single", "group", "no curve"])
def test_step_runs_from_its_own_source_and_passes_its_checks(case, tmp_path):
    table, params = wells(noise=4, plates=1 if case == "single" else 3, boost=0.3), dict(NAMES) | FEW
    if case in ("wells", "single"):
        table = table.drop(columns="plate")
    if case == "group":
        table, params["group"] = pd.concat([table.assign(line="x"), table.assign(line="y")]), "line"
    if case == "no curve":
        table = table.query("drugA < 5 and drugB < 0.5")
    record, tables, issues = run_step(drug_synergy, {"table": table}, params, tmp_path)
    assert issues == []
    assert all(finding["row"] for finding in record["findings"])
    assert not any("nan" in finding["text"].split() for finding in record["findings"])
    wrong = {"pairs": tables["pairs"].assign(bliss_excess=50.0), "summary": tables["summary"]}
    assert check_issues(["excess_is_what_is_left"], wrong, tmp_path) == ["excess_differs"]


def test_plain_questions_plan_it(tmp_path):
    planner = the_planner()
    wells(noise=3, plates=3).round(2).to_csv(tmp_path / "one.csv", index=False)
    wells(noise=3, plates=2).round(2).drop(columns="plate").set_axis(
        ["cisplatin", "olaparib", "survival_percent"], axis=1
    ).to_csv(tmp_path / "two.csv", index=False)
    for file, question, wanted in (
        ("one.csv", "Bliss excess for the two drugs on viability", ["drugA", "drugB", "viability"]),
        ("one.csv", "do drugA and drugB help each other in killing cells?", ["drugA", "drugB", "viability"]),
        (
            "two.csv",
            "are cisplatin and olaparib together better than expected from each alone? survival_percent",
            ["cisplatin", "olaparib", "survival_percent"],
        ),
    ):
        plan = planner.plan(question, profile_files([tmp_path / file])).plan
        (step,) = [node for node in plan.nodes if node.tool == "drug_synergy"]
        assert [step.params.get(key) for key in NAMES] == wanted


def test_a_drug_combined_with_itself_is_first_said_to_divide_the_references():
    """Doses of one drug add up (Loewe 1953), so with a steep curve Bliss alone calls the sum of them synergy."""
    same = wells(lambda a, b: hill(a + b, 20, 2.5), noise=2.0, plates=4, doses=(A, A))
    result = drug_synergy(same, **NAMES, **FEW)
    rows = summary(result)
    assert rows.loc["Bliss", "lower_95"] > 0
    assert rows.loc["Loewe", "lower_95"] < 0 < rows.loc["Loewe", "upper_95"]
    text = result["findings"][0]["text"]
    assert text.startswith("The reference models disagree: synergy by Bliss independence, which assumes that the drugs")
    assert "but neither synergy nor antagonism is shown against Loewe additivity" in text.split(":")[1]


@pytest.mark.slow
def test_what_lies_between_the_better_alone_and_bliss_is_said_to_be_judged_both_ways():
    between = wells(lambda a, b: (bliss(a, b) + np.maximum(*alone(a, b))) / 2, noise=1.0, plates=4)
    text = drug_synergy(between, **NAMES, **FEW)["findings"][0]["text"]
    assert text.startswith("The reference models disagree: antagonism by Bliss independence")
    assert "synergy against the better of the two alone" in text.split(":")[1]
