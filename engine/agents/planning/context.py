"""What the fields need to know while they plan: the question, the data and what the words said."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engine.agents.planning import words
from engine.agents.planning.builder import PlanBuilder, usable
from engine.agents.planning.columns import find_columns, find_levels
from engine.agents.planning.design import load_columns
from engine.agents.planning.goals import Goal
from engine.domain.datatypes import DataType
from engine.domain.plan import OpenQuestion
from engine.domain.profile import ColumnProfile, Profile, TypeGuess

if TYPE_CHECKING:
    import pandas as pd

_VAGUE = ("analy", "explore", "interesting", "insight", "overview", "what can you", "what do you see", "look at", "find out",
          "tell me", "everything", "summar", "describe")  # fmt: skip


@dataclass(slots=True)
class Context:
    """One question being planned."""

    question: str
    profiles: list[Profile]
    builder: PlanBuilder
    goals: dict[str, Goal]
    ranked: list[str] = field(default_factory=list)
    """Tools by the catalogue's own words, best first."""
    questions: list[OpenQuestion] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _frames: dict[str, pd.DataFrame] = field(default_factory=dict)

    def wants(self, *tools: str) -> bool:
        """Say whether the words ask for any of these tools."""
        return any(tool in self.goals for tool in tools)

    @property
    def vague(self) -> bool:
        """True for `analyse my data`: a request for the usual first look."""
        return any(word in self.question.lower() for word in _VAGUE)

    @property
    def alpha(self) -> float | None:
        """The significance threshold the question names."""
        return words.significance(self.question)

    def profile_as(self, wanted: DataType) -> tuple[Profile, TypeGuess] | None:
        """Return the file that serves best as exactly this type."""
        able = [(guess.confidence, p, guess) for p in self.profiles for guess in usable(p) if guess.type == wanted]
        if not able:
            return None
        best = max(able, key=lambda item: item[0])
        return best[1], best[2]

    def frame(self, profile: Profile, guess: TypeGuess) -> pd.DataFrame:
        """Return a table, sample sheet or `obs`, read once."""
        key = f"{profile.path}|{guess.type}"
        if key not in self._frames:
            self._frames[key] = load_columns(profile, guess)
        return self._frames[key]

    def genes(self, columns: list[ColumnProfile], known: frozenset[str] = frozenset()) -> list[str]:
        """Return the genes the question names; names of columns and levels are not genes."""
        exclude = {column.name.lower() for column in columns}
        exclude |= {level.lower() for column in columns for level in column.levels}
        exclude |= {profile.name.lower().split(".")[0] for profile in self.profiles}
        text = self.question
        for column in columns:
            for level, _ in find_levels(text, column):
                # `CD14+ Monocyte` is a kind of cell here, not a question about the gene CD14.
                if not level.isalnum():
                    text = re.sub(re.escape(level), " ", text, flags=re.IGNORECASE)
        return words.genes(text, exclude=frozenset(exclude), known=known)

    def names_something_of(self, columns: list[ColumnProfile]) -> bool:
        """Say whether the question names one of these columns or levels."""
        return bool(find_columns(self.question, columns)) or any(find_levels(self.question, c) for c in columns)

    def ask(self, node: str, questions: list[OpenQuestion], *, also: Sequence[str] = ()) -> None:
        """Attach open questions to the step they belong to, and to others that share the parameter."""
        update = {"node": node, "also": list(also)}
        self.questions += [item.model_copy(update={**update, "id": f"{node}_{item.id}"}) for item in questions]
