"""Orders the tools that a search found: a model knows which does what is asked; what was found stays what it was."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from pydantic import Field

from engine.agents.asks import Asks
from engine.agents.prompt_files import load_prompt
from engine.domain.base import Value
from engine.domain.retrieval import RetrievedTool, ToolSearch
from engine.errors import ModelUnavailable

_log = logging.getLogger(__name__)
_SHOWN = 200
"""Characters of a tool's description that are shown."""
_FEWEST = 2


class RankedNames(Value):
    """What the model answers."""

    names: list[str] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class ToolRanker:
    """Has found tools ordered by the model of the role `fast`; without an answer the order of the search stands."""

    models: Asks

    def __call__(self, found: ToolSearch) -> ToolSearch:
        """Return the same tools in the model's order; those that it does not name follow in that of the search."""
        if len(found.tools) < _FEWEST or not found.query.strip():
            return found
        system, user = load_prompt("rank_tools").filled(task=found.query, tools="\n".join(map(_line, found.tools)))
        try:
            asked = self.models.ask("fast", system, user, RankedNames, purpose="order the tools found")
        except ModelUnavailable as err:
            _log.info("No model ordered the tools: %s", err.message)
            return found
        known = {tool.name: tool for tool in found.tools}
        named = [known.pop(name) for name in asked.value.names if name in known]
        note = f"{asked.model} ordered them; scores are those of the search."
        return found.model_copy(update={"tools": [*named, *known.values()], "notes": [*found.notes, note]})


def _line(tool: RetrievedTool) -> str:
    here = "" if tool.runnable else " (cannot be run here)"
    says = " ".join((tool.description or tool.title).split())[:_SHOWN]
    return f"{tool.name}{here}: {says}"
