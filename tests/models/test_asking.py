"""What one question to the layer gives: checked data, wishes, an account, events, and nothing from a bad answer."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from model_room import HELLO, PRICED, Heard, scripted
from pydantic import BaseModel

from engine.adapters.fakes import ScriptedModel
from engine.domain.models import ModelFacts
from engine.errors import (
    AnswerInvalid,
    BrokenAnswer,
    BudgetSpent,
    ContextTooLong,
    ModelCancelled,
    ModelOverloaded,
    ModelUnavailable,
)
from engine.models.answers import Wish
from engine.ports.models.chat import ChatMessage, ChatReply, ToolCall, ToolOffer
from engine.runs.cancel import CancelSource
from storage.models.twin import ModelCallsTwin


class Gene(BaseModel):
    gene: bool


TOOL = ToolOffer(
    name="look_up",
    description="Look up a gene.",
    parameters={"properties": {"gene": {"type": "string"}}, "required": ["gene"], "additionalProperties": False},
)


def reply(text: str = "", **more: Any) -> ChatReply:
    return ChatReply(text=text, prompt_tokens=100, completion_tokens=10, **more)


def test_an_answer_has_its_model_its_tokens_and_its_price():
    heard = Heard()
    models = scripted(ScriptedModel([reply("Yes.")]))
    answer = models.ask("fast", HELLO, purpose="test", scope=heard.scope)
    assert (answer.text, answer.model) == ("Yes.", "scripted/model")
    # 100 tokens at 2 dollars a million and 10 at 8
    assert answer.usd == pytest.approx(0.00028)
    [event] = heard.of("model_call")
    assert (event.role, event.model, event.purpose, event.tokens) == ("fast", "scripted/model", "test", 110)
    assert event.usd == answer.usd
    totals = models.totals("r1")
    assert (totals.calls, totals.prompt_tokens, totals.completion_tokens) == (1, 100, 10)
    assert models.usage("r1", 1.5).model_dump() == {
        "model_calls": 1, "prompt_tokens": 100, "completion_tokens": 10, "usd": 0.00028, "seconds": 1.5,
    }  # fmt: skip


def test_a_price_that_is_not_known_is_none_and_not_invented():
    models = scripted(ScriptedModel([reply("Yes.")]), facts=ModelFacts())
    heard = Heard()
    assert models.ask("fast", HELLO, purpose="test", scope=heard.scope).usd is None
    assert heard.of("model_call")[0].usd is None


def test_tokens_that_the_server_did_not_count_are_estimated_and_said_to_be():
    uncounted = ChatReply(text="Yes, it is a gene.", counted_by="estimated")
    answer = scripted(ScriptedModel([uncounted])).ask("fast", HELLO, purpose="test")
    assert answer.counted_by == "estimated"
    assert answer.prompt_tokens > 5
    assert answer.completion_tokens > 3


def test_a_schema_gives_data_and_the_form_is_told_where_the_server_does_not_see_to_it():
    telling, silent = ScriptedModel([{"gene": True}]), ScriptedModel([{"gene": True}])
    assert scripted(telling).ask("fast", HELLO, schema=Gene, purpose="test").data == Gene(gene=True)
    assert '"gene"' in telling.asked[0].messages[0].content
    sure = PRICED.model_copy(update={"takes_schema": True})
    assert scripted(silent, facts=sure).ask("fast", HELLO, schema=Gene, purpose="test").data == Gene(gene=True)
    assert silent.asked[0].messages == tuple(HELLO)


def test_an_answer_that_does_not_fit_goes_back_with_what_is_wrong():
    heard = Heard()
    model = ScriptedModel(["It is.", '{"gene": "maybe"}', '```json\n{"gene": true}\n```'])
    answer = scripted(model).ask("fast", HELLO, schema=Gene, purpose="test", scope=heard.scope)
    assert answer.data == Gene(gene=True)
    assert [event.outcome for event in heard.of("model_call")] == ["invalid", "invalid", "answered"]
    third = model.asked[2].messages
    assert third[-2].content == '{"gene": "maybe"}'
    assert "gene" in third[-1].content
    assert "boolean" in third[-1].content
    assert third[1] == HELLO[1], "the question itself stays"


def test_after_two_corrections_the_fault_is_stated_and_nothing_is_kept():
    store = ModelCallsTwin()
    model = ScriptedModel(["no", "no", "no", {"gene": True}])
    models = scripted(model, store=store)
    with pytest.raises(AnswerInvalid) as caught:
        models.ask("fast", HELLO, schema=Gene, purpose="test")
    assert caught.value.details["problems"]
    assert len(model.asked) == 3
    assert models.ask("fast", HELLO, schema=Gene, purpose="test").data == Gene(gene=True)


def test_wishes_are_checked_before_anybody_sees_them():
    wrong = [ToolCall(id="1", name="delete_all", arguments="{}"), ToolCall(id="2", name="look_up", arguments="{")]
    strange = [ToolCall(id="1", name="look_up", arguments='{"gene": "TP53", "also": 1}')]
    right = [ToolCall(id="1", name="look_up", arguments='{"gene": "TP53"}')]
    replies = [reply(tool_calls=tuple(calls), finish="tool_calls") for calls in (wrong, strange, right)]
    model = ScriptedModel(replies)
    answer = scripted(model).ask("fast", HELLO, tools=[TOOL], purpose="test")
    assert answer.wishes == (Wish("1", "look_up", {"gene": "TP53"}),)
    corrections = [asked.messages[-1].content for asked in model.asked[1:]]
    assert "no tool 'delete_all'" in corrections[0]
    assert "no JSON" in corrections[0]
    assert "also" in corrections[1]
    message = answer.message()
    assert message.tool_calls[0].arguments == '{"gene": "TP53"}'


def test_the_same_question_is_answered_from_the_first_time_and_counted_as_no_call():
    store = ModelCallsTwin()
    first = scripted(ScriptedModel([{"gene": True}]), store=store)
    first.ask("fast", HELLO, schema=Gene, purpose="test", scope=Heard().scope)
    heard = Heard()
    again = scripted(ScriptedModel(), store=store).ask("fast", HELLO, schema=Gene, purpose="test", scope=heard.scope)
    assert (again.data, again.cached, again.usd) == (Gene(gene=True), True, 0.0)
    [event] = heard.of("model_call")
    assert (event.cached, event.tokens) == (True, 0)
    assert store.totals("run", "r1").calls == 1


@pytest.mark.parametrize(
    "other",
    [
        {"schema": None},
        {"temperature": 0.5},
        {"output_tokens": 77},
        {"tools": [TOOL]},
        {"variety": 1},
        {"reuse": False},
        {"messages": [*HELLO, ChatMessage(role="assistant", content="hm"), HELLO[1]]},
    ],
)
def test_whatever_is_asked_otherwise_is_asked_anew(other):
    store = ModelCallsTwin()
    wanted: dict[str, Any] = {"messages": HELLO, "schema": Gene}
    scripted(ScriptedModel([{"gene": True}]), store=store).ask("fast", purpose="test", **wanted)
    model = ScriptedModel([{"gene": False}])
    assert not scripted(model, store=store).ask("fast", purpose="test", **{**wanted, **other}).cached
    assert len(model.asked) == 1


def test_another_model_or_the_switch_asks_anew_too():
    store = ModelCallsTwin()
    scripted(ScriptedModel(["one"]), store=store).ask("fast", HELLO, purpose="test")
    other = ScriptedModel(["two"], name="scripted/other")
    assert scripted(other, store=store).ask("fast", HELLO, purpose="test").text == "two"
    off = scripted(ScriptedModel(["three"]), store=store, model_cache=False)
    assert off.ask("fast", HELLO, purpose="test").text == "three"


def test_a_text_that_was_cut_off_is_said_to_be_and_not_kept():
    store = ModelCallsTwin()
    cut = scripted(ScriptedModel([reply("Yes, beca", finish="length")]), store=store)
    assert cut.ask("fast", HELLO, purpose="test").cut_off
    assert scripted(ScriptedModel(["Yes."]), store=store).ask("fast", HELLO, purpose="test").text == "Yes."


def test_questions_that_ask_for_variety_at_once_are_each_asked():
    model = ScriptedModel([f"answer {number}" for number in range(4)])
    models, heard = scripted(model), []
    threads = [
        threading.Thread(target=lambda n=n: heard.append(models.ask("fast", HELLO, purpose="t", variety=n).text))
        for n in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(heard) == [f"answer {number}" for number in range(4)]


def test_what_is_left_out_of_a_prompt_is_told_with_the_call():
    old = [ChatMessage(role="user", content="old words " * 400), ChatMessage(role="assistant", content="yes " * 400)]
    small = ModelFacts(max_input_tokens=1600, max_output_tokens=100)
    heard, model = Heard(), ScriptedModel(["Yes."])
    answer = scripted(model, facts=small).ask("fast", [HELLO[0], *old, HELLO[1]], purpose="test", scope=heard.scope)
    assert "earlier messages were left out" in answer.notes[0]
    assert heard.of("model_call")[0].notes == list(answer.notes)
    assert model.asked[0].messages[0] == HELLO[0]
    assert model.asked[0].messages[-1] == HELLO[1]


def test_a_question_too_long_for_every_model_is_refused_without_a_call():
    model = ScriptedModel(["never"])
    long = [ChatMessage(role="user", content="words " * 9000)]
    with pytest.raises(ContextTooLong):
        scripted(model, facts=ModelFacts(max_input_tokens=1600)).ask("fast", long, purpose="test")
    assert model.asked == []


# ==== streaming ====


def test_pieces_go_into_the_run_while_they_come():
    heard = Heard()
    scripted(ScriptedModel(["Yes, it is."])).ask("fast", HELLO, purpose="say", scope=heard.scope, shown=True)
    deltas = heard.of("text_delta")
    assert "".join(event.text for event in deltas) == "Yes, it is."
    assert {event.purpose for event in deltas} == {"say"}


def test_after_a_piece_was_shown_no_other_model_takes_over():
    breaking, other = (
        ScriptedModel([BrokenAnswer("cut", partial="Yes, ")], name="a/a"),
        ScriptedModel(["No."], name="b/b"),
    )

    class Slow(ScriptedModel):
        def stream(self, request, *, cancel=None):
            for piece in breaking.stream(request):
                yield piece
                slept.wait(0.12)  # longer than pieces are held back for company

    slept = threading.Event()
    heard = Heard()
    models = scripted(Slow(name="a/a"), other)
    with pytest.raises(BrokenAnswer) as caught:
        models.ask("fast", HELLO, purpose="say", scope=heard.scope, shown=True)
    assert caught.value.partial == "Yes, "
    assert other.asked == []
    assert "".join(event.text for event in heard.of("text_delta")) == "Yes, "


def test_where_nobody_saw_a_piece_another_model_takes_over():
    breaking = ScriptedModel([BrokenAnswer("cut", partial="Yes, ", wait=0.0)] * 3, name="a/a")
    other = ScriptedModel(["No."], name="b/b")
    heard = Heard()
    answer = scripted(breaking, other, model_seconds=8).ask("fast", HELLO, purpose="say", scope=heard.scope)
    assert (answer.text, answer.model) == ("No.", "b/b")
    assert [event.outcome for event in heard.of("model_call")] == ["model_broken_answer"] * 3 + ["answered"]


def test_a_stopped_call_keeps_what_came_and_counts_it():
    cancel = CancelSource()

    class Stopping(ScriptedModel):
        def stream(self, request, *, cancel=None):
            for piece in super().stream(request, cancel=cancel):
                yield piece
                source.cancel()

    source, store = cancel, ModelCallsTwin()
    models = scripted(Stopping(["one two three"], name="a/a"), ScriptedModel(["never"], name="b/b"), store=store)
    with pytest.raises(ModelCancelled) as caught:
        models.ask("fast", HELLO, purpose="test", scope=Heard(cancel=cancel).scope)
    assert caught.value.partial == "one"
    [call] = store.calls()
    assert (call.outcome, call.counted_by) == ("model_cancelled", "estimated")
    assert call.prompt_tokens > 0
    with pytest.raises(ModelCancelled):
        models.ask("fast", HELLO, purpose="test", scope=Heard(cancel=cancel).scope)


# ==== budgets ====


@pytest.mark.parametrize("kind", ["call", "run", "conversation", "day"])
def test_each_limit_stops_before_the_call(kind):
    model = ScriptedModel([reply("Yes.")] * 9)
    limit = {"call": 500, "run": 1300, "conversation": 1300, "day": 1300}[kind]
    models = scripted(model, **{f"budget_{kind}_tokens": limit}, model_cache=False)
    for _ in range({"call": 0}.get(kind, 3)):
        models.ask("fast", HELLO, purpose="test", scope=Heard().scope)
    with pytest.raises(BudgetSpent) as caught:
        models.ask("fast", HELLO, purpose="test", scope=Heard().scope)
    assert caught.value.details["kind"] == f"{kind}_tokens"
    assert caught.value.details["limit"] == limit
    # A call may use the 1,000 tokens of an answer and some 20 of the prompt, and did use 110.
    assert len(model.asked) == {"call": 0}.get(kind, 3)


def test_dollars_are_limited_where_the_price_is_known():
    dear = ModelFacts(max_output_tokens=1000, usd_per_million_input=10.0, usd_per_million_output=1000.0)
    assert scripted(ScriptedModel(["Yes."]), facts=dear, budget_run_usd=1.1).ask("fast", HELLO, purpose="t")
    with pytest.raises(BudgetSpent, match=r"0\.90 dollars"):
        scripted(ScriptedModel(["Yes."]), facts=dear, budget_run_usd=0.9).ask(
            "fast", HELLO, purpose="t", scope=Heard().scope
        )


def test_what_was_spent_before_a_restart_counts():
    store = ModelCallsTwin()
    scripted(ScriptedModel([reply("Yes.")]), store=store).ask("fast", HELLO, purpose="t", scope=Heard().scope)
    later = scripted(ScriptedModel([reply("Yes.")]), store=store, budget_run_tokens=1100, model_cache=False)
    with pytest.raises(BudgetSpent):
        later.ask("fast", HELLO, purpose="t", scope=Heard().scope)


def test_calls_at_once_cannot_pass_a_limit_together():
    both_in = threading.Barrier(3, timeout=5)

    class Waiting(ScriptedModel):
        def stream(self, request, *, cancel=None):
            both_in.wait()
            yield reply("Yes.")

    models = scripted(Waiting(), budget_run_tokens=2300, model_cache=False)
    faults: list[Exception] = []

    def ask() -> None:
        try:
            models.ask("fast", HELLO, purpose="t", scope=Heard().scope)
        except ModelUnavailable as err:
            faults.append(err)
            both_in.wait()

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [type(fault) for fault in faults] == [BudgetSpent]
    assert models.totals("r1").calls == 2


# ==== no model, test ====


def test_a_role_without_a_model_says_so():
    models = scripted()
    assert not models.has("coder")
    with pytest.raises(ModelUnavailable, match="No model is configured for coder"):
        models.ask("coder", HELLO, purpose="t")


def test_the_test_asks_every_model_of_a_role_once():
    models = scripted(ScriptedModel(["yes"], name="a/a"), ScriptedModel([ModelUnavailable("gone")], name="b/b"))
    first, second = models.test("judge")
    assert (first["model"], first["works"], first["says"]) == ("a/a", True, "yes")
    assert (second["works"], second["says"]) == (False, "gone")


def test_an_error_of_a_library_becomes_one_of_ours_without_its_words():
    class Raising(ScriptedModel):
        def stream(self, request, *, cancel=None):
            raise RuntimeError("sk-canary in a library's words")
            yield

    with pytest.raises(BrokenAnswer) as caught:
        scripted(Raising(), model_seconds=0.4).ask("fast", HELLO, purpose="t")
    assert "canary" not in caught.value.message
    assert caught.value.__suppress_context__


def test_all_faults_of_a_chain_are_told_in_one():
    first = ScriptedModel([ModelOverloaded("a is down", wait=0.0)] * 3, name="a/a")
    second = ScriptedModel([ModelUnavailable("b has no such model")], name="b/b")
    with pytest.raises(ModelUnavailable) as caught:
        scripted(first, second, model_seconds=8).ask("fast", HELLO, purpose="t")
    assert caught.value.message == "No model answered. a is down b has no such model"
    assert [one["code"] for one in caught.value.details["tried"]] == ["model_overloaded"] * 3 + ["model_unavailable"]
