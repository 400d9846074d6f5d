"""What is sent fits into what a model reads, and what must stay does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ContextTooLong
from engine.models.guard import cost, fit, input_budget, shortened
from engine.ports.models.chat import ChatMessage, ToolCall

SYSTEM = ChatMessage(role="system", content="Be exact. " * 20)
QUESTION = ChatMessage(role="user", content="Which genes change? " * 10)


def said(role, content: str) -> ChatMessage:
    return ChatMessage(role=role, content=content)


def step(number: int, result: str) -> list[ChatMessage]:
    call = ToolCall(id=f"t{number}", name="look", arguments="{}")
    return [
        ChatMessage(role="assistant", content="", tool_calls=(call,)),
        ChatMessage(role="tool", content=result, tool_call_id=call.id),
    ]


def test_the_budget_is_what_the_model_reads_less_a_share_of_its_answer():
    # 128,000 - min(16,384, 8,192) * 0.15 - 512 = 126,259.2
    assert input_budget(128_000, 16_384, 8_192) == 126_259
    assert input_budget(600, 4_096, 8_192) == 0


def test_what_fits_is_sent_as_it_is():
    messages = (SYSTEM, QUESTION)
    fitted = fit(messages, 10_000)
    assert (fitted.messages, fitted.note) == (messages, "")
    assert fitted.tokens == cost(SYSTEM) + cost(QUESTION)


def test_results_of_tools_are_shortened_first_and_the_oldest_most():
    messages = [SYSTEM, QUESTION, *step(1, "alpha " * 3000), *step(2, "omega " * 3000)]
    room = sum(map(cost, messages)) - 2000
    fitted = fit(messages, room)
    assert [message.role for message in fitted.messages] == [message.role for message in messages]
    assert fitted.messages[5].content == messages[5].content
    assert "letters left out" in fitted.messages[3].content
    assert fitted.messages[3].content.startswith("alpha")
    assert room - 400 < fitted.tokens <= room, "no more is cut than is needed"
    assert "1 tool results were shortened" in fitted.note


def test_old_turns_go_next_the_oldest_first_and_a_line_stands_for_them():
    early = [said("user" if number % 2 == 0 else "assistant", f"turn {number} " * 100) for number in range(6)]
    messages = [SYSTEM, *early, QUESTION]
    room = sum(map(cost, messages)) - 2 * cost(early[0])
    fitted = fit(messages, room)
    kept = [message.content for message in fitted.messages]
    assert kept[0] == SYSTEM.content
    assert kept[1] == "[3 earlier messages were left out here.]"
    assert kept[2:] == [message.content for message in [*early[3:], QUESTION]]
    assert "3 earlier messages were left out" in fitted.note


def test_instructions_and_question_that_do_not_fit_are_refused_before_the_call():
    with pytest.raises(ContextTooLong) as caught:
        fit([SYSTEM, said("user", "old " * 50), QUESTION], 100)
    assert not caught.value.reached


def test_a_message_named_as_kept_stays():
    first, last = said("user", "the real question " * 20), said("user", "correct it")
    messages = [SYSTEM, first, said("assistant", "a wrong answer " * 500), last]
    fitted = fit(messages, cost(SYSTEM) + cost(first) + cost(last) + 60, keep={1})
    assert first in fitted.messages
    assert last in fitted.messages


TURN = st.one_of(
    st.builds(lambda text: [said("user", text)], st.text(max_size=400)),
    st.builds(lambda text: [said("assistant", text)], st.text(max_size=400)),
    st.builds(step, st.integers(1, 99), st.text(max_size=3000)),
)


@given(turns=st.lists(TURN, max_size=8), late=st.lists(TURN, max_size=4), room=st.integers(0, 3000))
def test_whatever_was_said_it_fits_or_is_refused_and_results_follow_their_calls(turns, late, room):
    late = [turn for turn in late if turn[0].role != "user"]
    messages = [SYSTEM, *(one for turn in turns for one in turn), QUESTION, *(one for turn in late for one in turn)]
    try:
        fitted = fit(messages, room)
    except ContextTooLong:
        must = cost(SYSTEM) + cost(QUESTION) + sum(min(cost(one), 260) for one in (late[-1] if late else []))
        assert must + 40 > room or any(one.role == "assistant" for turn in late[-1:] for one in turn)
        return
    assert sum(map(cost, fitted.messages)) == fitted.tokens <= room
    assert SYSTEM in fitted.messages
    assert QUESTION in fitted.messages
    open_calls: set[str] = set()
    for message in fitted.messages:
        open_calls |= {call.id for call in message.tool_calls}
        assert message.role != "tool" or message.tool_call_id in open_calls


@given(text=st.text(max_size=5000), tokens=st.integers(0, 2000))
def test_a_shortened_result_costs_what_it_may(text, tokens):
    message = said("tool", shortened(text, tokens))
    assert cost(message) <= max(tokens, 200) + 40
