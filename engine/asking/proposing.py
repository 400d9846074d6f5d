"""The first stage of a run: its files are looked at, then its question is answered at once or planned."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

from engine.asking.corrections import Corrections
from engine.asking.direct.answers import DirectAnswers
from engine.asking.proposed_plan import PlanMaker
from engine.asking.router import route
from engine.domain.events import PlanProposed, RouteChosen
from engine.domain.plan import TaskDag
from engine.domain.report import Report
from engine.domain.results import RunRecord
from engine.errors import PlanError
from engine.runs.inputs import keep_inputs
from engine.runs.records import RunRecords

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Proposing:
    """From a question to what is proposed for it."""

    records: RunRecords
    corrections: Corrections
    direct: DirectAnswers
    maker: PlanMaker

    def propose(self, record: RunRecord, strategy: str) -> tuple[RunRecord, TaskDag | Report]:
        """Return a run's record as it is now, and the plan of its question (stored) or its answer (not stored).

        Raises:
            PlanError: when the question cannot be planned and nothing is known of it.
            DataError: when none of its files can be used.
        """
        run_id = record.run_id
        record = self.records.update(self.records.stored(run_id), status="planning")
        profiles = self.corrections.profile([Path(path) for path in record.data])
        chosen = route(record.question, profiles, forced=strategy)
        kept = {"route": chosen, "profiles_sha256": self.records.keep_profiles(profiles)}
        record = self.records.update(record, RouteChosen(run_id=run_id, route=chosen), **kept)
        if (answer := self.direct.answer(record, profiles)) is not None:
            return record, answer
        try:
            proposal = self.maker.for_run(record, profiles)
        except PlanError as err:
            if (answer := self.direct.instead_of_plan(record)) is None:
                raise
            _log.info("Run %s is answered from what is known: %s", run_id, err.message)
            return record, answer
        for event in proposal.events(run_id):
            self.records.log.emit(event)
        plan = proposal.plan.model_copy(update={"version": 1})
        keep_inputs(plan, self.records.artifacts)
        self.records.log.with_plan(run_id, plan, PlanProposed(run_id=run_id, plan=plan))
        return record, plan
