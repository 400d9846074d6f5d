"""What a killed process left of its runs, found when the workspace is opened again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from engine.domain.events import RunFinished, RunInterrupted, WarningRaised
from engine.domain.results import FINAL, RunRecord
from engine.errors import IntegrityError, SchemaTooNew
from engine.ports.runs import RunStore
from engine.runs.records import RunRecords
from engine.trees import LEFTOVER, remove_tree

_LAST_ENDED = 4
"""How many of the runs that ended last are looked at: a kill can have met no more at their very end."""


def mark_interrupted(records: RunRecords, scratch: Path) -> list[str]:
    """Mark the runs that a killed process left unfinished and return their ids; called once, at the opening.

    Args:
        records: the records of all runs.
        scratch: the folder where steps work; what the killed process was working with goes: copies of data and
            half-written results.
    """
    runs = records.store.runs(limit=1_000_000)
    left = unfinished(runs, records.store)
    for record in left:
        message = "Biodesk stopped while this run was at work. Steps that finished are kept."
        told = RunInterrupted(run_id=record.run_id, message=message)
        records.update(record, told, status="interrupted", error=message, error_code="interrupted")
        if kept := remove_tree(scratch / record.run_id, scratch / LEFTOVER):
            records.log.emit(WarningRaised(run_id=record.run_id, message=kept))
    for record in ended_unsaid(runs, records.store):
        records.log.emit(RunFinished(run_id=record.run_id, status=record.status, usage=record.usage))
    records.log.flush()
    return [record.run_id for record in left]


def unfinished(runs: Sequence[RunRecord], store: RunStore) -> list[RunRecord]:
    """Return the runs that nobody works on any more though they are not over.

    A run that is over without a report and without a word that it ended counts too: earlier versions of Biodesk
    stored a run's state before its report was written.
    """
    at_work = ("queued", "planning", "running")
    return [r for r in runs if r.status in at_work or (_lacks_report(r) and not _says_it_ended(r, store))]


def ended_unsaid(runs: Sequence[RunRecord], store: RunStore) -> list[RunRecord]:
    """Return the runs that are over, report and all, but whose events do not say so."""
    over = [record for record in runs if record.status in FINAL and record.report_sha256]
    last = sorted(over, key=lambda record: record.finished_at)[-_LAST_ENDED:]
    return [record for record in last if not _says_it_ended(record, store)]


def _lacks_report(record: RunRecord) -> bool:
    return record.status in FINAL and bool(record.approved_version) and not record.report_sha256


def _says_it_ended(record: RunRecord, store: RunStore) -> bool:
    try:
        events = store.events(record.run_id, limit=1_000_000)
    except (IntegrityError, SchemaTooNew):
        return True  # what is damaged is left as it is, for `verify` to name
    return bool(events) and events[-1].kind == "run_finished"
