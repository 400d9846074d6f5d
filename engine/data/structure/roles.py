"""Guesses what part each column could play in an analysis, from its values, the design and general words of its name.

A guess always says why, because a wrong one changes a result: the planner proposes, the user decides.
"""

from __future__ import annotations

from engine.data.columns.genes import is_gene_header
from engine.data.source import Frame
from engine.data.structure.scales import HINTS, View, date_like, telling, two_states, words
from engine.domain.profile import ColumnProfile, Role, RoleGuess, Structure

__all__ = ["roles_of", "words"]
_NAMING = HINTS["id"] | set("sample samples sampleid samplename name names cell library run patientid".split())
_SUBJECT = HINTS["subject"] | HINTS["cluster"] - HINTS["batch"]
_CLOCK = HINTS["time"] - HINTS["duration"]
_NO_CLOCK = {"status", "event", "point", "code", "group", "indicator", "survived", "type"} | HINTS["strong_event"]


def roles_of(columns: list[ColumnProfile], frame: Frame, table: View, structure: Structure) -> list[ColumnProfile]:
    """Return the columns with their guessed roles, most likely first; a role that a person gave stays alone."""
    rows = len(frame)
    guesses = {column.name: _by_name_and_values(column, rows) for column in columns}
    for name, pair in (_repeated(structure) | _pairs(columns, table, guesses)).items():
        # A column that pairs the samples is the second factor, not the one that is compared.
        guesses[name] = [
            g.model_copy(update={"confidence": min(g.confidence, 0.45)}) if g.role == "group" else g
            for g in guesses[name] if g.role != "pair"
        ] + [pair]  # fmt: skip
    for name, guess in _from_structure(structure):
        if all(g.role != guess.role for g in guesses[name]):
            guesses[name].append(guess)
    for found in guesses.values():
        found.sort(key=lambda guess: -guess.confidence)
    return [c if c.corrected and c.roles else c.model_copy(update={"roles": guesses[c.name]}) for c in columns]


def _by_name_and_values(column: ColumnProfile, rows: int) -> list[RoleGuess]:
    named = telling(column.name)
    found = [
        _id(column, named, rows), _group(column, named, rows), _batch(column, named, rows),
        _pair_name(column, named, rows), _time(column, named), _event(column, named), _gene(column),
        _quantity(column, named, rows),
    ]  # fmt: skip
    return [guess for guess in found if guess is not None]


def _guess(role: Role, confidence: float, why: str) -> RoleGuess:
    return RoleGuess(role=role, confidence=round(confidence, 2), why=why)


def _from_structure(structure: Structure) -> list[tuple[str, RoleGuess]]:
    found = [(name, _guess("dose", 0.8, "few amounts, each given to several rows")) for name in structure.doses]
    found += [(name, _guess("time", 0.6, "a time or an occasion")) for name in structure.times]
    ends = structure.survival
    if ends:
        found.append((ends["time"], _guess("time", 0.7, f"a time that ends with {ends['event']}")))
        found.append((ends["event"], _guess("event", 0.7, f"two states at the end of {ends['time']}")))
    return found


def _repeated(structure: Structure) -> dict[str, RoleGuess]:
    return {
        r.subject: _guess("pair", (0.9 if r.complete and r.subjects > 2 else 0.55) * r.confidence, r.why)
        for r in reversed(structure.repeated)
    }


def _id(column: ColumnProfile, named: frozenset[str], rows: int) -> RoleGuess | None:
    if column.distinct < rows or column.missing or rows < 2:
        return None
    called = bool(named & _NAMING) or column.name == "" or column.name.startswith("Unnamed")
    if column.kind == "identifier":
        return _guess("id", 0.95 if called else 0.8, "every row has a different text")
    if (called or named & _SUBJECT or column.scale == "code") and column.kind in ("integer", "category", "text"):
        return _guess("id", 0.85 if called else 0.7, "every row has a different value, which only names it")
    return None


def _group(column: ColumnProfile, named: frozenset[str], rows: int) -> RoleGuess | None:
    few = 2 <= column.distinct <= 12 and column.distinct <= max(2, rows / 2)
    many_each = (
        column.kind in ("category", "identifier", "text")
        and 2 <= column.distinct <= 40
        and rows >= 20 * column.distinct
    )
    if not (few or many_each) or column.distinct + column.missing >= rows:
        return None
    if column.kind == "number" and (column.distinct > 6 or rows < 4 * column.distinct):
        return None
    called = bool(named & HINTS["group"])
    if column.kind == "integer" and not called and (column.distinct > 6 or rows < 3 * column.distinct):
        return None
    confidence = {"category": 0.65, "boolean": 0.5, "integer": 0.35, "number": 0.3}.get(column.kind, 0.4)
    if called:
        confidence = 0.9 if column.kind in ("category", "boolean", "identifier", "text") else 0.6
    if named & HINTS["event"] and column.kind in ("integer", "boolean"):
        confidence = 0.3
    if named & HINTS["covariate"]:
        confidence = min(confidence, 0.7)
    if named & HINTS["batch"]:
        confidence = min(confidence, 0.3)
    if min(column.levels.values(), default=0) < 2:
        confidence -= 0.15
    why = f"{column.distinct} levels" + (" and the name of a group" if called else "")
    return _guess("group", max(0.1, confidence), why)


def _batch(column: ColumnProfile, named: frozenset[str], rows: int) -> RoleGuess | None:
    if named & HINTS["batch"] and 2 <= column.distinct <= max(2, rows / 2) and column.kind != "number":
        return _guess("batch", 0.85, f"{column.distinct} levels and the name of a technical batch")
    return None


def _pair_name(column: ColumnProfile, named: frozenset[str], rows: int) -> RoleGuess | None:
    if not named & _SUBJECT or column.kind == "number" or not 2 <= column.distinct < rows:
        return None
    strong = named & HINTS["subject"]
    return _guess("pair", 0.55 if strong else 0.3, "the name of a donor or subject, but not each occurs in every group")


def _time(column: ColumnProfile, named: frozenset[str]) -> RoleGuess | None:
    if column.kind not in ("integer", "number") or column.minimum is None or column.minimum < 0 or column.distinct < 4:
        return None
    year = date_like(column.minimum, column.maximum, whole=column.kind == "integer")
    if (
        not named & HINTS["time"]
        or named & _NO_CLOCK
        or year
        or named & {"diagnosis", "year"}
        or column.scale == "code"
    ):
        return None
    return _guess("time", 0.9, "positive numbers and the name of a follow-up time")


def _event(column: ColumnProfile, named: frozenset[str]) -> RoleGuess | None:
    if not named & HINTS["event"] or named & _CLOCK:
        return None
    levels = set(column.levels)
    if levels <= {"0", "1"} and len(levels) == 2:
        return _guess("event", 0.95, "0/1 and the name of an event")
    if levels == {"1", "2"}:
        return _guess("event", 0.85, "1/2, where 2 often is the event, and the name of an event")
    if levels <= {"0", "1", "2"} and len(levels) == 3:
        return _guess("event", 0.7, "codes 0, 1, 2: two kinds of end besides censoring")
    if len(levels) == 2 and (column.kind == "boolean" or two_states(list(levels))):
        return _guess("event", 0.85, f"two states ({', '.join(sorted(levels))}) and the name of an event")
    return None


def _gene(column: ColumnProfile) -> RoleGuess | None:
    if column.kind in ("identifier", "category", "text") and is_gene_header(column.name):
        weak = column.name.strip().lower() in ("names", "feature", "features", "protein")
        return _guess("gene", 0.6 if weak else 0.9, "the name of a gene column")
    return None


def _quantity(column: ColumnProfile, named: frozenset[str], rows: int) -> RoleGuess | None:
    if named & HINTS["covariate"]:
        return _guess("covariate", 0.8, "the name of a usual covariate")
    if column.kind == "integer" and (column.scale == "code" or _id(column, named, rows)):
        return None
    if column.scale == "count" and column.distinct > 2 and named & HINTS["count"]:
        return _guess("count", 0.7, "whole numbers from 0 on and the name of a count")
    if column.kind == "number" or (column.kind == "integer" and column.distinct > 12):
        return _guess("measure", 0.7 if column.kind == "number" else 0.5, "numbers with many different values")
    return None


def _pairs(columns: list[ColumnProfile], table: View, guesses: dict[str, list[RoleGuess]]) -> dict[str, RoleGuess]:
    """Find columns of which each level occurs equally often in every level of a group column."""
    import numpy as np

    rows = table.rows
    if rows < 4 or rows > 20_000:
        return {}
    values = {col.name: col for col in table.cols}

    def strength(name: str, role: str = "group") -> float:
        return max((g.confidence for g in guesses[name] if g.role == role), default=0.0)

    found: dict[str, RoleGuess] = {}
    candidates = [
        c for c in columns
        if c.name in values and not strength(c.name, "gene") and c.kind not in ("number", "date")
        and 2 <= c.distinct <= rows / 2
    ][:40]  # fmt: skip
    groups = [c for c in candidates if strength(c.name) >= 0.3 and c.distinct <= 6]
    for column in candidates:
        named = bool(telling(column.name) & _SUBJECT)
        technical = bool(telling(column.name) & HINTS["batch"])
        for group in groups:
            stronger = column.distinct > group.distinct or (named and not telling(group.name) & _SUBJECT)
            if group.name == column.name or not stronger or telling(group.name) & HINTS["batch"]:
                continue
            one, two = values[column.name], values[group.name]
            both = (one.codes >= 0) & (two.codes >= 0)
            counts = np.bincount(one.codes[both] * two.size + two.codes[both], minlength=one.size * two.size)
            once = bool((counts == 1).all())
            if not (once or (named and (counts == counts[0]).all())):
                continue
            times = "once" if once else "equally often"
            why = f"each of its {column.distinct} levels occurs {times} in every level of {group.name}"
            confidence = 0.4 if technical else 0.95 if named else 0.75 if column.distinct > 2 else 0.4
            if column.kind == "integer" and not named and column.scale != "code":
                confidence -= 0.25
            if column.name not in found or found[column.name].confidence < confidence:
                found[column.name] = _guess("pair", confidence, why)
    return found
