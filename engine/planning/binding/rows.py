"""Which rows a step keeps, as far as the words say it surely, and how a filter says so."""

# Most methods of pandas carry no types of what they return, which is all that these rules would find here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from engine.domain.datatypes import DataType
from engine.domain.toolspec import ParamSpec, ToolSpec
from engine.planning.binding.bound import Bound
from engine.planning.binding.levels import SIDES
from engine.planning.binding.slots import slot_of
from engine.planning.naming.mention import ColumnMention
from engine.planning.reading.reading import CUTS, Reading, Restriction
from engine.planning.reading.settings import cut_by_setting, written
from engine.planning.tables.sheets import Data


def rows_kept(bound: Bound, reading: Reading) -> None:
    """Decide which rows the step is about: surely restricted ones, and levels named of columns that nothing else takes."""
    _restricted(bound, reading)
    _named_levels(bound, reading)
    _sides_of_several(bound, reading)


def _restricted(bound: Bound, reading: Reading) -> None:
    """Keep the rows that the words keep or leave out, unless the level is an outcome's or a side of a comparison."""
    taken = set(bound.columns())
    cut = cut_by_setting(bound.spec, reading)
    for item in reading.restrictions:
        if cut.intersection(range(item.first, item.last + 1)) or _of_a_slope(bound, reading, item):
            continue
        if item.op == "in" and (_leaves_out_a_side(bound, item) or _leaves_one_level(bound, reading, item)):
            continue
        if (item.sure and not (item.op == "in" and _is_outcome(bound, item.column))) or (
            item.column not in taken and item.op == "in"
        ):
            bound.rows.append(item)
            bound.reasons += [item.why] if item.why else []


_SLOPE = re.compile(r"\b(?:terminal|slopes?|lambda|elimination)\b", re.IGNORECASE)


def _of_a_slope(bound: Bound, reading: Reading, item: Restriction) -> bool:
    """Say whether a cut of the time only says which points a slope is of: `terminal slope from the points at 4 h and later`.

    The step takes all points for what else it computes; the request is noted as lost.
    """
    if item.op not in (">", ">=") or item.column not in bound.of_role("time", "dose", "over"):
        return False
    start, end = reading.words[item.first].start, reading.words[item.last].end
    clause = (
        re.split(r"[.;?!]", reading.question[:start])[-1][-60:] + re.split(r"[.;?!,]", reading.question[end:])[0][:40]
    )
    if not _SLOPE.search(clause):
        return False
    told = f"{reading.question[start:end]!r} is said of the points of a slope, which the step chooses itself."
    if told not in reading.lost:
        reading.lost.append(told)
    return True


def _named_levels(bound: Bound, reading: Reading) -> None:
    """Keep the rows of levels that are named, where no part of the step already says so."""
    taken, sheet = set(bound.columns()), bound.sheet
    have = {item.column for item in bound.rows}
    for name in dict.fromkeys(m.column for m in reading.mentions if m.level):
        column = sheet.column(name) if sheet else None
        if column is None or name in have:
            continue
        mentions = [m for m in reading.mentions if m.column == name and m.level and m not in reading.spared
                    and not _of_method(bound, reading, m)]  # fmt: skip
        if not mentions:
            continue
        levels = tuple(reading.ranges.get(name, dict.fromkeys(m.level for m in mentions)))
        if any(c.column == name and c.explicit and not {*c.levels} <= {*levels} for c in reading.contrasts):
            continue  # those that others are compared with are not the only ones
        numeric = column.kind in ("integer", "number") and name in bound.of_role("predictors")
        partial = 1 < len(levels) < len(column.levels) and (
            numeric
            or _is_all_that_explains(bound, reading, name)
            or name in bound.of_role("group", "condition", "factors", "ordered", "split", "category", "group_optional")
        )
        own = [p for p in bound.spec.params if bound.params.get(p.of) == name]
        kept_by_tool = any(p.kind == "level" and bound.params.get(p.name) in levels for p in own)
        kept_by_tool = kept_by_tool or any(p.role == "levels" for p in own)
        alone = name not in taken and max(m.strength for m in mentions) >= 0.75 and len(levels) < len(column.levels)
        if alone or (partial and not kept_by_tool):
            bound.rows.append(Restriction(name, "in", levels, mentions[0].first, mentions[-1].last, sure=False))


def _is_all_that_explains(bound: Bound, reading: Reading, name: str) -> bool:
    """Say whether a model is of nothing but groups of which several are set against each other: the others tell it nothing."""
    apart = any(c.column == name and c.explicit and len(c.levels) > 1 for c in reading.contrasts)
    return apart and bound.of_role("predictors", "covariates") == [name]


def _sides_of_several(bound: Bound, reading: Reading) -> None:
    """Fill the levels that a step compares of those that a column has, where the question names them."""
    sheet = bound.sheet
    for param in bound.spec.params:
        if param.role == "levels" and sheet is not None:
            own = sheet.column(str(bound.params.get(param.of) or ""))
            named = [level for level in reading.levels(own.name) if level in own.levels] if own else []
            against = next((p for p in bound.spec.params if p.role == "against" and p.of == param.of), None)
            if len(named) == 2 and against is not None:
                bound.params |= {param.name: named[:1], against.name: named[1]}
                bound.reasons.append(f"{named[0]!r} is compared with {named[1]!r}, as the question names them.")
            elif len(named) >= (1 if against is not None else 2):
                sides = {bound.params.get(p.name) for p in bound.spec.params if p.of == param.of and p.role in SIDES}
                bound.params |= {param.name: named} if sides - {None} <= {*named} else {}


def with_control_dose(bound: Bound) -> None:
    """Keep the rows of a control that stands at a dose of its own: `Cpd-31 at the highest dose against DMSO`, which has none.

    Only where neither side has rows at the dose of the other, so that each keeps what is meant of it.
    """
    sheet = bound.sheet
    doses = [r for r in bound.rows if sheet and r.column in sheet.structure.doses and r.op == "in"]
    pair = {p.role: (p.of, bound.params.get(p.name)) for p in bound.spec.params if p.role in ("interest", "reference")}
    group = str(bound.params.get(pair["reference"][0]) or "") if len(pair) == 2 else ""
    sides = [str(level) for _, level in pair.values() if level not in (None, "")]
    if sheet is None or len(doses) != 1 or len(sides) != 2 or sheet.column(group) is None:
        return
    frame = sheet.frame()
    given = {level: set(frame.loc[frame[group].astype(str) == level, doses[0].column].dropna()) for level in sides}
    wanted = {float(value) for value in doses[0].values}
    lacking = [level for level in sides if given[level] and not given[level] & wanted]
    if len(lacking) != 1 or any(given[lacking[0]] & given[level] for level in sides if level != lacking[0]):
        return
    own = tuple(f"{value:.12g}" for value in sorted(given[lacking[0]]))
    at = bound.rows.index(doses[0])
    bound.rows[at] = doses[0]._replace(values=(*doses[0].values, *own))
    bound.reasons.append(f"{lacking[0]!r} has no rows there and is taken at {', '.join(own)}, its own.")


def _leaves_one_level(bound: Bound, reading: Reading, item: Restriction) -> bool:
    """Say whether the step compares or explains by a column that is named, of which the rows kept would hold one level."""
    used = bound.of_role("group", "group_optional", "condition", "factors", "predictors", "covariates")
    return len(item.values) == 1 and item.column in used and item.column in reading.named()


def _leaves_out_a_side(bound: Bound, item: Restriction) -> bool:
    """Say whether the rows kept would lack a level that the step compares: then they are one side of it."""
    sides = [
        p for p in bound.spec.params if p.role in ("interest", "reference") and bound.params.get(p.of) == item.column
    ]
    return any(bound.params.get(p.name) not in (None, *item.values) for p in sides)


def _of_method(bound: Bound, reading: Reading, mention: ColumnMention) -> bool:
    """Say whether a level is only a word of what the step is called: the standards of a `standard curve`."""
    said, word = reading.question.lower(), reading.words[mention.first]
    names = [name.lower() for name in (bound.spec.title, *bound.spec.keywords) if " " in name]
    places = [(m.start(), m.end()) for name in names if name in said for m in re.finditer(re.escape(name), said)]
    return mention.width == 1 and any(start <= word.start and word.end <= end for start, end in places)


def from_then_on(bound: Bound, reading: Reading) -> Reading:
    """Take `since 2015` and `began in week 5` as the start that a step has a parameter for; return the question without.

    Such a step compares before with after: rows of one moment, or of all from one on, are none to keep.
    """
    param, sheet = next((p for p in bound.spec.params if p.role == "onset"), None), bound.sheet
    if param is None or sheet is None:
        return reading
    fits = slot_of("period").fits
    able = {c.name for c in sheet.columns if fits(c, sheet) >= 1}
    said = [r for r in reading.restrictions
            if r.column in able and (r.op == ">=" or (r.op == "in" and len(r.values) == 1))]  # fmt: skip
    if said and written(param, reading.question) is None:
        bound.params[param.name] = said[-1].values[0]
    return replace(reading, restrictions=[r for r in reading.restrictions if r not in said]) if said else reading


def cut_param(spec: ToolSpec) -> ParamSpec | None:
    """Return the parameter at whose number a step cuts what it takes, or None."""
    return next((p for p in spec.params if p.role == "cut_point"), None)


def cut_said(bound: Bound, reading: Reading) -> None:
    """Take `CRP above 20` as the cut-point of a step that has one, not as rows to keep."""
    param = cut_param(bound.spec)
    said = next((r for r in reading.restrictions if param and r.op in CUTS and r.column in bound.columns()), None)
    if param is None or said is None:
        return
    bound.params[param.name] = float(said.values[0])
    sides = next((p.name for p in bound.spec.params if set(CUTS) <= set(p.choices)), "")
    if sides:
        bound.params[sides] = said.op
    bound.rows = [r for r in bound.rows if r != said]


def _is_outcome(bound: Bound, column: str) -> bool:
    return column in bound.of_role("outcome", "event")


def condition(rows: Sequence[Restriction], data: Data) -> str:
    """Return rows to keep as the condition that a step for it takes: "`sex` in ['F'] and `age` > 60".

    Leaving out values leaves the rows without one: a condition on nothing is neither true nor false otherwise. Whole subjects go
    or stay by how many of their rows have a value: "count_of(`note` in ['died'], `calf`) == 0". What is said with `or` stands in
    brackets: "(`viability` < 70 or `events` < 10000)".
    """
    parts: list[str] = []
    for item in sorted(rows, key=lambda row: row.first):
        column = data.column(item.column)
        numeric = column is not None and column.kind in ("integer", "number")
        values = [value if numeric else repr(value) for value in item.values]
        name = f"`{item.column}`"
        stays = f" or is_missing({name})" if column is not None and column.missing else ""
        if item.whole:
            some = "> 0" if item.op == "in" else "== 0"
            text = f"count_of({name} in [{', '.join(values)}], `{item.whole}`) {some}"
        elif item.op == "between" and values[0] == values[1]:
            text = f"{name} in [{values[0]}]"
        elif item.op == "between":
            text = f"{name} >= {values[0]} and {name} <= {values[1]}"
        elif item.op == "not between":
            text = f"{name} < {values[0]} or {name} > {values[1]}"
        elif item.op in ("in", "not in"):
            text = f"{name} {item.op} [{', '.join(values)}]"
        else:
            text = f"{name} {item.op} {values[0]}"
        stays = stays if (item.out or item.op == "not in") and not item.whole else ""
        text = f"({text}{stays})" if stays or item.op == "not between" else text
        if item.either and parts:
            parts[-1] = (
                f"({parts[-1].removeprefix('(').removesuffix(')') if ' or ' in parts[-1] else parts[-1]} or {text})"
            )
        else:
            parts.append(text)
    return " and ".join(parts)


def rows_chosen(text: str, chosen: Mapping[str, str] | None) -> str:
    """Return the condition that a person chose in place of one of the words, "" for all rows.

    Args:
        text: the condition as the words say it.
        chosen: condition -> the one in its place, choice after choice.
    """
    left = dict(chosen or {})
    while text in left:
        text = left.pop(text)
    return text


def takes_rows(kind: DataType) -> bool:
    """Say whether data of a type can be cut down to some of its rows by a step."""
    return kind in (DataType.TABLE, DataType.SURVIVAL_TABLE)
