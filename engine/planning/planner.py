"""From a question and the profiles of its data to a checked plan. Read this first.

    read      which columns, levels, numbers and genes the words name, and what grammar makes of them      (`read`)
    choose    which analyses the wording asks for, weighed by what the data can serve                        (`choose`, `score`)
    bind      named columns to the parameters of the tools that answer them, all at once                    (`bind`)
    guard     what would spoil the analysis is repaired, asked, warned of or refused                        (`guards`, `designs`)
    practice  what belongs around it, declared with a reason                                                (below, `builder`)
    coverage  what no part of the plan answers to is shown, asked or refused                                (`coverage`)

Nothing here knows a tool or a field by name. What cannot be known becomes an open question; what cannot be planned becomes an
error that says what is missing, never a neighbour's answer.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from engine.domain.datatypes import DataType
from engine.domain.plan import DATA_PREFIX, Alternative, Chosen, OpenQuestion, TaskDag
from engine.domain.profile import Profile
from engine.domain.retrieval import ToolSearch
from engine.domain.toolspec import InputSpec, ParamSpec, ToolSpec
from engine.errors import DataError, PlanError
from engine.planning import designs  # noqa: F401 - registers its guards
from engine.planning.bind import Bound, bind, condition, takes_rows
from engine.planning.builder import Builder, in_words, missing, why_not
from engine.planning.choose import Embed
from engine.planning.conditions import holds
from engine.planning.coverage import doubts, unexplained
from engine.planning.files import files_for
from engine.planning.guards import Case, run_guards
from engine.planning.read import read
from engine.planning.reading import Reading
from engine.planning.score import Candidate, candidates
from engine.planning.settings import settings_said
from engine.planning.sheets import Data
from engine.profiling.matching import cross_check
from engine.toolbox.analyses import Analysis, Practice, load_analyses
from engine.toolbox.registry import ToolRegistry
from engine.toolbox.typecheck import check_plan

SURE = 0.5
"""From this probability on a plan is made without asking whether it is the one that was meant."""
HEARD = 0.06
"""An analysis that the data put in place of another must at least be this likely by the words."""
NEAR = 0.4
"""A step that can be done is proposed instead of an analysis that cannot when it is at least this much as likely."""
POSSIBLE = 0.06
"""Below this nothing is planned."""
SEVERAL = 0.55
"""How sure each of several requests must be to be planned for itself."""


class NotUnderstood(PlanError):
    """The words of a question lead to nothing that can be done with these files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A plan and the tools that were considered for it, best first."""

    plan: TaskDag
    retrieved: list[str]


@dataclass(slots=True)
class _Made:
    """A plan being made."""

    reading: Reading
    data: Data
    builder: Builder
    questions: list[OpenQuestion] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    not_answered: list[str] = field(default_factory=list)
    bounds: list[Bound] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    """The tools whose steps are being planned, outermost first."""


class Planner:
    """The rule-based planner."""

    def __init__(self, registry: ToolRegistry, embed: Embed | None = None) -> None:
        """Take the tools, and what turns texts into vectors (planning works without, a little less well)."""
        self._registry = registry
        self._embed = embed
        self._analyses = load_analyses()

    def plan(
        self, question: str, profiles: list[Profile], found: ToolSearch | None = None, *, analysis: str = "",
        previous: TaskDag | None = None,
    ) -> Proposal:  # fmt: skip
        """Return a plan that type-checks.

        Args:
            question: what is asked.
            profiles: what the files can serve as.
            found: what the search over all catalogues found; where nothing answers the question, the error names the nearest.
            analysis: the analysis to plan, where a person has chosen one.
            previous: the last plan of the conversation, for questions that go on from it.

        Raises:
            PlanError: when the question cannot be planned on these data; the message says what is missing.
            DataError: when none of the files can be used.
        """
        question = " ".join(question.split())
        data = Data.of(profiles)
        _require_data(profiles, data)
        if previous is not None and not analysis and goes_on(question):
            analysis = previous.analysis[0].id if len(previous.analysis) == 1 else ""
            question = f"{previous.question.rstrip(' .?!')}; {question}"
        reading = read(question, data)
        every = self._candidates(reading, data)
        goals = [self._as_told(analysis, every, reading, data)] if analysis else self._goals(reading, data, every)
        if not goals:
            raise _not_understood(data, found, every)
        made = _Made(reading, data, Builder(self._registry, data))
        made.builder.make = lambda spec: self._on_the_way(spec, made)
        made.builder.said = lambda spec: _said_on_the_way(spec, reading)
        made.builder.words = frozenset(token.stem for token in reading.words)
        self._answer_all(goals, made)
        plan = self._finished(goals, every, made, profiles, told=bool(analysis))
        return Proposal(plan=plan, retrieved=_retrieved(every, found))

    def _candidates(self, reading: Reading, data: Data) -> list[Candidate]:
        return candidates(reading, data, self._analyses, self._registry, self._embed)

    # ==== choose ====

    def _goals(self, reading: Reading, data: Data, every: list[Candidate]) -> list[Candidate]:
        """Return what to plan: one analysis, or one for each request that is sure of another."""
        if not every:
            return []
        best = self._best(every)
        if best.probability < POSSIBLE:
            return []
        goals = [best]
        if len(reading.requests) > 1:
            goals = self._several(reading, data, best)
        return goals

    def _best(self, every: list[Candidate]) -> Candidate:
        """Return what to plan: the likeliest, unless a near one can be done where it cannot, or brings it along."""
        best = every[0]
        able = next((c for c in every if c.bound is not None and not c.bound.missing and not c.unmet), None)
        if (
            best.analysis.data
            and best.probability < SURE
            and able is not None
            and able.probability >= NEAR * best.probability
        ):
            best = able
        for other in every[1:3]:
            around = {practice.tool for practice in other.analysis.practice}
            if other.bound is not None:  # what makes the column that it groups by
                around |= {part.partition(":")[0] for p in other.bound.spec.params for part in p.made_by.split(",")}
            if (
                best.bound is not None
                and other.bound is not None
                and best.bound.spec.name in around
                and other.probability >= SURE * best.probability
            ):
                return other
        return best

    def _several(self, reading: Reading, data: Data, best: Candidate) -> list[Candidate]:
        found: list[Candidate] = []
        for request in reading.requests:
            own = candidates(
                reading, data, self._analyses, self._registry, self._embed, first=request.first, last=request.last
            )
            if (
                own
                and own[0].probability >= SEVERAL
                and own[0].feasible
                and (own[0].bound or own[0].wording >= SEVERAL)
            ):
                found.append(own[0])
        kinds = {item.analysis.id for item in found}
        if len(kinds) < 2:
            return [best]
        told = {item.analysis.id: item for item in found}
        families = {item.analysis.family for item in found}
        return list(told.values()) if len(families) > 1 or best.analysis.id in kinds else [best]

    def _as_told(self, analysis: str, every: list[Candidate], reading: Reading, data: Data) -> Candidate:
        if analysis not in self._analyses:
            raise PlanError(
                f"There is no analysis called {analysis!r}.", advice="`biodesk analyses list` names them all."
            )
        able = [tool for tool in self._registry if analysis in tool.answers]
        bounds = sorted(
            (bind(tool, reading, data, needs=self._analyses[analysis].needs) for tool in able), key=lambda b: -b.score
        )
        share = next((c.wording for c in every if c.analysis.id == analysis), 0.0)
        return Candidate(self._analyses[analysis], share, 1.0, bounds[0] if bounds else None)

    # ==== plan ====

    def _answer_all(self, goals: list[Candidate], made: _Made) -> None:
        """Plan every goal; what cannot be planned is named, and refuses the question when nothing can."""
        refusals: list[PlanError] = []
        for goal in goals:
            try:
                self._answer(goal, made)
            except PlanError as err:
                refusals.append(err)
                if len(goals) > 1:
                    made.not_answered.append(f"{goal.analysis.name.capitalize()}: {err.message}")
        if refusals and not made.bounds:
            raise refusals[0]

    def _answer(self, goal: Candidate, made: _Made) -> None:
        analysis, bound = goal.analysis, goal.bound
        if bound is None:
            raise self._refusal(goal, made.data)
        nodes = list(made.builder.nodes)
        try:
            self._add_goal(analysis, bound, made, priority=2)
        except PlanError as err:
            made.builder.nodes[:] = nodes
            if not self._rest_of(bound, made):
                raise
            made.not_answered += _left_out(err, made)
        made.bounds.append(bound)

    def _rest_of(self, bound: Bound, made: _Made) -> bool:
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

    def _refusal(self, goal: Candidate, data: Data) -> PlanError:
        """Return the error for an analysis that no tool or no file serves: by its name, with what is nearest."""
        analysis = goal.analysis
        able = [tool for tool in self._registry if analysis.id in tool.answers]
        if not analysis.data:
            message = "These data cannot answer that question."
            advice = "They hold " + "; ".join(
                f"{s.name}: {', '.join(c.name for c in s.columns[:12])}" for s in data.sheets[:3]
            )
            return NotUnderstood(message, advice=advice + ".", details={"analysis": analysis.id})
        if able and not goal.feasible:
            wanted = DataType(analysis.data[0])
            return missing([s.profile for s in data.sheets], able[0], wanted)
        near = [
            a for a in self._analyses.values() if a.family == analysis.family and a.id != analysis.id and self._can(a)
        ]
        names = ", ".join(a.name for a in near[:4])
        message = f"The question asks for {analysis.name} ({analysis.asks}), which no tool of this version carries out."
        needs = f" It would need {', '.join(analysis.slots)}." if analysis.slots else ""
        advice = f"Nearest of what can be done, and not the same: {names}.{needs}" if names else needs.strip()
        return NotUnderstood(message, advice=advice, details={"analysis": analysis.id})

    def _can(self, analysis: Analysis) -> bool:
        return any(analysis.id in tool.answers for tool in self._registry)

    def _add_goal(self, analysis: Analysis, bound: Bound, made: _Made, *, priority: int) -> str:
        """Add the step that answers an analysis with what belongs around it, and return its id."""
        case = Case(bound, made.reading, made.data)
        run_guards(analysis.guards, case)
        made.warnings += case.warnings
        made.notes += case.notes
        if bound.missing:
            raise _unbound(analysis, bound, made.data)
        if same := self._planned(bound, made, priority):
            return same
        made.open.append(bound.spec.name)
        inputs = self._rows_first(bound, made)
        for practice in analysis.practice:
            if practice.when == "before":
                self._add_practice(practice, case, made, inputs)
        node = self._add_bound(bound, made, inputs, priority=priority)
        for practice in analysis.practice:
            if practice.when == "after":
                self._add_practice(practice, case, made, inputs)
        made.open.pop()
        return node

    @staticmethod
    def _planned(bound: Bound, made: _Made, priority: int) -> str:
        """Return the first step of a goal that is in the plan already, or ""; all of them then count as its answer."""
        same = [
            n
            for n in made.builder.nodes
            if n.tool == bound.spec.name and all(n.params.get(k) == v for k, v in bound.params.items())
        ]
        for node in same:
            made.builder.raise_priority(node.id, priority)
        return same[0].id if same else ""

    def _add_bound(self, bound: Bound, made: _Made, inputs: dict[str, str], *, priority: int, name: str = "") -> str:
        spec = bound.spec
        split = next((p for p in spec.params if p.each and not bound.params.get(p.name)), None)
        if split is not None:
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
            title = name or _title(bound) or (f"{spec.title}: {told}" if told else "")
            node = made.builder.add(
                spec, {**label, **bound.params}, inputs=wired, reasons=reasons, name=title, priority=priority
            )
        seen = {q.id for q in made.questions}
        for asked in bound.questions:
            key = f"{node}_{asked.id}"
            twin = next(
                (
                    q
                    for q in made.questions
                    if q.param == asked.param and q.proposed == asked.proposed and q.text == asked.text
                ),
                None,
            )
            if twin is not None:
                made.questions[made.questions.index(twin)] = twin.model_copy(update={"also": [*twin.also, node]})
            elif key not in seen:
                made.questions.append(asked.model_copy(update={"id": key, "node": node}))
        return node

    def _branches(self, bound: Bound, made: _Made, inputs: dict[str, str]) -> list[tuple[dict[str, str], str]]:
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
            files = given.files.get(port.name, [])
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

    def _makers_of(self, port: InputSpec, bound: Bound, made: _Made) -> dict[str, str]:
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
        before = next((n.params for n in made.builder.nodes if ref.startswith(f"{n.id}.")), {})
        found = {}
        for value in [said[split.name]] if split.name in said else split.each:
            text = _in_other_words(split, str(value), before)
            params = {**said, split.name: value}
            node = made.builder.add(maker, params, inputs={source.name: ref}, name=f"{maker.title}: {text}", reasons=[f"Makes the {port.type.value.replace('_', ' ')} a later step needs."])  # fmt: skip
            found[f"{node}.{output}"] = text
        return found

    def _rows_first(self, bound: Bound, made: _Made) -> dict[str, str]:
        """Add the step that keeps the rows the question is about, and return the input it makes."""
        own = next((p for p in bound.spec.params if p.role == "rows"), None)
        text = condition(bound.rows, made.data)
        if own is not None:
            bound.params.setdefault(own.name, text)
            return {}
        port = next((p for p in bound.spec.inputs if takes_rows(p.type)), None)
        if not bound.rows or port is None:
            return {}
        step = next((t for t in self._registry if any(p.role == "rows" for p in t.params)), None)
        if step is None:
            return {}
        param = next(p.name for p in step.params if p.role == "rows")
        for item in bound.rows:
            value = f"{item.column} {item.op} {', '.join(item.values)}"
            made.reading.used.update(dict.fromkeys(range(item.first, item.last + 1), ("restriction", value, 1.0)))
        output = step.outputs[0].name
        for node in made.builder.nodes:
            if node.tool == step.name and node.params.get(param) == text:
                return {port.name: f"{node.id}.{output}"}
        sheet = bound.sheets.get(port.name)
        inputs = {step.inputs[0].name: made.builder.use(sheet, DataType.TABLE)} if sheet else {}
        why = ["The question is about these rows only."]
        kept = made.builder.add(step, {param: text}, inputs=inputs, reasons=why)
        return {port.name: f"{kept}.{output}"}

    def _add_practice(self, practice: Practice, case: Case, made: _Made, inputs: dict[str, str]) -> None:
        planned = {node.tool for node in made.builder.nodes} | set(made.open)
        if practice.tool not in self._registry or practice.tool in planned:
            return
        spec = self._registry.get(practice.tool)
        lacking = next(
            (port for port in spec.inputs if not port.optional and not made.builder.can_make(port.type)), None
        )
        if lacking is not None:
            if practice.asked and all(holds(name, Bound(spec), made.reading) for name in practice.only):
                made.not_answered += _left_out(missing([], spec, lacking.type), made)
            return
        given = {key: self._value(value, case) for key, value in practice.params.items()}
        bound = bind(spec, made.reading, made.data, given={k: v for k, v in given.items() if v not in (None, "")})
        if not all(holds(name, bound, made.reading) for name in practice.only) or bound.missing:
            return
        settled = list(bound.params)
        bound.params = {**{k: v for k, v in practice.habits.items() if k not in bound.params}, **bound.params}
        bound.reasons = [practice.why]
        shared = {port.name: ref for port in spec.inputs for name, ref in inputs.items() if port.name == name}
        before = len(made.builder.nodes)
        node = self._add_bound(
            bound, made, shared, priority=1 if practice.when == "after" and spec.task_type == "analysis" else 0
        )
        if practice.habits:
            for at in range(before, len(made.builder.nodes)):
                item = made.builder.nodes[at]
                if item.id == node:
                    kept = {k: v for k, v in item.settled.items() if k in settled}
                    made.builder.nodes[at] = item.model_copy(update={"settled": kept})

    @staticmethod
    def _value(value: object, case: Case) -> object:
        """Return a declared value; `=KEY` is the answering step's parameter or what a guard found out."""
        if isinstance(value, str) and value.startswith("="):
            return case.bound.params.get(value[1:]) or case.facts.get(value[1:], "")
        return value

    def _on_the_way(self, spec: ToolSpec, made: _Made) -> str | None:
        """Plan a tool with required parameters because its output is needed, with all that belongs to it."""
        analysis = next((self._analyses[key] for key in spec.answers if key in self._analyses), None)
        bound = bind(spec, made.reading, made.data)
        if analysis is None:
            return None
        made.bounds.append(bound)
        return self._add_goal(analysis, bound, made, priority=1)

    # ==== finish ====

    def _finished(
        self, goals: list[Candidate], every: list[Candidate], made: _Made, profiles: list[Profile], *, told: bool
    ) -> TaskDag:
        reading = made.reading
        answered = [goal for goal in goals if goal.bound in made.bounds] or goals
        done = [key for node in made.builder.nodes for key in self._registry.get(node.tool).answers]
        left = unexplained(reading, done, made.bounds, [p.name for p in profiles])
        made.questions += doubts(reading, left)
        alternatives = _alternatives(every, {goal.analysis.id for goal in answered})
        unsure = answered[0].probability < SURE or answered[0].wording < HEARD or answered[0].unmet
        if len(answered) == 1 and unsure and not told:
            made.questions.insert(0, _did_you_mean(answered[0], alternatives))
            own = Alternative(
                id=answered[0].analysis.id, probability=round(answered[0].probability, 3), says=_says(answered[0])
            )
            alternatives = [own, *alternatives[:2]]
        taken = {name for bound in made.bounds for name in bound.columns()}
        for name in dict.fromkeys(name for bound in made.bounds for name in bound.unused if name not in taken):
            made.not_answered.append(f"{name!r} is named in the question and has no part in this plan.")
        fillers = [at for at in range(len(reading.words)) if at not in reading.used and at not in left]
        plan = TaskDag(
            question=reading.question, datasets=made.builder.used_datasets(), nodes=made.builder.nodes, open_questions=made.questions,
            warnings=list(dict.fromkeys([*made.warnings, *self._about_data(made, profiles)])), notes=made.notes,
            understood=reading.spans(fillers), alternatives=alternatives, not_answered=list(dict.fromkeys(made.not_answered)),
            analysis=[Chosen(id=g.analysis.id, probability=round(g.probability, 3)) for g in answered],
        )  # fmt: skip
        problems = [i for i in check_plan(plan, self._registry) if i.severity == "error" and i.code != "open_question"]
        wanted = {(q.node, q.param) for q in plan.open_questions if q.blocking}
        problems = [
            p for p in problems if not (p.code == "missing_param" and any(p.where == node for node, _ in wanted))
        ]
        if problems:
            message = f"The plan does not fit together: {problems[0].message}"
            raise PlanError(message, details={"issues": [p.model_dump() for p in problems]})
        return plan

    @staticmethod
    def _about_data(made: _Made, profiles: list[Profile]) -> list[str]:
        used = {dataset.path for dataset in made.builder.used_datasets()}
        own = [warning for profile in profiles if profile.path in used for warning in profile.warnings]
        unused = [
            f"{profile.name} was not used: {why_not(profile)}" for profile in profiles if profile.path not in used
        ]
        return [*cross_check([profile for profile in profiles if profile.path in used]), *own, *unused]


_FOLLOWS = re.compile(
    r"^\W*(?:and|but|now|also|then|what about|how about|same|instead|only|the same|without|excluding|just)\b|\binstead\W*$",
    re.IGNORECASE,
)


def goes_on(question: str) -> bool:
    """Say whether a question is a few words that go on from the one before: `and for the women only?`."""
    return len(question.split()) <= 9 and _FOLLOWS.search(question) is not None


def _require_data(profiles: list[Profile], data: Data) -> None:
    if not profiles:
        message = "No data file came with the question."
        raise PlanError(message, advice="Add the file (CSV, TSV, Excel, h5ad, GMT...) that holds the data to analyse.")
    if not data.sheets:
        message = " ".join(why_not(profile) for profile in profiles)
        raise DataError(message, advice="Give a file that holds data, for example a CSV table or an h5ad file.")


def _left_out(err: PlanError, made: _Made) -> list[str]:
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
    levels = [
        bound.params.get(p.name) for role in ("interest", "reference") for p in bound.spec.params if p.role == role
    ]
    return f"{bound.spec.title}: {levels[0]} against {levels[1]}" if len(levels) == 2 and all(levels) else ""


def _unbound(analysis: Analysis, bound: Bound, data: Data) -> PlanError:
    """Return the error for a step that lacks a column no word names: what is meant by it and what could be named."""
    param = bound.missing[0]
    sheet = bound.sheet
    names = ", ".join(c.name for c in (sheet.columns if sheet else data.columns())[:12])
    message = (
        f"The question asks for {analysis.name}, but names no column for: {param.description.rstrip('.').lower()}."
    )
    where = sheet.name if sheet else "the data"
    return NotUnderstood(
        message,
        advice=f"The columns of {where} are {names}. Name one in the question.",
        details={"analysis": analysis.id},
    )


def _alternatives(every: list[Candidate], chosen: set[str]) -> list[Alternative]:
    others = [
        c
        for c in every
        if c.analysis.id not in chosen and c.feasible and not c.unmet and c.probability >= 0.03 and c.analysis.data
    ]
    return [Alternative(id=c.analysis.id, probability=round(c.probability, 3), says=_says(c)) for c in others[:3]]


def _says(item: Candidate) -> str:
    """Return in a sentence what an analysis would compare or compute here."""
    if item.bound is None:
        return f"{item.analysis.name.capitalize()}: {item.analysis.asks} (no tool carries it out yet)"
    columns = ", ".join(dict.fromkeys(item.bound.columns()))
    return f"{item.analysis.name.capitalize()}: {item.analysis.asks}" + (f", of {columns}" if columns else "")


def _did_you_mean(goal: Candidate, alternatives: list[Alternative]) -> OpenQuestion:
    return OpenQuestion(
        id="analysis", text=f"Is {_says(goal)[0].lower() + _says(goal)[1:]} what is meant?",
        why=("The wording fits this best, but others come near: " + "; ".join(a.says for a in alternatives) + ".") if alternatives
        else "The wording says little; nothing else comes near.",
        choices=[goal.analysis.id, *(a.id for a in alternatives)], proposed=goal.analysis.id, blocking=True,
    )  # fmt: skip


def _not_understood(data: Data, found: ToolSearch | None, every: list[Candidate]) -> NotUnderstood:
    files = ", ".join(sheet.name for sheet in data.sheets)
    message = "The question names nothing that can be analysed in these files."
    could = "; ".join(_says(c) for c in every[:3] if c.feasible and c.analysis.data)
    advice = (
        f"Did you mean: {could}?"
        if could
        else f"{files} can be asked about {', '.join(c.name for c in data.columns()[:12])}."
    )
    near = found.tools[:3] if found else []
    if near:
        names = "; ".join(
            f"{t.name} ({'built in' if t.runnable else f'{t.catalogue}, not runnable here'})" for t in near
        )
        advice += f" Nearest in the catalogues: {names}."
    return NotUnderstood(message, advice=advice)


def _retrieved(every: list[Candidate], found: ToolSearch | None) -> list[str]:
    own = [c.bound.spec.name for c in every if c.bound is not None]
    return list(dict.fromkeys([*own, *(t.name for t in (found.tools if found else []) if t.runnable)]))[:15]


__all__ = ["NotUnderstood", "Planner", "Proposal", "in_words"]
