"""The kinds of indirect path that a biologist accepts for each kind of claim.

After the metapaths of Himmelstein et al. 2017 (eLife 6:e26726) that carry meaning for a claim. None passes through an
anatomy, a side effect or a symptom.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.domain.knowledge import EdgeType, NodeType

SMALL_PATHWAY = 30
"""Genes of a pathway that still says something about each of its members."""
_TARGET = frozenset({EdgeType.BINDS, EdgeType.TARGETS, EdgeType.INHIBITS, EdgeType.ACTIVATES})
_ASSOCIATED = frozenset({EdgeType.ASSOCIATED_WITH})
_UP, _DOWN = frozenset({EdgeType.UPREGULATES}), frozenset({EdgeType.DOWNREGULATES})
_ALIKE = frozenset({EdgeType.RESEMBLES})
_TREATS = frozenset({EdgeType.TREATS})
_HELPS = frozenset({EdgeType.TREATS, EdgeType.PALLIATES})
_MEMBER = frozenset({EdgeType.INCLUDES})
_PARTNER = frozenset({EdgeType.INTERACTS_WITH})
_ROLE = frozenset({EdgeType.INVOLVED_IN, EdgeType.HAS_FUNCTION, EdgeType.LOCATED_IN})
_INVOLVED = frozenset({EdgeType.INVOLVED_IN})
_REGULATES = frozenset({EdgeType.REGULATES})
_COVARIES = frozenset({EdgeType.COVARIES_WITH})
_CAUSES = frozenset({EdgeType.CAUSES})
_GENE, _DRUG, _DISEASE = NodeType.GENE, NodeType.DRUG, NodeType.DISEASE


@dataclass(frozen=True, slots=True)
class Metapath:
    """A kind of path from a claim's subject to its object; `steps` are the edges, `through` the nodes between them."""

    name: str
    steps: tuple[frozenset[EdgeType], ...]
    through: tuple[NodeType, ...]
    says: str
    """Why it speaks for the claim, with {s}, {o} and {n}."""
    small: int = 0
    """Largest number of links the first node between may have on its second edge; 0 for any."""
    strict: bool = False
    """True when even many ways round count only if chance does not explain them."""
    sign: EdgeType | None = None
    """The sign of the claim: the last edge may be of this type or of none, but not of the opposite type."""


def _via(name: str, first: frozenset[EdgeType], middle: NodeType, second: frozenset[EdgeType], says: str) -> Metapath:
    return Metapath(name, (first, second), (middle,), says)


_CLASSMATES = (_MEMBER, _MEMBER)
_DRUG_DISEASE = (
    _via("target-disease", _TARGET, _GENE, _ASSOCIATED, "{n} genes that {s} binds are associated with {o}"),
    _via("similar-drug-disease", _ALIKE, _DRUG, _HELPS, "{n} drugs that resemble {s} treat {o}"),
    _via("drug-similar-disease", _TREATS, _DISEASE, _ALIKE, "{s} treats {n} diseases that resemble {o}"),
    Metapath("class-member-disease", (*_CLASSMATES, _HELPS), (NodeType.DRUG_CLASS, _DRUG),
             "{n} other members of a class of {s} treat {o}", small=40),
    Metapath("target-interactor-disease", (_TARGET, _PARTNER, _ASSOCIATED), (_GENE, _GENE),
             "genes that {s} binds interact with genes associated with {o}, in {n} ways", strict=True),
)  # fmt: skip
METAPATHS: dict[tuple[EdgeType, NodeType, NodeType], tuple[Metapath, ...]] = {
    (EdgeType.TREATS, _DRUG, _DISEASE): _DRUG_DISEASE,
    (EdgeType.PALLIATES, _DRUG, _DISEASE): _DRUG_DISEASE,
    (EdgeType.TREATS, NodeType.DRUG_CLASS, _DISEASE): (
        _via("class-disease", _MEMBER, _DRUG, _HELPS, "{n} drugs of the class {s} treat {o}"),
    ),
    (EdgeType.BINDS, NodeType.DRUG_CLASS, _GENE): (
        _via("class-target", _MEMBER, _DRUG, _TARGET, "{n} drugs of the class {s} bind {o}"),
    ),
    (EdgeType.BINDS, _DRUG, _GENE): (
        _via("similar-drug-target", _ALIKE, _DRUG, _TARGET, "{n} drugs that resemble {s} bind {o}"),
        Metapath("class-member-target", (*_CLASSMATES, _TARGET), (NodeType.DRUG_CLASS, _DRUG),
                 "{n} other members of a class of {s} bind {o}", small=40),
    ),
    (EdgeType.UPREGULATES, _DRUG, _GENE): (
        _via("similar-drug-expression", _ALIKE, _DRUG, _UP, "{n} drugs that resemble {s} raise {o}"),
    ),
    (EdgeType.DOWNREGULATES, _DRUG, _GENE): (
        _via("similar-drug-expression", _ALIKE, _DRUG, _DOWN, "{n} drugs that resemble {s} lower {o}"),
    ),
    (EdgeType.UPREGULATES, NodeType.DRUG_CLASS, _GENE): (
        _via("class-expression", _MEMBER, _DRUG, _UP, "{n} drugs of the class {s} raise {o}"),
    ),
    (EdgeType.DOWNREGULATES, NodeType.DRUG_CLASS, _GENE): (
        _via("class-expression", _MEMBER, _DRUG, _DOWN, "{n} drugs of the class {s} lower {o}"),
    ),
    (EdgeType.UPREGULATES, _DISEASE, _GENE): (
        _via("similar-disease-expression", _ALIKE, _DISEASE, _UP, "{o} is raised in {n} diseases that resemble {s}"),
    ),
    (EdgeType.DOWNREGULATES, _DISEASE, _GENE): (
        _via("similar-disease-expression", _ALIKE, _DISEASE, _DOWN, "{o} is lowered in {n} diseases that resemble {s}"),
    ),
    (EdgeType.ASSOCIATED_WITH, _GENE, _DISEASE): (
        _via("gene-interactor-disease", _PARTNER, _GENE, _ASSOCIATED, "{n} interactors of {s} are associated with {o}"),
        Metapath("gene-pathway-disease", (_INVOLVED, _INVOLVED, _ASSOCIATED), (NodeType.PATHWAY, _GENE),
                 "{s} shares a small pathway with genes associated with {o}, in {n} ways", small=SMALL_PATHWAY),
        _via("gene-similar-disease", _ASSOCIATED, _DISEASE, _ALIKE,
             "{s} is associated with {n} diseases that resemble {o}"),
        _via("target-of-treatment", _TARGET, _DRUG, _TREATS, "{n} drugs that treat {o} bind {s}"),
        _via("gene-regulation-disease", _REGULATES, _GENE, _ASSOCIATED,
             "{n} genes that regulate {s} or that it regulates are associated with {o}"),
    ),
    (EdgeType.INTERACTS_WITH, _GENE, _GENE): (
        _via("shared-interactor", _PARTNER, _GENE, _PARTNER, "{s} and {o} share {n} interactors"),
        Metapath("shared-pathway", (_INVOLVED, _INVOLVED), (NodeType.PATHWAY,), "{s} and {o} share {n} small pathways",
                 small=SMALL_PATHWAY),
    ),
    (EdgeType.COVARIES_WITH, _GENE, _GENE): (
        _via("shared-covariation", _COVARIES, _GENE, _COVARIES, "{n} genes covary with both {s} and {o}"),
        _via("shared-regulation", _REGULATES, _GENE, _REGULATES, "{n} genes are in regulation with both {s} and {o}"),
    ),
    (EdgeType.REGULATES, _GENE, _GENE): (
        _via("regulation-chain", _REGULATES, _GENE, _REGULATES, "{n} genes stand between {s} and {o} in regulation"),
    ),
    (EdgeType.RESEMBLES, _DRUG, _DRUG): (
        _via("shared-target", _TARGET, _GENE, _TARGET, "{s} and {o} bind {n} genes in common"),
        _via("shared-analogue", _ALIKE, _DRUG, _ALIKE, "{n} drugs resemble both {s} and {o}"),
        _via("shared-class", _MEMBER, NodeType.DRUG_CLASS, _MEMBER, "{s} and {o} are in {n} classes together"),
    ),
    (EdgeType.RESEMBLES, _DISEASE, _DISEASE): (
        _via("shared-gene", _ASSOCIATED, _GENE, _ASSOCIATED, "{n} genes are associated with both {s} and {o}"),
        _via("shared-likeness", _ALIKE, _DISEASE, _ALIKE, "{n} diseases resemble both {s} and {o}"),
        _via("shared-treatment", _TREATS, _DRUG, _TREATS, "{n} drugs treat both {s} and {o}"),
    ),
    (EdgeType.CAUSES, _DRUG, NodeType.SIDE_EFFECT): (
        _via("similar-drug-side-effect", _ALIKE, _DRUG, _CAUSES, "{n} drugs that resemble {s} cause {o}"),
    ),
    (EdgeType.CAUSES, NodeType.DRUG_CLASS, NodeType.SIDE_EFFECT): (
        _via("class-side-effect", _MEMBER, _DRUG, _CAUSES, "{n} drugs of the class {s} cause {o}"),
    ),
    (EdgeType.PRESENTS, _DISEASE, NodeType.SYMPTOM): (
        _via("similar-disease-symptom", _ALIKE, _DISEASE, frozenset({EdgeType.PRESENTS}),
             "{n} diseases that resemble {s} present {o}"),
    ),
    (EdgeType.LOCATED_IN, _DISEASE, NodeType.ANATOMY): (
        _via("similar-disease-location", _ALIKE, _DISEASE, frozenset({EdgeType.LOCATED_IN}),
             "{n} diseases that resemble {s} are located in {o}"),
    ),
    (EdgeType.INCLUDES, NodeType.DRUG_CLASS, _DRUG): (
        _via("class-similar-drug", _MEMBER, _DRUG, _ALIKE, "{n} members of the class {s} resemble {o}"),
    ),
    (EdgeType.INVOLVED_IN, _GENE, NodeType.PATHWAY): (
        _via("interactor-pathway", _PARTNER, _GENE, _ROLE, "{n} interactors of {s} belong to {o}"),
    ),
    (EdgeType.INVOLVED_IN, _GENE, NodeType.GO_TERM): (
        _via("interactor-function", _PARTNER, _GENE, _ROLE, "{n} interactors of {s} are annotated with {o}"),
    ),
    (EdgeType.RELATED_TO, _DRUG, NodeType.PATHWAY): (
        _via("drug-pathway", _TARGET, _GENE, _ROLE, "{s} binds {n} genes of {o}"),
    ),
    (EdgeType.RELATED_TO, _DRUG, NodeType.GO_TERM): (
        _via("drug-process", _TARGET, _GENE, _ROLE, "{s} binds {n} genes of {o}"),
    ),
    (EdgeType.RELATED_TO, NodeType.DRUG_CLASS, NodeType.PATHWAY): (
        Metapath("class-target-pathway", (_MEMBER, _TARGET, _ROLE), (_DRUG, _GENE),
                 "drugs of the class {s} bind genes of {o}, in {n} ways"),
    ),
    (EdgeType.RELATED_TO, _DISEASE, NodeType.PATHWAY): (
        _via("disease-gene-pathway", _ASSOCIATED, _GENE, _ROLE, "{n} genes associated with {s} belong to {o}"),
    ),
    (EdgeType.RELATED_TO, _DISEASE, NodeType.GO_TERM): (
        _via("disease-gene-process", _ASSOCIATED, _GENE, _ROLE, "{n} genes associated with {s} belong to {o}"),
    ),
}  # fmt: skip
"""Claim (edge type, subject's type, object's type) -> what speaks for it indirectly. Proteins count as genes."""
REVERSAL = (
    _via("signature-reversal", _UP, _GENE, _DOWN, "{s} raises or lowers {n} genes that {o} moves the other way"),
    _via("signature-reversal", _DOWN, _GENE, _UP, "{s} raises or lowers {n} genes that {o} moves the other way"),
)
SAME_AS: dict[EdgeType, EdgeType] = {
    EdgeType.TARGETS: EdgeType.BINDS,
    EdgeType.ACTIVATES: EdgeType.REGULATES,
    EdgeType.INHIBITS: EdgeType.REGULATES,
    EdgeType.HAS_FUNCTION: EdgeType.INVOLVED_IN,
    EdgeType.PART_OF: EdgeType.INVOLVED_IN,
}
