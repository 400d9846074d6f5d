"""What a marker could tell over all cut-points.

A cut-point chosen on the data that judge it looks better than it will be, which is said beside the numbers.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation, NextStep
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.clinical.diagnosis import EVENT_VALUE, OUTCOME, sick_and_values
from engine.toolbox.registry import param, tool
from engine.toolbox.statistics.group_tests import holm_adjust
from engine.toolbox.statistics.proportions import wilson_interval
from engine.toolbox.tables.columns import (
    finding_values,
    format_number,
    format_p,
    in_a_row,
    left_open,
    new_axes,
    numeric_values,
    palette,
)
from engine.toolbox.tables.rows import table_row


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
    """Return by how much Youden's index flatters itself, and the 95 % bootstrap intervals of cut-point and area.

    In every resample (cases and controls apart) the cut is chosen anew and judged on the resample and on the data; the
    mean loss is the optimism (Efron's bootstrap).
    """
    import numpy as np

    rng = np.random.default_rng(seed)
    cases, controls = values[sick], values[~sick]
    cases_up, controls_up = np.sort(cases), np.sort(controls)
    losses, cuts, areas = [], [], []
    for _ in range(500 if len(values) <= 5000 else 100):
        again = np.concatenate([rng.choice(cases, len(cases)), rng.choice(controls, len(controls))])
        cut, index = youden_cut(again, np.arange(len(values)) < len(cases))
        above = 1 - np.searchsorted(cases_up, cut) / len(cases)
        losses.append(index - (above - (1 - np.searchsorted(controls_up, cut) / len(controls))))
        cuts.append(cut)
        areas.append(delong_parts(again[: len(cases)], again[len(cases) :])[0])
    return float(np.mean(losses)), np.percentile(cuts, [2.5, 97.5]), np.percentile(areas, [2.5, 97.5])


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


def compared_markers(rows, compared, what):
    """Return the finding on which of several markers separates best, and which of the others it is shown to beat."""
    order = sorted(rows, key=lambda row: -row["auc"])
    best = order[0]["marker"]
    shown = [f"{row['marker']} {row['auc']:.3f} (95 % CI {row['lower_95']:.3f} to {row['upper_95']:.3f})"
             for row in order]  # fmt: skip
    beaten, last = [], None
    for row in compared:
        a, b = row["comparison"].split(" vs ", 1)
        if best in (a, b) and row.get("p_adj", row["p_value"]) < 0.05:
            beaten.append(b if a == best else a)
        last = row
    start = (f"{best} separates subjects with {what} better than {in_a_row(beaten)}" if beaten
             else f"No marker is shown to separate subjects with {what} better than another")  # fmt: skip
    size = ""
    if len(compared) == 1:
        low, high = last["lower_95"], last["upper_95"]
        size = (f"; difference {last['difference']:.3f} (95 % CI {low:.3f} to {high:.3f}, DeLong's test, "
                f"{format_p(last['p_value'])}){'' if beaten else left_open(low, high)}")  # fmt: skip
    elif beaten:
        size = "; by DeLong's test, p adjusted by Holm below 0.05"
    listed = in_a_row(shown[:6]) + (f" and {len(shown) - 6} more" if len(shown) > 6 else "")
    values = finding_values(**{f"auc {row['marker']}": (row["auc"], row["lower_95"], row["upper_95"])
                               for row in order[:6]})  # fmt: skip
    pointed = {"row": {"comparison": last["comparison"]}} if len(compared) == 1 else {}
    if pointed:
        values += finding_values(difference=(last["difference"], last["lower_95"], last["upper_95"]))
    return {"text": f"{start}: AUC {listed}{size}.", "values": values, "output": "comparison", **pointed}


@tool(
    name="roc_curve",
    title="ROC curve of a marker",
    description=(
        "How well a number separates subjects with and without a condition: ROC curve, area under it (AUC, c "
        "statistic) with DeLong's and a bootstrap 95 % interval, and the cut-point of Youden's index with sensitivity "
        "and specificity there (Wilson's intervals), how much that index flatters itself (500 bootstrap resamples), "
        "and the interval of the cut. Several markers of the same subjects are compared by DeLong's test. Whether high "
        "or low values speak for the condition is read from the data unless said."
    ),
    domain="clinical",
    task_type="analysis",
    methods=(
        "others => area under the ROC curve of each marker, compared by DeLong's test, because the markers "
        "were measured in the same subjects",
        "area under the ROC curve with DeLong's interval, because a number is to tell two states apart",
    ),
    complete=("marker", "outcome", "others"),
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
        "outcome": OUTCOME,
        "event_value": EVENT_VALUE,
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
    leads={"cut_point": r"cut.?(?:off|point)|threshold|youden"},
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
        optimism, ends, areas = youden_optimism(turned, sick, seed)
        points = roc_points(turned, sick)
        curves[name], parts[name] = points, part
        hits, alarms = int((turned[sick] >= cut).sum()), int((turned[~sick] >= cut).sum())
        n_sick, n_well = int(sick.sum()), int((~sick).sum())
        ends = sorted(float(end) if higher else -float(end) for end in ends)
        rows.append(
            {"marker": name, "n_with": n_sick, "n_without": n_well, "event_when": "higher" if higher else "lower",
             "auc": part[0], "lower_95": max(0.0, part[0] - z * se), "upper_95": min(1.0, part[0] + z * se),
             "standard_error": se, "boot_lower_95": float(areas[0]), "boot_upper_95": float(areas[1]),
             "cut_point": cut if higher else -cut, "cut_lower_95": ends[0],
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
                f"{row['boot_lower_95']:.3f} to {row['boot_upper_95']:.3f} by bootstrap; {row['n_with']} with, "
                f"{row['n_without']} without); {row['event_when']} values speak for "
                "it.")  # fmt: skip
        findings.append({"text": text, "output": "auc", "row": pointer,
                         "values": finding_values(auc=(row["auc"], row["lower_95"], row["upper_95"]))})  # fmt: skip
        limits = [f"{100 * row[name]:.0f} % (95 % CI {100 * row[name + '_lower_95']:.0f} to "
                  f"{100 * row[name + '_upper_95']:.0f})"
                  for name in ("sensitivity", "specificity")]  # fmt: skip
        text = (f"The best cut-point of {row['marker']} by Youden's index is {sign} "
                f"{format_number(row['cut_point'], 4)} "
                f"(95 % of resamples choose {format_number(row['cut_lower_95'], 4)} to "
                f"{format_number(row['cut_upper_95'], 4)}): sensitivity {limits[0]}, specificity {limits[1]} "
                f"(AUC {row['auc']:.3f}, 95 % CI {row['lower_95']:.3f} to {row['upper_95']:.3f}). Sensitivity and "
                f"specificity are optimistic, as the same subjects chose the cut: the index {row['youden']:.2f} "
                f"is about {row['youden_corrected']:.2f} in new subjects.")  # fmt: skip
        # Of several markers the cut of one is no answer, so none bears the name that leads.
        told = "cut_point" if len(markers) == 1 else f"cut_point {row['marker']}"
        findings.append({"text": text, "output": "auc", "row": pointer,
                         "values": finding_values(**{told: row["cut_point"]}, **{key: row[key] for key in (
                             "sensitivity", "specificity", "youden", "youden_corrected")})})  # fmt: skip
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
        if p != p:
            verdict = "the two order every subject alike, so no test can tell them apart"
        findings.append(
            {"text": f"{row['comparison']}: {verdict}; difference of the areas {row['difference']:.3f} (95 % CI "
                     f"{row['lower_95']:.3f} to {row['upper_95']:.3f}, DeLong's test, {format_p(row['p_value'])}"
                     + (f", adjusted {format_p(p)}" if "p_adj" in row else "") + ").",
             "values": finding_values(difference=(row["difference"], row["lower_95"], row["upper_95"]),
                                      p_value=row["p_value"]),
             "output": "comparison", "row": {"comparison": row["comparison"]}}
        )  # fmt: skip
    if len(markers) > 1:
        findings.insert(0, compared_markers(rows, compared, what))
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
