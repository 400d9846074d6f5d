"""A small graph for tests of linking and grounding. The names are real, the relations are made up for the tests."""

from __future__ import annotations

from engine.domain.knowledge import Edge, EdgeType, GraphSource, Node, NodeType
from engine.knowledge.graph.twin import GraphTwin

_NODES: dict[NodeType, list[tuple[str, str, list[str], list[str]]]] = {
    NodeType.GENE: [
        ("Gene::1956", "EGFR", ["ERBB1"], ["ENSEMBL:ENSG00000146648", "UNIPROT:P00533"]),
        ("Gene::7157", "TP53", ["p53"], ["ENSEMBL:ENSG00000141510"]),
        ("Gene::3569", "IL6", ["interleukin 6", "IFNB2"], []),
        ("Gene::7124", "TNF", ["TNF-alpha", "tumor necrosis factor"], []),
        ("Gene::6418", "SET", [], []),
        ("Gene::847", "CAT", ["catalase"], []),
        ("Gene::7454", "WAS", [], []),
        ("Gene::6862", "T", [], []),
        ("Gene::2885", "GRB2", [], []),
        ("Gene::3156", "HMGCR", [], []),
        ("Gene::5742", "PTGS1", ["COX1"], []),
        ("Gene::5743", "PTGS2", ["COX2"], []),
        ("Gene::11", "C9orf72", [], []),
        *((f"Gene::{number}", f"GN{number}", [], []) for number in range(900, 940)),
    ],
    NodeType.DRUG: [
        ("Compound::DB00945", "Acetylsalicylic acid", ["aspirin"], ["CHEBI:15365"]),
        ("Compound::DB00641", "Simvastatin", [], []),
        ("Compound::DB00175", "Pravastatin", [], []),
        ("Compound::DB00227", "Lovastatin", [], []),
        ("Compound::DB01076", "Atorvastatin", [], []),
        ("Compound::DB00331", "Metformin", [], []),
    ],
    NodeType.DISEASE: [
        ("Disease::DOID:10763", "hypertension", [], []),
        ("Disease::DOID:10652", "Alzheimer's disease", [], []),
        ("Disease::DOID:1612", "breast cancer", [], []),
        ("Disease::DOID:9352", "type 2 diabetes mellitus", [], []),
        ("Disease::DOID:1324", "lung cancer", [], []),
        ("Disease::DOID:9970", "obesity", [], []),
    ],
    NodeType.SIDE_EFFECT: [
        ("Side Effect::C0020538", "Hypertension", [], []),
        ("Side Effect::C0085639", "Fall", [], []),
        ("Side Effect::C0018965", "Haematuria", [], []),
        ("Side Effect::C0022346", "Jaundice", [], []),
        ("Side Effect::C0559546", "Adverse reaction", [], []),
    ],
    NodeType.SYMPTOM: [
        ("Symptom::D007565", "Jaundice", [], []),
        ("Symptom::D010292", "Paresthesia", [], []),
        ("Symptom::D001039", "Aphasia, Broca", [], []),
    ],
    NodeType.ANATOMY: [
        ("Anatomy::UBERON:0002107", "liver", [], []),
        ("Anatomy::UBERON:0000955", "brain", [], []),
        ("Anatomy::UBERON:0002097", "skin of body", [], []),
    ],
    NodeType.PATHWAY: [
        ("Pathway::PC7_1", "IL-6 signaling pathway", [], []),
        ("Pathway::PC7_2", "Class A/1 (Rhodopsin-like receptors)", [], []),
        ("Pathway::PC7_3", "Cell Cycle", [], []),
        ("Pathway::WP179_r1", "Cell cycle", [], []),
        ("Pathway::PC7_4", "Everything", [], []),
    ],
    NodeType.GO_TERM: [
        ("Molecular Function::GO:0005515", "protein kinase activity", [], []),
        ("Cellular Component::GO:0005634", "nucleus", [], []),
        ("Biological Process::GO:0006915", "apoptotic process", [], []),
    ],
    NodeType.DRUG_CLASS: [("Pharmacologic Class::N0000175589", "HMG-CoA Reductase Inhibitors", ["statins"], [])],
}
_EDGES: list[tuple[str, str, str]] = [
    ("aspirin", "binds", "PTGS1"),
    ("aspirin", "binds", "PTGS2"),
    ("aspirin", "palliates", "breast cancer"),
    ("simvastatin", "binds", "HMGCR"),
    ("pravastatin", "binds", "HMGCR"),
    ("lovastatin", "binds", "HMGCR"),
    ("simvastatin", "upregulates", "EGFR"),
    ("simvastatin", "downregulates", "TNF"),
    ("simvastatin", "treats", "hypertension"),
    ("simvastatin", "resembles", "pravastatin"),
    ("pravastatin", "treats", "Alzheimer's disease"),
    ("lovastatin", "treats", "Alzheimer's disease"),
    ("atorvastatin", "treats", "Alzheimer's disease"),
    ("lovastatin", "resembles", "simvastatin"),
    ("atorvastatin", "resembles", "simvastatin"),
    ("metformin", "treats", "type 2 diabetes mellitus"),
    ("metformin", "causes", "Haematuria"),
    ("metformin", "causes", "Jaundice/se"),
    ("metformin", "causes", "Hypertension/se"),
    ("EGFR", "interacts_with", "GRB2"),
    ("SET", "interacts_with", "TP53"),
    ("TP53", "regulates", "EGFR"),
    ("IL6", "covaries_with", "TNF"),
    ("TP53", "associated_with", "breast cancer"),
    ("TNF", "associated_with", "obesity"),
    ("breast cancer", "upregulates", "EGFR"),
    ("breast cancer", "downregulates", "CAT"),
    ("lung cancer", "presents", "Paresthesia"),
    ("lung cancer", "resembles", "breast cancer"),
    ("breast cancer", "located_in", "skin of body"),
    ("EGFR", "expressed_in", "liver"),
    ("liver", "upregulates", "CAT"),
    ("brain", "downregulates", "CAT"),
    ("IL6", "involved_in", "IL-6 signaling pathway"),
    ("TP53", "involved_in", "Cell cycle"),
    ("EGFR", "has_function", "protein kinase activity"),
    ("TP53", "located_in", "nucleus"),
    ("statins", "includes", "simvastatin"),
    ("statins", "includes", "pravastatin"),
    ("statins", "includes", "lovastatin"),
    ("GN900", "interacts_with", "TP53"),
    *((f"GN{number}", "interacts_with", "GRB2") for number in (901, 902, 903)),
    *((f"GN{number}", "associated_with", "type 2 diabetes mellitus") for number in (901, 902, 903)),
    *((f"GN{number}", "involved_in", "Everything") for number in range(900, 940)),
    *((f"GN{number}", "associated_with", "lung cancer") for number in range(910, 914)),
]


def small_graph() -> GraphTwin:
    """Return the graph."""
    nodes = [
        Node(id=node_id, type=kind, name=name, aliases=aliases, xrefs=xrefs, source="made-up")
        for kind, rows in _NODES.items()
        for node_id, name, aliases, xrefs in rows
    ]
    ids = {alias.lower(): node.id for node in nodes for alias in (*node.aliases, node.name)}
    for node in nodes:
        if node.type is NodeType.SIDE_EFFECT:
            ids[f"{node.name.lower()}/se"] = node.id
        elif node.type in {NodeType.DISEASE, NodeType.SYMPTOM}:
            ids[node.name.lower()] = node.id
    ids["cell cycle"] = "Pathway::WP179_r1"
    edges = [
        Edge(source=ids[source.lower()], type=EdgeType(kind), target=ids[target.lower()], origin="made-up")
        for source, kind, target in _EDGES
    ]
    return GraphTwin(nodes, edges, [GraphSource(id="made-up", name="Made up for tests", kind="generic")])
