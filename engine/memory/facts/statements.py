"""What facts state together: statements with who says them, what supports them and what speaks against them.

Facts that say the same, however worded, are one statement, believed as much as its independent sources together
warrant: 1 - product of (1 - confidence), each source counted once. Statements that exclude each
other stay side by side.
"""

from __future__ import annotations

import re
from typing import Protocol

from engine.domain.memory import Fact, FactView
from engine.errors import ModelUnavailable
from engine.memory.facts.contradictions import FactStatement
from engine.memory.facts.memory import SemanticMemory
from engine.memory.facts.support import StatementIndex

LEAST_LIKENESS = 0.3
"""Cosine from which on a statement counts as near; two unrelated ones have about 0.1."""


class Nearest(Protocol):
    """Finds those of some texts that are nearest to a question in meaning."""

    def __call__(self, question: str, texts: list[str], *, top: int) -> list[tuple[str, float]]:
        """Return at most `top` of the texts with their cosines, best first."""
        ...


class Statements:
    """Reads the facts of a workspace as statements. Thread-safe; keeps what it read until a fact changes."""

    def __init__(self, facts: SemanticMemory, nearest: Nearest | None = None) -> None:
        """Read from the facts; `nearest` compares meanings, where an embedding model is set up."""
        self._facts = facts
        self._nearest = nearest
        self._read_at = -1
        self._views: dict[bool, list[FactView]] = {}
        """All statements, without and with the retracted."""
        self._pairs: list[tuple[FactView, FactView]] | None = None

    def about(self, entity: str = "", *, retracted: bool = False) -> list[FactView]:
        """Return the statements that mention an entity, in any spelling, in subject or object; without one, all.

        Exact matches come first, then matches of whole words, then parts of words; within each, subjects before
        objects and the better supported first. Of all, pinned ones come first, then the newest. Statements
        that were retracted are left out unless asked for.
        """
        words = " ".join(entity.casefold().split())
        with self._facts.gathered() as index:
            if not words:
                return self._all(index, retracted=retracted)
            self._facts.names.look_up([entity])
            wanted = self._facts.names.key(entity)
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

    def near(self, question: str, *, top: int = 5) -> list[FactView]:
        """Return the held statements that are nearest to a question in meaning, best first, with their `likeness`.

        None when nothing is near. They are near, and no more: none of them need answer.

        Raises:
            ModelUnavailable: when meanings cannot be compared here.
        """
        if self._nearest is None:
            raise ModelUnavailable(
                "Facts cannot be compared by meaning, because no embedding model is set up.",
                advice="Ask for an entity by its name, or set embedding_model.",
            )
        said = {_in_words(view.fact): view for view in self.about()} if question.strip() else {}
        found = self._nearest(question, list(said), top=top)
        return [
            said[text].model_copy(update={"likeness": round(cosine, 4)})
            for text, cosine in found
            if cosine >= LEAST_LIKENESS
        ]

    def contradictions(self) -> list[tuple[FactView, FactView]]:
        """Return the pairs of statements that cannot both be true, the most strongly supported on both sides first.

        In a pair the better supported statement comes first.
        """
        with self._facts.gathered() as index:
            self._forget_outdated()
            if self._pairs is None:
                self._pairs = _excluding_pairs(index)
            return list(self._pairs)

    def _all(self, index: StatementIndex, *, retracted: bool) -> list[FactView]:
        self._forget_outdated()
        if retracted not in self._views:
            views = (index.view(statement, retracted=retracted) for statement in index.members)
            found = [view for view in views if view is not None]
            found.sort(key=lambda view: (view.fact.at, view.fact.id), reverse=True)
            found.sort(key=lambda view: not any(fact.pinned for fact in view.facts))
            self._views[retracted] = found
        return list(self._views[retracted])

    def _forget_outdated(self) -> None:
        """Let go of what was read before the last change of a fact."""
        if self._read_at != self._facts.edition:
            self._views.clear()
            self._pairs = None
            self._read_at = self._facts.edition


def _excluding_pairs(index: StatementIndex) -> list[tuple[FactView, FactView]]:
    pairs = {frozenset((one, other)) for one in index.members for other in index.excluding(one)}
    views = {s: v for pair in pairs for s in pair if (v := index.view(s)) is not None}
    found: list[tuple[FactView, FactView]] = []
    for pair in pairs:
        one, other = sorted((views[s] for s in pair), key=lambda view: (-view.support, view.fact.id))
        found.append((one, other))
    found.sort(key=lambda entry: (-entry[1].support, -entry[0].support, entry[0].fact.id, entry[1].fact.id))
    return found


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


def _in_words(fact: Fact) -> str:
    return f"{fact.subject} {fact.predicate.replace('_', ' ')} {fact.object}"
