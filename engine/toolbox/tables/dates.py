"""Why apart: a date is written in a dozen ways, and read in the wrong one it is another day.

What cannot be read in one way only is refused by its value; nothing is guessed row by row.
"""

from __future__ import annotations


def date_values(column, name, beside=None):
    """Return a column of dates as days since 1970, NaN where it is empty.

    Args:
        column: dates, or texts of one form: 2021-03-31, 31.3.2021, 31/03/2021, 3/31/2021; a time of day counts.
        name: what the column is called in messages.
        beside: another column of the same hand, which tells whether the day or the month comes first where this does
            not.

    Raises:
        ValueError: for texts that are no dates, mixed forms, years of two digits, and an order of day and month that
            no value settles.
    """
    import re

    import pandas as pd

    epoch = pd.Timestamp("1970-01-01")
    if pd.api.types.is_datetime64_any_dtype(column):
        plain = column.dt.tz_localize(None) if getattr(column.dt, "tz", None) is not None else column
        return (plain - epoch) / pd.Timedelta(days=1)
    if pd.api.types.is_numeric_dtype(column) and column.notna().any():
        raise ValueError(f"Column {name!r} holds numbers, not dates (for example {column.dropna().iloc[0]}); expected "
                         "dates such as 2021-03-31.")  # fmt: skip
    texts = column.map(lambda v: None if pd.isna(v) else str(v).strip() or None)
    forms = {"year-month-day": r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:[ T](\d{1,2}):(\d\d)(?::\d\d(?:\.\d+)?)?Z?)?",
             "dotted": r"(\d{1,2})\.(\d{1,2})\.(\d{4})", "slashed": r"(\d{1,2})[/-](\d{1,2})[/-](\d{4})"}  # fmt: skip
    found, parts = {}, {}
    for at, text in texts.dropna().items():
        form = next((key for key, pattern in forms.items() if re.fullmatch(pattern, text)), "")
        if not form and re.fullmatch(r"\d{1,2}[-/.]\d{1,2}[-/.]\d{2}", text):
            raise ValueError(f"Column {name!r} holds years of two digits (for example {text!r}), of either century; "
                             "write them with four.")  # fmt: skip
        if not form:
            raise ValueError(f"{text!r} in column {name!r} is no date that can be read; expected one form throughout, "
                             "such as 2021-03-31.")  # fmt: skip
        found.setdefault(form, []).append(text)
        parts[at] = re.fullmatch(forms[form], text).groups()
    if len(found) > 1:
        shown = " and ".join(f"{len(texts):,} as {texts[0]!r}" for texts in found.values())
        raise ValueError(f"Column {name!r} mixes forms of dates ({shown}); write them all in one, such as 2021-03-31.")
    form = next(iter(found), "year-month-day")
    day_first = True
    if form == "slashed":
        other = [] if beside is None else [re.fullmatch(forms["slashed"], str(v).strip()) for v in beside.dropna()]
        pairs = list(parts.values()) + [match.groups() for match in other if match]
        day, month = any(int(p[0]) > 12 for p in pairs), any(int(p[1]) > 12 for p in pairs)
        if day and month:
            raise ValueError(f"Column {name!r} mixes dates with the day first and with the month first; write them as "
                             "2021-03-31.")  # fmt: skip
        if not day and not month:
            raise ValueError(f"No date tells whether day or month comes first in {name!r} (for example "
                             f"{found[form][0]!r}); write them as 2021-03-31.")  # fmt: skip
        day_first = day
    days = pd.Series(float("nan"), index=column.index, dtype=float)
    for at, numbers in parts.items():
        hour = 0.0
        if form == "year-month-day":
            year, month, day = (int(n) for n in numbers[:3])
            hour = (int(numbers[3]) + int(numbers[4]) / 60) / 24 if numbers[3] else 0.0
        else:
            first, second, year = (int(n) for n in numbers[:3])
            day, month = (first, second) if day_first else (second, first)
        try:
            days[at] = (pd.Timestamp(year=year, month=month, day=day) - epoch).days + hour
        except ValueError:
            raise ValueError(f"{texts[at]!r} in column {name!r} is no day of the calendar; correct it.") from None
    return days


def days_between(first, second):
    """Return the days from the dates of one column to those of another, NaN where one is missing.

    Raises:
        ValueError: naming the rows in which the second date lies before the first.
    """
    start, end = date_values(first, first.name, second), date_values(second, second.name, first)
    days = end - start
    wrong = [number for number, value in enumerate(days.tolist(), start=1) if value < 0]
    if wrong:
        shown = ", ".join(f"row {n}: {first.iloc[n - 1]} to {second.iloc[n - 1]}" for n in wrong[:4])
        raise ValueError(f"In {len(wrong)} of {len(days)} rows {second.name!r} lies before {first.name!r} ({shown}); "
                         "correct the dates, or exchange the columns.")  # fmt: skip
    return days
