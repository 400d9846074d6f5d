"""Gives the columns, levels and numbers of a question to the parameters of a tool, all at once and with a score.

Every assignment of the named columns to the column parameters is weighed: how well a column fits the part, whether grammar
speaks for or against it, what stays without a column and what is named and used by nothing. What no word names is taken from
the structure of the data where that offers it; the rest becomes a question.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from engine.domain.datatypes import TABULAR, DataType
from engine.domain.plan import OpenQuestion
from engine.domain.profile import ColumnProfile
from engine.domain.toolspec import ParamSpec, ToolSpec
from engine.planning.assign import MISSING, Assignment
from engine.planning.bound import Bound
from engine.planning.contrast import compared, control_level, event_level, why_reference
from engine.planning.fills import fill, with_course
from engine.planning.mentions import Mention
from engine.planning.reading import Reading, Restriction
from engine.planning.samples import sample_sheet
from engine.planning.settings import settings_said, written
from engine.planning.sheets import Data, numbers_things
from engine.planning.slots import slot_of
from engine.text.stopwords import STOP


def bind(
    spec: ToolSpec, reading: Reading, data: Data, *, given: Mapping[str, Any] | None = None, needs: Sequence[str] = ()
) -> Bound:
    """Return the best assignment of what is named to a tool's parameters.

    Args:
        spec: the tool.
        reading: the question.
        data: the files.
        given: parameters that are settled already.
        needs: roles that must be bound here though the tool can do without.
    """
    given = {**(given or {}), **reading.chosen.get(spec.name, {})}
    bound = Bound(spec)
    for port in spec.inputs:
        able = data.serving(port.type)
        if not able and port.type is DataType.SAMPLE_SHEET:
            able = [sheet for sheet in [sample_sheet(data)] if sheet is not None]
        if able:
            named = reading.columns()
            bound.sheets[port.name] = (
                max(able, key=lambda s: sum(s.column(c) is not None for c in named))
                if port.type in TABULAR
                else able[0]
            )
    reading = _from_then_on(bound, reading)
    _columns(bound, reading, given, needs)
    given = {key: value for key, value in given.items() if spec.param(key)}
    own = [p.name for p in spec.params if p.kind in ("column", "columns") and p.name in given]
    bound.params |= {
        name: given[name] for name in own
    }  # its columns are taken: a level of one of them restricts no rows
    if any(p.role in ("rows", "formula") for p in spec.params):  # what is named goes into its condition or formula
        apart = {c.column for c in reading.contrasts if c.explicit}  # set against each other, not kept
        kept = {r.column for r in reading.restrictions} | set(reading.columns()) & set(reading.levels_named())
        bound.score = 0.8 * len(kept - apart)
        bound.score += 0.4 * len(set(reading.named()) - {r.column for r in reading.restrictions})
        bound.unused.clear()
    _levels(bound, reading, given)
    _rows(bound, reading)
    _with_control_dose(bound)
    _all_meant(bound)
    _cut_said(bound, reading)
    fill(bound, reading)
    bound.params |= settings_said(spec, reading, bound.params)
    with_course(bound)
    bound.params |= given
    return bound


def _variants(params: Sequence[ParamSpec]) -> list[list[ParamSpec]]:
    """Return the sets of parameters that are bound together: one form of the data each (long, wide, counted)."""
    stands = [param for param in params if param.instead_of]
    if not stands:
        return [list(params)]
    replaced = {name for param in stands for name in param.instead_of}
    return [[p for p in params if p not in stands], [p for p in params if p.name not in replaced]]


def _columns(bound: Bound, reading: Reading, given: Mapping[str, Any], needs: Sequence[str]) -> None:
    # One form of the data that is settled leaves out the columns of the other.
    settled = {*given, *(name for p in bound.spec.params if p.name in given for name in p.instead_of)}
    params = [p for p in bound.spec.params if p.kind in ("column", "columns") and not settled & {p.name, *p.instead_of}]
    sheet = bound.sheet
    if sheet is None:
        bound.missing += [p for p in params if p.required]
        bound.score -= MISSING * len(bound.missing)
        return
    best: Assignment | None = None
    for variant in _variants(params):
        search = Assignment(
            variant, sheet, reading, taken=set(_flat(given.values())), cuts=_cut(bound.spec) is not None
        )
        # Two columns of one row are a pair by themselves, whether or not a column names the rows.
        search.needed |= {
            p.name for p in variant if p.role in needs and not any(other.role == "measure_a" for other in variant)
        }
        search.run()
        if best is None or search.best > best.best:
            best = search
    assert best is not None
    for param in best.params:
        value = best.chosen.get(param.name)
        if value:
            bound.params[param.name] = value
            if param.name in best.guessed:
                bound.guessed.append(param.name)
        elif param.name in best.needed:
            bound.missing.append(param)
    bound.score += best.best
    bound.unused += [c for c in best.free if c not in set(_flat(best.chosen.values()))]


def _all_meant(bound: Bound) -> None:
    """Name the columns that a step takes where none is named, so that the plan shows them; ids are not among them."""
    sheet = bound.sheet
    if sheet is None:
        return
    for param in bound.spec.params:
        if param.kind != "columns" or bound.params.get(param.name) or param.role not in ALL:
            continue
        if not param.description.partition("empty for all")[1]:
            continue
        slot, taken = slot_of(param.role), {*bound.columns(), *sheet.structure.survival.values()}
        taken |= {item.subject for item in sheet.structure.repeated}
        able = [c.name for c in sheet.columns if c.name not in taken and c.distinct > 1 and slot.fits(c, sheet) > ABLE
                and not numbers_things(c)]  # fmt: skip
        if len(able) <= MOST:
            bound.params[param.name] = able
            bound.guessed.append(param.name)


ALL = ("measures", "predictors", "anything")
"""Parts that may mean every column."""
ABLE, MOST = 0.6, 40
"""How well a column must fit, and how many at most, to be named where all are meant."""


Near = Callable[[Sequence[str]], dict[str, float]]
"""Names of columns -> how near each is in meaning to the words of the question that name nothing."""


def propose_missing(bound: Bound, reading: Reading, near: Near, left: str) -> None:
    """Propose a column for each required one that no word names, and ask: the plan waits for the answer.

    Args:
        bound: the step; its `missing` parameters of one column each are filled where some column fits.
        reading: the question.
        near: orders the columns that fit.
        left: what is said of those words, or "".
    """
    sheet = bound.sheet
    if sheet is None:
        return
    for param in list(bound.missing):
        slot, taken = slot_of(param.role), bound.columns()
        out = {*taken, *(row.column for row in bound.rows)}
        if param.role == "group":  # whose rows belong together is no group to compare
            out |= {item.subject for item in sheet.structure.repeated}
        able = {c.name: fit for c in sheet.columns if c.name not in out and c.distinct > 1
                and (fit := slot.fits(c, sheet)) >= ABLE}  # fmt: skip
        if param.kind != "column" or not able:
            continue
        meant = near(list(able))
        names = sorted(able, key=lambda name: -(_kin(name, taken) + able[name] + meant.get(name, 0.0)))[:CHOICES]
        bound.params[param.name] = names[0]
        bound.missing.remove(param)
        bound.questions.append(
            OpenQuestion(
                id=param.name, param=param.name, choices=names, proposed=names[0], blocking=True,
                text=f"Which column is meant? {param.description.rstrip('.')}.{left}",
                why=f"No word of the question surely names it. Nearest: {', '.join(names[:SAID])}.",
            )
        )  # fmt: skip
        _levels(bound, reading, {p.name: None for p in bound.spec.params if p.of != param.name})


def ask_values(bound: Bound) -> None:
    """Ask for each number that a step needs and no word gives, such as the margin of an equivalence: the plan waits for it."""
    for param in bound.spec.params:
        if param.required and param.kind in ("integer", "number") and bound.params.get(param.name) is None:
            why = "No word of the question says it, and no value would be honest without being chosen."
            text = f"{param.description.partition(': say it')[0].rstrip('.:')}?"
            bound.questions.append(OpenQuestion(id=param.name, param=param.name, text=text, why=why, blocking=True))


def _kin(name: str, others: Sequence[str]) -> float:
    """Return how much of its beginning a name shares with one of others: reader2 with reader1."""
    shared = [_alike(name.lower(), other.lower()) / max(len(name), len(other)) for other in others]
    return max((share for share in shared if share >= 0.5), default=0.0)


def _alike(one: str, other: str) -> int:
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


CHOICES, SAID = 40, 8
"""So many columns are offered, and so many of them named in a sentence."""


def _flat(values: Any) -> list[str]:
    return [
        item for value in values for item in (value if isinstance(value, list) else [value]) if isinstance(item, str)
    ]


def _levels(bound: Bound, reading: Reading, given: Mapping[str, Any]) -> None:
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
            bound.questions += [q.model_copy(update={"param": param.name}) for q in asked]
        elif param.role == "positive":  # what is positive does not change with which results are talked of
            value, asked = event_level(replace(reading, mentions=[]), column, "")
            bound.params[param.name] = value
            bound.questions += [q.model_copy(update={"param": param.name}) for q in asked]
        elif param.role == "event_if_binary" and len(column.levels) == 2:
            value, asked = event_level(reading, column, "")
            bound.params |= {} if asked else {param.name: value}
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
    usual = control_level(levels)
    told = reading.coded(column.name, levels)[0] is not None
    if (
        not param.required and len(levels) == 2 and usual and result.treated == usual and not told
    ):  # `lower in control than in treated`
        why = f"{result.control!r} is compared with {usual!r}, {why_reference(usual, levels)}."
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
    sides = [p.name for p in bound.spec.params if p.kind == "level" and p.of == param.of and p.role in _SIDES]
    chosen = {name: str(given[name]) for name in sides if given.get(name)}
    if not chosen or len(sides) < len(_SIDES):
        return
    before = [bound.params[name] for name in sides if bound.params.get(name)]
    open_sides = [name for name in sides if name not in chosen] if before or len(levels) == len(_SIDES) else []
    for name in open_sides:
        own = [bound.params.get(name), *before, *levels]
        chosen[name] = next(level for level in own if level and level not in chosen.values())
    bound.params = {key: value for key, value in bound.params.items() if key not in sides} | chosen
    bound.questions = [q for q in bound.questions if q.param not in sides]
    bound.reasons = [r for r in bound.reasons if not (before and all(repr(level) in r for level in before))]
    treated, control = (chosen.get(name) for name in sides)
    if treated and control:
        bound.reasons.append(f"{treated!r} is compared with {control!r}, as chosen.")


_SIDES = ("interest", "reference")


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
    r"\b(?:against|versus|vs\.?|(?:compared|in comparison) (?:to|with)|relative to|than|reference(?: level)?:?)\s+"
    r"(?:(?:the|in|group|level|treatment|arm)\s+){0,2}$",
    re.IGNORECASE,
)


def _rows(bound: Bound, reading: Reading) -> None:
    """Decide which rows the step is about: surely restricted ones, and levels named of columns that nothing else takes."""
    taken = set(bound.columns())
    sheet = bound.sheet
    for item in reading.restrictions:
        if item.op == "in" and (_leaves_out_a_side(bound, item) or _leaves_one_level(bound, reading, item)):
            continue
        if (item.sure and not (item.op == "in" and _is_outcome(bound, item.column))) or (
            item.column not in taken and item.op == "in"
        ):
            bound.rows.append(item)
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
        numeric = column.kind in ("integer", "number") and name in bound.of_role("predictors")
        partial = 1 < len(levels) < len(column.levels) and (
            numeric
            or name in bound.of_role("group", "condition", "factors", "ordered", "split", "category", "group_optional")
        )
        own = [p for p in bound.spec.params if bound.params.get(p.of) == name]
        kept_by_tool = any(p.kind == "level" and bound.params.get(p.name) in levels for p in own)
        kept_by_tool = kept_by_tool or any(p.role == "levels" for p in own)
        alone = name not in taken and max(m.strength for m in mentions) >= 0.75 and len(levels) < len(column.levels)
        if alone or (partial and not kept_by_tool):
            bound.rows.append(Restriction(name, "in", levels, mentions[0].first, mentions[-1].last, sure=False))
    for param in bound.spec.params:
        if param.role == "levels" and sheet is not None:
            own = sheet.column(str(bound.params.get(param.of) or ""))
            named = [level for level in reading.levels(own.name) if level in own.levels] if own else []
            against = next((p for p in bound.spec.params if p.role == "against" and p.of == param.of), None)
            if len(named) == 2 and against is not None:
                bound.params |= {param.name: named[:1], against.name: named[1]}
                bound.reasons.append(f"{named[0]!r} is compared with {named[1]!r}, as the question names them.")
            elif len(named) >= (1 if against is not None else 2):
                sides = {bound.params.get(p.name) for p in bound.spec.params if p.of == param.of and p.role in _SIDES}
                bound.params |= {param.name: named} if sides - {None} <= {*named} else {}


def _with_control_dose(bound: Bound) -> None:
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


def _of_method(bound: Bound, reading: Reading, mention: Mention) -> bool:
    """Say whether a level is only a word of what the step is called: the standards of a `standard curve`."""
    said, word = reading.question.lower(), reading.words[mention.first]
    names = [name.lower() for name in (bound.spec.title, *bound.spec.keywords) if " " in name]
    places = [(m.start(), m.end()) for name in names for m in re.finditer(re.escape(name), said)]
    return mention.width == 1 and any(start <= word.start and word.end <= end for start, end in places)


def _from_then_on(bound: Bound, reading: Reading) -> Reading:
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


def _cut(spec: ToolSpec) -> ParamSpec | None:
    return next((p for p in spec.params if p.role == "cut_point"), None)


def _cut_said(bound: Bound, reading: Reading) -> None:
    """Take `CRP above 20` as the cut-point of a step that has one, not as rows to keep."""
    param = _cut(bound.spec)
    said = next((r for r in reading.restrictions if param and r.op in CUTS and r.column in bound.columns()), None)
    if param is None or said is None:
        return
    bound.params[param.name] = float(said.values[0])
    sides = next((p.name for p in bound.spec.params if set(CUTS) <= set(p.choices)), "")
    if sides:
        bound.params[sides] = said.op
    bound.rows = [r for r in bound.rows if r != said]


CUTS = (">", ">=", "<", "<=")


def _is_outcome(bound: Bound, column: str) -> bool:
    return column in bound.of_role("outcome", "event")


def condition(rows: Sequence[Restriction], data: Data) -> str:
    """Return rows to keep as the condition that a step for it takes: "`sex` in ['F'] and `age` > 60".

    Leaving out values leaves the rows without one: a condition on nothing is neither true nor false otherwise.
    """
    parts = []
    for item in sorted(rows, key=lambda row: row.first):
        column = data.column(item.column)
        numeric = column is not None and column.kind in ("integer", "number")
        values = [value if numeric else repr(value) for value in item.values]
        name = f"`{item.column}`"
        if item.op == "not in" and column is not None and column.missing:
            parts.append(f"({name} not in [{', '.join(values)}] or is_missing({name}))")
        elif item.op in ("in", "not in"):
            parts.append(f"{name} {item.op} [{', '.join(values)}]")
        elif item.op == "between":
            parts.append(f"{name} >= {values[0]} and {name} <= {values[1]}")
        else:
            parts.append(f"{name} {item.op} {values[0]}")
    return " and ".join(parts)


def takes_rows(kind: DataType) -> bool:
    """Say whether data of a type can be cut down to some of its rows by a step."""
    return kind in (DataType.TABLE, DataType.SURVIVAL_TABLE)
