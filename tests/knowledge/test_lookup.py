"""Exact lookup for imports: right node or none."""

from __future__ import annotations

import gc
import weakref

import pytest

from engine.domain.knowledge import Node, NodeType
from engine.knowledge.graph.twin import GraphTwin
from engine.knowledge.lookup import EntityLookup

NODES = [
    Node(id="Gene::1956", type=NodeType.GENE, name="EGFR", aliases=["ERBB1"], xrefs=["ENSEMBL:ENSG00000146648"]),
    Node(id="Gene::1", type=NodeType.GENE, name="GENE1", aliases=["P1"]),
    Node(id="Gene::2", type=NodeType.GENE, name="GENE2", aliases=["P1", "EGFR"]),
    Node(id="Disease::DOID:1", type=NodeType.DISEASE, name="pain", xrefs=["UMLS:C0030193"]),
    Node(id="Symptom::D1", type=NodeType.SYMPTOM, name="pain", xrefs=["UMLS:C0030193"]),
]


@pytest.fixture(scope="module")
def resolve():
    return EntityLookup(GraphTwin(NODES, []).nodes)


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


def gene(node_id: str, name: str, *aliases: str, xrefs: tuple[str, ...] = ()) -> Node:
    return Node(id=node_id, type=NodeType.GENE, name=name, aliases=list(aliases), xrefs=list(xrefs))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    ("ids", "text", "found"),
    [
        (["symbol:EGFR", "Gene::1956"], "EGFR", "Gene::1956"),
        (["symbol:EGFR", "ENSEMBL:ENSG00000146648"], "EGFR", "ENSEMBL:ENSG00000146648"),
        (["symbol:mouse:Egfr", "symbol:EGFR"], "EGFR", "symbol:EGFR"),
        (["symbol:mouse:Egfr"], "EGFR", "symbol:mouse:Egfr"),
        (["Gene::1", "Gene::2"], "EGFR", None),
        (["Gene::1", "Gene::2", "symbol:EGFR"], "EGFR", None),
    ],
)
def test_of_several_nodes_of_one_name_the_surest_or_none(ids, text, found, reverse):
    nodes = [gene(node_id, "Egfr" if "mouse" in node_id else "EGFR") for node_id in ids]
    assert EntityLookup(GraphTwin(nodes[::-1] if reverse else nodes, []).nodes)(text, NodeType.GENE) == found


@pytest.mark.parametrize("reverse", [False, True])
def test_a_name_in_other_capitals_gives_way_to_the_same(reverse):
    nodes = [gene("Gene::1", "Ofcc1"), gene("Gene::2", "OFCC1")]
    resolve = EntityLookup(GraphTwin(nodes[::-1] if reverse else nodes, []).nodes)
    assert resolve("OFCC1", NodeType.GENE) == "Gene::2"
    assert resolve("Ofcc1", NodeType.GENE) == "Gene::1"
    assert resolve("ofcc1", NodeType.GENE) is None


@pytest.mark.parametrize("reverse", [False, True])
def test_an_identifier_is_the_entrez_genes_rather_than_its_own_nodes(reverse):
    known = "ENSEMBL:ENSG00000146648"
    nodes = [gene(known, "ENSG00000146648", xrefs=(known,)), gene("Gene::1956", "EGFR", xrefs=(known,))]
    assert EntityLookup(GraphTwin(nodes[::-1] if reverse else nodes, []).nodes)(known, NodeType.GENE) == "Gene::1956"


def test_hidden_nodes_are_not_found():
    nodes = [gene("symbol:EGFR", "EGFR", "HER1"), gene("Gene::7157", "TP53")]
    resolve = EntityLookup(GraphTwin(nodes, []).nodes, without=["symbol:EGFR"])
    assert [resolve(text, NodeType.GENE) for text in ("EGFR", "HER1", "symbol:EGFR", "TP53")] == [None] * 3 + [
        "Gene::7157"
    ]


def test_the_view_is_not_kept():
    view = GraphTwin(NODES, [])
    kept = weakref.ref(view)
    resolve = EntityLookup(view.nodes)
    del view
    gc.collect()
    assert kept() is None
    assert resolve("EGFR", NodeType.GENE) == "Gene::1956"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("EGFR", "Gene::1956"),
        (" egfr ", "Gene::1956"),
        ("1956", "Gene::1956"),
        ("7157", "HGNC:11998"),
        ("2024", None),
        ("ENSG00000146648", "Gene::1956"),
        ("ENSG00000146648.18", "Gene::1956"),
        ("P04637", "HGNC:11998"),
        ("NOTAGENE", None),
    ],
)
def test_a_gene_is_found_by_any_identifier(text, found):
    nodes = [
        gene("Gene::1956", "EGFR", xrefs=("ENSEMBL:ENSG00000146648",)),
        gene("HGNC:11998", "TP53", "2024", xrefs=("ENTREZ:7157", "UNIPROT:P04637")),
    ]
    assert EntityLookup(GraphTwin(nodes, []).nodes).gene(text) == found
