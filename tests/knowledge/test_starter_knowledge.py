"""The starter graph: sound in itself, and its identifiers are those of the reference tables where these are at hand."""

from __future__ import annotations

import csv
import gzip
import hashlib
from collections import Counter, defaultdict
from functools import cache
from importlib.resources import files
from pathlib import Path

import pytest

from engine.domain.knowledge import OPPOSITE, SYMMETRIC, EdgeRows, EdgeType, NodeRows, NodeType
from engine.knowledge.sources.starter import CONFIDENCE, RELATION, THEMES, starter_batches, starter_source

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the development data are not beside the project")

# What the two ends of an edge may be.
SHAPES: dict[EdgeType, tuple[set[NodeType], set[NodeType]]] = {
    EdgeType.MARKER_OF: ({NodeType.GENE}, {NodeType.CELL_TYPE, NodeType.ANATOMY}),
    EdgeType.INVOLVED_IN: ({NodeType.GENE}, {NodeType.PATHWAY}),
    EdgeType.TARGETS: ({NodeType.DRUG}, {NodeType.GENE}),
    EdgeType.BINDS: ({NodeType.DRUG}, {NodeType.GENE}),
    EdgeType.INHIBITS: ({NodeType.DRUG, NodeType.GENE}, {NodeType.GENE}),
    EdgeType.ACTIVATES: ({NodeType.DRUG, NodeType.GENE}, {NodeType.GENE}),
    EdgeType.REGULATES: ({NodeType.GENE}, {NodeType.GENE}),
    EdgeType.INTERACTS_WITH: ({NodeType.GENE}, {NodeType.GENE}),
    EdgeType.TREATS: ({NodeType.DRUG}, {NodeType.DISEASE, NodeType.SYMPTOM}),
    EdgeType.INCLUDES: ({NodeType.DRUG_CLASS}, {NodeType.DRUG}),
    EdgeType.CAUSES: ({NodeType.DRUG}, {NodeType.SIDE_EFFECT}),
    EdgeType.ASSOCIATED_WITH: ({NodeType.GENE}, {NodeType.DISEASE}),
    EdgeType.LOCATED_IN: ({NodeType.DISEASE}, {NodeType.ANATOMY}),
    EdgeType.PART_OF: ({NodeType.CELL_TYPE, NodeType.DOMAIN}, {NodeType.ANATOMY, NodeType.DOMAIN}),
    EdgeType.RELATED_TO: ({NodeType.DOMAIN}, {NodeType.DOMAIN}),
}
PREFIXES = {
    NodeType.GENE: ("Gene::",),
    NodeType.DRUG: ("Compound::DB", "drug:"),
    NodeType.DRUG_CLASS: ("drug_class:",),
    NodeType.DISEASE: ("Disease::DOID:", "disease:"),
    NodeType.SYMPTOM: ("Symptom::D", "symptom:"),
    NodeType.SIDE_EFFECT: ("Side Effect::C",),
    NodeType.PATHWAY: ("pathway:",),
    NodeType.CELL_TYPE: ("cell_type:",),
    NodeType.ANATOMY: ("Anatomy::UBERON:", "anatomy:"),
    NodeType.DOMAIN: ("domain:",),
}


@cache
def nodes() -> NodeRows:
    first, *others = starter_batches()
    assert isinstance(first, NodeRows)
    assert all(isinstance(batch, EdgeRows) for batch in others)
    return first


@cache
def edges() -> list[tuple[str, EdgeType, str]]:
    return [
        edge
        for batch in starter_batches()
        if isinstance(batch, EdgeRows)
        for edge in zip(batch.sources, batch.types, batch.targets, strict=True)
    ]


@cache
def type_of() -> dict[str, NodeType]:
    return dict(zip(nodes().ids, nodes().types, strict=True))


@cache
def id_of() -> dict[tuple[NodeType, str], str]:
    return {
        (kind, name): node_id for node_id, kind, name in zip(nodes().ids, nodes().types, nodes().names, strict=True)
    }


def stated(source: tuple[NodeType, str], kind: EdgeType, target: tuple[NodeType, str]) -> bool:
    return (id_of()[source], kind, id_of()[target]) in set(edges())


def test_the_source_is_marked_as_starter_knowledge() -> None:
    source = starter_source()
    assert (source.id, source.kind, source.license, source.confidence) == ("starter", "starter", "Apache-2.0", 0.7)
    assert source.url == ""
    assert len(source.files) == len(THEMES) + 1
    for name, digest in source.files.items():
        content = files("engine.knowledge").joinpath("data", name).read_bytes()
        assert hashlib.sha256(content).hexdigest() == digest
    assert source.confidence == CONFIDENCE


def test_every_edge_says_starter_and_leaves_the_confidence_to_the_source() -> None:
    for batch in starter_batches():
        if isinstance(batch, EdgeRows):
            assert set(batch.relations) == {RELATION}
            assert set(batch.confidences) == {None}
            assert 0 < len(batch) <= 50_000


def test_there_is_enough_of_everything() -> None:
    by_type = Counter(nodes().types)
    assert len(edges()) >= 1500
    assert by_type[NodeType.CELL_TYPE] >= 60
    assert by_type[NodeType.PATHWAY] >= 25
    assert by_type[NodeType.DRUG] >= 150
    assert by_type[NodeType.ANATOMY] >= 30
    assert by_type[NodeType.DISEASE] >= 100
    regulators = {source for source, kind, _ in edges() if kind == EdgeType.REGULATES}
    assert len(regulators) >= 40


def test_files_are_clean() -> None:
    for name in starter_source().files:
        text = files("engine.knowledge").joinpath("data", name).read_text(encoding="utf-8")
        assert text.endswith("\n"), name
        assert "\r" not in text, name
        lines = text.splitlines()
        assert len(lines) == text.count("\n"), f"{name} has a character that only looks like a line's end"
        for line in lines:
            assert all(field == field.strip() for field in line.split("\t")), (name, line)


def test_node_ids_are_unique_and_of_their_types_authority() -> None:
    assert len(nodes().ids) == len(set(nodes().ids))
    for node_id, kind in type_of().items():
        assert node_id.startswith(PREFIXES[kind]), node_id


def test_names_are_unique_within_a_type() -> None:
    seen = Counter((kind, name.lower()) for kind, name in zip(nodes().types, nodes().names, strict=True))
    assert [key for key, count in seen.items() if count > 1] == []


def test_names_aliases_and_xrefs_are_usable() -> None:
    rows = zip(nodes().ids, nodes().names, nodes().aliases, nodes().xrefs, strict=True)
    for node_id, name, aliases, xrefs in rows:
        assert name, node_id
        assert len(aliases) == len(set(aliases)), node_id
        assert name not in aliases, node_id
        assert all(aliases), node_id
        assert all(":" in xref for xref in xrefs), node_id


def test_an_alias_of_a_gene_is_not_the_symbol_of_another() -> None:
    symbols = {name for kind, name in zip(nodes().types, nodes().names, strict=True) if kind == NodeType.GENE}
    rows = zip(nodes().types, nodes().names, nodes().aliases, strict=True)
    clashes = [
        (name, alias) for kind, name, aliases in rows if kind == NodeType.GENE for alias in aliases if alias in symbols
    ]
    assert clashes == []


def test_edges_have_ends_of_the_right_types() -> None:
    for source, kind, target in edges():
        assert source in type_of(), source
        assert target in type_of(), target
        if kind == EdgeType.SUBCLASS_OF:
            assert type_of()[source] == type_of()[target], (source, target)
        else:
            allowed_source, allowed_target = SHAPES[kind]
            assert type_of()[source] in allowed_source, (source, kind, target)
            assert type_of()[target] in allowed_target, (source, kind, target)


def test_no_edge_twice_and_none_to_itself() -> None:
    assert [edge for edge, count in Counter(edges()).items() if count > 1] == []
    assert [edge for edge in edges() if edge[0] == edge[2]] == []
    known = set(edges())
    assert [edge for edge in known if edge[1] in SYMMETRIC and (edge[2], edge[1], edge[0]) in known] == []


def test_no_pair_is_said_to_do_one_thing_and_its_opposite() -> None:
    known = set(edges())
    assert [edge for edge in known if edge[1] in OPPOSITE and (edge[0], OPPOSITE[edge[1]], edge[2]) in known] == []


def test_hierarchies_have_no_circle() -> None:
    parents: dict[str, set[str]] = defaultdict(set)
    for source, kind, target in edges():
        if kind in {EdgeType.SUBCLASS_OF, EdgeType.PART_OF}:
            parents[source].add(target)

    def visit(node: str, path: tuple[str, ...]) -> None:
        assert node not in path, (*path, node)
        for parent in parents.get(node, ()):
            visit(parent, (*path, node))

    for node in list(parents):
        visit(node, ())


def test_no_node_stands_alone_but_domains() -> None:
    linked = {end for source, _, target in edges() for end in (source, target)}
    assert [node_id for node_id, kind in type_of().items() if node_id not in linked and kind != NodeType.DOMAIN] == []


def test_every_drug_has_a_class_and_a_target_or_an_indication() -> None:
    useful = {source for source, kind, _ in edges() if kind in {EdgeType.TARGETS, EdgeType.TREATS}}
    classed = {target for _, kind, target in edges() if kind == EdgeType.INCLUDES}
    drugs = {node_id for node_id, kind in type_of().items() if kind == NodeType.DRUG}
    assert drugs - useful == set()
    assert drugs - classed == set()


def test_every_target_says_how() -> None:
    how: dict[tuple[str, str], set[EdgeType]] = defaultdict(set)
    for source, kind, target in edges():
        how[(source, target)].add(kind)
    for kinds in how.values():
        if EdgeType.TARGETS in kinds:
            assert len(kinds & {EdgeType.INHIBITS, EdgeType.ACTIVATES, EdgeType.BINDS}) == 1
        if EdgeType.REGULATES in kinds:
            assert len(kinds & {EdgeType.INHIBITS, EdgeType.ACTIVATES}) == 1


def test_the_readable_names_in_the_files_are_the_nodes_names() -> None:
    names = dict(zip(nodes().ids, nodes().names, strict=True))
    for theme in THEMES:
        text = files("engine.knowledge").joinpath("data", f"starter_edges_{theme}.tsv").read_text(encoding="utf-8")
        for line in text.splitlines()[1:]:
            source, _, target, source_name, target_name = line.split("\t")
            assert (names[source], names[target]) == (source_name, target_name), line


@pytest.mark.parametrize(
    ("source", "kind", "target"),
    [
        ((NodeType.GENE, "CD3D"), EdgeType.MARKER_OF, (NodeType.CELL_TYPE, "T cell")),
        ((NodeType.GENE, "INS"), EdgeType.MARKER_OF, (NodeType.CELL_TYPE, "pancreatic beta cell")),
        ((NodeType.GENE, "ALB"), EdgeType.MARKER_OF, (NodeType.ANATOMY, "liver")),
        ((NodeType.GENE, "TP53"), EdgeType.ACTIVATES, (NodeType.GENE, "CDKN1A")),
        ((NodeType.GENE, "MDM2"), EdgeType.INHIBITS, (NodeType.GENE, "TP53")),
        ((NodeType.GENE, "CFTR"), EdgeType.ASSOCIATED_WITH, (NodeType.DISEASE, "cystic fibrosis")),
        ((NodeType.GENE, "BRCA1"), EdgeType.ASSOCIATED_WITH, (NodeType.DISEASE, "breast cancer")),
        ((NodeType.DRUG, "imatinib"), EdgeType.INHIBITS, (NodeType.GENE, "ABL1")),
        ((NodeType.DRUG, "imatinib"), EdgeType.TREATS, (NodeType.DISEASE, "chronic myeloid leukemia")),
        ((NodeType.DRUG_CLASS, "statin"), EdgeType.INCLUDES, (NodeType.DRUG, "simvastatin")),
        ((NodeType.GENE, "PDCD1"), EdgeType.INVOLVED_IN, (NodeType.PATHWAY, "immune checkpoint signalling")),
    ],
)
def test_textbook_facts_are_stated(source: tuple[NodeType, str], kind: EdgeType, target: tuple[NodeType, str]) -> None:
    assert stated(source, kind, target)


@pytest.mark.parametrize(
    ("alias", "symbol"),
    [("p53", "TP53"), ("PD-1", "PDCD1"), ("PD-L1", "CD274"), ("HER2", "ERBB2"), ("OCT4", "POU5F1"), ("VEGF", "VEGFA")],
)
def test_names_of_the_laboratory_are_aliases(alias: str, symbol: str) -> None:
    owners = [
        name
        for kind, name, aliases in zip(nodes().types, nodes().names, nodes().aliases, strict=True)
        if kind == NodeType.GENE and alias in aliases
    ]
    assert owners == [symbol]


def test_every_domain_of_a_built_in_tool_has_a_node() -> None:
    from engine.toolbox.registry import builtin_tools

    domains = {spec.domain for spec in builtin_tools()}
    assert {(NodeType.DOMAIN, domain) for domain in domains} <= set(id_of())


@needs_data
def test_genes_are_those_of_the_gene_table() -> None:
    table: dict[str, set[tuple[str, str]]] = defaultdict(set)
    with gzip.open(DATA / "gene_table" / "grch38.tsv.gz", "rt", encoding="utf-8") as handle:
        for row in csv.DictReader(handle, delimiter="\t"):
            table[row["symbol"]].add((row["entrez"], row["ensgene"]))
    checked = 0
    for node_id, kind, name, xrefs in zip(nodes().ids, nodes().types, nodes().names, nodes().xrefs, strict=True):
        if kind != NodeType.GENE:
            continue
        entrez = node_id.removeprefix("Gene::")
        ensembl = next(xref.removeprefix("ENSEMBL:") for xref in xrefs if xref.startswith("ENSEMBL:"))
        assert f"ENTREZ:{entrez}" in xrefs
        assert (entrez, ensembl) in table[name], name
        checked += 1
    assert checked > 1000


@needs_data
def test_verified_ids_are_those_of_hetionet_and_the_disease_ontology() -> None:
    known: dict[str, str] = {}
    with gzip.open(DATA / "hetionet_train" / "nodes.tsv.gz", "rt", encoding="utf-8") as handle:
        for line in handle:
            node_id, name, _ = line.rstrip("\n").split("\t")
            known[node_id] = name
    ontology = (DATA / "ontology" / "DO_cancer_slim.obo").read_text(encoding="utf-8")
    terms = {line.removeprefix("id: ") for line in ontology.splitlines() if line.startswith("id: ")}
    names = dict(zip(nodes().ids, nodes().names, strict=True))
    aliases = dict(zip(nodes().ids, nodes().aliases, strict=True))
    joined = 0
    for node_id, name in names.items():
        if "::" not in node_id or type_of()[node_id] == NodeType.GENE:
            continue
        if node_id in known:
            ours = {name.lower(), *(alias.lower() for alias in aliases[node_id])}
            assert known[node_id].lower() in ours, (node_id, known[node_id], ours)
            joined += 1
        else:
            assert node_id.removeprefix("Disease::") in terms, node_id
    assert joined > 300
