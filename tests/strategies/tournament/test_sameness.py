"""Which hypotheses are one idea: rewording is, another gene or the opposite is not."""

from __future__ import annotations

import numpy as np
import pytest
from tournament_room import AIMS, Simulated, cast_of, played

from engine.domain.discovery.hypotheses import Bounds, Hypothesis
from engine.strategies.tournament.sameness import id_of, likeness_of_words, says_other
from engine.strategies.tournament.stages.nearness import clustered
from engine.strategies.tournament.standings import merged


def said(text: str) -> Hypothesis:
    return Hypothesis(id=id_of(text), text=text, method="user")


@pytest.mark.parametrize(
    ("one", "other", "differ"),
    [
        ("TP53 raises growth of tumours", "TP63 raises growth of tumours", True),
        ("The drug increases growth", "The drug decreases growth", True),
        ("The drug increases growth", "The drug does not increase growth", True),
        ("The drug increases growth of cells", "Growth of cells is increased by the drug", False),
        ("IL-6 promotes fibrosis", "Fibrosis is promoted by IL-6", False),
    ],
)
def test_other_names_and_opposites_are_other_ideas(one: str, other: str, differ: bool) -> None:
    assert says_other(said(one), said(other)) is differ


def test_entities_of_the_graph_decide_before_words() -> None:
    one = said("It helps").model_copy(update={"entities": ["gene:1"]})
    assert says_other(one, one.model_copy(update={"entities": ["gene:2"]}))


def test_likeness_is_one_with_itself_and_the_same_both_ways() -> None:
    texts = ["Collagen stiffens tissue", "Tissue is stiffened by collagen", "Insulin acts", ""]
    like = likeness_of_words([said(text or "x") for text in texts])
    assert np.allclose(like, like.T)
    assert np.allclose(np.diag(like)[:3], 1)
    assert like[0, 1] == pytest.approx(1)
    assert like[0, 2] == 0


def test_a_chain_of_small_steps_makes_no_cluster() -> None:
    like = np.array([[1, 0.9, 0.2], [0.9, 1, 0.9], [0.2, 0.9, 1]])
    assert clustered(like, 0.8) == [1, 1, 2]


def test_ids_are_the_same_for_the_same_words() -> None:
    assert id_of("A  is\nB") == id_of("a is b") != id_of("a is c")


def test_what_makers_say_twice_is_merged_and_what_a_user_wrote_stays() -> None:
    class Twice(Simulated):
        def make(self, aims, guidance, count, seed):
            made = super().make(aims, guidance, count, seed)
            text = ("Collagen stiffens tissue of lungs", "The tissue of lungs is stiffened by collagen")[seed % 2]
            return [one.model_copy(update={"hypothesis": said(text)}) for one in made]

    aims = AIMS.model_copy(update={"seeds": ["Of lungs the tissue is stiffened by collagen", "Insulin acts on sugar"]})
    view = played(cast_of(Twice(), evolver=None), Bounds(hypotheses=2, concurrency=1), aims=aims).ledger.view()
    into = merged(view.hypotheses, view.marks)
    mine = id_of(aims.seeds[0])
    assert len(view.hypotheses) == 4
    assert sorted(into.values()) == sorted([mine, mine, mine, id_of(aims.seeds[1])])
    assert {one.by for one in view.marks} == {"built-in"}
