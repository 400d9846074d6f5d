"""Why apart: a comparison that one row decides is that row's, not the groups'; it has to be known by name."""

from __future__ import annotations

from engine.toolbox.tables.columns import format_number, format_p, level_labels


def row_names(table, taken):
    """Return what to call each row: its value in the first column that names every row, else its number.

    Args:
        table: the rows, counted from 0 by their index.
        taken: columns that are compared.
    """
    import pandas as pd

    for column in table.columns:
        values = table[column]
        named = pd.api.types.is_integer_dtype(values) or not pd.api.types.is_numeric_dtype(values)
        if column not in taken and named and values.notna().all() and values.astype(str).is_unique and len(table) > 1:
            return [f"{column} {value}" for value in values]
    # A step before may have left out rows, so the number is not that in the file.
    return [f"row {number + 1} of the table that is compared" for number in table.index]


def sample_names(table, value, group, samples):
    """Return level -> what each of its values is called, in the order of `group_samples` without pairs."""
    labels = level_labels(table[group])
    there = labels.notna() & table[value].notna() & (table[value].astype(str).str.strip() != "")
    names = [name for name, kept in zip(row_names(table, (value, group)), there, strict=True) if kept]
    labels = labels[there].tolist()
    return {level: [name for name, label in zip(names, labels, strict=True) if label == level] for level in samples}


def turning_rows(samples, names, run, value):
    """Return warnings about single values that decide a comparison, or are a hundredfold the rest of their group.

    Args:
        samples: level -> values.
        names: level -> what each value is called; the same list for all levels where rows are pairs.
        run: compares samples, returning p_value, difference and effect_size (the last two where there are two groups).
        value: what is measured.
    """
    import warnings

    import numpy as np

    paired = len({id(part) for part in names.values()}) == 1
    found = []
    for level, x in samples.items():
        size = np.abs(np.asarray(x, dtype=float))
        if len(size) > 3:
            top = int(size.argmax())
            rest = np.delete(size, top)
            usual = float(np.median(rest))
            if usual > 0 and size[top] >= 100 * usual and size[top] >= 20 * rest.max():
                found.append(
                    f"{names[level][top]} has {value} {format_number(float(x[top]))}, {size[top] / usual:.0f} times "
                    f"the median of the other rows of {level}: is it a slip of the unit or the decimal point?"
                )
    whole = run(samples)
    total = sum(len(x) for x in samples.values())
    turned = []
    for level in list(samples)[:1] if paired else samples:
        x = np.asarray(samples[level], dtype=float)
        if len(x) <= (3 if paired else 2):
            continue
        order = np.argsort(x)
        tried = range(len(x)) if total <= 200 else [*order[:3], *order[-3:]]
        for at in tried:
            left = {other: np.delete(y, at) if paired or other == level else y for other, y in samples.items()}
            if len({float(v) for y in left.values() for v in y}) == 1:
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                again = run(left)
            if again["p_value"] != again["p_value"]:
                continue
            crossed = (again["p_value"] < 0.05) != (whole["p_value"] < 0.05)
            sizes = [part.get("effect_size", 0.0) for part in (whole, again)]
            flipped = "difference" in again and again["difference"] * whole["difference"] < 0
            if crossed or (flipped and min(abs(part) for part in sizes) >= 0.2):
                what = "is clear" if again["p_value"] < 0.05 else "is not shown"
                turns = " and has the other sign" if flipped else ""
                turned.append((abs(np.log(max(again["p_value"], 1e-300) / max(whole["p_value"], 1e-300))),
                               f"without {names[level][at]} ({'' if paired else f'{level}, '}{value} "
                               f"{format_number(float(x[at]))}) the difference {what}{turns} "
                               f"({format_p(again['p_value'])})"))  # fmt: skip
    turned.sort(reverse=True)
    if turned:
        more = f"; so it is with {len(turned) - 3} more" if len(turned) > 3 else ""
        found.append(f"The comparison ({format_p(whole['p_value'])}) hangs on single rows: "
                     f"{'; '.join(text for _, text in turned[:3])}{more}.")  # fmt: skip
    return found
