"""Whether a short text keeps what matters of what was said: numbers, names, and what a `not` or an `only` turns round.

It knows no meaning, so it is strict: what it cannot find again counts as lost, and the summary by rules stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from engine.memory.working.compress import FILLER, NAMED, TURNING, numbers_in, split_sentences
from engine.text.stems import stem

_QUOTED = re.compile(r"(?<!\w)(['\"`])(.{1,60}?)\1(?!\w)")
_WORD = re.compile(r"[^\W\d_]{4,}")
_SHARED = 3
"""So many words, or half of them, tell that two sentences speak of the same."""
_SHOWN = 12


def misfits(said: str, short: str) -> list[str]:
    """Return what a short text loses of what was said or adds to it, one sentence each; [] when it keeps all."""
    found = [(f"{name} of the turns missing", _sorted(theirs - ours)) for name, theirs, ours in _each(said, short)] + [
        (f"{name} that no turn has", _sorted(ours - theirs)) for name, theirs, ours in _each(said, short)
    ]
    turned, kept = _turned(said), _turned(short)
    lost = [text for text, words in turned.items() if not any(_same(words, other) for other in kept.values())]
    made = [text for text, words in kept.items() if not any(_same(words, other) for other in turned.values())]
    found += [("sentences whose `not`, `only` or the like is missing", lost), ("sentences turned round", made)]
    return [f"{what}: {'; '.join(items[:_SHOWN])}" for what, items in found if items]


def _each(said: str, short: str) -> list[tuple[str, set[str], set[str]]]:
    theirs, ours = _names(said), _names(short)
    low_said, low_short = said.casefold(), short.casefold()
    return [
        ("numbers", numbers_in(said), numbers_in(short)),
        # A name may stand at the beginning of a sentence, where it is not told from a word.
        ("names", {n for n in theirs if n not in low_short}, {n for n in ours if n not in low_said}),
    ]


def _names(text: str) -> set[str]:
    quoted = (found[2] for found in _QUOTED.finditer(text))
    return {name.casefold() for name in [*(found.group() for found in NAMED.finditer(text)), *quoted]}


def _turned(text: str) -> dict[str, frozenset[str]]:
    """Return each sentence with a turning word and the stems of its other words."""
    sentences = [one for one in split_sentences(text) if TURNING.search(one) and not FILLER.match(one)]
    stems = {one: frozenset(stem(word.lower()) for word in _WORD.findall(TURNING.sub(" ", one))) for one in sentences}
    return {one: words for one, words in stems.items() if words}


def _same(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) >= min(_SHARED, (len(one) + 1) // 2)


def _sorted(names: Iterable[str]) -> list[str]:
    return sorted(names)
