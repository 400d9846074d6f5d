"""Facts gathered into statements: which say the same, how well that is supported, and what excludes it."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable

from engine.domain.memory import Fact, FactView
from engine.memory.facts.contradictions import (
    FactStatement,
    KeyOf,
    compared_by_object,
    entity_key,
    exclude_each_other,
    statement_of,
)

_CROWD = 50
"""Statements that exclude each other under one predicate up to which every pair is reported; beyond, each is set
against the best supported only."""
_PUBLICATION = re.compile(
    r"\b(?:doi[:\s/]*|https?://(?:dx\.)?doi\.org/)?(?P<doi>10\.\d{4,9}/\S+[^\s.,;)\]])"
    r"|\bpmid[:\s]*(?P<pmid>\d{4,9})\b|\bpubmed[^\d]{0,30}(?P<pubmed>\d{4,9})\b|\b(?P<pmc>pmc\d{4,9})\b",
    re.IGNORECASE,
)
_RUN = re.compile(r"\brun_\w+", re.IGNORECASE)


def source_keys(fact: Fact) -> frozenset[str]:
    """Return what makes a fact's source the same as another's: its run, its publication, or its name.

    Facts that share any of these are one voice, whatever else differs.
    """
    keys = {_spoken_by(fact)}
    if fact.run_id:
        keys.add(f"run:{fact.run_id.casefold()}")
    return frozenset(keys)


def _spoken_by(fact: Fact) -> str:
    """Return who says it: the publication or run that the source names, else the source's own name."""
    found = _PUBLICATION.search(fact.source)
    if found is not None:
        kind = "doi" if found["doi"] else "pmc" if found["pmc"] else "pmid"
        return f"{kind}:{(found['doi'] or found['pmid'] or found['pubmed'] or found['pmc']).casefold()}"
    run = _RUN.search(fact.source)
    if run is not None:
        return f"run:{run.group().casefold()}"
    name = " ".join(fact.source.casefold().split())
    return f"run:{fact.run_id.casefold()}" if name == "run" and fact.run_id else f"name:{name}"


def combined_support(facts: Iterable[Fact]) -> float:
    """Return the confidence all independent sources give together: 1 - product of (1 - confidence).

    Of facts from the same source (see `source_keys`) only the most confident counts. Retracted facts do not.
    """
    voices: list[tuple[set[str], float]] = []
    for fact in facts:
        if fact.retracted:
            continue
        keys, confidence = set(source_keys(fact)), fact.confidence
        others: list[tuple[set[str], float]] = []
        for known, strength in voices:
            if known & keys:
                keys |= known
                confidence = max(confidence, strength)
            else:
                others.append((known, strength))
        voices = [*others, (keys, confidence)]
    return min(max(1.0 - math.prod(1.0 - confidence for _, confidence in voices), 0.0), 1.0)


class StatementIndex:
    """Facts by statement, and statements by what can exclude them."""

    def __init__(self, facts: Iterable[Fact], functional: frozenset[str], key_of: KeyOf = entity_key) -> None:
        """Gather facts.

        Args:
            facts: those there are.
            functional: predicates of which a subject has one object only.
            key_of: gives the form in which entities are compared.
        """
        self._functional = functional
        self._key_of = key_of
        self.facts: dict[str, Fact] = {}
        self.members: dict[FactStatement, dict[str, None]] = {}
        """Statement -> ids of the facts that state it."""
        self._stated: dict[str, FactStatement] = {}
        self._rivals: dict[tuple[str, ...], dict[FactStatement, None]] = {}
        """What statements share that may exclude each other -> those statements."""
        self._best: dict[tuple[str, ...], FactStatement] = {}
        """The best supported of a crowd of rivals; emptied at every change."""
        for fact in facts:
            self.put(fact)

    def statement(self, fact: Fact) -> FactStatement:
        """Return what a fact says."""
        return statement_of(fact.subject, fact.predicate, fact.object, self._key_of)

    def put(self, fact: Fact) -> None:
        """Add a fact or its newer state."""
        before = self._stated.get(fact.id)
        statement = before or self.statement(fact)
        if before is not None and _words(self.facts[fact.id]) != _words(fact):
            self.drop(fact.id)
            statement = self.statement(fact)
        self._best.clear()
        self.facts[fact.id] = fact
        self._stated[fact.id] = statement
        self.members.setdefault(statement, {})[fact.id] = None
        for group in self._groups(statement):
            self._rivals.setdefault(group, {})[statement] = None

    def drop(self, fact_id: str) -> None:
        """Take a fact out if it is there."""
        if self.facts.pop(fact_id, None) is None:
            return
        self._best.clear()
        statement = self._stated.pop(fact_id)
        del self.members[statement][fact_id]
        if self.members[statement]:
            return
        del self.members[statement]
        for group in self._groups(statement):
            del self._rivals[group][statement]

    def facts_of(self, statement: FactStatement) -> list[Fact]:
        """Return the facts that state it, oldest first."""
        return sorted((self.facts[name] for name in self.members[statement]), key=lambda fact: (fact.at, fact.id))

    def same_source(self, fact: Fact) -> Fact | None:
        """Return the fact by which the same source stated the same before, or None."""
        statement = self.statement(fact)
        speaker = _spoken_by(fact)
        known = [
            self.facts[name] for name in self.members.get(statement, ()) if _spoken_by(self.facts[name]) == speaker
        ]
        return known[-1] if known else None

    def view(self, statement: FactStatement, *, retracted: bool = False) -> FactView | None:
        """Return a statement with what speaks for and against it.

        None when every fact that states it was retracted, unless those are asked for.
        """
        facts = self.facts_of(statement)
        believed = [fact for fact in facts if not fact.retracted]
        if not believed and not retracted:
            return None
        against = [self._believed(other) for other in self.excluding(statement)] if believed else []
        return FactView(
            fact=(believed or facts)[-1],
            sources=list(dict.fromkeys(_source_name(fact) for fact in believed or facts)),
            support=combined_support(believed),
            contradicts=[other[-1] for other in against],
            against=max((combined_support(other) for other in against), default=0.0),
            facts=facts,
        )

    def excluding(self, statement: FactStatement) -> list[FactStatement]:
        """Return the believed statements that cannot be true together with this one, if it is believed itself."""
        if not self._believed(statement):
            return []
        found: dict[FactStatement, None] = {}
        for group in self._groups(statement):
            for other in self._compared(group, statement):
                if exclude_each_other(statement, other, self._functional) and self._believed(other):
                    found[other] = None
        return list(found)

    def _compared(self, group: tuple[str, ...], statement: FactStatement) -> Collection[FactStatement]:
        """Return the rivals to compare with: all of them, in a crowd only the best supported."""
        rivals = self._rivals[group]
        if len(rivals) <= _CROWD:
            return rivals
        if group not in self._best:
            self._best[group] = max(
                rivals, key=lambda other: (combined_support(self._believed(other)), other.object, other.relation)
            )
        if self._best[group] != statement:
            return [self._best[group]]
        return list(rivals)[:_CROWD]

    def _believed(self, statement: FactStatement) -> list[Fact]:
        return [fact for fact in self.facts_of(statement) if not fact.retracted]

    def _groups(self, statement: FactStatement) -> list[tuple[str, ...]]:
        groups: list[tuple[str, ...]] = [statement.pair]
        if compared_by_object(statement, self._functional):
            groups.append((statement.subject, statement.relation, "one object"))
        return groups


def _words(fact: Fact) -> tuple[str, str, str]:
    return fact.subject, fact.predicate, fact.object


def _source_name(fact: Fact) -> str:
    return fact.run_id if fact.source.casefold() == "run" and fact.run_id else fact.source
