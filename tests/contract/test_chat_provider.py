"""The promises of `ChatProvider`, kept by every implementation of it, over real HTTP against a server that misbehaves.

LiteLLM is an extra that need not be installed; where it is not, its half is left out.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from model_server import (
    calls,
    disconnects,
    fails,
    free_port,
    hangs,
    piece,
    says,
    serving,
    streams,
    trickles,
    usage_chunk,
)

from engine.adapters.models.litellm_chat import LiteLLMModel, load
from engine.adapters.models.loop import LoopThread
from engine.adapters.models.openai_http import OpenAIServer
from engine.errors import (
    BrokenAnswer,
    ContextTooLong,
    ModelAuthentication,
    ModelCancelled,
    ModelNotFound,
    ModelOverloaded,
    ModelQuotaSpent,
    ModelRateLimited,
    ModelRefused,
    ModelRejected,
    ModelTimedOut,
    ModelUnavailable,
    ModelUnreachable,
)
from engine.ports.models.chat import ChatMessage, ChatProvider, ChatReply, ChatRequest, TextPiece, ToolCall, ToolOffer
from engine.runs.cancel import CancelSource

KEY = "sk-canary-0123456789"
ASKED = ChatRequest(
    messages=(ChatMessage(role="system", content="Be short."), ChatMessage(role="user", content="Is TP53 a gene?")),
    max_output_tokens=64,
    seconds=20,
    idle_seconds=10,
)
TOOL = ToolOffer(
    name="look_up",
    description="Look up a gene.",
    parameters={"type": "object", "properties": {"gene": {"type": "string"}}, "required": ["gene"]},
)

Make = Callable[[str], ChatProvider]


@pytest.fixture(scope="module")
def loop() -> Iterator[LoopThread]:
    thread = LoopThread()
    yield thread
    thread.close()


@pytest.fixture(params=["openai", "litellm"])
def make(request: pytest.FixtureRequest, loop: LoopThread) -> Make:
    if request.param == "litellm" and importlib.util.find_spec("litellm") is None:
        pytest.skip("LiteLLM is not installed")

    if request.param == "litellm":
        load()  # before the clock of a call runs: importing it takes seconds

    def redact(text: str) -> str:
        return text.replace(KEY, "***")

    def made(url: str) -> ChatProvider:
        if request.param == "openai":
            return OpenAIServer("lab/m", model="m", base_url=url, key=KEY, loop=loop, redact=redact)
        options = {"api_base": url}
        return LiteLLMModel("lab/m", model="openai/m", key=KEY, loop=loop, redact=redact, options=options)

    return made


def ask(provider: ChatProvider, request: ChatRequest = ASKED, **more: Any) -> tuple[list[TextPiece], ChatReply]:
    *pieces, whole = provider.stream(request, **more)
    assert isinstance(whole, ChatReply)
    return [one for one in pieces if isinstance(one, TextPiece)], whole


def fault(provider: ChatProvider, request: ChatRequest = ASKED) -> ModelUnavailable:
    with pytest.raises(ModelUnavailable) as caught:
        list(provider.stream(request))
    return caught.value


def test_an_answer_comes_in_pieces_and_whole_with_the_servers_count(make: Make) -> None:
    with serving(says("Yes, ", "it is.")) as server:
        pieces, whole = ask(make(server.url))
    assert "".join(one.text for one in pieces) == whole.text == "Yes, it is."
    assert (whole.prompt_tokens, whole.completion_tokens, whole.counted_by) == (11, 7, "provider")
    assert whole.finish == "stop"
    asked = server.asked[0]
    assert asked["headers"]["authorization"] == f"Bearer {KEY}"
    assert asked["body"]["messages"][1] == {"role": "user", "content": "Is TP53 a gene?"}
    assert asked["body"]["stream"] is True


@pytest.mark.parametrize("usage", [None, {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}])
def test_a_count_that_is_missing_or_cannot_be_is_said_to_be_estimated(make: Make, usage: Any) -> None:
    with serving(says("Yes.", usage=usage)) as server:
        whole = ask(make(server.url))[1]
    assert (whole.prompt_tokens, whole.completion_tokens, whole.counted_by) == (0, 0, "estimated")


@pytest.mark.parametrize("done", [True, False])
def test_a_stream_that_just_stops_has_failed(make: Make, done: bool) -> None:
    with serving(says("Yes, half of", finish=None, usage=None, done=done)) as server:
        err = fault(make(server.url))
    assert isinstance(err, BrokenAnswer)
    assert err.retryable
    assert err.partial == "Yes, half of"


def test_a_stream_without_its_last_mark_but_with_a_reason_is_whole(make: Make) -> None:
    with serving(says("Yes.", usage=None, done=False)) as server:
        assert ask(make(server.url))[1].text == "Yes."


def test_a_broken_connection_keeps_what_came(make: Make) -> None:
    with serving(disconnects("Yes, ", "but")) as server:
        err = fault(make(server.url))
    assert isinstance(err, BrokenAnswer)
    assert err.partial == "Yes, but"


@pytest.mark.parametrize("numbers", [(0, 0), (0, 1)])
def test_tool_calls_are_told_apart_by_their_ids_whatever_their_numbers(make: Make, numbers: tuple[int, int]) -> None:
    first, second = numbers
    behaviour = calls(
        (first, "a", "look_up", '{"gene": '),
        (first, "a", None, '"TP53"}') if first == second else (first, None, None, '"TP53"}'),
        (second, "b", "look_up", '{"gene": "MYC"}'),
    )
    with serving(behaviour) as server:
        whole = ask(make(server.url), replace(ASKED, tools=(TOOL,)))[1]
    assert whole.tool_calls == (
        ToolCall(id="a", name="look_up", arguments='{"gene": "TP53"}'),
        ToolCall(id="b", name="look_up", arguments='{"gene": "MYC"}'),
    )
    assert whole.finish == "tool_calls"
    assert server.asked[0]["body"]["tools"][0]["function"]["parameters"] == TOOL.parameters


def test_a_tools_result_goes_back_with_its_call(make: Make) -> None:
    call = ToolCall(id="a", name="look_up", arguments='{"gene": "TP53"}')
    messages = (
        *ASKED.messages,
        ChatMessage(role="assistant", content="", tool_calls=(call,)),
        ChatMessage(role="tool", content="a tumour suppressor", tool_call_id="a"),
    )
    with serving() as server:
        ask(make(server.url), replace(ASKED, messages=messages, tools=(TOOL,)))
    sent = server.asked[0]["body"]["messages"]
    assert sent[2]["tool_calls"][0]["function"] == {"name": "look_up", "arguments": '{"gene": "TP53"}'}
    assert (sent[3]["role"], sent[3]["tool_call_id"]) == ("tool", "a")


def test_a_schema_is_passed_on(make: Make) -> None:
    schema = {"type": "object", "properties": {"gene": {"type": "boolean"}}, "required": ["gene"]}
    with serving(says('{"gene": true}')) as server:
        ask(make(server.url), replace(ASKED, schema=schema))
    form = server.asked[0]["body"]["response_format"]
    assert form["type"] == "json_schema"
    assert form["json_schema"]["schema"] == schema


@pytest.mark.parametrize(
    ("behaviour", "kind"),
    [
        (fails(401, "Incorrect API key provided: " + KEY), ModelAuthentication),
        (fails(404, "The model `m` does not exist", "model_not_found"), ModelNotFound),
        (fails(400, "This model's maximum context length is 8192 tokens.", "context_length_exceeded"), ContextTooLong),
        (fails(429, "Rate limit reached", retry_after="3"), ModelRateLimited),
        (fails(429, "You exceeded your current quota, check billing.", "insufficient_quota"), ModelQuotaSpent),
        (fails(500, "oops"), ModelOverloaded),
        (fails(503, "busy"), ModelOverloaded),
        (fails(400, "messages: what is this"), ModelRejected),
        (says("", finish="content_filter"), ModelRefused),
        (says(""), BrokenAnswer),
        (streams(usage_chunk({"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4})), BrokenAnswer),
        (streams("this is no json"), BrokenAnswer),
        (streams(piece({"content": "a"}), "[1, 2]"), BrokenAnswer),
    ],
)
def test_each_fault_is_its_own_error_with_advice_and_no_key(make: Make, behaviour: Any, kind: type) -> None:
    with serving(behaviour) as server:
        err = fault(make(server.url))
    assert isinstance(err, kind), err.message
    assert err.advice
    assert KEY not in f"{err.message} {err.advice} {err.details} {err.__cause__}"
    assert len(server.asked) == 1, "whether to ask again is not for the provider to decide"


def test_a_rate_limit_says_how_long_to_wait(make: Make) -> None:
    with serving(fails(429, "slow down", retry_after="3")) as server:
        assert fault(make(server.url)).wait == 3.0


def test_a_silent_server_is_left_after_the_time_for_silence(make: Make) -> None:
    with serving(hangs()) as server:
        began = time.monotonic()
        err = fault(make(server.url), replace(ASKED, idle_seconds=0.3))
        assert time.monotonic() - began < 3
    assert isinstance(err, ModelTimedOut)


def test_slow_tokens_end_with_the_time_of_the_call(make: Make) -> None:
    with serving(trickles) as server:
        began = time.monotonic()
        err = fault(make(server.url), replace(ASKED, seconds=0.4))
        assert time.monotonic() - began < 2
    assert isinstance(err, ModelTimedOut)


def test_a_cancelled_call_ends_at_once_and_closes_its_connection(make: Make) -> None:
    with serving(trickles) as server:
        cancel = CancelSource()
        said = make(server.url).stream(ASKED, cancel=cancel)
        assert next(said) == TextPiece("a ")
        began = time.monotonic()
        cancel.cancel()
        with pytest.raises(ModelCancelled):
            list(said)
        assert time.monotonic() - began < 1
        assert server.gone.wait(5)


def test_leaving_the_iterator_ends_the_request(make: Make) -> None:
    with serving(trickles) as server:
        said = make(server.url).stream(ASKED)
        next(said)
        said.close()  # type: ignore[attr-defined]
        assert server.gone.wait(5)


def test_nobody_at_the_address_is_said_with_the_address(make: Make) -> None:
    url = f"http://127.0.0.1:{free_port()}/v1"
    err = fault(make(url))
    assert isinstance(err, ModelUnreachable)
    assert not err.reached
