"""How many tokens a text is: estimated a little too high, unless somebody can count them.

An estimate that is too low would let a conversation outgrow what a model reads; one that is far too high would
compress what still fits. So text is taken apart the way tokenizers do, into words, digits and signs, and each
piece is charged what common vocabularies (byte-pair and WordPiece) split it into on average.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from engine.errors import UserError

ASSUMED_INPUT = 128_000
"""Tokens that a usual model reads."""
SHARE = 0.6
"""Part of them that a conversation may take."""

_CACHED = 20_000
"""Counts remembered; the texts themselves are not kept."""

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


class TokenCounter:
    """Counts tokens and remembers the counts."""

    def __init__(self, measure: Callable[[str], int] = estimate_tokens) -> None:
        """Count with `measure`."""
        self.measure = measure
        """The number of tokens of a text without remembering it, for pieces that are looked at once."""
        self._counts: dict[tuple[int, int], int] = {}

    @property
    def exact(self) -> bool:
        """True when a tokenizer counts, False when tokens are estimated."""
        return self.measure is not estimate_tokens

    def count(self, text: str) -> int:
        """Return the number of tokens in a text; 0 for an empty one."""
        if not text:
            return 0
        key = (hash(text), len(text))
        known = self._counts.get(key)
        if known is not None:
            return known
        result = self.measure(text)
        if len(self._counts) >= _CACHED:
            self._counts.clear()
        self._counts[key] = result
        return result


def resolve_budget(setting: int) -> int:
    """Return how many tokens a conversation may take: as set, or for -1 60 % of what a usual model reads.

    Raises:
        UserError: when the setting is neither -1 nor at least 1.
    """
    if setting >= 1:
        return setting
    if setting != -1:
        raise UserError(
            f"A budget of {setting:,} tokens cannot be used for working memory.",
            advice="Set `working_memory_tokens` to -1 (60 % of what a usual model reads) or to 1 or more.",
        )
    return round(SHARE * ASSUMED_INPUT)


def describe_budget(setting: int) -> str:
    """Return one sentence on where the budget comes from."""
    budget = resolve_budget(setting)
    if setting != -1:
        return f"{budget:,} tokens, as set."
    return f"{budget:,} tokens: 60 % of the {ASSUMED_INPUT:,} that a usual model reads, as no model is configured."


def cut_to_tokens(text: str, limit: int, counter: TokenCounter) -> str:
    """Return the longest beginning of a text that is at most `limit` tokens; "" when `limit` is 0 or less."""
    if limit <= 0:
        return ""
    if counter.count(text) <= limit:
        return text
    low, high = 0, min(len(text), 8 * limit)
    while high < len(text) and counter.measure(text[:high]) <= limit:
        low, high = high, min(len(text), 2 * high)
    while low < high:
        middle = (low + high + 1) // 2
        if counter.measure(text[:middle]) <= limit:
            low = middle
        else:
            high = middle - 1
    return text[:low]


def cut_middle(text: str, limit: int, counter: TokenCounter) -> str:
    """Return the text with its middle replaced by a note that says so, at most `limit` tokens in all.

    The beginning usually says what is wanted and the end what comes next, so both are kept. Where the long note
    does not fit a shorter one stands; below a handful of tokens only the beginning is returned.
    """
    whole = counter.count(text)
    if whole <= limit:
        return text
    long_note = f"\n[... about {whole - limit:,} of {whole:,} tokens left out here; the whole message is stored ...]\n"
    for note in (long_note, "\n[... cut ...]\n", " ... "):
        room = limit - counter.count(note)
        while room > 1:
            head = cut_to_tokens(text, room - room // 3, counter)
            tail = cut_to_tokens(text[::-1], room // 3, counter)[::-1]
            cut = head + note + tail
            over = counter.measure(cut) - limit
            if over <= 0:
                return cut
            room -= over
    return cut_to_tokens(text, limit, counter)
