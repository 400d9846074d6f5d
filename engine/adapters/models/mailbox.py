"""A model behind a folder: a server of the OpenAI protocol that writes each question down and waits for its answer.

A person, or a program, plays the model: with it the whole way from question to report can be tried without any
provider, and every prompt can be read. The names of the files are in docs/models.md.
"""

from __future__ import annotations

import json
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from engine.errors import UserError
from engine.text.token_cost import estimate_tokens

MODEL = "mailbox"
_LARGEST = 64 * 2**20
_LOOK_SECONDS = 0.1
"""How often it looks for the answer."""
_SETTLED_SECONDS = 0.3
"""How long a file must stay as it is before it is taken to be written to its end."""
_PIECE = 40
"""Letters of a piece of a streamed answer."""


class Mailbox(ThreadingHTTPServer):
    """The server. `serve_forever` runs it; it listens on this computer only."""

    daemon_threads = True

    def __init__(self, folder: Path, port: int, tell: Callable[[str], object]) -> None:
        """Make the folder and take the port (0 for any).

        Raises:
            UserError: when one of them cannot be had.
        """
        self.folder = folder
        self.tell = tell
        self.stopped = threading.Event()
        self._lock = threading.Lock()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            super().__init__(("127.0.0.1", port), _Handler)
        except (OSError, OverflowError) as err:
            message = f"The mailbox cannot be opened at port {port} with the folder {folder}: {err}."
            raise UserError(message, advice="Give a free port and a folder that can be written.") from err
        self._number = max(map(_number, folder.glob("*.request.json")), default=0)

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.server_address[1])

    def write_down(self, body: dict[str, Any]) -> Path:
        """Write a request into the folder and return the path that its answer's name begins with."""
        with self._lock:
            self._number += 1
            stem = self.folder / f"{self._number:06d}"
        _write(stem.with_suffix(".request.md"), _readable(body))
        _write(stem.with_suffix(".request.json"), json.dumps(body, ensure_ascii=False, indent=1))
        self.tell(f"{stem.name}: {len(body.get('messages', []))} messages; waiting for {stem.name}.answer.txt or .json")
        return stem

    def server_close(self) -> None:
        """Stop waiting for answers."""
        self.stopped.set()
        super().server_close()


def answer_of(stem: Path) -> dict[str, Any] | None:
    """Return the answer beside a request as the protocol's message, or None while it is not there or not JSON yet."""
    for path in (stem.with_suffix(".answer.txt"), stem.with_suffix(".answer.json")):
        try:
            if time.time() - path.stat().st_mtime < _SETTLED_SECONDS:
                continue
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            continue
        if path.suffix == ".txt":
            return {"content": text.removesuffix("\n")}
        try:
            found = json.loads(text)
        except ValueError:
            continue
        return found if isinstance(found, dict) and _FIELDS.intersection(found) else {"content": found}
    return None


_FIELDS = frozenset({"content", "tool_calls", "error"})


class _Handler(BaseHTTPRequestHandler):
    server: Mailbox  # type: ignore[assignment]
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Name the one model."""
        self._document(200, {"object": "list", "data": [{"id": MODEL, "object": "model"}]})

    def do_POST(self) -> None:
        """Write the question down, wait, answer."""
        self.close_connection = True
        try:
            size = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(min(size, _LARGEST)))
        except ValueError:
            self._document(400, {"error": {"message": "The body is no JSON."}})
            return
        if not self.path.endswith("/chat/completions") or not isinstance(body, dict):
            self._document(404, {"error": {"message": "Only /v1/chat/completions is answered."}})
            return
        stem = self.server.write_down(body)
        try:
            self._answer(body, stem)
        except (BrokenPipeError, ConnectionResetError):
            _write(stem.with_suffix(".gone"), "Whoever asked has left; no answer is needed.\n")
            self.server.tell(f"{stem.name}: whoever asked has left")

    def _answer(self, body: dict[str, Any], stem: Path) -> None:
        found = self._waited(stem)
        if error := found.get("error"):
            self._refuse(error if isinstance(error, dict) else {"message": str(error)})
            return
        reply = _reply(found, body)
        if not body.get("stream"):
            self._document(200, reply)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        wanted = (body.get("stream_options") or {}).get("include_usage")
        for chunk in _chunks(reply, usage=bool(wanted)):
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")

    def _waited(self, stem: Path) -> dict[str, Any]:
        while (found := answer_of(stem)) is None:
            if self.server.stopped.wait(_LOOK_SECONDS) or _has_left(self.connection):
                raise BrokenPipeError
        return found

    def _refuse(self, error: dict[str, Any]) -> None:
        status = error.get("status")
        headers = {"Retry-After": str(error["retry_after"])} if "retry_after" in error else {}
        self._document(status if isinstance(status, int) else 500, {"error": error}, headers)

    def _document(self, status: int, document: dict[str, Any], headers: dict[str, str] | None = None) -> None:
        data = json.dumps(document).encode()
        self.send_response(status)
        for name, value in {
            "Content-Type": "application/json",
            "Content-Length": str(len(data)),
            **(headers or {}),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the mailbox tells of every question itself."""


def _reply(found: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
    """Return the whole answer in the protocol's form."""
    content = found.get("content", "")
    content = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    calls = [_call(number, call) for number, call in enumerate(found.get("tool_calls") or (), start=1)]
    message = {"role": "assistant", "content": content, **({"tool_calls": calls} if calls else {})}
    read = estimate_tokens(json.dumps([body.get("messages"), body.get("tools")], ensure_ascii=False))
    wrote = estimate_tokens(content + "".join(call["function"]["arguments"] for call in calls))
    usage = {"prompt_tokens": read, "completion_tokens": wrote, "total_tokens": read + wrote}
    finish = found.get("finish_reason") or ("tool_calls" if calls else "stop")
    return {
        "id": "mailbox",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": body.get("model", MODEL),
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": found.get("usage") or usage,
    }


def _call(number: int, call: dict[str, Any]) -> dict[str, Any]:
    function = call.get("function") or call
    arguments = function.get("arguments", {})
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    named = {"name": str(function.get("name", "")), "arguments": text}
    return {"index": number - 1, "id": str(call.get("id") or f"call_{number}"), "type": "function", "function": named}


def _chunks(reply: dict[str, Any], *, usage: bool) -> Iterator[dict[str, Any]]:
    choice = reply["choices"][0]
    head = {**{key: reply[key] for key in ("id", "created", "model")}, "object": "chat.completion.chunk"}

    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    content = choice["message"]["content"]
    yield chunk({"role": "assistant", "content": ""})
    for start in range(0, len(content), _PIECE):
        yield chunk({"content": content[start : start + _PIECE]})
    for call in choice["message"].get("tool_calls", ()):
        yield chunk({"tool_calls": [call]})
    yield chunk({}, choice["finish_reason"])
    if usage:
        yield {**head, "choices": [], "usage": reply["usage"]}


def _readable(body: dict[str, Any]) -> str:
    """Return a request as a person reads it."""
    parts = []
    for message in body.get("messages", ()):
        said = message.get("content") or ""
        parts.append(f"## {message.get('role')}\n\n{said if isinstance(said, str) else json.dumps(said)}")
        if message.get("tool_calls"):
            parts.append(f"```json\n{json.dumps(message['tool_calls'], ensure_ascii=False, indent=1)}\n```")
    for title, key in (("Tools", "tools"), ("Form of the answer", "response_format")):
        # Where the instructions tell the form already, reading it twice only costs time.
        told = key == "response_format" and any("JSON Schema" in part for part in parts)
        if body.get(key) and not told:
            parts.append(f"## {title}\n\n```json\n{json.dumps(body[key], ensure_ascii=False)}\n```")
    return "\n\n".join(parts) + "\n"


def _number(path: Path) -> int:
    digits = path.name.partition(".")[0]
    return int(digits) if digits.isdigit() else 0


def _write(path: Path, text: str) -> None:
    """Write a file so that whoever watches the folder never sees half of it."""
    waiting = path.with_name(f".{path.name}.part")
    waiting.write_text(text, encoding="utf-8", errors="replace")
    waiting.replace(path)


def _has_left(connection: socket.socket) -> bool:
    """Say whether the other side has closed its connection; it sends nothing more after its request."""
    try:
        readable = select.select([connection], [], [], 0)[0]
        return bool(readable) and connection.recv(1, socket.MSG_PEEK) == b""
    except (OSError, ValueError):
        return True
