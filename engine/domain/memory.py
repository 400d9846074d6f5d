"""What is remembered: the conversation, past analyses, facts."""

from __future__ import annotations

from typing import Literal

from engine.domain.base import Value


class EpisodeStep(Value):
    """A step of a past analysis: enough to propose it again."""

    tool: str
    params: dict[str, str | int | float | bool | list[str] | None] = {}
    inputs: dict[str, str] = {}
    status: str = "succeeded"
    error: str = ""
    changed: dict[str, Literal["edit", "repair"]] = {}
    """Parameters that are not as the planner proposed them, and who changed them."""
    lessons: list[str] = []
    """What a model took from repairs of this step that helped, for other data."""


class Episode(Value):
    """A past analysis."""

    id: str
    at: str
    """UTC, ISO 8601."""
    task: str
    plan_summary: str = ""
    tools: list[str] = []
    domains: list[str] = []
    entities: list[str] = []
    """Biological entities and identifiers, as written."""
    result_summary: str = ""
    success: bool = True
    quality: float = 0.0
    """0 to 1."""
    lessons: str = ""
    """What to do differently or again; from failures, repairs and edits."""
    run_id: str = ""
    user: str = ""
    strategy: str = ""
    data_types: list[str] = []
    data_names: list[str] = []
    data_sha256: list[str] = []
    data_columns: list[str] = []
    """For each file a hash of its columns' names: two files of one form have the same."""
    steps: list[EpisodeStep] = []
    repairs: list[str] = []
    """What a repair changed, one sentence each."""
    edits: list[str] = []
    """What the user changed in the plan before it ran."""
    pinned: bool = False
    doubted: bool = False
    """True when a person marked the analysis as wrong: it is kept and never recalled."""
    source: str = ""
    """`run`, or the file it was imported from."""
    updated: str = ""
    """When it was last pinned, unpinned or corrected, UTC, ISO 8601; empty when never."""


class EpisodeSignals(Value):
    """How well an episode fits a query, each 0 to 1."""

    fingerprint: float = 0.0
    """Share of the question's words, by rarity, that the episode has."""
    near: float = 0.0
    """The same, with words of a like meaning or spelling counted in part."""
    tools: float = 0.0
    domains: float = 0.0
    entities: float = 0.0
    semantic: float = 0.0


class RecalledEpisode(Value):
    """An episode that fits a query."""

    episode: Episode
    score: float
    """Relevance, 0 to 1."""
    signals: EpisodeSignals
    why: str = ""
    """What it shares with the query, and what else decided its place where the relevance alone did not."""
    order: float = 0.0
    """What the recalled are sorted by: the relevance, less what age takes off, plus what a pin adds."""


class Recall(Value):
    """The answer to a recall; empty `episodes` means nothing relevant is remembered."""

    query: str
    episodes: list[RecalledEpisode]
    seconds: float
    considered: int = 0
    """Candidates that any signal brought."""
    below: list[RecalledEpisode] = []
    """With `explain`: the best of those the relevance gate kept out."""
    notes: list[str] = []


class EpisodicContext(Value):
    """What the planner is told of past analyses."""

    text: str
    tokens: int
    recall: Recall
    told: list[str] = []
    """Ids of the recalled episodes that are in the text; the others did not fit into the budget."""


class Fact(Value):
    """A remembered statement."""

    id: str
    subject: str
    predicate: str
    object: str
    source: str
    """Who says so: a user, a run, a publication."""
    confidence: float
    """0 to 1, as this source gives it."""
    at: str
    retracted: bool = False
    pinned: bool = False
    run_id: str = ""
    in_graph: bool = False
    """True once it was sent through the one-way door to the knowledge graph."""
    updated: str = ""
    """When it was last retracted, restored or pinned, UTC, ISO 8601; empty when never."""


class FactView(Value):
    """A statement with everything that speaks for and against it."""

    fact: Fact
    """The newest of the facts that state it."""
    sources: list[str]
    support: float
    """Confidence from all independent sources together: 1 - product of (1 - confidence)."""
    contradicts: list[Fact] = []
    against: float = 0.0
    """Support of the best supported statement that contradicts it, 0 when none does."""
    facts: list[Fact] = []
    """Every source's own word for it, retracted ones too, oldest first."""
    likeness: float | None = None
    """Cosine with the question, where the statement was found by its meaning; None otherwise."""


class Forgotten(Value):
    """What went when something was forgotten."""

    id: str
    kind: Literal["episode", "fact", "conversation"]
    messages: int = 0
    """Messages that were removed: those of the episode's run, or all of the conversation."""
    conversations: list[str] = []
    """Conversations that lost messages or went altogether."""
    sources: list[str] = []
    """Sources of the knowledge graph that were taken back or that state less now."""


class Message(Value):
    """A turn of a conversation."""

    number: int
    """From 1, gapless in its conversation."""
    role: Literal["user", "assistant", "system"]
    text: str
    at: str
    run_id: str = ""
    pinned: bool = False
    tokens: int = 0


class Summary(Value):
    """Messages `first` to `last` in short; `level` 1 sums up messages, 2 sums up summaries, and so on."""

    level: int
    first: int
    last: int
    text: str
    tokens: int
    tokens_before: int
    by: str = ""
    """The model that wrote it; empty where it is made of sentences of the messages, by rules."""


class WorkingView(Value):
    """The working memory of a conversation as a model would see it."""

    conversation: str
    pinned: list[Message]
    summaries: list[Summary]
    messages: list[Message]
    """The newest messages, intact."""
    tokens: int
    budget: int
    exact: bool
    """True when a tokenizer counted, False when tokens are estimated from characters."""
    compressed_messages: int = 0


class MemoryImport(Value):
    """What an import of memory did."""

    episodes: int
    facts: int
    messages: int = 0
    skipped: int = 0
    """Records that were there already."""
    warnings: list[str] = []
