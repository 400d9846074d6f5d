"""The formats knowledge can be imported from, each with its reader."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.errors import UserError
from engine.knowledge.importers import (
    gaf,
    gene_table,
    generic,
    gmt,
    graphml,
    hetionet,
    ligand_receptor,
    node_link,
    obo,
    primekg,
)
from engine.knowledge.importers.reading.batches import Batches, ImportReading


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatInfo:
    """A format knowledge can be imported from."""

    name: str
    title: str
    description: str
    """One sentence: what the files hold."""
    extensions: tuple[str, ...]
    """Usual endings; every format may be gzipped (`.gz`) besides."""
    license: str = ""
    """Under which terms such data usually is, "" when that depends on the file."""
    url: str = ""
    files: str = "one file"
    read: Callable[[ImportReading], Batches]


def _formats(*formats: FormatInfo) -> dict[str, FormatInfo]:
    return {info.name: info for info in formats}


FORMATS: dict[str, FormatInfo] = _formats(
    FormatInfo(
        name="hetionet",
        title="Hetionet",
        description="Genes, compounds, diseases and eight more kinds with 24 kinds of relations between them.",
        extensions=(".tsv", ".sif"),
        license="CC0 1.0; parts under the terms of their sources",
        url="https://het.io",
        files="a table of nodes and a SIF of edges, in any order",
        read=hetionet.read,
    ),
    FormatInfo(
        name="primekg",
        title="PrimeKG",
        description="Diseases, drugs, genes, phenotypes and more from 20 resources, in one CSV of edges.",
        extensions=(".csv",),
        license="see the PrimeKG page; parts under the terms of their sources",
        url="https://doi.org/10.7910/DVN/IXA7BM",
        read=primekg.read,
    ),
    FormatInfo(
        name="obo",
        title="OBO ontology",
        description="Terms with synonyms and their hierarchy: GO, HPO, DO, Mondo, CL, Uberon...",
        extensions=(".obo",),
        files="one or several ontologies",
        read=obo.read,
    ),
    FormatInfo(
        name="gaf",
        title="GO annotations (GAF)",
        description="Which gene has which function, takes part in which process, lies in which component.",
        extensions=(".gaf",),
        license="CC BY 4.0",
        url="http://current.geneontology.org",
        read=gaf.read,
    ),
    FormatInfo(
        name="associations",
        title="GO associations",
        description="A gene and its GO terms in each line: gene<TAB>GO:0006915;GO:0008150.",
        extensions=(".txt", ".tsv"),
        read=gaf.read_associations,
    ),
    FormatInfo(
        name="gmt",
        title="Gene sets (GMT)",
        description="Pathways with their genes, one in each line.",
        extensions=(".gmt",),
        files="one or several libraries",
        read=gmt.read,
    ),
    FormatInfo(
        name="gene_table",
        title="Gene table",
        description="The HGNC complete set, or any table with gene symbols beside identifiers, names or aliases.",
        extensions=(".txt", ".tsv", ".csv"),
        read=gene_table.read,
    ),
    FormatInfo(
        name="ligand_receptor",
        title="Ligand-receptor pairs",
        description="A ligand and its receptor in each row, as CellPhoneDB, CellTalkDB and LIANA have them.",
        extensions=(".csv", ".tsv", ".txt"),
        read=ligand_receptor.read,
    ),
    FormatInfo(
        name="tables",
        title="Tables of nodes and edges",
        description="Nodes: id, type, name, aliases, xrefs. Edges: source, type, target, relation, confidence.",
        extensions=(".tsv", ".csv"),
        files="a table of nodes, one of edges, or both",
        read=generic.read,
    ),
    FormatInfo(
        name="graphml",
        title="GraphML",
        description="A graph as NetworkX, Cytoscape, yEd or igraph save it.",
        extensions=(".graphml", ".xml"),
        read=graphml.read,
    ),
    FormatInfo(
        name="node_link",
        title="Node-link JSON",
        description="A graph as networkx.node_link_data writes it.",
        extensions=(".json",),
        read=node_link.read,
    ),
)

_OTHER_NAMES = {
    "hgnc": "gene_table",
    "genes": "gene_table",
    "go": "obo",
    "nodes": "tables",
    "edges": "tables",
    "tsv": "tables",
    "csv": "tables",
    "json": "node_link",
    "lr": "ligand_receptor",
}


def format_named(name: str) -> FormatInfo:
    """Return a format by its name; dashes, capitals and a few other names are understood.

    Raises:
        UserError: when there is none.
    """
    key = name.strip().lower().replace("-", "_").replace(" ", "_")
    info = FORMATS.get(_OTHER_NAMES.get(key, key))
    if info is None:
        message = f"There is no format {name!r}; the formats are {', '.join(FORMATS)}."
        raise UserError(message, advice="Leave the format out (`auto`) to have it recognised.")
    return info
