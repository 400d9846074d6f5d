"""A German question put word by word into the English that questions are made of, so that one grammar serves both.

Only words that questions are made of are put (`data/german.tsv`); what columns and levels are called stays as it stands, and the
order of the sentence too. Every place keeps where it came from, so that what was understood is shown in the words as typed.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection
from importlib import resources

from engine.planning.naming.rewording import Reworded, put_in
from engine.planning.tables.sheets import Data
from engine.text.letters import plain
from engine.text.names import name_parts

_WORD = re.compile(r"[^\W\d_]+")
_SURE = frozenset(
    "der das dem ein eine einen einem einer und ist sind wie welche welcher welches wieviel wieviele zwischen bei mit von vor nach fur oder "
    "nicht durch wir uns haben gibt unterscheidet unterscheiden sich als hoher mehr weniger wurden wird werden sie ob vergleiche bitte zeige zeig warum wieso auf leute kein keine".split()
)
"""Words that German questions have and English ones have not."""
_ENGLISH = frozenset("the of is are do does did and with what which how many much there between than for to".split())
_BOTH = frozenset("in an am was war die man also so sie um des im wo mal mittel".split())
"""Words of the table that other languages have as well."""
LEAST = 2
"""So many words must be surely German, and more than are surely English; in a few words one, where half of them are of the table."""
_LONGEST = 4
"""The longest phrase of the table, in words."""


@functools.cache
def _table() -> dict[str, str]:
    text = resources.files("engine.planning").joinpath("data/german.tsv").read_text("utf-8")
    found: dict[str, str] = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            spellings, _, english = line.partition("\t")
            found |= {plain(spelling): english for spelling in spellings.split("|")}
    return found


def is_german(question: str) -> bool:
    """Say whether a question is put in German: by its small words, of which names of data have none."""
    words = [plain(word) for word in _WORD.findall(question)]
    own, english = (sum(word in known for word in words) for known in (_SURE, _ENGLISH))
    every = sum(word in _table() and word not in _BOTH for word in words)
    return own > english and (own >= LEAST or 2 * every >= max(len(words), 2 * LEAST))


def in_english(question: str, data: Data) -> Reworded | None:
    """Return a German question with English in place of the words that questions are made of; None for any other."""
    if not is_german(question):
        return None
    return put(question, names_in(data))


def names_in(data: Data) -> frozenset[str]:
    """Return the words that columns and levels are called by."""
    columns = data.columns()
    names = [name for column in columns for name in (column.name, *column.levels)]
    return frozenset(part for name in names for part in (plain(name), *name_parts(name)) if len(part) > 1)


def put(question: str, names: Collection[str]) -> Reworded:
    """Return a question with English for each phrase of the table none of whose words is a name."""
    table, words, named = _table(), list(_WORD.finditer(question)), {*names}
    stretches, at = list[tuple[int, int, str]](), 0
    while at < len(words):
        begins = not re.search(r"[\w,]\s*$", question[: words[at].start()])
        many, english = 0, ""
        for many in range(min(_LONGEST, len(words) - at), 0, -1):
            said = plain(question[words[at].start() : words[at + many - 1].end()])
            english = (table.get("^" + said) if begins else None) or table.get(said, "")
            if said == "nach" and at + 1 < len(words) and plain(words[at + 1][0]) in named:
                english = "by"  # `nach Rasse` sorts by what is named
            elif english and {plain(word[0]) for word in words[at : at + many]} & named:
                english = ""  # `vor und nach` of columns that are called so
            if english:
                break
        if english:
            stretches.append((words[at].start(), words[at + many - 1].end(), english))
        at += many if english else 1
    return put_in(question, stretches)
