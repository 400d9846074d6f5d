"""Which rows a sentence leaves out, told before their name (`without Graz`) or after it (`Graz excluded`, `the unknown ones go out`).

What only sounds so leaves out nothing: `not excluded`, `should Graz be excluded?`, `it works in women but not in men`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from engine.domain.profile import ColumnProfile
from engine.planning.naming.mention import ColumnMention
from engine.planning.naming.phrases import NO_ROWS, Phrase, names_rows, phrases, pieces, says_something, words_in
from engine.planning.reading.coded import Coded
from engine.planning.reading.cuts import in_brackets
from engine.planning.reading.reading import TURNED, Reading, Restriction
from engine.text.tokens import Token

LEVELS = r"<l\d+>(?:\s*(?:,\s*and|,|and|or|&|to)\s*(?:(?:the|<c\d+>)\s+)?<l\d+>)*"
SHORT = (
    r"(?:\s+(?:(?:the|all|any|those|these|our|my)\s+)*<c\d+>(?=\s+(?:with|who|whose|where|having|that|which)\b))?"  # the patients with
    r"(?:\s+(?!<)[\w'-]+){0,3}?\s*(?:<c\d+>\s*(?:(?:==?|is|are|was|equals)\s*)?)?(?:(?:no|nr|number)\.?\s*)?(?:(?:from|in|of|with|at|on|(?:who|that|which) (?:are|were|is|was|ha[dsv]e?|got))\s+)?"
    r"(?:the\s+)?"
)
_DROP = (
    r"(?<!> )drop(?:ped|ping|s)?(?!\s+(?:more|less|further|faster|slower|quicker|better|stronger|in|over|by|with|under|on|between|from|after|"
    r"is|was|to|the (?:most|least))\b)"
)
"""To leave out, not what a measure does: `drop Graz`, and neither `did pain drop more with the drug` nor `the <pain> drop`."""
_OUT = (
    rf"(?:without|exclud\w+|except(?:ing)?(?: for)?|leav\w+ (?:out|aside)|omit\w*|{_DROP}|remov\w+|ignor\w+|not counting|apart from|disregard\w*|"
    r"discard\w*|(?:throw|kick)\w* out|skip\w*|but not|other than)"
)
_BACK = r"(?:him|her|it|out|(?:them|this|that|these|those)(?!\s+(?:\w+\s+)?(?:with|who|whose|in|of|from|where|that|which)\b)(?!\s*<))"
_NOUN = (
    r"['\")]*(?:\s*<c\d+>)?(?:\s+(?!<)(?!(?:after|when|whose|where|until|before|as|because|with|had|has|have|were|was|is|are|and|but|or)\b)"
    r"[\w-]+){0,2}?"
)
_DONE = (
    r"(?:(?:\s+(?:should|must|will|shall|to|can|have to|has to|need to))?(?:\s+(?:be|is|are|was|were|been|being))?(?:\s+(?:all|then|simply))?"
    r"\s+(?:excluded|left out|taken out|thrown out|omitted|removed|dropped(?!\s+out)|discarded|disregarded|ignored)|"
    r"\s+(?:go(?:es)?|come|comes|stay|stays)\s+out|"
    r"\s+(?:is|are|was|were|do|does|did|should|must|can)(?:\s*not|n't)\s+(?:be\s+)?(?:counted|count|used|included|considered|analy[sz]ed|taken|belong|in\s+(?:there|here|it|this)))"
    r"(?=\s*(?:[,.;:!?)]|$)|\s+(?:from|for|here|please|and|because|as|throughout|of course|obviously|anyway)\b)"
)
_BEFORE = re.compile(rf"\b{_OUT}\b{SHORT}(?P<l>{LEVELS})", re.IGNORECASE)
WITH_AND = r"\bwith\s*(?:,|and|or|&|/|vs\.?|versus|than|against)\s*"
"""`with and without KX11` sets both against each other."""
_AROUND = re.compile(
    rf"\b(?:leav(?:e|ing)|tak(?:e|ing)|throw(?:ing)?|keep(?:ing)?|kick(?:ing)?)\s+(?:(?:all|any|the|those)\s+)*"
    rf"(?:<c\d+>\s*(?:(?:no|nr|number)\.?\s*)?)?(?P<l>{LEVELS}){_NOUN}\s+out\b",
    re.IGNORECASE,
)
_AFTER = re.compile(rf"(?P<l>{LEVELS}){_NOUN}(?:\s+(?:and|or)\s+(?!<)[\w-]+(?:\s+(?!<)[\w-]+)?)?{_DONE}", re.IGNORECASE)
_POINTS_BACK = re.compile(
    rf"(?P<l>{LEVELS})(?:\s*<c\d+>)?(?:[^<>.;?!]|<c\d+>){{0,60}}?(?:[.;?!]\s*(?:(?:so|then|please|pls|better|just|i|we|would|can|you)\s+){{0,3}})?\b(?!dropped){_OUT}\s+{_BACK}\b|"
    rf"(?P<m>{LEVELS})(?:[^<>]|<c\d+>){{0,90}}?\bleave\s+(?:him|her|it|them)\s+out\b|"
    rf"(?P<n>{LEVELS})(?:[^<>.;?!,]|<[cl]\d+>){{1,60}}?\b(?:so|therefore|thus|hence)\s+(?:is\s+|are\s+|it'?s\s+)?(?:left\s+)?out\b(?=\s*(?:[,.;?!]|$))",
    re.IGNORECASE,
)
_THAT_LEVEL = re.compile(
    rf"(?P<l><l\d+>)(?:[^<>.;?!]|<c\d+>){{0,80}}?[.;?!,]\s*(?:(?:so|then|please|pls|and|but|we|i)\s+){{0,3}}(?:\b(?!dropped){_OUT}\s+(?:this|that)\s+(?P<c><c\d+>)|\b(?:leave|take|throw|kick)\s+(?:this|that)\s+(?P<d><c\d+>)\s+out\b)",
    re.IGNORECASE,
)
"""A level before it is left out by the name of its column: `at 80 mM all wilted. Leave that dose out`."""
POINTS_BACK = re.compile(
    rf"(?:(?<=[.;:?!,(])|^|\b(?:and|but)\b)\s*(?P<what>[^.;:?!]{{2,80}}?)[,.;]?\s*(?:(?:so|then|please|pls|better|just|i|we|would|can|you)\s+){{0,3}}"
    rf"(?P<out>\b(?:(?!dropped|without|with|except|but|other|apart){_OUT}\s+(?:him|her|it|them|(?:this|that)(?=\s*(?:[,.;:?!]|$|and\b)))|(?:leave|take|throw|kick)\s+(?:him|her|it|them|this|that)\s+out))\b",
    re.IGNORECASE,
)
"""What is named before it is left out: `S07 is a bad library, drop it`."""
CODE = r"(?<![\w.])(?=\w*[A-Za-z])(?=[\w-]*\d)[A-Za-z0-9]+(?:[-_.][A-Za-z0-9]+)*(?!\w)"
"""A name as samples and animals have one: letters and a number."""
CODES_OUT = re.compile(
    rf"\b(?:{_OUT}|w/o|no|not)\s+(?:(?:the|any|sample|samples|library|libraries|animal|run|patient|mouse|donor|plot|site)\s+){{0,2}}"
    rf"(?P<codes>{CODE}(?:\s*(?:,\s*and|,|and|or|&|\+)\s*{CODE})*)",
    re.IGNORECASE,
)
"""Names that are left out wherever they stand: `in liver without S07 and S12`."""
_OF_ANOTHER = re.compile(
    rf"[,;:(]\s*(?:(?:that|this|the)\s+[\w-]+(?:\s+[\w-]+)?|(?:that|this)|{CODE})\s+(?:is|was|are|were|looks?|looked|seems?)\b",
    re.IGNORECASE,
)
"""A subject of its own, which is what is dropped: `in liver, S07 is bad, drop it`."""
BEFORE_ROWS = re.compile(rf"(?:,\s*)?\b{_OUT}(?:\s+[\w'-]+){{0,4}}?\s*['\"(]*$", re.IGNORECASE)
AFTER_ROWS = re.compile(rf"['\")]*(?:\s+[\w-]+){{0,3}}?{_DONE}", re.IGNORECASE)
"""The words of leaving out before and after the rows that are named."""
_TALKS = re.compile(
    r"\b(?:exclud\w+|omit\w*|left out|leav\w+ out|removed|discarded|disregarded|ignored|counted|"
    r"throw\w* (?:out|away))\b",
    re.IGNORECASE,
)
_AND_OUT = r"\band\s+(?=(?:leave|exclude|drop|remove|ignore|omit|skip|discard)\s+(?!him|her|it|them|this|that))"
"""Where a clause of its own begins: `only living trees and leave out the browsed ones`."""
_ASKS = re.compile(r"\s*(?:should|shall|must|may|can|could|were|was|are|is|why)\b", re.IGNORECASE)
_NOBODY = re.compile(r"\b(?:nobody|none|no one|never)\b", re.IGNORECASE)
_ENDS = ".;?!"


def left_out(coded: Coded, columns: Mapping[str, ColumnProfile]) -> Iterator[list[ColumnMention]]:
    """Yield the levels that are left out together."""
    text = coded.text
    for match in _BEFORE.finditer(text):
        if not re.search(rf"{WITH_AND}$", text[: match.start()], re.IGNORECASE) and not _told_apart(
            coded, match, columns
        ):
            yield coded.inside(match["l"])
    for match in _AROUND.finditer(text):
        yield coded.inside(match["l"])
    for match in _AFTER.finditer(text):
        start, end = _sentence(text, match.start())
        asked = text[end : end + 1] == "?" and _ASKS.match(text[start:end])
        if not asked and not _NOBODY.search(text[start : match.start()]):
            yield coded.inside(match["l"])
    for match in _POINTS_BACK.finditer(text):
        named = next(name for name in "lmn" if match[name])
        if not _OF_ANOTHER.search(text[match.end(named) : match.end()]):
            yield coded.inside(match[named])
    if not _COMPARES.search(text):
        yield from (coded.inside(match["l"]) for match in _NOT_ON.finditer(text))
    yield from (level for level, _ in _that_level(coded))
    yield from _alone(coded)


_NOT_ON = re.compile(
    r"(?:\b[a-z]+|<c\d+>)(?:\s+(?:who|that|which)\s+(?:are|were|is|was))?\s+(?:not|never)\s+(?:(?:on|given|taking|receiving|getting|under|from|fed|"
    r"treated with|exposed to)\s+)+(?:the\s+)?(?:<c\d+>\s*(?:of\s+)?)?(?P<l><l\d+>)",
    re.IGNORECASE,
)
"""`in patients not on the old drug`: the others are kept."""
_COMPARES = re.compile(
    r"\b(?:than|versus|vs\.?|against|compared|between|and (?:those|the ones|them) (?:on|with|given))\b", re.IGNORECASE
)


def _that_level(coded: Coded) -> Iterator[tuple[list[ColumnMention], list[ColumnMention]]]:
    """Yield a level and the name of its column that points back to it where it is left out."""
    for match in _THAT_LEVEL.finditer(coded.text):
        level, of = coded.inside(match["l"]), coded.inside(match["c"] or match["d"])
        if {m.column for m in level} == {m.column for m in of}:
            yield level, of


def without_pointers(coded: Coded) -> list[ColumnMention]:
    """Return the mentions without the names that only point back to a level that is left out: `drop that dose`."""
    pointing = [mention for _, of in _that_level(coded) for mention in of]
    return [mention for mention in coded.mentions if mention not in pointing]


def _alone(coded: Coded) -> Iterator[list[ColumnMention]]:
    """Yield the levels that all of a phrase names: `(no sulphur)`, `forget the copper ones`, `sulphur not counted`, `not the blanks`."""
    for phrase in phrases(coded.question):
        own = [*pieces(coded.question, phrase)] or [(phrase.first, phrase.last)]
        if not (phrase.keeps or phrase.plain) and (levels := _only_named(coded, *own[0])):
            yield levels
        for first, last in own[1:] if not phrase.keeps else ():  # `the lame ones and those we lost`
            if _THOSE.match(coded.question, first) and (levels := _only_named(coded, first, last)):
                yield levels


_THOSE = re.compile(r"\s*(?:the\s+ones|those|ones)\b", re.IGNORECASE)


def _only_named(coded: Coded, first: int, last: int) -> list[ColumnMention]:
    """Return the levels of one column that stand between two characters and nothing else that says something; else none."""
    words = coded.words
    inside = [m for m in coded.mentions if first <= words[m.first].start < last]
    covered = {words[at].start for m in inside for at in range(m.first, m.last + 1)}
    said = [w for w in words_in(coded.question[first:last], first) if says_something(w) and w.start not in covered]
    levels = [m for m in inside if m.level]
    return levels if not said and len({m.column for m in levels}) == 1 else []


def talked_of(coded: Coded, gone: Sequence[ColumnMention]) -> list[ColumnMention]:
    """Return levels of clauses that speak of leaving out or counting: whatever is said, these rows alone are not meant.

    Args:
        coded: the question.
        gone: the levels that are left out; of a clause that has some, only other levels of their columns are returned.
    """
    found: list[ColumnMention] = []
    for clause in re.split(rf"[.;:?!,()]|{_AND_OUT}", coded.text):
        named = [mention for mention in coded.inside(clause) if mention.level] if _TALKS.search(clause) else []
        columns = {mention.column for mention in named if mention in gone}
        found += [mention for mention in named if not columns or mention.column in columns]
    return found


def cut_off(coded: Coded, columns: Mapping[str, ColumnProfile], found: Sequence[Restriction]) -> list[Restriction]:
    """Return cuts at numbers turned round where the words leave those rows out: `exclude those over 60` keeps the others.

    A number in brackets tells what is left out there: `leave out wells with bad viability (<70)`.
    """
    words, items = coded.words, list(found)
    gone = [phrase for phrase in phrases(coded.question) if not phrase.keeps]
    for phrase in gone:
        inside = [m for m in coded.mentions if not m.level and phrase.first <= words[m.first].start < phrase.last]
        cut = in_brackets(coded.question, phrase.last, inside[-1], columns) if inside else None
        items += [cut] if cut is not None else []
    return [
        item._replace(op=TURNED[item.op], out=item.op != "in")
        if item.op in TURNED and any(_is_of(coded, item, phrase) for phrase in gone)
        else item
        for item in items
    ]


def _is_of(coded: Coded, item: Restriction, phrase: Phrase) -> bool:
    """Say whether a cut is of the rows that a phrase leaves out: not so in `without smokers in women over 60`."""
    question, start = coded.question, coded.words[item.first].start
    for at, (first, last) in enumerate(pieces(question, phrase)):
        before = question[first:start]
        own = words_in(question[first:last])
        if at and not (own and (names_rows(own[0].text) or first <= start <= first + 4)):
            return False
        if not first <= start < last:
            continue
        head = re.search(r"^(?P<what>.*)\b(?:in|among|within|for)\b", before)
        other = head is not None and any(says_something(word) for word in words_in(head["what"]))
        said = [word for word in words_in(before) if says_something(word)]
        rows = any(names_rows(word.text) for word in words_in(before))
        return not (other or any(word.text in NO_ROWS for word in said)) and (phrase.plain or rows or not said)
    return False


def not_understood(reading: Reading, *, plainly: bool = False) -> str:
    """Return the first phrase that leaves rows out and of which no column, level, number or remark is meant; "" where none is.

    Args:
        reading: the question; what was used is marked in it.
        plainly: whether only phrases count that can hardly be of anything but rows.
    """
    question, words = reading.question, reading.words
    for phrase in phrases(question):
        first, last = next(pieces(question, phrase), (phrase.first, phrase.last))
        at = [n for n, word in enumerate(words) if first <= word.start < last]
        used = [reading.used.get(n, ("", "", 0.0))[0] for n in at]
        held = {n for row in reading.restrictions for n in range(row.first, row.last + 1)}
        if phrase.keeps or held & {*at} or any(kind not in ("", "column") for kind in used):
            continue
        own = words_in(question[first:last], first)
        columns = {words[n].start for n, kind in zip(at, used, strict=True) if kind == "column"}
        parts = {words[n].start for m in reading.mentions if m.width > 1 for n in range(m.first, m.last + 1)}
        said = [word for word in own if says_something(word) and word.start not in columns]
        if re.search(r"\b(?:rows?|wells?|columns?)\s+(?:[A-P]|\d{1,2})\b", question[first:last]):
            return question[phrase.start : phrase.last].strip()  # of a plate, which no column holds
        if not said or {word.text for word in own} & NO_ROWS:
            continue
        if (
            phrase.plain
            or (not plainly and any(names_rows(word.text) and word.start not in parts for word in own))
            or (not plainly and phrase.short and len(own) <= FEW)
        ):
            return question[phrase.start : phrase.end if last == phrase.last else last].strip()
    return _name_or_it(reading)


def _name_or_it(reading: Reading) -> str:
    """Return the words that leave out by a name that is nowhere in the data, or by an `it` of which nothing is meant; "" without."""
    question, words = reading.question, reading.words
    gone = [row for row in reading.restrictions if row.op == "not in" or row.out]
    named = {words[at].start for m in reading.mentions for at in range(m.first, m.last + 1)}
    for match in CODES_OUT.finditer(question):
        if named.isdisjoint(range(*match.span("codes"))) and not any(
            match.start("codes") < words[row.last].end and words[row.first].start < match.end() for row in gone
        ):
            return match[0]
    for match in POINTS_BACK.finditer(question):
        if {word.text for word in words_in(match["what"].rpartition(",")[2])} & NO_ROWS:
            continue  # `find outliers and drop them`
        if not any(match.start() <= words[row.last].start and words[row.first].start < match.end() for row in gone):
            return match[0].strip(" ,.;")
    return ""


FEW = 2
"""So few words name rows by themselves where all of a clause leaves them out: `uninoculated not counted`, `no contaminants`."""


def _sentence(text: str, at: int) -> tuple[int, int]:
    """Return where the sentence around a place begins and ends."""
    start = max(text.rfind(mark, 0, at) for mark in _ENDS) + 1
    ends = [place for mark in _ENDS if (place := text.find(mark, at)) >= 0]
    return start, min(ends, default=len(text))


def _told_apart(coded: Coded, match: re.Match[str], columns: Mapping[str, ColumnProfile]) -> bool:
    """Say whether levels after `but not` are set against others of their column: `it works in women but not in men`.

    Where the word before them is said again, or all levels of the column are named so; `in Lyon and Graz but not Turin` is of rows.
    """
    said = re.match(r"but not\s+(?P<again>in|for|among|with|on|at)?\b", match[0], re.IGNORECASE)
    if said is None:
        return False
    own = {mention.column: mention.level for mention in coded.inside(match["l"])}
    start, _ = _sentence(coded.text, match.start())
    before = coded.text[start : match.start()]
    for column in own:
        others = {m.level for m in coded.inside(before) if m.level and m.column == column}
        levels = {*columns[column].levels} if column in columns else set[str]()
        again = said["again"] and re.search(rf"\b{said['again']}\b", before, re.IGNORECASE)
        if others and (again or levels <= others | {own[column]}):
            return True
    return False


def phrases_of_levels(
    question: str, mentions: Sequence[ColumnMention], words: Sequence[Token], gone: Collection[str]
) -> list[tuple[int, int]]:
    """Return from where to where phrases stand that leave out levels of some columns: what else they name only helps to say so."""
    found: list[tuple[int, int]] = []
    for phrase in phrases(question):
        inside = [m for m in mentions if phrase.first <= words[m.first].start < phrase.last]
        if not phrase.keeps and any(m.level and m.column in gone for m in inside):
            found.append((phrase.first, phrase.last))
    return found
