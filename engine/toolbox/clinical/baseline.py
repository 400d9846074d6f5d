"""Why no p-values by default: in a randomised trial baseline differences are chance, and elsewhere p-values follow n.

What a reader needs is how large each difference is: the standardised difference, which does not grow with the sample.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation, NextStep
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.registry import param, tool
from engine.toolbox.statistics.contingency import independence_tests
from engine.toolbox.tables.columns import (
    complete_rows,
    finding_values,
    format_number,
    format_p,
    in_a_row,
    level_labels,
    likely_control,
    new_axes,
    numeric_values,
    order_levels,
    palette,
    plain_table,
    require_columns,
)
from engine.toolbox.tables.rows import table_row

MOST_GROUPS = 10
"""So many groups stand side by side."""


@check("baseline_counts_add_up")
def baseline_counts_add_up(step: StepOutputs) -> Iterator[Issue]:
    """Values and gaps of a characteristic give the size of its group, and so do the counts of its levels."""
    table = step.table("characteristics")
    per_group = table.drop_duplicates(["characteristic", "group"])
    sizes = (per_group["n"] + per_group["missing"]).groupby(per_group["group"].astype(str)).nunique()
    if (sizes > 1).any():
        message = f"Values and missing values do not add up to one size in group {sizes.index[sizes > 1][0]!r}."
        yield Issue(code="baseline_counts", severity="error", message=message, where="characteristics")
    for (name, group), rows in table.dropna(subset=["count"]).groupby(["characteristic", "group"]):
        if int(rows["count"].sum()) != int(rows["n"].iloc[0]):
            message = f"The levels of {name} in {group} have {rows['count'].sum():g} rows, not {rows['n'].iloc[0]}."
            yield Issue(code="baseline_counts", severity="error", message=message, where="characteristics")


def unsuitable_column(column, name):
    """Return why a column does not belong into a table of characteristics, or ""."""
    import re

    import pandas as pd

    labels = level_labels(column).dropna()
    distinct = labels.nunique()
    if not distinct:
        return "empty"
    if pd.api.types.is_datetime64_any_dtype(column):
        return "dates"
    numbers = pd.to_numeric(labels, errors="coerce")
    numeric = bool(numbers.notna().all()) and not pd.api.types.is_bool_dtype(column)
    if not numeric:
        return f"{distinct} different texts" if distinct > 20 else ""
    whole = bool((numbers % 1 == 0).all())
    counts_through = (
        len(numbers) > 9 and whole and distinct == len(numbers) and numbers.max() - numbers.min() < distinct
    )
    named = re.search(r"(?:^|[_. ])(?:id|nr|no|number|index)$|[a-z]ID$|^(?:unnamed: 0|row)", name, re.IGNORECASE)
    return "it numbers the rows" if counts_through or (named and distinct > 0.8 * len(numbers)) else ""


def is_category(column, name, categories):
    """Say whether a column is shown as counts: text, yes/no, or numbers with at most four different values."""
    import pandas as pd

    if name in categories or pd.api.types.is_bool_dtype(column):
        return True
    labels = level_labels(column).dropna()
    numbers = pd.to_numeric(labels, errors="coerce")
    if numbers.isna().any():
        return True
    return labels.nunique() <= 2 or (labels.nunique() <= 4 and len(labels) >= 12)


def mean_smd(first, second):
    """Return (mean 1 - mean 2) / sqrt of the mean of both variances; NaN where it does not exist."""
    import numpy as np

    if min(len(first), len(second)) < 2:
        return float("nan")
    gap, pooled = float(first.mean() - second.mean()), float(np.sqrt((first.var(ddof=1) + second.var(ddof=1)) / 2))
    return gap / pooled if pooled > 0 else 0.0 if gap == 0 else float("nan")


def share_smd(first, second):
    """Return Yang and Dalton's standardised difference of two lists of counts; for two levels that of the shares.

    It is the Mahalanobis distance between the shares of all levels but one, with the mean of both multinomial
    covariances; a generalised inverse where a level is empty in both groups.
    """
    import numpy as np

    first, second = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if not first.sum() or not second.sum():
        return float("nan")
    p, q = first / first.sum(), second / second.sum()
    covariance = (np.diag(p) - np.outer(p, p) + np.diag(q) - np.outer(q, q))[1:, 1:] / 2
    gap = (p - q)[1:]
    if np.allclose(gap, 0):
        return 0.0
    inverse = np.linalg.pinv(covariance, hermitian=True)
    # A gap outside the range of the covariance: the groups share no level, and no finite distance exists.
    return float(np.sqrt(gap @ inverse @ gap)) if np.allclose(covariance @ inverse @ gap, gap) else float("nan")


def baseline_numbers(values, labels, name, numbers):
    """Return whether a mean describes a number, and per group n, missing, mean, SD, quartiles, range."""
    import numpy as np
    from scipy import stats

    groups = {group: values[labels == group] for group in order_levels(labels)}
    parts = {group: x.dropna().to_numpy() for group, x in groups.items()}
    centred = np.concatenate([x - x.mean() for x in parts.values() if len(x)])
    spread = np.ptp(centred) > 1e-9 * max(1.0, float(np.abs(values).max()))
    skewed = bool(spread and len(centred) > 2 and abs(stats.skew(centred)) > 1)
    rows = []
    for group, x in [*parts.items(), ("all", values.dropna().to_numpy())]:
        gaps = int(groups.get(group, values).isna().sum())
        row = {"characteristic": name, "level": "", "group": group, "n": len(x), "missing": gaps}
        if len(x):
            q1, median, q3 = np.percentile(x, [25, 50, 75])
            row |= {"mean": float(x.mean()), "sd": float(x.std(ddof=1)) if len(x) > 1 else np.nan,
                    "median": float(median), "q1": float(q1), "q3": float(q3), "min": float(x.min()),
                    "max": float(x.max())}  # fmt: skip
        rows.append(row)
    return (numbers == "mean" or (numbers == "auto" and not skewed)), rows, parts


def told_measures(text, names):
    """Return column -> mean or median, as a text says it: `mean age, weight; median CRP`, `CRP as median`.

    Of a column named between both words the one before it counts, unless `as` joins it to the one after.
    """
    import re

    found, plain = {}, re.sub(r"[\W_]+", " ", text).casefold()
    word = re.compile(r"(?:\b(?:as|by|with)(?: an?| the| their)? )?\b(?:mean|median)s?\b")
    said = [(m.start(), m.end(), "median" if "median" in m[0] else "mean", " as " in f" {m[0]}")
            for m in word.finditer(plain)]  # fmt: skip
    places = []
    for name in sorted(map(str, names), key=len, reverse=True):
        words = re.sub(r"[\W_]+", " ", name).strip().casefold()
        for m in re.finditer(rf"\b{re.escape(words)}\b", plain) if words else ():
            if not any(a <= m.start() < b for a, b, _ in places):
                places.append((m.start(), m.end(), name))
    for start, end, name in sorted(places):
        before = [way for way in said if way[1] <= start]
        after = [way for way in said if way[0] >= end]
        joined = after and after[0][3] and (not before or before[-1][3])
        if joined:
            found[name] = after[0][2]
        elif before:
            found[name] = before[-1][2]
    return found


def baseline_levels(column, labels, name):
    """Return the levels of a category and per group n, missing, count and percent of each."""
    shown = level_labels(column)
    levels = order_levels(shown)
    usual = likely_control(levels)
    if len(levels) == 2 and usual == levels[1]:
        levels = levels[::-1]
    rows, counts = [], {}
    for group in [*order_levels(labels), "all"]:
        part = shown if group == "all" else shown[labels == group]
        n = int(part.notna().sum())
        counts[group] = [int((part == level).sum()) for level in levels]
        rows += [
            {"characteristic": name, "level": level, "group": group, "n": n, "missing": len(part) - n,
             "count": count, "percent": 100 * count / n if n else float("nan")}
            for level, count in zip(levels, counts[group], strict=True)
        ]  # fmt: skip
    return levels, rows, counts


def baseline_p_value(parts, counts, by_mean):
    """Return the test of one characteristic between the groups and its p-value."""
    import numpy as np
    from scipy import stats

    if counts:
        matrix = np.array([row for row in counts if sum(row)], dtype=float)
        matrix = matrix[:, matrix.sum(axis=0) > 0]
        if min(matrix.shape) < 2:
            return "none", float("nan")
        try:
            rows, _, _ = independence_tests(matrix, 1)
        except TypeError:  # scipy's fisher_exact returns an array, not a number, for tables with next to no counts
            return "none", float("nan")
        return rows[0]["test"], rows[0]["p_value"]
    if min(len(x) for x in parts) < 2 or all(np.ptp(x) == 0 for x in parts):
        return "none", float("nan")
    if by_mean and all(np.ptp(x) > 0 for x in parts):
        if len(parts) == 2:
            return "Welch's t-test", float(stats.ttest_ind(*parts, equal_var=False).pvalue)
        return "Welch's analysis of variance", float(stats.f_oneway(*parts, equal_var=False).pvalue)
    if len(parts) == 2:
        return "Mann-Whitney test", float(stats.mannwhitneyu(*parts).pvalue)
    return "Kruskal-Wallis test", float(stats.kruskal(*parts).pvalue)


def printed_rows(name, rows, levels, by_mean, titles, balance):
    """Return the rows of the printed table for one characteristic: `mean (SD)`, `median [Q1, Q3]` or `n (%)`."""
    of = {(row["level"], row["group"]): row for row in rows}

    def number(row):
        if not row["n"]:
            return "-"
        if by_mean:
            return f"{format_number(row['mean'])} ({format_number(row['sd'])})"
        return f"{format_number(row['median'])} [{format_number(row['q1'])}, {format_number(row['q3'])}]"

    def share(row):
        return f"{row['count']} ({row['percent']:.1f})" if row["n"] else "-"

    extra = {"SMD": format_number(balance["smd"], 2) if balance["smd"] == balance["smd"] else "-"} if balance else {}
    if balance and "p_value" in balance:
        p = balance["p_value"]
        extra["p"] = "-" if p != p else "< 0.001" if p < 0.001 else f"{p:.3f}"
    if not levels:
        what = "mean (SD)" if by_mean else "median [Q1, Q3]"
        printed = [{"characteristic": f"{name}, {what}"} | {t: number(of["", g]) for g, t in titles.items()} | extra]
    elif len(levels) == 2:
        printed = [{"characteristic": f"{name} = {levels[1]}, n (%)"}
                   | {t: share(of[levels[1], g]) for g, t in titles.items()} | extra]  # fmt: skip
    else:
        printed = [{"characteristic": f"{name}, n (%)"} | extra]
        printed += [{"characteristic": f"    {level}"} | {t: share(of[level, g]) for g, t in titles.items()}
                    for level in levels]  # fmt: skip
    first = levels[0] if levels else ""
    if of[first, "all"]["missing"]:
        gaps = {t: str(of[first, g]["missing"]) for g, t in titles.items()}
        printed.append({"characteristic": f"    {name}: missing, n"} | gaps)
    return printed


def balance_figure(balance, limit):
    """Draw the standardised difference of every characteristic, the largest on top."""
    shown = sorted((row for row in balance if row["smd"] == row["smd"]), key=lambda row: row["smd"])[-40:]
    figure, axis = new_axes(width=6.4, height=max(2.4, min(14, 0.32 * len(shown) + 1.3)))
    colours = palette(6)
    for place, row in enumerate(shown):
        colour = colours[5] if row["smd"] > limit else colours[0]
        axis.plot([0, row["smd"]], [place, place], color="0.8", linewidth=1, zorder=1)
        axis.scatter([row["smd"]], [place], color=colour, s=34, zorder=2)
    axis.axvline(limit, color="0.5", linestyle="--", linewidth=0.9)
    axis.set_xlim(left=0)
    axis.set_yticks(range(len(shown)), [row["characteristic"][:40] for row in shown])
    axis.set_xlabel(f"absolute standardised mean difference (line: {limit:g})")
    return figure


@tool(
    name="table_one",
    title="Table 1: baseline characteristics by group",
    description=(
        "Describe the subjects of every group and all together, one row a characteristic: mean (SD), or median "
        "[quartiles] where a number is skewed (absolute skewness within groups above 1), n (%) of categories, missing "
        "values counted. Between groups the standardised mean difference, free of units: difference of means over the "
        "root of the mean variance; for categories Yang and Dalton's distance; with more than two groups that of the "
        "pair furthest apart. P-values only when asked for. Yes/no columns and numbers with at most four different "
        "values are shown as categories."
    ),
    domain="clinical",
    task_type="analysis",
    methods=(
        "p_values => means, medians and shares of each group with standardised differences and p-values",
        "group => means, medians and shares of each group with standardised differences; no test",
        "means, medians and shares; no test",
    ),
    complete=("group",),
    answers=["table_one"],
    inputs={"table": "table: one row a subject"},
    outputs={
        "table_one": "table: the table as printed in a paper",
        "characteristics": "table: every number of it, one row a characteristic, level and group",
        "balance": "table: standardised mean difference of every characteristic",
        "balance_plot": "figure: the standardised mean differences",
    },
    optional_outputs=("balance", "balance_plot"),
    params={
        "group": param("Column of the groups; empty for all subjects together", kind="column", of="table",
                       role="group", needed=True, distinct=MOST_GROUPS),
        "columns": param("The characteristics; empty for all columns that can be described", kind="columns",
                         of="table", role="anything"),
        "numbers": param(
            "How numbers are described; auto takes the median where they are skewed",
            choices=["auto", "mean", "median"],
            words=["auto: (?:where|when|if)\\s+(?:\\w+\\s+){0,3}skewed", "median: medians?\\b|IQR\\b",
                   "mean: means?\\b(?! difference)"],
        ),
        "each": param(
            "In words, which numbers get the mean and which the median: `mean age, weight; median CRP`; the others by "
            "their skewness",
            words=["^(?=(?P<value>.*\\bmeans?\\b.*\\bmedians?\\b.*|.*\\bmedians?\\b.*\\bmeans?\\b.*))"],
        ),
        "categories": param("Columns of numbers that are codes, to be counted", kind="columns", of="table",
                            role="strata"),
        "p_values": param(
            "Test every characteristic between the groups too",
            words=["true: (?:with|and|plus|add|including|show)\\s+(?:the\\s+)?p.?values?"],
        ),
        "limit": param("Standardised difference above which groups are called different", minimum=0.001, maximum=2),
    },
    checks=("tables_not_empty", "p_values_valid", "findings_match_tables", "baseline_counts_add_up"),
    keywords=("table one", "table 1", "first table", "baseline characteristics", "baseline table", "demographics",
              "patient characteristics", "standardised mean difference", "standardized mean difference", "SMD",
              "comparable at baseline", "balance", "CreateTableOne", "who was in the groups"),
    citations=(
        Citation(title="Balance diagnostics for comparing the distribution of baseline covariates between treatment "
                       "groups in propensity-score matched samples", authors="Austin PC", year=2009,
                 doi="10.1002/sim.3697"),
        Citation(title="A unified approach to measuring the effect size between two groups using SAS",
                 authors="Yang D, Dalton JE", year=2012),
    ),
    packages=("pandas", "numpy", "scipy"),
    seconds=2.0,
    example="Were the patients of the two arms alike at the start in age, sex and smoking?",
    next_steps=(
        NextStep(text="Where the groups of {param:group} differ, compare outcomes with these characteristics as "
                      "predictors (linear_regression, logistic_regression, cox_regression).", needs_param="group"),
    ),
)  # fmt: skip
def table_one(
    table,
    *,
    group: str = "",
    columns: list[str] = [],  # noqa: B006 - a plain default, never changed
    numbers: str = "auto",
    each: str = "",
    categories: list[str] = [],  # noqa: B006 - a plain default, never changed
    p_values: bool = False,
    limit: float = 0.1,
):
    """Describe subjects by group."""
    import itertools

    import pandas as pd

    if numbers not in ("auto", "mean", "median"):
        raise ValueError(f"Numbers cannot be described by {numbers!r}; expected auto, mean or median.")
    table = plain_table(table)
    require_columns(table, [*columns, *categories, *([group] if group else [])])
    if len(table) == 0:
        raise ValueError("The table has no rows; expected at least one subject. Choose another file.")
    wanted = [name for name in dict.fromkeys([*columns, *categories] if columns else table.columns) if name != group]
    reasons = {name: unsuitable_column(table[name], str(name)) for name in wanted}
    chosen = [name for name, reason in reasons.items() if not reason]
    left_out = [f"{name} ({reason})" for name, reason in reasons.items() if reason]
    warnings = [f"Left out of the table: {', '.join(left_out[:12])}."] if left_out else []
    if not chosen:
        raise ValueError(
            f"No column can be described{f' beside {group!r}' if group else ''}; expected numbers or categories with "
            f"at most 20 levels.{f' Left out: {left_out[0]}.' if left_out else ''}"
        )
    if group:
        table, notes = complete_rows(table, [group])
        warnings += notes
    labels = level_labels(table[group]) if group else pd.Series("all subjects", index=table.index, dtype=object)
    groups = order_levels(labels)
    usual = likely_control(groups)
    groups = [usual, *(level for level in groups if level != usual)] if usual else groups
    if len(groups) > MOST_GROUPS:
        raise ValueError(
            f"Column {group!r} has {len(groups)} different values; expected at most {MOST_GROUPS} groups side by side."
        )
    if group and len(groups) == 1:
        warnings.append(f"{group} has the single level {groups[0]}: nothing to compare it with.")
    if "all" in groups:
        raise ValueError(f"A group of {group!r} is called 'all', the name of the column of all subjects; rename it.")
    sizes = {name: int((labels == name).sum()) for name in groups} | {"all": len(table)}
    titles = {name: f"{name} (n = {size})" for name, size in sizes.items() if len(groups) > 1 or name == "all"}
    told, described = told_measures(each, chosen), {}
    if each and told:
        numbers = "auto"
    printed, rows, balance, furthest = [], [], [], {}
    for name in chosen:
        levels, counts, parts, by_mean = [], {}, {}, True
        if is_category(table[name], str(name), categories):
            levels, own, counts = baseline_levels(table[name], labels, name)
            if len(levels) > 20:
                raise ValueError(f"Column {name!r} has {len(levels)} levels; expected at most 20 to count.")
        else:
            way = told.get(str(name), numbers)
            by_mean, own, parts = baseline_numbers(numeric_values(table, name), labels, name, way)
            why = "as asked" if way != "auto" else "not skewed" if by_mean else "skewed"
            described.setdefault("mean (SD)" if by_mean else "median [quartiles]", []).append(f"{name} ({why})")
        line = None
        if len(groups) > 1:
            pairs = {
                (a, b): abs(share_smd(counts[a], counts[b]) if levels else mean_smd(parts[a], parts[b]))
                for b, a in itertools.combinations(groups, 2)
            }
            known = {pair: value for pair, value in pairs.items() if value == value}
            furthest[name] = pair = max(known, key=known.get) if known else next(iter(pairs))
            kind = "category" if levels else "mean (SD)" if by_mean else "median [Q1, Q3]"
            missing = sum({row["group"]: row["missing"] for row in own if row["group"] != "all"}.values())
            line = {"characteristic": name, "type": kind, "smd": known.get(pair, float("nan")),
                    "pair": f"{pair[0]} vs {pair[1]}", "missing": missing}  # fmt: skip
            if p_values:
                tested = [counts[g] for g in groups] if levels else []
                line["test"], line["p_value"] = baseline_p_value([parts[g] for g in groups] if parts else [], tested,
                                                                 by_mean)  # fmt: skip
            balance.append(line)
        rows += own
        printed += printed_rows(name, own, levels, by_mean, titles, line)
    frame = pd.DataFrame(balance)
    findings = [
        {"text": f"{len(table)} subjects" + (f" in {len(groups)} groups of {group}: " + ", ".join(
            f"{name} (n = {sizes[name]})" for name in groups) if group else "") + f"; {len(chosen)} characteristics.",
         "values": finding_values(n_subjects=len(table), n_characteristics=len(chosen)), "output": "table_one"}
    ]  # fmt: skip
    far = sorted((row for row in balance if row["smd"] > limit), key=lambda row: -row["smd"])
    no_smd = [row["characteristic"] for row in balance if row["smd"] != row["smd"]]
    ordered = sorted(sizes[name] for name in groups)
    chance = 1.96 * (1 / ordered[0] + 1 / ordered[min(1, len(ordered) - 1)]) ** 0.5
    beyond = in_a_row(str(row["characteristic"]) for row in far if row["smd"] > chance)
    by_name = {}
    for row in rows:
        by_name.setdefault((row["characteristic"], row["group"]), []).append(row)

    def seen(line):
        """Return how the two groups look that lie furthest apart, by name where there are more than two."""
        pair = furthest[line["characteristic"]]
        one, other = (by_name[line["characteristic"], name] for name in pair)
        of = [f" in {name}" if len(groups) > 2 else "" for name in pair]
        key = "mean" if line["type"] == "mean (SD)" else "median"
        if not one[0]["level"]:
            return f"{key} {format_number(one[0][key])}{of[0]} against {format_number(other[0][key])}{of[1]}"
        if len(one) == 2:
            return f"{one[1]['level']}: {one[1]['percent']:.0f} %{of[0]} against {other[1]['percent']:.0f} %{of[1]}"
        return f"{len(one)} levels"

    sides = in_a_row(f"{name} (n = {sizes[name]})" for name in reversed(groups)) if len(groups) <= 4 else (
        f"The {len(groups)} groups of {group}")  # fmt: skip
    if balance:
        most = max((row for row in balance if row["smd"] == row["smd"]), key=lambda row: row["smd"], default=None)
        told = in_a_row(f"{row['characteristic']} ({seen(row)})" for row in far[:6])
        more = f" and {len(far) - 6} more" if len(far) > 6 else ""
        text = (f"{sides} differ in {len(far)} of {len(balance)} characteristics by more than {limit:g} "
                f"standard deviations: {told}{more}"
                + (f"; {beyond or 'none of them'} by more than chance alone often gives with groups of this size "
                   f"({chance:.2g} SD)." if chance > limit else ".") if far else
                f"{sides} are alike in all {len(balance)} characteristics: every standardised difference "
                f"is at most {limit:g}.")  # fmt: skip
        if no_smd and not far:
            text = (f"{sides} are alike as far as it can be computed: no standardised difference "
                    f"exceeds {limit:g}.")  # fmt: skip
        findings.insert(
            0,
            {
                "text": text,
                "values": finding_values(n_different=len(far))
                + (finding_values(largest_smd=most["smd"]) if most else []),
                "output": "balance",
            },
        )
    for line in far[:8]:
        p = f", {format_p(line['p_value'])} ({line['test']})" if "p_value" in line else ""
        first, second = furthest[line["characteristic"]]
        findings.append(
            {"text": f"{line['characteristic']} differs between {first} and {second} ({seen(line)}): standardised "
                     "difference "
                     f"{format_number(line['smd'], 2)}{p}.",
             "values": finding_values(smd=line["smd"], p_value=line.get("p_value")), "output": "balance",
             "row": table_row(frame, characteristic=line["characteristic"])}
        )  # fmt: skip
    if described:
        ways = "; by ".join(f"{way}: {', '.join(names[:12])}" for way, names in described.items())
        findings.append({"text": f"Numbers are described by {ways}.", "values": [], "output": "table_one"})
    gaps = [f"{row['characteristic']} ({row['missing']})" for row in balance if row["missing"]]
    if gaps:
        warnings.append(f"Missing values are counted and left out of means and percentages: {', '.join(gaps[:10])}.")
    if no_smd:
        warnings.append(
            f"No standardised difference exists, for want of spread or values, for: {', '.join(no_smd[:8])}."
        )
    if not columns:
        warnings.append("All columns were described; leave out what was measured after the groups were formed.")
    if p_values and balance:
        warnings.append(f"{len(balance)} p-values were computed and none is adjusted; about one in 20 is below 0.05 by "
                        "chance alone.")  # fmt: skip
    if far and chance > limit:
        warnings.append(f"Between groups of this size differences up to about {chance:.2g} arise by chance alone (1.96 "
                        f"sqrt(1/n + 1/n)), so {limit:g} is a strict limit here.")  # fmt: skip
    order = ["characteristic", *titles.values(), "SMD", "p"]
    table_text = pd.DataFrame(printed)
    wide = ["characteristic", "level", "group", "n", "missing", "mean", "sd", "median", "q1", "q3", "min", "max",
            "count", "percent"]  # fmt: skip
    return {
        "table_one": table_text[[name for name in order if name in table_text]].fillna(""),
        "characteristics": pd.DataFrame(rows).reindex(columns=wide),
        "balance": frame if balance else None,
        "balance_plot": balance_figure(balance, limit) if balance else None,
        "findings": findings,
        "warnings": warnings,
    }
