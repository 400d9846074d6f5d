"""Puts an answer together from its pieces; it is whole only when the server said why it ended."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from engine.adapters.models.thinking import Thinking
from engine.errors import BrokenAnswer, ModelRefused
from engine.ports.models.chat import ChatReply, Finish, TextPiece, ToolCall

_LARGEST = 8_000_000
"""Letters after which an answer is taken for one that never ends."""
_FINISH: dict[str, Finish] = {
    **dict.fromkeys(("stop", "end_turn", "eos", "stop_sequence"), "stop"),
    **dict.fromkeys(("length", "max_tokens"), "length"),
    **dict.fromkeys(("tool_calls", "tool_use", "function_call"), "tool_calls"),
}


@dataclass(slots=True)
class _Call:
    """A tool call that is still being written."""

    id: str
    index: int
    name: str = ""
    arguments: str = ""

    @property
    def whole(self) -> bool:
        """True when its arguments are JSON already."""
        try:
            json.loads(self.arguments)
        except ValueError:
            return False
        return True


class ReplyCollector:
    """Takes the chunks of a stream, or a whole answer, as JSON of the OpenAI protocol."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._text: list[str] = []
        self._size = 0
        self._thinking = Thinking()
        self._calls: list[_Call] = []
        self._usage: tuple[int, int] | None = None
        self._refusal = ""
        self.finish = ""
        """Why the server said the answer ended; empty until then."""

    @property
    def text(self) -> str:
        """The answer so far."""
        return "".join(self._text)

    def take(self, chunk: Mapping[str, Any]) -> Iterator[TextPiece]:
        """Take in a chunk and yield the pieces of text that it brought.

        Raises:
            BrokenAnswer: when it is not of the protocol, or the answer grows without end.
        """
        self._usage = usage_of(chunk.get("usage")) or self._usage
        choices = chunk.get("choices") or []
        if not isinstance(choices, list) or not all(isinstance(choice, dict) for choice in choices):
            raise BrokenAnswer(f"{self._name} sent choices that are no list of objects.", partial=self.text)
        for choice in choices:
            if choice.get("index") in (0, None):
                yield from self._choice(choice)

    def _choice(self, choice: Mapping[str, Any]) -> Iterator[TextPiece]:
        delta = choice.get("delta") or choice.get("message") or {}
        for field in ("reasoning_content", "reasoning"):
            if isinstance(thought := delta.get(field), str) and thought:
                yield TextPiece(thought, "reasoning")
                break
        for piece in self._thinking.take(_plain(delta.get("content"))):
            yield self._kept(piece)
        self._refusal += delta.get("refusal") or ""
        for call in delta.get("tool_calls") or []:
            self._tool_call(call)
        if isinstance(reason := choice.get("finish_reason"), str) and reason:
            self.finish = reason

    def _kept(self, piece: TextPiece) -> TextPiece:
        self._size += len(piece.text)
        if self._size > _LARGEST:
            raise BrokenAnswer(f"{self._name} sent more than {_LARGEST:,} letters and did not end.")
        if piece.channel == "text":
            self._text.append(piece.text)
        return piece

    def _tool_call(self, piece: Mapping[str, Any]) -> None:
        """Take in a piece of a tool call.

        Its id says which call it belongs to. Only where it has none does the index say so, since some servers number
        all calls 0; and a name begins a new call where the one with this index is whole already.
        """
        function = piece.get("function") or {}
        call_id, index, name = str(piece.get("id") or ""), int(piece.get("index") or 0), str(function.get("name") or "")
        if call_id:
            call = next((one for one in self._calls if one.id == call_id), None)
        else:
            call = next((one for one in reversed(self._calls) if one.index == index), None)
            if call is not None and name and call.whole:
                call = None
        if call is None:
            call = _Call(id=call_id, index=index)
            self._calls.append(call)
        call.name = call.name or name
        written = function.get("arguments")
        call.arguments += written if isinstance(written, str) else json.dumps(written) if written is not None else ""

    def reply(self) -> ChatReply:
        """Return the whole answer.

        Raises:
            BrokenAnswer: when the server did not say why it ended, or nothing came.
            ModelRefused: when the model declined.
        """
        for piece in self._thinking.rest():
            self._kept(piece)
        if self._refusal or self.finish == "content_filter":
            raise ModelRefused(f"{self._name} declined to answer. {self._refusal[:200]}".strip(), partial=self.text)
        finish = _FINISH.get(self.finish)
        if finish is None:
            why = f"ended with {self.finish!r}" if self.finish else "broke off: it did not say why it ended"
            raise BrokenAnswer(f"The answer of {self._name} {why}.", partial=self.text)
        calls = tuple(
            ToolCall(id=call.id or f"call_{number}", name=call.name, arguments=call.arguments or "{}")
            for number, call in enumerate(self._calls, start=1)
        )
        if not self.text.strip() and not calls:
            message = f"{self._name} gave an empty answer."
            if finish == "length":
                message = f"{self._name} used all its tokens before it began to answer."
            raise BrokenAnswer(message)
        return self._counted(calls, "tool_calls" if calls and finish == "stop" else finish)

    def _counted(self, calls: tuple[ToolCall, ...], finish: Finish) -> ChatReply:
        prompt, completion = self._usage or (0, 0)
        return ChatReply(
            text=self.text,
            prompt_tokens=prompt,
            completion_tokens=completion,
            tool_calls=calls,
            finish=finish,
            counted_by="provider" if self._usage else "estimated",
        )


def usage_of(said: Any) -> tuple[int, int] | None:
    """Return prompt and completion tokens as the server counted them, or None when what it says cannot be a count."""
    if not isinstance(said, Mapping):
        return None
    prompt, completion = said.get("prompt_tokens"), said.get("completion_tokens")
    if not isinstance(prompt, int) or not isinstance(completion, int) or isinstance(prompt, bool):
        return None
    return (prompt, completion) if prompt > 0 and completion >= 0 else None


def _plain(content: Any) -> str:
    """Return content as text; some servers send a list of parts."""
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, Mapping))
    return content if isinstance(content, str) else ""
