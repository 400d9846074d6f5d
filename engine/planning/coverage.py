"""What of a question the plan does not answer to: nothing may be passed over in silence.

Every content word is used by the plan, or is a word people ask questions with (learned from the example questions), or stays
unused. Unused words are shown; where a slot was filled without a word naming it while words of the request stayed unused, the plan
asks whether that was meant.
"""

from __future__ import annotations

import functools
import re

from engine.domain.plan import OpenQuestion
from engine.planning.bind import Bound
from engine.planning.names import synonyms
from engine.planning.reading import Reading
from engine.planning.text import name_parts, stem, tokens
from engine.toolbox.analyses import MARK, all_examples

_ASKING = 3
"""So many analyses use a word before it counts as a word of questions in general."""
_SMALL = frozenset(
    [
        "a",
        "an",
        "the",
        "of",
        "in",
        "on",
        "at",
        "to",
        "is",
        "it",
        "as",
        "by",
        "or",
        "and",
        "be",
        "do",
        "if",
        "so",
        "we",
        "i",
        "me",
        "my",
        "no",
        "not",
        "up",
        "for",
    ]
)


@functools.cache
def asking_words() -> tuple[frozenset[str], dict[str, frozenset[str]]]:
    """Return the stems that questions in general are made of, and for each analysis the stems that its own are."""
    used: dict[str, set[str]] = {}
    own: dict[str, set[str]] = {}
    for example in all_examples():
        for token in tokens(MARK.sub(" ", example.text)):
            used.setdefault(token.stem, set()).add(example.analysis)
            own.setdefault(example.analysis, set()).add(token.stem)
    general = frozenset(word for word, where in used.items() if len(where) >= _ASKING)
    return general, {key: frozenset(words) for key, words in own.items()}


def unexplained(reading: Reading, analyses: list[str], bounds: list[Bound], files: list[str]) -> list[int]:
    """Return the tokens of the question that nothing explains.

    Args:
        reading: the question; what was used is marked in it.
        analyses: the analyses that the plan answers.
        bounds: its answering steps.
        files: names of the data files, whose words are of the data.
    """
    general, own = asking_words()
    asked = frozenset().union(*(own.get(key, frozenset()) for key in analyses))
    known = {stem(part) for name in files for part in name_parts(name)}
    for bound in bounds:
        spec = bound.spec
        known |= {token.stem for text in (spec.title, spec.description, *spec.keywords) for token in tokens(text)}
    left = []
    for at, token in enumerate(reading.words):
        if at in reading.used or (token.number is not None and not _loose(reading, at)):
            continue
        if (
            token.text in _SMALL
            or len(token.text) < 3
            or token.stem in general
            or token.stem in asked
            or token.stem in known
        ):
            if token.stem in asked and token.stem not in _SMALL:
                reading.mark(at, at, "asked")
            continue
        left.append(at)
    return left


def _loose(reading: Reading, at: int) -> bool:
    """Say whether a number stands beside nothing that explains it."""
    near = [n for n in (at - 1, at + 1, at - 2) if 0 <= n < len(reading.words)]
    return not any(n in reading.used for n in near)


def doubts(reading: Reading, bound: Bound, left: list[int]) -> list[OpenQuestion]:
    """Return the question whether a column was meant that data chose while words of the request stayed unexplained."""
    asked = {at for request in reading.requests for at in range(request.first, request.last + 1)}
    words = [reading.words[at] for at in left if at in asked]
    nouns = [token.text for token in words if not re.search(r"(?:ly|ing|ed)$", token.text) and len(token.text) > 3]
    if not nouns or not bound.guessed:
        return []
    found = []
    for name in bound.guessed:
        value = bound.params.get(name)
        if not isinstance(value, str) or _related(nouns, value):
            continue
        param = bound.spec.param(name)
        if param is None or param.role not in ("measure", "outcome", "count", "response", "group", "condition"):
            continue
        text = f"Is {value!r} meant by {', '.join(repr(n) for n in nouns[:3])}?"
        why = "No column is called so; this is the only one that fits."
        found.append(OpenQuestion(id=name, text=text, why=why, param=name, proposed=value, choices=[value]))
    return found[:1]


def _related(nouns: list[str], column: str) -> bool:
    parts = {stem(part) for part in name_parts(column)}
    words = set(name_parts(column))
    return any(stem(noun) in parts or words & synonyms().get(noun, frozenset()) for noun in nouns)
