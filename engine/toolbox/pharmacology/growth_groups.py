"""Why apart: what is said of groups of cultures rests on one number a culture, however many readings it has."""

from __future__ import annotations

from engine.toolbox.pharmacology.fitting import said_range
from engine.toolbox.statistics.group_tests import holm_adjust, overall_test
from engine.toolbox.tables.columns import (
    called_level,
    finding_values,
    format_number,
    format_p,
    left_open,
    likely_control,
    which_differ,
)
from engine.toolbox.tables.rows import table_row
from engine.toolbox.tables.wording import in_size


def group_rates(wells):
    """Return a row per group: mean of the rates of its cultures with a t interval, geometric doubling time."""
    import numpy as np
    import pandas as pd
    from scipy import stats

    rows = []
    for name, part in wells.groupby("group", sort=False):
        rates = part["rate"].to_numpy()
        mean, n = float(rates.mean()), len(rates)
        row = {"group": name, "cultures": n, "rate": mean, "rate_sd": float(rates.std(ddof=1)) if n > 1 else np.nan}
        if n > 1:
            half = float(stats.t.ppf(0.975, n - 1)) * row["rate_sd"] / n**0.5
            row |= {"lower_95": mean - half, "upper_95": mean + half}
        elif "rate_lower_95" in part:
            row |= {"lower_95": part["rate_lower_95"].iloc[0], "upper_95": part["rate_upper_95"].iloc[0]}
        else:
            row |= {"lower_95": np.nan, "upper_95": np.nan}
        row["doubling_time"] = float(np.log(2) / mean) if mean > 0 else np.nan
        ends = [float(np.log(2) / rate) if rate > 0 else np.nan for rate in (row["upper_95"], row["lower_95"])]
        row |= {"doubling_lower_95": ends[0], "doubling_upper_95": ends[1]}
        for key in ("lag", "plateau"):
            row[key] = float(part[key].mean()) if key in part and part[key].notna().any() else np.nan
        rows.append(row)
    return pd.DataFrame(rows)


def rate_comparisons(wells, groups):
    """Return Welch's comparisons of groups with at least two cultures: with the control, or all pairs.

    Rates come first, then lags and plateaus where cultures have them; p-values are adjusted (Holm) within each.
    """
    import itertools

    import pandas as pd
    from scipy import stats

    rows = []
    for measure in (name for name in ("rate", "lag", "plateau") if name in wells):
        known = wells.dropna(subset=[measure])
        able = [name for name in groups if (known["group"] == name).sum() > 1]
        control = likely_control(able)
        pairs = [(name, control) for name in able if name != control]
        mine = []
        for first, second in (pairs if control else list(itertools.combinations(able, 2)))[:45]:
            one, two = (known.loc[known["group"] == name, measure] for name in (first, second))
            if one.std() == 0 and two.std() == 0:
                continue
            test = stats.ttest_ind(one, two, equal_var=False)
            limits = test.confidence_interval(0.95)
            mine.append(
                {
                    "comparison": f"{first} vs {second}",
                    "measure": measure,
                    "n": len(one) + len(two),
                    "mean_1": float(one.mean()),
                    "mean_2": float(two.mean()),
                    "difference": float(one.mean() - two.mean()),
                    "lower_95": float(limits.low),
                    "upper_95": float(limits.high),
                    "p_value": float(test.pvalue),
                }
            )
        rows += sorted(holm_adjust(mine), key=lambda row: row["p_value"])
    return pd.DataFrame(rows) if rows else None


def comparison_finding(row, tests, per, late):
    """Return the finding on one comparison of rates, lags or plateaus.

    Args:
        row: a row of the comparisons.
        tests: all of them.
        per: the unit of a rate, in words.
        late: the unit of a time.
    """
    import math

    first, second = row["comparison"].split(" vs ", 1)
    more = row["difference"] > 0
    what, unit, words = {
        "rate": ("rate", per, ("grows faster than", "grows slower than", "is not shown to grow at another rate than")),
        "lag": ("lag", late, ("has a longer lag than", "has a shorter lag than", "is not shown to lag otherwise than")),
        "plateau": (
            "plateau",
            "",
            ("ends at a higher density than", "ends at a lower density than", "is not shown to end elsewhere than"),
        ),
    }[row["measure"]]
    verdict = words[0 if more else 1] if row["p_adj"] < 0.05 else words[2]
    many = (tests["measure"] == row["measure"]).sum() > 1
    means = f"{format_number(row['mean_1'])} against {format_number(row['mean_2'])}{unit}, "
    if row["measure"] == "rate" and min(row["mean_1"], row["mean_2"]) > 0:
        doubling = [format_number(math.log(2) / row[key]) for key in ("mean_1", "mean_2")]
        means += f"doubling in {doubling[0]} against {doubling[1]}{late and f' {late.strip()}'}, "
    unseen = "" if row["p_adj"] < 0.05 else left_open(row["lower_95"], row["upper_95"], unit=unit.strip())
    size, seen = format_number(row["difference"]), said_range(row["lower_95"], row["upper_95"])
    if row["p_adj"] < 0.05:
        size, seen = in_size(row["difference"], row["lower_95"], row["upper_95"])
    return {
        "text": f"{first} {verdict} {second}: {means}difference in {what} {size}{unit} "
        f"({seen}; Welch, {format_p(row['p_value'])}"
        + (f", adjusted {format_p(row['p_adj'])}" if many else "")
        + f"; {row['n']} cultures){unseen}.",
        "values": finding_values(
            difference=(row["difference"], row["lower_95"], row["upper_95"]),
            p_value=row["p_value"],
            p_adj=row["p_adj"],
        ),
        "output": "comparisons",
        "row": table_row(tests, comparison=row["comparison"])
        | ({"measure": row["measure"]} if tests["measure"].nunique() > 1 else {}),
    }


def wider_pair(samples, row, pairs):
    """Return the difference of two groups' means and half the width of its Welch interval that holds for all pairs."""
    from scipy import stats

    a, b = samples[row["group_1"]], samples[row["group_2"]]
    ends = stats.ttest_ind(a, b, equal_var=False).confidence_interval(1 - 0.05 / pairs)
    return {"difference": float(a.mean() - b.mean()), "half": float(ends.high - ends.low) / 2}


def rates_overview(wells, tests, groups, group, per):
    """Return the finding on the rates of three groups or more: fastest and slowest, the test of all, then the pairs.

    [] for fewer groups of several cultures, or where a control is set against each of the others.
    """
    samples = {name: wells.loc[wells["group"] == name, "rate"].to_numpy() for name in groups}
    samples = {name: rates for name, rates in samples.items() if len(rates) > 1 and rates.std() > 0}
    rows = tests[tests["measure"] == "rate"].to_dict("records")
    if len(samples) < 3 or len(rows) != len(samples) * (len(samples) - 1) // 2:
        return []
    overall = overall_test(samples, "welch")
    order = sorted(samples, key=lambda name: -samples[name].mean())
    ends = [f"{called_level(name, group)} ({format_number(samples[name].mean())}{per}, {len(samples[name])} cultures)"
            for name in (order[0], order[-1])]  # fmt: skip
    for row in rows:
        row["group_1"], row["group_2"] = row["comparison"].split(" vs ", 1)
    clear = overall["p_value"] < 0.05
    start = (f"{ends[0]} grows fastest and {ends[1]} slowest" if clear
             else f"The rates of growth are not shown to differ between {len(order)} groups, from {ends[1]} to "
             f"{ends[0]}")  # fmt: skip
    # An interval of one pair is too narrow for whichever of several pairs is the widest apart; Bonferroni's is not.
    reach = (
        0.0
        if clear
        else max(
            abs(pair["difference"]) + pair["half"] for pair in (wider_pair(samples, row, len(rows)) for row in rows)
        )
    )
    most = f"; the data are compatible with differences of up to {format_number(reach)}{per} between two of them"
    seen = "" if clear else most
    return [{
        "text": f"{start}: Welch's ANOVA over all {len(order)} groups {format_p(overall['p_value'])}; "
                f"{which_differ(rows, group)} at an adjusted p below 0.05 (Welch, Holm){seen}.",
        "values": finding_values(**{f"rate {name}": float(samples[name].mean()) for name in (order[0], order[-1])},
                                 p_value=overall["p_value"]),
        "output": "rates",
    }]  # fmt: skip


def told_comparisons(tests):
    """Return the rows that are worth a sentence: rates, then lags and plateaus of one pair or that differ."""
    rates = tests[tests["measure"] == "rate"].head(5).to_dict("records")
    rest = tests[tests["measure"] != "rate"]
    rest = rest if rest["comparison"].nunique() == 1 else rest[rest["p_adj"] < 0.05]
    return [*rates, *rest.head(4).to_dict("records")]


def culture_remarks(cultures, method, density, blank):
    """Return what a careful reader must know of the cultures: no growth, rough stretches, a blank that is missing."""
    import re

    remarks = []
    still = cultures.loc[cultures["highest"] < 2 * cultures["start"], "culture"].astype(str).tolist()
    if still:
        remarks.append(
            f"{len(still)} of {len(cultures)} cultures never doubled ({', '.join(still[:8])}): their rate may be noise."
        )
    if "r2" in cultures and (cultures["r2"] < 0.9).any():
        rough = cultures.loc[cultures["r2"] < 0.9, "culture"].astype(str).tolist()
        remarks.append(
            f"The stretch taken as steepest is no clear line (R2 below 0.9) in {', '.join(rough[:8])}: more points, or "
            "readings farther above the blank, would settle the rate."
        )
    low = float(cultures["start"].median())
    if not blank and re.search(r"(?i)(^|[^a-z])od|absorb|a600|density", density or "OD") and 0.04 <= low <= 0.2:
        remarks.append(
            f"The readings start at {format_number(low)} and no blank was taken off; if that is the medium, every rate "
            "is too low (set blank)."
        )
    if method == "steepest" and cultures["plateau"].isna().any():
        remarks.append(f"{int(cultures['plateau'].isna().sum())} of {len(cultures)} cultures reach no plateau.")
    if method == "logistic" and (cultures["plateau"] > 1.5 * cultures["highest"]).any():
        remarks.append("A fitted plateau lies far above every reading: these readings do not settle it.")
    if method == "exponential":
        remarks.append("One exponential over all readings: lag and plateau, if there are any, make its rate too low.")
    return remarks
