"""What an analysis found: sentences whose numbers are data and point to where they can be checked."""

from __future__ import annotations

from typing import Literal

from engine.domain.base import Scalar, Value

Grounding = Literal["grounded", "inferred", "ungrounded", "contradicted"]


class FindingValue(Value):
    """One number of a finding."""

    name: str
    value: Scalar
    unit: str = ""
    low: float | None = None
    high: float | None = None
    """Interval limits, 95 % unless the name says otherwise."""
    n: int | None = None


class Assertion(Value):
    """What a finding states of two entities, as data: it is compared with the knowledge graph, its sentence is not."""

    subject: str
    """Name or identifier, as the data have it."""
    relation: str
    """An `EdgeType`: `upregulates`, `marker_of`."""
    object: str
    sign: Literal[1, -1] = 1
    """1 when the relation was found, -1 when it was found not to hold."""


class Finding(Value):
    """One sentence a step found, with its numbers and the artifact that shows them."""

    id: str
    node: str
    text: str
    values: list[FindingValue] = []
    artifact: str = ""
    """Name of the artifact that shows it."""
    row: dict[str, Scalar] = {}
    """Column -> value that selects the artifact's row; empty when the whole artifact shows it."""
    first: int = 0
    """The sentence names so many of the artifact's first rows, in their order (`the ten with ...`); 0 for none."""
    told_only: bool = False
    """Its table is shown by the rows that findings point to, in their order, and no others: those that go down."""
    asserts: Assertion | None = None
    """What it states of two entities, where it does."""
    grounding: Grounding = "ungrounded"
    """`grounded`: numbers of it were read again from its row of the stored table and agree. `inferred`: computed by a
    step whose postconditions hold, with no row to read again. `contradicted`: its table says otherwise. `ungrounded`:
    nothing was checked (yet)."""
    evidence: list[str] = []
