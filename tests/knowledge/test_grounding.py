"""Grounding: the four labels, their evidence, findings as data, and texts of every kind."""

from __future__ import annotations

import math
from typing import Literal

import pytest
from claims_graph import small_graph
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.domain.findings import Assertion, Finding
from engine.domain.knowledge import Claim, Edge, EdgeType, Node, NodeType
from engine.knowledge.graph.twin import GraphTwin
from engine.knowledge.grounding.check import check_text
from engine.knowledge.grounding.direct import opposed
from engine.knowledge.grounding.findings import check_findings
from engine.knowledge.grounding.paths import PathFinder, at_least
from engine.knowledge.linking.linker import EntityLinker
from engine.knowledge.lookup import EntityLookup

VIEW = small_graph()
LINKER = EntityLinker(VIEW)


def check(text: str) -> list[Claim]:
    return check_text(text, VIEW, LINKER).claims


def one(text: str) -> Claim:
    claims = check(text)
    assert len(claims) == 1, claims
    return claims[0]


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Simvastatin binds HMGCR.", "grounded"),
        ("GRB2 interacts with EGFR.", "grounded"),
        ("Obesity is associated with TNF.", "grounded"),
        ("EGFR is regulated by TP53.", "grounded"),
        ("CAT is expressed in the liver.", "grounded"),
        ("TP53 takes part in the cell cycle.", "grounded"),
        ("The EGFR product displays protein kinase activity.", "grounded"),
        ("Metformin can cause hypertension.", "grounded"),
        ("Metformin can cause jaundice.", "grounded"),
        ("The statins include simvastatin.", "grounded"),
        ("DB00641 works against DOID:10763.", "grounded"),
        ("Simvastatin raises TNF expression.", "contradicted"),
        ("CAT goes up in breast cancer.", "contradicted"),
        ("CAT is low in the liver.", "contradicted"),
        ("Simvastatin does not bind HMGCR.", "contradicted"),
        ("Hypertension does not respond to simvastatin.", "contradicted"),
        ("EGFR regulates TP53.", "contradicted"),
        ("Simvastatin leaves EGFR expression unchanged.", "contradicted"),
        ("CAT is not expressed in the liver.", "contradicted"),
        ("Simvastatin does not raise TNF expression.", "grounded"),
        ("HMGCR is engaged by statins.", "inferred"),
        ("Simvastatin works against Alzheimer's disease.", "inferred"),
        ("Aspirin treats breast cancer.", "inferred"),
        ("GRB2 has been linked to type 2 diabetes.", "inferred"),
        ("GN900 has been linked to breast cancer.", "ungrounded"),
        ("GN905 has been linked to lung cancer.", "ungrounded"),
        ("Metformin binds EGFR.", "ungrounded"),
        ("Metformin does not bind EGFR.", "ungrounded"),
        ("People with hypertension do better on metformin.", "ungrounded"),
        ("Simvastatin does not work against Alzheimer's disease.", "ungrounded"),
        ("DB99999 binds EGFR.", "ungrounded"),
    ],
)
def test_the_four_labels(text: str, label: str) -> None:
    assert one(text).label == label


def _signed_graph() -> GraphTwin:
    """Return a graph that states signs, made up after textbook pharmacology; `binds` beside them has none."""
    genes = {"ABL1": "g1", "VKORC1": "g2", "NR3C1": "g3", "MDM2": "g4", "TP53": "g5", "PSMB5": "g6", "KIT": "g7"}
    drugs = ("Imatinib", "Warfarin", "Dexamethasone", "Bortezomib", "Carfilzomib", "Ixazomib", "Oprozomib", "Marizomib")
    nodes = [Node(id=i, type=NodeType.GENE, name=name, aliases=["p53"] if name == "TP53" else [])
             for name, i in genes.items()]  # fmt: skip
    nodes += [Node(id=name, type=NodeType.DRUG, name=name) for name in drugs]
    rows = [
        ("Imatinib", "binds", "g1"), ("Imatinib", "inhibits", "g1"), ("Imatinib", "binds", "g7"),
        ("Warfarin", "targets", "g2"), ("Warfarin", "inhibits", "g2"), ("Warfarin", "upregulates", "g7"),
        ("Dexamethasone", "binds", "g3"), ("Dexamethasone", "activates", "g3"),
        ("g5", "regulates", "g4"), ("Marizomib", "resembles", "Bortezomib"),
        *((drug, kind, "g6") for drug in drugs[4:7] for kind in ("binds", "inhibits")),
        *((drug, "resembles", "Bortezomib") for drug in drugs[4:7]),
    ]  # fmt: skip
    return GraphTwin(nodes, [Edge(source=s, type=EdgeType(kind), target=t) for s, kind, t in rows])


SIGNED = _signed_graph()
SIGNED_LINKER = EntityLinker(SIGNED)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Imatinib inhibits ABL1.", "grounded"),
        ("Imatinib binds ABL1.", "grounded"),
        ("Imatinib activates ABL1.", "contradicted"),
        ("Imatinib stimulates ABL1.", "contradicted"),
        ("Imatinib does not activate ABL1.", "grounded"),
        ("Imatinib does not inhibit ABL1.", "contradicted"),
        ("Warfarin activates VKORC1.", "contradicted"),
        ("Warfarin acts on VKORC1.", "grounded"),
        ("Dexamethasone inhibits NR3C1.", "contradicted"),
        ("Dexamethasone is an agonist of NR3C1.", "grounded"),
        ("Imatinib inhibits KIT.", "inferred"),
        ("Imatinib activates KIT.", "inferred"),
        ("Imatinib does not inhibit KIT.", "ungrounded"),
        ("Imatinib lowers ABL1 expression.", "ungrounded"),
        ("Warfarin inhibits KIT.", "ungrounded"),
        ("ABL1 inhibits imatinib.", "contradicted"),
        ("KIT inhibits imatinib.", "ungrounded"),
        ("ABL1 is inhibited by imatinib.", "grounded"),
        ("Bortezomib inhibits PSMB5.", "inferred"),
        ("Bortezomib activates PSMB5.", "ungrounded"),
        ("Bortezomib stimulates PSMB5.", "ungrounded"),
        ("MDM2 inhibits p53.", "ungrounded"),
        ("MDM2 regulates p53.", "contradicted"),
        ("p53 regulates MDM2.", "grounded"),
        ("p53 activates MDM2.", "inferred"),
        ("Loss of inhibition of ABL1 by imatinib was reported.", "contradicted"),
        ("Imatinib fails to inhibit ABL1 T315I.", "ungrounded"),
        ("Imatinib inhibits ABL1 T315I.", "ungrounded"),
    ],
)
def test_a_sign_is_grounded_by_the_same_sign_only(text: str, label: str) -> None:
    (claim,) = check_text(text, SIGNED, SIGNED_LINKER).claims
    assert claim.label == label, claim.why


def test_what_leaves_a_sign_open_or_asserts_nothing_is_said() -> None:
    def whys(text: str) -> list[str]:
        return [claim.why for claim in check_text(text, SIGNED, SIGNED_LINKER).claims]

    assert whys("Imatinib inhibits KIT.") == [
        "The graph states that Imatinib binds KIT but not in which direction it acts."
    ]
    assert "ABL1 T315I" in whys("Imatinib inhibits ABL1 T315I.")[0]


def test_a_contrast_denies_for_one_and_asserts_for_the_other() -> None:
    claims = check_text("Unlike imatinib, warfarin does not inhibit ABL1.", SIGNED, SIGNED_LINKER).claims
    assert [(c.subject, c.negated, c.label) for c in claims] == [
        ("Warfarin", True, "ungrounded"),
        ("Imatinib", False, "grounded"),
    ]


def test_a_grounded_claim_names_its_edge_and_source() -> None:
    claim = one("Simvastatin binds HMGCR.")
    assert (claim.subject, claim.predicate, claim.object) == ("Compound::DB00641", "binds", "Gene::3156")
    (evidence,) = claim.evidence
    assert (evidence.edge, evidence.source, evidence.kind) == (
        "Simvastatin -[binds]-> HMGCR",
        "Made up for tests",
        "edge",
    )
    assert "Made up for tests" in claim.why


def test_an_inferred_claim_shows_its_paths() -> None:
    claim = one("HMGCR is engaged by statins.")
    assert {e.kind for e in claim.evidence} == {"path"}
    assert sorted(e.path for e in claim.evidence) == [1, 1, 2, 2, 3, 3]
    assert "3 drugs of the class" in claim.why
    first = [e.edge for e in claim.evidence if e.path == 1]
    assert first[0].startswith("HMG-CoA Reductase Inhibitors -[includes]-> ")
    assert first[1].endswith("-[binds]-> HMGCR")


def test_a_large_pathway_and_a_single_path_are_not_enough_and_the_reader_is_told() -> None:
    assert "single path" in one("GN900 has been linked to breast cancer.").why
    assert "Neither an edge nor an accepted path" in one("GN905 has been linked to lung cancer.").why


def test_evidence_against_is_marked_as_opposite() -> None:
    claim = one("Simvastatin raises TNF expression.")
    assert [e.kind for e in claim.evidence] == ["opposite"]
    assert "lowers the expression of TNF" in claim.why


def test_score_is_the_mean_over_claims() -> None:
    text = "Simvastatin binds HMGCR. Simvastatin raises TNF. HMGCR is engaged by statins. Metformin binds EGFR."
    result = check_text(text, VIEW, LINKER)
    assert [c.label for c in result.claims] == ["grounded", "contradicted", "inferred", "ungrounded"]
    assert result.score == pytest.approx((1 - 1 + 0.5 + 0) / 4)
    assert result.graph_version == VIEW.version


def test_what_is_no_claim_is_passed_over() -> None:
    assert check("") == []
    assert check(" \n\t ") == []
    assert check("The meeting was long. We treated mice with simvastatin. In all, 12 plants grew.") == []
    asked = check_text("Does simvastatin bind HMGCR? We bought simvastatin and an EGFR antibody.", VIEW, LINKER)
    assert (asked.claims, len(asked.unclaimed)) == ([], 2)
    assert check_text("", VIEW, LINKER).score == 0.0


def test_hub_paths_alone_are_not_enough() -> None:
    genes = [Node(id=f"g{k}", type=NodeType.GENE, name=f"GENE{k}") for k in range(300)]
    disease = Node(id="d", type=NodeType.DISEASE, name="sickness")
    hubs = [
        Edge(source=f"g{h}", type=EdgeType.INTERACTS_WITH, target=f"g{k}") for h in range(3) for k in range(10, 300)
    ]
    linked = [Edge(source=f"g{h}", type=EdgeType.ASSOCIATED_WITH, target="d") for h in range(4)]
    view = GraphTwin([*genes, disease], [*hubs, *linked])
    (support,) = PathFinder(view).support(EdgeType.ASSOCIATED_WITH, view.nodes.number("g50"), view.nodes.number("d"))
    assert (support.count, support.hubs_only, support.enough) == (3, True, False)
    plain = [Edge(source="g3", type=EdgeType.INTERACTS_WITH, target="g50")]
    view = GraphTwin([*genes, disease], [*hubs, *linked, *plain])
    best = PathFinder(view).support(EdgeType.ASSOCIATED_WITH, view.nodes.number("g50"), view.nodes.number("d"))[0]
    assert (best.count, best.enough, best.paths[0][1]) == (4, True, view.nodes.number("g3"))


def test_a_reversed_signature_is_weighed_by_its_own_edges_whichever_way_it_goes() -> None:
    up, down = EdgeType.UPREGULATES, EdgeType.DOWNREGULATES
    genes = [Node(id=f"g{k}", type=NodeType.GENE, name=f"GENE{k}") for k in range(3)]
    drugs = [Node(id=f"c{k}", type=NodeType.DRUG, name=f"drug{k}") for k in range(200)]
    disease = Node(id="d", type=NodeType.DISEASE, name="sickness")
    # nearly every drug raises these genes, one lowers them: only the first is what any drug does
    edges = [Edge(source=f"c{k}", type=up, target=f"g{g}") for k in range(1, 150) for g in range(3)]
    edges += [Edge(source="c0", type=down, target=f"g{g}") for g in range(3)]
    for raised in (True, False):
        signature = [Edge(source="d", type=up if raised else down, target=f"g{g}") for g in range(3)]
        view = GraphTwin([*genes, *drugs, disease], [*edges, *signature])
        subject = view.nodes.number("c0" if raised else "c1")
        (support,) = PathFinder(view).support(EdgeType.TREATS, subject, view.nodes.number("d"))
        assert (support.metapath.name, support.count) == ("signature-reversal", 3)
        assert (support.enough, support.hubs_only) == (raised, not raised)


@pytest.mark.parametrize(("disease_genes", "enough"), [(4, True), (300, False)])
def test_interactors_of_targets_count_only_beyond_chance(disease_genes: int, enough: bool) -> None:
    genes = [Node(id=f"g{k}", type=NodeType.GENE, name=f"GENE{k}") for k in range(600)]
    drug, disease = (
        Node(id="c", type=NodeType.DRUG, name="drug"),
        Node(id="d", type=NodeType.DISEASE, name="sickness"),
    )
    edges = [Edge(source="c", type=EdgeType.BINDS, target="g500")]
    edges += [Edge(source="g500", type=EdgeType.INTERACTS_WITH, target=f"g{k}") for k in range(4)]
    edges += [Edge(source=f"g{k}", type=EdgeType.ASSOCIATED_WITH, target="d") for k in range(disease_genes)]
    view = GraphTwin([*genes, drug, disease], edges)
    (support,) = PathFinder(view).support(EdgeType.TREATS, view.nodes.number("c"), view.nodes.number("d"))
    assert (support.metapath.name, support.count, support.enough) == ("target-interactor-disease", 4, enough)
    assert support.paths[0][1] == view.nodes.number("g500")


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 8), st.floats(0.001, 20))
def test_chance_is_the_poisson_tail(count: int, mean: float) -> None:
    from scipy.stats import poisson

    assert at_least(count, mean) == pytest.approx(float(poisson.sf(count - 1, mean)), abs=1e-9)
    assert at_least(count, math.inf) == 1.0


def found(subject: str, relation: str, object_: str, sign: Literal[1, -1] = 1) -> Finding:
    """Return a finding whose sentence says the opposite of what it states as data, so that reading it would show."""
    asserts = Assertion(subject=subject, relation=relation, object=object_, sign=sign)
    return Finding(id="f1", node="n1", text=f"{subject} does not {relation} {object_}.", asserts=asserts)


@pytest.mark.parametrize(
    ("finding", "label"),
    [
        (found("simvastatin", "upregulates", "EGFR"), "grounded"),
        (found("Simvastatin", "downregulates", "ENSG00000146648"), "contradicted"),
        (found("simvastatin", "upregulates", "EGFR", -1), "contradicted"),
        (found("breast cancer", "upregulates", "TP53"), "ungrounded"),
        (found("treated", "upregulates", "EGFR"), None),
        (found("simvastatin", "upregulates", "no such gene"), None),
        (found("EGFR", "upregulates", "simvastatin"), None),
        (Finding(id="f1", node="n1", text="Simvastatin binds HMGCR."), None),
    ],
)
def test_a_finding_is_compared_by_what_it_states_as_data(finding: Finding, label: str | None) -> None:
    claims = check_findings([finding], VIEW, EntityLookup(VIEW.nodes))
    assert [claim.label for claim in claims.values()] == ([] if label is None else [label])
    for claim in claims.values():
        assert {claim.subject, claim.object} <= {mention.node.id for mention in claim.entities}


def _disputed(confidence: float) -> GraphTwin:
    nodes = [Node(id="g1", type=NodeType.GENE, name="TP53"), Node(id="g2", type=NodeType.GENE, name="MDM2")]
    edges = [
        Edge(source="g1", type=EdgeType.ACTIVATES, target="g2", confidence=0.7, origin="book"),
        Edge(source="g1", type=EdgeType.INHIBITS, target="g2", confidence=confidence, origin="fact"),
    ]
    return GraphTwin(nodes, edges)


@pytest.mark.parametrize(("confidence", "label"), [(0.2, "contradicted"), (0.7, "grounded"), (0.9, "grounded")])
def test_where_sources_disagree_the_surer_side_decides_and_the_other_is_shown(confidence: float, label: str) -> None:
    view = _disputed(confidence)
    linker = EntityLinker(view)
    for text, against in (("TP53 inhibits MDM2.", "activates"), ("TP53 activates MDM2.", "inhibits")):
        result = check_text(text, view, linker)
        (claim,) = result.claims
        shown = {item.kind: item.edge for item in claim.evidence}
        assert against in shown["opposite"]
        assert "edge" in shown
        assert abs(result.score) < 1
        if against == "activates":
            assert claim.label == label
    assert (opposed(Edge(source="g1", type=EdgeType.INHIBITS, target="g2", confidence=confidence), view)) != ""


def test_an_edge_that_nothing_opposes_warns_of_nothing() -> None:
    view = GraphTwin(
        [Node(id="g1", type=NodeType.GENE, name="TP53"), Node(id="g2", type=NodeType.GENE, name="MDM2")],
        [Edge(source="g2", type=EdgeType.INHIBITS, target="g1")],
    )
    assert opposed(Edge(source="g1", type=EdgeType.ACTIVATES, target="g2"), view) == ""


@pytest.mark.parametrize(
    "text",
    [
        "\x00\x01 EGFR \x07 binds\x1bGRB2 \ufffd.",
        "蛋白质 EGFR 与 GRB2 相互作用。基因 TP53 调控 EGFR。",
        "Белок EGFR связывает GRB2.",
        "EGFR\u202ebinds GRB2 \U0001f9ec",
        "(" * 2000 + "EGFR binds GRB2" + ")" * 2000,
        "EGFR, " * 2000,
        "EGFR binds GRB2 and " * 800,
        "İEGFR binds ﬁ GRB2 ß.",
    ],
)
def test_strange_texts_are_read_without_fault(text: str) -> None:
    for claim in check(text):
        assert claim.label in {"grounded", "inferred", "ungrounded", "contradicted"}
        for mention in claim.entities:
            assert mention.node


def test_a_long_text_keeps_one_claim_a_sentence() -> None:
    text = "Simvastatin binds HMGCR. The weather was fine, as everyone in the room agreed at once. " * 3000
    assert len(text) > 250_000
    claims = check(text)
    assert len(claims) == 3000
    assert {c.label for c in claims} == {"grounded"}


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_checked(text: str) -> None:
    result = check_text(text + " EGFR binds GRB2 " + text, VIEW, LINKER)
    assert -1 <= result.score <= 1
