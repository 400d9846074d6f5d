"""Terms and phrases in whose words no column is meant: `relative risk`, `as well`."""

from __future__ import annotations

from engine.planning.naming.lexicon import is_term
from engine.planning.naming.mention import SURE_NAME, ColumnMention
from engine.planning.naming.overlaps import POLAR
from engine.text.names import name_parts
from engine.text.stopwords import STOP
from engine.text.tokens import Token

PHRASE = 3
"""So many words before a name in brackets may say the same."""


def only_sounds(m: ColumnMention, term: list[Token], first: int) -> bool:
    """Say whether a level is found in the name of a method by another word for it: no `male` in `Mann-Whitney`."""
    within = first <= m.first and m.last < first + len(term) and m.width < len(term)
    return bool(m.level) and within and m.strength < SURE_NAME and not any(word.text in STOP for word in term)


def part_of_term(m: ColumnMention, words: list[Token], first: int, last: int) -> bool:
    """Say whether a mention is only a part of a term, or one that is not quite it: `BMI` is `BMI_book` all the same."""
    if m.level:  # `PPV` is no level `positive`
        return first == last == m.first == m.last and m.strength < SURE_NAME
    if first == last == m.first and name_parts(m.column)[:1] == [words[first].text]:
        return False
    return first <= m.first and m.last <= last and (m.width < last - first + 1 or m.strength < TERM)


TERM = 0.75
"""From this strength on several words name a column as the term that they are together."""
_STATISTICS = frozenset(
    "sensitivity specificity accuracy precision prevalence significance significant power effect interaction correlation variance "
    "deviation median mean average range percentile quartile interval confidence residual heterogeneity".split()
)


def is_statistic(m: ColumnMention, words: list[Token]) -> bool:
    """Say whether one word for a statistic only sounds like a part of a name: of `specificity` no `Sp. gravity` is meant."""
    return m.width == 1 and m.strength < TERM and words[m.first].text in _STATISTICS


_PHRASES = frozenset({("as", "well"), ("how", "well"), ("as", "far"), ("so", "far"), ("as", "long")})
"""Words that name nothing after these: `use it as well` is of no plate's wells."""


def is_phrase(m: ColumnMention, words: list[Token]) -> bool:
    """Say whether a word is the end of a phrase that names nothing: `as well`."""
    return m.width == 1 and m.first > 0 and (words[m.first - 1].text, words[m.first].text) in _PHRASES


def whole_terms(mentions: list[ColumnMention], words: list[Token]) -> list[tuple[int, int]]:
    """Return the spans of mentions that are one term: `birth weight` is no weight of a birth."""
    return [
        (m.first, m.last)
        for m in mentions
        if m.width > 1
        and m.strength >= TERM
        and is_term("".join(w.text for w in words[m.first : m.last + 1]))
        and not (m.level and words[m.first].text in POLAR)  # a `positive blood culture` is of the cultures
    ]


def terms_in(words: list[Token], terms: frozenset[tuple[str, ...]]) -> list[tuple[int, int]]:
    """Return the spans of tokens that are the name of a method."""
    stems = [word.stem for word in words]
    sizes = {len(term) for term in terms}
    return [
        (at, at + size - 1)
        for size in sizes
        for at in range(len(stems) - size + 1)
        if (*stems[at : at + size],) in terms
    ]
