"""A chain of models over real HTTP against servers that misbehave: in order, within its time, every call accounted."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack

import pytest
from model_room import HELLO, Heard, served
from model_server import (
    ModelServer,
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
)
from pydantic import BaseModel
from waiting import until

from engine.errors import (
    ModelAuthentication,
    ModelCancelled,
    ModelOverloaded,
    ModelRateLimited,
    ModelTimedOut,
    ModelUnavailable,
    ModelUnreachable,
)
from engine.models.chain import pause_after
from engine.ports.models.chat import ToolOffer
from engine.runs.cancel import CancelSource

TOOL = ToolOffer(name="look", description="", parameters={"type": "object", "properties": {}})


class Gene(BaseModel):
    gene: bool


MISBEHAVIOURS = {
    "too many calls": fails(429, "slow down", retry_after="30"),
    "broken inside": fails(500, "oops", retry_after="0"),
    "silent": hangs(),
    "silent in the middle": hangs("Yes, "),
    "half without a reason": says("Yes, half", finish=None, usage=None),
    "no json": streams("{broken"),
    "wrong name": fails(404, "The model does not exist"),
    "wrong key": fails(401, "no"),
    "slow": trickles,
    "disconnected": disconnects("Yes, "),
    "nothing": streams(),
    "empty choices": streams({"choices": []}),
    "not an object": streams(piece({"content": "a"}), "7"),
    "a page": lambda handler: handler.whole("<html>Proxy error</html>", 502, Retry_After="0"),
}


@pytest.mark.parametrize("what", MISBEHAVIOURS)
def test_whatever_the_first_does_the_second_answers_within_the_deadline(what):
    heard = Heard()
    with serving() as bad, serving(says("Yes.")) as good:
        bad.otherwise = MISBEHAVIOURS[what]
        with served([bad.url, good.url], model_seconds=2.0, model_idle_seconds=0.3) as models:
            began = time.monotonic()
            answer = models.ask("fast", HELLO, purpose="t", scope=heard.scope)
            assert time.monotonic() - began < 2.0
            assert (answer.text, answer.model) == ("Yes.", "lab2/m")
            totals = models.totals("r1")
    assert totals.calls == len(bad.asked) + len(good.asked) == len(heard.of("model_call"))
    assert [event.model for event in heard.of("model_call")][-1] == "lab2/m"


def test_three_models_are_asked_in_their_order():
    with serving(fails(401)) as one, serving(fails(404)) as two, serving(says("third")) as three, \
            served([one.url, two.url, three.url]) as models:  # fmt: skip
        heard = Heard()
        assert models.ask("fast", HELLO, purpose="t", scope=heard.scope).text == "third"
    told = [(event.model, event.outcome) for event in heard.of("model_call")]
    assert told == [("lab1/m", "model_authentication"), ("lab2/m", "model_not_found"), ("lab3/m", "answered")]


def test_a_server_that_asks_for_patience_is_asked_again_after_it():
    with serving(fails(429, "slow", retry_after="0.2"), says("Yes.")) as server, served([server.url]) as models:
        began = time.monotonic()
        assert models.ask("fast", HELLO, purpose="t").text == "Yes."
        assert time.monotonic() - began >= 0.2
        assert len(server.asked) == 2


def test_a_wait_longer_than_the_time_is_not_waited_for():
    with serving(fails(429, "slow", retry_after="3600")) as server, served([server.url], model_seconds=5) as models:
        began = time.monotonic()
        with pytest.raises(ModelRateLimited) as caught:
            models.ask("fast", HELLO, purpose="t")
        assert time.monotonic() - began < 1
        assert caught.value.wait == 3600


def test_a_server_is_tried_three_times_and_no_more():
    with serving() as server, served([server.url]) as models:
        server.otherwise = fails(500, "oops", retry_after="0")
        with pytest.raises(ModelOverloaded):
            models.ask("fast", HELLO, purpose="t")
        assert len(server.asked) == 3


def test_pauses_double_and_a_time_out_is_not_tried_again():
    assert [pause_after(ModelOverloaded("x"), number) for number in (1, 2, 3)] == [0.5, 1.0, None]
    assert pause_after(ModelTimedOut("x"), 1) is None
    assert pause_after(ModelAuthentication("x"), 1) is None


def test_every_server_hanging_ends_with_the_deadline():
    with ExitStack() as stack:
        servers = [stack.enter_context(serving(hangs())) for _ in range(3)]
        models = stack.enter_context(served([server.url for server in servers], model_seconds=0.9))
        began = time.monotonic()
        with pytest.raises(ModelTimedOut) as caught:
            models.ask("fast", HELLO, purpose="t")
        assert time.monotonic() - began < 2.5
        assert len(caught.value.details["tried"]) == 3
        assert [len(server.asked) for server in servers] == [1, 1, 1]


def test_a_stop_is_heard_within_a_second_in_the_middle_of_an_answer_and_of_a_pause():
    for behaviour in (hangs("Yes, "), fails(429, "slow", retry_after="20")):
        with serving(behaviour) as server, served([server.url]) as models:
            cancel, faults = CancelSource(), []

            def ask(models=models, cancel=cancel, faults=faults) -> None:
                try:
                    models.ask("fast", HELLO, purpose="t", scope=Heard(cancel=cancel).scope)
                except ModelUnavailable as err:
                    faults.append(err)

            asking = threading.Thread(target=ask)
            asking.start()
            wait_for_request(server)
            began = time.monotonic()
            cancel.cancel()
            asking.join(5)
            assert time.monotonic() - began < 1
            assert isinstance(faults[0], ModelCancelled)


def wait_for_request(server: ModelServer) -> None:
    until(lambda: server.asked)


def test_what_is_counted_is_what_the_servers_counted():
    counts = [(120, 30), (7, 1), (4000, 900)]
    usages = [
        {"prompt_tokens": read, "completion_tokens": wrote, "total_tokens": read + wrote} for read, wrote in counts
    ]
    behaviours = [
        says("no"),
        fails(500, retry_after="0"),
        says('{"gene": true}', usage=usages[1]),
        says("x", usage=usages[2]),
    ]
    behaviours[0] = says("no", usage=usages[0])
    with serving(*behaviours) as server, served([server.url]) as models:
        heard = Heard()
        models.ask("fast", HELLO, schema=Gene, purpose="a", scope=heard.scope)
        models.ask("fast", HELLO, purpose="b", scope=heard.scope)
        totals = models.totals("r1")
    assert totals.calls == len(server.asked) == 4
    assert (totals.prompt_tokens, totals.completion_tokens) == (4127, 931)
    # 4,127 tokens at 2 dollars a million and 931 at 8
    assert totals.usd == pytest.approx(0.015702)


def test_a_request_that_reached_nobody_is_no_call():
    with served([f"http://127.0.0.1:{free_port()}/v1"], model_seconds=0.4) as models:
        with pytest.raises(ModelUnreachable, match="cannot be reached") as caught:
            models.ask("fast", HELLO, purpose="t", scope=Heard().scope)
        assert "Start the server" in caught.value.advice
        assert models.totals("r1").calls == 0
        assert [call.outcome for call in models.calls("r1")] == ["model_unreachable"]


@pytest.mark.parametrize(
    ("message", "field", "instead"),
    [
        ("Unrecognized request argument supplied: stream_options", "stream_options", None),
        (
            "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
            "max_tokens",
            "max_completion_tokens",
        ),
        ("json_schema is not supported by this model", "response_format", None),
    ],
)
def test_a_field_that_a_server_does_not_take_is_left_out_from_then_on(message, field, instead):
    with serving(fails(400, message), says('{"gene": true}')) as server, served([server.url]) as models:
        for number in range(2):
            server.behaviours += [says('{"gene": true}')] * number
            assert models.ask("fast", HELLO, schema=Gene, purpose="t", variety=number).data == Gene(gene=True)
    first, *others = [asked["body"] for asked in server.asked]
    assert field in first
    assert len(others) == 2
    for body in others:
        assert field not in body
        assert instead is None or body[instead] == first[field]


def test_a_server_that_holds_its_connection_open_after_the_end_is_not_waited_for():
    def holds(handler):
        says("Yes.")(handler)
        handler.server.held.wait(30)

    with serving(holds) as server, served([server.url]) as models:
        began = time.monotonic()
        assert models.ask("fast", HELLO, purpose="t").text == "Yes."
        assert time.monotonic() - began < 2


def test_after_the_end_nobody_is_asked_any_more():
    with serving() as server, served([server.url]) as models:
        assert models.ask("fast", HELLO, purpose="t").text == "yes"
        models.close()
        models.close()
        with pytest.raises(ModelCancelled):
            models.ask("fast", HELLO, purpose="t", reuse=False)
        assert len(server.asked) == 1


def test_an_answer_is_not_sent_back_when_the_time_is_over():
    def slow(handler):
        handler.server.held.wait(0.5)
        says("no")(handler)

    with serving(slow, slow) as server, served([server.url], model_seconds=0.9) as models:
        with pytest.raises(ModelTimedOut):
            models.ask("fast", HELLO, schema=Gene, purpose="t", scope=Heard().scope)
        assert models.totals("r1").calls == len(server.asked) == 2


def test_calls_all_numbered_nought_are_told_apart():
    behaviour = calls((0, "a", "look", "{}"), (0, "b", "look", "{}"))
    with serving(behaviour) as server, served([server.url]) as models:
        answer = models.ask("fast", HELLO, tools=[TOOL], purpose="t")
    assert [wish.id for wish in answer.wishes] == ["a", "b"]


def test_a_server_that_does_not_stream_is_understood_too():
    whole = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Yes."}, "finish_reason": "stop"}],
             "usage": {"prompt_tokens": 3, "completion_tokens": 2}}  # fmt: skip
    with serving(lambda handler: handler.whole(whole)) as server, served([server.url]) as models:
        answer = models.ask("fast", HELLO, purpose="t")
    assert (answer.text, answer.prompt_tokens, answer.completion_tokens) == ("Yes.", 3, 2)


@pytest.mark.parametrize("cut", range(1, 9))
def test_thoughts_written_into_the_answer_are_not_part_of_it(cut):
    text = "<think>Hm, TP53.</think>\n\nYes, <think> is a word."
    pieces = [text[start : start + cut] for start in range(0, len(text), cut)]
    with serving(says(*pieces)) as server, served([server.url]) as models:
        heard = Heard()
        answer = models.ask("fast", HELLO, purpose="t", scope=heard.scope, shown=True)
    assert answer.text.strip() == "Yes, <think> is a word."
    thought = "".join(event.text for event in heard.of("text_delta") if event.channel == "reasoning")
    assert thought == "Hm, TP53."
