"""Why apart: counts vary more than their mean says, and a plain Poisson fit then finds effects that are not there.

The dispersion is tested before the model is chosen, and both are reported with the rate ratios.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation, NextStep, Repair
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.registry import param, tool
from engine.toolbox.statistics.linear import (
    ADJUSTED,
    CONTROL,
    PER,
    REFERENCES,
    check_rank,
    chosen_predictors,
    coefficient_figure,
    describe_predictors,
    model_columns,
    variance_inflation,
    with_references,
)
from engine.toolbox.statistics.marginal import (
    contrast_frame,
    marginal_findings,
    marginal_tables,
    reference_grid,
)
from engine.toolbox.tables.columns import (
    complete_rows,
    finding_values,
    format_number,
    format_p,
    left_open,
    level_labels,
    new_axes,
    numeric_values,
    palette,
    plain_table,
    require_columns,
)
from engine.toolbox.tables.wording import between, with_term


@check("rate_ratios_match")
def rate_ratios_match(step: StepOutputs) -> Iterator[Issue]:
    """Every rate ratio is exp of its coefficient, lies in its interval and has a positive standard error."""
    import math

    table = step.table("coefficients") if "coefficients" in step.files else None
    if table is None:
        return
    for _, row in table.iterrows():
        ratio = math.exp(min(700.0, row["coef"]))
        if abs(row["rate_ratio"] - ratio) > 1e-6 * ratio:
            message = f"The rate ratio of {row['term']} is not exp of its coefficient {row['coef']}."
            yield Issue(code="rate_ratio_differs", severity="error", message=message, where="coefficients")
        if not row["lower_95"] <= row["rate_ratio"] <= row["upper_95"]:
            message = f"The interval of {row['term']} does not contain its rate ratio {row['rate_ratio']}."
            yield Issue(code="interval_without_estimate", severity="error", message=message, where="coefficients")
        if not row["se"] > 0:
            message = f"The standard error of {row['term']} is {row['se']}; expected a positive number."
            yield Issue(code="standard_error", severity="error", message=message, where="coefficients")


def whole_counts(table, count):
    """Return the counts as floats; negative, fractional or only zero counts raise ValueError."""
    y = numeric_values(table, count)
    if (y < 0).any() or ((y - y.round()).abs() > 1e-6).any():
        raise ValueError(
            f"Column {count!r} holds negative or fractional values; expected counts (whole numbers from 0). Give raw "
            "counts and the time or area as exposure instead of rates, or use linear_regression for a measurement."
        )
    if y.max() == 0:
        raise ValueError(f"Every count in {count!r} is 0; there is nothing to explain. Choose another column.")
    return y.round()


def refuse_empty_levels(table, y, names, categorical):
    """Raise ValueError for a group in which every count is 0: its rate ratio is 0 and has no interval."""
    import pandas as pd

    for name in names:
        column = table[name]
        if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column) and name not in categorical:
            continue
        sums = y.groupby(level_labels(column)).agg(["sum", "size"])
        for level, (total, size) in sums.iterrows():
            if total == 0:
                raise ValueError(
                    f"Every count of {name} = {level} is 0 ({size:g} rows), so its rate ratio is 0 without an "
                    "interval. Leave these rows out or join the level with another one."
                )


def log_exposure(table, exposure):
    """Return the logarithm of the exposure column, zeros without one; an exposure not above 0 raises ValueError."""
    import numpy as np

    if not exposure:
        return np.zeros(len(table))
    values = numeric_values(table, exposure).to_numpy()
    if (values <= 0).any():
        raise ValueError(
            f"Column {exposure!r} has {int((values <= 0).sum())} values that are not above 0; an exposure (time, area, "
            "volume, population) must be positive. Correct them or leave these rows out."
        )
    return np.log(values)


def fit_counts(y, design, offset, alpha=0.0, clusters=None):
    """Fit a log-linear model of counts: Poisson, or negative binomial with variance mean + alpha mean^2."""
    import warnings

    from statsmodels.genmod import families
    from statsmodels.genmod.generalized_linear_model import GLM

    family = families.NegativeBinomial(alpha=alpha) if alpha > 0 else families.Poisson()
    options = {} if clusters is None else {"cov_type": "cluster", "cov_kwds": {"groups": clusters}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what they warn of is checked below and said in words
        fit = GLM(y, design, family=family, offset=offset).fit(maxiter=200, **options)
    if not fit.converged:
        raise ValueError("The model of counts did not converge; use fewer predictors, or ones of a comparable scale.")
    return fit


def best_dispersion(y, design, offset):
    """Return the negative binomial's dispersion alpha of highest likelihood, and that log-likelihood."""
    import math

    from scipy.optimize import minimize_scalar

    def loss(log_alpha):
        return -fit_counts(y, design, offset, math.exp(log_alpha)).llf

    found = minimize_scalar(loss, bounds=(-10, 5), method="bounded", options={"xatol": 1e-7})
    return math.exp(found.x), -found.fun


def choose_count_model(model, y, design, offset):
    """Return the dispersion alpha to use (0 for Poisson), and diagnostics rows of the choice."""
    from scipy.stats import chi2

    poisson = fit_counts(y, design, offset)
    spread = float(poisson.pearson_chi2 / poisson.df_resid)
    alpha, height = best_dispersion(y, design, offset)
    gain = max(0.0, 2 * (height - poisson.llf))
    # Alpha lies on the edge of what is possible when counts are Poisson, so half of the chi-squared tail is right.
    p_value = float(chi2.sf(gain, 1) / 2) if gain > 0 else 1.0
    over = spread > 1 and p_value < 0.05
    wide = float(chi2.sf(poisson.pearson_chi2, poisson.df_resid)) < 0.05
    kind = "shown" if over else "not of the negative binomial's kind" if wide else "not shown"
    rows = [
        {"check": "Poisson: Pearson chi-squared per degree of freedom", "value": spread,
         "note": "1 when counts vary as Poisson counts do"},
        {"check": "overdispersion (likelihood ratio, negative binomial against Poisson)", "value": gain,
         "p_value": p_value, "note": kind},
    ]  # fmt: skip
    if model == "negative_binomial" and gain < 1e-4:
        raise ValueError(
            "There is no overdispersion: the counts vary no more than Poisson counts do, so the negative binomial's "
            "dispersion cannot be estimated. Use the model poisson."
        )
    return (alpha if model == "negative_binomial" or (model == "auto" and over) else 0.0), over, rows


def factor_tests(fit, y, design, offset, predictors, clusters):
    """Return one overall test for each predictor with more than two levels: likelihood ratio, or Wald with clusters."""
    import numpy as np
    from scipy.stats import chi2

    rows = []
    for name in predictors:
        terms = [term for term in design.columns if term.startswith(f"{name}[")]
        if len(terms) < 2:
            continue
        if clusters is not None:
            picked = np.eye(design.shape[1])[[design.columns.get_loc(term) for term in terms]]
            wald = fit.wald_test(picked, use_f=False, scalar=True)
            statistic, p_value, test = float(wald.statistic), float(wald.pvalue), "Wald test with robust errors"
        else:
            reduced = design.drop(columns=terms)
            negative = hasattr(fit.family, "alpha")
            height = best_dispersion(y, reduced, offset)[1] if negative else fit_counts(y, reduced, offset).llf
            statistic, test = max(0.0, 2 * (fit.llf - height)), "likelihood ratio test"
            p_value = float(chi2.sf(statistic, len(terms)))
        rows.append({"factor": name, "test": test, "statistic": statistic, "df": len(terms), "p_value": p_value})
    return rows


def expected_zeros(mu, alpha):
    """Return how many zeros a model expects, and the standard deviation of that number."""
    import numpy as np

    chance = np.exp(-mu) if alpha == 0 else (1 + alpha * mu) ** (-1 / alpha)
    return float(chance.sum()), float(np.sqrt((chance * (1 - chance)).sum()))


def count_diagnostics(fit, y, design, offset, alpha, over, clusters):
    """Return the rows that judge a fit of counts, and warnings."""
    import numpy as np
    from scipy.stats import chi2

    n, k = design.shape
    mu = np.asarray(fit.fittedvalues)
    spread = float(fit.pearson_chi2 / fit.df_resid)
    constant = design[["Intercept"]]
    null = best_dispersion(y, constant, offset)[1] if alpha else fit_counts(y, constant, offset).llf
    gain = max(0.0, 2 * (fit.llf - null))
    zeros, (expected, deviation) = int((y == 0).sum()), expected_zeros(mu, alpha)
    rows = [
        {"check": "rows", "value": n, "note": f"{y.sum():.0f} counted"},
        {"check": "dispersion alpha", "value": alpha,
         "note": "variance = mean + alpha mean^2" if alpha else "0: variance = mean (Poisson)"},
        {"check": "Pearson chi-squared per degree of freedom", "value": spread, "note": "of the model used"},
        {"check": "deviance", "value": float(fit.deviance), "note": f"{fit.df_resid:.0f} degrees of freedom"},
        {"check": "log-likelihood", "value": float(fit.llf)},
        {"check": "AIC", "value": float(2 * (k + (alpha > 0)) - 2 * fit.llf)},
        {"check": "likelihood ratio test of the model", "value": gain, "p_value": float(chi2.sf(gain, k - 1)),
         "note": f"{k - 1} degrees of freedom" + ("; takes rows as independent" if clusters is not None else "")},
        {"check": "zeros observed", "value": zeros},
        {"check": "zeros expected", "value": expected, "note": f"standard deviation {deviation:.2g}"},
    ]  # fmt: skip
    warnings = []
    if alpha == 0 and over and clusters is None:
        small = f"{spread:.1f} times as much as Poisson counts: standard errors are about {np.sqrt(spread):.1f} times"
        warnings.append(f"The counts vary {small} too small; the model negative_binomial allows for it.")
    elif spread > 1.5:
        warnings.append(f"The counts vary {spread:.1f} times as much as the model says; p-values may be too small.")
    elif spread < 0.5 and n - k >= 10:
        warnings.append(f"The counts vary less than the model says (ratio {spread:.2f}): intervals are too wide.")
    if zeros > expected + 3 * deviation and zeros - expected >= 1:
        warnings.append(f"{zeros} zeros against {expected:.1f} expected: some rows may be unable to have a count "
                        "(a zero-inflated or hurdle model).")  # fmt: skip
    largest, term = variance_inflation(design)
    if term:
        rows.append({"check": "largest variance inflation factor", "value": largest, "note": term})
        if largest > 10:
            warnings.append(f"{term} is nearly determined by the other predictors (variance inflation {largest:.0f}).")
    if n < 10 * (k - 1):
        warnings.append(f"{n} rows for {k - 1} coefficients: fewer than 10 a coefficient, expect overfitting.")
    return rows, warnings


def cluster_labels(table, cluster, coefficients):
    """Return the cluster of every row as numbers and warnings, or None without clusters."""
    import pandas as pd

    if not cluster:
        return None, [], []
    codes = pd.factorize(level_labels(table[cluster]))[0]
    found = int(codes.max()) + 1
    if found <= coefficients:
        raise ValueError(
            f"Column {cluster!r} names {found} clusters, too few for robust errors of {coefficients} coefficients. Use "
            "fewer predictors, or leave the cluster out."
        )
    notes = [f"Only {found} clusters: errors clustered by {cluster} are too small below about 30."]
    return codes, [{"check": "clusters", "value": found, "note": cluster}], notes if found < 30 else []


def count_figure(rows, fit, count):
    """Draw the rate ratios with their intervals, and the residuals against what the model expects."""
    figure, (left, right) = new_axes(width=10, panels=2)
    part = [row for row in rows[1:] if row["lower_95"] > 0 and row["upper_95"] < float("inf")]
    if part:
        coefficient_figure(left, [row["term"] for row in part], [row["rate_ratio"] for row in part],
                           [row["lower_95"] for row in part], [row["upper_95"] for row in part],
                           f"rate ratio of {count} (95 % CI, log scale)", True)  # fmt: skip
    right.scatter(fit.fittedvalues, fit.resid_pearson, s=16, color=palette(1)[0], alpha=0.7, edgecolor="white")
    for line in (-2, 0, 2):
        right.axhline(line, color="0.6", linewidth=0.8, linestyle="--" if line else "-")
    right.set_xscale("log")
    for axis in (left, right) if part else (right,):
        axis.xaxis.set_major_formatter("{x:g}")
        axis.xaxis.set_minor_formatter(lambda x, _: f"{x:g}" if f"{x:e}"[0] in "235" else "")
    right.set_xlabel(f"expected {count}")
    right.set_ylabel("Pearson residual (95 % within 2 of 0)")
    return figure


def count_findings(rows, factors, chosen, name, what, told, asked):
    """Return the findings: the model, each factor, terms but those `told`: those `asked` about, then the clearest."""
    spread, test = chosen
    findings = [
        {"text": f"{name} model of {what} (n = {rows[0]['n']}): Pearson chi-squared per degree of freedom of a Poisson "
                 f"fit {format_number(spread['value'])}, overdispersion {test['note']} ({format_p(test['p_value'])}).",
         "values": finding_values(value=test["value"], p_value=test["p_value"]), "output": "diagnostics",
         "row": {"check": test["check"]}}
    ]  # fmt: skip
    for row in factors:
        verdict = "differs" if row["p_value"] < 0.05 else "is not shown to differ"
        findings.append(
            {"text": f"The {what} {verdict} {between(row['factor'])}: {row['test']} "
                     f"{format_number(row['statistic'], 4)} on {row['df']} df, {format_p(row['p_value'])}.",
             "values": finding_values(statistic=row["statistic"], p_value=row["p_value"]),
             "output": "factor_tests", "row": {"factor": row["factor"]}}
        )  # fmt: skip
    others = ", others held equal" if len(rows) > 2 else ""
    for row in sorted(
        (row for row in rows[1:] if row["term"] not in told), key=lambda row: (row["term"] not in asked, row["p_value"])
    )[:8]:
        ratio = row["rate_ratio"]
        change = f"{100 * (1 - ratio):.3g} % lower" if ratio < 1 else f"{100 * (ratio - 1):.3g} % higher"
        change = f"{format_number(ratio)} times as high" if ratio > 3 else change
        name = row["term"].partition("[")[0] if row["p_value"] < 0.05 else ""
        where = with_term(row["term"], row["meaning"], name)
        where = where.replace(" than ", " as ", 1) if change.endswith("as high") else where
        start = (
            f"The {what} is {change} {where}" if row["p_value"] < 0.05
            else f"The {what} is not shown to change {where}"
        )  # fmt: skip
        findings.append(
            {"text": f"{start}{others}: rate ratio {format_number(ratio)} (95 % CI "
                     f"{format_number(row['lower_95'])} to {format_number(row['upper_95'])}), "
                     f"{format_p(row['p_value'])}"
                     f"{'' if row['p_value'] < 0.05 else left_open(row['lower_95'], row['upper_95'], ratio=True)}.",
             "values": finding_values(rate_ratio=(ratio, row["lower_95"], row["upper_95"]), coef=row["coef"],
                                      p_value=row["p_value"]),
             "output": "coefficients", "row": {"term": row["term"]}}
        )  # fmt: skip
    return findings


@tool(
    name="count_regression",
    title="Regression of counts and rates",
    description=(
        "Model a count, or a rate when an exposure (time, area, volume, population) is named, as a product of effects "
        "of predictors; each rate ratio is adjusted for the others and says per what unit or against which reference "
        "level. Poisson regression, or negative binomial (variance mean + alpha mean^2) when overdispersion is shown: "
        "Pearson chi-squared per degree of freedom above 1 and a likelihood-ratio test below 0.05. Overall test of "
        "factors with more than two levels, zeros observed and expected, errors robust to repeated rows of a subject "
        "on request. Factors get adjusted (estimated marginal) rates, averaged on the log scale, and Tukey-adjusted "
        "rate ratios of all pairs of levels. Two-sided; rows with a missing value are left out and counted."
    ),
    domain="statistics",
    task_type="analysis",
    methods=(
        "model=poisson => Poisson regression, because the outcome is a count",
        "model=negative_binomial => negative binomial regression, because the outcome is a count",
        "Poisson regression, or negative binomial where the counts scatter more than Poisson allows, "
        "because the outcome is a count",
    ),
    complete=("count", "predictors", "exposure", "cluster"),
    answers=['count_regression'],
    shows={"marginal_means": [], "coefficients": []},
    inputs={"table": "table: one row an observation with its count"},
    outputs={
        "coefficients": "table: a row a term: coefficient, rate ratio, interval, p-value",
        "diagnostics": "table: dispersion, fit, zeros",
        "factor_tests": "table: overall tests of factors with more than two levels",
        "marginal_means": "table: adjusted rate of every level of each factor",
        "contrasts": "table: rate ratios of all pairs of levels",
        "regression_plot": "figure: rate ratios and residuals",
    },
    optional_outputs=("factor_tests", "marginal_means", "contrasts"),
    params={
        "count": param("The counted outcome", kind="column", of="table", role="count"),
        "predictors": param("What may explain it", kind="columns", of="table", role="predictors", least=1),
        "exposure": param("Time, area, volume or population that each count was taken from", kind="column",
                          of="table", role="exposure",
                          called=r"(person|patient|doctor|woman|man|child|animal|bed|device|catheter|trap|net|cow)s? "
                                 r"(year|yr|month|week|day|night|hour|h)s?|pyr?s?|population|pop( size)?|(n )?at risk|"
                                 r"exposure( .*)?|offset|(.* )?effort( .*)?|(swept |trawled |sampled )?area( .*)?"),
        "model": param("Poisson, negative binomial, or decided by the overdispersion",
                       choices=("auto", "poisson", "negative_binomial"),
                       words=['negative_binomial: negative binomial|neg\\w*\\.? ?bin|NB2?\\b', 'poisson: poisson']),
        "cluster": param("Column naming the subject or plot whose rows belong together: robust errors", kind="column",
                         of="table", role="cluster"),
        "categorical": param("Numeric predictors to take as groups", kind="columns", of="table", role="as_groups"),
        "per": PER,
        "references": REFERENCES,
        "control": CONTROL,
        "adjusted": ADJUSTED,
    },
    checks=("tables_not_empty", "p_values_valid", "findings_match_tables", "rate_ratios_match"),
    keywords=("Poisson regression", "negative binomial", "count data", "number of", "rate ratio", "incidence rate",
              "incidence rate ratio", "events per", "overdispersion", "exposure", "offset", "abundance", "how many",
              "colonies", "parasite load", "person-years", "glm poisson", "zero inflation", "relapses"),
    citations=(
        Citation(title="Generalized linear models", authors="Nelder JA, Wedderburn RWM", year=1972,
                 doi="10.2307/2344614"),
        Citation(title="Negative binomial and mixed Poisson regression", authors="Lawless JF", year=1987,
                 doi="10.2307/3314912"),
        Citation(title="Longitudinal data analysis using generalized linear models", authors="Liang KY, Zeger SL",
                 year=1986, doi="10.1093/biomet/73.1.13"),
    ),
    packages=("statsmodels", "scipy", "numpy", "pandas"),
    seconds=4.0,
    example="Does the number of parasites differ between treatments, given the volume that was counted?",
    repairs=(
        Repair(pattern="no overdispersion", change={"model": "poisson"},
               why="the counts vary no more than Poisson counts do, so the Poisson model was used"),
    ),
    next_steps=(
        NextStep(text="If some counts of {param:count} were taken over a longer time, a larger area or more "
                      "individuals, run {name} again with that as exposure.", unless_param="exposure"),
        NextStep(text="If several rows of {param:count} come from one subject, plot or litter, run {name} again with "
                      "it as cluster: rows are taken as independent here.", unless_param="cluster"),
    ),
)  # fmt: skip
def count_regression(
    table,
    *,
    count: str,
    predictors: list[str],
    exposure: str = "",
    model: str = "auto",
    cluster: str = "",
    categorical: list[str] = [],  # noqa: B006 - a plain default, never changed
    per: float = 1.0,
    references: list[str] = [],  # noqa: B006 - a plain default, never changed
    control: str = "",
    adjusted: list[str] = [],  # noqa: B006 - a plain default, never changed
):
    """Fit a regression of counts."""
    import numpy as np
    import pandas as pd

    predictors = chosen_predictors(count, predictors)
    parts = [count, *predictors, *([exposure] if exposure else []), *([cluster] if cluster else [])]
    if len(set(parts)) < len(parts):
        raise ValueError(f"A column serves twice among {', '.join(parts)}; expected a different one for each part.")
    table = plain_table(table)
    require_columns(table, parts)
    table, warnings = complete_rows(table, parts)
    table = with_references(table, references, predictors, control)
    if len(table) == 0:
        raise ValueError("The table has no rows; expected one row an observation. Choose another file.")
    y, offset = whole_counts(table, count), log_exposure(table, exposure)
    refuse_empty_levels(table, y, predictors, categorical)
    design, meanings, effects, products, notes = model_columns(table, predictors, categorical, False, per, adjusted)
    check_rank(design, count)
    clusters, cluster_rows, few = cluster_labels(table, cluster, design.shape[1])
    alpha, over, chosen = choose_count_model(model, y, design, offset)
    fit = fit_counts(y, design, offset, alpha, clusters)
    rate = np.asarray(fit.fittedvalues) / np.exp(offset)
    if rate.min() < 1e-7 * y.sum() / np.exp(offset).sum():
        raise ValueError(
            "The predictors tell rows with only zeros apart from the others, so some rate ratios are 0 without an "
            "interval. Use fewer predictors or join levels."
        )
    limits = fit.conf_int(0.05)
    with np.errstate(over="ignore"):
        rows = [
            {"term": term, "meaning": meanings[term], "coef": float(fit.params[term]),
             "rate_ratio": float(np.exp(fit.params[term])), "se": float(fit.bse[term]),
             "lower_95": float(np.exp(limits.loc[term, 0])), "upper_95": float(np.exp(limits.loc[term, 1])),
             "statistic": float(fit.tvalues[term]), "p_value": float(fit.pvalues[term]), "n": len(y)}
            for term in design.columns
        ]  # fmt: skip
    factors = factor_tests(fit, y, design, offset, predictors, clusters)
    checks, doubts = count_diagnostics(fit, y, design, offset, alpha, over, clusters)
    what = f"rate of {count} per {exposure}" if exposure else f"expected number of {count}"
    diagnostics = pd.DataFrame([*chosen, *checks, *cluster_rows])
    grid = reference_grid(design, table, effects, products)
    parts = {"beta": np.asarray(fit.params), "covariance": np.asarray(fit.cov_params())}
    means, contrasts = marginal_tables(grid, {**parts, "df": float("inf"), "scale": "rate"})
    together = {row["factor"]: row["p_value"] for row in factors}
    noun, per = (f"rate of {count}", exposure) if exposure else (what, "")
    lead = marginal_findings(contrasts, grid, predictors[0], noun, what, False, together.get(predictors[0]), per)
    told = set(effects[predictors[0]]) if lead else set()
    name = "Negative binomial" if alpha else "Poisson"
    findings = count_findings(rows, factors, chosen, name, what, told, effects[predictors[0]])
    if not lead:  # what the question names first answers it; which model was taken comes after
        own = [one for one in findings if one["row"].get("term") in effects[predictors[0]]]
        findings = [*own, *(one for one in findings if one not in own)]
    return {
        "coefficients": pd.DataFrame(rows),
        "diagnostics": diagnostics.reindex(columns=["check", "value", "p_value", "note"]),
        "factor_tests": pd.DataFrame(factors) if factors else None,
        "marginal_means": pd.DataFrame(means) if means else None,
        "contrasts": contrast_frame(contrasts),
        "regression_plot": count_figure(rows, fit, count),
        "findings": describe_predictors(rows, effects, together, f"The {what}", "is", "rate_ratio", adjusted, means)
        + lead
        + findings,
        "warnings": warnings + notes + few + doubts,
    }
