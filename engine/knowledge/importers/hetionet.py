"""Hetionet: a table of nodes and a SIF of edges, both tab-separated, plain or gzipped.

Himmelstein et al. 2017, eLife 6:e26726 (doi 10.7554/eLife.26726). The canonical edge types and directions its
24 metaedges become are given in `METAEDGES`; the metaedge's abbreviation stays with the edge as its relation.
"""

from __future__ import annotations

from engine.domain.knowledge import EdgeType, NodeType

KINDS: dict[str, NodeType] = {
    "Anatomy": NodeType.ANATOMY,
    "Biological Process": NodeType.GO_TERM,
    "Cellular Component": NodeType.GO_TERM,
    "Compound": NodeType.DRUG,
    "Disease": NodeType.DISEASE,
    "Gene": NodeType.GENE,
    "Molecular Function": NodeType.GO_TERM,
    "Pathway": NodeType.PATHWAY,
    "Pharmacologic Class": NodeType.DRUG_CLASS,
    "Side Effect": NodeType.SIDE_EFFECT,
    "Symptom": NodeType.SYMPTOM,
}

METAEDGES: dict[str, tuple[EdgeType, bool]] = {
    "AdG": (EdgeType.DOWNREGULATES, False),
    "AeG": (EdgeType.EXPRESSED_IN, True),
    "AuG": (EdgeType.UPREGULATES, False),
    "CbG": (EdgeType.BINDS, False),
    "CcSE": (EdgeType.CAUSES, False),
    "CdG": (EdgeType.DOWNREGULATES, False),
    "CpD": (EdgeType.PALLIATES, False),
    "CrC": (EdgeType.RESEMBLES, False),
    "CtD": (EdgeType.TREATS, False),
    "CuG": (EdgeType.UPREGULATES, False),
    "DaG": (EdgeType.ASSOCIATED_WITH, True),
    "DdG": (EdgeType.DOWNREGULATES, False),
    "DlA": (EdgeType.LOCATED_IN, False),
    "DpS": (EdgeType.PRESENTS, False),
    "DrD": (EdgeType.RESEMBLES, False),
    "DuG": (EdgeType.UPREGULATES, False),
    "GcG": (EdgeType.COVARIES_WITH, False),
    "GiG": (EdgeType.INTERACTS_WITH, False),
    "GpBP": (EdgeType.INVOLVED_IN, False),
    "GpCC": (EdgeType.LOCATED_IN, False),
    "GpMF": (EdgeType.HAS_FUNCTION, False),
    "GpPW": (EdgeType.INVOLVED_IN, False),
    "Gr>G": (EdgeType.REGULATES, False),
    "PCiC": (EdgeType.INCLUDES, False),
}
"""Metaedge -> canonical type, and whether source and target change places (anatomy expresses gene: gene
expressed_in anatomy; disease associates gene: gene associated_with disease)."""
