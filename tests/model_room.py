"""What tests of the layer need: models on a local server or a script, a roster of them, and a store in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from engine.adapters.models.connect import Connections
from engine.adapters.system import SystemClock
from engine.domain.events import EngineEvent
from engine.domain.models import ModelFacts
from engine.models.keys import Key
from engine.models.roster import Target
from engine.models.scope import Scope
from engine.models.service import Models
from engine.ports.models.chat import ChatMessage, ChatProvider, ModelAddress
from engine.settings import Settings
from engine.text.redaction import Redactor
from storage.models.twin import ModelCallsTwin

HELLO = [ChatMessage(role="system", content="Be short."), ChatMessage(role="user", content="Is TP53 a gene?")]
PRICED = ModelFacts(
    max_input_tokens=100_000, max_output_tokens=1000, usd_per_million_input=2.0, usd_per_million_output=8.0
)


class Heard:
    """A run's events, and the scope that puts them there."""

    def __init__(self, **more: Any) -> None:
        self.events: list[EngineEvent] = []
        self.scope = Scope(run_id="r1", conversation="c1", user="ada", emit=self.events.append, **more)

    def of(self, kind: str) -> list[Any]:
        return [event for event in self.events if event.kind == kind]


def target(name: str, url: str = "http://127.0.0.1:1/v1", facts: ModelFacts = PRICED, key: str = "") -> Target:
    address = ModelAddress(name=name, model=name.partition("/")[2], through="openai", base_url=url, key=key)
    return Target(address, Key(key, "a test"), facts)


def scripted(*models: Any, facts: ModelFacts = PRICED, store: ModelCallsTwin | None = None, **settings: Any) -> Models:
    """Return a layer whose roles all have these models, each a `ScriptedModel`, as their chain."""
    by_name: dict[str, ChatProvider] = {model.name: model for model in models}
    chain = tuple(target(name, facts=facts) for name in by_name)
    return Models(
        roster=dict.fromkeys(("reasoning", "coder", "fast", "judge"), chain),
        connect=lambda address: by_name[address.name],
        store=store or ModelCallsTwin(),
        clock=SystemClock(),
        settings=Settings(**settings),
        redact=Redactor(),
    )


@contextmanager
def served(urls: Sequence[str], facts: ModelFacts = PRICED, key: str = "", **settings: Any) -> Iterator[Models]:
    """Give a layer whose role `fast` asks these servers one after the other: lab1/m, lab2/m, ..."""
    redact = Redactor()
    connections = Connections(redact)
    chain = tuple(target(f"lab{number}/m", url, facts, key) for number, url in enumerate(urls, start=1))
    models = Models(
        roster={"fast": chain},
        connect=connections.to,
        store=ModelCallsTwin(),
        clock=SystemClock(),
        settings=Settings(**settings),
        redact=redact,
        when_closed=connections.close,
    )
    try:
        yield models
    finally:
        models.close()
