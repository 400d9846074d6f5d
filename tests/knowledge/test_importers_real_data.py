"""The readers on published files, where they are at hand; what must come out was counted by other means."""

from __future__ import annotations

import csv
import gzip
import re
from collections import Counter
from pathlib import Path

import pytest

from engine.domain.knowledge import EdgeRows, EdgeType, NodeRows, NodeType
from engine.knowledge.importers.hetionet import METAEDGES
from engine.knowledge.importers.read import detect, open_import, preview

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the development data are not beside the project")

HETIONET = [DATA / "hetionet_train" / "edges.sif.gz", DATA / "hetionet_train" / "nodes.tsv.gz"]


def read(*paths: Path, resolve: object = None) -> tuple[NodeRows, EdgeRows, list[str]]:
    _, batches, warnings = open_import("auto", list(paths), resolve=resolve)  # type: ignore[arg-type]
    nodes, edges = NodeRows(), EdgeRows()
    for batch in batches:
        assert len(batch) <= 50_000
        if isinstance(batch, NodeRows):
            for name in ("ids", "types", "names", "aliases", "xrefs"):
                getattr(nodes, name).extend(getattr(batch, name))
        else:
            for name in ("sources", "types", "targets", "relations", "confidences"):
                getattr(edges, name).extend(getattr(batch, name))
    return nodes, edges, warnings


def test_hetionet_line_by_line() -> None:
    nodes, edges, warnings = read(*HETIONET)
    with gzip.open(HETIONET[1], "rt", newline="") as handle:
        expected = {row["id"]: row["name"] for row in csv.DictReader(handle, delimiter="\t", quoting=csv.QUOTE_NONE)}
    assert dict(zip(nodes.ids, nodes.names, strict=True)) == expected
    assert (len(nodes), len(edges), warnings) == (47_031, 99_525, [])
    with gzip.open(HETIONET[0], "rt") as handle:
        next(handle)
        wanted = Counter()
        for line in handle:
            source, metaedge, target = line.rstrip("\n").split("\t")
            type, turned = METAEDGES[metaedge]
            wanted[(target, type, source, metaedge) if turned else (source, type, target, metaedge)] += 1
    assert Counter(zip(edges.sources, edges.types, edges.targets, edges.relations, strict=True)) == wanted
    assert set(edges.sources) | set(edges.targets) <= set(nodes.ids)


def test_hetionet_ids_have_xrefs_by_which_others_join() -> None:
    nodes, _, _ = read(*HETIONET)
    of = dict(zip(nodes.ids, nodes.xrefs, strict=True))
    assert of["Gene::1956"] == ["ENTREZ:1956"]
    assert of["Compound::DB00334"] == ["DRUGBANK:DB00334"]
    assert of["Disease::DOID:1612"] == ["DOID:1612"]
    assert all(re.fullmatch(r"[A-Z]+:\S+", xref) for xrefs in of.values() for xref in xrefs)


@pytest.mark.parametrize(
    ("name", "terms", "type"),
    [("DO_cancer_slim", 730, NodeType.DISEASE), ("goslim_generic", 149, NodeType.GO_TERM)],
)
def test_ontologies(name: str, terms: int, type: NodeType) -> None:
    path = DATA / "ontology" / f"{name}.obo"
    text = path.read_text()
    stanzas = [part for part in re.split(r"^\[", text, flags=re.MULTILINE)[1:] if part.startswith("Term]")]
    assert len(stanzas) == terms
    live = [part for part in stanzas if "\nis_obsolete: true" not in part]
    nodes, edges, warnings = read(path)
    assert len(nodes) == len(live)
    assert set(nodes.types) == {type}
    kept = "EXACT|RELATED" if type is NodeType.DISEASE else "EXACT|RELATED OMO:0003012"
    names = re.compile(rf'^synonym: "(?:[^"\\]|\\.)*" (?:{kept})\b', re.MULTILINE)
    assert sum(map(len, nodes.aliases)) == sum(len(names.findall(part)) for part in live)
    counts = Counter(edges.relations)
    assert counts["is_a"] == sum(len(re.findall(r"^is_a:", part, re.MULTILINE)) for part in live)
    assert sum(counts.values()) - counts["is_a"] == sum(
        len(re.findall(r"^relationship:", part, re.MULTILINE)) for part in live
    )
    assert warnings == (["Obsolete terms were left out: 1 (the first: DOID:0080191)."] if terms == 730 else [])


def test_disease_ontology_joins_hetionet() -> None:
    hetionet, _, _ = read(*HETIONET)
    by_xref = {xref: node for node, xrefs in zip(hetionet.ids, hetionet.xrefs, strict=True) for xref in xrefs}
    nodes, edges, _ = read(DATA / "ontology" / "DO_cancer_slim.obo", resolve=lambda name, _: by_xref.get(name))
    joined = [node for node in nodes.ids if node.startswith("Disease::")]
    assert len(joined) >= 10
    assert "Disease::DOID:1612" in joined
    assert "Disease::DOID:1612" in edges.sources
    assert "DOID:1612" not in nodes.ids


def test_associations() -> None:
    path = DATA / "ontology" / "small_association"
    assert detect([path]) == "associations"
    nodes, edges, warnings = read(path)
    pairs = {
        (gene, term)
        for line in path.read_text().splitlines()
        for gene, _, terms in [line.partition("\t")]
        for term in terms.split(";")
        if term
    }
    assert {
        (source.removeprefix("symbol:"), target) for source, target in zip(edges.sources, edges.targets, strict=True)
    } == pairs
    assert set(edges.types) == {EdgeType.ASSOCIATED_WITH}
    assert len(warnings) == 2
    assert nodes.types.count(NodeType.GO_TERM) == 117


@pytest.mark.parametrize(
    ("name", "sets"), [("h.all", 50), ("c2.cp.kegg", 186), ("c2.cp.reactome", 1499), ("c6.all", 189)]
)
def test_gene_sets(name: str, sets: int) -> None:
    path = DATA / "gene_sets" / f"{name}.v7.0.symbols.gmt"
    nodes, edges, _ = read(path)
    assert nodes.types.count(NodeType.PATHWAY) == sets
    lines = [line.split("\t") for line in path.read_text().splitlines()]
    assert len(edges) == sum(len(set(fields[2:])) for fields in lines)
    if name == "c2.cp.kegg":
        assert set(edges.types) == {EdgeType.INVOLVED_IN}


def test_gene_table_joins_the_genes_of_gene_sets() -> None:
    nodes, _, warnings = read(DATA / "gene_table" / "grch38.tsv.gz")
    at = nodes.ids.index("Gene::1956")
    assert nodes.names[at] == "EGFR"
    assert set(nodes.xrefs[at]) >= {"ENTREZ:1956", "ENSEMBL:ENSG00000146648"}
    assert "epidermal growth factor receptor" in nodes.aliases[at]
    assert len(set(nodes.ids)) == len(nodes)
    assert "Rows without a symbol were left out" in warnings[0]
    by_name = {name: node for node, name in zip(nodes.ids, nodes.names, strict=True) if node.startswith("Gene::")}
    _, edges, _ = read(DATA / "gene_sets" / "h.all.v7.0.symbols.gmt", resolve=lambda name, _: by_name.get(name))
    share = sum(source.startswith("Gene::") for source in edges.sources) / len(edges)
    assert share > 0.95


def test_previews() -> None:
    shown = preview("auto", HETIONET, rows=5)
    assert (shown.nodes_read, shown.edges_read, shown.complete) == (47_031, 99_525, True)
    assert len(shown.nodes) == len(shown.edges) == 5
