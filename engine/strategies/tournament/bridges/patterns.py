"""Kinds of path that make an unstated link worth a hypothesis, and what each of them would mean.

A pattern is a sequence of node types joined by edge types, after the metapaths of Himmelstein et al. 2017 (eLife
6:e26726) and Swanson's bridges (A with B, B with C, nothing known of A with C; Perspect Biol Med 30:7, 1986). None
passes through an anatomy or a side effect: that two things share one of these says next to nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.domain.knowledge import EdgeType, NodeType

Edges = frozenset[EdgeType]

DRUG, GENE, DISEASE, PATHWAY = NodeType.DRUG, NodeType.GENE, NodeType.DISEASE, NodeType.PATHWAY
TERM, CELL, CLASS, SYMPTOM = NodeType.GO_TERM, NodeType.CELL_TYPE, NodeType.DRUG_CLASS, NodeType.SYMPTOM
TARGET = frozenset({EdgeType.BINDS, EdgeType.TARGETS, EdgeType.INHIBITS, EdgeType.ACTIVATES})
ASSOCIATED = frozenset({EdgeType.ASSOCIATED_WITH})
TREATS = frozenset({EdgeType.TREATS})
ALIKE = frozenset({EdgeType.RESEMBLES})
PARTNER = frozenset({EdgeType.INTERACTS_WITH})
REGULATES = frozenset({EdgeType.REGULATES, EdgeType.ACTIVATES, EdgeType.INHIBITS})
INVOLVED = frozenset({EdgeType.INVOLVED_IN})
MEMBER = frozenset({EdgeType.INCLUDES})
UP, DOWN = frozenset({EdgeType.UPREGULATES}), frozenset({EdgeType.DOWNREGULATES})
EITHER = UP | DOWN
COVARIES = frozenset({EdgeType.COVARIES_WITH})
PRESENTS = frozenset({EdgeType.PRESENTS})
MARKS = frozenset({EdgeType.MARKER_OF})
CAUSES = frozenset({EdgeType.CAUSES})
REVERSAL = "reversal"
"""Begins the names of the patterns in which a drug moves a gene against a disease."""


@dataclass(frozen=True, slots=True)
class BridgePattern:
    """A kind of path from what a hypothesis speaks of to what it says something about."""

    name: str
    nodes: tuple[NodeType, ...]
    edges: tuple[Edges, ...]
    weight: float
    """What one very specific path of this kind is worth, 0 to 1. A judgement, in the order in which such paths told
    treatments from chance in Himmelstein et al. 2017."""
    means: str
    """The mechanism, with {s}, {o} and {v}, the first entity between them (and {w}, the last)."""

    @property
    def ends(self) -> tuple[NodeType, NodeType]:
        """Types of what it leads from and to."""
        return self.nodes[0], self.nodes[-1]

    def turned(self) -> BridgePattern:
        """Return the same kind of path walked from its other end."""
        return BridgePattern(self.name, self.nodes[::-1], self.edges[::-1], self.weight, self.means)


@dataclass(frozen=True, slots=True)
class LinkKind:
    """What a hypothesis on two entities of some types claims, and how it could be wrong; {s} and {o} as above.

    {v} is a gene between them; of `[one|other]` the second is said where there is none.
    """

    claim: str
    relation: EdgeType
    """What it asserts as an edge."""
    known: Edges
    """Edges that say so already: the hypothesis would be trivial."""
    prediction: str
    contradicted: str
    experiment: str

    @property
    def claims(self) -> Edges:
        """Edges that say what it claims; `known` has for a drug also those that say it does harm."""
        return self.known - {EdgeType.CONTRAINDICATED_FOR, EdgeType.CAUSES} if self.relation in TREATS else self.known


_MODEL_TEST = (
    "Randomise a cell or animal model of {o} to {s} or vehicle, blinded, at concentrations reached in people, and "
    "measure disease activity[, and {v}; repeat with {v} taken out: the effect must then go|]."
)
_EXPRESSION_TEST = (
    "Measure {s} in affected tissue of patients with {o} and of controls, then lower and raise it in a cell model of "
    "{o}, with a rescue, and measure what the disease changes there."
)
KINDS: dict[tuple[NodeType, NodeType], LinkKind] = {
    (DRUG, DISEASE): LinkKind(
        "{s} could be of use against {o}",
        EdgeType.TREATS,
        TREATS | {EdgeType.PALLIATES, EdgeType.CONTRAINDICATED_FOR, EdgeType.CAUSES},
        "In a model of {o}, disease activity is lower with {s} than with vehicle[, and the effect needs {v}|].",
        "Disease activity with {s} is not lower than with vehicle[, or it is just as low without {v}|].",
        _MODEL_TEST,
    ),
    (GENE, DISEASE): LinkKind(
        "{s} takes part in {o}",
        EdgeType.ASSOCIATED_WITH,
        ASSOCIATED | CAUSES | MARKS,
        "The expression of {s} differs between patients with {o} and controls, and changing it in a cell model of {o} "
        "changes what the disease does there.",
        "{s} is expressed alike in patients with {o} and controls, and changing it changes nothing.",
        _EXPRESSION_TEST,
    ),
    (DISEASE, DISEASE): LinkKind(
        "{s} and {o} share a cause",
        EdgeType.RESEMBLES,
        ALIKE,
        "[{v} is changed more in patients who have both {s} and {o} than in those who have one of them, and more in "
        "these than in controls.|People with {s} have {o} more often than others of their age and sex.]",
        "[{v} is changed no more in patients who have both than in those who have one.|People with {s} do not have "
        "{o} more often than others of their age and sex.]",
        "Compare patients with {s} alone, with {o} alone, with both and with neither, matched for age and sex["
        ": measure {v} and test whether it explains the excess of those with both|, and count who comes to have the "
        "other].",
    ),
    (DRUG, GENE): LinkKind(
        "{s} acts on {o}",
        EdgeType.TARGETS,
        TARGET | EITHER,
        "The activity of {o} changes with the dose of {s}.",
        "The activity of {o} is the same at all doses of {s} that cells survive.",
        "Measure binding and activity of {o} over eight doses of {s}[, with {v} as the control that must respond|].",
    ),
    (GENE, PATHWAY): LinkKind(
        "{s} takes part in {o}",
        EdgeType.INVOLVED_IN,
        INVOLVED,
        "Loss of {s} changes the output of {o}.",
        "The output of {o} is the same without {s}.",
        "Knock {s} down in cells in which {o} can be stimulated; measure its output with a reporter, with a rescue.",
    ),
    (GENE, GENE): LinkKind(
        "{s} and {o} work together",
        EdgeType.INTERACTS_WITH,
        PARTNER | REGULATES | COVARIES,
        "Loss of {s} changes the activity of {o}.",
        "The activity of {o} is the same without {s}.",
        "Knock {s} and {o} down alone and together; an interaction beyond the sum, and co-precipitation, must be seen.",
    ),
    (DISEASE, SYMPTOM): LinkKind(
        "{o} belongs to {s}",
        EdgeType.PRESENTS,
        PRESENTS,
        "{o} is more frequent in patients with {s} than in matched controls.",
        "{o} is no more frequent in patients with {s} than in matched controls.",
        "Compare how often {o} is recorded before and after the diagnosis of {s} with matched controls.",
    ),
    (GENE, CELL): LinkKind(
        "{s} matters in {o}",
        EdgeType.EXPRESSED_IN,
        MARKS | {EdgeType.EXPRESSED_IN},
        "{s} is expressed more in {o} than in neighbouring cell types.",
        "{s} is expressed no more in {o} than elsewhere.",
        "Measure {s} in single cells of a tissue that holds {o}; take it out in sorted {o} and measure their function.",
    ),
}
KINDS[GENE, TERM] = KINDS[GENE, PATHWAY]


def _bridge(name: str, weight: float, means: str, *parts: NodeType | Edges) -> BridgePattern:
    nodes = tuple(part for part in parts if isinstance(part, NodeType))
    edges = tuple(part for part in parts if not isinstance(part, NodeType))
    return BridgePattern(name, nodes, edges, weight, means)


PATTERNS: tuple[BridgePattern, ...] = (
    _bridge("target of the disease", 0.8, "{s} would change what {v} does there",
            DRUG, TARGET, GENE, ASSOCIATED, DISEASE),
    _bridge("similar drug", 0.7, "{s} would act as {v} does, to which it is chemically similar",
            DRUG, ALIKE, DRUG, TREATS, DISEASE),
    _bridge("similar disease", 0.7, "what {s} does in {v} it would do in {o}, which resembles it",
            DRUG, TREATS, DISEASE, ALIKE, DISEASE),
    _bridge("same class", 0.6, "{s} would act as other drugs of the class {v} do",
            DRUG, MEMBER, CLASS, MEMBER, DRUG, TREATS, DISEASE),
    _bridge("same target as a treatment", 0.8, "{s} would act through {v}, as {w} does there",
            DRUG, TARGET, GENE, TARGET, DRUG, TREATS, DISEASE),
    _bridge("partner of a disease gene", 0.5, "{s} would act through {v}, a partner of {w}",
            DRUG, TARGET, GENE, PARTNER, GENE, ASSOCIATED, DISEASE),
    _bridge(f"{REVERSAL}: lowers what is raised", 0.3, "{s} would bring {v} down, which {o} raises",
            DRUG, DOWN, GENE, UP, DISEASE),
    _bridge(f"{REVERSAL}: raises what is lowered", 0.3, "{s} would bring {v} up, which {o} lowers",
            DRUG, UP, GENE, DOWN, DISEASE),
    _bridge("expression", 0.4, "the change of {s} in {o} would be a part of the disease and not only follow it",
            GENE, EITHER, DISEASE),
    _bridge("interacting gene", 0.6, "{s} would act on {o} through its partner {v}",
            GENE, PARTNER, GENE, ASSOCIATED, DISEASE),
    _bridge("regulation", 0.6, "{s} and {v}, of which one regulates the other, would act on {o} together",
            GENE, REGULATES, GENE, ASSOCIATED, DISEASE),
    _bridge("shared process", 0.5, "{s} would act in {v}, together with {w}",
            GENE, INVOLVED, PATHWAY, INVOLVED, GENE, ASSOCIATED, DISEASE),
    _bridge("gene of a similar disease", 0.5, "{s} would do in {o} what it does in {v}, which resembles it",
            GENE, ASSOCIATED, DISEASE, ALIKE, DISEASE),
    _bridge("target of a treatment", 0.8, "{v} would treat {o} by way of {s}",
            GENE, TARGET, DRUG, TREATS, DISEASE),
    _bridge("shared gene", 0.8, "the same {v} would act in both",
            DISEASE, ASSOCIATED, GENE, ASSOCIATED, DISEASE),
    _bridge("raised in both", 0.5, "a rise of {v} would be a cause or a consequence that both share",
            DISEASE, UP, GENE, UP, DISEASE),
    _bridge("lowered in both", 0.5, "a fall of {v} would be a cause or a consequence that both share",
            DISEASE, DOWN, GENE, DOWN, DISEASE),
    _bridge("interacting genes of both", 0.5, "{v} of the one and {w} of the other would act on each other",
            DISEASE, ASSOCIATED, GENE, PARTNER, GENE, ASSOCIATED, DISEASE),
    _bridge("shared process of both", 0.5, "{s} and {o} would disturb {m}, by different genes",
            DISEASE, ASSOCIATED, GENE, INVOLVED, PATHWAY, INVOLVED, GENE, ASSOCIATED, DISEASE),
    _bridge("shared treatment", 0.4, "that {v} treats both would mean that they share what it acts on",
            DISEASE, TREATS, DRUG, TREATS, DISEASE),
    _bridge("target of a similar drug", 0.7, "{s} would bind {o} as {v} does, to which it is chemically similar",
            DRUG, ALIKE, DRUG, TARGET, GENE),
    _bridge("target of its class", 0.6, "{s} would bind {o} as other members of {v} do",
            DRUG, MEMBER, CLASS, MEMBER, DRUG, TARGET, GENE),
    _bridge("partner in the process", 0.6, "{s} would act in {o} together with its partner {v}",
            GENE, PARTNER, GENE, INVOLVED, PATHWAY),
    _bridge("partner in the process", 0.6, "{s} would act in {o} together with its partner {v}",
            GENE, PARTNER, GENE, INVOLVED, TERM),
    _bridge("regulated process", 0.5, "{s} would act in {o} through {v}",
            GENE, REGULATES, GENE, INVOLVED, TERM),
    _bridge("shared partner", 0.5, "{s} and {o} would meet at {v}",
            GENE, PARTNER, GENE, PARTNER, GENE),
    _bridge("shared drug", 0.4, "that {v} acts on both would mean that they do related work",
            GENE, TARGET, DRUG, TARGET, GENE),
    _bridge("sign of a similar disease", 0.5, "{s} would come with {o} as {v} does, which it resembles",
            DISEASE, ALIKE, DISEASE, PRESENTS, SYMPTOM),
    _bridge("partner of a marker", 0.5, "{s} would act in {o} together with {v}, which marks it",
            GENE, PARTNER, GENE, MARKS, CELL),
)  # fmt: skip


def between(first: NodeType, second: NodeType) -> list[BridgePattern]:
    """Return the patterns from one type to another, those written the other way round turned."""
    found = [pattern for pattern in PATTERNS if pattern.ends == (first, second)]
    if first != second:
        found += [pattern.turned() for pattern in PATTERNS if pattern.ends == (second, first)]
    return found


def proper(first: NodeType, second: NodeType) -> bool:
    """Say whether a claim on these two types names the first as its subject."""
    return (first, second) in KINDS or (second, first) not in KINDS
