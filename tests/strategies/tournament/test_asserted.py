"""What a hypothesis asserts decides whether it is news, what denies it, and which evidence is evidence."""

from __future__ import annotations

import pytest
from bridges_graph import made_knowledge, node_id

from engine.agents.asks import ModelAnswer
from engine.domain.discovery.hypotheses import CRITERIA, Aims, AssertedLink, EvidenceItem, Hypothesis, HypothesisReview
from engine.domain.knowledge import EdgeType
from engine.strategies.tournament.bridges.asserted import read_links
from engine.strategies.tournament.bridges.placing import Placing
from engine.strategies.tournament.by_models.drafts import ModelLink
from engine.strategies.tournament.by_models.role_set import roles_by_models
from engine.strategies.tournament.by_rules.role_set import roles_by_rules
from engine.strategies.tournament.roles import Drafted, Guidance

GOAL = Aims(goal="find drugs for psoriasis")
PREDICTIONS = [{"says": "It falls.", "contradicted_by": "It stays."}]


class Answers:
    """Models that answer in turn."""

    def __init__(self, *answers) -> None:
        self.answers, self.asked = list(answers), list[str]()

    def ask(self, role, system, user, answer, *, purpose, run_id=""):
        self.asked.append(user)
        return ModelAnswer(value=answer.model_validate(self.answers.pop(0)), model="scripted/one")


@pytest.fixture(scope="module")
def knowledge(tmp_path_factory):
    return made_knowledge(tmp_path_factory.mktemp("graph"))


def link(subject, relation, object_, **more):
    return AssertedLink(subject=node_id(subject), relation=EdgeType(relation), object=node_id(object_), **more)


def said(text, *links, **more):
    return Hypothesis(id="h", text=text, method="debate", by="some/model", asserts=list(links), **more)


def by_rules(knowledge, one) -> HypothesisReview:
    return roles_by_rules(knowledge).reviewer.review(GOAL, Guidance(), [one])[0]


def by_model(knowledge, one, score=9) -> HypothesisReview:
    answer = {"number": 1, **{name: {"score": score, "why": "Because."} for name in CRITERIA}}
    made = roles_by_models(Answers({"reviews": [answer]}), knowledge)
    return made.roles.reviewer.review(GOAL, Guidance(), [one])[0]


# What is news


def test_a_known_pair_in_the_text_is_not_the_claim(knowledge):
    text = "Natalizumab, which treats psoriasis, lowers gout by acting on XDH."
    one = said(text, link("natalizumab", "treats", "gout", through=[node_id("XDH")]))
    review = by_model(knowledge, one)
    assert review.scores["novelty"] == 9
    assert "already" not in review.reflection_reason
    assert by_rules(knowledge, one).reflection != "already_explained"


@pytest.mark.parametrize("text", ["Natalizumab treats psoriasis through and through.", "Natalizumab treats psoriasis."])
def test_no_word_of_the_text_switches_the_check_off(knowledge, text):
    review = by_model(knowledge, Hypothesis(id="u", text=text, method="user"))
    assert review.reflection == "already_explained"
    assert review.scores["novelty"] <= 3


@pytest.mark.parametrize(
    "text",
    [
        "In psoriasis, natalizumab works only in patients with high JAK2.",
        "Natalizumab treats psoriasis only in women who smoke at night.",
        "Something may do something somewhere.",
        "Colchicine prevents gout flares in patients with obesity.",
    ],
)
def test_what_is_not_read_with_confidence_is_called_neither_known_nor_new(knowledge, text):
    one = Hypothesis(id="u", text=text, method="user")
    review = by_rules(knowledge, one)
    assert review.reflection not in ("already_explained", "disproved", "missing_piece")
    assert "not known" in review.feedback["novelty"]
    assert by_model(knowledge, one).scores["novelty"] == 9


def test_what_is_said_beyond_a_known_link_is_not_called_known(knowledge):
    steps = [node_id("JAK2")]
    review = by_rules(knowledge, said("It works by JAK2.", link("natalizumab", "treats", "psoriasis", through=steps)))
    assert review.reflection != "already_explained"
    assert (
        "the graph states that natalizumab treats psoriasis; whether what it says beyond" in review.feedback["novelty"]
    )


def test_a_name_that_the_graph_has_not_is_said(knowledge):
    one = said("Blorbimab treats psoriasis.", AssertedLink(subject="blorbimab", relation=EdgeType.TREATS, object="x"))
    assert "the graph has no blorbimab and x, so whether" in by_rules(knowledge, one).feedback["novelty"]


def test_the_sign_of_what_is_asserted_counts(knowledge):
    stated = said("Natalizumab inhibits ITGA4.", link("natalizumab", "inhibits", "ITGA4"))
    assert by_rules(knowledge, stated).reflection == "already_explained"
    for opposite in (link("natalizumab", "activates", "ITGA4"), link("natalizumab", "inhibits", "ITGA4", denied=True)):
        assert by_rules(knowledge, said("A b.", opposite)).reflection == "disproved"
    assert by_rules(knowledge, said("A b.", link("timolol", "treats", "asthma"))).reflection == "disproved"


def test_paths_that_speak_for_use_do_not_speak_for_harm(knowledge):
    placing = Placing(knowledge)
    use, harm = (said("A b.", link("vedolizumab", kind, "psoriasis")) for kind in ("treats", "causes"))
    assert placing.place(use).idea is not None
    assert placing.place(harm).idea is None


def test_what_rules_make_says_what_it_asserts(knowledge):
    roles = roles_by_rules(knowledge)
    (one,) = [
        d.hypothesis
        for d in roles.makers[0].make(GOAL, Guidance(), 20, 0)
        if isinstance(d, Drafted) and node_id("vedolizumab") in d.hypothesis.entities[:2]
    ]
    assert one.asserts == [link("vedolizumab", "treats", "psoriasis")]
    child = roles.evolver.evolve(GOAL, Guidance(), [one], "make_testable", 0).hypothesis
    assert child.asserts == one.asserts
    why = Aims(goal="why does psoriasis come with asthma")
    joined = roles.makers[0].make(why, Guidance(), 1, 0)[0].hypothesis
    assert joined.asserts[0].through == [node_id("TNF")]


# What models write


def drafted(knowledge, **more):
    draft = {"text": "Vedolizumab and natalizumab: the first treats psoriasis.", "predictions": PREDICTIONS, **more}
    turns = [{"text": "I say."}] * 4
    made = roles_by_models(Answers(*turns, {"hypotheses": [draft]}), knowledge)
    return made.roles.makers[0].make(GOAL, Guidance(), 1, 0)[0].hypothesis


def test_a_model_says_what_it_asserts_in_names_of_the_graph(knowledge):
    told = {"subject": "vedolizumab", "relation": "treats", "object": "Psoriasis", "through": ["ITGA4", "flibber"]}
    one = drafted(knowledge, asserts=[told])
    assert one.asserts == [link("vedolizumab", "treats", "psoriasis", through=[node_id("ITGA4"), "flibber"])]
    assert one.entities[:2] == [node_id("vedolizumab"), node_id("psoriasis")]


def test_a_relation_that_there_is_not_is_no_answer():
    for relation in ("loves", "cited_in"):
        with pytest.raises(ValueError, match="relation"):
            ModelLink.model_validate({"subject": "a", "relation": relation, "object": "b"})


# Which evidence is evidence


PATH = EvidenceItem(
    kind="path", says="x", strength=1.0, nodes=[node_id(n) for n in ("vedolizumab", "ITGA4", "psoriasis")],
    edges=["inhibits", "associated_with"],
)  # fmt: skip
BESIDE = PATH.model_copy(update={"nodes": [node_id("TNF"), node_id("asthma")], "edges": ["associated_with"]})
STEP = PATH.model_copy(update={"nodes": [node_id("vedolizumab"), node_id("ITGA4")], "edges": ["inhibits"]})


def test_evidence_beside_the_claim_is_context_and_counts_for_nothing(knowledge):
    claim = link("vedolizumab", "treats", "psoriasis", through=[node_id("ITGA4")])
    place = Placing(knowledge).place(said("A b.", claim, support=[PATH, BESIDE, STEP]))
    assert [item.nodes for item in place.speaking("for")] == [PATH.nodes, STEP.nodes]
    assert [item.nodes for item in place.speaking("context")] == [BESIDE.nodes]
    bare = claim.model_copy(update={"through": []})
    assert len(Placing(knowledge).place(said("A b.", bare, support=[STEP])).speaking("for")) == 0


def test_a_passage_supports_when_it_names_both_ends_of_a_step(knowledge):
    passages = [
        "Vedolizumab was given to patients with psoriasis and they improved.",
        "Patients with asthma were treated at home for several weeks.",
    ]
    aims = GOAL.model_copy(update={"literature": [" ".join(passages)]})
    told = {"subject": "vedolizumab", "relation": "treats", "object": "psoriasis"}
    draft = {"text": "Vedolizumab treats psoriasis.", "predictions": PREDICTIONS, "asserts": [told], "quotes": passages}
    made = roles_by_models(Answers({"hypotheses": [draft]}), knowledge, with_texts=True)
    (one,) = made.roles.makers[2].make(aims, Guidance(), 1, 0)
    assert [i.speaks for i in one.hypothesis.support if i.kind == "article"] == ["for", "context"]


def test_half_a_sentence_is_weighed_by_the_whole(knowledge):
    text = "Of 40 patients with psoriasis, most improved while vedolizumab was given. Nothing else was seen."
    told = {"subject": "vedolizumab", "relation": "treats", "object": "psoriasis"}
    quotes = ["most improved while vedolizumab was given", "while vedolizumab was given."]
    draft = {"text": "Vedolizumab treats psoriasis.", "predictions": PREDICTIONS, "asserts": [told], "quotes": quotes}
    made = roles_by_models(Answers({"hypotheses": [draft]}), knowledge, with_texts=True)
    (one,) = made.roles.makers[2].make(GOAL.model_copy(update={"literature": [text]}), Guidance(), 1, 0)
    articles = [item for item in one.hypothesis.support if item.kind == "article"]
    assert [(item.says, item.speaks) for item in articles] == [(text.partition(". ")[0] + ".", "for")]


def test_a_child_keeps_what_its_parent_found_as_context_where_it_claims_something_else(knowledge):
    parent = said("Vedolizumab treats psoriasis.", link("vedolizumab", "treats", "psoriasis"), support=[PATH])
    told = {"subject": "vedolizumab", "relation": "treats", "object": "leprosy"}
    draft = {
        "text": "Vedolizumab treats leprosy, as it does psoriasis.", "predictions": PREDICTIONS, "asserts": [told],
    }  # fmt: skip
    made = roles_by_models(Answers(draft), knowledge)
    child = made.roles.evolver.evolve(GOAL, Guidance(), [parent], "analogise", 0).hypothesis
    assert [item.speaks for item in child.support if item.nodes == PATH.nodes] == ["context"]


# What is read from a text


def test_a_person_s_hypothesis_is_read_by_a_model_that_counts(knowledge):
    text = "In people with gout, colchicine could also help against psoriasis."
    claim = {"quote": text, "subject": "colchicine", "relation": "treats", "object": "psoriasis"}
    made = roles_by_models(Answers({"claims": [claim]}), knowledge)
    assert made.asserted(text) == [link("colchicine", "treats", "psoriasis")]
    assert made.asks.calls == 1
    assert read_links(text, knowledge) == []  # without a model nobody is sure
