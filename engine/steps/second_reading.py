"""A finished report is read by models, where there are some: put in words by one, doubted by another.

Neither may cost the run its report, and neither changes what the steps found.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from engine.agents.reviewer import RunReviewer
from engine.agents.writer import AnswerWriter
from engine.domain.events import WarningRaised
from engine.domain.report import Report
from engine.domain.run_view import RunView
from engine.errors import ModelUnavailable
from engine.runs.records import RunRecords

_log = logging.getLogger(__name__)
_Read = TypeVar("_Read")


@dataclass(frozen=True, slots=True)
class SecondReading:
    """Reads reports."""

    records: RunRecords
    writer: AnswerWriter
    reviewer: RunReviewer

    def read(self, view: RunView, report: Report) -> Report:
        """Return the report with its answers in plain words and with what is doubted of it."""
        run_id = view.record.run_id
        words = self._unless_away(run_id, lambda: self.writer.in_words(report, run_id=run_id), "put in words")
        review = self._unless_away(run_id, lambda: self.reviewer.review(view, report, words), "reviewed")
        doubts = review.doubts if review else []
        if words and review and review.words:
            self._tell(run_id, f"The plain words are not shown, for they do not say what was found: {review.words}")
            words = None
        told = [f"{doubt.model} {'holds' if doubt.kind == 'wrong' else 'doubts'}: {doubt.text}" for doubt in doubts]
        wrong = [line for line, doubt in zip(told, doubts, strict=True) if doubt.kind == "wrong"]
        changed = {
            "in_words": words,
            "doubts": doubts,
            "limitations": [*told, *report.limitations],
            "caveats": [*wrong, *report.caveats][:3],
        }
        return report.model_copy(update=changed)

    def _unless_away(self, run_id: str, read: Callable[[], _Read], what: str) -> _Read | None:
        try:
            return read()
        except ModelUnavailable as err:
            message = f"The report was not {what} by a model: {err.message}"
        except Exception as err:  # noqa: BLE001 - a border: a reading by a model must not cost the run its report
            _log.warning("The report of run %s was not %s", run_id, what, exc_info=err)
            message = f"The report was not {what} by a model: {err}"
        self._tell(run_id, message)
        return None

    def _tell(self, run_id: str, message: str) -> None:
        self.records.log.emit(WarningRaised(run_id=run_id, message=message))
