"""Why apart: a meta-analysis has studies for rows, and each row brings its own precision.

What people have differs: an effect with its standard error, variance or interval, counts of two groups, or means, SDs
and ns. All become one effect and one variance a study (`study_effects`); the pooling knows nothing of where they are
from. The between-study variance is named with its estimator, because it decides the answer.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation, NextStep
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.registry import param, tool
from engine.toolbox.tables.columns import (
    GROUP_HELPERS,
    complete_rows,
    finding_values,
    format_number,
    format_p,
    level_labels,
    new_axes,
    numeric_values,
    palette,
    plain_table,
    require_columns,
)
from engine.toolbox.tables.rows import table_row


@check("pooled_effects_consistent")
def pooled_effects_consistent(step: StepOutputs) -> Iterator[Issue]:
    """A pooled effect lies in its interval among the studies' effects; weights of a model add up to 100 %."""
    pooled, studies = step.table("pooled"), step.table("studies")
    low, high = studies["effect"].min(), studies["effect"].max()
    slack = 1e-9 * max(1.0, abs(low), abs(high))
    for _, row in pooled.iterrows():
        if not row["lower_95"] <= row["estimate"] <= row["upper_95"]:
            message = f"{row['model']}: the interval does not contain the estimate {row['estimate']}."
            yield Issue(code="interval_without_estimate", severity="error", message=message, where="pooled")
        if not low - slack <= row["estimate"] <= high + slack:
            message = f"{row['model']}: the estimate {row['estimate']} lies outside the effects of the studies."
            yield Issue(code="pooled_outside_studies", severity="error", message=message, where="pooled")
    for name in ("weight_fixed", "weight_random"):
        if abs(studies[name].sum() - 100) > 1e-6:
            message = f"The weights in {name} add up to {studies[name].sum()} %, not to 100 %."
            yield Issue(code="weights_differ", severity="error", message=message, where="studies")


def name_words(name):
    """Return the words of a column name in lower case, parted at signs, humps and digits: meanA -> mean, a."""
    import re

    return re.findall(r"[a-z]+|[A-Z]+(?![a-z])|[A-Z][a-z]+|\d+", name) and [
        word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)
    ]


def effect_columns(table):
    """Return effect, error, lower and upper of the columns whose names say so, "" where none or several do."""
    import re

    patterns = {
        "effect": r"(yi|te|es|effect|effect size|estimate|estimates|effectsize|beta|coef|slope|smd|hedges "
        r"g|cohens? d|md|"
        r"mean difference|difference|ln ?(rr|or|hr|r)|log ?(rr|or|hr)|log (odds|risk|hazard|response) ratio|lnrr|g|d|"
        r"or|rr|hr|(odds|risk|hazard) ratio)",
        "error": r"(sei?|se .*|.* se|sem|std err(or)?|standard error|error|se[tm]e|vi|var|variance|v|.* "
        r"variance|.* var)",
        "lower": r"(lower|lcl|ll|low|ci lower|ci low|lower ci|ci lb|lb|lower 95|ci l|lci|lower limit)",
        "upper": r"(upper|ucl|ul|high|ci upper|ci high|upper ci|ci ub|ub|upper 95|ci u|uci|upper limit)",
    }
    found = {}
    for part, pattern in patterns.items():
        hits = [str(c) for c in table.columns if re.fullmatch(pattern, " ".join(name_words(str(c))))]
        found[part] = hits[0] if len(hits) == 1 else ""
    return found


def arm_columns(table, names):
    """Return the columns of two groups by their part, or {} when the names do not tell: the group named first is 1.

    Parts are event_1, total_1 (or rest_1, those without the event), or mean_1, sd_1, n_1, and the same with 2.
    A part is told by a word of the name (events, n, total, mean, sd) or by common letters (tpos/tneg/cpos/cneg,
    ai/bi/ci/di, m1i/sd1i/n1i).
    """
    import re

    columns = names or [str(column) for column in table.columns]
    folded = {re.sub(r"[^a-z0-9]", "", name.lower()): name for name in columns}
    for letters in (("ai", "bi", "ci", "di"), ("tpos", "tneg", "cpos", "cneg"), ("a", "b", "c", "d")):
        if all(letter in folded for letter in letters):
            parts = ("event_1", "rest_1", "event_2", "rest_2")
            return {part: folded[letter] for part, letter in zip(parts, letters, strict=True)}
    kinds = {"event": r"(events?|cases|deaths|died|dead|pos|positive|quit|responders?|e|x|ev|d|q)",
             "rest": r"(neg|negative|nonevents?|noevents?|alive|survivors|without)",
             "total": r"(n|total|totals|size|patients|subjects|t|ni)", "mean": r"(mean|means|m|avg|average|mi)",
             "sd": r"(sd|sds|std|sdi|stdev)"}  # fmt: skip
    found, arms = {}, []
    for name in columns:
        words = name_words(name)
        if len(words) == 1:  # qt, meanA written meana, sdt: the last letter is the group
            words = [words[0][:-1], words[0][-1]] if len(words[0]) > 1 else words
        if words and words[-1] == "i" and len(words) > 1:
            words = words[:-1]
        for kind, pattern in kinds.items():
            hits = [word for word in words if re.fullmatch(pattern, word)]
            if kind == "event" and any(re.fullmatch(kinds[other], word) for other in ("total", "mean", "sd", "rest")
                                       for word in words[:1]):  # fmt: skip
                continue
            if hits and len(words) > 1:
                at = words.index(hits[0])
                found[(kind, " ".join(words[:at] + words[at + 1 :]))] = name
                break
    for _, arm in [key for key in found if key[0] in ("event", "mean")]:  # `TB cases (vaccinated)` of `N vaccinated`
        wider = [k for k in found if k[0] in ("total", "rest", "sd") and set(k[1].split()) < set(arm.split())]
        if not any((other, arm) in found for other in ("total", "rest")):
            for other in wider:
                found[other[0], arm] = found.pop(other)
    for _, arm in found:
        parts = {k for k, a in found if a == arm}
        if arm not in arms and (parts >= {"mean", "sd", "total"} or (
                "mean" not in parts and "event" in parts and parts & {"total", "rest"})):  # fmt: skip
            arms.append(arm)
    control = {"c", "ctrl", "control", "controls", "con", "placebo", "p", "pbo", "ctl", "2"}
    arms = sorted(arms, key=lambda arm: arm in control)
    if len(arms) != 2:
        return {}
    return {
        f"{'n' if kind == 'total' and ('mean', arm) in found else kind}_{arms.index(arm) + 1}": name
        for (kind, arm), name in found.items()
        if arm in arms
    }


def given_effects(table, effect, error, lower, upper, error_is, scale):
    """Return effects, variances, what the effect is, whether it is a logarithm, and warnings."""
    import re

    import numpy as np

    warnings, words = [], " ".join(name_words(effect))
    y = numeric_values(table, effect)
    ratio = scale == "ratio" or (scale == "auto" and re.search(r"\b(or|rr|hr|irr|ratio)\b", words) and (y > 0).all()
                                 and not re.search(r"\b(log|ln)", words))  # fmt: skip
    log = bool(ratio or scale == "log" or (scale == "auto" and re.match(r"(log|ln)", words)))
    if ratio and (y <= 0).any():
        raise ValueError(f"Column {effect!r} is to hold ratios but has values of 0 or below; expected positive ones.")
    if ratio:
        warnings.append(f"{effect} was taken for a ratio and pooled as its logarithm; set scale to as_is otherwise.")
        y = np.log(y)
    if lower and upper:
        low, high = numeric_values(table, lower), numeric_values(table, upper)
        if ratio:
            if (low <= 0).any():
                raise ValueError(f"Column {lower!r} has limits of 0 or below; the interval of a ratio is positive.")
            low, high = np.log(low), np.log(high)
        if (low >= high).any() or (y < low).any() or (y > high).any():
            raise ValueError(f"In {int(((low >= high) | (y < low) | (y > high)).sum())} rows {effect!r} is not between "
                             f"{lower!r} and {upper!r}; expected lower limit, effect, upper limit.")  # fmt: skip
        warnings.append("Standard errors were taken from 95 % intervals: width / 3.92.")
        return y, ((high - low) / 3.919927969080108) ** 2, effect, log, warnings
    if not error:
        raise ValueError(
            f"Of the precision of {effect!r} nothing is named; expected a column of standard errors or variances, or "
            "two with the limits of the 95 % interval."
        )
    spread = numeric_values(table, error)
    if (spread <= 0).any():
        raise ValueError(
            f"Column {error!r} has {int((spread <= 0).sum())} values of 0 or below; expected positive standard errors "
            f"or variances. Is {error!r} the effect and {effect!r} its error?"
        )
    if error_is == "auto":
        variance = re.search(r"\b(vi?|var|variances?)\b", " ".join(name_words(error)))
        error_is = "variance" if variance else "standard_error"
        warnings.append(f"{error} was taken for {'variances' if variance else 'standard errors'} by its name.")
    if ratio:
        warnings.append(f"{error} was taken to be on the logarithmic scale, as ratios are reported.")
    return y, spread if error_is == "variance" else spread**2, effect, log, warnings


def count_effects(table, parts, measure):
    """Return log risk or odds ratios of group 1 against 2, variances and warnings (0.5 added where a count is 0)."""
    import numpy as np

    counts = {part: numeric_values(table, name) for part, name in parts.items()}
    for part, column in counts.items():
        if (column < 0).any() or ((column - column.round()).abs() > 1e-6).any():
            raise ValueError(f"Column {parts[part]!r} holds negative or fractional values; expected counts.")
    a, c = counts["event_1"], counts["event_2"]
    b, d = (counts[f"rest_{i}"] if f"rest_{i}" in counts else counts[f"total_{i}"] - counts[f"event_{i}"] for i in "12")
    if (b < 0).any() or (d < 0).any():
        raise ValueError(f"{int(((b < 0) | (d < 0)).sum())} rows have more events than subjects; check the totals.")
    warnings = []
    none = ((a + c) == 0) | ((b + d) == 0)
    empty = (a + b == 0) | (c + d == 0)
    if (none | empty).any():
        warnings.append(f"{int((none | empty).sum())} studies have no event, only events, or an empty group in both "
                        "groups and say nothing of a ratio; they were left out.")  # fmt: skip
    zero = (a == 0) | (b == 0) | (c == 0) | (d == 0)
    if (zero & ~none & ~empty).any():
        warnings.append(
            f"0.5 was added to the counts of {int((zero & ~none & ~empty).sum())} studies with a count of 0."
        )
    with np.errstate(all="ignore"):
        a, b, c, d = (count + 0.5 * zero for count in (a, b, c, d))
        if measure == "odds_ratio":
            y, v = np.log(a * d / (b * c)), 1 / a + 1 / b + 1 / c + 1 / d
        else:
            y, v = np.log(a / (a + b) / (c / (c + d))), 1 / a - 1 / (a + b) + 1 / c - 1 / (c + d)
    return y.where(~(none | empty)), v.where(~(none | empty)), warnings


def mean_effects(table, parts, measure):
    """Return Hedges g (exact correction, large-sample variance) or mean differences, group 1 minus 2; variances."""
    import numpy as np
    from scipy.special import gammaln

    m1, s1, n1, m2, s2, n2 = (numeric_values(table, parts[f"{key}_{i}"]) for i in "12" for key in ("mean", "sd", "n"))
    if (s1 <= 0).any() or (s2 <= 0).any() or (n1 < 2).any() or (n2 < 2).any():
        raise ValueError("A standard deviation is 0 or below or a group has fewer than 2 subjects; expected positive "
                         "SDs and at least 2 subjects a group.")  # fmt: skip
    if measure == "mean_difference":
        return m1 - m2, s1**2 / n1 + s2**2 / n2, []
    df = n1 + n2 - 2
    correction = np.exp(gammaln(df / 2) - np.log(np.sqrt(df / 2)) - gammaln((df - 1) / 2))
    g = correction * (m1 - m2) / np.sqrt(((n1 - 1) * s1**2 + (n2 - 1) * s2**2) / df)
    return g, 1 / n1 + 1 / n2 + g**2 / (2 * (n1 + n2)), []


def dersimonian_laird(y, v):
    """Return tau2 by the method of moments of DerSimonian and Laird (1986), 0 where it is negative."""
    w = 1 / v
    q = (w * (y - (w * y).sum() / w.sum()) ** 2).sum()
    return max(0.0, float((q - (len(y) - 1)) / (w.sum() - (w**2).sum() / w.sum())))


def restricted_likelihood(y, v):
    """Return tau2 by restricted maximum likelihood (Viechtbauer 2005): the best root of the likelihood's slope, or 0.

    Few studies can have several maxima, one of them at 0; climbing from one start ends in any of them.
    """
    import numpy as np
    from scipy.optimize import brentq

    unit = float(v.mean())  # so that what counts as 0 does not depend on the unit of the effect
    y, v = y / unit**0.5, v / unit

    def slope(tau2):
        w = 1 / (v + tau2)
        residual = y - (w * y).sum() / w.sum()
        return float((w**2 * residual**2).sum() - w.sum() + (w**2).sum() / w.sum())

    def likelihood(tau2):
        w = 1 / (v + tau2)
        mean = (w * y).sum() / w.sum()
        return float(np.log(w).sum() - np.log(w.sum()) - (w * (y - mean) ** 2).sum()) / 2

    top = 4 * float(y.var(ddof=1) + v.max())
    grid = [0.0, *np.geomspace(1e-8 * top, top, 200)]
    rising = [slope(tau2) > 0 for tau2 in grid]
    ends = [0.0] if not rising[0] else []
    turns = [n for n in range(len(grid) - 1) if rising[n] and not rising[n + 1]]
    ends += [brentq(slope, grid[n], grid[n + 1], xtol=1e-14) for n in turns]
    return max(ends, key=likelihood) * unit


def tau2_interval(y, v):
    """Return the 95 % interval of tau2 by Q-profile (Viechtbauer 2007)."""
    from scipy import stats
    from scipy.optimize import brentq

    def q(tau2):
        w = 1 / (v + tau2)
        return float((w * (y - (w * y).sum() / w.sum()) ** 2).sum())

    limits = []
    for share in (0.975, 0.025):
        wanted, top = stats.chi2.ppf(share, len(y) - 1), float(max(v.max(), y.var(ddof=1), 1e-300))
        while q(top) > wanted:
            top *= 2
        limits.append(brentq(lambda t, wanted=wanted: q(t) - wanted, 0, top, xtol=1e-14) if q(0) > wanted else 0.0)
    return limits[0], limits[1]


def pool(y, v, tau2):
    """Return the weighted mean and its standard error for a given tau2."""
    w = 1 / (v + tau2)
    return float((w * y).sum() / w.sum()), float(w.sum() ** -0.5)


def pooled_rows(y, v, tau2_dl, tau2_reml):
    """Return the rows of the pooled table: fixed, DerSimonian-Laird, REML, and REML with Hartung-Knapp's error."""
    import numpy as np
    from scipy import stats

    rows, k = [], len(y)
    for model, tau2 in (("fixed effect (inverse variance)", 0.0), ("random effects (DerSimonian-Laird)", tau2_dl),
                        ("random effects (REML)", tau2_reml), ("random effects (REML), "
                                                               "Hartung-Knapp", tau2_reml)):  # fmt: skip
        mean, se = pool(y, v, tau2)
        score, critical = mean / se, stats.norm.ppf(0.975)
        p_value = 2 * stats.norm.sf(abs(score))
        if "Hartung" in model:
            w = 1 / (v + tau2)
            se *= float(np.sqrt((w * (y - mean) ** 2).sum() / (k - 1)))
            if se < 1e-9 * w.sum() ** -0.5:  # studies that agree to the last digit leave no scatter to go by
                continue
            score, critical = mean / se, stats.t.ppf(0.975, k - 1)
            p_value = 2 * stats.t.sf(abs(score), k - 1)
        row = {"model": model, "studies": k, "estimate": mean, "se": se, "lower_95": mean - critical * se,
               "upper_95": mean + critical * se, "statistic": score, "p_value": float(p_value)}  # fmt: skip
        if "random" in model:
            row["tau2"] = tau2
            if k >= 3 and "Hartung" not in model:
                half = stats.t.ppf(0.975, k - 2) * np.sqrt(tau2 + se**2)
                row |= {"prediction_lower": mean - half, "prediction_upper": mean + half}
        rows.append(row)
    return rows


def heterogeneity_row(y, v, tau2, method):
    """Return Q with its test, tau2 with its interval, and I2 and H2 that follow from tau2 (as in metafor)."""
    from scipy import stats

    w, k = 1 / v, len(y)
    q = float((w * (y - (w * y).sum() / w.sum()) ** 2).sum())
    typical = float((k - 1) * w.sum() / (w.sum() ** 2 - (w**2).sum()))
    low, high = tau2_interval(y, v)
    share = [100 * t / (t + typical) for t in (tau2, low, high)]
    return {"heterogeneity": method, "studies": k, "Q": q, "df": k - 1, "p_value": float(stats.chi2.sf(q, k - 1)),
            "tau2": tau2, "tau2_lower_95": low, "tau2_upper_95": high, "tau": tau2**0.5, "I2": share[0],
            "I2_lower_95": share[1], "I2_upper_95": share[2], "H2": tau2 / typical + 1}  # fmt: skip


def egger_test(y, v):
    """Return Egger's regression (effect / se on 1 / se): intercept, its error, t and p, or None."""
    import numpy as np
    from scipy import stats

    se = np.sqrt(v)
    if len(y) < 4 or np.ptp(1 / se) < 1e-9 * (1 / se).max():
        return None
    fit = stats.linregress(1 / se, y / se)
    if not fit.intercept_stderr > 0:
        return None
    t = fit.intercept / fit.intercept_stderr
    return {"intercept": float(fit.intercept), "se": float(fit.intercept_stderr), "t": float(t), "df": len(y) - 2,
            "p_value": float(2 * stats.t.sf(abs(t), len(y) - 2))}  # fmt: skip


def forest_figure(studies, row, name, log):
    """Draw every study with its interval (square by weight), the pooled diamond and the prediction interval."""
    import numpy as np

    shown = studies.iloc[::-1].reset_index(drop=True)
    figure, axis = new_axes(width=7.6, height=max(3.0, min(20, 0.3 * len(shown) + 1.9)))
    back = np.exp if log else (lambda x: x)
    colour = palette(2)
    for i, study in shown.iterrows():
        axis.plot(back([study["lower_95"], study["upper_95"]]), [i, i], color="0.35", linewidth=1)
        axis.scatter(back(study["effect"]), i, s=12 + 4 * study["weight_random"], marker="s", color=colour[0], zorder=3)
    left, right, y = *back(np.array([row["lower_95"], row["upper_95"]])), -1.4
    axis.fill([left, back(row["estimate"]), right, back(row["estimate"])], [y, y + 0.35, y, y - 0.35], color=colour[1])
    ticks, labels = [*range(len(shown)), y], [*(str(text)[:40] for text in shown["study"]), row["model"]]
    if "prediction_lower" in row:
        axis.plot(
            back(np.array([row["prediction_lower"], row["prediction_upper"]])),
            [y - 1, y - 1],
            color=colour[1],
            linewidth=3,
        )
        ticks, labels = [*ticks, y - 1], [*labels, "95 % prediction interval"]
    axis.axvline(back(0.0), color="0.6", linewidth=0.9, linestyle="--")
    axis.set_yticks(ticks, labels, fontsize=8)
    axis.set_ylim(y - 1.7, len(shown) - 0.4)
    if log:
        axis.set_xscale("log")
        axis.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axis.xaxis.set_minor_formatter(lambda value, _: "")
    for i, study in shown.iterrows():
        texts = [format_number(float(back(study[key]))) for key in ("effect", "lower_95", "upper_95")]
        axis.text(
            1.02,
            i,
            f"{texts[0]} [{texts[1]}, {texts[2]}]",
            transform=axis.get_yaxis_transform(),
            fontsize=8,
            va="center",
        )
    texts = [format_number(float(back(row[key]))) for key in ("estimate", "lower_95", "upper_95")]
    axis.text(1.02, y, f"{texts[0]} [{texts[1]}, {texts[2]}]", transform=axis.get_yaxis_transform(), fontsize=8,
              va="center", fontweight="bold")  # fmt: skip
    axis.set_xlabel(f"{name} (95 % CI{', log scale' if log else ''})")
    return figure


def funnel_figure(studies, row, name):
    """Draw every study's effect against its standard error, with the region around the pooled effect."""
    figure, axis = new_axes()
    top = 1.08 * float(studies["se"].max())
    middle = row["estimate"]
    axis.fill([middle, middle - 1.96 * top, middle + 1.96 * top], [0, top, top], color="0.92", zorder=0)
    axis.axvline(middle, color="0.5", linestyle="--", linewidth=0.9)
    axis.scatter(
        studies["effect"], studies["se"], s=22, color=palette(1)[0], edgecolor="white", linewidth=0.4, zorder=3
    )
    axis.set_ylim(top, 0)
    axis.set_xlabel(name)
    axis.set_ylabel("standard error (small studies below)")
    return figure


def study_names(table, study):
    """Return a name for every row: the column given, the one called study, author, trial or paper, else numbers."""
    import re

    import pandas as pd

    if not study:
        hits = [str(c) for c in table.columns if re.search(
            r"^(study|stud|slab|trial|author|paper|lab|cohort|publication|"
                r"experiment|site|farm)", str(c), re.I)]  # fmt: skip
        study = next((c for c in hits if not pd.api.types.is_numeric_dtype(table[c])), hits[0] if hits else "")
    if not study:
        return pd.Series([f"row {i + 1}" for i in range(len(table))], index=table.index), ""
    labels = level_labels(table[study])
    labels = labels.where(labels.notna(), pd.Series([f"row {i + 1}" for i in range(len(table))], index=table.index))
    repeat = labels.groupby(labels).cumcount()
    return labels.where(repeat == 0, labels + " (" + (repeat + 1).astype(str) + ")"), study


def study_effects(table, effect, error, lower, upper, arms, measure, error_is, scale):
    """Return effects, variances, the effect's name, whether it is a logarithm, and warnings."""
    own, every = effect_columns(table), arm_columns(table, [])
    named = [name for name in (effect, error, lower, upper) if name]
    require_columns(table, [*named, *arms])
    parts = (arm_columns(table, arms) or every) if arms else {} if effect and effect not in every.values() else every
    if parts and set(named) & set(parts.values()):
        effect = error = lower = upper = ""
    if effect and effect in (own["error"], own["lower"], own["upper"]) and own["effect"]:
        effect, error, lower, upper = own["effect"], own["error"], own["lower"], own["upper"]
        error = "" if lower in named or upper in named else error
    if arms and not parts:
        raise ValueError(
            f"From the names {', '.join(arms)} it is not clear which column is what; expected names such as "
            f"events_1, n_1, "
            "events_2, n_2, or mean_1, sd_1, n_1, mean_2, sd_2, n_2. Rename them."
        )
    if not effect and (not own["effect"] or (not own["error"] and not own["lower"] and not error)) and parts:
        require_columns(table, parts.values())
        table, warnings = complete_rows(table, list(parts.values()))
        said = ", ".join(
            f"{part.replace('_', ' of group ')}: {name}" for part, name in sorted(parts.items(), key=lambda p: p[0][-1])
        )
        warnings.append(f"The columns were taken as {said}; effects are group 1 against group 2.")
        if "mean_1" in parts:
            if measure not in ("auto", "hedges_g", "mean_difference"):
                raise ValueError(
                    f"{measure} needs counts, but the columns hold means; take hedges_g or mean_difference."
                )
            measure = "hedges_g" if measure == "auto" else measure
            y, v, notes = mean_effects(table, parts, measure)
            return (
                table,
                y,
                v,
                {"hedges_g": "Hedges g", "mean_difference": "mean difference"}[measure],
                False,
                warnings + notes,
            )
        if measure not in ("auto", "risk_ratio", "odds_ratio"):
            raise ValueError(
                f"{measure} needs means and SDs, but the columns hold counts; take risk_ratio or odds_ratio."
            )
        measure = "risk_ratio" if measure == "auto" else measure
        y, v, notes = count_effects(table, parts, measure)
        return table, y, v, measure.replace("_", " "), True, warnings + notes
    effect = effect or own["effect"]
    if not effect:
        raise ValueError(
            "The table has no column that is clearly the effect of a study; expected an effect with its standard "
            "error, or "
            "events and totals of two groups, or their means, SDs and ns. Name the columns."
        )
    if not error and not (lower and upper):
        error, lower, upper = own["error"], own["lower"], own["upper"]
        error = "" if error == effect else error
        lower, upper = ("", "") if error else (lower, upper)
    chosen = [name for name in (effect, error, lower, upper) if name]
    require_columns(table, chosen)
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"The same column serves twice ({', '.join(chosen)}); expected different columns.")
    table, warnings = complete_rows(table, chosen)
    y, v, name, log, notes = given_effects(table, effect, error, lower, upper, error_is, scale)
    return table, y, v, name, log, warnings + notes


@tool(
    name="meta_analysis",
    title="Meta-analysis of several studies",
    description=(
        "Combine the effects of several studies, one row a study: fixed effect (inverse variance) and random "
        "effects with the "
        "between-study variance by REML and by DerSimonian-Laird, Hartung-Knapp's interval, Q, I2, tau2 with its "
        "interval, "
        "a 95 % prediction interval, Egger's test, each study left out in turn, forest plot and funnel plot. "
        "From an effect with "
        "standard error, variance or 95 % interval; from events and totals of two groups (log risk ratio or odds "
        "ratio); or "
        "from means, SDs and ns (Hedges g or mean difference). Studies are independent."
    ),
    domain="statistics",
    task_type="analysis",
    answers=["meta_analysis"],
    inputs={"table": "table: one row a study"},
    outputs={
        "pooled": "table: the pooled effect by each model, with interval, p-value and prediction interval",
        "heterogeneity": "table: Q, I2, tau2 with intervals",
        "studies": "table: effect, standard error, interval, weights of each study, and the pooled effect without it",
        "egger": "table: Egger's test of small studies",
        "forest_plot": "figure: studies and the pooled effect",
        "funnel_plot": "figure: effects against standard errors",
    },
    optional_outputs=("egger",),
    params={
        "effect": param(
            "Effect of each study; empty to recognise it", kind="column", of="table", role="y",
            called=r"(log ?|ln ?|l)?(or|rr|hr|irr|rd|md|smd|es|te)( .*)?|yi|effect( size| estimate)?|estimate|beta|"
            r"hedges g|(log |ln )?(odds|risk|hazard|rate|response) ratio( .*)?|cohens? d|mean difference",
        ),
        "error": param(
            "Column with its standard error or variance", kind="column", of="table", role="y",
            called=r"sei?( .*)?|.* sei?|std err(or)?|standard error|vi|var(iance)?( .*)?|.* var(iance)?",
        ),
        "lower": param("Column with the lower 95 % limit", kind="column", of="table", role="measures"),
        "upper": param("Column with the upper 95 % limit", kind="column", of="table", role="measures"),
        "arms": param(
            "Columns of two groups: events and totals, or means, SDs and ns (recognised by their names)",
            kind="columns", of="table", role="measures", least=4, most=6,
            called=r"(.* )?(events?|cases|deaths|died|dead|positive|responders?|n|totals?|mean|sd|tpos|tneg|cpos|cneg)"
            r"( .*)?",
            instead_of=["effect", "error", "lower", "upper"],
        ),
        "study": param(
            "Column that names the studies", kind="column", of="table", role="anything",
            called=r"(study|studies|trial|author|authors|paper|publication)( .*)?",
        ),
        "model": param(
            "Which model answers; the others stand in the table",
            choices=["reml", "dersimonian_laird", "fixed"],
            words=["dersimonian_laird: dersimonian|\\bDL\\b", "fixed: fixed.effects?|common.effect", "reml: reml"],
        ),
        "measure": param(
            "Effect computed from two groups",
            choices=["auto", "risk_ratio", "odds_ratio", "hedges_g", "mean_difference"],
            words=["odds_ratio: odds|(?-i:\\bOR\\b)", "risk_ratio: risk ratios?|relative risk|(?-i:\\bRR\\b)",
                   "mean_difference: mean.differences?|raw differences?", "hedges_g: hedges|standardi[sz]ed|\\bSMD\\b"],
        ),
        "error_is": param(
            "What the column of errors holds; auto by its name",
            choices=["auto", "standard_error", "variance"],
            words=["variance: variances?\\b(?! be)", "standard_error: standard errors?|\\bSEs?\\b"],
        ),
        "scale": param(
            "Scale of the effect: auto by its name, ratios are pooled as logarithms",
            choices=["auto", "as_is", "log", "ratio"], words=["auto: by its name"],
        ),
    },
    checks=("tables_not_empty", "p_values_valid", "findings_match_tables", "pooled_effects_consistent"),
    keywords=(
        "meta-analysis", "pooled effect", "forest plot", "funnel plot", "random effects", "fixed effect",
        "heterogeneity",
        "I2", "tau2", "DerSimonian-Laird", "REML", "Egger's test", "publication bias", "systematic review", "metafor",
        "prediction interval of studies", "all studies together",
    ),
    citations=(
        Citation(title="Meta-analysis in clinical trials", authors="DerSimonian R, Laird N", year=1986,
                 doi="10.1016/0197-2456(86)90046-2"),
        Citation(title="Bias and efficiency of meta-analytic variance estimators in the random-effects model",
                 authors="Viechtbauer W", year=2005, doi="10.3102/10769986030003261"),
        Citation(title="A re-evaluation of random-effects meta-analysis", authors="Higgins JPT, Thompson SG, "
            "Spiegelhalter DJ",
                 year=2009, doi="10.1111/j.1467-985X.2008.00552.x"),
        Citation(title="Bias in meta-analysis detected by a simple, graphical test",
                 authors="Egger M, Davey Smith G, Schneider M, Minder C", year=1997, doi="10.1136/bmj.315.7109.629"),
    ),
    packages=("scipy", "numpy", "pandas"),
    seconds=3.0,
    example="Pool the log odds ratios of the trials with their standard errors and draw a forest plot.",
    next_steps=(
        NextStep(text="Look for what sets the studies with the largest and smallest effects in {rows} apart "
                      "(dose, species, "
                      "region) before reading the pooled effect as one truth."),
    ),
    helpers=(*GROUP_HELPERS, name_words, effect_columns, arm_columns, given_effects, count_effects, mean_effects,
             dersimonian_laird, restricted_likelihood, tau2_interval, pool, pooled_rows, heterogeneity_row, egger_test,
             forest_figure, funnel_figure, study_names, study_effects, table_row),
)  # fmt: skip
def meta_analysis(
    table,
    *,
    effect: str = "",
    error: str = "",
    lower: str = "",
    upper: str = "",
    arms: list[str] = [],  # noqa: B006 - a plain default, never changed
    study: str = "",
    model: str = "reml",
    measure: str = "auto",
    error_is: str = "auto",
    scale: str = "auto",
):
    """Combine the effects of several studies."""
    import numpy as np
    import pandas as pd

    table = plain_table(table)
    if study:
        require_columns(table, [study])
    table, y, v, name, log, warnings = study_effects(table, effect, error, lower, upper, arms, measure, error_is, scale)
    labels, called = study_names(table, study)
    known = (y.notna() & v.notna()).to_numpy()
    y, v, labels = y[known].to_numpy(), v[known].to_numpy(), labels[known].to_numpy()
    if len(y) < 2:
        raise ValueError(f"Only {len(y)} studies have an effect and its precision; expected at least 2 to combine.")
    named = list(level_labels(table[called][known]).dropna()) if called else []
    if called and len(set(named)) < len(named):
        warnings.append(f"Some values of {called} have several rows; they were pooled as independent studies, "
                        f"which makes the "
                        "interval too narrow if they share subjects.")  # fmt: skip
    tau2_dl, tau2_reml = dersimonian_laird(y, v), restricted_likelihood(y, v)
    rows = pooled_rows(y, v, tau2_dl, tau2_reml)
    at = {"fixed": 0, "dersimonian_laird": 1, "reml": 2}[model]
    chosen, tau2 = rows[at], [0.0, tau2_dl, tau2_reml][at]
    method = "DerSimonian-Laird" if model == "dersimonian_laird" else "REML"
    spread = heterogeneity_row(y, v, tau2_dl if model == "dersimonian_laird" else tau2_reml, method)
    without = []
    for i in range(len(y)):
        rest, part = np.delete(y, i), np.delete(v, i)
        own = {"fixed": lambda *_: 0.0, "dersimonian_laird": dersimonian_laird, "reml": restricted_likelihood}[model]
        without.append(pool(rest, part, own(rest, part) if len(rest) > 1 else 0.0)[0])
    se = np.sqrt(v)
    weights = [100 / (v + t) / (1 / (v + t)).sum() for t in (0.0, tau2 if model != "fixed" else tau2_reml)]
    studies = pd.DataFrame({"study": labels, "effect": y, "se": se, "lower_95": y - 1.959964 * se,
                            "upper_95": y + 1.959964 * se, "weight_fixed": weights[0], "weight_random": weights[1],
                            "pooled_without": without})  # fmt: skip
    if log:
        chosen_ratio = [float(np.exp(chosen[key])) for key in ("estimate", "lower_95", "upper_95")]
        for row in rows:
            row |= {"ratio": np.exp(row["estimate"]), "ratio_lower_95": np.exp(row["lower_95"]),
                    "ratio_upper_95": np.exp(row["upper_95"])}  # fmt: skip
    pooled, table_spread = pd.DataFrame(rows), pd.DataFrame([spread])
    texts = [format_number(chosen[key]) for key in ("estimate", "lower_95", "upper_95")]
    number = f"{texts[0]} (95 % CI {texts[1]} to {texts[2]})"
    if log:
        shown = [format_number(value) for value in chosen_ratio]
        plain = name if name in ("risk ratio", "odds ratio") else f"as a ratio (exp of {name})"
        number = f"{shown[0]} (95 % CI {shown[1]} to {shown[2]}; logarithm {texts[0]}, {texts[1]} to {texts[2]})"
        name_said = plain
    else:
        name_said = name
    clear = chosen["p_value"] < 0.05
    direction = ("above" if chosen["estimate"] > 0 else "below") + (" 1" if log else " 0")
    verdict = f"is {direction} on average" if clear else f"is not shown to differ from {1 if log else 0} on average"
    findings = [
        {"text": f"Taken together, the effect of the {len(y)} studies {verdict}: {name_said} {number}, "
                 f"{format_p(chosen['p_value'])}, {chosen['model']}.",
         "values": finding_values(estimate=(chosen["estimate"], chosen["lower_95"], chosen["upper_95"]),
                                  se=chosen["se"],
                                  p_value=chosen["p_value"], ratio=chosen.get("ratio")),
         "output": "pooled", "row": table_row(pooled, model=chosen["model"])},
        {"text": ("The studies contradict each other more than chance explains" if spread["p_value"] < 0.05 else
                  "The studies do not differ clearly more than chance explains")
                 + f": I2 = {spread['I2']:.1f} % (95 % CI {spread['I2_lower_95']:.1f} to "
                   f"{spread['I2_upper_95']:.1f} %), tau2 = "
                 f"{format_number(spread['tau2'])} ({method}), Q = {spread['Q']:.2f} on {spread['df']} degrees "
                 f"of freedom, "
                 f"{format_p(spread['p_value'])}.",
         "values": finding_values(I2=(spread["I2"], spread["I2_lower_95"], spread["I2_upper_95"]), Q=spread["Q"],
                                  tau2=(spread["tau2"], spread["tau2_lower_95"], spread["tau2_upper_95"]),
                                  p_value=spread["p_value"]),
         "output": "heterogeneity", "row": table_row(table_spread, heterogeneity=method)},
    ]  # fmt: skip
    if "prediction_lower" in chosen:
        limits = [chosen["prediction_lower"], chosen["prediction_upper"]]
        shown = [format_number(float(np.exp(x)) if log else x) for x in limits]
        across = limits[0] < 0 < limits[1]
        findings.append({
            "text": f"In a new study of the same kind the true {'ratio' if log else 'effect'} would lie between "
                    f"{shown[0]} and "
                    f"{shown[1]} (95 % prediction interval)" + (", so it could point either way." if across else "."),
            "values": finding_values(prediction_lower=limits[0], prediction_upper=limits[1]),
            "output": "pooled", "row": table_row(pooled, model=chosen["model"])})  # fmt: skip
    pull = int(np.argmax(np.abs(studies["pooled_without"] - chosen["estimate"])))
    moved = studies["pooled_without"].iloc[pull]
    findings.append({
        "text": f"{labels[pull]} pulls the pooled effect most: without it, it is "
                f"{format_number(float(np.exp(moved)) if log else float(moved))}.",
        "values": finding_values(pooled_without=float(moved)), "output": "studies",
        "row": table_row(studies, study=labels[pull])})  # fmt: skip
    egger = egger_test(y, v)
    if egger:
        said = (
            "give other effects than large ones, as when small studies were not published"
            if egger["p_value"] < 0.05
            else ("are not shown to give other effects than large ones")
        )
        findings.append({
            "text": f"Small studies {said}: Egger's intercept {format_number(egger['intercept'])} (SE "
                    f"{format_number(egger['se'])}), {format_p(egger['p_value'])}.",
            "values": finding_values(intercept=egger["intercept"], p_value=egger["p_value"]),
            "output": "egger", "row": {"test": "Egger"}})  # fmt: skip
    if egger and len(y) < 10:
        warnings.append(
            f"With {len(y)} studies, fewer than 10, Egger's test and the funnel plot can hardly show a bias."
        )
    if len(y) < 5:
        warnings.append(f"Only {len(y)} studies: tau2 is very uncertain; prefer the Hartung-Knapp row of the table.")
    if np.sign(rows[0]["estimate"]) != np.sign(rows[2]["estimate"]) or (rows[0]["p_value"] < 0.05) != (
        rows[2]["p_value"] < 0.05
    ):
        warnings.append("Fixed and random effects do not agree at 0.05: large and small studies say different things.")
    hk = rows[3] if len(rows) > 3 else chosen
    if (hk["p_value"] < 0.05) != clear and model != "fixed":
        warnings.append(
            "By Hartung-Knapp's interval, which fits few studies better, the conclusion at 0.05 would be another."
        )
    wanted = ["model", "studies", "estimate", "se", "lower_95", "upper_95", "statistic", "p_value", "tau2",
              "prediction_lower",
              "prediction_upper", "ratio", "ratio_lower_95", "ratio_upper_95"]  # fmt: skip
    axis_name = name if not log or name in ("risk ratio", "odds ratio") else f"exp of {name}"
    return {
        "pooled": pooled.reindex(columns=[column for column in wanted if column in pooled]),
        "heterogeneity": table_spread,
        "egger": pd.DataFrame([{"test": "Egger"} | egger]) if egger else None,
        "studies": studies,
        "forest_plot": forest_figure(studies, chosen, axis_name, log),
        "funnel_plot": funnel_figure(studies, chosen, f"log {name}" if name in ("risk ratio", "odds ratio") else name),
        "findings": findings,
        "warnings": warnings,
    }
