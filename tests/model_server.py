"""A local server of the OpenAI protocol that behaves as told, one answer a request, and keeps what it was asked."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Behaviour = Callable[["Handler"], None]
USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: ModelServer  # type: ignore[assignment]
    protocol_version = "HTTP/1.1"
    body: dict[str, Any]
    """What this request asks: the last of `server.asked` may be one that came beside it."""

    def do_POST(self) -> None:
        self.body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.asked.append(
                {"body": self.body, "headers": {k.lower(): v for k, v in self.headers.items()}, "path": self.path}
            )
            behave = self.server.behaviours.pop(0) if self.server.behaviours else self.server.otherwise
        try:
            behave(self)
        except (BrokenPipeError, ConnectionResetError):
            self.server.gone.set()
        self.close_connection = True

    def log_message(self, *_: Any) -> None:
        pass

    def begin(self, status: int = 200, kind: str = "text/event-stream", **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Connection", "close")
        self.end_headers()

    def data(self, chunk: Any) -> None:
        text = chunk if isinstance(chunk, str) else json.dumps(chunk)
        self.wfile.write(f"data: {text}\n\n".encode())
        self.wfile.flush()

    def whole(self, document: Any, status: int = 200, **headers: str) -> None:
        self.begin(status, "application/json", **headers)
        self.wfile.write((document if isinstance(document, str) else json.dumps(document)).encode())


class ModelServer(ThreadingHTTPServer):
    """The server: give it `behaviours`, then look at `asked`."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock = threading.Lock()
        self.asked: list[dict[str, Any]] = []
        self.behaviours: list[Behaviour] = []
        self.otherwise: Behaviour = says("yes")
        self.gone = threading.Event()
        """Set when a client left before its answer was over."""
        self.held = threading.Event()
        """What a hanging answer waits for; set at the end of the test."""
        self.heard = threading.Event()
        """Set when a hanging answer has begun to hang."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


@contextmanager
def serving(*behaviours: Behaviour) -> Iterator[ModelServer]:
    server = ModelServer()
    server.behaviours += behaviours
    thread = threading.Thread(target=lambda: server.serve_forever(poll_interval=0.01), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.held.set()
        server.shutdown()
        server.server_close()
        thread.join()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


# ==== behaviours ====


def piece(delta: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice], **more}


def streams(*chunks: Any, done: bool = True) -> Behaviour:
    """Send these chunks."""

    def behave(handler: Handler) -> None:
        handler.begin()
        for chunk in chunks:
            handler.data(chunk)
        if done:
            handler.data("[DONE]")

    return behave


def usage_chunk(usage: Any) -> dict[str, Any]:
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [], "usage": usage}


def says(*texts: str, usage: Any = USAGE, finish: str | None = "stop", done: bool = True) -> Behaviour:
    """Say these pieces of text."""
    chunks = [piece({"role": "assistant", "content": text}) for text in texts]
    last = [piece({}, finish)] if finish else []
    return streams(*chunks, *last, *([usage_chunk(usage)] if usage is not None else []), done=done)


def calls(*pieces: tuple[int, str | None, str | None, str], finish: str = "tool_calls") -> Behaviour:
    """Call tools: index, id, name and a piece of the arguments of each chunk."""
    chunks = [
        piece({"tool_calls": [{"index": index, "id": call_id, "type": "function",
                               "function": {"name": name, "arguments": arguments}}]})
        for index, call_id, name, arguments in pieces
    ]  # fmt: skip
    return streams(*chunks, piece({}, finish), usage_chunk(USAGE))


def fails(status: int, message: str = "no", code: str | None = None, **headers: str) -> Behaviour:
    """Answer with a status and an error."""
    return lambda handler: handler.whole({"error": {"message": message, "code": code, "type": None}}, status, **headers)


def hangs(*texts: str) -> Behaviour:
    """Say something, then nothing more."""

    def behave(handler: Handler) -> None:
        if texts:
            handler.begin()
            for text in texts:
                handler.data(piece({"role": "assistant", "content": text}))
        handler.server.heard.set()
        handler.server.held.wait(30)

    return behave


def trickles(handler: Handler) -> None:
    """Say a letter every few milliseconds, without end."""
    handler.begin()
    while not handler.server.held.wait(0.02):
        handler.data(piece({"role": "assistant", "content": "a "}))
        handler.server.heard.set()


def disconnects(*texts: str) -> Behaviour:
    """Say something, then break the connection in the middle of a chunk."""

    def behave(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        for text in texts:
            line = f"data: {json.dumps(piece({'role': 'assistant', 'content': text}))}\n\n".encode()
            handler.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
        handler.wfile.write(b"ff\r\ndata: {")
        handler.wfile.flush()
        handler.connection.shutdown(socket.SHUT_RDWR)

    return behave
