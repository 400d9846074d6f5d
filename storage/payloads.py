"""How a domain value becomes a stored row and comes back: JSON with its kind and the version of its form.

The kind and version stand outside the JSON, so a reader can tell what it has before it tries to read it,
and a row of a newer version is refused with a sentence instead of being half understood.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import ValidationError

from engine.domain.base import Value
from engine.domain.events import EVENT, EngineEvent
from engine.domain.plan import TaskDag
from engine.domain.results import NodeResult, RunRecord
from engine.errors import IntegrityError, SchemaTooNew, StorageError

RUN, PLAN, RESULT, EVENT_FORM = "run", "plan", "node_result", "event"

VERSIONS: dict[str, int] = {RUN: 1, PLAN: 1, RESULT: 1, EVENT_FORM: 1}
"""The form each kind of record is written in now."""

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Stored:
    """A value as it lies in a row."""

    kind: str
    version: int
    payload: str


def encode_run(run: RunRecord) -> Stored:
    """Return a run's state as a row."""
    return _encode(run, RUN, RunRecord.model_validate_json, f"run {run.run_id}")


def encode_plan(plan: TaskDag) -> Stored:
    """Return a plan version as a row."""
    return _encode(plan, PLAN, TaskDag.model_validate_json, f"plan version {plan.version}")


def encode_result(result: NodeResult) -> Stored:
    """Return a step's result as a row."""
    return _encode(result, RESULT, NodeResult.model_validate_json, f"the result of step {result.node}")


def encode_event(event: EngineEvent) -> Stored:
    """Return a numbered event as a row; its kind is the event's own."""
    stored = _encode(event, EVENT_FORM, EVENT.validate_json, f"event {event.kind} of run {event.run_id}")
    return Stored(event.kind, stored.version, stored.payload)


def decode_run(version: int, payload: str) -> RunRecord:
    """Return the run a row holds."""
    return _decode(RUN, version, payload, RunRecord.model_validate_json)


def decode_plan(version: int, payload: str) -> TaskDag:
    """Return the plan a row holds."""
    return _decode(PLAN, version, payload, TaskDag.model_validate_json)


def decode_result(version: int, payload: str) -> NodeResult:
    """Return the step's result a row holds."""
    return _decode(RESULT, version, payload, NodeResult.model_validate_json)


def decode_event(version: int, payload: str) -> EngineEvent:
    """Return the event a row holds."""
    return _decode(EVENT_FORM, version, payload, EVENT.validate_json)


def _encode(value: Value, form: str, parse: Callable[[str], Any], what: str) -> Stored:
    """Return the row, having made sure that it can be read again.

    A NaN where a number must stand is written as null and would be refused on every later reading: the
    moment to say so is now, while whoever made the value is still there.
    """
    try:
        payload = value.model_dump_json()
        parse(payload)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise StorageError(
            f"{what[:1].upper()}{what[1:]} cannot be stored: `{where}` holds a value that cannot be read back "
            f"({first['msg']}), most often a NaN or an infinite number.",
            advice="Give the field a finite number, or leave it empty where that is allowed.",
        ) from error
    except ValueError as error:
        raise StorageError(
            f"{what[:1].upper()}{what[1:]} cannot be stored: it holds a value that has no JSON form ({error}).",
            advice="Use plain numbers, text, lists and dictionaries.",
        ) from error
    return Stored(form, VERSIONS[form], payload)


def _decode(form: str, version: int, payload: str, parse: Callable[[str], V]) -> V:
    """Return the value, or say what is wrong with the row."""
    if version > VERSIONS[form]:
        raise SchemaTooNew(
            f"A stored {form} has form {version}, but this version of Biodesk reads forms up to {VERSIONS[form]}.",
            advice="Update Biodesk, or give another folder with --workspace.",
        )
    try:
        return parse(payload)
    except ValidationError as error:
        raise IntegrityError(
            f"A stored {form} cannot be read back ({error.error_count()} misfits); it begins with {payload[:80]!r}.",
            advice="Put back a copy of the workspace's database from a backup; the artifacts are intact.",
        ) from error
