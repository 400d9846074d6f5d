"""Which entities and which relation the words between two mentions mean, where names have several bearers."""

from __future__ import annotations

from engine.domain.knowledge import EdgeType, Mention, Node, NodeType
from engine.knowledge.claims_predicates import DRUGS, GENES, PLACES, PROCESSES, SIGNS, Sense, classify

Reading = tuple[Sense, float, tuple[Node, ...], tuple[Node, ...]]


def resolve(one: Mention, two: Mention, words: str) -> Reading | None:
    """Return the reading that fits the words and the types of some namesakes best, or None."""
    readings = readings_of(one, two, words)
    return readings[0] if readings else None


def readings_of(one: Mention, two: Mention, words: str) -> list[Reading]:
    """Return the best reading and at most one other that fits nearly as well: sense, score, namesakes of either."""
    found: list[Reading] = []
    for rank_one, kind_one in enumerate(kinds_of(one)):
        for rank_two, kind_two in enumerate(kinds_of(two)):
            sense = classify(words, kind_one, kind_two)
            if sense is None:
                continue
            score = 1.0 + sense.recognised - 0.02 * (rank_one + rank_two)
            pair = {kind_one, kind_two}
            if (sense.type is EdgeType.CAUSES and NodeType.DISEASE in pair) or (pair & GENES and pair & SIGNS):
                score -= 0.3
            if pair & DRUGS and pair & {NodeType.SYMPTOM, NodeType.PHENOTYPE}:
                score -= 0.05
            if sense.type is EdgeType.PALLIATES and pair & SIGNS:
                score -= 0.1  # where a disease has the same name, it is what is treated
            if sense.recognised and pair & DRUGS and NodeType.SIDE_EFFECT in pair and sense.type is EdgeType.CAUSES:
                score += 0.05  # what drugs cause are side effects, even where a symptom has the same name
            found.append((sense, score, options_for(one, kind_one), options_for(two, kind_two)))
    found.sort(key=lambda reading: -reading[1])
    return [reading for reading in found[:2] if reading[1] >= found[0][1] - 0.4]


def kinds_of(mention: Mention) -> list[NodeType]:
    """Return the types a mention may be of, likeliest first."""
    return list(dict.fromkeys(node.type for node in (mention.node, *mention.alternatives)))


_FAMILIES = (GENES, PROCESSES, SIGNS, PLACES)


def options_for(mention: Mention, kind: NodeType) -> tuple[Node, ...]:
    """Return the namesakes of a type, then those of types that stand in the same relations."""
    nodes = (mention.node, *mention.alternatives)
    family = next((f for f in _FAMILIES if kind in f), frozenset({kind}))
    return (*(n for n in nodes if n.type is kind), *(n for n in nodes if n.type is not kind and n.type in family))


def turned(sense: Sense, first: NodeType, second: NodeType) -> bool:
    """Return True when the entity named second is the source of the edge that the statement asserts."""
    if first in GENES and second in GENES:
        return sense.reverse
    if sense.type is EdgeType.TREATS and GENES & {first, second}:
        return first is NodeType.DISEASE or second in DRUGS
    if sense.type in {EdgeType.INHIBITS, EdgeType.ACTIVATES}:
        return (first in GENES) != sense.reverse  # `reverse`: it is the gene that is said to act
    if sense.type in {EdgeType.UPREGULATES, EdgeType.DOWNREGULATES, EdgeType.BINDS}:
        return first in GENES
    if sense.type in {EdgeType.EXPRESSED_IN, EdgeType.ASSOCIATED_WITH, EdgeType.MARKER_OF, EdgeType.INVOLVED_IN}:
        return second in GENES
    if sense.type is EdgeType.INCLUDES:
        return second is NodeType.DRUG_CLASS
    if sense.type in {EdgeType.PRESENTS, EdgeType.LOCATED_IN}:
        return second is NodeType.DISEASE
    return (second in DRUGS and first not in DRUGS) or (second is NodeType.DISEASE and first in PROCESSES)
