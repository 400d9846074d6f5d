"""Concentration over time without a model of compartments: each subject first, then the subjects together.

A mean profile hides that subjects peak at different times; so areas, peaks and half-lives are found for every subject
and only then summarised, and every half-life says from which points it comes.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation, NextStep
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.pharmacology.fitting import (
    CURVE_HELPERS,
    colour_of,
    finish_axes,
    said_range,
    separating_column,
    split_curves,
)
from engine.toolbox.registry import param, tool
from engine.toolbox.tables.columns import (
    finding_values,
    format_number,
    level_labels,
    new_axes,
    numeric_values,
    order_levels,
    plain_table,
    require_columns,
)
from engine.toolbox.tables.rows import table_row


@check("exposure_adds_up")
def exposure_adds_up(step: StepOutputs) -> Iterator[Issue]:
    """No area to infinity is below the area to the last point, and a half-life is ln 2 over its rate."""
    import math

    table = step.table("subjects").dropna(subset=["half_life"])
    if (table["auc_inf"] < table["auc_last"]).any() or (
        (table["half_life"] * table["lambda_z"] - math.log(2)).abs() > 1e-6
    ).any():
        message = "An area to infinity is below the area measured, or a half-life is not ln 2 over its rate."
        yield Issue(code="exposure_differs", severity="error", message=message, where="subjects")


def quantified(table, name):
    """Return concentrations, NaN where below the limit of quantification (<0.05, BLQ, ...), and which are so."""
    import pandas as pd

    text = table[name].astype(str).str.strip()
    below = text.str.fullmatch(
        r"(?i)<\s*\d*[.,]?\d*\s*\S*|b\.?l\.?o?q\.?|b\.?q\.?l\.?|<?\s*ll?oq|nd|n\.d\.|blloq|not detected"
    )
    below &= table[name].notna()
    if not below.any():
        return numeric_values(table, name), below
    values = pd.Series(float("nan"), index=table.index)
    values[~below] = numeric_values(table.loc[~below], name)
    return values, below


def profile_columns(table, time, concentration, subject, group, dose_column, dose):
    """Return the columns of subject, group and dose, found in the data where none is named, and what was taken so."""
    notes = []
    whole = table.dropna(subset=[time, concentration])
    if group and (not subject or whole[subject].nunique() < 2) and not whole.duplicated([group, time]).any():
        subject, group = group, ""  # one profile for each value: these are the subjects
    if not subject:
        found = separating_column(whole, [time, *([group] if group else [])], {time, concentration, group, dose_column})
        if found:
            subject = found
            notes.append(
                f"{found} was taken to tell the subjects apart: with it no subject has two samples at one time."
            )
    if not dose_column and dose is None:
        named = [
            str(name)
            for name in table.columns
            if str(name).casefold().split("(")[0].split("_")[0].strip() in ("dose", "amt", "amount")
            and str(name) not in (time, concentration, subject, group)
        ]
        keys = [name for name in (subject, group) if name]
        if len(named) == 1 and (whole.groupby(keys)[named[0]].nunique() if keys else whole[named].nunique()).max() == 1:
            dose_column = named[0]
            notes.append(f"The dose of every subject was taken from column {dose_column}.")
    return subject, group, dose_column, notes


def trapezoids(t, c):
    """Return area and first-moment area by the linear rule while rising, the logarithmic rule while falling."""
    import math

    area = moment = 0.0
    for t1, t2, c1, c2 in zip(t[:-1], t[1:], c[:-1], c[1:], strict=True):
        if 0 < c2 < c1:
            k = math.log(c1 / c2) / (t2 - t1)
            area += (c1 - c2) / k
            moment += (t1 * c1 - t2 * c2) / k + (c1 - c2) / k**2
        else:
            area += (t2 - t1) * (c1 + c2) / 2
            moment += (t2 - t1) * (t1 * c1 + t2 * c2) / 2
    return area, moment


def terminal_rate(t, c, include_peak):
    """Return the terminal rate (lambda z), its points and adjusted R2: the last 3 or more points best on a line.

    Of fits whose adjusted R2 is within 0.0001 of the best, the one with most points is taken.
    """
    import numpy as np

    first = int(np.argmax(c)) + (0 if include_peak else 1)
    t, logs = t[first:], np.log(c[first:])
    fits = []
    for n in range(3, len(t) + 1):
        x, y = t[-n:], logs[-n:]
        slope, intercept = np.polyfit(x, y, 1)
        spread = float(((y - y.mean()) ** 2).sum())
        if spread <= 0:
            continue
        left = float(((y - intercept - slope * x) ** 2).sum())
        fits.append((1 - left / spread * (n - 1) / (n - 2), n, -float(slope), float(intercept)))
    if not fits:
        return None
    best = max(fit[0] for fit in fits)
    r2, n, rate, intercept = max((fit for fit in fits if fit[0] >= best - 1e-4), key=lambda fit: fit[1])
    if rate <= 0:
        return None
    return {
        "lambda_z": rate,
        "half_life": float(np.log(2) / rate),
        "terminal_points": n,
        "terminal_r2_adj": r2,
        "terminal_from": float(t[-n]),
        "terminal_to": float(t[-1]),
        "intercept": intercept,
    }


def profile_row(t, c, below, dose, route):
    """Return the parameters of one profile, and notes on what was assumed.

    Args:
        below: which are below the limit of quantification: 0 before the first that is not, else left out.
    """
    import numpy as np

    notes = []
    seen = ~below
    if not (c[seen] > 0).any():
        return {"n": int(seen.sum())}, ["no concentration above 0"]
    first = int(np.argmax(seen & (np.nan_to_num(c) > 0)))
    c = np.where(below, 0.0, c)
    keep = seen | (np.arange(len(c)) < first)
    t, c = t[keep], c[keep]
    last = int(np.nonzero(c > 0)[0][-1])
    t, c = t[: last + 1], c[: last + 1]
    peak, n = int(np.argmax(c)), len(c)
    row = {"n": n, "cmax": float(c[peak]), "tmax": float(t[peak]), "t_last": float(t[-1]), "c_last": float(c[-1])}
    measured = t[c > 0], c[c > 0]
    if t[0] > 0:
        start = 0.0
        if route == "iv_bolus" and n > 1 and 0 < c[1] < c[0]:
            start = float(c[0] * (c[0] / c[1]) ** (t[0] / (t[1] - t[0])))
            notes.append("the concentration at time 0 was extrapolated back from the first two points")
        elif route == "iv_bolus":
            start = float(c[0])
            notes.append("the first concentration was taken for time 0")
        else:
            notes.append("a concentration of 0 was put at time 0")
        t, c = np.insert(t, 0, 0.0), np.insert(c, 0, start)
    area, moment = trapezoids(t, c)
    row["auc_last"] = area
    end = terminal_rate(*measured, route == "iv_bolus")
    if end is None:
        return row, [*notes, "no half-life: fewer than 3 falling points after the peak"]
    rate = end["lambda_z"]
    whole = area + c[-1] / rate
    row |= end | {
        "auc_inf": whole,
        "extrapolated_percent": 100 * (whole - area) / whole,
        "mrt": (moment + c[-1] * t[-1] / rate + c[-1] / rate**2) / whole,
    }
    if dose is not None and dose == dose:
        row |= {"dose": float(dose), "clearance": float(dose) / whole, "volume_z": float(dose) / whole / rate}
    return row, notes


def summarised(rows, keys):
    """Return a row per parameter and group: geometric mean with its interval and CV, median and range."""
    import numpy as np
    from scipy import stats

    out = []
    for name in order_levels([row["group"] for row in rows]):
        for key in keys:
            values = np.array(
                [row[key] for row in rows if row["group"] == name and row.get(key, np.nan) == row.get(key)]
            )
            values = values[~np.isnan(values)] if len(values) else values
            if not len(values):
                continue
            row = {
                "group": name,
                "parameter": key,
                "n": len(values),
                "median": float(np.median(values)),
                "min": float(values.min()),
                "max": float(values.max()),
            }
            if (values > 0).all() and key != "tmax":
                logs = np.log(values)
                row["geometric_mean"] = float(np.exp(logs.mean()))
                if len(values) > 1:
                    sd = float(logs.std(ddof=1))
                    half = float(stats.t.ppf(0.975, len(values) - 1)) * sd / len(values) ** 0.5
                    row |= {
                        "lower_95": float(np.exp(logs.mean() - half)),
                        "upper_95": float(np.exp(logs.mean() + half)),
                        "cv_percent": 100 * float(np.sqrt(np.exp(sd**2) - 1)),
                    }
            out.append(row)
    return out


@tool(
    name="pharmacokinetics",
    title="Non-compartmental pharmacokinetics",
    description=(
        "Gives AUC (linear up, log down), Cmax, Tmax, terminal half-life with the points it rests on, and with "
        "the dose "
        "clearance and volume, for every subject; then geometric means with 95 % intervals, by group if there is one."
    ),
    domain="pharmacology",
    task_type="analysis",
    inputs={"table": "table: one row a sample of a subject"},
    outputs={
        "summary": "table: every parameter over the subjects, by group",
        "subjects": "table: parameters of every subject",
        "pk_plot": "figure: concentrations over time with the terminal lines",
    },
    params={
        "time": param("Column of times since the dose", kind="column", of="table", role="over"),
        "concentration": param(
            "Column of concentrations",
            kind="column",
            of="table",
            role="measure",
            called=r"(plasma |serum |blood |drug )?(conc\w*|cp|dv|level|konz\w*)( .*)?|.* (ng|ug|mg|mcg|pg) (ml|l|dl)",
        ),
        "subject": param(
            "Column that tells subjects apart; empty for one",
            kind="column",
            of="table",
            role="subject",
            called=r"(id|subj(ect)?|pat(ient)?|animal|volunteer|participant|rat|mouse|dog|cow|proband)( (id|no|nr))?",
        ),
        "group": param("Column of formulations, doses or groups", kind="column", of="table", role="group_optional"),
        "dose_column": param(
            "Column of the dose of every subject",
            kind="column",
            of="table",
            role="exposure",
            called=r"(dose|dosis|amt|amount)( .*)?",
        ),
        "dose": param("The dose, when it is the same for all", minimum=0, words=["dose", "doses", "given"]),
        "route": param(
            "How the drug was given",
            choices=["extravascular", "iv_bolus"],
            words=["iv_bolus: i\\.?v\\.?\\b|intravenous|bolus", "extravascular: oral|by mouth|subcut|p\\.o\\."],
        ),
        "time_unit": param("Unit of the times", role="time_unit"),
        "concentration_unit": param("Unit of the concentrations"),
    },
    checks=("tables_not_empty", "findings_match_tables", "exposure_adds_up"),
    keywords=(
        "non-compartmental analysis",
        "NCA",
        "area under the curve",
        "AUC",
        "Cmax",
        "Tmax",
        "half-life",
        "terminal half-life",
        "clearance",
        "volume of distribution",
        "mean residence time",
        "plasma concentration",
        "lambda z",
        "pharmacokinetic profile",
    ),
    citations=(
        Citation(title="Pharmacokinetics", authors="Gibaldi M, Perrier D", year=1982),
        Citation(
            title="Simplifying and extending pharmacokinetic analyses with PKNCA",
            authors="Denney W, Duvvuri S, Buckeridge C",
            year=2015,
            doi="10.1007/s10928-015-9432-2",
        ),
    ),
    packages=("scipy", "numpy", "pandas"),
    seconds=2.0,
    example="What are AUC, Cmax and half-life of the drug in each patient?",
    next_steps=(NextStep(text="Look at the terminal line of every subject before its half-life is believed."),),
    helpers=(*CURVE_HELPERS, quantified, profile_columns, trapezoids, terminal_rate, profile_row, summarised),
    answers=["pharmacokinetics"],
)
def pharmacokinetics(
    table,
    *,
    time: str,
    concentration: str,
    subject: str = "",
    group: str = "",
    dose_column: str = "",
    dose: float | None = None,
    route: str = "extravascular",
    time_unit: str = "",
    concentration_unit: str = "",
):
    """Analyse profiles without compartments (Gibaldi and Perrier 1982).

    AUC is in concentration x time, clearance in dose / (concentration x time), volume in dose / concentration; after
    extravascular doses both are apparent (CL/F, Vz/F). Values below quantification count as 0 before the first
    concentration and are left out after it.

    Raises:
        ValueError: when no subject has three concentrations, or a dose changes within a subject.
    """
    import numpy as np
    import pandas as pd

    if route not in ("extravascular", "iv_bolus"):
        raise ValueError(f"There is no route {route!r}; expected extravascular or iv_bolus.")
    table = plain_table(table)
    require_columns(table, [name for name in (time, concentration, subject, group, dose_column) if name])
    subject, group, dose_column, taken = profile_columns(table, time, concentration, subject, group, dose_column, dose)
    table, labels, _, warnings = split_curves(
        table, [time, concentration, *([group] if group else [])], subject, limit=500
    )
    warnings += taken
    t = numeric_values(table, time)
    c, below = quantified(table, concentration)
    doses = numeric_values(table, dose_column) if dose_column else pd.Series(np.nan, index=table.index)
    if (c < 0).any():
        raise ValueError(
            f"Column {concentration!r} holds {int((c < 0).sum())} negative concentrations; expected 0 or more."
        )
    groups = level_labels(table[group]) if group else pd.Series("all", index=table.index, dtype=object)
    early = t < 0
    if early.any():
        warnings.append(f"{int(early.sum())} samples taken before the dose (time below 0) were left out.")
    if below.any():
        warnings.append(
            f"{int(below.sum())} concentrations below quantification count as 0 before the first one measured "
            "and are left out after it."
        )
    frame = pd.DataFrame({"t": t, "c": c, "below": below, "subject": labels, "group": groups, "dose": doses})[~early]
    rows, notes, kept, averaged = [], {}, {}, 0
    for (who, which), part in frame.groupby(["subject", "group"], sort=False):
        name = f"{who}, {which}" if group and subject else which if group else who
        given = part["dose"].dropna().unique()
        if len(given) > 1:
            raise ValueError(
                f"{name}: the dose changes within the profile ({', '.join(f'{g:g}' for g in given[:4])}); "
                "name the column that tells the occasions apart as the group."
            )
        averaged += int(part.duplicated("t").sum())
        part = part.groupby("t").agg({"c": "mean", "below": "all"}).reset_index()
        if (part["c"] > 0).sum() < 2 or len(part) < 3:
            notes.setdefault("fewer than 3 samples or 2 concentrations above 0; left out", []).append(name)
            continue
        amount = float(given[0]) if len(given) else dose
        row, said = profile_row(
            part["t"].to_numpy(dtype=float),
            part["c"].to_numpy(dtype=float),
            part["below"].to_numpy(dtype=bool),
            amount,
            route,
        )
        for text in said:
            notes.setdefault(text, []).append(name)
        rows.append({"profile": name, "subject": who, "group": which, **row})
        kept[name] = part
    if not rows:
        raise ValueError(
            f"No subject has at least 3 samples with concentrations above 0 in {concentration!r}; expected "
            "several samples of each subject. Choose other columns."
        )
    if averaged:
        warnings.append(
            f"{averaged} samples share their time with another of the same profile and were averaged"
            + ("." if subject else "; name the column of subjects if they are several subjects.")
        )
    for text, names in notes.items():
        who = f"{len(names)} profiles" if len(names) > 3 else ", ".join(names)
        warnings.append(f"{who}: {text}.")
    profiles = pd.DataFrame(rows)
    for key in ("lambda_z", "half_life", "auc_inf", "terminal_points", "extrapolated_percent", "terminal_r2_adj"):
        if key not in profiles:
            profiles[key] = np.nan
    far = profiles[profiles["extrapolated_percent"] > 20]["profile"].tolist()
    if far:
        warnings.append(
            f"More than 20 % of the area to infinity is extrapolated in {len(far)} of {len(profiles)} profiles "
            f"({', '.join(far[:5])}): AUC to infinity, clearance and volume are unsure there."
        )
    bent = profiles[profiles["terminal_r2_adj"] < 0.9]["profile"].tolist()
    if bent:
        warnings.append(f"The terminal points do not lie on a line (adjusted R2 below 0.9) in: {', '.join(bent[:5])}.")
    short = profiles["half_life"] > profiles.get("terminal_to", np.nan) - profiles.get("terminal_from", np.nan)
    if short.any():
        warnings.append(
            "The half-life is longer than the time over which it was read in: "
            + ", ".join(profiles.loc[short, "profile"].head(5))
            + "."
        )
    keys = ["auc_last", "auc_inf", "cmax", "tmax", "half_life", "mrt", "clearance", "volume_z"]
    summary = pd.DataFrame(summarised(profiles.to_dict("records"), [key for key in keys if key in profiles]))
    for key in ("geometric_mean", "lower_95", "upper_95", "cv_percent"):
        if key not in summary:
            summary[key] = np.nan
    apparent = "/F" if route == "extravascular" else ""
    area_unit = f" {concentration_unit} x {time_unit}" if concentration_unit and time_unit else ""
    titles = {
        "auc_inf": ("AUC to infinity", area_unit),
        "auc_last": ("AUC to the last sample", area_unit),
        "cmax": ("Cmax", f" {concentration_unit}".rstrip()),
        "half_life": ("half-life", f" {time_unit}".rstrip()),
        "tmax": ("Tmax", f" {time_unit}".rstrip()),
        "clearance": (f"clearance (CL{apparent})", ""),
        "volume_z": (f"volume (Vz{apparent})", ""),
    }
    findings = []
    for name in order_levels(profiles["group"].tolist())[:6]:
        part = summary[summary["group"] == name].set_index("parameter")
        for key, (title, unit) in titles.items():
            if key not in part.index or (key == "auc_last" and "auc_inf" in part.index):
                continue
            row = part.loc[key]
            where = "" if name == "all" else f" in {name}"
            if key == "tmax" or row["n"] == 1:
                text = f"{title[0].upper()}{title[1:]}{where}: {format_number(row['median'])}{unit}"
                text += f" (median; {format_number(row['min'])} to {format_number(row['max'])})" if row["n"] > 1 else ""
                value = {"median": row["median"]}
            else:
                text = (
                    f"{title[0].upper()}{title[1:]}{where}: geometric mean "
                    f"{format_number(row['geometric_mean'])}{unit} "
                    f"({said_range(row['lower_95'], row['upper_95'])}; CV {row['cv_percent']:.0f} %)"
                )
                value = {"geometric_mean": (row["geometric_mean"], row["lower_95"], row["upper_95"])}
            text += f", n = {int(row['n'])} {'profile' if row['n'] == 1 else 'profiles'}."
            if key == "half_life" and row["n"] == 1:
                one = profiles.loc[profiles["group"] == name].dropna(subset=["half_life"]).iloc[0]
                text = text[:-1] + (
                    f", from the last {int(one['terminal_points'])} samples ("
                    f"{format_number(one['terminal_from'])} to {format_number(one['terminal_to'])})."
                )
            findings.append(
                {
                    "text": text,
                    "values": finding_values(**value),
                    "output": "summary",
                    "row": table_row(summary, group=name, parameter=key),
                }
            )
    if "clearance" not in profiles:
        warnings.append("No dose is given, so clearance and volume are not computed.")
    figure, axis = new_axes(width=6.6)
    order = order_levels(profiles["group"].tolist())
    colours, seen = colour_of(order), set()
    for row in profiles.to_dict("records"):
        part = kept[row["profile"]]
        part = part[part["c"] > 0]
        colour, marker = colours[row["group"]]
        label = None if row["group"] in seen else row["group"]
        seen.add(row["group"])
        axis.plot(
            part["t"],
            part["c"],
            marker,
            color=colour,
            markersize=3.5,
            linestyle="-",
            linewidth=0.7,
            alpha=0.7,
            label=label,
        )
        if row["half_life"] == row["half_life"]:
            line = np.array([row["terminal_from"], row["terminal_to"]])
            axis.plot(
                line, np.exp(row["intercept"] - row["lambda_z"] * line), color=colour, linewidth=1.8, linestyle="--"
            )
    axis.set_yscale("log")
    finish_axes(
        axis,
        f"{time}{f' ({time_unit})' if time_unit else ''}; dashed: terminal lines",
        f"{concentration}{f' ({concentration_unit})' if concentration_unit else ''} (log scale)",
        order,
        group,
    )
    return {
        "summary": summary,
        "subjects": profiles.drop(columns=["intercept"], errors="ignore"),
        "pk_plot": figure,
        "findings": findings,
        "warnings": warnings,
    }
