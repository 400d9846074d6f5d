"""Requests in the OpenAI protocol, as its JSON: the same for a server asked directly and for LiteLLM."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from engine.ports.models.chat import ChatMessage, ChatRequest, ToolOffer

ANSWER = "answer"
"""What the schema of an answer is called where the protocol wants a name."""
OPTIONAL = ("stream_options", "response_format", "temperature", "max_tokens", "max_completion_tokens")
"""Fields that a server may not know. The request can do without each: what is asked stays the same."""
_OTHER_NAME = {"max_tokens": "max_completion_tokens"}
"""What newer models call a field that they refuse under its old name."""


def body_of(request: ChatRequest, model: str, without: Collection[str] = ()) -> dict[str, Any]:
    """Return a request as the protocol's JSON, leaving out the fields that this server was found not to take."""
    body: dict[str, Any] = {
        "model": model,
        "messages": [message_json(message) for message in request.messages],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": request.max_output_tokens,
    }
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.tools:
        body["tools"] = [tool_json(tool) for tool in request.tools]
    if request.schema is not None:
        form = {"name": ANSWER, "schema": request.schema, "strict": is_strict(request.schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    for field in without:
        value = body.pop(field, None)
        if value is not None and (name := _OTHER_NAME.get(field)) and name not in without:
            body[name] = value
    return body


def refused_field(said: str, sent: Collection[str]) -> str:
    """Return the optional field that a server's words name as the reason why it refuses a request, or ""."""
    words = said.lower().replace("json_schema", "response_format").replace("structured output", "response_format")
    return next((field for field in OPTIONAL if field in sent and field in words), "")


def message_json(message: ChatMessage) -> dict[str, Any]:
    """Return a message as the protocol's JSON."""
    found: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        found["content"] = message.content or None
        found["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if message.role == "tool":
        found["tool_call_id"] = message.tool_call_id
    return found


def tool_json(tool: ToolOffer) -> dict[str, Any]:
    """Return an offered tool as the protocol's JSON."""
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def is_strict(schema: Any) -> bool:
    """Say whether a schema is of the kind that OpenAI enforces: every object closed and all of its fields required."""
    if isinstance(schema, list):
        return all(is_strict(part) for part in schema)
    if not isinstance(schema, dict):
        return True
    if schema.get("type") == "object" or "properties" in schema:
        fields = schema.get("properties", {})
        if schema.get("additionalProperties") is not False or set(schema.get("required", ())) != set(fields):
            return False
    return "default" not in schema and all(is_strict(part) for part in schema.values())
