"""A finding's numbers beside their cells in the table that they come from, and that table as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.parts.escape import plain
from pages.parts.tables import first_rows, rows_shown_by, save_button, show_artifact, show_frame, table_of, units_of
from pages.parts.words import number, size

if TYPE_CHECKING:
    import pandas as pd

    from engine.api import Engine


def check_button(engine: Engine, finding: Any, artifact: Any, *, key: str) -> None:
    """Draw the button that opens a finding's numbers and their cells, over the page: beside it tables are too wide."""
    if not (finding.artifact or finding.values):
        return
    if st.button("Check", icon=":material/table_rows:", key=f"check_{key}_{finding.id}", type="tertiary"):
        st.dialog("Where these numbers stand", width="large")(draw_evidence)(engine, finding, artifact, key)


def table_button(engine: Engine, artifact: Any, label: str, *, key: str, findings: Sequence[Any] = ()) -> None:
    """Draw a button that opens a table with all its columns over the page."""
    if st.button(plain(label), icon=":material/open_in_full:", key=f"open_{key}", type="tertiary"):
        st.dialog(plain(artifact.name), width="large")(show_artifact)(
            engine, artifact, key=f"opened_{key}", findings=findings
        )


def draw_evidence(engine: Engine, finding: Any, artifact: Any, run_id: str) -> None:
    """Draw a finding's numbers, and the table they come from with their row on top and the cell of the first marked."""
    st.markdown(plain(finding.text))
    if finding.values:
        st.table([_value_row(value) for value in finding.values], border="horizontal", hide_index=True)
    if artifact is None:
        if finding.artifact:
            st.caption(plain(f"Shown by {finding.artifact}, made by step {finding.node}."))
        return
    path = engine.artifact(artifact.sha256)
    frame = table_of(str(path))
    rows = _rows(finding, frame)
    named = _named(finding, frame) if rows else []
    order = [name for name in dict.fromkeys([*finding.row, *named, *frame.columns]) if name in frame.columns]
    shown = first_rows(frame, rows).loc[:, order] if finding.row and rows else first_rows(frame, rows)
    where = f"{artifact.name} (step {finding.node}, {size(artifact.bytes)})"
    beside = ", the cell of the first number marked" if rows and named else ""
    st.caption(plain(f"Its row in {where} is on top{beside}" if rows else f"Shown by {where}"))
    show_frame(
        shown,
        key=f"rows_{run_id}_{finding.id}",
        alt=artifact.name,
        units=units_of([finding], artifact),
        marked=rows,
        cell=(0, named[0]) if named else None,
        ordered=bool(finding.row and rows),
    )
    if artifact.rows and artifact.rows > len(frame):
        st.caption(f"The first {len(frame):,} of {artifact.rows:,} rows. The file holds all of them.")
    save_button(path, artifact.name, key=f"save_rows_{run_id}_{finding.id}")


def _rows(finding: Any, frame: pd.DataFrame) -> list[int]:
    """Return the rows of a finding: those it points to, else those of the levels that its numbers are called by."""
    if finding.row:
        return list(rows_shown_by(frame, finding.row).index)
    found: list[int] = []
    for value in finding.values:
        column, _, level = value.name.partition(" ")
        if level and column in frame.columns:
            found.extend(frame.index[frame.astype(str).eq(level).any(axis=1)][:1])
    return list(dict.fromkeys(found))


def _named(finding: Any, frame: pd.DataFrame) -> list[str]:
    """Return the columns that hold the numbers of a finding, each with its limits."""
    names: list[str] = []
    for value in finding.values:
        column = value.name if value.name in frame.columns else value.name.partition(" ")[0]
        limits = (f"{column}_lower_95", f"{column}_upper_95", "lower_95", "upper_95") if value.low is not None else ()
        names += [column, *limits]
    return [name for name in dict.fromkeys(names) if name in frame.columns and name not in finding.row]


def _value_row(value: Any) -> dict[str, str]:
    interval = ""
    if value.low is not None and value.high is not None:
        interval = f"{number(value.low)} to {number(value.high)}"
    return {
        "Number": plain(value.name.replace("_", " ")),
        "Value": plain(number(value.value) + (f" {value.unit}" if value.unit else "")),
        "95 % interval": interval,
        "n": number(value.n),
    }
