"""A graph with bridges to find, and roles without a model over it. Names are real, the relations are made up."""

from __future__ import annotations

from pathlib import Path

from engine.adapters.fakes import FrozenClock
from engine.domain.knowledge import EdgeRows, EdgeType, GraphSource, NodeRows, NodeType
from engine.knowledge.service import KnowledgeBase, open_knowledge
from storage.graph.twin import GraphStoreTwin

NAMES: dict[NodeType, tuple[str, ...]] = {
    NodeType.DISEASE: (
        "psoriasis",
        "asthma",
        "gout",
        "obesity",
        "glaucoma",
        "malaria",
        "rickets",
        "scurvy",
        "leprosy",
        "type 2 diabetes mellitus",
    ),
    NodeType.DRUG: ("vedolizumab", "natalizumab", "metformin", "colchicine", "timolol", "aspirin", "warfarin"),
    NodeType.GENE: ("ITGA4", "TNF", "IL6", "XDH", "CRP", "VDR", "STAT3", "JAK2", "CYP3A4", "KRT16", "MAPT", "APOE"),
    NodeType.PATHWAY: ("cytokine signalling", "purine breakdown"),
    NodeType.ANATOMY: ("skin", "lung"),
    NodeType.CELL_TYPE: ("keratinocyte",),
    NodeType.DRUG_CLASS: ("beta blocker",),
    NodeType.SIDE_EFFECT: ("nausea",),
}
EDGES: tuple[tuple[str, str, str], ...] = (
    ("natalizumab", "inhibits", "ITGA4"),
    ("vedolizumab", "inhibits", "ITGA4"),
    ("natalizumab", "treats", "psoriasis"),
    ("ITGA4", "associated_with", "psoriasis"),
    ("TNF", "associated_with", "psoriasis"),
    ("TNF", "associated_with", "asthma"),
    ("IL6", "interacts_with", "TNF"),
    ("STAT3", "regulates", "TNF"),
    ("IL6", "involved_in", "cytokine signalling"),
    ("TNF", "involved_in", "cytokine signalling"),
    ("JAK2", "involved_in", "cytokine signalling"),
    ("STAT3", "involved_in", "cytokine signalling"),
    ("XDH", "associated_with", "gout"),
    ("CRP", "associated_with", "gout"),
    ("XDH", "involved_in", "purine breakdown"),
    *((gene, "involved_in", "purine breakdown") for gene in ("MAPT", "APOE", "VDR", "CRP")),
    ("colchicine", "treats", "gout"),
    ("colchicine", "binds", "CRP"),
    ("metformin", "downregulates", "KRT16"),
    ("psoriasis", "upregulates", "KRT16"),
    ("psoriasis", "upregulates", "JAK2"),
    ("natalizumab", "upregulates", "JAK2"),
    ("timolol", "upregulates", "KRT16"),
    ("psoriasis", "resembles", "leprosy"),
    ("leprosy", "downregulates", "KRT16"),
    ("timolol", "treats", "glaucoma"),
    ("beta blocker", "includes", "timolol"),
    ("timolol", "contraindicated_for", "asthma"),
    ("warfarin", "binds", "CYP3A4"),
    ("natalizumab", "binds", "CYP3A4"),
    ("CYP3A4", "associated_with", "psoriasis"),
    ("MAPT", "associated_with", "malaria"),
    ("APOE", "associated_with", "obesity"),
    ("VDR", "associated_with", "rickets"),
    ("KRT16", "marker_of", "keratinocyte"),
    ("JAK2", "marker_of", "keratinocyte"),
    ("psoriasis", "located_in", "skin"),
    ("metformin", "causes", "nausea"),
    ("aspirin", "binds", "VDR"),
)


def node_id(name: str) -> str:
    kind = next(kind for kind, names in NAMES.items() if name in names)
    return f"{kind.value}:{name.replace(' ', '-')}"


def made_knowledge(folder: Path, *more: tuple[str, str, str]) -> KnowledgeBase:
    """Return knowledge of the graph; a hub `aspirin` binds every gene that `more` says."""
    nodes, edges, store = NodeRows(), EdgeRows(), GraphStoreTwin()
    for kind, names in NAMES.items():
        for name in names:
            nodes.add(node_id(name), kind, name)
    for source, kind, target in (*EDGES, *more):
        edges.add(node_id(source), EdgeType(kind), node_id(target))
    store.add(GraphSource(id="made-up", name="Made up for tests", kind="generic"), [nodes, edges])
    return open_knowledge(store, folder / "graph", FrozenClock(), starter_wanted=False)
