"""What tools do with a table, for those who plan: the same functions, with types.

The functions of tools carry no types, since their source is the cell of a notebook. Here, and nowhere else in planning, is said
what they take and return.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportMissingTypeStubs=false

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from engine.toolbox import genes
from engine.toolbox.tables import columns, expressions, tallies, units

if TYPE_CHECKING:
    import pandas as pd

plain_table: Callable[[pd.DataFrame], pd.DataFrame] = columns.plain_table
level_labels: Callable[[pd.Series], pd.Series] = columns.level_labels
order_levels: Callable[[Iterable[str | None]], list[str]] = columns.order_levels
likely_control: Callable[[Sequence[str]], str | None] = columns.likely_control
complete_rows: Callable[[pd.DataFrame, Sequence[str]], tuple[pd.DataFrame, list[str]]] = columns.complete_rows
evaluate_expression: Callable[[str, pd.DataFrame], pd.Series] = expressions.evaluate_expression
conversion: Callable[[str, str, float, float, str], tuple[float, float]] = units.conversion
each_counted: Callable[[pd.DataFrame, str, str, str], pd.DataFrame] = tallies.each_counted
find_genes: Callable[[list[str], Any, list[str]], tuple[dict[int, str], list[str]]] = genes.find_genes
symbols_of: Callable[[pd.DataFrame], Any] = genes.symbols_of


def features_called(matrix: pd.DataFrame, names: Iterable[str]) -> dict[str, int]:
    """Return name -> the first row of a matrix that is called so, by its id or its symbol; those it has not are left out."""
    features: list[str] = list(map(str, matrix.index))
    places: dict[str, int] = {}
    for place, name in find_genes(features, symbols_of(matrix), [*names])[0].items():
        places.setdefault(name, place)
    return places
