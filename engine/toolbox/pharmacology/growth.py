"""Growth curves: a rate for every well first, then means over wells, since wells are replicates and readings are not.

The rate is the steepest stretch of log density (Hall et al. 2014), which needs no assumption on lag or plateau; a
logistic curve or one exponential over all readings can be asked for instead.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation, NextStep
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.pharmacology.fitting import (
    colour_of,
    estimate,
    finish_axes,
    fit_curve,
    said_range,
)
from engine.toolbox.pharmacology.growth_groups import (
    comparison_finding,
    culture_remarks,
    group_rates,
    rate_comparisons,
    rates_overview,
    told_comparisons,
)
from engine.toolbox.pharmacology.growth_plates import growth_rows, without_medium
from engine.toolbox.registry import param, tool
from engine.toolbox.tables.columns import finding_values, format_number, new_axes, order_levels, pick_level
from engine.toolbox.tables.rows import table_row


@check("doubling_times_match")
def doubling_times_match(step: StepOutputs) -> Iterator[Issue]:
    """A doubling time is ln 2 over the rate of its own row."""
    import math

    table = step.table("wells").dropna(subset=["rate", "doubling_time"])
    if ((table["doubling_time"] * table["rate"] - math.log(2)).abs() > 1e-6).any():
        message = "A doubling time is not ln 2 over its rate."
        yield Issue(code="doubling_time_differs", severity="error", message=message, where="wells")


def steepest_log_growth(t, y, points):
    """Return rate, its line (intercept), first and last time, readings and R2 of the steepest stretch of log density.

    All windows of `points` readings are tried; those within 95 % of the steepest slope are joined and fitted again.
    """
    import numpy as np

    logs = np.log(y)
    slopes = [np.polyfit(t[i : i + points], logs[i : i + points], 1)[0] for i in range(len(t) - points + 1)]
    best = int(np.argmax(slopes))
    if slopes[best] <= 0:
        return 0.0, float(logs.mean()), float(t[0]), float(t[-1]), points, float("nan")
    first = last = best
    while first > 0 and slopes[first - 1] >= 0.95 * slopes[best]:
        first -= 1
    while last < len(slopes) - 1 and slopes[last + 1] >= 0.95 * slopes[best]:
        last += 1
    stop = last + points
    rate, intercept = np.polyfit(t[first:stop], logs[first:stop], 1)
    r2 = float(np.corrcoef(t[first:stop], logs[first:stop])[0, 1] ** 2)
    return float(rate), float(intercept), float(t[first]), float(t[stop - 1]), stop - first, r2


def above_noise(y, points):
    """Return which readings stand out of the noise that low readings have: at least five times its standard deviation.

    The logarithm of a reading near the medium's is mostly noise, and the steepest stretch of noise is steep. The noise
    is that of second differences of the lowest third, which a straight or slowly bending course does not have.
    """
    import numpy as np

    middle = (y[:-2] + y[1:-1] + y[2:]) / 3
    bends = np.abs(y[:-2] - 2 * y[1:-1] + y[2:])[middle <= np.quantile(middle, 1 / 3)]
    kept = y >= 5 * np.median(bends) / (0.6745 * np.sqrt(6))
    return kept if kept.sum() >= points else np.ones(len(y), dtype=bool)


def fit_growth(t, y, method, points):
    """Return the row of one culture: rate, doubling time, lag, plateau and how they were found."""
    import numpy as np

    row = {"n": len(t), "start": float(np.median(y[t <= np.unique(t)[:3].max()])), "highest": float(y.max())}
    if method == "logistic":
        span = float(np.ptp(t))
        starts = [
            np.array([np.log(y.max() * f), t[0] + span * g, np.log(k / span)])
            for f in (1.0, 2.0)
            for g in (0.4, 0.7, 1.0)
            for k in (4.0, 12.0)
        ]
        fit = fit_curve(
            lambda a: np.exp(a[0]) / (1 + np.exp(np.clip(-np.exp(a[2]) * (t - a[1]), -500, 500))), starts, y
        )
        rate, error, low, high = estimate(fit, lambda a: a[2], log=True)
        top, _, top_low, top_high = estimate(fit, lambda a: a[0], log=True)
        middle = float(fit["theta"][1])
        row |= {
            "rate": rate,
            "rate_se": error,
            "rate_lower_95": low,
            "rate_upper_95": high,
            "plateau": top,
            "plateau_lower_95": top_low,
            "plateau_upper_95": top_high,
            "midpoint": middle,
            "lag": max(0.0, middle - 2 / rate - float(t[0])),
            "start": top / (1 + np.exp(rate * (middle - t[0]))),
            "from": float(t[0]),
            "to": float(t[-1]),
            "points": len(t),
            "residual_sd": fit["sigma"],
        }
    elif method == "exponential":
        fit = fit_curve(
            lambda a: a[0] + a[1] * t, [np.array([np.log(y).mean(), 0.1 / max(np.ptp(t), 1e-300)])], np.log(y)
        )
        rate, error, low, high = estimate(fit, lambda a: a[1])
        row |= {
            "rate": rate,
            "rate_se": error,
            "rate_lower_95": low,
            "rate_upper_95": high,
            "from": float(t[0]),
            "to": float(t[-1]),
            "points": len(t),
            "intercept": float(fit["theta"][0]),
        }
    else:
        kept = above_noise(y, points)
        rate, intercept, first, last, used, r2 = steepest_log_growth(t[kept], y[kept], points)
        late = y[t > last]
        flat = (
            len(late) > 2
            and np.log(late[-3:].mean() / y[t >= last][0]) > 0
            and (np.polyfit(t[-3:], np.log(y[-3:]), 1)[0] < 0.1 * rate)
        )
        row |= {
            "rate": rate,
            "from": first,
            "to": last,
            "points": used,
            "faint": int((~kept).sum()),
            "r2": r2,
            "intercept": intercept,
            "lag": max(0.0, (np.log(row["start"]) - intercept) / rate - t[0]) if rate > 0 else np.nan,
            "plateau": float(np.median(y[-3:])) if flat else np.nan,
        }
    row["doubling_time"] = np.log(2) / row["rate"] if row["rate"] > 0 else np.nan
    return row


def time_words(time, time_unit):
    """Return how a rate and a time are said: ` per hour` and ` hours` where unit or column name one of time."""
    import re

    said = re.sub(r"[^a-z]", " ", (time_unit or str(time)).lower()).split()
    units = {"hour": "h hr hrs hour hours", "minute": "min mins minute minutes", "day": "d day days",
             "second": "s sec second seconds", "week": "wk week weeks"}  # fmt: skip
    found = [unit for unit, words in units.items() if set(said) & set(words.split())]
    if len(found) == 1:
        return f" per {found[0]}", f" {found[0]}s"
    return (f" per {time_unit}", f" {time_unit}") if time_unit else (f" per unit of {time}", "")


@tool(
    name="growth_rate",
    title="Growth curves",
    description=(
        "Gives the growth rate, doubling time, lag and plateau of every culture from density (OD, counts) over time: "
        "the steepest stretch of log density, a logistic curve or one exponential; then means over replicate cultures "
        "with 95 % intervals and comparisons of groups (Welch). Takes long tables and plates with a column a well."
    ),
    domain="pharmacology",
    task_type="analysis",
    methods=(
        "method=logistic and group => logistic curve of each culture, then Welch's t tests between groups, "
        "because each culture counts once",
        "method=exponential and group => exponential of each culture, then Welch's t tests between groups, "
        "because each culture counts once",
        "group => steepest stretch of log density of each culture, then Welch's t tests between groups, "
        "because each culture counts once",
        "method=logistic => logistic curve of each culture; no test",
        "method=exponential => exponential of each culture; no test",
        "steepest stretch of log density of each culture; no test",
    ),
    inputs={"table": "table: density over time"},
    outputs={
        "rates": "table: mean rate, doubling time, lag and plateau of every group",
        "wells": "table: the same of every culture",
        "comparisons": "table: differences in rate, lag and plateau between groups",
        "growth_plot": "figure: growth curves on a log axis with the stretches used",
    },
    optional_outputs=("comparisons",),
    params={
        "time": param("Column of times", kind="column", of="table", role="clock"),
        "density": param(
            "Column of densities (OD, cells)",
            kind="column",
            of="table",
            role="measure",
            needed=True,
            called=r"(.* )?(o ?d ?\d*|density|abs(orbance)?|turbidity|cells?|counts?|cfu|confluen\w+|biomass|weight|"
            r"length|size|height|volume|fluorescence|rfu|readings?|signal)( .*)?",
        ),
        "wells": param(
            "Columns of densities, one a culture, when the table is wide",
            kind="columns",
            of="table",
            role="wide",
            least=1,
            instead_of=["density", "group", "well"],
        ),
        "group": param("Column of strains or conditions", kind="column", of="table", role="group_optional"),
        "well": param(
            "Column that tells cultures (wells, replicates) apart", kind="column", of="table", role="subject"
        ),
        "levels": param("Only these groups; empty for all", kind="texts", role="levels", of="group"),
        "method": param(
            "How the rate is found",
            choices=["steepest", "logistic", "exponential"],
            words=[
                "logistic: logistic|carrying capacity|sigmoid",
                "exponential: exponential(?:ly)? (?:fit|model|curve|growth)",
            ],
        ),
        "points": param("Readings in the stretch that is tried as steepest", minimum=3, maximum=50),
        "blank": param("Density of the medium, taken off every reading", minimum=0, words=["blanks?", "background"]),
        "time_unit": param("Unit of the times (h, min, d)", role="time_unit"),
    },
    checks=("tables_not_empty", "p_values_valid", "findings_match_tables", "doubling_times_match"),
    keywords=(
        "growth curve",
        "growth rate",
        "doubling time",
        "generation time",
        "lag phase",
        "lag time",
        "carrying capacity",
        "stationary phase",
        "OD600",
        "plate reader",
        "exponential phase",
        "logistic growth",
        "maximum specific growth rate",
        "yield of a culture",
    ),
    citations=(
        Citation(
            title="Growth rates made easy",
            authors="Hall BG, Acar H, Nandipati A, Barlow M",
            year=2014,
            doi="10.1093/molbev/mst187",
        ),
    ),
    packages=("scipy", "numpy", "pandas"),
    seconds=3.0,
    example="How fast do the mutants grow, and how long is their lag?",
    next_steps=(NextStep(text="Look at the curve of every culture: air bubbles and condensation look like growth."),),
    answers=["growth_rate"],
    shows={
        "rates": ["group", "cultures", "rate", "lower_95", "upper_95", "doubling_time", "lag", "plateau"],
        "comparisons": ["comparison", "measure", "difference", "lower_95", "upper_95", "p_value", "p_adj"],
        "growth_plot": [],
    },
)
def growth_rate(
    table,
    *,
    time: str,
    density: str = "",
    wells: list[str] = [],  # noqa: B006 - a plain default, never changed
    group: str = "",
    well: str = "",
    levels: list[str] = [],  # noqa: B006 - a plain default, never changed
    method: str = "steepest",
    points: int = 5,
    blank: float = 0.0,
    time_unit: str = "",
):
    """Estimate growth of every culture, then of every group.

    Rates are of natural log density per unit of time (mu); doubling time is ln 2 / mu. The lag is the time at which
    the line through the steepest stretch reaches the starting density (median of the first three times). The logistic
    curve is N(t) = K / (1 + exp(-r (t - midpoint))); its lag is where the tangent at the midpoint reaches 0. Wells
    called blank or medium are taken off and no cultures.

    Raises:
        ValueError: for too few readings, densities that are not above the blank, or columns of the wrong kind.
    """
    import numpy as np
    import pandas as pd

    if method not in ("steepest", "logistic", "exponential"):
        raise ValueError(f"There is no method {method!r}; expected steepest, logistic or exponential.")
    long, warnings = growth_rows(table, time, density, list(wells), group, well)
    long, blank, notes = without_medium(long, blank)
    warnings += notes
    if levels:
        names = order_levels(long["group"].tolist())
        long = long[long["group"].isin([pick_level(level, names, group or "group") for level in levels])].copy()
    long["density"] -= blank
    dull = long["density"] <= 0
    if dull.any():
        warnings.append(
            f"{int(dull.sum())} of {len(long)} readings are not above 0{' after the blank' if blank else ''}"
            " and have no logarithm; they were left out."
        )
    long = long[~dull]
    pooled = 0
    rows = []
    for name, part in long.groupby("well", sort=False):
        same = part.groupby("time")["density"]
        pooled += int((same.size() > 1).sum())
        mean = same.mean()
        t, y = mean.index.to_numpy(dtype=float), mean.to_numpy()
        need = points if method == "steepest" else 4
        if len(t) < need:
            warnings.append(f"{name}: {len(t)} readings, fewer than the {need} needed; left out.")
            continue
        rows.append({"culture": name, "group": part["group"].iloc[0], **fit_growth(t, y, method, need)})
    if not rows:
        raise ValueError(
            f"No culture has at least {need if len(long) else points} readings of {density or 'density'} above 0; "
            "expected a density at several times. Choose other columns or fewer points."
        )
    if pooled:
        warnings.append(
            "Several readings of one culture at one time were averaged first; "
            + (
                "name the column of wells if they are separate cultures."
                if not well
                else "they are technical replicates."
            )
        )
    cultures = pd.DataFrame(rows)
    if method == "steepest" and (faint := int(cultures.pop("faint").sum())):
        warnings.append(f"{faint} readings lie within the noise of low readings; no stretch was sought in them.")
    order = order_levels(cultures["group"].tolist())
    cultures = cultures.sort_values("group", key=lambda c: c.map(order.index), kind="stable").reset_index(drop=True)
    rates = group_rates(cultures)
    tests = rate_comparisons(cultures, order) if len(order) > 1 else None
    per, late = time_words(time, time_unit)
    findings = []
    if tests is not None:
        findings += rates_overview(cultures, tests, order, group, per)
        findings += [comparison_finding(row, tests, per, late) for row in told_comparisons(tests)]
    for row in rates.head(12).to_dict("records"):
        who = (
            "The culture"
            if row["group"] == "all" and row["cultures"] == 1
            else (f"{row['cultures']} cultures" if row["group"] == "all" else row["group"])
        )
        sure = (
            f"{said_range(row['lower_95'], row['upper_95'])}" if row["lower_95"] == row["lower_95"] else "one culture"
        )
        grow = "grow" if who.endswith("cultures") else "grows"
        many = "one culture" if row["cultures"] == 1 else f"{row['cultures']} cultures"
        counted = "" if sure == "one culture" else f"; {many}"
        text = f"{who} {grow} at a rate of {format_number(row['rate'])}{per} ({sure}{counted})"
        text += (
            f", doubling in {format_number(row['doubling_time'])}{late}" if row["rate"] > 0 else ": no growth is seen"
        )
        if row["doubling_upper_95"] == row["doubling_upper_95"]:
            text += f" ({said_range(row['doubling_lower_95'], row['doubling_upper_95'])})"
        for key, words in (("lag", "lag"), ("plateau", "plateau")):
            text += f", {words} {format_number(row[key])}{late if key == 'lag' else ''}" if row[key] == row[key] else ""
        findings.append(
            {
                "text": text + ".",
                "output": "rates",
                "row": table_row(rates, group=row["group"]),
                "values": finding_values(
                    rate=(row["rate"], row["lower_95"], row["upper_95"]),
                    doubling_time=(row["doubling_time"], row["doubling_lower_95"], row["doubling_upper_95"]),
                    lag=row["lag"],
                    plateau=row["plateau"],
                ),
            }
        )
    if (rates["cultures"] == 1).any():
        warnings.append(
            "A group with one culture has no replicate: what its rate says of the strain is not known"
            + (" (limits are those of the fit)." if method != "steepest" else ".")
        )
    warnings += culture_remarks(cultures, method, density, blank)
    if not time_unit:
        warnings.append(f"The unit of {time} is not known; rates are per unit of the table.")
    figure, axis = new_axes(width=6.8)
    colours = colour_of(order)
    seen = set()
    for row in cultures.to_dict("records"):
        part = long[long["well"] == row["culture"]].groupby("time")["density"].mean()
        colour, marker = colours[row["group"]]
        label = row["group"] if row["group"] not in seen else None
        seen.add(row["group"])
        axis.plot(
            part.index,
            part.to_numpy(),
            marker,
            color=colour,
            markersize=3,
            alpha=0.5,
            label=label,
            linestyle="-",
            linewidth=0.6,
        )
        line = np.linspace(row["from"], row["to"], 100)
        if method == "logistic":
            axis.plot(line, row["plateau"] / (1 + np.exp(-row["rate"] * (line - row["midpoint"]))), color=colour)
        elif row["rate"] > 0 or method == "exponential":
            axis.plot(line, np.exp(row["intercept"] + row["rate"] * line), color=colour, linewidth=2.4)
    axis.set_yscale("log")
    finish_axes(
        axis,
        f"{time} ({time_unit})" if time_unit else time,
        f"{density or 'density'}{' minus blank' if blank else ''} (log scale; thick: used)",
        order,
        group,
    )
    return {
        "rates": rates,
        "wells": cultures,
        "comparisons": tests,
        "growth_plot": figure,
        "findings": findings,
        "warnings": warnings,
    }
