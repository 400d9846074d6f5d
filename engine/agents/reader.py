"""The reader: a model says what a question asks for; the planner holds that against the data and makes the plan.

What it says is checked by the same code as everything else (`engine.planning.told`), and what does not fit goes back to
it. It reads where the rules could not, or were in doubt; a reading that never fits costs nothing but its tokens.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pydantic import Field

from engine.agents.asks import Asks, ModelAnswer
from engine.agents.coder import Coder, CodeWanted
from engine.agents.describe import files_text, others_text, tool_text, without_levels
from engine.agents.prompt_files import load_prompt
from engine.agents.reviewer import MEETS
from engine.domain.base import Value
from engine.domain.datatypes import DataType
from engine.domain.plan import OpenQuestion, TaskDag, TaskNode, texts_of
from engine.domain.profile import Profile
from engine.domain.toolspec import ToolSpec
from engine.errors import ModelUnavailable, PlanError
from engine.planning.making.finish import PlanProposal
from engine.planning.planner import Planner
from engine.planning.told.check import of_told_sheets, without_values
from engine.planning.told.goals import ToldGoal, ToldPlan
from engine.planning.told.unheard import surely_heard, unheard
from engine.toolbox.registry import ToolRegistry
from engine.toolbox.shelf import Shelf

_log = logging.getLogger(__name__)
MOST_CODE = 2
"""So many parts of a question may be answered by code."""
SHOWN = 8
"""So many tools are shown with their parameters; others are asked for by name."""
SOUGHT = 2
"""So many of the tools that the search for words of the question found are among them."""
ROUNDS = 3
"""A reading may be given so many times: once, and anew after each list of what did not fit."""

CODE = (
    "What no listed tool does can be written as code, which runs in a sandbox after the person has read it: describe "
    "it in `code`, with what a good result must meet. A listed tool is always better than code."
)
READ = "Read this question."
REVISE = (
    "The plan for this question has run; what came of it is told at the end. Read the question anew, so that it is "
    "answered in another way where that is needed; goals that need no other way are given again as they were. A goal "
    "that failed and has no other way is left out. What these data cannot answer goes into `not_answered`."
)
ASK_AGAIN = "To answer it, ask again with the answer in the question."
NO_CODE = "Code cannot be written here: leave `code` empty."


class AskBack(Value):
    """A question that neither data nor words settle."""

    text: str
    choices: list[str] = []
    taken: str = Field(
        default="",
        description="The answer that the reading you give rests on. Empty where none is honest: the plan then waits.",
    )


class ReadQuestion(ToldPlan):
    """What the model answers."""

    code: list[CodeWanted] = Field(default=[], max_length=MOST_CODE)

    criteria: list[str] = Field(
        default=[], max_length=4, description="What a good answer must meet, written before anything is computed."
    )
    see: list[str] = Field(default=[], description="Further tools to be shown with their parameters.")
    ask: AskBack | None = None


class _AskedInstead(PlanError):
    """The reader gave no reading that could run: it asks the person first."""

    def __init__(self, read: ReadQuestion) -> None:
        self.read = read
        asked = f"{read.ask.text} {_choices(read.ask.choices)}".strip() if read.ask else ""
        super().__init__(" ".join([*read.not_answered, *filter(None, [asked])]))


@dataclass(frozen=True, slots=True)
class QuestionReader:
    """Has questions read by the model of the role `reasoning`."""

    models: Asks
    planner: Planner
    registry: ToolRegistry
    levels: bool = True
    """Whether values of groups may leave the machine."""
    coder: Coder | None = None
    shelf: Shelf | None = None
    """Where written tools are kept; with a coder, what no tool does is written as code."""

    def unless_sure(
        self,
        by_rules: Callable[[], PlanProposal],
        question: str,
        profiles: list[Profile],
        near: Sequence[str],
        before: TaskDag | None,
        faults: list[str],
        run_id: str = "",
    ) -> PlanProposal:
        """Return the plan of the rules where they are sure and leave nothing open, else what the model reads or theirs.

        Args:
            by_rules: makes the plan of the rules, or raises why it cannot.
            question: what is asked.
            profiles: the files.
            near: tools that a search found.
            before: the plan that the question may go on from.
            faults: a sentence is added when a model was asked and its reading could not be used.
            run_id: the run that the calls are counted for.

        Raises:
            PlanError: of the rules, with what the model says of it, where neither makes a plan.
        """
        made: PlanProposal | None = None
        refused: PlanError | None = None
        try:
            made = by_rules()
        except PlanError as err:
            refused = err
        # What a model read the rules may not follow: they would go on from the words and lose what it made of them.
        follows = before is not None and bool(before.told)
        doubts = self._doubts(made.plan, profiles) if made is not None else [refused.message] if refused else []
        sure = made is not None and not doubts and not follows and surely_heard(made.plan)
        if not profiles or sure:
            return _made_or(made, refused)
        doubts = doubts if self.levels else [without_levels(doubt, profiles, question) for doubt in doubts]
        first = [*self._doing(made.plan if made is not None else None), *self.planner.nearest(question, profiles)]
        try:
            read = self.plan(question, profiles, [*first, *near[:SOUGHT]], before=before, run_id=run_id, doubts=doubts)
            return self._beside_the_rules(read, made, doubts)
        except _AskedInstead as err:
            if made is None:
                raise PlanError(err.message, advice=ASK_AGAIN, details=refused.details if refused else {}) from err
            return _with_question(made, err.read)
        except PlanError as err:
            said = err.message if not err.details.get("issues") else ""
            if refused is not None and said:
                raise PlanError(said, advice=refused.advice, details=refused.details) from refused
            unfit = said or f"Its reading did not fit: {' '.join(_issues(err))}"
            faults.append(f"A model was asked to read the question too. {unfit}")
            if refused is not None:  # without a plan nobody would see the fault
                message = f"{refused.message} {faults[-1]}"
                raise PlanError(message, advice=refused.advice, details=refused.details) from err
            return _with_fault(_made_or(made, refused), faults[-1])
        except ModelUnavailable as err:
            faults.append(f"No model could read the question ({err.message}); it was read by rules alone.")
        return _made_or(made, refused)

    def _doing(self, plan: TaskDag | None) -> list[str]:
        """Return the tools of what a plan of the rules does and of what else it may be: the likeliest to be named."""
        asked = [one.id for one in (*plan.analysis, *plan.alternatives)] if plan is not None else []
        return [spec.name for analysis in asked for spec in self.registry if analysis in spec.answers]

    def _doubts(self, plan: TaskDag, profiles: Sequence[Profile]) -> list[str]:
        """Return what a plan of the rules leaves open or out, or may have overheard, a sentence each."""
        asked = [f"{q.text} {q.why} {_choices(q.choices)}".strip() for q in plan.open_questions if q.required]
        return [*asked, *plan.not_answered, *unheard(plan, profiles, self.registry)]

    def _beside_the_rules(self, read: PlanProposal, made: PlanProposal | None, doubts: Sequence[str]) -> PlanProposal:
        """Return what a model read; the plan of the rules where it is the same and they left nothing open."""
        if made is None:
            return read
        return made if not doubts and _agree(read.plan, made.plan) else self._with_turned_sides(read, made.plan)

    def _with_turned_sides(self, read: PlanProposal, rules: TaskDag) -> PlanProposal:
        """Return what a model read, with a warning where the rules had the same two groups the other way round."""
        theirs = {sides for node in rules.nodes for sides in self._sides(node)}
        turned = [
            f"The reader of the question compares {first!r} with {second!r} of {column!r}, the rules read it the other "
            "way round: make sure that the direction is the one you mean."
            for node in read.plan.nodes
            for column, first, second in self._sides(node)
            if (column, second, first) in theirs
        ]
        plan = read.plan.model_copy(update={"warnings": [*dict.fromkeys(turned), *read.plan.warnings]})
        return PlanProposal(plan=plan, retrieved=read.retrieved)

    def _sides(self, node: TaskNode) -> Iterator[tuple[str, str, str]]:
        """Yield column, group of interest and the group it is compared with, where a step names both."""
        spec = self.registry.get(node.tool)
        for of in dict.fromkeys(param.of for param in spec.params if param.kind == "level"):
            named = [node.params.get(param.name) for param in spec.params if param.kind == "level" and param.of == of]
            if len(named) == len(list(filter(None, named))) == 2:
                yield str(node.params.get(of, "")), str(named[0]), str(named[1])

    def plan(
        self,
        question: str,
        profiles: list[Profile],
        near: Sequence[str],
        *,
        before: TaskDag | None = None,
        run_id: str = "",
        known: Sequence[str] = (),
        doubts: Sequence[str] = (),
        task: str = READ,
    ) -> PlanProposal:
        """Return the plan of what the model reads in a question.

        Args:
            question: what is asked.
            profiles: the files.
            near: names of tools that search and rules think of, best first.
            before: the plan that the question may go on from.
            run_id: the run that the calls are counted for.
            known: what is known to be wrong with an earlier reading.
            doubts: what the rules leave open or refuse, or reviewers hold against a result, a sentence each.
            task: what the model is to do.

        Raises:
            PlanError: when the model says that nothing here answers the question, or no reading fits.
            ModelUnavailable: when no model gave an answer.
        """
        able = self.planner.able(profiles)
        sheets = dict[str, str]()
        known_tools = [self.registry.get(name) for name in dict.fromkeys(near) if name in self.registry]
        shown = [spec for spec in known_tools if able(spec)][:SHOWN]
        fixed = {
            "task": task,
            "question": question,
            "before": _before(before),
            "files": self._files(profiles),
            "doubts": "\n".join(doubts),
        }
        issues = list(known)
        offered = [*self.registry, *(self.shelf.offered() if self.shelf else [])]
        left, looked = ROUNDS, False
        while left:
            # What answers nothing that can be asked is a step of others, and no goal.
            others = [s for s in offered if s not in shown and s.answers and s.runnable and able(s)]
            likely = [*shown, *(spec for spec in others if _is_for(spec, profiles))]
            read = self._ask({**fixed, "others": others_text(others, likely)}, shown, issues, run_id)
            only_looks = bool(read.value.see or read.value.sheets) and not _says_anything(read.value)
            left -= looked or not only_looks  # to look at tools or a sheet once is no reading
            looked = looked or only_looks
            if _only_asks(read.value):
                raise _AskedInstead(read.value)
            try:
                if read.value.sheets:
                    profiles = of_told_sheets(profiles, read.value.sheets)
                    sheets |= read.value.sheets
                    able, fixed["files"] = self.planner.able(profiles), self._files(profiles)
                if only_looks:
                    issues = [*known, *self._show(read.value.see, shown)]
                    continue
                meant = read.value.model_copy(update={"sheets": sheets})
                told = self._with_code(meant, question, profiles, run_id)
                made = self.planner.plan_told(question, profiles, told, last=not left)
            except PlanError as err:
                unfit = _issues(err)
                if not (unfit or read.value.goals):  # the model itself says that nothing answers
                    raise
                unfit = unfit or [f"{err.message} {err.advice}".strip()]
                _log.info("A reading by %s did not fit: %s", read.model, "; ".join(unfit))
                if not self.levels:
                    unfit = [without_levels(without_values(issue), profiles, question) for issue in unfit]
                issues = [*known, *unfit]
                continue
            written = [node.id for node in made.plan.nodes if self.registry.is_aside(node.tool)]
            plan = _told_by(made.plan, read, written, levels=self.levels)
            return PlanProposal(plan=plan, retrieved=made.retrieved)
        raise PlanError("No reading of the model fits the data.", details={"issues": issues[len(known) :]})

    def revise(
        self,
        ran: TaskDag,
        profiles: list[Profile],
        why: Sequence[str],
        *,
        doubts: Sequence[str] = (),
        run_id: str = "",
    ) -> PlanProposal:
        """Return the plan of another reading of a question, given what came of the plan that ran.

        Args:
            ran: the plan.
            profiles: the files.
            why: what failed or was held to be wrong, one sentence each.
            doubts: what reviewers held against this result and those before it, one sentence each.
            run_id: the run that the calls are counted for.

        Raises:
            PlanError: when the model says that nothing here answers the question, or no reading fits.
            ModelUnavailable: when no model gave an answer.
        """
        near = [*dict.fromkeys(node.tool for node in ran.nodes), *self.planner.nearest(ran.question, profiles)]
        tools = "\n".join(f"{node.id} {node.tool} {_params(node)}" for node in ran.nodes)
        known = [f"The plan that ran:\n{tools}", *(why if self.levels else map(without_values, why))]
        held = doubts if self.levels else [without_levels(doubt, profiles, ran.question) for doubt in doubts]
        made = self.plan(ran.question, profiles, near, run_id=run_id, known=known, doubts=held, task=REVISE)
        return self._with_turned_sides(made, ran)

    def _files(self, profiles: list[Profile]) -> str:
        told = files_text(profiles, levels=self.levels), self.planner.told_together(profiles)
        return "\n\n".join(filter(None, told))

    def _show(self, names: Sequence[str], shown: list[ToolSpec]) -> list[str]:
        """Add tools to those that are shown; return what is wrong with the names that add none."""
        known = {spec.name for spec in shown}
        shown += [
            self.registry.get(name) for name in dict.fromkeys(names) if name in self.registry and name not in known
        ]
        issues = [f"There is no tool {name!r} to be shown." for name in names if name not in self.registry]
        # Without a word of it the same would be asked again, and an answer that is kept would be given again.
        return issues + [
            f"{name} is shown with its parameters already: read the question." for name in names if name in known
        ]

    def _with_code(self, read: ReadQuestion, question: str, profiles: list[Profile], run_id: str) -> ToldPlan:
        """Return a reading with code written for what no tool does, kept as drafts, as goals.

        Raises:
            PlanError: when nothing else is answered and no code has the form of a tool.
            ModelUnavailable: when nothing else is answered and no model writes code.
        """
        if self.coder is None or self.shelf is None:
            return read
        goals, left = [*read.goals], [*read.not_answered]
        for wanted in read.code:
            try:
                wrote = self.coder.write(wanted, question, profiles, run_id=run_id)
            except (PlanError, ModelUnavailable) as err:
                if not goals:
                    raise
                left.append(f"No code was written for this part: {wanted.task.rstrip('.')}. {err.message}")
                continue
            self.shelf.keep(wrote.tool, by=wrote.tool.model)
            why = f"No tool does this, so {wrote.tool.model} wrote code for it."
            goals.append(ToldGoal(tool=wrote.tool.name, files=wrote.files, params=wrote.params, why=why))
        return read.model_copy(update={"goals": goals, "not_answered": left})

    def _ask(
        self, known: dict[str, str], shown: list[ToolSpec], issues: list[str], run_id: str
    ) -> ModelAnswer[ReadQuestion]:
        system, user = load_prompt("read_question").filled(
            **known,
            tools="\n\n".join(map(tool_text, shown)),
            code=CODE if self.coder and self.shelf else NO_CODE,
            complaints="\n".join(issues),
        )
        return self.models.ask("reasoning", system, user, ReadQuestion, purpose="read the question", run_id=run_id)


def _is_for(spec: ToolSpec, profiles: Sequence[Profile]) -> bool:
    """Say whether a tool needs what a file is by itself, beyond a table, which nearly every tool can be given."""
    kinds = {guess.type for profile in profiles for guess in profile.types} - {DataType.TABLE}
    return any(port.type in kinds for port in spec.inputs if not port.optional)


def _agree(read: TaskDag, rules: TaskDag) -> bool:
    """Say whether a reading has the steps of the rules, and leaves nothing open or out."""
    steps = zip(read.order(), rules.order(), strict=False)
    same = len(read.nodes) == len(rules.nodes) and all(_same(ours, theirs) for ours, theirs in steps)
    return same and not read.open_questions and not read.not_answered


def _same(ours: TaskNode, theirs: TaskNode) -> bool:
    """Say whether a step of the rules does what another does: what it has more says again what both say."""
    said = {text for value in ours.params.values() for text in texts_of(value)}
    more = [text for name, value in theirs.params.items() if name not in ours.params for text in texts_of(value)]
    equal = all(theirs.params.get(name) == value for name, value in ours.params.items())
    return (ours.tool, ours.inputs) == (theirs.tool, theirs.inputs) and equal and said.issuperset(more)


def _only_asks(read: ReadQuestion) -> bool:
    """Say whether all that a reading has is a question: code is not written before what it rests on is settled."""
    return read.ask is not None and not read.goals and not (read.code and read.ask.taken)


def _with_question(made: PlanProposal, read: ReadQuestion) -> PlanProposal:
    """Return the plan of the rules with what a reader holds against it, which is answered before anything runs."""
    assert read.ask is not None
    why = f"A model that read the question plans nothing before this is settled; the plan is of the rules. {ASK_AGAIN}"
    asked = OpenQuestion(id="reader_0", text=read.ask.text, why=why, choices=read.ask.choices, blocking=True)
    plan = made.plan
    left = [*dict.fromkeys([*plan.not_answered, *read.not_answered])]
    update = {"open_questions": [asked, *plan.open_questions], "not_answered": left}
    return PlanProposal(plan=plan.model_copy(update=update), retrieved=made.retrieved)


def _issues(err: PlanError) -> list[str]:
    """Return each thing that an error says to be wrong, as a sentence."""
    listed = err.details.get("issues", [])
    return [str(issue.get("message", issue)) if isinstance(issue, dict) else str(issue) for issue in listed]


def _says_anything(read: ReadQuestion) -> bool:
    """Say whether an answer is more than a wish to be shown tools."""
    return bool(read.goals or read.code or read.not_answered or read.ask)


def _made_or(made: PlanProposal | None, refused: PlanError | None) -> PlanProposal:
    if made is None:
        raise refused or PlanError("The question leads to no plan.")
    return made


def _with_fault(made: PlanProposal, fault: str) -> PlanProposal:
    """Return the plan of the rules with why no model's reading stands in its place: who approves it must know."""
    plan = made.plan.model_copy(update={"warnings": [fault, *made.plan.warnings]})
    return PlanProposal(plan=plan, retrieved=made.retrieved)


def _before(plan: TaskDag | None) -> str:
    """Return what a question may go on from: the question before, and its steps."""
    if plan is None:
        return ""
    steps = "\n".join(f"{node.tool} {_params(node)}" for node in plan.nodes)
    return f"{plan.question}\n{steps}"


def _choices(choices: Sequence[str]) -> str:
    return f"Choices: {', '.join(map(repr, choices))}." if len(choices) > 1 else ""


def _params(node: TaskNode) -> str:
    return json.dumps(node.params, ensure_ascii=False)


def _told_by(plan: TaskDag, read: ModelAnswer[ReadQuestion], written: Sequence[str], *, levels: bool) -> TaskDag:
    """Return the plan with who read the question, which steps are written code, and what the reader asks back."""
    warned = [
        f"Step {node} is code that a model wrote for this question: read it, no test of the desk covers it."
        for node in written
    ]
    note = (
        f"The question was read by {read.model}; the plan was bound and checked by the same rules as without a model."
    )
    asked = [
        OpenQuestion(
            id="reader_0",
            text=ask.text,
            why=f"The reader of the question asks it. {ASK_AGAIN}",
            choices=ask.choices,
            proposed=ask.taken or None,
            blocking=not ask.taken,
        )
        for ask in filter(None, [read.value.ask])
    ]
    # A run that approves itself passes over an open question: what the plan rests on is said among its limits.
    warned += [
        f"This rests on an answer that nobody gave: {question.text} Taken: {question.proposed}. If it is another, "
        "ask again and say so."
        for question in asked
        if not question.blocking
    ]
    told = (
        ", values of groups, what was found wrong with a file, names of what a matrix measures and what a sheet says "
        "that explains a table"
    )
    sent = "names and ranges of columns, how they are written" + (told if levels else "")
    left = f"What left this machine for it: the question, {sent}; no row."
    criteria = [*read.value.criteria, *(text for wanted in read.value.code for text in wanted.criteria)]
    met = [f"{MEETS}{text}" for text in dict.fromkeys(criteria)]
    told = {"notes": [*plan.notes, *met, note, left], "warnings": [*warned, *plan.warnings]}
    return plan.model_copy(update={**told, "open_questions": [*plan.open_questions, *asked]})
