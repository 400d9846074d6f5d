"""Claims that a model read: held against the text, looked up by the same code, and left to the trained models without one."""

from __future__ import annotations

import pytest
from claims_graph import small_graph
from pydantic import ValidationError

from engine.domain.knowledge import ToldClaim
from engine.knowledge.grounding.check import check_text
from engine.knowledge.linking.linker import EntityLinker

VIEW = small_graph()
LINKER = EntityLinker(VIEW)
TEXT = "Simvastatin holds on to HMGCR, and CAT has no place in the liver."


def told(quote: str, subject: str, relation: str, object_: str, **more: bool) -> ToldClaim:
    return ToldClaim.model_validate(
        {"quote": quote, "subject": subject, "relation": relation, "object": object_, **more}
    )


def check(*claims: ToldClaim, text: str = TEXT):
    return check_text(text, VIEW, LINKER, lambda text, names: (claims, "lab/m"))


def test_the_graph_says_what_it_says_whoever_read_the_claim():
    found = check(
        told("Simvastatin holds on to HMGCR", "Simvastatin", "binds", "HMGCR"),
        told("CAT has no place in the liver", "CAT", "expressed_in", "liver", denied=True),
    )
    assert [claim.label for claim in found.claims] == ["grounded", "contradicted"]
    assert found.read_by == "lab/m"
    plain = check_text("Simvastatin binds HMGCR. CAT is not expressed in the liver.", VIEW, LINKER)
    assert [claim.evidence for claim in plain.claims] == [claim.evidence for claim in found.claims]
    assert plain.read_by == ""


@pytest.mark.parametrize(
    "claim",
    [
        told("Simvastatin binds HMGCR", "Simvastatin", "binds", "HMGCR"),  # not its words
        told("Simvastatin holds on to HMGCR", "Simvastatin", "binds", "CAT"),  # not in these words
        told("Simvastatin holds on to HMGCR", "Lovastatin", "binds", "HMGCR"),
        told("Simvastatin holds on to HMGCR", "HMGCR", "binds", "HMGCR"),
        told("", "Simvastatin", "binds", "HMGCR"),
    ],
)
def test_what_the_text_does_not_hold_is_no_claim_and_is_told(claim):
    found = check(claim)
    assert found.claims == []
    assert len(found.unclaimed) == 1
    assert "A model reads" in found.unclaimed[0].why


def test_one_claim_told_twice_counts_once_and_blanks_do_not_matter():
    claim = told("Simvastatin  holds on\nto HMGCR", "simvastatin", "binds", "hmgcr")
    assert len(check(claim, claim).claims) == 1


def test_relations_of_tools_are_no_claims():
    with pytest.raises(ValidationError, match="one of these relations"):
        told("x", "a", "requires_tool", "b")


def test_without_an_answer_the_trained_models_read():
    text = "Simvastatin binds HMGCR."
    assert check_text(text, VIEW, LINKER, lambda text, names: None).claims == check_text(text, VIEW, LINKER).claims
