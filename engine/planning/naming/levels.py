"""Which levels of columns the words of a question name.

Levels are compared within their column, so that of `Gentoo penguin` and `Adelie penguin` the second word tells nothing. A
single letter is a level only where it stands like one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from engine.domain.profile import ColumnProfile
from engine.planning.naming.columns import literally, windows
from engine.planning.naming.lexicon import alike, same_meaning
from engine.planning.naming.mention import LONGEST, NO, PERSONS, SURE, SURE_NAME, ColumnMention
from engine.planning.naming.names import Name
from engine.text.codes import told_beside
from engine.text.names import name_parts
from engine.text.negation import NEGATORS
from engine.text.stems import stem
from engine.text.stopwords import STOP
from engine.text.times import time_unit
from engine.text.tokens import Token


def level_mentions(words: Sequence[Token], columns: Sequence[ColumnProfile], text: str) -> list[ColumnMention]:
    """Return every window of words that names a level of a column (numbers and single letters are left to the reader)."""
    found: list[ColumnMention] = []
    ids = [c for c in columns if c.scale in ("identifier", "code") and c.distinct > MANY]
    rows = {stem(part) for c in ids for part in name_parts(c.name)}
    for column in columns:
        levels = [level for level in (column.order or list(column.levels)) if level]
        if not levels or column.scale in ("identifier", "date") or len(levels) > 60:
            continue
        weights = Counter(part for level in levels for part in set(name_parts(level)))
        found += [*_explained(words, column, text), *_zygous(words, column)]
        for level in levels:
            if not re.search(r"[^\W\d_]", level):  # the two of `two assays` is not that of 2024-02
                continue
            found += _level(words, column, level, Name(level, weights, units=False), weights, text)
        found = [m for m in found if not _of_all(m, found, levels)]
        literal = [m._replace(level=level) for level in levels for m in literally(words, level, text, column.name)]
        longest = [m for m in literal if not any(_inside(m, other) for other in literal)]
        found = [m for m in found if not any(m.first <= o.last and o.first <= m.last for o in longest)] + longest
    return [
        m
        for m in found
        if not (_only_initials(m, words) or _held(m, words, found) or _of_its_column(m, words))
        and not _in_two(m, found, words, text)
        # `which shops` are the rows that shop_no names, and not the fish shops.
        and not (m.width == 1 and m.strength < SURE_NAME and words[m.first].stem in rows)
    ]


def _of_all(mention: ColumnMention, found: Sequence[ColumnMention], levels: Sequence[str]) -> bool:
    """Say whether a word is part of every level of a column and so names none: the penguins of `Gentoo penguin`."""
    here = [m for m in found if (m.first, m.last) == (mention.first, mention.last)]
    vague = mention.width == 1 and mention.strength < SURE_NAME and {m.strength for m in here} == {mention.strength}
    return vague and len(levels) > 1 and {m.level for m in here if m.column == mention.column} >= {*levels}


_OF_CLASSES = frozenset("class classes cat category categories group grp level status grade".split())


def is_class_of(column: ColumnProfile, number: str) -> bool:
    """Say whether a column is called as the classes of a measurement: cs_class of condition_score, bmi_cat of BMI."""
    parts, own = name_parts(number), [part for part in name_parts(column.name) if part not in _OF_CLASSES]
    initials = any("".join(part[0] for part in parts[:end]) == "".join(own) for end in (2, 3))
    return bool(own) and len(own) < len(name_parts(column.name)) and (initials or {*own} <= {*parts})


def classes_meant(
    words: Sequence[Token], columns: Sequence[ColumnProfile], named: Sequence[ColumnMention]
) -> list[ColumnMention]:
    """Return a class of a measurement where it stands before its name: the poor of cs_class in `poor condition score`."""
    numbers = {c.name for c in columns if c.scale in ("number", "count")}
    found: list[ColumnMention] = []
    for mention in named:
        if mention.level or not mention.first or mention.column not in numbers:
            continue
        before = words[mention.first - 1].text
        for column in columns:
            level = next((level for level in column.levels if level.strip().lower() == before), "")
            if level and column.name != mention.column and is_class_of(column, mention.column):
                last = max(m.last for m in named if m.column == mention.column and m.first <= mention.last + 1)
                found.append(ColumnMention(column.name, level, mention.first - 1, last, SURE_NAME))
    return found


MANY = 12
"""What has more values names the rows."""


def _of_its_column(mention: ColumnMention, words: Sequence[Token]) -> bool:
    """Say whether a part of a level only says of what a column is: the `type of shop` is no fish shop."""
    before = [word.text for word in words[max(0, mention.first - 2) : mention.first]]
    return mention.strength < SURE_NAME and before[1:] == ["of"] and before[0] in name_parts(mention.column)


def _held(mention: ColumnMention, words: Sequence[Token], others: Sequence[ColumnMention]) -> bool:
    """Say whether a word asks for something to be held constant: `control for age` beside a group called control."""
    verb = words[mention.first].text
    after = [word.text for word in words[mention.last + 1 : mention.last + 3]]
    if mention.width > 1 or not verb.startswith("control") or after[:1] != ["for"] or after[1:] == ["each"]:
        return False
    if verb in ("controlling", "controlled"):
        return True
    before = words[mention.first - 1].text if mention.first else ""
    listed = any(
        m.column == mention.column and m.last == mention.first - 2 for m in others
    )  # `drug and control for men`
    return before not in _A_CONTROL and not (before in ("and", "or") and listed)


_A_CONTROL = frozenset("the a our their than vs versus against to in of with from between".split())


def _only_initials(mention: ColumnMention, words: Sequence[Token]) -> bool:
    """Say whether words have no more of a level than its initials and call a test (`Welch's test` is no WT) or persons."""
    own = [word.text for word in words[mention.first : mention.last + 1]]
    after = [word.text for word in words[mention.last + 1 : mention.last + 2]]
    initials = len(own) > 1 and "".join(word[0] for word in own) == mention.level.lower()
    whom = own[0].removesuffix("s") in PERSONS | {"pt", "mice"} or bool(time_unit(own[0]))
    # `patients different` are no PD, and `at 6 months lower` is no ML
    return initials and (whom or "test" in (own[-1], *after))


def _inside(mention: ColumnMention, other: ColumnMention) -> bool:
    return other.width > mention.width and other.first <= mention.first and mention.last <= other.last


_SET_AGAINST = re.compile(
    r"\b(?=(?P<a>[a-z]{3,})\s+(?:[a-z]+\s+)?(?P<by>vs?\.?|versus|against|than|compared (?:with|to)|and|or)\s+(?:the\s+|in\s+)?(?P<b>[a-z]{3,}))",
    re.IGNORECASE,
)


def beginnings(words: Sequence[Token], columns: Sequence[ColumnProfile], text: str) -> list[ColumnMention]:
    """Return two words set against each other whose beginnings are levels of one column: `upstream` and `downstream` for up, down."""
    found: list[ColumnMention] = []
    for match in _SET_AGAINST.finditer(text):
        at = [n for n, w in enumerate(words) if w.start in (match.start("a"), match.start("b"))]
        if len(at) != 2 or words[at[0]].stem == words[at[1]].stem:
            continue
        for column in columns:
            levels = {level.lower(): level for level in column.levels if level.isalpha() and len(level) < 5}
            pair = [next((levels[v] for v in levels if words[n].text.startswith(v)), "") for n in at]
            listed = (
                match["by"].lower() in ("and", "or") and min(map(len, pair)) == 1
            )  # `trees and leave` are no t and l
            if 2 <= len(column.levels) <= 4 and all(pair) and pair[0] != pair[1] and not listed:
                found += [ColumnMention(column.name, level, n, n, 0.8) for n, level in zip(at, pair, strict=True)]
    return found


def _explained(words: Sequence[Token], column: ColumnProfile, text: str) -> list[ColumnMention]:
    """Return the words that a legend or a column's name says its codes stand for: `drug` in `grp(1=drug 2=plac)`."""
    meaning = {said: code for code, said in told_beside(column).items()}
    weights = Counter(part for said in meaning for part in set(name_parts(said)))
    return [
        mention._replace(level=code)
        for said, code in meaning.items()
        for mention in _level(words, column, said, Name(_itself(said), weights, units=False), weights, text)
    ]


_ZYGOUS = {
    "+/+": frozenset("wt wts wildtype wildtypes wild".split()),
    "+/-": frozenset("het hets heterozygous heterozygote heterozygotes".split()),
    "-/-": frozenset(
        "hom homs homozygous homozygote homozygotes mutant mutants ko kos knockout knockouts null nulls".split()
    ),
}
"""What carriers of two, one or no whole copy of a gene are called."""


def _zygous(words: Sequence[Token], column: ColumnProfile) -> list[ColumnMention]:
    """Return the words for genotypes that are written `+/+`, `+/-` and `-/-`: hets, mutants, wt."""
    own = {level.strip(): level for level in column.levels}
    if len(own) < 2 or not own.keys() <= _ZYGOUS.keys():
        return []
    return [ColumnMention(column.name, own[sign], at, at, 0.85)
            for at, word in enumerate(words) for sign in own if word.text in _ZYGOUS[sign]]  # fmt: skip


_LACKING = re.compile(
    r"(?<=\w)[\s(,]+(?:before|without|but not|no|vor|ohne|ne pas|avant|sans|antes|sin)\b.*$", re.IGNORECASE
)


def _itself(said: str) -> str:
    """Return what a code stands for without what it is not: the death of `death before dialysis`."""
    return _LACKING.sub("", said)


def _level(
    words: Sequence[Token], column: ColumnProfile, level: str, name: Name, weights: Counter[str], text: str
) -> list[ColumnMention]:
    if not name.parts:
        return []
    if len(level.strip()) == 1:
        return [ColumnMention(column.name, level, at, at, 0.85) for at in _letters(words, column, level, text)]
    found: list[ColumnMention] = []
    denied = level.strip().lower().split()[0] in NEGATORS
    distinctive = [part for part in name.parts if weights[part] == 1 and len(part) >= 4]
    for first, last in windows(words, text, min(LONGEST, len(name.parts) + 1) + 1):
        window = words[first : last + 1]
        strength = name.strength(window)
        if len(window) == 1:
            compares = _only_compares(words, first, level, column)
            strength = 0.0 if compares else _one_word(window[0], level, name, strength, distinctive, text)
        glued = len(window) > 1 and window[-1].end - window[0].start == sum(len(word.text) for word in window)
        if glued and len(level) <= 3 and not time_unit(window[0].text) and not level.lower().startswith(window[0].text):
            continue  # `DESeq2` and `DUSP1` are names of their own, not D2 and D1
        if len(window) > 2 and (_names_two(window, level, column) or _sets_apart(window)):
            continue  # `rescue and KO` are two levels, not the one called KO+rescue, and `the gel than placebo` is no placebo gel
        if denied and not any(word.text in NEGATORS or word.text.removesuffix("s") in NO for word in window):
            continue  # `the detected ones` are not those `not detected`
        if denied and len(window) == 1 and _denies(window[0], name):
            strength = 0.8  # `negatives` for `not detected`
        if strength >= 0.6:
            found.append(ColumnMention(column.name, level, first, last, round(strength, 3)))
    return found


def _denies(word: Token, name: Name) -> bool:
    return word.text.removesuffix("s") in _NEGATIVE and any(same_meaning("positive", part) for part in name.parts[1:])


def _only_compares(words: Sequence[Token], at: int, level: str, column: ColumnProfile) -> bool:
    """Say whether a word is more or most of a level, and nothing behind it makes it one: `at the higher dose`."""
    base, after = level.strip().lower(), words[at + 1].text if at + 1 < len(words) else ""
    forms = {f"{base}{end}" for end in ("er", "est", "r", "st", f"{base[-1:]}er", f"{base[-1:]}est")}
    forms |= {f"{base[:-1]}{end}" for end in ("ier", "iest")}
    whom = PERSONS | _SIDES_OF | {*name_parts(column.name)}
    return words[at].text in forms and after not in whom and after.removesuffix("s") not in whom


_SIDES_OF = frozenset("group dose level arm one concentration animal mouse mice plant plot".split())


def _letters(words: Sequence[Token], column: ColumnProfile, level: str, text: str) -> list[int]:
    """Return the tokens that name a level of one letter: never it by itself, but `women` where the levels are F and M."""
    told = told_beside(column)
    meant = [
        at
        for at, w in enumerate(words)
        if len(w.text) > 2
        and level not in told  # R is no `resistant` where a legend says `river`
        and w.text not in STOP | _NOT_YES
        and same_meaning(w.text, level.strip().lower())
        and "-" not in text[w.end : w.end + 1]  # `non-inferior`
    ]
    written = rf"\b(?:of|in|for|and|or|vs\.?|versus|against|than|only|type|group|does|did|is|was|will|can)\s+(?P<l>{re.escape(level.strip())})(?![\w'-])"
    if not level.strip().isupper() or level.strip() in "AI":  # no article ends a phrase: `heavier than those on a.`
        written = rf"\b(?:of|in|for|vs\.?|versus|against|than|with|on|to|from|type|group)\s+(?P<l>{re.escape(level.strip())})(?=\s*(?:[,.;:?!)]|$)|\s+(?:and|or|vs|versus|against)\b)"
    starts = {match.start("l") for match in re.finditer(written, text)}  # `the fresh weight of S`
    if level.strip().isupper() and level.strip() not in "AI":
        gone = rf"{_GONE}(?P<l>{re.escape(level.strip())})(?![\w'-])"
        starts |= {match.start("l") for match in re.finditer(gone, text)}  # `leave out the F ones`
    others = "|".join(re.escape(other.strip()) for other in column.levels if other != level)
    than = r"\s+(?:vs\.?|versus|against|than)\s+(?:(?:with|in|on|for|at|under|from|by)\s+)?"
    against = rf"(?<![\w'-])(?:(?:{others}){than}(?P<l>{re.escape(level.strip())})|(?P<m>{re.escape(level.strip())}){than}(?:{others}))(?![\w'-])"
    both = rf"(?<![\w'-])between\s+(?:the\s+)?(?:(?:{others})\s+(?:and|or|&)\s+(?P<l>{re.escape(level.strip())})|(?P<m>{re.escape(level.strip())})\s+(?:and|or|&)\s+(?:{others}))(?![\w'-])"
    starts |= {match.start("l" if match["l"] else "m") for match in re.finditer(both, text)}  # `between m and f mice`
    starts |= {
        match.start("l" if match["l"] else "m") for match in re.finditer(against, text)
    }  # `B versus A, adjusted`
    return meant + [at for at, w in enumerate(words) if w.start in starts]


_GONE = r"\b(?i:leav(?:e|ing) out|exclud(?:e|ing)|drop(?:ping)?|remov(?:e|ing)|omit(?:ting)?|without)\s+(?i:(?:the|all)\s+)?"


def _in_two(mention: ColumnMention, found: Sequence[ColumnMention], words: Sequence[Token], text: str) -> bool:
    """Say whether a letter whose rows go is a level of two columns, so that it names neither."""
    if len(mention.level.strip()) != 1 or not re.search(_GONE + r"\Z", text[: words[mention.first].start]):
        return False
    return any(m.column != mention.column and (m.first, m.last) == (mention.first, mention.last) for m in found)


def _sets_apart(window: Sequence[Token]) -> bool:
    return any(word.text in ("vs", "versus", "against", "than") for word in window[1:-1])


_NOT_YES = frozenset("number numbers count counts positive positives negative negatives".split())
"""Words that are no yes or no of whatever column has letters for these."""


def _names_two(window: Sequence[Token], level: str, column: ColumnProfile) -> bool:
    """Say whether words joined by `and` end in another level of the column."""
    joined = any(word.text in ("and", "or", "vs", "versus", "against", "than") for word in window[1:-1])
    others = {other.strip().lower() for other in column.levels if other != level}
    return joined and (window[-1].text in others or window[0].text in others)


_NEGATIVE = frozenset("negative neg absent undetected".split())
_NAME_LONG = 3
"""A level of more words than this is a remark or an explanation rather than a name."""
_SEVERAL = re.compile(r"\b(?:both|all|two|three|four|five|[2-9])\s+(?:of\s+)?(?:the\s+|these\s+)?$", re.IGNORECASE)


def _one_word(token: Token, level: str, name: Name, strength: float, distinctive: Sequence[str], text: str) -> float:
    """Return how surely a single word names a level, 0 where the word has another meaning."""
    word, written = token.text, text[token.start : token.end]
    remark = len(name.parts) > _NAME_LONG  # of `largest trial, check with Anna` one word is not enough
    if (remark and STOP & set(name.parts)) or _says_else(token, level, name, text):
        return 0.0
    if strength < SURE and any(alike(word, part) >= 0.8 for part in distinctive):
        strength = 0.8
    if strength < SURE and len(word) > 5 and not remark and any(same_meaning(word, part) for part in name.parts):
        strength = 0.8  # `knockout` for `Nlrp3KO`
    if len(level) <= 3 and strength < 0.97 and not same_meaning(word, level.lower()):
        # `the Swedish plants` for SW: a name, not any word that begins so
        proper = token.start > 0 and written[0].isupper() and not written.isupper() and len(word) >= 5
        return 0.8 if proper and level.isupper() and len(level) > 1 and word.startswith(level.lower()) else 0.0
    if len(level) <= 2 and written != level and strength >= 0.97 and not (len(written) == 2 and written.isupper()):
        return 0.0  # `no`, `an`, `oj`: short names count as written only, or in capitals: `KO` of `ko`
    return strength


def _says_else(token: Token, level: str, name: Name, text: str) -> bool:
    """Say whether a single word has a meaning of its own where it stands."""
    word, before = token.text, text[: token.start]
    if (word in STOP or word in _WHEN) and word != level.lower():
        return True
    if time_unit(word) and word not in name.parts:
        return True  # the `year` is no yearling
    if word in NEGATORS | {"non"} and text[token.end : token.end + 1] == "-":
        return True  # the `non` of `non-eaters` is no `no`
    if word in _PLAIN_WORDS and not re.search(r"[=:'\"]\s*$", before):
        return True  # `no p-values` names no level
    if word.removesuffix("s") in PERSONS and word not in name.parts:
        return True  # `the patients` are no sites called Case
    if word.endswith("s") and word not in name.parts and _SEVERAL.search(before):
        return True  # `both arms` are all levels, not the one called treatment
    # `Test every feature`: a verb, not the rows of a level so called
    return word == "test" == level.lower() and (not before or text[token.start : token.end].islower())


_WHEN = frozenset("after before during since until from".split())
_PLAIN_WORDS = frozenset("no yes not none with without".split())
