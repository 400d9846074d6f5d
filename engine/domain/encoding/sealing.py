"""What makes a change in a stored run visible: events that are chained and records that are sealed.

Each event carries a hash over the one before it and its own stored text. Whenever a run comes to rest (it ended, was
interrupted, or waits for approval) a seal is stored that holds the digest of every field of every row not sealed
before, the end of the chain and the digest of the seal before. Rows are only ever added, so going on with a run adds
a seal and leaves the earlier ones true. This shows alteration, not authorship (docs/adr/0020).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal, cast

from engine.domain.base import Value
from engine.domain.results import FINAL

AT_REST: frozenset[str] = FINAL | {"interrupted", "awaiting_approval"}
"""States in which nobody works on a run."""
_WHOLE = ""
"""The name under which the digest of a whole row stands among those of its fields."""
_COLUMN = "column "


@dataclass(frozen=True, slots=True)
class StoredRow:
    """A row as it lies in a store, not yet understood: what was altered may not be readable any more."""

    table: Literal["run", "plan", "result", "event"]
    place: int
    """What orders the rows of a table within a run; the `seq` of an event, the version of a plan."""
    columns: Mapping[str, str | int]
    """Every column but the payload and the chain."""
    payload: str
    chain: str = ""
    """Of an event: its place in the chain; empty when it was written before there was one."""

    @property
    def key(self) -> str:
        """The name of the row within its run."""
        node = f"{self.columns.get('node', '')}/" if self.table == "result" else ""
        return f"{self.table}/{node}{self.place}"


@dataclass(frozen=True, slots=True)
class StoredSeal:
    """A seal as it lies in a store."""

    number: int
    digest: str
    payload: str


@dataclass(frozen=True, slots=True)
class StoredRun:
    """Everything stored of a run, oldest first within each table."""

    run_id: str
    rows: Sequence[StoredRow]
    seals: Sequence[StoredSeal]
    unsealed: bool = False
    """True for a run written before records were sealed."""


class Seal(Value):
    """What a seal says."""

    run_id: str
    number: int
    previous: str
    """The digest of the seal before, empty for the first."""
    last_seq: int
    chain: str
    """The chain of the event `last_seq`."""
    rows: dict[str, dict[str, str]]
    """Row -> field -> SHA-256 of its canonical content, for the rows no earlier seal holds."""


class SealHead(Value):
    """The newest seal of a run, for records that leave the workspace."""

    number: int
    digest: str
    last_seq: int
    chain: str


def chained(before: str, row: StoredRow) -> str:
    """Return the chain of an event's row that follows an event with the chain `before`."""
    return _sha256(f"{before}\n{_whole(row)}")


def new_seal(
    run_id: str, rows: Iterable[StoredRow], seals: Sequence[StoredSeal], *, last_seq: int, chain: str
) -> StoredSeal | None:
    """Return the seal that covers what no earlier one does, or None when everything is covered.

    Args:
        run_id: the run.
        rows: its rows; events only as far as they are not chained.
        seals: the seals it has.
        last_seq: the number of its last event, 0 without events.
        chain: the chain of that event.
    """
    known = [seal for seal in map(read_seal, seals) if seal is not None]
    covered = {key for seal in known for key in seal.rows}
    fresh = {row.key: _digests(row) for row in rows if row.key not in covered}
    if not fresh and known and (known[-1].last_seq, known[-1].chain) == (last_seq, chain):
        return None
    number = max((seal.number for seal in seals), default=0) + 1
    previous = seals[-1].digest if seals else ""
    made = Seal(run_id=run_id, number=number, previous=previous, last_seq=last_seq, chain=chain, rows=fresh)
    payload = made.model_dump_json()
    return StoredSeal(number, _sha256(payload), payload)


def read_seal(stored: StoredSeal) -> Seal | None:
    """Return what a seal says, or None when it is not what was stored."""
    if _sha256(stored.payload) != stored.digest:
        return None
    try:
        seal = Seal.model_validate_json(stored.payload)
    except ValueError:
        return None
    return seal if seal.number == stored.number else None


def head_of(seals: Sequence[StoredSeal]) -> SealHead | None:
    """Return the newest sound seal in short, or None."""
    sound = [(stored, seal) for stored in seals for seal in [read_seal(stored)] if seal is not None]
    if not sound:
        return None
    stored, seal = sound[-1]
    return SealHead(number=seal.number, digest=stored.digest, last_seq=seal.last_seq, chain=seal.chain)


def alterations(stored: StoredRun) -> list[str]:
    """Return one sentence for each way in which a stored run is not what was written."""
    seals, told = _sound_seals(stored)
    kept = [row for row in stored.rows if row.table != "event" or (stored.unsealed and not row.chain)]
    told += _changed_rows(kept, seals, _labels(stored.rows))
    told += _changed_events([row for row in stored.rows if row.table == "event"], seals, early=stored.unsealed)
    if at_rest(stored.rows) and not written_before_seals(stored):
        told += _uncovered(stored, kept, seals)
    return told


def written_before_seals(stored: StoredRun) -> bool:
    """Say whether a run comes from a time without seals and was not worked on since."""
    return stored.unsealed and not stored.seals and not any(row.chain for row in stored.rows)


def at_rest(rows: Iterable[StoredRow]) -> bool:
    """Say whether the newest state among rows is one in which nobody works on the run."""
    states = [row for row in rows if row.table == "run"]
    fields = _fields(max(states, key=lambda row: row.place).payload) if states else None
    # A run whose state is gone or unreadable is not at work either.
    return fields is None or fields.get("status") in AT_REST


# ==== seals and rows ====


def _sound_seals(stored: StoredRun) -> tuple[list[Seal], list[str]]:
    """Return the seals that are what was stored, and sentences on the others."""
    told: list[str] = []
    seals: list[Seal] = []
    present = {seal.number: seal for seal in stored.seals}
    for number in range(1, max(present, default=0) + 1):
        found = present.get(number)
        seal = read_seal(found) if found is not None else None
        before = present.get(number - 1)
        if found is None:
            told.append(f"Seal {number} of the run's record is missing.")
        elif seal is None or seal.run_id != stored.run_id:
            told.append(f"Seal {number} of the run's record has changed.")
        elif before is not None and seal.previous != before.digest:
            told.append(f"Seal {number - 1} of the run's record is not the one that seal {number} was put on.")
            seals.append(seal)
        else:
            seals.append(seal)
    return seals, told


def _changed_rows(rows: Iterable[StoredRow], seals: Iterable[Seal], labels: Mapping[str, str]) -> list[str]:
    told: list[str] = []
    present = {row.key: row for row in rows}
    seen: set[str] = set()
    for seal in seals:
        for key, digests in seal.rows.items():
            if key in seen:
                continue
            seen.add(key)
            row = present.get(key)
            told += _changes(row, digests, labels[key]) if row is not None else [f"{_gone(key)} is missing."]
    return told


def _changes(row: StoredRow, sealed: Mapping[str, str], label: str) -> list[str]:
    now = _digests(row)
    if now == sealed:
        return []
    if _content(row.payload) is None:
        return [f"The content of {label} cannot be read any more."]
    names = sorted(name for name in now.keys() | sealed.keys() if name and now.get(name) != sealed.get(name))
    if not names:
        return [f"The content of {label} is written differently than it was."]
    return [f"The {name.replace('_', ' ')} of {label} has changed since it was stored." for name in names]


def _uncovered(stored: StoredRun, rows: Iterable[StoredRow], seals: Sequence[Seal]) -> list[str]:
    covered = {key for seal in seals for key in seal.rows}
    labels = _labels(stored.rows)
    told = [
        f"No seal covers {labels[row.key]}: it was added, or a seal was removed."
        for row in rows
        if row.key not in covered
    ]
    last = max((seal.last_seq for seal in seals), default=0)
    later = [row.place for row in stored.rows if row.table == "event" and row.place > last and row.chain]
    told += [f"No seal covers {_events(later)} of the run: added, or a seal was removed."] if later else []
    return told


# ==== events ====


def _changed_events(rows: Sequence[StoredRow], seals: Sequence[Seal], *, early: bool) -> list[str]:
    """Return sentences on events; `early` when the first of them were written before events were chained."""
    told: list[str] = []
    present = {row.place: row for row in rows}
    last = max([*present, *(seal.last_seq for seal in seals)], default=0)
    missing = [seq for seq in range(1, last + 1) if seq not in present]
    if missing:
        told.append(f"{_events(missing)[:1].upper()}{_events(missing)[1:]} of the run {_is(missing)} missing.")
    sealed = {seal.last_seq: seal.chain for seal in seals}
    before = ""
    for seq in sorted(present):
        row, after = present[seq], present.get(seq + 1)
        if early and not row.chain:
            continue  # the first seal after such events holds them
        early = False
        made = chained(before, row) if seq - 1 not in missing else row.chain
        name = f"{seq} ({row.columns.get('kind', '')})"
        before = row.chain
        if row.chain == made:
            if sealed.get(seq, made) != made:
                told.append(f"Event {name} is not the one that was sealed.")
        elif sealed.get(seq) == made or (after is not None and after.chain == chained(made, after)):
            told.append(f"The chain value of event {name} has changed.")
            before = made
        else:
            told.append(f"Event {name} has changed since it was stored.")
    return told


def _events(numbers: Sequence[int]) -> str:
    """Return numbers in words: event 3; events 3 to 5 and 9."""
    runs = [[n for _, n in group] for _, group in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0])]
    spans = [str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs]
    return f"event{'s' if len(numbers) > 1 else ''} {' and '.join(spans)}"


def _is(numbers: Sequence[int]) -> str:
    return "are" if len(numbers) > 1 else "is"


# ==== names and digests ====


def _labels(rows: Iterable[StoredRow]) -> dict[str, str]:
    """Return row -> what a person calls it."""
    labels: dict[str, str] = {}
    newest: dict[tuple[str, str], str] = {}
    states = 0
    for row in sorted(rows, key=lambda row: row.place):
        node = str(row.columns.get("node", ""))
        if row.table == "run":
            states += 1
            labels[row.key] = f"state {states} of the run"
        elif row.table == "result":
            labels[row.key] = f"an earlier result of step {node}"
        else:
            labels[row.key] = f"plan version {row.place}" if row.table == "plan" else f"event {row.place}"
        newest[(row.table, node)] = row.key
    for (table, node), key in newest.items():
        if table in ("run", "result"):
            labels[key] = "the run" if table == "run" else f"step {node}"
    return labels


def _gone(key: str) -> str:
    """Return what a person calls a row that is no longer there."""
    table, _, place = key.partition("/")
    if table == "result":
        node, _, number = place.rpartition("/")
        return f"A result of step {node} (number {number})"
    return {"run": f"A state of the run (number {place})", "plan": f"Plan version {place}"}.get(table, f"Event {place}")


def _digests(row: StoredRow) -> dict[str, str]:
    """Return the SHA-256 of each column, of each field of the payload, and of the row as a whole."""
    fields = _fields(row.payload) or {}
    return {
        _WHOLE: _sha256(_whole(row)),
        **{_COLUMN + name: _sha256(_canonical(value)) for name, value in row.columns.items()},
        **{name: _sha256(_canonical(value)) for name, value in fields.items()},
    }


def _whole(row: StoredRow) -> str:
    return _canonical([row.place, dict(row.columns), row.payload])


def _content(payload: str) -> Any:
    try:
        return json.loads(payload)
    except (ValueError, RecursionError):
        return None


def _fields(payload: str) -> dict[str, Any] | None:
    """Return the fields of a payload, or None where it is no object of JSON."""
    content = _content(payload)
    return cast("dict[str, Any]", content) if isinstance(content, dict) else None


def _canonical(value: Any) -> str:
    # Unlike what Biodesk writes itself, what was altered may hold NaN or half a character: that must not stop a check.
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
