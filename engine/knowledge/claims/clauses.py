"""Cutting a sentence at its entities: lists of entities, clauses, and the words that join each two of them.

A sentence is its entities and the gaps around them. Entities of one kind that a list joins (`A, B and C`) form a group.
For each two groups a `Clause` holds the words that can say how they are related: where a clause leaves its subject out
(`A binds B and treats C`), or says `it`, the words between are those of that clause alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.domain.knowledge import Mention
from engine.knowledge.claims.features import FIRST, OTHER, SECOND, tokens_of
from engine.knowledge.claims.mentions import kinds_of
from engine.knowledge.claims.relations import family
from engine.text.stems import stem


def _stems(words: str) -> frozenset[str]:
    return frozenset(stem(word) for word in words.split())


_LIST = _stems("and or as well both either neither nor but not the plus also also human rather than instead of") | {",", "(", ")"}
_JOINS = _stems("and or nor plus than well of") | {",", "not"}
_TURNS = _stems("not nor rather instead")
_NEITHER = _stems("neither")
_SEAMS = _stems("and but while whereas although though yet which who however whose because since so") | {";", ":"}
_NO_PREDICATE = _stems("the a an and but in of human gene protein its their both for by with to on at drug expression") | {",", "(", ")", '"'}
_PRONOUNS = _stems("it they this these that which who also the same drug gene compound agent")
_SETTING = _stems("in within under among during by with upon after on at for")
_AUXILIARY = re.compile(r"(?:,|in contrast|howev|by contrast)*(do|doe|did|is|are|was|were|can|has|have)(?: (not))?$")
_MOST = 5
"""Groups that a pair may span."""


@dataclass(slots=True)
class Group:
    """Entities that a list joins; `turned` are those after `but not`."""

    members: list[int]
    turned: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Clause:
    """The words that join two groups, `@1` and `@2`, in the order of the text."""

    first: Group
    second: Group
    tokens: list[str]
    gaps: frozenset[int]
    """Which gaps between groups its words are of; a gap speaks of one pair only."""
    bonus: float = 0.0
    """How much likelier than another pair over the same words."""


class Parts:
    """A sentence as groups of entities and the tokens around them."""

    def __init__(self, text: str, mentions: Sequence[Mention], start: int) -> None:
        """Cut a text; `start` is where it begins among the mentions' places."""
        places = [0, *(p for m in mentions for p in (m.start - start, m.end - start)), len(text)]
        pieces = [tokens_of(text[a:b]) for a, b in zip(places[::2], places[1::2], strict=True)]
        self.gaps = _without_asides(pieces)
        self.groups: list[Group] = []
        self.between: list[list[str]] = [self.gaps[0]]
        """Tokens before the first group, between each two, and after the last."""
        for number, mention in enumerate(mentions):
            gap = self.gaps[number]
            if number and _in_list(gap, mentions[number - 1], mention):
                self.groups[-1].members.append(number)
                if _TURNS.intersection(gap) and not _NEITHER.intersection(self.gaps[self.groups[-1].members[0]]):
                    self.groups[-1].turned.add(number)
            else:
                self.groups.append(Group([number]))
                if number:
                    self.between.append(gap)
        self.between.append(self.gaps[-1])

    def clauses(self) -> list[Clause]:
        """Return what may join each two groups, and each two entities of one list."""
        found: list[Clause] = []
        count = len(self.groups)
        for i in range(count):
            found += self._within(i)
            for k in range(i + 1, min(count, i + _MOST)):
                clause = self._clause(i, k)
                if clause is not None:
                    found.append(clause)
        return found

    def couples(self) -> list[Clause]:
        """Return the clauses of `A binds B, C treats D`, each about the next two entities; none for another sentence."""
        count = len(self.gaps) - 1
        if count < 4 or count % 2:
            return []
        cuts = [0, *(_first_seam(self.gaps[k]) for k in range(2, count, 2)), 0]
        if not all(cuts[1:-1]):
            return []
        found: list[Clause] = []
        for n, k in enumerate(range(0, count, 2)):
            pre = self.gaps[k][cuts[n] :]
            post = self.gaps[k + 2][: cuts[n + 1] - 1] if k + 2 < count else self.gaps[k + 2]
            middle = self.gaps[k + 1]
            if n and _NO_PREDICATE.issuperset(middle) and _NO_PREDICATE.issuperset(post):
                middle = [*self.gaps[1], *(t for t in middle if t not in self.gaps[1])]  # the verb is left out
            tokens = [*pre, FIRST, *middle, SECOND, *post]
            found.append(Clause(Group([k]), Group([k + 1]), tokens, frozenset({k + 1})))
        return found

    def _clause(self, i: int, k: int) -> Clause | None:
        """Return the words that join two groups, or None when a clause about others lies between."""
        alone = len(self.groups) == 2  # then there is nothing else that a clause could be about
        seam = 0 if alone else max((m for m in range(i + 1, k + 1) if _seam(self.between[m])), default=0)
        pre, post = self._before(i), self._after(k)
        if not seam:
            middle = self._middle(i, k)
            return self._made(i, k, [*pre, FIRST, *middle, SECOND, *post], range(i + 1, k + 1))
        if seam < k:
            return None
        rest = self.between[k][_seam(self.between[k]) :]
        if all(token in _NO_PREDICATE for token in rest):
            if not (i == 0 and pre and pre[-1 if pre[-1] != "the" else -2 :][0] in _SETTING):
                return None
            return self._made(i, k, [*pre, FIRST, ",", SECOND, *post], [k])
        while rest and rest[0] in _PRONOUNS:
            rest = rest[1:]
        which = self.between[k][_seam(self.between[k]) - 1] in ("which", "who")
        nearest = (i == k - 1) if which else (i == 0 or bool(_seam(self.between[i])))
        frame = pre if i == 0 and "and" in self.between[k] else []
        return self._made(i, k, [*frame, FIRST, *rest, SECOND, *post], [k], bonus=0.15 * nearest)

    def _made(self, i: int, k: int, tokens: list[str], gaps: Sequence[int] | range, bonus: float = 0.0) -> Clause:
        return Clause(self.groups[i], self.groups[k], tokens, frozenset(gaps), bonus)

    def _middle(self, i: int, k: int) -> list[str]:
        tokens = list(self.between[i + 1])
        for m in range(i + 1, k):
            tokens += [OTHER, *self.between[m + 1]]
        return tokens

    def _before(self, i: int) -> list[str]:
        gap = self.between[i]
        if i == 0:
            return gap
        cut = _seam(gap)
        return gap[cut:] if cut else [OTHER, *gap]

    def _after(self, k: int) -> list[str]:
        gap = self.between[k + 1]
        if k + 1 == len(self.groups):
            return gap
        cut = _seam(gap)
        return gap[: cut - 1] if cut else [*gap, OTHER]

    def _within(self, i: int) -> list[Clause]:
        """Return what joins the entities of one list: `A and B interact`."""
        members = self.groups[i].members
        pre, post = self._before(i), self._after(i)
        pairs = [(a, b) for n, a in enumerate(members[:4]) for b in members[n + 1 : 4]]
        return [
            Clause(Group([a]), Group([b]), [*pre, FIRST, *self.gaps[b], SECOND, *post], frozenset({-1 - a * 100 - b}))
            for a, b in pairs
        ]


def _without_asides(pieces: list[list[str]]) -> list[list[str]]:
    """Drop what stands in brackets without an entity."""
    kept = []
    for piece in pieces:
        found: list[str] = []
        for token in piece:
            if token == ")" and "(" in found:
                del found[len(found) - 1 - found[::-1].index("(") :]
            else:
                found.append(token)
        kept.append(found)
    return kept


def _in_list(gap: list[str], one: Mention, two: Mention) -> bool:
    if not gap or len(gap) > 5 or not _LIST.issuperset(gap) or not _JOINS.intersection(gap):
        return False
    families = {family(kind) for kind in kinds_of(one)}
    return not families.isdisjoint(family(kind) for kind in kinds_of(two))


def _seam(gap: list[str]) -> int:
    """Return the place after the last word of a gap that begins a clause, 0 when none does."""
    return max((place + 1 for place, token in enumerate(gap) if token in _SEAMS), default=0)


def _first_seam(gap: list[str]) -> int:
    """Return the place after the first sign or word of a gap that can part two clauses, 0 when none does."""
    return next((place + 1 for place, token in enumerate(gap) if token in _SEAMS or token == ","), 0)


def echo(gap: list[str]) -> bool | None:
    """Return whether `while B does not` denies for B what was said before; None when a gap after B is no such echo."""
    match = _AUXILIARY.fullmatch(" ".join(gap).strip(" ,"))
    return None if match is None else match[2] is not None
