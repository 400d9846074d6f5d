"""Reads workbooks: the first sheet that holds a table and is no legend of another, whatever stands above its header."""

from __future__ import annotations

import re
import statistics
import warnings as python_warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from engine.data.columns.cells import fill_blocks, totals_below, totals_warning, units_row
from engine.data.columns.column import whole_again
from engine.data.columns.legend import MOST_CELLS, MOST_ROWS, explains
from engine.data.columns.plates import unfolded, wells_said
from engine.data.columns.sheets import with_sheets_beside
from engine.data.source import Frame, TableSource, UnusableFile, some
from engine.data.structure.problems import none_kept
from engine.data.structure.scales import is_level_none

MAX_EXCEL_CELLS = 400_000
"""Workbooks are slow to read: about three seconds for this many cells."""
_HEAD = 60
LEGEND = 0.05
"""A sheet with a smaller share of the cells of another explains it: codes, units, settings."""
_FOUND, _REPEATS = 0.9, 1.5
"""A list is of what another sheet names when it has so many of its names, which stand there so often on average."""
_SOME, _TWO = 10, 2
_MOST_SHEETS = 8
"""So many further sheets are looked at."""
_Read = TypeVar("_Read")
_Sheet = tuple[str, int, int, int]
"""Its name, the row of its header, how many columns its table has, how many rows it claims."""


class _Book(NamedTuple):
    """A workbook as far as it has to be read to know which of its sheets are tables."""

    path: Path
    titles: list[str]
    tables: list[_Sheet]
    """Sheets with a table that is no legend of another."""
    lines: dict[str, list[list[str]]]
    """What stands above the header of a table, and in a sheet that is none."""
    frames: dict[str, Frame]
    """The tables as they stand, where there are several and not too much in them to be read whole."""


def read_excel(path: Path, sheet: str = "") -> TableSource:
    """Read a sheet of an .xlsx workbook, the first usable one unless it is named.

    Raises:
        UnusableFile: when it is damaged or no sheet holds a table.
    """

    def read() -> TableSource:
        book = _opened(path)
        return _source(book, next((one for one in book.tables if one[0] == sheet), None) or _main(book))

    return _or_unusable(path, read)


def read_sheets(path: Path) -> list[TableSource]:
    """Read the first usable sheet of an .xlsx workbook and then, where there are more with tables of their own, these.

    Raises:
        UnusableFile: when it is damaged or no sheet holds a table.
    """

    def read() -> list[TableSource]:
        book = _opened(path)
        main = _main(book)
        others = [one for one in book.tables if one != main and one[0] in book.frames][:_MOST_SHEETS]
        return _without_layouts([_source(book, one) for one in (main, *others)])

    return _or_unusable(path, read)


def _without_layouts(sources: list[TableSource]) -> list[TableSource]:
    """Return the tables of a workbook without the layouts of its plates, and without notes beside these."""
    layouts = [source.read["plate"]["layout"] for source in sources if "plate" in source.read]
    if not layouts:
        return sources
    return [one for one in sources if one.read["sheet"] not in layouts and (
        "plate" in one.read or one.frame.shape[1] > _NOTES or one.frame.select_dtypes("number").shape[1]
    )]  # fmt: skip


_NOTES = 2
"""Notes beside a plate have so many columns of words."""


def _or_unusable(path: Path, read: Callable[[], _Read]) -> _Read:
    try:
        with python_warnings.catch_warnings():
            python_warnings.simplefilter("ignore")
            return read()
    except (UnusableFile, MemoryError):
        raise
    except Exception as error:
        told = " ".join(str(error).split())[:160] or type(error).__name__
        message = f"{path.name} is not a readable Excel workbook ({told}); save it again as .xlsx or CSV."
        raise UnusableFile(message) from error


def _opened(path: Path) -> _Book:
    import openpyxl
    import pandas as pd

    # An open file, because openpyxl goes by the name's ending.
    with path.open("rb") as handle:
        book = openpyxl.load_workbook(handle, read_only=True, data_only=True)
        usable: list[_Sheet] = []
        for sheet in book.worksheets:
            start, width = _header_row([list(row) for row in sheet.iter_rows(max_row=_HEAD, values_only=True)])
            if start is not None:
                usable.append((sheet.title, start, width, sheet.max_row or 0))
        # A single column is a cover page or notes as long as another sheet has a table.
        found = [sheet for sheet in usable if sheet[2] > 1] or usable[:1]
        tables = [sheet for sheet in found if not _is_legend(book, sheet, found)]
        above = {title: start for title, start, _, _ in tables}
        lines = {sheet.title: _lines(sheet, above.get(sheet.title, MOST_ROWS)) for sheet in book.worksheets}
        titles = [sheet.title for sheet in book.worksheets]
        book.close()
    if not usable:
        message = f"{path.name} has no sheet with a table (a header and rows below it); check the workbook."
        raise UnusableFile(message)
    few = len(tables) > 1 and sum(sheet[2] * sheet[3] for sheet in tables) <= MAX_EXCEL_CELLS
    frames = {one[0]: pd.read_excel(path, sheet_name=one[0], skiprows=one[1]) for one in tables} if few else {}
    return _Book(path, titles, tables, lines, frames)


def _main(book: _Book) -> _Sheet:
    """Return the sheet that is read: the first that is no list of what another names."""
    frames = book.frames

    def lists(title: str) -> bool:
        return any(_key(frames[title], frames[other]) for other in frames if other != title)

    return next((sheet for sheet in book.tables if frames and not lists(sheet[0])), book.tables[0])


def _beside(book: _Book, sheet: _Sheet) -> list[dict[str, Any]]:
    """Return the sheets that stand beside the rows of this one.

    They have a row for each animal, site or patient, a column of which this one repeats.
    """
    own = book.frames.get(sheet[0])
    return [
        {"sheet": title, "by": by} | ({"skip": start} if start else {})
        for title, start, _, _ in book.tables
        if own is not None and title != sheet[0] and (by := _key(book.frames[title], own))
    ]


def _none_levels(book: _Book, title: str, frame: Frame, skip: list[int], limit: int) -> dict[str, int]:
    """Put the word None back into columns in which it is a group, and return how many cells of each hold it."""
    names = frame.columns.tolist()
    gaps = [at for at, name in enumerate(names) if names.count(name) == 1 and frame.iloc[:, at].isna().any()]
    able = [at for at in gaps if is_level_none(frame.iloc[:, at])]
    if not able:
        return {}
    import pandas as pd

    words = pd.read_excel(book.path, sheet_name=title, skiprows=skip, nrows=limit, dtype=str, keep_default_na=False)
    found: dict[str, int] = {}
    for place in able if len(words) == len(frame) else ():
        said = (words.iloc[:, place] == "None").to_numpy()
        if said.any():
            name = str(frame.columns[place])
            frame[name] = frame[name].mask(said, "none")
            found[name] = int(said.sum())
    return found


def _source(book: _Book, sheet: _Sheet) -> TableSource:
    import pandas as pd

    path, (title, start, width, last), beside = book.path, sheet, _beside(book, sheet)
    limit = max(200, MAX_EXCEL_CELLS // max(1, width))
    notes: list[str] = []
    frame, out, units = _without_extra_rows(book, sheet, limit, notes)
    plate = _plate(book, title, frame)
    if plate:
        frame = unfolded(frame, path, plate)
        notes.append(
            f"{path.name}: the sheet {title!r} is a plate; it is read as one row a well, with what the sheet "
            f"{plate['layout']!r} says is in it."
        )
    headers = [str(name).strip() for name in frame.columns]
    frame.columns = headers
    none = {} if plate else _none_levels(book, title, frame, [*range(start), *out], limit)
    notes += none_kept(path.name, none)
    frame = whole_again(frame[~frame.isna().all(axis=1)].reset_index(drop=True).infer_objects())
    read: dict[str, Any] = {"sheet": title} | ({"skip": start} if start else {})
    read |= ({"leave_out": out} if out else {}) | ({"plate": plate} if plate else {})
    read |= {"none": [*none]} if none else {}
    if beside:
        read["beside"] = beside
        frame = with_sheets_beside(frame, path, beside)
        headers = [str(name) for name in frame.columns]
        told = ", ".join(f"{one['sheet']!r} by {one['by']!r}" for one in beside)
        notes.append(f"{path.name}: each row of the sheet {title!r} has what belongs to it from the sheet {told}.")
    used = {one[0] for one in book.tables} - ({plate["layout"]} if plate else set())
    if explaining := [name for name in book.titles if name not in used]:
        notes.append(f"{path.name}: {some(explaining)} is read for what it says of columns and codes.")
    if others := [name for name in book.titles if name in used - {title, *(one["sheet"] for one in beside)}]:
        way = "name the sheet or its columns in the question if you mean another"
        way = way if book.frames else "save another sheet as a file of its own if you mean that one"
        notes.append(
            f"{path.name} has {len(book.titles)} sheets; the sheet {title!r} is used, not {some(others)}: {way}."
        )
    first = frame.iloc[:, 0].map(lambda value: "" if pd.isna(value) else str(value).strip()).tolist()
    first = fill_blocks(path.name, frame, first, read, notes, merged=_merged(path, title, frame, start, out))
    rows = max(len(frame), last - start - 1) if len(frame) >= limit else len(frame)
    legend = [row for name in book.titles if name == title or name not in used for row in book.lines[name]]
    return TableSource(
        frame=frame, read=read, rows=rows, format="xlsx", headers=headers, warnings=notes, first_column=first,
        details={"sheets": book.titles, "legend": legend}
        | ({"beside": said} if (said := [row for name in explaining for row in book.lines[name]]) else {})
        | ({"units": {headers[i]: unit for i, unit in units.items()}} if units else {}),
    )  # fmt: skip


def _plate(book: _Book, title: str, frame: Frame) -> dict[str, str]:
    """Return the layout of a sheet that is a plate and what its readings are called, {} where it has none.

    A plate has the letters of its rows in the first column and 1, 2, 3 ... above the others; most of it is numbers.
    """
    import pandas as pd

    numbers = [str(name).strip().removesuffix(".0") for name in frame.columns[1:]]
    letters = [str(cell).strip() for cell in frame.iloc[:, 0].dropna()] if len(frame.columns) else []
    wells = frame.iloc[:, 1:]
    if len(numbers) < _COLUMNS or numbers != [str(k + 1) for k in range(len(numbers))] or len(letters) < _ROWS:
        return {}
    read = wells.apply(pd.to_numeric, errors="coerce").notna().to_numpy().sum()
    if letters != [chr(ord("A") + k) for k in range(len(letters))] or 2 * read < wells.notna().to_numpy().sum():
        return {}
    own = {f"{a}{n}" for a in letters for n in numbers}
    for other in (name for name in book.titles if name != title):
        said = wells_said(pd.read_excel(book.path, sheet_name=other, header=None, dtype=str))
        words = [text for well, text in said.items() if well in own and re.search(r"[^\W\d_]", text)]
        if 2 * len(words) > read:
            return {"layout": other, "value": title if _MEASURED.search(title) else "reading"}
    return {}


_COLUMNS, _ROWS = 6, 4
"""So many columns and rows has the smallest plate."""
_MEASURED = re.compile(r"(?:^|[\W_])(?:A\d{3}|OD|RFU|RLU|abs|fluo|lumi)", re.IGNORECASE)


def _key(listed: Frame, of: Frame) -> str:
    """Return the column that names each row of a list once and the rows of another table again and again, "" for none.

    A table with a row a name is none: what stands beside a matrix of genes is no further sample.
    """
    columns = {str(name).strip(): name for name in of.columns}
    for name in listed.columns[:3]:
        if (own := str(name).strip()) not in columns:
            continue
        names, wanted = listed[name].dropna(), of[columns[own]].dropna()
        repeats = len(wanted) >= _REPEATS * max(1, wanted.nunique())
        if names.is_unique and repeats and wanted.isin(set(names)).mean() >= _FOUND:
            return own if len(set(listed.columns) - set(of.columns)) else ""
    return ""


def _header(book: Any, sheet: _Sheet) -> list[str]:
    title, start, _, _ = sheet
    (row,) = book[title].iter_rows(min_row=start + 1, max_row=start + 1, values_only=True)
    return [str(cell) for cell in row if cell is not None]


def _lines(sheet: Any, most: int) -> list[list[str]]:
    """Return the first rows of a sheet as texts, none of one that has more rows than a legend."""
    if not most or (most == MOST_ROWS and (sheet.max_row or 0) > MOST_ROWS):
        return []
    rows = sheet.iter_rows(max_row=most, max_col=MOST_CELLS, values_only=True)
    return [["" if cell is None else str(cell) for cell in row] for row in rows]


def _is_legend(book: Any, own: _Sheet, tables: list[_Sheet]) -> bool:
    """Say whether a sheet only explains another: it names its columns, or has less than a twentieth of its cells."""
    if own[3] <= MOST_ROWS and any(
        explains(_lines(book[own[0]], MOST_ROWS), _header(book, o)) for o in tables if o != own
    ):
        return True
    if _measures(book, own):
        return False
    cells = _cells(book, own, LEGEND * MAX_EXCEL_CELLS) if len(tables) > 1 else MAX_EXCEL_CELLS
    return cells < LEGEND * MAX_EXCEL_CELLS and any(
        LEGEND * _cells(book, other, cells / LEGEND + other[2]) > cells for other in tables if other is not own
    )


def _measures(book: Any, own: _Sheet) -> bool:
    """Say whether a sheet holds numbers in most of its columns, in some rows: no legend does, however short it is."""
    title, start, width, _ = own
    rows = [*book[title].iter_rows(min_row=start + 2, max_row=start + 1 + _HEAD, max_col=width, values_only=True)]
    numbers = [sum(isinstance(row[at], (int, float)) for row in rows if len(row) > at) for at in range(width)]
    return 2 * sum(count >= max(_SOME, len(rows) / 2) for count in numbers) >= max(_TWO, width)


def _cells(book: Any, sheet: _Sheet, most: float) -> int:
    """Return how many cells the filled rows of a sheet have, up to `most`; what a workbook claims may be far more."""
    title, _, width, _ = sheet
    rows = book[title].iter_rows(max_row=int(most // width) + _HEAD, values_only=True)
    return width * sum(any(cell is not None for cell in row) for row in rows)


def _without_extra_rows(
    book: _Book, sheet: _Sheet, limit: int, notes: list[str]
) -> tuple[Frame, list[int], dict[int, str]]:
    """Read a sheet without a row of units and totals; return it, the rows left out and the units."""
    import pandas as pd

    path, (title, start, _, _) = book.path, sheet
    known = book.frames.get(title)
    frame = (
        pd.read_excel(path, sheet_name=title, skiprows=start, nrows=limit) if known is None else known[:limit].copy()
    )
    rows = frame.astype(object).where(frame.notna(), None).to_numpy().tolist()
    units = units_row(rows[0], rows[1:60]) if len(rows) > 1 else {}
    out = [start + 1] if units else []
    if units:
        shown = ", ".join(f"{frame.columns[i]} in {unit}" for i, unit in list(units.items())[:4])
        notes.append(f"{path.name}: the row below the header holds units ({shown}) and is left out.")
    body = [index for index, row in enumerate(rows) if any(cell is not None for cell in row)][len(out) :]
    if len(rows) < limit and (totals := totals_below([rows[index] for index in body])):
        out += [start + 1 + index for index in body[-len(totals) :]]
        notes.append(totals_warning(path.name, totals))
    if not out:
        return frame, out, units
    return pd.read_excel(path, sheet_name=title, skiprows=[*range(start), *out], nrows=limit), out, units


def _merged(path: Path, sheet: str, frame: Frame, start: int, out: list[int]) -> bool:
    """Say whether every blank of the first column lies in a merged cell that begins with a value."""
    import openpyxl

    blank = frame.iloc[:, 0].isna()
    if not blank.any() or blank.all() or frame.size > 20_000 or out != out[:1]:
        return False
    book = openpyxl.load_workbook(path, data_only=True)
    ranges = [r for r in book[sheet].merged_cells.ranges if r.min_col == r.max_col == 1 and r.max_row > start + 1]
    book.close()
    covered = sum(r.max_row - r.min_row for r in ranges)
    return covered == int(blank.sum()) and not blank.iloc[0]


def _header_row(rows: list[list[Any]]) -> tuple[int | None, int]:
    """Return the first row as wide as the table, and that width; None when there is no table."""
    filled = [sum(cell is not None and str(cell).strip() != "" for cell in row) for row in rows]
    widths = [width for width in filled if width]
    if len(widths) < 2:
        return None, 0
    width = max(statistics.multimode(widths[len(widths) // 4 :]))
    if width == 1:  # a list: its header follows the last gap below a title
        gaps = [index for index, count in enumerate(filled[:10]) if not count and any(filled[:index])]
        start = gaps[-1] + 1 if gaps and sum(filled[gaps[-1] + 1 :]) > 2 else next(i for i, n in enumerate(filled) if n)
        return start, 1
    for index, count in enumerate(filled):
        # The corner above the row names is often left empty.
        if count >= max(1, width - 1 if width > 2 else width) and any(filled[index + 1 :]):
            return index, width
    return None, 0
