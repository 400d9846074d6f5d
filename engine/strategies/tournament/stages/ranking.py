"""Comparing two by two until it is clear enough who is the best.

Pairs are drawn in batches (`engine.discovery.pairing`), kept before they are judged, and judged side by side. What the
judge fails to compare is an item left out and no comparison; the pair is not at once drawn again.
"""

from __future__ import annotations

from functools import partial

from engine.discovery.pairing import EXPLORED, batch_size, next_pairs
from engine.domain.discovery.hypotheses import Drawn, Match, Skipped, TournamentView
from engine.domain.events import MatchJudged, RatingsUpdated
from engine.strategies.tournament.asking import RoundTable
from engine.strategies.tournament.roles import ItemFailed
from engine.strategies.tournament.saying import NO_PAIR_LEFT
from engine.strategies.tournament.stages.guiding import guidance
from engine.strategies.tournament.standings import Rated, key_of_match, rated, unjudged

STAGE = "ranking"
PATIENCE = 10
"""Failures of the judge one after another after which it is not asked any more in this round."""


def compare(table: RoundTable, begun: float, ended: float) -> str:
    """Compare until the best is found, the comparisons are spent or the judge keeps failing; return which, in words.

    Args:
        table: where the roles are asked.
        begun: progress of the whole tournament at the beginning of this.
        ended: progress at its end.
    """
    while True:
        view = table.ledger.view()
        waiting = _waiting(view)
        if not waiting:
            known = rated(view)
            if why := _enough(view, known):
                return why
            waiting = _next_batch(table, view, known)
            if not waiting:
                return NO_PAIR_LEFT
        most = view.tournament.bounds.matches_each * len(view.hypotheses)
        table.ledger.keep(progress=begun + (ended - begun) * min(1.0, len(view.matches) / most))
        table.side_by_side(partial(_judge, table, view), waiting[: max(1, table.left())])


def _waiting(view: TournamentView) -> list[tuple[int, str, str]]:
    """Return number and both sides of the pairs that were drawn and not judged yet."""
    asked = {one.key for one in view.asked}
    return [one for one in unjudged(view) if key_of_match(one[0]) not in asked]


def _enough(view: TournamentView, known: Rated | None) -> str:
    """Return why no more comparisons are wanted, or ""."""
    if known is None or len(known.competing) < 2:
        return "There are not two hypotheses to compare."
    drawn = sum(len(batch.pairs) for batch in view.drawn)
    failed = {number for number, _, _ in unjudged(view)}
    if drawn >= PATIENCE and failed.issuperset(range(drawn - PATIENCE, drawn)):
        why = next((one.why for one in reversed(view.skipped) if one.stage == STAGE), "")
        return f"The judge failed {PATIENCE} times one after another, the last time because: {why}"
    most = round(view.tournament.bounds.matches_each * len(known.competing))
    if len(view.matches) >= most:
        return f"All {most} comparisons were made that its bounds allow."
    played = {at for one in known.contests for at in (one.first, one.second)}
    explored = len(view.matches) >= EXPLORED * len(known.competing) and played >= set(known.competing)
    best = max(known.chance(1, len(view.matches)).values())
    if explored and best >= view.tournament.bounds.stop_at:
        return f"The best is the best with a chance of {best:.0%}."
    return ""


def _next_batch(table: RoundTable, view: TournamentView, known: Rated | None) -> list[tuple[int, str, str]]:
    """Draw the next batch, keep it and return it; the same again after a restart."""
    if known is None:
        return []
    _tell(table, view, known)
    bounds = view.tournament.bounds
    made = len(view.matches)
    size = min(batch_size(len(known.competing), made), round(bounds.matches_each * len(known.competing)) - made)
    pairs = next_pairs(
        known.ratings,
        known.contests,
        size,
        open_to=known.competing,
        alike=known.clusters,
        repeat=bounds.repeat_pairs and not table.cast.judge.deterministic,
        seed=bounds.seed,
    )
    if not pairs:
        return []
    number = sum(len(batch.pairs) for batch in view.drawn)
    named = [(known.ids[first], known.ids[second]) for first, second in pairs]
    table.ledger.keep(Drawn(number=number, pairs=named))
    return [(number + at, *pair) for at, pair in enumerate(named)]


def _judge(table: RoundTable, view: TournamentView, drawn: tuple[int, str, str]) -> None:
    """Have one pair judged and keep what came of it."""
    number, first, second = drawn
    by_id = {one.id: one for one in view.hypotheses}
    pair = by_id[first], by_id[second]
    reviews = [review for review in view.reviews if review.hypothesis in (first, second)]
    before = [drawn for batch in view.drawn for drawn in batch.pairs][:number]
    guide = guidance(view).model_copy(update={"again": before.count((first, second))})

    def call() -> Match:
        match = table.cast.judge.judge(view.tournament.aims, guide, *pair, reviews)
        if (match.first, match.second) != (first, second):
            raise ItemFailed("The judge spoke of other hypotheses than it was asked about.")
        return match

    said = table.ask(STAGE, f"comparison {number + 1}, {first} against {second}", call)
    if isinstance(said, Match):
        said = said.model_copy(update={"number": number, "at": table.ledger.now()})
    table.ledger.keep(said, asked=key_of_match(number), calls=1)
    if isinstance(said, Skipped):
        state = table.ledger.state
        told = {"number": number, "first": first, "second": second, "score": 0.5, "skipped": said.why}
        table.ledger.tell(MatchJudged(run_id=state.id, progress=state.progress, **told))


def _tell(table: RoundTable, view: TournamentView, known: Rated) -> None:
    """Tell who leads now."""
    best = known.chance(1, len(view.matches))
    leader = max(best, key=lambda name: (best[name], name))
    rating = round(float(known.ratings.elo()[known.ids.index(leader)]), 1)
    state = table.ledger.state
    told = {"leader": leader, "rating": rating, "chance_best": best[leader], "matches": len(view.matches)}
    table.ledger.tell(RatingsUpdated(run_id=state.id, progress=state.progress, **told))
