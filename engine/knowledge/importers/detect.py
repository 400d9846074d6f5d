"""Recognises the format of files by their content; names decide only where content cannot."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from engine.errors import DataError, UserError
from engine.knowledge.importers import generic, hetionet, primekg
from engine.knowledge.importers.gene_table import COLUMNS
from engine.knowledge.importers.ligand_receptor import LIGANDS, RECEPTORS
from engine.knowledge.importers.reading.tables import column_key, delimiter_of
from engine.knowledge.importers.reading.text import first_lines

_GENE = re.compile(r"ENS[A-Z]*G\d{6,}(\.\d+)?|[A-Z][A-Z0-9]+([-.][A-Z0-9]+)*|C[\dXY]+orf\d+|[A-Z][a-z]+\d+[a-z0-9]*")
"""An Ensembl id, a human symbol (EGFR, HLA-A, C1orf112) or a symbol of a mouse that has a number (Trp53)."""
_MOSTLY = 0.8
_ASSOCIATION = re.compile(r"[^\t]+\tGO:\d{7}(;GO:\d{7})*;?")


def detect(paths: Sequence[Path | str]) -> str:
    """Return the name of the format that all the files have.

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
    format = _by_start(path, lines) or _by_header(path, lines) or _by_lines(path, lines)
    if not format:
        message = f"{path.name} has none of the formats that can be imported; it starts {lines[0][:60]!r}."
        raise DataError(message, advice="Name the format, or make tables `id, type, name` and `source, type, target`.")
    return format


def _by_start(path: Path, lines: list[str]) -> str:
    head = "\n".join(lines)
    first = lines[0].lstrip()
    if first.startswith("!"):
        return "gaf" if "gaf-version" in head or "\tGO:" in head else ""
    if "[Term]" in head or first.startswith("format-version:"):
        return "obo"
    if first.startswith("<"):
        return "graphml" if "<graphml" in head or path.name.lower().removesuffix(".gz").endswith(".graphml") else ""
    if first.startswith("{"):
        return "node_link"
    return ""


def _by_header(path: Path, lines: list[str]) -> str:
    header = next((line for line in lines if not re.match(r"#[#\s]", line)), lines[0]).removeprefix("#")
    if hetionet.part_of(path):
        return "hetionet"
    keys = [column_key(name) for name in header.split(delimiter_of(header))]
    columns = set(keys)
    if columns >= set(primekg.COLUMNS):
        return "primekg"
    if (columns & set(LIGANDS) and columns & set(RECEPTORS)) or {"partner_a", "partner_b"} <= columns:
        return "ligand_receptor"
    if generic.part_of(keys) == "edges":
        return "tables"
    genes = sum(bool(columns & set(names)) for what, names in COLUMNS.items() if what != "status")
    if columns & set(COLUMNS["symbol"]) and genes >= 2:
        return "gene_table"
    if generic.part_of(keys) == "nodes" and columns & {"type", "kind", "name", "node_type"}:
        return "tables"
    return ""


def _by_lines(path: Path, lines: list[str]) -> str:
    data = [line for line in lines if not line.startswith("#")]
    associations = sum(_ASSOCIATION.fullmatch(line.strip()) is not None for line in data)
    if data and associations >= 0.5 * len(data) and _ASSOCIATION.fullmatch(data[0].strip()):
        return "associations"
    if len(lines[0].split("\t")) in (15, 16, 17) and "\tGO:" in lines[0]:
        return "gaf"
    if path.name.lower().removesuffix(".gz").endswith(".gmt") or _gene_sets(lines):
        return "gmt"
    return ""


def _gene_sets(lines: list[str]) -> bool:
    """Say whether lines are gene sets although the file's name does not: of different lengths, and full of genes."""
    rows = [line.rstrip("\t").split("\t") for line in lines]
    members = [field.partition(",")[0].strip() for row in rows for field in row[2:]]
    if min(map(len, rows)) < 3 or len({len(row) for row in rows}) < 2:
        return False
    return sum(_GENE.fullmatch(member) is not None for member in members) >= _MOSTLY * len(members)
