"""Reads an answer that is to fit a schema, whatever the server promised: models fence, chat, repeat and break off.

Nothing is mended in an answer but what stands around it. What does not fit is told to the model in sentences.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from pydantic import BaseModel, ValidationError

from engine.domain.encoding.hashing import canonical_json

Schema = type[BaseModel] | Mapping[str, Any]
_FENCE = re.compile(r"```[\w-]*\s*\n(.*?)```", re.DOTALL)
_MOST_PROBLEMS = 8
_SHOWN = 80
_MOST_BRACKETS = 50
"""Brackets at which an answer is looked for: a text of nothing else must not hold anybody up."""


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """What an answer is: its data, or what is wrong with it in sentences."""

    data: Any = None
    problems: tuple[str, ...] = ()


def json_schema(schema: Schema) -> dict[str, Any]:
    """Return the JSON Schema of what is expected."""
    return dict(schema) if isinstance(schema, Mapping) else schema.model_json_schema()


def read(text: str, schema: Schema) -> ReadAnswer:
    """Return the one value in a text that fits the schema: an instance for a pydantic model, else plain JSON."""
    fitting: dict[str, Any] = {}
    problems: list[tuple[str, ...]] = []
    found = False
    for value, fault in _values(text):
        found = True
        data, wrong = (None, (fault,)) if fault else check(value, schema)
        if wrong:
            problems.append(wrong)
        else:
            fitting[canonical_json(value)] = data
    if len(fitting) > 1:
        return ReadAnswer(problems=(f"It holds {len(fitting)} different answers; give one.",))
    if fitting:
        return ReadAnswer(next(iter(fitting.values())))
    if not found:
        return ReadAnswer(problems=("It holds no JSON that can be read; it may have been cut off.",))
    return ReadAnswer(problems=min(problems, key=len))


def check(value: Any, schema: Schema) -> tuple[Any, tuple[str, ...]]:
    """Return a value as data of the schema, and what is wrong with it."""
    if not isinstance(schema, Mapping):
        try:
            return schema.model_validate(value), ()
        except ValidationError as err:
            return None, tuple(_told(one["loc"], one["msg"], one["input"]) for one in err.errors()[:_MOST_PROBLEMS])
    from jsonschema.validators import validator_for

    errors = validator_for(schema)(schema).iter_errors(value)
    faults = sorted(errors, key=lambda one: [str(part) for part in one.absolute_path])[:_MOST_PROBLEMS]
    return value, tuple(_told(tuple(one.absolute_path), one.message[:300], None) for one in faults)


def correction(problems: tuple[str, ...], schema: Mapping[str, Any] | None) -> str:
    """Return what a model is told of an answer that does not fit."""
    listed = "\n".join(f"- {problem}" for problem in problems)
    form = f" Give only JSON that fits this JSON Schema:\n{json.dumps(schema)}" if schema is not None else ""
    return f"Your last answer cannot be used:\n{listed}\nAnswer the same question again.{form}"


def instruction(schema: Mapping[str, Any]) -> str:
    """Return what a model is told of the form of its answer where its server does not see to it."""
    return f"Answer with one JSON value that fits this JSON Schema, and with nothing else:\n{_short(schema)}"


def _short(schema: Mapping[str, Any]) -> str:
    """Return a schema as text without titles, which say a second time what a part is called."""

    def bare(part: Any) -> Any:
        if isinstance(part, Mapping):
            named = cast(Mapping[str, Any], part)
            return {k: bare(v) for k, v in named.items() if not (k == "title" and isinstance(v, str))}
        return [bare(one) for one in cast(list[Any], part)] if isinstance(part, list) else part

    return json.dumps(bare(schema))


def _values(text: str) -> Iterator[tuple[Any, str]]:
    """Yield the JSON values of a text, each with "" or why it cannot be taken: the whole, else fenced, else within."""
    for piece in (text, *_FENCE.findall(text)):
        value, fault = _loaded(piece.strip())
        if fault is not None:
            yield value, fault
            if piece is text:
                return
    if _FENCE.search(text):
        return
    decoder, place = _decoder(), 0
    for _ in range(_MOST_BRACKETS):
        if (start := _next_bracket(text, place)) < 0:
            return
        try:
            value, place = decoder.raw_decode(text, start)
            yield value, ""
        except _TwiceError as err:
            yield None, str(err)
            return
        except (ValueError, RecursionError):
            place = start + 1


def _loaded(text: str) -> tuple[Any, str | None]:
    """Return a text's value with "", or with why it cannot be taken; the reason is None when it is no JSON at all."""
    try:
        return _decoder().decode(text), ""
    except _TwiceError as err:
        return None, str(err)
    except (ValueError, RecursionError):
        return None, None


class _TwiceError(ValueError):
    """A field stands twice with different values: which of them is meant cannot be known."""


def _decoder() -> json.JSONDecoder:
    return json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_number)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found and found[name] != value:
            raise _TwiceError(f"The field {name!r} stands in it twice with different values.")
        found[name] = value
    return found


def _no_number(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")


def _next_bracket(text: str, start: int) -> int:
    found = [place for bracket in "{[" if (place := text.find(bracket, start)) >= 0]
    return min(found, default=-1)


def _told(path: tuple[Any, ...], message: str, given: Any) -> str:
    where = ".".join(map(str, path)) or "the whole"
    shown = f" (given: {json.dumps(given, default=str)[:_SHOWN]})" if given is not None else ""
    return f"{where}: {message}{shown}"
