"""Entity linking: names, symbols, identifiers, variants, English words, namesakes, and texts of every kind."""

from __future__ import annotations

import gzip
from itertools import pairwise
from pathlib import Path

import pytest
from claims_graph import small_graph
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.domain.knowledge import Node, NodeType
from engine.knowledge.graph.twin import GraphTwin
from engine.knowledge.importers.hetionet import KINDS
from engine.knowledge.linking.linker import UNKNOWN_ID, EntityLinker
from engine.knowledge.linking.text import fold, id_keys, key, tokens

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "hetionet_train"


@pytest.fixture(scope="module")
def linker() -> EntityLinker:
    return EntityLinker(small_graph())


def found(linker: EntityLinker, text: str) -> list[tuple[str, str]]:
    return [(m.text, m.node.id) for m in linker.link(text)]


@pytest.mark.parametrize(
    ("written", "node"),
    [
        ("EGFR", "Gene::1956"),
        ("ERBB1", "Gene::1956"),
        ("p53", "Gene::7157"),
        ("IL6", "Gene::3569"),
        ("IL-6", "Gene::3569"),
        ("IL 6", "Gene::3569"),
        ("interleukin-6", "Gene::3569"),
        ("TNFα", "Gene::7124"),
        ("TNF-alpha", "Gene::7124"),
        ("TNF-α", "Gene::7124"),
        ("tumour necrosis factor", "Gene::7124"),
        ("C9ORF72", "Gene::11"),
        ("acetylsalicylic acid", "Compound::DB00945"),
        ("Aspirin", "Compound::DB00945"),
        ("Alzheimer disease", "Disease::DOID:10652"),
        ("Alzheimer’s disease", "Disease::DOID:10652"),
        ("cancer of the breast", "Disease::DOID:1612"),
        ("type II diabetes", "Disease::DOID:9352"),
        ("hematuria", "Side Effect::C0018965"),
        ("haematuria", "Side Effect::C0018965"),
        ("broca aphasia", "Symptom::D001039"),
        ("skin", "Anatomy::UBERON:0002097"),
        ("statin", "Pharmacologic Class::N0000175589"),
        ("Class A/1 (Rhodopsin-like receptors)", "Pathway::PC7_2"),
        ("DB00945", "Compound::DB00945"),
        ("CHEBI:15365", "Compound::DB00945"),
        ("DOID:1612", "Disease::DOID:1612"),
        ("UBERON:0002107", "Anatomy::UBERON:0002107"),
        ("UBERON_0002107", "Anatomy::UBERON:0002107"),
        ("GO:0005634", "Cellular Component::GO:0005634"),
        ("ENSG00000146648", "Gene::1956"),
        ("UniProt:P00533", "Gene::1956"),
        ("P00533", "Gene::1956"),
        ("Entrez gene 1956", "Gene::1956"),
        ("NCBI Gene ID: 1956", "Gene::1956"),
        ("NCBIGene:1956", "Gene::1956"),
        ("Gene::1956", "Gene::1956"),
        ("DOID 1612", "Disease::DOID:1612"),
        ("Compound::DB00945", "Compound::DB00945"),
        ("PC7_2", "Pathway::PC7_2"),
        ("C0018965", "Side Effect::C0018965"),
        ("D010292", "Symptom::D010292"),
        ("N0000175589", "Pharmacologic Class::N0000175589"),
    ],
)
def test_a_name_in_any_spelling_is_its_entity(linker: EntityLinker, written: str, node: str) -> None:
    text = f"We looked at {written} again."
    mentions = linker.link(text)
    assert [m.node.id for m in mentions] == [node]
    assert text[mentions[0].start : mentions[0].end] == mentions[0].text == written


@pytest.mark.parametrize(
    "text",
    [
        "The set of cats was large and it was the rest that mattered.",
        "A CAT scan was made.",
        "THE SET WAS LARGE",
        "egfrs and EGFRx and xEGFR are no symbols here",
        "IL-6R is another gene, IL-60 too",
        "P1234 and type 2 and T alone",
        "liver.Cancer",
    ],
)
def test_words_that_only_look_like_entities_are_not(linker: EntityLinker, text: str) -> None:
    ids = {node for _, node in found(linker, text)}
    assert not ids & {"Gene::6418", "Gene::847", "Gene::7454", "Gene::6862", "Gene::1956", "Gene::3569"}


def test_english_symbols_count_as_written_and_beside_gene_words(linker: EntityLinker) -> None:
    assert found(linker, "SET interacts with TP53.")[0] == ("SET", "Gene::6418")
    assert found(linker, "the T gene is active") == [("T", "Gene::6862")]
    assert found(linker, "WAS expression rose") == [("WAS", "Gene::7454")]


def test_the_longest_name_wins(linker: EntityLinker) -> None:
    assert found(linker, "the IL-6 signaling pathway") == [("IL-6 signaling pathway", "Pathway::PC7_1")]


def test_namesakes_are_told_apart_by_the_words_beside_them_and_kept(linker: EntityLinker) -> None:
    treated = linker.link("a patient treated for hypertension")[0]
    assert treated.node.type is NodeType.DISEASE
    assert [n.type for n in treated.alternatives] == [NodeType.SIDE_EFFECT]
    adverse = linker.link("the label lists hypertension as an adverse event")[0]
    assert adverse.node.type is NodeType.SIDE_EFFECT
    assert "side effect" in adverse.why
    cycle = linker.link("the cell cycle")[0]
    assert {cycle.node.id, *(n.id for n in cycle.alternatives)} == {"Pathway::PC7_3", "Pathway::WP179_r1"}


def test_only_the_types_asked_for(linker: EntityLinker) -> None:
    text = "EGFR and jaundice in breast cancer"
    assert [m.node.type for m in linker.link(text, types=[NodeType.SYMPTOM])] == [NodeType.SYMPTOM]
    assert linker.link(text, types=[]) == []


@pytest.mark.parametrize(
    "written", ["DB99999", "DOID:99999", "ENSG00000000001", "rs12345", "MONDO:0000001", "PDB 1ABC"]
)
def test_an_identifier_the_graph_lacks_is_an_unknown_entity(linker: EntityLinker, written: str) -> None:
    mention = linker.link(f"Is {written} known?")[0]
    assert mention.why == UNKNOWN_ID
    assert mention.text == written
    assert mention.score < 0.5


def test_by_id_accepts_any_spelling(linker: EntityLinker) -> None:
    for spelt in ("db00945", "CHEBI:15365", "Compound::DB00945"):
        node = linker.by_id(spelt)
        assert node is not None
        assert node.id == "Compound::DB00945"
    assert linker.by_id("DB11111") is None
    assert linker.by_id("") is None


def test_names_do_not_reach_over_sentence_ends_or_commas(linker: EntityLinker) -> None:
    assert found(linker, "It was in the breast. Cancer followed.") == []
    assert found(linker, "IL, 6 of them") == []


def test_an_empty_graph_links_nothing() -> None:
    assert EntityLinker(GraphTwin([], [])).link("EGFR binds TP53 in DOID:1612")[0].why == UNKNOWN_ID


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=300))
def test_any_text_gives_ordered_mentions_that_do_not_overlap(text: str) -> None:
    linker = _LINKER
    mentions = linker.link(text + " EGFR " + text)
    for mention in mentions:
        assert (text + " EGFR " + text)[mention.start : mention.end] == mention.text
        assert 0 < mention.score <= 1
    assert all(a.end <= b.start for a, b in pairwise(mentions))


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=60))
def test_folding_twice_is_folding_once(word: str) -> None:
    for token, start, end in tokens(word):
        assert fold(token) == token or not token.isascii()
        assert 0 <= start < end <= len(word)
    assert key(word).startswith(" ")


def test_identifiers_have_one_canonical_spelling() -> None:
    assert id_keys("uniprotkb:p00533") == ("UNIPROT:P00533", "P00533")
    assert id_keys("NCBIGene:1956") == ("ENTREZ:1956",)


_LINKER = EntityLinker(small_graph())


@pytest.mark.parametrize("kind", [NodeType.GENE, NodeType.PROTEIN, NodeType.DISEASE, NodeType.PATHWAY])
@pytest.mark.parametrize("number", ["1956", "2024", "1,956", "1956.0", " 1956 ", "(1956)", "\u0661\u0669"])
def test_a_bare_number_in_a_text_is_a_number(kind: NodeType, number: str) -> None:
    nodes = [
        Node(id="Gene::1956", type=NodeType.GENE, name="EGFR", aliases=[number]),
        Node(id="x:1", type=kind, name=number),
        Node(id="Gene::673", type=NodeType.GENE, name="BRAF"),
    ]
    linker = EntityLinker(GraphTwin(nodes, []))
    for text in (
        f"In {number.strip()} patients, BRAF was active.",
        f"In {number.strip()} the gene BRAF was found.",
        f"BRAF expression in 1956 and {number} samples",
    ):
        assert [m.node.id for m in linker.link(text)] == ["Gene::673"]
    assert [m.node.id for m in linker.link("Entrez gene 1956")] == ["Gene::1956"]


@pytest.mark.parametrize("name", ["14-3-3", "5-HT3", "p21", "7SK", "22q11"])
def test_a_name_with_numbers_in_it_is_a_name(name: str) -> None:
    linker = EntityLinker(GraphTwin([Node(id="Gene::1", type=NodeType.GENE, name="ABC", aliases=[name])], []))
    assert linker._automaton is not None
    assert key(name) in linker._automaton


@pytest.mark.skipif(not DATA.is_dir(), reason="the development data are not beside the project")
def test_every_name_of_hetionet_is_found_in_a_sentence() -> None:
    nodes: list[Node] = []
    with gzip.open(DATA / "nodes.tsv.gz", "rt", encoding="utf-8") as lines:
        next(lines)
        for line in lines:
            node_id, name, kind = line.rstrip("\n").split("\t")
            nodes.append(Node(id=node_id, type=KINDS[kind], name=name))
    linker = EntityLinker(GraphTwin(nodes, []))
    missed = []
    for node in nodes[::7]:
        lower = node.name if node.type is NodeType.GENE else node.name.lower()
        for spelt in {node.name, lower}:
            mentions = linker.link(f"It is thought that {spelt} was on the list.")
            if node.id not in {n.id for m in mentions for n in (m.node, *m.alternatives)}:
                missed.append(spelt)
    assert len(missed) <= 2, missed[:10]
