"""Why joins and pivots say what they lost: a row without a partner is gone silently, and a doubled key doubles rows."""

from __future__ import annotations

from engine.toolbox.registry import param, tool
from engine.toolbox.tables.columns import (
    called_level,
    finding_values,
    format_number,
    in_a_row,
    level_labels,
    numeric_values,
    order_levels,
    plain_table,
    require_columns,
)


def folded_key(key):
    """Return a key without what people write differently: capitals, blanks, signs and leading zeros (`P-01` as p1)."""
    import re

    return re.sub(r"0+(?=\d)", "", re.sub(r"[\W_]+", " ", str(key).casefold())).replace(" ", "")


def lonely_keys(own, other, shared):
    """Return the keys of one table without a partner, their rows, and how the other table spells such a key."""
    spelt = {folded_key(key): key for key in other.dropna() if key not in shared}
    counts = own[~own.isin(shared)].dropna().value_counts(sort=False)
    return [{"key": key, "rows": int(rows), "spelt_in_the_other": spelt.get(folded_key(key), "")}
            for key, rows in counts.items()]  # fmt: skip


def multiplied_keys(first, second, shared):
    """Return the warning on rows that a repeated key multiplied, from the rows of every key in both tables."""
    repeated = sorted(key for key in shared if second[key] > 1)
    crossed = [key for key in repeated if first[key] > 1]
    if crossed:
        key = crossed[0]
        rows = sum(int(first[k]) * int(second[k]) for k in crossed)
        return [f"{len(crossed)} keys occur more than once in both tables, so every row of the one was combined with "
                f"every row of the other: {rows} rows in all (for example {key}: {first[key]} times {second[key]}). Is "
                "a second key missing, such as the visit?"]  # fmt: skip
    if repeated:
        return [f"{len(repeated)} keys occur more than once in the second table, so rows of the first were repeated "
                f"(for example {repeated[0]}: {second[repeated[0]]} rows)."]  # fmt: skip
    return []


@tool(
    name="join_tables",
    title="Join two tables on a shared column",
    description=(
        "Combine two tables by the values of a key column in each: inner keeps rows found in both, left keeps every "
        "row of the first, outer keeps all. Keys are compared as text without surrounding blanks, so 1, 1.0 and '1' "
        "match; case matters; missing keys match nothing. Names the keys without a partner on both sides, those that "
        "differ only in their spelling (P-01 and p1), and rows that multiplied because a key occurs more than once."
    ),
    domain="data handling",
    task_type="preprocessing",
    methods=("rows of both tables with one key; no test",),
    inputs={"left": "table: the first table", "right": "table: the table whose columns are added"},
    outputs={"joined": "table: the combined table", "unmatched": "table: keys without a partner on either side"},
    optional_outputs=("unmatched",),
    params={
        "left_on": param("Key column of the first table", kind="column", of="left", role="key"),
        "right_on": param("Key column of the second table", kind="column", of="right", role="key"),
        "how": param(
            "Which rows to keep",
            choices=["inner", "left", "outer"],
            words=["left: left\\b", "outer: outer\\b|keep(?:ing)? all rows", "inner: inner\\b"],
        ),
    },
    checks=("tables_not_empty",),
    keywords=("merge", "join", "combine tables", "match", "lookup", "add columns", "link", "annotate rows", "vlookup"),
    packages=("pandas",),
    seconds=1.0,
    example="Add the clinical data to the measurements by patient id.",
    answers=["join_tables"],
)
def join_tables(left, right, *, left_on: str, right_on: str, how: str = "inner"):
    """Join two tables on a key."""
    import pandas as pd

    left, right = plain_table(left), plain_table(right)
    require_columns(left, [left_on])
    require_columns(right, [right_on])
    if how not in ("inner", "left", "outer"):
        raise ValueError(f"There is no join {how!r}; expected inner, left or outer.")
    key_left, key_right = level_labels(left[left_on]), level_labels(right[right_on])
    shared = set(key_left.dropna()) & set(key_right.dropna())
    folds = {folded_key(key) for key in key_left.dropna()} & {folded_key(key) for key in key_right.dropna()}
    if not shared:
        spelt = " They differ only in capitals, blanks, hyphens or leading zeros." if folds - {""} else ""
        raise ValueError(
            f"No value of {left_on!r} (for example {', '.join(map(str, key_left.dropna().head(3)))}) occurs in "
            f"{right_on!r} (for example {', '.join(map(str, key_right.dropna().head(3)))}); expected a shared "
            f"key.{spelt} Choose other columns or make their spelling the same."
        )
    sizes_left, sizes_right = key_left.value_counts(), key_right.value_counts()
    pairs = sum(int(sizes_left[key]) * int(sizes_right[key]) for key in shared)
    if pairs > 5_000_000:
        raise ValueError(f"The join would give {pairs} rows because keys repeat in both tables; expected a key that is "
                         "unique in one of them.")  # fmt: skip
    warnings = []
    blank_left, blank_right = int(key_left.isna().sum()), int(key_right.isna().sum())
    if blank_left or blank_right:
        warnings.append(
            f"Rows without a key match nothing: {blank_left} in the first table, {blank_right} in the second."
        )
    # Missing keys get marks that differ between the tables: pandas would match them with each other.
    a = left.assign(__key=("key " + key_left).where(key_left.notna(), "none in left"))
    b = right.assign(__key=("key " + key_right).where(key_right.notna(), "none in right"))
    same_name = left_on == right_on
    b = b.rename(columns={right_on: "__right_key"}) if same_name else b
    joined = a.merge(b, on="__key", how=how, suffixes=("", "_right"), sort=False)
    if same_name:
        joined[left_on] = joined[left_on].where(joined[left_on].notna(), joined["__right_key"])
        joined = joined.drop(columns="__right_key")
    joined = joined.drop(columns="__key")
    lonely_left = int((~key_left.isin(shared)).sum())
    lonely_right = int((~key_right.isin(shared)).sum())
    fate = {"inner": "both were left out", "left": "those of the first were kept with empty values",
            "outer": "all were kept with empty values"}[how]  # fmt: skip
    unmatched, named = [], []
    for which, own, other in (("first", key_left, key_right), ("second", key_right, key_left)):
        rows = lonely_keys(own, other, shared)
        unmatched += [{"table": which} | row for row in rows]
        shown = ", ".join(row["key"] for row in rows[:20]) + (f" and {len(rows) - 20} more" if len(rows) > 20 else "")
        named += [f"in the {which} {shown}"] if rows else []
    if lonely_left or lonely_right:
        keys = f" (keys {'; '.join(named)})" if named else ""
        warnings.append(f"{lonely_left} rows of the first and {lonely_right} of the second table have no partner; "
                        f"{fate}{keys}.")  # fmt: skip
    twins = [row for row in unmatched if row["spelt_in_the_other"]]
    if twins:
        warnings.append(f"{len(twins)} keys without a partner differ only in capitals, blanks, hyphens or leading "
                        f"zeros from one of the other table (for example {twins[0]['key']} and "
                        f"{twins[0]['spelt_in_the_other']}); make their spelling the same to join them.")  # fmt: skip
    warnings += multiplied_keys(sizes_left, sizes_right, shared)
    clash = [name for name in joined.columns if str(name).endswith("_right") and name not in right.columns]
    if clash:
        warnings.append(f"Columns in both tables: those of the second are called {', '.join(map(str, clash[:6]))}.")
    findings = [
        {"text": f"The joined table has {len(joined)} rows and {joined.shape[1]} columns, from {len(left)} and "
                 f"{len(right)} rows: {len(shared)} keys occur in both tables, {lonely_left} of {len(left)} rows of "
                 f"the first and {lonely_right} of {len(right)} of the second have no partner"
                 f"{' (keys ' + '; '.join(named) + ')' if named else ''}.",
         "values": finding_values(n_rows=len(joined), n_shared_keys=len(shared), n_left_unmatched=lonely_left,
                                  n_right_unmatched=lonely_right), "output": "joined"}
    ]  # fmt: skip
    lonely = pd.DataFrame(unmatched) if unmatched else None
    return {"joined": joined, "unmatched": lonely, "findings": findings, "warnings": warnings}


def cells_told(grouped, across, rows, columns, values, aggregate):
    """Return the finding that names the cells of a small table, row by row; of a larger one the ends; [] of text.

    Args:
        grouped: the cells, a row for each level of `rows` and a column for each of `columns`.
        across: the columns in order.
    """
    cells = {(row, column): grouped.loc[row, column] for row in order_levels(grouped.index) for column in across}
    cells = {key: float(value) for key, value in cells.items() if value == value}
    if not cells:
        return []
    high, low = max(cells, key=cells.get), min(cells, key=cells.get)
    counted = "rows" if values in (rows, columns) else values
    called = {"count": f"Number of {counted}", "distinct": f"Number of different {values}"}
    what = called.get(aggregate, f"{aggregate.capitalize()} {values}")
    shown = cells if len(cells) <= 12 else {key: cells[key] for key in (high, low)}
    said = {key: format_number(value, 4) if value % 1 else f"{value:g}" for key, value in shown.items()}
    if len(cells) <= 12:
        parts = [f"{called_level(row, rows)} " + in_a_row(
            f"{said[key]} in {called_level(key[1], columns)}" for key in said if key[0] == row)
            for row in dict.fromkeys(key[0] for key in said)]  # fmt: skip
        text = f"{what} by {rows} and {columns}: {'; '.join(parts)}."
    else:
        ends = [f"{said[key]} in {called_level(key[0], rows)}, {called_level(key[1], columns)}" for key in (high, low)]
        text = f"{what} is highest with {ends[0]} and lowest with {ends[1]}, of {len(cells)} cells."
    numbers = finding_values(**{f"{row} {column}": value for (row, column), value in shown.items()})
    return [{"text": text, "values": numbers, "output": "pivoted"}]


@tool(
    name="pivot_table",
    title="Turn a long table into a wide one",
    description=(
        "Spread a long table: one row for each value of `rows`, one column for each value of `columns`, filled with an "
        "aggregate of `values` (mean, median, sum, min, max, the count of values, or of distinct ones). Combinations "
        "that do not occur stay empty (0 for counts); missing values are left out of the aggregate. Says how many "
        "values were combined."
    ),
    domain="data handling",
    task_type="preprocessing",
    methods=("{aggregate} of each combination; no test",),
    inputs={"table": "table: a long table"},
    outputs={"pivoted": "table: the wide table"},
    params={
        "rows": param("Column whose values become rows", kind="column", of="table", role="split"),
        "columns": param("Column whose values become columns", kind="column", of="table", role="split"),
        "values": param("Column whose values fill the table", kind="column", of="table", role="anything"),
        "aggregate": param(
            "How several values of one combination are combined",
            choices=["mean", "median", "sum", "count", "distinct", "min", "max"],
            words=[
                "median: medians?\\b",
                "count: how many|counts?\\b|number of|numbers\\b",
                "sum: sums?\\b|total|summed",
                "mean: means?\\b|averages?\\b",
                "max: max\\w*|highest",
                "min: min\\w*|lowest",
            ],
        ),
    },
    checks=("tables_not_empty",),
    keywords=("pivot", "wide", "reshape", "long to wide", "spread", "aggregate", "group by", "matrix", "cross table"),
    packages=("pandas",),
    seconds=1.0,
    example="Make a table with a row a gene and a column a tissue.",
    answers=["pivot_table"],
)
def pivot_table(table, *, rows: str, columns: str, values: str, aggregate: str = "mean"):
    """Spread a long table into a wide one."""
    import pandas as pd

    table = plain_table(table)
    require_columns(table, [rows, columns, values])
    if len({rows, columns, values}) < 3 and not (aggregate == "count" and rows != columns):
        raise ValueError("Rows, columns and values must be three different columns of the table.")
    counts = {"count": "count", "distinct": "nunique"}  # by what pandas calls them
    if aggregate not in (*counts, "mean", "median", "sum", "min", "max"):
        raise ValueError(
            f"There is no aggregate {aggregate!r}; expected mean, median, sum, count, distinct, min or max."
        )
    filled = table[values] if aggregate in counts else numeric_values(table, values)
    tidy = pd.DataFrame({"row": level_labels(table[rows]), "column": level_labels(table[columns]), "value": filled})
    usable = tidy.dropna()
    if len(usable) == 0:
        raise ValueError(f"No row has {rows}, {columns} and {values} together; choose other columns.")
    across = order_levels(usable["column"])
    if len(across) > 1000:
        raise ValueError(f"Column {columns!r} has {len(across)} values; expected at most 1000 new columns. Swap rows "
                         f"and "
                         "columns, or choose another.")  # fmt: skip
    grouped = (
        usable.groupby(["row", "column"], sort=False)["value"].agg(counts.get(aggregate, aggregate)).unstack("column")
    )
    wide = grouped.reindex(index=list(dict.fromkeys(usable["row"])), columns=across)
    if aggregate in counts:
        wide = wide.fillna(0).astype(int)
    empty = int(wide.isna().sum().sum())
    wide.columns = [str(name) for name in wide.columns]
    wide.index.name = rows if rows not in wide.columns else f"{rows} (rows)"
    wide = wide.reset_index()
    warnings = []
    if len(usable) < len(tidy):
        warnings.append(f"{len(tidy) - len(usable)} of {len(tidy)} rows were left out because a value is missing.")
    combined = int(usable.duplicated(["row", "column"]).sum())
    if combined and aggregate not in counts:
        warnings.append(
            f"Some combinations have several values; {combined} further values were combined ({aggregate})."
        )
    if empty:
        warnings.append(f"{empty} combinations do not occur and are empty.")
    findings = cells_told(
        grouped.fillna(0) if aggregate in counts else grouped, across, rows, columns, values, aggregate
    )
    findings += [
        {"text": f"The wide table has {len(wide)} rows ({rows}) and {len(across)} columns ({columns}), filled with the "
                 f"{aggregate} of {values} from {len(usable)} rows.",
         "values": finding_values(n_rows=len(wide), n_columns=len(across), n_values=len(usable)), "output": "pivoted"}
    ]  # fmt: skip
    return {"pivoted": wide, "findings": findings, "warnings": warnings}
