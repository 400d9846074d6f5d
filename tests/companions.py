"""Memory, knowledge and tool search on in-memory stores, for tests that put an orchestrator together by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from engine.asking.corrections import Corrections
from engine.knowledge.service import KnowledgeBase
from engine.memory.episodes.memory import EpisodicMemory
from engine.memory.facts.memory import SemanticMemory
from engine.memory.service import Memory
from engine.memory.working.memory import WorkingMemory
from engine.profiling.service import LocalProfiler
from engine.retrieval.service import ToolFinder
from engine.settings import Settings
from engine.steps.remember import Remembering
from storage.graph.twin import GraphStoreTwin
from storage.memory.conversations_twin import ConversationsTwin
from storage.memory.episodes_twin import EpisodesTwin
from storage.memory.facts_twin import FactsTwin
from storage.runs.corrections_twin import CorrectionsTwin
from storage.tools.catalogues_twin import CataloguesTwin


def companions(folder: Path, registry: Any, clock: Any, ids: Any) -> dict[str, Any]:
    """Return what an `Orchestrator` needs besides the parts that run steps; there are no vectors."""
    settings = Settings(workspace=folder)
    knowledge = KnowledgeBase(store=GraphStoreTwin(), folder=folder / "graph", clock=clock, starter_wanted=False)
    episodes, facts, talks = EpisodesTwin(), FactsTwin(), ConversationsTwin()
    memory = Memory(
        settings=settings,
        episodic=EpisodicMemory(episodes, clock=clock),
        semantic=SemanticMemory(facts, clock, ids),
        working=WorkingMemory(talks, budget=16_000, model=None, clock=clock),
        episode_store=episodes,
        fact_store=facts,
        conversation_store=talks,
        knowledge=knowledge,
    )
    finder = ToolFinder(
        specs=list(registry), store=CataloguesTwin(), embeddings=None, clock=clock, graph=knowledge.view
    )
    remembering = Remembering(settings=settings, memory=memory, titles={})
    return {
        "memory": memory,
        "knowledge": knowledge,
        "finder": finder,
        "remembering": remembering,
        "corrections": Corrections(CorrectionsTwin(), LocalProfiler()),
    }
