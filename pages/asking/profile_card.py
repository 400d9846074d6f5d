"""Shows what Biodesk understood of a file before anything is computed from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.asking.preview import draw_preview
from pages.asking.structure import draw_corrections, draw_structure
from pages.parts.escape import plain
from pages.parts.words import IS, number, said_as, size
from pages.running.plan import draw_warnings

if TYPE_CHECKING:
    from engine.api import Engine, Profile

TYPE_WORDS = {
    "anndata": "single-cell data",
    "de_table": "differential expression table",
    "gene_set_library": "gene sets",
}


def type_words(name: str) -> str:
    """Return a data type as words."""
    return TYPE_WORDS.get(name, name.replace("_", " "))


@st.cache_data(show_spinner="Looking at the file...", max_entries=64)
def profile_of(path: str, stamp: tuple[int, int], _engine: Engine) -> Profile:
    """Return a file's profile; `stamp` (size and time of change) makes a changed file be looked at again."""
    return _engine.profile([path])[0]


def draw_card(
    profile: Profile,
    key: str,
    *,
    expanded: bool = False,
    engine: Engine | None = None,
    changed: Callable[[], bool] = lambda: True,
) -> None:
    """Draw one file: what it can serve as, its shape, its rows and columns and what is wrong with it.

    Args:
        profile: the file, looked at.
        key: the widgets' key.
        expanded: True to show the first rows and the columns at once.
        engine: remembers what a person says of columns; without it nothing can be corrected.
        changed: called after a correction; True when the page is to be drawn again.
    """
    with st.container(border=True, key=f"card_{key}"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f":material/description: **{plain(profile.name)}**", width="content")
            if profile.best is None:
                st.badge("Cannot be used", icon=":material/block:", color="red")
            for guess in profile.types[:3]:
                st.badge(type_words(guess.type.value), color="primary" if guess is profile.types[0] else "gray")
        st.caption(plain(" · ".join(part for part in (shape(profile), profile.summary) if part)))
        if expanded:
            draw_preview(profile, key)
        draw_warnings([warning.removeprefix(f"{profile.name}: ") for warning in profile.warnings])
        draw_structure(profile)
        folded = ["First rows"] if profile.head and not expanded else []
        columns = [f"{len(profile.column_profiles)} columns"] if profile.column_profiles else []
        if not folded and not columns:
            return
        with st.expander(" and ".join([*folded, *columns]), expanded=expanded, key=f"columns_{key}"):
            if folded:
                draw_preview(profile, key)
            if columns:
                draw_columns(profile, key)
                if engine is not None:
                    draw_corrections(engine, profile, key=key, changed=lambda: _looked_at_again() and changed())


def _looked_at_again() -> bool:
    profile_of.clear()
    return True


def shape(profile: Profile) -> str:
    """Return a file's rows, columns and size as one line."""
    parts = []
    if profile.rows is not None and profile.columns is not None:
        parts.append(f"{profile.rows_text} rows x {profile.columns:,} columns")
    parts.append(size(profile.bytes))
    if profile.organism:
        parts.append(profile.organism)
    if profile.feature_kind:
        parts.append(f"{profile.feature_kind} identifiers")
    return " · ".join(parts)


def draw_columns(profile: Profile, key: str) -> None:
    """Draw the columns: what each holds and the part it could play, and why; without the facts that none has."""
    import pandas as pd

    rows = [_column_row(column) for column in profile.column_profiles]
    if profile.extent:
        st.caption(f"Values, missing and distinct are {profile.extent}.")
    empty = [name for name in ("Called", "Unit", "Order", "Found in the values") if not any(row[name] for row in rows)]
    st.dataframe(
        pd.DataFrame(rows).drop(columns=empty),
        hide_index=True,
        height="content" if len(profile.column_profiles) <= 8 else 300,
        column_config={
            "Missing": st.column_config.NumberColumn(format="localized", help="Rows without a value"),
            "Distinct": st.column_config.NumberColumn(format="localized", help="Different values"),
        },
        key=f"column_table_{key}",
        alt=f"Columns of {profile.name}",
    )


def _column_row(column: Any) -> dict[str, Any]:
    best = column.roles[0] if column.roles else None
    if column.levels:
        shown = list(column.levels.items())[:6]
        codes = {level: f"{level} = {words}" for level, words in column.codes.items()}
        values = ", ".join(f"{codes.get(level, level)} ({count:,})" for level, count in shown)
        values += ", ..." if len(column.levels) > len(shown) else ""
    elif column.minimum is not None and column.maximum is not None:
        values = f"{number(column.minimum)} to {number(column.maximum)}"
    else:
        values = ""
    return {
        "Column": column.name,
        "Called": column.label,
        "It is": said_as(column.corrected) if column.corrected else IS.get(column.scale, column.scale),
        "Unit": column.unit,
        "Values": values,
        "Order": " < ".join(column.order),
        "Could be": best.role if best else "",
        "Why": best.why if best else "",
        "Found in the values": " ".join(column.notes),
        "Missing": column.missing,
        "Distinct": column.distinct,
    }
