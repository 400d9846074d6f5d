"""Semantic memory: what each source stated. A fact is one source's word; nobody's word overwrites another's."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import NamedTuple

from engine.domain.memory import Fact
from engine.errors import NotFoundError, UserError
from engine.memory.facts.contradictions import FUNCTIONAL
from engine.memory.facts.names import EntityNames
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
        self.store = store
        self._clock = clock
        self._ids = ids
        self._functional = frozenset(functional)
        self._lock = threading.RLock()
        self._index: StatementIndex | None = None
        self.names = EntityNames()
        """What entities are compared by; statements are gathered anew with another version of the graph."""
        self._gathered_from = 0
        self.edition = 0
        """Another after every change, so that whoever keeps what was read knows when it is out of date."""
        self.when_restated: Callable[[Fact], None] | None = None
        """Called after a fact that is in the knowledge graph was stated anew, with another confidence for example."""

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
            self.names.look_up([fact.subject, fact.object])
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

    def retract(self, fact_id: str) -> Fact:
        """Take a fact back: it stays on record and supports nothing. Returns it.

        Raises:
            NotFoundError: when there is none of this id.
        """
        return self._change(fact_id, retracted=True)

    def restore(self, fact_id: str) -> Fact:
        """Believe a retracted fact again. Returns it; raises NotFoundError when there is none of this id."""
        return self._change(fact_id, retracted=False)

    def pin(self, fact_id: str, *, pinned: bool = True) -> Fact:
        """Keep a fact in front, or no longer. Returns it; raises NotFoundError when there is none of this id."""
        return self._change(fact_id, pinned=pinned)

    def forget(self, fact_id: str) -> bool:
        """Remove a fact for good; False when it was not there."""
        with self._lock:
            index = self._loaded()
            gone = self.store.forget(fact_id)
            index.drop(fact_id)
            self.edition += 1
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
            self.edition += 1

    @contextmanager
    def gathered(self) -> Iterator[StatementIndex]:
        """Give the facts gathered into statements, which nobody changes meanwhile."""
        with self._lock:
            yield self._loaded()

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
        self.store.save(facts)
        for fact in facts:
            index.put(fact)
        self.edition += 1

    def _loaded(self) -> StatementIndex:
        version = self.names.graph_version()
        if self._index is None or self._gathered_from != version:
            facts = self.store.facts()
            self.names.look_up([name for fact in facts for name in (fact.subject, fact.object)], anew=True)
            self._index = StatementIndex(facts, self._functional, self.names.key)
            self._gathered_from = version
            self.edition += 1
        return self._index


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
