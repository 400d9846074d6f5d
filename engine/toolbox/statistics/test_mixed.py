"""Mixed models against Pinheiro and Bates's Orthodont, and estimating equations against statsmodels' formulas."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from table_steps import check_issues, run_step

from engine.toolbox.statistics.mixed import (
    chosen_family,
    mixed_model,
)
from engine.toolbox.statistics.mixed_fit import generalised_least_squares, no_finite_rates

# Potthoff & Roy (1964), R's nlme::Orthodont: distance (mm) at 8, 10, 12 and 14 years of 16 boys, then 11 girls.
DISTANCES = [
    [26, 25, 29, 31], [21.5, 22.5, 23, 26.5], [23, 22.5, 24, 27.5], [25.5, 27.5, 26.5, 27], [20, 23.5, 22.5, 26],
    [24.5, 25.5, 27, 28.5], [22, 22, 24.5, 26.5], [24, 21.5, 24.5, 25.5], [23, 20.5, 31, 26], [27.5, 28, 31, 31.5],
    [23, 23, 23.5, 25], [21.5, 23.5, 24, 28], [17, 24.5, 26, 29.5], [22.5, 25.5, 25.5, 26], [23, 24.5, 26, 30],
    [22, 21.5, 23.5, 25], [21, 20, 21.5, 23], [21, 21.5, 24, 25.5], [20.5, 24, 24.5, 26], [23.5, 24.5, 25, 26.5],
    [21.5, 23, 22.5, 23.5], [20, 21, 21, 22.5], [21.5, 22.5, 23, 25], [23, 23, 23.5, 24], [20, 21, 22, 21.5],
    [16.5, 19, 19, 19.5], [24.5, 25, 28, 28],
]  # fmt: skip
TEETH = pd.DataFrame(
    [
        (f"child {i}", "male" if i < 16 else "female", 8 + 2 * j, distance)
        for i, row in enumerate(DISTANCES)
        for j, distance in enumerate(row)
    ],
    columns=["Subject", "Sex", "age", "distance"],
)
GROWTH = {"outcome": "distance", "fixed": ["age", "Sex"], "subject": "Subject"}


def component(tables, name):
    return tables["variance"].set_index("component").loc[name, "value"]


def clinic(subjects=60, seed=5):
    """Return visits of patients of two arms: a yes/no state, attacks, days watched; names that trip formulas."""
    rng = np.random.default_rng(seed)
    visits = rng.integers(2, 6, subjects)
    who = np.repeat(np.arange(subjects), visits)
    own = rng.normal(0, 0.7, subjects)[who]
    arm = np.where(np.arange(subjects)[who] % 2, "drug", "placebo")
    week = np.concatenate([np.arange(n) for n in visits])
    days = rng.integers(5, 30, len(who))
    better = rng.random(len(who)) < 1 / (1 + np.exp(0.5 - 0.3 * week - 0.6 * (arm == "drug") - own))
    attacks = rng.poisson(days / 10 * np.exp(0.3 - 0.1 * week - 0.4 * (arm == "drug") + own))
    return pd.DataFrame({"Patient No.": who, "arm [x]": arm, "visit (week)": week, "days": days,
                         "better?": np.where(better, "yes", "no"), "attacks": attacks})  # fmt: skip


def test_random_intercepts_of_orthodont_match_nlme(tmp_path):
    # Pinheiro & Bates (2000), lme(distance ~ age + Sex, Orthodont, random = ~ 1): age 0.66019 (0.06161, df 80),
    # SexFemale -2.32102 (0.76142, df 25, t -3.048, p 0.0054), SD 1.807425 and 1.431592, logLik -218.7563
    record, tables, issues = run_step(mixed_model, {"table": TEETH}, GROWTH, tmp_path)
    terms = tables["coefficients"].set_index("term")
    age, sex = terms.loc["age"], terms.loc["Sex[male vs female]"]
    assert not issues
    assert (age["estimate"], age["se"], age["df"]) == pytest.approx((0.6601852, 0.0616059, 80), rel=1e-5)
    assert (sex["estimate"], sex["se"], sex["df"]) == pytest.approx((2.321023, 0.7614168, 25), rel=1e-5)
    assert sex["p_value"] == pytest.approx(0.0054, abs=5e-5)
    assert terms.loc["Intercept", "estimate"] == pytest.approx(17.70671 - 2.321023, abs=1e-5)
    assert component(tables, "variance of subjects (intercept)") == pytest.approx(1.807425**2, rel=1e-4)
    assert component(tables, "variance of residuals") == pytest.approx(1.431592**2, rel=1e-4)
    assert component(tables, "REML log-likelihood") == pytest.approx(-218.7563, abs=1e-4)
    assert component(tables, "ICC") == pytest.approx(1.807425**2 / (1.807425**2 + 1.431592**2), rel=1e-4)
    assert "linear mixed model (REML) to 108 rows of 27 subjects" in record["findings"][1]["text"]
    age = tables["coefficients"].set_index("term").loc["age"]
    assert f"{age['estimate']:.3f} higher per unit of age" in record["findings"][0]["text"]
    assert any("reference level is female" in text for text in record["warnings"])


def test_random_slopes_of_orthodont_match_nlme():
    # nlme: lme(distance ~ age, Orthodont, random = ~ age): SE 0.7752460 and 0.0712533, SD 2.3270341 and 0.2264278,
    # correlation -0.609, residual 1.3100397, logLik -221.3183. Balanced and complete, so the mean slope has the t-test
    # of the 27 children's own least-squares slopes, with 26 degrees of freedom
    result = mixed_model(TEETH, outcome="distance", fixed=["age"], subject="Subject", random_slope="age")
    terms = result["coefficients"].set_index("term")
    slopes = np.array([np.polyfit([8, 10, 12, 14], row, 1)[0] for row in DISTANCES])
    assert (terms.loc["Intercept", "se"], terms.loc["age", "se"]) == pytest.approx((0.7752460, 0.0712533), rel=1e-4)
    assert component(result, "variance of subjects (intercept)") == pytest.approx(2.3270341**2, rel=2e-3)
    assert component(result, "variance of subjects (slope of age)") == pytest.approx(0.2264278**2, rel=2e-3)
    assert component(result, "correlation of intercept and slope") == pytest.approx(-0.609, abs=1e-3)
    assert component(result, "variance of residuals") == pytest.approx(1.3100397**2, rel=1e-3)
    assert component(result, "REML log-likelihood") == pytest.approx(-221.3183, abs=1e-4)
    reference = stats.ttest_1samp(slopes, 0)
    assert terms.loc["age", "df"] == reference.df
    assert terms.loc["age", "statistic"] == pytest.approx(reference.statistic, rel=1e-3)
    assert result["findings"][0]["text"].startswith("distance is 0.660 higher per unit of age (95 % CI 0.514 to 0.807)")
    assert "at the mean of age" in result["findings"][1]["text"]


@pytest.mark.slow
def test_interaction_of_balanced_data_equals_the_split_plot_anova():
    # In complete data the joint F of the interaction is that of the split-plot ANOVA, from sums of squares by hand
    result = mixed_model(TEETH, **GROWTH, interaction=True, categorical=["age"])
    test = result["tests"].set_index("effect").loc["age:Sex"]
    x = np.array(DISTANCES, dtype=float)
    groups = [x[:16], x[16:]]
    changes = [g - g.mean(axis=1, keepdims=True) for g in groups]
    error = sum(((c - c.mean(axis=0)) ** 2).sum() for c in changes)
    both = np.concatenate(changes)
    effect = ((both - both.mean(axis=0)) ** 2).sum() - error
    assert (test["df"], test["df_2"]) == (3, 75)
    assert test["statistic"] == pytest.approx(effect / 3 / (error / 75), rel=1e-4)
    assert test["p_value"] == pytest.approx(stats.f.sf(test["statistic"], 3, 75))
    assert "How distance goes with age is not shown to depend on Sex" in result["findings"][0]["text"]
    assert result["tests"].set_index("effect").loc["Sex", "note"]


def test_unbalanced_rows_agree_with_statsmodels_formulas():
    import statsmodels.formula.api as smf

    data = TEETH.drop(index=[1, 5, 6, 40, 41, 42, 99]).assign(weight=np.linspace(1, 900, 101) ** 1.1)
    result = mixed_model(data, outcome="distance", fixed=["age", "Sex", "weight"], subject="Subject")
    thousands = data.assign(weight=data["weight"] / 1000)  # its optimiser needs columns of one size
    fit = smf.mixedlm("distance ~ age + C(Sex) + weight", thousands, groups=data["Subject"]).fit()
    terms = result["coefficients"].set_index("term")
    for mine, theirs, unit in [
        ("age", "age", 1),
        ("Sex[male vs female]", "C(Sex)[T.male]", 1),
        ("weight", "weight", 1e-3),
    ]:
        assert terms.loc[mine, "estimate"] == pytest.approx(fit.params[theirs] * unit, rel=2e-3)
        assert terms.loc[mine, "se"] == pytest.approx(fit.bse[theirs] * unit, rel=2e-3)


def test_no_variance_between_subjects_is_said_and_equals_least_squares():
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(12, 4))
    noise -= noise.mean(axis=1, keepdims=True)  # subjects are less different than chance would have them
    data = pd.DataFrame({"y": noise.ravel(), "x": np.tile(np.arange(4.0), 12), "who": np.repeat(np.arange(12), 4)})
    result = mixed_model(data, outcome="y", fixed=["x"], subject="who")
    plain = stats.linregress(data["x"], data["y"])
    row = result["coefficients"].set_index("term").loc["x"]
    assert component(result, "ICC") == pytest.approx(0, abs=1e-4)
    assert (row["estimate"], row["se"]) == pytest.approx((plain.slope, plain.stderr), rel=1e-3)
    assert any("at its limit" in text for text in result["warnings"])


def reference_gee(data, formula, family, **more):
    import statsmodels.api as sm
    import statsmodels.formula.api as smf

    plain = data.rename(columns={"Patient No.": "who", "arm [x]": "arm", "visit (week)": "week"})
    plain["better"] = (plain.pop("better?") == "yes").astype(int)
    return smf.gee(
        formula, "who", plain, family=getattr(sm.families, family)(), cov_struct=sm.cov_struct.Exchangeable(), **more
    )


@pytest.mark.parametrize(("subjects", "errors"), [(60, "robust"), (24, "bias_reduced")])
def test_yes_no_outcomes_agree_with_statsmodels_formulas(tmp_path, subjects, errors):
    data = clinic(subjects)
    params = {"outcome": "better?", "fixed": ["arm [x]", "visit (week)"], "subject": "Patient No."}
    record, tables, issues = run_step(mixed_model, {"table": data}, params, tmp_path)
    fit = reference_gee(data, "better ~ C(arm, Treatment('placebo')) + week", "Binomial").fit(cov_type=errors)
    table = tables["coefficients"]
    limits = np.exp(fit.conf_int())
    assert not issues
    assert table["term"].tolist() == ["Intercept", "arm [x][drug vs placebo]", "visit (week)"]
    assert table["estimate"].tolist() == pytest.approx(fit.params.tolist(), rel=1e-4)
    assert table["se"].tolist() == pytest.approx(fit.bse.tolist(), rel=1e-4)
    assert table["p_value"].tolist() == pytest.approx(fit.pvalues.tolist(), rel=1e-3)
    assert table["odds_ratio"].tolist() == pytest.approx(np.exp(fit.params).tolist(), rel=1e-4)
    assert table["odds_ratio_upper_95"].tolist() == pytest.approx(limits[1].tolist(), rel=1e-3)
    assert component(tables, "working correlation") == pytest.approx(fit.model.cov_struct.dep_params, abs=1e-4)
    assert "The odds of better? = yes are" in record["findings"][0]["text"]
    assert "probability of better? = yes" in record["findings"][1]["text"]
    assert "odds ratio" in record["findings"][1]["text"]
    assert "estimating equations" in record["findings"][2]["text"]


def test_counts_with_exposure_agree_with_statsmodels_formulas(tmp_path):
    data = clinic()
    params = {"outcome": "attacks", "fixed": ["arm [x]", "visit (week)"], "subject": "Patient No.",
              "interaction": True, "exposure": "days"}  # fmt: skip
    record, tables, issues = run_step(mixed_model, {"table": data}, params, tmp_path)
    formula = "attacks ~ C(arm, Treatment('placebo')) * week"
    fit = reference_gee(data, formula, "Poisson", offset=np.log(data["days"])).fit()
    table = tables["coefficients"]
    assert not issues
    assert table["estimate"].tolist() == pytest.approx(fit.params.tolist(), rel=1e-3)
    assert table["se"].tolist() == pytest.approx(fit.bse.tolist(), rel=1e-3)
    assert table["rate_ratio"].tolist() == pytest.approx(np.exp(fit.params).tolist(), rel=1e-3)
    dispersion = (fit.resid_pearson**2).sum() / (len(data) - 4)
    assert component(tables, "dispersion (Pearson)") == pytest.approx(dispersion, rel=1e-3)
    assert "rate of attacks" in record["findings"][0]["text"]


def test_other_event_turns_odds_ratios_over():
    params = {"outcome": "better?", "fixed": ["visit (week)"], "subject": "Patient No."}
    yes, no = (mixed_model(clinic(), **params, event_value=level)["coefficients"] for level in ("yes", "no"))
    assert (yes["odds_ratio"] * no["odds_ratio"]).tolist() == pytest.approx([1, 1], rel=1e-4)


@pytest.mark.parametrize(
    ("values", "exposure", "family"),
    [
        (["yes", "no", "no"], "", "binomial"),
        ([0, 1, 1], "", "binomial"),
        ([0, 3, 1], "", "poisson"),
        ([0, *range(0, 300, 9)], "", "poisson"),
        ([2, 3, 1], "", "gaussian"),
        ([0.5, 3, 0], "", "gaussian"),
        ([-1, 0, 4], "", "gaussian"),
        ([3, 4, 9], "days", "poisson"),
    ],
)
def test_family_follows_from_the_values(values, exposure, family):
    assert chosen_family(pd.DataFrame({"y": values}), "y", "auto", exposure)[0] == family


def test_a_score_can_be_kept_from_being_a_count():
    data = clinic()
    params = {"outcome": "attacks", "fixed": ["visit (week)"], "subject": "Patient No."}
    assert any("set family to gaussian" in text for text in mixed_model(data, **params)["warnings"])
    assert "odds_ratio" not in mixed_model(data, **params, family="gaussian")["coefficients"]


def test_separated_groups_are_refused_not_estimated():
    data = clinic()
    data.loc[data["arm [x]"] == "drug", "better?"] = "yes"
    data.loc[data["arm [x]"] == "drug", "attacks"] = 0
    for outcome in ("better?", "attacks"):
        with pytest.raises(ValueError, match="a ratio would be infinite") as error:
            mixed_model(data, outcome=outcome, fixed=["arm [x]"], subject="Patient No.")
        assert repair_of(str(error.value)) == {"interaction": False}


def test_zero_counts_are_a_problem_only_where_a_whole_direction_is_zero():
    x = np.column_stack([np.ones(6), [0, 0, 0, 1, 1, 1]])
    assert no_finite_rates(x, np.array([0, 2, 1, 0, 0, 0]))
    assert not no_finite_rates(x, np.array([0, 2, 0, 0, 0, 1]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"subject": "Sex"}, "named for two parts"),
        ({"fixed": ["age"], "subject": "Sex"}, r"names 2 subject"),
        ({"fixed": ["distance"]}, "both the outcome and a predictor"),
        ({"fixed": ["weight"]}, "no column 'weight'"),
        ({"fixed": ["age"], "interaction": True}, "takes two fixed effects"),
        ({"random_slope": "Sex"}, "is not numeric"),
        ({"fixed": ["age", "height"], "random_slope": "height"}, "does not change within any Subject"),
        ({"exposure": "height", "family": "gaussian"}, "belongs to counts"),
        ({"exposure": "zero"}, "0 or below"),
        ({"outcome": "Subject", "subject": "height"}, "not numbers"),
        ({"outcome": "zero"}, "is the same"),
        ({"fixed": ["age", "months"]}, "fully determined"),
        ({"family": "binomial"}, "exactly two"),
        ({"outcome": "below", "family": "poisson"}, "below 0"),
        ({"subject": "row"}, "occurs once"),
    ],
)
def test_bad_input_is_refused_in_words(change, message):
    data = TEETH.assign(zero=0, months=TEETH["age"] * 12, row=range(108), below=-TEETH["age"],
                        height=TEETH["Subject"].str[6:].astype(float))  # fmt: skip
    with pytest.raises(ValueError, match=message):
        mixed_model(data, **(GROWTH | change))


def repair_of(message):
    """Return the change that the tool itself proposes for an error."""
    return next((rule.change for rule in mixed_model.tool_spec.repairs if re.search(rule.pattern, message)), None)


@pytest.mark.parametrize("seed", range(6))
def test_variances_of_balanced_litters_are_those_of_the_analysis_of_variance(seed, tmp_path):
    """In balanced data REML is (mean square between - within) / size in closed form (Searle, Casella, McCulloch 1992).

    statsmodels' lbfgs ended at a variance of 0 in 7 of 10 such data sets, of 12 litters of 20, and called it converged.
    """
    rng = np.random.default_rng(seed)
    litter = np.repeat(np.arange(12), 20)
    table = pd.DataFrame({"litter": [f"L{k}" for k in litter], "arm": np.where(litter < 6, "a", "b")})
    table["weight"] = 60 + rng.normal(0, 2.5, 12)[litter] + rng.normal(0, 4, 240)
    _, tables, issues = run_step(
        mixed_model, {"table": table}, {"outcome": "weight", "fixed": ["arm"], "subject": "litter"}, tmp_path
    )
    assert not issues
    means = table.groupby(["arm", "litter"])["weight"].mean()
    within = float(table.groupby("litter")["weight"].var().mean())
    between = 20 * float(means.groupby("arm").var().mean())
    found = tables["variance"].set_index("component")["value"]
    assert found["variance of subjects (intercept)"] == pytest.approx(max(0.0, (between - within) / 20), rel=1e-4)
    p_value = stats.ttest_ind(means["a"], means["b"]).pvalue
    assert tables["coefficients"]["p_value"][1] == pytest.approx(p_value, rel=1e-4)


def test_fixed_effects_that_leave_nothing_are_refused_with_a_repair():
    exact = pd.DataFrame({"who": list("aabbccdd"), "day": [1.0, 2.0] * 4, "y": [1.0, 2.0] * 4})
    with pytest.raises(ValueError, match="leave no variance"):
        mixed_model(exact, outcome="y", fixed=["day"], subject="who", family="gaussian")
    message = "The mixed model with a random slope could not be fitted: its fixed effects leave no variance."
    assert repair_of(message) == {"random_slope": ""}


def test_estimating_equations_fall_back_on_independence(monkeypatch):
    from statsmodels.genmod.cov_struct import Exchangeable

    def fails(*_):
        raise ValueError

    monkeypatch.setattr(Exchangeable, "update", fails)
    data = clinic()
    result = mixed_model(data, outcome="better?", fixed=["visit (week)"], subject="Patient No.")
    assert component(result, "working correlation") == 0
    assert any("independence was used" in text for text in result["warnings"])


def test_an_empty_cell_is_repaired_without_the_interaction():
    data = TEETH.assign(old=np.where(TEETH["age"] > 10, "old", "young"))
    data = data[(data["old"] == "young") | (data["Sex"] == "male")]
    params = {"outcome": "distance", "fixed": ["Sex", "old"], "subject": "Subject"}
    with pytest.raises(ValueError, match="fully determined") as error:
        mixed_model(data, **params, interaction=True)
    assert repair_of(str(error.value)) == {"interaction": False}
    assert len(mixed_model(data, **params)["coefficients"]) == 3


def test_too_few_subjects_for_their_own_effects():
    data = TEETH[TEETH["Subject"].isin(["child 1", "child 2", "child 20", "child 21"])].copy()
    data["centre"] = data["Subject"]
    with pytest.raises(ValueError, match="4 subjects with 16 rows are too few"):
        mixed_model(data, outcome="distance", fixed=["centre"], subject="Subject")
    few = mixed_model(data, outcome="distance", fixed=["age"], subject="Subject")
    assert any("only 4 subjects" in text for text in few["warnings"])


def test_checks_find_wrong_tables(tmp_path):
    terms = pd.DataFrame({"term": ["a", "b"], "estimate": [0.5, 2.0], "se": [1.0, 1.0], "lower_95": [-1.0, 3.0],
                          "upper_95": [2.0, 4.0], "odds_ratio": [1.0, np.exp(2.0)]})  # fmt: skip
    variance = pd.DataFrame({"component": ["variance of residuals", "ICC"], "value": [-1.0, 1.2]})
    names = ["mixed_coefficients_consistent", "variance_components_valid"]
    codes = check_issues(names, {"coefficients": terms, "variance": variance}, tmp_path)
    assert codes == ["ratio_differs", "interval_without_estimate", "variance_out_of_bounds", "variance_out_of_bounds"]


@settings(max_examples=20, deadline=None)
@given(st.floats(0, 4), st.floats(0.1, 4), st.integers(0, 10**6))
def test_generalised_least_squares_is_the_dense_formula(between, residual, seed):
    rng = np.random.default_rng(seed)
    who = rng.permutation(np.repeat(np.arange(5), 4))
    x, y = np.column_stack([np.ones(20), rng.normal(size=20)]), rng.normal(size=20)
    beta, covariance, effects, _ = generalised_least_squares(y, x, x[:, [0]], who, np.array([[between]]), residual)
    v = between * (who[:, None] == who) + residual * np.eye(20)
    dense = np.linalg.inv(x.T @ np.linalg.solve(v, x))
    assert covariance == pytest.approx(dense)
    assert beta == pytest.approx(dense @ x.T @ np.linalg.solve(v, y))
    # Predicted intercepts are the mean residual of a subject, shrunk by 4 b / (4 b + r)
    mean = pd.Series(y - x @ beta).groupby(who).transform("mean").to_numpy()
    assert effects[:, 0] == pytest.approx(mean * 4 * between / (4 * between + residual), abs=1e-9)


@settings(max_examples=5, deadline=None)
@given(st.floats(0.01, 1000), st.integers(-5000, 5000))
def test_units_of_outcome_and_predictor_change_no_test(factor, shift):
    one = mixed_model(TEETH, **GROWTH)["coefficients"]
    data = TEETH.assign(distance=TEETH["distance"] * factor + 1, age=TEETH["age"] * 365 + shift)
    two = mixed_model(data, **GROWTH)["coefficients"]
    expected = [one["estimate"][1] * factor / 365, one["estimate"][2] * factor]
    assert two["estimate"][1:].tolist() == pytest.approx(expected, rel=1e-4)
    assert two["p_value"][1:].tolist() == pytest.approx(one["p_value"][1:].tolist(), rel=1e-2)


def test_a_column_an_occasion_gives_what_a_row_an_occasion_gives():
    long = TEETH.assign(age="y" + TEETH["age"].astype(int).astype(str))
    wide = long.pivot(index=["Subject", "Sex"], columns="age", values="distance").reset_index()
    columns = ["y8", "y10", "y12", "y14"]
    stacked = mixed_model(wide, fixed=["Sex"], columns=columns, subject="Subject", interaction=True)
    nested = mixed_model(
        TEETH, outcome="distance", fixed=["Sex", "age"], subject="Subject", interaction=True, categorical=["age"]
    )
    tests, reference = (result["tests"].set_index("effect") for result in (stacked, nested))
    assert tests.loc["Sex:occasion", "statistic"] == pytest.approx(reference.loc["Sex:age", "statistic"], rel=1e-6)
    assert "occasion: the reference level is 8" in " ".join(stacked["warnings"])
    without = mixed_model(wide.drop(columns="Subject"), fixed=["Sex"], columns=columns)
    assert len(without["coefficients"]) == 5
    assert "108 rows of 27 subjects" in without["findings"][1]["text"]


def test_occasions_in_columns_keep_subjects_who_missed_some():
    wide = TEETH.pivot(index=["Subject", "Sex"], columns="age", values="distance").reset_index()
    wide.columns = [str(name) for name in wide.columns]
    wide.loc[0, wide.columns[-1]] = np.nan
    result = mixed_model(wide, fixed=["Sex"], columns=list(wide.columns[2:]))
    assert "107 rows of 27 subjects" in result["findings"][1]["text"]


@pytest.mark.parametrize(("given", "said"), [
    ({"columns": ["y8"]}, "Only one column"),
    ({}, "wide form"),
    ({"columns": ["y8", "y10"], "subject": "Sex"}, "several rows of one value"),
])  # fmt: skip
def test_wide_form_that_cannot_be_is_refused(given, said):
    long = TEETH.assign(age="y" + TEETH["age"].astype(int).astype(str))
    wide = long.pivot(index=["Subject", "Sex"], columns="age", values="distance").reset_index()
    with pytest.raises(ValueError, match=said):
        mixed_model(wide, fixed=["Sex"], **given)


def test_subjects_numbered_anew_are_warned_of_and_nested_when_said(tmp_path):
    rng = np.random.default_rng(11)
    rows = [(arm, mouse, 90 + 14 * (arm == "drug") + own + rng.normal(0, 4))
            for arm in ("drug", "vehicle") for mouse in range(1, 6) for own in [rng.normal(0, 6)] for _ in range(12)]  # fmt: skip
    table = pd.DataFrame(rows, columns=["arm", "mouse", "area"])
    asked = {"outcome": "area", "fixed": ["arm"], "subject": "mouse"}
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    record, _, _ = run_step(mixed_model, {"table": table}, asked, tmp_path / "a")
    assert any("set nested_in to arm" in text for text in record["warnings"])
    record, tables, issues = run_step(mixed_model, {"table": table}, {**asked, "nested_in": "arm"}, tmp_path / "b")
    assert not issues
    assert not any("nested_in" in text for text in record["warnings"])
    means = table.groupby(["arm", "mouse"])["area"].mean()
    expected = stats.ttest_ind(means["drug"], means["vehicle"]).pvalue
    assert tables["coefficients"]["p_value"][1] == pytest.approx(expected, rel=1e-4)


def test_subjects_nested_in_themselves_are_the_same_throughout(tmp_path):
    """The answer that one number is one subject: the result of no nesting, without the warning."""
    rng = np.random.default_rng(12)
    table = pd.DataFrame([(arm, rat, 5 * (arm == "b") + rat + rng.normal()) for arm in "ab" for rat in range(1, 7)
                          for _ in range(4)], columns=["arm", "rat", "y"])  # fmt: skip
    asked = {"outcome": "y", "fixed": ["arm"], "subject": "rat"}
    plain, told = mixed_model(table, **asked), mixed_model(table, **asked, nested_in="rat")
    assert any("nested_in" in text for text in plain["warnings"])
    assert not any("nested_in" in text for text in told["warnings"])
    assert told["coefficients"]["p_value"].tolist() == plain["coefficients"]["p_value"].tolist()


def test_a_course_over_time_is_drawn_with_its_means_and_intervals(tmp_path):
    result = mixed_model(TEETH, **GROWTH)
    axis = result["course_plot"].axes[0]
    assert axis.get_xlabel() == "age"
    drawn = {box.get_label(): box.lines[0].get_ydata() for box in axis.containers}
    expected = TEETH.groupby(["Sex", "age"])["distance"].mean()
    for sex in ("female", "male"):
        assert drawn[sex] == pytest.approx(expected[sex].to_numpy())
    girls = TEETH[(TEETH["Sex"] == "female") & (TEETH["age"] == 8)]["distance"]
    low, high = stats.t.interval(0.95, len(girls) - 1, girls.mean(), stats.sem(girls))
    segment = axis.containers[0].lines[2][0].get_segments()[0]
    assert segment[:, 1] == pytest.approx([low, high])
    record, _, issues = run_step(mixed_model, {"table": TEETH}, GROWTH, tmp_path)
    assert not issues
    assert record["outputs"]["course_plot"]["type"] == "figure"
    without = mixed_model(TEETH, outcome="distance", fixed=["Sex"], subject="Subject")
    assert without["course_plot"] is None


def test_the_answer_is_on_what_is_asked_about_and_not_on_a_factor_it_is_adjusted_for():
    table = TEETH.assign(clinic=np.array(["a", "b", "c"])[np.arange(len(TEETH)) % 3])
    given = {"outcome": "distance", "fixed": ["age", "clinic"], "subject": "Subject"}
    told = mixed_model(table, **given, adjusted=["clinic"])["findings"][0]
    assert told["row"] == {"term": "age"}
    other = mixed_model(table, **given, adjusted=["age"])["findings"][0]
    assert "age" not in other["row"].values()
