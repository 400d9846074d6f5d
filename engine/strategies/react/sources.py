"""All look-ups in the order in which they are thought of: talk, files, runs, graph, memory, literature."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine.knowledge.service import KnowledgeBase
from engine.memory.service import Memory
from engine.planning.planner import Planner
from engine.runs.records import RunRecords
from engine.strategies.react.answer.whereabouts import other_names
from engine.strategies.react.files import Files
from engine.strategies.react.graph import GraphLookups
from engine.strategies.react.literature import Literature
from engine.strategies.react.lookup import Lookup, LookupQuestion
from engine.strategies.react.remembered import Remembered
from engine.strategies.react.runs import RunLookups
from engine.strategies.react.talk import Talk
from engine.strategies.react.wording import asks_what_is_known
from engine.toolbox.registry import ToolRegistry


def all_lookups(
    records: RunRecords, registry: ToolRegistry, knowledge: KnowledgeBase, memory: Memory, planner: Planner
) -> list[Callable[[LookupQuestion], Sequence[Lookup]]]:
    """Return what gives the look-ups there are for a question."""

    def is_known_asked(asked: LookupQuestion) -> bool:
        if asked.plain:
            return asked.by_name or not asked.profiles
        # `Did we see a difference in weight?` asks to compute where there is a weight, not for another run's finding.
        return asks_what_is_known(asked.question) and not _names_data(asked)

    def _names_data(asked: LookupQuestion) -> bool:
        reading = planner.read(asked.question, asked.profiles)
        return reading is not None and bool(reading.mentions)

    return [
        Talk(records, registry, other_names(knowledge.entities), planner.offers),
        Files(planner.read),
        RunLookups(records.store, registry),
        GraphLookups(knowledge, is_known_asked),
        Remembered(memory, is_known_asked),
        Literature(knowledge, is_known_asked),
    ]
