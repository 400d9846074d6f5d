"""Conditions on data and reading that declarations name: `when` of analyses, tools and practice.

An analysis of independent rows does not fit subjects with several rows, a mean does not fit a yes/no outcome: the wording decides
the family, these decide within it. Each is a function of one bound step.
"""

# pandas' types are unknown here (docs/adr/0008).
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

from engine.data.structure.scales import HINTS
from engine.domain.datatypes import DataType
from engine.domain.plan import listed
from engine.domain.profile import ColumnProfile, Repeated
from engine.planning.binding.bound import Bound
from engine.planning.binding.rows import condition
from engine.planning.reading.contrast import control_of
from engine.planning.reading.reading import Reading
from engine.planning.tables.sheets import Data, is_group, is_id, is_number
from engine.text.names import name_parts
from engine.toolbox.tables.expressions import evaluate_expression

Condition = Callable[[Bound, Reading], bool]
CONDITIONS: dict[str, Condition] = {}
_SURE = 0.6


def _named(function: Condition) -> Condition:
    CONDITIONS[function.__name__] = function
    return function


def in_words(name: str) -> str:
    """Return what a condition asks for, a sentence."""
    parts = [part.strip() for part in name.split(" or ")]
    told = [f"not: {_said(p.removeprefix('not_'))}" if p.startswith("not_") else _said(p) for p in parts]
    return " Or: ".join(told)


def _said(name: str) -> str:
    return " ".join((CONDITIONS[name].__doc__ or name).split()) if name in CONDITIONS else name.replace("_", " ")


def holds(name: str, bound: Bound, reading: Reading) -> bool:
    """Say whether a condition holds: one of those below, `not_NAME`, `said:REGEX` for what the question says, or `A or B`.

    Raises:
        KeyError: for a condition that does not exist (a contract test finds it before a user does).
    """
    if " or " in name:
        return any(holds(part, bound, reading) for part in name.split(" or "))
    if name.startswith("not_"):
        return not holds(name[4:], bound, reading)
    if name.startswith("said:"):
        return re.search(name[5:], reading.question, re.IGNORECASE) is not None
    return CONDITIONS[name](bound, reading)


def repetition(bound: Bound) -> Repeated | None:
    """Return how the rows the step is about repeat subjects, after the rows that are left out; None when they do not."""
    sheet = bound.sheet
    if sheet is None:
        return None
    one_occasion = {item.column for item in bound.rows if item.op == "in" and len(item.values) == 1}
    for item in sheet.structure.repeated:
        if item.confidence < _SURE:
            continue
        if item.within and item.within[0] in one_occasion and item.complete:
            continue
        if set(item.within) & one_occasion and len(item.within) == 1 and not _several_each(item.subject, bound):
            continue
        rare = _known_once(bound, item.subjects)
        if item.subject in one_occasion or ((bound.rows or rare) and _once_each(item.subject, bound, rare)):
            continue
        return item
    return None


EXPLAINED = ("outcome", "measure", "response", "count", "y", "event")


def _known_once(bound: Bound, subjects: int) -> list[str]:
    """Return what a step explains of which no more values are known than there are subjects: noted at one visit only."""
    rows = (bound.sheet.profile.rows or 0) if bound.sheet else 0
    columns = [c for name in bound.of_role(*EXPLAINED) if bound.sheet and (c := bound.sheet.column(name))]
    return [column.name for column in columns if rows - column.missing <= subjects]


def _several_each(subject: str, bound: Bound) -> bool:
    """Say whether most subjects have several of the rows that are kept: trees of one species in a plot."""
    frame = rows_left(bound)
    return frame is not None and subject in frame and 2 * frame[subject].nunique() < frame[subject].count()


def _once_each(subject: str, bound: Bound, known: list[str]) -> bool:
    """Say whether each subject has one of the rows that are kept and in which these columns are known."""
    frame = rows_left(bound)
    if frame is None or not {subject, *known} <= {*frame}:
        return False
    own = frame.dropna(subset=known)[subject].dropna()
    return len(own) > 0 and own.is_unique


def rows_left(bound: Bound) -> Any:
    """Return the rows of a step's file that it keeps, as far as columns of the file say it; None where it has no file."""
    sheet = bound.sheet
    if sheet is None:
        return None
    frame = sheet.frame()
    rows = [item for item in bound.rows if {item.column, item.whole} - {""} <= {*frame}]
    if not rows:
        return frame
    try:
        kept: Any = evaluate_expression(condition(rows, Data([sheet])), frame)
    except ValueError:  # a condition that no row can be held against says nothing
        return frame
    return frame.loc[kept.fillna(False).astype(bool)]


def _told_subject(bound: Bound) -> str:
    """Return the column that was told to be the subject and that has several rows of one, or "".

    A block holds every treatment as a subject every occasion; the profile, which takes plots for the subjects, need not know.
    """
    sheet = bound.sheet
    for name in bound.of_role("pair", "subject") if bound.exact and sheet else []:
        column = sheet.column(name) if sheet else None
        if sheet and column and 1 < column.distinct < (sheet.profile.rows or 0) - column.missing:
            return name
    return ""


def _varies_within(bound: Bound) -> bool:
    """Say whether what is compared differs between rows of one subject that was told."""
    subject, group = _told_subject(bound), _group(bound)
    if not subject or group is None or bound.sheet is None:
        return False
    frame = bound.sheet.frame()
    if not {subject, group.name} <= {*frame}:
        return False
    pairs = {*zip(frame[subject], frame[group.name], strict=True)}
    return len(pairs) > len({*frame[subject]})


def _group(bound: Bound) -> ColumnProfile | None:
    names = bound.of_role("group", "condition", "ordered", "factors")
    return bound.sheet.column(names[0]) if names and bound.sheet else None


@_named
def in_order(bound: Bound, reading: Reading) -> bool:
    """The groups have an order: by their numbers, by what their names say, or because the question lists them."""
    column = _group(bound)
    given = any(bound.params.get(p.name) for p in bound.spec.params if p.role == "levels")
    dated = column is not None and bool(column.levels) and all(map(_MONTH.fullmatch, column.levels))
    return column is None or column.scale != "category" or bool(column.order) or given or dated


_MONTH = re.compile(r"(?:19|20)\d\d\s?[-/._ ]?\s?(?:\d\d?|[Qq][1-4])")
"""Months and quarters of a year as levels: `2023-04`, `2023 Q2`."""


@_named
def many_measures(bound: Bound, reading: Reading) -> bool:
    """All measurements are meant, or more than two are named: two need no map of fewer dimensions."""
    return len(bound.of_role("measures")) not in (1, 2)


@_named
def independent(bound: Bound, reading: Reading) -> bool:
    """No subject has several of the rows that are analysed; those of a herd or ward may, where what is compared differs within it."""
    found = repetition(bound)
    if found is not None and found.subject in bound.of_role("group", "group_optional"):
        return True  # whose rows belong together are what is compared: `which ward has the lowest compliance`
    if found is None or reading.paired is False or _differs_among_members(found, bound):
        return True
    held = [name for name in bound.of_role("predictors", "factors") if name in found.between]
    return members(bound) and few_clusters(found.subject, [*bound.of_role("group", "group_optional"), *held], bound)


FEW_CLUSTERS, LARGE = 3, 10
"""Of fewer clusters in a group no model can tell how much clusters of that many rows differ; of many small ones it can."""


def few_clusters(cluster: str, groups: Iterable[str], bound: Bound, *, fewest: int = FEW_CLUSTERS) -> bool:
    """Say whether some group has its rows in too few clusters for these to be modelled: possums of two sites.

    The step then takes rows for themselves, and the plan warns of it.
    """
    frame = rows_left(bound)
    named = [name for name in groups if frame is not None and name in frame]
    if frame is None or cluster not in frame or len(named) != 1:
        return False
    each = frame.dropna(subset=[cluster, named[0]]).groupby(named[0])[cluster].nunique()
    large = len(frame) >= LARGE * frame[cluster].nunique()
    return len(each) > 1 and large and int(each.min()) < fewest


def _differs_among_members(found: Repeated, bound: Bound) -> bool:
    """Say whether each row is somebody else of a cluster and no column that is used is the same for all of a cluster.

    What is the same for all of a cluster was done to the cluster, whose members are then no replicates (Hurlbert 1984).
    """
    return members(bound) and not set(bound.columns()) & set(found.between)


def members(bound: Bound) -> bool:
    """Say whether a column names the single members of clusters (pigs of litters); without one, rows repeat a subject."""
    found, sheet = repetition(bound), bound.sheet
    if found is None or sheet is None:
        return False
    own = [c for c in sheet.columns if c.name != found.subject and is_id(c)]
    if {*name_parts(found.subject)} & _SOMEBODY:  # what numbers the samples of a patient names nobody else
        own = [c for c in own if not {*name_parts(c.name)} <= _OF_ROWS]
    return any(c.distinct == sheet.profile.rows or c.name in found.within for c in own)


_SOMEBODY = HINTS["subject"] - {"family", "pair", "twin"}
_OF_ROWS = HINTS["id"] | frozenset(
    "sample samples record row obs observation measurement visit assay run library lib file tube aliquot no nr number".split()
)
"""Words of names that number rows, and no members of a cluster."""


@_named
def repeated(bound: Bound, reading: Reading) -> bool:
    """Subjects have several rows, or several columns of one measurement."""
    return bool(bound.of_role("wide")) or repetition(bound) is not None or bool(_told_subject(bound))


@_named
def two_measured(bound: Bound, reading: Reading) -> bool:
    """Two measurements are named beside what is held constant, or none: one by groups is compared, not correlated."""
    free = [name for name in reading.named() if reading.parts.get(name) != {"adjust"}]
    columns = [c for name in free if bound.sheet and (c := bound.sheet.column(name)) is not None and not is_id(c)]
    return not columns or sum(is_number(c) for c in columns) > 1


@_named
def nothing_held(bound: Bound, reading: Reading) -> bool:
    """Every column that is only to be held constant has a part in the step: unadjusted is another question."""
    return not held_left(bound, reading)


def held_left(bound: Bound, reading: Reading) -> set[str]:
    """Return the columns that are only to be held constant and have no part in a step."""
    held = {name for name, parts in reading.parts.items() if parts == {"adjust"}}
    return {name for name in held if bound.sheet and bound.sheet.column(name)} - {*bound.columns()}


@_named
def nothing_left(bound: Bound, reading: Reading) -> bool:
    """Every column that is surely named has a part in the step."""
    sheet = bound.sheet
    subjects = {item.subject for item in sheet.structure.repeated} if sheet else set[str]()
    left = [
        n
        for n in bound.unused
        if n in reading.named()
        and reading.strength(n) >= 0.75
        and n not in subjects
        and not (sheet and (c := sheet.column(n)) and is_id(c))
    ]
    return not left


@_named
def causes_constant_within(bound: Bound, reading: Reading) -> bool:
    """No cause changes within the subjects."""
    found = repetition(bound)
    return found is None or not set(found.within) & set(bound.of_role("predictors", "factors", "group"))


@_named
def known_at_start(bound: Bound, reading: Reading) -> bool:
    """No group that is compared came about while its members were watched: who lived to get a transplant lived longer."""
    later = bound.sheet.structure.begins if bound.sheet else {}
    return not set(later) & set(bound.of_role("group", "group_optional", "covariates", "predictors"))


@_named
def watched_from_the_start(bound: Bound, reading: Reading) -> bool:
    """Rows are whole follow-ups and no spans of them: a curve of spans counts time before they began."""
    return not (bound.sheet and bound.sheet.structure.survival.get("start"))


@_named
def one_kind_of_end(bound: Bound, reading: Reading) -> bool:
    """The event column has two levels: with other kinds of end, survival curves that censor them mislead."""
    columns = [c for name in bound.of_role("event") if bound.sheet and (c := bound.sheet.column(name))]
    return all(column.distinct <= 2 for column in columns)


@_named
def wide(bound: Bound, reading: Reading) -> bool:
    """One measurement stands in several columns, one a time."""
    return bool(bound.sheet and (bound.sheet.structure.wide or bound.sheet.structure.same_quantity))


@_named
def outcome_is_number(bound: Bound, reading: Reading) -> bool:
    """The outcome is a measurement."""
    sheet = bound.sheet
    names = bound.of_role("measure", "y", "measures")
    columns = [sheet.column(name) for name in names] if sheet else []
    if sheet and any(name in sheet.structure.part_of for name in names):
        return False  # so many of so many is a share
    return all(c is not None and c.scale in ("number", "count", "share", "ordered") for c in columns)


@_named
def factors_are_groups(bound: Bound, reading: Reading) -> bool:
    """No number is said to change the outcome, which an analysis of variance would have to cut into groups."""
    causes = [name for name, parts in reading.parts.items() if "cause" in parts and "outcome" not in parts]
    columns = [bound.sheet.column(name) for name in causes] if bound.sheet else []
    return not any(c is not None and is_number(c) and not is_group(c) for c in columns)


@_named
def ends_explain_nothing(bound: Bound, reading: Reading) -> bool:
    """No other end of the follow-up is held constant: who died before could not come to the event that is asked about."""
    usual = bound.sheet.structure.survival.get("event", "") if bound.sheet else ""
    return usual not in bound.of_role("covariates", "strata")


_THAN = re.compile(
    r"\s*\)?\s*(?:than|from|vs\.?|versus|against|compared (?:to|with))\s+(?:the\s+|in\s+|its\s+|their\s+)*",
    re.IGNORECASE,
)


def _set_against(bound: Bound, reading: Reading) -> list[list[str]]:
    """Return two measurements that are set against each other and share a part of their names: `IL6_LPS higher than IL6_unstim`."""
    named = [
        m
        for m in reading.mentions
        if not m.level and bound.sheet and (c := bound.sheet.column(m.column)) and is_number(c)
    ]
    for one, other in pairwise(named):
        between = reading.question[reading.words[one.last].end : reading.words[other.first].start]
        gap = re.sub(
            r"^(?:\s+(?:differ\w*|different|higher|lower|larger|smaller|more|less|greater|is|are|\w+er))*", "", between
        )
        alike = {*name_parts(one.column)} & {*name_parts(other.column)}
        if one.column != other.column and _THAN.fullmatch(gap) and any(len(part) > 1 for part in alike):
            return [[one.column, other.column]]
    return []


@_named
def two_occasions(bound: Bound, reading: Reading) -> bool:
    """Two columns of one measurement are named and no grouping by which they could be compared, or more of one in order."""
    if bound.sheet is None:
        return False
    families = [w.columns for w in bound.sheet.structure.wide] + [list(p) for p in bound.sheet.structure.same_quantity]
    families += _set_against(bound, reading)
    named = [name for name in reading.columns() if bound.sheet.column(name)]
    one_left = {r.column for r in reading.restrictions if r.sure and r.op == "in" and len(r.values) == 1}
    groups = [
        n
        for n in reading.named()
        if (c := bound.sheet.column(n)) and is_group(c) and n not in one_left and not any(n in f for f in families)
    ]
    course = any(w.ordered and len(set(named) & set(w.columns)) > 2 for w in bound.sheet.structure.wide)
    return course or (not groups and any(len(set(named) & set(family)) == 2 for family in families))


@_named
def more_than_groups(bound: Bound, reading: Reading) -> bool:
    """More is to explain the outcome than one grouping, for which a test of groups is asked: a number, or several columns."""
    causes = [bound.sheet.column(name) for name in bound.of_role("predictors")] if bound.sheet else []
    if len(causes) != 1 or causes[0] is None or not is_group(causes[0]):
        return True
    if any(c.column == causes[0].name and c.explicit for c in reading.contrasts):
        return False  # `diet 3 against diet 1`
    return causes[0].kind in ("integer", "number") and causes[0].distinct > 2


@_named
def uncensored(bound: Bound, reading: Reading) -> bool:
    """No column that is compared is a time to an event that some have not reached, or that event itself."""
    sheet = bound.sheet
    found = sheet.structure.survival if sheet else {}
    return not any(found.get(role) in bound.columns() for role in ("time", "event") if found.get(role))


@_named
def genes_named(bound: Bound, reading: Reading) -> bool:
    """The question names genes."""
    return bool(reading.genes)


@_named
def direction_named(bound: Bound, reading: Reading) -> bool:
    """The question asks for one direction of change, or for changes of some size."""
    return bool(reading.direction) or reading.min_lfc is not None


@_named
def group_named(bound: Bound, reading: Reading) -> bool:
    """The grouping that is bound is one that the question names."""
    return bool({*bound.of_role("group", "group_optional")} & {m.column for m in reading.mentions})


@_named
def grouped(bound: Bound, reading: Reading) -> bool:
    """A grouping is bound."""
    return bool(bound.of_role("group", "split", "condition", "factors", "label"))


@_named
def two_groupings(bound: Bound, reading: Reading) -> bool:
    """Two groupings are named: by one of them or none, a measurement is described."""
    names = [p.name for p in bound.spec.params if p.role == "split"]
    return all(bound.params.get(name) and name not in bound.guessed for name in names)


@_named
def pairs_exist(bound: Bound, reading: Reading) -> bool:
    """Subjects have several rows, or several columns hold one measurement: there is something to pair."""
    if bound.of_role("measure_a", "wide"):
        return True
    found = repetition(bound)
    if found is None:
        return bool(bound.of_role("pair", "subject")) and (reading.paired is True or _varies_within(bound))
    group = _group(bound)
    return group is None or group.name not in found.between


@_named
def complete_sets(bound: Bound, reading: Reading) -> bool:
    """Subjects have a value at every occasion that is compared: where each was seen at ages of its own there is no such set.

    Occasions that the subjects have in common, all but a few, are complete sets of some of them: these are counted on the card.
    """
    subjects, within, values = (bound.of_role(role) for role in ("subject", "condition", "measure"))
    frame = rows_left(bound) if subjects and within and values else None
    if frame is None or not {subjects[0], within[0], values[0]} <= {*frame}:
        return True
    known = frame.dropna(subset=[subjects[0], within[0], values[0]])
    chosen = {str(v) for p in bound.spec.params if p.role == "levels" for v in listed(bound.params.get(p.name) or [])}
    if chosen:
        known = known[known[within[0]].map(str).isin(chosen)]
    seen = known.groupby(subjects[0])[within[0]].nunique()
    return bool((seen == known[within[0]].nunique()).sum() >= _FEWEST_SETS)


_FEWEST_SETS = 2
"""Of fewer subjects with all occasions no test of repeated measures can be made."""


@_named
def doubles(bound: Bound, reading: Reading) -> bool:
    """What grows at least doubles, as a culture does and a boy does not; several columns of cultures are not looked at."""
    names = bound.of_role("measure", "y", "response")
    frame = rows_left(bound) if len(names) == 1 else None
    if frame is None or names[0] not in frame or frame[names[0]].dtype.kind not in "iuf":
        return True
    found, values = repetition(bound), frame[names[0]].where(frame[names[0]] > 0)
    if found is None or found.subject not in frame:
        return bool(values.max() >= _DOUBLED * values.min())
    each = values.groupby(frame[found.subject])
    return bool((each.max() / each.min()).median() >= _DOUBLED)


_DOUBLED = 2.0


@_named
def one_change(bound: Bound, reading: Reading) -> bool:
    """No grouping of whole subjects is named beside the occasions: whose changes differ is another question than whether all changed."""
    return not groups_beside(bound, reading)


def groups_beside(bound: Bound, reading: Reading) -> list[str]:
    """Return the named groupings of whole subjects whose rows are not all of one level."""
    found, sheet = repetition(bound), bound.sheet
    kept = {item.column for item in bound.rows if item.op == "in" and len(item.values) == 1}
    kept |= {r.column for r in reading.restrictions if r.sure and r.op == "in" and len(r.values) == 1}
    return [
        name
        for name in dict.fromkeys([*reading.named(), *(contrast.column for contrast in reading.contrasts)] if sheet else ())
        if (bound.of_role("wide") or (found and name in found.between)) and name not in kept and not reading.is_a(name, "adjust")
        and sheet and (c := sheet.column(name)) and (is_group(c) or c.codes)
    ]  # fmt: skip


@_named
def rated_again(bound: Bound, reading: Reading) -> bool:
    """What is rated differs between the rows of one subject: the group that a subject belongs to is no rating of it."""
    found, sheet = repetition(bound), bound.sheet
    values = {*bound.of_role("anything")}
    return not (found and values & {*found.between}) and not any(
        sheet and (c := sheet.column(name)) and c.role("time") >= _SURE for name in values
    )


@_named
def values_told(bound: Bound, reading: Reading) -> bool:
    """The question names values at which something is to be expected: how well it can be predicted is another question."""
    return bool(reading.at)


@_named
def no_control(bound: Bound, reading: Reading) -> bool:
    """The groups are kinds, not what was done to them: none is called like a control."""
    columns = [bound.sheet.column(name) for name in bound.of_role("label") if bound.sheet]
    return not any(column is not None and control_of(column, list(column.levels)) for column in columns)


@_named
def counts_given(bound: Bound, reading: Reading) -> bool:
    """A file holds raw counts."""
    return any(port.type == "count_matrix" for port in bound.spec.inputs) and bool(bound.sheets)


@_named
def intensities_given(bound: Bound, reading: Reading) -> bool:
    """A file holds intensities or other values that are no read counts, or numbers that may be either."""
    matrices = (sheet.profile for sheet in bound.sheets.values() if sheet.serves(DataType.EXPRESSION_MATRIX))
    return any(
        profile.types[0].type is DataType.EXPRESSION_MATRIX or profile.details.get("value_kind") == "unclear"
        for profile in matrices
    )


@_named
def taxa_given(bound: Bound, reading: Reading) -> bool:
    """The rows or columns of a file are known to be taxa; of a matrix of counts that names nothing known it only may be."""
    known = [guess for sheet in bound.sheets.values() if (guess := sheet.serves(DataType.ABUNDANCE_TABLE))]
    return any(guess.confidence >= _KNOWN for guess in known)


_KNOWN = 0.5
"""From this confidence on a type is what a file looks like, and not only what it could be."""


@_named
def odds_asked(bound: Bound, reading: Reading) -> bool:
    """The question asks for odds or their ratio, which is an `OR` in capitals beside what it is of."""
    return _ODDS.search(reading.question) is not None


_ODDS = re.compile(
    r"(?i:\bodds\b)|\b(?:a|c)?ORs?\b(?= (?:per|for|of|with|and (?:CI|95))|s\b)|\b(?:[Aa]djusted|[Cc]rude|[Tt]he|[Aa]n) OR\b"
)


@_named
def ends_seen(bound: Bound, reading: Reading) -> bool:
    """Some rows came to the end: of the survivors alone no time to death is asked."""
    ends = bound.sheet.structure.survival if bound.sheet else {}
    event, happened = ends.get("event", ""), ends.get("event_value", "")
    kept = [r for r in reading.restrictions if r.sure and r.op == "in" and r.column == event]
    return not any(happened and happened not in r.values for r in kept)


@_named
def rows_of_files(bound: Bound, reading: Reading) -> bool:
    """The rows are those of files: values of a matrix put beside its samples are no cycles of a machine."""
    return bound.sheet is None or not bound.sheet.step or bool(bound.sheet.files)


@_named
def tool_named(bound: Bound, reading: Reading) -> bool:
    """The question calls the step by its name."""
    names = (bound.spec.title, bound.spec.name.replace("_", " "))
    return any(re.search(rf"\b{re.escape(name)}s?\b", reading.question, re.IGNORECASE) for name in names)
