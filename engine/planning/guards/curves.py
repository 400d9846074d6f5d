"""Guards of curves: rows that make several curves are not taken for one."""

# Most methods of pandas carry no types of what they return, which is all that these rules would find here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.domain.profile import ColumnProfile
from engine.planning.binding.conditions import rows_left
from engine.planning.formulas.views import view
from engine.planning.guards.case import Case, guard
from engine.planning.guards.values import as_level
from engine.planning.tables.sheets import Made, is_group

if TYPE_CHECKING:
    import pandas as pd

LEAST_DOSES, MOST_CURVES = 4, 24
SHARE, SURELY = 0.2, 1e-3
"""Rows of one dose are of several curves when their names explain so much of what varies there, at so small a p-value."""


@guard
def one_curve_each(case: Case) -> None:
    """Give each compound and each kind of cell its own curve where a column that is left aside tells them apart.

    A dose is the dose of something: the curve through two compounds is that of neither, and its IC50 is of nothing.
    """
    bound, sheet = case.bound, case.bound.sheet
    param = next((p.name for p in bound.spec.params if p.role == "split"), "")
    dose, response = bound.of_role("dose", "over", "x"), bound.of_role("measure", "response", "y")
    if sheet is None or not param or not dose or not response or param in case.reading.chosen.get(bound.spec.name, {}):
        return
    frame = rows_left(case.bound)
    parts = bound.of_role("split")
    if not {*dose, *response, *parts} <= {*frame.columns}:
        return
    added: list[str] = []
    while new := [
        c.name for c in sheet.columns if _tells_apart(c, frame, [*parts, *added], dose[0], response[0], bound.columns())
    ]:  # what differs between cells may be seen only once compounds are apart
        added.append(new[0])
    if not added:
        return
    both, why = (
        [*added, *parts],
        f"The rows of one dose differ by {' and '.join(map(repr, added))}, so each has its own curve.",
    )
    bound.reasons.append(why)
    if len(both) == 1:
        bound.params[param] = both[0]
        return
    name = " / ".join(both)
    levels = frame[both].dropna().map(as_level).agg(" / ".join, axis=1).value_counts()
    own = ColumnProfile(
        name=name, kind="category", scale="category", distinct=len(levels),
        levels={str(level): int(count) for level, count in levels.items()},
    )  # fmt: skip
    made = Made(name, f"join({', '.join(f'`{part}`' for part in both)})", why)
    fresh = view(sheet, [*sheet.columns, own], sheet.structure.repeated, made)
    bound.sheets.update({port: fresh for port, one in bound.sheets.items() if one is sheet})
    bound.params[param] = name


def _tells_apart(
    column: ColumnProfile, frame: pd.DataFrame, parts: list[str], dose: str, response: str, taken: list[str]
) -> bool:
    """Say whether a column names several series of doses whose responses differ (analysis of variance within doses)."""
    import pandas as pd
    from scipy import stats

    named = column.scale in ("category", "binary") and column.kind not in ("integer", "number")
    if column.name in {*taken, *parts} or not named or not is_group(column) or column.role("batch") >= 0.5:
        return False
    if column.name not in frame or column.distinct > MOST_CURVES:
        return False
    rows = frame[[*parts, column.name, dose, response]]
    numbers = {name: pd.to_numeric(rows[name], errors="coerce") for name in (dose, response)}
    rows = rows.assign(**numbers).dropna()
    series = rows.groupby([*parts, column.name], observed=True)[dose].nunique()
    cells = [*parts, dose]
    several = series.groupby(parts, observed=True).size().max() if parts else len(series)
    if several < 2 or series.min() < LEAST_DOSES:
        return False
    whole = rows[response] - rows.groupby(cells, observed=True)[response].transform("mean")
    rest = rows[response] - rows.groupby([*cells, column.name], observed=True)[response].transform("mean")
    before, after = float((whole**2).sum()), float((rest**2).sum())
    count = rows.groupby([*cells, column.name], observed=True).ngroups
    more, left = count - rows.groupby(cells, observed=True).ngroups, len(rows) - count
    if more < 1 or left < 1 or before - after < SHARE * before:
        return False
    return after == 0 or bool(stats.f.sf((before - after) / more / (after / left), more, left) < SURELY)
