"""Models as the rest of Biodesk sees them: name a role, ask, and get an answer that was checked, or a stated fault.

    answer = models.ask("fast", [ChatMessage(role="user", content=text)], schema=Choice, purpose="choose", scope=scope)
    answer.data  # a Choice

Everything that raises here is a `ModelUnavailable`: whoever asks has a way on without a model.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from engine.domain.models import ModelCall, ModelServer, ModelTotals
from engine.domain.results import Usage
from engine.errors import AnswerInvalid, ModelTimedOut, ModelUnavailable, UserError
from engine.models.answers import CheckedAnswer, ModelQuestion, from_kept, kept
from engine.models.budget import Budget, limits_of
from engine.models.caller import Ask, Caller, clean
from engine.models.chain import ask_in_turn
from engine.models.guard import cost_of_tools, fit, input_budget
from engine.models.keys import key_for, secrets_around
from engine.models.reading import Schema, correction, instruction
from engine.models.roster import KNOWN_SERVERS, ROLES, Target, host_of
from engine.models.scope import Scope
from engine.ports.models.calls import ModelCallStore
from engine.ports.models.chat import ChatMessage, ChatProvider, ChatReply, ChatRequest, ModelAddress, Role, ToolOffer
from engine.ports.system import Clock
from engine.settings import Settings
from engine.text.redaction import Redactor

REPAIRS = 2
"""Times an answer that does not fit is sent back."""
_TEST = ModelQuestion(
    messages=(ChatMessage(role="user", content="Answer with the one word: yes"),),
    schema=None,
    tools=(),
    output_tokens=512,  # models that reason think before they say a word
    temperature=None,
    variety=0,
)


@dataclass(slots=True)
class Models:
    """Every model there is. Thread-safe; without any it costs nothing."""

    roster: Mapping[Role, tuple[Target, ...]]
    connect: Callable[[ModelAddress], ChatProvider]
    """Makes what asks a model; called once for each, when it is first asked."""
    store: ModelCallStore
    clock: Clock
    settings: Settings
    redact: Redactor
    when_warmed: Callable[[], object] = lambda: None
    when_closed: Callable[[], object] = lambda: None
    _providers: dict[str, ChatProvider] = field(default_factory=dict, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _caller: Caller = field(init=False)

    def __post_init__(self) -> None:
        """Learn the keys that must never be seen."""
        if self.roster:
            self.redact.know(target.key.value for chain in self.roster.values() for target in chain)
            self.redact.know(secrets_around())
        budget = Budget(limits_of(self.settings), self.store)
        self._caller = Caller(self._provider, budget, self.clock, self.redact, self.settings.user)

    # ==== asking ====

    def has(self, role: Role) -> bool:
        """Say whether there is a model for a role."""
        return bool(self.roster.get(role))

    def ask(
        self,
        role: Role,
        messages: Sequence[ChatMessage],
        *,
        purpose: str,
        schema: Schema | None = None,
        tools: Sequence[ToolOffer] = (),
        scope: Scope = Scope(),  # noqa: B008 - it is frozen
        temperature: float | None = None,
        output_tokens: int | None = None,
        variety: int = 0,
        shown: bool = False,
        reuse: bool = True,
    ) -> CheckedAnswer:
        """Ask the models of a role, one after the other until one answers rightly.

        Args:
            role: what for; the settings say which models that are.
            messages: the conversation: instructions, what was said, and last the question or results of tools.
            purpose: a word for the ledger and the events, e.g. `choose`.
            schema: what the answer must fit: a pydantic model, or JSON Schema.
            tools: what it may call; the answer's `wishes` say what it wants called.
            scope: whom it is counted to, who hears of it and who can stop it.
            temperature: how much chance there is in the answer; the server's own when left out.
            output_tokens: most tokens of the answer; the setting when left out.
            variety: another number asks anew where the same question was asked before.
            shown: put the text into the run's events while it is written. Then another model does not take over
                once a piece was shown.
            reuse: take the answer from an earlier call of the same question where there is one.

        Raises:
            BudgetSpent: when a limit does not allow it.
            ModelCancelled: when it was stopped; `partial` holds what had come.
            AnswerInvalid: when no answer fits, also after it was sent back twice.
            ModelUnavailable: when no model answered in time; see `engine.errors`.
        """
        if not self.has(role):
            message = f"No model is configured for {role}."
            raise ModelUnavailable(message, advice="Name one in the settings; docs/models.md says how.", reached=False)
        question = ModelQuestion(
            messages=tuple(replace(message, content=clean(message.content, self.redact)) for message in messages),
            schema=schema,
            tools=tuple(tools),
            output_tokens=output_tokens or self.settings.model_output_tokens,
            temperature=temperature,
            variety=variety,
        )
        ask = Ask(role=role, purpose=purpose, scope=scope, shown=shown, judge=lambda reply: question.judged(reply)[1])
        return self._put(question, ask, self.roster[role], reuse=reuse and self.settings.model_cache)

    def _put(self, question: ModelQuestion, ask: Ask, targets: Sequence[Target], *, reuse: bool) -> CheckedAnswer:
        return ask_in_turn(
            targets,
            lambda target, seconds: self._answer(target, seconds, question, ask, reuse=reuse),
            seconds=self.settings.model_seconds,
            clock=self.clock,
            scope=ask.scope,
        )

    def _answer(
        self, target: Target, seconds: float, question: ModelQuestion, ask: Ask, *, reuse: bool
    ) -> CheckedAnswer:
        """Return one model's answer: kept from earlier, or asked for and sent back while it does not fit."""
        key = question.key(target)
        if reuse and (found := self.store.answer(key)) and (answer := from_kept(found, question)):
            self._caller.count_cached(target, ask, answer.text)
            return answer
        until = self.clock.monotonic() + seconds
        told: list[ChatMessage] = []
        problems: tuple[str, ...] = ()
        for _ in range(1 + REPAIRS):
            left = until - self.clock.monotonic()
            if left <= 0:
                message = f"The time is over before {target.name} could be asked once more."
                raise ModelTimedOut(message, details={"problems": list(problems)}, reached=False)
            request, sent, note = self._request(target, question, told, left)
            notes = (note,) if note else ()
            reply = self._caller.call(target, request, ask, sent=sent, notes=notes)
            answer, problems = question.judged(reply)
            if not problems:
                if reuse and not answer.cut_off:
                    self.store.keep_answer(key, kept(reply, target.name), run_id=ask.scope.run_id)
                usd = target.usd(reply.prompt_tokens, reply.completion_tokens)
                return replace(answer, model=target.name, usd=usd, notes=notes)
            told = [_as_said(reply), ChatMessage(role="user", content=correction(problems, question.schema_json))]
        message = f"{target.name} gave no answer that fits, also after it was sent back {REPAIRS} times."
        raise AnswerInvalid(message, details={"problems": list(problems)})

    def _request(
        self, target: Target, question: ModelQuestion, told: Sequence[ChatMessage], seconds: float
    ) -> tuple[ChatRequest, int, str]:
        """Return what is sent, about how many tokens that is, and what was left out of it."""
        messages, place, schema = list(question.messages), question.place, question.schema_json
        if schema is not None and not target.facts.takes_schema:
            messages, place = _instructed(messages, place, instruction(schema))
        besides = cost_of_tools(question.tools, schema)
        room = input_budget(target.reads, target.writes, question.output_tokens) - besides
        fitted = fit([*messages, *told], room, keep={place})
        request = ChatRequest(
            messages=fitted.messages,
            tools=question.tools,
            schema=schema,
            max_output_tokens=min(target.writes, question.output_tokens),
            temperature=question.temperature,
            seconds=seconds,
            idle_seconds=self.settings.model_idle_seconds,
        )
        return request, fitted.tokens + besides, fitted.note

    # ==== accounts ====

    def totals(self, run_id: str) -> ModelTotals:
        """Return what the calls of a run add up to."""
        return self.store.totals("run", run_id)

    def usage(self, run_id: str, seconds: float) -> Usage:
        """Return what a run used, given the seconds that its steps took."""
        totals = self.totals(run_id) if any(self.roster.values()) else ModelTotals()
        return Usage(
            model_calls=totals.calls,
            prompt_tokens=totals.prompt_tokens,
            completion_tokens=totals.completion_tokens,
            usd=round(totals.usd, 6),
            seconds=round(seconds, 3),
        )

    def calls(self, run_id: str = "", *, limit: int = 1000) -> Sequence[ModelCall]:
        """Return calls, newest first, of one run when it is named."""
        return self.store.calls(run_id, limit=limit)

    def spent_today(self, user: str = "") -> ModelTotals:
        """Return what a user's calls of this day (UTC) add up to."""
        return self.store.totals("day", self.clock.now()[:10], user=user or self.settings.user)

    def forget_answers(self, run_id: str | None = None) -> int:
        """Forget the answers that a run made, or all, so that the same questions are asked anew; returns how many."""
        return self.store.forget_answers(run_id)

    # ==== looking after ====

    def describe(self) -> dict[str, list[dict[str, Any]]]:
        """Return role -> its models, first choice first, with what a person may know of each."""
        return {role: [_described(target) for target in self.roster.get(role, ())] for role in ROLES}

    def test(self, role: Role) -> list[dict[str, Any]]:
        """Ask each model of a role for one word, and return what came of it; nothing is taken from earlier calls."""
        return [self._tested(role, target) for target in self.roster.get(role, ())]

    def servers(self) -> list[dict[str, Any]]:
        """Return each server that settings or roles name: its address, its key, where that goes and its models."""
        asked = {target.name: target for chain in self.roster.values() for target in chain}
        named = dict.fromkeys([*self.settings.model_servers, *(target.server for target in asked.values())])
        return [self._server(name, [one for one in asked.values() if one.server == name]) for name in named]

    def _server(self, name: str, asked: Sequence[Target]) -> dict[str, Any]:
        given = self.settings.model_servers.get(name, ModelServer())
        try:
            key = str(key_for(name, given.key_env))
        except UserError as err:
            key = err.message
        address = given.base_url or ("" if given.through == "litellm" else KNOWN_SERVERS.get(name, ""))
        return {
            "name": name,
            "base_url": given.base_url,
            "key_env": given.key_env,
            "through": given.through,
            "address": address or "the provider's own",
            "host": host_of(address, name),
            "key": key,
            "models": [target.name for target in asked],
            "set": name in self.settings.model_servers,
        }

    def test_server(self, name: str) -> list[dict[str, Any]]:
        """Ask each model of a server that a role names for one word, and return what came of it."""
        found: dict[str, tuple[Role, Target]] = {
            target.name: (role, target)
            for role, chain in self.roster.items()
            for target in chain
            if target.server == name
        }
        return [self._tested(role, target) for role, target in found.values()]

    def _tested(self, role: Role, target: Target) -> dict[str, Any]:
        began = self.clock.monotonic()
        try:
            answer = self._put(_TEST, Ask(role=role, purpose="test", scope=Scope()), (target,), reuse=False)
        except ModelUnavailable as err:
            told = {"works": False, "says": self.redact(err.message), "advice": err.advice, "code": err.code}
        else:
            told = {"works": True, "says": answer.text.strip()[:80], "advice": "", "code": ""}
        return {"model": target.name, **told, "seconds": round(self.clock.monotonic() - began, 2)}

    def warm(self) -> None:
        """Load what the first question would wait for."""
        self.when_warmed()

    def close(self) -> None:
        """End every request under way."""
        self.when_closed()

    def _provider(self, target: Target) -> ChatProvider:
        with self._lock:
            if target.name not in self._providers:
                self._providers[target.name] = self.connect(target.address)
            return self._providers[target.name]


def _instructed(messages: list[ChatMessage], place: int, text: str) -> tuple[list[ChatMessage], int]:
    """Return the messages with one more instruction, and where the question stands then."""
    if messages and messages[0].role == "system":
        return [replace(messages[0], content=f"{messages[0].content}\n\n{text}"), *messages[1:]], place
    return [ChatMessage(role="system", content=text), *messages], place + 1


def _as_said(reply: ChatReply) -> ChatMessage:
    """Return an answer that is sent back as the model's own words; a call that will not be made is told as text."""
    calls = "\n".join(f"{call.name}({call.arguments})" for call in reply.tool_calls)
    return ChatMessage(role="assistant", content="\n".join(filter(None, (reply.text, calls))))


def _described(target: Target) -> dict[str, Any]:
    facts = target.facts
    return {
        "model": target.name,
        "through": target.address.through,
        "host": target.host,
        "address": target.address.base_url or "the provider's own",
        "key": "missing" if target.needs_key and not target.key.value else str(target.key),
        "reads": target.reads,
        "writes": target.writes,
        "assumed": facts.max_input_tokens is None,
        "usd_per_million": (
            None
            if facts.usd_per_million_input is None or facts.usd_per_million_output is None
            else [facts.usd_per_million_input, facts.usd_per_million_output]
        ),
    }
