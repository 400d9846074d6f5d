"""The settings of a step in words, and what their choices are called."""

from __future__ import annotations

from typing import Any

from engine.domain.plan import texts_of
from engine.domain.toolspec import ParamSpec

PICKED = frozenset({"number", "integer", "choice", "boolean"})
"""Kinds of settings that can be chosen without knowing the data."""


def setting_said(param: ParamSpec, value: Any) -> str:
    """Return the value of a setting in words: `2-fold (log2 1)`, `yes`, `higher`, `0.05`."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if param.kind == "choice":
        return choices_called(param).get(str(value), str(value))
    if isinstance(value, list):
        return ", ".join(texts_of(value))
    if param.unit == "log2" and isinstance(value, int | float):
        return f"{2**value:.3g}-fold (log2 {value:g})" if value else "any"
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return f"{text} {param.unit}".strip()


def choices_called(param: ParamSpec) -> dict[str, str]:
    """Return what the values of a choice are called: as its tool tells them apart, else their names as words."""
    said = {line.partition(":")[0]: line.rpartition("|")[2].strip() for line in param.says if "|" in line}
    return {choice: said.get(choice, choice.replace("_", " ")) for choice in param.choices}
