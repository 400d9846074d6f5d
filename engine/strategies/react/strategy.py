"""The strategy `react`: what is stored or known answers, without a plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.domain.profile import Profile
from engine.domain.report import Report
from engine.domain.results import RunRecord
from engine.strategies.react.lookup import Lookup, LookupQuestion
from engine.strategies.react.loop import Driver, answered, by_words, looked_up


@dataclass(frozen=True, slots=True)
class ReactStrategy:
    """Answers questions by look-ups."""

    sources: Sequence[Callable[[LookupQuestion], Sequence[Lookup]]]
    """What gives the look-ups there are for a question, in the order in which they are thought of."""
    driver: Driver = by_words

    def at_once(self, record: RunRecord, profiles: Sequence[Profile]) -> Report | None:
        """Return the answer to a question that asks for nothing but a look-up, None for one that may need a plan."""
        return self._answer(record, profiles, by_words, plain=False)

    def answer(
        self, record: RunRecord, profiles: Sequence[Profile], *, by_name: bool = False, opening: str = ""
    ) -> Report | None:
        """Return what look-ups say of a question, None when they say nothing.

        Args:
            record: the run of the question.
            profiles: its files.
            by_name: whether a person chose look-ups; else a question with files is looked up in the files only.
            opening: what is said first.
        """
        return self._answer(record, profiles, self.driver, opening=opening, plain=True, by_name=by_name)

    def _answer(
        self,
        record: RunRecord,
        profiles: Sequence[Profile],
        driver: Driver,
        *,
        plain: bool,
        by_name: bool = False,
        opening: str = "",
    ) -> Report | None:
        conversation = "" if record.alone else record.conversation
        asked = LookupQuestion(record.question, profiles, conversation, record.created_at, plain, by_name)
        lookups = [lookup for source in self.sources for lookup in source(asked)]
        return answered(record.question, looked_up(asked, lookups, driver), opening)
