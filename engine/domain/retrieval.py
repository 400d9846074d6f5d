"""What finding tools gives: every stage with what entered, why, the parts of its score and its time."""

from __future__ import annotations

from typing import Literal

from engine.domain.base import Value


class CatalogueEntry(Value):
    """A tool that can be found. Entries of imported catalogues are descriptions and are never planned as runnable."""

    name: str
    """Unique over all catalogues; an imported name that is taken gets its catalogue's name as prefix."""
    title: str = ""
    description: str
    catalogue: str = "biodesk"
    """`biodesk` (built in), `biomni`, `galaxy`, `nf-core`, `tooluniverse` or the name given to a JSONL import."""
    domain: str = ""
    keywords: list[str] = []
    operations: list[str] = []
    """What it does in the words of an ontology (EDAM operations, where the catalogue has them)."""
    inputs: list[str] = []
    """Kinds of data it takes, in the catalogue's own words (a `DataType` for built-in tools)."""
    outputs: list[str] = []
    params: list[str] = []
    suite: str = ""
    """The package or module family it belongs to."""
    requires_tool: list[str] = []
    produces_for: list[str] = []
    url: str = ""
    license: str = ""
    runnable: bool = False
    call: str = ""
    """For an entry whose package is installed: `module:function`, imported only when called."""


class CatalogueInfo(Value):
    """An imported catalogue."""

    name: str
    kind: str
    entries: int
    sha256: str
    """Of the imported files."""
    at: str
    license: str = ""


class CatalogueImport(Value):
    """What an import of a catalogue did."""

    catalogue: CatalogueInfo
    added: int
    changed: int
    removed: int
    embedded: int
    """Texts that were new to the embedding cache; 0 when vectors are not available."""
    unchanged: bool = False
    warnings: list[str] = []
    seconds: float = 0.0


class RetrievedTool(Value):
    """A tool that was found, best first."""

    name: str
    score: float
    """0 to 1, comparable within one search only."""
    why: str
    """One sentence for people."""
    domain: str = ""
    runnable: bool = False
    title: str = ""
    description: str = ""
    catalogue: str = "biodesk"
    entered: Literal["search", "expand"] = "search"
    because_of: str = ""
    """For an expanded tool: the tool or entity and the edge that brought it, e.g. `requires_tool of sc_cluster`."""
    parts: dict[str, float] = {}
    """Score parts: text, lexical, semantic, type_fit, graph, success..."""


class SearchStages(Value):
    """How many tools each stage gave, and how long it took."""

    search: int
    expand: int
    rerank: int
    seconds: dict[str, float]
    """embed, search, expand, rerank, total."""


class ToolSearch(Value):
    """The answer to a search for tools."""

    query: str
    stages: SearchStages
    tools: list[RetrievedTool]
    considered: list[RetrievedTool] = []
    """With `explain`: everything that entered any stage, in the order of its last stage's score."""
    method: str = "hybrid"
    """`hybrid` or `lexical` (no vectors)."""
    match: Literal["good", "weak", "none"] = "good"
    """How well the best tools fit at all; scores compare tools with each other only. `weak`: the nearest there is, but
    not near; `none`: nothing has to do with the question."""
    evidence: dict[str, float] = {}
    """What `match` goes by: `nearest` and `nearest_method` (cosines; absent without vectors), `share_of_words` (of the
    question, by rarity, that the best tool by words has)."""
    weights: dict[str, float] = {}
    """With `explain`: what each part of a score counts; `text.x` counts within the part `text`."""
    notes: list[str] = []
    """What the user should know, e.g. that vectors are missing and why."""
