"""Finds out how a delimited text file is to be read, then reads it exactly so.

The options found are those of `engine.data.kinds.table.read_table`, so what was looked at here is what a step
will see. Guessing happens on the text; every doubt becomes a warning, and a file whose rows do not fit
its header is refused instead of being read shifted.
"""

from __future__ import annotations

import csv
import io
import re
import statistics
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from engine.data.columns.cells import (
    MISSING_MARKS,
    fill_blocks,
    parse,
    tidy,
    totals_below,
    totals_warning,
    units_row,
)  # fmt: skip
from engine.data.columns.genes import identify, is_gene_header, looks_like_gene
from engine.data.columns.legend import MOST_ROWS
from engine.data.reading.textfile import Text
from engine.data.source import MAX_CELLS, MAX_ROWS, TableSource, UnusableFile, plural
from engine.data.structure.problems import none_kept
from engine.data.structure.scales import is_level_none

_SEPARATORS = ("\t", ",", ";", "|")
_SPACES = r"\s+"
_MOST_COLUMNS = 200_000
_MOST_OF_ONE_NAME = 5_000
_LONGEST_LINE = 16_000_000
csv.field_size_limit(2**31 - 1)  # a catalogue's or an annotation's cell can be longer than Python's default allows
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$")
_COMMA_DECIMAL = re.compile(r"[-+]?(\d{1,3}(\.\d{3})+|\d+),\d+([eE][-+]?\d+)?$")
_POINT_DECIMAL = re.compile(r"[-+]?(0\.\d+|\.\d+|\d+\.(\d{1,2}|\d{4,})|\d{4,}\.\d+)([eE][-+]?\d+)?$")
_THOUSANDS = re.compile(r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?$")


class Layout(NamedTuple):
    """Where the table lies in the text."""

    sep: str
    start: int
    """Index of the header's line (or of the first row in a file without a header)."""
    width: int
    """Fields of a data row."""
    header: list[str]


def split_fields(lines: list[str], sep: str, *, quoted: bool = True) -> list[list[str]]:
    """Split lines into fields, minding quotes unless they are plain characters."""
    if sep == _SPACES:
        return [
            [a or b for a, b in re.findall(r'"([^"]*)"|(\S+)', line)] if '"' in line else line.split() for line in lines
        ]
    if not quoted or not any('"' in line for line in lines):
        return [line.split(sep) for line in lines]
    try:
        return list(csv.reader(lines, delimiter=sep))
    except csv.Error:  # a quote that is never closed
        return [line.split(sep) for line in lines]


def find_layout(lines: list[str]) -> Layout | None:
    """Return where and how the table lies in the first lines of a text, or None when there is none."""
    start, comments = 0, 0
    while start < len(lines) and (lines[start].startswith("#") or not lines[start].strip()):
        comments += lines[start].startswith("#")
        start += 1
    body = lines[start:]
    best: tuple[float, Layout] | None = None
    for sep in (*_SEPARATORS, _SPACES):
        rows = split_fields([line for line in body if line.strip()], sep)
        found = _consistent(rows, sep)
        if found is not None and (best is None or found[0] > best[0]):
            best = found
    if best is None:
        return None
    layout = best[1]
    full = [index for index, line in enumerate(lines) if index >= start and line.strip()]
    first = full[layout.start]
    if comments and layout.start == 0:
        named = split_fields([lines[start - 1]], layout.sep)[0]
        fits = len(named) == layout.width and not any(_NUMBER.match(name.strip()) for name in named[1:])
        # `#gene  s1  s2`: the last comment line is the header.
        if fits and not _is_header(layout.header, split_fields([lines[i] for i in full[1:30]], layout.sep)):
            return layout._replace(start=start - 1, header=named)
    return layout._replace(start=first)


def _consistent(rows: list[list[str]], sep: str) -> tuple[float, Layout] | None:
    """Return how well the separator explains the rows, and the layout it gives."""
    widths = [len(row) for row in rows]
    if not widths:
        return None
    tail = widths[len(widths) // 4 :]
    width = statistics.mode(tail)
    if width < 2:
        return None
    share = sum(w == width for w in tail) / len(tail)
    # Title lines above the header have fewer fields; R's write.table leaves a header one name short.
    above = _title_rows(rows)
    start = next(
        (i for i, w in enumerate(widths)
         if i >= above and (w == width or (w == width - 1 and width > 2 and _short(rows, i, width)))), None,
    )  # fmt: skip
    if start is None:
        return None
    head = widths[start]
    score = share * (1.0 if head == width else 0.9) - 0.05 * min(start, 5)
    score += {"\t": 0.15, ",": 0.05, ";": 0.06, "|": 0.02, _SPACES: -0.25}[sep]
    if sep == "," and _mostly_decimal_commas(rows[start + 1 :]):
        score -= 0.5
    if share < 0.6:
        score -= 0.5
    return score, Layout(sep, start, width, [name.strip() for name in rows[start]])


def _title_rows(rows: list[list[str]]) -> int:
    """Return how many rows at the top hold a title alone, filled up with separators as spreadsheets export it."""
    filled = [sum(bool(field.strip()) for field in row) for row in rows[:12]]
    above = next((i for i, count in enumerate(filled) if count > max(1, len(rows[i]) / 2)), 0)
    titled = all(not count or rows[i][0].strip() for i, count in enumerate(filled[:above]))
    return above if titled and filled[above] > 1 and filled[above] >= len(rows[above]) - 1 else 0


def _short(rows: list[list[str]], index: int, width: int) -> bool:
    following = rows[index + 1 : index + 6]
    return bool(following) and all(len(row) == width for row in following)


def _mostly_decimal_commas(rows: list[list[str]]) -> bool:
    """Say whether commas stand inside `1,5;2,3`, not between fields."""
    glued = [sum(";" in field or "\t" in field for field in row) for row in rows[:50]]
    return bool(glued) and sum(count > 0 for count in glued) > 0.8 * len(glued)


def _is_header(first: list[str], rows: list[list[str]]) -> bool:
    """Say whether the first row names columns: it has no numbers where the rows below have them."""
    if any(map(is_gene_header, first)):
        return True
    values = [[row[i].strip() for row in rows if i < len(row)] for i in range(len(first))]
    numeric = [
        i for i, column in enumerate(values) if any(_NUMBER.match(v.replace(",", ".")) for v in column)
        and all(_NUMBER.match(v.replace(",", ".")) or v.lower() in MISSING_MARKS for v in column if v)
    ]  # fmt: skip
    named = [i for i in numeric if not _NUMBER.match(first[i].strip().replace(",", "."))]
    if numeric:
        return len(named) >= len(numeric) / 2 or (len(numeric) > 2 and _looks_like_codes(first))
    if len(first) == 1 and identify(values[0]).feature_like:
        # A list of genes: its first line is a header only when it is no gene itself.
        return not looks_like_gene(first[0])
    # All text: a header is not repeated below it, nor is it built like the values (GO:0003735 above GO:0005575).
    alike = any(_shared_start([*column, name]) for name, column in zip(first, values, strict=True))
    repeated = any(name in column for name, column in zip(first, values, strict=True))
    return len(set(first)) == len(first) and not repeated and not alike


def _shared_start(values: list[str]) -> bool:
    """Say whether all values begin with the same letters followed by different numbers."""
    starts = {match and match.group() for match in (re.match(r"[A-Za-z]{2,}[:_-]?(?=\d)", value) for value in values)}
    return len(values) > 3 and len(starts) == 1 and None not in starts  # `mouse` above mouse01 is no value


def _looks_like_codes(first: list[str]) -> bool:
    """Sample numbers (1, 2, 3, ...) head columns as often as names do."""
    numbers = [name.strip() for name in first[1:]]
    if not all(n.isdigit() for n in numbers) or first[0].strip().isdigit():
        return False
    steps = [int(after) - int(before) for before, after in pairwise(numbers)]
    return all(step == 1 for step in steps)


def read_delimited(path: Path, text: Text) -> TableSource:
    """Read a delimited text.

    Raises:
        UnusableFile: when there is no table in it, or its rows do not fit its header.
    """
    text = _first_rows(text)
    lines = text.lines()
    _refuse_endless(path.name, lines)
    layout = find_layout(lines[:300])
    if layout is None:
        layout = _single_column(path, lines)
    _refuse_wide(path.name, layout)
    warnings = [text.warning] if text.warning else []
    quoted = not _literal_quotes(lines[layout.start :], layout)
    body = [line for line in lines[layout.start + 1 : layout.start + 300] if line.strip()]
    rows = split_fields(body, layout.sep, quoted=quoted)
    units = units_row(rows[0], rows[1:]) if len(rows) > 1 and len(rows[0]) == len(layout.header) else {}
    rows = rows[1:] if units else rows
    headerless = not (len(layout.header) == layout.width - 1 or _is_header(layout.header, rows))
    if not rows and layout.width > 2 and identify([*layout.header, *layout.header]).kind:
        message = f"{path.name} has all its genes in one line; write one gene a line."
        raise UnusableFile(message)
    if not headerless and not rows:
        message = f"{path.name} has a header but no rows; export it again with its data."
        raise UnusableFile(message)
    read: dict[str, Any] = {"sep": layout.sep} | ({} if quoted else {"quoted": False})
    if text.encoding != "utf-8":
        read["encoding"] = text.encoding
    skip = layout.start
    headers = layout.header
    if headerless:
        headers = _invented_names(rows, layout)
        read["names"] = headers
        warnings.append(f"{path.name} has no header line; its columns are called {', '.join(headers[:4])}.")
    elif len(layout.header) == layout.width - 1 and all(not r[-1].strip() for r in rows if len(r) == layout.width):
        # Every row ends in a separator: left alone, pandas would take the first column for row names.
        headers = [*layout.header, "empty"]
        read |= {"names": headers, "drop": ["empty"]}
        skip += 1
    if skip:
        read["skip"] = skip
    body = [line for line in lines[layout.start + 1 :] if line.strip()]
    marked = sum(line.startswith("#") for line in body)
    if 0 < marked <= len(body) / 2:  # where most lines have it, it belongs to their numbers: `#01`
        _refuse_cut_cells(path.name, lines[layout.start :])
        read["comment"] = "#"
    read |= _number_style(path.name, rows, layout, warnings)
    if not headerless:
        read |= _no_data(path.name, text, lines, layout, units, warnings, quoted=quoted)
    warnings += _check_widths(path.name, lines, layout, comment="comment" in read, minded=quoted)
    return _load(path, text, lines, layout, read, headers, warnings, units, headerless=headerless)


def _first_rows(text: Text) -> Text:
    """Keep what will be looked at, so that a long file costs no more memory than that."""
    if len(text.text) < 4_000_000:
        return text
    parts = text.text.split("\n", MAX_ROWS + 1000)
    if len(parts) <= MAX_ROWS + 1000:
        return text
    rest = parts.pop()
    beyond = rest.count("\n") + (not rest.endswith("\n"))
    return text._replace(text="\n".join(parts) + "\n", complete=False, more_lines=text.more_lines + beyond)


def _refuse_endless(name: str, lines: list[str]) -> None:
    """Refuse what would take hours to no use: lines longer and wider than those of any table of measurements.

    Raises:
        UnusableFile: when there is such a line.
    """
    longest = max(map(len, lines), default=0)
    if longest > _LONGEST_LINE:
        message = f"{name} has a line of {longest:,} characters, too long for a row of a table; export it again as CSV."
        raise UnusableFile(message)
    widest = max((line.count(sep) + 1 for line in lines[:300] for sep in _SEPARATORS), default=0)
    if widest > _MOST_COLUMNS:
        raise _too_wide(name, widest)


def _refuse_wide(name: str, layout: Layout) -> None:
    if layout.width > _MOST_COLUMNS:
        raise _too_wide(name, layout.width)
    title, times = Counter(layout.header).most_common(1)[0] if layout.header else ("", 0)
    if title and times > _MOST_OF_ONE_NAME:
        message = f"{name} has {times:,} columns called {title[:40]!r}; give every column a name of its own."
        raise UnusableFile(message)


def _too_wide(name: str, columns: int) -> UnusableFile:
    return UnusableFile(
        f"{name} has {columns:,} columns, more than the {_MOST_COLUMNS:,} that are looked at; take some of them, or "
        "exchange rows and columns."
    )


def _refuse_cut_cells(name: str, lines: list[str]) -> None:
    """Refuse a file in which leaving out comment lines would also cut cells that hold a `#`."""
    if "#" in lines[0] or any("#" in line for line in lines if not line.startswith("#")):
        message = (
            f"{name} has comment lines between its rows and '#' inside other lines, which would be cut there; "
            "remove the comment lines."
        )
        raise UnusableFile(message)


def _single_column(path: Path, lines: list[str]) -> Layout:
    filled = [i for i, line in enumerate(lines) if line.strip() and not line.startswith("#")]
    if not filled:
        message = f"{path.name} has no rows; export it again with its data."
        raise UnusableFile(message)
    return Layout(",", filled[0], 1, [lines[filled[0]].strip().strip('"')])


def _invented_names(rows: list[list[str]], layout: Layout) -> list[str]:
    seconds = [tidy(row[1]) for row in rows if len(row) > 1]
    second_numeric = all(parse(text) is not None for text in seconds if text.lower() not in {"", *MISSING_MARKS})
    if layout.width == 2 and second_numeric and not _NUMBER.match(layout.header[0]):
        return ["gene", "score"]  # as the schema of a ranking calls them
    return [f"column_{i + 1}" for i in range(layout.width)]


def _number_style(name: str, rows: list[list[str]], layout: Layout, warnings: list[str]) -> dict[str, Any]:
    """Return `decimal` when all numbers of the file have a comma for it; single columns are looked at later."""
    fields = [field.strip() for row in rows for field in row]
    decimal = [field for field in fields if "," in field and _COMMA_DECIMAL.match(field)]
    if not decimal or any(_POINT_DECIMAL.match(field) for field in fields if "." in field):
        return {}
    # 0,125 is no thousand, and files with semicolons come from where the comma is the decimal sign.
    thousands = all(_THOUSANDS.match(field) and not re.match(r"[-+]?0,", field) for field in decimal)
    if thousands and layout.sep != ";":
        return {}
    warnings.append(f"{name} writes numbers with a decimal comma ({decimal[0]!r}); they are read as such.")
    return {"decimal": ","}


def _no_data(
    name: str, text: Text, lines: list[str], layout: Layout, units: dict[int, str], warnings: list[str], *, quoted: bool
) -> dict[str, Any]:
    """Return the lines to leave out: units below the header and totals at the end."""
    out: list[int] = []
    filled = [index for index in range(layout.start + 1, len(lines)) if lines[index].strip()]
    if units:
        out.append(filled[0])
        shown = ", ".join(f"{layout.header[i]} in {unit}" for i, unit in list(units.items())[:4])
        warnings.append(f"{name}: the line below the header holds units ({shown}) and is left out.")
    # A cell that spans lines would shift the count of lines.
    if text.complete and not (quoted and any(line.count('"') % 2 for line in lines)):
        body = [index for index in filled if index not in out and not lines[index].startswith("#")]
        rows = split_fields([lines[index] for index in body], layout.sep, quoted=quoted) if len(body) < MAX_ROWS else []
        if totals := totals_below(rows):
            out += body[-len(totals) :]
            warnings.append(totals_warning(name, totals))
    return {"leave_out": out} if out else {}


def _literal_quotes(lines: list[str], layout: Layout) -> bool:
    """Say whether quotes are plain characters (inch marks), so that minding them would swallow lines."""
    if layout.sep == _SPACES or layout.width == 1:
        return False
    lines = [line for line in lines[:MAX_ROWS] if line.strip()]
    if not any('"' in line for line in lines) or any(line.count(layout.sep) + 1 != layout.width for line in lines[1:]):
        return False
    try:
        rows = list(csv.reader(lines, delimiter=layout.sep))
    except csv.Error:
        return True
    return len(rows) != len(lines) or any(len(row) != layout.width for row in rows[1:])


def _check_widths(name: str, lines: list[str], layout: Layout, *, comment: bool, minded: bool) -> list[str]:
    """Refuse rows longer than the header; report shorter ones, whose missing cells would be read as empty."""
    body = lines[layout.start + 1 : layout.start + 1 + MAX_ROWS]
    if layout.width == 1 or (layout.sep == _SPACES and any('"' in line for line in body[:100])):
        return []
    quoted = minded and any('"' in line for line in body)
    short: list[int] = []
    if quoted:
        reader = csv.reader(body, delimiter=layout.sep) if layout.sep != _SPACES else iter([])
        sized = ((reader.line_num, len(row)) for row in reader if row)  # type: ignore[union-attr]
    elif layout.sep == _SPACES:
        sized = ((i + 1, len(line.split())) for i, line in enumerate(body) if line.strip())
    else:
        sized = ((i + 1, line.count(layout.sep) + 1) for i, line in enumerate(body) if line and line.strip(" "))
    for number, width in sized:
        if width == layout.width:
            continue
        line = layout.start + 1 + number
        if comment and lines[line - 1].startswith("#"):
            continue
        if width > layout.width:
            message = (
                f"{name}: line {line:,} has {width} fields where the header has {len(layout.header)}; "
                "put text that contains the separator in quotes, or repair the line."
            )
            raise UnusableFile(message)
        short.append(line)
    if not short:
        return []
    return [
        f"{name}: {plural(len(short), 'row')} with fewer fields than the header (first: line {short[0]:,}); the "
        "missing cells are read as empty: check that the file is complete."
    ]


def _load(
    path: Path, text: Text, lines: list[str], layout: Layout, read: dict[str, Any], headers: list[str],
    warnings: list[str], units: dict[int, str], *, headerless: bool,
) -> TableSource:  # fmt: skip
    import pandas as pd

    limit = min(MAX_ROWS, max(1000, MAX_CELLS // max(1, layout.width)))
    options = {
        "sep": layout.sep, "decimal": read.get("decimal", "."), "comment": read.get("comment"), "nrows": limit,

        "skiprows": [*range(read.get("skip", 0)), *read.get("leave_out", [])],
        "header": None if "names" in read else 0, "names": read.get("names"),
        "thousands": read.get("thousands"), "low_memory": False,
        "quoting": csv.QUOTE_MINIMAL if read.get("quoted", True) else csv.QUOTE_NONE,
    }  # fmt: skip
    try:
        frame = pd.read_csv(io.StringIO(text.text), **options)
        first = pd.read_csv(io.StringIO(text.text), **{**options, "usecols": [0], "dtype": str, "index_col": False})
    except (pd.errors.ParserError, pd.errors.EmptyDataError, ValueError) as error:
        message = f"{path.name} cannot be read as a table ({str(error).strip()}); open and export it again as CSV."
        raise UnusableFile(message) from error
    first_column = first.iloc[:, 0].fillna("").astype(str).str.strip().tolist()
    first_column = fill_blocks(path.name, frame, first_column, read, warnings)
    total = len(frame)
    if len(frame) >= limit or not text.complete:
        filled = sum(bool(line) for line in lines[layout.start :]) - (0 if headerless else 1)
        total = max(total, filled + text.more_lines)
    details: dict[str, Any] = {"units": {headers[i]: unit for i, unit in units.items()}} if units else {}
    details["legend"] = [[line.strip('# ;,\t"')] for line in lines[: layout.start]][:MOST_ROWS]
    if "None" in text.text:
        raw = pd.read_csv(io.StringIO(text.text), **{**options, "dtype": str, "keep_default_na": False})
        words = {str(c).strip(): int((raw[c] == "None").sum()) for c in raw.columns[:300]}
        words = {column: count for column, count in words.items() if count}
        places = {str(c).strip(): place for place, c in enumerate(frame.columns)}
        kept = [name for name in words if name in places and is_level_none(frame.iloc[:, places[name]])]
        for name in kept:
            column, said = frame.columns[places[name]], raw.iloc[:, places[name]] == "None"
            frame[column] = frame[column].mask(said.to_numpy(), "none")
        read |= {"none": kept} if kept else {}
        warnings += none_kept(path.name, {name: words.pop(name) for name in kept})
        details["none_words"] = words
    names = {"\t": "tsv", ",": "csv", ";": "csv (semicolon)", "|": "csv (pipe)", _SPACES: "text (spaces)"}
    return TableSource(
        frame=frame, read=read, rows=total, headers=headers, warnings=warnings, headerless=headerless, details=details,
        format=names[layout.sep] + (".gz" if text.compressed else ""),
        first_column=first_column,
    )  # fmt: skip
