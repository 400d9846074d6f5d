"""Cutting a sentence at its entities: lists of entities, clauses, and the words that join each two of them.

A sentence is its entities and the gaps around them. Entities of one kind that a list joins (`A, B and C`) form a group.
For each two groups a `Clause` holds the words that can say how they are related: where a clause leaves its subject out
(`A binds B and treats C`), or says `it`, the words are those of that clause alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, takewhile

from engine.domain.knowledge import Mention
from engine.knowledge.claims.features import FIRST, OTHER, SECOND, says_direction, tokens_of
from engine.knowledge.claims.relations import family, kinds_of
from engine.text.stems import stem


def _stems(words: str) -> frozenset[str]:
    return frozenset(stem(word) for word in words.split())


_LIST = _stems("and or as well both either neither nor but not the plus also human rather than instead of from") | {
    *",()"
}
_JOINS = _stems("and or nor plus than well of not")
_TURNS = _stems("not nor rather instead")
_SEAMS = _stems("and but while whereas although though yet however because since so") | {*";:"}
_BREAKS = _stems("and but while whereas although") | {*",;"}
_ALONE = _stems("rose rise fell fall drop decline increase decrease go went climb grow grew")  # need no object
_RELATIVE = _stems("which who whose")
_PRONOUNS = _stems("it they")
_VERBS = _stems("is are was were has have does do did can")
"""Words that begin a clause without a subject where they follow a comma."""
_NO_PREDICATE = _stems(
    "the a an and but in of human gene protein its their both for by with without to on at drug expression"
) | {*",()"}
_POINTERS = _PRONOUNS | _RELATIVE | _stems("this these that also the same drug gene compound agent disease")
_SETTING = _stems("in within under among during by with upon after on at for")
_CONDITIONS = _stems("if should unless suppose provided whether had were")
_ASIDE = _stems("in by contrast however on the other hand instead") | {","}
_VERDICT = re.compile(
    r"\W{0,3}(?:\b(?:yes|true)\b|(\b(?:no|false)\b))[)\]]?(?=\s*(?:[,;.)\]]|and\b|but\b|$))|\s*\((?:\+|([-−–]))\)",
    re.IGNORECASE,
)
"""Yes or no after an entity: `A (yes), B (no)`."""
_BRACKETS = re.compile(r"\((?:[^()]|\([^()]*\))*\)")
"""What stands in brackets without an entity, which says nothing of the others."""
_WITHOUT = re.compile(r",?\s+without\b")
_SAME_SUBJECT = 0.15
"""How much likelier than another the subject of the clause before is that of one that leaves its own out."""
_REACH = 5
"""Groups that a pair may span."""


@dataclass(slots=True)
class Group:
    """Entities that a list joins; `turned` are those after `but not`."""

    members: list[int]
    turned: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Clause:
    """The words that join two groups, `@1` and `@2`, in their order."""

    first: Group
    second: Group
    tokens: list[str]
    gaps: frozenset[int]
    """Which gaps between groups its words are of; a gap speaks of one pair only."""
    bonus: float = 0.0
    """How much likelier than another pair over the same words."""
    in_order: bool = False
    """Whether each entity of one group goes with that of the same place in the other: `respectively`."""


class SentenceParts:
    """A sentence as groups of entities and the tokens around them."""

    def __init__(self, text: str, mentions: Sequence[Mention], start: int) -> None:
        """Cut a text; `start` is where it begins among the mentions' places."""
        places = [0, *(p for m in mentions for p in (m.start - start, m.end - start)), len(text)]
        texts = [text[a:b] for a, b in zip(places[::2], places[1::2], strict=True)]
        self._refused: set[int] = set()
        for k, verdict in enumerate(map(_VERDICT.match, texts)):
            if k and verdict:
                self._refused |= {k - 1} if any(verdict.groups()) else set()
                rest = texts[k][verdict.end() :]
                texts[k] = rest if rest.strip(" ,;") else " and "  # entities that only verdicts part are a list
        texts[2:-1] = [_WITHOUT.sub(", without", gap) for gap in texts[2:-1]]  # a clause of its own, as after `and`
        self.gaps = [tokens_of(_BRACKETS.sub(" ", gap)) for gap in texts]
        self.groups = list(self._grouped(mentions))
        self.in_order = "respect" in self.gaps[-1]
        firsts, lasts = [g.members[0] for g in self.groups], [g.members[-1] + 1 for g in self.groups]
        self.between = [self.gaps[k] for k in dict.fromkeys((*firsts, lasts[-1]))]
        """Tokens before the first group, between each two, and after the last."""

    def _grouped(self, mentions: Sequence[Mention]) -> Iterator[Group]:
        """Yield the entities as lists; commas alone join no two of them."""
        runs: list[list[int]] = []
        for number, mention in enumerate(mentions):
            before, gap, after = mentions[number - 1], self.gaps[number], self.gaps[number + 1]
            corrected = number and gap[-1:] == ["but"] and self.gaps[number - 1][-1:] == ["not"]
            if corrected and _in_list([*gap, "and"], before, mention):  # `not A but B`
                self.gaps[number - 1].pop()
                gap.append("and")
                self._refused.add(number - 1)
            # `A inhibits B, and C was measured`
            clause = number > 1 and gap == [",", "and"] and runs[-1] == [number - 1] and bool(_VERBS & set(after[:1]))
            if number and not clause and _in_list(gap, before, mention):
                runs[-1].append(number)
            else:
                runs.append([number])
        for run in runs:
            joined = any(_JOINS.intersection(self.gaps[k]) for k in run[1:])
            neither = stem("neither") in self.gaps[run[0]]
            turned = set() if neither else {k for k in run[1:] if _TURNS.intersection(self.gaps[k])}
            turned |= self._refused.intersection(run)
            yield from [Group(run, turned)] if joined or len(run) > 2 else [Group([k], turned & {k}) for k in run]

    def clauses(self) -> Iterator[Clause]:
        """Yield what may join each two groups, and each two entities of one list."""
        for i, group in enumerate(self.groups):
            yield from self._within(i, group)
            for k in range(i + 1, min(len(self.groups), i + _REACH)):
                tokens, gaps, bonus = self._joining(i, k)
                # `A and B raise and lower C, respectively` gives each its verb, which is not told apart here.
                if tokens and not (self.in_order and len(group.members) != len(self.groups[k].members)):
                    yield Clause(group, self.groups[k], tokens, frozenset(gaps), bonus, self.in_order)
                turned = self._pointing_back(k)
                if turned:
                    yield Clause(self.groups[k], group, turned, frozenset({k}), _SAME_SUBJECT * (k - i > 1))

    def _joining(self, i: int, k: int) -> tuple[list[str], Iterable[int], float]:
        """Return the words that join two groups, their gaps, and a bonus; no words where other clauses lie between."""
        pre, post = self._before(i), self._after(k)
        seam = max((m for m in range(i + 1, k + 1) if _seam(self.between[m])), default=0)
        if not seam or len(self.groups) == 2:  # with two there is nothing else that a clause could be about
            middle = [t for m in range(i + 1, k + 1) for t in ([OTHER] * (m > i + 1) + self.between[m])]
            return [*pre, FIRST, *middle, SECOND, *post], range(i + 1, k + 1), 0.0
        gap = self.between[k]
        after = _RELATIVE.intersection(self.between[i + 1]) and k == i + 2 and gap[:1] == [","]
        if seam < k and not after:
            return [], (), 0.0
        rest = gap[1:] if after else gap[_seam(gap) :]
        if _NO_PREDICATE.issuperset(rest):
            set_in = i == 0 and [t for t in pre[-2:] if t != "the"][-1:] and pre[-2:][-1] in _SETTING | {"the"}
            tokens = [*pre, FIRST, ",", SECOND, *post] if set_in else []
            return tokens, (k,), _SAME_SUBJECT
        relative = gap[_seam(gap) - 1] in _RELATIVE
        while rest and rest[0] in _POINTERS:
            rest = rest[1:]
        nearest = i == k - 1 if relative else i == 0 or bool(_seam(self.between[i]))
        frame = pre if i == 0 and ("and" in gap or _CONDITIONS.intersection(pre[:1])) else []
        subject = ["the", rest[1], "of", FIRST] if rest[:1] == ["its"] else [FIRST, *rest[:2]]
        return [*frame, *subject, *rest[2:], SECOND, *post], (k,), _SAME_SUBJECT * nearest

    def _pointing_back(self, k: int) -> list[str]:
        """Return the words of `... whereas B is low in it`, or none."""
        gap, post = self.between[k], self._after(k)
        at = _first(post, _PRONOUNS)
        rest = gap[_seam(gap) :]
        if at < 1 or not _seam(gap) or not _NO_PREDICATE.issuperset(rest):
            return []
        return [*rest, FIRST, *post[:at], SECOND, *post[at + 1 :]]

    def couples(self) -> Iterator[Clause]:
        """Yield the clauses of `A binds B, C treats D`, each about the next two entities; none of other sentences."""
        count = len(self.gaps) - 1
        cuts = [0, *(_first(self.gaps[k], _SEAMS | _RELATIVE | {","}) + 1 for k in range(2, count, 2)), 0]
        if count < 4 or count % 2 or self._refused or not all(cuts[1:-1]) or _RELATIVE.intersection(self.gaps[1]):
            return
        for n, k in enumerate(range(0, count, 2)):
            pre, middle, post = self.gaps[k][cuts[n] :], self.gaps[k + 1], self.gaps[k + 2]
            post = post[: cuts[n + 1] - 1] if k + 2 < count else post
            if n and _NO_PREDICATE.issuperset([*middle, *post]):
                middle = [*self.gaps[1], *(t for t in middle if t not in self.gaps[1])]  # the verb is left out
            yield Clause(Group([k]), Group([k + 1]), [*pre, FIRST, *middle, SECOND, *post], frozenset({k + 1}))

    def shared(self) -> Iterator[Clause]:
        """Yield the clauses of `A: B up, C down`, `B rose and C fell with A` and `A raises and B lowers C`."""
        between, groups = self.between, self.groups
        at = max(0, _first(between[-2], _SETTING)) or len(between[-2])
        for last in (False, True) if len(groups) > 2 else ():
            objects, joint = (groups[:-1], between[-2][at:]) if last else (groups[1:], between[1])
            after = [*between[1:-2], between[-2][:at]] if last else between[2:]
            own = [list(takewhile(lambda word: word not in _BREAKS, gap)) for gap in after]
            rest = [t for gap, words in zip(after[: len(own) - 1 + last], own, strict=False) for t in gap[len(words) :]]
            alone = last and not joint and not _ALONE.isdisjoint(chain(*own))
            if all(map(says_direction, own)) and _BREAKS.issuperset(rest) and not alone:
                for k, (one, words) in enumerate(zip(objects, own, strict=True), 1):
                    pair = (one, groups[-1]) if last else (groups[0], one)
                    middle = [*words, *joint, SECOND] if last else [*joint, SECOND, *words]
                    yield Clause(*pair, [*between[0], FIRST, *middle], frozenset({k}))

    def echoes(self) -> Iterator[tuple[int, bool]]:
        """Yield the entities of which `while B does not`, `and so does B` repeat what was said, and whether denied."""
        for k in range(1, len(self.groups)):
            after = [t for t in self.between[k + 1] if t not in _ASIDE]
            before = [t for t in self.between[k] if t not in ("and", ",")]
            if _VERBS.issuperset(after[:1]) and after[:1] and after[1:] in ([], ["not"]):
                yield self.groups[k].members[0], after[1:] == ["not"]
            elif before[:1] == ["so"] and _VERBS.issuperset(before[1:]) and not after:
                yield self.groups[k].members[0], False

    def _before(self, i: int) -> list[str]:
        gap, cut = self.between[i], _seam(self.between[i])
        return gap if i == 0 else gap[cut:] if cut else [OTHER, *gap]

    def _after(self, k: int) -> list[str]:
        gap, cut = self.between[k + 1], _seam(self.between[k + 1])
        return gap if k + 1 == len(self.groups) else gap[: cut - 1] if cut else [*gap, OTHER]

    def _within(self, i: int, group: Group) -> Iterator[Clause]:
        """Yield what joins the entities of one list: `A and B interact`."""
        pre, post = self._before(i), self._after(i)
        for n, a in enumerate(group.members[:4] if not group.turned and not self.in_order else []):
            for b in group.members[n + 1 : 4]:
                tokens = [*pre, FIRST, *self.gaps[b], SECOND, *post]
                yield Clause(Group([a]), Group([b]), tokens, frozenset({-1 - a * 100 - b}))


def _first(gap: list[str], words: frozenset[str]) -> int:
    """Return the place of the first of some words, -1 when there is none."""
    return next((place for place, word in enumerate(gap) if word in words), -1)


def _in_list(gap: list[str], one: Mention, two: Mention) -> bool:
    if not gap or len(gap) > 5 or not _LIST.issuperset(gap) or not (_JOINS | {","}).intersection(gap):
        return False
    families = {family(kind) for kind in kinds_of(one)}
    return not families.isdisjoint(family(kind) for kind in kinds_of(two))


def _seam(gap: list[str]) -> int:
    """Return the place after the last word of a gap that begins a clause, 0 when none does."""
    for place in range(len(gap) - 1, -1, -1):
        if gap[place] in _SEAMS | _RELATIVE:
            return place + 1
        if place and gap[place] in _PRONOUNS and "," in gap[:place]:
            return place - (gap[place - 1] in _CONDITIONS)
        if place and gap[place] in {*_VERBS, "without"} and gap[place - 1] == ",":
            return place
    return 0
