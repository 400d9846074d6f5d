"""How the standings moved: worked out again from what was there after so many comparisons."""

from __future__ import annotations

from collections.abc import Sequence

from engine.domain.discovery.hypotheses import Standing, TournamentView
from engine.strategies.tournament.standings import standings

MOST_POINTS = 24


def over_comparisons(view: TournamentView, most: int = MOST_POINTS) -> list[tuple[int, Sequence[Standing]]]:
    """Return the standings after some numbers of comparisons, evenly spread, the last with everything there is.

    What was made later than a comparison (hypotheses, reviews, marks, tests) does not count for the point at it.

    Args:
        view: the tournament.
        most: points at most.

    Returns:
        Number of comparisons with a result, and the standings then, best first.
    """
    counted = sorted(view.matches, key=lambda one: (one.at, one.number))
    if not counted:
        return []
    step = -(-len(counted) // most)
    points = range(step, len(counted), step)
    return [*((n, standings(_until(view, counted[n - 1].at, n))) for n in points), (len(counted), standings(view))]


def _until(view: TournamentView, at: str, count: int) -> TournamentView:
    """Return a tournament as it was when a comparison was made, with its first `count` comparisons."""
    matches = sorted(view.matches, key=lambda one: (one.at, one.number))
    earlier = {
        name: [one for one in getattr(view, name) if one.at <= at]
        for name in ("hypotheses", "reviews", "marks", "tests")
    }
    return view.model_copy(update={**earlier, "matches": matches[:count]})
