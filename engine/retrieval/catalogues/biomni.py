"""Biomni's tools (https://github.com/snap-stanford/Biomni), described without importing any of its code.

Read from a JSON file of its descriptions (`{area: [tool, ...]}`), its description files (each a Python list,
parsed and never run), or the package where it is installed. Where the package is installed, every entry also
says which function it is; it is imported only when called (`calling`).
"""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine.domain.retrieval import CatalogueEntry
from engine.retrieval.catalogues.text import distinct, json_document, plain, read_text, refuse, shown

EXPECTED = (
    "Expected Biomni's descriptions: a JSON file {area: [tools]}, the folder tool_description of its source, "
    "or `biomni` where the package is installed."
)
_INSIDE = ("", "tool_description", "tool/tool_description", "biomni/tool/tool_description")


def read(path: Path) -> Iterator[CatalogueEntry]:
    """Yield the tools of a JSON file, a description file, a folder of them, or the installed package (`biomni`).

    Raises:
        DataError: for something else, or a file in it that cannot be read.
    """
    return distinct(_entries(path))


def _entries(path: Path) -> Iterator[CatalogueEntry]:
    package = _installed()
    if not path.exists() and path.name == "biomni":
        if package is None:
            raise refuse(path, "there is no such file, and the package biomni is not installed", EXPECTED)
        path = package
    found = 0
    for area, where, record in _records(path):
        found += 1
        yield _entry(path, area, where, record, package)
    if not found:
        raise refuse(path, "no tool is described in it", EXPECTED)


def _records(path: Path) -> Iterator[tuple[str, str, Any]]:
    """Yield (area, where, record)."""
    if path.is_dir():
        files = next((found for part in _INSIDE if (found := _description_files(path / part))), [])
        if not files:
            raise refuse(path, "the folder holds no description files", EXPECTED)
        for file in files:
            yield from _python(file)
    elif path.suffix == ".py":
        yield from _python(path)
    else:
        document = json_document(path, read_text(path, EXPECTED), EXPECTED)
        areas = document if isinstance(document, dict) else {"": document}
        for area, records in areas.items():
            if not isinstance(records, list):
                raise refuse(path, f"{shown(area)} is not a list of tools", EXPECTED)
            for number, record in enumerate(records, start=1):
                yield area, f"tool {number} of {shown(area)}" if area else f"tool {number}", record


def _description_files(folder: Path) -> list[Path]:
    files = [file for file in sorted(folder.glob("*.py")) if file.name != "__init__.py"]
    return [file for file in files if _literal(file) is not None]


def _python(path: Path) -> Iterator[tuple[str, str, Any]]:
    literal = _literal(path)
    if literal is None:
        raise refuse(path, "it assigns no list to `description`", EXPECTED)
    try:
        records = ast.literal_eval(literal)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        what = f"line {literal.lineno} begins a list that is not made of plain values"
        raise refuse(path, what, EXPECTED) from error
    for item, record in zip(literal.elts, records, strict=True):
        yield path.stem, f"line {item.lineno}", record


def _literal(path: Path) -> ast.List | None:
    """Return the list that the file last assigns to `description`, unevaluated."""
    try:
        tree = ast.parse(read_text(path, EXPECTED))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None) or 1
        raise refuse(path, f"line {line} is not Python ({getattr(error, 'msg', error)})", EXPECTED) from error
    found: ast.List | None = None
    for statement in tree.body:
        if isinstance(statement, ast.Assign):
            targets, value = statement.targets, statement.value
        elif isinstance(statement, ast.AnnAssign):
            targets, value = [statement.target], statement.value
        else:
            continue
        if isinstance(value, ast.List) and any(isinstance(t, ast.Name) and t.id == "description" for t in targets):
            found = value
    return found


def _entry(path: Path, area: str, where: str, record: Any, package: Path | None) -> CatalogueEntry:
    name = plain(record.get("name")) if isinstance(record, dict) else ""
    if not name:
        raise refuse(path, f"{where} has no 'name'", EXPECTED)
    named = [*_parameters(record, "required_parameters"), *_parameters(record, "optional_parameters")]
    installed = package is not None and (package / "tool" / f"{area}.py").is_file()
    return CatalogueEntry(
        name=name,
        description=plain(record.get("description")) or name,
        catalogue="biomni",
        domain=plain(area).replace("_", " "),
        params=named,
        suite=plain(area),
        license="Apache-2.0",
        call=f"biomni.tool.{area}:{name}" if installed and name.isidentifier() else "",
    )


def _parameters(record: dict[str, Any], key: str) -> list[str]:
    values = record.get(key)
    return [plain(v.get("name")) for v in values if isinstance(v, dict)] if isinstance(values, list) else []


def _installed() -> Path | None:
    """Return the installed package's folder without importing it."""
    try:
        spec = importlib.util.find_spec("biomni")
    except (ImportError, ValueError):
        return None
    places = list(spec.submodule_search_locations or ()) if spec else []
    return Path(places[0]) if places else None
