"""The scripted language model that other tests lean on."""

from __future__ import annotations

import pytest

from engine.adapters.fakes import ScriptedModel
from engine.errors import BrokenAnswer, ModelCancelled, ModelUnavailable
from engine.ports.models.chat import ChatMessage, ChatProvider, ChatReply, ChatRequest, TextPiece
from engine.runs.cancel import CancelSource

HELLO = [ChatMessage(role="user", content="Which tool aligns reads?")]


def said(model: ChatProvider, schema: dict | None = None) -> str:
    *_, whole = model.stream(ChatRequest(messages=tuple(HELLO), schema=schema))
    assert isinstance(whole, ChatReply)
    return whole.text


def test_answers_come_in_order_and_questions_are_kept() -> None:
    model = ScriptedModel(["bwa", {"tools": ["bwa"]}, ChatReply(text="as it is", prompt_tokens=7)])
    assert said(model) == "bwa"
    assert said(model, {"type": "object"}) == '{"tools": ["bwa"]}'
    assert said(model) == "as it is"
    with pytest.raises(ModelUnavailable, match="no answer left for question 4"):
        said(model)
    assert model.asked[1].schema == {"type": "object"}
    assert model.asked[0].messages == tuple(HELLO)


def test_answers_may_be_errors_and_functions() -> None:
    model = ScriptedModel([ModelUnavailable("quota"), lambda messages: messages[0].content.upper()])
    with pytest.raises(ModelUnavailable, match="quota"):
        said(model)
    assert said(model) == "WHICH TOOL ALIGNS READS?"


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
