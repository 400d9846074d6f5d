"""Linking beyond a graph's own names: abbreviations a text defines, synonyms, mixed case, Greek letters, look-alikes."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.domain.knowledge import Node, NodeType
from engine.knowledge.graph.twin import GraphTwin
from engine.knowledge.linking import aliases
from engine.knowledge.linking.abbreviations import fits
from engine.knowledge.linking.aliases import alias_rows
from engine.knowledge.linking.linker import EntityLinker
from engine.knowledge.linking.text import key

_GENES = [
    "MTOR",
    "APOE",
    "NFKBIA",
    "ACTB",
    "PRKCA",
    "GSK3B",
    "PPARG",
    "HNF4A",
    "TGFB1",
    "CAMK2A",
    "NOS2",
    "NOS3",
    "PPP2CA",
    "DRD2",
    "ADRB2",
    "DFNA5",
    "CARS1",
    "SEPTIN9",
    "AR",
    "GEM",
    "CAT",
    "WAS",
    "REST",
    "CAMP",
    "APC",
    "TANK",
    "MAX",
    "EGFR",
    "KIT",
    "RHOA",
    "ACE",
    "ATM",
    "BRCA1",
]
_DISEASES = [
    "rheumatoid arthritis",
    "multiple sclerosis",
    "allergic rhinitis",
    "polycystic ovary syndrome",
    "acquired immunodeficiency syndrome",
    "nephrolithiasis",
    "kidney cancer",
    "hypertension",
    "autistic disorder",
    "gout",
    "breast cancer",
    "anemia",
]


def _nodes() -> list[Node]:
    nodes = [Node(id=f"gene:{name}", type=NodeType.GENE, name=name) for name in _GENES]
    nodes += [Node(id=f"disease:{name}", type=NodeType.DISEASE, name=name) for name in _DISEASES]
    nodes += [
        Node(id=f"drug:{name}", type=NodeType.DRUG, name=name)
        for name in ("Acetaminophen", "Norepinephrine", "Zidovudine", "Doxorubicin", "Lamivudine")
    ]
    nodes += [
        Node(id=f"effect:{name}", type=NodeType.SIDE_EFFECT, name=name)
        for name in ("Autism", "Hypertension", "Carcinoma", "Mass", "Anemia")
    ]
    return [
        *nodes,
        Node(id="pathway:Disease", type=NodeType.PATHWAY, name="Disease"),
        Node(id="anatomy:heart", type=NodeType.ANATOMY, name="heart"),
        Node(id="anatomy:lung", type=NodeType.ANATOMY, name="lung"),
        Node(id="domain:statistics", type=NodeType.DOMAIN, name="statistics"),
    ]


_LINKER = EntityLinker(GraphTwin(_nodes(), []))


def found(text: str) -> list[tuple[str, str]]:
    return [(m.text, m.node.id.partition(":")[2]) for m in _LINKER.link(text)]


@pytest.mark.parametrize(
    ("text", "short", "meant"),
    [
        ("Rheumatoid arthritis (RA) hurts. RA is common.", "RA", "rheumatoid arthritis"),
        ("RA (rheumatoid arthritis) hurts. RA is common.", "RA", "rheumatoid arthritis"),
        ("Multiple sclerosis [MS] is chronic; MS is rare.", "MS", "multiple sclerosis"),
        ("Multiple sclerosis (hereafter MS) came. MS is rare.", "MS", "multiple sclerosis"),
        ("Allergic rhinitis (AR) is seasonal and AR is mild.", "AR", "allergic rhinitis"),
        ("Metastatic breast cancer (MBC) grew. MBC was seen.", "MBC", "breast cancer"),
        ("Doxorubicin (Dox) kills; Dox is red.", "Dox", "Doxorubicin"),
    ],
)
def test_an_abbreviation_means_what_the_text_defines(text: str, short: str, meant: str) -> None:
    assert {node for words, node in found(text) if words == short} == {meant}
    assert (short, meant) == [pair for pair in found(text) if pair[0] == short][-1]


def test_an_abbreviation_holds_until_it_is_defined_anew_and_not_in_another_text() -> None:
    text = "Anemia (AI) tires, AI too. Acquired immunodeficiency syndrome (AI) kills, AI too."
    meant = [node for words, node in found(text) if words == "AI"]
    assert meant == ["anemia"] * 2 + ["acquired immunodeficiency syndrome"] * 2
    assert found("AR is bound.") == [("AR", "AR")]
    assert found("MS was used.") == []


@pytest.mark.parametrize(
    "text",
    [
        "Computed axial tomography (CAT) was done. CAT was normal.",
        "Genuine error measurement (GEM) was small. GEM was fine.",
    ],
)
def test_an_abbreviation_of_something_else_is_no_gene(text: str) -> None:
    assert found(text) == []


def test_a_gene_written_out_before_its_symbol_stays_a_gene() -> None:
    assert ("EGFR", "EGFR") in found("The epidermal growth factor receptor (EGFR) is large. EGFR is bound.")
    assert ("BRCA1", "BRCA1") in found("Breast cancer (BRCA1) and BRCA1 again.")


@pytest.mark.parametrize(
    ("written", "node"),
    [
        ("mTOR", "MTOR"), ("ApoE", "APOE"), ("RhoA", "RHOA"), ("I\u03baB\u03b1", "NFKBIA"), ("\u03b2-actin", "ACTB"),
        ("PKC\u03b1", "PRKCA"), ("PKC-alpha", "PRKCA"), ("GSK3\u03b2", "GSK3B"), ("PPAR\u03b3", "PPARG"),
        ("HNF4\u03b1", "HNF4A"), ("TGF-\u03b21", "TGFB1"), ("CaMKII\u03b1", "CAMK2A"), ("iNOS", "NOS2"), ("eNOS", "NOS3"),
        ("PP2A", "PPP2CA"), ("D2 receptor", "DRD2"), ("\u03b22-adrenergic receptor", "ADRB2"),
        ("beta-2 adrenoceptor", "ADRB2"), ("GSDME", "DFNA5"), ("CARS", "CARS1"), ("SEPT9", "SEPTIN9"),
        ("PCOS", "polycystic ovary syndrome"), ("AIDS", "acquired immunodeficiency syndrome"),
        ("kidney stones", "nephrolithiasis"), ("renal carcinoma", "kidney cancer"), ("autism", "autistic disorder"),
        ("paracetamol", "Acetaminophen"), ("noradrenaline", "Norepinephrine"), ("AZT", "Zidovudine"),
        ("hypertension", "hypertension"),
    ],
)  # fmt: skip
def test_names_the_graph_does_not_have_itself(written: str, node: str) -> None:
    assert found(f"It was {written} that we saw.") == [(written, node)]


@pytest.mark.parametrize(
    "text",
    [
        "The REST API was down.",
        "The WAS group met weekly.",
        "The CAMP study ended.",
        "An APC fluorochrome and APC-conjugated beads were bought.",
        "The TANK was filled and the MAX value noted.",
        "The ATM machine and the ACE questionnaire",
        "We thank Dr. Heart, Prof. Max Lung and Ms Gout.",
        "We used mass spectrometry and statistics.",
        "The disease was rare. Disease was not seen.",
        "It aids the search, inos and apoes do not.",
        "MAPs and CARs are plurals; RA pressure, MS Excel and LC-MS are none.",
        "We met on Sept 9, on March 5 and in 1956.",
    ],
)
def test_look_alikes_are_no_entities(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize("text", ["The REST gene is on.", "We think that MAX binds.", "The KIT receptor was seen."])
def test_the_same_words_beside_gene_words_are_entities(text: str) -> None:
    assert len(found(text)) == 1


def test_a_bare_word_counts_where_it_is_meant_as_a_name() -> None:
    assert found("EGFR takes part in the Disease pathway.")[-1] == ("Disease pathway", "Disease")
    assert found("EGFR takes part in Disease.")[-1] == ("Disease", "Disease")


def test_an_abbreviation_that_means_many_things_needs_words_about_a_disease() -> None:
    assert found("Patients with RA were seen.") == [("RA", "rheumatoid arthritis")]
    assert found("The RA was cut.") == []


def test_of_a_disease_and_a_side_effect_the_relation_decides() -> None:
    def kind(text: str) -> NodeType:
        return _LINKER.link(text)[-1].node.type

    assert kind("EGFR plays a part in anemia.") is NodeType.DISEASE
    assert kind("Lamivudine is notorious for anemia.") is NodeType.SIDE_EFFECT
    assert kind("Lamivudine causes anemia.") is NodeType.SIDE_EFFECT
    assert kind("Lamivudine treats anemia.") is NodeType.DISEASE


def test_the_symbol_of_today_goes_before_the_symbol_of_another_gene_once() -> None:
    nodes = [
        Node(id="a", type=NodeType.GENE, name="TAFAZZIN"),
        Node(id="b", type=NodeType.GENE, name="TAZ"),
    ]
    (mention,) = EntityLinker(GraphTwin(nodes, [])).link("TAZ was seen.")
    assert (mention.node.id, mention.alternatives) == ("b", [])


def test_the_table_is_sound() -> None:
    rows = list(alias_rows())
    assert len(rows) > 1000
    symbols: set[str] = set()
    for row in rows:
        spelt = [*row.names, *row.aliases]
        assert row.names
        assert len(set(spelt)) == len(spelt), spelt
        assert all(name == name.strip() and len(key(name)) > 3 for name in spelt), spelt
        if row.kind is NodeType.GENE:
            assert not symbols & set(row.names), row.names
            symbols |= set(row.names)
            assert all(re.fullmatch(r"[A-Z][A-Za-z0-9-]+", name) for name in row.names), row.names


def test_a_damaged_table_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aliases, "_FILE", "starter_nodes.tsv")
    with pytest.raises(ValueError, match=r"starter_nodes.tsv has the columns .*; expected kind, names"):
        list(alias_rows())


def test_aliases_do_nothing_in_a_graph_that_has_not_the_entity() -> None:
    linker = EntityLinker(GraphTwin([Node(id="x", type=NodeType.ANATOMY, name="liver")], []))
    assert linker.link("AIDS, PCOS, iNOS and paracetamol") == []


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text("abcdefghij", min_size=2, max_size=8), min_size=2, max_size=5))
def test_initials_fit_the_words_they_are_of(words: list[str]) -> None:
    assert fits("".join(word[0] for word in words).upper(), " ".join(words))
    assert not fits("Z" + words[0], " ".join(words))


@settings(max_examples=200, deadline=None)
@given(st.text("aAR([)] .-MSrheumatoid", max_size=120))
def test_any_brackets_give_mentions_that_do_not_overlap(text: str) -> None:
    whole = f"{text} allergic rhinitis (AR) {text}"
    mentions = _LINKER.link(whole)
    assert all(whole[m.start : m.end] == m.text for m in mentions)
    assert all(a.end <= b.start for a, b in pairwise(mentions))


def test_a_word_is_no_acronym() -> None:
    leukemia = Node(
        id="disease:all", type=NodeType.DISEASE, name="acute lymphoblastic leukemia", aliases=["ALL", "CLL-like"]
    )
    linker = EntityLinker(GraphTwin([leukemia], []))
    assert linker.link("Reads all files and all patients.") == []
    assert [m.text for m in linker.link("It was measured in ALL patients.")] == ["ALL"]
