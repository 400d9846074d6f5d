"""Ligand-receptor tables in the forms of CellTalkDB, LIANA/OmniPath, CellChat, NATMI and CellPhoneDB.

Any table with a column of ligands and one of receptors will do. A complex (`ITGA1_ITGB1`, `SLC18A1+TPH1`) is taken
apart: every part of the one side gets an edge to every part of the other, with the relation `... complex`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from engine.domain.knowledge import EdgeRows, EdgeType, NodeRows, NodeType
from engine.knowledge.importers.reading.batches import Batches, ImportReading, edge_batches, node_batches
from engine.knowledge.importers.reading.format import Beginning, FormatInfo
from engine.knowledge.importers.reading.ids import Genes, is_uniprot
from engine.knowledge.importers.reading.tables import Row, Table
from engine.knowledge.importers.reading.text import bad_line

LIGANDS = ("ligand_gene_symbol", "ligand_symbol", "ligand_genesymbol", "source_genesymbol", "ligand_gene",
           "ligand_complex", "ligand")  # fmt: skip
RECEPTORS = ("receptor_gene_symbol", "receptor_symbol", "receptor_genesymbol", "target_genesymbol", "receptor_gene",
             "receptor_complex", "receptor")  # fmt: skip
_HYPHENED = re.compile(r"(HLA-[A-Z0-9]+|NKX\d-\d+|MT-[A-Z0-9]+|ERV[A-Z0-9]*-\d+|[A-Z0-9]+)(?:[-+]|$)")
_COMPLEX = re.compile(r"[_+&]")
_FALSE = {"", "false", "0", "no", "f"}


@dataclass(frozen=True, slots=True)
class _Form:
    """Where a table keeps its pairs."""

    ligand: int
    receptor: int
    pair: int = -1
    """CellPhoneDB's `interactors`: both sides in one field."""
    kind: int = -1
    """CellPhoneDB's `directionality`: `Ligand-Receptor`, `Adhesion-Adhesion`..."""
    flags: tuple[int, int] = (-1, -1)
    """Whether the first and the second is a receptor."""


def form_of(table: Table) -> _Form:
    """Return where the pairs are.

    Raises:
        DataError: when there is no column of ligands or none of receptors.
    """
    partners = table.column("partner_a"), table.column("partner_b")
    genes = table.column("gene_a", "gene_name_a"), table.column("gene_b", "gene_name_b")
    if table.column(*LIGANDS) < 0 and min(max(partners), max(genes)) < 0 and table.column("interactors") >= 0:
        partners = (table.column("interactors"),) * 2
    flags = table.column("receptor_a"), table.column("receptor_b")
    if table.column(*LIGANDS) < 0 and (min(partners) >= 0 or min(genes) >= 0):
        first, second = genes if min(genes) >= 0 else partners
        return _Form(first, second, table.column("interactors"), table.column("directionality"), flags)
    return _Form(table.required(*LIGANDS), table.required(*RECEPTORS))


def read(reading: ImportReading) -> Batches:
    """Yield the genes, then the edges ligand -> receptor.

    Raises:
        DataError: for missing columns or a row without ligand or receptor; names the line.
    """
    genes = reading.genes()
    nodes, edges = NodeRows(), EdgeRows()
    seen: set[str] = set()
    pairs: set[tuple[str, str, str]] = set()
    for path in reading.paths:
        table = Table(path)
        form = form_of(table)
        for number, row in table.rows():
            found = _sides(path, number, row, form, reading)
            if found is None:
                continue
            ligands, receptors, relation = found
            for ligand in ligands:
                for receptor in receptors:
                    ends = [_node(name, genes, nodes, seen) for name in (ligand, receptor)]
                    key = (ends[0], ends[1], relation)
                    if key not in pairs:
                        pairs.add(key)
                        edges.add(ends[0], EdgeType.INTERACTS_WITH, ends[1], relation)
    yield from node_batches(nodes)
    yield from edge_batches(edges)


def _sides(
    path: Path, number: int, row: Row, form: _Form, reading: ImportReading
) -> tuple[list[str], list[str], str] | None:
    relation = row[form.kind].strip().lower() if form.kind >= 0 else ""
    relation = relation or "ligand-receptor"
    if form.pair >= 0 and row[form.pair]:
        sides = _both(row[form.pair])
        if sides is None:
            reading.count("pairs could not be taken apart and were left out", row[form.pair])
            return None
    else:
        left, right = row[form.ligand].strip(), row[form.receptor].strip()
        if not left or not right:
            raise bad_line(path, number, f"the {'receptor' if left else 'ligand'} is missing.")
        if _is_named_complex(left) or _is_named_complex(right):
            reading.count("pairs with a complex whose parts are in another file were left out", f"{left}, {right}")
            return None
        sides = _parts(left), _parts(right)
    first, second = (row[at].strip().lower() not in _FALSE if at >= 0 else False for at in form.flags)
    ligands, receptors = (sides[1], sides[0]) if first and not second else sides
    if len(ligands) > 1 or len(receptors) > 1:
        relation += " complex"
    return ligands, receptors, relation


def _parts(text: str) -> list[str]:
    text = text.removeprefix("COMPLEX:").removeprefix("simple:")
    return [part for part in (piece.strip() for piece in _COMPLEX.split(text)) if part]


def _both(text: str) -> tuple[list[str], list[str]] | None:
    """Return the sides of `LIGAND-RECEPTOR` with parts joined by `+`, or None when a hyphen could mean either."""
    if text.count("-") == 1:
        left, right = text.split("-")
        return (left.split("+"), right.split("+")) if left and right else None
    if "".join(match[0] for match in _HYPHENED.finditer(text)) != text:
        return None
    sides: list[list[str]] = [[]]
    for match in _HYPHENED.finditer(text):
        sides[-1].append(match[1])
        if match[0].endswith("-"):
            sides.append([])
    return (sides[0], sides[1]) if len(sides) == 2 and all(sides) else None


def _is_named_complex(text: str) -> bool:
    return (text.lower().startswith("complex:") and "_" not in text) or text.lower().endswith("complex")


def _node(name: str, genes: Genes, nodes: NodeRows, seen: set[str]) -> str:
    if is_uniprot(name):
        known = f"UNIPROT:{name}"
        node_id, xrefs = genes.existing([known]) or known, [known]
    else:
        node_id, xrefs, is_symbol = genes.by_any(name)
        name = name if is_symbol else node_id
    if node_id not in seen:
        seen.add(node_id)
        type = NodeType.PROTEIN if node_id.startswith("UNIPROT:") else NodeType.GENE
        nodes.add(node_id, type, name, None, xrefs)
    return node_id


def _looks(beginning: Beginning) -> bool:
    columns = set(beginning.keys)
    return bool(columns & set(LIGANDS) and columns & set(RECEPTORS)) or {"partner_a", "partner_b"} <= columns


FORMAT = FormatInfo(
    name="ligand_receptor",
    title="Ligand-receptor pairs",
    description="A ligand and its receptor in each row, as CellPhoneDB, CellTalkDB and LIANA have them.",
    extensions=(".csv", ".tsv", ".txt"),
    read=read,
    looks=_looks,
    order=6,
    also=("lr",),
)
