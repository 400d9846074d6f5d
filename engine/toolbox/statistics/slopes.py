"""Why apart: a line through each subject's own values shows what a mixed model averages, with fewer assumptions.

The slopes are summary measures: one number a subject, compared between groups by Welch's tests as independent values.

Source: Matthews, Altman, Campbell and Royston (1990), BMJ 300, 230.
"""

from __future__ import annotations

from engine.toolbox.statistics.group_tests import independent_test, overall_test
from engine.toolbox.statistics.post_hoc import adjust_rows, pooled_contrasts
from engine.toolbox.tables.columns import (
    called_level,
    finding_values,
    format_number,
    format_p,
    left_open,
    level_labels,
    which_differ,
)


def changing_number(design, groups, effects, preferred):
    """Return the numeric fixed effect that changes within subjects (`preferred` if it does), or "" where none does."""
    numbers = [name for name, columns in effects.items() if columns == [name]]
    for name in [preferred, *numbers] if preferred in numbers else numbers:
        within = design[name].groupby(groups).nunique()
        if (within >= 3).any() or (within >= 2).sum() >= 3:
            return name
    return ""


def numbered_occasions(table, effects):
    """Return the ordered factor whose levels are three numbers or more, with its numbers; "" without one."""
    import pandas as pd

    for name in effects:
        levels = (
            table[name].cat.categories if name in table and isinstance(table[name].dtype, pd.CategoricalDtype) else ()
        )
        if len(levels) > 2 and table[name].cat.ordered:
            numbers = pd.to_numeric(pd.Series(levels), errors="coerce")
            if numbers.notna().all():
                return name, table[name].map(dict(zip(levels, numbers, strict=True))).astype(float).to_numpy()
    return "", None


def constant_group(table, groups, effects, over):
    """Return the one fixed factor that is the same in all rows of a subject, or "" where there is none or several."""
    import pandas as pd

    outer = [name for name in effects if name != over and ":" not in name and effects[name] != [name]
             and pd.Series(level_labels(table[name]).to_numpy()).groupby(groups).nunique().max() == 1]  # fmt: skip
    return outer[0] if len(outer) == 1 else ""


def subject_slopes(y, x, groups, labels):
    """Return each subject's least-squares line, in order of appearance; no slope where x does not change.

    Slopes are in units of the outcome per unit of x, intercepts are where x is 0; an error and r2 take three rows.
    """
    import numpy as np
    import pandas as pd

    rows = []
    for subject in pd.unique(groups):
        at = groups == subject
        a, b, n = x[at], y[at], int(at.sum())
        row = {"subject": subject, "n": n} | dict.fromkeys(("intercept", "slope", "se", "r2"), float("nan"))
        spread = ((a - a.mean()) ** 2).sum()
        if np.ptp(a) > 0:
            slope = float(((a - a.mean()) * (b - b.mean())).sum() / spread)
            left, total = ((b - b.mean() - slope * (a - a.mean())) ** 2).sum(), ((b - b.mean()) ** 2).sum()
            row |= {"intercept": float(b.mean() - slope * a.mean()), "slope": slope}
            if n > 2:  # through two points every line fits
                row["se"] = float(np.sqrt(left / (n - 2) / spread))
                row["r2"] = float(1 - left / total) if total > 0 else float("nan")
        rows.append(row | ({"group": labels[at][0]} if labels is not None else {}))
    return rows


def compared_slopes(rows, levels):
    """Compare the slopes of groups of subjects by Welch's tests; return table rows, none where a group has no spread.

    Two groups: Welch's t-test. More: Welch's ANOVA, and all pairs by Games and Howell. First minus second.
    """
    import numpy as np

    samples = {level: np.array([row["slope"] for row in rows if row["group"] == level]) for level in levels}
    samples = {level: values[~np.isnan(values)] for level, values in samples.items()}
    size = max((np.abs(values).max() for values in samples.values() if len(values)), default=0.0)
    if len(samples) < 2 or any(len(x) < 2 or not x.std(ddof=1) > 1e-9 * size for x in samples.values()):
        return []
    names = list(samples)
    pairs = [(b, a) for i, a in enumerate(names) for b in names[i + 1 :]]
    if len(names) == 2:
        pair = independent_test(samples[names[1]], samples[names[0]], "welch_t")
        compared = [pair | {"group_1": names[1], "group_2": names[0], "test": "Welch's t-test"}]
        compared[0]["p_adj"] = compared[0]["p_value"]
    else:
        overall = overall_test(samples, "welch")
        compared = [overall | {"p_adj": overall["p_value"]}, *pooled_contrasts(samples, pairs, "welch", "range")]
    for row in compared:
        if row["group_1"]:
            row["comparison"] = f"{row['group_1']} vs {row['group_2']}"
            for key in ("1", "2"):
                values = samples[row[f"group_{key}"]]
                row |= {f"n_{key}": len(values), f"mean_slope_{key}": float(values.mean()),
                        f"sd_slope_{key}": float(values.std(ddof=1))}  # fmt: skip
    return adjust_rows(compared, "holm")


def describe_slopes(compared, outcome, over, group):
    """Return the finding that says in which group the subjects' own slopes are steeper."""
    row = compared[0]
    if not row["group_1"]:
        verdict = "differ" if row["p_value"] < 0.05 else "are not shown to differ"
        means = {r[f"group_{key}"]: r[f"mean_slope_{key}"] for r in compared[1:] for key in ("1", "2")}
        order = sorted(means, key=lambda level: -means[level])
        steep = [f"{group} {level} ({format_number(means[level])} a unit)" for level in (order[0], order[-1])]
        reach = max(abs(r[key]) for r in compared[1:] for key in ("lower_95", "upper_95"))
        unseen = (
            f"; the data are compatible with differences of up to {format_number(reach)} a unit between two of them"
        )
        text = (
            f"The subjects' own slopes of {outcome} over {over} {verdict} between the groups of {group}: on average "
            f"highest in {steep[0]}, lowest in {steep[1]}; {format_p(row['p_value'])} ({row['test']} on one slope a "
            f"subject); {which_differ(compared[1:], group)} at an adjusted p below 0.05"
            f"{unseen if row['p_value'] >= 0.05 else ''}."
        )
        values = finding_values(highest=means[order[0]], lowest=means[order[-1]], statistic=row["statistic"],
                                p_value=row["p_value"])  # fmt: skip
    else:
        first, second = (called_level(row[key], group) for key in ("group_1", "group_2"))
        one, two, clear = row["mean_slope_1"], row["mean_slope_2"], row["p_value"] < 0.05
        if one * two > 0:
            moves = "rises" if one > 0 else "falls"
            verdict = f"{moves} {'faster' if abs(one) > abs(two) else 'slower'} over {over} in {first} than in {second}"
        else:
            moves = ("rises", "falls") if one > two else ("falls", "rises")
            verdict = f"{moves[0]} over {over} in {first} and {moves[1]} in {second}"
        if not clear:
            verdict = f"is not shown to change at another rate over {over} in {first} than in {second}"
        unseen = "" if clear else left_open(row["lower_95"], row["upper_95"], what="rates")
        text = (
            f"{outcome} {verdict}: by {format_number(one)} (n = {row['n_1']}) against {format_number(two)} "
            f"(n = {row['n_2']}) for one unit of {over}, difference {format_number(row['difference'])} (95 % CI "
            f"{format_number(row['lower_95'])} to {format_number(row['upper_95'])}), {format_p(row['p_value'])} "
            f"({row['test']}, means of the subjects' own slopes){unseen}."
        )
        values = finding_values(
            difference=(row["difference"], row["lower_95"], row["upper_95"]), p_value=row["p_value"],
            mean_slope_1=row["mean_slope_1"], mean_slope_2=row["mean_slope_2"], n_1=row["n_1"], n_2=row["n_2"],
        )  # fmt: skip
    return {"text": text, "values": values, "output": "slope_comparison", "row": {"comparison": row["comparison"]}}


def slope_tables(y, design, table, groups, effects, preferred, outcome):
    """Return each subject's line, the comparison of groups (each None where there is none), and its finding."""
    import pandas as pd

    over = changing_number(design, groups, effects, preferred)
    over, x = (over, design[over].to_numpy()) if over else numbered_occasions(table, effects)
    if not over:
        return None, None, []
    group = constant_group(table, groups, effects, over)
    labels = level_labels(table[group]).to_numpy() if group else None
    rows = subject_slopes(y, x, groups, labels)
    slopes = pd.DataFrame(rows)
    slopes.insert(1, "over", over)
    if not group:
        return slopes, None, []
    # The reference is the level that has no column of its own; here the first row of each level tells which.
    columns = design[effects[group]].abs().sum(axis=1).groupby(labels).first()
    compared = compared_slopes(rows, sorted(columns.index, key=lambda level: (columns[level] > 0, level)))
    if not compared:
        return slopes, None, []
    order = ["comparison", "test", "group_1", "group_2", "n_1", "n_2", "mean_slope_1", "mean_slope_2", "sd_slope_1",
             "sd_slope_2", "difference", "lower_95", "upper_95", "statistic", "df", "df_2", "p_value",
             "p_adj"]  # fmt: skip
    finding = describe_slopes(compared, outcome, over, group)
    return slopes, pd.DataFrame(compared).reindex(columns=order), [finding]
