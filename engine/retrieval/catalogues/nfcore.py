"""The descriptions of nf-core's modules (https://github.com/nf-core/modules): a meta.yml for each.

Read from a tar archive, a folder or one file. Nothing is ever unpacked to the disk. Subworkflows, which only
join modules, are left out.
"""

from __future__ import annotations

import io
import lzma
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from engine.domain.retrieval import CatalogueEntry
from engine.retrieval.catalogues.text import decode, distinct, plain, read_bytes, refuse, shown, words_of

EXPECTED = "Expected nf-core's modules: a tar archive or a folder with files meta.yml, or one such file."
_META = ("meta.yml", "meta.yaml")
_MAX_META = 4_000_000
_DATA = ("file", "directory")
"""Types of channels that carry data; the others are settings."""


def read(path: Path) -> Iterator[CatalogueEntry]:
    """Yield the modules of an archive, a folder tree or a single meta.yml.

    Raises:
        DataError: for something else, or a file in it that cannot be read.
    """
    return distinct(_entries(path))


def _entries(path: Path) -> Iterator[CatalogueEntry]:
    found = 0
    for place, name, data in _files(path):
        entry = _entry(place, name, data)
        if entry is not None:
            found += 1
            yield entry
    if not found:
        raise refuse(path, "no module is described in it", EXPECTED)


def _files(path: Path) -> Iterator[tuple[Path, str, bytes]]:
    """Yield (file for messages, the module's name by its place or "", content)."""
    if path.is_dir():
        for place in sorted(child for name in _META for child in path.rglob(name) if child.is_file()):
            parts = place.resolve().parts
            if "subworkflows" not in place.relative_to(path).parts:
                yield place, _name(parts[:-1]) or "/".join(place.relative_to(path).parts[:-1]), _content(place)
        return
    data = read_bytes(path, EXPECTED)
    if path.name.lower().removesuffix(".gz").endswith((".yml", ".yaml")):
        yield path, _name(path.resolve().parts[:-1]), data
        return
    if not tarfile.is_tarfile(io.BytesIO(data)):
        raise refuse(path, "it is neither a tar archive nor a file meta.yml", EXPECTED)
    yield from _archived(path, data)


def _archived(path: Path, data: bytes) -> Iterator[tuple[Path, str, bytes]]:
    """Yield the same from a tar archive."""
    try:
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            for member in archive:
                parts = PurePosixPath(member.name).parts
                if member.name.startswith("/") or ".." in parts:
                    raise refuse(path, f"it holds the path {shown(member.name)}, which leads outside of it", EXPECTED)
                if member.isfile() and parts and parts[-1] in _META and "subworkflows" not in parts:
                    stream = archive.extractfile(member) if member.size <= _MAX_META else None
                    if stream is None:
                        raise refuse(path / member.name, "it is too large for a description", EXPECTED)
                    yield path / member.name, _name(parts[:-1]) or "/".join(parts[:-1]), stream.read()
    except (tarfile.TarError, EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        what = "the archive is damaged or was not downloaded to its end"
        raise refuse(path, what, "Fetch the file again.") from error


def _content(place: Path) -> bytes:
    if place.stat().st_size > _MAX_META:
        raise refuse(place, "it is too large for a description", EXPECTED)
    return read_bytes(place, EXPECTED)


def _name(folders: tuple[str, ...]) -> str:
    """Return `bwa/mem` for a path that ends in `modules/nf-core/bwa/mem`, or ""."""
    where = max((place for place, part in enumerate(folders) if part == "modules"), default=None)
    return "" if where is None else "/".join(folders[where + 2 :])


def _entry(place: Path, name: str, data: bytes) -> CatalogueEntry | None:
    meta = _yaml(place, decode(place, data, EXPECTED))
    if not isinstance(meta, dict):
        raise refuse(place, "line 1 does not begin a description with `name` and `description`", EXPECTED)
    if "components" in meta and "tools" not in meta:
        return None
    name = name or plain(meta.get("name"))
    if not name:
        raise refuse(place, "it has no `name`", EXPECTED)
    tools = [about for about in _named(meta.get("tools")) if isinstance(about[1], dict)]
    texts = [plain(meta.get("description")), *(plain(about.get("description")) for _, about in tools)]
    inputs, params = _channels(meta.get("input"))
    outputs, _ = _channels(meta.get("output"))
    pages = [plain(about.get(key)) for _, about in tools for key in ("homepage", "documentation", "tool_dev_url")]
    described = " ".join(dict.fromkeys(text for text in texts if text))
    return CatalogueEntry(
        name=name,
        title=", ".join(dict.fromkeys(tool for tool, _ in tools)),
        description=described or name,
        catalogue="nf-core",
        keywords=words_of(meta.get("keywords")),
        inputs=inputs,
        outputs=outputs,
        params=params,
        suite=name.split("/")[0],
        url=next((page for page in pages if page.startswith("http")), ""),
        license="MIT",
    )


def _yaml(place: Path, text: str) -> Any:
    import yaml

    try:
        return _loaded(text)
    except yaml.MarkedYAMLError as error:
        line = _line_at_fault(text, error)
        raise refuse(place, f"line {line} is not YAML ({error.problem or 'not well-formed'})", EXPECTED) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise refuse(place, f"it is not YAML ({plain(error)[:120]})", EXPECTED) from error


def _loaded(text: str) -> Any:
    import yaml

    # Both make plain values only; the first is ten times faster and not in every build.
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506


def _line_at_fault(text: str, error: Any) -> int:
    """Return the line, from 1, without which the text would be YAML.

    A parser often notices what is wrong only in the line after (a stray word may still become a key there), so the
    line that it names is taken at its word when leaving it out mends the text, else the one before when that does.
    """
    named = error.problem_mark.line if error.problem_mark else 0
    begun = error.context_mark.line if error.context_mark else named
    lines = text.split("\n")
    for line in dict.fromkeys((named, named - 1, begun)):
        if 0 <= line < len(lines) and _is_yaml("\n".join([*lines[:line], "", *lines[line + 1 :]])):
            return line + 1
    return min(named, len(lines) - 1) + 1


def _is_yaml(text: str) -> bool:
    import yaml

    try:
        _loaded(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return False
    return True


def _channels(value: Any) -> tuple[list[str], list[str]]:
    """Return (kinds of data, settings) of a module's inputs or outputs, whatever form of the standard they are in."""
    data: list[str] = []
    settings: list[str] = []
    for name, about in _leaves(value, ""):
        kind = str(about.get("type", "file")).lower()
        if name.startswith("versions"):
            continue
        if kind in _DATA:
            pattern = plain(about.get("pattern"))
            data.append(f"{name} {pattern}" if pattern and pattern != name else name)
        elif kind != "map" and not kind.startswith("eval"):
            settings.append(name)
    return list(dict.fromkeys(data)), list(dict.fromkeys(settings))


def _leaves(value: Any, channel: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (name, description) of everything that has a type; a file's own name is its pattern, so its channel's."""
    for name, about in _named(value):
        if isinstance(about, dict) and isinstance(about.get("type"), str):
            yield (channel if channel and any(mark in name for mark in "*${") else name), about
        elif isinstance(about, list | dict):
            yield from _leaves(about, name or channel)


def _named(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield (name, value) of mappings, of mappings in a list, and of lists in a list (without a name)."""
    if isinstance(value, dict):
        for name, about in value.items():
            yield plain(name), about
    elif isinstance(value, list):
        for item in value:
            if isinstance(item, dict):
                yield from _named(item)
            elif isinstance(item, list):
                yield "", item
