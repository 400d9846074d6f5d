"""Why apart: plates of cultures come long or wide, with or without wells of medium; one table of readings comes out."""

from __future__ import annotations

from engine.toolbox.pharmacology.fitting import separating_column
from engine.toolbox.tables.columns import (
    complete_rows,
    format_number,
    level_labels,
    numeric_values,
    plain_table,
    require_columns,
)
from engine.toolbox.tables.plates import holds_medium


def growth_rows(table, time, density, wells, group, well):
    """Return a long table (time, density, well, group) of a long or a wide plate, and warnings."""
    import re

    import pandas as pd

    if bool(density) == bool(wells):
        raise ValueError(
            "Expected either one column of densities, or a column for each well or culture. Name one of these "
            "two forms."
        )
    if density:
        chosen = [name for name in (time, density, group, well) if name]
        if len(set(chosen)) < len(chosen):
            raise ValueError(f"The same column serves twice ({', '.join(chosen)}); expected different columns.")
        table = plain_table(table)
        require_columns(table, chosen)
        table, warnings = complete_rows(table, chosen)
        if group and not well and not table.duplicated([group, time]).any():
            if table[group].nunique() > 12:
                group, well = "", group
        elif not well:
            well = separating_column(table, [time, *([group] if group else [])], {time, density, group})
            if well:
                warnings.append(
                    f"{well} was taken to tell the cultures apart: with it no culture has two readings at once."
                )
        groups = level_labels(table[group]) if group else pd.Series("all", index=table.index, dtype=object)
        names = level_labels(table[well]) if well else pd.Series("1", index=table.index, dtype=object)
        if group and well:  # the same replicate number in two groups names two cultures
            names = groups + ", " + names
        elif group:
            names = groups
        long = pd.DataFrame(
            {
                "time": numeric_values(table, time),
                "density": numeric_values(table, density),
                "well": names,
                "group": groups,
            }
        )
        return long, warnings
    table = plain_table(table)
    require_columns(table, [time, *wells])
    table, warnings = complete_rows(table, [time])
    parts, gaps = [], 0
    for name in wells:
        if name == time:
            continue
        values = numeric_values(table, name)
        gaps += int(values.isna().sum())
        label = re.sub(r"(?i)[\s_.-]*(rep(licate)?)?[\s_.-]*\d+$", "", str(name)).strip() or str(name)
        label = str(name) if re.fullmatch(r"[A-Ha-h]\d{1,2}", str(name)) else label
        parts.append(
            pd.DataFrame({"time": numeric_values(table, time), "density": values, "well": str(name), "group": label})
        )
    long = pd.concat(parts, ignore_index=True).dropna()
    if gaps:
        warnings.append(f"{gaps} readings are missing and were left out.")
    repeated = long.drop_duplicates("well")["group"].value_counts()
    if (repeated > 1).any():
        warnings.append(
            "Columns named alike but for a number at the end count as replicates: "
            + ", ".join(f"{name} ({n})" for name, n in repeated.items() if n > 1)
            + "."
        )
    elif len(repeated) == long["well"].nunique() and all(re.fullmatch(r"[A-Ha-h]\d{1,2}", w) for w in long["well"]):
        long["group"] = "all"
        warnings.append("Columns named by plate position have no groups; reshape to long form to compare strains.")
    return long, warnings


def without_medium(long, blank):
    """Return the cultures, the density of the medium from wells called so (or the one given), and warnings."""
    import pandas as pd

    own = [well.removeprefix(f"{group}, ") for well, group in zip(long["well"], long["group"], strict=True)]
    medium = holds_medium(long["group"]) | holds_medium(pd.Series(own, index=long.index, dtype=object))
    if not medium.any() or medium.all():
        return long, blank, []
    named = ", ".join(dict.fromkeys(long.loc[medium, "group"]))
    if blank:
        return (
            long[~medium].copy(),
            blank,
            [f"Wells of medium ({named}) are no cultures; the blank given was taken off."],
        )
    blank = float(long.loc[medium, "density"].mean())
    note = f"Wells of medium ({named}) are no cultures; their mean density, {format_number(blank)}, was taken off."
    return long[~medium].copy(), blank, [note]
