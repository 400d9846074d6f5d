"""How many tokens a text is: counted where a tokenizer is known, otherwise estimated a little too high."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from engine.errors import DataError, UserError
from engine.ports.chat import ChatModel
from engine.text.token_cost import estimate_tokens

ASSUMED_INPUT = 128_000
"""Tokens a model is taken to read when none is configured."""
SHARE = 0.6
"""Part of a model's input that a conversation may take."""
SMALLEST, LARGEST = 16_000, 600_000
"""Bounds of a budget that is worked out from the model."""

_CACHED = 20_000
"""Counts remembered; the texts themselves are not kept."""


class TokenCounter:
    """Counts tokens, exactly with a tokenizer and by estimate without."""

    def __init__(self, model: ChatModel | None = None, *, tokenizer_file: Path | None = None) -> None:
        """Choose how to count: by the model, else by a tokenizer file, else by estimate.

        Args:
            model: counts itself when its tokenizer is known here.
            tokenizer_file: a `tokenizer.json` in the format of the library tokenizers.

        Raises:
            DataError: when the tokenizer file cannot be read.
        """
        self._exact: Callable[[str], int | None] | None = None
        if model is not None and model.count_tokens("probe") is not None:
            self._exact = model.count_tokens
        elif tokenizer_file is not None:
            self._exact = _from_file(tokenizer_file)
        self._counts: dict[tuple[int, int], int] = {}

    @property
    def exact(self) -> bool:
        """True when a tokenizer counts, False when tokens are estimated."""
        return self._exact is not None

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

    def measure(self, text: str) -> int:
        """Return the same number without remembering it, for pieces that are looked at once."""
        counted = self._exact(text) if self._exact is not None else None
        return estimate_tokens(text) if counted is None else counted


def _from_file(path: Path) -> Callable[[str], int]:
    """Return a counter that uses a tokenizer file, with its own cutting and padding off."""
    from tokenizers import Tokenizer

    if not path.is_file():
        raise DataError(
            f"There is no tokenizer file {path}.",
            advice="Give the path of a tokenizer.json, or leave it out to have tokens estimated.",
        )
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises nothing narrower
        raise DataError(
            f"The tokenizer file {path} cannot be read ({str(error)[:120]}).",
            advice="Give a tokenizer.json of the library tokenizers, or leave it out to have tokens estimated.",
        ) from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)


def resolve_budget(setting: int, model: ChatModel | None) -> int:
    """Return how many tokens a conversation may take.

    Args:
        setting: a number of tokens, or -1 for 60 % of what the model reads, at least 16,000 and at most 600,000.
        model: the reasoning model; without one a model that reads 128,000 tokens is assumed.

    Raises:
        UserError: when the setting is neither -1 nor at least 1.
    """
    if setting >= 1:
        return setting
    if setting != -1:
        raise UserError(
            f"A budget of {setting:,} tokens cannot be used for working memory.",
            advice="Set `working_memory_tokens` to -1 (worked out from the model) or to 1 or more.",
        )
    reads = model.max_input_tokens if model is not None else ASSUMED_INPUT
    return min(max(round(SHARE * reads), SMALLEST), LARGEST)


def describe_budget(setting: int, model: ChatModel | None) -> str:
    """Return one sentence on where the budget comes from."""
    budget = resolve_budget(setting, model)
    if setting != -1:
        return f"{budget:,} tokens, as set."
    if model is None:
        return f"{budget:,} tokens: 60 % of the {ASSUMED_INPUT:,} that a usual model reads, as no model is configured."
    bounded = "" if budget == round(SHARE * model.max_input_tokens) else f", kept within {SMALLEST:,} to {LARGEST:,}"
    return f"{budget:,} tokens: 60 % of the {model.max_input_tokens:,} that {model.name} reads{bounded}."


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
