"""Concentration over time without a model of compartments: each subject first, then the subjects together.

A mean profile hides that subjects peak at different times; so areas, peaks and half-lives are found for every subject
and only then summarised, and every half-life says from which points it comes.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation, NextStep
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.pharmacology.exposures import compared_exposures, exposures_finding
from engine.toolbox.pharmacology.fitting import (
    colour_of,
    finish_axes,
    said_range,
    split_curves,
)
from engine.toolbox.pharmacology.profiles import (
    dose_by_weight,
    profile_columns,
    profile_row,
    quantified,
    summarised,
    unit_in,
    without_value,
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


_TO_LAST = r"\bAUC ?(?:last|0[- ]?t|t)\b|\b(?:to|till|until) the last (?:sample|time|point|measur|quantif)"
_WHEN = r"\b(?:when|how (?:long|soon|fast)|(?:what|which) time|time)\b[^.?!]*\b(?:peaks?|highest|max\w*|top)\b"
"""Asks for the time of the highest concentration."""


@tool(
    name="pharmacokinetics",
    title="Non-compartmental pharmacokinetics",
    description=(
        "Gives AUC (linear up, log down, or linear), Cmax, Tmax, terminal half-life with the points it rests on, and "
        "with the dose clearance and volume, for every subject; then geometric means with 95 % intervals, by group if "
        "there is one."
    ),
    domain="pharmacology",
    task_type="analysis",
    methods=("non-compartmental analysis of each subject; no test",),
    inputs={"table": "table: one row a sample of a subject"},
    outputs={
        "summary": "table: every parameter over the subjects, by group",
        "subjects": "table: parameters of every subject",
        "ratios": "table: ratios of the geometric means of two groups",
        "pk_plot": "figure: concentrations over time with the terminal lines",
    },
    optional_outputs=("ratios",),
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
            words=[
                "iv_bolus: i\\.?v\\.?\\b|intraven\\w*|bolus|(?:tail|into (?:a|the)) vein",
                "extravascular: oral|by mouth|subcut|p\\.o\\.",
            ],
        ),
        "auc_rule": param(
            "Rule of the area: logarithmic while falling, or linear throughout",
            choices=["linear_up_log_down", "linear"],
            words=["linear_up_log_down: log.?(?:linear|trapez)|linear.?up", "linear: (?<!log.)linear trapez\\w*"],
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
        "drug in plasma",
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
            title="Simple, automatic noncompartmental analysis: the PKNCA R package",
            authors="Denney W, Duvvuri S, Buckeridge C",
            year=2015,
            doi="10.1007/s10928-015-9432-2",
        ),
    ),
    packages=("scipy", "numpy", "pandas"),
    seconds=2.0,
    example="What are AUC, Cmax and half-life of the drug in each patient?",
    next_steps=(NextStep(text="Look at the terminal line of every subject before its half-life is believed."),),
    leads={
        "tmax": rf"{_WHEN}|\bT ?max\b",
        "cmax": rf"(?s)^(?!.*(?:{_WHEN}|\bT ?max\b)).*(?:\bC ?max\b|\bpeaks?\b|\b(?:highest|maximum) (?:level|conc))",
        "half_life": r"\bhalf.?li(?:fe|ves)\b",
        "auc_inf": rf"(?s)^(?!.*(?:{_TO_LAST})).*(?:\bAUC|\barea under|\bexposure)",
        "auc_last": rf"(?s)^(?=.*(?:{_TO_LAST})).*(?:\bAUC|\barea under|\bexposure)",
        "clearance": r"\bclearance\b|\bcleared\b",
        "volume_z": r"\bvolume\b",
    },
    answers=["pharmacokinetics"],
    shows={"summary": ["group", "parameter", "n", "geometric_mean", "lower_95", "upper_95", "median", "min", "max"]},
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
    auc_rule: str = "linear_up_log_down",
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
    if auc_rule not in ("linear_up_log_down", "linear"):
        raise ValueError(f"There is no rule {auc_rule!r} of the area; expected linear_up_log_down or linear.")
    table = plain_table(table)
    require_columns(table, [name for name in (time, concentration, subject, group, dose_column) if name])
    subject, group, dose_column, taken = profile_columns(table, time, concentration, subject, group, dose_column, dose)
    time_unit = time_unit or unit_in(time, "time")
    concentration_unit = concentration_unit or unit_in(concentration, "concentration")
    taken += without_value(table, time, concentration, [name for name in (subject, group) if name])
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
            auc_rule == "linear",
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
    peaks = [kept[row["profile"]].query("c > 0")["t"].min() == row["tmax"] for row in rows]
    if route == "extravascular" and len(peaks) > 1 and all(peaks):
        warnings.append(
            "Every profile is highest in its first sample with the drug and falls from there, as after a bolus into a "
            "vein. Taken as extravascular, no concentration at time 0 is extrapolated; if it was injected into a vein, "
            "set route to iv_bolus: areas, clearance and volume change."
        )
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
    by_weight, notes = dose_by_weight(table, dose_column)
    warnings += notes
    apparent = "/F" if route == "extravascular" else ""
    area_unit = f" {concentration_unit} x {time_unit}" if concentration_unit and time_unit else ""
    titles = {
        "auc_inf": ("AUC to infinity", area_unit),
        "auc_last": ("AUC to the last sample", area_unit),
        "cmax": ("Cmax", f" {concentration_unit}".rstrip()),
        "half_life": ("half-life", f" {time_unit}".rstrip()),
        "tmax": ("Tmax", f" {time_unit}".rstrip()),
        "clearance": (f"clearance{by_weight} (CL{apparent})", ""),
        "volume_z": (f"volume{by_weight} (Vz{apparent})", ""),
    }
    findings = []
    for name in order_levels(profiles["group"].tolist())[:6]:
        part = summary[summary["group"] == name].set_index("parameter")
        for key, (title, unit) in titles.items():
            if key not in part.index:
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
            if key == "half_life" and row["n"] > 1:
                own = profiles.loc[profiles["group"] == name].dropna(subset=["half_life"])
                low, high = int(own["terminal_points"].min()), int(own["terminal_points"].max())
                text = text[:-1] + (
                    f", each from its last {low if low == high else f'{low} to {high}'} measured samples "
                    f"({format_number(own['terminal_from'].min())} to {format_number(own['terminal_to'].max())}"
                    f"{' ' + time_unit if time_unit else ''})."
                )
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
    groups = summary["group"].unique().tolist()
    part = summary.set_index("parameter") if len(groups) == 1 else summary.iloc[:0]
    listed = [key for key in titles if key in part.index and not (key == "auc_last" and "auc_inf" in part.index)]
    if listed and part["n"].max() > 1:
        centre = {key: part.loc[key, "median" if key == "tmax" else "geometric_mean"] for key in listed}
        told = [f"{titles[key][0]} {format_number(centre[key])}{titles[key][1]}" for key in listed if key != "tmax"]
        at = f"; median Tmax {format_number(centre['tmax'])}{titles['tmax'][1]}" if "tmax" in centre else ""
        text = f"Geometric means over {int(part['n'].max())} profiles: {', '.join(told)}{at}."
        findings.insert(0, {"text": text, "values": finding_values(**centre), "output": "summary"})
    ratios = []
    if len(groups) == 2:
        area = "auc_inf" if profiles["auc_inf"].notna().any() else "auc_last"
        ratios = compared_exposures(profiles, order_levels(groups), [area, "cmax", "half_life"])
        findings = [exposures_finding(ratios, titles, group), *findings] if ratios else findings
        if ratios and "dose" in profiles and profiles.groupby("group")["dose"].median().nunique() > 1:
            warnings.append("The groups were given different doses; areas and peaks are compared as they are.")
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
        "ratios": pd.DataFrame(ratios) if ratios else None,
        "pk_plot": figure,
        "findings": findings,
        "warnings": warnings,
    }
