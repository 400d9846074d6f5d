"""What a plan is going to do, a sentence a goal: what each column, level and row is for, and what else it could be."""

from __future__ import annotations

import re
from itertools import groupby
from typing import Any

from engine.domain.base import Value

REFERENCE = "Reference"
"""What the level is called that others are compared with."""


class BriefPart(Value):
    """One part of a goal: `Groups: arm, chemo (83) and control (77)`."""

    label: str
    """What it is the column, level or setting for: `Outcome`, `Groups`, `Adjusted for`."""
    words: str
    """What it is, in words."""
    node: str = ""
    """The step that a change of it changes; empty where it is only told."""
    param: str = ""
    """The parameter of that step; empty where it is only told."""
    value: Any = None
    candidates: list[str] = []
    """The columns or levels that could stand there, the best first; a setting has bounds or choices instead."""
    asked: bool = False
    """True when the planner could not know it."""
    by_hand: bool = False
    """True when a person chose it."""
    column: str = ""
    """For one of several levels that a parameter holds as `COLUMN=LEVEL`: the column it is of."""
    beside: list[str] = []
    """The others that it holds."""

    def chosen(self, value: Any) -> Any:
        """Return what the parameter is set to when `value` is chosen for this part."""
        return [*self.beside, f"{self.column}={value}"] if self.column else value


class GoalBrief(Value):
    """One thing that the plan answers."""

    analysis: str
    title: str
    """What is done, as its field calls it."""
    node: str
    """The step that answers."""
    tool: str
    method: str
    """The test or model that is computed, as its field calls it."""
    because: str = ""
    """Why it is this one, in a few words."""
    parts: list[BriefPart]
    why: list[str]
    """Why it is done so, one sentence each."""

    @property
    def computed(self) -> str:
        """The test or model with its reason, in a sentence."""
        head = re.split(r"\s*[,(;]| with ", self.method)[0]
        kind = "Test" if re.search(r"\btests?\b|ANOVA|analysis of variance", head) else "Method"
        return f"{kind}: {self.method}{', because ' if self.because else ''}{self.because}."

    def sentence(self) -> str:
        """Return the goal in plain text."""
        against = any(part.label == "Groups" and " against " in part.words for part in self.parts)
        twice = ("Of interest", REFERENCE) if against else ()
        parts = [part for part in self.parts if part.label not in twice or part.column]
        parts = [part for part in parts if part.label != REFERENCE or part.value]
        alike = groupby(parts, key=lambda part: part.label)
        told = "".join(f" {label}: {'; '.join(part.words for part in own)}." for label, own in alike)
        return f"{self.title}.{told} {self.computed}"
