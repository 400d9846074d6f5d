"""Look-ups in memory: facts and past analyses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from engine.domain.base import Value
from engine.memory.service import Memory
from engine.strategies.react.lookup import Lookup, LookupQuestion, Observation, Step
from engine.strategies.react.wording import asks_what_is_known, named_in
from engine.text.sentences import first_sentence

PAST, FACTS = 3, 3


class Entity(Value):
    """What facts are about, by name."""

    name: str


class MemoryQuery(Value):
    """What past analyses should be like, in words."""

    text: str


@dataclass(frozen=True, slots=True)
class Remembered:
    """Look-ups in what is remembered."""

    memory: Memory
    is_asked: Callable[[LookupQuestion], bool]
    """Whether a question asks for what is known."""

    def __call__(self, asked: LookupQuestion) -> list[Lookup]:
        """Return the look-ups there are for a question."""
        return [
            Lookup("facts_of", "Remembered facts about an entity, with their sources.", Entity, self._facts, _names),
            Lookup("past_analyses", "Past analyses that fit a question.", MemoryQuery, self._past, self._queries),
        ]

    def _facts(self, taken: Entity) -> Observation:
        lines = [
            f"Remembered: {v.fact.subject} {v.fact.predicate} {v.fact.object} (source: {', '.join(v.sources[:3])}; "
            f"support {v.support:.2f}{'; contradicted by another fact' if v.contradicts else ''})."
            for v in self.memory.statements.about(taken.name)[:FACTS]
        ]
        return Observation(lines=lines)

    def _past(self, taken: MemoryQuery) -> Observation:
        recalled = self.memory.recalling.recall(taken.text, top=PAST).episodes
        lines = [
            f"Past analysis of {item.episode.at[:10]} ({item.episode.run_id or item.episode.id}), "
            f'"{item.episode.task}": {first_sentence(item.episode.result_summary) or "no result is kept of it."}'
            for item in recalled
        ]
        return Observation(lines=lines)

    def _queries(self, asked: LookupQuestion, steps: Sequence[Step]) -> Iterable[MemoryQuery]:
        known = asks_what_is_known(asked.question) or bool(named_in(steps))
        return [MemoryQuery(text=asked.question)] if known and self.is_asked(asked) else []


def _names(asked: LookupQuestion, steps: Sequence[Step]) -> Iterator[Entity]:
    yield from (Entity(name=node.name) for node in named_in(steps))
