"""Questions about links that may exist: what they ask for, and answers with paths, doubts and what is unknown."""

from __future__ import annotations

import numpy as np
import pytest

from engine.adapters.fakes import FrozenClock
from engine.domain.knowledge import EdgeRows, EdgeType, GraphSource, NodeRows, NodeType
from engine.errors import NotFoundError, PlanError, UserError
from engine.knowledge.service import open_knowledge
from engine.planning.planner import Planner
from engine.strategies.mcts.asked import LinkAsked, link_asked
from engine.strategies.mcts.kept_search import KeptSearches
from engine.strategies.mcts.strategy import SearchStrategy
from engine.toolbox.registry import builtin_tools
from storage.graph.twin import GraphStoreTwin
from storage.runs.search_trees_twin import SearchTreesTwin

DRUG, GENE, DISEASE = NodeType.DRUG, NodeType.GENE, NodeType.DISEASE


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("Which approved drugs might treat gout?", LinkAsked("", "gout", DRUG)),
        ("which medicines could be repurposed for familial gout", LinkAsked("", "familial gout", DRUG)),
        ("List promising compounds against dry eye.", LinkAsked("", "dry eye", DRUG)),
        ("Which genes might matter in Crohn's disease?", LinkAsked("", "Crohn's disease", GENE)),
        ("Which genes may play a role in asthma in patients?", LinkAsked("", "asthma", GENE)),
        ("What side effects might aspirin cause?", LinkAsked("", "aspirin", NodeType.SIDE_EFFECT)),
        ("Which diseases could colchicine help with?", LinkAsked("", "colchicine", DISEASE)),
        ("Why might aspirin affect colon cancer?", LinkAsked("aspirin", "colon cancer")),
        ("How could IL6 be linked to the onset of gout?", LinkAsked("IL6", "gout")),
    ],
)
def test_what_a_question_asks_for(question, asked):
    assert link_asked(question) == asked


@pytest.mark.parametrize(
    "question",
    ["Which drugs treat gout?", "Why does treatment affect weight?", "Is weight higher in males?", "", "might"],
)
def test_what_is_stated_or_computed_is_no_possible_link(question):
    assert link_asked(question) is None


def test_asked_by_name_no_word_of_possibility_is_needed():
    assert link_asked("Which drugs treat gout?", surely=True) == LinkAsked("", "gout", DRUG)


@pytest.fixture(scope="module")
def knowledge(tmp_path_factory):
    """Drugs that lower the gene of a disease treat it, but one of them; its neighbour raises it as the disease does."""
    chance = np.random.default_rng(1)
    nodes, edges = NodeRows(), EdgeRows()
    for number in range(30):
        nodes.add(f"d{number}", DRUG, f"drugol {number}")
    for number in range(24):
        nodes.add(f"g{number}", GENE, f"GEN{number}")
    for number in range(12):
        nodes.add(f"s{number}", DISEASE, f"morbus {number}")
        edges.add(f"s{number}", EdgeType.UPREGULATES, f"g{number}", "DuG")
        edges.add(f"s{number}", EdgeType.ASSOCIATED_WITH, f"g{number + 12}", "DaG")
    for number in range(30):
        for disease in {number % 12, int(chance.integers(0, 12))}:
            edges.add(f"d{number}", EdgeType.DOWNREGULATES, f"g{disease}", "CdG")
            if (number, disease) != (3, 3):
                edges.add(f"d{number}", EdgeType.TREATS, f"s{disease}", "CtD")
    edges.add("d3", EdgeType.UPREGULATES, "g5", "CuG")
    edges.add("d3", EdgeType.DOWNREGULATES, "g5", "CdG")
    edges.add("d3", EdgeType.CONTRAINDICATED_FOR, "s3", "contra")
    store = GraphStoreTwin()
    store.add(GraphSource(id="made", name="Made Up", kind="generic", files={"x": "0"}), [nodes, edges])
    folder = tmp_path_factory.mktemp("graph")
    return open_knowledge(store, folder, FrozenClock(), starter_wanted=False)


def strategy_of(knowledge):
    return SearchStrategy(knowledge, KeptSearches(SearchTreesTwin(), FrozenClock()), Planner(builtin_tools()))


def test_the_link_that_was_left_out_comes_first_with_its_path_and_what_denies_it(knowledge):
    table = knowledge.candidates.rank(DRUG, "morbus 3")
    first = table.candidates[0]
    assert (first.node.id, table.relation) == ("d3", EdgeType.TREATS)
    assert any(way.path.line == "drugol 3 -[downregulates]-> GEN3 <-[upregulates]- morbus 3" for way in first.paths)
    assert first.without_best < first.probability
    assert first.against[0] == "drugol 3 is contraindicated for morbus 3 (Made Up)."
    assert {node.id for node in table.known}.isdisjoint({one.node.id for one in table.candidates})
    assert table.fit.auroc > 0.8


def test_a_drug_that_moves_a_gene_as_the_disease_does_is_told_so(knowledge):
    table = knowledge.candidates.rank(DRUG, "s5", top=30)
    (one,) = [one for one in table.candidates if one.node.id == "d3"]
    assert one.against == ["It raises the expression of GEN5, as the disease does.",
                           "Of 1 gene it reverses what the disease does."]  # fmt: skip


def test_asked_from_the_other_end_the_scores_are_the_same(knowledge):
    of_disease = knowledge.candidates.rank(DRUG, "morbus 3").candidates[0]
    of_drug = {one.node.id: one for one in knowledge.candidates.rank(DISEASE, "drugol 3", top=12).candidates}
    assert of_drug["s3"].probability == pytest.approx(of_disease.probability)
    assert of_drug["s3"].paths[0].share == of_disease.paths[0].share


def test_an_answer_names_candidates_known_links_sources_and_its_limits(knowledge):
    report = strategy_of(knowledge).answer("Which drugs might treat morbus 3?")
    text = " ".join(report.summary)
    assert "drugol 3" in text.split("Stated in the graph already")[0]
    assert "Against it: drugol 3 is contraindicated" in text
    assert report.findings[0].values[0].name == "probability"
    assert any("not the chance that it works" in limit for limit in report.limitations)


def test_two_named_entities_are_joined_by_ways(knowledge):
    report = strategy_of(knowledge).answer("Why might drugol 3 affect morbus 3?")
    assert any("GEN3" in line for line in report.summary)


def test_unknown_and_ambiguous_names_are_asked_about(knowledge):
    strategy = strategy_of(knowledge)
    assert strategy.at_once("Which drugs might treat blorbosis?") is None
    with pytest.raises(PlanError, match="no entity 'blorbosis'"):
        strategy.answer("Which drugs might treat blorbosis?")
    with pytest.raises(NotFoundError):
        knowledge.candidates.rank(DRUG, "")


def test_too_few_known_links_are_said_to_be_too_few(knowledge):
    with pytest.raises(UserError, match=r"states 0 links .* between a pathway and a disease"):
        knowledge.candidates.rank(NodeType.PATHWAY, "morbus 3")
    with pytest.raises(UserError, match="0 links of the kind 'encodes'"):
        knowledge.candidates.rank(DRUG, "morbus 3", relation=EdgeType.ENCODES)


def test_a_graph_that_changed_is_learned_anew(knowledge):
    before = knowledge.candidates.rank(DRUG, "morbus 3")
    rows = EdgeRows()
    rows.add("d3", EdgeType.TREATS, "s3", "CtD")
    knowledge.graph.store.add(GraphSource(id="more", name="More", kind="generic", files={"y": "1"}), [rows])
    after = knowledge.candidates.rank(DRUG, "morbus 3")
    knowledge.graph.store.remove_source("more")
    assert before.candidates[0].node.id == "d3"
    assert "d3" in {node.id for node in after.known}
