"""Why apart: what is asked of two groups of profiles is a ratio, of geometric means, as exposures are skewed.

Where subjects have a profile in both groups (crossover) their own ratios are averaged; else Welch's test on logarithms.
"""

from __future__ import annotations

from engine.toolbox.pharmacology.fitting import said_range
from engine.toolbox.statistics.group_tests import independent_test, paired_test
from engine.toolbox.tables.columns import (
    called_level,
    finding_values,
    format_number,
    format_p,
    left_open,
    likely_control,
)


def compared_exposures(profiles, groups, keys):
    """Return a row for each parameter: the ratio of the geometric means of two groups, first against second.

    Args:
        profiles: one row a profile: subject, group, parameters.
        groups: the two groups.
        keys: the parameters; those that are not above 0 in all profiles, or in fewer than two a group, are left out.
    """
    import numpy as np

    second = likely_control(groups) or groups[0]
    first = next(group for group in groups if group != second)
    rows = []
    for key in keys:
        values = profiles[["subject", "group", key]].dropna()
        if not (values[key] > 0).all():
            continue
        logs = values.assign(**{key: np.log(values[key])})
        wide = logs.pivot_table(index="subject", columns="group", values=key)
        both = wide.dropna() if {first, second} <= set(wide.columns) else wide.iloc[:0]
        a, b = (logs.loc[logs["group"] == group, key].to_numpy() for group in (first, second))
        paired = len(both) >= 3
        if paired:
            a, b = both[first].to_numpy(), both[second].to_numpy()
        if min(len(a), len(b)) < 2 or (np.ptp(a - b) if paired else max(np.ptp(a), np.ptp(b))) == 0:
            continue
        test = paired_test(a, b, "paired_t") if paired else independent_test(a, b, "welch_t")
        rows.append(
            {"parameter": key, "comparison": f"{first} vs {second}", "n_1": len(a), "n_2": len(b),
             "geometric_mean_1": float(np.exp(a.mean())), "geometric_mean_2": float(np.exp(b.mean())),
             "ratio": float(np.exp(test["difference"])), "lower_95": float(np.exp(test["lower_95"])),
             "upper_95": float(np.exp(test["upper_95"])), "p_value": test["p_value"],
             "test": f"{'paired' if paired else 'Welch'} t-test on logarithms"}
        )  # fmt: skip
    return rows


def exposures_finding(rows, titles, group):
    """Return the finding that compares two groups: the first parameter in full, the ratios of the others after it."""
    row = rows[0]
    first, second = (called_level(level, group) for level in row["comparison"].split(" vs ", 1))
    title, unit = titles[row["parameter"]]
    clear = row["p_value"] < 0.05
    verdict = (f"is {'higher' if row['ratio'] > 1 else 'lower'} in {first} than in {second}" if clear
               else f"is not shown to differ between {first} and {second}")  # fmt: skip
    unseen = "" if clear else left_open(row["lower_95"], row["upper_95"], ratio=True)
    others = [
        f"{titles[one['parameter']][0]} ratio {format_number(one['ratio'])} "
        f"({said_range(one['lower_95'], one['upper_95'])}, {format_p(one['p_value'])})"
        for one in rows[1:]
    ]  # fmt: skip
    text = (
        f"{title[0].upper()}{title[1:]} {verdict}: geometric mean {format_number(row['geometric_mean_1'])} (n = "
        f"{row['n_1']}) against {format_number(row['geometric_mean_2'])}{unit} (n = {row['n_2']}), ratio "
        f"{format_number(row['ratio'])} ({said_range(row['lower_95'], row['upper_95'])}), "
        f"{format_p(row['p_value'])} ({row['test']})"
        f"{unseen}{'; ' if others else ''}{', '.join(others)}."
    )
    values = finding_values(ratio=(row["ratio"], row["lower_95"], row["upper_95"]), p_value=row["p_value"],
                            geometric_mean_1=row["geometric_mean_1"], geometric_mean_2=row["geometric_mean_2"],
                            n_1=row["n_1"], n_2=row["n_2"])  # fmt: skip
    return {"text": text, "values": values, "output": "ratios", "row": {"parameter": row["parameter"]}}
