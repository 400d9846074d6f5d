"""What a plan is going to do, a sentence a goal: what each column, level and row is for, and what else it could be."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any, NamedTuple

from engine.domain.base import Value

REFERENCE = "Reference"
"""What the level is called that others are compared with."""
NO_REFERENCE = "without a reference"
_HAPPENS = ("Event", "Outcome")
_AGAINST = " against "


class BriefPart(Value):
    """One part of a goal: `Groups: arm, chemo (83) and control (77)`."""

    label: str
    """What it is the column, level or setting for: `Outcome`, `Groups`, `Adjusted for`."""
    words: str
    """What it is, in words."""
    node: str = ""
    """The step that a change of it changes; empty where it is only told."""
    param: str = ""
    """The parameter of that step; empty where it is only told."""
    value: Any = None
    candidates: list[str] = []
    """The columns or levels that could stand there, the best first; a setting has bounds or choices instead."""
    called: dict[str, str] = {}
    """Candidate or choice -> what it is called where it is picked; those that are called so anyway are left out."""
    asked: bool = False
    """True when the planner could not know it."""
    by_hand: bool = False
    """True when a person chose it."""
    column: str = ""
    """For one of several levels that a parameter holds as `COLUMN=LEVEL`: the column it is of."""
    beside: list[str] = []
    """The others that it holds."""

    def chosen(self, value: Any) -> Any:
        """Return what the parameter is set to when `value` is chosen for this part."""
        return [*self.beside, f"{self.column}={value}"] if self.column else value


class Other(Value):
    """Another analysis that these columns could be given to."""

    analysis: str
    title: str
    tool: str
    params: dict[str, Any]
    """Parameter of its tool -> the column or columns of this goal."""
    adjusting: str = ""
    """The parameter that takes columns to adjust for; empty for an analysis that adjusts for nothing."""

    def adjusted(self, columns: list[str]) -> dict[str, Any]:
        """Return its parameters with columns to adjust for."""
        return {**self.params, self.adjusting: [*self.params.get(self.adjusting, []), *columns]}


class SetupPart(Value):
    """A column, or several, that an analysis takes."""

    param: str
    label: str
    """What it is for, in words."""
    columns: list[str]
    """The columns that could be it, those that fit best first."""
    named: list[str] = []
    """What a question names for it."""
    several: bool = False
    needed: bool = False


class Setup(Value):
    """An analysis that files can serve with the columns it takes: filled in where words are not understood."""

    analysis: str
    title: str
    asks: str
    tool: str
    parts: list[SetupPart]

    def ready(self, named: Mapping[str, list[str]]) -> bool:
        """Say whether parameter -> columns has all that it cannot do without, and no column twice."""
        given = [name for names in named.values() for name in names]
        return len(given) == len({*given}) and all(named.get(p.param) for p in self.parts if p.needed)

    def chosen(self, named: Mapping[str, list[str]]) -> dict[str, dict[str, Any]]:
        """Return tool -> parameter -> what is set there, for parameter -> columns: nothing where nothing is named."""
        set_there = {part.param: (part.several, named.get(part.param, [])) for part in self.parts}
        return {
            self.tool: {name: own if several else own[0] if own else "" for name, (several, own) in set_there.items()}
        }


class ClausePiece(NamedTuple):
    """Some words of a sentence, and the part that they tell and that can be chosen anew there; None for plain words."""

    words: str
    part: BriefPart | None = None


class GoalBrief(Value):
    """One thing that the plan answers."""

    analysis: str
    title: str
    """What is done, as its field calls it."""
    node: str
    """The step that answers."""
    tool: str
    method: str
    """The test or model that is computed, as its field calls it."""
    because: str = ""
    """Why it is this one, in a few words."""
    choice: BriefPart
    """The setting that another test or model is chosen by; without a parameter where there is none."""
    parts: list[BriefPart]
    others: list[Other] = []
    """Other analyses of the same columns."""
    why: list[str]
    """Why it is done so, one sentence each."""

    @property
    def computed(self) -> str:
        """The test or model with its reason, in a sentence."""
        return "".join(piece.words for piece in self._computed())

    def sentence(self) -> str:
        """Return the goal in plain text."""
        said = ("".join(piece.words for piece in clause) for clause in self.clauses())
        return " ".join([f"{self.title}.", *said])

    def clauses(self) -> Iterator[list[ClausePiece]]:
        """Yield the sentence in pieces, clause by clause: `Outcome: status is died (2) over time.`."""
        labels = {part.label for part in self.parts if not part.column}
        for label, alike in groupby(self.parts, key=lambda part: part.label):
            own = list(alike)
            if (
                label in ("Time", "Event is")
                and labels & {*_HAPPENS}
                and not (label == "Time" and "Event" not in labels)
            ):
                continue  # told with what happens
            if label == "Event" or (label == "Outcome" and "Event is" in labels):
                yield self._happening(own)
            elif label == "Groups" and len(own) == 1:
                yield self._groups(own[0])
            elif label in ("Of interest", REFERENCE) and not own[0].column:
                with_groups = label == REFERENCE and self._of("Groups") is not None  # told with them, once
                if not (self._compared() or with_groups) and own[0].words != NO_REFERENCE:
                    yield _clause(label, own)
            elif own := [part for part in own if part.words]:
                yield _clause(label, own)
        yield self._computed()

    def _of(self, label: str) -> BriefPart | None:
        return next((part for part in self.parts if part.label == label and not part.column), None)

    def _happening(self, own: list[BriefPart]) -> list[ClausePiece]:
        level, time = self._of("Event is"), self._of("Time") if self._of("Event") else None
        pieces = _clause("Outcome", own)[:-1]
        if level is not None:
            pieces += [ClausePiece(" (event: " if level.asked else " is "), ClausePiece(level.words, level)]
            pieces += [ClausePiece(")")] if level.asked else []
        pieces += [ClausePiece(" over "), ClausePiece(time.words, time)] if time else []
        return [*pieces, ClausePiece(".")]

    def _compared(self) -> bool:
        """Say whether the groups already say which is set against which."""
        groups = self._of("Groups")
        return groups is not None and _AGAINST in groups.words

    def _groups(self, groups: BriefPart) -> list[ClausePiece]:
        """Return the groups with each side as a part of its own, as far as a side can be chosen."""
        column, colon, levels = groups.words.partition(": ")
        first, against, second = levels.rpartition(_AGAINST)
        interest, reference = self._of("Of interest"), self._of(REFERENCE)
        pieces = [ClausePiece("Groups: "), ClausePiece(column, groups), ClausePiece(colon)]
        if not against:
            pieces.append(ClausePiece(levels))
            if reference is not None:
                pieces += [
                    ClausePiece(", " if reference.words == NO_REFERENCE else ", against "),
                    ClausePiece(reference.words, reference),
                ]
        else:
            pieces += [ClausePiece(first, interest), ClausePiece(against), ClausePiece(second, reference)]
        return [piece for piece in [*pieces, ClausePiece(".")] if piece.words]

    def _computed(self) -> list[ClausePiece]:
        head = re.split(r"\s*[,(;]| with ", self.method)[0]
        kind = "Test" if re.search(r"\btests?\b|ANOVA|analysis of variance", head) else "Method"
        why = f", because {self.because}." if self.because else "."
        return [ClausePiece(f"{kind}: "), ClausePiece(self.method, self.choice), ClausePiece(why)]


def _clause(label: str, parts: list[BriefPart]) -> list[ClausePiece]:
    pieces = [ClausePiece(f"{label}: ")]
    for number, part in enumerate(parts):
        pieces += [ClausePiece("; "), ClausePiece(part.words, part)] if number else [ClausePiece(part.words, part)]
    return [*pieces, ClausePiece(".")]
