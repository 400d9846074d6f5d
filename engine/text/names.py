"""Names of columns, levels and entities, cut into parts or brought to one form, so that two can be compared.

`flipperLength_mm` has the parts `flipper`, `length`, `mm`, `HbA1c_pre` the pieces `hba1c`, `pre`; `bwa-mem2` and
`BWA_MEM2` are `bwamem2` written in one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from engine.text.letters import plain
from engine.text.numbers import NUMBER_WORDS
from engine.text.tokens import PIECE

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_BETWEEN = re.compile(r"[\W_]+")


def name_pieces(name: str) -> list[str]:
    """Return the lower-case pieces of a name that signs and blanks set apart: `hba1c`, `pre` of `HbA1c_pre`."""
    return re.findall(r"[^\W_]+", plain(name))


_GROUPED = re.compile(
    r"(?<![^\W_])(age|bmi|dose|size|risk|weight|height|length)(?=(?:grps?|groups?|cat|class|band|bin)(?![^\W_]))",
    re.IGNORECASE,
)
"""What is written in one with its being cut into groups: `agegrp`."""


def name_parts(name: str) -> list[str]:
    """Return the lower-case parts of a column's name or a level: cut at signs, digits and changes of case."""
    spaced = _CAMEL.sub(" ", _GROUPED.sub(r"\1 ", name))
    return [NUMBER_WORDS.get(word, word) for word in (plain(piece) for piece in PIECE.findall(spaced))]


def one_word(text: str, sign: str = "_") -> str:
    """Return the letters and digits of a text as one word, with a sign in the place of all between them."""
    return _BETWEEN.sub(sign, text).strip(sign)


def in_one(name: str) -> str:
    """Return a name's letters and digits in one, for comparing: `tp53` of `TP-53`, `tnfalpha` of `TNF-α`."""
    return _BETWEEN.sub("", plain(name, micro=False))


def without_common_ends(names, known):
    """Return names without a beginning and an end that all of them share, where most then are among the known ones.

    `LFQ intensity S01` and `S01.bam` are `S01` in a sheet that calls it so. None where no cut makes at least two names
    and four fifths of the fewer side known; of several cuts the one that makes most known, the shortest of these.
    """
    names, known = [str(name) for name in names], {str(name) for name in known}
    if len(names) < 2 or not known:
        return None

    def shared(texts):
        first, last = min(texts), max(texts)
        return next((at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))

    best, most = None, max(2, 0.8 * min(len(names), len(known))) - 1e-9
    for begin in range(shared(names) + 1):
        for end in range(shared([name[::-1] for name in names]) + 1):
            cut = [name[begin : len(name) - end] for name in names]
            hits = sum(name in known for name in cut)
            if begin + end and hits > most:
                best, most = cut, hits
    return best


_SINCE = frozenset("after since post from to until in on at of per and".split())


def is_lowest(parts: Sequence[str]) -> bool:
    """Say whether a name begins with the lowest of something and no minute: `Min.Price`, not `min_after_dose`."""
    return len(parts) > 1 and parts[0] == "min" and parts[1] not in _SINCE and not parts[1].isdigit()
