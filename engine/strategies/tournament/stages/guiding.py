"""What makers, reviewers and the judge are told beside the goal."""

from __future__ import annotations

from collections.abc import Collection

from engine.domain.discovery.hypotheses import TournamentView
from engine.strategies.tournament.roles import Guidance


def guidance(view: TournamentView, known: Collection[str] | None = None) -> Guidance:
    """Return the plan, the newest meta-review, all reviews and what exists already; of it those `known` by id."""
    tournament = view.tournament
    return Guidance(
        plan=tournament.plan,
        literature=tournament.literature,
        meta_review=max(view.meta_reviews, key=lambda one: one.round, default=None),
        reviews=view.reviews,
        avoid=[one.text for one in view.hypotheses if known is None or one.id in known],
    )
