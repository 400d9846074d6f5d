"""Language models as values: what settings say of them, what a call of one cost, and what such calls add up to."""

from __future__ import annotations

from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from engine.domain.base import Scalar, Value


class ModelServer(Value):
    """A server of models, under the name that stands before the slash in a model's name."""

    base_url: str = ""
    """Address up to `/v1`; empty for the provider's own."""
    key_env: str = ""
    """The environment variable that holds its key, where that is not `NAME_API_KEY`."""
    through: Literal["", "openai", "litellm"] = ""
    """How it is asked: in the OpenAI protocol, through LiteLLM, or (empty) by what its name and address suggest."""
    options: dict[str, Scalar] = {}
    """What LiteLLM needs besides, e.g. `api_version` or `aws_region_name`."""

    @field_validator("base_url")
    @classmethod
    def _is_address(cls, url: str) -> str:
        parts = urlsplit(url)
        if url and (parts.scheme not in ("http", "https") or not parts.hostname):
            raise ValueError("an address begins with http:// or https:// and a host")
        if parts.username or parts.password or parts.query:
            raise ValueError("an address holds no key: name the variable that holds it with key_env")
        return url


class ModelFacts(Value):
    """What is known of a model; None where nothing is."""

    max_input_tokens: int | None = Field(default=None, ge=256)
    max_output_tokens: int | None = Field(default=None, ge=16)
    usd_per_million_input: float | None = Field(default=None, ge=0)
    usd_per_million_output: float | None = Field(default=None, ge=0)
    takes_schema: bool | None = None
    """True when its server makes answers fit a schema, so that the prompt need not hold it."""


class ModelCall(Value):
    """One request to a model, as it is kept: never what was asked or answered."""

    at: str
    user: str
    conversation: str = ""
    run_id: str = ""
    role: str
    model: str
    purpose: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    counted_by: Literal["provider", "estimated"] = "provider"
    usd: float | None = None
    """None where the model's price is not known."""
    seconds: float = 0.0
    cached: bool = False
    """True for an answer that was taken from an earlier call: nothing was sent."""
    reached: bool = True
    """False when the request did not get to a server."""
    outcome: str = "answered"
    """`answered`, or the code of the error."""


class ModelTotals(Value):
    """What calls add up to. `calls` counts requests that reached a server, as its own log would."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float = 0.0

    @property
    def tokens(self) -> int:
        """Tokens read and written."""
        return self.prompt_tokens + self.completion_tokens

    def plus(self, call: ModelCall) -> ModelTotals:
        """Return these totals with one more call."""
        return ModelTotals(
            calls=self.calls + (call.reached and not call.cached),
            prompt_tokens=self.prompt_tokens + call.prompt_tokens,
            completion_tokens=self.completion_tokens + call.completion_tokens,
            usd=self.usd + (call.usd or 0.0),
        )


class ExpectedCalls(Value):
    """Calls for one purpose that a plan may make when it runs."""

    role: str
    model: str
    """The first that is asked."""
    purpose: str
    calls: int
    """For sure, when every step succeeds."""
    most: int
    """Also when steps fail and answers do not fit."""
    prompt_tokens: int
    """Of one call; so are the others."""
    completion_tokens: int
    usd: float | None
    """None where the model's price is not known."""
    from_calls: int = 0
    """Earlier calls for the same purpose that the tokens are the mean of; 0 where they are assumed."""


class ModelEstimate(Value):
    """What a plan will ask of models, estimated before it runs."""

    parts: list[ExpectedCalls]

    @property
    def unpriced(self) -> list[str]:
        """The models whose price is not known."""
        return list(dict.fromkeys(part.model for part in self.parts if part.usd is None))

    def totals(self, *, most: bool = False) -> tuple[int, int, float | None]:
        """Return calls, tokens and dollars, None where a price is not known; with `most` if all goes wrong."""
        counts = [(part.most if most else part.calls, part) for part in self.parts]
        counts = [(n, part) for n, part in counts if n]
        tokens = sum(n * (part.prompt_tokens + part.completion_tokens) for n, part in counts)
        known = [n * part.usd for n, part in counts if part.usd is not None]
        return sum(n for n, _ in counts), tokens, sum(known) if len(known) == len(counts) else None

    @property
    def says(self) -> str:
        """The estimate in a sentence."""
        return f"Models: about {self._told(most=False)}; at most {self._told(most=True)} if steps fail or are revised."

    def _told(self, *, most: bool) -> str:
        calls, tokens, usd = self.totals(most=most)
        price = f"unknown price ({', '.join(self.unpriced)})" if usd is None else f"${usd:.4f}"
        return f"{calls} call{'s' * (calls != 1)}, {tokens:,} tokens, {price}"
