"""Reads a table from a text: JSON records, or rows of fields."""

from __future__ import annotations

import io
import warnings
from pathlib import Path

from engine.data.reading.delimited import read_delimited
from engine.data.reading.textfile import Text
from engine.data.source import TableSource, UnusableFile

_JSON = (".json", ".jsonl", ".ndjson")


def read_text_table(path: Path, text: Text) -> TableSource:
    """Read a table as a step will read it again.

    Raises:
        UnusableFile: when it is none.
    """
    name = path.name.lower().removesuffix(".gz")
    if text.text.lstrip().startswith(("[", "{")) and name.endswith(_JSON):
        return _json_records(path, text, lines=not name.endswith(".json"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return read_delimited(path, text)


def _json_records(path: Path, text: Text, *, lines: bool) -> TableSource:
    import pandas as pd

    try:
        frame = pd.read_json(io.StringIO(text.text), lines=lines, dtype=False, convert_dates=False)  # pyright: ignore[reportArgumentType] - False is documented
    except ValueError as error:
        message = (
            f"{path.name} does not hold what its ending says ({error}); use .jsonl for one record a line, else .json."
        )
        raise UnusableFile(message) from error
    return TableSource(frame=frame, read={}, rows=len(frame), format="json", headers=[str(c) for c in frame.columns])
