"""Why a tool was found, in a sentence for a biologist."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from engine.retrieval.indexes.index import ToolIndex
from engine.retrieval.question.words import words
from engine.retrieval.rerank import Ranked, fits
from engine.retrieval.search import Candidates
from engine.retrieval.usage import UsageHistory
from engine.text.prose import listed

_NEAR = 0.6
_SIMILAR = 0.55
_PLAIN = {
    "requires_tool of ": "Usually runs before {name}",
    "required_by of ": "Usually runs after {name}",
    "produces_for of ": "Commonly takes what {name} gives",
    "used_with ": "Was used with {name}",
    "compatible_with ": "Can take what {name} gives",
    "same_suite as ": "Belongs to the same suite as {name}",
    "same_domain as ": "Belongs to the same field as {name}",
    "knowledge graph link with ": "The knowledge graph links it with {name}",
}
"""What a link says to people, by how its technical reason starts."""


def why(
    index: ToolIndex,
    found: Candidates,
    tool: Ranked,
    written: dict[str, str],
    *,
    data_types: Collection[str] = (),
    usage: UsageHistory | None = None,
) -> str:
    """Return one sentence: what fits, what brought it, whether it takes the user's data and how it did before."""
    entry = index.entries[tool.row]
    clauses: list[str] = []
    if tool.because_of:
        clauses.append(_sentence_of(tool.because_of))
    else:
        clauses.append(_text_reason(index, found, tool, written))
    if data_types and fits(entry, data_types) >= 1:
        given = [kind for kind in data_types if fits(entry, [kind]) >= 1]
        clauses.append(f"takes the {given[0].replace('_', ' ')} you gave")
    runs = usage.runs.get(entry.name, 0) if usage is not None else 0
    if usage is not None and runs:
        clauses.append(f"worked in {usage.successes.get(entry.name, 0)} of {runs} earlier runs")
    return "; ".join(clauses) + "."


def _sentence_of(because_of: str) -> str:
    for start, plain in _PLAIN.items():
        if because_of.startswith(start):
            name, _, rest = because_of.removeprefix(start).partition(" ")
            return plain.format(name=f"`{name}`") + (f" {rest}" if rest else "")
    return because_of[0].upper() + because_of[1:]


def _text_reason(index: ToolIndex, found: Candidates, tool: Ranked, written: dict[str, str]) -> str:
    for match in found.methods:
        operation = index.methods.methods[match.row].operation
        if found.program[tool.row] > 0 and tool.row in index.tools_of(match.row):
            return f"Known for `{operation}`"
        near = index.likeness(match.row, np.array([tool.row]))
        if near is not None and near[0] >= _SIMILAR:
            return f"Its description matches `{operation}`"
    shared = shared_words(index, found, tool.row, written)
    if shared:
        return f"Its description has {_listed(shared)}"
    if tool.parts.get("semantic", 0.0) >= _NEAR:
        return "Its description is close in meaning to the question"
    return "Its description resembles those of the best tools"


def written_words(query: str, found: Candidates) -> dict[str, str]:
    """Return stem -> word as the user wrote it, or as it was corrected."""
    written: dict[str, str] = {}
    for token in query.replace("/", " ").split():
        clean = token.strip(".,;:!?()[]\"'")
        for stemmed in words(clean):
            written.setdefault(stemmed, clean)
    for taken in found.corrected.values():
        for stemmed in words(taken):
            written.setdefault(stemmed, taken)
    return written


def shared_words(index: ToolIndex, found: Candidates, row: int, written: dict[str, str], *, most: int = 4) -> list[str]:
    """Return the words of the question that the tool's texts have, rarest first, as the user wrote them."""
    there = [word for word in found.words if index.texts.words.has(row, word)]
    there.sort(key=lambda word: -index.texts.idf(word))
    return list(dict.fromkeys(written.get(word, word) for word in there))[:most]


def _listed(items: list[str]) -> str:
    return listed([f"`{item}`" for item in items])
