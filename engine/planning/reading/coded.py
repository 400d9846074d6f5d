"""A question with its mentions in angle brackets, `effect of <c0> on <c1>`, so that patterns of language know no data."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engine.planning.naming.mention import ColumnMention
from engine.text.tokens import Token


class Coded:
    """A question with its mentions as `<c0>` and `<l1>`, and the way back."""

    def __init__(self, question: str, words: Sequence[Token], mentions: Sequence[ColumnMention]) -> None:
        self.question, self.words, self.mentions = question, words, mentions
        pieces: list[str] = []
        numeric: list[str] = []
        at = 0
        for number, mention in enumerate(mentions):
            start, end = words[mention.first].start, words[mention.last].end
            end = max(_whole_name(question, start, mention), end + _signs_after(question[end:], mention))
            code = f"<{'l' if mention.level else 'c'}{number}>"
            plain = bool(mention.level) and mention.first == mention.last and words[mention.first].number is not None
            pieces += [question[at:start], code]
            numeric += [question[at:start], question[start:end] if plain else code]
            at = end
        self.text = "".join([*pieces, question[at:]])
        self.numbers = "".join([*numeric, question[at:]])
        """The same with numbers that are levels left as they stand, for `age > 60`."""

    def inside(self, text: str | None) -> list[ColumnMention]:
        """Return the mentions in a piece of the coded text."""
        return [self.mentions[int(number)] for number in re.findall(r"<[cl](\d+)>", text or "")]


def _whole_name(question: str, start: int, mention: ColumnMention) -> int:
    """Return where a name ends that stands as it is in the file, 0 where it does not: `Species (lat.)` ends in a bracket."""
    name = mention.level or mention.column
    return start + len(name) if question[start : start + len(name)].lower() == name.lower() else 0


_SIGNS = re.compile(r"[^\w\s()\[\].,;:?!]+$")


def _signs_after(text: str, mention: ColumnMention) -> int:
    """Return how many signs after the words of a mention end its name too: of `Lane#` the words are `Lane`."""
    signs = _SIGNS.search(mention.level or mention.column)
    return len(signs[0]) if signs is not None and text.startswith(signs[0]) else 0
