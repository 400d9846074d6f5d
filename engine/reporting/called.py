"""Columns told as people call them: `head length (HL_mm)`, `the change in KCCQ from 0 to 12wk`.

A sentence of a step names columns as the file does. The name always stays beside the words, so that what a word was
taken for is seen, but for occasions of one measurement, which say themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, takewhile

from engine.domain.plan import Span, texts_of
from engine.domain.profile import ColumnProfile, Profile, WideMeasure
from engine.planning.naming.hints import COUNT, ROWS, SAID_UNITS
from engine.planning.naming.lexicon import UNITS
from engine.text.codes import Meanings
from engine.text.names import name_parts
from engine.text.stopwords import technicality
from engine.text.times import time_unit

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
            called = _measure(measure, understood, question)
            labels = [_occasion(label, question) for label in measure.labels]
            text = _at_occasions(text, measure.model_copy(update={"name": called, "labels": labels}))
            for name, label in zip(measure.columns, labels, strict=True):
                cut = any(one.startswith((f"{name} cut at ", f"{name}: ")) for one in given)
                text = _beside(text, name, f"{called} at {label}") if cut or name in given else text
        text = _of_what(text, profile, understood)
        told = given - {name for measure in occasions for name in measure.columns}
        for column in profile.column_profiles:
            words = _called(column, understood, question) if column.name in told else ""
            text = _beside(text, column.name, words) if words else text
    return text


def as_spelt(text: str, understood: Iterable[Span]) -> str:
    """Return a sentence with levels of few letters told once as the question spells them out: `in blue (B)`."""
    for span in understood:
        level = span.value.rpartition(" = ")[2] if span.taken_as == "level" else ""
        short = 0 < len(level) <= MOST_LETTERS and level.isalpha() and len(span.text) > len(level) + 1
        if short and span.text[0].lower() == level[0].lower() and span.text.replace("-", "").isalpha():
            own = rf"\b(in|with|between|and|from|to|than|against) {re.escape(level)}(?![\w]| ?\(|-\w)"
            text = re.sub(own, rf"\1 {span.text.lower()} ({level})", text, count=1)
    return text


MOST_LETTERS = 3
"""A level of more letters is told as it is."""


def _of_what(text: str, profile: Profile, understood: Iterable[Span]) -> str:
    """Return a sentence with a column that is called `count` told with what the question counts: `count of insects`."""
    for span in understood:
        column = profile.column(span.value) if span.taken_as == "column" else None
        if column is None or "".join(name_parts(column.name)) not in COUNT or span.text.lower() in ROWS:
            continue
        if span.text.isalpha() and span.text != column.name:
            own = rf"(?<![\w`])(?:number of )?{re.escape(column.name)}(?= (?:is|differs|changes|rises|falls)\b)"
            text = _opened(re.sub(own, f"{column.name} of {span.text.lower()}", text, count=1))
    return text


def _measure(measure: WideMeasure, understood: Iterable[Span], question: str) -> str:
    """Return what several columns of one measurement are called by the question, else as the file writes it."""
    alike = takewhile(lambda letters: len({*letters}) == 1, zip(*measure.columns, strict=False))
    own = "".join(letters[0] for letters in alike)
    if own[-1:].isalpha() and all(name[len(own) :][:1].isalpha() for name in measure.columns):
        own = re.sub(r"[^ _.-]*$", "", own)  # `FEV1_p` of FEV1_pre and FEV1_post
    own = own.strip(" _.-") or measure.name
    said = [span.text for span in understood if span.taken_as == "column" and span.value in measure.columns]
    spelt = re.search(rf"(?<!\w){re.escape(own)}(?!\w)", question, re.IGNORECASE)
    if spelt:
        return spelt[0]
    said = [before for words in said if (before := _BEFORE_JOINING.sub("", words)) and before.lower() not in _MOMENTS]
    more = (words for words in said if _says_more(words, own) and not re.search(r"\d|(?:er|est)\b", words))
    return next((words.lower() for words in more), own)


_BASELINE = frozenset("bl base baseline".split())
_SPAN = {"d": "days", "w": "weeks", "m": "months", "y": "years", "h": "hours"}
"""Units that a single letter stands for where the question says the word: `6m` is `6 months` beside `at 6 months`."""


def _occasion(label: str, question: str) -> str:
    """Return an occasion as people say it: `6 months` for `6m` where the question does, `baseline` for `bl`."""
    if label.lower() in _BASELINE:
        return "baseline"
    number = re.fullmatch(r"(?:([a-z])\w*?[ _.-]?)?(\d+)[ _.-]?([a-z])?[a-z]*", label, re.IGNORECASE)
    unit = _SPAN.get((number[1] or number[3] or "").lower()) if number else None
    if not (number and unit):
        return label
    word = rf"{unit[0]}(?:{unit[1:-1]}s?)?\b"  # said of this number: 2 m of water are no 2 months
    others = r"(?:\s*(?:,|and|or|to|&|/)\s*\d+)*"
    of_it = rf"\b0*{number[2]}{others}[ -]*{word}|\b{word}s?\s*(?:\d+\s*(?:,|and|or|to|&)\s*)*0*{number[2]}\b"
    said = re.search(of_it, question, re.IGNORECASE)
    if said is None or said[0].lower().endswith(f"{number[2]}{unit[0]}"):
        return label
    return f"{number[2]} {unit}" if number[3] else f"{unit[:-1]} {number[2]}"


def _at_occasions(text: str, measure: WideMeasure) -> str:
    """Return a sentence with the columns of one measurement told by their occasions: `higher at 12wk than at 0`."""
    name = measure.name
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


_SAYS_NOTHING = frozenset(
    "arm group grp gruppe treatment treat trt tx rx drug condition cond genotype geno line strain sex gender "
    "diet".split()
)
"""Names of columns whose levels say as much without them."""


def alone(text: str, known: Meanings) -> str:
    """Return a sentence with groups whose codes are put in words told without a column that says nothing of them.

    `in arm study drug (1) than in arm usual care (2)` is `in study drug (1) than in usual care (2)`.
    """
    for name, told in known.items():
        text = _by_letters(text, name, told) if name.isupper() and name.isalpha() else text
        if not {*name_parts(name)} <= _SAYS_NOTHING:
            continue
        for level, words in told.items():
            if words.lower() not in _BARE:
                own = rf"{re.escape(name)} (?={re.escape(words)} \({re.escape(level)}[);])"
                text = re.sub(rf"\b(in|with|between|and|against) {own}", r"\1 ", text)
    return text


_BARE = frozenset("yes no".split())


def _by_letters(text: str, name: str, told: Mapping[str, str]) -> str:
    """Return a sentence with an illness that is called by its letters as one has it: `with CKD`, `without CKD`."""
    for level, words in told.items():
        way = {"yes": "with", "no": "without"}.get(words)
        own = rf"\b(?:in|with) {re.escape(name)} {words} \({re.escape(level)}(?:; ([^()]*))?\)"
        if way:
            text = re.sub(own, lambda m, way=way: f"{way} {name}" + (f" ({m[1]})" if m[1] else ""), text)
    return text


def _called(column: ColumnProfile, understood: Iterable[Span], question: str) -> str:
    """Return what a column is called in words that its own name does not say, "" for nothing."""
    label = column.label
    if label and len(label.split()) <= MOST_WORDS and _says_more(label, column.name) and not _UNIT.fullmatch(label):
        return label
    if column.scale not in _NUMBERS or any(map(_is_word, name_parts(column.name))):
        return ""
    for span in understood:
        before = question[: span.start].rstrip()
        if span.taken_as != "column" or span.value != column.name or span.strength < _SURE or _COMPARES.search(before):
            continue
        if time_unit(span.text.lower()) or span.text.lower() in _UNITS_SAID:
            continue  # `how many milliseconds` calls nothing
        if _says_more(span.text, column.name) and not re.search(r"\d|(?:er|est)\b", span.text):
            return span.text if re.search(r"[A-Z]", span.text[1:]) else span.text.lower()
    return ""


_UNITS_SAID = UNITS | {*SAID_UNITS} | frozenset("milliseconds points degrees metres meters".split())
_UNIT = re.compile(
    r"[^\W\d_]{1,5}\d?(?: ?/ ?(?:\d+ ?)?[^\W\d_]{1,5}[\d²³]?)+|%|[µμm]?[glLM]|mm ?Hg|[munp]mol|kcal|k[gm]|[cm]m"
)
"""A legend that gives a column's unit calls it nothing."""


def _is_word(part: str) -> bool:
    return len(part) > 3 and technicality(part) < 1


def _says_more(words: str, name: str) -> bool:
    """Say whether words call something and hold none of a column's name, which says as much without them."""
    if {*words.lower().split()} & _JOINING:
        return False  # `weight between the start` is cut out of a sentence
    folded = "".join(name_parts(name))
    return not any(word in folded or folded in word for word in name_parts(words) if len(word) > 1)


_JOINING = frozenset("between than with without after before while when if and or versus vs the".split())
_BEFORE_JOINING = re.compile(rf"(?:^|\s+)(?:{'|'.join(sorted(_JOINING))})\b.*$", re.IGNORECASE)
_MOMENTS = frozenset("start end beginning finish baseline final first last admission discharge".split())


def _beside(text: str, name: str, words: str) -> str:
    """Return a sentence with words before the first place where it names a column as such."""
    own = re.compile(rf"(?<![\w`.=-])(?<!- ){re.escape(name)}(?![\w`]|\s*=|[.(-]\w| -)")
    return _opened(own.sub(lambda found: f"{words} ({found[0]})", text, count=1))


def _opened(text: str) -> str:
    """Return a sentence with a capital first letter where words now open it."""
    return text[:1].upper() + text[1:] if re.match(r"[a-z]+ ", text) else text
