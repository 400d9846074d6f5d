"""A look-up tool: what it is called and for, what it takes, what it found; and how a question asks for it by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from engine.domain.base import Value
from engine.domain.findings import Finding
from engine.domain.knowledge import Node
from engine.domain.profile import Profile
from engine.domain.report import ReportFigure
from engine.domain.toolspec import Citation


class Nothing(Value):
    """No arguments."""


@dataclass(frozen=True, slots=True)
class LookupQuestion:
    """A question with what it came with."""

    question: str
    profiles: Sequence[Profile] = ()
    conversation: str = ""
    """The conversation whose last answer it may be about; "" for none."""
    before: str = ""
    """When it was asked, ISO 8601: what came later is not meant."""
    plain: bool = True
    """False while it may still be planned: then only what asks for nothing but a look-up is looked up."""
    by_name: bool = False
    """True where a person chose look-ups by name: then the graph also answers what came with files."""


class Observation(Value):
    """What a look-up found. Each sentence says where it is from; nothing found is said as well."""

    lines: list[str] = []
    """Sentences that answer."""
    findings: list[Finding] = []
    """Those with their numbers, where there are any."""
    notes: list[str] = []
    """What is said before all answers: what was not looked up, or is not there."""
    limitations: list[str] = []
    figures: list[ReportFigure] = []
    citations: list[Citation] = []
    entities: list[Node] = []
    """What it named, for the look-ups after it."""
    whole: bool = False
    """True when this is the whole answer and nothing else need be looked up."""
    fault: str = ""
    """Why it could not be looked up, e.g. arguments that do not fit."""


class Call(Value):
    """A look-up to be made."""

    tool: str
    arguments: dict[str, Any] = {}


class Step(Value):
    """A look-up that was made."""

    call: Call
    found: Observation


def _never(asked: LookupQuestion, steps: Sequence[Step]) -> Iterable[Value]:
    return ()


@dataclass(frozen=True, slots=True)
class Lookup:
    """A tool that looks something up and changes nothing."""

    name: str
    description: str
    takes: type[Value]
    """The form of its arguments."""
    run: Callable[[Any], Observation]
    """From arguments of that form to what is found."""
    asked: Callable[[LookupQuestion, Sequence[Step]], Iterable[Value]] = _never
    """The arguments that a question's own words ask it for, given the steps so far: what works without a model."""

    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON schema of its arguments."""
        return self.takes.model_json_schema()

    def __call__(self, arguments: dict[str, Any]) -> Observation:
        """Return what is found; arguments that do not fit are a fault that says how."""
        try:
            taken = self.takes.model_validate(arguments)
        except ValidationError as err:
            first = err.errors()[0]
            where = ".".join(map(str, first["loc"])) or "arguments"
            return Observation(fault=f"{self.name}: {where}: {first['msg']}.")
        return self.run(taken)
