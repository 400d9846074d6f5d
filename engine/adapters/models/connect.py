"""From the address of a model to what asks it: all connections of a program share one event loop."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable

from engine.adapters.models import litellm_chat
from engine.adapters.models.litellm_chat import LiteLLMModel
from engine.adapters.models.loop import LoopThread
from engine.adapters.models.openai_http import OpenAIServer
from engine.errors import ModelUnavailable
from engine.ports.models.chat import ChatProvider, ModelAddress


class Connections:
    """Makes providers; `close` ends what they have under way."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        self._redact = redact
        self._loop = LoopThread()

    def to(self, address: ModelAddress) -> ChatProvider:
        """Return what asks this model; nothing is connected yet."""
        if address.through == "openai":
            return OpenAIServer(
                address.name,
                model=address.model,
                base_url=address.base_url,
                key=address.key,
                loop=self._loop,
                redact=self._redact,
            )
        base = {"api_base": address.base_url} if address.base_url else {}
        return LiteLLMModel(
            address.name,
            model=address.model,
            key=address.key,
            loop=self._loop,
            redact=self._redact,
            options={**base, **dict(address.options)},
        )

    def close(self) -> None:
        """End every request under way."""
        self._loop.close()


def warm(addresses: Iterable[ModelAddress]) -> None:
    """Import what the first question to these would wait for; a fault shows when one is asked."""
    if any(address.through == "litellm" for address in addresses):
        with contextlib.suppress(ModelUnavailable):
            litellm_chat.load()
