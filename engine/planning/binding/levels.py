"""Which levels a step takes: those set against each other, the event, the reference."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from engine.domain.plan import OpenQuestion, listed
from engine.domain.profile import ColumnProfile
from engine.domain.toolspec import ParamSpec
from engine.planning.binding.assign import as_left
from engine.planning.binding.bound import Bound
from engine.planning.reading.contrast import compared, control_level, control_of, event_level, why_reference
from engine.planning.reading.reading import Reading
from engine.text.codes import told_beside
from engine.text.stopwords import STOP

CHOICES, SAID = 40, 8
"""So many columns are offered, and so many of them named in a sentence."""


def flat(values: Iterable[Any]) -> list[str]:
    """Return the texts among values and lists of values."""
    return [item for value in values for item in listed(value) if isinstance(item, str)]


_DIRECTED = frozenset({"outcome", "response"})


def levels_given(bound: Bound, reading: Reading, given: Mapping[str, Any]) -> None:
    """Fill the parameters that name levels: what is of interest, the reference, the event, those to keep."""
    sheet = bound.sheet
    for param in bound.spec.params:
        if param.kind != "level" or (param.name in given and param.role != "interest") or sheet is None:
            continue
        column = sheet.column(str(bound.params.get(param.of) or given.get(param.of) or ""))
        if column is None or not column.levels:
            continue
        if param.role == "event" and _only_crossed(bound, param, reading, column):
            continue
        if param.role == "event":
            value, asked = event_level(reading, column, sheet.structure.survival.get("event_value", ""))
            bound.params[param.name] = value
            told = bound.spec.param(
                param.of
            )  # of two groupings set across each other it only turns an odds ratio round
            matters = told is None or told.role != "category"
            bound.questions += [
                q.model_copy(update={"param": param.name, "required": matters, "blocking": q.blocking and matters})
                for q in asked
            ]
        elif param.role == "positive":  # what is positive does not change with which results are talked of
            value, asked = event_level(replace(reading, mentions=[]), as_left(column, reading), "")
            bound.params[param.name] = value
            bound.questions += [q.model_copy(update={"param": param.name}) for q in asked]
        elif param.role == "event_if_binary" and len(column.levels) == 2:
            value, asked = event_level(reading, column, "")
            bound.params |= {} if asked else {param.name: value}
            outcome = bound.spec.param(param.of)
            if outcome is not None and outcome.role in _DIRECTED:  # which of two names it is decides every direction
                bound.questions += [q.model_copy(update={"param": param.name}) for q in asked]
        elif param.role == "interest":
            _pair(bound, reading, column, param, levels=list(column.levels))
            _as_chosen(bound, param, given, list(column.levels))


def _only_crossed(bound: Bound, param: ParamSpec, reading: Reading, column: ColumnProfile) -> bool:
    """Say whether a column of many classes is crossed with another and none of them is named: none is the event."""
    of = bound.spec.param(param.of)
    return of is not None and of.role == "category" and len(column.levels) > 2 and not reading.levels(column.name)


def _pair(bound: Bound, reading: Reading, column: ColumnProfile, param: ParamSpec, *, levels: list[str]) -> None:
    reference = next(
        (p for p in bound.spec.params if p.kind == "level" and p.role == "reference" and p.of == param.of), None
    )
    named = [level for level in reading.levels(column.name) if level in levels]
    if len(levels) > 2 and len(named) == 1 and reference is not None and (word := _unknown_side(reading)):
        others = [level for level in levels if level != named[0]]
        bound.params |= {param.name: named[0], reference.name: others[0]}
        text, why = f"Which group of {column.name!r} is {word!r}?", "No group is called so."
        bound.questions.append(
            OpenQuestion(id=reference.name, param=reference.name, text=text, why=why, choices=others[:CHOICES],
                         proposed=others[0], blocking=True)
        )  # fmt: skip
        return
    if not param.required and len(levels) > 2 and len(named) != 2:
        if reference is not None and len(named) == 1 and _set_against(reading, column.name):
            bound.params[reference.name] = named[0]  # `Dunnett against A`: all others with it
        return  # all groups are compared
    result = compared(reading, column, levels)
    usual = control_of(column, levels)
    told = reading.coded(column.name, levels)[0] is not None
    if (
        not param.required and len(levels) == 2 and usual and result.treated == usual and not told
    ):  # `lower in control than in treated`
        why = f"{result.control!r} is compared with {usual!r}, {why_reference(usual, levels, told_beside(column).get(usual, ''))}."
        result = result._replace(treated=result.control, control=usual, asked=[], reason=why)
    if not param.required and result.asked and len(named) < 2:
        return
    bound.params[param.name] = result.treated
    bound.reasons.append(result.reason)
    if reference is not None:
        bound.params[reference.name] = result.control
        update = {"treated": param.name, "control": reference.name}
        bound.questions += [
            q.model_copy(update={"param": update[q.param], "required": param.required}) for q in result.asked
        ]


def _as_chosen(bound: Bound, param: ParamSpec, given: Mapping[str, Any], levels: Sequence[str]) -> None:
    """Set the side that a person chose, and the other one so that the two differ; what the words say goes after it."""
    sides = [p.name for p in bound.spec.params if p.kind == "level" and p.of == param.of and p.role in SIDES]
    chosen = {name: str(given[name]) for name in sides if given.get(name)}
    if not chosen or len(sides) < len(SIDES):
        return
    before = [bound.params[name] for name in sides if bound.params.get(name)]
    open_sides = [name for name in sides if name not in chosen] if before or len(levels) == len(SIDES) else []
    for name in open_sides:
        own = [bound.params.get(name), *before, *levels]
        chosen[name] = next(level for level in own if level and level not in chosen.values())
    bound.params = {key: value for key, value in bound.params.items() if key not in sides} | chosen
    bound.questions = [q for q in bound.questions if q.param not in sides]
    bound.reasons = [r for r in bound.reasons if not (before and all(repr(level) in r for level in before))]
    treated, control = (chosen.get(name) for name in sides)
    if treated and control:
        bound.reasons.append(f"{treated!r} is compared with {control!r}, as chosen.")


SIDES = ("interest", "reference")
_THAN = re.compile(
    r"\b(?:than|versus|vs\.?|against|compared (?:to|with))\s+(?:(?:the|in|those|from|of|with|for)\s+)*(?P<word>[A-Za-z-]{4,})",
    re.IGNORECASE,
)
_ALL_OTHERS = frozenset("other others rest remaining average expected chance each another elsewhere before".split())


def _unknown_side(reading: Reading) -> str:
    """Return the word that a named level is set against where nothing in the data is called so: `more than the Dutch ones`."""
    for said in _THAN.finditer(reading.question):
        at = next((n for n, word in enumerate(reading.words) if word.start == said.start("word")), None)
        word = said["word"].lower()
        if at is not None and at not in reading.used and word not in _ALL_OTHERS | STOP and not control_level([word]):
            return said["word"]
    return ""


def _set_against(reading: Reading, column: str) -> bool:
    """Say whether the one level named is what others are compared with."""
    at = next(m.first for m in reading.mentions if m.column == column and m.level)
    return _AGAINST.search(reading.question[: reading.words[at].start]) is not None


_AGAINST = re.compile(
    r"\b(?:against|versus|vs\.?|(?:compared|in comparison) (?:to|with)|relative to|than|differ\w* from|unlike|(?:above|below|beyond|over) (?=the |that of )|reference(?: level)?:?)\s+"
    r"(?:(?:the|in|group|level|treatment|arm|that|of)\s+){0,2}(?:[\w-]+\s+)?$",
    re.IGNORECASE,
)
