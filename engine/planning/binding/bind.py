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

from engine.data.catalogue import TABULAR
from engine.domain.datatypes import DataType
from engine.domain.plan import OpenQuestion, texts_of
from engine.domain.toolspec import ParamSpec, ToolSpec
from engine.planning.binding.assign import MISSING, Assignment, called
from engine.planning.binding.bound import Bound
from engine.planning.binding.fills import asked_first, fill, rows_counted, with_course
from engine.planning.binding.levels import CHOICES, SAID, flat, levels_given
from engine.planning.binding.moments import moments_told
from engine.planning.binding.rows import cut_param, cut_said, from_then_on, rows_kept, with_control_dose
from engine.planning.binding.slots import slot_of
from engine.planning.naming.levels import is_class_of
from engine.planning.naming.mention import SURE
from engine.planning.reading.reading import Reading
from engine.planning.reading.settings import settings_said
from engine.planning.tables.samples import as_list, sample_sheet
from engine.planning.tables.sheets import Data, numbers_things


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
    picked = {key: value for key, value in reading.chosen.get(spec.name, {}).items() if not isinstance(value, Mapping)}
    plain = bind(spec, replace(reading, chosen={}, used=dict(reading.used)), data, needs=needs) if picked else None
    given = {**(given or {}), **(_as_it_was(plain, picked) if plain else {}), **picked}
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
            if port.type is DataType.SAMPLE_SHEET:
                bound.sheets[port.name] = as_list(bound.sheets[port.name])
    reading = from_then_on(bound, reading)
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
    levels_given(bound, reading, given)
    rows_kept(bound, reading)
    if plain is not None:  # a group that is no longer compared keeps no rows
        bound.rows = [row for row in bound.rows if row.sure or row in plain.rows]
    with_control_dose(bound)
    _all_meant(bound, reading)
    cut_said(bound, reading)
    fill(bound, reading)
    bound.params |= settings_said(spec, reading, bound.params)
    moments_told(bound, reading)
    asked_first(bound, reading)
    rows_counted(bound)
    with_course(bound, reading)
    bound.params |= given
    return bound


def _as_it_was(plain: Bound, picked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns that a step has without what a person picked, where they go with that: one choice changes no other."""
    params = {param.name: param for param in plain.spec.params if param.kind in ("column", "columns")}
    taken = set(flat(picked.values()))
    other = {name for key in picked if key in params for name in params[key].instead_of}
    other |= {name for name, param in params.items() if {*param.instead_of} & picked.keys()}
    return {
        name: plain.params[name]
        for name in params.keys() - picked.keys() - other
        if plain.params.get(name) and not taken & set(flat([plain.params[name]]))
    }


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
            variant, sheet, reading, taken=set(flat(given.values())), cuts=cut_param(bound.spec) is not None
        )
        # Two columns of one row are a pair by themselves, whether or not a column names the rows.
        settled_too = [p for p in bound.spec.params if p.name in given]
        halves = any(other.role == "measure_a" for other in (*variant, *settled_too))
        search.needed |= {p.name for p in variant if p.role in needs and not halves}
        search.of_two_levels = any(p.role == "interest" and p.required for p in bound.spec.params)
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
        elif param.name in best.needed and not (param.role == "measures" and _EVERY_MEASURE.search(reading.question)):
            bound.missing.append(param)
    bound.score += best.best
    # Of occasions named alike none is left out by itself where the one that is meant is asked for.
    asked = best.whole if bound.missing else set[str]()
    bound.unused += [c for c in best.free if c not in asked | set(flat(best.chosen.values()))]


_EVERY_MEASURE = re.compile(
    r"\b(?:every|each|all|any|which)\s+(?:(?:of\s+)?(?:the|these|those)\s+)?(?:\w+\s+)?"
    r"(?:features?|variables?|parameters?|markers?|measurements?|measures?|columns?|analytes?|traits?|metabolites?|cytokines?)\b",
    re.IGNORECASE,
)
"""Words that mean all measurements, where none is named: `test every marker between the arms`."""
_EACH_COLUMN = re.compile(
    r"\b(?:every|each|all)\s+(?:(?:of\s+)?(?:the|these|those|my|our)\s+)?(?:single\s+)?(?:columns?|variables?)\b|"
    r"\b(?:besides|apart from|beyond|other than)\s[^.;?!]{1,40}?,?\s(?:which|what|any)\s(?:of\s)?(?:the\s)?others?\b[^?!]{0,60}[.?!]\s*(?:all|everything)\s+(?:together|in one)",
    re.IGNORECASE,
)
"""Words that mean all columns, though some are named: `how many are missing in each column`, `besides X, which others? All in one model`."""


def means_all(param: ParamSpec, bound: Bound) -> bool:
    """Say whether a part takes every column that fits, since no word names any."""
    all_where_empty = param.role in ALL and "empty for all" in param.description
    return all_where_empty and (param.name in bound.guessed or not bound.params.get(param.name))


def _all_meant(bound: Bound, reading: Reading) -> None:
    """Name the columns that a step takes where none is named or all are, so that the plan shows them; ids are not among them."""
    sheet, each = bound.sheet, _EACH_COLUMN.search(reading.question) is not None
    if sheet is None:
        return
    for param in bound.spec.params:
        named = texts_of(bound.params.get(param.name))
        if param.kind != "columns" or not (each and param.role in ALL if named else means_all(param, bound)):
            continue
        slot, taken = slot_of(param.role), {*bound.columns(), *sheet.structure.survival.values()} - {*named}
        taken |= {item.subject for item in sheet.structure.repeated}
        explained = [c for name in taken if (c := sheet.column(name))]
        if param.role == "predictors":  # what defines the outcome predicts nothing
            made = {c.name: one.name for c in sheet.columns for one in explained if is_class_of(one, c.name)}
            taken |= {*made}
            bound.reasons += [
                f"{name!r} is left out: {one!r} says in which class of it a row is." for name, one in made.items()
            ]
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

    Where only one column fits there is nothing to ask: it is taken and said, unless words are left that may mean something that
    is not there, or the step relates two measures, of which a person names both.
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
        known = not param.called or any(called(param, name) for name in able)
        if param.kind != "column" or not able or not known:  # what is always called alike is not there
            continue
        meant = near(list(able))
        names = sorted(able, key=lambda name: -(_kin(name, taken) + able[name] + meant.get(name, 0.0)))[:CHOICES]
        if len(names) == 1 and (left or param.role in RELATED):
            continue  # one choice is no choice, and what is asked about is something else
        bound.params[param.name] = names[0]
        bound.missing.remove(param)
        if len(names) == 1:
            bound.guessed.append(param.name)
            bound.reasons.append(
                f"No other column than {names[0]!r} can be it: {param.description.rstrip('.').lower()}."
            )
        else:
            bound.questions.append(
                OpenQuestion(
                    id=param.name, param=param.name, choices=names, proposed=names[0], blocking=True,
                    text=f"Which column is meant? {param.description.rstrip('.')}.{left}",
                    why=f"No word of the question surely names it. Nearest: {', '.join(names[:SAID])}.",
                )
            )  # fmt: skip
        levels_given(bound, reading, {p.name: None for p in bound.spec.params if p.of != param.name})


RELATED = ("x", "y", "measure_a", "measure_b", "rating_a", "rating_b")
"""Parts of a relation: which two things it is of is what the question asks."""


def ask_between(bound: Bound, reading: Reading) -> None:
    """Ask which of several columns is meant that the same words may name and that serve alike: the weight of `bwt` and `lwt`."""
    sheet = bound.sheet
    for param in bound.spec.params if sheet else ():
        name = str(bound.params.get(param.name))
        said = [m for m in reading.mentions if m.column == name and not m.level]
        if sheet is None or param.kind != "column" or not said or any(m.strength >= SURE or not m.rivals for m in said):
            continue
        slot, taken = slot_of(param.role), {*bound.columns(), *(m.column for m in reading.mentions)}
        able = [
            c.name
            for c in sheet.columns
            if c.name in said[0].rivals and c.name not in taken and slot.fits(c, sheet) >= ABLE
        ]
        family = any({name, *able} <= {*wide.columns} for wide in sheet.structure.wide)
        if able and not family and not any(q.param == param.name for q in bound.questions):
            word = reading.question[reading.words[said[0].first].start : reading.words[said[0].last].end]
            bound.questions.append(
                OpenQuestion(
                    id=param.name, param=param.name, choices=[name, *able], proposed=name, blocking=True,
                    text=f"Which column is meant by {word!r}?", why=f"{', '.join([name, *able])} may be called so.",
                )
            )  # fmt: skip


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
