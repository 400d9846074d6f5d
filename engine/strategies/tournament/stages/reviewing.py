"""Having hypotheses reviewed: few in one comparing call, more side by side, each once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from engine.domain.discovery.hypotheses import (
    Asked,
    Hypothesis,
    HypothesisReview,
    Item,
    MetaReview,
    Skipped,
    TournamentView,
)
from engine.strategies.tournament.asking import RoundTable
from engine.strategies.tournament.stages.guiding import guidance
from engine.strategies.tournament.standings import newest_marks, standings


def review(table: RoundTable) -> None:
    """Have everything reviewed that competes and was not asked about yet."""
    view = table.ledger.view()
    vetoed = newest_marks(view.marks, "veto")
    open_ = [one for one in view.hypotheses if not vetoed.get(one.id) and not table.ledger.has(_key(one))]
    most = view.tournament.bounds.batch_review
    if not open_:
        return
    # How many there are in this round, not how many are left: a restart in the midst is to ask in the same way.
    new = {one.id for one in view.hypotheses if one.round == view.tournament.round} | {one.id for one in open_}
    if table.cast.reviewer.together and len(open_) > 1 and len(new) <= most:
        _review(table, view, open_)
        return
    table.side_by_side(lambda one: _review(table, view, [one]), open_)


def _key(one: Hypothesis) -> str:
    return f"review {one.id}"


def _review(table: RoundTable, view: TournamentView, of: Sequence[Hypothesis]) -> None:
    """Have some hypotheses reviewed in one call and keep what came of it."""
    asked = partial(table.cast.reviewer.review, view.tournament.aims, guidance(view), of)
    said = table.ask("review", " and ".join(one.id for one in of), asked)
    kept: list[Item] = [said] if isinstance(said, Skipped) else []
    answers = [] if isinstance(said, Skipped) else list(said)
    for at, one in enumerate(of):
        answer = answers[at] if at < len(answers) else None
        if isinstance(answer, HypothesisReview) and answer.hypothesis == one.id:
            kept.append(answer.model_copy(update={"round": one.round, "at": table.ledger.now()}))
        elif not isinstance(said, Skipped):
            why = answer.message if isinstance(answer, Exception) and hasattr(answer, "message") else "It was left out."
            kept.append(Skipped(stage="review", what=one.id, why=why))
    # One call; that it asked about all of these is kept for each of them.
    others = [Asked(key=_key(one), at=table.ledger.now()) for one in of[1:]]
    table.ledger.keep(*kept, *others, asked=_key(of[0]), calls=1)


def meta_review(table: RoundTable, round_: int) -> None:
    """Have all reviews and matches so far read together."""
    key = f"meta-review {round_}"
    reader = table.cast.meta_reviewer
    if reader is None or table.ledger.has(key):
        return
    view = table.ledger.view()
    asked = partial(
        reader.meta_review,
        view.tournament.aims, view.hypotheses, view.reviews, view.matches, standings(view), round_,
    )  # fmt: skip
    said: MetaReview | Skipped = table.ask("meta-review", f"round {round_}", asked)
    if isinstance(said, MetaReview):
        said = said.model_copy(update={"round": round_})
    table.ledger.keep(said, asked=key, calls=1)
