"""Why apart: a designed experiment with several factors needs its whole model, not one test a factor.

The model, the sums of squares and the contrasts of adjusted means come from one fit, so that the table,
the post hoc comparisons and the figure cannot tell different stories.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation, NextStep
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.registry import param, tool
from engine.toolbox.statistics.anova_sentences import asked_findings, describe_crossed, describe_factors, level_findings
from engine.toolbox.statistics.marginal import (
    cell_contrasts,
    contrast_frame,
    marginal_tables,
    one_family,
)
from engine.toolbox.tables.columns import (
    complete_rows,
    finding_values,
    format_number,
    format_p,
    label_groups,
    level_labels,
    likely_control,
    new_axes,
    numeric_values,
    order_levels,
    palette,
    pick_level,
    plain_table,
    require_columns,
)

MOST_FACTORS = 4
"""So many factors are taken at once."""


@check("anova_table_consistent")
def anova_table_consistent(step: StepOutputs) -> Iterator[Issue]:
    """Sums of squares are not negative and every F is the term's mean square over the residual's."""
    table = step.table("anova_table") if "anova_table" in step.files else None
    if table is None or not {"term", "sum_sq", "df", "f"} <= set(table.columns):
        return
    residual = table[table["term"] == "Residual"]
    if len(residual) != 1:
        message = f"The ANOVA table has {len(residual)} residual rows; expected one."
        yield Issue(code="anova_residual", severity="error", message=message, where="anova_table")
        return
    mean_square = residual["sum_sq"].iloc[0] / residual["df"].iloc[0]
    for _, row in table[table["term"] != "Residual"].iterrows():
        if row["sum_sq"] < -1e-8 * abs(table["sum_sq"]).max():
            message = f"The sum of squares of {row['term']} is negative: {row['sum_sq']}."
            yield Issue(code="negative_sum_of_squares", severity="error", message=message, where="anova_table")
        expected = row["sum_sq"] / row["df"] / mean_square
        if abs(row["f"] - expected) > 1e-6 * max(1.0, abs(expected)):
            message = f"F of {row['term']} is {row['f']}, but its mean squares give {expected}."
            yield Issue(code="f_differs", severity="error", message=message, where="anova_table")


def design_frame(table, value, factors, categorical, continuous):
    """Return the model's columns (y, f0, f1, ...), the levels of each factor (None: a number), and warnings."""
    import pandas as pd

    table, warnings = complete_rows(table, [value, *factors])
    frame = pd.DataFrame({"y": numeric_values(table, value)})
    levels = []
    for i, name in enumerate(factors):
        numeric = pd.api.types.is_numeric_dtype(table[name]) and not pd.api.types.is_bool_dtype(table[name])
        labels = level_labels(table[name])
        found = order_levels(labels)
        if name in continuous or (numeric and name not in categorical and len(found) > 6):
            frame[f"f{i}"] = numeric_values(table, name)
            levels.append(None)
            warnings.append(f"{name} was used as a number (a slope), not as groups.")
            continue
        if numeric and name not in categorical:
            warnings.append(
                f"{name} holds numbers; its {len(found)} values ({', '.join(found)}) were taken as separate groups."
            )
        if len(found) < 2:
            raise ValueError(f"Factor {name!r} has the single level {found[0]!r}; expected at least two. Leave it out.")
        if len(found) > 40:
            raise ValueError(f"Factor {name!r} has {len(found)} levels; expected at most 40. Is it an identifier?")
        frame[f"f{i}"] = pd.Categorical(labels, categories=found)
        levels.append(found)
    if len({*frame["y"]}) == 1:
        raise ValueError(f"Every value of {value!r} is the same; there is nothing to explain. Choose another column.")
    return frame, levels, warnings


def estimable(design):
    """Say whether a design matrix has full rank and leaves observations to judge the fit by."""
    import numpy as np

    return len(design) > design.shape[1] and np.linalg.matrix_rank(design) == design.shape[1]


def fit_design(frame, factors, levels, interaction, ss_type):
    """Fit the linear model; return the fit, the names of its terms, whether it has interactions, and warnings."""
    import itertools

    import numpy as np
    from statsmodels.formula.api import ols

    coding = {i: f"C(f{i}, Sum)" if found else f"f{i}" for i, found in enumerate(levels)}
    warnings = []
    if interaction and len(factors) > 1:
        grouped = [i for i, found in enumerate(levels) if found]
        cells = frame.groupby([f"f{i}" for i in grouped], observed=False).size() if grouped else None
        if cells is not None and (cells == 0).any():
            where = cells[cells == 0].index[0]
            where = where if isinstance(where, tuple) else (where,)
            named = ", ".join(f"{factors[i]} = {level}" for i, level in zip(grouped, where, strict=True))
            warnings.append(f"No interaction was fitted: there is no observation with {named}.")
            interaction = False
        elif not estimable(ols("y ~ " + " * ".join(coding.values()), frame).exog):
            warnings.append("No interaction was fitted: there are too few observations a combination of levels.")
            interaction = False
    joint = " * " if interaction else " + "
    model = ols("y ~ " + joint.join(coding.values()), frame)
    if np.linalg.matrix_rank(model.exog) < model.exog.shape[1]:
        raise ValueError(
            f"The effects of {' and '.join(factors)} cannot be told apart: one is fixed by the others. Leave one out."
        )
    fit = model.fit()
    if fit.df_resid < 1 or fit.ssr <= 1e-12 * fit.centered_tss:
        raise ValueError(
            f"The model leaves nothing unexplained ({len(frame)} rows, {len(fit.params)} parameters); "
            "expected repeated observations a group. Use fewer factors."
        )
    names = {}
    for size in range(1, len(factors) + 1):
        for chosen in itertools.combinations(range(len(factors)), size):
            names[":".join(coding[i] for i in chosen)] = ":".join(factors[i] for i in chosen)
    if interaction and ss_type == 3:
        warnings.append(
            "Type III sums of squares with sum-to-zero contrasts: main effects are averages over the others."
        )
    return fit, names, interaction and len(factors) > 1, warnings


def anova_grid(fit, frame, factors, levels):
    """Return the grid over which `marginal` averages: levels of the factors, means of numbers, rows of the design."""
    import itertools

    import numpy as np
    import pandas as pd
    import patsy

    info = patsy.dmatrix(fit.model.formula.split("~")[1], frame).design_info
    places = {name: i for i, name in enumerate(factors)}
    kept, rows = {}, {}
    for name, found in zip(factors, levels, strict=True):
        if found:
            first = likely_control(found)
            kept[name] = [first, *(level for level in found if level != first)] if first else found

    def row(setting):
        key = tuple(sorted(setting.items()))
        if key not in rows:
            rows[key] = averaged(setting)
        return rows[key]

    def averaged(setting):
        options = [
            [setting[name]] if name in setting else found or [frame[f"f{i}"].mean()]
            for i, (name, found) in enumerate(zip(factors, levels, strict=True))
        ]
        grid = pd.DataFrame(list(itertools.product(*options)), columns=[f"f{i}" for i in range(len(levels))])
        for i, found in enumerate(levels):
            if found:
                grid[f"f{i}"] = pd.Categorical(grid[f"f{i}"], categories=found)
        (design,) = patsy.build_design_matrices([info], grid)
        return np.asarray(design).mean(axis=0)

    def count(setting):
        return int(np.all([frame[f"f{places[name]}"] == level for name, level in setting.items()], axis=0).sum())

    held = {name: float(frame[f"f{i}"].mean()) for name, i in places.items() if not levels[i]}
    return {"levels": kept, "held": held, "row": row, "count": count}


def dunnett_controls(levels, control):
    """Return the control level of each factor that has one, named or recognised, and warnings, or raise ValueError."""
    if control:
        for name, found in levels.items():
            if any(level.casefold() == control.strip().casefold() for level in found):
                return {name: pick_level(control, found, name)}, []
        raise ValueError(f"No factor ({', '.join(levels)}) has a level {control!r}; name one of theirs as control.")
    controls = {name: found[0] for name, found in levels.items() if likely_control(found)}
    if not controls:
        raise ValueError(
            "Dunnett's test compares each level with a control, and no level is called like one; name the control."
        )
    left = [name for name, found in levels.items() if name not in controls and len(found) > 2]
    return controls, [f"No level of {name} is called like a control: its pairs are Tukey-adjusted." for name in left]


def post_hoc_rows(contrasts):
    """Return the rows of the pairs of levels averaged over the other factors, in the columns of `post_hoc`."""
    rows = []
    for row in contrasts:
        if row["within"]:
            continue
        kept = ("factor", "comparison", "group_1", "group_2", "n_1", "n_2", "mean_1", "mean_2")
        later = ("lower_95", "upper_95", "statistic", "df", "p_value", "p_adj")
        rows.append(
            {key: row[key] for key in kept} | {"difference": row["effect"]} | {key: row[key] for key in later}
            | {"test": row["adjustment"]}
        )  # fmt: skip
    return rows


def anova_figure(frame, value, factors, levels, unit):
    """Draw the means of the cells with their 95 % intervals: one factor along the axis, the next as lines."""
    import numpy as np
    from scipy import stats

    grouped = sorted((i for i, found in enumerate(levels) if found), key=lambda i: -len(levels[i]))[:2]
    figure, axis = new_axes(width=6.4)
    if not grouped:
        axis.scatter(frame["f0"], frame["y"], s=16, color=palette(1)[0])
        axis.set_xlabel(factors[0])
    else:
        across, lines = grouped[0], grouped[1] if len(grouped) > 1 else None
        series = levels[lines] if lines is not None else [None]
        for k, (level, colour) in enumerate(zip(series, palette(len(series)), strict=True)):
            part = frame if level is None else frame[frame[f"f{lines}"] == level]
            cells = [part.loc[part[f"f{across}"] == name, "y"].to_numpy() for name in levels[across]]
            x = np.arange(len(cells)) + 0.06 * (k - (len(series) - 1) / 2)
            half = [
                stats.t.ppf(0.975, len(c) - 1) * c.std(ddof=1) / np.sqrt(len(c)) if len(c) > 1 else 0 for c in cells
            ]
            means = [c.mean() if len(c) else np.nan for c in cells]
            axis.errorbar(x, means, yerr=half, color=colour, marker="o", capsize=3, label=level)
        label_groups(axis, levels[across], list(range(len(levels[across]))))
        axis.set_xlabel(factors[across])
        if lines is not None:
            axis.legend(title=factors[lines], frameon=False)
    axis.set_ylabel(f"mean {value}{f' ({unit})' if unit else ''}, 95 % CI")
    return figure


def residual_checks(fit, frame, levels):
    """Return the assumptions table of the model, and warnings."""
    import numpy as np
    from scipy import stats

    rows, warnings = [], []
    residuals = fit.resid.to_numpy()
    if 3 <= len(residuals) <= 5000:
        result = stats.shapiro(residuals)
        normal = result.pvalue >= 0.05
        rows.append({"check": "normal residuals (Shapiro-Wilk)", "n": len(residuals),
                     "statistic": float(result.statistic), "p_value": float(result.pvalue),
                     "result": "no clear departure" if normal else "departs from normal"})  # fmt: skip
        if not normal:
            warnings.append(
                f"The residuals depart from a normal distribution (Shapiro-Wilk {format_p(result.pvalue)})."
            )
    grouped = [f"f{i}" for i, found in enumerate(levels) if found]
    cells = [part["y"].to_numpy() for _, part in frame.groupby(grouped, observed=True)] if grouped else []
    if len(cells) > 1 and all(len(cell) > 1 for cell in cells) and any(np.ptp(cell) > 0 for cell in cells):
        result = stats.levene(*cells, center="median")
        equal = not result.pvalue < 0.05
        rows.append({"check": "equal spread in the cells (Brown-Forsythe)", "n": len(frame),
                     "statistic": float(result.statistic), "p_value": float(result.pvalue),
                     "result": "no clear difference in spread" if equal else "spreads differ"})  # fmt: skip
        if not equal:
            warnings.append(f"The spread differs between the groups (Brown-Forsythe {format_p(result.pvalue)}).")
    if cells and len({len(cell) for cell in cells}) > 1:
        sizes = sorted(len(cell) for cell in cells)
        warnings.append(f"The design is not balanced ({sizes[0]} to {sizes[-1]} observations a combination of levels).")
    return rows, warnings


def asked_contrasts(grid, model, factors, compare, within, adjust, controls, with_interaction):
    """Return tables of means and contrasts, those that were asked for by name among them, and warnings.

    Asked are all pairs of combinations of levels, or the other factors within each level of one (simple effects).
    """
    warnings = []
    if compare not in ("levels", "cells"):
        raise ValueError(f"There is nothing called {compare!r} to compare; expected levels or cells.")
    if within and within not in grid["levels"]:
        raise ValueError(f"{within!r} is no factor with levels ({', '.join(grid['levels'])}); name one of these.")
    crossed = (*(name for name in factors if name != within), within)[-2:] if within else tuple(factors[:2])
    means, contrasts = marginal_tables(grid, model, crossed if with_interaction or within else (), adjust, controls, 15)
    if (within or compare == "cells") and not with_interaction:
        warnings.append("The model has no interaction, so each factor's effect is the same at every level of others.")
    asked = [row for row in contrasts if row["within"].startswith(f"{within} = ")] if within else []
    one_family(asked, adjust)
    if compare == "cells":
        names = list(grid["levels"])
        if len(names) < 2:
            raise ValueError("Combinations take two factors with levels; name a second one.")
        asked = cell_contrasts(grid, model, names[:2], adjust, controls)
        contrasts = [*asked, *contrasts]
    return means, contrasts, asked, warnings


@tool(
    name="anova",
    title="Analysis of variance with one or more factors",
    description=(
        "Fit a linear model of a measured value on one or more factors and test each term: main effects and, when "
        "asked, every interaction. Type II sums of squares by default (I and III on request; III uses sum-to-zero "
        "contrasts). A numeric factor with at most six values is taken as groups unless named continuous; with more "
        "it is a covariate. Gives partial eta squared, adjusted (estimated marginal) means of each factor's levels and "
        "their comparisons (Tukey with simultaneous 95 % intervals, or Dunnett, Holm, Bonferroni by `post_hoc`), the "
        "same within the levels of an interacting factor, on request all combinations of levels pair by "
        "pair (`compare` cells) or one factor within each level of another (simple effects, `within`), and checks "
        "of the residuals. Observations are taken as independent: "
        "for the same animal measured repeatedly use compare_groups with a pair column."
    ),
    domain="statistics",
    task_type="analysis",
    methods=(
        "interaction => analysis of variance with interaction (type {ss_type} sums of squares), because a "
        "measurement is set against one or more factors",
        "analysis of variance without interaction (type {ss_type} sums of squares), because a measurement "
        "is set against one or more factors",
    ),
    complete=("value", "factors"),
    inputs={"table": "table: one row an observation"},
    outputs={
        "anova_table": "table: a row a term: sum of squares, F, p-value, partial eta squared",
        "post_hoc": "table: every pair of levels of every factor, adjusted for their number",
        "marginal_means": "table: adjusted mean of every level of each factor, and within levels of another",
        "contrasts": "table: differences of adjusted means, simple contrasts, difference in differences",
        "assumptions": "table: checks of the residuals",
        "anova_plot": "figure: means of the combinations of levels with 95 % intervals",
    },
    optional_outputs=("post_hoc", "marginal_means", "contrasts", "assumptions"),
    params={
        "value": param("The measured quantity", kind="column", of="table", role="measure"),
        "factors": param(
            "The factors (groups, doses, genotypes...)",
            kind="columns",
            of="table",
            role="factors",
            least=2,
            most=MOST_FACTORS,
        ),
        "interaction": param(
            "Whether to test interactions of the factors",
            words=[
                "false: (?:without|no|ignor\\w+) (?:an? |the |any )?interactions?|main effects only|additive",
                "true: interact\\w*|depends? on|diff\\w*[ -]in[ -]diff\\w*|(?-i:DiD|DID)\\b|"
                "(?:chang|increas|decreas|improv|declin|dropp|r[io]s|fell|grew)\\w* (?:more|less)\\b",
            ],
        ),
        "post_hoc": param(
            "Correction of the comparisons of a factor's levels; auto is Tukey's",
            choices=["auto", "tukey", "dunnett", "holm", "bonferroni"],
            words=[
                "tukey: tukey|HSD\\b",
                "dunnett: dunn?ett?s?\\b",
                "holm: (?:bonferroni.)?holm(?!.{0,3}[sš]id)",
                "bonferroni: bonfer+on+i",
            ],
        ),
        "compare": param(
            "What is compared pair by pair: the levels of each factor, or all combinations of levels (cells)",
            choices=["levels", "cells"],
            words=[
                # Names of columns are blanks by now: `every      x      combination`.
                "cells: (?:all|every|each|compar\\w+|between|among)\\b[\\w \u00d7*-]{0,60} combinations?\\b|"
                "(?:cells?|combinations?)(?: means?)? (?:pair by pair|pairwise|with each other|against each other)|"
                "pair\\w*[^.;?!]{0,60} (?:cells|combinations)\\b|(?:by|x|\u00d7|times|and)\\b[\\w ]{0,40} cells\\b",
            ],
        ),
        "within": param(
            "The factor within each of whose levels the others are compared (simple effects)",
            kind="column",
            of="table",
            role="within_each",
        ),
        "control": param("The level that Dunnett's test compares the others with; empty to recognise it"),
        "ss_type": param("Type of the sums of squares: 1 sequential, 2, or 3", minimum=1, maximum=3),
        "categorical": param(
            "Numeric factors to take as groups whatever their number of values",
            kind="columns",
            of="table",
            role="as_groups",
        ),
        "continuous": param("Numeric factors to take as numbers (slopes)", kind="columns", of="table"),
        "unit": param("Unit of the value, for the figure"),
        "adjusted": param(
            "Factors that are only held constant, whose levels the first sentence does not rank",
            kind="texts",
            role="adjusted",
        ),
    },
    checks=("tables_not_empty", "p_values_valid", "findings_match_tables", "anova_table_consistent"),
    keywords=(
        "ANOVA",
        "analysis of variance",
        "two-way",
        "factorial",
        "interaction",
        "main effect",
        "dose and sex",
        "Tukey",
        "post hoc",
        "Dunnett",
        "Bonferroni",
        "simple main effects",
        "simple effects",
        "cell means",
        "estimated marginal means",
        "difference in differences",
        "F test",
        "treatment by genotype",
        "ANCOVA",
        "covariate",
        "eta squared",
        "several factors",
        "experiment design",
    ),
    citations=(
        Citation(
            title="ANOVA for unbalanced data: use Type II instead of Type III sums of squares",
            authors="Langsrud O",
            year=2003,
            doi="10.1023/A:1023260610025",
        ),
        Citation(
            title="Comparing individual means in the analysis of variance",
            authors="Tukey JW",
            year=1949,
            doi="10.2307/3001913",
        ),
        Citation(
            title="A multiple comparison procedure for comparing several treatments with a control",
            authors="Dunnett CW",
            year=1955,
            doi="10.1080/01621459.1955.10501294",
        ),
        Citation(
            title="Population marginal means in the linear model: an alternative to least squares means",
            authors="Searle SR, Speed FM, Milliken GA",
            year=1980,
            doi="10.1080/00031305.1980.10483031",
        ),
        Citation(
            title="statsmodels: econometric and statistical modeling with Python",
            authors="Seabold S, Perktold J",
            year=2010,
            doi="10.25080/Majora-92bf1922-011",
        ),
    ),
    next_steps=[
        NextStep(
            text=(
                "Plan a replication of the effect on {param:value} with a sample size chosen from the interval found"
                " here, not from its midpoint."
            ),
            after="found",
        ),
        NextStep(
            text=(
                "The interval says which differences in {param:value} are still possible: where one of them would "
                "matter, plan a study that is large enough to see it (power_sample_size)."
            ),
            after="nothing",
        ),
    ],
    packages=("statsmodels", "patsy", "scipy", "numpy", "pandas"),
    seconds=4.0,
    example="Do supplement and dose affect tooth growth, and does the effect of one depend on the other?",
    answers=["factorial_anova"],
)
def anova(
    table,
    *,
    value: str,
    factors: list[str],
    interaction: bool = True,
    ss_type: int = 2,
    categorical: list[str] = [],  # noqa: B006 - a plain default, never changed
    continuous: list[str] = [],  # noqa: B006
    post_hoc: str = "auto",
    compare: str = "levels",
    within: str = "",
    control: str = "",
    unit: str = "",
    adjusted: list[str] = [],  # noqa: B006
):
    """Test the effects of one or more factors on a measured value."""
    import pandas as pd
    from statsmodels.stats.anova import anova_lm

    factors = list(dict.fromkeys([factors] if isinstance(factors, str) else factors))
    if not factors:
        raise ValueError("No factor was named; expected at least one column of groups.")
    if value in factors:
        raise ValueError(f"{value!r} is both the value and a factor; expected different columns.")
    if len(factors) > MOST_FACTORS:
        raise ValueError(
            f"{len(factors)} factors were named; expected at most {MOST_FACTORS}. Leave out those of least interest."
        )
    table = plain_table(table)
    require_columns(table, [value, *factors])
    frame, levels, warnings = design_frame(table, value, factors, categorical, continuous)
    fit, names, with_interaction, notes = fit_design(frame, factors, levels, interaction, ss_type)
    warnings += notes
    result = anova_lm(fit, typ=ss_type)
    result = result.drop(index=[name for name in result.index if name == "Intercept"])
    residual = float(result.loc["Residual", "sum_sq"])
    rows = [
        {"term": names.get(term, term), "sum_sq": float(row["sum_sq"]), "df": int(row["df"]), "f": float(row["F"]),
         "p_value": float(row["PR(>F)"]),
         "partial_eta_sq": float(row["sum_sq"] / (row["sum_sq"] + residual)) if term != "Residual" else float("nan")}
        for term, row in result.iterrows()
    ]  # fmt: skip
    tests = [row for row in rows if row["term"] != "Residual"]
    grid = anova_grid(fit, frame, factors, levels)
    adjust = "tukey" if post_hoc == "auto" else post_hoc
    if adjust not in ("tukey", "dunnett", "holm", "bonferroni"):
        raise ValueError(f"There is no correction post_hoc {post_hoc!r}; expected tukey, dunnett, holm or bonferroni.")
    controls, notes = dunnett_controls(grid["levels"], control) if post_hoc == "dunnett" else ({}, [])
    warnings += notes
    model = {"beta": fit.params.to_numpy(), "covariance": fit.cov_params().to_numpy(), "df": float(fit.df_resid),
             "scale": "mean"}  # fmt: skip
    means, contrasts, asked, notes = asked_contrasts(
        grid, model, factors, compare, within, adjust, controls, with_interaction
    )
    warnings += notes
    plain = [row for row in contrasts if "factors" not in row]
    pairs = post_hoc_rows(contrasts)
    checks, notes = residual_checks(fit, frame, levels)
    warnings += notes
    crossed = [row for row in tests if ":" in row["term"] and row["p_value"] < 0.05] if with_interaction else []
    for row in crossed[:1]:
        warnings.append(
            f"The interaction {row['term']} is significant, so the effect of one factor depends on the other: the main "
            "effects and post hoc differences are averages and may mislead."
        )
    findings = [
        {"text": f"{'Interaction' if ':' in row['term'] else 'Effect'} of {row['term'].replace(':', ' and ')} on "
                 f"{value}: {'significant' if row['p_value'] < 0.05 else 'not shown'}, "
                 f"F({row['df']}, {fit.df_resid:.0f}) = {format_number(row['f'], 4)}, {format_p(row['p_value'])}, "
                 f"partial eta squared {format_number(row['partial_eta_sq'])} (type {ss_type}, n = {len(frame)}).",
         "values": finding_values(f=row["f"], p_value=row["p_value"], partial_eta_sq=row["partial_eta_sq"],
                                  df=row["df"], n=len(frame)),
         "output": "anova_table", "row": {"term": row["term"]}}
        for row in sorted(tests, key=lambda row: row["p_value"])[:6]
    ]  # fmt: skip
    leading, following = level_findings(plain, post_hoc_rows(plain), grid, value, crossed)
    if asked:
        leading, following = asked_findings(asked, grid, value, list(grid["levels"])), []
    leading = leading or describe_factors(tests, plain, grid["levels"], value, adjusted)
    leading = leading or describe_crossed(tests, means, plain, value)
    findings = [*leading, *findings, *following]
    return {
        "anova_table": pd.DataFrame(rows),
        "post_hoc": pd.DataFrame(pairs) if pairs else None,
        "marginal_means": pd.DataFrame(means) if means else None,
        "contrasts": contrast_frame(contrasts),
        "assumptions": pd.DataFrame(checks) if checks else None,
        "anova_plot": anova_figure(frame, value, factors, levels, unit),
        "findings": findings,
        "warnings": warnings,
    }
