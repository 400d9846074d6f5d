"""From a question and the profiles of its data to a checked plan. Read this first.

    read      which columns, levels, numbers and genes the words name, and what grammar makes of them   (`naming`, `reading`)
    choose    which analyses the wording asks for, weighed by what the data can serve                   (`choosing`)
    bind      named columns to the parameters of the tools that answer them, all at once                (`binding`, `formulas`)
    guard     what would spoil the analysis is repaired, asked, warned of or refused                    (`guards`)
    practice  what belongs around it, declared with a reason                                            (`making`)
    coverage  what no part of the plan answers to is shown, asked or refused                            (`telling`)

A question that goes on from the one before is written anew with it (`followups`) and takes the same way.

Nothing here knows a tool or a field by name. What cannot be known becomes an open question; what cannot be planned becomes an
error that says what is missing, never a neighbour's answer.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import re
from collections.abc import Callable, Collection, Sequence

from engine.data.catalogue import KINDS
from engine.domain.brief import Setup
from engine.domain.datatypes import DataType
from engine.domain.plan import TaskDag
from engine.domain.profile import Profile
from engine.domain.retrieval import ToolSearch
from engine.domain.toolspec import ToolSpec
from engine.errors import EngineError, PlanError
from engine.planning.binding.files import tools_named
from engine.planning.choosing.again import asked_again, of_again
from engine.planning.choosing.catalogue import Catalogue
from engine.planning.choosing.choose import Embed, Wording, probabilities
from engine.planning.choosing.computed import chosen_of_computed, of_computed
from engine.planning.choosing.goals import (
    as_chosen,
    chosen_each,
    items_may_be,
    of_each,
    part_may_be,
    parts_asked,
    what_to_plan,
)
from engine.planning.choosing.only_measure import with_length_of_life, with_only_measure, with_only_outcome
from engine.planning.choosing.predicted import expects, with_values_told
from engine.planning.choosing.score import Candidate
from engine.planning.choosing.several import NOT_ALONE, items_of_list, needs_no_file
from engine.planning.choosing.spelling import spelled
from engine.planning.choosing.subgroups import each_level
from engine.planning.followups.go_on import go_on
from engine.planning.followups.keeping import back_to
from engine.planning.followups.suggestions import done_again, first_ideas, next_ideas
from engine.planning.followups.words import takes_back
from engine.planning.formulas.courses import with_courses
from engine.planning.formulas.first_end import with_first_end
from engine.planning.formulas.first_rows import with_each_once, with_first_rows
from engine.planning.formulas.merged import with_merged
from engine.planning.formulas.rates import with_rates
from engine.planning.formulas.relative import with_relative
from engine.planning.formulas.sides import with_sides
from engine.planning.formulas.views import with_list_as_set, with_spans, with_subjects
from engine.planning.making.assemble import Assembler, Making
from engine.planning.making.builder import StepBuilder
from engine.planning.making.ends_told import with_ends_told
from engine.planning.making.features import beside_samples, features_named, told_of_features
from engine.planning.making.finish import PlanProposal, doubts_of, finished
from engine.planning.making.joined import (
    joined,
    joins,
    joins_first,
    on_the_joined,
    one_lists_the_other,
    require_all_named,
    seen_made,
    spans,
)
from engine.planning.making.levels_left import without_levels_out
from engine.planning.making.plates import plate_of, unfolded
from engine.planning.making.said_same import with_same_said
from engine.planning.making.tallies import (
    counted_singly,
    each_of_the_listed,
    explaining,
    takes_for_measured,
    takes_tally,
    tallied,
    tally_of,
)
from engine.planning.naming.german import in_english
from engine.planning.naming.rewording import Reworded
from engine.planning.reading.declared import (
    REPEATS,
    REPEATS_OUT,
    mark_declared,
    mark_told,
    with_amounts_said,
    with_limits_said,
    with_missing,
    with_zeros_said,
    without_pooled,
)
from engine.planning.reading.reading import Choices, Reading
from engine.planning.tables.samples import with_same_names
from engine.planning.tables.sheets import Data
from engine.planning.tables.values import with_repeats, without_repeats
from engine.planning.telling.near import near
from engine.planning.telling.offers import offers, setups
from engine.planning.telling.refusals import add_ways, no_data, not_understood, require_data
from engine.planning.told.check import of_told_sheets, with_limits_told
from engine.planning.told.goals import ToldPlan
from engine.planning.told.plan import plan_told
from engine.toolbox.analyses import chosen_parts
from engine.toolbox.registry import ToolRegistry

TRIED = 24
"""So many wordings are planned to find those that are offered."""
NEAR = 10.0
"""A tool is near what is asked when its analysis is at least one so many times as likely as the likeliest."""
BY_WORDS = 4
"""So many tools are near by the words alone, whatever the data."""
MOST_RETRIEVED = 15
"""A plan names at most so many tools that were considered for it."""


class Planner:
    """The rule-based planner."""

    def __init__(self, registry: ToolRegistry, embed: Embed | None = None) -> None:
        """Take the tools, and what turns texts into vectors (planning works without, a little less well)."""
        self._catalogue = Catalogue.of(registry, embed)
        self._assembler = Assembler(registry, self._catalogue.analyses)

    def warm(self) -> None:
        """Load what the first plan would wait for."""
        probabilities([Wording("which", "which")], self._catalogue.embed)

    def plan(
        self, question: str, profiles: list[Profile], found: ToolSearch | None = None, *, analysis: str = "",
        previous: TaskDag | None = None, chosen: Choices | None = None, earlier: Sequence[TaskDag] = (),
    ) -> PlanProposal:  # fmt: skip
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
            return PlanProposal(plan=plan, retrieved=list(dict.fromkeys(node.tool for node in plan.nodes)))
        if REPEATS_OUT.search(question):
            profiles = list(map(without_repeats, profiles))
        elif REPEATS.search(question):
            profiles = list(map(with_repeats, profiles))
        plan_it = functools.partial(self._planned_over_files, profiles, found)
        if previous is not None and profiles:
            data, own = self._data(profiles), chosen or {}
            made = go_on(question, previous, data, self._catalogue, plan_it, analysis=analysis, chosen=own)
            if made is not None:
                return made
        return plan_it(question, analysis, chosen or {})

    def nearest(self, question: str, profiles: list[Profile]) -> list[str]:
        """Return the names of tools that a question may ask for, likeliest first; [] where the files cannot be used.

        First those that the question names; what is far less likely than the first is left out. The likeliest by its words alone
        are among them, since the data mislead where a file was taken for something else.
        """
        with contextlib.suppress(EngineError):
            reading, data, _ = self._read(question, profiles, {})
            found = [c for c in self._catalogue.candidates(reading, data) if c.bound is not None]
            least = max((c.probability for c in found), default=0.0) / NEAR
            likely = [c for c in found if c.probability >= least]
            by_words = sorted(found, key=lambda c: -c.wording)[:BY_WORDS]
            own = [c.bound.spec.name for c in (*likely, *by_words) if c.bound]
            stood_for = {key for c in likely[:1] for key in (c.instead_of, *c.analysis.stands_for[:2])}
            heard = [tool.name for tool in self._catalogue.registry if stood_for & {*tool.answers}]
            return list(dict.fromkeys([*tools_named(self._catalogue.registry, question), *own[:1], *heard, *own]))
        return []

    def asked(self, question: str, profiles: list[Profile]) -> list[dict[str, float]]:
        """Return analysis -> probability for each thing that a question asks for, of what a tool carries out, likeliest first.

        Several things, and the items of a list `(a) ... (b) ...`, can be chosen one by one (see `chosen_parts`); {} for an item that
        does not say enough by itself, [] where several cannot be chosen.

        Raises:
            DataError: when none of the files can be used.
        """
        reading, data, profiles = self._read(" ".join(question.split()), profiles, {})
        if items := items_may_be(self._catalogue, reading, data):
            return list(map(_weighed, items))
        several = [self._catalogue.candidates(reading, data)]
        if len(self._goals(reading, data, several[0], "", files=True)[2]) > 1:
            reading, data, _ = self._read(reading.question, profiles, {})  # as it was before requests were cut
            parts = parts_asked(self._catalogue, several[0], reading, data)
            several = [part_may_be(self._catalogue, part, reading, data) for part in parts]
        return list(map(_weighed, several))

    def plan_told(
        self,
        question: str,
        profiles: list[Profile],
        told: ToldPlan,
        chosen: Choices | None = None,
        *,
        last: bool = False,
    ) -> PlanProposal:
        """Return the plan of goals that somebody else has read from the question (see `engine.planning.told`).

        What a person has chosen (tool -> parameter -> value) goes before what was told. Where it is the `last` telling,
        settings that do not fit are left out, and the plan says so.

        Raises:
            PlanError: where a goal does not fit catalogue or data; `details["issues"]` lists what is wrong.
            DataError: when none of the files can be used.
        """
        question, profiles = " ".join(question.split()), of_told_sheets(profiles, told.sheets)
        profiles = [without_repeats(profile) if profile.name in told.once else profile for profile in profiles]
        data = with_limits_told(self._data(profiles), told.limits)
        profiles = [data.again(profile) for profile in profiles]
        given = (question, profiles, data, told, self._catalogue, self._assembler, chosen or {})
        plan = plan_told(*given, last=last)
        return PlanProposal(plan=plan, retrieved=list(dict.fromkeys(node.tool for node in plan.nodes)))

    def able(self, profiles: list[Profile]) -> Callable[[ToolSpec], bool]:
        """Return what says whether the files, or steps from them, give a tool all that it cannot do without.

        A table may be what a tool takes if somebody says which columns make it that: times and events, for example.
        """
        data = Data.of(profiles)
        with contextlib.suppress(EngineError):
            data = self._data(profiles)
        builder = StepBuilder(self._catalogue.registry, data)
        can: dict[DataType, bool] = {}

        def has(wanted: DataType) -> bool:
            if wanted not in can:
                can[wanted] = builder.can_make(wanted) or any(map(builder.can_make, KINDS[wanted].takes))
            return can[wanted]

        return lambda spec: all(port.optional or has(port.type) for port in spec.inputs)

    def told_together(self, profiles: list[Profile]) -> str:
        """Return what table two files make that belong together though no column says so, "" where there is none."""
        data = Data.of(profiles)
        plate = plate_of(data)
        return plate.told if plate is not None else told_of_features(data)

    def suggest(
        self, profiles: list[Profile], previous: TaskDag | None = None, *, asked: Collection[str] = (), wanted: int = 3
    ) -> list[str]:
        """Return questions that these files (and the plan before) let plan as they stand: nothing is asked, nothing left out.

        Args:
            profiles: the files.
            previous: the plan that they go on from.
            asked: what was asked already.
            wanted: how many.
        """
        data = Data.of(profiles)
        if not data.sheets:
            return []
        ideas = (
            first_ideas(data, self._catalogue.analyses, self._catalogue.registry)
            if previous is None
            else next_ideas(previous, data, self._catalogue.analyses, self._catalogue.registry)
        )
        found: dict[str, str] = {}
        before = {question.casefold().strip(" ?.") for question in [*asked, *([previous.question] if previous else [])]}
        ideas = (idea for idea in ideas if idea.question.casefold().strip(" ?.") not in before)
        for idea in itertools.islice(ideas, TRIED):
            key = idea.analysis if idea.alone else idea.question
            if key in found or idea.question in found.values():
                continue
            with contextlib.suppress(EngineError):
                plan = self.plan(idea.question, profiles, previous=previous).plan
                fits = not idea.analysis or [c.id for c in plan.analysis] == [idea.analysis]
                new = previous is None or not done_again(plan, previous)
                if fits and new and not doubts_of(plan) and not any(q.blocking for q in plan.open_questions):
                    found[key] = idea.question
            if len(found) == wanted:
                break
        return list(found.values())

    def read(self, question: str, profiles: Sequence[Profile]) -> Reading | None:
        """Return what a question says of the files as they are, None where none of them is a table."""
        data = Data.of(list(profiles))
        return self._catalogue.read(question, data) if data.sheets else None

    def offers(self) -> list[str]:
        """Return what can be computed from files, a line for each field."""
        return offers(self._catalogue.registry, self._catalogue.analyses)

    def setups(self, question: str, profiles: list[Profile]) -> list[Setup]:
        """Return the analyses that the files can serve with the columns each could take, the likeliest for a question first."""
        if not any(profile.best for profile in profiles):
            return []
        reading, data, _ = self._read(" ".join(question.split()), profiles, {})
        return setups(self._catalogue.every(reading, data))

    def _data(self, profiles: list[Profile]) -> Data:
        data = Data.of(profiles)
        require_data(profiles, data)
        return with_list_as_set(with_spans(with_subjects(with_same_names(data))))

    def _read(self, question: str, profiles: list[Profile], chosen: Choices) -> tuple[Reading, Data, list[Profile]]:
        """Return what a question says and the data as it sees them: without what it calls missing, with what it makes."""
        data = self._data(profiles)
        question = put.text if (put := _reworded(question, data)) else question
        reading = self._catalogue.read(question, data)
        if (told := with_missing(reading, data)) is not data:
            data, profiles = told, [told.again(profile) for profile in profiles]
            reading = self._catalogue.read(question, data)
            mark_told(reading)
        if (told := with_limits_said(reading, data)) is not data:
            data, profiles = told, [told.again(profile) for profile in profiles]
            reading = self._catalogue.read(question, data)
        if (told := with_zeros_said(reading, data)) is not data:
            data, profiles = told, [told.again(profile) for profile in profiles]
            reading = self._catalogue.read(question, data)
        if (told := with_amounts_said(reading, data)) is not data:
            data, profiles = told, [told.again(profile) for profile in profiles]
            reading = self._catalogue.read(question, data)
        if (told := with_same_said(reading, data)) is not data:
            data, profiles = told, [told.again(profile) for profile in profiles]
            reading = self._catalogue.read(question, data)
        if (told := with_ends_told(reading, data)) is not data:
            data, profiles = told, [told.again(profile) for profile in profiles]
            reading = self._catalogue.read(question, data)
        reading = with_length_of_life(reading, data) or reading
        reading = with_only_measure(reading, data) or with_only_outcome(reading, data) or reading
        mark_declared(reading, data)
        without_pooled(reading, data)
        reading.chosen = chosen
        for seen in (
            without_levels_out,
            with_relative,
            with_courses,
            with_rates,
            with_sides,
            with_first_end,
            with_merged,
            with_first_rows,
            with_each_once,
            with_values_told,
        ):
            reading, data = seen(reading, data) or (reading, data)
        return reading, data, profiles

    def _planned_over_files(
        self, profiles: list[Profile], found: ToolSearch | None, question: str, analysis: str, chosen: Choices
    ) -> PlanProposal:
        """Plan a question; on both files joined where it is about both and one lists what the rows of the other name."""
        plan_it = functools.partial(self._planned, profiles, found, question, analysis, chosen)
        if len(profiles) == 1:
            return self._each_counted(plan_it, self._data(profiles), question)
        if len(profiles) != 2 or len((data := self._data(profiles)).sheets) != len(profiles):
            return plan_it()
        if (plate := plate_of(data)) is not None:
            with contextlib.suppress(PlanError):
                put_together = plan_it(both=functools.partial(unfolded, self._catalogue, plate))
                # What needs no reading (how many wells a strain) is asked of the layout, whose rows are wells.
                if plate.is_read_by(put_together.plan):
                    return put_together
            return plan_it()
        try:
            plan = plan_it()
        except PlanError:
            if (other := self._on_both(plan_it, question, data) or self._on_features(plan_it, question, data)) is None:
                raise
            return other
        if (doubts := doubts_of(plan.plan)) and (other := self._on_features(plan_it, question, data)) is not None:
            return other if doubts_of(other.plan) < doubts else plan
        asks = any(question.blocking for question in plan.plan.open_questions)
        by_itself = any(joins(self._catalogue.registry.get(node.tool)) for node in plan.plan.nodes)
        reading = self._catalogue.read(question, data)
        of_both = spans(reading, data)
        if by_itself or not (asks or of_both):
            return plan
        other = self._on_both(plan_it, question, data)
        waits = other is not None and any(question.blocking for question in other.plan.open_questions)
        if other is None and not asks:
            require_all_named(reading, data, plan.plan)
        return plan if other is None or (waits and not of_both) else other

    def _each_counted(self, plan_it: Callable[..., PlanProposal], data: Data, question: str) -> PlanProposal:
        """Return the plan on one file; where it takes counts out of totals for measurements, that on each of the counted."""
        reading = self._catalogue.read(question, data)
        plan = plan_it()
        if (listed := tallied(reading, data)) is not None and not takes_tally(plan.plan, listed.part, self._catalogue):
            with contextlib.suppress(PlanError):
                return plan_it(both=functools.partial(each_of_the_listed, self._catalogue, listed))
        found = tally_of(reading, data)
        if found is None or not takes_for_measured(plan.plan, found, {t.name: t for t in self._catalogue.registry}):
            return plan
        with contextlib.suppress(PlanError):
            return plan_it(both=functools.partial(counted_singly, self._catalogue, found), explains=found.part)
        return plan

    def _on_both(self, plan_it: Callable[..., PlanProposal], question: str, data: Data) -> PlanProposal | None:
        """Return the plan on two files joined, None where they do not belong together or none can be made."""
        if (both := one_lists_the_other(data, question)) is not None:
            with contextlib.suppress(PlanError):
                return plan_it(both=functools.partial(joined, self._catalogue, *both))
        return None

    def _on_features(self, plan_it: Callable[..., PlanProposal], question: str, data: Data) -> PlanProposal | None:
        """Return the plan on what a matrix measures beside its samples, None where no feature is named or none can be made."""
        named = [gene for gene, _, _ in self._catalogue.read(question, data).genes]
        if named and (found := features_named(named, data)) is not None:

            def beside(made: Making) -> tuple[Reading, Data]:
                return seen_made(self._catalogue, beside_samples(found, made.builder), made)

            with contextlib.suppress(PlanError):
                return plan_it(both=beside)
        return None

    def _planned(
        self, profiles: list[Profile], found: ToolSearch | None, question: str, analysis: str, chosen: Choices,
        both: Callable[[Making], tuple[Reading, Data]] | None = None, explains: str = "",
    ) -> PlanProposal:  # fmt: skip
        """Plan a question, on the table that a step makes of `both` files where what plans this step is given.

        Only what `explains` a column is planned, where one is given.
        """
        catalogue, assembler = self._catalogue, self._assembler
        reading, data, profiles = self._read(question, profiles, chosen)
        made = assembler.begin(reading, data, functools.partial(near, reading, data, catalogue.embed))
        if both is not None:
            reading, data = both(made)
            reading.chosen = chosen
        every = catalogue.candidates(reading, data)
        if explains:
            every = explaining(explains, catalogue.every(reading, data))
        if not profiles:
            every = self._without_file(every, analysis)
        reading, data, goals, every, lost = self._goals(reading, data, every, analysis, files=bool(profiles))
        if not goals:
            raise not_understood(data, found, every)
        if both is None:
            made = assembler.begin(reading, data, functools.partial(near, reading, data, catalogue.embed))
        if both is None and not analysis and (first := joins_first(catalogue, reading, data)) is not None:
            assembler.answer_all([first.goal], made)
            goals = [first.goal, *on_the_joined(catalogue, assembler, first, made)]
        else:
            try:
                assembler.answer_all(goals, made)
            except PlanError as err:
                add_ways(err, data, every, goals[0].analysis.id)
                raise
        made.not_answered += lost
        plan = finished(catalogue, goals, every, made, profiles, told=bool(analysis or reading.at))
        if (put := _reworded(question, data)) is not None:
            understood = [put.typed(span, question) for span in plan.understood]
            plan = plan.model_copy(update={"question": question, "understood": understood})
        own = [c.bound.spec.name for c in every if c.bound is not None]
        more = [tool.name for tool in (found.tools if found else []) if tool.runnable]
        return PlanProposal(plan=plan, retrieved=list(dict.fromkeys([*own, *more]))[:MOST_RETRIEVED])

    def _goals(
        self, reading: Reading, data: Data, every: list[Candidate], analysis: str, *, files: bool
    ) -> tuple[Reading, Data, list[Candidate], list[Candidate], list[str]]:
        """Return what to plan and all that may be meant, the reading and data it is of, and a sentence on each part left out."""
        catalogue = self._catalogue
        if len(names := chosen_parts(analysis)) > 1:
            goals, aside = chosen_each(catalogue, names, every, reading, data)
            return reading, data, goals, every, aside
        analysis = analysis or expects(reading, every)
        if analysis:
            computed = chosen_of_computed(catalogue, analysis, reading, data)
        else:
            computed = of_computed(catalogue, reading, data, every)
        if computed is not None:
            return (*computed, [])
        listed, lost = ([], []) if analysis else items_of_list(catalogue, reading, data, files=files)
        if analysis:
            goals = [as_chosen(catalogue, analysis, every, reading, data)]
        else:
            goals = listed or what_to_plan(catalogue, reading, data, every)
        again = None if analysis or listed else asked_again(reading)
        each = None if listed else each_level(reading, data)
        if again is not None and each is not None and {row[0] for row in again.rows[1:]} <= {*each.levels}:
            again = None  # `at 8 and at 14? Is it there at 8 already?` is told by each of them
        if again is not None and (found := of_again(catalogue, again, reading, data)) is not None:
            reading, goals = found
            return reading, data, goals, every, []
        if len(goals) == 1 and each is not None:
            reading, goals = of_each(catalogue, each, reading, data, goals, analysis)
        return reading, data, goals, every, [*reading.lost, *(f"{item!r} {NOT_ALONE}" for item in lost)]

    def _without_file(self, every: list[Candidate], analysis: str) -> list[Candidate]:
        """Return what a question that came without any file can be answered by: all its numbers stand in the question.

        Raises:
            PlanError: when the words ask, most likely, for something that needs data.
        """
        likeliest = max(every, key=lambda c: c.wording, default=None)
        worded = next((c for c in every if c.analysis.id == analysis), likeliest)
        if worded is None or not needs_no_file(worded.bound):
            raise no_data(self.offers())
        return [c for c in every if needs_no_file(c.bound)]


_SPECIES = re.compile(r"\b(?P<genus>[A-Z])\. (?=[a-z]{4,})")
"""The point of `E. coli` ends no sentence."""


def _reworded(question: str, data: Data) -> Reworded | None:
    text = _SPECIES.sub(r"\g<genus>  ", question)  # every character keeps its place
    put = in_english(text, data) or spelled(text, data)
    return put or (Reworded(text, ()) if text != question else None)


def _weighed(every: Sequence[Candidate]) -> dict[str, float]:
    return {one.analysis.id: one.probability for one in every if one.bound is not None}
