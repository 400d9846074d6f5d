"""Tools that a model wrote for a question no tool of the catalogue answers, and what people decided about them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from engine.domain.base import Value
from engine.domain.toolspec import InputSpec, OutputSpec, ParamSpec

WrittenState = Literal["draft", "worked", "proposed", "approved", "retired"]
"""A `draft` runs in the plan it was written for; one that `worked` well may be taken again; one that did so in two runs
is `proposed` to a person; `approved` it is planned like any tool; `retired` it only explains the runs that had it."""


class WrittenTool(Value):
    """A tool as a model wrote it: code with its contract. Its name holds the hash of both, so that it never changes."""

    name: str = Field(pattern=r"^written_[0-9a-f]{10}$")
    title: str
    description: str
    source: str
    """One function with the helpers it calls; positional arguments are inputs, keyword-only ones parameters."""
    function: str
    inputs: list[InputSpec]
    outputs: list[OutputSpec]
    params: list[ParamSpec] = []
    checks: list[str] = []
    """Postconditions (see `engine.toolbox.checks`)."""
    packages: list[str] = []
    criteria: list[str] = []
    """What a good result must meet, written before the code."""
    question: str = ""
    """The question it was written for."""
    model: str = ""
    """Provider and model that wrote it; empty for a person."""
    replaces: str = ""
    """The name of the version before it, which failed or was improved."""


class WrittenRecord(Value):
    """A written tool with where it stands."""

    tool: WrittenTool
    state: WrittenState = "draft"
    at: str = ""
    """When it came to this state, UTC."""
    by: str = ""
    """Who or which run brought it there."""
