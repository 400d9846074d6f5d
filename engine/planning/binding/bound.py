"""A tool with its parameters as far as the words of a question and the data settle them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from engine.domain.plan import OpenQuestion, listed
from engine.domain.toolspec import ParamSpec, ToolSpec
from engine.planning.reading.reading import Restriction
from engine.planning.tables.sheets import Sheet


@dataclass(slots=True)
class Bound:
    """A tool with its parameters as far as words and data settle them."""

    spec: ToolSpec
    sheets: dict[str, Sheet] = field(default_factory=dict)
    """Input -> file, for inputs that a file serves."""
    wired: dict[str, Sheet] = field(default_factory=dict)
    """Input -> the file that was said to be its, where somebody said so."""
    params: dict[str, Any] = field(default_factory=dict)
    score: float = 0.0
    missing: list[ParamSpec] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)
    """Columns that are named and that nothing takes."""
    guessed: list[str] = field(default_factory=list)
    """Parameters that data filled and no word named."""
    rows: list[Restriction] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    questions: list[OpenQuestion] = field(default_factory=list)
    told: str = ""
    """Of one of several steps that differ by their rows only: which rows."""
    exact: bool = False
    """Whether somebody told all of it, so that a step with other rows or more settings is not the same one."""

    @property
    def sheet(self) -> Sheet | None:
        """The file whose columns the parameters are."""
        of = next((p.of for p in self.spec.params if p.kind in ("column", "columns") and p.of in self.sheets), "")
        return self.sheets.get(of) or next(iter(self.sheets.values()), None)

    def columns(self) -> list[str]:
        """Return the columns that the parameters name."""
        named = [self.params.get(p.name) for p in self.spec.params if p.kind in ("column", "columns")]
        return [c for value in named for c in listed(value) if c]

    def of_role(self, *roles: str) -> list[str]:
        """Return the columns bound to parameters of these roles."""
        named = [
            self.params.get(p.name) for p in self.spec.params if p.kind in ("column", "columns") and p.role in roles
        ]
        return [c for value in named for c in listed(value) if c]
