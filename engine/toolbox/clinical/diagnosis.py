"""Why two tools: what a marker could tell over all cut-points is one question, what a test tells at its own another.

A cut-point chosen on the data that judge it looks better than it will be; a predictive value holds only where the
condition is as frequent as here. Both are said beside the numbers.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation, NextStep
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.registry import param, tool
from engine.toolbox.statistics.group_tests import holm_adjust
from engine.toolbox.statistics.proportions import event_rows, wilson_interval
from engine.toolbox.tables.columns import (
    GROUP_HELPERS,
    complete_rows,
    finding_values,
    format_number,
    format_p,
    level_labels,
    new_axes,
    numeric_values,
    order_levels,
    palette,
    plain_table,
    require_columns,
)
from engine.toolbox.tables.rows import table_row


@check("accuracy_in_interval")
def accuracy_in_interval(step: StepOutputs) -> Iterator[Issue]:
    """Every estimate lies in its interval; shares and areas lie between 0 and 1."""
    for output, table in step.tables():
        names = {"estimate": ("lower_95", "upper_95"), "auc": ("lower_95", "upper_95")}
        for name, (low, high) in names.items():
            if not {name, low, high} <= set(table.columns):
                continue
            known = table.dropna(subset=[name, low, high])
            slack = 1e-9 * known[name].abs().clip(upper=1e300) + 1e-12
            if ((known[low] > known[name] + slack) | (known[high] < known[name] - slack)).any():
                message = f"An estimate in {output} lies outside its own interval."
                yield Issue(code="interval_without_estimate", severity="error", message=message, where=output)
        for name in {"auc", "sensitivity", "specificity"} & set(table.columns):
            if ((table[name] < 0) | (table[name] > 1)).any():
                message = f"A value of {name} in {output} lies outside 0 to 1."
                yield Issue(code="share_out_of_range", severity="error", message=message, where=output)


@check("curve_rises")
def curve_rises(step: StepOutputs) -> Iterator[Issue]:
    """Along a curve sensitivity rises and specificity falls, and the area below it is the one reported."""
    if "curve" not in step.files or "auc" not in step.files:
        return
    areas = step.table("auc").set_index(step.table("auc")["marker"].astype(str))["auc"].to_dict()
    for marker, rows in step.table("curve").groupby(step.table("curve")["marker"].astype(str)):
        x, y = (1 - rows["specificity"]).to_numpy(), rows["sensitivity"].to_numpy()
        area = float(((x[1:] - x[:-1]) * (y[1:] + y[:-1]) / 2).sum())
        if (x[1:] < x[:-1] - 1e-9).any() or (y[1:] < y[:-1] - 1e-9).any():
            yield Issue(code="curve_falls", severity="error", message=f"The curve of {marker} falls.", where="curve")
        elif marker in areas and abs(area - areas[marker]) > 1e-6:
            message = f"The area under the curve of {marker} is {area}, the table says {areas[marker]}."
            yield Issue(code="area_differs", severity="error", message=message, where="auc")


def delong_parts(cases, controls):
    """Return the area under the ROC curve and DeLong's components of every case and every control.

    The area is the chance that a case lies higher than a control, ties counted half; a component is that share for
    one subject. From mid-ranks (Sun and Xu 2014), so that thousands of subjects take no time.
    """
    import numpy as np
    from scipy.stats import rankdata

    both = rankdata(np.concatenate([cases, controls]))
    m, n = len(cases), len(controls)
    of_cases = (both[:m] - rankdata(cases)) / n
    of_controls = 1 - (both[m:] - rankdata(controls)) / m
    return float(of_cases.mean()), of_cases, of_controls


def delong_variance(first, second=None):
    """Return the variance of an area, or with two lists of parts the covariance of two areas of the same subjects."""
    import numpy as np

    second = second or first
    of_cases, of_controls = np.cov(first[1], second[1])[0, 1], np.cov(first[2], second[2])[0, 1]
    return float(of_cases / len(first[1]) + of_controls / len(first[2]))


def roc_points(values, sick):
    """Return the points of a ROC curve for `value >= cut`: cut, sensitivity, specificity, from none positive to all."""
    import numpy as np

    order = np.argsort(-values, kind="stable")
    ranked, happened = values[order], sick[order]
    last = np.append(np.flatnonzero(np.diff(ranked)), len(ranked) - 1)
    hits, alarms = np.cumsum(happened)[last], np.cumsum(~happened)[last]
    cut = np.concatenate([[np.inf], ranked[last]])
    sensitivity = np.concatenate([[0.0], hits / sick.sum()])
    return cut, sensitivity, 1 - np.concatenate([[0.0], alarms / (~sick).sum()])


def youden_cut(values, sick):
    """Return the cut with the largest sensitivity + specificity - 1, and that index; of equal ones the highest cut."""
    cut, sensitivity, specificity = roc_points(values, sick)
    index = sensitivity + specificity - 1
    best = int((index[1:] > index[1:].max() - 1e-12).argmax()) + 1
    return float(cut[best]), float(index[best])


def youden_optimism(values, sick, seed):
    """Return by how much Youden's index flatters itself, and the 95 % bootstrap interval of the cut-point.

    In every resample (cases and controls apart) the cut is chosen anew and judged on the resample and on the data; the
    mean loss is the optimism (Efron's bootstrap).
    """
    import numpy as np

    rng = np.random.default_rng(seed)
    cases, controls = values[sick], values[~sick]
    cases_up, controls_up = np.sort(cases), np.sort(controls)
    losses, cuts = [], []
    for _ in range(500 if len(values) <= 5000 else 100):
        again = np.concatenate([rng.choice(cases, len(cases)), rng.choice(controls, len(controls))])
        cut, index = youden_cut(again, np.arange(len(values)) < len(cases))
        above = 1 - np.searchsorted(cases_up, cut) / len(cases)
        losses.append(index - (above - (1 - np.searchsorted(controls_up, cut) / len(controls))))
        cuts.append(cut)
    return float(np.mean(losses)), np.percentile(cuts, [2.5, 97.5])


def accuracy_shares(hits, misses, alarms, clear):
    """Return the rows of the shares of a 2 x 2 table of test and truth, each with Wilson's interval."""
    counted = [
        ("sensitivity", hits, hits + misses, "positive among those with the condition"),
        ("specificity", clear, clear + alarms, "negative among those without"),
        ("positive predictive value", hits, hits + alarms, "with the condition among the positive"),
        ("negative predictive value", clear, clear + misses, "without the condition among the negative"),
        ("accuracy", hits + clear, hits + misses + alarms + clear, "right answers among all"),
        ("prevalence", hits + misses, hits + misses + alarms + clear, "with the condition among all"),
    ]
    rows = []
    for name, count, among, text in counted:
        low, high = wilson_interval(count, among) if among else (float("nan"), float("nan"))
        rows.append({"measure": name, "estimate": count / among if among else float("nan"), "lower_95": low,
                     "upper_95": high, "count": count, "total": among,
                     "method": f"{text}; Wilson's interval" if among else f"{text}: nobody"})  # fmt: skip
    return rows


def likelihood_ratio(name, sick, n_sick, well, n_well):
    """Return the row of a likelihood ratio: share among the sick over that among the well, Simel's log interval."""
    import math

    ratio = (sick / n_sick) / (well / n_well) if well else math.inf if sick else math.nan
    row = {"measure": name, "estimate": ratio}
    if not sick or not well:
        return row | {"method": "no interval: a count is 0"}
    half = 1.959963984540054 * math.sqrt(1 / sick - 1 / n_sick + 1 / well - 1 / n_well)
    return row | {"lower_95": ratio * math.exp(-half), "upper_95": ratio * math.exp(half), "method": "log interval"}


def values_elsewhere(positive, negative, prevalence):
    """Return the predictive values where the condition has another prevalence, by Bayes from the likelihood ratios."""
    import math

    odds = prevalence / (1 - prevalence)

    def share(ratio):
        return 1.0 if ratio == math.inf else ratio * odds / (1 + ratio * odds)

    rows = []
    for name, row, turned in (("positive", positive, False), ("negative", negative, True)):
        limits = [row["estimate"], row.get("lower_95", math.nan), row.get("upper_95", math.nan)]
        value, low, high = [1 - share(x) if turned else share(x) for x in limits]
        rows.append({"measure": f"{name} predictive value at prevalence {prevalence:g}", "estimate": value,
                     "lower_95": high if turned else low, "upper_95": low if turned else high,
                     "method": "Bayes from the likelihood ratio and its interval"})  # fmt: skip
    return rows


def sick_and_values(table, columns, outcome, event_value, least):
    """Return the complete rows, where the condition is present, its name, and warnings."""
    table = plain_table(table)
    if len({outcome, *columns}) < 1 + len(columns):
        raise ValueError(
            f"The same column serves twice ({', '.join([outcome, *columns])}); expected different columns."
        )
    require_columns(table, [outcome, *columns])
    table, warnings = complete_rows(table, [outcome, *columns])
    sick, what, notes = event_rows(table[outcome], outcome, event_value)
    sick = sick.to_numpy(dtype=bool)
    if min(sick.sum(), (~sick).sum()) < least:
        raise ValueError(
            f"{sick.sum()} subjects have {what} and {(~sick).sum()} have not; expected at least {least} of each."
        )
    return table, sick, what, warnings + notes


def roc_figure(curves, rows, what):
    """Draw the ROC curve of every marker with its cut-point."""
    figure, axis = new_axes(width=5.4, height=5.2)
    for (name, points), row, colour in zip(curves.items(), rows, palette(len(curves)), strict=True):
        axis.plot(1 - points[2], points[1], color=colour, linewidth=1.8,
                  label=f"{name}: AUC {row['auc']:.2f} ({row['lower_95']:.2f} to {row['upper_95']:.2f})")  # fmt: skip
        axis.scatter([1 - row["specificity"]], [row["sensitivity"]], color=colour, s=36, zorder=4)
        sign = ">=" if row["event_when"] == "higher" else "<="
        axis.annotate(f"{sign} {format_number(row['cut_point'])}", (1 - row["specificity"], row["sensitivity"]),
                      textcoords="offset points", xytext=(8, -11), fontsize=8)  # fmt: skip
    axis.plot([0, 1], [0, 1], color="0.7", linestyle="--", linewidth=0.9)
    axis.set_xlim(-0.02, 1.02)
    axis.set_ylim(-0.02, 1.02)
    axis.set_aspect("equal")
    axis.set_xlabel("1 - specificity (false positive rate)")
    axis.set_ylabel(f"sensitivity for {what}")
    axis.legend(frameon=False, loc="lower right", fontsize=8)
    return figure


_OUTCOME = param("Yes/no column: the condition, by the truth or reference", kind="column", of="table", role="outcome")
_EVENT_VALUE = param("The level that means that the condition is present; empty to recognise it", kind="level",
                     of="outcome", role="event")  # fmt: skip


@tool(
    name="roc_curve",
    title="ROC curve of a marker",
    description=(
        "How well a number separates subjects with and without a condition: ROC curve, area under it (AUC, c "
        "statistic) with DeLong's 95 % interval, and the cut-point of Youden's index with sensitivity and specificity "
        "there (Wilson's intervals), how much that index flatters itself (500 bootstrap resamples), and the interval "
        "of "
        "the cut. Several markers of the same subjects are compared by DeLong's test. Whether high or low values speak "
        "for the condition is read from the data unless said."
    ),
    domain="clinical",
    task_type="analysis",
    answers=["roc_curve"],
    inputs={"table": "table: one row a subject"},
    outputs={
        "auc": "table: one row a marker: area, interval, cut-point, sensitivity, specificity",
        "curve": "table: every cut-point with sensitivity and specificity",
        "comparison": "table: differences between the areas of two markers",
        "roc_plot": "figure: the curves",
    },
    optional_outputs=("comparison",),
    params={
        "marker": param("The number that is to tell them apart", kind="column", of="table", role="measure"),
        "outcome": _OUTCOME,
        "event_value": _EVENT_VALUE,
        "others": param("Further markers of the same subjects, to compare", kind="columns", of="table", role="x"),
        "event_when": param(
            "Which values speak for the condition; auto by the data",
            choices=["auto", "higher", "lower"],
            words=["lower: (?:low|small)(?:er)? (?:values?|scores?|levels?) (?:mean|indicate|speak)"],
        ),
        "seed": param("Seed of the resamples", minimum=0),
    },
    checks=("tables_not_empty", "p_values_valid", "findings_match_tables", "accuracy_in_interval", "curve_rises"),
    keywords=("ROC curve", "AUC", "area under the curve", "AUROC", "c statistic", "DeLong", "Youden index",
              "best cut-off", "optimal cut-off", "cut-point", "threshold", "discrimination", "biomarker performance",
              "pROC", "best threshold"),
    citations=(
        Citation(title="Comparing the areas under two or more correlated receiver operating characteristic curves: a "
                       "nonparametric approach", authors="DeLong ER, DeLong DM, Clarke-Pearson DL", year=1988,
                 doi="10.2307/2531595"),
        Citation(title="Fast implementation of DeLong's algorithm for comparing the areas under correlated receiver "
                       "operating characteristic curves", authors="Sun X, Xu W", year=2014,
                 doi="10.1109/LSP.2014.2337313"),
        Citation(title="Index for rating diagnostic tests", authors="Youden WJ", year=1950),
    ),
    packages=("scipy", "numpy", "pandas"),
    seconds=4.0,
    example="How well does troponin tell patients with an infarction from the others, and where is the best cut-off?",
    next_steps=(
        NextStep(text="Fix the cut-point of {param:marker} and judge it in subjects who did not choose it "
                      "(diagnostic_accuracy).", unless_tool="diagnostic_accuracy"),
    ),
    helpers=(*GROUP_HELPERS, wilson_interval, event_rows, holm_adjust, delong_parts, delong_variance, roc_points,
             youden_cut, youden_optimism, sick_and_values, roc_figure, table_row),
)  # fmt: skip
def roc_curve(
    table,
    *,
    marker: str,
    outcome: str,
    event_value: str = "",
    others: list[str] = [],  # noqa: B006 - a plain default, never changed
    event_when: str = "auto",
    seed: int = 1,
):
    """Draw ROC curves, estimate their areas and the best cut-points."""
    import itertools
    import math

    import numpy as np
    import pandas as pd
    from scipy import stats

    if event_when not in ("auto", "higher", "lower"):
        raise ValueError(f"Values of the condition cannot be {event_when!r}; expected auto, higher or lower.")
    markers = [marker, *(name for name in others if name != marker)]
    if len(markers) > 8:
        raise ValueError(f"{len(markers)} markers were named; expected at most 8 curves in one figure.")
    table, sick, what, warnings = sick_and_values(table, markers, outcome, event_value, 3)
    rows, curves, parts, tables, z = [], {}, {}, [], 1.959963984540054
    for name in markers:
        values = numeric_values(table, name).to_numpy()
        if np.ptp(values) == 0:
            raise ValueError(f"Every value of {name!r} is {values[0]:g}; a marker must vary. Choose another column.")
        higher = event_when == "higher" or (
            event_when == "auto" and delong_parts(values[sick], values[~sick])[0] >= 0.5
        )
        turned = values if higher else -values
        part = delong_parts(turned[sick], turned[~sick])
        se = math.sqrt(max(delong_variance(part), 0.0))
        cut, index = youden_cut(turned, sick)
        optimism, ends = youden_optimism(turned, sick, seed)
        points = roc_points(turned, sick)
        curves[name], parts[name] = points, part
        hits, alarms = int((turned[sick] >= cut).sum()), int((turned[~sick] >= cut).sum())
        n_sick, n_well = int(sick.sum()), int((~sick).sum())
        ends = sorted(float(end) if higher else -float(end) for end in ends)
        rows.append(
            {"marker": name, "n_with": n_sick, "n_without": n_well, "event_when": "higher" if higher else "lower",
             "auc": part[0], "lower_95": max(0.0, part[0] - z * se), "upper_95": min(1.0, part[0] + z * se),
             "standard_error": se, "cut_point": cut if higher else -cut, "cut_lower_95": ends[0],
             "cut_upper_95": ends[1], "sensitivity": hits / n_sick, "specificity": 1 - alarms / n_well,
             "youden": index, "optimism": optimism, "youden_corrected": index - optimism}
        )  # fmt: skip
        for share, count, among in (("sensitivity", hits, n_sick), ("specificity", n_well - alarms, n_well)):
            rows[-1][f"{share}_lower_95"], rows[-1][f"{share}_upper_95"] = wilson_interval(count, among)
        tables.append(pd.DataFrame({"marker": name, "cut_point": points[0] if higher else -points[0],
                                    "sensitivity": points[1], "specificity": points[2]}))  # fmt: skip
    frame = pd.DataFrame(rows)
    findings = []
    for row in rows:
        sign = "at least" if row["event_when"] == "higher" else "at most"
        pointer = table_row(frame, marker=row["marker"])
        clear = row["lower_95"] > 0.5
        text = (f"{row['marker']} {'separates' if clear else 'is not shown to separate'} subjects with {what} from "
                f"those without: AUC {row['auc']:.3f} (95 % CI {row['lower_95']:.3f} to {row['upper_95']:.3f}, DeLong; "
                f"{row['n_with']} with, {row['n_without']} without); {row['event_when']} values speak for "
                "it.")  # fmt: skip
        findings.append({"text": text, "output": "auc", "row": pointer,
                         "values": finding_values(auc=(row["auc"], row["lower_95"], row["upper_95"]))})  # fmt: skip
        limits = [f"{100 * row[name]:.0f} % (95 % CI {100 * row[name + '_lower_95']:.0f} to "
                  f"{100 * row[name + '_upper_95']:.0f})"
                  for name in ("sensitivity", "specificity")]  # fmt: skip
        text = (f"The best cut-point of {row['marker']} by Youden's index is {sign} "
                f"{format_number(row['cut_point'], 4)} "
                f"(95 % of resamples choose {format_number(row['cut_lower_95'], 4)} to "
                f"{format_number(row['cut_upper_95'], 4)}): sensitivity {limits[0]}, specificity {limits[1]}. These "
                f"are optimistic, as the same subjects chose the cut: the index {row['youden']:.2f} is about "
                f"{row['youden_corrected']:.2f} in new subjects.")  # fmt: skip
        findings.append({"text": text, "output": "auc", "row": pointer,
                         "values": finding_values(**{key: row[key] for key in (
                             "cut_point", "sensitivity", "specificity", "youden", "youden_corrected")})})  # fmt: skip
    compared = []
    for a, b in itertools.combinations(markers, 2):
        variance = delong_variance(parts[a]) + delong_variance(parts[b]) - 2 * delong_variance(parts[a], parts[b])
        gap, se = parts[a][0] - parts[b][0], math.sqrt(max(variance, 0.0))
        p_value = float(2 * stats.norm.sf(abs(gap) / se)) if se > 0 else math.nan
        compared.append({"comparison": f"{a} vs {b}", "difference": gap, "lower_95": gap - z * se,
                         "upper_95": gap + z * se, "z": gap / se if se > 0 else math.nan,
                         "p_value": p_value})  # fmt: skip
    known = [row for row in compared if row["p_value"] == row["p_value"]]
    if len(known) > 1:
        holm_adjust(known)
        warnings.append(f"P-values of {len(known)} pairs of markers are adjusted by Holm; their intervals are not.")
    for row in compared[:6]:
        p = row.get("p_adj", row["p_value"])
        a, b = row["comparison"].split(" vs ", 1)
        verdict = (
            f"{a if row['difference'] > 0 else b} is the better marker"
            if p < 0.05
            else "neither marker is shown to be better"
        )
        findings.append(
            {"text": f"{row['comparison']}: {verdict}; difference of the areas {row['difference']:.3f} (95 % CI "
                     f"{row['lower_95']:.3f} to {row['upper_95']:.3f}, DeLong's test, {format_p(row['p_value'])}"
                     + (f", adjusted {format_p(p)}" if "p_adj" in row else "") + ").",
             "values": finding_values(difference=(row["difference"], row["lower_95"], row["upper_95"]),
                                      p_value=row["p_value"]),
             "output": "comparison", "row": {"comparison": row["comparison"]}}
        )  # fmt: skip
    if event_when == "auto":
        warnings.append("Whether high or low values speak for the condition was read from these data, which favours an "
                        "AUC above 0.5; set event_when where it is known beforehand.")  # fmt: skip
    perfect = [row["marker"] for row in rows if row["standard_error"] == 0]
    if perfect:
        warnings.append(f"{', '.join(perfect)} separates these subjects without error, so the interval of the AUC "
                        "has no "
                        "width; with more subjects it would have. Is the marker part of the definition?")  # fmt: skip
    if min(sick.sum(), (~sick).sum()) < 20:
        warnings.append(f"Only {min(sick.sum(), (~sick).sum())} subjects "
                        f"{'with' if sick.sum() <= (~sick).sum() else 'without'} "
                        "the condition: the interval is approximate and the cut-point unsure.")  # fmt: skip
    return {
        "auc": frame,
        "curve": pd.concat(tables, ignore_index=True),
        "comparison": pd.DataFrame(compared) if compared else None,
        "roc_plot": roc_figure(curves, rows, what),
        "findings": findings,
        "warnings": warnings,
    }


def positive_rows(table, test, positive, cut_point, rule):
    """Return where a test is positive, the rule in words, and warnings: a level, or a number beyond a cut-point."""
    import pandas as pd

    labels = level_labels(table[test])
    levels = order_levels(labels)
    numeric = pd.to_numeric(labels, errors="coerce").notna().all() and not pd.api.types.is_bool_dtype(table[test])
    if cut_point is not None and not numeric:
        found, what, notes = event_rows(table[test], test, positive)
        note = f"The cut-point {cut_point:g} was not used: {test} holds no numbers."
        return found.to_numpy(dtype=bool), what, [note, *notes]
    if cut_point is None:
        if numeric and len(levels) > 2 and not positive:
            raise ValueError(
                f"Column {test!r} holds numbers; name the cut-point from which on they count as positive "
                "(cut_point), or "
                "take roc_curve to look for one."
            )
        happened, what, notes = event_rows(table[test], test, positive)
        return happened.to_numpy(dtype=bool), what, [note.replace("event_value", "positive") for note in notes]
    values = numeric_values(table, test).to_numpy()
    found = {">=": values >= cut_point, ">": values > cut_point, "<=": values <= cut_point, "<": values < cut_point}
    return found[rule], f"{test} {rule} {cut_point:g}", []


def accuracy_figure(rows, test, what):
    """Draw the shares of a diagnostic test with their intervals."""
    shown = [row for row in rows if row.get("total") and row["measure"] != "prevalence"][::-1]
    figure, axis = new_axes(width=6.6, height=0.5 * len(shown) + 1.5)
    for place, row in enumerate(shown):
        low, high = row["estimate"] - row["lower_95"], row["upper_95"] - row["estimate"]
        axis.errorbar([100 * row["estimate"]], [place], xerr=[[100 * max(low, 0)], [100 * max(high, 0)]], fmt="o",
                      color=palette(1)[0], capsize=4)  # fmt: skip
    axis.set_yticks(range(len(shown)), [f"{row['measure']}\n{row['count']} of {row['total']}" for row in shown])
    axis.set_xlim(0, 102)
    axis.set_ylim(-0.6, len(shown) - 0.4)
    axis.set_xlabel("% (95 % CI)")
    axis.set_title(f"{test} against {what}", fontsize=10)
    return figure


@tool(
    name="diagnostic_accuracy",
    title="Accuracy of a diagnostic test",
    description=(
        "How often a test is right, against a truth or reference: sensitivity, specificity, positive and negative "
        "predictive value, accuracy with Wilson's 95 % intervals, likelihood ratios with log intervals, and the counts "
        "behind them. The test is a yes/no column, or a number with a cut-point fixed beforehand. Predictive values "
        "can be given for another prevalence too."
    ),
    domain="clinical",
    task_type="analysis",
    answers=["diagnostic_accuracy"],
    inputs={"table": "table: one row a subject, with test and truth"},
    outputs={
        "accuracy": "table: every measure with its interval",
        "counts": "table: test against truth",
        "accuracy_plot": "figure: the shares with their intervals",
    },
    params={
        "test": param("Column of the test: yes/no, or a number", kind="column", of="table", role="anything"),
        "outcome": _OUTCOME,
        "event_value": _EVENT_VALUE,
        "positive": param("The level of the test that is positive; empty to recognise it", kind="level", of="test",
                          role="event"),
        "cut_point": param(
            "The number from which on the test is positive",
            role="cut_point",
            words=["(?:cut.?(?:off|point)?|threshold)(?:\\s+(?:of|at|is|fixed|value))*"],
        ),
        "rule": param(
            "Which side of the cut-point is positive",
            choices=[">=", ">", "<=", "<"],
            words=["<: (?:below|under|less than)\\s+(?:a |the )?(?:cut|threshold)",
                   ">: (?:above|over|more than)\\s+(?:a |the )?(?:cut|threshold)"],
        ),
        "prevalence": param(
            "Prevalence, as a share, for which predictive values are given too",
            minimum=1e-9,
            maximum=1 - 1e-9,
            unit="share",
            words=["prevalence(?:\\s+(?:of|is|at))*"],
        ),
    },
    checks=("tables_not_empty", "findings_match_tables", "accuracy_in_interval"),
    keywords=("sensitivity", "specificity", "predictive value", "PPV", "NPV", "likelihood ratio", "diagnostic test",
              "test accuracy", "false positive", "false negative", "rapid test", "gold standard", "reference test",
              "missed cases", "false alarms", "confusion matrix", "prevalence", "screening test"),
    citations=(
        Citation(title="Diagnostic tests 1: sensitivity and specificity", authors="Altman DG, Bland JM", year=1994,
                 doi="10.1136/bmj.308.6943.1552"),
        Citation(title="Diagnostic tests 2: predictive values", authors="Altman DG, Bland JM", year=1994,
                 doi="10.1136/bmj.309.6947.102"),
        Citation(title="Likelihood ratios with confidence: sample size estimation for diagnostic test studies",
                 authors="Simel DL, Samsa GP, Matchar DB", year=1991, doi="10.1016/0895-4356(91)90128-V"),
        Citation(title="Probable inference, the law of succession, and statistical inference", authors="Wilson EB",
                 year=1927, doi="10.1080/01621459.1927.10502953"),
    ),
    packages=("numpy", "pandas"),
    seconds=2.0,
    example="How many of the infected cows does the milk test miss, and how far can a positive result be trusted?",
    next_steps=(
        NextStep(text="If {param:outcome} was found out only for those with a positive test, sensitivity is too high "
                      "(verification bias): ask how the others were judged."),
    ),
    helpers=(*GROUP_HELPERS, wilson_interval, event_rows, accuracy_shares, likelihood_ratio, values_elsewhere,
             sick_and_values, positive_rows, accuracy_figure),
)  # fmt: skip
def diagnostic_accuracy(
    table,
    *,
    test: str,
    outcome: str,
    event_value: str = "",
    positive: str = "",
    cut_point: float | None = None,
    rule: str = ">=",
    prevalence: float | None = None,
):
    """Judge a test against the truth."""
    import math
    import re

    import pandas as pd

    if prevalence is not None and not 0 < prevalence < 1:
        raise ValueError(f"The prevalence is {prevalence:g}; expected a share between 0 and 1. Write 5 % as 0.05.")
    if rule not in (">=", ">", "<=", "<"):
        raise ValueError(f"There is no rule {rule!r}; expected >=, >, <= or <.")
    table, sick, what, warnings = sick_and_values(table, [test], outcome, event_value, 1)
    found, positive_is, notes = positive_rows(table, test, positive, cut_point, rule)
    hits, misses = int((found & sick).sum()), int((~found & sick).sum())
    alarms, clear = int((found & ~sick).sum()), int((~found & ~sick).sum())
    warnings += notes
    rows = accuracy_shares(hits, misses, alarms, clear)
    up = likelihood_ratio("positive likelihood ratio", hits, hits + misses, alarms, alarms + clear)
    down = likelihood_ratio("negative likelihood ratio", misses, hits + misses, clear, alarms + clear)
    rows = [*rows[:4], up, down, *rows[4:]]
    elsewhere = values_elsewhere(up, down, prevalence) if prevalence is not None else []
    by = {row["measure"]: row for row in rows}

    def percent(row):
        if row["estimate"] != row["estimate"]:
            return "not known (nobody)"
        text = f"{100 * row['estimate']:.1f} %"
        low, high = row.get("lower_95", math.nan), row.get("upper_95", math.nan)
        return text + (f" (95 % CI {100 * low:.1f} to {100 * high:.1f})" if low == low else " (no interval)")

    def finding(name, text):
        row = by[name]
        known = row["estimate"] if math.isfinite(row["estimate"]) else None
        return {"text": text, "output": "accuracy", "row": {"measure": name},
                "values": finding_values(estimate=(known, row.get("lower_95"), row.get("upper_95")))}  # fmt: skip

    def ratio(row):
        interval = (
            f"95 % CI {format_number(row['lower_95'])} to {format_number(row['upper_95'])}"
            if "lower_95" in row
            else "no interval: a count is 0"
        )
        return f"{format_number(row['estimate'])} ({interval})"

    findings = [
        finding("sensitivity", f"The test ({positive_is}) finds {hits} of {hits + misses} with {what} and misses "
                               f"{misses}: "
                               f"sensitivity {percent(by['sensitivity'])}."),
        finding("specificity", f"It is negative in {clear} of {clear + alarms} without it, with {alarms} false alarms: "
                               f"specificity {percent(by['specificity'])}."),
        finding("positive predictive value", f"Of {hits + alarms} positive tests {hits} are right: positive predictive "
                                             f"value {percent(by['positive predictive value'])}."),
        finding("negative predictive value", f"Of {misses + clear} negative tests {clear} are right: negative "
                                             "predictive "
                                             f"value {percent(by['negative predictive value'])}."),
        finding("positive likelihood ratio", f"A positive test multiplies the odds of {what} by {ratio(up)}."),
        finding("negative likelihood ratio", f"A negative test multiplies them by {ratio(down)}."),
    ]  # fmt: skip
    if elsewhere:
        by |= {row["measure"]: row for row in elsewhere}
        good, bad = elsewhere
        findings.append(finding(good["measure"], f"Where {100 * prevalence:g} % have the condition, a positive test "
                                                 "is right "
                                f"in {percent(good)}, a negative one in {percent(bad)}."))  # fmt: skip
    if cut_point is None:
        suspect = re.compile(r"test|strip|stick|kit|rapid|quick|screen|alert|score", re.IGNORECASE)
        turned = bool(suspect.search(outcome)) and not suspect.search(test)
        warnings.insert(0, f"{test} was judged as the test and {outcome} as the truth"
                        + (", though their names suggest the reverse" if turned else "")
                        + ". If it is the other way round, sensitivity and positive predictive value change places, "
                          "and "
                        "so do specificity and negative predictive value.")  # fmt: skip
    share = by["prevalence"]["estimate"]
    warnings.append(f"The predictive values hold where {100 * share:.0f} % have the condition, as in these rows; if "
                    "cases and "
                    "others were chosen apart, they mean nothing: give the prevalence.")  # fmt: skip
    if min(hits + misses, alarms + clear) < 30:
        few = "with" if hits + misses <= alarms + clear else "without"
        warnings.append(
            f"Only {min(hits + misses, alarms + clear)} subjects {few} the condition: the intervals are wide."
        )
    if not found.any() or found.all():
        warnings.append(
            f"The test is {'always' if found.all() else 'never'} positive here ({positive_is}): it tells nobody apart."
        )
    order = ["measure", "estimate", "lower_95", "upper_95", "count", "total", "method"]
    return {
        "accuracy": pd.DataFrame([*rows, *elsewhere]).reindex(columns=order),
        "counts": pd.DataFrame({"test": ["positive", "negative", "all"],
                                "with_condition": [hits, misses, hits + misses],
                                "without_condition": [alarms, clear, alarms + clear],
                                "all": [hits + alarms, misses + clear, len(table)]}),
        "accuracy_plot": accuracy_figure(rows, positive_is, what),
        "findings": findings,
        "warnings": warnings,
    }  # fmt: skip
