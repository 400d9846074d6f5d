"""Which model is asked for what: the chains of the settings, with address, key and facts of each model."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_args
from urllib.parse import urlsplit

from engine.domain.models import ModelFacts, ModelServer
from engine.errors import UserError
from engine.models.keys import Key, key_for
from engine.ports.models.chat import ModelAddress, Role
from engine.settings import Settings

OFFLINE = "offline"
ROLES: tuple[Role, ...] = get_args(Role)
ASSUMED_INPUT, ASSUMED_OUTPUT = 32_768, 4_096
"""Tokens that a model is taken to read and write when nothing is known of it: what most local models manage."""
KNOWN_SERVERS = {
    "openai": "https://api.openai.com/v1",
    "ollama": "http://127.0.0.1:11434/v1",
    "lmstudio": "http://127.0.0.1:1234/v1",
    "vllm": "http://127.0.0.1:8000/v1",
    "llamacpp": "http://127.0.0.1:8080/v1",
    "mailbox": "http://127.0.0.1:8900/v1",
}
"""Servers that speak the OpenAI protocol, at the address where each listens unless told otherwise."""
_NEEDS_KEY = frozenset({"openai"})

Table = Callable[[], Mapping[str, Mapping[str, Any]]]
"""Gives LiteLLM's table of models: name -> what it says of the model."""


@dataclass(frozen=True, slots=True)
class Target:
    """A model that can be asked, and what is known of it."""

    address: ModelAddress
    key: Key
    facts: ModelFacts
    needs_key: bool = False

    @property
    def name(self) -> str:
        """Provider and model."""
        return self.address.name

    @property
    def server(self) -> str:
        """The name before the slash."""
        return self.name.partition("/")[0]

    @property
    def host(self) -> str:
        """Where what it is asked goes, "" for this machine."""
        return host_of(self.address.base_url, self.server)

    @property
    def reads(self) -> int:
        """Tokens it reads, assumed where they are not known."""
        return self.facts.max_input_tokens or ASSUMED_INPUT

    @property
    def writes(self) -> int:
        """Tokens it writes, assumed where they are not known."""
        return self.facts.max_output_tokens or ASSUMED_OUTPUT

    def usd(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        """Return what so many tokens cost, or None where the price is not known."""
        read, write = self.facts.usd_per_million_input, self.facts.usd_per_million_output
        if read is None or write is None:
            return None
        return (prompt_tokens * read + completion_tokens * write) / 1e6


def host_of(base_url: str, server: str) -> str:
    """Return the host of an address that is not this machine's own, "" for this machine.

    Args:
        base_url: the address, "" where LiteLLM knows it.
        server: the name of the provider, which stands for an address that is not known.
    """
    host = urlsplit(base_url).hostname or (server if not base_url else "")
    try:
        here = ipaddress.ip_address(host).is_loopback
    except ValueError:
        here = host == "localhost" or host.endswith(".localhost")
    return "" if here else host


def chains(settings: Settings) -> dict[Role, list[str]]:
    """Return the models of each role, first choice first; an empty list for a role that has none.

    Raises:
        UserError: for a name without a provider.
    """
    return {role: _names(role, getattr(settings, f"model_{role}") or settings.model) for role in ROLES}


def targets(settings: Settings, table: Table) -> dict[Role, tuple[Target, ...]]:
    """Return what can be asked for each role.

    Raises:
        UserError: for a name without a provider, or a server that cannot be asked.
    """
    made: dict[str, Target] = {}
    found = chains(settings)
    for name in dict.fromkeys(name for names in found.values() for name in names):
        made[name] = target(name, settings, table)
    return {role: tuple(made[name] for name in names) for role, names in found.items()}


def target(name: str, settings: Settings, table: Table) -> Target:
    """Return one model with its address, key and facts."""
    provider, _, model = name.partition("/")
    server = settings.model_servers.get(provider, ModelServer())
    base_url = server.base_url or ("" if server.through == "litellm" else KNOWN_SERVERS.get(provider, ""))
    through = server.through or ("openai" if base_url else "litellm")
    if through == "openai" and not base_url:
        message = f"The server {provider!r} has no address."
        raise UserError(message, advice=f'Write `[model_servers.{provider}]` with `base_url = "http://..."`.')
    key = key_for(provider, server.key_env)
    address = ModelAddress(
        name=name,
        model=model if through == "openai" else name,
        through=through,
        base_url=base_url,
        key=key.value,
        options=tuple(server.options.items()),
    )
    foreign = bool(server.base_url)  # a server of one's own may call its model whatever it likes
    given = settings.model_facts.get(name, ModelFacts())
    known = given if foreign else _known(provider, name, table)
    facts = known.model_copy(update=given.model_dump(exclude_none=True))
    return Target(address, key, facts, needs_key=provider in _NEEDS_KEY and not foreign)


def _names(role: str, chain: str) -> list[str]:
    names = [name.strip() for name in chain.split(",") if name.strip()]
    if names == [OFFLINE]:
        return []
    for name in names:
        provider, slash, model = name.partition("/")
        if not (slash and provider and model):
            message = f"The model {name!r} for {role} names no provider: expected PROVIDER/MODEL."
            advice = (
                "For example `ollama/qwen3:8b` or `anthropic/claude-sonnet-4-5`; `offline` is the built-in planner."
            )
            raise UserError(message, advice=advice)
    return list(dict.fromkeys(names))


def _known(provider: str, name: str, table: Table) -> ModelFacts:
    """Return what LiteLLM's table says of a model; nothing where it speaks of another provider's."""
    entries = table()
    bare = name.partition("/")[2]
    said = entries.get(name) or entries.get(bare, {})
    if said.get("litellm_provider") != provider or said.get("mode", "chat") not in ("chat", "responses"):
        return ModelFacts()

    def million(key: str) -> float | None:
        price = said.get(key)
        return price * 1e6 if isinstance(price, int | float) else None

    def count(key: str) -> int | None:
        number = said.get(key) or said.get("max_tokens")
        return int(number) if isinstance(number, int | float) and number >= 256 else None

    return ModelFacts(
        max_input_tokens=count("max_input_tokens"),
        max_output_tokens=count("max_output_tokens"),
        usd_per_million_input=million("input_cost_per_token"),
        usd_per_million_output=million("output_cost_per_token"),
        takes_schema=True if said.get("supports_response_schema") else None,
    )
