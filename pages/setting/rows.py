"""What Settings shows, as rows of tables: worded here, drawn elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pages.parts.words import duration, number, size, when

Row = dict[str, str]
ROLES = {
    "reasoning": "Reasoning: plans, criticism, reports",
    "coder": "Coder: code",
    "fast": "Fast: small decisions",
    "judge": "Judge: comparing and grading",
}
KINDS = {"call": "One call", "run": "A run", "conversation": "A conversation", "day": "A user's day (UTC)"}


def model_rows(chain: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Return the models of a role in the order in which they are asked."""
    return [
        {
            "Asked": f"{place}.",
            "Model": one["model"],
            "Where": one["address"],
            "Leaves this machine": leaves(one["host"]),
            "Key": one["key"],
            "Reads (tokens)": f"{one['reads']:,}" + (" assumed" if one["assumed"] else ""),
            "Price (dollars a million tokens)": _price(one["usd_per_million"]),
        }
        for place, one in enumerate(chain, start=1)
    ]


def server_rows(servers: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Return each server with where it is, where its key comes from and what asks it."""
    return [
        {
            "Server": one["name"],
            "Where": one["address"],
            "Leaves this machine": leaves(one["host"]),
            "Key": one["key"],
            "Models": ", ".join(one["models"]) or "none asked",
        }
        for one in servers
    ]


def leaves(host: str) -> str:
    """Return whether what a model is asked leaves this machine, and where to."""
    return f"yes, to {host}" if host else "no"


def said_line(told: Mapping[str, Any]) -> str:
    """Return what came of a test call in a sentence."""
    if told["works"]:
        return f"{told['model']} answers ({told['seconds']:.1f} s): {told['says']}"
    return f"{told['model']} does not answer: {told['says']} {told['advice']}".strip()


def budget_rows(settings: Any, spent: Any) -> list[Row]:
    """Return each limit, and what was spent of the day's."""
    rows = []
    for kind, title in KINDS.items():
        tokens, usd = getattr(settings, f"budget_{kind}_tokens"), getattr(settings, f"budget_{kind}_usd")
        day = kind == "day"
        rows.append(
            {
                "For": title,
                "Limit (tokens)": f"{tokens:,}" if tokens else "none",
                "Limit (dollars)": f"{usd:,.2f}" if usd else "none",
                "Spent tokens": f"{spent.tokens:,}" if day else "",
                "Spent dollars": f"{spent.usd:.2f}" if day else "",
            }
        )
    return rows


def call_rows(calls: Iterable[Any]) -> list[Row]:
    """Return calls of models, newest first."""
    return [
        {
            "When": when(call.at),
            "Model": call.model,
            "For": call.purpose,
            "Tokens": "0, kept answer" if call.cached else _tokens(call),
            "Dollars": "not known" if call.usd is None else number(call.usd),
            "Time": duration(call.seconds),
            "Outcome": call.outcome.removeprefix("model_").replace("_", " "),
        }
        for call in calls
    ]


def disk_rows(held: Mapping[str, int]) -> list[Row]:
    """Return what the workspace holds, largest first, and the sum."""
    rows = [{"What": name, "Size": size(count)} for name, count in sorted(held.items(), key=lambda one: -one[1])]
    return [*rows, {"What": "All", "Size": size(sum(held.values()))}]


def _price(price: list[float] | None) -> str:
    return "not known" if price is None else f"{price[0]:g} read, {price[1]:g} written"


def _tokens(call: Any) -> str:
    count = f"{call.prompt_tokens + call.completion_tokens:,}"
    return count if call.counted_by == "provider" else f"{count} estimated"
