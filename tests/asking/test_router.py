"""The router: what came with a question first, then the examples, then a second opinion; its reasons, and refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.asking.route_model import described, examples, model, shares, sources_hash
from engine.asking.router import HERE, SURE, WAYS, Router, by_name, require_question
from engine.domain.datatypes import DataType
from engine.domain.profile import Profile, TypeGuess
from engine.domain.results import Route
from engine.errors import ModelUnavailable, UserError

ROUTER = Router()
VAGUE = "Something on the thing, I suppose."


def a_profile(kind: DataType | None) -> Profile:
    types = [TypeGuess(type=kind, confidence=0.9)] if kind else []
    return Profile(path="/f", name="f", format="csv", bytes=1, sha256="0" * 64, types=types, summary="")


@pytest.mark.parametrize("strategy", ["panel", "tournament", "anything"])
def test_a_strategy_this_version_lacks_is_refused_by_name_with_what_is_done_instead(strategy):
    with pytest.raises(UserError, match=f"'{strategy}'.* is not available") as caught:
        require_question("Which genes differ?", strategy=strategy)
    assert "--strategy auto, dag, react or mcts" in caught.value.advice


@pytest.mark.parametrize("strategy", sorted(HERE))
def test_a_forced_strategy_is_certain_and_says_that_it_was_forced(strategy):
    chosen = ROUTER.route("Which genes differ?", forced=strategy)
    assert (chosen.strategy, chosen.confidence, chosen.method) == (strategy, 1.0, "forced")


def test_data_raise_the_confidence_and_are_a_reason():
    chosen = ROUTER.route("Which genes differ?", [a_profile(DataType.COUNT_MATRIX), a_profile(DataType.SAMPLE_SHEET)])
    assert (chosen.strategy, chosen.method) == ("dag", "heuristic")
    assert chosen.confidence > ROUTER.route(VAGUE).confidence
    assert "2 data files came with it." in chosen.reasons


def test_what_a_search_for_links_answers_is_routed_to_it():
    assert ROUTER.route("which drugs might treat gout?", sought=True).strategy == "mcts"


def test_what_a_look_up_answers_is_routed_to_look_ups():
    assert ROUTER.route("is that significant?", told=True).strategy == "react"


def test_files_that_came_with_another_kind_of_task_leave_doubt_and_say_so():
    files = [a_profile(DataType.SAMPLE_SHEET)]
    chosen = ROUTER.route("Propose rival hypotheses that explain why growth rose, and rank them", files)
    assert chosen.strategy == "dag"
    assert chosen.confidence < SURE
    assert WAYS["tournament"] in " ".join(chosen.reasons)


@pytest.mark.parametrize(
    ("question", "strategy"),
    [
        ("Which strand is the gene for haemoglobin beta on?", "react"),
        ("find all targets of gefitinib in the graph", "react"),
        ("Compare weight between the arms, then draw a box plot and report the effect size", "dag"),
        ("Test the hypothesis that litters differ in birth weight in pups.csv", "dag"),
        ("Which combination of the seven settings should we try next to get the most cells?", "mcts"),
        ("Brief me on antifungal resistance with sources for and against", "panel"),
        ("Propose hypotheses for why the frogs came back, and rank them", "tournament"),
    ],
)
def test_the_intent_counts_and_not_one_word(question, strategy):
    assert ROUTER.route(question).strategy == strategy


@pytest.mark.parametrize(
    ("question", "kind", "domain"),
    [
        ("Which genes are differentially expressed?", None, "transcriptomics"),
        ("Which pathways are enriched?", None, "functional genomics"),
        ("Which cell types are in the blood?", None, "single-cell"),
        ("Do patients live longer?", None, "clinical"),
        ("Is x correlated with y?", None, "statistics"),
        ("What is in this?", DataType.ANNDATA, "single-cell"),
        ("What is in this?", DataType.SURVIVAL_TABLE, "clinical"),
    ],
)
def test_domains_come_from_the_words_and_the_data(question, kind, domain):
    assert domain in ROUTER.route(question, [a_profile(kind)]).domains


def test_a_domain_is_named_once():
    domains = ROUTER.route("RNA-seq: which genes differ?", [a_profile(DataType.COUNT_MATRIX)]).domains
    assert domains.count("transcriptomics") == 1


def test_more_asked_is_more_complex():
    short = by_name("Compare the groups", "dag")
    long = by_name("Compare the groups, then correlate age with weight, and finally plot it; test the trend.", "dag")
    assert long.estimated_steps > short.estimated_steps
    assert long.complexity > short.complexity


@given(st.text(max_size=200), st.lists(st.sampled_from([*DataType, None]), max_size=4))
def test_any_question_gets_a_route_within_bounds(question, kinds):
    chosen = ROUTER.route(question, [a_profile(kind) for kind in kinds])
    assert 0 <= chosen.complexity <= 1
    assert 0 <= chosen.confidence <= 1
    assert chosen.estimated_steps >= 1
    assert chosen.reasons


# ==== the second opinion ====


def opinion(asked: list[Route], answer: Route | None):
    def second(question, ways, guess):
        assert set(ways) == set(WAYS)
        asked.append(guess)
        return answer

    return second


def test_a_model_is_asked_in_doubt_only_and_its_answer_counts():
    asked: list[Route] = []
    by_model = Route(strategy="panel", confidence=0.9, method="model", reasons=["It wants views."])
    router = Router(second=opinion(asked, by_model))
    assert router.route(VAGUE) == by_model
    assert len(asked) == 1
    assert asked[0].confidence < SURE
    assert router.route("Brief me on antifungal resistance with sources for and against").method == "heuristic"
    assert router.route(VAGUE, forced="dag").method == "forced"
    assert len(asked) == 1


def test_without_an_answer_of_the_model_the_examples_decide():
    router = Router(second=opinion([], None))
    assert router.route(VAGUE) == ROUTER.route(VAGUE)


# ==== the examples and what was fitted to them ====


def test_the_shipped_model_was_trained_on_the_examples_as_they_are():
    assert model().sources == sources_hash(), "run `make router`"


def test_the_examples_are_of_all_strategies_and_none_stands_twice():
    found = list(examples())
    tasks = [example.task.casefold() for example in found]
    assert len(set(tasks)) == len(tasks)
    assert {example.strategy for example in found} == set(WAYS)
    least = min(sum(example.strategy == name for example in found) for name in WAYS)
    assert least >= 150


def test_shares_are_the_softmax_of_the_weighed_features():
    m, task = model(), "Which media composition is to be tried next?"
    names = [name for name in described(task) if name in m.vocabulary]
    counts = {name: names.count(name) for name in names}
    row = np.zeros(len(m.vocabulary))
    for name, count in counts.items():
        row[m.vocabulary[name]] = (1 + np.log(count)) * m.idf[m.vocabulary[name]]
    scores = (row / np.linalg.norm(row) @ m.alone.words + m.alone.bias) / m.alone.temperature
    wanted = np.exp(scores) / np.exp(scores).sum()
    assert list(shares(task, None).strategies.values()) == pytest.approx(list(wanted), abs=1e-4)


def test_a_file_is_a_file_whatever_it_is_called():
    assert described("how many rows has otters.csv") == described("how many rows has Plot_7.xlsx")


def test_without_vectors_words_decide_and_no_field_is_guessed():
    def gone(texts):
        raise ModelUnavailable("not here")

    assert shares(VAGUE, gone) == shares(VAGUE, None)
    assert shares(VAGUE, None).fields == {}
