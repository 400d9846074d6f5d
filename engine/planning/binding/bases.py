"""What a model sets a column against: the base level that a question names, and codes or numbers taken as groups."""

from __future__ import annotations

import re

from engine.domain.profile import ColumnProfile
from engine.planning.binding.bound import Bound
from engine.planning.binding.slots import FEW_LEVELS
from engine.planning.reading.contrast import control_level, control_of
from engine.planning.reading.reading import Reading
from engine.planning.tables.sheets import is_id

_STEEP = re.compile(
    r"\b(?:faster|slower|quicker|more (?:slow|quick|rapid|steep)ly|steeper|slopes?|"
    r"(?:per|a|each|every) (?:year|month|week|day|hour)|(?:growth|decline|linear) (?:rates?|trends?))\b",
    re.IGNORECASE,
)


SURE_BATCH = 0.5


def as_groups(bound: Bound, reading: Reading) -> None:
    """Take numbers that only count as groups: codes, and those of which the question sets several apart (`95, 96 and 97`).

    A code is taken so however many levels it has: a tool may refuse that many, but a slope over codes means nothing.
    """
    param, sheet = next((p for p in bound.spec.params if p.role == "as_groups"), None), bound.sheet
    if param is None or sheet is None:
        return
    able = [c for name in bound.columns() if (c := sheet.column(name)) and c.kind in ("integer", "number")]
    taken = set(bound.of_role("predictors", "covariates", "factors", "held"))
    if not any(p.role in ("predictors", "covariates", "factors", "held") for p in bound.spec.params):
        # What is only described has no mean where it stands for words.
        described = bound.of_role("anything")
        coded = [c for c in sheet.columns if c.codes and c.scale in _CODED and not is_id(c)]
        names = [c.name for c in coded if not described or c.name in described]
        names += [c.name for c in able if c.name in described and is_id(c)]  # nor has a patient's number
        if names:
            bound.params[param.name] = names
        return
    if not taken:  # a tool that takes all columns which nothing else takes
        able = [c for c in sheet.columns if c.kind in ("integer", "number") and c.name not in bound.columns()]
        taken = {c.name for c in able if c.scale in ("category", "code") and not is_id(c)}
    steep = _STEEP.search(reading.question) is not None  # how fast something changes is a slope over the numbers
    told = {
        c.name
        for c in able
        if re.search(rf"{re.escape(c.name)}[^.;?!]{{0,20}}\b(?:categor|factor|code)", reading.question, re.IGNORECASE)
    }
    chosen = [
        c.name
        for c in able
        if c.name in taken
        and (
            c.distinct > 2 or (c.role("batch") >= SURE_BATCH and {*c.levels} != {"0", "1"})
        )  # two centres are no amount
        and (
            c.distinct == 2
            or c.scale in ("category", "code")
            or (c.distinct <= FEW_LEVELS and (c.name in told or (len(reading.levels(c.name)) > 1 and not steep)))
        )
    ]
    many = {c.name: c.distinct for c in able if c.name in chosen and c.distinct > FEW_LEVELS}
    strata = next((p for p in bound.spec.params if p.role == "strata"), None)
    covariates = next((p for p in bound.spec.params if p.role == "covariates"), None)
    free = covariates is not None and covariates.name not in reading.chosen.get(bound.spec.name, {})
    if strata and covariates and free and many and set(bound.of_role("covariates")) - set(many):
        bound.params[strata.name] = list(dict.fromkeys([*(bound.params.get(strata.name) or []), *many]))
        bound.params[covariates.name] = [name for name in bound.of_role("covariates") if name not in many]
        chosen = [name for name in chosen if name not in many]
        for name, levels in many.items():
            bound.reasons.append(f"Each of the {levels} codes of {name!r} gets a baseline of its own, and no effect.")
    if chosen:
        bound.params[param.name] = chosen


_CODED = ("category", "code", "binary")
_BASE = r"(?:reference|baseline|base(?=\s+(?:level|group|category)|\W*$)|comparator)"
_WHAT = r"(?:\s+(?:level|group|category|arm|class))?"
_IS_BASE = re.compile(
    rf"['\")]?(?:\s+(?:group|level|category|arm|one))?\s*(?:,\s*|\()?(?:(?:as|is|being|be|for|to be)\s+)(?:the\s+|our\s+|an?\s+)?"
    rf"{_BASE}",
    re.IGNORECASE,
)
_BASE_IS = re.compile(
    rf"\b(?:{_BASE}{_WHAT}\s*(?:(?:is|be|of|being|to|as)\b|[:=])?|relative to|differ\w* from|(?:compared|in comparison) (?:to|with))\s*"
    r"(?:the\s+|that of\s+)?(?:group\s+|level\s+)?['\"(]?$",
    re.IGNORECASE,
)


def references_said(bound: Bound, reading: Reading) -> None:
    """Take the level that the question calls the reference (`C as the reference`), sets another against, or codes as no."""
    param, sheet = next((p for p in bound.spec.params if p.role == "references"), None), bound.sheet
    if param is None or sheet is None:
        return
    found: dict[str, str] = {}
    for name in dict.fromkeys(bound.of_role("predictors", "covariates", "factors")):
        column = sheet.column(name)
        if column is None or not 2 <= len(column.levels) <= FEW_LEVELS:
            continue
        if (coding := reading.coding.get(name)) is not None:
            found[name] = coding.no
        elif (other := _set_apart(column, reading)) is not None:
            found[name] = other
        if (said := _base_level(column, reading)) is not None:
            found[name] = said
    if found:
        bound.params[param.name] = [f"{name}={level}" for name, level in found.items()]
        bound.reasons += [f"The other levels of {name!r} are compared with {level!r}." for name, level in found.items()]
        against = {c.column for c in reading.contrasts if c.explicit}
        asked = [level for name, level in found.items() if len(found) == 1 or name in against]
        alone = next((p for p in bound.spec.params if p.role == "base"), None)
        if alone is not None and len(asked) == 1:
            bound.params[alone.name] = asked[0]


def _set_apart(column: ColumnProfile, reading: Reading) -> str | None:
    """Return the level that another is set against (`female vs male`), or the other of two (`do women die more`).

    What is called like a control stays the reference, so that a sign means what it commonly does.
    """
    control = control_of(column, list(column.levels))
    against = next((c.levels for c in reading.contrasts if c.column == column.name and c.explicit), ())
    named = [level for level in reading.levels(column.name) if level in column.levels]
    if (
        against
        and {*against} <= {*column.levels}
        and (control not in against if against[2:] else control != against[0])
    ):
        return against[-1]
    if len(column.levels) == 2 and len(named) == 1 and named[0] != control:
        return next(level for level in column.levels if level != named[0])
    # Who computes knows no legend: that B is the placebo has to be said.
    return control if control and control != control_level(list(column.levels)) else None


def _base_level(column: ColumnProfile, reading: Reading) -> str | None:
    """Return the level of a column beside which the question speaks of the reference."""
    text = reading.question
    named = [(m.level, reading.words[m.first].start, reading.words[m.last].end) for m in reading.mentions
             if m.column == column.name and m.level]  # fmt: skip
    for level in column.levels:
        exact = 0 if len(level) == 1 else re.IGNORECASE
        named += [(level, *m.span()) for m in re.finditer(rf"(?<![\w.]){re.escape(level)}(?![\w]|\.\d)", text, exact)]
    for level, start, end in named:
        after, before = _IS_BASE.match(text, end), _BASE_IS.search(text[:start])
        if after or before:
            first, last = before.start() if before else start, after.end() if after else end
            reading.mark_text(first, last, "level", f"{column.name}: {level} is the reference")
            return level
    return None
