"""Why apart: where one end rules out another, censoring the other overstates the risk of both.

Someone who died of a heart attack can no longer relapse. The curves here count what happens to whom (Aalen-Johansen),
so that the shares of all ends and of those still event-free add up to one.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation, NextStep
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.registry import param, tool
from engine.toolbox.statistics.group_tests import holm_adjust
from engine.toolbox.survival.cox_model import code_covariates
from engine.toolbox.survival.data import MOST_GROUPS, survival_groups
from engine.toolbox.survival.horizon import TIME_UNITS, UNIT_WORDS, horizon_in_unit, unit_of_times
from engine.toolbox.survival.partial_likelihood import fit_cox
from engine.toolbox.survival.states import end_name, state_rows
from engine.toolbox.survival.subdistribution import subdistribution_of_causes
from engine.toolbox.tables.columns import (
    called_level,
    finding_values,
    format_number,
    format_p,
    in_a_row,
    left_open,
    new_axes,
    palette,
)
from engine.toolbox.tables.rows import table_row


@check("incidences_add_up")
def incidences_add_up(step: StepOutputs) -> Iterator[Issue]:
    """Cumulative incidences rise, lie within their intervals and, with those still event-free, add up to 1."""
    table = step.table("curve_table")
    for name, part in table.groupby(table["group"].astype(str)):
        total = part.pivot_table(index="time", columns="cause", values="incidence").sum(axis=1)
        free = part.groupby("time")["event_free"].first()
        if ((total + free - 1).abs() > 1e-6).any():
            message = f"{name}: the incidences and the event-free share do not add up to 1."
            yield Issue(code="incidences_do_not_add_up", severity="error", message=message, where="curve_table")
        for cause, curve in part.groupby(part["cause"].astype(str)):
            outside = (curve["incidence"] < curve["lower_95"] - 1e-9) | (curve["incidence"] > curve["upper_95"] + 1e-9)
            if (curve.sort_values("time")["incidence"].diff() < -1e-9).any() or outside.any():
                message = f"{name}: the incidence of {cause} falls or leaves its interval."
                yield Issue(code="incidence_inconsistent", severity="error", message=message, where="curve_table")


def incidence_curve(times, states, cause):
    """Return the Aalen-Johansen curve of one cause: times from 0, at risk, incidence, its standard error and 95 % band.

    The variance is Greenwood's carried over to one cause (delta method; Marubini and Valsecchi 1995, as Stata's
    stcompet), the band is on the log(-log) scale and so stays between 0 and 1.
    """
    import numpy as np
    import pandas as pd

    times, states = np.asarray(times, dtype=float), np.asarray(states)
    grid = np.unique(np.concatenate([[0.0], times]))
    risk = len(times) - np.searchsorted(np.sort(times), grid, side="left")
    own = np.array([((times == moment) & (states == cause)).sum() for moment in grid], dtype=float)
    every = np.array([((times == moment) & (states != "")).sum() for moment in grid], dtype=float)
    free = np.cumprod(1 - every / risk)
    before = np.concatenate([[1.0], free[:-1]])
    incidence = np.cumsum(before * own / risk)
    with np.errstate(divide="ignore", invalid="ignore"):
        greenwood = np.where(risk > every, every / (risk * (risk - every)), 0.0)
    within = np.cumsum(before**2 * own * (risk - own) / risk**3.0)
    step = before * own / risk**2.0
    # sum of (F(t) - F(u))^2 a(u) + ... - 2 (F(t) - F(u)) b(u), opened so that every sum runs once
    sums = [np.cumsum(part) for part in (greenwood, incidence * greenwood, incidence**2 * greenwood, step,
                                         incidence * step)]  # fmt: skip
    variance = incidence**2 * sums[0] - 2 * incidence * sums[1] + sums[2] + within - 2 * (incidence * sums[3] - sums[4])
    error = np.sqrt(np.maximum(variance, 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = 1.959963984540054 * error / (incidence * np.log(incidence))
        low, high = incidence ** np.exp(-spread), incidence ** np.exp(spread)
    low, high = np.minimum(low, high), np.maximum(low, high)
    sure = (incidence <= 0) | (incidence >= 1)
    return pd.DataFrame(
        {"time": grid, "at_risk": risk, "events": own.astype(int), "incidence": incidence, "se": error,
         "lower_95": np.where(sure, incidence, low), "upper_95": np.where(sure, incidence, high), "event_free": free}
    )  # fmt: skip


def gray_parts(times, states, labels, groups, cause):
    """Return (scores, their covariance) of Gray's test (rho = 0) for one cause, one entry a group.

    The score of a group is its events less those expected when all share one subdistribution hazard, with
    R(t) = at risk * (1 - F(t-)) / S(t-) in place of the number at risk. Its variance follows from writing the score
    as sums of the martingales of this and of the competing events (Gray 1988, section 2), with the common incidence
    under the null hypothesis and each group's own competing hazard.
    """
    import numpy as np

    times, states, labels = np.asarray(times, dtype=float), np.asarray(states), np.asarray(labels)
    grid = np.unique(times[states != ""])

    def counts(mask):
        return np.array([(mask & (times == moment)).sum() for moment in grid], dtype=float)

    def early(curve):
        return np.concatenate([[curve[0] * 0 + 1.0], curve[:-1]])

    def share(part, whole):
        return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)

    size = len(groups)
    risk = np.array([[((labels == g) & (times >= moment)).sum() for moment in grid] for g in groups], dtype=float)
    own = np.array([counts((labels == g) & (states == cause)) for g in groups])
    other = np.array([counts((labels == g) & (states != "") & (states != cause)) for g in groups])
    free = np.cumprod(1 - share(own + other, risk), axis=1)
    free_before = np.array([early(row) for row in free])
    risen = np.cumsum(free_before * share(own, risk), axis=1)
    left = 1 - np.concatenate([np.zeros((size, 1)), risen[:, :-1]], axis=1)
    weight = share(risk * left, free_before)
    total, events = weight.sum(axis=0), own.sum(axis=0)
    scores = (own - share(weight, np.broadcast_to(total, weight.shape)) * events).sum(axis=1)
    rise = share(events, share(risk, free_before).sum(axis=0))  # of the incidence that all groups share
    common = np.maximum(1 - np.cumsum(rise), 0)
    common_before = np.concatenate([[1.0], common[:-1]])
    covariance = np.zeros((size, size))
    for j in range(size):
        pull = weight * ((np.arange(size) == j)[:, None] - share(weight[j], total))
        later = share(pull * rise, np.broadcast_to(common * common_before, pull.shape))
        later = np.cumsum(later[:, ::-1], axis=1)[:, ::-1] - later
        first = pull * share(free_before[j], left[j]) - (common - free[j]) * later
        second = -common * later
        hazard = share(rise, free_before[j] * risk[j])
        covariance += (first * hazard) @ first.T + (second * share(other[j], risk[j] ** 2)) @ second.T
    return scores, covariance


def gray_test(data, labels, groups, cause):
    """Return the row of Gray's test that groups have one cumulative incidence of a cause."""
    import numpy as np
    from scipy.stats import chi2

    scores, covariance = gray_parts(data["time"], data["state"], labels, groups, cause)
    inverse = np.linalg.pinv(covariance[:-1, :-1])
    statistic = float(scores[:-1] @ inverse @ scores[:-1])
    free = len(groups) - 1
    return {"cause": cause, "test": "Gray's test", "groups": len(groups), "statistic": statistic, "df": free,
            "p_value": float(chi2.sf(statistic, free))}  # fmt: skip


def hazards_of_causes(data, causes, covariates, categorical):
    """Return (cause-specific hazard ratios, one row a cause and term, warnings)."""
    import pandas as pd

    design, _, warnings = code_covariates(data, covariates, categorical)
    terms = {f"term{number}": term for number, term in enumerate(design.columns)}
    rows = []
    for cause in causes:
        events = int((data["state"] == cause).sum())
        if events <= len(terms):
            warnings.append(f"{cause} came {events} times, too few for hazard ratios of {len(terms)} terms.")
            continue
        frame = design.set_axis(list(terms), axis=1).assign(time=data["time"], event=(data["state"] == cause) * 1)
        try:
            model, trouble = fit_cox(frame, [], 0.0)
        except ValueError as err:
            warnings.append(f"{cause}: {err}")
            continue
        if trouble or (model.summary["se(coef)"] > 10).any():
            warnings.append(f"{cause}: the Cox fit is not reliable, a term almost separates the events from the rest.")
        if events < 10 * len(terms):
            warnings.append(f"{cause}: {events} events for {len(terms)} terms; hazard ratios are unsure.")
        rows += [
            {"cause": cause, "term": terms[key], "hazard_ratio": float(row["exp(coef)"]), "coef": float(row["coef"]),
             "se": float(row["se(coef)"]), "lower_95": float(row["exp(coef) lower 95%"]),
             "upper_95": float(row["exp(coef) upper 95%"]), "p_value": float(row["p"]), "events": events}
            for key, row in model.summary.iterrows()
        ]  # fmt: skip
    return (pd.DataFrame(rows) if rows else None), warnings


def share_ratio(subdistribution, cause, group, clear):
    """Return Fine and Gray's ratio of two groups as a part of a sentence, with what a null result leaves open."""
    rows = [] if subdistribution is None else [
        row for row in subdistribution.to_dict("records")
        if row["cause"] == cause and row["term"].startswith(f"{group}: ")
    ]  # fmt: skip
    if len(rows) != 1:
        return ""
    row, pair = rows[0], rows[0]["term"].removeprefix(f"{group}: ").replace(" vs ", " against ")
    low, high = row["lower_95"], row["upper_95"]
    unseen = "" if clear else left_open(low, high, ratio=True)
    return (f"; subdistribution hazard ratio of {pair} {format_number(row['subdistribution_ratio'])} (95 % CI "
            f"{format_number(low)} to {format_number(high)}){unseen}")  # fmt: skip


def ratio_findings(hazards, subdistribution, where):
    """Return the findings of the first cause's ratios: of the share that comes to it, then of its rate."""
    findings = []
    for table, name, ratio, kind in (
        (subdistribution, "subdistribution", "subdistribution_ratio", "Subdistribution hazard (Fine-Gray)"),
        (hazards, "hazards", "hazard_ratio", "Cause-specific hazard"),
    ):
        if table is None:
            continue
        for row in table[table["cause"] == table["cause"].iloc[0]].head(4).to_dict("records"):
            share = f"a {'higher' if row[ratio] > 1 else 'lower'} share comes to it"
            share += "" if " vs " in row["term"] else " with more"
            told = "" if name == "hazards" else f"; {share if row['p_value'] < 0.05 else 'no clear difference'}"
            findings.append(
                {"text": f"{kind} of {end_name(row['cause'], where)}, {row['term']}: ratio {format_number(row[ratio])} "
                         f"(95 % interval {format_number(row['lower_95'])} to {format_number(row['upper_95'])}, "
                         f"{format_p(row['p_value'])}{told}).",
                 "values": finding_values(**{ratio: (row[ratio], row["lower_95"], row["upper_95"])},
                                          p_value=row["p_value"]),
                 "output": name, "row": table_row(table, cause=row["cause"], term=row["term"])}
            )  # fmt: skip
    return findings


def draw_incidences(curves, causes, groups, group, unit, moment):
    """Return a figure: a panel a cause with a curve a group, or all causes stacked on one another without groups."""
    import numpy as np

    if len(groups) == 1:
        figure, axis = new_axes(width=6.4)
        below = 0.0
        for cause, colour in zip(causes, palette(len(causes)), strict=True):
            curve = curves[groups[0], cause]
            top = below + curve["incidence"].to_numpy()
            axis.fill_between(
                curve["time"], below, top, step="post", color=colour, alpha=0.55, label=cause, linewidth=0
            )
            axis.step(curve["time"], top, where="post", color=colour, linewidth=1.2)
            below = top
        axis.text(0.02, 0.96, "white: no event yet", transform=axis.transAxes, va="top", fontsize=8, color="0.4")
        axes = [axis]
    else:
        figure, axes = new_axes(width=min(15, 3.6 * len(causes) + 1), height=3.9, panels=len(causes))
        for axis, cause in zip(np.atleast_1d(axes), causes, strict=True):
            for name, colour, style in zip(groups, palette(len(groups)), ["-", "--", "-.", ":"] * 3, strict=False):
                curve = curves[name, cause]
                axis.step(curve["time"], curve["incidence"], where="post", color=colour, linestyle=style, label=name)
                axis.fill_between(curve["time"], curve["lower_95"], curve["upper_95"], step="post", color=colour,
                                  alpha=0.15, linewidth=0)  # fmt: skip
            axis.set_title(cause, fontsize=10)
        axes = list(np.atleast_1d(axes))
    top = max(axis.get_ylim()[1] for axis in axes)
    for axis in axes:
        axis.axvline(moment, color="0.6", linestyle=":", linewidth=0.9)
        axis.set_ylim(0, min(1.0, top))
        axis.set_xlim(left=0)
        axis.set_xlabel(f"time ({unit})" if unit else "time (unit of the table)")
    axes[0].set_ylabel("cumulative incidence" + (" (stacked)" if len(groups) == 1 else " (band: 95 %)"))
    axes[-1].legend(frameon=False, fontsize=8, title=group or None, bbox_to_anchor=(1.01, 1), loc="upper left")
    return figure


def told_incidences(table, cause, name, group, when):
    """Return the findings on how many came to one end by a time: of few groups in one sentence, of many one each."""

    def size(record):
        limits = f"{100 * record['lower_95']:.1f} to {100 * record['upper_95']:.1f} %"
        seen = f"n = {record['n']}, {record['events']} of them in all, {record['at_risk']} still at risk then"
        return f"(95 % interval {limits}; {seen})"

    def interval(record):
        return record["incidence"], record["lower_95"], record["upper_95"]

    records = table[table["cause"] == cause].to_dict("records")
    if 1 < len(records) <= 4:
        parts = [f"{100 * r['incidence']:.1f} % with {called_level(r['group'], group)} {size(r)}" for r in records]
        numbers = finding_values(**{f"incidence {r['group']}": interval(r) for r in records})
        return [{"text": f"The probability of {name} by {when} is {in_a_row(parts)}.", "values": numbers,
                 "output": "incidence"}]  # fmt: skip
    return [
        {"text": f"The probability of {name} by {when} is {100 * r['incidence']:.1f} %"
                 f"{f' in {group} = ' + r['group'] if group else ''} {size(r)}.",
         "values": finding_values(incidence=interval(r), n=r["n"], events=r["events"]),
         "output": "incidence", "row": table_row(table, cause=r["cause"], group=r["group"])}
        for r in records
    ]  # fmt: skip


@tool(
    name="competing_risks",
    title="Cumulative incidence with competing risks",
    description=(
        "Estimate the probability of each kind of end over time when one rules out the others (cumulative incidence by "
        "Aalen-Johansen, 95 % intervals on the log-log scale), at a moment asked for or the last one all groups reach; "
        "compare groups by Gray's test, and give cause-specific (Cox) and subdistribution hazard ratios (Fine-Gray, "
        "weights from one Kaplan-Meier curve of the censoring, sandwich errors) of the group and of covariates. "
        "Says what 1 - Kaplan-Meier would give instead. Subjects independent, censoring unrelated to the risk."
    ),
    domain="clinical",
    task_type="analysis",
    methods=(
        "group => Gray's test with cumulative incidence (Aalen-Johansen) and Fine-Gray and Cox ratios, "
        "because one kind of end rules out the others",
        "covariates => cumulative incidence (Aalen-Johansen) with Fine-Gray and Cox regression, because "
        "one kind of end rules out the others",
        "cumulative incidence (Aalen-Johansen), because one kind of end rules out the others",
    ),
    answers=["competing_risks"],
    complete=("time", "event", "group", "covariates", "not cause_column"),
    inputs={"survival": "survival_table: one row per subject"},
    outputs={
        "incidence": "table: cumulative incidence of every cause and group at the moment",
        "tests": "table: Gray's test of every cause",
        "hazards": "table: cause-specific hazard ratios",
        "subdistribution": "table: subdistribution hazard ratios (Fine-Gray)",
        "curve_table": "table: the curves",
        "incidence_plot": "figure: the curves",
    },
    optional_outputs=("tests", "hazards", "subdistribution"),
    params={
        "time": param("Column of follow-up times", kind="column", of="survival", role="time"),
        "event": param("Column of how follow-up ended, or whether an event came", kind="column", of="survival",
                       role="event"),
        "event_value": param("The kind of end of most interest; beside a column of causes, the level for an event",
                             kind="level", of="event", role="event"),
        "group": param("Column of groups to compare", kind="column", of="survival", role="group_optional",
                       distinct=MOST_GROUPS),
        "cause_column": param("Column that names the kind of end, where `event` only says whether one came",
                              kind="column", of="survival"),
        "cause_value": param("The kind of end of most interest in that column", kind="level", of="cause_column",
                             role="event"),
        "censored": param("The level that means no event so far; empty to recognise it", role="no_event"),
        "covariates": param("Columns whose hazard ratios are estimated together with the group's",
                            kind="columns", of="survival", role="held"),
        "categorical": param("Covariates written as numbers that are categories (stage, centre)", kind="columns",
                             of="survival", role="as_groups"),
        "at": param(
            "Moment at which incidences are compared; empty for the last one that all groups reach", minimum=0,
            words=["at", "by", "after", "within(?: the)?(?: first)?", "up to", "until", "first",
                   "(?:years?|months?|weeks?|days?)"],
        ),
        "at_unit": param("Unit of that moment, where it is not the column's", choices=TIME_UNITS, words=UNIT_WORDS,
                         of="at", role="unit_of"),
        "time_unit": param("Unit of the times (days, months); empty to read it from the column's name",
                           role="time_unit"),
        "alpha": param("P-value below which a difference is reported", minimum=1e-10, maximum=0.5),
    },
    checks=("tables_not_empty", "p_values_valid", "findings_match_tables", "incidences_add_up"),
    keywords=(
        "competing risks", "cumulative incidence", "Aalen-Johansen", "Gray's test", "cause-specific hazard", "CIF",
        "cause of death", "competing event", "subdistribution", "cuminc", "death without relapse", "Fine-Gray",
        "subdistribution hazard", "competing risks regression",
    ),
    citations=(
        Citation(title="An empirical transition matrix for non-homogeneous Markov chains based on censored "
                       "observations",
                 authors="Aalen OO, Johansen S", year=1978),
        Citation(title="A class of K-sample tests for comparing the cumulative incidence of a competing risk",
                 authors="Gray RJ", year=1988, doi="10.1214/aos/1176350951"),
        Citation(title="A proportional hazards model for the subdistribution of a competing risk",
                 authors="Fine JP, Gray RJ", year=1999, doi="10.1080/01621459.1999.10474144"),
        Citation(title="Tutorial in biostatistics: competing risks and multi-state models",
                 authors="Putter H, Fiocco M, Geskus RB", year=2007, doi="10.1002/sim.2712"),
    ),
    next_steps=(
        NextStep(text="Read the cause-specific hazard ratios of all causes together: a group can have more of one end "
                      "only because it has less of another."),
    ),
    packages=("lifelines", "pandas", "numpy", "scipy"),
    seconds=4,
    example="How likely is relapse within two years when some die before, by donor type?",
)  # fmt: skip
def competing_risks(
    survival,
    *,
    time: str,
    event: str,
    event_value: str = "",
    group: str = "",
    cause_column: str = "",
    cause_value: str = "",
    censored: str = "",
    covariates: list[str] = [],  # noqa: B006 - a plain default, never changed
    categorical: list[str] = [],  # noqa: B006
    at: float | None = None,
    at_unit: str = "",
    time_unit: str = "",
    alpha: float = 0.05,
):
    """Estimate and compare cumulative incidences of competing events."""
    import numpy as np
    import pandas as pd
    from pandas.api.types import is_numeric_dtype

    told = [name for name in covariates if name in survival and not is_numeric_dtype(survival[name])]
    group = group or next((name for name in told if survival[name].nunique() <= 12), "")
    others = list(dict.fromkeys([*([group] if group else []), *covariates]))
    data, causes, asked, warnings = state_rows(
        survival, time, event, event_value, cause_column, cause_value, censored, others
    )
    if group:
        labels, groups = survival_groups(data, group)
        if len(groups) < 2:
            warnings.append(f"{group} has the single level {groups[0]}: there is no second group to compare with.")
    else:
        labels, groups = pd.Series("all", index=data.index), ["all"]
    causes = [*([asked] if asked else []), *(cause for cause in causes if cause != asked)]
    unit, where = unit_of_times(time, time_unit), cause_column or event
    last = min(float(data.loc[labels == name, "time"].max()) for name in groups)
    moment, notes = horizon_in_unit(at, at_unit, unit, time) if at is not None else (last, [])
    warnings += notes
    if moment > last:
        warnings.append(f"Nobody of one group was followed to {moment:g}; incidences are given at {last:g}, the last "
                        "time that every group reaches.")  # fmt: skip
        moment = last
    curves, rows = {}, []
    for name in groups:
        part = data[labels == name]
        for cause in causes:
            curve = curves[name, cause] = incidence_curve(part["time"], part["state"], cause)
            early = curve[curve["time"] <= moment]
            single = 1 - np.prod(1 - early["events"].to_numpy() / early["at_risk"].to_numpy())
            rows.append(
                {"cause": cause, "group": name, "n": len(part), "events": int((part["state"] == cause).sum()),
                 "time": moment, "incidence": early.iloc[-1]["incidence"], "lower_95": early.iloc[-1]["lower_95"],
                 "upper_95": early.iloc[-1]["upper_95"], "one_minus_km": float(single),
                 "at_risk": int((part["time"] >= moment).sum())}
            )  # fmt: skip
    table = pd.DataFrame(rows)
    tests = None
    if len(groups) > 1:
        tests = pd.DataFrame(holm_adjust([gray_test(data, labels, groups, cause) for cause in causes]))
        tests["p_adj"] = tests.pop("p_adj")
    terms = list(dict.fromkeys([*([group] if len(groups) > 1 else []), *covariates]))
    hazards, notes = hazards_of_causes(data, causes, terms, categorical) if terms else (None, [])
    subdistribution, more = subdistribution_of_causes(data, causes, terms, categorical) if terms else (None, [])
    warnings += notes + more
    when = f"{moment:g} {unit}".strip() if unit else f"time {moment:g}"
    findings = []
    for cause in causes[:4]:
        findings += told_incidences(table, cause, end_name(cause, where), group, when)
    if tests is not None:
        told = []
        for record in tests.to_dict("records"):
            name = end_name(record["cause"], where)
            judged = record["p_value"] if record["cause"] == asked else record["p_adj"]
            verdict = "differs" if judged < alpha else "is not shown to differ"
            shares = ", ".join(
                f"{100 * row['incidence']:.1f} % with {called_level(row['group'], group)}"
                for row in rows
                if row["cause"] == record["cause"]
            )
            size = share_ratio(subdistribution, record["cause"], group, judged < alpha) if len(groups) == 2 else ""
            told.append(
                {"text": f"The cumulative incidence of {name} {verdict} between the {len(groups)} groups of "
                         f"{group} (by {when} {shares}): Gray's test {format_p(record['p_value'])}, "
                         f"{format_p(record['p_adj'])} adjusted for {len(causes)} causes (Holm){size}.",
                 "values": finding_values(statistic=record["statistic"], p_value=record["p_value"],
                                          p_adj=record["p_adj"]),
                 "output": "tests", "row": table_row(tests, cause=record["cause"])}
            )  # fmt: skip
        findings = told[:4] + findings
    ratios = ratio_findings(hazards, subdistribution, where)
    findings = ratios + findings if covariates else findings + ratios  # with covariates the question is about ratios
    gap = max(rows, key=lambda row: row["one_minus_km"] - row["incidence"])
    if gap["one_minus_km"] - gap["incidence"] > 0.005:
        warnings.append(
            f"Kaplan-Meier with the other ends censored would say {100 * gap['one_minus_km']:.1f} % instead of "
            f"{100 * gap['incidence']:.1f} % for {end_name(gap['cause'], where)}"
            + (f" in {gap['group']}" if group else "") + ": it answers for a world without the other ends."
        )  # fmt: skip
    if hazards is not None:
        warnings.append(
            "The cause-specific ratio compares how fast those still without any end come to this one (what brings it "
            "about); the subdistribution ratio of Fine and Gray compares the share that comes to it (prognosis). The "
            "two can point in different directions, neither is a ratio of probabilities, and their proportionality "
            "was not tested."
        )
    few = [
        f"{row['cause']}{' in ' + row['group'] if group else ''} ({row['events']})" for row in rows if row["events"] < 5
    ]
    if few:
        warnings.append(f"Fewer than 5 events: {', '.join(few[:6])}; these are very unsure.")
    if not unit:
        warnings.append(f"The unit of {time} is not known; times are in the unit of the table.")
    curve_table = pd.concat(
        [curve.assign(group=name, cause=cause) for (name, cause), curve in curves.items()], ignore_index=True
    )
    return {
        "incidence": table,
        "tests": tests,
        "hazards": hazards,
        "subdistribution": subdistribution,
        "curve_table": curve_table[["group", "cause", *[c for c in curve_table if c not in ("group", "cause")]]],
        "incidence_plot": draw_incidences(curves, causes, groups, group, unit, moment),
        "findings": findings,
        "warnings": warnings,
    }
