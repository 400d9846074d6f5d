"""Rows that are left out, or kept alone, by their own name: `without S07`, `S07 is a bad library, drop it`, `leave out rows A and H of the plate`.

A name is a cell of a column that names rows or whom they are of. What is no such cell names nothing, and the phrase is refused where
it is looked through (`leaving_out.not_understood`).
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from engine.planning.naming.phrases import phrases
from engine.planning.reading.leaving_out import CODE, CODES_OUT, POINTS_BACK
from engine.planning.reading.reading import Restriction
from engine.planning.tables.sheets import Data, Sheet, is_id
from engine.text.prose import listed
from engine.text.tokens import Token

_WELL = re.compile(r"(?P<row>[A-P])0?(?P<column>[1-9]|1\d|2[0-4])")
_OF_PLATE = re.compile(
    r"\b(?P<kind>rows?|columns?|cols?)\s+(?P<which>(?:[A-P]|[1-9]|1\d|2[0-4])(?:\s*(?:,\s*and|,|and|&|\+)\s*(?:[A-P]|[1-9]|1\d|2[0-4]))*)\b(?!\.\d)"
)


def named_rows(question: str, words: Sequence[Token], data: Data) -> list[Restriction]:
    """Return the rows that a question leaves out or keeps alone by their names, sheet by sheet."""
    found: list[Restriction] = []
    for start, end, keeps in _stretches(question):
        at = [n for n, word in enumerate(words) if start <= word.start < end]
        for sheet in data.sheets if at else ():
            for column, values, said in (*_by_name(question[start:end], sheet), *_on_plate(question[start:end], sheet)):
                what = "kept alone" if keeps else "left out"
                why = f"{said} of {column!r} {'is' if len(values) == 1 else 'are'} {what}, as the question says."
                found.append(
                    Restriction(column, "in" if keeps else "not in", values, at[0], at[-1], sure=True, why=why)
                )
    return found


def _stretches(question: str) -> Iterator[tuple[int, int, bool]]:
    """Yield from where to where rows are named that go (or are kept alone, True)."""
    outs = [(match.start(), *match.span("codes")) for match in CODES_OUT.finditer(question)]
    own: list[tuple[int, int, bool]] = []
    for phrase in phrases(question):
        inside = [at for at, _, _ in outs if phrase.keeps and phrase.first <= at < phrase.last]
        own.append((phrase.first, min([phrase.last, *inside]), phrase.keeps))  # `only liver, without S07` keeps no S07
    own += [(match.start(), match.start("out"), False) for match in POINTS_BACK.finditer(question)]
    yield from own
    for _, start, end in outs:
        if not any(a <= start and end <= b for a, b, _ in own):
            yield start, end, False


def _by_name(text: str, sheet: Sheet) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Yield (column, values, as told) for names in a text that are cells of a column of names."""
    codes = re.findall(CODE, text)
    subjects = {item.subject for item in sheet.structure.repeated}
    for column in sheet.columns if codes else ():
        if not is_id(column) and (column.levels or column.name not in subjects):
            continue
        cells = {_plain(cell): cell for cell in sheet.frame()[column.name].dropna().astype(str)}
        own = tuple(dict.fromkeys(cells[_plain(code)] for code in codes if _plain(code) in cells))
        if own:
            yield column.name, own, listed(list(map(repr, own)))
            return


def marks_left_out(question: str, data: Data) -> Iterator[tuple[int, int]]:
    """Yield where words name cells that are read as missing, in phrases that leave them out: `the pending one leave out`.

    Rows without a value are left out where it is needed, so nothing else is to be done.
    """
    marks = {mark.strip().lower() for sheet in data.sheets for mark in _marks(sheet)}
    for start, end, keeps in _stretches(question):
        text = question[start:end].lower()
        for mark in () if keeps else marks:
            said = re.search(rf"(?<!\w){re.escape(mark)}(?!\w)", text) if _SAYS.search(mark) else None
            if said is not None:
                yield start + said.start(), start + said.end()


_SAYS = re.compile(r"[^\W\d_]{3}")


def _marks(sheet: Sheet) -> Iterator[str]:
    """Yield the cells that a file's reader takes for missing, of all columns together or one by one."""
    known: list[str] | dict[str, list[str]] = sheet.profile.types[0].read.get("na", [])
    for marks in known.values() if isinstance(known, dict) else [known]:
        yield from map(str, marks)


def _plain(name: str) -> str:
    """Return a name without signs, case and zeros before its number: s7 for `S07` and `s-7`."""
    return re.sub(r"(?<!\d)0+(?=\d)", "", re.sub(r"[\W_]", "", name).lower())


def _on_plate(text: str, sheet: Sheet) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Yield (column, wells, as told) for rows and columns of a plate."""
    for match in _OF_PLATE.finditer(text):
        which = {*re.findall(r"[A-P]|\d+", match["which"])}
        for column in sheet.columns:
            cells = list(dict.fromkeys(sheet.frame()[column.name].dropna().astype(str))) if column.distinct > 1 else []
            wells = {cell: well for cell in cells if (well := _WELL.fullmatch(cell.strip()))}
            part = "row" if match["kind"].startswith("row") else "column"
            own = tuple(cell for cell, well in wells.items() if well[part] in which)
            if len(wells) == len(cells) > 1 and own:
                yield column.name, own, f"{len(own)} wells ({match[0]})"
                return
