"""What a step left behind, read with suspicion: it comes from inside the sandbox.

Nothing is followed out of the step's folder, nothing is opened that could block, and every field is checked.
"""

from __future__ import annotations

import stat
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from engine.domain.findings import Assertion, FindingValue

RESULT_BYTES = 32 * 2**20
"""The largest `result.json` that is read: it holds sentences, not data."""
MOST_FINDINGS = 10_000
MOST_PARTS = 1_000_000
"""Brackets and commas of a `result.json`: parsed, each can take a hundred times its byte."""
MOST_NAME = 120
"""Characters of a file's name: exports put the step's name before it, and systems allow 255 bytes."""


class ResultFile(BaseModel):
    """`result.json` as a step writes it. It comes from inside the sandbox, so every field is checked."""

    model_config = ConfigDict(extra="ignore")

    class Output(BaseModel):
        """A file it says it wrote."""

        file: str
        type: str
        rows: int | None = None
        columns: list[str] = []
        drawing: str = ""
        """Of a figure: the same as SVG."""

    class FoundSentence(BaseModel):
        """A sentence it found."""

        model_config = ConfigDict(extra="ignore")
        text: str
        values: list[FindingValue] = []
        output: str = ""
        row: dict[str, str | int | float | bool | None] = {}
        first: int = Field(default=0, ge=0, le=1_000)
        told_only: bool = False
        asserts: Assertion | None = None

    computed_on: str = Field(default="", max_length=300)
    outputs: dict[str, Output] = {}
    findings: list[FoundSentence] = Field(default=[], max_length=MOST_FINDINGS)
    warnings: list[str] = Field(default=[], max_length=MOST_FINDINGS)


def read_result(folder: Path) -> ResultFile | str:
    """Return what a step says it made, or in a few words why that cannot be used."""
    place = folder / "result.json"
    # A link would lead out of the sandbox, and opening a pipe would wait for ever.
    if folder.is_symlink() or not is_plain_file(place):
        return "there is no file outputs/result.json."
    try:
        if place.stat().st_size > RESULT_BYTES:
            return f"result.json has {place.stat().st_size:,} bytes, at most {RESULT_BYTES:,} are read."
        data = place.read_bytes()
        if sum(data.count(mark) for mark in (b"{", b"[", b",")) > MOST_PARTS:
            return f"result.json holds more than {MOST_PARTS:,} values."
        return ResultFile.model_validate_json(data)
    except ValidationError as err:
        first = err.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "result.json"
        return f"{where}: {first['msg']}."
    except (OSError, ValueError) as err:
        return f"result.json cannot be read ({type(err).__name__})."


def is_plain_file(path: Path) -> bool:
    """Say whether there is a file of one name: not a folder, not a link of either kind, not a pipe."""
    try:
        found = path.lstat()
        return stat.S_ISREG(found.st_mode) and found.st_nlink == 1
    except (OSError, ValueError):
        return False
