"""Which rows a step will use, counted before it runs: those that earlier steps keep and that hold what the step needs."""

# The stubs of pandas give wide unions for plain indexing.
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportIndexIssue=false
# pyright: reportReturnType=false, reportAssignmentType=false, reportOptionalMemberAccess=false
# Most methods of pandas carry no types of what they return, which is all that these rules would find here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.data.catalogue import TABULAR
from engine.domain.datatypes import DataType
from engine.domain.plan import DATA_PREFIX, Dataset, TaskDag, TaskNode, texts_of
from engine.domain.profile import Profile
from engine.domain.toolspec import ToolSpec
from engine.planning.tables.as_tools import complete_rows, evaluate_expression, level_labels, order_levels, plain_table
from engine.toolbox.registry import ToolRegistry

if TYPE_CHECKING:
    import pandas as pd

LARGEST = 20_000_000
"""A file of more bytes is not read only to count its rows."""
_KEPT = 64
_counted: OrderedDict[tuple[Any, ...], Used | None] = OrderedDict()


class Change(NamedTuple):
    """What an earlier step does to rows: keeps some, or adds a column where `column` says which."""

    text: str
    column: str = ""


@dataclass(frozen=True, slots=True)
class Used:
    """The rows of a step, counted."""

    rows: int
    lacking: int = 0
    """So many more lack a value."""
    lack: list[str] = field(default_factory=list)
    """In these columns."""
    levels: dict[str, dict[str, int]] = field(default_factory=dict)
    """Column -> level -> rows, in the natural order of the levels."""
    matched: int | None = None
    """How many subjects have a row in every group that is compared, where only those are used."""
    lines: int | None = None
    """In how many lines of the table, where each stands for as many rows as it counts."""
    alone: int = 0
    """So many rows more are of subjects that have not."""


def changes_before(plan: TaskDag, node: TaskNode, port: str, registry: ToolRegistry) -> list[Change] | None:
    """Return what earlier steps do to the rows of an input, the first one first; None where that is not known."""
    found: list[Change] = []
    ref = node.inputs.get(port, "")
    while ref and not ref.startswith(DATA_PREFIX):
        step = plan.node(ref.partition(".")[0])
        if step is not None and (listed := _listed(step, registry.get(step.tool), ref)):
            ref = listed
            continue
        made = None if step is None else _change(step, registry.get(step.tool))
        if step is None or made is None or len(step.inputs) != 1 or len(found) > len(plan.nodes):
            return None
        found.insert(0, made)
        ref = next(iter(step.inputs.values()))
    return found if ref else None


def _listed(step: TaskNode, spec: ToolSpec, ref: str) -> str:
    """Return the table that a step hands on as the list of samples that it is, "" for another step."""
    port = spec.output(ref.partition(".")[2])
    tables = [step.inputs[p.name] for p in spec.inputs if p.type is DataType.TABLE and p.name in step.inputs]
    return tables[0] if port is not None and port.type is DataType.SAMPLE_SHEET and len(tables) == 1 else ""


def _change(step: TaskNode, spec: ToolSpec) -> Change | None:
    """Return what a step does, where its parameters say all of it."""
    roles = {param.role: param for param in spec.params if param.role in ("rows", "new_name", "formula")}
    told = [param.name for param in roles.values()]
    others = [p for p in spec.params if p.name not in told and step.params.get(p.name, p.default) != p.default]
    values = {role: str(step.params.get(param.name) or "") for role, param in roles.items()}
    if any(p.default in (None, "", 0, "none") for p in others):
        return None
    if values.get("rows"):
        return Change(values["rows"])
    return Change(values["formula"], values["new_name"]) if values.get("formula") and values.get("new_name") else None


def rows_used(
    profile: Profile,
    changes: list[Change],
    needed: list[str],
    groups: Mapping[str, tuple[str, ...]],
    matched: tuple[str, str] | None = None,
    times: str = "",
) -> Used | None:
    """Count the rows of a step; None where that would take reading a large file, or cannot be known.

    Args:
        profile: of the file that the rows come from.
        changes: what earlier steps do to them.
        needed: the columns that must hold a value.
        groups: column of groups -> the levels that are compared, empty for all of them.
        matched: the column that says which rows belong together and the one of the groups, where only those with a row
            in every group are used.
        times: the column that says how many rows each stands for; empty where each is one.
    """
    if profile.bytes > LARGEST or profile.format == "h5ad":
        return None
    read = [(guess.type.value, repr(guess.read)) for guess in profile.types]
    key = (profile.path, profile.sha256, repr(read), *changes, "", *needed, "", *groups.items(), matched, times)
    if key not in _counted:
        try:
            _counted[key] = _count(profile, changes, needed, groups, matched, times)
        except (ValueError, KeyError, OSError):  # what cannot be counted is left out; the step says why when it runs
            _counted[key] = None
        while len(_counted) > _KEPT:
            _counted.popitem(last=False)
    return _counted[key]


def _count(
    profile: Profile,
    changes: list[Change],
    needed: list[str],
    groups: Mapping[str, tuple[str, ...]],
    matched: tuple[str, str] | None,
    times: str,
) -> Used:
    import pandas as pd

    from engine.planning.tables.values import load_rows

    table = _changed(load_rows(profile), changes)
    for column, levels in groups.items():
        found = level_labels(table[column])
        table = table[found.isin(levels) | found.isna()] if levels else table
    lack = [name for name in needed if (table[name].isna() | (table[name].astype(str).str.strip() == "")).any()]
    whole = complete_rows(table, needed)[0] if needed else table
    pairs, lacking = None, len(table) - len(whole)
    if matched:
        whole, pairs = _matched(whole, *matched)
    labels = {column: level_labels(whole[column]) for column in groups}
    weights = pd.to_numeric(whole[times]) if times else pd.Series(1, index=whole.index)
    counts = {
        column: {level: int(weights[own == level].sum()) for level in order_levels(own)}
        for column, own in labels.items()
    }
    lines, alone = len(whole) if times else None, len(table) - lacking - len(whole)
    return Used(int(weights.sum()), lacking, lack, counts, pairs, lines, alone)


def _matched(table: pd.DataFrame, subject: str, column: str) -> tuple[pd.DataFrame, int]:
    """Return the rows of the subjects that have one in every group, and how many these subjects are."""
    owners, groups = level_labels(table[subject]), level_labels(table[column])
    have = groups.groupby(owners).nunique()
    whole = have.index[have == groups.nunique()]
    return table[owners.isin(whole)], len(whole)


def _changed(table: pd.DataFrame, changes: list[Change]) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    table = plain_table(table)
    for change in changes:
        made = evaluate_expression(change.text, table)
        if change.column:
            numeric = pd.api.types.is_float_dtype(made)
            table = table.assign(**{change.column: made.where(~np.isinf(made)) if numeric else made})
        else:
            table = table[made.fillna(False).astype(bool)]
    return table


def columns_of(node: TaskNode, spec: ToolSpec, names: list[str]) -> Iterator[str]:
    """Yield the columns that some parameters of a step name."""
    for name in names:
        param = spec.param(name)
        value = node.params.get(name, param.default if param else None)
        yield from texts_of(value)


_read: OrderedDict[tuple[str, ...], Profile] = OrderedDict()
"""A page is drawn again at every click, and no file is read again for it."""


def as_read(profiles: Sequence[Profile], datasets: Iterable[Dataset]) -> list[Profile]:
    """Return the profiles of files as a plan reads them, where its question says more of them: `999 = missing`, `X is Y`."""
    told = {dataset.path: dataset for dataset in datasets}
    found: list[Profile] = []
    for profile in profiles:
        dataset = told.get(profile.path)
        guess = profile.serves_as(dataset.type) if dataset is not None else None
        more = {k: v for k, v in dataset.read.items() if guess.read.get(k) != v} if dataset and guess else {}
        able = more and profile.types[0].type in TABULAR and profile.bytes <= LARGEST
        found.append(_anew(profile, more) if able else profile)
    return found


def _anew(profile: Profile, more: dict[str, Any]) -> Profile:
    from engine.planning.tables.values import read_anew

    corrected = repr([(column.name, column.corrected) for column in profile.column_profiles])
    key = (profile.path, profile.sha256, corrected, repr(more))
    if key not in _read:
        _read[key] = read_anew(profile, **more)
        while len(_read) > _KEPT:
            _read.popitem(last=False)
    return _read[key]
