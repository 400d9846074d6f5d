"""A model that chooses the look-ups, where there is one; the question's own words go on where it gives none."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from engine.agents.asks import Asks
from engine.agents.describe import files_text
from engine.agents.prompt_files import load_prompt
from engine.domain.base import Value
from engine.errors import ModelUnavailable
from engine.strategies.react.lookup import Call, Lookup, LookupQuestion, Step
from engine.strategies.react.loop import by_words

SHOWN = 1_500
"""Characters of what a look-up found that the model sees."""


class NextLookup(Value):
    """What the model answers."""

    tool: str = ""
    arguments: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class ModelDriver:
    """Has the model of the role `reasoning` choose."""

    models: Asks
    levels: bool = True

    def __call__(self, asked: LookupQuestion, lookups: Sequence[Lookup], steps: Sequence[Step]) -> Call | None:
        """Return the next look-up, None when what was found is enough."""
        if steps and steps[-1].found.whole:
            return None
        system, user = load_prompt("next_lookup").filled(
            question=asked.question,
            files=files_text(asked.profiles, levels=self.levels),
            tools="\n".join(f"{one.name}: {one.description} {json.dumps(_brief(one.parameters))}" for one in lookups),
            steps="\n\n".join(map(_told, steps)),
        )
        try:
            said = self.models.ask("reasoning", system, user, NextLookup, purpose="choose the next look-up")
        except ModelUnavailable:
            return by_words(asked, lookups, steps)
        return Call(tool=said.value.tool, arguments=said.value.arguments) if said.value.tool else None


def _brief(schema: Any) -> Any:
    """Return a schema without what only repeats its names."""
    if isinstance(schema, list):
        return [_brief(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    noise = {key for key in ("title", "additionalProperties") if not isinstance(schema.get(key), dict)}
    return {key: _brief(value) for key, value in schema.items() if key not in noise}


def _told(step: Step) -> str:
    found = step.found
    lines = [found.fault, *found.notes, *found.lines] if found.fault else [*found.notes, *found.lines]
    text = "\n".join(lines) or "Nothing was found."
    return f"{step.call.tool} {json.dumps(step.call.arguments, ensure_ascii=False)}:\n{text[:SHOWN]}"
