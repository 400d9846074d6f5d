"""Every provider that does not speak the OpenAI protocol, through LiteLLM: it translates, and that is all it does here.

Retries, fallbacks, budgets and caches of its own stay off: two loops of retries multiply, and what it counts is not
always what the provider counted. It is imported when a model is asked for the first time (seconds, 160 MB).
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from engine.adapters.models import litellm_build
from engine.adapters.models.collect import ReplyCollector, usage_of
from engine.adapters.models.faults import kind_of, retry_after
from engine.adapters.models.loop import Hear, LoopThread
from engine.adapters.models.protocol import body_of
from engine.errors import BrokenAnswer, ModelTimedOut, ModelUnavailable, ModelUnreachable
from engine.ports.cancel import CancelToken
from engine.ports.models.chat import ChatReply, ChatRequest, TextPiece

_LOCAL_ONLY = {
    # Without these it fetches its table of prices, its headers and its news when it is imported.
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_LOCAL_BLOG_POSTS": "True",
    "LITELLM_OFFLINE_MODE": "true",
    # In its other mode it reads .env files of the current folder.
    "LITELLM_MODE": "PRODUCTION",
}
_SHOWN = 300
_STATUS = {"ContextWindowExceededError": 413, "ContentPolicyViolationError": 400, "Timeout": 408,
           "APIConnectionError": 503}  # fmt: skip
_importing = threading.Lock()


class LiteLLMModel:
    """One model of one provider: a `ChatProvider`."""

    def __init__(
        self,
        name: str,
        *,
        model: str,
        key: str,
        loop: LoopThread,
        redact: Callable[[str], str],
        options: Mapping[str, Any],
    ) -> None:
        """Remember whom to ask; nothing is imported before the first call.

        Args:
            name: how the settings name it.
            model: provider and model as LiteLLM names them.
            key: "" lets LiteLLM find the provider's own environment variables.
            loop: where requests run.
            redact: takes keys out of what is said.
            options: of LiteLLM's `acompletion`: `api_base`, `api_version`, ...
        """
        self.name = name
        self._model = model
        self._key = key
        self._loop = loop
        self._redact = redact
        self._options = dict(options)

    def stream(self, request: ChatRequest, *, cancel: CancelToken | None = None) -> Iterator[TextPiece | ChatReply]:
        """Send the request and yield what comes, see `ChatProvider`."""

        async def work(hear: Hear) -> None:
            await self._ask(request, hear)

        return self._loop.stream(work, name=self.name, seconds=request.seconds, cancel=cancel)

    async def _ask(self, request: ChatRequest, hear: Hear) -> None:
        litellm = await asyncio.to_thread(load)
        collector = ReplyCollector(self.name)
        body = body_of(request, self._model)
        if self._key:
            body["api_key"] = self._key
        stream: Any = None
        try:
            stream = await litellm.acompletion(
                **body, **self._options, timeout=request.idle_seconds, num_retries=0, max_retries=0, drop_params=True
            )
            async for chunk in stream:
                for piece in collector.take(chunk.model_dump()):
                    hear(piece)
        except ModelUnavailable:
            raise
        except Exception as err:  # noqa: BLE001 - a border: LiteLLM raises its own, OpenAI's, httpx's and plain errors
            if not collector.finish:
                raise self._fault(err, collector.text) from None
        else:
            self._require_end(stream, collector)
        reply = collector.reply()
        hear(reply if _provider_counted(stream) else _uncounted(reply))

    def _require_end(self, stream: Any, collector: ReplyCollector) -> None:
        """Refuse an end that LiteLLM made up: a stream that just stops it finishes with `stop`.

        Raises:
            BrokenAnswer: when the provider gave no reason for the end.
        """
        said = ("received_finish_reason", "intermittent_finish_reason", "received_any_finish_reason")
        if not any(getattr(stream, name, None) for name in said):
            message = f"The answer of {self.name} broke off: it did not say why it ended."
            raise BrokenAnswer(message, partial=collector.text)

    def _fault(self, err: Exception, partial: str) -> ModelUnavailable:
        """Return the engine's error for one of LiteLLM's."""
        kind = type(err).__name__
        said = self._redact(" ".join(str(getattr(err, "message", "") or err).split()))[:_SHOWN]
        if kind == "Timeout" or isinstance(err, TimeoutError):
            return ModelTimedOut(f"{self.name} was silent too long: {said}", partial=partial)
        if partial or kind in ("MidStreamFallbackError", "APIResponseValidationError", "JSONDecodeError"):
            return BrokenAnswer(f"The answer of {self.name} broke off: {said}", partial=partial)
        status = getattr(err, "status_code", None)
        status = _STATUS.get(kind, status if isinstance(status, int) else 503)
        away = _unconnected(err)
        fault = ModelUnreachable if away and status >= 500 else kind_of(status, said)
        # Which of the two is filled differs from version to version.
        headers = {
            **_headers(getattr(err, "litellm_response_headers", None)),
            **_headers(getattr(err, "response", None)),
        }
        wait = retry_after(headers) if fault.retryable else None
        return fault(f"{self.name} gave no answer ({kind}): {said}", wait=wait, reached=not away)


def load() -> Any:
    """Import LiteLLM, once, silent and without a word to any server.

    Raises:
        ModelUnavailable: when it is missing, must not be used, or does not import.
    """
    with _importing:
        litellm_build.require()
        for name, value in _LOCAL_ONLY.items():
            os.environ[name] = value
        try:
            import litellm  # pyright: ignore[reportMissingImports] - an extra that need not be installed
        except Exception as err:  # noqa: BLE001 - whatever is broken in it, the built-in rules go on
            raise ModelUnavailable(f"LiteLLM cannot be imported: {err}", reached=False) from None
        litellm.suppress_debug_info = True
        litellm.telemetry = False
        for logger in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy", "httpx"):
            logging.getLogger(logger).setLevel(logging.CRITICAL)  # they log addresses, and some addresses hold keys
        return litellm


def _headers(said: Any) -> dict[str, str]:
    """Return the headers of a response, or headers themselves, with small names."""
    found = getattr(said, "headers", said)
    return {str(name).lower(): str(value) for name, value in found.items()} if hasattr(found, "items") else {}


def _unconnected(err: BaseException | None) -> bool:
    """Say whether a failed connection is behind an error: LiteLLM calls it a server's fault."""
    while err is not None:
        if type(err).__name__ in ("APIConnectionError", "ConnectError", "ConnectTimeout"):
            return True
        err = err.__cause__ or err.__context__
    return False


def _provider_counted(stream: Any) -> bool:
    """Say whether the provider itself counted the tokens; LiteLLM fills in a count of its own where it did not."""
    said = (getattr(chunk, "usage", None) for chunk in getattr(stream, "chunks", ()))
    return any(usage_of(usage.model_dump()) for usage in said if usage is not None)


def _uncounted(reply: ChatReply) -> ChatReply:
    return replace(reply, prompt_tokens=0, completion_tokens=0, counted_by="estimated")
