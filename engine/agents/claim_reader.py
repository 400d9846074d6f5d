"""Reads the claims of a text by a model: who does what to whom, asserted or denied. The graph then says what holds."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field

from engine.agents.asks import Asks
from engine.agents.prompt_files import load_prompt
from engine.domain.base import Value
from engine.domain.knowledge import BIOLOGY, MEANS, ToldClaim
from engine.errors import ModelUnavailable

_log = logging.getLogger(__name__)
LONGEST = 20_000
"""Characters of a text that a model reads; a longer one is read as without a model."""
MOST_CLAIMS = 60


class ReadClaims(Value):
    """What the model answers."""

    claims: list[ToldClaim] = Field(default=[], max_length=MOST_CLAIMS)


@dataclass(frozen=True, slots=True)
class ClaimReader:
    """Has texts read by the model of the role `reasoning`; without an answer they are read as without a model."""

    models: Asks

    def __call__(self, text: str, names: Sequence[str]) -> tuple[Sequence[ToldClaim], str] | None:
        """Return the claims of a text and who read them, None when no model did.

        Args:
            text: what is read.
            names: the entities that were recognised in it, as they stand there.
        """
        if len(set(names)) < 2 or len(text) > LONGEST:
            return None
        relations = "\n".join(f"{one}: {MEANS[one]}" if one in MEANS else one for one in sorted(BIOLOGY))
        system, user = load_prompt("read_claims").filled(
            text=text, names="\n".join(dict.fromkeys(names)), relations=relations
        )
        try:
            asked = self.models.ask("reasoning", system, user, ReadClaims, purpose="read the claims of a text")
        except ModelUnavailable as err:
            _log.info("No model read the claims: %s", err.message)
            return None
        return asked.value.claims, asked.model
