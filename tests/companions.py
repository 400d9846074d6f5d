"""An orchestrator on twins without a disk, for tests of what happens between its parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from engine.adapters.fakes import CountingIds, FrozenClock
from engine.asking.corrections import Corrections
from engine.asking.direct.answers import DirectAnswers
from engine.asking.plan_desk import PlanDesk
from engine.asking.proposed_plan import PlanMaker
from engine.asking.proposing import Proposing
from engine.data.service import LocalProfiler
from engine.domain.results import Usage
from engine.knowledge.service import KnowledgeBase
from engine.memory.episodes.memory import EpisodicMemory
from engine.memory.facts.memory import SemanticMemory
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
from engine.toolbox.registry import builtin_tools
from storage.graph.twin import GraphStoreTwin
from storage.memory.conversations_twin import ConversationsTwin
from storage.memory.episodes_twin import EpisodesTwin
from storage.memory.facts_twin import FactsTwin
from storage.runs.corrections_twin import CorrectionsTwin
from storage.tools.catalogues_twin import CataloguesTwin


def made_orchestrator(folder: Path, sandbox: Any, store: Any, artifacts: Any) -> Orchestrator:
    """Return an orchestrator on twins without a disk; there are no vectors and no past."""
    registry, clock = builtin_tools(), FrozenClock()
    settings = Settings(workspace=folder)
    knowledge = KnowledgeBase(store=GraphStoreTwin(), folder=folder / "graph", clock=clock, starter_wanted=False)
    episodes, facts, talks = EpisodesTwin(), FactsTwin(), ConversationsTwin()
    memory = Memory(
        settings=settings,
        episodic=EpisodicMemory(episodes, clock=clock),
        semantic=SemanticMemory(facts, clock, CountingIds()),
        working=WorkingMemory(talks, budget=16_000, model=None, clock=clock),
        episode_store=episodes,
        fact_store=facts,
        conversation_store=talks,
        knowledge=knowledge,
    )
    finder = ToolFinder(
        specs=list(registry), store=CataloguesTwin(), embeddings=None, clock=clock, graph=knowledge.view
    )
    records = RunRecords(store, artifacts, EventLog(store, clock), clock, CountingIds(), {})
    queue, locks, planner = RunQueue(workers=1, size=5), RunLocks(), Planner(registry)
    corrections = Corrections(CorrectionsTwin(), LocalProfiler())
    maker = PlanMaker(planner, memory, finder, registry, store)
    executor = Executor(registry=registry, sandbox=sandbox, records=records, scratch=folder / "runs")
    return Orchestrator(
        records=records,
        queue=queue,
        locks=locks,
        plans=PlanDesk(records, queue, locks, corrections, maker, registry),
        proposing=Proposing(records, corrections, DirectAnswers(records, registry, knowledge, memory, planner), maker),
        strategy=DagStrategy(records, executor, workers=1),
        ending=Ending(
            records,
            registry,
            knowledge,
            Remembering(settings, memory, {}),
            finder.forget_usage,
            lambda run_id, seconds: Usage(seconds=round(seconds, 3)),
        ),
    )
