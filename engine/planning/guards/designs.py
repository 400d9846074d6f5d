"""Guards of comparisons between samples: pairs, batches, confounding, replicates, cells taken for samples.

A forgotten pairing, a batch that is the treatment under another name, two samples taken for an experiment: each is found here,
before anything runs.
"""

# The stubs of pandas give wide unions for plain indexing, which these functions narrow by what they read.
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportIndexIssue=false
# pyright: reportAssignmentType=false, reportReturnType=false, reportGeneralTypeIssues=false, reportOperatorIssue=false
# Most methods of pandas carry no types of what they return, which is all that these rules would find here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.data.matching import match_samples
from engine.domain.profile import ColumnProfile
from engine.errors import PlanError
from engine.planning.binding.bind import bind
from engine.planning.choosing.only_measure import measures_of
from engine.planning.guards.case import Case, guard
from engine.planning.tables.samples import index_of, matrix_of, sample_sheet
from engine.planning.tables.sheets import is_group

if TYPE_CHECKING:
    import pandas as pd

MOST_PAIRED = 0.75
"""So many of the donors must be in both groups: some lose a sample."""
CLEARLY = 0.15
"""A column is clearly the condition when no other comes so near to it."""


def _roles(case: Case) -> tuple[str, str, str]:
    """Return the names of the parameters for condition, level of interest and reference."""
    spec = case.bound.spec
    condition = next(p.name for p in spec.params if p.role == "group")
    interest = next(p.name for p in spec.params if p.role == "interest")
    return condition, interest, next(p.name for p in spec.params if p.role == "reference")


def _conditions(case: Case) -> list[ColumnProfile]:
    """Return the columns that could be what samples are compared by, the likeliest first; several where it is not clear."""
    columns = case.bound.sheet.columns if case.bound.sheet else []
    able = [c for c in columns if is_group(c) and c.role("group") >= 0.3 and c.role("pair") < 0.6]
    able = [c for c in able if c.role("batch") < 0.6] or able
    able.sort(key=lambda c: -c.role("group"))
    return [c for c in able if c.role("group") > able[0].role("group") - CLEARLY]


@guard
def groups_to_compare(case: Case) -> None:
    """Take the only column that can be the condition where no word names one, and refuse to choose among several."""
    condition = next((p for p in case.bound.missing if p.role == "group"), None)
    able = _conditions(case)
    if condition is None or not able:
        return
    if len(able) > 1:
        names = " or ".join(f"{c.name} ({', '.join(list(c.levels)[:4])})" for c in able)
        message = f"The question does not say which groups to compare: {names}?"
        advice = f"Name one in the question, for example `by {able[0].name}`."
        raise PlanError(message, advice=advice, details={"choices": [c.name for c in able]})
    _take(case, condition.name, able[0].name)
    case.bound.reasons.append(f"{able[0].name!r} is the only column that can be the condition.")


@guard
def groups_shown(case: Case) -> None:
    """Show by the groups of the samples what no word says how to show."""
    param = next((p for p in case.bound.spec.params if p.kind == "column" and p.role == "group"), None)
    able = _conditions(case)
    if param is not None and not case.bound.params.get(param.name) and len(able) == 1:
        _take(case, param.name, able[0].name)


def _take(case: Case, param: str, column: str) -> None:
    columns = {p.name for p in case.bound.spec.params if p.kind == "column"}
    given = {param: column, **{key: value for key, value in case.bound.params.items() if key in columns}}
    other = bind(case.bound.spec, case.reading, case.data, given=given)
    case.bound.params |= other.params
    case.bound.missing[:] = other.missing
    case.bound.questions += [q for q in other.questions if q not in case.bound.questions]


def samples_frame(case: Case) -> pd.DataFrame:
    """Return one row a sample: the sample sheet's rows that are in the matrix, or of cells one row a sample."""
    sheet = case.bound.sheet
    assert sheet is not None
    frame = sheet.frame()
    matrix = matrix_of(case.data)
    if matrix is None or sample_sheet(case.data) is not sheet:
        return frame
    key = index_of(case.data, sheet).read.get("index_col")
    names = frame.iloc[:, key] if isinstance(key, int) else frame[key] if key in frame else frame.index.to_series()
    known, called = set(matrix.sample_ids), match_samples(matrix, sheet.profile).called
    here = frame[[called.get(str(name), str(name)) in known for name in names]]
    if 0 < len(here) < max(len(frame), len(known)):
        case.warnings.append(f"{len(here)} samples are in both {matrix.name} and {sheet.name}; only these are used.")
    if len(here) < 4:
        message = (
            f"{len(here)} samples are too few: each group needs at least 2 samples to tell a difference from chance, "
            "and 3 or more to find most of them."
        )
        raise PlanError(message, advice="Add replicates; without them no p-value means anything.")
    return here


@guard
def samples_of_cells(case: Case) -> None:
    """Refuse a comparison of conditions without a column of samples: cells of one donor are not replicates."""
    spec, sheet = case.bound.spec, case.bound.sheet
    key = next((p for p in spec.params if p.role in ("subject", "pair")), None)
    if key is None or sheet is None:
        return
    if not case.bound.params.get(key.name):
        able = [c for c in sheet.columns if c.role("pair") >= 0.5 or (c.role("id") >= 0.5 and c.distinct > 1)]
        if able:
            case.bound.params[key.name] = able[0].name
    if case.bound.params.get(key.name):
        return
    if key.required:
        message = (
            f"{sheet.name} has no column that says which sample or donor a cell comes from, and cells of one donor are "
            "not replicates: comparing them would give p-values that mean nothing."
        )
        raise PlanError(message, advice="Add a sample or donor column to `obs`.")
    for param in spec.params:
        if param.kind == "column" and param.role == "split":
            case.bound.params.pop(param.name, None)


@guard
def pairs_and_batches(case: Case) -> None:
    """Put pairing, batches and what the question adjusts for into the design; say what cannot be separated."""
    condition, interest, reference = _roles(case)
    held = next(p.name for p in case.bound.spec.params if p.role == "held")
    name = case.bound.params.get(condition)
    sheet = case.bound.sheet
    if not name or sheet is None:
        return
    frame = _units(case, samples_frame(case), name)
    levels = [case.bound.params[interest], case.bound.params[reference]]
    used = frame[frame[name].astype("string").isin(levels)]
    groups = used[name].astype("string")
    asked = [c for c in case.bound.params.get(held, []) if c != name and not _ignored(case, c)]
    others = [
        c
        for c in sheet.columns
        if c.name != name and c.name in used and c.name not in case.facts.get("units", "").split("\t")
    ]
    covariates: list[str] = list(case.facts["paired_units"].split("\t")) if case.facts.get("paired_units") else []
    pair = "" if case.reading.paired is False or covariates else _pair(case, others, used, groups)
    if pair:
        covariates.append(pair)
        case.facts["pair"] = pair
        case.bound.reasons.append(
            f"{pair!r} occurs in both groups, so it pairs the samples and the design must use it: "
            f"differences between its {used[pair].nunique()} levels would otherwise hide the effect."
        )
    elif case.reading.paired and not covariates:
        case.warnings.append(
            "The question says the samples are paired, but no column of the sample sheet says which samples belong "
            "together, so they are compared as independent samples."
        )
    for column in others:
        if column.name != pair and (column.name in asked or _is_batch(case, column)):
            _adjust(case, column, used, groups, covariates, wanted=column.name in asked, pair=pair)
    covariates = _as_chosen(case, held, covariates)
    case.bound.params[held] = covariates
    said = " ".join(case.warnings)
    for column in others:
        technical = column.scale == "code" or column.role("batch") >= 0.5 or column.role("covariate") >= 0.5
        values = used[column.name].astype("string")
        if technical and is_group(column) and 2 <= values.nunique() < len(values) and confounded(values, groups) and repr(column.name) not in said:  # fmt: skip
            case.warnings.append(
                f"Every {name} group has its own value of {column.name!r}: their effects cannot be told apart."
            )


def _as_chosen(case: Case, held: str, covariates: list[str]) -> list[str]:
    """Return what a person chose to hold constant, in place of what the design would, with a warning of what that leaves."""
    chosen = case.reading.chosen.get(case.bound.spec.name, {}).get(held)
    if chosen is None:
        return covariates
    left = [name for name in covariates if name not in chosen]
    for name in left:
        case.bound.reasons[:] = [reason for reason in case.bound.reasons if repr(name) not in reason]
        case.warnings[:] = [warning for warning in case.warnings if repr(name) not in warning]
        case.warnings.append(f"{name!r} is left out of the design, as chosen: its differences stay in the comparison.")
    if case.facts.get("pair") in left:
        case.facts.pop("pair")
    return [*chosen]


def _ignored(case: Case, column: str) -> bool:
    """Say whether the question tells to leave a column out of account: `ignore the donors`."""
    return (
        case.reading.paired is False and case.reading.strength(column) > 0 and not case.reading.is_a(column, "adjust")
    )


def _is_batch(case: Case, column: ColumnProfile) -> bool:
    return column.role("batch") >= 0.7 and is_group(column) and not _ignored(case, column.name)


def _adjust(
    case: Case,
    column: ColumnProfile,
    used: pd.DataFrame,
    groups: pd.Series,
    covariates: list[str],
    *,
    wanted: bool,
    pair: str,
) -> None:
    name, levels = column.name, used[column.name].nunique()
    if levels < 2:
        return
    if not wanted and levels > max(2, len(used) // 4):
        case.warnings.append(
            f"The design does not adjust for {name!r}: with {levels} levels in {len(used)} samples it would "
            "take up most of the information. Name it in the question to adjust for it."
        )
    elif is_group(column) and confounded(used[name].astype("string"), groups):
        case.warnings.append(
            f"{name!r} and {groups.name!r} change together (each {name} holds only one {groups.name}), so their effects cannot be "
            f"told apart and any difference may be due to {name!r}."
        )
    elif pair and bool((used.groupby(pair, observed=True)[name].nunique() <= 1).all()):
        case.bound.reasons.append(f"{name!r} is constant within {pair!r}, which already accounts for it.")
    else:
        covariates.append(name)
        case.bound.reasons.append(f"The design adjusts for {name!r} ({'asked for' if wanted else 'a batch column'}).")


def confounded(column: pd.Series, condition: pd.Series) -> bool:
    """Say whether every level of `column` lies within one level of the condition, with replicates to show it."""
    both = column.notna() & condition.notna()
    column, condition = column[both], condition[both]
    levels = column.nunique()
    if levels < 2 or levels == len(column):
        return False
    return bool((condition.groupby(column).nunique() == 1).all())


def _pair(case: Case, columns: Sequence[ColumnProfile], used: pd.DataFrame, groups: pd.Series) -> str:
    """Return the column whose levels each occur in both groups: the donors of a paired design."""
    found: list[tuple[float, str]] = []
    for column in columns:
        values = used[column.name].astype("string")
        if values.isna().any() or values.nunique() < 2:
            continue
        table = used.groupby([values, groups]).size().unstack(fill_value=0)
        if table.shape[1] < 2 or float((table > 0).all(axis=1).mean()) < MOST_PAIRED:
            continue
        once = bool((table <= 1).all().all())
        named = case.reading.strength(column.name) >= 0.6
        said = case.reading.paired is True
        score = column.role("pair") + 0.3 * said + 0.3 * once + 0.3 * (named and said)
        if column.role("batch") >= 0.7 and column.role("pair") < 0.5:
            continue
        if score >= 0.6 and (once or column.role("pair") >= 0.6 or (said and named)):
            found.append((score, column.name))
    return max(found)[1] if found else ""


def _units(case: Case, frame: pd.DataFrame, condition: str) -> pd.DataFrame:
    """Return one row a sample where the rows are cells, and note whether samples occur in both conditions."""
    key = next((case.bound.params.get(p.name) for p in case.bound.spec.params if p.role == "subject"), None)
    if not key:
        return frame
    text = frame.astype({condition: "string", key: "string"})
    mixed = bool((text.groupby(key)[condition].nunique() > 1).any())
    constant = [c for c in text if c not in (key, condition) and (text.groupby(key)[c].nunique() <= 1).all()]
    keys = [key, condition] if mixed else [key]
    case.facts["units"] = key
    case.facts["sizes"] = "1"
    if mixed:
        case.facts["paired_units"] = key
        case.bound.reasons.append(f"{key!r} occurs in both conditions, so it pairs the samples.")
    case.bound.reasons.append(f"Counts are summed per {key!r}, because cells of one sample are not independent.")
    kept = list(dict.fromkeys([*keys, condition, *([] if mixed else constant)]))
    return text[kept].drop_duplicates(keys).reset_index(drop=True)


@guard
def replicates(case: Case) -> None:
    """Refuse a comparison without replicates and warn of one with few."""
    condition, interest, reference = _roles(case)
    name = case.bound.params.get(condition)
    if not name and case.bound.sheet is not None:
        samples_frame(case)  # so few samples that no column can be groups
    if not name or case.bound.sheet is None:
        return
    quiet = Case(case.bound, case.reading, case.data, facts=dict(case.facts))
    reasons = list(case.bound.reasons)
    frame = _units(quiet, samples_frame(quiet), name)
    case.bound.reasons[:] = reasons
    sizes = {str(k): int(v) for k, v in frame[name].astype("string").dropna().value_counts().items()}
    pair = {level: sizes.get(level, 0) for level in (case.bound.params[reference], case.bound.params[interest])}
    unit = "samples (cells are not replicates)" if case.facts.get("units") else "samples"
    text = ", ".join(f"{level!r} has {count}" for level, count in pair.items())
    if min(pair.values()) < 2:
        message = (
            f"Each group needs at least 2 {unit} to tell a difference from chance, and 3 or more to find most of them: "
            f"in {name!r}, {text}."
        )
        raise PlanError(message, advice="Add replicates or choose another comparison.")
    if min(pair.values()) == 2:
        case.warnings.append(f"A group has only 2 {unit} ({text}): expect missed genes and unsure fold changes.")
    left_out = [level for level in sizes if level not in pair]
    if left_out:
        case.bound.reasons.append(f"Samples of {', '.join(map(repr, left_out))} take no part in this comparison.")


@guard
def spread_of_the_pilot(case: Case) -> None:
    """Take the spread of the only measurement there is for a difference that is named without one, and say so."""
    bound, sheet = case.bound, case.bound.sheet
    param = next((p for p in bound.spec.params if p.role == "measure" and p.kind == "column"), None)
    named = bound.params.get("difference") or bound.params.get("relative_change")
    if sheet is None or param is None or not named or bound.params.get("sd") or bound.params.get(param.name):
        return
    names = [name for name in measures_of(sheet) if name not in bound.columns()]
    if len(names) == 1:
        bound.params[param.name] = names[0]
        bound.reasons.append(f"The spread is that of {names[0]!r} in these data: no other was named.")
