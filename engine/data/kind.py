"""What is declared of a kind of data, in one place, so that a new kind is one file in `engine/data/kinds/`.

Readers and writers are shipped with the code of a step and with the exported notebook: each imports what it needs
inside, calls public libraries and other readers and writers only, and refers to nothing else of Biodesk.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from engine.data.found import Found, TableFound
from engine.data.reading.textfile import Text
from engine.data.schema import Schema
from engine.data.source import Frame
from engine.domain.datatypes import DataType
from engine.domain.profile import TypeGuess

NO_SCHEMA = Schema(fields=())
"""Of what is not a table, or any table."""


def read_path(path, **options):
    """Return the path itself: the tool opens the file."""
    return str(path)


def json_ready(value):
    """Turn NumPy scalars, NaN and nested values into what JSON can hold."""
    import math

    if isinstance(value, dict):
        return {str(key): json_ready(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [json_ready(item) for item in value]
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def write_table(value, stem):
    """Write a table as CSV, anything else as JSON; return the file's name."""
    import json

    if hasattr(value, "to_csv"):
        name = f"{stem}.csv"
        # A meaningful row index (features, samples) is a column of the file; a bare 0..n-1 is not.
        value.to_csv(name, index=value.index.name is not None)
    else:
        name = f"{stem}.json"
        with open(name, "w", encoding="utf-8") as handle:
            json.dump(json_ready(value), handle, indent=2, allow_nan=False)
    return name


def write_named_rows(value, stem):
    """Write a table whose row names are features or samples as CSV; return the file's name."""
    value.to_csv(f"{stem}.csv", index=True)
    return f"{stem}.csv"


@dataclass(frozen=True)
class Look:
    """A text file that is being looked at."""

    name: str
    text: Text

    @cached_property
    def lines(self) -> list[str]:
        """The lines without their ends."""
        return self.text.lines()

    @cached_property
    def first(self) -> str:
        """The first line that is not blank."""
        return next((line for line in self.lines if line.strip()), "")

    @property
    def suffix(self) -> str:
        """The ending of the name in lower case, without that of a packed file."""
        return Path(self.name.lower().removesuffix(".gz")).suffix

    @property
    def is_json(self) -> bool:
        """True when it begins like JSON; a tree may begin with a remark in brackets."""
        return self.first.lstrip().startswith(("{", "[")) and not self.first.lstrip().startswith("[&")


@dataclass(frozen=True, kw_only=True)
class Binary:
    """How a binary file of a kind is known and looked at."""

    format: str
    """Its name in profiles, and the ending of its files."""
    container: str
    """What the bytes are called in messages."""
    magic: bytes
    """Its first bytes."""
    look: Callable[[Path], Found]
    """Say what it holds.

    Raises:
        UnusableFile: when it is damaged or holds something else.
    """
    rows: Callable[..., Frame]
    """`rows(path)` gives the rows that its column profiles describe, `rows(path, whole=True)` all of them."""


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of data. Only its type is needed."""

    type: DataType
    words: str = ""
    """What a person calls it, with the article; empty when the type's name says it."""
    aliases: tuple[str, ...] = ()
    """What inputs of it are called in the catalogues of others; empty when the type's name says it."""
    edam: str = ""
    """The term for it in EDAM, the ontology of data and formats in bioinformatics, where there is a fitting one."""
    records: bool = False
    """True when it is one record a row: an input that takes a plain table takes it, too."""
    takes: tuple[DataType, ...] = ()
    """Kinds that may be given where this one is wanted; too wide a rule would let normalised values pass as counts."""
    schema: Schema = NO_SCHEMA
    """Its columns."""
    read: Callable[..., Any] = read_path
    """`read(path, **options)` gives what a tool is handed."""
    write: Callable[[Any, str], str] = write_table
    """`write(value, stem)` writes what a tool returned and gives the file's name, which is `stem` and an ending."""
    stored: Mapping[str, Any] = field(default_factory=dict)
    """The options with which a step's own output is read back."""
    general: int = 0
    """Kinds are asked what they recognise in this order: what has a mark of its own before what only looks like it."""
    in_text: Callable[[Look], Found | None] | None = None
    """Recognise a text that is no table."""
    in_table: Callable[[TableFound, Frame], list[TypeGuess]] | None = None
    """Say how surely a table of records serves as this kind; may add to what was found."""
    summary: Callable[[TableFound], str] | None = None
    """Say in words what a table is that serves best as this kind."""
    binary: Binary | None = None

    @property
    def called(self) -> str:
        """What a person calls it, with the article."""
        name = self.type.value.replace("_", " ")
        return self.words or f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
