"""Differential intensity against ordinary least squares, closed forms, its own simulation, and input that must be refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, special, stats

from engine.toolbox.bulk_rna.intensities import differential_intensity, log_intensities
from engine.toolbox.bulk_rna.moderation import fit_rows, moderated_t, prior_of_variances, trigamma_inverse
from engine.toolbox.checks import CHECKS


def sheet(n: int = 6, batches: int = 2) -> pd.DataFrame:
    names = [f"s{k}" for k in range(2 * n)]
    return pd.DataFrame(
        {"group": ["drug"] * n + ["ctrl"] * n, "batch": [f"B{k % batches}" for k in range(2 * n)]}, index=names
    )


def matrix(values: np.ndarray, samples: pd.DataFrame) -> pd.DataFrame:
    features = pd.Index([f"P{10000 + k}" for k in range(len(values))], name="feature")
    return pd.DataFrame(values, index=features, columns=samples.index)


def compared(values, samples, **params):
    given = {"condition": "group", "treated": "drug", "control": "ctrl", **params}
    return differential_intensity(matrix(values, samples), samples, **given)


def simulated(seed: int, rows: int = 1500, changed: int = 0, samples: pd.DataFrame | None = None, d0: float = 6.0):
    """Log2 intensities with variances around 0.2 as Smyth's model says, a batch shift, and a few true changes of 1.5."""
    samples, chance = sheet() if samples is None else samples, np.random.default_rng(seed)
    variance = 0.2 * d0 / chance.chisquare(d0, (rows, 1))
    values = chance.normal(23, 2, (rows, 1)) + chance.normal(0, 1, (rows, len(samples))) * np.sqrt(variance)
    values += chance.normal(0, 0.7, (rows, 1)) * (samples["batch"] == "B1").to_numpy()
    values[:changed] += 1.5 * (samples["group"] == "drug").to_numpy()
    return values, samples


def least_squares(y: np.ndarray, samples: pd.DataFrame, *held: str):
    """Return coefficient, its standard error for variance 1, variance and degrees of freedom, by statsmodels."""
    import statsmodels.api as sm

    here = np.isfinite(y)
    design = (
        pd.get_dummies(samples[[*held]], drop_first=True, dtype=float) if held else pd.DataFrame(index=samples.index)
    )
    design = sm.add_constant(design.assign(drug=(samples["group"] == "drug").astype(float)))
    fit = sm.OLS(y[here], design[here]).fit()
    return fit.params["drug"], fit.bse["drug"] / np.sqrt(fit.scale), fit.scale, fit.df_resid


def design_of(samples: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    batch = (samples["batch"] == "B1").to_numpy(dtype=float)
    return (samples["group"] == "drug").to_numpy(dtype=float), np.column_stack([np.ones(len(samples)), batch])


def test_each_row_is_fitted_as_least_squares_does_over_its_observed_values():
    values, samples = simulated(1, rows=40)
    values[np.random.default_rng(2).random(values.shape) < 0.25] = np.nan
    found = np.array(fit_rows(values, *design_of(samples)))
    for row, y in enumerate(values):
        if found[3, row] > 0:
            assert found[:, row] == pytest.approx(least_squares(y, samples, "batch"), rel=1e-9)
    assert (found[3] > 0).sum() > 30


def test_a_row_whose_observed_samples_do_not_tell_the_groups_apart_is_not_fitted():
    values, samples = simulated(1, rows=4)
    group, batch = samples["group"].to_numpy(), samples["batch"].to_numpy()
    values[0, group == "ctrl"] = np.nan  # one group only
    values[1, (group == "drug") != (batch == "B1")] = np.nan  # batch and group are one
    values[2] = np.nan
    effect, _, _, freedom = fit_rows(values, *design_of(samples))
    assert np.isnan(effect[:3]).all()
    assert list(freedom) == [0, 0, 0, 9]


@pytest.mark.parametrize("y", [1e-4, 0.01, 0.3, 1.0, 4.0, 50.0, 1e4])
def test_trigamma_of_its_inverse_is_the_value(y: float):
    assert trigamma_inverse(special.polygamma(1, y)) == pytest.approx(y, rel=1e-4 if y < 1e-3 else 1e-8)


@pytest.mark.parametrize(("d0", "scale"), [(3.0, 0.05), (8.0, 0.3), (30.0, 2.0)])
def test_the_prior_that_made_variances_is_found_again(d0: float, scale: float):
    chance = np.random.default_rng(7)
    freedom = chance.integers(3, 12, 60_000).astype(float)
    variance = scale * d0 / chance.chisquare(d0, len(freedom)) * chance.chisquare(freedom) / freedom
    found = prior_of_variances(variance, freedom)
    assert found[0] == pytest.approx(d0, rel=0.12)
    assert found[1] == pytest.approx(scale, rel=0.03)


def test_variances_that_are_one_variance_are_pooled():
    chance = np.random.default_rng(11)
    freedom = chance.integers(4, 9, 300).astype(float)
    variance = np.quantile(chance.chisquare(6, 300), 0.5) / 6 * np.ones(300)
    variance[:150] *= 1.01
    d0, pooled = prior_of_variances(variance, freedom)
    assert d0 == np.inf
    assert pooled == pytest.approx((variance * freedom).sum() / freedom.sum(), rel=1e-12)
    t, error, total, p, *_ = moderated_t(np.full(300, 0.4), np.full(300, 0.5), variance, freedom)
    assert error == pytest.approx(np.full(300, 0.5 * np.sqrt(pooled)))
    assert total == pytest.approx(np.full(300, freedom.sum()))
    assert p[0] == pytest.approx(2 * stats.t.sf(t[0], freedom.sum()))


def test_two_rows_are_tested_by_the_ordinary_t():
    values, samples = simulated(3, rows=2)
    table = compared(values, samples, covariates=["batch"])["de_table"].set_index("feature")
    for row, y in enumerate(values):
        slope, unit, variance, freedom = least_squares(y, samples, "batch")
        t = slope / unit / np.sqrt(variance)
        assert table.loc[f"P{10000 + row}", "stat"] == pytest.approx(t, rel=1e-9)
        assert table.loc[f"P{10000 + row}", "p_value"] == pytest.approx(2 * stats.t.sf(abs(t), freedom), rel=1e-9)


def test_the_whole_table_agrees_with_smyths_formulas_computed_another_way():
    values, samples = simulated(5, rows=400, changed=20)
    table = compared(values, samples, covariates=["batch"])["de_table"].set_index("feature").sort_index()
    slope, unit, variance, freedom = np.array([least_squares(y, samples, "batch") for y in values]).T
    # The expected logarithm of a chi-squared and its variance by integration, d0 by bisection: no digamma, no Newton.
    d = freedom[0]

    def moment(k, power, centre=0.0):
        density = stats.chi2(k).pdf
        return integrate.quad(lambda u: (u - centre) ** power * density(np.exp(u)) * np.exp(u), -60, 12)[0]

    centre = moment(d, 1)
    logs = np.log(variance) - centre + np.log(d)
    wanted = logs.var(ddof=1) - moment(d, 2, centre)
    low, high = 0.5, 200.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if moment(middle, 2, moment(middle, 1)) > wanted else (low, middle)
    s0 = np.exp(logs.mean() + moment(low, 1) - np.log(low))
    together = (low * s0 + d * variance) / (low + d)
    p = 2 * stats.t.sf(np.abs(slope / unit / np.sqrt(together)), d + low)
    assert table["p_value"].to_numpy() == pytest.approx(p, rel=1e-4)
    assert table["log2_fold_change"].to_numpy() == pytest.approx(slope, rel=1e-9)
    ranks = np.argsort(np.argsort(p))
    stepped = np.sort(p) * len(p) / np.arange(1, len(p) + 1)
    assert table["p_adj"].to_numpy() == pytest.approx(
        np.minimum(1, np.minimum.accumulate(stepped[::-1])[::-1])[ranks], rel=1e-4
    )


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_under_the_null_one_in_twenty_p_values_is_below_a_twentieth(missing: float):
    shares = []
    for seed in range(4):
        values, samples = simulated(100 + seed)
        values[np.random.default_rng(seed).random(values.shape) < missing] = np.nan
        p = compared(values, samples, covariates=["batch"])["de_table"]["p_value"].dropna()
        shares.append((p < 0.05).mean())
    assert np.mean(shares) == pytest.approx(0.05, abs=0.009)  # 3 standard errors of 6,000 features


def test_true_changes_are_found_and_few_others():
    values, samples = simulated(9, changed=100)
    raw = np.round(2**values)
    raw[np.random.default_rng(9).random(raw.shape) < 0.1] = 0
    result = compared(raw, samples, covariates=["batch"])
    found = result["de_table"].query("p_adj < 0.05")["feature"].str[1:].astype(int) - 10000
    assert (found < 100).sum() >= 80
    assert (found >= 100).mean() <= 0.1
    assert result["findings"][0]["text"].startswith(f"{len(found):,} of ")
    assert any("none is filled in" in warning for warning in result["warnings"])


def test_swapping_the_groups_turns_signs_and_nothing_else():
    values, samples = simulated(4, rows=200, changed=10)
    there = compared(values, samples)["de_table"].set_index("feature").sort_index()
    back = compared(values, samples, treated="ctrl", control="drug")["de_table"].set_index("feature").sort_index()
    assert there["log2_fold_change"].to_numpy() == pytest.approx(-back["log2_fold_change"].to_numpy(), abs=1e-12)
    assert there["p_value"].to_numpy() == pytest.approx(back["p_value"].to_numpy(), rel=1e-9)


def test_logarithms_and_measured_intensities_give_the_same():
    values, samples = simulated(6, rows=100)
    logged = compared(values, samples)["de_table"]
    pd.testing.assert_frame_equal(logged, compared(2**values, samples)["de_table"])


@pytest.mark.parametrize(
    ("values", "scale", "first"),
    [
        ([[0.0, 1024.0]], "auto", [np.nan, 10.0]),
        ([[0.0, 20.0], [21.0, 22.0]], "auto", [np.nan, 20.0]),  # a zero among logarithms of 20 is a missing value
        ([[0.0, 0.2], [0.4, 3.0]], "auto", [0.0, 0.2]),
        ([[0.0, 63.0], [0.5, 0.1]], "auto", [0.0, 6.0]),  # values per million: 0 is a value
        ([[2.0, 4.0]], "raw", [1.0, 2.0]),
        ([[60.0, 64.0]], "log2", [60.0, 64.0]),
    ],
)
def test_what_a_zero_is_depends_on_the_scale(values, scale, first):
    assert log_intensities(pd.DataFrame(values), scale)[0].iloc[0].to_numpy() == pytest.approx(first, nan_ok=True)


def test_median_normalisation_takes_out_a_shift_of_a_sample():
    values, samples = simulated(8, rows=300)
    shifted = values + np.linspace(0, 3, values.shape[1])
    plain = compared(values, samples, normalise="median")["de_table"]
    mended = compared(shifted, samples, normalise="median")["de_table"]
    assert mended["p_value"].to_numpy() == pytest.approx(plain["p_value"].to_numpy(), rel=1e-6)
    assert any("normalise = median" in warning for warning in compared(shifted, samples)["warnings"])


def test_features_with_too_few_values_stay_in_the_table_without_a_p_value():
    values, samples = simulated(2, rows=50)
    values[0, :4] = np.nan  # two of six left in the first group
    values[1, :6] = np.nan
    result = compared(values, samples)
    table = result["de_table"].set_index("feature")
    assert table.loc[["P10000", "P10001"], "p_adj"].isna().all()
    assert table["p_adj"].notna().sum() == 48
    assert any("P10001" in warning and "seen in ctrl only" in warning for warning in result["warnings"])
    loose = compared(values, samples, min_observed=2)["de_table"].set_index("feature")
    assert loose.loc["P10000", "p_adj"] == loose.loc["P10000", "p_adj"]


def test_a_protein_is_told_by_the_name_of_its_gene():
    values, samples = simulated(2, rows=50)
    given = matrix(values, samples)
    given.attrs["symbols"] = {"P10007": "TP53"}
    result = differential_intensity(
        given, samples, condition="group", treated="drug", control="ctrl", genes_of_interest=["tp53"]
    )
    assert any(finding["text"].startswith("TP53 (P10007)") for finding in result["findings"])
    assert "symbol" in result["de_table"]


def test_samples_are_matched_without_what_their_names_have_in_common():
    values, samples = simulated(2, rows=50)
    given = matrix(values, samples).add_prefix("LFQ intensity ")
    params = {"condition": "group", "treated": "drug", "control": "ctrl"}
    pd.testing.assert_frame_equal(
        differential_intensity(given, samples, **params)["de_table"], compared(values, samples)["de_table"]
    )


def test_the_checks_of_the_step_hold(tmp_path):
    from engine.toolbox.checks import StepOutputs
    from engine.toolbox.registry import builtin_tools

    builtin_tools()  # which declares the checks

    values, samples = simulated(9, rows=300, changed=30)
    result = compared(values, samples, covariates=["batch"])
    files = {name: tmp_path / f"{name}.csv" for name in ("de_table", "design_table")}
    for name, path in files.items():
        result[name].to_csv(path, index=False)
    step = StepOutputs(
        params={"condition": "group", "treated": "drug", "control": "ctrl"}, files=files,
        types={"de_table": "de_table", "design_table": "table"}, findings=result["findings"],
    )  # fmt: skip
    names = differential_intensity.tool_spec.checks
    assert [issue for name in names for issue in CHECKS[name](step)] == []


def refused(message: str, values, samples, **params):
    with pytest.raises(ValueError, match=message):
        compared(values, samples, **params)


def test_what_cannot_be_tested_is_refused_with_the_reason():
    values, samples = simulated(2, rows=20)
    one = samples.iloc[[0, 6]].assign(batch="B0")
    refused("usable sample", values[:, [0, 6]], one)
    refused("confounded", values, samples.assign(batch=samples["group"]), covariates=["batch"])
    refused("no value at all", np.full_like(values, np.nan), samples)
    refused("lower min_observed", np.where(np.arange(12) < 10, np.nan, values), samples)
    refused("has no level", values, samples, treated="placebo")
    refused("no column", values, samples, condition="arm")
    refused("negative", np.where(np.arange(12) == 0, -5.0, 2**values), samples)
    refused("different value in each", values, samples.assign(batch=samples.index), covariates=["batch"])


@pytest.mark.parametrize(("direction", "word", "other"), [("up", "higher", "lower"), ("down", "lower", "higher")])
def test_the_direction_that_is_asked_about_is_told_and_shown(direction: str, word: str, other: str):
    values, samples = simulated(5, changed=30)
    values[30:50] -= 1.5 * (samples["group"] == "drug").to_numpy()
    found = compared(values, samples, direction=direction, named=4)
    table, first, *others = found["de_table"], *found["findings"]
    passing = table[table["p_adj"] < 0.05]
    own = passing[passing["log2_fold_change"] > 0] if direction == "up" else passing[passing["log2_fold_change"] < 0]
    assert first["text"].startswith(f"{len(own)} of 1,500 tested proteins are {word} in drug than in ctrl")
    assert f"({len(passing) - len(own)} are {other})" in first["text"]
    assert first["told_only"]
    rows = [finding["row"]["feature"] for finding in others if "row" in finding]
    assert rows == own["feature"].tolist()[:4]  # by p-value
    assert all(feature in first["text"] for feature in rows)


def test_the_largest_of_the_changes_that_pass_are_named_by_size():
    values, samples = simulated(5, changed=30)
    values[:3] += 1.5 * (samples["group"] == "drug").to_numpy()
    found = compared(values, samples, named=5, by_size=True)
    passing = found["de_table"].query("p_adj < 0.05")
    largest = passing.loc[passing["log2_fold_change"].abs().sort_values(ascending=False).index, "feature"].tolist()[:5]
    assert [f["row"]["feature"] for f in found["findings"] if "row" in f] == largest
    assert "the 5 largest of these changes, with log2 fold change: " + largest[0] in found["findings"][0]["text"]


def test_a_protein_that_one_group_lacks_is_in_the_first_sentence():
    values, samples = simulated(5, rows=200)
    values[7, (samples["group"] == "drug").to_numpy()] = np.nan
    first = compared(values, samples)["findings"][0]["text"]
    assert first.endswith("; seen in ctrl only, so not tested: P10007.")
