"""Links between tools that the catalogues state: what must come before, what takes an output, what goes together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.data.catalogue import KINDS, accepts
from engine.domain.datatypes import DataType
from engine.domain.retrieval import CatalogueEntry

WEIGHTS: Mapping[str, float] = {
    "requires_tool": 0.9,
    "used_with": 0.7,
    "produces_for": 0.6,
    "required_by": 0.4,
    "knowledge": 0.5,
    "compatible_with": 0.35,
    "same_suite": 0.3,
    "same_domain": 0.15,
}
"""How much of a tool's score passes over a link of each kind."""
_TYPES = frozenset(kind.value for kind in KINDS)
_EVERYWHERE = frozenset({DataType.FIGURE.value, DataType.TEXT.value, DataType.TABLE.value})
"""Kinds of data that nearly every tool gives or takes, so that they join tools without meaning anything."""
_LARGEST_GROUP = 0.25
"""Share of all tools at and above which a group says nothing."""


@dataclass(frozen=True, slots=True)
class Link:
    """A link from a tool to another; `through` is the data type, suite or entity it goes over."""

    row: int
    kind: str
    through: str = ""


class ToolGraph:
    """Links by row. Stated links are listed; groups (data types, suites, domains) are kept as groups."""

    def __init__(self, entries: Sequence[CatalogueEntry], rows: Mapping[str, int]) -> None:
        self._entries = entries
        self._rows = rows

    @cached_property
    def _stated(self) -> dict[int, list[Link]]:
        links: dict[int, list[Link]] = {}
        for row, entry in enumerate(self._entries):
            for name in entry.requires_tool:
                other = self._rows.get(name)
                if other is not None and other != row:
                    links.setdefault(row, []).append(Link(other, "requires_tool"))
                    links.setdefault(other, []).append(Link(row, "required_by"))
            for name in entry.produces_for:
                other = self._rows.get(name)
                if other is not None and other != row:
                    links.setdefault(row, []).append(Link(other, "produces_for"))
        return links

    @cached_property
    def _groups(self) -> dict[tuple[str, str], np.ndarray]:
        """Rows by (`takes`, data type), (`suite`, catalogue and suite) and (`domain`, domain), the useful ones."""
        members: dict[tuple[str, str], list[int]] = {}
        for row, entry in enumerate(self._entries):
            for key in _keys(entry):
                members.setdefault(key, []).append(row)
        most = max(30, int(_LARGEST_GROUP * len(self._entries)))
        return {key: np.array(rows, np.int32) for key, rows in members.items() if 1 < len(rows) <= most or (
            key[0] == "takes" and len(rows) == 1)}  # fmt: skip

    def prepare(self) -> None:
        """Work out everything now instead of at the first question."""
        _ = self._stated, self._groups

    def stated(self, row: int) -> Iterable[Link]:
        """Return the links that the tool's own entry, or another's about it, states."""
        return self._stated.get(row, ())

    def groups(self, row: int) -> list[tuple[str, str, np.ndarray]]:
        """Return (kind of link, what it goes over, rows) for every group the tool leads to."""
        entry = self._entries[row]
        found: list[tuple[str, str, np.ndarray]] = []
        for given in entry.outputs:
            for taken in takers(given):
                rows = self._groups.get(("takes", taken))
                if rows is not None:
                    found.append(("compatible_with", given, rows))
        suite = self._groups.get(("suite", f"{entry.catalogue}\n{entry.suite}"))
        if entry.suite and suite is not None:
            found.append(("same_suite", entry.suite, suite))
        domain = self._groups.get(("domain", entry.domain))
        if entry.domain and domain is not None:
            found.append(("same_domain", entry.domain, domain))
        return found


def _keys(entry: CatalogueEntry) -> Iterable[tuple[str, str]]:
    for taken in set(entry.inputs):
        if taken.lower() not in _EVERYWHERE:
            yield "takes", taken.lower()
    if entry.suite:
        yield "suite", f"{entry.catalogue}\n{entry.suite}"
    if entry.domain:
        yield "domain", entry.domain


def takers(given: str) -> list[str]:
    """Return the kinds of input, in lower case, that data of a kind can be given to."""
    low = given.lower()
    if low in _EVERYWHERE:
        return []
    if low not in _TYPES:
        return [low]
    offered = DataType(low)
    return [kind.value for kind in KINDS if kind.value not in _EVERYWHERE and accepts(kind, offered)]
