"""The workspace's knowledge graph, put together of its parts; who needs one of them takes that one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from engine.knowledge.candidates.fitted import FittedLinks
from engine.knowledge.candidates.ranking import LinkRanking
from engine.knowledge.entities import Entities
from engine.knowledge.grounding.checker import ClaimChecker
from engine.knowledge.importing import GraphSources
from engine.knowledge.newest import NewestGraph
from engine.knowledge.reading import GraphReading
from engine.knowledge.recognising import Recognising
from engine.ports.graph import GraphStore
from engine.ports.system import Clock


@dataclass(frozen=True, slots=True)
class KnowledgeBase:
    """The parts of a workspace's knowledge graph; all may be used from any thread."""

    graph: NewestGraph
    """The newest version, and the store it comes from."""
    recognising: Recognising
    """Linker and look-up, for who uses them directly."""
    entities: Entities
    """Who is meant by a name, an identifier or a text."""
    reading: GraphReading
    """What is stated of entities."""
    claims: ClaimChecker
    """What the graph says of claims."""
    candidates: LinkRanking
    """Links that it lacks."""
    sources: GraphSources
    """Who states what: imports, what runs teach, what is taken back."""


def open_knowledge(store: GraphStore, folder: Path, clock: Clock, *, starter_wanted: bool = True) -> KnowledgeBase:
    """Put a workspace's knowledge together; nothing is read before the first question.

    Args:
        store: the graph's truth.
        folder: where its arrays are kept.
        clock: says when a source was read.
        starter_wanted: load the starter graph into a workspace that has none.
    """
    graph = NewestGraph(store, folder, clock, starter_wanted)
    recognising = Recognising(graph)
    entities = Entities(graph, recognising)
    return KnowledgeBase(
        graph=graph,
        recognising=recognising,
        entities=entities,
        reading=GraphReading(graph, entities),
        claims=ClaimChecker(graph, recognising),
        candidates=LinkRanking(entities, FittedLinks(graph)),
        sources=GraphSources(graph, recognising),
    )
