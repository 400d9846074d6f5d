"""About how many tokens a text is for a model whose tokenizer is not known here.

An estimate that is too low would let a conversation outgrow what a model reads; one that is far too high would
compress what still fits. So text is taken apart the way tokenizers do, into words, digits and signs, and each
piece is charged what common vocabularies (byte-pair and WordPiece) split it into on average.
"""

from __future__ import annotations

import math
import re

_PIECES = re.compile(
    r"(?P<word>[A-Za-z]+)"
    r"|(?P<digits>[0-9]+)"
    # Chinese, Japanese and Korean signs, full-width forms included.
    r"|(?P<cjk>[\u1100-\u11ff\u2e80-\u2fdf\u3005-\u30ff\u3130-\u318f\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    r"\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]+)"
    # Accented Latin, Greek, Cyrillic, Arabic and all other letters.
    r"|(?P<letters>[^\W\d_]+)"
    r"|(?P<space>\s+)"
    r"|(?P<sign>.)",
    re.DOTALL,
)


def _estimate_word(word: str) -> float:
    """Return the cost of a run of ASCII letters: common words are one token, names and sequences are not."""
    length = len(word)
    if length > 1 and word.isupper():
        return max(1.0, length / 1.8)  # gene symbols, acronyms, sequences
    if length <= 5:
        return 1.05
    return 1.05 + (length - 5) / 4


def estimate_tokens(text: str) -> int:
    """Return about how many tokens a text is, rather too many than too few.

    English prose comes out near four characters a token; Chinese, Japanese and Korean at one token and a bit a
    sign; numbers at one token for two digits; other signs at one each.
    """
    total = 0.0
    for piece in _PIECES.finditer(text):
        kind, length = piece.lastgroup, piece.end() - piece.start()
        if kind == "word":
            total += _estimate_word(piece.group())
        elif kind == "digits":
            total += max(1.0, length / 1.8)
        elif kind == "cjk":
            total += (1.5 if "\uac00" <= piece.group()[0] <= "\ud7af" else 1.3) * length
        elif kind == "letters":
            total += max(1.0, length / 1.2)
        elif kind == "sign":
            total += 1.0 if ord(piece.group()) < 0x2000 else 2.0
        elif length > 1:
            total += 0.25 * length  # indentation; a single space belongs to its word
    return math.ceil(total)
