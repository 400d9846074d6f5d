"""Gives the columns, levels and numbers of a question to the parameters of a tool, all at once and with a score.

Every assignment of the named columns to the column parameters is weighed: how well a column fits the part, whether grammar
speaks for or against it, what stays without a column and what is named and used by nothing. What no word names is taken from
the structure of the data where that offers it; the rest becomes a question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.domain.datatypes import TABULAR, DataType
from engine.domain.plan import OpenQuestion
from engine.domain.profile import ColumnProfile
from engine.domain.toolspec import ParamSpec, ToolSpec
from engine.planning.contrast import compared, control_level, event_level
from engine.planning.reading import Reading, Restriction
from engine.planning.samples import sample_sheet
from engine.planning.settings import settings_said
from engine.planning.sheets import Data, Sheet
from engine.planning.slots import slot_of

MISSING = 2.0
"""What a required column costs that is not there."""
UNUSED = 0.9
"""What a named column costs that nothing takes, times its strength."""
_MOST = 7
"""At most so many named columns are weighed one by one."""


@dataclass(slots=True)
class Bound:
    """A tool with its parameters as far as words and data settle them."""

    spec: ToolSpec
    sheets: dict[str, Sheet] = field(default_factory=dict)
    """Input -> file, for inputs that a file serves."""
    params: dict[str, Any] = field(default_factory=dict)
    score: float = 0.0
    missing: list[ParamSpec] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)
    """Columns that are named and that nothing takes."""
    guessed: list[str] = field(default_factory=list)
    """Parameters that data filled and no word named."""
    rows: list[Restriction] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    questions: list[OpenQuestion] = field(default_factory=list)

    @property
    def sheet(self) -> Sheet | None:
        """The file whose columns the parameters are."""
        of = next((p.of for p in self.spec.params if p.kind in ("column", "columns") and p.of in self.sheets), "")
        return self.sheets.get(of) or next(iter(self.sheets.values()), None)

    def columns(self) -> list[str]:
        """Return the columns that the parameters name."""
        named = [self.params.get(p.name) for p in self.spec.params if p.kind in ("column", "columns")]
        return [c for value in named for c in (value if isinstance(value, list) else [value]) if c]

    def of_role(self, *roles: str) -> list[str]:
        """Return the columns bound to parameters of these roles."""
        named = [self.params.get(p.name) for p in self.spec.params if p.kind in ("column", "columns") and p.role in roles]
        return [c for value in named for c in (value if isinstance(value, list) else [value]) if c]


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
    bound = Bound(spec)
    for port in spec.inputs:
        able = data.serving(port.type)
        if not able and port.type is DataType.SAMPLE_SHEET:
            able = [sheet for sheet in [sample_sheet(data)] if sheet is not None]
        if able:
            named = reading.columns()
            bound.sheets[port.name] = max(able, key=lambda s: sum(s.column(c) is not None for c in named)) if port.type in TABULAR else able[0]
    _columns(bound, reading, given or {}, needs)
    if any(p.role in ("rows", "formula") for p in spec.params):  # what is named goes into its condition or formula
        bound.score = 0.8 * len({r.column for r in reading.restrictions} | set(reading.columns()) & set(reading.levels_named()))
        bound.score += 0.4 * len(set(reading.named()) - {r.column for r in reading.restrictions})
        bound.unused.clear()
    _levels(bound, reading, given or {})
    _rows(bound, reading)
    bound.params |= settings_said(spec, reading, bound.params)
    bound.params |= {key: value for key, value in (given or {}).items() if spec.param(key)}
    return bound


def _variants(params: Sequence[ParamSpec]) -> list[list[ParamSpec]]:
    """Return the sets of parameters that are bound together: one form of the data each (long, wide, counted)."""
    stands = [param for param in params if param.instead_of]
    if not stands:
        return [list(params)]
    replaced = {name for param in stands for name in param.instead_of}
    return [[p for p in params if p not in stands], [p for p in params if p.name not in replaced]]


def _columns(bound: Bound, reading: Reading, given: Mapping[str, Any], needs: Sequence[str]) -> None:
    params = [p for p in bound.spec.params if p.kind in ("column", "columns") and p.name not in given]
    sheet = bound.sheet
    if sheet is None:
        bound.missing += [p for p in params if p.required]
        bound.score -= MISSING * len(bound.missing)
        return
    best: _Search | None = None
    for variant in _variants(params):
        search = _Search(variant, sheet, reading, taken=set(_flat(given.values())))
        search.needed |= {p.name for p in variant if p.role in needs}
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
        elif param.required or param.name in best.needed:
            bound.missing.append(param)
    bound.score += best.best
    bound.unused += [c for c in best.free if c not in set(_flat(best.chosen.values()))]


def _two_states(sheet: Sheet, name: str) -> bool:
    column = sheet.column(name)
    return column is not None and column.scale == "binary"


def _flat(values: Any) -> list[str]:
    return [item for value in values for item in (value if isinstance(value, list) else [value]) if isinstance(item, str)]


class _Search:
    """Depth first over the assignments of named columns to parameters."""

    def __init__(self, params: Sequence[ParamSpec], sheet: Sheet, reading: Reading, *, taken: set[str]) -> None:
        self.params, self.sheet, self.reading = list(params), sheet, reading
        self.needed = {p.name for p in params if p.required or p.needed}
        sure = {r.column for r in reading.restrictions if r.sure}
        contrasted = {c.column for c in reading.contrasts}
        named = [c for c in reading.columns() if sheet.column(c) and c not in taken]
        maybe = {r.column for r in reading.restrictions if r.op == "in" and len(r.values) == 1 and not _two_states(sheet, r.column)}
        numeric = {r.column for r in reading.restrictions if r.op not in ("in", "not in")}
        once = {c for c in numeric if sum(m.column == c for m in reading.mentions) <= 1}
        loose = ((sure | maybe) - set(reading.named()) | once) - contrasted
        self.free = [c for c in named if c not in loose][:_MOST]
        self.singles = sorted((p for p in params if p.kind == "column" and p.role), key=lambda p: (p.name not in self.needed,))
        self.many = [p for p in params if p.kind == "columns" and p.role and p.role != "strata"]
        self.best = float("-inf")
        self.chosen: dict[str, Any] = {}
        self.guessed: set[str] = set()
        self._gains: dict[tuple[str, str], float] = {}

    def run(self) -> None:
        """Find the best assignment."""
        self._next(0, {}, set(), 0.0)

    def _gain(self, param: ParamSpec, name: str) -> float:
        """Return what a named column adds in a parameter; below zero when it does not fit."""
        key = (param.name, name)
        if key not in self._gains:
            self._gains[key] = self._weigh(param, name)
        return self._gains[key]

    def _weigh(self, param: ParamSpec, name: str) -> float:
        slot, column = slot_of(param.role), self.sheet.column(name)
        fits = slot.fits(column, self.sheet) if column else 0.0
        if fits <= 0:
            return -1.0
        reading = self.reading
        strength = reading.strength(name)
        grammar = 0.45 * reading.is_a(name, *slot.wants) - 0.45 * reading.is_a(name, *slot.shuns)
        contrasted = any(c.column == name for c in reading.contrasts)
        natural = slot.natural(self.sheet) if slot.natural else []
        if natural and name not in natural and fits < 0.8:
            return -1.0  # what the structure of the data offers is surer than a word
        if contrasted and param.role in ("group", "condition", "ordered", "covariates", "predictors", "factors"):
            grammar += 0.5
        if not contrasted and name in reading.restricted() and name not in reading.named():
            grammar -= 0.8
        if name not in reading.named() and not contrasted and param.role in ("split", "group_optional", "label", "factors"):
            return -1.0  # one level named restricts the rows, it does not compare
        if param.role == "pair" and param.name not in self.needed and not (reading.paired or reading.is_a(name, "subject")):
            return -1.0  # rows are paired where somebody says so
        one = reading.levels(name)
        if not contrasted and len(one) == 1 and not control_level(one) and param.role in ("outcome", "response", "event", "category"):
            grammar += 0.3  # the state whose share or odds are asked for
        if name not in reading.named() and not contrasted and param.role in ("group", "predictors", "covariates"):
            grammar -= 0.25
        earlier = next((m.first for m in reading.mentions if m.column == name), 0)
        return fits * (strength + grammar) - 0.002 * earlier

    def _next(self, at: int, chosen: dict[str, Any], used: set[str], total: float) -> None:
        if at == len(self.singles):
            self._finish(dict(chosen), set(used), total)
            return
        param = self.singles[at]
        needed = param.name in self.needed
        for name in self.free:
            if name in used:
                continue
            gain = self._gain(param, name)
            if gain > 0:
                chosen[param.name] = name
                used.add(name)
                self._next(at + 1, chosen, used, total + gain * (1.0 if needed else 0.75))
                used.discard(name)
                del chosen[param.name]
        natural = self._natural(param, used) if needed else ""
        if natural:
            chosen[f"{param.name}*"] = natural
            used.add(natural)
            self._next(at + 1, chosen, used, total + 0.35)
            used.discard(natural)
            del chosen[f"{param.name}*"]
        else:
            self._next(at + 1, chosen, used, total - (MISSING if needed else 0.0))

    def _natural(self, param: ParamSpec, used: set[str]) -> str:
        """Return the column that the data offer for a parameter that no word fills, or ""."""
        slot = slot_of(param.role)
        offered = [n for n in (slot.natural(self.sheet) if slot.natural else []) if n not in used and self.sheet.column(n)]
        if offered:
            return offered[0]
        if not slot.only:
            return ""
        able = [c.name for c in self.sheet.columns if slot.fits(c, self.sheet) >= 0.65 and c.name not in used]
        return able[0] if len(able) == 1 else ""

    def _finish(self, chosen: dict[str, Any], used: set[str], total: float) -> None:
        for param in self.many:
            slot = slot_of(param.role)
            gains = {name: self._gain(param, name) for name in self.free if name not in used}
            picked = [name for name, gain in gains.items() if gain > 0.12]
            if param.most:
                picked = sorted(picked, key=lambda n: -gains[n])[: param.most]
                picked = [name for name in gains if name in picked]
            guessed = False
            if slot.natural is not None and (family := slot.natural(self.sheet)) and (set(picked) & set(family) or param.name in self.needed):
                picked, guessed = list(family), not set(picked) & set(family)
            if self.reading.every and not picked and param.role in ("predictors", "covariates", "measures", "anything"):
                picked, guessed = self._all(slot, used), True
            if len(picked) >= max(1, param.least):
                chosen[param.name + ("*" if guessed else "")] = picked
                used |= set(picked)
                total += sum(0.8 * max(0.12, gains.get(name, 0.15)) for name in picked[:4])
            elif param.name in self.needed:
                total -= MISSING
        total -= sum(UNUSED * self._weight(n) for n in self.free if n not in used and self._counts(n))
        if total > self.best:
            self.best = total
            self.chosen = {key.rstrip("*"): value for key, value in chosen.items()}
            self.guessed = {key.rstrip("*") for key in chosen if key.endswith("*")}

    def _weight(self, name: str) -> float:
        """Return how much a named column counts that nothing takes: a vague match hardly."""
        return max(0.0, self.reading.strength(name) - 0.45) / 0.55

    def _counts(self, name: str) -> bool:
        """Say whether a named column that nothing takes speaks against the assignment."""
        return name in self.reading.named() or any(c.column == name for c in self.reading.contrasts)

    def _all(self, slot: Any, used: set[str]) -> list[str]:
        able = [c.name for c in self.sheet.columns if c.name not in used and c.distinct > 1]
        return [name for name in able if slot.fits(self.sheet.column(name), self.sheet) >= 0.6][:30]


def _levels(bound: Bound, reading: Reading, given: Mapping[str, Any]) -> None:
    """Fill the parameters that name levels: what is of interest, the reference, the event, those to keep."""
    sheet = bound.sheet
    for param in bound.spec.params:
        if param.kind != "level" or param.name in given or sheet is None:
            continue
        column = sheet.column(str(bound.params.get(param.of) or given.get(param.of) or ""))
        if column is None or not column.levels:
            continue
        if param.role == "event":
            value, asked = event_level(reading, column, sheet.structure.survival.get("event_value", ""))
            bound.params[param.name] = value
            bound.questions += [q.model_copy(update={"param": param.name}) for q in asked]
        elif param.role == "interest":
            _pair(bound, reading, column, param, levels=list(column.levels))


def _pair(bound: Bound, reading: Reading, column: ColumnProfile, param: ParamSpec, *, levels: list[str]) -> None:
    reference = next((p for p in bound.spec.params if p.kind == "level" and p.role == "reference" and p.of == param.of), None)
    named = [level for level in reading.levels(column.name) if level in levels]
    if not param.required and len(levels) > 2 and len(named) != 2:
        return  # all groups are compared
    result = compared(reading, column, levels)
    if not param.required and result.asked and len(named) < 2:
        return
    bound.params[param.name] = result.treated
    bound.reasons.append(result.reason)
    if reference is not None:
        bound.params[reference.name] = result.control
        update = {"treated": param.name, "control": reference.name}
        bound.questions += [q.model_copy(update={"param": update[q.param], "required": param.required}) for q in result.asked]


def _rows(bound: Bound, reading: Reading) -> None:
    """Decide which rows the step is about: surely restricted ones, and levels named of columns that nothing else takes."""
    taken = set(bound.columns())
    sheet = bound.sheet
    for item in reading.restrictions:
        if item.sure and not (item.op == "in" and _is_outcome(bound, item.column)):
            bound.rows.append(item)
        elif item.column not in taken and item.op == "in":
            bound.rows.append(item)
    have = {item.column for item in bound.rows}
    for name in dict.fromkeys(m.column for m in reading.mentions if m.level):
        column = sheet.column(name) if sheet else None
        if column is None or name in have:
            continue
        mentions = [m for m in reading.mentions if m.column == name and m.level]
        levels = tuple(dict.fromkeys(m.level for m in mentions))
        numeric = column.kind in ("integer", "number") and name in bound.of_role("predictors")
        partial = 1 < len(levels) < len(column.levels) and (numeric or name in bound.of_role("group", "condition", "factors", "ordered", "split", "category", "group_optional"))
        kept_by_tool = any(p.kind == "level" and bound.params.get(p.name) in levels for p in bound.spec.params)
        kept_by_tool = kept_by_tool or any(p.role == "levels" for p in bound.spec.params)
        if (name not in taken and max(m.strength for m in mentions) >= 0.75) or (partial and not kept_by_tool):
            bound.rows.append(Restriction(name, "in", levels, mentions[0].first, mentions[-1].last, sure=False))
    for param in bound.spec.params:
        if param.role == "levels" and sheet is not None:
            own = sheet.column(str(bound.params.get(param.of) or ""))
            named = [level for level in reading.levels(own.name) if level in own.levels] if own else []
            if len(named) >= 2:
                bound.params[param.name] = named


def _is_outcome(bound: Bound, column: str) -> bool:
    return column in bound.of_role("outcome", "event")


def condition(rows: Sequence[Restriction], data: Data) -> str:
    """Return rows to keep as the condition that a step for it takes: "`sex` in ['F'] and `age` > 60"."""
    parts = []
    for item in rows:
        column = data.column(item.column)
        numeric = column is not None and column.kind in ("integer", "number")
        values = [value if numeric else repr(value) for value in item.values]
        name = f"`{item.column}`"
        if item.op in ("in", "not in"):
            parts.append(f"{name} {item.op} [{', '.join(values)}]")
        elif item.op == "between":
            parts.append(f"{name} >= {values[0]} and {name} <= {values[1]}")
        else:
            parts.append(f"{name} {item.op} {values[0]}")
    return " and ".join(parts)


def takes_rows(kind: DataType) -> bool:
    """Say whether data of a type can be cut down to some of its rows by a step."""
    return kind in (DataType.TABLE, DataType.SURVIVAL_TABLE)
