"""What is asked of a measure that the question computes first."""

from __future__ import annotations

import re

from engine.planning.choosing.catalogue import Catalogue
from engine.planning.choosing.goals import NEAR, SURE, as_chosen
from engine.planning.choosing.score import Candidate
from engine.planning.formulas.views import data_made, with_measure
from engine.planning.reading.reading import Reading, Request
from engine.planning.tables.sheets import Data

FAINT = 0.12
"""A request of its own about a measure that is computed first asks for something: from this probability on it is proposed."""


def of_computed(
    catalogue: Catalogue, reading: Reading, data: Data, every: list[Candidate]
) -> tuple[Reading, Data, list[Candidate], list[Candidate]] | None:
    """Return what is asked of a measure that the question computes first, and all that may be; None when it computes none or only that."""
    view = with_measure(reading, data)
    if view is None:
        return None
    reading, data = view
    name = data_made(data)
    at = next(m.first for m in reading.mentions if m.column == name)
    apart = [r for r in reading.requests if not r.first <= at <= r.last]
    found: list[Candidate] = []
    for request in apart or [Request(0, len(reading.words) - 1)]:
        found += catalogue.candidates(reading, data, first=request.first, last=request.last)
    able = [
        c for c in found if c.bound is not None and name in c.bound.columns() and not c.bound.missing and not c.unmet
    ]
    best = max(able, key=lambda c: c.probability, default=None)
    alone = max(
        (c.wording for c in every if c.bound is not None and any(p.role == "formula" for p in c.bound.spec.params)),
        default=0.0,
    )
    if best is None or best.probability < (FAINT if apart else NEAR):
        return None
    if _takes_both(best, every, data):
        return None
    beside = {*reading.columns()} - {name}  # `compare log10 weight between the diets` makes no column for itself
    asks = best.bound is not None and best.probability >= SURE and bool(beside) and beside <= {*best.bound.columns()}
    if not apart and not asks and best.wording < alone:
        return None
    return reading, data, [best], every if apart else sorted(found, key=lambda c: -c.probability)


def chosen_of_computed(
    catalogue: Catalogue, analysis: str, reading: Reading, data: Data
) -> tuple[Reading, Data, list[Candidate], list[Candidate]] | None:
    """Return an analysis that a person chose, of a measure that the question computes first, where it takes it."""
    view = with_measure(reading, data)
    if view is None:
        return None
    every = catalogue.candidates(*view)
    goal = as_chosen(catalogue, analysis, every, *view)
    able = goal.bound is not None and not goal.bound.missing and data_made(view[1]) in goal.bound.columns()
    return (*view, [goal], every) if able else None


def _takes_both(best: Candidate, every: list[Candidate], data: Data) -> bool:
    """Say whether the same or a sure analysis takes what the measure is computed of as it is: `cases per person-years` are counts and their exposure."""
    made = next(made for sheet in data.sheets for made in sheet.made if made.column == data_made(data))
    ratio = re.fullmatch(r"`([^`]+)` / `([^`]+)`", made.expression)
    sure = (c for c in every if c.analysis.id == best.analysis.id or c.probability >= SURE)
    same = [c.bound for c in sure if c.bound is not None]
    return ratio is not None and any(
        not bound.missing and bound.of_role("exposure") == [ratio[2]] and ratio[1] in bound.of_role("count")
        for bound in same
    )
