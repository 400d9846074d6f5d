"""The base of every domain value."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

Scalar = str | int | float | bool | None


class Value(BaseModel):
    """An immutable value that refuses unknown fields and serialises to plain JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="null")
