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
from engine.toolbox.statistics.marginal import (
    cell_contrasts,
    contrast_frame,
    describe_change,
    describe_contrasts,
    marginal_tables,
    one_family,
)
from engine.toolbox.tables.columns import (
    called_level,
    complete_rows,
    finding_values,
    format_number,
    format_p,
    in_a_row,
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
    which_differ,
)
from engine.toolbox.tables.wording import high_to_low, in_size

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


def asked_findings(asked, grid, value, names):
    """Return how many of the contrasts asked for are clear, and each of the clearest of them."""
    if not asked:
        return []
    clear = [row for row in asked if row["p_adj"] < 0.05]
    cells, how = "factors" in asked[0], asked[0]["adjustment"].split(" (")[0]
    corrected = "" if how == "none" else f" after {how}'s correction" if how != "Bonferroni" else " after Bonferroni's"
    first = min(asked, key=lambda row: row["p_adj"])
    what = f"pairs of combinations of {' and '.join(names[:2])}" if cells else "comparisons within levels"
    text = (
        f"{len(clear) or 'None'} of the {len(asked)} {what} {'differs' if len(clear) == 1 else 'differ'} in mean "
        f"{value}{corrected} at 0.05; the smallest p-value is that of {first['group_1']} and {first['group_2']}"
        f"{' where ' + first['within'] if first['within'] else ''} ({format_p(first['p_adj'])})."
    )
    count = {"text": text, "values": finding_values(p_adj=first["p_adj"]), "output": "contrasts",
             "row": {"comparison": first["comparison"]}}  # fmt: skip
    return [count, *describe_contrasts(asked, grid, f"mean {value}", 6)]


def level_findings(contrasts, pairs, grid, value, crossed):
    """Return the findings to begin with, and those that follow the tests of the terms.

    A difference in differences begins where it is clear or over time. Where a significant interaction makes averages
    mislead, the contrasts within levels follow in place of those of averages.
    """
    changes = [row for row in contrasts if "of" in row]
    first = [row["p_value"] < 0.05 or row["within"].startswith("change") for row in changes]
    said = [describe_change(row, value) for row in changes]
    if crossed and changes and first[0]:
        return said, []
    if crossed:
        simple = [row for row in contrasts if row["within"] and "of" not in row]
        return [], describe_contrasts(simple, grid, f"mean {value}")
    findings = []
    for row in sorted(pairs, key=lambda row: row["p_adj"])[:3]:
        size = f"{format_number(abs(row['difference']))} {'higher' if row['difference'] > 0 else 'lower'}"
        relation = f"is {size}" if row["p_adj"] < 0.05 else f"was {size}, which is not significant,"
        adjusted = "" if row["test"].startswith("none") else f"{row['test'].split(' (')[0]}-adjusted "
        findings.append(
            {"text": f"Adjusted mean {value} {relation} in {row['factor']} "
                     f"{row['group_1']} (n = {row['n_1']}) than in {row['factor']} {row['group_2']} "
                     f"(n = {row['n_2']}): difference {format_number(row['difference'])}, 95 % CI "
                     f"{format_number(row['lower_95'])} to {format_number(row['upper_95'])}, {adjusted}"
                     f"{format_p(row['p_adj'])}.",
             "values": finding_values(difference=(row["difference"], row["lower_95"], row["upper_95"]),
                                      p_adj=row["p_adj"]),
             "output": "post_hoc", "row": {"comparison": row["comparison"]}}
        )  # fmt: skip
    return (said, findings) if changes and first[0] else ([], [*findings, *said])


def only_held(name, adjusted):
    """Say whether a factor is there to be held constant and not asked about: a block, a repetition."""
    import re

    return name in adjusted or re.fullmatch(
        r"(?:block|blk|bloc|bloque|rep|replicate|replication|repetition|wiederholung)s?(?:[ _.-]?(?:no|nr|id|\d+))?",
        str(name).casefold(),
    ) is not None  # fmt: skip


def describe_levels_of(row, contrasts):
    """Return one factor of several levels, its means from high to low, its p and which differ; and the means."""
    pairs = [one | {"difference": one["effect"]} for one in contrasts]
    means = {pair[f"group_{key}"]: pair[f"mean_{key}"] for pair in pairs for key in ("1", "2")}
    apart = which_differ(pairs, row["term"]).rpartition(" (")[0] or which_differ(pairs, row["term"])
    apart = "all differ" if all(pair["p_adj"] < 0.05 for pair in pairs) else apart
    apart = f"; {apart}" if row["p_value"] < 0.05 else ""
    return f"{high_to_low(means, row['term'])} ({format_p(row['p_value'])}{apart})", means


def describe_factors(tests, contrasts, levels, value, adjusted=()):
    """Return the leading finding where effects add up: what each factor does, then whether they depend on each other.

    The means of the factors that are asked about come first, in the order they were named; of one that is only held
    constant (a block) it is only said whether it shows. [] where a term is no factor, or an interaction is clear and
    averages would mislead.
    """
    alone = [row for row in tests if ":" not in row["term"]]
    crossed = [row for row in tests if ":" in row["term"]]
    if any(row["term"] not in levels for row in alone) or any(row["p_value"] < 0.05 for row in crossed):
        return []
    ranked, open_, held, values = [], [], [], {}
    for row in alone:
        name = row["term"]
        pairs = [one for one in contrasts if one["factor"] == name and not one["within"]]
        if only_held(name, adjusted):
            held.append(f"{name} ({format_p(row['p_value'])})")
        elif len(pairs) == 1:
            pair = pairs[0]
            first, second = (called_level(pair[key], name) for key in ("group_1", "group_2"))
            ends = f"{format_number(pair['mean_1'])} against {format_number(pair['mean_2'])}"
            size, interval = in_size(pair["effect"], pair["lower_95"], pair["upper_95"])
            values |= {f"mean {pair[f'group_{key}']}": pair[f"mean_{key}"] for key in ("1", "2")}
            values[f"difference {name}"] = (pair["effect"], pair["lower_95"], pair["upper_95"])
            if pair["p_adj"] < 0.05:
                more = "higher" if pair["effect"] > 0 else "lower"
                ranked.append(f"{'it ' if ranked else ''}is {size} {more} with {first} than with {second} ({ends}; "
                              f"{interval}, {format_p(pair['p_adj'])})")  # fmt: skip
            else:
                interval = f"95 % CI {format_number(pair['lower_95'])} to {format_number(pair['upper_95'])}"
                open_.append(f"{name} ({ends}; {interval}, {format_p(pair['p_adj'])})")
        elif pairs:
            told, means = describe_levels_of(row, pairs)
            values |= {f"mean {level}": mean for level, mean in means.items()}
            clear = row["p_value"] < 0.05
            (ranked if clear else open_).append(f"by {name}: {told}" if clear else f"{name}: {told}")
        else:
            (ranked if row["p_value"] < 0.05 else open_).append(f"{name} ({format_p(row['p_value'])})")
    unseen = f"not shown to change with {in_a_row(open_)}" if open_ else ""
    text = f"Mean {value} " + "; ".join([*ranked, *([unseen if ranked else f"is {unseen}"] if unseen else [])])
    text += f"; held constant: {in_a_row(held)}" if held else ""
    for row in crossed[:1]:
        change = next((one for one in contrasts if "of" in one), None)
        seen = ""
        if change:
            low, high = (format_number(change[key]) for key in ("lower_95", "upper_95"))
            seen = f"difference of effects {format_number(change['effect'])}, 95 % CI {low} to {high}, "
            values["effect"] = (change["effect"], change["lower_95"], change["upper_95"])
        pair = row["term"].replace(":", " and ")
        text += f"; an interaction of {pair} is not shown ({seen}{format_p(row['p_value'])})"
    values |= {f"p {row['term']}": row["p_value"] for row in tests}
    return [{"text": f"{text}.", "values": finding_values(**values), "output": "anova_table", "row": {}}]


def describe_crossed(tests, means, contrasts, value):
    """Return the finding on a clear interaction: within each level of the second factor the levels of the first.

    [] where it is none of two factors whose levels were compared within each other.
    """
    row = min((row for row in tests if row["p_value"] < 0.05 and row["term"].count(":") == 1),
              key=lambda row: row["p_value"], default=None)  # fmt: skip
    within = {}
    for mean in means:
        if row is not None and mean["within"] and f"{mean['factor']}:" == row["term"][: len(mean["factor"]) + 1]:
            within.setdefault(mean["within"], {})[mean["level"]] = mean["mean"]
    if not 2 <= len(within) <= 4:
        return []
    first, second = row["term"].split(":")
    places = {where: called_level(where.removeprefix(f"{second} = "), second) for where in within}
    told = "; ".join(f"at {places[where]} {high_to_low(found, first, 4)}" for where, found in within.items())
    values = {f"mean {level} ({where})": mean for where, found in within.items() for level, mean in found.items()}
    text = (
        f"How {value} changes with {first} depends on {second} (interaction {format_p(row['p_value'])}): mean {told}."
    )
    values = finding_values(p_value=row["p_value"], **values)
    return [{"text": text, "values": values, "output": "marginal_means", "row": {}}]


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
