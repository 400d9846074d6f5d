"""Hypotheses without a model: true to the graph, not trivial, not of hubs, reviewed and compared by their evidence."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from bridges_graph import EDGES, NAMES, made_knowledge, node_id
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.data.profiler import profile_file
from engine.domain.discovery.hypotheses import CRITERIA, MATCH_CRITERIA, Aims, EvidenceItem, Hypothesis
from engine.domain.knowledge import NodeType
from engine.errors import UserError
from engine.strategies.tournament.bridges.at_hand import ChangedGene, DataAtHand, changed_genes
from engine.strategies.tournament.bridges.goal import read_goal
from engine.strategies.tournament.bridges.patterns import KINDS, PATTERNS, TARGET, BridgePattern, between
from engine.strategies.tournament.bridges.placing import is_true
from engine.strategies.tournament.bridges.walks import GraphWalks
from engine.strategies.tournament.by_rules.judge import WEIGHTS
from engine.strategies.tournament.by_rules.role_set import roles_by_rules
from engine.strategies.tournament.roles import Drafted, Guidance, ItemFailed

EVOLUTIONS = ("ground", "simplify", "combine", "analogise", "out_of_the_box", "make_testable")
DRUGS = Aims(goal="find drugs for psoriasis")


@pytest.fixture(scope="module")
def knowledge(tmp_path_factory):
    return made_knowledge(tmp_path_factory.mktemp("graph"))


@pytest.fixture(scope="module")
def roles(knowledge):
    return roles_by_rules(knowledge)


def made(roles, aims, count=20, **guidance):
    drafts = roles.makers[0].make(aims, Guidance(**guidance), count, 0)
    found = [one.hypothesis for one in drafts if isinstance(one, Drafted)]
    return [one.model_copy(update={"id": f"h{n}"}) for n, one in enumerate(found)], [
        one for one in drafts if isinstance(one, ItemFailed)
    ]


def about(hypotheses, name):
    return [one for one in hypotheses if node_id(name) in one.entities[:2]]


# What is made


def test_a_drug_of_the_same_target_as_a_treatment_is_proposed_with_its_true_path(roles, knowledge):
    (one,) = about(made(roles, DRUGS)[0], "vedolizumab")
    assert "could be of use against psoriasis" in one.text
    paths = [item for item in one.support if item.kind == "path"]
    assert [node_id("vedolizumab"), node_id("ITGA4"), node_id("psoriasis")] in [item.nodes for item in paths]
    assert {item.source for item in paths} == {"Made up for tests"}
    assert one.predictions[0].contradicted_by != one.predictions[0].says


@pytest.mark.parametrize(
    "goal",
    [
        "find drugs for psoriasis",
        "which genes matter in asthma",
        "why does psoriasis come with asthma",
        "TNF",
        "timolol",
    ],
)
def test_every_path_of_every_hypothesis_is_in_the_graph(roles, knowledge, goal):
    stated = {frozenset((node_id(a), node_id(b))): kind for a, kind, b in EDGES}
    hypotheses, _ = made(roles, Aims(goal=goal))
    assert hypotheses
    for one in hypotheses:
        for item in one.support:
            assert is_true(item, knowledge.graph.view())
            for (a, b), kind in zip(pairwise(item.nodes), item.edges, strict=True):
                assert kind in {k for x, k, y in EDGES if {node_id(x), node_id(y)} == {a, b}}, (item, stated)


def test_what_is_an_edge_already_is_not_proposed(roles):
    hypotheses, _ = made(roles, DRUGS)
    assert not about(hypotheses, "natalizumab")
    assert not about(made(roles, Aims(goal="find drugs for asthma"))[0], "timolol")  # contraindicated


def test_what_handles_every_drug_joins_nothing(roles):
    assert not about(made(roles, DRUGS)[0], "warfarin")  # it shares CYP3A4 with a treatment, and nothing else


def test_fewer_than_asked_is_said(roles):
    hypotheses, failed = made(roles, DRUGS, 50)
    assert 0 < len(hypotheses) < 50
    (said,) = failed
    assert f"{50 - len(hypotheses)} too few" in said.message


def test_what_exists_is_not_made_again(roles):
    first, _ = made(roles, DRUGS, 1)
    again, _ = made(roles, DRUGS, 50, avoid=[one.text for one in first])
    assert first[0].text not in [one.text for one in again]


def test_constraints_leave_a_drug_and_the_members_of_a_class_out(roles):
    aims = Aims(goal="which drugs could help in leprosy", constraints=["no metformin", "avoid any beta blocker"])
    assert about(made(roles, aims.model_copy(update={"constraints": []}))[0], "natalizumab")
    assert read_goal(aims, roles.supervisor.knowledge).left_out == {
        node_id("metformin"), node_id("beta blocker"), node_id("timolol")
    }  # fmt: skip
    texts = " ".join(one.text for one in made(roles, aims)[0])
    assert "metformin" not in texts.casefold()
    assert "timolol" not in texts.casefold()


def test_a_drug_that_moves_a_gene_as_the_disease_does_has_that_counted_against_it(roles):
    aims = Aims(goal="find drugs for psoriasis")
    helps, harms = (about(made(roles, aims)[0], name) for name in ("metformin", "timolol"))
    assert "bring KRT16 down" in helps[0].text
    assert not harms  # it raises what psoriasis raises, and nothing speaks for it


def test_statements_that_disagree_become_a_hypothesis(roles):
    texts = [one.text for one in made(roles, Aims(goal="which genes matter in psoriasis"))[0]]
    assert any("rise of JAK2 in psoriasis is a defence" in text for text in texts)


def test_two_diseases_go_together_through_a_gene_of_both(roles):
    (one, *_), _ = made(roles, Aims(goal="why does psoriasis come with asthma"))
    assert one.text.startswith("Psoriasis and asthma go together through TNF")


def test_hubs_do_not_win_by_being_hubs(tmp_path):
    genes = NAMES[NodeType.GENE]
    hub = made_knowledge(tmp_path, *(("aspirin", "binds", gene) for gene in genes if gene not in ("VDR", "CYP3A4")))
    one = GraphWalks(hub.graph.view())
    nodes = hub.graph.view().nodes
    pattern = next(p for p in between(NodeType.DISEASE, NodeType.DRUG) if p.name == "target of the disease")
    reached = one.reached([nodes.number(node_id("psoriasis"))], pattern)
    aspirin, vedolizumab = (nodes.number(node_id(name)) for name in ("aspirin", "vedolizumab"))
    assert reached.count[aspirin] > reached.count[vedolizumab]
    assert reached.lift(aspirin) < reached.lift(vedolizumab)


# What is asked about


@pytest.mark.parametrize(
    ("goal", "says"),
    [
        ("find drugs for glorbitis", "names nothing"),
        ("", "names nothing"),
        ("why does psoriasis come with baldness", "knows one of them: psoriasis"),
        ("which pathways are near to skin", "No pattern leads from skin"),
    ],
)
def test_a_goal_that_is_not_understood_asks(roles, goal, says):
    with pytest.raises(UserError, match=says) as caught:
        roles.supervisor.plan(Aims(goal=goal))
    assert caught.value.advice
    hypotheses, (failed,) = made(roles, Aims(goal=goal))
    assert not hypotheses
    assert says in failed.message


def test_the_plan_says_what_was_understood_and_what_is_not_read(roles):
    plan = roles.supervisor.plan(Aims(goal="find drugs for psoriasis", attributes=["cheap"]))
    assert "psoriasis (disease)" in plan
    assert "drugs" in plan
    assert "attributes are kept and not read" in plan


# Walks against an independent count


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: f"{pattern.name} {pattern.nodes[0]}")
def test_paths_are_counted_as_by_hand(knowledge, pattern: BridgePattern):
    view, walks = knowledge.graph.view(), GraphWalks(knowledge.graph.view())
    links = [(node_id(a), kind, node_id(b)) for a, kind, b in EDGES]
    silent = node_id("CYP3A4")

    def paths(at: str, place: int) -> list[tuple[str, ...]]:
        if place == len(pattern.edges):
            return [(at,)]
        near = {b if a == at else a for a, kind, b in links if at in (a, b) and kind in pattern.edges[place]}
        met = TARGET in pattern.edges[place : place + 2]
        kind = pattern.nodes[place + 1].value
        fitting = [n for n in near if n.startswith(f"{kind}:") and not (n == silent and met)]
        return [(at, *rest) for n in fitting for rest in paths(n, place + 1)]

    for name in NAMES.get(pattern.nodes[0], ()):
        start = node_id(name)
        ends = [way[-1] for way in paths(start, 0) if start not in way[1:]]
        reached = walks.reached([view.nodes.number(start)], pattern)
        for number in range(len(view.nodes)):
            assert reached.count[number] == pytest.approx(ends.count(view.nodes.id(number)))
            assert (reached.amount[number] > 0) == (reached.count[number] > 0)
            simple = [w for w in paths(start, 0) if w[-1] == view.nodes.id(number) and len(set(w)) == len(w)]
            found = walks.ways([view.nodes.number(start)], number, pattern, 50)
            assert {tuple(map(view.nodes.id, way)) for way in found} == set(simple)


def test_every_pattern_has_a_claim_for_its_ends():
    assert all(pattern.ends in KINDS for pattern in PATTERNS)
    assert all(len(pattern.edges) == len(pattern.nodes) - 1 for pattern in PATTERNS)


# Reviews and comparisons


def test_a_review_scores_all_criteria_and_says_why(roles):
    hypotheses, _ = made(roles, DRUGS)
    for review in roles.reviewer.review(DRUGS, Guidance(), hypotheses):
        assert set(review.scores) == set(review.feedback) == set(CRITERIA)
        assert all(review.feedback.values())
        assert review.advice
        assert review.reflection_reason


def reviewed(roles, text, **more):
    one = Hypothesis(id="u", text=text, method="user", **more)
    return roles.reviewer.review(DRUGS, Guidance(), [one])[0]


def test_what_the_graph_states_is_no_news(roles):
    review = reviewed(roles, "Natalizumab treats psoriasis.")
    assert review.reflection == "already_explained"
    assert review.scores["novelty"] <= 2
    assert reviewed(roles, "Vedolizumab treats psoriasis.").scores["novelty"] > 2


def test_one_more_drug_of_a_class_in_use_is_less_new_than_one_with_a_path_of_its_own(tmp_path):
    roles = roles_by_rules(made_knowledge(tmp_path, ("beta blocker", "includes", "warfarin")))
    more = reviewed(roles, "Warfarin treats glaucoma.")
    assert more.scores["novelty"] == 4
    assert "drugs that treat it already (timolol)" in more.feedback["novelty"]
    own = [
        ("beta blocker", "includes", "warfarin"),
        ("warfarin", "binds", "VDR"),
        ("VDR", "associated_with", "glaucoma"),
    ]
    other = reviewed(roles_by_rules(made_knowledge(tmp_path / "own", *own)), "Warfarin treats glaucoma.")
    assert "2 kinds of path lead near it" in other.feedback["novelty"]


def test_what_the_graph_denies_is_disproved(roles):
    review = reviewed(roles, "Timolol treats asthma.")
    assert review.reflection == "disproved"
    assert review.scores["scientific_soundness"] == 1


def test_a_path_that_is_not_in_the_graph_counts_for_nothing_and_is_told(roles):
    invented = EvidenceItem(kind="path", says="x", nodes=[node_id("aspirin"), node_id("psoriasis")], edges=["treats"],
                            strength=1.0)  # fmt: skip
    real = invented.model_copy(
        update={
            "nodes": [node_id(n) for n in ("vedolizumab", "ITGA4", "psoriasis")],
            "edges": ["inhibits", "associated_with"],
        }
    )
    false, true = (reviewed(roles, "Vedolizumab treats psoriasis.", support=[item]) for item in (invented, real))
    assert "not in the graph" in false.concerns
    assert not true.concerns
    assert true.scores["scientific_soundness"] > false.scores["scientific_soundness"]


def test_fifty_pages_are_no_hypothesis_and_one_word_neither(roles):
    assert reviewed(roles, "psoriasis and TNF " * 10_000).scores["clarity"] == 1
    assert reviewed(roles, "TNF").scores["clarity"] <= 3


def test_a_hypothesis_that_names_nothing_of_the_goal_is_less_relevant(roles):
    assert (
        reviewed(roles, "Colchicine binds MAPT in malaria.").scores["relevance"]
        < reviewed(roles, "Metformin treats psoriasis.").scores["relevance"]
    )


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=300))
def test_any_text_can_be_reviewed(roles, text):
    review = reviewed(roles, text)
    assert all(1 <= score <= 10 for score in review.scores.values())


def test_the_judge_does_not_mind_the_order_and_prefers_the_better_reviewed(roles):
    hypotheses, _ = made(roles, DRUGS)
    reviews = roles.reviewer.review(DRUGS, Guidance(), hypotheses)
    assert sum(WEIGHTS.values()) == pytest.approx(1)
    for one, other in pairwise(hypotheses):
        there = roles.judge.judge(DRUGS, Guidance(), one, other, reviews)
        back = roles.judge.judge(DRUGS, Guidance(), other, one, reviews)
        assert there.score == pytest.approx(1 - back.score, abs=1e-3)
        assert set(there.criteria) == set(MATCH_CRITERIA)
        assert there.reason.endswith(".")
    weak = Hypothesis(id="w", text="Something may do something somewhere.", method="user")
    match = roles.judge.judge(DRUGS, Guidance(), hypotheses[0], weak, [])
    assert match.score > 0.75
    assert match.confidence == "high"


def test_equal_evidence_is_a_tie_of_low_confidence(roles):
    one = Hypothesis(id="a", text="Metformin treats psoriasis.", method="user")
    match = roles.judge.judge(DRUGS, Guidance(), one, one.model_copy(update={"id": "b"}), [])
    assert (match.score, match.confidence) == (0.5, "low")
    with pytest.raises(ItemFailed):
        roles.judge.judge(DRUGS, Guidance(), one, one, [])


# Rewriting


@pytest.mark.parametrize("how", EVOLUTIONS)
def test_a_rewritten_hypothesis_is_another_one_true_to_the_graph_or_is_refused(roles, knowledge, how):
    hypotheses, _ = made(roles, DRUGS)
    for one, other in pairwise(hypotheses):
        try:
            child = roles.evolver.evolve(DRUGS, Guidance(), [one, other], how, 0).hypothesis
        except ItemFailed:
            continue
        assert child.text not in (one.text, other.text)
        assert child.parents[0] == one.id
        assert child.evolution == how
        assert all(is_true(item, knowledge.graph.view()) for item in child.support)


def test_two_drugs_of_different_ways_are_combined_and_of_one_way_not(roles):
    hypotheses, _ = made(roles, DRUGS)
    (one,), (other,) = about(hypotheses, "vedolizumab"), about(hypotheses, "metformin")
    child = roles.evolver.evolve(DRUGS, Guidance(), [one, other], "combine", 0).hypothesis
    assert "together" in child.text
    assert len(child.support) >= 2
    with pytest.raises(ItemFailed):
        roles.evolver.evolve(DRUGS, Guidance(), [one], "combine", 0)
    with pytest.raises(ItemFailed):
        roles.evolver.evolve(DRUGS, Guidance(), [], "simplify", 0)


def test_what_a_user_wrote_without_the_graph_cannot_be_rewritten_by_paths(roles):
    one = Hypothesis(id="u", text="The moon makes people sleepless.", method="user")
    for how in EVOLUTIONS:
        with pytest.raises(ItemFailed):
            roles.evolver.evolve(DRUGS, Guidance(), [one, one], how, 0)


def test_what_all_say_together_has_every_field(roles):
    hypotheses, _ = made(roles, DRUGS)
    reviews = roles.reviewer.review(DRUGS, Guidance(), hypotheses)
    for given_ in ((hypotheses, reviews), ([], [])):
        said = roles.meta_reviewer.meta_review(DRUGS, *given_, [], [], 2)
        assert all(getattr(said, name) for name in type(said).model_fields)
        assert said.round == 2


# The user's own results


CHANGED = [
    ChangedGene("IL6", True, 1e-5, 2.0, "run:r1#de.csv"),
    ChangedGene("STAT3", True, 1e-4, 1.5, "run:r1#de.csv"),
    ChangedGene("JAK2", True, 1e-3, 1.0, "run:r1#de.csv"),
    ChangedGene("NOSUCH", False, 1e-3, -1.0, "run:r1#de.csv"),
]


def test_changed_genes_lead_to_hypotheses_that_name_the_run(knowledge):
    roles = roles_by_rules(knowledge, changed=lambda aims: CHANGED)
    hypotheses, _ = made(roles, Aims(goal="which genes matter in asthma"))
    own = [one for one in hypotheses if any(item.kind == "finding" for item in one.support)]
    assert any("in your data it is higher" in one.text and node_id("IL6") in one.entities for one in own)
    assert {item.source for one in own for item in one.support if item.kind == "finding"} == {"run:r1#de.csv"}
    meet = [one for one in own if one.text.startswith("cytokine signalling is where your data and asthma meet")]
    assert meet
    assert "TNF" in meet[0].text


def test_a_drug_against_the_changes_is_proposed_when_it_undoes_more_than_it_adds(tmp_path):
    knowledge = made_knowledge(tmp_path, ("aspirin", "downregulates", "IL6"), ("aspirin", "downregulates", "STAT3"))
    hypotheses, _ = made(roles_by_rules(knowledge, changed=lambda aims: CHANGED), Aims(goal="what could help in gout"))
    (one,) = [one for one in hypotheses if "undo part of the change" in one.text]
    assert one.entities[0] == node_id("aspirin")
    assert "moves 2 of the changed genes back (IL6 and STAT3) and 0 of them further" in one.text


def stored(
    tmp_path,
    status="succeeded",
    table="feature,log2_fold_change,p_adj\nIL6,2.0,0.001\nTNF,-1,0.2\nCRP,,0.01\nXDH,-3,0.0001\n",
):
    path = tmp_path / "de.csv"
    path.write_text(table)
    artifact = SimpleNamespace(type="de_table", sha256="s", name="de.csv")
    run = SimpleNamespace(run_id="r1", status=status, data=["/data/counts.csv"])
    runs = SimpleNamespace(
        runs=lambda **_: [run], results=lambda _: {"n": SimpleNamespace(status="succeeded", artifacts=[artifact])}
    )
    return runs, SimpleNamespace(has=lambda _: True, path=lambda _: path)


def test_changed_genes_are_read_from_the_tables_of_finished_runs(tmp_path):
    found = changed_genes(*stored(tmp_path), ["counts.csv"])
    assert [(gene.name, gene.up, gene.source) for gene in found] == [
        ("XDH", False, "run:r1#de.csv"), ("IL6", True, "run:r1#de.csv")
    ]  # fmt: skip
    assert changed_genes(*stored(tmp_path), ["other.csv"]) == []
    assert changed_genes(*stored(tmp_path, status="failed")) == []
    assert changed_genes(*stored(tmp_path, table="a,b\n1,2\n")) == []


def test_a_file_that_measures_a_gene_gives_a_question(tmp_path, knowledge):
    rng = np.random.default_rng(0)
    rows = "\n".join(f"{'case' if n % 2 else 'control'},{rng.normal():.3f}" for n in range(40))
    path = tmp_path / "trial.csv"
    path.write_text(f"group,ITGA4\n{rows}\n")
    at_hand = DataAtHand([profile_file(path)])
    assert at_hand.test_of(["TNF"]) is None
    assert at_hand.test_of(["TNF", "itga4"]) == ("Does ITGA4 differ by group?", ["trial.csv"])
    roles = roles_by_rules(knowledge, at_hand=lambda aims: at_hand)
    (one,) = about(made(roles, DRUGS)[0], "vedolizumab")
    assert [p.question for p in one.predictions] == ["", "Does ITGA4 differ by group?"]
    (review,) = roles.reviewer.review(DRUGS, Guidance(), [one])
    assert "trial.csv" in review.feedback["testability"]
    assert review.scores["testability"] == 10


def test_samples_that_a_sheet_describes_give_a_question(tmp_path):
    names = [f"S{n}" for n in range(12)]
    rng = np.random.default_rng(1)
    genes = ["TNF", "IL6", "ITGA4", "CRP", "VDR", "STAT3", "JAK2", "KRT16", "MAPT", "APOE", "TP53", "EGFR"]
    rows = "\n".join(f"{gene},{','.join(f'{v:.3f}' for v in rng.normal(8, 1, 12))}" for gene in genes)
    (tmp_path / "expression.csv").write_text(f"gene,{','.join(names)}\n{rows}\n")
    sheet = "\n".join(f"{name},{'case' if n % 2 else 'control'}" for n, name in enumerate(names))
    (tmp_path / "samples.csv").write_text(f"sample,group\n{sheet}\n")
    at_hand = DataAtHand([profile_file(tmp_path / name) for name in ("expression.csv", "samples.csv")])
    assert at_hand.test_of(["ITGA4"]) == ("Does ITGA4 differ by group?", ["expression.csv", "samples.csv"])


def test_what_the_goal_goes_without_is_left_out(roles):
    asked = read_goal(Aims(goal="find drugs for psoriasis without metformin"), roles.supervisor.knowledge)
    assert [node.id for node in asked.named] == [node_id("psoriasis")]
    assert asked.left_out == {node_id("metformin")}
    assert not about(made(roles, Aims(goal="find drugs for psoriasis without metformin"))[0], "metformin")
    kept = read_goal(Aims(goal="why do some not respond to natalizumab in psoriasis"), roles.supervisor.knowledge)
    assert not kept.left_out


def test_what_no_pattern_joins_is_joined_by_the_best_path_of_another_kind(tmp_path):
    knowledge = made_knowledge(tmp_path, ("aspirin", "upregulates", "MAPT"))
    (one, *_), _ = made(roles_by_rules(knowledge), Aims(goal="how could aspirin affect malaria"))
    assert one.text.startswith("Aspirin affects malaria through MAPT")
    assert [item.edges for item in one.support] == [["upregulates", "associated_with"]]


def test_what_cannot_be_left_out_is_said(roles):
    plan = roles.supervisor.plan(
        Aims(goal="find drugs for psoriasis without herbals", constraints=["avoid expensive things"])
    )
    assert "Nothing that the graph knows is named in 'without herbals' and 'avoid expensive things'" in plan
    assert "leaves nothing out" not in roles.supervisor.plan(Aims(goal="find drugs for psoriasis without metformin"))


def test_what_no_data_can_test_is_sharpened_by_its_dose(roles):
    (one,) = about(made(roles, Aims(goal="find drugs for psoriasis"))[0], "vedolizumab")
    child = roles.evolver.evolve(DRUGS, Guidance(), [one], "make_testable", 0).hypothesis
    assert child.text.endswith("its effect grows with the dose of vedolizumab.")
    assert len(child.predictions) == len(one.predictions) + 1
    assert "no more than the lowest" in child.predictions[-1].contradicted_by


def test_grounding_names_a_path_that_was_not_named(roles):
    (one,) = about(made(roles, Aims(goal="find drugs for psoriasis"))[0], "vedolizumab")
    bare = one.model_copy(update={"support": one.support[:1]})
    child = roles.evolver.evolve(DRUGS, Guidance(), [bare], "ground", 0).hypothesis
    assert len(child.support) > 1
    assert child.support[-1].says.removesuffix(".") in child.explanation


def test_drugs_of_one_disease_are_tried_in_another_and_no_others(tmp_path):
    knowledge = made_knowledge(tmp_path, ("timolol", "inhibits", "ITGA4"))
    roles = roles_by_rules(knowledge)
    every, _ = made(roles, Aims(goal="find drugs that could help in psoriasis"))
    assert len({one.entities[0] for one in every}) > 1
    goal = "which drugs for glaucoma could help in psoriasis"
    asked = read_goal(Aims(goal=goal), knowledge)
    assert ([node.name for node in asked.named], asked.of and asked.of.name) == (["psoriasis"], "glaucoma")
    found, _ = made(roles, Aims(goal=goal))
    assert found
    assert {one.entities[0] for one in found} == {node_id("timolol")}
    assert "only those are taken that the graph states to help in glaucoma" in roles.supervisor.plan(Aims(goal=goal))
    with pytest.raises(UserError, match="no drug that treats scurvy"):
        read_goal(Aims(goal="which drugs for scurvy could help in psoriasis"), knowledge)


@pytest.mark.parametrize("goal", ["find drugs for asthma and psoriasis", "drugs for asthma, or for psoriasis"])
def test_drugs_for_two_diseases_are_sought_for_both(knowledge, goal):
    asked = read_goal(Aims(goal=goal), knowledge)
    assert (len(asked.named), asked.of) == (2, None)


@pytest.mark.parametrize(
    ("goal", "sought"),
    [
        ("Which approved drug for another disease could ease psoriasis?", (NodeType.DRUG,)),
        ("which drugs used in other diseases might treat psoriasis", (NodeType.DRUG,)),
        ("in which other diseases could metformin help", (NodeType.DISEASE,)),
        ("could metformin help in other diseases", (NodeType.DISEASE,)),
    ],
)
def test_where_a_drug_is_in_use_already_is_not_what_is_sought(knowledge, goal, sought):
    assert read_goal(Aims(goal=goal), knowledge).sought == sought


def test_part_of_the_name_of_a_disease_is_asked_about(knowledge):
    with pytest.raises(UserError, match="'diabetes' alone is no name in the knowledge graph; near are type 2 diabetes"):
        read_goal(Aims(goal="which medicines for diabetes could help in psoriasis"), knowledge)
    assert read_goal(Aims(goal="which medicines maybe help patients with psoriasis, honestly"), knowledge).named
