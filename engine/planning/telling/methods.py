"""Which test or model a step will compute and why, from what its tool declares of itself (`ToolSpec.methods`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from engine.domain.plan import listed
from engine.domain.toolspec import Method, ToolSpec

_CONDITION = re.compile(r"(?P<no>not )?(?P<param>\w+)(?:(?P<op>[=:~])(?P<value>.+))?")
_PLACE = re.compile(r"\{(\w+)\}")
THREE = 3


class Condition(NamedTuple):
    """What a method asks of a step: a parameter that is set, has a value, or names a column of a kind."""

    param: str
    op: str
    values: tuple[str, ...]
    negated: bool


def condition(text: str) -> Condition:
    """Return a condition of a declaration, read.

    Raises:
        ValueError: for one that cannot be read.
    """
    match = _CONDITION.fullmatch(text.strip())
    if match is None:
        message = (
            f"The condition {text!r} cannot be read; expected PARAM, not PARAM, PARAM=a|b, PARAM:2 or PARAM~scale."
        )
        raise ValueError(message)
    return Condition(match["param"], match["op"] or "", tuple((match["value"] or "").split("|")), bool(match["no"]))


def method_told(
    spec: ToolSpec, params: Mapping[str, Any], groups: Callable[[str], int | None], scale: Callable[[str], str | None]
) -> Method:
    """Return the method of a step in words; what its tool is called where that declares none.

    Args:
        spec: the tool.
        params: the step's parameters, with the tool's defaults.
        groups: says of how many levels of the column that a parameter names are compared, None where it is not known.
        scale: says of what scale the column is that a parameter names, None where it is not known.
    """

    def holds(text: str) -> bool:
        asked = condition(text)
        value = params.get(asked.param)
        if asked.op == "":
            found = value is not False and value not in (None, "", [])
        elif asked.op == "=":
            found = str(value) in asked.values
        elif asked.op == ":":
            number = groups(asked.param)
            found = number is not None and str(min(number, THREE)) in asked.values
        else:
            found = scale(asked.param) in asked.values
        return found != asked.negated

    found = next((method for method in spec.methods if all(map(holds, method.when))), Method(name=spec.title))

    def filled(text: str) -> str:
        return _PLACE.sub(lambda match: _said(params.get(match[1])), text)

    return Method(name=filled(found.name), why=filled(found.why))


def told_by_methods(spec: ToolSpec) -> set[str]:
    """Return the settings that a tool's methods speak of, which need not be told again."""
    asked = {condition(text).param for method in spec.methods for text in method.when}
    return asked | {name for method in spec.methods for name in _PLACE.findall(method.name)}


def _said(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else ", ".join(map(str, listed(value)))
