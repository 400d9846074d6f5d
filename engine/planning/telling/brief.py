"""Says what a plan is going to do: for each goal the part that each column, level and row plays, and what else it could be.

Everything is read from the plan as it stands, so what is said is true after a change by hand, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from engine.domain.brief import NO_REFERENCE, REFERENCE, BriefPart, GoalBrief
from engine.domain.plan import DATA_PREFIX, OpenQuestion, TaskDag, TaskNode, listed, texts_of
from engine.domain.profile import ColumnProfile, Profile
from engine.domain.toolspec import Method, ParamSpec, ToolSpec
from engine.planning.binding.slots import slot_of
from engine.planning.formulas.views import with_spans, with_subjects
from engine.planning.tables.sheets import Data, Sheet
from engine.planning.telling.counted import number_said, rows_of
from engine.planning.telling.goals import goals_of, needs_of
from engine.planning.telling.groups import (
    COMPARED,
    GROUPED,
    NAMED,
    Groups,
    compared_levels,
    factors_of,
    groups_of,
    named_groups,
    natural,
    sides_in_words,
    usual_reference,
)
from engine.planning.telling.kept import kept_before
from engine.planning.telling.methods import method_told, told_by_methods
from engine.planning.telling.others import others_of
from engine.planning.telling.rows_used import as_read
from engine.planning.telling.said import PICKED, choices_called, setting_said
from engine.planning.telling.sources import cells_of, file_of
from engine.text.codes import Meanings, in_words, meanings, without_key
from engine.toolbox.analyses import Analysis
from engine.toolbox.registry import ToolRegistry

_MEASURED = frozenset({"measure", "outcome", "response", "count", "y", "category"})
_TOLD_OTHERWISE = ("rows", "formula", "references", "base")
_HAPPENS = ("event", "event_if_binary")
_LABELS = {
    "values_told": "Expected at",
    **dict.fromkeys(_MEASURED, "Outcome"),
    **dict.fromkeys(("group", "group_optional", "condition", "factors"), "Groups"),
    **dict.fromkeys(("held", "stratum"), "Adjusted for"),
    **dict.fromkeys(("predictors", "covariates"), "Explained by"),
    **dict.fromkeys(("subject", "pair", "cluster"), "Rows belong together by"),
    "time": "Time", "event": "Event", "start": "Start", "split": "Split by", "ordered": "Ordered groups",
    **dict.fromkeys(("over", "dose"), "Along"),
    "x": "Along", "measures": "Measured", "wide": "Occasions", "anything": "About", "verdict": "About", "part": "Number", "total": "Out of",
    "exposure": "Per", "batch": "Batch", "gene": "Gene", "interest": "Of interest", "reference": REFERENCE,
    "event_if_binary": "Event is", "positive": "Positive", "measure_a": "First", "measure_b": "Second", "rating_a": "First",
    "rating_b": "Second", "levels": "Only", "against": "Against", "period": "Periods", "panel_unit": "Units",
}  # fmt: skip
"""Role -> what it is called before a person who approves a plan; a parameter of another role goes by its own name."""
_ORDER = ("Outcome", "Time", "Event", "Event is", "Measured", "Occasions", "Number", "Out of", "Groups", "Of interest",
          "Explained by", REFERENCE)  # fmt: skip
CANDIDATES = 40


def briefs(
    plan: TaskDag, profiles: Sequence[Profile], registry: ToolRegistry, analyses: Mapping[str, Analysis]
) -> list[GoalBrief]:
    """Return what a plan answers, one item for each goal in the order of the question."""
    data = with_spans(with_subjects(Data.of(as_read(profiles, plan.datasets))))
    known = {name: told for sheet in data.sheets for name, told in meanings(sheet.columns, plan.question).items()}
    goals, told = goals_of(plan, registry, analyses), list[GoalBrief]()
    for key, node in goals:
        spec = registry.get(node.tool)
        role_of = {param.role: param.name for param in spec.params}
        unmet = [role for role in needs_of(key, analyses) if role in role_of and not node.params.get(role_of[role])]
        title = analyses[key].name if key in analyses and not unmet else spec.title
        reader = _StepReader(plan, node, spec, registry, data, known)
        goal = reader.brief(key, title)
        if len(goals) == 1 and key in analyses:  # as another analysis, a question of several would lose the others
            sheet = next((sheet for p in spec.params if p.kind == "column" and (sheet := reader.sheet(p))), None)
            others = others_of(analyses[key], node, spec, sheet, registry, analyses)
            goal = goal.model_copy(update={"others": others})
        told.append(_with_adjusting(goal, reader))
    return told


def _with_adjusting(goal: GoalBrief, reader: _StepReader) -> GoalBrief:
    """Return a goal that adjusts for nothing with the columns that another analysis could adjust it for."""
    able = next((other for other in goal.others if other.adjusting), None)
    spec = reader.registry.get(able.tool) if able else None
    param = spec.param(able.adjusting) if able and spec else None
    if able is None or param is None:
        return goal
    taken = {name for value in able.params.values() for name in texts_of(value)}
    names = [name for name in reader.able(param) if name not in taken]
    parts = [
        part.model_copy(update={"candidates": names}) if part.label == "Adjusted for" and not part.param else part
        for part in goal.parts
    ]
    return goal.model_copy(update={"parts": parts})


class _StepReader:
    """Reads one step of a plan."""

    def __init__(
        self, plan: TaskDag, node: TaskNode, spec: ToolSpec, registry: ToolRegistry, data: Data, known: Meanings
    ) -> None:
        self.plan, self.node, self.spec, self.registry, self.data, self.known = plan, node, spec, registry, data, known
        self.params = {**{param.name: param.default for param in spec.params}, **node.params}
        self.columns = {param.name: name for param in spec.params if (name := self._one_column(param))}
        """Parameter -> the one column that it names."""
        self.tells = told_by_methods(spec)
        self.decider = next((p for p in spec.params if p.kind == "choice" and p.name in self.tells), None)
        """The setting that its test or model is chosen by."""
        self.used = rows_of(plan, node, spec, registry, self.params, self.columns, self.sheet)
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
        labels = {part.label for part in parts}
        parts += [part for part in self.decided_before() if part.label not in labels]
        parts.sort(key=lambda part: _ORDER.index(part.label) if part.label in _ORDER else len(_ORDER))
        method = self._method({})
        labels = {part.label for part in parts}
        # What only describes or draws has no reason to tell, and adjusts for nothing.
        if method.why and "Groups" in labels and labels.isdisjoint(("Adjusted for", "Explained by")):
            parts.append(BriefPart(label="Adjusted for", words="nothing"))
        return GoalBrief(
            analysis=analysis, title=title[:1].upper() + title[1:], node=self.node.id, tool=self.spec.name,
            method=method.name, because=method.why, choice=self._choice(method.name), parts=[*parts, *self._rows()],
            why=list(self.node.reasons),
        )  # fmt: skip

    def _method(self, other: Mapping[str, Any]) -> Method:
        return method_told(self.spec, {**self.params, **other}, self._number_of_groups, self._scale)

    def _choice(self, method: str) -> BriefPart:
        """Return what is computed, with the other tests or models that its tool has."""
        if self.decider is None:
            return BriefPart(label="Test", words=method, node=self.node.id)
        name, value = self.decider.name, self.params[self.decider.name]
        called = {str(value): method}
        for choice in self.decider.choices:
            other = self._method({name: choice}).name
            if other not in called.values():
                called[choice] = other
        return BriefPart(
            label="Test", words=method, node=self.node.id, param=name, value=value, candidates=list(called), called=called,
            by_hand=self.node.settled.get(name) in ("edit", "set"),
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
            return self._setting(param, label, value, settled)
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
            candidates=self._candidates(param), called=self._levels_called(param), by_hand=settled in ("edit", "set"),
        )  # fmt: skip

    def _setting(self, param: ParamSpec, label: str, value: Any, settled: str) -> BriefPart | None:
        """Return a setting that decides what is found, or that somebody settled; one that must be said and was not is asked."""
        waiting = any(question.blocking for question in self._waiting(param.name))
        unspoken = param.words == [] and param.role != "values_told"
        unsaid = value in (None, "", []) or not settled or param.role in _TOLD_OTHERWISE or unspoken
        told = (param.name in self.tells and param.kind not in PICKED) or param is self.decider
        if not waiting and (told or (unsaid and not param.decides)):
            return None
        part = BriefPart(
            label=param.decides or label, words="not known yet" if waiting else setting_said(param, value),
            by_hand=settled in ("edit", "set"), asked=waiting,
        )  # fmt: skip
        if param.kind not in PICKED or param.each:  # what one of several steps is for is no setting of it
            return part
        place = {"node": self.node.id, "param": param.name, "value": value}
        return part.model_copy(update={**place, "called": choices_called(param)})

    def decided_before(self) -> list[BriefPart]:
        """Return the settings that decide what the steps hand over whose results this one takes: the cut of a gene list."""
        found: list[BriefPart] = []
        for ref in self.node.inputs.values():
            before = self.plan.node(ref.partition(".")[0])
            if before is None or ref.startswith(DATA_PREFIX):
                continue
            reader = _StepReader(
                self.plan, before, self.registry.get(before.tool), self.registry, self.data, self.known
            )
            own = [part for param in reader.spec.params if param.decides and (part := reader._part(param))]
            labels = {part.label for part in found}
            found += [part for part in own or reader.decided_before() if part.label not in labels]
        return found

    def _levels_called(self, param: ParamSpec) -> dict[str, str]:
        """Return what the levels that could stand there are called, where something is known of them."""
        known: Mapping[str, str] = self._known(param) if param.kind == "level" else {}
        return {level: in_words(level, known) for level in known}

    def _known(self, param: ParamSpec) -> Mapping[str, str]:
        return self.known.get(str(self.params.get(param.of) or ""), {})

    def _waiting(self, name: str) -> list[OpenQuestion]:
        """Return the questions about a parameter that nobody answered yet."""
        asked = [q for q in self.plan.open_questions if q.param == name and self.node.id in (q.node, *q.also)]
        return [question for question in asked if not self.plan.answers(question)]

    def _words(self, param: ParamSpec, value: Any) -> str:
        if value in (None, "", []):
            return NO_REFERENCE if param.role == "reference" else "nothing"
        if param.kind == "level":
            counted = self._happened(param, str(value)) if param.role in _HAPPENS else ""
            return in_words(str(value), self._known(param), counted)
        names = [str(name) for name in listed(value)]
        if len(names) > 1:
            return ", ".join(map(without_key, names[:8])) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
        column = self._column(param, names[0])
        return without_key(names[0]) + (self._about(param, column) if column is not None else "")

    def _about(self, param: ParamSpec, column: ColumnProfile) -> str:
        told = any(p.of == param.name and p.role in _HAPPENS and self.params[p.name] for p in self.spec.params)
        if param.role in GROUPED | _MEASURED | {"event"} and not told and column.levels and column.scale in NAMED:
            groups = self._groups(param, column)
            if groups is not None and groups.levels:
                return f": {sides_in_words(groups, self._counts(column.name), self.known.get(column.name))}"
        named = column.unit in re.findall(r"[^\s()\[\],_]+", column.name)
        return f" in {column.unit}" if column.unit and not named else ""

    def _happened(self, param: ParamSpec, level: str) -> str:
        """Return in how many of the rows the event happened."""
        counts = self._counts(self.columns.get(param.of, ""))
        return f"{counts.get(level, 0):,} of {sum(counts.values()):,}" if counts else ""

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
        if not kept and self.used is None and kept_before(self.plan, self.node, self.registry, self.known):
            return None
        groups = self._groups(param, column)
        return len(kept) or (len(groups.levels) if groups and groups.levels else None)

    def _pair_of_groups(self) -> bool:
        return any(self._number_of_groups(p.name) == 2 for p in self.spec.params if p.role in COMPARED)

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
        sheet = self.sheet(explains) if explains else None
        if param is None or sheet is None:
            return []
        told = dict(text.split("=", 1) for text in texts_of(self.params[param.name]) if "=" in text)
        found: list[BriefPart] = []
        for name, column in factors_of(self.spec, self.params, {c.name: c for c in sheet.columns}).items():
            counts = self._counts(name)
            levels = natural(column, counts)
            usual = levels if named_groups(self.spec, self.params, column) else levels[:1]
            reference = told.get(name) or usual_reference(usual, param.otherwise)
            known = self.known.get(name)
            words = f"{without_key(name)}: {sides_in_words(Groups(levels, reference), counts, known)}"
            found.append(BriefPart(
                label=REFERENCE, words=words, node=self.node.id, param=param.name, value=reference, candidates=levels,
                called={level: in_words(level, known) for level in known or {}}, column=name, beside=[f"{k}={v}" for k, v in told.items() if k != name], by_hand=name in told and
                self.node.settled.get(param.name) in ("edit", "set"),
            ))  # fmt: skip
        return found

    def _rows(self) -> list[BriefPart]:
        """Return which rows are used and how many they are."""
        kept = kept_before(self.plan, self.node, self.registry, self.known)
        subject = self.columns.get(self.spec.matched, "")
        known = self.used is not None and self.spec.complete
        counted = number_said(self.used, subject, pairs=self._pair_of_groups()) if self.used and known else ""
        if not counted:
            return kept or cells_of(self.plan, self.node, self.registry, self.data)
        if not kept:
            return [BriefPart(label="Rows", words=counted)]
        return [*kept[:-1], kept[-1].model_copy(update={"words": f"{kept[-1].words}; {counted}"})]

    def _candidates(self, param: ParamSpec) -> list[str]:
        sheet = self.sheet(param if param.kind != "level" else self.spec.param(param.of) or param)
        if sheet is None:
            return []
        if param.kind == "level":
            column = sheet.column(str(self.node.params.get(param.of) or ""))
            return list(column.levels) if column else []
        return self.able(param)

    def able(self, param: ParamSpec) -> list[str]:
        """Return the columns that could stand for a parameter of this or another tool on the same table, the best first."""
        sheet = self.sheet(param) or next((s for p in self.spec.params if (s := self.sheet(p))), None)
        if sheet is None:
            return []
        slot = slot_of(param.role) if param.role else None
        able = [(slot.fits(column, sheet) if slot else 1.0, column.name) for column in sheet.columns]
        return [name for fit, name in sorted(able, key=lambda pair: -pair[0]) if fit > 0][:CANDIDATES]

    def _column(self, param: ParamSpec, name: str) -> ColumnProfile | None:
        sheet = self.sheet(param)
        return sheet.column(name) if sheet else None

    def sheet(self, param: ParamSpec) -> Sheet | None:
        """Return the file whose columns a parameter names, through steps that hand data on."""
        return file_of(self.plan, self.node, param.of, self.registry, self.data)
