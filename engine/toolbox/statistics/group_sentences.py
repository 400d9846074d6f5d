"""Why apart: what is said of a comparison of groups is read by many and computed by few.

Each function takes rows of the tables and returns one finding: the direction in words, the size with its interval, and
what a null result leaves open.
"""

from __future__ import annotations

from engine.toolbox.tables.columns import (
    called_level,
    finding_values,
    format_number,
    format_p,
    in_a_row,
    left_open,
    which_differ,
)
from engine.toolbox.tables.wording import high_to_low, in_size


def counted(row):
    """Return how many values two groups have, or how many pairs."""
    return f"{row['n_1']} pairs" if "paired" in row["estimate"] else f"n = {row['n_1']} and {row['n_2']}"


def describe_pair(row, value, group, several):
    """Return the finding of one row of the comparison table, its direction in words."""
    p = row["p_adj"] if several else row["p_value"]
    level = "adjusted " if several else ""
    first, second = (called_level(row[key], group) for key in ("group_1", "group_2"))
    on_means = row["estimate"].startswith("mean")
    kind, a, b = ("mean", row["mean_1"], row["mean_2"]) if on_means else ("median", row["median_1"], row["median_2"])
    clear = p < 0.05
    relation = "is higher" if row["difference"] > 0 else "is lower" if row["difference"] < 0 else "is not shifted"
    size, interval = in_size(row["difference"], row["lower_95"], row["upper_95"])
    if not clear:
        size = f"{first} minus {second} {format_number(row['difference'])}"
        interval = f"95 % CI {format_number(row['lower_95'])} to {format_number(row['upper_95'])}"
    interval = f" ({interval})" if row["lower_95"] == row["lower_95"] else ""
    unseen = "" if clear else left_open(row["lower_95"], row["upper_95"])
    start = (
        f"{value} {relation} in {first} than in {second}" if clear and row["difference"]
        else f"{value} differs between {first} and {second}" if clear
        else f"{value} is not shown to differ between {first} and {second}"
    )  # fmt: skip
    text = (
        f"{start}: {kind} {format_number(a)} against {format_number(b)} ({counted(row)}), {row['estimate']} "
        f"{size}{interval}, {level}{format_p(p)} ({row['test']}){unseen}."
    )
    values = finding_values(
        difference=(row["difference"], row["lower_95"], row["upper_95"]), p_value=row["p_value"], p_adj=row["p_adj"],
        mean_1=row["mean_1"], mean_2=row["mean_2"], n_1=row["n_1"], n_2=row["n_2"], effect_size=row["effect_size"],
    )  # fmt: skip
    return {"text": text, "values": values, "output": "comparison", "row": {"comparison": row["comparison"]}}


def describe_ratio(row, value, group, several):
    """Return the finding of one pair of groups compared on logarithms: how many times the one is the other."""
    import math

    p = row["p_adj"] if several else row["p_value"]
    first, second = (called_level(row[key], group) for key in ("group_1", "group_2"))
    on_means = row["estimate"].startswith("mean")
    kind = "geometric mean" if on_means else "median of logarithms, taken back,"
    a, b = (row[f"geometric_mean_{key}"] if on_means else math.exp(row[f"median_{key}"]) for key in ("1", "2"))
    ratio, low, high = row["ratio"], row["ratio_lower_95"], row["ratio_upper_95"]
    size = f"{100 * abs(ratio - 1):.3g} % {'higher' if ratio > 1 else 'lower'}" if ratio < 2 else (
        f"{format_number(ratio)} times as high")  # fmt: skip
    joined = f"in {first} {'than' if ratio < 2 else 'as'} in {second}"
    start = (f"{value} is {size} {joined}" if p < 0.05
             else f"{value} is not shown to differ between {first} and {second}")  # fmt: skip
    interval = f" (95 % CI {format_number(low)} to {format_number(high)})" if low == low else ""
    text = (
        f"{start}: {kind} {format_number(a)} against {format_number(b)} ({counted(row)}), ratio "
        f"{format_number(ratio)}{interval}, {'adjusted ' if several else ''}{format_p(p)} ({row['test']} on "
        f"logarithms){'' if p < 0.05 else left_open(low, high, ratio=True)}."
    )
    values = finding_values(ratio=(ratio, low, high), p_value=row["p_value"], p_adj=row["p_adj"], n_1=row["n_1"],
                            n_2=row["n_2"], geometric_mean_1=row["geometric_mean_1"],
                            geometric_mean_2=row["geometric_mean_2"])  # fmt: skip
    return {"text": text, "values": values, "output": "comparison", "row": {"comparison": row["comparison"]}}


def pair_in_short(row, group):
    """Return in words one pair of few: which is above by how much, or a doubtful difference; and the adjusted p."""
    first, second = (called_level(row[key], group) for key in ("group_1", "group_2"))
    clear, gap, p = row["p_adj"] < 0.05, row["difference"], format_p(row["p_adj"])
    if gap != gap or not gap:
        return f"{first} and {second} {'differ' if clear else 'not shown to differ'} ({p})"
    if "ratio" in row:
        return f"{first} {format_number(row['ratio'])} times {second} ({p})"
    if clear:
        high, low = (first, second) if gap > 0 else (second, first)
        return f"{high} above {low} by {format_number(abs(gap))} ({p})"
    return f"not shown: {first} minus {second} {format_number(gap)} ({p})"


def describe_groups(row, pair_rows, groups, value, group):
    """Return the finding on all groups: whether they differ, their means from high to low, and which pairs differ."""
    found = sum(r["p_adj"] < 0.05 for r in pair_rows)
    clear = row["p_value"] < 0.05
    kind = "mean" if "ANOVA" in row["test"] else "median"
    verdict = "differs between" if clear else "is not shown to differ between"
    means = {r["group"]: r[kind] for r in groups}
    order = sorted(means, key=lambda level: -means[level])
    shown = means if len(means) <= 6 else {level: means[level] for level in (order[0], order[-1])}
    # Only intervals that hold for all pairs at once bound what any of them may be.
    seen = not clear and any(name in pair_rows[0]["test"] for name in ("Tukey", "Games-Howell"))
    reach = max(abs(r[key]) for r in pair_rows for key in ("lower_95", "upper_95")) if seen else None
    excluded = (
        f"; the data are compatible with differences of up to {format_number(reach)} between two of them"
        if seen
        else ""
    )
    few = pair_rows if len(pair_rows) <= 3 else []
    estimate = "ratio" if few and "ratio" in few[0] else pair_rows[0]["estimate"]
    none = not clear and not found and pair_rows[0]["test"] and len(groups) > 2
    pairs = (
        f"none of {len(pair_rows)} pairs differs ({pair_rows[0]['test']})" if few and none
        else f"{'; '.join(pair_in_short(r, group) for r in few)} ({pair_rows[0]['test']}, {estimate})" if few
        else f"{which_differ(pair_rows, group)} at an adjusted p below 0.05 ({pair_rows[0]['test']})"
    )  # fmt: skip
    return {
        "text": f"{value} {verdict} the {len(groups)} groups of {group} ({row['test']} of {row['n']} values, "
                f"{format_p(row['p_value'])}): {kind} {high_to_low(means, group)}; {pairs}{excluded}.",
        "values": finding_values(
            **{f"{kind} {level}": mean for level, mean in shown.items()}, statistic=row["statistic"],
            p_value=row["p_value"], n=row["n"], effect_size=row["effect_size"], n_pairs=len(pair_rows),
            n_pairs_different=found, largest_not_excluded=reach,
            **{f"p_adj {r['comparison']}": r["p_adj"] for r in few}),
        "output": "comparison", "row": {"comparison": "all groups"},
    }  # fmt: skip


def describe_ends(row, pair_rows, groups, value, group):
    """Return the findings that name the lowest and the highest group and say of which others it differs.

    [] where the groups are not shown to differ, or a pair with that group was not tested.
    """
    kind = "mean" if "ANOVA" in row["test"] else "median"
    order = sorted(groups, key=lambda r: r[kind])
    findings = []
    for name, end in (("lowest", order[0]), ("highest", order[-1])) if row["p_value"] < 0.05 else ():
        p_of = {r["group_1"] if r["group_2"] == end["group"] else r["group_2"]: r["p_adj"] for r in pair_rows
                if end["group"] in (r["group_1"], r["group_2"])}  # fmt: skip
        others = [r for r in (order if name == "lowest" else order[::-1]) if r["group"] != end["group"]]
        if len(p_of) < len(others):
            continue
        told = {r["group"]: f"{called_level(r['group'], group)} ({format_number(r[kind])}, "
                            f"{format_p(p_of[r['group']])})" for r in others}  # fmt: skip
        apart = [text for level, text in told.items() if p_of[level] < 0.05]
        alike = [text for level, text in told.items() if p_of[level] >= 0.05]
        differs = f"{'below' if name == 'lowest' else 'above'} {in_a_row(apart)}" if apart else ""
        unclear = f"not shown to differ from {in_a_row(alike)}" if alike else ""
        findings.append({
            "text": f"{value} is {name} in {called_level(end['group'], group)} ({kind} {format_number(end[kind])}, n = "
                    f"{end['n']}): {' and '.join(filter(None, (differs, unclear)))}; {row['test']} over all "
                    f"{len(groups)} groups {format_p(row['p_value'])}, pairs adjusted ({pair_rows[0]['test']}).",
            "values": finding_values(**{name: end[kind], "p_value": row["p_value"], "n": end["n"]},
                                     **{f"p_adj {level}": p for level, p in p_of.items()}),
            "output": "groups", "row": {"group": end["group"]},
        })  # fmt: skip
    return findings


def describe_between_ends(row, pair_rows, groups, value, group):
    """Return the finding on the highest group against the lowest, [] where that pair was not tested.

    Which two these are the data said, so a test of just the two would find differences by chance: the p-value is that
    of all pairs together.
    """
    kind = "mean" if "ANOVA" in row["test"] else "median"
    order = sorted(groups, key=lambda r: r[kind])
    low, high = order[0], order[-1]
    pair = next((r for r in pair_rows if {r["group_1"], r["group_2"]} == {low["group"], high["group"]}), None)
    if pair is None:
        return []
    sign = 1 if pair["group_1"] == high["group"] else -1
    size, *limits = (sign * pair[key] for key in ("difference", "lower_95", "upper_95"))
    least, most = sorted(limits)
    interval = f" (95 % CI {format_number(least)} to {format_number(most)})" if least == least else ""
    clear = pair["p_adj"] < 0.05
    names = [f"{called_level(r['group'], group)} ({kind} {format_number(r[kind])}, n = {r['n']})" for r in (high, low)]
    start = f"{value} is higher in {names[0]} than in {names[1]}" if clear else (
        f"{value} is not shown to differ between the highest, {names[0]}, and the lowest, {names[1]}")  # fmt: skip
    return [{
        "text": f"{start}: {pair['estimate']} {format_number(size)}{interval}, adjusted {format_p(pair['p_adj'])} "
                f"({pair['test']}). The two were picked after looking at all {len(groups)} groups, so the p-value is "
                f"that of all {len(pair_rows)} pairs together{'' if clear else left_open(least, most)}.",
        "values": finding_values(**{"between the ends": (size, least, most), "p_adj": pair["p_adj"]}),
        "output": "comparison", "row": {"comparison": pair["comparison"]},
    }]  # fmt: skip


def describe_thresholds(pair_rows, control, value, group):
    """Return the finding on the lowest dose that differs from the control and the highest below it (LOEC and NOEC).

    [] where the groups are no doses above a control that is the lowest.
    """
    try:
        rows = sorted(pair_rows, key=lambda row: float(row["group_1"]))
        if not rows or float(rows[0]["group_1"]) <= float(control):
            return []
    except ValueError:
        return []
    at = next((number for number, row in enumerate(rows) if row["p_adj"] < 0.05), None)
    row = rows[-1] if at is None else rows[at]
    noec = rows[-1]["group_1"] if at is None else rows[at - 1]["group_1"] if at else control
    size = (
        f"mean {format_number(row['mean_1'])} against {format_number(row['mean_2'])}, difference "
        f"{format_number(row['difference'])} (95 % CI {format_number(row['lower_95'])} to "
        f"{format_number(row['upper_95'])}), adjusted {format_p(row['p_adj'])}, {row['test']}"
    )  # fmt: skip
    if at is None:
        unseen = left_open(row["lower_95"], row["upper_95"])
        text = (f"At no {group} is {value} shown to differ from that at {control}: the NOEC is the highest one, "
                f"{noec}, and there is no LOEC ({size}){unseen} there.")  # fmt: skip
    else:
        higher = "higher" if row["difference"] > 0 else "lower"
        below = f"at {noec} it is not shown to differ (NOEC {noec})" if at else "so there is no NOEC above the control"
        again = [r["group_1"] for r in rows[at:] if r["p_adj"] >= 0.05]
        odd = f"; yet at {in_a_row(again)} it is not shown to differ either" if again else ""
        text = (f"The lowest {group} at which {value} is {higher} than at {control} is {row['group_1']} (LOEC): "
                f"{size}; {below}{odd}.")  # fmt: skip
    levels = {"noec": float(noec)} | ({} if at is None else {"loec": float(row["group_1"])})
    values = finding_values(
        **levels, difference=(row["difference"], row["lower_95"], row["upper_95"]), p_adj=row["p_adj"],
        mean_1=row["mean_1"], mean_2=row["mean_2"],
    )  # fmt: skip
    found = [{"text": text, "values": values, "output": "comparison", "row": {"comparison": row["comparison"]}}]
    if at:
        last = rows[at - 1]
        found.append({
            "text": f"The highest {group} up to which {value} is not shown to differ from that at {control} is {noec} "
                    f"(NOEC): mean {format_number(last['mean_1'])} against {format_number(last['mean_2'])}, adjusted "
                    f"{format_p(last['p_adj'])}, {last['test']}; at {row['group_1']} it is {higher} (LOEC, adjusted "
                    f"{format_p(row['p_adj'])}).",
            "values": finding_values(noec_alone=float(noec), p_adj=last["p_adj"]),
            "output": "comparison", "row": {"comparison": last["comparison"]},
        })  # fmt: skip
    return found
