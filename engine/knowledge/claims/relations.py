"""Which relations there can be between entities of two types, and which edges of a graph state the same as each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.domain.knowledge import EdgeType, Mention, Node, NodeType

_FAMILIES: dict[NodeType, str] = {
    NodeType(name): kind
    for kind, names in (
        ("gene", "gene protein"),
        ("drug", "drug drug_class exposure"),
        ("disease", "disease"),
        ("place", "anatomy cell_type"),
        ("sign", "symptom phenotype side_effect"),
        ("process", "pathway go_term"),
    )
    for name in names.split()
}
_POSSIBLE: dict[tuple[str, str], str] = {
    ("drug", "gene"): "binds targets inhibits activates upregulates downregulates",
    ("gene", "drug"): "inhibits activates treats",
    ("gene", "gene"): "interacts_with covaries_with regulates inhibits activates encodes",
    ("drug", "disease"): "treats palliates contraindicated_for causes",
    ("drug", "sign"): "causes palliates treats",
    ("drug", "drug"): "resembles includes",
    ("drug", "process"): "activates inhibits targets regulates involved_in",
    ("gene", "disease"): "associated_with treats",
    ("disease", "gene"): "upregulates downregulates",
    ("disease", "sign"): "presents",
    ("disease", "place"): "located_in",
    ("disease", "disease"): "resembles subclass_of",
    ("disease", "process"): "associated_with activates inhibits regulates involved_in",
    ("gene", "place"): "expressed_in absent_in marker_of",
    ("place", "gene"): "upregulates downregulates",
    ("gene", "sign"): "associated_with",
    ("gene", "process"): "involved_in has_function located_in",
    ("place", "place"): "part_of",
    ("process", "process"): "part_of subclass_of",
}
RELATIONS: tuple[EdgeType, ...] = tuple(
    dict.fromkeys(EdgeType(name) for names in _POSSIBLE.values() for name in names.split())
)
"""What a sentence can be found to state; the position of a relation is its column in the model."""
OPPOSITE = {EdgeType.ACTIVATES: EdgeType.INHIBITS, EdgeType.INHIBITS: EdgeType.ACTIVATES}
"""What a gene does whose loss does the other."""
COLUMN: dict[EdgeType, int] = {kind: column for column, kind in enumerate(RELATIONS)}


def family(kind: NodeType) -> str:
    """Return the name of the types that stand in the same relations, "" for a type that stands in none."""
    return _FAMILIES.get(kind, "")


def possible(subject: NodeType, object_: NodeType) -> tuple[EdgeType, ...]:
    """Return the relations that an entity of one type can have to one of another."""
    kinds = map(EdgeType, _POSSIBLE.get((family(subject), family(object_)), "").split())
    never = {EdgeType.ENCODES} if object_ is not NodeType.PROTEIN else set()
    never |= {EdgeType.INCLUDES} if subject is not NodeType.DRUG_CLASS else set()
    return tuple(kind for kind in kinds if kind not in never)


def told_possible() -> str:
    """Return what can be related how, one line for each two kinds of entity."""
    return "\n".join(f"{one} to {other}: {names.replace(' ', ', ')}" for (one, other), names in _POSSIBLE.items())


def kinds_of(mention: Mention) -> list[NodeType]:
    """Return the types a mention may be of, likeliest first."""
    return list(dict.fromkeys(node.type for node in (mention.node, *mention.alternatives)))


def options_for(mention: Mention, kind: NodeType) -> tuple[Node, ...]:
    """Return the namesakes of a type, then those of types that stand in the same relations."""
    nodes = (mention.node, *mention.alternatives)
    alike = [n for n in nodes if n.type is not kind and family(n.type) == family(kind)]
    return (*(n for n in nodes if n.type is kind), *alike)


@dataclass(frozen=True, slots=True)
class Sense:
    """A relation as a sentence states it."""

    type: EdgeType
    accepts: tuple[EdgeType, ...] = ()
    """Further types of edge that state the same."""
    any_change: bool = False
    """True when a denial is of any change (`leaves X unchanged`), so that `type` and `accepts` are all denied."""

    @property
    def directed(self) -> bool:
        """Whether an edge of the same type the other way round says something else."""
        return self.type in {EdgeType.REGULATES, EdgeType.ACTIVATES, EdgeType.INHIBITS}


_ACCEPTS: dict[tuple[EdgeType, str], str] = {
    (EdgeType.BINDS, "gene"): "targets inhibits activates interacts_with",
    (EdgeType.TARGETS, "gene"): "binds inhibits activates interacts_with",
    (EdgeType.REGULATES, "gene"): "activates inhibits upregulates downregulates",
    (EdgeType.EXPRESSED_IN, "place"): "upregulates marker_of",
    (EdgeType.MARKER_OF, "place"): "expressed_in upregulates",
    (EdgeType.ASSOCIATED_WITH, "disease"): "marker_of",
    (EdgeType.INVOLVED_IN, "process"): "has_function located_in part_of",
    (EdgeType.RELATED_TO, "process"): "targets regulates involved_in associated_with",
    (EdgeType.INCLUDES, "drug"): "subclass_of",
    (EdgeType.PART_OF, "process"): "subclass_of",
    (EdgeType.SUBCLASS_OF, "process"): "part_of",
    (EdgeType.PALLIATES, "sign"): "treats",
    (EdgeType.TREATS, "sign"): "palliates",
}
"""(Relation, family of the object) -> further types of edge that state the same."""


_BOTH = ({EdgeType.INHIBITS, EdgeType.DOWNREGULATES}, {EdgeType.ACTIVATES, EdgeType.UPREGULATES})
"""Relations that the same words may mean: of a protein's activity, of a gene's expression."""
_CHANGES = (EdgeType.UPREGULATES, EdgeType.DOWNREGULATES)


def sense_of(
    kind: EdgeType, subject: NodeType, object_: NodeType, also: Sequence[EdgeType] = (), *, any_change: bool = False
) -> Sense:
    """Return what a relation means between two types; `also` is what the words may mean besides."""
    if any_change and kind in _CHANGES:
        return Sense(kind, tuple(k for k in _CHANGES if k is not kind), any_change=True)
    also = [k for k in also if any({k, kind} <= both for both in _BOTH)]
    ends = (family(subject), family(object_))
    if ends == ("gene", "process"):
        kind, also = EdgeType.INVOLVED_IN, []
    elif ends[1] == "process" and ends[0] != "process":
        kind, also = EdgeType.RELATED_TO, []
    if ends == ("gene", "gene") and kind in {EdgeType.ACTIVATES, EdgeType.INHIBITS}:
        also = [EdgeType.UPREGULATES if kind is EdgeType.ACTIVATES else EdgeType.DOWNREGULATES]
    accepts = [EdgeType(name) for name in _ACCEPTS.get((kind, ends[1]), "").split()]
    return Sense(kind, tuple(k for k in dict.fromkeys((*accepts, *also)) if k is not kind))
