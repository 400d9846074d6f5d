"""Another analysis that a follow-up asks for: what comes next, a picture, one that can hold a column constant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from engine.domain.plan import texts_of
from engine.planning.choosing.score import Candidate
from engine.planning.choosing.spelling import asked_with
from engine.planning.followups.anew import Try
from engine.planning.followups.turn import HELD, OUTCOMES, Turn, in_words
from engine.planning.followups.words import (
    BY,
    PICTURE,
    POINTED,
    asking,
    heard,
    said_anew,
)

NEXT = 0.2
"""How likely by its words another analysis must be to come next."""
MEANT = 0.75
"""From this probability on it is taken as meant; below it is asked."""
DRAWN = 0.02
"""The same among drawings, where the words say that one is wanted."""


def coming_next(turn: Turn, merged: str, changed: set[str]) -> list[Try]:
    """Return the analyses that a follow-up may ask for next, first by what it says with the pointing words filled in.

    Args:
        turn: the follow-up.
        merged: the question before with it.
        changed: tools whose settings it changes: `only top 10 genes in the heatmap` draws no other.
    """
    question, outcome = turn.question, next(iter(turn.outcomes()), "")
    filled = POINTED.sub(outcome, question, count=1) if outcome else question
    every, reading = turn.judge(filled)
    onward = {tool for spec in turn.specs.values() for tool in spec.produces_for}
    drawn, pair = bool(PICTURE.search(question)), turn.pair()
    able = [c for c in every if _can_follow(c, onward) and (c.analysis.id not in turn.asked or filled != question)]
    if drawn:
        able = [c for c in able if _draws(c)] or able
    named = {*reading.named()}
    least = DRAWN if drawn else NEXT
    worded = [
        c
        for c in able
        if max(c.wording, c.probability) >= least and (drawn or turn.own.named() or heard(turn.fresh, c))
    ]
    # What takes a column that nobody named fits less: `plot it by sex` shows no year.
    worded.sort(
        key=lambda c: (
            _explained_otherwise(c, outcome),
            not {*c.bound.columns()} <= named if c.bound else False,
            -c.probability,
        )
    )
    again = {row.column for row in turn.own.restrictions}
    found: list[Try] = []
    for one in worded[:2]:
        # What runs along a column (`plot that over time`) takes all of its values.
        along = {*one.bound.of_role("x", "over", "time", "dose")} if one.bound is not None else set[str]()
        lifted = tuple(row.column for row in turn.rows() if row.column in along & named)
        rows = [in_words(row) for row in turn.rows() if row.column not in {*again, *lifted}]
        new = "; ".join([one.analysis.name, *(f"all values of {name}" for name in lifted)])
        if one.bound is not None and one.bound.spec.name in changed:
            continue
        sure = drawn and _draws(one)
        sure = sure or (one.probability >= MEANT and all(asked_with(turn.fresh.words[at]) for at in asking(turn.fresh)))
        if len(named) == 1 and outcome and filled == question and not drawn:
            text = ", ".join([f"{said_anew(question)}, for {outcome}", *rows])
            kept = "; ".join([f"{outcome} of {turn.kept}", *rows])
            found.append(Try(text, one.analysis.id, kept, one.analysis.name, sure))
        if len(named) > 1:
            groups = (
                [f"by {pair.column}"]
                if drawn and along & named and pair is not None and not BY.search(question)
                else []
            )
            text = ", ".join([" ".join([said_anew(filled), *groups]), *rows])
            kept = "; ".join([f"{outcome} of {turn.kept}" if filled != question else turn.kept, *groups, *rows])
            found.append(Try(text, one.analysis.id, kept, new, sure, lifted=lifted))
        if one.analysis.id not in turn.asked:
            found.append(Try(merged, one.analysis.id, turn.kept, one.analysis.name, sure))
    return found


def _explained_otherwise(one: Candidate, outcome: str) -> bool:
    """Say whether an analysis explains another column by what was explained before: `does it depend on sex` does not."""
    explained = one.bound.of_role(*OUTCOMES) if one.bound is not None else []
    return (
        bool(outcome and explained)
        and outcome not in explained
        and outcome in (one.bound.columns() if one.bound else [])
    )


def _can_follow(one: Candidate, onward: set[str]) -> bool:
    spec = one.bound.spec if one.bound is not None else None
    return bool(one.analysis.data) and spec is not None and (spec.task_type != "preprocessing" or spec.name in onward)


def _draws(one: Candidate) -> bool:
    return one.bound is not None and one.bound.spec.task_type == "visualization"


def holding(turn: Turn, held: Sequence[str], every: Iterable[Candidate]) -> list[str]:
    """Return the analysis that can hold columns constant: the likeliest, first of those with the parts of the one before."""
    parts = [
        (param.role, column)
        for node in turn.answering()
        for param in turn.specs[node.tool].params
        if param.kind == "column"
        for column in texts_of(node.params.get(param.name))
    ]
    able = [
        c
        for c in every
        if held and c.bound is not None and c.feasible and not c.bound.missing and {*held} <= {*c.bound.of_role(*HELD)}
    ]  # fmt: skip
    able.sort(key=lambda c: not all(c.bound and column in c.bound.of_role(role) for role, column in parts))
    return [c.analysis.id for c in able[:1]]
