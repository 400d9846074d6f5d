"""Reading a question as a person would: abbreviations of the field, other languages, names of files, polite words.

The table is written for this project (`data/vocabulary.tsv`): language (`short` for abbreviations, `instead` for those
that are another word to a search, `de`, `fr`, `es`), what is said (forms separated by `|`, without accents), what is
meant (nothing for a word to leave out). An abbreviation in small letters is read however it is written; one with
capitals only as it stands there, for `STR` is not `str`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.resources import files

from engine.retrieval.question.words import STOP, stem
from engine.text.letters import without_accents

_COLUMNS = "language\tsaid\tmeant"
_EDGES = ".,;:!?()[]{}<>\"'`"
_FILE = re.compile(
    r"^\S*[\w/~*-]\.(fastq|fq|bam|sam|cram|vcf|bcf|bed|gff3?|gtf|fasta|fa|csv|tsv|txt|xlsx?|h5ad|h5|loom|mtx|rds|mzml|mgf|"
    r"pdb|cif|sdf|mol2|nwk|tree|tiff?|png|biom|sra|bw|bigwig)(\.gz|\.bz2|\.zip)?$",
    re.IGNORECASE,
)
"""A name of a file: what it is called says nothing, its kind may."""
_FILLER = frozenset(
    {
        "boss", "colleague", "dear", "hello", "hey", "hi", "home", "know", "lab", "professor", "question", "say",
        "supervisor", "thank", "thanks", "told", "understand", "think", "try", "wich",
    }
)  # fmt: skip
_LONG = 8
"""Words from which on a question is a letter, whose polite words are left out."""
_FOREIGN_SHARE = 2
_JOINTS = ("", "s", "n", "en")
_SHORTEST_PIECE = 3


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The table: abbreviations and each language, what is said -> what is meant."""

    short: dict[str, str]
    instead: dict[str, str]
    languages: dict[str, dict[str, str]]


@dataclass(slots=True)
class SearchedQuestion:
    """A question as it is searched for."""

    text: str
    """The question in words that descriptions use."""
    extra: str = ""
    """What its abbreviations stand for, where the abbreviation itself is kept: searched for at a lower weight."""
    read_as: dict[str, str] = field(default_factory=dict)
    """Word as asked -> what it was read as."""


@cache
def load_vocabulary() -> Vocabulary:
    """Return the table; one shared object, not to be written to."""
    return vocabulary_of(files("engine.retrieval").joinpath("data", "vocabulary.tsv").read_text(encoding="utf-8"))


def vocabulary_of(table: str) -> Vocabulary:
    """Return a table as it is written.

    Raises:
        ValueError: when it has other columns, or a line other fields.
    """
    header, *lines = table.splitlines()
    if header != _COLUMNS:
        message = f"vocabulary.tsv has the columns {header!r}; expected language, said, meant"
        raise ValueError(message)
    tables: dict[str, dict[str, str]] = {"short": {}, "instead": {}}
    for number, line in enumerate(lines, start=2):
        parts = line.split("\t")
        if len(parts) != 3:
            message = f"vocabulary.tsv line {number} has {len(parts)} fields; expected 3"
            raise ValueError(message)
        language, said, meant = parts
        tables.setdefault(language, {}).update(dict.fromkeys(said.split("|"), meant))
    return Vocabulary(tables.pop("short"), tables.pop("instead"), tables)


def read(question: str, known: Callable[[str], bool]) -> SearchedQuestion:
    """Read a question.

    Args:
        question: as asked.
        known: says whether tool descriptions have a word as it is written.
    """
    tokens = question.split()
    reading = SearchedQuestion(question)
    said: list[str] = []
    language = _language(tokens, known)
    long = len(tokens) > _LONG
    for token in tokens:
        bare = token.strip(_EDGES)
        kind = _FILE.match(bare)
        if kind is not None:
            # In a short question the kind is what is asked about, in a letter it only says what is there.
            said += [] if long else [kind.group(1)]
        elif long and bare.lower() in _FILLER:
            continue
        elif language and (meant := _translated(bare, language)) is not None:
            if meant and stem(meant) != stem(without_accents(bare).lower()):
                reading.read_as[bare] = meant
            said.append(meant)
        else:
            said.append(_spelt_out(token, bare, reading))
    reading.text = " ".join(word for word in said if word) or question
    return reading


def _spelt_out(token: str, bare: str, reading: SearchedQuestion) -> str:
    """Return a word of the question, or what it stands for when it would be taken for another one."""
    vocabulary = load_vocabulary()
    if bare in vocabulary.instead:
        reading.read_as[bare] = vocabulary.instead[bare]
        return vocabulary.instead[bare]
    meant = vocabulary.short.get(bare) or vocabulary.short.get(bare.lower())
    if meant is None:
        return token
    reading.read_as[bare] = meant
    reading.extra = f"{reading.extra} {meant}".strip()
    return token


def _language(tokens: list[str], known: Callable[[str], bool]) -> str:
    """Return the language the question is in, or "" for English.

    It is another one when at least two words are of it, one of which English descriptions do not have as written.
    """
    best, most = "", 0
    for language, table in load_vocabulary().languages.items():
        count, foreign = 0, False
        for token in tokens:
            bare = token.strip(_EDGES)
            meant = _translated(bare, language)
            if meant is None or (not meant and bare.lower() not in table):
                continue
            count += 1
            # A word with an accent, or that no description has, cannot be English; `de` and `gene` can.
            foreign = foreign or (bool(meant) and (not bare.isascii() or not known(bare)))
        english = sum(token.lower().strip(_EDGES) in STOP and token.lower() not in table for token in tokens)
        if foreign and count > most and (count >= _FOREIGN_SHARE or len(tokens) == 1) and count > english:
            best, most = language, count
    return best


@lru_cache(maxsize=20_000)
def _translated(word: str, language: str) -> str | None:
    """Return a word in English, "" for one to leave out, or None for one the table does not have."""
    table = load_vocabulary().languages[language]
    low = without_accents(word.replace("ß", "ss")).lower()
    if low in table:
        return table[low]
    return _compound(low, table) if language == "de" else None


def _compound(word: str, table: dict[str, str]) -> str | None:
    """Translate a German compound of two words of the table: `genexpression`, `sequenzausrichtung`."""
    for cut in range(len(word) - _SHORTEST_PIECE, _SHORTEST_PIECE - 1, -1):
        last = table.get(word[cut:])
        if not last:
            continue
        for joint in _JOINTS:
            first = table.get(word[:cut].removesuffix(joint)) if word[:cut].endswith(joint) else None
            if first:
                return f"{first} {last}"
    return None
