"""Words of a text as numbers that can be looked up: lowercased, without stop words, biological identifiers kept whole.

A fingerprint is a 48-bit number that stands for a word, a pair or a triple of neighbouring words. Equal
words give equal fingerprints in every process, so an index can be built from texts alone; two different
n-grams share one with a probability of 2**-48, which at ten million n-grams makes 0.2 such pairs.
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import numpy as np

V = TypeVar("V")

MOST_REMEMBERED = 300_000
_NAMED_MASK = (1 << 20) - 1
_NAMED = bytearray(_NAMED_MASK + 1)
"""A filter after Bloom (1970, doi 10.1145/362686.362692) with one hash: marks of the names that were fingerprinted."""
BITS = 48
MASK = (1 << BITS) - 1

_STOP = frozenset(
    """
    a about above after again against ago all also although am among an and another any anything are as at back be
    because been before being below between both but by can cannot could did do does doing done don't each either
    else ever every everything few first for from further get gets give given go goes going got had has have having
    he her here hers him his how however i if in instead into is it its itself just keep kept know last least less
    let like make makes many may me might more most much must my near need needs neither new next no none nor not
    nothing now of off often on once one only or other others our ours out over own past per please rather really
    same say see seem she should show shows since so some something still such take taken tell than that the their
    theirs them then there these they this those though three through thus to too toward two under until up upon us
    use used uses using very via want was way we well were what when where whether which while who whom whose why
    will with within without would yet you your yours vs versus et al e.g i.e etc again ran run runs
    """.split()
)

_PIECE = re.compile(r"[^\s,;!?()\[\]{}<>\"'`=|/\\+~*^&→…]+")
_EDGE = ".:-_%#@$–—"
_NUMBER = re.compile(r"[<>~±+-]?\d[\d.,:eE%-]*(?:st|nd|rd|th|x|k|um|mm|nm|kb|mb|gb|gy|kcal)?", re.IGNORECASE)
_FILE = re.compile(
    r"[\w.-]*\w\.(?:csv|tsv|txt|xlsx?|h5(?:ad|mu)?|bed|bam|vcf|fa|fasta|fastq|gz|gmt|tif+|pdb|cif|json|loom|zip)"
)
_PREFIXED = re.compile(r"[A-Za-z][A-Za-z0-9.]{1,11}:[A-Za-z]{0,6}\d[\w.]*")
_HAS_DIGIT = re.compile(r"\d")
_HAS_LETTER = re.compile(r"[^\W\d_]")
_VERSION = re.compile(r"(?<=\d{11})\.\d{1,2}$")
"""The version of an Ensembl id, whose eleven digits no other identifier here has."""
_PROTEIN = re.compile(r"^p\.(?=[a-z]{1,3}\d)")
"""The prefix of a protein variant: `p.R47H` is `R47H`."""
_SYMBOL = re.compile(r"[A-Za-z][A-Za-z0-9]*-?[A-Za-z0-9]*")
_SPLIT = re.compile(r"[-_.:–—]+")


def words(text: str) -> list[str]:
    """Return the words of a text in order, as they are fingerprinted.

    Identifiers stay whole and lose only case and hyphens (`IL-6` and `il6` are one word; `GO:0006915`,
    `rs12345`, `c.5946delT`, `melanoma_os.csv` stay as they are), other words lose a plural or participle ending, plain
    numbers and stop words go.
    """
    return [word for piece in pieces(text) for word in _words_of(piece)]


def pieces(text: str) -> list[str]:
    """Return what stands between spaces and brackets, as written, without punctuation at its ends."""
    return [piece for raw in raw_pieces(text) if (piece := raw.strip(_EDGE))]


def raw_pieces(text: str) -> list[str]:
    """Return what stands between spaces and brackets, with the punctuation at its ends."""
    return _PIECE.findall(text)


def is_identifier(piece: str) -> bool:
    """Say whether a piece of text, as written, names one biological thing: a gene, a variant, an accession, a file.

    A digit among letters, capitals only, or a capital inside the word decide.
    """
    piece = piece.strip(_EDGE)
    if len(piece) < 2 or not _HAS_LETTER.search(piece) or _NUMBER.fullmatch(piece):
        return False
    if _HAS_DIGIT.search(piece) or _FILE.fullmatch(piece.lower()):
        return True
    return any(letter.isupper() for letter in piece[1:])


@lru_cache(maxsize=200_000)
def normal_entity(name: str) -> str:
    """Return the form in which names of entities are compared: lower case, no hyphens, spaces or id version."""
    return trimmed(letters(name))


def letters(name: str) -> str:
    """Return a name in lower case without hyphens, spaces and the like."""
    lower = name.lower()
    return lower if lower.isalnum() else "".join(letter for letter in lower if letter.isalnum() or letter in ".:_")


def trimmed(plain: str) -> str:
    """Return what `letters` made of a name without the prefix of a protein variant and the version of an id."""
    return _VERSION.sub("", _PROTEIN.sub("", plain)) if "." in plain else plain


def fingerprints(text: str) -> np.ndarray:
    """Return the sorted distinct fingerprints of a text's uni-, bi- and trigrams, uint64 below 2**48."""
    import numpy as np

    hashes = np.array(word_hashes(text), dtype=np.uint64)
    owners = np.zeros(len(hashes), dtype=np.int32)
    return np.unique(grams(hashes, owners)[0])


def grams(hashes: np.ndarray, owners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the fingerprints of all n-grams of many texts at once, with the text each belongs to.

    Args:
        hashes: `word_hash` of every word of every text, in order, uint64.
        owners: for each word the number of its text, int32, not falling. N-grams never span two texts.
    """
    import numpy as np

    parts, belongs = [hashes], [owners]
    for size in (2, 3):
        if len(hashes) < size:
            break
        joined = hashes[: len(hashes) - size + 1]
        for offset in range(1, size):
            joined = mixed(joined, hashes[offset : len(hashes) - size + 1 + offset])
        whole = owners[: len(owners) - size + 1] == owners[size - 1 :]
        parts.append(joined[whole])
        belongs.append(owners[: len(owners) - size + 1][whole])
    return np.concatenate(parts), np.concatenate(belongs)


def mixed(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return one fingerprint for each ordered pair of fingerprints."""
    import numpy as np

    # Multiplying by an odd constant and folding the high bits down spreads every input bit over the result.
    value = left * np.uint64(0x9E3779B97F4A7C15) + right * np.uint64(0xC2B2AE3D27D4EB4F) + np.uint64(0x165667B19E3779F9)
    value ^= value >> np.uint64(29)
    value *= np.uint64(0xBF58476D1CE4E5B9)
    value ^= value >> np.uint64(32)
    return value & np.uint64(MASK)


@lru_cache(maxsize=400_000)
def word_hash(word: str) -> int:
    """Return the 48-bit fingerprint of one word, the same in every process."""
    return int.from_bytes(hashlib.blake2b(word.encode(errors="surrogatepass"), digest_size=BITS // 8).digest(), "big")


def word_hashes(text: str) -> list[int]:
    """Return `word_hash` of every word of a text, in order."""
    return word_hashes_of(raw_pieces(text))


def word_hashes_of(raw: list[str]) -> list[int]:
    """Return `word_hash` of every word of raw pieces, in order."""
    return list(chain.from_iterable(map(_HASHES.__getitem__, raw)))


def name_hash(name: str, kind: str) -> int:
    """Return the fingerprint of a whole name; equal names of two kinds differ."""
    text = f"{kind}\x1f{name}"
    _NAMED[hash(text) & _NAMED_MASK] = 1
    return word_hash(text)


def ever_named(name: str, kind: str) -> bool:
    """Say whether `name_hash` may have been asked of this name before, in this process; never wrongly no.

    A query has a hundred runs of words that might be a name, nearly all of which no episode has. This tells without
    the cost of a fingerprint.
    """
    return bool(_NAMED[hash(f"{kind}\x1f{name}") & _NAMED_MASK])


class Remembered(dict[str, V]):
    """Answers of a function of a text, kept: reading a hundred thousand records meets few distinct pieces.

    A dictionary that works out what it lacks answers several times faster than a decorated function.
    """

    def work_out(self, raw: str) -> V:
        """Return the answer for a piece seen for the first time."""
        raise NotImplementedError

    def __missing__(self, raw: str) -> V:
        if len(self) >= MOST_REMEMBERED:
            self.clear()
        answer = self[raw] = self.work_out(raw)
        return answer


class _Hashes(Remembered[tuple[int, ...]]):
    """Raw piece -> `word_hash` of its words."""

    def work_out(self, raw: str) -> tuple[int, ...]:
        return tuple(word_hash(word) for word in _words_of(raw.strip(_EDGE)))


_HASHES = _Hashes()


def _words_of(piece: str) -> list[str]:
    """Return the words of a piece without spaces."""
    folded = piece.lower()
    if not folded or folded in _STOP or _NUMBER.fullmatch(folded) or not _HAS_LETTER.search(folded):
        return []
    if _FILE.fullmatch(folded) or _PREFIXED.fullmatch(piece):
        return [_VERSION.sub("", folded)]
    if is_identifier(piece) and _one_name(piece):
        return [_VERSION.sub("", _PROTEIN.sub("", folded).replace("-", ""))]
    parts = [part for part in _SPLIT.split(folded) if len(part) > 1 and part not in _STOP]
    return [_stem(part) for part in parts if not _NUMBER.fullmatch(part)]


def _one_name(piece: str) -> bool:
    """Say whether an identifier is to be kept whole: `IL-6` and `c.76A>T` are, `anti-dsDNA` and `12-month` are not."""
    if _SYMBOL.fullmatch(piece):
        return bool(_HAS_DIGIT.search(piece)) or "-" not in piece
    return bool(_HAS_DIGIT.search(piece)) and not _ordinary_compound(piece)


def _ordinary_compound(piece: str) -> bool:
    """Say whether every part of a hyphenated piece is a plain word or number (`12-month`, `two-sample`)."""
    return all(part.isdigit() or (part.isalpha() and part.islower() and len(part) > 2) for part in _SPLIT.split(piece))


@lru_cache(maxsize=100_000)
def _stem(word: str) -> str:
    """Return a word without its plural, participle or adverb ending; short words and identifiers stay."""
    if len(word) < 4 or _HAS_DIGIT.search(word):
        return word
    for ending, left in (("ies", "y"), ("sses", "ss"), ("ches", "ch"), ("shes", "sh"), ("xes", "x")):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            return word[: -len(ending)] + left
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ingly", "edly", "ing", "ed", "ly"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            word = word[: -len(ending)]
            if word[-1] == word[-2] and word[-1] not in "aeiouls":
                word = word[:-1]
            break
    return word[:-1] if word.endswith("e") and len(word) > 4 else word
