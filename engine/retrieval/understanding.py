"""The words of a question, looked up among those of the tools and methods."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.retrieval.indexes.index import ToolIndex
from engine.retrieval.question.vocabulary import read
from engine.retrieval.question.words import query_words

_PUNCTUATION = ".,;:!?()[]{}<>\"'`"
_LONG = 8
_SCENERY = 0.5
_EXTRA = 0.35
"""What a word counts that an abbreviation stands for."""


@dataclass(slots=True)
class Understood:
    """A question, its words looked up."""

    text: str
    """What is embedded: in English, typing errors corrected, with what its abbreviations stand for."""
    words: dict[str, float] = field(default_factory=dict)
    """Word that tools or methods have -> weight."""
    corrected: dict[str, str] = field(default_factory=dict)
    """Word as asked -> word it was taken for."""
    unknown: list[str] = field(default_factory=list)


def understand(index: ToolIndex, question: str) -> Understood:
    """Read a question and look its words up, correcting those that are nearly as descriptions write them."""
    reading = read(question, index.speller.known)
    found = Understood(text=reading.text, corrected=dict(reading.read_as))
    described, practised = index.texts.words, index.methods.words.words
    text: list[str] = []
    for token in reading.text.split():
        bare = token.strip(_PUNCTUATION)
        said = query_words(token)
        there = {word: weight for word, weight in said.items() if word in described or word in practised}
        if said and not there:
            meant = index.speller.correct(bare) or ""
            guessed = query_words(meant)
            if any(word in described or word in practised for word in guessed):
                found.corrected[bare] = token = meant
                # A guess counts less than a word that was really there.
                there = {word: 0.8 * weight for word, weight in guessed.items()}
            else:
                found.unknown.append(token)
        text.append(token)
        _add(found.words, there)
    found.text = " ".join([*text, *([f"({reading.extra})"] if reading.extra else [])])
    if len(found.words) > _LONG:
        # A long question tells a story; what no method of the field is called by is mostly its scenery.
        found.words = {word: weight * (1 if word in practised else _SCENERY) for word, weight in found.words.items()}
    for word, weight in query_words(reading.extra).items():
        found.words.setdefault(word, _EXTRA * weight)
    return found


def _add(wanted: dict[str, float], more: dict[str, float]) -> None:
    """Add words; one that comes again counts a little more, not twice."""
    for word, weight in more.items():
        wanted[word] = wanted[word] + 0.3 * weight if word in wanted else weight
