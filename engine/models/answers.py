"""A question, what comes back when it is right, and how a right answer is kept for the same question."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from engine.domain.encoding.hashing import sha256_value
from engine.models.reading import Schema, check, json_schema, read
from engine.models.roster import Target
from engine.ports.models.chat import ChatMessage, ChatReply, ToolCall, ToolOffer

_VERSION = 1
"""Goes up when what is kept of an answer changes, so that nothing old is read as new."""


@dataclass(frozen=True, slots=True)
class Wish:
    """A tool call of an answer: the tool was offered and the arguments fit its parameters."""

    id: str
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedAnswer:
    """A model's answer, checked."""

    text: str
    data: Any = None
    """An instance of the schema's model, or plain JSON where the schema is JSON Schema; None without a schema."""
    wishes: tuple[Wish, ...] = ()
    """Tools that it wants called before it goes on: a message of the role `tool` answers each."""
    cut_off: bool = False
    """True for a text that met the limit of tokens."""
    model: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    counted_by: str = "provider"
    usd: float | None = None
    cached: bool = False
    """True when it was taken from an earlier call."""
    notes: tuple[str, ...] = ()
    """What was left out of the prompt, in sentences."""

    def message(self) -> ChatMessage:
        """Return the answer as a message of the conversation, to be followed by the results of its wishes."""
        calls = tuple(ToolCall(id=one.id, name=one.name, arguments=json.dumps(one.arguments)) for one in self.wishes)
        return ChatMessage(role="assistant", content=self.text, tool_calls=calls)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelQuestion:
    """What is asked, whichever model it is put to."""

    messages: tuple[ChatMessage, ...]
    schema: Schema | None
    tools: tuple[ToolOffer, ...]
    output_tokens: int
    temperature: float | None
    variety: int
    """Questions that differ only in this are asked each for itself."""

    @property
    def schema_json(self) -> dict[str, Any] | None:
        """The JSON Schema of the answer."""
        return None if self.schema is None else json_schema(self.schema)

    @property
    def place(self) -> int:
        """Where the question itself stands among the messages: the last thing the user said."""
        said = [place for place, message in enumerate(self.messages) if message.role == "user"]
        return said[-1] if said else len(self.messages) - 1

    def key(self, target: Target) -> str:
        """Return the name under which a model's answer is kept."""
        return sha256_value(
            {
                "version": _VERSION,
                "model": [target.name, target.address.base_url, repr(target.address.options)],
                "messages": [_plain(message) for message in self.messages],
                "schema": self.schema_json,
                "tools": [[tool.name, tool.description, tool.parameters] for tool in self.tools],
                "settings": [self.output_tokens, self.temperature, self.variety],
            }
        )

    def judged(self, reply: ChatReply) -> tuple[CheckedAnswer, tuple[str, ...]]:
        """Return the answer as far as it is right, and what is wrong with it in sentences."""
        wishes, problems = self._wishes(reply.tool_calls)
        data = None
        if self.schema is not None and not reply.tool_calls:
            found = read(reply.text, self.schema)
            data, problems = found.data, (*problems, *found.problems)
        cut_off = reply.finish == "length"
        if problems and cut_off:
            problems = (*problems, "It met the limit of tokens; be shorter.")
        answer = CheckedAnswer(
            text=reply.text,
            data=data,
            wishes=wishes,
            cut_off=cut_off,
            prompt_tokens=reply.prompt_tokens,
            completion_tokens=reply.completion_tokens,
            counted_by=reply.counted_by,
        )
        return answer, problems

    def _wishes(self, calls: Sequence[ToolCall]) -> tuple[tuple[Wish, ...], tuple[str, ...]]:
        offered = {tool.name: tool for tool in self.tools}
        wishes: list[Wish] = []
        problems: list[str] = []
        for call in calls:
            tool = offered.get(call.name)
            if tool is None:
                known = ", ".join(offered) or "none"
                problems.append(f"There is no tool {call.name!r}; there are: {known}.")
                continue
            try:
                arguments = json.loads(call.arguments)
            except (ValueError, RecursionError):
                problems.append(f"The arguments of {call.name} are no JSON: {call.arguments[:80]!r}.")
                continue
            wrong = check(arguments, {"type": "object", **tool.parameters})[1]
            problems += [f"{call.name}: {fault}" for fault in wrong]
            wishes += [] if wrong else [Wish(call.id, call.name, arguments)]
        return tuple(wishes), tuple(problems)


def kept(reply: ChatReply, model: str) -> dict[str, Any]:
    """Return an answer as it is kept."""
    calls = [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in reply.tool_calls]
    return {"text": reply.text, "tool_calls": calls, "finish": reply.finish, "model": model}


def from_kept(found: Mapping[str, Any], question: ModelQuestion) -> CheckedAnswer | None:
    """Return a kept answer, or None where it does not fit what is asked now."""
    try:
        calls = tuple(ToolCall(**call) for call in found["tool_calls"])
        reply = ChatReply(text=found["text"], tool_calls=calls, finish=found["finish"])
    except (KeyError, TypeError):
        return None
    answer, problems = question.judged(reply)
    return None if problems else replace(answer, cached=True, model=str(found.get("model", "")), usd=0.0)


def _plain(message: ChatMessage) -> list[Any]:
    calls = [[call.id, call.name, call.arguments] for call in message.tool_calls]
    return [message.role, message.content, calls, message.tool_call_id]
