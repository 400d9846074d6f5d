"""Which hypotheses are near each other: nearly the same idea makes a cluster, the same idea is merged.

Clusters steer which pairs are compared and keep the rewritten ones different. Of two that say the same the one that was
reviewed better stays; what the other was compared with, its evidence and its tests count for it.
"""

from __future__ import annotations

import numpy as np

from engine.domain.discovery.hypotheses import Clusters, Hypothesis, Mark, TournamentView
from engine.strategies.tournament.asking import RoundTable
from engine.strategies.tournament.sameness import says_other
from engine.strategies.tournament.standings import merged, newest_marks

NEAR = 0.15
"""So much less alike than the same idea are those of one cluster."""
BUILT_IN = "built-in"


def look_for_likeness(table: RoundTable) -> None:
    """Cluster what competes, and merge what says the same."""
    view = table.ledger.view()
    into = merged(view.hypotheses, view.marks)
    kept = [one for one in view.hypotheses if into[one.id] == one.id]
    key = f"likeness {len(view.hypotheses)}"
    if len(kept) < 2 or table.ledger.has(key):
        return
    like = np.asarray(table.cast.likeness(kept), dtype=float)
    bounds = view.tournament.bounds
    numbers = clustered(like, bounds.same_idea - NEAR)
    clusters = Clusters(number=len(view.clusters), of={one.id: n for one, n in zip(kept, numbers, strict=True)})
    marks = duplicates(view, kept, like, bounds.same_idea, table.ledger.now())
    table.ledger.keep(clusters, *marks, asked=key)


def clustered(like: np.ndarray, limit: float) -> list[int]:
    """Return the cluster of each, from 1: those that are at least so alike to every member (complete linkage)."""
    groups: list[list[int]] = []
    for at in range(len(like)):
        fits = [group for group in groups if all(like[at, other] >= limit for other in group)]
        if fits:
            max(fits, key=lambda group: float(like[at, group].mean())).append(at)
        else:
            groups.append([at])
    number = {at: n for n, group in enumerate(groups, start=1) for at in group}
    return [number[at] for at in range(len(like))]


def duplicates(view: TournamentView, kept: list[Hypothesis], like: np.ndarray, limit: float, now: str) -> list[Mark]:
    """Return the marks that merge those that say the same; what a person pinned, wrote or unmerged is left."""
    score = {review.hypothesis: review.overall for review in view.reviews}
    pinned = newest_marks(view.marks, "pin")
    said = {mark.hypothesis for mark in view.marks if mark.kind == "merge"}
    order = sorted(
        range(len(kept)),
        key=lambda at: (not pinned.get(kept[at].id), kept[at].method != "user", -score.get(kept[at].id, 0.0), at),
    )
    stay: list[int] = []
    marks: list[Mark] = []
    for at in order:
        one = kept[at]
        same = [s for s in stay if like[at, s] >= limit and not says_other(one, kept[s])]
        free = not pinned.get(one.id) and one.method != "user" and one.id not in said
        if same and free:
            best = max(same, key=lambda s: float(like[at, s]))
            marks.append(Mark(hypothesis=one.id, kind="merge", into=kept[best].id, by=BUILT_IN, at=now))
        else:
            stay.append(at)
    return marks
