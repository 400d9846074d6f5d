"""Shows what steps made: tables with sensible digits, figures, texts; each can be taken away as a file."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import streamlit as st

from pages.parts.escape import plain
from pages.parts.words import number, p_text, size

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from engine.api import Engine

PREVIEW_ROWS = 200_000
PREVIEW_CELLS = 2_000_000
FEW_ROWS = 20
"""Longer tables can be filtered by a name."""
STYLED_ROWS = 500
"""Up to so many rows each p-value is written out; of longer tables only the part that is looked at is sent."""
TEXT_PREVIEW = 20_000
MOST_SAVED = 512 << 20
"""Bytes of the largest file that is handed to the browser, which takes it from memory."""
MARKED = "font-weight: bold; background-color: rgba(11, 110, 117, 0.16)"
"""How the row that a sentence is about stands out, on light and dark ground."""
P_VALUES = ("p_value", "p_adj", "pvalue", "padj", "p", "fdr", "q_value")
EFFECTS = (
    *("log2_fold_change", "hazard_ratio", "odds_ratio", "risk_ratio", "rate_ratio", "ratio", "difference"),
    *("estimate", "effect", "nes", "fold_enrichment", "r", "rho", "slope", "coef", "auc", "share", "mean"),
)
"""What a reader looks for first in a row, the first there is; with an interval, one that lies in it."""
INTERVALS = (("lower_95", "upper_95"), ("ci_low", "ci_high"), ("ci_lower", "ci_upper"), ("lower", "upper"))

_KINDS = {"png": "image/png", "svg": "image/svg+xml", "csv": "text/csv"}
_ABOUT_P = "p-value; n/a: none was computed for this row"


@st.cache_resource(show_spinner=False, max_entries=24)
def table_of(path: str, rows: int = PREVIEW_ROWS) -> pd.DataFrame:
    """Return the first rows of a stored table, not to be changed. Stored files never do, so the path is the key."""
    import pandas as pd

    columns = len(pd.read_csv(path, nrows=0).columns)
    return pd.read_csv(path, nrows=min(rows, max(20, PREVIEW_CELLS // max(1, columns))), low_memory=False)


def is_number(column: Any) -> bool:
    """Say whether a column holds numbers, which yes and no are not."""
    import pandas as pd

    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)


def is_p(name: object, column: Any) -> bool:
    """Say whether a column holds p-values: called so, and all of them from 0 to 1."""
    called = str(name).lower()
    named = called in P_VALUES or called.startswith(("p_", "padj", "pval")) or called.endswith(("_p", "_p_value"))
    return named and is_number(column) and not (column.lt(0) | column.gt(1)).any()


def reading_order(frame: pd.DataFrame) -> list[str]:
    """Return the columns of a result so that those come first that decide: name, effect, p, adjusted p, interval.

    In this order they are seen in a window of 390 pixels. A table without p-values or an interval is data and stays
    as it is.
    """
    columns = [str(name) for name in frame.columns]
    found = [name for name in ("p_value", "p_adj") if name in columns and is_p(name, frame[name])]
    found = found or [name for name in columns if is_p(name, frame[name])][:2]
    limits = next(
        (pair for pair in INTERVALS if set(pair) <= set(columns) and all(is_number(frame[n]) for n in pair)), ()
    )
    if not found and not limits:
        return columns
    numbers = [name for name in columns if is_number(frame[name]) and name not in (*found, *limits)]
    effects = [name for name in EFFECTS if name in numbers]
    if limits:
        low, high = (frame[name] for name in limits)
        within = [n for n in (*effects, *numbers) if not (frame[n].lt(low - 1e-9) | frame[n].gt(high + 1e-9)).any()]
        effects = [*within, *effects]
    deciding = [*effects[:1], *found, *limits]
    names = _naming(frame, columns[: min(map(columns.index, deciding))] or columns[:1])
    return list(dict.fromkeys([*names, *deciding, *columns]))


def _naming(frame: pd.DataFrame, leading: list[str]) -> list[str]:
    """Return as many of the leading columns as tell the rows apart; where they do not, the texts at their head."""
    texts = next((place for place, name in enumerate(leading) if is_number(frame[name])), len(leading))
    apart = (at for at in range(1, len(leading) + 1) if not frame.duplicated(leading[:at]).any())
    return leading[: next(apart, texts)]


def number_columns(frame: pd.DataFrame, units: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return how the numbers of a table are shown: p-values as 1.2e-8, others with the digits that matter."""
    import pandas as pd

    formats: dict[str, Any] = {}
    for name in frame.columns:
        column, unit = frame[name], (units or {}).get(str(name), "")
        label = f"{name} ({unit})" if unit and unit not in str(name) else None
        if not is_number(column):
            if label:
                formats[str(name)] = st.column_config.Column(label)
            continue
        size_of = column.abs()
        if is_p(name, column):
            style = "%.2g"
        elif pd.api.types.is_integer_dtype(column) or (size_of.max() >= 1000 and not (column % 1).any()):
            style = "localized"
        elif size_of.max() < 1000:
            style = "%.4g"
        else:
            style = "%.6g" if size_of[size_of > 0].min() < 0.05 else "%.1f"
        formats[str(name)] = st.column_config.NumberColumn(label, format=style)
    return formats


def _p_or_none(value: float) -> str:
    return "n/a" if math.isinf(value) else p_text(value)


def show_frame(
    frame: pd.DataFrame,
    *,
    key: str,
    alt: str,
    height: int | None = None,
    units: Mapping[str, str] | None = None,
    marked: Sequence[int] = (),
    cell: tuple[int, str] | None = None,
    ordered: bool = False,
) -> None:
    """Show a table read only, what decides first; short ones whole, long ones in a box of fixed height.

    Args:
        frame: the table.
        key: the widget's key.
        alt: what it is, for who does not see it.
        height: pixels; by the number of rows when not given.
        units: column -> unit.
        marked: the rows, by their index, that stand out; of long tables none does, since each cell would be styled.
        cell: the cell that is selected at first, by its row from 0 and its column.
        ordered: True where the columns are in the order to show.
    """
    marked = marked if len(frame) <= STYLED_ROWS else ()
    formats = number_columns(frame, units)
    shown: Any = frame
    chances = [str(name) for name in frame.columns if is_p(name, frame[name])]
    if chances and frame.columns.is_unique and 0 < len(frame) <= STYLED_ROWS:
        # Sorted as the numbers they are; a cell says what a number alone could not: too small for one, or none. The
        # browser would sort what is missing as 0, so it stands here as what no p-value can be and comes last.
        filled = frame.fillna(dict.fromkeys(chances, math.inf))
        shown = filled if marked else filled.reset_index(drop=True)
        shown = shown.style.format(_p_or_none, subset=chances)
        for name in chances:
            label = formats[name].get("label")
            formats[name] = st.column_config.NumberColumn(label, help=_ABOUT_P)
    if marked:
        styler = frame.style if shown is frame else shown
        shown = styler.apply(lambda row: [MARKED if row.name in marked else ""] * len(row), axis=1)
    order = [str(name) for name in frame.columns] if ordered else reading_order(frame)
    select: dict[str, Any] = {}
    if cell is not None:
        start = {"selection": {"rows": [], "columns": [], "cells": [cell]}}
        select = {"on_select": "rerun", "selection_mode": "single-cell", "selection_default": start}
    st.dataframe(
        shown,
        hide_index=True,
        height=height or ("content" if len(frame) <= 12 else 300),
        column_order=order if order != [str(name) for name in frame.columns] else None,
        column_config=formats,
        placeholder="n/a",
        lazy=True if len(frame) > 2 * STYLED_ROWS and frame.columns.is_unique else None,
        key=key,
        alt=alt,
        **select,
    )


def first_rows(frame: pd.DataFrame, rows: Sequence[int]) -> pd.DataFrame:
    """Return a table with some rows, by their index, before the others."""
    return frame.reindex([*rows, *frame.index.difference(rows, sort=False)])


def show_table(
    frame: pd.DataFrame,
    *,
    key: str,
    alt: str,
    rows: int | None = None,
    units: Mapping[str, str] | None = None,
    marked: Sequence[int] = (),
    height: int | None = None,
) -> None:
    """Show a table that can be filtered by a name when it is long; `rows` is how many the whole file has."""
    st.fragment(_table)(frame, key=key, alt=alt, rows=rows, units=units, marked=marked, height=height)


def _table(frame: pd.DataFrame, *, key: str, alt: str, rows: int | None, **how: Any) -> None:
    wanted = ""
    if len(frame) > FEW_ROWS:
        wanted = st.text_input(
            "Filter by name",
            key=f"filter_{key}",
            placeholder="Filter by name; several parted by commas",
            label_visibility="collapsed",
            icon=":material/filter_alt:",
        )
    found = named_rows(frame, wanted)
    how["height"] = how["height"] if len(found) == len(frame) else None
    show_frame(found, key=key, alt=alt, **how)
    notes = []
    if wanted.strip():
        notes.append(f"{len(found):,} of {len(frame):,} rows.")
    if rows is not None and rows > len(frame):
        notes.append(f"The first {len(frame):,} of {rows:,} rows. The file holds all of them.")
    if len(found) > STYLED_ROWS and any((found[n] == 0).any() for n in found.columns if is_p(n, found[n])):
        notes.append("A p-value of 0 is one below 1e-300.")
    if notes:
        st.caption(" ".join(notes))


def named_rows(frame: pd.DataFrame, wanted: str) -> pd.DataFrame:
    """Return the rows in which a text holds one of the names, which commas part; all where none is given."""
    import pandas as pd

    names = [name.strip().casefold() for name in wanted.split(",") if name.strip()]
    if not names:
        return frame
    texts = [column for column in frame.columns if not is_number(frame[column])] or list(frame.columns[:1])
    chosen = pd.Series(data=False, index=frame.index)
    for column in texts:
        cells = frame[column].astype(str).str.casefold()
        for name in names:
            chosen |= cells.str.contains(name, regex=False)
    return frame.loc[chosen]


def units_of(findings: Iterable[Any], artifact: Any) -> dict[str, str]:
    """Return column -> unit of a table, where findings give the same unit for every row of it."""
    told: dict[str, dict[str, str]] = {}
    for finding in findings:
        if finding.artifact == artifact.name:
            for value in finding.values:
                told.setdefault(value.name, {})[str(finding.row)] = value.unit
    return {
        name: next(iter(units.values()))
        for name, units in told.items()
        if len(set(units.values())) == 1 and len(units) >= (artifact.rows or 0) and next(iter(units.values()))
    }


def show_artifact(engine: Engine, artifact: Any, *, key: str, findings: Iterable[Any] = ()) -> None:
    """Show an artifact as what it is, with a button that saves it; `findings` may know the units of its columns."""
    from engine.domain.encoding.escaping import visible

    path = engine.artifact(artifact.sha256)
    if artifact.type == "figure":
        show_figure(engine, artifact, caption=artifact.name)
    elif artifact.name.lower().endswith(".csv"):
        units = units_of(findings, artifact)
        show_table(table_of(str(path)), key=f"table_{key}", alt=artifact.name, rows=artifact.rows, units=units)
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


def save_button(path: Path, name: str, *, key: str, note: str = "", label: str = "") -> None:
    """Draw a button that hands out a stored file; it is read when clicked, not before."""
    if path.stat().st_size > MOST_SAVED:
        st.caption(f"{plain(name)} is too large to be handed to a browser. It lies at {plain(str(path))}")
        return
    label = label or f"Save {plain(name)}" + (f" ({note})" if note else "")
    st.download_button(
        label,
        data=path.read_bytes,
        file_name=name,
        mime=_KINDS.get(name.rpartition(".")[2]),
        on_click="ignore",
        type="tertiary",
        icon=":material/download:",
        key=key,
    )


def row_values(frame: pd.DataFrame, names: Iterable[Any]) -> list[tuple[str, str]]:
    """Return (column, cell) of a table's first row as they are read, columns in the order of `names`."""
    found = []
    for name in names:
        cell = frame[name].iloc[0]
        if is_p(name, frame[name]):
            found.append((str(name), p_text(float(cell))))
        else:
            found.append((str(name), number(cell.item() if hasattr(cell, "item") else cell)))
    return found


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


def plain_table(rows: Sequence[Mapping[str, str]], otherwise: str) -> None:
    """Draw a few rows of plain texts, or say what there is instead."""
    if not rows:
        st.caption(otherwise)
        return
    st.table([{plain(n): plain(text) for n, text in row.items()} for row in rows], border="horizontal", hide_index=True)
