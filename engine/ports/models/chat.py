"""A language model, where there is one: what it is asked and what it gives.

`ChatProvider` is one model of one server: it sends a request and hands on what comes, in pieces. What an answer is
worth, and which model is asked next, is decided by the layer above (`engine.models`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from engine.ports.cancel import CancelToken

Role = Literal["reasoning", "coder", "fast", "judge"]
"""What a model is asked for; which model that is the settings say."""

Finish = Literal["stop", "length", "tool_calls"]
"""Why an answer ended: it was complete, it met the limit of tokens, or it waits for the results of its tool calls."""

CountedBy = Literal["provider", "estimated"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A wish of the model: call this tool with these arguments."""

    id: str
    name: str
    arguments: str
    """JSON as the model wrote it; the layer checks it before anybody sees it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOffer:
    """A tool that the model may call."""

    name: str
    description: str
    parameters: dict[str, Any]
    """JSON Schema of an object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMessage:
    """A message to or from a language model."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    """What an assistant's message wished for."""
    tool_call_id: str = ""
    """The wish that a tool's message answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReply:
    """A model's answer, as it came."""

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    tool_calls: tuple[ToolCall, ...] = ()
    finish: Finish = "stop"
    counted_by: CountedBy = "provider"
    """Whose count of tokens it is; a provider that gave none says `estimated` and leaves zeros to be filled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """One call of one model."""

    messages: tuple[ChatMessage, ...]
    tools: tuple[ToolOffer, ...] = ()
    schema: dict[str, Any] | None = None
    """JSON Schema of the answer; the provider passes it on where its server takes it and promises nothing."""
    max_output_tokens: int = 8192
    temperature: float | None = None
    seconds: float = 300.0
    """Longest time for the whole call."""
    idle_seconds: float = 120.0
    """Longest silence of the server."""


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A piece of the answer, or of what the model tells of its reasoning."""

    text: str
    channel: Literal["text", "reasoning"] = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAddress:
    """Where a model is asked and how."""

    name: str
    """Provider and model, as in the settings."""
    model: str
    """The model as its server names it."""
    through: Literal["openai", "litellm"]
    """The OpenAI protocol spoken directly, or LiteLLM."""
    base_url: str = ""
    key: str = field(default="", repr=False)
    options: tuple[tuple[str, Any], ...] = ()
    """What LiteLLM needs besides, e.g. `api_version`."""


class ChatProvider(Protocol):
    """One model of one server."""

    @property
    def name(self) -> str:
        """Provider and model, as in the settings: `ollama/qwen3`."""
        ...

    def stream(self, request: ChatRequest, *, cancel: CancelToken | None = None) -> Iterator[TextPiece | ChatReply]:
        """Yield pieces as they come and at the end, once, the whole answer.

        One request to the server and no more. An answer without a reason why it ended has failed. Leaving the
        iterator early ends the request.

        Raises:
            ModelUnavailable: one of its kinds (`engine.errors`); `partial` of it holds what had come.
        """
        ...
