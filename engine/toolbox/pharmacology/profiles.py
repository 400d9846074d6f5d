"""Why apart: one concentration profile is arithmetic (area, terminal line, what is below quantification) of its own.

Nothing here knows several subjects but the summary, which takes their parameters one by one.
"""

from __future__ import annotations

from engine.toolbox.pharmacology.fitting import separating_column
from engine.toolbox.tables.columns import numeric_values, order_levels


def quantified(table, name):
    """Return concentrations, NaN where below the limit of quantification (<0.05, BLQ, ...), and which are so."""
    import pandas as pd

    text = table[name].astype(str).str.strip()
    below = text.str.fullmatch(
        r"(?i)<\s*\d*[.,]?\d*\s*\S*|b\.?l\.?o?q\.?|b\.?q\.?l\.?|<?\s*l?lo[qd]|n/?d|n\.d\.|blloq|b\.?d\.?l\.?|"
        r"not (?:detected|quantifiable)|below .*(?:limit|lo[qd]|quantif\w*|detect\w*)"
    )
    below &= table[name].notna()
    if not below.any():
        return numeric_values(table, name), below
    values = pd.Series(float("nan"), index=table.index)
    values[~below] = numeric_values(table.loc[~below], name)
    return values, below


def unit_in(name, kind):
    """Return the unit that ends a column's name (`time_h`, `Cp (ng/mL)`, `conc_ug_ml`), or ""."""
    import re

    amount, volume = "[mu\u00b5\u03bcnp]?(?:g|mol)|mcg", "[mu\u00b5d]?l"
    units = {"time": r"h(?:rs?|ours?)?|min(?:utes?)?|d(?:ays?)?|s(?:ec)?",
             "concentration": rf"(?:{amount})(?:\s*(?:/|_|\.| per )\s*{volume})|[mu\u00b5n]M"}  # fmt: skip
    found = re.search(rf"(?:[\s_(\[.]|^)({units[kind]})[)\]]?$", str(name), re.IGNORECASE)
    return re.sub(r"\s*(?:_|\.| per )\s*", "/", found[1]) if found and found.start() else ""


def without_value(table, time, concentration, keys):
    """Return the note on samples that have a time and no concentration: how many lie where in their profile."""
    import pandas as pd

    t = pd.to_numeric(table[time], errors="coerce")
    gone = t.notna() & table[concentration].isna()
    if not gone.any():
        return []
    who = table[keys].astype(str).agg(" / ".join, axis=1) if keys else pd.Series("all", index=table.index)
    there = t[table[concentration].notna()].groupby(who)
    first, last = (who.map(found) for found in (there.min(), there.max()))
    places = {"before the first": int((gone & (t < first)).sum()), "after the last": int((gone & (t > last)).sum())}
    places["between measured ones"] = int((gone & (t > first) & (t < last)).sum())
    said = ", ".join(f"{count} {place}" for place, count in places.items() if count)
    early = " Were those before the first below quantification, write 0 there." if places["before the first"] else ""
    return [f"{int(gone.sum())} samples without a concentration (missing, or below quantification where the file was "
            f"read so) are left out: {said or 'in profiles without any'}.{early}"]  # fmt: skip


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


def dose_by_weight(table, dose_column):
    """Return " per kg" for a dose column that says so, and a warning where weights stand beside doses of no unit."""
    import re

    if not dose_column:
        return "", []
    if re.search(r"(?i)(/|per|[\W_])\s*kg\b|[mu\u00b5n]g[\W_]*kg", dose_column):
        return " per kg", []
    weights = [
        str(name)
        for name in table.columns
        if re.fullmatch(r"(?i)(body.?)?(wt|weight|bw|mass)([\W_]*kg\W*)?", str(name))
    ]
    if not weights or table[dose_column].nunique() < 2:
        return "", []
    text = f"If {dose_column} is per kg, clearance and volume are per kg too; else they are for the whole body."
    return "", [f"{text} Column {weights[0]} was not used."]


def trapezoids(t, c, linear=False):
    """Return area and first-moment area: linear rule while rising, logarithmic rule while falling (or linear too)."""
    import math

    area = moment = 0.0
    for t1, t2, c1, c2 in zip(t[:-1], t[1:], c[:-1], c[1:], strict=True):
        if 0 < c2 < c1 and not linear:
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


def profile_row(t, c, below, dose, route, linear=False):
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
    if (c[first:] == 0).any():
        notes.append("a concentration of 0 lies between higher ones and was taken as measured; write BLQ if it is not")
    if route == "iv_bolus" and t[0] == 0 and c[0] == 0 and n > 1:
        t, c = t[first:], c[first:]
        notes.append("the 0 at time 0 was taken for a sample before the bolus")
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
    area, moment = trapezoids(t, c, linear)
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
