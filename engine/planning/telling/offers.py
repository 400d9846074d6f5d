"""What the desk can do, from what its tools answer: said where a question brings no file, or asks for just that."""

from __future__ import annotations

from engine.toolbox.analyses import Analysis
from engine.toolbox.registry import ToolRegistry

WORDS = 6
"""So many words at most name the analyses of a field."""
WHAT = (
    "The desk computes answers from data files, plans sample sizes without a file, and tells what its graph and memory "
    "hold. It holds no textbook: what a method means is not told."
)


def offers(registry: ToolRegistry, analyses: dict[str, Analysis]) -> list[str]:
    """Return a line for each field: its name and its first analyses that a tool carries out, in a few words."""
    able = {key for tool in registry for key in tool.answers}
    fields: dict[str, list[Analysis]] = {}
    for one in sorted((a for a in analyses.values() if a.id in able), key=lambda a: a.rank):
        fields.setdefault(one.field, []).append(one)
    return [f"{field.replace('_', ' ')}: {_few([a.name for a in fields[field]])}" for field in sorted(fields)]


def _few(names: list[str]) -> str:
    """Return as many of the names, the first ones first, as the number of words allows."""
    kept: list[str] = []
    for name in names:
        if len(" ".join([*kept, name]).split()) <= WORDS:
            kept.append(name)
    return ", ".join(kept)
