"""Stage 3: the order of the answer, by a sum whose parts are shown."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from engine.data.catalogue import KINDS, accepts
from engine.domain.datatypes import DataType
from engine.domain.retrieval import CatalogueEntry
from engine.retrieval.expand import Expansion
from engine.retrieval.indexes.index import ToolIndex
from engine.retrieval.search import Candidates
from engine.retrieval.usage import UsageHistory

SHARES = {"text": 0.80, "type_fit": 0.10, "graph": 0.04, "domain": 0.03, "success": 0.03}
"""What each part counts. A part that has nothing to go by is 0 for every tool and so changes no order."""
SEATS = 0.14
"""Share of the places that tools may take only because they usually come first (each costs a tool that fits better)."""
SUITE_FREE = 2
"""Tools of one suite that are taken as they come."""
CROWDING = 0.03
"""Share of its score that each further one loses, for every one before it beyond these."""
CROWDING_MOST = 0.1
"""At most this much: what fits clearly better stays before what fits worse."""
_FEW = 4
"""Places of an answer below which none is kept."""


@dataclass(slots=True)
class Ranked:
    """A tool of the answer."""

    row: int
    score: float
    parts: dict[str, float]
    because_of: str = ""
    searched: bool = True
    """False when the expansion brought it."""


def fits(entry: CatalogueEntry, data_types: Collection[str]) -> float:
    """Return how well a tool takes the user's data: 1 when it takes a kind of it, 0.4 as a plain table, else 0.

    Built-in tools are judged by `DataType`, imported ones by the words of their inputs.
    """
    best = 0.0
    inputs = [name.lower() for name in entry.inputs]
    for given in data_types:
        for taken in inputs:
            if taken == given.lower():
                best = max(best, 1.0 if taken != DataType.TABLE else 0.4)
            elif entry.runnable:
                best = max(best, 0.4 if _accepts(taken, given) else 0.0)
            elif any(word in taken for word in _names(given)):
                best = 1.0
    return best


def _names(given: str) -> tuple[str, ...]:
    plain = (given.replace("_", " "),)
    return KINDS[DataType(given)].aliases or plain if given in KINDS else plain


def _accepts(taken: str, given: str) -> bool:
    try:
        return accepts(DataType(taken), DataType(given))
    except ValueError:
        return False


def rank(
    index: ToolIndex,
    found: Candidates,
    expansion: Expansion,
    *,
    data_types: Collection[str] = (),
    domains: Collection[str] = (),
    usage: UsageHistory | None = None,
) -> list[Ranked]:
    """Score everything that entered, best first; every part is 0 to 1."""
    wanted_domains = {domain.lower() for domain in domains}
    added = {hit.row: hit for hit in expansion.added}
    ranked: list[Ranked] = []
    for row in [*found.rows.tolist(), *added]:
        entry = index.entries[row]
        hit = expansion.support.get(row)
        parts = {
            "text": float(found.score[row]) if row not in added else min(float(found.score[row]), 0.5),
            "type_fit": fits(entry, data_types) if data_types else 0.0,
            "graph": hit.score if hit is not None else 0.0,
            "domain": float(entry.domain.lower() in wanted_domains) if wanted_domains else 0.0,
            "success": usage.success(entry.name) if usage is not None else 0.0,
        }
        # Belonging to the same suite or domain says too little to change an order.
        counted = parts if hit is not None and hit.kind not in ("same_suite", "same_domain") else parts | {"graph": 0.0}
        score = sum(share * counted[part] for part, share in SHARES.items())
        because = expansion.prerequisites.get(row, "") or (hit.because_of if hit is not None and row in added else "")
        details = {
            "lexical": float(found.lexical[row]),
            "semantic": float(found.semantic[row]) if found.semantic is not None else 0.0,
            "method": float(found.program[row]),
        }
        ranked.append(Ranked(row, score, {**parts, **details}, because, row not in added))
    ranked.sort(key=lambda tool: (-tool.score, tool.row))
    return _vary(index, found, ranked)


def _vary(index: ToolIndex, found: Candidates, ranked: list[Ranked]) -> list[Ranked]:
    """Keep a suite of near equal tools from filling the answer where others fit nearly as well.

    A suite that the question names is left alone, and so are Biodesk's own tools, whose suites are fields of work.
    """
    taken: dict[tuple[str, str], float] = {}
    for tool in ranked:
        entry = index.entries[tool.row]
        key = (entry.catalogue, entry.suite)
        before = taken.get(key)
        if before is None:
            free = entry.runnable or not entry.suite or not index.suite_words(tool.row).isdisjoint(found.words)
            before = -math.inf if free else 0
        taken[key] = before + 1
        loss = min(CROWDING_MOST, CROWDING * (before + 1 - SUITE_FREE))
        if loss > 0:
            tool.parts["crowding"] = loss
            tool.score *= 1 - loss
    ranked.sort(key=lambda tool: (-tool.score, tool.row))
    return ranked


def seat(ranked: Sequence[Ranked], expansion: Expansion, top: int) -> list[Ranked]:
    """Return the best `top` tools, the last few places kept for tools that must come before the others.

    At most one place in seven, and only tools that did not reach the top by themselves.
    """
    best = list(ranked[:top])
    inside = {tool.row for tool in best}
    by_row = {tool.row: tool for tool in ranked}
    first = [by_row[row] for row in expansion.claims if row in by_row and row not in inside]
    first = first[: max(int(SEATS * top), 1 if top >= _FEW else 0)]
    if not first:
        return best
    best = best[: top - len(first)] if len(best) + len(first) > top else best
    last = best[-1].score if best else 1.0
    for place, tool in enumerate(first):
        tool.parts["prerequisite"] = 1.0
        tool.score = min(max(tool.score, last * 0.99**place), last)
    return [*best, *first]
