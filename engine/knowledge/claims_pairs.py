"""Which entities of a clause are said to be related, and which one a clause without a subject borrows."""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.domain.knowledge import Mention
from engine.knowledge.claims_clauses import Clause
from engine.knowledge.claims_directions import direction
from engine.knowledge.claims_mentions import meant_by
from engine.knowledge.claims_readings import resolve


def pairs_of(
    clauses: list[Clause], number: int, mentions: list[Mention]
) -> Iterator[tuple[Mention, Mention, str, int]]:
    """Yield the pairs of entities a clause relates: both mentions, the masked words, extra negations."""
    clause = clauses[number]
    if "respectively" in clause.text and len(clause.groups) == 2:
        yield from _respectively(clause, mentions)
        return
    if len(clause.groups) >= 2:
        yield from _within(clause, mentions)
        return
    group = clause.groups[0]
    others = _neighbours(clauses, number, mentions)
    if len(group) >= 2 and (not others or not clause.needs_subject):
        for other in group[1:]:
            yield mentions[group[0]], mentions[other], clause.masked(group[0], other), 0
        return
    pronoun = _SUBJECT_AGAIN.match(clause.text) is not None
    for member in group:
        best: tuple[float, int] | None = None
        for rank, other in enumerate(others):
            words = clause.masked(other, member, inherited=other)
            sense = resolve(mentions[other], mentions[member], words)
            if sense is None:
                continue
            score = sense[1] - (0.15 if pronoun else 0.01) * rank
            if best is None or score > best[0]:
                best = (score, other)
        if best is not None:
            clause.subject = best[1]
            words = clause.masked(best[1], member, inherited=best[1])
            if not _resolved_by_words(mentions, best[1], member, words) and number:
                words = clauses[number - 1].text + " " + words
            yield mentions[best[1]], mentions[member], words, clause.negative_members.get(member, 0)


_SUBJECT_AGAIN = re.compile(r"[\s,;]*(?:(?:and|but|while|whereas|yet|although|though)\s+)?(?:it|they)\b")
_TWO_WAYS = re.compile(r"\b(?P<first>[\w-]+)\s+(?:and|or)\s+(?P<second>[\w-]+)\b")


def _respectively(clause: Clause, mentions: list[Mention]) -> Iterator[tuple[Mention, Mention, str, int]]:
    """Yield the pairs of `A and B bind C and D, respectively` and of `A and B are raised and lowered in C`."""
    left, right = clause.groups
    ways = next((m for m in _TWO_WAYS.finditer(clause.text) if _opposed(m)), None)
    for rank, one in enumerate(left):
        others = [right[rank]] if len(left) == len(right) else right
        for two in others:
            place = rank if len(left) > 1 else right.index(two)
            words = clause.masked(one, two)
            if ways is not None:
                kept = ways.group("first" if place == 0 else "second")
                words = words.replace(ways.group(), kept, 1)
            yield mentions[one], mentions[two], words, 0


def _opposed(match: re.Match[str]) -> bool:
    return direction(match.group("first")) * direction(match.group("second")) == -1


def _resolved_by_words(mentions: list[Mention], one: int, two: int, words: str) -> bool:
    resolved = resolve(mentions[one], mentions[two], words)
    return resolved is not None and resolved[0].recognised


def _within(clause: Clause, mentions: list[Mention]) -> Iterator[tuple[Mention, Mention, str, int]]:
    groups = clause.groups
    chosen = (0, 1)
    if len(groups) > 2:
        scored: list[tuple[float, int, int]] = []
        for a in range(min(len(groups), 4)):
            for b in range(a + 1, min(len(groups), 5)):
                one, two = groups[a][0], groups[b][0]
                sense = resolve(mentions[one], mentions[two], clause.masked(one, two))
                if sense is not None:
                    weak = min(mentions[one].score, mentions[two].score)
                    scored.append((sense[1] + 0.5 * weak - 0.1 * (b - a) - 0.05 * a, a, b))
        if scored:
            _, *pair = max(scored)
            chosen = (pair[0], pair[1])
    for one in groups[chosen[0]]:
        for two in groups[chosen[1]]:
            turned = clause.negative_members.get(one, 0) + clause.negative_members.get(two, 0)
            yield mentions[one], mentions[two], clause.masked(one, two), turned


_CALLED_SO = re.compile(
    r"\b(?:the|this|that)\s+(?:same\s+)?(?:drug|compound|agent|medicine|molecule|substance|gene|protein|transcript|disease|"
    r"condition|disorder|cancer|illness|tissue|organ)\b"
)
_LAST_NAMED = re.compile(r"\s*[,;]?\s*(?:and\s+|but\s+)?(?:which|who|the\s+latter)\b")


def _neighbours(clauses: list[Clause], number: int, mentions: list[Mention]) -> list[int]:
    """Return the mentions a clause with one entity may borrow, likeliest first.

    They are the subjects of the clauses before it (for `which`: what was named last), else that of the one after it;
    `the same drug` leaves only drugs.
    """
    before: list[int] = []
    for clause in reversed(clauses[:number]):
        borrowed = [] if clause.subject is None else [clause.subject]
        before += [*borrowed, *(group[0] for group in clause.groups)]
    words = clauses[number].text
    if before and _LAST_NAMED.match(words):
        before.insert(0, clauses[number - 1].groups[-1][-1])
    if not before:
        before = [clauses[number + 1].groups[0][0]] if number + 1 < len(clauses) else []
    named = _CALLED_SO.search(words)
    if named is not None:
        meant = {id(m) for m in meant_by(named.group(), [mentions[member] for member in before])}
        before = [member for member in before if id(mentions[member]) in meant] or before
    return list(dict.fromkeys(before))
