"""What makers, reviewers and the judge are told beside the goal."""

from __future__ import annotations

from engine.domain.discovery.hypotheses import TournamentView
from engine.strategies.tournament.roles import Guidance


def guidance(view: TournamentView) -> Guidance:
    """Return the plan, the newest meta-review and what exists already."""
    tournament = view.tournament
    return Guidance(
        plan=tournament.plan,
        literature=tournament.literature,
        meta_review=max(view.meta_reviews, key=lambda one: one.round, default=None),
        avoid=[one.text for one in view.hypotheses],
    )
