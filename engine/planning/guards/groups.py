"""Guards of groups and effects: unknown ones, too small ones, more than two, more effects than rows can carry."""

from __future__ import annotations

import re

from engine.domain.plan import OpenQuestion
from engine.errors import PlanError
from engine.planning.guards.case import Case, guard
from engine.planning.reading.contrast import control_level
from engine.planning.reading.leaving_out import not_understood
from engine.planning.tables.sheets import is_group
from engine.text.stopwords import STOP

_VERSUS = re.compile(
    r"\b(?P<a>[A-Za-z][\w-]{2,})\s+(?:vs\.?|versus|as \w+ as)\s+(?P<b>[A-Za-z][\w-]{2,})", re.IGNORECASE
)
_GENERIC = frozenset(
    "treated treatment untreated case cases expression genes cells samples before after pre post group groups".split()
)
BY_ITS_NAME = 0.85
"""From this strength on a word is taken for a group by its name and not only by its meaning."""
MANY = 10


@guard
def unknown_groups(case: Case) -> None:
    """Refuse `A versus B` and `excluding A` when these are no group, column or word of the data."""
    exclusion_known(case)
    match = _VERSUS.search(case.reading.question)
    if match is None:
        return
    start, end = match.span()
    inside = [at for at, token in enumerate(case.reading.words) if start <= token.start < end]
    taken = [case.reading.used.get(at, ("unused", "", 0.0)) for at in (inside[0], inside[-1])]
    named = [item[2] for item in taken if item[0] in ("column", "level", "gene")]
    if len(named) == 2 or any(strength >= BY_ITS_NAME for strength in named):
        return
    columns = {column.name: column for column in case.data.columns()}
    of_two = (columns.get(item[1].partition(" = ")[0]) for item in taken if item[0] == "level")
    if any(column is not None and column.codes and len(column.levels) == 2 for column in of_two):
        return  # `the gel versus placebo`: of two arms that a legend tells, one of which is named, the other is meant
    if all(word.lower() in _GENERIC | STOP or control_level([word]) for word in (match["a"], match["b"])):
        return
    groups = [f"{c.name}: {', '.join(list(c.levels)[:6])}" for c in case.data.columns() if is_group(c) and c.levels][:5]
    message = f"Neither {match['a']!r} nor {match['b']!r} is a group in these data."
    raise PlanError(message, advice=f"The groups are {'; '.join(groups) or 'not recognisable'}.")


@guard
def exclusion_known(case: Case) -> None:
    """Refuse to go on with rows that the question leaves out by a word that these data do not know, or in one of two ways.

    A reader that told a goal has read the words too: its rows stand, and what may be of anything but rows is left to it.
    """
    if case.bound.exact and case.bound.rows:
        return
    advice = "Say it by a column and its values, or leave these rows out of the file."
    if case.reading.unclear and not case.bound.exact:
        raise PlanError(f"Which rows are left out is not clear: {case.reading.unclear[0]}.", advice=advice)
    if said := not_understood(case.reading, plainly=case.bound.exact):
        message = f"The question leaves out part of the data ({said!r}), and no column or group is called so."
        raise PlanError(message, advice=advice)


@guard
def many_predictors(case: Case) -> None:
    """Warn when more effects are estimated than the rows can carry."""
    names = case.bound.of_role("predictors", "covariates")
    rows = case.bound.sheet.profile.rows if case.bound.sheet else None
    if len(names) > MANY:
        case.warnings.append(
            f"{len(names)} covariates enter one model on {rows} rows: single results need confirmation."
        )


@guard
def groups_large_enough(case: Case) -> None:
    """Warn of a group with fewer than three rows."""
    for name in case.bound.of_role("group"):
        column = case.bound.sheet.column(name) if case.bound.sheet else None
        small = [level for level, count in column.levels.items() if count < 3] if column else []
        if small and not case.bound.rows:
            case.warnings.append(
                f"In {name!r} {', '.join(map(repr, small[:4]))} has fewer than 3 rows: too few to say much."
            )


@guard
def end_named(case: Case) -> None:
    """Wait for the event where follow-up ends in several ways and no word names the one that is meant."""
    columns = [c for name in case.bound.of_role("event") if case.bound.sheet and (c := case.bound.sheet.column(name))]
    params = {p.name for p in case.bound.spec.params if p.role == "event" and p.kind == "level"}
    case.bound.questions[:] = [
        asked.model_copy(update={"blocking": True}) if asked.param in params and columns[0].distinct > 2 else asked
        for asked in case.bound.questions
    ]


@guard
def two_levels_compared(case: Case) -> None:
    """Keep to two levels what compares two, and ask which when the words do not say."""
    for name in case.bound.of_role("group", "condition"):
        column = case.bound.sheet.column(name) if case.bound.sheet else None
        named = [level for level in case.reading.levels(name) if column and level in column.levels]
        if (
            column is None
            or len(column.levels) <= 2
            or len(named) == 2
            or any(item.column == name for item in case.bound.rows)
        ):
            continue
        param = next(p for p in case.bound.spec.params if case.bound.params.get(p.name) == name)
        case.bound.questions.append(
            OpenQuestion(
                id="levels", text=f"Which two of {name!r} are compared?", param=param.name, choices=list(column.levels)[:12],
                why=f"{name!r} has {len(column.levels)} and the question does not settle which two.", proposed=name,
            )
        )  # fmt: skip
