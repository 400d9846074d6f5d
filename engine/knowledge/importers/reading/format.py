"""What a file in `engine/knowledge/importers/` declares of its format, and the beginning of a file it is asked of."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from engine.knowledge.importers.reading.batches import Batches, ImportReading
from engine.knowledge.importers.reading.tables import column_key, delimiter_of


@dataclass(frozen=True)
class Beginning:
    """The first lines of a file whose format is looked for."""

    path: Path
    lines: list[str]
    """At least one that is not blank, without their ends."""

    @cached_property
    def first(self) -> str:
        """The first line without what is before its first character."""
        return self.lines[0].lstrip()

    @cached_property
    def keys(self) -> list[str]:
        """The names of the columns, if it is a table: small letters and underscores only."""
        header = next((line for line in self.lines if not re.match(r"#[#\s]", line)), self.lines[0]).removeprefix("#")
        return [column_key(name) for name in header.split(delimiter_of(header))]

    def ends(self, ending: str) -> bool:
        """Say whether the file's name ends so, packed or not."""
        return self.path.name.lower().removesuffix(".gz").endswith(ending)


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatInfo:
    """A format knowledge can be imported from."""

    name: str
    title: str
    description: str
    """One sentence: what the files hold."""
    extensions: tuple[str, ...]
    """Usual endings; every format may be gzipped (`.gz`) besides."""
    read: Callable[[ImportReading], Batches]
    """Give what the files state, nodes before the edges between them."""
    looks: Callable[[Beginning], bool]
    """Say whether a file that begins so is of this format."""
    order: int
    """Formats are asked and listed in this order: what has a mark of its own before what only looks like it."""
    also: tuple[str, ...] = ()
    """Other names that people give it."""
    license: str = ""
    """Under which terms such data usually is, "" when that depends on the file."""
    url: str = ""
    files: str = "one file"
    sample: str = ""
    """A few good lines, for the tests that try every format with cut and damaged files."""
    called: Callable[[list[Path], str], tuple[str, str]] = lambda paths, names: (names, "")
    """`called(paths, names)` gives what the source is called, else the files' names, and the terms the files state."""
