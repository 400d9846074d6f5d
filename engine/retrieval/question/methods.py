"""The table of methods: what analysts of the life sciences do, other names for it, its programs, and what precedes it.

The table is written for this project (`data/methods.tsv`): one row an operation, lists separated by `|`. Retrieval uses
it to understand a question in other words than a tool's, also those of people who know none of the terms, and to bring
in steps that nobody named but that come first.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_COLUMNS = ("operation", "synonyms", "programs", "inputs", "outputs", "prerequisites", "phrases")


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """An analysis operation."""

    operation: str
    """Its usual name, unique in the table: `single-cell clustering`."""
    synonyms: tuple[str, ...]
    """What else people call it; at least one."""
    programs: tuple[str, ...]
    """Well-known programs and packages that do it, in lower case; may be empty."""
    inputs: tuple[str, ...]
    """Kinds of data it takes, in plain words."""
    outputs: tuple[str, ...]
    """Kinds of data it gives."""
    prerequisites: tuple[str, ...]
    """Other operations of the table that usually come before it, not necessarily all of them."""
    phrases: tuple[str, ...] = ()
    """What people ask for who do not know the term; may be empty."""

    @property
    def texts(self) -> list[str]:
        """What is embedded of the method: its name and what else people call it, then each phrase by itself."""
        return [f"{self.operation}. {', '.join(self.synonyms)}", *self.phrases]


@cache
def load_methods() -> list[Operation]:
    """Return all methods in the order of the table; one shared list, not to be written to."""
    return methods_of(files("engine.retrieval").joinpath("data", "methods.tsv").read_text(encoding="utf-8"))


def methods_of(table: str) -> list[Operation]:
    """Return the methods of a table.

    Raises:
        ValueError: when it has other columns, or a line other fields.
    """
    header, *lines = table.splitlines()
    if tuple(header.split("\t")) != _COLUMNS:
        message = f"methods.tsv has the columns {header!r}; expected {', '.join(_COLUMNS)}"
        raise ValueError(message)
    return [_method(line, number) for number, line in enumerate(lines, start=2) if line]


@cache
def elsewhere() -> list[str]:
    """Return what people also ask for that no tool of any catalogue does."""
    return files("engine.retrieval").joinpath("data", "elsewhere.tsv").read_text(encoding="utf-8").splitlines()


def _method(line: str, number: int) -> Operation:
    fields = line.split("\t")
    if len(fields) != len(_COLUMNS):
        message = f"methods.tsv line {number} has {len(fields)} fields; expected {len(_COLUMNS)}"
        raise ValueError(message)
    operation, *lists = fields
    parts = (tuple(part.split("|")) if part else () for part in lists)
    return Operation(operation=operation, **dict(zip(_COLUMNS[1:], parts, strict=True)))
