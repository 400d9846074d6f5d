"""The scripted language model that other tests lean on."""

from __future__ import annotations

import pytest

from engine.adapters.fakes import ScriptedModel
from engine.errors import ModelUnavailable
from engine.ports.chat import ChatMessage, ChatModel, ChatReply

HELLO = [ChatMessage(role="user", content="Which tool aligns reads?")]


def test_answers_come_in_order_and_questions_are_kept() -> None:
    model: ChatModel = ScriptedModel(["bwa", {"tools": ["bwa"]}, ChatReply(text="as it is", prompt_tokens=7)])
    assert model.complete(HELLO).text == "bwa"
    assert model.complete(HELLO, role="fast", schema={"type": "object"}).data == {"tools": ["bwa"]}
    assert model.complete(HELLO).prompt_tokens == 7
    with pytest.raises(ModelUnavailable, match="no answer left for question 4"):
        model.complete(HELLO)
    assert isinstance(model, ScriptedModel)
    assert [asked.role for asked in model.asked] == ["reasoning", "fast", "reasoning", "reasoning"]
    assert model.asked[1].schema == {"type": "object"}
    assert model.asked[0].messages == tuple(HELLO)


def test_answers_may_be_errors_functions_and_json_texts() -> None:
    model = ScriptedModel([ModelUnavailable("quota"), lambda messages: messages[0].content.upper(), '{"a": 1}', "no"])
    with pytest.raises(ModelUnavailable, match="quota"):
        model.complete(HELLO)
    assert model.complete(HELLO).text == "WHICH TOOL ALIGNS READS?"
    assert model.complete(HELLO, schema={}).data == {"a": 1}
    with pytest.raises(ModelUnavailable, match="did not answer in JSON"):
        model.complete(HELLO, schema={})


def test_tokens_are_counted_only_when_asked_for() -> None:
    assert ScriptedModel().count_tokens("three short words") is None
    assert ScriptedModel(counts_tokens=True).count_tokens("three short words") == 3
