"""Which words say nothing of what a text is about, by what they are for, and how common the others are in English.

`people` is everyday English, `kinase` and `dermoscopy` are not.
"""

from __future__ import annotations

import math
from functools import cache
from importlib import resources

GRAMMAR = frozenset(
    """
    a about across all also among an and another any are as at be been between but by can could did do does down each
    even ever for from had has have he her his how i if in instead into is it its just least less many may me might more
    most much my no nor not of on one ones only or other others our out over per really same she should so still such
    than that the their then there these they this those to too under up us very was we were what when where which who
    whom whose will with would you your
    """.split()
)
"""Articles, pronouns, auxiliaries, prepositions and the like that no column is named by."""
ASKING = frozenset(
    """
    data dear evening file find get give hello hi kindly know let madam make morning need please regards respected said
    say see show sir table tell thank thanks use used using want
    """.split()
)
"""Words by which something is asked for, politely or not."""
STOP = GRAMMAR | ASKING
"""Words of a question that name no data: `after` and `first` may (`weight_after`), so they are not among them."""
_RELATING = frozenset(
    """
    above after again against ago although am anything back because before being below both cannot doing done either
    else etc every everything few further gets given gives go goes going got having here hers him however itself like
    makes must near needs neither none nothing now off often once ours own past rather seem shows since some something
    take taken theirs them though through thus toward two until upon uses versus via vs way well whether while why
    within without yet yours
    """.split()
)
EMPTY = STOP | _RELATING
"""Words that say nothing in prose, where no names of columns are looked for."""

_EVERYDAY = 300
"""So many of the most common words are everybody's."""


def technicality(word: str) -> float:
    """Return 0 for a lower-case word that everybody uses daily to 1 for one that few outside a trade know.

    Words fall off by the logarithm of their place among the most common ones (Zipf 1949: a word's frequency is about
    inversely proportional to its place).
    """
    places = _places()
    place = places.get(word, len(places))
    return max(0.0, math.log(max(place, 1) / _EVERYDAY)) / math.log(len(places) / _EVERYDAY)


def everyday() -> list[str]:
    """Return the most common words of English, the most common first."""
    return [*_places()]


@cache
def _places() -> dict[str, int]:
    text = resources.files("engine.text").joinpath("data/common_words.txt").read_text(encoding="utf-8")
    listed = (line for line in text.splitlines() if not line.startswith("#"))
    return {word: place for place, word in enumerate(listed)}
