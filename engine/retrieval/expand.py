"""Stage 2: tools that the question does not name but that belong to the answer, with what brought each.

A walk of at most two links from the best candidates, over links between tools (`engine.retrieval.indexes.tool_graph`),
over the knowledge graph and over what finished runs used together, and to the operations that usually come first by
the table of methods. It stays selective: few starting points, few members of any group (the ones that fit the question
best), few links at any node, and at most about one tool in twenty is passed on.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from engine.knowledge.graph.view import GraphView
from engine.retrieval.indexes.index import ToolIndex
from engine.retrieval.indexes.tool_graph import WEIGHTS, Link
from engine.retrieval.search import Candidates
from engine.retrieval.usage import UsageHistory

SEEDS = 12
PER_GROUP = 6
PER_NODE = 24
MOST = 40
LARGEST_NODE = 400
"""Links of a node of the knowledge graph above which it is a hub and nothing is taken from it."""
SECOND_HOP = 0.7
SHARE = 0.05
"""Of all tools, how many may enter here."""
SURE_METHOD = 0.35
"""How certain a method must be for its prerequisites to be brought in."""
SURE_CLAIM = 0.6
"""How certain a method must be for its prerequisites to take places of the answer."""
CLAIMS = 3
"""One of how many prerequisites may do so."""
NEARLY = 0.7
"""Share of the best method's weight from which on a second one's prerequisites are brought in too."""
_STRONG = frozenset({"requires_tool", "used_with", "produces_for", "knowledge"})


@dataclass(slots=True)
class Reached:
    """A tool that the walk came to."""

    row: int
    score: float
    """0 to 1: the best path's product of scores and link weights."""
    because_of: str
    kind: str


@dataclass(slots=True)
class Expansion:
    """What the walk found."""

    added: list[Reached]
    """Tools that were not among the candidates, best first."""
    support: dict[int, Reached]
    """Every tool reached, candidates too: best path by row."""
    prerequisites: dict[int, str] = field(default_factory=dict)
    """Row -> why, for tools that usually come before what is asked for, most important first."""
    claims: list[int] = field(default_factory=list)
    """Those of them that may take a place of the answer though others fit better: the first third, and only where
    the method is certain."""
    visited: int = 0
    """Links looked at."""


def expand(
    index: ToolIndex,
    found: Candidates,
    *,
    graph: GraphView | None = None,
    usage: UsageHistory | None = None,
    seeds: int = SEEDS,
    most: int = MOST,
) -> Expansion:
    """Walk from the best candidates.

    Args:
        index: the tools.
        found: what the search gave.
        graph: the knowledge graph, for the links of its `tool:` nodes.
        usage: what finished runs used together.
        seeds: candidates to start from.
        most: tools that may enter, besides prerequisites.
    """
    reached: dict[int, Reached] = {}
    visited = 0
    start = {int(row): float(found.score[row]) for row in found.rows[:seeds]}
    frontier: dict[int, tuple[float, str]] = {}
    for row, score in start.items():
        name = index.entries[row].name
        for link in _links(index, found, row, graph, usage):
            visited += 1
            value = score * WEIGHTS[link.kind]
            if _note(reached, link, value, _because(link, name)) and link.kind in _STRONG and link.row not in start:
                frontier[link.row] = (value, link.kind)
    for row, (value, _) in sorted(frontier.items(), key=lambda item: -item[1][0])[:PER_NODE]:
        name = index.entries[row].name
        for link in _strong_links(index, row, graph, usage):
            visited += 1
            _note(reached, link, value * WEIGHTS[link.kind] * SECOND_HOP, _because(link, name))
    known = set(found.rows.tolist())
    prerequisites = _prerequisites(index, found, start, reached)
    limit = max(5, min(most, int(SHARE * len(index))))
    others = [hit for hit in reached.values() if hit.row not in known and hit.row not in prerequisites]
    others.sort(key=lambda hit: (-hit.score, hit.row))
    first = [reached[row] for row in prerequisites if row not in known]
    added = [*first, *others[: max(0, limit - len(first))]]
    claims = _claims(index, found, prerequisites)
    return Expansion(added=added, support=reached, prerequisites=prerequisites, claims=claims, visited=visited)


def _links(
    index: ToolIndex, found: Candidates, row: int, graph: GraphView | None, usage: UsageHistory | None
) -> Iterable[Link]:
    yield from _strong_links(index, row, graph, usage, weak=True)
    for kind, through, rows in index.graph.groups(row):
        members = rows
        if len(members) > PER_GROUP:
            # Of a large group, those that fit the question best.
            members = members[np.argpartition(-found.score[members], PER_GROUP)[:PER_GROUP]]
        for member in members.tolist():
            if member != row:
                yield Link(member, kind, through)


def _strong_links(
    index: ToolIndex, row: int, graph: GraphView | None, usage: UsageHistory | None, *, weak: bool = False
) -> Iterable[Link]:
    count = 0
    for link in index.graph.stated(row):
        if (weak or link.kind in _STRONG) and count < PER_NODE:
            count += 1
            yield link
    name = index.entries[row].name
    if usage is not None:
        partners = usage.together.get(name, {})
        for other, _ in sorted(partners.items(), key=lambda item: (-item[1], item[0]))[:PER_GROUP]:
            if other in index.rows:
                yield Link(index.rows[other], "used_with")
    if graph is not None:
        yield from _knowledge_links(index, graph, name)


def _knowledge_links(index: ToolIndex, graph: GraphView, name: str) -> Iterable[Link]:
    """Yield tools that the knowledge graph joins with this one, directly or over one entity that is no hub."""
    start = graph.nodes.number(f"tool:{name}")
    if start < 0 or graph.nodes.degree(start) > LARGEST_NODE:
        return
    entities: list[int] = []
    count = 0
    for other in dict.fromkeys(graph.adjacent(start).numbers.tolist()):
        tool = _tool_row(index, graph, other)
        if tool is None:
            entities.append(other)
        elif count < PER_NODE:
            count += 1
            yield Link(tool, "knowledge")
    for entity in entities[:PER_GROUP]:
        if graph.nodes.degree(entity) > LARGEST_NODE:
            continue
        for other in dict.fromkeys(graph.adjacent(entity).numbers.tolist()[:PER_NODE]):
            tool = _tool_row(index, graph, other) if other != start else None
            if tool is not None:
                yield Link(tool, "knowledge", graph.nodes.node(entity).name)


def _tool_row(index: ToolIndex, graph: GraphView, number: int) -> int | None:
    identity = graph.nodes.node(number).id
    return index.rows.get(identity.removeprefix("tool:")) if identity.startswith("tool:") else None


def _note(reached: dict[int, Reached], link: Link, score: float, because_of: str) -> bool:
    """Keep a path if it is the best to its tool so far."""
    before = reached.get(link.row)
    if before is not None and before.score >= score:
        return False
    reached[link.row] = Reached(link.row, score, because_of, link.kind)
    return True


def _because(link: Link, name: str) -> str:
    if link.kind == "knowledge":
        over = f" over {link.through}" if link.through else ""
        return f"knowledge graph link with {name}{over}"
    if link.kind == "compatible_with":
        return f"compatible_with {name} (takes its {link.through})"
    if link.kind in ("same_suite", "same_domain"):
        return f"{link.kind} as {name} ({link.through})"
    return f"{link.kind} of {name}" if link.kind != "used_with" else f"used_with {name} in finished runs"


def _prerequisites(
    index: ToolIndex, found: Candidates, start: dict[int, float], reached: dict[int, Reached]
) -> dict[int, str]:
    """Return the tools that come first: those that the best tools require, and those of the method's prerequisites.

    The tool for an operation is a runnable one when the built-in catalogue has it, else the best of the imported ones.
    """
    wanted: dict[int, str] = {}
    best = next(iter(start), None)
    for match in found.methods[:2]:
        # A second method counts when the question is nearly as much about it: "cluster cells into cell types".
        if match.weight < max(SURE_METHOD, NEARLY * found.methods[0].weight):
            continue
        method = index.methods.methods[match.row]
        for place, operation in enumerate(method.prerequisites):
            row = index.tool_for(operation)
            if row is None or row == best:
                continue
            reason = f"{operation} usually comes before {method.operation}"
            score = match.weight * WEIGHTS["requires_tool"] * 0.97**place
            if row not in reached or reached[row].score < score:
                reached[row] = Reached(row, score, reason, "requires_tool")
            wanted.setdefault(row, reason)
    for link in index.graph.stated(best) if best is not None else ():
        if link.kind == "requires_tool" and link.row in reached:
            wanted.setdefault(link.row, reached[link.row].because_of)
    return wanted


def _claims(index: ToolIndex, found: Candidates, prerequisites: dict[int, str]) -> list[int]:
    """Return the prerequisites that may take a place of the answer, most important first."""
    best = int(found.rows[0]) if len(found.rows) else -1
    required = {link.row for link in index.graph.stated(best) if link.kind == "requires_tool"} if best >= 0 else set()
    sure = bool(found.methods) and found.methods[0].weight >= SURE_CLAIM
    claims = [row for row in prerequisites if sure or row in required]
    return claims[: math.ceil(len(claims) / CLAIMS)]
