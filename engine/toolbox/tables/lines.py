"""Why a line needs its subjects: a mean over time hides who was measured, and who no longer was.

Each subject is a thin line and each group its mean with an interval over subjects, never over rows; the change from the
first to the last point is that of the subjects who have both.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation, NextStep
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.registry import param, tool
from engine.toolbox.tables.columns import (
    complete_rows,
    finding_values,
    format_number,
    label_groups,
    level_labels,
    likely_control,
    new_axes,
    numeric_values,
    order_levels,
    palette,
    plain_table,
    require_columns,
    shared_name,
)
from engine.toolbox.tables.rows import table_row


@check("line_intervals_hold_means")
def line_intervals_hold_means(step: StepOutputs) -> Iterator[Issue]:
    """Every mean of a line lies within its own interval, and an interval is given only from two subjects on."""
    table = step.table("line_table")
    known = table.dropna(subset=["lower_95"])
    slack = 1e-9 * known["mean"].abs() + 1e-12
    outside = (known["mean"] < known["lower_95"] - slack) | (known["mean"] > known["upper_95"] + slack)
    if outside.any() or (known["n"] < 2).any():
        message = "A mean lies outside its interval, or an interval stands beside a single value."
        yield Issue(code="mean_outside_interval", severity="error", message=message, where="line_table")


@check("line_changes_match")
def line_changes_match(step: StepOutputs) -> Iterator[Issue]:
    """A change is the last mean minus the first, within its interval."""
    table = step.table("change_table").dropna(subset=["change"])
    gap = (table["change"] - (table["mean_last"] - table["mean_first"])).abs()
    inside = ~((table["change"] < table["lower_95"] - 1e-9) | (table["change"] > table["upper_95"] + 1e-9))
    if (gap > 1e-9 * table["mean_first"].abs().clip(lower=1)).any() or not inside.all():
        message = "A change is not the difference of its two means, or lies outside its interval."
        yield Issue(code="change_differs", severity="error", message=message, where="change_table")


def calendar_order(levels):
    """Return levels in the order of time: months and weekdays by the calendar, a baseline first, else natural order."""
    names = ("jan feb mar apr may jun jul aug sep oct nov dec", "mon tue wed thu fri sat sun")
    for known in (text.split() for text in names):
        if len(levels) > 1 and all(level[:3].casefold() in known for level in levels):
            return sorted(levels, key=lambda level: known.index(level[:3].casefold()))
    first = [level for level in levels if level.casefold() in ("pre", "before", "baseline", "start", "screening")]
    first = first or [level for level in [likely_control(levels)] if level]
    return first + [level for level in levels if level not in first]


def line_places(column, name):
    """Return every row's place along the axis, place -> label where the axis has names, and if it holds dates."""
    import pandas as pd

    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        return numeric_values(column.to_frame(name), name), {}, False
    labels = level_labels(column)
    numbers = pd.to_numeric(labels, errors="coerce")
    if numbers.notna().all():
        return numbers.astype(float), {}, False
    if pd.api.types.is_datetime64_any_dtype(column) or labels.str.match(r"\d{4}-\d\d?(-\d\d?)?").all():
        dates = pd.to_datetime(labels, errors="coerce", format="mixed")
        if dates.notna().all():
            return (dates - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1), {}, True
    levels = calendar_order(order_levels(labels))
    if len(levels) > 60:
        raise ValueError(
            f"Column {name!r} holds {len(levels)} different texts, too many for the axis of a line plot; expected "
            "numbers, dates with the year first, or named occasions. Choose another column."
        )
    return labels.map({level: at for at, level in enumerate(levels)}).astype(float), dict(enumerate(levels)), False


def long_points(table, value, x, group, subject):
    """Return place, value, group and subject of a long table's rows, the axis's labels, if dates, and warnings."""
    import pandas as pd

    require_columns(table, [name for name in (value, x, group, subject) if name])
    table, warnings = complete_rows(table, [name for name in (value, x, group, subject) if name])
    if not len(table):
        raise ValueError("The table has no rows; expected at least two. Choose another file.")
    places, labels, dates = line_places(table[x], x)
    points = pd.DataFrame({"place": places, "value": numeric_values(table, value)})
    points["group"] = level_labels(table[group]) if group else "all"
    points["subject"] = level_labels(table[subject]) if subject else ""
    if not subject and group and points["group"].nunique() > 12:
        warnings.append(f"{group} has {points['group'].nunique()} values, so each is drawn as a thin line of its own.")
        points["subject"], points["group"] = points["group"], "all"
    return points, labels, dates, warnings


def wide_points(table, columns, group, subject):
    """Return the same of a wide table, a column an occasion; places are the numbers in the names where all differ."""
    import re

    import pandas as pd

    require_columns(table, [*columns, *(name for name in (group, subject) if name)])
    if len(set(columns)) < 2:
        raise ValueError(
            "A line needs at least two columns of one measurement, one for each occasion; name them in order."
        )
    kept, warnings = (
        complete_rows(table, [name for name in (group, subject) if name]) if group or subject else (table, [])
    )
    wide = pd.DataFrame({name: numeric_values(kept, name).to_numpy() for name in columns})
    numbers = [re.findall(r"\d+(?:\.\d+)?", name) for name in columns]
    last = [float(found[-1]) for found in numbers if found]
    rising = len(last) == len(columns) and sorted(set(last)) == last
    places = last if rising else list(range(len(columns)))
    groups = level_labels(kept[group]).to_numpy() if group else "all"
    rows = pd.Series([str(n + 1) for n in range(len(kept))])
    names = level_labels(kept[subject]).reset_index(drop=True) if subject else rows
    names = names.fillna(rows).where(~names.duplicated(keep=False), names + " (row " + rows + ")")
    parts = [pd.DataFrame({"place": at, "value": wide[name], "group": groups, "subject": names})
             for at, name in zip(places, columns, strict=True)]  # fmt: skip
    points = pd.concat(parts, ignore_index=True)
    gaps = int(points["value"].isna().sum())
    if gaps:
        warnings.append(f"{gaps} of {len(points)} values are missing and left out: lines pass over the gap.")
    return points.dropna(subset=["value"]), dict(zip(places, columns, strict=True)), False, warnings


def mean_row(values):
    """Return n, mean, SD, SEM and the t interval of values."""
    import numpy as np
    from scipy import stats

    n = len(values)
    sd = float(np.std(values, ddof=1)) if n > 1 else float("nan")
    sem = sd / np.sqrt(n)
    half = float(stats.t.ppf(0.975, n - 1)) * sem if n > 1 else float("nan")
    mean = float(np.mean(values))
    return {"n": n, "mean": mean, "median": float(np.median(values)), "sd": sd, "sem": float(sem),
            "lower_95": mean - half, "upper_95": mean + half}  # fmt: skip


def change_row(points, name, paired):
    """Return first and last place of a group with their means, and the change with its 95 % interval.

    With subjects, the change is that of those who have both ends (paired t interval); otherwise the difference of two
    means (Welch).
    """
    import numpy as np
    from scipy import stats

    first, last = points["place"].min(), points["place"].max()
    row = {"group": name, "first": first, "last": last, "n": 0}
    if first == last:
        return row
    a, b = (points[points["place"] == at].set_index("subject")["value"] for at in (first, last))
    half = float("nan")
    if paired:
        both = a.index.intersection(b.index)
        row |= {"n": len(both), "subjects_first": len(a), "subjects_last": len(b)}
        if not len(both):
            return row
        a, b = a.loc[both], b.loc[both]
        if len(both) > 1:
            half = float(stats.t.ppf(0.975, len(both) - 1) * (b - a).std(ddof=1) / np.sqrt(len(both)))
    else:
        row |= {"n": min(len(a), len(b)), "subjects_first": len(a), "subjects_last": len(b)}
        if min(len(a), len(b)) > 1:
            va, vb = a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)
            if va + vb > 0:
                df = (va + vb) ** 2 / (va**2 / (len(a) - 1) + vb**2 / (len(b) - 1))
                half = float(stats.t.ppf(0.975, df) * np.sqrt(va + vb))
    change = float(b.mean() - a.mean())
    return row | {"mean_first": float(a.mean()), "mean_last": float(b.mean()), "change": change,
                  "lower_95": change - half, "upper_95": change + half}  # fmt: skip


def line_figure(points, means, names, labels, dates, shown, interval):
    """Draw thin lines of subjects and the means of groups with their error bars."""
    import numpy as np
    import pandas as pd

    value, x, group = names
    levels = list(dict.fromkeys(means["group"]))
    figure, axis = new_axes(width=6.8 if group else 6.0, height=4.4)
    scale = (lambda at: pd.Timestamp("1970-01-01") + pd.to_timedelta(at, unit="D")) if dates else (lambda at: at)
    spread = np.ptp(means["place"]) or 1.0
    bars = {"95 % CI": means["upper_95"] - means["mean"], "SEM": means["sem"], "SD": means["sd"]}
    for at, (level, colour) in enumerate(zip(levels, palette(len(levels)), strict=True)):
        own = points[points["group"] == level]
        if shown != "means":
            subjects = list(dict.fromkeys(own["subject"]))
            for subject in np.random.default_rng(0).permutation(subjects)[: max(1, 200 // len(levels))]:
                line = own[own["subject"] == subject].sort_values("place")
                several = len(subjects) > 1
                axis.plot(scale(line["place"].to_numpy()), line["value"], color=colour, zorder=1, marker="." if
                          len(line) == 1 else None, alpha=0.35 if several else 1,
                          linewidth=0.8 if several else 1.6)  # fmt: skip
        mean = means[means["group"] == level].sort_values("place")
        label = f"{level} ({int(mean['n'].min())}" + (f"-{int(mean['n'].max())})" if np.ptp(mean["n"]) else ")")
        label = label.replace("(", "(n = ")
        if shown == "subjects":
            axis.plot([], [], color=colour, label=label)
            continue
        shift = 0.006 * spread * (at - (len(levels) - 1) / 2)  # bars of groups side by side, not on top
        places = scale(mean["place"].to_numpy() + shift)
        half = bars[interval].loc[mean.index].fillna(0) if interval in bars else None
        axis.errorbar(places, mean["mean"], yerr=half, color=colour, marker="os^Dv<>P"[at % 8], markersize=5,
                      linewidth=2, capsize=3, zorder=3, label=label)  # fmt: skip
    if labels:
        label_groups(axis, [str(name) for name in labels.values()], list(labels))
    elif dates:
        figure.autofmt_xdate()
    axis.set_xlabel(x)
    what = (
        "" if shown == "subjects" or means["n"].max() < 2 else "mean" + (f" ± {interval}" if interval in bars else "")
    )
    axis.set_ylabel(f"{value} ({what})" if what else value)
    if group:
        axis.legend(title=group, frameon=False, fontsize=8, bbox_to_anchor=(1.01, 1), loc="upper left")
    return figure, axis


def change_finding(row, names, shown_at, paired):
    """Return the sentence on the change of one group from its first to its last point."""
    value, x, group = names
    who = f"{group} {row['group']}: " if group else ""
    if row.get("change") is None or row["change"] != row["change"]:
        why = "only one point along the axis" if row["first"] == row["last"] else "no subject was measured at both ends"
        drawn = f"{who}{value} is drawn from {x} {shown_at(row['first'])} to {shown_at(row['last'])}"
        return {"text": f"{drawn}; no change of {value} can be given: {why}.", "values": []}
    verb = "rises" if row["change"] > 0 else "falls" if row["change"] < 0 else "stays the same"
    known = row["lower_95"] == row["lower_95"]
    unsure = (f" (change {format_number(row['change'])}, 95 % CI {format_number(row['lower_95'])} to "
              f"{format_number(row['upper_95'])}") if known else f" (change {format_number(row['change'])}"  # fmt: skip
    count = f"n = {row['n']}" + (" with both" if paired and row["n"] > 1 else "" if paired else
                                 f" and {row['subjects_last']}" if row["subjects_last"] != row["subjects_first"] else
                                     "")  # fmt: skip
    if not paired:
        count = count.replace(f"n = {row['n']}", f"n = {row['subjects_first']}")
    mean = ("mean " if who else "Mean ") if row["n"] > 1 else ""
    text = (
        f"{who}{mean}{value} {verb} from {format_number(row['mean_first'])} at {x} {shown_at(row['first'])} to "
        f"{format_number(row['mean_last'])} at {shown_at(row['last'])}{unsure}; {count})."
    )
    values = finding_values(change=(row["change"], row["lower_95"], row["upper_95"]), mean_first=row["mean_first"],
                            mean_last=row["mean_last"], n=row["n"])  # fmt: skip
    return {"text": text, "values": values}


def changes_finding(changes, names, drawn=""):
    """Return the finding on all groups: how many rise or fall, and which most; none of a single one.

    `drawn` says what the lines are of, where each is a subject's.
    """
    value, x, group = names
    known = [row for row in changes if row.get("change") is not None and row["change"] == row["change"]]
    if not group or len(known) < 2:
        return []
    order = sorted(known, key=lambda row: row["change"])
    up, down = sum(row["change"] > 0 for row in known), sum(row["change"] < 0 for row in known)
    ways = [f"rises in {up}" if up else "", f"falls in {down}" if down else ""]
    even = f"stays the same in {len(known) - up - down}" if up + down < len(known) else ""
    told = " and ".join(way for way in (*ways, even) if way)
    whole = f"{'rises' if up else 'falls'} in all {len(known)} groups of {group}"
    told = whole if len(known) in (up, down) else f"{told} of {len(known)} groups of {group}"
    ends = [f"{format_number(row['change'])} ({row['group']})" for row in (order[0], order[-1])]
    return [{
        "text": f"{drawn}{'from' if drawn else 'From'} first to last {x}, {'mean ' * bool(drawn)}{value} {told}: the "
                f"changes lie between {ends[0]} and {ends[1]}.",
        "values": finding_values(n_lines=len(known), n_rising=up, n_falling=down, largest=order[-1]["change"],
                                 smallest=order[0]["change"]),
        "output": "change_table",
    }]  # fmt: skip


@tool(
    name="line_plot",
    title="Line plot over time or dose",
    description=(
        "Draw a measurement along a time, a dose or named occasions: a thin line for each subject (spaghetti plot) and "
        "the mean of each group with its 95 % interval, SEM or SD over subjects. From a long table (value and x), or "
        "from columns of one measurement in order. Also for two conditions of the same subjects (paired lines). With "
        "the means and the change from the first to the last point as tables. Shows; tests nothing: use "
        "repeated_measures or mixed_model to test."
    ),
    domain="visualisation",
    task_type="visualization",
    methods=(
        "drawing with means; no test",
    ),
    complete=("value", "x", "group", "subject"),
    inputs={"table": "table: one row a measurement, or one row a subject with a column an occasion"},
    outputs={
        "line_plot": "figure: lines of subjects and means of groups",
        "line_table": "table: n, mean, SD, SEM and 95 % interval at every point",
        "change_table": "table: change from the first to the last point of every group",
    },
    params={
        "value": param("The measurement (long form)", kind="column", of="table", role="measure", needed=True),
        "x": param("Time, dose or occasion along the axis (long form)", kind="column", of="table", role="over",
                   needed=True),
        "columns": param("One column an occasion, in their order (wide form)", kind="columns", of="table", role="wide",
                         instead_of=["value", "x"], least=2),
        "group": param("One colour and mean for each level of this column", kind="column", of="table", role="split"),
        "subject": param("Who was measured several times: one thin line each", kind="column", of="table",
                         role="subject"),
        "show": param(
            "Lines of subjects, means of groups or both; auto draws subjects where they are known",
            choices=["auto", "both", "means", "subjects"],
            words=["both: spaghetti|trajector|individual (?:lines|curves)|(?:group )?means? on top|every .{0,30}thin "
                   "line",
                   "means: means?\\b|averages?\\b|error bars?"],
        ),
        "interval": param(
            "What the error bars are",
            choices=["95 % CI", "SEM", "SD", "none"],
            words=["SEM: sems?\\b|s\\.e\\.m|standard errors?", "SD: sds?\\b|standard deviations?",
                   "none: (?:without|no) (?:error bars?|interval|bars)", "95 % CI: 95|confidence|ci\\b"],
        ),
        "log": param(
            "Which axes are logarithmic",
            choices=["none", "x", "y", "both"],
            words=["both: log.?log|both axes", "x: log(?:arithmic)? (?:dose|x|conc)|semi.?log dose",
                   "y: log(?:arithmic)? y|log scale"],
        ),
        "unit": param("Unit of the value, for the axis"),
    },
    answers=["line_plot"],
    shows={
        "change_table": ["group", "first", "last", "n", "mean_first", "mean_last", "change", "lower_95", "upper_95"],
        "line_plot": [],
    },
    checks=("tables_not_empty", "findings_match_tables", "line_intervals_hold_means", "line_changes_match"),
    keywords=("line plot", "spaghetti plot", "time course", "growth curve", "line graph", "trajectory", "over time",
              "profile plot", "mean and SEM over time", "line chart", "paired lines", "before and after plot",
              "time series plot", "curve over days", "dose curve"),
    citations=(
        Citation(
            title="Beyond bar and line graphs: time for a new data presentation paradigm",
            authors="Weissgerber TL, Milic NM, Winham SJ, Garovic VD",
            year=2015,
            doi="10.1371/journal.pbio.1002128",
        ),
    ),
    packages=("matplotlib", "numpy", "pandas", "scipy"),
    seconds=3.0,
    example="Draw the circumference of each tree over its age, one line per tree.",
    next_steps=(
        NextStep(
            text="A figure tests nothing; ask whether the change differs between the levels of {param:group} (a mixed "
            "model with the interaction).",
            needs_param="group",
            unless_tool="mixed_model",
        ),
    ),
)  # fmt: skip
def line_plot(
    table,
    *,
    value: str = "",
    x: str = "",
    columns: list[str] = [],  # noqa: B006 - a plain default, never changed
    group: str = "",
    subject: str = "",
    show: str = "auto",
    interval: str = "95 % CI",
    log: str = "none",
    unit: str = "",
):
    """Draw a measurement over time, dose or occasions, with the means and changes it shows as tables.

    Values and changes are in the unit of the column; intervals are 95 % t intervals over subjects (rows where no
    subject is named), not adjusted for the number of points (subjects beside means: Weissgerber and
    others 2015).

    Raises:
        ValueError: when neither form is named, a column does not fit its part, or nothing is left to draw.
    """
    import pandas as pd

    table = plain_table(table)
    if bool(columns) == bool(value and x):
        raise ValueError(
            "Expected either a measurement and what it is drawn along (value and x), or several columns of one "
            "measurement in order. Name one of these two forms."
        )
    chosen = [name for name in (value, x, *columns, group, subject) if name]
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"The same column serves twice ({', '.join(chosen)}); expected different columns.")
    if columns:
        points, labels, dates, warnings = wide_points(table, columns, group, subject)
    else:
        points, labels, dates, warnings = long_points(table, value, x, group, subject)
    for axis_name, column, on in (("x", "place", log in ("x", "both")), ("y", "value", log in ("y", "both"))):
        below = int((points[column] <= 0).sum()) if on else 0
        if below:
            warnings.append(f"{below} points at zero or below are not drawn on the logarithmic {axis_name} axis.")
            points = points[points[column] > 0]
    if points["place"].nunique() < 2:
        raise ValueError(
            f"There is only one value of {x or 'the occasions'} with data; a line needs at least two points."
        )
    levels = order_levels(points["group"])
    if len(levels) > 12:
        raise ValueError(
            f"Column {group!r} has {len(levels)} groups; at most 12 can be told apart. Choose another column."
        )
    paired = bool((points["subject"] != "").any())
    if paired:
        rows = len(points)
        points = points.groupby(["group", "subject", "place"], sort=False, as_index=False)["value"].mean()
        if len(points) < rows:
            warnings.append(f"{rows - len(points)} rows repeat a subject at the same point; these were averaged first.")
    means = pd.DataFrame(
        [{"group": level, "place": at} | mean_row(part["value"].to_numpy())
         for level in levels for at, part in points[points["group"] == level].groupby("place")]
    )  # fmt: skip
    changes = [change_row(points[points["group"] == level], level, paired) for level in levels]
    many = means["n"].max() > 1
    shown = show if show != "auto" else "subjects" if paired and not many else "both" if paired else "means"
    if shown in ("both", "subjects") and not paired:
        warnings.append("No column of subjects is named, so only means are drawn; set subject for a line each.")
        shown = "means"
    subjects = points.groupby("group")["subject"].nunique() if paired else pd.Series(dtype=int)
    if shown == "both" and not many:
        shown = "subjects"
    if shown != "means" and subjects.sum() > 200:
        warnings.append("Only about 200 of the subjects' lines are drawn (a random choice); means and tables hold all.")
    left = [row["group"] for row in changes if row.get("subjects_last", 0) < row.get("subjects_first", 0)]
    if paired and left and shown != "subjects":
        kept = "; ".join(f"{row['group'] if group else 'subjects'} {row['subjects_first']} to {row['subjects_last']}"
                         for row in changes if row["group"] in left)  # fmt: skip
        warnings.append(
            f"Fewer subjects are measured at the end than at the start ({kept}): the line of means can move because of "
            "who is left. The changes given here are those of subjects with both ends."
        )
    if many and shown != "subjects" and means["n"].min() < 3:
        warnings.append("Some means are of fewer than 3 values; their intervals are very wide or missing.")
    names = (value or shared_name(columns), x or "occasion", group)
    figure, axis = line_figure(points, means, (names[0] + (f" ({unit})" if unit else ""), *names[1:]), labels, dates,
                               shown, interval)  # fmt: skip
    for on, scale in ((log in ("x", "both"), axis.set_xscale), (log in ("y", "both"), axis.set_yscale)):
        if on:
            scale("log")

    def shown_at(place):
        if dates:
            return str((pd.Timestamp("1970-01-01") + pd.Timedelta(days=float(place))).date())
        return str(labels.get(place, f"{place:g}"))

    given = ["group", "first", "last", "n", "subjects_first", "subjects_last", "mean_first", "mean_last", "change",
             "lower_95", "upper_95"]  # fmt: skip
    # Where no subject has both ends no group has a change; the column is there all the same.
    change_table = pd.DataFrame(changes).reindex(columns=given)
    findings = [
        change_finding(row, names, shown_at, paired)
        | {"output": "change_table", "row": table_row(change_table, group=row["group"])}
        for row in changes
    ]  # fmt: skip
    lines = f"{subjects.sum()} lines of {subject} are drawn; " if subject and shown != "means" else ""
    findings = changes_finding(changes, names, lines) + findings
    for frame in (means, change_table):
        for column in [name for name in ("place", "first", "last") if name in frame]:
            frame[column] = [shown_at(at) if labels or dates else at for at in frame[column]]
    means = means.rename(columns={"place": "at"})
    return {"line_plot": figure, "line_table": means, "change_table": change_table, "findings": findings,
            "warnings": warnings}  # fmt: skip
