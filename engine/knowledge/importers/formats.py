"""The formats knowledge can be imported from: what the files beside this one declare, and which of them a file has."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from pathlib import Path

from engine.errors import DataError, UserError
from engine.knowledge import importers
from engine.knowledge.importers.reading.format import Beginning, FormatInfo
from engine.knowledge.importers.reading.text import first_lines


def _declared() -> dict[str, FormatInfo]:
    names = [module.name for module in pkgutil.iter_modules(importers.__path__, f"{importers.__name__}.")]
    modules = [importlib.import_module(name) for name in names if name not in (__name__, f"{importers.__name__}.read")]
    found = [value for module in modules for value in vars(module).values() if isinstance(value, FormatInfo)]
    return {info.name: info for info in sorted(found, key=lambda info: info.order)}


FORMATS: dict[str, FormatInfo] = _declared()


def format_named(name: str) -> FormatInfo:
    """Return a format by its name; dashes, capitals and a few other names are understood.

    Raises:
        UserError: when there is none.
    """
    key = name.strip().lower().replace("-", "_").replace(" ", "_")
    info = FORMATS.get(key) or next((info for info in FORMATS.values() if key in info.also), None)
    if info is None:
        message = f"There is no format {name!r}; the formats are {', '.join(FORMATS)}."
        raise UserError(message, advice="Leave the format out (`auto`) to have it recognised.")
    return info


def detect(paths: Sequence[Path | str]) -> str:
    """Return the name of the format that all the files have, by their content; names decide only where it cannot.

    Raises:
        DataError: when a file is of no known format or holds nothing to import, or the files are of different ones.
    """
    if not paths:
        raise UserError("No file was given.", advice="Name at least one file.")
    found = {Path(path): _one(Path(path)) for path in paths}
    formats = set(found.values())
    if len(formats) > 1:
        listed = ", ".join(f"{path.name} is {format}" for path, format in found.items())
        message = f"The files are of different formats: {listed}."
        raise DataError(message, advice="Import them one after the other.")
    return formats.pop()


def _one(path: Path) -> str:
    lines = first_lines(path)
    if not lines:
        raise DataError(f"{path.name} has only blank lines.", advice="Copy or download it again.")
    beginning = Beginning(path, lines)
    for info in FORMATS.values():
        if info.looks(beginning):
            return info.name
    message = f"{path.name} has none of the formats that can be imported; it starts {lines[0][:60]!r}."
    raise DataError(message, advice="Name the format, or make tables `id, type, name` and `source, type, target`.")
