"""Plates read over time, with a column a well, and the list of what is in each well: one table a reading comes of both.

No analysis of groups can start from wells in columns, and the reading of the medium is in every well.
"""

from __future__ import annotations

from engine.toolbox.registry import param, tool
from engine.toolbox.tables.columns import finding_values, format_number, level_labels, plain_table, require_columns


def holds_medium(names):
    """Return which names of wells or groups say that there is only medium in them: `blank`, `medium 2`, `no cells`.

    Beside `low` or `high` a `medium` is a level, and `rich medium` is what something grows in.
    """
    import re

    word = r"blanks?|medium|media|broth|sterile|uninoculated|no cells"
    if {"low", "high"} & set(names.dropna().astype(str).str.strip().str.lower()):
        word = r"blanks?|sterile|uninoculated|no cells"
    pattern = rf"(?i)\s*(?:{word})(?:[\W_]+(?:only|controls?|wells?|blanks?|medium|media|broth|\d+))*[\W_]*\d*\s*"
    return names.map(lambda name: isinstance(name, str) and re.fullmatch(pattern, name) is not None).astype(bool)


@tool(
    name="unfold_plate",
    title="Wells of a plate with their layout",
    description=(
        "Makes one row of every reading of a plate whose wells are columns, with what a layout says of the well beside "
        "it. The median of the wells that the layout calls blank or medium is taken off every reading of the same row, "
        "and these wells are left out."
    ),
    domain="data handling",
    task_type="preprocessing",
    methods=("readings of all wells with their layout; no test",),
    inputs={"plate": "table: one row a time, a column of readings for each well", "layout": "table: one row a well"},
    outputs={"readings": "table: one row a reading, with time, well and its layout"},
    params={
        "well": param(
            "Column of the layout that names the wells", kind="column", of="layout", role="well", required=True
        ),
        "value": param("What the readings are called"),
    },
    checks=("tables_not_empty",),
    keywords=("plate reader", "layout", "plate map", "wells", "blank subtraction"),
    packages=("pandas",),
    seconds=1.0,
    example="Put the plate and its layout together.",
)
def unfold_plate(plate, layout, *, well: str, value: str = "reading"):
    """Put readings of wells and their layout together."""
    import pandas as pd

    plate, layout = plain_table(plate), plain_table(layout)
    require_columns(layout, [well])
    layout = layout.assign(**{well: level_labels(layout[well])}).dropna(subset=[well])
    if layout[well].duplicated().any():
        raise ValueError(f"Well {layout.loc[layout[well].duplicated(), well].iloc[0]!r} stands twice in the layout.")
    wells = [name for name in plate.columns if str(name) in set(layout[well])]
    if not wells:
        raise ValueError(f"No column of the plate is a well of {well!r} ({', '.join(layout[well].head(3))}, ...).")
    kept = [name for name in plate.columns if name not in wells]
    if taken := {value, well} & {*kept} or {value} & {*layout.columns}:
        raise ValueError(f"{sorted(taken)[0]!r} is a column already; expected another name.")
    long = plate.melt(id_vars=kept, value_vars=wells, var_name=well, value_name=value)
    long[value] = pd.to_numeric(long[value], errors="coerce")
    others = layout.drop(columns=[name for name in layout.columns if name != well and name in kept])
    long = long.merge(others, on=well, how="left", sort=False)
    texts = [name for name in others.columns if name != well and others[name].dtype == object]
    is_blank = pd.Series(False, index=others.index)
    for name in texts[:3]:  # what is in a well is said first; a remark may mention a medium
        is_blank |= holds_medium(others[name].astype("string").astype(object))
    blanks, warnings, findings = set(others.loc[is_blank, well]), [], []
    if blanks and len(blanks) < len(wells):
        of_blank = long[well].isin(blanks)
        # The median, so that one blank in which something grows does not hide what grows in the others.
        level = float(long.loc[of_blank, value].median())
        medians = long[of_blank].groupby(kept[0])[value].median() if kept else None
        long[value] = long[value] - (long[kept[0]].map(medians) if kept else level)
        long = long[~of_blank]
        warnings.append(f"The median of {len(blanks)} blank wells ({format_number(level)} over all rows) was taken off "
                        f"every reading of the same {kept[0] if kept else 'plate'}.")  # fmt: skip
    missing = [name for name in layout[well] if name not in set(map(str, plate.columns))]
    if missing:
        warnings.append(f"{len(missing)} wells of the layout have no readings ({', '.join(missing[:5])}).")
    text = f"{len(long):,} readings of {long[well].nunique()} wells have their layout beside them."
    findings.append({"text": text, "values": finding_values(n_readings=len(long), n_wells=long[well].nunique()),
                     "output": "readings"})  # fmt: skip
    return {"readings": long.reset_index(drop=True), "findings": findings, "warnings": warnings}
