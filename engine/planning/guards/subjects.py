"""Guards of rows that belong together: subjects, herds, numbers that start anew, slopes over time."""

# Most methods of pandas carry no types of what they return, which is all that these rules would find here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import re

from engine.domain.plan import OpenQuestion
from engine.errors import PlanError
from engine.planning.binding.conditions import few_clusters, repetition, rows_left
from engine.planning.guards.case import Case, guard
from engine.planning.guards.values import as_level
from engine.planning.naming.mention import SURE
from engine.planning.tables.sheets import THINGS, is_group
from engine.text.names import name_parts


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
def folds_possible(case: Case) -> None:
    """Leave rows apart in folds where a label has too few clusters to keep them together, and say so."""
    param = next((p for p in case.bound.spec.params if p.kind == "column" and p.role in ("subject", "cluster")), None)
    cluster = str(case.bound.params.get(param.name) or "") if param else ""
    if param is None or not cluster or cluster in case.reading.columns():
        return
    if few_clusters(cluster, case.bound.of_role("outcome", "label", "category", "group"), case.bound, fewest=FOLDS):
        del case.bound.params[param.name]
        case.warnings.append(
            f"Too few of {cluster!r} have each label to be kept together in folds: rows of one {cluster!r} stand on both "
            "sides, so how well unseen ones are told may be overstated."
        )


FOLDS = 5
"""Cross-validation needs at least so many of each label."""


@guard
def named_unit(case: Case) -> None:
    """Let rows of one block, batch or site that the question names belong together, where the step has a part for that.

    Each of them holds rows of several groups, so that the profile does not take it for a subject: `within blocks`.
    """
    sheet, bound = case.bound.sheet, case.bound
    param = next((p for p in bound.spec.params if p.kind == "column" and p.role == "cluster"), None)
    if param is None or sheet is None or bound.params.get(param.name):
        return
    for name in case.reading.named():
        column = sheet.column(name)
        if column is None or name in bound.columns() or case.reading.strength(name) < SURE or not is_group(column):
            continue
        parts = {part.removesuffix("s") for part in name_parts(name)}
        shared = column.role("batch") >= _BATCH or bool(parts & (THINGS | _BLOCKS)) or case.reading.is_a(name, "adjust")
        if shared and column.distinct >= _FEWEST and 2 * column.distinct <= (sheet.profile.rows or 0):
            bound.params[param.name] = name
            bound.unused[:] = [one for one in bound.unused if one != name]
            bound.reasons.append(f"The question names {name!r}: rows of one {name!r} belong together.")
            return


_BLOCKS = frozenset(
    "block batch site farm field plate run lane centre center hospital village stream lake wood".split()
)
_BATCH, _FEWEST = 0.5, 3


@guard
def alike_within(case: Case) -> None:
    """Warn where rows belong together and the step takes them as independent."""
    found = repetition(case.bound)
    if found is not None and case.bound.of_role("wide"):
        shared = [name for name in case.bound.of_role("predictors") if name in found.between]
        if shared and found.subject not in case.bound.columns():
            case.warnings.append(
                f"{shared[0]!r} is the same in all rows of one {found.subject!r}, and this form of the model takes each "
                f"row for itself: the p-value is too small where rows of one {found.subject!r} are alike. With one "
                f"occasion as the outcome, {found.subject!r} can be taken into account."
            )
        return
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


FEWEST_PAIRS = 3


@guard
def pairs_there(case: Case) -> None:
    """Refuse a paired comparison in which hardly a subject has both values: there is nothing to pair."""
    bound = case.bound
    both = [name for role in ("measure_a", "measure_b") for name in bound.of_role(role)]
    subject = next(iter(bound.of_role("pair", "subject")), "")
    group = next(iter(bound.of_role("group", "condition", "within")), "")
    frame = rows_left(bound)
    if frame is None or not {*both, *filter(None, (subject, group)), *bound.of_role("measure")} <= {*frame}:
        return  # columns that a step makes
    if len(both) == 2:
        pairs, what = len(frame.dropna(subset=both)), f"rows have both {both[0]!r} and {both[1]!r}"
    elif subject and group:
        rows = frame.dropna(subset=[*bound.of_role("measure"), subject, group])
        sides = [bound.params.get(p.name) for p in bound.spec.params if p.kind == "level" and p.of == group_param(case)]
        chosen = next((bound.params.get(p.name) for p in bound.spec.params if p.role == "levels"), None)
        levels = {str(x) for x in (chosen or sides) if x} or {as_level(value) for value in rows[group]}
        rows = rows.loc[[as_level(value) in levels for value in rows[group]]]
        pairs = int((rows.groupby(subject, observed=True)[group].nunique() == len(levels)).sum())
        what = f"of {subject!r} have a value in each of {group} {', '.join(sorted(levels)[:6])}"
    else:
        return
    if pairs < FEWEST_PAIRS:
        message = f"Nothing can be paired: {pairs} {what}, and at least {FEWEST_PAIRS} are needed."
        raise PlanError(
            message, advice="Say `unpaired` to compare the groups as different subjects, or name what pairs the rows."
        )


def group_param(case: Case) -> str:
    """Return the name of the part that groups or occasions are bound to, "" where there is none."""
    return next((p.name for p in case.bound.spec.params if p.role in ("group", "condition", "within")), "")
