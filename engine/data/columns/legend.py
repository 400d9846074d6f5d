"""Reads what a legend says of columns: what each is called in words, and what its codes stand for.

A legend is a second sheet, the lines above a header, or a file of its own. People write them in three ways, which may
be mixed: a row a column (`trt | treatment | 0 = control, 1 = drought`), a row a code (`trt | 0 | control`, the name of
the column only in the first of its rows), or codes alone (`D = Dürre`), which then belong to the only column that has
them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from engine.data.columns.cells import NOT_DONE
from engine.data.source import Frame
from engine.domain.profile import ColumnProfile, Profile, Structure
from engine.text.names import in_one, name_pieces
from engine.text.numbers import as_number

Rows = Sequence[Sequence[str]]
MOST_ROWS, MOST_CELLS = 300, 6
_MEASURED = ("number", "count", "share")
_MOST_LEVELS = 12
_MOST_WORDS = 6
"""What is longer describes a column, and calls it nothing."""
_LONGEST = 60
"""Characters of a name in words or of a meaning that are kept."""
_CODE = r"(?<![\w.])(?:[+-]?\d{1,3}|[^\W\d_]\w{0,7}|[+-])"
_SAYS = re.compile(
    rf"(?P<code>{_CODE})\s*(?:=|:|–|—|->|→|\s-\s)\s*(?P<said>[^\W\d][^=;|,\n]*?)"
    rf"(?=\s*(?:[;|,\n/]|$|(?:{_CODE}|[^\w\s]{{1,2}})\s*[=:]))"
)
_LETTERS = re.compile(r"[^\W\d_]{2}")
_MOST_OF_IT = 0.5
"""A table explains another when so many of its first cells name columns of it."""


class Told(NamedTuple):
    """What a legend says of a column."""

    label: str
    codes: dict[str, str]
    """Level as the file writes it -> what it stands for."""


def told_of(rows: Rows, columns: Sequence[ColumnProfile]) -> dict[str, Told]:
    """Return what the rows of a legend say of columns; those of which they say nothing are absent."""
    named = {in_one(column.name): column for column in columns}
    labels: dict[str, str] = {}
    codes: dict[str, dict[str, str]] = {}
    loose: dict[str, str] = {}
    current: list[ColumnProfile] = []
    for row in rows:
        cells = [cell.strip() for cell in row if cell.strip()]
        if not cells:
            continue
        meant, rest = _named(cells, named)
        going_on = not row[0].strip() or any(_level(cells[0], column) for column in current)
        current = meant or (current if going_on else [])
        for column in current:
            codes.setdefault(column.name, {}).update(_codes_of(column, rest))
        if not current:
            loose |= {match["code"]: match["said"] for cell in rest for match in _SAYS.finditer(cell)}
            loose |= {rest[0]: rest[1]} if len(rest) == 2 else {}
        told = [said for column in meant for said in codes[column.name].values()]
        texts = [
            cell
            for cell in rest
            if _LETTERS.search(cell) and "=" not in _short(cell) and not any(said in cell for said in told)
        ]
        a_code = len(rest) > 1 and _is_code(rest[0], meant)
        if len(meant) == 1 and texts and not a_code and len(name := _short(texts[0]).split()) <= _MOST_WORDS:
            labels.setdefault(meant[0].name, " ".join(name))
    for name, told in _of_the_only_one(loose, columns).items():
        codes[name] = codes.get(name) or told
    own = Counter(labels.values())
    kept = {name: _apart(told) for name, told in codes.items() if told}
    # What several columns are called (their group, their unit) tells none of them apart.
    called = {name: label for name, label in labels.items() if own[label] == 1}
    return {name: Told(called.get(name, ""), kept.get(name, {})) for name in {*called, *kept}}


def _apart(told: Mapping[str, str]) -> dict[str, str]:
    """Return code -> its meaning in short; whole where another has the same: `dead, cancer` and `dead, other cause`."""
    short = {code: _short(words) for code, words in told.items()}
    same = Counter(short.values())
    return {code: text if same[text] == 1 else told[code][:_LONGEST] for code, text in short.items()}


def _is_code(cell: str, columns: Sequence[ColumnProfile]) -> bool:
    """Say whether a cell between a name and what is said holds codes: 9 of `smoker | 9 | unknown`, `MN/FS` of a sex."""
    parts = [part.strip() for part in re.split(r"[/,;]", cell)]
    return not _LETTERS.search(cell) or any(_level(part, column) for column in columns for part in parts if part)


def _parts_told(rows: Rows, columns: Sequence[ColumnProfile]) -> dict[str, str]:
    """Return what a legend says of parts that names of columns share: `V2` of `HR V2` and `LVIDDN V2` is day 90."""
    names = {in_one(column.name) for column in columns}
    shared = Counter(part for column in columns for part in {*_runs(column.name)})
    told: dict[str, str] = {}
    for row in rows:
        cells = [cell.strip() for cell in row if cell.strip()]
        part = in_one(cells[0]) if len(cells) == 2 else ""
        if len(part) > 1 and part not in names and shared[part] and _LETTERS.search(cells[1]):
            told.setdefault(part, _short(cells[1]))
    return told


def _runs(name: str) -> list[str]:
    """Return the stretches of a name's pieces, each in one word: `LA/Ao V0` has laao, v0, la, ao."""
    pieces = [in_one(piece) for piece in name_pieces(name)]
    return ["".join(pieces[a:b]) for a in range(len(pieces)) for b in range(a + 1, len(pieces) + 1)]


def with_occasions(structure: Structure, rows: Rows, columns: Sequence[ColumnProfile]) -> Structure:
    """Return the structure with occasions as a legend tells them: baseline and day 90 for V0 and V2."""
    told = _parts_told(rows, columns) if structure.wide else {}
    if not told:
        return structure
    wide = [one.model_copy(update={"labels": [told.get(in_one(label), label) for label in one.labels]})
            for one in structure.wide]  # fmt: skip
    return structure.model_copy(update={"wide": wide})


def _short(words: str) -> str:
    """Return words without what stands in a bracket or behind it, at most so many characters."""
    return (re.split(r"[(,;]", words)[0].strip(" )") or words.strip("() "))[:_LONGEST]


def _codes_of(column: ColumnProfile, cells: Sequence[str]) -> dict[str, str]:
    """Return level -> what some cells say of it: `0 = control`, `0 neg, 1 pos`, or a code and its meaning beside it."""
    if not 0 < len(column.levels) <= _MOST_LEVELS:
        return {}
    pairs = [(match["code"], match["said"]) for cell in cells for match in _SAYS.finditer(cell)]
    listed = "|".join(re.escape(level.removesuffix(".0")) for level in column.levels)
    after = rf"(?:^|[:,;(/])\s*(?P<code>{listed})\s+(?P<said>[^\W\d][^,;/()=]*)"
    pairs += [(match["code"], match["said"]) for cell in cells for match in re.finditer(after, cell)]
    pairs += [(code, said) for code, said in pairwise(cells) if _LETTERS.search(said)]
    told: dict[str, str] = {}
    for code, said in pairs:
        if level := _level(code, column):
            told.setdefault(level, said.strip())
    return told


def _named(cells: Sequence[str], named: Mapping[str, ColumnProfile]) -> tuple[list[ColumnProfile], list[str]]:
    """Return the columns that the first cell names, alone, several, or with what is said behind, and what is said."""
    first, *rest = cells
    if (ends := _RANGE.search(first)) and {in_one(ends["a"]), in_one(ends["b"])} <= named.keys():
        names = list(named)
        a, b = sorted((names.index(in_one(ends["a"])), names.index(in_one(ends["b"]))))
        return [named[name] for name in names[a : b + 1]], rest
    parts = [named.get(in_one(part)) for part in (first, *re.split(r"\s*[/,;]\s*", first))]
    if found := [column for column in dict.fromkeys(part and part.name for part in parts) if column]:
        return [column for column in named.values() if column.name in found], rest
    able = [c for c in named.values() if re.match(rf"{re.escape(c.name)}(?!\w)", first, re.IGNORECASE)]
    column = max(able, key=lambda c: len(c.name), default=None)
    if column is None:
        return [], list(cells)
    return [column], [first[len(column.name) :].strip(" :=-,"), *rest]


_RANGE = re.compile(r"(?P<a>\w+)\s*(?:\.\.\.?|…|\bto\b|\bbis\b|–)\s*(?P<b>\w+)")
"""The first and the last of columns that are coded alike: `exposures (chicken ... tap_water)`."""


def _level(code: str, column: ColumnProfile) -> str:
    """Return the level of a column that a code is, "" for none."""
    if code in column.levels:
        return code
    number = as_number(code)
    return next((level for level in column.levels if number is not None and as_number(level) == number), "")


def _of_the_only_one(loose: Mapping[str, str], columns: Sequence[ColumnProfile]) -> dict[str, dict[str, str]]:
    """Return the codes that stand alone with the only column that has two or more of them, all of its levels told."""
    found: dict[str, dict[str, str]] = {}
    codes = {_level(code, column) or code for code in loose for column in columns}
    whole = [column for column in columns if column.levels and column.levels.keys() <= codes]
    for code in loose:
        # What is the letter of an arm and of a side of a tooth belongs where the other letters are told as well.
        able = [c for c in whole if _level(code, c)] or [column for column in columns if _level(code, column)]
        if len(able) == 1:
            found.setdefault(able[0].name, {})[_level(code, able[0])] = loose[code]
    return {name: told for name, told in found.items() if len(told) > 1}


_CODES = frozenset("-1 -9 -99 -999 -9999 7 8 9 77 88 99 777 888 999 7777 8888 9999".split())
"""What people write for a missing value; the words of a legend decide."""
_DONE = (
    "done|known|measured|tested|available|applicable|recorded|asked|determined|assessed|reported|answered|given|taken|swab|"
    r"sample|specimen|data|answer|response|result|value|info\w*|reading|measurement|record|test"
)
_NOT_THERE = re.compile(
    rf"(?:not? (?:\w+ )?(?:{_DONE})\b|(?:do|does|did)(?: not|n['’]?t) (?:know|remember|recall)|"
    r"unknown|unavailable|missing|n/?a\b|invalid|refused(?:$| to (?:say|answer))|"
    r"(?:\w+ )?error\b|keine? (?:angabe|daten|messung|probe|antwort|wert)|unbekannt|fehlend|fehlt|\w*fehler|"
    r"nicht (?:bekannt|gemessen|bestimmt|bestimmbar|erhoben|durchgef|untersucht|verf|beantwortet)|inconnu|"
    r"non (?:mesur|fait|connu|dispon|renseign)|desconocid|sin (?:dato|respuesta)|no (?:sabe|responde|disponible))",
    re.IGNORECASE,
)
"""An absent value, and no level such as `not working` or `no pain`."""


def called_missing(rows: Rows, frame: Frame) -> dict[str, dict[str, str]]:
    """Return column of numbers -> the codes that a legend calls missing, with its words: 9 is `no swab`."""
    import pandas as pd

    columns: list[ColumnProfile] = []
    for at, name in enumerate(frame.columns if rows else ()):
        if frame.dtypes.iloc[at].kind in "ifO":
            numbers = pd.Series(pd.to_numeric(pd.Series(frame.iloc[:, at].unique()), errors="coerce"))
            present = {f"{number:g}" for number in numbers.dropna().tolist()} & _CODES
            columns += (
                [ColumnProfile(name=str(name), kind="integer", levels=dict.fromkeys(present, 1))] if present else []
            )
    found = {name: said.codes for name, said in told_of(rows, columns).items()}
    told = {
        name: {code: words for code, words in codes.items() if _NOT_THERE.match(words)} for name, codes in found.items()
    }
    return {name: codes for name, codes in told.items() if codes}


def spelled_out(rows: Rows, frame: Frame) -> dict[str, dict[str, str]]:
    """Return column of text -> {cell with what a legend says a code stands for: the code, as other cells have it}."""
    texts = [at for at, kind in enumerate(frame.dtypes) if rows and kind.kind == "O"]
    columns: list[ColumnProfile] = []
    for at in texts:
        levels = {str(cell): 1 for cell in frame.iloc[:, at].dropna().unique()}
        if 1 < len(levels) <= _MOST_LEVELS:
            columns.append(ColumnProfile(name=str(frame.columns[at]), kind="category", levels=levels))
    told = told_of(rows, columns)
    cells = {column.name: {in_one(level): level for level in column.levels} for column in columns}
    found = {
        name: {cells[name][in_one(words)]: code for code, words in said.codes.items() if in_one(words) in cells[name]}
        for name, said in told.items()
    }
    return {name: kept for name, own in found.items() if (kept := {c: code for c, code in own.items() if c != code})}


def with_legend(columns: Sequence[ColumnProfile], rows: Rows) -> list[ColumnProfile]:
    """Return the columns with what a legend says of them."""
    told, parts = told_of(rows, columns), _parts_told(rows, columns)
    found: list[ColumnProfile] = []
    for column in columns:
        said = told.get(column.name, Told("", {}))
        # What is measured stands first in a name, the occasion behind it.
        first = next(
            (parts[run] for run in _runs(column.name) if run in parts and in_one(column.name).startswith(run)), ""
        )
        own = "" if said.label.casefold() in NOT_DONE else said.label  # `lactate | nd | not done` calls nothing nd
        label = own or column.label or (first if len(first.split()) <= _MOST_WORDS else "")
        found.append(column.model_copy(update={"label": label, "codes": column.codes | said.codes}))
    return found


def explains(rows: Rows, columns: Sequence[str]) -> bool:
    """Say whether a table explains another with these columns: its first cells name two or more, and little else.

    A cell may name a column alone or with one of its codes: `out_code 2`.
    """
    names = {in_one(name) for name in columns}
    first = {row[0].strip() for row in rows if row and row[0].strip()}
    called = {
        cell: next((n for n in (in_one(cell), in_one(cell.partition(" ")[0])) if n in names), "") for cell in first
    }
    told = [name for name in called.values() if name]
    return len({*told}) > 1 and len(told) >= _MOST_OF_IT * len(first)


def _spells_out(rows: Rows) -> bool:
    """Say whether each row of a table has a code and its own meaning; the groups of a list of animals are shared."""
    means = [row[1].strip() for row in rows if len(row) == 2]
    return len(means) == len(rows) > 2 and len(set(means)) == len(means) and all(map(_LETTERS.search, means))


def explained(profiles: Sequence[Profile]) -> list[Profile]:
    """Return profiles in which a file that explains the columns of another does so, and serves as no data itself.

    A sheet of samples names columns of its matrix, too; a legend says what codes stand for.
    """
    found = list(profiles)
    for at, book in enumerate(profiles):
        rows: Rows = book.details.get("legend", [])
        for other, profile in enumerate(profiles):
            of_columns = explains(rows, [c.name for c in profile.column_profiles])
            if other == at or not (of_columns or _spells_out(rows)):
                continue
            columns = with_legend(found[other].column_profiles, rows)
            if not any(2 * len(c.codes) > len(c.levels) and c.scale not in _MEASURED for c in columns):
                continue
            found[other] = found[other].model_copy(update={"column_profiles": columns})
            summary = f"Explains the columns of {profile.name}"
            details = {**book.details, "explains": profile.name}
            # A list of codes can still be joined or used to translate ids; what describes columns is no data.
            update = {"types": [], "summary": summary, "warnings": []} if of_columns else {}
            found[at] = found[at].model_copy(update={**update, "details": details})
    return found
