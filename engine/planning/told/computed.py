"""Columns that steps will compute, as the data that goals are held against has them."""

# pandas' types are unknown here (docs/adr/0008).
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportMissingTypeStubs=false
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from engine.data.columns.column import profile_column
from engine.data.structure.rows import look
from engine.errors import PlanError
from engine.planning.formulas.views import view
from engine.planning.tables.sheets import Data, Made
from engine.planning.told.goals import ToldColumn
from engine.toolbox.tables.expressions import evaluate_expression

_NAMES = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]+`|[^\W\d]\w*")
"""Texts, which stay as they are, and what may name a column."""


_NUMBER_AS_TEXT = re.compile(r"(?<=,)\s*(['\"])\s*[-+]?\d+(?:[.,]\d+)?\s*\1(?=\s*[,)])")
"""A text that is a number, as what `if_else` gives: tables keep no quotes."""


def with_columns(data: Data, columns: Iterable[ToldColumn]) -> Data:
    """Return the data with columns that steps will compute, each in the file that has most of what its formula names.

    Raises:
        PlanError: when a formula cannot be computed; the message says why, of each.
    """
    import pandas as pd

    formulas, issues = dict[str, str](), list[str]()
    for told in columns:
        item = told.model_copy(update={"formula": _from_the_file(told.formula, formulas)})
        formulas[item.name] = item.formula
        home = data.home([*named_in(item.formula)])
        if home is None:
            continue
        frame = home.frame()
        try:
            values = pd.Series(evaluate_expression(item.formula, frame), index=frame.index)
        except (ValueError, TypeError) as err:
            issues.append(f"The column {item.name!r} cannot be computed: {err}")
            continue
        if number := _NUMBER_AS_TEXT.search(item.formula) if values.dtype == object else None:
            issues.append(f"The column {item.name!r}: the text {number[0]} is a number to the steps after it; write "
                          "texts with a letter, or numbers without quotes.")  # fmt: skip
            continue
        frame = frame.assign(**{item.name: values})
        others = [column for column in home.columns if column.name != item.name]
        computed = look(frame, [*others, profile_column(item.name, values)])[0][-1]
        made = Made(item.name, item.formula, item.why or "The question is about a column that is computed first.")
        shown = view(home, [*others, computed], home.structure.repeated, made)
        shown = replace(shown, rows=frame, step=home.step)
        data = Data([shown if sheet is home else sheet for sheet in data.sheets])
    if issues:
        raise PlanError(issues[0], details={"issues": issues})
    return data


def _from_the_file(formula: str, earlier: Mapping[str, str]) -> str:
    """Return a formula in columns of the file alone: each step computes one column, and only those that are used are made."""

    def whole(match: re.Match[str]) -> str:
        known = earlier.get(match[0].strip("`"))
        return match[0] if known is None else f"({known})"

    return _NAMES.sub(whole, formula)


def named_in(formula: str) -> Iterator[str]:
    """Yield what may name a column in a formula."""
    yield from (match[0].strip("`") for match in _NAMES.finditer(formula) if match[0][0] not in "'\"")
