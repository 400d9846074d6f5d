"""The first stage of a run: its files are looked at, a strategy is chosen, and it gives a plan or an answer."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

from engine.asking.corrections import Corrections
from engine.asking.proposed_plan import PlanMaker, ProposedPlan
from engine.asking.router import HERE, INSTEAD, SURE, WAYS, Router
from engine.data.columns.asked_sheet import of_read_sheets
from engine.domain.events import PlanProposed, RouteChosen
from engine.domain.plan import TaskDag
from engine.domain.profile import Profile
from engine.domain.report import Report
from engine.domain.results import Route, RunRecord
from engine.errors import PlanError
from engine.reporting.answers import MOST_CAVEATS
from engine.runs.inputs import keep_inputs
from engine.runs.records import RunRecords
from engine.strategies.mcts.strategy import SearchStrategy
from engine.strategies.react.strategy import ReactStrategy

_log = logging.getLogger(__name__)
_ON_DATA = ("react", "dag")
_BUT = " other than links of the graph and plans on files"
"""What of a strategy that is here is here."""
_NO_FILES = "No data file came with the question, so nothing was computed: this is what the desk holds of it."

_ELSEWHERE = {"tournament": "has a way of its own (`biodesk hypotheses run`)"}
"""Strategies that are here, but not as an answer to a question."""


@dataclass(frozen=True, slots=True)
class Proposing:
    """From a question to what is proposed for it."""

    records: RunRecords
    corrections: Corrections
    router: Router
    react: ReactStrategy
    search: SearchStrategy
    maker: PlanMaker

    def propose(self, record: RunRecord, strategy: str) -> tuple[RunRecord, TaskDag | Report]:
        """Return a run's record as it is now, and the plan of its question (stored) or its answer (not stored).

        Raises:
            PlanError: when the question cannot be planned and nothing is known of it.
            DataError: when none of its files can be used.
        """
        run_id = record.run_id
        record = self.records.update(self.records.stored(run_id), status="planning")
        profiles = self.maker.asked_by(record, self.corrections.profile([Path(path) for path in record.data]))
        sought = self.search.at_once(record.question, run_id) if strategy == "auto" and not profiles else None
        told = self.react.at_once(record, profiles) if strategy not in ("dag", "mcts") and sought is None else None
        chosen = self.router.route(
            record.question, profiles, forced=strategy, told=told is not None, sought=sought is not None
        )
        kept = {"route": chosen, "profiles_sha256": self.records.keep_profiles(profiles)}
        record = self.records.update(record, RouteChosen(run_id=run_id, route=chosen), **kept)
        if (at_once := sought or told) is not None:
            return record, at_once
        note = ""
        if chosen.strategy == "mcts":
            if (answer := self.search.answer(record.question, run_id)) is not None:
                return record, answer
            record, note = self._searched(record, profiles)
        if strategy == "react":
            return record, self._looked_up(record, profiles)
        try:
            proposal = self.maker.for_run(record, profiles)
        except PlanError as err:
            return self._instead(record, profiles, chosen, err)
        read = of_read_sheets(profiles, proposal.plan.datasets)
        if read != profiles:  # a model chose another sheet: what is shown of the files is of what is read
            record = self.records.update(record, profiles_sha256=self.records.keep_profiles(read))
        return record, self._stored(record, proposal, _missing(chosen, "which "), note)

    def _searched(self, record: RunRecord, profiles: list[Profile]) -> tuple[RunRecord, str]:
        """Return a run's record with what a search among plans chose where nobody had chosen, and what to say of it."""
        if record.analysis or record.chosen or not profiles:
            return record, ""
        best = self.search.best_plan(record, profiles)
        if best is None:
            return record, ""
        return self.records.update(record, analysis=best.analysis, chosen=best.chosen), best.note

    def _stored(self, record: RunRecord, proposal: ProposedPlan, missing: str, note: str = "") -> TaskDag:
        run_id = record.run_id
        for event in proposal.events(run_id):
            self.records.log.emit(event)
        told = f"The question is worded like one for {missing}: this is a plan on the data."
        warnings = [*([told] if missing else []), *proposal.plan.warnings]
        notes = [*([note] if note else []), *proposal.plan.notes]
        plan = proposal.plan.model_copy(update={"version": 1, "warnings": warnings, "notes": notes})
        keep_inputs(plan, self.records.artifacts)
        self.records.log.with_plan(run_id, plan, PlanProposed(run_id=run_id, plan=plan))
        return plan

    def _looked_up(self, record: RunRecord, profiles: list[Profile]) -> Report:
        answer = self.react.answer(record, profiles, by_name=True)
        if answer is None:
            message = "No look-up answers this: graph, facts, past analyses, runs and files say nothing of it."
            advice = "Name what is looked for, or let the desk choose the way (--strategy auto)."
            raise PlanError(message, advice=advice)
        return answer

    def _instead(
        self, record: RunRecord, profiles: list[Profile], chosen: Route, err: PlanError
    ) -> tuple[RunRecord, Report]:
        """Return what look-ups say of a question that could not be planned.

        Raises:
            PlanError: when they say nothing; it names the strategy that the question is for where that is not here.
        """
        missing = _missing(chosen)
        way = f"What this asks for, {missing}. " if missing else ""
        answer = self.react.answer(record, profiles, opening="" if record.data else f"{way}{_NO_FILES}")
        if answer is None:
            if not missing:
                raise err
            raise PlanError(
                f"{way}As a plan it was refused: {err.message}",
                advice=" ".join(filter(None, (INSTEAD, err.advice))),
                details=err.details,
            ) from err
        if record.data:  # what is known of the files is not what was asked of them
            why = f"This was looked up; no analysis of the files could be planned: {err.message} {err.advice}".strip()
            told = {"caveats": [why, *answer.caveats][:MOST_CAVEATS], "limitations": [why, *answer.limitations]}
            answer = answer.model_copy(update=told)
        _log.info("Run %s is answered from what is known: %s", record.run_id, err.message)
        reasons = [*chosen.reasons, f"It could not be planned ({err.message}), so what is known was looked up."]
        worded = chosen.worded_as or (None if chosen.strategy in _ON_DATA else chosen.strategy)
        told = {"strategy": "react", "reasons": reasons, "estimated_steps": 1, "worded_as": worded}
        react = chosen.model_copy(update=told)
        rerouted = RouteChosen(run_id=record.run_id, route=react)
        return self.records.update(record, rerouted, route=react), answer


def _missing(chosen: Route, link: str = "") -> str:
    """Return what a question is surely worded for and is not given here, with where it is instead, or ""."""
    worded = chosen.worded_as or chosen.strategy
    sure = chosen.worded_as is not None or chosen.confidence >= SURE
    if not sure or worded in _ON_DATA or chosen.method == "forced":
        return ""
    what = WAYS[worded] + (_BUT if worded in HERE else "")
    return f"{what}, {link}{_ELSEWHERE.get(worded, 'is not in this version')}"
