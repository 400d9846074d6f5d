"""Finds the columns and levels a question names, however loosely.

`dexamethasone` means the column `dex`, `hormone therapy` means `horTh`, `tumour grade` means `tgrade`.
Each match has a strength, so that a vague one can become an open question instead of a silent choice.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from engine.agents.planning.words import stem, tokens
from engine.domain.profile import ColumnProfile

_UNITS = frozenset(["mm", "cm", "m", "g", "kg", "mg", "dl", "ml", "l", "years", "year", "yr", "yrs", "days", "day", "months", "month", "weeks", "week", "h", "hours", "pct", "percent", "id", "um", "nm", "c", "score", "value", "level", "name", "no", "num", "nr"])  # fmt: skip
_STOP = frozenset(["the", "a", "an", "of", "in", "on", "by", "with", "for", "and", "or", "to", "is", "are", "does", "do", "did", "what", "which", "how", "from", "at", "as", "it", "its", "this", "that", "these", "those", "between", "among", "across", "per", "each", "all", "any", "there", "was", "were", "be", "has", "have", "my", "our", "data", "table", "file", "type", "types", "group", "groups", "gene", "genes", "cell", "cells", "time", "number", "more", "less", "than", "high", "low"])  # fmt: skip
_NOT_COLUMNS = re.compile(r"\bprimary biliary (?:cirrhosis|cholangitis)\b", re.IGNORECASE)
"""Names of diseases whose words look like the names of common measurements (`bili`)."""
_SYNONYMS = (
    {"sex", "gender", "male", "female", "males", "females", "men", "women"},
    {"weight", "mass", "bodyweight", "wt", "weigh", "heavy", "heavier", "heaviest", "lightest"},
    {"treatment", "trt", "arm", "rx", "therapy", "treated", "drug", "intervention", "treat", "condition", "group"},
    {"condition", "state", "phenotype", "group"},
    {"horsepower", "hp"},
    {"genotype", "strain", "mutant", "mutation"},
    {"donor", "patient", "subject", "individual", "participant", "animal", "mouse"},
    {"sample", "specimen", "replicate", "library"},
    {"batch", "run", "lane", "plate", "centre", "center", "site", "hospital"},
    {"tumour", "tumor"},
    {"celltype", "cluster", "annotation", "label", "labels"},
    {"age", "years", "old", "older", "younger"},
    {"relapse", "recurrence", "recidivism", "arrest"},
    {"death", "dead", "died", "mortality", "alive", "event", "status"},
    {"smoking", "smoke", "smoker", "smokers"},
)


class ColumnMatch(NamedTuple):
    """A column a question names: how surely (0 to 1) and with which words (from `position` on, `width` of them)."""

    name: str
    strength: float
    position: int
    width: int = 1


def find_columns(question: str, columns: Sequence[ColumnProfile]) -> list[ColumnMatch]:
    """Return the columns a question names, in the order it names them.

    A word belongs to the column it names best: in `flipper length` the second word does not also name
    `bill_length`. Columns that a word names equally well are all returned.
    """
    question = _NOT_COLUMNS.sub(" ", question)
    words = [stem(word) for word in tokens(question)]
    matches = [match for column in columns if (match := _match(question, words, column.name))]
    claims: dict[int, float] = {}
    for match in matches:
        for at in range(match.position, match.position + match.width):
            claims[at] = max(claims.get(at, 0.0), match.strength + 0.02 * (match.width - 1))
    kept = [
        match
        for match in matches
        if all(
            match.strength + 0.02 * (match.width - 1) >= claims[at] - 0.005
            for at in range(match.position, match.position + match.width)
        )
    ]
    return sorted(kept, key=lambda match: match.position)


def split_name(name: str) -> list[str]:
    """Split a column name into lower-case parts at camel case, digits and punctuation."""
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    return [stem(part) for part in tokens(spaced)]


def _match(question: str, words: list[str], name: str) -> ColumnMatch | None:
    parts = split_name(name)
    if not parts:
        return None
    if len(name) > 1 and re.search(rf"(?<![\w]){re.escape(name)}(?![\w])", question):
        at = _sequence(words, parts)
        return ColumnMatch(
            name, 1.0, at if at is not None else _first(words, parts), len(parts) if at is not None else 1
        )
    whole = stem(re.sub(r"[^a-z0-9]", "", name.lower()))
    core = [part for part in parts if part not in _UNITS] or parts
    for wanted, strength in ((parts, 0.98), (core, 0.95)):
        at = _sequence(words, wanted)
        if at is not None and (len(wanted) > 1 or len(wanted[0]) > 1) and wanted[0] not in _STOP:
            return ColumnMatch(name, strength, at, len(wanted))
    if len(core) > 1 and all(part in words for part in core):
        return ColumnMatch(name, 0.85, max(words.index(part) for part in core))
    best: ColumnMatch | None = None
    for at, word in enumerate(words):
        strength, width = max((_word_strength(word, whole, core), 1), _phrase_strength(words, at, whole))
        if strength > (best.strength if best else 0.0):
            best = ColumnMatch(name, strength, at, width)
    return best


def _word_strength(word: str, whole: str, core: list[str]) -> float:
    if word in _STOP or len(word) < 2:
        return 0.0
    if word == whole:
        return 0.95
    if len(whole) >= 3 and len(word) >= 4 and word.startswith(whole):
        return 0.8
    if len(word) >= 4 and whole.startswith(word):
        return 0.75
    if len(word) >= 4 and whole.endswith(word):
        return 0.7
    if _same_root(word, whole):
        return 0.7
    if len(word) >= 4 and any(part == word for part in core):
        return 0.65 if len(core) <= 2 else 0.5
    if len(word) >= 4 and len(core) <= 2 and any(len(part) >= 3 and word.startswith(part) for part in core):
        return 0.6
    if any({word, other} <= group for group in _SYNONYMS for other in (whole, *core)):
        return 0.6
    if len(word) >= 5 and _alike(word, whole):
        return 0.6
    if len(word) >= 5 and any(len(part) >= 5 and _alike(word, part) for part in core):
        return 0.55
    return 0.0


def _same_root(word: str, whole: str) -> bool:
    """Say whether two long words differ only in their ending: survival and survived."""
    shared = 0
    while shared < min(len(word), len(whole)) and word[shared] == whole[shared]:
        shared += 1
    return shared >= 6 and shared >= 0.7 * max(len(word), len(whole))


def _alike(word: str, other: str) -> bool:
    """Say whether a word is a misspelling of another; the plural ending that stemming took may be part of it."""
    return any(difflib.SequenceMatcher(None, form, other).ratio() >= 0.85 for form in (word, word + "s"))


def _phrase_strength(words: list[str], at: int, whole: str) -> tuple[float, int]:
    """Say whether two or three words from `at` on abbreviate to the name: hormone therapy -> horth."""
    for count in (2, 3):
        if len(whole) >= 5 and "".join(words[at : at + count]) == whole:
            return 0.95, count
    if len(whole) < 4 or words[at] in _STOP:
        return 0.0, 1
    for count in (2, 3):
        chosen = words[at : at + count]
        if len(chosen) == count and _abbreviates(chosen, whole):
            return 0.8, count
    return 0.0, 1


def _abbreviates(words: list[str], whole: str) -> bool:
    if not words:
        return whole == ""
    first = words[0]
    return any(
        whole.startswith(first[:length]) and _abbreviates(words[1:], whole[length:])
        for length in range(1, min(len(first), len(whole)) + 1)
    )


def _sequence(words: list[str], wanted: list[str]) -> int | None:
    for at in range(len(words) - len(wanted) + 1):
        if words[at : at + len(wanted)] == wanted:
            return at
    return None


def _first(words: list[str], parts: list[str]) -> int:
    return next((at for at, word in enumerate(words) if word in parts), 0)


def find_levels(question: str, column: ColumnProfile) -> list[tuple[str, int]]:
    """Return (level, character position) for the levels of a column that a question names, in order."""
    found: list[tuple[str, int]] = []
    for level in column.levels:
        if not level or (len(level) == 1 and not level.isupper()) or re.fullmatch(r"[\d.]+", level):
            continue
        pattern = r"[\s_-]+".join(re.escape(part) for part in re.split(r"[\s_]+", level) if part)
        match = re.search(rf"(?<![\w]){pattern}(?:s|es)?(?![\w])", question, 0 if len(level) < 3 else re.IGNORECASE)
        if match:
            found.append((level, match.start()))
    # `untreated` must not also count as `treated`, which the word borders above already prevent.
    return sorted([*found, *_misspelt_levels(question, column, found)], key=lambda item: item[1])


def _misspelt_levels(question: str, column: ColumnProfile, found: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return the levels a word almost spells (`controll`), when no level spells it better."""
    known = {level for level, _ in found}
    spelt = {level.lower() for level in column.levels}
    extra: list[tuple[str, int]] = []
    for match in re.finditer(r"[A-Za-z]{5,}", question):
        word = match.group(0).lower()
        if word in spelt or stem(word) in spelt:
            continue
        for level in column.levels:
            close = len(level) >= 5 and level[0].lower() == word[0] and _alike(word, level.lower())
            if close and level not in known and abs(len(level) - len(word)) <= 2:
                known.add(level)
                extra.append((level, match.start()))
    return extra


def with_role(columns: Iterable[ColumnProfile], role: str, *, least: float = 0.5) -> list[ColumnProfile]:
    """Return the columns that may play a role, most likely first."""
    able = [column for column in columns if column.role(role) >= least]  # type: ignore[arg-type]
    return sorted(able, key=lambda column: -column.role(role))  # type: ignore[arg-type]


def is_categorical(column: ColumnProfile) -> bool:
    """Say whether a column's values are a few named groups."""
    few = 2 <= column.distinct <= 12
    return column.kind in ("category", "boolean") or (
        column.kind in ("text", "integer") and few and bool(column.levels)
    )


def is_numeric(column: ColumnProfile) -> bool:
    """Say whether a column holds numbers."""
    return column.kind in ("integer", "number")
