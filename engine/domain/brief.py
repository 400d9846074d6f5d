"""What a plan is going to do, a sentence a goal: what each column, level and row is for, and what else it could be."""

from __future__ import annotations

from typing import Any

from engine.domain.base import Value


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


class GoalBrief(Value):
    """One thing that the plan answers."""

    analysis: str
    title: str
    """What is done, as its field calls it."""
    node: str
    """The step that answers."""
    tool: str
    method: str
    """What the step is called."""
    parts: list[BriefPart]
    why: list[str]
    """Why it is done so, one sentence each."""

    def sentence(self) -> str:
        """Return the goal in plain text."""
        told = "".join(f" {part.label}: {part.words}." for part in self.parts)
        return f"{self.title}.{told} Method: {self.method}."
