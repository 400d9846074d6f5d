"""The words and names of a record or a question, in the form in which they are compared."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from engine.text.letters import american, plain
from engine.text.names import in_one
from engine.text.stems import stem
from engine.text.stopwords import EMPTY

ENTITY, TOOL, DOMAIN = "entity", "tool", "domain"
LONGEST_NAME = 4
"""Pieces of the longest name looked for in a question."""
LEAST_SPELT = 5
"""Letters of a word from which its spelling is compared."""
MOST_PIECES, MOST_WORDS = 600, 60
"""Of a longer question the beginning is read: a pasted manuscript says what it is about in its first pages."""

_PIECE = re.compile(r"[^\s,;!?()\[\]{}<>\"'`=|/\\+~*^&→…]+")
_EDGE = ".:-_%#@$–—"
_PART = re.compile(r"[^\W\d_]+")
_SEPARATORS = re.compile(r"[-_.:–—]+")
_NUMBER = re.compile(
    r"[<>~±+-]?\d[\d.,:eE%-]*(?:st|nd|rd|th|x|k|um|mm|nm|kb|mb|gb|gy|kcal|h|d|min|mg|ml|ul)?", re.IGNORECASE
)
"""Numbers, and what says how rather than what: `10x`, `3D`, `24h`; `16S` is a name."""
_PREFIX_OR_VERSION = re.compile(r"^p\.(?=[A-Za-z]{1,3}\d)|(?<=\d{11})\.\d{1,2}$")
"""`p.R47H` is `R47H`; the version of an Ensembl id, whose eleven digits no other identifier has."""


class Word(NamedTuple):
    """A word: what it is compared by, and how it was written."""

    form: str
    text: str
    is_identifier: bool = False
    """True for what is equal or not, never nearly the same: `TP53`, `rs12345`, `5KIR`."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a question asks by; each name and word once."""

    words: dict[str, Word]
    """Form -> word."""
    names: dict[str, dict[str, str]]
    """`ENTITY`, `TOOL`, `DOMAIN` -> key of a remembered name -> as written."""
    hinted: bool
    """Whether the caller named tools or fields."""


def pieces(text: str) -> list[str]:
    """Return what stands between spaces and brackets, as written, without punctuation at its ends."""
    return [piece for raw in _PIECE.findall(text) if (piece := raw.strip(_EDGE))]


def words(text: str) -> list[Word]:
    """Return the words of a text in order: stems, identifiers whole, without plain numbers and stop words."""
    return [word for piece in pieces(text) for word in _words_of(piece)]


def identifiers(text: str) -> list[str]:
    """Return the identifiers with a digit of a text, as written: names of genes, accessions, files, variants."""
    return [piece for piece in pieces(text) if _is_identifier(piece)]


def spelling(word: Word) -> str:
    """Return what a word's spelling is compared by; "" for an identifier and for a short word."""
    return word.form if len(word.form) >= LEAST_SPELT and not word.is_identifier else ""


@lru_cache(maxsize=200_000)
def name_key(name: str) -> str:
    """Return what a name is compared by, whatever its case, hyphens and spaces: `Single-cell` is `single_cell`."""
    return in_one(_PREFIX_OR_VERSION.sub("", name.strip()))


def read(
    query: str, known: Callable[[str, str], bool], *, tools: Sequence[str] = (), domains: Sequence[str] = ()
) -> Question:
    """Return what a question asks by.

    Args:
        query: the user's words.
        known: says of a group (`ENTITY`, ...) and the key of a name whether any record has it.
        tools: tools the caller thinks of, besides those that the question names.
        domains: fields the caller thinks of; when given, those in the question's words are not looked for.
    """
    read_pieces = pieces(query)[:MOST_PIECES]
    found = {word.form: word for piece in read_pieces for word in _words_of(piece)}
    names: dict[str, dict[str, str]] = {
        ENTITY: {},
        TOOL: {key: name for name in tools if known(TOOL, key := name_key(name))},
        DOMAIN: {key: name for name in domains if known(DOMAIN, key := name_key(name))},
    }
    groups = (ENTITY, TOOL) if domains else (ENTITY, TOOL, DOMAIN)
    for size in range(LONGEST_NAME, 0, -1):
        for start in range(len(read_pieces) - size + 1):
            name = " ".join(read_pieces[start : start + size])
            key = name_key(name)
            # Short words in lower case only look like a symbol: `ad`, `ft`.
            if len(key) < 3 or (len(key) == 3 and name.isalpha() and name.islower()):
                continue
            for group in groups:
                if known(group, key):
                    names[group].setdefault(key, name)
    return Question(dict(list(found.items())[:MOST_WORDS]), names, bool(tools or domains))


@lru_cache(maxsize=200_000)
def _words_of(piece: str) -> tuple[Word, ...]:
    """Return the words of a piece without spaces."""
    if piece.isalpha():
        return _plain_word(piece)
    if not _PART.search(piece) or _NUMBER.fullmatch(piece):
        return ()
    if _is_identifier(piece):
        whole: tuple[Word, ...] = (Word(name_key(piece), piece, True),)
        return whole + tuple(word for part in _SEPARATORS.split(piece) if part.isalpha() for word in _plain_word(part))
    return tuple(word for part in _PART.findall(piece) for word in _plain_word(part))


def _plain_word(word: str) -> tuple[Word, ...]:
    lower = plain(word, micro=False)
    if len(lower) < 2 or lower in EMPTY:
        return ()
    return (Word(stem(american(lower)), lower),)


def _is_identifier(piece: str) -> bool:
    """Say whether a piece is a name with a digit: `IL-6` and `c.76A>T` are, `12-month` and `24h` are not."""
    if not any(letter.isdigit() for letter in piece) or not _PART.search(piece) or _NUMBER.fullmatch(piece):
        return False
    parts = _SEPARATORS.split(piece)
    ordinary = len(parts) > 1 and all(p.isdigit() or (p.isalpha() and p.islower() and len(p) > 2) for p in parts)
    return not ordinary
