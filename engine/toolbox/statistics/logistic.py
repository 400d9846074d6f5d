"""Why apart: odds of a yes/no outcome need their own care when predictors separate the outcomes.

Then the ordinary estimates do not exist, which software often hides behind huge numbers: here a linear
programme decides it exactly and Firth's penalised likelihood takes over, in words.
"""

from __future__ import annotations

from engine.domain.toolspec import Citation, NextStep
from engine.toolbox.registry import param, tool
from engine.toolbox.statistics.expected import expected_values
from engine.toolbox.statistics.linear import (
    ADJUSTED,
    AT,
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
    likely_control,
    new_axes,
    order_levels,
    palette,
    pick_level,
    plain_table,
    require_columns,
)
from engine.toolbox.tables.wording import with_term


def separated(design, event):
    """Say whether a linear rule of the predictors tells events and others apart, completely or but for ties.

    Then the likelihood has no maximum. Decided exactly by a linear programme.
    """
    import numpy as np
    from scipy.optimize import linprog

    signed = design * np.where(event == 1, 1.0, -1.0)[:, None]
    scaled = signed / np.maximum(np.abs(signed).max(axis=0), 1e-300)
    result = linprog(-scaled.sum(axis=0), A_ub=-scaled, b_ub=np.zeros(len(scaled)), bounds=(-1, 1), method="highs")
    return bool(result.status == 0 and -result.fun > 1e-6)


def firth_fit(design, event, fixed=None, start=None):
    """Maximise Firth's penalised likelihood; return coefficients, its value and their covariance.

    `fixed` is (column, value): that coefficient is held, the others are fitted.
    """
    import numpy as np

    beta = np.zeros(design.shape[1]) if start is None else np.array(start, dtype=float)
    free = [j for j in range(len(beta)) if fixed is None or j != fixed[0]]
    if fixed is not None:
        beta[fixed[0]] = fixed[1]

    def state(b):
        p = 1 / (1 + np.exp(-np.clip(design @ b, -500, 500)))
        weights = np.maximum(p * (1 - p), 1e-300)
        information = (design * weights[:, None]).T @ design
        sign, log_det = np.linalg.slogdet(information)
        log_likelihood = np.sum(np.log(np.where(event == 1, np.maximum(p, 1e-300), np.maximum(1 - p, 1e-300))))
        return p, weights, information, log_likelihood + 0.5 * log_det if sign > 0 else -np.inf

    p, weights, information, value = state(beta)
    for _ in range(200):
        hat = weights * np.einsum("ij,jk,ik->i", design, np.linalg.pinv(information), design)
        score = design.T @ (event - p + hat * (0.5 - p))
        step = np.zeros(len(beta))
        step[free] = np.linalg.pinv(information[np.ix_(free, free)]) @ score[free]
        step *= min(1.0, 5 / max(1e-300, np.abs(step).max()))
        for _ in range(30):
            if state(beta + step)[3] >= value - 1e-12:
                break
            step = step / 2
        beta = beta + step
        p, weights, information, value = state(beta)
        if np.abs(step).max() < 1e-8:
            break
    return beta, value, np.linalg.pinv(information)


def firth_rows(design, event):
    """Return Firth coefficients, and the fitted probabilities.

    P-values are of penalised likelihood ratios and intervals their profiles; the intercept's are Wald's, and so are all
    intervals of a model with more than 12 coefficients.
    Columns are centred and scaled inside, which changes nothing but the arithmetic's accuracy.
    """
    import numpy as np
    from scipy import stats
    from scipy.optimize import bisect

    means, sizes = design.mean(axis=0), design.std(axis=0)
    means[0], sizes[0] = 0.0, 1.0
    scaled = (design - means) / sizes
    beta, best, covariance = firth_fit(scaled, event)
    back = np.diag(1 / sizes)
    back[0, 1:] = -means[1:] / sizes[1:]
    coefficients, errors = back @ beta, np.sqrt(np.diag(back @ covariance @ back.T))
    limit, z = stats.chi2.ppf(0.95, 1), stats.norm.ppf(0.975)
    ratio = float((coefficients[0] / errors[0]) ** 2)
    rows = [{"coef": float(coefficients[0]), "se": float(errors[0]), "low": float(coefficients[0] - z * errors[0]),
             "high": float(coefficients[0] + z * errors[0]), "statistic": ratio,
             "p_value": float(stats.chi2.sf(ratio, 1))}]  # fmt: skip
    for j in range(1, design.shape[1]):

        def excess(value, j=j):
            return 2 * (best - firth_fit(scaled, event, (j, value), beta)[1]) - limit

        ends, step = [], float(np.sqrt(covariance[j, j]))
        if design.shape[1] > 13:
            # A profile takes dozens of fits a coefficient; with many of them that is minutes for little.
            ends = [beta[j] - z * step, beta[j] + z * step]
        for sign in (-1, 1) if not ends else ():
            inner, outer, tries = beta[j], beta[j] + sign * step, 0
            while excess(outer) < 0 and tries < 40:
                inner, outer, tries = outer, outer + sign * step * 1.3**tries, tries + 1
            ends.append(bisect(excess, *sorted((inner, outer)), xtol=1e-6) if tries < 40 else sign * np.inf)
        ratio = max(0.0, 2 * (best - firth_fit(scaled, event, (j, 0.0), beta)[1]))
        rows.append({"coef": float(coefficients[j]), "se": float(errors[j]), "low": float(ends[0] / sizes[j]),
                     "high": float(ends[1] / sizes[j]), "statistic": float(ratio),
                     "p_value": float(stats.chi2.sf(ratio, 1))})  # fmt: skip
    return rows, 1 / (1 + np.exp(-np.clip(scaled @ beta, -500, 500)))


def maximum_likelihood_rows(design, event):
    """Return ordinary logistic coefficients with Wald intervals and the fitted probabilities."""
    from statsmodels.discrete.discrete_model import Logit

    sizes = abs(design).max(axis=0)
    fit = Logit(event, design / sizes).fit(disp=0, maxiter=200)
    if not fit.mle_retvals["converged"]:
        raise ValueError("The logistic model did not converge; use fewer predictors, or ones of a comparable scale.")
    limits = fit.conf_int(0.05)
    rows = [
        {"coef": float(fit.params[j] / sizes[j]), "se": float(fit.bse[j] / sizes[j]),
         "low": float(limits[j][0] / sizes[j]), "high": float(limits[j][1] / sizes[j]),
         "statistic": float(fit.tvalues[j]), "p_value": float(fit.pvalues[j])}
        for j in range(design.shape[1])
    ]  # fmt: skip
    return rows, fit.predict(), float(fit.llr_pvalue), float(fit.prsquared)


def wald_covariance(design, probability):
    """Return the covariance of ordinary logistic coefficients: the inverse of the information at their estimate."""
    import numpy as np

    sizes = np.abs(design).max(axis=0)
    scaled = design / sizes
    return np.linalg.inv((scaled * (probability * (1 - probability))[:, None]).T @ scaled) / np.outer(sizes, sizes)


def event_level(table, outcome, event_value):
    """Return 1 where the outcome is the event, else 0, the event's and the other level, and warnings."""
    labels = level_labels(table[outcome])
    levels = order_levels(labels)
    if len(levels) != 2:
        shown = ", ".join(levels[:8]) + (", ..." if len(levels) > 8 else "")
        raise ValueError(
            f"The outcome {outcome!r} has {len(levels)} different values ({shown}); logistic regression needs exactly "
            "two. Choose a yes/no column, or use linear_regression for a measured outcome."
        )
    if event_value:
        return labels, pick_level(event_value, levels, outcome), []
    control = likely_control(levels)
    event = next(level for level in levels if level != control) if control else levels[-1]
    return labels, event, [f"The event was taken to be {outcome} = {event}; set event_value to model the other level."]


def roc_area(event, probability):
    """Return the area under the ROC curve: the chance that an event scores above a non-event, ties counting half."""
    from scipy.stats import rankdata

    ranks = rankdata(probability)
    n_1, n_0 = int((event == 1).sum()), int((event == 0).sum())
    return float((ranks[event == 1].sum() - n_1 * (n_1 + 1) / 2) / (n_1 * n_0))


def logistic_figure(rows, event, probability, outcome, level):
    """Draw the odds ratios and the ROC curve."""
    import numpy as np

    figure, (left, right) = new_axes(width=10, panels=2)
    part = [row for row in rows[1:] if row["lower_95"] > 0 and row["upper_95"] < float("inf")]
    if part:
        coefficient_figure(left, [row["term"] for row in part], [row["odds_ratio"] for row in part],
                           [row["lower_95"] for row in part], [row["upper_95"] for row in part],
                           f"odds ratio of {outcome} = {level} (95 % CI, log scale)", True)  # fmt: skip
    cuts = np.concatenate([[np.inf], np.unique(probability)[::-1]])
    true = [(probability[event == 1] >= cut).mean() for cut in cuts]
    false = [(probability[event == 0] >= cut).mean() for cut in cuts]
    right.plot(false, true, color=palette(1)[0])
    right.plot([0, 1], [0, 1], color="0.6", linestyle="--", linewidth=0.8)
    right.set_xlabel("false positive rate (1 - specificity)")
    right.set_ylabel("true positive rate (sensitivity)")
    right.set_title(f"AUC {roc_area(event, probability):.3f} (same data as fitted)", fontsize=10)
    return figure


@tool(
    name="logistic_regression",
    title="Logistic regression of a yes/no outcome",
    description=(
        "Model the odds of an event as a product of effects of one or more predictors; each odds ratio is adjusted for "
        "the others and says per what unit or against which reference level. Maximum likelihood with Wald intervals "
        "and two-sided tests; when predictors separate events from non-events, so that no maximum exists, Firth's "
        "penalised likelihood with profile intervals instead, and a warning. Diagnostics: events per coefficient, area "
        "under the ROC curve on the same data, separation. Factors get adjusted (estimated marginal) probabilities, "
        "averaged on the logit scale, and Tukey-adjusted odds ratios of all pairs of levels. Rows with a missing value "
        "are left out and counted."
    ),
    domain="statistics",
    task_type="analysis",
    methods=(
        "penalised => logistic regression by Firth's penalised likelihood with likelihood ratio tests and profile "
        "intervals, because the outcome is yes or no and Wald tests are not wanted",
        "logistic regression with Wald tests (Firth's penalised likelihood where predictors separate "
        "events from non-events), because the outcome is yes or no",
    ),
    complete=("outcome", "predictors"),
    inputs={"table": "table: one row a subject"},
    outputs={
        "coefficients": "table: a row a term: coefficient, odds ratio, interval, p-value",
        "diagnostics": "table: events, AUC, separation, fit",
        "marginal_means": "table: adjusted probability of every level of each factor",
        "expected": "table: what the model expects at the values that are named, with intervals",
        "contrasts": "table: odds ratios of all pairs of levels",
        "regression_plot": "figure: odds ratios and ROC curve",
    },
    optional_outputs=("marginal_means", "expected", "contrasts"),
    params={
        "outcome": param("The yes/no outcome", kind="column", of="table", role='outcome'),
        "predictors": param("What may explain it", kind="columns", of="table", role='predictors', least=1),
        "event_value": param("The level of the outcome that is the event; empty to recognise it", kind="level",
                             of="outcome", role='event'),
        "categorical": param("Numeric predictors to take as groups", kind="columns", of="table", role="as_groups"),
        "penalised": param(
            "Use Firth's penalised likelihood: p-values of likelihood ratios and profile intervals, for few events",
            words=[
                r"true: firth|penali[sz]ed (?:likelihood|logistic|regression)|"
                r"(?:careful|cautious|wary|beware|suspicious)\b[^.?!]{0,20}\bwald|"
                r"(?:not|no|instead of|without|avoid)\b[^.?!]{0,15}\bwald|"
                r"likelihood.ratio (?:tests?|p)\b|profile likelihood"
            ],
        ),
        "per": PER,
        "references": REFERENCES,
        "control": CONTROL,
        "adjusted": ADJUSTED,
        "at": AT,
    },
    checks=("tables_not_empty", "p_values_valid", "findings_match_tables", "coefficients_in_their_intervals"),
    keywords=("logistic regression", "odds ratio", "binary outcome", "risk factor", "predict disease", "case control",
              "probability of", "classification", "ROC", "AUC", "responder", "yes or no", "mortality", "glm binomial"),
    citations=(
        Citation(title="Bias reduction of maximum likelihood estimates", authors="Firth D", year=1993,
                 doi="10.1093/biomet/80.1.27"),
        Citation(title="A solution to the problem of separation in logistic regression",
                 authors="Heinze G, Schemper M", year=2002, doi="10.1002/sim.1047"),
        Citation(title="A simulation study of the number of events per variable in logistic regression analysis",
                 authors="Peduzzi P, Concato J, Kemper E, Holford TR, Feinstein AR", year=1996,
                 doi="10.1016/S0895-4356(96)00236-3"),
    ),
    next_steps=[
        NextStep(
            text=(
                "Test how well {name} predicts on samples it was not fitted to; the fit on its own data is always "
                "too good."
            ),
        ),
    ],
    packages=("statsmodels", "scipy", "numpy", "pandas"),
    seconds=3.0,
    example="Which tumour measurements raise the odds of malignancy?",
    answers=['logistic_regression'],
)  # fmt: skip
def logistic_regression(
    table,
    *,
    outcome: str,
    predictors: list[str],
    event_value: str = "",
    penalised: bool = False,
    categorical: list[str] = [],  # noqa: B006 - a plain default, never changed
    per: float = 1.0,
    references: list[str] = [],  # noqa: B006 - a plain default, never changed
    control: str = "",
    adjusted: list[str] = [],  # noqa: B006 - a plain default, never changed
    at: list[str] = [],  # noqa: B006 - a plain default, never changed
):
    """Fit a logistic regression."""
    import numpy as np
    import pandas as pd

    predictors = chosen_predictors(outcome, predictors)
    table = plain_table(table)
    require_columns(table, [outcome, *predictors])
    table, warnings = complete_rows(table, [outcome, *predictors])
    table = with_references(table, references, predictors, control)
    labels, level, notes = event_level(table, outcome, event_value)
    warnings += notes
    event = (labels == level).to_numpy().astype(float)
    design, meanings, effects, products, notes = model_columns(table, predictors, categorical, False, per, adjusted)
    warnings += notes
    check_rank(design, outcome)
    x = design.to_numpy()
    n, n_events = len(event), int(event.sum())
    checks = [{"check": "rows", "value": n}, {"check": "events", "value": n_events, "note": f"{outcome} = {level}"}]
    apart = separated(x, event)
    checks.append({"check": "separation", "value": int(apart), "note": "yes" if apart else "no"})
    firth = apart or penalised
    if firth:
        fitted, probability = firth_rows(x, event)
    if apart:
        warnings.append(
            "The predictors separate events from non-events, so ordinary estimates would be infinite: Firth's "
            "penalised likelihood was used. Its odds ratios are finite but very uncertain."
        )
    if not firth:
        fitted, probability, p_model, pseudo = maximum_likelihood_rows(x, event)
        checks.append({"check": "likelihood ratio test of the model", "p_value": p_model})
        checks.append({"check": "McFadden's pseudo R squared", "value": pseudo})
    area = roc_area(event, probability)
    per_term = min(n_events, n - n_events) / (x.shape[1] - 1)
    checks += [{"check": "area under the ROC curve", "value": area, "note": "on the rows fitted: optimistic"},
               {"check": "Brier score", "value": float(np.mean((probability - event) ** 2))},
               {"check": "events per coefficient", "value": per_term, "note": "of the rarer outcome"}]  # fmt: skip
    if per_term < 10:
        warnings.append(f"{per_term:.1f} events a coefficient (of the rarer outcome); below 10 estimates are unsure.")
    largest, term = variance_inflation(design)
    if term:
        checks.append({"check": "largest variance inflation factor", "value": largest, "note": term})
        if largest > 10:
            warnings.append(f"{term} is nearly determined by the other predictors (variance inflation {largest:.0f}).")
    with np.errstate(over="ignore"):
        rows = [
            {"term": name, "meaning": meanings[name], "coef": row["coef"], "odds_ratio": float(np.exp(row["coef"])),
             "se": row["se"], "lower_95": float(np.exp(row["low"])), "upper_95": float(np.exp(row["high"])),
             "statistic": row["statistic"], "p_value": row["p_value"], "n": n,
             "method": "Firth" if firth else "maximum likelihood"}
            for name, row in zip(design.columns, fitted, strict=True)
        ]  # fmt: skip
    clear = sum(row["p_value"] < 0.05 for row in rows[1:])
    means, contrasts, lead = [], [], []
    # Under separation only the profile of the likelihood gives intervals that hold, so there are no Wald contrasts.
    if not firth:
        grid = reference_grid(design, table, effects, products)
        model = {"beta": np.array([row["coef"] for row in fitted]), "covariance": wald_covariance(x, probability),
                 "df": float("inf"), "scale": "probability"}  # fmt: skip
        means, contrasts = marginal_tables(grid, model)
        what = f"{outcome} = {level}"
        lead = marginal_findings(contrasts, grid, predictors[0], f"probability of {what}", what, False)
    told = set(effects[predictors[0]]) if lead else set()
    findings = [
        *lead,
        {"text": f"{clear} of {len(rows) - 1} terms are associated with {outcome} = {level} ({n_events} events among "
                 f"{n} rows); area under the ROC curve {area:.3f} on the same data.",
         "values": finding_values(value=area, n_events=n_events, n=n, n_significant=clear), "output": "diagnostics",
         "row": {"check": "area under the ROC curve"}}
    ]  # fmt: skip
    for row in sorted(
        (row for row in rows[1:] if row["term"] not in told),
        key=lambda row: (row["term"] not in effects[predictors[0]], row["p_value"]),
    )[:8]:
        direction = "higher" if row["odds_ratio"] > 1 else "lower"
        where = with_term(row["term"], row["meaning"], row["term"].partition("[")[0] if row["p_value"] < 0.05 else "")
        start = (
            f"The odds of {outcome} = {level} are {direction} {where}" if row["p_value"] < 0.05
            else f"The odds of {outcome} = {level} are not shown to change {where}"
        )  # fmt: skip
        others = ", others held equal" if len(rows) > 2 else ""
        open_odds = left_open(row["lower_95"], row["upper_95"], ratio=True, what="odds")
        findings.append(
            {"text": f"{start}{others}: odds ratio {format_number(row['odds_ratio'])} (95 % CI "
                     f"{format_number(row['lower_95'])} to {format_number(row['upper_95'])}), "
                     f"{format_p(row['p_value'])}{'' if row['p_value'] < 0.05 else open_odds}.",
             "values": finding_values(odds_ratio=(row["odds_ratio"], row["lower_95"], row["upper_95"]),
                                      coef=row["coef"], p_value=row["p_value"]),
             "output": "coefficients", "row": {"term": row["term"]}}
        )  # fmt: skip
    if not lead:  # what the question names first answers it; how many terms are clear comes after
        own = [one for one in findings if one["row"].get("term") in effects[predictors[0]]]
        findings = [*own, *(one for one in findings if one not in own)]
    findings = [
        *describe_predictors(rows, effects, {}, f"The odds of {outcome} = {level}", "are", "odds_ratio", adjusted),
        *findings,
    ]
    expected = []
    if at and firth:
        reason = "the predictors separate events from non-events" if apart else "the likelihood is penalised"
        warnings.append(f"No chance is given at the values named: {reason}.")
    elif at:
        expected, stated, notes = expected_values(
            design, table, effects, products, grid["levels"], at, model, f"{outcome} = {level}"
        )
        findings, warnings = [stated, *findings], warnings + notes
    return {
        "coefficients": pd.DataFrame(rows),
        "diagnostics": pd.DataFrame(checks).reindex(columns=["check", "value", "p_value", "note"]),
        "marginal_means": pd.DataFrame(means) if means else None,
        "expected": pd.DataFrame(expected) if expected else None,
        "contrasts": contrast_frame(contrasts),
        "regression_plot": logistic_figure(rows, event, probability, outcome, level),
        "findings": findings,
        "warnings": warnings,
    }
