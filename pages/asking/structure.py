"""What the rows and columns of a file are: found from its values, and corrected by a person who knows better."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.parts.engine import attempt
from pages.parts.escape import plain
from pages.parts.words import IS, counted, said_as

if TYPE_CHECKING:
    from engine.api import Engine, Profile

CORRECTED = "columns_corrected"
"""Session key: how often a column was corrected."""
SHOWN = 6
"""At most so many columns are named in a sentence."""


def sentences(structure: Any) -> Iterator[str]:
    """Yield what was found of a table's rows, one sentence each."""
    if structure.unit not in ("", "row"):
        yield f"One row is {structure.unit}."
    yield from _repeats(structure.repeated)
    for wide in structure.wide:
        yield f"{wide.name} stands in {len(wide.columns)} columns: {_names(wide.labels)}."
    if structure.survival:
        yield _survival(structure.survival)
    for label, names in (("Times", structure.times), ("Doses", structure.doses)):
        if names:
            yield f"{label}: {_names(names)}."
    subjects = {repeated.subject for repeated in structure.repeated}  # what they lie within was said of them above
    if nested := [f"{inner} within {outer}" for inner, outer in structure.nested if inner not in subjects]:
        yield f"Nested: {_names(nested)}."
    for first, second in structure.same_quantity:
        yield f"{first} and {second} hold the same quantity."
    for part, total in structure.part_of.items():
        yield f"{part} counts a part of {total}."
    for parts in structure.compositions:
        yield f"Parts of one whole: {_names(parts)}."


def _repeats(found: Iterable[Any]) -> Iterator[str]:
    for repeated in found:
        apart = f", told apart by {_names(repeated.within)}" if repeated.within else ""
        yield (
            f"{counted(repeated.subjects, 'subject')} in {repeated.subject} with several rows{apart}: "
            "these rows are not independent."
        )
        if repeated.between:
            yield f"The same in all rows of a subject: {_names(repeated.between)}."


def _survival(parts: dict[str, str]) -> str:
    named = ", ".join(f"{part} in {parts[part]}" for part in ("start", "time", "event") if part in parts)
    value = parts.get("event_value", "")
    return f"Time to an event: {named}{f' ({value} means that it happened)' if value else ''}."


def _names(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def draw_structure(profile: Profile) -> None:
    """Draw what was found of the rows."""
    found = list(sentences(profile.structure))
    if found:
        st.caption("\n".join(f"- {plain(text)}" for text in found))


def draw_corrections(engine: Engine, profile: Profile, *, key: str, changed: Callable[[], bool]) -> None:
    """Draw what people said of columns with a way back, and the fields to say more.

    Args:
        engine: remembers it.
        profile: the file, as corrected so far.
        key: the widgets' key.
        changed: called when something was said or taken back; True when the page is to be drawn again.
    """
    for column in (column for column in profile.column_profiles if column.corrected):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(
                f":material/edit: **{plain(column.name)}** is {plain(said_as(column.corrected))}, you said.",
                width="content",
            )
            if st.button("Undo", key=f"undo_{key}_{column.name}", icon=":material/undo:", type="tertiary"):
                _say(engine, profile, column.name, "", changed)
    key = f"{key}_{st.session_state.get(CORRECTED, 0)}"  # fields that are empty again after each correction
    with st.container(horizontal=True, vertical_alignment="bottom", key=f"correct_{key}"):
        names = [column.name for column in profile.column_profiles]
        column = st.selectbox("Correct a column", names, index=None, key=f"correct_column_{key}", placeholder="Column")
        what = st.selectbox(
            "It is", list(IS), index=None, format_func=IS.__getitem__, key=f"correct_is_{key}", placeholder="What it is"
        )
        unit = st.text_input("Unit", key=f"correct_unit_{key}", placeholder="such as mg")
        value = ", ".join(
            part for part in (what or "", f"unit:{unit.strip()}" if unit and unit.strip() else "") if part
        )
        if st.button(
            "Remember",
            key=f"correct_now_{key}",
            icon=":material/check:",
            disabled=not (column and value),
            help="Remembered for this file.",
        ):
            _say(engine, profile, str(column), value, changed)


def _say(engine: Engine, profile: Profile, column: str, value: str, changed: Callable[[], bool]) -> None:
    with st.spinner("Looking at the file..."):
        done = attempt(lambda: engine.correct_column(profile.path, column, value)) and changed()
    if done:
        st.session_state[CORRECTED] = st.session_state.get(CORRECTED, 0) + 1
        st.rerun()
