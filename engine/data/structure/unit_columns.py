"""A column that says in which unit the number beside it is given, row by row: two units make two scales of one column.

A mean over mg/dL and mmol/L is a number without meaning, and nothing in the values alone need show it.
"""

from __future__ import annotations

import re

from engine.data.columns.cells import is_unit
from engine.data.source import Frame
from engine.data.structure.scales import Col, View, tokens
from engine.domain.profile import Structure

_CALLED = frozenset("unit units uom einheit einheiten unite unites unidad unidades".split())
_NUMBERED = re.compile(r"^[A-Za-z]+\d+$")
MOST = 8
"""More units than these are names of something else."""


def units_beside(table: View) -> dict[str, str]:
    """Return column of numbers -> the column of text that gives its unit in each row, where that names several."""
    found: dict[str, str] = {}
    for at, units in enumerate(table.cols):
        if units.numbers is None and 2 <= units.size <= MOST and _are_units(units):
            measure = _measured(table, at)
            if measure and (_CALLED & set(tokens(units.name)) or _apart(table[measure], units)):
                found.setdefault(measure, units.name)
    return found


APART = 1.5
"""So much larger are values in one unit than in another where nothing calls it a unit: `us` is upstream, too."""


def _apart(measure: Col, units: Col) -> bool:
    """Say whether the values are of another size in another unit."""
    import numpy as np

    values = [measure.numbers[(units.codes == code) & np.isfinite(measure.numbers)] for code in range(units.size)]
    middles = sorted(abs(float(np.median(part))) for part in values if len(part))
    return len(middles) > 1 and middles[-1] >= APART * middles[0]


def _are_units(col: Col) -> bool:
    levels = list(col.profile.levels)
    if _CALLED & set(tokens(col.name)):
        return bool(levels) and sum(map(is_unit, levels)) >= len(levels) / 2
    numbered = {re.sub(r"\d+", "", level) for level in levels} if all(map(_NUMBERED.search, levels)) else {*levels}
    if len(numbered) < len(levels):
        return False  # `b1` and `b2` count batches, though one may be read as a unit
    return bool(levels) and all(len(level) > 1 and is_unit(level) for level in levels)


def _measured(table: View, at: int) -> str:
    """Return whose unit it is: the column of its name (`weight_unit`), else the number before it, or the one after."""
    able = [col for col in table.cols if col.numbers is not None and col.profile.scale in ("number", "count", "share")]
    rest = set(tokens(table.cols[at].name)) - _CALLED
    named = [col.name for col in able if rest and rest <= set(tokens(col.name))]
    before = [col.name for col in table.cols[:at] if col in able]
    after = [col.name for col in table.cols[at + 1 :] if col in able]
    return (named or before[-1:] or after or [""])[0]


def unit_problems(name: str, structure: Structure, frame: Frame) -> list[str]:
    """Say which columns hold values of several units, with how many of each."""
    told = []
    for measure, units in structure.units.items():
        counts = frame.loc[frame[measure].notna(), units].dropna().value_counts()
        if len(counts) > 1:
            shown = ", ".join(f"{count:,} in {unit}" for unit, count in counts.items())
            told.append(
                f"{name}: {measure!r} holds values of {len(counts)} units, as {units!r} says: {shown}. They are not "
                "one measurement until they are converted to one unit."
            )
    return told
