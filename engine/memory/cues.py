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
    of_pieces = [fp.word_hashes_of([piece]) for piece in pieces]
    hashes = np.array([key for keys in of_pieces for key in keys], dtype=np.uint64)
    pairs = fp.mixed(hashes[:-1], hashes[1:]) if len(hashes) > 1 else hashes[:0]
    triples = fp.mixed(pairs[:-1], hashes[2:]) if len(hashes) > 2 else hashes[:0]
    strong = {piece: word for piece in pieces if (word := _identifier(piece))}
    entities, tool_keys, domain_keys = _named(pieces, of_pieces, look_for_domains=not domains)
    tool_keys |= {name: tool_key(name) for name in tools if name.strip()}
    domain_keys |= {domain_name(name): domain_key(name) for name in domains if name.strip()}
    all_keys = [*entities.values(), *tool_keys.values(), *domain_keys.values()]
    remembered = {key for key, there in zip(all_keys, known(np.array(all_keys, dtype=np.uint64)), strict=True) if there}
    return Cues(
        text=" ".join(pieces),
        unigrams=_each_once(hashes),
        pairs=_each_once(pairs),
        triples=_each_once(triples),
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


def _named(
    pieces: Sequence[str], words: Sequence[Sequence[int]], *, look_for_domains: bool
) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
    """Return the entities, tools and domains that runs of up to `LONGEST_NAME` pieces may name, longest runs first.

    Args:
        pieces: the query.
        words: for each piece the fingerprints of its words.
        look_for_domains: otherwise no domains are returned.
    """
    entities: dict[str, int] = {}
    tools: dict[str, int] = {}
    domains: dict[str, int] = {}
    plain = [fp.letters(piece) for piece in pieces]
    joined = [piece.lower().replace("-", "_") for piece in pieces]
    for size in range(LONGEST_NAME, 0, -1):
        for start in range(len(pieces) - size + 1):
            run = slice(start, start + size)
            entity, tool = fp.trimmed("".join(plain[run])), "_".join(joined[run])
            if fp.ever_named(entity, "entity") and any(words[run]):
                name = " ".join(pieces[run])
                if _may_be_entity(name):
                    entities[name] = entity_key(name)
            if fp.ever_named(tool, "tool"):
                tools[tool] = tool_key(tool)
            if look_for_domains:
                domain = _DOMAIN_EDGE.sub("_", tool) if "__" in tool else tool
                if len(tool) > 3 and fp.ever_named(domain, "domain"):
                    domains[domain] = domain_key(domain)
    return entities, tools, domains


def _may_be_entity(name: str) -> bool:
    """Refuse short lower-case words that only look like a symbol (`ad`, `ft`)."""
    return len(name) > 3 or not name.isalpha() or any(letter.isupper() for letter in name)


def _each_once(keys: np.ndarray) -> np.ndarray:
    """Return keys in ascending order, each once: a few dozen of them, for which Python is quicker than NumPy."""
    import numpy as np

    return np.array(sorted(set(keys.tolist())), dtype=np.uint64)


def _longest(entities: dict[str, int]) -> dict[str, int]:
    """Keep one spelling of each entity; the names come longest first."""
    seen: dict[int, str] = {}
    for name, key in entities.items():
        seen.setdefault(key, name)
    return {name: key for key, name in seen.items()}
