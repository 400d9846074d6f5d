"""Where statements on expression disagree: a treatment that moves a gene as the disease does, diseases that differ.

A drug that treats a disease and raises a gene that the disease raises too asks whether the rise is a defence; two
diseases that resemble each other and move a gene in opposite directions ask whether it tells them apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.knowledge.graph.view import GraphView
from engine.strategies.tournament.bridges.ideas import PatternWay
from engine.strategies.tournament.bridges.patterns import (
    ALIKE,
    DISEASE,
    DOWN,
    DRUG,
    GENE,
    TREATS,
    UP,
    BridgePattern,
    Edges,
)

_BESIDE = 0.1
"""What the statement that makes two others disagree says for the hypothesis: it is a fact and no reason."""
_WORDS = {UP: ("rise", "raises", "Lowering", "raised"), DOWN: ("fall", "lowers", "Raising", "lowered")}


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Statements that do not fit together, and the hypothesis that would explain them."""

    nodes: tuple[int, ...]
    """The gene, the disease, and the drug or other disease."""
    text: str
    why: str
    prediction: str
    contradicted: str
    experiment: str
    ways: tuple[PatternWay, ...]


def contradictions(view: GraphView, named: Sequence[int]) -> list[Contradiction]:
    """Return what disagrees around some entities; about genes of few edges first, as they are more specific."""
    found: dict[tuple[int, ...], Contradiction] = {}
    for anchor in named:
        for drug, disease in _treated(view, anchor):
            for one in _same_way(view, drug, disease):
                found.setdefault(one.nodes, one)
        for other in _alike(view, anchor):
            for one in _opposite_ways(view, anchor, other):
                found.setdefault(one.nodes, one)
    return sorted(found.values(), key=lambda one: (view.nodes.degree(one.nodes[0]), one.nodes))


def _treated(view: GraphView, anchor: int) -> Iterator[tuple[int, int]]:
    kind = view.nodes.node_type(anchor)
    if kind is DISEASE:
        yield from ((drug, anchor) for drug in view.adjacent(anchor, TREATS, "in").numbers.tolist())
    elif kind is DRUG:
        yield from ((anchor, disease) for disease in view.adjacent(anchor, TREATS, "out").numbers.tolist())


def _alike(view: GraphView, anchor: int) -> list[int]:
    near = view.adjacent(anchor, ALIKE).numbers.tolist()
    return near if view.nodes.node_type(anchor) is DISEASE else []


def _moved(view: GraphView, number: int, way: Edges) -> set[int]:
    return {n for n in view.adjacent(number, way, "out").numbers.tolist() if view.nodes.node_type(n) is GENE}


def _same_way(view: GraphView, drug: int, disease: int) -> Iterator[Contradiction]:
    for way, (noun, verb, undoing, _) in _WORDS.items():
        for gene in sorted(_moved(view, drug, way) & _moved(view, disease, way)):
            d, c, g = (view.nodes.node(number).name for number in (disease, drug, gene))
            yield Contradiction(
                nodes=(gene, disease, drug),
                text=f"The {noun} of {g} in {d} is a defence and not a cause: {c}, which treats {d}, {verb} {g} too.",
                why=f"If the {noun} of {g} drove {d}, a treatment would not be expected to add to it.",
                prediction=f"{undoing} {g} in a model of {d} makes the disease worse and weakens {c}.",
                contradicted=f"{undoing} {g} makes the disease milder, or changes neither it nor the effect of {c}.",
                experiment=f"{undoing} {g} in a model of {d}, with and without {c}; measure disease activity in all "
                "groups, blinded.",
                ways=(
                    PatternWay(BridgePattern("moved alike", (DRUG, GENE, DISEASE), (way, way), 0.3, ""),
                               (drug, gene, disease)),
                    PatternWay(BridgePattern("treats", (DRUG, DISEASE), (TREATS,), _BESIDE, ""), (drug, disease)),
                ),
            )  # fmt: skip


def _opposite_ways(view: GraphView, disease: int, other: int) -> Iterator[Contradiction]:
    for way, against in ((UP, DOWN), (DOWN, UP)):
        for gene in sorted(_moved(view, disease, way) & _moved(view, other, against)):
            d, o, g = (view.nodes.node(number).name for number in (disease, other, gene))
            one, two = _WORDS[way][3], _WORDS[against][3]
            yield Contradiction(
                nodes=(gene, disease, other),
                text=f"{g} tells {d} from {o}, which resembles it: it is {one} in the one and {two} in the other, "
                "because they use it for opposite ends.",
                why="Diseases that resemble each other would be expected to move a gene the same way.",
                prediction=f"{g} measured side by side is {one} in {d} and {two} in {o}, against the same controls.",
                contradicted=f"Measured side by side, {g} moves the same way in both, or in one of them not at all.",
                experiment=f"Measure {g} in one tissue of patients with {d}, with {o} and of controls, in one batch.",
                ways=(
                    PatternWay(BridgePattern("moved apart", (DISEASE, GENE, DISEASE), (way, against), 0.3, ""),
                               (disease, gene, other)),
                    PatternWay(BridgePattern("alike", (DISEASE, DISEASE), (ALIKE,), _BESIDE, ""), (disease, other)),
                ),
            )  # fmt: skip
