"""What the words of a question say of a step's settings: numbers, choices and flags, read from what the tool declares.

A parameter's `words` are patterns of what people say for it: `50 bins` for a number, `violin: violin` for a choice,
`true: shr[iu]n` for a flag, and for a text where it is written (its group `value`: a formula). Thresholds, genes and how many are read once for the whole question and taken by name.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection
from itertools import pairwise
from typing import Any

from engine.domain.toolspec import ParamSpec, ToolSpec
from engine.planning.naming.mention import SURE
from engine.planning.naming.numbers import beside, ratio
from engine.planning.reading.reading import Reading
from engine.text.numbers import CARDINALS, as_number
from engine.text.times import time_unit
from engine.toolbox.typecheck import param_problem

_READ = {"alpha": "alpha", "min_abs_lfc": "min_lfc", "lfc_threshold": "min_lfc", "top_n": "top"}
"""Parameters whose number the reader has found for the whole question."""


def cut_by_setting(spec: ToolSpec, reading: Reading) -> set[int]:
    """Return the places of the words that say a threshold which a parameter of the tool takes.

    A column named there (`padj below 0.05`, `log2FoldChange of 1`, `2-fold`) is what the step cuts, not what it is about.
    """
    said = [getattr(reading, _READ[param.name]) for param in spec.params if param.name in _READ]
    return {
        at for number in said if number is not None
        for at, word in enumerate(reading.words) if word.start < number.end and number.start < word.end
    }  # fmt: skip


def settings_said(spec: ToolSpec, reading: Reading, bound: dict[str, Any]) -> dict[str, Any]:
    """Return parameter -> value for the settings that the question names; names of columns say nothing of settings.

    Args:
        spec: the tool.
        reading: the question.
        bound: what is settled already.
    """
    # Whether somebody is alive at a year is asked of the event: its states are no names there.
    events = {str(bound.get(p.name)) for p in spec.params if p.role == "event"}
    text = _without_names(reading, events)
    found: dict[str, Any] = {}
    for param in sorted(spec.params, key=lambda p: (p.kind != "text", p.unit != "ratio")):  # `3 to 1` is no other's
        if param.name in bound or param.kind in ("column", "columns", "level"):
            continue
        if param.kind == "text":
            if said := written(param, reading.question, str(bound.get(param.of) or "")):
                found[param.name] = said["value"].strip()
                if said.end() > said.start():  # a pattern may only look at the question
                    reading.mark_text(*said.span("value"), "method", f"{param.name} = {found[param.name]}")
                text = text[: said.start()] + " " * (said.end() - said.start()) + text[said.end() :]
            continue
        value = _value(param, reading, _after_its_number(param, reading, text))
        if value is not None and param.unit == "ratio" and (said := ratio(text, "|".join(param.words))):
            text = text[: said.start] + " " * (said.end - said.start) + text[said.end :]
        if value is not None and value != [] and not param_problem(param, value):
            found[param.name] = value
    return found


def _after_its_number(param: ParamSpec, reading: Reading, text: str) -> str:
    """Return for the unit of a number only that number and what follows it: of `2 years (730 days)` the years."""
    if param.role != "unit_of":
        return text
    places = [at for at, (_, value, _) in reading.used.items() if value.startswith(f"{param.of} = ")]
    spans = [(reading.words[at].start, reading.words[at].end) for at in places]
    numbers = [(start, end) for start, end in spans if re.search(r"\d", text[start:end])]  # `three` stands as 3 in it
    if not numbers:
        return ""
    start, end = numbers[-1]
    return " " * start + text[start : end + UNIT_WITHIN]


UNIT_WITHIN = 12
"""So many characters behind a number its unit ends."""


def written(param: ParamSpec, question: str, column: str = "") -> re.Match[str] | None:
    """Return where a question writes out a text, the longest place that can be it; None where there is none.

    Args:
        param: the parameter.
        question: the whole question.
        column: the column that a formula runs along, where its part is a `curve`.
    """
    if param.role == "curve" and not _ARITHMETIC.search(question):
        return None  # no sign of arithmetic: the patterns of formulas need not even be compiled
    found = [said for pattern in param.words for said in _text_pattern(pattern).finditer(question)]
    found = [said for said in found if not param_problem(param, said["value"])]
    found = [said for said in found if param.role != "curve" or _runs_along(said["value"], column)]
    return max(found, key=lambda said: len(said["value"]), default=None)


_ARITHMETIC = re.compile(r"[*^/·×~=]|\w\(")


def _runs_along(text: str, column: str) -> bool:
    """Say whether a text is a formula of a column (called so, x or t) with a name left to fit: not R^2, nor obs - fit."""
    body = re.split(r"[=~]", text, maxsplit=1)[-1]
    own = [name for name in (column, "_".join(re.findall(r"\w+", column))) if name]
    across = next((name for name in own if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", body, re.IGNORECASE)), "")
    rest = re.sub(rf"(?<!\w){re.escape(across)}(?!\w)", " ", body, flags=re.IGNORECASE) if across else body
    names = [name for name in re.findall(r"(?<![\w.])\d*([A-Za-z_]\w*)(?!\w*\s*\(\s*[-+]?\w)", rest) if name != "e"]
    names += re.findall(r"(?<!\w)([A-Za-z]\d?)\(", rest)  # a(1 - b)
    glued = [name for name in names if re.fullmatch("[a-z][xt]", name)]
    free = [name for name in names if name not in ("x", "X", "t", "T", "pi")]
    return bool(across or glued or len(free) < len([n for n in names if n != "pi"])) and bool(free)


def _without_names(reading: Reading, events: Collection[str] = ()) -> str:
    """Return the question with a blank for each name of a column or level, except single letters (`t` of t-test).

    What stands beside a number is its unit: `after 6 months` names no column of days.
    """
    text = reading.question
    for word, after in pairwise([*reading.words, None]):
        if word is None:
            continue
        said = text[word.start : word.end]
        counts = said.lower() != "one" or (after is not None and bool(time_unit(after.text)))  # `one` is often nobody
        if word.number is not None and said.isalpha() and said.lower() in CARDINALS and counts:
            text = text[: word.start] + f"{word.number:g}".ljust(len(said)) + text[word.end :]  # `at three years`
    for mention in reading.mentions:
        start, end = reading.words[mention.first].start, reading.words[mention.last].end
        number = mention.first > 0 and reading.words[mention.first - 1].number is not None
        unit = number and mention.width == 1 and bool(time_unit(reading.words[mention.first].text))
        state = bool(mention.level) and mention.column in events
        if end - start > 2 and not unit and not state and mention.strength >= SURE:
            text = text[:start] + " " * (end - start) + text[end:]
    return text


def _value(param: ParamSpec, reading: Reading, text: str) -> Any:
    if param.role == "per":
        return None  # needs the unit of a predictor, see `engine.planning.binding.bind`
    if param.role == "genes":
        return [gene for gene, _, _ in reading.genes]
    if param.name in _READ:
        said = getattr(reading, _READ[param.name])
        if said is None or param.name == "lfc_threshold":
            return None
        return int(said.value) if param.kind == "integer" else said.value
    if param.name == "direction" and param.kind == "choice":
        return reading.direction or None
    if param.kind in ("choice", "boolean"):
        return _choice(param, reading, text)
    if param.kind in ("integer", "number"):
        return _number(param, reading, text)
    return None


def _choice(param: ParamSpec, reading: Reading, text: str) -> Any:
    said = [line.partition(":")[::2] for line in param.words]
    if param.kind == "choice" and not said:
        said = [
            (choice, re.escape(choice).replace("_", r"[\s_-]"))
            for choice in param.choices
            if len(choice) > 3 and choice != param.default
        ]
    hits: dict[str, tuple[int, int]] = {}
    for value, pattern in said:
        match = _pattern(pattern.strip()).search(text)
        if match:
            hits.setdefault(value.strip(), match.span())
    if not hits:
        return None
    value = next(iter(hits))
    reading.mark_text(*hits[value], "method", f"{param.name} = {value}")
    return {"true": True, "false": False}.get(value, value) if param.kind == "boolean" else value


@functools.cache
def _text_pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


@functools.cache
def _pattern(text: str) -> re.Pattern[str]:
    """Compile once: `re` keeps 512 patterns, and the tools together have more."""
    return re.compile(rf"\b(?:{text})", re.IGNORECASE)


def _number(param: ParamSpec, reading: Reading, text: str) -> float | int | None:
    spoken = "|".join(param.words) or param.name.replace("_", r"[\s_]")
    if param.unit == "share":
        text = re.sub(r"\bone(?=\s+(?:in|out of)\s+\d)", "  1", text, flags=re.IGNORECASE)
    said = (ratio if param.unit == "ratio" else beside)(text, spoken)
    if said is None:
        return None
    reading.mark_text(said.start, said.end, "number", f"{param.name} = {said.value:g}")
    if param.kind == "integer":
        return int(said.value) if float(said.value).is_integer() else None
    if param.unit != "share":
        return said.value
    whole = _OUT_OF.search(text, said.start)
    if whole is not None and whole.start() < said.end and (total := as_number(whole["all"])) and total > said.value:
        return said.value / total
    return said.value / 100 if said.percent or said.value > 1 else said.value


_OUT_OF = re.compile(r"\d\s+(?:in|out of|of|per)\s+(?:every\s+)?(?P<all>\d[\d.,]*)", re.IGNORECASE)
"""`3 in 100`"""
