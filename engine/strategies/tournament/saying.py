"""What can be said of the order, and what cannot yet, in sentences; and of the habits of the judge."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Sequence

from engine.discovery.pairing import comparisons_wanted
from engine.domain.discovery.hypotheses import Match, Standing, TournamentView
from engine.strategies.tournament.standings import Rated, gathered, newest_marks
from engine.text.prose import full_stop, listed

_MANY = 999
_GROUPS = 3
"""So many groups are spoken of."""
NO_PAIR_LEFT = "No pair is left to compare."
"""Why a judge that always says the same ends: it has compared all pairs."""
_FEW = 6
"""Comparisons of the same pairs below which nothing is said of a judge's consistency."""


def sentences(view: TournamentView, standings: Sequence[Standing], known: Rated | None) -> list[str]:
    """Return sentences on the order of a tournament and on its judge."""
    if known is None:
        return []
    competing = [one for one in standings if one.status == "competing"]
    said = [
        *_on_order(competing, known, over=view.tournament.stopped_by == NO_PAIR_LEFT),
        *_on_tests(view, standings, known),
    ]
    if view.matches:
        said += [*_on_position(known), *_on_consistency(view.matches)]
    said += _on_people(view)
    if count := len(view.skipped):
        said.append(f"{_times(count, 'item')} could not be made and {'was' if count == 1 else 'were'} left out.")
    return said


def leading(view: TournamentView, standings: Sequence[Standing]) -> str:
    """Return the hypothesis that leads with how sure that is, "" where none competes."""
    competing = [one for one in standings if one.status == "competing"]
    if not competing:
        return ""
    first, text = competing[0], {one.id: one.text for one in view.hypotheses}
    if len(competing) == 1:
        place = "is the only one that competes"
    elif not any(one.matches for one in competing):
        place = "stands first by what reviews say; nothing was compared"
    else:
        place = f"leads: the best of {len(competing)} with a chance of {first.chance_best:.0%}"
    return f"{full_stop(text[first.hypothesis])} It ({first.hypothesis}) {place}."


def _on_order(competing: Sequence[Standing], known: Rated, *, over: bool) -> list[str]:
    groups = [list(of) for _, of in itertools.groupby(competing, key=lambda one: one.group)]
    if len(competing) < 2:
        return []
    if sum(one.matches for one in competing) == 0:
        return ["Nothing was compared yet: the order says what reviews say, and no more."]
    said: list[str] = []
    place = 1
    for group in groups[:_GROUPS]:
        names = [one.hypothesis for one in group]
        if len(group) > 1:
            where = "" if place == 1 else f"Places {place} to {place + len(group) - 1}: "
            said.append(f"{where}{_named(names)} cannot be told apart yet; {_wanted(names, known, over=over)}.")
        elif place == 1:
            chance = f"the chance that it is the best is {group[0].chance_best:.0%}"
            said.append(f"{names[0]} is ahead of all others; {chance}.")
        place += len(group)
    return said


def _wanted(names: Sequence[str], known: Rated, *, over: bool) -> str:
    """Return how many comparisons would tell the first from each of the others, or what would where none is left."""
    if over:
        return "this judge has compared every pair, so votes, tests and hypotheses of yours are what would"
    places = [known.ids.index(name) for name in names]
    wanted = sum(comparisons_wanted(known.ratings, places[0], other) for other in places[1:])
    if wanted >= _MANY:
        return f"even {_MANY} more comparisons would not"
    return f"about {_times(wanted, 'more comparison')} would"


def _on_position(known: Rated) -> list[str]:
    ratings = known.ratings
    low, middle, high = (1 / (1 + math.exp(-(ratings.bias + by * ratings.bias_sd))) for by in (-1.645, 0.0, 1.645))
    chance = f"of two equal ones it takes the first with a chance of {middle:.0%} ({low:.0%} to {high:.0%})"
    if low > 0.5 or high < 0.5:
        which = "first" if low > 0.5 else "second"
        return [f"The judge prefers what it is shown {which}: {chance}. The ratings take that out."]
    return [f"No preference of the judge for the first or the second is seen: {chance}."]


def _on_consistency(matches: Sequence[Match]) -> list[str]:
    """Say how often two comparisons of the same pair agree, and what a coin would do."""
    answers: dict[frozenset[str], list[float]] = defaultdict(list)
    for match in matches:
        if match.score != 0.5:
            first = min(match.first, match.second) == match.first
            answers[frozenset((match.first, match.second))].append(match.score if first else 1 - match.score)
    pairs = [(a > 0.5) == (b > 0.5) for of in answers.values() for a, b in itertools.combinations(of, 2)]
    if len(pairs) < _FEW:
        return []
    share = sum(pairs) / len(pairs)
    return [f"Asked twice about the same two, the judge answered the same in {share:.0%} of {len(pairs)} cases."]


def _on_people(view: TournamentView) -> list[str]:
    votes = {(mark.hypothesis, mark.by) for mark in view.marks if mark.kind == "vote" and mark.value}
    said = []
    if votes:
        said.append(
            f"{_times(len(votes), 'vote')} of people count{'s' if len(votes) == 1 else ''} as one comparison each, "
            "against an average one of the others."
        )
    if out := [name for name, value in newest_marks(view.marks, "veto").items() if value]:
        said.append(f"{_named(out)} {'does' if len(out) == 1 else 'do'} not compete: vetoed.")
    return said


def _on_tests(view: TournamentView, standings: Sequence[Standing], known: Rated) -> list[str]:
    evidence = gathered(view.tests, known.into)
    if not evidence:
        return []
    alpha = view.tournament.bounds.alpha
    said = []
    for verdict in ("supported", "refuted"):
        if names := [one.hypothesis for one in standings if one.verdict == verdict and one.hypothesis in evidence]:
            said.append(f"{_named(names)} {'is' if len(names) == 1 else 'are'} {verdict} by executed tests.")
    if not said:
        said.append("No executed test supports or refutes a hypothesis.")
    tests = sum(one.tests for one in evidence.values())
    said.append(
        f"{_times(tests, 'test')} of {_times(len(evidence), 'hypothesis', 'hypotheses')}: of what is called supported, "
        f"or refuted, at most {alpha:.0%} are expected to be so by chance."
    )
    return said


def _named(names: Sequence[str]) -> str:
    return listed(names) if len(names) <= 6 else f"{', '.join(names[:5])} and {len(names) - 5} others"


def _times(count: int, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"
