"""Prompts: every file declares what it uses, and its text is the one that was reviewed."""

from __future__ import annotations

from importlib.resources import files

import pytest

from engine.agents.prompt_files import load_prompt

REVIEWED = {
    "ask_for_harm": "17a8dd780748",
    "choose_graph_lookup": "4ad27961b553",
    "compare_hypotheses": "53d6fc6b51b6",
    "conclude_hypothesis": "0285db8db638",
    "debate_hypothesis": "f6b852eab62a",
    "judge_ends": "161251596c7a",
    "mend_step": "852a2f659928",
    "next_lookup": "b155f88f1f87",
    "plan_hypotheses": "9cc7c95383ec",
    "propose_ways": "b106f92238da",
    "rank_tools": "bec3f00558ce",
    "read_claims": "164251048149",
    "read_question": "3c604ba710bf",
    "review_hypotheses": "228691ccfa67",
    "review_run": "c2f09c6d8110",
    "rewrite_hypothesis": "8330383a1627",
    "route_task": "32abd572a7fb",
    "shorten_talk": "130ba8b10165",
    "sum_up_round": "09e65a249971",
    "write_answer": "e17e8e263a05",
    "write_code": "fa7f05cbab76",
}
"""Name -> the first 12 characters of the hash of the file: a change of a prompt is a change of behaviour, to be tried."""


def test_every_prompt_is_reviewed_as_it_stands():
    names = {path.name.removesuffix(".md") for path in files("engine.agents").joinpath("prompts").iterdir()}
    assert {name: load_prompt(name).sha256[:12] for name in names} == REVIEWED


@pytest.mark.parametrize("given", [{}, {"question": "q", "more": "m"}])
def test_a_prompt_takes_exactly_its_variables(given):
    with pytest.raises(ValueError, match="takes"):
        load_prompt("read_question").filled(**given)


def test_dollars_in_values_stay_as_they_are():
    prompt = load_prompt("read_question")
    values = dict.fromkeys(prompt.data | prompt.ours, "")
    _, user = load_prompt("read_question").filled(**{**values, "question": "cost in $files and $100"})
    assert "cost in $files and $100" in user
