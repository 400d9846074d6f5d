"""PrimeKG: one CSV of edges that repeats both their nodes, and each edge in both directions.

Chandak, Huang and Zitnik 2023, Scientific Data 10:67 (doi 10.1038/s41597-023-01960-3). Every edge is kept once, in
the direction of `RELATIONS`. The hierarchies (`parent-child`) are in the file in both directions too, which leaves
open who is the parent: they become `related_to`, and an OBO file says more.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path

from engine.domain.knowledge import EdgeRows, EdgeType, NodeRows, NodeType
from engine.knowledge.importers.reading.batches import BATCH, Batches, ImportReading, node_batches
from engine.knowledge.importers.reading.format import FormatInfo
from engine.knowledge.importers.reading.tables import Table
from engine.knowledge.importers.reading.text import bad_line, shown

COLUMNS = (
    "relation",
    "display_relation",
    "x_id",
    "x_type",
    "x_name",
    "x_source",
    "y_id",
    "y_type",
    "y_name",
    "y_source",
)

KINDS: dict[str, NodeType] = {
    "gene/protein": NodeType.GENE,
    "drug": NodeType.DRUG,
    "disease": NodeType.DISEASE,
    "effect/phenotype": NodeType.PHENOTYPE,
    "biological_process": NodeType.GO_TERM,
    "molecular_function": NodeType.GO_TERM,
    "cellular_component": NodeType.GO_TERM,
    "exposure": NodeType.EXPOSURE,
    "pathway": NodeType.PATHWAY,
    "anatomy": NodeType.ANATOMY,
}

RELATIONS: dict[str, tuple[EdgeType, NodeType | None]] = {
    "protein_protein": (EdgeType.INTERACTS_WITH, None),
    "drug_protein": (EdgeType.TARGETS, NodeType.DRUG),
    "drug_drug": (EdgeType.INTERACTS_WITH, None),
    "contraindication": (EdgeType.CONTRAINDICATED_FOR, NodeType.DRUG),
    "indication": (EdgeType.TREATS, NodeType.DRUG),
    "off-label use": (EdgeType.TREATS, NodeType.DRUG),
    "drug_effect": (EdgeType.CAUSES, NodeType.DRUG),
    "phenotype_protein": (EdgeType.ASSOCIATED_WITH, NodeType.GENE),
    "disease_protein": (EdgeType.ASSOCIATED_WITH, NodeType.GENE),
    "disease_phenotype_positive": (EdgeType.PRESENTS, NodeType.DISEASE),
    "disease_phenotype_negative": (EdgeType.ABSENT_IN, NodeType.PHENOTYPE),
    "disease_disease": (EdgeType.RELATED_TO, None),
    "phenotype_phenotype": (EdgeType.RELATED_TO, None),
    "bioprocess_bioprocess": (EdgeType.RELATED_TO, None),
    "molfunc_molfunc": (EdgeType.RELATED_TO, None),
    "cellcomp_cellcomp": (EdgeType.RELATED_TO, None),
    "pathway_pathway": (EdgeType.RELATED_TO, None),
    "anatomy_anatomy": (EdgeType.RELATED_TO, None),
    "exposure_exposure": (EdgeType.RELATED_TO, None),
    "bioprocess_protein": (EdgeType.INVOLVED_IN, NodeType.GENE),
    "molfunc_protein": (EdgeType.HAS_FUNCTION, NodeType.GENE),
    "cellcomp_protein": (EdgeType.LOCATED_IN, NodeType.GENE),
    "pathway_protein": (EdgeType.INVOLVED_IN, NodeType.GENE),
    "anatomy_protein_present": (EdgeType.EXPRESSED_IN, NodeType.GENE),
    "anatomy_protein_absent": (EdgeType.ABSENT_IN, NodeType.GENE),
    "exposure_protein": (EdgeType.INTERACTS_WITH, NodeType.EXPOSURE),
    "exposure_disease": (EdgeType.ASSOCIATED_WITH, NodeType.EXPOSURE),
    "exposure_bioprocess": (EdgeType.INTERACTS_WITH, NodeType.EXPOSURE),
    "exposure_molfunc": (EdgeType.INTERACTS_WITH, NodeType.EXPOSURE),
    "exposure_cellcomp": (EdgeType.INTERACTS_WITH, NodeType.EXPOSURE),
}
"""Relation -> canonical type, and what its source is (None: both ends are of one kind)."""

_PADDED = {"HPO": "HP", "GO": "GO", "UBERON": "UBERON"}
"""Sources whose identifiers lost their prefix and leading zeros: 1250 -> HP:0001250."""


def node_id(kind: str, local: str, source: str) -> tuple[str, list[str]]:
    """Return (id, xrefs) of a PrimeKG node.

    A disease that PrimeKG merged from several (`13924_12592`) gets an id of its own and all their xrefs.
    """
    if source == "MONDO" and local.isdigit():
        mondo = f"MONDO:{local.zfill(7)}"
        return mondo, [mondo]
    if source == "MONDO_grouped":
        return f"PrimeKG:disease_{local}", [f"MONDO:{part.zfill(7)}" for part in local.split("_") if part.isdigit()]
    if source in _PADDED and local.isdigit():
        plain = f"{_PADDED[source]}:{local.zfill(7)}"
        return plain, [plain]
    if source == "NCBI" and local.isdigit():
        return f"Gene::{local}", [f"ENTREZ:{local}"]
    if source == "DrugBank":
        return f"Compound::{local}", [f"DRUGBANK:{local}"]
    prefix = {"REACTOME": "REACTOME", "CTD": "MESH"}.get(source)
    known = [f"{prefix}:{local}"] if prefix else []
    return (known[0] if known else f"PrimeKG:{kind.replace('/', '_')}_{local}"), known


def read(reading: ImportReading) -> Batches:
    """Yield batches: the nodes that are new in some rows, then these rows' edges that are new.

    Raises:
        DataError: for missing columns, unknown kinds and relations; names the line.
    """
    nodes = _Nodes(reading)
    seen = _Seen()
    found: set[EdgeType] = set()
    for path in reading.paths:
        yield from _file(path, nodes, seen, found)
    if EdgeType.RELATED_TO in found:
        reading.warnings.append(
            "PrimeKG gives hierarchies in both directions, so parent and child cannot be told apart: these are "
            "`related_to`. Import the ontology's OBO file for `subclass_of`."
        )


NodeKey = tuple[str, str, str]
"""(kind, id, source): what tells PrimeKG's nodes apart."""


class _Nodes:
    """Gives every node a number and, the first time, a row."""

    def __init__(self, reading: ImportReading) -> None:
        self._genes = reading.genes()
        self.numbers: dict[NodeKey, int] = {}
        self.ids: list[str] = []
        self.types: list[NodeType] = []
        self.rows = NodeRows()

    def add(self, path: Path, line: int, key: NodeKey, name: str) -> int:
        """Take a node that was not met before and return its number."""
        kind, local, source = key
        type = KINDS.get(kind)
        if type is None or not local:
            problem = f"the type is {shown(kind)}; PrimeKG's are {', '.join(KINDS)}." if local else "an id is empty."
            raise bad_line(path, line, problem)
        plain, xrefs = node_id(kind, local, source)
        # A disease merged from several is none of them.
        found = self._genes.existing([plain] if source == "MONDO_grouped" else xrefs, type) or plain
        number = self.numbers[key] = len(self.ids)
        self.ids.append(found)
        self.types.append(type)
        self.rows.add(found, type, name or plain, None, xrefs)
        return number


class _Seen:
    """A set of 64-bit keys as sorted arrays of growing size: 8 bytes a key, where Python's set takes 70."""

    def __init__(self) -> None:
        self._arrays: list = []

    def new(self, keys: list[int]) -> list[int]:
        """Return the positions of keys not seen before, each once and in order, and remember them."""
        import numpy as np

        values, first = np.unique(np.asarray(keys, dtype=np.int64), return_index=True)
        for known in self._arrays:
            if not len(values):
                break
            at = np.minimum(np.searchsorted(known, values), len(known) - 1)
            fresh = known[at] != values
            values, first = values[fresh], first[fresh]
        if len(values):
            self._arrays.append(values)
        while len(self._arrays) > 1 and len(self._arrays[-1]) * 2 >= len(self._arrays[-2]):
            last = self._arrays.pop()
            self._arrays[-1] = np.sort(np.concatenate([self._arrays[-1], last]))
        return np.sort(first).tolist()


Row = tuple[int, int, EdgeType, str]
"""Numbers of source and target, type, relation."""


def _file(path: Path, nodes: _Nodes, seen: _Seen, found: set[EdgeType]) -> Batches:
    table = Table(path)
    chosen = itemgetter(*(table.required(name) for name in COLUMNS))
    meanings = {name: (code << 2, *meaning) for code, (name, meaning) in enumerate(RELATIONS.items())}
    known = nodes.numbers.get
    types = nodes.types
    rows: list[Row] = []
    keys: list[int] = []
    for line, fields in table.rows():
        relation, shown_as, x_id, x_kind, x_name, x_source, y_id, y_kind, y_name, y_source = chosen(fields)
        meaning = meanings.get(relation)
        if meaning is None:
            raise bad_line(path, line, f"the relation {shown(relation)} is none of PrimeKG's.")
        code, type, first = meaning
        x = known((x_kind, x_id, x_source))
        if x is None:
            x = nodes.add(path, line, (x_kind, x_id, x_source), x_name)
        y = known((y_kind, y_id, y_source))  # after x is added: the two may be one
        if y is None:
            y = nodes.add(path, line, (y_kind, y_id, y_source), y_name)
        if first is None:
            x, y = min(x, y), max(x, y)
        elif types[x] is not first:
            if types[y] is not first:
                problem = f"{shown(relation)} joins {shown(x_kind)} and {shown(y_kind)}, which it cannot."
                raise bad_line(path, line, problem)
            x, y = y, x
        if shown_as in _BOUND and relation == "drug_protein":
            type = EdgeType.BINDS
            code |= _BOUND[shown_as]
        keys.append((((x << 26) | y) << 8) | code)
        rows.append((x, y, type, shown_as or relation))
        if len(keys) == BATCH:
            yield from _flush(nodes, seen, rows, keys, found)
            rows, keys = [], []
    yield from _flush(nodes, seen, rows, keys, found)


_BOUND = {"carrier": 1, "enzyme": 2, "transporter": 3}
"""Proteins that a drug binds though it is not aimed at them, and what tells them apart in a key."""


def _flush(
    nodes: _Nodes, seen: _Seen, rows: list[Row], keys: list[int], found: set[EdgeType]
) -> Iterator[NodeRows | EdgeRows]:
    if len(nodes.rows):
        yield from node_batches(nodes.rows)
        nodes.rows = NodeRows()
    kept = [rows[at] for at in seen.new(keys)] if keys else []
    if kept:
        ids = nodes.ids
        edges = EdgeRows(
            [ids[row[0]] for row in kept],
            [row[2] for row in kept],
            [ids[row[1]] for row in kept],
            [row[3] for row in kept],
            [None] * len(kept),
        )
        found.update(edges.types)
        yield edges


FORMAT = FormatInfo(
    name="primekg",
    title="PrimeKG",
    description="Diseases, drugs, genes, phenotypes and more from 20 resources, in one CSV of edges.",
    extensions=(".csv",),
    license="see the PrimeKG page; parts under the terms of their sources",
    url="https://doi.org/10.7910/DVN/IXA7BM",
    read=read,
    looks=lambda beginning: set(beginning.keys) >= set(COLUMNS),
    order=1,
    called=lambda paths, names: ("PrimeKG", ""),
)
