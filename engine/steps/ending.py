"""The last stage of a run: its report is written and checked, it is remembered, and only then is it said to be over."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.domain.discovery.search_tree import SearchTree
from engine.domain.events import ClaimChecked, RunFinished, WarningRaised
from engine.domain.report import Report, RunView
from engine.domain.results import RunRecord, RunStatus, Usage
from engine.errors import StorageError
from engine.knowledge.grounding.checker import ClaimChecker
from engine.runs.records import RunRecords
from engine.steps.grounder import ground_claims, ground_findings
from engine.steps.remember import Remembering
from engine.steps.synthesizer import synthesize
from engine.toolbox.registry import ToolRegistry

if TYPE_CHECKING:
    from engine.steps.second_reading import SecondReading

_log = logging.getLogger(__name__)
ANSWERED = ("succeeded", "partial")
"""How a run has ended whose report is worth a second reading."""


@dataclass(slots=True)
class Ending:
    """Ends runs. Killed before it is through, a run is found unfinished; resumed, it repeats nothing but its end."""

    records: RunRecords
    registry: ToolRegistry
    claims: ClaimChecker
    remembering: Remembering
    when_remembered: Callable[[], object]
    """Called after a run was remembered, for those who keep counts of past runs."""
    usage: Callable[[str, float], Usage]
    """Returns what a run used, given its id and the seconds of its steps."""
    reading: SecondReading | None = None
    """Has models put the report in words and doubt it, where there are some."""
    searches: Callable[[str], Sequence[SearchTree]] = lambda run_id: ()
    """Returns what was searched for a run."""
    when_doubted: Callable[[RunRecord, Report], object] = lambda record, report: None
    """Called with a report that has doubts before its run is said to be over."""

    def end(self, record: RunRecord, status: RunStatus, *, report: bool = True) -> None:
        """End a run: write its report, remember it, and only then say that it is over."""
        results = self.records.store.results(record.run_id).values()
        seconds = sum(result.seconds for result in results if result.status != "cached")
        record = record.model_copy(update={"status": status, "finished_at": self.records.clock.now()})
        written = None
        if report and self.records.store.plan(record.run_id) is not None:
            view = self.records.view(record)
            written = self._checked(view, synthesize(view, self.registry, self.records.artifacts))
            written = self.reading.read(view, written) if self.reading is not None and status in ANSWERED else written
            if written.doubts:
                self._tell_of_doubts(record, written)
        self._say_over(record.model_copy(update={"usage": self.usage(record.run_id, seconds)}), written)

    def end_in_any_case(self, record: RunRecord, status: RunStatus) -> None:
        """End a run, without a report when that cannot be written.

        Raises:
            StorageError: when the end itself cannot be stored.
        """
        try:
            self.end(record, status)
        except StorageError:
            raise
        except Exception:  # noqa: BLE001 - a report that cannot be written must not leave the run without an end
            _log.exception("The report on run %s could not be written", record.run_id)
            self.end(record, status, report=False)

    def answer(self, record: RunRecord, report: Report) -> None:
        """End a run that needs no plan with its answer."""
        usage = self.usage(record.run_id, 0.0)
        ended = {"status": "succeeded", "finished_at": self.records.clock.now(), "usage": usage}
        self._say_over(record.model_copy(update=ended), report)

    def _tell_of_doubts(self, record: RunRecord, report: Report) -> None:
        try:
            self.when_doubted(record, report)
        except Exception as err:  # noqa: BLE001 - a border: what comes after a run must not cost it its report
            _log.warning("What follows from the doubts of run %s failed", record.run_id, exc_info=err)
            message = f"The plan was not revised: {err}"
            self.records.log.emit(WarningRaised(run_id=record.run_id, message=message))

    def _say_over(self, record: RunRecord, report: Report | None) -> None:
        if report is not None:
            searched = [tree.in_short() for tree in self.searches(record.run_id)]
            record = self.records.with_report(record, report.model_copy(update={"searches": searched}))
            self._remember(record)
        over = RunFinished(run_id=record.run_id, status=record.status, usage=record.usage)
        self.records.update(record, over)

    def _checked(self, view: RunView, report: Report) -> Report:
        """Check the report against its tables and the graph; a fault of the graph must not cost the report."""
        run_id, emit = view.record.run_id, self.records.log.emit
        report = ground_findings(report, view, self.records.artifacts)
        for found in report.findings:
            emit(ClaimChecked(run_id=run_id, claim=found.text, label=found.grounding, evidence=found.evidence))
        try:
            checked = ground_claims(report, self.claims.check_findings)
        except Exception as err:  # noqa: BLE001 - a border: the numbers are right whether or not they can be looked up
            _log.warning("The claims of run %s could not be checked", run_id, exc_info=err)
            message = f"The report's claims could not be checked against the knowledge graph: {err}"
            emit(WarningRaised(run_id=run_id, message=message))
            return report
        for claim in checked.claims.claims if checked.claims else []:
            evidence = [item.edge for item in claim.evidence][:5]
            emit(ClaimChecked(run_id=run_id, claim=claim.text, label=claim.label, evidence=evidence))
        return checked

    def _remember(self, record: RunRecord) -> None:
        """Keep the run as an episode and learn from it; neither may cost the run its end."""
        try:
            events = self.records.store.events(record.run_id, limit=1_000_000)
            self.remembering.remember(self.records.view(record), events)
            self.when_remembered()
        except Exception as err:  # noqa: BLE001 - a border: the numbers are right whether or not they can be looked up
            _log.warning("Run %s could not be remembered", record.run_id, exc_info=err)
            message = f"This run could not be remembered: {err}"
            self.records.log.emit(WarningRaised(run_id=record.run_id, message=message))
