"""Words that people use for types of nodes and edges, and what they are here."""

from __future__ import annotations

import re

from engine.domain.knowledge import EdgeType, NodeType

_NODE_WORDS: dict[str, NodeType] = {
    "compound": NodeType.DRUG,
    "chemical": NodeType.DRUG,
    "small_molecule": NodeType.DRUG,
    "disorder": NodeType.DISEASE,
    "biological_process": NodeType.GO_TERM,
    "molecular_function": NodeType.GO_TERM,
    "cellular_component": NodeType.GO_TERM,
    "go": NodeType.GO_TERM,
    "celltype": NodeType.CELL_TYPE,
    "cell": NodeType.CELL_TYPE,
    "tissue": NodeType.ANATOMY,
    "organ": NodeType.ANATOMY,
    "gene_protein": NodeType.GENE,
    "species": NodeType.ORGANISM,
    "taxon": NodeType.ORGANISM,
    "effect_phenotype": NodeType.PHENOTYPE,
    "pharmacologic_class": NodeType.DRUG_CLASS,
    "adverse_event": NodeType.SIDE_EFFECT,
    "article": NodeType.PUBLICATION,
    "paper": NodeType.PUBLICATION,
    "gene_set": NodeType.PATHWAY,
}
_EDGE_WORDS: dict[str, EdgeType] = {
    "is_a": EdgeType.SUBCLASS_OF,
    "isa": EdgeType.SUBCLASS_OF,
    "subclassof": EdgeType.SUBCLASS_OF,
    "interacts": EdgeType.INTERACTS_WITH,
    "ppi": EdgeType.INTERACTS_WITH,
    "physical_interaction": EdgeType.INTERACTS_WITH,
    "regulates_expression_of": EdgeType.REGULATES,
    "activation": EdgeType.ACTIVATES,
    "inhibition": EdgeType.INHIBITS,
    "associates": EdgeType.ASSOCIATED_WITH,
    "treat": EdgeType.TREATS,
    "indication": EdgeType.TREATS,
    "contraindication": EdgeType.CONTRAINDICATED_FOR,
    "target": EdgeType.TARGETS,
    "participates_in": EdgeType.INVOLVED_IN,
    "member_of": EdgeType.PART_OF,
    "has_symptom": EdgeType.PRESENTS,
    "has_phenotype": EdgeType.PRESENTS,
    "marks": EdgeType.MARKER_OF,
    "marker": EdgeType.MARKER_OF,
}
"""Only words of the same direction: `expresses` (anatomy -> gene) is not `expressed_in`."""

_NODE_TYPES: dict[str, NodeType] = {type.value: type for type in NodeType}
_EDGE_TYPES: dict[str, EdgeType] = {type.value: type for type in EdgeType}


def _key(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", text.strip().lower()).strip("_")


def node_type(text: str) -> NodeType | None:
    """Return the node type a word means (`Cell Type`, `Compound`, `genes`), or None."""
    key = _key(text)
    for word in (key, key.removesuffix("s"), key.replace("ies", "y")):
        found = _NODE_TYPES.get(word) or _NODE_WORDS.get(word)
        if found is not None:
            return found
    return None


def edge_type(text: str) -> EdgeType | None:
    """Return the edge type a word means (`Interacts with`, `is_a`), or None."""
    key = _key(text)
    return _EDGE_TYPES.get(key) or _EDGE_WORDS.get(key)
