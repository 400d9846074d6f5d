"""An orchestrator on twins without a disk, for tests of what happens between its parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from engine.adapters.fakes import CountingIds, FrozenClock
from engine.asking.corrections import Corrections
from engine.asking.plan_desk import PlanDesk
from engine.asking.proposed_plan import PlanMaker
from engine.asking.router import Router
from engine.data.service import LocalProfiler
from engine.domain.results import Usage
from engine.knowledge.service import open_knowledge
from engine.memory.door import MemoryDoor
from engine.memory.episodes.memory import EpisodicMemory
from engine.memory.episodes.recalling import Recalling
from engine.memory.facts.memory import SemanticMemory
from engine.memory.facts.statements import Statements
from engine.memory.service import Memory
from engine.memory.working.memory import WorkingMemory
from engine.orchestrator import Orchestrator
from engine.planning.planner import Planner
from engine.retrieval.service import ToolFinder
from engine.runs.event_log import EventLog
from engine.runs.locks import RunLocks
from engine.runs.queue import RunQueue
from engine.runs.records import RunRecords
from engine.settings import Settings
from engine.steps.ending import Ending
from engine.steps.executor import Executor
from engine.steps.remember import Remembering
from engine.strategies.dag import DagStrategy
from engine.strategies.mcts.kept_search import KeptSearches
from engine.strategies.mcts.strategy import SearchStrategy
from engine.strategies.proposing import Proposing
from engine.strategies.react.sources import all_lookups
from engine.strategies.react.strategy import ReactStrategy
from engine.toolbox.registry import builtin_tools
from storage.graph.twin import GraphStoreTwin
from storage.memory.conversations_twin import ConversationsTwin
from storage.memory.episodes_twin import EpisodesTwin
from storage.memory.facts_twin import FactsTwin
from storage.runs.corrections_twin import CorrectionsTwin
from storage.runs.search_trees_twin import SearchTreesTwin
from storage.tools.catalogues_twin import CataloguesTwin


def made_orchestrator(folder: Path, sandbox: Any, store: Any, artifacts: Any) -> Orchestrator:
    """Return an orchestrator on twins without a disk; there are no vectors and no past."""
    registry, clock = builtin_tools(), FrozenClock()
    settings = Settings(workspace=folder)
    knowledge = open_knowledge(store=GraphStoreTwin(), folder=folder / "graph", clock=clock, starter_wanted=False)
    episodes, facts, talks = EpisodesTwin(), FactsTwin(), ConversationsTwin()
    past, semantic = EpisodicMemory(episodes, clock), SemanticMemory(facts, clock, CountingIds())
    memory = Memory(
        episodic=past,
        recalling=Recalling(past, clock=clock),
        semantic=semantic,
        statements=Statements(semantic),
        working=WorkingMemory(talks, budget=16_000, clock=clock),
        door=MemoryDoor(semantic, knowledge),
    )
    finder = ToolFinder(
        specs=list(registry), store=CataloguesTwin(), embeddings=None, clock=clock, graph=knowledge.graph.view
    )
    records = RunRecords(store, artifacts, EventLog(store, clock), clock, CountingIds(), {})
    queue, locks, planner = RunQueue(workers=1, size=5), RunLocks(), Planner(registry)
    corrections = Corrections(CorrectionsTwin(), LocalProfiler())
    maker = PlanMaker(planner, memory, finder, registry, store)
    react = ReactStrategy(all_lookups(records, registry, knowledge, memory, planner))
    search = SearchStrategy(knowledge, KeptSearches(SearchTreesTwin(), clock), planner)
    executor = Executor(registry=registry, sandbox=sandbox, records=records, scratch=folder / "runs")
    return Orchestrator(
        records=records,
        queue=queue,
        locks=locks,
        plans=PlanDesk(records, queue, locks, corrections, maker, registry),
        proposing=Proposing(records, corrections, Router(), react, search, maker),
        strategy=DagStrategy(records, executor, workers=1),
        ending=Ending(
            records,
            registry,
            knowledge.claims,
            Remembering(settings, memory, knowledge, {}),
            finder.forget_usage,
            lambda run_id, seconds: Usage(seconds=round(seconds, 3)),
        ),
    )
