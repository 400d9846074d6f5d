"""Exact lookup for imports: right node or none."""

from __future__ import annotations

import pytest

from engine.domain.knowledge import Node, NodeType
from engine.knowledge.memory_graph import MemoryGraph
from engine.knowledge.resolve import Resolver

NODES = [
    Node(id="Gene::1956", type=NodeType.GENE, name="EGFR", aliases=["ERBB1"], xrefs=["ENSEMBL:ENSG00000146648"]),
    Node(id="Gene::1", type=NodeType.GENE, name="GENE1", aliases=["P1"]),
    Node(id="Gene::2", type=NodeType.GENE, name="GENE2", aliases=["P1", "EGFR"]),
    Node(id="Disease::DOID:1", type=NodeType.DISEASE, name="pain", xrefs=["UMLS:C0030193"]),
    Node(id="Symptom::D1", type=NodeType.SYMPTOM, name="pain", xrefs=["UMLS:C0030193"]),
]


@pytest.fixture(scope="module")
def resolve():
    return Resolver(MemoryGraph(NODES, []))


@pytest.mark.parametrize(
    ("text", "kind", "found"),
    [
        ("EGFR", NodeType.GENE, "Gene::1956"),
        ("egfr", NodeType.PROTEIN, "Gene::1956"),
        ("ERBB1", NodeType.GENE, "Gene::1956"),
        ("ENSEMBL:ENSG00000146648", NodeType.GENE, "Gene::1956"),
        ("gene::1956", NodeType.DISEASE, "Gene::1956"),
        ("P1", NodeType.GENE, None),
        ("EGFR", NodeType.DISEASE, None),
        ("pain", NodeType.SYMPTOM, "Symptom::D1"),
        ("UMLS:C0030193", NodeType.SYMPTOM, "Symptom::D1"),
        ("UMLS:C0030193", NodeType.DISEASE, "Disease::DOID:1"),
        ("UMLS:C0030193", NodeType.SIDE_EFFECT, None),
        ("", NodeType.GENE, None),
    ],
)
def test_the_one_node_that_is_meant_or_none(resolve, text, kind, found):
    assert resolve(text, kind) == found
