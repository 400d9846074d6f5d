"""Why apart: rows of the same subject are alike, and a model that takes them as independent is too sure of itself.

A measured outcome gets a linear mixed model, whose subjects have their own intercepts (and slopes). Yes/no outcomes
and counts get generalised estimating equations: their ratios are averages over subjects, and their errors stay right
when the assumed correlation is not.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation, NextStep, Repair
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.registry import param, tool
from engine.toolbox.statistics.course import course_figure
from engine.toolbox.statistics.linear import (
    ADJUSTED,
    CONTROL,
    DEPENDS,
    REFERENCES,
    check_rank,
    chosen_predictors,
    coefficient_figure,
    describe_predictors,
    model_columns,
    products_apart,
    told_apart,
    with_references,
)
from engine.toolbox.statistics.logistic import event_level
from engine.toolbox.statistics.marginal import (
    contrast_frame,
    each_change,
    marginal_findings,
    marginal_tables,
    reference_grid,
)
from engine.toolbox.statistics.mixed_fit import (
    estimating_equations,
    linear_mixed,
)
from engine.toolbox.statistics.slopes import slope_tables
from engine.toolbox.tables.columns import (
    called_level,
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
from engine.toolbox.tables.wording import in_size, per_step, with_term


@check("mixed_coefficients_consistent")
def mixed_coefficients_consistent(step: StepOutputs) -> Iterator[Issue]:
    """Estimates lie inside their intervals, standard errors are positive, and ratios are exp of estimates."""
    import math

    table = step.table("coefficients")
    ratio = next((name for name in ("odds_ratio", "rate_ratio") if name in table), None)
    for _, row in table.iterrows():
        if not (row["se"] > 0 and row["lower_95"] <= row["estimate"] <= row["upper_95"]):
            message = f"The estimate of {row['term']} ({row['estimate']}) does not lie inside its interval."
            yield Issue(code="interval_without_estimate", severity="error", message=message, where="coefficients")
        if ratio and abs(math.log(row[ratio]) - row["estimate"]) > 1e-6 * max(1.0, abs(row["estimate"])):
            message = f"The {ratio} of {row['term']} is not exp of its estimate {row['estimate']}."
            yield Issue(code="ratio_differs", severity="error", message=message, where="coefficients")


@check("variance_components_valid")
def variance_components_valid(step: StepOutputs) -> Iterator[Issue]:
    """Variances are not negative and the intraclass correlation lies between 0 and 1."""
    table = step.table("variance").set_index("component")["value"]
    for name, value in table.items():
        wrong = value < 0 if str(name).startswith("variance") else name == "ICC" and not 0 <= value <= 1
        if wrong:
            message = f"{name} is {value}, which no variance or share of one can be."
            yield Issue(code="variance_out_of_bounds", severity="error", message=message, where="variance")


def chosen_family(table, outcome, family, exposure):
    """Return gaussian, binomial or poisson, by the outcome's values when `family` is auto, and warnings."""
    if exposure and family not in ("auto", "poisson"):
        raise ValueError(f"An exposure ({exposure}) belongs to counts; expected family poisson, or no exposure.")
    if family != "auto":
        return family, []
    labels = level_labels(table[outcome])
    if labels.nunique() == 2 and not exposure:
        return "binomial", []
    y = numeric_values(table, outcome)
    counts = bool((y == y.round()).all() and y.min() == 0 and (y.nunique() <= 12 or y.var() > y.mean()))
    if not counts and not exposure:
        return "gaussian", []
    return "poisson", [
        f"{outcome} holds whole numbers from 0 on and was taken as a count (log link); if it is a score, set family to "
        "gaussian."
    ] * (not exposure)


def shared_beginning(texts):
    """Return the longest text that all of them begin with."""
    first = texts[0]
    length = 0
    while length < len(first) and all(text.startswith(first[: length + 1]) for text in texts):
        length += 1
    return first[:length]


def one_row_an_occasion(table, columns, subject):
    """Return the table with a row for each of `columns`, and what its value, subject and occasion are called.

    The value is named by what the columns' names share, the occasions by what tells them apart, the first as reference.
    A unit of time before the number names the occasions: `BW wk0` and `BW wk8` are BW at 0 and 8 wk.
    """
    import re

    import pandas as pd

    columns = list(dict.fromkeys(columns))
    if len(columns) < 2:
        raise ValueError("Only one column of measurements was named; expected two or more, one an occasion.")
    require_columns(table, [*columns, *([subject] if subject else [])])
    start = shared_beginning(columns)
    end = shared_beginning([name[len(start) :][::-1] for name in columns])[::-1]
    labels = [name[len(start) : len(name) - len(end)] for name in columns]
    if not all(labels) or len(set(labels)) < len(labels):
        labels = columns
    taken = {str(name) for name in table.columns}
    unit = re.fullmatch(
        r"(.*\w)[ ._-]+((?:min|h|hr|hour|d|day|w|wk|week|mo|month|yr|year|visit)s?)[ ._-]*", start, re.IGNORECASE
    )
    start, unit = (unit[1], unit[2]) if unit else (start, "")
    value = next(n for n in (f"{start}{end}".strip(" ._-"), "value", "measured_value") if n and n not in taken)
    occasion = next(n for n in (unit, "occasion", "measured_at", "occasion_of_value") if n and n not in taken)
    rest = table.drop(columns=columns)
    if not subject:
        subject = next(n for n in ("subject", "row_of_table", "subject_of_row") if n not in taken)
        rest[subject] = [f"row {i + 1}" for i in range(len(rest))]
    elif rest[subject].duplicated().any():
        raise ValueError(f"{subject!r} has several rows of one value; in wide form each subject has one row.")
    parts = [rest.assign(**{value: numeric_values(table, name), occasion: label})
             for name, label in zip(columns, labels, strict=True)]  # fmt: skip
    stacked = pd.concat(parts, ignore_index=True)
    stacked[occasion] = pd.Categorical(stacked[occasion], categories=labels, ordered=True)
    return stacked, value, subject, occasion


def wald_tests(beta, covariance, df, terms, effects, partial):
    """Return a joint test of each effect's coefficients: F, or chi-squared without df."""
    import numpy as np
    from scipy import stats

    rows = []
    for effect, columns in effects.items():
        at = [terms.index(column) for column in columns]
        value = float(beta[at] @ np.linalg.solve(covariance[np.ix_(at, at)], beta[at]))
        df_2 = min(df[i] for i in at)
        finite = df_2 < float("inf")
        p = stats.f.sf(value / len(at), len(at), df_2) if finite else stats.chi2.sf(value, len(at))
        rows.append({"effect": effect, "test": "F (Wald)" if finite else "chi-squared (Wald)",
                     "statistic": value / len(at) if finite else value, "df": len(at),
                     "df_2": df_2 if finite else float("nan"), "p_value": float(p),
                     "note": "where the other one is 0 or at its reference" if effect in partial else ""})  # fmt: skip
    return rows


def lines_apart(y, design, groups, slope, effects, fixed):
    """Return a warning where the slope of the first number differs between the levels of the first factor.

    Rows of a subject stay together in the wider model, with the same random effects.
    """
    import numpy as np

    number, factor, products = products_apart(design, effects, fixed)
    if not products:
        return []
    wide = design.assign(**products)
    try:
        check_rank(wide, number)
        beta, covariance, df, *_ = linear_mixed(y, wide, groups, slope, [slope, *products] if slope == number else [])
        test = wald_tests(beta, covariance, df, list(wide.columns), {"products": [*products]}, [])[0]
    except (ValueError, np.linalg.LinAlgError):
        return []  # too few rows for the wider model, of which nothing was asked
    return [told_apart(number, factor, test["p_value"])] if test["p_value"] < 0.01 else []


def mixed_figure(rows, y, expected, groups, outcome, family, ratio):
    """Draw the coefficients, beside residuals (measured outcome) or the means of the subjects (others)."""
    import pandas as pd

    figure, (left, right) = new_axes(width=10, panels=2)
    part, name = rows[1:], ratio or "estimate"
    low, high = (f"{ratio}_lower_95", f"{ratio}_upper_95") if ratio else ("lower_95", "upper_95")
    label = (
        f"{ratio.replace('_', ' ')} of {outcome} (95 % CI, log scale)" if ratio else f"change of {outcome} (95 % CI)"
    )
    coefficient_figure(left, *([row[key] for row in part] for key in ("term", name, low, high)), label, bool(ratio))
    style = {"s": 16, "color": palette(1)[0], "alpha": 0.7, "edgecolor": "white"}
    if family == "gaussian":
        right.scatter(expected, y - expected, **style)
        right.axhline(0, color="0.6", linewidth=0.8)
        right.set_xlabel(f"fitted {outcome}, subjects' own effects included")
        right.set_ylabel("residual (observed minus fitted)")
        return figure
    means = pd.DataFrame({"y": y, "fitted": expected}).groupby(groups).mean()
    right.scatter(means["fitted"], means["y"], **style)
    right.axline((float(means["fitted"].mean()),) * 2, slope=1, color="0.6", linewidth=0.8)
    right.set_xlabel(f"fitted mean of {outcome}, a point a subject")
    right.set_ylabel("observed mean")
    return figure


def describe_model(family, outcome, subject, rows, counts, event):
    """Return the finding that says which model was fitted to what, and how alike rows of a subject are."""
    shown = "ICC" if family == "gaussian" else "working correlation"
    found = next(row for row in rows if row["component"] == shown)
    value, where = found["value"], "".join(found["note"].partition(", at the mean")[1:])
    what = f"odds of {event} were" if family == "binomial" else f"rate of {event} was"
    base = f"{counts['rows']} rows of {counts['subjects']} subjects ({subject})"
    text = (
        f"{outcome} was fitted by a linear mixed model (REML) to {base}: differences between subjects make up "
        f"{100 * value:.1f} % of the variance that the fixed effects leave (ICC {format_number(value)}{where})."
        if family == "gaussian" else
        f"The {what} fitted by generalised estimating equations (an average over subjects, no random effects; robust "
        f"errors) to {base}; working correlation within a subject {format_number(value)}."
    )  # fmt: skip
    return {"text": text, "values": finding_values(value=value, n=counts["rows"], n_subjects=counts["subjects"]),
            "output": "variance", "row": {"component": shown}}  # fmt: skip


def ends_of_levels(effect, means, ratio):
    """Return where a factor's adjusted mean is highest and lowest, as the end of a sentence, "" without such means."""
    levels = sorted((row["mean"], row["level"]) for row in means if row["factor"] == effect and not row["within"])
    if len(levels) < 3:
        return ""
    share = ratio == "odds_ratio"
    low, high = (f"{level} ({format_number(mean * 100) + ' %' if share else format_number(mean)})"
                 for mean, level in (levels[0], levels[-1]))  # fmt: skip
    return f"; adjusted, it is highest in {high} and lowest in {low}"


def describe_effects(rows, tests, ratio, event, interactions, told, means=()):
    """Return the findings of joint tests (several coefficients or an interaction) and of the clearest terms.

    Terms `told` already by contrasts are left out; of a factor that matters the levels with the highest and lowest
    adjusted mean are named.
    """
    findings = []
    for test in tests:
        if test["df"] > 1 and not test["note"]:
            verdict = "is associated with" if test["p_value"] < 0.05 else "is not shown to be associated with"
            df = f"{test['df']}" + (f" and {test['df_2']:g}" if test["df_2"] == test["df_2"] else "")
            one, product, other = test["effect"].partition(":")
            depends = "depends" if test["p_value"] < 0.05 else "is not shown to depend"
            start = f"How {event} goes with {one} {depends} on {other}" if product else (
                f"{test['effect']} {verdict} {event}, all its coefficients together")  # fmt: skip
            findings.append(
                {"text": f"{start}: {test['test']} {format_number(test['statistic'])} on {df} degrees of freedom, "
                         f"{format_p(test['p_value'])}"
                         f"{ends_of_levels(one, means, ratio) if test['p_value'] < 0.05 and not product else ''}.",
                 "values": finding_values(statistic=test["statistic"], p_value=test["p_value"]),
                 "output": "tests", "row": {"effect": test["effect"]}}
            )  # fmt: skip
    name = ratio or "estimate"
    for row in sorted((row for row in rows[1:] if row["term"] not in told), key=lambda row: row["p_value"])[:8]:
        low, high = (
            (row[f"{ratio}_lower_95"], row[f"{ratio}_upper_95"]) if ratio else (row["lower_95"], row["upper_95"])
        )
        clear = row["p_value"] < 0.05
        target = f"the {ratio.split('_')[0]} of {event}" if ratio else event
        size = f"{100 * abs(row[name] - 1):.3g} % " if ratio and row[name] < 3 else ""
        shown, interval = in_size(row[name], low, high)
        size = size if ratio else f"{shown} "
        verb = f"{'are' if ratio == 'odds_ratio' else 'is'} {size}{'higher' if row['estimate'] > 0 else 'lower'}"
        where = with_term(row["term"], row["meaning"], row["term"].partition("[")[0] if clear else "")
        start = (
            interaction_told(row["term"], target, clear, row["estimate"]) if row["term"] in interactions
            else f"{target[0].upper() + target[1:] if ratio else target} {verb} {where}" if clear
            else f"{target[0].upper() + target[1:] if ratio else target} {verb.split()[0]} not shown to change {where}"
        )  # fmt: skip
        others = ", others held equal" if len(rows) > 2 else ""
        left = "odds" if ratio == "odds_ratio" else "anything"
        told_by = (
            f" ({interval})" if clear and not ratio and row["term"] not in interactions
            else f": {name.replace('_', ' ')} {format_number(row[name])} (95 % CI {format_number(low)} to "
                 f"{format_number(high)})"
        )  # fmt: skip
        findings.append(
            {"text": f"{start}{others}{told_by}, {format_p(row['p_value'])}"
                     f"{'' if clear else left_open(low, high, bool(ratio), what=left)}.",
             "values": finding_values(**{name: (row[name], low, high)}, p_value=row["p_value"]),
             "output": "coefficients", "row": {"term": row["term"]}}
        )  # fmt: skip
    return findings


def terms_named(row):
    """Return the columns that a row of coefficients or tests is of: diet and week of `diet[high vs low]:week`."""
    term = row.get("term", row.get("effect", ""))
    return [part.partition("[")[0] for part in term.split(":")]


def interaction_told(term, target, clear, estimate):
    """Return how a sentence begins on one coefficient of an interaction: what differs by how much, and where.

    Of two factors it is a difference of differences, of a number a difference of slopes.
    """
    sides, whom = [], []
    for part in term.split(":"):
        name, _, levels = part.partition("[")
        first, apart, second = levels.removesuffix("]").partition(" vs ")
        (sides if apart and " vs " not in second else whom).append((name, first, second))
    way = "higher" if estimate > 0 else "lower"
    if len(sides) == 2 and not whom:
        (a, first, second), (b, here, there) = sides
        what = f"The difference in {target} between {called_level(first, a)} and {called_level(second, a)}"
        where = f"{called_level(here, b)} than at {called_level(there, b)}"
        verdict = f"is {way}" if clear else "is not shown to be another"
        return f"{what} {verdict} at {where} (interaction)"
    if len(sides) == len(whom) == 1:
        (a, first, second), number = sides[0], whom[0][0]
        verdict = f"is {way}" if clear else "is not shown to be another"
        ends = f"{called_level(first, a)} than in {called_level(second, a)}"
        return f"The change of {target} {per_step(number)} {verdict} in {ends} (interaction)"
    return f"{'An' if clear else 'No'} interaction of {term.replace(':', ' and ')} on {target} was shown"


def numbered_anew(table, labels, fixed, subject):
    """Return a warning where small whole numbers name subjects with several rows in each of several groups."""
    import pandas as pd

    numbers = pd.to_numeric(labels, errors="coerce")
    if numbers.isna().any() or (numbers % 1 != 0).any() or numbers.max() > 30:
        return []
    for name in fixed:
        if pd.api.types.is_numeric_dtype(table[name]) or table[name].nunique() > 6:
            continue
        cells = table.groupby([labels, table[name].astype(str)]).size().unstack(fill_value=0)
        if cells.shape[1] > 1 and (cells >= 3).all(axis=None):
            return [f"{subject} {labels.iloc[0]} occurs in every {name} and was taken as one and the same. If numbers "
                    f"start anew in each {name}, they are different subjects: set nested_in to {name}."]  # fmt: skip
    return []


@tool(
    name="mixed_model",
    title="Mixed model of a measurement, or GEE of a yes/no outcome or count, with repeated rows of a subject",
    description=(
        "Model an outcome with several rows per subject, litter, site or plot by one or more fixed effects, each "
        "adjusted for the others, optionally with the interaction of the first two. Measured outcomes: linear mixed "
        "model (REML) with a random intercept per subject, a random slope on request, variance components, ICC and t "
        "tests with between-within degrees of freedom. Yes/no outcomes and counts: generalised estimating equations "
        "with an exchangeable working correlation and robust errors, not a model with random effects; odds ratios or "
        "rate ratios are averages over subjects. Factors of more than two levels get a joint Wald test, all factors "
        "adjusted (estimated marginal) means and Tukey-adjusted contrasts, two groups at two times a difference in "
        "differences. Each subject's own slope over a time is listed, and compared between groups (summary measures). "
        "Takes subjects with missing rows. Rows with a missing value are left out and counted."
    ),
    domain="statistics",
    task_type="analysis",
    methods=(
        "family=binomial => logistic GEE with robust errors, because rows of one {subject} belong together "
        "and the outcome is yes or no",
        "family=poisson => Poisson GEE with robust errors, because rows of one {subject} belong together "
        "and the outcome is a count",
        "exposure => Poisson GEE with robust errors, because rows of one {subject} belong together and the "
        "outcome is a count",
        "family=gaussian => linear mixed model (REML) with t tests, because rows of one {subject} belong together",
        "event_value => logistic GEE with robust errors, because rows of one {subject} belong together "
        "and the outcome is yes or no",
        "outcome~binary => logistic GEE with robust errors, because rows of one {subject} belong together "
        "and the outcome is yes or no",
        "columns => linear mixed model (REML) with t tests (GEE for yes/no outcomes and counts), because "
        "each row is measured in several columns",
        "subject and outcome~number|share => linear mixed model (REML) with t tests, because rows of one "
        "{subject} belong together",
        "subject => linear mixed model (REML) for a measurement, GEE for whole numbers from 0 on that look "
        "like counts, because rows of one {subject} belong together",
        "linear mixed model (REML) for a measurement, GEE for a yes/no outcome or a count, because rows "
        "belong together",
    ),
    complete=("outcome", "fixed", "subject", "exposure", "nested_in", "random_slope"),
    inputs={"table": "table: one row a measurement, several rows a subject"},
    outputs={
        "coefficients": "table: a row a term: estimate, interval, p-value, odds or rate ratio",
        "tests": "table: a joint test of each fixed effect",
        "variance": "table: variance components and ICC, or the working correlation",
        "marginal_means": "table: adjusted mean (probability, rate) of every level of each factor",
        "contrasts": "table: differences or ratios of all pairs of levels",
        "slopes": "table: each subject's own least-squares line over what changes within subjects",
        "slope_comparison": "table: the subjects' slopes compared between groups",
        "course_plot": "figure: means of every group over what changes within subjects, with intervals",
        "model_plot": "figure: coefficients, and residuals or the means of subjects",
    },
    optional_outputs=("marginal_means", "contrasts", "slopes", "slope_comparison", "course_plot"),
    params={
        "outcome": param("What was measured", kind="column", of="table", role='response', needed=True),
        "columns": param("The columns of one measurement, one an occasion, in their order (wide form, a row a subject)",
                         kind="columns", of="table", role="wide", instead_of=["outcome", "subject"], least=2),
        "fixed": param("The fixed effects that may explain it", kind="columns", of="table", role="predictors", least=1),
        "subject": param("What rows belong together (subject, animal, litter, site)", kind="column", of="table",
                         role="subject", needed=True),
        "nested_in": param("The column within whose levels the subjects' numbers start anew (mouse 1 of each cage); "
                           "the subject's own where one number is one subject throughout",
                           kind="column", of="table", role="nested_in"),
        "interaction": param("Let the effect of the first fixed effect depend on the second",
                             role="interaction",
                             words=[rf'true: {DEPENDS}|' 'interact\\w*|differ\\w* in (?:slope|growth|change)|parallel|'
                                    'faster|slower|steeper|flatter|more (?:slow|quick|rapid|steep)ly|'
                                    'over (?:the )?(?:time|weeks|days|months|years)\\b[^.?!]{0,25}\\b(?:more|less) '
                                    'than|(?:slow|speed|accelerat|delay|halt|stop)\\w*\\s+(?:down\\s+|up\\s+)?(?:the\\s+)?'
                                    '(?:\\w+\\s+)?(?:growth|decline|loss|progress\\w*)|'
                                    'diff\\w*[ -]in[ -]diff\\w*|(?-i:DiD|DID)\\b|(?:chang|increas|decreas|improv|'
                                    'declin|dropp|r[io]s|fell|grew)\\w* (?:more|less)\\b|'
                                    '(?:grow|gain|develop|recover|heal)\\w* (?:\\w+ )?(?:better|worse|more|less)\\b|'
                                    '(?:growth|change|increase|decrease|rise|fall|decline|slope|progress|trajector|'
                                    'course|gain|loss|recovery|trend|improvement)\\w*\\b[^.?!]{0,60}\\b(?:differ\\w*|'
                                    'depends? on|(?:the )?same|alike)\\b']),
        "random_slope": param("A numeric fixed effect whose slope differs between subjects; empty for none",
                              kind="column", of="table", role="random_slope"),
        "family": param("What the outcome is; auto decides by its values and says so",
                        choices=["auto", "gaussian", "binomial", "poisson"],
                        words=["gaussian: measured|continuous", "binomial: yes or no|binary", "poisson: counts"]),
        "event_value": param("The level of a yes/no outcome that is the event; empty to recognise it", kind="level",
                             of="outcome", role='event_if_binary'),
        "categorical": param("Numeric fixed effects to take as groups", kind="columns", of="table", role="as_groups"),
        "references": REFERENCES,
        "control": CONTROL,
        "adjusted": ADJUSTED,
        "exposure": param("For counts: what they were counted in (time, area, volume); empty for equal", kind="column",
                          of="table"),
    },
    answers=['mixed_model'],
    shows={"marginal_means": [], "coefficients": [], "course_plot": [], "model_plot": []},
    checks=("tables_not_empty", "p_values_valid", "findings_match_tables", "mixed_coefficients_consistent",
            "variance_components_valid"),
    keywords=("mixed model", "mixed effects", "random effects", "random intercept", "random slope", "lmer", "glmer",
              "longitudinal", "repeated measures with covariates", "clustered data", "nested", "hierarchical",
              "multilevel", "litter", "pseudoreplication", "GEE", "generalised estimating equations", "ICC",
              "intraclass correlation", "within subject", "growth curve", "over time between groups"),
    citations=(
        Citation(title="Random-effects models for longitudinal data", authors="Laird NM, Ware JH", year=1982,
                 doi="10.2307/2529876"),
        Citation(title="Mixed-effects models in S and S-PLUS", authors="Pinheiro JC, Bates DM", year=2000,
                 doi="10.1007/b98882"),
        Citation(title="Longitudinal data analysis using generalized linear models", authors="Liang KY, Zeger SL",
                 year=1986, doi="10.1093/biomet/73.1.13"),
        Citation(title="A covariance estimator for GEE with improved small-sample properties",
                 authors="Mancl LA, DeRouen TA", year=2001, doi="10.1111/j.0006-341X.2001.00126.x"),
    ),
    packages=("statsmodels", "scipy", "numpy", "pandas"),
    seconds=8.0,
    example="Does growth over the weeks differ between the diets, with several weighings of each pig?",
    repairs=[
        Repair(pattern="with a random slope could not be fitted|does not change within any",
               change={"random_slope": ""},
               why="a slope for each subject could not be estimated, so subjects have intercepts of their own only; "
                   "intervals of that slope may be too narrow"),
        Repair(pattern="[Ll]eave out the interaction|'[^']*:[^']*' is fully determined", change={"interaction": False},
               why="the interaction could not be estimated, so effects were taken to add up"),
    ],
    next_steps=[
        NextStep(text="{name} gives every subject the same effect of time; let it differ with random_slope where a "
                      "fixed effect changes within subjects.", unless_param="random_slope"),
    ],
)  # fmt: skip
def mixed_model(
    table,
    *,
    fixed: list[str],
    outcome: str = "",
    subject: str = "",
    columns: list[str] = [],  # noqa: B006 - a plain default, never changed
    interaction: bool = False,
    random_slope: str = "",
    family: str = "auto",
    event_value: str = "",
    categorical: list[str] = [],  # noqa: B006 - a plain default, never changed
    exposure: str = "",
    nested_in: str = "",
    references: list[str] = [],  # noqa: B006 - a plain default, never changed
    control: str = "",
    adjusted: list[str] = [],  # noqa: B006 - a plain default, never changed
):
    """Fit a mixed model, or generalised estimating equations for a yes/no outcome or a count."""
    import numpy as np
    import pandas as pd
    from scipy import stats

    table, warnings = plain_table(table), []
    if columns:
        table, outcome, subject, occasion = one_row_an_occasion(table, columns, subject)
        fixed, adjusted = [*fixed[:1], occasion, *fixed[1:]], [*adjusted, occasion]
    if not outcome or not subject:
        raise ValueError("Name the outcome and the subject, or the columns of one measurement (wide form).")
    fixed = chosen_predictors(outcome, fixed)
    parts = [outcome, *fixed, subject, *([exposure] if exposure else [])]
    twice = [name for name in parts if parts.count(name) > 1] or [random_slope] * (random_slope in (outcome, subject))
    if twice:
        raise ValueError(f"{twice[0]!r} was named for two parts of the model; expected different columns.")
    if random_slope and random_slope not in fixed:
        fixed.append(random_slope)
        warnings.append(f"{random_slope} was added to the fixed effects: its random slopes vary around a mean slope.")
    used = list(dict.fromkeys([outcome, *fixed, subject, *(name for name in (exposure, nested_in) if name)]))
    require_columns(table, used)
    table, notes = complete_rows(table, used)
    table = with_references(table, references, fixed, control)
    labels = level_labels(table[subject])
    if nested_in not in ("", subject):
        labels = level_labels(table[nested_in]) + " / " + labels
    groups = labels.to_numpy()
    warnings += numbered_anew(table, labels, fixed, subject) if not nested_in else []
    family, more = chosen_family(table, outcome, family, exposure)
    warnings += notes + more
    subjects = len(set(groups))
    if subjects < 3:
        raise ValueError(f"Column {subject!r} names {subjects} subject(s); a mixed model needs at least 3, better 10.")
    if subjects == len(table):
        raise ValueError(
            f"Every value of {subject!r} occurs once, so rows are independent; use a regression without it."
        )
    level = ""
    if family == "binomial":
        labels, level, notes = event_level(table, outcome, event_value)
        y, warnings = (labels == level).to_numpy().astype(float), warnings + notes
    else:
        y = numeric_values(table, outcome).to_numpy()
    if len(set(y)) < 2:
        raise ValueError(f"Every value of {outcome!r} is the same; there is nothing to explain.")
    if family == "poisson" and not (y >= 0).all():
        raise ValueError(f"{outcome!r} has values below 0, so it is no count; set family to gaussian.")
    design, meanings, effects, products, notes = model_columns(table, fixed, categorical, interaction)
    warnings += notes
    check_rank(design, outcome)
    interacting = fixed[:2] if interaction else []
    joint = effects[":".join(interacting)] if interaction else []
    if family == "gaussian":
        sloped = []
        if random_slope:
            if effects[random_slope] != [random_slope]:
                raise ValueError(f"The random slope {random_slope!r} is not numeric; choose a column of numbers.")
            if (design[random_slope].groupby(groups).nunique() < 2).all():
                raise ValueError(
                    f"The random slope {random_slope!r} does not change within any {subject}; leave it out."
                )
            sloped = [random_slope, *(joint if random_slope in interacting else [])]
        beta, covariance, df, rows, expected, notes = linear_mixed(y, design, groups, random_slope, sloped)
    else:
        amount = None
        if exposure:
            amount = numeric_values(table, exposure).to_numpy()
            if not (amount > 0).all():
                raise ValueError(f"The exposure {exposure!r} has values of 0 or below; expected only positive ones.")
        if random_slope:
            warnings.append("The random slope was not used: estimating equations have no random effects.")
        beta, covariance, df, rows, expected, notes = estimating_equations(y, design, groups, family, amount)
    warnings += notes
    if subjects < 10:
        warnings.append(f"There are only {subjects} subjects: how much they vary, and p-values, are uncertain.")
    ratio = {"binomial": "odds_ratio", "poisson": "rate_ratio"}.get(family, "")
    terms = []
    for i, term in enumerate(design.columns):
        se, t = float(np.sqrt(covariance[i, i])), stats.t(df[i]) if df[i] < float("inf") else stats.norm()
        row = {"term": term, "meaning": meanings[term], "estimate": float(beta[i]), "se": se,
               "lower_95": float(beta[i] - t.ppf(0.975) * se), "upper_95": float(beta[i] + t.ppf(0.975) * se),
               "statistic": float(beta[i] / se), "df": df[i] if df[i] < float("inf") else float("nan"),
               "p_value": float(2 * t.sf(abs(beta[i] / se)))}  # fmt: skip
        if ratio:
            row |= {ratio: float(np.exp(beta[i])), f"{ratio}_lower_95": float(np.exp(row["lower_95"])),
                    f"{ratio}_upper_95": float(np.exp(row["upper_95"]))}  # fmt: skip
        terms.append(row | {"n": len(y), "n_subjects": subjects})
    tests = wald_tests(beta, covariance, df, list(design.columns), effects, interacting)
    sizes = pd.Series(groups).value_counts()
    rows += [{"component": "rows", "value": len(y), "note": f"{sizes.min()} to {sizes.max()} a subject"},
             {"component": "subjects", "value": subjects}]  # fmt: skip
    what = f"{outcome} = {level}" if level else outcome
    counts = {"rows": len(y), "subjects": subjects}
    grid = reference_grid(design, table, {name: effects[name] for name in fixed}, products)
    scale = {"binomial": "probability", "poisson": "rate"}.get(family, "mean")
    model = {"beta": beta, "covariance": covariance, "df": df, "scale": scale}
    means, contrasts = marginal_tables(grid, model, interacting)
    noun = f"{scale} of {what}" if ratio else f"mean {outcome}"
    together = {row["effect"]: row["p_value"] for row in tests if row["df"] > 1}
    per = exposure if family == "poisson" else ""
    lead = marginal_findings(contrasts, grid, fixed[0], noun, what, interaction, together.get(fixed[0]), per)
    change = any("of" in row for row in contrasts)
    told = (joint if change else []) + (effects[fixed[0]] if lead else [])
    about = describe_effects(terms, tests, ratio, what, joint, told, means or ())
    slopes, compared, steeper = None, None, []
    if family == "gaussian":
        slopes, compared, steeper = slope_tables(y, design, table, groups, effects, random_slope, outcome)
    if family == "gaussian" and not interaction:
        warnings[:0] = lines_apart(y, design, groups, random_slope, effects, fixed)
    fitted = [describe_model(family, outcome, subject, rows, counts, what)]
    asked = [finding for finding in about if interaction and {*finding["row"].values()} & {*joint, ":".join(fixed[:2])}]
    rest = [finding for finding in about if finding not in asked]
    # With an interaction it is the answer, slopes that say its direction first; averages over it come after, if at all.
    each = each_change(contrasts, grid, tests, *fixed[:2], what) if interaction else []
    first = [*steeper, *each, *lead] if each else [*lead, *steeper] if change else [*steeper, *asked, *lead]
    findings = [*first, *fitted, *rest]
    if not interaction:
        said = {"binomial": f"The odds of {what}", "poisson": f"The rate of {what}"}.get(family, outcome)
        verb = "are" if family == "binomial" else "is"
        several = describe_predictors(
            terms, effects, together, said, verb, ratio or "estimate", adjusted, () if family == "binomial" else means
        )
        # The effect that is asked about is the answer, also of a single one; which model gave it comes after.
        own = [found for found in rest if not {*terms_named(found["row"])} & {*adjusted}]
        answer = [*several, *lead] or own[:1] or rest[:1]
        findings = [*answer, *fitted, *(finding for finding in rest if finding not in answer), *steeper]
    return {
        "coefficients": pd.DataFrame(terms),
        "tests": pd.DataFrame(tests),
        "variance": pd.DataFrame(rows).reindex(columns=["component", "value", "note"]),
        "marginal_means": pd.DataFrame(means) if means else None,
        "contrasts": contrast_frame(contrasts),
        "slopes": slopes,
        "slope_comparison": compared,
        "course_plot": course_figure(table, y, design, groups, effects, random_slope, what),
        "model_plot": mixed_figure(terms, y, expected, groups, outcome, family, ratio),
        "findings": findings,
        "warnings": warnings,
    }
