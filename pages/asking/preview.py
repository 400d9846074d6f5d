"""The first rows of a file with what each column was taken for, so that a wrong reading is seen before it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages.parts.words import SHORT, said_as

if TYPE_CHECKING:
    from engine.api import Profile

SURE = 0.6
_SAID = frozenset({"count", "measure", "covariate"})
"""Roles that say no more than what the values are."""


def draw_preview(profile: Profile, key: str) -> None:
    """Draw the first rows; under its name stands what a column was taken for, or what a person said it is."""
    import pandas as pd

    if not profile.head:
        return
    known = {column.name: column for column in profile.column_profiles}

    def taken_for(name: str) -> str:
        column = known.get(name)
        if column is None:
            return ""
        if column.corrected:
            return said_as(column.corrected)
        roles = [guess.role for guess in column.roles if guess.confidence >= SURE and guess.role not in _SAID]
        parts = (SHORT.get(column.scale, column.scale), *roles[:1], column.unit)
        return " · ".join(dict.fromkeys(part for part in parts if part))

    count = len(next(iter(profile.head.values())))
    cells = {name: [taken_for(name), *column] for name, column in profile.head.items()}
    shown = pd.DataFrame({" ": ["It is", *(f"Row {number}" for number in range(1, count + 1))], **cells})
    wide = {name: max(len(name), *(min(len(cell), 26) for cell in shown[name])) for name in shown.columns}
    st.dataframe(
        shown,
        hide_index=True,
        height="content",
        column_config={
            name: st.column_config.TextColumn(width=20 + 7 * letters, pinned=name == " ")
            for name, letters in wide.items()
        },
        key=f"preview_{key}",
        alt=f"First rows of {profile.name}",
    )
    more = (profile.columns or 0) - len(profile.head)
    if more > 0:
        st.caption(f"The first {len(profile.head)} of {profile.columns:,} columns.")
