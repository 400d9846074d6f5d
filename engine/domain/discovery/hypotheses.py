"""Hypotheses and the tournament they compete in: what is proposed, how it was judged, and how sure the order is.

A tournament keeps its hypotheses, reviews and matches as they are made; standings are computed from them and never
stored as truth, so that they do not depend on the order in which comparisons arrived.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field

from engine.domain.base import Value
from engine.domain.knowledge import EdgeType

CRITERIA = ("scientific_soundness", "novelty", "relevance", "testability", "clarity", "potential_impact")
"""What a review scores, each from 1 to 10."""
MATCH_CRITERIA = (*CRITERIA, "feasibility")
"""What a comparison of two looks at."""
Score = Annotated[int, Field(ge=1, le=10)]
Chance = Annotated[float, Field(ge=0, le=1)]
Method = Literal["debate", "literature", "tools", "graph", "user", "evolved"]
Evolution = Literal["ground", "simplify", "combine", "analogise", "out_of_the_box", "make_testable"]
Status = Literal["competing", "vetoed", "merged", "refused"]
TestVerdict = Literal["supported", "refuted", "untested", "untestable_here"]
Reflection = Literal["already_explained", "other_explanations_likelier", "missing_piece", "neutral", "disproved"]


class AssertedLink(Value):
    """What a hypothesis asserts of two entities. Each is an id in the knowledge graph, or a name that it has not."""

    subject: str
    """The one that acts."""
    relation: EdgeType
    """Which of them has a sign, such as `activates` and `inhibits`, says so."""
    object: str
    denied: bool = False
    """Whether it is asserted not to be so."""
    through: list[str] = []
    """What the link works by, from subject to object, where that is what is asserted."""

    @property
    def steps(self) -> list[tuple[str, str]]:
        """Each two that the mechanism joins, and subject and object themselves."""
        way = [self.subject, *self.through, self.object]
        return [(self.subject, self.object), *pairwise(way)]


class EvidenceItem(Value):
    """One piece of evidence of a hypothesis."""

    kind: Literal["path", "finding", "fact", "article", "user"]
    says: str
    """A sentence that is true of what it refers to."""
    speaks: Literal["for", "against", "context"] = "for"
    """`context` is true and concerns neither what is asserted nor a step of its mechanism; it counts for nothing."""
    nodes: list[str] = []
    """Ids in the knowledge graph, in order, where it is a path."""
    edges: list[str] = []
    """Types of the edges between them."""
    source: str = ""
    """Who states it: a graph source, `run:ID#finding`, a fact's id, an article's address."""
    strength: Chance = 0.5


class Prediction(Value):
    """What must be seen if the hypothesis holds, and what would contradict it."""

    says: str
    contradicted_by: str
    """The observation that would contradict it."""
    question: str = ""
    """A question the planner can take, where data at hand could test it."""
    files: list[str] = []
    """Names of the data it is asked of."""
    direction: Literal["more", "less", "any"] = "any"


class ExecutedTest(Value):
    """A prediction that was tested by a run."""

    hypothesis: str
    prediction: int
    """Place of the prediction in its hypothesis."""
    run: str
    p: Chance | None = None
    """Two-sided p-value of the test; None when the run gave none."""
    as_predicted: bool | None = None
    e_for: float = 1.0
    """E-value for the hypothesis."""
    e_against: float = 1.0
    at: str = ""
    why: str = ""
    """Why there is no p-value, where there is none."""
    data: list[str] = []
    """Hashes of the files that its run read."""


class Hypothesis(Value):
    """An idea that competes. It never changes: one that is rewritten is another, with this one as its parent."""

    id: str
    text: str
    """One or two plain sentences that can be wrong."""
    explanation: str = ""
    """The mechanism."""
    experiment: str = ""
    """How it would be tested."""
    method: Method
    evolution: Evolution | None = None
    parents: list[str] = []
    support: list[EvidenceItem] = []
    predictions: list[Prediction] = []
    entities: list[str] = []
    """Ids in the knowledge graph of what it speaks of."""
    asserts: list[AssertedLink] = []
    """What it asserts, as its maker says; empty where nobody said so, or no two entities are linked by it."""
    by: str = ""
    """Who made it: a user, a model, or `built-in`."""
    round: int = 0
    at: str = ""
    """Time it was made, ISO 8601 in UTC."""
    transcript: str = ""
    """The debate or the look-ups it came from, where there were some."""


class Mark(Value):
    """What a person did to a hypothesis. The newest mark of a kind counts."""

    hypothesis: str
    kind: Literal["vote", "pin", "veto", "merge"]
    value: int = 1
    """+1 or -1 for a vote; 1 or 0 for a pin or veto that is set or taken back."""
    into: str = ""
    """The hypothesis it was merged into."""
    by: str = ""
    at: str = ""


class HypothesisReview(Value):
    """A hypothesis read against evidence and six criteria."""

    hypothesis: str
    scores: dict[str, Score]
    """Criterion -> 1 to 10, all of `CRITERIA`."""
    feedback: dict[str, str] = {}
    """Criterion -> why."""
    summary: str = ""
    advice: str = ""
    """What would make it better."""
    concerns: str = ""
    """Of safety or ethics."""
    reflection: Reflection = "neutral"
    reflection_reason: str = ""
    by: str = ""
    round: int = 0
    at: str = ""

    @property
    def overall(self) -> float:
        """Mean of the scores."""
        return sum(self.scores.values()) / len(self.scores)


class Match(Value):
    """Two hypotheses compared, in the order in which the judge saw them."""

    number: int
    """Counted from 0; the key under which it is not asked again."""
    first: str
    second: str
    score: Chance
    """1 when the first won, 0 when the second did, 0.5 for a tie."""
    weight: float = 1.0
    """How much it counts: 1 for a sure judge, less for one that says it is unsure."""
    confidence: Literal["high", "medium", "low", ""] = ""
    criteria: dict[str, str] = {}
    reason: str = ""
    by: str = ""
    """The judge: a model, a user, or `built-in`."""
    at: str = ""


class MetaReview(Value):
    """What all reviews and matches of a round say together; it feeds every later prompt."""

    round: int
    summary: str
    strengths: list[str]
    weaknesses: list[str]
    recurring_themes: list[str]
    gaps: list[str]
    recommendations: list[str]
    by: str = ""


class Standing(Value):
    """Where a hypothesis stands, computed from all matches."""

    hypothesis: str
    rating: float
    """Elo units, an average hypothesis at 1200."""
    low: float
    high: float
    """90 % interval of the rating."""
    chance_best: Chance
    chance_top: Chance
    """To be among the best three."""
    matches: int
    wins: float
    """Ties count half."""
    group: int
    """1 for the best: hypotheses of one group cannot be told apart yet."""
    verdict: TestVerdict = "untested"
    status: Status = "competing"
    cluster: int = 0
    """Hypotheses of one cluster say nearly the same."""


class Skipped(Value):
    """An item that could not be made, and why; the tournament goes on."""

    stage: str
    what: str
    why: str


class Asked(Value):
    """A role was asked for something and what it gave is stored: it is never asked again under this key."""

    key: str
    calls: int = 0
    """Calls of a judge or model that it took."""
    at: str = ""


class Drawn(Value):
    """Pairs drawn to be compared side by side, kept before the judge is asked, so that a restart goes on with them."""

    number: int
    """That of the first pair's match; the next one has the next."""
    pairs: list[tuple[str, str]]


class MakingPass(Value):
    """What makers are asked for in one pass, kept before any of them is asked, so that a restart asks the same."""

    number: int
    missing: int
    """So many are wanted of it."""
    known: list[str]
    """Ids of the hypotheses that makers are told of."""


class Clusters(Value):
    """Which hypotheses say nearly the same. The newest counts."""

    number: int
    of: dict[str, int]
    """Hypothesis -> its cluster, from 1."""


class Aims(Value):
    """What a tournament is asked for."""

    goal: str
    preferences: str = ""
    attributes: list[str] = []
    """What good hypotheses should have."""
    constraints: list[str] = []
    seeds: list[str] = []
    """Hypotheses of the user; they compete from the start."""
    literature: list[str] = []
    """Texts the user gives as background."""
    files: list[str] = []
    """Data that predictions may be tested on."""


class Bounds(Value):
    """How large a tournament is and when it stops. Every constant is here, with its default."""

    hypotheses: int = Field(default=5, ge=2, le=200)
    """Made in the first round."""
    iterations: int = Field(default=1, ge=0, le=20)
    """Rounds of evolution."""
    evolve: int = Field(default=3, ge=1, le=50)
    """Hypotheses that are rewritten each round."""
    batch_review: int = Field(default=5, ge=0)
    """Up to so many are reviewed together, more of them in parallel."""
    debate_turns: int = Field(default=5, ge=3, le=20)
    matches_each: float = Field(default=3.0, ge=1, le=20)
    """Most comparisons, as a multiple of the hypotheses."""
    stop_at: float = Field(default=0.8, ge=0.5, le=1)
    """Comparisons stop when the best is so likely the best."""
    calls: int = Field(default=1_000, ge=0)
    """Most calls of a judge or model; 0 for none."""
    usd: float = Field(default=0.0, ge=0)
    """Most dollars; 0 for the limit of the settings."""
    same_idea: float = Field(default=0.85, ge=0, le=1)
    """Similarity from which two say the same."""
    alpha: float = Field(default=0.1, gt=0, lt=1)
    """Error rate of all tests of the tournament together."""
    repeat_pairs: bool = True
    """Off for a judge that always says the same."""
    concurrency: int = Field(default=4, ge=1, le=32)
    run_tests: bool = False
    """Whether tests that can be planned run without being asked about."""
    seed: int = 0


class Tournament(Value):
    """A tournament as it stands."""

    id: str
    user: str
    aims: Aims
    bounds: Bounds
    status: Literal["queued", "running", "paused", "finished", "failed", "refused", "cancelled"]
    plan: str = ""
    """What the supervisor says of how the goal is gone about."""
    literature: str = ""
    """What a review of literature found."""
    created_at: str = ""
    updated_at: str = ""
    round: int = 0
    stage: str = ""
    progress: Chance = 0.0
    """Never falls."""
    calls: int = 0
    """Calls of judges and models, all of them."""
    usd: float = 0.0
    stopped_by: str = ""
    """Why it ended, in words."""


class TournamentView(Value):
    """Everything of one tournament, gathered."""

    tournament: Tournament
    hypotheses: list[Hypothesis] = []
    reviews: list[HypothesisReview] = []
    matches: list[Match] = []
    marks: list[Mark] = []
    tests: list[ExecutedTest] = []
    meta_reviews: list[MetaReview] = []
    skipped: list[Skipped] = []
    asked: list[Asked] = []
    drawn: list[Drawn] = []
    clusters: list[Clusters] = []
    passes: list[MakingPass] = []
    standings: list[Standing] = []
    """Best first; empty before the first hypothesis."""
    answer: str = ""
    """What leads and how sure that is; "" where nothing is known yet."""
    says: list[str] = []
    """Sentences on the order: what cannot be told apart yet and how many comparisons would, and the judge's habits."""


Item = (
    Hypothesis
    | HypothesisReview
    | Match
    | Mark
    | ExecutedTest
    | MetaReview
    | Skipped
    | Asked
    | Drawn
    | Clusters
    | MakingPass
)
"""What a tournament is made of; none of them ever changes."""


def key_of(item: Item) -> str:
    """Return the key under which an item is kept once in its tournament, among those of its kind."""
    match item:
        case Hypothesis():
            return item.id
        case HypothesisReview():
            return f"{item.round} {item.hypothesis}"
        case Match() | Drawn() | Clusters() | MakingPass():
            return str(item.number)
        case Mark():
            return f"{item.kind} {item.hypothesis} {item.by} {item.at}"
        case ExecutedTest():
            return f"{item.hypothesis} {item.prediction} {item.run}"
        case MetaReview():
            return str(item.round)
        case Skipped():
            return f"{item.stage} {item.what}"
        case Asked():
            return item.key
