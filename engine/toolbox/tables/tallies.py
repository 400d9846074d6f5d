"""Why apart: counts out of totals are many yes and no, and what models a yes or no needs them as rows."""

from __future__ import annotations

from engine.toolbox.registry import param, tool
from engine.toolbox.tables.columns import finding_values, numeric_values, plain_table, require_columns


def each_counted(table, part, total, row):
    """Return a row for each that was counted: `part` yes or no, `row` the number of the row it comes from.

    Rows without one of both counts are left out.

    Raises:
        ValueError: for a count that is no whole number from 0 to its total.
    """
    import numpy as np

    yes, all_of = (numeric_values(table, name) for name in (part, total))
    known = np.flatnonzero((yes.notna() & all_of.notna()).to_numpy())
    yes, all_of = yes.to_numpy(dtype=float)[known], all_of.to_numpy(dtype=float)[known]
    wrong = (yes < 0) | (yes > all_of) | (yes != np.round(yes)) | (all_of != np.round(all_of))
    if wrong.any():
        at = int(known[int(np.flatnonzero(wrong)[0])]) + 1
        raise ValueError(
            f"Row {at} holds {part} that is no whole number from 0 to {total}; expected counts out of totals."
        )
    if all_of.sum() > 500_000:
        raise ValueError(f"{int(all_of.sum()):,} were counted; expected at most 500,000, a row for each.")
    kept = table.iloc[known].assign(**{row: known + 1}).drop(columns=[total])
    states = kept.iloc[np.repeat(np.arange(len(kept)), 2)].assign(**{part: ["yes", "no"] * len(kept)})
    times = np.column_stack([yes, all_of - yes]).astype(int).ravel()
    return states.iloc[np.repeat(np.arange(len(states)), times)].reset_index(drop=True)


@tool(
    name="one_row_each",
    title="Counts out of totals as one row each",
    description=(
        "Makes of every row with a count and the total that it is a part of one row for each that was counted: yes for "
        "the part, no for the rest. The other columns stand beside each of them, and a column numbers the rows that "
        "they come from, as those of one row belong together. Rows without a count or total are left out and counted."
    ),
    domain="data handling",
    task_type="preprocessing",
    methods=("each of the counted as a row of its own; no test",),
    inputs={"table": "table: one row a group of counted things"},
    outputs={"rows": "table: one row each, yes or no"},
    params={
        "part": param("Column of counts of those with yes", kind="column", of="table", role="each_part"),
        "total": param("Column of the totals they are a part of", kind="column", of="table", role="each_total"),
        "row": param("What the column is called that numbers the rows of the table"),
    },
    checks=("tables_not_empty",),
    keywords=("events per trial", "binomial counts", "grouped binary data", "expand counts"),
    packages=("pandas", "numpy"),
    seconds=1.0,
    example="Give each counted seed a row of its own.",
)
def one_row_each(table, *, part: str, total: str, row: str = "table_row"):
    """Give each of the counted a row of its own."""
    table = plain_table(table)
    require_columns(table, [part, total])
    if row in table.columns:
        raise ValueError(f"{row!r} is a column already; expected another name for the number of the row.")
    rows = each_counted(table, part, total, row)
    used, yes = rows[row].nunique(), int((rows[part] == "yes").sum())
    lost = int(table[[part, total]].isna().any(axis=1).sum())
    text = f"{len(rows):,} counted in {used} rows have a row each: {yes:,} of them with {part}."
    return {
        "rows": rows,
        "findings": [{"text": text, "values": finding_values(n_counted=len(rows), n_yes=yes), "output": "rows"}],
        "warnings": [f"{lost} rows without {part} or {total} were left out."] if lost else [],
    }
