"""Shows what steps made: tables with sensible digits, figures, texts; each can be taken away as a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import streamlit as st

from pages._escape import plain
from pages._words import size

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from engine.api import Engine

PREVIEW_ROWS = 2_000
PREVIEW_CELLS = 2_000_000
TEXT_PREVIEW = 20_000
MOST_SAVED = 512 << 20
"""Bytes of the largest file that is handed to the browser, which takes it from memory."""
MARKED = "font-weight: bold; background-color: rgba(11, 110, 117, 0.16)"
"""How the row that a sentence is about stands out, on light and dark ground."""
P_VALUES = ("p_value", "p_adj", "pvalue", "padj", "p", "fdr", "q_value")


@st.cache_data(show_spinner=False, max_entries=32)
def table_of(path: str, rows: int = PREVIEW_ROWS) -> pd.DataFrame:
    """Return the first rows of a stored table. Stored files never change, so the path is the key."""
    import pandas as pd

    columns = len(pd.read_csv(path, nrows=0).columns)
    return pd.read_csv(path, nrows=min(rows, max(20, PREVIEW_CELLS // max(1, columns))), low_memory=False)


def number_columns(frame: pd.DataFrame) -> dict[str, Any]:
    """Return how the numbers of a table are shown: p-values as 1.2e-8, others with the digits that matter."""
    import pandas as pd

    formats: dict[str, Any] = {}
    for name in frame.columns:
        column = frame[name]
        if not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
            continue
        if str(name).lower() in P_VALUES or str(name).lower().startswith(("p_", "padj", "pval")):
            style = "%.2g"
        elif pd.api.types.is_integer_dtype(column):
            style = "localized"
        else:
            style = "%.4g" if column.abs().max() < 1000 else "%.1f"
        formats[str(name)] = st.column_config.NumberColumn(format=style)
    return formats


def show_frame(
    frame: pd.DataFrame, *, key: str, alt: str, height: int | None = None, marked: Sequence[int] = ()
) -> None:
    """Show a table read only; short ones whole, long ones in a box of fixed height. `marked` rows stand out."""
    fitting = "content" if len(frame) <= 12 else 300
    shown: Any = frame
    if marked:
        shown = frame.style.apply(lambda row: [MARKED if row.name in marked else ""] * len(row), axis=1)
    st.dataframe(
        shown, hide_index=True, height=height or fitting, column_config=number_columns(frame), key=key, alt=alt
    )


def show_artifact(engine: Engine, artifact: Any, *, key: str) -> None:
    """Show an artifact as what it is, with a button that saves it."""
    from engine.domain.escaping import visible

    path = engine.artifact(artifact.sha256)
    if artifact.type == "figure":
        show_figure(engine, artifact, caption=artifact.name)
    elif artifact.name.lower().endswith(".csv"):
        frame = table_of(str(path))
        show_frame(frame, key=f"table_{key}", alt=artifact.name)
        if artifact.rows is not None and artifact.rows > len(frame):
            st.caption(f"The first {len(frame):,} of {artifact.rows:,} rows. The file holds all of them.")
    elif artifact.name.lower().endswith((".json", ".txt", ".gmt", ".log")):
        text = path.open(encoding="utf-8", errors="replace").read(TEXT_PREVIEW)
        st.code(visible(text), language="json" if artifact.name.endswith(".json") else None, height=300)
    else:
        st.caption("This kind of file has no preview. Save it to open it elsewhere.")
    save_button(path, artifact.name, key=f"save_{key}", note=size(artifact.bytes))


def show_figure(engine: Engine, artifact: Any, *, caption: str, width: int | Literal["content"] = "content") -> None:
    """Show a figure, never wider than it was drawn."""
    data = engine.figure(artifact)
    if data is None:
        st.caption(f"{plain(artifact.name)} is no picture that can be shown.")
        return
    st.image(data, caption=plain(caption), alt=caption, width=width)


def save_button(path: Path, name: str, *, key: str, note: str = "") -> None:
    """Draw a button that hands out a stored file; it is read when clicked, not before."""
    if path.stat().st_size > MOST_SAVED:
        st.caption(f"{plain(name)} is too large to be handed to a browser. It lies at {plain(str(path))}")
        return
    label = f"Save {plain(name)}" + (f" ({note})" if note else "")
    st.download_button(
        label,
        data=path.read_bytes,
        file_name=name,
        mime="image/png" if name.endswith(".png") else "text/csv" if name.endswith(".csv") else None,
        on_click="ignore",
        type="tertiary",
        icon=":material/download:",
        key=key,
    )


def rows_shown_by(frame: pd.DataFrame, row: dict[str, Any]) -> pd.DataFrame:
    """Return the rows whose columns equal those of `row`, comparing numbers as numbers."""
    import pandas as pd

    chosen = pd.Series(data=True, index=frame.index)
    for name, value in row.items():
        if name not in frame.columns:
            return frame.iloc[0:0]
        column = frame[name]
        if isinstance(value, int | float) and not isinstance(value, bool) and pd.api.types.is_numeric_dtype(column):
            chosen &= (column - value).abs() <= 1e-9 * max(1.0, abs(value))
        elif value is None:
            chosen &= column.isna()
        else:
            chosen &= column.astype(str) == str(value)
    return frame.loc[chosen]
