"""What a question asks for that a plan would pass over: found, and refused with a sentence.

Analysing all rows when some were to be left out, or other groups than those named, gives a number that looks like
an answer. Such a question is better sent back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from engine.agents.planning.columns import find_columns, find_levels
from engine.agents.planning.design import control_level
from engine.domain.plan import TaskNode
from engine.domain.profile import ColumnProfile
from engine.errors import PlanError
from engine.toolbox.registry import ToolRegistry

_WHO = r"(?:patients?|samples?|subjects?|animals?|mice|females?|males?|women|men|people|participants|individuals|cells|plants|donors)"
_RESTRICTION = re.compile(
    rf"\b(?:excluding|exclude|except(?:ing)?(?: for)?|leav(?:e|ing) out|omit(?:ting)?|remov(?:e|ing)|dropping)\b [^.;?]{{2,40}}|"
    rf"\bonly (?!\d)(?:the |in |for |among |use |with )*(?:[\w+-]+ ){{0,3}}{_WHO}\b|\bin {_WHO} only\b|\b{_WHO} only\b|"
    rf"\b{_WHO} (?:who are |that are |aged )?(?:older|younger|over|under|above|below) (?:than )?\d+|\b(?:older|younger) than \d+",
    re.IGNORECASE,
)
_NOT_ROWS = re.compile(r"\b(?:batch|pair\w*|effects?|outliers?|nothing|genes?|donor effect)\b", re.IGNORECASE)
_VERSUS = re.compile(r"\b(?P<a>[A-Za-z][\w-]{2,})\s+(?:vs\.?|versus)\s+(?P<b>[A-Za-z][\w-]{2,})", re.IGNORECASE)
_MISSING_CODES = (-99.0, -999.0, -9999.0)


def refuse_ignored_restriction(question: str, nodes: Sequence[TaskNode]) -> None:
    """Refuse a question that leaves some rows out when no step of the plan does.

    Raises:
        PlanError: naming the words.
    """
    match = _RESTRICTION.search(question)
    if match is None or any(node.tool == "filter_rows" for node in nodes):
        return
    if _NOT_ROWS.search(match.group(0)):
        return
    words = match.group(0).strip()
    message = f"The question leaves out part of the data ({words!r}), which this kind of analysis cannot do by itself."
    advice = "Ask `keep only rows where ...` first (or leave the others out of the file), then ask about what is left."
    raise PlanError(message, advice=advice)


def refuse_unknown_groups(question: str, columns: Sequence[ColumnProfile]) -> None:
    """Refuse `A versus B` when neither is a group, a column or a word of the data.

    Raises:
        PlanError: naming the groups there are.
    """
    match = _VERSUS.search(question)
    if match is None:
        return
    pair = (match["a"], match["b"])
    if any(_in_data(word, columns) for word in pair) or all(_generic(word) for word in pair):
        return
    groups = [f"{c.name}: {', '.join(list(c.levels)[:6])}" for c in columns if 2 <= len(c.levels) <= 12][:5]
    message = f"Neither {match['a']!r} nor {match['b']!r} is a group in these data."
    raise PlanError(message, advice=f"The groups are {'; '.join(groups) or 'not recognisable'}.")


def _generic(word: str) -> bool:
    """Say whether a word means a treated or a control group whatever these are called in the data."""
    generic = {"treated", "treatment", "untreated", "case", "cases", "expression", "genes", "cells", "samples"}
    return word.lower() in generic or bool(control_level([word]))


def _in_data(word: str, columns: Iterable[ColumnProfile]) -> bool:
    return any(
        find_levels(word, column)
        or any(
            word.lower() in level.lower() or level.lower() in word.lower() for level in column.levels if len(level) > 1
        )
        or any(match.strength >= 0.55 for match in find_columns(word, [column]))
        for column in columns
    )


def refuse_missing_codes(nodes: Sequence[TaskNode], registry: ToolRegistry, columns: Sequence[ColumnProfile]) -> None:
    """Refuse to analyse a column whose smallest value is -99, -999 or -9999: such numbers stand for `missing`.

    Raises:
        PlanError: naming the column and the code.
    """
    by_name = {column.name: column for column in columns}
    for node in nodes:
        for param in registry.get(node.tool).params:
            value = node.params.get(param.name)
            names = value if isinstance(value, list) else [value]
            for name in names if param.kind in ("column", "columns") else []:
                column = by_name.get(str(name))
                if column is not None and column.minimum in _MISSING_CODES:
                    message = f"{name!r} holds {column.minimum:g}, which looks like a code for a missing value."
                    advice = "Replace it by an empty cell, so that it is not taken for a measurement, and ask again."
                    raise PlanError(message, advice=advice)
