"""Words of tool descriptions and of questions: splitting, folding of endings, correction of typing errors."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain

from engine.search.spelling import Spelling
from engine.text import stems
from engine.text.letters import american, without_accents
from engine.text.stopwords import EMPTY

_WORD = re.compile(r"[A-Za-z0-9]+(?:[-'+.][A-Za-z0-9]+)*")
_LETTERS = re.compile(r"[a-z]{4,}")
_CAMEL = re.compile(r"RNA|DNA|ATAC|ChIP|[A-Z]+(?=[A-Z][a-z]{2})|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_DOER = re.compile(r"(?<=.{4})(?:ifi?|or|er|si?|zi?|i)$")
"""What a stem still has of who or what does something: `predictor`, `classifier`, `analysis`."""
_DOUBLE = re.compile(r"([bdgmnprt])\1$")
_COMPOUND = 1.6
"""What all forms of a compound word count together."""
STOP = (EMPTY - {"data", "file", "near", "table"}) | frozenset(
    "help kind list made possible several thing tool tools useful user various wish yes".split()
)
"""Words that say nothing of what a tool does."""


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """Return a lower-case word without its endings, so that `aligner` and `alignments` meet, and `tumour` and `tumor`.

    Short words, and words with digits (names, identifiers), stay whole.
    """
    if len(word) < 4 or not word.isalpha():
        return word
    return _DOUBLE.sub(r"\1", _DOER.sub("", stems.stem(american(word))))


def words(text: str) -> list[str]:
    """Return the stems of a text in order, stop words left out.

    A compound gives its parts and itself joined (`RNA-seq`: rna, seq, rnaseq); a word with capitals inside gives
    the whole and its parts of three letters and more (`AlphaFold`: alphafold, alpha, fold); a name that ends in a
    number gives itself and the name alone (`bowtie2`: bowtie2, bowtie).
    """
    found: list[str] = []
    for match in _WORD.finditer(without_accents(text).replace("_", " ")):
        parts = re.split(r"[-'+.]", match.group())
        if len(parts) > 1:
            joined = "".join(parts).lower()
            if 4 <= len(joined) <= 16:
                found.append(joined)
        for part in parts:
            found.extend(_forms(part))
    return [word for word in found if word]


@lru_cache(maxsize=100_000)
def _forms(part: str) -> tuple[str, ...]:
    low = part.lower()
    if low in STOP or (len(low) == 1 and not low.isdigit()):
        return ()
    if part.islower() and part.isalpha():
        return (stem(low),)
    pieces = _CAMEL.findall(part)
    if len(pieces) < 2:
        return (stem(low),)
    inner = [piece.lower() for piece in pieces if len(piece) > 2 and piece.isalpha() and piece.lower() not in STOP]
    return (stem(low), *(stem(piece) for piece in inner))


def query_words(text: str) -> dict[str, float]:
    """Return the words of a question with their weights.

    A repeated word counts a little more, not twice; the forms of a compound (`scRNA-seq`: scrnaseq, rna, seq...)
    together count little more than one word.
    """
    weights: dict[str, float] = {}
    for token in text.split():
        forms = list(dict.fromkeys(words(token)))
        share = 1.0 if len(forms) < 2 else _COMPOUND / len(forms)
        for word in forms:
            weights[word] = weights[word] + 0.3 * share if word in weights else share
    return weights


class Speller:
    """Corrects words that no description has, from the words of all descriptions as they are written."""

    def __init__(self, texts: Iterable[str]) -> None:
        found = (set(_LETTERS.findall(without_accents(text).lower())) for text in texts)
        self._known = Spelling(Counter(chain.from_iterable(found)))

    def known(self, word: str) -> bool:
        """Say whether a description has the word as it is written (words of four letters and more)."""
        return without_accents(word).lower() in self._known

    def correct(self, word: str) -> str | None:
        """Return the closest known word, or None when nothing is near enough.

        Near is at most one edit for words of up to 6 letters, two beyond, and the first letter is right.
        """
        low = without_accents(word).lower()
        if not _LETTERS.fullmatch(low) or low in self._known:
            return None
        near = self._known.near(low, 1 if len(low) <= 6 else 2, start=low[0], most=1)
        return near[0][0] if near else None
