"""Columns told as people call them: `head length (HL_mm)`, `the change in KCCQ from 0 to 12wk`.

A sentence of a step names columns as the file does. The name always stays beside the words, so that what a word was
taken for is seen, but for occasions of one measurement, which say themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from engine.domain.plan import Span, texts_of
from engine.domain.profile import ColumnProfile, Profile, WideMeasure
from engine.text.names import name_parts
from engine.text.stopwords import technicality

MOST_WORDS = 5
"""A legend's name of a column that is longer than this is an explanation."""
_SURE = 0.6
"""How sure words of a question must be of their column to be told beside it."""
_NUMBERS = ("number", "count", "share")
_COMPARES = re.compile(r"\b(?:more|most|less|least|so|as|too|how|is|are|was|were)$", re.IGNORECASE)
"""What stands before words that say how something is, and not what it is called: `most heavy`."""


def as_called(
    text: str, profiles: Sequence[Profile], understood: Sequence[Span], question: str, params: Mapping[str, object]
) -> str:
    """Return the sentence of a step with its columns as a legend or the question calls them.

    Args:
        text: the sentence.
        profiles: of the files.
        understood: what words of the question were taken for.
        question: the words themselves.
        params: of the step that wrote the sentence; only columns that it was given are told.
    """
    given = {name for value in params.values() for name in texts_of(value)}
    for profile in profiles:
        occasions = [measure for measure in profile.structure.wide if measure.ordered]
        for measure in occasions:
            text = _at_occasions(text, measure)
        told = given - {name for measure in occasions for name in measure.columns}
        for column in profile.column_profiles:
            words = _called(column, understood, question) if column.name in told else ""
            text = _beside(text, column.name, words) if words else text
    return text


def _at_occasions(text: str, measure: WideMeasure) -> str:
    """Return a sentence with the columns of one measurement told by their occasions: `higher at 12wk than at 0`."""
    own = re.match(re.escape(measure.name), measure.columns[0], re.IGNORECASE)
    name = own[0] if own else measure.name  # as the file writes it
    labels = dict(zip(measure.columns, measure.labels, strict=True))
    for first, last in combinations(measure.columns, 2):
        change = f"the change in {name} from {labels[first]} to {labels[last]}"
        text = _opened(re.sub(rf"(?<!\w){re.escape(last)} - {re.escape(first)}(?!\w)", lambda _, c=change: c, text))
        for one, other in ((first, last), (last, first)):
            text = text.replace(f"in {one} than in {other}", f"at {labels[one]} than at {labels[other]}")
            for way in ("higher", "lower"):
                said = f"{name} is {way} at {labels[one]} than at {labels[other]}"
                text = text.replace(f"{one} is {way} than {other} ", f"{said} ")
    return text


def _called(column: ColumnProfile, understood: Iterable[Span], question: str) -> str:
    """Return what a column is called in words that its own name does not say, "" for nothing."""
    if column.label and len(column.label.split()) <= MOST_WORDS and _says_more(column.label, column.name):
        return column.label
    if column.scale not in _NUMBERS or any(map(_is_word, name_parts(column.name))):
        return ""
    for span in understood:
        before = question[: span.start].rstrip()
        if span.taken_as != "column" or span.value != column.name or span.strength < _SURE or _COMPARES.search(before):
            continue
        if _says_more(span.text, column.name) and not re.search(r"\d|(?:er|est)\b", span.text):
            return span.text.lower()
    return ""


def _is_word(part: str) -> bool:
    return len(part) > 3 and technicality(part) < 1


def _says_more(words: str, name: str) -> bool:
    """Say whether words hold none of a column's name, which says as much without them."""
    folded = "".join(name_parts(name))
    return not any(word in folded or folded in word for word in name_parts(words) if len(word) > 1)


def _beside(text: str, name: str, words: str) -> str:
    """Return a sentence with words before the first place where it names a column as such."""
    own = re.compile(rf"(?<![\w`.=-])(?<!- ){re.escape(name)}(?![\w`]|\s*=|[.(-]\w| -)")
    return _opened(own.sub(lambda found: f"{words} ({found[0]})", text, count=1))


def _opened(text: str) -> str:
    """Return a sentence with a capital first letter where words now open it."""
    return text[:1].upper() + text[1:] if re.match(r"[a-z]+ ", text) else text
