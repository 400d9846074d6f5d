"""Why one file: every table tool must read a column the same honest way.

Text in a column of numbers is an error and never a silent gap, missing rows are counted and named, and
levels written 1, 1.0 or "1" are the same level. The functions travel with the tools that list them as
helpers, so each stands alone.
"""

from __future__ import annotations


def plain_table(table):
    """Return the table with its row names, if they have a name, as an ordinary column."""
    return table.reset_index() if table.index.name is not None else table.reset_index(drop=True)


def require_columns(table, names):
    """Raise ValueError when a column is absent or not unique, naming the closest and those there are."""
    import difflib

    columns = [str(column) for column in table.columns]
    for name in names:
        found = columns.count(str(name))
        if found > 1:
            raise ValueError(f"The table has {found} columns called {name!r}; expected one. Rename them first.")
        if found == 0:
            folded = {column.casefold(): column for column in reversed(columns)}
            close = difflib.get_close_matches(str(name).casefold(), list(folded), n=1, cutoff=0.6)
            hint = f"; did you mean {folded[close[0]]!r}?" if close else "."
            shown = ", ".join(columns[:15]) + (", ..." if len(columns) > 15 else "")
            raise ValueError(f"The table has no column {name!r}{hint} Its columns are: {shown}.")


def drawn_rows(table, columns):
    """Return these columns as a table of points that begins with a name for each row.

    That is a column of different texts, else of different numbers that is called an id, else the row's number.
    """
    import re

    import pandas as pd

    def names(column, text):
        return (
            column not in columns
            and list(table.columns).count(column) == 1
            and pd.api.types.is_numeric_dtype(table[column]) != text
            and (text or re.search(r"(?:^|[_ .-])(?:id|nr|no)$|[a-z]ID$", str(column)))
            and table[column].notna().all()
            and table[column].is_unique
        )

    points = table[list(dict.fromkeys(columns))].copy()
    found = next((column for text in (True, False) for column in table.columns if names(column, text)), None)
    if found is None:
        points.insert(0, "row" if "row" not in points else "row_number", table.index + 1)
    else:
        points.insert(0, found, table[found])
    return points.reset_index(drop=True)


def numeric_values(table, name):
    """Return a column as floats with NaN where it is empty; text that is no number raises ValueError."""
    import re

    import numpy as np
    import pandas as pd

    column = table[name]
    if pd.api.types.is_datetime64_any_dtype(column):
        raise ValueError(f"Column {name!r} holds dates; expected numbers. Choose a numeric column.")
    if not pd.api.types.is_numeric_dtype(column):
        column = pd.Series([str(v).strip() if pd.notna(v) else None for v in column], index=column.index, dtype=object)
        column = column.where(column != "", None)
    numbers = pd.to_numeric(column, errors="coerce").astype(float)
    odd = column[numbers.isna() & column.notna()]
    if len(odd):
        example = str(odd.iloc[0])
        hint = " It looks like a decimal comma." if re.fullmatch(r"-?\d+,\d+", example) else ""
        raise ValueError(
            f"Column {name!r} holds {len(odd)} of {len(column)} values that are not numbers, for example "
            f"{example!r}; expected numbers only.{hint} Correct these values in the file or choose another column."
        )
    infinite = int(np.isinf(numbers.to_numpy()).sum())
    if infinite:
        raise ValueError(
            f"Column {name!r} holds {infinite} infinite values; expected finite numbers. Remove or replace them first."
        )
    if numbers.notna().sum() == 0:
        raise ValueError(f"Column {name!r} has no values at all; expected numbers. Choose another column.")
    return numbers


def level_labels(column):
    """Return a column as text labels, None where it is missing or blank; 1 and 1.0 both become "1"."""
    import pandas as pd

    def label(value):
        if value is None or value is pd.NaT or value is pd.NA or (isinstance(value, float) and value != value):
            return None
        if isinstance(value, float) and value.is_integer():
            return str(int(value))
        return str(value).strip() or None

    return pd.Series([label(value) for value in column.tolist()], index=column.index, dtype=object)


def order_levels(labels):
    """Return the distinct labels in natural order: 0.5, 1, 2 and day2 before day10."""
    import re

    levels = list(dict.fromkeys(label for label in labels if label is not None))
    try:
        return sorted(levels, key=float)
    except ValueError:
        return sorted(
            levels,
            key=lambda text: [
                (0, float(part), "") if part.isdigit() else (1, 0.0, part.casefold())
                for part in re.split(r"(\d+)", text)
            ],
        )


def pick_level(wanted, levels, column):
    """Return the level a person meant by `wanted`, or raise ValueError listing those there are."""
    wanted = str(wanted).strip()
    if wanted in levels:
        return wanted
    folded = [level for level in levels if level.casefold() == wanted.casefold()]
    if len(folded) == 1:
        return folded[0]
    try:
        equal = [level for level in levels if float(level) == float(wanted)]
    except ValueError:
        equal = []
    if len(equal) == 1:
        return equal[0]
    shown = ", ".join(levels[:20]) + (", ..." if len(levels) > 20 else "")
    raise ValueError(f"Column {column!r} has no level {wanted!r}; its levels are: {shown}. Choose one of them.")


def reference_levels(references, columns):
    """Return column -> the level that others are compared with, from texts such as `diet=hay`.

    Raises:
        ValueError: for a text that names none of the columns.
    """
    found = {}
    for text in references:
        name = next((name for name in columns if text.startswith(f"{name}=")), None)
        if name is None:
            raise ValueError(f"The reference {text!r} names no column of the model; expected COLUMN=LEVEL with one of "
                             f"{', '.join(columns)}.")  # fmt: skip
        found[name] = text[len(name) + 1 :].strip()
    return found


def known_reference(level, levels, column):
    """Return a reference level as it is written in the data, or raise ValueError."""
    same = [known for known in levels if known == level] or [x for x in levels if x.casefold() == level.casefold()]
    if not same:
        raise ValueError(f"Column {column!r} has no level {level!r} to compare with; its levels are "
                         f"{', '.join(levels[:12])}.")  # fmt: skip
    return same[0]


def likely_control(levels):
    """Return the one level that reads like a control group (control, placebo, wt, siCtrl, 0...), or None."""
    import re

    words = {
        "control", "controls", "ctrl", "ctl", "con", "untreated", "vehicle", "placebo", "wt", "wildtype", "wild-type",
        "wild type", "normal", "healthy", "baseline", "dmso", "mock", "sham", "none", "pre", "before", "no", "false",
        "0", "negative", "unexposed", "saline", "scramble", "scrambled", "reference", "veh", "nt", "scr", "kontrolle",
        "unbehandelt", "temoin",
    }  # fmt: skip
    plain = {level: level.casefold().replace("_", " ") for level in levels}
    bare = {level: re.sub(r"^(?:si|sh|sg)(?:rna)?[- ]?", "", text) for level, text in plain.items()}  # of a knock-down
    found = [level for level in levels if plain[level] in words or bare[level] in words - {"0", "no", "con"}]
    return found[0] if len(found) == 1 else None


def called_level(level, column):
    """Return a level as a sentence names it: one that says nothing by itself (yes, 1, IV) with its column."""
    text = str(level)
    roman = text in ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IIa", "IIb", "IIIa", "IIIb", "IIIA", "IIIB")
    if column and roman:
        return f"{column} {text}"
    if column and text.replace(".", "", 1).lstrip("-").isdigit():
        return f"{column} {text}"
    bare = column and text.casefold() in ("yes", "no", "y", "n", "true", "false", "none", "other")
    return f"{column} = {text}" if bare else text


def complete_rows(table, columns):
    """Return the rows in which every column has a value, and a warning that counts those left out."""
    import pandas as pd

    missing = pd.DataFrame(
        {
            name: table[name].isna() | (table[name].astype(str).str.strip() == "")
            for name in dict.fromkeys(columns)
        }
    )  # fmt: skip
    dropped = missing.any(axis=1)
    kept = table.loc[~dropped].reset_index(drop=True)
    if not dropped.any():
        return kept, []
    named = ", ".join(f"{name} ({int(n)})" for name, n in missing.sum().items() if n)
    warning = f"{int(dropped.sum())} of {len(table)} rows were left out because a value is missing: {named}."
    if len(kept) == 0:
        raise ValueError(f"No row has a value in every column needed; missing values: {named}. Choose other columns.")
    return kept, [warning]


def format_p(p):
    """Return a p-value as text: `p = 0.016`, `p = 1.2e-8`, `p < 1e-300`."""
    if p is None or p != p:
        return "p not available"
    if p < 1e-300:
        return "p < 1e-300"
    if p >= 0.001:
        digits = next((n for n in (2, 3, 4) if (float(f"{p:.{n}g}") < 0.05) == (p < 0.05)), 6)  # 0.0497 is no 0.05
        return f"p = {p:.{digits}g}" if p < 0.995 else "p = 1"
    mantissa, exponent = f"{p:.1e}".split("e")
    return f"p = {mantissa}e{int(exponent)}"


def format_number(x, digits=3):
    """Return a number with sensible digits and no exponent unless it is very large or small."""
    import math

    if x is None or x != x:
        return "not available"
    if math.isinf(x):
        return "infinite"
    if x == 0 or isinstance(x, int):
        return str(int(x))
    size = int(f"{x:.{digits - 1}e}".split("e")[1])  # of the rounded number: 0.9999 is shown as 1.00
    if size >= 7 or size < -4:
        mantissa, exponent = f"{x:.{digits - 1}e}".split("e")
        return f"{mantissa}e{int(exponent)}"
    return f"{x:.{max(0, digits - 1 - size)}f}"


def whole_or_short(value, digits):
    """Return a number of a table for a sentence: a whole one as it is, another with so many digits."""
    return str(int(value)) if value == value and value % 1 == 0 and abs(value) < 1e15 else format_number(value, digits)


def left_open(low, high, ratio=False, unit="", what="anything"):
    """Return what a null result leaves open, as the end of its sentence: how far each way the truth may still lie.

    Of a ratio it is a share of the value compared with (`38 % lower`), from three times on a multiple. "" without ends.
    """
    import math

    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return ""

    def side(end):
        if ratio and end >= 3:
            return f"{format_number(end)} times as high"
        size = 100 * abs(end - 1) if ratio else abs(end)
        name = "%" if ratio else unit
        word = "higher" if end > (1 if ratio else 0) else "lower"
        return f"{format_number(size)}{' ' * bool(name)}{name} {word}"

    return f"; the data are compatible with {what} from {side(low)} to {side(high)}"


def shared_name(columns):
    """Return what the names of the columns of one measurement begin with, or `value`."""
    import re

    first, last = min(columns), max(columns)
    same = next((at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    begin = first[:same]
    if begin[-1:].isalpha() and all(name[same : same + 1].isalpha() for name in columns):
        begin = re.sub(r"[^\W_]*$", "", begin)  # `VC` of VC_pre and VC_post, not `VC_p`
    return re.sub(r"[\W_\d]+$", "", begin) or "value"


def in_a_row(names):
    """Return names as a sentence lists them: `a`, `a and b`, `a, b and c`."""
    names = [str(name) for name in names]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def which_differ(rows, group):
    """Return in words which pairs of groups differ at an adjusted p below 0.05: `c above a and b; b above a (3 of 3)`.

    Rows hold group_1, group_2, their difference and p_adj; of more than eight pairs, or of ranks alone, their number.
    """
    found = [row for row in rows if row["p_adj"] < 0.05]
    share = f"{len(found)} of {len(rows)} pairs"
    if not found or len(found) > 8 or not all(row["difference"] for row in found):
        return f"{share if found else f'none of {len(rows)} pairs'} differ"
    below = {}
    for row in found:
        ends = [called_level(row[key], group) for key in ("group_1", "group_2")]
        high, low = ends if row["difference"] > 0 else ends[::-1]
        below.setdefault(high, []).append(low)
    above = {}  # those above the same groups are told together
    for high, lows in below.items():
        above.setdefault(tuple(sorted(lows)), (lows, []))[1].append(high)
    named = sorted(above.values(), key=lambda item: -len(item[0]))
    return f"{'; '.join(f'{in_a_row(highs)} above {in_a_row(lows)}' for lows, highs in named)} ({share})"


def finding_values(**numbers):
    """Return the values of a finding from name=number or name=(number, low, high), without those not available."""
    values = []
    for name, given in numbers.items():
        value, low, high = given if isinstance(given, tuple) else (given, None, None)
        if value is None or value != value:
            continue
        entry = {"name": name, "value": value.item() if hasattr(value, "item") else value}
        if low is not None and low == low and abs(low) != float("inf"):
            entry["low"] = float(low)
        if high is not None and high == high and abs(high) != float("inf"):
            entry["high"] = float(high)
        values.append(entry)
    return values


def palette(n):
    """Return n colours that colour-blind readers can tell apart (Okabe and Ito's, then evenly spaced viridis)."""
    okabe_ito = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000"]
    if n <= len(okabe_ito):
        return okabe_ito[:n]
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return [to_hex(colormaps["viridis"](i / (n - 1))) for i in range(n)]


def new_axes(width=6.0, height=4.2, panels=1):
    """Return a figure that belongs to no window, and its axes: plain frame, readable sizes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(1, panels, squeeze=False)[0]
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
    return figure, (axes[0] if panels == 1 else axes)


def label_groups(axis, names, positions=None):
    """Write group names under an axis, turned when they would overlap."""
    shown = [name if len(name) <= 24 else name[:22] + ".." for name in names]
    crowded = sum(len(name) for name in shown) > 55 or len(shown) > 10
    axis.set_xticks(list(range(len(shown))) if positions is None else positions)
    axis.set_xticklabels(shown, rotation=40 if crowded else 0, ha="right" if crowded else "center")
