"""Hetionet: a table of nodes and a SIF of edges, both tab-separated, plain or gzipped.

Himmelstein et al. 2017, eLife 6:e26726 (doi 10.7554/eLife.26726). The canonical edge types and directions its
24 metaedges become are given in `METAEDGES`; the metaedge's abbreviation stays with the edge as its relation.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from engine.domain.knowledge import EdgeRows, EdgeType, NodeRows, NodeType
from engine.errors import DataError
from engine.knowledge.importers.reading.batches import BATCH, Batches, ImportReading
from engine.knowledge.importers.reading.format import FormatInfo
from engine.knowledge.importers.reading.text import LONGEST_ROW, bad_line, counted, first_lines, line_blocks, shown

KINDS: dict[str, NodeType] = {
    "Anatomy": NodeType.ANATOMY,
    "Biological Process": NodeType.GO_TERM,
    "Cellular Component": NodeType.GO_TERM,
    "Compound": NodeType.DRUG,
    "Disease": NodeType.DISEASE,
    "Gene": NodeType.GENE,
    "Molecular Function": NodeType.GO_TERM,
    "Pathway": NodeType.PATHWAY,
    "Pharmacologic Class": NodeType.DRUG_CLASS,
    "Side Effect": NodeType.SIDE_EFFECT,
    "Symptom": NodeType.SYMPTOM,
}

METAEDGES: dict[str, tuple[EdgeType, bool]] = {
    "AdG": (EdgeType.DOWNREGULATES, False),
    "AeG": (EdgeType.EXPRESSED_IN, True),
    "AuG": (EdgeType.UPREGULATES, False),
    "CbG": (EdgeType.BINDS, False),
    "CcSE": (EdgeType.CAUSES, False),
    "CdG": (EdgeType.DOWNREGULATES, False),
    "CpD": (EdgeType.PALLIATES, False),
    "CrC": (EdgeType.RESEMBLES, False),
    "CtD": (EdgeType.TREATS, False),
    "CuG": (EdgeType.UPREGULATES, False),
    "DaG": (EdgeType.ASSOCIATED_WITH, True),
    "DdG": (EdgeType.DOWNREGULATES, False),
    "DlA": (EdgeType.LOCATED_IN, False),
    "DpS": (EdgeType.PRESENTS, False),
    "DrD": (EdgeType.RESEMBLES, False),
    "DuG": (EdgeType.UPREGULATES, False),
    "GcG": (EdgeType.COVARIES_WITH, False),
    "GiG": (EdgeType.INTERACTS_WITH, False),
    "GpBP": (EdgeType.INVOLVED_IN, False),
    "GpCC": (EdgeType.LOCATED_IN, False),
    "GpMF": (EdgeType.HAS_FUNCTION, False),
    "GpPW": (EdgeType.INVOLVED_IN, False),
    "Gr>G": (EdgeType.REGULATES, False),
    "PCiC": (EdgeType.INCLUDES, False),
}
"""Metaedge -> canonical type, and whether source and target change places (anatomy expresses gene: gene
expressed_in anatomy; disease associates gene: gene associated_with disease)."""

AUTHORITY: dict[str, str] = {
    "Compound": "DRUGBANK:",
    "Gene": "ENTREZ:",
    "Pharmacologic Class": "NDFRT:",
    "Side Effect": "UMLS:",
    "Symptom": "MESH:",
}
"""Kind -> prefix of the identifier behind `::`; other kinds' identifiers have their own (`DOID:1612`)."""

NODES_HEADER = ["id", "name", "kind"]
EDGES_HEADER = ["source", "metaedge", "target"]
METAEDGES_HEADER = ["metaedge", "abbreviation"]
"""How the table of edge types begins; it says nothing of single nodes or edges."""


def part_of(path: Path) -> str:
    """Return what a file is by its header: `nodes`, `edges`, `metaedges` or "" for none of them."""
    header = first_lines(path, 1)
    fields = header[0].split("\t") if header else []
    if fields[:2] == METAEDGES_HEADER:
        return "metaedges"
    return {tuple(NODES_HEADER): "nodes", tuple(EDGES_HEADER): "edges"}.get(tuple(fields), "")


def read(reading: ImportReading) -> Batches:
    """Yield all nodes, then all edges, in whatever order the files are given.

    Raises:
        DataError: for a file of neither kind, or a line that does not fit; names file and line.
    """
    parts = [(path, part_of(path)) for path in reading.paths]
    for path, part in parts:
        if not part:
            message = (
                f"{path.name}, line 1: this is no table of Hetionet; its header is "
                "`id, name, kind` (nodes) or `source, metaedge, target` (edges), tab-separated."
            )
            raise DataError(message, advice="For tables of your own choose the format `tables`.")
    passed = [path.name for path, part in parts if part == "metaedges"]
    if passed:
        reading.warnings.append(f"{passed[0]} lists the types of edges, which are known here, and was passed over.")
    if len(passed) == len(parts):
        message = f"{passed[0]} lists types of edges only: there is nothing to import."
        raise DataError(message, advice="Give the tables of nodes and edges with it.")
    if all(part != "nodes" for _, part in parts):
        reading.warnings.append(
            "Only edges were given: those count whose nodes are in the graph already. Import the table of nodes too."
        )
    for path, part in parts:
        if part == "nodes":
            yield from _nodes(path)
    for path, part in parts:
        if part == "edges":
            yield from _edges(path)


Columns = tuple[list[str], list[str], list[str]]


def _columns(path: Path) -> Iterator[tuple[list[int] | range, Columns]]:
    """Yield (line numbers, three columns), at most `BATCH` rows, without the header and blank lines.

    The lines are joined and split once into columns: a list for every line would cost six times as much.
    """
    for start, lines in line_blocks(path, longest=LONGEST_ROW):
        if start == 1:
            lines[0] = ""
        for at in range(0, len(lines), BATCH):
            part = lines[at : at + BATCH]
            numbers: list[int] | range = range(start + at, start + at + len(part))
            counts = [line.count("\t") for line in part]
            if set(counts) != {2}:
                for number, line, tabs in zip(numbers, part, counts, strict=True):
                    if tabs != 2 and line:
                        raise bad_line(
                            path, number, f"{counted(tabs + 1, 'field')} where 3 were expected, tab-separated."
                        )
                numbers = [number for number, line in zip(numbers, part, strict=True) if line]
                part = [line for line in part if line]
            if part:
                flat = "\t".join(part).split("\t")
                yield numbers, (flat[0::3], flat[1::3], flat[2::3])


def _nodes(path: Path) -> Iterator[NodeRows]:
    for numbers, (ids, names, kinds) in _columns(path):
        nodes = NodeRows()
        for number, node_id, name, kind in zip(numbers, ids, names, kinds, strict=True):
            type = KINDS.get(kind)
            if type is None:
                raise bad_line(path, number, f"the kind is {shown(kind)}; Hetionet's are {', '.join(KINDS)}.")
            if not node_id:
                raise bad_line(path, number, "the id is missing.")
            local = node_id.partition("::")[2] or node_id
            nodes.add(node_id, type, name or local, None, _xrefs(kind, local))
        yield nodes


def _xrefs(kind: str, local: str) -> list[str]:
    if kind == "Pathway":  # Pathway Commons and WikiPathways, `PC7_1860`, `WP100_r89028`: no public identifier
        return []
    return [AUTHORITY.get(kind, "") + local]


def _edges(path: Path) -> Iterator[EdgeRows]:
    known = METAEDGES.get
    swapped = {metaedge for metaedge, (_, turned) in METAEDGES.items() if turned}
    for numbers, (sources, metaedges, targets) in _columns(path):
        meanings = list(map(known, metaedges))
        if None in meanings:
            at = meanings.index(None)
            problem = f"the metaedge is {shown(metaedges[at])}; Hetionet's are {', '.join(METAEDGES)}."
            raise bad_line(path, numbers[at], problem, "For relations of your own choose the format `tables`.")
        if "" in sources or "" in targets:
            at = sources.index("") if "" in sources else targets.index("")
            raise bad_line(path, numbers[at], "the source or the target is missing.")
        for at, metaedge in enumerate(metaedges):
            if metaedge in swapped:
                sources[at], targets[at] = targets[at], sources[at]
        types = [meaning[0] for meaning in meanings if meaning is not None]
        yield EdgeRows(sources, types, targets, metaedges, [None] * len(sources))


def _called(paths: list[Path], names: str) -> tuple[str, str]:
    return "Hetionet" if {part_of(path) for path in paths} == {"nodes", "edges"} else f"Hetionet {names}", ""


FORMAT = FormatInfo(
    name="hetionet",
    title="Hetionet",
    description="Genes, compounds, diseases and eight more kinds with 24 kinds of relations between them.",
    extensions=(".tsv", ".sif"),
    license="CC0 1.0; parts under the terms of their sources",
    url="https://het.io",
    files="a table of nodes and a SIF of edges, in any order",
    read=read,
    looks=lambda beginning: bool(part_of(beginning.path)),
    order=0,
    called=_called,
)
