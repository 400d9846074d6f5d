"""Why apart: a regression is only as good as what its coefficients are said to mean.

Every coefficient names its unit of change or its reference level, the fit is judged by its residuals,
and what cannot be estimated (collinear columns) is refused in words. Yes/no outcomes are in `logistic`.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation, Repair
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.registry import param, tool
from engine.toolbox.statistics.expected import expected_values
from engine.toolbox.statistics.marginal import (
    contrast_frame,
    marginal_findings,
    marginal_tables,
    reference_grid,
)
from engine.toolbox.tables.columns import (
    called_level,
    complete_rows,
    finding_values,
    format_number,
    format_p,
    in_a_row,
    known_reference,
    left_open,
    level_labels,
    likely_control,
    new_axes,
    numeric_values,
    order_levels,
    palette,
    plain_table,
    reference_levels,
    require_columns,
)
from engine.toolbox.tables.wording import between, high_to_low, in_size, per_step, several_told, with_term


@check("coefficients_in_their_intervals")
def coefficients_in_their_intervals(step: StepOutputs) -> Iterator[Issue]:
    """Estimates lie inside their 95 % intervals, standard errors are positive and odds ratios are exp(coef)."""
    import math

    table = step.table("coefficients") if "coefficients" in step.files else None
    if table is None:
        return
    estimate = "odds_ratio" if "odds_ratio" in table else "estimate"
    for _, row in table.dropna(subset=[estimate, "lower_95", "upper_95"]).iterrows():
        slack = 1e-9 * max(1.0, abs(row[estimate]))
        if not row["lower_95"] - slack <= row[estimate] <= row["upper_95"] + slack:
            message = f"The estimate of {row['term']} ({row[estimate]}) lies outside its 95 % interval."
            yield Issue(code="interval_without_estimate", severity="error", message=message, where="coefficients")
        if not row["se"] > 0:
            message = f"The standard error of {row['term']} is {row['se']}; expected a positive number."
            yield Issue(code="standard_error", severity="error", message=message, where="coefficients")
        if (
            "coef" in row
            and abs(row["odds_ratio"] - math.exp(min(700.0, row["coef"]))) > 1e-6 * row["odds_ratio"] + 1e-300
        ):
            message = f"The odds ratio of {row['term']} is not exp of its coefficient {row['coef']}."
            yield Issue(code="odds_ratio_differs", severity="error", message=message, where="coefficients")


DEPENDS = (
    r"effects?\s+of\b[^.?!]{0,80}\bdepends? on|"
    r"(?:relation\w*|association|correlation|link|slope)s? (?:of|between|for)\b[^.?!]{0,80}"
    r"\b(?:differ\w*|depends?|var(?:y|ies)|changes?)\b|"
    r"(?:difference|effect|gap|benefit|advantage)s?\b[^.?!]{0,80}?\b(?:the same|similar|alike|equal|larger|bigger|"
    r"smaller|stronger|weaker|other|different|just as \w+)\s+(?:in|for|between|across|among|at|than in)\b"
)
"""How people ask whether an effect is the same in other groups."""
PER = param("Units of numeric predictors that effects are given for: 10 for `per 10 years`; of those that are only "
            "adjusted for it is one", minimum=1e-9, role="per")  # fmt: skip


REFERENCES = param("Levels that the other levels of a group are compared with, each as column=level; empty for the "
                   "control-like one, else the first", kind="texts", role="references", otherwise="first")  # fmt: skip


CONTROL = param("Level that the others are compared with, of the one group that has it; the same as in `references`, "
                "without the name of the column", kind="text", role="base")  # fmt: skip


def base_levels(table, references, columns, control):
    """Return column -> the level that others are compared with, from `references` and from a level alone.

    Raises:
        ValueError: for a level that no group has, or several, or that contradicts what is said of its group.
    """
    told = reference_levels(references, columns)
    if not control or control in told.values():
        return told
    having = [name for name in columns if control in set(level_labels(table[name]))]
    if len(having) != 1:
        raise ValueError(f"{len(having)} columns of the model have a level {control!r} to compare with; say which is "
                         "meant (references, as column=level).")  # fmt: skip
    if having[0] in told:
        raise ValueError(f"The levels of {having[0]!r} are compared with {told[having[0]]!r} by `references` and with "
                         f"{control!r} by `control`; keep one of them.")  # fmt: skip
    return {**told, having[0]: control}


def with_references(table, references, columns, control=""):
    """Return the table with the groups named ordered so that the level told as reference comes first."""
    import pandas as pd

    for name, level in base_levels(table, references, columns, control).items():
        labels = level_labels(table[name])
        levels = order_levels(labels)
        first = known_reference(level, levels, name)
        order = [first, *(other for other in levels if other != first)]
        table = table.assign(**{name: pd.Categorical(labels, categories=order, ordered=True)})
    return table


AT = param("Values at which the outcome is expected, each as predictor=value; other factors get a row a level",
           kind="texts", role="values_told")  # fmt: skip


ADJUSTED = param("Predictors that are only adjusted for, which the first sentence leaves out", kind="texts",
                 role="adjusted")  # fmt: skip


def describe_predictors(rows, effects, joint, subject, verb, key, adjusted, means=()):
    """Return the finding on all predictors that are asked about, [] where it is one.

    Args:
        rows: the rows of the terms.
        effects: predictor -> its terms.
        joint: predictor of several terms -> the p-value of all of them together.
        subject: what is explained, as a sentence begins.
        verb: how it goes on.
        key: the column of the effect, `estimate` or one of a ratio.
        adjusted: the predictors that are not asked about.
        means: marginal means, a row for each level of each factor.
    """
    asked = [name for name in effects if name not in adjusted and ":" not in name]
    if len(asked) < 2 or any(len(effects[name]) > 1 and name not in joint for name in asked):
        return []
    by, parts = {row["term"]: row for row in rows}, []
    for name in asked:
        if name in joint:
            levels = [(row["mean"], row["level"]) for row in means if row["factor"] == name and not row["within"]]
            ends = [f"{level} ({format_number(mean)})" for mean, level in (max(levels), min(levels))] if levels else []
            parts.append({"name": name, "p": joint[name], "ends": ends})
            continue
        row = by[effects[name][0]]
        effect, none = row[key], 0 if key == "estimate" else 1
        low, high = (row.get(f"{key}_{end}_95", row[f"{end}_95"]) for end in ("lower", "upper"))
        size = abs(effect) if key == "estimate" else 100 * abs(effect - 1)
        change = f"{format_number(size)}{' %' * none} {'higher' if effect > none else 'lower'}"
        change = f"{format_number(effect)} times as high" if none and effect >= 3 else change
        where = with_term(row["term"], row["meaning"], name)
        where = where.replace(" than ", " as ", 1) if change.endswith("as high") else where
        interval = f"95 % CI {format_number(low)} to {format_number(high)}"
        interval = interval if none or row["p_value"] >= 0.05 else in_size(effect, low, high)[1]
        levels = [mean["mean"] for mean in means if mean["factor"] == name and not mean["within"]]
        if len(levels) == 2:  # the reference stands first
            interval += f"; {format_number(levels[1])} against {format_number(levels[0])}"
        parts.append({"name": name, "p": row["p_value"], "size": change, "where": where,
                      "interval": f"{key.replace('_', ' ')} {format_number(effect)}, {interval}" if none else interval}
                     )  # fmt: skip
    values = finding_values(n=rows[0]["n"], n_significant=sum(part["p"] < 0.05 for part in parts))
    held = [name for name in adjusted if name in effects]
    return [
        {"text": several_told(parts, subject, verb, held=held), "values": values, "output": "coefficients", "row": {}}
    ]


def predictor_matrix(table, predictors, categorical, per=1.0):
    """Return the design (with Intercept), what each column means, and warnings.

    Text becomes one column a level other than the reference; numbers stay numbers, in steps of `per` units.
    """
    import pandas as pd

    columns, meanings, warnings = {"Intercept": pd.Series(1.0, index=table.index)}, {"Intercept": "baseline"}, []
    for name in predictors:
        column = table[name]
        numeric = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
        if numeric and name not in categorical:
            step = per if column.nunique() > 2 else 1.0
            columns[name] = numeric_values(table, name) / step
            meanings[name] = per_step(name, step)
            if column.nunique() < 2:
                raise ValueError(f"Predictor {name!r} has the same value in every row used; leave it out.")
            continue
        labels = level_labels(column)
        ranked = isinstance(column.dtype, pd.CategoricalDtype) and column.dtype.ordered
        levels = [str(level) for level in column.dtype.categories] if ranked else order_levels(labels)
        if len(levels) < 2:
            raise ValueError(f"Predictor {name!r} has the single level {levels[0]!r} in the rows used; leave it out.")
        if len(levels) > 30:
            raise ValueError(
                f"Predictor {name!r} is text with {len(levels)} different values, for example {levels[0]!r}; expected "
                "numbers or at most 30 groups. Is it an identifier, or are some numbers written as text?"
            )
        reference = levels[0] if ranked else likely_control(levels) or levels[0]
        warnings.append(f"{name}: the reference level is {reference}; coefficients compare the others with it.")
        for level in levels:
            if level != reference:
                term = f"{name}[{level} vs {reference}]"
                columns[term] = (labels == level).astype(float)
                meanings[term] = f"{name} {level} instead of {reference}"
    return pd.DataFrame(columns), meanings, warnings


def model_columns(table, fixed, categorical, interaction, per=1.0, held=()):
    """Return the design (with Intercept), what its columns mean, and the columns of each effect.

    With the interaction of the first two effects; then which columns its columns multiply, and warnings. A step is
    `per` units of a number, one of those that are only `held` constant.
    """
    import pandas as pd

    parts, effects, products, meanings, warnings = [], {}, {}, {"Intercept": "baseline"}, []
    for name in fixed:
        design, meaning, notes = predictor_matrix(table, [name], categorical, 1.0 if name in held else per)
        parts.append(design if not parts else design.drop(columns="Intercept"))
        effects[name] = [term for term in design.columns if term != "Intercept"]
        meanings |= meaning
        warnings += notes
    design = pd.concat(parts, axis=1)
    if interaction:
        if len(fixed) < 2:
            raise ValueError(f"An interaction takes two fixed effects; only {fixed[0]!r} was named.")
        first, second = fixed[:2]
        for a, b in ((first, second), (second, first)):
            at = "0" if effects[b] == [b] else "its reference level"
            meanings |= {term: f"{meanings[term]} (where {b} is at {at})" for term in effects[a]}
        effects[f"{first}:{second}"] = [f"{a}:{b}" for a in effects[first] for b in effects[second]]
        for a in effects[first]:
            for b in effects[second]:
                design[f"{a}:{b}"], products[f"{a}:{b}"] = design[a] * design[b], (a, b)
                meanings[f"{a}:{b}"] = f"interaction of {a} and {b}"
    return design, meanings, effects, products, warnings


def check_rank(design, outcome):
    """Raise ValueError when the design cannot be solved, naming a column that the others determine."""
    import numpy as np

    n, k = design.shape
    if n <= k:
        raise ValueError(f"{n} complete rows cannot estimate {k} coefficients for {outcome!r}; use fewer predictors.")
    scaled = design / np.maximum(np.abs(design).max(), 1e-300)
    if np.linalg.matrix_rank(scaled.to_numpy()) == k:
        return
    for j in range(1, k + 1):
        if np.linalg.matrix_rank(scaled.iloc[:, :j].to_numpy()) < j:
            raise ValueError(
                f"Predictor {design.columns[j - 1]!r} is fully determined by the predictors before it "
                f"({', '.join(design.columns[1 : j - 1]) or 'a constant'}), so its effect cannot be estimated. "
                "Leave one of them out."
            )


def variance_inflation(design):
    """Return the largest variance inflation factor and its term, or (nan, "") with a single predictor."""
    import numpy as np

    x = design.drop(columns="Intercept")
    if x.shape[1] < 2:
        return float("nan"), ""
    factors = np.diag(np.linalg.inv(np.corrcoef(x.to_numpy(), rowvar=False)))
    # Rounded: a balanced design has many that are equal, and which is called must not depend on the machine.
    return float(factors.max()), str(x.columns[int(factors.round(9).argmax())])


def chosen_predictors(outcome, predictors):
    """Return the predictors without repeats; the outcome among them or none at all raises ValueError."""
    chosen = list(dict.fromkeys([predictors] if isinstance(predictors, str) else predictors))
    if not chosen:
        raise ValueError("No predictor was named; expected at least one column.")
    if outcome in chosen:
        raise ValueError(f"{outcome!r} is both the outcome and a predictor; expected different columns.")
    return chosen


def coefficient_figure(axis, terms, estimates, lower, upper, label, log):
    """Draw estimates with their intervals, one a line, around the line of no effect."""
    import numpy as np

    places = np.arange(len(terms))[::-1]
    centre, low, high = np.array(estimates), np.array(lower), np.array(upper)
    if log:
        axis.set_xscale("log")
    shown = [term if len(term) < 34 else term[:31] + "..." for term in terms]
    axis.errorbar(centre, places, xerr=[centre - low, high - centre], fmt="o", color=palette(1)[0], capsize=3)
    axis.axvline(1 if log else 0, color="0.6", linewidth=0.8, linestyle="--")
    axis.set_yticks(places, shown)
    axis.set_xlabel(label)


def linear_figure(fit, design, outcome, rows):
    """Draw the fitted line and its 95 % band (one number) or the coefficients, beside the residuals."""
    import numpy as np

    figure, (left, right) = new_axes(width=10, panels=2)
    terms = list(design.columns[1:])
    colour = palette(2)
    if len(terms) == 1 and "[" not in terms[0]:
        x = design[terms[0]].to_numpy()
        line = np.linspace(x.min(), x.max(), 100)
        band = fit.get_prediction(np.column_stack([np.ones(100), line])).summary_frame(alpha=0.05)
        left.scatter(x, fit.model.endog, s=16, color=colour[0], alpha=0.7, edgecolor="white")
        left.plot(line, band["mean"].to_numpy(), color=colour[1])
        left.fill_between(line, band["mean_ci_lower"], band["mean_ci_upper"], color=colour[1], alpha=0.25)
        left.set_xlabel(terms[0])
        left.set_ylabel(outcome)
    else:
        part = rows[1:]
        coefficient_figure(left, [row["term"] for row in part], [row["estimate"] for row in part],
                           [row["lower_95"] for row in part], [row["upper_95"] for row in part],
                           f"change of {outcome} (95 % CI)", False)  # fmt: skip
    right.scatter(fit.fittedvalues, fit.resid, s=16, color=colour[0], alpha=0.7, edgecolor="white")
    right.axhline(0, color="0.6", linewidth=0.8)
    right.set_xlabel(f"fitted {outcome}")
    right.set_ylabel("residual (observed minus fitted)")
    return figure


def linear_diagnostics(fit, design, products):
    """Return the rows that judge a linear fit, and warnings; `products` are the columns of interactions."""
    import numpy as np
    from scipy import stats
    from statsmodels.stats.diagnostic import het_breuschpagan

    n = len(design)
    rows = [
        {"check": "R squared", "value": float(fit.rsquared), "note": f"adjusted {fit.rsquared_adj:.4f}"},
        {"check": "overall F test", "value": float(fit.fvalue), "p_value": float(fit.f_pvalue),
         "note": f"{fit.df_model:.0f} and {fit.df_resid:.0f} degrees of freedom"},
        {"check": "residual standard error", "value": float(np.sqrt(fit.mse_resid)), "note": "in units of the outcome"},
    ]  # fmt: skip
    warnings = []
    _, p, _, _ = het_breuschpagan(fit.resid, design.to_numpy())
    rows.append({"check": "equal spread of residuals (Breusch-Pagan)", "p_value": float(p),
                 "note": "no clear departure" if p >= 0.05 else "spread changes with the predictors"})  # fmt: skip
    if p < 0.05:
        warnings.append(f"The residuals' spread changes with the predictors (Breusch-Pagan {format_p(p)}); "
                        "robust_se gives standard errors that allow for it.")  # fmt: skip
    if 3 <= n <= 5000:
        p = float(stats.shapiro(fit.resid).pvalue)
        rows.append({"check": "normal residuals (Shapiro-Wilk)", "p_value": p,
                     "note": "no clear departure" if p >= 0.05 else "departs from normal"})  # fmt: skip
        if p < 0.05:
            warnings.append(f"The residuals depart from a normal distribution (Shapiro-Wilk {format_p(p)}).")
    # A product goes with its own parts whatever the data, which says nothing of how predictors go together.
    largest, term = variance_inflation(design.drop(columns=list(products)))
    if term:
        rows.append({"check": "largest variance inflation factor", "value": largest, "note": term})
        if largest > 10:
            warnings.append(f"{term} is nearly determined by the other predictors (variance inflation "
                            f"{largest:.0f}): their separate effects are uncertain.")  # fmt: skip
    leverage = np.einsum("ij,ji->i", design.to_numpy(), np.linalg.pinv(design.to_numpy()))
    cook = (
        fit.resid.to_numpy() ** 2 * leverage / (design.shape[1] * fit.mse_resid * np.maximum(1 - leverage, 1e-12) ** 2)
    )
    worst = int(cook.round(9).argmax()) + 1
    rows.append({"check": "largest Cook's distance", "value": float(cook.max()),
                 "note": f"row {worst} of the rows used"})  # fmt: skip
    if cook.max() > 1:
        warnings.append(f"Row {worst} of the rows used decides much of the fit (Cook's distance "
                        f"{cook.max():.2f}): look at it.")  # fmt: skip
    if n < 10 * (design.shape[1] - 1):
        warnings.append(
            f"{n} rows for {design.shape[1] - 1} coefficients: fewer than 10 a coefficient, expect overfitting."
        )
    return rows, warnings


def slopes_apart(design, y, effects, predictors):
    """Return a warning where the slope of the first number differs between the levels of the first factor (ANCOVA)."""
    from scipy import stats
    from statsmodels.regression.linear_model import OLS

    number, factor, products = products_apart(design, effects, predictors)
    if not products:
        return []
    wide = OLS(y, design.assign(**products)).fit()
    if wide.df_resid < 5 or wide.df_model < design.shape[1] - 1 + len(products):
        return []
    plain = OLS(y, design).fit()
    f = (plain.ssr - wide.ssr) / len(products) / (wide.ssr / wide.df_resid)
    p = float(stats.f.sf(f, len(products), wide.df_resid))
    return [told_apart(number, factor, p)] if p < 0.01 else []


def products_apart(design, effects, predictors):
    """Return the first number and factor among the predictors, and the columns that let the slope differ by level."""
    number = next((name for name in predictors if effects[name] == [name] and design[name].nunique() > 4), "")
    factor = next((name for name in predictors if effects[name] != [name] and len(effects[name]) < 12), "")
    terms = effects[factor] if number and factor else []
    return number, factor, {f"{term}:{number}": design[term] * design[number] for term in terms}


def told_apart(number, factor, p):
    """Return the warning that one adjusted difference hides that slopes differ."""
    return (f"The slope of {number} differs between the levels of {factor} (F test {format_p(p)}): no single adjusted "
            f"difference describes them. Set interaction with {factor} and {number} first.")  # fmt: skip


def levels_findings(together, means, outcome, adjusted):
    """Return whether the outcome differs between the levels of each factor of more than two, all levels at once."""
    held, kind = (", others held equal", "adjusted mean") if adjusted else ("", "mean")
    findings = []
    for name, row in together.items():
        order = sorted((mean for mean in means if mean["factor"] == name), key=lambda mean: -mean["mean"])
        ends = {"highest": order[0]["mean"], "lowest": order[-1]["mean"]} if order else {}
        told = f": {kind} {high_to_low({mean['level']: mean['mean'] for mean in order}, name)}" if order else ""
        findings.append(
            {"text": f"{outcome} {'differs' if row['p_value'] < 0.05 else 'is not shown to differ'} "
                     f"{between(name)}{held} ({format_p(row['p_value'])}){told}; F({row['note']}) = "
                     f"{format_number(row['value'], 4)}.",
             "values": finding_values(**ends, value=row["value"], p_value=row["p_value"]), "output": "diagnostics",
             "row": {"check": row["check"]}}
        )  # fmt: skip
    return findings


def slopes_by_level(fit, effects, products, levels, outcome, predictors, joint):
    """Return the finding on the slope of a number within each level of a factor that it interacts with, in a list.

    [] unless one of the two is a number and the other a factor of at most six levels, the reference first.
    """
    number = next((name for name in predictors[:2] if effects[name] == [name] and name not in levels), "")
    factor = next((name for name in predictors[:2] if name != number and len(levels.get(name, ())) in range(2, 7)), "")
    if not (joint and number and factor):
        return []
    parts, values = [], {}
    for level, term in zip(levels[factor], ["", *effects[factor]], strict=True):
        own = {number, *(name for name, pair in products.items() if {*pair} == {number, term})}
        test = fit.t_test([float(name in own) for name in fit.params.index])
        slope, (low, high) = float(test.effect[0]), (float(end) for end in test.conf_int()[0])
        values[f"slope {level}"] = (slope, low, high)
        parts.append((called_level(level, factor), slope, low, high))
    per = per_step(number)
    if all(low > 0 for _, _, low, _ in parts) or all(high < 0 for *_, high in parts):
        sizes = [(level, *in_size(slope, low, high)) for level, slope, low, high in parts]
        told = f"{'rises' if parts[0][1] > 0 else 'falls'} {per} by " + in_a_row(
            [f"{size} in {level} ({interval})" for level, size, interval in sizes])  # fmt: skip
    else:
        told = f"changes {per} by " + in_a_row(
            [f"{format_number(slope)} in {level} (95 % CI {format_number(low)} to {format_number(high)})"
             for level, slope, low, high in parts])  # fmt: skip
    verdict = "differ" if joint["p_value"] < 0.05 else "are not shown to differ"
    return [{"text": f"{outcome} {told}; the slopes {verdict} (interaction F({joint['note']}) = "
                     f"{format_number(joint['value'], 4)}, {format_p(joint['p_value'])}).",
             "values": finding_values(value=joint["value"], p_value=joint["p_value"], **values),
             "output": "diagnostics", "row": {"check": joint["check"]}}]  # fmt: skip


def linear_findings(fit, rows, outcome, predictors, marginal, joint):
    """Return the findings: adjusted means where the first predictor is a factor, the fit, the clearest coefficients."""
    grid, contrasts, effects, products = marginal
    lead = predictors[0]
    findings = marginal_findings(contrasts, grid, lead, f"mean {outcome}", outcome, bool(products))
    # The contrasts of the first factor have said what its coefficients say, and joint test and change the products'.
    told = {*products, *(effects[lead] if findings else ())}
    if joint and not any("of" in row for row in contrasts):
        depends = "depends" if joint["p_value"] < 0.05 else "is not shown to depend"
        findings.insert(0, {
            "text": f"The effect of {lead} on {outcome} {depends} on {predictors[1]}: interaction F({joint['note']}) = "
                    f"{format_number(joint['value'], 4)}, {format_p(joint['p_value'])}.",
            "values": finding_values(value=joint["value"], p_value=joint["p_value"]), "output": "diagnostics",
            "row": {"check": joint["check"]}})  # fmt: skip
    f_p = f"F = {format_number(fit.fvalue, 4)}, {format_p(float(fit.f_pvalue))}"
    fit_of_all = {"text": f"The model explains {100 * fit.rsquared:.1f} % of the variance of {outcome} (R squared "
                 f"{fit.rsquared:.3f}, adjusted {fit.rsquared_adj:.3f}, n = {rows[0]['n']}, {f_p}).",
         "values": finding_values(value=float(fit.rsquared), n=rows[0]["n"]), "output": "diagnostics",
         "row": {"check": "R squared"}}  # fmt: skip
    others = ", others held equal" if len(rows) > 2 else ""
    for row in sorted((row for row in rows[1:] if row["term"] not in told), key=lambda row: row["p_value"])[:8]:
        clear = row["p_value"] < 0.05
        direction = "higher" if row["estimate"] > 0 else "lower"
        where = with_term(row["term"], row["meaning"], row["term"].partition("[")[0] if clear else "")
        size, limits = in_size(row["estimate"], row["lower_95"], row["upper_95"])
        limits = limits if clear else (
            f"95 % CI {format_number(row['lower_95'])} to {format_number(row['upper_95'])}")  # fmt: skip
        start = (
            f"{outcome} is {size} {direction} {where}{others}" if clear
            else f"{outcome} is not shown to change {where}{others}: coefficient {format_number(row['estimate'])}"
        )  # fmt: skip
        findings.append(
            {"text": f"{start} ({limits}), {format_p(row['p_value'])}"
                     f"{'' if clear else left_open(row['lower_95'], row['upper_95'])}.",
             "values": finding_values(estimate=(row["estimate"], row["lower_95"], row["upper_95"]),
                                      p_value=row["p_value"]),
             "output": "coefficients", "row": {"term": row["term"]}}
        )  # fmt: skip
    # What is named first answers; how well the model fits comes after it.
    own = [one for one in findings if one["row"].get("term") in effects[lead]] if not joint else []
    first = [*own, *(one for one in findings if one not in own)]
    return [*first[:1], fit_of_all, *first[1:]]


@tool(
    name="linear_regression",
    title="Linear regression of a measured outcome",
    description=(
        "Model a numeric outcome as a sum of effects of one or more predictors (ordinary least squares). Numbers enter "
        "as slopes per unit, text as differences from a named reference level (the control-like one, else the first). "
        "Each coefficient is adjusted for the others; two-sided t tests with 95 % intervals, robust (HC3) standard "
        "errors and the interaction of the first two predictors on request (of two groups and two times: a difference "
        "in differences). Factors get adjusted (estimated marginal) means and Tukey-adjusted contrasts of all levels. "
        "Diagnostics: R squared, normality and spread of residuals, collinearity, influential rows. "
        "Rows with a missing value are left out and counted; rows are taken as independent."
    ),
    domain="statistics",
    task_type="analysis",
    methods=(
        "robust_se => linear regression (least squares) with t tests and robust errors (HC3), because the "
        "outcome is a measurement",
        "linear regression (least squares) with t tests, because the outcome is a measurement",
    ),
    complete=("outcome", "predictors"),
    inputs={"table": "table: one row an observation"},
    outputs={
        "coefficients": "table: a row a term: estimate, interval, p-value",
        "diagnostics": "table: fit and assumption checks",
        "marginal_means": "table: adjusted mean of every level of each factor",
        "expected": "table: what the model expects at the values that are named, with intervals",
        "contrasts": "table: differences of the adjusted means of all pairs of levels",
        "regression_plot": "figure: fit or coefficients, and residuals",
    },
    optional_outputs=("marginal_means", "expected", "contrasts"),
    params={
        "outcome": param("The measured outcome", kind="column", of="table", role="measure"),
        "predictors": param("What may explain it", kind="columns", of="table", role="predictors", least=1),
        "categorical": param("Numeric predictors to take as groups", kind="columns", of="table", role="as_groups"),
        "robust_se": param(
            "Use standard errors that allow for unequal spread (HC3)",
            words=["true: robust (?:standard )?(?:errors?|regress|model|SEs?)|HC3|heterosce"],
        ),
        "per": PER,
        "references": REFERENCES,
        "control": CONTROL,
        "adjusted": ADJUSTED,
        "at": AT,
        "interaction": param(
            "Let the effect of the first predictor depend on the second (difference in differences)",
            words=[
                rf"true: {DEPENDS}|"
                "interact\\w*|diff\\w*[ -]in[ -]diff\\w*|(?-i:DiD|DID)\\b|"
                "(?:chang|increas|decreas|improv|declin|dropp|r[io]s|fell|grew)\\w* (?:more|less)\\b|"
                "slopes?\\b[^.?!]{0,60}\\b(?:differ\\w*|the same|equal|parallel)|parallel slopes|"
                "homogene\\w+ of (?:the )?(?:regression )?slopes"
            ],
        ),
    },
    checks=("tables_not_empty", "p_values_valid", "findings_match_tables", "coefficients_in_their_intervals"),
    keywords=(
        "linear regression",
        "linear model",
        "lm",
        "predict",
        "slope",
        "adjusted for",
        "covariates",
        "multiple regression",
        "effect of age",
        "least squares",
        "fit a line",
        "confounder",
        "depends on",
        "trend",
    ),
    citations=(
        Citation(
            title="statsmodels: econometric and statistical modeling with Python",
            authors="Seabold S, Perktold J",
            year=2010,
            doi="10.25080/Majora-92bf1922-011",
        ),
        Citation(
            title="A simple test for heteroscedasticity and random coefficient variation",
            authors="Breusch TS, Pagan AR",
            year=1979,
            doi="10.2307/1911963",
        ),
    ),
    packages=("statsmodels", "scipy", "numpy", "pandas"),
    seconds=3.0,
    repairs=[
        Repair(
            pattern="An interaction takes two|'[^']*:[^']*' is fully determined",
            change={"interaction": False},
            why="the interaction could not be estimated, so effects were taken to add up",
        ),
    ],
    example="How does fuel use depend on weight, adjusted for horsepower?",
    answers=["linear_regression"],
    shows={"expected": [], "marginal_means": [], "coefficients": []},
)
def linear_regression(
    table,
    *,
    outcome: str,
    predictors: list[str],
    categorical: list[str] = [],  # noqa: B006 - a plain default, never changed
    robust_se: bool = False,
    interaction: bool = False,
    per: float = 1.0,
    references: list[str] = [],  # noqa: B006 - a plain default, never changed
    control: str = "",
    adjusted: list[str] = [],  # noqa: B006 - a plain default, never changed
    at: list[str] = [],  # noqa: B006 - a plain default, never changed
):
    """Fit a linear regression."""
    import pandas as pd
    from statsmodels.regression.linear_model import OLS

    predictors = chosen_predictors(outcome, predictors)
    table = plain_table(table)
    require_columns(table, [outcome, *predictors])
    table, warnings = complete_rows(table, [outcome, *predictors])
    table = with_references(table, references, predictors, control)
    y = numeric_values(table, outcome)
    if y.nunique() < 2:
        raise ValueError(
            f"Every value of {outcome!r} is the same; there is nothing to explain. Choose another outcome."
        )
    design, meanings, effects, products, notes = model_columns(
        table, predictors, categorical, interaction, per, adjusted
    )
    warnings += notes
    check_rank(design, outcome)
    plain_fit = OLS(y, design).fit()
    fit = OLS(y, design).fit(cov_type="HC3", use_t=True) if robust_se else plain_fit
    intervals = fit.conf_int(0.05)
    rows = [
        {"term": term, "meaning": meanings[term], "estimate": float(fit.params[term]), "se": float(fit.bse[term]),
         "lower_95": float(intervals.loc[term, 0]), "upper_95": float(intervals.loc[term, 1]),
         "statistic": float(fit.tvalues[term]), "p_value": float(fit.pvalues[term]), "n": len(y)}
        for term in design.columns
    ]  # fmt: skip
    checks, notes = linear_diagnostics(plain_fit, design, products)
    warnings += notes
    grid = reference_grid(design, table, {name: effects[name] for name in predictors}, products)
    model = {"beta": fit.params.to_numpy(), "covariance": fit.cov_params().to_numpy(), "df": float(fit.df_resid),
             "scale": "mean"}  # fmt: skip
    means, contrasts = marginal_tables(grid, model, predictors[:2] if interaction else ())
    together = {}
    for name in predictors:
        if len(effects[name]) > 1 and not (interaction and name in predictors[:2]):
            test = fit.f_test([[float(term == column) for term in design.columns] for column in effects[name]])
            together[name] = {"check": f"{name}, all levels together (F test)", "value": float(test.fvalue),
                              "p_value": float(test.pvalue), "note": f"{test.df_num:g}, {test.df_denom:g}"}  # fmt: skip
    checks += together.values()
    if not interaction:
        warnings += slopes_apart(design, y, effects, predictors)
    joint = {}
    if interaction:
        test = fit.f_test([[float(term == column) for term in design.columns] for column in products])
        joint = {"check": f"interaction of {predictors[0]} and {predictors[1]} (F test)", "value": float(test.fvalue),
                 "p_value": float(test.pvalue), "note": f"{test.df_num:g}, {test.df_denom:g}"}  # fmt: skip
        checks.append(joint)
    marginal = (grid, contrasts, effects, products)
    findings = linear_findings(plain_fit, rows, outcome, predictors, marginal, joint)
    findings[:0] = slopes_by_level(fit, effects, products, grid["levels"], outcome, predictors, joint)
    for finding in reversed(levels_findings(together, means, outcome, len(predictors) > 1)):
        # What is named first is asked about: a factor with more levels beside it comes after it.
        own = finding["row"]["check"].startswith(f"{predictors[0]}, ")
        findings.insert(0 if own or not findings else 1, finding)
    together = {name: row["p_value"] for name, row in together.items()}
    if not interaction:
        findings = describe_predictors(rows, effects, together, outcome, "is", "estimate", adjusted, means) + findings
    expected = []
    if at:
        model |= {"mse": float(plain_fit.mse_resid)}
        expected, told, notes = expected_values(design, table, effects, products, grid["levels"], at, model, outcome)
        findings, warnings = [told, *findings], warnings + notes
    return {
        "coefficients": pd.DataFrame(rows),
        "diagnostics": pd.DataFrame(checks).reindex(columns=["check", "value", "p_value", "note"]),
        "marginal_means": pd.DataFrame(means) if means else None,
        "expected": pd.DataFrame(expected) if expected else None,
        "contrasts": contrast_frame(contrasts),
        "regression_plot": linear_figure(plain_fit, design, outcome, rows),
        "findings": findings,
        "warnings": warnings,
    }
