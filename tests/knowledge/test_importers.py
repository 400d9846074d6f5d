"""What the readers make of small files of every format, written out by hand."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.domain.knowledge import EdgeRows, EdgeType, GraphSource, NodeRows, NodeType
from engine.errors import DataError, UserError
from engine.knowledge.importers.primekg import _Seen
from engine.knowledge.importers.read import FORMATS, detect, format_named, open_import, preview
from engine.knowledge.importers.reading.batches import BATCH
from engine.knowledge.importers.reading.ids import type_of_id, xref

NODES = "id\tname\tkind\nGene::1956\tEGFR\tGene\nDisease::DOID:1612\tbreast cancer\tDisease\n" \
        "Compound::DB00530\tErlotinib\tCompound\nAnatomy::UBERON:0002048\tlung\tAnatomy\n"  # fmt: skip
EDGES = "source\tmetaedge\ttarget\nDisease::DOID:1612\tDaG\tGene::1956\nCompound::DB00530\tCbG\tGene::1956\n" \
        "Anatomy::UBERON:0002048\tAeG\tGene::1956\n"  # fmt: skip


class Read:
    """An import, read to its end."""

    def __init__(self, format: str, paths: Iterable[Path], **options: Any) -> None:
        self.source: GraphSource
        self.source, batches, self.warnings = open_import(format, list(paths), **options)
        self.nodes: dict[str, tuple[NodeType, str, list[str], list[str]]] = {}
        self.edges: list[tuple[str, str, str, str, float | None]] = []
        self.sizes: list[int] = []
        self.order: list[str] = []
        for batch in batches:
            self.sizes.append(len(batch))
            self.order.append(type(batch).__name__)
            if isinstance(batch, NodeRows):
                assert (
                    len({len(batch.ids), len(batch.types), len(batch.names), len(batch.aliases), len(batch.xrefs)}) == 1
                )
                for at, node_id in enumerate(batch.ids):
                    self.nodes[node_id] = (batch.types[at], batch.names[at], batch.aliases[at], batch.xrefs[at])
            else:
                assert isinstance(batch, EdgeRows)
                columns = (batch.sources, batch.types, batch.targets, batch.relations, batch.confidences)
                self.edges.extend(
                    (source, str(type.value), target, relation, confidence)
                    for source, type, target, relation, confidence in zip(*columns, strict=True)
                )

    def triples(self) -> set[tuple[str, str, str]]:
        return {(source, type, target) for source, type, target, _, _ in self.edges}


def write(path: Path, text: str) -> Path:
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")
    return path


def known(names: dict[str, str]) -> Any:
    return lambda name, type: names.get(name)


# ==== Hetionet ====


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("edges_first", [False, True])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_hetionet(tmp_path: Path, packed: bool, edges_first: bool, end: str) -> None:
    ending = ".gz" if packed else ""
    nodes = write(tmp_path / f"n.tsv{ending}", NODES.replace("\n", end))
    edges = write(tmp_path / f"e.sif{ending}", EDGES.replace("\n", end))
    paths = [edges, nodes] if edges_first else [nodes, edges]
    assert detect(paths) == "hetionet"
    read = Read("auto", paths)
    assert read.order == ["NodeRows", "EdgeRows"]
    assert read.nodes == {
        "Gene::1956": (NodeType.GENE, "EGFR", [], ["ENTREZ:1956"]),
        "Disease::DOID:1612": (NodeType.DISEASE, "breast cancer", [], ["DOID:1612"]),
        "Compound::DB00530": (NodeType.DRUG, "Erlotinib", [], ["DRUGBANK:DB00530"]),
        "Anatomy::UBERON:0002048": (NodeType.ANATOMY, "lung", [], ["UBERON:0002048"]),
    }
    assert read.edges == [
        ("Gene::1956", "associated_with", "Disease::DOID:1612", "DaG", None),
        ("Compound::DB00530", "binds", "Gene::1956", "CbG", None),
        ("Gene::1956", "expressed_in", "Anatomy::UBERON:0002048", "AeG", None),
    ]
    assert (read.source.id, read.source.name, read.source.kind) == ("hetionet:hetionet", "Hetionet", "hetionet")
    assert set(read.source.files) == {nodes.name, edges.name}
    assert all(len(digest) == 64 for digest in read.source.files.values())
    assert read.warnings == []


def test_hetionet_blank_lines_and_no_last_line_end_are_no_error(tmp_path: Path) -> None:
    edges = write(tmp_path / "e.sif", EDGES.replace("\nCompound", "\n\n\nCompound").rstrip("\n"))
    read = Read("hetionet", [edges])
    assert len(read.edges) == 3
    assert "Only edges were given" in read.warnings[0]
    assert read.source.name == "Hetionet e"


def test_batches_hold_at_most_50000_rows(tmp_path: Path) -> None:
    rows = "".join(f"Gene::{at}\tGiG\tGene::{at + 1}\n" for at in range(120_001))
    read = Read("hetionet", [write(tmp_path / "e.sif.gz", "source\tmetaedge\ttarget\n" + rows)])
    assert len(read.edges) == 120_001
    assert max(read.sizes) <= BATCH
    assert read.edges[-1][2] == "Gene::120001"


# ==== PrimeKG ====

PRIMEKG = (
    "relation,display_relation,x_index,x_id,x_type,x_name,x_source,y_index,y_id,y_type,y_name,y_source\n"
    "protein_protein,ppi,0,9796,gene/protein,PHYHIP,NCBI,1,56992,gene/protein,KIF15,NCBI\n"
    "protein_protein,ppi,1,56992,gene/protein,KIF15,NCBI,0,9796,gene/protein,PHYHIP,NCBI\n"
    "drug_protein,target,2,DB00530,drug,Erlotinib,DrugBank,3,1956,gene/protein,EGFR,NCBI\n"
    "drug_protein,target,3,1956,gene/protein,EGFR,NCBI,2,DB00530,drug,Erlotinib,DrugBank\n"
    "drug_protein,enzyme,2,DB00530,drug,Erlotinib,DrugBank,3,1956,gene/protein,EGFR,NCBI\n"
    "disease_phenotype_negative,phenotype absent,4,5044,disease,hypertension,MONDO,5,1250,effect/phenotype,Seizure,HPO\n"
    'indication,indication,2,DB00530,drug,Erlotinib,DrugBank,6,13924_12592,disease,"cancer, grouped",MONDO_grouped\n'
    "anatomy_protein_present,expression present,7,2048,anatomy,lung,UBERON,3,1956,gene/protein,EGFR,NCBI\n"
    "bioprocess_bioprocess,parent-child,8,6915,biological_process,apoptosis,GO,9,8219,biological_process,cell death,GO\n"
    "bioprocess_bioprocess,parent-child,9,8219,biological_process,cell death,GO,8,6915,biological_process,apoptosis,GO\n"
    "exposure_disease,linked to,10,D001151,exposure,Arsenic,CTD,4,5044,disease,hypertension,MONDO\n"
)


def test_primekg_keeps_each_edge_once_in_its_own_direction(tmp_path: Path) -> None:
    path = write(tmp_path / "kg.csv", PRIMEKG)
    read = Read("auto", [path])
    assert sorted(read.edges) == sorted(
        [
            ("Gene::9796", "interacts_with", "Gene::56992", "ppi", None),
            ("Compound::DB00530", "targets", "Gene::1956", "target", None),
            ("Compound::DB00530", "binds", "Gene::1956", "enzyme", None),
            ("HP:0001250", "absent_in", "MONDO:0005044", "phenotype absent", None),
            ("Compound::DB00530", "treats", "PrimeKG:disease_13924_12592", "indication", None),
            ("Gene::1956", "expressed_in", "UBERON:0002048", "expression present", None),
            ("GO:0006915", "related_to", "GO:0008219", "parent-child", None),
            ("MESH:D001151", "associated_with", "MONDO:0005044", "linked to", None),
        ]
    )
    assert read.nodes["PrimeKG:disease_13924_12592"][3] == ["MONDO:0013924", "MONDO:0012592"]
    assert read.nodes["PrimeKG:disease_13924_12592"][1] == "cancer, grouped"
    assert read.nodes["Gene::1956"] == (NodeType.GENE, "EGFR", [], ["ENTREZ:1956"])
    assert "parent and child cannot be told apart" in read.warnings[0]
    assert read.source.id == "primekg:primekg"


def test_primekg_attaches_to_nodes_that_exist(tmp_path: Path) -> None:
    resolve = known(
        {
            "UBERON:0002048": "Anatomy::UBERON:0002048",
            "GO:0006915": "Biological Process::GO:0006915",
            "MONDO:0013924": "one of a group",
        }
    )
    read = Read("primekg", [write(tmp_path / "kg.csv", PRIMEKG)], resolve=resolve)
    assert ("Gene::1956", "expressed_in", "Anatomy::UBERON:0002048") in read.triples()
    assert "Biological Process::GO:0006915" in read.nodes
    assert "PrimeKG:disease_13924_12592" in read.nodes
    assert "one of a group" not in read.nodes


@given(st.lists(st.lists(st.integers(0, 2**62 - 1) | st.integers(0, 30), max_size=40), max_size=12))
def test_seen_keys_are_a_set(batches: list[list[int]]) -> None:
    seen, model = _Seen(), set()
    for keys in batches:
        if not keys:
            continue
        expected = []
        for at, key in enumerate(keys):
            if key not in model:
                model.add(key)
                expected.append(at)
        assert seen.new(keys) == expected


# ==== OBO ====

OBO = """format-version: 1.4
data-version: releases/2026-01-01
ontology: cl
property_value: http://purl.org/dc/terms/license http://creativecommons.org/licenses/by/4.0/

[Term]
id: CL:0000084
name: T cell
namespace: cell
alt_id: CL:0000804
def: "A type of \\"lymphocyte\\" {with braces}." [GOC:add]
synonym: "T-lymphocyte" EXACT []
synonym: "T \\"quoted\\" cell" EXACT [GOC:x]
synonym: "thymus-derived" RELATED [GOC:x]
synonym: "tube" BROAD []
synonym: "killer cell" NARROW []
synonym: "TL" RELATED OMO:0003012 []
xref: FMA:62870 {source="x"}
xref: MESH:D013601 "T-Lymphocytes"
xref: http://example.org/cell
is_a: CL:0000542 {is_inferred="true"} ! lymphocyte
relationship: part_of UBERON:0002405 {gci_filler="x"} ! immune system
relationship: BFO:0000051 GO:0009986 ! cell surface
relationship: develops_from CL:0000893 ! thymocyte
intersection_of: CL:0000542 ! lymphocyte

[Term]
id: CL:0000542
name: lymphocyte

[Term]
id: CL:0000099
name: obsolete cell
is_obsolete: true
is_a: CL:0000542

[Term]
id: UBERON:0002405
name: immune system

[Term]
id: XYZ:1
name: of unknown kind

[Typedef]
id: part_of
name: part of
xref: BFO:0000050
"""


def test_obo(tmp_path: Path) -> None:
    read = Read("auto", [write(tmp_path / "cl.obo.gz", OBO)])
    assert read.nodes["CL:0000084"] == (
        NodeType.CELL_TYPE,
        "T cell",
        ["T-lymphocyte", 'T "quoted" cell', "TL"],
        ["CL:0000084", "CL:0000804", "FMA:62870", "MESH:D013601"],
    )
    assert read.nodes["UBERON:0002405"][0] is NodeType.ANATOMY
    assert set(read.nodes) == {"CL:0000084", "CL:0000542", "UBERON:0002405"}
    assert read.edges == [
        ("CL:0000084", "subclass_of", "CL:0000542", "is_a", None),
        ("CL:0000084", "part_of", "UBERON:0002405", "part_of", None),
        ("GO:0009986", "part_of", "CL:0000084", "has_part", None),
        ("CL:0000084", "related_to", "CL:0000893", "develops_from", None),
    ]
    assert read.warnings == [
        "Obsolete terms were left out: 1 (the first: CL:0000099).",
        "Terms with the prefix 'XYZ' were left out, as what they are is not known: 1 (the first: XYZ:1).",
    ]
    assert (read.source.id, read.source.name) == ("obo:cell-ontology", "Cell Ontology (releases/2026-01-01)")
    assert read.source.license == "http://creativecommons.org/licenses/by/4.0/"


@pytest.mark.parametrize("value", ["license", "dc:license ", 'dcterms:license ""', "license {a}"])
def test_an_obo_header_may_name_no_licence(tmp_path: Path, value: str) -> None:
    text = OBO.replace("property_value: http://purl.org/dc/terms/license http://creativecommons.org/licenses/by/4.0/", f"property_value: {value}")  # fmt: skip
    read = Read("obo", [write(tmp_path / "cl.obo", text)])
    assert "CL:0000084" in read.nodes


def test_related_synonyms_name_diseases_and_drugs_only(tmp_path: Path) -> None:
    term = '[Term]\nid: {}\nname: x\nrelated_synonym: "one" []\nsynonym: "two"\nexact_synonym: "three" []\nbroad_synonym: "four" []\n\n'
    ids = ("DOID:1", "CHEBI:2", "GO:0000003", "UBERON:4")
    read = Read("obo", [write(tmp_path / "x.obo", "".join(map(term.format, ids)))])
    assert [sorted(node[2]) for node in read.nodes.values()] == [["one", "three", "two"]] * 2 + [["three"]] * 2


@pytest.mark.parametrize("first", ["good", "bad"])
@pytest.mark.parametrize(
    ("format", "good", "bad", "problem"),
    [
        ("obo", "[Term]\nid: DOID:1\nname: x\n", "format-version: 1.2\n\n[Typedef]\nid: part_of\n", r"has no \[Term\]"),
        ("associations", "EGFR\tGO:0006915\n", "EGFR\t\nTP53\t\n", "has no association"),
    ],
)
def test_every_file_must_hold_something(tmp_path: Path, format: str, good: str, bad: str, problem: str, first: str) -> None:  # fmt: skip
    paths = [write(tmp_path / "good.txt", good), write(tmp_path / "bad.txt", bad)]
    with pytest.raises(DataError, match=f"bad.txt {problem}"):
        Read(format, paths if first == "good" else paths[::-1])


def test_obo_terms_join_nodes_that_exist(tmp_path: Path) -> None:
    text = (
        "ontology: mondo\n\n[Term]\nid: MONDO:0007254\nname: breast cancer\n"
        'xref: DOID:1612 {source="MONDO:equivalentTo"}\nxref: DOID:3459 {source="MONDO:relatedTo"}\n'
        "is_a: MONDO:0021100\nrelationship: disease_has_location UBERON:0000310\n\n"
        "[Term]\nid: MONDO:0021100\nname: breast neoplasm\nxref: DOID:3459\n"
    )
    resolve = known(
        {"DOID:1612": "Disease::DOID:1612", "DOID:3459": "wrong", "UBERON:0000310": "Anatomy::UBERON:0000310"}
    )
    read = Read("obo", [write(tmp_path / "mondo.obo", text)], resolve=resolve)
    assert set(read.nodes) == {"Disease::DOID:1612", "MONDO:0021100"}
    assert read.nodes["Disease::DOID:1612"][3] == ["MONDO:0007254", "DOID:1612"]
    assert read.nodes["MONDO:0021100"][3] == ["MONDO:0021100"]
    assert read.triples() == {
        ("Disease::DOID:1612", "subclass_of", "MONDO:0021100"),
        ("Disease::DOID:1612", "located_in", "Anatomy::UBERON:0000310"),
    }


def test_chebi_compounds_join_by_their_drugbank_id(tmp_path: Path) -> None:
    text = (
        'ontology: chebi\n\n[Term]\nid: CHEBI:15365\nname: acetylsalicylic acid\nxref: DrugBank:DB00945 {source="x"}\n'
    )
    path = write(tmp_path / "chebi.obo", text)
    assert set(Read("obo", [path]).nodes) == {"CHEBI:15365"}
    read = Read("obo", [path], resolve=known({"DRUGBANK:DB00945": "Compound::DB00945"}))
    assert read.nodes["Compound::DB00945"][3] == ["CHEBI:15365", "DRUGBANK:DB00945"]


@pytest.mark.parametrize(
    ("term", "namespace", "type"),
    [
        ("GO:0006915", "biological_process", NodeType.GO_TERM),
        ("HP:0001250", "", NodeType.PHENOTYPE),
        ("DOID:1612", "disease_ontology", NodeType.DISEASE),
        ("MONDO:0000001", "", NodeType.DISEASE),
        ("CHEBI:15365", "", NodeType.DRUG),
        ("NCBITaxon:9606", "ncbi_taxonomy", NodeType.ORGANISM),
        ("ABC:1", "uberon", NodeType.ANATOMY),
    ],
)
def test_obo_types_follow_prefix_then_namespace(tmp_path: Path, term: str, namespace: str, type: NodeType) -> None:
    space = f"namespace: {namespace}\n" if namespace else ""
    read = Read("obo", [write(tmp_path / "x.obo", f"format-version: 1.2\n\n[Term]\nid: {term}\n{space}")])
    assert next(iter(read.nodes.values()))[0] is type


# ==== annotations ====


def gaf_row(**changes: str) -> str:
    row = {
        "db": "UniProtKB", "id": "P00533", "symbol": "EGFR", "qualifier": "enables", "term": "GO:0004714",
        "ref": "PMID:1", "evidence": "IDA", "with": "", "aspect": "F", "name": "Epidermal growth factor receptor",
        "synonym": "EGFR|ERBB1", "type": "protein", "taxon": "taxon:9606", "date": "20200101", "by": "UniProt",
        "extension": "", "form": "",
    }  # fmt: skip
    return "\t".join((row | changes).values()) + "\n"


def test_gaf(tmp_path: Path) -> None:
    text = "!gaf-version: 2.2\n!generated-by: test\n" + "".join(
        [
            gaf_row(evidence="IEA"),
            gaf_row(),
            gaf_row(evidence="IEA", ref="PMID:2"),
            gaf_row(term="GO:0006915", aspect="P", qualifier="NOT|involved_in"),
            gaf_row(term="GO:0008150", aspect="P", qualifier="involved_in", evidence="ND"),
            gaf_row(term="GO:0005886", aspect="C", qualifier="is_active_in", id="E9PFD7"),
            gaf_row(term="GO:0007165", aspect="P", qualifier="acts_upstream_of", evidence="IMP"),
            gaf_row(
                db="MGI",
                id="MGI:95294",
                symbol="Egfr",
                taxon="taxon:10090",
                qualifier="",
                aspect="P",
                term="GO:0007173",
            ),
            gaf_row(db="ComplexPortal", id="CPX-1", symbol="a complex", type="protein_complex"),
            gaf_row(evidence="XYZ", term="GO:0000001"),
        ]
    )
    read = Read("auto", [write(tmp_path / "goa.gaf.gz", text)])
    assert sorted(read.edges) == sorted(
        [
            ("symbol:EGFR", "has_function", "GO:0004714", "enables", 0.95),
            ("symbol:EGFR", "located_in", "GO:0005886", "is_active_in", 0.95),
            ("symbol:EGFR", "related_to", "GO:0007165", "acts_upstream_of", 0.95),
            ("symbol:mouse:Egfr", "involved_in", "GO:0007173", "involved_in", 0.95),
            ("COMPLEXPORTAL:CPX-1", "has_function", "GO:0004714", "enables", 0.95),
            ("symbol:EGFR", "has_function", "GO:0000001", "enables", 0.5),
        ]
    )
    assert read.nodes["symbol:EGFR"] == (
        NodeType.GENE,
        "EGFR",
        ["ERBB1", "Epidermal growth factor receptor"],
        ["UNIPROT:E9PFD7", "UNIPROT:P00533"],
    )
    assert read.nodes["symbol:mouse:Egfr"][3] == ["MGI:95294"]
    assert read.nodes["GO:0004714"] == (NodeType.GO_TERM, "GO:0004714", [], ["GO:0004714"])
    assert "Annotations with the qualifier NOT were left out: 1 (the first: EGFR, GO:0006915)." in read.warnings
    assert any("without data (ND)" in warning for warning in read.warnings)


def test_gaf_joins_genes_and_terms_that_exist(tmp_path: Path) -> None:
    resolve = known(
        {
            "UNIPROT:P00533": "Gene::1956",
            "EGFR": "wrong",
            "Egfr": "Gene::1956",
            "GO:0004714": "Molecular Function::GO:0004714",
        }
    )
    rows = gaf_row() + gaf_row(db="MGI", id="MGI:95294", symbol="Egfr", taxon="taxon:10090")
    read = Read("gaf", [write(tmp_path / "a.gaf", "!gaf-version: 2.1\n" + rows)], resolve=resolve)
    assert read.triples() == {
        ("Gene::1956", "has_function", "Molecular Function::GO:0004714"),
        ("symbol:mouse:Egfr", "has_function", "Molecular Function::GO:0004714"),
    }


def test_associations_follow_the_branch_of_terms_that_exist(tmp_path: Path) -> None:
    resolve = known({"GO:0006915": "Biological Process::GO:0006915", "EGFR": "Gene::1956"})
    path = write(tmp_path / "assoc.txt", "EGFR\tGO:0006915;GO:0000001\n1956\tGO:0000001\nLONE\t\n")
    read = Read("auto", [path], resolve=resolve)
    assert read.source.kind == "associations"
    assert read.triples() == {
        ("Gene::1956", "involved_in", "Biological Process::GO:0006915"),
        ("Gene::1956", "associated_with", "GO:0000001"),
    }
    assert any("Genes without a term were left out: 1 (the first: LONE)" in warning for warning in read.warnings)


# ==== gene sets, genes, ligands ====


def test_gmt(tmp_path: Path) -> None:
    text = (
        "HALLMARK_TNFA_SIGNALING_VIA_NFKB\thttp://x\tJUNB\tCXCL2\tJUNB\n"
        "AKT_UP.V1_DN\tna\tEGFR,1.0\n\nMY SET\t\t1956\tENSG00000146648.18\t\n"
    )
    read = Read("auto", [write(tmp_path / "x.gmt", text)])
    assert read.edges == [
        ("symbol:JUNB", "involved_in", "pathway:HALLMARK_TNFA_SIGNALING_VIA_NFKB", "member", None),
        ("symbol:CXCL2", "involved_in", "pathway:HALLMARK_TNFA_SIGNALING_VIA_NFKB", "member", None),
        ("symbol:EGFR", "associated_with", "pathway:AKT_UP.V1_DN", "signature", None),
        ("Gene::1956", "involved_in", "pathway:MY SET", "member", None),
        ("ENSEMBL:ENSG00000146648", "involved_in", "pathway:MY SET", "member", None),
    ]
    assert read.nodes["pathway:HALLMARK_TNFA_SIGNALING_VIA_NFKB"][2] == ["tnfa signaling via nfkb"]
    mouse = Read(
        "gmt",
        [write(tmp_path / "m.gmt", "S\tna\tTrp53\n")],
        organism="Mus musculus",
        resolve=known({"Trp53": "Gene::7157"}),
    )
    assert set(mouse.nodes) == {"pathway:S", "symbol:mouse:Trp53"}
    assert mouse.source.id == "gmt:m:mouse"


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("gmt", "SET\tna\t1956\t2885\n"),
        ("associations", "1956\tGO:0006915\n2885\tGO:0006915\n"),
        ("ligand_receptor", "ligand,receptor\n1956,2885\n"),
    ],
)
def test_entrez_ids_link_by_id_and_name_nothing(tmp_path: Path, format: str, text: str) -> None:
    path = write(tmp_path / "x.txt", text)
    read = Read(format, [path], resolve=known({"ENTREZ:1956": "HGNC:3236", "1956": "Gene::9"}))
    genes = {node_id: node for node_id, node in read.nodes.items() if node[0] is NodeType.GENE}
    assert genes == {
        "HGNC:3236": (NodeType.GENE, "HGNC:3236", [], ["ENTREZ:1956"]),
        "Gene::2885": (NodeType.GENE, "Gene::2885", [], ["ENTREZ:2885"]),
    }


def test_no_gene_has_a_bare_number_for_a_name_or_an_alias(tmp_path: Path) -> None:
    table = write(tmp_path / "g.tsv", "symbol\tentrez_id\talias_symbol\nEGFR\t1956\t1956|HER1|2024\n77\t5\t\n")
    read = Read("gene_table", [table])
    assert read.nodes["Gene::1956"][1:3] == ("EGFR", ["HER1"])
    assert read.nodes["Gene::5"][1:3] == ("Gene::5", [])
    own = Read("tables", [write(tmp_path / "n.tsv", "id\ttype\tname\tx\nmy:1\tgene\t12\t\nmy:2\tpathway\t12\t\n")])
    assert [node[1] for node in own.nodes.values()] == ["my:1", "12"]  # a pathway may be called so


MOUSE = "S\tna\tTrp53\tEgfr\tBrca1\tH2-k1\tKRAS\n"


def test_symbols_of_a_mouse_are_noticed(tmp_path: Path) -> None:
    path = write(tmp_path / "m.gmt", MOUSE)
    (warning,) = Read("gmt", [path]).warnings
    assert "mouse or rat" in warning
    assert "(Trp53)" in warning
    assert "--organism mouse" in warning
    assert Read("gmt", [path], organism="mouse").warnings == []
    human = write(tmp_path / "h.gmt", "S\tna\tTP53\tEGFR\tC1orf112\tC2orf5\tC3orf9\tKRAS\tHLA-A\n")
    assert Read("gmt", [human]).warnings == []


def test_a_symbol_is_not_the_same_letters_of_another_organism(tmp_path: Path) -> None:
    path = write(tmp_path / "h.gmt", "S\tna\tBRCA1\n")
    read = Read("gmt", [path], resolve=known({"BRCA1": "symbol:mouse:Brca1"}))
    assert "symbol:BRCA1" in read.nodes


def test_former_names_keep_their_commas(tmp_path: Path) -> None:
    text = (
        "symbol\tentrez_id\talias_symbol\talias_name\tprev_name\n"
        'ABCB1\t5243\tP-gp, CD243\t"P-glycoprotein, member 1|multidrug resistance protein 1"\tcolchicin sensitivity\n'
    )
    read = Read("gene_table", [write(tmp_path / "g.tsv", text)])
    assert read.nodes["Gene::5243"][2] == [
        "P-gp",
        "CD243",
        "P-glycoprotein, member 1",
        "multidrug resistance protein 1",
        "colchicin sensitivity",
    ]


def test_an_id_of_ones_own_is_no_symbol(tmp_path: Path) -> None:
    resolve = known({"C3": "Gene::718", "EGFR": "Gene::1956", "ENSEMBL:ENSG00000141510": "Gene::7157"})
    nodes = write(
        tmp_path / "n.tsv",
        "id\ttype\tname\txrefs\nC3\tgene\tmy own gene three\t\nEGFR\tgene\t\t\ng7\tgene\tp53\tENSEMBL:ENSG00000141510\n",
    )
    edges = write(tmp_path / "e.tsv", "source\ttype\ttarget\nC3\tregulates\tEGFR\n")
    read = Read("tables", [nodes, edges], resolve=resolve)
    assert set(read.nodes) == {"C3", "Gene::1956", "Gene::7157"}
    assert read.triples() == {("C3", "regulates", "Gene::1956")}
    assert any("symbols of genes" in text and "EGFR" in text for text in read.warnings)


def test_hgnc_complete_set(tmp_path: Path) -> None:
    text = (
        "hgnc_id\tsymbol\tname\tlocus_group\tstatus\talias_symbol\tprev_symbol\tentrez_id\tensembl_gene_id\tuniprot_ids\n"
        'HGNC:3236\tEGFR\tepidermal growth factor receptor\tprotein-coding gene\tApproved\t"ERBB1|ERRP"\tERBB\t1956\tENSG00000146648\tP00533\n'
        "HGNC:1\tGONE\tx\ty\tEntry Withdrawn\t\t\t\t\t\n"
        "HGNC:2\tNOENTREZ\tno number\ty\tApproved\t\t\t\tENSG00000000002\t\n"
    )
    path = write(tmp_path / "hgnc_complete_set.txt", text)
    assert detect([path]) == "gene_table"
    read = Read("hgnc", [path])
    assert read.nodes == {
        "Gene::1956": (
            NodeType.GENE,
            "EGFR",
            ["ERBB1", "ERRP", "ERBB", "epidermal growth factor receptor"],
            ["ENTREZ:1956", "ENSEMBL:ENSG00000146648", "HGNC:3236", "UNIPROT:P00533"],
        ),
        "ENSEMBL:ENSG00000000002": (NodeType.GENE, "NOENTREZ", ["no number"], ["ENSEMBL:ENSG00000000002", "HGNC:2"]),
    }
    assert "Withdrawn entries were left out: 1 (the first: GONE)." in read.warnings
    joined = Read("hgnc", [path], resolve=known({"NOENTREZ": "Gene::77"}))
    assert set(joined.nodes) == {"Gene::1956", "Gene::77"}


def test_gene_tables_of_other_makers(tmp_path: Path) -> None:
    text = (
        "Gene stable ID,Gene name,NCBI gene ID,Something,Gene description\n"
        "ENSG00000146648,EGFR,1956.0,P00533,epidermal growth factor receptor [Source:HGNC Symbol;Acc:HGNC:3236]\n"
        "ENSG00000285000,EGFR,,Q9XXX1,\n"
        "ENSG00000000003,,7105,,\n"
    )
    read = Read("auto", [write(tmp_path / "mart.csv", text)])
    assert read.nodes == {
        "Gene::1956": (
            NodeType.GENE,
            "EGFR",
            ["epidermal growth factor receptor"],
            ["ENTREZ:1956", "ENSEMBL:ENSG00000146648", "UNIPROT:P00533", "ENSEMBL:ENSG00000285000", "UNIPROT:Q9XXX1"],
        )
    }
    numbers = write(tmp_path / "n.tsv", "gene_id\tgene_name\n1956\tEGFR\n2064\tERBB2\n")
    assert set(Read("gene-table", [numbers]).nodes) == {"Gene::1956", "Gene::2064"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "lr_pair\tligand_gene_symbol\treceptor_gene_symbol\nA_B\tSEMA3F\tPLXNA3\n",
            {("SEMA3F", "PLXNA3", "ligand-receptor")},
        ),
        (
            "source_genesymbol,target_genesymbol\nTGFB1,TGFBR1_TGFBR2\n",
            {("TGFB1", "TGFBR1", "ligand-receptor complex"), ("TGFB1", "TGFBR2", "ligand-receptor complex")},
        ),
        ("Ligand,Receptor\nHLA-A,KIR3DL1\n", {("HLA-A", "KIR3DL1", "ligand-receptor")}),
        (
            "id_cp_interaction,partner_a,partner_b,interactors,directionality\n"
            "x,P1,some_complex,TPH1+SLC6A4-HTR1A,Ligand-Receptor\ny,a,b,HLA-A-KIR3DL1,Ligand-Receptor\n"
            "z,a,b,CDH1-CDH1,Adhesion-Adhesion\n",
            {
                ("TPH1", "HTR1A", "ligand-receptor complex"),
                ("SLC6A4", "HTR1A", "ligand-receptor complex"),
                ("HLA-A", "KIR3DL1", "ligand-receptor"),
                ("CDH1", "CDH1", "adhesion-adhesion"),
            },
        ),
        (
            "gene_a\tgene_b\treceptor_a\treceptor_b\nPDCD1\tCD274\tTrue\tFalse\n",
            {("CD274", "PDCD1", "ligand-receptor")},
        ),
    ],
)
def test_ligand_receptor_tables(tmp_path: Path, text: str, expected: set[tuple[str, str, str]]) -> None:
    path = write(tmp_path / "lr.txt", text)
    read = Read("ligand_receptor", [path])
    found = {
        (source.removeprefix("symbol:"), target.removeprefix("symbol:"), relation)
        for source, _, target, relation, _ in read.edges
    }
    assert found == expected
    assert {edge[1] for edge in read.edges} == {"interacts_with"}


def test_cellphonedb_by_accession(tmp_path: Path) -> None:
    text = "partner_a,partner_b,protein_name_a,protein_name_b\nP01137,P36897,TGFB1,TGR1\nP01137,TGFbeta_receptor1_complex,TGFB1,\n"
    read = Read("auto", [write(tmp_path / "i.csv", text)], resolve=known({"UNIPROT:P01137": "Gene::7040"}))
    assert read.triples() == {("Gene::7040", "interacts_with", "UNIPROT:P36897")}
    assert read.nodes["UNIPROT:P36897"][0] is NodeType.PROTEIN
    assert "whose parts are in another file" in read.warnings[0]


# ==== general forms ====


def test_tables(tmp_path: Path) -> None:
    nodes = write(
        tmp_path / "nodes.csv",
        'id,type,name,aliases,xrefs\ng1,Gene,"EGFR, human",ERBB1|HER1,Entrez:1956\nd1,Disorder,cancer,,\nx1,Planet,Mars,,\nGO:0006915,,apoptosis,,\n',
    )
    edges = write(
        tmp_path / "edges.tsv",
        "source\ttype\ttarget\trelation\tconfidence\ng1\tAssociated with\td1\tgwas\t0.7\ng1\tlikes\td1\t\t\ng1\tinvolved_in\tGO:0006915\t\t1\n",
    )
    read = Read("auto", [edges, nodes])
    assert read.source.kind == "tables"
    assert read.nodes == {
        "g1": (NodeType.GENE, "EGFR, human", ["ERBB1", "HER1"], ["ENTREZ:1956"]),
        "d1": (NodeType.DISEASE, "cancer", [], []),
        "GO:0006915": (NodeType.GO_TERM, "apoptosis", [], []),
    }
    assert read.edges == [
        ("g1", "associated_with", "d1", "gwas", 0.7),
        ("g1", "related_to", "d1", "likes", None),
        ("g1", "involved_in", "GO:0006915", "involved_in", 1.0),
    ]
    assert read.warnings == [
        "Nodes with the type 'Planet' were left out, as the graph has no such type: 1 (the first: x1).",
        "Edges have a type that the graph does not know; they are `related_to`: 1 (the first: 'likes').",
    ]
    joined = Read("tables", [nodes, edges], resolve=known({"ENTREZ:1956": "Gene::1956"}))
    assert ("Gene::1956", "associated_with", "d1") in joined.triples()


def graph() -> nx.MultiDiGraph:
    made = nx.MultiDiGraph()
    made.add_node("Gene::1956", type="gene", name="EGFR", aliases="ERBB1|HER1")
    made.add_node("d1", type="disease", name="cancer & <co>")
    made.add_node("nothing")
    made.add_edge("Gene::1956", "d1", type="associated_with", confidence=0.5)
    made.add_edge("Gene::1956", "d1", type="odd")
    return made


EXPECTED = [
    ("Gene::1956", "associated_with", "d1", "associated_with", 0.5),
    ("Gene::1956", "related_to", "d1", "odd", None),
]


@pytest.mark.parametrize("packed", [False, True])
def test_graphml_as_networkx_writes_it(tmp_path: Path, packed: bool) -> None:
    plain = tmp_path / "g.graphml"
    nx.write_graphml(graph(), plain)
    path = write(tmp_path / "p.graphml.gz", plain.read_text()) if packed else plain
    read = Read("auto", [path])
    assert read.source.kind == "graphml"
    assert read.nodes == {
        "Gene::1956": (NodeType.GENE, "EGFR", ["ERBB1", "HER1"], []),
        "d1": (NodeType.DISEASE, "cancer & <co>", [], []),
    }
    assert read.edges == EXPECTED
    assert "Nodes with no type were left out" in read.warnings[0]


def test_graphml_defaults_and_prefixed_elements(tmp_path: Path) -> None:
    text = (
        '<?xml version="1.0"?>\n<g:graphml xmlns:g="http://graphml.graphdrawing.org/xmlns">\n'
        '<g:key id="d0" for="node" attr.name="type"><g:default>gene</g:default></g:key>\n<g:graph edgedefault="directed">\n'
        '<g:node id="a"/><g:node id="b"><g:data key="d0">drug</g:data></g:node><g:edge source="b" target="a"/>\n'
        "</g:graph></g:graphml>\n"
    )
    read = Read("graphml", [write(tmp_path / "x.graphml", text)])
    assert {node: value[0] for node, value in read.nodes.items()} == {"a": NodeType.GENE, "b": NodeType.DRUG}
    assert read.edges == [("b", "related_to", "a", "", None)]


@pytest.mark.parametrize("name", ["links", "edges"])
def test_node_link_json_as_networkx_writes_it(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / "g.json", json.dumps(nx.node_link_data(graph(), edges=name), indent=1))
    read = Read("auto", [path])
    assert read.source.kind == "node_link"
    assert set(read.nodes) == {"Gene::1956", "d1"}
    assert read.edges == EXPECTED


# ==== in common ====


@pytest.mark.parametrize("form", ["graphml", "node_link"])
def test_edges_without_a_direction_are_said_to_get_one(tmp_path: Path, form: str) -> None:
    for graph, warned in ((nx.Graph(), True), (nx.DiGraph(), False)):
        for node in "abc":
            graph.add_node(f"Gene::{node}", type="gene")
        graph.add_edge("Gene::a", "Gene::b", type="activates")
        graph.add_edge("Gene::b", "Gene::c", type="interacts_with")
        path = tmp_path / f"x.{form}"
        if form == "graphml":
            nx.write_graphml(graph, path)
        else:
            write(path, json.dumps(nx.node_link_data(graph, edges="links")))
        read = Read(form, [path])
        assert len(read.edges) == 2
        told = [text for text in read.warnings if "no direction" in text]
        assert bool(told) == warned
        if warned:
            assert "source: 1 (the first: Gene::a activates Gene::b)" in told[0]


def test_preview_counts_and_shows(tmp_path: Path) -> None:
    nodes, edges = write(tmp_path / "n.tsv", NODES), write(tmp_path / "e.sif", EDGES)
    shown = preview("auto", [nodes, edges], rows=2)
    assert (shown.format, shown.nodes_read, shown.edges_read, shown.complete) == ("hetionet", 4, 3, True)
    assert [node.name for node in shown.nodes] == ["EGFR", "breast cancer"]
    assert shown.edges[0].type is EdgeType.ASSOCIATED_WITH
    assert shown.edges[0].origin == shown.source.id == "hetionet:hetionet"
    assert json.loads(shown.model_dump_json())["nodes"][0]["id"] == "Gene::1956"


def test_preview_of_a_large_file_stops_early(tmp_path: Path) -> None:
    rows = "Gene::1\tGiG\tGene::2\n" * 400_000
    path = write(tmp_path / "e.sif", "source\tmetaedge\ttarget\n" + rows)
    shown = preview("hetionet", [path])
    assert not shown.complete
    assert 200_000 <= shown.edges_read < 400_000
    assert len(shown.edges) == 20


def test_names_and_ids_of_sources(tmp_path: Path) -> None:
    path = write(tmp_path / "my sets.gmt", "S\tna\tEGFR\n")
    first = Read("gmt", [path]).source
    assert (first.id, first.name) == ("gmt:my-sets", "my sets")
    named = Read("gmt", [path], name="Lab Sets", license="CC0", url="https://example.org").source
    assert (named.id, named.name, named.license, named.url) == (
        "gmt:lab-sets",
        "Lab Sets",
        "CC0",
        "https://example.org",
    )
    assert named.files == first.files
    write(path, "S\tna\tERBB2\n")
    second = Read("gmt", [path]).source
    assert second.id == first.id
    assert second.files != first.files
    assert Read("gmt", [path], name="基因").source.id.startswith("gmt:")


def test_names_in_other_scripts_give_different_ids(tmp_path: Path) -> None:
    path = write(tmp_path / "x.gmt", "A\tna\tEGFR\n")
    ids = [Read("gmt", [path], name=name).source.id for name in ("基因 1", "蛋白 1", "Größe", "α", "β", "+", "-")]
    assert ids[:3] == ["gmt:基因-1", "gmt:蛋白-1", "gmt:größe"]
    assert len(set(ids)) == len(ids)
    assert Read("gmt", [path], name="My_Sets (v2)").source.id == "gmt:my-sets-v2"


def test_every_format_has_what_a_page_shows() -> None:
    for name, info in FORMATS.items():
        assert info.name == name
        assert info.title
        assert info.description.endswith((".", "..."))
        assert all(extension.startswith(".") for extension in info.extensions)
    assert format_named("Gene-Table").name == "gene_table"
    with pytest.raises(UserError, match="no format 'owl'; the formats are hetionet, primekg"):
        format_named("owl")
    with pytest.raises(UserError, match="No file"):
        open_import("auto", [])


def test_utf8_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "n.tsv"
    path.write_bytes(b"\xef\xbb\xbf" + NODES.replace("EGFR", "β").encode())
    assert Read("auto", [path]).nodes["Gene::1956"][1] == "β"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("UMLS_CUI:C1", "UMLS:C1"),
        ("SNOMEDCT_US_2025_09_01:3", "SNOMEDCT:3"),
        ("MIM:607785", "OMIM:607785"),
        ("NCBIGene:1956", "ENTREZ:1956"),
        ("http://x.org", None),
        ("Wikipedia:Cell", None),
        ("free text", None),
        ("Gene::1956", None),
    ],
)
def test_xrefs_have_one_spelling(text: str, expected: str | None) -> None:
    assert xref(text) == expected


@given(st.text(max_size=30))
def test_ids_of_any_text_are_no_error(text: str) -> None:
    assert type_of_id(text) is None or isinstance(type_of_id(text), NodeType)
    found = xref(text)
    assert found is None or ":" in found


# ==== what a file is ====


@pytest.mark.parametrize(
    "text",
    [
        "s1\tcontrol\t1.2\t3.4\t5.6\ns2\ttreated\t1.3\t3.1\t5.5\n",  # measurements, no header that is known
        "A1BG\tA2M\tEGFR\tTP53\tMYC\nKRAS\tNRAS\tHRAS\tBRAF\tRAF1\n",  # a rectangle of genes
        "s1\tmale\tLung\tyes\tno\ns2\tfemale\tLiver\tno\ns3\tmale\tLung\tyes\tno\tn.d.\n",  # ragged words
        "x\ty\t1\t2\t3\nx\ty\t1\t2\n",  # ragged numbers
    ],
)
def test_a_table_is_not_taken_for_gene_sets(tmp_path: Path, text: str) -> None:
    with pytest.raises(DataError, match="none of the formats"):
        detect([write(tmp_path / "some.tsv", text)])
    assert detect([write(tmp_path / "some.gmt", text)]) == "gmt"


@pytest.mark.parametrize(
    "text",
    [
        "HALLMARK_X\tna\tEGFR\tHLA-A\tC1orf112\nHALLMARK_Y\thttp://x\tTP53\n",
        "one\t\tENSG00000146648\tENSG00000141510.3\ntwo\t\tENSMUSG00000020122\n",
        "a\tb\tTrp53\tCdk4,1.0\nc\td\tGapdh2\t\t\n",
    ],
)
def test_gene_sets_are_recognised_under_any_name(tmp_path: Path, text: str) -> None:
    assert detect([write(tmp_path / "sets.txt", text)]) == "gmt"


def test_the_table_of_hetionets_kinds_is_passed_over_and_nothing_to_import_alone(tmp_path: Path) -> None:
    paths = [write(tmp_path / "nodes.tsv", NODES), write(tmp_path / "edges.sif", EDGES)]
    header = "metaedge\tabbreviation\tedges\tsource_nodes\ttarget_nodes\tunbiased\n"
    kinds = write(tmp_path / "metaedges.tsv", header + "Gene - interacts - Gene\tGiG\t147164\t9526\t14084\t0\n")
    assert detect([*paths, kinds]) == detect(paths) == "hetionet"
    _, batches, warnings = open_import("auto", [kinds, *paths])
    assert sum(len(batch) for batch in batches) > 0
    assert any("metaedges.tsv" in text and "passed over" in text for text in warnings)
    _, batches, _ = open_import("auto", [kinds])
    with pytest.raises(DataError, match="nothing to import"):
        list(batches)
