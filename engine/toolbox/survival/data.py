"""Times and events as the survival methods need them, from the many ways tables write them.

Taking the wrong level as the event turns every result upside down without an error, so the level is matched
leniently in spelling, strictly in meaning, and whatever could be misread is said.
"""

from __future__ import annotations

from engine.toolbox.survival.intervals import row_warnings
from engine.toolbox.tables.columns import (
    complete_rows,
    level_labels,
    numeric_values,
    order_levels,
    plain_table,
    require_columns,
)

MOST_GROUPS = 12
"""So many groups are compared."""


def survival_event_level(labels, event_value, column):
    """Return (the level that means the event happened, warnings).

    `1`, `1.0`, TRUE and `1:DECEASED` are the same level. When the wanted level is absent and the column has two
    levels that plainly mean happened and not happened (dead, alive), the former is taken, with a warning.
    """
    import re

    def plain(text):
        text = re.sub(r"^(\d+)\s*[:=].*$", r"\1", str(text).strip().casefold())
        text = {"true": "1", "t": "1", "false": "0", "f": "0"}.get(text, text)
        try:
            return f"{float(text):g}"
        except ValueError:
            return text

    levels = sorted({label for label in labels if label is not None})
    named = [label for label in levels if label.casefold() == str(event_value).strip().casefold()]
    matches = named or [label for label in levels if plain(label) == plain(event_value)]
    shown = ", ".join(levels[:12]) + (", ..." if len(levels) > 12 else "")
    if len(levels) > 12:
        message = (
            f"The event column {column!r} has {len(levels)} distinct values ({shown}); expected a few "
            "levels such as 0 and "
            "1. Is it a time? Choose the column that says whether the event happened."
        )
        raise ValueError(message)
    warnings = []
    happened = {"dead", "died", "death", "deceased", "yes", "y", "event", "relapse", "relapsed", "recurrence",
                "progressed", "progression", "failed", "failure", "case", "uncensored", "1"}  # fmt: skip
    spared = {"alive", "living", "live", "censored", "censor", "no", "n", "none", "no event", "survived",
              "disease free", "0", "event free", "lost to follow-up"}  # fmt: skip
    if not matches:
        yes = [label for label in levels if plain(label) in happened]
        no = [label for label in levels if plain(label) in spared]
        if len(levels) != 2 or len(yes) != 1 or len(no) != 1 or str(event_value) != "1":
            message = (
                f"The event column {column!r} has no level {str(event_value)!r}; its levels are "
                f"{shown}. Set event_value to "
                "the level that means that the event happened."
            )
            raise ValueError(message)
        matches = yes
        warnings.append(f"{yes[0]!r} in {column} was taken as the event and {no[0]!r} as no event (censored).")
    if len(matches) > 1:
        message = (
            f"Several levels of the event column {column!r} mean {event_value!r}: {', '.join(matches)}. Make them one."
        )
        raise ValueError(message)
    chosen, others = matches[0], [label for label in levels if label != matches[0]]
    coded = {plain(label) for label in levels} == {"1", "2"} and not re.search("[:=]", "".join(levels))
    if coded and plain(chosen) == "1":
        warnings.append(
            f"{column} is coded 1 and 2, and 1 was taken as the event as asked; many files with this "
            "coding (R's lung among "
            "them) mean 2 by the event. If so, set event_value to 2: the results would be the reverse."
        )
    if coded and plain(chosen) == "2":
        warnings.append(
            f"{column} is coded 1 and 2 without words, and 2 was taken as the event (1 as censored). If 1 is the "
            "event, set event_value to 1: the results would be the reverse."
        )
    said = re.sub(r"^\d+\s*[:=]\s*", "", chosen.strip().casefold())
    if plain(chosen) == "0" and said == chosen.strip().casefold():
        warnings.append(f"The level {chosen!r} of {column} was taken as the event, as asked; 0 usually means censored.")
    elif said in spared:
        warnings.append(
            f"The level {chosen!r} of {column} was taken as the event, though its words mean no event; if so, set "
            "event_value to the other level: the results would be the reverse."
        )
    elif re.search(r"alive|surviv|cens", column.casefold()) and plain(chosen) in ("1", "yes", "y"):
        warnings.append(
            f"The level {chosen!r} of {column} was taken as the event; if, as the name may say, it means still without "
            "the event, set event_value to the other level: the results would be the reverse."
        )
    ends = [label for label in others if plain(label) not in spared] if len(others) > 1 else []
    if ends:
        warnings.append(
            f"{column} has other ends than the event {chosen!r}: {', '.join(ends)}. They were taken as censored. If "
            "they keep the event from happening (death before relapse), they compete with it: 1 - Kaplan-Meier then "
            "overstates how many come to the event. Cumulative incidence with competing risks (competing_risks) does "
            "not."
        )
    return chosen, warnings


def lost_without_event(missing, labels, chosen, time):
    """Return warnings about times that lack mostly in rows without the event; where most of those lack it, refuse.

    Args:
        missing: per row, whether its time is missing.
        labels: per row, the level of the event column.
        chosen: the level that means that the event happened.
        time: name of the time column.
    """
    happened = labels == chosen
    spared = labels.notna() & ~happened
    if not happened.any() or not spared.any():
        return []
    lost, also = float(missing[spared].mean()), float(missing[happened].mean())
    said = (
        f"{time!r} is missing in {int((missing & spared).sum())} of {int(spared.sum())} rows without the event and in "
        f"{int((missing & happened).sum())} of {int(happened.sum())} with it"
    )
    if lost > 0.5 and also < 0.1:
        message = (
            f"{said}: left out, only those would remain to whom it happened, and everybody would seem to come to it. "
            "Give the others the time until they were last seen (or until the study was closed); a date of death alone "
            "says nothing of the living."
        )
        raise ValueError(message)
    if lost > 0.1 and lost > 3 * also:
        return [f"{said}: they are left out, and the event then looks more frequent than it is."]
    return []


def survival_data(table, time, event, event_value, others):
    """Return (rows with `time`, `event` as 0 or 1 and the other columns complete, the event's level, warnings)."""
    import pandas as pd

    table = plain_table(table)
    require_columns(table, [time, event, *others])
    if time == event:
        message = f"The time and the event are both the column {time!r}; choose two different columns."
        raise ValueError(message)
    for name in (time, event):
        if name in others:
            message = f"The column {name!r} is the time or the event and cannot also be a group, stratum or covariate."
            raise ValueError(message)
    chosen, warnings = survival_event_level(level_labels(table[event]), event_value, event)
    warnings += row_warnings(table, time, [event, *others])
    warnings += lost_without_event(level_labels(table[time]).isna(), level_labels(table[event]), chosen, time)
    kept, notes = complete_rows(table[list(dict.fromkeys([time, event, *others]))], [time, event, *others])
    times = numeric_values(kept, time)
    if (times < 0).any():
        message = (
            f"The time column {time!r} has {int((times < 0).sum())} negative values (smallest "
            f"{times.min():g}); times count from "
            "the start of follow-up and must be zero or more. Correct or remove them."
        )
        raise ValueError(message)
    happened = level_labels(kept[event]) == chosen
    if not happened.any():
        message = (
            f"No row has the event ({event} = {chosen!r}) among the {len(kept)} complete rows; nothing "
            "can be estimated."
        )
        raise ValueError(message)
    if happened.all() and len(kept) > 1:
        warnings.append(f"Every row has the event ({event} = {chosen!r}), none is censored; check that this is so.")
    if (times == 0).any():
        warnings.append(f"{int((times == 0).sum())} rows have a time of 0.")
    data = pd.DataFrame({"time": times.astype(float), "event": happened.astype(int)})
    return pd.concat([data, kept[list(others)].add_prefix("x:")], axis=1), chosen, warnings + notes


def survival_groups(data, group):
    """Return (group of each row as text, the groups in order); too many or too few are refused."""
    labels = level_labels(data[f"x:{group}"])
    levels = order_levels(labels)
    if len(levels) > MOST_GROUPS:
        message = (
            f"The group column {group!r} has {len(levels)} distinct values; expected at most {MOST_GROUPS} "
            "groups. Cut numbers into "
            "ranges first, or use cox_regression, which takes numbers."
        )
        raise ValueError(message)
    return labels, levels


def survival_curve(times, events, interval):
    """Return the Kaplan-Meier curve with its 95 % band, one row per time: Greenwood variance, log-log or log scale."""
    import numpy as np
    import pandas as pd
    from lifelines import KaplanMeierFitter

    fitter = KaplanMeierFitter().fit(times, events, timeline=np.unique(np.concatenate([[0.0], times])))
    table = fitter.event_table.reset_index()
    survival = fitter.survival_function_.iloc[:, 0].reindex(table["event_at"]).to_numpy(dtype=float)
    risk, deaths = table["at_risk"].to_numpy(dtype=float), table["observed"].to_numpy(dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = np.cumsum(np.where(deaths > 0, deaths / (risk * (risk - deaths)), 0.0))
        if interval == "log":
            half = 1.959963984540054 * np.sqrt(variance)
            low, high = survival * np.exp(-half), np.minimum(survival * np.exp(half), 1)
        else:
            spread = 1.959963984540054 * np.sqrt(variance) / np.log(survival)
            low, high = survival ** np.exp(-spread), survival ** np.exp(spread)
    before = survival == 1
    low, high = np.where(before, 1.0, low), np.where(before, 1.0, high)
    curve = pd.DataFrame(
        {"time": table["event_at"].astype(float), "at_risk": risk.astype(int), "events": deaths.astype(int)}
    )
    curve["censored"] = table["censored"].astype(int)
    curve["survival"] = survival
    # At a survival of 0 neither scale has a band.
    curve["lower_95"], curve["upper_95"] = np.where(survival > 0, low, np.nan), np.where(survival > 0, high, np.nan)
    return curve


def time_at_half(times, values):
    """Return the first time at which the values are 0.5 or less, NaN when never."""
    import numpy as np

    reached = np.flatnonzero(np.asarray(values, dtype=float) <= 0.5 + 1e-12)
    return float(np.asarray(times)[reached[0]]) if len(reached) else float("nan")
