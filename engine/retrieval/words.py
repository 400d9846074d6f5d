"""Words of tool descriptions and of questions: splitting, folding of endings, correction of typing errors."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

from engine.search.spelling import Spelling

_WORD = re.compile(r"[A-Za-z0-9]+(?:[-'+.][A-Za-z0-9]+)*")
_LETTERS = re.compile(r"[a-z]{4,}")
_CAMEL = re.compile(r"RNA|DNA|ATAC|ChIP|[A-Z]+(?=[A-Z][a-z]{2})|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_ENDINGS: tuple[tuple[str, str, int], ...] = (
    # ending, what replaces it, shortest stem left. Longest first; one rule a pass.
    ("isations", "is", 3),
    ("isation", "is", 3),
    ("ifications", "if", 3),
    ("ification", "if", 3),
    ("ifiers", "if", 3),
    ("ifier", "if", 3),
    ("ations", "", 4),
    ("ation", "", 4),
    ("ators", "", 4),
    ("ator", "", 4),
    ("ating", "", 4),
    ("ments", "", 4),
    ("ment", "", 4),
    ("etics", "", 5),
    ("etic", "", 5),
    ("ically", "", 4),
    ("ical", "", 4),
    ("ions", "", 4),
    ("ates", "", 4),
    ("ated", "", 4),
    ("ate", "", 4),
    ("ion", "", 4),
    ("ing", "", 4),
    ("ies", "y", 2),
    ("ers", "", 4),
    ("ors", "", 5),
    ("ics", "", 4),
    ("ed", "", 4),
    ("er", "", 4),
    ("or", "", 5),
    ("ic", "", 4),
    ("al", "", 4),
    ("es", "", 4),
    ("s", "", 3),
    ("e", "", 4),
    ("y", "", 4),
    ("i", "", 4),
)
_COMPOUND = 1.6
"""What all forms of a compound word count together."""
_KEEP = frozenset({"ss", "us", "is"})
# fmt: off
STOP = frozenset(
    [
        "a", "about", "above", "after", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "been",
        "being", "but", "by", "can", "cannot", "could", "did", "do", "does", "doing", "done", "each", "either", "etc",
        "every", "few", "find", "for", "from", "further", "get", "give", "given", "gives", "had", "has", "have",
        "having", "he", "help", "her", "here", "him", "his", "how", "i", "if", "in", "into", "is", "it", "its",
        "itself", "just", "kind", "let", "like", "list", "made", "make", "makes", "many", "may", "me", "might",
        "more", "most", "much", "must", "my", "need", "needs", "no", "nor", "not", "of", "off", "often", "on", "once",
        "one", "only", "or", "other", "our", "out", "over", "own", "per", "please", "possible", "same", "see",
        "several", "she", "should", "show", "so", "some", "such", "tell", "than", "that", "the", "their", "them",
        "then", "there", "these", "they", "thing", "this", "those", "through", "to", "too", "tool", "tools", "two",
        "under", "until", "up", "upon", "use", "used", "useful", "user", "uses", "using", "various", "very", "via",
        "want", "was", "way", "we", "were", "what", "when", "where", "whether", "which", "while", "who", "whom",
        "whose", "why", "will", "wish", "with", "within", "without", "would", "yes", "you", "your",
    ]
)
# fmt: on
"""Words that say nothing of what a tool does."""


def fold(text: str) -> str:
    """Return the text without accents; Greek letters and the like stay as they are."""
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(char for char in decomposed if not unicodedata.combining(char))


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """Return a lower-case word without its grammatical ending, so that `aligner` and `alignments` meet.

    British and American spelling meet too. Short words, and words with digits (names, identifiers), stay whole.
    """
    if len(word) < 4 or not word.isalpha():
        return word
    word = _british(word.replace("ization", "isation"))
    if word.startswith(("analys", "analyt")):
        return "analys"
    for _ in range(3):
        shorter = _without_ending(word)
        if shorter == word:
            break
        word = shorter
    return word


def _british(word: str) -> str:
    for ending in ("ize", "ized", "izes", "izer", "izers", "izing", "yze", "yzed", "yzes", "yzer", "yzing"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            return word[: -len(ending)] + ending.replace("z", "s")
    if word.endswith(("our", "ours")) and len(word) > 5:
        return word.replace("our", "or")
    return word


def _without_ending(word: str) -> str:
    for ending, instead, least in _ENDINGS:
        if not word.endswith(ending) or len(word) - len(ending) < least:
            continue
        if ending == "s" and word[-2:] in _KEEP:
            return word
        left = word[: -len(ending)] + instead
        if ending in ("ing", "ed", "er", "ers") and len(left) > 3 and left[-1] == left[-2] and left[-1] not in "sl":
            left = left[:-1]
        return left
    return word


def words(text: str) -> list[str]:
    """Return the stems of a text in order, stop words left out.

    A compound gives its parts and itself joined (`RNA-seq`: rna, seq, rnaseq); a word with capitals inside gives
    the whole and its parts of three letters and more (`AlphaFold`: alphafold, alpha, fold); a name that ends in a
    number gives itself and the name alone (`bowtie2`: bowtie2, bowtie).
    """
    found: list[str] = []
    for match in _WORD.finditer(fold(text).replace("_", " ")):
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


def name_key(name: str) -> str:
    """Return a name for comparing: letters and digits only, lower case (`bwa-mem2`, `BWA_MEM2` -> `bwamem2`)."""
    return re.sub(r"[^a-z0-9]", "", fold(name).lower())


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
        self._known = Spelling(Counter(word for text in texts for word in set(_LETTERS.findall(fold(text).lower()))))

    def known(self, word: str) -> bool:
        """Say whether a description has the word as it is written (words of four letters and more)."""
        return fold(word).lower() in self._known

    def correct(self, word: str) -> str | None:
        """Return the closest known word, or None when nothing is near enough.

        Near is at most one edit for words of up to 6 letters, two beyond, and the first letter is right.
        """
        low = fold(word).lower()
        if not _LETTERS.fullmatch(low) or low in self._known:
            return None
        near = self._known.near(low, 1 if len(low) <= 6 else 2, start=low[0], most=1)
        return near[0][0] if near else None
