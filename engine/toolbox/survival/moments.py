"""Survival at a moment that people name: `5-year survival`, `how many are alive after 90 days`."""

from __future__ import annotations

from engine.toolbox.registry import param
from engine.toolbox.survival.horizon import NOT_TOLD, TIME_UNITS, horizon_in_unit, unit_of_times
from engine.toolbox.tables.columns import called_level, finding_values, format_number
from engine.toolbox.tables.rows import table_row

AT = param(
    "a moment at which survival is reported, such as 365",
    minimum=0,
    words=[
        r"surviv\w*(?:\s+\w+){0,3}?\s+(?:at|to|past|beyond|until|after|than)",
        r"survive[ds]?",
        r"(?:alive|living|lives?|free(?:\s+of)?|event.?free|relapse.?free)(?:\s+\w+){0,2}?\s+(?:at|after|by|past|to)",
        r"(?:fractions?|percent\w*|shares?|proportions?|probabilit\w+|risks?|many|much)(?:\s+\w+){0,6}?\s+(?:at|by|after|within|past)",
        r"(?:years?|yrs?|y|months?|mo|weeks?|wks?|days?)[\s-]+(?:\w+[\s-]+){0,2}(?:surviv\w*|risk|probability|incidence)",
        r"(?:years?|yrs?|months?|weeks?|days?)\s+(?:on|later|out)",
    ],
)
_NO_LANDMARK = "".join(rf"(?<!landmark{words} )" for words in ("", " at", " of", " analysis at"))
AT_UNIT = param(
    "unit of that moment, where it is not the column's",
    of="at",
    role="unit_of",
    choices=TIME_UNITS,
    words=[
        rf"{unit}s: {_NO_LANDMARK}{NOT_TOLD}\d[\d.,]*[\s-]*(?:{unit}s?|{short})\b(?![\s-]+landmark)"
        for unit, short in (("day", "d"), ("week", "wks?"), ("month", "mo|mths?"), ("year", "yrs?|y"))
    ],
)


def asked_moments(at, at_unit, at_times, time, unit):
    """Return (the moments asked for in the unit of the times, warnings, how the question has those of another unit)."""
    moments, warnings, told = [], [], {}
    if at is not None:
        moment, warnings = horizon_in_unit(at, at_unit, unit, time)
        moments.append(moment)
    for text in at_times:
        number, _, said = str(text).strip().partition(" ")
        try:
            moment, notes = horizon_in_unit(float(number), unit_of_times(said, said) if said else "", unit, time)
        except ValueError as err:
            if said and number.replace(".", "", 1).isdigit():
                raise
            message = (
                f"The time {text!r} in at_times is not a number; give times in the unit of {time!r}, or as '3 months'."
            )
            raise ValueError(message) from err
        moments.append(moment)
        warnings += notes
        if notes:
            told[moment] = f"{text} ({moment:.4g} {unit})"
    return list(dict.fromkeys(moments)), warnings, told


def survival_points(curves, times, labels, moments, landmark, unit):
    """Return (survival of every group at the moments it was followed to, or None, warnings)."""
    import numpy as np
    import pandas as pd

    points, warnings = [], []
    early = [moment for moment in moments if landmark is not None and moment < landmark]
    if early:
        warnings.append(f"Survival at {early[0]:g}{unit} is not given: it lies before the landmark.")
    for name, curve in curves.items():
        for moment in (moment for moment in moments if moment not in early):
            if moment > curve["time"].max() and curve["survival"].iloc[-1] > 0:
                warnings.append(f"{name}: nobody was followed to {moment:g}{unit}, so survival there is not known.")
                continue
            position = int(np.searchsorted(curve["time"], moment, side="right")) - 1
            row = curve.iloc[max(position, 0)]
            points.append(
                {"group": name, "time": moment, "survival": float(row["survival"]),
                 "lower_95": float(row["lower_95"]), "upper_95": float(row["upper_95"]),
                 "at_risk": int((times[labels == name] >= moment).sum())}
            )  # fmt: skip
    return (pd.DataFrame(points) if points else None), warnings


def points_finding(table, group, unit, since, medians=(), said=()):
    """Return the finding on all groups at up to four moments, the highest survival first; of more the table says it.

    `medians` is the finding on the medians, which the sentence ends with: either may be what is asked; `said` tells a
    moment as the question has it.
    """
    if table is None or table["time"].nunique() > 4 or not 2 <= table["group"].nunique() <= 6:
        return []
    told, values = [], []
    for moment, points in table.groupby("time"):
        ordered = points.sort_values("survival", ascending=False, kind="stable").to_dict("records")
        parts = [
            f"{100 * point['survival']:.1f} % with {called_level(point['group'], group)} (95 % interval "
            f"{format_number(100 * point['lower_95'])} to {format_number(100 * point['upper_95'])} %)"
            for point in ordered
        ]
        listed = f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else parts[0]
        told.append(f"{told_moment(moment, unit, said)}{since}{' was' if not told else ''} {listed}")
        values += [
            {"name": f"survival {point['group']}", "value": point["survival"], "low": point["lower_95"],
             "high": point["upper_95"]}
            for point in ordered
        ]  # fmt: skip
    known = [one for one in medians if one["text"].startswith("Median")]  # else no group has reached its own
    known = known if len(told) == 1 else []
    also = "".join(f"; {one['text'][0].lower()}{one['text'][1:]}" for one in known) or "."
    values += [value for one in known for value in one["values"]]
    return [{"text": f"Survival at {'; at '.join(told)}{also}", "values": values, "output": "survival_at"}]


def told_moment(moment, unit, said):
    """Return a moment with its unit, as the question has it where it differs from the column's: 5 years."""
    return dict(said).get(moment, f"{moment:g}{unit}")


def point_findings(table, group, unit, since, medians=(), said=()):
    """Return a finding for each of the first six points: the share that survives, its interval, who is at risk."""
    findings = points_finding(table, group, unit, since, medians, said) if group else []
    for point in [] if table is None else table.head(6).to_dict("records"):
        low, high = (format_number(100 * point[key]) for key in ("lower_95", "upper_95"))
        sure = f"95 % interval {low} to {high} %; " if point["lower_95"] == point["lower_95"] else ""
        who = f"{group} = {point['group']}" if group else "All subjects"
        known = [] if group or table["time"].nunique() > 1 else medians
        moment = told_moment(point["time"], unit, said)
        also = "".join(f"; {one['text'].removeprefix('All subjects: ')}" for one in known) or "."
        findings.append(
            {"text": f"{who}: survival at {moment} is {100 * point['survival']:.1f} %{since} "
                     f"({sure}{point['at_risk']} at risk){also}",
             "values": finding_values(survival=(point["survival"], point["lower_95"], point["upper_95"]),
                                      at_risk=point["at_risk"])
             + [value for one in known for value in one["values"]],
             "output": "survival_at", "row": table_row(table, group=point["group"], time=point["time"])}
        )  # fmt: skip
    return findings
