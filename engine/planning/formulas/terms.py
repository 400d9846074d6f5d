"""Cuts a question into the pieces that arithmetic is made of: columns, numbers, signs and the words said for them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from engine.planning.naming.mention import SURE, ColumnMention
from engine.planning.naming.overlaps import find
from engine.planning.reading.reading import Reading
from engine.planning.tables.sheets import Data, is_number
from engine.text.names import name_parts
from engine.text.numbers import as_number
from engine.text.tokens import tokens

_ARTICLES = r"(?:the|a|an|their|its|his|her|each|every|(?:the )?(?:value|values|column|variable|level|levels|number|numbers) of)\b"
_SHARE = r"(?:per ?cent(?:age)?|%)"
_GROWS = r"(?:change|gain|increase|rise|growth|improvement)s?"
_FALLS = r"(?:loss|decrease|drop|reduction|decline|fall)(?:es|s)?"
_LEXICON: tuple[tuple[str, str], ...] = (
    ("pow", r"\*\*|\^|(?:raised )?to the power of\b"), ("square", r"²|squared\b"), ("cube", r"³|cubed\b"),
    ("log2", r"log\s?2\b(?!\s*fold)|(?:binary )?log(?:arithm)? (?:to )?base (?:2|two)\b"), ("log1p", r"log1p\b"),
    ("log10", r"log\s?10\b|(?:decadic|common) log(?:arithm)?\b|log(?:arithm)? (?:to )?base (?:10|ten)\b"),
    ("log", r"(?:natural )?log(?:arithm)?s?\b(?!\s*2?\s*fold|[ -](?:\w+ )?(?:axis|axes|scale)\b)|ln\b|log[- ]?transform(?:ed|ation)?\b"),
    ("sqrt", r"sqrt\b|square[- ]roots?\b"), ("cuberoot", r"cube[- ]roots?(?: of)?\b"), ("exp", r"exp(?:onential)?\b"),
    ("abs", r"abs\b|absolute(?: value)?\b"), ("inverse", r"(?:inverse|reciprocal)\b"), ("squareof", r"squares? of\b"),
    ("cubeof", r"cubes? of\b"), ("double", r"(?:double|twice|two times)\b(?! the size)"), ("half", r"half(?: of)?\b"),
    ("plus", r"\+|plus\b"), ("minus", r"[−–-](?!\w+ratio)|minus\b"), ("times", r"\*|×|·|times\b|multiplied (?:by|with)\b"),
    ("over", r"/|÷|divided by\b|divide\b(?= )|over\b"), ("per", r"per\b(?! ?cent)|for (?:each|every)\b"),
    ("open", r"[(\[]"), ("close", r"[)\]]"), ("pi", r"pi\b|π"), ("comma", r"[,;]"),
    ("changepct", rf"(?:{_SHARE}|relative|proportional) {_GROWS}(?: in {_SHARE})?|{_GROWS} in {_SHARE}"),
    ("losspct", rf"(?:{_SHARE}|relative|proportional) {_FALLS}(?: in {_SHARE})?|{_FALLS} in {_SHARE}"),
    ("logfold", r"log\s?2?[- ]fold[- ]change\b"), ("fold", r"fold[- ]change\b"),
    ("change", rf"{_GROWS}\b"), ("loss", rf"{_FALLS}\b"), ("difference", r"differences?\b"),
    ("ratio", r"(?:ratios?|quotient)\b"), ("product", r"product\b"), ("mean", r"(?:mean|average)\b"),
    ("sum", r"(?:sum(?: score)?|totals?(?: score)?|sum up|add up|adding up|add(?:ing)?(?: together)?)\b(?! a\b| the ratio)"),
    ("subtract", r"subtract(?:ing)?\b"), ("subtracted", r"subtracted from\b"),
    ("percentof", rf"(?:as (?:a |the )?|in ){_SHARE} of\b"), ("shareof", r"as (?:a |the )?(?:fraction|share|proportion) of\b"),
    ("percent", rf"(?:in|as(?: a)?) {_SHARE}"), ("thousand", r"in thousands?\b"), ("million", r"in millions?\b"),
    ("from", r"from\b"), ("to", r"to\b"), ("and", r"and\b"), ("of", r"of\b"), ("between", r"between\b"), ("by", r"by\b"),
    ("versus", r"(?:vs\.?|versus)(?!\w)"), ("through", r"through\b"),
)  # fmt: skip
BINDING = ("pow", "plus", "minus", "times", "over")
_JOINER = re.compile(
    r"\s(?:to|and|from|minus|plus|times|over|divided by|between|versus|vs\.?)\s|\s[-−–+*/]\s|[,;:]\s", re.IGNORECASE
)
_NOUN_AFTER = re.compile(r"\s+(?:length|width|height|depth|weight|mass|size|area|volume|counts?|number|pressure|concentration|levels?|scores?|values?|"
                         r"rate|dose|temperature|measurements?|readings?|column)\b", re.IGNORECASE)  # fmt: skip
_UNIT_AFTER = re.compile(r"\s*\(\s*[\w/%µ.^-]{1,8}\s*\)|\s+in\s+(?:kg|g|mg|lb|lbs|cm|mm|m|in|inches|pounds|grams|kilograms|met(?:er|re)s|"
                         r"centimet(?:er|re)s|mmol/l|mg/dl|mmhg|ml|l)\b", re.IGNORECASE)  # fmt: skip
_PER_UNIT = re.compile(
    r"\s*(?:one |a |unit(?: of)? |(?:kg|g|mg|cm|m|mm|ml|l|kilo|gram|unit|hour|day)\b(?: of)? ?){0,2}", re.IGNORECASE
)


_SPOKEN_PER = re.compile(r"\s+per\b", re.IGNORECASE)


class FormulaPiece(NamedTuple):
    """A column, number, operator or other word of the question."""

    kind: str
    text: str
    start: int
    end: int

    @property
    def spoken(self) -> bool:
        """Whether it is said in a word, not written as a sign."""
        return self.text[:1].isalpha()


def pieces(reading: Reading, data: Data) -> list[FormulaPiece]:
    """Cut a question into pieces; the columns are its mentions, and names in back-quotes or written beside a sign."""
    text, at = reading.question, 0
    found: list[FormulaPiece] = []
    spans = _spans(reading, data)
    ends = {sheet.structure.survival.get("event") for sheet in data.sheets}
    exact = sorted((c.name for c in data.columns() if c.name and "`" not in c.name), key=len, reverse=True)
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        piece = _written(text, at, exact) or _mentioned(text, at, spans)
        after_sign = bool(found) and found[-1].kind in (*BINDING, "open")
        if piece is None or (piece.kind == "level" and after_sign and text[at].isdigit()):
            piece = _lexed(text, at)  # the 2 of `height ** 2` is a number, whatever levels a column has
        column = data.column(piece.text) if piece.kind == "column" else None
        if column is not None and (
            not is_number(column) or (piece.text in ends and _SPOKEN_PER.match(text, piece.end))
        ):
            piece = piece._replace(kind="group")  # `the hazard of death per stage` divides no death
        at = piece.end
        if piece.kind == "column":
            for tail in (_NOUN_AFTER, _UNIT_AFTER):
                at = match.end() if (match := tail.match(text, at)) and match.end() not in spans else at
        if piece.kind != "skip":
            found.append(piece._replace(end=at))
        if piece.kind == "column" and len(found) > 2 and _is_range(found[-3:], text, data):
            found[-2] = found[-2]._replace(kind="through")
        if piece.kind == "per":
            at = _PER_UNIT.match(text, at).end()  # type: ignore[union-attr]
    return found


_LAST_NUMBER = re.compile(r"(.*?)(\d+)")


def _is_range(last: Sequence[FormulaPiece], text: str, data: Data) -> bool:
    """Say whether the last three pieces are a range of numbered columns with others between: `N1-N5` subtracts nothing."""
    one, sign, other = last
    ends = [_LAST_NUMBER.fullmatch(piece.text) for piece in (one, other) if piece.kind == "column"]
    close = sign.kind == "minus" and text[one.start : other.end].replace(" ", "") == text[one.start : other.end]
    if not close or len(ends) < 2 or ends[0] is None or ends[1] is None or ends[0][1] != ends[1][1]:
        return False
    low, high = int(ends[0][2]), int(ends[1][2])
    return high > low + 1 and all(data.column(f"{ends[0][1]}{n}") is not None for n in range(low + 1, high))


def _spans(reading: Reading, data: Data) -> dict[int, tuple[ColumnMention, int]]:
    """Return start -> (mention, end); where a mention reaches over a word of arithmetic, each side is read by itself."""
    text, words = reading.question, reading.words
    spans = {words[m.first].start: (m, words[m.last].end) for m in reading.mentions}
    if not any(_JOINER.search(text, start, end) for start, (_, end) in spans.items()):
        return spans
    apart: dict[int, tuple[ColumnMention, int]] = {}
    start = 0
    for stop, following in [*((m.start(), m.end()) for m in _JOINER.finditer(text)), (len(text), len(text))]:
        part = tokens(text[start:stop])
        for mention in find(text[start:stop], data.columns()):
            apart[start + part[mention.first].start] = (mention, start + part[mention.last].end)
        start = following
    return apart


def _written(text: str, at: int, names: list[str]) -> FormulaPiece | None:
    """Return a column written exactly: in back-quotes, or with a sign of arithmetic beside it."""
    quoted = re.compile(r"`([^`]+)`").match(text, at)
    if quoted and quoted[1] in names:
        return FormulaPiece("column", quoted[1], at, quoted.end())
    if at and (text[at - 1].isalnum() or text[at - 1] == "_"):
        return None
    for name in names:
        end = at + len(name)
        parts = name_parts(name)
        if len(parts) > 1 and parts[-1].isdigit() and not parts[0].isdigit():  # `item 1` of item_1, item_2
            numbered = re.compile(r"[\s_.-]?".join(map(re.escape, parts)) + r"(?![\w.])", re.IGNORECASE).match(text, at)
            if numbered:
                return FormulaPiece("column", name, at, numbered.end())
        beside = re.match(r"\s*(?:[+*/^]|-\s)", text[end:]) or re.search(r"(?:[+*/^(]|\s-)\s*$", text[:at])
        if beside and text.startswith(name, at) and not re.match(r"\w", text[end : end + 1]):
            return FormulaPiece("column", name, at, end)
    return None


def _mentioned(text: str, at: int, spans: Mapping[int, tuple[ColumnMention, int]]) -> FormulaPiece | None:
    if at not in spans:
        return None
    mention, end = spans[at]
    spoken = text[at:end].lower()
    if (
        re.fullmatch(r"change|difference|ratio|sum|total|mean|gain|loss|growth|log|increase", spoken)
        and mention.strength < 0.97
    ):
        return None  # the word of arithmetic, not a column that is a little like it
    vague = mention.strength < SURE - 0.25 or (mention.rivals and mention.strength < 0.97)
    return FormulaPiece("level" if mention.level else "vague" if vague else "column", mention.column, at, end)


def _lexed(text: str, at: int) -> FormulaPiece:
    number = re.compile(r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w])").match(text, at)
    if number:
        return FormulaPiece("number", number[0], at, number.end())
    article = re.compile(_ARTICLES, re.IGNORECASE).match(text, at)
    if article:
        return FormulaPiece("skip", "", at, article.end())
    best = max(
        (
            (m.end(), -order, kind)
            for order, (kind, rx) in enumerate(_PATTERNS)
            if (m := rx.match(text, at)) and _starts(text, at)
        ),
        default=None,
    )
    if best:
        return FormulaPiece(best[2], text[at : best[0]], at, best[0])
    word = re.compile(r"\w+|.").match(text, at)
    assert word is not None
    spelt = tokens(word[0])
    value = spelt[0].text if len(spelt) == 1 and as_number(spelt[0].text) is not None else ""
    return FormulaPiece("number" if value else "word", value or word[0], at, word.end())


def _starts(text: str, at: int) -> bool:
    return not (at and text[at].isalnum() and (text[at - 1].isalpha() or text[at - 1] == "_"))


_PATTERNS = [(kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _LEXICON]
