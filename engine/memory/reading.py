"""Reads memory from a text file (see `engine.memory.transfer`): every line is checked before anything is stored."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from pydantic import ValidationError

from engine.domain.memory import Episode, Fact, Message, Summary
from engine.errors import DataError, NotFoundError
from engine.text.prose import quoted

_LONGEST_LINE = 64 << 20
"""Bytes in a line; more is no record of memory."""
_ADVICE = "Correct the line or remove it, then import the file again; nothing of it was stored."


class MemoryRecords(NamedTuple):
    """What a file of memory holds."""

    episodes: list[Episode]
    facts: list[Fact]
    messages: dict[str, list[Message]]
    """Conversation -> its messages, numbered from 1 without a gap."""
    warnings: list[str]
    summaries: dict[str, list[Summary]]
    repeated: int
    """Lines that say again what an earlier line said."""


def read_memory(path: Path) -> MemoryRecords:
    """Read a file of memory, plain or compressed with gzip, and check every line.

    Records of other kinds are passed over and counted in a warning. Of two records with one id the newer counts.

    Raises:
        NotFoundError: when there is no such file.
        DataError: when it cannot be read or is empty, or a line is not a record of its kind; the message has the line
            number.
    """
    if "\0" in str(path):
        raise NotFoundError(f"There is no file {quoted(str(path))} to import.", advice="Check the path.")
    reader = _Reader(path)
    lines = 0
    for number, raw in _lines(path):
        if raw.strip():
            reader.take(number, raw)
            lines += 1
    if not lines:
        raise DataError(
            f"{path} is empty: no line of it holds a record of memory.",
            advice="Give a file with one JSON object a line, such as `biodesk memory export` writes.",
        )
    return reader.records()


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file with their numbers from 1."""
    number = 0
    try:
        with path.open("rb") as raw:
            compressed = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            stream: Any = gzip.GzipFile(fileobj=raw) if compressed else raw
            while line := stream.readline(_LONGEST_LINE):
                number += 1
                if len(line) == _LONGEST_LINE:
                    _refuse(path, number, f"it is longer than {_LONGEST_LINE >> 20} MB")
                yield number, line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
    except FileNotFoundError as error:
        raise NotFoundError(f"There is no file {path} to import.", advice="Check the path.") from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(
            f"{path}, after line {number}: the compressed file ends too early or is damaged.",
            advice="Copy it again from where it came from; nothing of it was stored.",
        ) from error
    except OSError as error:
        raise DataError(
            f"The file {path} cannot be read: {error.strerror or error}.", advice="Give a file that you may read."
        ) from error


def _kind_by_fields(record: dict[str, Any]) -> str | None:
    """Return what a record from elsewhere is that does not say it; None when its fields tell nothing."""
    if {"subject", "predicate", "object"} <= record.keys():
        return "fact"
    return "episode" if {"id", "task"} <= record.keys() else None


class _Reader:
    """Collects the records of a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._episodes: dict[str, Episode] = {}
        self._facts: dict[str, Fact] = {}
        self._messages: dict[str, dict[int, tuple[int, Message]]] = {}
        """Conversation -> number -> (line, message)."""
        self._summaries: dict[str, list[Summary]] = {}
        self._passed_over: dict[str, int] = {}
        self._repeated = 0

    def take(self, number: int, raw: bytes) -> None:
        """Add the record of a line."""
        record = self._parsed(number, raw)
        kind = record.pop("kind", None) or _kind_by_fields(record)
        if not isinstance(kind, str) or not kind:
            _refuse(self._path, number, f"`kind` is {kind!r}, but a word such as episode or fact was expected")
        if kind == "episode":
            record.setdefault("source", self._path.name)
            episode = self._valid(number, kind, Episode, record)
            self._fraction(number, "quality", episode.quality)
            self._keep(number, self._episodes, episode)
        elif kind == "fact":
            fact = self._valid(number, kind, Fact, record)
            self._fraction(number, "confidence", fact.confidence)
            self._keep(number, self._facts, fact)
        elif kind in ("message", "summary"):
            self._take_turn(number, kind, record)
        else:
            self._passed_over[kind] = self._passed_over.get(kind, 0) + 1

    def records(self) -> MemoryRecords:
        """Return what was read."""
        warnings = [
            f"{count:,} line{'s' if count != 1 else ''} of kind {kind[:40]!r} passed over: not part of memory."
            for kind, count in sorted(self._passed_over.items())
        ]
        messages = {name: self._gapless(name, turns) for name, turns in self._messages.items()}
        summaries = {name: found for name, found in self._summaries.items() if name in messages}
        nothing = not (self._episodes or self._facts or messages)
        if nothing:
            warnings.append(f"{self._path.name} holds no episodes, facts or messages.")
        return MemoryRecords(
            list(self._episodes.values()), list(self._facts.values()), messages, warnings, summaries, self._repeated
        )

    def _take_turn(self, number: int, kind: str, record: dict[str, Any]) -> None:
        conversation = record.pop("conversation", None)
        if not isinstance(conversation, str) or not conversation:
            _refuse(self._path, number, f"`conversation` is {conversation!r}, but the name of one was expected")
        if kind == "summary":
            summary = self._valid(number, kind, Summary, record)
            self._summaries.setdefault(conversation, []).append(summary)
            return
        message = self._valid(number, kind, Message, record)
        self._time(number, message.at)
        turns = self._messages.setdefault(conversation, {})
        before = turns.get(message.number)
        if before is not None and before[1] != message:
            _refuse(
                self._path,
                number,
                f"message {message.number} of conversation {conversation!r} differs from that of line {before[0]}",
            )
        self._repeated += before is not None
        turns.setdefault(message.number, (number, message))

    def _gapless(self, conversation: str, turns: dict[int, tuple[int, Message]]) -> list[Message]:
        for place, found in enumerate(sorted(turns), start=1):
            if found != place:
                _refuse(
                    self._path,
                    turns[found][0],
                    f"conversation {conversation!r} has a message {found} but none of number {place}",
                )
        return [turns[place][1] for place in sorted(turns)]

    def _keep(self, number: int, known: dict[str, Any], record: Episode | Fact) -> None:
        if not record.id:
            _refuse(self._path, number, "`id` is empty")
        self._time(number, record.at)
        if record.updated:
            self._time(number, record.updated, "updated")
        before = known.get(record.id)
        if before is not None:
            self._repeated += 1
            if changed_at(record) < changed_at(before):
                return
        known[record.id] = record

    def _parsed(self, number: int, raw: bytes) -> dict[str, Any]:
        try:
            record = json.loads(raw.decode("utf-8"), parse_constant=_no_constant)
        except UnicodeDecodeError as error:
            _refuse(self._path, number, f"it is not UTF-8 text ({error.reason} at byte {error.start + 1})", error)
        except (ValueError, RecursionError) as error:
            reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            _refuse(self._path, number, f"it is not JSON ({reason[:100]})", error)
        if not isinstance(record, dict):
            _refuse(self._path, number, f"it is a {type(record).__name__}, but a JSON object was expected")
        return record

    def _valid(self, number: int, kind: str, form: type[Any], record: dict[str, Any]) -> Any:
        try:
            value = form.model_validate(record)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            field = ".".join(str(part) for part in first["loc"])
            what = "is missing" if first["type"] == "missing" else f"cannot be {str(first['input'])[:60]!r}"
            reason = "" if first["type"] == "missing" else f": {first['msg'].lower()}"
            _refuse(self._path, number, f"`{field}` of the {kind} {what}{reason}", error)
        try:
            value.model_dump_json()
        except ValueError as error:
            _refuse(self._path, number, f"the {kind} holds half of a character, which cannot be stored", error)
        return value

    def _fraction(self, number: int, field: str, value: float) -> None:
        if not 0 <= value <= 1:
            _refuse(self._path, number, f"`{field}` is {value!r}, but a number from 0 to 1 was expected")

    def _time(self, number: int, at: str, field: str = "at") -> datetime:
        try:
            return moment_of(at)
        except ValueError as error:
            expected = "but a time such as 2026-11-21T08:00:00Z was expected"
            _refuse(self._path, number, f"`{field}` is {at[:60]!r}, {expected}", error)


def moment_of(at: str) -> datetime:
    """Return a time written as ISO 8601; without a zone it is UTC. Raises ValueError for anything else."""
    moment = datetime.fromisoformat(at)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def changed_at(record: Episode | Fact) -> datetime:
    """Return when a record was made or last changed, whichever is later. Raises ValueError for an unreadable time."""
    made = moment_of(record.at)
    return max(made, moment_of(record.updated)) if record.updated else made


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _refuse(path: Path, number: int, why: str, error: Exception | None = None) -> NoReturn:
    raise DataError(
        f"{path}, line {number:,}: {why}.", advice=_ADVICE, details={"path": str(path), "line": number}
    ) from error
