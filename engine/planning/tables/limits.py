"""Cells below or above a limit (`<0.25`) that are to count: read as half the limit or as the limit, of the columns it is said of."""

# Most methods of pandas carry no types of what they return, which is all that these rules would find here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from engine.data.kinds.table import limits_of
from engine.planning.tables.sheets import Data, Sheet
from engine.planning.tables.values import read_anew

Counted = Literal["half", "limit"]
"""What a cell below a limit is read as: half the limit, or the limit; one above it is the limit."""
_BIASED = re.compile(r" read as missing, so results are without them and biased (?:up|down)wards")


def of_limits(data: Data) -> list[str]:
    """Return the columns of measurements that have cells below or above a limit."""
    told = re.compile(r"\bcells? (?:below|above) a limit \(")
    return [column.name for column in data.columns() if any(map(told.search, column.notes))]


def with_limits(data: Data, counted: Mapping[str, Counted]) -> Data:
    """Return the data with the cells beyond a limit of some columns read as numbers, as every step reads them then."""
    return Data([_counted(sheet, counted) for sheet in data.sheets])


def _counted(sheet: Sheet, counted: Mapping[str, Counted]) -> Sheet:
    able = of_limits(Data([sheet]))
    own: dict[str, Counted] = {name: how for name, how in counted.items() if name in able}
    profile = sheet.profile
    if not own or not any(limits_of(guess.read) for guess in profile.types):
        return sheet
    fresh = read_anew(profile, beyond=own)
    told = {
        name: column.model_copy(update={"notes": [_said(note, own[name]) for note in column.notes]})
        for name in own
        if (column := fresh.column(name)) is not None
    }
    columns = [told.get(column.name, column) for column in profile.column_profiles]
    warnings = [
        next((_said(text, how) for name, how in own.items() if repr(name) in text), text) for text in profile.warnings
    ]
    update = {"types": fresh.types, "column_profiles": columns, "warnings": warnings}
    return Sheet(profile.model_copy(update=update), sheet.made)


def _said(text: str, how: Counted) -> str:
    """Return a sentence on cells beyond a limit with what they are read as now."""
    half = how == "half"
    return _BIASED.sub(
        lambda m: " read as half of it" if half and m[0].endswith("upwards") else " read as the limit", text
    )
