"""Slips of the pen in what a question is made of; what columns and levels are called by has its own (`naming`)."""

from __future__ import annotations

import functools

from engine.planning.choosing.choose import model
from engine.planning.naming.german import names_in
from engine.planning.naming.lexicon import is_term
from engine.planning.naming.rewording import Reworded, put_in
from engine.planning.tables.sheets import Data
from engine.text.slips import is_english, misspelt, slips
from engine.text.stems import stem
from engine.text.stopwords import STOP, everyday
from engine.text.tokens import Token, tokens

SLIP = 6
"""A word of so many letters can be told from another with one letter wrong; in a small word one is missing or two are swapped."""
LEAST = 4
"""Words of fewer letters are left as they stand."""
_MOSTLY = 0.7
"""Such a share of the words is English where a question is: slips in other languages look like English words."""


_SWAPPED = {
    "teh": "the",
    "hte": "the",
    "adn": "and",
    "nad": "and",
    "waht": "what",
    "taht": "that",
    "tht": "that",
    "wiht": "with",
    "hwo": "how",
}
"""Small words with two letters swapped that no dictionary is needed to know; `nad` may be a column (NAD)."""


def spelled(question: str, data: Data) -> Reworded | None:
    """Return a question whose slips of the pen are put right, None where there are none (`diffrent`, `wich`, `signifikant`).

    A slip is a word that is in no dictionary, that nobody asks with and nothing in the data is called by, and that is one letter
    from a single word of the same initial that people ask with.
    """
    words, names = tokens(question), names_in(data)
    right = [(word.start, word.end, meant) for word in words if (meant := _meant(question, word, names))]
    ours = sum(is_english(word.text) or word.text in names or word.number is not None for word in words) if right else 0
    return put_in(question, right) if right and ours + len(right) >= _MOSTLY * len(words) else None


def _meant(question: str, word: Token, names: frozenset[str]) -> str:
    """Return what a word should have been, "" where it is none that is written wrong, or may be meant for several."""
    typed = question[word.start : word.end]
    if (meant := _SWAPPED.get(typed.lower())) and word.text not in names:
        return meant
    if len(word.text) < LEAST or not typed.isalpha() or typed[1:] != typed[1:].lower() or asked_with(word):
        return ""
    near = [other for other in _general().get(word.text[0], ()) if _one_slip(word.text, other)]
    if len({stem(other) for other in near}) != 1 or is_english(word.text) or is_term(word.text):
        return ""
    return "" if any(name[0] == word.text[0] and misspelt(word.text, name) for name in names) else near[0]


def slip_of_asking(word: str) -> bool:
    """Say whether a word that says nothing else is one letter from a word that people ask with: `batch efect`."""
    near = _general().get(word[:1], ())
    return len(word) > LEAST and not is_english(word) and any(_near(word, other) for other in near)


def _near(word: str, other: str) -> bool:
    return len(other) > LEAST and abs(len(word) - len(other)) <= 1 and slips(word, other, 1) == 1


def asked_with(word: Token) -> bool:
    """Say whether people ask questions with a word."""
    return word.stem in model().general or any(word.stem in stems for stems in model().own.values())


@functools.cache
def _general() -> dict[str, list[str]]:
    """Initial -> the words that people ask with, the most common first."""
    found: dict[str, list[str]] = {}
    for word in everyday():
        if word in STOP or stem(word) in model().general:
            found.setdefault(word[0], []).append(word)
    return found


def _one_slip(word: str, other: str) -> bool:
    if abs(len(word) - len(other)) > 1 or slips(word, other, 1) > 1:
        return False
    missing_or_swapped = len(word) < len(other) or sorted(word) == sorted(other)
    return len(word) >= SLIP or (other in STOP and missing_or_swapped)
