"""Which hypotheses say nearly the same: by words or vectors, never across what they speak of, never by a chain."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.domain.discovery.hypotheses import Hypothesis
from engine.strategies.tournament.by_rules.alike import alike, duplicates, similarities


def said(text, *entities, n=0):
    return Hypothesis(id=f"h{n}-{text[:5]}", text=text, method="user", entities=list(entities))


def vectors(*angles):
    """Return an embedder that gives these directions, in degrees."""
    return lambda texts: np.array([[np.cos(np.radians(a)), np.sin(np.radians(a))] for a in angles[: len(texts)]])


def test_the_same_words_are_the_same_idea_and_others_are_not():
    three = [
        said("TNF drives psoriasis in skin."),
        said("In skin TNF drives psoriasis."),
        said("Light makes mice sleepless."),
    ]
    assert alike(three, None, 0.85) == [0, 0, 1]


def test_one_template_about_two_drugs_is_two_ideas():
    texts = [
        said("Simvastatin could be of use against gout.", "d:s", "x:g"),
        said("Lovastatin could be of use against gout.", "d:l", "x:g"),
    ]
    assert alike(texts, vectors(0, 5), 0.85) == [0, 1]
    assert alike([one.model_copy(update={"entities": []}) for one in texts], vectors(0, 5), 0.85) == [0, 0]


def test_a_chain_of_small_steps_brings_no_two_ideas_together():
    found = alike([said(str(n), n=n) for n in range(4)], vectors(0, 25, 50, 75), 0.9)
    assert found == [0, 0, 1, 1]


def test_duplicates_name_what_they_repeat():
    three = [said("TNF drives psoriasis.", n=1), said("Light does.", n=2), said("TNF drives psoriasis!", n=3)]
    assert duplicates(three, None, 0.85) == {three[2].id: three[0].id}


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=40), max_size=7), st.floats(0, 1))
def test_every_two_of_a_cluster_are_as_similar_as_asked(texts, threshold):
    hypotheses = [said(text, n=n) for n, text in enumerate(texts)]
    similar, clusters = similarities(hypotheses, None), alike(hypotheses, None, threshold)
    assert len(clusters) == len(texts)
    assert np.allclose(similar, similar.T)
    assert ((similar >= 0) & (similar <= 1)).all()
    for a, one in enumerate(clusters):
        for b, other in enumerate(clusters):
            if one == other:
                assert similar[a, b] >= threshold - 1e-9
    assert sorted(set(clusters)) == list(range(len(set(clusters))))


@pytest.mark.parametrize("embed", [None, vectors()])
def test_nothing_has_no_clusters(embed):
    assert alike([], embed, 0.85) == []
