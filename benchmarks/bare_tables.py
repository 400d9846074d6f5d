"""The analyses of bench_tables.py as bare scripts: the same library calls, a figure and a table written, nothing else.

    python benchmarks/bare_tables.py NAME TABLE.csv FOLDER

Prints one line of JSON with the number that both ways must agree on.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pandas as pd


def _figure(folder: Path, draw: Any) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 4), layout="constrained")
    draw(figure.subplots())
    figure.savefig(folder / "figure.svg")
    figure.savefig(folder / "figure.png", dpi=150)


def compare_groups(table: pd.DataFrame, folder: Path) -> float:
    """Welch's t test of two groups, with normality and spread looked at, and a rank test beside."""
    from scipy import stats

    a, b = (table.loc[table["arm"] == arm, "weight_g"] for arm in ("control", "drug"))
    for values in (a, b):
        stats.shapiro(values)
    stats.levene(a, b, center="median")
    stats.mannwhitneyu(a, b)
    result = stats.ttest_ind(b, a, equal_var=False)
    interval = result.confidence_interval()
    pd.DataFrame([{"p": result.pvalue, "low": interval.low, "high": interval.high}]).to_csv(folder / "out.csv")
    _figure(folder, lambda axes: axes.boxplot([a, b]))
    return float(result.pvalue)


def linear_regression(table: pd.DataFrame, folder: Path) -> float:
    """Ordinary least squares with its usual checks."""
    import statsmodels.formula.api as smf
    from scipy import stats
    from statsmodels.stats.diagnostic import het_breuschpagan

    model = smf.ols("weight_g ~ age + C(arm)", table).fit()
    stats.shapiro(model.resid)
    het_breuschpagan(model.resid, model.model.exog)
    distances = model.get_influence().cooks_distance[0]
    found = pd.DataFrame({"b": model.params, "p": model.pvalues}).join(model.conf_int())
    found.assign(largest_distance=distances.max()).to_csv(folder / "out.csv")
    _figure(folder, lambda axes: axes.scatter(model.fittedvalues, model.resid))
    return float(model.pvalues["age"])


def logistic_regression(table: pd.DataFrame, folder: Path) -> float:
    """Logistic regression with its area under the curve."""
    import statsmodels.formula.api as smf
    from sklearn.metrics import roc_auc_score

    table = table.assign(y=(table["relapse"] == "yes").astype(int))
    model = smf.logit("y ~ age + C(arm)", table).fit(disp=False)
    roc_auc_score(table["y"], model.predict())
    pd.DataFrame({"b": model.params, "p": model.pvalues}).join(model.conf_int()).to_csv(folder / "out.csv")
    _figure(folder, lambda axes: axes.scatter(table["age"], model.predict()))
    return float(model.pvalues["age"])


def mixed_model(table: pd.DataFrame, folder: Path) -> float:
    """Linear mixed model with a random intercept for each subject; returns the residual variance's share."""
    import statsmodels.formula.api as smf

    model = smf.mixedlm("length ~ week * C(diet)", table, groups="fish").fit(reml=True)
    pd.DataFrame({"b": model.params, "p": model.pvalues}).to_csv(folder / "out.csv")
    _figure(folder, lambda axes: axes.scatter(model.fittedvalues, model.resid))
    random = float(model.cov_re.iloc[0, 0])
    return random / (random + model.scale)


def cox_regression(table: pd.DataFrame, folder: Path) -> float:
    """Kaplan-Meier curves, log-rank test and Cox regression with the test of proportional hazards."""
    from lifelines import CoxPHFitter, KaplanMeierFitter
    from lifelines.statistics import logrank_test, proportional_hazard_test

    drug = table["arm"] == "drug"
    curves = [KaplanMeierFitter().fit(part["days"], part["died"]) for part in (table[drug], table[~drug])]
    logrank_test(table[drug]["days"], table[~drug]["days"], table[drug]["died"], table[~drug]["died"])
    frame = table[["days", "died", "age"]].assign(drug=drug.astype(float))
    model = CoxPHFitter().fit(frame, "days", "died")
    proportional_hazard_test(model, frame, time_transform="km")
    model.summary.to_csv(folder / "out.csv")

    def draw(axes: Any) -> None:
        for curve in curves:
            curve.plot_survival_function(ax=axes)

    _figure(folder, draw)
    return float(model.summary.loc["age", "p"])


def dose_response(table: pd.DataFrame, folder: Path) -> float:
    """Four-parameter log-logistic curve; returns the EC50."""
    import numpy as np
    from scipy.optimize import curve_fit

    def curve(x: Any, low: float, high: float, log_ec50: float, slope: float) -> Any:
        return low + (high - low) / (1 + np.exp(slope * (np.log(np.maximum(x, 1e-12)) - log_ec50)))

    x, y = table["dose_uM"].to_numpy(), table["viability"].to_numpy()
    found, covariance = curve_fit(curve, x, y, p0=[y.min(), y.max(), np.log(np.median(x[x > 0])), 1.0], maxfev=20000)
    pd.DataFrame(covariance).to_csv(folder / "out.csv")
    grid = np.geomspace(x[x > 0].min(), x.max(), 200)
    _figure(folder, lambda axes: (axes.semilogx(x, y, "o"), axes.semilogx(grid, curve(grid, *found))))
    return float(np.exp(found[2]))


def correlation(table: pd.DataFrame, folder: Path) -> float:
    """Pearson's correlation with Spearman's beside."""
    from scipy import stats

    result = stats.pearsonr(table["age"], table["weight_g"])
    stats.spearmanr(table["age"], table["weight_g"])
    interval = result.confidence_interval()
    pd.DataFrame([{"r": result.statistic, "low": interval.low, "high": interval.high}]).to_csv(folder / "out.csv")
    _figure(folder, lambda axes: axes.scatter(table["age"], table["weight_g"]))
    return float(result.statistic)


def main() -> None:
    """Read the table, run one analysis, print its number."""
    name, path, out = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    out.mkdir(parents=True, exist_ok=True)
    print(json.dumps({"value": ANALYSES[name](pd.read_csv(path), out)}))


ANALYSES = {
    one.__name__: one
    for one in (
        compare_groups,
        correlation,
        linear_regression,
        logistic_regression,
        mixed_model,
        cox_regression,
        dose_response,
    )
}

if __name__ == "__main__":
    main()
