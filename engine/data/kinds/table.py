"""Tables: rows and columns of any kind, and the reader that every kind that is one goes through."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any

from engine.data.columns.cells import DETECTION_MARKS, MISSING_MARKS
from engine.data.columns.plates import unfolded
from engine.data.columns.sheets import with_sheets_beside
from engine.data.found import TableFound
from engine.data.kind import Kind
from engine.data.source import Frame, plural
from engine.domain.datatypes import DataType
from engine.domain.profile import TypeGuess


def read_table(
    path, sep=",", encoding="utf-8", decimal=".", index_col=None, sheet=None, drop=(), comment=None,
    skip=0, names=None, na=(), thousands=None, row_names=None, quoted=True, leave_out=(), numbers=None, fill_down=False,
    same=None, beside=(), limits=(), beyond=None, once=False, zeros=(), plate=None, none=(),
):  # fmt: skip
    """Read a delimited, Excel or JSON-records file, gzipped or not, into a DataFrame.

    `index_col` (a name or position) becomes the row names; `skip` lines stand above the header, and the lines
    `leave_out` (counted from 0) are no data; `names` are the columns of a file without a header; `na` are further
    marks of a missing value; `row_names` is the name given to a first column that has none; with `quoted` False a
    quote is a character like any other; `numbers` says for columns of text how their cells become numbers, with
    `decimal`, `thousands`, what to `remove` and which cells are `missing`; with `fill_down`, blanks in the first
    column mean the same as above; `same` gives for columns of text the cells that are another spelling of a level;
    `beside` are other sheets of a workbook (see `with_sheets_beside`); of the cells `limits` (`<0.5`, `np`), which are
    missing among numbers, a column `NAME as written` holds those of the column NAME; of the columns `beyond`, cells
    below a limit are read as `half` of it or as the `limit`, and cells above one as the limit; with `once`, rows that
    repeat an earlier one in every column are left out; an empty cell of the columns `zeros` is 0; a `plate` that
    stands as a grid becomes one row a well, with what its layout says (see `unfolded`); in the columns `none` the word
    None is a level, written `none`, which pandas would take for an empty cell.
    """
    import pandas as pd

    with open(path, "rb") as handle:
        magic = handle.read(4)
    as_written = None
    compression = "gzip" if magic[:2] == b"\x1f\x8b" else None
    missing = na if isinstance(na, dict) else list(na)
    header = 0 if names is None else None
    lines = [*range(skip), *leave_out] if leave_out else skip
    if magic == b"PK\x03\x04":
        how = {"sheet_name": sheet or 0, "skiprows": lines, "header": header, "names": names}
        frame = pd.read_excel(path, na_values=missing, **how)
        as_written = pd.read_excel(path, dtype=str, **how) if limits or beyond else None
    elif str(path).lower().removesuffix(".gz").endswith((".json", ".jsonl", ".ndjson")):
        rows = not str(path).lower().removesuffix(".gz").endswith(".json")
        frame = pd.read_json(path, lines=rows, compression=compression, dtype=False, convert_dates=False)
    else:
        # Row names stay text as written: 001 read as the number 1 would no longer match a sample called 001.
        key = "Unnamed: 0" if row_names is not None and index_col == row_names else index_col
        how = {"sep": sep, "encoding": encoding, "comment": comment, "skiprows": lines, "header": header,
               "names": names, "compression": compression, "low_memory": False}  # fmt: skip
        how["quoting"] = 0 if quoted else 3
        texts = None if key is None else {key: str}
        frame = pd.read_csv(path, na_values=missing, decimal=decimal, thousands=thousands, dtype=texts, **how)
        as_written = pd.read_csv(path, dtype=str, **how) if limits or beyond else None
    of_limits = {}
    if as_written is not None:
        frame = with_limits(frame, as_written, limits, numbers or ())
        frame, of_limits = with_cells_beyond(frame, as_written, beyond or {}, numbers or {}, decimal)
    written = [str(column) for column in frame.columns]
    frame.columns = [name.strip() for name in written]
    if none:
        reader = pd.read_excel if magic == b"PK\x03\x04" else pd.read_csv
        words = reader(path, dtype=str, keep_default_na=False, **how)
        for place, column in enumerate(frame.columns):
            if column in none:
                frame[column] = frame[column].astype(object).mask((words.iloc[:, place] == "None").to_numpy(), "none")
    if plate:
        frame = unfolded(frame, path, plate)
    if beside:  # before marks of missing values are looked for, which stand in these sheets, too
        frame = with_sheets_beside(frame, path, beside, [] if isinstance(missing, dict) else missing)
    # pandas looks for a name as written, with its blanks, and passes over whole numbers of a workbook.
    book = magic == b"PK\x03\x04"
    marked = [one for one in frame.columns if isinstance(missing, dict) and one in missing]
    for name in (one for one in marked if book or one not in written):
        codes = [float(mark) for mark in missing[name] if mark.lstrip("-").replace(".", "", 1).isdigit()]
        values = frame[name].mask(frame[name].isin([*missing[name], *codes]))
        numbers_only = pd.to_numeric(values, errors="coerce")
        frame[name] = numbers_only if numbers_only.notna().sum() == values.notna().sum() else values
    if not isinstance(frame.index, pd.RangeIndex):  # a header one name short, as R's write.table leaves it
        frame.index = frame.index.astype(str).str.strip()
        frame = frame if row_names is None else frame.rename_axis(row_names).reset_index()
    else:
        frame = frame if row_names is None else frame.rename(columns={frame.columns[0]: row_names})
        blank = frame.isna().all(axis=1)
        if blank.any():  # rows of separators only, as spreadsheets leave them
            frame = frame[~blank].reset_index(drop=True)
        if fill_down:
            frame[frame.columns[0]] = frame[frame.columns[0]].ffill()
        if blank.any() or fill_down:  # blanks turn integers into floats
            for column in frame.select_dtypes("float").columns:
                if frame[column].notna().all() and (frame[column] % 1 == 0).all():
                    frame[column] = frame[column].astype("int64")
    for column in [] if numbers is None else numbers:
        if column not in frame.columns or frame[column].dtype != object:
            continue
        how = numbers[column]
        figures = {}
        for cell in frame[column].dropna().unique():
            text = str(cell)
            for space in "\u00a0\u202f\u2009\u2007":
                text = text.replace(space, " ")
            text = text.strip().strip("\"'").strip()
            if not isinstance(cell, str) or not text or text in how.get("missing", ()):
                figures[cell] = None if isinstance(cell, str) or text in how.get("missing", ()) else cell
                continue
            figure = text
            for part in (*how.get("remove", ()), *how.get("remove", ())):  # twice: `5 mg*` ends in both
                figure = figure.removeprefix(part).removesuffix(part).strip()
            for sign in (how.get("thousands") or " ", " ", "'", "\u2019"):
                figure = figure.replace(sign, "")
            for sign in how.get("decimal", "."):
                figure = figure.replace(sign, ".")
            figure = figure.replace("\u2212", "-")
            try:
                float(figure)
            except ValueError:
                raise ValueError(
                    f"Column {column!r} holds {text!r}, which is not among the cells known to be missing: expected a "
                    "number; correct the cell or leave it empty."
                ) from None
            figures[cell] = figure
        frame[column] = pd.to_numeric(frame[column].map(figures))
    for held, column in of_limits.items():  # rows may have been left out since, and words become numbers only here
        frame[column] = pd.to_numeric(frame[column], errors="coerce").fillna(frame.pop(held))
    for column in [] if same is None else same:
        if column in frame.columns:
            levels = same[column]
            frame[column] = [levels.get(cell, cell) if isinstance(cell, str) else cell for cell in frame[column]]
    for column in zeros:
        frame[column] = pd.to_numeric(frame[column], errors="coerce").fillna(0)
    name = frame.columns[index_col] if isinstance(index_col, int) else index_col
    if once:  # row numbers that a spreadsheet or a package wrote make no row another one
        counted = [column for column in drop if column in frame.columns and column != name]
        frame = frame.drop(columns=counted).drop_duplicates(ignore_index=True)
    if index_col is not None:
        frame = frame.set_index(name)
        frame.index = frame.index.astype(str).str.strip()
    return frame.drop(columns=[column for column in drop if column in frame.columns])


def with_limits(frame, as_written, limits, numbers):
    """Return a frame with a column `NAME as written` beside all others for each that has such cells among numbers."""
    for position, name in enumerate(list(frame.columns)):
        cells = as_written.iloc[:, position].map(lambda cell: str(cell).replace("\u00a0", " ").strip(" \"'"))
        beyond = cells.where(cells.isin(limits) & (frame.iloc[:, position].isna() | (str(name).strip() in numbers)))
        if beyond.notna().any():
            beside = f"{str(name).strip()} as written"
            while beside in frame.columns:
                beside += " as written"
            frame[beside] = beyond
    return frame


def with_cells_beyond(frame, as_written, beyond, numbers, decimal):
    """Return a frame with a column for each of `beyond`, of the values that its cells beyond a limit stand for.

    Also returned: name of such a column -> the column that it is to be put into.
    """
    import re

    def value(cell, column):
        found = re.match(r"\s*([<>\u2264\u2265])=?\s*(?:1\s?:\s?)?(\d[\d.,]*)", str(cell).replace("\u00a0", " "))
        if found is None:
            return float("nan")
        how = numbers.get(column, {})
        text = found[2].replace(how.get("thousands") or " ", "")
        for sign in how.get("decimal", decimal):
            text = text.replace(sign, ".")
        return float(text) / (2 if beyond[column] == "half" and found[1] in "<\u2264" else 1)

    into = {}
    for position, name in enumerate(map(str, list(frame.columns)[: as_written.shape[1]])):
        if name.strip() in beyond:
            into[f"{name.strip()} beyond"] = name.strip()
            frame[f"{name.strip()} beyond"] = [value(cell, name.strip()) for cell in as_written.iloc[:, position]]
    return frame, into


def limits_of(read: Mapping[str, Any]) -> list[str]:
    """Return the cells that a way of reading takes for missing and that yet tell something.

    They lie beyond a limit (`<0.5`, `> 100`, `<LOD`, `bdl`) or are words that are no known mark for "no value".
    """
    na = read.get("na", ())
    listed = list(chain.from_iterable(na.values())) if isinstance(na, Mapping) else list(na)
    listed += chain.from_iterable(how.get("missing", ()) for how in read.get("numbers", {}).values())
    return sorted({cell for cell in listed if cell[:1] in _BEYOND or _tells(cell.lower())})


def _tells(cell: str) -> bool:
    return any(map(str.isalpha, cell)) and (cell not in MISSING_MARKS or cell in DETECTION_MARKS)


_BEYOND = frozenset("<>\u2264\u2265")


def _in_table(table: TableFound, frame: Frame) -> list[TypeGuess]:
    return [TypeGuess(type=DataType.TABLE, confidence=0.7, read=table.read)]


TABLE = Kind(
    type=DataType.TABLE, aliases=("csv", "tsv", "tabular", "table"), edam="data_2526", records=True, general=2,
    read=read_table, in_table=_in_table,
    summary=lambda table: f"A table of {table.count('row')} x {plural(table.columns or 0, 'column')}",
)  # fmt: skip
DOSE_RESPONSE_TABLE = Kind(type=DataType.DOSE_RESPONSE_TABLE, records=True, read=read_table)
SPECTRUM_TABLE = Kind(type=DataType.SPECTRUM_TABLE, aliases=("mzml", "mgf", "spectra"), records=True, read=read_table)
