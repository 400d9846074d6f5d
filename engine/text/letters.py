"""Letters in one form: lower case, accents off, Greek spelt out, British spelling as American, arrows as words."""

from __future__ import annotations

import re
import unicodedata

GREEK = dict(
    zip(
        "αβγδεζηθικλμνξοπρσςτυφχψω",
        "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma sigma tau "
        "upsilon phi chi psi omega".split(),
        strict=True,
    )
)
"""Greek letter in lower case -> its name."""
_SPELT = str.maketrans(GREEK)
_MICRO = str.maketrans(GREEK | {"μ": "u"})
_SIGNS = tuple(
    (re.compile(sign), word)
    for sign, word in (
        (r"↛|⇏|-/-?>", " does not induce "),
        (r"<[-–—]+>|[↔⟷⇔]", " interacts with "),
        (r"[-–—]+\s?\||[⊣⊥┤]", " inhibits "),
        (r"[-–—=]+>|[→⟶⇒➔➝]", " induces "),
        (r"<[-–—]+(?!\s*\d)|[←⟵⇐]", " induced by "),
        ("[↑⇑▲]+", " up "),
        ("[↓⇓▼]+", " down "),
    )
)
"""Signs of notes -> the words that they stand for: `A → B`, `A --| B`, `B ↑`."""


def without_accents(text: str) -> str:
    """Return the text without accents and the like: `Größe` is `Große`; its length may change."""
    if text.isascii():
        return text
    return "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))


def plain(text: str, *, micro: bool = True) -> str:
    """Return text in lower case without accents and with Greek letters spelt out; its length may change.

    Args:
        text: any text.
        micro: whether a mu is the micro of a unit, `u` (`µg` is `ug`), rather than the letter `mu` (`μ receptor`).
    """
    if text.isascii():
        return text.lower()
    folded = without_accents(without_accents(text).casefold())  # a folded letter may have an accent again
    return folded.translate(_MICRO if micro else _SPELT)


def american(word: str) -> str:
    """Return a lower-case word of English as it is spelt in America: `tumor`, `leukemia`, `analyze`, `sulfate`."""
    if len(word) < 5:
        return word
    word = word.replace("ae", "e").replace("oe", "e").replace("sulph", "sulf")
    if word.endswith(("our", "ours")) and len(word) > 5:
        word = word.replace("our", "or")
    return re.sub(r"([iy])s(e|ed|es|er|ers|ing|ation|ations)$", r"\1z\2", word)


def signs_spelt(text: str) -> str:
    """Return the text with arrows in words; its length may change, and a number below zero stays one (`r <-0.3`)."""
    for sign, word in _SIGNS:
        text = sign.sub(word, text)
    return text
