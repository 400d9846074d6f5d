"""The scripted language model that other tests lean on."""

from __future__ import annotations

import pytest

from engine.adapters.fakes import ScriptedModel
from engine.errors import BrokenAnswer, ModelCancelled, ModelUnavailable
from engine.ports.models.chat import ChatMessage, ChatModel, ChatProvider, ChatReply, ChatRequest, TextPiece
from engine.runs.cancel import CancelSource

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


def test_streamed_answers_come_word_by_word_and_then_whole() -> None:
    model: ChatProvider = ScriptedModel(["align with bwa"])
    *pieces, whole = model.stream(ChatRequest(messages=tuple(HELLO)))
    assert [piece.text for piece in pieces if isinstance(piece, TextPiece)] == ["align", " with", " bwa"]
    assert isinstance(whole, ChatReply)
    assert whole.text == "align with bwa"


def test_a_streamed_answer_can_break_off_or_be_stopped() -> None:
    model = ScriptedModel([BrokenAnswer("cut off", partial="half an"), "never said whole"])
    heard = []
    with pytest.raises(BrokenAnswer):
        heard += list(model.stream(ChatRequest(messages=tuple(HELLO))))
    cancel = CancelSource()
    said = model.stream(ChatRequest(messages=tuple(HELLO)), cancel=cancel)
    assert next(said) == TextPiece("never")
    cancel.cancel()
    with pytest.raises(ModelCancelled) as caught:
        next(said)
    assert caught.value.partial == "never"
