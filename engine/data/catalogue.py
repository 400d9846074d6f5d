"""The kinds of data there are: what files in `engine/data/kinds/` declare, and plain ones for the other types."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

from engine.data import kinds
from engine.data.kind import Kind
from engine.domain.datatypes import DataType


def _declared() -> dict[DataType, Kind]:
    names = [module.name for module in pkgutil.walk_packages(kinds.__path__, f"{kinds.__name__}.")]
    values = [value for name in names for value in vars(importlib.import_module(name)).values()]
    found = [value for value in values if isinstance(value, Kind)]
    twice = {kind.type.value for kind in found if sum(other.type is kind.type for other in found) > 1}
    if twice:
        message = f"Declared twice: {', '.join(sorted(twice))}"
        raise ValueError(message)
    found += [Kind(type=name) for name in DataType if all(kind.type is not name for kind in found)]
    return {kind.type: kind for kind in sorted(found, key=lambda kind: kind.general)}


KINDS = _declared()
"""Type -> what is declared of it, in the order in which kinds are asked what they recognise."""
TABULAR = frozenset(kind.type for kind in KINDS.values() if kind.records)
"""Types that are one record a row."""
BINARIES = tuple(kind.binary for kind in KINDS.values() if kind.binary)
"""How binary files of some kinds are known."""


def accepts(wanted: DataType, offered: DataType) -> bool:
    """Say whether an input of type `wanted` may be given data of type `offered`."""
    if wanted is DataType.TABLE and KINDS[offered].records:
        return True
    return wanted == offered or offered in KINDS[wanted].takes


def read_data(path: Any, kind: str, **options: Any) -> Any:
    """Read a file as a tool gets it."""
    return KINDS[DataType(kind)].read(path, **options)


def write_data(value: Any, stem: str, kind: str) -> str:
    """Write an output as a step does; return the file's name."""
    return KINDS[DataType(kind)].write(value, stem)
