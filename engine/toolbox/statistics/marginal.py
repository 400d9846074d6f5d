"""Why apart: a coefficient compares with a reference level, but what is asked is each group's mean and which differ.

From any model that is linear on some scale: estimated marginal means (other factors count their levels equally, numbers
stand at their mean), the contrasts of all pairs of levels corrected for their number, simple contrasts within the
levels of an interacting factor, and differences in differences. Tools list `MARGINAL_HELPERS` among their helpers.

Source: Searle, Speed and Milliken (1980), Am. Stat. 34, 216; Lenth, the R package emmeans.
"""

from __future__ import annotations

from engine.toolbox.statistics.group_tests import range_adjusted
from engine.toolbox.statistics.post_hoc import adjust_rows, many_to_one
from engine.toolbox.tables.columns import (
    called_level,
    finding_values,
    format_number,
    format_p,
    left_open,
    level_labels,
    order_levels,
    which_differ,
)
from engine.toolbox.tables.wording import between, high_to_low, in_size, rate_base, rate_unit


def reference_grid(design, table, blocks, products):
    """Return a model's factors and the design rows that average over them.

    Args:
        design: the model's columns, among them `Intercept`.
        table: the rows of the model as they were read.
        blocks: predictor -> its columns in the design.
        products: column of an interaction -> the two columns it multiplies.

    Returns:
        A dict: `levels` (factor -> levels, the reference first; a number of two values is a factor), `held` (number ->
        its mean), `row` and `count` (functions of factor -> level: the averaged design row, the number of data rows).
    """
    import numpy as np
    import pandas as pd

    levels, held, values, labels = {}, {}, {}, {}
    for name, columns in blocks.items():
        labels[name] = level_labels(table[name]).to_numpy()
        block, dtype = design[columns].to_numpy(dtype=float), table[name].dtype
        found = order_levels(labels[name])
        if isinstance(dtype, pd.CategoricalDtype) and dtype.ordered:
            found = [str(level) for level in dtype.categories if str(level) in found]
        if columns == [name] and len(found) > 2:
            held[name] = float(block.mean())
            values[name] = {None: block.mean(axis=0)}
            continue
        rows = {level: block[np.flatnonzero(labels[name] == level)[0]] for level in found}
        levels[name] = sorted(found, key=lambda level: bool(rows[level].any()))
        values[name] = rows | {None: np.mean(list(rows.values()), axis=0)}

    def row(setting):
        cells = {"Intercept": 1.0}
        for name, columns in blocks.items():
            cells |= dict(zip(columns, values[name][setting.get(name)], strict=True))
        # Over a complete grid the mean of a product is the product of the means.
        cells |= {column: cells[a] * cells[b] for column, (a, b) in products.items()}
        return np.array([cells[column] for column in design.columns])

    def count(setting):
        return int(np.all([labels[name] == level for name, level in setting.items()], axis=0).sum())

    return {"levels": levels, "held": held, "row": row, "count": count}


def linear_estimate(row, model):
    """Return the estimate of a design row, its standard error and degrees of freedom.

    A model with degrees of freedom by column gives a row the smallest of those that it takes part in.
    """
    import numpy as np

    df = model["df"]
    if not np.isscalar(df):
        df = min(value for value, weight in zip(df, row, strict=True) if abs(weight) > 1e-9 * np.abs(row).max())
    se = float(np.sqrt(row @ model["covariance"] @ row))
    return float(row @ model["beta"]), se, float(df)


def back_to_scale(value, scale):
    """Return a value of the model's linear scale as a mean, a probability or a rate."""
    import math

    if scale == "mean":
        return value
    if scale == "rate":
        return math.exp(min(700.0, value))
    return 1 / (1 + math.exp(-max(-700.0, min(700.0, value))))


def marginal_means(grid, model, name, setting):
    """Return a row for each level of a factor: its marginal mean and 95 % interval, at `setting` of other factors."""
    from scipy import stats

    rows, scale = [], model["scale"]
    others = [other for other in grid["levels"] if other != name and other not in setting]
    for level in grid["levels"][name]:
        estimate, se, df = linear_estimate(grid["row"]({name: level, **setting}), model)
        half = float(stats.t.ppf(0.975, df)) * se
        low, high = (back_to_scale(estimate + sign * half, scale) for sign in (-1, 1))
        rows.append(
            {"factor": name, "level": level, "within": ", ".join(f"{a} = {b}" for a, b in setting.items()),
             "n": grid["count"]({name: level, **setting}), "mean": back_to_scale(estimate, scale), "lower_95": low,
             "upper_95": high, "estimate": estimate, "se": se, "df": df if df < float("inf") else float("nan"),
             "scale": scale, "averaged_over": ", ".join(others),
             "held": ", ".join(f"{key} = {format_number(mean, 4)} (mean)" for key, mean in grid["held"].items())}
        )  # fmt: skip
    return rows


def contrast_row(row, model):
    """Return the numbers of one contrast: estimate and error on the model's scale, effect, and unadjusted p-value."""
    from scipy import stats

    estimate, se, df = linear_estimate(row, model)
    t = estimate / se
    scale = model["scale"]
    return {
        "estimate": estimate, "se": se, "df": df, "statistic": t, "p_value": float(2 * stats.t.sf(abs(t), df)),
        "effect": estimate if scale == "mean" else back_to_scale(estimate, "rate"),
        "effect_type": {"mean": "difference", "rate": "rate ratio"}.get(scale, "odds ratio"),
    }  # fmt: skip


def with_interval(rows, critical, model):
    """Give rows of contrasts their 95 % intervals, from the critical value of each."""
    scale = "mean" if model["scale"] == "mean" else "rate"
    for row, value in zip(rows, critical, strict=True):
        ends = (back_to_scale(row["estimate"] + sign * float(value) * row["se"], scale) for sign in (-1, 1))
        row["lower_95"], row["upper_95"] = ends
        row["df"] = row["df"] if row["df"] < float("inf") else float("nan")
    return rows


def adjusted_contrasts(rows, contrasts, model, k, adjust):
    """Correct one family of contrasts for their number, and give their intervals; its name goes into `adjustment`."""
    import numpy as np
    from scipy import stats

    m, df = len(rows), [row["df"] for row in rows]
    critical = [stats.t.ppf(0.975, value) for value in df]
    if m == 1:
        adjust, label = "none", "none (one comparison)"
    elif adjust == "tukey":
        label = f"Tukey ({k} levels)"
        known = {value: stats.studentized_range.ppf(0.95, k, value) / np.sqrt(2) for value in set(df)}
        critical = [known[value] for value in df]
        for row in rows:
            row["p_adj"] = range_adjusted(row["statistic"], row["df"], k, row["p_value"], k * (k - 1) // 2)
    elif adjust == "dunnett":
        label = f"Dunnett ({m} comparisons)"
        covariance = np.array(contrasts) @ model["covariance"] @ np.array(contrasts).T
        errors = np.sqrt(np.diag(covariance))
        p, one = many_to_one([row["statistic"] for row in rows], covariance / np.outer(errors, errors), min(df))
        critical = [one] * m
        for row, value in zip(rows, p, strict=True):
            row["p_adj"] = float(value)
    else:
        label = f"{adjust.capitalize()} ({m} comparisons)"
        if adjust == "bonferroni":
            critical = [stats.t.isf(0.025 / m, value) for value in df]
    for row in adjust_rows(rows, adjust):
        row["adjustment"] = label
    return with_interval(rows, critical, model)


def pair_contrasts(grid, model, factor, cells, where="", adjust="tukey", control=""):
    """Return a row for each pair of settings of the factors (first minus second), or each against a control (Dunnett).

    Args:
        grid: the reference grid.
        model: coefficients, covariance, degrees of freedom and scale.
        factor: what the settings are of, for the rows.
        cells: label -> setting (factor -> level), the reference first.
        where: what is held for all of them, in words.
        adjust: correction for the number of pairs, which are one family.
        control: the label that Dunnett's test compares with.
    """
    if adjust == "dunnett":
        pairs = [(label, control) for label in cells if label != control]
    else:
        pairs = [(b, a) for i, a in enumerate(cells) for b in list(cells)[i + 1 :]]
    rows, contrasts = [], []
    means = {label: grid["row"](setting) for label, setting in cells.items()}
    for first, second in pairs:
        contrasts.append(means[first] - means[second])
        row = {"factor": factor, "comparison": f"{factor}: {first} vs {second}" + (f" ({where})" if where else ""),
               "within": where, "group_1": first, "group_2": second}  # fmt: skip
        for key, label in (("1", first), ("2", second)):
            value = back_to_scale(linear_estimate(means[label], model)[0], model["scale"])
            row |= {f"n_{key}": grid["count"](cells[label]), f"mean_{key}": value}
        rows.append(row | contrast_row(contrasts[-1], model))
    return adjusted_contrasts(rows, contrasts, model, len(cells), adjust)


def level_contrasts(grid, model, name, setting, adjust="tukey", control=""):
    """Return a row for each pair of levels of a factor (first minus second), or each against a control (Dunnett)."""
    cells = {level: {name: level, **setting} for level in grid["levels"][name]}
    where = ", ".join(f"{a} = {b}" for a, b in setting.items())
    return pair_contrasts(grid, model, name, cells, where, adjust, control)


def cell_contrasts(grid, model, names, adjust="tukey", controls=None):
    """Return a row for each pair of combinations of the levels of several factors, corrected as one family.

    Combinations without a row of data are left out. Dunnett's test compares with the one of all control levels.
    """
    import itertools

    settings = [dict(zip(names, levels, strict=True))
                for levels in itertools.product(*(grid["levels"][name] for name in names))]  # fmt: skip
    cells = {", ".join(setting.values()): setting for setting in settings if grid["count"](setting)}
    control = ", ".join((controls or {}).get(name, "") for name in names)
    if adjust == "dunnett" and control not in cells:
        raise ValueError("Dunnett's test of combinations needs a control level of every factor; use tukey or holm.")
    rows = pair_contrasts(grid, model, ":".join(names), cells, "", adjust, control)
    return [row | {"factors": len(names)} for row in rows]


def one_family(rows, adjust):
    """Correct p-values over all contrasts within the levels of a factor together (Holm, Bonferroni)."""
    if adjust in ("holm", "bonferroni") and len(rows) > 1:
        for row in rows:
            row.pop("p_adj", None)
        for row in adjust_rows(rows, adjust):
            row["adjustment"] = f"{adjust.capitalize()} ({len(rows)} comparisons)"


def named_like_time(name):
    """Say whether a factor's name says that it is a time or an occasion."""
    import re

    words = (
        "time|days?|weeks?|months?|years?|visit|period|phase|occasion|session|wave|when|post|after|hours?|tag|woche|"
        "monat|jahr|zeit|zeitpunkt|visite"
    )
    return re.search(rf"(?:^|[\W_])(?:{words})(?:$|[\W_\d])", name, re.IGNORECASE) is not None


def time_and_group(grid, first, second):
    """Return which of two factors of two levels is the change (over), which the group, and the change's two levels."""
    import re

    early = re.compile(r"(?:pre|bef|base|start|init|early|first)", re.IGNORECASE)
    late = re.compile(r"(?:post|after|follow|final|end|late|last)", re.IGNORECASE)

    def timed(name):
        levels = grid["levels"][name]
        by_level = any(early.match(x) for x in levels) and any(late.match(x) for x in levels)
        return by_level or named_like_time(name)

    # Where neither is a time, how the effect of the first named depends on the second is asked.
    over, group = (second, first) if timed(second) and not timed(first) else (first, second)
    a, b = grid["levels"][over]
    if (early.match(b) and not early.match(a)) or (late.match(a) and not late.match(b)):
        a, b = b, a
    return over, group, a, b, timed(over)


def difference_in_differences(grid, model, first, second):
    """Return the contrast row of a 2 x 2 interaction: the change in one group minus the change in the other.

    `mean_1` and `mean_2` are the changes (ratios on a scale of odds or rates) in `group_1` and `group_2`.
    """
    over, group, a, b, timed = time_and_group(grid, first, second)
    reference, other = grid["levels"][group]
    changes = [grid["row"]({group: x, over: b}) - grid["row"]({group: x, over: a}) for x in (other, reference)]
    scale = "mean" if model["scale"] == "mean" else "rate"
    row = {"factor": f"{group}:{over}", "comparison": f"{group}:{over}: difference in differences",
           "within": f"{'change' if timed else 'effect'} of {over} from {a} to {b}", "group_1": other,
           "group_2": reference, "of": group}  # fmt: skip
    for key, level, change in (("1", other, changes[0]), ("2", reference, changes[1])):
        row |= {f"n_{key}": grid["count"]({group: level}),
                f"mean_{key}": back_to_scale(linear_estimate(change, model)[0], scale)}  # fmt: skip
    if scale == "mean":  # what is left of 5 - 5 after a fit has a sign only by chance, and another on other machines
        spread = max(abs(row["mean_1"]), abs(row["mean_2"]))
        row |= {key: 0.0 for key in ("mean_1", "mean_2") if abs(row[key]) < 1e-9 * spread}
    contrast = changes[0] - changes[1]
    rows = adjusted_contrasts([row | contrast_row(contrast, model)], [contrast], model, 2, "none")
    kind = rows[0]["effect_type"]
    return rows[0] | {"effect_type": "difference in differences" if kind == "difference" else f"ratio of {kind}s"}


def marginal_tables(grid, model, interaction=(), adjust="tukey", controls=None, most=12):
    """Return the rows of marginal means and of contrasts of every factor of at most `most` levels.

    With an interaction of two such factors also those of the first within each level of the second, and where both
    have two levels their difference in differences. `controls` gives the factors that Dunnett's test is for.
    """
    means, contrasts = [], []
    fitting = [name for name, levels in grid["levels"].items() if 2 <= len(levels) <= most]
    settings = [(name, {}) for name in fitting]
    if interaction and set(interaction) <= set(fitting):
        settings += [(interaction[0], {interaction[1]: level}) for level in grid["levels"][interaction[1]]]
    for name, setting in settings:
        control = (controls or {}).get(name, "")
        kind = "tukey" if adjust == "dunnett" and not control else adjust
        means += marginal_means(grid, model, name, setting)
        contrasts += level_contrasts(grid, model, name, setting, kind, control)
    if len(settings) > len(fitting) and all(len(grid["levels"][name]) == 2 for name in interaction):
        contrasts.append(difference_in_differences(grid, model, *interaction))
    return means, contrasts


def contrast_frame(rows):
    """Return contrasts as a table with its columns in order, or None without any."""
    import pandas as pd

    order = ["factor", "comparison", "within", "group_1", "group_2", "n_1", "n_2", "mean_1", "mean_2", "effect",
             "effect_type", "lower_95", "upper_95", "estimate", "se", "df", "statistic", "p_value", "p_adj",
             "adjustment"]  # fmt: skip
    return pd.DataFrame(rows).reindex(columns=order) if rows else None


def describe_contrasts(rows, grid, what, most=3, per=""):
    """Return a finding for each of the clearest contrasts of one factor, its direction in words and the values first.

    Of rates `per` says per what: small ones are told per 1,000 of it.
    """
    findings = []
    for row in sorted(rows, key=lambda row: row["p_value"])[:most]:
        first, second = (called_level(row[key], row["factor"]) for key in ("group_1", "group_2"))
        adjusted = len(grid["levels"]) + len(grid["held"]) > row.get("factors", 1 + bool(row["within"]))
        subject = f"{'Adjusted ' if adjusted else ''}{what}"
        subject = subject[0].upper() + subject[1:]
        effect, means, clear = row["effect"], (row["mean_1"], row["mean_2"]), row["p_adj"] < 0.05
        differs, higher = row["effect_type"] == "difference", "higher" if row["estimate"] > 0 else "lower"
        size, interval = in_size(effect, row["lower_95"], row["upper_95"]) if differs and clear else (
            format_number(effect), f"95 % CI {format_number(row['lower_95'])} to {format_number(row['upper_95'])}"
        )  # fmt: skip
        if row["effect_type"] == "rate ratio":
            higher = f"{100 * abs(effect - 1):.3g} % {higher}"
        if row["effect_type"] == "rate ratio" and effect > 3:
            higher = f"{format_number(effect)} times as high"
        verdict = (
            f"is {higher} in {first} {'as' if higher.endswith('high') else 'than'} in {second}" if clear
            else f"is not shown to differ between {first} and {second}"
        )  # fmt: skip
        base = rate_base(means) if per else 1
        percent = row["effect_type"] == "odds ratio"
        ends = " against ".join(f"{100 * mean:.3g} %" if percent else format_number(base * mean) for mean in means)
        ends += rate_unit(per, base)
        corrected = "" if row["adjustment"].startswith("none") else f"{row['adjustment'].split(' (')[0]}-adjusted "
        where = f" where {row['within']}" if row["within"] else ""
        open_ = "" if clear else left_open(row["lower_95"], row["upper_95"], not differs, what="odds" if percent else (
            "anything"))  # fmt: skip
        scaled = {f"mean_{key} per {base}": base * mean for key, mean in zip("12", means, strict=True)}
        findings.append(
            {"text": f"{subject} {verdict}{where}: {ends}, {row['effect_type']} {size} ({interval}), {corrected}"
                     f"{format_p(row['p_adj'])}{open_}.",
             "values": finding_values(effect=(effect, row["lower_95"], row["upper_95"]), p_adj=row["p_adj"],
                                      mean_1=row["mean_1"], mean_2=row["mean_2"], n_1=row["n_1"], n_2=row["n_2"],
                                      **(scaled if base > 1 else {})),
             "output": "contrasts", "row": {"comparison": row["comparison"]}}
        )  # fmt: skip
    return findings


def describe_all_levels(rows, grid, what, p_value, per=""):
    """Return the finding on a factor of three levels or more: its means from high to low, and which of them differ.

    Args:
        rows: the contrasts of all pairs of its levels.
        grid: the reference grid.
        what: what a mean is called.
        p_value: of all levels together.
        per: what a rate is per.
    """
    factor = rows[0]["factor"]
    means = {row[f"group_{key}"]: row[f"mean_{key}"] for row in rows for key in ("1", "2")}
    base = rate_base(means.values()) if per else 1
    percent = rows[0]["effect_type"] == "odds ratio"
    told = high_to_low(means, factor, scale=100 if percent else base, unit=" %" if percent else "")
    subject = f"{'Adjusted ' if len(grid['levels']) + len(grid['held']) > 1 else ''}{what}"
    verdict = "differs" if p_value < 0.05 else "is not shown to differ"
    apart = which_differ([row | {"difference": row["estimate"]} for row in rows], factor)
    return {
        "text": f"{subject[0].upper()}{subject[1:]} {verdict} {between(factor)} ({format_p(p_value)}): "
                f"{told}{rate_unit(per, base)}; {apart} at an adjusted p below 0.05 "
                f"({rows[0]['adjustment'].split(' (')[0]}).",
        "values": finding_values(p_value=p_value, **{f"mean {level}": mean for level, mean in means.items()},
                                 **({f"mean {level} per {base}": base * mean for level, mean in means.items()}
                                    if base > 1 else {})),
        "output": "marginal_means", "row": {},
    }  # fmt: skip


def describe_change(row, what):
    """Return the finding of a difference in differences: which group changed more, by how much."""
    first, second = (called_level(row[key], row["of"]) for key in ("group_1", "group_2"))
    kind, _, over = row["within"].partition(" of ")
    ratio = row["effect_type"] != "difference in differences"
    sign = "" if ratio else "+"
    one, two = (sign * (row[key] > 0) + format_number(row[key]) for key in ("mean_1", "mean_2"))
    change = (
        f"The {row['effect_type'].removeprefix('ratio of ').removesuffix('s')} of {what} for {over}" if ratio
        else f"The change of {what} with {over}" if kind == "change"
        else f"The effect of {over} on {what}"
    )  # fmt: skip
    size = "" if ratio else f"{format_number(abs(row['effect']))} "
    higher = "higher" if row["estimate"] > 0 else "lower"
    verdict = (
        f"was {size}{higher} in {first} ({one}) than in {second} ({two})" if row["p_value"] < 0.05
        else f"is not shown to differ between {first} ({one}) and {second} ({two})"
    )  # fmt: skip
    text = (
        f"{change} {verdict}: {row['effect_type']} {format_number(row['effect'])} (95 % CI "
        f"{format_number(row['lower_95'])} to {format_number(row['upper_95'])}), {format_p(row['p_value'])}"
        f"{'' if row['p_value'] < 0.05 else left_open(row['lower_95'], row['upper_95'], ratio, what='differences')}."
    )
    values = finding_values(effect=(row["effect"], row["lower_95"], row["upper_95"]), p_value=row["p_value"],
                            mean_1=row["mean_1"], mean_2=row["mean_2"])  # fmt: skip
    return {"text": text, "values": values, "output": "contrasts", "row": {"comparison": row["comparison"]}}


def describe_each_change(rows, grid, test, over, group, what):
    """Return the finding on how far the effect of a factor of two levels, or a change over it, differs between groups.

    Args:
        rows: the contrasts of `over` within each level of `group`, one a level.
        grid: the reference grid.
        test: the joint test of the interaction.
        over: the factor of two levels.
        group: the factor of more than two.
        what: what was modelled.
    """
    a, b, timed = time_and_group(grid, over, over)[2:]
    ratio = rows[0]["effect_type"] != "difference"
    parts, values = [], {}
    for level, row in zip(grid["levels"][group], rows, strict=True):
        effect, low, high = row["effect"], row["lower_95"], row["upper_95"]
        if str(row["group_1"]) != str(b):
            effect, low, high = (1 / effect, 1 / high, 1 / low) if ratio else (-effect, -high, -low)
        sign = "+" if effect > 0 and not ratio else ""
        at = "at" if named_like_time(group) else "in"
        interval = f"95 % CI {format_number(low)} to {format_number(high)}"
        parts.append(f"{sign}{format_number(effect)} {at} {called_level(level, group)} ({interval})")
        values[f"effect {level}"] = (effect, low, high)
    kind = f"change of {what} from {over} {a} to {b}" if timed else f"effect of {over} ({b} minus {a}) on {what}"
    kind = f"{rows[0]['effect_type']} of {what} for {over} {b} against {a}" if ratio else kind
    clear = test["p_value"] < 0.05
    told = f"{', '.join(parts[:-1])} and {parts[-1]}; test of the interaction {format_p(test['p_value'])}."
    verdict = "differs" if clear else "is not shown to differ"
    text = f"The {kind} {verdict} between the {len(rows)} groups of {group}: {told}"
    if not timed and not ratio and named_like_time(group):
        ends = f"{called_level(b, over)} minus {called_level(a, over)}"
        verdict = "changes" if clear else "is not shown to change"
        text = f"The difference in {what}, {ends}, {verdict} over {group}: {told}"
    return {"text": text, "output": "contrasts", "values": finding_values(p_value=test["p_value"], **values)}


def each_change(contrasts, grid, tests, first, second, what):
    """Return the finding of `describe_each_change` in a list; [] unless a factor of two levels meets one of more."""
    levels = grid["levels"]
    rows = [row for row in contrasts if row["factor"] == first and row["within"]]
    test = next((test for test in tests if test["effect"] == f"{first}:{second}"), None)
    if test is None or len(levels.get(first, ())) != 2 or not 3 <= len(levels.get(second, ())) == len(rows) <= 8:
        return []
    return [describe_each_change(rows, grid, test, first, second, what)]


def marginal_findings(contrasts, grid, lead, noun, outcome, interacts, joint=None, per=""):
    """Return the findings of the factor asked about first: its adjusted means, or how its effect changes.

    Args:
        contrasts: the rows of contrasts.
        grid: the reference grid.
        lead: the first predictor; where it is no factor there is nothing to say.
        noun: what a mean is called, `mean weight` or `probability of death`.
        outcome: what was modelled.
        interacts: whether the model has an interaction, so that averages over it may mislead.
        joint: the p-value of all levels of the first predictor together, where the levels are to be told together.
        per: what a rate is per, where `noun` does not say it.
    """
    changes = [describe_change(row, outcome) for row in contrasts if "of" in row]
    rows = [row for row in contrasts if row["factor"] == lead and bool(row["within"]) == interacts]
    together = [describe_all_levels(rows, grid, noun, joint, per)] if joint is not None and len(rows) > 2 else []
    return changes or [*together, *describe_contrasts(rows, grid, noun, per=per)]
