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
from engine.toolbox.tables.wording import between, high_to_low, in_size, per_step


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
    from scipy.stats import t

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
                mean, sd = float(values.mean()), float(values.std(ddof=1))
                half = float(t.ppf(0.975, len(values) - 1)) * sd / len(values) ** 0.5
                row |= {f"n_{key}": len(values), f"mean_slope_{key}": mean, f"sd_slope_{key}": sd}
                row |= {f"mean_slope_{key}_lower_95": mean - half, f"mean_slope_{key}_upper_95": mean + half}
    return adjust_rows(compared, "holm")


def own_change(row, key, over):
    """Return the verb and the size of one group's mean slope: `falls`, `by 9.31 per day in enr (95 % CI 8.5 to 10.1)`.

    The verb is "" where the interval does not show which way it goes; the size then keeps its sign.
    """
    mean, low, high = (row[f"mean_slope_{key}{end}"] for end in ("", "_lower_95", "_upper_95"))
    if low <= 0 <= high:
        return "", f"{format_number(mean)} {over}", f"95 % CI {format_number(low)} to {format_number(high)}"
    size, interval = in_size(mean, low, high)
    return ("rises" if mean > 0 else "falls"), f"{size} {over}", interval


def describe_two_slopes(row, outcome, over, group):
    """Return the finding on two groups: how each changes and whether that is shown, then which changes faster."""
    first, second = (called_level(row[key], group) for key in ("group_1", "group_2"))
    one, two, clear, per = row["mean_slope_1"], row["mean_slope_2"], row["p_value"] < 0.05, per_step(over)
    (moves, size, seen), (moves_2, size_2, seen_2) = (own_change(row, key, per) for key in ("1", "2"))
    short_2 = size_2.removesuffix(f" {per}")
    if moves == moves_2:
        start = f"{moves} in both: by" if moves else "is not shown to change in either:"
        told = f"{start} {size} in {first} ({seen}) and {short_2} in {second} ({seen_2})"
    else:
        told = " and ".join(
            f"{verb} by {amount} in {level} ({interval})" if verb
            else f"is not shown to change in {level} ({amount}; {interval})"
            for verb, amount, level, interval in ((moves, size, first, seen), (moves_2, short_2, second, seen_2))
        )  # fmt: skip
    gap, interval = in_size(row["difference"], row["lower_95"], row["upper_95"])
    if not clear:
        interval = f"95 % CI {format_number(row['lower_95'])} to {format_number(row['upper_95'])}"
        gap = f"another rate is not shown: {first} minus {second} {format_number(row['difference'])}"
    elif one * two > 0:
        gap = f"{gap} {per} {'faster' if abs(one) > abs(two) else 'slower'} in {first} than in {second}"
    else:
        gap = f"the two differ by {gap} {per}"
    unseen = "" if clear else left_open(row["lower_95"], row["upper_95"], what="rates")
    return (f"{outcome} {told}; {gap} ({interval}), {format_p(row['p_value'])} ({row['test']} on the subjects' own "
            f"slopes, n = {row['n_1']} and {row['n_2']}){unseen}.")  # fmt: skip


def describe_slopes(compared, outcome, over, group):
    """Return the finding that says how steep the subjects' own slopes are in each group, and where steeper."""
    row = compared[0]
    if not row["group_1"]:
        changes = "changes" if row["p_value"] < 0.05 else "is not shown to change"
        verdict, per = f"{changes} at different rates", per_step(over)
        means = {r[f"group_{key}"]: r[f"mean_slope_{key}"] for r in compared[1:] for key in ("1", "2")}
        reach = max(abs(r[key]) for r in compared[1:] for key in ("lower_95", "upper_95"))
        unseen = f"; the data are compatible with differences of up to {format_number(reach)} {per} between two of them"
        text = (
            f"{outcome} {verdict} {between(group)} ({format_p(row['p_value'])}, {row['test']} on the subjects' own "
            f"slopes): on average {high_to_low(means, group)} {per}; {which_differ(compared[1:], group)} at an "
            f"adjusted p below 0.05{unseen if row['p_value'] >= 0.05 else ''}."
        )
        order = sorted(means, key=lambda level: -means[level])
        own = {f"mean slope {level}": means[level] for level in order}
        values = finding_values(highest=means[order[0]], lowest=means[order[-1]], statistic=row["statistic"],
                                p_value=row["p_value"], **own)  # fmt: skip
    else:
        text = describe_two_slopes(row, outcome, over, group)
        one, two = (
            tuple(row[f"mean_slope_{key}{end}"] for end in ("", "_lower_95", "_upper_95")) for key in ("1", "2")
        )
        values = finding_values(
            difference=(row["difference"], row["lower_95"], row["upper_95"]), p_value=row["p_value"],
            mean_slope_1=one, mean_slope_2=two, n_1=row["n_1"], n_2=row["n_2"],
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
    order = ["comparison", "test", "group_1", "group_2", "n_1", "n_2", "mean_slope_1", "mean_slope_1_lower_95",
             "mean_slope_1_upper_95", "mean_slope_2", "mean_slope_2_lower_95", "mean_slope_2_upper_95", "sd_slope_1",
             "sd_slope_2", "difference", "lower_95", "upper_95", "statistic", "df", "df_2", "p_value",
             "p_adj"]  # fmt: skip
    finding = describe_slopes(compared, outcome, over, group)
    return slopes, pd.DataFrame(compared).reindex(columns=order), [finding]
