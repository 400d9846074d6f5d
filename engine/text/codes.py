"""What codes stand for, in words: `2` of `status` is `died` where a column's name or the question says so.

Told before a person wherever a level is (the card of a plan, goals, the first sentence of a report), always with the
code in parentheses, so that a meaning can be checked against the file. What nobody told stays a code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from engine.domain.profile import ColumnProfile
from engine.text.names import name_parts
from engine.text.numbers import as_number
from engine.text.stopwords import STOP

Meanings = Mapping[str, Mapping[str, str]]
"""Column -> level as the file writes it -> what it stands for; only what is known."""
_MOST_LEVELS = 12
_LONGEST_CODE = 4
_MANY = 60
"""At most so many names are looked for."""
_NEAR = 40
"""So many characters before its codes a column may stand."""
_WORD = r"[A-Za-z][\w'-]*"
_FEW = rf"{_WORD}(?:[ /-]{_WORD}){{0,3}}"
_MEANS = (
    r"(?:=|:|\b(?:is|are|was|were|means?|meaning|stands?\s+for|for|as)\b|\bcoded(?:\s+(?:as|for))?\b)"
    r"\s*[\"'“]?(?:(?:the|an?)\s+)?"
)
_JOINED = re.compile(r"[\s,;/|&()]*(?:(?:and|or|but|while)\s+)?", re.IGNORECASE)
_WITHIN = frozenset("no not non of with without from by in on after before".split())
"""Words without a meaning of their own that may stand within one: `died of cancer`, `not treated`."""
_SEX = {"m": "male", "f": "female", "w": "female"}
_YES_NO = frozenset("yes no".split())


class _Said(NamedTuple):
    """A code of which a text says what it stands for."""

    code: str
    words: str
    start: int
    end: int
    sure: bool
    """False where the form alone says too little (`1 is ...`), so that a second code must be told beside it."""
    column: str = ""
    """The column that stands in the statement itself."""


def meanings(columns: Sequence[ColumnProfile], question: str = "") -> dict[str, dict[str, str]]:
    """Return what codes of columns stand for: by a legend or the key in a column's name, and by what the question says.

    Of a column called like a state (`fall`, `diabetes`) 1 is yes and 0 is no.

    Args:
        columns: of one file.
        question: the words of the person who asks, whose statements go before those of the names.

    Returns:
        Column -> level -> words; columns and levels of which nothing is known are absent.
    """
    able = [column for column in columns if 2 <= len(column.levels) <= _MOST_LEVELS]
    found = {column.name: key for column in able if (key := told_beside(column) or _of_state(column))}
    for name, told, _ in _of_question(able, _perhaps_named(columns, question), question):
        found[name] = {**found.get(name, {}), **told}
    return {name: {level: _spelt(name, words) for level, words in told.items()} for name, told in found.items()}


def statements_told(columns: Sequence[ColumnProfile], question: str) -> list[tuple[int, int]]:
    """Return the spans of characters in which a question says what codes of columns stand for."""
    able = [column for column in columns if 2 <= len(column.levels) <= _MOST_LEVELS]
    return [span for *_, span in _of_question(able, _perhaps_named(columns, question), question)]


def in_words(level: str, known: Mapping[str, str] | None, more: str = "") -> str:
    """Return a level with what it stands for: `died (2)`; as it is where that is not known.

    Args:
        level: as the file writes it.
        known: level -> words, of its column.
        more: what else belongs into the parentheses, such as a number of rows.
    """
    words = (known or {}).get(level, "")
    inside = "; ".join(text for text in (level if words else "", more) if text)
    return f"{words or level}{f' ({inside})' if inside else ''}"


def without_key(name: str) -> str:
    """Return the name of a column without the key of its codes: `sex` of `sex (1=m 2=f)` and `sex_1m_2f`."""
    bare = re.sub(r"[\s_]*[(\[{][^()\[\]{}]*[=:][^()\[\]{}]*[)\]}]\s*$", "", name)
    bare = re.sub(r"(?:[\s_,;:.-]+-?\d{1,2}\s*[=:]\s*[A-Za-z]\w*)+$", "", bare)
    if len(_GLUED.findall(bare)) > 1:
        bare = re.sub(r"(?:[\s_-]+\d[ _-]?[A-Za-z]+){2,}$", "", bare)
    return bare.strip(" _-:,;") or name


def reworded(text: str, known: Meanings) -> str:
    """Return a sentence with the codes of columns in words: `status = 2` as `status = died (2)`.

    Only what stands right behind its column's name is put in words; a code by itself could be of any column. What
    follows a code in parentheses is taken into its own: `feed 2 (32.4)` as `feed new (2; 32.4)`. Keys in the names of
    columns are left out (`sex` for `sex (1=m 2=f)`).
    """
    for name in sorted(known, key=len, reverse=True):
        codes = "|".join(re.escape(level) for level in sorted(known[name], key=len, reverse=True))
        lead = rf"(?<!\w){re.escape(name)}(?P<quote>['\"`]?)(?P<sign>\s*(?:==?|:|\bis not\b|\bis\b|\s)\s*)"
        listed = rf"(?P<codes>(?:{codes})(?:(?:, | or | and )(?:{codes}))*)(?![\w%]|[.,]\d)(?: \((?P<more>[^()]*)\))?"

        def told(match: re.Match[str], name: str = name, codes: str = codes) -> str:
            more = match["more"] or ""
            if more in known[name].values():
                return match[0]  # in words already
            if match["codes"] in ("A", "I") and ":" in match["sign"] and _PROSE.match(match.string, match.end()):
                return match[0]  # `arm: A change was seen` begins a sentence
            said = re.sub(codes, lambda code: in_words(code[0], known[name], more), match["codes"])
            return f"{without_key(name)}{match['quote']}{match['sign']}{said}"

        text = re.sub(lead + listed, told, text)
        if without_key(name) != name:
            text = text.replace(name, without_key(name))
    return text


_PROSE = re.compile(r" [a-z]")


# ==== names of columns ====

_GLUED = re.compile(r"(?<![A-Za-z0-9])(\d)[ _-]?([A-Za-z]+)(?![A-Za-z0-9])")
"""`sex_1m_2f`, `anaemia 0 no 1 yes`"""
_PAIR = re.compile(r"([\w.+-]+)\s*[=:]\s*([\w.+-]+(?: (?![\w.+-]+\s*[=:])[A-Za-z][\w-]*)*)")


def told_beside(column: ColumnProfile) -> dict[str, str]:
    """Return level -> what a legend, or else the key in the column's name, says that it stands for."""
    return column.codes or key_of_name(column)


def key_of_name(column: ColumnProfile) -> dict[str, str]:
    """Return level -> what a column's name says of it: `drug` for 1 of `grp(1=drug 2=plac)`."""
    pairs = [(a, b) if _level(a, column) else (b, a) for a, b in _PAIR.findall(column.name)]
    glued = _GLUED.findall(column.name)
    pairs += glued if {code for code, _ in glued} == set(column.levels) else []
    told = {level: words for code, words in pairs if (level := _level(code, column)) and not as_number(words)}
    return told if len(set(told.values())) == len(told) else {}


_NO_STATE = frozenset(
    """
    arm batch category cens censor censored censoring center centre class cluster code cohort condition dose engine
    gender geno genotype grade group grp kind label level method model month outcome period phase race rater region
    response result score sex side site species stage state status strain target therapy time treatment type version
    visit week year
    """.split()
)
"""Words of columns whose 0 and 1 name two kinds, or are turned round in some files: `sex`, `cens`."""


def _of_state(column: ColumnProfile) -> dict[str, str]:
    """Return yes and no for 1 and 0 of a column whose name is that of a state, in letters alone or as a word."""
    parts = name_parts(column.name)
    short = column.name.isupper() and column.name.isalpha()  # `CKD`, an illness by its letters
    called = (short or any(len(part) > _LONGEST_CODE - 1 for part in parts)) and not _NO_STATE & set(parts)
    return {"0": "no", "1": "yes"} if called and set(column.levels) == {"0", "1"} else {}


def _level(code: str, column: ColumnProfile) -> str:
    """Return the level of a column that a code is, "" for none."""
    if code in column.levels:
        return code
    number = as_number(code)
    return next((level for level in column.levels if number is not None and as_number(level) == number), "")


def _spelt(name: str, words: str) -> str:
    """Return words with the letters of a column of sexes spelt out."""
    return _SEX.get(words.lower(), words) if {"sex", "gender"} & set(name_parts(name)) else words


# ==== the question ====


def _of_question(
    columns: Sequence[ColumnProfile], names: Sequence[str], question: str
) -> Iterator[tuple[str, dict[str, str], tuple[int, int]]]:
    """Yield columns with what a question says of their codes and where, the statements of one breath together."""
    said = _statements(question, columns, names)
    for block in _blocks(said, question):
        codes = {item.code for item in block}
        able = [column for column in columns if all(_level(code, column) for code in codes)]
        words = {item.words.lower() for item in block}
        if len(words) < len(block) or not (len(codes) > 1 or any(item.sure for item in block)):
            continue
        for column in _meant(block, able, question):
            told = {_level(item.code, column): item.words for item in block}
            yield column.name, told, (block[0].start, block[-1].end)


def _perhaps_named(columns: Sequence[ColumnProfile], question: str) -> list[str]:
    """Return the columns of whose names the question has some piece; of many sharing one those that are there whole."""
    asked = " ".join(re.split(r"[\s_.-]+", question.lower()))
    pieces = {column.name: re.split(r"[\s_.-]+", without_key(column.name).lower()) for column in columns}
    found = [name for name, own in pieces.items() if any(piece and piece in asked for piece in own)]
    return found if len(found) <= _MANY else [name for name in found if " ".join(pieces[name]) in asked][:_MANY]


def _meant(block: Sequence[_Said], able: Sequence[ColumnProfile], question: str) -> list[ColumnProfile]:
    """Return the columns whose codes are told: the one beside them, else the only one that has them.

    Of a yes and a no that belong to no column beside them it is all that have these codes.
    """
    inside = [column for column in able if any(item.column == column.name for item in block)]
    if inside:
        return inside[:1]
    before = question[max(0, block[0].start - _NEAR) : block[0].start]
    before = re.split(r"[.?!;]\s", before)[-1]
    near = {*_perhaps_named(able, before)}
    placed = [(place, column) for column in able
              if column.name in near and (place := _last_place(column.name, before)) >= 0]  # fmt: skip
    if placed:
        return [max(placed, key=lambda pair: pair[0])[1]]
    yes_no = {item.words.lower() for item in block} <= _YES_NO
    return list(able) if len(able) == 1 or yes_no else []


def _last_place(name: str, text: str) -> int:
    """Return where a column's name ends in a text for the last time, -1 where it does not stand there."""
    return max((match.end() for match in re.finditer(_name_pattern(name), text, re.IGNORECASE)), default=-1)


def _name_pattern(name: str) -> str:
    """Return a pattern for a column's name, also without its key and with blanks for its signs."""
    forms = [re.sub(r"(?:\\?[\s_.-])+", r"[\\s_.-]+", re.escape(form)) for form in (name, without_key(name))]
    return rf"(?<!\w)(?:{'|'.join(dict.fromkeys(forms))})(?!\w)"


def _blocks(said: Sequence[_Said], question: str) -> list[list[_Said]]:
    blocks: list[list[_Said]] = []
    for item in said:
        last = blocks[-1] if blocks else []
        again = any(item.code == other.code for other in last)
        apart = item.column and last and last[-1].column != item.column
        if last and not again and not apart and _JOINED.fullmatch(question, last[-1].end, item.start):
            last.append(item)
        else:
            blocks.append([item])
    return blocks


def _statements(question: str, columns: Sequence[ColumnProfile], names: Sequence[str]) -> list[_Said]:
    """Return what a text says of codes, in its order, none of which share a character."""
    codes = {level for column in columns for level in column.levels if len(level) <= _LONGEST_CODE}
    codes |= {level.removesuffix(".0") for level in codes}
    if not codes or not question:
        return []
    code = (
        rf"(?<![\w.,-])(?P<code>{'|'.join(re.escape(c) for c in sorted(codes, key=len, reverse=True))})(?![\w%]|[.,]\d)"
    )
    called = "|".join(_name_pattern(name) for name in names) or "(?!)"
    column = rf"(?:(?P<column>(?i:{called}))['\"`]?\s*(?:==?|:|is\b)?\s*)"
    forms = (
        (rf"{column}{code}\s*\(\s*(?P<said>{_FEW})\s*\)", True),
        (rf"(?P<said>(?:(?:not|no|non|never)[ -])?{_WORD})\s*\(\s*{column}?{code}\s*\)", False),
        (rf"{code}\s*=\s*[\"'“]?(?:(?:the|an?)\s+)?(?P<said>{_FEW})", True),
        (rf"{code}\s*{_MEANS}(?P<said>{_FEW})", False),
        (rf"(?P<said>(?:(?:not|no|non|never)[ -])?{_WORD})\s*=\s*{code}", True),
        (rf"{column}{code}\s+(?P<said>{_FEW})(?=\s*,\s*(?:and\s+)?-?\d+\s+[A-Za-z][A-Za-z' -]*[,;.)])", False),
        (rf"(?<=[(,/])\s*{code}\s+(?P<said>{_FEW})(?=\s*[,;/).])", False),
    )
    found: list[_Said] = []
    taken: list[tuple[int, int]] = []
    for form, sure in forms:
        for match in re.finditer(form, question):
            words = _cleaned(match["said"], question[match.end("said") :])
            start = min(match.start("said"), match.start("code"))
            if not words or _is_name(match["said"], names) or any(a < match.end() and start < b for a, b in taken):
                continue
            named = match.groupdict().get("column")
            own = next((n for n in names if named and re.fullmatch(_name_pattern(n), named, re.IGNORECASE)), "")
            end = match.start("said") + len(words) if match.start("said") > match.start("code") else match.end()
            end = max(end, match.end("code"))
            closed = match.end() if question[end : match.end()].strip() in (")", "") else end
            found.append(_Said(match["code"], words, start, closed, sure or bool(own), own))
            taken.append((start, closed))
    return sorted(found, key=lambda item: item.start)


def _is_name(words: str, names: Iterable[str]) -> bool:
    """Say whether words are a column's name: `status = 2` says nothing of what 2 stands for."""
    own = name_parts(words)
    return any(own == name_parts(without_key(name)) or (len(own) == 1 and own[0] in name_parts(name)) for name in names)


def _cleaned(said: str, after: str) -> str:
    """Return the words that a code stands for: all that is set off by a sign, else the first with what denies it."""
    pieces = re.split(r"(?<=\w) ", said)
    kept: list[str] = []
    for piece in pieces:
        if piece.lower() in STOP and piece.lower() not in _WITHIN and piece.lower() not in ("yes", "no"):
            break
        kept.append(piece)
    whole = len(kept) == len(pieces) and re.match(r"\s*(?:[,;.:)/!?\"'”\]]|$|(?:and|or|but|while)\b)", after)
    if not whole and len(kept) == len(pieces):
        kept = kept[: 2 if kept[0].lower() in _WITHIN else 1]
    while len(kept) > 1 and kept[-1].lower() in _WITHIN:
        kept.pop()
    return " ".join(kept) if kept and kept[0].lower() not in STOP - _WITHIN else ""
