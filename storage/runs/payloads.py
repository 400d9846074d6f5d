"""How a domain value becomes a stored row and comes back: JSON with its kind and the version of its form.

The kind and version stand outside the JSON, so a reader can tell what it has before it tries to read it,
and a row of a newer version is refused with a sentence instead of being half understood.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from pydantic import ValidationError

from engine.domain.base import Value
from engine.domain.encoding.sealing import StoredRow, chained
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


def event_row(event: EngineEvent, before: str) -> StoredRow:
    """Return a numbered event as the row that follows one with the chain `before`."""
    stored = encode_event(event)
    columns: dict[str, str | int] = {
        "run_id": event.run_id, "happened_at": event.at, "kind": stored.kind, "version": stored.version,
    }  # fmt: skip
    row = StoredRow("event", event.seq, columns, stored.payload)
    return replace(row, chain=chained(before, row))


def decode_run(row: Stored, run_id: str) -> RunRecord:
    """Return the run's state that a row holds."""
    record = _decode(row, RUN, RUN, RunRecord.model_validate_json, f"state of run {run_id}")
    if record.run_id != run_id:
        raise _damaged(f"state of run {run_id}", f"it is one of {record.run_id}")
    return record


def try_run(row: Stored, run_id: str) -> RunRecord | str:
    """Return the run's state that a row holds, or a sentence on why it cannot be read."""
    try:
        return decode_run(row, run_id)
    except (IntegrityError, SchemaTooNew) as error:
        return error.message


def decode_plan(row: Stored, run_id: str) -> TaskDag:
    """Return the plan a row holds."""
    return _decode(row, PLAN, PLAN, TaskDag.model_validate_json, f"plan of run {run_id}")


def decode_result(row: Stored, run_id: str, node: str) -> NodeResult:
    """Return the step's result a row holds."""
    what = f"result of step {node} of run {run_id}"
    result = _decode(row, RESULT, RESULT, NodeResult.model_validate_json, what)
    if result.node != node:
        raise _damaged(what, f"it is one of step {result.node}")
    return result


def decode_event(row: Stored, run_id: str, seq: int) -> EngineEvent:
    """Return the event a row holds; its kind is the event's own."""
    event = _decode(row, EVENT_FORM, row.kind, EVENT.validate_json, f"event {seq} of run {run_id}")
    if (event.kind, event.seq) != (row.kind, seq):
        raise _damaged(f"event {seq} of run {run_id}", f"it holds event {event.seq} ({event.kind})")
    return event


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


def _decode(row: Stored, form: str, kind: str, parse: Callable[[str], V], what: str) -> V:
    """Return the value, or say what is wrong with the row."""
    if row.version > VERSIONS[form]:
        raise SchemaTooNew(
            f"The stored {what} has form {row.version}, but this version of Biodesk reads forms up to "
            f"{VERSIONS[form]}.",
            advice="Update Biodesk, or give another folder with --workspace.",
        )
    if row.version < 1 or row.kind != kind:
        raise _damaged(what, f"it is marked as {row.kind!r} of form {row.version}")
    try:
        return parse(row.payload)
    except ValidationError as error:
        raise _damaged(
            what, f"{error.error_count()} misfits; it begins with {' '.join(row.payload[:60].split())!r}"
        ) from error


def _damaged(what: str, why: str) -> IntegrityError:
    return IntegrityError(
        f"The stored {what} cannot be read back ({why}).",
        advice="Put back a copy of the workspace's database from a backup; `biodesk verify` names what differs.",
    )
