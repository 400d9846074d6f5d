"""Another analysis that a follow-up asks for: what comes next, a picture, one that can hold a column constant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from engine.domain.datatypes import DataType
from engine.domain.plan import texts_of
from engine.errors import PlanError
from engine.planning.choosing.score import Candidate
from engine.planning.choosing.spelling import asked_with
from engine.planning.followups.anew import Try
from engine.planning.followups.turn import GROUPS, HELD, OUTCOMES, Turn, columns_of, in_words
from engine.planning.followups.words import (
    BY,
    DEPENDS,
    LONG,
    PICTURE,
    POINTED,
    SIGNIFICANT,
    asking,
    heard,
    said_anew,
)
from engine.planning.tables.sheets import is_group

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
        able = [c for c in able if _draws(c, turn)] or able
    named = {*reading.named()}
    least = DRAWN if drawn else NEXT
    worded = [
        c
        for c in able
        if (drawn and c.bound and c.bound.spec.name in turn.specs)
        or (max(c.wording, c.probability) >= least and (drawn or turn.own.named() or heard(turn.fresh, c)))
    ]
    # What takes a column that nobody named fits less: `plot it by sex` shows no year.
    worded.sort(
        key=lambda c: (
            _explained_otherwise(c, outcome),
            not (drawn and c.bound and c.bound.spec.name in turn.specs),  # a figure that stands beside the answer
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
        kept_rows = [*turn.rows(), *turn.rows_of_groups()]
        rows = [in_words(row) for row in kept_rows if row.column not in {*again, *lifted}]
        new = "; ".join([one.analysis.name, *(f"all values of {name}" for name in lifted)])
        if one.bound is not None and one.bound.spec.name in changed:
            continue
        sure = drawn and _draws(one, turn)
        sure = sure or (one.probability >= MEANT and all(asked_with(turn.fresh.words[at]) for at in asking(turn.fresh)))
        if len(named) == 1 and outcome and filled == question and not drawn:
            text = ", ".join([f"{said_anew(question)}, for {outcome}", *rows])
            kept = "; ".join([f"{outcome} of {turn.kept}", *rows])
            found.append(Try(text, one.analysis.id, kept, one.analysis.name, sure))
        if drawn and named and not outcome:
            text = ", ".join([said_anew(question), *rows])
            found.append(Try(text, one.analysis.id, "; ".join([turn.kept, *rows]), new, sure, lifted=lifted))
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


def depending(turn: Turn) -> list[Try]:
    """Return whether what the plan before compares is another at each level of a column: an interaction, by a step that takes one.

    Raises:
        PlanError: when no step of this kind takes an interaction.
    """
    compared, _ = turn.compared()
    said = [name for name in dict.fromkeys(turn.own.columns()) if name not in (compared, *turn.outcomes())]
    if not (compared and len(said) == 1 and DEPENDS.search(turn.question)) or len(turn.own.words) > LONG:
        return []
    (column,), outcome = said, next(iter(turn.outcomes()), "")
    rows = [in_words(row) for row in [*turn.rows(), *turn.rows_of_groups()]]
    text = ", ".join([f"Does the effect of {compared} on {outcome} depend on {column}", *rows])
    for one in turn.judge(text)[0] if outcome else ():
        bound = one.bound
        if bound is None or bound.spec.param("interaction") is None or not one.feasible or bound.missing:
            continue
        if {outcome, compared, column} <= {*bound.columns()} and outcome in bound.of_role(*OUTCOMES):
            new = f"whether the effect of {compared} depends on {column}"
            return [Try(text, one.analysis.id, turn.kept, new, settings={(bound.spec.name, "interaction"): True})]
    steps = ", ".join(dict.fromkeys(node.name for node in turn.answering()))
    message = f"No step of the kind before ({steps}) takes an interaction, here of {compared} and {column}."
    advice = f"It was read as going on from {turn.kept}. Ask in each level: 'separately for each {column}'. Whether the levels differ is not tested by that."
    raise PlanError(message, advice=advice)


def tested(turn: Turn) -> list[Try]:
    """Return the test of what the plan before shows or describes: `is that significant?` after a plot."""
    own, nodes = turn.own, turn.answering()
    if own.columns() or not SIGNIFICANT.search(turn.question) or any(turn.specs[n.tool].param("alpha") for n in nodes):
        return []
    rows = [in_words(row) for row in [*turn.rows(), *turn.rows_of_groups()]]
    group, _ = turn.compared()
    names = columns_of((*OUTCOMES, "time", "x", "anything", "number"), nodes, turn.specs)
    numbers = [n for n in dict.fromkeys(names) if (c := turn.data.column(n)) is not None and not is_group(c)]
    if not numbers:
        return []
    ends = {*columns_of(("event",), nodes, turn.specs)}
    if group:
        text = f"Does {'survival' if ends else numbers[0]} differ between the groups of {group}"
    elif len(numbers) == 2:
        text = f"Is {numbers[0]} correlated with {numbers[1]}"
    else:
        return []
    return [Try(", ".join([text, *rows]), "", "; ".join([turn.kept, *rows]), "a test of what it shows")]


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


def _draws(one: Candidate, turn: Turn) -> bool:
    """Say whether an analysis is a picture, or one with a figure that is called so (`the curves`) or stands beside the answer."""
    if one.bound is None:
        return False
    spec = one.bound.spec
    called = any(said[0].lower() in spec.title.lower() for said in PICTURE.finditer(turn.question))
    called = called or (spec.name in turn.specs and not turn.outcomes())
    return spec.task_type == "visualization" or (called and any(o.type is DataType.FIGURE for o in spec.outputs))


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
    groups = {column for role, column in parts if role in GROUPS}  # who was compared does not become what is explained
    able = [c for c in able if c.bound and not groups & {*c.bound.of_role(*OUTCOMES, "response", "event")}]
    tells = {"adjusted", "held", "stratum"}  # an importance of predictors takes them and holds none
    able = [c for c in able if c.bound and any(p.role in tells for p in c.bound.spec.params)]
    able.sort(key=lambda c: not all(c.bound and column in c.bound.of_role(role) for role, column in parts))
    return [c.analysis.id for c in able[:1]]
