"""How many tokens a text is: counted where a tokenizer is known, otherwise estimated a little too high."""

from __future__ import annotations

from collections.abc import Callable

from engine.errors import UserError
from engine.text.token_cost import estimate_tokens

ASSUMED_INPUT = 128_000
"""Tokens that a usual model reads."""
SHARE = 0.6
"""Part of them that a conversation may take."""

_CACHED = 20_000
"""Counts remembered; the texts themselves are not kept."""


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
