"""Says what a plan is going to do: for each goal the part that each column, level and row plays, and what else it could be.

Everything is read from the plan as it stands, so what is said is true after a change by hand, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from engine.domain.brief import REFERENCE, BriefPart, GoalBrief
from engine.domain.plan import DATA_PREFIX, OpenQuestion, TaskDag, TaskNode, listed, texts_of
from engine.domain.profile import ColumnProfile, Profile
from engine.domain.toolspec import ParamSpec, ToolSpec
from engine.planning.binding.slots import slot_of
from engine.planning.formulas.views import with_spans, with_subjects
from engine.planning.tables.sheets import Data, Sheet
from engine.planning.telling.groups import (
    GROUPED,
    NAMED,
    Groups,
    compared_levels,
    factors_of,
    groups_of,
    in_words,
    named_groups,
    natural,
    usual_reference,
)
from engine.planning.telling.methods import method_told, told_by_methods
from engine.planning.telling.rows_used import Used, changes_before, columns_of, rows_used
from engine.toolbox.analyses import Analysis
from engine.toolbox.registry import ToolRegistry

_MEASURED = frozenset({"measure", "outcome", "response", "count", "y", "category"})
_COMPARED = ("group", "condition")
_TOLD_OTHERWISE = ("rows", "formula", "references")
_HAPPENS = ("event", "event_if_binary")
_LABELS = {
    **dict.fromkeys(_MEASURED, "Outcome"),
    **dict.fromkeys(("group", "group_optional", "condition", "factors"), "Groups"),
    **dict.fromkeys(("held", "stratum"), "Adjusted for"),
    **dict.fromkeys(("predictors", "covariates"), "Explained by"),
    **dict.fromkeys(("subject", "pair", "cluster"), "Rows belong together by"),
    "time": "Time", "event": "Event", "start": "Start", "split": "Split by", "ordered": "Ordered groups", "over": "Along",
    "x": "Along", "measures": "Measured", "wide": "Occasions", "anything": "About", "part": "Number", "total": "Out of",
    "exposure": "Per", "batch": "Batch", "gene": "Gene", "interest": "Of interest", "reference": REFERENCE,
    "event_if_binary": "Event is", "positive": "Positive", "measure_a": "First", "measure_b": "Second", "rating_a": "First",
    "rating_b": "Second", "levels": "Only", "against": "Against", "period": "Periods", "panel_unit": "Units",
}  # fmt: skip
"""Role -> what it is called before a person who approves a plan; a parameter of another role goes by its own name."""
_ORDER = (
    "Outcome",
    "Time",
    "Event",
    "Event is",
    "Measured",
    "Occasions",
    "Number",
    "Out of",
    "Groups",
    "Of interest",
    "Explained by",
    REFERENCE,
)
PICKED = frozenset({"number", "integer", "choice", "boolean"})
"""Kinds of settings that can be chosen without knowing the data."""
CANDIDATES = 40


def briefs(
    plan: TaskDag, profiles: Sequence[Profile], registry: ToolRegistry, analyses: Mapping[str, Analysis]
) -> list[GoalBrief]:
    """Return what a plan answers, one item for each goal in the order of the question."""
    data = with_spans(with_subjects(Data.of(list(profiles))))
    told: list[GoalBrief] = []
    for key, node in goals_of(plan, registry, analyses):
        spec = registry.get(node.tool)
        role_of = {param.role: param.name for param in spec.params}
        unmet = [role for role in _needs(key, analyses) if role in role_of and not node.params.get(role_of[role])]
        title = analyses[key].name if key in analyses and not unmet else spec.title
        told.append(_StepReader(plan, node, spec, registry, data).brief(key, title))
    return told


def goals_of(plan: TaskDag, registry: ToolRegistry, analyses: Mapping[str, Analysis]) -> list[tuple[str, TaskNode]]:
    """Return the steps that answer, each with the analysis that it answers, in the order of the question."""
    wanted = [chosen.id for chosen in plan.analysis]
    top = max((node.priority for node in plan.nodes), default=0)
    found: list[tuple[str, TaskNode]] = []
    for node in plan.nodes:
        spec = registry.get(node.tool)
        set_roles = {param.role for param in spec.params if node.params.get(param.name)}
        own = [key for key in wanted if key in spec.answers]
        # Of two analyses of one tool a step answers the one whose needs it has bound: in pairs where there are pairs.
        own.sort(key=lambda key: -len(needs) if (needs := _needs(key, analyses)) <= set_roles else len(needs))
        if own and (node.priority == top or not any(key in _answered_above(plan, registry, top) for key in own)):
            found.append((own[0], node))
    if not found:  # planned as what a person chose, by a step that is not declared for it
        return [("".join(wanted[:1]), node) for node in plan.nodes if node.priority == top]
    return sorted(found, key=lambda pair: wanted.index(pair[0]))


def _needs(key: str, analyses: Mapping[str, Analysis]) -> set[str]:
    return {*analyses[key].needs} if key in analyses else set()


def _answered_above(plan: TaskDag, registry: ToolRegistry, top: int) -> set[str]:
    """Return the analyses that the steps of the highest priority answer: others of their kind are only on the way."""
    return {key for node in plan.nodes if node.priority == top for key in registry.get(node.tool).answers}


class _StepReader:
    """Reads one step of a plan."""

    def __init__(self, plan: TaskDag, node: TaskNode, spec: ToolSpec, registry: ToolRegistry, data: Data) -> None:
        self.plan, self.node, self.spec, self.registry, self.data = plan, node, spec, registry, data
        self.params = {**{param.name: param.default for param in spec.params}, **node.params}
        self.columns = {param.name: name for param in spec.params if (name := self._one_column(param))}
        """Parameter -> the one column that it names."""
        self.tells = told_by_methods(spec)
        self.used = self._used()
        """The rows of the step, None where they are not known."""

    def brief(self, analysis: str, title: str) -> GoalBrief:
        parts = [part for param in self.spec.params if (part := self._part(param)) is not None]
        explained = any(part.label in ("Groups", "Explained by", "Along", "Ordered groups") for part in parts)
        if not explained:  # a mean or a histogram has no outcome
            happens = {p.of for p in self.spec.params if p.role in _HAPPENS}
            parts = [
                p.model_copy(update={"label": "Measured"}) if p.label == "Outcome" and p.param not in happens else p
                for p in parts
            ]
        parts += self._references()
        parts.sort(key=lambda part: _ORDER.index(part.label) if part.label in _ORDER else len(_ORDER))
        method = method_told(self.spec, self.params, self._number_of_groups, self._scale)
        if (
            any(part.label == "Groups" for part in parts)
            and method.why
            and not any(part.label in ("Adjusted for", "Explained by") for part in parts)
        ):  # what only describes or draws has no reason to tell, and adjusts for nothing
            parts.append(BriefPart(label="Adjusted for", words="nothing"))
        return GoalBrief(
            analysis=analysis, title=title[:1].upper() + title[1:], node=self.node.id, tool=self.spec.name,
            method=method.name, because=method.why, parts=[*parts, *self._rows()], why=list(self.node.reasons),
        )  # fmt: skip

    def _part(self, param: ParamSpec) -> BriefPart | None:
        value = self.params[param.name]
        settled = self.node.settled.get(param.name, "")
        label = _LABELS.get(param.role) or param.name.replace("_", " ").capitalize()
        if param.kind == "level" and label == "Event":
            label = "Event is"
        if param.kind == "level" and param.role in ("interest", "reference"):
            value = self._side(param, value)
        empty = value in (None, "", [])
        if param.kind not in ("column", "columns", "level"):
            unsaid = empty or not settled or param.role in _TOLD_OTHERWISE or param.words == []
            if unsaid or (param.name in self.tells and param.kind not in PICKED):
                return None
            told = BriefPart(label=label, words=_value(value, param.unit), by_hand=settled in ("edit", "set"))
            if param.kind not in PICKED:
                return told
            return told.model_copy(update={"node": self.node.id, "param": param.name, "value": value})
        side = param.role == "reference" and bool(param.otherwise) and param.of in self.columns
        if empty and not side and param.role != "held" and settled != "edit":
            return None
        waiting = self._waiting(param.name)
        if param.kind == "level" and any(question.blocking for question in self._waiting(param.of)):
            return None
        if any(question.blocking for question in waiting):  # what is only proposed is not said as if it were decided
            words, value = "not known yet", None
        else:
            words = self._words(param, value)
        return BriefPart(
            label=label, words=words, node=self.node.id, param=param.name, value=value, asked=bool(waiting),
            candidates=self._candidates(param), by_hand=settled in ("edit", "set"),
        )  # fmt: skip

    def _waiting(self, name: str) -> list[OpenQuestion]:
        """Return the questions about a parameter that nobody answered yet."""
        asked = [q for q in self.plan.open_questions if q.param == name and self.node.id in (q.node, *q.also)]
        return [question for question in asked if not self.plan.answers(question)]

    def _words(self, param: ParamSpec, value: Any) -> str:
        if value in (None, "", []):
            return "none chosen" if param.role == "reference" else "nothing"
        if param.kind == "level":
            return str(value) + (self._happened(param, str(value)) if param.role in _HAPPENS else "")
        names = [str(name) for name in listed(value)]
        if len(names) > 1:
            return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
        column = self._column(param, names[0])
        return names[0] if column is None else names[0] + self._about(param, column)

    def _about(self, param: ParamSpec, column: ColumnProfile) -> str:
        told = any(p.of == param.name and p.role in _HAPPENS and self.params[p.name] for p in self.spec.params)
        if param.role in GROUPED | _MEASURED | {"event"} and not told and column.levels and column.scale in NAMED:
            groups = self._groups(param, column)
            if groups is not None and groups.levels:
                return f": {in_words(groups, self._counts(column.name))}"
        named = column.unit in re.findall(r"[^\s()\[\],_]+", column.name)
        return f" in {column.unit}" if column.unit and not named else ""

    def _happened(self, param: ParamSpec, level: str) -> str:
        """Return in how many of the rows the event happened."""
        counts = self._counts(self.columns.get(param.of, ""))
        return f" ({counts.get(level, 0):,} of {sum(counts.values()):,})" if counts else ""

    # ==== groups and rows ====

    def _one_column(self, param: ParamSpec) -> str:
        names = texts_of(self.params[param.name]) if param.kind in ("column", "columns") else []
        return names[0] if len(names) == 1 else ""

    def _counts(self, column: str) -> dict[str, int] | None:
        return None if self.used is None else self.used.levels.get(column)

    def _groups(self, param: ParamSpec, column: ColumnProfile) -> Groups | None:
        return groups_of(self.spec, self.params, param, natural(column, self._counts(column.name)))

    def _number_of_groups(self, name: str) -> int | None:
        """Return of how many levels of a parameter's column are compared; None where the rows are not known."""
        param, column = self.spec.param(name), self._column_of(name)
        if param is None or column is None:
            return None
        kept = compared_levels(self.spec, self.params, name)
        if not kept and self.used is None and self._before():
            return None
        groups = self._groups(param, column)
        return len(kept) or (len(groups.levels) if groups and groups.levels else None)

    def _pair_of_groups(self) -> bool:
        return any(self._number_of_groups(p.name) == 2 for p in self.spec.params if p.role in _COMPARED)

    def _scale(self, name: str) -> str | None:
        """Return the scale of a parameter's column; whole numbers from 0 on may be counts, whatever they measure."""
        column = self._column_of(name)
        if column is None:
            return None
        counts = column.scale == "number" and column.kind == "integer" and column.minimum == 0
        return "count" if counts else column.scale

    def _column_of(self, name: str) -> ColumnProfile | None:
        param = self.spec.param(name)
        return self._column(param, self.columns.get(name, "")) if param else None

    def _side(self, param: ParamSpec, value: Any) -> Any:
        """Return the level of a side as the step will take it; empty where the other side says it all."""
        group, column = self.spec.param(param.of), self._column_of(param.of)
        groups = self._groups(group, column) if group and column else None
        if groups is None or len(groups.levels) != 2:
            return value
        whole = column is not None and len(column.levels) == 2
        return groups.reference if param.role == "reference" else "" if whole and groups.reference else value

    def _references(self) -> list[BriefPart]:
        """Return the level that the others are compared with, for each explaining column that a model takes as groups."""
        param = next((p for p in self.spec.params if p.role == "references"), None)
        explains = next((p for p in self.spec.params if p.role in ("predictors", "covariates", "factors")), None)
        sheet = self._sheet(explains) if explains else None
        if param is None or sheet is None:
            return []
        told = dict(text.split("=", 1) for text in texts_of(self.params[param.name]) if "=" in text)
        found: list[BriefPart] = []
        for name, column in factors_of(self.spec, self.params, {c.name: c for c in sheet.columns}).items():
            counts = self._counts(name)
            levels = natural(column, counts)
            usual = levels if named_groups(self.spec, self.params, column) else levels[:1]
            reference = told.get(name) or usual_reference(usual, param.otherwise)
            words = f"{name}: {in_words(Groups(levels, reference), counts)}"
            found.append(BriefPart(
                label=REFERENCE, words=words, node=self.node.id, param=param.name, value=reference, candidates=levels,
                column=name, beside=[f"{k}={v}" for k, v in told.items() if k != name], by_hand=name in told and
                self.node.settled.get(param.name) in ("edit", "set"),
            ))  # fmt: skip
        return found

    def _used(self) -> Used | None:
        """Count the rows that the step will use."""
        told = [name for name in self.spec.complete if not name.startswith("not ")]
        never = [name.removeprefix("not ") for name in self.spec.complete if name.startswith("not ")]
        able = [p for p in self.spec.params if p.kind in ("column", "columns") and self.params[p.name]]
        first = next(iter(able), None)
        sheet = self._sheet(first) if first else None
        if first is None or sheet is None or any(self.params[name] for name in never):
            return None
        changes = changes_before(self.plan, self.node, first.of, self.registry)
        named = self.columns.values()
        known = {column.name: column for column in sheet.columns}
        if changes is None or (not told and any(known[n].missing for n in named if n in known)):
            return None
        groups: dict[str, tuple[str, ...]] = {}
        for name, column in self.columns.items():
            if column in known and known[column].levels:
                groups[column] = compared_levels(self.spec, self.params, name)
        groups |= {name: () for name in factors_of(self.spec, self.params, known) if name not in groups}
        matched = self.columns.get(self.spec.matched, "")
        sides = [self.columns[p.name] for p in self.spec.params if p.name in self.columns and p.role in _COMPARED]
        compared = next((name for name in sides if name in groups), "")
        pairs = (matched, compared) if matched and compared else None
        return rows_used(sheet.profile, changes, list(columns_of(self.node, self.spec, told)), groups, pairs)

    def _rows(self) -> list[BriefPart]:
        """Return which rows are used and how many they are."""
        kept, used = self._before(), self.used
        if used is None or not self.spec.complete:
            return [BriefPart(label="Rows", words=text) for text in kept]
        number = f"{used.rows:,}"
        if used.matched is not None:
            sets = "pairs" if self._pair_of_groups() else "complete sets"
            number = f"{used.matched:,} {sets}, one for each {self.columns[self.spec.matched]}"
        left = [f"{used.lacking:,} more without a value in {' or '.join(used.lack[:4])}"] if used.lacking else []
        left += [f"{used.alone:,} more without a partner"] if used.alone else []
        number += f" ({', '.join(left)})" if left else ""
        return [BriefPart(label="Rows", words="; ".join([*kept, number]))]

    def _candidates(self, param: ParamSpec) -> list[str]:
        sheet = self._sheet(param if param.kind != "level" else self.spec.param(param.of) or param)
        if sheet is None:
            return []
        if param.kind == "level":
            column = sheet.column(str(self.node.params.get(param.of) or ""))
            return list(column.levels) if column else []
        able = [
            (slot_of(param.role).fits(column, sheet) if param.role else 1.0, column.name) for column in sheet.columns
        ]
        return [name for fit, name in sorted(able, key=lambda pair: -pair[0]) if fit > 0][:CANDIDATES]

    def _column(self, param: ParamSpec, name: str) -> ColumnProfile | None:
        sheet = self._sheet(param)
        return sheet.column(name) if sheet else None

    def _sheet(self, param: ParamSpec) -> Sheet | None:
        """Return the file whose columns a parameter names, through steps that hand data on."""
        ref = self.node.inputs.get(param.of, "")
        for _ in self.plan.nodes:
            if ref.startswith(DATA_PREFIX) or not ref:
                break
            node = self.plan.node(ref.partition(".")[0])
            ref = next(iter(self._handed(node, ref)), "") if node else ""
        name = ref.removeprefix(DATA_PREFIX)
        dataset = self.plan.dataset(name)  # one file can be two datasets of a plan: as a table, and of survival
        path = dataset.path if dataset else ""
        same = [sheet for sheet in self.data.sheets if sheet.name == name or (path and sheet.profile.path == path)]
        return same[0] if same else None

    def _handed(self, node: TaskNode, ref: str) -> list[str]:
        """Return the inputs of a step that are of the type of its output `ref`: what it hands on, the first one first."""
        spec = self.registry.get(node.tool)
        port = spec.output(ref.partition(".")[2])
        return [node.inputs[p.name] for p in spec.inputs if port and p.type == port.type and p.name in node.inputs]

    def _before(self) -> list[str]:
        """Return in words what earlier steps do to the rows that this one sees."""
        ahead, seen, found = list(self.node.upstream()), set[str](), list[str]()
        while ahead:
            node = self.plan.node(ahead.pop(0))
            if node is None or node.id in seen:
                continue
            seen.add(node.id)
            ahead += [ref.partition(".")[0] for ref in node.inputs.values() if not ref.startswith(DATA_PREFIX)]
            for param in self.registry.get(node.tool).params:
                if param.role == "rows" and node.params.get(param.name):
                    found.append(kept_rows(str(node.params[param.name])))
        return found


def kept_rows(condition: str) -> str:
    """Return a condition in words: "`sex` in ['F'] and `age` > 60" as `sex is F and age > 60`."""
    text = re.sub(r"is_missing\(`([^`]+)`\)", r"\1 is empty", condition)
    text = re.sub(r"`([^`]+)`", r"\1", text)
    text = re.sub(r" not in \[([^]]*)\]", lambda m: f" is not {_either(m[1])}", text)
    return re.sub(r" in \[([^]]*)\]", lambda m: f" is {_either(m[1])}", text)


def _either(listed: str) -> str:
    values = [value.strip().strip("'\"") for value in listed.split(",")]
    return " or ".join(values)


def _value(value: Any, unit: str) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = (
        ", ".join(map(str, listed(value)))
        if isinstance(value, list)
        else f"{value:g}"
        if isinstance(value, float)
        else str(value)
    )
    return f"{text} {unit}".strip()
