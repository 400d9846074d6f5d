"""A server that speaks the OpenAI protocol, asked directly: Ollama, vLLM, LM Studio, llama.cpp, OpenAI, the mailbox.

One request for one call: whether to try again is decided above, where budget and deadline are known. What a server
shows not to take of the optional fields is left out from then on.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from engine.adapters.models.collect import ReplyCollector
from engine.adapters.models.faults import from_status, message_of
from engine.adapters.models.loop import Hear, LoopThread
from engine.adapters.models.protocol import body_of, refused_field
from engine.errors import BrokenAnswer, ModelRejected, ModelTimedOut, ModelUnavailable, ModelUnreachable
from engine.ports.cancel import CancelToken
from engine.ports.models.chat import ChatReply, ChatRequest, TextPiece

if TYPE_CHECKING:
    import httpx2

_CONNECT_SECONDS = 10.0
_END_SECONDS = 0.2
"""How long the end of a stream is waited for after its last mark."""
_LARGEST_FAULT = 20_000
"""Bytes of an error page that are read."""
_BAD_REQUEST = (400, 422)


class OpenAIServer:
    """One model of such a server: a `ChatProvider`."""

    def __init__(
        self, name: str, *, model: str, base_url: str, key: str, loop: LoopThread, redact: Callable[[str], str]
    ) -> None:
        """Remember whom to ask; nothing is imported or connected before the first call.

        Args:
            name: how the settings name it.
            model: how the server names it.
            base_url: the address up to `/v1`.
            key: sent as a bearer token; "" sends none.
            loop: where requests run.
            redact: takes keys out of what a server says.
        """
        self.name = name
        self._model = model
        self._url = base_url.rstrip("/") + "/chat/completions"
        self._key = key
        self._loop = loop
        self._redact = redact
        self._without: list[str] = []
        self._client: httpx2.AsyncClient | None = None

    def stream(self, request: ChatRequest, *, cancel: CancelToken | None = None) -> Iterator[TextPiece | ChatReply]:
        """Send the request and yield what comes, see `ChatProvider`."""

        async def work(hear: Hear) -> None:
            await self._ask(request, hear)

        return self._loop.stream(work, name=self.name, seconds=request.seconds, cancel=cancel)

    async def _ask(self, request: ChatRequest, hear: Hear) -> None:
        import httpx2

        collector = ReplyCollector(self.name)
        body = body_of(request, self._model, self._without)
        silence = httpx2.Timeout(request.idle_seconds, connect=min(_CONNECT_SECONDS, request.idle_seconds))
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        try:
            async with self._connected().stream(
                "POST", self._url, json=body, headers=headers, timeout=silence
            ) as response:
                if response.status_code != httpx2.codes.OK:
                    raise await self._fault(response, body)
                await self._read(response, collector, hear)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.UnsupportedProtocol, httpx2.InvalidURL) as err:
            said = self._redact(str(err))
            message = f"{self.name} cannot be reached at {self._url}: {said or type(err).__name__}."
            raise ModelUnreachable(message, reached=False) from None
        except httpx2.TimeoutException:
            message = f"{self.name} was silent for {request.idle_seconds:.0f} s."
            raise ModelTimedOut(message, partial=collector.text) from None
        except httpx2.HTTPError as err:
            # What comes after the reason to end is only a count of tokens.
            if not collector.finish:
                message = f"The connection to {self.name} broke: {self._redact(str(err)) or type(err).__name__}."
                raise BrokenAnswer(message, partial=collector.text) from None
        hear(collector.reply())

    async def _read(self, response: httpx2.Response, collector: ReplyCollector, hear: Hear) -> None:
        import httpx2

        if "text/event-stream" not in response.headers.get("content-type", ""):
            await response.aread()
            self._take(response.text, collector, hear)  # the server does not stream: the whole answer is one chunk
            return
        events = aiter(httpx2.EventSource(response))
        async for event in events:
            if event.data == "[DONE]":
                break
            if event.data:
                self._take(event.data, collector, hear)
        # A connection that was read to its end serves the next call; one that the server holds open is not waited for.
        with contextlib.suppress(TimeoutError, httpx2.HTTPError):
            async with asyncio.timeout(_END_SECONDS):
                async for _ in events:
                    pass

    def _take(self, data: str, collector: ReplyCollector, hear: Hear) -> None:
        try:
            chunk: Any = json.loads(data)
        except ValueError:
            message = f"{self.name} sent what is no JSON: {self._redact(data[:80])!r}."
            raise BrokenAnswer(message, partial=collector.text) from None
        if not isinstance(chunk, dict):
            raise BrokenAnswer(f"{self.name} sent JSON that is no answer.", partial=collector.text)
        if chunk.get("error"):
            fault = self._said_in_stream(chunk["error"])
            fault.partial = collector.text
            raise fault
        try:
            for piece in collector.take(chunk):
                hear(piece)
        except (AttributeError, TypeError, ValueError):
            message = f"{self.name} sent a piece that is not of the protocol: {self._redact(data[:80])!r}."
            raise BrokenAnswer(message, partial=collector.text) from None

    def _said_in_stream(self, error: Any) -> ModelUnavailable:
        """Return the error that a server reports inside an answer that began well."""
        code = str(error.get("code", "")) if isinstance(error, dict) else ""
        status = int(code) if code.isdigit() and 400 <= int(code) < 600 else 500
        return from_status(self.name, status, self._redact(json.dumps({"error": error})), {})

    async def _fault(self, response: httpx2.Response, body: dict[str, Any]) -> ModelUnavailable:
        """Return the error for an answer that is none; a field the server does not take is left out from now on."""
        read = bytearray()
        async for part in response.aiter_bytes():
            read += part
            if len(read) > _LARGEST_FAULT:
                break
        said = self._redact(read.decode("utf-8", "replace"))
        field = refused_field(message_of(said), body) if response.status_code in _BAD_REQUEST else ""
        if field:
            self._without.append(field)
            # To wait 0 seconds is to ask again at once; each time with one field less.
            return ModelRejected(f"{self.name} does not take `{field}`; it is left out.", wait=0.0)
        return from_status(self.name, response.status_code, said, response.headers)

    def _connected(self) -> httpx2.AsyncClient:
        import httpx2

        if self._client is None:
            host = urlsplit(self._url).hostname or ""
            local = host == "localhost" or host.startswith("127.") or host == "::1"
            # A proxy of the environment is for other machines. Certificates are not looked at where there are none.
            secure = self._url.startswith("https:")
            self._client = httpx2.AsyncClient(trust_env=not local, verify=secure)
            self._loop.close_with(self._client.aclose)
        return self._client
