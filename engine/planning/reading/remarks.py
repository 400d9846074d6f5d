"""Rows that are named by what a remark says of them: `leave out the degraded library`, `forget the calves that died`.

A column of remarks is one of words that is mostly empty, or mostly says that all is well. Every word of the phrase that says something must
stand in one remark; what is denied in one must be denied in the other (`uninoculated`, `not inoculated`).
"""

# Most methods of pandas carry no types of what they return, which is all that these rules would find here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from engine.data.structure.scales import hint
from engine.domain.profile import ColumnProfile
from engine.planning.naming.lexicon import alike
from engine.planning.naming.mention import NO, SURE, SURE_NAME, YES, ColumnMention
from engine.planning.naming.phrases import (
    MEASUREMENTS,
    Phrase,
    SaidWord,
    names_rows,
    phrases,
    pieces,
    says_something,
    without_more,
    words_in,
)
from engine.planning.reading.reading import Restriction
from engine.planning.tables.sheets import Data, Sheet, is_id, is_number, numbers_things
from engine.text.names import name_parts
from engine.text.numbers import NUMBER_WORDS, as_number
from engine.text.prose import listed
from engine.text.times import time_unit
from engine.text.tokens import Token


class RowsNamed(NamedTuple):
    """Rows that a phrase names by remarks."""

    restriction: Restriction
    doubt: str
    """What is to be told apart first, "" where nothing is."""


def named_by_remarks(
    question: str, words: Sequence[Token], mentions: Sequence[ColumnMention], data: Data
) -> list[RowsNamed]:
    """Return the rows that phrases of leaving out or keeping name by what a remark says, phrase after phrase."""
    found: list[RowsNamed] = []
    for phrase in phrases(question):
        for sheet in data.sheets:
            columns = [column for column in sheet.columns if is_remarks(column, sheet.profile.rows or 0)]
            told = [_said(question, words, mentions, phrase, sheet, column) for column in columns]
            own = [item for item in told if item is not None]
            if own and (len(own) == 1 or not phrase.keeps):
                found += own
                break
    return found


def is_remarks(column: ColumnProfile, rows: int) -> bool:
    """Say whether a column holds remarks: words in few rows, or in most of them the same word that all is well."""
    if column.kind in ("integer", "number", "date") or column.scale in ("date", "ordered") or not rows:
        return False
    if {level.strip().lower() for level in column.levels} <= YES | NO and column.levels:
        return False
    leading, count = next(iter(column.levels.items()), ("", 0))
    well = count if leading.strip().lower() in _ALL_WELL else 0
    called = bool({*name_parts(column.name)} & _CALLED) and (column.missing > 0 or well > 0)
    return column.missing + well < rows and (2 * (column.missing + well) >= rows or called)


_ALL_WELL = frozenset("ok okay none - no normal fine good pass passed nil nothing keine in ordnung i.o. rien".split())
_CALLED = frozenset(
    "note notes remark remarks comment comments bemerkung bemerkungen kommentar kommentare anmerkung anmerkungen remarque remarques commentaire "
    "commentaires observaciones nota notas flag flags".split()
)
"""What columns of remarks are called."""
_ADVICE = re.compile(
    r"\b(?:exclude[d]?|drop(?!\s?-?out)|omit|discard|remove|ignore|leave out|(?:do not|don'?t|not)(?: be| to be)? (?:use|count|includ|evaluat|analy[sz])\w*|"
    r"nicht (?:aus)?(?:werten|verwenden|nehmen)|ausschlie(?:ß|ss)en|weglassen|exclure|exclu[es]?|ne pas utiliser|excluir|no usar)\b",
    re.IGNORECASE,
)
"""Remarks that say themselves that a row is to go."""
_JUDGED = frozenset(
    "bad poor failed faulty dubious doubtful suspicious problematic unusable unreliable flagged marked spoiled spoilt questionable excluded exclude "
    "dropped discarded removed".split()
)
_UNUSED = frozenset("evaluated used counted analysed analyzed included considered usable evaluable".split())
"""What is said of rows that are to go, without saying why; the second where it is denied."""
LONGEST = 1500
"""Remarks of more letters are too many to name one by one."""


def _said(
    question: str, words: Sequence[Token], mentions: Sequence[ColumnMention], phrase: Phrase, sheet: Sheet, column: ColumnProfile
) -> RowsNamed | None:  # fmt: skip
    """Return the rows that a phrase names by the remarks of a column, None where these do not say it."""
    frame = sheet.frame()
    if column.name not in frame:
        return None
    remarks = {str(value): int(n) for value, n in frame[column.name].dropna().value_counts().items()}
    values, end = _values_said(question, words, mentions, phrase, sheet, column, remarks)
    if not values or sum(map(len, values)) > LONGEST:
        return None
    close = end if question[end : phrase.last].strip() else phrase.end
    said, subject = question[phrase.start : close].strip(), _subject(sheet)
    rows, whole, doubt = sum(remarks[value] for value in values), "", ""
    if subject and _differs_within(sheet, column.name, values, subject):
        told = _whom(question, words, mentions, phrase, end, subject)
        many = int(frame.loc[frame[column.name].astype(str).isin(values), subject].nunique())
        if not told:
            doubt = f"{said!r} may mean the {_rows(rows)} in which {column.name!r} says so, or all rows of the {many} {subject!r} they belong to"
        if told == "subjects":
            whole, rows = subject, many
    shown = listed([repr(value) for value in values[:MOST]], last="or") + (" or more" if len(values) > MOST else "")
    count = _count_told(question[phrase.first : end])
    if count and count != rows:
        doubt = f"{said!r} names {count}, but {column.name!r} says {shown} in {_rows(rows)}"
    which = f"All rows of {rows} {whole!r}, in one of whose rows" if whole else f"Of {_rows(rows)}"
    why = f"{which} {column.name!r} says {shown}: {'only these are kept' if phrase.keeps else 'left out'}, as {said!r} says."
    at = [n for n, word in enumerate(words) if phrase.start <= word.start < close]
    op = "in" if phrase.keeps else "not in"
    return RowsNamed(Restriction(column.name, op, tuple(values), at[0], at[-1], True, whole=whole, why=why), doubt)


MOST = 4
"""So many remarks are quoted."""


def _values_said(
    question: str, words: Sequence[Token], mentions: Sequence[ColumnMention], phrase: Phrase, sheet: Sheet, column: ColumnProfile,
    remarks: Mapping[str, int],
) -> tuple[list[str], int]:  # fmt: skip
    """Return the remarks that a phrase names, thing after thing, and where the last that they explain ends."""
    values, end = list[str](), phrase.first
    for start, stop in pieces(question, phrase):
        inside = [m for m in mentions if start <= words[m.first].start < stop]
        if any(m.level and m.column != column.name for m in inside):
            break  # a group by its name goes before what a remark says
        whom = {words[m.first].start for m in inside if not m.level and _names_whom(sheet, m.column)}
        last = without_more(question, start, stop)
        wanted = [w for w in words_in(question[start:last], start) if says_something(w) and w.start not in whom]
        fitting = _fitting(wanted, remarks) if wanted else []
        if not fitting:
            break
        values += [value for value in fitting if value not in values]
        end = last
    return values, end


def _rows(number: int) -> str:
    return "1 row" if number == 1 else f"{number} rows"


def _fitting(wanted: Sequence[SaidWord], remarks: Mapping[str, int]) -> list[str]:
    """Return the remarks that say all of some words; of words that only judge, those that say themselves that a row is to go."""
    found = [value for value in remarks if all(any(_same(word, own) for own in words_in(value)) for word in wanted)]
    judged = all(word.text in _JUDGED or (word.denied and word.text in _UNUSED) for word in wanted)
    return found or ([value for value in remarks if _ADVICE.search(value)] if judged else [])


def _same(word: SaidWord, own: SaidWord) -> bool:
    """Say whether two words mean the same and are denied or not alike: `uninoculated` is `not inoculated`."""
    if word.sign and word.sign != own.sign:
        return False
    for one, other in ((word, own), (own, word)):
        bare = one.text.removeprefix("non").removeprefix("un")
        if bare != one.text and len(bare) > 3 and alike(bare, other.text) >= 1:
            return one.denied != other.denied
    least = 1 if _ADVICE.fullmatch(own.text) else SURE  # an outlier is not what a remark tells to exclude
    return word.denied == own.denied and alike(word.text, own.text) >= least


def _names_whom(sheet: Sheet, name: str) -> bool:
    """Say whether a column names rows or subjects: `library` of a column `lib` says nothing of which."""
    column = sheet.column(name)
    return column is not None and (is_id(column) or numbers_things(column) or hint(name, "id", "subject"))


def _subject(sheet: Sheet) -> str:
    """Return the column of the subjects that are followed over time in several rows each, or ""."""
    times = [*sheet.structure.times]
    found = [item.subject for item in sheet.structure.repeated if {*item.within} & {*times}]
    if found or not times:
        return found[0] if found else ""
    frame, rows = sheet.frame(), sheet.profile.rows or 0
    able = [c.name for c in sheet.columns if c.name in frame and not is_number(c) and 1 < c.distinct < rows / 1.5]
    able = [n for n in able if any(t in frame and frame.duplicated([n, t]).sum() <= rows / 50 for t in times)]
    return able[0] if len(able) == 1 else ""


def _differs_within(sheet: Sheet, column: str, values: Sequence[str], subject: str) -> bool:
    """Say whether some subjects have a remark in one of their rows and not in another."""
    frame = sheet.frame()
    says = frame[column].astype(str).isin(values)
    return bool(says.groupby(frame[subject]).nunique().gt(1).any())


_THAT = re.compile(r"\b(?:ones|one|those)\s+(?:who|that)\b", re.IGNORECASE)


def _whom(
    question: str, words: Sequence[Token], mentions: Sequence[ColumnMention], phrase: Phrase, end: int, subject: str
) -> str:
    """Return whether a phrase is of subjects or of single rows; "" where it does not say."""
    said = question[phrase.first : end].lower()
    own = [word for word in re.findall(r"[^\W\d_]+", said) if names_rows(word)]
    if any(word in MEASUREMENTS for word in own):
        return "rows"
    named = any(m.column == subject and phrase.first <= words[m.first].start < end for m in mentions)
    return "subjects" if named or _THAT.search(said) or any(word not in _ANY for word in own) else ""


_ANY = frozenset("one ones those who case cases point points run runs library libraries unit units item items".split())


def _count_told(text: str) -> int:
    """Return how many a phrase says there are: `those two that ...`; 0 where it does not."""
    told = re.match(r"\s*(?:the|those|these|both)?\s*(?P<n>[^\W_]+)\b", text, re.IGNORECASE)
    word = told["n"].lower() if told else ""
    if re.search(r"\bone\s*$|^\s*(?:the|that) one (?:that|who|which|with)\b", text) and not re.search(
        r"\bones\b|\b(?:each|every|any)\b", text
    ):
        return 1
    number = as_number(NUMBER_WORDS.get(word, word)) if word not in ("one", "no") else None
    return int(number) if number is not None and number == int(number) and 1 < number < 100 else 0


def beside_remarks(
    found: Sequence[RowsNamed], question: str, words: Sequence[Token], mentions: Sequence[ColumnMention], data: Data
) -> list[ColumnMention]:
    """Return the mentions that are none of the words by which remarks name rows, nor take a word of leaving out for a remark.

    What a remark says in a phrase of leaving out is decided by all of its words: `remove outliers` is no `label lost - exclude`.
    """
    spans = [(item.restriction.first, item.restriction.last) for item in found]
    said = [(p.start, next(pieces(question, p), (p.first, p.last))[1]) for p in phrases(question) if not p.keeps]
    notes = {c.name for sheet in data.sheets for c in sheet.columns if is_remarks(c, sheet.profile.rows or 0)}
    made = {column.column for sheet in data.sheets for column in sheet.made}

    def names_rows_only(m: ColumnMention) -> bool:
        if any(first <= m.first and m.last <= last for first, last in spans):
            return m.column not in made
        weak = m.column in notes and m.level and m.strength < SURE_NAME
        own = words[m.first : m.last + 1]
        if weak and all(word.number is not None or time_unit(word.text) for word in own):
            return True  # `at 3 months` is no `moved away after 3m`
        return bool(weak) and any(a <= words[m.first].start < b for a, b in said)

    return [m for m in mentions if not names_rows_only(m)]
