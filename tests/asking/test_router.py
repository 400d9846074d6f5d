"""The rule-based router: the one strategy there is, its reasons, and a sentence for the others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.asking.router import require_question, route
from engine.domain.datatypes import DataType
from engine.domain.profile import Profile, TypeGuess
from engine.errors import UserError


def a_profile(kind: DataType | None) -> Profile:
    types = [TypeGuess(type=kind, confidence=0.9)] if kind else []
    return Profile(path="/f", name="f", format="csv", bytes=1, sha256="0" * 64, types=types, summary="")


@pytest.mark.parametrize("strategy", ["react", "mcts", "panel", "tournament", "anything"])
def test_a_strategy_this_version_lacks_is_refused_by_name(strategy):
    with pytest.raises(UserError, match=f"'{strategy}' is not available") as caught:
        require_question("Which genes differ?", strategy=strategy)
    assert "--strategy dag" in caught.value.advice


def test_a_forced_strategy_is_certain_and_says_that_it_was_forced():
    chosen = route("Which genes differ?", [], forced="dag")
    assert (chosen.strategy, chosen.confidence, chosen.method) == ("dag", 1.0, "forced")


def test_data_raise_the_confidence_and_are_a_reason():
    without = route("Which genes differ?", [])
    chosen = route("Which genes differ?", [a_profile(DataType.COUNT_MATRIX), a_profile(DataType.SAMPLE_SHEET)])
    assert chosen.confidence > without.confidence
    assert "2 data files came with it." in chosen.reasons
    assert chosen.method == "heuristic"


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
    assert domain in route(question, [a_profile(kind)]).domains


def test_a_domain_is_named_once():
    domains = route("RNA-seq: which genes differ?", [a_profile(DataType.COUNT_MATRIX)]).domains
    assert domains.count("transcriptomics") == 1


def test_more_asked_is_more_complex():
    short = route("Compare the groups", [])
    long = route("Compare the groups, then correlate age with weight, and finally plot it; also test the trend.", [])
    assert long.estimated_steps > short.estimated_steps
    assert long.complexity > short.complexity


@given(st.text(max_size=200), st.lists(st.sampled_from([*DataType, None]), max_size=4))
def test_any_question_gets_a_route_within_bounds(question, kinds):
    chosen = route(question, [a_profile(kind) for kind in kinds])
    assert 0 <= chosen.complexity <= 1
    assert 0 <= chosen.confidence <= 1
    assert chosen.estimated_steps >= 1
    assert chosen.reasons
