"""How a finding points to the row of a table that shows its numbers.

A label may change when a table is written as CSV and read again ("01" becomes 1, 1 beside 0.5 becomes 1.0,
"NA" becomes a gap). A pointer that no longer matches would make a right finding look wrong.
"""

from __future__ import annotations


def table_row(table, **row):
    """Return the pointer (column -> label), or {} when a label does not come back from CSV as it was."""
    import io

    import pandas as pd

    for column, value in row.items():
        labels = pd.DataFrame({column: table[column].drop_duplicates()})
        text = io.StringIO(labels.to_csv(index=False))
        back = pd.read_csv(text, low_memory=False, skip_blank_lines=False)[column]
        if int((back.astype(str) == str(value)).sum()) != 1:
            return {}
    return row
