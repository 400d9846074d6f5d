"""One call of one model: budget taken and settled, pieces passed on as they come, tokens counted, all of it kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from engine.domain.events import ModelCalled, TextDelta
from engine.domain.models import ModelCall
from engine.errors import (
    BrokenAnswer,
    EngineError,
    ModelAuthentication,
    ModelCancelled,
    ModelTimedOut,
    ModelUnavailable,
)
from engine.models.budget import Budget, Held
from engine.models.chain import AlreadyHeard
from engine.models.roster import Target
from engine.models.scope import Scope
from engine.ports.models.chat import ChatProvider, ChatReply, ChatRequest, Role, TextPiece
from engine.ports.system import Clock
from engine.text.redaction import Redactor
from engine.text.token_cost import estimate_tokens

_SPENT_ANYWAY = (BrokenAnswer, ModelCancelled, ModelTimedOut)
"""Faults after which the provider has read the prompt all the same and counts it."""
_DELTA_SECONDS = 0.1
"""Pieces are put together into events of about this length: a token each would drown the run's events."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What is wanted of a call besides its request."""

    role: Role
    purpose: str
    scope: Scope
    shown: bool = False
    """True when the answer is put into the run's events while it is written."""
    judge: Callable[[ChatReply], tuple[str, ...]] = lambda reply: ()
    """Says what is wrong with an answer."""


@dataclass(slots=True)
class Caller:
    """Makes calls. Thread-safe."""

    provider: Callable[[Target], ChatProvider]
    budget: Budget
    clock: Clock
    redact: Redactor
    user: str

    def call(self, target: Target, request: ChatRequest, ask: Ask, *, sent: int, notes: tuple[str, ...]) -> ChatReply:
        """Return the answer with its tokens counted.

        Args:
            target: whom to ask.
            request: what to ask.
            ask: for whom and what for.
            sent: tokens that are about to be sent, as estimated.
            notes: what is told with the call.

        Raises:
            AlreadyHeard: when it failed after a piece was shown.
            ModelUnavailable: when it failed before.
        """
        _require_key(target)
        blank = self._blank(target, ask)
        most = target.usd(sent, request.max_output_tokens)
        held = self.budget.take(blank, sent + request.max_output_tokens, most)
        began = self.clock.monotonic()
        shower = _Shower(ask, self.clock, self.redact)
        try:
            reply = self._heard(target, request, ask, shower)
        except BaseException as err:
            fault = _as_fault(err, target)
            fault.partial = fault.partial or shower.text
            self._settled(target, held, self._failed(blank, fault, sent, began), ask, (*notes, fault.message))
            if shower.shown and not isinstance(err, ModelCancelled):
                raise AlreadyHeard(fault) from None
            if isinstance(err, Exception) and not isinstance(err, EngineError):
                raise fault from None  # what a library raised may hold a key
            raise
        reply = self._counted(reply, sent)
        problems = ask.judge(reply)
        done = {**_tokens(reply), "seconds": self.clock.monotonic() - began}
        done["outcome"] = "invalid" if problems else "answered"
        self._settled(target, held, blank.model_copy(update=done), ask, (*notes, *problems))
        return reply

    def count_cached(self, target: Target, ask: Ask, text: str) -> None:
        """Keep that an answer was taken from an earlier call, and show it where it is to be shown."""
        if ask.shown and text:
            ask.scope.tell(TextDelta(run_id=ask.scope.run_id, text=text, purpose=ask.purpose))
        call = self._blank(target, ask).model_copy(update={"cached": True, "reached": False, "usd": 0.0})
        self.budget.count(call)
        self._tell(call, ask, ())

    def _heard(self, target: Target, request: ChatRequest, ask: Ask, shower: _Shower) -> ChatReply:
        reply: ChatReply | None = None
        for item in self.provider(target).stream(request, cancel=ask.scope.cancel):
            if isinstance(item, ChatReply):
                reply = item
            else:
                shower.take(item)
        if reply is None:
            raise BrokenAnswer(f"{target.name} gave no answer.", partial=shower.text)
        shower.flush()
        calls = tuple(replace(call, arguments=clean(call.arguments, self.redact)) for call in reply.tool_calls)
        return replace(reply, text=clean(reply.text, self.redact), tool_calls=calls)

    def _counted(self, reply: ChatReply, sent: int) -> ChatReply:
        if reply.counted_by == "provider":
            return reply
        written = sum(estimate_tokens(call.name + call.arguments) for call in reply.tool_calls)
        return replace(reply, prompt_tokens=sent, completion_tokens=estimate_tokens(reply.text) + written)

    def _blank(self, target: Target, ask: Ask) -> ModelCall:
        return ModelCall(
            at=self.clock.now(),
            user=ask.scope.user or self.user,
            conversation=ask.scope.conversation,
            run_id=ask.scope.run_id,
            role=ask.role,
            model=target.name,
            purpose=ask.purpose,
        )

    def _failed(self, blank: ModelCall, fault: ModelUnavailable, sent: int, began: float) -> ModelCall:
        spent = fault.reached and isinstance(fault, _SPENT_ANYWAY)
        return blank.model_copy(
            update={
                "prompt_tokens": sent if spent else 0,
                "completion_tokens": estimate_tokens(fault.partial) if spent else 0,
                "counted_by": "estimated",
                "seconds": self.clock.monotonic() - began,
                "reached": fault.reached,
                "outcome": fault.code,
            }
        )

    def _settled(self, target: Target, held: Held, call: ModelCall, ask: Ask, notes: tuple[str, ...]) -> None:
        call = call.model_copy(
            update={"usd": target.usd(call.prompt_tokens, call.completion_tokens), "seconds": round(call.seconds, 3)}
        )
        self.budget.settle(held, call)
        self._tell(call, ask, notes)

    def _tell(self, call: ModelCall, ask: Ask, notes: tuple[str, ...]) -> None:
        told = call.model_dump(exclude={"at", "user", "conversation", "reached"})
        tokens = call.prompt_tokens + call.completion_tokens
        ask.scope.tell(ModelCalled(**told, tokens=tokens, notes=[self.redact(note) for note in notes]))


def clean(text: str, redact: Redactor) -> str:
    """Return a text without keys and without half characters, which can be neither sent nor stored."""
    return redact(text.encode("utf-8", "replace").decode("utf-8"))


def _require_key(target: Target) -> None:
    if target.needs_key and not target.key.value:
        message = f"There is no key for {target.name.partition('/')[0]}, so {target.name} cannot be asked."
        advice = "Put it into the environment, the keyring or the file of keys; docs/models.md says how."
        raise ModelAuthentication(message, advice=advice, reached=False)


def _as_fault(err: BaseException, target: Target) -> ModelUnavailable:
    return err if isinstance(err, ModelUnavailable) else BrokenAnswer(f"{target.name} failed: {type(err).__name__}.")


def _tokens(reply: ChatReply) -> dict[str, Any]:
    return {
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": reply.completion_tokens,
        "counted_by": reply.counted_by,
    }


class _Shower:
    """Keeps what came, and puts it into the run's events where it is to be shown."""

    def __init__(self, ask: Ask, clock: Clock, redact: Redactor) -> None:
        self._ask = ask
        self._clock = clock
        self._redact = redact
        self._waiting: list[TextPiece] = []
        self._last = clock.monotonic()
        self._text: list[str] = []
        self.shown = False
        """True once a piece went into the events."""

    @property
    def text(self) -> str:
        """The answer so far."""
        return "".join(self._text)

    def take(self, piece: TextPiece) -> None:
        """Take in a piece."""
        if piece.channel == "text":
            self._text.append(piece.text)
        if not self._ask.shown:
            return
        if self._waiting and self._waiting[-1].channel != piece.channel:
            self.flush()
        self._waiting.append(piece)
        if self._clock.monotonic() - self._last >= _DELTA_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Show what waits."""
        if self._waiting:
            text = clean("".join(piece.text for piece in self._waiting), self._redact)
            scope = self._ask.scope
            delta = TextDelta(
                run_id=scope.run_id, text=text, channel=self._waiting[0].channel, purpose=self._ask.purpose
            )
            scope.tell(delta)
            self.shown = True
        self._waiting, self._last = [], self._clock.monotonic()
