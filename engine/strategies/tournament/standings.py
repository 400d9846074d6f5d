"""Where hypotheses stand, worked out from everything that is kept; the order in which it came does not matter.

A judge's answer is a comparison of two. What a person votes is one comparison against an average one of the others, and
so is a verdict of executed tests, as many times as the natural logarithm of its e-value says, five at most: only
a verdict, whose error rate is controlled over the tournament, moves a rating, and the one test of a thousand that
chance makes extreme cannot outweigh everything else. What was compared with a hypothesis that was merged into another
counts for the other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from engine.discovery.falsification import Gathered, e_of_p, mean, product, verdicts
from engine.discovery.pairing import TOP
from engine.discovery.ratings import FIELD, Contest, Ratings, cannot_be_told_apart, rate
from engine.domain.discovery.hypotheses import (
    ExecutedTest,
    Hypothesis,
    HypothesisReview,
    Mark,
    Standing,
    Status,
    TestVerdict,
    TournamentView,
)

CHILD_VARIANCE = 0.5
"""Prior variance of what a rewritten hypothesis has beyond its parents, as a share of that of a new one."""
MOST_OF_A_VERDICT = 5.0
"""Comparisons that a verdict counts for at most."""


@dataclass(frozen=True, slots=True)
class Rated:
    """Ratings of all hypotheses that were not merged into another."""

    ids: list[str]
    ratings: Ratings
    contests: list[Contest]
    """What judges said, and what they failed to say (weight 0), on places in `ids`."""
    competing: list[int]
    clusters: list[int]
    verdicts: dict[str, TestVerdict]
    statuses: dict[str, Status]
    into: dict[str, str] = field(default_factory=dict)
    """Each hypothesis -> the one that it counts for."""

    def chance(self, top: int, seed: int = 0) -> dict[str, float]:
        """Return hypothesis -> chance to be among the best `top` of those that compete."""
        if not self.competing:
            return {}
        drawn = self.ratings.draws(seed)[:, self.competing]
        top = min(top, drawn.shape[1])
        best = np.argpartition(-drawn, top - 1, axis=1)[:, :top]
        share = np.bincount(best.ravel(), minlength=drawn.shape[1]) / len(drawn)
        return {self.ids[at]: float(value) for at, value in zip(self.competing, share, strict=True)}


def rated(view: TournamentView) -> Rated | None:
    """Return the ratings of a tournament; None while it has no hypothesis."""
    into = merged(view.hypotheses, view.marks)
    statuses = _statuses(view, into)
    kept = [one for one in view.hypotheses if into[one.id] == one.id]
    if not kept:
        return None
    ids = [one.id for one in kept]
    place = {name: at for at, name in enumerate(ids)}
    judged = _judged(view, into, place)
    said = verdicts_of(view, into)
    contests = [*judged, *_votes(view.marks, into, place), *_of_verdicts(view, into, said, place)]
    parents = [
        [place[into[p]] for p in one.parents if place.get(into.get(p, ""), len(ids)) < place[one.id]] for one in kept
    ]
    ratings = rate(
        len(ids),
        contests,
        _reviewed(view.reviews, into, ids),
        own_variance=[CHILD_VARIANCE if of else 1.0 for of in parents],
        parents=parents,
    )
    groups = view.clusters[-1].of if view.clusters else {}
    return Rated(
        ids=ids,
        ratings=ratings,
        contests=judged,
        competing=[place[name] for name in ids if statuses[name] == "competing"],
        # Who is in no cluster yet is alone in one.
        clusters=[groups.get(name, 10_000 + at) for at, name in enumerate(ids)],
        verdicts=said,
        statuses=statuses,
        into=into,
    )


def standings(view: TournamentView, known: Rated | None = None) -> list[Standing]:
    """Return where each hypothesis stands, those that compete first and the best of them first."""
    known = known or rated(view)
    if known is None:
        return []
    seed = view.tournament.bounds.seed
    best, top = known.chance(1, seed), known.chance(TOP, seed)
    elo, limits = known.ratings.elo(), known.ratings.interval()
    groups = {known.ids[at]: number for number, of in enumerate(_groups(known), start=1) for at in of}
    games, wins = _games(known)
    found = [
        Standing(
            hypothesis=name,
            rating=round(float(elo[at]), 1),
            low=round(float(limits[at, 0]), 1),
            high=round(float(limits[at, 1]), 1),
            chance_best=best.get(name, 0.0),
            chance_top=top.get(name, 0.0),
            matches=games[at],
            wins=wins[at],
            group=groups.get(name, len(groups) + 1),
            verdict=known.verdicts.get(name, "untested"),
            status=known.statuses[name],
            cluster=known.clusters[at] if known.clusters[at] < 10_000 else 0,
        )
        for at, name in enumerate(known.ids)
    ]
    return sorted(found, key=lambda one: (one.status != "competing", -one.rating, one.hypothesis))


def merged(hypotheses: Sequence[Hypothesis], marks: Sequence[Mark]) -> dict[str, str]:
    """Return each hypothesis -> the one that it counts for, itself when it was not merged; no circle is followed."""
    newest = {mark.hypothesis: mark.into for mark in marks if mark.kind == "merge"}
    known = {one.id for one in hypotheses}
    found: dict[str, str] = {}
    for name in known:
        at, seen = name, {name}
        while (then := newest.get(at, "")) in known and then not in seen:
            seen.add(then)
            at = then
        # In a circle everyone would be another's; each then stays itself.
        found[name] = name if newest.get(at, "") in seen else at
    return found


def newest_marks(marks: Sequence[Mark], kind: str) -> dict[str, int]:
    """Return hypothesis -> value of the newest mark of a kind."""
    return {mark.hypothesis: mark.value for mark in marks if mark.kind == kind}


def key_of_match(number: int) -> str:
    """Return the key under which a judge is asked for a comparison."""
    return f"match {number}"


def unjudged(view: TournamentView) -> list[tuple[int, str, str]]:
    """Return number and both sides of the pairs that were drawn and have no result: not asked about yet, or failed."""
    judged = {match.number for match in view.matches}
    return [
        (number, *pair)
        for batch in view.drawn
        for number, pair in enumerate(batch.pairs, start=batch.number)
        if number not in judged
    ]


def verdicts_of(view: TournamentView, into: Mapping[str, str]) -> dict[str, TestVerdict]:
    """Return what tests say of each hypothesis, all of the tournament together at its error rate."""
    evidence = gathered(view.tests, into)
    said: dict[str, TestVerdict] = dict(verdicts(evidence, view.tournament.bounds.alpha))
    tried = {into.get(test.hypothesis, test.hypothesis) for test in view.tests}
    for one in view.hypotheses:
        name = into[one.id]
        testable = any(prediction.question for prediction in one.predictions)
        if name not in said and (name in tried or not testable):
            said[name] = "untestable_here"
    return said


def gathered(tests: Sequence[ExecutedTest], into: Mapping[str, str]) -> dict[str, Gathered]:
    """Return hypothesis -> the evidence of its tests that gave a p-value.

    Tests that read a file in common are one look at it, however many questions are asked of its rows.
    """
    looks: dict[str, list[tuple[set[str], list[Gathered]]]] = {}
    for test in tests:
        name = into.get(test.hypothesis, "")
        if not name or test.p is None:
            continue
        own, others = looks.setdefault(name, []), list[tuple[set[str], list[Gathered]]]()
        files, known = set(test.data), [_after(Gathered(), test.p, test.as_predicted)]
        for look in own:
            if look[0] & files:
                files, known = files | look[0], [*look[1], *known]
            else:
                others.append(look)
        looks[name] = [*others, (files, known)]
    return {name: product([mean(known) for _, known in own]) for name, own in looks.items()}


def _after(known: Gathered, p: float, as_predicted: bool | None) -> Gathered:  # noqa: FBT001
    """Return the evidence after one test; where no way was predicted, both ways speak for it and nothing against."""
    if as_predicted is None:
        return Gathered(known.for_it * e_of_p(p), known.against, known.tests + 1)
    return known.after(p, as_predicted=as_predicted)


def _statuses(view: TournamentView, into: Mapping[str, str]) -> dict[str, Status]:
    vetoed = newest_marks(view.marks, "veto")
    return {
        name: "merged" if of != name else "vetoed" if vetoed.get(name) else "competing" for name, of in into.items()
    }


def _judged(view: TournamentView, into: Mapping[str, str], place: Mapping[str, int]) -> list[Contest]:
    said = [(one.number, one.first, one.second, one.score, one.weight) for one in view.matches]
    said += [(*pair, 0.5, 0.0) for pair in unjudged(view)]
    found: list[Contest] = []
    for _, one, other, score, weight in sorted(said):
        first, second = (place.get(into.get(name, ""), -1) for name in (one, other))
        if first >= 0 and second >= 0 and first != second:
            found.append(Contest(first, second, score, weight))
    return found


def _votes(marks: Sequence[Mark], into: Mapping[str, str], place: Mapping[str, int]) -> list[Contest]:
    newest = {(mark.hypothesis, mark.by): mark.value for mark in marks if mark.kind == "vote"}
    voted = [(into.get(name, ""), value) for (name, _), value in newest.items() if value]
    if len(place) < 2:
        return []
    return [Contest(place[name], FIELD, 1.0 if value > 0 else 0.0) for name, value in sorted(voted) if name in place]


def _of_verdicts(
    view: TournamentView, into: Mapping[str, str], said: Mapping[str, TestVerdict], place: Mapping[str, int]
) -> list[Contest]:
    found: list[Contest] = []
    for name, evidence in sorted(gathered(view.tests, into).items()):
        verdict = said.get(name)
        if verdict in ("supported", "refuted") and name in place and len(place) > 1:
            value = evidence.for_it if verdict == "supported" else evidence.against
            weight = min(MOST_OF_A_VERDICT, math.log(value))
            found.append(Contest(place[name], FIELD, 1.0 if verdict == "supported" else 0.0, weight))
    return found


def _reviewed(reviews: Sequence[HypothesisReview], into: Mapping[str, str], ids: Sequence[str]) -> list[float | None]:
    """Return the newest review's mean score of each hypothesis, the mean of several that were merged."""
    newest = {review.hypothesis: review.overall for review in sorted(reviews, key=lambda one: one.round)}
    scores: dict[str, list[float]] = {}
    for name, score in newest.items():
        scores.setdefault(into.get(name, name), []).append(score)
    return [float(np.mean(scores[name])) if name in scores else None for name in ids]


def _games(known: Rated) -> tuple[list[int], list[float]]:
    games, wins = [0] * len(known.ids), [0.0] * len(known.ids)
    for one in known.contests:
        if one.weight:
            games[one.first] += 1
            games[one.second] += 1
            wins[one.first] += one.score
            wins[one.second] += 1 - one.score
    return games, [round(value, 3) for value in wins]


def _groups(known: Rated) -> list[list[int]]:
    return cannot_be_told_apart(known.ratings, among=set(known.competing))
