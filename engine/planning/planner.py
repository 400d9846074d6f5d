"""From a question and the profiles of its data to a checked plan. Read this first.

    read      which columns, levels, numbers and genes the words name, and what grammar makes of them      (`read`)
    choose    which analyses the wording asks for, weighed by what the data can serve                        (`choose`, `score`)
    bind      named columns to the parameters of the tools that answer them, all at once                    (`bind`)
    guard     what would spoil the analysis is repaired, asked, warned of or refused                        (`guards`, `designs`)
    practice  what belongs around it, declared with a reason                                                (`assemble`, `builder`)
    coverage  what no part of the plan answers to is shown, asked or refused                                (`coverage`)

Nothing here knows a tool or a field by name. What cannot be known becomes an open question; what cannot be planned becomes an
error that says what is missing, never a neighbour's answer.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from engine.domain.datatypes import DataType
from engine.domain.plan import Alternative, Chosen, OpenQuestion, TaskDag
from engine.domain.profile import Profile
from engine.domain.retrieval import ToolSearch
from engine.domain.toolspec import ToolSpec
from engine.errors import EngineError, PlanError
from engine.planning.assemble import Assembler, Making
from engine.planning.bind import bind
from engine.planning.bound import Bound
from engine.planning.builder import in_words, why_not
from engine.planning.choose import Embed, Wording, probabilities
from engine.planning.conditions import members
from engine.planning.coverage import doubts, leaves_what_is_asked, unexplained
from engine.planning.declared import mark_told, with_missing
from engine.planning.first_end import with_first_end
from engine.planning.followups import Try, back_to, choices, follow_up, mended, sides_set, takes_back, with_what_was_set
from engine.planning.hints import names_only_whom
from engine.planning.mentions import SURE as SURE_NAMED
from engine.planning.near import near
from engine.planning.offers import offers
from engine.planning.read import interpret, read, within
from engine.planning.reading import Reading, Request
from engine.planning.refusals import (
    NotUnderstood,
    alternatives_of,
    did_you_mean,
    no_data,
    not_understood,
    nothing_called,
    require_data,
    says,
)
from engine.planning.requests import cuts, items_alone
from engine.planning.score import Candidate, can_be_done, candidates, stretch
from engine.planning.sheets import Data, is_id
from engine.planning.sides import with_sides
from engine.planning.subgroups import Each, apart, each_level, holds, relates, without
from engine.planning.suggestions import first_ideas, next_ideas
from engine.planning.views import data_made, with_joined, with_list_as_set, with_measure, with_spans, with_subjects
from engine.planning.ways import not_done
from engine.profiling.matching import cross_check
from engine.text.stopwords import STOP
from engine.text.tokens import tokens
from engine.toolbox.analyses import load_analyses
from engine.toolbox.registry import ToolRegistry
from engine.toolbox.typecheck import check_plan

NOT_ALONE = "was not understood by itself; ask it alone."
"""How the sentence ends that names a part of a question which says too little."""
SURE = 0.5
"""From this probability on no near analysis is put in the place of the likeliest."""
CLEAR = 0.65
"""From this probability on a plan is made without asking whether it is the one that was meant."""
LIKELY, FAR = 0.35, 4.0
"""Or from this probability on, when it is so many times the next one's: what is left is spread over many."""
HEARD = 0.06
"""An analysis that the data put in place of another must at least be this likely by the words."""
LEAST = 0.01
"""An analysis that the data put in the place of another is asked about when the words themselves give it less."""
HEIR = 0.2
"""What is meant where the data do not meet an analysis is taken when it is at least this much as likely."""
NEAR = 0.4
"""A step that can be done is proposed instead of an analysis that cannot when it is at least this much as likely."""
POSSIBLE = 0.06
"""Below this nothing is planned."""
NAMED = 0.02
"""A step that is named beside another needs to be at least this likely."""
FAINT = 0.12
"""A request of its own about a measure that is computed first asks for something: from this probability on it is proposed."""
SEVERAL = 0.55
"""How sure each of several requests must be to be planned for itself."""
HALF, ALONE = 0.35, 0.8
"""How likely by its words the analysis of each half of a request must be for it to be taken for two: where words add a request, and where not."""


TRIED = 24
"""So many wordings are planned to find those that are offered."""


Choices = Mapping[str, Mapping[str, Any]]
"""Tool -> parameter -> the value that a person chose for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A plan and the tools that were considered for it, best first."""

    plan: TaskDag
    retrieved: list[str]


class First(NamedTuple):
    """A request to join two files, and what is asked after it."""

    goal: Candidate
    request: Request
    rest: list[Request]


def joins(spec: ToolSpec) -> bool:
    """Say whether a step joins two tables on a key of each."""
    return len({p.of for p in spec.params if p.role == "key"}) > 1 and any(
        o.type is DataType.TABLE for o in spec.outputs
    )


class Planner:
    """The rule-based planner."""

    def __init__(self, registry: ToolRegistry, embed: Embed | None = None) -> None:
        """Take the tools, and what turns texts into vectors (planning works without, a little less well)."""
        self._registry = registry
        self._embed = embed
        self._analyses = load_analyses()
        self._assembler = Assembler(registry, self._analyses)
        names = [name for spec in registry for name in (spec.title, *spec.keywords)]
        said = [tokens(name) for name in names if " " in name or "-" in name or name.isupper()]
        # `over the weeks` is no term: its week may well be a column.
        terms = [words for words in said if len(words) == 1 or sum(word.text not in STOP for word in words) > 1]
        self._terms = frozenset(tuple(word.stem for word in words) for words in terms)

    def warm(self) -> None:
        """Load what the first plan would wait for."""
        probabilities([Wording("which", "which")], self._embed)

    def plan(
        self, question: str, profiles: list[Profile], found: ToolSearch | None = None, *, analysis: str = "",
        previous: TaskDag | None = None, chosen: Choices | None = None, earlier: Sequence[TaskDag] = (),
    ) -> Proposal:  # fmt: skip
        """Return a plan that type-checks.

        Args:
            question: what is asked.
            profiles: what the files can serve as.
            found: what the search over all catalogues found; where nothing answers the question, the error names the nearest.
            analysis: the analysis to plan, where a person has chosen one.
            previous: the last plan of the conversation, for questions that go on from it.
            chosen: tool -> parameter -> value that a person chose for it.
            earlier: the plans of the conversation before that, newest first, for a question that takes a step back.

        Raises:
            PlanError: when the question cannot be planned on these data; the message says what is missing.
            DataError: when none of the files can be used.
        """
        question = " ".join(question.split())
        if previous is not None and profiles and takes_back(question):
            plan = back_to(previous, earlier, profiles)
            return Proposal(plan=plan, retrieved=list(dict.fromkeys(node.tool for node in plan.nodes)))
        if previous is not None and profiles:
            made = self._going_on(question, profiles, found, analysis, previous, chosen or {})
            if made is not None:
                return made
        return self._planned(question, profiles, found, analysis, chosen or {})

    def suggest(self, profiles: list[Profile], previous: TaskDag | None = None, *, wanted: int = 3) -> list[str]:
        """Return questions that these files (and the plan before) let plan as they stand: nothing is asked, nothing left out."""
        data = Data.of(profiles)
        if not data.sheets:
            return []
        ideas = (
            first_ideas(data, self._analyses, self._registry)
            if previous is None
            else next_ideas(previous, data, self._analyses, self._registry)
        )
        found: dict[str, str] = {}
        for idea in itertools.islice(ideas, TRIED):
            key = idea.analysis if idea.alone else idea.question
            if key in found or idea.question in found.values():
                continue
            with contextlib.suppress(EngineError):
                plan = self.plan(idea.question, profiles, previous=previous).plan
                fits = not idea.analysis or [c.id for c in plan.analysis] == [idea.analysis]
                if fits and not _doubts(plan) and not any(q.blocking for q in plan.open_questions):
                    found[key] = idea.question
            if len(found) == wanted:
                break
        return list(found.values())

    def _going_on(
        self, question: str, profiles: list[Profile], found: ToolSearch | None, analysis: str, before: TaskDag,
        chosen: Choices,
    ) -> Proposal | None:  # fmt: skip
        """Return the plan of a question that goes on from the one before, None when it stands by itself.

        Raises:
            PlanError: when it goes on, and neither with the question before nor by itself can be planned.
        """
        data = self._data(profiles)
        own, base = read(question, data, self._terms), read(before.question, data, self._terms)
        if (put_right := mended(own)) != question:
            question, own = put_right, read(put_right, data, self._terms)

        def judge(text: str) -> tuple[list[Candidate], Reading]:
            reading = own if text == question else read(text, data, self._terms)
            return self._candidates(reading, data), reading

        said = follow_up(question, own, base, judge, before, data, self._registry)
        if said is None:
            return None
        best: tuple[int, Proposal] | None = None
        failed: PlanError | None = None
        # What the plan before still asked is not settled by going on from it, unless its own words now say it.
        unsettled = {q.proposed for q in before.open_questions if q.id == "analysis" and q.blocking}

        def settled(one: Try) -> bool:
            plain = self._planned(one.question, profiles, found, "", choices(one, chosen)).plan
            return [c.id for c in plan.analysis] == [c.id for c in plain.analysis] and not any(
                q.id == "analysis" for q in plain.open_questions
            )

        for one in said.tries:
            try:
                made = self._planned(one.question, profiles, found, analysis or one.analysis, choices(one, chosen))
                if (turned := sides_set(made.plan, before, said, one, self._registry)) is not None:
                    key = analysis or one.analysis
                    made = self._planned(one.question, profiles, found, key, choices(turned, chosen))
            except PlanError as err:
                failed = err if failed is None or not failed.advice else failed
                continue
            if one.analysis and not any(one.analysis in self._registry.get(n.tool).answers for n in made.plan.nodes):
                failed = failed or PlanError(" ".join(made.plan.not_answered))
                continue
            if not said.is_done(made.plan, one, chosen=bool(analysis)):
                failed = failed or PlanError(
                    f"What {question!r} changes ({one.new}) cannot be done in the analysis before.",
                    advice=f"It was read as going on from {one.kept}. Ask it as a whole question, or say it otherwise.",
                )
                continue
            taken = f"Taken over: {one.kept}. New: {one.new}."
            plan = with_what_was_set(made.plan, before, said, self._registry).model_copy(update={"follows": taken})
            made = replace(
                made,
                plan=plan
                if (one.sure and (one.analysis not in unsettled or settled(one))) or analysis
                else self._asked(
                    plan, one, [*(other.analysis for other in said.tries), *(c.id for c in before.analysis)]
                ),
            )
            doubts = _doubts(made.plan)
            if best is None or doubts < best[0]:
                best = (doubts, made)
            if not doubts:
                break
        if best is None and failed is not None:
            raise failed
        return self._still_open(best[1], before) if best is not None else None

    def _still_open(self, made: Proposal, before: TaskDag) -> Proposal:
        """Return a follow-up's plan that still says which requests of the question before nothing has answered."""
        answered = {key for node in made.plan.nodes for key in self._registry.get(node.tool).answers}
        other = tuple(f"{a.name.capitalize()}: " for a in self._analyses.values() if a.id not in answered)
        lost = [text for text in before.not_answered if text.startswith(other) or text.endswith(NOT_ALONE)]
        return replace(
            made,
            plan=made.plan.model_copy(update={"not_answered": list(dict.fromkeys([*made.plan.not_answered, *lost]))}),
        )

    def _asked(self, plan: TaskDag, one: Try, others: Iterable[str]) -> TaskDag:
        """Return the plan with the question whether this is how the follow-up is meant, and what else could be."""
        keys = list(dict.fromkeys([one.analysis, *filter(None, others)]))[:3]
        says = {key: f"{self._analyses[key].name.capitalize()}: {self._analyses[key].asks}" for key in keys}
        why = "The words go on from the question before and hardly say with what."
        question = OpenQuestion(
            id="analysis", text=f"Is this what is meant? {says[one.analysis]}.", why=why, choices=keys, proposed=one.analysis,
            blocking=True,
        )  # fmt: skip
        choices = [Alternative(id=key, probability=0.0, says=text) for key, text in says.items()]
        return plan.model_copy(update={"open_questions": [question, *plan.open_questions], "alternatives": choices})

    def is_of_data(self, question: str, profiles: list[Profile]) -> bool:
        """Say whether a question names columns or levels of the files."""
        data = Data.of(profiles)
        return bool(data.sheets) and bool(read(question, data, self._terms).mentions)

    def offers(self) -> list[str]:
        """Return what can be computed from files, a line for each field."""
        return offers(self._registry, self._analyses)

    def _data(self, profiles: list[Profile]) -> Data:
        data = Data.of(profiles)
        require_data(profiles, data)
        return with_list_as_set(with_spans(with_subjects(data)))

    def _planned(
        self, question: str, profiles: list[Profile], found: ToolSearch | None, analysis: str, chosen: Choices
    ) -> Proposal:
        data = self._data(profiles)
        reading = read(question, data, self._terms)
        if (told := with_missing(reading, data)) is not data:
            data, profiles = told, [told.again(profile) for profile in profiles]
            reading = read(question, data, self._terms)
            mark_told(reading)
        reading.chosen = chosen
        for seen in (with_sides, with_first_end):
            reading, data = seen(reading, data) or (reading, data)
        every = self._candidates(reading, data)
        listed, lost = list[Candidate](), list[str]()
        if not profiles:
            every = _without_file(every, analysis, self.offers())
        computed = (
            self._told_of_computed(analysis, reading, data) if analysis else self._of_computed(reading, data, every)
        )
        if computed is not None:
            reading, data, goals = computed
        else:
            if not analysis:
                listed, lost = self._listed(reading, data, bool(profiles))
            goals = (
                [self._as_told(analysis, every, reading, data)]
                if analysis
                else listed or self._goals(reading, data, every)
            )
            if len(goals) == 1 and not listed and (each := each_level(reading, data)) is not None:
                reading, goals = self._of_each(each, reading, data, goals, analysis)
        if not goals:
            raise not_understood(data, found, every)
        made = self._assembler.begin(reading, data, functools.partial(near, reading, data, self._embed))
        if not analysis and (first := self._joins_first(reading, data)) is not None:
            self._assembler.answer_all([first.goal], made)
            goals = [first.goal, *self._on_the_joined(first, made)]
        else:
            self._assembler.answer_all(goals, made)
        made.not_answered += [f"{item!r} {NOT_ALONE}" for item in lost]
        plan = self._finished(goals, every, made, profiles, told=bool(analysis))
        return Proposal(plan=plan, retrieved=_retrieved(every, found))

    def _of_each(
        self, each: Each, reading: Reading, data: Data, goals: list[Candidate], analysis: str
    ) -> tuple[Reading, list[Candidate]]:
        """Return what is asked of each level of a column, unless a step gives its results by them itself."""
        inner = without(reading, each, data)
        every = self._candidates(inner, data)
        best = self._as_told(analysis, every, inner, data) if analysis else self._best(every, inner, data)
        first = goals[0]  # `each` alone turns nothing into another analysis, nor takes away a column that has its part
        same = best.analysis.id == first.analysis.id and not (first.bound and each.column in first.bound.columns())
        sure = analysis or (best.probability >= SURE and (each.surely or same))
        if best.bound is None or best.unmet or best.bound.missing or not sure:
            return reading, goals
        if not (each.surely and relates(best.bound)) and any(
            (holds(goal.bound, each.column) and (analysis or goal.probability >= SURE))
            or (goal.bound and each.column in goal.bound.columns() and goal.probability >= CLEAR)
            for goal in goals
        ):
            return reading, goals
        return inner, apart(best, each)

    def _candidates(self, reading: Reading, data: Data) -> list[Candidate]:
        return candidates(reading, data, self._analyses, self._registry, self._embed)

    # ==== choose ====

    def _goals(self, reading: Reading, data: Data, every: list[Candidate]) -> list[Candidate]:
        """Return what to plan: one analysis, or one for each request that is sure of another."""
        if not every:
            return []
        best = self._best(every, reading, data)
        none = max((c.probability for c in every if not c.analysis.data), default=0.0)
        lost = not reading.mentions and not reading.genes and none > 0.5 * best.probability
        if best.probability < POSSIBLE or (lost and best.analysis.data and nothing_called(reading, data)):
            return []  # `which unicorns fly`: no word is of these data, and the wording says little by itself
        reading.requests = self._requests(reading, data)
        goals = self._several(reading, data, best) if len(reading.requests) > 1 else [best]
        return [*goals, *_also(reading, goals, every)]

    def _listed(self, reading: Reading, data: Data, files: bool) -> tuple[list[Candidate], list[str]]:  # noqa: FBT001
        """Return what to plan for each item of a list `(a) ... (b) ...`, and the items that do not say enough by themselves."""
        goals: list[Candidate] = []
        lost: list[str] = []
        items = items_alone(reading.question)
        start = next((at for at, (a, b) in enumerate(zip(*items[:2], strict=False)) if a != b), 0) if items else 0
        for text in items:
            own = read(text, data, self._terms)
            every = self._candidates(own, data)
            item = [c for c in every if files or needs_no_file(c.bound)][:1]
            if not item or item[0].probability < SEVERAL or not item[0].feasible or item[0].bound is None:
                lost.append(" ".join(text[start:].split()))
                continue
            goals += item
            reading.take(own)
        return goals, lost if goals else []

    def _best(self, every: list[Candidate], reading: Reading, data: Data) -> Candidate:
        """Return what to plan: the likeliest, unless a near one can be done where it cannot, or brings it along."""
        best = every[0]
        heir = next((c for c in every if c.analysis.id in best.analysis.instead and can_be_done(c)), None)
        # A column that is left over says nothing about the data: it may be the subgroups of the same analysis.
        data_differ = set(best.unmet) - {"nothing_left"}
        if data_differ and heir is not None and heir.probability >= HEIR * best.probability:
            # The data do not meet what it takes, and it says itself what is meant then.
            return replace(heir, probability=heir.probability + best.probability, instead_of=best.analysis.id)
        worded = max(every, key=lambda item: item.wording)
        able = next((c for c in every if c.bound is not None and not c.bound.missing and not c.unmet), None)
        if (
            not best.analysis.data
            and able
            and able.bound
            and able.bound.columns()
            and (not nothing_called(reading, data) or _named_by(able.bound, reading) > 1)
        ):
            return able  # the words are known to the data: asked about, not refused
        if not best.analysis.data and worded.analysis.data and worded.probability >= POSSIBLE:
            best = worded  # what is asked for is known: say what it lacks
        if (
            (best.analysis.data or len(able.bound.columns() if able and able.bound else []) > 1)
            and best.probability < SURE
            and able is not None
            and able.wording >= min(HEARD, 0.8 * best.wording)  # where all is faint, near counts
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

    def _of_computed(
        self, reading: Reading, data: Data, every: list[Candidate]
    ) -> tuple[Reading, Data, list[Candidate]] | None:
        """Return what is asked of a measure that the question computes first; None when it computes none or only that."""
        view = with_measure(reading, data)
        if view is None:
            return None
        reading, data = view
        name = data_made(data)
        at = next(m.first for m in reading.mentions if m.column == name)
        apart = [r for r in reading.requests if not r.first <= at <= r.last]
        found: list[Candidate] = []
        for request in apart or [Request(0, len(reading.words) - 1)]:
            found += candidates(
                reading, data, self._analyses, self._registry, self._embed, first=request.first, last=request.last
            )
        able = [
            c
            for c in found
            if c.bound is not None and name in c.bound.columns() and not c.bound.missing and not c.unmet
        ]
        best = max(able, key=lambda c: c.probability, default=None)
        alone = max(
            (c.wording for c in every if c.bound is not None and any(p.role == "formula" for p in c.bound.spec.params)),
            default=0.0,
        )
        if best is None or best.probability < (FAINT if apart else NEAR):
            return None
        beside = {*reading.columns()} - {name}  # `compare log10 weight between the diets` makes no column for itself
        asks = (
            best.bound is not None and best.probability >= SURE and bool(beside) and beside <= {*best.bound.columns()}
        )
        if not apart and not asks and best.wording < alone:
            return None
        return reading, data, [best]

    def _told_of_computed(
        self, analysis: str, reading: Reading, data: Data
    ) -> tuple[Reading, Data, list[Candidate]] | None:
        """Return an analysis that a person chose, of a measure that the question computes first, where it takes it."""
        view = with_measure(reading, data)
        if view is None:
            return None
        goal = self._as_told(analysis, self._candidates(*view), *view)
        able = goal.bound is not None and not goal.bound.missing and data_made(view[1]) in goal.bound.columns()
        return (*view, [goal]) if able else None

    def _requests(self, reading: Reading, data: Data) -> list[Request]:
        """Return the requests of a question, cut further where both sides of an `and` clearly ask for different things."""
        by_name = {column.name: column for column in data.columns()}
        named = [m.first for m in reading.mentions if (c := by_name.get(m.column)) and not m.level and not is_id(c)]
        held = {m.first for m in reading.mentions if not m.level and reading.parts.get(m.column) == {"adjust"}}

        def only_told(half: Request) -> bool:  # `also adjusted for age` asks for nothing by itself
            inside = {*range(half.first, half.last + 1)}
            told = [m for m in reading.mentions if m.level and m.first in inside]
            if told and not inside & {*named} and all(m in reading.spared for m in told):
                return True  # `nobody from Graz was excluded`
            return bool(inside & held) and inside & held == inside & {*named}

        found: list[Request] = []
        single = len(reading.requests) == 1 and len(reading.words) > 1
        for request in [Request(0, len(reading.words) - 1)] if single else reading.requests:
            places = [cut for cut in cuts(reading, request, named) if not any(map(only_told, (cut.left, cut.right)))]
            halves = [stretch(reading, by_name, *half) for cut in places for half in (cut.left, cut.right)]
            shares = [max(share.items(), key=lambda item: item[1]) for share in probabilities(halves, self._embed)]
            best, apart = 0.0, (request,)
            for cut, (one, first), (other, second) in zip(places, shares[::2], shares[1::2], strict=True):
                least, data_both = min(first, second), self._analyses[one].data and self._analyses[other].data
                if one != other and data_both and least > max(best, HALF if cut.clear else ALONE):
                    best, apart = least, (cut.left, cut.right)
            found += apart
        return reading.requests if len(found) == 1 else found

    def _several(self, reading: Reading, data: Data, best: Candidate) -> list[Candidate]:
        told: dict[str, Candidate] = {}
        places: dict[str, list[Request]] = {}
        for request in reading.requests:
            own = candidates(
                within(reading, request, data), data, self._analyses, self._registry, self._embed, first=request.first,
                last=request.last, whole=reading,
            )  # fmt: skip
            if (
                own
                and own[0].probability >= SEVERAL
                and own[0].feasible
                and (own[0].bound or own[0].wording >= SEVERAL)
            ):
                told[own[0].analysis.id] = own[0]
                places.setdefault(own[0].analysis.id, []).append(request)
        if len(told) < 2:
            return [best]
        for key, several in places.items():  # what is asked of one thing in two sentences is one request
            if len(several) > 1 and (joined := told[key].bound) is not None:
                again = bind(joined.spec, within(reading, several, data), data, needs=self._analyses[key].needs)
                told[key] = replace(told[key], bound=again)
        told = {key: item for key, item in told.items() if not _turns_round(item, [best, *told.values()])}
        told = {key: item for key, item in told.items() if not _part_of(item, told.values())}
        if len(told) < 2:
            return [best]
        families = {item.analysis.family for item in told.values()}
        return list(told.values()) if len(families) > 1 or best.analysis.id in told else [best]

    def _as_told(self, analysis: str, every: list[Candidate], reading: Reading, data: Data) -> Candidate:
        if analysis not in self._analyses:
            raise PlanError(
                f"There is no analysis called {analysis!r}.", advice="`biodesk analyses list` names them all."
            )
        able = [tool for tool in self._registry if analysis in tool.answers]
        bounds = sorted(
            (bind(tool, reading, data, needs=self._analyses[analysis].needs) for tool in able),
            key=lambda b: (b.spec.name not in reading.chosen, -b.score),
        )
        share = next((c.wording for c in every if c.analysis.id == analysis), 0.0)
        return Candidate(self._analyses[analysis], share, 1.0, bounds[0] if bounds else None)

    # ==== several files ====

    def _joins_first(self, reading: Reading, data: Data) -> First | None:
        """Return the request to join two files that stands before what else is asked, None where there is none."""
        tables = [sheet for sheet in data.sheets if sheet.serves(DataType.TABLE)]
        if len(tables) != 2 or len(data.sheets) != 2:
            return None
        start = reading.requests[0].first
        before = [Request(0, start - 1)] if start > 1 else []
        pieces = [*before, *self._requests(reading, data)]
        if len(pieces) < 2:
            return None
        own = candidates(
            within(reading, pieces[0], data), data, self._analyses, self._registry, self._embed, first=pieces[0].first,
            last=pieces[0].last,
        )  # fmt: skip
        goal = max(own, key=lambda item: item.wording, default=None)
        if goal is None or goal.bound is None or goal.wording < HALF or not joins(goal.bound.spec):
            return None
        return First(goal, pieces[0], pieces[1:])

    def _on_the_joined(self, first: First, made: Making) -> list[Candidate]:
        """Plan what is asked after two files were joined, on the table that this makes; returns what was asked."""
        bound = first.goal.bound
        node = next(n for n in made.builder.nodes if bound is not None and n.tool == bound.spec.name)
        spec = self._registry.get(node.tool)
        keys = [str(node.params[p.name]) for p in spec.params if p.role == "key"]
        output = next(out.name for out in spec.outputs if out.type is DataType.TABLE)
        data = with_joined(made.data, keys, f"{node.id}.{output}")
        reading = read(made.reading.question, data, self._terms)
        reading.mark(first.request.first, first.request.last, "method", spec.title)
        made.reading, made.data, made.builder.data = reading, data, data
        made.near = functools.partial(near, reading, data, self._embed)
        mentions = [m for m in reading.mentions if m.first > first.request.last]
        rest = replace(
            interpret(reading.question, reading.words, mentions, data), requests=first.rest, used=reading.used
        )
        rest = replace(rest, coding=reading.coding, explained=reading.explained, chosen=reading.chosen)
        every = candidates(
            rest, data, self._analyses, self._registry, self._embed, first=first.rest[0].first, last=first.rest[-1].last
        )
        goals = self._several(rest, data, every[0]) if len(first.rest) > 1 else [self._best(every, rest, data)]
        self._assembler.answer_all(goals, made)
        return goals

    # ==== finish ====

    def _finished(
        self, goals: list[Candidate], every: list[Candidate], made: Making, profiles: list[Profile], *, told: bool
    ) -> TaskDag:
        reading = made.reading
        if not made.builder.nodes:
            raise PlanError(" ".join(made.not_answered) or "The question leads to no step.")
        answered = [goal for goal in goals if goal.bound in made.bounds] or goals
        done = [key for node in made.builder.nodes for key in self._registry.get(node.tool).answers]
        left = unexplained(reading, done, made.bounds, [p.name for p in profiles])
        made.questions += doubts(reading, left)
        alternatives = alternatives_of(every, {goal.analysis.id for goal in answered})
        first = answered[0]
        own_tool = first.bound.spec.name if first.bound else ""
        around = {node.tool for node in made.builder.nodes} - {own_tool}
        beside = {key for name in around for key in self._registry.get(name).answers}
        unsure = (
            not _leads(first, every, beside)
            or (first.wording < LEAST and not _named_otherwise(first, every))
            or first.unmet
            or first.left
            or _overruled(first, every)
            or (bool(profiles) and leaves_what_is_asked(reading, left))
        )
        if len(answered) == 1 and unsure and not told:
            made.questions.insert(0, did_you_mean(answered[0], alternatives))
            own = Alternative(
                id=answered[0].analysis.id, probability=round(answered[0].probability, 3), says=says(answered[0])
            )
            alternatives = [own, *alternatives[:2]]
        taken = {name for bound in made.bounds for name in (*bound.columns(), *(row.column for row in bound.rows))}
        computed = [m for bound in made.bounds if bound.sheet for m in bound.sheet.made if m.column in taken]
        taken |= {name for m in computed for name in re.findall(r"`([^`]+)`", m.expression)}
        taken |= {m.column for m in reading.mentions if not m.level and names_only_whom(m, reading.words)}
        # What numbers every row is who is asked about: `the heaviest goats`.
        taken |= {
            c.name
            for b in made.bounds
            if b.sheet
            for c in b.sheet.columns
            if is_id(c) and c.distinct == b.sheet.profile.rows
        }
        for name in dict.fromkeys(name for bound in made.bounds for name in bound.unused if name not in taken):
            made.not_answered.append(f"{name!r} is named in the question and has no part in this plan.")
        made.not_answered += not_done(
            reading, map(self._registry.get, dict.fromkeys(n.tool for n in made.builder.nodes))
        )
        fillers = [at for at in range(len(reading.words)) if at not in reading.used and at not in left]
        plan = TaskDag(
            question=reading.question, datasets=made.builder.used_datasets(), nodes=made.builder.nodes, open_questions=made.questions,
            warnings=list(dict.fromkeys([*made.warnings, *self._about_data(made, profiles)])), notes=made.notes,
            understood=reading.spans(fillers), alternatives=alternatives, not_answered=list(dict.fromkeys(made.not_answered)),
            analysis=[Chosen(id=g.analysis.id, probability=round(g.probability, 3)) for g in answered],
        )  # fmt: skip
        problems = [i for i in check_plan(plan, self._registry) if i.severity == "error" and i.code != "open_question"]
        if problems:
            message = f"The plan does not fit together: {problems[0].message}"
            raise PlanError(message, details={"issues": [p.model_dump() for p in problems]})
        return plan

    @staticmethod
    def _about_data(made: Making, profiles: list[Profile]) -> list[str]:
        used = {dataset.path for dataset in made.builder.used_datasets()}
        own = [warning for profile in profiles if profile.path in used for warning in profile.warnings]
        unused = [
            f"{profile.name} was not used: {why_not(profile)}" for profile in profiles if profile.path not in used
        ]
        return [*cross_check([profile for profile in profiles if profile.path in used]), *own, *unused]


def _without_file(every: list[Candidate], analysis: str, able: list[str]) -> list[Candidate]:
    """Return what a question that came without any file can be answered by: all its numbers stand in the question.

    Raises:
        PlanError: when the words ask, most likely, for something that needs data.
    """
    worded = next((c for c in every if c.analysis.id == analysis), max(every, key=lambda c: c.wording, default=None))
    if worded is None or not needs_no_file(worded.bound):
        raise no_data(able)
    return [c for c in every if needs_no_file(c.bound)]


def needs_no_file(bound: Bound | None) -> bool:
    """Say whether a step runs on what the question says alone."""
    return bound is not None and not bound.missing and all(port.optional for port in bound.spec.inputs)


def _named_by(bound: Bound, reading: Reading) -> int:
    """Return how many columns of a step the question surely names."""
    return sum(reading.strength(name) >= SURE_NAMED for name in set(bound.columns()))


def _turns_round(item: Candidate, others: Iterable[Candidate]) -> bool:
    """Say whether a surer request explains what this takes for the cause by what this explains: a misread half of it."""
    measured, causes = _sides(item)
    surer = [_sides(other) for other in others if other.probability > item.probability]
    return bool(measured and causes) and (causes, measured) in surer


def _part_of(item: Candidate, others: Iterable[Candidate]) -> bool:
    """Say whether another request is the same step with more said of it: the comparison, and within the same subject."""
    if item.bound is None:
        return False
    own = {*item.bound.columns()}
    same = [o.bound for o in others if o.bound is not None and o is not item and o.bound.spec is item.bound.spec]
    return any(own < {*other.columns()} and item.bound.rows == other.rows for other in same)


def _sides(item: Candidate) -> tuple[frozenset[str], frozenset[str]]:
    """Return the columns that a step explains, and those it explains them by."""
    if item.bound is None:
        return frozenset(), frozenset()
    return (
        frozenset(item.bound.of_role("outcome", "measure", "response", "count", "y", "event")),
        frozenset(item.bound.of_role("group", "predictors", "covariates", "factors", "x")),
    )


def _also(reading: Reading, goals: list[Candidate], every: list[Candidate]) -> list[Candidate]:
    """Return the steps that the question names beside what it asks: `... and a volcano plot`."""
    planned = {goal.bound.spec.name: goal.bound.spec for goal in goals if goal.bound is not None}
    known = {word.lower() for spec in planned.values() for word in (spec.title, *spec.keywords)}
    found = []
    for other in every:
        bound = other.bound
        if (
            bound is None
            or bound.spec.task_type != "visualization"
            or bound.spec.name in planned
            or bound.missing
            or other.unmet
            or other.wording < NAMED
        ):
            continue
        names = [
            re.escape(w) for w in (bound.spec.title, *bound.spec.keywords) if len(w) > 4 and w.lower() not in known
        ]
        if names and re.search(
            rf"(?:\band|\bplus|\+|,|&)\s+(?:an?\s+|the\s+)?(?:{'|'.join(names)})s?(?!\w)",
            reading.question,
            re.IGNORECASE,
        ):
            found.append(other)
    return found[:2]


def _leads(first: Candidate, every: list[Candidate], beside: set[str]) -> bool:
    """Say whether what a plan does is clearly likelier than all others together, or stands far above each of them.

    A plan does more than its answer: a test of survival curves brings the curves along.
    """
    own = {first.analysis.id, *beside}
    share = sum(c.probability for c in every if c.analysis.id in own)
    if first.instead_of:
        share = max(share, first.probability)
        own.add(first.instead_of)
    second = max((c.probability for c in every if c.analysis.id not in own), default=0.0)
    return share >= CLEAR or (share >= LIKELY and share >= FAR * second)


def _named_otherwise(first: Candidate, every: list[Candidate]) -> bool:
    """Say whether words of the question, not the data, put an analysis in the place of one that is heard: `is MX1 up with ifn`."""
    return any(
        other.wording >= HEARD
        and first.analysis.id in other.analysis.instead
        and bool(other.unmet)
        and all(name.startswith("not_said:") for name in other.unmet)
        for other in every
    )


def _overruled(first: Candidate, every: list[Candidate]) -> bool:
    """Say whether the words ask for another analysis that is left only because members of one herd or ward may be alike."""
    worded = max(every, key=lambda c: c.wording)
    alike = worded.bound is not None and worded.unmet == ("independent",) and members(worded.bound)
    return alike and worded.wording > first.wording and worded.analysis.id != first.analysis.id


def _doubts(plan: TaskDag) -> int:
    """Return how much of a question a plan leaves open or out."""
    return sum(2 if q.blocking else 1 for q in plan.open_questions if q.required) + 2 * len(plan.not_answered)


def _retrieved(every: list[Candidate], found: ToolSearch | None) -> list[str]:
    own = [c.bound.spec.name for c in every if c.bound is not None]
    return list(dict.fromkeys([*own, *(t.name for t in (found.tools if found else []) if t.runnable)]))[:15]


__all__ = ["NotUnderstood", "Planner", "Proposal", "in_words"]
