"""Semantic memory: statements with who says them, what supports them and what speaks against them.

A fact is one source's word. Facts that say the same, however worded, are one statement, believed as much as its
independent sources together warrant: 1 - product of (1 - confidence), each source counted once. Statements that
exclude each other stay side by side; nobody's word overwrites another's.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple

from engine.domain.memory import Fact, FactView
from engine.errors import NotFoundError, UserError
from engine.memory.facts.contradictions import FUNCTIONAL, FactStatement, entity_key
from engine.memory.facts.quantities import parse_quantity
from engine.memory.facts.support import StatementIndex
from engine.ports.memory import FactStore
from engine.ports.system import Clock, IdSource
from engine.text.prose import quoted

_LONGEST = 2_000
"""Signs in a part of a statement."""
USUAL_CONFIDENCE = 0.8
"""Of a new fact whose source does not say how sure it is."""


class Stated(NamedTuple):
    """A statement that was made, and what the same source had stated before."""

    fact: Fact
    before: Fact | None
    """The fact as it was until now, equal to `fact` when nothing changed; None when it is new."""


class SemanticMemory:
    """The facts of a workspace. Thread-safe; reads the store once and keeps an index of it."""

    def __init__(
        self,
        store: FactStore,
        clock: Clock,
        ids: IdSource,
        *,
        functional: Collection[str] = FUNCTIONAL,
    ) -> None:
        """Set up semantic memory.

        Args:
            store: where facts are kept.
            clock: gives facts their time.
            ids: gives facts their ids.
            functional: predicates of which a subject has only one object, words joined by `_`.
        """
        self._store = store
        self._clock = clock
        self._ids = ids
        self._functional = frozenset(functional)
        self._lock = threading.RLock()
        self._index: StatementIndex | None = None
        self.entities_of: Callable[[Collection[str]], Mapping[str, str]] = lambda names: {}
        """Gives the ids of the entities of the knowledge graph that names mean, without those that are unclear."""
        self.graph_version: Callable[[], int] = lambda: 0
        """Says which version of the graph `entities_of` answers from; with another, statements are gathered anew."""
        self._gathered_from = 0
        self._entities: dict[str, str] = {}
        """Name -> the form it is compared in."""
        self._views: dict[bool, list[FactView]] = {}
        """All statements, without and with the retracted; emptied at every change."""
        self._pairs: list[tuple[FactView, FactView]] | None = None
        self.when_restated: Callable[[Fact], None] | None = None
        """Called after a fact that is in the knowledge graph was stated anew, with another confidence for example."""

    def add(
        self,
        subject: str,
        predicate: str,
        object: str,
        source: str,
        confidence: float | None = None,
        run_id: str = "",
    ) -> Fact:
        """Remember a statement and return it as a fact; see `state`."""
        return self.state(subject, predicate, object, source, confidence, run_id).fact

    def state(
        self,
        subject: str,
        predicate: str,
        object: str,
        source: str,
        confidence: float | None = None,
        run_id: str = "",
    ) -> Stated:
        """Remember a statement and return it as a fact, with what the source had stated before.

        The same statement by the same source again is the same fact: its confidence and time are renewed, and it
        is believed again if it had been retracted. By another source it is a further fact that supports it.

        Args:
            subject: what the statement is about.
            predicate: what it says of it.
            object: about what else.
            source: who says so.
            confidence: 0 to 1; when left out, what the source gave before, else `USUAL_CONFIDENCE`.
            run_id: the run it comes from.

        Raises:
            UserError: for an empty or overlong part, or a confidence outside 0 to 1.
        """
        sure = USUAL_CONFIDENCE if confidence is None else confidence
        if not (isinstance(sure, int | float) and 0 <= sure <= 1):
            raise UserError(
                f"A fact cannot have the confidence {confidence!r}.", advice="Give a number from 0 to 1, such as 0.8."
            )
        fact = Fact(
            id="",
            subject=_checked("subject", subject),
            predicate=_checked("predicate", predicate),
            object=_checked("object", object),
            source=_checked("source", source),
            confidence=float(sure),
            at=self._clock.now(),
            run_id=run_id.strip(),
        )
        with self._lock:
            index = self._loaded()
            self._look_up([fact.subject, fact.object])
            known = index.same_source(fact)
            if known is None:
                fact = fact.model_copy(update={"id": self._ids.new("fact")})
            else:
                renewed = known.confidence if confidence is None else fact.confidence
                if known.confidence == renewed and not known.retracted:
                    return Stated(known, known)
                fact = known.model_copy(update={"confidence": renewed, "at": fact.at, "retracted": False})
            self._save([fact])
        # Outside the lock: the graph asks for facts while it is written.
        if known is not None and known.in_graph and self.when_restated is not None:
            self.when_restated(fact)
        return Stated(fact, known)

    def fact(self, fact_id: str) -> Fact:
        """Return a fact.

        Raises:
            NotFoundError: when there is none of this id.
        """
        with self._lock:
            found = self._loaded().facts.get(fact_id)
        if found is None:
            raise NotFoundError(
                f"There is no fact {quoted(fact_id)}.", advice="`biodesk memory facts` lists the facts with their ids."
            )
        return found

    def facts(self) -> list[Fact]:
        """Return every fact, retracted ones too, as each source stated it."""
        with self._lock:
            return list(self._loaded().facts.values())

    def about(self, entity: str, *, retracted: bool = False) -> list[FactView]:
        """Return the statements that mention an entity, in any spelling, in subject or object.

        Exact matches come first, then matches of whole words, then parts of words; within each, subjects before
        objects and the better supported first. Statements that were retracted are left out unless asked for.
        """
        words = " ".join(entity.casefold().split())
        with self._lock:
            index = self._loaded()
            self._look_up([entity])
            wanted = self._key(entity)
            if not wanted:
                return []
            ranked = [
                (rank, statement)
                for statement in index.members
                if (rank := _rank(statement, index.facts_of(statement)[-1], wanted, words)) is not None
            ]
            views = [
                (rank, view)
                for rank, statement in ranked
                if (view := index.view(statement, retracted=retracted)) is not None
            ]
        views.sort(key=lambda entry: (entry[0], -entry[1].support, entry[1].fact.id))
        return [view for _, view in views]

    def all(self, *, retracted: bool = False) -> list[FactView]:
        """Return all statements, pinned ones first, then the newest; with `retracted` those taken back as well."""
        with self._lock:
            index = self._loaded()
            if retracted not in self._views:
                views = [index.view(statement, retracted=retracted) for statement in index.members]
                found = [view for view in views if view is not None]
                found.sort(key=lambda view: (view.fact.at, view.fact.id), reverse=True)
                found.sort(key=lambda view: not any(fact.pinned for fact in view.facts))
                self._views[retracted] = found
            return list(self._views[retracted])

    def contradictions(self) -> list[tuple[FactView, FactView]]:
        """Return the pairs of statements that cannot both be true, the most strongly supported on both sides first.

        In a pair the better supported statement comes first.
        """
        with self._lock:
            index = self._loaded()
            if self._pairs is None:
                self._pairs = self._excluding_pairs(index)
            return list(self._pairs)

    @staticmethod
    def _excluding_pairs(index: StatementIndex) -> list[tuple[FactView, FactView]]:
        pairs = {frozenset((one, other)) for one in index.members for other in index.excluding(one)}
        views = {s: v for pair in pairs for s in pair if (v := index.view(s)) is not None}
        found: list[tuple[FactView, FactView]] = []
        for pair in pairs:
            one, other = sorted((views[s] for s in pair), key=lambda view: (-view.support, view.fact.id))
            found.append((one, other))
        found.sort(key=lambda entry: (-entry[1].support, -entry[0].support, entry[0].fact.id, entry[1].fact.id))
        return found

    def retract(self, fact_id: str) -> Fact:
        """Take a fact back: it stays on record and supports nothing. Returns it.

        Raises:
            NotFoundError: when there is none of this id.
        """
        return self._change(fact_id, retracted=True)

    def restore(self, fact_id: str) -> Fact:
        """Believe a retracted fact again. Returns it; raises NotFoundError when there is none of this id."""
        return self._change(fact_id, retracted=False)

    def pin(self, fact_id: str) -> Fact:
        """Keep a fact in front. Returns it; raises NotFoundError when there is none of this id."""
        return self._change(fact_id, pinned=True)

    def unpin(self, fact_id: str) -> Fact:
        """Undo `pin`. Returns the fact; raises NotFoundError when there is none of this id."""
        return self._change(fact_id, pinned=False)

    def forget(self, fact_id: str) -> bool:
        """Remove a fact for good; False when it was not there."""
        with self._lock:
            index = self._loaded()
            gone = self._store.forget(fact_id)
            index.drop(fact_id)
            self._outdate()
            return gone

    def mark_in_graph(self, fact_ids: Collection[str], *, sent: bool = True) -> list[Fact]:
        """Record that facts were sent to the knowledge graph, or taken back from it; returns those that changed."""
        with self._lock:
            facts = self._loaded().facts
            changed = [
                facts[name].model_copy(update={"in_graph": sent})
                for name in dict.fromkeys(fact_ids)
                if name in facts and facts[name].in_graph != sent
            ]
            self._save(changed)
            return changed

    def refresh(self) -> None:
        """Read the store again at the next use, after something else wrote to it (an import)."""
        with self._lock:
            self._index = None
            self._outdate()

    def changing(self) -> AbstractContextManager[object]:
        """Keep others waiting while the store is changed by somebody else, who calls `refresh` before letting go."""
        return self._lock

    def _change(self, fact_id: str, **values: bool) -> Fact:
        with self._lock:
            before = self.fact(fact_id)
            after = before.model_copy(update=values)
            if after != before:
                after = after.model_copy(update={"updated": self._clock.now()})
                self._save([after])
            return after

    def _save(self, facts: Sequence[Fact]) -> None:
        index = self._loaded()
        self._store.save(facts)
        for fact in facts:
            index.put(fact)
        self._outdate()

    def _outdate(self) -> None:
        self._views.clear()
        self._pairs = None

    def _loaded(self) -> StatementIndex:
        version = self.graph_version()
        if self._index is None or self._gathered_from != version:
            facts = self._store.facts()
            self._entities.clear()
            self._look_up([name for fact in facts for name in (fact.subject, fact.object)])
            self._index = StatementIndex(facts, self._functional, self._key)
            self._gathered_from = version
            self._outdate()
        return self._index

    def _look_up(self, names: Collection[str]) -> None:
        """Ask the graph, once for all of them, which entities names mean."""
        new = {name: entity_key(name) for name in names if name not in self._entities}
        found = self.entities_of([name for name, key in new.items() if parse_quantity(key) is None]) if new else {}
        self._entities |= {**new, **found}

    def _key(self, name: str) -> str:
        """Return what an entity is compared by: the node of the graph it means, else its own spelling."""
        return self._entities.get(name) or entity_key(name)


def _rank(statement: FactStatement, fact: Fact, wanted: str, words: str) -> int | None:
    """Return how well a statement fits an entity, 0 best; None when it does not mention it."""
    ranks: list[int] = []
    for side, key in enumerate((statement.subject, statement.object)):
        if key == wanted:
            ranks.append(side)
        elif wanted in key:
            ranks.append(4 + side)
    for side, text in enumerate((fact.subject, fact.object)):
        folded = " ".join(text.casefold().split())
        if words in folded:
            whole = re.search(rf"(?<!\w){re.escape(words)}(?!\w)", folded) is not None
            ranks.append((2 if whole else 4) + side)
    return min(ranks, default=None)


def _checked(name: str, text: str) -> str:
    """Return a part of a statement in one line, or say why it cannot be used."""
    clean = " ".join(str(text).split())
    if not clean:
        raise UserError(
            f"A fact needs {'an' if name == 'object' else 'a'} {name}, but it is empty.",
            advice="Give subject, predicate, object and source, such as TP53, is mutated in, LUAD, PMID:25079552.",
        )
    if len(clean) > _LONGEST:
        raise UserError(
            f"The {name} of a fact has {len(clean):,} signs ({clean[:40]!r}...), but at most {_LONGEST:,} are kept.",
            advice="State it shorter, or as several facts.",
        )
    return clean
