"""What can be asked: every analysis of every field, declared beside the tools that carry it out (or will).

A field's folder holds `analyses.toml` (what is asked, its family, the kinds of data, what belongs around it, what
would spoil it) and `questions.txt` (how people word it). An analysis that no tool answers yet is declared as well, so
that a question for it is refused by its name and not answered as its neighbour.
"""

from __future__ import annotations

import functools
import hashlib
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from engine.domain.base import Value
from engine.toolbox.registry import builtin_tools

MARK = re.compile(r"\{([^{}|]*)\|(\w+)\}")
APART, ASIDE = "+", "-"
"""Between the analyses chosen for the parts of a question, and what stands for a part that is left aside."""


class Practice(Value):
    """A step that good practice puts beside an analysis."""

    tool: str
    when: Literal["before", "after"] = "after"
    why: str
    params: dict[str, Any] = {}
    """Parameter -> value, or `=PARAM` for the value of the answering step's parameter."""
    habits: dict[str, Any] = {}
    """Values in place of the tool's defaults that nothing settles."""
    asked: bool = False
    """True for a step that the words ask for (by `only`): what it lacks is then said."""
    only: list[str] = []
    """Conditions (see `engine.planning.binding.conditions`) that must hold."""


class Analysis(Value):
    """One kind of question."""

    id: str
    field: str
    asks: str
    family: str
    title: str = ""
    slots: list[str] = []
    data: list[str] = []
    """Data types it can be asked of; the first that is there counts."""
    when: list[str] = []
    """Conditions on the data without which another analysis of the family is meant."""
    instead: list[str] = []
    """Which analyses are meant where the data do not meet `when`."""
    stands_for: list[str] = []
    """Analyses of other fields in whose place this one is meant where the data cannot serve them."""
    alike: list[str] = []
    """Analyses that answer the same question of the same columns in another form: nobody is asked which is meant."""
    needs: list[str] = []
    """Roles of parameters that must be bound for this analysis, though the tool can do without."""
    guards: list[str] = []
    """Names of what would spoil it (see `engine.planning.guards`)."""
    practice: list[Practice] = []
    alone: str = ""
    """Why nothing belongs around it, for an analysis without practice."""
    suggests: list[str] = []
    """Wordings that are offered for files nobody has asked about yet, with slots for names of the data (see
    `engine.planning.followups.suggestions`)."""
    rank: int = 9
    """The lower, the earlier it is offered."""
    asked_after: str = ""
    """How it is asked after a step that makes something for its tool."""

    @property
    def name(self) -> str:
        """What it is called in sentences."""
        return self.title or self.id.replace("_", " ")

    @property
    def examples(self) -> list[str]:
        """How people word it. Read when asked for: no plan needs them, and they are most of what a field holds."""
        return [example.plain for example in _own_examples().get(self.id, ())]


class ExampleQuestion(NamedTuple):
    """A question somebody wrote: with `{words|kind}` for what stands for data, and a number for who wrote it."""

    analysis: str
    text: str
    writer: int

    @property
    def plain(self) -> str:
        """The question as a person reads it."""
        return MARK.sub(lambda match: match[1], self.text)

    @property
    def masked(self) -> str:
        """The question with the kinds in capitals in place of the words that stand for data."""
        return MARK.sub(lambda match: match[2].upper(), self.text)


def fields() -> list[Path]:
    """Return the folders of the fields, in order of their names."""
    return sorted(path.parent for path in Path(__file__).parent.glob("*/analyses.toml"))


def read_examples(path: Path) -> Iterator[tuple[ExampleQuestion, bool]]:
    """Yield (example, whether it is a near miss written for another analysis) of a field's `questions.txt`.

    Raises:
        ValueError: naming file and line that cannot be read.
    """
    analysis, writer = "", 0
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("[") and line.endswith("]"):
            analysis = line[1:-1]
        elif line.startswith("@") and line[1:].strip().isdigit():
            writer = int(line[1:])
        elif line.startswith("!"):
            text, arrow, other = line[1:].rpartition("=>")
            if not arrow or not other.strip():
                message = f"{path.name}, line {number}: a near miss ends with `=> ANALYSIS`"
                raise ValueError(message)
            yield ExampleQuestion(other.strip(), text.strip(), writer), True
        elif analysis:
            yield ExampleQuestion(analysis, line.strip(), writer), False
        else:
            message = f"{path.name}, line {number}: a question stands before the first [analysis]"
            raise ValueError(message)


@functools.cache
def all_examples() -> tuple[ExampleQuestion, ...]:
    """Return every example of every field, near misses under the analysis they ask for."""
    return tuple(example for folder in fields() for example, _ in read_examples(folder / "questions.txt"))


@functools.cache
def _own_examples() -> dict[str, list[ExampleQuestion]]:
    """Return analysis -> the examples that stand under it, without near misses."""
    found: dict[str, list[ExampleQuestion]] = {}
    for folder in fields():
        for example, miss in read_examples(folder / "questions.txt"):
            if not miss:
                found.setdefault(example.analysis, []).append(example)
    return found


def chosen_parts(analysis: str) -> list[str]:
    """Return what is chosen for each part of a question, as `compare_groups+correlation`; `ASIDE` leaves one aside."""
    return analysis.split(APART) if analysis else []


@functools.cache
def load_analyses() -> dict[str, Analysis]:
    """Return id -> analysis for every field.

    Raises:
        ValueError: when two fields declare one id.
        TypeError: when a tool declares of an analysis what its field does.
    """
    told = {key: facts for spec in builtin_tools() for key, facts in spec.declares.items()}
    found: dict[str, Analysis] = {}
    for folder in fields():
        for key, facts in tomllib.loads((folder / "analyses.toml").read_text(encoding="utf-8")).items():
            if key in found:
                message = f"Two fields declare the analysis {key!r}: {found[key].field} and {folder.name}"
                raise ValueError(message)
            found[key] = Analysis(id=key, field=folder.name, **facts, **told.get(key, {}))
    return found


def sources_hash() -> str:
    """Return the SHA-256 over all example files and the ids of the analyses: what the trained chooser was made from."""
    digest = hashlib.sha256()
    for folder in fields():
        digest.update((folder / "questions.txt").read_bytes())
        digest.update("".join(tomllib.loads((folder / "analyses.toml").read_text(encoding="utf-8"))).encode())
    return digest.hexdigest()
