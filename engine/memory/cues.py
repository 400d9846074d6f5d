"""What a query names: words, identifiers, known entities, tools and domains."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from engine.memory import fingerprints as fp

if TYPE_CHECKING:
    import numpy as np

Known = Callable[["np.ndarray"], Sequence[bool]]
"""Says for keys whether any episode has a name with that key."""

LONGEST_NAME = 4
"""Words of the longest entity looked for in a query."""
MOST_PIECES = 600
"""Longer queries are read up to here: a pasted manuscript says what it is about in its first pages."""

_DIMENSION = re.compile(r"\d{1,4}[a-z]{1,2}")
_DOMAIN_EDGE = re.compile(r"[\s_/-]+")


@dataclass(frozen=True, slots=True)
class Cues:
    """A query, understood. All keys are fingerprints (uint64)."""

    text: str
    unigrams: np.ndarray
    pairs: np.ndarray
    triples: np.ndarray
    entities: dict[str, int]
    """Entity as the query writes it -> key of a remembered entity."""
    unknown: list[str]
    """Identifiers in the query that no episode mentions."""
    identifiers: dict[str, int]
    """Identifier with a digit, as written -> the key of its word among the unigrams."""
    tools: dict[str, int]
    domains: dict[str, int]


def domain_name(name: str) -> str:
    """Return the form in which domains are compared: `Single-cell` and `single_cell` are one."""
    return _DOMAIN_EDGE.sub("_", name.strip().lower())


@lru_cache(maxsize=200_000)
def entity_key(name: str) -> int:
    """Return the key of an entity's name, whatever its case, hyphens and spaces."""
    return fp.name_hash(fp.normal_entity(name), "entity")


@lru_cache(maxsize=200_000)
def tool_key(name: str) -> int:
    """Return the key of a tool's name."""
    return fp.name_hash(name.strip().lower(), "tool")


@lru_cache(maxsize=200_000)
def domain_key(name: str) -> int:
    """Return the key of a domain's name."""
    return fp.name_hash(domain_name(name), "domain")


def scan(text: str) -> tuple[list[int], list[int]]:
    """Return the fingerprints of a text's words, in order, and the entity keys of its identifiers."""
    raw = fp.raw_pieces(text)
    return fp.word_hashes_of(raw), [key for key in map(_MENTIONS.__getitem__, raw) if key]


def identifiers(text: str) -> dict[str, str]:
    """Return the identifiers of a text that carry a digit (`TP53`, `rs12345`, `5KIR`), as written -> as a word.

    Names of methods (`PCR`, `qPCR`, `3D`, `10x`) are left out: they say how, not what.
    """
    return {piece: word for piece in fp.pieces(text) if (word := _identifier(piece))}


def understand(query: str, known: Known, *, tools: Sequence[str] = (), domains: Sequence[str] = ()) -> Cues:
    """Return what a query names.

    Args:
        query: the user's words.
        known: says which of many keys (`entity_key`, `tool_key`, `domain_key`) any remembered episode has.
        tools: tools the caller thinks of, besides those the query names.
        domains: domains the caller thinks of; when given, those in the query's words are not looked for.
    """
    import numpy as np

    pieces = fp.pieces(query)[:MOST_PIECES]
    text = " ".join(pieces)
    hashes = np.array(fp.word_hashes(text), dtype=np.uint64)
    pairs = fp.mixed(hashes[:-1], hashes[1:]) if len(hashes) > 1 else hashes[:0]
    triples = fp.mixed(pairs[:-1], hashes[2:]) if len(hashes) > 2 else hashes[:0]
    named = _names(pieces)
    strong = identifiers(text)
    entities = {name: entity_key(name) for name in [*named, *strong] if _may_be_entity(name)}
    tool_keys = {name: tool_key(name) for name in [*tools, *_joined(named)] if name.strip()}
    wanted = [*domains] or [name for name in named if len(name) > 3]
    domain_keys = {domain_name(name): domain_key(name) for name in wanted if name.strip()}
    all_keys = [*entities.values(), *tool_keys.values(), *domain_keys.values()]
    remembered = {key for key, there in zip(all_keys, known(np.array(all_keys, dtype=np.uint64)), strict=True) if there}
    return Cues(
        text=text,
        unigrams=np.unique(hashes),
        pairs=np.unique(pairs),
        triples=np.unique(triples),
        entities=_longest({name: key for name, key in entities.items() if key in remembered}),
        unknown=[name for name in strong if entity_key(name) not in remembered],
        identifiers={name: fp.word_hash(word) for name, word in strong.items()},
        tools={name: key for name, key in tool_keys.items() if key in remembered},
        domains={name: key for name, key in domain_keys.items() if key in remembered},
    )


class _Mentions(fp.Remembered[int]):
    """Raw piece -> the entity key of the identifier it is, 0 where it is none."""

    def work_out(self, raw: str) -> int:
        piece = fp.pieces(raw)
        return entity_key(piece[0]) if piece and _identifier(piece[0]) else 0


_MENTIONS = _Mentions()


@lru_cache(maxsize=200_000)
def _identifier(piece: str) -> str:
    """Return the word of a piece that is an identifier with a digit, otherwise ""."""
    if not any(letter.isdigit() for letter in piece) or not fp.is_identifier(piece):
        return ""
    word = fp.words(piece)
    named = len(word) == 1 and any(c.isdigit() for c in word[0]) and not _DIMENSION.fullmatch(word[0])
    return word[0] if named else ""


def _names(pieces: Sequence[str]) -> list[str]:
    """Return every run of up to `LONGEST_NAME` pieces, longest first, each once."""
    runs = [
        " ".join(pieces[start : start + size])
        for size in range(LONGEST_NAME, 0, -1)
        for start in range(len(pieces) - size + 1)
    ]
    return list(dict.fromkeys(runs))


def _may_be_entity(name: str) -> bool:
    """Refuse stop words, and short lower-case words that only look like a symbol (`ad`, `ft`)."""
    if not fp.word_hashes(name):
        return False
    return len(name) > 3 or not name.isalpha() or any(letter.isupper() for letter in name)


def _joined(names: Sequence[str]) -> list[str]:
    """Return the names as tools are written: `mcts search` is `mcts_search`."""
    return [name.lower().replace(" ", "_").replace("-", "_") for name in names]


def _longest(entities: dict[str, int]) -> dict[str, int]:
    """Keep one spelling of each entity; the names come longest first."""
    seen: dict[int, str] = {}
    for name, key in entities.items():
        seen.setdefault(key, name)
    return {name: key for key, name in seen.items()}
