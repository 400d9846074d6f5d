"""A tournament from its goal to its standings. Read this first.

    plan       the supervisor says how the goal is gone about; literature is read where there is some
    make       the user's hypotheses and those of each maker
    review     each is read against evidence, on six criteria
    likeness   near ones become clusters, equal ones are merged
    compare    two by two, until the best is found or the comparisons are spent
    test       predictions of the best, where data can contradict them
    then, for each iteration: meta-review, rewriting, review, likeness, compare, test

Every stage looks at what is kept and asks only for what is missing, so the same walk serves the first time and after
any interruption.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.domain.discovery.hypotheses import Aims, Skipped
from engine.strategies.tournament.asking import RoundTable, StoppedEarly
from engine.strategies.tournament.stages.making import evolve, make
from engine.strategies.tournament.stages.nearness import look_for_likeness
from engine.strategies.tournament.stages.ranking import compare
from engine.strategies.tournament.stages.reviewing import meta_review, review
from engine.strategies.tournament.stages.testing import try_best

FIRST = ("planning", "making", "review", "likeness", "ranking", "tests")
LATER = ("meta-review", "evolution", "review", "likeness", "ranking", "tests")
SHARE = {"ranking": 5.0}
"""How much longer a stage takes than another, for the progress."""


def play(table: RoundTable) -> None:
    """Go on with a tournament until it is over, or somebody or a budget stops it; its state says which.

    Raises:
        StorageError: when nothing can be kept any more.
    """
    ledger = table.ledger
    ledger.keep(status="running", stopped_by="")
    try:
        why = _stages(table)
        ended: dict[str, Any] = {"status": "finished", "stopped_by": why, "stage": "", "progress": 1.0}
        if not ledger.view().hypotheses:
            ended["status"] = "failed"
    except StoppedEarly as stop:
        ended = {"status": stop.wish or "finished", "stopped_by": stop.why}
        if not stop.wish:
            ended |= {"stage": "", "progress": 1.0}
    ledger.keep(**ended)


def _stages(table: RoundTable) -> str:
    """Go through all stages; return in words why the comparing stopped."""
    iterations = table.ledger.state.bounds.iterations
    walk = [(stage, 0) for stage in FIRST]
    walk += [(stage, round_) for round_ in range(1, iterations + 1) for stage in LATER]
    length = sum(SHARE.get(stage, 1.0) for stage, _ in walk)
    done, why, start = 0.0, "", _start(table, walk)
    for at, (stage, round_) in enumerate(walk):
        began, done = done, done + SHARE.get(stage, 1.0)
        if at < start:
            continue
        table.ledger.keep(stage=stage, round=round_, progress=began / length)
        if stage == "ranking":
            why = compare(table, began / length, done / length)
        else:
            _STAGES[stage](table, round_)
        if stage == "making" and not table.ledger.view().hypotheses:
            return "No hypothesis could be made." + _reasons(table)
    return why


def _start(table: RoundTable, walk: list[tuple[str, int]]) -> int:
    """Return the place of the stage to go on with: the one it was in, and after its end the last review."""
    state = table.ledger.state
    if not table.ledger.view().hypotheses:
        return 0
    here = (state.stage or "review", state.round)
    return walk.index(here) if here in walk else 0


def _plan(table: RoundTable, _: int) -> None:
    cast, aims = table.cast, table.ledger.state.aims
    if cast.supervisor is not None:
        _tell_once(table, "planning", "plan", cast.supervisor.plan, aims)
    if cast.literature is not None:
        _tell_once(table, "literature", "literature", cast.literature, aims)


def _tell_once(table: RoundTable, stage: str, name: str, ask: Callable[[Aims], str], aims: Aims) -> None:
    """Ask for a text and keep it in the tournament's field of this name."""
    if table.ledger.has(name):
        return
    said = table.ask(stage, name, lambda: ask(aims))
    if isinstance(said, Skipped):
        table.ledger.keep(said, asked=name, calls=1)
    else:
        table.ledger.keep(asked=name, calls=1, **{name: str(said)})


def _reasons(table: RoundTable) -> str:
    why = list(dict.fromkeys(one.why for one in table.ledger.view().skipped))
    return f" {' '.join(why[:3])}" if why else ""


_STAGES: dict[str, Callable[[RoundTable, int], None]] = {
    "planning": _plan,
    "making": lambda table, _: make(table),
    "review": lambda table, _: review(table),
    "likeness": lambda table, _: look_for_likeness(table),
    "tests": lambda table, _: try_best(table),
    "meta-review": meta_review,
    "evolution": evolve,
}
