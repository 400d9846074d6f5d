"""Which of several curves needs the least dose: the sentence that names them in order, the most potent first."""

from __future__ import annotations

from engine.toolbox.pharmacology.dose_curves import dose_place
from engine.toolbox.pharmacology.fitting import said_range
from engine.toolbox.tables.columns import finding_values, format_number


def potency_order(rows, own, flat, unit):
    """Return (groups in order of the dose for half of their effect, in words; the numbers told).

    A dose outside those tested is an extrapolation, which is told as the side it lies on and never as a number.

    Args:
        rows: a row of each curve with its dose for half of the effect and the interval.
        own: group -> the logarithms of its doses.
        flat: the groups in which no effect is shown.
        unit: of the doses, or "".
    """
    tail, places = f" {unit}" if unit else "", {}
    for row in rows:
        name = row["curve"]
        place, tested = dose_place(row["dose"], own[name])
        side = "flat" if name in flat else place if row["dose"] == row["dose"] else "above"
        places.setdefault(side, []).append((row, tested))
    within = sorted((row for row, _ in places.get("", [])), key=lambda row: row["dose"])
    told = [f"in {row['curve']}, below the doses tested ({tested}{tail})" for row, tested in places.get("below", [])]
    told += [
        f"in {row['curve']}, {format_number(row['dose'])}{tail} ({said_range(row['lower_95'], row['upper_95'])})"
        for row in within
    ]
    parts = [f"smallest (most potent) {', then '.join(told[:6])}"] if told else []
    parts += [f"{len(told) - 6} more are larger"] if len(told) > 6 else []
    parts += [f"not within the doses tested ({end}{tail}) in {row['curve']}" for row, end in places.get("above", [])]
    parts += [f"none to be read in {row['curve']}, where no effect is shown" for row, _ in places.get("flat", [])]
    numbers = {f"dose {row['curve']}": (row["dose"], row["lower_95"], row["upper_95"]) for row in within[:6]}
    return "; ".join(parts), finding_values(**numbers)


def nearest_pair(rows, main):
    """Return the row that compares the two groups of the smallest doses; None where they were not compared."""
    first = [row["curve"] for row in sorted(rows, key=lambda row: row["dose"])[:2]]
    pairs = [" vs ".join(first), " vs ".join(first[::-1])]
    return next((row for row in main if row["comparison"] in pairs), None)
