"""Models as advisers of a search: one proposes ways, one judges ends; a failed answer is left out with its reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field

from engine.agents.asks import Answer, Asks, ModelAnswer
from engine.agents.describe import files_text, without_levels
from engine.agents.prompt_files import load_prompt
from engine.discovery.tree.space import Spending, Spent
from engine.domain.base import Value
from engine.domain.discovery.search_tree import SearchAdvice
from engine.domain.profile import Profile
from engine.errors import AnswerInvalid, BrokenAnswer, ModelCancelled, ModelRefused, ModelUnavailable
from engine.ports.models.chat import Role

MOST_WAYS = 6
_OF_THE_QUESTION = (AnswerInvalid, BrokenAnswer, ModelRefused)
"""Faults after which another question may well be answered."""
_Name = Annotated[str, Field(min_length=1, max_length=200)]


class ProposedWays(Value):
    """What the model answers that proposes."""

    ways: list[Annotated[list[_Name], Field(min_length=1, max_length=8)]] = Field(max_length=MOST_WAYS)


class JudgedEnd(Value):
    """One end and what it is worth."""

    number: int = Field(ge=1)
    score: float = Field(ge=0, le=1)
    why: str = Field(default="", max_length=300)


class JudgedEnds(Value):
    """What the model answers that judges."""

    ends: list[JudgedEnd] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class ModelAdviser:
    """Has the model of the role `reasoning` propose, and that of the role `judge` judge."""

    models: Asks
    goal: str
    profiles: Sequence[Profile] = ()
    run_id: str = ""
    levels: bool = True
    """Whether values of groups may be shown."""
    spent: Spending = field(default=Spent)
    """What the calls that count for the same run add up to."""

    def propose(self, state: str, choices: Sequence[str]) -> SearchAdvice:
        """Return ways on from a state."""
        shown = {"state": self._shown(state), "choices": self._shown("\n".join(choices)), "most": str(MOST_WAYS)}
        return self._asked(
            "choices", "reasoning", "propose_ways", shown, ProposedWays, lambda said: {"ways": said.ways}
        )

    def judge(self, ends: Sequence[str]) -> SearchAdvice:
        """Return a score for each end, by its number."""
        numbered = "\n\n".join(f"Number {number}: {self._shown(end)}" for number, end in enumerate(ends, 1))

        def scored(said: JudgedEnds) -> dict[str, object]:
            first = {str(end.number): end for end in reversed(said.ends)}
            return {
                "scores": {number: end.score for number, end in first.items()},
                "reasons": {number: end.why for number, end in first.items()},
            }

        return self._asked(
            "ends", "judge", "judge_ends", {"ends": numbered, "count": str(len(ends))}, JudgedEnds, scored
        )

    def _asked(
        self,
        what: Literal["choices", "ends"],
        role: Role,
        prompt: str,
        shown: dict[str, str],
        answer: type[Answer],
        taken: Callable[[Answer], dict[str, object]],
    ) -> SearchAdvice:
        files = files_text(self.profiles, levels=self.levels) if self.profiles else ""
        system, user = load_prompt(prompt).filled(goal=self.goal, files=files, **shown)
        before = self.spent()
        told: dict[str, object]
        try:
            said: ModelAnswer[Answer] = self.models.ask(
                role, system, user, answer, purpose=_PURPOSES[what], run_id=self.run_id
            )
            told = {**taken(said.value), "by": said.model}
        except ModelCancelled:
            raise
        except ModelUnavailable as err:
            told = {"failed": err.message, "last": not isinstance(err, _OF_THE_QUESTION)}
        after = self.spent()
        calls, usd = after.calls - before.calls, after.dollars - before.dollars
        # What an earlier question left behind costs nothing, but it was a question all the same.
        return SearchAdvice.model_validate({"asked": what, "about": [], "calls": max(calls, 1), "usd": usd, **told})

    def _shown(self, text: str) -> str:
        return text if self.levels else without_levels(text, self.profiles, self.goal)


_PURPOSES = {"choices": "propose ways for the search", "ends": "judge what the search found"}
