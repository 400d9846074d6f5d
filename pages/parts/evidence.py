"""A finding's numbers beside the row of the table that they come from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.parts.escape import plain
from pages.parts.tables import row_values, rows_shown_by, show_frame, table_of
from pages.parts.words import number, size

if TYPE_CHECKING:
    from engine.api import Engine


def draw_evidence(engine: Engine, finding: Any, artifact: Any, run_id: str) -> None:
    """Draw a finding's numbers and the table row they come from."""
    if finding.values:
        st.table([_value_row(value) for value in finding.values], border="horizontal", hide_index=True)
    if artifact is None:
        if finding.artifact:
            st.caption(plain(f"Shown by {finding.artifact}, made by step {finding.node}."))
        return
    if finding.row:
        frame = rows_shown_by(table_of(str(engine.artifact(artifact.sha256)), rows=1_000_000), finding.row)
        # The cells that the sentence speaks of come first: the header of the others is one scroll away.
        limits = ("lower_95", "upper_95") if any(value.low is not None for value in finding.values) else ()
        named = (
            *finding.row,
            *(value.name for value in finding.values[:1]),
            *limits,
            *(v.name for v in finding.values),
        )
        told = [name for name in named if name in frame.columns]
        frame = frame.loc[:, list(dict.fromkeys([*told, *frame.columns]))]
        st.caption(plain(f"Its row in {artifact.name} (step {finding.node}), the numbers of the sentence first"))
        if len(frame) == 1:  # downwards: nothing of a row lies beside what there is room for
            rows = [{"Column": plain(name), "Value": plain(value)} for name, value in row_values(frame, frame.columns)]
            st.table(rows, border="horizontal", hide_index=True)
        else:
            show_frame(frame, key=f"row_{run_id}_{finding.id}", alt=f"Row of {artifact.name} behind this finding")
    else:
        st.caption(plain(f"Shown by {artifact.name} (step {finding.node}, {size(artifact.bytes)})"))
        show_frame(
            table_of(str(engine.artifact(artifact.sha256))), key=f"rows_{run_id}_{finding.id}", alt=artifact.name
        )


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
