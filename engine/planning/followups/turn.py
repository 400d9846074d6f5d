"""A follow-up beside the plan that it goes on from: what its steps took, and what the words say of rows, settings and columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from engine.domain.plan import TaskDag, TaskNode, texts_of
from engine.domain.toolspec import ParamSpec, ToolSpec
from engine.planning.choosing.score import Candidate
from engine.planning.followups.words import short
from engine.planning.naming.mention import NO, YES
from engine.planning.reading.contrast import control_level
from engine.planning.reading.reading import Contrast, Reading, Restriction
from engine.planning.tables.sheets import Data, is_group
from engine.text.numbers import as_number

OUTCOMES = ("outcome", "measure", "y", "count")
"""Roles of the columns that a step explains."""
HELD = ("held", "covariates", "predictors", "strata")
"""Roles of the columns that a step can hold constant."""
EXPLAINS = (*HELD, "factors")
"""Roles of the columns that a step explains by: one value of them explains nothing."""
GROUPS = ("group", "group_optional", "condition", "split")
"""Roles of the columns whose levels a step compares or shows beside each other."""
Judge = Callable[[str], tuple[Sequence[Candidate], Reading]]
Kept = dict[str, dict[str, Any]]
"""Tool -> parameter -> value: the columns, levels and references of the steps before."""


def answering(plan: TaskDag, specs: Mapping[str, ToolSpec]) -> list[TaskNode]:
    """Return the steps of a plan that answer its question."""
    asked = {chosen.id for chosen in plan.analysis}
    return [node for node in plan.nodes if (spec := specs.get(node.tool)) and asked & {*spec.answers}]


def columns_of(roles: Sequence[str], nodes: Iterable[TaskNode], specs: Mapping[str, ToolSpec]) -> list[str]:
    """Return the columns that steps take in some roles."""
    return [
        column
        for node in nodes
        if node.tool in specs
        for param in specs[node.tool].params
        if param.kind in ("column", "columns") and param.role in roles
        for column in texts_of(node.params.get(param.name))
    ]


def outcomes(plan: TaskDag, specs: Mapping[str, ToolSpec], roles: Sequence[str] = OUTCOMES) -> list[str]:
    """Return the columns that the steps answering a plan's question explain."""
    return columns_of(roles, answering(plan, specs), specs)


class ComparedPair(NamedTuple):
    """What a step compares with what: `interest` is empty where all groups are compared."""

    tool: str
    column: str
    interest: str
    reference: str
    params: tuple[str, str]
    """The parameters that hold them; ("", NAME) for a list of references, `column=level` each."""
    levels: list[str]


@dataclass(frozen=True, slots=True)
class Turn:
    """A follow-up, read, and the plan before it."""

    question: str
    own: Reading
    fresh: Reading
    """The same, without what other tools would take its words for."""
    base: Reading
    """The reading of the question before."""
    before: TaskDag
    data: Data
    specs: Mapping[str, ToolSpec]
    judge: Judge
    """Returns what a text may ask for by itself, likeliest first, and its reading."""

    @property
    def asked(self) -> set[str]:
        """The analyses that the plan before answers; one of each level is one analysis."""
        return {chosen.id for chosen in self.before.analysis}

    @property
    def last(self) -> str:
        """The analysis before, where it is one."""
        return next(iter(self.asked)) if len(self.asked) == 1 else ""

    @property
    def kept(self) -> str:
        """The question before in quotes."""
        return short(self.before.question)

    def answering(self) -> list[TaskNode]:
        """Return the steps that answer the question before."""
        return answering(self.before, self.specs)

    def outcomes(self, roles: Sequence[str] = OUTCOMES) -> list[str]:
        """Return the columns that the steps answering the question before explain."""
        return outcomes(self.before, self.specs, roles)

    def held(self) -> list[str]:
        """Return the columns that the plan before holds constant beside what its question compares."""
        compared = {contrast.column for contrast in self.base.contrasts}
        names = dict.fromkeys(columns_of(HELD, self.before.nodes, self.specs))
        return [name for name in names if self.base.is_a(name, "adjust") and name not in compared]

    def rows(self) -> list[Restriction]:
        """Return the rows that the plan before keeps or leaves out by a step of its own."""
        texts = self._texts()
        return [row for row in self.base.restrictions if f"`{row.column}`" in texts]

    def rows_of_groups(self) -> list[Restriction]:
        """Return the rows of the groups that the plan before compares, where its column has more: they are kept by another analysis, too."""
        column, levels = self.compared()
        own = self.data.column(column)
        known = {row.column for row in [*self.rows(), *self.own.restrictions]}
        if column in known or own is None or not 0 < len(levels) < len(own.levels):
            return []
        return [Restriction(column, "in", tuple(levels), 0, -1, sure=True)]

    def compared(self) -> tuple[str, list[str]]:
        """Return the column whose groups the plan before compares, and those of its levels that it compares; ("", []) without one."""
        pair, texts = self.pair(), self._texts()
        nodes = self.answering()
        free = columns_of(EXPLAINS, nodes, self.specs)
        names = [pair.column] if pair is not None else columns_of(GROUPS, nodes, self.specs)
        names += [name for name in free if not self.base.is_a(name, "adjust")]
        name = next((name for name in names if self._levels(name)), "")
        for row in self.base.restrictions:
            if row.column == name and row.op == "in" and f"`{name}`" in texts:
                return name, list(row.values)
        for contrast in self.base.contrasts:
            if contrast.column == name and contrast.explicit and (f"`{name}`" in texts or pair is not None):
                return name, list(contrast.levels)
        return name, (pair.levels if pair is not None and pair.column == name else []) or self._levels(name)

    def _texts(self) -> str:
        return " ".join(v for node in self.before.nodes for v in node.params.values() if isinstance(v, str))

    def restricted(self) -> dict[str, bool]:
        """Return column of which the question before names values -> whether a step keeps or leaves out rows by it.

        Without the compared column, whose groups are the comparison's, and those of which the follow-up names rows.
        """
        pair, texts = self.pair(), self._texts()
        own = {pair.column if pair is not None else "", *(row.column for row in self.own.restrictions)}
        return {
            name: f"`{name}`" in texts
            for name in dict.fromkeys(m.column for m in self.base.mentions)
            if name not in own
        }

    def is_held(self, name: str) -> bool:
        """Say whether the plan before holds a column constant."""
        return name in columns_of(HELD, self.before.nodes, self.specs) or self.base.is_a(name, "adjust")

    def taken(self, rows: Sequence[Restriction] = ()) -> tuple[Kept, list[str]]:
        """Return what the answering steps took, to be taken again, and the columns that `rows` leave one value of.

        Levels of a column that the rows are about are left to be found anew; a column that explains and of which one
        value is left is taken out, where another stays. What steps of one tool took differently is not taken.
        """
        found: dict[str, list[dict[str, Any]]] = {}
        about = {row.column for row in rows}
        single = [name for name in about if len(self._left(name, rows)) == 1]
        gone: set[str] = set()
        for node in self.answering():
            own: dict[str, Any] = {}
            for param in self.specs[node.tool].params:
                value = node.params.get(param.name)
                if value in (None, "", []) or not _names_data(param) or node.params.get(param.of) in about:
                    continue
                if param.kind == "columns" and param.role in EXPLAINS:
                    rest = [name for name in texts_of(value) if name not in single]
                    gone |= {*texts_of(value)} - {*rest} if rest else set()
                    value = rest or value
                if param.role == "references":
                    value = [item for item in texts_of(value) if item.partition("=")[0] not in about]
                if value:
                    own[param.name] = value
            found.setdefault(node.tool, []).append(own)
        alike = {tool: each[0] for tool, each in found.items() if all(other == each[0] for other in each)}
        return alike, sorted(gone)

    def _left(self, name: str, rows: Sequence[Restriction]) -> list[str]:
        column = self.data.column(name)
        own = [row for row in rows if row.column == name]
        return [v for v in (column.levels if column else ()) if all(row.holds(v) for row in own)]

    def pair(self) -> ComparedPair | None:
        """Return what the first answering step compares with what."""
        for node in self.answering():
            params = self.specs[node.tool].params
            low = next((p for p in params if p.kind == "level" and p.role == "reference"), None)
            high = next(
                (p for p in params if p.kind == "level" and p.role == "interest" and low and p.of == low.of), None
            )
            if low is not None and high is not None and (name := str(node.params.get(low.of) or "")):
                list_ = next((p.name for p in params if p.role == "levels" and p.of == low.of), "")
                levels = texts_of(node.params.get(list_)) or self._levels(name)
                ends = str(node.params.get(high.name) or ""), str(node.params.get(low.name) or "")
                return ComparedPair(node.tool, name, *_both(*ends, levels), (high.name, low.name), levels)
            several = next((p for p in params if p.role == "references"), None)
            if several is not None and (found := self._of_model(node, several)) is not None:
                return found
        return None

    def _of_model(self, node: TaskNode, param: ParamSpec) -> ComparedPair | None:
        told = {item.partition("=")[0]: item.partition("=")[2] for item in texts_of(node.params.get(param.name))}
        names = [n for n in columns_of(EXPLAINS, [node], self.specs) if len(self._levels(n)) > 1]
        first = [*(n for n in names if n in self.own.columns()), *(n for n in names if n in told), *names]
        if not first:
            return None
        levels = self._levels(first[0])
        return ComparedPair(node.tool, first[0], *_both("", told.get(first[0], ""), levels), ("", param.name), levels)

    def _levels(self, name: str) -> list[str]:
        column = self.data.column(name)
        return (column.order or sorted(column.levels)) if column is not None and is_group(column) else []


def _both(interest: str, reference: str, levels: Sequence[str]) -> tuple[str, str]:
    """Return both ends of a comparison of two levels, where a step finds one or both by itself."""
    if len(levels) == 2:
        reference = reference or (
            next(v for v in levels if v != interest) if interest else control_level(levels) or levels[0]
        )
        interest = interest or next(v for v in levels if v != reference)
    return interest, reference


def _names_data(param: ParamSpec) -> bool:
    return param.kind in ("column", "columns") or param.role in ("interest", "reference", "references", "levels")


def told(
    specs: Mapping[str, ToolSpec], against: Sequence[Contrast], rows: Sequence[Restriction], settings: Mapping[tuple[str, str], Any],
    held: list[str], free: list[str],
) -> str:  # fmt: skip
    """Return what is new, in words."""
    lines = [_rows(row) for row in rows]
    steps: dict[str, list[str]] = {}
    for (tool, name), value in settings.items():
        steps.setdefault(f"{name} = {_said(value)}", []).append(specs[tool].title)
    lines += [f"{text} ({', '.join(names)})" for text, names in steps.items()]
    lines += [f"{' against '.join(c.levels)} ({c.column})" for c in against]
    lines += [f"held constant: {column}" for column in held]
    lines += [f"no longer held constant: {column}" for column in free]
    return "; ".join(lines)


def _said(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else ", ".join(texts_of(value))


def _rows(row: Restriction) -> str:
    values = ", ".join(row.values)
    if row.op in ("in", "not in"):
        return f"{'only' if row.op == 'in' else 'without'} {row.column} = {values}"
    return f"only {row.column} {' to '.join(row.values) if row.op == 'between' else f'{row.op} {values}'}"


def in_words(row: Restriction) -> str:
    """Return rows as the reader understands them surely."""
    values = " and ".join(row.values)
    if row.op in ("in", "not in"):
        return f"{'only' if row.op == 'in' else 'without'} {row.column} {values}"
    if row.op == "between":
        return f"only {row.column} >= {row.values[0]}, only {row.column} <= {row.values[1]}"
    return f"only {row.column} {row.op} {values}"


def rows_in_own_words(turn: Turn, row: Restriction) -> str:
    """Return rows in the words of the follow-up where these are names, so that they are read surely: `only men`."""
    own, data = turn.own, turn.data
    words = own.question[own.words[row.first].start : own.words[row.last].end]
    polar = {value.strip().lower() for value in row.values} <= YES | NO  # `only without oedema` says it twice
    named = {m.level for m in own.mentions if m.column == row.column and row.first <= m.first <= row.last}
    if row.op not in ("in", "not in") or not own.mentions or polar or not {*row.values} <= {*named}:
        return in_words(row)  # `stage 3 or higher` names one of two
    sign = "only" if row.op == "in" else "without"
    several = sum({*row.values} <= {*column.levels} for column in data.columns()) > 1  # `yes` alone says nothing
    plain = words.replace(" ", "").isalpha() and not several
    unit = any(m.column == row.column and as_number(m.level) is not None and m.width > 1 for m in own.mentions)
    said = " and ".join(row.values) if several or unit else words  # the name of the column says the unit of `48 h`
    short = re.sub(r"\s*\([^()]*=[^()]*\)$", "", row.column)  # `sex (1=m,2=w)`: what codes mean is read for rows of it
    name = short if sum(c.name.startswith(short) for c in data.columns()) == 1 else row.column
    return f"{sign} {words}" if plain else f"{sign} {name} {said}"
