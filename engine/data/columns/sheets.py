"""Sheets of a workbook that belong together."""

from __future__ import annotations


def with_sheets_beside(frame, path, beside, missing=()):
    """Return rows with the columns of other sheets of a workbook, each beside the row that names it.

    `beside` holds, for each sheet, its name, the lines to `skip` above its header, and the column `by` which both have;
    `missing` are further marks of a missing value.
    """
    import pandas as pd

    for other in beside:
        listed = pd.read_excel(path, sheet_name=other["sheet"], skiprows=other.get("skip", 0), na_values=list(missing))
        listed.columns = [str(column).strip() for column in listed.columns]
        new = [column for column in listed.columns if column not in frame.columns]
        listed = listed.loc[listed[other["by"]].notna(), [other["by"], *new]]
        frame = frame.merge(listed, on=other["by"], how="left")
    return frame
