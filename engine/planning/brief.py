"""Says what a plan is going to do: for each goal the part that each column, level and row plays, and what else it could be.

Everything is read from the plan as it stands, so what is said is true after a change by hand, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from engine.domain.brief import BriefPart, GoalBrief
from engine.domain.plan import DATA_PREFIX, OpenQuestion, TaskDag, TaskNode
from engine.domain.profile import ColumnProfile, Profile
from engine.domain.toolspec import ParamSpec, ToolSpec
from engine.planning.sheets import Data, Sheet
from engine.planning.slots import slot_of
from engine.planning.views import with_spans, with_subjects
from engine.toolbox.analyses import Analysis
from engine.toolbox.registry import ToolRegistry

_MEASURED = frozenset({"measure", "outcome", "response", "count", "y", "category"})
_LABELS = {
    **dict.fromkeys(_MEASURED, "Outcome"),
    **dict.fromkeys(("group", "group_optional", "condition", "factors"), "Groups"),
    **dict.fromkeys(("held", "stratum"), "Adjusted for"),
    **dict.fromkeys(("predictors", "covariates"), "Explained by"),
    **dict.fromkeys(("subject", "pair", "cluster"), "Rows belong together by"),
    "time": "Time", "event": "Event", "start": "Start", "split": "Split by", "ordered": "Ordered groups", "over": "Along",
    "x": "Along", "measures": "Measured", "wide": "Occasions", "anything": "About", "part": "Number", "total": "Out of",
    "exposure": "Per", "batch": "Batch", "gene": "Gene", "interest": "Of interest", "reference": "Compared with",
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
    "Compared with",
)
PICKED = frozenset({"number", "integer", "choice", "boolean"})
"""Kinds of settings that can be chosen without knowing the data."""
SHOWN_LEVELS = 6
CANDIDATES = 40


def briefs(
    plan: TaskDag, profiles: Sequence[Profile], registry: ToolRegistry, analyses: Mapping[str, Analysis]
) -> list[GoalBrief]:
    """Return what a plan answers, one item for each goal in the order of the question."""
    data = with_spans(with_subjects(Data.of(list(profiles))))
    wanted = [chosen.id for chosen in plan.analysis]
    top = max((node.priority for node in plan.nodes), default=0)
    found = []
    for node in plan.nodes:
        spec = registry.get(node.tool)
        own = [key for key in wanted if key in spec.answers]
        if own and (node.priority == top or not any(key in _answered_above(plan, registry, top) for key in own)):
            title = analyses[own[0]].name if own[0] in analyses else spec.title
            found.append((wanted.index(own[0]), _Reader(plan, node, spec, registry, data).brief(own[0], title)))
    if not found:  # planned as what a person chose, by a step that is not declared for it
        titles = [analyses[key].name for key in wanted if key in analyses]
        for node in (node for node in plan.nodes if node.priority == top):
            spec = registry.get(node.tool)
            title = titles[0] if titles else spec.title
            found.append((0, _Reader(plan, node, spec, registry, data).brief("".join(wanted[:1]), title)))
    return [goal for _, goal in sorted(found, key=lambda pair: pair[0])]


def _answered_above(plan: TaskDag, registry: ToolRegistry, top: int) -> set[str]:
    """Return the analyses that the steps of the highest priority answer: others of their kind are only on the way."""
    return {key for node in plan.nodes if node.priority == top for key in registry.get(node.tool).answers}


class _Reader:
    """Reads one step of a plan."""

    def __init__(self, plan: TaskDag, node: TaskNode, spec: ToolSpec, registry: ToolRegistry, data: Data) -> None:
        self.plan, self.node, self.spec, self.registry, self.data = plan, node, spec, registry, data
        self.whole = not list(self._before())
        """True when the step sees all rows of its files, so that their counts hold."""

    def brief(self, analysis: str, title: str) -> GoalBrief:
        parts = [part for param in self.spec.params if (part := self._part(param)) is not None]
        explained = any(part.label in ("Groups", "Explained by", "Along", "Ordered groups") for part in parts)
        if not explained:  # a mean or a histogram has no outcome
            parts = [p.model_copy(update={"label": "Measured"}) if p.label == "Outcome" else p for p in parts]
        parts.sort(key=lambda part: _ORDER.index(part.label) if part.label in _ORDER else len(_ORDER))
        if any(part.label == "Groups" for part in parts) and not any(
            part.label in ("Adjusted for", "Explained by") for part in parts
        ):
            parts.append(BriefPart(label="Adjusted for", words="nothing"))
        rows = [BriefPart(label="Rows", words=text) for text in self._before()]
        return GoalBrief(
            analysis=analysis, title=title[:1].upper() + title[1:], node=self.node.id, tool=self.spec.name,
            method=self.spec.title, parts=[*parts, *rows], why=list(self.node.reasons),
        )  # fmt: skip

    def _part(self, param: ParamSpec) -> BriefPart | None:
        value = self.node.params.get(param.name, param.default)
        settled = self.node.settled.get(param.name, "")
        label = _LABELS.get(param.role) or param.name.replace("_", " ").capitalize()
        if param.kind == "level" and label == "Event":
            label = "Event is"
        empty = value in (None, "", [])
        if param.kind not in ("column", "columns", "level"):
            if empty or not settled or param.role in ("rows", "formula") or param.words == []:
                return None
            told = BriefPart(label=label, words=_value(value, param.unit), by_hand=settled in ("edit", "set"))
            if param.kind not in PICKED:
                return told
            return told.model_copy(update={"node": self.node.id, "param": param.name, "value": value})
        if empty and param.role != "held" and settled != "edit":
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
            return "nothing"
        if param.kind == "level":
            return str(value)
        names = [str(name) for name in value] if isinstance(value, list) else [str(value)]
        if len(names) > 1:
            return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
        column = self._column(param, names[0])
        return names[0] if column is None else names[0] + self._about(param, column)

    def _about(self, param: ParamSpec, column: ColumnProfile) -> str:
        slot = slot_of(param.role) if param.role else None
        sheet = self._sheet(param)
        grouped = (
            slot is not None and sheet is not None and param.role not in ("subject", "pair", "cluster", "time", "over")
        )
        if grouped and column.levels and column.scale in ("category", "binary", "ordered", "code"):
            shown = [f"{level} ({count:,})" if self.whole else level for level, count in column.levels.items()]
            more = f" and {len(shown) - SHOWN_LEVELS} more" if len(shown) > SHOWN_LEVELS else ""
            return f": {', '.join(shown[:SHOWN_LEVELS])}{more}"
        return (
            f" in {column.unit}"
            if column.unit and column.unit not in re.findall(r"[^\s()\[\],_]+", column.name)
            else ""
        )

    def _candidates(self, param: ParamSpec) -> list[str]:
        sheet = self._sheet(param if param.kind != "level" else self.spec.param(param.of) or param)
        if sheet is None:
            return []
        if param.kind == "level":
            column = sheet.column(str(self.node.params.get(param.of) or ""))
            return list(column.levels) if column else []
        fits = slot_of(param.role).fits if param.role else (lambda column, _: 1.0)
        able = [(fits(column, sheet), column.name) for column in sheet.columns]
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
        return next((sheet for sheet in self.data.sheets if sheet.name == name), None)

    def _handed(self, node: TaskNode, ref: str) -> list[str]:
        """Return the inputs of a step that are of the type of its output `ref`: what it hands on, the first one first."""
        spec = self.registry.get(node.tool)
        port = spec.output(ref.partition(".")[2])
        return [node.inputs[p.name] for p in spec.inputs if port and p.type == port.type and p.name in node.inputs]

    def _before(self) -> Iterator[str]:
        """Yield in words what earlier steps do to the rows that this one sees."""
        ahead, seen = list(self.node.upstream()), set[str]()
        while ahead:
            node = self.plan.node(ahead.pop(0))
            if node is None or node.id in seen:
                continue
            seen.add(node.id)
            ahead += [ref.partition(".")[0] for ref in node.inputs.values() if not ref.startswith(DATA_PREFIX)]
            for param in self.registry.get(node.tool).params:
                if param.role == "rows" and node.params.get(param.name):
                    yield kept_rows(str(node.params[param.name]))


def kept_rows(condition: str) -> str:
    """Return a condition in words: "`sex` in ['F'] and `age` > 60" as `sex is F and age > 60`."""
    text = re.sub(r"`([^`]+)`", r"\1", condition)
    text = re.sub(r" not in \[([^]]*)\]", lambda m: f" is not {_either(m[1])}", text)
    return re.sub(r" in \[([^]]*)\]", lambda m: f" is {_either(m[1])}", text)


def _either(listed: str) -> str:
    values = [value.strip().strip("'\"") for value in listed.split(",")]
    return " or ".join(values)


def _value(value: Any, unit: str) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = (
        ", ".join(map(str, value))
        if isinstance(value, list)
        else f"{value:g}"
        if isinstance(value, float)
        else str(value)
    )
    return f"{text} {unit}".strip()
