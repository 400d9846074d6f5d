"""Phrases that leave rows out, in whatever words: `leave out the degraded library`, `bad library out`, `not the sick ones`, `(no PCR+)`.

They are found in the words as typed, before anything is known of the data; what each names is looked up afterwards.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import NamedTuple

from engine.planning.naming.hints import WHOM
from engine.planning.naming.mention import FAMILY, PERSONS
from engine.planning.tables.sheets import THINGS
from engine.text.negation import NEGATORS
from engine.text.stopwords import EMPTY, GRAMMAR


class Phrase(NamedTuple):
    """Words that leave rows out, or keep them alone: from where to where, and which of them say what the rows are."""

    start: int
    end: int
    first: int
    last: int
    keeps: bool
    plain: bool
    """True where the words can hardly mean anything but rows or columns."""
    short: bool
    """True where all of a clause is the phrase, and no verb is in it: `bad library out`, `(no PCR+)`."""


_END = r"(?=\s*(?:[,;:!?()]|\.(?!\w)|$|\s[-–—]\s))"
_STARTS = r"(?:^|[.,;:?!(]|\s[-–—](?=\s)|\b(?:and|but|please|pls|then|to|so|should|must|will|i|we)\b)\s*"
_CLAUSE = r"(?:^|[.,;:?!(]|\s[-–—](?=\s)|\b(?:and|but)\b)\s*"
_PLAIN = (
    r"exclud(?:e|ing)|omit(?:ting)?|leav(?:e|ing) (?:out|aside|away)|not counting|disregard(?:ing)?|discard(?:ing)?|"
    r"(?:throw|kick|tak)(?:e|ing)? (?:out|away)|except(?:ing)?(?: for)?"
)
_LOOSE = (
    r"forget(?:ting)?(?: about)?|skip(?:ping)?|ignor(?:e|ing)|drop(?:ping)?|remov(?:e|ing)|without|but not|apart from|other than|"
    r"(?:do not|don'?t|not) (?:count|use|include|consider)(?:ing)?"
)
_OPEN = r"(?P<what>[^.;:?!()]*(?:\.(?=\w)[^.;:?!()]*)*)"
_FEW = (
    r"(?P<what>(?!(?:who|what|which|how|when|where|why|is|are|was|were|does|do|did|can|could|should|shall|must|may|will|would|it|i|we|you|they|not|no|nobody|none|never|if|whether)\b)"
    r"(?:(?!(?:what|how|when|where|why|does|do|did|it|i|we|you|they)\b)[^\s.,;:?!()]+\s+){0,8}?[^\s.,;:?!()]+)"
)
_CUT = (
    r"(?P<what>[^.;:?!(),]{0,60}?(?:[<>≤≥]=?|\b(?:above|below|over|under|(?:more|less|higher|lower) than|at least|at most)\b)\s*"
    r"-?\d+(?:[.,]\d+)?(?:\s*[\w%/]+)??)"
)
"""A cut at a number, which `removing` can only mean of rows."""
_REMOVED = r"(?:removed|excluded|left out|taken out|dropped|omitted|discarded)\b"
_PHRASAL = "".join(
    rf"(?<!\b{verb})"
    for verb in "find figure point turn turns turned carry carried rule ruled drop drops dropped dropping work works worked sort sorted stand stands "
    "stood sold washed knock knocked time timed come comes came went check map print made filled run ran die died help try test spread".split()
)
"""No verb that has a meaning of its own with `out`."""
_GO = (
    r"(?:(?:\s+(?:should|must|will|shall|to|can|have to|has to|need to))?(?:\s+(?:be|is|are))?(?:\s+(?:all|then|simply))?"
    r"(?:\s+(?:excluded|left out|taken out|thrown out|kicked out|omitted|removed|discarded|disregarded|ignored|(?:go|goes|kept) out)|"
    rf"{_PHRASAL}\s+out)|"
    r"(?:\s+(?:is|are|do|does|should|must))?(?:\s+not|n't)\s+(?:be\s+)?(?:counted|count|included|considered|analy[sz]ed|evaluated))"
)
_FORMS: tuple[tuple[re.Pattern[str], bool, bool], ...] = tuple(
    (re.compile(form, re.IGNORECASE), keeps, plain)
    for form, keeps, plain in (
        (rf"\b(?P<verb>leav|tak|throw|kick|keep)(?:e|ing)?\s+(?!out\b)(?P<what>(?:(?!(?:out|and)\b)[^\s.,;:?!()]+\s+){{1,8}}?)out(?:{_END}|(?=\s+(?:and|then|first|please)\b))", False, True),
        (rf"\b(?P<verb>{_PLAIN})\s+{_OPEN}", False, True),
        (rf"{_STARTS}(?P<verb>{_LOOSE})\s+{_OPEN}", False, False),
        (rf"\bafter\s+(?:the\s+)?(?P<verb>(?:remov|exclu|dropp?|omi|discard)\w*(?:\s+of)?)\s+{_CUT}", False, False),
        (rf"\b(?:after|once|when|with)\s+(?P<verb>{_CUT})(?:\s+(?:is|are|was|were|being|ha[sv]e? been))?\s+{_REMOVED}", False, False),
        (rf"{_CLAUSE}(?P<verb>not)\s+(?:the|those)\s+{_OPEN}", False, False),
        (rf"{_CLAUSE}(?P<verb>no)\s+(?P<what>[^\s.,;:?!()]+(?:\s+[^\s.,;:?!()]+){{0,2}}){_END}", False, False),
        (rf"{_CLAUSE}(?P<verb>{_FEW})(?<!\bnot)(?<!n't)(?<!\bnever){_GO}{_END}", False, False),
        (rf"\b(?P<verb>leave)\s+(?P<what>(?:the|those|that)\s+(?:[\w'+-]+\s+){{1,4}}?ones?){_END}", False, False),
        (rf"\b(?P<verb>only|just|keep(?:ing)?(?: only)?|nothing but)\s+{_OPEN}", True, False),
    )
)  # fmt: skip
_SHORT = [_FORMS[6][0], _FORMS[7][0]]
_NEGATED = re.compile(
    r"(?:\bnot|n't|\bdont|\bnever|\bwithout|\brather than|\binstead of|\b(?:should|need|have) (?:i|we)(?: to)?|\bno need to|\bwhy)\s+(?:to\s+|be\s+)?$",
    re.IGNORECASE,
)
"""What goes before words of leaving out that leave nothing out: `don't throw away`, `should I exclude`."""
_ALL_BUT = re.compile(r"\b(?:all|every\w*|any\w*)\s+(?:but|except|other than|apart from|save)\b", re.IGNORECASE)
_ENDS = re.compile(
    r"\s(?:from|for|when|while|before|after|because|since|as|if|then|so|please|pls|plz|here|to(?!\s+be\b)|thanks|thx)\b|\s[-–—]\s",
    re.IGNORECASE,
)
_JOINED = re.compile(r"\s*(?:,\s*(?:and|or|nor)\b|,|&|/|\b(?:and|or|nor|as well as)\b)\s*", re.IGNORECASE)


@functools.lru_cache(maxsize=256)
def phrases(question: str) -> tuple[Phrase, ...]:
    """Return the phrases of a question that leave rows out or keep some alone, none within another."""
    found: list[Phrase] = []
    for form, keeps, plain in _FORMS:
        for match in form.finditer(question):
            phrase = Phrase(match.start("verb"), match.end(), *match.span("what"), keeps, plain, form in _SHORT)
            denied = _NEGATED.search(question[: phrase.start]) or _ALL_BUT.search(match[0])
            if (
                match["what"].strip()
                and not denied
                and not _ENDS.match(" " + match["what"].lstrip())
                and not any(_shared(question, phrase, other) for other in found)
            ):
                found.append(phrase)
    return tuple(sorted(found))


def _shared(question: str, one: Phrase, other: Phrase) -> bool:
    """Say whether two phrases are of the same words, as far as the comma that may begin another clause."""
    ends = [min(at for at in (question.find(",", p.first), p.end) if at >= 0) for p in (one, other)]
    return one.start < max(ends[1], other.first) and other.start < max(ends[0], one.first)


def pieces(question: str, phrase: Phrase) -> Iterator[tuple[int, int]]:
    """Yield from where to where each of the things that a phrase lists stands: `the ones that died`, `were sold`."""
    at = phrase.first
    for match in _JOINED.finditer(question, phrase.first, phrase.last):
        if question[at : match.start()].strip():
            yield at, match.start()
        at = match.end()
    if question[at : phrase.last].strip():
        yield at, phrase.last


def without_more(question: str, start: int, end: int) -> int:
    """Return where a piece ends that says more after what it names: `the sick ones | from the analysis`."""
    cut = _ENDS.search(question, start, end)
    return cut.start() if cut is not None else end


class SaidWord(NamedTuple):
    """A word that says something, with a sign behind it, and whether the word before denies it."""

    text: str
    sign: str
    denied: bool
    start: int


_WORD = re.compile(r"(?:\d+(?:[.,]\d+)*|[^\W\d_]+(?:\d+)?)(?P<sign>[+-](?!\w))?")
_NOT = NEGATORS | frozenset("nicht kein keine ohne pas sans sin".split())
_BETWEEN = frozenset("have had get got show shows be been yet a an any the properly really quite very".split())


def words_in(text: str, offset: int = 0) -> list[SaidWord]:
    """Return the words of a text, each with whether it is denied: of `was not inoculated` that is `inoculated`."""
    found: list[SaidWord] = []
    denied = False
    for match in _WORD.finditer(text):
        sign = match["sign"] or ""
        word = match[0].removesuffix(sign).lower()
        if word in _NOT or (word == "t" and text[max(0, match.start() - 1) : match.start()] in ("'", "’")):
            denied = True
        elif word not in _BETWEEN:
            found.append(SaidWord(word, sign, denied, offset + match.start()))
            denied = False
    return found


def says_something(word: SaidWord) -> bool:
    """Say whether a word tells which rows are meant, and not only that rows are."""
    plain = word.text not in EMPTY | _HELPING and not names_rows(word.text)
    denied = (
        word.denied and word.text not in GRAMMAR and not names_rows(word.text)
    )  # of `no take` the word says something
    letter = (
        len(word.text) == 1 and word.text.isalpha() and word.text not in "aist"
    )  # an article, me, what is left of it's
    return bool(word.sign) or letter or (len(word.text) > 1 and (plain or denied))


def names_rows(word: str) -> bool:
    """Say whether a word only stands for rows, or for whom they are of: `ones`, `wells`, `mice`."""
    return (
        word in ROWS
        or word in WHOM
        or bool({word, word.removesuffix("s"), word.removesuffix("es")} & (THINGS | PERSONS | FAMILY))
    )


MEASUREMENTS = frozenset(
    "row rows line lines record records entry entries measurement measurements reading readings weighing weighings value values visit "
    "visits sample samples well wells score scores result results observation observations timepoint timepoints specimen specimens".split()
)
"""Words for single rows, also where one subject has several."""
ROWS = MEASUREMENTS | frozenset(
    "ones one those who case cases point points run runs library libraries pts pt mice calves leaves lambs people children kids guys women men "
    "geese sheep fish males females boys girls units items experiments experiment array arrays".split()
)
_HELPING = frozenset(
    "got were was had been being became become look looks looked seem seems seemed said says marked two three four five six seven eight nine ten".split()
)
NO_ROWS = frozenset(
    "missing empty incomplete na nas nan plot plots figure figures graph graphs test tests table tables title header legend model models covariate "
    "covariates term variable variables column columns step steps adjustment adjusting correction interaction interactions intercept effect effects "
    "influence pairing assumption assumptions normality transformation analysis time question units bars bar interval intervals part sheet file files "
    "difference differences change changes idea matter problem problems need doubt hurry rush evidence response drug treatment more longer twice double clue trend "
    "relation relationship association correlation interest letter name names p outliers outlier duplicates thanks thank worries details detail "
    "significance significant detection limit limits lod loq llod lloq bdl blq undetected undetectable nondetects".split()
)
"""Words for what is no row, or for what has no value: a phrase with one of them leaves out something else, or what is left out anyway."""
