"""Puts old turns of a conversation in short; where rules find something lost or added, their own summary stays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from engine.agents.asks import Asks
from engine.agents.prompt_files import load_prompt
from engine.domain.base import Value
from engine.memory.working.compress import Passage
from engine.memory.working.faithful import misfits
from engine.memory.working.memory import ShortText
from engine.text.token_cost import estimate_tokens

ROUNDS = 2


class ShortTurn(Value):
    """What one speaker said, in short."""

    speaker: Literal["user", "assistant", "system"]
    text: str = Field(min_length=1)


class ShortTalk(Value):
    """What the model answers."""

    turns: list[ShortTurn] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class TalkShortener:
    """Has turns put in short by the model of the role `fast`."""

    models: Asks

    def __call__(self, said: Sequence[Passage], limit: int, conversation: str) -> ShortText:
        """Return the turns in short, with what is wrong with it where the last try does not fit either.

        Args:
            said: the turns, in order.
            limit: most tokens.
            conversation: whom the call is counted for.

        Raises:
            ModelUnavailable: when no model gave an answer.
        """
        talk = "\n".join(f"{one.speaker}: {one.text}" for one in said)
        made = ShortText(text="", by="", problems=("it was not asked for",))
        for _ in range(ROUNDS):
            system, user = load_prompt("shorten_talk").filled(
                talk=talk, limit=str(limit), complaints="\n".join(made.problems if made.by else ())
            )
            asked = self.models.ask("fast", system, user, ShortTalk, purpose="shorten old turns", run_id=conversation)
            text = "\n".join(f"{turn.speaker}: {' '.join(turn.text.split())}" for turn in asked.value.turns)
            length = [f"longer than {limit} tokens"] if estimate_tokens(text) > limit else []
            made = ShortText(text=text, by=asked.model, problems=(*misfits(talk, text), *length))
            if not made.problems:
                break
        return made
