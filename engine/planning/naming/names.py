"""How surely words mean a name: whole, in part, abbreviated, by a synonym or with a typing error.

`dex` for dexamethasone, `horTh` for hormone therapy, `BMI` for body mass index, `trt` for treatment. A part that several names
share says less than one that only one has.
"""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

from engine.planning.naming.lexicon import UNITS, alike, compound, in_terms, same_meaning, skeleton
from engine.text.names import is_lowest, name_parts, name_pieces
from engine.text.numbers import as_number
from engine.text.slips import misspelt
from engine.text.stems import stem
from engine.text.stopwords import EMPTY, STOP
from engine.text.times import UNITS_OF_TIME, time_unit, timed
from engine.text.tokens import Token

QUANTITIES = {
    "temperature": "c celsius degc kelvin",
    "temperatures": "c celsius degc kelvin",
    "area": "m2 cm2 mm2 km2 ha",
    "volume": "ml ul l cm3 mm3 m3",
    "pressure": "mmhg kpa pa hpa",
    "weight": "kg g mg lb",
    "mass": "kg g mg",
    "length": "cm mm m um",
    "height": "cm mm m",
    "energy": "kcal kj",
    "percentage": "pct percent",
    "time": "h hr hrs hours d days wk weeks mo months yr years",
    "hours": "h hr hrs",
    "minutes": "min mins",
    "seconds": "s sec secs",
}
"""Quantity -> the units it is measured in (the SI and what laboratories write)."""
_SPAN = re.compile(r"(?:day|night|week|month|year|hour|minute)s?[ _.](?:in|on|at|of)[ _.]", re.IGNORECASE)
"""`days in clinic` are days: the clinic alone is not they."""
_SQUARED = re.compile(r"(?<![^\W_])[kcdmµu]?m[23²³](?![^\W_])")
"""Areas and volumes, whose power is no number of the name."""

_PER = re.compile(r"(.*[^\W\d_]{4,})[_ .]+per[_ .]+\d[\d.]*\s*[a-z]+\d?$", re.IGNORECASE)
_SCALES = frozenset("log ln lg log2 log10 log1p sqrt".split())
"""How values are written, which says little of what they are of."""
_SLIGHT = 0.4
"""What such a word, or a single letter, weighs beside another of the name."""


def _by_its_unit(parts: Sequence[str]) -> str:
    """Return the quantity that a letter and its unit stand for: the weight of `W_g`, the temperature of `T_C`; "" for others."""
    quantity = _LETTERS.get(parts[0], "") if len(parts) == 2 else ""
    return quantity if quantity and parts[1] in QUANTITIES[quantity].split() else ""


_LETTERS = {"w": "weight", "l": "length", "h": "height", "v": "volume", "t": "temperature"}


class Name:
    """A name to be found: its parts with their weights."""

    def __init__(
        self, name: str, weights: Counter[str], *, units: bool, cut: Callable[[str], list[str]] = name_parts
    ) -> None:
        self.text = name
        plain = re.sub(r"[(\[].*?[)\]]", " ", name)
        if units and (counted := _PER.match(plain)):
            plain = counted[1]  # `blackgrass_per_0.25m2` counts blackgrass
        bare = _SQUARED.sub(" ", plain) if units else plain  # `BMI kg/m2` is called BMI
        parts = cut(bare if re.search(r"[^\W\d]{2}", bare) else plain)
        if not any(len(part) > 1 for part in parts):
            parts = cut(name)  # `S (Cambs.)` is called Cambs, too
        kept = (
            [part for at, part in enumerate(parts) if part not in UNITS or (not at and is_lowest(parts))] or parts[:1]
            if units and not _SPAN.match(name)
            else parts
        )  # `Hg_ug_kg` is of mercury
        if kept and all(len(part) == 1 for part in kept) and all(len(part) == 1 for part in parts):
            kept = parts  # `C_N` is no N in °C
        if kept and units and (counted := _only_unit(parts, kept)):
            kept = [part for part in parts if part not in UNITS or part == counted]
        if units and (quantity := _by_its_unit(parts)):
            kept = [quantity]
        self.parts = [word for part in kept or parts for word in compound(part)]
        self.all = cut(name)
        self.whole = "".join(self.parts)
        scaled = _SCALES | {after for one, after in pairwise(self.parts) if one in _SCALES and after.isdigit()}
        self.weights = [
            1.0 / (1.0 + math.log(max(1, weights[part]))) * (_SLIGHT if len(part) == 1 or part in scaled else 1.0)
            for part in self.parts
        ]
        self.units = {part for part in parts if part in UNITS} if units else set[str]()
        self.terms = list(in_terms(tuple(self.parts)))
        self.term_weights = self._of_terms()
        self.time = timed(self.parts)
        whole = cut is name_parts and name_pieces(name) != self.all
        self.pieces = Name(name, weights, units=units, cut=name_pieces) if whole else None
        """The same cut at signs only: `FeNO` and `HbA1c` are one word to those who use them."""

    def _of_terms(self) -> list[float]:
        """Return the weight of each term: that of the rarest of its words."""
        weights: list[float] = []
        left = list(zip(self.parts, self.weights, strict=True))
        for term in self.terms:
            taken = [left.pop(0)]
            while "".join(part for part, _ in taken) != term:
                taken.append(left.pop(0))
            weights.append(max(weight for _, weight in taken))
        return weights

    def strength(self, window: Sequence[Token]) -> float:
        """Return how surely the words of a window name this, 0 to 1."""
        words = [token.text for token in window]
        rest = [word for word in words if not self.units.intersection(QUANTITIES.get(word, "").split())]
        if rest and len(rest) < len(words):  # `stated height` for `cm_said`
            return max(self.strength_of(words), self.strength_of(rest))
        return max(self.strength_of(words), self.pieces.strength_of(_together(window)) if self.pieces else 0.0)

    def strength_of(self, words: list[str]) -> float:
        """Return how surely these words name this, 0 to 1."""
        joined = "".join(words)
        if joined == self.whole or words == self.all or words == self.parts:
            return 1.0
        if len(words) == len(self.parts) > 1 and sorted(words) == sorted(self.parts):
            return 0.96
        if len(words) == len(self.parts) == 2 and words == [self.parts[0][0], self.parts[1]] and len(words[1]) > 3:
            return 0.97  # `E. coli`
        if len(words) == 2 and self.time and timed(words) == self.time:
            return 0.97
        if len(words) == 1 and len(self.whole) >= 3 and stem(joined) == stem(self.whole):
            return 0.97
        if len(words) == 1 and len(self.parts) > 1 and same_meaning(joined, self.whole):
            return 0.85  # `salt` for `NaCl_mM`, which is cut at its capitals
        near = len(words) == 1 or (len(words) == 2 and all(len(word) > 2 for word in words))  # not `naproxeno vs`
        if near and len(self.whole) >= 5 and joined.isalpha() and misspelt(joined, self.whole):
            return 0.85
        if len(words) > 1 and (short := self._initials(words)):
            return short
        terms = in_terms(tuple(words))
        told = terms != tuple(words) or self.terms != self.parts
        short = self._abbreviated(words)
        return max(
            _by_parts(words, self.parts, self.weights),
            _by_parts(terms, self.terms, self.term_weights) if told else 0.0,
            SHORT * _by_parts(short, self.parts, self.weights) if short else 0.0,
        )

    def _abbreviated(self, words: Sequence[str]) -> list[str]:
        """Return the words with two that a part abbreviates in its place: `totlngth`, `selfest` of self esteem; [] without."""
        for at in range(len(words) - 1):
            for part in self.parts:
                if len(part) >= 5 and part.isalpha() and _grown_together(part, words[at], words[at + 1]):
                    return [*words[:at], part, *words[at + 2 :]]
        return []

    def _initials(self, words: list[str]) -> float:
        content = [word for word in words if word not in EMPTY]  # `K above 5` is no KA
        if len(content) != len(words) or not self.parts or len(self.whole) < 2 or time_unit(words[0]):
            return 0.0
        if len(words) == len(self.whole) and all(w[0] == c for w, c in zip(words, self.whole, strict=True)):
            return INITIALS if self.whole.isalpha() else 0.0  # `5 blocks` are no plot 5b
        cut = len(self.whole) >= 4 and not self.whole.startswith(words[0]) and all(word.isalpha() for word in words)
        return INITIALS if cut and _abbreviates(words, self.whole) else 0.0


INITIALS = 0.85
"""How surely words name what has only their beginnings."""


def _only_unit(parts: Sequence[str], kept: Sequence[str]) -> str:
    """Return the unit that alone says what a name is of (`log10 CFU/cm2 3dpi`), "" where another word does."""
    said = [part for part in kept if part not in _SCALES and as_number(part) is None and part not in UNITS_OF_TIME]
    units = [part for part in parts if part in UNITS and part not in UNITS_OF_TIME]
    return units[0] if units and not said and any(part in _SCALES for part in kept) else ""


def _together(window: Sequence[Token]) -> list[str]:
    """Return the words of a window as they are written, `hba1c` in one."""
    words: list[str] = []
    for at, token in enumerate(window):
        if at and window[at - 1].end == token.start:
            words[-1] += token.text
        else:
            words.append(token.text)
    return words


def _by_parts(words: Sequence[str], parts: Sequence[str], weights: Sequence[float]) -> float:
    """Return how surely words name what has these parts, each with its weight."""
    total = sum(weights)
    found, used, hits = 0.0, set[int](), list[float]()
    for part, weight in zip(parts, weights, strict=True):
        best, at = max(((alike(word, part), at) for at, word in enumerate(words)), default=(0.0, 0))
        hits.append(best)
        if best:
            found += weight * best
            used.add(at)
    if len(parts) == 1 and len(words) == 1:
        return 0.97 * found / total if found / total > 0.99 else 0.93 * found / total
    told = [part for part, best in zip(parts, hits, strict=True) if best]
    if told and len(parts) > 1 and all(len(part) == 1 for part in told):
        # `how many` is not `plaque_n`, but potassium is `K_V0`.
        symbol = (
            len(words) == 1 and len(words[0]) > 5 and told == [parts[0]] and not parts[0].isdigit() and parts[0] != "n"
        )
        return SYMBOL if symbol and same_meaning(words[0], parts[0]) else 0.0
    numbered = any(part.isdigit() for part in told)  # the day of `28 day mortality` is that of `death28`
    unused = [word for at, word in enumerate(words) if at not in used and not (numbered and time_unit(word))]
    if 0 not in used or len(words) - 1 not in used or any(word not in STOP for word in unused):
        return 0.0
    share = found / total
    # One distinctive word of a longer name is a fair hint; one that many names share is not.
    return share * 0.95 if share > 0.75 else 0.8 * share**0.4 if share > 0.22 else 0.0


SYMBOL = 0.65
"""How sure a symbol at the beginning of a name is, where its word is said: elements."""
SHORT = 0.9
"""How sure a name made of the beginnings of two words is, next to one that is written out."""


@functools.lru_cache(maxsize=20_000)
def _grown_together(part: str, first: str, second: str) -> bool:
    """Say whether a part is made of short forms of two words, in order."""
    if part[0] != first[0] or first in STOP or second in STOP:
        return False
    return any(
        _stands_for(part[:at], first) and _stands_for(part[at:], second) and max(at, len(part) - at) >= 3
        for at in range(2, len(part))
    )


def _stands_for(short: str, word: str) -> bool:
    """Say whether letters are a word's beginning or its consonants."""
    return word.startswith(short) or (len(short) > 1 and skeleton(word, short))


def _abbreviates(words: Sequence[str], whole: str) -> bool:
    """Say whether a name is the beginnings of the words: horth of hormone therapy."""
    if not words:
        return whole == ""
    longest = min(len(words[0]), len(whole))
    return any(whole.startswith(words[0][:n]) and _abbreviates(words[1:], whole[n:]) for n in range(1, longest + 1))
