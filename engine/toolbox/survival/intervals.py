"""Rows that are spans of time, and subjects with several rows.

A covariate that changes (treated from day 40 on) or a subject who enters late needs rows with a start and an end. Read
as plain follow-up such rows count time before they began, and nothing in the result would show it.
"""

from __future__ import annotations

from engine.toolbox.tables.columns import level_labels, numeric_values


def row_warnings(table, time, given):
    """Return warnings about columns that say rows are spans or repeat subjects, where the step was not told so."""
    import re

    import pandas as pd

    warnings = []
    stop = pd.to_numeric(table[time], errors="coerce")
    for name in (str(column) for column in table.columns):
        bare = re.sub(r"\(.*?\)|\[.*?\]", " ", name)  # in brackets stands who measured, or the unit
        words = set(re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", bare).casefold()))
        if name in given or name == time or list(table.columns).count(name) != 1:
            continue
        if words & {"start", "tstart", "begin", "enter", "entry"} and not words & {"date", "year"}:
            start = pd.to_numeric(table[name], errors="coerce")
            known = start.notna() & stop.notna()
            if known.sum() >= 5 and (start[known] < stop[known]).all() and (start[known] > 0).any():
                warnings.append(
                    f"{name} lies below {time} in every row, so rows look like spans of time; here each counts as "
                    f"followed from 0, which is wrong for spans. cox_regression takes them: set start to {name!r}."
                )
        if words & {"id", "subject", "patient", "participant", "animal"} and len(words) <= 2:
            distinct, rows = table[name].nunique(), int(table[name].notna().sum())
            if 5 <= distinct < rows:
                warnings.append(
                    f"{name} has {distinct} values in {rows} rows. If it names the subjects, rows of one are not "
                    "independent (unless they are spans that end in one event at most): use one row a subject, or "
                    f"cox_regression with subject set to {name!r}."
                )
    return warnings


def span_records(data, start, subject, time):
    """Return the rows with `start` and `subject` as columns; spans that are empty or overlap raise ValueError."""
    data = data.copy()
    if subject:
        data["subject"] = level_labels(data[f"x:{subject}"])
    if not start:
        return data
    data["start"] = numeric_values(data.rename(columns={f"x:{start}": start}), start)
    if (data["start"] < 0).any():
        message = (
            f"The start column {start!r} has {int((data['start'] < 0).sum())} negative values; it counts from the same "
            f"0 as {time!r}. Correct or remove them."
        )
        raise ValueError(message)
    empty = data[data["start"] >= data["time"]]
    if len(empty):
        first = empty.iloc[0]
        message = (
            f"{len(empty)} of {len(data)} rows do not start before they end, for example {start} = {first['start']:g} "
            f"and {time} = {first['time']:g}; expected {start} below {time}. Correct or remove them."
        )
        raise ValueError(message)
    if subject:
        inside = data.sort_values(["subject", "start", "time"], kind="stable")
        before = inside.groupby("subject", sort=False)["time"].shift()
        overlap = inside[inside["start"] < before]
        if len(overlap):
            name, begins = overlap.iloc[0]["subject"], overlap.iloc[0]["start"]
            message = (
                f"Spans of one subject overlap in {len(overlap)} rows, for example of {subject} = {name} from "
                f"{start} = {begins:g}; expected each to start when the one before has ended. Correct them."
            )
            raise ValueError(message)
    return data
