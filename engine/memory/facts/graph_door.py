"""The one-way door from remembered facts to the knowledge graph.

Facts go out as nodes and edges of sources of their own, one per voice, so the graph says who stated an edge and
can take it back. Nothing comes in: the graph never writes a fact. What the graph cannot say (a denied relation,
an entity it does not know) stays behind and is listed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from engine.domain.knowledge import Edge, EdgeRows, EdgeType, GraphImport, GraphSource, NodeRows, NodeType
from engine.domain.memory import Fact
from engine.errors import NotFoundError
from engine.memory.facts.contradictions import relation_of
from engine.memory.facts.memory import SemanticMemory
from engine.memory.facts.support import source_keys
from engine.ports.graph import GraphStore
from engine.ports.system import Clock

Link = Callable[[str], tuple[str, NodeType] | None]
"""Finds the node an entity's name means, or None."""


class GraphSent(NamedTuple):
    """What went through the door."""

    imports: list[GraphImport]
    sent: list[str]
    """Ids of the facts that are in the graph now."""
    skipped: list[str]
    """A sentence for each fact that stayed behind."""
    new: list[str]
    """Those of `sent` that were not in the graph before."""
    opposed: Sequence[str] = ()
    """A sentence for each of `sent` of which another source of the graph states the opposite."""


class _EdgeRow(NamedTuple):
    source: tuple[str, NodeType, str]
    edge: EdgeType
    target: tuple[str, NodeType, str]
    relation: str


def to_graph_rows(facts: Sequence[Fact], link: Link) -> tuple[NodeRows, EdgeRows, list[str]]:
    """Return facts as nodes and edges, and a sentence for each that cannot be one.

    The relation keeps the words of the fact where the graph has no edge type for them (`related_to`) and its own
    predicate where it has. The confidence is the fact's. Retracted facts, denied relations other than `not
    expressed in`, and entities that `link` does not know are skipped.
    """
    nodes, edges, skipped = NodeRows(), EdgeRows(), []
    seen: set[str] = set()
    for fact in facts:
        row = _row(fact, link)
        if isinstance(row, str):
            skipped.append(row)
            continue
        for node_id, kind, name in (row.source, row.target):
            if node_id not in seen:
                seen.add(node_id)
                nodes.add(node_id, kind, name)
        edges.add(row.source[0], row.edge, row.target[0], row.relation, fact.confidence)
    return nodes, edges, skipped


class GraphDoor:
    """Keeps what the graph states of the facts of a memory. Whoever uses it sees that one thing happens at a time."""

    def __init__(self, memory: SemanticMemory, graph: GraphStore, link: Link, clock: Clock) -> None:
        """Connect facts with a graph.

        Args:
            memory: has the facts, and is told which of them are in the graph.
            graph: is brought up to date.
            link: finds the nodes of the facts' entities.
            clock: gives the graph's sources their time.
        """
        self._memory = memory
        self._graph = graph
        self._link = link
        self._clock = clock

    def send(self, fact_ids: Collection[str]) -> GraphSent:
        """Send facts to the graph, and bring what it has of the same sources up to date.

        Facts of one source that were sent before stay; those that were retracted since are taken out. Sending the
        same facts again changes nothing. Each source is one transaction of the graph.

        Raises:
            NotFoundError: when there is no fact of one of these ids; nothing was sent then.
        """
        wanted = {fact_id: self._memory.fact(fact_id) for fact_id in fact_ids}
        known = self._memory.facts()
        touched = {_voice(fact) for fact in wanted.values()}
        touched |= {_voice(fact) for fact in known if fact.in_graph and fact.retracted}
        imports: list[GraphImport] = []
        sent: list[str] = []
        skipped: list[str] = []
        there = {fact.id for fact in known if fact.in_graph}
        for voice in sorted(touched):
            own = [f for f in known if _voice(f) == voice and (f.in_graph or f.id in wanted)]
            done = self._bring_up_to_date(voice, own)
            imports.extend(done.imports)
            sent.extend(done.sent)
            skipped.extend(done.skipped)
        return GraphSent(imports, sent, skipped, [fact_id for fact_id in sent if fact_id not in there])

    def take(self, fact: Fact) -> None:
        """Take a fact that was sent out of the graph again; what else its source states there stays.

        The fact itself stays in memory, as one that is not in the graph.
        """
        voice = _voice(fact)
        if any(source.id == _source_id(voice) for source in self._graph.sources()):
            own = [f for f in self._memory.facts() if _voice(f) == voice and f.in_graph and f.id != fact.id]
            self._bring_up_to_date(voice, own)
        self._memory.mark_in_graph([fact.id], sent=False)

    def resend(self, before: Sequence[Fact]) -> None:
        """Make the graph state facts that changed since they were sent as they are now; retracted ones leave it.

        What was taken out of the graph by hand does not come in again.

        Args:
            before: the facts as they were, or as they are, which may be of another source now.
        """
        known = self._memory.facts()
        now = {fact.id: fact for fact in known}
        voices = {_voice(fact) for fact in before} | {_voice(now[fact.id]) for fact in before if fact.id in now}
        there = {source.id for source in self._graph.sources()}
        for voice in sorted(voices):
            own = [fact for fact in known if _voice(fact) == voice and fact.in_graph]
            if _source_id(voice) in there:
                self._bring_up_to_date(voice, own)
            else:
                self._memory.mark_in_graph([fact.id for fact in own], sent=False)

    def stated_edges(self, fact_ids: Sequence[str]) -> list[Edge]:
        """Return the edges that facts are in the graph."""
        _, rows, _ = to_graph_rows([self._memory.fact(fact_id) for fact_id in fact_ids], self._link)
        stated = zip(rows.sources, rows.types, rows.targets, rows.confidences, strict=True)
        return [Edge(source=a, type=kind, target=b, confidence=1.0 if c is None else c) for a, kind, b, c in stated]

    def _bring_up_to_date(self, voice: str, own: Sequence[Fact]) -> GraphSent:
        """Make a source of the graph state those of its facts that the graph can say, and record which they are."""
        done = GraphSent([], [], [], [])
        rows: list[Fact] = []
        for fact in own:
            reason = _row(fact, self._link)
            if isinstance(reason, str):
                done.skipped.append(reason)
            else:
                rows.append(fact)
        done.imports.extend(self._replace(voice, rows))
        done.sent.extend(fact.id for fact in rows)
        self._memory.mark_in_graph(done.sent)
        self._memory.mark_in_graph([fact.id for fact in own if fact.id not in set(done.sent)], sent=False)
        return done

    def _replace(self, voice: str, facts: list[Fact]) -> Iterator[GraphImport]:
        """Make a source of the graph state exactly these facts."""
        source_id = _source_id(voice)
        if not facts:
            with suppress(NotFoundError):  # nothing of it was ever there
                self._graph.remove_source(source_id)
            return
        nodes, edges, _ = to_graph_rows(facts, self._link)
        stated = zip(edges.sources, edges.types, edges.targets, strict=True)
        content = repr([(fact.id, fact.confidence, edge) for fact, edge in zip(facts, stated, strict=True)])
        source = GraphSource(
            id=source_id,
            name=f"Remembered facts: {facts[-1].source}",
            kind="facts",
            files={"facts": hashlib.sha256(content.encode()).hexdigest()},
            at=self._clock.now(),
            nodes=len(nodes),
            edges=len(edges),
        )
        yield self._graph.add(source, [nodes, edges])


def graph_source(fact: Fact) -> str:
    """Return the id of the graph's source under which a fact is or would be stated."""
    return _source_id(_voice(fact))


def _source_id(voice: str) -> str:
    return f"facts:{voice}"


def _voice(fact: Fact) -> str:
    """Return the source of a fact in a form that can be an id."""
    keys = sorted(source_keys(fact))
    publication = [key for key in keys if not key.startswith(("run:", "name:"))]
    return (publication or [key for key in keys if key.startswith("run:")] or keys)[0].replace(" ", "_")


def _row(fact: Fact, link: Link) -> _EdgeRow | str:
    """Return a fact as an edge with its ends, or a sentence on why it cannot be one."""
    said = f"{fact.subject} {fact.predicate} {fact.object}"
    if fact.retracted:
        return f"{said}: it was retracted."
    relation = relation_of(fact.predicate)
    edge = relation.edge
    if relation.denied:
        if edge is not EdgeType.EXPRESSED_IN:
            return f"{said}: the graph has no edge for something that is denied."
        edge = EdgeType.ABSENT_IN
    ends: list[tuple[str, NodeType, str]] = []
    for text in (fact.subject, fact.object):
        found = link(text)
        if found is None:
            return f"{said}: the graph knows no {text!r}."
        ends.append((found[0], found[1], text))
    if relation.passive:
        ends.reverse()
    if ends[0][0] == ends[1][0]:
        return f"{said}: both sides are the same entity of the graph."
    return _EdgeRow(ends[0], edge or EdgeType.RELATED_TO, ends[1], fact.predicate)
