"""What to say in place of one hazard ratio that does not hold all the time: the ratio before and after a moment.

Follow-up is split at the median event time; every row that lives beyond it becomes two, and the covariate acts on each
part by itself. The rest of the model stays as it was.
"""

from __future__ import annotations

from engine.toolbox.survival.partial_likelihood import cluster_covariance, cox_residuals, fit_cox
from engine.toolbox.tables.columns import finding_values, format_number, format_p
from engine.toolbox.tables.rows import table_row


def split_records(frame, cut):
    """Return the rows cut at a time, with `start` and `period` (0 up to the cut, 1 after it); no follow-up is lost."""
    import numpy as np
    import pandas as pd

    # A follow-up of 0 is a record too, so records without a start begin before 0.
    frame = frame if "start" in frame else frame.assign(start=-1.0)
    early = frame[frame["start"] < cut]
    happened = np.where(early["time"] <= cut, early["event"], 0)
    early = early.assign(event=happened, time=early["time"].clip(upper=cut), period=0)
    late = frame[frame["time"] > cut]
    late = late.assign(start=late["start"].clip(lower=cut), period=1)
    return pd.concat([early, late], ignore_index=True)


def cut_of_events(times):
    """Return the median event time, or the last one before it after which events remain; None when there is none."""
    import numpy as np

    moments = np.unique(times)
    able = moments[:-1][moments[:-1] <= np.median(times)]
    return float(able[-1]) if len(able) else None


def ratios_over_time(frame, names, keys, strata, penalizer):
    """Return (rows of hazard ratios before and after the median event time, warnings).

    `frame` holds time, event, the terms, the strata, and `start` and `subject` where rows are spans or repeat; `names`
    says what a term is called, `keys` are the terms that are split. The p-value of a change is Wald's, two-sided, of
    the difference of the two coefficients.
    """
    import numpy as np
    from scipy.stats import norm

    cut = cut_of_events(frame.loc[frame["event"] == 1, "time"])
    failed = ["The hazard ratios before and after could not be estimated: too few events on one side of the split."]
    if cut is None:
        return [], failed
    rows = split_records(frame, cut)
    terms = [name for name in frame if name in names and name not in keys]
    for key in keys:
        for period in (0, 1):
            rows[f"{key} {period}"] = rows[key] * (rows["period"] == period)
            terms.append(f"{key} {period}")
    try:
        model, trouble = fit_cox(rows[[*terms, *strata, "start", "time", "event"]], strata, penalizer, "start")
    except ValueError:
        return [], failed
    coef, covariance = model.params_[terms].to_numpy(), model.variance_matrix_.loc[terms, terms].to_numpy()
    if trouble or (np.diag(covariance) > 100).any():
        return [], failed
    if "subject" in rows:
        groups = rows[strata].astype(str).agg("\t".join, axis=1) if strata else None
        score, _, _ = cox_residuals(rows["start"], rows["time"], rows["event"], rows[terms], coef, groups)
        covariance = cluster_covariance(score, covariance, rows["subject"])
    found = []
    for key in keys:
        first, second = terms.index(f"{key} 0"), terms.index(f"{key} 1")
        change = coef[second] - coef[first]
        spread = covariance[first, first] + covariance[second, second] - 2 * covariance[first, second]
        for at, period, begin, end in ((first, f"up to {cut:g}", max(0.0, float(rows["start"].min())), cut),
                                       (second, f"after {cut:g}", cut, float(rows["time"].max()))):  # fmt: skip
            error = float(np.sqrt(covariance[at, at]))
            half = 1.959963984540054 * error
            found.append(
                {"term": names[key], "period": period, "from": begin, "to": end,
                 "events": int(rows.loc[rows["period"] == int(at == second), "event"].sum()),
                 "coef": float(coef[at]), "hazard_ratio": float(np.exp(coef[at])), "se": error,
                 "lower_95": float(np.exp(coef[at] - half)), "upper_95": float(np.exp(coef[at] + half)),
                 "p_value": float(2 * norm.sf(abs(coef[at]) / error)), "change": float(np.exp(change)),
                 "p_change": float(2 * norm.sf(abs(change) / np.sqrt(spread)))}
            )  # fmt: skip
    return found, []


def over_time_findings(table, violated, facts, unit):
    """Return the two findings of the term whose ratio changes most surely: before and after the split."""
    first = min((term for term in table["term"] if term in violated), key=lambda term: violated[term])
    covariate, level, reference = facts[first]
    who = f"{covariate} {level} against {reference}" if level else f"{covariate}, per unit"
    pair = table[table["term"] == first].to_dict("records")
    findings = []
    for row in pair:
        text = (
            f"{who}, {row['period']}{f' {unit}' if unit else ''}: hazard ratio {format_number(row['hazard_ratio'])} "
            f"(95 % interval {format_number(row['lower_95'])} to {format_number(row['upper_95'])}, "
            f"{format_p(row['p_value'])}; {row['events']} events)"
        )
        if row is pair[1]:
            text += f"; {format_number(row['change'])} times the ratio before (change: {format_p(row['p_change'])})"
        findings.append(
            {"text": text + ".",
             "values": finding_values(hazard_ratio=(row["hazard_ratio"], row["lower_95"], row["upper_95"]),
                                      p_value=row["p_value"], events=row["events"], change=row["change"],
                                      p_change=row["p_change"]),
             "output": "over_time", "row": table_row(table, term=row["term"], period=row["period"])}
        )  # fmt: skip
    return findings
