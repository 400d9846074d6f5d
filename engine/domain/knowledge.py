"""The vocabulary of the knowledge graph: what nodes and edges there are, and what checking a text against it gives.

The thirteen node types and the edge types of BioCortex come first; anatomy, symptom, phenotype, side effect
and the types after them are what Hetionet and PrimeKG need beyond.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from pydantic import field_validator

from engine.domain.base import Value
from engine.domain.findings import Grounding


class NodeType(StrEnum):
    """What an entity is."""

    GENE = "gene"
    PROTEIN = "protein"
    DRUG = "drug"
    DISEASE = "disease"
    PATHWAY = "pathway"
    GO_TERM = "go_term"
    CELL_TYPE = "cell_type"
    ORGANISM = "organism"
    TOOL = "tool"
    DATASET = "dataset"
    PROTOCOL = "protocol"
    PUBLICATION = "publication"
    DOMAIN = "domain"
    ANATOMY = "anatomy"
    SYMPTOM = "symptom"
    PHENOTYPE = "phenotype"
    SIDE_EFFECT = "side_effect"
    DRUG_CLASS = "drug_class"
    EXPOSURE = "exposure"


class EdgeType(StrEnum):
    """What holds between two entities, read from source to target."""

    INTERACTS_WITH = "interacts_with"
    REGULATES = "regulates"
    INHIBITS = "inhibits"
    ACTIVATES = "activates"
    ENCODES = "encodes"
    EXPRESSED_IN = "expressed_in"
    ASSOCIATED_WITH = "associated_with"
    TARGETS = "targets"
    TREATS = "treats"
    REQUIRES_TOOL = "requires_tool"
    PRODUCES_FOR = "produces_for"
    COMPATIBLE_WITH = "compatible_with"
    SAME_DOMAIN = "same_domain"
    USES_DATA = "uses_data"
    PRODUCES_DATA = "produces_data"
    CITED_IN = "cited_in"
    SUBCLASS_OF = "subclass_of"
    HAS_FUNCTION = "has_function"
    INVOLVED_IN = "involved_in"
    # Beyond BioCortex.
    BINDS = "binds"
    UPREGULATES = "upregulates"
    DOWNREGULATES = "downregulates"
    PALLIATES = "palliates"
    CONTRAINDICATED_FOR = "contraindicated_for"
    CAUSES = "causes"
    PRESENTS = "presents"
    ABSENT_IN = "absent_in"
    LOCATED_IN = "located_in"
    RESEMBLES = "resembles"
    COVARIES_WITH = "covaries_with"
    INCLUDES = "includes"
    PART_OF = "part_of"
    MARKER_OF = "marker_of"
    USED_WITH = "used_with"
    RELATED_TO = "related_to"


MEANS: dict[EdgeType, str] = {
    EdgeType.EXPRESSED_IN: "gene -> anatomy or cell type",
    EdgeType.ASSOCIATED_WITH: "gene -> disease, phenotype or drug",
    EdgeType.TARGETS: "drug -> gene: the intended target",
    EdgeType.TREATS: "drug -> disease",
    EdgeType.HAS_FUNCTION: "gene -> molecular function",
    EdgeType.INVOLVED_IN: "gene -> pathway or biological process",
    EdgeType.BINDS: "drug -> gene",
    EdgeType.UPREGULATES: "drug, disease or anatomy -> gene whose expression it raises",
    EdgeType.DOWNREGULATES: "drug, disease or anatomy -> gene whose expression it lowers",
    EdgeType.PALLIATES: "drug -> disease whose symptoms it eases",
    EdgeType.CONTRAINDICATED_FOR: "drug -> disease",
    EdgeType.CAUSES: "drug -> side effect; exposure -> disease",
    EdgeType.PRESENTS: "disease -> symptom or phenotype",
    EdgeType.ABSENT_IN: "gene not expressed in anatomy, phenotype absent in disease: a stated negative",
    EdgeType.LOCATED_IN: "disease -> anatomy; gene -> cellular component",
    EdgeType.INCLUDES: "drug class -> drug",
    EdgeType.MARKER_OF: "gene -> cell type or anatomy",
    EdgeType.USED_WITH: "tool -> tool that finished runs used together",
    EdgeType.RELATED_TO: "A link of a generic import whose own name (the edge's relation) is not one of these",
}
"""What such an edge goes from and to, and what it says, where its name does not tell."""

BIOLOGY: frozenset[EdgeType] = frozenset(EdgeType) - {
    EdgeType.REQUIRES_TOOL,
    EdgeType.PRODUCES_FOR,
    EdgeType.COMPATIBLE_WITH,
    EdgeType.SAME_DOMAIN,
    EdgeType.USES_DATA,
    EdgeType.PRODUCES_DATA,
    EdgeType.CITED_IN,
    EdgeType.USED_WITH,
}
"""What can hold between two biological entities; the others are about tools and data."""

SYMMETRIC: frozenset[EdgeType] = frozenset(
    {
        EdgeType.INTERACTS_WITH,
        EdgeType.ASSOCIATED_WITH,
        EdgeType.RESEMBLES,
        EdgeType.COVARIES_WITH,
        EdgeType.COMPATIBLE_WITH,
        EdgeType.SAME_DOMAIN,
        EdgeType.USED_WITH,
        EdgeType.RELATED_TO,
    }
)
"""Edges that say the same in both directions; stored once, in the direction their source gives."""

OPPOSITE: dict[EdgeType, EdgeType] = {
    EdgeType.UPREGULATES: EdgeType.DOWNREGULATES,
    EdgeType.DOWNREGULATES: EdgeType.UPREGULATES,
    EdgeType.ACTIVATES: EdgeType.INHIBITS,
    EdgeType.INHIBITS: EdgeType.ACTIVATES,
}
"""Edges that deny each other for the same pair."""

NODE_TYPES: tuple[NodeType, ...] = tuple(NodeType)
EDGE_TYPES: tuple[EdgeType, ...] = tuple(EdgeType)
"""The position of a type in these tuples is its code in arrays; new types are added at the end."""
NODE_CODE: dict[NodeType, int] = {kind: code for code, kind in enumerate(NODE_TYPES)}
EDGE_CODE: dict[EdgeType, int] = {kind: code for code, kind in enumerate(EDGE_TYPES)}


class Node(Value):
    """An entity."""

    id: str
    """Unique in a graph, with the prefix of its authority: `Gene::1956`, `GO:0006915`, `tool:leiden`."""
    type: NodeType
    name: str
    aliases: list[str] = []
    xrefs: list[str] = []
    """Identifiers elsewhere, as `PREFIX:LOCAL`: `ENSEMBL:ENSG00000146648`, `UNIPROT:P00533`."""
    source: str = ""
    """Id of the first source that named it."""


class Edge(Value):
    """A stated relation, with who states it."""

    source: str
    type: EdgeType
    target: str
    relation: str = ""
    """The relation as its origin names it: `DuG`, `indication`, `is_a`."""
    origin: str = ""
    """Id of the import or run that states it (see `GraphSource`)."""
    confidence: float = 1.0
    """0 to 1."""
    at: str = ""
    license: str = ""


class GraphSource(Value):
    """An import, the starter graph or a run that nodes and edges came from."""

    id: str
    name: str
    """For people: `Hetionet v1.0`, `Starter knowledge`, `Run run_2026...`."""
    kind: str
    """The format's name (`hetionet`, `obo`...), `starter`, `run` or `facts`."""
    license: str = ""
    url: str = ""
    files: dict[str, str] = {}
    """File name -> SHA-256."""
    at: str = ""
    nodes: int = 0
    """Nodes it added."""
    edges: int = 0
    state: Literal["complete", "removed"] = "complete"
    confidence: float = 1.0
    """What its edges are worth where they do not say themselves."""


@dataclass(slots=True)
class NodeRows:
    """A batch of nodes in columns of equal length; importers yield batches of at most 50,000 rows."""

    ids: list[str] = field(default_factory=list)
    types: list[NodeType] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    aliases: list[list[str]] = field(default_factory=list)
    xrefs: list[list[str]] = field(default_factory=list)

    def add(
        self, id: str, type: NodeType, name: str, aliases: list[str] | None = None, xrefs: list[str] | None = None
    ) -> None:
        """Append a row."""
        self.ids.append(id)
        self.types.append(type)
        self.names.append(name)
        self.aliases.append(aliases or [])
        self.xrefs.append(xrefs or [])

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.ids)


@dataclass(slots=True)
class EdgeRows:
    """A batch of edges in columns of equal length. A confidence of None is the source's own."""

    sources: list[str] = field(default_factory=list)
    types: list[EdgeType] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    relations: list[str] = field(default_factory=list)
    confidences: list[float | None] = field(default_factory=list)

    def add(
        self, source: str, type: EdgeType, target: str, relation: str = "", confidence: float | None = None
    ) -> None:
        """Append a row."""
        self.sources.append(source)
        self.types.append(type)
        self.targets.append(target)
        self.relations.append(relation)
        self.confidences.append(confidence)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.sources)


class GraphImport(Value):
    """What an import did."""

    source: GraphSource
    nodes_read: int
    edges_read: int
    nodes_added: int
    edges_added: int
    unchanged: bool = False
    """True when the very same files had been imported before, so nothing was done."""
    warnings: list[str] = []
    """What was passed over, and why: lines, unknown types, edges to nodes that do not exist."""
    seconds: float = 0.0


class NodeHit(Value):
    """A node found by a search; `matched` is the name, alias or id that fitted."""

    node: Node
    score: float
    matched: str
    degree: int


class Neighbourhood(Value):
    """Nodes around seeds and the edges among them, at most a limit of nodes, best connected first."""

    seeds: list[str]
    nodes: list[Node]
    hops: dict[str, int]
    """Node id -> steps from the nearest seed."""
    degrees: dict[str, int]
    """Node id -> edges in the whole graph."""
    edges: list[Edge]
    reached: int
    """How many nodes there were before the limit."""
    reached_by_type: dict[str, int] = {}
    seconds: float = 0.0


class GraphPath(Value):
    """A way between two nodes. `edges[i]` joins `nodes[i]` and `nodes[i + 1]`, in either direction."""

    nodes: list[Node]
    edges: list[Edge]
    score: float
    """0 to 1: product of the edges' confidences, lowered by every hub it passes."""

    @property
    def line(self) -> str:
        """The path on one line, each edge pointing as it is stated, or neither way when it says the same in both."""
        parts = [self.nodes[0].name]
        for position, edge in enumerate(self.edges):
            head = "" if edge.type in SYMMETRIC else ">"
            forward = edge.source == self.nodes[position].id or not head
            parts += [f"-[{edge.type.value}]-{head}" if forward else f"<-[{edge.type.value}]-"]
            parts += [self.nodes[position + 1].name]
        return " ".join(parts)


class EnrichedNode(Value):
    """A neighbourhood that holds more of a list than chance would put there (hypergeometric, one-sided)."""

    node: Node
    overlap: int
    size: int
    query_size: int
    background_size: int
    fold_enrichment: float
    p_value: float
    p_adj: float
    """Benjamini-Hochberg over the neighbourhoods tested."""
    members: list[str]


class GraphStats(Value):
    """How large the graph is and of what."""

    nodes: int
    edges: int
    nodes_by_type: dict[str, int]
    edges_by_type: dict[str, int]
    sources: list[GraphSource]
    version: int


class Mention(Value):
    """An entity recognised in a text: characters `start` to `end`."""

    start: int
    end: int
    text: str
    node: Node
    score: float
    alternatives: list[Node] = []
    """Other entities of the same name, most likely first."""
    why: str = ""
    """How it was recognised: `symbol`, `name`, `alias`, `id`, and what decided between namesakes."""


class EvidenceEdge(Value):
    """One thing that speaks for or against a claim."""

    edge: str
    """Readable: `EGFR -[interacts_with]- GRB2`."""
    source: str
    """Who states it: a source's name, or `finding f3 of run ...`."""
    confidence: float
    kind: Literal["edge", "path", "finding", "opposite"] = "edge"
    path: int = 0
    """Edges with the same number above 0 form one path."""


class Claim(Value):
    """One statement of a text, and what the graph says of it."""

    text: str
    label: Grounding
    entities: list[Mention] = []
    predicate: str = ""
    """An `EdgeType`, or "" where none was recognised."""
    subject: str = ""
    """Node id."""
    object: str = ""
    negated: bool = False
    hedged: bool = False
    evidence: list[EvidenceEdge] = []
    why: str = ""
    """One sentence for the reader."""


class ToldClaim(Value):
    """A claim as somebody else than the trained models read it from a text; not held against the text yet."""

    quote: str
    """The words of the text that state it."""
    subject: str
    """The one that acts, as the text names it."""
    relation: EdgeType
    object: str
    denied: bool = False
    hedged: bool = False

    @field_validator("relation")
    @classmethod
    def _of_biology(cls, relation: EdgeType) -> EdgeType:
        if relation not in BIOLOGY:
            raise ValueError(f"a claim has one of these relations: {', '.join(sorted(BIOLOGY))}")
        return relation

    @property
    def says(self) -> str:
        """The claim in short."""
        return f"{self.subject!r} {'not ' * self.denied}{self.relation.value} {self.object!r}"


class Unclaimed(Value):
    """A sentence that names entities and claims nothing of them."""

    text: str
    why: str


class ClaimCheck(Value):
    """A text's claims.

    `score` is the mean of 1 (grounded), 0.5 (inferred), 0 (ungrounded) and -1 (contradicted), each times the confidence
    of the surest edge that decides it.
    """

    claims: list[Claim]
    unclaimed: list[Unclaimed] = []
    score: float
    read_by: str = ""
    """The model that read the text; "" for the trained models that come with the program."""
    graph_version: int = 0
    seconds: float = 0.0
