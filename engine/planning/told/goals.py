"""What a question asks for, as whoever read it says it: analyses with their tools, parameters, rows and columns to compute."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from engine.domain.base import Value
from engine.planning.tables.limits import Counted

Comparison = Literal["in", "not in", ">", ">=", "<", "<=", "between"]
Meaning = Literal[
    "column", "level", "gene", "number", "threshold", "direction", "restriction", "pairing", "adjustment", "method",
    "output", "asked", "filler",
]  # fmt: skip
"""What words of a question can be taken for; see `engine.domain.plan.Taken`."""


class ToldRows(Value):
    """Rows to keep: those of a column that meet a comparison."""

    column: str
    op: Comparison = "in"
    values: list[str | float] = Field(
        min_length=1,
        description="Levels for `in` and `not in`, one number for a cut, two for `between` (both included).",
    )


class ToldColumn(Value):
    """A column to compute before anything else."""

    name: str = Field(min_length=1)
    formula: str = Field(
        min_length=1, description="Of columns of one file and of columns that stand before it, names in back quotes."
    )
    why: str = ""


class ToldWords(Value):
    """Words of the question, as they stand there, and what they were taken for."""

    words: str = Field(min_length=1)
    means: Meaning
    value: str = Field(default="", description="Which column, level or setting.")


class ToldGoal(Value):
    """One thing that is asked and the step that answers it."""

    analysis: str = Field(default="", description="One of those that the tool answers.")
    """Empty for a tool that was written for this question."""
    tool: str
    files: dict[str, str] = Field(default={}, description="Input -> name of its file, where several files could serve.")
    params: dict[str, Any] = Field(
        default={},
        description="Parameter -> value; null leaves a column part empty that would else be filled from the data.",
    )
    rows: list[ToldRows] = []
    why: str = ""


class ToldPlan(Value):
    """A question, read by somebody else."""

    goals: list[ToldGoal] = []
    sheets: dict[str, str] = Field(default={}, description="File -> sheet of it to read in place of the one that is.")
    columns: list[ToldColumn] = []
    limits: dict[str, Counted] = Field(
        default={}, description="Column -> what its cells below a limit are read as; those above are the limit."
    )
    once: list[str] = Field(
        default=[], description="Files of which rows that repeat an earlier one in every column are left out."
    )
    words: list[ToldWords] = []
    not_answered: list[str] = []
    """Parts of the question that nothing here answers, each as a sentence with the reason."""
