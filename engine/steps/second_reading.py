"""A finished report is read by models, where there are some: put in words by one, doubted by another.

Neither may cost the run its report, and neither changes what the steps found.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from engine.agents.reviewer import Reviewed, RunReviewer
from engine.agents.writer import AnswerWriter
from engine.domain.events import ReportRevised, WarningRaised
from engine.domain.report import InWords, Report, RunView
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
    most: int = 2
    """Times that plain words are written anew after something was held against them."""

    def read(self, view: RunView, report: Report) -> Report:
        """Return the report with its answers in plain words and with what is doubted of it."""
        run_id = view.record.run_id
        words = self._unless_away(run_id, lambda: self.writer.in_words(report, run_id=run_id), "put in words")
        review = self._unless_away(run_id, lambda: self.reviewer.review(view, report, words), "reviewed")
        doubts = review.doubts if review else []
        words = self._that_hold(view, report, words, review)
        told = [f"{doubt.model} {'holds' if doubt.kind == 'wrong' else 'doubts'}: {doubt.text}" for doubt in doubts]
        wrong = [line for line, doubt in zip(told, doubts, strict=True) if doubt.kind == "wrong"]
        changed = {
            "in_words": words,
            "doubts": doubts,
            "limitations": [*told, *report.limitations],
            # What is held against this answer goes before notes on the data, which stand among the limits.
            "caveats": [*wrong, *(line for line in told if line not in wrong), *report.caveats][:3],
        }
        return report.model_copy(update=changed)

    def _that_hold(
        self, view: RunView, report: Report, words: InWords | None, review: Reviewed | None
    ) -> InWords | None:
        """Return plain words against which nothing is held, written anew where something was, or None."""
        run_id, against = view.record.run_id, list[str]()
        while words and review and review.words:
            against.append(review.words)
            if len(against) > self.most:
                message = f"The plain words are not shown, for they do not say what was found: {review.words}"
                self._tell(run_id, message)
                return None
            self.records.log.emit(ReportRevised(run_id=run_id, why=against[-1:], number=len(against)))
            words, review = self._again(view, report, [*against])
        return words

    def _again(self, view: RunView, report: Report, against: list[str]) -> tuple[InWords | None, Reviewed | None]:
        """Return other plain words and what is held against them; words that nobody reviewed are not shown."""
        run_id = view.record.run_id
        words = self._unless_away(
            run_id, lambda: self.writer.in_words(report, run_id=run_id, against=against), "put in words"
        )
        review = self._unless_away(run_id, lambda: self.reviewer.review(view, report, words), "reviewed")
        return (words if review else None), review

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
