"""Everyone a tournament asks for something."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from engine.domain.discovery.hypotheses import Aims, AssertedLink, Hypothesis
from engine.strategies.tournament.roles import Evolver, Judge, Maker, MetaReviewer, Reviewer, Supervisor
from engine.strategies.tournament.sameness import likeness_of_words
from engine.strategies.tournament.tester import Tester

Likeness = Callable[[Sequence[Hypothesis]], np.ndarray]
"""Hypotheses -> (n, n) how nearly each two say the same, from 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """The roles of one tournament. All of them may be asked from several threads."""

    judge: Judge
    reviewer: Reviewer
    makers: Sequence[Maker] = ()
    evolver: Evolver | None = None
    meta_reviewer: MetaReviewer | None = None
    supervisor: Supervisor | None = None
    literature: Callable[[Aims], str] | None = None
    """Returns what a review of literature found."""
    tester: Tester | None = None
    likeness: Likeness = field(default=likeness_of_words)
    refuses: Callable[[str], str] = field(default=lambda _: "")
    """Returns why a goal or a hypothesis asks for harm, or ""."""
    asserted: Callable[[str], Sequence[AssertedLink]] = field(default=lambda _: ())
    """Returns what a hypothesis of a person asserts, read once when it enters."""
    reads: Callable[[Aims], object] = field(default=lambda _: None)
    """Raises a `UserError` where nothing can be made of a goal, said before the start when no hypothesis is given."""
    spent: Callable[[Sequence[str]], tuple[int, float]] | None = None
    """Returns calls and dollars that the models of this tournament have used so far, those of the runs of its tests,
    which are given, among them, where models are asked. Without it, what the roles were asked for is counted."""
