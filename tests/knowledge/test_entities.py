"""What a person types as an entity: ids, identifiers elsewhere and names in any spelling find one node, or none."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.adapters.fakes import FrozenClock
from engine.domain.knowledge import EdgeRows, EdgeType, GraphSource, NodeRows, NodeType
from engine.errors import NotFoundError, UserError
from engine.knowledge.service import KnowledgeBase, open_knowledge
from storage.graph.twin import GraphStoreTwin

NODES = [
    ("Gene::7157", NodeType.GENE, "TP53", ["p53"], ["ENTREZ:7157", "ENSEMBL:ENSG00000141510", "UNIPROT:P04637"]),
    ("Gene::3569", NodeType.GENE, "IL6", ["interleukin 6"], ["ENTREZ:3569"]),
    ("Gene::7124", NodeType.GENE, "TNF", ["TNF-alpha"], ["ENTREZ:7124"]),
    ("Gene::1499", NodeType.GENE, "CTNNB1", ["beta-catenin"], ["ENTREZ:1499"]),
    ("Gene::2064", NodeType.GENE, "ERBB2", ["HER2"], ["ENTREZ:2064"]),
    ("symbol:mouse:Trp53", NodeType.GENE, "Trp53", [], []),
    ("symbol:mouse:Tnf", NodeType.GENE, "Tnf", [], []),
    ("Gene::11", NodeType.GENE, "ONE", ["shared name"], ["ENTREZ:11"]),
    ("Gene::12", NodeType.GENE, "TWO", ["Shared-Name"], ["ENTREZ:12"]),
    ("Compound::DB00619", NodeType.DRUG, "imatinib", ["Gleevec"], ["DRUGBANK:DB00619"]),
    ("Disease::DOID:1612", NodeType.DISEASE, "breast cancer", [], ["DOID:1612"]),
    ("Disease::DOID:10763", NodeType.DISEASE, "hypertension", [], ["DOID:10763"]),
    ("Side Effect::C0020538", NodeType.SIDE_EFFECT, "Hypertension", [], ["UMLS:C0020538"]),
    ("pathway:a", NodeType.PATHWAY, "Apoptosis", [], []),
    ("pathway:b", NodeType.PATHWAY, "Apoptosis", [], []),
    ("Biological Process::GO:0006915", NodeType.GO_TERM, "apoptosis", [], ["GO:0006915"]),
]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    nodes, edges = NodeRows(), EdgeRows()
    for row in NODES:
        nodes.add(*row)
    edges.add("Gene::7157", EdgeType.INVOLVED_IN, "pathway:a")
    store = GraphStoreTwin()
    store.add(GraphSource(id="s", name="s", kind="tables"), [nodes, edges])
    return open_knowledge(store, tmp_path_factory.mktemp("graph"), FrozenClock(), starter_wanted=False)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Gene::7157", "Gene::7157"),
        ("gene::7157", "Gene::7157"),
        ("7157", "Gene::7157"),
        ("ENTREZ:7157", "Gene::7157"),
        ("GeneID:7157", "Gene::7157"),
        ("ENSG00000141510", "Gene::7157"),
        ("ensg00000141510", "Gene::7157"),
        ("ENSG00000141510.18", "Gene::7157"),
        ("ENSEMBL:ENSG00000141510", "Gene::7157"),
        ("P04637", "Gene::7157"),
        ("DB00619", "Compound::DB00619"),
        ("DrugBank:DB00619", "Compound::DB00619"),
        ("DOID:1612", "Disease::DOID:1612"),
        ("doid_1612", "Disease::DOID:1612"),
        ("GO:0006915", "Biological Process::GO:0006915"),
        ("C0020538", "Side Effect::C0020538"),
        ("tp-53", "Gene::7157"),
        ("p53", "Gene::7157"),
        ("IL-6", "Gene::3569"),
        ("il 6", "Gene::3569"),
        ("her-2", "Gene::2064"),
        ("TNFα", "Gene::7124"),
        ("tnf", "Gene::7124"),
        ("Tnf", "Gene::7124"),
        ("trp53", "symbol:mouse:Trp53"),
        ("β-catenin", "Gene::1499"),
        (" gleevec ", "Compound::DB00619"),
        ("Breast  Cancer", "Disease::DOID:1612"),
        ("breast cancers", "Disease::DOID:1612"),
        ("Hypertension", "Disease::DOID:10763"),
        ("apoptosis", "Biological Process::GO:0006915"),
    ],
)
def test_what_is_typed_is_the_one_node_that_is_meant(base: KnowledgeBase, text: str, found: str) -> None:
    assert base.entities.node(text).id == found


@pytest.mark.parametrize(
    ("text", "choices"),
    [
        ("Apoptosis", {"pathway:a", "pathway:b"}),
        ("shared name", {"Gene::11"}),
        ("SHARED NAME", {"Gene::11"}),
        ("sharedname", {"Gene::12"}),
        ("shared_name", {"Gene::11", "Gene::12"}),
    ],
)
def test_several_that_fit_equally_are_named_and_none_is_taken(
    base: KnowledgeBase, text: str, choices: set[str]
) -> None:
    if len(choices) == 1:  # one is written more like it
        assert {base.entities.node(text).id} == choices
        return
    with pytest.raises(NotFoundError, match="can be 2 entities") as told:
        base.entities.node(text)
    assert set(told.value.details["choices"]) == choices
    assert all(choice in told.value.message for choice in choices)
    assert "Give the id" in told.value.advice


@pytest.mark.parametrize("text", ["1612", "GO:0000001", "ENSG00000000001", "nope", "x" * 300_000, "y z " * 100_000])
def test_what_is_not_there_is_told_in_a_short_sentence(base: KnowledgeBase, text: str) -> None:
    with pytest.raises(NotFoundError) as told:
        base.entities.node(text)
    assert len(told.value.message) + len(told.value.advice) < 500
    assert told.value.advice


def test_an_identifier_without_its_prefix_is_searched_too(base: KnowledgeBase) -> None:
    assert [hit.node.id for hit in base.entities.search("ENSG00000141510")] == ["Gene::7157"]
    assert [hit.node.id for hit in base.entities.search("ensg00000141510.3")] == ["Gene::7157"]
    assert base.entities.search("ENSG00000141510", types=[NodeType.DRUG]) == []


def test_questions_take_names_in_any_spelling(base: KnowledgeBase) -> None:
    assert [edge.target for edge in base.reading.edges_between("tp-53", "pathway:a")] == ["pathway:a"]
    assert base.reading.neighbours("ENSG00000141510", hops=1).nodes
    assert base.entities.gene_ids(["tp-53", "il 6", "shared_name", "imatinib"]) == ["Gene::7157", "Gene::3569"]
    assert base.entities.unknown_genes(["her-2", "shared_name", "nope"]) == ["shared_name", "nope"]


def test_the_same_file_under_another_name_is_refused_unless_asked_for(tmp_path: Path) -> None:
    knowledge = open_knowledge(GraphStoreTwin(), tmp_path / "graph", FrozenClock(), starter_wanted=False)
    nodes, edges = tmp_path / "nodes.tsv", tmp_path / "edges.tsv"
    nodes.write_text("id\ttype\tname\na\tgene\tAAA1\nb\tdrug\tbbb\n")
    edges.write_text("source\ttype\ttarget\nb\ttargets\ta\n")
    first = knowledge.sources.import_files("tables", [nodes, edges], name="first")
    copy = tmp_path / "copy.tsv"
    copy.write_bytes(edges.read_bytes())
    with pytest.raises(UserError, match=r"copy\.tsv is in the graph already.*tables:first") as told:
        knowledge.sources.import_files("tables", [copy], name="second")
    assert told.value.details["source"] == first.source.id
    assert "--even-so" in told.value.advice
    assert len(knowledge.reading.edges_between("a", "b")) == 1
    assert knowledge.sources.import_files("tables", [nodes, edges], name="first").unchanged
    assert knowledge.sources.import_files("tables", [copy], name="second", even_so=True).edges_added == 1
    knowledge.sources.remove(first.source.id)
    knowledge.sources.remove("tables:second")
    knowledge.sources.import_files("tables", [nodes, copy], name="third")
    for unknown in ("tables:first", "x" * 300_000):
        with pytest.raises(NotFoundError, match="There is no source") as gone:
            knowledge.sources.remove(unknown)
        assert len(gone.value.message) < 200
