"""Gene tables: the HGNC complete set, or any table with symbols beside identifiers, names or aliases.

Columns are recognised by their name, identifiers by their content too. Rows of one gene (several transcripts, patches
of the assembly) become one node: the same Entrez number is the same gene, and a row without one belongs to the gene
of its symbol. Withdrawn entries and rows without a symbol are left out and counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path

from engine.domain.knowledge import NodeRows, NodeType
from engine.errors import DataError
from engine.knowledge.importers.generic import part_of
from engine.knowledge.importers.reading.batches import Batches, ImportReading, node_batches
from engine.knowledge.importers.reading.format import Beginning, FormatInfo
from engine.knowledge.importers.reading.ids import Genes, is_ensembl_gene, is_uniprot, without_version
from engine.knowledge.importers.reading.tables import Row, Table, listed, number_in

COLUMNS: dict[str, tuple[str, ...]] = {
    "symbol": ("symbol", "approved_symbol", "gene_symbol", "hgnc_symbol", "external_gene_name", "gene_name",
               "associated_gene_name", "genesymbol", "mgi_symbol", "marker_symbol", "gene"),
    "entrez": ("entrez_id", "entrez", "entrezgene", "entrezgene_id", "entrez_gene_id", "ncbi_gene_id",
               "ncbi_gene_id_supplied_by_ncbi", "geneid", "ncbi_gene", "entrezid"),
    "ensembl": ("ensembl_gene_id", "ensgene", "ensembl", "ensembl_id", "gene_stable_id", "ensembl_gene",
                "ensembl_id_supplied_by_ensembl", "gene_id"),
    "uniprot": ("uniprot_ids", "uniprot", "uniprot_id", "uniprotkb", "uniprot_accession", "uniprotswissprot",
                "uniprot_id_supplied_by_uniprot", "uniprotkb_swiss_prot_id"),
    "hgnc": ("hgnc_id", "hgnc"),
    "alias": ("alias_symbol", "alias_symbols", "aliases", "alias", "synonyms", "synonym", "gene_synonym",
              "external_synonym"),
    "previous": ("prev_symbol", "previous_symbols", "previous_symbol", "prev_symbols", "old_symbol"),
    "name": ("name", "approved_name", "description", "gene_description", "full_name", "gene_full_name",
             "wikigene_description"),
    "status": ("status",),
    "alias_name": ("alias_name", "other_designations"),
    "previous_name": ("prev_name", "previous_name"),
}  # fmt: skip
"""What a column holds -> names it goes by (see `column_key`), the surest first."""

_SOURCE_NOTE = re.compile(r"\s*\[Source:[^\]]*\]\s*$")
_EMPTY = {"", "na", "nan", "none", "null", "-", ".", "n/a"}
_SAMPLE = 200


@dataclass(slots=True)
class _Gene:
    name: str
    aliases: dict[str, None] = field(default_factory=dict)
    xrefs: dict[str, None] = field(default_factory=dict)


@dataclass(slots=True)
class _GeneRow:
    symbol: str
    entrez: str
    aliases: list[str]
    xrefs: list[str]


def columns_of(table: Table, sample: list[tuple[int, Row]]) -> dict[str, int]:
    """Return what the table's columns hold -> position, from their names and the first rows.

    Raises:
        DataError: when there is no column of symbols.
    """
    places = {what: table.column(*names) for what, names in COLUMNS.items()}
    tests: dict[str, Callable[[str], bool]] = {
        "ensembl": is_ensembl_gene,
        "uniprot": is_uniprot,
        "entrez": lambda text: re.fullmatch(r"\d{1,9}(\.0*)?", text) is not None,
    }
    for what, test in tests.items():
        at = places[what]
        if at >= 0 and what == "ensembl" and _share(sample, at, test) < 0.5:
            if places["entrez"] < 0 and _share(sample, at, tests["entrez"]) > 0.8:
                places["entrez"] = at  # a `gene_id` that holds Entrez numbers
            places[what] = -1
        if places[what] < 0 and what != "entrez":
            free = [place for place in range(len(table.header)) if place not in places.values()]
            places[what] = next((place for place in free if _share(sample, place, test) > 0.8), -1)
    at = places["symbol"]
    if at >= 0 and _share(sample, at, is_ensembl_gene) > 0.5:
        places["symbol"] = -1  # `gene` may hold Ensembl ids
    if places["symbol"] < 0:
        table.required(*COLUMNS["symbol"])
        message = (
            f"{table.path.name}: the column {table.header[at]!r} holds Ensembl ids; a column of symbols was expected."
        )
        raise DataError(message, advice="Add a column named `symbol`.")
    return places


def _share(sample: list[tuple[int, Row]], at: int, test: Callable[[str], bool]) -> float:
    values = [part for _, row in sample for part in listed(row[at])[:1] if part.lower() not in _EMPTY]
    return sum(map(test, values)) / len(values) if values else 0.0


def read(reading: ImportReading) -> Batches:
    """Yield one node for every gene.

    Raises:
        DataError: for missing columns or an Entrez id that is no number; names the line.
    """
    genes = reading.genes()
    found: dict[str, _Gene] = {}
    of_symbol: dict[str, str] = {}
    later: list[_GeneRow] = []
    for path in reading.paths:
        table = Table(path)
        rows = table.rows()
        sample = list(islice(rows, _SAMPLE))
        if not sample:
            raise DataError(f"{path.name} has a header but no rows.", advice="Export the table again.")
        places = columns_of(table, sample)
        for number, fields in chain(sample, rows):
            row = _row(path, number, fields, places, reading)
            if row is None:
                continue
            if row.entrez:
                node_id = f"Gene::{row.entrez}"
                of_symbol.setdefault(row.symbol, node_id)
                _join(found, node_id, row)
            else:
                later.append(row)
    for row in later:
        _join(found, of_symbol.get(row.symbol) or _without_entrez(row, genes), row)
    nodes = NodeRows()
    for node_id, gene in found.items():
        nodes.add(node_id, NodeType.GENE, gene.name, list(gene.aliases), list(gene.xrefs))
    yield from node_batches(nodes)


def _without_entrez(row: _GeneRow, genes: Genes) -> str:
    """Return the id of a gene without an Entrez number: a node that exists, else its first identifier."""
    known = genes.existing(row.xrefs)
    if known or not row.xrefs:
        return known or genes.by_symbol(row.symbol)
    by_symbol = genes.by_symbol(row.symbol)
    return row.xrefs[0] if by_symbol.startswith("symbol:") else by_symbol


def _join(found: dict[str, _Gene], node_id: str, row: _GeneRow) -> None:
    gene = found.setdefault(node_id, _Gene(row.symbol))
    for alias in (row.symbol, *row.aliases):
        if alias != gene.name:
            gene.aliases[alias] = None
    gene.xrefs.update(dict.fromkeys(row.xrefs))


def _row(path: Path, number: int, fields: Row, places: dict[str, int], reading: ImportReading) -> _GeneRow | None:
    def value(what: str) -> str:
        at = places[what]
        text = fields[at] if at >= 0 else ""
        return "" if text.lower() in _EMPTY else text

    symbol = value("symbol")
    if not symbol:
        reading.count("rows without a symbol were left out", f"line {number:,}")
        return None
    if "withdrawn" in value("status").lower():
        reading.count("withdrawn entries were left out", symbol)
        return None
    entrez = value("entrez")
    if entrez:
        entrez = str(number_in(path, number, entrez, "Entrez gene id"))
    xrefs = [f"ENTREZ:{entrez}"] if entrez else []
    xrefs += [f"ENSEMBL:{without_version(text)}" for text in listed(value("ensembl"))]
    xrefs += [f"HGNC:{text.rpartition(':')[2]}" for text in listed(value("hgnc"))]
    xrefs += [f"UNIPROT:{text}" for text in listed(value("uniprot"))]
    aliases = [*listed(value("alias")), *listed(value("previous"))]
    name = _SOURCE_NOTE.sub("", value("name"))
    # Names have commas of their own ("P-glycoprotein, member 1"), so these columns are split at `|` only.
    former = [text.strip() for what in ("alias_name", "previous_name") for text in value(what).split("|")]
    aliases += [text for text in (name, *former) if text]
    return _GeneRow(symbol, entrez, aliases, xrefs)


def _looks(beginning: Beginning) -> bool:
    columns = set(beginning.keys)
    told = sum(bool(columns & set(names)) for what, names in COLUMNS.items() if what != "status")
    return bool(columns & set(COLUMNS["symbol"])) and told >= 2 and part_of(beginning.keys) != "edges"


FORMAT = FormatInfo(
    name="gene_table",
    title="Gene table",
    description="The HGNC complete set, or any table with gene symbols beside identifiers, names or aliases.",
    extensions=(".txt", ".tsv", ".csv"),
    read=read,
    looks=_looks,
    order=7,
    also=("hgnc", "genes"),
)
