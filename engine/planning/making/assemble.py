"""Makes the steps of a plan: what answers each goal, what makes its input, what belongs around it, rows first."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.domain.datatypes import DataType
from engine.domain.plan import DATA_PREFIX, OpenQuestion
from engine.domain.toolspec import InputSpec, ParamSpec, ToolSpec
from engine.errors import PlanError
from engine.planning.binding.bind import Near, ask_between, ask_values, bind, propose_missing
from engine.planning.binding.bound import Bound
from engine.planning.binding.conditions import holds
from engine.planning.binding.files import files_for
from engine.planning.binding.rows import condition, rows_chosen, takes_rows
from engine.planning.choosing.coverage import nothing_called
from engine.planning.choosing.score import Candidate
from engine.planning.formulas.views import stands_in
from engine.planning.guards.case import Case
from engine.planning.guards.named import require_no_effect_kept, rows_refused
from engine.planning.guards.run import run_guards
from engine.planning.making.builder import StepBuilder
from engine.planning.making.cut_samples import cut, lists_samples, samples_first
from engine.planning.reading.reading import Reading
from engine.planning.reading.settings import settings_said
from engine.planning.tables.sheets import Data, Sheet
from engine.planning.telling.lacking import in_words, missing
from engine.planning.telling.refusals import refusal, unbound
from engine.text.prose import listed
from engine.toolbox.analyses import Analysis, Practice
from engine.toolbox.registry import ToolRegistry


@dataclass(slots=True)
class Making:
    """A plan being made."""

    reading: Reading
    data: Data
    builder: StepBuilder
    near: Near
    questions: list[OpenQuestion] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    not_answered: list[str] = field(default_factory=list)
    bounds: list[Bound] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    """The tools whose steps are being planned, outermost first."""


class Assembler:
    """Adds the steps of goals to a plan being made."""

    def __init__(self, registry: ToolRegistry, analyses: dict[str, Analysis]) -> None:
        self._registry = registry
        self._analyses = analyses

    def begin(self, reading: Reading, data: Data, near: Near) -> Making:
        """Return an empty plan for a question; `near` says which columns its unexplained words may mean."""
        made = Making(reading, data, StepBuilder(self._registry, data), near)
        made.builder.make = lambda spec: self._on_the_way(spec, made)
        made.builder.said = lambda spec: _said_on_the_way(spec, reading)
        made.builder.words = frozenset(token.stem for token in reading.words)
        return made

    def answer_all(self, goals: list[Candidate], made: Making) -> None:
        """Plan every goal; what cannot be planned is named, and refuses the question when nothing can."""
        several = len(goals) > 1 or bool(made.bounds)
        refusals: list[PlanError] = []
        for goal in goals:
            try:
                self._answer(goal, made)
            except PlanError as err:
                refusals.append(err)
                if several:
                    made.not_answered.append(f"{goal.analysis.name.capitalize()}: {err.message}")
        if refusals and not made.bounds:
            raise refusals[0]

    def _answer(self, goal: Candidate, made: Making) -> None:
        analysis, bound = goal.analysis, goal.bound
        if bound is None:
            raise refusal(goal, made.reading, made.data, self._registry, self._analyses)
        nodes = len(made.builder.nodes)
        try:
            self._add_goal(analysis, bound, made, priority=2)
        except PlanError as err:
            made.builder.back_to(nodes)
            if not self._rest_of(bound, made):
                raise
            made.not_answered += left_out(err, made)
        made.bounds.append(bound)

    def _rest_of(self, bound: Bound, made: Making) -> bool:
        """Plan what leads to a step that lacks a file, so that the rest of the question is answered; False when nothing does."""
        before = len(made.builder.nodes)
        lacking = [p for p in bound.spec.inputs if not p.optional and not made.builder.can_make(p.type)]
        if not lacking or bound.missing:
            return False
        made.open.append(bound.spec.name)
        for port in bound.spec.inputs:
            if not port.optional and port not in lacking:
                for ref in self._makers_of(port, bound, made) or [made.builder.source(port.type) or ""]:
                    if ref and not ref.startswith(DATA_PREFIX):
                        made.builder.raise_priority(ref.split(".")[0], 1)
        made.open.pop()
        return len(made.builder.nodes) > before

    def _add_goal(self, analysis: Analysis, bound: Bound, made: Making, *, priority: int) -> str:
        """Add the step that answers an analysis with what belongs around it, and return its id.

        Of a matrix it may take some samples only, or computed columns of these: then the rest sees the data cut to match.
        """
        whole, rows = made.data, bound.rows
        try:
            self._samples_first(bound, made)
            return self._with_its_steps(analysis, bound, made, priority=priority)
        finally:
            made.data = made.builder.data = whole
            bound.rows = rows

    def _samples_first(self, bound: Bound, made: Making) -> None:
        """Plan what the list of a matrix's samples needs before a step, and let the step see what is left."""
        step = next((t for t in self._registry if any(p.role == "rows" for p in t.params)), None)
        if step is None or not lists_samples(bound.spec):
            return
        param = next(p.name for p in step.params if p.role == "rows")
        rows = rows_chosen(condition(bound.rows, made.data), made.reading.chosen.get(step.name, {}).get(param))
        samples = samples_first(bound, rows, made.data, self._registry)
        made.builder.about(samples.key if samples else "", rows if samples else "")
        if samples is None:
            bound.rows = [] if not rows else bound.rows  # a person chose all of them
            return
        require_no_effect_kept(bound, made.reading)
        made.data = made.builder.data = cut(samples, bound, made.data, made.builder)
        _mark_rows(bound, made.reading)
        bound.rows = []
        sides = {p.name for p in bound.spec.params if p.kind == "level"}
        for column in filter(
            None, (made.data.column(str(bound.params.get(p.of))) for p in bound.spec.params if p.name in sides)
        ):
            if len(column.levels) < 2:
                left = ", ".join(map(repr, column.levels)) or "none"
                message = f"The samples that the question keeps have one group of {column.name!r} ({left}): nothing to compare."
                raise PlanError(
                    message, advice=f"Name other samples to keep, or other groups than those of {column.name!r}."
                )
        if sides and not bound.exact:  # of the levels that are left
            given = {name: value for name, value in bound.params.items() if name not in sides}
            anew = bind(bound.spec, made.reading, made.data, given=given)
            bound.params |= {name: anew.params.get(name) for name in sides}
            bound.missing = [param for param in bound.missing if param.name not in sides]
            bound.missing += [param for param in anew.missing if param.name in sides]
            bound.questions = [q for q in bound.questions if q.param not in sides]
            bound.questions += [q for q in anew.questions if q.param in sides]

    def _with_its_steps(self, analysis: Analysis, bound: Bound, made: Making, *, priority: int) -> str:
        """Add a step under its guards, with what practice puts before and after it; return its id."""
        case = Case(bound, made.reading, made.data)
        run_guards(analysis.guards, case)
        made.warnings += case.warnings
        made.notes += case.notes
        bound.missing = [param for param in bound.missing if not bound.params.get(param.name)]  # a guard found it
        if bound.missing:
            propose_missing(bound, made.reading, made.near, nothing_called(made.reading, made.data))
        if bound.missing:
            port = bound.spec.input(bound.missing[0].of)
            if port is not None and not made.builder.can_make(port.type):  # the file with the columns is not there
                raise missing([sheet.profile for sheet in made.data.sheets], bound.spec, port.type)
            raise unbound(analysis, bound, made.reading, made.data)
        ask_values(bound)
        ask_between(bound, made.reading)
        if not (bound.told or bound.exact) and (same := self._planned(bound, made, priority)):
            return same
        made.open.append(bound.spec.name)
        inputs = {**_wired(bound, made), **self._rows_first(bound, made)}
        for practice in analysis.practice:
            if practice.when == "before":
                self._add_practice(practice, case, made, inputs)
        node = self._add_bound(bound, made, inputs, priority=priority)
        _require_rows_kept(bound, made)
        for practice in analysis.practice:
            if practice.when == "after":
                self._add_practice(practice, case, made, inputs)
        made.open.pop()
        return node

    @staticmethod
    def _planned(bound: Bound, made: Making, priority: int) -> str:
        """Return the first step of a goal that is in the plan already, or ""; all of them then count as its answer."""
        same = [n for n in made.builder.here if n.tool == bound.spec.name]
        same = [n for n in same if all(n.params.get(k) == v for k, v in bound.params.items())]
        for node in same:
            made.builder.raise_priority(node.id, priority)
        return same[0].id if same else ""

    def _add_bound(self, bound: Bound, made: Making, inputs: dict[str, str], *, priority: int) -> str:
        spec = bound.spec
        split = next((p for p in spec.params if p.each and not bound.params.get(p.name)), None)
        # Who asks how many wants one number that all are in, and its parts beside it.
        total = split is not None and split.default not in split.each and _HOW_MANY.search(made.reading.question)
        if split is not None and not total:
            ids = [
                made.builder.add(spec, {**bound.params, split.name: value}, inputs=inputs, reasons=bound.reasons, priority=priority,
                                 name=f"{spec.title}: {value}")
                for value in split.each
            ]  # fmt: skip
            return ids[0]
        node, branches = "", self._branches(bound, made, inputs)
        reasons = list(dict.fromkeys(bound.reasons))
        for wired, told in branches:
            label = {p.name: told for p in spec.params if p.role == "told" and told}
            told = ", ".join(filter(None, (bound.told, told)))
            title = _title(bound) or (f"{spec.title}: {told}" if told else "")
            node = made.builder.add(
                spec, {**label, **bound.params}, inputs=wired, reasons=reasons, name=title, priority=priority
            )
        seen = {q.id for q in made.questions}
        for asked in bound.questions:
            key, same = f"{node}_{asked.id}", (asked.param, asked.proposed, asked.text)
            at = next((k for k, q in enumerate(made.questions) if (q.param, q.proposed, q.text) == same), -1)
            if at >= 0:
                also = [*made.questions[at].also, node]
                made.questions[at] = made.questions[at].model_copy(update={"also": also})
            elif key not in seen:
                made.questions.append(asked.model_copy(update={"id": key, "node": node}))
        return node

    def _branches(self, bound: Bound, made: Making, inputs: dict[str, str]) -> list[tuple[dict[str, str], str]]:
        """Return the inputs of each of the steps that a tool takes, with what is said of it.

        One step is made for each file of a kind, and for each value that a step before it is made for (up, down).
        """
        given = files_for(bound.spec, made.reading, made.data)
        bound.questions += given.questions
        bound.reasons += given.reasons
        found: list[tuple[dict[str, str], str]] = [(dict(inputs), "")]
        for port in bound.spec.inputs:
            if port.name in inputs:
                continue
            files = given.files.get(port.name, []) or _own_file(bound, port)
            own = [made.builder.use(sheet, port.type) for sheet in files]
            if files:
                more = [
                    ({port.name: ref}, Path(sheet.name).stem if len(files) > 1 else "")
                    for ref, sheet in zip(own, files, strict=True)
                ]
            elif not port.optional and (nodes := self._makers_of(port, bound, made)):
                more = [({port.name: ref}, text) for ref, text in nodes.items()]
            else:
                continue
            found = [
                ({**wired, **extra}, ", ".join(filter(None, (told, text))))
                for wired, told in found
                for extra, text in more
            ]
        return found

    def _makers_of(self, port: InputSpec, bound: Bound, made: Making) -> dict[str, str]:
        """Plan the steps that make an input for each value of a choice that the words leave open; returns reference -> what it is."""
        maker = next((t for t in made.builder.producers(port.type) if made.builder.can_make(port.type)), None)
        split = next((p for p in maker.params if p.each), None) if maker else None
        if maker is None or split is None or made.data.serving(port.type):
            return {}
        said = _said_on_the_way(maker, made.reading)
        output = next(out.name for out in maker.outputs if out.type == port.type)
        source = maker.inputs[0]
        ref = made.builder.source(source.type, path=(bound.spec.name, maker.name))
        if ref is None:
            raise missing([s.profile for s in made.data.sheets], bound.spec, source.type)
        before = next((n.params for n in made.builder.nodes if ref.startswith(f"{n.id}.")), dict[str, Any]())
        found: dict[str, str] = {}
        for value in [said[split.name]] if split.name in said else split.each:
            text = _in_other_words(split, str(value), before)
            params = {**said, split.name: value}
            node = made.builder.add(maker, params, inputs={source.name: ref}, name=f"{maker.title}: {text}", reasons=[f"Makes the {port.type.value.replace('_', ' ')} a later step needs."])  # fmt: skip
            found[f"{node}.{output}"] = text
        return found

    def _rows_first(self, bound: Bound, made: Making) -> dict[str, str]:
        """Add the step that keeps the rows the question is about, and return the input it makes."""
        own = next((p for p in bound.spec.params if p.role == "rows"), None)
        text = condition(bound.rows, made.data)
        said = str(bound.params.get(own.name) or "") if own is not None else ""
        port = next((p for p in bound.spec.inputs if takes_rows(p.type)), None)
        sheet = bound.sheets.get(port.name) if port is not None else None
        _require_rows_there(bound, sheet, made.data)
        used = [*bound.columns(), *(item.column for item in bound.rows)]
        used += [made.column for made in sheet.made if stands_in(made.column, said)] if sheet is not None else []
        made_of = made.builder.with_columns(sheet, DataType.TABLE, used) if sheet is not None else None
        # What a told goal does with rows of its own condition, or summed up, it does with these rows only: they come first.
        if own is not None and not (bound.exact and bound.rows and (said or bound.columns())):
            bound.params[own.name] = said or text
            return {port.name: made_of} if port is not None and made_of else {}
        if not bound.rows or port is None:
            return {port.name: made_of} if port is not None and made_of else {}
        step = next((t for t in self._registry if any(p.role == "rows" for p in t.params)), None)
        if step is None:
            return {}
        param = next(p.name for p in step.params if p.role == "rows")
        _mark_rows(bound, made.reading)
        text = rows_chosen(text, made.reading.chosen.get(step.name, {}).get(param))
        if not text:
            return {port.name: made_of} if made_of else {}
        output = step.outputs[0].name
        inputs = {step.inputs[0].name: made_of or made.builder.use(sheet, DataType.TABLE)} if sheet else {}
        for node in made.builder.nodes:  # the same rows of another table lack the columns that were made for this one
            if node.tool == step.name and node.params.get(param) == text and (not inputs or node.inputs == inputs):
                return {port.name: f"{node.id}.{output}"}
        why = ["The question is about these rows only."]
        kept = made.builder.add(step, {param: text}, inputs=inputs, reasons=why)
        return {port.name: f"{kept}.{output}"}

    def _add_practice(self, practice: Practice, case: Case, made: Making, inputs: dict[str, str]) -> None:
        planned = {node.tool for node in made.builder.here} | set(made.open)
        if practice.tool not in self._registry or practice.tool in planned:
            return
        spec = self._registry.get(practice.tool)
        lacking = [port.type for port in spec.inputs if not port.optional and not made.builder.can_make(port.type)]
        if lacking:
            if practice.asked and all(holds(name, Bound(spec), made.reading) for name in practice.only):
                made.not_answered += left_out(missing([], spec, lacking[0]), made)
            return
        given = {
            key: self._value(value, case) or _as_answered(value, spec.param(key), case)
            for key, value in practice.params.items()
        }
        if any(value in (None, "") and (param := spec.param(key)) and param.required for key, value in given.items()):
            return  # what the answer does without, a step around it is not to find for itself
        bound = bind(spec, made.reading, made.data, given={k: v for k, v in given.items() if v not in (None, "")})
        if not all(holds(name, bound, made.reading) for name in practice.only) or bound.missing:
            return
        settled = list(bound.params)
        bound.params = {**{k: v for k, v in practice.habits.items() if k not in bound.params}, **bound.params}
        bound.reasons = [practice.why]
        shared = {port.name: ref for port in spec.inputs for name, ref in inputs.items() if port.name == name}
        before = len(made.builder.nodes)
        priority = int(practice.when == "after" and spec.task_type == "analysis")
        node = self._add_bound(bound, made, shared, priority=priority)
        for at, item in enumerate(made.builder.nodes[before:] if practice.habits else [], before):
            if item.id == node:
                kept = {k: v for k, v in item.settled.items() if k in settled}
                made.builder.nodes[at] = item.model_copy(update={"settled": kept})

    @staticmethod
    def _value(value: object, case: Case) -> object:
        """Return a declared value; `=KEY` is the answering step's parameter or what a guard found out."""
        if isinstance(value, str) and value.startswith("="):
            return case.bound.params.get(value[1:]) or case.facts.get(value[1:], "")
        return value

    def _on_the_way(self, spec: ToolSpec, made: Making) -> str | None:
        """Plan a tool with required parameters because its output is needed, with all that belongs to it."""
        analysis = next((self._analyses[key] for key in spec.answers if key in self._analyses), None)
        bound = bind(spec, made.reading, made.data)
        if analysis is None:
            return None
        made.bounds.append(bound)
        return self._add_goal(analysis, bound, made, priority=1)


def _as_answered(value: object, param: ParamSpec | None, case: Case) -> object:
    """Return the limit that the answering step goes by without being told, where a step around it would go by another.

    A figure that colours what changes at least twofold beside a sentence that counts every change gives two numbers for one thing.
    """
    own = case.bound.spec.param(value[1:]) if isinstance(value, str) and value.startswith("=") else None
    limit = own.default if own is not None and own.kind == "number" else None
    return limit if param is not None and limit != param.default else ""


def _require_rows_kept(bound: Bound, made: Making) -> None:
    """Refuse a step that takes no rows where its question keeps some, unless what it is made of is of these already."""
    if bound.spec.inputs and not any(takes_rows(port.type) for port in bound.spec.inputs):
        for item in bound.rows:
            if item.sure and condition([item], made.data) not in made.builder.rows:
                raise rows_refused(item, made.reading)


def _require_rows_there(bound: Bound, sheet: Sheet | None, data: Data) -> None:
    """Refuse a step whose rows are told by a column that only another file has."""
    apart = [item.column for item in bound.rows if sheet is not None and sheet.column(item.column) is None]
    strange = [name for name in apart if any(other.column(name) for other in data.sheets)]
    if strange and sheet is not None:
        raise PlanError(
            f"The question keeps rows by {listed(strange)}, which {sheet.name} does not have, and is about its columns.",
            advice="Say which column is the same in both files (`id is the same in both`), or ask of one file.",
        )


def _mark_rows(bound: Bound, reading: Reading) -> None:
    """Mark the words that say which rows are kept as used."""
    for item in bound.rows:
        value = f"{item.column} {item.op} {', '.join(item.values)}"
        reading.used.update(dict.fromkeys(range(item.first, item.last + 1), ("restriction", value, 1.0)))


_HOW_MANY = re.compile(r"\bhow many\b|\b(?:total )?number of\b", re.IGNORECASE)


def _wired(bound: Bound, made: Making) -> dict[str, str]:
    """Return the inputs of a step whose files were told."""
    ports = {port.name: port for port in bound.spec.inputs}
    return {name: made.builder.use(sheet, ports[name].type) for name, sheet in bound.wired.items() if name in ports}


def _own_file(bound: Bound, port: InputSpec) -> list[Sheet]:
    """Return the file that holds the columns of a step that takes one table: of several it is not simply the first."""
    sheet = bound.sheets.get(port.name)
    single = port.type is DataType.TABLE and sum(other.type == port.type for other in bound.spec.inputs) == 1
    return [sheet] if single and sheet is not None and any(map(sheet.column, bound.columns())) else []


def left_out(err: PlanError, made: Making) -> list[str]:
    """Return what is said of a part of the question that lacks a file, once for each kind of file."""
    lacking = in_words(str(err.details.get("missing", DataType.TABLE)))
    known = any(lacking in text for text in made.not_answered)
    return [] if known else [f"{err.message} That part of the question is left out; add the file and ask again."]


def _said_on_the_way(spec: ToolSpec, reading: Reading) -> dict[str, object]:
    """Return the settings that the question names for a step on the way; how many are wanted is said of the answer."""
    return settings_said(spec, dataclasses.replace(reading, top=None), {})


def _in_other_words(split: ParamSpec, value: str, params: Mapping[str, object]) -> str:
    """Return what a value of a choice stands for: with the parameters of the step before, or without where there is none."""
    texts = next((line.partition(":")[2].strip() for line in split.says if line.startswith(f"{value}:")), value)
    full, _, short = texts.partition("|")
    try:
        return full.format_map(params)
    except KeyError:
        return short or value


def _title(bound: Bound) -> str:
    sides = [p.name for role in ("interest", "reference") for p in bound.spec.params if p.role == role]
    levels = [bound.params.get(name) for name in sides]
    where = f", {bound.told}" if bound.exact and bound.told else ""
    return f"{bound.spec.title}: {levels[0]} against {levels[1]}{where}" if len(levels) == 2 and all(levels) else ""
