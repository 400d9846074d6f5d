"""What would spoil an analysis: each guard looks at one step and repairs, asks, warns or refuses.

A guard is named by the analyses it belongs to (`guards` in `analyses.toml`). It gets the step's parameters as bound and may change
them; what a person must know before believing the result goes to the warnings.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from engine.domain.plan import OpenQuestion
from engine.errors import PlanError
from engine.planning.bound import Bound
from engine.planning.conditions import repetition
from engine.planning.contrast import control_level
from engine.planning.formulas.formula import propose
from engine.planning.ordering import fill_order
from engine.planning.reading import Reading, Restriction
from engine.planning.samples import sample_sheet
from engine.planning.sheets import Data, is_group
from engine.profiling.columns import level_text
from engine.text.stopwords import STOP


@dataclass(slots=True)
class Case:
    """One step under the guards."""

    bound: Bound
    reading: Reading
    data: Data
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)
    """What guards found out that practice may use (`pair`)."""


Guard = Callable[[Case], None]
GUARDS: dict[str, Guard] = {}
_MISSING_CODES = (-9.0, -99.0, -999.0, -9999.0, 9999.0)
_VERSUS = re.compile(
    r"\b(?P<a>[A-Za-z][\w-]{2,})\s+(?:vs\.?|versus|as \w+ as)\s+(?P<b>[A-Za-z][\w-]{2,})",
    re.IGNORECASE,
)
_GENERIC = frozenset(
    [
        "treated",
        "treatment",
        "untreated",
        "case",
        "cases",
        "expression",
        "genes",
        "cells",
        "samples",
        "before",
        "after",
        "pre",
        "post",
        "group",
        "groups",
    ]
)
_WITHOUT = re.compile(
    r"\b(?:excluding|exclude|except(?: for)?|leav(?:e|ing) out|omit(?:ting)?|not counting)\s+(?P<what>(?:[\w-]+\s*){1,4})",
    re.IGNORECASE,
)
_NO_ROWS = re.compile(r"missing|empty|\bNAs?\b|nan\b|incomplete", re.IGNORECASE)
BY_ITS_NAME = 0.85
"""From this strength on a word is taken for a group by its name and not only by its meaning."""
MANY = 10


def guard(function: Guard) -> Guard:
    """Put a function among the guards under its own name."""
    GUARDS[function.__name__] = function
    return function


def run_guards(names: list[str], case: Case) -> None:
    """Let the guards of an analysis look at a step, after what concerns every analysis.

    Raises:
        PlanError: when one of them refuses.
    """
    one_unit(case)
    for name in names:
        GUARDS[name](case)


def one_unit(case: Case) -> None:
    """Refuse a column whose values are of several units, unless rows of one are kept or the step tells them apart."""
    import numpy as np

    sheet = case.bound.sheet
    for name in [name for name in case.bound.columns() if sheet and name in sheet.structure.units]:
        assert sheet is not None
        units, frame = sheet.structure.units[name], sheet.frame()
        if units in case.bound.columns() or name not in frame or units not in frame:
            continue
        keep = frame[name].notna()
        for item in case.bound.rows:
            if item.column in frame:
                held = [bool(text := as_level(value)) and item.holds(text) for value in frame[item.column]]
                keep &= np.array(held)
        frame = frame.loc[keep]
        apart = [one for one in case.bound.of_role("split") if one in frame]
        counts = frame[units].dropna().value_counts()
        if len(counts) < 2 or (apart and frame.groupby(apart[0])[units].nunique().max() == 1):
            continue
        shown = ", ".join(f"{count:,} in {unit}" for unit, count in counts.items())
        message = f"{name!r} holds values of {len(counts)} units, as {units!r} says: {shown}. Taken together they mean nothing."
        advice = (
            f"Convert them to one unit in the file, or keep one, for example: only rows with {units} {counts.index[0]}."
        )
        raise PlanError(message, advice=advice, details={"choices": [str(unit) for unit in counts.index]})


def as_level(value: object) -> str:
    """Return a cell as the text of its level, "" where it is missing."""
    return "" if value is None or value != value else level_text(value)


@guard
def missing_codes(case: Case) -> None:
    """Refuse a measurement with -99, -999 or the like in it: a code for a missing value would enter as a number."""
    for name in case.bound.columns():
        column = case.bound.sheet.column(name) if case.bound.sheet else None
        if (
            column is None
            or column.kind not in ("integer", "number")
            or column.minimum is None
            or column.scale in ("code", "binary")
        ):
            continue
        for code in (column.minimum, column.maximum):
            others = column.levels and sum(float(v) < 0 for v in column.levels if _number(v)) > 1
            if code in _MISSING_CODES and not others and (code < 0 and _alone(case, name, code)):
                message = f"{name!r} holds {code:g}, which looks like a code for a missing value and would enter the analysis as a number."
                raise PlanError(
                    message, advice=f"Leave these cells of {name!r} empty, or keep only rows with other values."
                )


def _number(text: str) -> bool:
    return re.fullmatch(r"-?\d+(?:\.\d+)?", text) is not None


def _alone(case: Case, name: str, code: float) -> bool:
    """Say whether no other value of a column is near the code: -99 among values from 80 on, not among -120 to 50."""
    if case.bound.sheet is None:
        return False
    rest = [float(value) for value in case.bound.sheet.frame()[name].dropna() if float(value) != code]
    return bool(rest) and min(rest) > code / 2


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
    if all(word.lower() in _GENERIC | STOP or control_level([word]) for word in (match["a"], match["b"])):
        return
    groups = [f"{c.name}: {', '.join(list(c.levels)[:6])}" for c in case.data.columns() if is_group(c) and c.levels][:5]
    message = f"Neither {match['a']!r} nor {match['b']!r} is a group in these data."
    raise PlanError(message, advice=f"The groups are {'; '.join(groups) or 'not recognisable'}.")


@guard
def exclusion_known(case: Case) -> None:
    """Refuse to go on with rows that the question leaves out by a word that these data do not know."""
    match = _WITHOUT.search(case.reading.question)
    if match is None or _NO_ROWS.search(match["what"]):
        return
    start, end = match.span("what")
    inside = [at for at, token in enumerate(case.reading.words) if start <= token.start < end]
    if not any(case.reading.used.get(at, ("unused",))[0] in ("column", "level", "restriction") for at in inside):
        message = f"The question leaves out part of the data ({match.group(0)!r}), and no column or group is called so."
        raise PlanError(message, advice="Say it by a column and its values, or leave these rows out of the file.")


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


@guard
def clustered_rows(case: Case) -> None:
    """Let a model whose rows belong to subjects know of them, so that its errors are not too small."""
    found = repetition(case.bound)
    param = next((p for p in case.bound.spec.params if p.kind == "column" and p.role in ("subject", "cluster")), None)
    if found is None or param is None or case.bound.params.get(param.name) or found.subject in case.bound.columns():
        return
    case.bound.params[param.name] = found.subject
    case.bound.reasons.append(f"Rows of one {found.subject!r} belong together, so the errors are clustered by it.")


@guard
def alike_within(case: Case) -> None:
    """Warn where rows belong together and the step takes them as independent."""
    found = repetition(case.bound)
    if found is not None and case.reading.paired is not False and found.subject not in case.bound.columns():
        case.warnings.append(
            f"Rows of one {found.subject!r} may be alike, and this step takes all rows as independent: a mixed model with "
            f"{found.subject!r} as the subject would not."
        )


_OTHERS = re.compile(
    r"\b(?:differ(?:ent|ing)|separate|distinct|other|own) (?:\w+ )?(?:animals|subjects|individuals|mice|rats|patients|people|"
    r"participants|donors|plants|units)\b|\bbetween[- ]subjects?\b|\bparallel[- ]groups?\b",
    re.IGNORECASE,
)
MOST_NUMBERED = 30
"""Subjects numbered up to here are commonly numbered anew in each group; longer numbers are registers."""


@guard
def numbered_anew(case: Case) -> None:
    """Ask whether one number in several groups is one subject, where neither words nor values say so.

    Numbers 1 to 8 in both groups are eight subjects of a crossover or sixteen of two groups. What is the same in all rows of a number
    (its sex) speaks for one subject, and what differs between the groups was found by the profile already.
    """
    found, sheet = repetition(case.bound), case.bound.sheet
    column = sheet.column(found.subject) if found and sheet else None
    if found is None or sheet is None or column is None or found.between or found.subject not in case.bound.columns():
        return
    param = next((p for p in case.bound.spec.params if p.role == "nested_in"), None)
    group, once = _holds_every_number(case, found.subject)
    if not group or case.reading.paired or (param and case.bound.params.get(param.name)):
        return
    said = case.reading.paired is False or _OTHERS.search(case.reading.question)
    why = f"The same numbers of {found.subject!r} stand in every {group!r}, and no other column is the same for all rows of one."
    if param is None or once:
        case.warnings.append(
            f"{why} They are taken for the same subjects; if each {group} has its own, say `unpaired`."
        )
        return
    case.bound.params[param.name] = group
    if said:
        case.bound.reasons.append(
            f"{found.subject!r} is numbered anew in each {group!r}: the question says they are different."
        )
        return
    case.bound.questions.append(
        OpenQuestion(
            id="nested_in", param=param.name, choices=[group, found.subject], proposed=group, blocking=True,
            text=f"Does each {group!r} have subjects of its own, numbered anew ({group}), or is one number of "
            f"{found.subject!r} the same subject throughout ({found.subject})?",
            why=why,
        )
    )  # fmt: skip


def _holds_every_number(case: Case, subject: str) -> tuple[str, bool]:
    """Return the grouping in each of whose levels small whole numbers of subjects all occur, or "", and whether once each."""
    sheet = case.bound.sheet
    column = sheet.column(subject) if sheet else None
    if sheet is None or column is None or column.kind != "integer" or column.role("batch") >= 0.5:
        return "", False  # blocks and sites commonly hold every treatment
    if (column.minimum or 0) < 0 or (column.maximum or 0) > MOST_NUMBERED:
        return "", False
    for name in case.bound.columns():
        other = sheet.column(name)
        if other is None or name == subject or other.kind in ("integer", "number") or not is_group(other):
            continue
        cells = sheet.frame().groupby([subject, name], observed=True).size().unstack(fill_value=0)
        if name not in sheet.structure.times and cells.shape[1] > 1 and bool((cells > 0).all(axis=None)):
            return name, bool((cells == 1).all(axis=None))
    return "", False


@guard
def slope_over_time(case: Case) -> None:
    """Where an effect is to depend on another and only one is named (`rises faster`), the other is the time of the rows."""
    found, sheet = repetition(case.bound), case.bound.sheet
    params = {p.role: p.name for p in case.bound.spec.params}
    depends, fixed = params["interaction"], case.bound.of_role("predictors")
    if not case.bound.params.get(depends) or len(fixed) != 1 or sheet is None or case.bound.of_role("wide"):
        return  # the occasions of the wide form are an effect by themselves
    over = [name for name in (found.within if found else []) if name in sheet.structure.times and name not in fixed]
    if over:
        case.bound.params[params["predictors"]] = [*fixed, over[0]]
        case.bound.reasons.append(
            f"How fast it changes is asked, so the effect of {fixed[0]!r} may change with {over[0]!r}."
        )
        return
    case.bound.params[depends] = False
    case.warnings.append(
        f"The question asks whether the effect of {fixed[0]!r} depends on something else, and does not name a column for "
        "that; the plan has the effect alone."
    )


@guard
def key_shared(case: Case) -> None:
    """Find the column by which two files are joined: of the same name, and one that names rows."""
    if len(case.data.sheets) < 2:
        raise PlanError("Joining needs two files, and one was given.", advice="Add the second file.")
    left, right = case.data.sheets[:2]
    shared = [c.name for c in left.columns if right.column(c.name)]
    named = [name for name in case.reading.columns() if name in shared]
    keys = sorted(shared, key=lambda n: -(left.column(n).role("id") + (left.column(n).scale in ("identifier", "code"))))  # type: ignore[union-attr]
    key = (named or keys or [""])[0]
    params = [p.name for p in case.bound.spec.params if p.role == "key"]
    if key:
        case.bound.params |= dict.fromkeys(params, key)
        return
    for a in left.columns:
        for b in right.columns:
            if (a.levels and set(a.levels) == set(b.levels)) or _same_values(case, a.name, b.name):
                case.bound.params |= dict(zip(params, (a.name, b.name), strict=True))
                case.bound.reasons.append(f"{a.name!r} and {b.name!r} hold the same values.")
                return
    message = f"{left.name} and {right.name} have no column of the same name or values to join on."
    raise PlanError(message, advice="Give the key column the same name in both files.")


def _same_values(case: Case, left: str, right: str) -> bool:
    first, second = case.data.sheets[0].frame(), case.data.sheets[1].frame()
    if left not in first or right not in second:
        return False
    a, b = set(first[left].dropna().astype(str)), set(second[right].dropna().astype(str))
    return len(a) > 3 and len(a & b) >= 0.8 * min(len(a), len(b))


@guard
def rows_named(case: Case) -> None:
    """Settle the order of rows, and refuse to choose rows when the words do not say which."""
    fill_order(case.bound, case.reading, case.data)
    ordered = case.bound.of_role("sort")
    if not case.bound.rows and not ordered:
        names = ", ".join(c.name for c in case.data.columns()[:12])
        raise PlanError(
            "The question does not say which rows to keep.",
            advice=f"Name a column and a value; the columns are {names}.",
        )


@guard
def formula_named(case: Case) -> None:
    """Settle the formula of a new column, and refuse to compute one when the words do not say how."""
    params = {p.role: p.name for p in case.bound.spec.params if p.role in ("formula", "new_name")}
    if case.bound.params.get(params["formula"]):
        return
    found, problem = propose(case.reading, case.data)
    if found is None:
        message = "The question asks for a new column but does not say how it is computed."
        advice = problem or "Write the formula with the columns' names, for example `weight / height ** 2`."
        raise PlanError(message, advice=advice)
    case.bound.params |= {params["new_name"]: found[0], params["formula"]: found[1]}
    if re.search(r"[<>]", found[1]):  # a mark for each row, which is about all rows
        case.bound.rows = [item for item in case.bound.rows if f"`{item.column}`" not in found[1]]


@guard
def genes_are_named(case: Case) -> None:
    """Refuse to show genes when none is named."""
    if not case.reading.genes:
        message = "The question names no gene that these data have."
        raise PlanError(message, advice="Write gene symbols or ids as they stand in the file.")


@guard
def cells_given(case: Case) -> None:
    """Refuse to leave out cells silently: no step cuts single-cell data down; a kind of cells is shown among all kinds."""
    param = next((p for p in case.bound.spec.params if p.role == "label" and p.made_by), None)
    for item in list(case.bound.rows):
        if param is not None and item.op == "in" and case.bound.params.get(param.name, item.column) == item.column:
            case.bound.params[param.name] = item.column
            case.bound.rows.remove(item)
            case.notes.append(
                f"{', '.join(item.values)} is one of the groups of {item.column!r}; all of them are shown."
            )
    rows_of_samples(case)


@guard
def rows_of_samples(case: Case) -> None:
    """Refuse to leave out samples or cells silently: no step cuts these data down to some of them."""
    if case.bound.rows:
        raise rows_refused(case.bound.rows[0], case.reading)
    out = re.search(r"\b(?:excluding|exclude|except(?: for)?|without|leav\w+ out|omit\w*|drop\w*)\s+(?:the\s+)?(?:sample|cell|donor|patient)s?\s+\S+", case.reading.question, re.IGNORECASE)  # fmt: skip
    if out:
        message = f"The question leaves out part of the data ({out.group(0)!r}), which this kind of analysis cannot do by itself."
        raise PlanError(
            message, advice="Leave it out of the file (of both files, where there are two) and ask about what is left."
        )


def rows_refused(rows: Restriction, reading: Reading) -> PlanError:
    """Return the error for a question about some of the samples or cells of data that no step cuts down."""
    said = reading.question[reading.words[rows.first].start : reading.words[rows.last].end]
    message = f"The question leaves out part of the data ({said!r}), which this kind of analysis cannot do by itself."
    advice = "Leave the others out of the file (of both files, where there are two) and ask about what is left."
    return PlanError(message, advice=advice)


@guard
def samples_match(case: Case) -> None:
    """Find out early when no sample of the matrix is in the sheet."""
    sample_sheet(case.data)


@guard
def markers_circular(case: Case) -> None:
    """Say that the same cells made the groups and are compared."""
    case.warnings.append(
        "P-values of markers are too small to be taken literally: the same cells defined the groups and are compared here."
    )
