"""Why apart: comparing groups is the question biologists ask most and get wrong most.

Every row says which group minus which, what was tested, on how many values, and how large the
difference is with its interval; the assumptions stand in a table of their own.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation, NextStep, Repair
from engine.toolbox.asked import ASKS_ENDS, ASKS_HIGHEST, ASKS_LOWEST
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.registry import param, tool
from engine.toolbox.statistics.group_choice import (
    check_assumptions,
    choose_test,
    comparison_warnings,
    post_hoc_test,
    second_opinion,
)
from engine.toolbox.statistics.group_sentences import (
    describe_between_ends,
    describe_ends,
    describe_groups,
    describe_pair,
    describe_ratio,
    describe_thresholds,
)
from engine.toolbox.statistics.group_tests import (
    as_ratios,
    independent_test,
    logarithms,
    overall_test,
    paired_test,
)
from engine.toolbox.statistics.post_hoc import adjust_rows, pooled_contrasts
from engine.toolbox.statistics.single_rows import sample_names, turning_rows
from engine.toolbox.tables.columns import (
    complete_rows,
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

MOST_GROUPS = 40
"""So many groups are compared."""


@check("group_differences_match_means")
def group_differences_match_means(step: StepOutputs) -> Iterator[Issue]:
    """A mean difference is mean_1 - mean_2 of its own row, and its interval contains it."""
    table = step.table("comparison") if "comparison" in step.files else None
    if table is None or not {"difference", "mean_1", "mean_2", "estimate"} <= set(table.columns):
        return
    means = table[table["estimate"].astype(str).str.startswith("mean")].dropna(subset=["difference"])
    for _, row in means.iterrows():
        expected = row["mean_1"] - row["mean_2"]
        scale = max(1e-12, abs(row["mean_1"]), abs(row["mean_2"]))
        if abs(row["difference"] - expected) > 1e-6 * scale:
            message = f"{row['comparison']}: the difference {row['difference']} is not mean_1 - mean_2 = {expected}."
            yield Issue(code="difference_swapped", severity="error", message=message, where="comparison")
        elif row["lower_95"] > row["difference"] or row["upper_95"] < row["difference"]:
            message = f"{row['comparison']}: the 95 % interval does not contain the difference {row['difference']}."
            yield Issue(code="interval_without_estimate", severity="error", message=message, where="comparison")


def only_levels(table, group, levels):
    """Return the rows of some levels of a group (and those without one), these levels as written, and warnings."""
    labels = level_labels(table[group])
    found = order_levels(labels.dropna())
    chosen = list(dict.fromkeys(pick_level(level, found, group) for level in levels))
    left = [level for level in found if level not in chosen]
    shown = ", ".join(left[:10]) + (", ..." if len(left) > 10 else "")
    warnings = [f"Rows of other levels of {group} were left out: {shown}."] if left else []
    return table[labels.isin(chosen) | labels.isna()], chosen, warnings


def group_samples(table, value, group, pair):
    """Return label -> values of every usable group (rows aligned by pair when there is one), and warnings."""
    import pandas as pd

    table, warnings = complete_rows(table, [value, group, *([pair] if pair else [])])
    numbers, labels = numeric_values(table, value), level_labels(table[group])
    levels = order_levels(labels)
    if len(levels) > MOST_GROUPS:
        raise ValueError(
            f"Column {group!r} has {len(levels)} different values; expected at most {MOST_GROUPS} groups. Choose a "
            "column of groups, or use correlation or linear_regression for a measured quantity."
        )
    if not pair:
        samples = {level: numbers[labels == level].to_numpy() for level in levels}
        small = [level for level in levels if len(samples[level]) < 2]
        if small:
            warnings.append(f"Left out because a single value has no spread: {', '.join(small)} of {group}.")
        return {level: values for level, values in samples.items() if level not in small}, warnings, []
    tidy = pd.DataFrame({"pair": level_labels(table[pair]), "group": labels, "value": numbers})
    repeats = int(tidy.duplicated(["pair", "group"]).sum())
    if repeats:
        warnings.append(f"{repeats} repeated measurements of the same {pair} in the same group were averaged first.")
    wide = tidy.pivot_table(index="pair", columns="group", values="value", aggfunc="mean", sort=False)
    return {level: wide[level] for level in levels}, warnings, list(wide.index)


def group_contrasts(levels, group, treated, control):
    """Return the pairs of groups to compare as (first, second): first minus second, the control always second."""
    treated = pick_level(treated, levels, group) if treated else ""
    control = pick_level(control, levels, group) if control else ""
    if treated and treated == control:
        raise ValueError(f"Treated and control are both {treated!r}; expected two different levels of {group!r}.")
    if treated and not control:
        control = next(x for x in levels if x != treated) if len(levels) == 2 else likely_control(levels) or ""
        if not control or control == treated:
            raise ValueError(f"{group!r} has {len(levels)} levels ({', '.join(levels)}); name the control level too.")
    if treated:
        return [(treated, control)]
    if control:
        return [(level, control) for level in levels if level != control]
    first = likely_control(levels)
    ordered = [first, *(x for x in levels if x != first)] if first else levels
    return [(b, a) for i, a in enumerate(ordered) for b in ordered[i + 1 :]]


def comparison_figure(samples, value, group, unit, pairs):
    """Draw every group as a box with its values; lines join paired values."""
    import numpy as np

    figure, axis = new_axes(width=max(4.2, min(14, 1.1 * len(samples) + 2.2)))
    colours = palette(len(samples))
    rng = np.random.default_rng(0)
    places = {}
    for i, (_, x) in enumerate(samples.items()):
        axis.boxplot([x], positions=[i], widths=0.55, showfliers=False, medianprops={"color": "black"})
        shown = np.arange(len(x)) if pairs else rng.permutation(len(x))[:400]
        places[i] = i + (np.zeros(len(x)) if pairs else rng.uniform(-0.16, 0.16, len(x)))
        axis.scatter(places[i][shown], x[shown], s=16, color=colours[i], edgecolor="white", linewidth=0.4, zorder=3)
    if pairs and len(pairs) <= 100:
        for values in zip(*samples.values(), strict=True):
            axis.plot(range(len(samples)), values, color="0.7", linewidth=0.8, zorder=1)
    label_groups(axis, [f"{level}\nn = {len(x)}" for level, x in samples.items()], list(range(len(samples))))
    axis.set_xlabel(group)
    axis.set_ylabel(f"{value} ({unit})" if unit else value)
    return figure


def group_rows(samples):
    """Return a row of numbers for each group, the highest mean first."""
    import numpy as np

    rows = [
        {"group": level, "n": len(x), "mean": float(np.mean(x)), "sd": float(np.std(x, ddof=1)),
         "median": float(np.median(x)), "min": float(np.min(x)), "max": float(np.max(x))}
        for level, x in samples.items()
    ]  # fmt: skip
    return sorted(rows, key=lambda row: -row["mean"])


def against_control(levels, group, treated, control):
    """Return the control of Dunnett's comparisons, and warnings; none that is named or recognised raises ValueError."""
    chosen = pick_level(control, levels, group) if control else likely_control(levels)
    if not chosen:
        raise ValueError(
            f"Dunnett's test compares each group with a control, and none of {', '.join(levels[:10])} is called like "
            "one; name the control."
        )
    notes = [f"Dunnett's test compares all groups with {chosen}, not {treated} alone."] if treated else []
    return chosen, notes


def compare_rows(samples, contrasts, family, test, method):
    """Return the rows of the comparison table: the overall test when there is one, then each pair of groups."""
    import numpy as np

    paired = family in ("paired_t", "wilcoxon")
    names = {"welch": "Welch's t-test", "pooled": "Student's t-test", "rank": "Mann-Whitney U test",
             "paired_t": "paired t-test", "wilcoxon": "Wilcoxon signed-rank test"}  # fmt: skip
    several = len(samples) > 2
    rows = []
    if several or test in ("anova", "kruskal", "welch_anova"):
        rows.append(overall_test(samples, "friedman" if paired else family))
        rows[0]["p_adj"] = rows[0]["p_value"]
    if several and not paired:
        pair_rows = pooled_contrasts(samples, contrasts, family, method)
    else:
        kind = {"welch": "welch_t", "pooled": "student_t", "rank": "mann_whitney"}.get(family, family)
        run = paired_test if paired else independent_test
        suffix = f" ({'Bonferroni' if method == 'bonferroni' else 'Holm'})" if len(contrasts) > 1 else ""
        pair_rows = [
            run(samples[a], samples[b], kind) | {"group_1": a, "group_2": b, "test": names[family] + suffix}
            for a, b in contrasts
        ]
    for row in adjust_rows(pair_rows, method):
        for i, level in (("1", row["group_1"]), ("2", row["group_2"])):
            x = samples[level]
            row |= {f"n_{i}": len(x), f"mean_{i}": float(x.mean()), f"sd_{i}": float(x.std(ddof=1)),
                    f"median_{i}": float(np.median(x))}  # fmt: skip
        row["comparison"] = f"{row['group_1']} vs {row['group_2']}"
        row["n"] = row["n_1"] if paired else row["n_1"] + row["n_2"]
    return rows + sorted(pair_rows, key=lambda row: row["p_value"])


NO_EFFECT_DOSE = (
    r"(?:last|highest|largest|biggest)\s+(?:(?:dose|concentration|level)\s+)?"
    r"(?:with|that has|having|where there is)(?:out| no)\s+"
    r"(?:an?\s+|any\s+)?(?:significant\s+|clear\s+)?(?:effect|difference)"
)
FIRST_EFFECT_DOSE = (
    r"(?:lowest|smallest|first)\s+(?:(?:dose|concentration|level)\s+)?(?:with|that has|having|where there is)\s+"
    r"(?:an?\s+|any\s+)?(?:significant\s+|clear\s+)?(?:effect|difference)|"
    r"from\s+(?:what|which)\s+(?:dose|concentration)?[^.?!]{0,60}?\b(?:than|differ\w*|below|above)\b[^.?!]{0,30}\b(?:control|untreated|zero)"
)
"""The NOEC and the LOEC in plain words; names of columns may stand blank in them."""


@tool(
    name="compare_groups",
    title="Compare a measurement between groups",
    description=(
        "Test whether a measured value differs between two or more groups, independent or paired (before/after, same "
        "donor, litter mates). All tests are two-sided. With `auto`: Welch's t-test for two groups, one-way ANOVA "
        "with Tukey's HSD for more (Welch's ANOVA with Games-Howell when spreads differ), the paired t-test for pairs "
        "(Friedman and Wilcoxon for more than two conditions); rank tests (Mann-Whitney, Kruskal-Wallis with Dunn, "
        "Wilcoxon) when a group of fewer than 30 is clearly not normal (Shapiro-Wilk, p < 0.01). "
        "`post_hoc` names another correction: Tukey, Games-Howell, Dunnett (each group against the control), Holm, "
        "Bonferroni or Dunn. Differences are group_1 minus group_2; the "
        "control is always group_2. Gives the difference with its 95 % interval (simultaneous for Tukey, Games-Howell, "
        "Dunnett and Bonferroni's t-tests), an effect size, p-values adjusted for the number of "
        "comparisons (other intervals are not), and the assumptions."
    ),
    domain="statistics",
    task_type="analysis",
    methods=(
        "pair and test=auto and group:2 => paired t test (Wilcoxon's signed-rank test if fewer than 30 "
        "differences are clearly not normal), because each {pair} is measured in both groups",
        "pair and test=auto => Friedman test and Wilcoxon's signed-rank tests, because each {pair} is "
        "measured in every group",
        "pair and test=paired_t and group:2 => paired t test, because each {pair} is measured in both groups",
        "pair and test=paired_t => Friedman test and paired t tests, because each {pair} is measured in every group",
        "pair and test=wilcoxon|friedman|ranks and group:2 => Wilcoxon's signed-rank test, because each "
        "{pair} is measured in both groups",
        "pair and test=wilcoxon|friedman|ranks => Friedman test and Wilcoxon's signed-rank tests, because "
        "each {pair} is measured in every group",
        "post_hoc=dunnett => one-way ANOVA with Dunnett's comparisons with the control where there are "
        "more than two groups, because these comparisons are asked for",
        "post_hoc=tukey => one-way ANOVA with Tukey's comparisons where there are more than two groups, "
        "because these comparisons are asked for",
        "post_hoc=games_howell => Welch's ANOVA with Games-Howell comparisons where there are more than "
        "two groups, because these comparisons are asked for",
        "post_hoc=dunn => Kruskal-Wallis test with Dunn's comparisons where there are more than two "
        "groups, because these comparisons are asked for",
        "test=auto and group:2 => Welch's t test (Mann-Whitney if a group of fewer than 30 is clearly not "
        "normal), because two independent groups are compared by a measurement",
        "test=auto and group:3 and post_hoc=holm|bonferroni => one-way ANOVA, then pairs adjusted by "
        "{post_hoc} (Welch's ANOVA if spreads differ, Kruskal-Wallis if a group of fewer than 30 is "
        "clearly not normal), because several independent groups are compared by a measurement",
        "test=auto and group:3 and control => one-way ANOVA, then each group against {control}, adjusted "
        "by Holm (Welch's ANOVA if spreads differ, Kruskal-Wallis if a group of fewer than 30 is clearly "
        "not normal), because several independent groups are compared by a measurement",
        "test=auto and group:3 => one-way ANOVA with Tukey's comparisons (Welch's ANOVA if spreads differ, "
        "Kruskal-Wallis if a group of fewer than 30 is clearly not normal), because several independent "
        "groups are compared by a measurement",
        "test=auto => Welch's t test for two groups, one-way ANOVA for more (rank tests if a group of "
        "fewer than 30 is clearly not normal), because independent groups are compared by a measurement",
        "test=welch_t and group:2 => Welch's t test, because two independent groups are compared by a measurement",
        "test=welch_t|welch_anova => Welch's ANOVA and comparisons of pairs, because independent groups "
        "are compared by a measurement",
        "test=student_t and group:2 => Student's t test, because two independent groups are compared by a measurement",
        "test=student_t|anova => one-way ANOVA and comparisons of pairs, because independent groups are "
        "compared by a measurement",
        "group:2 => Mann-Whitney test, because two independent groups are compared by ranks",
        "Kruskal-Wallis test and comparisons of pairs, because independent groups are compared by ranks",
    ),
    complete=("value", "group", "pair"),
    matched="pair",
    inputs={"table": "table: one row a measurement, with a column of values and a column of groups"},
    outputs={
        "groups": "table: n, mean, SD and median of every compared group, the highest mean first",
        "comparison": "table: overall test and every pair of groups: means, difference, interval, p-values, effect",
        "assumptions": "table: normality, equal spread and the same question by another test",
        "comparison_plot": "figure: every group's values and box",
    },
    params={
        "value": param("The measured quantity", kind="column", of="table", role="measure"),
        "group": param(
            "The column that says which group a row belongs to",
            kind="column",
            of="table",
            role="group",
            distinct=MOST_GROUPS,
        ),
        "pair": param(
            "What makes rows belong together (donor, animal, subject); empty when rows are independent",
            kind="column",
            of="table",
            role="pair",
        ),
        "test": param(
            "Which test; auto chooses by design and data and says which it took",
            choices=[
                "auto",
                "welch_t",
                "student_t",
                "mann_whitney",
                "paired_t",
                "wilcoxon",
                "anova",
                "kruskal",
                "welch_anova",
                "friedman",
                "ranks",
            ],
            words=[
                "welch_anova: welch.{0,9}anova",
                "paired_t: paired (?:t|student)",
                "welch_t: welch|(?:unpaired |two.sample )?t.?tests?\\b",
                "student_t: student",
                "mann_whitney: mann.?whitney|rank.?sum|u.?test",
                "wilcoxon: wilcoxon|signed.?rank",
                "kruskal: kruskal",
                "friedman: friedman",
                "anova: one.?way anova|anova",
                "ranks: non.?param\\w*|rank tests?\\b|rank.?based|distribution.?free|"
                "(?<!not )(?<!n't )(?:(?:very|highly|strongly|quite|heavily|badly) )?skew(?:ed)?\\b|"
                "not (?:at all )?normal(?:ly)?\\b|non.?normal",
            ],
        ),
        "post_hoc": param(
            "Correction of the comparisons of more than two groups; auto takes the one that fits the test",
            choices=["auto", "tukey", "games_howell", "dunnett", "holm", "bonferroni", "dunn"],
            words=[
                "tukey: tukey|HSD\\b",
                "games_howell: games.{0,5}howell",
                "dunnett: dunn?ett?s?\\b|\\b[NL]OA?E[CL]s?\\b|(?:no|lowest) observed (?:adverse )?effect|"
                rf"{NO_EFFECT_DOSE}|{FIRST_EFFECT_DOSE}",
                "holm: (?:bonferroni.)?holm(?!.{0,3}[sš]id)",
                "bonferroni: bonfer+on+i",
                "dunn: dunn(?:['’]?s)?\\b",
            ],
        ),
        "treated": param("The group compared (group_1); empty for all", kind="level", of="group", role="interest"),
        "control": param(
            "The group compared against (group_2); empty to recognise or take the first",
            kind="level",
            of="group",
            role="reference",
            otherwise="first",
        ),
        "levels": param("Only these groups, in this order; empty for all", kind="texts", role="levels", of="group"),
        "log": param(
            "Compare logarithms: the ratio of geometric means in place of a difference of means",
            words=["true: log(?:10|2)?[- ]?(?:transform\\w*|scale)|logarithm\\w*|geometric means?"],
        ),
        "unit": param("Unit of the value, for the figure"),
    },
    checks=("tables_not_empty", "p_values_valid", "findings_match_tables", "group_differences_match_means"),
    keywords=(
        "t-test",
        "t test",
        "significant difference",
        "compare two groups",
        "treated versus control",
        "mean",
        "before and after",
        "paired",
        "ANOVA",
        "Tukey",
        "Mann-Whitney",
        "Wilcoxon",
        "rank sum",
        "Kruskal-Wallis",
        "Dunn",
        "post hoc",
        "Games-Howell",
        "Dunnett",
        "NOEC",
        "LOEC",
        "no observed effect concentration",
        "many-to-one comparison",
        "Bonferroni",
        "differ between",
        "higher in",
        "lower in",
        "effect size",
        "genotype",
        "dose groups",
        "species",
    ),
    citations=(
        Citation(
            title="The generalization of 'Student's' problem when several different population variances are involved",
            authors="Welch BL",
            year=1947,
            doi="10.1093/biomet/34.1-2.28",
        ),
        Citation(
            title="On a test of whether one of two random variables is stochastically larger than the other",
            authors="Mann HB, Whitney DR",
            year=1947,
            doi="10.1214/aoms/1177730491",
        ),
        Citation(
            title="Individual comparisons by ranking methods", authors="Wilcoxon F", year=1945, doi="10.2307/3001968"
        ),
        Citation(
            title="Use of ranks in one-criterion variance analysis",
            authors="Kruskal WH, Wallis WA",
            year=1952,
            doi="10.1080/01621459.1952.10483441",
        ),
        Citation(
            title="Multiple comparisons using rank sums",
            authors="Dunn OJ",
            year=1964,
            doi="10.1080/00401706.1964.10490181",
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
    ),
    repairs=[
        Repair(
            pattern="take independent groups|are of (?:ranks|means), and the test",
            change={"post_hoc": "auto"},
            why="that correction does not go with this design or test, so the one that does was used",
        ),
    ],
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
    packages=("scipy", "numpy", "pandas"),
    seconds=3.0,
    example="Does tooth length differ between guinea pigs given orange juice and ascorbic acid?",
    answers=["compare_groups", "compare_paired"],
    shows={
        "groups": ["group", "n", "mean", "sd", "median", "min", "max"],
        "comparison": [
            "comparison",
            "test",
            "estimate",
            "difference",
            "ratio",
            "lower_95",
            "upper_95",
            "ratio_lower_95",
            "ratio_upper_95",
            "p_value",
            "p_adj",
        ],
        "comparison_plot": [],
    },
    leads={
        "between the ends": ASKS_ENDS,
        "lowest": ASKS_LOWEST,
        "highest": rf"(?s)^(?!.*(?:\bNOE[CL]\b|{NO_EFFECT_DOSE}))(?:.*(?:{ASKS_HIGHEST}))",
        "noec_alone": rf"(?s)^(?!.*(?:\bLOE[CL]\b|{FIRST_EFFECT_DOSE})).*(?:\bNOE[CL]\b|{NO_EFFECT_DOSE})",
    },
)
def compare_groups(
    table,
    *,
    value: str,
    group: str,
    pair: str = "",
    test: str = "auto",
    post_hoc: str = "auto",
    treated: str = "",
    control: str = "",
    levels: list[str] = [],  # noqa: B006 - a plain default, never changed
    unit: str = "",
    log: bool = False,
):
    """Compare a measurement between groups."""
    import pandas as pd

    table = plain_table(table)
    require_columns(table, [value, group, *([pair] if pair else [])])
    warnings = []
    if test in ("paired_t", "wilcoxon", "friedman") and not pair:
        raise ValueError(f"The test {test!r} needs to know which rows belong together; name the pair column.")
    if pair and test not in ("auto", "paired_t", "wilcoxon", "friedman", "ranks"):
        warnings.append(f"The pairing by {pair} is not used: the test {test} takes all rows as independent.")
        pair = ""
    if levels:
        table, levels, notes = only_levels(table, group, levels)
        warnings += notes
    samples, notes, pairs = group_samples(table, value, group, pair)
    samples = {level: samples[level] for level in levels or samples if level in samples}
    warnings += notes
    if len(samples) < 2:
        raise ValueError(
            f"Column {group!r} has {len(samples)} group(s) with at least two values ({', '.join(samples) or 'none'}); "
            "expected two or more. Choose another grouping column."
        )
    # These corrections are of all groups together, also where only two of them are asked about.
    whole = post_hoc in ("tukey", "games_howell", "dunnett") and len(samples) > 2
    test, notes = post_hoc_test(post_hoc, test, bool(pair), 2 if treated and not whole else len(samples))
    warnings += notes
    if whole and post_hoc == "dunnett":
        control, notes = against_control(list(samples), group, treated, control)
        treated, warnings = "", warnings + notes
    contrasts = group_contrasts(list(samples), group, treated, control)
    if treated and not whole:
        left = [level for level in samples if level not in contrasts[0]]
        samples = {level: samples[level] for level in contrasts[0]}
        if left:
            warnings.append(f"Rows of other levels of {group} were left out: {', '.join(left)}.")
    if pair:
        wide = pd.DataFrame(samples)
        incomplete = wide.index[wide.isna().any(axis=1)].tolist()
        wide, pairs = wide.dropna(), [name for name in pairs if name not in set(incomplete)]
        if incomplete:
            named = ", ".join(incomplete[:10]) + (", ..." if len(incomplete) > 10 else "")
            warnings.append(f"{len(incomplete)} of {pair} lack a value in a group and were left out: {named}.")
        if len(wide) < 3:
            raise ValueError(
                f"Only {len(wide)} values of {pair!r} have a value in every compared group; expected at least 3. "
                "Check that the pair column names the same subject in each group, or leave it empty."
            )
        samples = {level: wide[level].to_numpy() for level in samples}
    if len({x for values in samples.values() for x in values}) == 1:
        raise ValueError(f"Every value of {value!r} is the same; nothing can differ. Choose another column.")
    measured = samples
    samples = logarithms(samples, value) if log else samples
    differences = samples[contrasts[0][0]] - samples[contrasts[0][1]] if pair and len(samples) == 2 else None
    assumptions, state = check_assumptions(samples, value, differences)
    family = choose_test(test, len(samples), bool(pair), state, samples)
    several = len(samples) > 2
    all_pairs = len(contrasts) == len(samples) * (len(samples) - 1) // 2
    method = {"tukey": "range", "games_howell": "range", "dunn": "holm"}.get(post_hoc, post_hoc)
    method = ("range" if all_pairs else "holm") if method == "auto" else method
    rows = compare_rows(samples, contrasts, family, test, method)
    rows = as_ratios(rows) if log else rows
    warnings += comparison_warnings(samples, family, state, pairs)
    pair_rows = [row for row in rows if row["group_1"]]
    called = dict.fromkeys(samples, pairs) if pair else sample_names(table, value, group, samples)

    def again(parts):
        contrast = contrasts if len(parts) == 2 else []
        return compare_rows(parts, contrast, family, test, method)[0] if contrast else overall_test(
            parts, "friedman" if pair else family)  # fmt: skip

    warnings += turning_rows(samples, called, again, value)
    if not several:
        extra, notes = second_opinion(samples, contrasts[0], family, pair_rows[0])
        assumptions, warnings = assumptions + extra, warnings + notes
    columns = ["comparison", "test", "group_1", "group_2", "n", "n_1", "n_2", "mean_1", "mean_2", "sd_1", "sd_2",
               "median_1", "median_2", "estimate", "difference", "lower_95", "upper_95", "statistic", "df", "df_2",
               "p_value", "p_adj", "effect_size", "effect_size_type"]  # fmt: skip
    columns += ["geometric_mean_1", "geometric_mean_2", "ratio", "ratio_lower_95", "ratio_upper_95"] if log else []
    findings = describe_thresholds(pair_rows, control, value, group) if whole and post_hoc == "dunnett" else []
    if rows[0]["comparison"] == "all groups":
        shown = f"the logarithm of {value}" if log else value
        findings.append(describe_groups(rows[0], pair_rows, group_rows(samples), shown, group))
    describe = describe_ratio if log else describe_pair
    findings += [describe(row, value, group, len(pair_rows) > 1) for row in pair_rows[:6]]
    if rows[0]["comparison"] == "all groups" and not log:
        findings += describe_ends(rows[0], pair_rows, group_rows(samples), value, group)
        findings += describe_between_ends(rows[0], pair_rows, group_rows(samples), value, group)
    return {
        "groups": pd.DataFrame(group_rows(measured)),
        "comparison": pd.DataFrame(rows).reindex(columns=columns),
        "assumptions": pd.DataFrame(assumptions or [{"check": "too few values to check", "group": "all",
                                                     "n": sum(len(x) for x in samples.values())}]),
        "comparison_plot": comparison_figure(measured, value, group, unit, pairs),
        "findings": findings,
        "warnings": warnings,
    }  # fmt: skip
